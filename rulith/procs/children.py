"""One command to its end: own process group, bounded output, a deadline, ended as a tree.

Output over the bound ends the command: nobody could use the rest. Nothing it started in
its group survives it, and on Linux, where the caller asks for it, nothing it started at
all. Knows nothing of what the command is for.

Units   *_s seconds, *_bytes_max bytes
Source  the Worker hop, "run"
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.procs.jobs import Job
from rulith.procs.orphans import Brood
from rulith.procs.spawned import STDOUT, Spawned
from rulith.procs.trees import kill_group, kill_tree

PIPES_S = 1.0          # how long what it left behind may hold a pipe open after it was killed too
COUNT_S = 0.1          # between two counts of its processes


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    status           its exit status; negative: the signal that ended it
    stdout           at most stdout_bytes_max bytes
    stdout_overflow  it wrote more, and was ended for it
    stderr_tail      the last bytes of its error output
    timed_out        the deadline passed, and it was ended for that
    crowded          it had started more processes than it may, and was ended for that
    """

    status: int
    stdout: bytes = field(repr=False)
    stdout_overflow: bool
    stderr_tail: bytes = field(repr=False)
    timed_out: bool
    crowded: bool = False


class _Output:
    """What the command wrote, as far as it is kept."""

    def __init__(self, stdout_bytes_max: int, stderr_bytes_max: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.overflow: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stdout_bytes_max = stdout_bytes_max
        self._stderr_bytes_max = stderr_bytes_max

    def take(self, fd: int, data: bytes) -> None:
        if fd == STDOUT:
            self.stdout += data
            if len(self.stdout) > self._stdout_bytes_max:
                del self.stdout[self._stdout_bytes_max:]
                if not self.overflow.done():
                    self.overflow.set_result(None)
        else:
            self.stderr += data
            if len(self.stderr) > self._stderr_bytes_max:
                del self.stderr[:-self._stderr_bytes_max]


async def run_command(argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None,
                      stdin: bytes = b"", timeout_s: float = 60.0, stdout_bytes_max: int = 1_048_576,
                      stderr_bytes_max: int = 2048, ends_orphans: bool = False,
                      processes_max: int | None = None) -> Finished:
    """Run `argv` without a shell and wait for its end. Cancelling ends the command's tree first.

    ends_orphans   what left its group and its parents is ended too (Linux): whatever appears below this process
                   and does not belong to something else that it started through this room
    processes_max  how many processes the command may be at once; counted on Linux with ends_orphans, and on Windows
    Raises Refused command_not_started.
    """
    output = _Output(stdout_bytes_max, stderr_bytes_max)
    brood = Brood() if ends_orphans else None
    try:
        child = await Spawned.start(argv, on_output=output.take, has_stdin=bool(stdin), cwd=cwd, env=env)
    except (OSError, ValueError) as problem:      # ValueError: a NUL in an argument
        raise Refused("command_not_started", program=argv[0],
                      problem=getattr(problem, "strerror", None) or problem) from None
    except asyncio.CancelledError:
        if brood is not None:
            await asyncio.shield(asyncio.ensure_future(brood.end()))
        raise
    if brood is not None:
        brood.began(child.pid)
    job = Job.around(child.process_handle, processes_max)
    crowd = asyncio.ensure_future(_crowd(brood, processes_max))
    if stdin:
        child.write(stdin)
        child.close_stdin()
    try:
        await asyncio.wait([child.exited, output.overflow, crowd], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        crowded = crowd.done() and not child.exited.done()
        timed_out = not child.exited.done() and not output.overflow.done() and not crowded
        await end_command(child, brood, job)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(end_command(child, brood, job)))
        raise
    finally:
        crowd.cancel()
        child.close()
        if job is not None:
            job.close()
    return Finished(child.exited.result(), bytes(output.stdout), output.overflow.done(), bytes(output.stderr), timed_out, crowded)


async def _crowd(brood: Brood | None, processes_max: int | None) -> None:
    """Ends once there are more processes of the command than it may have."""
    if brood is None or processes_max is None:
        await asyncio.get_running_loop().create_future()
    await asyncio.sleep(COUNT_S)
    while brood.count() <= processes_max:
        await asyncio.sleep(COUNT_S)


async def end_command(child: Spawned, brood: Brood | None, job: Job | None) -> None:
    """See the command and what it left behind to their end, its last output included."""
    if job is not None:
        job.end()
    if not child.exited.done():
        kill_tree(child.pid)
        await child.exited
    if brood is not None:
        await brood.end()
    if not child.closed.done():
        # The pipes are still open: either output is on its way, or a grandchild holds them.
        kill_group(child.pid)
        await asyncio.wait([child.closed], timeout=PIPES_S)
