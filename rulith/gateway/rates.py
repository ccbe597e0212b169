"""How often one caller may ask: a token bucket for each credential, and one for whoever brings none.

Sans-IO: who asks and when, in; how long to wait, out. A credential that is known is never
slowed by strangers who guess: failures have buckets of their own, by address, and an empty
one only turns their 401 into 429.

Units   seconds of a monotonic clock; rates are requests a second
"""

from __future__ import annotations

CALLERS_MAX = 10_000         # buckets remembered; a caller that is forgotten starts with a full one


class Buckets:
    """One bucket per caller: `burst` at once, refilled by `per_s`."""

    def __init__(self, per_s: float, burst: float) -> None:
        self.per_s = per_s
        self.burst = burst
        self._level: dict[str, tuple[float, float]] = {}     # caller -> (what was left, when)

    def take(self, caller: str, now_s: float) -> float:
        """0.0 when this request may pass, else the seconds until one may."""
        left, then = self._level.get(caller, (self.burst, now_s))
        left = min(self.burst, left + max(0.0, now_s - then) * self.per_s)
        if left < 1.0:
            self._level[caller] = (left, now_s)
            return (1.0 - left) / self.per_s
        if caller not in self._level and len(self._level) >= CALLERS_MAX:
            self._forget(now_s)
        self._level[caller] = (left - 1.0, now_s)
        return 0.0

    def _forget(self, now_s: float) -> None:
        """Drop the buckets that are full again, and where none is, the ones asked least recently."""
        full = [caller for caller, (left, then) in self._level.items() if left + (now_s - then) * self.per_s >= self.burst]
        for caller in full or sorted(self._level, key=lambda each: self._level[each][1])[:CALLERS_MAX // 10]:
            del self._level[caller]
