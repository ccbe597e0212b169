"""A copy of a ledger: one file that opens as a ledger by itself, whole or not there.

Rows and positions are copied as they stand, so the copy has the same hashes; it has no
write-ahead log beside it and only its owner can read it. Knows nothing of what a row means.

Source  the design's rules on ledgers (D5)
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.atomic import sync_folder, write_refusal
from rulith.store.failures import store_failed
from rulith.store.schema import lay_out


def write_copy(path: Path, steps_taken: Sequence[tuple], pages: Iterable[list[tuple]]) -> Iterator[None]:
    """Write `pages` of rows to the new file `path`, yielding after each.

    steps_taken   the source's schema steps: (number, name, at)
    Raises Refused write_failed when something stands at `path` already, disk_full, StoreFailed.
    """
    if path.exists():
        raise Refused("write_failed", path=str(path), problem="something stands there already")
    fresh = path.with_name(path.name + ".part")
    try:
        fresh.unlink(missing_ok=True)
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield from _write(fresh, steps_taken, pages)
        with open(fresh, "rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            raise Refused("write_failed", path=str(path), problem="something stands there already")
        os.replace(fresh, path)
        sync_folder(path.parent)
    except sqlite3.Error as problem:
        raise store_failed(problem) from problem
    except OSError as problem:
        raise write_refusal(path, problem) from None
    finally:
        fresh.unlink(missing_ok=True)


def _write(path: Path, steps_taken: Sequence[tuple], pages: Iterable[list[tuple]]) -> Iterator[None]:
    heads: dict[str, tuple[int, str]] = {}
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = OFF")       # a copy that is cut short is thrown away
        db.execute("PRAGMA synchronous = OFF")        # the whole file is synced at the end
        lay_out(db, steps_taken)
        db.execute("BEGIN")
        for page in pages:
            db.executemany("INSERT INTO row (position, chain, seq, at, kind, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", page)
            heads.update((chain, (seq, hash_)) for _, chain, seq, _, _, _, _, hash_ in page)
            yield
        db.executemany("INSERT INTO chain VALUES (?, ?, ?)", [(name, seq, head) for name, (seq, head) in heads.items()])
        db.execute("COMMIT")
    finally:
        db.close()
