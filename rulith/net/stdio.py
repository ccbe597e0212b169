"""stdin and stdout as the two pipes of a protocol, and the end of a process that serves them.

Promises: what else prints goes to stderr; stdin is read no faster than it is taken; the
client's end of stdin, or a signal, ends the serving.

Source  MCP, "stdio transport"
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import threading
from collections.abc import AsyncIterator

READ_BYTES, PIECES_WAITING_MAX = 65_536, 16
EXIT_LEFT, EXIT_INTERRUPTED, EXIT_TERMINATED = 0, 130, 143


def claim_stdout() -> int:
    """A descriptor for the protocol alone; whatever else prints goes to stderr."""
    try:
        wire = os.dup(1)
        os.dup2(2, 1)
        return wire
    except OSError:
        return 1                        # stderr is closed: a stray print is the lesser harm


def write_all(descriptor: int, data: bytes) -> None:
    """Raises OSError once nobody reads any more."""
    while data:
        data = data[os.write(descriptor, data):]


async def stdin_pieces() -> AsyncIterator[bytes]:
    """What arrives on stdin, until the client closes it."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue(PIECES_WAITING_MAX)

    def read() -> None:
        # A thread, because stdin may be a file or a pipe that asyncio cannot wait for.
        data = b"x"
        while data:
            try:
                data = os.read(0, READ_BYTES)
            except OSError:
                data = b""
            taking = arrived.put(data)
            try:
                asyncio.run_coroutine_threadsafe(taking, loop).result()
            except (RuntimeError, concurrent.futures.CancelledError):
                taking.close()          # the loop is over; nobody listens any more
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while data := await arrived.get():
        yield data


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
