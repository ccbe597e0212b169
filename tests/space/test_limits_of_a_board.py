"""Each bound of a reasoning board refuses by its own name, at its value and not before, and leaves the board as it was.

Duty: "limits on everything, each with its test". Bounds that a Limits carries: tests/rules/test_program.py;
of plans, solutions, actions and aggregates by group: their own files.
"""

from __future__ import annotations

import pytest

from rulith.base import limits
from rulith.base.errors import Refused
from rulith.board.space import context, critique, hints, plans, rehearsal, whys
from rulith.rules import explain
from rulith.rules.explain import Effort
from rulith.rules.terms import Literal
from tests.space.short import board, everything, facts, tell


def fact(predicate, **args):
    return {"op": "assert_fact", "predicate": predicate, "args": args}


def dependency(key):
    return {"op": "assert_fact", "predicate": "functional_dependency", "args": {"predicate": "p", "key": key}}


def count_of(source, name):
    return {"op": "derive_aggregate", "id": name, "kind": "count", "source": {"predicate": source}, "into": {"predicate": name.lower(), "valueArg": "n"}}


def refused(space, *operations):
    before = everything(space)
    with pytest.raises(Refused) as refusal:
        tell(space, *operations)
    assert everything(space) == before
    return refusal.value


def within_and_beyond(operations, most, what, *begun):
    """`most` of these operations are taken in one batch; one more is refused."""
    made = list(operations)
    tell(board(*begun), *made[:most])
    refusal = refused(board(*begun), *made[:most + 1])
    assert refusal.code == "resource_limit" and what in str(refusal), str(refusal)


def test_functional_dependencies():
    within_and_beyond((dependency(f"k{n}") for n in range(300)), limits.DEPENDENCIES_MAX, "functional dependencies")


def test_derived_functional_dependencies_count_too(monkeypatch):
    monkeypatch.setattr(explain, "DEPENDENCIES_MAX", 2)
    space = board("K1 = key(k=a)", "K2 = key(k=b)", "R: functional_dependency(predicate=p, key=?k) <- key(k=?k)")
    assert refused(space, "key(k=c)").code == "resource_limit"


def test_ways_in_which_a_predicate_names_its_arguments():
    within_and_beyond((fact("p", **{f"a{n}": 1}) for n in range(300)), limits.ARGUMENT_SETS_MAX, "ways in which p names")
    tell(board(), *[fact(f"p{n}", **{f"a{n}": 1}) for n in range(300)])


@pytest.mark.parametrize("question", [
    {"op": "declare_goal", "label": "g", "desired": [{"predicate": "p"}]}, {"op": "declare_hypothesis", "predicate": "p"}])
def test_goals_and_hypotheses(question):
    within_and_beyond([question] * 1_001, limits.SPACE_QUESTIONS_MAX, "goals and hypotheses")


def test_atoms_of_one_goal():
    goal = lambda count: {"op": "declare_goal", "label": "g", "desired": [{"predicate": f"p{n}"} for n in range(count)]}  # noqa: E731
    tell(board(), goal(limits.RULE_BODY_MAX))
    assert refused(board(), goal(limits.RULE_BODY_MAX + 1)).code == "resource_limit"


def test_aggregates_of_one_batch():
    within_and_beyond((count_of("p", f"T{n}") for n in range(501)), limits.AGGREGATES_BATCH_MAX, "aggregates of one batch", "F = p(x=1)")


def test_facts_that_the_aggregates_of_one_batch_count(monkeypatch):
    monkeypatch.setattr("rulith.board.space.operations.AGGREGATE_MEMBERS_MAX", 5)
    rows = [f"p(x={n})" for n in range(3)]
    tell(board(*rows), count_of("p", "T1"))
    assert refused(board(*rows), count_of("p", "T1"), count_of("p", "T2")).code == "resource_limit"


def test_code_of_the_rules_that_one_change_moves(monkeypatch):
    """Counted by shape: a hundred rules of one shape are one function, and a compiled one counts again."""
    monkeypatch.setattr("rulith.rules.closing.RULE_CODE_MAX", 30)
    tell(board("F = p(x=1)"), *[f"R{n}: q{n}(x=?x) <- p(x=?x)" for n in range(100)])
    shapes = ["R0: q(x=?x) <- p(x=?x)", "R1: q(x=?x) <- p(x=?x), p(x=?y)", "R2: q(x=?x) <- p(x=?x), p(x=?y), p(x=?z)"]
    for _ in range(2):
        refusal = refused(board("F = p(x=1)"), *shapes)
        assert refusal.code == "resource_limit" and "differently shaped" in str(refusal)


def test_the_join_steps_of_a_batch_are_counted_over_all_its_closings():
    """Each retraction closes; their steps are one budget."""
    space = board(*[f"F{n} = p(x={n})" for n in range(40)], "R: q(x=?x) <- p(x=?x)", "S: r(x=?x) <- q(x=?x)")
    space.program.limits = type(space.limits)(steps=60)
    tell(space, {"op": "retract_node", "nodeId": "F0"})
    assert refused(space, *[{"op": "retract_node", "nodeId": f"F{n}"} for n in range(1, 40)]).code == "resource_limit"


def test_hints_of_one_read_stop_and_say_so(monkeypatch):
    goals = [f"G{n}? q(x={n})" for n in range(6)]
    rules = [f"R{n}: q(x=?x) <- p(x=?x), r{n}(x=?x)" for n in range(10)]
    space = board(*goals, *rules)
    assert context.text(space).count("needs via") == 2 * 6 * hints.SHOWN_MAX and "too much to look into" not in context.text(space)
    monkeypatch.setattr(Effort.__init__, "__defaults__", (60,))
    text = context.text(space)
    assert 0 < text.count("needs via") < 2 * 6 * hints.SHOWN_MAX and "too much to look into" in text
    assert text == context.text(space)
    assert critique.remarks(space) == []        # what was not looked at is not called unreachable


def test_why_not_stops_where_its_effort_ends():
    space = board(*[f"R{n}: q(x=?x) <- p(x=?x), r{n}(x=?x)" for n in range(10)])
    pattern = Literal.of("q", {"x": 1})
    assert len(space.program.why_not(pattern)) == 10
    assert 0 < len(space.program.why_not(pattern, 3, None, Effort(8))) < 10


def test_repairs_go_no_deeper_than_their_bound():
    with pytest.raises(Refused) as refusal:
        plans.suggest_repairs(board("A! => p(x=1)"), ["A"], max_depth=limits.REPAIR_DEPTH_MAX + 1)
    assert refusal.value.code == "PLAN_INVALID"


def test_a_search_ends_after_so_many_trials(monkeypatch):

    monkeypatch.setattr(rehearsal.Budget.__init__, "__defaults__", (3, limits.SEARCH_WORK_MAX))
    space = board(*[f"A{n}! => p(x={n})" for n in range(8)], "G? p(x=0), p(x=1), p(x=2), p(x=3)")
    found = plans.plan_to_goal(space, 8, 16)
    assert not found.found and found.note


def test_what_if_retracts_no_more_facts_together_than_its_bound(monkeypatch):
    monkeypatch.setattr(whys, "WHAT_IF_SET_MAX", 2)
    space = board(*[f"F{n} = p(x={n})" for n in range(3)], "R: q() <- p(x=?x)")
    found = whys.what_if(space, Literal.of("q", {}))
    assert found.holds and not found.ways and not found.complete
    monkeypatch.setattr(whys, "WHAT_IF_SET_MAX", 3)
    assert whys.what_if(space, Literal.of("q", {})).ways


def test_a_board_at_its_bounds_still_answers():
    space = board("F = p(x=1)", "R: q(x=?x) <- p(x=?x)")
    refused(space, *[dependency(f"k{n}") for n in range(300)])
    assert facts(space) == ["p(x=1)[a]", "q(x=1)[d]"]
