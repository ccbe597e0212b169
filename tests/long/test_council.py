"""Fifty agents that wait for the council for ten minutes, a burst that wakes them, and an agent that is revoked: `.ci/run --long council`. Skipped otherwise.

Writes docs/evidence/council.json: what waiting costs, wake latencies by kind of waiting, runs of a burst, how long a revoked agent and a killed
council leave anything, commit, load of the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys

import pytest

from rulith.base.clock import SystemClock, stamp
from tests.conftest import ROOT
from tests.forum.test_many_waiting import KINDS, Many, play
from tests.forum.test_whole_chain import Chain, Held

AGENTS, REPLIES, BURST, WRITERS = 50, 100, 100, 10
RECORDED_S = 600.0               # a shorter wait is a try and leaves no record
BAR_P99_MS, BAR_LEFT_S = 1_000.0, 2.0
SETTLE_S = 2.0                   # a watcher gathers no longer: what is written over a longer time is more than one burst
STORY_S = 3_000.0


def spread(rows: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(rows, n=100)
    return {"count": len(rows), "p50": round(cuts[49], 2), "p99": round(cuts[98], 2), "max": round(max(rows), 2)}


async def waits(many: Many, quiet_s: float) -> dict:
    """Nobody says anything for so long, then one reply after another."""
    thread = await many.asks(list(range(many.agents)))
    await many.wait_all()
    many.proxy.begin()
    disk, busy_s = many.disk_bytes(), many.busy_s()
    await asyncio.sleep(quiet_s)
    many.check()
    found = {"agents": many.agents, "seconds": quiet_s, "requests": len(many.proxy.requests()), "connections opened": many.proxy.opened,
             "pings and pongs of clients": many.proxy.signs(), "bytes heard": many.proxy.heard_bytes, "disk growth bytes": many.disk_bytes() - disk,
             "processor seconds of the council": round(many.busy_s() - busy_s, 2)}
    latencies = await many.wake_latencies(thread, REPLIES)
    found["wake latency ms"] = {kind: spread(latencies[kind]) for kind in KINDS} | {"all": spread([each for rows in latencies.values() for each in rows])}
    await many.let_go()
    await many.does("resolve_thread", thread_id=thread, summary="Enough.")
    return found


async def bursts(many: Many) -> dict:
    """A burst of replies in one thread, then the same by requests of their own."""
    concerned = list(range(many.agents - 10))
    thread = await many.asks(concerned)
    await many.watch_all()
    await many.calm(len(concerned))
    found = {}
    for name in ("in ten requests", "in a hundred requests"):
        many.runs.clear()
        began_s = many.clock.monotonic_s()
        if name == "in ten requests":
            await many.burst(thread, WRITERS, BURST)
        else:
            await asyncio.gather(*(many.does("reply", thread_id=thread, body=f"{each}") for each in range(BURST)))
        took_s = many.clock.monotonic_s() - began_s
        await many.calm(len(concerned))
        counts = sorted(many.runs.values())
        found[name] = {"replies": BURST, "seconds": round(took_s, 2), "agents concerned": len(concerned), "agents woken": len(many.runs), "most runs of one": counts[-1],
                       "others woken": len(set(many.runs) - set(concerned))}
    return found


async def left_s(chain: Chain, how: str) -> dict:
    """Seconds until an agent's poll, stream and socket are cut, and until none of its processes runs."""
    clock = SystemClock()
    await chain.does("set_agent_awake", id=chain.ids["ann"], awake=True)
    await chain.program("bob").says("create_thread", title="STAY with it", body="@ann", tag="FYI", room="general")
    await chain.told()
    await chain.state("running")
    async with Held(chain) as held:
        began_s = clock.monotonic_s()
        if how == "revoked":
            await chain.does("set_agent_revoked", id=chain.ids["ann"])
        else:
            os.kill(chain.role.pid, signal.SIGKILL)
        await held.are_cut()
        cut_s = clock.monotonic_s() - began_s
        await chain.only_council_left()
        return {"cut after s": round(cut_s, 3), "no process after s": round(clock.monotonic_s() - began_s, 3)}


@pytest.mark.timeout(3_600)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes and processor time as Linux tells them")
def test_fifty_agents_wait_and_a_burst_wakes_each_once(request: pytest.FixtureRequest, tmp_path) -> None:
    quiet_s = request.config.getoption("--waiting")
    if quiet_s is None:
        pytest.skip("runs with `.ci/run --long council`")
    clock = SystemClock()
    began_s, load = clock.wall_s(), os.getloadavg()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    record: dict = {"name": "council", "commit": commit, "at": stamp(began_s), "load at the start": [round(each, 2) for each in load],
                    "nice": os.nice(0)}

    async def wait(many: Many) -> None:
        record["waiting"] = await waits(many, quiet_s)

    async def burst(many: Many) -> None:
        record["burst"] = await bursts(many)

    async def leave(how: str) -> None:
        chain = Chain(tmp_path / how.replace(" ", "-"))
        chain.folder.mkdir()
        try:
            await chain.made()
            record.setdefault("left", {})[how] = await left_s(chain, how)
        finally:
            if chain.role.is_running():
                await chain.role.stop()
            else:
                await chain.role.wait()

    async def run() -> None:
        for how in ("revoked", "council killed"):
            await leave(how)
        for name, story in (("waiting", wait), ("burst", burst)):
            (tmp_path / name).mkdir()
            await play(tmp_path / name, AGENTS, story)
    asyncio.run(asyncio.wait_for(run(), STORY_S))
    record["seconds"] = round(clock.wall_s() - began_s)
    if quiet_s >= RECORDED_S:
        (ROOT / "docs" / "evidence" / "council.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(json.dumps(record, indent=1))
    waiting = record["waiting"]
    assert (waiting["requests"], waiting["connections opened"], waiting["disk growth bytes"]) == (0, 0, 0), waiting
    assert waiting["wake latency ms"]["all"]["p99"] <= BAR_P99_MS
    for each in record["burst"].values():
        assert each["agents woken"] == each["agents concerned"] and not each["others woken"]
        assert each["most runs of one"] <= 1 + each["seconds"] // SETTLE_S, each
    assert min(each["most runs of one"] for each in record["burst"].values()) == 1
    assert all(each["no process after s"] <= BAR_LEFT_S for each in record["left"].values())
