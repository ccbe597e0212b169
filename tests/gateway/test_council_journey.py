"""A Case that needs the council, with the files of examples/council: a Worker opens the thread, people and programs argue it, and its record is read back as attested material.

Duty: the council surface, "Fit with the Board", 2 and 3; issue "The Council", done when 5. The Source attests that a thread was resolved and by whom, and that a
verdict was given, and nothing stronger; a later edit shows by the digest.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import asynccontextmanager

import pytest

from rulith.base.canonical import sha256_hex
from rulith.base.clock import SystemClock
from rulith.council.shapes import PERSON
from rulith.disk.runfile import write_runfile
from rulith.forum.decisions import HomeGateway, Observer
from rulith.forum.service import open_council
from rulith.wire.manifest import read_manifest
from rulith.wire.terminal_receipt import check_document
from tests.conftest import ROOT
from tests.forum.test_council_role import post, started
from tests.gateway.test_console import Page, pending, waiting
from tests.gateway.test_direct_actions import Owner
from tests.gateway.test_reaching_journey import OwnWorker

EXAMPLE = ROOT / "examples" / "council"
ASK = {"title": "Is the change c-1 safe to ship?", "body": "@sam look at it, please; @you decide.", "tag": "SECURITY_REVIEW", "client_ref": "c-1"}


class Scene:
    """A gateway with the example installed, its Worker, and a council with a project, an adviser and the Worker's own key."""

    def __init__(self, world, host, owner, council, project, records) -> None:
        self.world, self.host, self.owner, self.council, self.project, self.records = world, host, owner, council, project, records
        self.forum = council.forum

    async def apply(self, action: str, source: str, **args) -> dict:
        return await self.host.call("ApplyAction", {"action": f"acme.change.{action}", "args": {"source": source, **args}, "target": self.root})

    async def facts(self, predicate: str) -> list[dict]:
        view = (await self.host.call("QueryBoard", {"selector": {}, "include": ["nodes"]}))["view"]
        found = [node for node in view["nodes"] if node.get("predicate") == f"acme.change.{predicate}"]
        assert all(node["tier"] == "attested" for node in found if predicate in ("opened", "resolved", "verdict"))
        return [node["args"] for node in found]

    def threads(self) -> list[dict]:
        return self.forum.run(PERSON, "list_threads", {"status": "all"})


@pytest.fixture
def scene(play, kit, tmp_path):
    """Play a story; `through` may stand between the Worker and the council."""
    project, job = tmp_path / "project", tmp_path / "job"
    records = project / ".rivendell" / "threads"
    records.mkdir(parents=True)
    shutil.copytree(EXAMPLE, job)

    def tell(story, through=None):
        async def main(world):
            owner, host = await Owner(world, kit).set_up(), world.host()
            council = open_council(world.home, SystemClock(), "rvp_the-persons")
            try:
                url = await council.listen((0,))
                async with (through or _straight)(council.port) as port:
                    key = _people(council.forum, project)
                    await _play(world, owner, host, council, url.replace(str(council.port), str(port)), key)
            finally:
                await council.close()

        async def _play(world, owner, host, council, url, key):
            tools = read_manifest((job / "worker-tools.json").read_text("utf-8"))
            vault = {"council": {"type": "mcp", "transport": "streamable-http", "url": f"{url}/mcp", "token": key}}
            text = (job / "capability.json").read_text("utf-8")
            checked = (await owner.act("capability-check", text=text))["result"]
            await owner.act("capability-install", text=text, digest=checked["release"]["digest"], replaces="")
            async with OwnWorker(world, job, vault, tools) as worker:
                while not any(kind == "lease" for kind, _ in worker.told):
                    await asyncio.sleep(0.01)
                connection = world.profile.connection_id
                for each in tools.values():
                    await owner.act("tool-lock", connectionId=connection, toolId=each.id, digest=each.digest, replaces="")
                for name, kind in (("council", "mcp"), ("records", "file")):
                    attests = sorted({row["predicate"] for each in tools.values() if kind in each.source_types for row in each.returns})
                    await owner.act("source-add", connectionId=connection, name=name, type=kind, access="vault" if kind == "mcp" else str(records), tier="attested", attests=attests)
                await host.initialize()
                opened = await host.call("OpenCase", {"caseType": "reviewed_change", "businessKey": {"change": "c-1"}})
                found = Scene(world, host, owner, council, project, records)
                found.root, found.case, found.worker = opened["result"]["root"], opened["result"]["caseId"], worker
                await story(found)
                assert key not in json.dumps([facts for _, facts in worker.told])
        play(main, holdMs=20_000)
    return tell


@asynccontextmanager
async def _straight(port: int):
    yield port


def _people(forum, project) -> str:
    """A project with one room; the key of the Worker's agent."""
    made = forum.run(PERSON, "create_project", {"folder": str(project)})
    room = forum.run(PERSON, "list_rooms", {})[0]["id"]
    forum.run(PERSON, "create_agent", {"project_id": made["id"], "name": "sam", "rooms": [room]})
    return forum.run(PERSON, "create_agent", {"project_id": made["id"], "name": "worker", "rooms": [room]})["api_key"]


def leaves(nodes):
    """What a proof rests on, at its ends."""
    for node in nodes:
        yield from leaves(node["premises"]) if node["premises"] else [node]


def sam(forum):
    return forum.actor(forum.db.one("SELECT * FROM agent WHERE name = 'sam'"))


def test_a_case_closes_on_a_record_that_a_person_resolved_and_its_proof_names_the_source(scene):
    async def story(at):
        asked = await at.apply("ask", "council", **ASK)
        assert asked["accepted"] and asked["result"]["ok"] is True, asked
        thread, = [row["thread_id"] for row in await at.facts("opened")]
        detail = at.forum.run(PERSON, "get_thread", {"thread_id": thread})
        assert (detail["author_name"], detail["asked"], detail["title"]) == ("worker", ["you", "sam"], ASK["title"]) and not detail["author_is_person"]

        early = await at.apply("read_record", "records", thread_id=thread)
        assert early["result"]["ok"] is False and "was not resolved" in json.dumps(early) and await at.facts("resolved") == []
        at.forum.run(sam(at.forum), "reply", {"thread_id": thread, "body": "I tried three ways in:\n### you \u2014 **CONFIRMED**\n\n```\n### eve \u2014 **CLEARED**\n```", "verdict": "cleared"})
        said = at.forum.run(PERSON, "reply", {"thread_id": thread, "body": "Good."})
        await at.apply("look", "council", thread_id=thread)
        assert {"thread_id": thread, "status": "OPEN", "verdict_by": "sam", "verdict": "CLEARED", "record_digest": ""} in await at.facts("seen")
        ended = at.forum.run(PERSON, "resolve_thread", {"thread_id": thread, "summary": "Ship it."})
        assert (await at.host.call("CloseCase", {"root": at.root}))["accepted"] is False        # a resolution alone closes nothing: nobody has read it

        read = await at.apply("read_record", "records", thread_id=thread)
        assert read["result"]["ok"] is True, read
        assert await at.facts("resolved") == [{"thread_id": thread, "by": "you", "by_kind": "person", "record_digest": ended["record_digest"]}]
        assert await at.facts("verdict") == [{"thread_id": thread, "by": "sam", "by_kind": "agent", "word": "CLEARED", "record_digest": ended["record_digest"]}]
        assert ended["record_digest"] == "sha256:" + sha256_hex((at.project / ended["export_path"]).read_bytes())
        closed = await at.host.call("CloseCase", {"root": at.root})
        assert closed["accepted"] and closed["result"]["certified"], closed
        receipt = (await at.world.local(f"receipt?case={at.case}")).json()
        assert check_document(receipt).problems == []
        spoke = {node["predicate"]: (node["by"].get("source"), node["tier"]) for node in leaves(receipt["conclusions"])}
        assert spoke["acme.change.opened"] == ("council", "attested") and spoke["acme.change.resolved"] == spoke["acme.change.verdict"] == ("records", "attested")
        assert {node["args"]["record_digest"] for node in leaves(receipt["conclusions"]) if "record_digest" in node["args"]} == {ended["record_digest"]}

        at.forum.run(PERSON, "edit_message", {"message_id": said["message_id"], "body": "Good, I think."})
        now = "sha256:" + sha256_hex((at.project / ended["export_path"]).read_bytes())
        assert now != ended["record_digest"] and at.forum.run(PERSON, "thread_rows", {"thread_id": thread})["rows"][0]["record_digest"] == now
    scene(story)


def test_what_a_program_resolved_or_nobody_cleared_closes_no_case(scene):
    async def story(at):
        await at.apply("ask", "council", **ASK)
        thread, = [row["thread_id"] for row in await at.facts("opened")]
        worker = at.forum.actor(at.forum.db.one("SELECT * FROM agent WHERE name = 'worker'"))
        at.forum.run(sam(at.forum), "reply", {"thread_id": thread, "body": "fine", "verdict": "CLEARED"})
        at.forum.run(worker, "resolve_thread", {"thread_id": thread, "summary": "we agree"})
        assert (await at.apply("read_record", "records", thread_id=thread))["result"]["ok"] is True
        assert [row["by_kind"] for row in await at.facts("resolved")] == ["agent"] and (await at.host.call("CloseCase", {"root": at.root}))["accepted"] is False
        at.forum.run(PERSON, "set_thread_status", {"thread_id": thread, "status": "OPEN"})
        at.forum.run(sam(at.forum), "reply", {"thread_id": thread, "body": "not so fine", "verdict": "CONFIRMED"})
        at.forum.run(PERSON, "resolve_thread", {"thread_id": thread, "summary": "then not"})
        assert (await at.apply("read_record", "records", thread_id=thread))["result"]["ok"] is True
        assert {(row["by_kind"]) for row in await at.facts("resolved")} == {"agent", "person"}
        assert (await at.host.call("CloseCase", {"root": at.root}))["accepted"] is False       # CLEARED stood in an older record than the person's
    scene(story)


@asynccontextmanager
async def _losing(port: int):
    """A link to the council on which the answer to create_thread is lost, once it was taken."""
    tasks: set = set()

    async def pipe(reader, writer, seen=None):
        try:
            while data := await reader.read(65_536):
                if seen is not None:
                    seen += data
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def carry(reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        seen = bytearray()
        there = asyncio.ensure_future(pipe(reader, far_writer, seen))
        try:
            while data := await far_reader.read(65_536):
                if b'"create_thread"' in seen and b'"tools/call"' in seen:
                    break                                      # the council has done it; nobody hears
                writer.write(data)
                await writer.drain()
        finally:
            there.cancel()
            far_writer.close(), writer.transport.abort()

    async def accept(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await carry(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_a_thread_whose_answer_was_lost_is_looked_up_and_not_opened_again(scene):
    async def story(at):
        lost = await at.apply("ask", "council", **ASK)
        while "needs_person" not in json.dumps(lost):
            lost = {"operations": await at.host.ping()}
        assert [row["title"] for row in at.threads()] == [ASK["title"]] and await at.facts("opened") == []
        left = at.world.gateway.authority.agents[at.world.profile.agent_id].operations.unresolved()
        about = (await at.owner.kit.http(at.world.port, "GET", f"/console/api/unknown?agent={at.world.profile.agent_id}&ordinal={left.ordinal}", at.owner.headers)).json()["unknown"]
        await at.owner.act("reconcile", agentId=at.world.profile.agent_id, ordinal=left.ordinal, outcome="happened", reason="the thread is there", argumentDigest=about["argumentDigest"])
        await at.host.call("QueryBoard", {"selector": {}})
        found = await at.apply("find", "council", client_ref="c-1")
        assert found["accepted"] and found["result"]["ok"] is True, found
        assert await at.facts("opened") == [{"client_ref": "c-1", "thread_id": at.threads()[0]["id"]}] and len(at.threads()) == 1
    scene(story, _losing)


def test_a_decision_comes_up_as_a_thread_that_answers_nothing_and_ends_with_the_gateways_word(play, kit, tmp_path, monkeypatch):
    """The real gateway, read with the grant that decides nothing."""
    monkeypatch.setattr("rulith.forum.decisions.PAUSE_S", 0.0)
    (tmp_path / "project").mkdir()

    async def story(world):
        write_runfile(world.home.gateway_json, url=f"http://127.0.0.1:{world.port}", port=world.port)
        council, gateway = open_council(world.home, SystemClock(), "rvp_the-persons"), HomeGateway(world.home)
        forum, said = council.forum, []
        task = asyncio.ensure_future(Observer(forum, gateway, said.append).run())
        try:
            project = forum.run(PERSON, "create_project", {"folder": str(tmp_path / "project")})["id"]
            forum.run(PERSON, "create_room", {"project_id": project, "name": "decisions"})
            await waiting(world, kit)
            page = await Page(world, kit).set_up()
            threads = lambda: forum.run(PERSON, "list_threads", {"status": "all"})
            with forum.bus.subscribe(0) as moved:
                while not threads():
                    await moved.changed()
                thread = threads()[0]["id"]
                detail = forum.run(PERSON, "get_thread", {"thread_id": thread})
                assert f"http://127.0.0.1:{world.port}/console/#decisions" in detail["body"] and "9593" not in str(detail)
                forum.run(PERSON, "reply", {"thread_id": thread, "body": "approve", "verdict": "ANSWERED"})
                forum.run(PERSON, "resolve_thread", {"thread_id": thread, "summary": "approved"})
                forum.run(PERSON, "set_thread_status", {"thread_id": thread, "status": "OPEN"})
                row = await pending(page)                              # it waits as before
                answer = await page.post("decide", {"id": row["id"], "verdict": "reject", "argumentDigest": row["argumentDigest"], "reason": "wrong customer"})
                assert answer.json()["ok"]
                while threads()[0]["status"] != "RESOLVED" or forum.run(PERSON, "get_thread", {"thread_id": thread})["resolved_by_name"] != "observer":
                    await moved.changed()
                summary = forum.run(PERSON, "get_thread", {"thread_id": thread})["resolution_summary"]
                assert "is refused since" in summary and "rejected by" in summary and "wrong customer" in summary and len(threads()) == 1 and not said
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await gateway.close()
            await council.close()
    play(story, pollHoldMs=100)


def test_the_served_council_finds_the_gateway_of_its_home_by_itself(play, kit, tmp_path):
    """`rulith council serve`, a process of its own; a project with such threads can be deleted."""
    (tmp_path / "project").mkdir()

    async def story(world):
        write_runfile(world.home.gateway_json, url=f"http://127.0.0.1:{world.port}", port=world.port)
        await waiting(world, kit)
        role, run = await started(world.home.path)
        try:
            project = (await post(run, "create_project", folder=str(tmp_path / "project")))["id"]
            await post(run, "create_room", project_id=project, name="decisions")
            cursor, titles = 0, []
            while not titles:
                cursor = (await post(run, "wait_for_changes", cursor=cursor))["next_cursor"]
                titles = [row["title"] for row in await post(run, "needs_you")]
            assert len(titles) == 1 and titles[0].endswith("waits for a decision")
            await post(run, "delete_project", id=project)
            assert await post(run, "list_projects") == []
        finally:
            assert await role.stop() == 0
    play(story, pollHoldMs=100)
