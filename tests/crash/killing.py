"""The loop of the crash test: a gateway under load from Agents and Workers, killed at a random moment, again and again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.invariants import check
from tests.crash.load import GONE, Agent, Book, Worker

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("gateway_under_faults.py")
AGENTS, WORKERS, EXPLORERS = 8, 4, 2
START_S = 60.0
LOAD_S = 5.0
SETTINGS = {"leaseMs": 400, "heartbeatMs": 100, "holdMs": 1_500, "pollHoldMs": 120}
VARIANTS = ("plain", "clock", "disk", "clock and disk")


@dataclass
class Told:
    """What a run of kills found."""

    kills: Counter = field(default_factory=Counter)         # by variant
    early: int = 0                                          # killed before it answered
    rows: int = 0
    asked: Counter = field(default_factory=Counter)
    ran: int = 0
    receipts: int = 0
    compared: int = 0                                       # live strips and Boards held against a replay
    failures: list[str] = field(default_factory=list)


def make_home(folder: Path) -> tuple[Path, list[dict]]:
    home = folder / "home"
    made = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "gateway_home.py"), str(home), str(AGENTS)],
                          capture_output=True, text=True, check=True, timeout=300)
    (home / "gateway" / "settings.json").write_text(json.dumps(SETTINGS))
    return home, json.loads(made.stdout)


class Gateway:
    def __init__(self, home: Path, plan: dict, env: dict[str, str] | None = None) -> None:
        self.runfile = home / "run" / "gateway.json"
        self.runfile.unlink(missing_ok=True)
        self.log = open(home / "gateway.log", "wb")
        self.process = subprocess.Popen([sys.executable, str(PROGRAM), str(home), json.dumps(plan)], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        self.home = home

    async def port(self) -> int:
        """Where it listens. Raises RuntimeError with its last words where it does not come up."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                found = json.loads(self.runfile.read_bytes())
                if found["pid"] == self.process.pid:
                    return found["port"]
            except (OSError, ValueError):
                pass
            await asyncio.sleep(0.01)
        self.kill()
        raise RuntimeError(f"the gateway did not come up: {(self.home / 'gateway.log').read_bytes()[-600:]!r}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.log.close()

    def last_words(self) -> str:
        return (self.home / "gateway.log").read_text("utf-8", "replace")


async def compare(port: int, agents: list[Agent], wanted: dict) -> list[str]:
    """Live strips and Boards against what a replay of the ledger has."""
    problems = []
    for agent in agents:
        want, session = wanted[agent.id], []
        status, found = await agent.rpc(port, session, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"rulith/v3": {}}},
                                                                     "clientInfo": {"name": "crash", "version": "1"}})
        if status != 200:
            continue                                # commits fail just now; the next round looks again
        strip = found["result"]["_meta"]["rulith/v3"]["operations"] if "rulith/v3" in found["result"].get("_meta", {}) else None
        if strip is not None and [{name: row[name] for name in ("ordinal", "tool", "label", "state")} for row in strip] != want["strip"]:
            problems.append(f"the strip of {agent.id} is {strip} and a replay has {want['strip']}")
        if want["roots"]:
            answer = await agent.call(port, session, "QueryBoard", {"selector": {"roots": want["roots"]}, "include": ["nodes"]})
            if answer is not None and answer["view"]["nodes"] != want["nodes"]:
                problems.append(f"the Board of {agent.id} shows {len(answer['view']['nodes'])} nodes, a replay {len(want['nodes'])}, or others")
    return problems


async def one_kill(home: Path, agents: list[Agent], workers: list[Worker], book: Book, told: Told, variant: str, dice: random.Random,
                   wanted: dict | None) -> dict | None:
    """Start, load, kill, check. Returns what the next gateway must show."""
    plan = {"seed": dice.randrange(1 << 30), "clock": "clock" in variant, "disk": "disk" in variant}
    gateway = Gateway(home, plan)
    if dice.random() < 0.06:                        # in the middle of opening and folding
        await asyncio.sleep(dice.uniform(0.1, 1.2))
        gateway.kill()
        told.early += 1
    else:
        port = await gateway.port()
        try:
            if wanted is not None and variant == "plain":
                told.failures += await compare(port, agents, wanted)
                told.compared += 1
        except GONE as problem:
            told.failures.append(f"the gateway died by itself: {problem!r}")
        running = [asyncio.ensure_future(each.run(port)) for each in (*agents, *workers)]
        await _some_of(book, dice.randint(10, 120))
        await asyncio.sleep(dice.uniform(0, 0.03))
        gateway.kill()
        for problem in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(problem, BaseException):
                told.failures.append(f"a client could not read an answer: {problem!r}")
    if "Traceback" in gateway.last_words():
        told.failures.append(f"traceback: {gateway.last_words()[-1500:]}")
    told.kills[variant] += 1
    for worker in workers:
        if dice.random() < 0.2:
            worker.begin_anew()                     # the Worker died too, with all it knew
    problems, wanted = check(home / "gateway" / "ledger.db", book)
    told.failures += [f"kill {sum(told.kills.values())} ({variant}): {each}" for each in problems]
    return wanted


async def _some_of(book: Book, requests: int) -> None:
    """Return once so many more requests were made, or none comes through any more: a busy machine gets as much load as an idle one."""
    until, wanted = time.monotonic() + LOAD_S, sum(book.asked.values()) + requests
    while sum(book.asked.values()) < wanted and time.monotonic() < until:
        await asyncio.sleep(0.002)


async def kill_again_and_again(folder: Path, kills: int, seed: int, *, homes_of: int = 20) -> Told:
    """`kills` deaths on homes that live for `homes_of` of them each. The seed decides loads, moments and faults."""
    told, dice = Told(), random.Random(seed)
    while sum(told.kills.values()) < kills and len(told.failures) < 20:
        place = folder / f"home-{sum(told.kills.values())}"
        place.mkdir()
        home, told_agents = make_home(place)
        book, wanted = Book(), None
        agents = [Agent(each, book, random.Random(dice.random()), acts=n < WORKERS, explores=n >= AGENTS - EXPLORERS)
                  for n, each in enumerate(told_agents)]
        workers = [Worker(each, book) for each in told_agents[:WORKERS]]
        for _ in range(homes_of):
            if sum(told.kills.values()) >= kills:
                break
            variant = VARIANTS[dice.choice([0, 0, 0, 1, 2, 3])] if kills > len(VARIANTS) else VARIANTS[sum(told.kills.values()) % 4]
            wanted = await one_kill(home, agents, workers, book, told, variant, dice, wanted)
        told.asked += book.asked
        told.ran += sum(book.ran.values())
        told.receipts += len(book.receipts)
        told.rows += _rows(home)
        if not told.failures:
            subprocess.run(["rm", "-rf", str(place)], check=True)
    return told


def _rows(home: Path) -> int:
    db = sqlite3.connect(home / "gateway" / "ledger.db")
    try:
        return db.execute("SELECT count(*) FROM row").fetchone()[0]
    finally:
        db.close()
