"""What a person does to a whole Case: end it, hold it, withdraw a call; and who may not. Duty: design §5."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from rulith.gateway.console_cases import BODIES
from rulith.wire.terminal_receipt import check_document

PASSPHRASE = "correct horse battery"


class Person:
    """The Console as its page uses it: a cookie, and a token held in memory."""

    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit
        self.cookie = self.token = ""

    async def raw(self, route: str, body: dict, **headers: str):
        sent = {"content-type": "application/json", "cookie": f"rulith_console={self.cookie}", "x-rulith-console": self.token, **headers}
        answer = await self.kit.http(self.world.port, "POST", f"/console/api/{route}", sent, json.dumps(body).encode())
        if "set-cookie" in answer.headers:
            self.cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1)
        self.token = answer.json().get("token", self.token)
        return answer

    async def set_up(self) -> Person:
        assert (await self.raw("setup", {"code": self.world.gateway.setup_code, "passphrase": PASSPHRASE})).status == 200
        return self

    async def act(self, route: str, **body) -> dict:
        answer = (await self.raw(route, {"agentId": self.world.profile.agent_id, **body})).json()
        assert answer["ok"], answer
        return answer["result"]

    async def refused(self, route: str, **body) -> str:
        """The code of a refusal; no row was written for it."""
        before = heads(self.world)
        answer = (await self.raw(route, {"agentId": self.world.profile.agent_id, **body})).json()
        assert answer["ok"] is False and answer["teaching"], answer
        assert heads(self.world) == before
        return answer["errorCode"]

    async def read(self, address: str) -> dict:
        answer = await self.kit.http(self.world.port, "GET", f"/console/api/{address}", {"cookie": f"rulith_console={self.cookie}"})
        return answer.json()

    async def case(self, case_id: str) -> dict:
        return (await self.read(f"case?agent={self.world.profile.agent_id}&case={case_id}"))["caseDetail"]


def heads(world) -> dict:
    ledger = world.gateway.authority.ledger
    return {name: ledger.head(name) for name in ledger.chains()}


def last_command(receipt: dict) -> dict:
    return [row["body"]["command"] for row in receipt["rows"] if row["kind"] == "board"][-1]


async def failed_read(world, kit):
    """A live Case whose read failed, as a cron job leaves it: (host, worker, case)."""
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    case = await world.open_case(host)
    asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
    row = (await worker.rows_until())[0]
    await worker.claim(row)
    await worker.report(row, ok=False, reason="no such file")
    assert (await asked)["result"]["status"] == "failed"
    return host, worker, case


@pytest.mark.parametrize("disposition", ["cancelled", "failed", "abandoned", "superseded"])
def test_a_person_ends_a_case_and_its_key_opens_another(play, kit, disposition):
    async def story(world):
        host, worker, case = await failed_read(world, kit)
        page = await Person(world, kit).set_up()
        detail = await page.case(case["caseId"])
        assert [(row["action"], row["state"], row["reason"]) for row in detail["tried"]] == [(kit.PREFIX + "read_input", "failed", "no such file")]
        assert detail["waits"] is None and detail["tree"] and detail["operations"]
        done = await page.act("close-case", caseId=case["caseId"], disposition=disposition, reason="the file was missing")
        assert done["disposition"] == disposition and not done["certified"]
        receipt = await page.read(f"receipt?agent={world.profile.agent_id}&case={case['caseId']}")
        assert check_document(receipt).problems == []
        assert (receipt["case"]["closedBy"], receipt["case"]["reason"]) == ("owner", "the file was missing")
        assert (last_command(receipt)["by"], last_command(receipt)["disposition"]) == ("owner", disposition)
        told = await host.call("QueryBoard")                       # the Agent's own session sees it without asking twice
        assert told["view"]["roots"][0]["status"] == "closed"
        for tool, arguments, code in (("ApplyAction", kit.action_call("read_input", case["root"]), "case_closed"),
                                      ("CloseCase", {"root": case["root"]}, "case_closed"),
                                      ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "note", "args": {"text": "x"}}]}, "no_acceptance_root")):
            assert (await host.call(tool, arguments))["errorCode"] == code
        again = await world.open_case(host)
        assert again["caseId"] != case["caseId"] and again["opened"]
        assert (await world.act(host, worker, "read_input", again["root"]))["result"]["ok"] is True
        assert await page.refused("close-case", caseId=case["caseId"], disposition="cancelled", reason="again") == "case_closed"

    play(story, pollHoldMs=100)


def test_what_names_another_closer_than_the_row_is_no_receipt(play, kit):
    async def story(world):
        _, _, case = await failed_read(world, kit)
        page = await Person(world, kit).set_up()
        await page.act("close-case", caseId=case["caseId"], disposition="cancelled", reason="x")
        receipt = await page.read(f"receipt?agent={world.profile.agent_id}&case={case['caseId']}")
        receipt["case"]["closedBy"] = "somebody else"
        assert "case.closedBy" in [problem.place for problem in check_document(receipt).problems]

    play(story, pollHoldMs=100)


def test_an_act_on_a_case_needs_its_reason_and_a_case_that_is_there(play, kit):
    async def story(world):
        _, _, case = await failed_read(world, kit)
        page = await Person(world, kit).set_up()
        named = {"caseId": case["caseId"]}
        for route, more in (("close-case", {"disposition": "cancelled"}), ("hold-case", {}), ("lift-hold", {"hold": "operator"})):
            assert await page.refused(route, **named, **more, reason=" ") == "reason_required"
            assert await page.refused(route, caseId="case_none", **more, reason="x") == "unknown_case"
            assert await page.refused(route, agentId="agent_none", **named, **more, reason="x") == "unknown_agent"
            assert await page.refused(route, **named, **more) == "bad_command"
        assert await page.refused("close-case", **named, disposition="deleted", reason="x") == "bad_command"
        assert await page.refused("close-case", **named, disposition="completed", reason="x") == "case_not_certified"
        assert await page.refused("lift-hold", **named, hold="operator", reason="x") == "case_not_held"
        assert await page.refused("withdraw-call", ordinal=2, reason="x") == "not_withdrawable"
        assert await page.refused("withdraw-call", ordinal=99, reason="x") == "unknown_operation"
        assert (await page.read("cases?show=all"))["errorCode"] == "bad_command"
        assert (await page.read(f"case?agent={world.profile.agent_id}&case=case_none"))["errorCode"] == "unknown_case"
        assert (await page.read(f"case?case={case['caseId']}"))["errorCode"] == "unknown_agent"

    play(story, pollHoldMs=100)


def test_a_held_case_takes_nothing_new_until_a_person_lifts_the_hold(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        page = await Person(world, kit).set_up()
        assert (await page.act("hold-case", caseId=case["caseId"], reason="the customer called"))["status"] == "paused"
        assert await page.refused("hold-case", caseId=case["caseId"], reason="another") == "case_hold_stands"
        await worker.report(row, ok=True, result="done", facts=kit.facts_for(row["tool"]))      # what had begun is recorded
        assert (await asked)["result"]["ok"] is True
        for tool, arguments in (("ApplyAction", kit.action_call("write_output", case["root"])), ("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "mine"}),
                                ("OpenCase", {"caseId": case["caseId"]}), ("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}})):
            refused = await host.call(tool, arguments)
            assert refused["errorCode"] == "case_paused" and "the customer called" in refused["teaching"], tool
        hold, = (await page.case(case["caseId"]))["case"]["holds"]
        assert (hold["hold"], hold["by"], hold["reason"]) == ("operator", "owner", "the customer called")
        await world.stop()
        await world.start()
        host = world.host()
        await host.initialize()
        await host.call("QueryBoard")
        assert (await host.call("OpenCase", {"caseId": case["caseId"]}))["errorCode"] == "case_paused"
        page = Person(world, kit)
        await page.raw("sign-in", {"passphrase": PASSPHRASE})
        assert (await page.act("lift-hold", caseId=case["caseId"], hold="operator", reason="paid"))["status"] == "running"
        assert (await host.call("OpenCase", {"caseId": case["caseId"]}))["accepted"]
        await page.act("hold-case", caseId=case["caseId"], reason="no longer wanted")
        await page.act("close-case", caseId=case["caseId"], disposition="abandoned", reason="no longer wanted")
        receipt = await page.read(f"receipt?agent={world.profile.agent_id}&case={case['caseId']}")
        assert check_document(receipt).problems == []
        kinds = [row["body"]["command"]["kind"] for row in receipt["rows"] if row["kind"] == "board"]
        assert kinds.count("pause_case") == 2 and kinds.count("lift_hold") == 1

    play(story, pollHoldMs=100)


def test_a_case_ends_only_once_its_open_call_is_settled(play, kit):
    """A claimed call ends by itself; one that no Worker took is withdrawn, and the Worker gets it no more."""
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        offered = (await worker.rows_until())[0]
        page = await Person(world, kit).set_up()
        end = {"caseId": case["caseId"], "disposition": "cancelled", "reason": "not today"}
        assert await page.refused("close-case", **end) == "case_busy"
        waits = (await page.case(case["caseId"]))["waits"]
        assert waits["next"] == "withdraw" and (await page.read("cases"))["caseList"]["rows"][0]["waits"] == "running"
        await page.act("withdraw-call", ordinal=waits["ordinal"], reason="the Worker is not coming back")
        told = await asked
        assert (told["result"]["status"], told["operations"][0]["state"]) == ("refused", "refused")
        assert "the Worker is not coming back" in told["operations"][0]["reason"] and "owner" in told["operations"][0]["reason"]
        assert (await worker.claim(offered))["errorCode"] == "not_dispatchable" and await worker.rows() == []
        assert (await page.case(case["caseId"]))["tried"][0]["state"] == "refused"

        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        waits = (await page.case(case["caseId"]))["waits"]
        assert waits["next"] == "wait" and waits["stage"] == "at_worker"
        assert await page.refused("withdraw-call", ordinal=waits["ordinal"], reason="x") == "not_withdrawable"
        assert await page.refused("close-case", **end) == "case_busy"
        await worker.report(row, ok=False, reason="no such file")
        await asked
        assert (await page.act("close-case", **end))["disposition"] == "cancelled"
        receipt = await page.read(f"receipt?agent={world.profile.agent_id}&case={case['caseId']}")
        assert check_document(receipt).problems == []

    play(story, pollHoldMs=100)


def test_a_waiting_decision_is_rejected_before_its_case_ends(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host, "approved_calculation")
        await world.act(host, worker, "read_input", case["root"])
        assert (await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"])))["state"] == "waiting_for_decision"
        page = await Person(world, kit).set_up()
        waits = (await page.case(case["caseId"]))["waits"]
        assert waits["next"] == "decide"
        assert await page.refused("withdraw-call", ordinal=waits["ordinal"], reason="x") == "not_withdrawable"
        assert await page.refused("close-case", caseId=case["caseId"], disposition="cancelled", reason="x") == "case_busy"
        row = next(row for row in (await page.read("state"))["decisions"] if row["state"] == "pending")
        await page.raw("decide", {"id": row["id"], "verdict": "reject", "argumentDigest": row["argumentDigest"], "reason": "not wanted"})
        assert (await page.act("close-case", caseId=case["caseId"], disposition="cancelled", reason="not wanted"))["disposition"] == "cancelled"

    play(story, pollHoldMs=100)


def test_lists_and_pages_call_a_case_by_the_title_of_its_type(play, kit):
    """Past bug: they showed the Case Type's id. A type that is not installed any more has no title."""
    title = "Verified calculation with a person's approval"

    async def story(world):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host, "approved_calculation")
        page = await Person(world, kit).set_up()
        agent = world.profile.agent_id

        async def shown():
            listed = (await world.local("state")).json()["cases"][0]
            one = (await world.local(f"case?agent={agent}&case={case['caseId']}")).json()["case"]
            row = (await page.read("cases"))["caseList"]["rows"][0]
            whole = await page.read(f"case?agent={agent}&case={case['caseId']}")
            return [each.get("title") for each in (listed, one, row, whole["caseDetail"]["case"])]

        assert await shown() == [title] * 4
        assert len((await page.read("cases?text=person's+APPROVAL"))["caseList"]["rows"]) == 1
        assert (await page.read("cases?text=person's+approvals"))["caseList"]["rows"] == []
        types = world.gateway.authority.agents[agent].board.state.case_types
        types["approved_calculation"] = replace(types["approved_calculation"], title="Asks first")
        assert await shown() == ["Asks first"] * 4
        del types["approved_calculation"]
        assert await shown() == [None] * 4

    play(story)


def test_the_list_is_newest_first_and_pages_reach_every_case(play, kit):
    async def story(world):
        host = world.host()
        await host.initialize()
        opened = [await world.open_case(host, job=f"job-{number}") for number in range(5)]
        for case in opened[:2]:
            await host.call("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "mine"})
        page = await Person(world, kit).set_up()
        found = (await page.read("cases?show=live&limit=2"))["caseList"]
        assert [row["caseId"] for row in found["rows"]] == [opened[4]["caseId"], opened[3]["caseId"]]
        assert found["counts"] == {"live": 3, "held": 0, "closed": 2} and found["next"]
        rest = (await page.read(f"cases?show=live&limit=2&before={quote(found['next'])}"))["caseList"]
        assert [row["caseId"] for row in rest["rows"]] == [opened[2]["caseId"]] and rest["next"] is None
        await page.act("hold-case", caseId=opened[3]["caseId"], reason="wait")
        held = (await page.read("cases?show=held"))["caseList"]
        assert [row["caseId"] for row in held["rows"]] == [opened[3]["caseId"]] and held["rows"][0]["holds"][0]["reason"] == "wait"
        assert [row["caseId"] for row in (await page.read("cases?text=JOB-4"))["caseList"]["rows"]] == [opened[4]["caseId"]]
        found = (await page.read("cases?show=closed"))["caseList"]
        assert [row["caseId"] for row in found["rows"]] == [opened[1]["caseId"], opened[0]["caseId"]] and found["rows"][0]["closedBy"] is None

    play(story)


@pytest.mark.parametrize("who", ["agent", "connection", "device", "cookie alone", "token alone", "nobody"])
def test_no_role_ends_holds_or_reads_a_case_here(play, kit, who):
    """The device grant, an Agent's token and a Connection key never stand in for the person."""
    async def story(world):
        _, worker, case = await failed_read(world, kit)
        page = await Person(world, kit).set_up()
        thief, headers = Person(world, kit), {}
        if who == "cookie alone":
            thief.cookie = page.cookie
        elif who == "token alone":
            thief.token = page.token
        elif who != "nobody":
            token = {"agent": world.token, "connection": worker.key, "device": world.device}[who]
            headers = {"authorization": f"Bearer {token}", "x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}
            thief.cookie = thief.token = token
        body = {"agentId": world.profile.agent_id, "caseId": case["caseId"], "disposition": "cancelled", "reason": "x", "hold": "operator", "ordinal": 2}
        before = heads(world)
        for route, members in BODIES.items():
            answer = await thief.raw(route, {name: body[name] for name in members}, **headers)
            assert answer.status == 401 and answer.json()["errorCode"] == "sign_in_required", route
            assert (await kit.http(world.port, "POST", f"/local/{route}", {"authorization": f"Bearer {world.device}"}, b"{}")).status == 405
        if who != "cookie alone":       # the page itself is what asks with its cookie
            for address in ("cases", f"case?agent={world.profile.agent_id}&case={case['caseId']}"):
                assert (await thief.read(address))["errorCode"] == "sign_in_required"
        assert heads(world) == before

    play(story, pollHoldMs=100)


def test_a_stale_sign_in_ends_nothing(play, kit):
    async def story(world):
        _, _, case = await failed_read(world, kit)
        page = await Person(world, kit).set_up()
        for sign_in in world.gateway.console.persons.sign_ins._open.values():
            sign_in.at_s -= 901
        assert await page.refused("close-case", caseId=case["caseId"], disposition="cancelled", reason="x") == "sign_in_required"
        assert await page.refused("hold-case", caseId=case["caseId"], reason="x") == "sign_in_required"

    play(story, pollHoldMs=100)


@pytest.mark.parametrize("member", [{"by": "owner"}, {"obligations": []}, {"hold": "operator"}, {"authority": {"kind": "person"}}])
def test_an_agent_cannot_close_in_a_persons_name(play, kit, member):
    async def story(world):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host)
        answer = await host.call("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "x", **member})
        assert answer["errorCode"] == "bad_command" and answer["requestExecuted"] is False
        assert (await host.call("QueryBoard"))["view"]["roots"][0]["status"] == "running"

    play(story)
