"""HTTP messages as the rest of the house sees them: requests, responses, header fields.

Plain values; nothing here waits or knows a socket. Field names are lower case,
field values are text (ISO 8859-1, as HTTP/1.1 carries them).

Source  RFC 9110, RFC 9112.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Union
from urllib.parse import parse_qsl, unquote

HeaderRows = Union[Mapping[str, str], Iterable[tuple[str, str]]]

# h11 leaves the reason empty and some load tools then count every answer as failed.
REASONS: dict[int, bytes] = {int(status): status.phrase.encode() for status in HTTPStatus}
_CLASS_REASONS = {1: b"Continue", 2: b"OK", 3: b"Redirect", 4: b"Refused", 5: b"Error"}


def reason_of(status: int) -> bytes:
    """The reason phrase of `status`; never empty."""
    return REASONS.get(status) or _CLASS_REASONS.get(status // 100, b"Unknown")


class Headers:
    """Header fields in the order they came; names compare without case."""

    __slots__ = ("_by_name", "rows")

    def __init__(self, rows: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """`rows` as h11 gives them: names already lower case."""
        self.rows = rows if isinstance(rows, list) else list(rows)
        self._by_name: dict[bytes, bytes] | None = None

    @classmethod
    def of(cls, rows: HeaderRows) -> Headers:
        return cls(wire_rows(rows))

    def get(self, name: str, default: str | None = None) -> str | None:
        """The field's value; several fields of one name are joined by a comma, as RFC 9110 reads them."""
        if self._by_name is None:
            table: dict[bytes, bytes] = {}
            for key, value in self.rows:
                table[key] = table[key] + b", " + value if key in table else value
            self._by_name = table
        value = self._by_name.get(name.lower().encode("latin-1"))
        return default if value is None else value.decode("latin-1")

    def getall(self, name: str) -> list[str]:
        wanted = name.lower().encode("latin-1")
        return [value.decode("latin-1") for key, value in self.rows if key == wanted]

    def items(self) -> list[tuple[str, str]]:
        return [(key.decode("latin-1"), value.decode("latin-1")) for key, value in self.rows]

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __repr__(self) -> str:
        return f"Headers({len(self.rows)} fields)"      # values may be credentials


def wire_rows(rows: HeaderRows) -> list[tuple[bytes, bytes]]:
    """Header rows as bytes. h11 refuses illegal characters, so none can smuggle a second field."""
    pairs = rows.items() if isinstance(rows, Mapping) else rows
    return [(name.lower().encode("latin-1"), str(value).encode("latin-1")) for name, value in pairs]


class Request:
    """One request. `body` is complete unless a head check is looking at it.

    body_bytes_max   a head check may raise or lower it for this request
    found            what the head check found out and the handler need not look up again; theirs alone
    secure           whether it came over TLS
    """

    __slots__ = ("_gone", "_query", "body", "body_bytes_max", "found", "headers", "method", "path", "peer", "secure", "target")

    def __init__(self, method: str, target: str, headers: Headers, body: bytes = b"", peer: str = "",
                 *, body_bytes_max: int = 0, gone: Presence | None = None, secure: bool = False) -> None:
        self.method = method
        self.target = target
        path, _, query = target.partition("?")
        self.path = unquote(path) if "%" in path else path
        self._query: dict[str, str] | str = query
        self.headers = headers
        self.body = body
        self.peer = peer
        self.secure = secure
        self.body_bytes_max = body_bytes_max
        self.found: object = None
        self._gone = gone

    @property
    def origin(self) -> str:
        """The address that this request used, which is one its caller can reach."""
        return f"{'https' if self.secure else 'http'}://{self.headers.get('host') or ''}"

    @property
    def query(self) -> dict[str, str]:
        """Query parameters; where a name comes twice the first one counts."""
        if isinstance(self._query, str):
            found: dict[str, str] = {}
            for name, value in parse_qsl(self._query, keep_blank_values=True) if self._query else ():
                found.setdefault(name, value)
            self._query = found
        return self._query

    def is_client_gone(self) -> bool:
        """Whether the client closed its side while this request was being answered."""
        return self._gone is not None and self._gone.is_gone()

    async def wait_client_gone(self) -> None:
        """Return once the client has gone; never for a request that came from no connection."""
        if self._gone is None:
            self._gone = Presence()
        await self._gone.wait_gone()

    def __repr__(self) -> str:
        return f"Request({self.method} {self.path})"


class Presence:
    """What a request may know of its connection; this one never leaves."""

    def is_gone(self) -> bool:
        return False

    async def wait_gone(self) -> None:
        await asyncio.get_running_loop().create_future()


class Response:
    """A complete answer. `content-length` is set by the server."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int = 200, headers: HeaderRows = (), body: bytes = b"") -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def __repr__(self) -> str:
        return f"Response({self.status}, {len(self.body)} bytes)"


class StreamResponse:
    """An answer whose body comes piece by piece, e.g. an event stream.

    chunks   an async iterator of bytes. When the client leaves, the pending `anext` is
             cancelled, so an async generator sees its `finally` run; a future it shares
             with others must be shielded.
    """

    __slots__ = ("chunks", "headers", "status")

    def __init__(self, status: int = 200, headers: HeaderRows = (), chunks: AsyncIterator[bytes] | None = None) -> None:
        self.status = status
        self.headers = headers
        self.chunks = chunks

    def __repr__(self) -> str:
        return f"StreamResponse({self.status})"


class Upgrade:
    """An answer that ends HTTP on its connection: 101, and from then on the bytes are `run`'s.

    run   run(transport, data, lost): set a protocol of its own, which is given `data` first and tells `lost`
          its `connection_lost`; the connection is over when it returns. A cancellation is the server's end.
    A request that asked for no other protocol gets 426 instead.
    """

    __slots__ = ("headers", "run")

    def __init__(self, headers: HeaderRows, run: Callable[[asyncio.Transport, bytes, Callable], Awaitable[None]]) -> None:
        self.headers = headers
        self.run = run


Handler = Callable[[Request], Awaitable[Union[Response, StreamResponse, Upgrade]]]
HeadCheck = Callable[[Request], Union[Response, None]]


def json_response(status: int, value: object, headers: HeaderRows = ()) -> Response:
    """`value` as compact JSON; the caller's header rows come after the content type."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8, but it has a JSON escape, and this error handler writes just that.
    return Response(status, [("content-type", "application/json"), *pairs], body.encode("utf-8", "backslashreplace"))


def text_response(status: int, text: str, headers: HeaderRows = ()) -> Response:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return Response(status, [("content-type", "text/plain; charset=utf-8"), *pairs], text.encode("utf-8"))
