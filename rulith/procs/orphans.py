"""What a command leaves behind when it leaves its group and its parents: taken over, then ended.

On Linux a process may ask to become the parent of every orphan below it. So a program that
calls setsid and forks twice is still found after the command that started it has ended.
Elsewhere such a program is out of reach, and nothing here does anything.

Refuses to touch what was below this process before, and what other commands of its still
run. Units  *_s seconds
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys

from rulith.procs.trees import descendants, kill_process

_PR_SET_CHILD_SUBREAPER = 36
ENDING_S = 5.0               # for killed processes to be gone; one in an uninterruptible wait stays
LOOK_S = 0.005

_under_way: set[int] = set()     # commands of this process that have not ended


def adopt_orphans() -> bool:
    """From now on orphans below this process become its children. False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False                                   # an exotic libc, or a kernel before 3.4


class Brood:
    """What is below this process as a command begins, so that the rest can be told from it afterwards."""

    def __init__(self) -> None:
        self._known = frozenset(descendants(os.getpid())) if adopt_orphans() else None
        self._pid = 0

    def began(self, pid: int) -> None:
        self._pid = pid
        _under_way.add(pid)

    async def end(self) -> None:
        """End what the command left, once it has ended itself; wait until it is gone, within a bound."""
        _under_way.discard(self._pid)
        if self._known is None:
            return
        deadline = asyncio.get_running_loop().time() + ENDING_S
        while left := self._left():
            for pid, ticks in left:
                kill_process(pid, ticks)
                _reap(pid)
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(LOOK_S)

    def _left(self) -> list[tuple[int, str]]:
        """Below us now, neither known before nor part of another command. A fork since the last look is seen by the next."""
        spared = {row for pid in _under_way for row in descendants(pid)}
        return [row for row in descendants(os.getpid()) if row not in self._known and row not in spared and row[0] not in _under_way]


def _reap(pid: int) -> None:
    """Take the status of an orphan that became ours, so that no zombie stays."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass                                           # not ours yet, or taken
