"""The council behind the page: started when it is wanted, asked with a key that no page sees, its changes as rows of the feed. Duty: the design's rules on the council (§9) and on roles."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.disk.runfile import remove_runfile, write_runfile
from rulith.forum.service import open_council
from rulith.net.messages import json_response
from rulith.net.server import serve
from rulith.workbench import bench
from tests.workbench.test_page_http import play

COUNCIL_KEY = "rvp_key-of-the-run"


@asynccontextmanager
async def council_of(stage, *, is_told=True):
    """A council of the stage's home, answering, with its run file; the scripted role says so where `is_told`."""
    council = open_council(stage.home, SystemClock(), COUNCIL_KEY)
    try:
        url = await council.listen((0,))
        write_runfile(stage.home.council_json, url=url, port=council.port, key=COUNCIL_KEY)
        if is_told:
            (await stage.spawn.wait_for("council")).child.tell({"type": "listening", "url": url, "port": council.port})
        yield council
    finally:
        remove_runfile(stage.home.council_json)
        await council.close()


def used(stage) -> None:
    stage.home.council.mkdir()
    (stage.home.council / "council.db").touch()


async def told(stage, name, /, **arguments):
    status, body = await stage.page.post(f"/council/api/{name}", arguments)
    assert status == 200 and body["ok"] is True, body
    return body["result"]


def state(stage) -> dict:
    return stage.bench.snapshot()["council"]


def rows(stage) -> list[dict]:
    return [row for row in stage.bench.feed.rows() if row["src"] == "council"]


def test_a_home_that_never_used_it_starts_none_and_the_first_act_starts_it(stage):
    async def script(stage):
        assert state(stage)["state"] == "stopped" and not stage.spawn.of("council")
        asking = asyncio.ensure_future(told(stage, "server_info"))
        call = await stage.spawn.wait_for("council")
        assert call.args == ["serve", "--home", str(stage.home.path)] and call.env == {"RULITH_HOME": str(stage.home.path)}
        async with council_of(stage) as council:
            assert (await asking)["url"] == council.api.url
            row = state(stage)
            assert (row["state"], row["owned"], row["url"], row["pid"]) == ("online", True, council.api.url, call.child.pid)
            assert len(stage.spawn.of("council")) == 1
    play(stage, script)


def test_a_home_that_has_used_it_starts_it_with_the_workbench_and_ends_it_with_it(stage):
    used(stage)

    async def script(stage):
        call = await stage.spawn.wait_for("council")
        record = json.loads((stage.home.run / "workbench.json").read_text())
        assert {"council", "gateway", "worker"} == {child["role"] for child in record["children"]}
        return call.child
    assert play(stage, script).asked_to_stop


def test_the_key_of_the_run_reaches_no_page_and_no_page_without_its_token_reaches_the_council(stage, tmp_path):
    used(stage)

    async def script(stage):
        async with council_of(stage):
            (tmp_path / "project").mkdir()
            said = [await stage.page.ask("POST", f"/council/api/{name}", body) for name, body in (
                ("create_project", {"folder": str(tmp_path / "project")}), ("server_info", {}), ("list_projects", {}), ("dance", {}), ("list_projects", {"key": 1}))]
            assert [answer.status for answer in said] == [200, 200, 200, 404, 400]
            everything = [answer.body.decode() + str(list(answer.headers.items())) for answer in said] + [json.dumps(stage.bench.snapshot()), json.dumps(stage.bench.feed.rows())]
            assert not any(COUNCIL_KEY in each for each in everything)
            assert all(answer.headers.get("cache-control") == "no-store" for answer in said)
            for method, path, wanted in (("GET", "/council/api/list_projects", 404), ("POST", "/council/api/../health", 404), ("POST", "/council/api/a/b", 404),
                                         ("POST", "/council/api/", 404), ("POST", "/council/mcp", 404)):
                assert (await stage.page.ask(method, path, {} if method == "POST" else None)).status == wanted, path
            token, stage.page.token = stage.page.token, ""
            assert [(await stage.page.ask("POST", path, {})).status for path in ("/council/api/list_projects", "/council/role")] == [401, 401]
            stage.page.token = token
            assert (await stage.page.ask("POST", "/council/api/list_projects", {}, origin="http://127.0.0.1:1")).status == 403
    play(stage, script)


def test_what_a_thread_pins_may_be_as_long_as_the_council_takes(stage, tmp_path):
    used(stage)

    async def script(stage):
        async with council_of(stage):
            (tmp_path / "project").mkdir()
            await told(stage, "create_project", folder=str(tmp_path / "project"))
            pinned = [{"kind": "note", "content": "n" * 250_000}]
            thread = (await told(stage, "create_thread", room="general", title="t", body="b", tag="FYI", context=pinned))["thread_id"]
            assert len((await told(stage, "get_thread", thread_id=thread))["context"][0]["content"]) == 250_000
            assert (await stage.page.ask("POST", "/council/api/list_projects", b" " * (4 * 2**20 + 1))).status == 413
    play(stage, script)


def test_what_happens_in_the_council_is_a_row_of_the_feed(stage, tmp_path):
    used(stage)

    async def script(stage):
        async with council_of(stage) as council:
            await stage.until(lambda: len(council.forum.bus._waiting) == 1)
            (tmp_path / "project").mkdir()
            await told(stage, "create_project", folder=str(tmp_path / "project"))
            await stage.until(lambda: any(row["type"] == "council" for row in rows(stage)))
            row = next(row for row in rows(stage) if row["type"] == "council")
            assert [each["kind"] for each in row["events"]] == ["project.created", "room.created", "agent.created"]
            assert set(row["events"][0]) == {"seq", "kind", "room_id", "thread_id", "actor_agent_id"} and row["cursor"] == 3
            made = await told(stage, "create_agent", project_id=1, name="ann", rooms=[1])
            council.forum.presence.contact(made["agent_id"])
            await stage.until(lambda: any(row["type"] == "council" and row["connections"] == 1 for row in rows(stage)))
            assert made["api_key"] not in json.dumps(stage.bench.feed.rows())
    play(stage, script)


def test_one_that_was_started_by_hand_is_used_and_not_ended(stage):
    async def script(stage):
        async with council_of(stage, is_told=False) as council:
            assert (await told(stage, "server_info"))["url"] == council.api.url and not stage.spawn.of("council")
            row = state(stage)
            assert (row["state"], row["owned"], row["pid"]) == ("online", False, None)
            status, body = await stage.page.post("/council/role", {"operation": "stop"})
            assert (status, body["errorCode"]) == (409, "council_not_ours")
        asking = asyncio.ensure_future(told(stage, "list_projects"))      # it was ended where it was started: now ours
        await stage.spawn.wait_for("council")
        async with council_of(stage):
            assert await asking == []
    play(stage, script)


def test_one_that_ends_by_itself_is_started_again_at_its_port_and_the_new_key_is_used(stage):
    used(stage)

    async def script(stage):
        async with council_of(stage) as council:
            port = council.port
        (await stage.spawn.wait_for("council")).child.exit(1, "It fell over.")
        again = await stage.spawn.wait_for("council", 2)
        assert again.args[-2:] == ["--port", str(port)]
        asking = asyncio.ensure_future(told(stage, "list_projects"))
        other = open_council(stage.home, SystemClock(), "rvp_another")
        try:
            write_runfile(stage.home.council_json, url=await other.listen((0,)), port=other.port, key="rvp_another")
            again.child.tell({"type": "listening", "url": other.api.url, "port": other.port})
            assert await asking == []
        finally:
            remove_runfile(stage.home.council_json)
            await other.close()
    play(stage, script)


def test_a_key_of_an_earlier_run_is_found_out_and_nothing_is_asked_twice(stage):
    used(stage)

    async def script(stage):
        async with council_of(stage) as council:
            council.key, council.api._key = "rvp_later", b"rvp_later"
            write_runfile(stage.home.council_json, url=council.api.url, port=council.port, key="rvp_later")
            assert await told(stage, "list_projects") == []
            council.api._key = b"rvp_nobody-knows"
            status, body = await stage.page.post("/council/api/list_projects", {})
            assert (status, body["errorCode"]) == (503, "council_not_ready")
    play(stage, script)


def test_where_another_of_this_home_was_first_that_one_is_used(stage):
    used(stage)

    async def script(stage):
        call = await stage.spawn.wait_for("council")
        async with council_of(stage, is_told=False) as council:
            call.child.exit(1, "The council is open in another process.")
            assert (await told(stage, "server_info"))["url"] == council.api.url
            assert (state(stage)["state"], state(stage)["owned"], len(stage.spawn.of("council"))) == ("online", False, 1)
    play(stage, script)


@pytest.mark.parametrize("code", [2, 4])
def test_one_whose_file_is_damaged_is_not_tried_again_until_the_person_asks(stage, code):
    used(stage)

    async def script(stage):
        asking = asyncio.ensure_future(stage.page.post("/council/api/list_projects", {}))
        (await stage.spawn.wait_for("council")).child.exit(code, "The council's file cannot be read: it is torn.\n")
        status, body = await asking
        assert (status, body["errorCode"]) == (503, "council_not_ready") and "it is torn" in body["happened"]
        assert state(stage)["state"] == "needs_setup" and "it is torn" in state(stage)["detail"]
        assert (await stage.page.post("/council/api/list_projects", {}))[0] == 503 and len(stage.spawn.of("council")) == 1
        status, body = await stage.page.post("/council/role", {"operation": "start"})
        assert (status, body["council"]["state"]) == (200, "starting")
        await stage.spawn.wait_for("council", 2)
    play(stage, script)


def test_the_person_stops_it_and_no_act_starts_it_again(stage):
    used(stage)

    async def script(stage):
        async with council_of(stage):
            assert (await stage.page.post("/council/role", {"operation": "stop"}))[0] == 200
            await stage.until(lambda: state(stage)["state"] == "stopped")
        status, body = await stage.page.post("/council/api/list_projects", {})
        assert (status, body["errorCode"]) == (503, "council_not_ready") and len(stage.spawn.of("council")) == 1
        status, body = await stage.page.post("/council/role", {"operation": "dance"})
        assert (status, body["errorCode"]) == (400, "council_operation")
    play(stage, script)


def test_what_only_reads_is_asked_again_where_the_answer_was_lost_once_the_council_is_back(stage):
    used(stage)

    async def script(stage):
        async with council_of(stage) as council:
            call = await stage.spawn.wait_for("council")
            waiting = asyncio.ensure_future(told(stage, "wait_for_changes", timeout_s=60))
            await stage.until(lambda: len(council.forum.bus._waiting) == 2)      # the workbench's own look, and this one
        call.child.exit(-9)
        await stage.spawn.wait_for("council", 2)
        reading = asyncio.ensure_future(told(stage, "list_projects"))
        council = open_council(stage.home, SystemClock(), COUNCIL_KEY)
        try:
            write_runfile(stage.home.council_json, url=await council.listen((0,)), port=council.port, key=COUNCIL_KEY)
            (await stage.spawn.wait_for("council", 2)).child.tell({"type": "listening"})
            assert await reading == []
            await stage.until(lambda: len(council.forum.bus._waiting) == 2)
            council.forum.presence.contact(7)
            assert (await waiting)["events"] == []
        finally:
            remove_runfile(stage.home.council_json)
            await council.close()
    play(stage, script)


def test_an_answer_that_is_lost_is_not_known_and_is_not_asked_for_again(stage):
    used(stage)
    asked = []

    async def script(stage):
        async def cut(request):
            asked.append(request.path)
            if request.path.endswith("wait_for_changes"):
                return json_response(500, {})
            raise asyncio.CancelledError
        server = await serve(cut)
        write_runfile(stage.home.council_json, url="http://elsewhere.example", port=server.port, key="k")
        (await stage.spawn.wait_for("council")).child.tell({"type": "listening"})
        status, body = await stage.page.post("/council/api/reply", {"thread_id": 1})
        assert (status, body["errorCode"]) == (502, "council_unanswered") and asked.count("/api/reply") == 1
        assert state(stage)["url"] == f"http://127.0.0.1:{server.port}"
        await server.close(0)
        status, body = await stage.page.post("/council/api/reply", {"thread_id": 1})
        assert (status, body["errorCode"]) == (503, "council_not_ready")
    play(stage, script)


def test_on_a_full_disk_a_role_that_ends_is_started_again_all_the_same(stage, monkeypatch):
    """That its process cannot be written down once left the role dead for ever, room or no room."""
    used(stage)
    write, refused, kept = bench.write_runfile, [], asyncio.Event()

    def full(path, **facts):
        refused.append(path.name)
        raise Refused("disk_full", path=str(path))

    def with_room(path, **facts):
        write(path, **facts)
        kept.set()

    async def script(stage):
        (await stage.spawn.wait_for("council")).child.exit(1, "the disk is full")
        second = await stage.spawn.wait_for("council", 2)
        async with council_of(stage, is_told=False) as council:
            second.child.tell({"type": "listening", "url": council.api.url, "port": council.port})
            await told(stage, "server_info")
            assert state(stage)["state"] == "online" and set(refused) == {"workbench.json"}
            monkeypatch.setattr(bench, "write_runfile", with_room)
            await asyncio.wait_for(kept.wait(), 30)
            assert second.child.pid in [child["pid"] for child in json.loads((stage.home.run / "workbench.json").read_text())["children"]]

    async def filled(stage):
        await stage.spawn.wait_for("council")
        monkeypatch.setattr(bench, "write_runfile", full)
        monkeypatch.setattr(bench, "RECORD_AGAIN_S", 0.01)
        await script(stage)
    play(stage, filled)
