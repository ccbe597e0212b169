"""What the compiled validators stand on: one exception and our own number tests.

A JSON integer is an int (1.0 is not, True is not) inside ±(2^53-1); a number is finite
and, where it is whole, inside the same range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import isfinite

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX

_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]")
SHOWN_CHARS_MAX = 200            # a refusal names the place, it does not echo a document


class Invalid(Exception):
    """`place` is a path such as data.operations[0].op; `problem` says what must be otherwise."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(place, problem)
        self.place, self.problem = place, problem


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -INTEGER_MAX <= value <= INTEGER_MAX


def is_number(value: object) -> bool:
    if isinstance(value, float):
        return isfinite(value) and (not value.is_integer() or -INTEGER_MAX <= value <= INTEGER_MAX)
    return is_integer(value)


def listed(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)))


def pointer(place: str) -> str:
    """The validator's path as a JSON Pointer: data.operations[0].op is /operations/0/op."""
    return "".join("/" + (name or index) for name, index in _STEP.findall(place.removeprefix("data")))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"


def run(validator: Callable[[object], object], name: str, value: object) -> None:
    """Raise Refused bad_command naming `name`, the place and the problem, unless `value` is valid."""
    try:
        validator(value)
    except Invalid as invalid:
        place = _cut(pointer(invalid.place))
        raise Refused(
            "bad_command", problem=f"{name}{' at ' + place if place else ''} {_cut(invalid.problem)}.", place=place
        ) from None
