"""A statement on a SQLite file: an authorizer that knows what it may touch, and one transaction.

A query opens the file read-only with `query_only` set, so that neither a function nor a
trigger can write. A write may insert, update and create; what it does not name, no word of it
can do: no deletion, no attached file, no pragma, no loaded code. The file is never created.

Source  protocol/worker-contract.json, "database"
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from rulith.adapters.db_work import (
    CONNECT_S,
    STATEMENT_S,
    TAKEN_BACK,
    VALUE_BYTES_MAX,
    CommitUnknown,
    Done,
    RollbackUnconfirmed,
    RowKeeper,
    StatementFailed,
)
from rulith.base.clock import Clock
from rulith.wire.sql import Statement

STEPS_BETWEEN_LOOKS = 10_000     # of SQLite's machine, some 0.1 ms: how soon a deadline is noticed
_RECURSIVE = 33                  # SQLITE_RECURSIVE, which the module names only since 3.11
READS = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_TRANSACTION, _RECURSIVE))
WRITES = READS | {
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_REINDEX,
}  # fmt: skip


class SqliteWork:
    """One statement on one file."""

    def __init__(self, path: str, statement: Statement, values: Sequence[object], *, reads: bool, object_bytes: int, clock: Clock) -> None:
        self._path, self._statement, self._values, self._reads = path, statement, values, reads
        self._bytes_max, self._clock = object_bytes, clock
        self._interrupted = False

    def interrupt(self) -> None:
        self._interrupted = True

    def run(self) -> Done:
        deadline_s = self._clock.monotonic_s() + CONNECT_S + STATEMENT_S
        try:
            connection = sqlite3.connect(f"{Path(self._path).as_uri()}?mode={'ro' if self._reads else 'rw'}", uri=True, timeout=CONNECT_S,
                                         isolation_level=None, check_same_thread=False)
        except sqlite3.Error as problem:
            raise StatementFailed(f"The database cannot be opened: {problem}.") from None
        try:
            self._prepare(connection, deadline_s)
            return self._transact(connection)
        finally:
            connection.close()

    def _prepare(self, connection: sqlite3.Connection, deadline_s: float) -> None:
        allowed = READS if self._reads else WRITES

        def judge(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
            if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
                return sqlite3.SQLITE_DENY
            # What a trigger of the database does is the database owner's own rule, deletions too.
            by_trigger = trigger is not None and action == sqlite3.SQLITE_DELETE and not self._reads
            # How SQLite declares a table function such as json_each; a statement itself may never write there.
            declares = action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
            return sqlite3.SQLITE_OK if action in allowed or by_trigger or declares else sqlite3.SQLITE_DENY

        if hasattr(connection, "setlimit"):      # since Python 3.11
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            if self._reads:
                connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN" if self._reads else "BEGIN IMMEDIATE")
        except sqlite3.Error as problem:
            raise StatementFailed(f"The database cannot be used: {problem}.") from None
        connection.set_progress_handler(
            lambda: 1 if self._interrupted or self._clock.monotonic_s() > deadline_s else 0, STEPS_BETWEEN_LOOKS)
        connection.set_authorizer(judge)

    def _transact(self, connection: sqlite3.Connection) -> Done:
        try:
            cursor = connection.execute(self._statement.written("?"), list(self._values))
            keeper = RowKeeper([column[0] for column in cursor.description or ()], self._bytes_max)
            for row in cursor:
                keeper.add(row)
            count = len(keeper.rows) if cursor.description else max(0, cursor.rowcount)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, StatementFailed) as problem:
            self._undo(connection, problem)
            late = "interrupted" in str(problem)
            raise StatementFailed(f"The statement was ended after {STATEMENT_S:g} s." if late else _words(problem)) from None
        if self._reads:
            return Done(self._statement.verb, keeper.rows, count)
        if self._interrupted:
            self._undo(connection, taken := StatementFailed(TAKEN_BACK))
            raise taken
        self._commit(connection)
        return Done(self._statement.verb, keeper.rows, count)

    def _commit(self, connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(None, 0)
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as problem:
            if not connection.in_transaction:
                raise CommitUnknown(f"the commit said: {problem}") from None
            self._undo(connection, problem)          # it said no, and everything is still to be undone
            raise StatementFailed(_words(problem)) from None

    def _undo(self, connection: sqlite3.Connection, problem: Exception) -> None:
        if self._reads or not connection.in_transaction:
            return
        connection.set_progress_handler(None, 0)
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error as again:
            raise RollbackUnconfirmed(f"{problem}; the rollback said: {again}") from None


def _words(problem: Exception) -> str:
    return str(problem) if isinstance(problem, StatementFailed) else f"The database refused the statement: {problem}."
