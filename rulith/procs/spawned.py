"""A started process as the event loop sees it: its output as it comes, its exit when it exits.

asyncio's own Process reports the exit only after every pipe has closed, so a grandchild
that keeps a pipe open would hide it; this protocol tells the two apart.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence

from rulith.procs import orphans
from rulith.procs.trees import OWN_GROUP, kill_group, kill_tree

STDOUT, STDERR = 1, 2


class Spawned(asyncio.SubprocessProtocol):
    """One process. `exited` resolves to its status, `closed` once its pipes are closed as well."""

    def __init__(self, on_output: Callable[[int, bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.transport: asyncio.SubprocessTransport = None  # type: ignore[assignment]  # set before any other call
        self._on_output = on_output

    @classmethod
    async def start(cls, argv: Sequence[str], *, on_output: Callable[[int, bytes], None], has_stdin: bool,
                    stdout: int | None = subprocess.PIPE, stderr: int | None = subprocess.PIPE, cwd: str | None = None,
                    env: Mapping[str, str] | None = None) -> Spawned:
        """Start `argv` in a process group of its own. `stdout` and `stderr`: None is ours, a number a descriptor. Raises OSError, ValueError."""
        with orphans.starting():
            beginning = asyncio.ensure_future(asyncio.get_running_loop().subprocess_exec(
                lambda: cls(on_output), *argv, cwd=cwd, env=None if env is None else dict(env),
                stdin=subprocess.PIPE if has_stdin else subprocess.DEVNULL,
                stdout=stdout, stderr=stderr, **OWN_GROUP))
            try:
                _, self = await asyncio.shield(beginning)
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.ensure_future(_end_begun(beginning)))
                raise
            if not self.exited.done():
                orphans.began(self.pid)
        return self

    @property
    def pid(self) -> int:
        return self.transport.get_pid()

    @property
    def process_handle(self) -> int:
        """What Windows calls it by; 0 elsewhere."""
        return int(getattr(self.transport.get_extra_info("subprocess"), "_handle", 0))

    @property
    def status(self) -> int | None:
        return self.exited.result() if self.exited.done() else None

    def write(self, data: bytes) -> None:
        """To its stdin; nothing when it has closed it or ended."""
        pipe = self.transport.get_pipe_transport(0)
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)  # type: ignore[attr-defined]

    def close_stdin(self) -> None:
        """End its stdin once what was written has been taken."""
        pipe = self.transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    def close(self) -> None:
        """Close what is still open of its pipes."""
        self.transport.close()

    # asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_output(fd, data)

    def process_exited(self) -> None:
        orphans.ended(self.pid)
        if not self.exited.done():
            status = self.transport.get_returncode()
            self.exited.set_result(0 if status is None else status)

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def _end_begun(beginning: asyncio.Future) -> None:
    """Nobody waits for this start any more: its program, which may have run for a while, ends with what it started."""
    try:
        _, spawned = await beginning
    except (OSError, ValueError):
        return
    if not spawned.exited.done():
        kill_tree(spawned.pid)
        await spawned.exited
    kill_group(spawned.pid)
    spawned.close()
