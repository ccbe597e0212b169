"""One command to its end: own process group, bounded output, a deadline, ended as a tree.

Output over the bound ends the command: nobody could use the rest. Nothing it started in
its group survives it. Knows nothing of what the command is for.

Units   *_s seconds, *_bytes_max bytes
Source  the Worker hop, "run"
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.procs.trees import OWN_GROUP, kill_group, kill_tree

READ_BYTES = 65_536
PIPES_S = 1.0          # how long a left-behind grandchild may hold a pipe open after the command has ended


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    status           its exit status; negative: the signal that ended it
    stdout           at most stdout_bytes_max bytes
    stdout_overflow  it wrote more, and was ended for it
    stderr_tail      the last bytes of its error output
    timed_out        the deadline passed, and it was ended for that
    """

    status: int
    stdout: bytes = field(repr=False)
    stdout_overflow: bool
    stderr_tail: bytes = field(repr=False)
    timed_out: bool


async def _read_stdout(stream: asyncio.StreamReader, bytes_max: int, kept: bytearray) -> bool:
    """Read to the end; True as soon as there is more than `bytes_max`."""
    while chunk := await stream.read(READ_BYTES):
        kept += chunk
        if len(kept) > bytes_max:
            del kept[bytes_max:]
            return True
    return False


async def _read_tail(stream: asyncio.StreamReader, bytes_max: int, kept: bytearray) -> None:
    while chunk := await stream.read(READ_BYTES):
        kept += chunk
        if len(kept) > bytes_max:
            del kept[:-bytes_max]


async def _feed(stream: asyncio.StreamWriter, content: bytes) -> None:
    try:
        stream.write(content)
        await stream.drain()
        stream.close()
    except (BrokenPipeError, ConnectionResetError):
        pass                             # it did not want all of its input, which is its right


async def run_command(argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None,
                      stdin: bytes = b"", timeout_s: float = 60.0, stdout_bytes_max: int = 1_048_576,
                      stderr_bytes_max: int = 2048) -> Finished:
    """Run `argv` without a shell and wait for its end. Cancelling ends the command's tree first.

    Raises Refused command_not_started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=None if env is None else dict(env),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, **OWN_GROUP)
    except (OSError, ValueError) as problem:      # ValueError: a NUL in an argument
        raise Refused("command_not_started", program=argv[0],
                      problem=getattr(problem, "strerror", None) or problem) from None
    assert process.stdout is not None and process.stderr is not None
    stdout, stderr = bytearray(), bytearray()
    reading = asyncio.ensure_future(_read_stdout(process.stdout, stdout_bytes_max, stdout))
    others = [asyncio.ensure_future(_read_tail(process.stderr, stderr_bytes_max, stderr))]
    if stdin and process.stdin is not None:
        others.append(asyncio.ensure_future(_feed(process.stdin, stdin)))
    exited = asyncio.ensure_future(process.wait())
    timed_out = overflow = False
    try:
        timed_out = not await _wait_end(exited, reading, timeout_s)
        overflow = reading.done() and reading.result()
        if not exited.done():
            kill_tree(process.pid)
            await exited
        # The command is over; what it left behind in its group is not wanted any more.
        done, _ = await asyncio.wait([reading, *others], timeout=0)
        if len(done) < 1 + len(others):
            kill_group(process.pid)
            await asyncio.wait([reading, *others], timeout=PIPES_S)
        overflow = overflow or (reading.done() and reading.result())
    finally:
        if not exited.done():
            kill_tree(process.pid)
            await asyncio.shield(exited)
        for task in (reading, *others):
            task.cancel()
        await asyncio.wait([reading, *others])
        _close_pipes(process)
    return Finished(process.returncode or 0, bytes(stdout), overflow, bytes(stderr), timed_out)


async def _wait_end(exited: asyncio.Future[int], reading: asyncio.Future[bool], timeout_s: float) -> bool:
    """Wait for the exit or an overflow; False when the deadline came first."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    waiting: set[asyncio.Future[object]] = {exited, reading}  # type: ignore[arg-type]
    while not exited.done():
        if reading.done():
            if reading.result():
                return True
            waiting = {exited}                    # it closed its output and runs on
        done, _ = await asyncio.wait(waiting, timeout=deadline - loop.time(), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return False
    return True


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    transport = getattr(process, "_transport", None)   # asyncio offers no public way to close a half-read pipe
    if transport is not None:
        transport.close()
