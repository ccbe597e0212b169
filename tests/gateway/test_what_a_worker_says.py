"""A Worker that holds the key and the grant and lies: what it says is judged against what was dispatched. Duty: design §5."""

from __future__ import annotations

import asyncio
import json

import pytest

P = "rulith.verified_calculation."
GOOD = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
SOURCE = "verified-calculation-local"
BIG = 2**53


def said(predicate: str = P + "input", args: object = None, **more) -> dict:
    return {"predicate": predicate, "args": GOOD if args is None else args, **more}


# what is reported, as JSON text where no JSON value can be it
LIES = {
    "an argument too many": [said(args={**GOOD, "note": "x"})],
    "an argument too few": [said(args={name: GOOD[name] for name in ("job_id", "quantity", "shipping_cents")})],
    "no argument": [said(args={})],
    "another predicate": [said(P + "total", {"job_id": "calc-001", "cents": 1})],
    "a row of another Tool": [said(P + "written", {"job_id": "calc-001", "subtotal_cents": 1, "total_cents": 1, "sha256": "0"})],
    "a Board word": [said("acceptance_met", {"node": "x"})],
    "a Board word by prefix": [said("rulith.exploration.completed", {"case_id": "x"})],
    "a builtin": [said("add", {"left": 1, "right": 1, "result": 3})],
    "another Source": [said(source="elsewhere")],
    "a Source that looks the same": [said(source="verified-calculation-loc\u0430l")],
    "a predicate that looks the same": [said(P.replace("a", "\u0430") + "input")],
    "a predicate in wide letters": [said("\uff52" + P[1:] + "input")],
    "a predicate with a blank": [said(P + "input ")],
    "an argument that looks the same": [said(args={**{name: value for name, value in GOOD.items() if name != "quantity"}, "quantit\u0443": 7})],
    "an argument without a shape": [said(args={**{name: value for name, value in GOOD.items() if name != "quantity"}, "quantity\u200b": 7})],
    "the job in other letters": [said(args={**GOOD, "job_id": "c\u0430lc-001"})],
    "another job": [said(args={**GOOD, "job_id": "calc-002"})],
    "a tier": [said(tier="verified")], "a sign": [said(negated=True)], "a unit": [said(unit="euro")], "an origin": [said(origin="law")],
    "text for a number": [said(args={**GOOD, "quantity": "seven"})],
    "a number with its unit": [said(args={**GOOD, "unit_price_cents": "1299 cents"})],
    "padded digits": [said(args={**GOOD, "quantity": "007"})],
    "digits of another script": [said(args={**GOOD, "quantity": "\u0667"})],
    "a fraction for a whole number": [said(args={**GOOD, "quantity": 7.5})],
    "a truth for a number": [said(args={**GOOD, "quantity": True})],
    "a null": [said(args={**GOOD, "quantity": None})], "a list": [said(args={**GOOD, "quantity": [7]})], "an object": [said(args={**GOOD, "quantity": {}})],
    "a variable": [said(args={**GOOD, "unit_price_cents": "?price"})],
    "one fact and a forged one": [said(), said(P + "total", {"job_id": "calc-001", "cents": 1})],
    "too many": [said(args={**GOOD, "shipping_cents": each}) for each in range(1_001)],
    "2^53": json.dumps([said(args={**GOOD, "quantity": BIG})]), "2^53 as text": [said(args={**GOOD, "quantity": str(BIG)})],
    "NaN": json.dumps([said(args={**GOOD, "quantity": "@"})]).replace('"@"', "NaN"), "infinity": json.dumps([said(args={**GOOD, "quantity": "@"})]).replace('"@"', "1e999"),
    "half a letter": json.dumps([said(args={**GOOD, "job_id": "@"})]).replace("@", "\\ud800"),
    "a name twice": json.dumps([said()]).replace('"quantity": 7', '"quantity": 7, "quantity": 8'),
    "facts that are an object": {"predicate": P + "input", "args": GOOD}, "facts that are text": "x", "a fact that is text": ["x"],
    "a huge text": [said(args={**GOOD, "job_id": "x" * 3_000_000})],
    "a deep argument": json.dumps([said(args={**GOOD, "quantity": "@"})]).replace('"@"', "[" * 2_000 + "]" * 2_000),
}


async def told(worker, row: dict, facts: object):
    """Report these facts byte for byte; the answer."""
    whole = {"kind": "ReportWork", "workType": "action", "id": row["work"], "executionGrant": row["executionGrant"], **worker.identity(),
             "ok": True, "result": "done", "facts": "@facts@"}
    text = facts if isinstance(facts, str) and facts[:1] in "[{" else json.dumps(facts)
    body = json.dumps({"operation": whole}).replace('"@facts@"', text).encode()
    headers = {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key, "content-type": "application/json",
               "x-rulith-worker-version": "2026-09-01", "x-rulith-worker": worker.id, "x-rulith-worker-generation": str(worker.generation)}
    return body, headers


@pytest.mark.parametrize("lies", [list(LIES)[:22], list(LIES)[22:]], ids=["who and what", "values"])
def test_whatever_is_not_what_was_dispatched_lands_nothing(play, kit, lies):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        board = world.gateway.authority.agents[world.profile.agent_id].board
        before = board.closure_digest(), len(board.state.facts), board.revision
        for name in lies:
            body, headers = await told(worker, row, LIES[name])
            try:
                answer = await kit.http(world.port, "POST", "/work", headers, body)
            except ConnectionError:
                continue                 # a body over the bound is not read to its end
            assert answer.status in (200, 400, 413), (name, answer.status, answer.body[:300])
            said_back = answer.json() if answer.status == 200 else {"errorCode": ""}
            assert said_back.get("accepted", False) is False, name
            if answer.status == 200:
                assert said_back["errorCode"] in ("ingest_rejected", "bad_command"), (name, said_back)
                assert len(json.dumps(said_back)) < 2_000, "a refusal quotes little"
            assert (board.closure_digest(), len(board.state.facts), board.revision) == before, name
        assert (await worker.report(row, ok=True, result="done", facts=[said()]))["accepted"]
        body = await asked
        assert body["accepted"] and "9593" in json.dumps(body["view"])

    play(story, holdMs=30_000)


def test_a_row_said_twice_is_one_fact(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        told = await worker.report(row, ok=True, result="done", facts=[said(), said(args={**GOOD, "quantity": 7.0})])
        assert told["accepted"], told
        await asked
        state = world.gateway.authority.agents[world.profile.agent_id].board.state
        assert sum(fact.atom.predicate == P + "input" for fact in state.facts.values()) == 1
        await world.stop()
        await world.start()

    play(story)


@pytest.mark.parametrize("tier, seen", [("verified", "attested"), ("attested", "attested"), ("uncertain", "uncertain"), ("asserted", "asserted")])
def test_a_fact_is_no_stronger_than_the_owner_lets_its_source_be(play, kit, tier, seen):
    async def story(world):
        source = world.gateway.authority.registry.sources[SOURCE]
        world.gateway.authority.registry.sources[SOURCE] = type(source).of({**source.record(), "tier": tier})
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        body = await world.act(host, worker, "read_input", case["root"])
        node = next(each for each in body["view"]["nodes"] if each["predicate"] == P + "input")
        assert node["tier"] == seen and node["source"] == SOURCE

    play(story)


@pytest.mark.parametrize("work", ["verification", "evidence", "Action", "", None, 7])
def test_work_of_a_kind_that_is_not_dispatched_cannot_be_reported(play, kit, work):
    """Verification and evidence rows are dispatched by no gateway yet, so none is taken."""
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        answer = await worker.report(row, workType=work, ok=True, result="done", facts=[said()])
        assert answer["accepted"] is False
        state = world.gateway.authority.agents[world.profile.agent_id].board.state
        assert not any(fact.atom.predicate == P + "input" for fact in state.facts.values())
        await worker.report(row, ok=False, reason="enough")
        await asked

    play(story)
