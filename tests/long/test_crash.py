"""Hundreds of deaths of a gateway under load, and power cuts: run by `.ci/run --long crash`.

Writes docs/evidence/crash.json: seed, counts, duration, failures, commit. Skipped, with the
command to run it, wherever `--kills` is not given.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.crash.cutting import cut, record
from tests.crash.killing import AGENTS, ROOT, WORKERS, kill_again_and_again

CUTS, RECORDS, RECORD_S = 1_000, 4, 6.0


@pytest.mark.timeout(4 * 3_600)
def test_five_hundred_deaths_repeat_no_effect_and_lose_no_answer(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kills, seed = request.config.getoption("--kills"), request.config.getoption("--kill-seed")
    if not kills:
        pytest.skip("an hour: .ci/run --long crash")
    clock, commit = SystemClock(), _commit()
    began_s = clock.wall_s()
    print(f"seed {seed}, {kills} kills")
    told = asyncio.run(kill_again_and_again(tmp_path, kills, seed))
    cuts, cut_failures = {"cuts": 0, "folded": 0, "diskOperations": 0, "acknowledgedCommits": 0}, []
    for number in range(RECORDS):
        folder = tmp_path / f"power-{number}"
        folder.mkdir()
        ops, before = asyncio.run(record(folder, RECORD_S, seed + number))
        found = cut(ops, before, folder, CUTS // RECORDS, seed + number)
        for name, value in zip(cuts, (found.cuts, found.folded, found.operations, found.commits)):
            cuts[name] += value
        cut_failures += found.failures
    record_ = {
        "name": "crash", "seed": seed, "commit": commit, "at": stamp(began_s), "seconds": round(clock.wall_s() - began_s),
        "agents": AGENTS, "workers": WORKERS, "kills": sum(told.kills.values()), "byVariant": dict(told.kills), "beforeItAnswered": told.early,
        "rows": told.rows, "requests": dict(told.asked), "effectsRun": told.ran, "receiptsAnswered": told.receipts,
        "liveComparedWithReplay": told.compared, "powerCuts": cuts, "failures": told.failures + cut_failures,
    }
    place = ROOT / "docs" / "evidence" / "crash.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(record_, indent=1) + "\n", "utf-8")
    print(json.dumps(record_, indent=1))
    assert not record_["failures"], record_["failures"]
    assert record_["kills"] == kills


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
