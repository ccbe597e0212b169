"""A task as `POST /task` brings it: checked member by member, wrong ones refused by name.

Pure: a parsed body and headers in, a Task or a refusal out.

Source  the MCP surface, "HTTP service"; the workbench surface, "Agent task endpoint"
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.limits import ATTACHMENTS_MAX
from rulith.runtime.options import check_business_key, check_case_type

SESSION_KEY_CHARS_MAX = 128
CASE_ID_CHARS_MAX = 256
REQUEST_ID = re.compile(r"[a-zA-Z0-9_-]{16,100}", re.ASCII)
PROOF_HEADER, SELECTION_HEADER = "x-rulith-material-task-proof", "x-rulith-material-selection-key"
_MATERIAL_ID = re.compile(r"mat_[0-9a-f]{32}", re.ASCII)
_PROOF = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DIGEST = re.compile(r"(?:sha256:)?[0-9a-f]{64}", re.ASCII)
READ_BY = ("To read one, open a Case (an exploration will do) and apply the Action rulith.materials.read, or the one its Capability has for it, with material = its id "
           "and the Source that the view offers; then ReadArtifact gives its content.")
_MEMBERS = {"text", "sessionKey", "caseType", "businessKey", "caseId", "requestId", "attachments", "historyModelDestination"}
_ATTACHMENT_MEMBERS = {"id", "name", "mediaType", "totalBytes", "digest"}


@dataclass(frozen=True)
class Task:
    """What one message asks for. `session_key` is empty where none was given."""

    text: str
    session_key: str = ""
    case_type: str = ""
    business_key: dict | None = None
    case_id: str = ""
    request_id: str = ""
    attachments: tuple[dict, ...] = ()
    model_destination: str = ""
    proofs: tuple[str, ...] = ()          # digests of the material proofs, never these themselves

    def fingerprint(self, session_key: str, pinned_type: str) -> str:
        """What makes two requests the same one."""
        parts = [self.text, session_key, self.case_type or pinned_type, self.business_key, self.case_id, list(self.attachments),
                 list(self.proofs)]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def words(self) -> str:
        """What the model is told: the text, and the attached files by name; their content is not here."""
        if not self.attachments:
            return self.text
        named = "; ".join(f"{row['name']} ({row['mediaType']}, {row['totalBytes']} bytes, {row['id']})" for row in self.attachments)
        return f"{self.text}\n\n[Attached, content not included: {named}. {READ_BY}]".strip()


def read_task(body: object, headers: Mapping[str, str | None]) -> Task:
    """Raises Refused task_refused naming the member that is wrong."""
    if not isinstance(body, dict):
        raise _wrong("the body is not one JSON object")
    unknown = sorted(set(body) - _MEMBERS)
    if unknown:
        raise _wrong(f"there is no member {unknown[0][:60]!r}")
    text = body.get("text")
    if not isinstance(text, str) or not text.strip():
        raise _wrong("text is missing or empty")
    attachments = _attachments(body.get("attachments", []))
    return Task(text, _text(body, "sessionKey", SESSION_KEY_CHARS_MAX), _case_type(body), _key(body),
                _text(body, "caseId", CASE_ID_CHARS_MAX), _request_id(body), attachments,
                _text(body, "historyModelDestination", 2_000), _proofs(headers, bool(attachments)))


def _wrong(problem: str) -> Refused:
    return Refused("task_refused", problem=problem)


def _text(body: dict, name: str, chars_max: int) -> str:
    value = body.get(name)
    if value is None and name not in body:
        return ""
    if not isinstance(value, str) or not value.strip():
        raise _wrong(f"{name} is not a text")
    if len(value) > chars_max:
        raise _wrong(f"{name} is longer than {chars_max} characters; it is never cut")
    return value


def _request_id(body: dict) -> str:
    value = body.get("requestId")
    if "requestId" not in body:
        return ""
    if not isinstance(value, str) or not REQUEST_ID.fullmatch(value):
        raise _wrong("requestId is not 16 to 100 of A-Z a-z 0-9 _ -")
    return value


def _case_type(body: dict) -> str:
    value = body.get("caseType")
    if "caseType" not in body:
        return ""
    if not isinstance(value, str) or not value:
        raise _wrong("caseType is not a text")
    try:
        return check_case_type(value, "caseType")
    except Refused as refusal:
        raise _wrong(refusal.happened.rstrip(".")) from None


def _key(body: dict) -> dict | None:
    if "businessKey" not in body:
        return None
    try:
        return check_business_key(body["businessKey"], "businessKey")
    except Refused as refusal:
        raise _wrong(refusal.happened.rstrip(".")) from None


def _attachments(rows: object) -> tuple[dict, ...]:
    if not isinstance(rows, list) or len(rows) > ATTACHMENTS_MAX:
        raise _wrong(f"attachments is not a list of at most {ATTACHMENTS_MAX}")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not _ATTACHMENT_MEMBERS - {"digest"} <= set(row) <= _ATTACHMENT_MEMBERS:
            raise _wrong(f"attachment {number} has other members than id, name, mediaType, totalBytes, digest")
        size, digest = row["totalBytes"], row.get("digest", "0" * 64)
        fits = (isinstance(row["id"], str) and _MATERIAL_ID.fullmatch(row["id"]) and isinstance(size, int) and not isinstance(size, bool)
                and size > 0 and isinstance(digest, str) and _DIGEST.fullmatch(digest)
                and all(isinstance(row[name], str) and 0 < len(row[name]) <= 255 for name in ("name", "mediaType")))
        if not fits:
            raise _wrong(f"attachment {number} is not a material's id, name, media type and size")
    if len({row["id"] for row in rows}) != len(rows):
        raise _wrong("an attachment is given twice")
    return tuple(rows)


def _proofs(headers: Mapping[str, str | None], has_files: bool) -> tuple[str, ...]:
    """Digests of the two secrets that travel with files."""
    found = []
    for name in (PROOF_HEADER, SELECTION_HEADER):
        value = headers.get(name)
        if value is None:
            continue
        if not has_files or not _PROOF.fullmatch(value):
            raise _wrong(f"{name} is not 64 hex digits that come with attachments")
        found.append(f"{name}:{hashlib.sha256(bytes.fromhex(value)).hexdigest()}")
    if has_files and headers.get(PROOF_HEADER) is None:
        raise _wrong(f"attachments come with {PROOF_HEADER}")
    return tuple(found)
