"""One direction of a drop box: numbered files in a folder that comes and goes.

The folder may be a stick, a share or the near end of a data diode: it may vanish, be full,
hold torn copies, or names that somebody else put there. So: a file is written whole under
its name, the newest one that its reader accepts is the one that counts, whatever stands
above it, and what newer ones supersede is taken away. Follows no link; knows nothing of
what the bytes mean.

Units   sizes in bytes
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import DROPBOX_FILE_BYTES_MAX, DROPBOX_FILES_KEPT, DROPBOX_NAMES_MAX
from rulith.disk.atomic import IS_POSIX, read_bounded, sync_folder, write_refusal

Read = TypeVar("Read")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_FSYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EISDIR)     # shares that cannot flush a folder
LEFTOVER = ".tmp"


class DropFolder:
    """The files of one direction below `box`, a folder that must exist; its own folders are made when something is written."""

    def __init__(self, box: Path, connection_id: str, direction: str) -> None:
        self.box, self.path = box, box / connection_id / direction

    def _check(self) -> None:
        """Raises Refused dropbox_missing, dropbox_folder_refused."""
        if not self.box.is_dir():
            raise Refused("dropbox_missing", folder=str(self.box))
        for folder in (self.path.parent, self.path):
            if folder.is_symlink():
                raise Refused("dropbox_folder_refused", folder=str(folder), problem="it is a link")

    def names(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """The names that fit, newest last. Raises Refused: dropbox_missing, dropbox_folder_refused."""
        self._check()
        found = []
        try:
            with os.scandir(self.path) as entries:
                for count, entry in enumerate(entries):
                    if count >= DROPBOX_NAMES_MAX:
                        raise Refused("dropbox_folder_refused", folder=str(self.path), problem=f"it holds more than {DROPBOX_NAMES_MAX} names")
                    match = pattern.fullmatch(entry.name)
                    if match is not None and entry.is_file(follow_symlinks=False):
                        found.append(match)
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise Refused("dropbox_folder_refused", folder=str(self.path), problem=problem.strerror or problem) from None
        return sorted(found, key=lambda match: match[match.lastindex or 0])

    def newest(self, names: list[re.Match[str]], read: Callable[[bytes, str], Read]) -> tuple[Read | None, Refused | None]:
        """The newest of `names` that `read(content, name)` accepts, and what was wrong with the newest one that it does not."""
        wrong = None
        for match in reversed(names):
            try:
                return read(read_bounded(self.path / match[0], DROPBOX_FILE_BYTES_MAX), match[0]), wrong
            except Refused as refused:
                wrong = wrong or Refused("dropbox_file_passed_over", name=match[0], problem=refused.happened)
        return None, wrong

    def write(self, name: str, content: bytes) -> None:
        """Put a whole file there, durable as far as the medium can. Raises Refused: dropbox_missing, disk_full, write_failed, dropbox_folder_refused."""
        self._check()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            fresh = self.path / f"{name}.{mint('', 12)}{LEFTOVER}"
            handle = os.open(fresh, _FLAGS, 0o644)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(fresh, self.path / name)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            try:
                sync_folder(self.path)
            except OSError as problem:
                if problem.errno not in _NO_FSYNC:
                    raise
        except OSError as problem:
            raise write_refusal(self.path / name, problem) from None

    def holds(self, name: str) -> bool:
        return (self.path / name).is_file()

    def prune(self, pattern: re.Pattern[str], up_to: str) -> None:
        """Take away what `up_to` and the few names before it supersede, and torn leftovers; a medium that cannot be written keeps them."""
        try:
            names = [match[0] for match in self.names(pattern) if match[0] <= up_to]
            leftovers = [entry.name for entry in os.scandir(self.path) if entry.name.endswith(LEFTOVER)]
        except (Refused, OSError):
            return
        for name in [*names[:-DROPBOX_FILES_KEPT], *leftovers]:
            try:
                (self.path / name).unlink()
            except OSError:
                return


def place_identity(folder: Path) -> str:
    """What tells a folder from a copy or a restored backup of it, as far as a file system can: its own number, and the machine's."""
    machine = ""
    if IS_POSIX:
        try:
            machine = read_bounded("/etc/machine-id", 256).decode("ascii", "replace").strip()
        except Refused:
            pass
    return f"{os.stat(folder, follow_symlinks=False).st_ino}:{machine}"
