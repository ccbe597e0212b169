"""The life of Cases end to end: deadlines, upgrades beside open Cases, obligations, explorations, histories.

Duty: design §5, "Case life" and "Capability"; the MCP surface, §§4.1, 4.4, 4.5 and 15.
"""

from __future__ import annotations

import json

from rulith.base.canonical import digest
from rulith.base.resources import shipped_text

PASSPHRASE = "correct horse battery"
EXAMPLE = json.loads(shipped_text("examples", "verified-calculation", "capability.json"))
NOTE = {"op": "assert_fact", "predicate": "note", "args": {"n": 1}}


class Later:
    """The gateway's clock, so many seconds ahead."""

    def __init__(self, clock, ahead_s: float) -> None:
        self.monotonic_s, self._clock, self._ahead_s = clock.monotonic_s, clock, ahead_s

    def wall_s(self) -> float:
        return self._clock.wall_s() + self._ahead_s


class Owner:
    """A signed-in person, by the Console's API."""

    def __init__(self, world, kit) -> None:
        self.world, self.kit, self.headers = world, kit, {"content-type": "application/json"}

    async def post(self, route: str, **body) -> dict:
        answer = await self.kit.http(self.world.port, "POST", f"/console/api/{route}", self.headers, json.dumps(body).encode())
        told = answer.json()
        if "set-cookie" in answer.headers:
            self.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        if "token" in told:
            self.headers["x-rulith-console"] = told["token"]
        assert told["ok"], told
        return told

    async def set_up(self) -> Owner:
        await self.post("setup", code=self.world.gateway.setup_code, passphrase=PASSPHRASE)
        return self

    async def install(self, **changes) -> dict:
        """The demo's Capability with other members, in place of the one in force."""
        document = {**json.loads(json.dumps(EXAMPLE)), **changes}
        now = self.world.gateway.authority.registry.releases[EXAMPLE["id"]]
        await self.post("capability-install", text=json.dumps(document), digest=digest(document), replaces=now["digest"])
        return document


def with_deadline(seconds: int) -> dict:
    types = json.loads(json.dumps(EXAMPLE["case_types"]))
    types["verified_calculation"]["deadline_s"] = seconds
    return {"version": "2.0.0", "case_types": types}


async def connected(world):
    """A session that has read what the one before it left undelivered."""
    host = world.host()
    await host.initialize()
    await host.call("QueryBoard")
    return host


# --- deadlines -------------------------------------------------------------------------


def test_a_case_past_its_deadline_takes_no_work_and_closes(play, kit):
    async def story(world):
        await (await Owner(world, kit).set_up()).install(**with_deadline(3600))
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        assert (await world.act(host, worker, "read_input", case["root"]))["accepted"]
        held = await host.call("ApplyAction", kit.action_call("write_output", case["root"]))      # nobody takes it in time
        assert held["state"] == "running"
        world.gateway.authority.clock = Later(world.gateway.authority.clock, 3601)
        assert await worker.rows() == []
        told = (await host.call("QueryBoard"))
        assert told["operations"][0]["state"] == "refused" and "past its deadline" in told["operations"][0]["reason"]
        assert told["view"]["position"]["writes"] == {"paused": "cases_expired"} and told["view"]["roots"][0]["expired"] is True
        for tool, arguments in (("ApplyBatch", {"operations": [NOTE]}), ("ApplyAction", kit.action_call("write_output", case["root"]))):
            refused = await host.call(tool, arguments)
            assert refused["accepted"] is False and refused["errorCode"] == "board_draining" and "Close it" in refused["teaching"]
        assert (await world.open_case(host))["caseId"] == case["caseId"]
        closed = await host.call("CloseCase", {"root": case["root"], "disposition": "failed", "reason": "too late"})
        assert closed["result"]["disposition"] == "failed"
        receipt = world.gateway.authority.receipt_document(world.profile.agent_id, case["caseId"])
        assert receipt["case"]["deadline"] == case["deadline"]
        assert (await world.open_case(host))["opened"]

    play(story, pollHoldMs=100, holdMs=100)


def test_a_deadline_is_the_same_after_a_restart(play, kit):
    async def story(world):
        await (await Owner(world, kit).set_up()).install(**with_deadline(60))
        case = await world.open_case(await connected(world))
        await world.stop()
        await world.start()
        host = await connected(world)
        focused = await host.call("OpenCase", {"caseId": case["caseId"]})
        assert focused["accepted"], focused
        assert focused["result"]["deadline"] == case["deadline"] == focused["view"]["roots"][0]["deadline"]

    play(story)


# --- upgrades --------------------------------------------------------------------------


def test_an_open_case_goes_on_under_its_release_through_an_upgrade_and_a_restart(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        assert (await world.act(host, worker, "read_input", case["root"]))["accepted"]
        drive = [dict(row) for row in EXAMPLE["actions"]]
        drive[1]["description"] = "Write it in another way"
        await owner.install(version="2.0.0", actions=drive)
        await worker.release()
        await world.stop()
        await world.start()
        host, worker = await connected(world), world.worker()
        await worker.poll()
        assert (await host.call("OpenCase", {"caseId": case["caseId"]}))["accepted"]
        refused = await host.call("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-002"}})
        assert refused["errorCode"] == "board_draining" and case["caseId"] in refused["teaching"]
        for action in ("write_output", "verify_output"):
            answer = await world.act(host, worker, action, case["root"])
            assert answer["accepted"] and answer["result"]["ok"], answer
        assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"]
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert receipt["release"]["version"] == "1.0.0" and receipt["release"]["digest"] == digest(EXAMPLE)
        later = await world.open_case(host, job="calc-002")
        board = world.gateway.authority.agents[world.profile.agent_id].board
        assert board.case(later["caseId"]).release["version"] == "2.0.0" and board.case(case["caseId"]).release["version"] == "1.0.0"
        actions = (await host.call("QueryBoard", {"include": ["nodes"], "selector": {"roots": [later["root"]]}}))["view"]["actions"]
        assert "Write it in another way" in [row.get("description") for row in actions]

    play(story, pollHoldMs=100)


# --- obligations -----------------------------------------------------------------------


def test_a_close_that_is_not_completed_waits_for_the_open_call_too(play, kit):
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        asked = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert asked["state"] == "running"
        end = {"root": case["root"], "disposition": "cancelled", "reason": "no longer wanted"}
        refused = await host.call("CloseCase", end)
        assert refused["requestExecuted"] is False and refused["errorCode"] == "operation_running"
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        assert (await host.call("CloseCase", end))["errorCode"] == "operation_running"
        assert (await worker.report(row, ok=False, result="", reason="gone"))["accepted"]
        await host.call("QueryBoard")
        closed = await host.call("CloseCase", end)
        assert closed["result"] == {"caseId": case["caseId"], "root": case["root"], "disposition": "cancelled", "certified": False}

    play(story, pollHoldMs=100, holdMs=100)


# --- explorations ----------------------------------------------------------------------


def test_what_an_exploration_made_is_gone_from_every_view_after_its_close(play, kit):
    async def story(world):
        host = await connected(world)
        kept = await world.open_case(host)
        await host.call("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "kept", "args": {"n": 1}}]})
        made = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
        answer = await host.call("ApplyBatch", {"operations": [
            NOTE, {"op": "add_axiom", "id": "twice", "when": [{"predicate": "note", "args": {"n": "?n"}}], "then": [{"predicate": "twice", "args": {"n": "?n"}}]},
            {"op": "define_action", "id": "act", "action": "mark", "preconditions": [{"predicate": "twice", "args": {"n": "?n"}}],
             "effects": [{"predicate": "marked", "args": {"n": "?n"}}]},
            {"op": "derive_aggregate", "id": "all", "kind": "count", "source": {"predicate": "note"}, "into": {"predicate": "notes", "valueArg": "n"}},
            {"op": "declare_goal", "id": "goal", "desired": [{"predicate": "marked", "args": {"n": 1}}]},
            {"op": "apply_action", "action": "mark"}]})
        assert answer["accepted"], answer
        ask = {"include": ["nodes", "gaps", "taskStatus"], "selector": {"roots": [kept["root"], made["root"]]}}
        view = (await host.call("QueryBoard", ask))["view"]
        assert {"note", "twice", "marked", "notes", "kept"} <= {each.get("predicate") for each in view["nodes"]}
        assert "mark" in [row["action"] for row in view["actions"]] and view["position"]["rules"] == "rules_and_actions"
        closed = await host.call("CloseCase", {"root": made["root"]})
        assert closed["result"]["certified"]
        view = (await host.call("QueryBoard", ask))["view"]
        assert {each.get("predicate") for each in view["nodes"]} == {"kept"}
        assert "mark" not in [row["action"] for row in view["actions"]]
        gone = await host.call("ApplyBatch", {"operations": [{"op": "apply_action", "action": "mark"}]})
        assert gone["errorCode"] == "unknown_action"
        receipt = (await world.local(f"receipt?case={made['caseId']}")).json()
        assert receipt["case"]["exploratory"] is True and receipt["release"] is None
        board = world.gateway.authority.agents[world.profile.agent_id].board
        assert board.case_history(made["root"])["certified"] and {each["predicate"] for each in board.case_history(made["root"])["facts"]} == {"marked", "note"}

    play(story)


# --- histories -------------------------------------------------------------------------


def test_the_pages_of_a_history_are_all_of_it_and_of_one_version_after_a_restart(play, kit):
    async def story(world):
        host = await connected(world)
        made = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
        ask = {"include": ["caseHistory"], "selector": {"roots": [made["root"]]}, "limit": 4}
        assert (await host.call("QueryBoard", ask))["view"]["caseHistory"] == {"root": made["root"], "status": "unavailable"}
        await host.call("ApplyBatch", {"operations": [{**NOTE, "args": {"n": n}} for n in range(10)]})
        await host.call("CloseCase", {"root": made["root"], "disposition": "abandoned", "reason": "seen enough"})

        async def page(offset: int, version: str | None) -> dict:
            more = {"historyOffset": offset, **({"historyVersion": version} if version else {})}
            return (await host.call("QueryBoard", {**ask, **more}))

        first = (await page(0, None))["view"]["caseHistory"]
        version, seen = first["historyVersion"], first["facts"]
        await world.stop()
        await world.start()
        host = await connected(world)
        while True:
            found = (await page(len(seen), version))["view"]["caseHistory"]
            assert found["historyVersion"] == version and found["asOf"] == "case_close" and found["disposition"] == "abandoned"
            seen += found["facts"]
            if not found["truncated"]:
                break
            assert found["nextOffset"] == len(seen)
        assert [each["args"]["n"] for each in seen] == list(range(10))
        assert (await page(99, version))["view"]["caseHistory"]["facts"] == []
        assert (await page(4, "history:" + "0" * 64))["errorCode"] == "stale_revision"
        assert (await page(4, None))["errorCode"] == "bad_command"

    play(story)
