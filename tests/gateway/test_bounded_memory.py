"""What a gateway keeps in memory does not grow with the calls it has answered.

Duty: design, memory after 100,000 operations is bounded.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from rulith.board import operations
from rulith.gateway.authority import CaseRows


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_of_open_cases_are_the_same_as_stretches(seed):
    dice, plain, rows = random.Random(seed), {}, CaseRows()
    for seq in range(1, 400):
        for case_id in dice.sample(["case_a", "case_b", "case_c"], dice.choice([0, 1, 1, 1, 2])):
            for _ in range(dice.choice([1, 1, 2])):
                plain.setdefault(case_id, set()).add(seq)
                rows.note(seq, case_id)
    for case_id, seqs in plain.items():
        assert rows[case_id] == seqs and rows.get(case_id) == seqs
    rows.drop("case_a")
    assert rows.get("case_a") == () and rows["case_a"] == set()


@pytest.mark.parametrize("step", [1, 2, 7])
def test_one_case_at_work_costs_three_numbers_at_any_step(step):
    """Rows of the Board alternate with rows of the calls."""
    rows = CaseRows()
    for seq in range(1, 100_000, step):
        rows.note(seq, "case_a")
    assert len(rows._stretches["case_a"]) == 3 and rows["case_a"] == set(range(1, 100_000, step))


def test_the_receipt_of_a_long_case_tells_of_calls_that_memory_has_let_go(play, kit, monkeypatch):
    monkeypatch.setattr(operations, "PLANNED_KEPT", 3)
    monkeypatch.setattr(operations, "PLAIN_KEPT_MIN", 2)

    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        for _ in range(11):
            asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
            row = (await worker.rows_until())[0]
            assert (await worker.claim(row))["accepted"] and (await worker.report(row, ok=True, result="looked, and found nothing"))["accepted"]
            assert (await asked)["result"]["status"] == "confirmed"
        agent_id = world.profile.agent_id
        held = world.gateway.authority.agents[agent_id].operations.operations
        assert sum(each.plan is not None for each in held.values()) <= 3 + 2 * 2
        closed = await host.call("CloseCase", {"root": case["root"], "disposition": "abandoned", "reason": "long enough"})
        assert closed["accepted"], closed
        document = world.gateway.authority.receipt_document(agent_id, case["caseId"])
        planned = [row for row in document["operations"] if "invocationId" in row]
        assert [row["ordinal"] for row in planned] == list(range(2, 13))
        assert all(row["outcome"] == "done" and row["dispatch"]["grant"] and row["resultDigest"] and row["argsText"] for row in planned)
        await world.stop()
        await world.start()
        assert world.gateway.authority.receipt_document(agent_id, case["caseId"]) == document

    play(story)
