"""A project's folder where nothing of it is read: it is there or not, and records are written into it.

Source  the council surface, "Decision record"
"""

from __future__ import annotations

import os

from rulith.base.errors import Refused
from rulith.disk.atomic import make_folder, write_whole

RECORDS = os.path.join(".rivendell", "threads")


class PlainFolder:
    """path   with every link followed. Raises Refused council_invalid for what is no folder."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(os.path.expanduser(path))
        if not os.path.isabs(os.path.expanduser(path)):
            raise Refused("council_invalid", problem=f"{path[:200]!r} is no whole path of a folder")

    def is_readable(self) -> bool:
        return os.path.isdir(self.path) and os.access(self.path, os.R_OK | os.X_OK)

    def remote(self) -> str | None:
        return None

    def excerpt(self, path: str, start: int | None, end: int | None) -> tuple[str, str]:
        raise Refused("council_invalid", problem="files of the project are not read in this release")

    def diff(self, base: str | None, path: str | None) -> str:
        return ""

    def state(self) -> tuple[str | None, bool]:
        return None, False

    def write_record(self, name: str, text: str) -> str:
        """Write a decision record whole; its path within the folder. Raises Refused: write_failed, disk_full, council_invalid."""
        place = os.path.join(self.path, RECORDS)
        if os.path.realpath(place) != place:
            raise Refused("council_invalid", problem=f"{RECORDS} leads out of the project's folder")
        write_whole(make_folder(place, 0o755) / name, text.encode("utf-8"), 0o644)
        return os.path.join(RECORDS, name).replace(os.sep, "/")
