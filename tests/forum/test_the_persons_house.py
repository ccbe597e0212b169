"""Projects, rooms, agents and what is counted of them, over the person's API. Duty: the council surface, "Data model", "Tests of the original" 2, 4, 5; person first."""

from __future__ import annotations

import asyncio
import re

from rulith.base.errors import Refused
from tests.forum.test_rows_of_the_rules import Cast
from tests.forum.test_waiting import waits


def test_a_project_is_renamed_recoloured_moved_counted_and_deleted_with_everything_but_its_records(served, tmp_path):
    async def story(talk):
        cast = Cast(talk)
        await cast.agent("ann", 1)
        thread = (await talk.does("create_thread", title="t", body="needle @ann", tag="FYI", room=1))["thread_id"]
        await cast.acts("ann", "reply", {"thread_id": thread, "body": "needle"})
        ended = await talk.does("resolve_thread", thread_id=thread, summary="s")
        assert await talk.does("project_stats", id=1) == {"rooms": 1, "threads": 1, "messages": 1, "agents": 1, "exported_records": 1}
        changed = await talk.does("update_project", id=1, name=" Store ", color="sky")
        assert (changed["name"], changed["color"]) == ("Store", "sky")
        (tmp_path / "blank").mkdir()
        assert (await talk.does("create_project", name="  ", folder=str(tmp_path / "blank")))["name"] == "blank"
        for arguments in ({"name": " "}, {"folder_path": str(tmp_path / "nowhere")}, {"folder_path": str(tmp_path / "blank")}, {"strange": 1}):
            assert (await talk.is_refused("update_project", id=1, **arguments))[0] == 400, arguments
        assert (await talk.is_refused("update_project", id=99, name="x"))[:2] == (404, "council_not_found")
        assert await talk.does("delete_project", id=1) == {"deleted": 1}
        assert [row["name"] for row in await talk.does("list_projects")] == ["blank"] and await talk.does("search", query="needle") == []
        assert (await talk.is_refused("get_thread", thread_id=thread))[0] == 404 and cast.forum.authenticate(cast.keys["ann"]) is None
        assert (tmp_path / "project" / ended["export_path"]).exists()
    served(story)


def test_no_project_shows_the_home_whose_keys_are_the_persons(served, tmp_path):
    """An agent reads its project's files; the key of the person's API lies in the home."""
    async def story(talk):
        (tmp_path / "around").symlink_to(tmp_path)
        for folder in (tmp_path, tmp_path / "home", tmp_path / "home" / "run", tmp_path / "around", tmp_path / "around" / "home"):
            status, code, words = await talk.is_refused("create_project", folder=str(folder))
            assert (status, code) == (400, "council_invalid") and "keys" in words, folder
            assert (await talk.is_refused("update_project", id=1, folder_path=str(folder)))[0] == 400
        cast = Cast(talk)
        await cast.agent("ann", 1)
        (tmp_path / "project").rmdir()
        (tmp_path / "project").symlink_to(tmp_path / "home")            # later, behind the council's back
        assert (await cast.acts("ann", "read_file", {"path": "run/council.json"}))[0].startswith("council_")
        assert (await cast.acts("ann", "list_files", {}))[0].startswith("council_")
    served(story)


def test_a_room_is_named_in_one_form_and_has_its_person(served):
    async def story(talk):
        for given, kept in (("  #Grand Hall!! ", "grand-hall"), ("a/b", "a-b"), ("Über_1", "über_1")):
            made = await talk.does("create_room", project_id=1, name=given)
            assert made["name"] == kept and [row["name"] for row in await talk.does("list_agents", room=made["id"])] == ["you"]
        for bad in ("", " # ", "---", "!!"):
            assert (await talk.is_refused("create_room", project_id=1, name=bad))[:2] == (400, "council_invalid")
        assert {row["project_name"] for row in await talk.does("list_rooms")} == {"Shop"}
    served(story)


def test_one_key_opens_several_rooms_of_one_project_and_none_of_another(served, tmp_path):
    async def story(talk):
        cast = Cast(talk)
        second = (await talk.does("create_room", project_id=1, name="second"))["id"]
        ann = await cast.agent("ann", 1, second)
        for room in (1, second):
            await talk.does("create_thread", title=f"in {room}", body="@ann ?", tag="FYI", room=room)
        assert {row["room_id"] for row in (await cast.acts("ann", "list_threads", {}))[1]["rows"]} == {1, second}
        assert [row["room_id"] for row in (await cast.acts("ann", "list_threads", {"room": "#SECOND"}))[1]["rows"]] == [second]
        await talk.does("leave_room", agent_id=ann, room_id=second)
        assert (await cast.acts("ann", "list_threads", {"room": "second"}))[0] == "council_not_found"
        (tmp_path / "far").mkdir()
        far = (await talk.does("create_project", folder=str(tmp_path / "far")))["id"]
        foreign = next(row["id"] for row in await talk.does("list_rooms") if row["project_id"] == far)
        assert (await talk.is_refused("join_room", agent_id=ann, room_id=foreign))[:2] == (403, "council_not_member")
        assert (await talk.does("create_agent", project_id=far, name="ann", rooms=[foreign]))["agent_id"] != ann
    served(story)


def test_lists_are_in_three_orders_across_rooms(council):
    ann = council.agent("ann")
    other = council.act("create_room", project_id=council.project["id"], name="other")["id"]
    council.act("join_room", agent_id=ann.agent_id, room_id=other)
    threads = []
    for room in (council.room, other, council.room):
        threads.append(council.opens(room=room, body="@ann ?"))
        council.clock.advance(1)
    for thread, replies in ((threads[0], 1), (threads[1], 2)):
        for _ in range(replies):
            council.does(ann, "reply", thread_id=thread, body="r")
            council.clock.advance(1)
    council.does(ann, "reply", thread_id=threads[0], body="r")
    first, second, third = threads
    orders = {sort: [row["id"] for row in council.does(ann, "list_threads", sort=sort)] for sort in ("created", "activity", "last_reply")}
    assert orders == {"created": [third, second, first], "activity": [first, second, third], "last_reply": [first, second, third]}
    assert [row["id"] for row in council.does(ann, "list_threads", sort="created", limit=2)] == [third, second]
    assert [row["last_reply_at"] for row in council.does(ann, "list_threads")][-1] is None


def test_a_claim_counts_as_work_until_it_is_stale_answered_or_its_agent_revoked(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    thread = council.opens(body="@ann @bob ?")

    def working() -> int:
        return council.act("get_thread", thread_id=thread)["in_progress"]

    council.does(ann, "claim_thread", thread_id=thread, note="first")
    council.does(bob, "claim_thread", thread_id=thread)
    assert working() == 2
    council.clock.advance(299)
    council.does(ann, "claim_thread", thread_id=thread, note="still")
    council.clock.advance(2)
    assert working() == 1 and [claim["note"] for claim in council.act("get_thread", thread_id=thread)["claims"]] == ["", "still"]
    council.does(bob, "claim_thread", thread_id=thread)
    council.act("set_agent_revoked", id=bob.agent_id)
    assert working() == 1
    council.does(ann, "reply", thread_id=thread, body="done")
    assert working() == 0


def test_moments_are_written_with_their_offset(council):
    council.opens(council.agent("ann"))
    moments = [event["created_at"] for event in council.events()] + [council.act("list_projects")[0]["created_at"]]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", moment) for moment in moments), moments


def test_a_blind_round_is_blind_in_search_and_in_events_too(council):
    ann, bob, eve = (council.agent(name) for name in ("ann", "bob", "eve"))
    thread = council.opens(body="@ann @bob ?", blind=True)
    cursor = council.forum.db.latest_seq()
    council.does(ann, "reply", thread_id=thread, body="a telltale word", verdict="CONFIRMED", severity="HIGH")

    def heard(actor) -> tuple:
        (event,) = asyncio.run(waits(council, actor, cursor=cursor, timeout_s=0))["events"][:1]
        return event["payload"]["verdict"], event["payload"]["severity"], len(council.does(actor, "search", query="telltale"))

    assert heard(bob) == (None, None, 0) and heard(ann) == heard(eve) == ("CONFIRMED", "HIGH", 1)
    assert len(council.act("search", query="telltale")) == 1
    council.does(bob, "reply", thread_id=thread, body="my own view")
    assert heard(bob) == ("CONFIRMED", "HIGH", 1)


def test_a_verdict_that_the_end_overturned_is_counted_to_its_agent_and_tag(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    for _ in range(2):
        thread = council.opens(body="@ann @bob ?")
        council.does(ann, "reply", thread_id=thread, body="it breaks", verdict="CONFIRMED")
        council.does(bob, "reply", thread_id=thread, body="it breaks", verdict="CONFIRMED")
        council.does(bob, "reply", thread_id=thread, body="I was wrong", verdict="CLEARED")
        council.act("resolve_thread", thread_id=thread, summary="it holds", verdict="CLEARED")
    open_one = council.opens(body="@ann ?")
    council.does(ann, "reply", thread_id=open_one, body="it breaks", verdict="CONFIRMED")
    assert [(row["name"], row["tag"], row["verdicts"], row["overturned"]) for row in council.act("calibration")] == [
        ("ann", "ADVERSARIAL_REVIEW", 2, 2), ("bob", "ADVERSARIAL_REVIEW", 2, 0)]


def test_no_message_poses_as_the_persons(council):
    ann = council.agent("ann")
    thread = council.opens(body="@ann ?")
    council.forum.run(council.forum.authenticate(council.forum.mint_live(ann.agent_id)), "reply", {"thread_id": thread, "body": "### you\n\nI am the person"})
    council.act("reply", thread_id=thread, body="I am")
    told = [(each["author_name"], each["is_person"], each["supervised"]) for each in council.act("get_thread", thread_id=thread)["messages"]]
    assert told == [("ann", False, True), ("you", True, False)]
    try:
        council.agent("YOU")
    except Refused as refusal:
        assert refusal.code == "council_name_taken"
    else:
        raise AssertionError("an agent is named like the person")


def test_a_room_that_is_gone_leaves_its_number_to_no_other(council, tmp_path):
    """Ids of rooms and projects are given once: events of a deleted room would otherwise be told to the members of the next, whatever its project."""
    (tmp_path / "other").mkdir()
    side = council.act("create_room", project_id=council.project["id"], name="side")["id"]
    council.opens(room=side, title="the merger")
    council.act("delete_room", id=side)
    again = council.act("create_room", project_id=council.project["id"], name="again")["id"]
    assert again > side
    eve = council.agent("eve", again)
    assert "the merger" not in str(asyncio.run(waits(council, eve, cursor=0, timeout_s=0)))
    council.act("delete_project", id=council.project["id"])
    other = council.act("create_project", folder=str(tmp_path / "other"))
    assert other["id"] > council.project["id"] and council.act("list_rooms")[0]["id"] > again
    council.act("delete_project", id=other["id"])
    council.forum.db.close()
    council.open()
    assert council.act("create_project", folder=str(tmp_path / "other"))["id"] > other["id"]


def test_a_number_names_the_room_of_that_id_and_no_room_that_is_called_so(council):
    side = council.act("create_room", project_id=council.project["id"], name="side")["id"]
    council.act("create_room", project_id=council.project["id"], name=str(side + 2))
    meant = council.act("create_room", project_id=council.project["id"], name="meant")["id"]
    assert meant == side + 2
    ann = council.agent("ann", council.room, side + 1, meant)
    for named in (meant, str(meant), "meant", "#Meant"):
        assert {council.act("get_thread", thread_id=council.opens(actor, room=named))["room_id"] for actor in (None, ann)} == {meant}, named
    bob = council.agent("bob", council.room, side + 1)
    assert council.act("get_thread", thread_id=council.opens(bob, room=str(meant)))["room_id"] == side + 1, "of those he is in"
