"""HTTP/1.1 server: h11 on asyncio, one protocol object per connection.

Promises: a request reaches its handler whole or not at all; a head check answers before
a body is read; every size and every wait has a bound; what is not HTTP gets 400, never
a traceback; every answer has a reason phrase. Knows nothing of routes, credentials or JSON.

Units   *_s seconds of the loop's clock, *_bytes_max bytes
Source  RFC 9110, RFC 9112
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

import h11

from rulith.base.clock import Clock, SystemClock
from rulith.base.errors import Refused
from rulith.base.limits import (
    BODY_TIMEOUT_S,
    DISCARD_BYTES_MAX,
    HEADER_BYTES_MAX,
    HEADER_TIMEOUT_S,
    KEEP_ALIVE_S,
    LINGER_S,
    PIPELINE_BYTES_MAX,
    REQUEST_BODY_BYTES_MAX,
    SEND_TIMEOUT_S,
)
from rulith.net.messages import (
    Handler,
    HeadCheck,
    Headers,
    Presence,
    Request,
    Response,
    StreamResponse,
    json_response,
    reason_of,
    text_response,
    wire_rows,
)

__all__ = [
    "Handler", "HeadCheck", "Headers", "HttpLimits", "Request", "Response", "Server", "StreamResponse",
    "json_response", "serve", "text_response",
]


@dataclass(frozen=True)
class HttpLimits:
    """How much and how long. `body_bytes_max` is the default; a head check may set another per request."""

    header_bytes_max: int = HEADER_BYTES_MAX
    body_bytes_max: int = REQUEST_BODY_BYTES_MAX
    header_timeout_s: float = HEADER_TIMEOUT_S
    body_timeout_s: float = BODY_TIMEOUT_S
    idle_s: float = KEEP_ALIVE_S
    send_timeout_s: float = SEND_TIMEOUT_S
    linger_s: float = LINGER_S

    def shortest_s(self) -> float:
        return min(self.header_timeout_s, self.body_timeout_s, self.idle_s, self.send_timeout_s, self.linger_s)


def _print_bug(bug: BaseException) -> None:
    traceback.print_exception(type(bug), bug, bug.__traceback__, file=sys.stderr)


class Server:
    """A listening server. `close()` ends it; every connection it opened is gone afterwards."""

    def __init__(self, handler: Handler, limits: HttpLimits, head_check: HeadCheck | None,
                 clock: Clock, on_bug: Callable[[BaseException], None]) -> None:
        self.handler = handler
        self.limits = limits
        self.head_check = head_check
        self.on_bug = on_bug
        self.closing = False
        self.connections: set[_Connection] = set()
        self.host = ""
        self.port = 0
        self._clock = clock
        self._listener: asyncio.AbstractServer | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._date = (0, b"")
        self._empty: asyncio.Future[None] | None = None
        # One timer for all connections: a timer per request would cost more than the request.
        self._sweep_s = min(0.5, limits.shortest_s() / 4)

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                lambda: _Connection(self, loop), host, port, ssl=tls, backlog=1024,
                ssl_handshake_timeout=self.limits.header_timeout_s if tls else None,
            )
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise Refused("port_in_use", host=host, port=port) from None
            raise Refused("address_unusable", host=host, port=port, problem=problem.strerror or problem) from None
        self.host = host
        self.port = self._listener.sockets[0].getsockname()[1]
        self._sweep = loop.call_later(self._sweep_s, self._check_deadlines, loop)

    def date(self) -> bytes:
        """The Date field, made once a second."""
        now = int(self._clock.wall_s())
        if now != self._date[0]:
            self._date = (now, formatdate(now, usegmt=True).encode())
        return self._date[1]

    def _check_deadlines(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self.connections):
            if connection.deadline is not None and now >= connection.deadline:
                connection.expire()
        self._sweep = loop.call_later(self._sweep_s, self._check_deadlines, loop)

    async def close(self, drain_s: float = 5.0) -> None:
        """Stop listening, let running requests finish for `drain_s`, then cancel what is left."""
        if self._listener is None:
            return
        self.closing = True
        self._listener.close()
        for connection in list(self.connections):
            connection.close_if_idle()
        tasks = {c.task for c in self.connections if c.task is not None}
        tasks.discard(asyncio.current_task())       # a handler may be what asks for the end
        if tasks and drain_s > 0:
            await asyncio.wait(tasks, timeout=drain_s)
        left = [task for task in tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        for connection in list(self.connections):
            connection.end()
        await self._wait_no_connections(1.0)        # last answers still flow out
        for connection in list(self.connections):
            connection.transport.abort()
        await self._wait_no_connections(1.0)
        if self._sweep is not None:
            self._sweep.cancel()
        self._listener = None


    def forget(self, connection: _Connection) -> None:
        self.connections.discard(connection)
        if self._empty is not None and not self.connections and not self._empty.done():
            self._empty.set_result(None)

    async def _wait_no_connections(self, timeout_s: float) -> None:
        if self.connections:
            self._empty = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._empty], timeout=timeout_s)


class _Connection(asyncio.Protocol, Presence):
    """One client's connection: bytes to h11, requests to the handler, answers back."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.loop = loop
        self.http = h11.Connection(h11.SERVER, max_incomplete_event_size=server.limits.header_bytes_max)
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # set before any other call
        self.peer = ""
        self.deadline: float | None = None
        self.task: asyncio.Task[None] | None = None
        self.request: Request | None = None      # whose body is arriving or which is being answered
        self.parts: list[bytes] = []
        self.body_bytes = 0
        self.early: Response | None = None       # the head check's answer, while the body is thrown away
        self.idle = True                         # between requests: nothing of the next one has come
        self.busy = False                        # a handler runs; later requests wait in h11
        self.waiting_bytes = 0                   # of those later requests
        self.streaming = False
        self.gone = False
        self.discarding = False                  # answered and half closed; what comes is not looked at
        self._gone_waiters: list[asyncio.Future[None]] = []
        self._writable: asyncio.Future[None] | None = None

    # asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if isinstance(peer, tuple) else ""
        self.server.connections.add(self)
        self.deadline = self.loop.time() + self.server.limits.header_timeout_s
        if self.server.closing:
            self.end()

    def connection_lost(self, problem: Exception | None) -> None:
        self.server.forget(self)
        self.deadline = None
        self._client_left()
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self.discarding:
            return
        self.http.receive_data(data)
        if self.busy:
            self.waiting_bytes += len(data)
            if self.waiting_bytes > PIPELINE_BYTES_MAX:
                self.transport.pause_reading()
            return
        if self.idle:
            self.idle = False
            self.deadline = self.loop.time() + self.server.limits.header_timeout_s
        self._advance()

    def eof_received(self) -> bool:
        if self.discarding:
            return False
        self.http.receive_data(b"")
        self._client_left()
        if self.busy:
            # A client may half-close and still read its answer; TLS has no half-close.
            return self.transport.can_write_eof()
        self._advance()
        return False

    def pause_writing(self) -> None:
        self._writable = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # reading

    def _advance(self) -> None:
        """Take events from h11 until it needs bytes, or a request is ready, or the connection is over."""
        while not self.busy and not self.discarding:
            try:
                event = self.http.next_event()
            except h11.RemoteProtocolError as problem:
                self._refuse(problem.error_status_hint, "this is not an HTTP/1.1 request")
                return
            if event is h11.NEED_DATA:
                return
            if event is h11.PAUSED:
                return
            kind = type(event)
            if kind is h11.Request:
                self._head(event)
            elif kind is h11.Data:
                self._data(event.data)
            elif kind is h11.EndOfMessage:
                self._whole()
            else:                                 # ConnectionClosed
                self.transport.close()
                return

    def _head(self, event: h11.Request) -> None:
        limits = self.server.limits
        if event.http_version not in (b"1.1", b"1.0"):
            self._refuse(505, "this is not an HTTP/1.1 request")
            return
        rows = list(event.headers)
        size = len(event.target) + sum([len(name) + len(value) + 4 for name, value in rows])
        if size > limits.header_bytes_max:
            self._refuse(431, f"the request's header is over {limits.header_bytes_max} bytes")
            return
        request = Request(event.method.decode("ascii"), event.target.decode("latin-1"), Headers(rows),
                          peer=self.peer, body_bytes_max=limits.body_bytes_max, gone=self)
        self.request = request
        self.parts, self.body_bytes = [], 0
        early = None
        if self.server.head_check is not None:
            try:
                early = self.server.head_check(request)
            except Exception as bug:              # the check is the caller's code: its bug ends one request only
                self.server.on_bug(bug)
                early = text_response(500, "The server failed to answer.\n")
        length = request.headers.get("content-length")
        announced = int(length) if length is not None else 0
        if early is None and announced > request.body_bytes_max:
            early = _too_large(request)
        if early is not None:
            unread = announced if length is not None else (
                DISCARD_BYTES_MAX + 1 if "transfer-encoding" in request.headers else 0)
            if unread > DISCARD_BYTES_MAX or self.http.they_are_waiting_for_100_continue:
                self._answer_and_leave(early)
            else:
                self.early = early                # a short body is cheaper to read than a new connection
            return
        if self.http.they_are_waiting_for_100_continue:
            self._write(self.http.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")))
        self.deadline = self.loop.time() + limits.body_timeout_s

    def _data(self, data: bytes) -> None:
        self.body_bytes += len(data)
        if self.early is not None:
            return
        request = self.request
        assert request is not None
        if self.body_bytes > request.body_bytes_max:
            self._answer_and_leave(_too_large(request))
            return
        self.parts.append(bytes(data))

    def _whole(self) -> None:
        """The request is complete: answer it."""
        request = self.request
        assert request is not None
        self.deadline = None
        if self.early is not None:
            early, self.early = self.early, None
            self._send(request, early)
            self._next_cycle()
            return
        request.body = b"".join(self.parts)
        self.parts = []
        self.busy = True
        self.task = self.loop.create_task(self._respond(request))

    # answering

    async def _respond(self, request: Request) -> None:
        try:
            try:
                response = await self.server.handler(request)
            except Exception as bug:              # top of the task: one request's bug must not end the server
                self.server.on_bug(bug)
                response = text_response(500, "The server failed to answer.\n")
            if type(response) is StreamResponse:
                await self._send_stream(request, response)
            else:
                self._send(request, response)
                if self._writable is not None:
                    await self._drain()
        except asyncio.CancelledError:
            self.transport.abort()
            raise
        finally:
            self.busy = False
            self.task = None
        self._next_cycle()

    def _head_bytes(self, status: int, rows: list[tuple[bytes, bytes]]) -> bytes:
        rows.append((b"date", self.server.date()))
        if self.server.closing:
            rows.append((b"connection", b"close"))
        return self.http.send(h11.Response(status_code=status, headers=rows, reason=reason_of(status))) or b""

    def _send(self, request: Request, response: Response) -> None:
        if self.transport.is_closing():
            return
        body = response.body
        rows = wire_rows(response.headers)
        if response.status >= 200 and response.status not in (204, 304):
            rows.append((b"content-length", b"%d" % len(body)))
        else:
            body = b""
        try:
            out = self._head_bytes(response.status, rows)
            if body and request.method != "HEAD":
                out += self.http.send(h11.Data(data=body)) or b""
            out += self.http.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError as bug:     # the handler made an impossible answer
            self.server.on_bug(bug)
            self.transport.abort()
            return
        self.transport.write(out)

    async def _send_stream(self, request: Request, response: StreamResponse) -> None:
        chunks = response.chunks
        self.streaming = True
        try:
            if self.gone or self.transport.is_closing():
                return
            self._write(self._head_bytes(response.status, wire_rows(response.headers)))
            if request.method != "HEAD" and chunks is not None:
                async for chunk in chunks:
                    if chunk:
                        self._write(self.http.send(h11.Data(data=chunk)))
                    if self._writable is not None:
                        await self._drain()
                    if self.gone:
                        return
            self._write(self.http.send(h11.EndOfMessage()))
        except asyncio.CancelledError:
            if not self.gone:
                raise                             # the server is closing, not the client
            self.transport.abort()
        except Exception as bug:                  # the head is out: only a cut tells the client that this is no end
            self.server.on_bug(bug)
            self.transport.abort()
        finally:
            self.streaming = False
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
            if self.gone:
                self.transport.abort()

    async def _drain(self) -> None:
        """Wait until the client has read enough; a client that reads nothing is cut off."""
        waiter = self._writable
        if waiter is not None:
            done, _ = await asyncio.wait([waiter], timeout=self.server.limits.send_timeout_s)
            if not done:
                self.transport.abort()

    def _next_cycle(self) -> None:
        http = self.http
        if self.transport.is_closing():
            return
        if http.our_state is h11.DONE and http.their_state is h11.DONE and not self.server.closing:
            http.start_next_cycle()
            self.request = None
            self.deadline = self.loop.time() + self.server.limits.idle_s
            self.idle = not http.trailing_data[0]
            if self.waiting_bytes:
                self.waiting_bytes = 0
                self.transport.resume_reading()
            if not self.idle or self.gone:
                self.loop.call_soon(self._advance)
            return
        self._leave()

    # endings

    def _refuse(self, status: int, problem: str) -> None:
        """What came is not a request: say so and close."""
        if self.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer_and_leave(text_response(status, f"{reason_of(status).decode()}: {problem}\n"))
        else:
            self._leave()

    def _answer_and_leave(self, response: Response) -> None:
        """Answer without reading the rest of the request."""
        rows = [row for row in wire_rows(response.headers) if row[0] != b"connection"]
        rows += [(b"content-length", b"%d" % len(response.body)), (b"connection", b"close"),
                 (b"date", self.server.date())]
        head = self.request is not None and self.request.method == "HEAD"
        out = self.http.send(h11.Response(status_code=response.status, headers=rows,
                                          reason=reason_of(response.status))) or b""
        if response.body and not head:
            out += self.http.send(h11.Data(data=response.body)) or b""
        self._write(out)
        self._leave()

    def _leave(self) -> None:
        """Half-close, then close once the client has: an immediate close could reset the answer away."""
        self.discarding = True
        if self.gone or self.transport.is_closing():
            self.transport.close()
            return
        self.deadline = self.loop.time() + self.server.limits.linger_s
        self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()                # TLS has no half-close

    def expire(self) -> None:
        """The deadline passed: a slow head or body gets 408, an idle connection just ends."""
        self.deadline = None
        if self.discarding:
            self.transport.abort()
        elif self.idle:
            self.transport.close()
        elif not self.busy:
            self._refuse(408, "the request did not arrive in time")

    def close_if_idle(self) -> None:
        if not self.busy:
            self.transport.close()

    def end(self) -> None:
        self.transport.close() if not self.discarding else self.transport.abort()

    # Presence

    def is_gone(self) -> bool:
        return self.gone

    async def wait_gone(self) -> None:
        if not self.gone:
            waiter = self.loop.create_future()
            self._gone_waiters.append(waiter)
            await waiter

    def _client_left(self) -> None:
        self.gone = True
        for waiter in self._gone_waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._gone_waiters.clear()
        if self.streaming and self.task is not None:
            self.task.cancel()

    def _write(self, data: bytes | None) -> None:
        if data and not self.transport.is_closing():
            self.transport.write(data)


def _too_large(request: Request) -> Response:
    return text_response(413, f"The request's body is over {request.body_bytes_max} bytes.\n")


async def serve(handler: Handler, host: str = "127.0.0.1", port: int = 0, *, limits: HttpLimits | None = None,
                head_check: HeadCheck | None = None, tls: ssl.SSLContext | None = None, clock: Clock | None = None,
                on_bug: Callable[[BaseException], None] = _print_bug) -> Server:
    """Listen on `host`:`port` (0 picks a free one, see `.port`) and answer requests with `handler`.

    head_check  runs on the head alone; what it returns is the answer and the body is not read
    on_bug      told of each exception a handler let out; the client gets 500 without its text
    Raises Refused: port_in_use, address_unusable.
    """
    server = Server(handler, limits or HttpLimits(), head_check, clock or SystemClock(), on_bug)
    await server.listen(host, port, tls)
    return server
