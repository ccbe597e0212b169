"""A short command to its end, for a caller that has no event loop: its output as far as it fits, and a deadline.

What it started in its group, and on Linux below it, does not survive it. Output over the
bound ends the command and is kept up to the bound. Knows nothing of what the command is for.

Units   *_s seconds, *_bytes_max bytes
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.procs import orphans
from rulith.procs.trees import OWN_GROUP, kill_group, kill_tree


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
        child = subprocess.Popen(argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 bufsize=0, **OWN_GROUP)
    except (OSError, ValueError) as problem:      # ValueError: a NUL in an argument
        raise Refused("command_not_started", program=argv[0], problem=getattr(problem, "strerror", None) or problem) from None
    orphans.began(child.pid)
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
        reader.join(timeout_s)
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
