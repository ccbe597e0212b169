"""The Worker line over real sockets: who may hold it, what may be claimed, what may be said."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json

import pytest

from rulith.base.errors import Refused
from rulith.gateway.worker_work import Holder
from rulith.wire.contract import validate


def dispatched(story, *, action="read_input", before=()):
    """A story that begins with one Action dispatched to a polling Worker: story(world, kit, host, worker, row, asked, root)."""

    async def run(world, kit):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        for done in before:
            await world.act(host, worker, done, case["root"])
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call(action, case["root"])))
        row = (await worker.rows_until())[0]
        await story(world, host, worker, row, asked, case)
        if not asked.done():
            asked.cancel()

    return run


async def board_facts(world, case) -> list[str]:
    detail = (await world.local(f"case?case={case['caseId']}")).json()
    return [node["predicate"] for node in detail["facts"]]


def signed(grant: dict, key: str) -> str:
    part = base64.urlsafe_b64encode(json.dumps(grant, separators=(",", ":")).encode()).rstrip(b"=").decode()
    mac = hmac.new(key.encode(), part.encode(), hashlib.sha256).digest()
    return part + "." + base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def payload_of(token: str) -> dict:
    part = token.split(".")[0]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_row_has_the_shape_of_the_contract_and_a_grant_over_its_exact_strings(play, kit):
    async def story(world, host, worker, row, asked, case):
        validate("workerActionRow", row)
        grant = payload_of(row["executionGrant"])
        assert grant["version"] == 2 and grant["workerId"] == worker.id and grant["workerGeneration"] == worker.generation
        assert grant["invocationId"] == row["work"] and grant["adapterDigest"] == "sha256:" + row["toolDigest"]
        assert json.loads(row["args"]) == {"job_id": "calc-001", "source": "verified-calculation-local"}
        assert row["executionGrant"] == signed(grant, worker.key)

    play(lambda world: dispatched(story)(world, kit))


def test_a_row_neither_claimed_nor_refused_is_offered_again_with_the_same_grant(play, kit):
    async def story(world, host, worker, row, asked, case):
        assert (await worker.rows())[0] == row

    play(lambda world: dispatched(story)(world, kit))


def forged_fact(name):
    good = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
    prefix = "rulith.verified_calculation."
    return {
        "another predicate": [{"predicate": prefix + "output", "args": {"job_id": "calc-001", "subtotal_cents": 1, "total_cents": 1, "sha256": "x"}}],
        "a conclusion": [{"predicate": prefix + "total", "args": {"job_id": "calc-001", "cents": 1}}],
        "a Board word": [{"predicate": "acceptance_met", "args": {"node": "x"}}],
        "the Case's key": [{"predicate": "case_key", "args": {"root": "r", "name": "job_id", "value": "calc-001"}}],
        "a missing argument": [{"predicate": prefix + "input", "args": {name: good[name] for name in list(good)[:3]}}],
        "an extra argument": [{"predicate": prefix + "input", "args": {**good, "tier": "verified"}}],
        "one good and one forged": [{"predicate": prefix + "input", "args": good}, {"predicate": prefix + "total", "args": {"job_id": "calc-001", "cents": 1}}],
        "another Source's name": [{"predicate": prefix + "input", "args": {**good, "source": "other"}}],
    }[name]


@pytest.mark.parametrize("forgery", ["another predicate", "a conclusion", "a Board word", "the Case's key", "a missing argument",
                                     "an extra argument", "one good and one forged", "another Source's name"])
def test_a_worker_with_a_valid_grant_that_forges_a_fact_lands_nothing(play, kit, forgery):
    """What a Worker may say: exactly the returns rows of what was dispatched."""
    async def story(world, host, worker, row, asked, case):
        before = await board_facts(world, case)
        assert (await worker.claim(row))["accepted"]
        answer = await worker.report(row, ok=True, result="", facts=forged_fact(forgery))
        assert answer["errorCode"] == "ingest_rejected", answer
        assert await board_facts(world, case) == before
        assert (await host.ping())[0]["stage"] == "at_worker"
        failed = await worker.report(row, ok=False, result="", reason="result_not_recorded: ingest_rejected")
        assert failed["accepted"]
        assert (await asked)["result"]["status"] == "failed"
        assert await board_facts(world, case) == before

    play(lambda world: dispatched(story)(world, kit))


@pytest.mark.parametrize("extra", [{"tier": "verified"}, {"source": "other"}, {"caseId": "case_1"}, {"caseRevision": 1}])
def test_a_report_with_a_member_nobody_reads_is_malformed(play, kit, extra):
    async def story(world, host, worker, row, asked, case):
        await worker.claim(row)
        operation = {"kind": "ReportWork", "workType": "action", "id": row["work"], "executionGrant": row["executionGrant"],
                     **worker.identity(), "ok": True, "facts": kit.facts_for(row["tool"]), **extra}
        answer = await worker.raw(operation)
        assert answer.status == 400 and answer.json()["errorCode"] == "bad_command"

    play(lambda world: dispatched(story)(world, kit))


GRANT_FORGERIES = {
    "another invocation": lambda g, k, o: signed({**g, "invocationId": "inv_other"}, k),
    "another action": lambda g, k, o: signed({**g, "actionId": "rulith.verified_calculation.write_output"}, k),
    "another Source": lambda g, k, o: signed({**g, "sourceRecordId": ""}, k),
    "another Connection": lambda g, k, o: signed({**g, "connectionId": "conn_other"}, k),
    "another instance": lambda g, k, o: signed({**g, "workerId": "wkr_ffffffffffff"}, k),
    "an older generation": lambda g, k, o: signed({**g, "workerGeneration": g["workerGeneration"] + 1}, k),
    "another request": lambda g, k, o: signed({**g, "requestDigest": "sha256:" + "0" * 64}, k),
    "another adapter": lambda g, k, o: signed({**g, "adapterDigest": "sha256:" + "0" * 64}, k),
    "version 1": lambda g, k, o: signed({**g, "version": 1}, k),
    "an extra member": lambda g, k, o: signed({**g, "caseId": "x"}, k),
    "another key": lambda g, k, o: signed(g, "rlt_key_other"),
    "one part": lambda g, k, o: o.split(".")[0],
    "three parts": lambda g, k, o: o + ".x",
    "other member order": lambda g, k, o: signed(dict(reversed(list(g.items()))), k),
}


@pytest.mark.parametrize("forgery", GRANT_FORGERIES)
def test_a_grant_that_is_not_the_one_served_claims_and_reports_nothing(play, kit, forgery):
    """The Worker holds the key too, so the dispatch record decides, not the signature."""
    async def story(world, host, worker, row, asked, case):
        bad = GRANT_FORGERIES[forgery](payload_of(row["executionGrant"]), worker.key, row["executionGrant"])
        answer = await worker.claim(row, executionGrant=bad)
        assert answer["accepted"] is False and answer["errorCode"]
        assert (await host.ping())[0]["stage"] == "not_dispatched"
        assert (await worker.claim(row))["accepted"]
        answer = await worker.report({**row, "executionGrant": bad}, ok=True, result="", facts=kit.facts_for(row["tool"]))
        assert answer["accepted"] is False and answer["errorCode"]
        assert (await host.ping())[0]["state"] == "running"

    play(lambda world: dispatched(story)(world, kit))


def test_a_second_claim_by_another_instance_is_refused_and_the_same_claim_is_a_replay(play, kit):
    async def story(world, host, worker, row, asked, case):
        assert (await worker.claim(row))["accepted"]
        assert (await worker.claim(row))["accepted"]
        other = world.worker()
        other.generation = worker.generation
        answer = await other.claim(row)
        assert answer == {"accepted": False, "errorCode": "worker_lease_lost", "teaching": answer["teaching"]}
        # Behind the lease the record itself says whose the claim is.
        stranger = Holder(worker.connection, worker.key, other.id, worker.generation)
        with pytest.raises(Refused) as refused:
            await world.gateway.line._work.claim(stranger, {"id": row["work"], "executionGrant": row["executionGrant"]})
        assert refused.value.code == "already_claimed"

    play(lambda world: dispatched(story)(world, kit))


def test_a_report_before_the_claim_or_by_another_generation_is_not_the_claimers(play, kit):
    async def story(world, host, worker, row, asked, case):
        facts = kit.facts_for(row["tool"])
        assert (await worker.report(row, ok=True, result="", facts=facts))["errorCode"] == "not_claimer"
        await worker.claim(row)
        honest = worker.generation
        worker.generation = honest + 1
        assert (await worker.report(row, ok=True, result="", facts=facts))["errorCode"] == "not_claimer"
        worker.generation = honest
        assert (await worker.report({**row, "work": "inv_unknown"}, ok=True, result=""))["errorCode"] == "no_work"
        assert (await worker.claim({**row, "work": "inv_unknown"}))["errorCode"] == "no_work"

    play(lambda world: dispatched(story)(world, kit))


def test_the_same_receipt_again_gets_the_same_answer_and_a_different_one_is_refused(play, kit):
    async def story(world, host, worker, row, asked, case):
        await worker.claim(row)
        facts = kit.facts_for(row["tool"])
        first = await worker.report(row, ok=True, result="done", facts=facts)
        assert first["accepted"]
        assert await worker.report(row, ok=True, result="done", facts=facts) == first
        assert (await worker.report(row, ok=True, result="other", facts=facts))["errorCode"] == "already_reported"
        assert (await worker.report(row, ok=False, result="", reason="changed my mind"))["errorCode"] == "already_reported"
        assert (await worker.claim(row))["errorCode"] == "not_dispatchable"
        assert (await asked)["accepted"]

    play(lambda world: dispatched(story)(world, kit))


def test_a_lost_claimer_needs_a_person_and_its_late_receipt_is_fenced(play, kit):
    """A release says nothing about the call: whether it took effect is for a person to say."""
    async def story(world, host, worker, row, asked, case):
        await worker.claim(row)
        late = dict(worker.identity())
        assert (await worker.release())["accepted"]
        held = await asked
        assert held["state"] == "needs_person" and "accepted" not in held
        before = await board_facts(world, case)
        answer = await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]), **late)
        assert answer["errorCode"] == "worker_fenced"
        assert await board_facts(world, case) == before
        audit = [entry for entry in world.gateway.authority.ledger.rows() if entry.kind == "audit"]
        assert len(audit) == 1 and audit[0].body["ok"] is True
        again = world.worker()
        assert await again.rows() == []        # a call that was claimed is never offered again
        blocked = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert blocked["errorCode"] == "operation_running" and blocked["requestExecuted"] is False

    play(lambda world: dispatched(story)(world, kit))


def test_an_undeliverable_outcome_goes_to_a_person_and_writes_nothing(play, kit):
    async def story(world, host, worker, row, asked, case):
        await worker.claim(row)
        assert (await worker.report(row, undeliverable="adapter_output_exceeds_object_budget"))["accepted"]
        assert (await asked)["state"] == "needs_person"
        assert (await worker.report(row, ok=False, result="", reason="x"))["errorCode"] == "already_reported"

    play(lambda world: dispatched(story)(world, kit))


def test_an_unclaimed_row_moves_to_the_next_instance_with_a_new_grant(play, kit):
    async def story(world, host, worker, row, asked, case):
        await worker.release()
        other = world.worker()
        again = (await other.rows_until())[0]
        assert again["work"] == row["work"] and again["executionGrant"] != row["executionGrant"]
        assert payload_of(again["executionGrant"])["workerId"] == other.id
        assert (await other.claim(row))["accepted"] is False
        assert (await other.claim(again))["accepted"]
        assert (await other.report(again, ok=True, result="", facts=kit.facts_for(row["tool"])))["accepted"]
        assert (await asked)["accepted"]

    play(lambda world: dispatched(story)(world, kit))


def test_a_tool_whose_digest_is_not_the_locked_one_is_not_dispatched(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        honest = worker.tools
        worker.tools = [{**tool, "digest": "0" * 64} if "read_input" in tool["id"] else tool for tool in honest]
        await worker.poll()
        case = await world.open_case(host)
        blocked = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert blocked["errorCode"] == "needs_setup", blocked

    play(story, pollHoldMs=200)


def test_a_receipt_over_the_inline_budget_is_refused(play, kit):
    async def story(world, host, worker, row, asked, case):
        await worker.claim(row)
        assert (await worker.report(row, ok=True, result="x" * 70_000))["errorCode"] == "ingest_rejected"
        assert (await worker.report(row, ok=True, result="", artifacts=[{"ref": "art_" + "a" * 32}] * 2))["errorCode"] == "artifact_reference_repeated"

    play(lambda world: dispatched(story)(world, kit))


def test_a_receipt_that_names_an_artifact_nobody_sent_is_refused_whole(play, kit):
    async def story(world, host, worker, row, asked, case):
        await worker.claim(row)
        before = await board_facts(world, case)
        answer = await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]), artifacts=[{"ref": "art_" + "a" * 32}])
        assert answer["errorCode"] == "artifact_unavailable" and await board_facts(world, case) == before

    play(lambda world: dispatched(story)(world, kit))


# --- the line itself


@pytest.mark.parametrize("spoil, code", [
    (lambda tools: [{**tools[0], "id": f"acme.t{number}@1"} for number in range(129)], "too_many_tools"),
    (lambda tools: [*tools, tools[0]], "tool_manifest_repeats_id"),
    (lambda tools: [{**tools[0], "digest": "A" * 64}], "tool_descriptor_invalid"),
])
def test_an_offered_tool_list_that_is_none_is_refused(play, spoil, code):
    async def story(world):
        worker = world.worker()
        worker.tools = spoil(worker.tools)
        answer = await worker.poll()
        assert answer["errorCode"] == code and "lease" not in answer and "payload" not in answer

    play(story)


def test_poll_admission_follows_the_table(play):
    """worker-hop §3.3, over the wire."""
    async def story(world):
        worker, other = world.worker(), world.worker()
        body = await worker.poll()
        validate("pollAnswer", body)
        assert body["lease"]["workerGeneration"] == 1
        assert (await worker.poll(fresh=True))["lease"]["workerGeneration"] == 1
        held = await other.poll()
        assert held["errorCode"] == "worker_lease_held" and worker.id not in json.dumps(held) and "lease" not in held
        worker.generation = 5
        assert (await worker.poll())["errorCode"] == "worker_lease_superseded"
        worker.generation = 1
        renewed = (await worker.raw({"kind": "RenewLease", **worker.identity()})).json()
        assert renewed["lease"]["workerGeneration"] == 1 and "payload" not in renewed
        assert (await worker.release()) == {"accepted": True}
        assert (await worker.release()) == {"accepted": True}
        assert (await worker.raw({"kind": "RenewLease", **worker.identity()})).json()["errorCode"] == "worker_lease_lost"
        assert (await other.poll())["lease"]["workerGeneration"] == 3

    play(story, pollHoldMs=50)


def test_a_lapsed_lease_is_taken_over_and_the_old_holder_hears_expired(play):
    async def story(world):
        worker, other = world.worker(), world.worker()
        await worker.poll()
        world.gateway.line._held[worker.connection].until_s = 0.0
        assert (await worker.poll())["errorCode"] == "worker_lease_expired"
        assert (await other.poll())["lease"]["workerGeneration"] == 2
        assert (await worker.poll())["errorCode"] in ("worker_lease_held", "worker_lease_superseded")

    play(story, pollHoldMs=50)


def test_a_refused_poll_moves_no_tool_list(play):
    async def story(world):
        worker, other = world.worker(), world.worker()
        await worker.poll()
        other.tools = [{"nonsense": True}]
        assert (await other.poll())["errorCode"] == "worker_lease_held"
        state = (await world.local("state")).json()
        assert all(tool["advertised"] and tool["locked"] for tool in state["connections"][0]["tools"])
        worker.tools = worker.tools + worker.tools[:1]
        assert (await worker.poll())["errorCode"] == "tool_manifest_repeats_id"

    play(story, pollHoldMs=50)


@pytest.mark.parametrize("change", [
    {"x-rulith-connection-key": "rlt_key_wrong"}, {"x-rulith-connection": "conn_other"},
])
def test_a_wrong_connection_credential_is_401_whatever_else_the_request_says(play, kit, change):
    async def story(world):
        worker = world.worker()
        headers = {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key, **change}
        for method, path, body in (("POST", "/work", b"not json"), ("GET", "/work/sources", None)):
            answer = await kit.http(world.port, method, path, headers, body)
            assert answer.status == 401 and answer.json()["accepted"] is False

    play(story)


GENERATIONS = ["0", "01", "+1", "-1", "1.0", "1e0", " ", "", "9007199254740992", "12345678901234567", "two"]


@pytest.mark.parametrize("text", GENERATIONS)
def test_a_malformed_generation_header_is_refused(play, text):
    async def story(world):
        worker = world.worker()
        await worker.poll()
        headers = {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key,
                   "x-rulith-worker": worker.id, "x-rulith-worker-generation": text}
        answer = await worker.raw({"kind": "RenewLease", **worker.identity()}, headers)
        assert answer.status == 400 and answer.json()["errorCode"] == "bad_command"

    play(story, pollHoldMs=50)


def test_header_identity_must_equal_body_identity(play):
    async def story(world):
        worker = world.worker()
        await worker.poll()
        base = [("x-rulith-connection", worker.connection), ("x-rulith-connection-key", worker.key)]
        me, generation = ("x-rulith-worker", worker.id), ("x-rulith-worker-generation", "1")
        for rows in ([], [me], [generation], [me, me, generation], [me, generation, generation],
                     [("x-rulith-worker", "wkr_somebodyelse"), generation], [me, ("x-rulith-worker-generation", "2")]):
            answer = await worker.raw({"kind": "RenewLease", **worker.identity()}, base + rows)
            assert answer.status == 400, rows
        assert (await worker.raw({"kind": "RenewLease", **worker.identity()}, base + [me, generation])).status == 200

    play(story, pollHoldMs=50)


@pytest.mark.parametrize("operation", [
    {"kind": "ListWork"}, {"kind": "Poll"}, {"kind": ["FenceWorker"]},
    {"kind": "Poll", "workerId": "me", "tools": []}, {"kind": "Poll", "workerId": "wkr_abcdefgh", "tools": [], "caseId": "c"},
    {"kind": "ReleaseLease", "workerId": "wkr_abcdefgh", "workerGeneration": True},
])
def test_a_malformed_operation_is_refused_by_name(play, operation):
    async def story(world):
        answer = await world.worker().raw(operation)
        assert answer.status == 400 and answer.json()["errorCode"] == "bad_command"

    play(story)


@pytest.mark.parametrize("operation", [{"kind": "FenceWorker", "connectionId": "x", "workerId": None, "generation": 9},
                                       {"kind": "ReconcileUnknownExecution", "invocation": "inv_x", "reason": "r"}])
def test_no_connection_moves_a_fence_or_settles_a_call(play, operation):
    async def story(world):
        answer = await world.worker().raw(operation)
        assert answer.json()["accepted"] is False and answer.json()["errorCode"] == "fence_control_requires_no_connection"

    play(story)


def test_another_path_of_the_hop_is_unimplemented(play, kit):
    async def story(world):
        worker = world.worker()
        answer = await kit.http(world.port, "POST", "/work/object", {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}, b"")
        assert answer.status == 404 and answer.json()["errorCode"] == "unimplemented"

    play(story)


def test_an_order_that_nobody_gave_is_no_work(play):
    async def story(world):
        worker = world.worker()
        await worker.poll()
        answer = await worker.raw({"kind": "ClaimWork", "workType": "verification", "id": "x", **worker.identity()})
        assert answer.status == 200 and answer.json()["errorCode"] == "no_work"

    play(story)


def test_sources_are_listed_to_their_own_connection_only(play, kit):
    async def story(world):
        worker = world.worker()
        headers = {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key}
        body = (await kit.http(world.port, "GET", "/work/sources", headers)).json()
        assert body["sources"] == [{"name": "verified-calculation-local", "type": "file",
                                    "access": str(world.profile.workspace / "runtime")}]
        validate("sourceList", body)

    play(story)
