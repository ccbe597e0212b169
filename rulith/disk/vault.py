"""The secret vault: named secrets in one file that only its owner can read or replace.

A file that others could have read, or could swap for another, is refused and never
repaired: its secrets may be known. Values never appear in a message or a repr.

Units   modes as os.chmod takes them
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import SETTINGS_BYTES_MAX
from rulith.disk.atomic import IS_POSIX, make_folder, write_whole

_OPEN_FLAGS = (os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
               | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))


def check_folder(folder: Path) -> None:
    """Refuse a folder in which others could put another file under ours' name."""
    try:
        found = os.lstat(folder)
    except OSError as problem:
        raise Refused("vault_folder", path=str(folder), problem=problem.strerror or problem) from None
    if not stat.S_ISDIR(found.st_mode):
        raise Refused("vault_folder", path=str(folder), problem="it is a link or no folder")
    if IS_POSIX:
        if found.st_uid not in (os.geteuid(), 0):
            raise Refused("vault_folder", path=str(folder), problem=f"it belongs to user {found.st_uid}")
        if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
            raise Refused("vault_folder", path=str(folder), problem=f"mode {stat.S_IMODE(found.st_mode):04o}")


class Vault:
    """The secrets in the file at `path`, read once with `load`; `save` writes them whole."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def load(self) -> dict[str, str]:
        """All secrets; empty when there is no file yet.

        Raises Refused: vault_readable, vault_foreign, vault_linked, vault_not_plain, vault_folder, vault_unreadable.
        """
        if not self.path.parent.exists():
            return {}
        check_folder(self.path.parent)
        content = self.read()
        return {} if content is None else self._parse(content)

    def read(self) -> bytes | None:
        """The file's bytes, for a vault that holds more than texts; None when there is no file yet. Refuses as `load` does."""
        if not os.path.lexists(self.path):
            return None
        check_folder(self.path.parent)
        try:
            handle = os.open(self.path, _OPEN_FLAGS)
        except FileNotFoundError:
            return None
        except OSError as problem:
            # Linux and macOS say ELOOP for a link under O_NOFOLLOW, FreeBSD says EMLINK.
            if problem.errno in (errno.ELOOP, errno.EMLINK):
                raise Refused("vault_linked", path=str(self.path), links="a symbolic link") from None
            if self.path.is_dir():
                raise Refused("vault_not_plain", path=str(self.path)) from None
            raise Refused("vault_unreadable", path=str(self.path), problem=problem.strerror or problem) from None
        try:
            self._check_file(os.fstat(handle))
        except Refused:
            os.close(handle)
            raise
        with os.fdopen(handle, "rb") as file:
            return file.read(SETTINGS_BYTES_MAX + 1)

    def _check_file(self, found: os.stat_result) -> None:
        path = str(self.path)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("vault_not_plain", path=path)
        if not IS_POSIX:
            if self.path.is_symlink():
                raise Refused("vault_linked", path=path, links="a symbolic link")
            return                                     # the profile folder's access list protects it
        if found.st_uid != os.geteuid():
            raise Refused("vault_foreign", path=path, owner=found.st_uid)
        if found.st_mode & 0o077:
            raise Refused("vault_readable", path=path, mode=f"{stat.S_IMODE(found.st_mode):04o}")
        if found.st_nlink != 1:
            raise Refused("vault_linked", path=path, links=f"{found.st_nlink} hard links")

    def _parse(self, content: bytes) -> dict[str, str]:
        if len(content) > SETTINGS_BYTES_MAX:
            raise Refused("file_too_large", path=str(self.path), limit=SETTINGS_BYTES_MAX)
        try:
            value = json.loads(content) if content else {}
        except (ValueError, RecursionError):
            # The parser's own words could quote a secret.
            raise Refused("vault_unreadable", path=str(self.path), problem="it is not JSON") from None
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise Refused("vault_unreadable", path=str(self.path), problem="it is not an object of texts")
        return value

    def save(self, secrets: Mapping[str, str]) -> None:
        """Replace all secrets; refuses to build on a file that `load` would refuse."""
        make_folder(self.path.parent)
        self.load()
        write_whole(self.path, json.dumps(dict(secrets), indent=2).encode() + b"\n", 0o600)

    def update(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Set some secrets, drop those given as None; returns what is there afterwards."""
        secrets = self.load()
        for name, value in changes.items():
            if value is None:
                secrets.pop(name, None)
            else:
                secrets[name] = value
        self.save(secrets)
        return secrets

    def __repr__(self) -> str:
        return f"Vault({str(self.path)!r})"
