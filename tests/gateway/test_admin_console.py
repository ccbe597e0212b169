"""What a person sets up in the Console, and who may not. Duty: design §5, "The person's authority"."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import os
import re

import pytest

from rulith.base.canonical import digest
from rulith.base.resources import shipped_text
from rulith.disk.profiles import agent_secrets, worker_secrets
from rulith.gateway.console_admin import BODIES
from rulith.store.failures import StoreFailed

PASSPHRASE = "correct horse battery"
EXAMPLE = json.loads(shipped_text("examples", "verified-calculation", "capability.json"))
SOURCE = "verified-calculation-local"
LAW = {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Law", "rules": []}


def capability(**changes) -> dict:
    """A Capability of the person's own: the example under their names, with `changes` at the top."""
    text = json.dumps(EXAMPLE).replace("rulith.verified_calculation", "acme.taxed").replace('"verified_calculation"', '"taxed"')
    document = json.loads(text.replace('"approved_calculation"', '"approved_taxed"'))
    return {**document, **changes}


class Person:
    """The Console as its page uses it: a cookie, and a token held in memory."""

    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit
        self.cookie = self.token = ""

    async def raw(self, route: str, body: object, **headers: str):
        sent = {"content-type": "application/json", "cookie": f"rulith_console={self.cookie}", "x-rulith-console": self.token, **headers}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = await self.kit.http(self.world.port, "POST", f"/console/api/{route}", sent, content)
        if "set-cookie" in answer.headers:
            self.cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1)
        self.token = answer.json().get("token", self.token)
        return answer

    async def act(self, route: str, **body) -> dict:
        """The result of an accepted act."""
        answer = (await self.raw(route, body)).json()
        assert answer["ok"], answer
        assert answer["admin"]["capabilities"]
        return answer["result"]

    async def refused(self, route: str, **body) -> str:
        """The code of a refusal; no row was written for it."""
        before = rows(self.world)
        answer = (await self.raw(route, body)).json()
        assert answer["ok"] is False and answer["teaching"], answer
        assert rows(self.world) == before
        return answer["errorCode"]

    async def overview(self) -> dict:
        answer = await self.kit.http(self.world.port, "GET", "/console/api/admin", {"cookie": f"rulith_console={self.cookie}"})
        return answer.json()["admin"]

    async def set_up(self) -> Person:
        answer = await self.raw("setup", {"code": self.world.gateway.setup_code, "passphrase": PASSPHRASE})
        assert answer.status == 200, answer.body
        return self

    async def sign_in(self) -> Person:
        assert (await self.raw("sign-in", {"passphrase": PASSPHRASE})).status == 200
        return self

    async def install(self, document: dict, replaces: str = "") -> dict:
        return await self.act("capability-install", text=json.dumps(document), digest=digest(document), replaces=replaces)

    async def source(self, name: str = SOURCE) -> dict:
        return next(row for row in (await self.overview())["sources"] if row["name"] == name)


def rows(world) -> int:
    return sum(1 for _ in world.gateway.authority.ledger.rows())


def last_rows(world, count: int) -> list:
    return list(world.gateway.authority.ledger.rows())[-count:]


def example_bodies(world) -> dict[str, dict]:
    """A body for every route that would be accepted from the person."""
    registry = world.gateway.authority.registry
    lock = next(iter(registry.locks.values()))
    source = registry.sources[SOURCE]
    document = capability()
    record = {**source.record(), "tier": "perceived"}
    return {
        "capability-check": {"text": json.dumps(document)},
        "capability-install": {"text": json.dumps(document), "digest": digest(document), "replaces": ""},
        "constitution-check": {"text": json.dumps(LAW)},
        "constitution-install": {"text": json.dumps(LAW), "digest": digest(LAW), "replaces": ""},
        "source-add": {**record, "name": "another"},
        "source-edit": {**record, "replaces": digest(source.record())},
        "source-remove": {"name": SOURCE, "replaces": digest(source.record())},
        "tool-lock": {"connectionId": lock.connection_id, "toolId": lock.tool_id, "digest": lock.digest, "replaces": lock.digest},
        "tool-unlock": {"connectionId": lock.connection_id, "toolId": lock.tool_id, "digest": lock.digest},
        "tool-waive": {"connectionId": lock.connection_id, "toolId": lock.tool_id, "digest": lock.digest, "waived": True},
        "source-delivery": {"agentId": world.profile.agent_id, "source": SOURCE, "localRead": True, "offMachine": False},
        "agent-profile": {"id": world.profile.agent_id, "profile": {"tiers": ["attested"]}, "replaces": digest({})},
        "agent-create": {"name": "Second"}, "agent-rotate": {"id": world.profile.agent_id}, "agent-revoke": {"id": world.profile.agent_id},
        "connection-create": {"name": "Mine", "agentId": world.profile.agent_id}, "connection-rotate": {"id": lock.connection_id},
    }


# --- who may ---------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["agent", "connection", "device", "cookie alone", "token alone", "another's token", "stale", "nobody"])
def test_no_role_sets_anything_up(play, kit, who):
    """A device grant, an Agent's token or a Connection key can do none of these, and neither can half a sign-in."""
    async def story(world):
        worker = world.worker()
        await worker.poll()
        person = await Person(world, kit).set_up()
        thief, headers = Person(world, kit), {}
        if who == "cookie alone":
            thief.cookie = person.cookie
        elif who == "token alone":
            thief.token = person.token
        elif who == "another's token":
            other = await Person(world, kit).sign_in()
            thief.cookie, thief.token = person.cookie, other.token
        elif who == "stale":
            thief.cookie, thief.token = person.cookie, person.token
            for sign_in in world.gateway.console.persons.sign_ins._open.values():
                sign_in.at_s -= 901
        elif who != "nobody":
            token = {"agent": world.token, "connection": worker.key, "device": world.device}[who]
            headers = {"authorization": f"Bearer {token}", "x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}
            thief.cookie = thief.token = token
        before = rows(world)
        for route, body in example_bodies(world).items():
            answer = await thief.raw(route, body, **headers)
            assert answer.status == 401 and answer.json()["errorCode"] == "sign_in_required", route
        assert rows(world) == before
        assert set(example_bodies(world)) == set(BODIES)
        if who not in ("cookie alone", "another's token", "stale"):       # what the page itself asks with its cookie, for a working day
            shown = await kit.http(world.port, "GET", "/console/api/admin", {"cookie": f"rulith_console={thief.cookie}", **headers})
            assert shown.status == 401 and "admin" not in shown.json()

    play(story, pollHoldMs=100)


def test_every_act_is_a_row_in_the_persons_name(play, kit):
    async def story(world):
        await world.worker().poll()
        person = await Person(world, kit).set_up()
        bodies = example_bodies(world)
        another = bodies["source-add"]
        bodies["tool-lock"]["replaces"] = ""                      # unlocked by then
        bodies["source-remove"] = {"name": "another", "replaces": digest(another)}
        order = ["tool-unlock", "tool-lock", "tool-waive", "source-delivery", "source-edit", "source-add", "source-remove", "capability-install", "constitution-install", "agent-create", "agent-rotate",
                 "agent-profile", "agent-revoke", "connection-create", "connection-rotate"]
        assert {*order, "capability-check", "constitution-check"} == set(BODIES)
        for route in order:
            before = rows(world)
            await person.act(route, **bodies[route])
            fresh = list(world.gateway.authority.ledger.rows())[before:]
            first = next(row for row in fresh if row.chain == "gateway" and row.kind == "registry")
            commands = first.body["command"].get("commands", [first.body["command"]])
            assert all(each["authority"]["kind"] == "person" and each["authority"]["by"] == "owner" for each in commands), route
        assert world.gateway.authority.ledger.verify() == []

    play(story, pollHoldMs=100)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"a":1}', b'{"name":7}', b'{"name":"x","name":"x"}', b"null"])
def test_a_body_of_another_shape_is_refused_by_name(play, kit, body):
    async def story(world):
        person = await Person(world, kit).set_up()
        before = rows(world)
        for route in BODIES:
            answer = await person.raw(route, body)
            assert answer.status == 400 and answer.json()["errorCode"] in ("bad_command", "bad_json"), (route, answer.body)
        assert rows(world) == before

    play(story)


def test_the_administration_is_no_page_of_another_origin(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        for route, body in example_bodies(world).items():
            answer = await person.raw(route, body, origin="http://evil.example")
            assert answer.status == 403, route
        assert (await kit.http(world.port, "POST", "/console/api/admin", {}, b"{}")).status == 404
        assert (await kit.http(world.port, "GET", "/console/api/agent-create", {})).status == 404

    play(story)


# --- Capabilities ----------------------------------------------------------------------


def test_a_file_is_checked_with_every_error_at_its_line(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        before = rows(world)
        document = capability()
        document["rules"][0]["then"][0]["predicate"] = "nothing"
        del document["case_types"]["taxed"]["floor"]
        text = json.dumps(document, indent=1)
        found = await person.act("capability-check", text=text)
        assert {each["place"] for each in found["problems"]} == {"rules[0].then[0].predicate", "case_types.taxed.floor"}
        line = next(each["line"] for each in found["problems"] if each["place"] == "rules[0].then[0].predicate")
        assert '"nothing"' in text.splitlines()[line - 1]
        found = await person.act("capability-check", text="{")
        assert found["problems"][0]["place"] == "the file" and "line 1" in found["problems"][0]["problem"]
        assert (await person.raw("capability-install", {"text": text, "digest": digest(document), "replaces": ""})).json()["errorCode"] == "capability_invalid"
        assert rows(world) == before

    play(story)


def test_a_capability_is_installed_shown_and_used(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        document = capability()
        found = await person.act("capability-check", text=json.dumps(document))
        assert found["problems"] == [] and found["installed"] is None and found["conflicts"] == []
        assert {each["change"] for each in found["changes"]} == {"added"}
        assert (await person.install(document))["digest"] == digest(document)
        kinds = [(row.chain == "gateway", row.body["command"]["kind"]) for row in last_rows(world, 2)]
        assert kinds == [(True, "install_release"), (False, "install_capability")]
        shown = next(each for each in (await person.overview())["capabilities"] if each["id"] == "acme.taxed")
        assert shown["by"] == "owner" and {each["id"] for each in shown["caseTypes"]} == {"approved_taxed", "taxed"}
        assert "is not locked" in shown["actions"][0]["lacks"][0]["problem"]
        host = world.host()
        await host.initialize()
        case = await world.open_case(host, "taxed", "t-1")
        assert case["drive"][0] == "acme.taxed.read_input"
        local = (await world.local("capability?id=acme.taxed")).json()
        assert digest(local["document"]) == local["digest"] == digest(document)
        assert (await world.local("capability?id=acme.none")).json()["errorCode"] == "capability_not_installed"
        await world.stop()
        await world.start()
        assert world.gateway.authority.registry.releases["acme.taxed"]["digest"] == digest(document)
        assert "acme.taxed" in world.gateway.authority.agents[world.profile.agent_id].board.state.releases

    play(story)


def test_an_upgrade_is_bound_to_what_was_shown_and_to_what_it_replaces(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        first = capability()
        await person.install(first)
        second = capability(version="1.1.0", title="Taxed, again")
        found = await person.act("capability-check", text=json.dumps(second))
        assert [(each["part"], each["change"]) for each in found["changes"]] == [("version", "changed"), ("title", "changed")]
        text = json.dumps(second)
        assert await person.refused("capability-install", text=text, digest=digest(first), replaces=digest(first)) == "capability_not_as_shown"
        assert await person.refused("capability-install", text="[]", digest=digest([]), replaces="") == "capability_not_as_shown"
        assert await person.refused("capability-install", text=text, digest=digest(second), replaces="") == "release_moved"
        same_version = capability(title="Other words")
        assert await person.refused("capability-install", text=json.dumps(same_version), digest=digest(same_version), replaces=digest(first)) == "release_version_taken"
        assert await person.refused("capability-install", text=json.dumps(first), digest=digest(first), replaces=digest(first)) == "release_installed_already"
        await person.install(second, replaces=digest(first))
        assert await person.refused("capability-install", text=text, digest=digest(second), replaces=digest(first)) == "release_moved"

    play(story)


def test_an_open_case_keeps_its_release_and_nothing_is_half_applied(play, kit):
    """With two Agents, of which only the second has an open Case, that Case goes on under its Release and no new one opens beside it."""
    async def story(world):
        person = await Person(world, kit).set_up()
        first = capability()
        await person.install(first)
        second_agent = await person.act("agent-create", name="Second")
        host = world.host()
        host.token = second_agent["token"]
        await host.initialize()
        case = await world.open_case(host, "taxed", "t-1")
        newer = capability(version="2.0.0")
        found = await person.act("capability-check", text=json.dumps(newer))
        assert found["conflicts"] == [] and found["waits"] == [case["caseId"]]
        await person.install(newer, replaces=digest(first))
        held = {state.agent_id: state.board.state.releases["acme.taxed"].version for state in world.gateway.authority.agents.values()}
        assert held == {world.profile.agent_id: "2.0.0", second_agent["id"]: "1.0.0"}
        shown = next(each for each in (await person.overview())["capabilities"] if each["id"] == "acme.taxed")
        assert shown["version"] == "2.0.0" and shown["waits"] == [case["caseId"]]
        assert (await world.local("capability?id=acme.taxed")).json()["document"]["version"] == "2.0.0"
        focused = await host.call("OpenCase", {"caseType": "taxed", "businessKey": {"job_id": "t-1"}})
        assert focused["result"]["caseId"] == case["caseId"] and focused["view"]["position"]["newCases"] == {"closed": "not_accepting"}
        refused = await host.call("OpenCase", {"caseType": "taxed", "businessKey": {"job_id": "t-2"}})
        assert refused["errorCode"] == "board_draining" and case["caseId"] in refused["teaching"]
        await host.call("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "to make room"})
        receipt = world.gateway.authority.receipt_document(second_agent["id"], case["caseId"])
        assert receipt["release"]["version"] == "1.0.0" and receipt["release"]["capability"]["version"] == "1.0.0"
        again = await world.open_case(host, "taxed", "t-2")
        assert world.gateway.authority.agents[second_agent["id"]].board.case(again["caseId"]).release["version"] == "2.0.0"
        assert {state.board.state.releases["acme.taxed"].version for state in world.gateway.authority.agents.values()} == {"2.0.0"}

    play(story)


def test_a_capability_that_clashes_with_an_installed_one_is_told_before_it_is_tried(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        clash = json.loads(json.dumps(EXAMPLE).replace("rulith.verified_calculation", "acme.copy"))
        found = await person.act("capability-check", text=json.dumps(clash))
        assert "has the Case Type" in found["conflicts"][0]
        assert await person.refused("capability-install", text=json.dumps(clash), digest=digest(clash), replaces="") == "release_conflict"

    play(story)


def test_a_failed_commit_installs_nothing(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        document, ledger = capability(), world.gateway.authority.ledger
        before, commit = rows(world), ledger.commit
        ledger.commit = lambda: (_ for _ in ()).throw(StoreFailed("store_full"))
        answer = await person.raw("capability-install", {"text": json.dumps(document), "digest": digest(document), "replaces": ""})
        assert answer.status == 503
        answer = await person.raw("agent-create", {"name": "Second"})
        assert answer.json()["errorCode"] == "store_unavailable" and "token" not in str(answer.json().get("result"))
        ledger.commit = commit
        assert rows(world) == before and "acme.taxed" not in world.gateway.authority.registry.releases
        assert all("acme.taxed" not in state.board.state.releases for state in world.gateway.authority.agents.values())
        await person.install(document)

    play(story)


def test_a_large_file_is_accepted_and_a_larger_one_is_not(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        document = capability(terms="x" * 300_000)
        assert (await person.act("capability-check", text=json.dumps(document)))["problems"] == []
        found = await person.act("capability-check", text=json.dumps(capability(terms="x" * 600_000)))
        assert "over the limit of 524288" in found["problems"][0]["problem"]
        headers = {"cookie": f"rulith_console={person.cookie}", "x-rulith-console": person.token}
        for route, size in (("capability-check", 2_000_000), ("agent-create", 200_000)):
            answer = await kit.http(world.port, "POST", f"/console/api/{route}", headers, b"x" * size)
            assert answer.status == 413, route

    play(story)


# --- Sources ---------------------------------------------------------------------------


def test_a_source_is_bound_changed_and_removed(play, kit, tmp_path):
    async def story(world):
        person = await Person(world, kit).set_up()
        folder = tmp_path / "orders"
        folder.mkdir()
        record = {"connectionId": world.profile.connection_id, "name": "my-orders", "type": "file", "access": str(folder), "tier": "attested",
                  "attests": [kit.PREFIX + "input"]}
        assert await person.act("source-add", **record) == {"name": "my-orders"}
        assert await person.refused("source-add", **record) == "registry_name_taken"
        shown = await person.source("my-orders")
        assert shown["access"] == str(folder)
        edited = {**record, "tier": "perceived", "attests": []}
        assert await person.refused("source-edit", **edited, replaces="sha256:" + "0" * 64) == "source_not_as_shown"
        await person.act("source-edit", **edited, replaces=shown["digest"])
        assert last_rows(world, 1)[0].body["command"]["kind"] == "several"
        assert await person.refused("source-edit", **edited, replaces=shown["digest"]) == "source_not_as_shown"
        shown = await person.source("my-orders")
        assert shown["tier"] == "perceived" and shown["attests"] == []
        assert await person.refused("source-remove", name="nobody", replaces="") == "unknown_source"
        assert await person.refused("source-remove", name="my-orders", replaces="") == "source_not_as_shown"
        await person.act("source-remove", name="my-orders", replaces=shown["digest"])
        assert "my-orders" not in world.gateway.authority.registry.sources
        worker = world.worker()
        headers = {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}
        granted = (await kit.http(world.port, "GET", "/work/sources", headers)).json()
        assert [row["name"] for row in granted["sources"]] == [SOURCE]

    play(story)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": ""}, "source_name"), ({"name": "../x"}, "source_name"), ({"name": "a b"}, "source_name"), ({"name": "x" * 65}, "source_name"),
        ({"type": "sensor"}, "not_built"), ({"type": "nonsense"}, "not_built"),
        *[({"type": "db", "access": access, "attests": []}, "source_access") for access in (
            "/tmp/x.db", "sqlite:x.db", "sqlite:", "mysql://u@h/d", "postgresql://u:secret@h/d", "postgresql://u@h:x/d", "Vault")],
        ({"type": "mcp", "access": "npx server", "attests": []}, "source_access"), ({"type": "mcp", "access": "https://u@h/mcp", "attests": []}, "source_access"), ({"tier": "best"}, "source_tier"),
        ({"attests": ["acme.unknown"]}, "attests_unknown"), ({"attests": ["rulith.verified_calculation.total"]}, "attests_unknown"),
        ({"attests": ["case_key"]}, "attests_unknown"), ({"connectionId": "conn_none"}, "unknown_connection"),
        ({"access": ""}, "source_access"), ({"access": "runtime"}, "source_access"), ({"access": "./x"}, "source_access"),
        ({"access": "/tmp/\x00x"}, "source_access"), ({"access": "/tmp/a\nb"}, "source_access"), ({"access": "/" + "x" * 5000}, "source_access"),
        ({"access": "/no/such/folder"}, "source_folder_missing"),
        ({"type": "http", "access": "/tmp", "attests": []}, "source_access"), ({"type": "http", "access": "ftp://x", "attests": []}, "source_access"),
        ({"type": "http", "access": "https://me:secret@host/", "attests": []}, "source_access"),
        ({"type": "http", "access": "http://host:port/", "attests": []}, "source_access"),
        ({"type": "http", "access": "https://host/", "attests": ["rulith.verified_calculation.input"]}, "attests_unknown"),
    ],
)
def test_a_source_that_could_not_work_is_refused_by_name(play, kit, tmp_path, changes, code):
    async def story(world):
        person = await Person(world, kit).set_up()
        record = {"connectionId": world.profile.connection_id, "name": "mine", "type": "file", "access": str(tmp_path), "tier": "attested", "attests": []}
        (tmp_path / "data").mkdir()
        record["access"] = str(tmp_path / "data")
        assert await person.refused("source-add", **{**record, **changes}) == code
        shown = await person.source()
        edit = {**record, "name": SOURCE, **{name: value for name, value in changes.items() if name != "name"}}
        if "name" not in changes:
            assert await person.refused("source-edit", **edit, replaces=shown["digest"]) == code
        assert await person.source() == shown

    play(story)


def test_a_source_may_not_reach_the_home_but_the_profiles_own_folders(play, kit, tmp_path):
    """Equal to it, around it, inside it, and through a link; the workspace and the materials are the exception."""
    async def story(world):
        person = await Person(world, kit).set_up()
        home, profile = world.home.path, world.profile
        link, around = tmp_path / "link", tmp_path / "around-link"
        link.symlink_to(home / "gateway")
        around.symlink_to(home.parent)
        (home / "notes").mkdir()
        (profile.directory / "materials").mkdir()
        (profile.workspace / "runtime" / "inner").mkdir()
        elsewhere = await person.act("connection-create", name="Elsewhere", agentId=profile.agent_id)

        async def attempt(folder, connection=profile.connection_id) -> str:
            record = {"connectionId": connection, "name": "mine", "type": "file", "access": str(folder), "tier": "attested", "attests": []}
            answer = (await person.raw("source-add", record)).json()
            if answer["ok"]:
                await person.act("source-remove", name="mine", replaces=digest(record))
            return answer.get("errorCode", "ok")

        for folder in (home, home.parent, "/", home / "gateway", home / "notes", home / "gateway" / "secrets", link, around, f"{home}/notes/../gateway",
                       profile.directory, home / "workbench"):
            assert await attempt(folder) == "source_root_refused", folder
            assert await attempt(folder, elsewhere["id"]) == "source_root_refused", folder
        assert await attempt(profile.workspace) == "source_root_refused"          # it holds the Tool Manifest
        for folder in (profile.workspace / "runtime", profile.workspace / "runtime" / "inner", profile.directory / "materials"):
            assert await attempt(folder) == "ok", folder
            assert await attempt(folder, elsewhere["id"]) == "source_root_refused"    # another Worker's Source may not go there
        assert await attempt(tmp_path) == "source_root_refused" and await attempt(tmp_path / "absent") == "source_folder_missing"
        answer = await person.act("source-add", connectionId=elsewhere["id"], name="far", type="file", access="/no/such/folder", tier="attested", attests=[])
        assert "no folder /no/such/folder" in answer["warning"]

    play(story)


def test_an_http_source_needs_an_action_that_may_use_one(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        document = capability()
        document["vocabulary"]["defines"][0]["sources"] = ["file", "http"]
        document["actions"][0]["source_types"] = ["file", "http"]
        await person.install(document)
        record = {"connectionId": world.profile.connection_id, "name": "web", "type": "http", "access": "https://orders.example/v1", "tier": "attested"}
        await person.act("source-add", **record, attests=["acme.taxed.input"])
        assert await person.refused("source-add", **{**record, "name": "web2"}, attests=["acme.taxed.written"]) == "attests_unknown"
        await person.act("source-add", **{**record, "name": "web3"}, attests=["*"])

    play(story)


def test_a_source_under_a_running_call_stays(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        shown = await person.source()
        edit = {name: shown[name] for name in ("connectionId", "name", "type", "access", "attests")}
        assert await person.refused("source-remove", name=SOURCE, replaces=shown["digest"]) == "source_in_use"
        assert await person.refused("source-edit", **edit, tier="perceived", replaces=shown["digest"]) == "source_in_use"
        await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]))
        assert (await asked)["accepted"]
        await person.act("source-edit", **edit, tier="perceived", replaces=shown["digest"])

    play(story, pollHoldMs=100)


# --- Tools -----------------------------------------------------------------------------


def test_a_tool_is_locked_as_it_was_shown_and_a_changed_one_needs_a_new_lock(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        worker = world.worker()
        tool = copy.deepcopy(next(each for each in worker.tools if each["id"].endswith("read_input@1")))

        async def row() -> dict:
            return next(each for each in (await person.overview())["connections"][0]["tools"] if each["id"] == tool["id"])

        lock = {"connectionId": worker.connection, "toolId": tool["id"]}
        assert (await row())["state"] == "not_offered"
        assert await person.refused("tool-lock", **lock, digest=tool["digest"], replaces=tool["digest"]) == "tool_not_advertised"
        changed = {**tool, "digest": "f" * 64, "kind": "write", "params": {"job_id": "string", "force": "boolean?"}}
        worker.tools = [changed]
        await worker.poll()
        shown = await row()
        assert shown["state"] == "changed" and ["-", "kind read"] in shown["lines"] and ["+", "takes force: boolean?"] in shown["lines"]
        assert (shown["digest"], shown["lockedDigest"]) == ("f" * 64, tool["digest"])
        assert await person.refused("tool-lock", **lock, digest=tool["digest"], replaces=tool["digest"]) == "tool_not_as_shown"
        assert await person.refused("tool-lock", **lock, digest="f" * 64, replaces="") == "tool_lock_not_as_shown"
        await person.act("tool-lock", **lock, digest="f" * 64, replaces=tool["digest"])
        assert (await row())["state"] == "locked"
        assert world.gateway.authority.registry.locks[worker.connection, tool["id"]].descriptor["kind"] == "write"
        assert await person.refused("tool-unlock", **lock, digest=tool["digest"]) == "tool_lock_not_as_shown"
        await person.act("tool-unlock", **lock, digest="f" * 64)
        assert (await row())["state"] == "offered"
        assert await person.refused("tool-unlock", **lock, digest="f" * 64) == "tool_lock_not_as_shown"
        assert await person.refused("tool-lock", connectionId="conn_none", toolId=tool["id"], digest="f" * 64, replaces="") == "unknown_connection"

    play(story, pollHoldMs=100)


def test_an_unlocked_tools_call_waits_and_goes_on_when_it_is_locked_again(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        tool = next(each for each in worker.tools if each["id"].endswith("read_input@1"))
        lock = {"connectionId": worker.connection, "toolId": tool["id"]}
        await person.act("tool-unlock", **lock, digest=tool["digest"])
        refused = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert refused["accepted"] is False and "not locked" in refused["teaching"]
        await person.act("tool-lock", **lock, digest=tool["digest"], replaces="")
        await world.act(host, worker, "read_input", case["root"])

    play(story, pollHoldMs=100)


# --- Agents and Connections ------------------------------------------------------------


def test_a_new_agent_gets_a_token_once_and_every_installed_capability(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        await person.install(capability())
        made = await person.act("agent-create", name="Night audit")
        assert made["token"].startswith("rlt_agt_")
        ledger = json.dumps([row.body for row in world.gateway.authority.ledger.rows()])
        assert made["token"] not in ledger and made["token"] not in json.dumps(await person.overview())
        host = world.host()
        host.token = made["token"]
        assert (await host.initialize())["_meta"]["rulith/v3"]["agentId"] == made["id"]
        assert (await world.open_case(host, "taxed", "t-1"))["drive"]
        assert (await world.open_case(host, "verified_calculation", "c-1"))["drive"]
        await world.stop()
        await world.start()
        host.port = world.port
        assert (await host.initialize())["_meta"]["rulith/v3"]["agentId"] == made["id"]

    play(story)


@pytest.mark.parametrize("name", ["", " x", "x ", "assistant", "x" * 65, "a\nb", "<img src=x>", "gnp\u202eexe"])
def test_a_name_is_plain_and_ones_own(play, kit, name):
    async def story(world):
        person = await Person(world, kit).set_up()
        wanted = "registry_name_taken" if name == "assistant" else "name_unusable"
        assert await person.refused("agent-create", name=name) == wanted
        if name != "assistant":
            assert await person.refused("connection-create", name=name, agentId=world.profile.agent_id) == wanted

    play(story)


@pytest.mark.parametrize("route", ["agent-rotate", "agent-revoke"])
def test_an_old_token_ends_at_once_with_what_was_held_under_it(play, kit, route):
    async def story(world):
        person = await Person(world, kit).set_up()
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        held = asyncio.ensure_future(host.call_raw("ApplyAction", kit.action_call("read_input", case["root"])))
        while world.gateway.authority.agents[world.profile.agent_id].operations.unresolved() is None:
            await asyncio.sleep(0)
        result = await person.act(route, id=world.profile.agent_id)
        assert (await held).status == 409
        assert (await host.rpc("ping")).status == 401
        registry = world.gateway.authority.registry
        assert registry.agents[world.profile.agent_id]["tokenHash"] == "" if route == "agent-revoke" else result["profile"] == "Assistant"
        shown = next(row for row in (await person.overview())["agents"] if row["id"] == world.profile.agent_id)
        assert shown["revoked"] is (route == "agent-revoke")
        assert case["caseId"] in str((await world.local("state")).json()["cases"])       # its Cases stay
        if route == "agent-revoke":
            assert await person.refused(route, id=world.profile.agent_id) == "agent_revoked_already"
            result = await person.act("agent-rotate", id=world.profile.agent_id)
        assert agent_secrets(world.profile).load()["RULITH_TOKEN"] == result["token"]
        fresh = world.host()
        assert (await fresh.initialize())["_meta"]["rulith/v3"]["agentId"] == world.profile.agent_id
        assert await person.refused("agent-rotate", id="agent_none") == "unknown_agent"
        assert await person.refused("agent-revoke", id="agent_none") == "unknown_agent"

    play(story, pollHoldMs=100)


def test_a_new_connections_key_serves_a_worker_and_is_told_once(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        made = await person.act("connection-create", name="my folder", agentId=world.profile.agent_id)
        assert made["key"].startswith("rlt_key_")
        ledger = json.dumps([row.body for row in world.gateway.authority.ledger.rows()])
        overview = await person.overview()
        assert made["key"] not in ledger and made["key"] not in json.dumps(overview)
        assert overview["gatewayUrl"] == f"http://127.0.0.1:{world.port}"
        kept = world.home.secrets / "gateway.json"
        assert json.loads(kept.read_text())[made["id"]] == made["key"]
        if os.name == "posix":
            assert kept.stat().st_mode & 0o077 == 0
        worker = world.worker()
        worker.connection, worker.key = made["id"], made["key"]
        assert (await worker.poll())["accepted"]
        shown = next(row for row in (await person.overview())["connections"] if row["id"] == made["id"])
        assert shown["line"]["state"] == "online" and all(tool["state"] == "offered" for tool in shown["tools"])
        assert await person.refused("connection-create", name="My Folder", agentId=world.profile.agent_id) == "registry_name_taken"
        assert await person.refused("connection-create", name="other", agentId="agent_none") == "unknown_agent"

    play(story, pollHoldMs=100)


def test_a_replaced_key_takes_its_worker_off_the_line_and_what_it_claimed_to_a_person(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        polling = asyncio.ensure_future(worker.poll())
        result = await person.act("connection-rotate", id=worker.connection)
        assert (await asked)["state"] == "needs_person"
        late = await worker.raw({"kind": "ReportWork", "workType": "action", "id": row["work"], "executionGrant": row["executionGrant"],
                                 **worker.identity(), "ok": True, "result": "", "facts": kit.facts_for(row["tool"])})
        assert late.status == 401
        held = await polling
        assert held["accepted"] is False or held["payload"]["work"] == []
        assert worker_secrets(world.profile).load()["RULITH_CONNECTION_KEY"] == result["key"] and result["profile"] == "Assistant"
        fresh = world.worker()
        fresh.key = result["key"]
        assert (await fresh.poll())["accepted"]
        assert await person.refused("connection-rotate", id="conn_none") == "unknown_connection"
        await world.stop()
        await world.start()
        assert world.gateway.authority.agents[world.profile.agent_id].operations.unresolved().state == "needs_person"

    play(story, pollHoldMs=1_000)


def test_a_profile_that_cannot_be_told_its_new_token_is_a_warning_and_the_row_stands(play, kit):
    async def story(world):
        person = await Person(world, kit).set_up()
        path = world.profile.directory / "agent.secrets.json"
        if os.name != "posix":
            pytest.skip("modes are of POSIX systems")
        host = world.host()
        path.chmod(0o644)
        result = await person.act("agent-rotate", id=world.profile.agent_id)
        assert "could not be given it" in result["warning"] and result["token"] not in path.read_text()
        host.token = result["token"]
        await host.initialize()

    play(story)


def test_there_is_room_for_so_many_and_no_more(play, kit, monkeypatch):
    for name in ("AGENTS_MAX", "WORKER_LINES_MAX", "SOURCES_MAX", "RELEASES_MAX"):
        monkeypatch.setattr(f"rulith.gateway.administration.{name}", 1)

    async def story(world):
        person = await Person(world, kit).set_up()
        bodies = example_bodies(world)
        for route in ("agent-create", "connection-create", "source-add", "capability-install"):
            assert await person.refused(route, **bodies[route]) == "resource_limit", route

    play(story)


# --- the ledger, looked at -------------------------------------------------------------


def test_the_device_grant_may_have_the_ledger_checked(play, kit):
    async def story(world):
        checked = (await world.local("ledger")).json()
        assert checked["problems"] == [] and sum(checked["chains"].values()) == rows(world)
        for token in (world.token, "x"):
            assert (await world.local("ledger", token)).status == 401

    play(story)


def test_the_device_grant_learns_whose_a_credential_is_by_its_hash_alone(play, kit):
    """Our decision: whoever attaches a profile proves its token and key without a session or a lease of them."""
    async def story(world):
        person = await Person(world, kit).set_up()
        made = await person.act("agent-create", name="Night audit")
        line = await person.act("connection-create", name="Its Worker", agentId=made["id"])

        async def whose(secret: str) -> dict:
            return (await world.local(f"whose?hash={hashlib.sha256(secret.encode()).hexdigest()}")).json()
        assert await whose(made["token"]) == {"agentId": made["id"], "agentName": "Night audit"}
        assert await whose(line["key"]) == {"agentId": made["id"], "agentName": "Night audit", "connectionId": line["id"], "connectionName": "Its Worker"}
        assert (await whose(world.token))["agentId"] == world.profile.agent_id
        await person.act("agent-revoke", id=made["id"])
        for asked in (made["token"], "", "rlt_key_none"):
            assert (await whose(asked))["errorCode"] == "credential_unknown"
        assert (await world.local("whose")).json()["errorCode"] == "credential_unknown"
        assert (await world.local(f"whose?hash={'0' * 64}", world.token)).status == 401

    play(story)
