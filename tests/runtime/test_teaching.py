"""What a weak model is told beside the Board's own words: what changed, where it erred, that it goes in circles.

The first half drives the real turn loop with a scripted model; the second is a table of views.
Source  our decision, "Agent Runtime": teaching that helps weak models drive.
"""

from __future__ import annotations

import pytest

from rulith.base.limits import CHANGE_LINES_MAX, REFUSED_ALIKE_MAX, SHOWN_FACTS_MAX
from rulith.runtime.answers import Answer, Kind
from rulith.runtime.teaching import NOTHING, Lessons
from rulith.runtime.turns import Policy
from tests.runtime.calculation_board import DRIVE, CalculationBoard
from tests.runtime.scripted_gateway import Say, strip_row
from tests.runtime.test_turns import CLOSE, OPEN, READ, WRITE, talk  # noqa: F401  a fixture

READ_ALL = ("QueryBoard", {})


def test_a_read_that_shows_nothing_new_says_so_plainly(talk):  # noqa: F811
    done = talk([[OPEN], [READ_ALL], [READ_ALL], "I see.", "Done."])
    first, second, third = done.model.results()
    assert "changes" not in first and second["changes"] == [NOTHING] and third["changes"] == [NOTHING]


def test_what_a_call_made_ready_and_what_it_used_up_is_told_in_lines(talk):  # noqa: F811
    done = talk([[OPEN], [READ], "I see.", "Done."])
    assert done.model.results()[1]["changes"] == [f"action {DRIVE[0]}: blocked", f"action {DRIVE[1]}: ready"]


def test_the_answer_s_own_members_stay_as_the_board_sent_them(talk):  # noqa: F811
    done = talk([[OPEN], [READ_ALL], "I see.", "Done."])
    shown = done.model.results()[1]
    assert shown["accepted"] is True and shown["observation"] == {"consistency": "committed"}
    assert list(shown)[-1] == "changes"


@pytest.mark.parametrize("text, place", [
    ('{"operations": [{"op": "assert_fa', "line 1, column 24"), ('{"operations": [\n{"op": }]}', "line 2, column 8"),
    ("{'root': 1}", "line 1, column 2"), ('{"root": "x"} and more', "line 1, column 15")])
def test_arguments_that_cannot_be_read_are_told_the_place(talk, text, place):  # noqa: F811
    done = talk([[OPEN], [("ApplyBatch", text)], "I give up.", "I give up."])
    refusal = done.model.results()[1]
    assert refusal["errorCode"] == "bad_tool_arguments" and place in refusal["teaching"] and "nothing ran" in refusal["teaching"]


def test_a_loop_of_the_same_refused_call_is_stopped_with_the_reason(talk):  # noqa: F811
    done = talk([[OPEN], *[[CLOSE]] * 9])
    assert done.outcome == "stopped"
    assert len(done.gateway.sent("CloseCase")) == REFUSED_ALIKE_MAX
    first, second = done.model.results()[1:]
    assert "repeated" not in first and "case_not_certified" in second["repeated"]
    assert "case_not_certified" in done.results[0].message and "circles" in done.results[0].message


def test_a_loop_in_a_chat_leaves_a_conversation_that_goes_on(talk):  # noqa: F811
    done = talk([[OPEN], *[[CLOSE]] * (REFUSED_ALIKE_MAX + 1), "Sorry."], says=("close it", "hello?"), policy=Policy.RETURN)
    assert [result.outcome for result in done.results] == ["stopped", "conversation"]
    last = done.model.results()[-1]
    assert last["errorCode"] == "call_repeated" and last["requestExecuted"] is False


def test_a_loop_of_calls_that_cannot_be_read_is_stopped_too(talk):  # noqa: F811
    done = talk([[OPEN], *[[("ApplyBatch", '{"operations": [')]] * 9])
    assert done.outcome == "stopped" and "bad_tool_arguments" in done.results[0].message
    assert done.gateway.sent("ApplyBatch") == []


def test_one_mistake_after_another_is_no_loop(talk):  # noqa: F811
    wrong = [[("ApplyBatch", '{"operations": [' + " " * number)] for number in range(5)]
    done = talk([[OPEN], *wrong, "I give up.", "I give up."])
    assert "circles" not in done.results[0].message


def test_a_write_that_was_accepted_makes_the_refused_call_worth_trying_again(talk):  # noqa: F811
    done = talk([[OPEN], [WRITE], [WRITE], [READ], [WRITE], "Done.", "Done."])
    assert len(done.gateway.sent("ApplyAction")) == 4 and done.model.results()[-1]["accepted"] is True


def test_a_new_turn_may_try_again(talk):  # noqa: F811
    done = talk([[OPEN], [CLOSE], [CLOSE], "No.", [CLOSE], "No."], says=("close it", "again"), policy=Policy.RETURN)
    assert len(done.gateway.sent("CloseCase")) == 3


def test_a_refusal_that_delivers_is_no_circle(talk):  # noqa: F811
    """`previous_result_undelivered` shows something each time: asking again is what it wants."""
    gate = {"accepted": False, "requestExecuted": False, "tool": "ApplyAction", "errorCode": "previous_result_undelivered",
            "teaching": "Read first.", "view": {}}
    board, left = CalculationBoard(is_open=True), [gate] * 3

    def answer(call):
        if call.tool == "ApplyAction" and left:
            return Say({**left.pop(), "operations": [strip_row("ApplyBatch", "done", summary=str(len(left)))]}, is_error=True)
        return board(call)

    done = talk([[READ]] * 4 + ["Done.", "Done."], answer=answer)
    assert len(done.gateway.sent("ApplyAction")) == 4 and done.model.results()[-1]["accepted"] is True


# a table of views: what the model saw, what it sees now, what it is told


def view(**members) -> dict:
    return members


def node(name: str, text: str, tier: str = "asserted") -> dict:
    return {"id": name, "kind": "fact", "text": text, "tier": tier}


def goal(met: bool, certified: bool = False) -> dict:
    return {"root_a": {"certified": certified, "leaves": [{"node": "root_a/x", "goal": "it adds up", "met": met}]}}


CHANGES = [
    ("a fact more", view(nodes=[node("f1", "p(1)")]), view(nodes=[node("f1", "p(1)"), node("f2", "q(2)", "attested")]), ["new: q(2) [attested]"]),
    ("a stronger tier", view(nodes=[node("f1", "p(1)")]), view(nodes=[node("f1", "p(1)", "attested")]), ["now: p(1) [attested]"]),
    ("a fact less", view(nodes=[node("f1", "p(1)"), node("f2", "q(2)")]), view(nodes=[node("f1", "p(1)")]), ["gone: q(2) [asserted]"]),
    ("a fact that a cut view leaves out", view(nodes=[node("f1", "p(1)"), node("f2", "q(2)")]), view(nodes=[node("f1", "p(1)")], truncated=True), [NOTHING]),
    ("a long text that changed at its end", view(nodes=[node("f1", "p" * 900 + "1")]), view(nodes=[node("f1", "p" * 900 + "2")]), ["now: " + "p" * 234 + "…"]),
    ("a goal met", view(taskStatus=goal(False)), view(taskStatus=goal(True)), ["goal met: it adds up"]),
    ("a goal lost", view(taskStatus=goal(True)), view(taskStatus=goal(False)), ["goal unmet: it adds up"]),
    ("certified", view(taskStatus=goal(True)), view(taskStatus=goal(True, True)), ["root_a is certified now: it may be closed as completed"]),
    ("a case closed by others", view(roots=[{"caseId": "case_a", "root": "r", "status": "running"}]),
     view(cases={"directory": [{"caseId": "case_a", "root": "r", "status": "closed"}], "total": 1}), ["Case case_a: closed"]),
    ("an action blocked", view(actions=[{"action": "a", "status": "ready"}]), view(actions=[{"action": "a", "status": "blocked", "reason": "rule", "why": "p(1) does not hold"}]),
     ["action a: blocked (p(1) does not hold)"]),
    ("an action that waits", view(actions=[{"action": "a", "status": "ready"}]), view(actions=[{"action": "a", "status": "ready", "waits": ["decision", "worker_offline"]}]),
     ["action a: ready (decision, worker_offline)"]),
    ("facts that a cut view may have left out before", view(nodes=[node("f1", "p(1)")], truncated=True), view(nodes=[node("f1", "p(1)"), node("f2", "q(2)")]), []),
    ("a goal shown for the first time", view(nodes=[node("f1", "p(1)")]), view(taskStatus=goal(False)), []),
    ("less is shown", view(nodes=[node("f1", "p(1)")], roots=[{"caseId": "c", "root": "r", "status": "running"}]),
     view(roots=[{"caseId": "c", "root": "r", "status": "running"}]), [NOTHING]),
]


def read(shown: dict) -> Answer:
    return Answer("QueryBoard", Kind.ACCEPTED, {"accepted": True, "view": shown, "operations": []})


@pytest.mark.parametrize("before, now, lines", [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_changed_since_the_last_look(before, now, lines):
    lessons = Lessons()
    assert lessons.changes(read(before), {}) == []
    assert lessons.changes(read(now), {}) == lines
    assert lessons.changes(read(now), {}) == [NOTHING]


def test_a_read_of_something_else_calls_nothing_gone():
    lessons = Lessons()
    lessons.changes(read(view(nodes=[node("f1", "p(1)")])), {"selector": {"roots": ["a"]}})
    other = read(view(nodes=[node("f2", "q(2)")]))
    assert lessons.changes(other, {"selector": {"roots": ["b"]}}) == [], "it is shown for the first time; nobody knows that it is new"
    assert lessons.changes(other, {"selector": {"roots": ["b"]}}) == [NOTHING]


def test_the_lines_are_bounded_and_say_how_many_are_left_out():
    lessons = Lessons()
    lessons.changes(read(view(nodes=[node("f", "p(0)")])), {})
    lines = lessons.changes(read(view(nodes=[node("f", "p(0)")] + [node(f"f{n}", "p" * 5_000) for n in range(SHOWN_FACTS_MAX + 50)], truncated=True)), {})
    assert len(lines) == CHANGE_LINES_MAX + 1 and lines[-1] == f"… and {SHOWN_FACTS_MAX + 50 - CHANGE_LINES_MAX} more."
    assert len(lessons._shown) <= SHOWN_FACTS_MAX and max(map(len, lines)) < 300


@pytest.mark.parametrize("shown", [view(nodes="x", actions=3, taskStatus=[], roots=None, cases={}), view(nodes=[None, 3, {"id": 3}], actions=[[]]),
                                   view(taskStatus={"r": {"certified": "yes", "leaves": 1}}), view(cases={"directory": [{"caseId": 1}]})])
def test_a_view_of_any_shape_is_only_compared_where_it_can_be(shown):
    lessons = Lessons()
    lessons.changes(read(view(nodes=[node("f", "p(0)")])), {})
    assert all(isinstance(line, str) for line in lessons.changes(read(shown), {}))
