"""The shadow review: a second look that names defects, decides nothing and never looks at half a turn.

Source  the MCP surface, "Turn loop", shadow review
"""

from __future__ import annotations

import json
import re

import pytest

from rulith.base.clock import SystemClock
from rulith.runtime.options import Options
from rulith.runtime.run import AgentRun, Told, run_to_end
from rulith.runtime.shadow import base36, read_review
from tests.runtime.calculation_board import CASE, KEY, CalculationBoard
from tests.runtime.scripted_gateway import CUT, Say, ScriptedGateway
from tests.runtime.scripted_model import ScriptedModel, Whole
from tests.runtime.test_turns import HONEST, OPEN, READ, WRITE


@pytest.fixture
def reviewed(heard, in_loop):
    """A one-shot with --shadow: its result, and what the reviewer was asked."""

    def run(replies, review="PASS", board=None, env=None, answer=None):
        async def whole():
            async with ScriptedGateway(answer or board or CalculationBoard()) as gateway, ScriptedModel(list(replies)) as model, \
                    ScriptedModel([review] * 2) as second:
                environ = {"RULITH_URL": gateway.url, "RULITH_TOKEN": "rlt_agt_test", "RULITH_HOST_WAIT_MS": "0", "RULITH_MODEL_URL": model.url,
                           "RULITH_SHADOW_URL": second.url, "RULITH_SHADOW_MODEL": "second", **(env or {})}
                agent = AgentRun(Options("Calculate calc-001.", shadow=True), environ, Told(heard.emit, heard.log.append), clock=SystemClock())
                return await run_to_end(agent), gateway, second
        return in_loop(whole())
    return run


LEFT_OPEN = [[OPEN], [READ], "I stop here.", "Really."]


@pytest.mark.parametrize("text, state, findings", [
    ("PASS", "pass", ()), (" pass.\n", "pass", ()), ("FINDING: a", "findings", ("a",)), ("finding: a\nFINDING: b\n", "findings", ("a", "b")),
    ("FINDING: a\nFINDING: b\nFINDING: c\nFINDING: d", "findings", ("a", "b", "c")), ("FINDING:", "unavailable", ()), ("All is well.", "unavailable", ()),
    ("PASS\nbut look", "unavailable", ()), ("FINDING: " + "x" * 400, "findings", ("x" * 230 + "…",)), ("", "unavailable", ()),
    ("FINDING: a\x1b[31m‮b", "findings", ("a [31m b",)),
])
def test_only_pass_and_findings_are_answers(text, state, findings):
    review = read_review(text)
    assert (review.state, review.findings) == (state, findings)


def test_an_unfinished_case_is_looked_at_once(reviewed):
    result, gateway, second = reviewed(LEFT_OPEN)
    assert (result.exit, result.outcome, result.facts["shadow"]) == (12, "stopped", {"state": "pass", "findings": []})
    (request,) = second.requests
    assert request["model"] == "second" and request["max_tokens"] == 6000 and "tools" not in request and "thinking" not in request
    question = request["messages"][-1]["content"]
    assert "Calculate calc-001." in question and '"position"' in question
    assert gateway.sent("ApplyBatch") == []


def test_findings_become_assertions_and_change_no_status(reviewed, heard):
    board = CalculationBoard()
    board._ApplyBatch = lambda arguments: board.say({"accepted": True, "view": board.view(), "result": {}})
    result, gateway, _ = reviewed(LEFT_OPEN, "FINDING: the total was never read back\nFINDING: no shipping", board)
    assert result.exit == 12 and result.facts["shadow"]["findings"] == ["the total was never read back", "no shipping"]
    (batch,) = gateway.sent("ApplyBatch")
    assert gateway.methods[-2:] == ["ping", "DELETE"]          # the outcome is acknowledged
    assert [row["op"] for row in batch["operations"]] == ["assert_fact"] * 2
    assert [row["predicate"] for row in batch["operations"]] == ["shadow_finding"] * 2
    assert all(re.fullmatch(r"SF_[0-9a-z]+_[12]", row["id"]) for row in batch["operations"])
    assert batch["operations"][1]["args"] == {"text": "no shipping"}
    assert heard.of("shadow")[-1]["state"] == "findings"


def test_findings_that_the_board_refuses_are_told_all_the_same(reviewed):
    result, _, _ = reviewed(LEFT_OPEN, "FINDING: a")
    assert result.facts["shadow"]["findings"] == ["a"] and "attested_predicate" in result.facts["shadow"]["message"]


@pytest.mark.parametrize("review", ["", "Everything is fine, I think.", Whole(500, {"error": {"message": "no"}}), [OPEN]])
def test_no_answer_is_no_pass(reviewed, review):
    result, gateway, _ = reviewed(LEFT_OPEN, review)
    assert (result.exit, result.facts["shadow"]["state"]) == (12, "unavailable")
    assert gateway.sent("ApplyBatch") == [] and len(gateway.sent("OpenCase")) == 1


def _lost(board):
    def answer(call):
        return CUT if call.tool == "ApplyAction" else board(call)
    return answer


SKIPPED = {
    "a completed Case leaves the focus": ([*[list(step) for step in HONEST], "done"], {}),
    "no Case": (["I do nothing."], {}),
    "a call that waits": ([[OPEN], [READ], "wait"], {"board": CalculationBoard(outcomes={"read_input": ("waiting_for_decision", "approve")})}),
    "a call that runs": ([[OPEN], [READ], "a", "b"], {"board": CalculationBoard(outcomes={"read_input": ("running", "")})}),
    "a lost call": ([[OPEN], [READ], "a", "b"], {"answer": _lost(CalculationBoard())}),
    "a call that was not executed": ([[OPEN], [("Nothing", {})], "a", "b"], {}),
    "a model error": ([[OPEN], ""], {}),
    "a result that the model has not read": ([[OPEN], [READ]], {"env": {"RULITH_MAX_ROUNDS": "2"}}),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_half_a_turn_is_not_reviewed(reviewed, case):
    replies, more = SKIPPED[case]
    result, _, second = reviewed(replies, "FINDING: x", **more)
    assert second.requests == [] and result.facts.get("shadow", {"state": "skipped"})["state"] == "skipped"


def test_the_review_shares_the_budget(reviewed, tmp_path):
    budget = {"RULITH_BUDGET": "rounds=4", "RULITH_BUDGET_FILE": str(tmp_path / "b.json")}
    result, _, second = reviewed(LEFT_OPEN, env=budget)
    assert second.requests == [] and result.facts["shadow"]["state"] == "unavailable" and "4 rounds per day" in result.facts["shadow"]["message"]
    assert json.loads((tmp_path / "b.json").read_text())["used"]["rounds"] == 4


def test_a_money_cap_wants_the_price_of_the_reviewer_too(reviewed, tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"format": "rulith-prices/1", "currency": "EUR", "models": [{"model": "claude-sonnet-5", "input": 0, "output": 0}]}))
    result, gateway, _ = reviewed(LEFT_OPEN, env={"RULITH_BUDGET": "money=1,per=run", "RULITH_PRICES": str(prices)})
    assert (result.exit, result.document()["errorCode"]) == (2, "price_unknown") and "'second'" in result.message
    assert gateway.methods == []


def test_a_finding_s_id_counts_in_base_36():
    assert [base36(number) for number in (0, 35, 36, 1_790_000_000_000)] == ["0", "z", "10", "mubbs7i8"]
