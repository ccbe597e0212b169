"""What the Agent's tests share: a line to a scripted gateway on a clock that waits for nobody."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from rulith.base.clock import ManualClock, SystemClock
from rulith.net.client import HttpClient
from rulith.runtime.line import BoardLine
from rulith.runtime.session import Reach
from tests.runtime.scripted_gateway import TOKEN, ScriptedGateway


class Heard:
    """Everything a run told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict]] = []
        self.log: list[str] = []

    def emit(self, type_: str, **fields: object) -> None:
        self.events.append((type_, fields))

    def of(self, type_: str) -> list[dict]:
        return [fields for name, fields in self.events if name == type_]


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def line_to(heard):
    """`async with line_to(answer) as (gateway, line)`: a shaken-hands line to a gateway of that script."""

    @asynccontextmanager
    async def open_line(answer, *, timeout_s: float = 5.0, wait_s: float = 60.0, poll_s: float = 2.0, before=None,
                        token: str = TOKEN):
        async with ScriptedGateway(answer) as gateway:
            if before is not None:
                before(gateway)
            http = HttpClient(SystemClock(), environ={})
            clock = SleepingClock()
            line = BoardLine(http, Reach(gateway.url, token, timeout_s, wait_s), clock=clock, emit=heard.emit,
                             log=heard.log.append, poll_s=poll_s, sleep=clock.sleep)
            try:
                await line.open()
                yield gateway, line
            finally:
                await line.close()
                await http.close()

    return open_line


class SleepingClock(SystemClock):
    """Real time for the network, and sleeps that only move a number: no test waits for a poll."""

    def __init__(self) -> None:
        self._skipped = ManualClock(0.0, 0.0)
        self.slept: list[float] = []

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self._skipped.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._skipped.advance(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def in_loop():
    """Run a coroutine to its end, bounded."""

    def run(coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, 60))

    return run
