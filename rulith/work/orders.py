"""Verification and evidence orders: a person asks what a Source has to say, and a Tool that handles it answers.

Judges an order's row by what this process knows, as an action row is judged, and turns the
Tool's output into the one report. An outcome is what the output states outright: a truthy
guess, a half verdict or an unknown tier is an error, never a yes. What a Tool claims for
itself is no stronger than its Manifest lets it be; the gateway caps it again.

Source  the Worker hop, §§4, 5.3 and 16
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Call, Executed, Failed, Outcome, Withheld
from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.wire.contract import validate
from rulith.wire.digests import execution_key
from rulith.wire.manifest import TIERS, Tool
from rulith.work.checks import Bench, check_arguments
from rulith.work.receipts import Receipt, facts_of, Unmapped

VERIFICATION, EVIDENCE = "verification", "evidence"
OUTCOMES = ("satisfied", "not_satisfied", "error")
REPORTED = ("verified", "attested", "perceived")     # the tiers a report can state, strongest first
REASON_CHARS_MAX = 240
REPORT_BYTES_MAX = 65_536        # of the facts of one report


@dataclass(frozen=True)
class ClearedOrder:
    """An order that may be worked on. Attributes that an action row has too have its names; it carries no grant."""

    work_type: str
    invocation: str
    action: str
    tool: Tool
    connection_id: str
    worker_id: str
    generation: int
    source: str
    row: Mapping[str, object]
    runnable: Runnable = field(repr=False)
    grant: None = None


def judge_order(row: Mapping[str, object], bench: Bench) -> ClearedOrder:
    """Every check up to the claim. Raises Refused: row_malformed, row_other_connection, order_not_handled, source_type_mismatch, argument_refused, …"""
    kind = str(row["workType"])
    try:
        validate(f"{kind}Row", row)
    except Refused as refused:
        raise Refused("row_malformed", problem=refused.happened, place=refused.facts.get("place", "")) from None
    if kind == VERIFICATION and row["channel"] != bench.connection_id:
        raise Refused("row_other_connection")
    claim = row.get("claim")
    name = str(claim["predicate"] if isinstance(claim, Mapping) else row["material"])
    tool = next((each for each in bench.tools.values() if name in each.handles.get(kind, ())), None)
    if tool is None:
        raise Refused("order_not_handled", kind=kind, name=name[:120])
    if row.get("tool") not in (None, "", tool.id):
        raise Refused("order_not_handled", kind=kind, name=f"{name} by {row['tool']}"[:120])
    source = None
    if tool.source_types or row["source"]:
        source = bench.find_source(str(row["source"]))
        if source is None or source.type not in tool.source_types:
            found = "not authorized on this Connection" if source is None else f"of type {source.type}"
            raise Refused("source_type_mismatch", tool=tool.id, accepts=", ".join(tool.source_types) or "none", source=str(row["source"])[:80], found=found)
    given = dict(claim["args"]) if isinstance(claim, Mapping) else {"material": name} if "material" in tool.params else {}
    given.pop("source", None)
    check_arguments(tool.params, given, tool.adapter)
    work = str(row["work"])
    call = Call(work, execution_key(str(row.get("boardId", bench.connection_id)), work), tool, given, source)
    return ClearedOrder(kind, work, name, tool, bench.connection_id, bench.worker_id, bench.generation, str(row["source"]), row, bench.compile(call))


def write_order(order: ClearedOrder, outcome: Outcome) -> Receipt | None:
    """The one report of this order; None for evidence without facts, of which nothing is reported."""
    return _verdict(order, outcome) if order.work_type == VERIFICATION else _evidence(order, outcome)


class _Unclear(Exception):
    """The output does not say what it must; says why."""


def _identity(order: ClearedOrder) -> dict[str, object]:
    return {"kind": "ReportWork", "workType": order.work_type, "workerId": order.worker_id, "workerGeneration": order.generation}


def _value(outcome: Outcome) -> object:
    if isinstance(outcome, Failed):
        raise _Unclear(outcome.reason)
    if isinstance(outcome, Withheld):
        raise _Unclear(f"what came of it is not known ({outcome.code})")
    if not isinstance(outcome, Executed):
        raise _Unclear("it told of an object and not of facts")
    if outcome.rows is not None:
        return {"rows": list(outcome.rows)}
    try:
        return read_json(outcome.text, "the output")
    except Refused as refused:
        raise _Unclear(refused.happened.rstrip(".")) from None


def _facts(tool: Tool, value: object) -> list[dict[str, object]]:
    """Facts as stated outright, or as the Tool's `returns` rows make them from result rows."""
    if isinstance(value, Mapping) and "rows" in value and tool.returns:
        rows = value["rows"]
        try:
            found = facts_of(tool.returns, rows if isinstance(rows, list) else [rows])
        except Unmapped as problem:
            raise _Unclear(str(problem)) from None
    else:
        found = value.get("facts", []) if isinstance(value, Mapping) else value
        if not isinstance(found, list):
            raise _Unclear("its facts are not a list")
    for fact in found:
        try:
            validate("fact", fact)
        except Refused as refused:
            raise _Unclear(f"a fact of it is none: {refused.happened.rstrip('.')}") from None
    if len(compact_json(found).encode("utf-8", "surrogatepass")) > REPORT_BYTES_MAX:
        raise _Unclear(f"its facts take more than {REPORT_BYTES_MAX} bytes")
    return found


def _tier(order: ClearedOrder, value: Mapping) -> str:
    """The weaker of the Tool's and the output's tier, as a report can state it."""
    stated = value.get("tier", order.tool.tier)
    if stated not in TIERS:
        raise _Unclear("its tier is none")
    weakest = max(TIERS.index(stated), TIERS.index(order.tool.tier))
    tier = next((each for each in REPORTED if TIERS.index(each) >= weakest), None)
    if tier is None:
        raise _Unclear("what is only asserted verifies nothing")
    return tier


def _verdict(order: ClearedOrder, outcome: Outcome) -> Receipt:
    report: dict[str, object] = {**_identity(order), "id": order.invocation}
    try:
        value = _value(outcome)
        if not isinstance(value, Mapping) or value.get("outcome") not in OUTCOMES:
            raise _Unclear("it states no outcome of satisfied, not_satisfied and error")
        said = value.get("reason")
        report |= {"outcome": value["outcome"], "tier": _tier(order, value), "evidenceRefs": [f"worker:{order.connection_id}"]}
        if isinstance(said, str) and said:
            report["reason"] = said[:REASON_CHARS_MAX]
        facts = _facts(order.tool, value)
        if facts:
            report["facts"] = facts
    except _Unclear as problem:
        report = {**_identity(order), "id": order.invocation, "outcome": "error", "reason": _one_line(str(problem))}
    return Receipt(report, str(report["outcome"]), order.generation)


def _evidence(order: ClearedOrder, outcome: Outcome) -> Receipt | None:
    try:
        facts = _facts(order.tool, _value(outcome))
    except _Unclear:
        return None
    if not facts:
        return None
    exhibit = {"target": f"tool:{order.tool.id}", "item": order.source, "digest": digest(facts)[:len("sha256:") + 16]}
    report = {**_identity(order), "material": order.action, "source": order.source, "facts": facts, "exhibit": exhibit}
    return Receipt(report, "evidence", order.generation)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:REASON_CHARS_MAX]
