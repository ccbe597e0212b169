"""An event loop whose time passes only when nobody has anything to do.

Timers fire in order and at once: an hour of waiting costs nothing, and two runs of one seed
are the same run. Source  our decision (style, "Faults on purpose").
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine

REAL_WAIT_S = 20.0              # for a thread's word; nothing here takes a thousandth of it
EPOCH_S = 1_790_000_000.0


class Stuck(AssertionError):
    """Everybody waits and nothing will come."""


class _Selector(selectors.DefaultSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None):
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            ready = super().select(REAL_WAIT_S)
            if not ready:
                raise Stuck("nobody has anything to do, and no timer runs")
            return ready
        self.loop.now_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.now_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.now_s


class LoopClock:
    """The product's clock on that time; both faces advance together."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def monotonic_s(self) -> float:
        return 1_000.0 + self._loop.now_s

    def wall_s(self) -> float:
        return EPOCH_S + self._loop.now_s


def run_virtual(story: Callable[[LoopClock], Coroutine[object, object, object]], *, within_s: float) -> object:
    """The result of `story(clock)`; more than `within_s` of virtual time is a failure."""
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(asyncio.wait_for(story(LoopClock(loop)), within_s))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()
