"""A damaged ledger is refused whole, before anything is written, with a copy beside it and one message.

Duty: design D5 and D7; never a silent new ledger.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.store.failures import StoreFailed
from rulith.store.ledger import Ledger
from rulith.store.schema import MIGRATIONS, NEWEST

AT = "2026-10-03T08:00:00.001Z"
FIXTURES = Path(__file__).parent / "versions"


def make(path: Path, rows: int = 3) -> Path:
    ledger = Ledger.open(path, ManualClock())
    for n in range(rows):
        ledger.append("a" if n % 3 else "gateway", "board", {"n": n, "text": "x" * (n * 37 % 300)}, AT)
    ledger.commit()
    ledger.close()
    return path


def tamper(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(f"DROP TRIGGER row_stays; DROP TRIGGER row_keeps; {statement};")
    db.close()


def refused(path: Path) -> Refused:
    with pytest.raises(Refused) as refusal:
        Ledger.open(path, ManualClock())
    assert refusal.value.code == "ledger_damaged", refusal.value
    return refusal.value


@pytest.mark.parametrize(("tampering", "says", "whole"), [
    ("UPDATE row SET body = '{}' WHERE position = 6", "row 4 of chain 'a' does not match its hash (row 6 of the file)", 5),
    ("UPDATE row SET at = 'x' WHERE position = 1", "row 1 of chain 'gateway' does not match its hash", 0),
    ("UPDATE row SET kind = 'other' WHERE position = 8", "row 5 of chain 'a' does not match its hash", 7),
    ("UPDATE row SET prev = hash WHERE position = 5", "row 3 of chain 'a' does not name the hash of the row before it", 4),
    ("DELETE FROM row WHERE position = 5", "row 4 of chain 'a' follows row 2", 4),
    ("DELETE FROM row WHERE position = 9", "chain 'a' does not end where it says, at row 6", 8),
    ("UPDATE chain SET seq = 2 WHERE name = 'a'", "chain 'a' does not end where it says, at row 2", 9),
    ("DELETE FROM chain WHERE name = 'a'", "chain 'a' does not say where it ends", 9),
    ("UPDATE row SET body = CAST(x'7b22ff' AS TEXT) WHERE position = 3", "the text of a row is damaged", 2),
    ("INSERT INTO row (chain, seq, at, kind, body, prev, hash) SELECT 'b', 1, at, kind, body, prev, hash FROM row WHERE position = 1",
     "row 1 of chain 'b' does not match its hash", 9),
])
def test_what_was_tampered_with_is_named_with_the_row_it_begins_at(tmp_path, tampering, says, whole):
    path = make(tmp_path / "ledger.db", 9)
    tamper(path, tampering)
    before = path.read_bytes()
    refusal = refused(path)
    assert says in str(refusal), refusal
    assert (f"rows 1 to {whole} hold together" if whole else "no row of it can be relied on") in str(refusal), refusal
    assert "rulith gateway restore FILE" in refusal.teaching and len(str(refusal).splitlines()) == 1
    assert path.read_bytes() == before, "the damaged file itself was changed"


def test_the_copy_is_put_aside_once_for_the_state_it_is_of(tmp_path):
    path = make(tmp_path / "ledger.db", 9)
    tamper(path, "UPDATE row SET body = '{}' WHERE position = 6")
    for _ in range(3):
        refusal = refused(path)
    (copy,) = tmp_path.glob("ledger.db.damaged-*")
    assert copy.name in str(refusal) and copy.read_bytes() == path.read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    db = sqlite3.connect(path)
    db.execute("UPDATE row SET body = '[]' WHERE position = 7")
    db.commit()
    db.close()
    refused(path)
    assert len(list(tmp_path.glob("ledger.db.damaged-*"))) == 2


def test_a_log_that_was_not_yet_folded_in_is_put_aside_too(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path, ManualClock())
    for n in range(5):
        ledger.append("a", "board", {"n": n}, AT)
    ledger.commit()
    for end in ("", "-wal"):                      # as a kill leaves it
        shutil.copy(f"{path}{end}", f"{tmp_path / 'killed.db'}{end}")
    ledger.close()
    killed = tmp_path / "killed.db"
    log = bytearray(killed.with_name("killed.db-wal").read_bytes())
    db = sqlite3.connect(killed, isolation_level=None)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.executescript("DROP TRIGGER row_stays; UPDATE row SET body = '{}' WHERE seq = 2;")
    for end in ("", "-wal"):
        shutil.copy(f"{killed}{end}", f"{tmp_path / 'bad.db'}{end}")
    db.close()
    bad = tmp_path / "bad.db"
    before = bad.with_name("bad.db-wal").read_bytes()
    assert len(before) > len(log)
    refusal = refused(bad)
    assert "row 2 of chain 'a'" in str(refusal)
    (copy,) = tmp_path.glob("bad.db.damaged-*-wal")
    assert copy.read_bytes() == before == bad.with_name("bad.db-wal").read_bytes()


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_of_the_file_never_open_as_another_ledger(tmp_path, seed):
    """Whatever is hit: the rows are those that were written, or the file is refused and stays."""
    path, dice = make(tmp_path / "ledger.db", 60), random.Random(seed)
    ledger = Ledger.open(path, ManualClock())
    written = list(ledger.rows())
    ledger.close()
    content = bytearray(path.read_bytes())
    for _ in range(dice.choice([1, 4, 40])):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)
    try:
        ledger = Ledger.open(path, ManualClock())
    except Refused as refusal:
        assert refusal.code in ("ledger_damaged", "ledger_newer", "ledger_unreadable"), refusal
        if refusal.code == "ledger_damaged":
            assert path.read_bytes() == bytes(content) and list(tmp_path.glob("ledger.db.damaged-*"))
        return
    assert list(ledger.rows()) == written
    ledger.close()


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    path = make(tmp_path / "ledger.db", 60)
    path.write_bytes(path.read_bytes()[:20_000])
    refused(path)


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmark (url TEXT)")
    db.close()
    before = path.read_bytes()
    assert "another program's database" in str(refused(path)) and path.read_bytes() == before


def test_a_copy_that_cannot_be_put_aside_is_said_to_be_missing(tmp_path, monkeypatch):
    path = make(tmp_path / "ledger.db", 9)
    tamper(path, "UPDATE row SET body = '{}' WHERE position = 6")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rulith.store.checks.copy_file", full)
    assert "no copy could be put aside (No space left on device)" in str(refused(path))


def test_who_only_looks_puts_nothing_aside(tmp_path):
    path = make(tmp_path / "ledger.db", 9)
    tamper(path, "UPDATE row SET body = '{}' WHERE position = 6")
    with pytest.raises(Refused) as refusal:
        Ledger.open(path, ManualClock(), put_aside=False)
    assert refusal.value.code == "ledger_damaged" and not list(tmp_path.glob("*.damaged-*"))


# --- schema versions -------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_ledger_of_every_earlier_schema_is_brought_up_with_its_rows_unchanged(tmp_path, version):
    """A new step needs a file that its predecessor wrote: keep one before adding the step."""
    kept = FIXTURES / f"ledger-v{version}.db"
    path = tmp_path / "ledger.db"
    shutil.copy(kept, path)
    db = sqlite3.connect(kept.as_uri() + "?mode=ro&immutable=1", uri=True)
    written = db.execute("SELECT position, chain, seq, at, kind, prev, hash FROM row ORDER BY position").fetchall()
    db.close()
    ledger = Ledger.open(path, ManualClock())
    assert [(row.position, row.chain, row.seq, row.at, row.kind, row.prev, row.hash) for row in ledger.rows()] == written
    assert len(written) >= 5 and ledger.verify() == []
    assert [number for (number,) in ledger._db.execute("SELECT number FROM migration")] == list(range(1, NEWEST + 1))
    ledger.append("a", "board", {}, AT)
    ledger.commit()
    ledger.close()


def add_step(patch, *statements: str) -> None:
    patch.setattr("rulith.store.schema.MIGRATIONS", (*MIGRATIONS, (NEWEST + 1, "a later layout", statements)))
    for room in ("schema", "checks", "ledger"):
        patch.setattr(f"rulith.store.{room}.NEWEST", NEWEST + 1)


def test_a_later_step_is_taken_in_one_transaction_and_recorded(tmp_path, monkeypatch):
    path = make(tmp_path / "ledger.db", 9)
    add_step(monkeypatch, "CREATE TABLE later (a INTEGER) STRICT")
    for _ in range(2):
        ledger = Ledger.open(path, ManualClock())
        assert ledger._db.execute("SELECT count(*) FROM later").fetchone() == (0,) and len(list(ledger.rows())) == 9
        ledger.close()


def test_a_step_that_fails_in_its_middle_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = make(tmp_path / "ledger.db", 9)
    with monkeypatch.context() as patch:
        add_step(patch, "CREATE TABLE later (a INTEGER) STRICT", "INSERT INTO absent VALUES (1)")
        with pytest.raises(Refused) as refusal:
            Ledger.open(path, ManualClock())
        assert refusal.value.code == "ledger_unreadable"
    ledger = Ledger.open(path, ManualClock())
    assert ledger._db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").fetchone() == (0,)
    assert len(list(ledger.rows())) == 9 and ledger.verify() == []
    ledger.close()


# --- copies ----------------------------------------------------------------------------


def test_a_copy_is_of_one_moment_while_rows_go_on(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.db", ManualClock())
    for n in range(1_700):
        ledger.append("a" if n % 2 else "b", "board", {"n": n}, AT)
    ledger.commit()
    at_that_moment = list(ledger.rows())
    steps = 0
    for _ in ledger.backup_in_steps(tmp_path / "copy.db"):
        steps += 1
        assert not (tmp_path / "copy.db").exists()
        ledger.append("a", "board", {"late": steps}, AT)
        ledger.commit()
    assert steps == 4 and sorted(os.listdir(tmp_path))[:2] == ["copy.db", "ledger.db"]
    copy = Ledger.open(tmp_path / "copy.db", ManualClock())
    assert list(copy.rows()) == at_that_moment and copy.verify() == []
    copy.close()
    ledger.close()


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    path = make(tmp_path / "ledger.db", 9)
    ledger = Ledger.open(path, ManualClock())

    def broken(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("rulith.store.copies._write", broken)
    with pytest.raises(StoreFailed) as failure:
        ledger.backup_to(tmp_path / "copy.db")
    assert failure.value.code == "store_full" and not list(tmp_path.glob("copy.db*"))
    ledger.close()
