"""A Worker's Tools on the page: what is listed, what a change may do, and when the Worker hears of it.

Source  the workbench surface, "Worker tools and MCP services" (§15)
"""

import asyncio
import json

import pytest

from rulith.disk.profiles import role_env
from rulith.wire.manifest import BUILTINS, read_manifest

from tests.workbench.scripted_bench import AGENT, CONNECTION

COUNT = {"adapter": "run", "entry": "adapters/count.py", "kind": "read", "sourceTypes": ["file"], "params": {"sku": "string"},
         "returns": [{"predicate": "acme.stock.counted", "args": {"sku": "$sku"}}]}
TOOL = "acme.stock.count@1"


def play(stage, script):
    async def scene():
        async with stage:
            await stage.up()
            return await asyncio.wait_for(script(stage), 60)
    return asyncio.run(scene())


def manifest(stage):
    return stage.profile.workspace / "worker-tools.json"


def lay(stage, tools):
    manifest(stage).write_text(json.dumps({"format": "rulith-worker-tools/1", "tools": tools}))


async def state(stage):
    return await stage.page.get(stage.at("worker-tools/state"))


def row(answer, tool):
    return next(each for each in answer["tools"] if each["id"] == tool)


def test_every_tool_is_listed_with_where_it_comes_from_and_what_it_takes_and_returns(stage):
    lay(stage, {TOOL: COUNT})
    (stage.profile.directory / "worker-secrets.json").write_text('{"shelf": {"type": "file", "root": "/srv/shelf", "token": "not to be seen"}}')
    (stage.profile.directory / "worker-secrets.json").chmod(0o600)
    answer = play(stage, state)
    found = row(answer, TOOL)
    assert (found["origin"], found["kind"], found["params"], found["definition"]) == ("manifest", "read", {"sku": "string"}, COUNT)
    assert found["digest"] == read_manifest(manifest(stage).read_bytes())[TOOL].digest and found["returns"] == COUNT["returns"]
    assert {each["id"] for each in answer["tools"]} == {TOOL, *BUILTINS}
    assert row(answer, "rulith.workspace.hash@1")["configured"] and not row(answer, "rulith.workspace.write_text@1")["configured"]
    assert answer["sources"] == [{"name": "shelf", "type": "file"}] and "not to be seen" not in json.dumps(answer)
    assert (answer["workspaceMode"], answer["manifestFile"], answer["problem"]) == ("read", str(manifest(stage)), None)


def test_what_changed_since_the_lock_is_told_member_by_member(stage):
    lay(stage, {TOOL: COUNT, "acme.same@1": COUNT})
    tools = read_manifest(manifest(stage).read_bytes())
    before = {**tools[TOOL].descriptor(), "digest": "0" * 64, "params": {}}
    locks = [{"id": TOOL, "digest": "0" * 64, "descriptor": before},
             {"id": "acme.same@1", "digest": tools["acme.same@1"].digest, "descriptor": tools["acme.same@1"].descriptor()},
             {"id": "acme.away@1", "digest": "1" * 64, "descriptor": {"id": "acme.away@1", "kind": "read"}}]

    async def script(stage):
        silent = await state(stage)
        stage.gateway.answers["tools"] = (200, {"connections": [{"id": CONNECTION, "offered": [{"id": "acme.same@1", "digest": tools["acme.same@1"].digest}, {"id": TOOL, "digest": "0" * 64}], "locked": locks}]})
        return silent, await state(stage)
    silent, answer = play(stage, script)
    assert row(answer, TOOL)["locked"] is True
    assert row(answer, TOOL)["changes"] == [{"member": "params", "locked": {}, "now": {"sku": "string"}}]
    assert row(answer, "acme.same@1")["changes"] == [] and row(answer, "rulith.workspace.hash@1")["locked"] is False
    assert row(answer, "acme.away@1")["origin"] == "gone"
    assert [row(answer, tool)["offered"] for tool in ("acme.same@1", TOOL, "rulith.workspace.hash@1", "acme.away@1")] == [True, False, False, False]
    assert silent["locksKnown"] is True and row(silent, TOOL)["locked"] is False        # that gateway knows no Connection
    assert ("agent", AGENT) in stage.gateway.asked[-1].query.items()


def test_a_saved_tool_is_what_the_worker_reads_and_the_worker_is_started_anew(stage):
    async def script(stage):
        before = await state(stage)
        answer = await stage.page.post(stage.at("worker-tools/save"), {"id": TOOL, "definition": COUNT, "revision": before["revision"]})
        await stage.spawn.wait_for("worker", 2)
        return before, answer
    before, (status, answer) = play(stage, script)
    assert status == 200 and answer["revision"] != before["revision"]
    assert list(read_manifest(manifest(stage).read_bytes())) == [TOOL]
    assert stage.spawn.of("worker")[0].child.asked_to_stop and not stage.spawn.of("worker")[1].args
    assert {request.method for request in stage.gateway.asked} == {"GET"}, "nothing was locked or granted"


def test_the_worker_is_not_started_anew_while_a_call_runs(stage):
    async def script(stage):
        worker = stage.spawn.of("worker")[0].child
        worker.tell({"type": "claimed", "tool": TOOL})
        revision = (await state(stage))["revision"]
        await stage.page.post(stage.at("worker-tools/save"), {"id": TOOL, "definition": COUNT, "revision": revision})
        during = worker.asked_to_stop, (await state(stage))["reloading"]
        worker.tell({"type": "reported", "tool": TOOL})
        await stage.spawn.wait_for("worker", 2)
        return during, (await state(stage))["reloading"]
    assert play(stage, script) == ((False, True), False)


BAD = {**COUNT, "params": {"source": "string"}}
REFUSALS = [
    ("save", {"id": TOOL, "definition": COUNT, "revision": "0" * 32}, 409, "tools_changed_since"),
    ("save", {"id": TOOL, "definition": BAD, "originalId": TOOL}, 400, "tool_manifest_invalid"),
    ("save", {"id": "acme.new@1", "definition": BAD}, 400, "tool_manifest_invalid"),
    ("save", {"id": "no version", "definition": COUNT}, 400, "tool_manifest_invalid"),
    ("save", {"id": "acme.new@1", "definition": [1]}, 400, "tool_manifest_invalid"),
    ("save", {"id": "rulith.workspace.hash@1", "definition": COUNT}, 400, "tool_manifest_builtin"),
    ("save", {"id": "acme.new@1", "originalId": TOOL, "definition": COUNT}, 400, "tool_kept_id"),
    ("save", {"id": TOOL, "definition": COUNT}, 400, "tool_exists"),
    ("save", {"id": "acme.new@1", "originalId": "acme.new@1", "definition": COUNT}, 400, "tool_gone"),
    ("save", {"id": "local.mcp.files.0123456789ab@1", "definition": COUNT}, 400, "tool_of_service"),
    ("remove", {"id": TOOL, "revision": "0" * 32}, 409, "tools_changed_since"),
    ("remove", {"id": "acme.new@1"}, 400, "tool_gone"),
    ("remove", {"id": "rulith.workspace.hash@1"}, 400, "tool_of_rulith"),
    ("remove", {"id": "local.mcp.files.0123456789ab@1"}, 400, "tool_of_service"),
    ("workspace", {"mode": "write"}, 400, "tools_mode"),
    ("workspace", {"mode": "off", "revision": 7}, 409, "tools_changed_since"),
    ("workspace", {"mode": "off", "more": 1}, 400, "body_field"),
]


def test_a_refused_change_leaves_every_byte_as_it_was_and_the_worker_alone(stage):
    lay(stage, {TOOL: COUNT})
    before = manifest(stage).read_bytes()

    async def script(stage):
        revision = (await state(stage))["revision"]
        found = []
        for act, body, _, _ in REFUSALS:
            status, answer = await stage.page.post(stage.at(f"worker-tools/{act}"), {"revision": revision, **body})
            found.append((status, answer["errorCode"]))
        return found, [call.child.asked_to_stop for call in stage.spawn.of("worker")]
    assert play(stage, script) == ([(status, code) for *_, status, code in REFUSALS], [False])
    assert manifest(stage).read_bytes() == before and "RULITH_WORKSPACE_TOOLS" not in role_env(stage.profile, "worker")


def test_a_tool_is_removed_and_the_others_stay_as_they_were_written(stage):
    lay(stage, {"acme.b@1": COUNT, TOOL: COUNT, "acme.a@1": {**COUNT, "tier": "perceived"}})

    async def script(stage):
        return await stage.page.post(stage.at("worker-tools/remove"), {"id": TOOL, "revision": (await state(stage))["revision"]})
    assert play(stage, script)[0] == 200
    assert list(json.loads(manifest(stage).read_text())["tools"].items()) == [("acme.b@1", COUNT), ("acme.a@1", {**COUNT, "tier": "perceived"})]


def test_switching_the_workspace_tools_off_keeps_them_listed(stage):
    async def script(stage):
        status, answer = await stage.page.post(stage.at("worker-tools/workspace"), {"mode": "off", "revision": (await state(stage))["revision"]})
        again = await stage.spawn.wait_for("worker", 2)
        return status, answer, again
    status, answer, again = play(stage, script)
    assert status == 200 and answer["workspaceMode"] == "off" and again.env["RULITH_WORKSPACE_TOOLS"] == "off"
    assert not row(answer, "rulith.workspace.hash@1")["configured"]


@pytest.mark.parametrize("content", ["{", '{"format": "rulith-worker-tools/1", "tools": {"x": {}}}', "[]"])
def test_a_damaged_manifest_is_told_and_never_written_over(stage, content):
    manifest(stage).write_text(content)

    async def script(stage):
        answer = await state(stage)
        return answer, await stage.page.post(stage.at("worker-tools/save"), {"id": TOOL, "definition": COUNT, "revision": answer["revision"]})
    answer, (status, refusal) = play(stage, script)
    assert answer["problem"]["code"].startswith("tool_manifest_") and {each["id"] for each in answer["tools"]} == set(BUILTINS)
    assert status == 400 and manifest(stage).read_text() == content
