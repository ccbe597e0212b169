"""The wake socket over real sockets: who may open it, what it says and when, how it ends. Duty: the council surface, "Wake socket", "The wake rule"; closing at once is our decision."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

import pytest

from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.forum.socket import MISSED, WakeSocket
from rulith.net.client import HttpClient, NetFailed, UpgradeRefused
from rulith.net.websocket import Pace, WebSocket, connect
from rulith.procs.roles import RoleProcess
from tests.gateway.conftest import http
from tests.net.test_websocket import ASK, CLOSE, PING, PONG, frame, frames_of

WAIT_S = 30.0


class Listener:
    """One agent's socket, and what it heard."""

    def __init__(self, port: int, key: str, client: HttpClient) -> None:
        self.url, self.key, self.client = f"ws://127.0.0.1:{port}/ws", key, client

    async def __aenter__(self) -> Listener:
        self.socket = await connect(self.client, self.url, {"authorization": f"Bearer {self.key}"})
        return self

    async def __aexit__(self, *problem: object) -> None:
        self.socket.close()
        await self.socket.wait_lost()

    async def hears(self) -> dict:
        text = await asyncio.wait_for(self.socket.receive(), WAIT_S)
        assert text is not None, self.socket.ended
        return json.loads(text)

    async def ends(self) -> int:
        while await asyncio.wait_for(self.socket.receive(), WAIT_S) is not None:
            pass
        return self.socket.ended.code


class Room:
    """A served council with the agents ann and ben, and the person who acts in it."""

    def __init__(self, talk) -> None:
        self.talk, self.port, self.forum = talk, talk.council.port, talk.council.forum
        self.client = HttpClient(environ={})

    async def made(self) -> Room:
        self.keys, self.ids = {}, {}
        for name in ("ann", "ben"):
            made = await self.talk.does("create_agent", project_id=1, name=name, rooms=[1])
            self.keys[name], self.ids[name] = made["api_key"], made["agent_id"]
        return self

    def listens(self, name: str) -> Listener:
        return Listener(self.port, self.keys[name], self.client)

    async def opens(self, body: str = "@ann what now?") -> int:
        return (await self.talk.does("create_thread", room=1, title="A question", body=body, tag="FYI"))["thread_id"]

    def acts(self, name: str, act: str, /, **arguments):
        return self.forum.run(self.forum.authenticate(self.keys[name]), act, arguments)

    async def held(self, count: int) -> None:
        """Wait until the agents hold so many sockets."""
        while sum(len(each["connections"]) for each in await self.talk.does("list_connections")) != count:
            await asyncio.sleep(0.01)


@pytest.fixture
def room(served):
    def play(story) -> None:
        async def run(talk) -> None:
            made = await Room(talk).made()
            try:
                await story(made)
            finally:
                await made.client.close()
        served(run)
    return play


@pytest.mark.parametrize("key", ["", "nope", "rvd_onlyid", "rvd__x", "Bearer"])
def test_without_a_key_of_an_agent_the_answer_is_401_whatever_is_asked(room, key):
    async def story(talk):
        for ask in ({"upgrade": "websocket", "connection": "Upgrade"}, {}):
            for method in ("GET", "POST", "PUT"):
                answer = await http(talk.port, method, "/ws", [*ask.items(), ("authorization", f"Bearer {key}")])
                told = answer.json()
                assert answer.status == 401 and answer.headers["www-authenticate"] == 'Bearer realm="rivendell"'
                assert (told["error"]["code"], told["id"]) == (-32001, None)
        with pytest.raises(UpgradeRefused) as refused:
            await connect(talk.client, f"ws://127.0.0.1:{talk.port}/ws", {"authorization": key})
        assert refused.value.answer.status == 401
    room(story)


def test_with_a_key_what_is_no_websocket_gets_426_and_other_origins_403(room):
    async def story(talk):
        key = [("authorization", f"Bearer {talk.keys['ann']}")]
        assert (await http(talk.port, "GET", "/ws", key)).status == 426
        assert (await http(talk.port, "POST", "/ws", key, b"")).status == 426
        assert (await http(talk.port, "POST", "/ws", key, b"{}")).status == 413           # no body is waited for
        for foreign in (("origin", "https://page.example"), ("host", "rebound.example")):
            assert (await http(talk.port, "GET", "/ws", [*key, foreign])).status == 403
        assert (await http(talk.port, "GET", "/ws/", key)).status == 404
    room(story)


def test_what_was_waiting_is_told_on_connecting_and_nothing_where_nothing_was(room):
    async def story(talk):
        first, second = await talk.opens(), await talk.opens("@ann @ben and this?")
        await talk.opens("nobody is asked")
        async with talk.listens("ann") as ann, talk.listens("ben") as ben:
            told = await ann.hears()
            assert told["needs_you"] == [first, second] and told["reason"] and set(told) == {"needs_you", "reason"}
            assert (await ben.hears())["needs_you"] == [second]
            talk.acts("ann", "reply", thread_id=first, body="seen")
            talk.acts("ann", "reply", thread_id=second, body="seen")
        async with talk.listens("ann") as ann:
            third = await talk.opens("@ann again")          # the first thing it hears: nothing was waiting
            assert await ann.hears() == {"needs_you": [third], "events": [{"kind": "thread.created", "thread_id": third}]}
    room(story)


def test_each_event_of_another_that_wakes_is_one_frame(room):
    async def story(talk):
        async with talk.listens("ann") as ann:
            thread = await talk.opens()
            assert await ann.hears() == {"needs_you": [thread], "events": [{"kind": "thread.created", "thread_id": thread}]}
            await talk.talk.does("reply", thread_id=thread, body="and @ben?")
            kinds = [(await ann.hears())["events"][0]["kind"] for _ in range(2)]
            assert kinds == ["thread.mentioned", "message.created"]
            talk.acts("ann", "reply", thread_id=thread, body="my own words wake me not")
            talk.acts("ben", "claim_thread", thread_id=thread)                 # a courtesy wakes nobody
            unasked = await talk.opens("@ben only")
            talk.acts("ben", "reply", thread_id=unasked, body="done")
            message = talk.acts("ben", "reply", thread_id=thread, body="I think so")
            assert (await ann.hears()) == {"needs_you": [thread], "events": [{"kind": "message.created", "thread_id": thread}]}
            talk.acts("ben", "edit_message", message_id=message["message_id"], body="I know so")
            assert (await ann.hears())["events"][0]["kind"] == "message.edited"
    room(story)


def test_what_the_wake_rule_forbids_wakes_nobody(room):
    """A closed thread, a paused room, a full count of replies, another room: silence; the last frame proves that the socket was there."""
    async def story(talk):
        await talk.talk.does("update_room", id=1, max_replies_per_agent=1)
        closed, spoken = await talk.opens(), await talk.opens()
        talk.acts("ann", "reply", thread_id=spoken, body="my one reply")
        other = await talk.talk.does("create_room", project_id=1, name="other")
        async with talk.listens("ann") as ann:
            assert (await ann.hears())["needs_you"] == [closed]
            await talk.talk.does("set_thread_status", thread_id=closed, status="WONTFIX")
            await talk.talk.does("reply", thread_id=closed, body="after its end")
            await talk.talk.does("reply", thread_id=spoken, body="over your cap")
            await talk.talk.does("create_thread", room=other["id"], title="t", body="@ann in a room that is not yours", tag="FYI")
            await talk.talk.does("update_room", id=1, paused=True)
            await talk.opens("@ann while paused")
            await talk.talk.does("update_room", id=1, paused=False)
            last = await talk.opens("@ann now")
            assert (await ann.hears())["needs_you"] == [last]
    room(story)


@pytest.mark.parametrize("how", ["revoke", "rotate", "delete"])
def test_the_end_of_a_key_ends_its_sockets_at_once_and_frees_their_place(room, how):
    async def story(talk):
        live = talk.forum.mint_live(talk.ids["ann"])
        async with talk.listens("ann") as ann, talk.listens("ben") as ben, Listener(talk.port, live, talk.client) as run:
            await talk.held(3)
            if how == "revoke":
                await talk.talk.does("set_agent_revoked", id=talk.ids["ann"], revoked=True)
            elif how == "rotate":
                await talk.talk.does("rotate_agent_key", id=talk.ids["ann"])
            else:
                await talk.talk.does("delete_agent", id=talk.ids["ann"])
            assert [await ann.ends(), await run.ends()] == [1008, 1008]
            assert ann.socket.ended.reason
            await talk.held(1)
            with pytest.raises(UpgradeRefused):
                await connect(talk.client, ann.url, {"authorization": f"Bearer {ann.key}"})
            thread = await talk.opens("@ben you are still there")
            assert (await ben.hears())["needs_you"] == [thread]
    room(story)


def test_whatever_ends_an_agents_hold_on_the_bus_ends_its_sockets(room):
    async def story(talk):
        async with talk.listens("ann") as ann, talk.listens("ben"):
            await talk.held(2)
            talk.forum.bus.end(talk.ids["ann"])
            assert await ann.ends() == 1008
            await talk.held(1)
    room(story)


def test_a_run_whose_credential_is_dropped_is_heard_no_more(room):
    async def story(talk):
        live = talk.forum.mint_live(talk.ids["ann"])
        async with Listener(talk.port, live, talk.client) as run, talk.listens("ann") as ann:
            await talk.held(2)
            talk.forum.live.drop(live)
            thread = await talk.opens()
            assert await run.ends() == 1008 and (await ann.hears())["needs_you"] == [thread]
    room(story)


def test_presence_names_the_socket_while_it_is_held(room):
    async def story(talk):
        async with talk.listens("ann"):
            await talk.held(1)
            row, = await talk.talk.does("list_connections")
            assert row["name"] == "ann" and [each["kind"] for each in row["connections"]] == ["socket"] and row["rooms"] == ["general"]
        await talk.held(0)
    room(story)


def test_an_agent_holds_no_more_than_its_share(room):
    async def story(talk):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rulith.forum.presence.COUNCIL_HOLDS_MAX", 2)
            async with talk.listens("ann"), talk.listens("ann"), talk.listens("ben"):
                await talk.held(3)
                async with talk.listens("ann") as third:
                    assert await third.ends() == 1013
                await talk.held(3)
    room(story)


def test_what_happens_between_subscribing_and_looking_is_told(room, monkeypatch):
    """The window in which an event was once lost: it comes while the waiting set is read."""
    async def story(talk):
        plain, made = talk.forum.waiting_set, []

        def slow(agent_id):
            found = plain(agent_id)
            if not made:
                made.append(talk.acts("ben", "create_thread", title="meanwhile", body="@ann now", tag="FYI")["thread_id"])
            return found
        monkeypatch.setattr(talk.forum, "waiting_set", slow)
        async with talk.listens("ann") as ann:
            assert await ann.hears() == {"needs_you": made, "events": [{"kind": "thread.created", "thread_id": made[0]}]}
    room(story)


@pytest.mark.parametrize("drip", [False, True])
def test_a_client_of_any_make_is_served_and_what_it_says_is_not_read(room, drip):
    async def story(talk):
        thread = await talk.opens()
        ask = ASK.replace("\r\n\r\n", f"\r\nauthorization: bearer {talk.keys['ann']}\r\n\r\n").encode() + frame(1, b'{"hello": 1}') + frame(PING, b"?")
        reader, writer = await asyncio.open_connection("127.0.0.1", talk.port)
        for piece in ([ask[at:at + 1] for at in range(len(ask))] if drip else [ask]):
            writer.write(piece)
            await asyncio.sleep(0)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)
        assert head.startswith(b"HTTP/1.1 101 ") and b"access-control" not in head
        got = b""
        while len(frames_of_whole(got)) < 2:
            got += await asyncio.wait_for(reader.read(1_000), WAIT_S)
        first, second = sorted(frames_of_whole(got))
        assert json.loads(first[1])["needs_you"] == [thread] and second == (PONG, b"?")
        writer.write(frame(1, b"x" * 70_000))
        (kind, payload), = frames_of(await asyncio.wait_for(reader.read(1_000), WAIT_S))
        assert kind == CLOSE and payload[:2] == (1009).to_bytes(2, "big")
        writer.close()
        await talk.held(0)
    room(story)


def frames_of_whole(data: bytes) -> list[tuple[int, bytes]]:
    try:
        return [each for each in frames_of(data)] if _is_whole(data) else []
    except IndexError:
        return []


def _is_whole(data: bytes) -> bool:
    at = 0
    while at + 2 <= len(data):
        size, at = data[at + 1] & 127, at + 2
        if size == 126:
            size, at = int.from_bytes(data[at:at + 2], "big"), at + 2
        at += size
    return at == len(data)


def test_a_client_that_is_gone_without_a_word_is_let_go(room):
    async def story(talk):
        talk.talk.council.surfaces["/ws"] = WakeSocket(talk.forum, Pace(ping_s=0.05))
        ask = ASK.replace("\r\n\r\n", f"\r\nauthorization: Bearer {talk.keys['ann']}\r\n\r\n").encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", talk.port)
        writer.write(ask)
        await reader.readuntil(b"\r\n\r\n")
        await talk.held(1)
        assert {kind for kind, _ in frames_of(await asyncio.wait_for(reader.read(), WAIT_S))} == {PING}      # and then the end
        writer.close()
        await talk.held(0)
    room(story)


def test_a_burst_too_long_to_tell_one_by_one_is_told_as_the_waiting_set(room):
    async def story(talk):
        thread = await talk.opens("@ann @ben first")
        async with talk.listens("ann") as ann:
            assert (await ann.hears())["needs_you"] == [thread]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(talk.forum, "is_wakeable", lambda *_: pytest.fail("told one by one"))
                await talk.talk.does("update_room", id=1, max_thread_messages=1_000, max_replies_per_agent=1_000)
                for number in range(130):                       # in one turn of the loop: the socket sees all of it together
                    talk.acts("ben", "reply", thread_id=thread, body=f"word {number}")
                told = await ann.hears()
            assert told == {"needs_you": [thread], "reason": MISSED}
            later = await talk.opens("@ann later")
            assert (await ann.hears())["needs_you"] == [later]
    room(story)


@pytest.mark.parametrize("count", [3, 130])
def test_a_reader_that_takes_nothing_is_told_later_what_it_missed(room, monkeypatch, count):
    async def story(talk):
        made = []

        class Seen(WebSocket):
            def __init__(self, **options) -> None:
                super().__init__(**options)
                made.append(self)
        monkeypatch.setattr("rulith.forum.socket.WebSocket", Seen)
        thread = await talk.opens("@ann @ben first")
        await talk.talk.does("update_room", id=1, max_thread_messages=1_000, max_replies_per_agent=1_000)
        async with talk.listens("ann") as ann:
            assert (await ann.hears())["needs_you"] == [thread]
            made[0].pause_writing()
            for number in range(count):
                talk.acts("ben", "reply", thread_id=thread, body=f"word {number}")
                await asyncio.sleep(0)
            await talk.talk.does("list_rooms")                  # a whole request later, nothing was written all the same
            assert made[0]._transport.get_write_buffer_size() == 0 and not ann.socket._texts
            made[0].resume_writing()
            heard = [await ann.hears() for _ in range(count if count < 100 else 1)]
            assert all(each["needs_you"] == [thread] for each in heard) and ("reason" in heard[0]) == (count > 100)
    room(story)


def test_a_council_that_ends_says_so(served):
    async def story(talk):
        made = await Room(talk).made()
        ann = await made.listens("ann").__aenter__()
        await talk.council._server.close(drain_s=0.0)
        assert await ann.ends() == 1001
        await made.client.close()
    served(story)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_council_that_is_killed_cuts_its_sockets_and_the_next_one_tells_what_waits(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()

    async def start() -> tuple[RoleProcess, dict]:
        role = await RoleProcess.spawn("council", args=["serve", "--home", str(tmp_path / "home"), "--port", "0"], log_path=tmp_path / "council.log")
        await role.wait_for_event("listening", 60.0)
        return role, read_live(Home(tmp_path / "home").council_json)

    async def post(run: dict, name: str, /, **arguments) -> dict:
        answer = await http(run["port"], "POST", f"/api/{name}", {"authorization": f"Bearer {run['key']}"}, json.dumps(arguments).encode())
        assert answer.status == 200, answer.body
        return answer.json()["result"]

    async def story():
        client = HttpClient(environ={})
        role, run = await start()
        await post(run, "create_project", folder=str(folder))
        made = await post(run, "create_agent", project_id=1, name="ann", rooms=[1])
        async with Listener(run["port"], made["api_key"], client) as ann:
            thread = (await post(run, "create_thread", room=1, title="t", body="@ann?", tag="FYI"))["thread_id"]
            assert (await ann.hears())["needs_you"] == [thread]
            os.kill(role.pid, signal.SIGKILL)
            assert await ann.ends() == 1006
            with pytest.raises(NetFailed):
                await connect(client, ann.url, {"authorization": made["api_key"]}, timeout_s=10.0)
        await role.wait()
        role, run = await start()
        async with Listener(run["port"], made["api_key"], client) as ann:
            assert (await ann.hears())["needs_you"] == [thread]
        assert await role.stop() == 0
        await client.close()
    asyncio.run(asyncio.wait_for(story(), 110.0))
