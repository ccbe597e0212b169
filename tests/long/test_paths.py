"""Nothing outside a Source's folder is read, told or changed while links, folders, files and pipes change places below it.

Duty: issue "The Worker, complete", built-ins; design §7. A short race in the normal run; `.ci/run --long paths` plays 100,000
swaps, in ten worlds from ten seeds, and writes docs/evidence/paths.json. A reader without fences runs beside the Tools: its
escapes say that the race was on.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rulith.adapters import beneath
from rulith.base.clock import SystemClock, stamp
from tests.adapters.racing import Race, escape_of, snapshot, unfenced
from tests.adapters.swapping import Swapper
from tests.conftest import ROOT

WORLDS = 10
SHORT_SWAPS = 3_000
RECORDED = 100_000

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the swaps of this race are Linux's, and links need a right on Windows")


def clean(told: dict) -> None:
    assert not told["escapes"], told["escapes"][:3]
    assert not told["leftBehind"] and not told["handlesLeft"], told
    assert all(each.get("executed") for each in told["outcomes"].values()), told["outcomes"]
    assert any(each.get("failed") for each in told["outcomes"].values()), told["outcomes"]


def test_a_short_race_lets_nothing_out(tmp_path: Path) -> None:
    clean(Race(tmp_path, 20261201, SHORT_SWAPS).run())


@pytest.mark.parametrize(("kind", "path"), [("folder and absolute link", "sub/a.txt"), ("file and link", "sub/a.txt"), ("root and link", "a.txt")])
def test_a_walk_that_follows_links_is_caught_by_this_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, path: str) -> None:
    """The harness has teeth: the same calls without the fence tell what lies outside, in a world that was swapped once."""
    race = Race(tmp_path, 1, 0)
    assert dict(Swapper(tmp_path, 1).deeds())[kind]()
    told = [(name, asyncio.run(look.run())) for name, look in race.looks]
    assert not any(escape_of(name, outcome) for name, outcome in told)
    outside = snapshot(tmp_path / "outside")
    monkeypatch.setattr(beneath, "_PASS", beneath._PASS & ~os.O_NOFOLLOW)
    monkeypatch.setattr(beneath, "_NO_FOLLOW", 0)
    told = [(name, asyncio.run(look.run())) for name, look in race.looks]
    assert any(escape_of(name, outcome) for name, outcome in told) and not unfenced(tmp_path, path)
    if kind != "file and link":
        assert snapshot(tmp_path / "outside") != outside


@pytest.mark.timeout(3600)
def test_a_hundred_thousand_swaps_let_nothing_out(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    asked, seed = request.config.getoption("--swaps"), request.config.getoption("--swap-seed")
    if not asked:
        pytest.skip("some minutes: .ci/run --long paths")
    clock = SystemClock()
    began_s = clock.wall_s()
    worlds = []
    for number in range(WORLDS):
        worlds.append(Race(tmp_path / str(number), seed + number, asked // WORLDS).run())
        print(json.dumps({name: worlds[-1][name] for name in ("seed", "swaps", "calls", "unfencedEscapes", "slowestMs")}), flush=True)
    record = {"name": "paths", "seed": seed, "worlds": WORLDS, "commit": _commit(), "at": stamp(began_s), "seconds": round(clock.wall_s() - began_s),
              **_sums(worlds), "slowestMs": max(world["slowestMs"] for world in worlds)}
    if asked >= RECORDED:
        place = ROOT / "docs" / "evidence" / "paths.json"
        place.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(json.dumps(record, indent=1))
    for world in worlds:
        clean(world)
    assert all(each.get("failed") for each in record["outcomes"].values()), "both ways came up for every Tool"
    assert record["swaps"] >= asked and record["unfencedEscapes"], "the race was on: a reader without fences was led outside"


def _sums(worlds: list[dict]) -> dict:
    by_swap: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = {}
    for world in worlds:
        by_swap.update(world["bySwap"])
        for name, told in world["outcomes"].items():
            outcomes.setdefault(name, Counter()).update(told)
    return {"swaps": sum(by_swap.values()), "bySwap": dict(sorted(by_swap.items())), "calls": sum(world["calls"] for world in worlds),
            "outcomes": {name: dict(told) for name, told in outcomes.items()}, "escapes": [each for world in worlds for each in world["escapes"]][:20],
            "unfencedEscapes": sum(world["unfencedEscapes"] for world in worlds),
            "leftBehind": sum(len(world["leftBehind"]) for world in worlds), "handlesLeft": sum(world["handlesLeft"] for world in worlds)}


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
