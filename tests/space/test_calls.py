"""Calls in the corpus format: what cannot be read is refused by name, and modes of `explain_fact` answer as data."""

from __future__ import annotations

import json

import pytest

from rulith.base.errors import Refused
from rulith.board.space.calls import CALLS, Calls
from tests.space.short import AT, board, everything


def calls(*texts):
    space = board(*texts)
    return Calls(space, at=AT, mint=space.mint_for_tests)


@pytest.mark.parametrize("name, args, code", [
    ("nothing", {}, "CALL_UNKNOWN"), (None, {}, "CALL_UNKNOWN"), ("run", {}, "CALL_UNKNOWN"), ("stages", [], "CALL_INVALID"), ("stages", {}, "CALL_INVALID"),
    ("stages", {"goalPredicate": 1}, "CALL_INVALID"), ("grounding", {}, "CALL_INVALID"), ("grounding", {"fact": {"predicate": "p"}, "attestedPredicates": "x"}, "CALL_INVALID"),
    ("explain_fact", {}, "CALL_INVALID"), ("explain_fact", {"fact": {"predicate": "p"}, "mode": "how"}, "CALL_INVALID"), ("explain_fact", {"fact": {"predicate": "p"}}, "ATOM_ABSENT"),
    ("apply_action", {"actionNodeId": "A", "expectedRevision": 1}, "CALL_INVALID"), ("slice", {"maxFacts": -1}, "CALL_INVALID"), ("slice", {"pinPredicates": [1]}, "CALL_INVALID"),
    ("seed_new_board", {}, "CAPSULE_INVALID"), ("compile_sql", {"dialect": "x"}, "NOT_COMPILABLE"), ("validate_plan", {}, "PLAN_INVALID"), ("solve", {}, "SOLVE_SHAPE"),
    ("verify_certificate", {}, "CERTIFICATE_INVALID"), ("apply_action", {}, "NODE_ID_REQUIRED"),
])
def test_what_cannot_be_called_is_refused(name, args, code):
    it = calls("A! naf q() => p()")
    before = everything(it.space)
    assert it.outcome(name, args)["error"]["label"] == code
    assert everything(it.space) == before


def test_every_refusal_says_what_to_do():
    with pytest.raises(Refused) as refused:
        calls().run("nothing")
    assert "plan_to_goal" in str(refused.value)


def test_why_not_and_what_if_answer_as_data():
    it = calls("part(x=1)", "R: ok(x=?x) <- part(x=?x), check(x=?x)", "G? ok(x=1)", "A! part(x=?x) => check(x=?x)")
    found = it.run("explain_fact", {"factNodeId": "G", "mode": "why_not"})
    assert found["rules"][0]["lacks"] == [{"atom": {"predicate": "check", "args": {"x": 1}}, "reason": "absent", "actions": ["A"]}]
    found = it.run("explain_fact", {"fact": {"predicate": "ok", "args": {"x": 1}}, "mode": "what_if"})
    assert found == {"atom": {"predicate": "ok", "args": {"x": 1}}, "holds": False, "ways": [[{"do": "assert", "atom": {"predicate": "check", "args": {"x": 1}}}]]}
    json.dumps(found)


def test_questions_change_nothing():
    """Every call that writes nothing leaves the board as it was."""
    it = calls("F = p(x=1)", "R: q(x=?x) <- p(x=?x)", "A! p(x=?x) => r(x=?x)", "G? r(x=1)")
    args = {
        "simulate_action": {"actionNodeId": "A"}, "validate_plan": {"actionNodeIds": ["A"]}, "suggest_plan_repairs": {"actionNodeIds": ["A"]},
        "solve": {"variables": [{"name": "v", "domain": [1]}], "commit": False}, "verify_certificate": {"certificate": {"kind": "plan", "actionNodeIds": ["A"]}},
        "explain_fact": {"factNodeId": "derived:q|x:1"}, "grounding": {"fact": {"predicate": "q", "args": {"x": 1}}}, "stages": {"goalPredicate": "q"},
        "compile_action": {"actionNodeId": "A"},
    }
    before = everything(it.space)
    it.run("distill_space")
    for name in CALLS:
        if name not in ("apply_action", "apply_plan"):
            it.run(name, args.get(name, {}))
            assert everything(it.space) == before, name
