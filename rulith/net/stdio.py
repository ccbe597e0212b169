"""stdin and stdout as the two pipes of a protocol, and the end of a process that serves them.

Promises: what else prints goes to stderr; stdin is read no faster than it is taken, and
not while the client leaves its answers unread; the client's end of stdin, or a signal, ends
the serving, whether or not it reads.

Source  MCP, "stdio transport"
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import queue
import select
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

T = TypeVar("T")

READ_BYTES, PIECES_WAITING_MAX = 65_536, 16
UNREAD_BYTES_MAX = 4 * 2**20        # answers nobody took yet; then nothing more is read until there is room
FLUSH_S = 1.0                       # how long the last answers may still take
EXIT_LEFT, EXIT_INTERRUPTED, EXIT_TERMINATED = 0, 130, 143


class Stdio:
    """stdin and stdout of this process. Each has a thread, because either may be a file or a pipe that asyncio can not wait for.

    To be made on the loop that serves. Whatever else prints goes to stderr from then on.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wire = _claim_stdout()
        self._leaving: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._unread, self._is_gone = 0, False
        self._moved = asyncio.Event()       # something was taken, or an end was seen
        self._has_ended = False
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Leave `data` for the client, in order; never waits for it. Raises OSError once nobody reads any more."""
        if self._is_gone:
            raise BrokenPipeError("the client is gone")
        self._unread += len(data)
        self._leaving.put(data)

    async def pieces(self) -> AsyncIterator[bytes]:
        """What arrives on stdin until the client closes it; none while the client leaves too much unread."""
        arrived: asyncio.Queue[bytes] = asyncio.Queue(PIECES_WAITING_MAX)
        threading.Thread(target=self._read, args=(arrived,), name="stdin", daemon=True).start()
        while data := await arrived.get():
            yield data
            while self._unread > UNREAD_BYTES_MAX and not self._is_gone and not self._has_ended:
                self._moved.clear()
                await self._moved.wait()

    async def flush(self) -> None:
        """Give the client a moment to take what was written last."""
        taken = asyncio.ensure_future(self._taken())
        await asyncio.wait({taken}, timeout=FLUSH_S)
        taken.cancel()

    async def _taken(self) -> None:
        while self._unread and not self._is_gone:
            self._moved.clear()
            await self._moved.wait()

    def _read(self, arrived: asyncio.Queue[bytes]) -> None:
        data = b"x"
        while data:
            try:
                data = _patient(lambda: os.read(0, READ_BYTES), [0], [])
            except OSError:
                data = b""
            taking = arrived.put(data)
            try:
                if not data:
                    self._loop.call_soon_threadsafe(self._ended)
                asyncio.run_coroutine_threadsafe(taking, self._loop).result()
            except (RuntimeError, concurrent.futures.CancelledError):
                taking.close()          # the loop is over; nobody listens any more
                return

    def _write(self) -> None:
        while True:
            data = self._leaving.get()
            is_gone = False
            try:
                rest = data
                while rest:
                    rest = rest[_patient(lambda rest=rest: os.write(self._wire, rest), [], [self._wire]):]
            except OSError:
                is_gone = True
            try:
                self._loop.call_soon_threadsafe(self._took, len(data), is_gone)
            except RuntimeError:
                return                  # the loop is over
            if is_gone:
                return

    def _took(self, count: int, is_gone: bool) -> None:
        self._unread -= count
        self._is_gone |= is_gone
        self._moved.set()

    def _ended(self) -> None:
        self._has_ended = True
        self._moved.set()


def _patient(act: Callable[[], T], *ends: list[int]) -> T:
    """What comes of `act`, also where the host handed over an end that does not wait."""
    while True:
        try:
            return act()
        except BlockingIOError:
            select.select(*ends, [])


def _claim_stdout() -> int:
    """A descriptor for the protocol alone."""
    try:
        wire = os.dup(1)
        os.dup2(2, 1)
        return wire
    except OSError:
        return 1                        # stderr is closed: a stray print is the lesser harm


async def until_ended(serving: asyncio.Future) -> int:
    """The exit status, once the client has left or a signal says that this is the end."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(status: int) -> None:
        if not ended.done():
            ended.set_result(status)

    for number, status in ((signal.SIGINT, EXIT_INTERRUPTED), (signal.SIGTERM, EXIT_TERMINATED)):
        try:
            loop.add_signal_handler(number, end, status)
        except NotImplementedError:     # Windows: Ctrl+C arrives as KeyboardInterrupt
            pass
    await asyncio.wait({serving, ended}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
        return EXIT_LEFT
    serving.cancel()
    await asyncio.wait({serving})
    return ended.result()
