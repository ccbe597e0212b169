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

from rulith.base.clock import Clock, SystemClock
from rulith.base.errors import Refused
from rulith.net.connection import Connection, HttpLimits, Shared
from rulith.net.messages import (
    Handler,
    HeadCheck,
    Headers,
    Request,
    Response,
    StreamResponse,
    json_response,
    text_response,
)

__all__ = [
    "Handler", "HeadCheck", "Headers", "HttpLimits", "Request", "Response", "Server", "StreamResponse",
    "json_response", "serve", "text_response",
]

LISTEN_BACKLOG = 1024      # a burst of agents connecting at once waits in the kernel, not in a refusal


def _print_bug(bug: BaseException) -> None:
    traceback.print_exception(type(bug), bug, bug.__traceback__, file=sys.stderr)


class Server:
    """A listening server, made by `serve`. `close()` ends it; every connection it opened is gone afterwards."""

    def __init__(self, shared: Shared) -> None:
        self.host = ""
        self.port = 0
        self._shared = shared
        self._listener: asyncio.AbstractServer | None = None
        self._sweep: asyncio.TimerHandle | None = None
        # One timer for all connections: a timer per request would cost more than the request.
        self._sweep_s = min(0.5, shared.limits.shortest_s() / 4)

    @property
    def connections(self) -> set[Connection]:
        return self._shared.connections

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                lambda: Connection(self._shared, loop), host, port, ssl=tls, backlog=LISTEN_BACKLOG,
                ssl_handshake_timeout=self._shared.limits.header_timeout_s if tls else None,
            )
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise Refused("port_in_use", host=host, port=port) from None
            raise Refused("address_unusable", host=host, port=port, problem=problem.strerror or problem) from None
        self.host = host
        self.port = self._listener.sockets[0].getsockname()[1]
        self._sweep = loop.call_later(self._sweep_s, self._check_deadlines, loop)

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
        listener, self._listener = self._listener, None
        self._shared.closing = True
        listener.close()
        for connection in list(self.connections):
            connection.close_if_idle()
        tasks = {each.task for each in self.connections if each.task is not None}
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

    async def _wait_no_connections(self, timeout_s: float) -> None:
        if self.connections:
            empty = asyncio.get_running_loop().create_future()
            self._shared.on_empty = lambda: None if empty.done() else empty.set_result(None)
            await asyncio.wait([empty], timeout=timeout_s)


async def serve(handler: Handler, host: str = "127.0.0.1", port: int = 0, *, limits: HttpLimits | None = None,
                head_check: HeadCheck | None = None, tls: ssl.SSLContext | None = None, clock: Clock | None = None,
                on_bug: Callable[[BaseException], None] = _print_bug) -> Server:
    """Listen on `host`:`port` (0 picks a free one, see `.port`) and answer requests with `handler`.

    head_check  runs on the head alone; what it returns is the answer and the body is not read
    on_bug      told of each exception a handler let out; the client gets 500 without its text
    Raises Refused: port_in_use, address_unusable.
    """
    server = Server(Shared(handler, limits or HttpLimits(), head_check, clock or SystemClock(), on_bug))
    await server.listen(host, port, tls)
    return server
