"""Take credentials out of this process's own start environment, where /proc would show them.

A role that was started by hand has its key in the environment it was started with. The
kernel goes on showing those bytes to whoever may look, whatever the process does with its
variables later, so they are overwritten in place. Linux only, best effort.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable

_ENV_START, _ENV_END = 47, 48    # of /proc/self/stat, counted after the command's closing parenthesis
_BYTES_MAX = 2**22


def _region() -> tuple[int, int]:
    """Where the start environment lies in memory, and its length; (0, 0) when it cannot be told."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    except (OSError, ValueError, IndexError):
        return 0, 0
    size = end - start
    return (start, size) if start > 0 and 0 < size <= _BYTES_MAX else (0, 0)


def blank_variables(names: Iterable[str]) -> None:
    """Overwrite the values of these variables in the start environment. os.environ keeps what it has read."""
    if not sys.platform.startswith("linux"):
        return
    start, size = _region()
    if not size:
        return
    content = ctypes.string_at(start, size)
    for name in names:
        marked = name.encode() + b"="
        at = 0 if content.startswith(marked) else content.find(b"\0" + marked) + 1
        if at == 0 and not content.startswith(marked):
            continue
        value = at + len(marked)
        end = content.find(b"\0", value)
        ctypes.memset(start + value, ord("x"), (end if end >= 0 else size) - value)
