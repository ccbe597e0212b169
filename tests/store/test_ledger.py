"""One behaviour suite for every ledger, then what only the file can do."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from rulith.base.canonical import canonical_bytes, sha256_hex
from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.store.failures import StoreFailed, council_failed, store_failed
from rulith.store.ledger import Ledger
from rulith.store.memory import MemoryLedger

AT = "2026-10-03T08:00:00.001Z"


def open_ledger(path: Path) -> Ledger:
    return Ledger.open(path, ManualClock())


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request, tmp_path):
    opened = MemoryLedger() if request.param == "memory" else open_ledger(tmp_path / "ledger.db")
    yield opened
    opened.close()


class TestEveryLedger:
    def test_a_staged_row_is_read_only_after_its_commit(self, ledger) -> None:
        row = ledger.append("gateway", "registry", {"a": 1}, AT)
        assert list(ledger.rows()) == []
        ledger.commit()
        assert [found._replace(position=0) for found in ledger.rows("gateway")] == [row]

    def test_sequence_numbers_count_per_chain_and_positions_over_all(self, ledger) -> None:
        for chain in ("a", "b", "a", "a", "b"):
            ledger.append(chain, "board", {"chain": chain}, AT)
        ledger.commit()
        assert [(row.position, row.chain, row.seq) for row in ledger.rows()] == [
            (1, "a", 1), (2, "b", 1), (3, "a", 2), (4, "a", 3), (5, "b", 2)]
        assert [row.seq for row in ledger.rows("a", after=1)] == [2, 3]
        assert [row.position for row in ledger.rows(after=3)] == [4, 5]
        assert ledger.chains() == ["a", "b"]

    def test_each_hash_covers_the_row_and_the_hash_before_it(self, ledger) -> None:
        first = ledger.append("a", "board", {"x": 1.0}, AT)
        second = ledger.append("a", "board", {"x": 'quote " and é'}, AT)
        assert first.prev == "" and second.prev == first.hash
        for row in (first, second):
            body_hash = sha256_hex(canonical_bytes(row.body))
            assert row.hash == sha256_hex(canonical_bytes([row.chain, row.seq, row.at, row.kind, body_hash, row.prev]))

    def test_a_chain_name_that_needs_escaping_hashes_as_canonical_json(self, ledger) -> None:
        row = ledger.append('agent "é\\', "board", {}, AT)
        assert row.hash == sha256_hex(canonical_bytes([row.chain, 1, AT, "board", sha256_hex(b"{}"), ""]))
        ledger.commit()
        assert ledger.verify() == []

    def test_discarding_takes_the_chains_back_to_the_last_commit(self, ledger) -> None:
        ledger.append("a", "board", {"n": 1}, AT)
        ledger.commit()
        head = ledger.head("a")
        ledger.append("a", "board", {"n": 2}, AT)
        ledger.append("b", "board", {"n": 3}, AT)
        ledger.discard()
        assert ledger.head("a") == head and ledger.head("b") == (0, "") and ledger.chains() == ["a"]
        assert ledger.append("a", "board", {"n": 4}, AT).seq == 2
        ledger.commit()
        assert [row.body["n"] for row in ledger.rows()] == [1, 4]
        assert ledger.verify() == []

    def test_a_commit_of_nothing_is_no_error(self, ledger) -> None:
        ledger.commit()
        assert list(ledger.rows()) == [] and ledger.head("a") == (0, "")

    def test_what_has_no_canonical_form_is_refused_and_stages_nothing(self, ledger) -> None:
        for body in ({"x": float("nan")}, {"x": {1: 2}}, {"x": "\ud800"}):
            with pytest.raises(Refused) as refusal:
                ledger.append("a", "board", body, AT)
            assert refusal.value.code == "not_canonical"
        assert ledger.head("a") == (0, "")

    def test_rows_may_be_read_while_more_are_committed(self, ledger) -> None:
        for n in range(1200):
            ledger.append("a", "board", {"n": n}, AT)
        ledger.commit()
        seen = []
        for row in ledger.rows("a"):
            seen.append(row.seq)
            if row.seq == 10:
                ledger.append("b", "board", {}, AT)
                ledger.commit()
        assert seen == list(range(1, 1201))

    def test_the_full_check_goes_in_steps_between_which_rows_may_be_committed(self, ledger) -> None:
        """A gateway checks its own ledger while it serves; what came meanwhile is no fault."""
        for n in range(1_200):
            ledger.append("a", "board", {"n": n}, AT)
        ledger.commit()
        steps = 0
        for problem in ledger.verify_in_steps():
            assert problem is None
            steps += 1
            for chain in ("a", "b"):
                if steps < 5:
                    ledger.append(chain, "board", {"late": steps}, AT)
            ledger.commit()
        assert steps >= 1 and ledger.verify() == []

    def test_a_closed_ledger_says_so(self, ledger) -> None:
        ledger.close()
        ledger.close()
        for use in (lambda: ledger.append("a", "k", {}, AT), ledger.verify, lambda: list(ledger.rows())):
            with pytest.raises(StoreFailed) as failure:
                use()
            assert failure.value.code == "store_closed"


class TestTheMemoryLedger:
    def test_a_scripted_failure_keeps_nothing(self) -> None:
        ledger = MemoryLedger()
        ledger.fail_next.append(StoreFailed("store_full"))
        ledger.append("a", "board", {}, AT)
        with pytest.raises(StoreFailed):
            ledger.commit()
        ledger.discard()
        assert list(ledger.rows()) == []
        ledger.append("a", "board", {}, AT)
        ledger.commit()
        assert len(list(ledger.rows())) == 1


class TestTheFile:
    def test_rows_survive_closing_and_opening(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        ledger.append("a", "board", {"text": "é\U0001f600", "n": 2**53 - 1, "f": 0.1, "t": True, "z": None}, AT)
        ledger.commit()
        ledger.append("a", "board", {"lost": True}, AT)
        written = list(ledger.rows())
        ledger.close()
        again = open_ledger(tmp_path / "ledger.db")
        assert list(again.rows()) == written
        assert again.append("a", "board", {}, AT).seq == 2
        again.close()

    def test_only_its_owner_can_read_it(self, tmp_path) -> None:
        before = os.umask(0)
        try:
            ledger = open_ledger(tmp_path / "ledger.db")
            ledger.append("a", "board", {}, AT)
            ledger.commit()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        finally:
            os.umask(before)
        assert set(modes.values()) == {0o600}, modes
        ledger.close()

    def test_a_second_opener_is_refused_by_the_holders_pid(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        with pytest.raises(Refused) as refusal:
            open_ledger(tmp_path / "ledger.db")
        assert refusal.value.code == "ledger_in_use" and refusal.value.facts["pid"] == os.getpid()
        ledger.close()
        open_ledger(tmp_path / "ledger.db").close()

    def test_it_runs_with_full_sync_in_a_write_ahead_log(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert ledger._db.execute("PRAGMA synchronous").fetchone() == (2,)
        ledger.close()

    def test_rows_can_be_neither_changed_nor_removed(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        ledger.append("a", "board", {}, AT)
        ledger.commit()
        for statement in ("UPDATE row SET body = '{}'", "DELETE FROM row"):
            with pytest.raises(sqlite3.IntegrityError):
                ledger._db.execute(statement)
        ledger.close()

    def test_migrations_are_recorded_once(self, tmp_path) -> None:
        for _ in range(2):
            ledger = open_ledger(tmp_path / "ledger.db")
            assert [row[0] for row in ledger._db.execute("SELECT number FROM migration")] == [1]
            ledger.close()

    def test_a_newer_ledger_is_refused_and_left_alone(self, tmp_path) -> None:
        open_ledger(tmp_path / "ledger.db").close()
        with sqlite3.connect(tmp_path / "ledger.db") as db:
            db.execute("INSERT INTO migration VALUES (99, 'later', '')")
        db.close()
        with pytest.raises(Refused) as refusal:
            open_ledger(tmp_path / "ledger.db")
        assert refusal.value.code == "ledger_newer"

    def test_a_file_that_is_no_database_is_refused_and_left_alone(self, tmp_path) -> None:
        path = tmp_path / "ledger.db"
        path.write_bytes(b"these are notes, not a ledger " * 100)
        with pytest.raises(Refused) as refusal:
            open_ledger(path)
        assert refusal.value.code == "ledger_damaged"
        assert path.read_bytes().startswith(b"these are notes")

    def test_a_folder_that_is_not_there_is_refused(self, tmp_path) -> None:
        with pytest.raises(Refused):
            open_ledger(tmp_path / "absent" / "ledger.db")

    def test_a_failed_commit_keeps_nothing_and_the_next_one_works(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        ledger.append("a", "board", {"n": 1}, AT)
        ledger.commit()
        ledger._db.execute("PRAGMA max_page_count = 1")   # as small as it is now: the next page does not fit
        for n in range(50):
            ledger.append("a", "board", {"text": "x" * 2000, "n": n}, AT)
        with pytest.raises(StoreFailed) as failure:
            ledger.commit()
        assert failure.value.code == "store_full"
        ledger.discard()
        assert ledger.head("a")[0] == 1
        ledger._db.execute("PRAGMA max_page_count = 1000000")
        ledger.append("a", "board", {"n": 2}, AT)
        ledger.commit()
        assert [row.body["n"] for row in ledger.rows()] == [1, 2] and ledger.verify() == []
        ledger.close()

    def test_a_backup_of_the_open_ledger_opens_as_a_ledger(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        for n in range(600):
            ledger.append("a", "board", {"n": n, "text": "x" * 500}, AT)
        ledger.commit()
        ledger.append("a", "board", {"staged": True}, AT)
        ledger.backup_to(tmp_path / "copy.db")
        assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
        with pytest.raises(Refused):
            ledger.backup_to(tmp_path / "copy.db")
        ledger.commit()
        copy = open_ledger(tmp_path / "copy.db")
        assert copy.verify() == [] and list(copy.rows()) == list(ledger.rows())[:600]
        copy.close()
        ledger.close()

    def test_another_programs_lock_is_a_failure_not_a_hang(self, tmp_path) -> None:
        ledger = open_ledger(tmp_path / "ledger.db")
        ledger._db.execute("PRAGMA busy_timeout = 1")
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ledger.append("a", "board", {}, AT)
        with pytest.raises(StoreFailed) as failure:
            ledger.commit()
        assert failure.value.code == "store_busy"
        other.execute("ROLLBACK")
        other.close()
        ledger.discard()
        ledger.append("a", "board", {}, AT)
        ledger.commit()
        ledger.close()


@pytest.mark.parametrize(("text", "code"), [
    ("database or disk is full", "store_full"), ("disk I/O error", "store_io"),
    ("database is locked", "store_busy"), ("database disk image is malformed", "store_corrupt"),
    ("attempt to write a readonly database", "store_io"),
])
def test_each_error_of_the_database_has_its_code(text: str, code: str) -> None:
    for failed, file in ((store_failed, "The ledger"), (council_failed, "The council's file")):
        refusal = failed(sqlite3.OperationalError(text))
        assert refusal.code == code and refusal.teaching.startswith(file)
