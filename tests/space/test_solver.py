"""The solver: against trying every assignment, and at its borders.

Duty: the reasoning board, "Constraint solver"; board-suspects `sus-solve-*`.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.base.limits import SOLVE_VARIABLES_MAX
from rulith.board.space import solver
from rulith.board.space.nodes import BatchOptions
from tests.space.short import AT, TRUSTED, board, everything, facts, tell

DIFFERENT = "C: conflict(a=?a, b=?b) <- edge(a=?a, b=?b), assignment(var=?a, value=?v), assignment(var=?b, value=?v)"


def solve(space, variables, **options):
    return solver.solve(space, variables, at=AT, mint=space.mint_for_tests, **options)


def over(domain, *names):
    return [{"name": name, "domain": list(domain)} for name in names]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6))
def test_a_solution_is_the_first_in_order_and_unsat_means_none(count, colours, edges):
    names = [f"v{n}" for n in range(count)]
    space = board(DIFFERENT, *(f"edge(a=v{a}, b=v{b})" for a, b in edges))
    before = everything(space)
    found = solve(space, over(range(colours), *names), commit=False)
    assert everything(space) == before
    wanted = next((values for values in itertools.product(range(colours), repeat=count)
                   if all(a >= count or b >= count or values[a] != values[b] for a, b in edges)), None)
    assert (tuple(found.assignment[name] for name in names) if found.sat else None) == wanted
    assert found.reason == (None if wanted else "unsat")


def test_values_keep_their_types():
    space = board("R: conflict(x=1) <- assignment(var=x, value=1)", 'S: conflict(x=2) <- assignment(var=x, value=one)')
    assert solve(space, over([1, "one", True], "x")).assignment == {"x": True}


def test_a_solution_of_an_agent_is_an_agents_claim():
    space = board()
    solve(space, over(["a"], "x"))
    assert space.nodes["__solve_x"].created_by == "agent" and not space.nodes["__solve_x"].is_trusted


def test_a_second_solution_replaces_the_first_and_what_rests_on_it():
    space = board("allowed(v=b)", "R: conflict(v=?v) <- assignment(var=x, value=?v), naf allowed(v=?v)")
    solve(space, over(["a", "b"], "x"))
    tell(space, {"op": "record_result", "id": "RS", "label": "x is b", "evidenceRefs": ["__solve_x"]})
    tell(space, "allowed(v=a)")
    found = solve(space, over(["a", "b"], "x"))
    assert found.assignment == {"x": "a"} and set(found.replaced) == {"__solve_x", "RS"}
    assert "assignment(value=a, var=x)[a]" in facts(space) and "assignment(value=b, var=x)[a]" not in facts(space)


def test_an_entry_that_is_no_committed_value_keeps_its_id():
    space = board("__solve_x = other(n=1)")
    before = everything(space)
    with pytest.raises(Refused) as refused:
        solve(space, over(["a"], "x"))
    assert refused.value.code == "NODE_ID_TAKEN" and everything(space) == before


def test_other_variables_stay_when_one_is_solved_again():
    space = board(DIFFERENT, "edge(a=x, b=y)")
    solve(space, over([1, 2], "x", "y"))
    assert solve(space, over([1, 2], "y")).assignment == {"y": 2}
    assert facts(space).count("assignment(value=1, var=x)[a]") == 1


def test_a_ledgers_or_baselines_fact_is_not_replaced():
    space = board()
    tell(space, "__solve_x = acceptance(var=x, value=a, node=n)", "M = committed_acceptance(node=n)", options=TRUSTED)
    with pytest.raises(Refused) as refused:
        solve(space, over(["b"], "x"), assign="acceptance")
    assert refused.value.code == "BASELINE_PROTECTED"


def test_a_stated_conflict_is_no_derived_one():
    assert solve(board("conflict(x=1)"), over(["a"], "x"), commit=False).sat
    assert not solve(board("p(x=1)", "R: conflict(x=?x) <- p(x=?x)"), [], commit=False).sat


def test_the_budget_ends_a_search_and_leaves_it_open():
    space = board("R: conflict(v=?v) <- assignment(var=?n, value=?v)")
    found = solve(space, over(range(50), "x"), nodes_max=10)
    assert (found.sat, found.reason, found.nodes, found.committed) == (False, "budget", 10, False)


def test_join_steps_are_part_of_the_budget(monkeypatch):
    monkeypatch.setattr(solver, "SEARCH_WORK_MAX", 5_000)
    many = [f"a(x={n})" for n in range(60)]
    space = board(*many, "R: w(x=?x, y=?y) <- assignment(var=?n, value=?v), a(x=?x), a(x=?y)", "S: conflict(v=1) <- w(x=1, y=1)")
    assert solve(space, over(range(50), "x")).reason == "budget"


def test_a_refused_attempt_refuses_the_search():
    space = board("R: t(s=?s) <- assignment(var=x, value=?v), concat(left=a, right=?v, result=?s)")
    before = everything(space)
    with pytest.raises(Refused) as refused:
        solve(space, over([1.5, "a"], "x"))
    assert refused.value.code == "CONCAT_OPERAND" and everything(space) == before


def test_as_many_variables_as_are_allowed_are_solved():
    names = [f"v{n}" for n in range(SOLVE_VARIABLES_MAX)]
    assert solve(board(), over(["a"], *names)).nodes == SOLVE_VARIABLES_MAX


@pytest.mark.parametrize("variables, code", [
    ("x", "SOLVE_SHAPE"), ([{"name": "x"}], "SOLVE_SHAPE"), ([{"domain": [1]}], "SOLVE_EMPTY_NAME"), ([{"name": "x", "domain": [1]}] * 2, "SOLVE_DUPLICATE_VARIABLE"),
    ([{"name": 1, "domain": [1]}], "SOLVE_SHAPE"),
    ([{"name": "x", "domain": [None]}], "ATOM_INVALID"), ([{"name": "x", "domain": ["?v"]}], "SOLVE_SHAPE"),
    ([{"name": "x", "domain": [2**53]}], "number_out_of_range"),
    ([{"name": f"v{n}", "domain": [1]} for n in range(SOLVE_VARIABLES_MAX + 1)], "resource_limit"),
])
def test_what_is_no_problem_is_refused(variables, code):
    with pytest.raises(Refused) as refused:
        solve(board(), variables)
    assert refused.value.code == code


@pytest.mark.parametrize("options, code", [({"assign": "add"}, "BUILTIN_RESERVED"), ({"conflict": ""}, "SOLVE_SHAPE"), ({"nodes_max": 0}, "SOLVE_SHAPE"), ({"nodes_max": True}, "SOLVE_SHAPE")])
def test_what_cannot_be_asked_for_is_refused(options, code):
    with pytest.raises(Refused) as refused:
        solve(board(), over([1], "x"), **options)
    assert refused.value.code == code


# --- certificates ------------------------------------------------------------------------


def test_a_claimed_plan_is_rehearsed():
    space = board("a(x=1)", "A! a(x=?x) => b(x=?x)", "G? b(x=1)")
    assert solver.verify_certificate(space, {"kind": "plan", "actionNodeIds": ["A"]}).verified
    assert not solver.verify_certificate(space, {"kind": "plan", "actionNodeIds": []}).verified
    assert "cannot run" in solver.verify_certificate(space, {"kind": "plan", "actionNodeIds": ["X"]}).why


def test_a_claimed_assignment_stands_in_the_place_of_the_committed_one():
    space = board(DIFFERENT, "edge(a=x, b=y)")
    solve(space, over([1, 2], "x", "y"))
    claim = [{"predicate": "assignment", "args": {"var": "x", "value": 2}}, {"predicate": "assignment", "args": {"var": "y", "value": 1}}]
    before = everything(space)
    assert solver.verify_certificate(space, {"kind": "assignment", "facts": claim}).verified
    claim[1]["args"]["value"] = 2
    found = solver.verify_certificate(space, {"kind": "assignment", "facts": claim})
    assert not found.verified and found.why.startswith("conflict(") and everything(space) == before


@pytest.mark.parametrize("certificate", [None, {}, {"kind": "other"}, {"kind": "assignment"}, {"kind": "assignment", "facts": "x"}])
def test_what_is_no_certificate_is_refused(certificate):
    with pytest.raises(Refused) as refused:
        solver.verify_certificate(board(), certificate)
    assert refused.value.code == "CERTIFICATE_INVALID"


def test_a_trusted_host_commits_what_a_model_may_not():
    space = board()
    assert solve(space, over(["pass"], "x"), assign="test_result", options=BatchOptions("system", "system", attested=frozenset({"test_result"}))).committed
