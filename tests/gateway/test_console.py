"""The person's acts: choosing a passphrase, deciding, reconciling, isolating; and who may not."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import resources

import pytest

from rulith.gateway.console_api import FILES
from rulith.gateway.signing import is_signed
from rulith.wire.terminal_receipt import check_document

PASSPHRASE = "correct horse battery"
APPROVED = "write_approved_output"


class Page:
    """The Console as its page uses it: a cookie, and a token held in memory."""

    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit
        self.cookie = self.token = ""

    async def post(self, route: str, body: dict, **headers: str):
        sent = {"content-type": "application/json", "cookie": f"rulith_console={self.cookie}", "x-rulith-console": self.token, **headers}
        answer = await self.kit.http(self.world.port, "POST", f"/console/api/{route}", sent, json.dumps(body).encode())
        if "set-cookie" in answer.headers:
            assert "HttpOnly" in answer.headers["set-cookie"] and "SameSite=Strict" in answer.headers["set-cookie"]
            self.cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1)
        found = answer.json()
        self.token = found.get("token", self.token)
        return answer

    async def state(self) -> dict:
        answer = await self.kit.http(self.world.port, "GET", "/console/api/state", {"cookie": f"rulith_console={self.cookie}"})
        return answer.json()

    async def sign_in(self):
        answer = await self.post("sign-in", {"passphrase": PASSPHRASE})
        assert answer.status == 200, answer.body
        return self

    async def set_up(self):
        answer = await self.post("setup", {"code": self.world.gateway.setup_code, "passphrase": PASSPHRASE})
        assert answer.status == 200, answer.body
        return self


async def waiting(world, kit):
    """An approved calculation whose write waits for a person."""
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    case = await world.open_case(host, "approved_calculation")
    await world.act(host, worker, "read_input", case["root"])
    held = await host.call("ApplyAction", kit.action_call(APPROVED, case["root"]))
    assert held["state"] == "waiting_for_decision", held
    return host, worker, case


async def pending(page) -> dict:
    return next(row for row in (await page.state())["decisions"] if row["state"] == "pending")


def test_an_approved_write_runs_with_exactly_the_values_that_were_shown(play, kit):
    async def story(world):
        host, worker, case = await waiting(world, kit)
        entry = (await host.call("QueryBoard"))["operations"][0]
        assert entry["state"] == "waiting_for_decision" and entry["decision"] == "approve the totals before they are written"
        assert await worker.rows() == []
        page = await Page(world, kit).set_up()
        row = await pending(page)
        assert json.loads(row["argsText"]) == {**kit.TOTALS, "source": "verified-calculation-local"}
        assert any(node["predicate"] == kit.PREFIX + "total" for node in row["premises"])
        answer = await page.post("decide", {"id": row["id"], "verdict": "approve", "argumentDigest": row["argumentDigest"]})
        assert answer.json()["result"]["state"] == "approved"
        work = (await worker.rows_until())[0]
        assert work["args"] == row["argsText"]
        await worker.claim(work)
        await worker.report(work, ok=True, result="", facts=kit.facts_for(work["tool"]))
        assert (await host.ping())[0]["state"] == "done"
        await host.call("QueryBoard")
        await world.act(host, worker, "verify_output", case["root"])
        assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"]
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert [each["state"] for each in receipt["decisions"]] == ["approved"] and receipt["decisions"][0]["by"][0]["by"] == "owner"

    play(story, pollHoldMs=100)


def test_a_rejection_carries_its_reason_and_nothing_runs(play, kit):
    async def story(world):
        host, worker, case = await waiting(world, kit)
        page = await Page(world, kit).set_up()
        row = await pending(page)
        body = {"id": row["id"], "verdict": "reject", "argumentDigest": row["argumentDigest"]}
        assert (await page.post("decide", body)).json()["errorCode"] == "reason_required"
        assert (await page.post("decide", {**body, "reason": "wrong customer"})).json()["result"]["state"] == "rejected"
        assert await worker.rows() == []
        entry = (await host.call("QueryBoard"))["operations"][0]
        assert entry["state"] == "refused" and "wrong customer" in entry["reason"]
        await world.stop()
        await world.start()
        host = world.host()
        await host.initialize()
        await host.call("QueryBoard")
        opened = await host.call("OpenCase", {"caseId": case["caseId"]})
        row = next(row for row in opened["view"]["actions"] if row["action"] == kit.PREFIX + APPROVED)
        assert row["status"] == "ready" and row["candidates"][0]["tried"]["state"] == "refused"
        assert "wrong customer" in row["candidates"][0]["tried"]["reason"]
        page = await Page(world, kit).sign_in()
        again = await page.post("decide", {**body, "verdict": "approve"})
        assert again.json()["errorCode"] == "decision_closed"
        body = {"agentId": world.profile.agent_id, "caseId": case["caseId"], "disposition": "cancelled", "reason": "asked again later"}
        assert (await page.post("close-case", body)).json()["ok"]
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert check_document(receipt).problems == []
        assert [each["state"] for each in receipt["decisions"]] == ["rejected"]

    play(story, pollHoldMs=100)


def test_a_verdict_on_other_values_is_refused(play, kit):
    async def story(world):
        await waiting(world, kit)
        page = await Page(world, kit).set_up()
        row = await pending(page)
        answer = await page.post("decide", {"id": row["id"], "verdict": "approve", "argumentDigest": "sha256:" + "0" * 64})
        assert answer.json()["errorCode"] == "decision_digest_mismatch"
        assert (await page.post("decide", {"id": "dec_none", "verdict": "approve", "argumentDigest": "x"})).json()["errorCode"] == "unknown_decision"

    play(story, pollHoldMs=100)


def test_a_decision_survives_a_restart_and_expires_when_looked_at(play, kit):
    async def story(world):
        host, worker, case = await waiting(world, kit)
        await world.stop()
        await world.start()
        host = world.host()
        assert (await host.initialize())["_meta"]["rulith/v3"]["operations"][0]["state"] == "waiting_for_decision"
        page = await Page(world, kit).set_up()
        row = await pending(page)

        class Later:
            def __init__(self, clock):
                self.monotonic_s, self._clock = clock.monotonic_s, clock

            def wall_s(self):
                return self._clock.wall_s() + 604_801

        world.gateway.authority.clock = Later(world.gateway.authority.clock)
        answer = await page.post("decide", {"id": row["id"], "verdict": "approve", "argumentDigest": row["argumentDigest"]})
        assert answer.json()["errorCode"] in ("decision_expired", "decision_closed")
        assert (await host.ping())[0]["state"] == "refused"
        assert (await host.call("QueryBoard"))["operations"][0]["reason"] == "The decision expired."
        tried = list(world.gateway.authority.agents[world.profile.agent_id].board.case(case["caseId"]).attempts.values())[-1]
        assert (tried["state"], tried["reason"]) == ("refused", "The decision expired.")

    play(story, pollHoldMs=100)


def test_a_person_cancels_a_case_so_that_its_work_can_be_tried_again(play, kit):
    """Without a model nobody else could: a rule repeats no call that failed."""
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        page = await Page(world, kit).set_up()
        body = {"agentId": world.profile.agent_id, "caseId": case["caseId"], "disposition": "cancelled", "reason": "the file is there now"}
        assert (await page.post("close-case", body)).json()["errorCode"] == "case_busy"
        await worker.report(row, ok=False, reason="no such file")
        assert (await asked)["result"]["status"] == "failed"
        assert (await page.post("close-case", {**body, "reason": " "})).json()["errorCode"] == "reason_required"
        assert (await page.post("close-case", {**body, "disposition": "completed"})).json()["errorCode"] == "case_not_certified"
        assert (await page.post("close-case", {**body, "caseId": "case_none"})).json()["errorCode"] == "unknown_case"
        closed = (await page.post("close-case", body)).json()
        assert closed["result"]["disposition"] == "cancelled" and not closed["result"]["certified"]
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert is_signed(receipt) and check_document(receipt).problems == []
        assert "owner" in json.dumps([each["body"]["command"] for each in receipt["rows"] if each["kind"] == "board"][-1])
        again = await world.open_case(host)
        assert again["caseId"] != case["caseId"]
        assert (await world.act(host, worker, "read_input", again["root"]))["result"]["ok"] is True

    play(story, pollHoldMs=100)


@pytest.mark.parametrize("who", ["agent", "connection", "device", "cookie alone", "token alone", "nobody"])
def test_no_role_decides(play, kit, who):
    """The device grant, an Agent's token and a Connection key never stand in for the person."""
    async def story(world):
        host, worker, case = await waiting(world, kit)
        page = await Page(world, kit).set_up()
        row = await pending(page)
        body = {"id": row["id"], "verdict": "approve", "argumentDigest": row["argumentDigest"]}
        thief = Page(world, kit)
        headers = {}
        if who == "cookie alone":
            thief.cookie = page.cookie
        elif who == "token alone":
            thief.token = page.token
        elif who != "nobody":
            token = {"agent": world.token, "connection": worker.key, "device": world.device}[who]
            headers = {"authorization": f"Bearer {token}", "x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}
            thief.cookie = thief.token = token
        for route, fields in (("decide", body), ("isolate", {"connectionId": worker.connection}),
                              ("close-case", {"agentId": world.profile.agent_id, "caseId": case["caseId"], "disposition": "cancelled", "reason": "x"}),
                              ("reconcile", {"agentId": world.profile.agent_id, "ordinal": 3, "outcome": "happened", "reason": "x"})):
            answer = await thief.post(route, fields, **headers)
            assert answer.status == 401 and answer.json()["errorCode"] == "sign_in_required", route
        assert (await host.ping())[0]["state"] == "waiting_for_decision"
        if who != "cookie alone":       # the page itself is what asks with its cookie
            assert "decisions" not in await thief.state()

    play(story, pollHoldMs=100)


def test_a_stale_sign_in_decides_nothing(play, kit):
    async def story(world):
        await waiting(world, kit)
        page = await Page(world, kit).set_up()
        row = await pending(page)
        for sign_in in world.gateway.console.persons.sign_ins._open.values():
            sign_in.at_s -= 901
        answer = await page.post("decide", {"id": row["id"], "verdict": "approve", "argumentDigest": row["argumentDigest"]})
        assert answer.json()["errorCode"] == "sign_in_required"
        assert (await page.post("sign-in", {"passphrase": PASSPHRASE})).status == 200
        answer = await page.post("decide", {"id": row["id"], "verdict": "approve", "argumentDigest": row["argumentDigest"]})
        assert answer.json()["ok"]

    play(story, pollHoldMs=100)


def test_the_setup_code_works_once_and_only_before_the_first_passphrase(play, kit):
    async def story(world):
        page = Page(world, kit)
        assert (await page.post("sign-in", {"passphrase": PASSPHRASE})).json()["errorCode"] == "passphrase_not_set"
        assert (await page.post("setup", {"code": "WRONG234", "passphrase": PASSPHRASE})).json()["errorCode"] == "setup_code_wrong"
        code = world.gateway.setup_code
        assert (await page.post("setup", {"code": code, "passphrase": "short"})).json()["errorCode"] == "passphrase_too_short"
        await page.post("setup", {"code": code.lower(), "passphrase": PASSPHRASE})
        assert world.gateway.setup_code is None
        assert (await page.post("setup", {"code": code, "passphrase": "another one entirely"})).json()["errorCode"] == "passphrase_already_set"
        rows = json.dumps([row.body for row in world.gateway.authority.ledger.rows()])
        assert PASSPHRASE not in rows and code not in rows and "scrypt" in rows
        await world.stop()
        await world.start()
        assert world.gateway.setup_code is None
        page = Page(world, kit)
        for _ in range(3):
            wrong = await page.post("sign-in", {"passphrase": "wrong"})
            assert wrong.json()["errorCode"] == "passphrase_wrong"
        assert (await page.post("sign-in", {"passphrase": PASSPHRASE})).status == 429

    play(story)


@pytest.mark.parametrize("outcome, state, status", [("happened", "done", "confirmed"), ("did_not", "failed", "failed"), ("cannot_tell", "unknown", "unknown")])
def test_a_person_settles_what_nobody_knows_and_no_worker_fact_lands(play, kit, outcome, state, status):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        await world.act(host, worker, "read_input", case["root"])
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("write_output", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        page = await Page(world, kit).set_up()
        digest = world.gateway.authority.agents[world.profile.agent_id].operations.operation(3).plan["argumentDigest"]
        body = {"agentId": world.profile.agent_id, "ordinal": 3, "outcome": outcome, "reason": "I looked at the file", "argumentDigest": digest}
        assert (await page.post("reconcile", body)).json()["errorCode"] == "not_needs_person"
        assert (await page.post("isolate", {"connectionId": worker.connection})).json()["errorCode"] == "worker_not_isolated"
        world.gateway.line._held[worker.connection].until_s = 0.0      # the Worker vanished and its lease lapsed
        assert (await page.post("isolate", {"connectionId": worker.connection})).json()["ok"]
        assert (await asked)["state"] == "needs_person"
        assert (await page.state())["needsPerson"][0]["ordinal"] == 3
        assert (await page.post("reconcile", {**body, "reason": " "})).json()["errorCode"] == "reason_required"
        assert (await page.post("reconcile", {**body, "argumentDigest": "sha256:0"})).json()["errorCode"] == "call_digest_mismatch"
        assert (await page.post("reconcile", body)).json()["ok"]
        read = await host.call("QueryBoard")
        entry = read["operations"][0]
        assert entry["state"] == state
        assert json.loads(entry["result"]["content"][0]["text"])["result"]["status"] == status
        detail = (await world.local(f"case?case={case['caseId']}")).json()
        texts = " ".join(node["predicate"] for node in detail["facts"])
        assert kit.PREFIX + "written" not in texts
        assert (kit.PREFIX + "write_settled" in texts) == (outcome == "happened")

    play(story, pollHoldMs=100)


def test_the_page_runs_without_inline_script_or_style_and_asks_no_other_origin(play, kit):
    async def story(world):
        for name in FILES:
            answer = await kit.http(world.port, "GET", f"/console/{name}")
            assert answer.status == 200 and "default-src 'none'" in answer.headers["content-security-policy"]
            text = answer.body.decode()
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name
            assert "innerHTML" not in text.replace("sets innerHTML", "")
        page = (await kit.http(world.port, "GET", "/console/")).body.decode()
        assert "<style" not in page and not re.search(r"\son\w+=", page) and not re.search(r"<script(?![^>]*src=)", page)
        assert (await kit.http(world.port, "GET", "/console/../ledger.db")).status == 404
        for path in ("/console/", "/console/api/state", "/local/state"):       # a rebound name is another site
            rebound = await kit.http(world.port, "GET", path, {"host": f"evil.example:{world.port}", "authorization": f"Bearer {world.device}"})
            assert rebound.status in (400, 401, 403), path
        foreign = await kit.http(world.port, "POST", "/console/api/sign-in", {"origin": "http://evil.example"}, b"{}")
        assert foreign.status == 403

    play(story)
    files = {each.name for each in resources.files("rulith").joinpath("ui_static", "console").iterdir()}
    assert files == {place.removeprefix("console/") for place, _ in FILES.values() if place.startswith("console/")}


# --- what the workbench reads


def test_the_device_grant_reads_and_nothing_else_does(play, kit):
    async def story(world):
        for token in (world.token, world.worker().key, "x"):
            assert (await world.local("state", token)).status == 401
        assert (await kit.http(world.port, "GET", "/local/state")).status == 401
        refused = await kit.http(world.port, "POST", "/local/state", {"authorization": f"Bearer {world.device}"}, b"{}")
        assert refused.status == 405
        state = await world.local("state")
        text = state.body.decode()
        for secret in (world.token, world.device, world.worker().key):
            assert secret not in text
        found = state.json()
        assert found["agents"][0]["name"] == "Assistant" and found["passphraseSet"] is False
        assert found["connections"][0]["line"] == {"state": "offline"}
        assert (await world.local("nothing")).status == 404
        assert (await world.local("case?case=case_none")).status == 404
        assert (await world.local("receipt?case=case_none")).status == 404
        assert (await world.local("case?agent=agent_none&case=x")).status == 404

    play(story)


def test_a_wait_returns_as_soon_as_something_became_durable(play, kit):
    async def story(world):
        host = world.host()
        await host.initialize()
        version = (await world.local("state")).json()["version"]
        assert set((await world.local(f"wait?after={version}&timeoutMs=30")).json()) == {"version"}
        waiting_ = asyncio.ensure_future(world.local(f"wait?after={version}&timeoutMs=20000"))
        case = await world.open_case(host)
        found = (await waiting_).json()
        assert found["version"] > version and found["cases"][0]["caseId"] == case["caseId"]
        polled = asyncio.ensure_future(world.worker().poll())
        while found["connections"][0]["line"]["state"] != "online":      # the fence first, then the line
            found = (await world.local(f"wait?after={found['version']}&timeoutMs=20000")).json()
        await polled

    play(story, pollHoldMs=50)


def test_a_wait_lists_the_cases_of_agents_that_moved_where_it_is_asked_so(play, kit):
    """What a page reads at each change must not grow with all that any Agent ever opened."""
    async def story(world):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host)
        state = (await world.local("state")).json()
        assert "casesOf" not in state
        agent = state["cases"][0]["agentId"]
        found = (await world.local(f"wait?after={state['version'] - 1}&timeoutMs=20000&cases=moved")).json()
        assert (found["casesOf"], [row["caseId"] for row in found["cases"]]) == ([agent], [case["caseId"]])
        world.gateway.authority.touched(state["connections"][0]["id"])
        found = (await world.local(f"wait?after={state['version']}&timeoutMs=20000&cases=moved")).json()
        assert (found["casesOf"], found["cases"], found["casesTotal"]) == ([], [], {agent: 1})
        whole = (await world.local(f"wait?after={state['version']}&timeoutMs=20000")).json()
        assert [row["caseId"] for row in whole["cases"]] == [case["caseId"]]

    play(story)


def test_proofs_and_reasons_are_read_with_the_device_grant(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        atom = json.dumps({"predicate": kit.PREFIX + "total", "args": {"job_id": "calc-001", "cents": "?cents"}}).replace(" ", "%20").replace('"', "%22")
        why = (await world.local(f"why-not?atom={atom}")).json()
        assert why["holds"] is False and why["lacks"]
        await world.act(host, worker, "read_input", case["root"])
        atom = atom.replace("%22?cents%22", "9593")
        proof = (await world.local(f"proof?atom={atom}")).json()
        assert proof["by"]["kind"] == "rule" and proof["tier"] == "attested"
        by_id = (await world.local(f"proof?id={proof['id'].replace('|', '%7C').replace(chr(34), '%22')}")).json()
        assert by_id["id"] == proof["id"]
        assert (await world.local("proof?id=f_none")).status == 404
        detail = (await world.local(f"case?case={case['caseId']}")).json()
        assert {"case", "tree", "gaps", "facts", "actions", "operations", "receipt"} <= set(detail)
        assert detail["operations"][0]["steps"][-1]["state"] == "done"

    play(story, pollHoldMs=50)
