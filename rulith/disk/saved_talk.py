"""The saved conversations of one Agent, read only: for a page that shows them, whoever writes them now.

Changes nothing and takes no lock. A file that cannot be read is left out: whoever writes the
store judges it at its own start. What was read is remembered by the file's time and size.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import HISTORY_FILE_BYTES_MAX, SHOWN_TITLE_CHARS_MAX
from rulith.disk.atomic import read_bounded
from rulith.disk.conversations import SESSION_SUFFIX, TURN_SUFFIX, owner_digest


class SavedTalk:
    """What lies in the store of `owner` below `folder`; there may be none yet."""

    def __init__(self, folder: Path, owner: Mapping[str, str]) -> None:
        self._folder = folder / f"{owner_digest(owner)}.json.d"
        self._heads: dict[str, tuple[tuple[int, int], dict]] = {}      # file name: when and how long it was, what it says

    def heads(self) -> list[dict]:
        """Each turn as {id, sessionKey, at, title, name}, oldest first; each archived conversation as {sessionKey, archived}."""
        found: dict[str, tuple[tuple[int, int], dict]] = {}
        for entry in self._files():
            try:
                held = entry.stat()
                mark = (held.st_mtime_ns, held.st_size)
                known = self._heads.get(entry.name)
                found[entry.name] = known if known is not None and known[0] == mark else (mark, _head(Path(entry.path)))
            except (OSError, Refused, ValueError, KeyError, TypeError, RecursionError):
                continue                             # gone meanwhile, or not ours to judge
        self._heads = found
        return sorted((head for _, head in found.values()), key=lambda head: (head.get("at", ""), head.get("id", "")))

    def turn(self, name: str) -> dict | None:
        """The whole turn in the file that a head named; None where it cannot be read."""
        try:
            return _read(self._folder / name)
        except (OSError, Refused, ValueError, RecursionError):
            return None

    def raw(self, name: str) -> bytes:
        """The file of a turn as it lies there; empty where it cannot be read."""
        try:
            return read_bounded(self._folder / name, HISTORY_FILE_BYTES_MAX)
        except Refused:
            return b""

    def _files(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._folder) as entries:
                return [entry for entry in entries if entry.name.endswith((TURN_SUFFIX, SESSION_SUFFIX))]
        except OSError:
            return []


def _read(path: Path) -> dict:
    value = json.loads(read_bounded(path, HISTORY_FILE_BYTES_MAX))
    if not isinstance(value, dict):
        raise ValueError("not one JSON object")
    return value


def _head(path: Path) -> dict:
    value = _read(path)
    if path.name.endswith(SESSION_SUFFIX):
        return {"sessionKey": str(value["sessionKey"]), "archived": value["archived"] is True}
    return {"id": str(value["id"]), "sessionKey": str(value["sessionKey"]), "at": str(value["at"]), "name": path.name,
            "title": str(value["text"])[:SHOWN_TITLE_CHARS_MAX]}
