"""`wait_for_updates`, the bus below it, and who is there. Duty: the council surface, "wait_for_updates" and "Presence"."""

from __future__ import annotations

import asyncio

import pytest

from rulith.base.errors import Refused
from rulith.council import advice
from rulith.council.shapes import Actor
from tests.forum.conftest import PERSON, Council

STORY_S = 60.0


def play(story) -> None:
    asyncio.run(asyncio.wait_for(story(), STORY_S))


async def waits(council: Council, actor: Actor, **arguments) -> dict:
    return await council.forum.waiting.wait_for_updates(actor, arguments)


async def blocked(council: Council, actor: Actor, **arguments) -> asyncio.Task:
    """A wait that has read everything and holds."""
    task = asyncio.ensure_future(waits(council, actor, **{"timeout_s": 50, **arguments}))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done() and council.forum.presence.of(actor.agent_id)["connections"]
    return task


def kinds(told: dict) -> list[str]:
    return [event["kind"] for event in told["events"]]


def test_a_wait_without_a_cursor_tells_no_history_and_wakes_on_what_follows(council):
    ann, bob = council.agent("ann"), council.agent("bob")

    async def story():
        task = await blocked(council, ann)
        thread = council.opens(bob, body="@ann ?")
        told = await task
        assert kinds(told) == ["thread.created"] and told["needs_you"] == [thread]
        (event,) = told["events"]
        assert set(event) == {"seq", "room_id", "thread_id", "kind", "actor_agent_id", "payload", "created_at"}
        assert event["seq"] == told["next_cursor"] and told["then"] == advice.after(True, False, False)
    play(story)


def test_a_cursor_tells_what_came_since_and_nothing_is_told_twice_or_lost(council):
    ann, bob = council.agent("ann"), council.agent("bob")

    async def story():
        cursor = council.forum.db.latest_seq()
        threads = [council.opens(bob, body="@ann ?") for _ in range(3)]
        first = await waits(council, ann, cursor=cursor)
        assert [event["thread_id"] for event in first["events"]] == threads == first["needs_you"]
        task = await blocked(council, ann, cursor=first["next_cursor"])
        council.does(bob, "reply", thread_id=threads[1], body="and?")
        second = await task
        assert [event["seq"] for event in second["events"]] == [first["next_cursor"] + 1] and second["needs_you"] == [threads[1]]
    play(story)


def test_ones_own_acts_are_told_and_never_need_one(council):
    ann, bob = council.agent("ann"), council.agent("bob")

    async def story():
        thread = council.opens(bob, body="@ann ?")
        cursor = council.forum.db.latest_seq()
        council.does(ann, "reply", thread_id=thread, body="mine")
        told = await waits(council, ann, cursor=cursor)
        assert kinds(told) == ["message.created"] and told["needs_you"] == []
        assert (await waits(council, bob, cursor=cursor))["needs_you"] == [thread]
    play(story)


def test_anothers_claim_is_told_and_wakes_nobody(council):
    ann, bob = council.agent("ann"), council.agent("bob")

    async def story():
        thread = council.opens(body="@ann @bob ?")
        cursor = council.forum.db.latest_seq()
        council.does(bob, "claim_thread", thread_id=thread)
        told = await waits(council, ann, cursor=cursor)
        assert kinds(told) == ["thread.claimed"] and told["needs_you"] == []
    play(story)


def test_events_of_other_rooms_never_reach_an_agent_and_never_starve_it(council):
    ann = council.agent("ann")
    other = council.act("create_room", project_id=council.project["id"], name="other")["id"]

    async def story():
        cursor = council.forum.db.latest_seq()
        for number in range(220):                              # more than one reading takes
            council.act("create_thread", title=f"foreign {number}", body="b", tag="FYI", room=other)
        council.act("update_agent", id=ann.agent_id, color="red")      # an event without a room
        mine = council.opens()
        told = await waits(council, ann, cursor=cursor, timeout_s=0)
        assert [event["thread_id"] for event in told["events"]] == [mine] == told["needs_you"]
        quiet = await waits(council, ann, cursor=told["next_cursor"], timeout_s=0)
        assert quiet["events"] == [] and quiet["next_cursor"] == told["next_cursor"]
        task = await blocked(council, ann)
        council.act("create_thread", title="foreign", body="b", tag="FYI", room=other)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        council.act("join_room", agent_id=ann.agent_id, room_id=other)       # memberships are read anew
        assert kinds(await task) == ["agent.joined"]
    play(story)


def test_a_long_absence_is_told_a_hundred_events_at_a_time(council):
    ann = council.agent("ann")

    async def story():
        cursor, seen = council.forum.db.latest_seq(), []
        for _ in range(230):
            council.act("create_thread", title="t", body="b", tag="FYI")
        while True:
            told = await waits(council, ann, cursor=cursor, timeout_s=0)
            if not told["events"]:
                break
            assert len(told["events"]) <= 100 and told["next_cursor"] == told["events"][-1]["seq"]
            seen, cursor = seen + [event["seq"] for event in told["events"]], told["next_cursor"]
        assert len(seen) == 230 and seen == sorted(set(seen))
    play(story)


def test_catching_up_tells_what_already_waits_and_else_waits(council):
    ann, bob = council.agent("ann"), council.agent("bob")

    async def story():
        first, second = council.opens(bob, body="@ann ?"), council.opens(bob, body="@ann ?")
        council.does(ann, "reply", thread_id=second, body="answered")
        cursor = council.forum.db.latest_seq()
        told = await waits(council, ann, catch_up=True)
        assert told == {"next_cursor": cursor, "events": [], "needs_you": [first], "then": advice.CAUGHT_UP}
        council.does(ann, "reply", thread_id=first, body="answered too")
        task = await blocked(council, ann, catch_up=True)
        council.does(bob, "reply", thread_id=first, body="thanks")
        assert (await task)["needs_you"] == [first]
    play(story)


def test_a_quiet_wait_ends_in_time_and_says_that_this_is_normal(council):
    ann = council.agent("ann")

    async def story():
        live = council.forum.authenticate(council.forum.mint_live(ann.agent_id))
        cursor = council.forum.db.latest_seq()
        for actor, more, note in ((ann, {}, advice.after(False, False, False)), (ann, {"watcher": True}, advice.after(False, False, True)),
                                  (live, {}, advice.after(False, True, False)), (live, {"watcher": True}, advice.after(False, True, False))):
            told = await waits(council, actor, timeout_s=0, **more)
            assert told == {"next_cursor": cursor, "events": [], "needs_you": [], "note": note}
        assert len({advice.after(False, *who) for who in ((False, False), (False, True), (True, False))}) == 3
    play(story)


@pytest.mark.parametrize("supervised, is_watcher, asked_s, most_s", [(False, False, 10**8, 3_600), (True, False, 900, 15), (True, True, 900, 900), (False, False, None, 45),
                                                                     (False, False, 0, 1)])
def test_how_long_a_wait_may_last_depends_on_who_pays_for_it(council, monkeypatch, supervised, is_watcher, asked_s, most_s):
    ann = council.agent("ann")
    actor = council.forum.authenticate(council.forum.mint_live(ann.agent_id)) if supervised else ann
    seen: list[float] = []

    async def changed(self, timeout_s=None):
        seen.append(timeout_s)
        return False

    monkeypatch.setattr("rulith.forum.waiting.Subscription.changed", changed)
    arguments = {} if asked_s is None else {"timeout_s": asked_s}
    asyncio.run(council.forum.waiting.wait_for_updates(actor, arguments, is_watcher=is_watcher))
    assert seen[0] == pytest.approx(most_s, abs=2)


def test_a_cursor_past_the_newest_event_is_set_back_and_says_so(council):
    ann = council.agent("ann")

    async def story():
        told = await waits(council, ann, cursor=10**6, timeout_s=0)
        assert told["next_cursor"] == council.forum.db.latest_seq() and told["note"].startswith(advice.CLAMPED)
        task = await blocked(council, ann, cursor=10**6)
        thread = council.opens()
        assert (await task)["needs_you"] == [thread]
    play(story)


@pytest.mark.parametrize("end", ["set_agent_revoked", "rotate_agent_key", "delete_agent"])
@pytest.mark.parametrize("supervised", [False, True])
def test_the_end_of_its_credentials_ends_a_wait_at_once(council, end, supervised):
    ann, bob = council.agent("ann"), council.agent("bob")
    actor = council.forum.authenticate(council.forum.mint_live(ann.agent_id)) if supervised else ann

    async def story():
        task, other = await blocked(council, actor), await blocked(council, bob)
        council.act(end, id=ann.agent_id)
        with pytest.raises(Refused) as refused:
            await task
        assert refused.value.code == "council_revoked" and not other.done()
        other.cancel()
    play(story)


def test_whoever_subscribes_before_reading_misses_nothing(council):
    """The change falls between the reading and the waiting."""
    ann, bob = council.agent("ann"), council.agent("bob")
    scan, opened = council.forum.waiting.scan, []

    def late(actor, cursor):
        found = scan(actor, cursor)
        if not opened:
            opened.append(council.opens(bob, body="@ann ?"))
        return found

    council.forum.waiting.scan = late
    play(lambda: _misses_nothing(council, ann, opened))


async def _misses_nothing(council, ann, opened) -> None:
    assert (await waits(council, ann, timeout_s=50))["needs_you"] == opened


def test_one_change_wakes_many_waits_each_once(council):
    agents = [council.agent(f"a{number}") for number in range(50)]

    async def story():
        tasks = [await blocked(council, actor) for actor in agents]
        thread = council.opens(body="@everyone ?")
        told = await asyncio.gather(*tasks)
        assert all(each["needs_you"] == [thread] and len(each["events"]) == 1 for each in told)
    play(story)


@pytest.mark.parametrize("arguments", [{"cursor": -1}, {"cursor": "x"}, {"timeout_s": "soon"}, {"timeout_s": -1}, {"catch_up": "yes"}, {"watcher": 1}, {"strange": 1},
                                       {"cursor": True}, {"timeout_s": 1.5}])
def test_a_wait_of_the_wrong_shape_is_refused_and_holds_nothing(council, arguments):
    ann = council.agent("ann")
    with pytest.raises(Refused) as refused:
        asyncio.run(asyncio.wait_for(council.forum.waiting.wait_for_updates(ann, arguments), STORY_S))
    assert refused.value.code == "council_invalid" and (council.forum.presence.of(ann.agent_id) or {}).get("connections", []) == []


# --- presence ----------------------------------------------------------------------------


def test_a_wait_is_seen_as_a_connection_until_it_ends_however_it_ends(council):
    ann = council.agent("ann")

    async def story():
        since = council.forum.presence.revision
        task = await blocked(council, ann)
        (row,) = council.act("list_connections")
        assert {name: row[name] for name in ("agent_id", "name", "rooms", "project_name", "folder_path")} == {
            "agent_id": ann.agent_id, "name": "ann", "rooms": ["general"], "project_name": "Shop", "folder_path": str(council.folder)}
        assert [each["kind"] for each in row["connections"]] == ["poll"] and council.forum.presence.revision == since + 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (row,) = council.act("list_connections")
        assert row["connections"] == [] and council.forum.presence.revision == since + 2
    play(story)


def test_who_was_heard_from_is_listed_for_five_minutes_and_signals_after_a_minutes_silence(council):
    ann, presence = council.agent("ann"), council.forum.presence
    before = presence.revision
    presence.contact(ann.agent_id)
    for _ in range(6):
        council.clock.advance(10)
        presence.contact(ann.agent_id)
    assert presence.revision == before + 1                     # never silent for more than a minute
    council.clock.advance(61)
    presence.contact(ann.agent_id)
    assert presence.revision == before + 2
    council.clock.advance(300)
    assert [row["name"] for row in council.act("list_connections")] == ["ann"]
    council.clock.advance(1)
    assert council.act("list_connections") == []


def test_the_connected_come_first_then_by_name_and_several_connections_are_each_told(council):
    people = {name: council.agent(name) for name in ("cy", "Bob", "ann")}
    presence = council.forum.presence
    for actor in people.values():
        presence.contact(actor.agent_id)
    with presence.hold(people["cy"].agent_id, "socket"), presence.hold(people["cy"].agent_id, "poll"):
        told = council.act("list_connections")
        assert [row["name"] for row in told] == ["cy", "ann", "Bob"] and [each["kind"] for each in told[0]["connections"]] == ["socket", "poll"]
    council.act("delete_agent", id=people["ann"].agent_id)
    assert [row["name"] for row in council.act("list_connections")] == ["Bob", "cy"]


def test_who_is_there_is_told_to_the_person_alone(council):
    ann = council.agent("ann")
    before = council.forum.db.latest_seq()
    council.forum.presence.contact(ann.agent_id)
    with pytest.raises(Refused) as refused:
        council.does(ann, "list_connections")
    assert refused.value.code == "council_not_found" and council.forum.db.latest_seq() == before
    assert council.forum.run(PERSON, "list_connections", {})


def test_a_wait_that_is_cancelled_as_a_change_comes_is_cancelled(council):
    """The change and the cancellation may be any number of turns apart; neither swallows the other."""
    async def story():
        for turns in range(6):
            with council.forum.bus.subscribe(1) as subscription:
                waiting = asyncio.ensure_future(subscription.changed(60))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                subscription.wake()
                for _ in range(turns):
                    await asyncio.sleep(0)
                had_ended = not waiting.cancel()
                await asyncio.wait([waiting])
                assert waiting.result() is True if had_ended else waiting.cancelled(), turns
    asyncio.run(story())
