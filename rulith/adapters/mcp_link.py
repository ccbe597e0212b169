"""What both ways to an MCP server share: one budget for a whole operation, and how an exchange can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Protocol, TypeVar

from rulith.base.clock import Clock
from rulith.wire.jsonrpc import RequestId, Response

T = TypeVar("T")


class Cut(Exception):
    """No certain answer came. `sent`: the server may have acted on what it was asked."""

    def __init__(self, detail: str, *, sent: bool = True) -> None:
        super().__init__(detail)
        self.detail, self.sent = detail, sent


class Turned(Exception):
    """The server, or what stands before it, certainly did not take the request."""


class Budget:
    """Time and received bytes of one operation, from opening a session to the end of the call."""

    def __init__(self, clock: Clock, timeout_ms: int, bytes_max: int) -> None:
        self._clock, self._timeout_ms, self._bytes_max = clock, timeout_ms, bytes_max
        self._deadline_s = clock.monotonic_s() + timeout_ms / 1000
        self._taken = 0

    def left_s(self) -> float:
        return max(0.0, self._deadline_s - self._clock.monotonic_s())

    def check(self) -> None:
        """Raises Cut where no time is left to begin with anything."""
        if self.left_s() == 0:
            raise Cut(f"no time is left of {self._timeout_ms / 1000:g} s", sent=False)

    def take(self, count: int) -> None:
        """Raises Cut once more came than was allowed."""
        self._taken += count
        if self._taken > self._bytes_max:
            raise Cut(f"it answered with more than {self._bytes_max} bytes")

    def bytes_left(self) -> int:
        return self._bytes_max - self._taken

    async def within(self, work: Awaitable[T], most_s: float | None = None) -> T:
        """`work`, seen to its end when the time is over or nobody waits: it holds the link until then. Raises Cut."""
        doing = asyncio.ensure_future(work)
        doing.add_done_callback(lambda done: done.cancelled() or done.exception())       # heard, where its caller has left
        try:
            await asyncio.wait([doing], timeout=self.left_s() if most_s is None else min(most_s, self.left_s()))
        finally:
            if not doing.done():
                doing.cancel()
                await asyncio.wait([doing])
        if doing.cancelled():
            raise Cut(f"it did not answer within {self._timeout_ms / 1000:g} s" if most_s is None else "it did not answer")
        return doing.result()


class McpLink(Protocol):
    """One way to a server. An exchange is tried once; `date` is None until a handshake named one."""

    date: str | None
    is_open: bool
    survives_silence: bool       # whether a reused link can have been forgotten by the other side

    async def open(self) -> None:
        """Raises Cut(sent=False)."""

    async def exchange(self, message: Mapping[str, object], budget: Budget, mirrored: Mapping[str, str] = ...,
                       late: RequestId | None = None) -> Response:
        """The answer. `late` is a discovery given up on: should it be answered now, in our newest date, that is the answer.

        Raises Cut, Turned.
        """

    async def notify(self, message: Mapping[str, object], budget: Budget) -> None: ...

    async def close(self) -> None: ...

    def last_words(self) -> str:
        """What the server said aside, for a person; empty when nothing."""
