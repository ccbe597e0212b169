"""Outcomes that a model has not read: kept for its conversation, whoever else is shown them first.

Source  the MCP surface, "Several conversations on one session".
"""

from __future__ import annotations

import json

import pytest

from rulith.base.limits import UNREAD_ALL_MAX, UNREAD_ROWS_MAX
from rulith.runtime.answers import Answer, Kind, lost, unsent
from rulith.runtime.strip import read_strip
from rulith.runtime.unread import OutcomeBook, UnreadOutcomes
from tests.runtime.scripted_gateway import strip_row

SHIP = {"action": "ship"}
LABEL = "ApplyAction ship"
DONE = {"result": {"content": [{"type": "text", "text": '{"accepted":true,"result":{"ok":true},"view":{}}'}], "isError": False}}


def at(number: int) -> str:
    return f"2026-10-03T08:00:{number:02d}.000Z"


def row(state: str, number: int, *, tool: str = "ApplyAction", label: str = LABEL, **more) -> dict:
    return strip_row(tool, state, label=label, at=at(number), **more)


def says(tool: str, kind: Kind, *rows: dict, **body) -> Answer:
    """An answer whose strip is `rows`."""
    return Answer(tool, kind, {**body, "operations": list(rows)}, operations=tuple(read_strip(list(rows))), has_strip=True)


def held(*rows: dict, tool: str = "ApplyAction") -> Answer:
    return says(tool, Kind.HELD, *rows, state=rows[0]["state"], view={})


def read(*rows: dict) -> Answer:
    return says("QueryBoard", Kind.ACCEPTED, *rows, accepted=True, view={"total": 9})


@pytest.fixture
def book():
    warned: list[str] = []
    made = OutcomeBook(warned.append)
    made.warned = warned
    return made


@pytest.fixture
def a(book) -> UnreadOutcomes:
    return book.conversation("a")


@pytest.fixture
def b(book) -> UnreadOutcomes:
    return book.conversation("b")


def waiting(conversation: UnreadOutcomes) -> UnreadOutcomes:
    """It has one call under way, and its model knows that."""
    conversation.take(held(row("running", 1)), SHIP, frozenset())
    conversation.replied()
    return conversation


# open → pending → presented → gone


def test_an_open_call_is_named_by_its_label_in_the_next_message(a):
    assert waiting(a).labels() == [f"{LABEL} (running)"]
    assert a.gate() is None, "there is no outcome to read yet"


def test_an_outcome_that_another_conversation_was_shown_waits_for_its_own_model(a, b):
    waiting(a)
    answer, showed_earlier = b.take(read(row("done", 1, **DONE)), {}, frozenset())
    assert showed_earlier and answer.body["operations"][0]["result"] == DONE["result"]
    assert a.labels() == [f"{LABEL} (it has settled; your next call shows how)"]
    assert "ok" not in str(a.labels()) and "done" not in str(a.labels()), "labels only"


def test_the_next_write_is_refused_here_with_the_captured_entries(a, b):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    refusal = a.gate()
    assert (refusal["accepted"], refusal["requestExecuted"], refusal["errorCode"]) == (False, False, "previous_result_undelivered")
    assert refusal["operations"] == [row("done", 1, **DONE)] and refusal["view"] == {}
    assert a.gate() is None, "shown once"
    a.replied()
    assert len(a) == 0


def test_any_other_answer_gets_them_spliced_in_by_time_in_place_of_poorer_ones(a, b):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    answer, showed_earlier = a.take(read(row("done", 2, label="ApplyAction other", summary="x"), row("done", 1, summary="done")), {},
                                    frozenset())
    assert showed_earlier
    assert [(each["at"], "result" in each) for each in answer.body["operations"]] == [(at(2), False), (at(1), True)]
    a.replied()
    assert len(a) == 0


def test_an_entry_that_fell_off_the_strip_is_spliced_in_too(a, b):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    answer, _ = a.take(read(row("done", 3, label="ApplyAction other", summary="x")), {}, frozenset())
    assert [each["at"] for each in answer.body["operations"]] == [at(3), at(1)]


def test_an_answer_without_a_strip_shows_nothing_and_the_outcome_keeps_waiting(a, b):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    for answer in (unsent("ApplyAction", "upstream_unavailable", "no"), lost("QueryBoard", "x", None)):
        given, showed = a.take(answer, SHIP, frozenset())
        assert given is answer and not showed
    assert a.gate() is not None


def test_a_full_result_is_kept_over_a_later_summary(a, b):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    b.take(read(row("done", 1, summary="done")), {}, frozenset())
    assert a.gate()["operations"] == [row("done", 1, **DONE)]


def test_what_was_withheld_since_is_not_shown_from_memory(a, b):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    b.take(read(row("done", 1, contentWithheld=True)), {}, frozenset())
    assert a.gate()["operations"] == [row("done", 1, contentWithheld=True)]
    assert a.rows()[0]["withheld"] is True


def test_its_own_answer_is_presented_until_the_model_replies(a):
    answer = says("ApplyAction", Kind.ACCEPTED, row("done", 1, summary="done"), accepted=True, result={"ok": True}, view={})
    given, showed_earlier = a.take(answer, SHIP, frozenset())
    assert given is answer and not showed_earlier
    assert a.left() == [f"{LABEL} (done)"] and a.labels() == []
    a.replied()
    assert a.left() == []


@pytest.mark.parametrize("state", ["needs_person", "waiting_for_decision"])
def test_that_a_call_waits_for_a_person_is_not_said_again_at_the_end(a, b, state):
    """Past bug: `Outcome not read: … (needs_person)` was printed though the model had been shown that and had replied."""
    a.take(held(row(state, 1)), SHIP, frozenset())
    assert a.left() == [f"{LABEL} ({state})"]
    a.transcript_lost()
    a.replied()
    assert a.left() == [f"{LABEL} ({state})"]                # what it replied to did not hold it
    a.take(read(row(state, 1)), {}, frozenset())
    a.replied()
    assert a.left() == [] and a.labels() == [f"{LABEL} ({state})"] and len(a.rows()) == 1
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    assert a.left() == [f"{LABEL} (done)"]                   # and this it has not been shown


def test_a_call_that_runs_on_is_told_at_the_end_though_its_model_knows(a):
    a.take(held(row("running", 1)), SHIP, frozenset())
    a.replied()
    assert a.left() == [f"{LABEL} (running)"]


def test_a_lost_transcript_brings_its_outcomes_back_with_their_content(a):
    a.take(says("ApplyAction", Kind.ACCEPTED, row("done", 1, summary="done"), accepted=True, result={"ok": True}, view={}), SHIP, frozenset())
    a.transcript_lost()
    (shown,) = a.gate()["operations"]
    assert json.loads(shown["result"]["content"][0]["text"]) == {"accepted": True, "result": {"ok": True}, "view": {}}
    assert "summary" not in shown


def test_two_conversations_keep_their_calls_apart(a, b):
    waiting(a)
    b.take(held(row("waiting_for_decision", 2, label="ApplyAction b", decision="x"), row("done", 1, **DONE)), {"action": "b"},
           {("ApplyAction", LABEL, at(1))})
    assert a.labels() == [f"{LABEL} (it has settled; your next call shows how)"]
    assert b.labels() == ["ApplyAction b (waiting_for_decision)"]


def test_a_refusal_of_the_gate_makes_nobody_elses_call_ones_own(a, b):
    waiting(a)
    gate = says("ApplyAction", Kind.NOT_EXECUTED, row("running", 1), accepted=False, requestExecuted=False, errorCode="operation_running")
    b.take(gate, SHIP, frozenset())
    assert len(b) == 0 and a.labels() == [f"{LABEL} (running)"]


def test_an_open_call_that_a_whole_strip_does_not_list_is_dropped_aloud(a, book):
    waiting(a).take(read(row("done", 5, label="ApplyAction other", summary="x")), {}, frozenset())
    assert len(a) == 0 and LABEL in book.warned[0]


def test_a_strip_that_cannot_be_read_drops_nothing(a):
    waiting(a).take(Answer("QueryBoard", Kind.ACCEPTED, {"operations": [{}]}), {}, frozenset())
    assert a.labels() == [f"{LABEL} (running)"]


def test_an_unlisted_call_stays_open_until_the_next_strip(a):
    answer = Answer("ApplyAction", Kind.HELD, {"state": "unlisted", "operations": [], "view": {}}, own=("ApplyAction", LABEL, at(1)),
                    has_strip=True)
    a.take(answer, SHIP, frozenset())
    assert a.labels() == [f"{LABEL} (unlisted)"]


# lost answers


def test_a_lost_call_is_the_one_new_entry_of_its_tool(a):
    before = {("ApplyAction", LABEL, at(1))}
    a.take(lost("ApplyAction", "response_lost", None), SHIP, before)
    assert a.labels() == [f"{LABEL} (its answer was lost)"]
    _, showed_earlier = a.take(read(row("done", 2, **DONE), row("done", 1, summary="old")), {}, frozenset())
    assert showed_earlier and a.labels() == []
    a.replied()
    assert len(a) == 0


@pytest.mark.parametrize("strip", [(), (row("done", 1, summary="old"),), (row("done", 3, summary="x"), row("done", 2, summary="y"))],
                         ids=["nothing", "only what was there before", "two new ones"])
def test_a_lost_call_stays_lost_while_a_strip_does_not_name_it(a, strip):
    a.take(lost("ApplyAction", "response_lost", None), SHIP, {("ApplyAction", LABEL, at(1))})
    a.take(read(*strip), {}, frozenset())
    assert a.labels() == [f"{LABEL} (its answer was lost)"]


def test_a_later_call_of_the_same_tool_is_not_taken_for_the_lost_one(a, book):
    """Past bug: the next write's own entry was the one new one of its tool."""
    a.take(lost("ApplyAction", "response_lost", None), SHIP, frozenset())
    a.take(says("ApplyAction", Kind.ACCEPTED, row("done", 2, label="ApplyAction next", summary="x"), accepted=True, result={}, view={}),
           {"action": "next"}, frozenset())
    assert a.left() == ["ApplyAction next (done)"] and LABEL in book.warned[0]


def test_a_refusal_that_admitted_nothing_leaves_a_lost_call_findable(a):
    a.take(lost("ApplyAction", "response_lost", None), SHIP, frozenset())
    gate = says("ApplyBatch", Kind.NOT_EXECUTED, accepted=False, requestExecuted=False, errorCode="bad_command")
    a.take(gate, {}, frozenset())
    a.take(says("ApplyBatch", Kind.NOT_EXECUTED, row("done", 1, **DONE), accepted=False, requestExecuted=False,
                errorCode="previous_result_undelivered"), {}, frozenset())
    assert a.left() == [f"{LABEL} (done)"] and a.labels() == []


def test_a_lost_call_that_a_ping_named_is_open_by_its_name(a):
    answer = Answer("ApplyAction", Kind.LOST, lost("ApplyAction", "response_lost", 7).body, 7, own=("ApplyAction", LABEL, at(1)))
    a.take(answer, SHIP, frozenset())
    assert a.labels() == [f"{LABEL} (running)"]
    a.take(read(row("done", 1, **DONE)), {}, frozenset())
    assert a.labels() == []


def test_a_lost_call_of_one_conversation_is_named_by_what_another_reads(a, b):
    a.take(lost("ApplyAction", "response_lost", None), SHIP, frozenset())
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    assert a.gate()["operations"] == [row("done", 1, **DONE)]


# an earlier process


def kept(*states: str) -> list[dict]:
    return [{"tool": "ApplyAction", "label": f"{LABEL} {number}", "at": at(number), "state": state, "unread": True}
            for number, state in enumerate(states, 1)]


def test_rows_survive_a_restart_without_content(a, b, book):
    waiting(a)
    b.take(read(row("done", 1, **DONE)), {}, frozenset())
    assert book.kept() == {"a": [{"tool": "ApplyAction", "label": LABEL, "at": at(1), "state": "done", "unread": True}]}
    again = OutcomeBook().conversation("a")
    again.restore(book.kept()["a"])
    assert again.rows() == a.rows() and again.needs_read


def test_restored_outcomes_are_read_first_and_delivered_by_the_refusal(a):
    a.restore(kept("done", "running", "failed"))
    assert a.needs_read and a.gate() is None
    position = read(row("refused", 2, label=f"{LABEL} 2", reason="no"), row("done", 1, label=f"{LABEL} 1", **DONE))
    a.take_read(position)
    refusal = a.gate(position)
    assert [each["state"] for each in refusal["operations"]] == ["refused", "done"] and refusal["view"] == {"total": 9}
    assert f"{LABEL} 3" in refusal["teaching"] and "failed" in refusal["teaching"] and "Console" in refusal["teaching"]
    assert not a.needs_read and a.gate(position) is None


def test_a_write_is_sent_when_all_restored_calls_turn_out_unresolved(a):
    a.restore(kept("running"))
    position = read(row("running", 1, label=f"{LABEL} 1"))
    a.take_read(position)
    assert a.gate(position) is None and a.labels() == [f"{LABEL} 1 (running)"]


def test_a_restored_outcome_in_any_answer_of_its_own_is_read_there(a):
    a.restore(kept("done"))
    _, showed_earlier = a.take(read(row("done", 1, label=f"{LABEL} 1", **DONE)), {}, frozenset())
    assert showed_earlier and not a.needs_read


@pytest.mark.parametrize("bad", [{}, {"tool": "QueryBoard", "label": "x", "at": at(1), "state": "done"}, {"tool": "ApplyAction", "label": 3,
                         "at": at(1), "state": "done"}, {"tool": "ApplyAction", "label": "x", "at": at(1), "state": "fine"}])
def test_a_kept_row_that_is_none_is_left_out(a, bad):
    a.restore([bad])
    assert len(a) == 0


# bounds, relays, acknowledging


def test_the_oldest_goes_first_past_either_bound_and_is_told(book):
    one = book.conversation("one")
    one.restore(kept(*["done"] * 59))
    assert len(one) == UNREAD_ROWS_MAX and len(book.warned) == 59 - UNREAD_ROWS_MAX
    for number in range(40):
        book.conversation(f"c{number}").restore(kept(*["done"] * 20))
    assert sum(len(rows) for rows in book.kept().values()) == UNREAD_ALL_MAX


def test_a_relayed_strip_stands_until_its_own_conversation_has_replied(a, b, book):
    book.relay("[]", a)
    b.replied()
    assert book.relayed and not book.may_acknowledge
    a.replied()
    assert not book.relayed and book.may_acknowledge


def test_only_the_model_that_was_answered_can_acknowledge(a, b, book):
    a.take(says("ApplyAction", Kind.ACCEPTED, row("done", 1, summary="x"), accepted=True, result={}, view={}), SHIP, frozenset())
    b.replied()
    assert not book.may_acknowledge
    a.replied()
    assert book.may_acknowledge


def test_a_conversation_that_is_over_keeps_nothing(a, book):
    waiting(a)
    book.relay("[]", a)
    book.forget("a")
    assert book.kept() == {} and not book.relayed


# what the simulator found


def test_a_call_lost_with_its_process_is_named_in_the_next_one_by_its_label_and_time(book):
    """Past bug: the process was killed inside a held call; another conversation was then shown the outcome, its own never."""
    first = book.conversation("a")
    first.interrupted("ApplyAction", SHIP, {("OpenCase", "OpenCase x", at(1))})
    kept_rows = book.kept()["a"]
    assert kept_rows == [{"tool": "ApplyAction", "label": LABEL, "at": at(1), "state": "lost", "unread": False}]
    again = OutcomeBook()
    mine, other = again.conversation("a"), again.conversation("b")
    mine.restore(kept_rows)
    other.take(read(row("done", 2, **DONE), row("done", 3, label="ApplyAction else", summary="x")), {}, frozenset())
    assert mine.gate()["operations"] == [row("done", 2, **DONE)]


def test_a_call_of_this_process_is_not_taken_for_one_lost_with_the_last(book, a, b):
    a.restore([{"tool": "ApplyBatch", "label": "ApplyBatch", "at": at(1), "state": "lost", "unread": False}])
    b.take(says("ApplyBatch", Kind.ACCEPTED, row("done", 2, tool="ApplyBatch", label="ApplyBatch", summary="x"), accepted=True, result={},
                view={}), {}, frozenset())
    b.take(read(row("done", 2, tool="ApplyBatch", label="ApplyBatch", summary="x")), {}, frozenset())
    assert a.labels() == ["ApplyBatch (its answer was lost)"]


def test_a_lost_call_that_the_next_process_does_not_find_is_named_once(a):
    a.restore([{"tool": "ApplyAction", "label": LABEL, "at": at(1), "state": "lost", "unread": False}])
    position = read(row("done", 3, label="ApplyAction else", summary="x"))
    assert a.needs_read
    a.take_read(position)
    assert LABEL in a.gate(position)["teaching"] and a.gate(position) is None


def test_a_label_that_was_withheld_still_names_its_call(a):
    waiting(a)
    answer, showed = a.take(read(row("done", 1, label="ApplyAction", contentWithheld=True)), {}, frozenset())
    assert showed and a.left() == [f"{LABEL} (done)"] and a.rows()[0]["withheld"] is True


@pytest.mark.parametrize("tool, arguments, label", [
    ("ApplyAction", {"action": "ship", "target": "root_1"}, "ApplyAction ship root_1"), ("ApplyAction", {"action": "ship", "target": 3}, "ApplyAction ship"),
    ("OpenCase", {"caseType": "x"}, "OpenCase x"), ("OpenCase", {"caseId": "case_1"}, "OpenCase case_1"), ("CloseCase", {"root": "r"}, "CloseCase r"),
    ("ApplyBatch", {"operations": []}, "ApplyBatch"), ("ApplyAction", {}, "ApplyAction"), ("ApplyAction", {"action": "x" * 300}, "ApplyAction " + "x" * 188)])
def test_a_call_is_labelled_as_the_board_labels_it(tool, arguments, label):
    from rulith.board.operations import call_label as of_the_board
    from rulith.runtime.unread_rows import call_label
    assert call_label(tool, arguments) == of_the_board(tool, arguments) == label


def test_a_lost_call_does_not_take_the_place_of_one_that_still_runs(a):
    """Past bug: a restored row of a lost call had the key of the call before it."""
    a.restore([{"tool": "ApplyAction", "label": LABEL, "at": at(1), "state": "running", "unread": False},
               {"tool": "ApplyAction", "label": LABEL, "at": at(1), "state": "lost", "unread": False}])
    position = read(row("running", 1))
    a.take_read(position)
    assert LABEL in a.gate(position)["teaching"]
    a.replied()
    assert a.labels() == [f"{LABEL} (running)"]


def test_a_conversation_that_has_not_begun_again_hears_what_another_is_shown(book):
    """The outcome is acknowledged by then, and its content is nowhere else."""
    book.restore({"a": kept("running"), "b": kept()})
    book.conversation("b").take(read(row("done", 1, label=f"{LABEL} 1", **DONE)), {}, frozenset())
    assert book.conversation("a").gate()["operations"] == [row("done", 1, label=f"{LABEL} 1", **DONE)]
