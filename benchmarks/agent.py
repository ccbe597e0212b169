"""What the Agent itself costs: one round, a thousand turns, and the way to the first question to a model.

    python benchmarks/agent.py [--quick] [--json FILE] [--archive FILE]

The model service and the gateway are one instant program that answers with bytes made
beforehand (`instant.py`), so that what is left is ours. A round is one streamed reply with
one call and that call's answer, a view of 40 facts; the same two exchanges, made bare by
http.client on kept connections, are its peer, and the difference is the host's overhead.
Memory is that of `agent --serve` from the kept copy, over HTTP and with its conversations saved, one
turn with one call each, in ten conversations. The start is from the spawn of a one-shot until its
first request reaches the model: of the copy that a home keeps, as `start` starts it, and of
the file itself, which compiles what it needs each time. FILE is the built archive (default:
dist/rulith.pyz); without one the checkout is measured.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, Role, machine, median, options, percentile, report, role_env, role_order, row, settled_mb

from rulith.base.clock import SystemClock
from rulith.runtime.options import Options
from rulith.runtime.run import AgentRun, Told

OVERHEAD_BAR_MS, START_BAR_MS, GROWTH_BAR_MB, RESIDENT_BAR_MB = 5.0, 250.0, 8.0, 40.0
CALLS_OF_A_TURN = 10
KEY = "0123456789abcdef0123456789abcdef"
TOKEN = "rlt_agt_instant"


class InstantServices:
    """The instant model and gateway, and when each model request arrived."""

    def __init__(self, calls_of_a_turn: int) -> None:
        self.role = Role([sys.executable, "-X", "utf8", str(ROOT / "benchmarks" / "instant.py"), str(calls_of_a_turn)], role_env())
        self.url = f"http://127.0.0.1:{int(self.role.line())}"

    def environ(self, **more: str) -> dict[str, str]:
        return {"RULITH_URL": self.url, "RULITH_TOKEN": TOKEN, "RULITH_MODEL_URL": f"{self.url}/v1/chat/completions", "RULITH_MODEL": "instant", **more}

    def __enter__(self) -> InstantServices:
        return self

    def __exit__(self, *problem: object) -> None:
        self.role.process.stdin.close()
        self.role.stop()


class Rounds:
    """The moments at which rounds began, as the Agent tells them."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.took_ms: list[float] = []

    def __call__(self, type_: str, **fields: object) -> None:
        now = time.perf_counter()
        if type_ == "round":
            if fields["round"] != 1:
                self.took_ms.append((now - self.began[-1]) * 1000)
            self.began.append(now)


def measure_rounds(turns: int) -> tuple[list[float], list[float], float]:
    """(milliseconds of each round, of each bare pair of exchanges, CPU of a round), taken in turns of one another."""
    rounds, bare, used_s = Rounds(), [], 0.0
    with InstantServices(CALLS_OF_A_TURN) as services:
        drain = subprocess.Popen(["cat"], stdin=services.role.process.stdout, stdout=subprocess.DEVNULL)      # its lines fill no pipe

        async def talk() -> None:
            run = AgentRun(Options(), services.environ(RULITH_MAX_ROUNDS="100"), Told(rounds, lambda text: None), clock=SystemClock())
            await run.prepare()
            pair = BarePair(services.url)
            nonlocal used_s
            for _ in range(turns):
                before_s = time.process_time()
                await run.turn("What is there to do?")
                used_s += time.process_time() - before_s
                bare.extend(pair.take() for _ in range(CALLS_OF_A_TURN))
            await run.end()
        asyncio.run(talk())
    drain.wait(10)
    return rounds.took_ms, bare, used_s * 1000 / len(rounds.took_ms)


class BarePair:
    """What a round exchanges, with nothing around it."""

    def __init__(self, url: str) -> None:
        host = url.removeprefix("http://")
        self._model, self._gateway = http.client.HTTPConnection(host, timeout=10), http.client.HTTPConnection(host, timeout=10)
        self._call = json.dumps({"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"name": "QueryBoard", "arguments": {}}})
        self._question = json.dumps({"model": "instant", "messages": [{"role": "user", "content": "x" * 30_000}]})

    def take(self) -> float:
        began = time.perf_counter()
        for connection, path, body in ((self._model, "/v1/chat/completions", self._question), (self._gateway, "/mcp", self._call)):
            connection.request("POST", path, body, {"content-type": "application/json"})
            connection.getresponse().read()
        return (time.perf_counter() - began) * 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure_memory(archive: Path | None, turns: int, early: int) -> tuple[float, float, float, float]:
    """(MB before the first turn, after `early` turns, after all of them, turns per second) of a serving Agent."""
    with tempfile.TemporaryDirectory() as folder, InstantServices(1) as services:
        drain = subprocess.Popen(["cat"], stdin=services.role.process.stdout, stdout=subprocess.DEVNULL)
        port = free_port()
        env = role_env(**services.environ(RULITH_SERVE_PORT=str(port), RULITH_SERVE_KEY=KEY, RULITH_CONVERSATION_DIR=folder, RULITH_HOME=folder))
        agent = Role([*role_order(archive, "agent"), "--serve", "--quiet"], env, log=Path(folder) / "agent.log")
        try:
            client = Client(port)
            idle = settled_mb(agent.pid)
            began = time.monotonic()
            for number in range(early):
                client.turn(number)
            before = settled_mb(agent.pid)
            for number in range(early, turns):
                client.turn(number)
            took_s = time.monotonic() - began
            return idle or 0.0, before or 0.0, settled_mb(agent.pid) or 0.0, turns / took_s
        finally:
            agent.stop()
            services.role.process.stdin.close()
            services.role.stop()
            drain.wait(10)


class Client:
    def __init__(self, port: int) -> None:
        self._port = port
        deadline = time.monotonic() + 30
        while True:
            self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                if self._ask("POST", "/task", {"text": "Are you there?"})[0] == 202:
                    return
            except OSError:
                pass                                   # it does not listen yet
            if time.monotonic() > deadline:
                raise RuntimeError("the service took no task within 30 s")
            self._connection.close()
            time.sleep(0.02)

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        self._connection.request(method, path, None if body is None else json.dumps(body), {"content-type": "application/json", "x-rulith-serve": KEY})
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())

    def turn(self, number: int) -> None:
        """One task, and its end. Conversations are archived in time, or the history would be full."""
        key = f"conversation-{number // 100}"
        if number and number % 100 == 0:
            self._ask("POST", "/conversation/archive", {"sessionKey": f"conversation-{number // 100 - 1}", "archived": True})
        status, receipt = self._ask("POST", "/task", {"text": f"What is there to do, for the {number}th time?", "sessionKey": key})
        if status != 202:
            raise RuntimeError(f"task {number}: HTTP {status}: {receipt.get('teaching')}")
        while not any(each["id"] == receipt["id"] for each in self._ask("GET", "/runs")[1]["runs"][:1]):
            time.sleep(0.001)


def children_cpu_s() -> float:
    """CPU of all children that have been waited for."""
    used = os.times()
    return used.children_user + used.children_system


def measure_start(archive: Path | None, times: int) -> tuple[list[float], list[float]]:
    """(milliseconds from a spawn until the model is asked, milliseconds of CPU of that whole run)."""
    found, cpu = [], []
    with InstantServices(0) as services, tempfile.TemporaryDirectory() as folder:
        for _ in range(times + 1):
            env = role_env(**services.environ(RULITH_HOME=folder))
            began, before_s = time.monotonic(), children_cpu_s()
            child = subprocess.Popen([*role_order(archive, "agent"), "--quiet", "hello"], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            arrived = float(services.role.line())
            child.wait(30)
            found.append((arrived - began) * 1000)
            cpu.append((children_cpu_s() - before_s) * 1000)
    return found[1:], cpu[1:]                          # the first one filled the caches


def kept_copy(archive: Path | None, folder: str) -> Path | None:
    """The archive under the name that a home gives its copy."""
    if archive is None:
        return None
    copy = Path(folder) / f"{hashlib.sha256(archive.read_bytes()).hexdigest()}.pyz"
    copy.write_bytes(archive.read_bytes())
    return copy


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--archive", type=Path, default=ROOT / "dist" / "rulith.pyz")
    chosen = parser.parse_args()
    archive = chosen.archive.resolve() if chosen.archive.exists() else None
    about = f"{machine()}; {'the built file' if archive else 'the checkout'}"
    turns, early = (300, 100) if chosen.quick else (1_000, 200)
    rounds, bare, used_ms = measure_rounds(20 if chosen.quick else 100)
    overhead = median(rounds) - median(bare)
    times = 7 if chosen.quick else 20
    with tempfile.TemporaryDirectory() as folder:
        copy = kept_copy(archive, folder)
        starts, start_cpu = measure_start(copy, times)
        idle, before, after, per_s = measure_memory(copy, turns, early)
    direct, _ = measure_start(archive, times)
    rows = [
        row("overhead of a round, p50", overhead, "ms", bar=f"<= {OVERHEAD_BAR_MS:g} ms", ok=overhead <= OVERHEAD_BAR_MS),
        row("CPU of a round", used_ms, "ms"),
        row("a whole round, p50", median(rounds), "ms", peer="two bare exchanges", peer_value=median(bare)),
        row("a whole round, p99", percentile(rounds, 0.99), "ms"),
        row("start to the first model request", median(starts), "ms", bar=f"<= {START_BAR_MS:g} ms", ok=median(starts) <= START_BAR_MS),
        row("CPU of that whole run", median(start_cpu), "ms"),
        row("start, of the file itself", median(direct), "ms"),
        row("resident memory, serving and idle", idle, "MB", bar=f"<= {RESIDENT_BAR_MB:g} MB", ok=idle <= RESIDENT_BAR_MB),
        row(f"memory after {turns} turns", after, "MB", peer=f"after {early}", peer_value=before),
        row(f"growth over the last {turns - early} turns", after - before, "MB", bar=f"<= {GROWTH_BAR_MB:g} MB", ok=after - before <= GROWTH_BAR_MB),
        row("served turns per second, saved", per_s, "1/s"),
    ]
    return report(rows, [], chosen.json, about)


if __name__ == "__main__":
    sys.exit(main())
