"""Copies of the council, and what a damaged or unwritable file does. Duty: the design's rules on files (D5): evidence is kept, nothing is overwritten, nothing half is left."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import stat

import pytest

from rulith.base.clock import ManualClock, SystemClock
from rulith.base.errors import Refused
from rulith.commands import council as door
from rulith.commands.council_copies import keep_backup
from rulith.council.shapes import PERSON
from rulith.disk.home import Home
from rulith.disk.runfile import remove_runfile, write_runfile
from rulith.forum.service import open_council
from rulith.store.council_db import CouncilDb
from rulith.store.council_file import check_council, restore_council
from tests.forum.conftest import KEY


@pytest.fixture
def home(tmp_path) -> Home:
    """A home whose council holds one project and one thread."""
    (tmp_path / "project").mkdir()
    made = Home(tmp_path / "home")
    council = open_council(made, ManualClock(), KEY)
    council.forum.run(PERSON, "create_project", {"folder": str(tmp_path / "project")})
    council.forum.run(PERSON, "create_thread", {"room": "general", "title": "kept", "body": "b", "tag": "FYI"})
    council.forum.db.close()
    return made


def titles(home: Home) -> list[str]:
    council = open_council(home, ManualClock(), KEY)
    try:
        return [row["title"] for row in council.forum.run(PERSON, "list_threads", {})]
    finally:
        council.forum.db.close()


def run(*words: str) -> int:
    return door.main(list(words))


def refused(call, *arguments) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return caught.value


def test_a_closed_council_is_copied_and_brought_back_and_the_file_that_stood_there_is_kept(home, tmp_path, capsys):
    copy = tmp_path / "copy.db"
    assert run("backup", str(copy), "--home", str(home.path)) == 0 and "sha256:" in capsys.readouterr().out
    if os.name == "posix":
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    council = open_council(home, ManualClock(), KEY)
    council.forum.run(PERSON, "create_thread", {"room": "general", "title": "later", "body": "needle", "tag": "FYI"})
    council.forum.db.close()
    assert run("restore", str(copy), "--home", str(home.path)) == 0
    assert titles(home) == ["kept"] and copy.exists()
    (kept,) = [each for each in home.council.iterdir() if ".before-" in each.name and each.suffix not in (".db-wal", ".db-shm")]
    with sqlite3.connect(kept) as db:
        assert [row for row in db.execute("SELECT title FROM thread ORDER BY id")] == [("kept",), ("later",)]
    assert not list(home.council.glob("restore-*")) and not list(home.council.glob("backup-*"))


def test_a_running_council_makes_the_copy_and_is_not_restored_over(home, tmp_path, capsys):
    async def story() -> list[tuple[int, str]]:
        council = open_council(home, SystemClock(), KEY)
        try:
            write_runfile(home.council_json, url=await council.listen((0,)), port=council.port, key=KEY)
            told = []
            for words in (("backup", "one.db"), ("backup", "one.db"), ("restore", "one.db")):
                told.append((await asyncio.to_thread(run, words[0], str(tmp_path / words[1]), "--home", str(home.path)), capsys.readouterr().err))
            council.api._key = b"another"
            assert (await asyncio.to_thread(refused, keep_backup, home, str(tmp_path / "two.db"))).code == "council_backup"
            return told
        finally:
            remove_runfile(home.council_json)
            await council.close()
    told = asyncio.run(asyncio.wait_for(story(), 60))
    assert [status for status, _ in told] == [0, 1, 1]
    assert "stands there already" in told[1][1] and str(os.getpid()) in told[2][1]
    assert not list(home.council.glob("backup-*")) and check_council(tmp_path / "one.db", aside=False) == 4
    assert not (tmp_path / "two.db").exists()


@pytest.mark.parametrize("content, code", [(b"", "file_unusable"), (b"no database " * 900, "council_damaged"), (None, "file_unusable")])
def test_what_is_no_copy_is_refused_and_the_council_stays_as_it_is(home, tmp_path, content, code):
    copy, before = tmp_path / "copy.db", (home.council / "council.db").read_bytes()
    if content is not None:
        copy.write_bytes(content)
    assert refused(restore_council, home.council / "council.db", copy, ManualClock()).code == code
    assert (home.council / "council.db").read_bytes() == before and titles(home) == ["kept"]
    assert sorted(each.name for each in home.council.iterdir() if each.suffix == ".db") == ["council.db"]


def test_a_copy_of_a_later_release_and_a_council_in_use_are_refused(home, tmp_path):
    copy = tmp_path / "copy.db"
    run("backup", str(copy), "--home", str(home.path))
    with sqlite3.connect(copy) as db:
        db.execute("INSERT INTO migration VALUES (99, 'later', '')")
    assert refused(restore_council, home.council / "council.db", copy, ManualClock()).code == "council_newer"
    held = CouncilDb.open(home.council / "council.db", ManualClock())
    try:
        assert refused(restore_council, home.council / "council.db", copy, ManualClock()).code == "council_in_use"
    finally:
        held.close()


def test_a_damaged_file_is_put_aside_once_and_left_as_it_is(home):
    place = home.council / "council.db"
    whole = place.read_bytes()
    place.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    damaged = place.read_bytes()
    for _ in range(2):
        refusal = refused(open_council, home, ManualClock(), KEY)
        assert refusal.code == "council_damaged" and "council restore" in refusal.teaching and place.read_bytes() == damaged
    (aside,) = home.council.glob("council.db.damaged-*")
    assert aside.read_bytes() == damaged and aside.name in refusal.teaching


def test_a_row_that_names_what_is_not_there_is_damage(home):
    with sqlite3.connect(home.council / "council.db") as db:
        db.execute("UPDATE thread SET room_id = 77")
    assert "thread" in refused(check_council, home.council / "council.db").facts["problem"]


@pytest.mark.parametrize("number, code", [(errno.EACCES, "write_failed"), (errno.EROFS, "write_failed"), (errno.ENOSPC, "disk_full")])
@pytest.mark.parametrize("name", ["council.db", "council.db.lock"])
def test_a_folder_that_takes_no_change_is_said_by_its_code_and_loses_nothing(home, monkeypatch, number, code, name):
    plain = os.open

    def guarded(path, flags, *rest, **more):
        if str(path).endswith(name) and flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return plain(path, flags, *rest, **more)
    monkeypatch.setattr(os, "open", guarded)
    assert refused(open_council, home, ManualClock(), KEY).code == code
    monkeypatch.undo()
    assert titles(home) == ["kept"]


def test_a_copy_that_does_not_fit_leaves_nothing(home, tmp_path, monkeypatch):
    db = CouncilDb.open(home.council / "council.db", ManualClock())
    try:
        class Full:
            def execute(self, *_):
                raise sqlite3.OperationalError("database or disk is full")
        whole, db._db = db._db, Full()
        assert refused(db.copy_to, tmp_path / "copy.db").code == "store_full" and not (tmp_path / "copy.db").exists()
        db._db = whole
        assert refused(db.copy_to, tmp_path / "none" / "copy.db").code == "write_failed"
        (tmp_path / "there.db").write_text("there")
        assert refused(db.copy_to, tmp_path / "there.db").code == "write_failed" and (tmp_path / "there.db").read_text() == "there"
    finally:
        db.close()


def test_the_door_takes_its_words_and_no_others(home, tmp_path, capsys):
    for words in (("backup",), ("restore",), ("serve", "x"), ("backup", "x", "--port", "1"), ("backup", "x", "y")):
        assert run(*words, "--home", str(home.path)) == 2
    assert run("backup", str(tmp_path / "x"), "--home", str(tmp_path / "nothing")) == 1 and "no council yet" in capsys.readouterr().err
    assert not (tmp_path / "nothing").exists()
