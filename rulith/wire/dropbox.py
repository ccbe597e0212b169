"""Drop-box files: the Worker hop where no network goes, as signed, numbered files in a folder.

Two streams, one each way. Every file is a snapshot: all that its writer has to say at that
moment. So a reader takes the highest number that it can verify and never goes back; a file
that is lost, torn, late, repeated or forged costs nothing but time. Bytes in, payloads out;
knows no folder and no clock.

A file is one line, `rulith-dropbox/1 <direction> <signature>`, and the payload as JSON. The
signature is HMAC-SHA256 under a key drawn from the Connection key for this direction, so a
file that is carried back the wrong way is nobody's.

Units   instants are RFC 3339, UTC
Source  docs/worker.md, "A Worker that no network reaches"
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.base.clock import seconds_of
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.base.limits import DROPBOX_ROWS_MAX, INTEGER_MAX
from rulith.wire.lease import WORKER_ID, is_generation

FORMAT = "rulith-dropbox/1"
WORK, RECEIPTS = "work", "receipts"
_HEAD = re.compile(rb"rulith-dropbox/1 (work|receipts) ([a-f0-9]{64})\n")
WORK_NAME = re.compile(r"([0-9]{16})\.work", re.ASCII)
RECEIPTS_NAME = re.compile(r"(wkr_[A-Za-z0-9_-]{8,80})\.([0-9]{16})\.receipts", re.ASCII)


def work_name(sequence: int) -> str:
    return f"{sequence:016d}.work"


def receipts_name(worker_id: str, sequence: int) -> str:
    return f"{worker_id}.{sequence:016d}.receipts"


@dataclass(frozen=True)
class WorkFile:
    """What the gateway says: who holds the line, the Sources, the calls that are out, and what became of receipts.

    rows      `{"row": an action row, "startBefore": instant}`
    answers   invocation -> the answer to its report, as the hop would have given it, and `of`, the report's digest
    seen      the number of the receipts file that this follows, of the holder
    """

    connection_id: str
    sequence: int
    at: str
    worker_id: str | None
    generation: int
    sources: list[object] = field(repr=False)
    rows: list[Mapping[str, object]] = field(repr=False)
    answers: Mapping[str, Mapping[str, object]] = field(repr=False)
    seen: int = 0

    def payload(self) -> dict[str, object]:
        return {
            "connectionId": self.connection_id, "sequence": self.sequence, "at": self.at, "workerId": self.worker_id,
            "workerGeneration": self.generation, "sources": self.sources, "rows": self.rows, "answers": self.answers,
            "seen": self.seen,
        }


@dataclass(frozen=True)
class ReceiptsFile:
    """What a Worker says: its instance, the generation it holds or None to ask for one, its Tools, its unanswered reports.

    reports   ReportWork operations, each under the identity its row was dispatched under
    seen      the number of the work file that this follows
    """

    connection_id: str
    sequence: int
    at: str
    worker_id: str
    generation: int | None
    tools: list[object] = field(repr=False)
    reports: list[Mapping[str, object]] = field(repr=False)
    seen: int = 0

    def payload(self) -> dict[str, object]:
        return {
            "connectionId": self.connection_id, "sequence": self.sequence, "at": self.at, "workerId": self.worker_id,
            "workerGeneration": self.generation, "tools": self.tools, "reports": self.reports, "seen": self.seen,
        }


def _signature(direction: str, payload: bytes, key: str) -> str:
    own = hmac.new(key.encode("utf-8"), f"{FORMAT} {direction}".encode("ascii"), hashlib.sha256).digest()
    return hmac.new(own, payload, hashlib.sha256).hexdigest()


def seal(file: WorkFile | ReceiptsFile, key: str) -> bytes:
    """The bytes of one file."""
    direction = WORK if isinstance(file, WorkFile) else RECEIPTS
    payload = compact_json(file.payload()).encode("utf-8")
    return f"{FORMAT} {direction} {_signature(direction, payload, key)}\n".encode("ascii") + payload


def _unreadable(problem: str) -> Refused:
    return Refused("dropbox_file_unreadable", problem=problem)


def _opened(content: bytes, direction: str, key: str) -> Mapping[str, object]:
    head = _HEAD.match(content)
    if head is None:
        raise _unreadable("it does not begin as one")
    payload, stated = content[head.end() :], head[2].decode("ascii")
    if head[1].decode("ascii") != direction:
        raise _unreadable("it goes the other way")
    if not hmac.compare_digest(stated, _signature(direction, payload, key)):
        raise Refused("dropbox_file_signature")
    value = read_json(payload, "the payload")
    if not isinstance(value, dict):
        raise _unreadable("its payload is no object")
    return value


_INSTANCE, _COUNT, _LIST, _OBJECT = "an instance id", "a count", "a list", "an object"
_SHAPES = {
    WORK: {"connectionId": "a text", "sequence": "a number", "at": "an instant", "workerId": "an instance id or null",
           "workerGeneration": _COUNT, "sources": _LIST, "rows": _LIST, "answers": _OBJECT, "seen": _COUNT},
    RECEIPTS: {"connectionId": "a text", "sequence": "a number", "at": "an instant", "workerId": _INSTANCE,
               "workerGeneration": "a generation or null", "tools": _LIST, "reports": _LIST, "seen": _COUNT},
}


def is_instant(value: object) -> bool:
    try:
        return isinstance(value, str) and seconds_of(value) > 0
    except ValueError:
        return False


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INTEGER_MAX


_IS = {
    "a text": lambda value: isinstance(value, str), "a number": is_generation, "an instant": is_instant, _COUNT: _is_count,
    _LIST: lambda value: isinstance(value, list) and len(value) <= DROPBOX_ROWS_MAX, _OBJECT: lambda value: isinstance(value, dict),
    _INSTANCE: lambda value: isinstance(value, str) and WORKER_ID.fullmatch(value) is not None,
    "an instance id or null": lambda value: value is None or _IS[_INSTANCE](value),
    "a generation or null": lambda value: value is None or is_generation(value),
}


def _checked(payload: Mapping[str, object], direction: str, connection_id: str) -> Mapping[str, object]:
    shape = _SHAPES[direction]
    if set(payload) != set(shape):
        raise _unreadable(f"its members differ in {', '.join(sorted(set(payload) ^ set(shape)))[:200]}")
    for name, wanted in shape.items():
        if not _IS[wanted](payload[name]):
            raise _unreadable(f"{name} is not {wanted}")
    if payload["connectionId"] != connection_id:
        raise _unreadable("it is another Connection's")
    return payload


def read_work(content: bytes, name: str, *, key: str, connection_id: str) -> WorkFile:
    """A work file, verified, under the name it was written as. Raises Refused: dropbox_file_unreadable, dropbox_file_signature, and those of strict JSON."""
    row = _checked(_opened(content, WORK, key), WORK, connection_id)
    for each in row["rows"]:
        if not isinstance(each, dict) or set(each) != {"row", "startBefore"} or not isinstance(each["row"], dict) or not is_instant(each["startBefore"]):
            raise _unreadable("a row of it is not {row, startBefore}")
    if not all(isinstance(each, dict) for each in row["answers"].values()):
        raise _unreadable("an answer of it is no object")
    if name != work_name(row["sequence"]):
        raise _unreadable("it was written under another name")
    return WorkFile(connection_id, row["sequence"], row["at"], row["workerId"], row["workerGeneration"], row["sources"], row["rows"],
                    row["answers"], row["seen"])  # fmt: skip


def read_receipts(content: bytes, name: str, *, key: str, connection_id: str) -> ReceiptsFile:
    """A receipts file, verified; its reports are checked one by one by whoever takes them. Raises Refused as read_work does."""
    row = _checked(_opened(content, RECEIPTS, key), RECEIPTS, connection_id)
    if name != receipts_name(row["workerId"], row["sequence"]):
        raise _unreadable("it was written under another name")
    return ReceiptsFile(connection_id, row["sequence"], row["at"], row["workerId"], row["workerGeneration"], row["tools"], row["reports"],
                        row["seen"])  # fmt: skip
