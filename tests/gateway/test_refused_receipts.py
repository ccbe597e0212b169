"""A receipt of a Tool that acts, refused at the Board: the act may have happened, so a person settles it."""

from __future__ import annotations

import asyncio

import pytest

PREFIX = "rulith.verified_calculation."
BAD = {"a wrong type": {"total_cents": "lots"}, "another job": {"job_id": "calc-002"}, "a lacking argument": {"sha256": None}}


def claimed_write(story):
    """A story that begins with the example's write claimed by a Worker."""

    async def run(world, kit):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        await world.act(host, worker, "read_input", case["root"])
        args = {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593, "source": "verified-calculation-local"}
        call = {"action": PREFIX + "write_output", "args": args, "target": case["root"]}
        asked = asyncio.ensure_future(host.call("ApplyAction", call))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        await story(world, host, worker, row, asked)

    return run


def facts(kit, changes: dict) -> list[dict]:
    args = {**kit.TOTALS, "sha256": kit.SHA, **changes}
    return [{"predicate": PREFIX + "written", "args": {name: value for name, value in args.items() if value is not None}}]


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_a_write_whose_receipt_is_refused_needs_a_person_and_names_what_was_refused(play, kit, changes):
    async def story(world, host, worker, row, asked):
        refused = await worker.report(row, ok=True, result="done", facts=facts(kit, changes))
        assert refused["errorCode"] == "ingest_rejected"
        held = await asked
        assert held["state"] == "needs_person"
        reason = held["operations"][0]["reason"]
        (name,) = changes
        assert PREFIX + "written" in reason and name in reason and name in held["teaching"]
        assert (await worker.report(row, ok=False, result="", reason="result_not_recorded: ingest_rejected"))["errorCode"] == "already_reported"
        assert (await worker.report(row, ok=True, result="done", facts=facts(kit, {})))["errorCode"] == "already_reported"
        assert (await worker.report(row, undeliverable="result_not_recorded"))["accepted"]
        assert (await host.ping())[0]["state"] == "needs_person"
        shown = (await world.local("state")).json()["operations"][0]
        assert shown["state"] == "needs_person" and name in shown["reason"]

    play(lambda world: claimed_write(story)(world, kit))


def test_a_write_whose_report_is_over_the_budget_needs_a_person_too(play, kit):
    async def story(world, host, worker, row, asked):
        refused = await worker.report(row, ok=True, result="x" * 70_000, facts=facts(kit, {}))
        assert refused["errorCode"] == "ingest_rejected"
        assert (await asked)["state"] == "needs_person"

    play(lambda world: claimed_write(story)(world, kit))


def test_one_who_did_not_claim_it_cannot_make_it_need_a_person(play, kit):
    async def story(world, host, worker, row, asked):
        stranger = world.worker()
        stranger.id, stranger.generation = "wkr_" + "0" * 32, worker.generation
        assert (await stranger.report(row, ok=True, result="", facts=facts(kit, {"total_cents": "x"})))["errorCode"] == "not_claimer"
        assert (await worker.report(row, ok=True, result="done", facts=facts(kit, {})))["accepted"]
        assert (await asked)["result"]["status"] == "confirmed"

    play(lambda world: claimed_write(story)(world, kit))
