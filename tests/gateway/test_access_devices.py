"""A workbench elsewhere signs in, pairs an Agent, reads, and is signed out; a lost answer is given again, what was replaced never."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlencode

from rulith.base.canonical import sha256_hex
from rulith.base.limits import DEVICE_IDLE_S
from rulith.gateway.access import DEVICE_GRANT
from tests.gateway.test_access import Person, form
from tests.gateway.test_restart import again

JSON = {"content-type": "application/json"}
PAIRING = "a1" * 32


class Computer:
    """A workbench elsewhere, by hand."""

    def __init__(self, kit, world, name: str = "Laptop") -> None:
        self.kit, self.world, self.name, self.token, self.secret = kit, world, name, "", sha256_hex(name.encode())

    async def ask(self) -> dict:
        body = json.dumps({"client_name": self.name}).encode()
        self.client = (await self.kit.http(self.world.port, "POST", "/register", JSON, body)).json()["client_id"]
        self.asked = (await self.kit.http(self.world.port, "POST", "/device_authorization", *form({"client_id": self.client, "scope": "device"}))).json()
        return self.asked

    async def fetch(self, **changes: str):
        given = {"grant_type": DEVICE_GRANT, "device_code": self.asked["device_code"], "client_id": self.client, **changes}
        return await self.kit.http(self.world.port, "POST", "/token", *form(given))

    async def sign_in(self, person: Person) -> Computer:
        asked = await self.ask()
        shown = (await person.get("access-code?" + urlencode({"code": asked["user_code"]})))["asked"]
        assert (shown["scope"], shown["name"]) == ("device", self.name)
        assert (await person.post("access-answer", {"id": shown["id"], "verdict": "approve"})).status == 200
        told = (await self.fetch()).json()
        assert told["scope"] == "device" and told["access_token"].startswith("rlt_dev_")
        self.token = told["access_token"]
        return self

    async def call(self, route: str, body: dict | None = None, **rows: str):
        method = "GET" if body is None else "POST"
        rows = {"authorization": f"Bearer {self.token}", **JSON, **rows}
        return await self.kit.http(self.world.port, method, f"/local-devices/{route}", rows, None if body is None else json.dumps(body).encode())

    async def pair(self, agent_id: str, pairing: str = PAIRING, mode: str = "local_agent", replace: bool = True):
        return await self.call("pair", {"computer": self.secret, "pairingId": pairing, "agentId": agent_id, "clientMode": mode, "replaceAgentToken": replace})

    async def local(self, route: str):
        return await self.kit.http(self.world.port, "GET", f"/local/{route}", {"authorization": f"Bearer {self.token}"})


def story_of(play, kit, story) -> None:
    async def told(world) -> None:
        await story(world, await Person(kit, world).sign_in(), next(iter(world.gateway.authority.agents)))
    play(told)


def test_a_computer_signs_in_by_a_code_and_reads_what_a_workbench_reads(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        context = (await laptop.call("context")).json()
        assert context["account"]["name"] == "owner" and context["account"]["id"].startswith("acc_") and context["deviceId"].startswith("device_")
        assert [each["id"] for each in context["agents"]] == [agent]
        assert (await laptop.local("state")).json()["agents"] == context["agents"]
        backup = await kit.http(world.port, "POST", "/local/backup", {"authorization": f"Bearer {laptop.token}"}, b"")
        assert (backup.status, backup.json()["errorCode"]) == (401, "device_grant_required")        # it would leave a file here
        assert (await kit.http(world.port, "POST", "/mcp", {"authorization": f"Bearer {laptop.token}", **JSON}, b"{}")).status == 401
        rows = (await person.get("access"))["devices"]
        assert [(each["name"], each["by"]) for each in rows] == [("Laptop", "owner")] and laptop.token not in json.dumps(rows) and "hash" not in rows[0]
    story_of(play, kit, story)


def test_a_token_whose_answer_was_lost_is_given_again_over_a_restart_and_to_nobody_else(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        assert (await laptop.fetch()).json()["access_token"] == laptop.token
        await again(world)
        assert (await laptop.fetch()).json()["access_token"] == laptop.token
        assert (await laptop.fetch(device_code="rld_guess")).json()["error"] == "expired_token"
        assert (await laptop.fetch(client_id="another")).json()["error"] == "expired_token"
        assert len(world.gateway.authority.registry.devices) == 1
    story_of(play, kit, story)


def test_a_request_that_was_not_answered_is_forgotten_by_a_restart(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = Computer(kit, world)
        await laptop.ask()
        assert (await laptop.fetch()).json()["error"] == "authorization_pending"
        await again(world)
        assert (await laptop.fetch()).json()["error"] == "expired_token"
    story_of(play, kit, story)


def test_a_pairing_is_answered_alike_until_what_it_gave_is_replaced(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        assert (await laptop.pair(agent, replace=False)).json()["errorCode"] == "runtime_credential_exists"
        first = (await laptop.pair(agent)).json()
        assert first["state"] == "approved" and not first["alreadyApproved"] and first["token"].startswith("rlt_agt_") and first["key"].startswith("rlt_key_")
        same = (await laptop.pair(agent, replace=False)).json()
        assert same == {**first, "alreadyApproved": True}
        await again(world)
        assert (await laptop.pair(agent)).json() == same
        host = world.host()
        host.token = first["token"]
        await host.initialize()
        other = (await laptop.pair(agent, pairing="b2" * 32)).json()
        assert other["connectionId"] == first["connectionId"] and other["key"] != first["key"]      # one line of this computer for each Agent
        late = (await laptop.pair(agent)).json()           # the first one again, long after: it is one more, and brings nothing back
        assert len({first["key"], other["key"], late["key"]}) == len({first["token"], other["token"], late["token"]}) == 3
    story_of(play, kit, story)


def test_an_old_pairing_never_brings_back_a_token_that_an_owner_replaced(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        token = (await laptop.pair(agent)).json()["token"]
        assert (await person.post("agent-rotate", {"id": agent})).status == 200
        gone = await laptop.pair(agent)
        assert (gone.status, gone.json()["errorCode"]) == (409, "pairing_conflict")
        assert (await kit.http(world.port, "POST", "/mcp", {"authorization": f"Bearer {token}", **JSON}, b"{}")).status == 401
    story_of(play, kit, story)


def test_an_agent_that_brings_its_own_client_gets_a_connection_and_keeps_its_token(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        given = (await laptop.pair(agent, mode="existing_agent", replace=False)).json()
        assert "token" not in given and given["key"].startswith("rlt_key_")
        assert (await kit.http(world.port, "POST", "/mcp", {"authorization": f"Bearer {world.token}", **JSON}, b"{}")).status != 401
    story_of(play, kit, story)


def test_whoever_signs_a_computer_out_ends_what_its_pairings_gave(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop, desk = await Computer(kit, world).sign_in(person), await Computer(kit, world, "Desk").sign_in(person)
        given = (await laptop.pair(agent)).json()
        rows = (await person.get("access"))["devices"]
        assert (await person.post("device-end", {"id": rows[0]["id"]})).status == 200
        assert (await kit.http(world.port, "POST", "/mcp", {"authorization": f"Bearer {given['token']}", **JSON}, b"{}")).status == 401
        registry = world.gateway.authority.registry
        assert registry.connections[given["connectionId"]]["keyHash"] == "" and registry.agents[agent]["tokenHash"] == ""
        for answer in (await laptop.call("context"), await laptop.pair(agent), await laptop.local("state")):
            assert (answer.status, answer.json()["errorCode"]) == (401, "device_revoked")
        assert (await laptop.call("revoke", {"requestId": "r1"})).json() == {"ok": True, "state": "revoked", "alreadyRevoked": True, "requestId": "r1"}
        assert (await person.post("device-end", {"id": rows[0]["id"]})).json()["errorCode"] == "device_revoked"
        assert (await desk.call("revoke", {"requestId": "r2"})).json()["alreadyRevoked"] is False          # and by itself
        assert (await desk.call("context")).json()["errorCode"] == "device_revoked"
        assert [each["endedBy"] for each in (await person.get("access"))["devices"]] == ["owner", "itself"]
    story_of(play, kit, story)


def test_a_wait_that_outlives_its_sign_in_tells_nothing(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        version = (await laptop.local("state")).json()["version"]
        waiting = asyncio.ensure_future(laptop.local(f"wait?after={version}&timeoutMs=20000"))
        while not any(world.gateway.authority._watchers.values()):
            await asyncio.sleep(0.005)
        (row,) = (await person.get("access"))["devices"]
        assert (await person.post("device-end", {"id": row["id"]})).status == 200
        answer = await waiting
        assert (answer.status, answer.json()["errorCode"]) == (401, "device_revoked") and "agents" not in answer.json()
    story_of(play, kit, story)


def test_a_computer_that_left_by_itself_has_its_connection_back_and_one_that_an_owner_ended_has_not(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        first = (await laptop.pair(agent)).json()
        await laptop.call("revoke", {"requestId": "r"})
        await laptop.sign_in(person)
        again = (await laptop.pair(agent, pairing="b2" * 32)).json()
        assert again["connectionId"] == first["connectionId"] and again["key"] != first["key"]
        other = await Computer(kit, world, "Desk").sign_in(person)
        assert (await other.pair(agent, pairing="c3" * 32)).json()["connectionId"] != first["connectionId"]
        rows = (await person.get("access"))["devices"]
        assert (await person.post("device-end", {"id": next(each["id"] for each in rows if each["name"] == "Laptop" and "endedAt" not in each)})).status == 200
        await laptop.sign_in(person)
        new = (await laptop.pair(agent, pairing="d4" * 32)).json()
        assert new["connectionId"] != first["connectionId"] and (await laptop.pair(agent, pairing="d4" * 32)).json() == {**new, "alreadyApproved": True}
    story_of(play, kit, story)


def test_a_computer_that_is_seen_does_not_run_out_and_one_that_is_not_does(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        until = (await laptop.call("context")).json()["expiresAt"]
        clock, real_s = world.gateway.authority.clock, world.gateway.authority.clock.wall_s()
        clock.wall_s = lambda: real_s + DEVICE_IDLE_S / 2
        later = (await laptop.call("context")).json()["expiresAt"]
        assert later > until
        clock.wall_s = lambda: real_s + DEVICE_IDLE_S / 2 + DEVICE_IDLE_S + 1
        for answer in (await laptop.call("context"), await laptop.local("state")):
            assert (answer.status, answer.json()["errorCode"]) == (401, "device_expired")
        assert (await laptop.call("revoke", {"requestId": "r"})).json()["alreadyRevoked"] is True
    story_of(play, kit, story)


def test_what_is_no_devices_call_is_refused_by_name(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        whole = {"computer": laptop.secret, "pairingId": PAIRING, "agentId": agent, "clientMode": "local_agent", "replaceAgentToken": True}
        for changes in ({"pairingId": "short"}, {"computer": "short"}, {"clientMode": "x"}, {"replaceAgentToken": "yes"}, {"more": 1}):
            assert (await laptop.call("pair", {**whole, **changes})).json()["errorCode"] == "bad_command"
        scope = await laptop.pair("agent_none")
        assert (scope.status, scope.json()["errorCode"]) == (403, "agent_out_of_scope")
        assert (await laptop.call("context", {})).status == 405 and (await laptop.call("nothing")).status == 404
        assert (await laptop.call("context", origin="https://evil.example")).status == 401
        for token in ("", world.token, world.device, "rlt_dev_guess"):
            laptop.token = token
            answer = await laptop.call("context")
            assert (answer.status, answer.json()["errorCode"]) == (401, "device_unknown")
        plain = {"content-type": "application/json"}
        for rows in ({}, {"authorization": f"Bearer {world.device}"}):
            assert (await kit.http(world.port, "POST", "/console/api/device-end", {**plain, **rows}, b'{"id":"x"}')).status == 401
    story_of(play, kit, story)


def test_a_restored_ledger_has_every_computer_sign_in_anew(play, kit) -> None:
    async def story(world, person, agent) -> None:
        laptop = await Computer(kit, world).sign_in(person)
        world.gateway.authority.command_registry({"kind": "restored", "digest": "d", "connections": {}, "agents": {},
                                                  "deviceGrant": world.gateway.authority.registry.device_grant_hash, "authority": {"kind": "gateway"}})
        assert (await laptop.call("context")).json()["errorCode"] == "device_unknown"
    story_of(play, kit, story)
