"""The checks of an action row before anything is claimed, in the contract's order.

A row is judged against what this process knows by itself: its Connection, its Tools and
their pins, its Sources, the lease it holds. The first failure leaves the row unclaimed and
unrun; nothing is guessed, defaulted or repaired.

Source  protocol/worker-contract.json, "action row" and "pre-claim".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Call
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import INTEGER_MAX
from rulith.wire.digests import execution_key, request_digest_of_row
from rulith.wire.grant import expected_grant, verify_grant
from rulith.wire.manifest import Tool

RETIRED = ("caseId", "caseRevision")
SHADOWS = ("invocationId", "actionId", "grant", "sourcePermissions", "artifactPolicies")
TEXTS = ("workType", "work", "tool", "boardId", "toolContractId", "connectionId", "toolDigest", "executionGrant", "toolSpec")
MAY_BE_EMPTY = ("sourceRecordId", "target")
MEMBERS = frozenset((*TEXTS, *MAY_BE_EMPTY, "args", "sourceUpload", "artifactPolicy"))
POLICY = ("inlineBytes", "readBytes", "objectBytes", "totalBytes", "temporaryRetentionMs")
PERMISSIONS = ("granted", "denied", "absent")
_PIN = re.compile(r"[a-f0-9]{64}", re.ASCII)
_COLUMN = re.compile(r"\$[A-Za-z0-9_]+", re.ASCII)


@dataclass(frozen=True)
class Bench:
    """What this process knows by itself while it judges one row.

    tools       every Tool installed here, built or not
    find_source a granted Source by record id, or None
    compile     the adapters' own judgement; starts nothing
    is_live     whether the lease is held now
    generation  of that lease
    """

    connection_id: str
    key: str = field(repr=False)
    worker_id: str
    tools: Mapping[str, Tool]
    find_source: Callable[[str], Source | None]
    compile: Callable[[Call], Runnable]
    is_live: Callable[[], bool]
    generation: int


@dataclass(frozen=True)
class Cleared:
    """An action row that may be claimed: its identity as dispatched, and what to run.

    is_read   both the Tool and the dispatched contract call it a read
    """

    invocation: str
    action: str
    tool: Tool
    grant: str = field(repr=False)
    worker_id: str
    generation: int
    returns: tuple[Mapping[str, object], ...]
    is_read: bool
    source_record: str
    upload: Mapping[str, object]
    inline_bytes: int
    runnable: Runnable = field(repr=False)


def _malformed(name: str, problem: str) -> Refused:
    return Refused("row_malformed", field=name, problem=problem)


def _check_upload(upload: object) -> None:
    allowed = {"sourceRecordId", "permission", "upload", "refusal"}
    if not isinstance(upload, dict) or not allowed - {"refusal"} <= set(upload) <= allowed:
        raise _malformed("sourceUpload", "does not have exactly its members")
    if not isinstance(upload["sourceRecordId"], str) or upload["permission"] not in PERMISSIONS or type(upload["upload"]) is not bool:
        raise _malformed("sourceUpload", "holds a value of the wrong kind")
    refusal = upload.get("refusal")
    if refusal is not None and not (isinstance(refusal, str) and refusal):
        raise _malformed("sourceUpload", "holds a refusal that is no text")


def _check_shape(row: Mapping[str, object]) -> None:
    """Check 1: nothing retired, nothing twice, all fourteen members and no other."""
    for name in RETIRED:
        if name in row:
            raise Refused("row_retired_member", field=name)
    for name in SHADOWS:
        if name in row:
            raise Refused("row_shadow_member", field=name)
    for name in sorted(MEMBERS - set(row)):
        raise _malformed(name, "is missing")
    for name in sorted(set(row) - MEMBERS):
        raise _malformed(name[:80], "is not a member of an action row")
    for name in TEXTS:
        if not isinstance(row[name], str) or not row[name]:
            raise _malformed(name, "must be text that is not empty")
    for name in MAY_BE_EMPTY:
        if not isinstance(row[name], str):
            raise _malformed(name, "must be text")
    if not _PIN.fullmatch(str(row["toolDigest"])):
        raise _malformed("toolDigest", "must be 64 lower-case hex digits")
    _check_upload(row["sourceUpload"])
    policy = row["artifactPolicy"]
    if not isinstance(policy, dict) or set(policy) != set(POLICY):
        raise _malformed("artifactPolicy", "does not have exactly its members")
    for name in POLICY:
        if type(policy[name]) is not int or not 1 <= policy[name] <= INTEGER_MAX:
            raise _malformed("artifactPolicy", f"holds {name}, which must be a whole number from 1")


def _read_args(row: Mapping[str, object]) -> dict[str, object]:
    if not isinstance(row["args"], str):
        raise _malformed("args", "must be the text of a JSON object")
    try:
        args = read_json(row["args"], "args")
    except Refused as refused:
        raise _malformed("args", f"must be the text of a JSON object ({refused.happened})") from None
    if not isinstance(args, dict):
        raise _malformed("args", "must be the text of a JSON object")
    return args


@dataclass(frozen=True)
class _Spec:
    kind: object
    params: Mapping[str, object] | None
    source_types: tuple[object, ...]
    returns: tuple[Mapping[str, object], ...]


def _spec_returns(rows: object) -> tuple[Mapping[str, object], ...]:
    wrong = Refused("tool_spec_malformed", problem="holds returns that are no list of {predicate, args}")
    if not isinstance(rows, list):
        raise wrong
    for row in rows:
        args = row.get("args") if isinstance(row, dict) else None
        if not isinstance(args, dict) or not isinstance(row.get("predicate"), str) or not row["predicate"]:
            raise wrong
        if not all(isinstance(column, str) and _COLUMN.fullmatch(column) for column in args.values()):
            raise Refused("tool_spec_malformed", problem=f"maps {row['predicate'][:80]} to something that is no $column")
    return tuple(rows)


def _read_spec(row: Mapping[str, object]) -> _Spec:
    """Check 3: the dispatched contract. A missing sourceTypes is malformed, never Source-free."""
    try:
        spec = read_json(str(row["toolSpec"]), "toolSpec")
    except Refused as refused:
        raise Refused("tool_spec_malformed", problem=f"is not JSON ({refused.happened})") from None
    if not isinstance(spec, dict):
        raise Refused("tool_spec_malformed", problem="is not an object")
    if spec.get("impl") != "worker-tool":
        raise Refused("tool_spec_malformed", problem="does not name the implementation worker-tool")
    if spec.get("exec") != row["toolContractId"]:
        raise Refused("tool_spec_malformed", problem="names another Tool than the row")
    if "source" in spec:
        raise Refused("tool_spec_malformed", problem="pins a Source, which is retired")
    types = spec.get("sourceTypes")
    if not isinstance(types, list):
        raise Refused("tool_spec_malformed", problem="has no list of sourceTypes")
    params = spec.get("params")
    if params is not None and not isinstance(params, dict):
        raise Refused("tool_spec_malformed", problem="holds params that are no object")
    return _Spec(spec.get("kind"), params, tuple(types), _spec_returns(spec.get("returns", [])))


def _select_source(
    row: Mapping[str, object], spec: _Spec, tool: Tool, args: Mapping[str, object], bench: Bench
) -> Source | None:
    """Checks 5 to 7: exactly the Source that was dispatched, or none at all."""
    record = str(row["sourceRecordId"])
    if not spec.source_types:
        if record or "source" in args:
            raise Refused("source_free_has_source", tool=tool.id)
        if tool.source_types and tool.adapter == "run":
            raise Refused("source_type_mismatch", tool=tool.id, accepts=", ".join(tool.source_types), source="", found="absent")
        return None
    if not record or args.get("source") != record:
        raise Refused("source_selection_required", tool=tool.id)
    source = bench.find_source(record)
    accepts = [name for name in tool.source_types if name in spec.source_types]
    if source is None or source.type not in accepts:
        found = "not authorized on this Connection" if source is None else f"of type {source.type}"
        raise Refused("source_type_mismatch", tool=tool.id, accepts=", ".join(accepts) or "none", source=record, found=found)
    return source


_KINDS: Mapping[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}


def _check_arguments(params: Mapping[str, object], args: Mapping[str, object], adapter: str) -> None:
    """Checks 9 and 10: the declared arguments, each of its kind, and no other."""
    for name in params:
        if name == "source" or (adapter.startswith("db-") and name.lower() == "sql"):
            raise Refused("argument_reserved", name=name, adapter=adapter)
    for name in args:
        if name not in params:
            raise Refused("argument_refused", name=name[:80], problem="is not declared")
    for name, declared in params.items():
        text = str(declared)
        kind, optional = text.removesuffix("?"), text.endswith("?")
        if name not in args:
            if optional:
                continue
            raise Refused("argument_refused", name=name, problem="is missing")
        value = args[name]
        fits = kind == "json" or (isinstance(value, _KINDS.get(kind, ())) and (kind == "boolean" or not isinstance(value, bool)))
        if not fits:
            raise Refused("argument_refused", name=name, problem=f"is not of type {kind}")


def judge_row(row: Mapping[str, object], bench: Bench) -> Cleared:
    """Every check up to the claim. Raises Refused; worker_lease_lost means the batch is over."""
    _check_shape(row)
    args = _read_args(row)
    if row["connectionId"] != bench.connection_id:
        raise Refused("row_other_connection")
    spec = _read_spec(row)
    tool = bench.tools.get(str(row["toolContractId"]))
    if tool is None:
        raise Refused("tool_not_installed", tool=str(row["toolContractId"])[:120])
    if row["toolDigest"] != tool.digest:
        raise Refused("tool_pin_mismatch", tool=tool.id)
    source = _select_source(row, spec, tool, args, bench)
    stated = {name: value for name, value in args.items() if name != "source"}
    if spec.params is not None:
        _check_arguments(spec.params, stated, tool.adapter)
    if tool.params or tool.builtin or "params" in tool.definition or spec.params is None:
        _check_arguments(tool.params, stated, tool.adapter)
    policy = row["artifactPolicy"]
    assert isinstance(policy, dict) and isinstance(row["sourceUpload"], dict)
    call = Call(
        str(row["work"]), execution_key(str(row["boardId"]), str(row["work"])), tool, stated, source,
        policy["inlineBytes"], policy["objectBytes"],
    )  # fmt: skip
    runnable = bench.compile(call)
    request = request_digest_of_row(row)  # type: ignore[arg-type]
    if not bench.is_live():
        raise Refused("worker_lease_lost")
    grant = str(row["executionGrant"])
    verify_grant(grant, key=bench.key, expect=expected_grant(
        row, connection_id=bench.connection_id, worker_id=bench.worker_id,
        worker_generation=bench.generation, request_digest=request,
    ))  # fmt: skip
    return Cleared(
        call.invocation, str(row["tool"]), tool, grant, bench.worker_id, bench.generation, spec.returns,
        spec.kind == "read" and tool.kind == "read", str(row["sourceRecordId"]),
        row["sourceUpload"], policy["inlineBytes"], runnable,
    )  # fmt: skip
