"""The Worker hop under faults, whole: run by `.ci/run --long worker`.

Every fault at every message of the job, then pairs of faults at random, then a Worker over a
drop box killed between every two of its durable steps. Writes docs/evidence/worker.json.
Skipped, with the command to run it, wherever `--hop-pairs` is not given.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.conftest import ROOT
from tests.gateway.hop_world import FAULTS, play_plan, seed_home
from tests.product.carried_kills import kill_at_each_step


RECORD = ROOT / "docs" / "evidence" / "worker.json"


@pytest.mark.timeout(5400)
def test_every_fault_at_every_message_and_pairs_of_them(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pairs = request.config.getoption("--hop-pairs")
    if not pairs:
        pytest.skip("a quarter of an hour: .ci/run --long worker")
    seed, began_s = request.config.getoption("--hop-seed"), SystemClock().wall_s()
    hop_home = seed_home(tmp_path / "seeded")
    quiet = play_plan({}, hop_home, tmp_path / "home")
    plans = [{number: fault} for fault in FAULTS for number in range(1, quiet.messages + 1)]
    dice = random.Random(seed)
    for _ in range(pairs):
        first, second = sorted(dice.sample(range(1, quiet.messages + 8), 2))
        plans.append({first: dice.choice(FAULTS), second: dice.choice(FAULTS)})
    failures, ends, met, executions = [], Counter(), 0, 0
    for plan in plans:
        world = play_plan(plan, hop_home, tmp_path / "home")
        met += len(world.met)
        executions += len(world.log)
        ends.update(each.state for each in world.operations())
        failures += [{"plan": {str(place): fault for place, fault in plan.items()}, "problem": problem} for problem in world.problems()]
    _keep("link", began_s, {"seed": seed, "messages": quiet.messages, "faults": len(FAULTS), "stories": len(plans), "faultsMet": met,
                            "executions": executions, "calls": dict(sorted(ends.items())), "failures": failures})
    assert not failures, failures[:5]


@pytest.mark.timeout(5400)
def test_a_kill_between_every_two_steps_of_a_drop_box_worker(product, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--hop-pairs"):
        pytest.skip("ten minutes: .ci/run --long worker")
    began_s = SystemClock().wall_s()
    kills = kill_at_each_step(product, tmp_path / "kills")
    _keep("dropBox", began_s, {"steps": kills.steps, "kills": kills.hits, "notReached": kills.not_reached, "places": dict(sorted(kills.places.items())),
                               "ends": dict(sorted(kills.ends.items())), "failures": kills.failures})
    assert not kills.failures, kills.failures[:5]
    assert kills.hits >= 0.7 * kills.steps, "most places are passed as often in every job"


def _keep(part: str, began_s: float, found: dict) -> None:
    """Put one part of the record in its place; the other stays as it was made."""
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"name": "worker"}
    record[part] = {"commit": _commit(), "at": stamp(began_s), "seconds": round(SystemClock().wall_s() - began_s), **found}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
