"""The board driver against a scripted Board: what it does, where it stops, what it says."""

from __future__ import annotations

import re

import pytest

from rulith.runtime.driver import BoardDriver
from rulith.runtime.events import TerminalLines
from rulith.runtime.opening import CaseWanted
from tests.runtime.calculation_board import CASE, DRIVE, KEY, PREFIX, ROOT, SOURCE, CalculationBoard, touched_by_a_person
from tests.runtime.scripted_gateway import CUT, Held, Say, state_row, strip_row

WANTED = CaseWanted("verified_calculation", KEY)


@pytest.fixture
def drive(line_to, heard, in_loop):
    """Drive a Case on a Board; returns (result, gateway)."""

    def run(board, *, wanted=WANTED, before=None, wait_s=60.0, answer=None, steps_max=200):
        async def whole():
            async with line_to(answer or board, before=before, wait_s=wait_s) as (gateway, line):
                result = await BoardDriver(line, emit=heard.emit, steps_max=steps_max).run(wanted)
            return result, gateway
        return in_loop(whole())

    return run


def test_a_ready_case_is_carried_to_its_certified_close(drive, heard):
    result, gateway = drive(CalculationBoard())
    assert (result.outcome, result.exit, result.case_id, result.root) == ("completed", 0, CASE, ROOT)
    assert [step["action"] for step in result.steps] == DRIVE
    assert {step["state"] for step in result.steps} == {"done"}
    assert result.closed_cases == [{"caseId": CASE, "root": ROOT, "disposition": "completed"}]
    assert gateway.sent("CloseCase") == [{"root": ROOT, "disposition": "completed"}]
    assert [row["action"] for row in heard.of("action-outcome")] == DRIVE


def test_the_only_source_is_filled_in(drive):
    _, gateway = drive(CalculationBoard())
    assert gateway.sent("ApplyAction")[0] == {
        "action": PREFIX + "read_input", "args": {"job_id": "calc-001", "source": SOURCE}, "target": ROOT}


def test_two_usable_sources_stop_the_run(drive):
    result, gateway = drive(CalculationBoard(sources=("a", "b")))
    assert (result.outcome, result.exit) == ("stuck", 12)
    assert "a, b" in result.message
    assert gateway.sent("ApplyAction") == []


def test_two_candidates_stop_the_run(drive):
    result, gateway = drive(CalculationBoard(candidates=2))
    assert result.exit == 12 and "more than one way" in result.message
    assert gateway.sent("ApplyAction") == []


@pytest.mark.parametrize("state, words, outcome, status", [
    ("refused", "unit_price_cents is missing", "refused", 13),
    ("failed", "the disk is full", "failed", 12),
    ("unknown", "a person could not tell", "unknown", 12),
    ("waiting_for_decision", "approve the totals", "waiting", 11),
    ("needs_person", "", "waiting", 11),
])
def test_the_first_step_that_is_not_done_ends_the_run_with_its_words(drive, state, words, outcome, status):
    board = CalculationBoard(outcomes={"read_input": (state, words)})
    result, gateway = drive(board)
    assert (result.outcome, result.exit) == (outcome, status)
    assert words in result.message
    assert len(gateway.sent("ApplyAction")) == 1
    assert gateway.sent("CloseCase") == []
    assert result.steps[0]["state"] == state


def test_an_inexact_result_names_the_rule_and_both_operands(drive):
    result, gateway = drive(CalculationBoard(overflow=True))
    assert (result.outcome, result.exit) == ("stuck", 12)
    for part in ("subtotal", "mul", "9007199254740991", " 2 "):
        assert part in result.message
    assert result.document()["gap"]["operands"] == {"op": "mul", "left": 9007199254740991, "right": 2}
    assert [step["action"] for step in result.steps] == [DRIVE[0]]


def test_a_closed_case_of_the_key_is_nothing_to_do_and_is_named(drive):
    result, gateway = drive(CalculationBoard(closed_before=True))
    assert (result.outcome, result.exit, result.case_id) == ("nothing_to_do", 10, CASE)
    assert CASE in result.message and result.message.count("closed") == 1
    assert [call.tool for call in gateway.calls] == ["OpenCase"]


def test_a_live_case_of_the_key_is_continued(drive):
    board = CalculationBoard(is_open=True, done=["read_input"])
    result, gateway = drive(board)
    assert result.exit == 0
    assert [step["action"] for step in result.steps] == DRIVE[1:]


def test_a_paused_case_waits_for_a_person(drive):
    result, gateway = drive(CalculationBoard(paused=True))
    assert (result.outcome, result.exit) == ("waiting", 11)
    assert gateway.sent("ApplyAction") == []


@pytest.mark.parametrize("status, outcome, exit_status, words", [("closed", "void", 12, "closed as cancelled meanwhile"), ("paused", "waiting", 11, "on hold")])
def test_a_case_that_a_person_ends_or_holds_meanwhile_ends_the_run(drive, status, outcome, exit_status, words):
    result, gateway = drive(touched_by_a_person(CalculationBoard(), status))
    assert (result.outcome, result.exit) == (outcome, exit_status) and words in result.message
    assert len(gateway.sent("ApplyAction")) == 1 and gateway.sent("CloseCase") == [] and result.closed_cases == []


def test_a_step_that_fails_says_how_to_have_it_tried_again(drive):
    result, _ = drive(CalculationBoard(outcomes={"read_input": ("failed", "the file is missing.")}))
    assert "the file is missing. It is not repeated in this Case." in result.message and "Console (section Cases)" in result.message


def test_an_action_outside_the_drive_list_is_never_taken(drive):
    board = CalculationBoard()
    other = {"action": "other.delete", "status": "ready", "candidates": [{"args": {}, "target": ROOT}], "candidateCount": 1}
    view = board.view
    board.view = lambda: {**view(), "actions": [other, *view()["actions"]]}
    result, gateway = drive(board)
    assert result.exit == 0
    assert "other.delete" not in [args["action"] for args in gateway.sent("ApplyAction")]


def test_the_same_action_with_the_same_arguments_is_never_applied_twice(drive):
    """A read that changes nothing stays ready; a second time would be the same again."""
    board = CalculationBoard()
    board.ready = lambda: [DRIVE[0]]
    result, gateway = drive(board)
    assert len(gateway.sent("ApplyAction")) == 1
    assert (result.outcome, result.exit) == ("stuck", 12)


@pytest.mark.parametrize("state, outcome, status", [("failed", "failed", 12), ("unknown", "unknown", 12), ("refused", "refused", 13)])
def test_what_an_earlier_run_tried_is_not_repeated_and_its_words_are_said(drive, state, outcome, status):
    tried = {"state": state, "reason": "the disk was full", "at": "2026-10-03T07:00:00.000Z"}
    result, gateway = drive(CalculationBoard(is_open=True, tried={"read_input": tried}))
    assert gateway.sent("ApplyAction") == [] and result.steps == []
    assert (result.outcome, result.exit) == (outcome, status)
    for words in (DRIVE[0], "the disk was full", "2026-10-03T07:00:00.000Z", "not repeated", "Console (section Cases)", "opens a new one", "with a model"):
        assert words in result.message, words
    assert result.document()["tried"] == {"action": DRIVE[0], "args": {"job_id": "calc-001"}, **tried}


def test_something_else_that_is_ready_is_done_before_a_tried_action_stops_the_run(drive):
    board = CalculationBoard(tried={"read_input": {"state": "failed", "reason": "no file", "at": "2026-10-03T07:00:00.000Z"}})
    board.ready = lambda: [DRIVE[0]] if "write_output" in board.done else DRIVE[:2]
    result, gateway = drive(board)
    assert [args["action"] for args in gateway.sent("ApplyAction")] == [DRIVE[1]]
    assert result.exit == 12 and "no file" in result.message


def test_what_an_earlier_run_did_is_done_and_the_board_says_what_lacks(drive):
    board = CalculationBoard(is_open=True, tried={"read_input": {"state": "done", "reason": "it took effect", "at": "2026-10-03T07:00:00.000Z"}})
    result, gateway = drive(board)
    assert gateway.sent("ApplyAction") == [] and (result.outcome, result.exit) == ("stuck", 12)
    assert "read_back is unmet" in result.message and "was done" in result.message


def test_a_candidate_for_another_root_is_not_ours(drive):
    board = CalculationBoard()
    row = board.row
    board.row = lambda action: {**row(action), "candidates": [{"args": {"job_id": "x"}, "target": "root_other"}]}
    result, gateway = drive(board)
    assert gateway.sent("ApplyAction") == [] and result.exit == 12


def test_nothing_ready_says_what_the_board_says_is_lacking(drive):
    result, _ = drive(CalculationBoard(blocked={"read_input": {}, "write_output": {}, "verify_output": {}}))
    assert result.exit == 12 and "read_back is unmet" in result.message


def test_an_unmet_precondition_is_stuck_with_the_board_s_reason(drive):
    blocked = {name: {"reason": "rule", "why": "the order is not there"} for name in ("read_input", "write_output", "verify_output")}
    result, _ = drive(CalculationBoard(blocked=blocked))
    assert (result.outcome, result.exit) == ("stuck", 12)
    assert "the order is not there" in result.message


def test_an_action_locked_by_law_ends_refused(drive):
    blocked = {name: {"reason": "law_lock"} for name in ("read_input", "write_output", "verify_output")}
    assert drive(CalculationBoard(blocked=blocked))[0].exit == 13


def test_a_missing_source_says_what_is_not_set_up(drive):
    """Past bug: it said that a Tool or a Source is lacking, and not which."""
    source, lock = "no Source of type file is bound", "verify_output@1 is locked on no Connection."
    blocked = {name: {"reason": "needs_setup", "needs": lock if name == "verify_output" else source}
               for name in ("read_input", "write_output", "verify_output")}
    result, _ = drive(CalculationBoard(blocked=blocked))
    assert result.exit == 12 and "Not set up, or not among what this Agent may see: " in result.message
    assert re.search(r"no Source of type file is bound \(for \S*read_input, \S*write_output\); verify_output@1 is locked on no Connection "
                     r"\(for \S*verify_output\)\. Its owner", result.message), result.message


def test_an_authority_that_does_not_say_what_is_lacking_gets_its_actions_named(drive):
    blocked = {name: {"reason": "needs_setup"} for name in ("read_input", "write_output", "verify_output")}
    result, _ = drive(CalculationBoard(blocked=blocked))
    assert result.exit == 12 and re.search(r"may see: \S*read_input, \S*write_output, \S*verify_output\. Its owner", result.message)


def test_an_undelivered_outcome_is_taken_in_and_the_case_asked_for_again(drive, heard):
    board = CalculationBoard()
    old = strip_row("ApplyAction", "done", result={"content": [{"type": "text", "text": "{}"}], "isError": False})
    board.open_refusals.append(Say({"accepted": False, "requestExecuted": False, "tool": "OpenCase",
                                    "errorCode": "previous_result_undelivered", "teaching": "read it", "view": {},
                                    "operations": [old]}, is_error=True))
    result, gateway = drive(board)
    assert result.exit == 0
    assert len(gateway.sent("OpenCase")) == 2
    lines: list[str] = []
    for type_, fields in heard.events:
        TerminalLines(lines.append)(type_, **fields)
    assert [line for line in lines if "refused" in line] == []
    assert lines[1] == "  ← shown an earlier outcome first: ApplyAction done"


def _busy(row: dict) -> Say:
    return Say({"accepted": False, "requestExecuted": False, "tool": "OpenCase", "errorCode": "operation_running",
                "teaching": "wait", "view": {}, "operations": [row]}, is_error=True)


def test_an_operation_of_an_earlier_run_is_waited_for(drive):
    board = CalculationBoard()
    board.open_refusals.append(_busy(strip_row("ApplyAction", "running", stage="at_worker")))
    pings = iter([[state_row(3, "ApplyAction", "running")], [state_row(3, "ApplyAction", "running")],
                  [state_row(3, "ApplyAction", "done")]])

    def before(gateway):
        gateway.state_form = lambda: next(pings, []) if gateway.calls else []

    result, gateway = drive(board, before=before)
    assert result.exit == 0
    assert gateway.methods.count("ping") >= 3


@pytest.mark.parametrize("state, status", [("waiting_for_decision", 11), ("needs_person", 11)])
def test_an_earlier_call_that_waits_for_a_person_ends_the_run(drive, state, status):
    board = CalculationBoard()
    more = {"decision": "approve the totals"} if state == "waiting_for_decision" else {}
    board.open_refusals.append(_busy(strip_row("ApplyAction", state, label="ApplyAction x.write", **more)))

    def before(gateway):
        gateway.state_form = lambda: [state_row(3, "ApplyAction", state, label="ApplyAction x.write")]

    result, _ = drive(board, before=before)
    assert (result.outcome, result.exit) == ("waiting", status)
    assert "ApplyAction x.write" in result.message


def test_a_lost_answer_to_an_action_is_never_sent_again(drive):
    board = CalculationBoard()

    def answer(call):
        return CUT if call.tool == "ApplyAction" else board(call)

    result, gateway = drive(board, answer=answer)
    assert (result.outcome, result.exit) == ("unknown", 12)
    assert len(gateway.sent("ApplyAction")) == 1
    assert gateway.sent("CloseCase") == []


def test_a_lost_answer_whose_ordinal_is_known_is_found_again_in_the_strip(drive):
    """Progress named the operation, so the same watch goes on in the new session."""
    board = CalculationBoard()
    rows = {"shown": False}

    def answer(call):
        if call.tool == "ApplyAction" and call.arguments["action"] == DRIVE[0]:
            said = board(call)
            at = board.strip[0]["at"]
            recorded = {key: value for key, value in said.body.items() if key != "operations"}
            import json
            board.strip[0]["result"] = {"content": [{"type": "text", "text": json.dumps(recorded)}], "isError": False}
            board.strip[0].pop("summary", None)
            rows["row"] = state_row(2, "ApplyAction", "done", label=board.strip[0]["label"], at=at)
            return Held((2,))
        return board(call)

    def before(gateway):
        gateway.state_form = lambda: [rows["row"]] if "row" in rows else []

    result, gateway = drive(board, answer=answer, before=before)
    assert result.exit == 0
    assert [step["state"] for step in result.steps] == ["done"] * 3
    assert len([args for args in gateway.sent("ApplyAction") if args["action"] == DRIVE[0]]) == 1
    assert gateway.sessions == 2


def test_a_case_that_is_not_certified_after_all_is_left_open(drive):
    board = CalculationBoard(close_refusal={"code": "case_not_certified", "teaching": "a premise was withdrawn"})
    result, _ = drive(board)
    assert (result.outcome, result.exit) == ("stuck", 12)
    assert "withdrawn" in result.message


def test_a_failed_read_is_repeated_because_a_read_changes_nothing(drive):
    board = CalculationBoard()
    failing = iter([CUT, CUT])

    def answer(call):
        return next(failing, None) or board(call) if call.tool == "QueryBoard" else board(call)

    result, gateway = drive(board, answer=answer)
    assert result.exit == 0
    assert len(gateway.sent("OpenCase")) == 1


def test_a_board_that_cannot_be_read_ends_the_run_as_unreachable(drive):
    board = CalculationBoard()
    result, gateway = drive(board, answer=lambda call: CUT if call.tool == "QueryBoard" else board(call))
    assert (result.outcome, result.exit) == ("unreachable", 14)
    assert gateway.sent("ApplyAction") == []


def test_a_closed_case_beyond_the_directory_is_named_by_its_refusal(drive):
    board = CalculationBoard(closed_before=True)
    view = board.view
    board.view = lambda: {**view(), "cases": {"directory": [], "total": 99, "truncated": True}}
    assert drive(board)[0].case_id == CASE


def test_the_budget_of_steps_ends_a_run(drive):
    result, gateway = drive(CalculationBoard(), steps_max=2)
    assert result.exit == 12 and "budget" in result.message
    assert len(gateway.sent("ApplyAction")) == 2


def test_the_last_outcome_is_acknowledged_and_the_session_ended(drive):
    """Otherwise the next run would first have to be shown this run's close."""
    _, gateway = drive(CalculationBoard())
    assert gateway.methods[-2:] == ["ping", "DELETE"]


def test_a_refused_opening_is_refused(drive):
    result, _ = drive(CalculationBoard(), wanted=CaseWanted("no_such_type", KEY))
    assert (result.exit, result.document()["errorCode"]) == (13, "bad_command")
