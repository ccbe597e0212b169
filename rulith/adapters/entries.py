"""What a folder holds, in one shape for every system, and how a look below a folder is refused.

Source  protocol/worker-contract.json, "paths".
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rulith.base.errors import Refused

_ANY_SPELLING = sys.platform == "darwin"      # its disks open a name in any spelling; it is told in the one that may be asked for
LOOKED_AT_MAX = 1_000_000        # names of one folder: seconds of looking; more is no folder for people


@dataclass(frozen=True)
class Entry:
    """One name in a folder. `kind` is file, directory, symlink or other; `size` is told of files."""

    name: str
    kind: str
    size: int = 0


def is_link(seen: os.stat_result) -> bool:
    """A link of any kind; on Windows a junction or another point that leads elsewhere too."""
    return stat.S_ISLNK(seen.st_mode) or bool(getattr(seen, "st_reparse_tag", 0))


def entry_of(found: os.DirEntry) -> Entry | None:
    """What `found` is, looked at without following it; None when it went away meanwhile."""
    name = unicodedata.normalize("NFC", found.name) if _ANY_SPELLING else found.name
    try:
        seen = found.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if is_link(seen):
        return Entry(name, "symlink")
    if stat.S_ISDIR(seen.st_mode):
        return Entry(name, "directory")
    return Entry(name, "file", seen.st_size) if stat.S_ISREG(seen.st_mode) else Entry(name, "other")


def refuse(problem: str) -> Refused:
    return Refused("workspace_refused", problem=problem)


def shown(names: Sequence[str]) -> str:
    """The place at `names` in a message: never the root."""
    return "/".join(names).encode("utf-8", "backslashreplace").decode() or "the Source's folder"


_PROBLEMS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "is not a folder",
    errno.ELOOP: "became a link while it was opened",
    errno.EISDIR: "is a folder",
    errno.ENOSPC: "cannot be written: the disk is full",
    getattr(errno, "EDQUOT", errno.ENOSPC): "cannot be written: the disk is full",
    errno.EROFS: "cannot be written: the disk is read-only",
}


def translate(error: OSError, names: Sequence[str]) -> Refused:
    """The refusal that an error of the system amounts to."""
    problem = _PROBLEMS.get(error.errno or 0)
    return refuse(f"{shown(names)} {problem or f'cannot be used ({os.strerror(error.errno or 0)})'}")
