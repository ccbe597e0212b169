"""What both wires do with the calls of a reply: judge each, and notice what was cut or doubled.

A call runs as it was written or not at all: nothing here closes a bracket, joins two
halves or picks one of two readings. A reply that reached its output limit is cut,
whatever it says of itself, because some services close what they cut.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import check_numbers, is_deeper
from rulith.base.limits import MODEL_DEPTH_MAX
from rulith.dialects.arguments import read_object
from rulith.dialects.transcript import CallIds, ProposedCall, Usage, clean_text

THOUGHTS_BEGIN, THOUGHTS_END = "<think>", "</think>"


class Twice(dict):
    """An object that gives a key twice: two readers could understand it differently."""


def _pairs(rows: list[tuple[str, object]]) -> dict:
    row = dict(rows)
    return row if len(row) == len(rows) else Twice(row)


def parse(text: str | bytes) -> object:
    """JSON of a model service, its doubled keys marked. Raises ValueError."""
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    if is_deeper(text, MODEL_DEPTH_MAX):
        raise ValueError("it is nested too deep")
    return json.loads(text, object_pairs_hook=_pairs)


def opened(body: bytes | str) -> tuple[object, str]:
    """A whole body as its document and its text. Raises Refused model_reply_unreadable."""
    try:
        return parse(body), body if isinstance(body, str) else body.decode("utf-8", "replace")
    except ValueError:
        raise Refused("model_reply_unreadable", problem="it is not JSON") from None


def content_text(content: object) -> str:
    """The text of a message, which some services give in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def count(value: object) -> int | None:
    """A number of tokens, or None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


@dataclass
class Written:
    """A call as the service wrote it.

    arguments   their text, or the value that stands in its place
    is_whole    the service said that nothing is missing
    """

    id: str = ""
    name: str = ""
    arguments: object = ""
    extra: object = None
    is_whole: bool = True


def is_cut(written: Sequence[Written], usage: Usage, max_tokens: int | None) -> bool:
    """Whether something of these calls may be missing, although the service does not say so."""
    if any(not call.is_whole and not (isinstance(call.arguments, str) and call.arguments.strip()) for call in written):
        return True
    at_limit = max_tokens is not None and usage.output_tokens is not None and usage.output_tokens >= max_tokens
    return bool(written) and at_limit


def judge(written: Sequence[Written], ids: CallIds, body: str) -> tuple[tuple[ProposedCall, ...], set[str]]:
    """The calls, each good or refused, and what was odd about them. `body` holds the digits of arguments that are no text."""
    habits: set[str] = set()
    calls: list[ProposedCall] = []
    for place, call in enumerate(written):
        judged = _judge(call, ids, body)
        earlier = [each for each, before in zip(calls, written) if _is_again(call, judged, before, each)]
        if earlier:
            habits.add("calls_doubled")
            judged = ProposedCall(judged.id, judged.name, None, Refused("call_doubled", tool=judged.name or "a tool"), judged.replayed)
        calls.append(judged)
        habits |= _habits(call, judged, written[:place])
    return tuple(calls), habits


def _habits(call: Written, judged: ProposedCall, before: Sequence[Written]) -> set[str]:
    found = set()
    if not call.id:
        found.add("calls_without_ids")
    elif any(each.id == call.id for each in before):
        found.add("ids_repeated")
    if not isinstance(call.arguments, str):
        found.add("arguments_as_object")
    elif judged.arguments is None and call.arguments.strip() and not call.arguments.rstrip().endswith("}"):
        found.add("calls_cut")
    return found


def _is_again(call: Written, judged: ProposedCall, before: Written, earlier: ProposedCall) -> bool:
    """Whether two calls may be one that was sent twice: alike, and no two ids that tell them apart."""
    alike = judged.arguments is not None and judged.name == earlier.name and judged.replayed == earlier.replayed
    return alike and (not call.id or not before.id or call.id == before.id)


def _judge(call: Written, ids: CallIds, body: str) -> ProposedCall:
    name, given = clean_text(call.name), call.arguments
    try:
        if given is None:
            given = ""
        if not isinstance(given, str):
            check_numbers(body, f"the reply that calls {name}")
            if _gives_twice(given):
                raise Refused("bad_tool_arguments", tool=name, problem="a key is given twice")
            given = json.dumps(given)
        arguments = read_object(given, name)
    except Refused as refusal:
        return ProposedCall(ids.mint(), name, None, refusal, extra=call.extra)
    return ProposedCall(ids.mint(), name, arguments, replayed=json.dumps(arguments, ensure_ascii=False), extra=call.extra)


def _gives_twice(value: object) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Twice):
            return True
        if isinstance(item, (dict, list)):
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return False


def without_thoughts(text: str) -> tuple[str, bool]:
    """`text` without the reasoning that some models write before it, and whether there was any."""
    begun = text.lstrip()
    if not begun.startswith(THOUGHTS_BEGIN) or THOUGHTS_END not in begun:
        return text, False
    return begun.partition(THOUGHTS_END)[2].lstrip(), True


def error_words(error: object) -> str:
    """The words of a service's error object, whatever its shape."""
    if isinstance(error, str):
        return error[:2000]
    if isinstance(error, dict):
        named = [error.get(name) for name in ("message", "type", "code") if isinstance(error.get(name), (str, int))]
        if named:
            return ": ".join(str(word) for word in reversed(named[:2]))[:2000]
    return json.dumps(error, ensure_ascii=False)[:2000]
