"""Moments as the council writes them: `2026-12-01T08:00:00.001+00:00`.

Source  the council surface, "Parts and surfaces"
"""

from __future__ import annotations

from rulith.base.clock import seconds_of, stamp


def told(wall_s: float) -> str:
    """Seconds since the epoch as text; texts sort as the moments do."""
    return stamp(wall_s)[:-1] + "+00:00"


def moment(text: str) -> float:
    """The seconds since the epoch that `told` wrote."""
    return seconds_of(text.removesuffix("+00:00") + "Z")
