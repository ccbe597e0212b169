"""The check of a ledger's file before it is opened for writing, and the copy that is put aside of a damaged one.

Reads all of it once, in the order it was written: SQLite's own check of its pages, then
every hash, sequence number and link. Changes nothing in the file: a damaged ledger is
evidence, and the next program that writes to it must not be ours.

Source  the design's rules on ledgers (D5, D7)
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.disk.atomic import sync_folder, write_refusal
from rulith.store.rows import NO_ROW, row_hash
from rulith.store.schema import APPLICATION_ID, NEWEST, schema_version

_PIECE = 1 << 20
_NAME_DIGITS = 12
_PASSING = ("locked", "busy", "unable to open", "i/o error", "full", "permission")


class Damage(NamedTuple):
    """What is wrong, and up to which place among all rows the file holds together."""

    problem: str
    whole: int


def check_file(path: Path, *, put_aside: bool = True) -> None:
    """Refuse a file that is no whole ledger; one that is absent or empty is left to whoever opens it.

    Raises Refused: ledger_damaged, ledger_newer; sqlite3.Error for what is no damage.
    """
    try:
        if not path.stat().st_size:
            return
    except OSError:
        return
    damage = _look(path)
    if damage is not None:
        whole = f"rows 1 to {damage.whole} hold together" if damage.whole else "no row of it can be relied on"
        raise Refused("ledger_damaged", path=str(path), problem=damage.problem, whole=whole,
                      aside=kept_aside(path) if put_aside else "no copy was made")


def _look(path: Path) -> Damage | None:
    db = None
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        found = schema_version(db)
        if found > NEWEST:
            raise Refused("ledger_newer", path=str(path), found=found, known=NEWEST)
        if found == 0:
            return _no_ledger(db)
        said = [text for (text,) in db.execute("PRAGMA quick_check(1)") if text != "ok"]
        return _first_damage(db, said[0] if said else "")
    except sqlite3.Error as problem:
        text = str(problem)
        if is_passing(problem):
            raise
        return Damage(words_of_damage(text), 0)
    finally:
        if db is not None:
            db.close()


def is_passing(problem: sqlite3.Error) -> bool:
    """A trouble of the disk or of the moment: no damage."""
    return any(word in str(problem).lower() for word in _PASSING)


def words_of_damage(text: str) -> str:
    """SQLite's complaint on one line, without a byte of the file."""
    return "the text of a row is damaged" if "decode" in text.lower() else " ".join(text.split())[:200]


def _no_ledger(db: sqlite3.Connection) -> Damage | None:
    """A file without our schema: empty, or cut short before its first step, or something else's."""
    tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    ours = db.execute("PRAGMA application_id").fetchone()[0] in (0, APPLICATION_ID)
    return None if ours and not tables else Damage("it is another program's database", 0)


def _first_damage(db: sqlite3.Connection, said: str) -> Damage | None:
    """The first thing wrong, in the order of writing; `said` is what SQLite's own check found."""
    heads: dict[str, tuple[int, str]] = {}
    whole = 0
    try:
        for position, chain, seq, at, kind, body, prev, hash_ in db.execute(
                "SELECT position, chain, seq, at, kind, body, prev, hash FROM row ORDER BY position"):
            last = heads.get(chain, NO_ROW)
            problem = ""
            if seq != last[0] + 1:
                problem = f"row {seq} of chain {chain!r} follows row {last[0]}"
            elif prev != last[1]:
                problem = f"row {seq} of chain {chain!r} does not name the hash of the row before it"
            elif hash_ != row_hash(chain, seq, at, kind, body.encode(), prev):
                problem = f"row {seq} of chain {chain!r} does not match its hash"
            if problem:
                return Damage(f"{problem} (row {position} of the file)", whole)
            heads[chain], whole = (seq, hash_), position
        for name, seq, head in db.execute("SELECT name, seq, hash FROM chain"):
            if heads.pop(name, NO_ROW) != (seq, head):
                return Damage(f"chain {name!r} does not end where it says, at row {seq}", whole)
    except (sqlite3.Error, UnicodeError, AttributeError, TypeError) as problem:
        if isinstance(problem, sqlite3.OperationalError) and is_passing(problem):
            raise
        return Damage(f"{words_of_damage(said or str(problem))} (from row {whole + 1} of the file on)", whole)
    if heads:
        return Damage(f"chain {min(heads)!r} does not say where it ends", whole)
    return Damage(words_of_damage(said), whole) if said else None


def kept_aside(path: Path) -> str:
    """Copy the file and its write-ahead log beside it, once for each state it is found in; says in words where."""
    copy = path.with_name(f"{path.name}.damaged-{_digest(path)[:_NAME_DIGITS]}")
    try:
        for end, source in reversed(_parts(path)):
            if not copy.with_name(copy.name + end).exists():
                copy_file(source, copy.with_name(copy.name + end))
        sync_folder(path.parent)
    except OSError as problem:
        return f"no copy could be put aside ({problem.strerror or problem})"
    return f"a copy was put aside as {copy.name}"


def _digest(path: Path) -> str:
    return sha256_hex("".join(file_digest(source) for _, source in _parts(path)).encode())


def _parts(path: Path) -> list[tuple[str, Path]]:
    """The files that hold the ledger, by the end of their names: itself, and what its log holds beyond it."""
    named = [(end, path.with_name(path.name + end)) for end in ("", "-wal")]
    return [(end, source) for end, source in named if source.exists() and source.stat().st_size]


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


def copy_file(source: Path, target: Path) -> None:
    """Copy it whole, readable by its owner alone, or raise OSError with nothing under the name `target`."""
    fresh = target.with_name(target.name + ".part")
    fresh.unlink(missing_ok=True)
    with open(source, "rb") as read, os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
        shutil.copyfileobj(read, written, _PIECE)
        written.flush()
        os.fsync(written.fileno())
    os.replace(fresh, target)


def take_over(copy: Path, target: Path, digest: str) -> None:
    """Move a finished copy to `target`, which must not exist; checked once more where it lies then. Raises Refused: write_failed, disk_full."""
    try:
        with open(copy, "rb") as source, os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            shutil.copyfileobj(source, file, _PIECE)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(target.parent)
    except OSError as problem:
        raise write_refusal(target, problem) from None
    finally:
        copy.unlink(missing_ok=True)
    if f"sha256:{file_digest(target)}" != digest:
        raise Refused("write_failed", path=str(target), problem="what was written differs from the backup")
