"""JSON text, read strictly: what two readers could understand differently is refused.

A key given twice, a number outside the exact domain (integers beyond ±(2^53-1), values
that are not finite, a fraction that underflows to zero), a lone surrogate, nesting past
the limit and bytes that are not UTF-8 have no reading here. The number check judges the
literal, before any rounding. Numbers keep their kind: `1` is an int, `1.0` a float.

Source  the MCP surface, "Numbers"; RFC 8259, RFC 7493.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX, JSON_DEPTH_MAX

# Nothing shorter can leave the exact domain, so most text skips the slower number hooks.
_SUSPECT = re.compile(r"[0-9]{16}|[0-9][.eE]")
# Of text without its escapes. A string without its end goes to the end of the text, or each quote in it would be tried
# as a start of its own.
_STRING = r'"[^"]*(?:"|\Z)'
_STRING_OR_BRACKET = re.compile(_STRING + r"|[\[{}\]]")
_STRING_OR_NUMBER = re.compile(_STRING + r"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_INTEGER_DIGITS_MAX = 17         # sign and sixteen digits; longer text is out of range unread


class _Twisted(ValueError):
    """Raised inside the parser; its text says what is wrong."""


class _Inexact(ValueError):
    """Raised inside the parser with the literal that has no exact value here."""

    def __init__(self, literal: str) -> None:
        super().__init__(literal if len(literal) <= 60 else literal[:57] + "...")


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
    raise _Inexact(name)


def _integer(literal: str) -> int:
    if len(literal) > _INTEGER_DIGITS_MAX or abs(value := int(literal)) > INTEGER_MAX:
        raise _Inexact(literal)
    return value


def _fraction(literal: str) -> float:
    value = float(literal)
    beyond = not math.isfinite(value) or (abs(value) > INTEGER_MAX and value.is_integer())
    if beyond or (value == 0 and re.search("[1-9]", re.split("[eE]", literal)[0])):
        raise _Inexact(literal)
    return value


_quick = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_careful = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_fraction, parse_int=_integer
)


def _without_escapes(text: str) -> str:
    """`text` with no backslash or quote that a string holds, so that every quote left begins or ends one."""
    return text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text


def _depth_of(text: str) -> int:
    """The deepest nesting of `text`, counted outside its strings."""
    depth = deepest = 0
    for token in _STRING_OR_BRACKET.finditer(_without_escapes(text)):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest


def is_deeper(text: str, depth_max: int) -> bool:
    """Whether `text` nests deeper than that, so that no parser has to find out; only text with that many brackets can."""
    return text.count("[") + text.count("{") > depth_max and _depth_of(text) > depth_max


def _no_surrogates(value: object) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if any("\ud800" <= letter <= "\udfff" for letter in item):
                raise _Twisted("a text holds a lone surrogate")
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())


def read_json(text: str | bytes, where: str, *, depth_max: int = JSON_DEPTH_MAX) -> object:
    """The one JSON value that `text` spells; `where` names it in a refusal ("the request body").

    Raises Refused: bad_json, number_out_of_range.
    """
    try:
        if isinstance(text, (bytes, bytearray)):
            text = text.decode("utf-8")
        if is_deeper(text, depth_max):       # the parser recurses
            raise _Twisted(f"it is nested deeper than {depth_max}")
        value = (_careful if _SUSPECT.search(text) else _quick).decode(text)
        if _SURROGATE.search(text):
            _no_surrogates(value)
        return value
    except UnicodeDecodeError as broken:
        problem = f"byte {broken.start} is not UTF-8"
    except _Twisted as twisted:
        problem = str(twisted)
    except _Inexact as inexact:
        raise Refused("number_out_of_range", where=where, literal=str(inexact)) from None
    except json.JSONDecodeError as broken:
        problem = f"{broken.msg[:1].lower()}{broken.msg[1:].removesuffix(' at')} at line {broken.lineno}, column {broken.colno}"
        raise Refused("bad_json", where=where, problem=problem, line=broken.lineno) from None
    except RecursionError:
        problem = "it is nested deeper than the reader can follow"
    raise Refused("bad_json", where=where, problem=problem)


def check_numbers(text: str, where: str) -> None:
    """Refuse the first number literal outside the exact domain, in text that need not be valid JSON.

    Digits inside strings are business text and pass. Raises Refused number_out_of_range.
    """
    if not _SUSPECT.search(text):
        return
    for token in _STRING_OR_NUMBER.finditer(_without_escapes(text)):
        literal = token[0]
        if literal[0] == '"':
            continue
        try:
            _fraction(literal) if re.search("[.eE]", literal) else _integer(literal)
        except _Inexact as inexact:
            raise Refused("number_out_of_range", where=where, literal=str(inexact)) from None


def text_encoder(*, sort_keys: bool = False, allow_nan: bool = True) -> Callable[[object], str]:
    """A function that writes a value as compact JSON text, letters as themselves.

    The standard encoder builds a fresh C encoder for every value; where this Python lets
    one be kept, it is, and small values take half the time.
    """
    plain = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=sort_keys, allow_nan=allow_nan, separators=(",", ":"))
    sample = {"b": [1, 2.5, None, True, "\"é"], "a": {}}
    try:
        kept = json.encoder.c_make_encoder(None, plain.default, json.encoder.c_encode_basestring, None, ":", ",",
                                           sort_keys, False, allow_nan)
        if "".join(kept(sample, 0)) == plain.encode(sample):
            return lambda value: "".join(kept(value, 0))
    except (AttributeError, TypeError):
        pass                                  # a Python whose encoder is made otherwise
    return plain.encode


def escaped(json_text: str) -> str:
    """A JSON text as the inside of a JSON string. No control character stands in a JSON text, so two replacements do it."""
    return json_text.replace("\\", "\\\\").replace('"', '\\"')


def compact_json(value: object) -> str:
    """`value` as JSON without blanks, members in the order given, letters as themselves."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
