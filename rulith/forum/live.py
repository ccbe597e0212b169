"""Credentials of runs that the council started: in memory only, pinned to one agent's identity, ended when unused.

Units   seconds of the wall clock
Source  the council surface, "Keys and credentials"
"""

from __future__ import annotations

from rulith.base.clock import Clock
from rulith.council.keys import key_hash, live_key_from

IDLE_S = 6 * 3600.0


class LiveKeys:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[tuple[int, str], float]] = {}      # digest -> ((agent id, created at), last used)

    def mint(self, identity: tuple[int, str], secret: bytes) -> str:
        key = live_key_from(secret)
        self._known[key_hash(key)] = (identity, self._clock.wall_s())
        return key

    def find(self, key: str) -> tuple[int, str] | None:
        """The identity a credential speaks for, if it is still one."""
        digest, now_s = key_hash(key), self._clock.wall_s()
        found = self._known.get(digest)
        if found is None:
            return None
        if now_s - found[1] > IDLE_S:
            del self._known[digest]
            return None
        self._known[digest] = (found[0], now_s)
        return found[0]

    def drop(self, key: str) -> None:
        self._known.pop(key_hash(key), None)

    def drop_agent(self, agent_id: int) -> None:
        for digest in [digest for digest, ((owner, _), _) in self._known.items() if owner == agent_id]:
            del self._known[digest]
