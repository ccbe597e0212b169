"""Events to those who wait: the bus, the poll, and what each wake-up tells.

Promises: whoever subscribes before reading misses nothing; a wait ends at once when its agent
is revoked; events of rooms that are not the waiter's never reach it and never stop it.

Units   *_s are seconds of the loop's clock
Source  the council surface, "wait_for_updates"
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.council import advice
from rulith.council.shapes import Actor
from rulith.council.wake import moved_threads
from rulith.forum.arguments import flag, only, whole
from rulith.net.link import within

WAIT_S, WAIT_MAX_S, SUPERVISED_MAX_S = 45, 3_600, 15
SCANNED_MAX, TOLD_MAX = 200, 100
BLIND = ("verdict", "severity", "previous_verdict", "previous_severity")


class Subscription:
    """Wakes on every durable change, and for good when its agent's credentials end.

    stopped   whoever waits wants no more of it: the wait ends as if its time were up
    """

    def __init__(self, bus: Bus, agent_id: int) -> None:
        self.agent_id, self.ended, self.stopped = agent_id, False, False
        self._bus, self._moved = bus, asyncio.Event()

    def wake(self) -> None:
        self._moved.set()

    def stop(self) -> None:
        self.stopped = True
        self._moved.set()

    async def changed(self, timeout_s: float | None = None) -> bool:
        """Wait for the next change; False when `timeout_s` passed first."""
        try:
            await within(timeout_s, self._moved.wait())
        except asyncio.TimeoutError:
            return False
        self._moved.clear()
        return True

    def __enter__(self) -> Subscription:
        self._bus.add(self)
        return self

    def __exit__(self, *problem: object) -> None:
        self._bus.remove(self)


class Bus:
    def __init__(self) -> None:
        self._waiting: set[Subscription] = set()

    def subscribe(self, agent_id: int) -> Subscription:
        """Use it in a `with`, and read only inside."""
        return Subscription(self, agent_id)

    def add(self, subscription: Subscription) -> None:
        self._waiting.add(subscription)

    def remove(self, subscription: Subscription) -> None:
        self._waiting.discard(subscription)

    def fire(self, agent_id: int | None = None) -> None:
        """Wake everyone, or only who waits as this agent."""
        for each in self._waiting:
            if agent_id is None or each.agent_id == agent_id:
                each.wake()

    def end(self, agent_id: int) -> None:
        """The agent's credentials are no longer valid: whatever they hold open ends."""
        for each in [each for each in self._waiting if each.agent_id == agent_id]:
            each.ended = True
            each.wake()


class Waiting:
    def __init__(self, forum) -> None:
        self.forum = forum

    async def wait_for_updates(self, actor: Actor, arguments: Mapping, *, is_watcher: bool = False,
                               subscription: Subscription | None = None) -> dict:
        """{next_cursor, events, needs_you, then}; `note` instead of `then` where nothing came. Raises Refused council_revoked, council_invalid, council_holds.

        subscription   made by the caller, who stops the wait with it
        """
        only(arguments, "cursor", "timeout_s", "watcher", "catch_up")
        forum, loop = self.forum, asyncio.get_running_loop()
        watcher = is_watcher or actor.is_watcher or (flag(arguments, "watcher", False) and not actor.supervised)
        forum.presence.check_room(actor.agent_id)
        most = SUPERVISED_MAX_S if actor.supervised and not watcher else WAIT_MAX_S
        deadline = loop.time() + min(whole(arguments.get("timeout_s", WAIT_S), "timeout_s", 0, 10**9), most) if arguments.get("timeout_s") != 0 else loop.time() + 1
        with forum.presence.hold(actor.agent_id, "poll"), (subscription or forum.bus.subscribe(actor.agent_id)) as subscription:
            latest = forum.db.latest_seq()
            cursor = whole(arguments["cursor"], "cursor", 0) if arguments.get("cursor") is not None else latest
            clamped = cursor > latest
            cursor = min(cursor, latest)
            if flag(arguments, "catch_up", False):
                waiting = forum.waiting_set(actor.agent_id)
                if waiting:
                    return {"next_cursor": cursor, "events": [], "needs_you": waiting, "then": advice.CAUGHT_UP}
            while True:
                if subscription.ended:
                    raise Refused("council_revoked")
                forum.present(actor)
                cursor, events = self.scan(actor, cursor)
                if events:
                    needs = [each for each in moved_threads(events, actor.agent_id) if forum.is_wakeable(actor.agent_id, each)]
                    return {"next_cursor": cursor, "events": events, "needs_you": needs, "then": advice.after(True, actor.supervised, watcher)}
                left = deadline - loop.time()
                if left <= 0 or subscription.stopped or not await subscription.changed(left):
                    note = advice.after(False, actor.supervised, watcher)
                    return {"next_cursor": cursor, "events": [], "needs_you": [], "note": f"{advice.CLAMPED} {note}" if clamped else note}

    def scan(self, actor: Actor, cursor: int) -> tuple[int, list[dict]]:
        """The events after the cursor that concern the actor's rooms, and how far they were read."""
        rooms = set(self.forum.rooms_of(actor.agent_id))
        while True:
            scanned = self.forum.db.events_after(cursor, SCANNED_MAX)
            kept = [self._told(actor, row) for row in scanned if row["room_id"] in rooms][:TOLD_MAX]
            if kept:
                return kept[-1]["seq"], kept
            if not scanned:
                return cursor, []
            cursor = scanned[-1]["seq"]

    def _told(self, actor: Actor, row: Mapping) -> dict:
        """An event as the actor may hear it: of a message that a blind round hides, only that there is one."""
        told = {name: row[name] for name in ("seq", "room_id", "thread_id", "kind", "actor_agent_id", "payload", "created_at")}
        if row["kind"] in ("message.created", "message.edited") and self.forum.reading.is_hidden(actor, row["thread_id"], row["actor_agent_id"]):
            told["payload"] = {name: None if name in BLIND else value for name, value in row["payload"].items()}
        return told
