"""`rulith doctor` on the council: not used, closed, running, damaged. Duty: the design's rules on the doctor (§10): it looks and changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil

import pytest

from rulith.base.clock import ManualClock, SystemClock
from rulith.commands.doctor_council import look_at_council
from rulith.council.shapes import PERSON
from rulith.disk.home import Home
from rulith.disk.runfile import write_runfile
from rulith.forum.service import open_council

KEY = "rvp_the-key-of-this-run"


@pytest.fixture
def home(tmp_path) -> Home:
    """A home whose council has a project, and a thread that asks the person."""
    (tmp_path / "project").mkdir()
    made = Home(tmp_path / "home")
    council = open_council(made, ManualClock(), KEY)
    run = lambda act, /, **arguments: council.forum.run(PERSON, act, arguments)
    run("create_project", folder=str(tmp_path / "project"), name="Shop")
    ann = council.forum.authenticate(run("create_agent", project_id=1, name="ann", rooms=[1])["api_key"])
    council.forum.run(ann, "create_thread", {"title": "t", "body": "@you decide", "tag": "FYI"})
    council.forum.db.close()
    return made


def found(home: Home) -> list[tuple[str, str, str]]:
    return list(look_at_council(home))


def test_a_home_without_a_council_has_nothing_wrong_and_gets_none(tmp_path):
    home = Home(tmp_path / "home").prepare()
    assert [row[:2] for row in found(home)] == [("council", "ok")] and not home.council.exists()


def test_a_closed_council_is_checked_whole_and_left_as_it_is(home):
    before = sorted(each.name for each in home.council.iterdir())
    assert [row[:2] for row in found(home)] == [("council", "ok"), ("council file", "ok")] and "checked whole" in found(home)[1][2]
    place = home.council / "council.db"
    place.write_bytes(place.read_bytes()[:4096] + b"\xa5" * 20_000)
    (_, _), (state, text) = [row[1:] for row in found(home)]
    assert state == "wrong" and "council restore" in text and "no copy was made" in text
    assert sorted(each.name for each in home.council.iterdir() if not each.name.endswith(("-wal", "-shm"))) == [name for name in before if not name.endswith(("-wal", "-shm"))]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX systems")
def test_a_file_that_others_can_read_is_wrong(home):
    os.chmod(home.council / "council.db", 0o644)
    assert ("council file", "wrong") in [row[:2] for row in found(home)]


def test_a_running_council_tells_what_waits_and_which_folder_is_gone_and_no_key(home, tmp_path):
    shutil.rmtree(tmp_path / "project")

    async def story() -> list:
        council = open_council(home, SystemClock(), KEY)
        try:
            write_runfile(home.council_json, url=await council.listen((0,)), port=council.port, key=KEY)
            told = [await asyncio.to_thread(found, home)]
            council.api._key = b"another"
            told.append(await asyncio.to_thread(found, home))
            await council.close()
            told.append(await asyncio.to_thread(found, home))
            return told
        finally:
            await council.close()
    well, strange, silent = asyncio.run(asyncio.wait_for(story(), 60))
    assert [row[:2] for row in well] == [("council", "ok"), ("project", "note"), ("threads", "note")]
    assert str(os.getpid()) in well[0][2] and "Shop" in well[1][2] and "1 thread of the council waits for you" in well[2][2]
    assert [row[:2] for row in strange] == [row[:2] for row in silent] == [("council", "wrong")] and "council.log" in silent[0][2]
    assert KEY not in json.dumps([well, strange, silent])
