"""A watcher on the wake socket. Duty: the council surface, "Wake socket", "Watcher"."""

from __future__ import annotations

import asyncio
import sys

import pytest

from rulith.base.errors import Refused
from rulith.watching import asking

SLEEPS = (sys.executable, "-c", "import time; time.sleep(1000)")


def test_it_holds_the_socket_and_never_polls(watched):
    async def story(at):
        at.council.on_open = [{"needs_you": [2, 6], "reason": "waited"}]
        at.records("{threads}", ws=True)
        await at.until(lambda: at.left())
        assert at.runs == [[2, 6]] and at.left()[0]["args"] == ["2,6"]
        at.council.wakes(4)
        await at.until(lambda: len(at.left()) == 2)
        assert at.runs[1] == [4] and [call["name"] for call in at.council.calls] == ["whoami"] and at.council.opened == 1
    watched(story)


def test_frames_during_a_run_are_one_run_more(watched, tmp_path):
    gate = tmp_path / "gate"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"

    async def story(at):
        at.begin(sys.executable, "-c", wait, ws=True)
        await at.until(lambda: at.council.sockets)
        at.council.wakes(1)
        await at.until(lambda: at.runs)
        for each in range(60):
            at.council.wakes(7 + each % 3)
        at.council.frame({"needs_you": []})
        at.council.cut()                                 # what was told before the cut counts
        await at.until(lambda: at.council.opened == 2)
        gate.touch()
        await at.until(lambda: len(at.runs) == 2)
        assert at.runs == [[1], [7, 8, 9]]
    watched(story)


def test_without_a_command_a_frame_is_the_wake_up(watched):
    async def story(at):
        at.begin(ws=True, once=True)
        await at.until(lambda: at.council.sockets)
        at.council.wakes(3, "thread.mentioned")
        assert await at.end() == 0 and "Threads needing you: #3" in at.told[0] and "thread.mentioned" in at.told[0]
        assert not at.council.polls
    watched(story)


def test_a_socket_that_is_cut_is_opened_again_and_again(watched, monkeypatch):
    """Also when opening fails for a while; it never falls back to polling."""
    monkeypatch.setattr(asking, "RETRY_S", 0.1)

    async def story(at):
        at.begin(*SLEEPS, ws=True)
        await at.until(lambda: at.council.sockets)
        at.council.socket_status = 503
        at.council.cut()
        await at.until(lambda: at.said)
        at.council.on_open = [{"needs_you": [8]}]
        at.council.socket_status = 0
        await at.until(lambda: at.runs)
        assert at.runs == [[8]] and not at.council.polls and at.said == [at.said[0], "The council answers again."] and "503" in at.said[0]
    watched(story)


def test_a_council_that_cuts_every_socket_is_not_asked_without_a_pause(watched, monkeypatch):
    monkeypatch.setattr(asking, "RETRY_S", 1.5)

    async def story(at):
        at.begin(ws=True)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while at.council.opened < 3:
            at.council.cut(1013)
            await at.until(lambda: True)
            await asyncio.sleep(0.01)
        assert loop.time() - began_s > asking.RETRY_S
    watched(story)


@pytest.mark.parametrize("during_a_run", [False, True])
def test_a_revoked_key_ends_4_at_once(watched, during_a_run):
    async def story(at):
        at.council.on_open = [{"needs_you": [1]}] if during_a_run else []
        at.begin(*SLEEPS, ws=True)
        await at.until(lambda: at.runs if during_a_run else at.council.sockets and at.reports)
        at.council.key = "another"
        at.council.cut(1008)
        assert await at.end() == 4 and len(at.runs) == during_a_run
    watched(story)


@pytest.mark.parametrize("spoil, code", [("key", "watch_key_refused"), ("status", "watch_answer"), ("port", "watch_unreachable"), ("whoami", "watch_answer")])
def test_a_socket_or_an_identity_that_cannot_be_had_at_the_start_ends_it(watched, spoil, code):
    async def story(at):
        if spoil == "key":
            at.council.key = "another"
        elif spoil == "port":
            at.council.url = "http://127.0.0.1:9/mcp"
        elif spoil == "whoami":
            at.council.whoami = 500
        else:
            at.council.socket_status = 404
        at.begin(ws=True)
        with pytest.raises(Refused) as refused:
            await at.end()
        assert refused.value.code == code
        while at.council.sockets:
            await asyncio.sleep(0.01)
    watched(story)


def test_frames_that_are_none_are_borne(watched):
    async def story(at):
        at.begin(ws=True)
        await at.until(lambda: at.council.sockets)
        for odd in ("", "{", "[]", "null", '{"needs_you": "all"}', '{"needs_you": [true, -1, "3", null, 2.5]}', '{"needs_you": {}, "events": [7]}', "[" * 5000):
            at.council.frame(odd)
        at.council.wakes(9)
        assert await at.end() == 0 and "#9" in at.told[0]
    watched(story)
