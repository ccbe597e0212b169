"""What stays in memory of closed Cases is bounded: their results stay on the Board, their story goes to their receipts."""

from __future__ import annotations

import gc
import itertools
import json
import resource
from pathlib import Path

import pytest

from rulith.base.canonical import canonical_text, digest
from rulith.board.board import Board
from rulith.board.cases import CLOSINGS_KEPT
from rulith.board.operations import PLAIN_KEPT_MIN, PLANNED_KEPT, Operations, recalled
from rulith.board.registry import DECISIONS_KEPT, Registry
from rulith.board.views import NODES_KEPT
from tests.board.conftest import PREFIX, SOURCE_NAME, example_capability, example_policy, example_source

CASES, WARM = 1_200, 400
KIB_PER_CASE = 24       # a directory row, six facts with who said them, and their places in the indexes
SESSION = "s"


class Gateway:
    """The three machines of law driven as the gateway drives them; nothing else is kept."""

    def __init__(self) -> None:
        self.board, self.operations, self.registry = Board("agt_1"), Operations("agt_1"), Registry()
        self.policy = example_policy()
        self.count = itertools.count(1)
        document = example_capability()
        self.law(self.board, kind="install_capability", capability=document, digest=digest(document))

    def law(self, machine, **command):
        number = next(self.count)
        at = f"2026-10-03T{number // 3_600_000 % 24:02d}:{number // 60_000 % 60:02d}:{number // 1000 % 60:02d}.{number % 1000:03d}Z"
        command = json.loads(canonical_text(command))
        return machine.execute(command, at=at, mint=lambda prefix: f"{prefix}{next(self.count):024x}")

    def look(self, case, changed=()):
        view = self.board.view(None, [case["caseId"]], self.policy, first=changed)
        self.operations.strip(at="2026-10-03T09:00:00.000Z", view=view, encode=json.dumps)

    def plain(self, tool, case_ids, result):
        self.law(self.operations, kind="admit", tool=tool, label=tool, session=SESSION, caseIds=case_ids,
                 settled={"state": "done", "result": {"accepted": True, "result": result}, "summary": "done"})
        self.law(self.operations, kind="deliver", ordinal=self.operations.last_ordinal, session=SESSION)

    def act(self, case, action, rows):
        plan = self.board.plan_action(PREFIX + action, {"source": SOURCE_NAME}, case["root"], self.policy, focus=[case["caseId"]])
        ordinal, extra = self.operations.last_ordinal + 1, {}
        if plan.decision:
            asked = self.law(self.registry, kind="request_decision", authority={"kind": "gateway"}, agentId="agt_1", ordinal=ordinal,
                             decisionKind="x", people=1, expiresS=600, action=plan.action, argsText=plan.args_text, target=plan.target,
                             argumentDigest=plan.argument_digest, premises=list(plan.premises), caseIds=list(plan.case_ids)).result
            extra["decision"] = {"id": asked["id"], "kind": "x", "expiresAt": asked["expiresAt"]}
        self.law(self.operations, kind="admit", tool="ApplyAction", label=action, session=SESSION, caseIds=list(plan.case_ids),
                 plan=plan.record(), **extra)
        if plan.decision:
            self.law(self.registry, kind="withdraw_decision", id=asked["id"], authority={"kind": "gateway"})
            self.law(self.operations, kind="decide", ordinal=ordinal, verdict="approve")
        holder = {"connectionId": "conn_1", "workerId": "wkr_1", "generation": 1}
        self.law(self.operations, kind="dispatch", ordinal=ordinal, requestDigest="q", grant="g" * 600, **holder)
        self.law(self.operations, kind="claim", ordinal=ordinal, **holder)
        outcome = self.law(self.board, kind="record_receipt", ordinal=ordinal, plan=plan.record(), ok=rows is not None, facts=rows or [], resultDigest="sha256:" + "b" * 64,
                           requestDigest="sha256:" + "c" * 64, workerId="wkr_1", workerGeneration=1, source=example_source().record())
        self.law(self.operations, kind="settle", ordinal=ordinal, state="done" if rows is not None else "failed", result={"accepted": True, "result": outcome.result},
                 summary="done", identity={"resultDigest": "b" * 64, "workerId": "wkr_1", "workerGeneration": 1})
        self.law(self.operations, kind="deliver", ordinal=ordinal, session=SESSION)

    def whole(self, job):
        approved = int(job[1:]) % 2 == 0
        opened = self.law(self.board, kind="open_case", caseType="approved_calculation" if approved else "verified_calculation",
                          businessKey={"job_id": job})
        case = opened.result
        self.plain("OpenCase", [case["caseId"]], case)
        totals = {"job_id": job, "subtotal_cents": 9093, "total_cents": 9593, "sha256": "0" * 64}
        self.act(case, "read_input", [{"predicate": PREFIX + "input", "args": {
            "job_id": job, "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}}])
        self.act(case, "write_approved_output" if approved else "write_output", [{"predicate": PREFIX + "written", "args": totals}])
        self.act(case, "verify_output", [{"predicate": PREFIX + "output", "args": totals}])
        self.look(case)
        closed = self.law(self.board, kind="close_case", root=case["root"])
        assert closed.result["certified"]
        self.plain("CloseCase", [case["caseId"]], closed.result)
        self.look(case, closed.changed)
        self.law(self.operations, kind="case_closed", caseId=case["caseId"])
        if approved:
            self.law(self.registry, kind="case_closed", agentId="agt_1", caseId=case["caseId"], authority={"kind": "gateway"})


def resident_kib() -> float:
    """What this process holds in memory now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1024


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_a_thousand_closed_cases_grow_within_the_bound():
    gateway = Gateway()
    for number in range(WARM):
        gateway.whole(f"j{number}")
    gc.collect()
    before = resident_kib()
    for number in range(WARM, CASES):
        gateway.whole(f"j{number}")
    gc.collect()
    assert (resident_kib() - before) / (CASES - WARM) < KIB_PER_CASE
    assert len(gateway.operations.operations) < 2 * PLANNED_KEPT + 256
    assert len(gateway.registry.decisions) <= DECISIONS_KEPT
    assert sum(case.closing is not None for case in gateway.board.state.cases.values()) == CLOSINGS_KEPT
    assert sum(shown is not None and shown.node is not None for shown in gateway.board.state.shown.values()) <= NODES_KEPT
    assert len(gateway.board.state.reads) < 50


def test_an_open_case_keeps_its_latest_calls_and_the_rest_is_read_back_from_its_rows():
    gateway = Gateway()
    case = gateway.law(gateway.board, kind="open_case", caseType="verified_calculation", businessKey={"job_id": "j"}).result
    rows, law = [], gateway.law

    def kept(machine, **command):
        outcome = law(machine, **command)
        if machine is gateway.operations:
            rows.append({"kind": "operation", "at": outcome.row["at"], "body": outcome.row})
        return outcome

    gateway.law = kept
    count, told = 3 * PLANNED_KEPT, {}
    for _ in range(count):
        gateway.act(case, "read_input", None)
        told[gateway.operations.last_ordinal] = gateway.operations.operation(gateway.operations.last_ordinal)
    assert PLANNED_KEPT <= len(gateway.operations.operations) <= PLANNED_KEPT + 2 * PLAIN_KEPT_MIN
    again = recalled("agt_1", rows)
    assert sorted(again) == sorted(told) and len(told) == count
    for ordinal, before in told.items():
        for name in ("tool", "label", "at", "state", "summary", "reason", "plan", "invocation", "dispatch", "claim", "identity", "case_ids"):
            assert getattr(again[ordinal], name) == getattr(before, name), (ordinal, name)
    gateway.law(gateway.operations, kind="case_closed", caseId=case["caseId"])
    assert len(gateway.operations.operations) <= PLANNED_KEPT + 1
    gateway.law(gateway.operations, kind="void_delivery", ordinal=1, session=SESSION)       # a caller that comes late moves nothing
    gateway.law(gateway.operations, kind="deliver", ordinal=1, session=SESSION)
    assert 1 not in gateway.operations.operations


def test_a_call_that_is_not_settled_is_never_forgotten(monkeypatch):
    monkeypatch.setattr("rulith.board.operations.PLANNED_KEPT", 0)
    gateway = Gateway()
    case = gateway.law(gateway.board, kind="open_case", caseType="verified_calculation", businessKey={"job_id": "j"}).result
    plan = gateway.board.plan_action(PREFIX + "read_input", {"source": SOURCE_NAME}, case["root"], gateway.policy, focus=[case["caseId"]])
    gateway.law(gateway.operations, kind="admit", tool="ApplyAction", label="x", session=SESSION, caseIds=[case["caseId"]], plan=plan.record())
    gateway.law(gateway.operations, kind="case_closed", caseId=case["caseId"])
    assert gateway.operations.unresolved().ordinal == 1
