"""A store that could not do it: SQLite's errors in our words."""

from __future__ import annotations

import sqlite3

from rulith.base.errors import Refused


class StoreFailed(Refused):
    """Reading or committing failed; nothing staged was kept. `code` says what to do about it."""


def store_failed(problem: sqlite3.Error) -> StoreFailed:
    """`problem` translated. The text is matched because Python 3.10 does not give the error's number."""
    text = str(problem)
    low = text.lower()
    if "full" in low:
        return StoreFailed("store_full")
    if "malformed" in low or "not a database" in low or "corrupt" in low:
        return StoreFailed("store_corrupt", problem=text)
    if "locked" in low or "busy" in low:
        return StoreFailed("store_busy", problem=text)
    return StoreFailed("store_io", problem=text)
