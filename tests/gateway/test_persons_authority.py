"""Who may do what only a person may: every actor tries every act, in every place it can reach. Duty: design §5, "The person's authority"."""

from __future__ import annotations

import json
import re

import pytest

from rulith.base.canonical import digest
from rulith.base.resources import shipped_text
from rulith.board.people import VIEWER
from rulith.gateway.console_api import ROUTES

PASSPHRASE = "correct horse battery"
P = "rulith.verified_calculation."
ACTORS = ["page script", "page of another origin", "agent", "worker", "device", "stale page", "nobody"]
ACTS = ["decide", "reconcile", "isolate", "hold-case", "lift-hold", "close-case", "withdraw-call", "tool-lock", "tool-unlock", "tool-waive", "source-add", "source-edit", "source-remove", "source-delivery",
        "order-verification", "order-evidence", "order-withdraw",
        "capability-install", "constitution-install", "agent-create", "agent-rotate", "agent-revoke", "agent-profile", "connection-create", "connection-rotate",
        "person-invite", "person-reset", "person-role", "person-remove", "access-answer", "device-end", "passphrase"]


def test_every_act_of_the_console_is_in_this_matrix():
    acts = {route for (method, route), needs in ROUTES.items() if method == "POST" and needs not in ("", VIEWER)}
    assert acts - set(ACTS) == {"capability-check", "constitution-check"}


async def signed_in(world, kit) -> tuple[str, str]:
    """(cookie, token) of an owner's page."""
    body = json.dumps({"code": world.gateway.setup_code, "passphrase": PASSPHRASE}).encode()
    answer = await kit.http(world.port, "POST", "/console/api/setup", {"content-type": "application/json"}, body)
    return re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1), answer.json()["token"]


def bodies(world, decision: dict, case: dict, ordinal: int) -> dict[str, dict]:
    """For each act a body that would be accepted, or would come nearest to it, from the owner."""
    registry, agent = world.gateway.authority.registry, world.profile.agent_id
    lock, source = next(iter(registry.locks.values())), next(iter(registry.sources.values()))
    of_case, of_lock = {"agentId": agent, "caseId": case["caseId"]}, {"connectionId": lock.connection_id, "toolId": lock.tool_id, "digest": lock.digest}
    law = {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Law", "rules": []}
    text = shipped_text("examples", "verified-calculation", "capability.json").replace("rulith.verified_calculation", "acme.mine").replace('"verified_calculation"', '"mine"').replace(
        '"approved_calculation"', '"approved_mine"')
    return {
        "decide": {"id": decision["id"], "verdict": "approve", "argumentDigest": decision["argumentDigest"]},
        "reconcile": {"agentId": agent, "ordinal": ordinal, "outcome": "happened", "reason": "seen", "argumentDigest": decision["argumentDigest"]},
        "isolate": {"connectionId": lock.connection_id}, "hold-case": {**of_case, "reason": "x"}, "lift-hold": {**of_case, "hold": "operator", "reason": "x"},
        "close-case": {**of_case, "disposition": "cancelled", "reason": "x"}, "withdraw-call": {"agentId": agent, "ordinal": ordinal, "reason": "x"},
        "tool-lock": {**of_lock, "replaces": lock.digest}, "tool-unlock": of_lock, "tool-waive": {**of_lock, "waived": True},
        "source-add": {**source.record(), "name": "another"}, "source-edit": {**source.record(), "tier": "verified", "replaces": digest(source.record())},
        "source-remove": {"name": source.name, "replaces": digest(source.record())},
        "source-delivery": {"agentId": agent, "source": source.name, "localRead": True, "offMachine": True},
        "order-verification": {**of_case, "source": source.name, "toolId": lock.tool_id, "claim": json.dumps({"predicate": P + "input", "args": {
            "job_id": "calc-001", "unit_price_cents": 1, "quantity": 1, "shipping_cents": 1}})},
        "order-evidence": {**of_case, "source": source.name, "toolId": lock.tool_id, "material": "orders"}, "order-withdraw": {"agentId": agent, "orderId": "ord_x", "reason": "x"},
        "capability-install": {"text": text, "digest": digest(json.loads(text)), "replaces": ""},
        "constitution-install": {"text": json.dumps(law), "digest": digest(law), "replaces": ""},
        "agent-create": {"name": "Second"}, "agent-rotate": {"id": agent}, "agent-revoke": {"id": agent}, "agent-profile": {"id": agent, "profile": {}, "replaces": digest({})},
        "connection-create": {"name": "Mine", "agentId": agent}, "connection-rotate": {"id": lock.connection_id},
        "person-invite": {"name": "mallory", "role": "owner"}, "person-reset": {"name": "owner"}, "person-role": {"name": "owner", "role": "viewer"},
        "person-remove": {"name": "owner"}, "access-answer": {"id": "req_x", "verdict": "approve", "agentId": agent}, "device-end": {"id": "dev_x"}, "passphrase": {"current": PASSPHRASE, "passphrase": "another passphrase"}}


def presented(who: str, world, worker, cookie: str, token: str) -> dict[str, str]:
    """What this actor can send, in every place where it might count."""
    if who == "page script":                       # the browser adds the cookie; the page's token is in another realm's memory
        return {"cookie": f"rulith_console={cookie}"}
    if who == "page of another origin":
        return {"cookie": f"rulith_console={cookie}", "x-rulith-console": token, "origin": "http://evil.example"}
    if who == "stale page":
        return {"cookie": f"rulith_console={cookie}", "x-rulith-console": token}
    if who == "nobody":
        return {}
    own = {"agent": world.token, "worker": worker.key, "device": world.device}[who]
    return {"authorization": f"Bearer {own}", "cookie": f"rulith_console={own}", "x-rulith-console": own, "x-rulith-connection": worker.connection,
            "x-rulith-connection-key": worker.key, "x-rulith-worker": worker.id, "x-rulith-worker-version": "2026-09-01"}


def heads(world) -> tuple:
    ledger = world.gateway.authority.ledger
    return tuple((chain, ledger.head(chain)) for chain in ledger.chains())


@pytest.fixture
def matrix(play, kit):
    """Plays one actor through the acts, beside a call that waits for a decision."""
    def tell(who: str, story):
        async def main(world):
            host, worker = world.host(), world.worker()
            await host.initialize()
            await worker.poll()
            cookie, token = await signed_in(world, kit)
            case = await world.open_case(host, "approved_calculation")
            await world.act(host, worker, "read_input", case["root"])
            held = await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
            assert held["state"] == "waiting_for_decision", held
            (decision,) = world.gateway.authority.registry.decisions.values()
            headers = presented(who, world, worker, cookie, token)
            if who == "stale page":
                for sign_in in world.gateway.console.persons.sign_ins._open.values():
                    sign_in.at_s -= 901
            await story(world, host, worker, headers, bodies(world, decision, case, (await host.ping())[0]["ordinal"]), decision)
        play(main, pollHoldMs=100)
    return tell


@pytest.mark.parametrize("who", ACTORS)
def test_nobody_but_the_person_does_what_only_a_person_may(matrix, kit, who):
    async def story(world, host, worker, headers, acts, decision):
        assert acts.keys() == set(ACTS)
        before = heads(world)
        for act, body in acts.items():
            answer = await kit.http(world.port, "POST", f"/console/api/{act}", {"content-type": "application/json", **headers}, json.dumps(body).encode())
            assert answer.status in (401, 403) and answer.json()["ok"] is False, (act, answer.status, answer.body)
            assert answer.json()["errorCode"] == ("not_authorized" if who == "page of another origin" else "sign_in_required"), act
            assert "set-cookie" not in answer.headers and "token" not in answer.json()
        assert heads(world) == before
        assert world.gateway.authority.registry.decision(decision["id"])["state"] == "pending" and (await host.ping())[0]["state"] == "waiting_for_decision"

    matrix(who, story)


def test_an_agent_has_no_tool_method_or_argument_that_acts_for_a_person(matrix, kit):
    async def story(world, host, worker, headers, acts, decision):
        tools = [row["name"] for row in (await host.rpc("tools/list")).json()["result"]["tools"]]
        assert tools == ["OpenCase", "ApplyBatch", "ApplyAction", "CloseCase", "QueryBoard", "ReadArtifact"]
        before = heads(world)
        for act, body in acts.items():
            for name in {act, act.title().replace("-", "")} - set(tools):
                assert "error" in (await host.call_raw(name, body)).json()
            assert "error" in (await host.rpc(act, body)).json()
            for tool in tools if act in ("decide", "lift-hold", "close-case") else ():
                given = await host.call(tool, {**body, "act": act})
                assert given["accepted"] is False and given["errorCode"] in ("bad_command", "operation_running"), (tool, act, given)
        for extra in ({"by": "owner"}, {"authority": {"kind": "person", "by": "owner", "signInAgeS": 0}}, {"decision": decision["id"]}, {"approved": True}):
            for tool, arguments in (("CloseCase", {"root": "root_x", "disposition": "cancelled", "reason": "x"}), ("ApplyAction", {"action": P + "write_approved_output"})):
                given = await host.call(tool, {**arguments, **extra})
                assert given["errorCode"] == "bad_command", (tool, extra, given)
            meta = await host.rpc("tools/call", {"name": "QueryBoard", "arguments": {}, "_meta": {"rulith/v3": extra}})
            assert meta.status in (200, 400)
        assert [row for row in heads(world) if row[0] == "gateway"] == [row for row in before if row[0] == "gateway"]
        assert (await host.ping())[0]["state"] == "waiting_for_decision"

    matrix("agent", story)


def test_a_worker_has_no_operation_that_acts_for_a_person(matrix, kit):
    async def story(world, host, worker, headers, acts, decision):
        before = heads(world)
        for act, body in acts.items():
            for kind in (act, act.title().replace("-", "")):
                answer = await worker.raw({**body, "kind": kind, **worker.identity()})
                assert answer.json()["accepted"] is False, (act, answer.body)
        invocation = world.gateway.authority.agents[world.profile.agent_id].operations.unresolved().invocation
        for grant in ("", "x" * 40, decision["id"], decision["argumentDigest"]):
            row = {"work": invocation, "executionGrant": grant}
            assert (await worker.claim(row))["accepted"] is False
            assert (await worker.report(row, ok=True, result="done", facts=[]))["accepted"] is False
        assert await worker.rows() == [], "an undecided call is offered to nobody"
        assert [row for row in heads(world) if row[0] != "gateway"] == [row for row in before if row[0] != "gateway"]
        assert (await host.ping())[0]["state"] == "waiting_for_decision"

    matrix("worker", story)


@pytest.mark.parametrize("who", ["agent", "worker", "device"])
def test_no_other_door_takes_an_act(matrix, kit, who):
    async def story(world, host, worker, headers, acts, decision):
        before = heads(world)
        for act, body in acts.items():
            for path in (f"/local/{act}", f"/work/{act}", f"/mcp/{act}", f"/{act}"):
                answer = await kit.http(world.port, "POST", path, {"content-type": "application/json", **headers}, json.dumps(body).encode())
                assert answer.status >= 400, (path, answer.status)
        assert heads(world) == before

    matrix(who, story)


def test_the_owner_does_it_with_the_very_same_bodies(matrix, kit):
    """Otherwise the refusals above would prove nothing."""
    async def story(world, host, worker, headers, acts, decision):
        own = {"content-type": "application/json", "cookie": headers["cookie"], "x-rulith-console": headers["x-rulith-console"]}
        for act in ("decide", "hold-case", "lift-hold", "withdraw-call", "close-case", "tool-lock", "tool-waive", "source-add", "capability-install", "constitution-install",
                    "agent-create", "agent-profile", "connection-create", "person-invite"):
            answer = await kit.http(world.port, "POST", f"/console/api/{act}", own, json.dumps(acts[act]).encode())
            assert answer.status == 200 and answer.json()["ok"] is True, (act, answer.body)

    matrix("page of another origin", story)
