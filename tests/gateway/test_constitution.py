"""The Constitution on a running gateway: who installs it, what it holds up, and what it says of calls that wait.

Duty: design §5, "Constitution"; docs/constitution.md.
"""

from __future__ import annotations

import json

import pytest

from rulith.base.canonical import digest

PASSPHRASE = "correct horse battery"
WRITE = "rulith.verified_calculation.write_output"


def rule(verdict: str, said: str, *, name: str = "rule", **proposed: str) -> dict:
    """One verdict over every proposal that is so."""
    member = "reason" if verdict == "forbidden" else "kind"
    return {"id": name, "label": name, "when": [{"predicate": "proposed", "args": {"action": "?action", **proposed}}],
            "then": [{"predicate": verdict, "args": {"action": proposed.get("action", "?action"), member: said}}]}


def law(*rules: dict, version: str = "1.0.0") -> dict:
    return {"format": "rulith-constitution/1", "version": version, "title": "Law", "rules": list(rules)}


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
        return told

    async def set_up(self) -> Owner:
        assert (await self.post("setup", code=self.world.gateway.setup_code, passphrase=PASSPHRASE))["ok"]
        return self

    async def install(self, *rules: dict, version: str = "1.0.0", replaces: str | None = None) -> dict:
        document = law(*rules, version=version)
        now = self.world.gateway.authority.registry.constitution
        shown = replaces if replaces is not None else now["digest"] if now else ""
        return await self.post("constitution-install", text=json.dumps(document), digest=digest(document), replaces=shown)

    async def in_force(self, *rules: dict, **options) -> None:
        answer = await self.install(*rules, **options)
        assert answer["ok"], answer

    async def approve(self) -> dict:
        pending = next(each for each in self.world.gateway.authority.registry.decisions.values() if each["state"] == "pending")
        return await self.post("decide", id=pending["id"], verdict="approve", argumentDigest=pending["argumentDigest"], reason="")


async def begun(world) -> tuple:
    """A host whose Case has read its input, so that the write is ready."""
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    case = await world.open_case(host)
    assert (await world.act(host, worker, "read_input", case["root"]))["accepted"]
    return host, worker, case


# --- installing ------------------------------------------------------------------------


def test_it_is_checked_shown_installed_and_replaced(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        first, second = rule("forbidden", "no", action=WRITE), rule("forbidden", "never", action=WRITE)
        checked = (await owner.post("constitution-check", text=json.dumps(law(first))))["result"]
        assert checked["problems"] == [] and checked["installed"] is None and {each["change"] for each in checked["changes"]} == {"added"}
        await owner.in_force(first)
        checked = (await owner.post("constitution-check", text=json.dumps(law(second, version="1.1.0"))))["result"]
        assert checked["installed"]["version"] == "1.0.0" and checked["installed"]["by"] == "owner"
        changed = next(each for each in checked["changes"] if each["part"] == "rule")
        assert changed["lines"][-2:] == [["-", 'then forbidden(action="rulith.verified_calculation.write_output", reason="no")'],
                                         ["+", 'then forbidden(action="rulith.verified_calculation.write_output", reason="never")']]
        await owner.in_force(second, version="1.1.0")
        shown = (await owner.post("constitution-check", text="{}"))["admin"]["constitution"]
        assert shown["version"] == "1.1.0" and shown["digest"] == digest(law(second, version="1.1.0"))
        assert shown["rules"] == [{"id": "rule", "label": "rule", "lines": ['when proposed(action="rulith.verified_calculation.write_output")',
                                                                            'then forbidden(action="rulith.verified_calculation.write_output", reason="never")']}]
        local = (await world.local("constitution")).json()
        assert local["version"] == "1.1.0" and local["document"]["rules"][0]["id"] == "rule"

    play(story, pollHoldMs=100)


def test_a_broken_file_comes_back_with_lines(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        text = json.dumps(law({**rule("forbidden", "no"), "when": [{"predicate": "propsed"}]}), indent=1)
        problems = (await owner.post("constitution-check", text=text))["result"]["problems"]
        assert [each["place"] for each in problems] == ["rules[0].when[0].predicate"]
        assert "propsed" in text.splitlines()[problems[0]["line"] - 1]
        told = (await owner.post("constitution-check", text="{"))["result"]["problems"]
        assert told[0]["place"] == "the file"
        assert (await world.local("constitution")).json()["errorCode"] == "constitution_not_installed"

    play(story, holdMs=15_000)


@pytest.mark.parametrize("code", ["constitution_not_as_shown", "constitution_moved", "constitution_installed_already", "constitution_version_taken",
                                  "constitution_invalid"])
def test_what_is_not_what_was_shown_is_not_installed(play, kit, code):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        await owner.in_force(rule("forbidden", "no", action="acme.x"))
        held = world.gateway.authority.registry.constitution["digest"]
        rows = sum(1 for _ in world.gateway.authority.ledger.rows())
        if code == "constitution_not_as_shown":
            answer = await owner.post("constitution-install", text=json.dumps(law()), digest=held, replaces=held)
        elif code == "constitution_moved":
            answer = await owner.install(version="1.1.0", replaces="")
        elif code == "constitution_installed_already":
            answer = await owner.install(rule("forbidden", "no", action="acme.x"))
        elif code == "constitution_version_taken":
            answer = await owner.install(rule("forbidden", "yes", action="acme.x"))
        else:
            answer = await owner.install({"id": "broken"}, version="1.1.0")
        assert answer["ok"] is False and answer["errorCode"] == code and answer["teaching"]
        assert world.gateway.authority.registry.constitution["digest"] == held
        assert sum(1 for _ in world.gateway.authority.ledger.rows()) == rows

    play(story, holdMs=15_000)


def test_it_holds_after_a_restart_and_for_an_agent_that_comes_later(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        await owner.in_force(rule("forbidden", "no reading", kind="read"))
        await owner.post("agent-create", name="Second")
        assert all(state.board.state.constitution.version == "1.0.0" for state in world.gateway.authority.agents.values())
        await world.stop()
        await world.start()
        assert len(world.gateway.authority.agents) == 2
        assert all(state.board.state.constitution.version == "1.0.0" for state in world.gateway.authority.agents.values())
        host = world.host()
        await host.initialize()
        case = await world.open_case(host)
        refused = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert refused["errorCode"] == "governance_rejected" and "no reading" in refused["teaching"] and "(rule rule)" in refused["teaching"]

    play(story, pollHoldMs=100)


# --- calls that wait -------------------------------------------------------------------


def test_a_decision_that_only_the_constitution_asks_for_holds_the_call(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        await owner.in_force(rule("needs_decision", "look at this write", kind="write"))
        host, worker, case = await begun(world)
        held = await host.call("ApplyAction", kit.action_call("write_output", case["root"]))
        assert held["state"] == "waiting_for_decision" and held["operations"][0]["decision"] == "look at this write"
        assert await worker.rows() == []
        assert (await owner.approve())["result"]["state"] == "approved"
        assert [row["tool"] for row in await worker.rows()] == [WRITE]

    play(story, pollHoldMs=100, holdMs=2_500)


@pytest.mark.parametrize("change", ["forbidden", "more people", "another kind"])
def test_what_was_approved_is_judged_again_before_it_is_dispatched(play, kit, change):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        await owner.in_force(rule("needs_decision", "look", kind="write"))
        host, worker, case = await begun(world)
        held = await host.call("ApplyAction", kit.action_call("write_output", case["root"]))
        assert held["state"] == "waiting_for_decision"
        assert (await owner.approve())["result"]["state"] == "approved"
        now = {"forbidden": rule("forbidden", "not today", kind="write"), "more people": rule("needs_decision", "two_people", kind="write"),
               "another kind": rule("needs_decision", "count it", kind="write")}[change]
        await owner.in_force(now, version="2.0.0")
        assert await worker.rows() == []
        state = (await host.call("QueryBoard"))["operations"][0]
        assert state["state"] == "refused" and "Constitution" in json.dumps(state)

    play(story, pollHoldMs=100, holdMs=2_500)


def test_what_was_offered_is_not_claimed_under_a_constitution_that_forbids_it(play, kit):
    """A Worker that holds a row back cannot outwait the owner."""
    async def story(world):
        owner = await Owner(world, kit).set_up()
        host, worker, case = await begun(world)
        held = await host.call("ApplyAction", kit.action_call("write_output", case["root"]))
        row = (await worker.rows())[0]
        await owner.in_force(rule("forbidden", "not today", kind="write"))
        claimed = await worker.claim(row)
        assert held["state"] == "running" and claimed["accepted"] is False and claimed["errorCode"] == "not_dispatchable"
        state = (await host.call("QueryBoard"))["operations"][0]
        assert state["state"] == "refused" and "not today" in json.dumps(state)

    play(story, pollHoldMs=100, holdMs=2_500)


def test_what_was_offered_before_a_harmless_change_is_claimed(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        host, worker, case = await begun(world)
        await host.call("ApplyAction", kit.action_call("write_output", case["root"]))
        row = (await worker.rows())[0]
        await owner.in_force(rule("forbidden", "no", action="acme.other"))
        assert (await worker.claim(row))["accepted"] and (await worker.claim(row))["accepted"]

    play(story, pollHoldMs=100, holdMs=2_500)


def test_a_change_that_asks_for_nothing_more_lets_the_approved_call_go(play, kit):
    async def story(world):
        owner = await Owner(world, kit).set_up()
        await owner.in_force(rule("needs_decision", "look", kind="write"))
        host, worker, case = await begun(world)
        await host.call("ApplyAction", kit.action_call("write_output", case["root"]))
        await owner.approve()
        await owner.in_force(rule("needs_decision", "look", kind="write"), rule("forbidden", "no", name="other", action="acme.other"), version="2.0.0")
        assert [row["tool"] for row in await worker.rows()] == [WRITE]

    play(story, pollHoldMs=100, holdMs=2_500)


def test_no_agent_and_no_worker_reaches_the_installing_route(play, kit):
    async def story(world):
        worker = world.worker()
        await worker.poll()
        for token in (world.token, worker.key, world.device):
            for route in ("constitution-check", "constitution-install"):
                body = {"text": json.dumps(law()), "digest": digest(law()), "replaces": ""} if route.endswith("install") else {"text": "{}"}
                answer = await kit.http(world.port, "POST", f"/console/api/{route}", {"authorization": f"Bearer {token}", "content-type": "application/json",
                                                                                     "x-rulith-console": token, "cookie": f"rulith_console={token}"}, json.dumps(body).encode())
                assert answer.status == 401 and answer.json()["errorCode"] == "sign_in_required"
        assert world.gateway.authority.registry.constitution is None

    play(story, pollHoldMs=100)
