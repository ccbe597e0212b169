"""The wake rule: which threads need an agent. One rule for the poll, the socket, the channel and the watcher.

Source  the council surface, "The wake rule"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rulith.council.checks import is_spent
from rulith.council.shapes import Room, Standing, Thread

# A claim is a courtesy; waking everyone asked for it would cost each of them a run.
QUIET_KINDS = frozenset({"thread.claimed"})


def is_wakeable(thread: Thread, room: Room, standing: Standing) -> bool:
    """Whether this thread can need the agent whose standing this is."""
    return not (thread.is_terminal or room.paused or not standing.is_member or not standing.is_asked
                or standing.own_messages >= room.max_replies_per_agent or standing.all_messages >= room.max_thread_messages
                or is_spent(room, standing.spent_usd))


def is_waiting(thread: Thread, room: Room, standing: Standing, agent_id: int) -> bool:
    """Whether it waits for the agent: the newest word in it is another's."""
    return is_wakeable(thread, room, standing) and standing.newest_author_id != agent_id


def moved_threads(events: Iterable[Mapping], agent_id: int) -> list[int]:
    """The threads that others moved, ascending; those that are wakeable of them need the agent."""
    return sorted({event["thread_id"] for event in events if event["thread_id"] is not None and event["actor_agent_id"] != agent_id
                   and event["kind"] not in QUIET_KINDS})
