"""Ten thousand fuzzed turns with odd model services: `.ci/run --long quirks`. 300 of them run with the suite (tests/quirks).

Duty: issue "The Agent Runtime, complete", done when 2. Conversation n of a seed is always the
same. Writes docs/evidence/quirks.json: seed, commit, turns, how often each oddity came up,
outcomes, what was learned, effects, seconds, failures.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.quirks.faults import FAULTS
from tests.quirks.mutants import MUTANTS
from tests.quirks.running import Told, play

ROOT = Path(__file__).resolve().parents[2]
RECORDED = 10_000            # fewer are a try and leave no record
PART = 250                   # turns of one stretch, which another process may hold
SEEN_MIN = 10                # times that each oddity must have come up in a recorded run


@pytest.mark.timeout(4 * 3600)
def test_ten_thousand_turns_leave_every_conversation_alive(request: pytest.FixtureRequest) -> None:
    turns, seed = request.config.getoption("--turns"), request.config.getoption("--turn-seed")
    if not turns:
        pytest.skip("some minutes: .ci/run --long quirks")
    clock = SystemClock()
    began_s, began, commit = clock.monotonic_s(), stamp(clock.wall_s()), _commit()
    told, sizes = Told(), [min(PART, turns - done) for done in range(0, turns, PART)]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(part, seed, number, size) for number, size in enumerate(sizes)]):
            told.add(done.result())
            print(f"{told.turns} turns, {len(told.failures)} failures, {clock.monotonic_s() - began_s:.0f} s", flush=True)
    if turns >= RECORDED:
        _record(told, seed, commit, began, round(clock.monotonic_s() - began_s))
    assert not told.failures, told.failures[:5]
    rare = [name for name in (fault.strip() for fault in FAULTS) if told.faults[name] < SEEN_MIN]
    assert turns < RECORDED or not rare, f"hardly came up: {rare}"


def part(seed: int, number: int, turns: int) -> Told:
    """One stretch of conversations, in a process of its own."""
    return asyncio.run(play(seed, turns, first=number * 1_000))


def _record(told: Told, seed: int, commit: str, began: str, seconds: int) -> None:
    record = {
        "name": "quirks", "seed": seed, "commit": commit, "at": began, "seconds": seconds, "turns": told.turns, "requests": told.requests,
        "effects": told.effects, "oddities": len(told.faults), "mutants": len(MUTANTS), "failed": len(told.failures),
        "outcomes": dict(sorted(told.outcomes.items())), "learned": dict(sorted(told.learned.items())),
        "byOddity": dict(sorted(told.faults.items())), "failures": told.failures[:5]}
    place = ROOT / "docs" / "evidence" / "quirks.json"
    place.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
