"""Processes by a mark in the environment they were started with: all that one start led to, wherever it went since.

A program that leaves its group and its parents keeps its environment. Linux shows it to the
same user; elsewhere nothing is found here, and what belongs to us ends by its stdin. A
program that clears its environment is not found either.

Units   *_s seconds
Source  the council surface, "Supervisor", the sweep of orphans
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from rulith.procs.identity import boot_id, start_ticks
from rulith.procs.trees import kill_process, kill_tree

LOOKS_MAX = 50           # at the table of processes, where each look still finds something
EMPTY_LOOKS = 3          # in a row, until nothing counts as left: what forks and ends moves on while the table is read
ENVIRONMENT_BYTES_MAX = 1 * 2**20


def marked(name: str, mark: str) -> list[tuple[int, str]]:
    """Pid and start tick of everything of ours that was started with this variable."""
    return list(_marked(name, mark))


def _marked(name: str, mark: str) -> Iterator[tuple[int, str]]:
    """Each as it is found, the youngest first, as what forks soon is gone."""
    if not sys.platform.startswith("linux"):
        return
    wanted = f"{name}={mark}".encode()
    for pid in sorted((int(entry) for entry in os.listdir("/proc") if entry.isdigit()), reverse=True):
        ticks = start_ticks(pid)                 # before its environment is read: a later process of that number has other ticks
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read(ENVIRONMENT_BYTES_MAX)
        except OSError:
            continue                             # it ended, or is not ours
        if wanted in environment.split(b"\0") and pid != os.getpid():
            yield pid, ticks


def end_marked(name: str, mark: str) -> int:
    """End everything that carries the mark, until nothing does; how many processes that were."""
    ended: set[tuple[int, str]] = set()
    empty = 0
    for _ in range(LOOKS_MAX):
        empty += 1
        for pid, ticks in _marked(name, mark):
            kill_process(pid, ticks)
            ended.add((pid, ticks))
            empty = 0
        if empty == EMPTY_LOOKS:
            break
    return len(ended)


def end_stamped(pid: object, stamp: Mapping) -> bool:
    """End the process that bore this stamp, its group and what is below it; nothing where it cannot be told that it is that one."""
    ticks = stamp.get("startTicks")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 1 or pid == os.getpid() or not isinstance(ticks, str) or not ticks:
        return False
    if start_ticks(pid) != ticks or stamp.get("bootId", "") != boot_id():
        return False
    kill_tree(pid)
    return True
