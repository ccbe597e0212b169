"""JSON text, read strictly: what two readers could understand differently is refused.

A key given twice, a number that is not finite, nesting past the limit, and bytes that are
not UTF-8 have no reading here. Numbers keep their kind: `1` is an int, `1.0` a float.
"""

from __future__ import annotations

import json
import math

from rulith.base.errors import Refused
from rulith.base.limits import JSON_DEPTH_MAX


class _Twisted(ValueError):
    """Raised inside the parser; its text says what is wrong."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twisted(f"the key {key[:60]!r} is given twice")
            seen.add(key)
    return row


def _no_constant(name: str) -> object:
    raise _Twisted(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Twisted(f"the number {text[:40]} is not finite")
    return value


def _whole(text: str) -> int:
    if len(text) > 310:
        raise _Twisted(f"the number {text[:40]}… is not finite")
    return int(text)


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)


def _depth_of(text: str) -> int:
    """The deepest nesting of `text`, counted outside its strings."""
    depth = deepest = 0
    inside = escaped = False
    for letter in text:
        if inside:
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                inside = False
        elif letter == '"':
            inside = True
        elif letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def read_json(text: str | bytes, where: str, *, depth_max: int = JSON_DEPTH_MAX) -> object:
    """The value that `text` spells. Raises Refused json_unreadable naming `where`."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        # The parser recurses; only text with that many brackets can be too deep for it.
        if text.count("[") + text.count("{") > depth_max and _depth_of(text) > depth_max:
            raise _Twisted(f"it is nested deeper than {depth_max}")
        return _decoder.decode(text)
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except _Twisted as twisted:
        problem = str(twisted)
    except json.JSONDecodeError as broken:
        problem = f"{broken.msg} at line {broken.lineno}, column {broken.colno}"
    raise Refused("json_unreadable", where=where, problem=problem)


def compact_json(value: object) -> str:
    """`value` as JSON without blanks, members in the order given, letters as themselves."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
