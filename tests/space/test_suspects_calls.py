"""Scenarios about tools where an earlier kernel looked wrong: what this board does instead.

Duty: tests/corpus/board-suspects.json, `suspect.proposed`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from rulith.board.space.calls import Calls
from rulith.board.space.nodes import BatchOptions
from tests.space.corpus import AT, FILES, Player
from tests.space.short import facts
from tests.space.test_suspects import SCENARIOS


def played(name, options=BatchOptions()):
    """The board at the end and the outcome of every step."""
    player = Player(SCENARIOS[name])
    calls = Calls(player.space, options, at=AT, mint=player.mint)
    steps = [player.batch(batch) if "operations" in batch else calls.outcome(batch["call"], batch.get("args"))
             for batch in SCENARIOS[name]["batches"]]
    return player.space, steps


def test_an_effect_is_judged_after_all_effects():
    """sus-effect-over-derived: simulate and apply agree, and the product stands."""
    space, (_, simulated, applied) = played("sus-effect-over-derived")
    assert [a["predicate"] for a in simulated["result"]["wouldAssert"]] == ["q"]
    assert [a["predicate"] for a in applied["result"]["produced"]] == ["q"]
    assert facts(space) == ["q(x=1)[e]"]


def test_a_refused_application_leaves_the_board_as_it_was():
    """sus-apply-not-atomic: and the next batch is accepted."""
    space, steps = played("sus-apply-not-atomic")
    assert [step["status"] for step in steps] == ["accepted", "rejected", "accepted"]
    assert steps[1]["error"]["label"] == "CONCAT_OPERAND"
    assert facts(space) == ["go(x=1)[a]", "other(x=1)[a]"]


def test_a_product_stands_on_what_its_preconditions_stood_on():
    """sus-grounding-effect"""
    _, steps = played("sus-grounding-effect")
    assert [step["result"]["weakestTier"] for step in steps[2:]] == ["asserted", "asserted"]
    assert steps[3]["result"]["weakestPremises"] == ["F1"]


def test_a_hint_that_cannot_be_evaluated_refuses_nothing():
    """sus-hint-failure"""
    space, steps = played("sus-hint-failure")
    assert [step["status"] for step in steps] == ["accepted", "accepted"]
    assert facts(space) == ["p(v=1.5)[a]"]


def test_equal_bindings_are_one_candidate():
    """sus-candidates-duplicates"""
    _, steps = played("sus-candidates-duplicates")
    assert steps[-1]["result"]["candidates"] == 1


def test_the_solver_passes_the_attestation_gate():
    """sus-solve-attested"""
    space, steps = played("sus-solve-attested", BatchOptions(attested=frozenset({"test_result"})))
    assert [step["error"]["label"] for step in steps] == ["ATTESTED_PREDICATE", "ATTESTED_PREDICATE"]
    assert facts(space) == []


def test_the_solver_may_look_for_an_attested_value_without_committing_it():
    scenario = SCENARIOS["sus-solve-attested"]
    player = Player(scenario)
    calls = Calls(player.space, BatchOptions(attested=frozenset({"test_result"})), at=AT, mint=player.mint)
    assert calls.run("solve", {**scenario["batches"][1]["args"], "commit": False})["sat"]


def test_solving_again_replaces_the_earlier_solution():
    """sus-solve-rerun"""
    space, steps = played("sus-solve-rerun")
    assert [step["status"] for step in steps] == ["ok", "ok"]
    assert facts(space) == ["assignment(value=a, var=x)[a]"]


def test_a_finding_may_be_the_violation():
    """sus-solve-finding"""
    _, steps = played("sus-solve-finding")
    assert steps[-1]["result"] == {"sat": False, "reason": "unsat", "nodes": 1}


def test_plan_states_are_told_apart_by_type():
    """sus-plan-state-types"""
    _, steps = played("sus-plan-state-types")
    assert steps[1]["result"]["plan"] == ["A2", "A3"]


def test_a_compiled_goal_leaves_out_what_it_does_not_need():
    """sus-compile-goal"""
    _, steps = played("sus-compile-goal")
    assert sorted({predicate for predicate, _ in steps[-1]["result"]["derived"]}) == ["cand", "hot"]


def test_builtins_are_no_inputs():
    """sus-stages-builtins"""
    _, steps = played("sus-stages-builtins")
    assert steps[-1]["result"] == {"baseInputs": ["item", "rush"], "groups": [[1, ["cand"]], [2, ["hot"]]]}


def test_every_suspect_scenario_has_a_test():
    """The two files together name all of them."""
    told = "".join((FILES.parent.parent / "space" / name).read_text("utf-8") for name in ("test_suspects.py", "test_suspects_calls.py"))
    assert [name for name in SCENARIOS if name not in told] == []


@pytest.mark.parametrize("author, tier", [("agent", "asserted"), ("system", "attested")])
def test_a_product_without_premises_rests_on_its_author(author, tier):
    """Otherwise an action that asks for nothing would lift any claim to attested."""
    player = Player(SCENARIOS["sus-grounding-effect"])
    space = player.space
    options = replace(BatchOptions(), source="system" if author == "system" else "model", created_by=author)
    space.apply([{"op": "define_action", "id": "A", "action": "a", "effects": [{"predicate": "sure", "args": {"x": 1}}]}],
                options, at=AT, mint=player.mint)
    calls = Calls(space, at=AT, mint=player.mint)
    calls.run("apply_action", {"actionNodeId": "A"})
    found = calls.run("grounding", {"fact": {"predicate": "sure", "args": {"x": 1}}})
    assert (found["weakestTier"], found["weakestPremises"]) == (tier, ["A"])
