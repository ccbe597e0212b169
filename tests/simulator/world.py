"""One Agent, one gateway, one Worker and one faulty connection, from a seed.

Everything between the sockets is the product's own: the Agent's line, outcomes, calls and
turn loop on one side; the gateway with its front, Boards and ledger on the other. The model
is scripted: it does the job, and now and then does what a bad model does. Two conversations
share the session, each with a job of its own.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.dialects.transcript import ProposedCall, Reply, ResultsEntry
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, find_profile, worker_secrets
from rulith.gateway.service import open_gateway
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.conversation import Conversation
from rulith.runtime.line import BoardLine
from rulith.runtime.session import Reach
from rulith.runtime.turns import Policy, Turns
from rulith.runtime.unread import OutcomeBook
from tests.gateway.conftest import ORDER, PREFIX, SHA, TOTALS, ScriptedWorker
from tests.simulator.link import FAULTS, Died, Gone, MemoryLink
from tests.simulator.virtual import LoopClock

JOBS = {"a": "calc-001", "b": "calc-002"}
SOURCE = "verified-calculation-local"
TURNS_MAX = 60
FAULT_RATE, FAULTS_MAX = 0.22, 10
SETTINGS = {"leaseMs": 60_000, "heartbeatMs": 10_000, "holdMs": 5_000, "pollHoldMs": 25_000}
ENDS = ("takeover", "kill")          # of the Agent's process, beside what the link does


class Rig:
    """The gateway of one home, restarted when it crashes."""

    def __init__(self, home: Home, clock: LoopClock) -> None:
        self.home, self.clock = home, clock
        self.gateway = open_gateway(home, clock, {})
        self.crashes = 0
        self.died = asyncio.Event()
        self.ordinals: dict[str, int] = {}              # JSON-RPC id of a call -> the operation it became
        self.profile = find_profile(home)
        self.token = agent_secrets(self.profile).load()["RULITH_TOKEN"]
        self._listen()

    def _listen(self) -> None:
        run = self.gateway.calls.run

        async def noted(session, call, name, arguments, admitted):
            def heard(ordinal: int) -> None:
                self.ordinals[call.request_id] = ordinal
                admitted(ordinal)
            answer = await run(session, call, name, arguments, heard)
            if call.ordinal:
                self.ordinals[call.request_id] = call.ordinal
            return answer

        self.gateway.calls.run = noted

    def serving(self):
        return self.gateway, self.died

    async def crash(self) -> None:
        """Die without committing what is staged, and come back."""
        self.crashes += 1
        self.died.set()
        self.died = asyncio.Event()
        self.gateway.authority.turns.stage_lazily = None
        self.gateway.authority.ledger.discard()
        self.gateway.authority.turns._touched.clear()
        await self.gateway.close()
        self.gateway = open_gateway(self.home, self.clock, {})
        self._listen()

    @property
    def operations(self):
        return self.gateway.authority.agents[self.profile.agent_id].operations


class MemoryWorker(ScriptedWorker):
    """Polls, claims, runs and reports for ever; slow at random. `ran` counts effects by (action, job)."""

    def __init__(self, rig: Rig, rng: random.Random) -> None:
        secrets = worker_secrets(rig.profile).load()
        locks = rig.gateway.authority.registry.locks.values()
        super().__init__(0, secrets["RULITH_CONNECTION"], secrets["RULITH_CONNECTION_KEY"], [dict(lock.descriptor) for lock in locks])
        self._rig, self._rng = rig, rng
        self._link = MemoryLink(rig.serving, lambda *a: "", rig.crash)
        self.ran: Counter = Counter()
        self.works: Counter = Counter()

    async def raw(self, operation: dict, headers=None):
        rows = {"x-rulith-connection": self.connection, "x-rulith-connection-key": self.key, "content-type": "application/json",
                "x-rulith-worker-version": "2026-09-01", "x-rulith-worker": operation.get("workerId", self.id)}
        if "workerGeneration" in operation:
            rows["x-rulith-worker-generation"] = str(operation["workerGeneration"])
        body = json.dumps({"operation": operation}).encode()
        while True:
            try:
                status, _, pieces = await self._link.serve("POST", "/work", list(rows.items()), body, Gone())
                return _Told(status, b"".join([piece async for piece in pieces]))
            except Died:
                await asyncio.sleep(0.5)                 # the same again: what arrived twice is done once

    async def work(self) -> None:
        while True:
            body = await self.poll()
            if not body["accepted"]:
                await asyncio.sleep(1.0)
                continue
            for row in body["payload"]["work"]:
                await self._run(row)

    async def _run(self, row: dict) -> None:
        if self.works[row["work"]] or not (await self.claim(row))["accepted"]:
            return
        await asyncio.sleep(self._rng.choice((0.0, 0.1, 2.0, 9.0, 30.0)))
        job, action = json.loads(row["args"])["job_id"], row["tool"]
        self.works[row["work"]] += 1
        self.ran[action.removeprefix(PREFIX), job] += 1
        facts = {"read_input": [{"predicate": PREFIX + "input", "args": {**ORDER, "job_id": job}}]}.get(action.removeprefix(PREFIX)) or [
            {"predicate": PREFIX + ("output" if action.endswith("verify_output") else "written"), "args": {**TOTALS, "job_id": job, "sha256": SHA}}]
        while not (await self.report(row, ok=True, result="done", facts=facts)).get("accepted"):
            await asyncio.sleep(1.0)
            if (await self.poll())["accepted"] is not True:
                return


@dataclass
class _Told:
    status: int
    body: bytes

    def json(self):
        return json.loads(self.body)


class Model:
    """Does one job from what results show; blind and careless now and then."""

    def __init__(self, job: str, rng: random.Random, shown: Shown, end: Callable[[], None]) -> None:
        self._job, self._rng, self._shown, self._end = job, rng, shown, end
        self._root = ""
        self._last: tuple[str, dict] | None = None
        self.is_done = False

    async def ask(self, system, entries, tools, ids, *more) -> Reply:
        self._shown.to_model(entries)
        if self._rng.random() < 0.04:
            raise Refused("model_unreachable", address="simulated", problem="it does not answer")
        results = entries[-1].results if isinstance(entries[-1], ResultsEntry) else ()
        body = json.loads(results[-1].text) if results else {}
        self._learn(body)
        if self.is_done:
            self._end()
        if self.is_done or self._rng.random() < 0.05:
            return Reply("Done." if self.is_done else "A word in between.")
        proposed = [self._next(body)]
        if self._rng.random() < 0.15:
            proposed.append(self._last or proposed[0])
        self._last = proposed[0]
        self._shown.proposed.update(json.dumps(each, sort_keys=True) for each in proposed)
        return Reply("", tuple(ProposedCall(ids.mint(), tool, arguments) for tool, arguments in proposed))

    def _learn(self, body: dict) -> None:
        result = body.get("result") if isinstance(body.get("result"), dict) else {}
        view = body.get("currentView") or body.get("view") or {}
        cases = (view.get("cases") or {}).get("directory") or []
        for row in cases + view.get("roots", []):
            if row.get("root") == self._root and row.get("status") == "closed":
                self.is_done = True
        if result.get("root") and result.get("status") and not self._root:
            self._root = result["root"]
        own = next((row for row in cases if (row.get("businessKey") or {}).get("job_id") == self._job), None)
        if own is not None:
            self._root = own["root"]
            self.is_done = self.is_done or own["status"] == "closed"
        if body.get("errorCode") == "case_closed":
            self.is_done = True

    def _next(self, body: dict) -> tuple[str, dict]:
        if self._last is not None and self._rng.random() < 0.08:
            return self._last                                        # blindly the same again
        view = body.get("currentView") or body.get("view") or {}
        if not self._root or self._root not in [row.get("root") for row in view.get("roots", [])] and view:
            return "OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": self._job}}
        status = (view.get("taskStatus") or {}).get(self._root) or {}
        if status.get("certified"):
            return "CloseCase", {"root": self._root}
        for row in view.get("actions", []):
            candidates = [each for each in row.get("candidates") or [] if each.get("target") == self._root and "tried" not in each]
            if row["status"] == "ready" and candidates and row["action"] != PREFIX + "write_approved_output":
                return "ApplyAction", {"action": row["action"], "args": {**candidates[0]["args"], "source": SOURCE}, "target": self._root}
        return "QueryBoard", {"include": ["gaps", "taskStatus"], "selector": {"roots": [self._root]}}


@dataclass
class Shown:
    """What one conversation's models were shown and replied to, over all its processes."""

    states: dict[tuple[str, str, str], str] = field(default_factory=dict)     # settled ones only
    in_full: set[tuple[str, str, str]] = field(default_factory=set)
    proposed: Counter = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)                            # sentences on calls that are no longer listed
    _pending: dict = field(default_factory=dict)

    def to_model(self, entries) -> None:
        for entry in entries:
            for result in entry.results if isinstance(entry, ResultsEntry) else ():
                if result.call_id in self._pending:
                    continue
                self._pending[result.call_id] = True
                body = json.loads(result.text)
                rows = body.get("operations") or []
                self.named.append(body.get("teaching") or "")
                for row in rows:
                    if row["state"] in ("done", "failed", "refused", "unknown"):
                        self.states[row["tool"], row["label"], row["at"]] = row["state"]
                        if "result" in row:
                            self.in_full.add((row["tool"], row["label"], row["at"]))
                if body.get("requestExecuted") is not False and isinstance(body.get("accepted"), bool) and result.tool != "QueryBoard":
                    own = max((row for row in rows if row["tool"] == result.tool), key=lambda row: row["at"], default=None)
                    if own is not None:
                        self.in_full.add((own["tool"], own["label"], own["at"]))


class Process:
    """One life of the Agent's program: a session, a book of outcomes, two conversations."""

    def __init__(self, sim: Simulation, kept: dict[str, list[dict]]) -> None:
        clock = sim.clock
        self.told: list[str] = []
        self.line = BoardLine(sim.link, Reach("http://127.0.0.1:7781", sim.rig.token, 20.0, 60.0), clock=clock,
                              emit=lambda *a, **k: None, log=self.told.append, poll_s=5.0)
        self.book = OutcomeBook(self.told.append)
        self.talks: dict[str, Turns] = {}
        for key, job in JOBS.items():
            unread = self.book.conversation(key)
            unread.restore(kept.get(key, ()))
            sim.shown[key]._pending.clear()
            model = Model(job, sim.rng, sim.shown[key], lambda key=key: sim.ended.add(key))
            server = CallServer(self.line, Pins(), unread, emit=lambda *a, **k: None)
            self.talks[key] = Turns(self.line, model, server, unread, Conversation(24), emit=lambda *a, **k: None, max_rounds=8)

    async def turn(self, key: str) -> str:
        try:
            return (await self.talks[key].run("Go on.", Policy.RETURN)).outcome
        except Refused as refusal:
            if refusal.code == "model_unreachable":
                return "model away"
            raise


class Simulation:
    def __init__(self, seed: int, home: Home, clock: LoopClock, *, rate: float = FAULT_RATE) -> None:
        self.rng = random.Random(seed)
        self.seed, self.clock, self.rate = seed, clock, rate
        self.rig = Rig(home, clock)
        self.link = MemoryLink(self.rig.serving, self._fault, self.rig.crash)
        self.worker = MemoryWorker(self.rig, random.Random(seed + 1))
        self.shown = {key: Shown() for key in JOBS}
        self.ended: set[str] = set()                    # conversations whose model saw its Case closed
        self.speaker: dict[str, str] = {}               # JSON-RPC id -> conversation
        self.talking = ""
        self.faults = 0
        self.processes = 1
        self.outcomes: list[str] = []
        self.lost_aloud: list[str] = []

    def _fault(self, method: str, message: dict) -> str:
        if message.get("method") == "tools/call":
            self.speaker[message["id"]] = self.talking
        if self.faults >= FAULTS_MAX or self.rng.random() >= self.rate:
            return ""
        self.faults += 1
        fault = self.rng.choice(FAULTS)
        return "html" if fault == "foreign session" and message.get("method") == "initialize" else fault     # that would be a lie, no fault

    async def run(self) -> None:
        working = asyncio.ensure_future(self.worker.work())
        try:
            process = await self._start({})
            for _ in range(TURNS_MAX):
                if self.ended == set(JOBS):
                    break
                process = await self._turn(process)
            for key in JOBS:                              # a last word each: whatever waits is shown now
                for _ in range(3):
                    process = await self._turn(process, key)
            self.left = {key: self.book.conversation(key).left() for key in JOBS}
            await process.line.close()
        finally:
            working.cancel()
            ended, = await asyncio.gather(working, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), f"the Worker ended: {ended!r}"

    @property
    def book(self) -> OutcomeBook:
        return self.process.book

    async def _start(self, kept: dict) -> Process:
        self.process = Process(self, kept)
        for _ in range(40):
            try:
                await self.process.line.open()
                return self.process
            except Refused as refusal:
                assert refusal.code in ("gateway_unreachable", "surface_answer", "connection_replaced"), refusal
                await asyncio.sleep(1.0)
        raise AssertionError("the gateway could not be reached")

    async def _turn(self, process: Process, key: str = "") -> Process:
        await asyncio.sleep(8.0)                         # a person reads, too
        key = key or self.rng.choice(list(JOBS))
        self.talking = key
        end = self.rng.choice(ENDS) if self.faults < FAULTS_MAX and self.rng.random() < 0.04 else ""
        if end == "takeover":
            self.faults += 1
            await self._another_program()
        work = asyncio.ensure_future(process.turn(key))
        if end == "kill":
            self.faults += 1
            await asyncio.wait([work], timeout=self.rng.choice((0.0, 0.001, 0.5, 3.0)))
            work.cancel()
        try:
            self.outcomes.append(await work)
        except asyncio.CancelledError:
            self.outcomes.append("killed")
        except Refused as refusal:
            assert refusal.code == "connection_replaced", refusal
            self.outcomes.append("replaced")
            end = "takeover"
        if end:
            self.processes += 1
            self.lost_aloud += [line for line in process.told if "Console" in line]
            return await self._start(json.loads(json.dumps(process.book.kept())))
        return process

    async def _another_program(self) -> None:
        """Someone else connects as this Agent for a moment."""
        body = {"jsonrpc": "2.0", "id": "x", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "other", "version": "1"}}}
        rows = [("authorization", f"Bearer {self.rig.token}"), ("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
        await self.link.serve("POST", "/mcp", rows, json.dumps(body).encode(), Gone())

    # what must hold afterwards

    def problems(self) -> list[str]:
        found = []
        operations = self.rig.operations
        by_ordinal = Counter(self.rig.ordinals.values())
        found += [f"operation {ordinal} was admitted for {count} calls" for ordinal, count in by_ordinal.items() if count > 1]
        sent = Counter(json.dumps([message["params"]["name"], message["params"]["arguments"]], sort_keys=True) for message in self.link.sent
                       if message["params"]["name"] not in ("QueryBoard", "ReadArtifact"))
        proposed = sum((shown.proposed for shown in self.shown.values()), Counter())
        found += [f"{call} was proposed {proposed[call]} times and sent {count} times" for call, count in sent.items() if count > proposed[call]]
        for work, count in self.worker.works.items():
            if count > 1:
                found.append(f"{work} ran {count} times")
        for (action, job), count in self.worker.ran.items():
            asked = sum(1 for message in self.link.sent if message["params"]["name"] == "ApplyAction"
                        and message["params"]["arguments"]["action"] == PREFIX + action
                        and message["params"]["arguments"]["args"].get("job_id") == job)
            if count > asked or (action == "write_output" and count != 1):
                found.append(f"{action} of {job} ran {count} times and was asked for {asked} times")
        found += [f"{key} never ended: {Counter(self.outcomes)}" for key in JOBS if key not in self.ended]
        for request_id, ordinal in self.rig.ordinals.items():
            key = self.speaker.get(request_id)
            each = operations.operation(ordinal) if key else None
            if each is None or not each.is_write:
                continue
            if not each.is_settled:
                found.append(f"{each.label} is left {each.state}")
                continue
            shown = self.shown[key].states.get((each.tool, each.label, each.at))
            named = [text for text in self.shown[key].named if f"{each.label}: no longer listed" in text]
            if shown is None and not named and not any(each.label in line for line in self.left[key] + self.lost_aloud):
                found.append(f"{key} was never told that {each.label} ({each.at}) is {each.state}")
            elif shown is not None and shown != each.state:
                found.append(f"{key} was told that {each.label} is {shown}; it is {each.state}")
            # Two sessions that were each sent an outcome have acknowledged it, heard or not: its state is what remains.
            elif self.processes == 1 and self.rig.crashes == 0 and len(each.delivered) < 2 and (each.tool, each.label, each.at) not in self.shown[key].in_full:
                found.append(f"{key} was told that {each.label} ({each.at}) is {each.state}, and never shown its result")
        return found
