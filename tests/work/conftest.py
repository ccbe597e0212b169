"""A gateway that does what the script says, on a real socket; and Workers to try on it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.sources import Sources
from rulith.adapters.territory import Territory
from rulith.base.clock import SystemClock, stamp
from rulith.base.json_text import compact_json
from rulith.net.client import HttpClient
from rulith.net.server import Response, serve
from rulith.wire.digests import request_digest_of_row
from rulith.wire.grant import expected_grant, sign_grant
from rulith.wire.manifest import builtin_tools, read_manifest
from rulith.work.core import Worker
from rulith.work.driver import Driver, Line

KEY = "rlt_key_public-test-only"
CONNECTION = "conn_test"
WAIT_S = 60.0
CHECKOUT = Path(__file__).resolve().parents[2]

ECHO = '''import json, os, sys
print(json.dumps({"rows": [{"said": json.loads(sys.argv[1])["say"]}]}))
'''
TOOLS = {
    "test.echo@1": {
        "adapter": "run", "sourceTypes": [], "entry": "echo.py", "kind": "read", "env": {"pass": []},
        "params": {"say": "string"}, "returns": [{"predicate": "test.said", "args": {"text": "$said"}}],
    },
}


class ScriptedGateway:
    """Grants leases, serves rows once, keeps what it was told. `script[kind]` answers come first, one each.

    An answer is (status, body), None (the connection is cut), or a coroutine function of the operation.
    """

    def __init__(self, lease_ms=60_000, heartbeat_ms=10_000):
        self.lease_ms, self.heartbeat_ms = lease_ms, heartbeat_ms
        self.script = {}
        self.rows = deque()
        self.sources = []
        self.generation = 0
        self.worker = None
        self.calls = []              # (kind, operation, headers, raw body)
        self.changed = asyncio.Condition()
        self.server = None
        self.closing = False

    async def __aenter__(self):
        self.server = await serve(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.port}/work"
        return self

    async def __aexit__(self, *_):
        async with self.changed:
            self.closing = True
            self.changed.notify_all()
        await self.server.close()

    def of(self, kind):
        return [operation for called, operation, _, _ in self.calls if called == kind]

    async def until(self, condition, timeout_s=WAIT_S):
        """Wait until `condition()` holds after some call."""
        async def wait():
            async with self.changed:
                await self.changed.wait_for(condition)
        await asyncio.wait_for(wait(), timeout_s)

    async def offer(self, *rows):
        async with self.changed:
            self.rows.extend(rows)
            self.changed.notify_all()

    def lease(self, worker_id, generation, now_s=None):
        now_s = SystemClock().wall_s() if now_s is None else now_s
        return {
            "workerId": worker_id, "workerGeneration": generation, "serverTime": stamp(now_s),
            "expiresAt": stamp(now_s + self.lease_ms / 1000), "heartbeatAfterMs": self.heartbeat_ms,
        }

    async def _answer(self, request):
        if request.path == "/work/sources":
            operation, kind = {}, "sources"
        else:
            operation = json.loads(request.body)["operation"]
            kind = operation["kind"]
        async with self.changed:
            self.calls.append((kind, operation, dict(request.headers.items()), request.body))
            self.changed.notify_all()
        scripted = self.script.get(kind)
        if scripted:
            answer = scripted.pop(0)
            if callable(answer):
                answer = await answer(operation)
            if answer is None:
                raise ConnectionResetError
            if answer != "usual":
                return self._response(*answer)
        return self._response(*await self._usual(kind, operation))

    @staticmethod
    def _response(status, body):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Response(status, {"content-type": "application/json"}, raw)

    async def _usual(self, kind, operation):
        if kind == "sources":
            return 200, {"sources": self.sources}
        if kind == "Poll":
            if self.worker != operation["workerId"]:
                self.worker, self.generation = operation["workerId"], self.generation + 1
                hold = False
            else:
                hold = True
            if hold and not self.rows:
                async with self.changed:
                    try:
                        await asyncio.wait_for(self.changed.wait_for(lambda: self.rows or self.closing), 5)
                    except asyncio.TimeoutError:
                        pass
            rows = [row(self) if callable(row) else row for row in self.rows]
            self.rows.clear()
            lease = self.lease(self.worker, self.generation)
            return 200, {"accepted": True, "lease": lease, "payload": {"work": rows}}
        if kind == "RenewLease":
            return 200, {"accepted": True, "lease": self.lease(operation["workerId"], operation["workerGeneration"])}
        return 200, {"accepted": True}


def action_row(tool, args, invocation="inv_1", source="", **changes):
    """A row maker: signed for the Worker and generation that the gateway knows when it serves it."""

    def make(gateway):
        params = dict(tool.params)
        spec = {
            "name": "act", "kind": tool.kind, "impl": "worker-tool", "params": params, "exec": tool.id,
            "sourceTypes": list(tool.source_types), "returns": [dict(row) for row in tool.returns],
        }
        stated = {**args, "source": source} if source else args
        row = {
            "workType": "action", "work": invocation, "tool": "act", "boardId": "agent_1", "toolContractId": tool.id,
            "sourceRecordId": source, "connectionId": CONNECTION, "toolDigest": tool.digest, "args": compact_json(stated),
            "target": "", "toolSpec": compact_json(spec),
            "sourceUpload": {"sourceRecordId": source, "permission": "absent", "upload": False, "refusal": None},
            "artifactPolicy": {"inlineBytes": 8192, "readBytes": 65536, "objectBytes": 65536, "totalBytes": 268435456, "temporaryRetentionMs": 86400000},
            **{name: value for name, value in changes.items() if name not in ("grant", "key")},
        }
        expect = expected_grant(
            row, connection_id=CONNECTION, worker_id=gateway.worker, worker_generation=gateway.generation,
            request_digest=request_digest_of_row(row),
        )
        row["executionGrant"] = sign_grant(expect, KEY)
        return row

    return make


class Bench:
    """One in-process Worker with its folder, its Tools and what it told."""

    def __init__(self, gateway, folder, tools=TOOLS, vault=None, run_timeout_s=20.0, clock=None):
        folder.mkdir(exist_ok=True)
        (folder / "echo.py").write_text(ECHO)
        self.folder, self.events = folder, []
        self.tools = {tool.id: tool for tool in builtin_tools("read")}
        self.tools |= read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": tools}))
        territory = Territory(str(folder), str(folder / "home"), guarded=(("the Tool Manifest", str(folder / "worker-tools.json")),))
        hands = Hands(territory, dict(os.environ), run_timeout_s)
        self.worker_id = "wkr_test_0000"
        self.core = Worker(
            worker_id=self.worker_id, connection_id=CONNECTION, key=KEY, tools=self.tools,
            advertised=[tool.descriptor() for tool in self.tools.values()],
            sources=Sources(vault or {}), compile=hands.compile, inspect=hands.inspect,
        )
        self.clock = clock or SystemClock()
        self.client = HttpClient(self.clock)
        line = Line(self.client, gateway.url, CONNECTION, KEY, self.worker_id)
        self.driver = Driver(self.core, line, self.clock, lambda kind, facts: self.events.append((kind, dict(facts))))

    def told(self, kind):
        return [facts for told, facts in self.events if told == kind]

    async def __aenter__(self):
        self.task = asyncio.ensure_future(self.driver.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.wait([self.task], timeout=WAIT_S)
        await self.client.close()
        if not self.task.cancelled() and self.task.exception() is not None:
            raise self.task.exception()

    async def ends(self):
        return await asyncio.wait_for(asyncio.shield(self.task), WAIT_S)


class WorkerProcess:
    """`rulith worker` as a process of its own, with nothing but its three settings."""

    def __init__(self, folder, url, **extra):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
        env = {
            **clean, "PYTHONPATH": str(CHECKOUT), "RULITH_CONNECTION": CONNECTION, "RULITH_CONNECTION_KEY": KEY,
            "RULITH_WORK_URL": url, "HOME": str(folder), **extra,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rulith", "worker"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    async def ends(self):
        """(exit status, stdout, stderr)"""
        out, err = await asyncio.wait_for(asyncio.to_thread(self.process.communicate), WAIT_S)
        return self.process.returncode, out.decode(), err.decode()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def scripted():
    return ScriptedGateway


@pytest.fixture
def bench(tmp_path):
    def make(gateway, **settings):
        return Bench(gateway, tmp_path / "root", **settings)

    return make


@pytest.fixture
def row():
    return action_row


@pytest.fixture
def worker_process():
    started = []

    def start(folder, url, **extra):
        started.append(WorkerProcess(folder, url, **extra))
        return started[-1]

    yield start
    for process in started:
        process.kill()
