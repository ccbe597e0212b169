"""A locked Tool as an Action without a Capability. Duty: design §5, "Direct Actions"."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from rulith.base.canonical import digest
from rulith.board.gates import lies_below
from rulith.commands import verify
from rulith.wire.manifest import BUILTINS
from rulith.wire.terminal_receipt import check_document

PASSPHRASE = "correct horse battery"
NAME = "acme.files.count"
COUNT = {"id": NAME + "@1", "digest": "c" * 64, "sourceTypes": ["file"], "kind": "read", "params": {"path": "string", "deep": "boolean?"},
         "returns": [{"predicate": "acme.files.counted", "args": {"source": "$source", "path": "$path", "files": "$files"}}]}
WRITE = {"id": "acme.files.put@1", "digest": "d" * 64, "sourceTypes": ["file"], "kind": "write", "params": {"path": "string"},
         "returns": [{"predicate": "acme.files.written", "args": {"path": "$path"}}]}
COUNTED, WRITTEN = "acme.files.counted", "acme.files.written"


class Owner:
    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit

    async def set_up(self) -> Owner:
        answer = await self._post("setup", {"code": self.world.gateway.setup_code, "passphrase": PASSPHRASE}, {})
        cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1)
        self.headers = {"cookie": f"rulith_console={cookie}", "x-rulith-console": answer.json()["token"]}
        return self

    async def _post(self, route: str, body: dict, headers: dict):
        return await self.kit.http(self.world.port, "POST", f"/console/api/{route}", {"content-type": "application/json", **headers}, json.dumps(body).encode())

    async def act(self, route: str, **body) -> dict:
        answer = (await self._post(route, body, self.headers)).json()
        assert answer["ok"], answer
        return answer

    async def refused(self, route: str, **body) -> str:
        return (await self._post(route, body, self.headers)).json()["errorCode"]

    async def lock(self, tool: dict, replaces: str = "") -> dict:
        connection = self.world.profile.connection_id
        return await self.act("tool-lock", connectionId=connection, toolId=tool["id"], digest=tool["digest"], replaces=replaces)

    async def bind(self, folder, attests: str = COUNTED) -> None:
        folder.mkdir(exist_ok=True)
        await self.act("source-add", connectionId=self.world.profile.connection_id, name="folder", type="file", access=str(folder), tier="attested", attests=[attests])

    async def tool(self, tool: dict) -> dict:
        answer = await self.kit.http(self.world.port, "GET", "/console/api/admin", self.headers)
        rows = answer.json()["admin"]["connections"][0]["tools"]
        return next(row for row in rows if row["id"] == tool["id"])


@pytest.fixture
def scene(play, kit, tmp_path):
    """A story with an owner, a Worker that offers these Tools, and a Host with an exploration open."""
    def tell(story, *tools, **settings):
        async def main(world):
            owner, host, worker = await Owner(world, kit).set_up(), world.host(), world.worker()
            worker.tools = [*worker.tools, *tools]
            await host.initialize()
            await worker.poll()
            await host.call("OpenCase", {"caseType": "exploration"})
            await story(world, owner, host, worker)
        play(main, **settings)
    tell.folder = tmp_path / "folder"
    return tell


async def row_of(host, name: str = NAME) -> list[dict]:
    view = (await host.call("ApplyBatch", {"operations": [{"op": "declare_goal", "desired": [{"predicate": "x"}]}]}))["view"]
    return [row for row in view["actions"] if row["action"] == name]


def call(**args) -> dict:
    return {"action": NAME, "args": {"source": "folder", "path": "a", **args}}


async def done(host, worker, arguments: dict, facts: list[dict]) -> dict:
    asked = asyncio.ensure_future(host.call("ApplyAction", arguments))
    row = (await worker.rows_until())[0]
    assert (await worker.claim(row))["accepted"]
    told = await worker.report(row, ok=True, result="done", facts=facts)
    return {**await asked, "told": told, "row": row}


def test_a_read_is_ready_once_its_source_is_bound_and_its_facts_close_a_case_that_verifies(scene):
    async def story(world, owner, host, worker):
        assert await row_of(host) == []
        await owner.lock(COUNT)
        (row,) = await row_of(host)
        assert (row["status"], row["reason"]) == ("blocked", "needs_setup")
        await owner.bind(scene.folder)
        (row,) = await row_of(host)
        assert row["status"] == "ready" and "decision" not in row and row["params"] == COUNT["params"] and row["sources"] == ["folder"]
        body = await done(host, worker, call(), [{"predicate": "acme.files.counted", "args": {"source": "folder", "path": "a", "files": 3}}])
        assert body["accepted"] and body["result"]["status"] == "confirmed" and body["told"]["accepted"]
        spec = json.loads(body["row"]["toolSpec"])
        assert spec["exec"] == COUNT["id"] and spec["returns"] == COUNT["returns"] and body["row"]["toolDigest"] == COUNT["digest"]
        node = next(each for each in body["view"]["nodes"] if each.get("predicate") == COUNTED)
        assert (node["tier"], node["source"], node["origin"]) == ("attested", "folder", "attested")
        root = body["view"]["roots"][0]["root"]
        goal = {"op": "declare_goal", "desired": [{"predicate": "acme.files.counted", "args": {"source": "folder", "path": "a", "files": 3}}]}
        await host.call("ApplyBatch", {"operations": [{"op": "retract_node", "nodeId": each["node"]} for each in body["view"]["taskStatus"][root]["leaves"]] + [goal]})
        assert (await host.call("CloseCase", {"root": root}))["accepted"]
        document = (await world.local(f"receipt?case={body['view']['roots'][0]['caseId']}")).json()
        verdict = check_document(document)
        assert verdict.problems == [] and any(COUNTED in each["text"] for each in document["conclusions"])
        asked = next(each for each in document["operations"] if each.get("toolContractId") == COUNT["id"])
        assert asked["action"] == NAME and asked["sourceRecordId"] == "folder" and asked["outcome"] == "done"
        asked["argsText"] = asked["argsText"].replace('"a"', '"b"')
        assert check_document(document).problems
        assert world.gateway.authority.ledger.verify() == []
        await world.stop()
        await world.start()             # the same Board from its rows, without the lock's help

    scene(story, COUNT)


def of_its_own(sources: list[str], args: dict) -> dict:
    """A Capability that leaves it to its Agent how the file count is read."""
    key = {"predicate": "case_key", "args": {"root": "?root", "name": "path", "value": "?path"}}
    return {"format": "rulith-capability/1", "id": "acme.files", "version": "1.0.0", "title": "Counted", "summary": "Counts.",
            "vocabulary": {"defines": [{"id": COUNTED, "as": "counted", "sources": sources, "args": args}], "imports": [{"id": "case_key", "as": "case_key"}]},
            "pins": [], "rules": [], "actions": [], "examples": [],
            "acceptance": [{"id": "some", "label": "there are files", "when": [key, {"predicate": "counted", "args": {"path": "?path", "files": "?n"}}, {"predicate": "gt", "args": {"left": "?n", "right": 2}}]}],
            "case_types": {"counting": {"title": "Count", "business_key": {"path": "string"}, "floor": "attested", "agent_rules": "rules_and_actions",
                                        "task": [{"node": "count", "goal": "Count the files.", "acceptance": "some"}], "drive": []}}}


ARGS = {"source": "string", "path": "string", "files": "number"}


def test_what_it_reports_certifies_a_case_and_verify_derives_it_again(scene, tmp_path, capsys):
    document = of_its_own(["file"], ARGS)

    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        await owner.act("capability-install", text=json.dumps(document), digest=digest(document), replaces="")
        case = (await host.call("OpenCase", {"caseType": "counting", "businessKey": {"path": "a"}}))["result"]
        asks = {**call(), "target": case["root"]}
        body = await done(host, worker, asks, [{"predicate": COUNTED, "args": {"source": "folder", "path": "a", "files": 3}}])
        assert body["view"]["taskStatus"][case["root"]]["certified"] is True
        assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"] is True
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert check_document(receipt).problems == [] and receipt["conclusions"][0]["predicate"] == "acceptance_met"
        (tmp_path / "receipt.json").write_text(json.dumps(receipt))

    scene(story, COUNT)
    assert verify.main([str(tmp_path / "receipt.json"), "--json"]) == 0
    assert "folder" in capsys.readouterr().out


@pytest.mark.parametrize("sources, args, problem", [(["http"], ARGS, "may attest"), (["file"], {"path": "string", "files": "number"}, "other arguments")])
def test_what_a_capability_says_of_a_predicate_holds_for_direct_actions_too(scene, sources, args, problem):
    document = of_its_own(sources, args)

    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        asked = asyncio.ensure_future(host.call("ApplyAction", call()))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        await owner.act("capability-install", text=json.dumps(document), digest=digest(document), replaces="")
        assert problem in (await owner.tool(COUNT))["direct"]["problem"]
        if sources == ["http"]:          # it was dispatched before the Capability came, and is judged by what is in force
            told = await worker.report(row, ok=True, result="done", facts=[{"predicate": COUNTED, "args": {"source": "folder", "path": "a", "files": 3}}])
            assert told["errorCode"] == "ingest_rejected"
        assert (await worker.report(row, ok=False, reason="enough"))["accepted"]
        await asked

    scene(story, COUNT)


def test_what_it_reported_keeps_a_capability_from_pinning_that_predicate(scene):
    document = {**of_its_own(["file"], ARGS), "pins": ["counted"]}

    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        await done(host, worker, call(), [{"predicate": COUNTED, "args": {"source": "folder", "path": "a", "files": 3}}])
        assert await owner.refused("capability-install", text=json.dumps(document), digest=digest(document), replaces="") == "release_conflict"
        answer = await owner.act("capability-check", text=json.dumps(document))
        assert "a direct Action has reported" in answer["result"]["conflicts"][0]

    scene(story, COUNT)


@pytest.mark.parametrize("kind", ["write", "run"])
def test_what_acts_waits_for_a_person_unless_the_owner_waives_it_for_this_lock(scene, kind):
    tool = {**WRITE, "kind": kind}

    async def story(world, owner, host, worker):
        await owner.lock(tool)
        await owner.bind(scene.folder, WRITTEN)
        (row,) = await row_of(host, "acme.files.put")
        assert row["waits"] == ["decision"] and row["decision"] == "direct_action"
        asks = {"action": "acme.files.put", "args": {"source": "folder", "path": "a"}}
        body = await host.call("ApplyAction", asks)
        assert body["state"] == "waiting_for_decision" and await worker.rows() == []
        waiting = (await world.local("state")).json()["decisions"][0]
        await owner.act("decide", id=waiting["id"], verdict="reject", argumentDigest=waiting["argumentDigest"], reason="not this")
        where = {"connectionId": world.profile.connection_id, "toolId": tool["id"]}
        assert await owner.refused("tool-waive", **where, digest="e" * 64, waived=True) == "tool_lock_not_as_shown"
        await owner.act("tool-waive", **where, digest=tool["digest"], waived=True)
        command = list(world.gateway.authority.ledger.rows("gateway"))[-1].body["command"]
        assert command["kind"] == "waive_decision" and command["authority"]["by"] == "owner"
        assert "decision" not in (await row_of(host, "acme.files.put"))[0]
        body = await done(host, worker, {**asks, "args": {"source": "folder", "path": "b"}}, [{"predicate": "acme.files.written", "args": {"path": "b"}}])
        assert body["accepted"] and body["told"]["accepted"]
        assert (await owner.tool(tool))["direct"] == {"action": "acme.files.put", "lacks": "", "kind": kind, "waived": True, "decision": False}
        await owner.act("tool-unlock", **where, digest=tool["digest"])
        await owner.lock(tool)
        assert (await row_of(host, "acme.files.put"))[0]["decision"] == "direct_action", "a new lock waives nothing"

    scene(story, tool, pollHoldMs=100)


def test_a_forged_report_of_a_direct_action_lands_nothing(scene):
    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        asked = asyncio.ensure_future(host.call("ApplyAction", call()))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        good = {"source": "folder", "path": "a", "files": 3}
        for predicate, args in (("acme.files.written", {"path": "a"}), ("acme.files.counted", {**good, "source": "other"}), ("acme.files.counted", {**good, "path": "b"}),
                                ("acme.files.counted", {**good, "more": 1}), ("rulith.verified_calculation.input", good), ("root", {"node": "x"})):
            told = await worker.report(row, ok=True, result="done", facts=[{"predicate": predicate, "args": args}])
            assert told["errorCode"] == "ingest_rejected", (predicate, args)
        assert (await worker.report(row, ok=True, result="done", facts=[{"predicate": "acme.files.counted", "args": good}]))["accepted"]
        assert (await asked)["accepted"]

    scene(story, COUNT)


@pytest.mark.parametrize("args, code", [({"path": 7}, "invalid_params"), ({"deep": "yes"}, "invalid_params"), ({"strange": 1}, "invalid_params"),
                                        ({"source": "nowhere"}, "source_wrong_type"), ({"source": "verified-calculation-local"}, "source_wrong_type")])
def test_its_arguments_are_those_of_the_locked_tool(scene, args, code):
    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        assert (await host.call("ApplyAction", call(**args)))["errorCode"] == code
        assert (await host.call("ApplyAction", {"action": NAME, "args": {"source": "folder"}}))["errorCode"] == "precondition_not_met"
        assert (await host.call("ApplyAction", {"action": NAME, "args": {"path": "a"}}))["errorCode"] == "source_needed"
        batch = await host.call("ApplyBatch", {"operations": [{"op": "apply_action", "action": NAME, "args": {"path": "a"}}]})
        assert batch["errorCode"] == "board_action" and "ApplyAction" in batch["teaching"]

    scene(story, COUNT)


def test_a_name_that_several_definitions_share_leads_to_none(scene):
    second = {**COUNT, "id": NAME + "@2", "digest": "e" * 64}

    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.lock(second)
        await owner.bind(scene.folder)
        (row,) = await row_of(host)
        assert (row["status"], row["reason"]) == ("blocked", "duplicate_name") and "candidates" not in row
        assert (await host.call("ApplyAction", call()))["errorCode"] == "needs_setup"
        await owner.act("tool-unlock", connectionId=world.profile.connection_id, toolId=second["id"], digest=second["digest"])
        assert (await row_of(host))[0]["status"] == "ready"
        own = {"op": "define_action", "action": NAME, "preconditions": [], "effects": [{"predicate": "mine"}]}
        await host.call("ApplyBatch", {"operations": [own]})
        rows = await row_of(host)
        assert [row.get("reason") for row in rows] == [None, "duplicate_name"]
        body = await host.call("ApplyAction", {"action": NAME, "args": {}})
        assert body["accepted"] and await worker.rows() == [], "the Agent's own Action keeps its name"

    scene(story, COUNT, second, pollHoldMs=100)


@pytest.mark.parametrize("changes, problem", [
    ({"returns": []}, "does not say"), ({"params": {"value": "json"}}, "json"),
    ({"returns": [{"predicate": "rulith.verified_calculation.total", "args": {"cents": "$cents"}}]}, "own"),
    ({"returns": [{"predicate": "rulith.exploration.completed", "args": {"case_id": "$case_id"}}]}, "own")])
def test_a_tool_that_may_not_act_directly_is_no_action_and_the_owner_reads_why(scene, changes, problem):
    tool = {**COUNT, **changes}

    async def story(world, owner, host, worker):
        await owner.lock(tool)
        assert await row_of(host) == [] and problem in (await owner.tool(tool))["direct"]["problem"]
        assert (await host.call("ApplyAction", call()))["errorCode"] == "unknown_action"

    scene(story, tool)


def test_a_capabilitys_own_tool_is_reached_through_its_action_alone(scene):
    async def story(world, owner, host, worker):
        for name in ("rulith.verified_calculation.write_output", "rulith.verified_calculation.write_output@1"):
            args = {"source": "verified-calculation-local", "job_id": "x", "subtotal_cents": 1, "total_cents": 1}
            body = await host.call("ApplyAction", {"action": name, "args": args})
            assert body["accepted"] is False and body["errorCode"] in ("not_permitted", "unknown_action")
        lock = next(each for each in world.gateway.authority.registry.locks.values() if "write_output" in each.tool_id)
        assert "uses it" in (await owner.tool({"id": lock.tool_id}))["direct"]["problem"]

    scene(story)


def test_a_case_that_leaves_actions_to_its_capability_offers_none(scene):
    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        other = world.host()
        await other.initialize()
        await other.call("QueryBoard")
        await other.ping()
        case = await world.open_case(other)
        view = (await other.call("OpenCase", {"caseId": case["caseId"]}))["view"]
        assert NAME not in [row["action"] for row in view["actions"]]
        assert (await other.call("ApplyAction", {**call(), "target": case["root"]}))["errorCode"] == "not_permitted"

    scene(story, COUNT)


@pytest.mark.parametrize("then, code", [("forbidden", "governance_rejected"), ("needs_decision", None)])
def test_the_constitution_governs_it_like_any_other(scene, then, code):
    head = {"action": "?a", "reason": "no counting"} if then == "forbidden" else {"action": "?a", "kind": "counting"}
    law = {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Law", "rules": [
        {"id": "count", "label": "counting", "when": [{"predicate": "proposed", "args": {"action": "?a", "tool": COUNT["id"], "kind": "read"}},
                                                     {"predicate": "proposed_source", "args": {"source": "folder"}}, {"predicate": "proposed_arg", "args": {"name": "path", "value": "a"}}],
         "then": [{"predicate": then, "args": head}]}]}

    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        await owner.act("constitution-install", text=json.dumps(law), digest=digest(law), replaces="")
        body = await host.call("ApplyAction", call())
        if code:
            assert body["errorCode"] == code and "no counting" in body["teaching"]
        else:
            assert body["state"] == "waiting_for_decision" and body["operations"][0]["decision"] == "counting"

    scene(story, COUNT)


def test_a_profile_hides_what_it_returns_or_reads(scene):
    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        await owner.act("agent-profile", id=world.profile.agent_id, profile={"predicates": ["x"]}, replaces=digest({}))
        assert await row_of(host) == [] and (await host.call("ApplyAction", call()))["errorCode"] == "unknown_action"
        await owner.act("agent-profile", id=world.profile.agent_id, profile={"sources": []}, replaces=digest({"predicates": ["x"]}))
        assert (await row_of(host))[0]["reason"] == "needs_setup"

    scene(story, COUNT)


def test_an_unlocked_or_changed_tool_runs_nothing_that_was_asked_before(scene):
    async def story(world, owner, host, worker):
        await owner.lock(COUNT)
        await owner.bind(scene.folder)
        worker.tools = [each for each in worker.tools if each["id"] != COUNT["id"]]
        await worker.poll()
        asked = asyncio.ensure_future(host.call("ApplyAction", call()))
        body = await asked
        assert body["accepted"] is False and body["errorCode"] == "needs_setup"
        worker.tools.append({**COUNT, "digest": "f" * 64})
        await worker.poll()
        assert (await host.call("ApplyAction", call()))["errorCode"] == "needs_setup"

    scene(story, COUNT, pollHoldMs=100)


@pytest.mark.parametrize(("asked", "told", "lies"), [
    ("sub", "sub/a.txt", True), ("./sub//", "sub/a.txt", True), ("", "a.txt", True), (".", "./?a", True), ("sub", "sub", False),
    ("sub", "submarine/a.txt", False), ("sub", "other/a.txt", False), ("sub", "sub/../other", False), ("sub", "a.txt", False), ("", "", False), ("", 7, False)])
def test_what_lies_below_a_folder_begins_with_all_of_its_names(asked, told, lies):
    assert lies_below(told, asked) is lies


@pytest.mark.parametrize(("tool_id", "told", "lands"), [
    ("rulith.workspace.list@1", "sub/a.txt", True), ("rulith.workspace.list@1", "submarine/a.txt", False), ("acme.look@1", "sub/a.txt", True)])
def test_rows_of_a_listing_lie_below_the_folder_that_was_asked_for(scene, tool_id, told, lands):
    """A column named like an argument repeats it; a listing's paths are those of what the asked folder holds."""
    tool = {**BUILTINS["rulith.workspace.list@1"].descriptor(), "id": tool_id}

    async def story(world, owner, host, worker):
        await owner.lock(tool)
        await owner.bind(scene.folder, "rulith.worker.dir_entry")
        fact = {"predicate": "rulith.worker.dir_entry", "args": {"source": "folder", "path": told, "entry_type": "file"}}
        body = await done(host, worker, {"action": tool_id[:-2], "args": {"source": "folder", "path": "./sub"}}, [fact])
        assert body["told"]["accepted"] is lands and (lands or body["told"]["errorCode"] == "ingest_rejected"), body

    scene(story, tool)


def test_a_path_that_no_worker_would_claim_is_refused_when_it_is_asked_for(scene):
    """Left unclaimed it would hold its Agent up until a person withdraws it."""
    tools = [BUILTINS[f"rulith.workspace.{name}@1"].descriptor() for name in ("read_text", "list")]

    async def story(world, owner, host, worker):
        for tool in tools:
            await owner.lock(tool)
        await owner.bind(scene.folder, "rulith.worker.text_file")
        for path, said in (("../x", "climbs out"), ("/etc/passwd", "absolute"), ("ab:c", "stream"), ("con", "device name"), ("e\u0301", "composed"), ("", "names no file"), (".", "names no file")):
            body = await host.call("ApplyAction", {"action": "rulith.workspace.read_text", "args": {"source": "folder", "path": path}})
            assert body["errorCode"] == "invalid_params" and said in body["teaching"], body
        assert await worker.rows() == []
        text = {"source": "folder", "path": "a", "text": "x", "digest": "0"}
        body = await done(host, worker, {"action": "rulith.workspace.read_text", "args": {"source": "folder", "path": "a"}}, [{"predicate": "rulith.worker.text_file", "args": text}])
        assert body["accepted"] and body["told"]["accepted"]

    scene(story, *tools, pollHoldMs=100)
