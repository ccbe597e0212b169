"""`rulith capability draft CASE`: the receipt comes from the home's live gateway."""

from __future__ import annotations

import asyncio

import pytest

from rulith.base.errors import Refused
from rulith.board.capability_check import check_capability
from rulith.commands.capability_draft import proposed
from rulith.disk.runfile import write_runfile
from tests.gateway.test_admin_console import Person


def test_a_case_is_drafted_by_its_id_whichever_agent_had_it_and_an_open_one_is_refused(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        for action in ("read_input", "write_output", "verify_output"):
            await world.act(host, worker, action, case["root"])
        write_runfile(world.home.gateway_json, url=f"http://127.0.0.1:{world.port}", port=world.port)
        with pytest.raises(Refused) as refused:
            await asyncio.to_thread(proposed, [case["caseId"]], str(world.home.path), None)
        assert refused.value.code == "gateway_refused"
        assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"]
        person = await Person(world, kit).set_up()
        await person.act("agent-create", name="Other")
        with pytest.raises(Refused, match="There is no Case"):
            await asyncio.to_thread(proposed, ["case_0123456789"], str(world.home.path), None)
        found = await asyncio.to_thread(proposed, [case["caseId"]], str(world.home.path), "acme.calculation")
        assert not check_capability(found)[1]
        assert found["case_types"]["verified_calculation_draft"]["drive"] == ["read_input", "write_output", "verify_output"]
        literals = [each for row in found["actions"] for each in row["preconditions"] if each["predicate"] == "case_context"]
        assert literals and all(each["args"]["case_type"] == "verified_calculation_draft" for each in literals)

    play(story, pollHoldMs=100)
