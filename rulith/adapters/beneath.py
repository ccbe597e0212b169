"""Open what lies below a folder, component by component, never following a link out.

Each name is opened relative to the handle of the folder before it, so a folder renamed or
a link planted meanwhile cannot move the walk elsewhere. Where a walk follows links, a link
inside is read and walked by the same rules; one that is absolute or climbs above the root
is refused. The way to the root itself passes no link: the root was resolved when it was
judged. Systems without directory handles are served by adapters/beneath_plain.py.

Source  protocol/worker-contract.json, "paths".
"""

from __future__ import annotations

import errno
import heapq
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rulith.adapters import beneath_plain
from rulith.adapters.entries import LOOKED_AT_MAX, Entry, entry_of, refuse, shown, translate
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.paths import NAMES_MAX

LINKS_MAX = 40                   # as many as the kernel itself follows
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOSED_LATER = getattr(os, "O_CLOEXEC", 0)
_BASE = os.O_RDONLY | _CLOSED_LATER | getattr(os, "O_BINARY", 0)
# A folder on the way is passed through, never listed; where the system can tell the two apart, passing needs less right.
_PASS = (getattr(os, "O_PATH", 0) or os.O_RDONLY) | _CLOSED_LATER | _DIRECTORY | _NO_FOLLOW
# A pipe planted where a file is expected must not hold the open for ever.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
HAS_HANDLES = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and os.scandir in os.supports_fd and bool(_NO_FOLLOW)


@dataclass(frozen=True)
class Folder:
    """An open folder: what is in it is reached relative to its handle and passes no link.

    names   where it lies below the root, for messages
    """

    handle: int
    names: tuple[str, ...]

    def entries(self, first: int | None = None, most: int = LOOKED_AT_MAX) -> list[Entry]:
        """Its entries by name, all or the `first`. Raises Refused where there are more than `most`."""
        try:
            with os.scandir(self.handle) as found:
                seen = _bounded(found, most, self.names)
                rows = sorted(seen, key=_name) if first is None else heapq.nsmallest(first, seen, key=_name)
                return [entry for entry in map(entry_of, rows) if entry is not None]
        except OSError as error:
            raise translate(error, self.names) from None

    @contextmanager
    def folder(self, names: Sequence[str]) -> Iterator[Folder]:
        """The folder at `names` below this one."""
        below = (*self.names, *names)
        handle = _walk(self.handle, names, below, folder=True, follow=False)
        try:
            yield Folder(handle, below)
        finally:
            os.close(handle)

    @contextmanager
    def file(self, name: str) -> Iterator[int]:
        """A handle of the regular file of this name."""
        where = (*self.names, name)
        with _closing_file(_walk(self.handle, [name], where, folder=False, follow=False), where) as handle:
            yield handle

    def is_at(self, root: str) -> bool:
        """Whether the folder at `names` below `root` is this very one now."""
        try:
            with open_folder(root, self.names, follow=False) as again:
                return os.path.samestat(os.fstat(again.handle), os.fstat(self.handle))
        except Refused:
            return False                         # whatever stands there now, it is not this one

    def replace(self, name: str, content: bytes) -> None:
        """Give `name` exactly `content`: a new file beside it takes its name once it is on the disk.

        Raises Refused, and then nothing was changed; OSError, and then it may have been.
        """
        where = (*self.names, name)
        fresh = f".{mint('rulith-', 16)}.tmp"
        try:
            mode = _mode_of(self.handle, name, where)
            made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _CLOSED_LATER, 0o666, dir_fd=self.handle)
            try:
                with os.fdopen(made, "wb") as file:
                    file.write(content)
                    file.flush()
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)
                    os.fsync(file.fileno())
                os.rename(fresh, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
            except BaseException:
                os.unlink(fresh, dir_fd=self.handle)
                raise
        except OSError as error:
            raise translate(error, where) from None
        os.fsync(self.handle)


def _mode_of(parent: int, name: str, where: Sequence[str]) -> int | None:
    """The permissions that the file to be replaced has; None where there is none yet."""
    try:
        seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        raise refuse(f"{shown(where)} is there already and is not a regular file")
    return stat.S_IMODE(seen.st_mode) & 0o777


def _name(entry: os.DirEntry) -> str:
    return entry.name


def _bounded(found: Iterator[os.DirEntry], most: int, names: Sequence[str]) -> Iterator[os.DirEntry]:
    for number, entry in enumerate(found):
        if number >= most:
            raise refuse(f"{shown(names)} holds more than {most} entries")
        yield entry


@contextmanager
def open_folder(root: str, names: Sequence[str], *, follow: bool = True, make: bool = False) -> Iterator[Folder]:
    """The folder at `names` below `root`; closed at the end. Raises Refused workspace_refused, which never names the root.

    root    resolved: no part of it is a link
    follow  whether links on the way that stay inside are walked, or refused too
    make    it is made, with its parents, where it is absent; then no link is followed
    """
    if not HAS_HANDLES:
        with beneath_plain.open_folder(root, names, make=make) as plain:
            yield plain
        return
    assert not (make and follow)
    base = _open_root(root)
    try:
        handle = _walk(base, names, names, folder=True, follow=follow, make=make)
    finally:
        os.close(base)
    try:
        yield Folder(handle, tuple(names))
    finally:
        os.close(handle)


@contextmanager
def open_file(root: str, names: Sequence[str]) -> Iterator[int]:
    """A handle of the regular file (no device, no pipe) at `names` below `root`; otherwise as `open_folder`."""
    if not HAS_HANDLES:
        with beneath_plain.open_file(root, names) as handle:
            yield handle
        return
    base = _open_root(root)
    try:
        found = _walk(base, names, names, folder=False, follow=True)
    finally:
        os.close(base)
    with _closing_file(found, names) as handle:
        yield handle


@contextmanager
def _closing_file(handle: int, names: Sequence[str]) -> Iterator[int]:
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise refuse(f"{shown(names)} is not a regular file")
        yield handle
    finally:
        os.close(handle)


def _open_root(root: str) -> int:
    """The root, reached without a link: what was judged is what is opened."""
    try:
        if not hasattr(os, "O_PATH"):
            # Passing a folder needs the right to list it here, which a parent of the root may not give.
            handle = os.open(root, _BASE | _DIRECTORY | _NO_FOLLOW)
            if os.path.realpath(root) != root:
                os.close(handle)
                raise refuse("the Source's folder was moved")
            return handle
        handle = os.open("/", _PASS)
        for name in filter(None, root.split("/")):
            before = handle
            try:
                handle = os.open(name, _PASS, dir_fd=before)
            finally:
                os.close(before)
        return handle
    except OSError:
        raise refuse("the Source's folder does not exist or is not a folder") from None


def _link_target(name: str, parent: int, names: Sequence[str], follow: bool) -> list[str] | None:
    """Where the link `name` leads, as names; None when it is no link."""
    try:
        target = os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise
    if not follow:
        raise refuse(f"{shown(names)} is or passes a link")
    if target.startswith("/"):
        raise refuse(f"{shown(names)} is or passes a link that leads outside")
    return [part for part in target.split("/") if part not in ("", ".")]


def _step(parent: int, name: str, flags: int, make: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(name, 0o777, dir_fd=parent)
        _flush(parent)
    except FileExistsError:
        pass                                 # somebody else made it meanwhile; it is opened like any other
    return os.open(name, flags, dir_fd=parent)


def _open_regular(parent: int, name: str, where: Sequence[str]) -> int:
    """A file, looked at before it is opened: to open a device or a pipe may be to act. The opened one is looked at again."""
    seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISREG(seen.st_mode) and not stat.S_ISLNK(seen.st_mode):
        raise refuse(f"{shown(where)} is not a regular file")
    return os.open(name, _BASE | _NO_FOLLOW | _NO_WAIT, dir_fd=parent)


def _flush(folder: int) -> None:
    """Have the names in this folder on the disk; it may be open for passing through only."""
    handle = os.open(".", _BASE | _DIRECTORY, dir_fd=folder)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _walk(base: int, names: Sequence[str], where: Sequence[str], *, folder: bool, follow: bool, make: bool = False) -> int:
    """A new handle of what lies at `names` below `base`. The stack holds every folder on the way, so `..` in a link is exact."""
    stack = [os.dup(base)]
    ahead = list(reversed(names))
    links = 0
    try:
        while ahead:
            name = ahead.pop()
            if name == "..":
                if len(stack) == 1:
                    raise refuse(f"{shown(where)} is or passes a link that leads outside")
                os.close(stack.pop())
                continue
            if len(stack) > NAMES_MAX:
                raise refuse(f"{shown(where)} passes more than {NAMES_MAX} folders")
            try:
                stack.append(_step(stack[-1], name, _PASS, make) if ahead or folder else _open_regular(stack[-1], name, where))
                continue
            except OSError as error:
                # What is refused here as no folder, or as a link, may be a link.
                if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                    raise
                target = _link_target(name, stack[-1], where, follow)
                if target is None:
                    raise
            links += 1
            if links > LINKS_MAX:
                raise refuse(f"{shown(where)} passes more than {LINKS_MAX} links")
            ahead.extend(reversed(target))
        if folder:
            return os.open(".", _BASE | _DIRECTORY, dir_fd=stack[-1])
        return os.dup(stack[-1])
    except OSError as error:
        raise translate(error, where) from None
    finally:
        for handle in stack:
            os.close(handle)


def read_whole(handle: int, bytes_max: int, names: Sequence[str]) -> bytes:
    """All bytes of an open file, or Refused when there are more than `bytes_max`."""
    chunks: list[bytes] = []
    left = bytes_max + 1
    try:
        while left and (chunk := os.read(handle, left)):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        raise translate(error, names) from None
    if not left:
        raise refuse(f"{shown(names)} is larger than {bytes_max} bytes")
    return b"".join(chunks)
