"""Credentials of runs that the council started: in memory only, pinned to one agent's identity, ended when unused.

Units   seconds of the wall clock
Source  the council surface, "Keys and credentials"
"""

from __future__ import annotations

from rulith.base.clock import Clock
from rulith.council.keys import key_hash, live_key_from

IDLE_S = 6 * 3600.0
Identity = tuple[int, str, bool]      # agent id, its created_at, whether it may only wait


class LiveKeys:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[Identity, float]] = {}             # digest -> (whom it speaks for, last used)

    def mint(self, identity: Identity, secret: bytes) -> str:
        key = live_key_from(secret)
        self._known[key_hash(key)] = (identity, self._clock.wall_s())
        return key

    def find(self, key: str) -> Identity | None:
        """Whom a credential speaks for, if it still does; that is a use of it."""
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
        for digest in [digest for digest, ((owner, *_), _) in self._known.items() if owner == agent_id]:
            del self._known[digest]
