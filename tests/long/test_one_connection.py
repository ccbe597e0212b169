"""The one-connection simulator over thousands of seeds: `.ci/run --long connection`. Skipped otherwise.

Writes docs/evidence/connection.json: seeds, what they met, failures with their seed, commit. One
seed again: `simulate(SEED, …)` of tests/simulator/test_one_connection.py.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.conftest import ROOT
from tests.simulator.test_one_connection import seeded_home, simulate  # noqa: F401  a fixture

RECORDED = 1_000                 # fewer seeds are a try and leave no record


@pytest.mark.timeout(6 * 3600)
def test_no_outcome_is_lost_over_thousands_of_seeds(request: pytest.FixtureRequest, seeded_home, tmp_path) -> None:  # noqa: F811
    asked, first = (request.config.getoption(name) for name in ("--connections", "--connection-seed"))
    if not asked:
        pytest.skip("runs with `.ci/run --long connection`")
    clock = SystemClock()
    began_s = clock.wall_s()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    met: Counter = Counter()
    failures = []
    for seed in range(first, first + asked):
        try:
            simulation = simulate(seed, seeded_home, tmp_path / "home")
        except AssertionError as problem:
            failures.append({"seed": seed, "problem": str(problem)[:500]})
            continue
        failures += [{"seed": seed, "problem": problem} for problem in simulation.problems()]
        met.update(fault for fault in simulation.link.met if fault)
        met.update({"exchanges": len(simulation.link.met), "calls": len(simulation.link.sent), "gateway crashes": simulation.rig.crashes,
                    "programs": simulation.processes, "effects": sum(simulation.worker.ran.values())})
    record = {"name": "connection", "commit": commit, "at": stamp(began_s), "seconds": round(clock.wall_s() - began_s), "firstSeed": first,
              "seeds": asked, "met": dict(sorted(met.items())), "failures": failures}
    if asked >= RECORDED:
        (ROOT / "docs" / "evidence" / "connection.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(json.dumps(record))
    assert not failures, failures[:3]
