"""Submissions: which added files a person attached to which message, once for each request.

A file that was never submitted can be read by no Tool. The receipt of a request is durable:
the same request again gives the same receipt, and another one under its id is refused.
Secrets of a receipt stay in its file.

Source  the workbench surface, §14
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import ATTACHMENTS_MAX, SETTINGS_BYTES_MAX
from rulith.disk.atomic import make_folder, read_bounded, write_json
from rulith.disk.locks import take_lock
from rulith.disk.materials import Materials, Record, check_disclosure

VERSION = 3
LOCK_WAIT_S = 10.0
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{16,100}", re.ASCII)
SESSION_CHARS_MAX = 128


def submit(store: Materials, agent_id: str, *, request_id: object, session_key: object, handles: object, destination: str) -> dict[str, object]:
    """The receipt of one message with files: {submissionId, requestId, sessionKey, agent, attachments}; ids in it are those a Tool reads by.

    handles      the ids that adding the files answered with
    destination  where the profile's model is
    Raises Refused: material_submission_…, attachments_…, material_id_invalid, material_not_found, material_disclosure_refused, material_local_only.
    """
    if not isinstance(request_id, str) or not _REQUEST_ID.fullmatch(request_id):
        raise Refused("material_submission_invalid", problem="requestId is 16 to 100 letters, digits, _ and -")
    if not isinstance(session_key, str) or not 1 <= len(session_key) <= SESSION_CHARS_MAX:
        raise Refused("material_submission_invalid", problem=f"sessionKey is text of 1 to {SESSION_CHARS_MAX} characters")
    records = _attached(store, handles)
    for record in records:
        check_disclosure(record, destination, allowed=True)      # whether it may leave at all is judged when it is read
    folder = make_folder(store.root / "submissions")
    path = folder / _name(agent_id, request_id)
    try:
        lock = take_lock(store.root / "submissions.lock", "a submission of files", wait_s=LOCK_WAIT_S)
    except Refused as refused:
        if not refused.code.startswith("lock_"):
            raise
        raise Refused("material_submission_busy", seconds=f"{LOCK_WAIT_S:g}", path=str(store.root / "submissions.lock")) from None
    with lock:
        receipt = _known(path)
        attachments = [{"id": each.selector, "name": each.name, "mediaType": each.media_type, "totalBytes": each.total_bytes, "digest": each.digest}
                       for each in records]
        if receipt is None:
            receipt = {"version": VERSION, "submissionId": mint("sub_"), "requestId": request_id, "sessionKey": session_key, "agent": agent_id,
                       "owner": store.belongs.owner, "attachments": attachments, "proofSecret": mint("", 64), "selectionSecret": mint("", 64)}
            write_json(path, receipt)
        elif (receipt.get("sessionKey"), receipt.get("attachments")) != (session_key, attachments):
            raise Refused("material_submission_mismatch", requestId=request_id)
        for record in records:
            store.mark_submitted(record, {"submissionId": receipt["submissionId"], "requestId": request_id})
    return {name: receipt[name] for name in ("submissionId", "requestId", "sessionKey", "agent", "attachments")}


def task_proof(store: Materials, agent_id: str, request_id: str) -> str:
    """The secret that goes with the task of a submitted message, to the Agent's service and nowhere else."""
    receipt = _known(store.root / "submissions" / _name(agent_id, request_id))
    if receipt is None:
        raise Refused("material_submission_mismatch", requestId=request_id)
    return str(receipt["proofSecret"])


def _name(agent_id: str, request_id: str) -> str:
    return f"{sha256_hex(f'{agent_id}{chr(0)}{request_id}'.encode())}.json"


def _attached(store: Materials, handles: object) -> list[Record]:
    if not isinstance(handles, Sequence) or isinstance(handles, str) or not handles:
        raise Refused("attachments_invalid")
    if len(handles) > ATTACHMENTS_MAX:
        raise Refused("attachments_too_many", count=len(handles), limit=ATTACHMENTS_MAX)
    records = [store.by_handle(each) for each in handles]
    for handle in handles:
        if handles.count(handle) > 1:
            raise Refused("attachments_repeated", id=handle)
    return records


def _known(path: os.PathLike[str]) -> dict | None:
    if not os.path.lexists(path):
        return None
    try:
        receipt = json.loads(read_bounded(path, SETTINGS_BYTES_MAX))
    except (ValueError, RecursionError):
        receipt = None
    is_whole = isinstance(receipt, dict) and all(isinstance(receipt.get(name), str) for name in ("submissionId", "proofSecret")) and isinstance(receipt.get("attachments"), list)
    if not is_whole or receipt.get("version") != VERSION:
        raise Refused("materials_store_unreadable", path=str(path), problem="it is no receipt of a submission")
    return receipt
