"""A way to a gateway for clients that can send no token: every byte passed on, with `authorization` added.

Streams pass piece by piece; the names in Host and Origin stay the client's own.
"""

from __future__ import annotations

import asyncio


class WithToken:
    """Listens on loopback and speaks to the gateway on `port` as the Agent of `token`."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self._open: set[asyncio.Task] = set()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"

    async def __aexit__(self, *problem: object) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(asyncio.current_task())
        try:
            onward, back = await asyncio.open_connection("127.0.0.1", self.port)
            answers = asyncio.ensure_future(_pass_on(onward, writer))
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = next((int(row.partition(b":")[2]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length:")), 0)
                    back.write(head[:-2] + f"authorization: Bearer {self.token}\r\n\r\n".encode() + await reader.readexactly(length))
            finally:
                back.close()
                await answers
        except (asyncio.IncompleteReadError, ConnectionError):
            pass                        # the client has left
        finally:
            writer.close()
            self._open.discard(asyncio.current_task())


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()
