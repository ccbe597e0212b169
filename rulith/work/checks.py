"""The checks of an action row before anything is claimed, in the contract's order.

A row is judged against what this process knows by itself: its Connection, its Tools and
their pins, its Sources, the lease it holds. The first failure leaves the row unclaimed and
unrun; nothing is guessed, defaulted or repaired.

Source  protocol/worker-contract.json, "action row" and "pre-claim".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Call
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.wire.contract import validate, worker_surface
from rulith.wire.digests import execution_key, request_digest_of_row
from rulith.wire.grant import expected_grant, verify_grant
from rulith.wire.manifest import Tool
from rulith.wire.worker_hop import read_args, read_tool_spec

@dataclass(frozen=True)
class Bench:
    """What this process knows by itself while it judges one row.

    tools       every Tool installed here, built or not
    find_source a granted Source by record id, or None
    compile     the adapters' own judgement; starts nothing
    is_live     whether the lease is held now
    generation  of that lease
    keeps       whether this machine keeps objects that are told by reference
    check_material  whether a selected material is still what was selected; raises Refused. None: no materials are kept here
    """

    connection_id: str
    key: str = field(repr=False)
    worker_id: str
    tools: Mapping[str, Tool]
    find_source: Callable[[str], Source | None]
    compile: Callable[[Call], Runnable]
    is_live: Callable[[], bool]
    generation: int
    keeps: bool = False
    check_material: Callable[[Mapping[str, object]], None] | None = None


@dataclass(frozen=True)
class Cleared:
    """An action row that may be claimed: its identity as dispatched, and what to run.

    is_read   both the Tool and the dispatched contract call it a read
    keeps     whether a result over the inline budget may become an object of this machine
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
    object_bytes: int = 0
    keeps: bool = False
    work_type: str = "action"


def _as_malformed(code: str, refused: Refused) -> Refused:
    """The contract's own words under the code that an operator looks for."""
    return Refused(code, problem=refused.happened, place=refused.facts.get("place", ""))


def _check_shape(row: Mapping[str, object]) -> dict[str, object]:
    """Check 1: nothing retired, nothing twice, every member and no other; the arguments as an object."""
    surface = worker_surface()
    for name in surface["retiredMembers"]:
        if name in row:
            raise Refused("row_retired_member", field=name)
    for name in surface["shadowMembers"]:
        if name in row:
            raise Refused("row_shadow_member", field=name)
    try:
        validate("workerActionRow", row)
        return read_args(str(row["args"]))
    except Refused as refused:
        raise _as_malformed("row_malformed", refused) from None


def _check_binding(row: Mapping[str, object]) -> None:
    """A bound address is that of this row's own Source and Connection; the grant holds its digest."""
    binding = row.get("sourceBinding")
    if not isinstance(binding, Mapping):
        return
    for name in ("sourceRecordId", "connectionId"):
        if binding[name] != row[name]:
            raise Refused("row_malformed", problem=f"`sourceBinding` names another `{name}` than the row.", place=f"/sourceBinding/{name}")


def _read_spec(row: Mapping[str, object]) -> Mapping[str, object]:
    """Check 3: the dispatched contract. A missing sourceTypes is malformed, never Source-free."""
    try:
        return read_tool_spec(row)
    except Refused as refused:
        raise _as_malformed("tool_spec_malformed", refused) from None


def _select_source(
    row: Mapping[str, object], spec: Mapping[str, object], tool: Tool, args: Mapping[str, object], bench: Bench
) -> Source | None:
    """Checks 5 to 7: exactly the Source that was dispatched, or none at all."""
    record, dispatched = str(row["sourceRecordId"]), spec["sourceTypes"]
    assert isinstance(dispatched, list)
    if not dispatched:
        if record or "source" in args:
            raise Refused("source_free_has_source", tool=tool.id)
        if tool.source_types and tool.adapter == "run":
            raise Refused("source_type_mismatch", tool=tool.id, accepts=", ".join(tool.source_types), source="", found="absent")
        return None
    if not record or args.get("source") != record:
        raise Refused("source_selection_required", tool=tool.id)
    source = bench.find_source(record)
    accepts = [name for name in tool.source_types if name in dispatched]
    if source is None or source.type not in accepts:
        found = "not authorized on this Connection" if source is None else f"of type {source.type}"
        raise Refused("source_type_mismatch", tool=tool.id, accepts=", ".join(accepts) or "none", source=record, found=found)
    return source


_KINDS: Mapping[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}


def check_arguments(params: Mapping[str, object], args: Mapping[str, object], adapter: str) -> None:
    """Checks 9 and 10: the declared arguments, each of its kind, and no other."""
    for name in params:
        if adapter.startswith("db-") and name.lower() == "sql":
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
    args = _check_shape(row)
    if row["connectionId"] != bench.connection_id:
        raise Refused("row_other_connection")
    _check_binding(row)
    spec = _read_spec(row)
    tool = bench.tools.get(str(row["toolContractId"]))
    if tool is None:
        raise Refused("tool_not_installed", tool=str(row["toolContractId"])[:120])
    if row["toolDigest"] != tool.digest:
        raise Refused("tool_pin_mismatch", tool=tool.id)
    source = _select_source(row, spec, tool, args, bench)
    stated = {name: value for name, value in args.items() if name != "source"}
    params, policy, returns = spec["params"], row["artifactPolicy"], spec["returns"]
    assert isinstance(params, dict) and isinstance(policy, dict) and isinstance(returns, list)
    assert isinstance(row["sourceUpload"], dict)
    check_arguments(params, stated, tool.adapter)
    if tool.params or tool.builtin or "params" in tool.definition:
        check_arguments(tool.params, stated, tool.adapter)
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
    material = row.get("materialInput")
    if isinstance(material, Mapping):
        if bench.check_material is None:
            raise Refused("material_not_kept", selector=str(material["selector"]))
        bench.check_material(material)
    return Cleared(
        call.invocation, str(row["tool"]), tool, grant, bench.worker_id, bench.generation, tuple(returns),
        spec["kind"] == "read" and tool.kind == "read", str(row["sourceRecordId"]),
        row["sourceUpload"], policy["inlineBytes"], runnable,
        policy["objectBytes"], bench.keeps,
    )  # fmt: skip
