"""What two agents and their person live through, over HTTP alone. Duty: the council surface, "Tests of the original" 1 to 9, 12 and 16 to 19, and "HTTP and MCP transport"."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import clean_environment
from tests.forum.conftest import Program, Stream
from tests.forum.test_council_role import STORY_S, WAIT_S, post, started
from tests.forum.test_mcp import program
from tests.forum.test_mcp_tools import first_number

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


async def refused(agent: Program, name: str, /, **arguments) -> str:
    result = await agent.call(name, **arguments)
    assert result["isError"], result
    return result["content"][0]["text"]


def test_a_thread_is_opened_argued_capped_paused_resolved_and_closed(served, tmp_path):
    project = tmp_path / "project"
    (project / "pay.py").write_text("one\ntwo\nthree\n")
    (project / "key.pem").write_text("BEGIN PRIVATE")

    async def story(talk):
        ann, bob, eve = await program(talk), await program(talk, "bob"), await program(talk, "eve")
        assert (await Program(ann.port, "rvd_nobody").send({})).status == 401
        assert (await ann.ask("initialize", {"protocolVersion": "2025-06-18"}))["result"]["serverInfo"]["name"] == "rivendell"
        text = await ann.says("create_thread", title="Is pay safe?", body="@bob, break it", tag="ADVERSARIAL_REVIEW",
                              context=[{"kind": "file", "path": "pay.py", "start_line": 2, "end_line": 3}, {"kind": "file", "path": "key.pem"}, {"kind": "note", "content": "as of now"}])
        thread = first_number(text)
        (project / "pay.py").write_text("changed since")
        seen = await bob.says("get_thread", thread_id=thread)
        assert "two\nthree" in seen and "changed" not in seen and "BEGIN PRIVATE" not in seen and "as of now" in seen and "not pinned" in seen
        assert "did not ask you" in await refused(eve, "reply", thread_id=thread, body="me too")
        assert "CONFIRMED" in await refused(bob, "reply", thread_id=thread, body="b", verdict="MAYBE")
        await bob.says("reply", thread_id=thread, body="no verdict yet, @eve")
        await eve.says("reply", thread_id=thread, body="it breaks", verdict="REFUTED", severity="HIGH")
        assert "CLEARED · HIGH" in await ann.says("get_thread", thread_id=thread) and "REFUTED" not in await ann.says("get_thread", thread_id=thread)
        await talk.does("update_room", id=1, max_replies_per_agent=1)
        said = await refused(bob, "reply", thread_id=thread, body="more")
        assert said.startswith("limit reached: ") and "cap" in said and "1" in said
        await talk.does("update_room", id=1, max_replies_per_agent=6, paused=True)
        assert "paused" in await refused(bob, "reply", thread_id=thread, body="more")
        await talk.does("update_room", id=1, paused=False)
        assert "ann" in await refused(bob, "resolve_thread", thread_id=thread, summary="mine now")
        told = await ann.says("resolve_thread", thread_id=thread, summary="It is fixed.")
        (record,) = (project / ".rivendell" / "threads").iterdir()
        assert f".rivendell/threads/{record.name}" in told and record.name == "0001-is-pay-safe.md" and "It is fixed." in record.read_text("utf-8")
        assert "RESOLVED" in await refused(bob, "reply", thread_id=thread, body="still") and "closed" in await refused(bob, "claim_thread", thread_id=thread)
        assert await talk.does("reply", thread_id=thread, body="the person may")
    served(story)


def test_threads_are_ordered_by_creation_activity_and_last_reply(served):
    async def story(talk):
        ann = await program(talk)
        first, second, third = [first_number(await ann.says("create_thread", title="t", body="b", tag="FYI")) for _ in range(3)]
        for thread in (second, second, first):
            await talk.does("reply", thread_id=thread, body="b")

        async def order(sort: str) -> list[int]:
            return [row["id"] for row in json.loads(await ann.says("list_threads", sort=sort))]

        assert (await order("created"), await order("activity"), await order("last_reply")) == ([third, second, first], [second, first, third], [first, second, third])
        assert [row["id"] for row in json.loads(await ann.says("list_threads"))] == [first, second, third]
    served(story)


def test_an_edit_marks_its_message_adds_none_and_is_ones_own(served):
    async def story(talk):
        ann, bob = await program(talk), await program(talk, "bob")
        thread = first_number(await ann.says("create_thread", title="t", body="@bob", tag="ADVERSARIAL_REVIEW"))
        message = first_number(await bob.says("reply", thread_id=thread, body="first", verdict="CONFIRMED", severity="LOW"))
        cursor = json.loads(await ann.says("wait_for_updates", timeout_s=1))["next_cursor"]
        assert (await refused(ann, "edit_reply", message_id=message, body="words in bob's mouth")).startswith("forbidden: ")
        assert "CLEARED" in await refused(bob, "edit_reply", message_id=message, body="b", verdict="FINE")
        await bob.says("edit_reply", message_id=message, body="second", verdict="UNCERTAIN")
        seen = await ann.says("get_thread", thread_id=thread)
        assert "UNCERTAIN · edited" in seen and "first" not in seen and seen.count("### bob") == 1
        (event,) = json.loads(await ann.says("wait_for_updates", cursor=cursor))["events"]
        assert event["kind"] == "message.edited" and event["payload"] == {"message_id": message, "body_changed": True, "previous_verdict": "CONFIRMED", "previous_severity": "LOW",
                                                                          "verdict": "UNCERTAIN", "severity": None}
    served(story)


def test_who_is_in_no_room_reads_lists_finds_and_hears_nothing(served):
    async def story(talk):
        ann = await program(talk)
        made = await talk.does("create_agent", project_id=1, name="out")
        out = Program(ann.port, made["api_key"])
        thread = first_number(await ann.says("create_thread", title="A needle", body="b", tag="FYI"))
        assert (await refused(out, "get_thread", thread_id=thread)).startswith("not found: ")
        for name, arguments in (("list_threads", {"mentions_me": False, "status": "all"}), ("list_agents", {}), ("search", {"query": "needle"})):
            assert await out.says(name, **arguments) == "[]"
        assert (await refused(out, "list_threads", room="general")).startswith("not found: ") and json.loads(await out.says("whoami"))["rooms"] == []
        assert json.loads(await out.says("wait_for_updates", cursor=0, timeout_s=1))["events"] == []
        await talk.does("join_room", agent_id=made["agent_id"], room_id=1)
        assert "A needle" in await out.says("get_thread", thread_id=thread)
        await talk.does("leave_room", agent_id=made["agent_id"], room_id=1)
        assert (await refused(out, "get_thread", thread_id=thread)).startswith("not found: ")
    served(story)


def test_a_live_key_speaks_as_its_agent_until_its_agent_is_another(served):
    async def story(talk):
        ann = await program(talk)
        live = Program(ann.port, talk.council.forum.mint_live(2))
        assert live.key.startswith("rvdlive_") and json.loads(await live.says("whoami"))["name"] == "ann"
        await talk.does("delete_agent", id=2)
        assert (await live.send({})).status == 401
        other = await talk.does("create_agent", project_id=1, name="other", rooms=[1])
        assert (await live.send({})).status == 401 and json.loads(await Program(ann.port, other["api_key"]).says("whoami"))["name"] == "other"
        revoked = Program(ann.port, talk.council.forum.mint_live(other["agent_id"]))
        await talk.does("set_agent_revoked", id=other["agent_id"], revoked=True)
        assert [(await each.send({})).status for each in (revoked, Program(ann.port, other["api_key"]))] == [401, 401]
        await talk.does("set_agent_revoked", id=other["agent_id"], revoked=False)
        assert json.loads(await Program(ann.port, other["api_key"]).says("whoami"))["name"] == "other" and (await revoked.send({})).status == 401
        turned = await talk.does("rotate_agent_key", id=other["agent_id"])
        assert (await Program(ann.port, other["api_key"]).send({})).status == 401 and await Program(ann.port, turned["api_key"]).says("list_agents")
    served(story)


@posix
@pytest.mark.timeout(STORY_S + 10)
def test_a_council_that_is_killed_and_started_again_strands_nobody_and_its_watcher_wakes(tmp_path):
    (tmp_path / "project").mkdir()

    async def story():
        role, run = await started(tmp_path / "home")
        await post(run, "create_project", folder=str(tmp_path / "project"))
        key = (await post(run, "create_agent", project_id=1, name="ann", rooms=[1]))["api_key"]
        before = Program(run["port"], key)
        cursor = json.loads(await before.says("wait_for_updates", timeout_s=1))["next_cursor"]
        stream, poll = await Stream.open(before, "GET"), asyncio.ensure_future(before.says("wait_for_updates", timeout_s=900))
        while len((await post(run, "list_connections"))[0]["connections"]) < 2:
            await post(run, "wait_for_changes", timeout_s=1)
        os.kill(role.pid, signal.SIGKILL)
        assert isinstance((await asyncio.gather(poll, return_exceptions=True))[0], Exception)
        stream.leave()
        role, run = await started(tmp_path / "home")
        again = Program(run["port"], key)
        await post(run, "create_thread", room=1, title="t", body="@ann", tag="FYI")
        assert [each["kind"] for each in json.loads(await again.says("wait_for_updates", cursor=cursor))["events"]] == ["thread.created"]
        told = json.loads(await again.says("whoami"))["staying_in_touch"]
        words = shlex.split(told["command"])
        assert told["available"] and Path(words[0]).is_absolute() and words[-2:] == ["--ws", "--once"]
        child = await asyncio.create_subprocess_exec(*words, cwd="/", stdout=asyncio.subprocess.PIPE,
                                                     env=clean_environment(RIVENDELL_KEY=key, RIVENDELL_URL=f"{run['url']}/mcp"))
        said, _ = await asyncio.wait_for(child.communicate(), WAIT_S)
        assert child.returncode == 0 and b"Threads needing you" in said and b"#1" in said
        assert await role.stop() == 0
    asyncio.run(asyncio.wait_for(story(), STORY_S))
