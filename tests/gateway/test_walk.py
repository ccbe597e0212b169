"""The whole job over real sockets: open, read, write, read back, close, receipt."""

from __future__ import annotations

from rulith.gateway.signing import is_signed
from rulith.wire.terminal_receipt import check_document


def test_the_verified_calculation_is_carried_to_a_signed_receipt(play, kit):
    """The product's main job: every step is held, reported and answered, and the receipt checks offline."""
    async def story(world):
        host, worker = world.host(), world.worker()
        result = await host.initialize()
        assert result["protocolVersion"] == "2025-11-25"
        assert result["capabilities"]["experimental"]["rulith/v3"] == {"heldCalls": 1}
        names = [tool["name"] for tool in (await host.rpc("tools/list")).json()["result"]["tools"]]
        assert names == ["OpenCase", "ApplyBatch", "ApplyAction", "CloseCase", "QueryBoard", "ReadArtifact"]
        await worker.poll()
        case = await world.open_case(host)
        assert case["drive"] == [kit.PREFIX + name for name in ("read_input", "write_output", "verify_output")]
        for action in ("read_input", "write_output", "verify_output"):
            answer = await world.act(host, worker, action, case["root"])
            assert answer["accepted"] and answer["result"] == {"action": kit.PREFIX + action, "done": True,
                                                               "status": "confirmed", "ok": True}, answer
        assert answer["view"]["taskStatus"][case["root"]]["certified"] is True
        closed = await host.call("CloseCase", {"root": case["root"]})
        assert closed["accepted"] and closed["result"]["disposition"] == "completed", closed
        receipt = (await world.local(f"receipt?case={case['caseId']}")).json()
        assert receipt["format"] == "rulith-terminal-receipt/1"
        assert is_signed(receipt) and check_document(receipt).problems == []
        assert receipt["case"]["certified"] is True
        state = (await world.local("state")).json()
        assert state["cases"][0]["disposition"] == "completed"

    play(story)
