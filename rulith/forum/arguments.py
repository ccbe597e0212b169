"""The arguments of an act, read one by one: each refusal names the argument."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX


DEPTH_MAX = 8


def whole(value: object, what: str, least: int = 1, most: int = INTEGER_MAX) -> int:
    """A whole number; a text of digits is one too, as some clients send ids so."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().lstrip("#").isdigit() and len(value) < 20:
        value = int(value.strip().lstrip("#"))
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refused("council_invalid", problem=f"{what} is no whole number from {least} to {most}")
    return value


def check_letters(arguments: Mapping) -> None:
    """Raises Refused council_invalid for half a letter anywhere in the arguments, which no file holds, and for a depth that nothing here has."""
    ahead: list[tuple[object, int]] = [(arguments, 0)]
    while ahead:
        value, depth = ahead.pop()
        if isinstance(value, str):
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise Refused("council_invalid", problem="an argument holds half a letter (a lone surrogate)") from None
        elif isinstance(value, (Mapping, list, tuple)):
            if depth == DEPTH_MAX:
                raise Refused("council_invalid", problem=f"the arguments are nested more than {DEPTH_MAX} deep")
            parts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
            ahead.extend((each, depth + 1) for each in parts)


def given(arguments: Mapping, name: str) -> object:
    if arguments.get(name) is None:
        raise Refused("council_invalid", problem=f"{name} is missing")
    return arguments[name]


def text(arguments: Mapping, name: str, default: str | None = None, *, chars_max: int = 64_000) -> str:
    value = arguments.get(name, default)
    if value is None and default is None:
        raise Refused("council_invalid", problem=f"{name} is missing")
    if not isinstance(value, str) or len(value) > chars_max:
        raise Refused("council_invalid", problem=f"{name} is no text of at most {chars_max} characters")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("council_invalid", problem=f"{name} holds half a letter (a lone surrogate)") from None
    if "\0" in value:
        raise Refused("council_invalid", problem=f"{name} holds a zero byte")
    return value


def optional(arguments: Mapping, name: str, *, chars_max: int = 64_000) -> str | None:
    return text(arguments, name, chars_max=chars_max) if arguments.get(name) is not None else None


def flag(arguments: Mapping, name: str, default: bool) -> bool:
    value = arguments.get(name, default)
    if not isinstance(value, bool):
        raise Refused("council_invalid", problem=f"{name} is neither true nor false")
    return value


def only(arguments: Mapping, *names: str) -> None:
    """Raises Refused council_invalid for an argument that nobody reads."""
    strange = sorted(str(name) for name in arguments if name not in names)
    if strange:
        raise Refused("council_invalid", problem=f"{strange[0][:60]!r} is no argument here ({', '.join(names) or 'there are none'})")


def json_list(values: Iterable[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
