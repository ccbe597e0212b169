"""A statement on PostgreSQL, through the pure driver pg8000 from the home's `drivers` folder.

The driver is optional and no part of this program: where it is absent, a Tool that needs it
says so by name. The statement travels in the extended protocol, its values beside it and never
in it, so that the server itself takes one statement only. A query runs in a READ ONLY transaction.

Source  protocol/worker-contract.json, "database"
"""

from __future__ import annotations

import importlib
import os
import socket
import ssl
import stat
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import ModuleType
from urllib.parse import parse_qsl, unquote, urlsplit

from rulith.adapters.addresses import is_own
from rulith.adapters.db_work import (
    CONNECT_S,
    ROWS_MAX,
    STATEMENT_S,
    TAKEN_BACK,
    VALUE_BYTES_MAX,
    CommitUnknown,
    Done,
    RollbackUnconfirmed,
    RowKeeper,
    StatementFailed,
)
from rulith.adapters.places import unusable
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.wire.sql import Statement

SSLMODES = ("disable", "require", "verify-full")
ANSWER_S = STATEMENT_S + 5.0     # the server ends the statement itself, well before this
_DATA_ROW = b"D"
_BOOL, _INTEGERS, _FLOATS, _NUMERIC, _JSONS = 16, (20, 21, 23, 26), (700, 701), 1700, (114, 3802)


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    database: str
    user: str
    password: str | None = field(repr=False)
    sslmode: str
    unix_socket: str | None = None


def read_address(source: Source, dsn: str) -> Address:
    """`postgresql://user:password@host:port/database?sslmode=…`. Raises Refused source_unusable, never quoting it."""
    try:
        parts = urlsplit(dsn)
        port, host = parts.port or 5432, unquote(parts.hostname or "")
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise unusable(source, "its dsn cannot be read; write postgresql://user:password@host:port/database") from None
    for name in options:
        if name not in ("sslmode", "host"):
            raise unusable(source, f"its dsn holds the option {name[:40]!r}; sslmode and host are known")
    folder = options.get("host", "")
    if folder and (host or not os.path.isabs(folder)):
        raise unusable(source, "its dsn may name either a host or, with ?host=, the folder of a local socket")
    user, database = unquote(parts.username or ""), unquote(parts.path.lstrip("/"))
    if not user or not database or not (host or folder) or parts.fragment:
        raise unusable(source, "its dsn must name a user, a host and a database")
    sslmode = options.get("sslmode") or ("disable" if folder or is_own(host) else "verify-full")
    if sslmode not in SSLMODES:
        raise unusable(source, f"the sslmode of its dsn must be one of {', '.join(SSLMODES)}")
    password = None if parts.password is None else unquote(parts.password)
    return Address(host, port, database, user, password, sslmode, f"{folder}/.s.PGSQL.{port}" if folder else None)


def load_driver(folder: str) -> ModuleType:
    """The module pg8000.core, from the wheels in `folder`. Raises Refused: driver_missing, driver_untrusted."""
    wheels = sorted(os.path.join(folder, name) for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if name.endswith(".whl"))
    for path in (folder, *wheels):
        if wheels and not _is_ours(path):
            raise Refused("driver_untrusted", path=path)
    # At the end: nothing there can stand in for a module of ours.
    sys.path += [path for path in wheels if path not in sys.path]
    importlib.invalidate_caches()
    try:
        return importlib.import_module("pg8000.core")
    except ImportError as problem:
        raise Refused("driver_missing", driver="pg8000", database="PostgreSQL", folder=folder, problem=problem.msg) from None


def _is_ours(path: str) -> bool:
    """Whether nobody else can replace what lies there."""
    if os.name != "posix":
        return True
    seen = os.stat(path)
    return seen.st_uid in (0, os.geteuid()) and not seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _text(value: str) -> str:
    return value


def _readers() -> defaultdict:
    """How a column's text becomes a value; whatever is not listed stays the server's text."""
    found: dict[int, object] = {_BOOL: lambda text: text == "t", _NUMERIC: Decimal}
    found |= {oid: int for oid in _INTEGERS} | {oid: float for oid in _FLOATS}
    return defaultdict(lambda: _text, found | {oid: _json for oid in _JSONS})


def _json(text: str) -> object:
    try:
        return read_json(text, "a json column")
    except Refused:
        return text


class _Narrow:
    """The driver's stream, which takes no message larger than one row may be."""

    def __init__(self, stream, work: PostgresWork) -> None:
        self._stream, self._work = stream, work
        self.write, self.flush = stream.write, stream.flush

    def read(self, size: int) -> bytes:
        if size > VALUE_BYTES_MAX:
            self._work.give_up()
        return self._stream.read(size)


class PostgresWork:
    """One statement on one connection of its own."""

    def __init__(self, driver: ModuleType, address: Address, trusted: ssl.SSLContext | None, statement: Statement,
                 values: Sequence[object], *, reads: bool, object_bytes: int) -> None:
        self._driver, self._address, self._trusted = driver, address, trusted
        self._statement, self._values, self._reads, self._bytes_max = statement, values, reads, object_bytes
        self._connection = None
        self._interrupted = False
        self._cut = False                        # the answer was left half read: the link can say nothing more

    def interrupt(self) -> None:
        """The server rolls back what it was doing once the link is gone."""
        self._interrupted = True
        connection = self._connection
        try:
            if connection is not None:
                connection._usock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass                                 # it had just ended

    def run(self) -> Done:
        self._connection = connection = self._connect()
        try:
            return self._transact(connection)
        finally:
            self._connection = None
            try:
                connection.close()
            except Exception:  # noqa: BLE001  a third party's driver, at its end: there is nothing left to tell
                pass

    def _connect(self):
        address, driver = self._address, self._driver
        try:
            connection = driver.CoreConnection(
                address.user, host=address.host or None, database=address.database, port=address.port, password=address.password,
                unix_sock=address.unix_socket, ssl_context=self._ssl(), timeout=CONNECT_S, application_name="rulith-worker",
            )  # fmt: skip
        except Exception as problem:  # noqa: BLE001  whatever the driver raises here, no statement was sent
            raise StatementFailed(f"The database cannot be reached: {_words(problem)}.") from None
        connection._usock.settimeout(ANSWER_S)
        connection.pg_types = _readers()
        self._bound(connection)
        return connection

    def _bound(self, connection) -> None:
        """End an answer that passes the bounds while it comes, not once it fills the memory."""
        connection._sock = _Narrow(connection._sock, self)
        take, left = connection.message_types[_DATA_ROW], self._bytes_max + ROWS_MAX * 64

        def taken(data: bytes, context) -> None:
            nonlocal left
            left -= len(data)
            if left < 0 or len(context.rows) > ROWS_MAX:
                self.give_up()
            take(data, context)

        connection.message_types[_DATA_ROW] = taken

    def give_up(self) -> None:
        """Leave the answer as it stands; nothing more can be read on this link. Raises StatementFailed."""
        self._cut = True
        raise StatementFailed(f"The answer holds more than {ROWS_MAX} rows, or is larger than a result may be.")

    def _ssl(self) -> ssl.SSLContext | bool:
        if self._address.sslmode == "disable":
            return False
        if self._trusted is not None:
            return self._trusted
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def _transact(self, connection) -> Done:
        statement, bounds = self._statement, int(STATEMENT_S * 1000)
        try:
            connection.execute_simple("BEGIN READ ONLY" if self._reads else "BEGIN")
            connection.execute_simple(f"SET LOCAL statement_timeout = {bounds}")
            connection.execute_simple(f"SET LOCAL lock_timeout = {bounds}")
        except Exception as problem:  # noqa: BLE001  the driver's own kinds; the statement was not sent
            raise StatementFailed(f"The database cannot be used: {_words(problem)}.") from None
        try:
            self._check_wanted()
            answer = connection.execute_unnamed(statement.written("$"), self._values)
            keeper = RowKeeper([column["name"] for column in answer.columns or ()], self._bytes_max)
            for row in answer.rows or ():
                keeper.add(row)
            self._check_wanted()
        except Exception as problem:  # noqa: BLE001  the driver's own kinds; the answer is judged by what the rollback says
            self._undo(connection, problem)
            said = str(problem) if isinstance(problem, StatementFailed) else f"The database refused the statement: {_words(problem)}."
            raise StatementFailed(said) from None
        if self._reads:
            return Done(statement.verb, keeper.rows, len(keeper.rows))
        try:
            connection.execute_simple("COMMIT")
        except self._driver.DatabaseError as problem:        # a deferred rule said no: the server has undone it
            raise StatementFailed(f"The database refused the commit: {_words(problem)}.") from None
        except Exception as problem:  # noqa: BLE001  the driver's own kinds
            raise CommitUnknown(f"the commit was asked for, and {_words(problem)}") from None
        return Done(statement.verb, keeper.rows, max(0, answer.row_count))

    def _check_wanted(self) -> None:
        if self._interrupted:
            raise StatementFailed(TAKEN_BACK)

    def _undo(self, connection, problem: Exception) -> None:
        """See the transaction undone. A query leaves nothing to undo."""
        if self._reads:
            return
        try:
            if self._cut:
                raise problem
            connection.execute_simple("ROLLBACK")
        except Exception:  # noqa: BLE001  the driver's own kinds
            raise RollbackUnconfirmed(f"{_words(problem)}; the rollback was not confirmed") from None


def _words(problem: Exception) -> str:
    """What the driver says, without a query's values: the server's own sentence and code."""
    told = problem.args[0] if problem.args else ""
    if isinstance(told, dict):
        return f"{told.get('M', 'no reason given')} ({told.get('C', 'no code')})"
    cause = problem.__cause__
    return " ".join(f"{told or type(problem).__name__}{f': {cause}' if cause else ''}".split())[:600]
