"""MCP services of a profile: a look at a server, the choice of its tools, and what the Worker then finds.

Source  the workbench surface, "Worker tools and MCP services" (§15)
"""

import asyncio
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.mcp import server_of
from rulith.adapters.sources import Source, Sources
from rulith.adapters.territory import Territory
from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.board.capability_check import check_capability
from rulith.disk.mcp_services import entries_of, file_of, folder_of, lent_of, read_services, whole_set
from rulith.net.messages import Response, json_response
from rulith.net.server import serve
from rulith.work import prober
from rulith.work.settings import read_settings
from rulith.workbench.tools_api import PROBED
from rulith.workbench.tools_npm import FILESYSTEM
from rulith.workbench.tools_registry import filled, options
from rulith.workbench.tools_services import capability_of, judged, params_of, tool_of

FAR = str(Path(__file__).parents[1] / "adapters" / "far_mcp.py")
LIST = {"name": "list_files", "description": "Lists.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}, "required": ["path"]}}
WRITE = {"name": "write_file", "description": "Writes.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "meta": {"type": "object"}}, "required": ["path", "meta"]}}
OPEN = {"name": "anything", "description": "", "inputSchema": {"type": "object", "additionalProperties": True}}
SERVER = {"name": "shelf", "isNew": True, "mode": "stdio", "command": sys.executable, "args": [FAR], "env": {"SHELF_KEY": "a secret of the shelf"}}


def play(stage, script):
    async def scene():
        async with stage:
            await stage.up()
            return await asyncio.wait_for(script(stage), 60)
    return asyncio.run(scene())


def looks(stage):
    return [call for call in stage.spawn.of("worker") if call.args[:1] == ["probe"]]


async def probe(stage, given, *events, count=1):
    """Ask for a look and be the process that looks."""
    asking = asyncio.ensure_future(stage.page.post(stage.at("mcp-services/probe"), given))
    await stage.until(lambda: asking.done() or len(looks(stage)) >= count)
    if not asking.done():
        for event in events:
            looks(stage)[-1].child.tell(event)
    return await asking


async def found(stage, given=SERVER, tools=(LIST, WRITE, OPEN), count=1):
    status, answer = await probe(stage, given, *({"type": "probe-tool", "tool": tool} for tool in tools), {"type": "probed", "truncated": False}, count=count)
    assert status == 200, answer
    return answer


async def applied(stage, answer, *chosen):
    return await stage.page.post(stage.at("mcp-services/apply"), {"probeId": answer["probeId"], "tools": [{"name": name, "kind": kind} for name, kind in chosen]})


async def state(stage):
    return await stage.page.get(stage.at("mcp-services/state"))


def test_a_server_is_looked_at_its_tools_are_chosen_and_the_worker_serves_them(stage):
    async def script(stage):
        look = await found(stage)
        status, answer = await applied(stage, look, ("list_files", "read"), ("write_file", "read"))
        again = await stage.spawn.wait_for("worker", 3)
        return look, status, answer, again, await state(stage), looks(stage)[0]
    look, status, answer, again, now, looked = play(stage, script)
    assert [row.get("params") for row in look["tools"]] == [{"path": "string", "depth": "number?"}, {"path": "string", "meta": "json"}, None]
    assert "open" in look["tools"][2]["unsupported"] and "json" in look["tools"][1]["groundedWriteProblem"] and look["selected"] == []
    assert looked.child.asked_to_stop and "RULITH_CONNECTION_KEY" not in looked.env, "a look is one process, ended, without the Worker's credential"
    assert status == 200 and again.env["RULITH_MCP_SERVICES_FILE"] == str(file_of(stage.profile))
    kept = read_services(file_of(stage.profile))
    tools = whole_set("off", None, "", kept)
    mine = [tool for tool in tools.values() if tool.id.startswith("local.mcp.shelf.")]
    told = {"predicate": "local.shelf.list_files", "args": {"path": "$path", "source": "$source", "answer": "$answer"}}
    assert [(tool.entry, tool.kind, dict(tool.params), tool.returns[0]["args"]) for tool in mine] == [
        ("list_files", "read", {"path": "string", "depth": "number?"}, told["args"]), ("write_file", "read", {"path": "string", "meta": "json"}, told["args"])]
    assert entries_of(kept)["shelf"] == {"type": "mcp", "transport": "stdio", "command": sys.executable, "args": [FAR], "env": {"SHELF_KEY": "a secret of the shelf"}}
    (mode, _) = answer["service"]["definition"]["accessModes"]
    print_ = mine[0].id.split(".")[3].split("@")[0]
    assert mode == {"id": f"tool_{print_}", "action": f"mcp_shelf_{print_}", "title": "list_files", "operation": "read", "tool": mine[0].id,
                    "params": {"path": "string", "depth": "number?"}, "returns": [told]}
    assert len(print_) == 12 and now["services"][0]["hasSecrets"] and now["services"][0]["variables"] == ["SHELF_KEY"]
    assert "a secret of the shelf" not in json.dumps([look, answer, now]), "no listing shows a variable's value"
    (row,) = [each for each in now["tools"] if each["id"] == mine[0].id]
    assert (row["origin"], row["service"]) == ("mcp", "shelf") and "automaticActionProblem" not in row
    assert "json" in next(each for each in now["tools"] if each["id"] == mine[1].id)["automaticActionProblem"]
    if os.name == "posix":
        assert stat.S_IMODE(file_of(stage.profile).stat().st_mode) == 0o600


def test_a_tools_id_follows_the_server_the_schema_and_the_kind_and_no_secret(stage):
    async def script(stage):
        ids = []
        changed = {**LIST, "inputSchema": {**LIST["inputSchema"], "required": []}}
        for number, (given, tool, kind) in enumerate([(SERVER, LIST, "read"), ({**SERVER, "env": {"SHELF_KEY": "another"}}, LIST, "read"), (SERVER, LIST, "run"),
                                                      (SERVER, changed, "read"), ({**SERVER, "args": [FAR, "{}"]}, LIST, "read")], 1):
            look = await found(stage, {**given, "isNew": number == 1}, [tool], count=number)
            status, answer = await applied(stage, look, ("list_files", kind))
            assert status == 200
            ids.append(answer["service"]["tools"][0]["id"])
        return ids
    first, same, *others = play(stage, script)
    assert first == same and len({first, *others}) == 4


CHOICES = [[], [{"name": "list_files", "kind": "read"}] * 2, [{"name": "list_files", "kind": "look"}], [{"name": "anything", "kind": "read"}],
           [{"name": "write_file", "kind": "write"}], [{"name": "list_files", "kind": "read"}, {"name": "unheard of", "kind": "read"}], "all", [7],
           [{"name": f"t{n}", "kind": "read"} for n in range(33)]]


def test_a_choice_is_kept_whole_or_not_at_all(stage):
    async def script(stage):
        look = await found(stage)
        return [(await stage.page.post(stage.at("mcp-services/apply"), {"probeId": look["probeId"], "tools": chosen}))[1]["errorCode"] for chosen in CHOICES]
    assert play(stage, script) == ["mcp_tools_chosen"] * len(CHOICES)
    assert not file_of(stage.profile).exists()


def test_a_look_is_good_for_what_was_there_and_no_longer(stage):
    async def script(stage):
        first = await found(stage)
        second = await found(stage, count=2)
        assert (await applied(stage, first, ("list_files", "read")))[0] == 200
        return await applied(stage, second, ("list_files", "read")), await applied(stage, {"probeId": "probe_none"}, ("list_files", "read"))
    assert [answer["errorCode"] for _, answer in play(stage, script)] == ["mcp_probe_gone", "mcp_probe_gone"]


def test_ten_minutes_later_neither_a_look_nor_a_preparation_is_good(stage):
    async def script(stage):
        stage.bench.clock = clock = ManualClock()
        look = await found(stage)
        made = stage.api.tools.services.prepare({"source": {"type": "mcp", "transport": "streamable-http", "url": "https://mcp.example/"}})
        form = {"name": "far", "isNew": True, "mode": "registry", "preparationId": made}
        clock.advance(599)
        again = await found(stage, form, count=2)
        clock.advance(2)
        late = await applied(stage, look, ("list_files", "read")), await stage.page.post(stage.at("mcp-services/probe"), form)
        kept = await applied(stage, again, ("list_files", "read"))
        await found(stage, {"name": "far", "isNew": False, "mode": "registry"}, count=3)       # what is saved may be looked at again without one
        return late, kept
    late, (status, _) = play(stage, script)
    assert [answer["errorCode"] for _, answer in late] == ["mcp_probe_gone", "mcp_preparation_gone"] and status == 200


def test_what_would_not_fit_into_the_file_is_refused_before_it_is_written(stage):
    tools = [{**LIST, "name": f"t{number}", "description": "d" * 1_000, "inputSchema": {**LIST["inputSchema"], "description": "x" * 15_000}} for number in range(200)]
    large = [{**LIST, "inputSchema": {**LIST["inputSchema"], "description": "x" * 20_000}}, {**LIST, "name": "discover"}]

    async def script(stage):
        refused = await applied(stage, await found(stage, SERVER, tools), ("t1", "read"))
        there = file_of(stage.profile).exists()
        look = await found(stage, SERVER, large, count=2)
        return refused, there, look, await applied(stage, look, ("list_files", "read"))
    (_, refused), there, look, (status, answer) = play(stage, script)
    assert refused["errorCode"] == "mcp_service_field" and not there
    assert status == 200 and answer["service"]["discovered"][0]["inputSchema"] is None and "own look" in look["tools"][1]["unsupported"]


FORMS = [
    ({"name": "Shelf"}, "mcp_service_field"), ({"name": "a" * 41}, "mcp_service_field"), ({"mode": "sse"}, "mcp_service_field"),
    ({"isNew": False}, "mcp_service_gone"), ({"command": ""}, "mcp_service_field"), ({"args": 1}, "mcp_service_field"), ({"env": "NO VALUE"}, "mcp_service_field"), ({"args": [1]}, "mcp_service_field"),
    ({"cwd": "relative"}, "mcp_service_field"), ({"cwd": "/no/such/folder"}, "mcp_service_field"),
    ({"env": {"RULITH_TOKEN": "x"}}, "mcp_service_field"), ({"env": {"A-B": "x"}}, "mcp_service_field"), ({"env": {"A": 1}}, "mcp_service_field"), ({"env": [1]}, "mcp_service_field"),
    ({"mode": "streamable-http", "url": "ftp://a"}, "mcp_service_field"), ({"mode": "streamable-http", "url": "https://u:p@a/"}, "mcp_service_field"),
    ({"mode": "streamable-http", "url": "https://a/?k=1"}, "mcp_service_field"), ({"mode": "filesystem", "directory": "/"}, "mcp_package_missing"),
    ({"mode": "filesystem", "directory": "x"}, "mcp_service_field"), ({"mode": "registry"}, "mcp_preparation_gone"),
    ({"mode": "registry", "preparationId": "prep_none"}, "mcp_preparation_gone"),
]


def test_a_form_that_cannot_be_used_starts_nothing(stage):
    async def script(stage):
        return [(await stage.page.post(stage.at("mcp-services/probe"), {**SERVER, **changes}))[1]["errorCode"] for changes, _ in FORMS], len(looks(stage))
    assert play(stage, script) == ([code for _, code in FORMS], 0)


def test_saved_variables_stay_with_their_program_and_a_token_with_its_address(stage):
    again = {**{name: SERVER[name] for name in ("name", "mode", "command", "args")}, "isNew": False}
    web = {"name": "web", "isNew": True, "mode": "streamable-http", "url": "https://mcp.example/a", "token": "a secret of the web"}

    async def script(stage):
        await applied(stage, await found(stage), ("list_files", "read"))
        elsewhere = await probe(stage, {**again, "args": ["other.py"]})
        await applied(stage, await found(stage, again, count=2), ("list_files", "read"))
        kept = read_services(file_of(stage.profile))["shelf"]["source"].get("env")
        await applied(stage, await found(stage, {**again, "args": ["other.py"], "clearSecrets": True}, count=3), ("list_files", "read"))
        cleared = read_services(file_of(stage.profile))["shelf"]["source"].get("env")
        await applied(stage, await found(stage, web, count=4), ("list_files", "read"))
        moved = await probe(stage, {"name": "web", "isNew": False, "mode": "streamable-http", "url": "https://mcp.example/b"})
        stays = await found(stage, {"name": "web", "isNew": False, "mode": "streamable-http", "url": web["url"]}, count=5)
        return elsewhere, kept, cleared, moved, json.loads(looks(stage)[4].args[1])["source"]["token"], stays["selected"], await probe(stage, web)
    elsewhere, kept, cleared, moved, token, selected, taken = play(stage, script)
    assert elsewhere[1]["errorCode"] == moved[1]["errorCode"] == "mcp_secrets_elsewhere"
    assert kept == SERVER["env"] and cleared is None and token == "a secret of the web" and selected == [{"name": "list_files", "kind": "read"}]
    assert taken[1]["errorCode"] == "mcp_service_exists" and "a secret" not in json.dumps(elsewhere)


def test_one_step_at_a_time_and_a_failed_look_says_why_and_saves_nothing(stage):
    async def script(stage):
        first = asyncio.ensure_future(stage.page.post(stage.at("mcp-services/probe"), SERVER))
        await stage.until(lambda: len(looks(stage)) == 1)
        busy = await stage.page.post(stage.at("mcp-services/probe"), SERVER)
        looks(stage)[0].child.tell({"type": "probe-failed", "problem": "it ended with status 1"})
        failed = await first
        gone = asyncio.ensure_future(stage.page.post(stage.at("mcp-services/probe"), SERVER))
        await stage.until(lambda: len(looks(stage)) == 2)
        looks(stage)[1].child.exit(9, "words of the server")
        return busy, failed, await gone
    busy, failed, gone = play(stage, script)
    assert (busy[0], busy[1]["errorCode"]) == (409, "tools_busy")
    assert failed[1]["errorCode"] == gone[1]["errorCode"] == "mcp_probe_failed" and "status 1" in failed[1]["happened"]
    assert "words of the server" not in json.dumps(gone) and not file_of(stage.profile).exists()


def test_a_service_is_removed_by_whoever_saw_it(stage):
    async def script(stage):
        await applied(stage, await found(stage), ("list_files", "read"))
        revision = (await state(stage))["revision"]
        return [await stage.page.post(stage.at("mcp-services/remove"), body) for body in (
            {"name": "shelf", "revision": "x"}, {"name": "other", "revision": revision}, {"name": "shelf", "revision": revision})]
    stale, other, (status, answer) = play(stage, script)
    assert (stale[0], stale[1]["errorCode"], other[1]["errorCode"]) == (409, "tools_changed_since", "mcp_service_gone")
    assert status == 200 and answer["services"] == [] and read_services(file_of(stage.profile)) == {}


def test_a_name_that_the_vault_has_is_no_services(stage):
    vault = stage.profile.directory / "worker-secrets.json"
    vault.write_text('{"shelf": {"type": "file", "root": "/srv"}}')
    vault.chmod(0o600)

    async def script(stage):
        return await probe(stage, SERVER)
    assert play(stage, script)[1]["errorCode"] == "mcp_service_clash"


@pytest.mark.parametrize("content", ["{", "[]", '{"format": "rulith-local-mcp/2", "services": {}}', '{"format": "rulith-local-mcp/1", "services": {"A": {}}}',
                                     '{"format": "rulith-local-mcp/1", "services": {"a": {"name": "a", "mode": "stdio", "source": {}, "tools": {}, "discovered": [], "definition": {}}}}'])
def test_a_damaged_services_file_is_refused_whole_and_without_its_words(tmp_path, content):
    file = tmp_path / "services.json"
    file.write_text(content + "   ")
    file.chmod(0o600)
    with pytest.raises(Refused) as refused:
        read_services(file)
    assert refused.value.code == "mcp_services_unreadable"


def test_the_capability_to_begin_with_can_be_installed_as_it_stands():
    entry = {"adapter": "mcp", "sourceTypes": ["mcp"]}
    tools = {f"local.mcp.my-shelf.00000000000{number}@1": {**entry, "entry": name, "kind": kind, "params": params} for number, (name, kind, params) in enumerate([
        ("list_files", "read", {"path": "string", "depth": "number?"}), ("list-files", "write", {}), ("1st", "run", {"a": "boolean"})])}
    tool, members = tool_of("my-shelf", {}, judged({**LIST, "name": "searchFiles"}), "read")
    tools[tool] = members
    document = capability_of("my-shelf", tools)
    release, problems = check_capability(document)
    assert problems == [] and release is not None
    assert [(row["id"], "decision" in row) for row in document["actions"]] == [("list_files", False), ("tool_000000000001", True), ("tool_000000000002", True), ("searchfiles", False)]
    assert document["actions"][-1]["returns"] == [{"predicate": "searchfiles_told", "args": {"path": "$path", "source": "$source", "answer": "$answer"}}]


# -- schemas ------------------------------------------------------------------------------

STATED = [
    ({"type": "object"}, {}), ({}, {}),
    ({"properties": {"a": {"type": "string"}, "b": {"type": "boolean"}, "c": {"type": ["string", "null"]}, "d": {"enum": ["x"]}, "e": {"type": "array"}}, "required": ["a", "e"]},
     {"a": "string", "b": "boolean?", "c": "json?", "d": "json?", "e": "json"}),
    ({"type": "object", "additionalProperties": False}, {}),
]
UNSTATED = [None, [], {"type": "array"}, {"anyOf": []}, {"$ref": "#/x"}, {"additionalProperties": True}, {"additionalProperties": {"type": "string"}}, {"patternProperties": {}},
            {"properties": {"camelCase": {}}}, {"properties": {"source": {"type": "string"}}}, {"properties": []}, {"required": ["x"]}, {"required": "path", "properties": {"a": {"type": "string"}}}, {"required": [1]}]


@pytest.mark.parametrize(("schema", "params"), STATED)
def test_a_plain_schema_becomes_parameters(schema, params):
    assert params_of(schema) == params


@pytest.mark.parametrize("schema", UNSTATED)
def test_a_schema_that_cannot_be_stated_makes_the_tool_unsupported(schema):
    assert judged({"name": "x", "description": "", "inputSchema": schema})["unsupported"]


# -- the process that looks ----------------------------------------------------------------


def look(monkeypatch, tmp_path, source, lent=(), **env):
    told = []
    monkeypatch.setattr(prober, "emit", lambda kind, **facts: told.append({"type": kind, **facts}))
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (tmp_path / "tools").mkdir(exist_ok=True)
    asked = {"name": "far", "source": {"type": "mcp", **source}, "lent": list(lent)}
    assert prober.main({"RULITH_HOME": str(home), "RULITH_TOOLS_FILE": str(tmp_path / "tools" / "worker-tools.json"), **env}, json.dumps(asked)) == 0
    return told


def far(**settings):
    return {"transport": "stdio", "command": sys.executable, "args": [FAR, json.dumps(settings)]}


def test_a_look_lists_the_tools_and_calls_none(monkeypatch, tmp_path):
    log = tmp_path / "log"
    told = look(monkeypatch, tmp_path, far(log=str(log), tools=["rows", "text"]))
    assert [each["tool"]["name"] for each in told[:-1]] == ["rows", "text"] and told[-1] == {"type": "probed", "truncated": False}
    methods = [json.loads(line)["method"] for line in log.read_text().splitlines() if line]
    assert "tools/list" in methods and "tools/call" not in methods


@pytest.mark.parametrize(("program", "problem"), [
    ("import sys; print('secret words', file=sys.stderr); print('secret words'); sys.exit(3)", "it ended with status 3"),
    ("import sys; sys.stdin.readline(); print('{\"jsonrpc\": \"2.0\", \"secret words\": 1}')", "it was reached, and does not speak MCP as a Worker does"),
])
def test_a_failed_look_tells_nothing_of_what_the_server_wrote(monkeypatch, tmp_path, program, problem):
    (told,) = look(monkeypatch, tmp_path, {"transport": "stdio", "command": sys.executable, "args": ["-c", program]})
    assert told == {"type": "probe-failed", "problem": problem}


def test_a_program_that_is_not_there_and_an_address_where_nobody_listens_are_told_apart(monkeypatch, tmp_path):
    (absent,) = look(monkeypatch, tmp_path, {"transport": "stdio", "command": str(tmp_path / "none"), "args": []})
    (silent,) = look(monkeypatch, tmp_path, {"transport": "streamable-http", "url": "http://127.0.0.1:9/mcp"})
    assert "was not started" in absent["problem"] and "127.0.0.1" in silent["problem"]


@pytest.mark.parametrize(("status", "told"), [
    (200, {"type": "probed", "truncated": False}), (401, {"type": "probe-failed", "problem": "it answered HTTP 401"}),
    (302, {"type": "probe-failed", "problem": "it answered with a redirect (HTTP 302), which is not followed"}),
    (500, {"type": "probe-failed", "problem": "it answered HTTP 500"}),
])
def test_an_address_is_looked_at_with_its_token_and_a_refusal_is_told_by_its_number(monkeypatch, tmp_path, status, told):
    seen, found = [], []
    monkeypatch.setattr(prober, "emit", lambda kind, **facts: found.append({"type": kind, **facts}))

    async def answer(request):
        seen.append(request.headers.get("authorization"))
        if status != 200:
            return Response(status, [("location", "http://127.0.0.1:1/")], b"secret words of the server")
        asked = json.loads(request.body)
        if "id" not in asked:
            return Response(202, [])
        result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}, "tools/list": {"tools": [LIST]}}.get(asked["method"])
        return json_response(200, {"jsonrpc": "2.0", "id": asked["id"], **({"result": result} if result else {"error": {"code": -32601, "message": "no"}})})

    async def scene():
        server = await serve(answer)
        source = Source("web", "mcp", url := f"http://127.0.0.1:{server.port}/mcp", {"type": "mcp", "transport": "streamable-http", "url": url, "token": "a-token"})
        try:
            await asyncio.wait_for(prober._tell(server_of(source, Territory(str(tmp_path), str(tmp_path / "home")), {})), 60)
        finally:
            await server.close(0)
    asyncio.run(scene())
    assert found[-1] == told and set(seen) == {"Bearer a-token"}
    assert [each["tool"]["name"] for each in found[:-1]] == (["list_files"] if status == 200 else [])


# -- what a service may name ----------------------------------------------------------------


def places(tmp_path):
    """Each way to overlap what decides over the Worker: (what the Source says, whether it is lent to it)."""
    home, other = tmp_path / "home", tmp_path / "other"
    mcp = home / "workbench" / "instances" / "inst-1" / "mcp"
    (mcp / "workspaces" / "far").mkdir(parents=True)
    (mcp / "workspaces" / "else").mkdir()
    other.mkdir(exist_ok=True)
    (other / "link").symlink_to(home)
    (home / "run.py").write_text("")
    run = {"transport": "stdio", "command": sys.executable}
    return mcp, {
        "the mcp folder as cwd": {**run, "cwd": str(mcp)}, "the home as cwd": {**run, "cwd": str(home)}, "what contains it as cwd": {**run, "cwd": str(tmp_path)},
        "the settings as argument": {**run, "args": ["--file=" + str(home / "run.py")]}, "a link to the home": {**run, "args": [str(other / "link")]},
        "a program of the home": {"transport": "stdio", "command": str(home / "run.py")}, "the workspace of another service": {**run, "args": [str(mcp / "workspaces" / "else")]},
        "the manifest's folder": {**run, "args": [str(tmp_path / "tools")]},
    }


def test_no_service_overlaps_what_decides_over_it_at_a_look(monkeypatch, tmp_path):
    mcp, wrong = places(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "worker-tools.json").write_text("{}")
    for what, source in wrong.items():
        (told,) = look(monkeypatch, tmp_path, source, [str(mcp / "workspaces" / "far")])
        assert told["type"] == "probe-failed" and "is refused" in told["problem"], what
    told = look(monkeypatch, tmp_path, {**far(tools=["rows"]), "cwd": str(mcp / "workspaces" / "far")}, [str(mcp / "workspaces" / "far")])
    assert told[-1]["type"] == "probed"


def test_no_service_overlaps_what_decides_over_it_when_the_worker_starts(tmp_path):
    mcp, wrong = places(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "worker-tools.json").write_text("{}")
    settings = read_settings({"RULITH_HOME": str(tmp_path / "home"), "RULITH_CONNECTION": "c", "RULITH_CONNECTION_KEY": "k",
                              "RULITH_TOOLS_FILE": str(tmp_path / "tools" / "worker-tools.json"), "RULITH_MCP_SERVICES_FILE": str(mcp / "services.json")}, tmp_path)
    for what, entry in {**wrong, "its own workspace": {"transport": "stdio", "command": sys.executable, "cwd": str(mcp / "workspaces" / "far")}}.items():
        services = {"far": {"source": {"type": "mcp", **entry}, "tools": {}}}
        hands = Hands(settings.territory((), lent_of(services, settings.services_file)), dict(os.environ))
        refused = hands.inspect(Sources(entries_of(services)).find("far"))
        assert (refused is None) == (what == "its own workspace"), what


def test_the_packages_program_is_lent_to_its_service_alone(stage):
    services = {"files": {"package": {"entry": f"{FILESYSTEM.folder}/index.js"}}, "other": {}}
    lent = lent_of(services, file_of(stage.profile))
    assert str(folder_of(stage.profile) / "packages" / FILESYSTEM.folder / "index.js") in lent["files"] and len(lent["other"]) == 1


def test_what_a_form_holds_is_taken_as_it_is_written_one_a_line(stage):
    """Our decision: the page sends its fields as text, and only the server reads them; every field that a form has is one that a look takes."""
    async def script(stage):
        now = await state(stage)
        await found(stage, {**SERVER, "args": f" {FAR} \n\n{{}}\n", "env": "SHELF_KEY=a=b c\nEMPTY=\n", "clearSecrets": "", "cwd": ""})
        return now, json.loads(looks(stage)[0].args[1])["source"]
    now, source = play(stage, script)
    assert source["args"] == [FAR, "{}"] and source["env"] == {"SHELF_KEY": "a=b c", "EMPTY": ""} and "cwd" not in source
    assert {each["mode"] for each in now["forms"]} == {"filesystem", "stdio", "streamable-http", "registry"}
    assert {row["id"] for each in now["forms"] for row in each["fields"]} <= {"name", *PROBED}
    (option,) = options({"packages": [{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"},
                                       "packageArguments": [{"type": "named", "name": "--dir", "isRepeated": True}]}]})
    assert filled(option, {"arg:0": "/a b\n/c\n"})["args"] == ["--dir", "/a b", "--dir", "/c"] and [row["id"] for row in option["form"]["fields"]] == ["name", "arg:0"]
