"""The starts of the last hour, kept in a file, so that a watcher that is started again goes on counting.

Written before each start: a start that was not kept does not happen. Whoever supervises
watchers names one file for each agent.

Units   seconds of the wall clock
Source  the council surface, "Supervisor": the count belongs to the host
"""

from __future__ import annotations

import math
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import WATCH_STARTS_MAX
from rulith.disk.atomic import read_json, write_json


def read_starts(path: Path) -> tuple[float, ...]:
    """What is kept; nothing where there is no file yet. Raises Refused watch_starts_unusable: no count is no permission."""
    if not path.exists():
        return ()
    try:
        value = read_json(path)
    except Refused as refusal:
        raise Refused("watch_starts_unusable", path=path, problem=refusal.happened) from None
    rows = value.get("starts") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not all(isinstance(each, (int, float)) and not isinstance(each, bool) and math.isfinite(each) for each in rows):
        raise Refused("watch_starts_unusable", path=path, problem="it holds no list of starts")
    return tuple(map(float, rows[-WATCH_STARTS_MAX:]))


def keep_starts(path: Path, starts: tuple[float, ...]) -> None:
    """Raises Refused: disk_full, write_failed."""
    write_json(path, {"starts": list(starts[-WATCH_STARTS_MAX:])})
