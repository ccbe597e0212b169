"""What a command leaves behind when it leaves its group and its parents: taken over, counted, then ended.

On Linux a process may ask to become the parent of every orphan below it. So a program that
calls setsid and forks twice is still found after the command that started it has ended.
Elsewhere such a program is out of reach, and nothing here does anything.

Refuses to touch what was below this process before, and whatever else it has started and
still runs. Units  *_s seconds
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rulith.procs.identity import start_ticks
from rulith.procs.trees import descendants, kill_process

_PR_SET_CHILD_SUBREAPER = 36
ENDING_S = 5.0               # for killed processes to be gone; one in an uninterruptible wait stays
LOOK_S = 0.005
QUICK_LOOKS = 200            # at our own children, each some microseconds: what forks and ends at once becomes one of them

GROUP_S = 1.0                # for the killed rest of a group

_ours: set[int] = set()      # what this process has started and has not seen the end of
_starting: set[object] = set()       # a start is under way: its process may have ended before its number is known


@contextmanager
def starting() -> Iterator[None]:
    """Around a start, until `began` or `ended` was told: what has no number yet is nobody's orphan."""
    token = object()
    _starting.add(token)
    try:
        yield
    finally:
        _starting.discard(token)


def began(pid: int) -> None:
    _ours.add(pid)


def ended(pid: int) -> None:
    _ours.discard(pid)


def adopt_orphans() -> bool:
    """From now on orphans below this process become its children. False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False                                   # an exotic libc, or a kernel before 3.4


def reap_strays() -> None:
    """Take the status of every orphan that became ours and has ended, so that no zombie stays; not while something is being started."""
    strays = _children(os.getpid(), os.getpid()) or ()
    if not _starting:
        for pid in strays:
            if pid not in _ours and _is_zombie(pid):
                _reap(pid)


async def reap_group(pid: int) -> None:
    """Wait until what was killed of the group that `pid` led is gone too, where it became ours; `pid` itself was waited for."""
    if not sys.platform.startswith("linux"):
        return
    deadline = asyncio.get_running_loop().time() + GROUP_S
    while asyncio.get_running_loop().time() < deadline:
        try:
            if os.waitpid(-pid, os.WNOHANG)[0] == 0:
                await asyncio.sleep(LOOK_S)
        except ChildProcessError:
            return                                     # none of it is ours, or none is left


class Brood:
    """What is below this process as a command begins, so that the rest can be told from it afterwards."""

    def __init__(self) -> None:
        self._known = frozenset(_below(os.getpid())) if adopt_orphans() else None
        self._pid = 0

    def began(self, pid: int) -> None:
        self._pid = pid

    def count(self) -> int:
        """How many processes of the command there are now, itself included; 0 where that cannot be told."""
        return len(self._left(_below))

    async def end(self) -> None:
        """End what the command left, once it has ended itself; wait until it is gone, within a bound.

        All of it is stopped before any of it is killed: what is stopped forks no more, so a program that
        forks faster than the table of processes can be read is caught up with.
        """
        if self._known is None:
            return
        deadline = asyncio.get_running_loop().time() + ENDING_S
        stopped: set[tuple[int, str]] = set()
        while await _nothing_starts(deadline) and self._stop_children() | bool(left := self._left()):      # both are asked, each time
            fresh = [row for row in left if row not in stopped]
            for pid, ticks in fresh:
                _stop(pid, ticks)
            stopped.update(fresh)
            late = asyncio.get_running_loop().time() > deadline
            if fresh and not late:
                continue
            for pid, ticks in left:
                kill_process(pid, ticks)
                _reap(pid)
            if late:
                return
            await asyncio.sleep(LOOK_S)

    def _stop_children(self) -> bool:
        """Stop those of it that are children of ours by now, whose numbers nobody takes before we have waited for them.

        Whether there were any: one that forks and ends at once is always seen here, and not always in the table.
        """
        assert self._known is not None
        spared = {pid for pid, _ in self._known} | _ours
        stopped: set[int] = set()
        for _ in range(QUICK_LOOKS):
            fresh = set(_children(os.getpid(), os.getpid()) or ()) - spared - stopped
            for pid in fresh:
                try:
                    os.kill(pid, signal.SIGSTOP)
                except (ProcessLookupError, PermissionError):
                    pass                               # not ours to stop
            stopped |= fresh
            if not stopped:
                break
        return bool(stopped)

    def _left(self, below: Callable[[int], list[tuple[int, str]]] = descendants) -> list[tuple[int, str]]:
        """Below us now, neither known before nor part of something else of ours. A fork since the last look is seen by the next."""
        if self._known is None:
            return []
        others = _ours - {self._pid}
        rows = below(os.getpid())                      # first: what another of ours forks meanwhile is not among them
        spared = {row for pid in others for row in below(pid)}
        return [row for row in rows if row not in self._known and row not in spared and row[0] not in others]


async def _nothing_starts(deadline: float) -> bool:
    """Wait until each process that is being started has its number here, so that none is taken for an orphan; False once it is too late."""
    while _starting:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(LOOK_S)
    return True


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def _children(pid: int, thread: int) -> list[int] | None:
    """What this thread started, and for the first thread of a process every orphan it took over; None where nobody lists them."""
    try:
        with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
            return list(map(int, file.read().split()))
    except OSError:
        return None


def _below(pid: int) -> list[tuple[int, str]]:
    """As `descendants`, asked of the kernel's own lists: microseconds, and it may miss one while others come and go."""
    if _children(pid, pid) is None:
        return descendants(pid)
    found: list[tuple[int, str]] = []
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{one}/task")
        except OSError:
            continue                                   # it ended while we looked
        for child in (child for thread in threads for child in _children(one, int(thread)) or ()):
            found.append((child, start_ticks(child)))
            waiting.append(child)
    return found


def _stop(pid: int, ticks: str) -> None:
    try:
        if ticks and start_ticks(pid) == ticks:
            os.kill(pid, signal.SIGSTOP)
    except (ProcessLookupError, PermissionError):
        pass                                           # it ended, or is not ours to stop


def _reap(pid: int) -> None:
    """Take the status of an orphan that became ours, so that no zombie stays."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass                                           # not ours yet, or taken
