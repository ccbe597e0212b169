"""A model that sends whatever JSON allows: it is refused by name, and its Board goes on."""

from __future__ import annotations

import pytest

from rulith.board.board import Board
from tests.gateway.conftest import kit, play  # noqa: F401  (fixtures)


def fact(predicate: str, **args: object) -> dict:
    return {"op": "assert_fact", "predicate": predicate, "args": args}


async def exploring(world):
    host = world.host()
    await host.initialize()
    case = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
    return host, case


def wide(count: int) -> dict[str, int]:
    return {f"k{number}": number for number in range(count)}


@pytest.mark.parametrize("operation", [
    fact("wide", **wide(5000)),
    {"op": "declare_goal", "desired": [{"predicate": "wide", "args": wide(5000)}]},
    {"op": "add_axiom", "when": [{"predicate": "wide", "args": wide(5000)}], "then": [{"predicate": "narrow"}]},
    {"op": "define_action", "action": "widen", "effects": [{"predicate": "wide", "args": wide(5000)}]},
], ids=lambda operation: operation["op"])
def test_thousands_of_arguments_are_refused_and_the_board_goes_on(play, operation):  # noqa: F811
    async def story(world):
        host, _ = await exploring(world)
        refused = await host.call("ApplyBatch", {"operations": [operation]})
        assert refused["accepted"] is False and refused["errorCode"] == "resource_limit", refused
        assert "number of arguments" in refused["teaching"]
        assert (await host.call("ApplyBatch", {"operations": [fact("after", n=1)]}))["accepted"]

    play(story)


def test_the_widest_rule_that_is_allowed_compiles(play):  # noqa: F811
    args = {f"k{number}": f"?v{number}" for number in range(128)}

    async def story(world):
        host, _ = await exploring(world)
        rule = {"op": "add_axiom", "when": [{"predicate": f"p{number}", "args": args} for number in range(32)],
                "then": [{"predicate": f"q{number}", "args": args} for number in range(32)]}
        facts = [fact(f"p{number}", **wide(128)) for number in range(32)]
        done = await host.call("ApplyBatch", {"operations": [rule, *facts]})
        assert done["accepted"], done

    play(story)


def test_a_bug_after_the_board_has_moved_leaves_nothing_that_no_row_says(play, monkeypatch):  # noqa: F811
    async def story(world):
        host, case = await exploring(world)
        sound = Board._row_extra

        def struck(board):
            monkeypatch.setattr(Board, "_row_extra", sound)     # once
            raise RuntimeError("a bug")

        monkeypatch.setattr(Board, "_row_extra", struck)
        answer = await host.call_raw("ApplyBatch", {"operations": [fact("ghost", n=1)]})
        assert answer.status == 500 and b"a bug" not in answer.body
        shown = (await world.local(f"case?case={case['caseId']}")).json()["facts"]
        assert not [row for row in shown if row["predicate"] == "ghost"]
        again = await host.call("ApplyBatch", {"operations": [fact("real", n=1)]})
        assert again["accepted"], again
        await world.stop()
        await world.start()                       # the ledger folds to the same Board
        assert "real" in str((await world.local(f"case?case={case['caseId']}")).json())

    play(story)


@pytest.mark.parametrize("name", ["tools/call", "ping"])
def test_a_replayed_request_id_does_nothing_twice(play, name):  # noqa: F811
    async def story(world):
        host, case = await exploring(world)
        for _ in range(2):
            if name == "ping":
                await host.rpc("ping", id="same")
            else:
                await host.call_raw("ApplyBatch", {"operations": [fact("once", n=1)]}, id="same")
        shown = (await world.local(f"case?case={case['caseId']}")).json()["facts"]
        assert len([row for row in shown if row["predicate"] == "once"]) == (name == "tools/call")

    play(story)
