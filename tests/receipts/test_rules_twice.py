"""The verifier's evaluation and the engine's, on generated programs: the same facts, and every support is a step that holds.

Duty: the second implementation is worth something only where it agrees for reasons of its own.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.rules.program import Program
from rulith.wire.receipt_rules import World, fact_of, literal_of
from tests.rules.test_closure_equals_the_naive_evaluator import atoms, rules


def compiled(rule) -> dict:
    return {"when": [literal_of(each.json()) for each in rule.when], "then": [literal_of(each.json()) for each in rule.then]}


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True).flatmap(lambda ids: st.tuples(*(rules(f"r{n}") for n in ids))), st.lists(atoms(), max_size=12))
def test_both_evaluations_conclude_the_same_and_every_support_is_a_step(program_rules, base):
    program = Program()
    try:
        with program.transaction() as tx:
            for rule in program_rules:
                tx.add_rule(rule)
            for atom in base:
                tx.assert_fact(atom)
            tx.close()
    except Refused:
        return
    world = World([compiled(rule) for rule in program_rules], [fact_of(atom.json()) for atom in base])
    held = {}
    for atom in program.facts():
        held.setdefault((atom.predicate, atom.negated), set()).add(fact_of(atom.json()))
    for sign in {*held, *(head["sign"] for rule in program_rules for head in compiled(rule)["then"])}:
        assert set(world.about(sign)) == held.get(sign, set()), sign
    by_id = {rule.id: compiled(rule) for rule in program_rules}
    for atom in program.facts():
        support = program.support(atom)
        if support is not None:
            rule, fact = by_id[support.rule_id], fact_of(atom.json())
            ways = [exact for given, exact, _ in world.concluded(rule, [[fact_of(each.json())] for each in support.premises]) if given == fact]
            assert ways and (support.approximate is None) == any(ways), (atom.text(), support)


@pytest.mark.parametrize("body, head, base", [
    ([("p", {"x": "?x"}), ("add", {"left": "?x", "right": 1, "result": "?y"})], ("p", {"x": "?y"}), [{"x": 0}]),
    ([("p", {"x": "?a"}), ("p", {"x": "?b"}), ("p", {"x": "?c"})], ("q", {"a": "?a", "b": "?b", "c": "?c"}), [{"x": number} for number in range(300)]),
    ([("p", {"x": "?x"}), ("concat", {"left": "?x", "right": "?x", "result": "?y"})], ("p", {"x": "?y"}), [{"x": "ab"}]),
], ids=["counting without end", "a product of everything", "a text that doubles"])
def test_a_forgers_rules_cannot_keep_the_verifier_busy(body, head, base):
    rule = {"when": [literal_of({"predicate": name, "args": args}) for name, args in body], "then": [literal_of({"predicate": head[0], "args": head[1]})]}
    world = World([rule], [fact_of({"predicate": "p", "args": args}) for args in base])
    if body[-1][0] == "concat":
        assert len(world.about(("p", False))) < 20
    else:
        with pytest.raises(ValueError, match="more follows"):
            world.about((head[0], False))
