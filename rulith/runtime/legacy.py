"""The record that an earlier edition kept of a call without an outcome: named once, then removed.

What became of such a call stands on the Board, in its operations; nothing is taken from the
record but the name of the call.

Source  the MCP surface, "History files"
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.atomic import read_json, write_json
from rulith.runtime.surface import flat

FORMAT = "rulith-agent-sessions/1"


def name_once(path: Path, url: str, token: str, log: Callable[[str], None]) -> None:
    """Tell of the record of this gateway and token in `path`, if there is one, and take it out."""
    if not path.is_file():
        return
    try:
        value = read_json(path)
    except Refused as refusal:
        log(f"an earlier edition's record is left alone: {refusal.happened}")
        return
    rows = value.get("sessions", value) if isinstance(value, dict) and value.get("format") == FORMAT else None
    key = f"{url}#{hashlib.sha256(token.encode()).hexdigest()[:16]}"
    if not isinstance(rows, dict) or not isinstance(rows.get(key), dict):
        return
    unresolved = rows.pop(key).get("unresolved")
    if isinstance(unresolved, dict):
        log(f"An earlier edition ended without the outcome of {flat(unresolved.get('tool', 'a call'), 60)}. Whether it ran stands in the "
            "Board's operations; it is not sent again.")
    try:
        write_json(path, value)
    except Refused as refusal:
        log(f"the record stays, and will be named again: {refusal.happened}")
