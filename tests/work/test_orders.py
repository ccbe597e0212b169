"""Verification and evidence orders at a Worker. Duty: the Worker hop, §§4, 5.3, 16."""

from __future__ import annotations

import json

import pytest

from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.wire.contract import validate
from rulith.wire.manifest import read_manifest
from rulith.work.checks import Bench
from rulith.work.orders import judge_order, write_order

ME, MINE = "wkr_test_0000", "conn_1"
TOOLS = read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": {
    "acme.check@1": {"adapter": "run", "entry": "check.py", "kind": "read", "sourceTypes": ["file"], "params": {"order": "string", "total": "number"},
                     "returns": [{"predicate": "acme.total", "args": {"order": "$order", "total": "$total"}}], "handles": {"verification": ["acme.total"]}},
    "acme.weak@1": {"adapter": "run", "entry": "weak.py", "kind": "read", "sourceTypes": [], "params": {}, "handles": {"verification": ["acme.seen"]}, "tier": "uncertain"},
    "acme.gather@1": {"adapter": "run", "entry": "gather.py", "kind": "read", "sourceTypes": ["file"], "params": {"material": "string"},
                      "returns": [{"predicate": "acme.total", "args": {"order": "$order", "total": "$total"}}], "handles": {"evidence": ["invoices"]}},
}}))
CLAIM = {"predicate": "acme.total", "args": {"order": "o-1", "total": 9593}}
VERIFY = {"workType": "verification", "work": "ver_1", "boardId": "agent", "channel": MINE, "source": "docs", "claim": CLAIM}
GATHER = {"workType": "evidence", "work": "evi_1", "material": "invoices", "source": "docs"}


def bench(calls=None):
    sources = {"docs": Source("docs", "file", "/docs"), "web": Source("web", "http", "https://x")}
    return Bench(MINE, "key", ME, TOOLS, sources.get, lambda call: (calls if calls is not None else []).append(call), lambda: True, 7)


def told(order, value):
    outcome = value if isinstance(value, (Failed, Withheld, Executed)) else Executed(value if isinstance(value, str) else json.dumps(value))
    receipt = write_order(order, outcome)
    if receipt is not None:
        validate("reportWork", receipt.operation)
    return receipt.operation if receipt is not None else None


def test_the_tool_that_handles_the_predicate_gets_the_claims_arguments():
    calls = []
    order = judge_order(VERIFY, bench(calls))
    assert (order.tool.id, calls[0].arguments, calls[0].source.name) == ("acme.check@1", CLAIM["args"], "docs")
    gathered = judge_order(GATHER, bench(calls))
    assert (gathered.tool.id, calls[1].arguments) == ("acme.gather@1", {"material": "invoices"})


@pytest.mark.parametrize("row, code", [
    ({**VERIFY, "channel": "conn_2"}, "row_other_connection"), ({**VERIFY, "claim": {**CLAIM, "predicate": "acme.other"}}, "order_not_handled"),
    ({**VERIFY, "source": "web"}, "source_type_mismatch"), ({**VERIFY, "source": "nowhere"}, "source_type_mismatch"), ({**VERIFY, "caseId": "c"}, "row_malformed"),
    ({**VERIFY, "claim": {"predicate": "acme.total", "args": {"order": 7, "total": 1}}}, "argument_refused"), ({**VERIFY, "claim": {**CLAIM, "args": {}}}, "argument_refused"),
    ({**GATHER, "material": "receipts"}, "order_not_handled"), ({**GATHER, "tool": "acme.check@1"}, "order_not_handled"), ({**GATHER, "source": ""}, "row_malformed"),
])
def test_an_order_that_does_not_fit_is_left_unclaimed(row, code):
    with pytest.raises(Refused) as caught:
        judge_order(row, bench())
    assert caught.value.code == code


@pytest.mark.parametrize("output", [
    {"outcome": "satisfied", "tier": "attested", "reason": "r" * 500, "facts": [CLAIM]}, {"outcome": "not_satisfied"}, {"outcome": "error", "reason": "down"},
    {"outcome": "satisfied", "rows": [{"order": "o-1", "total": 9593}]},
])
def test_an_outcome_that_is_stated_is_reported_with_the_weaker_tier(output):
    report = told(judge_order(VERIFY, bench()), output)
    assert report["outcome"] == output["outcome"] and report["tier"] == "attested" and report["evidenceRefs"] == ["worker:conn_1"]
    assert len(report.get("reason", "")) <= 240 and report.get("facts", [CLAIM]) == [CLAIM] and "ok" not in report


@pytest.mark.parametrize("output", [
    {}, {"outcome": True}, {"outcome": "yes"}, {"outcome": "SATISFIED"}, {"satisfied": True}, [], "true", "satisfied", "not json", {"outcome": "satisfied", "tier": "certain"},
    {"outcome": "satisfied", "tier": "asserted"}, {"outcome": "satisfied", "facts": [{"predicate": "p", "args": {"a": None}}]}, {"outcome": "satisfied", "facts": "x"},
    {"outcome": "satisfied", "facts": [{**CLAIM, "tier": "verified"}]}, {"outcome": "satisfied", "rows": [{"order": "o-1"}]},
    {"outcome": "satisfied", "facts": [{"predicate": "acme.total", "args": {"order": "x" * 70_000}}]}, Failed("exit 1"), Withheld("adapter_output_exceeds_object_budget"),
])
def test_a_guess_or_half_a_verdict_is_an_error_and_never_a_yes(output):
    report = told(judge_order(VERIFY, bench()), output)
    assert report["outcome"] == "error" and report["reason"] and "facts" not in report and "tier" not in report


@pytest.mark.parametrize("stated, tier", [(None, "perceived"), ("verified", "perceived"), ("perceived", "perceived")])
def test_a_tool_is_no_stronger_than_its_manifest_says(stated, tier):
    order = judge_order({**VERIFY, "source": "", "claim": {"predicate": "acme.seen", "args": {}}}, bench())
    assert told(order, {"outcome": "satisfied", **({"tier": stated} if stated else {})})["tier"] == tier


@pytest.mark.parametrize("output", [{"facts": [CLAIM]}, [CLAIM], {"rows": [{"order": "o-1", "total": 9593}]}, Executed("", rows=({"order": "o-1", "total": 9593},))])
def test_evidence_is_its_facts_with_what_they_were_read_from(output):
    report = told(judge_order(GATHER, bench()), output)
    assert (report["facts"], report["material"], report["source"]) == ([CLAIM], "invoices", "docs") and "id" not in report
    assert report["exhibit"]["target"] == "tool:acme.gather@1" and report["exhibit"]["item"] == "docs"


@pytest.mark.parametrize("output", [{"facts": []}, [], {}, "no json", Failed("x"), {"facts": [{"predicate": ""}]}])
def test_without_facts_there_is_no_report(output):
    assert told(judge_order(GATHER, bench()), output) is None
