"""One MCP session per Source: opened when it is first needed, kept while it is sound, strictly serial.

The newest date is tried first with a discovery that costs nothing; a server that does not
know it, or says nothing, is greeted with a handshake. Before a session is used again it is
asked whether it is still there, so that a server that was restarted meanwhile costs nobody
a call.

Units   *_s seconds
Source  protocol/worker-contract.json, "mcp"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from rulith import VERSION
from rulith.adapters.mcp_link import Budget, Cut, McpLink, Turned
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import Response
from rulith.wire.mcp_outbound import (
    HANDSHAKES,
    PAGES_MAX,
    STATELESS,
    TOOLS_MAX,
    BadPeer,
    Offered,
    agreed_date,
    error_text,
    initialize,
    read_page,
    request,
    stated_dates,
)

PROBE_S = 3.0                    # for a server that lets an unknown request lie; one that is slow to start may still answer it
DISCOVERIES_MAX = 2              # a refusal that names this very date is asked once more
SESSIONS_MAX = 128


class NotReady(Exception):
    """The server cannot take the call; nothing of it was sent. Its text says why."""


class Session:
    """One server, ready to be asked. `configuration` is what it was opened with."""

    def __init__(self, link: McpLink, configuration: object, date: str | None) -> None:
        self.configuration = configuration
        self.link = link
        self._pinned = date
        self._asked = 0
        self._probe: int | None = None
        self._offered: dict[str, Offered] | None = None
        self._is_whole = False           # the list of Tools was not cut

    def is_sound(self) -> bool:
        return self.link.is_open

    async def ask(self, method: str, budget: Budget, params: Mapping[str, object] | None = None,
                  mirrored: Mapping[str, str] = {}) -> Response:
        """One request, sent once. Raises Cut, Turned."""
        assert self.link.date is not None
        return await self.link.exchange(request(self.link.date, self._next_id(), method, VERSION, params), budget, mirrored)

    def _next_id(self) -> int:
        self._asked += 1
        return self._asked

    # -- opening -----------------------------------------------------------------------

    async def open(self, budget: Budget) -> None:
        """Agree on a date. Raises NotReady; whatever went wrong, nothing was acted on."""
        try:
            await self.link.open()
            if self._pinned in (None, STATELESS) and await self._discover(budget):
                return
            if self._pinned == STATELESS:
                raise NotReady(f"it does not speak MCP {STATELESS}, which its vault entry asks for")
            await self._shake_hands(budget)
        except (Cut, Turned, BadPeer) as problem:
            raise NotReady(str(problem)) from None

    async def _discover(self, budget: Budget) -> bool:
        """Whether the server speaks the date without sessions."""
        self.link.date = STATELESS
        for _ in range(DISCOVERIES_MAX):
            self._probe = self._next_id()
            message = request(STATELESS, self._probe, "server/discover", VERSION)
            try:
                patience_s = budget.left_s() if self._pinned else min(PROBE_S, budget.left_s() / 3)
                response = await budget.within(self.link.exchange(message, budget), patience_s)
            except Turned:
                break
            except Cut as cut:
                if not cut.sent:
                    raise                # nobody is there
                if not self.link.is_open:    # an old server may end at what it does not know
                    await self.link.close()
                    await self.link.open()
                break
            if STATELESS not in stated_dates(response):
                break
            if response.result is not None:
                return True
        self.link.date = None
        return False

    async def _shake_hands(self, budget: Budget) -> None:
        refusal = ""
        for date in HANDSHAKES if self._pinned is None else (self._pinned,):
            response = await self.link.exchange(initialize(self._next_id(), date, VERSION), budget, late=self._probe)
            if response.id == self._probe:       # it was only slow to start
                self.link.date = STATELESS
                return
            if response.result is not None:
                agreed = agreed_date(response.result)
                if self._pinned not in (None, agreed):
                    raise BadPeer(f"it answers in MCP {agreed}, and its vault entry asks for {self._pinned}")
                self.link.date = agreed
                await self.link.notify(jsonrpc.notification("notifications/initialized"), budget)
                return
            assert response.error is not None
            refusal = error_text(response.error)
        raise BadPeer(f"it refused the handshake: {refusal}")

    async def check(self, budget: Budget) -> bool:
        """Whether a session that was used before is still there."""
        if not self.is_sound():
            return False
        if self.link.survives_silence or self.link.date == STATELESS:
            return True
        try:
            await self.ask("ping", budget)
            return self.is_sound()
        except (Cut, Turned):
            return False

    # -- Tools -------------------------------------------------------------------------

    async def tools(self, budget: Budget) -> tuple[list[Offered], bool]:
        """What the server offers, at most 200, and whether that is all. Raises NotReady."""
        found: dict[str, Offered] = {}
        cursor, seen = None, set()
        for _ in range(PAGES_MAX):
            try:
                response = await self.ask("tools/list", budget, {} if cursor is None else {"cursor": cursor})
                if response.error is not None:
                    raise NotReady(f"it does not list its tools: {error_text(response.error)}")
                assert response.result is not None
                rows, cursor = read_page(response.result)
            except (Cut, Turned, BadPeer) as problem:
                raise NotReady(str(problem)) from None
            for row in rows:
                found.setdefault(row.name, row)
            if len(found) > TOOLS_MAX:
                break
            if cursor is None:
                self._offered, self._is_whole = found, True
                return list(found.values()), True
            if cursor in seen:
                raise NotReady("its tools/list names the same page again")
            seen.add(cursor)
        self._offered, self._is_whole = found, False
        return list(found.values())[:TOOLS_MAX], False

    async def find(self, name: str, budget: Budget) -> Offered | None:
        """The Tool of this name; None where the list is too long to say that there is none. Raises NotReady."""
        if self._offered is None or (name not in self._offered and self._is_whole):
            await self.tools(budget)         # it may have come since
        assert self._offered is not None
        offered = self._offered.get(name)
        if offered is None and self._is_whole:
            names = ", ".join(sorted(self._offered)[:20]) or "none"
            raise NotReady(f"it offers no tool {name!r}; it offers {names}")
        return offered


class Sessions:
    """The open sessions of one process, one for each Source."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}
        self.turn = asyncio.Lock()       # one operation at a time

    async def take(self, source: str, configuration: object, date: str | None, make: Callable[[], McpLink], budget: Budget) -> Session:
        """The session of this Source, sound and in this configuration. Raises NotReady."""
        session = self._open.get(source)
        if session is not None and (session.configuration != configuration or not await session.check(budget)):
            await self.drop(source)
            session = None
        if session is None:
            session = Session(make(), configuration, date)
            self._open[source] = session
            while len(self._open) > SESSIONS_MAX:
                await self.drop(next(iter(self._open)))
            await session.open(budget)
        return session

    def last_words(self, source: str) -> str:
        """What the server of this Source said aside; empty when nothing."""
        session = self._open.get(source)
        return session.link.last_words() if session is not None else ""

    async def drop(self, source: str) -> None:
        """End the session of this Source, if there is one."""
        session = self._open.pop(source, None)
        if session is not None:
            await session.link.close()

    async def close(self) -> None:
        """End them all, side by side."""
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(session.link.close() for session in sessions))
