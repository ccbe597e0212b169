"""Every recorded program that calls tools, step by step: what a Space answers is what was recorded.

Duty: the board corpus, levels *required* and *expected*; `hasNote` and `solve.nodes` are
*advisory* there and agree as well.
"""

from __future__ import annotations

import pytest

from rulith.board.space.calls import Calls
from tests.space.comparing import expected, required, retracted, same, unmatched
from tests.space.corpus import AT, Player, is_batches_only, scenarios

CALLING = [pytest.param(scenario, id=scenario["id"]) for _, scenario in scenarios() if not is_batches_only(scenario)]
#  parts of results that are sets, by call; everything else is in order
SETS = {
    "simulate_action": ("wouldAssert", "wouldDelete", "newDerived", "lostDerived", "contradictions", "unsatisfied"),
    "apply_action": ("produced", "consumed", "unsatisfied"),
    "compile": ("derived",), "compile_action": ("added", "removed"), "compile_sql": ("baseTables",),
    "diff_since_mark": ("added", "changed", "removed"),
}


def differences(call, wanted, got):
    """What differs between two results."""
    if isinstance(wanted, list) or call in ("graph", "trust_inversions"):
        return [("result", *difference)] if (difference := unmatched(wanted, got)) else []
    found = []
    for name in {**wanted, **got}:
        one, other = wanted.get(name), got.get(name)
        if name == "state":
            found += required(other, one) + expected(other, one)
        elif name in SETS.get(call, ()) and one is not None and other is not None:
            if difference := unmatched(one, other):
                found.append((name, *difference))
        elif name == "steps":
            plain = [{key: value for key, value in step.items() if key != "problem"} for step in other]
            found += [] if same(one, plain) else [(name, one, other)]
        elif not same(one, other):
            found.append((name, one, other))
    return found


def play(scenario):
    player = Player(scenario)
    calls = Calls(player.space, at=AT, mint=player.mint)
    found = []
    for number, (batch, wanted) in enumerate(zip(scenario["batches"], scenario["expect"]["steps"])):
        step = player.batch(batch) if "operations" in batch else calls.outcome(batch["call"], batch.get("args"))
        if step["status"] != wanted["status"]:
            return [*found, (number, "status", wanted["status"], step)]
        if wanted["status"] == "rejected":
            if step["error"]["label"] != wanted["error"]["label"]:
                found.append((number, "label", wanted["error"]["label"], step["error"]))
        elif "call" in batch:
            found += [(number, *d) for d in differences(batch["call"], wanted.get("result", {}), step.get("result", {}))]
        found += [(number, *difference) for difference in retracted(step, wanted)]
        if "state" in wanted:
            state = player.state()
            found += [(number, *difference) for difference in required(state, wanted["state"]) + expected(state, wanted["state"])]
    state = player.state()
    return found + [("final", *d) for d in required(state, scenario["expect"]["final"]) + expected(state, scenario["expect"]["final"])]


@pytest.mark.parametrize("scenario", CALLING)
def test_a_recorded_program_with_calls_gives_what_was_recorded(scenario):
    assert play(scenario) == []
