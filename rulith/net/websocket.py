"""WebSockets, both ends: a core of bytes and moments, and the protocol object that waits.

Promises: each end pings, drops a peer that left two pings unanswered or said nothing for 90 s,
and ends with a close code; a message is bounded however it is cut; no compression, no binary.
What a peer sends against RFC 6455 ends its connection with 1002, 1003, 1007 or 1009.
Knows nothing of credentials or of what the texts mean.

Units   *_s seconds of the loop's clock
Source  RFC 6455; the council surface, "Wake socket"
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage
from wsproto.utilities import generate_accept_token

from rulith.base.ids import random_bytes
from rulith.base.limits import (
    LINGER_S,
    REQUEST_TIMEOUT_S,
    SOCKET_MESSAGE_BYTES_MAX,
    SOCKET_PING_S,
    SOCKET_PINGS_MISSED_MAX,
    SOCKET_SILENCE_S,
    SOCKET_TEXTS_MAX,
)
from rulith.net.client import HttpClient, NetFailed
from rulith.net.messages import HeaderRows, Request, Response, Upgrade, text_response, wire_rows

__all__ = ["Ended", "Frames", "Pace", "WebSocket", "accept", "connect"]

GOING_AWAY, UNSUPPORTED, LOST, POLICY, TOO_BIG = 1001, 1003, 1006, 1008, 1009
WRONG = {1002: "this is not how frames are written", 1007: "a text is UTF-8"}      # our words: the library's depend on how the bytes were cut
_VERSION, _NONCE_BYTES = "13", 16


@dataclass(frozen=True)
class Ended:
    """Why a connection is over; the code of the peer's close, of ours, or 1006 where none was said."""

    code: int
    reason: str


@dataclass(frozen=True)
class Pace:
    """How often an end pings and how long it bears silence."""

    ping_s: float = SOCKET_PING_S
    silence_s: float = SOCKET_SILENCE_S


class Frames:
    """One end after the handshake. Bytes and moments come in; texts and bytes to send go out.

    ended     set once no further text comes: what is to be sent last was returned with it
    is_quits  whether both sides have said their close, so that nothing is to be waited for
    """

    def __init__(self, *, is_client: bool, now_s: float, pace: Pace = Pace(), message_bytes_max: int = SOCKET_MESSAGE_BYTES_MAX) -> None:
        self.ended: Ended | None = None
        self.is_quits = False
        self._wire = Connection(ConnectionType.CLIENT if is_client else ConnectionType.SERVER)
        self._pace, self._most = pace, message_bytes_max
        self._parts: list[str] = []
        self._size = 0
        self._pings = self._missed = 0
        self._open_pings: set[bytes] = set()
        self._is_broken = False                   # its bytes make no sense any more: they are not looked at
        self._heard_s = now_s
        self._ping_due_s = now_s + pace.ping_s

    @property
    def due_s(self) -> float:
        """When `tick` has something to do."""
        return min(self._ping_due_s, self._heard_s + self._pace.silence_s)

    def receive(self, data: bytes, now_s: float) -> tuple[list[str], bytes]:
        """Take any slice of what the peer sends: (texts that it completed, bytes to send)."""
        self._heard_s = now_s
        texts: list[str] = []
        out = b""
        if self.is_quits or self._is_broken:
            return texts, out
        self._wire.receive_data(data)
        for event in self._wire.events():
            if isinstance(event, CloseConnection):
                return texts, out + self._closed(event)
            if self.ended is not None:
                continue                          # we have said our close and wait for its own
            if isinstance(event, Ping):
                out += self._wire.send(Pong(bytes(event.payload)))
            elif isinstance(event, Pong):
                if bytes(event.payload) in self._open_pings:
                    self._open_pings.clear()
                    self._missed = 0
            elif isinstance(event, BytesMessage):
                return texts, out + self._broken(UNSUPPORTED, "only text is spoken here")
            elif isinstance(event, TextMessage):
                self._size += len(event.data.encode("utf-8"))
                if self._size > self._most:
                    return texts, out + self._broken(TOO_BIG, f"a message has at most {self._most} bytes")
                if event.data:
                    self._parts.append(event.data)
                if event.message_finished:
                    texts.append("".join(self._parts))
                    self._parts, self._size = [], 0
        return texts, out

    def _closed(self, event: CloseConnection) -> bytes:
        """The peer's close, or what wsproto found wrong with its bytes."""
        if self._wire.state is ConnectionState.OPEN:             # not a close that it sent
            return self._broken(int(event.code), WRONG.get(int(event.code), "this is no WebSocket"))
        if self.ended is None:
            self.ended = Ended(int(event.code), event.reason or "")
            out = self._wire.send(event.response())
        else:
            out = b""
        self.is_quits = True
        return out

    def _broken(self, code: int, reason: str) -> bytes:
        self._is_broken = True
        return self.close(code, reason)

    def send(self, text: str) -> bytes:
        """One message; nothing once the connection has ended."""
        return b"" if self.ended is not None else self._wire.send(TextMessage(text))

    def close(self, code: int, reason: str = "") -> bytes:
        if self.ended is not None:
            return b""
        self.ended = Ended(code, reason)
        return self._wire.send(CloseConnection(code, reason))

    def tick(self, now_s: float) -> bytes:
        """What is due by now: a ping, or the end of a peer that is gone."""
        if self.ended is not None or now_s < self.due_s:
            return b""
        if now_s - self._heard_s >= self._pace.silence_s:
            self.ended = Ended(LOST, f"nothing was heard for {self._pace.silence_s:g} s")
            return b""
        self._missed += bool(self._open_pings)
        if self._missed >= SOCKET_PINGS_MISSED_MAX:
            self.ended = Ended(LOST, f"{self._missed} pings were not answered")
            return b""
        self._pings += 1
        payload = str(self._pings).encode()
        self._open_pings.add(payload)
        self._ping_due_s = now_s + self._pace.ping_s
        return self._wire.send(Ping(payload))

    def hush(self, now_s: float) -> None:
        """We did not listen until now, so that the silence was ours."""
        self._heard_s, self._missed = now_s, 0
        self._open_pings.clear()

    def lost(self) -> None:
        """The bytes have ended."""
        self.ended, self.is_quits = self.ended or Ended(LOST, "the connection was cut"), True


class WebSocket(asyncio.Protocol):
    """An open WebSocket on a transport. Whoever opened it closes it.

    moved      called when a text came, the peer takes bytes again, or the end has come
    texts_max  how many untaken texts make the peer wait; 0: texts are thrown away unread
    """

    def __init__(self, *, is_client: bool, moved: Callable[[], None] | None = None, pace: Pace = Pace(), texts_max: int = SOCKET_TEXTS_MAX,
                 message_bytes_max: int = SOCKET_MESSAGE_BYTES_MAX) -> None:
        self._loop = asyncio.get_running_loop()
        self._frames = Frames(is_client=is_client, now_s=self._loop.time(), pace=pace, message_bytes_max=message_bytes_max)
        self._told = moved or (lambda: None)
        self._texts: deque[str] = deque()
        self._texts_max = texts_max
        self._arrived, self._lost = asyncio.Event(), asyncio.Event()
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # set by `start`
        self._timer: asyncio.TimerHandle | None = None
        self._on_lost: Callable[[Exception | None], None] = lambda problem: None
        self._is_leaving = False                  # the last words are out
        self._is_deaf = False                     # the texts wait to be taken
        self.is_clogged = False                   # the peer does not take what is sent

    @property
    def ended(self) -> Ended | None:
        return self._frames.ended

    def start(self, transport: asyncio.Transport, data: bytes = b"", lost: Callable[[Exception | None], None] | None = None) -> None:
        """Have the transport's bytes from here on; `data` came before."""
        self._transport = transport
        self._on_lost = lost or self._on_lost
        transport.set_protocol(self)
        self._arm()
        if data:
            self.data_received(data)

    async def receive(self) -> str | None:
        """The next text; None once there will be no more, see `ended`."""
        while not self._texts:
            if self.ended is not None:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        text = self._texts.popleft()
        if self._is_deaf and len(self._texts) < self._texts_max:
            self._is_deaf = False
            self._frames.hush(self._loop.time())
            self._arm()
            self._listen()
        return text

    def send(self, text: str) -> bool:
        """Send one text; False once the connection has ended. Look at `is_clogged` before a long row of them."""
        if self.ended is not None:
            return False
        self._write(self._frames.send(text))
        return True

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Say goodbye; the connection is gone once the peer said so too, after two seconds in any case."""
        if self.ended is None:
            self._write(self._frames.close(code, reason))
            self._finish()

    async def wait_lost(self) -> None:
        """Return when the connection is gone."""
        await self._lost.wait()

    # asyncio's calls

    def data_received(self, data: bytes) -> None:
        texts, out = self._frames.receive(data, self._loop.time())
        self._write(out)
        if self._texts_max:
            self._texts.extend(texts)
            if len(self._texts) >= self._texts_max and self.ended is None:
                self._is_deaf = True
                self._transport.pause_reading()
        if self.ended is not None:
            self._finish()
        elif texts:
            self._arrived.set()
            self._told()

    def eof_received(self) -> bool:
        return False                              # no half-open WebSocket: the transport closes

    def connection_lost(self, problem: Exception | None) -> None:
        self._frames.lost()
        self._disarm()
        self._lost.set()
        self._arrived.set()
        self._told()
        self._on_lost(problem)

    def pause_writing(self) -> None:
        self.is_clogged = True
        self._transport.pause_reading()           # whoever does not read gets no pongs either

    def resume_writing(self) -> None:
        self.is_clogged = False
        self._listen()
        self._told()

    # ours

    def _listen(self) -> None:
        if not self._is_deaf and not self.is_clogged and not self._transport.is_closing():
            self._transport.resume_reading()

    def _write(self, data: bytes) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _arm(self) -> None:
        self._disarm()
        self._timer = self._loop.call_at(self._frames.due_s, self._tick)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        if self._is_deaf:
            self._frames.hush(self._loop.time())
        self._write(self._frames.tick(self._loop.time()))
        if self.ended is None:
            self._arm()
        else:
            self._finish()

    def _finish(self) -> None:
        """The end has come: let the last bytes out, and wait for the peer's close no longer than a moment."""
        if self._frames.is_quits:
            self._transport.close()               # flushes; the timer below ends a peer that does not read
        if self._is_leaving:
            return
        self._is_leaving, self._is_deaf = True, False
        self._disarm()
        if self.ended is not None and self.ended.code == LOST:
            self._transport.abort()
        else:
            self._listen()
            self._timer = self._loop.call_later(LINGER_S, self._transport.abort)
        self._arrived.set()
        self._told()


def accept(request: Request, run: Callable[[WebSocket], Awaitable[None]], open_socket: Callable[[], WebSocket]) -> Response | Upgrade:
    """The answer to a request that should open a WebSocket: what `run` does with it, or why not.

    The socket is closed with 1000 when `run` returns, unless it ended before; with 1001 when the server ends.
    """
    key = request.headers.get("sec-websocket-key") or ""
    if request.headers.get("sec-websocket-version") != _VERSION or not has_word(request, "upgrade", "websocket") or not has_word(request, "connection", "upgrade"):
        return text_response(426, "This address speaks WebSocket, version 13.\n",
                             [("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-version", _VERSION)])
    if request.method != "GET" or request.body or not _is_nonce(key):
        return text_response(400, "A WebSocket is asked for with GET, no body, and a key of 16 bytes in base64.\n")

    async def serve(transport: asyncio.Transport, data: bytes, lost: Callable) -> None:
        socket = open_socket()
        socket.start(transport, data, lost)
        try:
            await run(socket)
        except asyncio.CancelledError:
            socket.close(GOING_AWAY, "the server ends")
            raise
        socket.close()
        await socket.wait_lost()

    answer = generate_accept_token(key.encode("latin-1")).decode()
    return Upgrade([("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-accept", answer)], serve)


async def connect(client: HttpClient, url: str, headers: HeaderRows = (), *, timeout_s: float = REQUEST_TIMEOUT_S, pace: Pace = Pace(),
                  moved: Callable[[], None] | None = None, texts_max: int = SOCKET_TEXTS_MAX) -> WebSocket:
    """Open a WebSocket at an http:, https:, ws: or wss: address.

    Raises NetFailed; UpgradeRefused with the answer of a server that declined; Refused url_unusable and the like.
    """
    if url[:5].lower() == "ws://" or url[:6].lower() == "wss://":
        url = "http" + url[2:]
    key = base64.b64encode(random_bytes(_NONCE_BYTES))
    rows = [*wire_rows(headers), (b"upgrade", b"websocket"), (b"connection", b"Upgrade"), (b"sec-websocket-key", key),
            (b"sec-websocket-version", _VERSION.encode())]
    link, answer, data = await client.upgrade(url, [(name.decode("latin-1"), value.decode("latin-1")) for name, value in rows], timeout_s=timeout_s)
    token = (answer.get("sec-websocket-accept") or "").strip()
    if token != generate_accept_token(key).decode() or (answer.get("upgrade") or "").lower() != "websocket" or "sec-websocket-extensions" in answer:
        link.abort()
        raise NetFailed("not_http", f"{url.partition('?')[0][:200]} answered with something that is no WebSocket", sent=True)
    socket = WebSocket(is_client=True, moved=moved, pace=pace, texts_max=texts_max)
    socket.start(link.transport, data)
    return socket


def has_word(request: Request, name: str, word: str) -> bool:
    """Whether a list in the header names this word."""
    return word in [each.strip().lower() for each in (request.headers.get(name) or "").split(",")]


def _is_nonce(key: str) -> bool:
    try:
        return len(base64.b64decode(key.encode("ascii"), validate=True)) == _NONCE_BYTES
    except (binascii.Error, UnicodeEncodeError, ValueError):
        return False
