"""Durable tool calls a second on one gateway, beside the official MCP SDK's server, in one run.

    python benchmarks/gateway.py [--quick] [--json FILE] [--sdk PYTHON] [--archive FILE] [--dir DIR] [--only PART] [--memory N]

A call is ApplyBatch asserting one new fact on a Board of 200 facts under the demo
Capability, committed with FULL sync before it is answered; its whole view and strip are
read and checked by the caller. 1, 4 and 16 callers of as many Agents call one after
another each. When the gateway has stopped, the rows of its ledger are counted: there is
one per call that was answered, and the hash chains hold.

The peer runs in JSON mode with a tool that stores nothing, driven by the same callers.
PYTHON is one with `mcp==2.3.0` (default: .venv-mcp/bin/python in the checkout).

QueryBoard is asked on Boards of 100, 1,000 and 10,000 facts by one caller; it answers with at
most 500 nodes. `--memory N` also tells how resident memory grew over N calls that leave the
Boards as large as they were.

A Worker cycle is ApplyAction asked and held, Poll, ClaimWork, ReportWork of a run that
did nothing, and the answer: five requests, five commits that must be durable in turn.

Rates are calls in the measured seconds; p50 and p99 are of what a caller waited. "CPU of
the server per call" is its own user and system time, which a busy machine disturbs less.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import ROOT, Role, cpu_s, machine, median, options, percentile, report, resident_mb, role_env, role_order, row

HERE = Path(__file__).resolve().parent
FACTS = 200
QUERY_FACTS = (100, 1_000, 10_000)
PARTS = ("calls", "query", "worker", "long")
PING_BAR_MS, GROWTH_BAR = 200, 1.1
CALLERS = (1, 4, 16)
CALLS_BAR, TIMES_BAR, CYCLES_BAR = 3_000, 2.0, 1_000
SDK = "official MCP SDK"


class Run:
    """What one run of the callers found; `cpu_ms` is the server's, per call."""

    def __init__(self, found: dict, cpu_ms: float | None) -> None:
        self.found = found
        self.rate = len(found["times_ms"]) / found["measure_s"]
        self.p50, self.p99 = (percentile(found["times_ms"], share) for share in (0.5, 0.99))
        self.cpu_ms = cpu_ms
        self.client_cpu_ms = found["client_cpu_s_per_call"] * 1000


def drive(mode: str, port: int, agents: list[dict], pid: int, *, warm_s: float, measure_s: float, facts: int = FACTS) -> Run:
    """Let the callers run in their own process, and read the server's CPU time around the measured seconds."""
    marks: dict[str, float | None] = {}
    found = callers_say({"mode": mode, "host": "127.0.0.1", "port": port, "agents": agents, "facts": facts, "warm_s": warm_s,
                         "measure_s": measure_s}, lambda what: marks.setdefault(what, cpu_s(pid)))
    before, after = marks.get("measuring"), marks.get("measured")
    counted = max(1, len(found["times_ms"]))
    return Run(found, None if before is None or after is None else (after - before) * 1000 / counted)


def callers_say(order: dict, hear: Callable[[str], object]) -> dict:
    """Run the callers of `order` in their own process; `hear` is told of each moment, the end is returned."""
    callers = subprocess.Popen([sys.executable, "-I", "-S", str(HERE / "load.py")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    with callers:
        callers.stdin.write(json.dumps(order) + "\n")
        callers.stdin.flush()
        for line in callers.stdout:
            if line.startswith("{"):
                return json.loads(line)
            hear(line.strip())
    raise RuntimeError(f"the callers of {order['mode']} failed; their words are above")


class GatewayRun:
    """A gateway on a home of its own with `count` Agents; `stop` also counts its ledger."""

    def __init__(self, folder: Path, count: int, archive: Path | None) -> None:
        self.home = folder / "home"
        made = subprocess.run([sys.executable, str(HERE / "gateway_home.py"), str(self.home), str(count)],
                              env=role_env(), capture_output=True, check=True, timeout=120)
        self.agents = json.loads(made.stdout)
        order = [*role_order(archive, "gateway"), "--home", str(self.home), "--listen", "127.0.0.1:0"]
        self.role = Role(order, role_env(PYTHONUNBUFFERED="1"), log=folder / "gateway.log")
        self.port = int(re.search(r":(\d+)", self.role.line().partition("//")[2])[1])

    def stop(self) -> None:
        self.role.stop()

    def rows(self, kind: str) -> dict[str, int]:
        """Agent id -> how many rows of its chain in the ledger hold this Board command."""
        base = sqlite3.connect(self.home / "gateway" / "ledger.db")
        try:
            return dict(base.execute("SELECT chain, count(*) FROM row WHERE kind = 'board' "
                                     "AND json_extract(body, '$.command.kind') = ? GROUP BY chain", (kind,)))
        finally:
            base.close()

    def problems(self) -> list[str]:
        """Everything the product's own check finds wrong with the ledger."""
        check = ("import sys; from pathlib import Path; from rulith.base.clock import SystemClock; "
                 "from rulith.store.ledger import Ledger; ledger = Ledger.open(Path(sys.argv[1]), SystemClock()); "
                 "print('\\n'.join(ledger.verify())); ledger.close()")
        done = subprocess.run([sys.executable, "-c", check, str(self.home / "gateway" / "ledger.db")], env=role_env(),
                              capture_output=True, check=True, text=True, timeout=300)
        return [line for line in done.stdout.splitlines() if line]


def check_ledger(gateway: GatewayRun, runs: list[tuple[list[dict], Run]]) -> int:
    """Hold the ledger to what the callers were told. Returns the rows counted. Raises RuntimeError where they differ."""
    counted, total = gateway.rows("apply_batch"), 0
    for agents, run in runs:
        for agent in agents:
            answered = run.found["by_agent"][agent["id"]] - 2        # initialize and OpenCase are no batches
            if counted.get(agent["id"], 0) != answered:
                raise RuntimeError(f"{answered} batches were answered and {counted.get(agent['id'], 0)} are in the ledger")
            total += answered
    problems = gateway.problems()
    if problems:
        raise RuntimeError(f"the ledger is not whole: {problems[:3]}")
    return total


def measure_calls(folder: Path, archive: Path | None, *, warm_s: float, measure_s: float) -> tuple[dict[int, Run], int]:
    gateway = GatewayRun(folder, sum(CALLERS), archive)
    found, at, told = {}, 0, []
    try:
        for count in CALLERS:
            agents = gateway.agents[at:at + count]
            at += count
            found[count] = drive("gateway", gateway.port, agents, gateway.role.pid, warm_s=warm_s, measure_s=measure_s)
            told.append((agents, found[count]))
    finally:
        gateway.stop()
    return found, check_ledger(gateway, told)


def measure_sdk(python: str, *, warm_s: float, measure_s: float, stateless: bool = False) -> dict[int, Run]:
    order = [python, str(HERE / "sdk_server.py"), *(["--stateless"] if stateless else [])]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    server = Role(order, env)
    try:
        port = int(server.line())
        time.sleep(0.3)
        return {count: drive("sdk", port, [{}] * count, server.pid, warm_s=warm_s, measure_s=measure_s) for count in CALLERS}
    finally:
        server.stop()


def measure_worker(folder: Path, archive: Path | None, *, warm_s: float, measure_s: float) -> Run:
    gateway = GatewayRun(folder, CALLERS[-1], archive)
    try:
        run = drive("worker", gateway.port, gateway.agents, gateway.role.pid, warm_s=warm_s, measure_s=measure_s)
    finally:
        gateway.stop()
    counted = sum(gateway.rows("record_receipt").values())
    if counted != run.found["calls"]:
        raise RuntimeError(f"{run.found['calls']} cycles were answered and {counted} receipts are in the ledger")
    if gateway.problems():
        raise RuntimeError(f"the ledger is not whole: {gateway.problems()[:3]}")
    return run


def measure_query(folder: Path, archive: Path | None, *, warm_s: float, measure_s: float) -> dict[int, Run]:
    gateway = GatewayRun(folder, len(QUERY_FACTS), archive)
    try:
        return {facts: drive("query", gateway.port, [agent], gateway.role.pid, warm_s=warm_s / 3, measure_s=measure_s / 3, facts=facts)
                for facts, agent in zip(QUERY_FACTS, gateway.agents)}
    finally:
        gateway.stop()


def measure_memory(folder: Path, archive: Path | None, calls: int) -> tuple[float, float]:
    """(resident MB after half of the calls, after all of them); the Boards are as large at both moments."""
    gateway = GatewayRun(folder, CALLERS[-1], archive)
    weights: dict[str, float] = {}
    try:
        callers_say({"mode": "churn", "host": "127.0.0.1", "port": gateway.port, "agents": gateway.agents, "facts": FACTS, "warm_s": 0,
                     "measure_s": 86_400, "calls": calls, "tell_at": calls // 2},
                    lambda what: weights.setdefault(what, resident_mb(gateway.role.pid) or 0.0))
    finally:
        gateway.stop()
    return weights["told"], weights["measured"]


def measure_long(folder: Path, archive: Path | None) -> dict:
    gateway = GatewayRun(folder, 5, archive)
    try:
        return callers_say({"mode": "long", "host": "127.0.0.1", "port": gateway.port, "agents": gateway.agents}, lambda what: None)
    finally:
        gateway.stop()


def long_rows(runs: list[dict]) -> list[dict]:
    worst = max(run["busy_ms"][-1] for run in runs)
    return [row("a batch of 125,000 conclusions", median([run["took_s"] * 1000 for run in runs]), "ms"),
            row("  pings of 4 others meanwhile, p50", median([percentile(run["busy_ms"], 0.5) for run in runs]), "ms", peer="before it",
                peer_value=median([percentile(run["quiet_ms"], 0.5) for run in runs])),
            row("  the longest of them", worst, "ms", peer="before it", peer_value=max(run["quiet_ms"][-1] for run in runs),
                bar=f"<= {PING_BAR_MS}", ok=worst <= PING_BAR_MS)]


def fsync_ms(folder: Path) -> float:
    """Median time of one small write and its fsync on the disk that holds the ledgers."""
    times = []
    with open(folder / "fsync", "wb") as file:
        for _ in range(60):
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            times.append((time.perf_counter() - started) * 1000)
    return median(times)


def middle(runs: list[Run], what: str) -> float:
    return median([getattr(run, what) for run in runs])


def call_rows(ours: list[dict[int, Run]], peers: list[dict[int, Run]], counted: int) -> list[dict]:
    found = []
    for count in CALLERS:
        runs, peer = [one[count] for one in ours], [one[count] for one in peers]
        last = count == CALLERS[-1]
        for what, unit, name in (("rate", "calls/s", "durable ApplyBatch"), ("p50", "ms", "  waited, p50"), ("p99", "ms", "  waited, p99")):
            found.append(row(f"{name}, {count} {'Agents' if count > 1 else 'Agent'}", middle(runs, what), unit, peer=SDK if peer else "",
                             peer_value=middle(peer, what) if peer else None,
                             **_bar(middle(runs, what) >= CALLS_BAR, f">= {CALLS_BAR:,}", what == "rate" and last)))
    runs, peer = [one[CALLERS[-1]] for one in ours], [one[CALLERS[-1]] for one in peers]
    if peer:
        times = [mine[CALLERS[-1]].rate / theirs[CALLERS[-1]].rate for mine, theirs in zip(ours, peers)]
        found.append(row("durable calls by the SDK's that store nothing", median(times), "times", bar=f">= {TIMES_BAR:g}",
                         ok=median(times) >= TIMES_BAR))
    if all(run.cpu_ms is not None for run in runs):
        found.append(row("CPU of the server per call, 16 Agents", middle(runs, "cpu_ms"), "ms", peer=SDK if peer else "",
                         peer_value=middle(peer, "cpu_ms") if peer else None))
        found.append(row("CPU of the callers per call, 16 Agents", middle(runs, "client_cpu_ms"), "ms", peer=SDK if peer else "",
                         peer_value=middle(peer, "client_cpu_ms") if peer else None))
    found.append(row("rows counted in the ledgers afterwards", counted, "rows"))
    return found


def query_rows(runs: list[dict[int, Run]]) -> list[dict]:
    found = []
    for facts in QUERY_FACTS:
        ones = [one[facts] for one in runs]
        found.append(row(f"QueryBoard on {facts:,} facts, p50", middle(ones, "p50"), "ms"))
        found.append(row("  waited, p99", middle(ones, "p99"), "ms"))
    return found


def worker_rows(runs: list[Run]) -> list[dict]:
    rate = middle(runs, "rate")
    found = [row("poll, claim, run (no-op), receipt; 16 Workers", rate, "cycles/s", bar=f">= {CYCLES_BAR:,}", ok=rate >= CYCLES_BAR),
             row("  waited by the Agent, p50", middle(runs, "p50"), "ms"),
             row("  waited by the Agent, p99", middle(runs, "p99"), "ms")]
    if all(run.cpu_ms is not None for run in runs):
        found.append(row("  CPU of the gateway per cycle", middle(runs, "cpu_ms"), "ms"))
    return found


def _bar(met: bool, bar: str, judged: bool) -> dict:
    return {"bar": bar, "ok": met} if judged else {}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--sdk", metavar="PYTHON", default=str(ROOT / ".venv-mcp" / "bin" / "python"), help="a Python with mcp==2.3.0")
    parser.add_argument("--archive", metavar="FILE", type=Path, help="measure this rulith.pyz instead of the checkout")
    parser.add_argument("--dir", metavar="DIR", help="where ledgers are made; the disk matters")
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    parser.add_argument("--memory", metavar="N", type=int, default=0, help="also let N calls pass and tell how memory grew")
    chosen = parser.parse_args()
    archive = chosen.archive.absolute() if chosen.archive else None
    times, spans = (1, {"warm_s": 0.6, "measure_s": 2.0}) if chosen.quick else (3, {"warm_s": 1.5, "measure_s": 6.0})
    parts = (chosen.only,) if chosen.only else PARTS
    about = machine()
    not_measured = [] if chosen.memory else ["memory over 100,000 operations (--memory 100000)"]
    has_sdk = Path(chosen.sdk).exists() and "calls" in parts
    if not has_sdk and "calls" in parts:
        not_measured.append(f"{SDK}: no Python with it; python3 -m venv .venv-mcp && .venv-mcp/bin/pip install mcp==2.3.0")
    base = Path(tempfile.mkdtemp(prefix="bench-", dir=chosen.dir))
    try:
        ours, peers, queries, workers, longs, counted = [], [], [], [], [], 0
        for number in range(times):               # in turn, so that a busy minute meets both
            folder = base / str(number)
            for name in parts:
                (folder / name).mkdir(parents=True)
            if "calls" in parts:
                runs, rows = measure_calls(folder / "calls", archive, **spans)
                ours.append(runs)
                counted += rows
            if has_sdk:
                peers.append(measure_sdk(chosen.sdk, **spans))
            if "query" in parts:
                queries.append(measure_query(folder / "query", archive, **spans))
            if "worker" in parts:
                workers.append(measure_worker(folder / "worker", archive, **spans))
            if "long" in parts:
                longs.append(measure_long(folder / "long", archive))
        one_fsync = fsync_ms(base)
        rows = [*(call_rows(ours, peers, counted) if ours else []), *(query_rows(queries) if queries else []),
                *(worker_rows(workers) if workers else []), *(long_rows(longs) if longs else [])]
        if chosen.memory:
            (base / "memory").mkdir()
            early, late = measure_memory(base / "memory", archive, chosen.memory)
            rows.append(row(f"resident memory after {chosen.memory:,} calls", late, "MB", peer=f"after {chosen.memory // 2:,}", peer_value=early,
                            bar=f"<= {GROWTH_BAR:g} times", ok=late <= GROWTH_BAR * early))
        rows.append(row("one 4 KiB write's fsync on this disk, median", one_fsync, "ms"))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return report(rows, not_measured, chosen.json, about)


if __name__ == "__main__":
    sys.exit(main())
