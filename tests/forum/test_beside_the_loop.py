"""Looks into folders beside the loop: nobody waits for another's disk, an act judges by what is so at its end, and each look is written down once. Duty: the council surface, "Files, git, search"."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_LOOKS_MAX, COUNCIL_LOOKS_WAITING_MAX
from rulith.council.shapes import PERSON
from rulith.procs.identity import is_running
from rulith.procs.short import ENDED_EARLY, answer_of
from tests.forum.conftest import PlainFolder

STORY_S = 60.0


class SlowFolder(PlainFolder):
    """A folder whose looks wait for the test's word, and tell when they began."""

    gate, begun, threads = threading.Event(), [], set()

    def _look(self, what: str) -> None:
        self.begun.append(what)
        self.threads.add(threading.get_ident())
        assert self.gate.wait(STORY_S)

    def excerpt(self, path, start, end):
        self._look(path)
        if path == "absent":
            raise Refused("council_invalid", problem="there is no file absent")
        return path, f"what is in {path}"

    def diff(self, base, path):
        self._look("diff")
        return "- old\n+ new\n"


@pytest.fixture
def slow(council):
    SlowFolder.gate, SlowFolder.begun, SlowFolder.threads = threading.Event(), [], set()
    council.forum._folder = SlowFolder
    yield council
    SlowFolder.gate.set()


def play(story) -> None:
    asyncio.run(asyncio.wait_for(story, STORY_S))


async def until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.002)


def asked(council, title: str, *paths: str, **more) -> dict:
    return {"title": title, "body": "@ann what now?", "tag": "FYI", "room": council.room, "context": [{"kind": "file", "path": path} for path in paths], **more}


def notes(council) -> list[tuple]:
    return [(row["act"], row["path"], row["allowed"]) for row in reversed(council.act("file_access"))]


def test_others_act_while_one_looks_and_each_look_is_written_down_once(slow):
    ann = slow.agent("ann")

    async def story():
        opening = asyncio.ensure_future(slow.forum.act(ann, "create_thread", asked(slow, "slow", "a", "absent", "b", include_diff=True)))
        await until(lambda: SlowFolder.begun == ["a"])
        assert (await slow.forum.act(PERSON, "create_thread", asked(slow, "quick")))["thread_id"] == 1       # looks into nothing that waits
        assert slow.act("list_threads")[0]["title"] == "quick" and not opening.done()
        SlowFolder.gate.set()
        thread = slow.act("get_thread", thread_id=(await opening)["thread_id"])
        assert [each["content"] for each in thread["context"]][:1] == ["what is in a"] and thread["context"][-1]["kind"] == "diff"
        assert SlowFolder.begun == ["a", "absent", "b", "diff"] and threading.get_ident() not in SlowFolder.threads
        assert notes(slow) == [("pin", "a", True), ("pin", "absent", False), ("pin", "b", True), ("pin", "", True)]
    play(story())


def test_an_act_judges_by_what_is_so_at_its_end(slow):
    ann = slow.agent("ann")

    async def story():
        opening = asyncio.ensure_future(slow.forum.act(ann, "create_thread", asked(slow, "late", "a")))
        await until(lambda: SlowFolder.begun)
        slow.act("update_room", id=slow.room, paused=True)
        SlowFolder.gate.set()
        with pytest.raises(Refused) as refused:
            await opening
        assert refused.value.code == "council_paused" and slow.act("list_threads") == []
        slow.act("update_room", id=slow.room, paused=False)
        SlowFolder.gate.clear()
        opening = asyncio.ensure_future(slow.forum.act(ann, "create_thread", asked(slow, "revoked", "b")))
        await until(lambda: "b" in SlowFolder.begun)
        slow.act("set_agent_revoked", id=ann.agent_id)
        SlowFolder.gate.set()
        with pytest.raises(Refused) as refused:
            await opening
        assert refused.value.code == "council_revoked" and slow.act("list_threads", status="all") == []
    play(story())


def test_acts_of_one_agent_are_applied_in_the_order_of_their_asking_and_do_not_hold_up_anothers(slow):
    ann, bob = slow.agent("ann"), slow.agent("bob")

    async def story():
        first = [asyncio.ensure_future(slow.forum.act(ann, "create_thread", asked(slow, f"{number}", f"ann-{number}"))) for number in range(5)]
        other = asyncio.ensure_future(slow.forum.act(bob, "create_thread", asked(slow, "bob", "bob-0")))
        await until(lambda: len(SlowFolder.begun) == 2)
        assert sorted(SlowFolder.begun) == ["ann-0", "bob-0"]
        SlowFolder.gate.set()
        threads = [(await each)["thread_id"] for each in first]
        await other
        assert threads == sorted(threads) and not slow.forum.beside._orders
    play(story())


def test_looks_are_bounded_and_the_next_one_is_refused_with_nothing_done(slow):
    ann = slow.agent("ann")

    async def story():
        many = COUNCIL_LOOKS_MAX + COUNCIL_LOOKS_WAITING_MAX
        person = [asyncio.ensure_future(slow.forum.act(PERSON, "create_thread", asked(slow, f"{number}", "p"))) for number in range(many)]
        await until(lambda: len(SlowFolder.begun) == COUNCIL_LOOKS_MAX and len(slow.forum.beside._slots._waiting) == COUNCIL_LOOKS_WAITING_MAX)
        with pytest.raises(Refused) as refused:
            await slow.forum.act(ann, "create_thread", asked(slow, "one more", "p"))
        assert refused.value.code == "council_busy"
        SlowFolder.gate.set()
        await asyncio.gather(*person)
        assert len(slow.act("list_threads", limit=200)) == many and len(SlowFolder.threads) >= 1
        SlowFolder.gate.clear()
        SlowFolder.begun.clear()
        own = [asyncio.ensure_future(slow.forum.act(ann, "create_thread", asked(slow, f"own {number}", "q"))) for number in range(COUNCIL_LOOKS_WAITING_MAX + 1)]
        await until(lambda: SlowFolder.begun == ["q"])
        with pytest.raises(Refused) as refused:
            await slow.forum.act(ann, "create_thread", asked(slow, "one more", "q"))
        assert refused.value.code == "council_busy"
        for each in own:
            each.cancel()
        await asyncio.gather(*own, return_exceptions=True)
        assert all(each.cancelled() for each in own)
        SlowFolder.gate.set()
        await until(lambda: slow.forum.beside._slots.is_idle())
        assert not slow.forum.beside._orders and SlowFolder.begun == ["q"]
        assert (await slow.forum.act(ann, "create_thread", asked(slow, "after", "q")))["opened"] is True
    play(story())


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_an_act_that_nobody_wants_any_more_ends_what_its_look_had_started(council, tmp_path):
    ann, mark = council.agent("ann"), tmp_path / "pid"

    class Running(PlainFolder):
        def diff(self, base, path):
            told = answer_of(["/bin/sh", "-c", f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 600"], cwd="/", env=dict(os.environ), timeout_s=500, stdout_bytes_max=10)
            ended.append(told.timed_out)
            return ""
    ended: list[bool] = []
    council.forum._folder = Running

    async def story():
        opening = asyncio.ensure_future(council.forum.act(ann, "create_thread", asked(council, "t", include_diff=True)))
        await until(mark.exists)
        pid = int(Path(mark).read_text())
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await until(lambda: not is_running(pid) and council.forum.beside._slots.is_idle())
        assert ended == [True] and council.act("list_threads") == [] and ENDED_EARLY.get() is None
    play(story())


def test_a_bug_in_a_look_is_told_as_one_and_frees_its_place(council):
    ann = council.agent("ann")

    class Torn(PlainFolder):
        def diff(self, base, path):
            raise ZeroDivisionError
    council.forum._folder = Torn

    async def story():
        with pytest.raises(ZeroDivisionError):
            await council.forum.act(ann, "create_thread", asked(council, "t", include_diff=True))
        assert council.forum.beside._slots.is_idle() and not council.forum.beside._orders
    play(story())


def test_a_project_is_made_and_a_thread_resolved_with_looks_beside_the_loop(council, tmp_path):
    (tmp_path / "second").mkdir()

    async def story():
        made = await council.forum.act(PERSON, "create_project", {"folder": str(tmp_path / "second")})
        assert [row["kind"] for row in council.events()][-3:] == ["project.created", "room.created", "agent.created"]
        thread = (await council.forum.act(PERSON, "create_thread", {**asked(council, "t"), "room": "general", "body": "b"} | {"room": council.room}))["thread_id"]
        ended = await council.forum.act(PERSON, "resolve_thread", {"thread_id": thread, "summary": "so it is", "status": "RESOLVED"})
        assert (council.folder / ended["export_path"]).exists() and made["folder_path"] == str(tmp_path / "second")
        assert [row["kind"] for row in council.events()].count("thread.resolved") == 1
    play(story())
