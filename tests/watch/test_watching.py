"""A watcher beside a council that says what it is told to say, with real commands. Duty: the council surface, "Watcher"."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.watching import asking, core
from rulith.watching.settings import WatchSettings
from rulith.watching.watcher import Watcher
from tests.watch.conftest import KEY, ME, OTHER, WAIT_S


def test_the_first_poll_catches_up_and_gives_the_cursor(watched):
    async def story(at):
        at.council.cursor = 41
        at.council.quiet()
        at.records("{threads}")
        await at.until(lambda: len(at.council.polls) == 2)
        assert at.council.polls == [{"timeout_s": 1, "watcher": True, "catch_up": True}, {"cursor": 41, "timeout_s": 900, "watcher": True}]
        at.council.moves(3)
        await at.until(lambda: at.left())
        assert at.council.polls[2]["cursor"] == 42 and at.runs == [[3]] and at.left()[0]["args"] == ["3"]
        assert at.reports[0] == {"state": "waiting", "agent": "ann"}
    watched(story)


def test_what_was_waiting_at_the_start_starts_the_command(watched):
    async def story(at):
        at.council.says({"next_cursor": 10, "events": [], "needs_you": [2, 6], "then": "go"})
        at.records("{prompt}", "a{list}b", once=True)
        assert await at.end() == 0
        [run] = at.left()
        assert run["args"][1] == "a#2, #6b" and "#2, #6" in run["args"][0] and run["env"]["RIVENDELL_THREADS"] == "2,6"
    watched(story)


def test_own_and_bookkeeping_events_start_nothing(watched):
    """One list is the record, the other the work list."""
    async def story(at):
        at.council.quiet()
        at.records(once=True)
        at.council.moves(1, actor=ME, needs=[])
        at.council.moves(1, actor=ME, needs=None)
        at.council.moves(2, kind="thread.claimed", needs=None)
        at.council.moves(4, 7, 4, needs=None)
        assert await at.end() == 0 and at.runs == [[4, 7]]
    watched(story)


def test_what_moves_during_a_run_is_one_more_run(watched, tmp_path):
    gate = tmp_path / "gate"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"

    async def story(at):
        at.council.quiet()
        at.begin(sys.executable, "-c", wait)
        at.council.moves(3, 1, 2, 1)
        await at.until(lambda: at.runs)
        assert at.runs == [[1, 2, 3]]
        before = len(at.council.polls)
        for each in range(8):
            at.council.moves(7 + each % 2)
        await at.until(lambda: len(at.council.polls) == before + 8)          # it hears the council while the command runs
        assert len(at.runs) == 1
        gate.touch()
        await at.until(lambda: len(at.runs) == 2)
        assert at.runs[1] == [7, 8]
    watched(story)


def test_a_command_finds_the_council_and_the_key_that_is_meant_for_it(watched):
    async def story(at):
        at.council.says({"needs_you": [1]})
        at.records(run_key="rvdlive_for-the-run", once=True, env={"RIVENDELL_RUN_KEY": "rvdlive_for-the-run", "RIVENDELL_AGENT": "5", "RULITH_LOCAL_EVENTS": "stdio"})
        assert await at.end() == 0
        assert at.left()[0]["env"] == {"RIVENDELL_URL": at.council.url, "RIVENDELL_KEY": "rvdlive_for-the-run", "RIVENDELL_THREADS": "1", "RIVENDELL_AGENT": "5"}
        assert {call["name"] for call in at.council.calls} == {"whoami", "wait_for_updates"}
    watched(story)


def test_without_a_command_it_prints_what_happened_and_ends(watched):
    async def story(at):
        at.council.quiet()
        at.begin()
        at.council.moves(3)
        assert await at.end() == 0 and not at.runs
        assert "Threads needing you: #3" in at.told[0] and "message.created" in at.told[0]
    watched(story)


def test_an_empty_catch_up_does_not_satisfy_once(watched):
    async def story(at):
        at.council.quiet()
        at.begin(once=True)
        await at.until(lambda: len(at.council.polls) == 2)
        at.council.quiet()
        await at.until(lambda: len(at.council.polls) == 3)
        assert not at.watching.done()
        at.council.moves(8)
        assert await at.end() == 0
    watched(story)


def test_the_ceiling_ends_3_and_counts_over_restarts(watched, tmp_path):
    place = tmp_path / "starts.json"

    async def story(at):
        for number in range(2):
            at.council.says({"needs_you": [number]})
            at.records(once=True, ceiling=2, starts=place)
            assert await at.end() == 0
        assert len(json.loads(place.read_text())["starts"]) == 2
        at.council.says({"needs_you": [5]})
        at.records(ceiling=2, starts=place)
        assert await at.end() == 3 and len(at.left()) == 2
        assert at.reports[-1] == {"state": "ceiling", "detail": "2 starts in an hour, something loops"}
    watched(story)


def test_a_start_that_cannot_be_kept_does_not_happen(watched, tmp_path):
    async def story(at):
        at.council.says({"needs_you": [1]})
        at.records(starts=tmp_path / "none" / "starts.json")
        with pytest.raises(Refused) as refused:
            await at.end()
        assert refused.value.code == "write_failed" and not at.left() and not at.runs
    watched(story)


def test_a_command_over_its_limit_is_ended_and_the_watching_goes_on(watched):
    async def story(at):
        at.council.says({"needs_you": [1]})
        at.begin(sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)", limit_s=0.3)
        await at.until(lambda: at.said)
        assert "took longer than 0.3 s" in at.said[0]
        at.council.moves(2)
        await at.until(lambda: len(at.runs) == 2)
    watched(story)


def test_a_command_that_fails_is_said_and_started_again_for_the_next_wake_up(watched):
    async def story(at):
        at.council.says({"needs_you": [1]})
        at.begin(sys.executable, "-c", "raise SystemExit(9)")
        await at.until(lambda: at.said)
        assert "status 9" in at.said[0]
        at.council.moves(1)
        await at.until(lambda: len(at.runs) == 2)
    watched(story)


# --- a council that fails ----------------------------------------------------------------


def test_instant_empty_answers_make_no_hot_loop(watched):
    """At most one poll a second, once some have come at once."""
    async def story(at):
        for _ in range(200):
            at.council.quiet()
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        at.begin()
        await at.until(lambda: len(at.council.polls) >= 3)
        assert loop.time() - began_s > 0.9                  # each of two was slow by itself, or was followed by a pause
    watched(story)


def test_a_council_that_fails_is_asked_again_and_one_complaint_tells_it(watched, monkeypatch):
    assert asking.RETRY_S == 5.0
    monkeypatch.setattr(asking, "RETRY_S", 0.1)

    async def story(at):
        at.council.quiet()
        at.records(once=True)
        for failure in (500, None, "database: busy"):
            at.council.says(failure)
        at.council.moves(6)
        await at.until(lambda: at.said)
        assert len(at.said) == 1 and "every 0.1 s" in at.said[0]
        assert await at.end() == 0 and at.runs == [[6]] and at.said[-1] == "The council answers again."
        assert {poll.get("cursor") for poll in at.council.polls[1:]} <= {10, at.council.cursor}        # no failure moves the cursor
    watched(story)


def test_a_cursor_that_goes_back_is_followed_by_a_catch_up(watched):
    """The council was brought back from a copy; what waits there is not lost."""
    async def story(at):
        at.council.cursor = 500
        at.council.quiet()
        at.begin()
        at.council.says({"next_cursor": 7, "events": [], "needs_you": []})
        await at.until(lambda: len(at.council.polls) == 3)
        assert at.council.polls[2] == {"cursor": 7, "timeout_s": 900, "watcher": True, "catch_up": True}
    watched(story)


def test_a_key_that_is_refused_later_ends_4_and_ends_the_run(watched):
    async def story(at):
        at.council.says({"needs_you": [1]})
        at.begin(sys.executable, "-c", "import time; time.sleep(1000)")
        await at.until(lambda: at.runs and at.council.held)
        at.council.key = "another"
        at.council.says("forbidden: This agent was revoked.")
        assert await at.end() == 4
    watched(story)


@pytest.mark.parametrize("spoil, code", [("key", "watch_key_refused"), ("tool", "watch_said"), ("status", "watch_answer"), ("port", "watch_unreachable")])
def test_a_council_that_cannot_be_had_at_the_start_ends_it(watched, spoil, code):
    async def story(at):
        if spoil == "key":
            at.council.key = "another"
        elif spoil == "port":
            at.council.url = "http://127.0.0.1:9/mcp"
        else:
            at.council.whoami = "forbidden: no" if spoil == "tool" else 503
        at.begin()
        with pytest.raises(Refused) as refused:
            await at.end()
        assert refused.value.code == code
    watched(story)


def test_a_command_that_is_not_there_ends_it_before_anything_is_asked(watched):
    async def story(at):
        with pytest.raises(Refused) as refused:
            at.begin("no-such-program-here")
        assert refused.value.code == "watch_command" and not at.council.calls
    watched(story)


def test_an_odd_identity_and_odd_answers_are_borne(watched, monkeypatch):
    monkeypatch.setattr(asking, "PAUSE_S", 0.01)

    async def story(at):
        at.council.whoami = {"agent_id": "five", "name": 3}
        for odd in ({}, {"next_cursor": "x", "events": 3, "needs_you": "all"}, {"needs_you": [True, -1, 2.5, "3", None]}, {"events": [None, {"thread_id": {}}]}):
            at.council.says(odd)
        at.begin()
        at.council.says({"next_cursor": 3, "needs_you": [OTHER]})
        assert await at.end() == 0 and at.reports[0] == {"state": "waiting"}
    watched(story)


def test_a_stop_ends_it_at_any_time_and_leaves_no_poll(watched):
    async def story(at):
        at.council.quiet()
        at.begin(sys.executable, "-c", "import time; time.sleep(1000)")
        at.council.moves(1)
        await at.until(lambda: at.runs and at.council.held)
        at.ended.set_result(143)
        assert await at.end() == 143
        while at.council.held:
            await asyncio.sleep(0.01)
    watched(story)


def test_a_stop_while_the_council_does_not_answer_ends_it(watched):
    async def story(at):
        hold = asyncio.Event()

        async def silent(reader, writer):
            await hold.wait()
            writer.close()
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        at.council.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        at.begin()
        await asyncio.sleep(0)
        at.ended.set_result(130)
        assert await at.end() == 130
        hold.set()
        server.close()
    watched(story)


def test_a_timer_that_was_set_anew_as_it_went_off_brings_nothing():
    """What moved and the end of the burst before it may lie in the inbox together, on a busy machine."""
    async def story():
        loop, runs = asyncio.get_running_loop(), []
        settings = WatchSettings(url="http://127.0.0.1:1/mcp", key=KEY, run_key=KEY, command=(sys.executable, "-c", ""), once=True)
        watcher = Watcher(settings, dict(os.environ), SystemClock(), report=lambda state, **facts: runs.append(facts["threads"]) if state == "running" else None, say=print, tell=print)
        later = loop.call_later
        loop.call_later = lambda delay_s, call, *rest: loop.call_soon(call, *rest) if getattr(call, "__self__", None) is watcher._inbox else later(delay_s, call, *rest)
        for thread in (1, 2):
            watcher._inbox.put_nowait(core.Moved((thread,)))
        hearing = loop.create_future()
        assert await watcher._follow(asyncio.ensure_future(asyncio.wait({hearing}))) == 0
        hearing.cancel()
        assert runs == [[1, 2]]
    asyncio.run(asyncio.wait_for(story(), WAIT_S))
