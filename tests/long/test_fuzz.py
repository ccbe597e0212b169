"""Odd inputs from a seed for whatever reads what others wrote: no traceback, no 500, no hang, no growth. A few hundred
of each family in the normal run; `.ci/run --long fuzz` plays 100,000.

Duty: issue "The authority, complete", done when 5. Each input is known by family, seed and index:
`python -m tests.fuzz.running FAMILY SEED INDEX` plays one again. A run of 100,000 writes
docs/evidence/fuzz.json: by family the seed, counts, seconds, slowest input, growth, failures, commit;
`--fuzz-families A,B` runs some of them again.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.fuzz.families import FAMILIES, SAMPLED, SHORT
from tests.fuzz.running import BUDGET_S, GROWTH_BYTES_MAX, run

ROOT = Path(__file__).resolve().parents[2]
RECORDED = 100_000           # inputs of each family; fewer are a try and leave no record


@pytest.mark.parametrize("name", FAMILIES)
def test_odd_inputs_are_taken_or_refused(name: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--inputs"):
        pytest.skip("the long form plays them")
    told = run(FAMILIES[name](), request.config.getoption("--fuzz-seed"), SHORT[name], say=print)
    assert not told["failures"], told["failures"][:3]
    assert told["accepted"] and told["refused"], told          # both ways came up


@pytest.mark.timeout(12 * 3600)
def test_a_hundred_thousand_of_each(request: pytest.FixtureRequest) -> None:
    asked, seed = (request.config.getoption(name) for name in ("--inputs", "--fuzz-seed"))
    if not asked:
        pytest.skip("an hour or two: .ci/run --long fuzz")
    only = request.config.getoption("--fuzz-families")
    names = only.split(",") if only else list(FAMILIES)
    clock = SystemClock()
    began_s, commit = clock.wall_s(), _commit()
    jobs = sorted(((name, seed, max(1, asked // SAMPLED.get(name, 1))) for name in names), key=lambda job: SHORT[job[0]])   # the slow ones first
    found = {}
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(play, *job) for job in jobs]):
            name, told = done.result()
            found[name] = told
            if asked >= RECORDED:
                _record(name, {**told, "failures": told["failures"][:5], "seed": seed, "commit": commit, "at": stamp(began_s)})
    failures = [failure for told in found.values() for failure in told["failures"]]
    assert not failures, failures[:3]
    assert all(told["accepted"] and told["refused"] for told in found.values()), found


def _record(done: str, row: dict) -> None:
    """Each family's newest whole run; one that ran again by itself replaces its own row."""
    place = ROOT / "docs" / "evidence" / "fuzz.json"
    kept = json.loads(place.read_text("utf-8"))["families"] if place.exists() else {}
    kept[done] = row
    families = {name: kept[name] for name in FAMILIES if name in kept}
    record = {"name": "fuzz", "budgetMs": round(BUDGET_S * 1000), "growthBytesMax": GROWTH_BYTES_MAX,
              "inputs": sum(row["inputs"] for row in families.values()), "seconds": round(sum(row["seconds"] for row in families.values())),
              "failed": sum(row["failed"] for row in families.values()), "families": families}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def play(name: str, seed: int, count: int) -> tuple[str, dict]:
    told = run(FAMILIES[name](), seed, count, say=lambda line: print(line, flush=True))
    print(f"{name}: {json.dumps({key: value for key, value in told.items() if key != 'failures'})}", flush=True)
    return name, told


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
