"""Drafts of Capabilities made from documents, kept for one Agent: each in a folder of its own.

A folder holds the document as it came, what was asked (job.json), and each draft with its
check (result-NN.json), listed with their digests in results.json. Files are written whole and
listed last, so a death at any moment leaves what was finished. Nothing here is run or sent.

Source  the workbench surface, "Document assistant"
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.limits import DOCUMENT_BYTES_MAX, DRAFT_BYTES_AT_MOST, DRAFT_JOBS_MAX, DRAFT_ROUNDS_MAX
from rulith.disk.atomic import make_folder, read_bounded, read_json, write_json, write_whole
from rulith.disk.profiles import Profile

JOB, RESULTS, DOCUMENT, BEFORE = "job.json", "results.json", "document", "before.json"
NODE = re.compile(r"node_[0-9a-f]{32}", re.ASCII)
RESULT_BYTES_MAX = 4 * DRAFT_BYTES_AT_MOST       # a draft with its check, every letter of it escaped


def area_of(profile: Profile) -> Path:
    return profile.directory / "authoring"


def node_of(material_id: str, digest: str) -> str:
    """What a draft of this document is kept under; the same request leads to the same place."""
    return "node_" + sha256_hex(f"{material_id}\0{digest}".encode())[:32]


class DraftFolder:
    """One draft's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def exists(self) -> bool:
        return (self.path / JOB).is_file()

    def begin(self, job: Mapping[str, object], document: bytes, before: Mapping | None = None) -> None:
        """Keep a new one, where there is one with the draft that it goes on from; its job is written last. Raises Refused: disk_full, write_failed."""
        make_folder(self.path)
        write_whole(self.path / DOCUMENT, document)
        if before is not None:
            write_json(self.path / BEFORE, before)
        write_json(self.path / JOB, job)

    def job(self) -> dict:
        """Raises Refused: file_unusable, file_not_json, authoring_changed."""
        value = read_json(self.path / JOB)
        if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in ("id", "name", "documentDigest", "materialId", "state")):
            raise Refused("authoring_changed", what="The record", id=self.id)
        return value

    def note(self, **changes: object) -> dict:
        """Change the job's record; the record as it is now."""
        job = {**self.job(), **changes}
        write_json(self.path / JOB, job)
        return job

    def document(self) -> bytes:
        return read_bounded(self.path / DOCUMENT, DOCUMENT_BYTES_MAX)

    def before(self) -> dict | None:
        """The draft that this one goes on from."""
        path = self.path / BEFORE
        return read_json(path, RESULT_BYTES_MAX) if path.exists() else None  # type: ignore[return-value]  # written above

    def keep_result(self, draft: Mapping, report: Mapping, checked_at: str) -> dict:
        """Keep one draft with its check; its row."""
        rows = self.results()
        content = json.dumps({"draft": draft, "report": report}, ensure_ascii=False).encode("utf-8", "backslashreplace")
        digest = "sha256:" + sha256_hex(content)
        name = f"result-{len(rows) + 1:02}.json"
        write_whole(self.path / name, content)
        row = {"resultId": name.removesuffix(".json"), "resultDigest": digest, "proposalDigest": report["proposalDigest"], "checkedAt": checked_at}
        write_json(self.path / RESULTS, [*rows, row])
        return row

    def results(self) -> list[dict]:
        """The rows of what was finished, oldest first. Raises Refused authoring_changed."""
        if not (self.path / RESULTS).exists():
            return []
        rows = read_json(self.path / RESULTS)
        texts = ("resultId", "resultDigest", "proposalDigest", "checkedAt")
        if not isinstance(rows, list) or len(rows) > DRAFT_ROUNDS_MAX or not all(isinstance(row, dict) and all(isinstance(row.get(name), str) for name in texts) for row in rows):
            raise Refused("authoring_changed", what="The list of results", id=self.id)
        return rows

    def result(self, row: Mapping[str, str]) -> dict:
        """{draft, report} behind a row. Raises Refused authoring_changed."""
        if not re.fullmatch(r"result-[0-9]{2}", row["resultId"]):
            raise Refused("authoring_changed", what="The list of results", id=self.id)
        content = read_bounded(self.path / f"{row['resultId']}.json", RESULT_BYTES_MAX)
        if "sha256:" + sha256_hex(content) != row["resultDigest"]:
            raise Refused("authoring_changed", what="A result", id=self.id)
        return json.loads(content)

    def remove(self) -> None:
        """The record goes first: what is left of a removal that was cut off is no draft."""
        (self.path / JOB).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)


def folder_of(profile: Profile, node: object) -> DraftFolder:
    """Raises Refused authoring_unknown."""
    if isinstance(node, str) and NODE.fullmatch(node):
        found = DraftFolder(area_of(profile) / node)
        if found.exists:
            return found
    raise Refused("authoring_unknown", id=str(node)[:60])


def folders(profile: Profile) -> list[DraftFolder]:
    """Every draft kept for this Agent, in no order that means anything."""
    area = area_of(profile)
    names = sorted(os.listdir(area)) if area.is_dir() else []
    return [found for name in names if NODE.fullmatch(name) and (found := DraftFolder(area / name)).exists][:DRAFT_JOBS_MAX]


def new_folder(profile: Profile, material_id: str, digest: str) -> DraftFolder:
    """Where a new one belongs. Raises Refused authoring_full."""
    found = DraftFolder(area_of(profile) / node_of(material_id, digest))
    if not found.exists and len(folders(profile)) >= DRAFT_JOBS_MAX:
        raise Refused("authoring_full", limit=DRAFT_JOBS_MAX)
    return found


def save_capability(profile: Profile, name: str, capability: Mapping) -> Path:
    """Keep a Capability file as this Agent's private draft; again is nothing. Raises Refused: disk_full, write_failed."""
    path = make_folder(area_of(profile) / "saved") / name
    content = (json.dumps(capability, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    if not path.exists() or path.read_bytes() != content:
        write_whole(path, content)
    return path
