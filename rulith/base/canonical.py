"""Canonical JSON (RFC 8785) and the digests over it.

Keys ascend by UTF-16 code unit, numbers print as ECMAScript prints them, no blanks,
UTF-8. Non-finite numbers, lone surrogates and non-string keys have no canonical form.

Source  protocol/, algorithm `rulith-execution-canonical-json/1`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re

from rulith.base.errors import Refused
from rulith.base.json_text import text_encoder

_encode_text = json.JSONEncoder(ensure_ascii=False).encode
_encode_compact = text_encoder(sort_keys=True)

# Where Python's own compact JSON may differ from the canonical form: a fraction, an exponent, NaN or
# Infinity, a number of 21 digits or more; a key that was no text. Text that merely looks so costs time,
# never correctness. It starts with a set of characters, which `re` finds fast; a colon after a digit is
# a time of day, since a key's colon follows a quote.
_DOUBTFUL = re.compile(r'[:\[,{](?<!\d:)(?:-?(?:\d+[.e]|\d{21}|NaN|Infinity)|"(?:-?\d[^"]*|true|false|null|NaN|-?Infinity)":)')
# Beyond these, UTF-16 orders keys differently than Python does, or there is no UTF-8.
_DOUBTFUL_CHARACTER = re.compile("[\ud800-\U0010ffff]")


def number_text(value: int | float) -> str:
    """The shortest text that reads back as `value`, as ECMAScript writes it: 1.0 is 1, 1e21 is 1e+21."""
    if isinstance(value, int):
        if abs(value) < 10**21:
            return str(value)
        value = float(value)
    if not math.isfinite(value):
        raise Refused("not_canonical", where="a number", problem=f"{value} is not finite")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    written = whole + fraction
    digits = written.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(written) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    shown = point - 1
    head = digits[0] + ("." + digits[1:] if count > 1 else "")
    return f"{sign}{head}e{'+' if shown > 0 else '-'}{abs(shown)}"


def _text(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("not_canonical", where="a text", problem="it holds a lone surrogate") from None
    return _encode_text(value)


def utf16_order(text: str) -> bytes:
    """What sorts texts by their UTF-16 code units, as canonical JSON sorts names."""
    return text.encode("utf-16-be", "surrogatepass")


class Spelled(dict):
    """An object that knows its canonical text; nobody changes it any more."""

    __slots__ = ("text",)


def spelled(row: dict) -> Spelled:
    """`row`, whose keys are plain words, with its canonical text. Members that know theirs are not written again."""
    found = Spelled(row)
    found.text = "{" + ",".join([f'"{name}":{canonical_text(row[name])}' for name in sorted(row)]) + "}"
    return found


def canonical_text(value: object) -> str:
    """`value` as canonical JSON text. Raises Refused not_canonical where it has none."""
    kind = value.__class__
    if kind is Spelled:
        return value.text  # type: ignore[attr-defined]
    if kind is str and value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:  # type: ignore[attr-defined, operator]
        return f'"{value}"'
    if not isinstance(value, (dict, list)):
        return _slow_text(value)
    try:
        text = _encode_compact(value)
    except (TypeError, ValueError, RecursionError):
        return _slow_text(value)                 # it names what is wrong
    if _DOUBTFUL.search(text) or not text.isascii() and _DOUBTFUL_CHARACTER.search(text):
        return _slow_text(value)
    return text


def _slow_text(value: object) -> str:
    """The canonical text, member by member."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_slow_text, value)) + "]"
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise Refused("not_canonical", where="an object", problem=f"its key {key!r} is not text")
        rows = (f"{_text(key)}:{_slow_text(value[key])}" for key in sorted(value, key=utf16_order))
        return "{" + ",".join(rows) + "}"
    raise Refused("not_canonical", where="a value", problem=f"{type(value).__name__} is not a JSON type")


def canonical_bytes(value: object) -> bytes:
    return canonical_text(value).encode("utf-8")


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """`sha256:` and the hex SHA-256 of `value`'s canonical bytes."""
    return "sha256:" + sha256_hex(canonical_bytes(value))
