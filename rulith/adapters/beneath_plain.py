"""The same below-a-folder operations where the system has no handles to open names relative to: Windows.

Any link, junction or mount point on the way is refused. Each folder on the way is held open
without the right of others to rename or delete it, so that the path names the same folders
until the operation is over; what is opened at the end is compared with what was looked at.

Source  protocol/worker-contract.json, "paths".
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from rulith.adapters.entries import LOOKED_AT_MAX, Entry, entry_of, is_link, refuse, shown, translate
from rulith.base.ids import mint

_BINARY = getattr(os, "O_BINARY", 0)
_LIST_AND_LOOK, _SHARE_READ_WRITE, _OPEN_EXISTING = 0x81, 0x3, 3
_FOLDER_ITSELF = 0x02000000 | 0x00200000         # backup semantics, so that a folder opens; and never what it leads to
_NO_HANDLE = ctypes.c_void_p(-1).value


@contextmanager
def _held(path: str) -> Iterator[None]:
    """Keep the folder at `path` from being renamed or deleted. Windows only; elsewhere nothing is held."""
    if sys.platform != "win32":
        yield
        return
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateFileW.restype = ctypes.c_void_p
    kernel.CreateFileW.argtypes = [ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p]
    kernel.CloseHandle.argtypes = [ctypes.c_void_p]
    handle = kernel.CreateFileW(path, _LIST_AND_LOOK, _SHARE_READ_WRITE, None, _OPEN_EXISTING, _FOLDER_ITSELF, None)
    if handle is None or handle == _NO_HANDLE:
        raise ctypes.WinError(ctypes.get_last_error())
    try:
        yield
    finally:
        kernel.CloseHandle(handle)


@dataclass(frozen=True)
class Folder:
    """A folder by its path, held while it is used; as `beneath.Folder`."""

    path: str
    names: tuple[str, ...]

    def entries(self, first: int | None = None, most: int = LOOKED_AT_MAX) -> list[Entry]:
        found: list[Entry] = []
        try:
            with os.scandir(self.path) as rows:
                for number, row in enumerate(rows):
                    if number >= most:
                        raise refuse(f"{shown(self.names)} holds more than {most} entries")
                    entry = entry_of(row)
                    if entry is not None:
                        found.append(entry)
        except OSError as error:
            raise translate(error, self.names) from None
        return sorted(found, key=lambda entry: entry.name)[:first]

    @contextmanager
    def folder(self, names: Sequence[str]) -> Iterator[Folder]:
        with _walked(self.path, names, (*self.names, *names), make=False) as path:
            yield Folder(path, (*self.names, *names))

    @contextmanager
    def file(self, name: str) -> Iterator[int]:
        where, path = (*self.names, name), os.path.join(self.path, name)
        try:
            seen = os.lstat(path)
            if is_link(seen):
                raise refuse(f"{shown(where)} is or passes a link")
            if not stat.S_ISREG(seen.st_mode):
                raise refuse(f"{shown(where)} is not a regular file")
            handle = os.open(path, os.O_RDONLY | _BINARY)
        except OSError as error:
            raise translate(error, where) from None
        try:
            if not os.path.samestat(seen, os.fstat(handle)):
                raise refuse(f"{shown(where)} changed while it was opened")
            yield handle
        finally:
            os.close(handle)

    def is_at(self, root: str) -> bool:
        """Whether the path still names this folder: it does, as it is held."""
        return True

    def replace(self, name: str, content: bytes) -> None:
        where, path = (*self.names, name), os.path.join(self.path, name)
        fresh = os.path.join(self.path, f".{mint('rulith-', 16)}.tmp")
        try:
            if os.path.lexists(path):
                seen = os.lstat(path)
                if is_link(seen) or not stat.S_ISREG(seen.st_mode):
                    raise refuse(f"{shown(where)} is there already and is not a regular file")
            made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
            try:
                with os.fdopen(made, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(fresh, path)
            except BaseException:
                os.unlink(fresh)
                raise
        except OSError as error:
            raise translate(error, where) from None


@contextmanager
def _walked(base: str, names: Sequence[str], where: Sequence[str], make: bool) -> Iterator[str]:
    """The path of `names` below `base`, each folder of it held; no link on the way."""
    with ExitStack() as holds:
        path = base
        try:
            for name in names:
                path = os.path.join(path, name)
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(path)
                holds.enter_context(_held(path))
                seen = os.lstat(path)
                if is_link(seen):
                    raise refuse(f"{shown(where)} is or passes a link")
                if not stat.S_ISDIR(seen.st_mode):
                    raise refuse(f"{shown(where)} is not a folder")
        except OSError as error:
            raise translate(error, where) from None
        yield path


@contextmanager
def open_folder(root: str, names: Sequence[str], *, make: bool = False) -> Iterator[Folder]:
    """As `beneath.open_folder`, by path."""
    with ExitStack() as holds:
        try:
            holds.enter_context(_held(root))
            if not os.path.isdir(root) or os.path.realpath(root) != root:
                raise refuse("the Source's folder does not exist or is not a folder")
        except OSError:
            raise refuse("the Source's folder does not exist or is not a folder") from None
        path = holds.enter_context(_walked(root, names, names, make))
        yield Folder(path, tuple(names))


@contextmanager
def open_file(root: str, names: Sequence[str]) -> Iterator[int]:
    """As `beneath.open_file`, by path."""
    if not names:
        raise refuse("the Source's folder is not a regular file")
    with open_folder(root, names[:-1]) as folder, folder.file(names[-1]) as handle:
        yield handle
