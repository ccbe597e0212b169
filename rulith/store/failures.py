"""A store that could not do it: SQLite's errors in our words."""

from __future__ import annotations

import sqlite3

from rulith.base.errors import Refused

LEDGER, COUNCIL = "The ledger", "The council's file"


class StoreFailed(Refused):
    """Reading or committing failed; nothing staged was kept. `code` says what to do about it, `file` which file it was."""

    def __init__(self, code: str, *, file: str = LEDGER, **facts: object) -> None:
        super().__init__(code, file=file, **facts)


def store_failed(problem: sqlite3.Error, file: str = LEDGER) -> StoreFailed:
    """`problem` translated. The text is matched because Python 3.10 does not give the error's number."""
    text = str(problem)
    low = text.lower()
    if "full" in low:
        return StoreFailed("store_full", file=file)
    if "malformed" in low or "not a database" in low or "corrupt" in low:
        return StoreFailed("store_corrupt", file=file, problem=text)
    if "locked" in low or "busy" in low:
        return StoreFailed("store_busy", file=file, problem=text)
    return StoreFailed("store_io", file=file, problem=text)


def council_failed(problem: sqlite3.Error) -> StoreFailed:
    return store_failed(problem, COUNCIL)
