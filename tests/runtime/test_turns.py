"""Turns between a scripted model and a scripted Board: hostile replies, refusals, ends.

The scripted model refuses every conversation a strict provider would refuse, so each of
these tests is also one that no reply breaks a conversation.

Source  the MCP surface, "Turn loop", "Rest of a model turn", "Model transports".
"""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.dialects.endpoint import endpoint_of
from rulith.dialects.transcript import ProposedCall
from rulith.net.client import HttpClient
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.conversation import Conversation
from rulith.runtime.model import ModelClient
from rulith.runtime.settings import ModelSettings
from rulith.runtime.turns import Policy, Turns
from rulith.runtime.unread import UnreadOutcomes
from tests.runtime.calculation_board import CASE, DRIVE, KEY, PREFIX, ROOT, SOURCE, CalculationBoard, touched_by_a_person
from tests.runtime.scripted_gateway import CUT, Held, Say, strip_row
from tests.runtime.scripted_model import ScriptedModel, Whole

OPEN = ("OpenCase", {"caseType": "verified_calculation", "businessKey": KEY})
READ = ("ApplyAction", {"action": DRIVE[0], "args": {"job_id": "calc-001", "source": SOURCE}, "target": ROOT})
WRITE = ("ApplyAction", {"action": DRIVE[1], "args": {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593, "source": SOURCE}})
VERIFY = ("ApplyAction", {"action": DRIVE[2], "args": {"job_id": "calc-001", "source": SOURCE}})
CLOSE = ("CloseCase", {"root": ROOT})
HONEST = [[OPEN], [READ], [WRITE], [VERIFY], [CLOSE]]


class Talk:
    """What one conversation came to."""

    def __init__(self, results, model, gateway, unread):
        self.results, self.model, self.gateway, self.unread = results, model, gateway, unread

    @property
    def outcome(self) -> str:
        return self.results[-1].outcome


@pytest.fixture
def talk(line_to, heard, in_loop):
    """Hold a conversation: one turn per entry of `says`."""

    def run(replies, board=None, *, says=("Calculate and verify calc-001.",), policy=Policy.CONTINUE, wire="openai",
            pins=Pins(), max_rounds=12, keep=24, answer=None, focus="", emulated=False, max_tokens=600, key="k"):
        async def whole():
            async with ScriptedModel(replies, wire) as model, line_to(answer or board or CalculationBoard(), wait_s=0) as (gateway, line):
                http = HttpClient(SystemClock(), environ={})
                settings = ModelSettings(endpoint_of(model.url), "m", key, max_tokens, emulated)
                unread = UnreadOutcomes()
                turns = Turns(line, ModelClient(http, settings, clock=SystemClock(), emit=heard.emit),
                              CallServer(line, pins, unread, emit=heard.emit), unread, Conversation(keep), emit=heard.emit,
                              max_rounds=max_rounds)
                try:
                    if focus:
                        await turns.focus(focus)
                    results = [await turns.run(words, policy) for words in says]
                finally:
                    await http.close()
                assert model.refused == []
            return Talk(results, model, gateway, unread)
        return in_loop(whole())

    return run


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_an_honest_model_completes_the_case_on_either_wire(talk, wire):
    done = talk([list(step) for step in HONEST], wire=wire)
    assert done.outcome == "completed"
    assert done.results[0].closed == [{"caseId": CASE, "root": ROOT, "disposition": "completed"}]
    assert [call.tool for call in done.gateway.calls] == ["OpenCase", "ApplyAction", "ApplyAction", "ApplyAction", "CloseCase"]
    assert done.gateway.methods[-2:] == ["ping", "DELETE"]


def test_a_greeting_sends_nothing_beyond_the_handshake(talk):
    done = talk(["Hello to you."], says=["hello"], policy=Policy.RETURN)
    assert (done.outcome, done.results[0].text) == ("conversation", "Hello to you.")
    assert done.gateway.methods == ["initialize", "notifications/initialized", "tools/list", "DELETE"]


# hostile replies: each call is answered, nothing of it reaches the Board, the Case stays open

HOSTILE = [
    ("a seventh tool", ("TransferMoney", {"amount": 1}), "tool_not_carried"),
    ("a tool with an unsayable name", ("rm -rf / ; \ud83d\ude00" * 20, {}), "tool_not_carried"),
    ("no name at all", ("", {}), "tool_not_carried"),
    ("cut JSON", ("ApplyBatch", '{"operations": [{"op": "assert_fa'), "bad_tool_arguments"),
    ("a list", ("ApplyBatch", "[]"), "bad_tool_arguments"),
    ("a name twice", ("CloseCase", '{"root": "a", "root": "b"}'), "bad_tool_arguments"),
    ("a huge integer", ("ApplyBatch", '{"operations": [{"op": "assert_fact", "predicate": "p", "args": {"n": 9007199254740993}}]}'), "bad_command"),
    ("a huge float", ("ApplyBatch", '{"operations": [1e999]}'), "bad_command"),
    ("a lone surrogate", ("ApplyBatch", '{"operations": ["\\ud800"]}'), "bad_tool_arguments"),
    ("a host-owned field", ("OpenCase", {"caseType": "x", "admission": {}}), "host_owned_field"),
    ("a request id", ("CloseCase", {"root": ROOT, "requestId": "1"}), "host_owned_field"),
    ("a retired field", ("CloseCase", {"root": ROOT, "expectedRevision": 3}), "retired_wire_field"),
]


@pytest.mark.parametrize("call, code", [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_call_that_is_none_is_answered_here_and_never_sent(talk, call, code):
    done = talk([[OPEN], [call], "I give up.", "I give up."])
    assert done.outcome == "stopped"
    assert [arrived.tool for arrived in done.gateway.calls] == ["OpenCase"]
    refusal = done.model.results()[1]
    assert (refusal["accepted"], refusal["requestExecuted"], refusal["errorCode"]) == (False, False, code)


def test_the_literal_that_was_too_large_is_quoted(talk):
    done = talk([[("ApplyBatch", '{"operations": [9007199254740993]}')], "ok"], says=["x"], policy=Policy.RETURN)
    assert "9007199254740993" in done.model.results()[0]["teaching"]


def test_one_inexact_number_on_the_anthropic_wire_stops_the_whole_reply(talk):
    body = (b'{"content": [{"type": "tool_use", "id": "a", "name": "QueryBoard", "input": {}}, {"type": "tool_use", "id": "b",'
            b' "name": "ApplyBatch", "input": {"operations": [9007199254740993]}}], "stop_reason": "tool_use"}')
    done = talk([Whole(200, body), "ok"], says=["x"], policy=Policy.RETURN, wire="anthropic")
    assert done.gateway.calls == []
    assert [row["errorCode"] for row in done.model.results()] == ["bad_command"] * 2


def test_a_model_that_asserts_the_totals_itself_gets_the_board_s_refusal(talk):
    claim = ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "total", "args": {"job_id": "calc-001", "cents": 1}}]})
    done = talk([[OPEN], [claim], [CLOSE], "Done!", "Done!"])
    assert [row.get("errorCode") for row in done.model.results()] == [None, "attested_predicate", "case_not_certified"]
    assert done.outcome == "stopped" and done.results[0].closed == []


def test_acceptance_met_is_the_board_s_to_refuse(talk):
    """The Agent does not play the Board: it sends the claim and shows the refusal."""
    claim = ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "acceptance_met", "args": {"node": ROOT}}]})
    done = talk([[OPEN], [claim], "no", "no"])
    assert done.gateway.sent("ApplyBatch") == [claim[1]]
    assert done.model.results()[1]["accepted"] is False


def test_a_model_that_closes_early_is_refused_and_nudged_once(talk):
    done = talk([[OPEN], [CLOSE], "Finished.", "Really finished."])
    assert done.outcome == "stopped"
    assert done.model.words().count("still open") == 1
    assert CASE in done.model.words()


def test_a_close_that_is_not_completed_is_void(talk):
    done = talk([[OPEN], [("CloseCase", {"root": ROOT, "disposition": "abandoned", "reason": "no"})]])
    assert done.outcome == "void"
    assert done.results[0].closed[0]["disposition"] == "abandoned"


@pytest.mark.parametrize("status, outcome", [("closed", "void"), ("paused", "waiting")])
def test_a_case_that_a_person_ends_or_holds_meanwhile_is_not_completed(talk, status, outcome):
    done = talk([[OPEN], [READ], "The Case is over."], touched_by_a_person(CalculationBoard(), status))
    assert (done.outcome, done.results[0].closed) == (outcome, [])


def test_a_model_that_opens_no_case_ends_as_no_case(talk):
    assert talk(["I would rather not."]).outcome == "no-case"


def test_the_round_limit_ends_a_turn_and_the_conversation_stays_usable(talk):
    done = talk([[("QueryBoard", {})]] * 3 + ["fine"], max_rounds=3, says=["a", "b"], policy=Policy.RETURN)
    assert [result.outcome for result in done.results] == ["stopped", "conversation"]


def test_a_close_in_the_last_round_is_completed_and_not_a_limit(talk):
    done = talk([list(step) for step in HONEST], max_rounds=5, policy=Policy.RETURN)
    assert done.outcome == "completed"


@pytest.mark.parametrize("reply", [
    Whole(200, {"choices": [{"message": {"content": "half", "tool_calls": [
        {"id": "x", "function": {"name": "CloseCase", "arguments": "{}"}}]}, "finish_reason": "length"}]}),
    Whole(200, {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}),
    Whole(200, {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}),
], ids=["truncated", "empty", "declined"])
def test_an_unusable_reply_ends_the_turn_and_executes_nothing(talk, reply):
    done = talk([[OPEN], reply, "Back again."], says=["a", "b"], policy=Policy.RETURN)
    assert [result.outcome for result in done.results] == ["model-error", "conversation"]
    assert [call.tool for call in done.gateway.calls] == ["OpenCase"]


@pytest.mark.parametrize("reply, code", [
    (Whole(500, {"error": {"message": "overloaded\u2028now"}}), "model_refused"), (Whole(401, b"no"), "model_refused"),
    (Whole(200, b"<html>"), "model_reply_unreadable"), (Whole(400, {"error": "bad model"}), "model_refused")])
def test_an_error_of_the_service_is_raised_in_its_own_words(talk, reply, code):
    with pytest.raises(Refused) as refused:
        talk([reply], key="sk-secret")
    assert refused.value.code == code
    assert "\u2028" not in str(refused.value) and "sk-secret" not in str(refused.value)


def test_a_service_without_tools_is_asked_again_in_text_and_from_then_on_always(talk):
    replies = iter([Whole(400, {"error": {"message": "this model does not support tools"}}),
                    '{"tool": "QueryBoard", "input": {}}', "All quiet."])
    done = talk(lambda body: next(replies), says=["look"], policy=Policy.RETURN)
    assert done.results[0].text == "All quiet."
    assert ["tools" in request for request in done.model.requests] == [True, False, False]
    assert [call.tool for call in done.gateway.calls] == ["QueryBoard"]
    assert "Result of QueryBoard" in done.model.words()


# the rest of a turn

def test_several_calls_of_one_reply_run_in_order(talk):
    done = talk([[OPEN, READ, WRITE, VERIFY, CLOSE]])
    assert done.outcome == "completed"
    assert [call.tool for call in done.gateway.calls] == ["OpenCase", "ApplyAction", "ApplyAction", "ApplyAction", "CloseCase"]


def test_an_ordinary_refusal_does_not_hold_up_the_rest(talk):
    done = talk([[OPEN, WRITE, ("QueryBoard", {})], "no", "no"])
    assert [call.tool for call in done.gateway.calls] == ["OpenCase", "ApplyAction", "QueryBoard"]


def gate(code: str) -> Say:
    return Say({"accepted": False, "requestExecuted": False, "tool": "ApplyAction", "errorCode": code, "teaching": "…", "view": {},
                "operations": [strip_row("ApplyAction", "running")]}, is_error=True)


HELD_BACK = [
    ("a held answer", lambda: Say({"state": "waiting_for_decision", "view": {}, "operations": [
        strip_row("ApplyAction", "waiting_for_decision", decision="approve")]})),
    ("a running operation", lambda: gate("operation_running")),
    ("an undelivered outcome", lambda: gate("previous_result_undelivered")),
    ("a lost answer", lambda: CUT),
    ("an earlier outcome in full", lambda: Say({"accepted": True, "result": {}, "view": {}, "operations": [
        strip_row("ApplyAction", "done", at="2026-10-03T08:09:00.000Z", summary="own"),
        strip_row("ApplyBatch", "done", result={"content": [], "isError": False})]})),
    ("an earlier outcome withheld", lambda: Say({"accepted": True, "result": {}, "view": {}, "operations": [
        strip_row("ApplyAction", "done", at="2026-10-03T08:09:00.000Z", summary="own"),
        strip_row("ApplyBatch", "failed", contentWithheld=True)]})),
]


@pytest.mark.parametrize("first", [row[1] for row in HELD_BACK], ids=[row[0] for row in HELD_BACK])
def test_what_the_model_must_read_first_holds_back_the_rest(talk, first):
    board = CalculationBoard(is_open=True)

    def answer(call):
        return first() if call.tool == "ApplyAction" else board(call)

    done = talk([[READ, ("QueryBoard", {}), CLOSE], "I see."], answer=answer, policy=Policy.RETURN)
    assert [call.tool for call in done.gateway.calls] == ["ApplyAction"]
    codes = [row.get("errorCode") for row in done.model.results()]
    assert codes[1:] == ["call_queue_suspended"] * 2


def test_a_failed_read_holds_back_the_rest(talk):
    done = talk([[("QueryBoard", {}), OPEN], "hm"], answer=lambda call: CUT, policy=Policy.RETURN)
    assert [row["errorCode"] for row in done.model.results()] == ["board_observation_unavailable", "call_queue_suspended"]


# what the person fixed

def test_a_pinned_case_type_and_key_override_the_model(talk):
    done = talk([[("OpenCase", {"caseType": "something_else", "businessKey": {"job_id": "other"}})], "ok", "ok"],
                pins=Pins("verified_calculation", KEY))
    assert done.gateway.sent("OpenCase") == [{"caseType": "verified_calculation", "businessKey": KEY}]


def test_an_opening_without_a_type_explores(talk):
    done = talk([[("OpenCase", {})], "ok"], policy=Policy.RETURN)
    assert done.gateway.sent("OpenCase") == [{"caseType": "exploration"}]


def test_the_focus_form_is_left_alone(talk):
    done = talk([[("OpenCase", {"caseId": CASE})], "ok"], pins=Pins("verified_calculation", KEY), policy=Policy.RETURN)
    assert done.gateway.sent("OpenCase") == [{"caseId": CASE}]


def test_a_case_the_person_named_is_focused_before_the_model_is_asked(talk):
    done = talk(["Right."], CalculationBoard(is_open=True), focus=CASE, policy=Policy.RETURN)
    assert [call.tool for call in done.gateway.calls] == ["OpenCase"]
    assert f"In focus: {CASE}" in done.model.words()


def test_a_case_that_a_cut_view_left_out_keeps_its_status_and_is_said_to_be_old(talk):
    board = CalculationBoard(is_open=True)

    def answer(call):
        said = board(call)
        if call.tool == "QueryBoard":
            said.body["view"] = {"cases": {"directory": [], "total": 1, "truncated": True}, "roots": []}
        return said

    done = talk([[("QueryBoard", {})], "Read.", "Yes?"], answer=answer, focus=CASE, says=("look", "and?"), policy=Policy.RETURN)
    first, second = (line for line in done.model.words().split("\n") if line.startswith("[In focus"))
    assert "not refreshed" not in first and f"{CASE}, root {ROOT}, running (not refreshed)" in second


def test_a_case_that_cannot_be_focused_is_not_claimed(talk):
    done = talk(["Sorry."], CalculationBoard(closed_before=True), focus=CASE, policy=Policy.RETURN)
    assert "Do not claim that it is active" in done.model.words()


def test_an_undelivered_outcome_met_while_focusing_is_relayed_verbatim(talk):
    board = CalculationBoard(is_open=True)
    board.open_refusals.append(gate("previous_result_undelivered"))
    done = talk(["I see."], board, focus=CASE, policy=Policy.RETURN)
    assert len(done.gateway.sent("OpenCase")) == 2
    assert '"label":"ApplyAction"' in done.model.words()


# waiting, losing, stopping

def test_a_decision_that_waits_ends_a_one_shot_as_waiting(talk):
    board = CalculationBoard(outcomes={"write_output": ("waiting_for_decision", "approve the totals")})
    done = talk([[OPEN], [READ], [WRITE], "A person must decide."], board)
    assert done.outcome == "waiting"
    assert done.unread.labels() == [f"ApplyAction {PREFIX}write_output (waiting_for_decision)"]


def test_a_lost_write_is_told_apart_and_named_in_the_next_message(talk):
    board = CalculationBoard(is_open=True)
    lost = iter([True])

    def answer(call):
        return CUT if call.tool == "ApplyAction" and next(lost, False) else board(call)

    done = talk([[READ], "It was lost.", "Let me look."], answer=answer, says=["go", "and?"], policy=Policy.RETURN)
    assert f"ApplyAction {DRIVE[0]} {ROOT} (its answer was lost)" in done.model.words()
    assert len(done.gateway.sent("ApplyAction")) == 1


def test_stopping_a_turn_answers_its_calls_and_the_talk_goes_on(line_to, heard, in_loop):
    from tests.runtime.scripted_gateway import SILENT

    async def whole():
        replies = [[READ, CLOSE], "Stopped, as you wish."]
        async with ScriptedModel(replies) as model, line_to(lambda call: SILENT) as (gateway, line):
            http = HttpClient(SystemClock(), environ={})
            unread = UnreadOutcomes()
            client = ModelClient(http, ModelSettings(endpoint_of(model.url), "m", None), clock=SystemClock(), emit=heard.emit)
            turns = Turns(line, client, CallServer(line, Pins(), unread, emit=heard.emit), unread, Conversation(24), emit=heard.emit, max_rounds=5)
            task = asyncio.ensure_future(turns.run("go", Policy.RETURN))
            while not gateway.calls:
                await asyncio.sleep(0.001)
            task.cancel()
            first = await task
            second = await turns.run("and now?", Policy.RETURN)
            await http.close()
            return first, second, model, unread

    first, second, model, unread = in_loop(whole())
    assert (first.outcome, second.text) == ("user-stopped", "Stopped, as you wish.")
    assert [row["errorCode"] for row in model.results()] == ["turn_stopped", "turn_stopped"]
    assert "may or may not have run" in model.results()[0]["teaching"]
    assert model.refused == []
    assert unread.labels() == [f"ApplyAction {DRIVE[0]} {ROOT} (its answer was lost)"]


@pytest.mark.parametrize("data, left", [
    ({"reason": "connection_replaced", "ordinal": 4}, [f"ApplyAction {DRIVE[0]} {ROOT} (its answer was lost)"]),
    ({"reason": "connection_replaced", "requestExecuted": False}, [])])
def test_a_takeover_under_a_call_leaves_it_among_what_is_told_at_the_end(line_to, heard, in_loop, data, left):
    """Past bug: the call that was held then was in nobody's list."""
    unread = UnreadOutcomes()

    async def whole():
        async with line_to(lambda call: Held((4,), error={"code": -32000, "message": "x", "data": data})) as (_, line):
            server = CallServer(line, Pins(), unread, emit=heard.emit)
            call = ProposedCall("c1", READ[0], READ[1])
            with pytest.raises(Refused) as refused:
                await server.serve([call])
            assert refused.value.code == "connection_replaced"

    in_loop(whole())
    assert unread.left() == left


def test_a_close_that_the_model_of_a_chat_has_not_read_is_neither_acknowledged_nor_forgotten(talk):
    """Past bug: the last round ended completed, and the outcome was taken for read."""
    done = talk([list(step) for step in HONEST], max_rounds=len(HONEST), policy=Policy.RETURN)
    assert done.outcome == "completed" and done.unread.left() == [f"CloseCase {ROOT} (done)"]
    assert "ping" not in done.gateway.methods


def test_a_one_shot_that_ends_with_its_closed_case_has_read_it_itself(talk):
    done = talk([list(step) for step in HONEST])
    assert done.outcome == "completed" and done.unread.left() == [] and done.gateway.methods.count("ping") == 1


TOO_LONG = Whole(400, {"error": {"message": "This model's maximum context length is 9 tokens."}})


def test_an_outcome_that_had_to_be_cut_out_of_a_long_conversation_is_shown_again(talk):
    """The service took the conversation only without the results of the turn before."""
    done = talk([[OPEN], TOO_LONG, [READ], "I see."], says=("go", "on"), policy=Policy.RETURN, max_rounds=1)
    assert done.model.refused == [] and len(done.model.requests) == 3
    assert done.gateway.sent("ApplyAction") == [] and done.unread.left() == ["OpenCase verified_calculation (done)"]


def test_a_conversation_that_fits_shows_nothing_twice(talk):
    done = talk([[OPEN], [READ], "I see."], says=("go", "on"), policy=Policy.RETURN, max_rounds=1)
    assert len(done.gateway.sent("ApplyAction")) == 1


def kept(state: str) -> list[dict]:
    return [{"tool": "ApplyAction", "label": f"ApplyAction {DRIVE[0]} {ROOT}", "at": "2026-10-03T07:00:00.000Z", "state": state, "unread": True}]


@pytest.mark.parametrize("state, listed, sent", [
    ("done", [strip_row("ApplyAction", "done", label=f"ApplyAction {DRIVE[0]} {ROOT}", at="2026-10-03T07:00:00.000Z", summary="was done")], 0),
    ("running", [], 0), ("running", [strip_row("ApplyAction", "running", label=f"ApplyAction {DRIVE[0]} {ROOT}", at="2026-10-03T07:00:00.000Z")], 1)])
def test_what_an_earlier_process_left_is_read_before_the_first_write(line_to, heard, in_loop, state, listed, sent):
    """One read; the write is refused with what it shows, or sent when nothing has settled."""
    unread = UnreadOutcomes()
    unread.restore(kept(state))

    def answer(call):
        accepted = {"accepted": True, "view": {"total": 3}, "operations": listed}
        return Say({**accepted, "observation": {"consistency": "committed"}} if call.tool == "QueryBoard" else {**accepted, "result": {}})

    async def whole():
        async with line_to(answer) as (gateway, line):
            server = CallServer(line, Pins(), unread, emit=heard.emit)
            served = await server.serve([ProposedCall("c1", *READ), ProposedCall("c2", "QueryBoard", {})])
            return served, gateway

    served, gateway = in_loop(whole())
    assert len(gateway.sent("ApplyAction")) == sent and len(gateway.sent("QueryBoard")) == 1 + sent
    if not sent:
        refusal = json.loads(served.results[0].text)
        assert refusal["errorCode"] == "previous_result_undelivered" and refusal["view"] == {"total": 3} and refusal["tool"] == "ApplyAction"
        assert json.loads(served.results[1].text)["errorCode"] == "call_queue_suspended"


def test_what_an_earlier_process_left_keeps_a_write_back_while_the_board_cannot_be_read(line_to, heard, in_loop):
    unread = UnreadOutcomes()
    unread.restore(kept("done"))

    async def whole():
        async with line_to(lambda call: CUT) as (gateway, line):
            served = await CallServer(line, Pins(), unread, emit=heard.emit).serve([ProposedCall("c1", *READ)])
            return json.loads(served.results[0].text), gateway

    refusal, gateway = in_loop(whole())
    assert (refusal["requestExecuted"], refusal["errorCode"]) == (False, "board_observation_unavailable")
    assert gateway.sent("ApplyAction") == [] and unread.needs_read


def test_a_write_that_was_still_held_back_when_the_turn_was_stopped_is_not_called_lost(line_to, heard, in_loop):
    """Only the read before it was under way."""
    from tests.runtime.scripted_gateway import SILENT
    unread = UnreadOutcomes()
    unread.restore(kept("done"))

    async def whole():
        async with line_to(lambda call: SILENT) as (gateway, line):
            serving = asyncio.ensure_future(CallServer(line, Pins(), unread, emit=heard.emit).serve([ProposedCall("c1", *READ)]))
            while not gateway.calls:
                await asyncio.sleep(0.001)
            serving.cancel()
            return await serving

    served = in_loop(whole())
    assert served.ended == "stopped" and json.loads(served.results[0].text)["requestExecuted"] is False
    assert unread.left() == [f"ApplyAction {DRIVE[0]} {ROOT} (done)"]


@pytest.mark.parametrize("last, pings", [("Done.", 1), (Whole(500, b"down"), 0), (Whole(200, {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}), 0)],
                         ids=["a reply", "a service that is away", "an empty reply"])
def test_one_ping_acknowledges_only_when_the_model_has_replied(line_to, heard, in_loop, last, pings):
    board = CalculationBoard()

    async def whole():
        async with ScriptedModel([[OPEN], last]) as model, line_to(board) as (gateway, line):
            http = HttpClient(SystemClock(), environ={})
            unread = UnreadOutcomes()
            client = ModelClient(http, ModelSettings(endpoint_of(model.url), "m", None), clock=SystemClock(), emit=heard.emit)
            turns = Turns(line, client, CallServer(line, Pins(), unread, emit=heard.emit), unread, Conversation(24), emit=heard.emit, max_rounds=5)
            try:
                await turns.run("go", Policy.RETURN)
            except Refused as refusal:
                assert refusal.code == "model_refused"
            await http.close()
            return gateway.methods.count("ping"), unread

    count, unread = in_loop(whole())
    assert count == pings and len(unread.left()) == 1 - pings


# what is sent

def test_old_parts_are_condensed_at_a_user_entry(talk, heard):
    done = talk(lambda body: "ok", says=[f"message {number}" for number in range(8)], policy=Policy.RETURN, keep=4)
    assert heard.of("compact")
    words = done.model.words()
    assert "were condensed" in words and "- message 0" in words and "message 7" in words
    assert len(done.model.requests[-1]["messages"]) < 8


def test_identical_long_views_are_sent_once(talk):
    board = CalculationBoard(is_open=True)
    view = board.view
    board.view = lambda: {**view(), "nodes": [{"id": str(number), "text": "x" * 100} for number in range(300)]}
    done = talk([[("QueryBoard", {})], [("QueryBoard", {})], "Read."], board, policy=Policy.RETURN)
    first, second = done.model.results()
    assert "sameAs" in first["view"] and len(second["view"]["nodes"]) == 300


def test_the_model_sees_six_tools_and_one_constant_prompt(talk):
    done = talk(["a", "b"], says=["x", "y"], policy=Policy.RETURN)
    first, second = done.model.requests
    assert [row["function"]["name"] for row in first["tools"]] == [
        "OpenCase", "ApplyBatch", "ApplyAction", "CloseCase", "QueryBoard", "ReadArtifact"]
    assert first["messages"][0] == second["messages"][0]


def test_usage_is_told(talk, heard):
    talk(["a"], policy=Policy.RETURN)
    (usage,) = heard.of("model-usage")
    assert (usage["inputTokens"], usage["outputTokens"], usage["httpStatus"]) == (3, 2, 200)


def test_a_change_of_contract_mid_turn_ends_it_as_blocked(talk):
    """The calls are answered, so the conversation could go on."""
    from tests.runtime.scripted_gateway import Raw

    state = {"gateway": None}

    def answer(call):
        state["gateway"].initialize = Raw(400, {"jsonrpc": "2.0", "id": 1, "error": {
            "code": -32000, "message": "no", "data": {"reason": "incompatible_client"}}})
        return CUT

    import tests.runtime.scripted_gateway as scripted
    enter = scripted.ScriptedGateway.__aenter__

    async def remember(self):
        state["gateway"] = self
        return await enter(self)

    scripted.ScriptedGateway.__aenter__ = remember
    try:
        done = talk([[READ, CLOSE], "?"], answer=answer, policy=Policy.RETURN)
    finally:
        scripted.ScriptedGateway.__aenter__ = enter
    assert done.outcome == "blocked"
    assert "different contracts" in done.results[0].message
