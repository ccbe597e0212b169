"""Held calls: what is waited for, what is read, and what the model gets in the end.

Source  the MCP surface, "Waiting for a held call", steps 1 to 10.
"""

from __future__ import annotations

import json

import pytest

from rulith.runtime.answers import Kind
from tests.runtime.scripted_gateway import CUT, Held, Raw, Say, state_row, strip_row

LABEL = "ApplyAction demo.ship"
AT = "2026-10-03T08:00:00.001Z"
RECORDED = {"accepted": True, "result": {"action": "demo.ship", "done": True, "status": "confirmed", "ok": True},
            "view": {"total": 1}}


def recorded(body=None, **more) -> dict:
    text = json.dumps(RECORDED if body is None else body)
    return {"result": {"content": [{"type": "text", "text": text}], "isError": False, **more}}


def row(state: str, *, at: str = AT, **more) -> dict:
    return strip_row("ApplyAction", state, label=LABEL, at=at, **more)


def running(*strip: dict) -> Say:
    return Say({"state": "running", "teaching": "…", "operations": list(strip) or [row("running", stage="at_worker")], "view": {}})


def read(*strip: dict) -> Say:
    return Say({"accepted": True, "view": {"total": 2}, "observation": {"consistency": "committed"}, "operations": list(strip)},
               focused=(("case_a", "root_a"),))


class Script:
    """The held call first, then the reads; pings answer from `states`, the last one for ever."""

    def __init__(self, held, reads=(), states=()):
        self.held, self.reads, self.states = held, list(reads), list(states)
        self.pings = 0

    def __call__(self, call):
        return self.reads.pop(0) if call.tool == "QueryBoard" else self.held

    def state_form(self):
        if not self.states:
            return []
        self.pings += 1
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


@pytest.fixture
def outcome(line_to, in_loop):
    """Make the held call of a script; returns (answer, gateway, script)."""

    def run(script, *, wait_s=60.0, tool="ApplyAction", ping=None):
        def before(gateway):
            gateway.state_form = lambda: script.state_form() if gateway.calls else []
            gateway.ping = ping

        async def whole():
            async with line_to(script, wait_s=wait_s, before=before) as (gateway, line):
                return await line.call(tool, {"action": "demo.ship"}), gateway
        return (*in_loop(whole()), script)

    return run


def state(word: str) -> list[dict]:
    return [state_row(7, "ApplyAction", word, label=LABEL, at=AT)]


def test_the_recorded_result_is_handed_over_intact_with_a_fresh_position(outcome):
    script = Script(Held((7,), running()), [read(row("done", **recorded()))], [state("running"), state("done")])
    answer, gateway, _ = outcome(script)
    assert answer.kind is Kind.ACCEPTED
    assert answer.result == RECORDED["result"]
    assert answer.body["view"] == {"total": 1}
    assert answer.body["currentView"] == {"total": 2}
    assert "result" not in answer.body["operations"][0] and answer.body["operations"][0]["summary"]
    assert gateway.methods.count("ping") == 2
    assert [call.tool for call in gateway.calls] == ["ApplyAction", "QueryBoard"]
    assert [pair.case_id for pair in answer.focused] == ["case_a"]


@pytest.mark.parametrize("settled, more", [
    ("failed", {"summary": "no paper"}), ("refused", {"reason": "not today"}), ("done", {"contentWithheld": True})])
def test_without_a_recorded_result_only_the_state_is_told(outcome, settled, more):
    answer, _, _ = outcome(Script(Held((7,), running()), [read(row(settled, **more))], [state(settled)]))
    assert answer.kind is Kind.HELD
    assert answer.body["state"] == settled
    assert {name: answer.body[name] for name in more} == more
    assert "accepted" not in answer.body


@pytest.mark.parametrize("word", ["waiting_for_decision", "needs_person"])
def test_a_person_s_turn_is_handed_over_at_once(outcome, word):
    say = Say({"state": word, "operations": [row(word)], "view": {}})
    answer, gateway, _ = outcome(Script(Held((7,), say)))
    assert answer.body["state"] == word
    assert gateway.methods.count("ping") == 0


def test_a_withheld_outcome_is_handed_over_at_once(outcome):
    say = Say({"state": "done", "contentWithheld": True, "operations": [row("done", contentWithheld=True)], "view": {}})
    answer, gateway, _ = outcome(Script(Held((7,), say)))
    assert answer.kind is Kind.HELD and gateway.methods.count("ping") == 0


def test_an_answer_whose_own_entry_has_settled_needs_no_ping(outcome):
    answer, gateway, _ = outcome(Script(Held((7,), running(row("done", **recorded())))))
    assert answer.kind is Kind.ACCEPTED and answer.result == RECORDED["result"]
    assert gateway.methods.count("ping") == 0 and len(gateway.calls) == 1


def test_an_earlier_full_result_in_the_strip_is_shown_before_any_waiting(outcome):
    earlier = strip_row("ApplyBatch", "done", at="2026-10-03T07:00:00.000Z", **recorded())
    answer, gateway, _ = outcome(Script(Held((7,), running(row("running"), earlier))))
    assert answer.body["state"] == "running"
    assert gateway.methods.count("ping") == 0


def test_without_an_ordinal_there_is_nothing_to_watch(outcome):
    answer, gateway, _ = outcome(Script(running()))
    assert answer.body["state"] == "running" and gateway.methods.count("ping") == 0


def test_a_wait_of_zero_never_waits(outcome):
    answer, gateway, _ = outcome(Script(Held((7,), running())), wait_s=0)
    assert answer.body["state"] == "running" and gateway.methods.count("ping") == 0


def test_at_the_bound_the_call_still_runs_and_nothing_is_cancelled(outcome):
    script = Script(Held((7,), running()), [read(row("running", stage="at_worker"))], [state("running")])
    answer, gateway, _ = outcome(script, wait_s=11.0)
    assert answer.body["state"] == "running"
    assert answer.body["view"] == {"total": 2}
    assert gateway.methods.count("ping") == 5
    assert "notifications/cancelled" not in gateway.methods


def test_an_operation_gone_from_the_list_is_unlisted_and_nothing_is_claimed(outcome):
    answer, _, _ = outcome(Script(Held((7,), running()), [read()], [[]]))
    assert answer.body["state"] == "unlisted"
    assert "accepted" not in answer.body


def test_two_entries_of_the_same_name_and_time_are_no_match(outcome):
    script = Script(Held((7,), running()), [read(row("done", **recorded()), row("failed", summary="x"))], [state("done")])
    answer, _, _ = outcome(script)
    assert answer.body["state"] == "unlisted"


def test_an_unreadable_state_form_ends_the_wait_with_one_read(outcome):
    script = Script(Held((7,), running()), [read(row("running"))], [[{"ordinal": "seven"}]])
    answer, gateway, _ = outcome(script)
    assert answer.body["state"] == "running"
    assert gateway.methods.count("ping") == 1


def test_a_failing_ping_is_tried_again_on_a_new_session(outcome):
    answers = iter([Raw(404, b""), None])
    script = Script(Held((7,), running()), [read(row("done", **recorded()))], [state("done")])
    answer, gateway, _ = outcome(script, ping=lambda: next(answers, None))
    assert answer.kind is Kind.ACCEPTED
    assert gateway.sessions == 2


@pytest.mark.parametrize("body, more", [
    ({"accepted": True}, {"isError": True}),
    ({"hello": 1}, {}),
], ids=["contradictory", "no answer"])
def test_a_recorded_result_that_is_no_answer_shows_its_state_only(outcome, body, more):
    script = Script(Held((7,), running()), [read(row("done", **recorded(body, **more)))], [state("done")])
    answer, _, _ = outcome(script)
    assert answer.kind is Kind.HELD and answer.body["state"] == "done"


def test_a_recorded_refusal_is_a_refusal(outcome):
    refusal = {"accepted": False, "errorCode": "precondition_not_met", "teaching": "not yet", "view": {}}
    script = Script(Held((7,), running()), [read(row("refused", reason="not yet", **recorded(refusal)))], [state("refused")])
    answer, _, _ = outcome(script)
    assert (answer.kind, answer.code) == (Kind.REFUSED, "precondition_not_met")


def test_a_lost_answer_with_an_ordinal_is_watched_on_the_new_session(outcome):
    script = Script(Held((7,)), [read(row("done", **recorded()))], [state("running"), state("done")])
    answer, gateway, _ = outcome(script)
    assert answer.kind is Kind.ACCEPTED
    assert gateway.sessions == 2
    assert [call.tool for call in gateway.calls] == ["ApplyAction", "QueryBoard"]


def test_a_lost_write_without_an_ordinal_stays_lost(outcome):
    answer, gateway, _ = outcome(Script(CUT))
    assert answer.kind is Kind.LOST
    assert len(gateway.calls) == 1


def test_a_lost_read_of_an_artifact_is_read_once_more_as_a_new_call(outcome):
    answer, gateway, _ = outcome(Script(CUT), tool="ReadArtifact")
    assert answer.kind is Kind.LOST
    assert [call.tool for call in gateway.calls] == ["ReadArtifact"] * 2
    assert gateway.calls[0].id != gateway.calls[1].id


def test_a_read_that_fails_after_the_wait_leaves_the_call_where_it_was(outcome):
    answer, _, _ = outcome(Script(Held((7,), running()), [CUT], [state("done")]))
    assert answer.kind is Kind.HELD and answer.body["state"] == "running"


def test_the_wait_is_told(outcome, heard):
    outcome(Script(Held((7,), running()), [read(row("done", **recorded()))], [state("done")]))
    assert heard.of("held-call") == [{"cmd": "ApplyAction", "label": LABEL, "state": "running", "stage": "at_worker",
                                     "atMostS": 60.0}]
