"""One client's connection to the server: bytes to requests, requests to the handler, answers back.

Plain requests take the fast lane, all others h11; either way a connection answers one
request at a time, in order, and bytes that come meanwhile wait. See net.server for what
is promised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

import h11

from rulith.base.clock import Clock
from rulith.base.limits import (
    BODY_TIMEOUT_S,
    CONNECTIONS_MAX,
    HEADER_BYTES_MAX,
    HEADER_TIMEOUT_S,
    KEEP_ALIVE_S,
    LINGER_S,
    PIPELINE_BYTES_MAX,
    REQUEST_BODY_BYTES_MAX,
    SEND_TIMEOUT_S,
)
from rulith.net.fast_lane import answer_head, whole_request
from rulith.net.messages import (
    Handler,
    HeadCheck,
    Headers,
    Presence,
    Request,
    Response,
    StreamResponse,
    Upgrade,
    reason_of,
    text_response,
    wire_rows,
)

_OURS = (b"content-length", b"transfer-encoding")       # what the connection decides, never a handler


@dataclass(frozen=True)
class HttpLimits:
    """How much and how long. `body_bytes_max` is the default; a head check may set another per request."""

    connections_max: int = CONNECTIONS_MAX
    header_bytes_max: int = HEADER_BYTES_MAX
    body_bytes_max: int = REQUEST_BODY_BYTES_MAX
    header_timeout_s: float = HEADER_TIMEOUT_S
    body_timeout_s: float = BODY_TIMEOUT_S
    idle_s: float = KEEP_ALIVE_S
    send_timeout_s: float = SEND_TIMEOUT_S
    linger_s: float = LINGER_S

    def shortest_s(self) -> float:
        return min(self.header_timeout_s, self.body_timeout_s, self.idle_s, self.send_timeout_s, self.linger_s)


class Shared:
    """What all connections of one server have in common."""

    def __init__(self, handler: Handler, limits: HttpLimits, head_check: HeadCheck | None, clock: Clock,
                 on_bug: Callable[[BaseException], None]) -> None:
        self.handler = handler
        self.limits = limits
        self.head_check = head_check
        self.on_bug = on_bug
        self.closing = False
        self.connections: set[Connection] = set()
        self.on_empty: Callable[[], None] | None = None
        self._clock = clock
        self._date = (0, b"")

    def date(self) -> bytes:
        """The Date field, made once a second."""
        now = int(self._clock.wall_s())
        if now != self._date[0]:
            self._date = (now, formatdate(now, usegmt=True).encode())
        return self._date[1]

    def check_head(self, request: Request) -> Response | None:
        """The answer that makes the body unwanted, or None."""
        early = None
        if self.head_check is not None:
            try:
                early = self.head_check(request)
            except Exception as bug:              # the check is the caller's code: its bug ends one request only
                self.on_bug(bug)
                early = _failed_to_answer()
        if early is None and int(request.headers.get("content-length") or 0) > request.body_bytes_max:
            early = _too_large(request)
        return early

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections and self.on_empty is not None:
            self.on_empty()


class Connection(asyncio.Protocol, Presence):
    """See the module. `deadline` is watched by the server, `task` answers the request at hand."""

    def __init__(self, shared: Shared, loop: asyncio.AbstractEventLoop) -> None:
        self.shared = shared
        self.loop = loop
        self.http = _new_http(shared.limits)
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # set before any other call
        self.peer = ""
        self.secure = False
        self.deadline: float | None = None
        self.task: asyncio.Task[None] | None = None
        self.request: Request | None = None      # whose body is arriving or which is being answered
        self.parts: list[bytes] = []
        self.body_bytes = 0
        self.early: Response | None = None       # the head check's answer to a request without a body
        self.idle = True                         # between requests: nothing of the next one has come
        self.busy = False                        # a handler runs
        self.fast = False                        # the request at hand came through the fast lane
        self.last = False                        # its answer said that the connection closes
        self.waiting = bytearray()               # what came while a handler ran
        self.streaming = False
        self.upgraded = False                    # another protocol has the bytes
        self.gone = False                        # the client has closed its side
        self.discarding = False                  # answered and half closed; what comes is not looked at
        self._gone_waiters: list[asyncio.Future[None]] = []
        self._writable: asyncio.Future[None] | None = None

    # asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if isinstance(peer, tuple) else ""
        self.secure = transport.get_extra_info("ssl_object") is not None
        self.shared.connections.add(self)
        self.deadline = self.loop.time() + self.shared.limits.header_timeout_s
        if self.shared.closing:
            self.transport.close()
        elif len(self.shared.connections) > self.shared.limits.connections_max:
            self._answer_and_leave(text_response(503, "Too many connections; try again.\n"))

    def connection_lost(self, problem: Exception | None) -> None:
        self.shared.forget(self)
        self.deadline = None
        self._client_left()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self.discarding:
            return
        if self.busy or self.waiting:
            self._hold(data)
        else:
            self._receive(data)

    def eof_received(self) -> bool:
        if self.discarding:
            return False
        self._client_left()
        if self.busy or self.waiting:
            # A client may half-close and still read its answer; TLS has no half-close.
            return self.transport.can_write_eof()
        self._receive_end()
        return False

    def pause_writing(self) -> None:
        self._writable = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # reading

    def _hold(self, data: bytes) -> None:
        """Keep what is not looked at yet; when there is much of it, let the client wait."""
        self.waiting += data
        if len(self.waiting) > PIPELINE_BYTES_MAX:
            self.transport.pause_reading()

    def _receive(self, data: bytes) -> None:
        if self.idle:
            if self._take_fast(data):
                return
            self.idle = False
            self.deadline = self.loop.time() + self.shared.limits.header_timeout_s
        self.http.receive_data(data)
        self._advance()

    def _receive_waiting(self) -> None:
        """Go on with what came during the last request."""
        data = bytes(self.waiting)
        self.waiting.clear()
        self.transport.resume_reading()
        if self.discarding or self.transport.is_closing():
            return
        if data:
            self._receive(data)
        else:
            self._advance()
        if self.gone and not self.busy and not self.waiting:
            self._receive_end()

    def _receive_end(self) -> None:
        if self.idle:
            self.transport.close()
            return
        self.http.receive_data(b"")
        self._advance()

    def _take_fast(self, data: bytes) -> bool:
        """Take a plain, whole request from the front of `data`; False when there is none."""
        limits = self.shared.limits
        whole = whole_request(data, limits.header_bytes_max)
        if whole is None:
            return False
        request = Request(whole.method, whole.target, whole.headers, peer=self.peer, secure=self.secure,
                          body_bytes_max=limits.body_bytes_max, gone=self)
        self.request, self.fast, self.idle = request, True, False
        self._hold(data[whole.end:])
        early = self.shared.check_head(request)
        if early is not None:
            self._send(request, early)
            self._next_cycle()
        else:
            request.body = data[whole.body_start:whole.end]
            self._start(request)
        return True

    def _advance(self) -> None:
        """Take events from h11 until it needs bytes, or a request is ready, or the connection is over."""
        while not self.busy and not self.discarding:
            try:
                event = self.http.next_event()
            except h11.RemoteProtocolError as problem:
                self._refuse(problem.error_status_hint, "this is not an HTTP/1.1 request")
                return
            if event is h11.NEED_DATA or event is h11.PAUSED:
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
        limits = self.shared.limits
        rows = list(event.headers)
        request = Request(event.method.decode("ascii"), event.target.decode("latin-1"), Headers(rows),
                          peer=self.peer, secure=self.secure, body_bytes_max=limits.body_bytes_max, gone=self)
        self.request = request
        if event.http_version not in (b"1.1", b"1.0"):
            self._refuse(505, "this is not an HTTP/1.1 request")
            return
        if "transfer-encoding" in request.headers and ("content-length" in request.headers or event.http_version == b"1.0"):
            # Two framings of one body: what one reader calls its end, another calls the next request (RFC 9112 §6.1).
            self._refuse(400, "its body is framed in two ways")
            return
        size = len(event.target) + sum([len(name) + len(value) + 4 for name, value in rows])
        if size > limits.header_bytes_max:
            self._refuse(431, f"the request's header is over {limits.header_bytes_max} bytes")
            return
        self.parts, self.body_bytes = [], 0
        early = self.shared.check_head(request)
        if early is not None:
            if "transfer-encoding" in request.headers or int(request.headers.get("content-length") or 0) > 0:
                self._answer_and_leave(early)     # its body may never come
            else:
                self.early = early
            return
        if self.http.they_are_waiting_for_100_continue:
            self._write(self.http.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")))
        self.deadline = self.loop.time() + limits.body_timeout_s

    def _data(self, data: bytes) -> None:
        self.body_bytes += len(data)
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
        if self.early is not None:
            early, self.early = self.early, None
            self._send(request, early)
            self._next_cycle()
            return
        request.body = b"".join(self.parts)
        self.parts = []
        self._start(request)

    # answering

    def _start(self, request: Request) -> None:
        self.deadline = None
        self.busy = True
        self.task = self.loop.create_task(self._respond(request))

    async def _respond(self, request: Request) -> None:
        try:
            try:
                response = await self.shared.handler(request)
            except Exception as bug:              # top of the task: one request's bug must not end the server
                self.shared.on_bug(bug)
                response = _failed_to_answer()
            if type(response) is StreamResponse:
                await self._send_stream(request, response)
            elif type(response) is Upgrade:
                await self._upgrade(request, response)
            else:
                self._send(request, response)
                if self._writable is not None:
                    await self._drain()
        except asyncio.CancelledError:
            if self.upgraded:
                self.transport.close()            # its last words still flow out
            else:
                self.transport.abort()
            raise
        finally:
            self.busy = False
            self.task = None
        self._next_cycle()

    def _head_out(self, response: Response | StreamResponse, length: int | None) -> bytes:
        """The head of the answer; `length` None: the body comes in chunks. Raises ValueError, LocalProtocolError."""
        rows = wire_rows(response.headers)
        for name, value in rows:
            if name in _OURS:
                raise ValueError("a handler sets no framing")
            if name == b"connection" and value.lower() == b"close":
                self.last = True
        status = response.status
        rows.append((b"date", self.shared.date()))
        if self.shared.closing and not self.last:
            self.last = True
            rows.append((b"connection", b"close"))
        if length is not None and status not in (204, 304):
            rows.append((b"content-length", b"%d" % length))
        if not self.fast:
            return self.http.send(h11.Response(status_code=status, headers=rows, reason=reason_of(status))) or b""
        if length is None:
            rows.append((b"transfer-encoding", b"chunked"))
        return answer_head(status, rows)

    def _data_out(self, data: bytes) -> bytes:
        if self.fast:
            return b"%x\r\n" % len(data) + data + b"\r\n"
        return self.http.send(h11.Data(data=data)) or b""

    def _send(self, request: Request, response: Response) -> None:
        if self.transport.is_closing():
            return
        body = b"" if response.status in (204, 304) else response.body
        try:
            out = self._head_out(response, len(body))
            if self.fast:
                out += body
            else:
                if body and request.method != "HEAD":
                    out += self._data_out(body)
                out += self.http.send(h11.EndOfMessage()) or b""
        except (h11.LocalProtocolError, ValueError) as bug:     # the handler made an impossible answer
            self.shared.on_bug(bug)
            self.transport.abort()
            return
        self.transport.write(out)

    async def _send_stream(self, request: Request, response: StreamResponse) -> None:
        chunks = response.chunks
        self.streaming = True
        try:
            if self.gone or self.transport.is_closing():
                return
            self._write(self._head_out(response, None))
            if request.method != "HEAD" and chunks is not None:
                async for chunk in chunks:
                    if chunk:
                        self._write(self._data_out(chunk))
                    if self._writable is not None:
                        await self._drain()
                    if self.gone:
                        return
            self._write(b"0\r\n\r\n" if self.fast else self.http.send(h11.EndOfMessage()))
        except asyncio.CancelledError:
            if not self.gone:
                raise                             # the server is closing, not the client
            self.transport.abort()
        except Exception as bug:                  # the head is out: only a cut tells the client that this is no end
            self.shared.on_bug(bug)
            self.transport.abort()
        finally:
            self.streaming = False
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
            if self.gone:
                self.transport.abort()

    async def _upgrade(self, request: Request, response: Upgrade) -> None:
        """Hand the connection over, for good."""
        http = self.http
        if self.fast or http.their_state is not h11.MIGHT_SWITCH_PROTOCOL or http.their_http_version != b"1.1" or self.shared.closing:
            self._send(request, text_response(426, "This address speaks another protocol than HTTP.\n", [("upgrade", "websocket")]))
            return
        if self.gone or self.transport.is_closing():
            self.transport.abort()
            return
        rows = [*wire_rows(response.headers), (b"date", self.shared.date())]
        self._write(http.send(h11.InformationalResponse(status_code=101, headers=rows, reason=reason_of(101))))
        data = http.trailing_data[0] + bytes(self.waiting)
        self.waiting.clear()
        self.transport.resume_reading()
        self.upgraded = True
        try:
            await response.run(self.transport, data, self.connection_lost)
        except Exception as bug:                  # as with a handler: one connection's bug ends that one
            self.shared.on_bug(bug)
        if not self.transport.is_closing():
            self.transport.abort()

    async def _drain(self) -> None:
        """Wait until the client has read enough; a client that reads nothing is cut off."""
        waiter = self._writable
        if waiter is not None:
            done, _ = await asyncio.wait([waiter], timeout=self.shared.limits.send_timeout_s)
            if not done:
                self.transport.abort()

    def _next_cycle(self) -> None:
        """The answer is out: wait for the next request, or end."""
        if self.transport.is_closing():
            return
        http = self.http
        if self.fast:
            self.fast = False
            kept = not self.last
        else:
            kept = http.our_state is h11.DONE and http.their_state is h11.DONE
            if kept:
                http.start_next_cycle()
        if not kept or self.shared.closing:
            self._leave()
            return
        self.request = None
        self.deadline = self.loop.time() + self.shared.limits.idle_s
        self.idle = not http.trailing_data[0]
        if self.waiting or not self.idle or self.gone:
            self.loop.call_soon(self._receive_waiting)

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
                 (b"date", self.shared.date())]
        head = self.request is not None and self.request.method == "HEAD"
        try:
            out = self.http.send(h11.Response(status_code=response.status, headers=rows,
                                              reason=reason_of(response.status))) or b""
            if response.body and not head:
                out += self.http.send(h11.Data(data=response.body)) or b""
        except h11.LocalProtocolError as bug:     # a head check made an impossible answer
            self.shared.on_bug(bug)
            self.transport.abort()
            return
        self._write(out)
        self._leave()

    def _leave(self) -> None:
        """Half-close, then close once the client has: an immediate close could reset the answer away."""
        self.discarding = True
        if self.gone or not self.transport.can_write_eof():     # TLS has no half-close
            self.transport.close()
            return
        self.deadline = self.loop.time() + self.shared.limits.linger_s
        self.transport.resume_reading()
        try:
            self.transport.write_eof()
        except OSError:
            self.transport.abort()                # reset by the client, which asyncio has not been told yet

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
        if self.discarding:
            self.transport.abort()
        else:
            self.transport.close()

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


def _new_http(limits: HttpLimits) -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes_max)


def _too_large(request: Request) -> Response:
    return text_response(413, f"The request's body is over {request.body_bytes_max} bytes.\n")


def _failed_to_answer() -> Response:
    return text_response(500, "The server failed to answer.\n")
