"""A whole gateway in this process, over a ledger in memory and a clock moved by hand, asked without a socket.

Promises its families: no answer of 500 or more, no problem of the loop left unsaid, tables that stay small.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import tempfile
from itertools import count
from pathlib import Path

from rulith.base.clock import ManualClock
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, device_secrets, find_profile, worker_secrets
from rulith.gateway.authority import Authority
from rulith.gateway.people import People
from rulith.gateway.seed import seed, signing_seed
from rulith.gateway.service import Gateway
from rulith.gateway.settings import Settings
from rulith.gateway.signing import Signer
from rulith.net.messages import Headers, Request, StreamResponse
from rulith.store.memory import MemoryLedger

MEMORY = Path("/dev/shm")
OWNER = {"kind": "person", "by": "ann", "signInAgeS": 1}
PREFIX = "rulith.verified_calculation."
ORDER = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
TOTALS = {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593, "sha256": "ab" * 32}
CHEAP = {"alg": "scrypt", "n": 2, "r": 8, "p": 1, "salt": "00" * 16, "hash": "00" * 32}      # of no passphrase
STEP_S = 2.0                 # between two inputs, so that no bucket of strangers runs dry
WORKER = "wkr_" + "0" * 32


class World:
    def __init__(self) -> None:
        place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="rulith-fuzz-", dir=place)
        self.problems: list[dict] = []
        self._numbers = count()
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda loop, context: self.problems.append(context))
        self.run(self._open())

    def run(self, work):
        return self.loop.run_until_complete(work)

    async def _open(self) -> None:
        home = Home(Path(self.folder) / "home")
        home.prepare()
        self.clock, self.ledger = ManualClock(), MemoryLedger()
        authority = self.authority = Authority(self.ledger, self.clock)
        seed(home, authority, {})
        settings = Settings(hold_s=0.002, poll_hold_s=0.001, requests_per_s=100_000)
        self.gateway = Gateway(authority, Signer(signing_seed(home)), settings, home)
        self.people = People(authority, self.gateway.calls, self.gateway.line)
        authority.command_registry({"kind": "set_passphrase", "record": CHEAP, "authority": {"kind": "setup_code", "by": "ann"}})
        self.address = self.gateway._front.at(loopback=True)
        profile = find_profile(home)
        self.agent_id, self.connection_id = profile.agent_id, profile.connection_id
        self.token, self.key = agent_secrets(profile).load()["RULITH_TOKEN"], worker_secrets(profile).load()["RULITH_CONNECTION_KEY"]
        self.device = device_secrets(home).load()["token"]
        self.tools = [dict(lock.descriptor) for lock in authority.registry.locks.values()]
        self.session = self.generation = None

    def close(self) -> None:
        try:
            self.run(self.gateway.close())
        finally:
            self.loop.close()
            shutil.rmtree(self.folder)
        gc.collect()            # a task that failed unseen says so when it is collected
        assert not self.problems, self.problems

    # --- asking ------------------------------------------------------------------------

    async def ask(self, method: str, target: str, headers, body: bytes = b"") -> tuple[int, dict, bytes]:
        """(status, header fields, the whole body) of one answer."""
        request = Request(method, target, Headers.of([("host", "127.0.0.1:1"), *headers]), peer="127.0.0.1", body_bytes_max=2**20)
        answer = self.address.head_check(request)
        if answer is None:
            request.body = body
            answer = await self.address.handle(request)
        if isinstance(answer, StreamResponse):
            told = b"".join([chunk async for chunk in answer.chunks])
        else:
            told = answer.body
        assert answer.status < 500, (answer.status, told[:300])
        return answer.status, dict(answer.headers), told

    def agent_headers(self, accept: str = "application/json") -> list[tuple[str, str]]:
        rows = [("authorization", f"Bearer {self.token}"), ("content-type", "application/json"), ("accept", accept)]
        return [*rows, ("mcp-session-id", self.session)] if self.session else rows

    async def initialize(self) -> None:
        self.session = None
        params = {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"rulith/v3": {"heldCalls": 1}}}, "clientInfo": {"name": "fuzz", "version": "1"}}
        status, headers, _ = await self.ask("POST", "/mcp", self.agent_headers(), json.dumps({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}).encode())
        assert status == 200
        self.session = headers["mcp-session-id"]

    async def call(self, tool: str, arguments: dict) -> dict:
        body = json.dumps({"jsonrpc": "2.0", "id": f"a call of its own {next(self._numbers)}", "method": "tools/call", "params": {"name": tool, "arguments": arguments}}).encode()
        _, _, told = await self.ask("POST", "/mcp", self.agent_headers(), body)
        return json.loads(json.loads(told)["result"]["content"][0]["text"])

    # --- the Worker --------------------------------------------------------------------

    def worker_headers(self, generation: int | None) -> list[tuple[str, str]]:
        rows = [("x-rulith-connection", self.connection_id), ("x-rulith-connection-key", self.key), ("content-type", "application/json"),
                ("x-rulith-worker-version", "2026-09-01"), ("x-rulith-worker", WORKER)]
        return rows if generation is None else [*rows, ("x-rulith-worker-generation", str(generation))]

    async def work(self, operation: dict) -> dict:
        _, _, told = await self.ask("POST", "/work", self.worker_headers(operation.get("workerGeneration")), json.dumps({"operation": operation}).encode())
        return json.loads(told)

    async def poll(self) -> list[dict]:
        """The rows that an honest Worker is offered, on a line that is its own."""
        for generation in (self.generation, None):
            stated = {} if generation is None else {"workerGeneration": generation}
            answer = await self.work({"kind": "Poll", "workerId": WORKER, "tools": self.tools, **stated})
            if answer["accepted"]:
                self.generation = answer["lease"]["workerGeneration"]
                return answer["payload"]["work"]
            self.clock.advance(120)             # whoever holds the line lets it lapse
        raise AssertionError(answer)

    @property
    def state(self):
        return self.authority.agents[self.agent_id]

    @property
    def unresolved(self):
        return self.state.operations.unresolved()

    async def settle(self, *, ok: bool) -> None:
        """An honest Worker, and a person where one is needed, bring the open operation to its end."""
        for _ in range(3):
            operation = self.unresolved
            if operation is None:
                return
            if operation.public_state == "needs_person":
                self.people.reconcile(self.agent_id, operation.ordinal, "did_not", "looked", operation.plan["argumentDigest"], OWNER)
                await self.authority.settled()
                continue
            identity = {"workerId": WORKER}
            for row in await self.poll():
                identity["workerGeneration"] = self.generation
                mine = {"workType": "action", "id": row["work"], "executionGrant": row["executionGrant"], **identity}
                if not (await self.work({"kind": "ClaimWork", **mine}))["accepted"]:
                    continue
                if not ok:
                    await self.work({"kind": "ReportWork", **mine, "ok": False, "result": "", "reason": "no such file"})
                    continue
                name = row["tool"].removeprefix(PREFIX)
                facts = {"read_input": [{"predicate": PREFIX + "input", "args": ORDER}], "write_output": [{"predicate": PREFIX + "written", "args": TOTALS}],
                         "verify_output": [{"predicate": PREFIX + "output", "args": TOTALS}]}[name]
                await self.work({"kind": "ReportWork", **mine, "ok": True, "result": "done", "facts": facts})

    # --- promises ----------------------------------------------------------------------

    def check_quiet(self) -> None:
        """Nothing of a request is left behind, and no table is larger than its bound."""
        assert not self.problems, self.problems
        assert not self.authority.turns.is_sick, self.authority.turns.trouble
        front, sessions = self.gateway._front, self.gateway.surface.sessions
        assert not front._open, front._open
        assert len(front._callers._level) <= 10_000 and len(front._strangers._level) <= 10_000
        assert len(sessions._by_id) <= 17 * len(self.authority.agents)
        for session in sessions._by_id.values():
            assert len(session.calls) <= 66 and len(session.forgotten) <= 10_000
        assert not self.gateway.surface._producers
        assert len(self.gateway.console._access._access._asked) <= 100
        assert len(self.gateway.line._held) <= len(self.authority.registry.connections)
        assert sum(map(len, self.authority._watchers.values())) == 0, self.authority._watchers

    def check_replay(self) -> None:
        """The ledger folds to the Boards as they stand."""
        again = Authority(self.ledger, self.clock)
        for agent_id, state in self.authority.agents.items():
            assert again.agents[agent_id].board.closure_digest() == state.board.closure_digest()
            assert again.agents[agent_id].board.revision == state.board.revision
