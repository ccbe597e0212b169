"""Plans: validated, applied, repaired and found.

Duty: the reasoning board, "Plans".
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.base.limits import PLAN_STEPS_MAX
from rulith.board.space import actions, plans, rehearsal
from tests.space.short import AT, board, copied, everything, facts, minting, tell, TRUSTED

SHIPPING = ("F0 = spec(x=1)", "DESIGN! spec(x=?x) => drawn(x=?x)", "CODE! drawn(x=?x) => coded(x=?x)", "TEST! coded(x=?x) => tested(x=?x)",
            "SHIP! tested(x=?x), coded(x=?x) => shipped(x=?x)", "G? shipped(x=1)")


def apply_plan(space, plan, require_goals=False):
    return plans.apply_plan(space, plan, require_goals, at=AT, mint=space.mint_for_tests)


# --- validating and applying -------------------------------------------------------------


def test_a_question_about_a_plan_changes_nothing():
    space = board(*SHIPPING)
    before = everything(space)
    plans.validate_plan(space, ["DESIGN", "CODE", "SHIP"])
    plans.suggest_repairs(space, ["SHIP"])
    plans.plan_to_goal(space)
    assert everything(space) == before


def test_a_step_that_is_refused_fails_the_plan_and_says_why():
    space = board("go(x=1)", "R: t(s=?s) <- m(v=?v), concat(left=m, right=?v, result=?s)", "A! go(x=?x) => m(v=1.5)", "B! go(x=?x) => fine(x=?x)")
    found = plans.validate_plan(space, ["B", "A", "B"])
    assert found.first_failure == 1 and not found.ok and len(found.steps) == 2
    assert found.steps[1].failed is None and "concat" in found.steps[1].problem


def test_a_plan_does_not_consume_a_committed_baseline():
    space = board()
    tell(space, "B = acceptance(node=n1, test=t1)", "M = committed_acceptance(node=n1)", options=TRUSTED)
    tell(space, "A! acceptance(node=?n, test=?t) => not acceptance(node=?n, test=?t)")
    found = plans.validate_plan(space, ["A"])
    assert found.first_failure == 0 and "committed" in found.steps[0].problem
    assert not apply_plan(space, ["A"]).applied


def test_what_is_no_action_fails_its_step():
    found = plans.validate_plan(board(*SHIPPING), ["DESIGN", "F0", "CODE"])
    assert found.first_failure == 1 and "no action" in found.steps[1].problem


@pytest.mark.parametrize("plan, code", [("A", "PLAN_INVALID"), (None, "PLAN_INVALID"), ([1], "PLAN_INVALID"), ([""], "PLAN_INVALID"), (["A"] * (PLAN_STEPS_MAX + 1), "resource_limit")])
def test_what_is_no_plan_is_refused(plan, code):
    space = board(*SHIPPING)
    for call in (plans.validate_plan, apply_plan, plans.suggest_repairs):
        with pytest.raises(Refused) as refused:
            call(space, plan)
        assert refused.value.code == code


def test_a_plan_of_the_longest_length_is_rehearsed_and_applied():
    """Each step is a trial inside the last; none of them may be too deep."""
    space = board("n(v=0)", "INC! n(v=?v), add(left=?v, right=1, result=?w) => not n(v=?v), n(v=?w)", f"G? n(v={PLAN_STEPS_MAX})")
    before = everything(space)
    assert plans.validate_plan(space, ["INC"] * PLAN_STEPS_MAX).ok
    assert everything(space) == before
    assert apply_plan(space, ["INC"] * PLAN_STEPS_MAX, True).applied
    assert facts(space) == [f"n(v={PLAN_STEPS_MAX})[e]"]


def test_a_plan_is_applied_whole_or_not_at_all():
    space = board(*SHIPPING)
    before = everything(space)
    assert apply_plan(space, ["DESIGN", "SHIP"]).failed_index == 1
    assert everything(space) == before
    done = apply_plan(space, ["DESIGN", "CODE", "TEST", "SHIP"], True)
    assert done.applied and [each.action_id for each in done.applications] == ["DESIGN", "CODE", "TEST", "SHIP"]
    assert len(space.of_type("result")) == 4


# --- repairing ---------------------------------------------------------------------------


def test_a_producer_that_lacks_two_facts_is_reached_through_both():
    space = board("a(x=1)", "PA! a(x=?x) => left(x=?x)", "PB! a(x=?x) => right(x=?x)", "P! left(x=?x), right(x=?x) => both(x=?x)", "USE! both(x=?x) => won(x=?x)", "G? won(x=1)")
    found = plans.suggest_repairs(space, ["USE"])
    assert [repair.plan for repair in found.repairs] == [("PA", "PB", "P", "USE")] and found.repairs[0].validates


def test_a_repair_that_meets_the_goals_comes_first():
    space = board("a(x=1)", "P1! a(x=?x) => mid(x=2)", "P2! a(x=?x) => mid(x=?x)", "USE! mid(x=?x) => won(x=?x)", "G? won(x=1)")
    found = plans.suggest_repairs(space, ["USE"])
    assert [(repair.inserted, repair.validates) for repair in found.repairs] == [(("P2",), True), (("P1",), False)]


@pytest.mark.parametrize("blocked", ["naf locked(x=1)", "not open(x=1)", "gt(left=1, right=2)"])
def test_what_no_action_can_produce_gets_a_note(blocked):
    space = board("locked(x=1)", f"A! {blocked} => won(x=1)", "B! locked(x=?x) => open(x=?x)")
    found = plans.suggest_repairs(space, ["A"])
    assert found.repairs == () and found.note and found.failed is not None


def test_producers_that_need_each_other_end():
    space = board("A! b(x=1) => a(x=1)", "B! a(x=1) => b(x=1)", "USE! a(x=1) => won(x=1)", "G? won(x=1)")
    assert plans.suggest_repairs(space, ["USE"], 60).repairs == ()


def test_a_search_without_end_says_that_it_was_cut(monkeypatch):
    """Three producers per level, and the lowest level has none: every way is tried."""
    ways = [f"P{level}{way}! f{level + 1}(x=1) => f{level}(x=1)" for level in range(6) for way in range(3)]
    space = board(*ways, "USE! f0(x=1) => won(x=1)", "G? won(x=1)")
    monkeypatch.setattr(plans, "Budget", lambda program: rehearsal.Budget(program, 50))
    assert plans.suggest_repairs(space, ["USE"], 60).note == plans.SPENT


# --- finding -----------------------------------------------------------------------------


def test_nothing_to_plan_for_and_nothing_to_plan_with_are_said():
    assert "no goal" in plans.plan_to_goal(board("A! naf p(x=1) => p(x=1)")).note
    assert "no action" in plans.plan_to_goal(board("G? p(x=1)")).note
    assert plans.plan_to_goal(board("p(x=1)", "G? p(x=1)")).plan == ()


@pytest.mark.parametrize("depth, beam", [("8", None), (True, None), (-1, None), (1.5, None), (None, 10_000)])
def test_bounds_out_of_range_are_refused(depth, beam):
    with pytest.raises(Refused) as refused:
        plans.plan_to_goal(board(*SHIPPING), depth, beam)
    assert refused.value.code == "PLAN_INVALID"


def test_a_search_ends_with_its_budget(monkeypatch):
    monkeypatch.setattr(plans, "Budget", lambda program: rehearsal.Budget(program, 20))
    space = board("n(v=0)", *(f"A{k}! n(v=?v), add(left=?v, right={k + 1}, result=?w) => not n(v=?v), n(v=?w)" for k in range(8)), "G? n(v=1000)")
    found = plans.plan_to_goal(space)
    assert not found.found and found.note == plans.SPENT


def test_a_narrow_beam_is_told():
    space = board("n(v=0)", *(f"A{k}! n(v=?v), add(left=?v, right={k + 1}, result=?w) => not n(v=?v), n(v=?w)" for k in range(4)), "G? n(v=1000)")
    assert "keeping 2 states" in plans.plan_to_goal(space, 3, 2).note


def test_work_taken_back_counts():
    """A precondition that costs much is bounded by join steps, however few the trials are."""
    many = [f"a(x={n})" for n in range(250)]
    space = board(*many, "A! a(x=?x), a(x=?y), gt(left=?y, right=1000) => won(x=1)", "G? won(x=1)")
    with space.trial("", actions.trial_mint(space)) as change:
        budget = rehearsal.Budget(space.program, 1000, 100_000)
        try_out = rehearsal.Rehearsal(change, budget)
        with pytest.raises(rehearsal.Spent), rehearsal.ExitStack() as stack:
            for _ in range(1000):
                try_out.take(stack, "A")
        assert budget.trials_left > 980


def test_what_undoing_costs_counts():
    """A step that deletes from a large relation is taken back by restoring it."""
    space = board(*(f"p(x={n})" for n in range(500)), "A! p(x=?x) => not p(x=?x)")
    with space.trial("", actions.trial_mint(space)) as change:
        budget = rehearsal.Budget(space.program, 1000, 500 * rehearsal.RESTORED_STEPS * 3)
        try_out = rehearsal.Rehearsal(change, budget)
        with pytest.raises(rehearsal.Spent):
            for _ in range(1000):
                with rehearsal.ExitStack() as stack:
                    try_out.take(stack, "A")
        assert budget.trials_left >= 995


_effects = st.lists(st.builds("{}f{}(x=1)".format, st.sampled_from(["", "", "not "]), st.integers(0, 3)), min_size=1, max_size=2)
_needs = st.lists(st.builds("{}f{}(x=1)".format, st.sampled_from(["", "naf "]), st.integers(0, 3)), max_size=2)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=2), st.lists(st.tuples(_needs, _effects), min_size=1, max_size=3), st.integers(0, 3))
def test_a_found_plan_is_a_shortest_one(stated, specs, goal):
    """Against trying all sequences on copies. States are told apart, so nothing short is missed with a wide beam."""
    space = board(*(f"f{n}(x=1)" for n in set(stated)), *(f"A{n}! {', '.join(needs)} => {', '.join(effects)}" for n, (needs, effects) in enumerate(specs)), f"G? f{goal}(x=1)")
    found = plans.plan_to_goal(space, 3, 256)
    names = [f"A{n}" for n in range(len(specs))]
    shortest = next((length for length in range(4) for plan in itertools.product(names, repeat=length) if reaches(space, plan)), None)
    assert (len(found.plan) if found.found else None) == shortest
    if found.found:
        assert reaches(space, found.plan)


def reaches(space, plan):
    """Apply the plan to an independent copy."""
    copy, draw = copied(space), minting()
    if any(not actions.apply_action(copy, name, at=AT, mint=lambda prefix: draw("copy_")).applied for name in plan):
        return False
    return copy.satisfied_goals() == ["G"]
