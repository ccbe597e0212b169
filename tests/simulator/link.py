"""One connection between an Agent and a gateway, in memory, with every fault a network has.

Stands where the Agent's HTTP client stands and hands each request to the gateway's own front.
What goes wrong is chosen by `fault`, once for each request; a fault never changes what the
gateway decides, only what the two sides hear of each other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager

from rulith.net.client import ClientResponse, NetFailed
from rulith.net.messages import Headers, Request, StreamResponse

HOST = "127.0.0.1:7781"
# Nothing of the request arrives / it arrives and its answer does not / another answer comes in its place.
BEFORE = ("refused", "lost request", "crash before")
AFTER = ("lost answer", "cut", "silence", "crash after", "late request")
INSTEAD = ("html", "half json", "foreign id", "foreign session", "502", "429", "500 json", "404", "redirect", "huge")
GENTLE = ("drip", "twice")      # an odd way that harms nothing
FAULTS = BEFORE + AFTER + INSTEAD + GENTLE


class Gone:
    """What a request may know of its connection."""

    def __init__(self) -> None:
        self._left = asyncio.Event()

    def leave(self) -> None:
        self._left.set()

    def is_gone(self) -> bool:
        return self._left.is_set()

    async def wait_gone(self) -> None:
        await self._left.wait()


class Died(Exception):
    """The gateway's process ended, and its connections with it."""


class MemoryLink:
    """`serving()` is the gateway that serves now and the event of its death; `crash` kills it and starts another."""

    def __init__(self, serving: Callable[[], tuple[object, asyncio.Event]], fault: Callable[[str, dict], str],
                 crash: Callable[[], object]) -> None:
        self._serving = serving
        self._fault = fault
        self._crash = crash
        self._background: set[asyncio.Task] = set()
        self.met: list[str] = []
        self.sent: list[dict] = []               # every tools/call that the Agent wrote, in order

    async def serve(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes, gone: Gone):
        """What the gateway answers: (status, headers, async pieces of the body). Raises Died, also from the pieces."""
        gateway, died = self._serving()
        address = gateway._front.at(loopback=True)
        request = Request(method, path, Headers.of([*headers, ("host", HOST)]), body, "127.0.0.1", gone=gone)
        answer = address.head_check(request) or await _unless(died, address.handle(request))
        rows = Headers.of(answer.headers)
        return answer.status, rows, _lived(died, answer.chunks) if isinstance(answer, StreamResponse) else _once(answer.body)

    def _in_background(self, work) -> asyncio.Task:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._settled)
        return task

    def _settled(self, task: asyncio.Task) -> None:
        self._background.discard(task)
        if not task.cancelled():
            task.exception()                     # a request to a gateway that crashed meanwhile ends anyhow

    # as the Agent's HTTP client

    async def close(self) -> None:
        pass

    async def request(self, method: str, url: str, headers=(), body: bytes = b"", *, timeout_s: float = 30.0) -> ClientResponse:
        async with self.stream(method, url, headers, body, timeout_s=timeout_s) as answer:
            return ClientResponse(answer.status, answer.headers, b"".join([piece async for piece in answer]))

    @asynccontextmanager
    async def stream(self, method: str, url: str, headers=(), body: bytes = b"", *, timeout_s: float = 30.0):
        message = json.loads(body) if body else {}
        if message.get("method") == "tools/call":
            self.sent.append(message)
        fault = self._fault(method, message)
        self.met.append(fault)
        rows = list(dict(headers).items())
        if fault == "refused":
            raise NetFailed("connect", "no connection", sent=False)
        if fault == "crash before":
            await self._crash()
        if fault in ("lost request", "crash before"):
            raise NetFailed("closed", "closed before the answer", sent=True)
        if fault == "late request":
            self._in_background(self._late(method, rows, body))
            raise NetFailed("closed", "closed before the answer", sent=True)
        gone = Gone()
        if fault == "twice":
            self._in_background(self._drained(method, rows, body, Gone()))
        answering = self._in_background(self.serve(method, "/mcp", rows, body, gone))
        if fault in ("lost answer", "crash after", "silence") or fault in INSTEAD:
            await self._acted(answering, gone, fault)
            if fault not in INSTEAD:
                await asyncio.sleep(timeout_s if fault == "silence" else 0)
                raise NetFailed("timeout" if fault == "silence" else "closed", "no answer came", sent=True)
            yield _Pieces(*_instead(fault, rows, message))
            return
        try:
            done, _ = await asyncio.wait([answering], timeout=timeout_s)
            if not done:
                raise NetFailed("timeout", "no answer in time", sent=True)
            try:
                status, found, pieces = answering.result()
            except Died:
                raise NetFailed("closed", "closed before the answer", sent=True) from None
            yield _Pieces(status, found, pieces, cut_at=40 if fault == "cut" else None, drips=fault == "drip")
        finally:
            gone.leave()
            answering.cancel()

    async def _acted(self, answering: asyncio.Task, gone: Gone, fault: str) -> None:
        """Let the gateway take the request in, then let nobody hear its answer."""
        await asyncio.sleep(0.01)
        gone.leave()
        if fault == "crash after":
            await self._crash()

    async def _late(self, method: str, rows: list, body: bytes) -> None:
        await asyncio.sleep(3.0)
        await self._drained(method, rows, body, Gone())

    async def _drained(self, method: str, rows: list, body: bytes, gone: Gone) -> None:
        _, _, pieces = await self.serve(method, "/mcp", rows, body, gone)
        gone.leave()
        await pieces.aclose()


class _Pieces:
    """The body as the client reads it: within `idle_s` each, perhaps byte by byte, perhaps cut."""

    def __init__(self, status: int, headers: Headers, pieces, *, cut_at: int | None = None, drips: bool = False) -> None:
        self.status, self.headers, self.idle_s = status, headers, None
        self._pieces, self._cut_at, self._drips = pieces, cut_at, drips

    async def __aiter__(self):
        count, pieces = 0, self._pieces.__aiter__()
        while True:
            piece = asyncio.ensure_future(pieces.__anext__())
            try:
                done, _ = await asyncio.wait([piece], timeout=self.idle_s)
            finally:
                if not piece.done():
                    piece.cancel()
            if not done:
                raise NetFailed("timeout", "no piece in time", sent=True)
            try:
                data = piece.result()
            except StopAsyncIteration:
                return
            except Died:
                raise NetFailed("closed", "closed inside the answer", sent=True) from None
            if self._cut_at is not None and count + len(data) > self._cut_at:
                yield data[:self._cut_at - count]
                raise NetFailed("closed", "closed inside the answer", sent=True)
            count += len(data)
            for part in ([data[at:at + 1] for at in range(len(data))] if self._drips else [data]):
                yield part


async def _unless(died: asyncio.Event, work):
    """What `work` comes to while the process lives. Raises Died."""
    doing, end = asyncio.ensure_future(work), asyncio.ensure_future(died.wait())
    try:
        await asyncio.wait([doing, end], return_when=asyncio.FIRST_COMPLETED)
        if died.is_set():                                # whatever a dying process still said or did
            doing.add_done_callback(lambda task: task.cancelled() or task.exception())
            raise Died
        return doing.result()
    finally:
        end.cancel()
        doing.cancel()


async def _lived(died: asyncio.Event, chunks):
    pieces = chunks.__aiter__()
    while True:
        try:
            piece = await _unless(died, pieces.__anext__())
        except StopAsyncIteration:
            return
        yield piece


async def _once(body: bytes):
    yield body


def _instead(fault: str, rows: list, message: dict):
    """An answer that the gateway never gave."""
    session = dict(rows).get("mcp-session-id", "none")
    good = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": [{"type": "text", "text": '{"accepted":true,"view":{}}'}]}}
    status, kind, body = 200, "application/json", json.dumps(good).encode()
    if fault == "html":
        kind, body = "text/html", b"<html>Sign in to the hotel</html>"
    elif fault == "half json":
        body = body[:len(body) // 2]
    elif fault == "foreign id":
        body = json.dumps({**good, "id": "someone-else"}).encode()
    elif fault == "foreign session":
        session = "mcps_foreign"
    elif fault == "huge":
        return 200, Headers.of([("content-type", kind), ("content-length", str(2**40))]), _once(b"")
    elif fault in ("502", "429", "404", "redirect"):
        status, body = {"redirect": 302}.get(fault) or int(fault), b"no"
    elif fault == "500 json":
        status, body = 500, json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": -32603, "message": "no"}}).encode()
    return status, Headers.of([("content-type", kind), ("mcp-session-id", session)]), _once(body)
