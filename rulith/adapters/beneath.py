"""Open a path below a folder, component by component, never following a link out.

Each name is opened relative to the handle of the folder before it, so a folder renamed or
a link planted meanwhile cannot move the walk elsewhere. A link inside is read and walked
by the same rules; one that is absolute or climbs above the root is refused. Where the
system has no directory handles, links are refused altogether.

Source  protocol/worker-contract.json, "paths".
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rulith.base.errors import Refused

LINKS_MAX = 40                   # as many as the kernel itself follows
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BASE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A pipe planted where a file is expected must not hold the open for ever.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
HAS_HANDLES = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and bool(_NO_FOLLOW)


def refuse(problem: str) -> Refused:
    return Refused("workspace_refused", problem=problem)


def _shown(names: Sequence[str]) -> str:
    return "/".join(names) or "the Source's folder"


def _translate(error: OSError, names: Sequence[str]) -> Refused:
    where = _shown(names)
    if error.errno == errno.ENOENT:
        return refuse(f"{where} does not exist")
    if error.errno == errno.ENOTDIR:
        return refuse(f"{where} is not a folder")
    if error.errno == errno.ELOOP:
        return refuse(f"{where} became a link while it was opened")
    return refuse(f"{where} cannot be opened ({os.strerror(error.errno or 0)})")


@contextmanager
def open_beneath(root: str, names: Sequence[str], *, folder: bool) -> Iterator[int]:
    """A handle of the file or folder at `names` below `root`; closed at the end.

    A file is a regular one: no device, no pipe. Raises Refused workspace_refused naming
    the path and never the root.
    """
    handle = _open_walk(root, names, folder) if HAS_HANDLES else _open_plain(root, names, folder)
    try:
        mode = os.fstat(handle).st_mode
        if folder and not stat.S_ISDIR(mode):
            raise refuse(f"{_shown(names)} is not a folder")
        if not folder and not stat.S_ISREG(mode):
            raise refuse(f"{_shown(names)} is not a regular file")
        yield handle
    finally:
        os.close(handle)


def _link_target(name: str, parent: int, names: Sequence[str]) -> list[str]:
    target = os.readlink(name, dir_fd=parent)
    if target.startswith("/"):
        raise refuse(f"{_shown(names)} is or passes a link that leads outside")
    return [part for part in target.split("/") if part not in ("", ".")]


def _open_walk(root: str, names: Sequence[str], folder: bool) -> int:
    """The walk by handles. The stack holds every folder from the root down, so `..` in a link is exact."""
    try:
        stack = [os.open(root, _BASE | _DIRECTORY)]
    except OSError:
        raise refuse("the Source's folder does not exist or is not a folder") from None
    try:
        ahead = list(reversed(names))
        links = 0
        while ahead:
            name = ahead.pop()
            if name == "..":
                if len(stack) == 1:
                    raise refuse(f"{_shown(names)} is or passes a link that leads outside")
                os.close(stack.pop())
                continue
            if stat.S_ISLNK(os.stat(name, dir_fd=stack[-1], follow_symlinks=False).st_mode):
                links += 1
                if links > LINKS_MAX:
                    raise refuse(f"{_shown(names)} passes more than {LINKS_MAX} links")
                ahead.extend(reversed(_link_target(name, stack[-1], names)))
                continue
            flags = _BASE | _NO_FOLLOW | (_DIRECTORY if ahead or folder else _NO_WAIT)
            stack.append(os.open(name, flags, dir_fd=stack[-1]))
        return os.dup(stack[-1])
    except OSError as error:
        raise _translate(error, names) from None
    finally:
        for handle in stack:
            os.close(handle)


def _open_plain(root: str, names: Sequence[str], folder: bool) -> int:
    """The walk by path, for systems without directory handles: any link or mount point is refused."""
    path = os.path.realpath(root)
    if not os.path.isdir(path):
        raise refuse("the Source's folder does not exist or is not a folder")
    try:
        for name in names:
            path = os.path.join(path, name)
            seen = os.lstat(path)
            if stat.S_ISLNK(seen.st_mode) or getattr(seen, "st_reparse_tag", 0):
                raise refuse(f"{_shown(names)} is or passes a link")
        if folder:
            raise refuse(f"{_shown(names)} cannot be held open as a folder on this system")
        seen = os.lstat(path)
        handle = os.open(path, _BASE)
        if not os.path.samestat(seen, os.fstat(handle)):
            os.close(handle)
            raise refuse(f"{_shown(names)} changed while it was opened")
        return handle
    except OSError as error:
        raise _translate(error, names) from None


def read_whole(handle: int, bytes_max: int, names: Sequence[str]) -> bytes:
    """All bytes of an open file, or Refused when there are more than `bytes_max`."""
    chunks: list[bytes] = []
    left = bytes_max + 1
    while left and (chunk := os.read(handle, left)):
        chunks.append(chunk)
        left -= len(chunk)
    if not left:
        raise refuse(f"{_shown(names)} is larger than {bytes_max} bytes")
    return b"".join(chunks)
