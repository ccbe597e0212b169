"""The Worker hop's closed shapes: operations in, rows out, headers, and the upload rule.

Decides whether a message has the contract's form; whether it may be served is the
gateway's business, whether a row may run the Worker's. Identity is stated twice, in the
headers and in the body, and the two must agree.

Source  protocol/worker-contract.json; vectors in protocol/worker/vectors.json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import INTEGER_MAX
from rulith.wire.contract import validate, worker_surface
from rulith.wire.lease import WORKER_ID

# kind -> name of its schema
OPERATIONS = {
    "Poll": "poll",
    "ClaimWork": "claimWork",
    "ReportWork": "reportWork",
    "RenewLease": "renewLease",
    "ReleaseLease": "releaseLease",
}
ROWS = {
    "action": "workerActionRow",
    "review": "reviewRow",
    "verification": "verificationRow",
    "evidence": "evidenceRow",
}
ROW_ORDER = tuple(ROWS)          # a batch is worked in this order, stable inside each type

CONNECTION_HEADER = "x-rulith-connection"
KEY_HEADER = "x-rulith-connection-key"
WORKER_HEADER = "x-rulith-worker"
GENERATION_HEADER = "x-rulith-worker-generation"
VERSION_HEADER = "x-rulith-worker-version"
PROTOCOL_DATE = "2026-09-01"

_GENERATION = re.compile(r"[1-9][0-9]{0,15}", re.ASCII)


def _no(problem: str, place: str = "") -> Refused:
    return Refused("bad_command", problem=problem, place=place)


# -- operations ----------------------------------------------------------------------------


def read_operation(body: object) -> dict[str, object]:
    """The operation of a request body `{"operation": {…}}`, in its closed shape.

    Raises Refused bad_command naming the member; retired members are refused by name.
    """
    if not isinstance(body, dict) or set(body) != {"operation"} or not isinstance(body["operation"], dict):
        raise _no("The body must be an object with exactly one member, `operation`.", "/operation")
    operation = body["operation"]
    for name in worker_surface()["retiredMembers"]:
        if name in operation:
            raise _no(f"`{name}` is retired and has no meaning on the Worker hop.", f"/{name}")
    kind = operation.get("kind")
    if not isinstance(kind, str) or kind not in OPERATIONS:
        raise _no(f"`kind` must be one of {', '.join(OPERATIONS)}.", "/kind")
    validate(OPERATIONS[kind], operation)
    return operation


def poll(worker_id: str, tools: list[dict[str, object]], generation: int | None) -> dict[str, object]:
    operation: dict[str, object] = {"kind": "Poll", "workerId": worker_id, "tools": tools}
    if generation is not None:
        operation["workerGeneration"] = generation
    return operation


def claim(work_type: str, work: str, *, worker_id: str, generation: int, grant: str | None) -> dict[str, object]:
    operation: dict[str, object] = {
        "kind": "ClaimWork", "workType": work_type, "id": work, "workerId": worker_id, "workerGeneration": generation,
    }
    if grant is not None:
        operation["executionGrant"] = grant
    return operation


def report_action(
    work: str, *, worker_id: str, generation: int, grant: str, ok: bool, result: str = "", reason: str | None = None,
    facts: list[dict[str, object]] | None = None,
) -> dict[str, object]:
    """A receipt of an action that ran: executed (`ok`) or failed by the adapter's own word."""
    operation: dict[str, object] = {
        "kind": "ReportWork", "workType": "action", "id": work, "ok": ok, "result": result,
        "workerId": worker_id, "workerGeneration": generation, "executionGrant": grant,
    }
    if ok and facts:
        operation["facts"] = facts
    if not ok and reason is not None:
        operation["reason"] = reason
    return operation


def report_undeliverable(
    work: str, *, worker_id: str, generation: int, grant: str, code: str
) -> dict[str, object]:
    """A report that the effect is unknown or its result cannot travel; never used when the outcome is known."""
    return {
        "kind": "ReportWork", "workType": "action", "id": work, "undeliverable": code,
        "workerId": worker_id, "workerGeneration": generation, "executionGrant": grant,
    }


def renew(worker_id: str, generation: int) -> dict[str, object]:
    return {"kind": "RenewLease", "workerId": worker_id, "workerGeneration": generation}


def release(worker_id: str, generation: int) -> dict[str, object]:
    return {"kind": "ReleaseLease", "workerId": worker_id, "workerGeneration": generation}


# -- headers -------------------------------------------------------------------------------


def request_headers(
    *, connection_id: str, key: str, worker_id: str | None = None, generation: int | None = None
) -> dict[str, str]:
    """Headers of one request; without a `worker_id` those of the Source list."""
    headers = {CONNECTION_HEADER: connection_id, KEY_HEADER: key}
    if worker_id is not None:
        headers |= {"content-type": "application/json", WORKER_HEADER: worker_id, VERSION_HEADER: PROTOCOL_DATE}
        if generation is not None:
            headers[GENERATION_HEADER] = str(generation)
    return headers


def read_generation(text: str) -> int:
    """A generation as a header states it. Raises Refused bad_command."""
    if not _GENERATION.fullmatch(text) or int(text) > INTEGER_MAX:
        raise _no(f"{GENERATION_HEADER} is not a generation in decimal.", GENERATION_HEADER)
    return int(text)


@dataclass(frozen=True)
class StatedIdentity:
    """Who the headers say is asking; both None when the instance header is absent."""

    worker_id: str | None
    generation: int | None


def read_identity(values: Callable[[str], list[str]]) -> StatedIdentity:
    """The instance and generation headers; `values(name)` lists every value sent under a name.

    Raises Refused bad_command: a header twice, a generation without an instance, a malformed half.
    """
    found: dict[str, str | None] = {}
    for name in (WORKER_HEADER, GENERATION_HEADER):
        sent = values(name)
        if len(sent) > 1:
            raise _no(f"{name} is given {len(sent)} times.", name)
        found[name] = sent[0] if sent else None
    worker_id, stated = found[WORKER_HEADER], found[GENERATION_HEADER]
    if worker_id is None and stated is not None:
        raise _no(f"{GENERATION_HEADER} is given without {WORKER_HEADER}.", GENERATION_HEADER)
    if worker_id is not None and not WORKER_ID.fullmatch(worker_id):
        raise _no(f"{WORKER_HEADER} is not an instance id.", WORKER_HEADER)
    return StatedIdentity(worker_id, None if stated is None else read_generation(stated))


def check_identity(stated: StatedIdentity, operation: Mapping[str, object]) -> None:
    """Headers and body name the same instance and generation; absent matches absent.

    Raises Refused bad_command.
    """
    if stated.worker_id != operation["workerId"]:
        raise _no(f"{WORKER_HEADER} and `workerId` differ.", "/workerId")
    if stated.generation != operation.get("workerGeneration"):
        raise _no(f"{GENERATION_HEADER} and `workerGeneration` differ.", "/workerGeneration")


# -- rows ----------------------------------------------------------------------------------


def read_args(text: str) -> dict[str, object]:
    """The arguments of a row: the text of a JSON object, `{}` when there are none. Raises Refused bad_command."""
    return _object(text, "args")


def read_tool_spec(row: Mapping[str, object]) -> dict[str, object]:
    """The Tool spec of a row; its `exec` is the row's Tool. Raises Refused bad_command."""
    spec = _object(row["toolSpec"], "toolSpec")
    validate("toolSpec", spec)
    if spec["exec"] != row["toolContractId"]:
        raise _no("The row's `toolSpec` names another Tool in `exec` than `toolContractId`.", "/toolSpec/exec")
    return spec


def _object(text: str, name: str) -> dict[str, object]:
    try:
        value = read_json(text, f"`{name}` of the row")
    except Refused as problem:
        raise _no(problem.happened, f"/{name}") from None
    if not isinstance(value, dict):
        raise _no(f"`{name}` of the row is not the text of a JSON object.", f"/{name}")
    return value


# -- the upload rule -----------------------------------------------------------------------


def check_upload(source_record_id: str, upload: Mapping[str, object]) -> None:
    """Whether bytes of the row's Source may leave the machine. Permission is judged before size.

    Raises Refused: source_off_machine_denied, source_permission_required, upload_refused (the
    refusal that the gateway named is in facts["reason"]).
    """
    permission, refusal = upload["permission"], upload.get("refusal")
    if permission == "denied":
        raise Refused("source_off_machine_denied", source=source_record_id)
    same = source_record_id != "" and upload["sourceRecordId"] == source_record_id
    if same and permission == "granted":
        if upload["upload"] is True and refusal is None:
            return
        if upload["upload"] is False and refusal is not None:
            raise Refused("upload_refused", reason=refusal)
    raise Refused("source_permission_required", source=source_record_id)
