"""Links: one byte stream to a peer, over TCP or TLS, with bounded buffers.

Reads whatever has come, writes with backpressure, knows when the peer has left.
Knows no HTTP. Errors of the operating system become `LinkFailed` here.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rulith.base.limits import CONNECT_TIMEOUT_S, LINK_BUFFER_BYTES_MAX

T = TypeVar("T")


class LinkFailed(Exception):
    """The stream could not be opened, or broke. `cause`: resolve, connect, tls, address, broken."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause = cause
        self.detail = detail


class Link(asyncio.Protocol):
    """An open stream. One reader at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # set before any other call
        self._received = bytearray()
        self._ended = False                 # the peer will send no more
        self._problem: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > LINK_BUFFER_BYTES_MAX and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self._ended = True
        self._problem = problem
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def is_open(self) -> bool:
        """Whether nothing suggests that the peer has left: true of a healthy idle link."""
        return not self._ended and not self._received and not self.transport.is_closing()

    async def read(self) -> bytes:
        """What has arrived, at least one byte; empty at the end. Raises LinkFailed when it broke."""
        while not self._received:
            if self._ended:
                if self._problem is not None:
                    raise LinkFailed("broken", str(self._problem)) from None
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        data = bytes(self._received)
        self._received.clear()
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    async def drain(self) -> None:
        """Wait until the peer has taken enough of what was written."""
        if self._writable is not None:
            await self._writable
        if self._ended and self._problem is not None:
            raise LinkFailed("broken", str(self._problem))

    def close(self) -> None:
        self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on, as a client of `host`; nothing may have been received ahead."""
        if self._received:
            raise LinkFailed("tls", "the peer spoke before TLS began")
        loop = asyncio.get_running_loop()
        try:
            transport = await loop.start_tls(self.transport, self, context, server_hostname=host)
        except (ssl.SSLError, ssl.CertificateError, OSError) as problem:
            self.transport.abort()
            raise LinkFailed("tls", _words(problem)) from None
        if transport is None:
            raise LinkFailed("tls", "the peer closed during the handshake")
        self.transport = transport  # type: ignore[assignment]


def _words(problem: BaseException) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"certificate refused: {problem.verify_message}"
    text = getattr(problem, "strerror", None)
    return str(text or problem or type(problem).__name__)


def _literal(host: str, port: int) -> list[tuple[int, int, int, str, tuple[object, ...]]] | None:
    """The one address that `host` is, or None when it is a name: resolving takes a thread, this does not."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        address = (host, port) if family == socket.AF_INET else (host, port, 0, 0)
        return [(family, socket.SOCK_STREAM, 0, "", address)]
    return None


async def _connect_one(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> Link:
    loop = asyncio.get_running_loop()
    peer = socket.socket(family, kind, protocol)
    try:
        peer.setblocking(False)
        await loop.sock_connect(peer, address)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, link = await loop.create_connection(Link, sock=peer)
    except BaseException:
        peer.close()
        raise
    return link


async def open_link(host: str, port: int, *, tls: ssl.SSLContext | None = None, timeout_s: float = CONNECT_TIMEOUT_S,
                    allow_address: Callable[[str], bool] | None = None) -> Link:
    """Connect to `host`:`port`, trying its addresses in turn.

    allow_address   asked for each resolved IP address; the address it allowed is the one connected to,
                    so a name that resolves differently the second time gains nothing
    timeout_s       for the whole of it: resolution, connection, TLS
    Raises LinkFailed. Nothing has been sent to anybody but a TLS greeting when it does.
    """
    try:
        return await within(timeout_s, _open(host, port, tls, allow_address))
    except asyncio.TimeoutError:
        raise LinkFailed("connect", f"no connection to {host} port {port} within {timeout_s:g} s") from None


async def within(timeout_s: float | None, work: Awaitable[T]) -> T:
    """What `work` comes to. Raises asyncio.TimeoutError; never where no time is told.

    Not `asyncio.wait_for`: before Python 3.12 that forgets a cancellation which comes together with the result.
    """
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait([doing], timeout=timeout_s)
        if doing.done():
            return doing.result()
        raise asyncio.TimeoutError
    except (asyncio.CancelledError, asyncio.TimeoutError):
        doing.cancel()
        doing.add_done_callback(_unwanted)
        raise


def _unwanted(doing: asyncio.Future[object]) -> None:
    """Nobody waits for it any more."""
    if not doing.cancelled() and doing.exception() is None and isinstance(doing.result(), Link):
        doing.result().abort()


async def _open(host: str, port: int, tls: ssl.SSLContext | None, allow_address: Callable[[str], bool] | None) -> Link:
    rows = _literal(host, port)
    if rows is None:
        try:
            rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as problem:
            raise LinkFailed("resolve", f"{host}: {_words(problem)}") from None
    allowed = [row for row in rows if allow_address is None or allow_address(str(row[4][0]))]
    if not allowed:
        raise LinkFailed("address", f"{host} resolves to no address that is allowed here")
    problem_text = ""
    for family, kind, protocol, _, address in allowed:
        try:
            link = await _connect_one(family, kind, protocol, address)
        except OSError as problem:
            problem_text = problem_text or _words(problem)
            continue
        if tls is not None:
            try:
                await link.start_tls(tls, host)
            except BaseException:
                link.abort()
                raise
        return link
    raise LinkFailed("connect", f"{host} port {port}: {problem_text}")
