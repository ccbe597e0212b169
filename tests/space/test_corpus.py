"""Every recorded program, batch by batch: what a Space answers is what was recorded.

Duty: the board corpus, levels *required* and *expected*; `ops-wrapped-shape` and
`wire-labels` are accepted. Scenarios that also call tools are played by
test_corpus_calls.py.
"""

from __future__ import annotations

import pytest

from tests.space.comparing import expected, required, retracted
from tests.space.corpus import FILES, Player, is_batches_only, scenarios

PURE = [pytest.param(scenario, id=scenario["id"]) for _, scenario in scenarios() if is_batches_only(scenario)]


def play(scenario):
    """All differences at the levels required and expected, as (step, difference)."""
    player, found = Player(scenario), []
    for number, (batch, wanted) in enumerate(zip(scenario["batches"], scenario["expect"]["steps"])):
        step = player.batch(batch)
        if step["status"] != wanted["status"]:
            return [*found, (number, "status", wanted["status"], step)]
        if wanted["status"] == "rejected" and step["error"]["label"] != wanted["error"]["label"]:
            found.append((number, "label", wanted["error"]["label"], step["error"]))
        found += [(number, *difference) for difference in retracted(step, wanted)]
        if "state" in wanted:
            state = player.state()
            found += [(number, *difference) for difference in required(state, wanted["state"]) + expected(state, wanted["state"])]
    state = player.state()
    return found + [("final", *difference) for difference in required(state, scenario["expect"]["final"]) + expected(state, scenario["expect"]["final"])]


@pytest.mark.parametrize("scenario", PURE)
def test_a_recorded_program_gives_what_was_recorded(scenario):
    assert play(scenario) == []


def test_the_corpus_is_whole():
    """Nothing was left out of the copy, and none is skipped."""
    assert len(list(FILES.glob("*.json"))) == 28
    assert sum(1 for _ in scenarios()) == 300
