"""Who is there: connections that are held now, and when each agent was last heard from. In memory, told to the person only.

Units   seconds of the wall clock; SILENT_S and NEAR_S are spans
Source  the council surface, "Presence"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_HOLDS_MAX
from rulith.council.times import told

LISTED_S = 300.0           # an agent without a connection is listed so long after it was heard from
SILENT_S = 60.0            # contact after so long a silence is worth a signal
KINDS = ("poll", "socket", "stream")


@dataclass
class _Seen:
    last_s: float = 0.0
    holds: dict[int, tuple[str, float]] = field(default_factory=dict)      # number -> (kind, since)


class Presence:
    """`signal` is told whenever what the person sees may have changed; `revision` counts how often."""

    def __init__(self, clock: Clock, signal: Callable[[], None] = lambda: None) -> None:
        self.revision = 0
        self._signal = signal
        self._clock = clock
        self._seen: dict[int, _Seen] = {}
        self._number = 0

    def signal(self) -> None:
        self.revision += 1
        self._signal()

    def contact(self, agent_id: int) -> None:
        """The agent was heard from."""
        seen, now_s = self._seen.setdefault(agent_id, _Seen()), self._clock.wall_s()
        was_silent = not seen.holds and now_s - seen.last_s > SILENT_S
        seen.last_s = now_s
        if was_silent:
            self.signal()

    @contextmanager
    def hold(self, agent_id: int, kind: str) -> Iterator[None]:
        """A connection of this agent is held while the block runs, however it ends."""
        assert kind in KINDS, kind
        seen = self._seen.setdefault(agent_id, _Seen())
        self._number += 1
        number = self._number
        seen.holds[number] = (kind, self._clock.wall_s())
        self.signal()
        try:
            yield
        finally:
            del seen.holds[number]
            seen.last_s = self._clock.wall_s()
            self.signal()

    def check_room(self, agent_id: int) -> None:
        """Raises Refused council_holds for an agent that holds as much as one may."""
        seen = self._seen.get(agent_id)
        if seen is not None and len(seen.holds) >= COUNCIL_HOLDS_MAX:
            raise Refused("council_holds", count=len(seen.holds))

    def forget(self, agent_id: int) -> None:
        self._seen.pop(agent_id, None)

    def of(self, agent_id: int) -> dict | None:
        """{connections: [{kind, since}], last_seen}; None for who is neither connected nor heard from lately."""
        seen = self._seen.get(agent_id)
        if seen is None or (not seen.holds and self._clock.wall_s() - seen.last_s > LISTED_S):
            return None
        return {"connections": [{"kind": kind, "since": told(since_s)} for kind, since_s in seen.holds.values()], "last_seen": told(seen.last_s)}

    def listed(self) -> dict[int, dict]:
        return {agent_id: about for agent_id in self._seen if (about := self.of(agent_id)) is not None}
