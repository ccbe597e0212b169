"""Codes that a peer of the gateway meets and that no other test names: each is provoked over the wire."""

from __future__ import annotations

import json

import pytest

from rulith.wire.mcp_server import CALLS_KEPT_MAX
from tests.gateway.test_worker_hop import dispatched, payload_of, signed

OTHER_ACTION = "rulith.verified_calculation.write_output"


async def exploring(world):
    host = world.host()
    await host.initialize()
    case = await host.call("OpenCase", {"caseType": "exploration"})
    return host, case["result"]["root"]


FACT = {"op": "assert_fact", "id": "mine", "predicate": "p", "args": {"n": 1}}
TOTAL = {"op": "derive_aggregate", "id": "t", "kind": "sum", "source": {"predicate": "p", "valueArg": "n"}, "into": {"predicate": "q", "valueArg": "n"}}


@pytest.mark.parametrize("operations, code", [
    ([FACT, {**FACT, "args": {"n": 2}}], "name_taken"),
    ([{**FACT, "args": {"n": "?n"}}], "variable_in_fact"),
    ([{"op": "declare_goal", "desired": [{"predicate": "p", "args": {"n": "string"}}]}], "placeholder_value"),
    ([{"op": "retract_node", "nodeId": "f_none"}], "not_found"),
    ([FACT, {**TOTAL, "source": {"predicate": "p"}}], "aggregate_refused"),
    ([{"op": "add_axiom", "when": [{"predicate": "p", "args": {"n": "?n"}}, {"predicate": "r", "args": {"n": "?n"}, "naf": True}],
       "then": [{"predicate": "r", "args": {"n": "?n"}}]}], "stratification"),
])
def test_a_batch_that_cannot_be_applied_names_why(play, operations, code):
    async def story(world):
        host, _ = await exploring(world)
        body = await host.call("ApplyBatch", {"operations": operations})
        assert (body["accepted"], body["errorCode"]) == (False, code), body

    play(story)


def test_a_board_with_too_many_open_cases_is_case_admission_refused(play, monkeypatch):
    async def story(world):
        host, _ = await exploring(world)
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["errorCode"] == "case_admission_refused"

    monkeypatch.setattr("rulith.board.cases.OPEN_CASES_MAX", 1)
    play(story)


def test_a_call_whose_answer_is_no_longer_kept_is_result_unavailable_and_runs_once(play):
    async def story(world):
        host, root = await exploring(world)
        await host.call_raw("ApplyBatch", {"operations": [FACT]}, id="old")
        for number in range(CALLS_KEPT_MAX + 1):
            await host.call_raw("QueryBoard", {}, id=number)
        before = await host.ping()
        for tool, arguments in (("ApplyBatch", {"operations": [FACT]}), ("QueryBoard", {}), ("ReadArtifact", {"ref": "art_" + "0" * 32})):
            answer = await host.call_raw(tool, arguments, id="old")
            body = json.loads(answer.json()["result"]["content"][0]["text"])
            assert body["errorCode"] == "result_unavailable" and body["accepted"] is False and "view" not in body
        assert await host.ping() == before

    play(story)


@pytest.mark.parametrize("forge, code", [
    (lambda grant, key, token: signed({**grant, "requestDigest": "sha256:" + "0" * 64}, key), "grant_not_ours"),
    (lambda grant, key, token: signed({**grant, "actionId": OTHER_ACTION}, key), "grant_not_ours"),
    (lambda grant, key, token: signed(dict(reversed(list(grant.items()))), key), "grant_mismatch"),
    (lambda grant, key, token: signed({**grant, "connectionId": "conn_other"}, key), "grant_not_ours"),
    (lambda grant, key, token: signed(grant, "rlt_key_other"), "grant_signature"),
    (lambda grant, key, token: signed({**grant, "version": 1}, key), "grant_unreadable"),
])
def test_a_grant_that_does_not_fit_names_how(play, kit, forge, code):
    async def story(world, host, worker, row, asked, case):
        bad = forge(payload_of(row["executionGrant"]), worker.key, row["executionGrant"])
        assert (await worker.claim(row, executionGrant=bad))["errorCode"] == code

    play(lambda world: dispatched(story)(world, kit))


def test_an_agents_token_reads_nothing_of_the_home(play):
    async def story(world):
        answer = await world.local("state", token=world.token)
        assert answer.status == 401 and answer.json()["errorCode"] == "device_grant_required"

    play(story)


def test_an_open_case_has_no_receipt_yet(play):
    async def story(world):
        host, _ = await exploring(world)
        case_id = (await host.call("QueryBoard"))["view"]["cases"]["directory"][0]["caseId"]
        answer = await world.local(f"receipt?case={case_id}")
        assert answer.status == 404 and answer.json()["errorCode"] == "no_receipt"

    play(story)
