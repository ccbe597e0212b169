"""Trying a Capability before anything is written: the same answer, and nothing moved."""

from __future__ import annotations

import copy

import pytest

from rulith.base.canonical import digest
from rulith.base.errors import Refused


def other(document: dict) -> dict:
    return {**copy.deepcopy(document), "version": "1.0.1"}


def test_a_trial_answers_as_the_install_would_and_changes_nothing(play):
    board = play.board
    held = board.state.releases["rulith.verified_calculation"]
    newer = other(dict(held.document))
    before = (board.closure_digest(), board.revision, list(board.state.rules), board.releases())
    tried = board.try_install(newer)
    assert tried["version"] == "1.0.1" and tried["digest"] == digest(newer)
    assert (board.closure_digest(), board.revision, list(board.state.rules), board.releases()) == before
    assert play.run("install_capability", capability=newer, digest=digest(newer)) == tried


def test_a_trial_says_which_cases_the_install_would_wait_for(play):
    case = play.open("calc-001")
    newer = other(dict(play.board.state.releases["rulith.verified_calculation"].document))
    before = (play.board.closure_digest(), list(play.board.state.rules))
    assert play.board.try_install(newer)["waits"] == [case["caseId"]]
    assert (play.board.closure_digest(), list(play.board.state.rules), play.board.state.next) == (*before, {})


def test_a_trial_refuses_what_the_install_would_refuse(play):
    held = dict(play.board.state.releases["rulith.verified_calculation"].document)
    before = (play.board.closure_digest(), list(play.board.state.rules))
    with pytest.raises(Refused) as refusal:
        play.board.try_install({**held, "id": "rulith"})
    assert refusal.value.code == "capability_invalid"
    assert (play.board.closure_digest(), list(play.board.state.rules)) == before


def test_work_goes_on_after_a_trial_as_if_it_had_not_been(play, new_play):
    """Derived tables are caches of the Releases; a trial must leave those in force, not those tried."""
    empty = other(dict(play.board.state.releases["rulith.verified_calculation"].document))
    empty.update(rules=[], acceptance=[], actions=[], case_types={}, pins=[], examples=[])
    play.board.try_install(empty)
    play.whole("calc-001")
    assert play.refold().closure_digest() == play.board.closure_digest()
    untouched = new_play()
    untouched.whole("calc-001")
    assert [row["closure"] for row in untouched.rows] == [row["closure"] for row in play.rows]
