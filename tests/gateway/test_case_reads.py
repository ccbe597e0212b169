"""What the page pages through: Cases, facts, and one Case at two moments. Duty: the workbench's Inspector; the design on replay (D7)."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlencode

import pytest

from rulith.base.errors import Refused
from rulith.gateway.case_reads import CaseReads
from tests.gateway.test_old_cases import whole

P = "rulith.verified_calculation."


async def ask(world, route: str, **query) -> dict:
    return (await world.local(f"{route}?{urlencode(query)}")).json()


async def set_up(world):
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    return host, worker


def test_cases_come_by_page_and_are_found_by_what_a_person_knows_of_them(play):
    async def story(world):
        host, _ = await set_up(world)
        cases = [await world.open_case(host, job=f"calc-{number:03}") for number in range(7)]
        first = await ask(world, "cases", limit=3)
        assert (first["total"], first["found"], first["next"]) == (7, 7, 3)
        second = await ask(world, "cases", limit=3, **{"from": first["next"]})
        third = await ask(world, "cases", limit=3, **{"from": second["next"]})
        assert third["next"] is None
        assert [row["caseId"] for page in (first, second, third) for row in page["rows"]] == [each["caseId"] for each in reversed(cases)]
        assert (await ask(world, "cases", text="CALC-004"))["rows"][0]["businessKey"] == {"job_id": "calc-004"}
        assert (await ask(world, "cases", text="verified calculation"))["found"] == 7           # its title, not its type alone
        assert (await ask(world, "cases", text="nothing like it")) == {"rows": [], "total": 7, "found": 0, "next": None}
        for odd in ({"from": "-1"}, {"from": "x"}, {"limit": "0"}, {"limit": "9" * 20}, {"from": "99999"}):
            assert len((await ask(world, "cases", **odd))["rows"]) <= 200

    play(story)


def test_facts_come_by_page_by_text_and_by_tier_with_who_stands_behind_them(play, kit):
    async def story(world):
        host, worker = await set_up(world)
        case = (await whole(world, host, worker, kit, "calc-001", close=False))["caseId"]
        every = await ask(world, "facts", case=case)
        assert every["found"] == every["total"] == len(every["rows"]) > 5 and every["next"] is None
        assert all(row["by"]["kind"] for row in every["rows"])
        detail = (await ask(world, "case", case=case))["facts"]
        assert {row["by"]["kind"] for row in detail} >= {"receipt", "rule"}
        pages, start = [], 0
        while start is not None:
            page = await ask(world, "facts", case=case, limit=2, **{"from": start})
            pages, start = pages + page["rows"], page["next"]
        assert pages == every["rows"]
        total = (await ask(world, "facts", case=case, text="TOTAL(cents"))["rows"]
        assert {row["predicate"] for row in total} == {P + "total", P + "subtotal"}
        read = (await ask(world, "facts", case=case, text="verified-calculation-local"))["rows"]
        assert read and all(row["by"].get("source") == "verified-calculation-local" or "verified-calculation-local" in row["text"] for row in read)
        attested = (await ask(world, "facts", case=case, tier="attested"))["rows"]
        assert attested and {row["tier"] for row in attested} == {"attested"}
        assert (await ask(world, "facts", case=case, tier="sure"))["errorCode"] == "bad_command"
        assert (await ask(world, "facts", case="case_none"))["errorCode"] == "unknown_case"
        await host.call("CloseCase", {"root": (await ask(world, "case", case=case))["case"]["root"]})
        closed = await ask(world, "facts", case=case, tier="attested")
        assert closed["found"] and {row["tier"] for row in closed["rows"]} == {"attested"}

    play(story)


def test_a_long_search_gives_way_and_stops_where_the_board_is_at_work(play, monkeypatch):
    """Nobody looks at a Board half done: not at the beginning of a search, and not in its middle."""
    monkeypatch.setattr("rulith.gateway.case_reads.SCANNED_AT_ONCE", 2)

    async def story(world):
        host, _ = await set_up(world)
        case = await world.open_case(host)
        notes = [{"op": "assert_fact", "predicate": "note", "args": {"n": number}} for number in range(9)]
        assert (await host.call("ApplyBatch", {"operations": notes}))["accepted"]
        state = world.gateway.authority.agents[world.profile.agent_id]
        found = await ask(world, "facts", case=case["caseId"], text="note")
        assert found["found"] == 9
        reads = CaseReads(world.gateway.authority, lambda query: (world.profile.agent_id, state))
        search = asyncio.ensure_future(reads.facts({"case": case["caseId"], "text": "note"}))
        await asyncio.sleep(0)                                  # it has begun, and has paused once
        state.busy = asyncio.get_running_loop().create_future()
        try:
            with pytest.raises(Refused) as refused:
                await search
            assert refused.value.code == "board_at_work"
        finally:
            state.busy = None

    play(story)


def test_two_moments_of_a_case_tell_what_came_between_them_and_nothing_of_other_cases(play, kit):
    async def story(world):
        host, worker = await set_up(world)
        mine = await world.open_case(host, job="calc-001")
        other = await whole(world, host, worker, kit, "calc-002", close=False)
        await host.call("CloseCase", {"root": other["root"], "disposition": "cancelled", "reason": "not wanted"})
        await host.call("OpenCase", {"caseId": mine["caseId"]})
        await world.act(host, worker, "read_input", mine["root"])
        await world.act(host, worker, "write_output", mine["root"])
        moments = await ask(world, "moments", case=mine["caseId"])
        rows = moments["rows"]
        assert rows[-1]["kind"] == "open_case" and rows == sorted(rows, key=lambda row: -row["seq"]) and moments["total"] == len(rows)
        seen = next(row for row in reversed(rows) if row["kind"] == "record_receipt")
        assert seen["action"] == P + "read_input"
        found = await ask(world, "between", case=mine["caseId"], to=seen["seq"], **{"from": rows[-1]["seq"]})
        names = {row["predicate"] for row in found["added"]}
        shown = (await ask(world, "facts", case=mine["caseId"]))["rows"]
        assert {row["own"] for row in shown if "calc-001" in row["text"]} == {True}
        assert {row["own"] for row in shown if "calc-002" in row["text"]} <= {False}
        assert {P + "input", P + "subtotal", P + "total"} <= names and found["removed"] == [] and found["cut"] is False
        assert "calc-002" not in json.dumps(found)
        assert all(row["before"]["met"] is False for row in found["leaves"])
        again = await ask(world, "between", case=mine["caseId"], to=rows[-1]["seq"], **{"from": seen["seq"]})
        assert again == found                                   # the earlier one is the earlier one
        same = await ask(world, "between", case=mine["caseId"], to=seen["seq"], **{"from": seen["seq"]})
        assert (same["added"], same["removed"], same["changed"]) == ([], [], [])
        for seq in (0, seen["seq"] + 10_000, "x", "-1"):
            assert (await ask(world, "between", case=mine["caseId"], to=seq, **{"from": seen["seq"]}))["errorCode"] == "unknown_moment"

    play(story)


def test_a_closed_case_is_compared_as_it_stood_at_its_close(play, kit):
    async def story(world):
        host, worker = await set_up(world)
        case = (await whole(world, host, worker, kit, "calc-001"))["caseId"]
        rows = (await ask(world, "moments", case=case))["rows"]
        assert rows[0]["kind"] == "close_case"
        found = await ask(world, "between", case=case, to=rows[0]["seq"], **{"from": rows[-1]["seq"]})
        assert P + "total" in {row["predicate"] for row in found["added"]}
        assert [(row["before"]["met"], row["after"]["met"]) for row in found["leaves"]] == [(False, True)] * len(found["leaves"])

    play(story)


def test_a_value_that_moved_stands_as_changed_and_a_moment_too_far_back_is_said(play, kit, monkeypatch):
    async def story(world):
        host, _ = await set_up(world)
        case = await world.open_case(host)
        note = {"op": "assert_fact", "predicate": "note", "args": {"about": "price", "says": "high"}}
        told = await host.call("ApplyBatch", {"operations": [note]})
        assert told["accepted"], told
        node = next(each for each in told["view"]["nodes"] if each.get("predicate", "").endswith("note"))["id"]
        moved = await host.call("ApplyBatch", {"operations": [{"op": "retract_node", "nodeId": node}, {**note, "args": {"about": "price", "says": "fair"}}]})
        assert moved["accepted"], moved
        rows = (await ask(world, "moments", case=case["caseId"]))["rows"]
        found = await ask(world, "between", case=case["caseId"], to=rows[0]["seq"], **{"from": rows[1]["seq"]})
        assert [(row["before"]["args"]["says"], row["after"]["args"]["says"]) for row in found["changed"]] == [("high", "fair")]
        assert found["added"] == found["removed"] == []
        monkeypatch.setattr("rulith.gateway.case_reads.MOMENTS_LISTED_MAX", 2)
        few = (await ask(world, "moments", case=case["caseId"]))["rows"]
        assert [row["seq"] for row in few] == [rows[0]["seq"], rows[-1]["seq"]]          # the newest, and the opening
        monkeypatch.setattr("rulith.gateway.case_reads.MOMENT_ROWS_MAX", 1)
        refused = await ask(world, "between", case=case["caseId"], to=rows[0]["seq"], **{"from": rows[1]["seq"]})
        assert refused["errorCode"] == "moment_too_far"

    play(story)
