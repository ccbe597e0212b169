"""A short command to its end, for a caller that has no event loop: its output as far as it fits, and a deadline.

What it started in its group, and on Linux below it, does not survive it. Output over the
bound ends the command and is kept up to the bound. Knows nothing of what the command is for.

Units   *_s seconds, *_bytes_max bytes
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.procs import orphans
from rulith.procs.trees import OWN_GROUP, kill_group, kill_tree


# Set where the caller's own thread may become unwanted: its command then ends as if its time were up.
ENDED_EARLY: ContextVar[threading.Event | None] = ContextVar("ended early", default=None)
LOOK_S = 0.05
PIPES_S = 1.0          # how long what it left behind may hold the pipe open after it was killed too


@dataclass(frozen=True)
class Answer:
    """status   the exit status; None where it was ended, for its time or for what it wrote
    is_cut   it wrote more than fits"""

    status: int | None
    stdout: bytes = field(repr=False)
    is_cut: bool = False
    timed_out: bool = False


def answer_of(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout_s: float, stdout_bytes_max: int) -> Answer:
    """Run `argv` without a shell, its input and its errors closed. Raises Refused command_not_started."""
    try:
        with orphans.starting():
            child = subprocess.Popen(argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     bufsize=0, **OWN_GROUP)
            orphans.began(child.pid)
    except (OSError, ValueError) as problem:      # ValueError: a NUL in an argument
        raise Refused("command_not_started", program=argv[0], problem=getattr(problem, "strerror", None) or problem) from None
    found, is_cut = bytearray(), threading.Event()

    def read() -> None:
        while chunk := child.stdout.read(65_536):
            found.extend(chunk)
            if len(found) > stdout_bytes_max:
                is_cut.set()
                return

    reader = threading.Thread(target=read, name="short", daemon=True)
    try:
        reader.start()
        _join(reader, timeout_s)
        timed_out = reader.is_alive()
        if not timed_out and not is_cut.is_set():
            try:
                child.wait(timeout_s)         # its output ended; so should it
            except subprocess.TimeoutExpired:
                timed_out = True
    finally:
        if child.returncode is None:
            kill_tree(child.pid)
            child.wait()
        kill_group(child.pid)
        orphans.ended(child.pid)
        reader.join(PIPES_S)
        if not reader.is_alive():             # else somebody that got away holds the pipe, and the thread ends with it
            child.stdout.close()
    was_ended = timed_out or is_cut.is_set()
    return Answer(None if was_ended else child.returncode, bytes(found[:stdout_bytes_max]), is_cut.is_set(), timed_out)


def shell_line(argv: Sequence[str]) -> str:
    """A command as one writes it in a shell of this machine."""
    return subprocess.list2cmdline(argv) if sys.platform == "win32" else shlex.join(argv)


def _join(reader: threading.Thread, timeout_s: float) -> None:
    """Wait for the reader's end, the time's, or until nobody wants it."""
    unwanted = ENDED_EARLY.get()
    if unwanted is None:
        reader.join(timeout_s)
        return
    for _ in range(max(int(timeout_s / LOOK_S), 1)):
        reader.join(LOOK_S)
        if not reader.is_alive() or unwanted.is_set():
            return
