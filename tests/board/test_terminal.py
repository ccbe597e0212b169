"""What is checked once more before a Case closes as completed: each check fails on a Board that was written past the law."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rulith.base.errors import Refused
from rulith.board.cases import case_words, closing_record, leaves
from rulith.board.state import Fact
from rulith.board.terminal import check_terminal
from rulith.board.words import ACCEPTANCE, CASE_CONTEXT, CASE_KEY, EXPLORATION_COMPLETED, ROOT
from rulith.rules.terms import Atom


class Certified:
    """A certified Case that is about to close, with everything the last look is given."""

    def __init__(self, play) -> None:
        self.board, self.state = play.board, play.board.state
        self.case = self.state.cases[play.whole()["caseId"]]
        self.case_type = self.state.case_types[self.case.type]
        self.words = case_words(self.state.releases[self.case.release["id"]], self.case)
        self.conclusions = closing_record(self.state, self.case, leaves(self.state, self.case))["conclusions"]

    def code(self) -> str:
        with pytest.raises(Refused) as refused:
            check_terminal(self.state, self.case, self.case_type, self.words, self.conclusions)
        assert refused.value.facts["problem"] and self.case.root in refused.value.teaching
        return refused.value.code

    def write(self, predicate: str, args: dict, **changes) -> None:
        fact = Fact(f"f_{'9' * 24}", Atom.of(predicate, args), "law", "verified", self.case.case_id, False, {"kind": "law"}, self.case.opened_at)
        with self.board._whole():
            self.state.add_fact(replace(fact, **changes))
            self.state.close_rules()

    def take(self, predicate: str) -> None:
        with self.board._whole():
            for fact in self.state.facts_of(self.case.case_id):
                if fact.atom.predicate == predicate:
                    self.state.remove_fact(fact.id)
            self.state.close_rules()


@pytest.fixture
def certified(new_play) -> Certified:
    found = Certified(new_play())
    check_terminal(found.state, found.case, found.case_type, found.words, found.conclusions)
    return found


def test_bad_case_closure_is_another_contract_than_the_one_it_opened_with(certified):
    certified.case_type = replace(certified.case_type, contract="sha256:" + "0" * 64)
    assert certified.code() == "bad_case_closure"


@pytest.mark.parametrize("word", [ROOT, CASE_CONTEXT])
def test_case_opening_missing_is_a_word_of_the_opening_that_is_gone(certified, word):
    certified.take(word)
    assert certified.code() == "case_opening_missing"


def test_case_opening_not_trusted_is_a_word_that_law_did_not_write(certified):
    certified.take(ROOT)
    certified.write(ROOT, {"node": certified.case.root}, origin="asserted", tier="asserted")
    assert certified.code() == "case_opening_not_trusted"


def test_case_business_key_ambiguous_is_a_key_with_two_values(certified):
    certified.write(CASE_KEY, {"root": certified.case.root, "name": "job_id", "value": "calc-002"})
    assert certified.code() == "case_business_key_ambiguous"


def test_case_acceptance_key_mismatch_is_another_key_than_the_one_it_opened_with(certified):
    certified.take(CASE_KEY)
    certified.write(CASE_KEY, {"root": certified.case.root, "name": "job_id", "value": "calc-002"})
    assert certified.code() == "case_acceptance_key_mismatch"


def test_case_acceptance_missing_is_a_leaf_without_its_test(certified):
    certified.take(ACCEPTANCE)
    assert certified.code() == "case_acceptance_missing"


@pytest.mark.parametrize("by", [None, {"kind": "rule", "law": False}, {"kind": "agent"}])
def test_case_acceptance_not_derived_is_an_acceptance_that_law_did_not_conclude(certified, by):
    certified.conclusions = [] if by is None else [{**each, "by": by} for each in certified.conclusions]
    assert certified.code() == "case_acceptance_not_derived"


def test_case_acceptance_floor_too_weak_is_an_acceptance_below_the_contracts_floor(certified):
    certified.conclusions = [{**each, "tier": "asserted"} for each in certified.conclusions]
    assert certified.code() == "case_acceptance_floor_too_weak"


def test_case_evidence_not_local_is_a_premise_that_belongs_to_another_case(certified):
    waiting = list(certified.conclusions)
    while not (premise := waiting.pop())["predicate"].endswith(".input"):
        waiting += premise["premises"]
    fact = certified.state.facts[premise["id"]]
    certified.state.facts[fact.id] = replace(fact, local=True, case_id="case_other")
    assert certified.code() == "case_evidence_not_local"


def test_case_terminal_disposition_mismatch_is_a_case_said_to_be_completed_already(certified):
    certified.write(EXPLORATION_COMPLETED, {"case_id": certified.case.case_id})
    assert certified.code() == "case_terminal_disposition_mismatch"


def test_a_completed_close_takes_the_last_look_and_any_other_does_not(new_play, monkeypatch):
    def fails(*given):
        raise Refused("case_opening_missing", root="r", problem="it is gone")

    monkeypatch.setattr("rulith.board.cases.check_terminal", fails)
    play = new_play()
    case = play.whole()
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"])
    assert refused.value.code == "case_opening_missing" and play.board.state.cases[case["caseId"]].status == "running"
    assert play.run("close_case", root=case["root"], disposition="failed", reason="it would not close")["disposition"] == "failed"


def test_an_exploration_takes_the_last_look_too(new_play):
    play = new_play()
    case = play.explore()
    play.batch(case, {"op": "declare_goal", "desired": [{"predicate": "q"}]}, {"op": "assert_fact", "predicate": "p"},
               {"op": "add_axiom", "when": [{"predicate": "p"}], "then": [{"predicate": "q"}]})
    assert play.run("close_case", root=case["root"])["disposition"] == "completed"
