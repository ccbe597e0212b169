"""Time, in the one room that may read it.

Everything else takes a `Clock`. Wall times are UTC; text is RFC 3339 with milliseconds.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    def monotonic_s(self) -> float: ...
    def wall_s(self) -> float: ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()


class ManualClock:
    """A clock that a test moves by hand; both faces advance together."""

    def __init__(self, wall_s: float = 1_790_000_000.0, monotonic_s: float = 1_000.0) -> None:
        self._wall_s = wall_s
        self._monotonic_s = monotonic_s

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def wall_s(self) -> float:
        return self._wall_s

    def advance(self, seconds: float) -> None:
        self._wall_s += seconds
        self._monotonic_s += seconds


@lru_cache(maxsize=8)
def _second(whole_s: int) -> str:
    """The text of one whole second; thousands of stamps fall into the same one."""
    return f"{datetime.fromtimestamp(whole_s, timezone.utc):%Y-%m-%dT%H:%M:%S}"


_last_stamp = (0, "1970-01-01T00:00:00.000Z")        # one request asks for several stamps of one millisecond


def stamp(wall_s: float) -> str:
    """Seconds since the epoch as `2026-10-03T08:00:00.001Z` (milliseconds, rounded down)."""
    global _last_stamp
    at_ms, known = int(wall_s * 1000), _last_stamp
    if known[0] == at_ms:
        return known[1]
    whole_s, millis = divmod(at_ms, 1000)
    text = f"{_second(whole_s)}.{millis:03d}Z"
    _last_stamp = (at_ms, text)
    return text


def just_after(text: str) -> str:
    """The stamp one millisecond after the stamp `text`."""
    millis = int(text[20:23]) + 1
    return f"{text[:20]}{millis:03d}Z" if millis < 1000 else stamp(round(seconds_of(text[:19] + "Z")) + 1.0)


@lru_cache(maxsize=64)
def seconds_of(text: str) -> float:
    """The moment an RFC 3339 UTC stamp names, in seconds since the epoch; ValueError if it names none."""
    if not text.endswith("Z"):
        raise ValueError(f"{text!r} is not a UTC stamp")
    head, _, fraction = text[:-1].partition(".")
    if len(head) != 19 or not head.isascii() or head[4] != "-" or head[10] != "T" or head[13] != ":":
        raise ValueError(f"{text!r} is not a UTC stamp")
    whole = datetime.fromisoformat(head).replace(tzinfo=timezone.utc)     # ten times as fast as strptime
    return whole.timestamp() + (float("0." + fraction) if fraction else 0.0)
