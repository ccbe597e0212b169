"""The one-connection simulator: an Agent and a gateway under seeded faults, on time that waits for nobody.

Each seed: two conversations of one Agent do a job each over one connection that loses, cuts,
doubles, delays and garbles, beside a gateway that crashes and an Agent that is killed or
replaced. Afterwards each effect took place at most once, every job has ended, each proposed
call was sent at most once, and each model was told what became of every call of its own.

Source  our decision (style, "Faults on purpose"); the laws of the README.
"""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from rulith.base.clock import ManualClock
from rulith.disk.home import Home
from rulith.gateway.service import open_gateway
from tests.simulator.virtual import run_virtual
from tests.simulator.world import SETTINGS, Simulation

SEEDS, AT_ONCE = 120, 10         # `.ci/run --long connection` plays thousands
MUTANT_SEEDS = 60               # tried at most for a program that lacks a repair


@pytest.fixture(scope="session")
def seeded_home(tmp_path_factory):
    """A home that one gateway has seeded; each seed works on a copy."""
    home = Home(tmp_path_factory.mktemp("simulator") / "home")
    home.prepare()
    home.gateway_settings.write_text(json.dumps(SETTINGS))

    async def made():
        gateway = open_gateway(home, ManualClock(), {})
        await gateway.close()

    asyncio.run(made())
    return home.path


def simulate(seed: int, seeded, folder) -> Simulation:
    shutil.copytree(seeded, folder, copy_function=shutil.copy)

    async def story(clock):
        simulation = Simulation(seed, Home(folder), clock)
        try:
            await simulation.run()
        finally:
            await simulation.rig.gateway.close()
        return simulation

    try:
        return run_virtual(story, within_s=100_000.0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_at_most_one_effect_a_terminal_state_and_no_lost_outcome(first, seeded_home, tmp_path):
    broken = []
    for seed in range(first, first + AT_ONCE):
        simulation = simulate(seed, seeded_home, tmp_path / "home")
        broken += [f"seed {seed}: {problem}" for problem in simulation.problems()]
    assert not broken, "\n".join(broken)


# --- the simulator sees what it is there to see


async def _sent_again(self, tool, loss, ordinal):
    """A client that repeats what it got no answer to."""
    await self.reopen()
    return await self.call(tool, self.again)


# What is left out, words of what is then found, and seeds that found it when this was written: tried first, to be quick.
MUTANTS = [
    ("a lost call is sent again", "times and sent", (0, 3, 6)),
    ("no outcome holds a write back", "never", (29, 30, 50)),
    ("a conversation does not hear what another was shown", "never", (20, 29, 38)),
    ("a killed process leaves nothing to the next", "never told", (30, 56, 89)),
]


@pytest.mark.parametrize("name, words, quick", MUTANTS, ids=[row[0] for row in MUTANTS])
def test_a_program_with_one_repair_less_is_found(name, words, quick, seeded_home, tmp_path, monkeypatch):
    from rulith.runtime.session import BoardSession
    from rulith.runtime.unread import OutcomeBook, UnreadOutcomes

    if name == "a lost call is sent again":
        real = BoardSession.call

        async def call(self, tool, arguments, **more):
            self.again = arguments
            return await real(self, tool, arguments, **more)

        monkeypatch.setattr(BoardSession, "call", call)
        monkeypatch.setattr(BoardSession, "_after_loss", _sent_again)
    elif name == "no outcome holds a write back":
        monkeypatch.setattr(UnreadOutcomes, "gate", lambda self, read=None: None)
        monkeypatch.setattr("rulith.runtime.unread.spliced", lambda answer, waiting: answer)
    elif name == "a conversation does not hear what another was shown":
        monkeypatch.setattr(OutcomeBook, "overhear", lambda self, *more: None)
    else:
        monkeypatch.setattr(UnreadOutcomes, "restore", lambda self, rows: None)
    found = []
    for seed in (*quick, *range(MUTANT_SEEDS)):
        found += simulate(seed, seeded_home, tmp_path / "home").problems()
        if any(words in problem for problem in found):
            return
    raise AssertionError(f"{name}: not found; {found}")
