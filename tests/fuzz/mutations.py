"""Odd inputs from a seeded source: values bent member by member, texts spelt oddly, bytes thrown about.

Everything is drawn from the `random.Random` given; the same one gives the same input.
"""

from __future__ import annotations

import json
import random

TEXTS = ["", "?x", "?", "*", "0", "1e999", "null", "source", "root", "case_key", "acceptance_met", "\x00", "\u2028", "é", "\U0001f600", "\ud800", "\udc00x",
         "a" * 70_000, "x" * 300, '"' * 20_000, "\\" * 5_000, "../../etc/passwd", "Ω", "İ", "\u0130".lower(), " ", "\n", "\r\n", "constructor", "__class__", "%s{0}", "'; drop table rows;--",
         "2026-02-30T00:00:00Z", "sha256:" + "0" * 64, "0" * 64, "art_" + "0" * 32, "history:" + "f" * 64, "exploration", "-0", "١", "²"]
NUMBERS = [0, -1, 1, 2, 7, 64, 500, 501, 2**31, 2**53 - 1, 2**53, -(2**53), 10**30, 10**400, 0.5, -0.0, 1e-7, 1e-320, 1e15, 1e16, 1e300, 9007199254740991.5, float("inf"), float("nan")]
OTHERS = [None, True, False, [], {}, [[]], {"x": 1}, {"": ""}, [None], {"op": "assert_fact"}, {"predicate": "p", "args": {"a": "?a"}}]
BYTES = [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r\n", b"\n\n", b"\r", b'"', b"\\", b"{", b"[" * 100, b"}", b",", b":", b"1e9999", b"-", b"9" * 40, b"\xef\xbb\xbf", b"null", b"data:",
         b"id:", b"\\u0000", b"\\ud800", b"\xc0\x80", b" " * 50, b"0x10", b"NaN", b"%00", b"&", b"=", b"+", b";",
         b'\\"' * 3_000, b'["' * 300, b"[" * 66 + b'"' + b'\\"' * 30_000, b"\\\\" * 2_000, b"a=" * 500]


def pick(rng: random.Random, pool):
    return pool[int(rng.random() * len(pool))]


def odd(rng: random.Random, value: object, whole: object) -> object:
    """Something in the place of `value`: near it, from elsewhere in `whole`, or strange."""
    chance = rng.random()
    if chance < 0.3 and isinstance(value, str):
        return bent_text(rng, value)
    if chance < 0.4 and isinstance(value, (int, float)) and not isinstance(value, bool):
        return value + pick(rng, (-1, 1, 0.5)) if abs(value) < 1e300 else -value
    if chance < 0.55:
        return part(rng, whole)
    if chance < 0.75:
        return pick(rng, TEXTS)
    if chance < 0.88:
        return pick(rng, NUMBERS)
    if chance < 0.9:
        return deep(rng)
    return pick(rng, OTHERS)


def bent_text(rng: random.Random, text: str) -> str:
    at, way = int(rng.random() * (len(text) + 1)), rng.random()
    if way < 0.3:
        return text[:at] + text[at + 1:]
    if way < 0.6:
        return text[:at] + pick(rng, ("x", "?", ".", "@", "_", "A", "0", "é", "\x00", " ", "\u0301")) + text[at:]
    if way < 0.7:
        return text + text
    if way < 0.8:
        return text[:at]
    if way < 0.9:
        return text.upper()
    return text[at:]


def deep(rng: random.Random) -> object:
    value: object = 1
    for _ in range(pick(rng, (3, 30, 62, 64, 70, 400))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def part(rng: random.Random, value: object) -> object:
    """A value somewhere inside `value`."""
    while isinstance(value, (dict, list)) and value and rng.random() < 0.85:
        value = pick(rng, list(value.values()) if isinstance(value, dict) else value)
    return value


def bent(rng: random.Random, value: object, whole: object) -> object:
    """A copy of `value` with one change somewhere inside; what is unchanged is shared."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.06:
        return odd(rng, value, whole)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = pick(rng, keys)
    copy = dict(value) if isinstance(value, dict) else list(value)
    chance = rng.random()
    if chance < 0.72:
        copy[key] = bent(rng, copy[key], whole)
    elif chance < 0.8:
        del copy[key]
    elif chance < 0.86:
        copy[key] = copy[pick(rng, keys)]
    elif isinstance(copy, list):
        if chance < 0.92:
            copy.insert(int(rng.random() * (len(copy) + 1)), pick(rng, copy))
        elif chance < 0.94:
            copy *= pick(rng, (2, 3, 40))
        else:
            rng.shuffle(copy)
    elif chance < 0.93:
        copy[bent_text(rng, str(key))] = copy.pop(key)
    else:
        copy[pick(rng, ("x", "surprise_member", "id", "", "op", "args", "negated", pick(rng, TEXTS)))] = part(rng, whole)
    return copy


def mutated(rng: random.Random, value: object) -> object:
    """`value` with none to six changes."""
    for _ in range(pick(rng, (0, 1, 1, 1, 2, 3, 6))):
        value = bent(rng, value, value)
    return value


def spelt(rng: random.Random, value: object) -> bytes:
    """`value` as JSON, in one of the ways JSON may be written, or nearly so."""
    way = rng.random()
    text = json.dumps(value, ensure_ascii=way < 0.7, indent=1 if way < 0.1 else None, separators=(",", ":") if 0.1 <= way < 0.6 else None)
    data = text.encode("utf-8", "surrogatepass")
    return thrown(rng, data) if rng.random() < 0.2 else data


def thrown(rng: random.Random, data: bytes) -> bytes:
    """`data` with some bytes changed, cut, doubled or put in."""
    found = bytearray(data)
    for _ in range(pick(rng, (1, 1, 2, 4, 16))):
        at, way = int(rng.random() * (len(found) + 1)), rng.random()
        if way < 0.35 and at < len(found):
            found[at] ^= 1 << int(rng.random() * 8)
        elif way < 0.5:
            found[at:at] = pick(rng, BYTES)
        elif way < 0.65:
            del found[at:at + pick(rng, (1, 1, 2, 8, 60))]
        elif way < 0.8:
            there = int(rng.random() * (len(found) + 1))
            found[at:at] = found[there:there + pick(rng, (1, 4, 30, 200))]
        elif way < 0.85:
            del found[at:]
        elif at < len(found):
            found[at] = int(rng.random() * 256)
    return bytes(found)


def cuts(rng: random.Random, data: bytes) -> list[bytes]:
    """`data` in pieces, as a network may bring it."""
    way = rng.random()
    if way < 0.4 or len(data) < 2:
        return [data]
    if way < 0.5 and len(data) < 400:
        return [data[at:at + 1] for at in range(len(data))]
    places = sorted({int(rng.random() * len(data)) for _ in range(pick(rng, (1, 1, 2, 5, 9)))} | {0, len(data)})
    return [data[low:high] for low, high in zip(places, places[1:])]
