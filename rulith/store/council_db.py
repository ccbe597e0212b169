"""The council's own file: projects, agents, rooms, threads and what happened, in SQLite.

One process opens it, on one thread, with one connection. A change and the events that tell
of it are one transaction; it is durable when `change` has ended, and not before. Tables and
columns are named by the council's own code, never by a caller. Decides nothing.

Units   times are RFC 3339 stamps
Source  the council surface, "Data model"; the design's rules on files (D5)
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.disk.atomic import sync_folder, write_refusal
from rulith.disk.locks import KernelLock
from rulith.store.council_file import check_council
from rulith.store.council_schema import APPLICATION_ID, MIGRATIONS, WORDS
from rulith.store.failures import council_failed

BUSY_S = 5.0
EXCERPT_WORDS = 16
WORDS_BEHIND = 1                 # the file's user_version where the index of words may lack what is written


class CouncilDb:
    """An open council file. Made by `CouncilDb.open`."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: KernelLock) -> None:
        self.path = path
        self._db, self._lock = db, lock
        self.has_words = self._index_words()

    @classmethod
    def open(cls, path: Path, clock: Clock) -> CouncilDb:
        """Open or create the file, whose folder exists; one that exists is checked whole, before anything is written.

        Raises Refused: council_in_use, council_damaged, council_newer, write_failed, disk_full, store_…
        """
        lock = KernelLock(path.with_name(path.name + ".lock"))
        if not lock.take():
            raise Refused("council_in_use", path=str(path), pid=lock.holder_pid() or "unknown")
        try:
            check_council(path)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
            db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, cached_statements=128)
            try:
                db.row_factory = sqlite3.Row
                for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
                    db.execute(f"PRAGMA {pragma}")
                _migrate(db, stamp(clock.wall_s()))
                return cls(path, db, lock)
            except BaseException:
                db.close()
                raise
        except sqlite3.Error as problem:
            lock.release()
            raise council_failed(problem) from None
        except OSError as problem:
            lock.release()
            raise write_refusal(path, problem) from None
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        try:
            self._db.close()
        except sqlite3.Error:
            pass                              # a failed last checkpoint: the log holds everything
        self._lock.release()

    def copy_to(self, path: Path) -> None:
        """Write a whole copy of what is committed to the new file `path`. Raises Refused: write_failed, disk_full, store_…"""
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as problem:
            raise write_refusal(path, problem) from None
        try:
            self._db.execute("VACUUM INTO ?", (str(path),))
            with open(path, "rb+") as file:
                os.fsync(file.fileno())
            sync_folder(path.parent)
        except sqlite3.Error as problem:
            path.unlink(missing_ok=True)
            raise council_failed(problem) from problem
        except OSError as problem:
            path.unlink(missing_ok=True)
            raise write_refusal(path, problem) from None

    # --- changing ------------------------------------------------------------------------

    @contextmanager
    def change(self) -> Iterator[None]:
        """One transaction: all that the block writes, or nothing. Raises StoreFailed where it could not be kept."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.IntegrityError as problem:
            self._roll_back()
            raise Refused("council_invalid", problem=f"it does not fit what is there ({problem})") from problem
        except sqlite3.Error as problem:
            self._roll_back()
            raise council_failed(problem) from problem
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            pass                              # SQLite had rolled back by itself; the first error is the story

    def insert(self, table: str, **values: object) -> int:
        names = ", ".join(values)
        return self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())).lastrowid or 0

    def fresh_id(self, table: str) -> int:
        """An id that no row of `room` or `project` ever had: the events of one that is gone stay, and are nobody else's."""
        made = self._db.execute("SELECT payload FROM event WHERE kind = ?", (f"{table}.created",))
        return 1 + max([self._db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0], *(json.loads(row[0])["id"] for row in made)])

    def put(self, table: str, **values: object) -> bool:
        """Insert, unless it is there; whether it was new."""
        names = ", ".join(values)
        return self._db.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())).rowcount > 0

    def update(self, table: str, key: object, by: str = "id", **values: object) -> None:
        self._db.execute(f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in values)} WHERE {by} = ?", (*values.values(), key))

    def delete(self, table: str, **where: object) -> int:
        return self._db.execute(f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in where)}", tuple(where.values())).rowcount

    def delete_to(self, table: str, last_id: int, **where: object) -> int:
        """Delete the rows up to this id; how many there were."""
        return self._db.execute(f"DELETE FROM {table} WHERE id <= ? AND {' AND '.join(f'{name} = ?' for name in where)}", (last_id, *where.values())).rowcount

    def event(self, kind: str, at: str, *, room: int | None = None, thread: int | None = None, actor: int | None = None, **payload: object) -> int:
        return self.insert("event", room_id=room, thread_id=thread, kind=kind, actor_agent_id=actor,
                           payload=json.dumps(payload, ensure_ascii=False), created_at=at)

    # --- reading -------------------------------------------------------------------------

    def one(self, query: str, *values: object) -> dict | None:
        """The first row that `query` finds."""
        try:
            row = self._db.execute(query, values).fetchone()
        except sqlite3.Error as problem:
            raise council_failed(problem) from problem
        return dict(row) if row is not None else None

    def all(self, query: str, *values: object) -> list[dict]:
        try:
            return [dict(row) for row in self._db.execute(query, values).fetchall()]
        except sqlite3.Error as problem:
            raise council_failed(problem) from problem

    def value(self, query: str, *values: object):
        """The first column of the first row, or None."""
        row = self.one(query, *values)
        return next(iter(row.values())) if row is not None else None

    def latest_seq(self) -> int:
        return self.value("SELECT coalesce(max(seq), 0) FROM event")

    def events_after(self, cursor: int, limit: int) -> list[dict]:
        rows = self.all("SELECT * FROM event WHERE seq > ? ORDER BY seq LIMIT ?", cursor, limit)
        return [{**row, "payload": json.loads(row["payload"])} for row in rows]

    # --- words ---------------------------------------------------------------------------

    def _index_words(self) -> bool:
        """Make the index of words where this SQLite can and it is not there or not in step; whether there is one."""
        try:
            there = self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'words'").fetchone() is not None
            if there:
                self._db.execute("SELECT count(*) FROM words WHERE words MATCH 'x'").fetchone()
            if not there or self._db.execute("PRAGMA user_version").fetchone()[0] == WORDS_BEHIND:
                with self.change():
                    self._db.execute("DELETE FROM words" if there else WORDS)
                    self._db.execute("INSERT INTO words SELECT 'thread', id, id, room_id, title || char(10) || body FROM thread")
                    self._db.execute("INSERT INTO words SELECT 'message', m.id, t.id, t.room_id, m.body FROM message m JOIN thread t ON t.id = m.thread_id")
                    self._db.execute("PRAGMA user_version = 0")
        except (sqlite3.Error, Refused):
            return self._without_words()      # a Python whose SQLite has no FTS5
        return True

    def _without_words(self) -> bool:
        """What is written from now on is in no index: say so in the file."""
        self._db.execute(f"PRAGMA user_version = {WORDS_BEHIND}")
        return False

    def index(self, kind: str, ref_id: int, thread_id: int, room_id: int, text: str) -> None:
        """Keep the index in step with a text that was written or changed."""
        if self.has_words:
            self._db.execute("DELETE FROM words WHERE kind = ? AND ref_id = ?", (kind, ref_id))
            self._db.execute("INSERT INTO words VALUES (?, ?, ?, ?, ?)", (kind, ref_id, thread_id, room_id, text))

    def unindex(self, rooms: Iterable[int]) -> None:
        if self.has_words:
            self._db.executemany("DELETE FROM words WHERE room_id = ?", [(room,) for room in rooms])

    def search(self, query: str, rooms: Sequence[int], limit: int) -> list[dict]:
        """{kind, ref_id, thread_id, room_id, title, excerpt} of the texts in these rooms that hold every word of `query`."""
        words = query.replace('"', "").split()
        if not words:
            raise Refused("council_invalid", problem="the search names no word")
        if not rooms:
            return []
        marks = ", ".join("?" * len(rooms))
        if self.has_words:
            asked = " AND ".join(f'"{word}"' for word in words)
            return self.all(
                f"SELECT w.kind, w.ref_id, w.thread_id, w.room_id, t.title, snippet(words, 4, '«', '»', '…', {EXCERPT_WORDS}) AS excerpt "
                f"FROM words w JOIN thread t ON t.id = w.thread_id WHERE words MATCH ? AND w.room_id IN ({marks}) ORDER BY rank LIMIT ?",
                asked, *rooms, limit)
        like = [f"%{_escaped(word)}%" for word in words]
        held = " AND ".join(["text LIKE ? ESCAPE '\\'"] * len(like))
        return self.all(
            "SELECT kind, ref_id, thread_id, room_id, title, substr(text, 1, 160) AS excerpt FROM ("
            "SELECT 'thread' AS kind, id AS ref_id, id AS thread_id, room_id, title, title || char(10) || body AS text FROM thread UNION ALL "
            "SELECT 'message', m.id, t.id, t.room_id, t.title, m.body FROM message m JOIN thread t ON t.id = m.thread_id) "
            f"WHERE {held} AND room_id IN ({marks}) ORDER BY thread_id DESC, ref_id DESC LIMIT ?", *like, *rooms, limit)


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _migrate(db: sqlite3.Connection, at: str) -> None:
    known = 0
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").fetchone() is not None:
        known = db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]
    if known == 0:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for number, name, statements in MIGRATIONS[known:]:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute("CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL) STRICT")
            for statement in statements:
                db.execute(statement)
            db.execute("INSERT INTO migration VALUES (?, ?, ?)", (number, name, at))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
