"""The ledger's tables and the numbered steps that lead to them.

A step and the record of it are one transaction. Steps are never changed once released;
a later layout is a later step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

APPLICATION_ID = 0x726C7468           # "rlth", in the file's header

# number, name, statements
MIGRATIONS: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (1, "rows in chains", (
        """CREATE TABLE chain (
             name TEXT NOT NULL PRIMARY KEY,
             seq  INTEGER NOT NULL CHECK (seq > 0),
             hash TEXT NOT NULL CHECK (length(hash) = 64)
           ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE row (
             position INTEGER PRIMARY KEY,
             chain TEXT NOT NULL,
             seq   INTEGER NOT NULL CHECK (seq > 0),
             at    TEXT NOT NULL,
             kind  TEXT NOT NULL,
             body  TEXT NOT NULL,
             prev  TEXT NOT NULL CHECK (length(prev) IN (0, 64)),
             hash  TEXT NOT NULL CHECK (length(hash) = 64)
           ) STRICT""",
        "CREATE UNIQUE INDEX row_of_chain ON row (chain, seq)",
        "CREATE TRIGGER row_stays BEFORE UPDATE ON row BEGIN SELECT RAISE(ABORT, 'a ledger row never changes'); END",
        "CREATE TRIGGER row_keeps BEFORE DELETE ON row BEGIN SELECT RAISE(ABORT, 'a ledger row is never removed'); END",
    )),
)
NEWEST = MIGRATIONS[-1][0]


def schema_version(db: sqlite3.Connection) -> int:
    """The last step taken; 0 in a fresh file."""
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").fetchone() is None:
        return 0
    return db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]


def migrate(db: sqlite3.Connection, at: str) -> None:
    """Take every step not taken yet, each in its own transaction. `db` is in autocommit mode."""
    lay_out(db, [(number, name, at) for number, name, _ in MIGRATIONS])


def lay_out(db: sqlite3.Connection, steps: Sequence[tuple[int, str, str]]) -> None:
    """Take those of `steps` (number, name, at) that are not taken yet."""
    if schema_version(db) == 0:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    known = {number: statements for number, _, statements in MIGRATIONS}
    for number, name, at in steps:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute("CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                       " at TEXT NOT NULL) STRICT")
            if db.execute("SELECT 1 FROM migration WHERE number = ?", (number,)).fetchone() is None:
                for statement in known[number]:
                    db.execute(statement)
                db.execute("INSERT INTO migration VALUES (?, ?, ?)", (number, name, at))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
