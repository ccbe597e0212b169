"""Process trees: everything a process started, ended together.

A process group ends those who stayed in it; on Linux the table of parents also finds
those who left it. On Windows taskkill walks the tree.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from rulith.procs.identity import start_ticks

# A child in a group of its own, so that a terminal's Ctrl-C reaches only us and a signal to the group only it.
if sys.platform == "win32":
    OWN_GROUP: dict[str, object] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
else:
    OWN_GROUP = {"start_new_session": True}


def descendants(pid: int) -> list[tuple[int, str]]:
    """Pid and start tick of everything below `pid`, on Linux; empty elsewhere."""
    if not sys.platform.startswith("linux"):
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read(4096).rpartition(b")")[2].split()
            except OSError:
                continue                         # it ended while we looked
            if len(fields) > 1:
                children.setdefault(int(fields[1]), []).append(int(name))
    found: list[tuple[int, str]] = []
    waiting = list(children.get(pid, ()))
    while waiting:
        child = waiting.pop()
        found.append((child, start_ticks(child)))
        waiting.extend(children.get(child, ()))
    return found


def kill_tree(pid: int) -> None:
    """End `pid`, its group and everything below it, at once. `pid` must be a child of ours not yet waited for."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10, check=False)
        return
    below = descendants(pid)
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass                                     # its leader has been waited for, or never made a group
    _kill(pid)
    for child, ticks in below:
        kill_process(child, ticks)


def kill_process(pid: int, ticks: str) -> None:
    """End the process that had `pid` and that start tick when it was seen; never one that took the number since."""
    if ticks and start_ticks(pid) == ticks:
        _kill(pid)


def terminate_group(pid: int) -> None:
    """Ask the group that `pid` leads to end: SIGTERM; where groups cannot be asked, nothing."""
    if sys.platform == "win32":
        return
    try:
        os.killpg(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        pass                                     # nobody is left in it


def kill_group(pid: int) -> None:
    """End whatever is left in the group that `pid` led, after `pid` itself has ended."""
    if sys.platform == "win32":
        return                                   # its tree can no longer be told
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass                                     # nobody is left in it


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass                                     # gone, or no longer ours to end
