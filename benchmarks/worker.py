"""What a Worker can do: cycles, start, memory, and how fast its built-in Tools read beside plain Python.

    python benchmarks/worker.py [--quick] [--json FILE] [--archive FILE] [--dir DIR] [--only PART]

`cycles` are whole ones through a gateway that commits each step (ApplyAction asked and held,
Poll, ClaimWork, ReportWork of a run that did nothing, the answer), for 16 pairs at once, as in
benchmarks/gateway.py.

`worker` is the Worker's own side of one line: a `rulith worker` process polls a line that
signs its rows in advance and stores nothing, and each row is judged, claimed, run and
reported as any other. A no-op is a count of an empty folder; `run` starts a Python that does
nothing, beside the same Python started by subprocess.run.

`start` is from spawn to first Poll; memory is read once it stands still with a Poll held.

`tools` compares read_text and hash with plain Python that opens the path and does the same: read,
decode, digest, write the row. First as the Worker runs them, both in a thread beside the loop, then
both called directly. They take turns on one file, in memory by then; the best of the turns counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import Role, cpu_s, machine, median, options, report, role_env, role_order, row, settled_mb
from gateway import CYCLES_BAR, fsync_ms, measure_worker, worker_rows

from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call, Executed
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.adapters.workspace_reads import hash_file, read_text
from rulith.base.clock import SystemClock, stamp
from rulith.base.json_text import compact_json
from rulith.net.server import Response, serve
from rulith.wire.digests import request_digest_of_row
from rulith.wire.grant import expected_grant, sign_grant
from rulith.wire.manifest import BUILTINS, Tool, read_manifest

PARTS = ("cycles", "worker", "start", "tools")
CONNECTION, KEY, BOARD = "conn_bench", "rlt_key_bench-only", "agent_bench"
RESIDENT_BAR_MB, TIMES_BAR = 40, 2.0
BATCH = 32
GIVE_UP_S = 120.0
SIZES = ((4_096, "4 KiB"), (65_536, "64 KiB"), (262_144, "256 KiB"))
BIG = (16 * 2**20, "16 MiB")
MANIFEST = {"format": "rulith-worker-tools/1", "tools": {
    "bench.nothing@1": {"adapter": "run", "sourceTypes": [], "entry": "nothing.py", "kind": "read", "params": {}, "env": {"pass": []}}}}


# --- a line that stores nothing -----------------------------------------------------------


class Line:
    """Answers a Worker's operations; hands out `count` signed rows of one Tool, then holds its Polls."""

    def __init__(self, tool: Tool, args: dict, source: str) -> None:
        self.tool, self.args, self.source = tool, args, source
        self.polled, self.finished = asyncio.Event(), asyncio.Event()
        self.left = self.reported = self.total = 0
        self.ended = asyncio.Event()
        self._wanted = asyncio.Event()

    def ask(self, count: int) -> None:
        self.left = self.total = count
        self.reported = 0
        self.finished.clear()
        self._wanted.set()

    def _row(self, worker: str, generation: int, number: int) -> dict:
        tool = self.tool
        spec = {"name": "act", "kind": tool.kind, "impl": "worker-tool", "params": dict(tool.params), "exec": tool.id,
                "sourceTypes": list(tool.source_types), "returns": [dict(each) for each in tool.returns]}
        made = {"workType": "action", "work": f"inv_{os.urandom(8).hex()}{number}", "tool": "act", "boardId": BOARD, "toolContractId": tool.id,
                "sourceRecordId": self.source, "connectionId": CONNECTION, "toolDigest": tool.digest,
                "args": compact_json({**self.args, "source": self.source} if self.source else self.args), "target": "", "toolSpec": compact_json(spec),
                "sourceUpload": {"sourceRecordId": self.source, "permission": "absent", "upload": False, "refusal": None},
                "artifactPolicy": {"inlineBytes": 65_536, "readBytes": 65_536, "objectBytes": 2**20, "totalBytes": 2**28, "temporaryRetentionMs": 86_400_000}}
        expect = expected_grant(made, connection_id=CONNECTION, worker_id=worker, worker_generation=generation, request_digest=request_digest_of_row(made))
        return {**made, "executionGrant": sign_grant(expect, KEY)}

    async def answer(self, request) -> Response:
        if request.path.endswith("/sources"):
            return self._said({"sources": [{"name": self.source, "type": "file"}] if self.source else []})
        operation = json.loads(request.body)["operation"]
        kind, said = operation["kind"], {"accepted": True}
        if kind in ("Poll", "RenewLease"):
            now_s = SystemClock().wall_s()
            said["lease"] = {"workerId": operation["workerId"], "workerGeneration": 1, "serverTime": stamp(now_s), "expiresAt": stamp(now_s + 60),
                             "heartbeatAfterMs": 10_000}
        if kind == "Poll":
            said["payload"] = {"work": await self._work(operation)}
        if kind == "ReportWork":
            if operation.get("ok") is not True:
                raise RuntimeError(f"the Worker reported {operation}")
            self.reported += 1
            if self.reported == self.total:
                self.finished.set()
        return self._said(said)

    async def _work(self, operation: dict) -> list[dict]:
        first = not self.polled.is_set()
        self.polled.set()
        if first:
            return []
        while not self.left and not self.ended.is_set():
            self._wanted.clear()
            waiting = [asyncio.ensure_future(each.wait()) for each in (self._wanted, self.ended)]
            await asyncio.wait(waiting, timeout=20.0, return_when=asyncio.FIRST_COMPLETED)
            for each in waiting:
                each.cancel()
            if not self.left:
                return []
        count = min(BATCH, self.left)
        self.left -= count
        return [self._row(operation["workerId"], 1, number) for number in range(count)]

    @staticmethod
    def _said(body: dict) -> Response:
        return Response(200, {"content-type": "application/json"}, json.dumps(body).encode())


class OneWorker:
    """A `rulith worker` process on a line of its own."""

    def __init__(self, folder: Path, archive: Path | None, line: Line) -> None:
        self.folder, self.archive, self.line = folder, archive, line

    async def __aenter__(self) -> OneWorker:
        self.server = await serve(self.line.answer, "127.0.0.1", 0)
        settings = {"RULITH_CONNECTION": CONNECTION, "RULITH_CONNECTION_KEY": KEY, "RULITH_WORK_URL": f"http://127.0.0.1:{self.server.port}/work",
                    "RULITH_HOME": str(self.folder / "home"), "RULITH_TOOLS_FILE": str(self.folder / "worker-tools.json"),
                    "RULITH_SECRETS_FILE": str(self.folder / "worker-secrets.json")}
        begun = time.perf_counter()
        self.role = Role(role_order(self.archive, "worker"), role_env(**settings), log=self.folder / "worker.log")
        try:
            await asyncio.wait_for(self.line.polled.wait(), GIVE_UP_S)
        except BaseException:
            await self.__aexit__()
            raise
        self.start_ms = (time.perf_counter() - begun) * 1000
        return self

    async def __aexit__(self, *_: object) -> None:
        self.line.ended.set()
        await asyncio.to_thread(self.role.stop)
        await self.server.close()

    async def rate(self, count: int) -> float:
        """Cycles a second over `count` rows."""
        begun = time.perf_counter()
        self.line.ask(count)
        await asyncio.wait_for(self.line.finished.wait(), GIVE_UP_S)
        return count / (time.perf_counter() - begun)


def prepare(base: Path) -> Path:
    (base / "docs").mkdir(parents=True)
    (base / "nothing.py").write_text("pass\n")
    (base / "worker-tools.json").write_text(json.dumps(MANIFEST))
    secrets = base / "worker-secrets.json"
    secrets.write_text(json.dumps({"docs": {"type": "file", "root": str(base / "docs")}}))
    secrets.chmod(0o600)
    return base


async def measure_line(folder: Path, archive: Path | None, quick: bool) -> list[dict]:
    turns, noops, runs = (2, 320, 16) if quick else (5, 3_200, 160)
    async with OneWorker(folder, archive, Line(BUILTINS["rulith.workspace.count@1"], {"recursive": True}, "docs")) as worker:
        await worker.rate(BATCH)
        before = cpu_s(worker.role.pid)
        rates = [await worker.rate(noops) for _ in range(turns)]
        after = cpu_s(worker.role.pid)
    tool = read_manifest(json.dumps(MANIFEST))["bench.nothing@1"]
    async with OneWorker(folder, archive, Line(tool, {}, "")) as worker:
        await worker.rate(BATCH)
        programs, bare = [], []
        for _ in range(turns):
            programs.append(await worker.rate(runs))
            bare.append(await asyncio.to_thread(_bare_rate, folder, runs))
    rows = [row("one Worker, one line: judge, claim, count an empty folder, report", median(rates), "cycles/s")]
    if before is not None and after is not None:
        rows.append(row("  CPU of the Worker per cycle", (after - before) * 1000 / (turns * noops), "ms"))
    return [*rows,
            row("  the same with a program that does nothing", median(programs), "cycles/s", peer="subprocess.run", peer_value=median(bare))]


def _bare_rate(folder: Path, count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        subprocess.run([sys.executable, str(folder / "nothing.py"), "{}"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return count / (time.perf_counter() - begun)


async def measure_start(folder: Path, archive: Path | None, quick: bool) -> list[dict]:
    times, weight = [], None
    count = 3 if quick else 15
    for number in range(count):
        async with OneWorker(folder, archive, Line(BUILTINS["rulith.workspace.count@1"], {}, "docs")) as worker:
            times.append(worker.start_ms)
            if number == count - 1:
                weight = await asyncio.to_thread(settled_mb, worker.role.pid)
    rows = [row("a Worker's start until its first Poll", median(times), "ms")]
    if weight is not None:
        rows.append(row("resident memory, idle Worker", weight, "MB", bar=f"<= {RESIDENT_BAR_MB} MB", ok=weight <= RESIDENT_BAR_MB))
    return rows


# --- the built-in Tools beside plain Python ---------------------------------------------------


def plain_read(path: str) -> str:
    with open(path, "rb") as file:
        raw = file.read()
    text = raw.decode("utf-8")
    if "\0" in text:
        raise ValueError("NUL")
    return json.dumps({"source": "docs", "path": "sub/a", "digest": hashlib.sha256(raw).hexdigest(), "text": text}, ensure_ascii=False, separators=(",", ":"))


def plain_hash(path: str) -> str:
    state, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while chunk := file.read(2**20):
            state.update(chunk)
            size += len(chunk)
    return json.dumps({"source": "docs", "path": "sub/a", "sha256": state.hexdigest(), "size": size}, separators=(",", ":"))


async def measure_tools(folder: Path, quick: bool) -> list[dict]:
    (folder / "docs" / "sub").mkdir()
    hands = Hands(Territory(str(folder / "root"), str(folder / "home")), {})
    source = Source("docs", "file", str(folder / "docs"))
    rows = []
    place = folder / "docs" / "sub" / "a"
    for size, shown in (*SIZES, BIG):
        place.write_bytes((b"The quick brown fox jumps over the lazy dog.\n" * (size // 45 + 1))[:size])
        for name, operation, plain in (("read_text", read_text, plain_read), ("hash", hash_file, plain_hash)):
            if size > 262_144 and name == "read_text":
                continue
            look = hands.compile(Call("inv", "key", BUILTINS[f"rulith.workspace.{name}@1"], {"path": "sub/a"}, source))
            times = max(2, min(200, 4 * 2**20 // size))
            outcome = await look.run()
            if not isinstance(outcome, Executed) or json.loads(outcome.text) != json.loads(plain(str(place))):
                raise RuntimeError("the two do not do the same")
            ways = (("", look.run, lambda plain=plain: asyncio.to_thread(plain, str(place))),
                    (", called directly", _at_once(operation, look.place), _at_once(plain, str(place))))
            for how, ours, peer in ways:
                mine, theirs = await _turns(ours, peer, times, 9 if quick else 60)
                bound = {"bar": f"within {TIMES_BAR:g} times", "ok": mine * TIMES_BAR >= theirs} if shown == "64 KiB" else {}
                rows.append(row(f"{name} of {shown}{how}", size * mine / 2**20, "MiB/s", peer="plain Python", peer_value=size * theirs / 2**20, **bound))
    return rows


def _at_once(deed: Callable, *arguments: object) -> Callable:
    async def done() -> None:
        deed(*arguments)

    return done


async def _turns(ours: Callable, peer: Callable, times: int, turns: int) -> tuple[float, float]:
    """The best rates of calls a second of the two, in turn."""
    best = [0.0, 0.0]
    for _ in range(turns):
        for number, call in enumerate((ours, peer)):
            begun = time.perf_counter()
            for _ in range(times):
                await call()
            best[number] = max(best[number], times / (time.perf_counter() - begun))
    return best[0], best[1]


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--archive", metavar="FILE", type=Path, help="measure this rulith.pyz instead of the checkout")
    parser.add_argument("--dir", metavar="DIR", help="where ledgers and files are made; the disk matters")
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    chosen = parser.parse_args()
    archive = chosen.archive.absolute() if chosen.archive else None
    parts = (chosen.only,) if chosen.only else PARTS
    about = machine()
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="bench-", dir=chosen.dir)))
    rows = []
    try:
        if "cycles" in parts:
            times, spans = (1, {"warm_s": 0.6, "measure_s": 2.0}) if chosen.quick else (3, {"warm_s": 1.5, "measure_s": 6.0})
            runs = []
            for number in range(times):
                (base / f"cycles{number}").mkdir()
                runs.append(measure_worker(base / f"cycles{number}", archive, **spans))
            rows += [*worker_rows(runs), row("one 4 KiB write's fsync on this disk, median", fsync_ms(base), "ms")]
        for name, measure in (("worker", measure_line), ("start", measure_start)):
            if name in parts:
                rows += asyncio.run(measure(prepare(base / name), archive, chosen.quick))
        if "tools" in parts:
            rows += asyncio.run(measure_tools(prepare(base / "tools"), chosen.quick))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return report(rows, ["files that are not in memory yet; Windows and macOS"], chosen.json, about)


if __name__ == "__main__":
    sys.exit(main())
