"""What a board reads from a Program: who matches, who cites, what is derived, what moved.

Duty: `matching`, `citing`, `derived`, `argument_names` and `Delta.moved` agree with reading every fact and support.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from rulith.base.errors import Refused
from rulith.rules.program import Program
from rulith.rules.terms import Atom, Literal, read_rule
from tests.rules.naive import extend
from tests.rules.test_closure_equals_the_naive_evaluator import Model, as_fact, scripts


def program(facts, *rules):
    made = Program()
    with made.transaction() as tx:
        for number, (when, then) in enumerate(rules):
            tx.add_rule(read_rule({"id": f"R{number}", "when": when, "then": then}))
        for atom in facts:
            tx.assert_fact(atom)
    return made


def test_a_literal_matches_facts_with_more_arguments_in_order_of_appearance():
    made = program([Atom.of("p", {"x": 2, "y": 1}), Atom.of("p", {"x": 1}), Atom.of("p", {"x": 1, "y": 1}), Atom.of("p", {"x": 1}, True)])
    assert [a.text() for a in made.matching(Literal.of("p", {"x": "?x"}))] == ["p(x=2, y=1)", "p(x=1)", "p(x=1, y=1)"]
    assert [a.text() for a in made.matching(Literal.of("p", {"x": 1}))] == ["p(x=1)", "p(x=1, y=1)"]
    assert [a.text() for a in made.matching(Literal.of("p", {"x": "?v", "y": "?v"}))] == ["p(x=1, y=1)"]
    assert [a.text() for a in made.matching(Literal.of("p", {"x": "?v"}, True))] == ["not p(x=1)"]
    assert list(made.matching(Literal.of("p", {"x": 9}))) == list(made.matching(Literal.of("q", {}))) == []
    assert made.argument_names("p") == [("x", "y"), ("x",)] and made.argument_names("q") == []


def test_a_fact_that_is_leaving_matches_no_more():
    made = program([Atom.of("p", {"x": 1}), Atom.of("p", {"x": 2})])
    with made.transaction() as tx:
        tx.retract_fact(Atom.of("p", {"x": 1}))
        assert [a.text() for a in made.matching(Literal.of("p", {"x": "?x"}))] == ["p(x=2)"]


def test_moved_gives_only_positive_atoms_of_the_predicates_asked_for():
    made = program([Atom.of("p", {"x": 1})])
    with made.transaction() as tx:
        tx.add_rule(read_rule({"id": "R", "when": [{"predicate": "p", "args": {"x": "?x"}}], "then": [
            {"predicate": "q", "args": {"x": "?x"}}, {"predicate": "r", "args": {"x": "?x"}}, {"predicate": "q", "args": {"x": "?x"}, "negated": True}]}))
        delta = tx.close()
    assert [a.text() for a in delta.moved({"q"})] == ["q(x=1)"]
    with made.transaction() as tx:
        tx.retract_fact(Atom.of("p", {"x": 1}))
        delta = tx.close()
    assert [a.text() for a in delta.moved({"q", "nothing"})] == ["q(x=1)"]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_reads_agree_with_every_fact_and_every_support(script):
    available, facts, transactions = script
    made, model = Program(), Model(available)
    for fails, changes in [(False, [("add", n) for n in range(len(available))] + [("assert", atom) for atom in facts]), *transactions]:
        saved = dict(model.rules), dict(model.base)
        try:
            with made.transaction() as tx:
                for change in changes:
                    model.change(tx, change)
                if fails:
                    raise KeyError("planned")
        except (Refused, KeyError):
            model.rules, model.base = saved
        held = list(made.facts())
        supports = {atom: made.support(atom) for atom in held}
        assert {atom for atom in held if supports[atom] is not None} == set(made.derived())
        for atom in held:
            citing = {other for other, support in supports.items() if support is not None and atom in support.premises}
            assert set(made.citing(atom)) == citing
        for rule in available:
            for literal in (*rule.when, *rule.then):
                wanted = [atom for atom in held if extend(
                    Literal(literal.predicate, literal.args, literal.negated).json(), as_fact(atom), {}) is not None]
                if literal.predicate in {"p", "q", "r", "s", "e"}:
                    assert set(made.matching(Literal(literal.predicate, literal.args, literal.negated))) == set(wanted)
