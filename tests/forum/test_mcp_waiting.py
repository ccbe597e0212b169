"""Waiting over HTTP: polls with signs of life, cancellations, streams, and how each of them ends. Duty: the council surface, "wait_for_updates", "Prompts, resources, stream", "Keys and credentials"."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sqlite3
import sys

import pytest

from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_HOLDS_MAX
from rulith.forum import diff, mcp, mcp_streams
from rulith.procs.identity import is_running
from rulith.wire import mcp_stateless
from tests.forum.conftest import Program, Served, Stream
from tests.forum.test_mcp import ENVELOPE, program

LONG_S = 900


def wait_call(request_id: object = 1, token: object = None, **arguments) -> dict:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": "wait_for_updates", "arguments": {"timeout_s": LONG_S, **arguments}, **meta}}


async def opens(talk: Served, body: str = "@ann what now?", room: int = 1) -> int:
    return (await talk.does("create_thread", room=room, title="A question", body=body, tag="FYI"))["thread_id"]


async def connections(talk: Served) -> list[str]:
    """The kinds of connection that agents hold."""
    return [each["kind"] for row in await talk.does("list_connections") for each in row["connections"]]


async def until(talk: Served, held: list[str]) -> None:
    """Return once agents hold exactly these, as the person's feed tells."""
    known = 0
    while sorted(await connections(talk)) != sorted(held):
        known = (await talk.does("wait_for_changes", connections=known, timeout_s=50))["connections"]


async def polls(talk: Served, agent: Program, call: dict | None = None, **headers: str) -> asyncio.Task:
    """A poll that is held."""
    before = await connections(talk)
    task = asyncio.ensure_future(agent.send(call or wait_call(), **headers))
    await until(talk, [*before, "poll"])
    return task


@pytest.fixture
def quick(monkeypatch):
    """Signs of life come at once."""
    for room in (mcp, mcp_streams):
        monkeypatch.setattr(room, "COUNCIL_SIGN_S", 0.01)


# --- polls -------------------------------------------------------------------------------


def test_a_poll_is_silent_until_its_one_answer_and_is_seen_while_it_waits(served):
    async def story(talk):
        agent = await program(talk)
        task = await polls(talk, agent)
        (row,) = await talk.does("list_connections")
        assert (row["name"], row["project_name"], row["rooms"], row["connections"][0]["kind"]) == ("ann", "Shop", ["general"], "poll")
        assert (await agent.ask("ping"))["result"] == {}                # other requests are answered meanwhile
        thread = await opens(talk)
        answer = await task
        told = answer.json()["result"]["structuredContent"]
        assert answer.headers["content-type"] == "application/json" and told["needs_you"] == [thread]
        await until(talk, [])
    served(story)


def test_a_client_that_asked_for_progress_gets_it_rising_and_then_its_answer(served, quick):
    async def story(talk):
        agent = await program(talk)
        stream = await Stream.open(agent, "POST", wait_call(7, token="t-1"))
        assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
        for step in (1, 2, 3):
            assert await stream.next() == {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t-1", "progress": step}}
        thread = await opens(talk)
        while (told := await stream.next()) and "method" in told:
            pass
        assert told["id"] == 7 and told["result"]["structuredContent"]["needs_you"] == [thread] and await stream.next() is None
        stateless = wait_call(8, token=0)
        stateless["params"]["_meta"].update(ENVELOPE)
        other = await Stream.open(agent, "POST", stateless, mcp_protocol_version=mcp_stateless.DATE, mcp_method="tools/call", mcp_name="wait_for_updates")
        assert (await other.next())["params"] == {"progressToken": 0, "progress": 1}
        await opens(talk)
        while (told := await other.next()) and "method" in told:
            pass
        assert told["result"]["resultType"] == "complete"
    served(story)


def test_a_client_that_takes_streams_only_gets_comments_and_its_answer(served, quick):
    async def story(talk):
        agent = await program(talk)
        stream = await Stream.open(agent, "POST", wait_call(), accept="text/event-stream")
        await until(talk, ["poll"])
        await opens(talk)
        assert (await stream.next())["result"]["structuredContent"]["events"]
        while await stream.next():
            pass
        assert stream.raw.startswith((b": rivendell\n\n", b"event: message\n"))
        assert (await Stream.open(agent, "POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_threads", "_meta": {"progressToken": 1}}})).headers[
            "content-type"] == "text/event-stream"
    served(story)


def test_a_cancellation_ends_the_wait_of_its_id_and_key_and_no_other(served, quick):
    async def story(talk):
        ann, bob = await program(talk), await program(talk, "bob")
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5, "reason": "enough"}}
        mine, text, other = [await polls(talk, *each) for each in ((ann, wait_call(5)), (ann, wait_call("5")), (bob, wait_call(5)))]
        stream = await Stream.open(ann, "POST", wait_call(5, token="t"))
        assert (await stream.next())["method"] == "notifications/progress"
        assert (await ann.send(cancel)).status == 202
        told = (await mine).json()["result"]["structuredContent"]
        assert (told["events"], told["needs_you"]) == ([], [])
        while (last := await stream.next()) and "method" in last:
            pass
        assert last["id"] == 5 and await stream.next() is None
        await until(talk, ["poll", "poll"])
        for odd in ({}, {"requestId": None}, {"requestId": [1]}, {"requestId": 99}):
            assert (await ann.send({**cancel, "params": odd})).status == 202
        assert not text.done() and not other.done()
        await opens(talk)
        for each in (text, other):
            assert (await each).json()["result"]["structuredContent"]["events"]
    served(story)


def test_a_call_and_its_cancellation_that_arrive_together_end_together(served):
    async def story(talk):
        agent = await program(talk)
        answer = await agent.send([wait_call(5), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}])
        (told,) = answer.json()
        assert told["id"] == 5 and told["result"]["structuredContent"]["events"] == []
    served(story)


async def _says(agent: Program, call: dict) -> asyncio.StreamWriter:
    """Send a call and read nothing."""
    _, writer = await asyncio.open_connection("127.0.0.1", agent.port)
    body = json.dumps(call).encode()
    rows = {"host": "127.0.0.1", "content-length": str(len(body)), **agent.headers()}
    writer.write(b"POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in rows.items()).encode() + b"\r\n" + body)
    return writer


@pytest.mark.parametrize("token", [None, "t"])
def test_a_client_that_hangs_up_holds_nothing_any_more(served, quick, token):
    async def story(talk):
        agent = await program(talk)
        if token is None:
            writer = await _says(agent, wait_call())
            await until(talk, ["poll"])
            writer.close()
        else:
            stream = await Stream.open(agent, "POST", wait_call(1, token=token))
            assert await stream.next()
            stream.leave()
        await until(talk, [])
        await agent.ask("ping")                          # a turn of the loop later
        assert not talk.council.mcp._running and not talk.council.forum.bus._waiting
    served(story)


def test_one_agent_holds_no_more_than_it_may(served):
    async def story(talk):
        agent = await program(talk)
        tasks = [asyncio.ensure_future(agent.send(wait_call(number))) for number in range(COUNCIL_HOLDS_MAX)]
        await until(talk, ["poll"] * COUNCIL_HOLDS_MAX)
        result = await agent.call("wait_for_updates", timeout_s=1)
        assert result["isError"] and result["structuredContent"]["errorCode"] == "council_holds" and result["content"][0]["text"].startswith("limit reached: ")
        stream = await Stream.open(agent, "GET")
        assert stream.status == 409 and await (await program(talk, "bob")).says("wait_for_updates", cursor=0)
        await opens(talk)
        assert [answer.status for answer in await asyncio.gather(*tasks)] == [200] * COUNCIL_HOLDS_MAX
    served(story)


# --- the stream --------------------------------------------------------------------------


def test_the_stream_tells_each_event_of_others_in_ones_rooms_twice_and_nothing_else(served):
    async def story(talk):
        agent = await program(talk)
        other = (await talk.does("create_room", project_id=1, name="other"))["id"]
        stream = await Stream.open(agent, "GET", accept="text/event-stream")
        assert (stream.status, stream.headers["content-type"], stream.headers["cache-control"]) == (200, "text/event-stream", "no-store")
        await until(talk, ["stream"])
        await opens(talk, room=other)
        await talk.does("update_room", id=1, purpose="of no thread")
        await agent.says("create_thread", title="mine", body="b", tag="FYI")
        thread = await opens(talk)
        first, second = await stream.event(), await stream.event()
        assert stream.raw.startswith(b": rivendell\n\n") and first.data == f'{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"rivendell://thread/{thread}"}}}}'
        assert first.id is None and second.id == str(talk.council.forum.db.latest_seq())
        stream.leave()
        again = await Stream.open(agent, "GET", accept="text/event-stream", last_event_id=str(int(second.id) - 1))
        assert (await again.next())["params"]["uri"] == f"rivendell://thread/{thread}"
        told = (await again.next())["params"]
        assert (told["level"], told["logger"], told["data"]["kind"], told["data"]["thread_id"]) == ("info", "rivendell", "thread.created", thread)
        await agent.says("reply", thread_id=thread, body="mine again")
        await talk.does("reply", thread_id=thread, body="theirs")
        await again.next()
        assert (await again.next())["params"]["data"]["payload"]["message_id"] == 2
    served(story)


def test_a_quiet_stream_shows_signs_of_life_and_one_that_takes_none_is_told_so(served, quick):
    async def story(talk):
        agent = await program(talk)
        stream = await Stream.open(agent, "GET")
        while stream.raw.count(b": rivendell\n\n") < 3:
            size = int((await stream._reader.readline()), 16)
            stream.raw += (await stream._reader.readexactly(size + 2))[:-2]
        assert (await Stream.open(agent, "GET", accept="application/json")).status == 406
        for accept in ("*/*", "application/json, text/event-stream"):
            assert (await Stream.open(agent, "GET", accept=accept, last_event_id="no number")).status == 200
    served(story)


def test_a_blind_round_is_blind_on_the_stream(served):
    async def story(talk):
        ann, bob = await program(talk), await program(talk, "bob")
        stream = await Stream.open(ann, "GET")
        await until(talk, ["stream"])
        thread = (await talk.does("create_thread", room=1, title="t", body="@ann @bob", tag="PERF", blind=True))["thread_id"]
        await bob.says("reply", thread_id=thread, body="slow", verdict="CONFIRMED", severity="HIGH")
        told = [await stream.next() for _ in range(4)][3]["params"]["data"]
        assert told["kind"] == "message.created" and (told["payload"]["verdict"], told["payload"]["severity"]) == (None, None)
    served(story)


def test_2026_07_28_listens_to_the_threads_it_names(served):
    async def story(talk):
        agent = await program(talk)
        threads = [await opens(talk) for _ in range(2)]
        wanted = {"resourceSubscriptions": [f"rivendell://thread/{threads[1]}", "file:///x", 7], "toolsListChanged": True}
        params = {"notifications": wanted, "_meta": ENVELOPE}
        rows = {"mcp_protocol_version": mcp_stateless.DATE, "mcp_method": "subscriptions/listen"}
        stream = await Stream.open(agent, "POST", {"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params}, **rows)
        mark = {mcp_stateless.SUBSCRIPTION_KEY: "s"}
        assert await stream.next() == {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                                       "params": {"notifications": {"resourceSubscriptions": [f"rivendell://thread/{threads[1]}"]}, "_meta": mark}}
        for thread in threads:
            await talk.does("reply", thread_id=thread, body="moved")
        assert await stream.next() == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": f"rivendell://thread/{threads[1]}", "_meta": mark}}
        answer = await agent.send({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": ENVELOPE}},
                                  **{"mcp-protocol-version": mcp_stateless.DATE, "mcp-method": "subscriptions/listen"})
        assert (answer.status, answer.json()["error"]["code"]) == (400, -32602)
        await talk.does("set_agent_revoked", id=2, revoked=True)
        assert await stream.next() is None
    served(story)


# --- looks ---------------------------------------------------------------------------------


def look_call(request_id: object, token: object = None) -> dict:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": "git_diff", "arguments": {}, **meta}}


@pytest.fixture
def endless_git(tmp_path, monkeypatch):
    """Install a git that tells its process and never ends; returns where it tells it."""
    def install():
        (tmp_path / "bin").mkdir()
        git, mark = tmp_path / "bin" / "git", tmp_path / "pid"
        git.write_text(f"#!/bin/sh\necho $$ > '{mark}'\nexec '{shutil.which('sleep')}' 600\n")
        git.chmod(0o755)
        monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr(diff, "GIT_S", 500.0)
        return mark
    return install


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("ending", ["cancelled", "hung up", "hung up on the stream"])
def test_a_look_that_is_cancelled_or_whose_client_goes_ends_with_its_git(served, quick, endless_git, ending):
    async def story(talk):
        agent, mark = await program(talk), endless_git()
        stream = await Stream.open(agent, "POST", look_call(5, token="t")) if ending == "hung up on the stream" else None
        task = asyncio.ensure_future(agent.send(look_call(5))) if ending == "cancelled" else None
        writer = await _says(agent, look_call(5)) if ending == "hung up" else None
        while not (mark.exists() and mark.read_text().endswith("\n")):
            await asyncio.sleep(0.005)
        pid = int(mark.read_text())
        assert is_running(pid)
        if ending == "cancelled":
            assert (await agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})).status == 202
            result = (await task).json()["result"]
            assert result["isError"] and result["structuredContent"]["errorCode"] == "council_cancelled"
        elif stream is not None:
            stream.leave()
        else:
            writer.close()
        while is_running(pid) or talk.council.mcp._running or not talk.council.forum.beside._slots.is_idle():
            await asyncio.sleep(0.005)
        assert await talk.does("file_access") == []              # it found nothing, so nothing was looked at
    served(story)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_a_look_and_its_cancellation_that_arrive_together_start_no_git(served, endless_git):
    async def story(talk):
        agent, mark = await program(talk), endless_git()
        answer = await agent.send([look_call(5), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}])
        (told,) = answer.json()
        assert told["id"] == 5 and told["result"]["structuredContent"]["errorCode"] == "council_cancelled"
        assert not mark.exists() and not talk.council.mcp._running
    served(story)


# --- how they end ------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["set_agent_revoked", "rotate_agent_key", "delete_agent"])
def test_polls_and_streams_end_at_once_with_their_key(served, quick, ending):
    async def story(talk):
        ann, bob = await program(talk), await program(talk, "bob")
        live = Program(ann.port, talk.council.forum.mint_live(2))
        poll, run, other = await polls(talk, ann), await polls(talk, live, wait_call(2, watcher=True)), await polls(talk, bob)
        streams = [await Stream.open(ann, "GET"), await Stream.open(ann, "POST", wait_call(3, token=1))]
        await until(talk, ["poll"] * 4 + ["stream"])
        await talk.does(ending, id=2)
        for task in (poll, run):
            result = (await task).json()["result"]
            assert result["isError"] and result["content"][0]["text"].startswith("forbidden: ") and result["structuredContent"]["errorCode"] == "council_revoked"
        assert await streams[0].next() is None
        while (last := await streams[1].next()) and "method" in last:
            pass
        assert last["result"]["isError"]
        await until(talk, ["poll"])
        assert [(await each.send(wait_call())).status for each in (ann, live)] == [401, 401] and not other.done()
        assert (await Stream.open(ann, "GET")).status == 401
        await opens(talk)
        assert (await other).status == 200
    served(story)


def test_who_is_revoked_on_a_full_disk_is_cut_off_all_the_same_and_it_is_said_what_is_not_kept(served, quick, monkeypatch):
    async def story(talk):
        ann, bob, db = await program(talk), await program(talk, "bob"), talk.council.forum.db
        live = Program(ann.port, talk.council.forum.mint_live(2))
        poll, other = await polls(talk, ann), await polls(talk, bob)
        stream = await Stream.open(ann, "GET")
        await until(talk, ["poll", "poll", "stream"])
        with monkeypatch.context() as full:
            full.setattr(db, "update", _full)
            status, code, said = await talk.is_refused("set_agent_revoked", id=2)
            assert (status, code) == (503, "council_revoked_for_now") and "ann" in said and "the disk is full" in said and "ends" in said, said
            assert (await poll).json()["result"]["structuredContent"]["errorCode"] == "council_revoked"
            while await stream.next() is not None:
                pass
            await until(talk, ["poll"])
            assert [(await each.send(wait_call())).status for each in (ann, live)] == [401, 401] and not other.done()
            with pytest.raises(Refused) as refusal:
                talk.council.forum.mint_live(2)
            assert refusal.value.code == "council_revoked"
            assert (await talk.is_refused("set_agent_revoked", id=2, revoked=False))[1] == "store_full" and (await ann.send(wait_call())).status == 401
        assert talk.council.forum.agent(2)["revoked_at"] is None
        assert (await talk.does("set_agent_revoked", id=2))["revoked_at"] and (await ann.send(wait_call())).status == 401
        assert (await talk.does("set_agent_revoked", id=2, revoked=False))["revoked_at"] is None
        assert (await ann.ask("ping"))["result"] == {}
        other.cancel()
    served(story)


def _full(*_, **__):
    raise sqlite3.OperationalError("database or disk is full")


def test_a_run_that_the_council_started_waits_at_most_for_its_quarter_of_a_minute(served):
    async def story(talk):
        agent = await program(talk)
        live = Program(agent.port, talk.council.forum.mint_live(2))
        loop, seen = asyncio.get_running_loop(), []
        call_at = loop.call_at

        def noted(when, *rest, **named):
            seen.append(when - loop.time())
            return call_at(when, *rest, **named)

        loop.call_at = noted
        task = await polls(talk, live)
        assert not [delay for delay in seen if 60 < delay]                   # no timer of 900 seconds was set
        await opens(talk)
        told = (await task).json()["result"]["structuredContent"]
        assert told["then"] == "Deal with these and end your run; do not wait for more."
    served(story)


def test_clients_that_come_and_go_in_any_order_leave_nothing_held(served, quick):
    """Twelve agents in one seeded order: polls, streams, halves of requests, resets, cancellations, garbage, keys that turn."""
    rng = random.Random(7)

    async def live(talk: Served, agent: Program, agent_id: int) -> None:
        for _ in range(6):
            way = rng.choice(["poll", "signs", "stream", "reset", "half", "cancel", "act", "batch", "garbage", "rotate"])
            try:
                if way == "poll":
                    await agent.send(wait_call(rng.randrange(5), timeout_s=1))
                elif way == "batch":
                    await agent.send([wait_call(number, timeout_s=1) for number in range(4)])
                elif way in ("signs", "stream"):
                    stream = await (Stream.open(agent, "GET") if way == "stream" else Stream.open(agent, "POST", wait_call(rng.randrange(5), token="t")))
                    stream.leave()
                elif way in ("reset", "half"):
                    reader, writer = await asyncio.open_connection("127.0.0.1", agent.port)
                    body = json.dumps(wait_call(1)).encode()
                    head = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {agent.key}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
                    writer.write(head + body[:rng.randrange(len(body) + 1)] if way == "reset" else head + body)
                    if way == "half":
                        writer.write_eof()
                        await reader.read()
                    writer.transport.abort()
                elif way == "cancel":
                    await agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": rng.randrange(5)}})
                elif way == "act":
                    await agent.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "create_thread", "arguments": {"title": "t", "body": "@everyone", "tag": "FYI"}}})
                elif way == "garbage":
                    await agent.send(rng.randbytes(50))
                else:
                    agent.key = (await talk.does("rotate_agent_key", id=agent_id))["api_key"]
            except (ConnectionError, asyncio.IncompleteReadError):
                pass                                        # its key turned meanwhile, or it had left itself

    async def story(talk):
        agents = [await program(talk, f"a{number}") for number in range(12)]
        await asyncio.gather(*(live(talk, agent, number + 2) for number, agent in enumerate(agents)))
        await until(talk, [])
        assert all([await agent.says("list_agents") for agent in agents])
        assert not talk.council.mcp._running and not talk.council.forum.bus._waiting
    served(story)
