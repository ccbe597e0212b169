"""The person's API over real HTTP: its key, its answers, its refusals. Duty: the council surface, "The person's side" and "HTTP and MCP transport"."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from rulith.forum import api
from rulith.forum.supervisor import Supervisor
from tests.conftest import ROOT
from tests.forum.conftest import KEY
from tests.gateway.conftest import http


def test_every_address_wants_this_runs_key_and_an_agents_key_is_none(served):
    async def story(talk):
        made = await talk.does("create_agent", project_id=1, name="ann", rooms=[1])
        for key in ("", "nope", made["api_key"], talk.council.forum.mint_live(made["agent_id"]), KEY[:-1], KEY + "x", "\xe9"):
            for name in ("list_projects", "nothing_such", "server_info"):
                answer = await talk.post(name, {}, authorization=f"Bearer {key}")
                assert (answer.status, answer.json()["errorCode"]) == (401, "council_key"), (key, name)
        assert (await http(talk.council.port, "GET", "/api/list_projects", {})).status == 401                  # the key before the method
        wrong = await http(talk.council.port, "GET", "/api/list_projects", {"authorization": KEY})
        assert wrong.status == 405 and wrong.headers["allow"] == "POST"
    served(story)


@pytest.mark.parametrize("headers", [{"host": "rebound.example"}, {"host": "127.0.0.1.example:80"}, {"origin": "https://page.example"}, {"origin": "null"},
                                     {"host": "127.0.0.1, rebound.example"}])
def test_another_name_or_page_gets_403_whatever_it_asks(served, headers):
    async def story(talk):
        for path in ("/health", "/api/list_projects", "/nowhere"):
            answer = await http(talk.council.port, "POST", path, {"authorization": f"Bearer {KEY}", **headers}, b"{}")
            assert (answer.status, answer.json()["errorCode"]) == (403, "council_foreign")
            assert not [name for name in answer.headers if name.startswith("access-control")]
    served(story)


def test_health_is_anyones_and_what_is_not_there_is_404(served):
    async def story(talk):
        port = talk.council.port
        health = await http(port, "GET", "/health", {"host": f"localhost:{port}", "origin": "http://localhost:3000"})
        assert (health.status, health.body) == (200, b"ok") and (await http(port, "POST", "/health", {}, b"")).status == 405
        for path in ("/", "/api", "/health/", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/authorize", "/API/list_projects"):
            assert (await http(port, "GET", path)).status == 404, path
        assert (await talk.is_refused("nothing_such"))[:2] == (404, "council_not_found")
        assert (await talk.is_refused("agents_of"))[0] == (await talk.is_refused("set_awake"))[0] == 404
    served(story)


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"7", b"null", b'{"a":1,"a":2}', b"\xff", b'{"a":NaN}', b"[" * 5000, b'{"cursor":1e999}'])
def test_a_body_that_is_no_object_is_refused_and_nothing_happens(served, body):
    async def story(talk):
        before = talk.council.forum.db.latest_seq()
        answer = await talk.post("events_since", body)
        assert answer.status == 400 and answer.json()["errorCode"] in ("bad_json", "number_out_of_range", "council_invalid")
        assert talk.council.forum.db.latest_seq() == before
    served(story)


def test_a_key_is_told_once_with_what_to_paste_where(served):
    async def story(talk):
        assert await talk.does("server_info") == {"url": talk.council.api.url, "mcp_url": f"{talk.council.api.url}/mcp", "listening": True}
        made = await talk.does("create_agent", project_id=1, name="ann", rooms=[1])
        again = await talk.does("rotate_agent_key", id=made["agent_id"])
        for told in (made, again):
            assert set(told) == {"agent_id", "api_key", "mcp_json", "claude_cli", "shim_json"}
            server = told["mcp_json"]["mcpServers"]["rivendell"]
            assert server == {"type": "http", "url": f"{talk.council.api.url}/mcp", "headers": {"Authorization": f"Bearer {told['api_key']}"}}
            assert told["api_key"] in told["claude_cli"] and told["shim_json"]["mcpServers"]["rivendell"]["env"]["RIVENDELL_KEY"] == told["api_key"]
        assert made["api_key"] != again["api_key"] and talk.council.forum.authenticate(made["api_key"]) is None
        shown = json.dumps([await talk.does("list_agents"), await talk.does("list_agents", room=1), await talk.does("events_since", cursor=0)])
        assert again["api_key"] not in shown and "key_hash" not in shown
    served(story)


def test_the_persons_lists_are_longer_than_an_agents(served):
    async def story(talk):
        for _ in range(55):
            await talk.does("create_thread", title="all the same", body="word", tag="FYI")
        assert len(await talk.does("list_threads")) == 55 and len(await talk.does("list_threads", limit=3)) == 3
        assert len(await talk.does("search", query="word")) == 40
    served(story)


def test_a_wait_for_changes_hears_of_events_and_of_connections(served):
    async def story(talk):
        forum = talk.council.forum
        quiet = await talk.does("wait_for_changes", timeout_s=0)
        assert quiet["events"] == [] and quiet["next_cursor"] == forum.db.latest_seq()
        waiting = asyncio.ensure_future(talk.does("wait_for_changes", cursor=quiet["next_cursor"], connections=quiet["connections"], timeout_s=50))
        await _subscribed(forum)
        await talk.does("create_room", project_id=1, name="other")
        heard = await waiting
        assert [event["kind"] for event in heard["events"]] == ["room.created"]
        made = await talk.does("create_agent", project_id=1, name="ann", rooms=[1])
        seen = await talk.does("wait_for_changes", timeout_s=0)
        waiting = asyncio.ensure_future(talk.does("wait_for_changes", cursor=seen["next_cursor"], connections=seen["connections"], timeout_s=50))
        await _subscribed(forum)
        with forum.presence.hold(made["agent_id"], "poll"):
            moved = await waiting
            assert moved["events"] == [] and moved["connections"] > seen["connections"]
            (row,) = await talk.does("list_connections")
            assert (row["name"], row["rooms"], row["project_name"], row["connections"][0]["kind"]) == ("ann", ["general"], "Shop", "poll")
        assert (await talk.does("list_connections"))[0]["connections"] == []
        assert (await talk.is_refused("wait_for_changes", timeout_s="soon"))[1] == "council_invalid"
    served(story)


async def _subscribed(forum) -> None:
    while not forum.bus._waiting:
        await asyncio.sleep(0.01)


def test_an_argument_that_nobody_reads_is_refused_by_every_act(served):
    """`revoke` for `revoked` must not revoke."""
    async def story(talk):
        agent = (await talk.does("create_agent", project_id=1, name="ann", rooms=[1]))["agent_id"]
        thread = (await talk.does("create_thread", title="t", body="b", tag="FYI", room=1))["thread_id"]
        message = (await talk.does("reply", thread_id=thread, body="b"))["message_id"]
        right = {"id": agent, "agent_id": agent, "room_id": 1, "thread_id": thread, "message_id": message, "project_id": 1, "name": "n", "folder": "/", "room": 1, "title": "t",
                 "body": "b", "tag": "FYI", "status": "OPEN", "summary": "s", "query": "b", "cursor": 0, "key": "k", "path": "."}
        before = talk.council.forum.db.latest_seq()
        for name in {*talk.council.forum.names, "server_info", "wait_for_changes"} - api.NOT_HERE:
            with_right = await talk.is_refused(name, **right, nobody_reads_this=1)
            assert with_right[:2] == (400, "council_invalid") and "is no argument here" in with_right[2], (name, with_right)
        assert talk.council.forum.db.latest_seq() == before and talk.council.forum.agent(agent)["revoked_at"] is None
    served(story)


def test_a_full_disk_is_said_and_nothing_half_is_kept(served):
    async def story(talk):
        db = talk.council.forum.db
        pages = db.value("PRAGMA page_count")
        db.one(f"PRAGMA max_page_count = {pages}")
        before, thread = db.latest_seq(), {"title": "t", "body": "x" * 60_000, "tag": "FYI", "room": 1}
        status, code, words = await talk.is_refused("create_thread", **thread)
        assert (status, code) == (503, "store_full") and words.startswith("The council's file could not be written"), words
        assert db.latest_seq() == before and await talk.does("list_threads") == []
        db.one("PRAGMA max_page_count = 1000000")
        assert (await talk.does("create_thread", **thread))["opened"] and len(await talk.does("search", query="t")) == 1
    served(story)


def test_the_page_of_documentation_names_every_act_and_no_other(council):
    page = (ROOT / "docs" / "council.md").read_text("utf-8").partition("| Act | Arguments |")[2]
    told = {name for row in page.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert told == {*council.forum.names, *Supervisor.ACTS, "server_info", "wait_for_changes"} - api.NOT_HERE
