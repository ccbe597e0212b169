"""Whole files: written whole or not at all, read whole or refused.

A write goes to a new file beside the target, is flushed to the disk, then takes the
target's name; the folder is flushed too, so that a power cut leaves the old file or the
new one. Knows nothing of what the bytes mean.

Units   sizes in bytes, modes as os.chmod takes them
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import SETTINGS_BYTES_MAX

IS_POSIX = os.name == "posix"
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def sync_folder(path: Path) -> None:
    """Make names in `path` durable. Windows offers no such call and orders renames itself."""
    if not IS_POSIX:
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_refusal(path: Path | str, problem: OSError) -> Refused:
    """What a failed write tells the person."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return Refused("disk_full", path=str(path))
    return Refused("write_failed", path=str(path), problem=problem.strerror or problem)


def write_whole(path: Path | str, content: bytes, mode: int = 0o600) -> None:
    """Replace `path` by a file with exactly `content`, or leave what was there.

    Raises Refused: disk_full, write_failed.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise Refused("write_failed", path=str(path), problem="a device, a pipe or a socket stands there")      # it would be gone
    fresh = path.with_name(f"{path.name}.{mint('', 16)}.tmp")
    try:
        handle = os.open(fresh, _NEW_FLAGS, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                if IS_POSIX:
                    os.fchmod(file.fileno(), mode)      # the umask may have taken bits away
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except BaseException:
            try:
                os.unlink(fresh)
            except FileNotFoundError:
                pass                                     # it already has the target's name
            raise
        sync_folder(path.parent)
    except OSError as problem:
        raise write_refusal(path, problem) from None


def read_bounded(path: Path | str, bytes_max: int) -> bytes:
    """All of a plain file of at most `bytes_max` bytes. Raises Refused: file_unusable, file_too_large."""
    try:
        handle = os.open(path, _READ_FLAGS)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise Refused("file_unusable", path=str(path), problem="it is not a plain file")
        with os.fdopen(handle, "rb") as file:
            content = file.read(bytes_max + 1)
    except OSError as problem:
        raise Refused("file_unusable", path=str(path), problem=problem.strerror or problem) from None
    if len(content) > bytes_max:
        raise Refused("file_too_large", path=str(path), limit=bytes_max)
    return content


def write_json(path: Path | str, value: object, mode: int = 0o600) -> None:
    """`value` as readable JSON, written whole."""
    write_whole(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8"), mode)


def read_json(path: Path | str, bytes_max: int = SETTINGS_BYTES_MAX) -> object:
    """The JSON in a settings file. Raises Refused: file_unusable, file_too_large, file_not_json."""
    content = read_bounded(path, bytes_max)
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as problem:
        raise Refused("file_not_json", path=str(path), problem=problem) from None


def make_folder(path: Path | str, mode: int = 0o700) -> Path:
    """`path` as a folder, made with its parents where absent. Raises Refused write_failed, disk_full."""
    path = Path(path)
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as problem:
        raise write_refusal(path, problem) from None
    return path
