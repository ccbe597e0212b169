"""Looks into folders and git, beside the loop: an act stops where it needs one and is played again with what was found.

An act is a plain function that reads and writes the council's file at once. Where it looks
into a folder, it is left with nothing written, the look runs in a thread of
its own, and the act begins anew and is told the same answer at the same place. So it judges
by what is so at its end, and no transaction waits for a disk. After its first commit it is
never left any more: a further look runs where it stands.

Promises: an agent's acts that look are applied one after another, in the order of their
asking; an act that is no longer wanted ends its look's programs. Looks that hang hold no more
than their own threads.

Source  the council surface, "Files, git, search"
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import TypeVar

from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_LOOKS_MAX, COUNCIL_LOOKS_WAITING_MAX
from rulith.procs.short import ENDED_EARLY

T = TypeVar("T")
Look = Callable[[], object]


class _Wanted(BaseException):
    """The act needs what this look finds. No Exception, so that no act takes it for a failure."""

    def __init__(self, key: Hashable, look: Look) -> None:
        self.key, self.look = key, look


class Looks:
    """What one act has been told so far.

    is_spent  it has committed
    """

    def __init__(self) -> None:
        self.is_spent = False
        self._noted, self._noting = 0, 0
        self._known: dict[Hashable, tuple[object, Exception | None]] = {}

    def begin(self) -> None:
        self._noting = 0

    def take(self, key: Hashable, look: Look) -> object:
        """What `look` finds. Leaves the act where that is not known yet."""
        if key not in self._known:
            if not self.is_spent:
                raise _Wanted(key, look)
            self._known[key] = _outcome(look)
        found, problem = self._known[key]
        if problem is not None:
            raise problem
        return found

    def keep(self, key: Hashable, outcome: tuple[object, Exception | None]) -> None:
        self._known[key] = outcome

    def is_news(self) -> bool:
        """Whether the note that the act makes now was not made at an earlier beginning."""
        self._noting += 1
        self._noted, is_news = max(self._noted, self._noting), self._noting > self._noted
        return is_news


def _outcome(look: Look) -> tuple[object, Exception | None]:
    try:
        return look(), None
    except Exception as problem:         # raised again where the act asks: a refusal as one, a bug as one
        return None, problem


class AsideFolder:
    """A folder whose every look goes through `looks`: the methods of the one that `make` opens. What is written, is written at once."""

    def __init__(self, looks: Looks, given: str, make: Callable[[], object]) -> None:
        self._looks, self._given, self._make = looks, given, make

    @property
    def path(self) -> str:
        return str(self._looks.take((self._given, "path"), lambda: self._make().path))  # type: ignore[attr-defined]

    def write_record(self, name: str, text: str) -> str:
        return self._make().write_record(name, text)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Callable[..., object]:
        def look(*arguments: Hashable) -> object:
            return self._looks.take((self._given, name, arguments), lambda: getattr(self._make(), name)(*arguments))
        return look


class Beside:
    """Plays acts that look.

    use   makes the forum's folders go through these looks, or through none
    """

    def __init__(self, use: Callable[[Looks | None], None]) -> None:
        self._use = use
        self._slots = _Turns(COUNCIL_LOOKS_MAX)
        self._orders: dict[Hashable, _Turns] = {}

    async def play(self, work: Callable[[], T], order: Hashable = None) -> T:
        """What `work` comes to. Those of one `order` that look are played one after another. Raises what `work` does, and Refused council_busy."""
        looks = Looks()
        found = self._begin(work, looks)
        if not isinstance(found, _Wanted):
            return found
        turns = self._orders.setdefault(order, _Turns(1)) if order is not None else _Turns(1)
        await turns.take()
        try:
            while isinstance(found, _Wanted):
                looks.keep(found.key, await self._aside(found.look))
                found = self._begin(work, looks)
            return found
        finally:
            turns.give()
            if order is not None and turns.is_idle():
                self._orders.pop(order, None)

    def _begin(self, work: Callable[[], T], looks: Looks) -> T | _Wanted:
        looks.begin()
        self._use(looks)
        try:
            return work()
        except _Wanted as wanted:
            return wanted
        finally:
            self._use(None)

    async def _aside(self, look: Look) -> tuple[object, Exception | None]:
        """What the look comes to, run in a thread of its own; its programs are ended when nobody waits for it any more."""
        await self._slots.take()
        loop, unwanted = asyncio.get_running_loop(), threading.Event()
        done: asyncio.Future[tuple[object, Exception | None]] = loop.create_future()

        def end(outcome: tuple[object, Exception | None]) -> None:
            self._slots.give()
            if not done.done():
                done.set_result(outcome)

        def run() -> None:
            ENDED_EARLY.set(unwanted)
            outcome = _outcome(look)
            try:
                loop.call_soon_threadsafe(end, outcome)
            except RuntimeError:
                pass                                             # the loop has ended; nobody waits

        try:
            threading.Thread(target=copy_context().run, args=(run,), name="look", daemon=True).start()
        except RuntimeError:                                     # the system gives no thread
            self._slots.give()
            raise Refused("council_busy", count=COUNCIL_LOOKS_MAX) from None
        try:
            return await done
        finally:
            unwanted.set()


class _Turns:
    """So many at a time; the others wait in the order in which they came."""

    def __init__(self, free: int) -> None:
        self._free, self._all = free, free
        self._waiting: list[asyncio.Future[None]] = []

    def is_idle(self) -> bool:
        return self._free == self._all and not self._waiting

    async def take(self) -> None:
        """Raises Refused council_busy where too many wait already."""
        if self._free:
            self._free -= 1
            return
        if len(self._waiting) >= COUNCIL_LOOKS_WAITING_MAX:
            raise Refused("council_busy", count=len(self._waiting))
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.give()                                      # it was given the turn at the moment it left
            elif mine in self._waiting:
                self._waiting.remove(mine)
            raise

    def give(self) -> None:
        while self._waiting:
            first = self._waiting.pop(0)
            if not first.done():
                first.set_result(None)
                return
        self._free += 1
