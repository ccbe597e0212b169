"""A Case whose close is long past is told from its Terminal Receipt, as it was when memory still held it."""

from __future__ import annotations

import asyncio

import pytest

from rulith.gateway.signing import is_signed
from rulith.wire.terminal_receipt import check_document


@pytest.fixture
def forgetful(monkeypatch):
    """A gateway that keeps the very least of closed Cases."""
    monkeypatch.setattr("rulith.board.cases.CLOSINGS_KEPT", 1)
    monkeypatch.setattr("rulith.board.operations.PLANNED_KEPT", 0)
    monkeypatch.setattr("rulith.board.registry.DECISIONS_KEPT", 0)


async def whole(world, host, worker, kit, job, *, close=True):
    """A verified calculation of its own job, honestly reported."""
    case = await world.open_case(host, job=job)
    order, totals = {**kit.ORDER, "job_id": job}, {**kit.TOTALS, "job_id": job}
    for action in ("read_input", "write_output", "verify_output"):
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call(action, case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        assert (await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"], order, totals)))["accepted"]
        assert (await asked)["accepted"]
    if close:
        assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"]
    return case


def test_details_proofs_and_history_outlive_memory_and_restarts(play, kit, forgetful):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        old = await whole(world, host, worker, kit, "calc-001")
        ask = f"case?case={old['caseId']}"
        before = (await world.local(ask)).json()
        history = {"include": ["caseHistory"], "selector": {"roots": [old["root"]]}}
        told = (await host.call("QueryBoard", history))["view"]["caseHistory"]
        await whole(world, host, worker, kit, "calc-002")
        await world.stop()
        await world.start()
        board = world.gateway.authority.agents[world.profile.agent_id].board
        assert board.case(old["caseId"]).closing is None
        after = (await world.local(ask)).json()
        for part in ("case", "tree", "facts", "conclusions"):
            assert after[part] == before[part], part
        shown = [[(row["ordinal"], row["state"], row["label"]) for row in each["operations"]] for each in (before, after)]
        assert shown[0] == shown[1] and len(shown[0]) == 5
        leaf = after["tree"][1]["node"]
        proof = (await world.local(f'proof?id=derived:acceptance_met%7Cnode:%22{leaf}%22')).json()
        assert proof["by"]["law"] is True and proof["premises"]
        host = world.host()
        await host.initialize()
        await host.call("QueryBoard")
        assert (await host.call("QueryBoard", history))["view"]["caseHistory"] == told

    play(story, pollHoldMs=100)


def test_a_receipt_tells_the_calls_of_an_earlier_case_from_its_receipt(play, kit, forgetful):
    """The approved Case did the work; the plain one of the same job rests on it, and memory has let its calls go."""
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        old = await whole(world, host, worker, kit, "calc-001", close=False)
        board = world.gateway.authority.agents[world.profile.agent_id]
        closed = await host.call("CloseCase", {"root": old["root"]})
        assert closed["result"]["certified"]
        await whole(world, host, worker, kit, "calc-002")
        assert not [each for each in board.operations.operations.values() if each.plan and old["caseId"] in each.case_ids]
        case = await world.open_case(host, "approved_calculation")
        assert (await host.call("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "done already"}))["accepted"]
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert is_signed(receipt) and check_document(receipt).problems == []
        cited = {fact["by"]["ordinal"] for fact in receipt["facts"] if "ordinal" in fact["by"]}
        assert cited and cited <= {row["ordinal"] for row in receipt["operations"]}
        first = (await world.local(f"receipt?case={old['caseId']}")).json()
        kept = {row["ordinal"]: row for row in first["operations"]}
        assert all(row == kept[row["ordinal"]] for row in receipt["operations"] if row["ordinal"] in cited)

    play(story, pollHoldMs=100)
