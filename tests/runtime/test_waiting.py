"""Held calls: what is waited for, what is read, and what the model gets in the end.

Source  the MCP surface, "Waiting for a held call", steps 1 to 10.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.base.errors import Refused
from rulith.runtime.answers import Kind
from tests.runtime.scripted_gateway import CUT, Held, Raw, Say, connection_replaced, state_row, strip_row

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


@pytest.fixture(params=[False, True], ids=["whole", "byte by byte"])
def outcome(line_to, in_loop, request):
    """Make the held call of a script; returns (answer, gateway, script)."""

    def run(script, *, wait_s=60.0, tool="ApplyAction", ping=None):
        def before(gateway):
            gateway.drips = request.param
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


# the rest of the list, one by one


def test_a_withheld_outcome_met_on_the_way_is_kept_for_the_final_answer(outcome):
    """It does not cut the wait, and the read behind it may not list it any more."""
    withheld = strip_row("ApplyBatch", "done", at="2026-10-03T07:00:00.000Z", contentWithheld=True)
    script = Script(Held((7,), running(row("running", stage="at_worker"), withheld)), [read(row("done", **recorded()))], [state("running"), state("done")])
    answer, gateway, _ = outcome(script)
    assert answer.kind is Kind.ACCEPTED and gateway.methods.count("ping") == 2
    assert [each["tool"] for each in answer.body["operations"]] == ["ApplyAction", "ApplyBatch"]


def test_what_has_settled_does_not_run_again(outcome):
    """The ping said done; a read that still shows it running is the older news."""
    answer, _, _ = outcome(Script(Held((7,), running()), [read(row("running"))], [state("done")]))
    assert answer.kind is Kind.HELD and answer.body["state"] == "done"


def test_an_outcome_that_could_not_be_read_is_said_to_be_one(outcome):
    answer, _, _ = outcome(Script(Held((7,), running()), [CUT], [state("done")]))
    assert answer.body["state"] == "running" and "does not run any more (done)" in answer.body["teaching"]


def test_affected_cases_of_a_recorded_result_are_not_reported(outcome):
    answer, _, _ = outcome(Script(Held((7,), running()), [read(row("done", **recorded()))], [state("done")]))
    assert answer.affected is None


ARTIFACT = {"accepted": True, "result": {"ref": "art_" + "0" * 32, "data": "x"}, "operations": []}


def artifact_row(state_word: str, **more) -> dict:
    return strip_row("ReadArtifact", state_word, label="ReadArtifact", at=AT, **more)


def test_a_held_artifact_is_answered_by_a_fresh_read_once_it_settled(line_to, in_loop):
    """No strip carries what it held."""
    held = Held((7,), Say({"state": "running", "operations": [artifact_row("running")]}))
    answers = {"ReadArtifact": [held, Say(ARTIFACT)], "QueryBoard": [read(artifact_row("done", summary="read"))]}

    def before(gateway):
        gateway.state_form = lambda: [state_row(7, "ReadArtifact", "done", at=AT)] if gateway.calls else []

    async def whole():
        async with line_to(lambda call: answers[call.tool].pop(0), before=before) as (gateway, line):
            return await line.call("ReadArtifact", {"ref": "art_" + "0" * 32}), gateway

    answer, gateway = in_loop(whole())
    assert answer.kind is Kind.ACCEPTED and answer.result["data"] == "x"
    assert [call.tool for call in gateway.calls] == ["ReadArtifact", "QueryBoard", "ReadArtifact"]
    assert gateway.calls[0].id != gateway.calls[2].id


@pytest.mark.parametrize("loss, again", [(CUT, 1), (Raw(404, b""), 1), (Say(ARTIFACT, id="x"), 1), (Say(ARTIFACT, is_error=True), 0),
                                         (Raw(200, b"x" * 9_000_000), 0)])
def test_a_lost_artifact_is_read_again_once_after_some_losses_only(line_to, in_loop, loss, again):
    answers = [loss, Say(ARTIFACT)]

    async def whole():
        async with line_to(lambda call: answers.pop(0)) as (gateway, line):
            return await line.call("ReadArtifact", {"ref": "art_" + "0" * 32}), gateway

    answer, gateway = in_loop(whole())
    assert len(gateway.calls) == 1 + again and (answer.kind is Kind.ACCEPTED) == bool(again)


def test_a_takeover_in_the_middle_of_a_wait_ends_the_process(outcome):
    with pytest.raises(Refused) as refused:
        outcome(Script(Held((7,), running()), [], [state("running")]), ping=lambda: Raw(409, connection_replaced("runtime_3")))
    assert refused.value.code == "connection_replaced"


def test_a_gateway_that_is_started_anew_in_the_middle_is_asked_on_a_new_session(outcome):
    answers = iter([None, Raw(503, b""), Raw(502, b"<html>"), Raw(404, b""), None])
    script = Script(Held((7,), running()), [read(row("done", **recorded()))], [state("running"), state("running"), state("done")])
    answer, gateway, _ = outcome(script, ping=lambda: next(answers, None))
    assert answer.kind is Kind.ACCEPTED and answer.result == RECORDED["result"]
    assert [call.tool for call in gateway.calls] == ["ApplyAction", "QueryBoard"]


@pytest.mark.parametrize("pinged", [Raw(200, {"jsonrpc": "2.0", "id": "runtime_3", "result": {}}), Raw(200, b"{"), Raw(200, b"", {"content-type": "text/html"})],
                         ids=["no state form", "half an answer", "a page"])
def test_a_ping_that_says_nothing_is_no_verdict_on_the_call(outcome, pinged):
    script = Script(Held((7,), running()), [read(row("running", stage="at_worker"))], [state("running")])
    answer, gateway, _ = outcome(script, ping=lambda: pinged, wait_s=9.0)
    assert answer.body["state"] == "running" and len(gateway.sent("ApplyAction")) == 1


def test_two_new_entries_of_one_tool_name_nothing_of_ones_own_to_wait_for(outcome):
    """The ordinal still does."""
    other = row("done", at="2026-10-03T08:00:00.002Z", summary="x")
    script = Script(Held((7,), running(other, row("running"))), [read(other, row("done", **recorded()))], [state("done")])
    answer, _, _ = outcome(script)
    assert answer.kind is Kind.ACCEPTED and answer.own == ("ApplyAction", LABEL, AT)


def test_an_operation_that_was_listed_before_the_first_call_is_not_ones_own(line_to, in_loop):
    """Past bug: a new process knew no strip yet, and took the only listed entry of its tool for its own call."""
    listed = strip_row("ApplyAction", "done", label=LABEL, at="2026-10-03T07:00:00.000Z", **recorded())

    def before(gateway):
        gateway.state_form = lambda: [state_row(6, "ApplyAction", "done", label=LABEL, at="2026-10-03T07:00:00.000Z")]

    async def whole():
        async with line_to(lambda call: Say({"state": "running", "operations": [listed], "view": {}}), before=before) as (_, line):
            return await line.call("ApplyAction", {"action": "demo.ship"})

    answer = in_loop(whole())
    assert answer.kind is Kind.HELD and answer.state == "running" and answer.own is None


def test_calls_that_come_together_are_sent_one_after_the_other_each_with_its_whole_wait(line_to, in_loop):
    """The whole Agent waits for a held call; no other conversation is served meanwhile."""
    script = Script(Held((7,), running()), [read(row("done", **recorded())), read()], [state("running"), state("running"), state("done")])

    def before(gateway):
        gateway.state_form = lambda: script.state_form() if gateway.calls else []

    async def whole():
        async with line_to(script, before=before) as (gateway, line):
            answers = await asyncio.gather(line.call("ApplyAction", {"action": "demo.ship"}), line.call("QueryBoard", {"limit": 1}))
            return answers, gateway

    (held, second), gateway = in_loop(whole())
    assert held.kind is Kind.ACCEPTED and second.kind is Kind.ACCEPTED
    assert [(call.tool, call.arguments) for call in gateway.calls] == [
        ("ApplyAction", {"action": "demo.ship"}), ("QueryBoard", {}), ("QueryBoard", {"limit": 1})]


def test_what_a_reopened_session_lists_is_older_than_the_call_that_follows(line_to, in_loop):
    """Past bug: the call was sent after the session had listed them, and they were taken for news of it."""
    lost_one = strip_row("ApplyAction", "done", label=LABEL, at=AT, **recorded())

    async def whole():
        async with line_to(lambda call: CUT) as (gateway, line):
            gateway.initialize = Raw(503, b"later")
            await line.call("ApplyAction", {"action": "demo.ship"})
            gateway.initialize = None
            gateway.state_form = lambda: [state_row(1, "ApplyAction", "done", label=LABEL, at=AT)]
            second = await line.call("ApplyAction", {"action": "demo.ship"})
            return second

    second = in_loop(whole())
    assert second.kind is Kind.LOST and second.before == {(lost_one["tool"], LABEL, AT)}
