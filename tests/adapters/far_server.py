"""An HTTP server on loopback that does what a test's script says with each request, and remembers them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

CUT, HANG = object(), object()       # close without an answer; never answer. `connection: close` in an answer closes after it


@dataclass
class Seen:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def answer(status: int = 200, body: object = b"", kind: str = "application/json", **headers: str) -> bytes:
    """The bytes of one answer; `headers` with _ for -."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    rows = {"content-type": kind, "content-length": str(len(raw)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in rows.items())
    return f"HTTP/1.1 {status} x\r\n{head}\r\n".encode() + raw


@dataclass
class FarServer:
    script: Callable[[Seen], object]
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, *rows = head.decode("latin-1").split("\r\n")[:-2]
                headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                request = Seen(first.split()[0], first.split()[1], headers, body)
                self.seen.append(request)
                said = self.script(request)
                if said is HANG:
                    await asyncio.sleep(3600)
                if said is CUT:
                    return
                writer.write(said)
                await writer.drain()
                if b"\r\nconnection: close\r\n" in said:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def far_server(script: Callable[[Seen], object]):
    far = FarServer(script)
    tasks: set[asyncio.Task] = set()

    async def accept(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await far.serve(reader, writer)
        except asyncio.CancelledError:
            pass                                 # the test is over

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    far.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield far
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
