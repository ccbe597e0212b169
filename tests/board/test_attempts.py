"""What became of an Action is remembered by its Case, across runs and restarts, until the Case closes."""

import copy
import json

import pytest

from rulith.base.errors import Refused
from rulith.board.attempts import key_of
from rulith.wire.results import validate_result

P = "rulith.verified_calculation."
BY = {"by": "owner", "reason": "nobody can say"}


def row(play, case, action="read_input"):
    found = next(row for row in play.view(case)["actions"] if row["action"] == P + action)
    validate_result("actionRow", json.loads(json.dumps(found)))
    return found


def tried(play, case, action="read_input"):
    return row(play, case, action)["candidates"][0].get("tried")


def settle(play, plan, outcome, **more):
    play.ordinal += 1
    return play.run("record_reconciliation", ordinal=play.ordinal, plan=plan.record(), outcome=outcome, **{**BY, **more})


def test_an_action_that_was_never_tried_says_nothing_of_it(play):
    assert tried(play, play.open()) is None


def test_a_failed_read_is_remembered_with_its_words(play):
    case = play.open()
    play.ordinal += 1
    plan = play.plan(case, "read_input")
    play.run("record_receipt", ordinal=1, plan=plan.record(), ok=False, facts=[], reason="no such\nfile " + "x" * 900,
             resultDigest="r", requestDigest="q", workerId="w", workerGeneration=1, source=None)
    found = tried(play, case)
    assert found["state"] == "failed" and found["reason"].startswith("no such file x") and len(found["reason"]) <= 200
    assert row(play, case)["status"] == "ready"      # law forbids nothing; a model may still apply it
    assert play.plan(case, "read_input").args == plan.args
    listed, = play.board.attempts(case["caseId"])
    assert listed == {"action": P + "read_input", "args": {"job_id": "calc-001"}, **found}


def test_a_failure_without_words_says_so(play):
    case = play.open()
    play.receipt(play.plan(case, "read_input"), [], ok=False)
    assert tried(play, case)["reason"] == "no reason was given"


@pytest.mark.parametrize("outcome, state", [("did_not", "failed"), ("cannot_tell", "unknown")])
def test_a_reconciled_call_is_remembered_as_the_person_said(play, outcome, state):
    case = play.open()
    play.read(case)
    settle(play, play.plan(case, "write_output"), outcome)
    found = tried(play, case, "write_output")
    assert found["state"] == state and "nobody can say" in found["reason"] and found["at"]


def test_what_took_effect_is_remembered_where_it_stays_ready(play, new_play):
    """An Action without a guard of its own would be repeated by every run."""
    capability = copy.deepcopy(play.rows[0]["command"]["capability"])
    read = capability["actions"][0]
    read["preconditions"] = read["preconditions"][:1]
    play = new_play(capability)
    case = play.open()
    play.read(case)
    assert tried(play, case)["state"] == "done"


def test_a_refusal_is_recorded_by_its_own_row(play):
    case = play.open(case_type="approved_calculation")
    play.read(case)
    plan = play.plan(case, "write_approved_output")
    result = play.run("record_refusal", ordinal=2, plan=plan.record(), reason="A person rejected it: too much")
    assert result == {"action": P + "write_approved_output", "done": True, "status": "refused", "ok": False}
    assert tried(play, case, "write_approved_output")["reason"] == "A person rejected it: too much"
    assert not play.holds(P + "write_settled", job_id="calc-001")


def test_the_source_makes_no_other_attempt_and_other_arguments_do(play):
    one, two = play.open(), play.open("calc-002")
    play.receipt(play.plan(one, "read_input"), [], ok=False)
    assert tried(play, one) and not tried(play, two)
    assert key_of("a", {"x": 1, "source": "s"}) == key_of("a", {"source": "t", "x": 1}) != key_of("a", {"x": 2})


def test_the_memory_is_part_of_the_fold_and_goes_with_its_case(play):
    case = play.open()
    play.receipt(play.plan(case, "read_input"), [], ok=False)
    assert play.refold().state.cases[case["caseId"]].attempts == play.board.state.cases[case["caseId"]].attempts != {}
    play.run("close_case", root=case["root"], disposition="cancelled", reason="try again")
    assert play.board.state.cases[case["caseId"]].attempts == {}
    assert tried(play, play.open()) is None


def test_a_refused_row_leaves_no_memory(play):
    case = play.open()
    with pytest.raises(Refused):
        play.receipt(play.plan(case, "read_input"), [{"predicate": "root", "args": {"node": "x"}}])
    assert tried(play, case) is None


def test_a_case_remembers_its_newest_attempts_only(play, monkeypatch):
    monkeypatch.setattr("rulith.board.attempts.KEPT_MAX", 2)
    case = play.open()
    for number in range(4):
        plan = play.plan(case, "read_input").record()
        play.run("record_refusal", ordinal=number + 1, plan={**plan, "args": {"job_id": f"j{number}"}}, reason="no")
    assert [key.count("j2") + 2 * key.count("j3") for key in play.board.state.cases[case["caseId"]].attempts] == [1, 2]
