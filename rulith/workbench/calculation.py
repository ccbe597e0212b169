"""The calculation's input as the page sees it: what the file holds, and how it is replaced.

Never writes over a file that the person has not seen: a write names the digest of what it
replaces. Computes no total; that is for the Board.
"""

from __future__ import annotations

from pathlib import Path

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.disk.atomic import make_folder, read_bounded, write_whole
from rulith.disk.example import FIELDS, ORDER_BYTES_MAX, check_order, order_bytes, read_order

CASE_TYPES = ("verified_calculation", "approved_calculation")
INPUT_PREDICATE = "rulith.verified_calculation.input"


def input_path(workspace: Path) -> Path:
    return workspace / "runtime" / "input.json"


def look(workspace: Path) -> dict[str, object]:
    """The input file: `{file, exists, digest, values, problem}`; `values` only where it is a whole order."""
    path = input_path(workspace)
    row: dict[str, object] = {"file": str(path), "exists": path.exists(), "digest": digest_of(path), "values": None, "problem": None}
    try:
        row["values"] = read_order(path)
    except Refused as refusal:
        row["problem"] = refusal.happened
    return row


def digest_of(path: Path) -> str | None:
    """The SHA-256 of the file's bytes, hex; None when there is none that could be read."""
    try:
        return sha256_hex(read_bounded(path, ORDER_BYTES_MAX))
    except Refused:
        return None


def write(workspace: Path, values: object, replaces: object) -> None:
    """Replace the input, whose digest must be `replaces` (None: there is no file).

    Raises Refused: order_refused, input_changed, disk_full, write_failed.
    """
    order = check_order(values)
    path = input_path(workspace)
    if replaces != digest_of(path) or (replaces is None and path.exists()):
        raise Refused("input_changed")
    make_folder(path.parent, 0o755)
    write_whole(path, order_bytes({name: order[name] for name in FIELDS}), mode=0o644)


def closed_case(cases: list[dict], agent_id: str, case_type: str, job_id: str) -> str | None:
    """The Case in which this job was completed already, if any."""
    for row in cases:
        if (row.get("agentId"), row.get("caseType"), row.get("disposition")) == (agent_id, case_type, "completed") \
                and (row.get("businessKey") or {}).get("job_id") == job_id:
            return row["caseId"]
    return None


def check_same_numbers(order: dict, case_id: str, facts: list[dict]) -> None:
    """A closed job is closed for its numbers. Raises Refused job_closed_otherwise where they differ."""
    for fact in facts:
        held = fact.get("args") or {}
        if fact.get("predicate") != INPUT_PREDICATE or held.get("job_id") != order["job_id"]:
            continue
        different = [f"{name} {held[name]}, now {order[name]}" for name in FIELDS if name in held and held[name] != order[name]]
        if different:
            raise Refused("job_closed_otherwise", job_id=order["job_id"], case_id=case_id, differences="; ".join(different))
