"""HTTP/1.1 client: h11 over links, a keep-alive pool per origin, proxies and TLS.

Promises to tell apart "nothing was sent" from "it may have been sent": whoever gets a
failure of the second kind must not send the same effect again. Never follows a redirect,
never retries anything but GET and HEAD on a link that had gone stale, never decompresses.

Units   *_s seconds; timeout_s covers connecting, sending and the whole answer (a stream: its head)
Source  RFC 9110, RFC 9112
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import h11

from rulith.base.clock import Clock, SystemClock
from rulith.base.errors import Refused
from rulith.base.limits import (
    BODY_BYTES_MAX,
    CLIENT_IDLE_S,
    CONNECT_TIMEOUT_S,
    HEADER_BYTES_MAX,
    POOL_LINKS_MAX,
    REQUEST_TIMEOUT_S,
)
from rulith.net.link import Link, LinkFailed, open_link, within
from rulith.net.messages import HeaderRows, Headers, wire_rows
from rulith.net.proxies import Proxy, proxy_for
from rulith.net.tls import client_context

__all__ = ["ClientResponse", "ClientStream", "Headers", "HttpClient", "NetFailed", "UpgradeRefused"]

UPGRADE_REFUSED_BYTES_MAX = 65_536
DEFAULT_PORTS = {"http": 80, "https": 443}
SAFE_METHODS = ("GET", "HEAD")          # sending one twice has no effect, RFC 9110 §9.2.1


class NetFailed(Exception):
    """No usable answer came.

    sent    False: not a byte of the request left this machine; sending it again is safe.
            True: the peer may have acted on it.
    cause   resolve, connect, address, tls, proxy, header (before sending);
            timeout, closed, broken, not_http, too_large (before or after)
    """

    def __init__(self, cause: str, detail: str, *, sent: bool) -> None:
        super().__init__(f"{detail} ({'it may have been received' if sent else 'nothing was sent'})")
        self.cause = cause
        self.detail = detail
        self.sent = sent


class UpgradeRefused(Exception):
    """A server answered, and not by changing the protocol."""

    def __init__(self, answer: ClientResponse) -> None:
        super().__init__(f"the server answered HTTP {answer.status}")
        self.answer = answer


@dataclass(frozen=True)
class ClientResponse:
    status: int
    headers: Headers
    body: bytes = field(repr=False)

    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True)
class _Origin:
    scheme: str
    host: str
    port: int
    proxy: Proxy | None

    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass
class _Channel:
    """A link to an origin with its HTTP state, between exchanges in the pool."""

    link: Link
    http: h11.Connection
    idle_since_s: float = 0.0
    used: bool = False


class ClientStream:
    """An answer whose body is read piece by piece; iterate it once.

    idle_s   how long the next piece may take; may be set anew before each one
    """

    def __init__(self, exchange: _Exchange, idle_s: float | None) -> None:
        self.status = exchange.status
        self.headers = exchange.headers
        self.idle_s = idle_s
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        """The body's pieces. Raises NetFailed(sent=True) when it is cut or silent for longer than idle_s."""
        while True:
            self._exchange.arm(self.idle_s)
            chunk = await self._exchange.next_data()
            self._exchange.disarm()
            if chunk is None:
                return
            yield chunk

    async def read(self, bytes_max: int = BODY_BYTES_MAX) -> bytes:
        """The rest of the body in one piece, e.g. the text of a refused stream."""
        parts, size = [], 0
        async for chunk in self:
            size += len(chunk)
            if size > bytes_max:
                raise NetFailed("too_large", f"the answer is over {bytes_max} bytes", sent=True)
            parts.append(chunk)
        return b"".join(parts)


class HttpClient:
    """Requests to any origin over a pool of kept links. Belongs to one event loop.

    environ         where SSL_CERT_FILE, RULITH_CA_FILE and the proxy settings are read
    allow_address   asked for each IP address before connecting (see net.link); proxies are then not used,
                    because a proxy would resolve the name itself
    tls             another context than the default one
    """

    def __init__(self, clock: Clock | None = None, *, environ: Mapping[str, str] | None = None,
                 allow_address: Callable[[str], bool] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._clock = clock or SystemClock()
        self._environ = os.environ if environ is None else environ
        self._allow_address = allow_address
        self._tls = tls
        self._pool: dict[_Origin, list[_Channel]] = {}
        self._closed = False

    async def request(self, method: str, url: str, headers: HeaderRows = (), body: bytes = b"", *,
                      timeout_s: float = REQUEST_TIMEOUT_S, body_bytes_max: int = BODY_BYTES_MAX) -> ClientResponse:
        """Send one request and read its whole answer, whatever its status.

        Raises NetFailed; Refused url_unusable, proxy_unusable, ca_file_unreadable before anything is sent.
        """
        exchange = await self._begin(method, url, headers, body, timeout_s)
        try:
            length = exchange.headers.get("content-length")
            if length is not None and method != "HEAD" and int(length) > body_bytes_max:
                raise NetFailed("too_large", f"the answer is {length} bytes, over {body_bytes_max}", sent=True)
            parts, size = [], 0
            while (chunk := await exchange.next_data()) is not None:
                size += len(chunk)
                if size > body_bytes_max:
                    raise NetFailed("too_large", f"the answer is over {body_bytes_max} bytes", sent=True)
                parts.append(chunk)
        finally:
            exchange.finish()
        return ClientResponse(exchange.status, exchange.headers, b"".join(parts))

    @asynccontextmanager
    async def stream(self, method: str, url: str, headers: HeaderRows = (), body: bytes = b"", *,
                     timeout_s: float = REQUEST_TIMEOUT_S, idle_s: float | None = None) -> AsyncIterator[ClientStream]:
        """Send one request; enter with its status and fields, iterate its body. Leaving early closes the link.

        idle_s   the longest silence between two pieces; None waits for ever
        """
        exchange = await self._begin(method, url, headers, body, timeout_s)
        exchange.disarm()
        try:
            yield ClientStream(exchange, idle_s)
        finally:
            exchange.finish()

    async def upgrade(self, url: str, headers: HeaderRows, *, timeout_s: float = REQUEST_TIMEOUT_S) -> tuple[Link, Headers, bytes]:
        """Ask with GET for another protocol: the link, the answer's fields, and the bytes behind them.

        The link is the caller's from then on. Raises NetFailed, UpgradeRefused, and Refused like `request`.
        """
        origin, target = self._place(url)
        head = _head_rows(origin, "GET", headers, b"")
        channel = await self._open(origin, min(CONNECT_TIMEOUT_S, timeout_s))
        exchange = _Exchange(self, origin, channel)
        exchange.arm(timeout_s)
        try:
            await exchange.send("GET", target, head, b"")
            if await exchange.receive_switch():
                exchange.disarm()
                return channel.link, exchange.headers, channel.http.trailing_data[0]
            raise UpgradeRefused(ClientResponse(exchange.status, exchange.headers, await exchange.rest(UPGRADE_REFUSED_BYTES_MAX)))
        except BaseException:
            exchange.finish()
            raise

    async def close(self) -> None:
        """Close every kept link. Exchanges under way end with their own links."""
        self._closed = True
        for channels in self._pool.values():
            for channel in channels:
                channel.link.abort()
        self._pool.clear()
        await asyncio.sleep(0)

    # one exchange

    async def _begin(self, method: str, url: str, headers: HeaderRows, body: bytes, timeout_s: float) -> _Exchange:
        origin, target = self._place(url)
        head = _head_rows(origin, method, headers, body)
        deadline = self._clock.monotonic_s() + timeout_s
        while True:
            channel = self._kept(origin)
            if channel is None:
                channel = await self._open(origin, min(CONNECT_TIMEOUT_S, timeout_s))
            exchange = _Exchange(self, origin, channel)
            exchange.arm(deadline - self._clock.monotonic_s())
            try:
                await exchange.send(method, target, head, body)
                await exchange.receive_head()
            except NetFailed:
                exchange.finish()
                stale = channel.used and not exchange.answered and not exchange.timed_out
                if stale and (method in SAFE_METHODS or not exchange.sent):
                    continue
                raise
            except BaseException:
                exchange.finish()
                raise
            return exchange

    def _place(self, url: str) -> tuple[_Origin, str]:
        """The origin and the request target of `url`."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as problem:
            raise Refused("url_unusable", url=_without_query(url), problem=problem) from None
        if parts.scheme not in DEFAULT_PORTS:
            raise Refused("url_unusable", url=_without_query(url), problem="its scheme is neither http nor https")
        if parts.username is not None or parts.password is not None:
            raise Refused("url_unusable", url=f"{parts.scheme}://…@{parts.hostname}", problem="it holds a credential")
        host = parts.hostname
        if not host:
            raise Refused("url_unusable", url=_without_query(url), problem="it names no host")
        if not host.isascii():
            try:
                host = host.encode("idna").decode("ascii")
            except UnicodeError as problem:
                raise Refused("url_unusable", url=_without_query(url), problem=problem) from None
        port = port if port is not None else DEFAULT_PORTS[parts.scheme]
        proxy = None if self._allow_address else proxy_for(self._environ, parts.scheme, host, port)
        origin = _Origin(parts.scheme, host, port, proxy)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not target.isascii() or not target.isprintable() or " " in target:
            raise Refused("url_unusable", url=_without_query(url), problem="its path holds characters to be %-encoded")
        if proxy is not None and parts.scheme == "http":
            target = f"http://{origin.authority()}{target}"
        return origin, target

    def _kept(self, origin: _Origin) -> _Channel | None:
        """A kept link that looks alive, newest first."""
        channels = self._pool.get(origin)
        now = self._clock.monotonic_s()
        while channels:
            channel = channels.pop()
            if channel.link.is_open() and now - channel.idle_since_s < CLIENT_IDLE_S:
                return channel
            channel.link.abort()
        return None

    def keep(self, origin: _Origin, channel: _Channel) -> None:
        """Back to the pool, or closed when the pool is full."""
        channels = self._pool.setdefault(origin, [])
        if self._closed or len(channels) >= POOL_LINKS_MAX:
            channel.link.close()
            return
        channel.used = True
        channel.idle_since_s = self._clock.monotonic_s()
        channels.append(channel)

    async def _open(self, origin: _Origin, timeout_s: float) -> _Channel:
        context = None
        if origin.scheme == "https":
            if self._tls is None:
                self._tls = client_context(self._environ)
            context = self._tls
        try:
            if origin.proxy is None:
                link = await open_link(origin.host, origin.port, tls=context, timeout_s=timeout_s,
                                       allow_address=self._allow_address)
            else:
                link = await open_link(origin.proxy.host, origin.proxy.port, timeout_s=timeout_s)
                if context is not None:
                    await within(timeout_s, _tunnel(link, origin, context))
        except LinkFailed as failed:
            raise NetFailed(failed.cause, failed.detail, sent=False) from None
        except asyncio.TimeoutError:
            link.abort()
            raise NetFailed("proxy", f"no tunnel to {origin.host} within {timeout_s:g} s", sent=False) from None
        return _Channel(link, _new_http())


class _Exchange:
    """One request and its answer on one channel."""

    def __init__(self, client: HttpClient, origin: _Origin, channel: _Channel) -> None:
        self.sent = False            # a byte may have left
        self.answered = False        # a byte has come back
        self.timed_out = False
        self.status = 0
        self.headers = Headers()
        self._client = client
        self._origin = origin
        self._channel = channel
        self._timer: asyncio.TimerHandle | None = None
        self._finished = False
        self._ended = False          # the peer has closed its side

    def arm(self, timeout_s: float | None) -> None:
        """Abort the link after `timeout_s`: cheaper than a task per request, and the reader wakes at once."""
        self.disarm()
        if timeout_s is not None:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, timeout_s), self._expire)

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self.timed_out = True
        self._channel.link.abort()

    async def send(self, method: str, target: str, rows: list[tuple[bytes, bytes]], body: bytes) -> None:
        http, link = self._channel.http, self._channel.link
        try:
            out = http.send(h11.Request(method=method, target=target, headers=rows)) or b""
            if body:
                out += http.send(h11.Data(data=body)) or b""
            out += http.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError:
            raise NetFailed("header", "a header field or the method holds an illegal character", sent=False) from None
        if link.transport.is_closing():
            raise NetFailed("closed", "the kept connection had closed", sent=False)
        self.sent = True
        link.write(out)
        try:
            await link.drain()
        except LinkFailed:
            pass        # the peer may have answered before it closed: reading tells

    async def _event(self) -> object:
        """The next h11 event. Raises NetFailed."""
        http, link = self._channel.http, self._channel.link
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as problem:
                raise self._failed("closed" if self._ended else "not_http", str(problem)) from None
            if event is not h11.NEED_DATA:
                return event
            try:
                data = await link.read()
            except LinkFailed as failed:
                raise self._failed(failed.cause, failed.detail) from None
            if data:
                self.answered = True
            else:
                self._ended = True
                if self.timed_out:
                    raise self._failed("timeout", "")
            http.receive_data(data)

    def _failed(self, cause: str, detail: str) -> NetFailed:
        where = f"{self._origin.scheme}://{self._origin.authority()}"
        if self.timed_out:
            return NetFailed("timeout", f"{where} did not answer in time", sent=self.sent)
        if cause == "closed":
            return NetFailed("closed", f"{where} closed the connection before its answer was complete", sent=self.sent)
        if cause == "not_http":
            return NetFailed("not_http", f"{where} answered with something that is not HTTP/1.1", sent=self.sent)
        return NetFailed(cause, f"{where}: {detail}", sent=self.sent)

    async def receive_switch(self) -> bool:
        """Read the head; whether it changes the protocol."""
        while True:
            event = await self._event()
            if type(event) in (h11.Response, h11.InformationalResponse):
                self.status, self.headers = event.status_code, Headers(list(event.headers))
                if type(event) is h11.Response or event.status_code == 101:
                    return event.status_code == 101
            else:
                raise self._failed("closed", "")

    async def rest(self, bytes_max: int) -> bytes:
        """What is left of the body, or its beginning."""
        found = b""
        while len(found) < bytes_max and (data := await self.next_data()) is not None:
            found += data
        return found[:bytes_max]

    async def receive_head(self) -> None:
        while True:
            event = await self._event()
            if type(event) is h11.Response:
                self.status = event.status_code
                self.headers = Headers(list(event.headers))
                return
            if type(event) is not h11.InformationalResponse:
                raise self._failed("closed", "")

    async def next_data(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        while True:
            event = await self._event()
            if type(event) is h11.Data:
                if event.data:
                    return bytes(event.data)
            elif type(event) is h11.EndOfMessage:
                return None
            else:
                raise self._failed("closed", "")

    def finish(self) -> None:
        """Keep the link when the exchange ended cleanly, else cut it."""
        if self._finished:
            return
        self._finished = True
        self.disarm()
        http, link = self._channel.http, self._channel.link
        if http.our_state is h11.DONE and http.their_state is h11.DONE and link.is_open():
            http.start_next_cycle()
            self._client.keep(self._origin, self._channel)
        elif self.answered and http.their_state in (h11.DONE, h11.CLOSED, h11.MUST_CLOSE):
            link.close()
        else:
            link.abort()


def _new_http() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADER_BYTES_MAX)


def _head_rows(origin: _Origin, method: str, headers: HeaderRows, body: bytes) -> list[tuple[bytes, bytes]]:
    given = wire_rows(headers)
    names = {name for name, _ in given}
    rows = [(b"host", origin.authority().encode("ascii")), *(row for row in given if row[0] != b"host")]
    if b"user-agent" not in names:
        rows.append((b"user-agent", b"rulith"))
    if b"accept-encoding" not in names:
        rows.append((b"accept-encoding", b"identity"))      # nothing here decompresses
    if (body or method in ("POST", "PUT", "PATCH")) and b"content-length" not in names:
        rows.append((b"content-length", b"%d" % len(body)))
    if origin.proxy is not None and origin.scheme == "http" and origin.proxy.authorization:
        rows.append((b"proxy-authorization", origin.proxy.authorization.encode("ascii")))
    return rows


async def _tunnel(link: Link, origin: _Origin, context: ssl.SSLContext) -> None:
    """CONNECT through the proxy, then TLS with the origin. Raises LinkFailed; the origin has seen nothing."""
    assert origin.proxy is not None
    http = _new_http()
    target = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
    rows = [("host", target)]
    if origin.proxy.authorization:
        rows.append(("proxy-authorization", origin.proxy.authorization))
    link.write(http.send(h11.Request(method="CONNECT", target=target, headers=rows)) or b"")
    link.write(http.send(h11.EndOfMessage()) or b"")
    proxy = f"{origin.proxy.host}:{origin.proxy.port}"
    try:
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                http.receive_data(await link.read())
            elif type(event) is h11.Response:
                break
            elif type(event) is not h11.InformationalResponse:
                raise LinkFailed("proxy", f"the proxy {proxy} closed the connection")
        if not 200 <= event.status_code < 300:
            raise LinkFailed("proxy", f"the proxy {proxy} answered {event.status_code} to CONNECT {target}")
        await link.start_tls(context, origin.host)
    except h11.RemoteProtocolError as problem:
        link.abort()
        raise LinkFailed("proxy", f"the proxy {proxy} does not speak HTTP: {problem}") from None
    except BaseException:
        link.abort()
        raise


def _without_query(url: str) -> str:
    return url.partition("?")[0][:200]
