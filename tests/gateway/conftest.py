"""A gateway on a real port, a scripted MCP host and a scripted Worker, all on loopback.

The peers here write their own bytes: they share no client code with the product.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import uuid

import pytest

from rulith.base.clock import SystemClock
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, device_secrets, find_profile, worker_secrets
from rulith.gateway.service import open_gateway
from rulith.wire.results import validate_result

STORY_S = 110.0     # no story takes a tenth of this on a quiet machine; a hang becomes a failure


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def event_ids(self) -> list[str]:
        return re.findall(r"^id: (.*)$", self.body.decode(), re.M)

    def events(self) -> list[dict]:
        """The data of each SSE event."""
        found = []
        for block in self.body.decode().replace("\r\n", "\n").split("\n\n"):
            data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
            if data:
                found.append(json.loads(data))
        return found


async def http(port: int, method: str, path: str, headers: dict | list = (), body: bytes | None = None, *,
               drip: bool = False) -> Answer:
    """One request on a connection of its own, byte by byte if it drips; the answer read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    rows = list(headers.items()) if isinstance(headers, dict) else list(headers)
    lines = [f"{method} {path} HTTP/1.1", "connection: close"]
    if "host" not in dict(rows):
        lines.append(f"host: 127.0.0.1:{port}")
    if body is not None:
        lines.append(f"content-length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in rows]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")
    for piece in ([request[at:at + 1] for at in range(len(request))] if drip else [request]):
        writer.write(piece)
        await asyncio.sleep(0)
    raw = await reader.read()
    writer.close()
    head, _, rest = raw.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    found = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    if found.get("transfer-encoding") == "chunked":
        parts = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            parts, rest = parts + rest[:length], rest[length + 2:]
            if length == 0:
                break
        rest = parts
    return Answer(int(first.split(" ")[1]), found, rest)


class Host:
    """A scripted MCP host. Declares rulith/v3 unless told not to."""

    def __init__(self, port: int, token: str, *, declares: bool = True, date: str = "2025-11-25", header: bool = True,
                 drip: bool = False) -> None:
        self.port, self.token, self.declares, self.date, self.header, self.drip = port, token, declares, date, header, drip
        self.session: str | None = None

    def headers(self) -> dict[str, str]:
        rows = {"authorization": f"Bearer {self.token}", "content-type": "application/json",
                "accept": "application/json, text/event-stream"}
        if self.header:
            rows["mcp-protocol-version"] = self.date
        if self.session:
            rows["mcp-session-id"] = self.session
        return rows

    async def post(self, message: object, **extra: str) -> Answer:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await http(self.port, "POST", "/mcp", {**self.headers(), **extra}, body, drip=self.drip)

    async def resume(self, cursor: str | None, **extra: str) -> Answer:
        """GET what followed the event `cursor`."""
        rows = {**self.headers(), **extra, **({} if cursor is None else {"last-event-id": cursor})}
        return await http(self.port, "GET", "/mcp", rows, drip=self.drip)

    async def cut(self, message: dict, events: int) -> str:
        """Send a request, read so many events of its stream, break the connection; the id of the last one."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = json.dumps(message).encode()
        head = [f"{name}: {value}" for name, value in {**self.headers(), "host": f"127.0.0.1:{self.port}", "content-length": len(body)}.items()]
        writer.write(("POST /mcp HTTP/1.1\r\n" + "\r\n".join(head) + "\r\n\r\n").encode() + body)
        seen = b""
        while seen.count(b"\n\n") < events:
            piece = await reader.read(1 if self.drip else 4096)
            assert piece, seen
            seen += piece
        writer.transport.abort()
        return re.findall(rb"^id: (.*)$", seen, re.M)[-1].decode()

    async def rpc(self, method: str, params: dict | None = None, *, id: object = None) -> Answer:
        message = {"jsonrpc": "2.0", "id": id if id is not None else str(uuid.uuid4()), "method": method}
        if params is not None:
            message["params"] = params
        return await self.post(message)

    async def initialize(self) -> dict:
        experimental = {"rulith/v3": {"heldCalls": 1}} if self.declares else {}
        self.session = None
        answer = await self.rpc("initialize", {"protocolVersion": self.date, "capabilities": {"experimental": experimental},
                                               "clientInfo": {"name": "scripted", "version": "1"}})
        assert answer.status == 200, answer.body
        self.session = answer.headers["mcp-session-id"]
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer.json()["result"]

    async def call_raw(self, tool: str, arguments: dict, *, progress: str | None = None, id: object = None) -> Answer:
        params: dict = {"name": tool, "arguments": arguments}
        if progress:
            params["_meta"] = {"progressToken": progress}
        return await self.rpc("tools/call", params, id=id)

    async def call(self, tool: str, arguments: dict | None = None) -> dict:
        """The decoded text of a tool result."""
        answer = await self.call_raw(tool, arguments or {})
        assert answer.status == 200, (answer.status, answer.body)
        return text_of(answer.json(), tool)

    @staticmethod
    def asking(tool: str, arguments: dict, *, id: object, progress: str | None = "p") -> dict:
        """A tools/call as a message."""
        meta = {"_meta": {"progressToken": progress}} if progress else {}
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, **meta}}

    async def ping(self) -> list[dict]:
        return (await self.rpc("ping")).json()["result"]["_meta"]["rulith/v3"]["operations"]


def text_of(message: dict, tool: str | None = None) -> dict:
    """The decoded text of a tool result; with `tool`, checked against the contract's own result shapes."""
    assert "result" in message, message
    body = json.loads(message["result"]["content"][0]["text"])
    if tool is not None:
        validate_result("toolResult", message["result"])
        validate_result(shape_of(tool, body), body)
        assert bool(message["result"].get("isError")) == (body.get("accepted") is False)
    return body


def shape_of(tool: str, body: dict) -> str:
    if tool == "QueryBoard":
        return "queryBoardResult"
    if "accepted" not in body:
        return "heldCallResult"
    if body.get("requestExecuted") is False:
        return "preExecutionRefusal"
    if tool == "ReadArtifact" and body["accepted"]:
        return "artifactResult" if "data" in body["result"] else "artifactTicketResult"
    return "acceptedResult" if body["accepted"] else "refusedResult"


class ScriptedWorker:
    """Polls, claims and reports as told; runs nothing by itself."""

    def __init__(self, port: int, connection: str, key: str, tools: list[dict]) -> None:
        self.port, self.connection, self.key, self.tools = port, connection, key, tools
        self.id = "wkr_" + uuid.uuid4().hex
        self.generation: int | None = None

    async def raw(self, operation: dict, headers: dict | list | None = None) -> Answer:
        if headers is None:
            headers = {"x-rulith-connection": self.connection, "x-rulith-connection-key": self.key,
                       "content-type": "application/json", "x-rulith-worker-version": "2026-09-01",
                       "x-rulith-worker": operation.get("workerId", self.id)}
            if "workerGeneration" in operation:
                headers["x-rulith-worker-generation"] = str(operation["workerGeneration"])
        return await http(self.port, "POST", "/work", headers, json.dumps({"operation": operation}).encode())

    async def poll(self, *, fresh: bool = False) -> dict:
        operation = {"kind": "Poll", "workerId": self.id, "tools": self.tools}
        if self.generation is not None and not fresh:
            operation["workerGeneration"] = self.generation
        body = (await self.raw(operation)).json()
        if body["accepted"]:
            self.generation = body["lease"]["workerGeneration"]
        return body

    async def rows(self) -> list[dict]:
        body = await self.poll()
        assert body["accepted"], body
        return body["payload"]["work"]

    def identity(self) -> dict:
        return {"workerId": self.id, "workerGeneration": self.generation}

    async def claim(self, row: dict, **changes: object) -> dict:
        return (await self.raw({"kind": "ClaimWork", "workType": "action", "id": row["work"],
                                "executionGrant": row["executionGrant"], **self.identity(), **changes})).json()

    async def report(self, row: dict, **outcome: object) -> dict:
        operation = {"kind": "ReportWork", "workType": "action", "id": row["work"], "executionGrant": row["executionGrant"],
                     **self.identity(), **outcome}
        return (await self.raw({name: value for name, value in operation.items() if value is not None})).json()

    async def release(self) -> dict:
        return (await self.raw({"kind": "ReleaseLease", **self.identity()})).json()


ORDER = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
TOTALS = {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593}
SHA = hashlib.sha256(b"the file").hexdigest()
PREFIX = "rulith.verified_calculation."


def facts_for(action: str, order: dict = ORDER, totals: dict = TOTALS) -> list[dict]:
    """What an honest Worker reports for one Action of the demo."""
    if action == PREFIX + "read_input":
        return [{"predicate": PREFIX + "input", "args": dict(order)}]
    name = "output" if action == PREFIX + "verify_output" else "written"
    return [{"predicate": PREFIX + name, "args": {**totals, "sha256": SHA}}]


class World:
    """A gateway over one home, and how to reach it. `restart` opens the same home again."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.gateway = None
        self.port = 0

    async def start(self) -> World:
        self.gateway = open_gateway(self.home, SystemClock(), {})
        self.port = (await self.gateway.listen("127.0.0.1", 0)).port
        return self

    async def stop(self) -> None:
        await self.gateway.close()

    async def crash(self) -> None:
        """Stop answering without committing what is staged, as a killed process would."""
        self.gateway.authority.turns.stage_lazily = None
        self.gateway.authority.ledger.discard()
        self.gateway.authority.turns._touched.clear()
        await self.gateway.close()

    @property
    def profile(self):
        return find_profile(self.home)

    @property
    def token(self) -> str:
        return agent_secrets(self.profile).load()["RULITH_TOKEN"]

    @property
    def device(self) -> str:
        return device_secrets(self.home).load()["token"]

    def host(self, **kinds) -> Host:
        return Host(self.port, self.token, **kinds)

    def worker(self) -> ScriptedWorker:
        secrets = worker_secrets(self.profile).load()
        locks = self.gateway.authority.registry.locks.values()
        tools = [dict(lock.descriptor) for lock in locks]
        return ScriptedWorker(self.port, secrets["RULITH_CONNECTION"], secrets["RULITH_CONNECTION_KEY"], tools)

    async def local(self, path: str, token: str | None = None) -> Answer:
        return await http(self.port, "GET", "/local/" + path, {"authorization": f"Bearer {token or self.device}"})

    async def open_case(self, host: Host, case_type: str = "verified_calculation", job: str = "calc-001") -> dict:
        opened = await host.call("OpenCase", {"caseType": case_type, "businessKey": {"job_id": job}})
        assert opened["accepted"], opened
        return opened["result"]

    async def act(self, host: Host, worker: ScriptedWorker, action: str, root: str) -> dict:
        """One external Action: asked, polled, claimed, reported honestly; the held answer."""
        asked = asyncio.ensure_future(host.call("ApplyAction", action_call(action, root)))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        assert (await worker.report(row, ok=True, result="done", facts=facts_for(row["tool"])))["accepted"]
        return await asked


async def _rows_until(self) -> list[dict]:
    """Poll until a row comes; the gateway itself does the waiting."""
    while not (rows := await self.rows()):
        pass
    return rows


ScriptedWorker.rows_until = _rows_until


def action_call(action: str, root: str) -> dict:
    return {"action": PREFIX + action, "args": {"source": "verified-calculation-local"}, "target": root}


SETTINGS = {"leaseMs": 60_000, "heartbeatMs": 10_000, "holdMs": 3_000, "pollHoldMs": 2_000}


@pytest.fixture
def play(tmp_path):
    """Run an async story(world) against a fresh gateway; `settings` override the test's."""

    def run(story, **settings):
        async def main():
            home = Home(tmp_path / "home")
            home.prepare()
            home.gateway_settings.write_text(json.dumps({**SETTINGS, **settings}))
            world = await World(home).start()
            try:
                await story(world)
            finally:
                await world.stop()

        asyncio.run(asyncio.wait_for(main(), STORY_S))

    return run


@pytest.fixture
def kit():
    """The names a story needs from this file."""

    class Kit:
        pass

    Kit.http, Kit.text_of, Kit.action_call, Kit.facts_for = staticmethod(http), staticmethod(text_of), staticmethod(action_call), staticmethod(facts_for)
    Kit.Host = Host
    Kit.ORDER, Kit.TOTALS, Kit.PREFIX, Kit.SHA = ORDER, TOTALS, PREFIX, SHA
    return Kit
