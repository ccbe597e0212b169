"""People at the Console, end to end: invited, in a role, deciding by two, reset, removed; and who never gets in."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re

import pytest

from rulith.base.canonical import digest
from rulith.gateway import console_api
from rulith.gateway.passphrase import NOBODY

WORDS = {"owner": "correct horse battery", "ann": "ann has other words", "bob": "bob has his own too", "eve": "eve only looks on"}
APPROVED = "write_approved_output"


class Person:
    """The Console as one person's browser uses it."""

    def __init__(self, world, kit, name: str = "") -> None:
        self.world, self.kit, self.name = world, kit, name
        self.cookie = self.token = ""

    async def ask(self, route: str, body: dict | None = None, **headers: str):
        sent = {"content-type": "application/json", "cookie": f"rulith_console={self.cookie}", "x-rulith-console": self.token, **headers}
        answer = await self.kit.http(self.world.port, "GET" if body is None else "POST", f"/console/api/{route}", sent, None if body is None else json.dumps(body).encode())
        if "set-cookie" in answer.headers:
            self.cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1)
        found = answer.json()
        self.token = found.get("token", self.token)
        return answer.status, found

    async def code(self, route: str, body: dict, **headers: str) -> str:
        return (await self.ask(route, body, **headers))[1].get("errorCode", "")

    async def result(self, route: str, body: dict) -> dict:
        status, found = await self.ask(route, body)
        assert status == 200, found
        return found["result"]

    async def signed_in(self):
        status, found = await self.ask("sign-in", {"name": self.name, "passphrase": WORDS[self.name]})
        assert status == 200, found
        return self


async def owner_of(world, kit) -> Person:
    owner = Person(world, kit, "owner")
    status, found = await owner.ask("setup", {"code": world.gateway.setup_code, "passphrase": WORDS["owner"]})
    assert status == 200 and found["person"] == {"name": "owner", "role": "owner"}
    return owner


async def invited(owner: Person, name: str, role: str) -> Person:
    made = await owner.result("person-invite", {"name": name, "role": role})
    person = Person(owner.world, owner.kit, name)
    status, found = await person.ask("accept", {"name": name, "code": made["code"].lower(), "passphrase": WORDS[name]})
    assert status == 200 and found["person"] == {"name": name, "role": role}, found
    return person


LAW = {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Two eyes more", "rules": [
    {"id": "two", "label": "two people approve every write", "when": [{"predicate": "proposed", "args": {"action": "?action", "kind": "write"}}],
     "then": [{"predicate": "needs_decision", "args": {"action": "?action", "kind": "two_people"}}]}]}


async def for_two(owner: Person):
    """A write that waits for two people, because the Constitution says so."""
    world, kit = owner.world, owner.kit
    await owner.result("constitution-install", {"text": json.dumps(LAW), "digest": digest(LAW), "replaces": ""})
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    case = await world.open_case(host, "approved_calculation")
    await world.act(host, worker, "read_input", case["root"])
    held = await host.call("ApplyAction", kit.action_call(APPROVED, case["root"]))
    assert held["state"] == "waiting_for_decision", held
    return host, worker, case


async def verdict(person: Person, word: str = "approve", **more) -> tuple[int, dict]:
    row = next(row for row in (await person.ask("state"))[1]["decisions"] if row["state"] == "pending")
    return await person.ask("decide", {"id": row["id"], "verdict": word, "argumentDigest": row["argumentDigest"], **more})


def test_a_code_is_shown_once_works_once_and_is_kept_only_as_its_hash(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        made = await owner.result("person-invite", {"name": "ann", "role": "operator"})
        assert re.fullmatch(r"([A-HJKMNP-Z2-9]{4}-){3}[A-HJKMNP-Z2-9]{4}", made["code"]) and made["expiresAt"] > world.gateway.authority.now()
        people = (await owner.ask("people"))[1]["people"]
        assert [(row["name"], row["role"], row["state"]) for row in people] == [("owner", "owner", "active"), ("ann", "operator", "invited")]
        ann = Person(world, kit, "ann")
        assert await ann.code("accept", {"name": "ann", "code": made["code"][:-1] + ("3" if made["code"].endswith("2") else "2"), "passphrase": WORDS["ann"]}) == "invitation_wrong"
        assert await ann.code("accept", {"name": "bob", "code": made["code"], "passphrase": WORDS["ann"]}) == "invitation_wrong"
        assert await ann.code("accept", {"name": "ann", "code": made["code"], "passphrase": "short"}) == "passphrase_too_short"
        assert await ann.code("sign-in", {"name": "ann", "passphrase": ""}) == "passphrase_wrong"
        assert (await ann.ask("accept", {"name": "ann", "code": made["code"], "passphrase": WORDS["ann"]}))[0] == 200
        assert await ann.code("accept", {"name": "ann", "code": made["code"], "passphrase": WORDS["ann"]}) == "invitation_wrong"
        kept = json.dumps([row.body for row in world.gateway.authority.ledger.rows()])
        everything = kept + json.dumps((await owner.ask("people"))[1]) + json.dumps((await owner.ask("ledger?chain=gateway"))[1])
        for secret in (made["code"], WORDS["ann"], WORDS["owner"], owner.token, owner.cookie):
            assert secret not in everything
        assert hashlib.sha256(made["code"].encode()).hexdigest() in kept
        shown = json.dumps((await owner.ask("ledger?chain=gateway"))[1])
        assert "invite_person" in shown and hashlib.sha256(made["code"].encode()).hexdigest() not in shown and "scrypt" not in shown

    play(story)


def test_an_invitation_runs_out(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        made = await owner.result("person-invite", {"name": "ann", "role": "viewer"})
        person = world.gateway.authority.registry.people["ann"]
        person["invitation"] = {**person["invitation"], "expiresAt": "2020-01-01T00:00:00.000Z"}
        ann = Person(world, kit, "ann")
        assert await ann.code("accept", {"name": "ann", "code": made["code"], "passphrase": WORDS["ann"]}) == "invitation_expired"
        assert (await owner.ask("people"))[1]["people"][1]["state"] == "expired"

    play(story)


def test_two_different_people_approve_across_a_restart(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        host, worker, _ = await for_two(owner)
        ann, eve = await invited(owner, "ann", "operator"), await invited(owner, "eve", "viewer")
        status, found = await verdict(eve)
        assert (status, found["errorCode"]) == (403, "role_too_low")
        assert (await verdict(ann))[1]["result"] == {"id": found_id(world), "state": "pending", "approvals": 1, "people": 2}
        assert (await verdict(ann))[1]["errorCode"] == "decision_same_person"
        again = await Person(world, kit, "ann").signed_in()                       # another browser is no other person
        assert (await verdict(again))[1]["errorCode"] == "decision_same_person"
        assert await worker.rows() == []
        await world.stop()
        await world.start()
        worker.port = world.port
        assert (await verdict_of(world, kit, "ann"))[1]["errorCode"] == "decision_same_person"
        answer = (await verdict_of(world, kit, "owner"))[1]
        assert (answer["result"]["state"], answer["result"]["approvals"]) == ("approved", 2)
        work = (await worker.rows_until())[0]
        assert json.loads(work["args"]) == {**kit.TOTALS, "source": "verified-calculation-local"}
        said = [row.body["command"]["authority"]["by"] for row in world.gateway.authority.ledger.rows("gateway")
                if row.kind == "registry" and row.body["command"]["kind"] == "decide"]
        assert said == ["ann", "owner"]

    play(story, pollHoldMs=100)


def found_id(world) -> str:
    return next(iter(world.gateway.authority.registry.decisions))


def test_the_page_counts_only_those_whose_word_still_counts(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        await for_two(owner)
        ann, bob = await invited(owner, "ann", "operator"), await invited(owner, "bob", "operator")
        await verdict(ann)
        assert (await owner.ask("state"))[1]["decisions"][0]["approved"] == ["ann"]
        await owner.result("person-remove", {"name": "ann"})
        found = (await owner.ask("state"))[1]
        assert found["decisions"][0]["approved"] == [] and found["ableToDecide"] == 2
        assert (await verdict(bob))[1]["result"]["state"] == "pending"
        assert (await verdict(owner))[1]["result"]["state"] == "approved"

    play(story, pollHoldMs=100)


async def verdict_of(world, kit, name: str):
    return await verdict(await Person(world, kit, name).signed_in())


def test_one_rejection_rejects_and_the_agent_reads_why(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        host, worker, _ = await for_two(owner)
        bob = await invited(owner, "bob", "operator")
        assert (await verdict(owner))[1]["result"]["state"] == "pending"
        assert (await verdict(bob, "reject"))[1]["errorCode"] == "reason_required"
        assert (await verdict(bob, "reject", reason="wrong customer"))[1]["result"]["state"] == "rejected"
        assert await worker.rows() == []
        entry = (await host.call("QueryBoard"))["operations"][0]
        assert entry["state"] == "refused" and "wrong customer" in entry["reason"]

    play(story, pollHoldMs=100)


def test_the_agent_sees_that_it_waits_and_for_which_kind_and_nothing_else(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        host, _, case = await for_two(owner)
        await invited(owner, "ann", "operator")
        await verdict(owner)
        read = await host.call("QueryBoard")
        entry = read["operations"][0]
        assert {name: entry[name] for name in ("state", "decision")} == {"state": "waiting_for_decision", "decision": "approve the totals before they are written, two_people"}
        assert set(entry) == {"tool", "label", "state", "decision", "at", "since"}
        form = (await host.ping())[0]
        assert set(form) == {"ordinal", "tool", "label", "state", "at", "since"}
        everything = json.dumps([read, await host.call("OpenCase", {"caseId": case["caseId"]}), await host.ping()])
        for word in (found_id(world), '"ann"', '"approved"', "approvals", "expiresAt", "argumentDigest"):
            assert word not in everything, word

    play(story, pollHoldMs=100)


INTRUDERS = ["page script", "stale page", "agent", "worker", "device", "removed", "reset", "viewer"]


@pytest.mark.parametrize("who", INTRUDERS)
def test_nobody_but_a_person_in_a_role_that_may_decides(play, kit, who):
    """A page script has the browser's cookie and no token; the others have what is theirs, sent in every place it could go."""
    async def story(world):
        owner = await owner_of(world, kit)
        host, worker, case = await for_two(owner)
        ann = await invited(owner, "ann", "viewer" if who == "viewer" else "operator")
        decision = next(iter(world.gateway.authority.registry.decisions.values()))
        thief, headers, wanted = Person(world, kit), {}, (401, "sign_in_required")
        if who == "page script":
            thief.cookie = owner.cookie
        elif who == "stale page":
            thief.cookie, thief.token = owner.cookie, owner.token
            for sign_in in world.gateway.console.persons.sign_ins._open.values():
                sign_in.at_s -= 901
        elif who in ("agent", "worker", "device"):
            token = {"agent": world.token, "worker": worker.key, "device": world.device}[who]
            headers = {"authorization": f"Bearer {token}", "x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}
            thief.cookie = thief.token = token
        else:
            thief.cookie, thief.token = ann.cookie, ann.token
            if who == "viewer":
                wanted = (403, "role_too_low")
            else:
                await owner.result("person-remove" if who == "removed" else "person-reset", {"name": "ann"})
        agent_id = world.profile.agent_id
        decide = {"id": decision["id"], "verdict": "approve", "argumentDigest": decision["argumentDigest"]}
        acts = {"decide": decide, "reconcile": {"agentId": agent_id, "ordinal": 3, "outcome": "happened", "reason": "x", "argumentDigest": decision["argumentDigest"]},
                "isolate": {"connectionId": worker.connection}, "close-case": {"agentId": agent_id, "caseId": case["caseId"], "disposition": "cancelled", "reason": "x"},
                "hold-case": {"agentId": agent_id, "caseId": case["caseId"], "reason": "x"}, "withdraw-call": {"agentId": agent_id, "ordinal": 3, "reason": "x"},
                "lift-hold": {"agentId": agent_id, "caseId": case["caseId"], "hold": "operator", "reason": "x"},
                "person-invite": {"name": "mallory", "role": "owner"}, "person-role": {"name": "ann", "role": "owner"}, "person-remove": {"name": "owner"},
                "person-reset": {"name": "owner"}, "agent-revoke": {"id": agent_id}}
        before = world.gateway.authority.ledger.head("gateway"), world.gateway.authority.ledger.head(agent_id)
        for route, body in acts.items():
            status, found = await thief.ask(route, body, **headers)
            assert (status, found.get("errorCode")) == wanted, route
        assert (world.gateway.authority.ledger.head("gateway"), world.gateway.authority.ledger.head(agent_id)) == before
        for path, method in (("/mcp", "POST"), ("/work", "POST"), ("/local/decide", "GET"), ("/local/state", "POST")):    # no other door has such an act
            answer = await kit.http(world.port, method, path, {"authorization": f"Bearer {world.device}", "content-type": "application/json"}, json.dumps(decide).encode())
            assert answer.status >= 400 and world.gateway.authority.registry.decision(decision["id"])["state"] == "pending"
        assert (await host.ping())[0]["state"] == "waiting_for_decision"

    play(story, pollHoldMs=100)


def test_a_viewer_reads_every_page_and_does_nothing(play, kit):
    async def story(world):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host)
        owner = await owner_of(world, kit)
        eve = await invited(owner, "eve", "viewer")
        here = f"agent={world.profile.agent_id}&case={case['caseId']}"
        for route in ("state", "admin", "people", "cases", "cases?show=held", f"case?{here}", "ledger", "ledger-check"):
            status, found = await eve.ask(route)
            assert status == 200, route
            assert not re.search(r'"(record|\w*[hH]ash)": (?!"\(withheld\)"|"[0-9a-f]{64}")', json.dumps(found)), route
        acts = [route for (method, route), role in console_api.ROUTES.items() if method == "POST" and role in ("operator", "owner")]
        for route in acts:
            assert await eve.code(route, {}) == "role_too_low", route
        status, found = await eve.ask("passphrase", {"current": WORDS["eve"], "passphrase": "eve looks further"})
        assert status == 200
        assert (await eve.ask("state"))[1]["person"]["name"] == "eve"             # this browser stays, any other one is out

    play(story)


def test_ones_own_passphrase_is_changed_with_the_present_one(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        second = Person(world, kit, "owner")
        await second.signed_in()
        assert await owner.code("passphrase", {"current": "not it", "passphrase": "quite another one"}) == "passphrase_wrong"
        assert await owner.code("passphrase", {"current": WORDS["owner"], "passphrase": "short"}) == "passphrase_too_short"
        assert (await owner.ask("passphrase", {"current": WORDS["owner"], "passphrase": "quite another one"}))[0] == 200
        assert (await second.ask("state"))[1]["signedIn"] is False
        assert await second.code("sign-in", {"name": "owner", "passphrase": WORDS["owner"]}) == "passphrase_wrong"
        assert (await second.ask("sign-in", {"passphrase": "quite another one"}))[0] == 200

    play(story)


def test_with_several_people_a_passphrase_alone_names_nobody(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        assert (await Person(world, kit).ask("state"))[1] == {"ok": True, "passphraseSet": True, "nameNeeded": False, "signedIn": False}
        await invited(owner, "ann", "operator")
        found = (await Person(world, kit).ask("state"))[1]
        assert found == {"ok": True, "passphraseSet": True, "nameNeeded": True, "signedIn": False}       # and no name is told
        assert (await world.local("state")).json()["nameNeeded"] is True
        assert await Person(world, kit).code("sign-in", {"passphrase": WORDS["owner"]}) == "sign_in_name_needed"
        assert await Person(world, kit).code("sign-in", {"name": "ann", "passphrase": WORDS["owner"]}) == "passphrase_wrong"
        assert (await Person(world, kit, "ann").signed_in()).token

    play(story)


def test_a_name_nobody_has_costs_and_answers_the_same(play, kit, monkeypatch):
    async def story(world):
        owner = await owner_of(world, kit)
        await invited(owner, "ann", "operator")
        await owner.result("person-invite", {"name": "bob", "role": "viewer"})
        asked = []
        from rulith.gateway import passphrase
        real = passphrase._derive
        monkeypatch.setattr(passphrase, "_derive", lambda text, salt, parameters: asked.append(parameters) or real(text, salt, parameters))
        answers = []
        for name in ("ann", "bob", "nobody"):                       # one who can sign in, one who is only invited, none
            answers.append(await Person(world, kit).ask("sign-in", {"name": name, "passphrase": "a wrong one"}))
        assert answers[0] == answers[1] == answers[2] and answers[0][1]["errorCode"] == "passphrase_wrong"
        assert asked == [{name: NOBODY[name] for name in ("n", "r", "p")}] * 3

    play(story)


def test_guesses_at_one_name_pause_that_name_alone(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        await invited(owner, "ann", "operator")
        thief = Person(world, kit)
        found = await asyncio.gather(*(Person(world, kit).ask("sign-in", {"name": "ann", "passphrase": f"guess {n}"}) for n in range(6)))
        assert sorted(status for status, _ in found) == [400, 400, 400, 429, 429, 429]        # side by side they count as well
        assert (await thief.ask("sign-in", {"name": "ANN", "passphrase": WORDS["ann"]}))[0] == 429
        assert (await Person(world, kit, "owner").signed_in()).token

    play(story)


def test_the_last_owner_stays_and_a_removed_name_stays_taken(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        for route, more in (("person-remove", {}), ("person-reset", {}), ("person-role", {"role": "viewer"})):
            assert await owner.code(route, {"name": "owner", **more}) == "last_owner"
        ann = await invited(owner, "ann", "operator")
        assert await owner.code("person-invite", {"name": "Ann", "role": "viewer"}) == "person_name_taken"
        await owner.result("person-role", {"name": "ann", "role": "owner"})
        assert (await ann.ask("state"))[1]["person"]["role"] == "owner"                     # a role is what it is now
        await ann.result("person-remove", {"name": "owner"})
        assert (await owner.ask("state"))[1]["signedIn"] is False
        assert await ann.code("person-invite", {"name": "owner", "role": "owner"}) == "person_name_taken"
        assert await ann.code("person-reset", {"name": "nobody"}) == "unknown_person"
        await world.stop()
        await world.start()
        assert world.gateway.setup_code is None
        assert [row["name"] for row in (await (await Person(world, kit, "ann").signed_in()).ask("people"))[1]["people"]] == ["ann"]

    play(story)


def test_a_name_is_one_name_however_a_keyboard_writes_it(play, kit):
    async def story(world):
        owner = await owner_of(world, kit)
        made = await owner.result("person-invite", {"name": "Rene\u0301 ", "role": "operator"})
        assert made["name"] == "Ren\u00e9"
        assert await owner.code("person-invite", {"name": "REN\u00c9", "role": "viewer"}) == "person_name_taken"
        person = Person(world, kit)
        assert (await person.ask("accept", {"name": "Rene\u0301", "code": f" {made['code']} ", "passphrase": WORDS["ann"]}))[0] == 200
        for name in ("Ren\u00e9", "Rene\u0301"):
            assert (await Person(world, kit).ask("sign-in", {"name": name, "passphrase": WORDS["ann"]}))[0] == 200

    play(story)


def test_the_first_person_may_choose_their_name(play, kit):
    async def story(world):
        person = Person(world, kit)
        body = {"code": world.gateway.setup_code, "passphrase": WORDS["owner"]}
        assert await person.code("setup", {**body, "name": "x" * 80}) == "name_unusable"
        assert (await person.ask("setup", {**body, "name": "Maria"}))[1]["person"] == {"name": "Maria", "role": "owner"}

    play(story)
