"""The recorded programs: reading them, and feeding them to a Space. comparing.py judges what comes out."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from rulith.base.errors import Refused
from rulith.board.space import outcome
from rulith.board.space.gates import read_contracts
from rulith.board.space.nodes import BatchOptions
from rulith.board.space.space import Space
from rulith.rules.program import Limits

FILES = Path(__file__).resolve().parent.parent / "corpus" / "board"
AT = "2026-01-01T00:00:00.000Z"


def scenarios():
    for path in sorted(FILES.glob("*.json")):
        for scenario in json.loads(path.read_text("utf-8")):
            yield path.stem, scenario


def is_batches_only(scenario):
    return all("operations" in batch for batch in scenario["batches"])


def minting():
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}#{next(numbers)}"


def options_of(batch):
    given = batch.get("options")
    if given is None:
        return BatchOptions()
    return BatchOptions(
        given.get("source"), given.get("createdBy", "agent"), given.get("trustTier"),
        frozenset(given.get("attestedPredicates", ())), read_contracts(given.get("attestedDerivations", ())))


def space_for(scenario):
    rounds = scenario.get("limits", {}).get("max_closure_iterations")
    return Space("corpus", scenario["id"], limits=Limits(rounds=rounds) if rounds else Limits(), at=AT)


class Player:
    """One scenario on one Space."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.space = space_for(scenario)
        self.mint = minting()

    def batch(self, batch):
        """The step outcome of an operations batch, without its state."""
        try:
            return outcome.accepted(self.space.apply(batch["operations"], options_of(batch), at=AT, mint=self.mint))
        except Refused as refused:
            return outcome.rejected(refused)

    def state(self):
        return outcome.state(self.space)
