"""`rulith board` over stdio: one line one message, until the client's end of stdin.

Promises: reading never waits for a Board, so pings and cancellations are heard while one
computes; answers go out whole, one at a time; the end of stdin ends the process, whatever
it was doing. Nothing but protocol leaves through stdout.

Source  MCP, "stdio transport".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rulith.base.limits import BOARD_CALLS_WAITING_MAX, BOARD_LISTENS_MAX, BOARD_MESSAGE_BYTES_MAX, PROGRESS_EVERY_S
from rulith.gateway.board_server import BoardHost, tools_server
from rulith.net.stdio import Stdio
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import INTERNAL_ERROR
from rulith.wire.mcp_server import error_body
from rulith.wire.mcp_tools import Call, Cancelled, Lines, Listen, Send, progress


class StdioPeer:
    """One client. `write` takes whole lines and may raise OSError once the client is gone."""

    def __init__(self, host: BoardHost, write: Callable[[bytes], None]) -> None:
        self._host = host
        self._lines = Lines(tools_server(), line_bytes_max=BOARD_MESSAGE_BYTES_MAX)
        self._write = write
        self._calls: dict[tuple[str, object], asyncio.Task] = {}
        self._listens: dict[tuple[str, object], Listen] = {}
        self.is_gone = False

    def receive(self, data: bytes) -> None:
        """Take bytes from the client; answers follow by themselves."""
        for step in self._lines.receive(data):
            if isinstance(step, Send):
                self._send(step.body)
            elif isinstance(step, Call) and len(self._calls) >= BOARD_CALLS_WAITING_MAX:
                self._send(error_body(step.id, INTERNAL_ERROR, f"{BOARD_CALLS_WAITING_MAX} calls wait already; send it when one was answered.",
                                      {"reason": "too_many_calls"}))
            elif isinstance(step, Call):
                key = _key(step.id)
                task = asyncio.ensure_future(self._answer(step))
                self._calls[key] = task
                task.add_done_callback(lambda done, key=key: self._forget(key, done))
            elif isinstance(step, Listen):
                self._listen(step)
            elif isinstance(step, Cancelled):
                self._cancel(step.id)

    def _forget(self, key: tuple[str, object], task: asyncio.Task) -> None:
        if self._calls.get(key) is task:
            del self._calls[key]

    async def _answer(self, call: Call) -> None:
        running = asyncio.ensure_future(self._host.call(call))
        step = 0
        try:
            while not (await asyncio.wait({running}, timeout=PROGRESS_EVERY_S))[0]:
                if call.progress_token is not None:
                    step += 1
                    self._send(progress(call.progress_token, step))
        except asyncio.CancelledError:
            running.cancel()        # drops it where it has not begun
            raise
        self._send(self._lines.server.answer(call, running.result()))

    def _listen(self, listen: Listen) -> None:
        if len(self._listens) >= BOARD_LISTENS_MAX:
            self._send(error_body(listen.id, INTERNAL_ERROR, f"At most {BOARD_LISTENS_MAX} streams are kept open."))
            return
        self._listens[_key(listen.id)] = listen
        self._send(listen.first)

    def _cancel(self, request_id: object) -> None:
        """Nobody waits for the answer any more. A call that has begun is finished all the same."""
        self._listens.pop(_key(request_id), None)
        task = self._calls.pop(_key(request_id), None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Say goodbye on open streams."""
        for listen in self._listens.values():
            self._send(listen.last)
        self._listens.clear()

    def _send(self, message: dict) -> None:
        if self.is_gone:
            return
        try:
            self._write(jsonrpc.encode(message) + b"\n")
        except OSError:
            self.is_gone = True     # the client left; the end of its stdin says so too


def _key(request_id: object) -> tuple[str, object]:
    return type(request_id).__name__, request_id if isinstance(request_id, (str, int)) else None


async def serve_stdio(host: BoardHost, stdio: Stdio) -> None:
    """Serve the client on stdin and stdout until it closes stdin."""
    peer = StdioPeer(host, stdio.write)
    async for data in stdio.pieces():
        peer.receive(data)
    peer.close()
