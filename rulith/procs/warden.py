"""A command that does not outlive whoever started it, even one that is killed.

The command runs below a warden, a small process that holds nothing but a pipe. When the pipe
ends, because its starter says so or has died in whatever way, the warden ends the command and
all that it has started. The command's output goes where the starter's goes, or as far as it
is kept to the starter's stderr.

    starter ──pipe── warden ── command ── …

Promises: when `run_warded` has returned, nothing of the command runs (on Linux also what
left its group and its parents; on Windows a Job Object holds it).

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.limits import CONTROL_LINE_BYTES_MAX
from rulith.procs.archive import checkout_root, role_command, running_archive
from rulith.procs.children import end_command
from rulith.procs.jobs import Job
from rulith.procs.orphans import Brood
from rulith.procs.spawned import Spawned
from rulith.procs.trees import kill_group, terminate_group

PROTOCOL = "rulith-warden/1"
WORD = "--warden"                # what a verb is started with to be one
ASKED_S = 0.5                    # a command that is asked to end has so long before it is made to
END_S = 12.0                     # for a warden to see everything to its end; then it is ended with it
NOT_STARTED, SIGNALLED = 127, 128
STDERR = 2
INHERITED: dict = {"stdout": None, "stderr": None}


# --- the warden's side ---------------------------------------------------------------------


def keep_one() -> int:
    """Be the warden of the command on stdin's first line; its exit status, 128 and more for a signal."""
    return asyncio.run(_keep())


async def _keep() -> int:
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[bytes] = asyncio.Queue()
    threading.Thread(target=_listen, args=(loop, told), name="starter", daemon=True).start()
    ended = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, lambda: ended.done() or ended.set_result(None))
        except NotImplementedError:                    # Windows: the pipe alone
            pass
    line = await told.get()
    try:
        order = json.loads(line)
        if order["protocol"] != PROTOCOL:
            raise KeyError
        argv, env, cwd, bytes_max = order["argv"], order["env"], order["cwd"], order["outputBytesMax"]
        is_kept = bytes_max is not None
    except (ValueError, KeyError, TypeError):
        return NOT_STARTED                             # the starter died before it had said what
    brood = Brood()
    try:
        child = await Spawned.start(argv, on_output=_Kept(bytes_max or 0).take, has_stdin=False, cwd=cwd, env=env, **({} if is_kept else INHERITED))
    except (OSError, ValueError) as problem:
        print(f"{argv[0]} could not be started: {getattr(problem, 'strerror', None) or problem}", file=sys.stderr)
        return NOT_STARTED
    brood.began(child.pid)
    job = Job.around(child.process_handle, None)
    over = asyncio.ensure_future(told.get())           # the end of stdin; nothing else is ever said
    await asyncio.wait([child.exited, over, ended], return_when=asyncio.FIRST_COMPLETED)
    if not child.exited.done():
        terminate_group(child.pid)
        await asyncio.wait([child.exited], timeout=ASKED_S)
    await end_command(child, brood, job)
    kill_group(child.pid)
    over.cancel()
    status = child.exited.result()
    return status if status >= 0 else SIGNALLED - status


class _Kept:
    """What of a command's output reaches our stderr: its beginning, and that there was more."""

    def __init__(self, bytes_max: int) -> None:
        self._left = bytes_max

    def take(self, fd: int, data: bytes) -> None:
        if self._left <= 0:
            return
        kept = data[:self._left]
        self._left -= len(kept)
        if not self._left:
            kept += b"\n(more output of this run is not kept)\n"
        try:
            os.write(STDERR, kept)
        except OSError:
            self._left = 0                             # a full disk, or nobody reads it: the command goes on


def _listen(loop: asyncio.AbstractEventLoop, told: asyncio.Queue[bytes]) -> None:
    """The first line, then the end of stdin as empty bytes; in a thread, because Windows cannot wait for a pipe otherwise."""
    unread, is_open = b"", True
    try:
        while b"\n" not in unread and is_open and len(unread) <= CONTROL_LINE_BYTES_MAX:
            chunk = os.read(0, 65_536)
            unread, is_open = unread + chunk, bool(chunk)
        loop.call_soon_threadsafe(told.put_nowait, unread.partition(b"\n")[0])
        while is_open:
            is_open = bool(os.read(0, 65_536))
    except OSError:
        pass
    except RuntimeError:
        return                                         # the loop is over; nobody listens any more
    try:
        loop.call_soon_threadsafe(told.put_nowait, b"")
    except RuntimeError:
        return


# --- the starter's side --------------------------------------------------------------------


@dataclass(frozen=True)
class Over:
    """status     the command's exit status, 128 and more for a signal; NOT_STARTED too where it could not be started
    timed_out  it was ended because its time was over"""

    status: int
    timed_out: bool


async def run_warded(verb: str, argv: Sequence[str], *, env: Mapping[str, str], timeout_s: float, output_bytes_max: int | None = None) -> Over:
    """Run `argv` with exactly this environment, and wait for its end. Cancelling ends it first.

    verb               one that runs `keep_one` when WORD follows it
    output_bytes_max   so much of its output goes to our stderr, because our stdout is for something else; None: it writes where we write
    Raises Refused command_not_started, where not even the warden could be started.
    """
    try:
        place = os.getcwd()
    except OSError as problem:
        raise Refused("command_not_started", program=argv[0], problem=f"the folder we are in is gone ({problem.strerror})") from None
    order = json.dumps({"protocol": PROTOCOL, "argv": list(argv), "env": dict(env), "cwd": place, "outputBytesMax": output_bytes_max})
    if len(order) >= CONTROL_LINE_BYTES_MAX:
        raise Refused("command_not_started", program=argv[0], problem="its environment is too large")
    archive = running_archive()
    own = {name: value for name, value in os.environ.items() if not name.upper().startswith(("RULITH_", "RIVENDELL_"))}
    if archive is None:
        own["PYTHONPATH"] = str(checkout_root())
    brood = Brood()
    try:
        warden = await Spawned.start([*role_command(verb, archive), WORD], on_output=lambda fd, data: None, has_stdin=True, stdout=None, stderr=None, env=own)
    except (OSError, ValueError) as problem:
        raise Refused("command_not_started", program=argv[0], problem=getattr(problem, "strerror", None) or problem) from None
    brood.began(warden.pid)
    warden.write(order.encode() + b"\n")
    is_cancelled = False
    try:
        await asyncio.wait([warden.exited], timeout=timeout_s)
    except asyncio.CancelledError:
        is_cancelled = True
    timed_out = not warden.exited.done()
    ending = asyncio.ensure_future(_see_to_the_end(warden, brood))
    while not ending.done():                           # whoever cancels twice waits too
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
    ending.result()
    return Over(warden.exited.result(), timed_out)


async def _see_to_the_end(warden: Spawned, brood: Brood) -> None:
    warden.close_stdin()
    await asyncio.wait([warden.exited], timeout=END_S)
    await end_command(warden, brood, None)             # there is nothing left, unless somebody killed the warden
    warden.close()
