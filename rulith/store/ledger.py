"""The ledger: an append-only file of hash-chained rows, in SQLite.

Rows are staged in memory and committed together; a row is durable when `commit` has
returned, and not before. One process, one thread, one connection. Knows nothing of what
a row means; the fold of its rows is the authority's state.

Units   `at` is an RFC 3339 stamp the caller gives
Source  the design's rules on ledgers (D5, D7)
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rulith.base.canonical import canonical_text
from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.disk.locks import KernelLock
from rulith.store.checks import check_file
from rulith.store.copies import write_copy
from rulith.store.failures import StoreFailed, store_failed
from rulith.store.rows import NO_ROW, Row, check_chain, row_hash
from rulith.store.schema import NEWEST, migrate, schema_version

__all__ = ["Ledger", "Row", "StoreFailed", "engine_version"]

PAGE_ROWS = 500                     # read at once, so that no cursor stays open across a commit
BUSY_S = 5.0                        # a backup tool may hold the file for a moment
_COLUMNS = "position, chain, seq, at, kind, body, prev, hash"


class Ledger:
    """An open ledger. Made by `Ledger.open`."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: KernelLock) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = db
        self._lock = lock
        self._heads: dict[str, tuple[int, str]] | None = None     # staged rows included; None: to be read again
        self._staged: list[tuple[Row, str]] = []

    @classmethod
    def open(cls, path: Path | str, clock: Clock, *, check: bool = True, put_aside: bool = True) -> Ledger:
        """Open or create the ledger at `path`, whose folder exists; one that exists is checked whole, before anything is written.

        check       False leaves each row's hash to whoever reads it
        put_aside   whether a damaged file is copied beside itself before it is refused
        Raises Refused: ledger_in_use, ledger_unreadable, ledger_newer, ledger_damaged.
        """
        path = Path(path)
        lock = KernelLock(path.with_name(path.name + ".lock"))
        if not lock.take():
            raise Refused("ledger_in_use", path=str(path), pid=lock.holder_pid() or "unknown")
        try:
            if check:
                check_file(path, put_aside=put_aside)
            db = _connect(path)
            try:
                found = schema_version(db)
                if found > NEWEST:
                    raise Refused("ledger_newer", path=str(path), found=found, known=NEWEST)
                migrate(db, stamp(clock.wall_s()))
                ledger = cls(path, db, lock)
            except BaseException:
                db.close()
                raise
        except sqlite3.Error as problem:
            lock.release()
            raise _not_opened(path, problem) from None
        except BaseException:
            lock.release()
            raise
        return ledger

    # writing

    def append(self, chain: str, kind: str, body: dict, at: str) -> Row:
        """Stage one row after the chain's last. Raises Refused not_canonical, StoreFailed."""
        text = canonical_text(body)
        heads = self._chain_heads()
        seq, prev = heads.get(chain, NO_ROW)
        row = Row(chain, seq + 1, at, kind, body, prev, row_hash(chain, seq + 1, at, kind, text.encode("utf-8"), prev))
        heads[chain] = (row.seq, row.hash)
        self._staged.append((row, text))
        return row

    def commit(self) -> None:
        """Make every staged row durable, all or none, in one transaction.

        Raises StoreFailed; then nothing was kept, and what was staged stays staged until `discard`.
        """
        if not self._staged:
            return
        db = self._open_db()
        ends = {row.chain: (row.seq, row.hash) for row, _ in self._staged}
        try:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT INTO row (chain, seq, at, kind, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(row.chain, row.seq, row.at, row.kind, body, row.prev, row.hash) for row, body in self._staged])
            db.executemany(
                "INSERT INTO chain VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
                [(name, seq, head) for name, (seq, head) in ends.items()])
            db.execute("COMMIT")
        except sqlite3.Error as problem:
            self._roll_back(db)
            raise store_failed(problem) from problem
        self._staged.clear()

    def _roll_back(self, db: sqlite3.Connection) -> None:
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
        except sqlite3.Error:
            pass                                  # SQLite had rolled back by itself; the first error is the story

    def discard(self) -> None:
        """Forget what is staged; the chains end again where the file says."""
        self._staged.clear()
        self._heads = None

    # reading: committed rows only

    def rows(self, chain: str | None = None, after: int = 0) -> Iterator[Row]:
        """Committed rows in order: of `chain` after the sequence number `after`, or of all chains after
        the position `after`. Raises StoreFailed; Refused ledger_broken at a row that does not match its hash.
        """
        for row, body in self._read(chain, after):
            if row.hash != row_hash(row.chain, row.seq, row.at, row.kind, body, row.prev):
                raise Refused("ledger_broken", path=str(self.path), problem=f"row {row.seq} of chain {row.chain!r} does not match its hash")
            yield row

    def _read(self, chain: str | None, after: int) -> Iterator[tuple[Row, bytes]]:
        if chain is None:
            query, values = f"SELECT {_COLUMNS} FROM row WHERE position > ? ORDER BY position LIMIT {PAGE_ROWS}", ()
        else:
            query, values = (f"SELECT {_COLUMNS} FROM row WHERE chain = ? AND seq > ? ORDER BY seq LIMIT {PAGE_ROWS}",
                             (chain,))
        while True:
            try:
                page = self._open_db().execute(query, (*values, after)).fetchall()
            except sqlite3.Error as problem:
                raise store_failed(problem) from problem
            for position, name, seq, at, kind, body, prev, hash_ in page:
                yield Row(name, seq, at, kind, json.loads(body), prev, hash_, position), body.encode("utf-8")
            if len(page) < PAGE_ROWS:
                return
            after = page[-1][0 if chain is None else 2]

    def head(self, chain: str) -> tuple[int, str]:
        """Sequence number and hash of the chain's last row, staged ones included; (0, "") without any."""
        return self._chain_heads().get(chain, NO_ROW)

    def chains(self) -> list[str]:
        """The names of all chains, staged ones included, in order of name."""
        return sorted(self._chain_heads())

    def verify(self) -> list[str]:
        """Everything that is wrong with the file; reads all of it."""
        return [problem for problem in self.verify_in_steps() if problem is not None]

    def verify_in_steps(self) -> Iterator[str | None]:
        """The same, a piece at a time: a problem, or None where the caller may do something else first, even commit."""
        db = self._open_db()
        try:
            yield from (text for (text,) in db.execute("PRAGMA integrity_check").fetchall() if text != "ok")
            names = {name for (name,) in db.execute("SELECT DISTINCT chain FROM row")}
            ended = {name for (name,) in db.execute("SELECT name FROM chain")}
        except sqlite3.Error as problem:
            raise store_failed(problem) from problem
        yield from (f"chain {name!r} has lost its rows" for name in sorted(ended - names))
        for name in sorted(names):
            yield from self._verify_chain(name)

    def _verify_chain(self, name: str) -> Iterator[str | None]:
        last, rows, is_over = NO_ROW, self._read(name, 0), False
        while not is_over:
            page = list(islice(rows, PAGE_ROWS))
            is_over = len(page) < PAGE_ROWS
            problems = list(check_chain(page, last))
            if page:
                last = (page[-1][0].seq, page[-1][0].hash)
            if is_over and self._end_of(name) != last:      # before anything is yielded, so no commit came between
                problems.append(f"chain {name!r} does not end where it says")
            yield from problems
            yield None

    def _end_of(self, name: str) -> tuple[int, str]:
        """Where the file says that the chain ends."""
        try:
            return self._open_db().execute("SELECT seq, hash FROM chain WHERE name = ?", (name,)).fetchone() or NO_ROW
        except sqlite3.Error as problem:
            raise store_failed(problem) from problem

    def backup_to(self, path: Path | str) -> None:
        """Write a whole copy of the committed ledger to the new file `path`, while this one stays open.

        Raises Refused write_failed when something stands there already, StoreFailed.
        """
        for _ in self.backup_in_steps(path):
            pass

    def backup_in_steps(self, path: Path | str) -> Iterator[None]:
        """The same, a piece at a time: between two pieces the caller may do something else, even commit.

        The copy is of what was committed at the first step, and stands under its name only when it is whole.
        """
        db = self._open_db()
        try:
            end = db.execute("SELECT coalesce(max(position), 0) FROM row").fetchone()[0]
            steps_taken = db.execute("SELECT number, name, at FROM migration ORDER BY number").fetchall()
        except sqlite3.Error as problem:
            raise store_failed(problem) from problem
        yield from write_copy(Path(path), steps_taken, self._pages(end))

    def _pages(self, end: int) -> Iterator[list[tuple]]:
        """All rows up to the position `end`, as they are stored."""
        after = 0
        while after < end:
            try:
                page = self._open_db().execute(f"SELECT {_COLUMNS} FROM row WHERE position > ? AND position <= ? ORDER BY position "
                                               f"LIMIT {PAGE_ROWS}", (after, end)).fetchall()
            except sqlite3.Error as problem:
                raise store_failed(problem) from problem
            if not page:
                return
            yield page
            after = page[-1][0]

    # the connection

    def _open_db(self) -> sqlite3.Connection:
        if self._db is None:
            raise StoreFailed("store_closed")
        return self._db

    def _chain_heads(self) -> dict[str, tuple[int, str]]:
        if self._heads is None:
            try:
                found = self._open_db().execute("SELECT name, seq, hash FROM chain").fetchall()
            except sqlite3.Error as problem:
                raise store_failed(problem) from problem
            self._heads = {name: (seq, head) for name, seq, head in found}
        return self._heads

    def close(self) -> None:
        """Let the file go. What is staged and not committed is lost, as it should be."""
        if self._db is None:
            return
        self._staged.clear()
        self._heads = None
        db, self._db = self._db, None
        try:
            db.close()
        except sqlite3.Error:
            pass                                  # a failed last checkpoint: the log holds everything
        self._lock.release()


def engine_version() -> str:
    """The version of SQLite in this Python."""
    return sqlite3.sqlite_version


def _not_opened(path: Path, problem: sqlite3.Error) -> Refused:
    """Why the file could not be opened, in words that hold none of its bytes."""
    text = str(problem)
    if "full" in text.lower():
        return Refused("disk_full", path=str(path))
    if "decode" in text.lower():
        text = "the text of a row is damaged"
    return Refused("ledger_unreadable", path=str(path), problem=text)


def _connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode with the pragmas that durability rests on. Raises sqlite3.Error."""
    try:
        # SQLite gives its log and index the mode of the file, so it is made here, for its owner only.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
    except OSError as problem:
        raise sqlite3.OperationalError(problem.strerror or str(problem)) from None
    db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, cached_statements=64)
    try:
        mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise sqlite3.OperationalError(f"its disk cannot keep a write-ahead log (mode {mode})")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")       # macOS: fsync alone stops at the drive's own cache
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cache_size = -8000")
    except BaseException:
        db.close()
        raise
    return db
