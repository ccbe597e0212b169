"""What an Agent may see, narrowed and widened in the Console, end to end. Duty: design §5, "Agent Profiles"; the MCP surface, §§3, 6."""

from __future__ import annotations

import asyncio
import json
import re
from random import Random

import pytest

from rulith.base.canonical import digest
from rulith.wire.results import validate_result

PASSPHRASE = "correct horse battery"
SECRET, PRICE = "9593", "1299"                 # the derived total; what the Source told
P = "rulith.verified_calculation."
NARROW = {"predicates": [P + "subtotal"]}
NO_CAPABILITY, NO_TYPE, NO_SOURCE = {"capabilities": []}, {"case_types": ["exploration"]}, {"sources": []}


class Owner:
    """The Console as its page uses it."""

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
        return (await self._post(route, body, self.headers)).json()

    async def shows(self, profile: dict) -> None:
        answer = await self.act("agent-profile", id=self.world.profile.agent_id, profile=profile, replaces=digest(self.shown()))
        assert answer["ok"], answer

    def shown(self) -> dict:
        found = self.world.gateway.authority.registry.profile(self.world.profile.agent_id)
        return found.record() if found else {}


def scene(play, kit, **settings):
    """A story with an initialized Host, a Worker, an owner and an open Case that has read its order."""
    def tell(story):
        async def main(world):
            owner, host, worker = await Owner(world, kit).set_up(), world.host(), world.worker()
            await host.initialize()
            await worker.poll()
            case = await world.open_case(host)
            await world.act(host, worker, "read_input", case["root"])
            await story(world, owner, host, worker, case)
        play(main, **settings)
    return tell


def clean(body: object) -> str:
    text = json.dumps(body)
    assert SECRET not in text and PRICE not in text, text
    return text


async def strip_row(host, at: int = 0) -> dict:
    return (await host.call("QueryBoard"))["operations"][at]


# --- narrowing -------------------------------------------------------------------------


def test_narrowing_predicates_withholds_values_from_every_answer_and_widening_shows_them(play, kit):
    async def story(world, owner, host, worker, case):
        asks = {"include": ["nodes", "gaps", "taskStatus"], "selector": {"roots": [case["root"]]}}
        assert SECRET in json.dumps(await host.call("QueryBoard", asks))
        await owner.shows(NARROW)
        seen = await host.call("QueryBoard", asks)
        clean(seen)
        assert [node["predicate"] for node in seen["view"]["nodes"]] == [P + "subtotal"] and seen["view"]["total"] == 1
        clean(await host.call("ApplyAction", {"action": P + "write_output", "args": {}, "target": case["root"]}))
        clean(await host.call("CloseCase", {"root": case["root"]}))
        clean(await host.call("ApplyBatch", {"operations": [{"op": "retract_node", "nodeId": "f_" + "0" * 24}]}))
        clean(await host.call("OpenCase", {"caseId": case["caseId"]}))
        clean((await host.rpc("ping")).json())
        await owner.shows({})
        assert SECRET in json.dumps(await host.call("QueryBoard", asks))
        assert world.gateway.authority.ledger.verify() == []

    scene(play, kit)(story)


@pytest.mark.parametrize("profile", [NO_CAPABILITY, NO_TYPE, NO_SOURCE], ids=["capability", "case type", "source"])
def test_an_earlier_outcome_is_withheld_end_to_end(play, kit, profile):
    """The strip, the gate's refusal, the state list and a held call's answer: the class stays, content and label go."""
    async def story(world, owner, host, worker, case):
        await owner.shows(profile)
        row = await strip_row(host)
        assert row["contentWithheld"] is True and row["state"] == "done" and not row.keys() & {"result", "summary", "reason"}
        assert row["label"] == "ApplyAction"
        assert [each["label"] for each in await host.ping()][0] == "ApplyAction"
        clean(row)
        await owner.shows({})
        row = await strip_row(host)
        assert "contentWithheld" not in row and row["label"].startswith("ApplyAction " + P + "read_input")

    scene(play, kit)(story)


def test_a_held_call_that_settles_after_narrowing_ends_withheld(play, kit):
    async def story(world, owner, host, worker, case):
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("write_output", case["root"])))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        await owner.shows(NO_CAPABILITY)
        assert (await worker.report(row, ok=True, result="done", facts=kit.facts_for(row["tool"])))["accepted"]
        body = await asked
        assert body["state"] == "done" and body["contentWithheld"] is True and "accepted" not in body and "result" not in body
        clean(body)

    scene(play, kit)(story)


def test_a_call_that_waits_for_its_worker_ends_refused_when_its_action_is_hidden(play, kit):
    async def story(world, owner, host, worker, case):
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("write_output", case["root"])))
        while not any(each.state == "ready" for each in world.gateway.authority.agents[world.profile.agent_id].operations.operations.values()):
            await asyncio.sleep(0)
        await owner.shows(NO_CAPABILITY)
        assert await worker.rows() == []
        body = await asked
        assert body["state"] == "refused" and body["contentWithheld"] is True
        clean(body)

    scene(play, kit, pollHoldMs=100)(story)


@pytest.mark.parametrize("profile", [NARROW, {"tiers": ["asserted"]}], ids=["predicates", "tiers"])
def test_a_workers_words_about_hidden_arguments_are_withheld(play, kit, profile):
    async def story(world, owner, host, worker, case):
        await owner.shows(profile)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("write_output", case["root"])))
        row = (await worker.rows_until())[0]
        assert SECRET in row["args"] and (await worker.claim(row))["accepted"]
        assert (await worker.report(row, ok=False, reason=f"{SECRET} is too much, and {PRICE} was too"))["accepted"]
        body = await asked
        assert body["state"] == "failed" and body["contentWithheld"] is True
        clean(body)
        asks = {"include": ["nodes", "gaps", "taskStatus"], "selector": {"roots": [case["root"]]}}
        clean(await host.call("QueryBoard", asks))
        clean(await host.call("OpenCase", {"caseId": case["caseId"]}))

    scene(play, kit)(story)


def test_what_needs_a_person_quotes_nothing_hidden(play, kit):
    async def story(world, owner, host, worker, case):
        await owner.shows(NARROW)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("write_output", case["root"])))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        told = await worker.report(row, ok=True, result="done", facts=[{"predicate": P + "written", "args": {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9592, "sha256": "x"}}])
        assert told["errorCode"] == "ingest_rejected" and SECRET in told["teaching"]
        body = await asked
        assert body["state"] == "needs_person" and "reason" not in body["operations"][0]
        clean(body)
        clean(await host.call("OpenCase", {"caseId": case["caseId"]}))

    scene(play, kit)(story)


def test_words_that_were_written_for_wider_eyes_are_withheld_and_narrow_ones_stay(play, kit):
    async def story(world, owner, host, worker, case):
        wide = await host.call("ApplyAction", {"action": P + "verify_output", "args": {"source": "nowhere"}, "target": case["root"]})
        assert wide["accepted"] is False
        await owner.shows(NARROW)
        row = await strip_row(host)
        assert row["contentWithheld"] is True and "reason" not in row
        narrow = await host.call("ApplyAction", {"action": "nothing", "args": {}})
        row = await strip_row(host)
        assert row["reason"] == narrow["teaching"] and narrow["errorCode"] == "unknown_action"

    scene(play, kit)(story)


# --- what is told a second time --------------------------------------------------------


def test_a_repeated_read_is_not_answered_from_wider_times(play, kit):
    async def story(world, owner, host, worker, case):
        asks = {"include": ["nodes"], "selector": {"roots": [case["root"]]}}
        first = (await host.call_raw("QueryBoard", asks, id="r1")).json()
        assert SECRET in json.dumps(first)
        await owner.shows(NARROW)
        again = (await host.call_raw("QueryBoard", asks, id="r1")).json()
        body = kit.text_of(again, "QueryBoard")
        assert body["errorCode"] == "result_unavailable" and "view" not in body
        clean(again)

    scene(play, kit)(story)


def test_a_repeated_write_tells_its_class_and_shows_all_again_once_widened(play, kit):
    async def story(world, owner, host, worker, case):
        asked = asyncio.ensure_future(host.call_raw("ApplyAction", kit.action_call("write_output", case["root"]), id="w1"))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await worker.report(row, ok=True, result="done", facts=kit.facts_for(row["tool"]))
        first = kit.text_of((await asked).json(), "ApplyAction")
        assert first["accepted"]
        before = sum(1 for _ in world.gateway.authority.ledger.rows())
        await owner.shows(NO_SOURCE)
        again = kit.text_of((await host.call_raw("ApplyAction", kit.action_call("write_output", case["root"]), id="w1")).json(), "ApplyAction")
        assert again["state"] == "done" and again["contentWithheld"] is True
        clean(again)
        await owner.shows({})
        wide = kit.text_of((await host.call_raw("ApplyAction", kit.action_call("write_output", case["root"]), id="w1")).json(), "ApplyAction")
        assert wide["accepted"] and wide["result"] == first["result"] and SECRET in json.dumps(wide)
        assert sum(1 for _ in world.gateway.authority.ledger.rows()) - before <= 4, "nothing ran again"

    scene(play, kit)(story)


@pytest.mark.parametrize("tool", ["QueryBoard", "OpenCase"])
def test_a_resumed_stream_tells_what_may_be_seen_now(play, kit, tool):
    async def story(world, owner, host, worker, case):
        arguments = {"include": ["nodes"], "selector": {"roots": [case["root"]]}} if tool == "QueryBoard" else {"caseId": case["caseId"]}
        answer = await host.call_raw(tool, arguments, progress="p", id="s1")
        assert SECRET in answer.body.decode()
        cursor = answer.event_ids()[0]
        await owner.shows(NARROW)
        resumed = await host.resume(cursor)
        assert resumed.status == 200 and SECRET not in resumed.body.decode() and PRICE not in resumed.body.decode()
        body = kit.text_of(resumed.events()[-1])
        validate_result("preExecutionRefusal" if tool == "QueryBoard" else "acceptedResult", body) if tool != "QueryBoard" else None
        assert body["errorCode"] == "result_unavailable" if tool == "QueryBoard" else body["accepted"]
        twice = await host.resume(cursor)
        assert twice.body == resumed.body

    scene(play, kit)(story)


@pytest.mark.parametrize("progress", [None, "p"], ids=["JSON", "stream"])
def test_an_answer_that_was_composed_before_a_narrowing_commit_leaves_after_it(play, kit, progress):
    """The Console's act and the answer settle in one commit; the answer was written first."""
    async def story(world, owner, host, worker, case):
        authority = world.gateway.authority
        settled = authority.settled

        async def narrowing() -> None:
            authority.settled = settled
            authority.command_registry({"kind": "set_profile", "id": world.profile.agent_id, "profile": NARROW, "authority": {"kind": "person", "by": "owner", "signInAgeS": 0}})
            await settled()

        authority.settled = narrowing
        answer = await host.call_raw("QueryBoard", {"include": ["nodes"], "selector": {"roots": [case["root"]]}}, progress=progress)
        assert authority.settled == settled and SECRET not in answer.body.decode() and "result_unavailable" in answer.body.decode()

    scene(play, kit)(story)


def test_a_ping_is_answered_while_a_long_command_runs_on_the_board(play, kit):
    async def story(world, owner, host, worker, case):
        await owner.shows(NO_CAPABILITY)
        state = world.gateway.authority.agents[world.profile.agent_id]
        state.busy = asyncio.get_running_loop().create_future()
        told = (await host.rpc("ping")).json()["result"]["_meta"]["rulith/v3"]
        assert told["focusedRoots"] == [] and {each["label"] for each in told["operations"]} <= {"OpenCase", "ApplyAction"}
        state.busy.set_result(None)
        state.busy = None

    scene(play, kit)(story)


def test_a_new_session_hears_nothing_of_what_is_hidden(play, kit):
    async def story(world, owner, host, worker, case):
        await owner.shows(NO_TYPE)
        assert (await host.rpc("ping")).json()["result"]["_meta"]["rulith/v3"]["focusedRoots"] == []
        other = world.host()
        told = await other.initialize()
        clean(told)
        assert told["_meta"]["rulith/v3"]["focusedRoots"] == [] and {each["label"] for each in told["_meta"]["rulith/v3"]["operations"]} <= {"OpenCase", "ApplyAction"}
        seen = await other.call("QueryBoard")
        assert seen["view"]["cases"] == {"directory": [], "total": 0} and case["caseId"] not in json.dumps(seen)

    scene(play, kit)(story)


# --- opening and applying --------------------------------------------------------------


@pytest.mark.parametrize("profile", [NO_CAPABILITY, NO_TYPE], ids=["capability", "case type"])
def test_what_is_hidden_is_answered_like_what_is_not_there(play, kit, profile):
    async def story(world, owner, host, worker, case):
        await owner.shows(profile)
        pairs = [("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-002"}}, {"caseType": "nothing", "businessKey": {"job_id": "calc-002"}}),
                 ("OpenCase", {"caseId": case["caseId"]}, {"caseId": "case_" + "0" * 24}),
                 ("CloseCase", {"root": case["root"]}, {"root": "root_" + "0" * 24}),
                 ("ApplyAction", {"action": P + "read_input", "target": case["root"]},
                  {"action": "x.read_input" if profile is NO_CAPABILITY else P + "read_input", "target": "root_" + "0" * 24}),
                 ("ApplyAction", {"action": P + "read_input", "target": case["root"] + "/total"},
                  {"action": "x.read_input" if profile is NO_CAPABILITY else P + "read_input", "target": "root_" + "0" * 24 + "/total"})]
        for tool, hidden, missing in pairs:
            one, other = await host.call(tool, hidden), await host.call(tool, missing)
            assert one["accepted"] is other["accepted"] is False and one["errorCode"] == other["errorCode"], (one, other)
            texts = [re.sub(r"[a-z]+_[0-9a-f]{24}|'[^']*'", "…", each["teaching"]) for each in (one, other)]
            assert texts[0] == texts[1]
            rows = [next(row for row in each["operations"]) for each in (one, other)]
            assert rows[0].keys() == rows[1].keys()
        batch = await host.call("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "x"}]})
        assert batch["errorCode"] == "no_acceptance_root", "a hidden Case takes no writes"
        roots = {"include": ["nodes"], "selector": {"roots": [case["root"]]}}
        assert (await host.call("QueryBoard", roots))["view"]["unavailableRoots"] == [case["root"]]
        history = {"include": ["caseHistory"], "selector": {"roots": [case["root"]]}}
        assert (await host.call("QueryBoard", history))["view"]["caseHistory"]["status"] == "unavailable"
        await owner.shows({})
        assert (await host.call("OpenCase", {"caseId": case["caseId"]}))["accepted"]

    scene(play, kit)(story)


def test_a_rule_over_a_hidden_predicate_is_refused_by_name(play, kit):
    async def story(world, owner, host, worker, case):
        await owner.shows({"predicates": [P + "subtotal", "mine"]})
        opened = await host.call("OpenCase", {"caseType": "exploration"})
        assert opened["accepted"]
        rule = {"op": "add_axiom", "when": [{"predicate": P + "total", "args": {"cents": "?c"}}], "then": [{"predicate": "mine", "args": {"c": "?c"}}]}
        refused = await host.call("ApplyBatch", {"operations": [rule]})
        assert refused["errorCode"] == "not_authorized" and P + "total" in refused["teaching"]
        allowed = {**rule, "when": [{"predicate": P + "subtotal", "args": {"cents": "?c"}}]}
        done = await host.call("ApplyBatch", {"operations": [allowed]})
        assert done["accepted"] and "9093" in json.dumps(done)
        await owner.shows({"predicates": ["mine"]})
        assert "9093" not in json.dumps(await host.call("QueryBoard", {"include": ["nodes"], "selector": {"roots": [opened["result"]["root"]]}}))

    scene(play, kit)(story)


def test_under_random_profiles_no_byte_of_any_answer_holds_a_hidden_value(play, kit):
    """Each value and the predicates that hold it; what is visible is told here by the lists alone."""
    names = ["input", "subtotal", "total", "written"]
    holds = {"1299": ["input"], "9093": ["subtotal", "written"], "9593": ["total", "written"], kit.SHA: ["written"]}
    random = Random(4)

    def some(rows: list[str]) -> list[str]:
        return [each for each in rows if random.random() < 0.6]

    def profile() -> dict:
        whole = {"capabilities": some([P[:-1]]), "case_types": some(["verified_calculation", "exploration"]), "predicates": [P + name for name in some(names)],
                 "sources": some(["verified-calculation-local"]), "tiers": some(["attested", "asserted"])}
        return {name: rows for name, rows in whole.items() if random.random() < 0.5}

    def shown(listed: dict) -> set[str]:
        needed = {"capabilities": P[:-1], "case_types": "verified_calculation", "sources": "verified-calculation-local", "tiers": "attested"}
        if any(name in listed and value not in listed[name] for name, value in needed.items() if name != "case_types"):
            return set()
        return {value for value, rows in holds.items() if any("predicates" not in listed or P + name in listed["predicates"] for name in rows)}

    async def story(world, owner, host, worker, case):
        await world.act(host, worker, "write_output", case["root"])
        asks, history = {"include": ["nodes", "gaps", "taskStatus", "cases"], "selector": {"roots": [case["root"]]}}, {"include": ["caseHistory"], "selector": {"roots": [case["root"]]}}
        calls = [("QueryBoard", asks), ("OpenCase", {"caseId": case["caseId"]}), ("ApplyAction", {"action": P + "write_output", "args": {}}), ("CloseCase", {"root": case["root"]}),
                 ("ApplyAction", {"action": P + "verify_output", "args": {"source": "x"}}), ("QueryBoard", {}), ("QueryBoard", history),
                 ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": P + "total", "args": {"cents": 1}}]})]
        seen: set[str] = set()
        for turn in range(24):
            if turn == 16:
                await owner.shows({})
                assert (await host.call("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "enough"}))["accepted"]
            listed = profile()
            await owner.shows(listed)
            hidden = set(holds) - shown(listed)
            for number, (tool, arguments) in enumerate(calls):
                answers = [await host.call_raw(tool, arguments, id=f"{turn}.{number}", progress="p" if number % 2 else None)]
                if turn:
                    answers.append(await host.call_raw(tool, arguments, id=f"{turn - 1}.{number}"))      # of the Profile before
                for answer in answers:
                    text = answer.body.decode()
                    assert answer.status == 200 and not [value for value in hidden if value in text], (listed, tool, text)
                    seen.update(value for value in holds if value in text)
            assert not [value for value in hidden if value in (await host.rpc("ping")).body.decode()]
        assert seen == set(holds), "some Profiles showed each"

    scene(play, kit)(story)


# --- who edits it ----------------------------------------------------------------------


def test_a_profile_is_changed_only_as_it_was_shown_and_survives_a_restart(play, kit):
    async def story(world, owner, host, worker, case):
        mine = world.profile.agent_id
        stale = await owner.act("agent-profile", id=mine, profile=NARROW, replaces=digest(NARROW))
        assert stale["errorCode"] == "profile_not_as_shown"
        assert (await owner.act("agent-profile", id=mine, profile={"tiers": ["gold"]}, replaces=digest({})))["errorCode"] == "bad_command"
        assert (await owner.act("agent-profile", id="agent_x", profile={}, replaces=digest({})))["errorCode"] == "unknown_agent"
        await owner.shows(NARROW)
        row = list(world.gateway.authority.ledger.rows("gateway"))[-1].body["command"]
        assert row["kind"] == "set_profile" and row["authority"]["by"] == "owner" and row["profile"] == NARROW
        await world.stop()
        await world.start()
        host = world.host()
        await host.initialize()
        clean(await host.call("QueryBoard", {"include": ["nodes"], "selector": {"roots": [case["root"]]}}))
        assert owner.shown() == NARROW

    scene(play, kit)(story)


def test_a_person_sees_everything_and_may_look_through_the_agents_eyes(play, kit):
    async def story(world, owner, host, worker, case):
        await owner.shows(NARROW)
        whole = (await world.local(f"case?case={case['caseId']}")).body.decode()
        assert SECRET in whole and PRICE in whole
        clean((await world.local(f"case?case={case['caseId']}&as=agent")).json())
        atom = json.dumps({"predicate": P + "subtotal", "args": {"job_id": "calc-001", "cents": 9093}}).replace(" ", "").replace('"', "%22").replace("{", "%7B").replace("}", "%7D")
        assert PRICE in (await world.local(f"proof?atom={atom}")).body.decode()
        tree = (await world.local(f"proof?atom={atom}&as=agent")).json()
        assert tree["premises"][0]["withheld"] is True
        clean(tree)

    scene(play, kit)(story)
