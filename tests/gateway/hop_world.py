"""The Worker hop under faults at chosen messages: the product's own Worker and gateway, a link that misbehaves, time that waits for nobody.

A plan names faults by the number of the message they meet; a message is one request of a
Worker. The adapters keep the log that everything is judged by. Two runs of one plan are the
same run.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from rulith.adapters.outcomes import Executed
from rulith.adapters.sources import Sources
from rulith.base.clock import ManualClock
from rulith.disk.home import Home
from rulith.disk.profiles import worker_secrets
from rulith.gateway.service import open_gateway
from rulith.net.client import ClientResponse, NetFailed
from rulith.store.failures import StoreFailed
from rulith.wire.manifest import read_manifest
from rulith.work.core import Worker
from rulith.work.driver import Driver, Line
from rulith.work.signals import StopAsked
from tests.gateway.conftest import Answer, Host, action_call, facts_for
from tests.simulator.link import Died, Gone, MemoryLink
from tests.simulator.virtual import run_virtual
from tests.simulator.world import Rig

JOB = ("read_input", "write_output", "verify_output")
SETTINGS = {"leaseMs": 20_000, "heartbeatMs": 4_000, "holdMs": 100, "pollHoldMs": 5_000}
# what happens to one message, by when the gateway hears of it
UNHEARD = ("lost", "silent", "refused", "gateway dies before", "killed before")
HEARD = ("cut", "mute", "500", "429", "html", "half", "twice", "slow", "late", "gateway dies after", "killed after")
AROUND = ("sleeps before", "sleeps after", "clock back", "clock ahead", "disk full", "second worker", "told to stop")
FAULTS = UNHEARD + HEARD + AROUND
SLEEP_S, JUMP_S, FULL_S, EFFECT_S = 100.0, 3_600.0, 8.0, 3.0
AGENT_PATIENCE_S = 400.0
WITHIN_S = 4_000.0              # of virtual time, for one job with whatever happens to it


class MachineClock:
    """A Worker machine's clocks: the wall may be set, and what a sleeping machine misses only the wall shows."""

    def __init__(self, clock) -> None:
        self._clock, self._missed_s, self._set_s, self._frozen = clock, 0.0, 0.0, None

    def monotonic_s(self) -> float:
        return self._frozen[0] if self._frozen else self._clock.monotonic_s() - self._missed_s

    def wall_s(self) -> float:
        return self._frozen[1] if self._frozen else self._clock.wall_s() + self._set_s

    def set_wall(self, by_s: float) -> None:
        self._set_s += by_s

    async def sleep(self, seconds: float) -> None:
        self._frozen = (self.monotonic_s(), self.wall_s())
        await asyncio.sleep(seconds)
        self._frozen = None
        self._missed_s += seconds


class Effect:
    """An adapter that writes down that it began, takes a while, and has acted; a child outlives a killed Worker."""

    def __init__(self, world, process, call) -> None:
        self.world, self.process, self.call = world, process, call

    async def run(self):
        self.world.begin(self.process, self.call.invocation)
        child = asyncio.ensure_future(self._act())
        try:
            return await asyncio.shield(child)
        except asyncio.CancelledError:
            if not self.process.killed:
                child.cancel()
            raise

    async def _act(self):
        await asyncio.sleep(EFFECT_S)
        self.world.acted.append(self.call.invocation)
        facts = facts_for(self.world.actions[self.call.invocation])
        return Executed("done", rows=tuple(fact["args"] for fact in facts))


class Process:
    """One Worker process over the faulty link; `killed` as by kill -9, with nothing unwound."""

    def __init__(self, world, number: int) -> None:
        self.world, self.number, self.killed = world, number, False
        self.awake = asyncio.Event()
        self.awake.set()
        self.clock = MachineClock(world.clock)
        self.told: list[tuple[str, dict]] = []
        self.worker_id = worker_id = f"wkr_{number:08d}"
        core = Worker(worker_id=worker_id, connection_id=world.connection, key=world.key, tools=world.tools,
                      advertised=[tool.descriptor() for tool in world.tools.values()], sources=Sources({}),
                      compile=lambda call: Effect(world, self, call))
        line = Line(self, "http://127.0.0.1:7781/work", world.connection, world.key, worker_id)
        self.driver = Driver(core, line, self.clock, lambda kind, facts: self.told.append((kind, dict(facts))))
        self.task = asyncio.ensure_future(self.driver.run())

    async def request(self, method, url, headers=(), body=b"", *, timeout_s=30.0):
        """As the Worker's HTTP client: one request, and what the plan does to it."""
        await self.awake.wait()
        return await self.world.deliver(self, method, urlsplit(url).path, list(dict(headers).items()), body, timeout_s)

    def kill(self) -> None:
        self.killed = True
        self.task.cancel()

    async def sleep(self) -> None:
        self.awake.clear()
        await self.clock.sleep(SLEEP_S)
        self.awake.set()


class MemoryHost(Host):
    """The scripted MCP host, over no socket."""

    def __init__(self, world) -> None:
        super().__init__(0, world.rig.token)
        self.world = world

    async def post(self, message, **extra):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        status, rows, pieces = await self.world.link.serve("POST", "/mcp", list({**self.headers(), **extra}.items()), body, Gone())
        return Answer(status, dict(rows.items()), b"".join([piece async for piece in pieces]))


class HopWorld:
    """One gateway, one Connection, as many Worker processes as the plan makes, one Agent that does the verified calculation."""

    def __init__(self, home, clock, plan: dict[int, str]) -> None:
        self.clock, self.plan = clock, dict(plan)
        self.rig = Rig(home, clock)
        self.link = MemoryLink(self.rig.serving, lambda *_: "", self.rig.crash)
        secrets = worker_secrets(self.rig.profile).load()
        self.connection, self.key = secrets["RULITH_CONNECTION"], secrets["RULITH_CONNECTION_KEY"]
        self.tools = read_manifest((self.rig.profile.workspace / "worker-tools.json").read_bytes())
        self.messages = 0
        self.kinds: list[str] = []                   # of each message, the first one first
        self.log: list[str] = []                     # adapters begun, by invocation
        self.acted: list[str] = []
        self.late: list[str] = []
        self.processes: list[Process] = []
        self.background: set[asyncio.Task] = set()
        self.met: list[str] = []

    def begin(self, process: Process, invocation: str) -> None:
        """An adapter begins: only under a lease that the gateway would still honour."""
        self.log.append(invocation)
        holder = self.rig.gateway.authority.registry.connection(self.connection)["fence"]["workerId"]
        if holder != process.worker_id:
            self.late.append(f"{invocation} began although the line had passed on, after {self.met}")

    # the link

    async def deliver(self, process: Process, method: str, path: str, headers: list, body: bytes, timeout_s: float) -> ClientResponse:
        self.messages += 1
        kind = json.loads(body)["operation"]["kind"] if body else "sources"
        self.kinds.append(kind)
        fault = self.plan.get(self.messages) or self.plan.get(kind) or ""
        if fault:
            self.met.append(f"{fault} at {kind}")
        before = getattr(self, "_" + fault.replace(" ", "_"), None) if fault in UNHEARD + AROUND else None
        if before is not None:
            await before(process, timeout_s)
        answer = await self._answered(method, path, headers, body, timeout_s, fault)
        after = getattr(self, "_after_" + fault.replace(" ", "_"), None) if fault in HEARD + AROUND else None
        return await after(process, answer, timeout_s) if after is not None else answer

    async def _answered(self, method, path, headers, body, timeout_s, fault) -> ClientResponse:
        if fault == "late":
            self._beside(self._later(timeout_s + 5, method, path, headers, body))
            await asyncio.sleep(timeout_s)
            raise NetFailed("timeout", "no answer in time", sent=True)
        if fault == "twice":
            self._beside(self._later(2.0, method, path, headers, body))
        try:
            status, rows, pieces = await asyncio.wait_for(self.link.serve(method, path, headers, body, Gone()), timeout_s)
            return ClientResponse(status, rows, b"".join([piece async for piece in pieces]))
        except asyncio.TimeoutError:
            raise NetFailed("timeout", "no answer in time", sent=True) from None
        except Died:
            raise NetFailed("closed", "closed before the answer", sent=True) from None

    async def _later(self, seconds, method, path, headers, body) -> None:
        await asyncio.sleep(seconds)
        try:
            await self.link.serve(method, path, headers, body, Gone())
        except Died:
            pass

    def _beside(self, work) -> None:
        task = asyncio.ensure_future(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    # faults before the gateway hears

    async def _lost(self, process, timeout_s):
        raise NetFailed("closed", "closed before the answer", sent=True)

    async def _silent(self, process, timeout_s):
        await asyncio.sleep(timeout_s)
        raise NetFailed("timeout", "no answer in time", sent=True)

    async def _refused(self, process, timeout_s):
        raise NetFailed("connect", "no connection", sent=False)

    async def _gateway_dies_before(self, process, timeout_s):
        await self.rig.crash()
        raise NetFailed("closed", "closed before the answer", sent=True)

    async def _killed_before(self, process, timeout_s):
        process.kill()
        await asyncio.sleep(SLEEP_S)

    async def _sleeps_before(self, process, timeout_s):
        await process.sleep()

    async def _clock_back(self, process, timeout_s):
        process.clock.set_wall(-JUMP_S)

    async def _clock_ahead(self, process, timeout_s):
        process.clock.set_wall(JUMP_S)

    async def _disk_full(self, process, timeout_s):
        ledger = self.rig.gateway.authority.ledger
        commit = type(ledger).commit
        until_s = self.clock.monotonic_s() + FULL_S

        def full():
            if self.clock.monotonic_s() < until_s:
                raise StoreFailed("store_full")
            commit(ledger)

        ledger.commit = full

    async def _second_worker(self, process, timeout_s):
        self.start()

    async def _told_to_stop(self, process, timeout_s):
        process.driver.put(StopAsked())

    # faults after it

    async def _after_cut(self, process, answer, timeout_s):
        raise NetFailed("closed", "closed before the answer", sent=True)

    async def _after_mute(self, process, answer, timeout_s):
        await asyncio.sleep(timeout_s)
        raise NetFailed("timeout", "no answer in time", sent=True)

    async def _after_500(self, process, answer, timeout_s):
        return ClientResponse(500, answer.headers, b"{}")

    async def _after_429(self, process, answer, timeout_s):
        return ClientResponse(429, answer.headers, b"")

    async def _after_html(self, process, answer, timeout_s):
        return ClientResponse(200, answer.headers, b"<html>a proxy's page</html>")

    async def _after_half(self, process, answer, timeout_s):
        return ClientResponse(answer.status, answer.headers, answer.body[: len(answer.body) // 2])

    async def _after_slow(self, process, answer, timeout_s):
        await asyncio.sleep(timeout_s - 0.5)
        return answer

    async def _after_gateway_dies_after(self, process, answer, timeout_s):
        await self.rig.crash()
        raise NetFailed("closed", "closed before the answer", sent=True)

    async def _after_killed_after(self, process, answer, timeout_s):
        process.kill()
        await asyncio.sleep(SLEEP_S)

    async def _after_sleeps_after(self, process, answer, timeout_s):
        await process.sleep()
        return answer

    # the Worker's machine: whatever ended is started again

    def start(self) -> Process:
        process = Process(self, len(self.processes) + 1)
        self.processes.append(process)
        return process

    async def keep_running(self) -> None:
        while True:
            if all(each.task.done() for each in self.processes):
                for each in self.processes:
                    if not each.task.cancelled() and each.task.exception() is not None:
                        raise each.task.exception()
                self.start()
            await asyncio.sleep(1.0)

    # the Agent

    @property
    def actions(self) -> dict[str, str]:
        """The Action of each invocation, as the gateway has it."""
        return {each.invocation: each.plan["action"] for each in self.operations()}

    def operations(self) -> list:
        return [each for each in self.rig.operations.operations.values() if each.invocation]

    async def work(self) -> None:
        """Do the job; stop at what needs a person."""
        keeping = asyncio.ensure_future(self.keep_running())
        try:
            root = None
            for action in JOB:
                for _ in range(4):
                    root = root or await self._open()
                    state = await self._apply(action, root)
                    if state != "failed":
                        break
                if state != "done":
                    break
            # What is still on its way arrives, whoever sleeps wakes up, and neither may do harm.
            await asyncio.sleep(SLEEP_S + 20 if any("sleeps" in fault for fault in self.plan.values()) else 40.0)
        finally:
            keeping.cancel()
            for each in self.processes:
                each.task.cancel()
            for each in list(self.background):
                each.cancel()
            await asyncio.sleep(0)
            await self.rig.gateway.close()

    async def _open(self) -> str:
        while True:
            try:
                host = MemoryHost(self)
                await host.initialize()
                opened = await host.call("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}})
                if opened.get("accepted"):
                    return opened["result"]["root"]
            except (Died, AssertionError, KeyError):
                pass
            await asyncio.sleep(1.0)

    async def _apply(self, action: str, root: str) -> str:
        """The state that the Action comes to; asked for again only while the gateway has not admitted it."""
        before = len(self.operations())
        until_s = self.clock.monotonic_s() + AGENT_PATIENCE_S
        while self.clock.monotonic_s() < until_s:
            known = self.operations()[before:]
            if known and (known[-1].is_settled or known[-1].state == "needs_person"):
                return known[-1].state
            if not known:
                try:
                    host = MemoryHost(self)
                    await host.initialize()
                    await host.call("QueryBoard")
                    await host.call("ApplyAction", action_call(action, root))
                except (Died, AssertionError, KeyError):
                    pass
            await asyncio.sleep(1.0)
        return "stuck"

    # what must hold afterwards

    def problems(self) -> list[str]:
        found = [*self.late, *(f"{invocation} ran {count} times" for invocation, count in Counter(self.log).items() if count > 1)]
        for each in self.operations():
            ran = each.invocation in self.log
            if not (each.is_settled or each.state == "needs_person"):
                found.append(f"{each.label} never ended: {each.state}, after {self.met}")
            if each.state == "done" and not ran:
                found.append(f"{each.label} is done and never ran")
            if each.state == "failed" and ran:
                found.append(f"{each.label} is failed and ran")
            if each.state == "needs_person" and each.claim is None:
                found.append(f"{each.label} needs a person and was never claimed")
        if not self.operations():
            found.append("nothing was ever asked")
        return found


def seed_home(path: Path) -> Path:
    """A home that one gateway has seeded; each story works on a copy."""
    home = Home(path)
    home.prepare()
    home.gateway_settings.write_text(json.dumps(SETTINGS))

    async def made():
        await open_gateway(home, ManualClock(), {}).close()

    asyncio.run(made())
    return path


def play_plan(plan: dict, seeded: Path, folder: Path) -> HopWorld:
    """One job under `plan`, on a copy of the seeded home."""
    shutil.copytree(seeded, folder, copy_function=shutil.copy)

    async def story(clock):
        world = HopWorld(Home(folder), clock, plan)
        await world.work()
        return world

    try:
        return run_virtual(story, within_s=WITHIN_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
