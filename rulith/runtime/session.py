"""The Agent's MCP session: one at a time, calls in series, nothing ever sent twice.

A call either has an answer, was never sent, or is lost. A cut stream is gone on with from
its last event, a few times and inside the call's own time. A lost call opens a new session
and stays lost: only the strip tells later what became of it. 401 and a takeover end the
process, wherever they appear.

Knows no model and no Case.

Units   *_s seconds
Source  the MCP surface, "Transport and identity", "Control and failure answers"; MCP 2025-11-25
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rulith import VERSION
from rulith.base.clock import Clock
from rulith.base.errors import Mismatch, Refused
from rulith.base.ids import mint_uuid
from rulith.net.client import ClientStream, HttpClient, NetFailed
from rulith.runtime.answers import Answer, Unreadable, lost, read_answer, read_meta, unobserved, unsent
from rulith.runtime.deliveries import Custodian, delivered
from rulith.runtime.strip import Entry, Key, StateRow, read_state_form
from rulith.runtime.surface import Tool, check_initialize, check_tools, credential_words, flat, version_words
from rulith.wire import jsonrpc, mcp_client
from rulith.wire.mcp_client import (
    CredentialRejected, Failed, Lost, NotExecuted, Progress, Replaced, ReplyReader, Verdict, VersionRefused,
)

HANDSHAKE_TIMEOUT_S = 45.0
PING_TIMEOUT_S = 15.0
GOODBYE_TIMEOUT_S = 2.0
_FINAL = ("credential_rejected", "connection_replaced")


@dataclass(frozen=True)
class Reach:
    """Where the gateway is and how long a call may take."""

    url: str                      # base, without /mcp and without a trailing slash
    token: str
    timeout_s: float = 75.0       # without an answer or own progress
    wait_s: float = 600.0         # in all
    resume_attempts: int = 2      # GETs for the rest of one cut stream
    resume_backoff_s: float = 0.25    # before the second one, and as much more before each later one
    custodian: Custodian | None = None    # who keeps content on this machine

    @property
    def endpoint(self) -> str:
        return f"{self.url}/mcp"

    def __repr__(self) -> str:
        return f"Reach({self.url})"       # never the token


@dataclass(frozen=True)
class Unsent:
    """Nothing left this machine."""

    detail: str


class BoardSession:
    """The session with one gateway, reopened after a loss. Not for concurrent use."""

    def __init__(self, http: HttpClient, reach: Reach, *, clock: Clock, log: Callable[[str], None],
                 sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.agent_id = ""
        self.tools: list[Tool] = []
        self.opening_operations: list[StateRow] | None = None   # the state form that `initialize` showed
        self.owes_acknowledgement = False                       # an outcome was delivered and nothing requested since
        self.last_strip: tuple[Entry, ...] = ()                 # of the newest tool answer
        self._listed: frozenset[Key] = frozenset()              # by the newest state form
        self.before: frozenset[Key] = frozenset()               # what was known when the newest call was sent
        self.store_trouble = ""                                 # the gateway's words, where its last answer says that it cannot commit
        self._http = http
        self._reach = reach
        self._clock = clock
        self._sleep = sleep
        self._log = log
        self._session_id: str | None = None
        self._cursor: str | None = None       # the newest event id that this session's streams brought
        self._requests = 0

    @property
    def known(self) -> frozenset[Key]:
        """Every operation listed so far that can still be listed: what is not among them is new."""
        return self._listed.union(entry.key for entry in self.last_strip)

    # opening and ending

    async def open(self) -> None:
        """Shake hands and check the surface.

        Raises Mismatch; Refused gateway_unreachable, surface_answer, credential_rejected, connection_replaced.
        """
        self._session_id = self._cursor = None
        result = await self._ask("initialize", mcp_client.initialize(self._protocol_id(), version=VERSION))
        check_initialize(result)
        meta = read_meta(result)
        await self._ask("initialized", mcp_client.initialized(), PING_TIMEOUT_S)
        rows, last = await self._list_tools()
        agent = meta or read_meta(last)
        if agent is None:
            raise Mismatch("The gateway names no agentId; the token is never decoded to learn it.")
        if self.agent_id and agent.agent_id != self.agent_id:
            raise Mismatch("The gateway now names another Agent for the same token.")
        self.tools = check_tools(rows, self._log)
        self.agent_id = agent.agent_id
        self.opening_operations = read_state_form(meta.operations) if meta is not None else None
        self._listed = frozenset(row.key for row in self.opening_operations or ())

    async def _list_tools(self) -> tuple[list[object], dict]:
        rows: list[object] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(mcp_client.PAGES_MAX):
            page = await self._ask("tools/list", mcp_client.list_tools(self._protocol_id(), cursor))
            listed = page.get("tools")
            rows.extend(listed if isinstance(listed, list) else [])
            cursor = mcp_client.next_page(page.get("nextCursor"), seen)
            if cursor is None:
                return rows, page
        raise Mismatch(f"The gateway's tool list does not end after {mcp_client.PAGES_MAX} pages.")

    async def close(self) -> None:
        """Tell the gateway that this session is over; whether it hears does not matter."""
        if self._session_id is None:
            return
        headers = mcp_client.delete_headers(self._reach.token, self._session_id)
        self._session_id = None
        try:
            await self._http.request("DELETE", self._reach.endpoint, headers, timeout_s=GOODBYE_TIMEOUT_S)
        except (NetFailed, Refused) as failed:
            self._log(f"the session's end was not heard: {failed}")

    # what may be asked

    async def call(self, tool: str, arguments: dict, *, slow: Callable[[], None] = lambda: None) -> Answer:
        """Call one tool once. `slow` is called when the gateway holds it for longer than one sign of life. Raises Mismatch, and Refused credential_rejected or connection_replaced."""
        self.before = self.known
        if self._session_id is None and not await self.reopen():
            return _not_sent(tool, "there is no session with the gateway")
        self.before = self.known              # a new session has just listed what an old one may have admitted
        request_id = mint_uuid()
        token = None if tool == "QueryBoard" else mcp_client.progress_token_of(request_id)
        message = mcp_client.call_tool(request_id, tool, arguments, progress_token=token)
        wait_s = max(self._reach.wait_s, self._reach.timeout_s)
        verdict, ordinal = await self._exchange(message, self._reach.timeout_s, wait_s, token=token, slow=slow)
        if isinstance(verdict, Unsent):
            self._log(f"{tool} was not sent: {verdict.detail}")
            return _not_sent(tool, verdict.detail)
        if isinstance(verdict, NotExecuted):
            return unsent(tool, verdict.reason, flat(verdict.teaching))
        if isinstance(verdict, Failed):
            verdict = Lost("upstream_unavailable", f"JSON-RPC error {verdict.code}: {flat(verdict.message, 200)}")
        if isinstance(verdict, Lost):
            return await self._after_loss(tool, verdict, ordinal)
        answer = read_answer(tool, verdict.result, agent_id=self.agent_id, ordinal=ordinal)
        if isinstance(answer, Unreadable):
            return await self._after_loss(tool, Lost(answer.code, answer.problem), ordinal)
        self.owes_acknowledgement = answer.delivers
        if answer.operations:
            self.last_strip = answer.operations
        return await delivered(self._http, self._reach.custodian, verdict.result, answer) if tool == "ReadArtifact" else answer

    async def ping(self) -> list[StateRow] | None:
        """The operations in their state form, or None when they could not be had.

        Raises like call(). LookupError: the gateway answered, but with rows that cannot be read.
        """
        if self._session_id is None and not await self.reopen():
            return None
        verdict, _ = await self._exchange(mcp_client.ping(self._protocol_id()), PING_TIMEOUT_S, PING_TIMEOUT_S)
        if not isinstance(verdict, mcp_client.Answer):
            if self.store_trouble:
                return None              # told by who waits, once and not with each ping
            self._log(f"ping: {getattr(verdict, 'detail', verdict)}")
            if isinstance(verdict, Lost):
                await self.reopen()
            return None
        meta = read_meta(verdict.result)
        rows = None if meta is None else read_state_form(meta.operations)
        if rows is None:
            raise LookupError("the state form cannot be read")
        self._listed = frozenset(row.key for row in rows)
        return rows

    async def reopen(self) -> bool:
        """A new session in place of the lost one; False when there is none to be had now."""
        try:
            await self.open()
        except Refused as refusal:
            self._session_id = None
            if refusal.code in _FINAL:
                raise
            self._log(f"no session: {refusal}")
            return False
        return True

    async def _after_loss(self, tool: str, loss: Lost, ordinal: int | None) -> Answer:
        self._log(f"{tool}: {loss.code}: {loss.detail}")
        if not loss.store:               # a gateway that says so knows this session still
            await self.reopen()
        return unobserved(loss.code) if tool == "QueryBoard" else lost(tool, loss.code, ordinal)

    # one exchange

    def _protocol_id(self) -> str:
        self._requests += 1
        return f"runtime_{self._requests}"

    async def _ask(self, step: str, message: dict, timeout_s: float = HANDSHAKE_TIMEOUT_S) -> dict:
        """A handshake step: its result, or an exception that says why there is none."""
        verdict, _ = await self._exchange(message, timeout_s, timeout_s, opening=step == "initialize")
        if isinstance(verdict, mcp_client.Answer):
            return verdict.result
        if self.store_trouble:
            raise Refused("gateway_cannot_commit", url=self._reach.url, said=store_words(self.store_trouble))
        detail = flat(getattr(verdict, "detail", "") or getattr(verdict, "message", ""), 300)
        is_silent = isinstance(verdict, Unsent) or (isinstance(verdict, Lost) and verdict.code == "response_timeout")
        if is_silent or detail in ("HTTP 502", "HTTP 503", "HTTP 504"):
            raise Refused("gateway_unreachable", url=self._reach.url, problem=detail)
        raise Refused("surface_answer", url=self._reach.url, step=step, problem=detail)

    async def _exchange(self, message: dict, timeout_s: float, wait_s: float, *, token: str | None = None,
                        opening: bool = False, slow: Callable[[], None] = lambda: None) -> tuple[Verdict | Unsent, int | None]:
        """Send one message and wait for what it comes to, with the ordinal that its progress named.

        Raises what ends this process: Mismatch, Refused credential_rejected, connection_replaced.
        """
        self.owes_acknowledgement = False
        reader = ReplyReader(message.get("id"), self._session_id, progress_token=token, is_initialize=opening,
                             cursor=self._cursor)
        patience = _Patience(self._clock, timeout_s, wait_s, slow)
        headers = mcp_client.post_headers(self._reach.token, self._session_id)
        if self._reach.custodian is not None and message.get("method") == "tools/call":
            headers |= self._reach.custodian.headers()
        verdict = await self._read(reader, patience, "POST", headers, jsonrpc.encode(message), timeout_s)
        for attempt in range(self._reach.resume_attempts):
            if not isinstance(verdict, Lost) or verdict.code != "response_lost" or not reader.can_resume:
                break
            reader, verdict = await self._resume(reader, patience, attempt * self._reach.resume_backoff_s)
        self._cursor = reader.cursor
        self._end_process(verdict)
        self.store_trouble = flat(verdict.store, 500) if isinstance(verdict, Lost) else ""
        if isinstance(verdict, mcp_client.Answer):
            self._session_id = reader.session_id
        return verdict, patience.ordinal

    async def _resume(self, reader: ReplyReader, patience: _Patience, pause_s: float) -> tuple[ReplyReader, Verdict]:
        """Ask for the rest of a cut stream: the reader that goes on, and what it found."""
        self._log(f"the stream was cut; going on after event {flat(reader.cursor, 60)!r}")
        reader = reader.resumed()
        headers = mcp_client.resume_headers(self._reach.token, reader.session_id, reader.cursor)
        try:
            await self._sleep(min(pause_s, patience.left_s()))
            verdict = await self._read(reader, patience, "GET", headers, b"", patience.left_s())
        except asyncio.TimeoutError:
            return reader, Lost(patience.code, "no answer in time")
        return reader, Lost("response_lost", verdict.detail) if isinstance(verdict, Unsent) else verdict

    async def _read(self, reader: ReplyReader, patience: _Patience, method: str, headers: dict[str, str], body: bytes,
                    timeout_s: float) -> Verdict | Unsent:
        """One HTTP exchange, read to the verdict of `reader`."""
        try:
            async with self._http.stream(method, self._reach.endpoint, headers, body, timeout_s=timeout_s) as answer:
                return await _verdict(reader, answer, patience)
        except NetFailed as failed:
            if not failed.sent:
                return Unsent(failed.detail)
            late = failed.cause == "timeout"
            return Lost(patience.code, failed.detail) if late else _first(reader.cut(failed.detail))
        except asyncio.TimeoutError:
            return Lost(patience.code, "no answer in time")

    def _end_process(self, verdict: Verdict | Unsent) -> None:
        """Raise where no other session can help."""
        if isinstance(verdict, CredentialRejected):
            self._session_id = None
            raise Refused("credential_rejected", url=self._reach.url, said=credential_words(verdict))
        if isinstance(verdict, Replaced):
            self._session_id = None
            raise Refused("connection_replaced", nothing_ran=verdict.not_executed)
        if isinstance(verdict, VersionRefused):
            raise Mismatch(version_words(verdict, console=f"{self._reach.url}/console/"))


def store_words(said: str) -> str:
    """The gateway's words on its store, to be put into a sentence."""
    return said.rstrip(". ")


class _Patience:
    """How long one wait may still take; own progress prolongs it up to the bound."""

    def __init__(self, clock: Clock, timeout_s: float, wait_s: float, slow: Callable[[], None]) -> None:
        self._slow = slow
        self._signs = 0
        self.ordinal: int | None = None
        self.code = "response_timeout"
        self._clock = clock
        self._timeout_s = timeout_s
        self._bound = clock.monotonic_s() + wait_s
        self._deadline = min(clock.monotonic_s() + timeout_s, self._bound)

    def left_s(self) -> float:
        """Seconds until this wait ends. Raises asyncio.TimeoutError when it has."""
        left = self._deadline - self._clock.monotonic_s()
        if left <= 0:
            raise asyncio.TimeoutError
        return left

    def prolong(self, progress: Progress) -> None:
        self.ordinal = progress.ordinal or self.ordinal
        self._signs += 1
        if self._signs == 2:             # the first says that it was admitted, the second that it is still held
            self._slow()
        wished = self._clock.monotonic_s() + self._timeout_s
        self.code = "response_wait_bound" if wished >= self._bound else "response_timeout"
        self._deadline = min(wished, self._bound)


async def _verdict(reader: ReplyReader, answer: ClientStream, patience: _Patience) -> Verdict:
    """Feed the reader until it knows; a stream may stay open behind the verdict.

    The link keeps the time: `asyncio.wait_for` before Python 3.12 forgets a cancellation that
    comes together with the awaited bytes, and an Agent told to end would go on.
    """
    events = reader.start(answer.status, answer.headers)
    chunks = answer.__aiter__()
    while True:
        for event in events:
            if not isinstance(event, Progress):
                return event
            patience.prolong(event)
        answer.idle_s = patience.left_s()
        try:
            events = reader.receive(await chunks.__anext__())
        except StopAsyncIteration:
            events = reader.finish()


def _first(events: list) -> Verdict:
    return events[0]


def _not_sent(tool: str, cause: str) -> Answer:
    if tool == "QueryBoard":
        return unobserved(cause)
    return unsent(tool, "upstream_unavailable", f"The call was not sent ({cause}). Nothing ran.")
