"""An MCP server at an address: one POST per message, its answer as JSON or as a stream of events.

A redirect is an error. A stream that breaks before its answer is taken up again where the
server gave it a cursor; that asks for the rest of an answer and never sends the call again.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rulith.adapters.mcp_link import Budget, Cut, Turned
from rulith.adapters.outbound import Outbound
from rulith.adapters.places import Place
from rulith.base.errors import Refused
from rulith.net.client import ClientStream, HttpClient, NetFailed
from rulith.net.link import within
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import RequestId, Response
from rulith.wire.mcp_outbound import SESSION_HEADER, STATELESS, headers_of, said, sort_out
from rulith.wire.sse import EventStream

RESUMES_MAX, RESUME_WAIT_S, RESUME_WAIT_MAX_S = 5, 0.2, 5.0
CLOSE_S = 2.0
SESSION_CHARS_MAX = 1_024


class HttpLink:
    """One address, and the session there. Belongs to one event loop; one exchange at a time."""

    survives_silence = False

    def __init__(self, place: Place, outbound: Outbound) -> None:
        self.date: str | None = None
        self.is_open = False
        self._place, self._outbound = place, outbound
        self._client: HttpClient | None = None
        self._session: str | None = None
        self._cursor: str | None = None
        self._retry_s = RESUME_WAIT_S

    async def open(self) -> None:
        try:
            self._client = self._outbound.client(self._place.url)
        except Refused as refused:
            raise Cut(refused.happened, sent=False) from None
        self.is_open = True

    def last_words(self) -> str:
        return ""

    async def exchange(self, message: Mapping[str, object], budget: Budget, mirrored: Mapping[str, str] = {},
                       late: RequestId | None = None) -> Response:
        if not self.is_open:
            raise Cut("its session is over", sent=False)
        budget.check()
        return await budget.within(self._ask(message, budget, mirrored))

    async def notify(self, message: Mapping[str, object], budget: Budget) -> None:
        await budget.within(self._say(message, budget))

    def _headers(self, message: Mapping[str, object], mirrored: Mapping[str, str]) -> dict[str, str]:
        return {**self._place.headers, **headers_of(message, self.date, self._session, mirrored)}

    async def _say(self, message: Mapping[str, object], budget: Budget) -> None:
        """A message that has no answer."""
        assert self._client is not None
        try:
            answer = await self._client.request("POST", self._place.url, self._headers(message, {}), jsonrpc.encode(message),
                                                timeout_s=budget.left_s(), body_bytes_max=max(1, budget.bytes_left()))
        except (NetFailed, Refused) as failed:
            raise Cut(str(failed), sent=False) from None
        budget.take(len(answer.body))

    async def _ask(self, message: Mapping[str, object], budget: Budget, mirrored: Mapping[str, str]) -> Response:
        assert self._client is not None
        awaited, self._cursor, self._retry_s = message["id"], None, RESUME_WAIT_S
        # A call gets a connection of its own: a kept one that closes as it is sent would make it unknown for nothing.
        own = self._outbound.client(self._place.url) if message.get("method") == "tools/call" else None
        try:
            async with (own or self._client).stream("POST", self._place.url, self._headers(message, mirrored), jsonrpc.encode(message),
                                           timeout_s=budget.left_s()) as answer:
                found = await self._read(answer, awaited, budget)
                if message.get("method") == "initialize" and found is not None:
                    self._take_session(answer)
        except NetFailed as failed:
            if not failed.sent or self._cursor is None:
                raise Cut(failed.detail, sent=failed.sent) from None
            found = None
        except Refused as refused:
            raise Cut(refused.happened, sent=False) from None
        finally:
            if own is not None:
                await own.close()
        for _ in range(RESUMES_MAX):
            if found is not None:
                return found
            if self._cursor is None or self.date in (None, STATELESS):
                break                            # nothing to go on from, or no date that has this
            found = await self._resume(awaited, budget)
        if found is None:
            raise Cut("its answer ended before it was whole")
        return found

    def _take_session(self, answer: ClientStream) -> None:
        session = answer.headers.get(SESSION_HEADER)
        if session is not None and (not session.isascii() or not session.isprintable() or len(session) > SESSION_CHARS_MAX):
            raise Cut("its session id cannot be repeated")
        self._session = session

    async def _resume(self, awaited: object, budget: Budget) -> Response | None:
        """The rest of a broken stream; None where it broke again."""
        assert self._client is not None and self._cursor is not None
        await asyncio.sleep(self._retry_s)
        headers = {**self._place.headers, **headers_of({}, self.date, self._session, {}), "accept": "text/event-stream",
                   "last-event-id": self._cursor}
        del headers["content-type"]
        try:
            async with self._client.stream("GET", self._place.url, headers, timeout_s=budget.left_s()) as answer:
                if answer.status != 200:
                    self._cursor = None
                    return None
                return await self._read(answer, awaited, budget)
        except (NetFailed, Refused):
            return None

    async def _read(self, answer: ClientStream, awaited: object, budget: Budget) -> Response | None:
        """The awaited answer; None where a stream ended without it. Raises Cut, Turned, NetFailed."""
        kind = (answer.headers.get("content-type") or "").partition(";")[0].strip().lower()
        if 200 <= answer.status < 300 and kind == "text/event-stream":
            return await self._events(answer, awaited, budget)
        body = bytearray()
        async for chunk in answer:
            budget.take(len(chunk))
            body += chunk
        return await self._judge_body(answer.status, bytes(body), awaited, budget)

    async def _judge_body(self, status: int, body: bytes, awaited: object, budget: Budget) -> Response:
        found, trouble = None, "its answer holds no answer to the request"
        try:
            messages, _ = jsonrpc.read_messages(body, "its answer")
            found = await self._sort(messages, awaited, budget)
            if found is None and len(messages) == 1 and isinstance(messages[0], Response) and messages[0].id is None:
                found = messages[0]              # an error about a request that it could not even read
        except Refused as refused:
            trouble = refused.happened.rstrip(".")
        if found is not None and (200 <= status < 300 or found.error is not None):
            if status == 404 and self._session is not None and found.error is not None:
                self.is_open = False             # it knows this session no more
            return found
        if 300 <= status < 400:
            raise Turned(f"it answered with a redirect (HTTP {status}), which is not followed")
        if 400 <= status < 500:
            if status == 404 and self._session is not None:
                self.is_open = False
                raise Turned("it knows this session no more")
            raise Turned(f"it answered HTTP {status}")
        raise Cut(f"it answered HTTP {status}" if status >= 500 else trouble)

    async def _events(self, answer: ClientStream, awaited: object, budget: Budget) -> Response | None:
        stream = EventStream(event_bytes_max=max(1, budget.bytes_left()))
        try:
            async for chunk in answer:
                budget.take(len(chunk))
                found = await self._take_events(stream.receive(chunk), awaited, budget)
                if found is not None:
                    return found
            return await self._take_events(stream.finish(), awaited, budget)
        except Refused as refused:
            raise Cut(refused.happened) from None

    async def _take_events(self, events, awaited: object, budget: Budget) -> Response | None:
        for event in events:
            self._cursor = event.id or self._cursor
            if event.retry_ms is not None:
                self._retry_s = min(event.retry_ms / 1000, RESUME_WAIT_MAX_S)
            if event.data:
                messages, _ = jsonrpc.read_messages(event.data, "an event of its stream")
                found = await self._sort(messages, awaited, budget)
                if found is not None:
                    return found
        return None

    async def _sort(self, messages, awaited: object, budget: Budget) -> Response | None:
        found, replies = sort_out(messages, awaited)  # type: ignore[arg-type]
        for reply in replies if self.date != STATELESS else ():
            try:
                await self._say(reply, budget)
            except Cut:
                pass                             # it asked, and does not listen
        return found

    async def close(self) -> None:
        """Say that the session is over, where there is one; bounded, and safe to call twice."""
        client, self._client, session, self._session = self._client, None, self._session, None
        self.is_open = False
        if client is None:
            return
        if session is not None:
            headers = {**self._place.headers, **headers_of({}, self.date, session, {})}
            try:
                await within(CLOSE_S, client.request("DELETE", self._place.url, headers, timeout_s=CLOSE_S))
            except (NetFailed, Refused, asyncio.TimeoutError):
                pass                             # it was told, or cannot be
        await client.close()

    def kill(self) -> None:
        """Nothing of it runs here."""
