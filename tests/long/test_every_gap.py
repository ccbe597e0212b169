"""Every gap of the verified calculation, every role, both ends: run by `.ci/run --long kills`.

Writes docs/evidence/kills.json: seed, counts, duration, failures, commit. Skipped, with
the command to run it, wherever `--every-gap` is not given.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.product.every_gap import ROLES, ROOT, histogram, measure, run_trials


@pytest.mark.timeout(5400)
def test_every_gap_hit_leaves_one_write_or_a_question(product, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--every-gap"):
        pytest.skip("a quarter of an hour: .ci/run --long kills")
    seed = request.config.getoption("--gap-seed")
    clock = SystemClock()
    began_s = clock.wall_s()
    job = measure(product.pyz, tmp_path)
    for role in ROLES:                 # every gap between the first and the last in which it lives
        assert job.gaps(role) == list(range(job.gaps(role)[0], job.gaps(role)[-1] + 1)), f"a gap without the {role}"
    plans = [(role, *place) for role in ROLES for place in job.alive[role]]
    plans += [("worker-step", step, "") for step in range(1, job.worker_steps + 1)]
    random.Random(seed).shuffle(plans)
    trials = run_trials(product.pyz, tmp_path, plans)
    print(histogram(sorted(trials, key=lambda trial: trial.role)))
    failures = [{"trial": str(trial), "problems": trial.problems or ["nothing was killed"]}
                for trial in trials if trial.problems or not trial.hit]
    record = {
        "name": "kills", "seed": seed, "commit": _commit(), "at": stamp(began_s), "seconds": round(clock.wall_s() - began_s),
        "commits": job.commits, "workerSteps": job.worker_steps, "trials": len(trials), "hits": sum(trial.hit for trial in trials),
        "completed": sum(trial.outcome == "completed" for trial in trials),
        "needsPerson": sum(trial.outcome == "needs a person" for trial in trials),
        "histogram": histogram(sorted(trials, key=lambda trial: trial.role)).splitlines(), "failures": failures,
    }
    place = ROOT / "docs" / "evidence" / "kills.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    assert not failures, failures


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
