"""Ways to a gateway through a proxy of its own making: one adds a token, one cuts each answer stream once.

Streams pass piece by piece; the names in Host and Origin stay the client's own.
"""

from __future__ import annotations

import asyncio


class Way:
    """Listens on loopback and passes on to `port`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = ""
        self._open: set[asyncio.Task] = set()

    async def __aenter__(self) -> Way:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def request(self, head: bytes) -> bytes:
        """A request's head as it goes on."""
        return head

    def answer(self, data: bytes) -> bool:
        """Whether the connection goes on after this piece of an answer."""
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(asyncio.current_task())
        try:
            onward, back = await asyncio.open_connection("127.0.0.1", self.port)
            answers = asyncio.ensure_future(self._pass_on(onward, writer))
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = next((int(row.partition(b":")[2]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length:")), 0)
                    back.write(self.request(head) + await reader.readexactly(length))
            finally:
                back.close()
                await answers
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass                        # the client has left, or the story is over
        finally:
            writer.close()
            self._open.discard(asyncio.current_task())

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            if not self.answer(data):
                break
        writer.close()


class WithToken(Way):
    """For clients that can send no token."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(port)
        self.token = token

    def request(self, head: bytes) -> bytes:
        return head[:-2] + f"authorization: Bearer {self.token}\r\n\r\n".encode()


class CutOnce(Way):
    """Breaks the connection of each POST stream after its first event; what a GET resumes passes whole."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.cut = self.resumed = 0
        self._resuming = False

    def request(self, head: bytes) -> bytes:
        self._resuming = head.startswith(b"GET") and b"last-event-id" in head.lower()
        self.resumed += self._resuming
        return head

    def answer(self, data: bytes) -> bool:
        is_cut = b"text/event-stream" in data and not self._resuming
        self.cut += is_cut
        return not is_cut
