"""The half of the Worker that waits: sockets, processes, timers and signals for work/core.py.

Carries out each deed of the core and brings back what happened as a signal, in the order
it happened. Decides nothing; an answer that was abandoned never arrives.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Failed, Outcome, Withheld
from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.net.client import HttpClient, NetFailed
from rulith.wire.lease import Moment
from rulith.wire.worker_hop import request_headers
from rulith.work.core import Worker
from rulith.work.keeping import Custodian
from rulith.work.replies import Rejected, Reply, Silent, judge_reply
from rulith.work.signals import (
    Abandon,
    Began,
    Deed,
    Exit,
    FetchSources,
    Keep,
    KeptCame,
    Kill,
    ParentGone,
    Run,
    RunEnded,
    Send,
    Signal,
    SourcesCame,
    StopAsked,
    Tell,
)

SOURCES_TIMEOUT_S = 10.0
ENDING_S = 10.0                  # for a killed tree to be gone, and for tasks to unwind

TellHost = Callable[[str, Mapping[str, object]], None]


class Line:
    """The gateway as one Worker process reaches it: three identity headers and one address."""

    def __init__(self, client: HttpClient, work_url: str, connection_id: str, key: str, worker_id: str) -> None:
        self._client = client
        self._url = work_url
        self._connection_id, self._key, self._worker_id = connection_id, key, worker_id

    async def post(self, send: Send) -> Reply:
        """One operation, once. Whatever keeps its answer away is Silent."""
        headers = request_headers(connection_id=self._connection_id, key=self._key, worker_id=self._worker_id,
                                  generation=send.generation)  # fmt: skip
        try:
            answer = await self._client.request("POST", self._url, headers, send.body, timeout_s=send.timeout_s)
        except NetFailed as failed:
            return Silent(failed.detail)
        except Refused as refused:
            return Silent(refused.happened)
        return judge_reply(answer.status, answer.body)

    async def sources(self) -> SourcesCame:
        """The granted Sources, or why they did not come."""
        try:
            headers = request_headers(connection_id=self._connection_id, key=self._key)
            answer = await self._client.request("GET", self._url + "/sources", headers, timeout_s=SOURCES_TIMEOUT_S)
            if answer.status == 401:
                return SourcesCame(rejected=judge_reply(401, answer.body))
            if answer.status != 200:
                return SourcesCame(why=f"the gateway answered {answer.status}")
            document = read_json(answer.body, "the Source list")
        except NetFailed as failed:
            return SourcesCame(why=failed.detail)
        except Refused as refused:
            return SourcesCame(why=refused.happened)
        rows = document.get("sources") if isinstance(document, dict) else None
        if not isinstance(rows, list):
            return SourcesCame(why="the answer holds no list of sources")
        return SourcesCame(rows)


class Driver:
    """Runs one core to its Exit on this event loop."""

    def __init__(self, core: Worker, line: Line, clock: Clock, tell: TellHost, custodian: Custodian | None = None) -> None:
        self._core, self._line, self._clock, self._tell, self._custodian = core, line, clock, tell, custodian
        self._inbox: deque[tuple[type, asyncio.Task[None] | None, Signal]] = deque()
        self._woken = asyncio.Event()
        self._tasks: dict[type, asyncio.Task[None]] = {}
        self._unfinished: set[asyncio.Task[None]] = set()   # every task not yet done, abandoned ones too
        self._bug: BaseException | None = None
        self._exit: int | None = None

    def generation(self) -> int | None:
        """Of the lease that is held now."""
        return self._core.keeper.generation(self._now())

    def put(self, happened: Signal) -> None:
        """Bring a signal from outside: a stop, the parent's end."""
        self._inbox.append((type(happened), None, happened))
        self._woken.set()

    async def run(self) -> int:
        """Until the core exits; the exit code. Leaves no task and no child behind."""
        try:
            await self._carry_out(self._core.receive(Began(), self._now()))
            while self._exit is None:
                await self._wait()
                if self._bug is not None:
                    raise self._bug
                while self._inbox and self._exit is None:
                    await self._take(*self._inbox.popleft())
                if self._exit is None:
                    await self._carry_out(self._core.tick(self._now()))
            return self._exit
        finally:
            await self._end_all()

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_s(), self._clock.wall_s())

    async def _wait(self) -> None:
        """Until something happened or the core's timer is due; a timer of the loop, because wait_for can lose a cancel."""
        due_s = self._core.due_s(self._now())
        timer = None if due_s is None else asyncio.get_running_loop().call_later(due_s, self._woken.set)
        try:
            if not self._inbox:
                await self._woken.wait()
        finally:
            if timer is not None:
                timer.cancel()
        self._woken.clear()

    async def _take(self, kind: type, task: asyncio.Task[None] | None, happened: Signal) -> None:
        if task is not None:
            if self._tasks.get(kind) is not task:
                return           # it was abandoned after it had arrived here
            del self._tasks[kind]
        await self._carry_out(self._core.receive(happened, self._now()))

    async def _carry_out(self, deeds: list[Deed]) -> None:
        for deed in deeds:
            if isinstance(deed, Send):
                self._start(deed.answer, partial(self._post, deed))
            elif isinstance(deed, FetchSources):
                self._start(SourcesCame, self._line.sources)
            elif isinstance(deed, Keep):
                assert self._custodian is not None
                self._start(KeptCame, partial(self._custodian.keep, deed))
            elif isinstance(deed, Run):
                self._start(RunEnded, partial(self._run, deed.runnable))
            elif isinstance(deed, Abandon):
                self._drop(deed.answer)
            elif isinstance(deed, Kill):
                await self._kill()
            elif isinstance(deed, Tell):
                self._tell(deed.type, deed.facts)
            elif isinstance(deed, Exit):
                self._exit = deed.code

    def _start(self, kind: type, work: Callable[[], Awaitable[Signal]]) -> None:
        assert kind not in self._tasks, f"two {kind.__name__} at once"

        async def bring() -> None:
            happened = await work()
            self._inbox.append((kind, asyncio.current_task(), happened))
            self._woken.set()

        task = asyncio.ensure_future(bring())
        self._tasks[kind] = task
        self._unfinished.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._unfinished.discard(task)
        if not task.cancelled() and (bug := task.exception()) is not None:
            self._bug = bug      # a task of ours never fails by design: run() raises it
            self._woken.set()

    def _drop(self, kind: type) -> None:
        task = self._tasks.pop(kind, None)
        if task is not None:
            task.cancel()

    async def _kill(self) -> None:
        task = self._tasks.pop(RunEnded, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task], timeout=ENDING_S)

    async def _post(self, send: Send) -> Signal:
        return send.answer(await self._line.post(send))

    async def _run(self, runnable: Runnable) -> RunEnded:
        return RunEnded(await run_call(runnable, self._clock, self._tell))

    async def _end_all(self) -> None:
        tasks = [task for task in self._unfinished if not task.done()]
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=ENDING_S)


async def run_call(runnable: Runnable, clock: Clock, tell: TellHost) -> Outcome:
    """How one call ended, whatever its adapter does."""
    began_s = clock.monotonic_s()
    outcome: Outcome
    try:
        outcome = await runnable.run()
    except Refused as refused:
        outcome = Failed(refused.happened)
    except Exception as bug:  # an adapter's bug after a claim: what it did is unknown, and the loop goes on
        tell("error", {"what": "adapter", "detail": type(bug).__name__})
        outcome = Withheld("adapter_ended_unexpectedly")
    millis = round((clock.monotonic_s() - began_s) * 1000)
    tell("tool-timing", {"ms": millis, "ended": type(outcome).__name__.lower()})
    return outcome


class Stoppable(Protocol):
    def put(self, happened: Signal) -> None: ...


async def watch_stop(driver: Stoppable, controls: AsyncIterator[str]) -> None:
    """Turn the parent's words into signals: "stop" drains, "eof" means that nobody waits."""
    async for operation in controls:
        if operation == "stop":
            driver.put(StopAsked())
        elif operation == "eof":
            driver.put(ParentGone())


def catch_signals(driver: Stoppable) -> None:
    """SIGINT and SIGTERM drain; a second Ctrl-C ends at once what still runs."""
    loop = asyncio.get_running_loop()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        driver.put(ParentGone() if interrupted else StopAsked())
        interrupted = True

    for number, act in ((signal.SIGINT, interrupt), (signal.SIGTERM, lambda: driver.put(StopAsked()))):
        try:
            loop.add_signal_handler(number, act)
        except NotImplementedError:      # Windows: the plain handler, handed over to the loop
            signal.signal(number, lambda *_, act=act: loop.call_soon_threadsafe(act))
