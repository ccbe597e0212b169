"""An approved Case is certified by the write a person approved, and by no other."""

from __future__ import annotations


async def whole(world, host, worker, case_type):
    case = await world.open_case(host, case_type)
    for action in ("read_input", "write_output", "verify_output"):
        answer = await world.act(host, worker, action, case["root"])
        assert answer["accepted"], answer
    assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"]


def test_a_job_done_without_a_person_certifies_no_approved_case(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        await whole(world, host, worker, "verified_calculation")
        case = await world.open_case(host, "approved_calculation")
        view = (await host.call("QueryBoard", {"include": ["gaps", "taskStatus"], "selector": {"roots": [case["root"]]}}))["view"]
        assert view["taskStatus"][case["root"]]["certified"] is False
        assert view["gaps"][0]["missing"] == [kit.PREFIX + "approved_write(job_id=calc-001, subtotal_cents=9093, total_cents=9593)"]
        refused = await host.call("CloseCase", {"root": case["root"]})
        assert refused["errorCode"] == "case_not_certified" and "read_back" in refused["teaching"]
        asked = await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
        assert asked["errorCode"] == "precondition_not_met" and "write_settled" in asked["teaching"]
        cancelled = await host.call("CloseCase", {"root": case["root"], "disposition": "cancelled", "reason": "it is written already"})
        assert cancelled["result"] == {"caseId": case["caseId"], "root": case["root"], "disposition": "cancelled", "certified": False}

    play(story, pollHoldMs=100)
