"""Anthropic Messages: requests with native tools, whole and streamed replies.

Tool input arrives parsed inside the response, so the look at numbers covers the whole
body, and one literal outside the domain refuses every call of that reply. Thinking blocks
that a service sends are returned with their message, unread and in their places: they
are signed where they stand.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from rulith.base.errors import Refused
from rulith.base.json_text import check_numbers
from rulith.dialects import quirks
from rulith.dialects.anthropic_stream import AnthropicStream
from rulith.dialects.replies import Written, count, error_words, is_cut, judge, opened, without_thoughts
from rulith.dialects.schemas import for_provider, simple
from rulith.dialects.transcript import (
    CallIds, Entry, ModelEntry, ProposedCall, Reply, ResultsEntry, Usage, UserEntry, clean_text, safe_name,
)

PLACEHOLDER = "(no text)"     # an empty text block is refused
_THINKING = ("thinking", "redacted_thinking")
_CUT = ("max_tokens", "model_context_window_exceeded")
_ENDED = ("end_turn", "tool_use", "stop_sequence", "pause_turn", "stop", "tool_calls", "")
_CALL = "call"                # in a carried order: here stands the next call

stream = AnthropicStream


def request_body(*, model: str, max_tokens: int, system: str, entries: Sequence[Entry], tools: Sequence[dict],
                 thinking: str | None = None, wants: Collection[str] = (), streamed: bool = False) -> dict:
    """The request for `entries`. `tools` are rows {name, description, inputSchema}; `wants` the service's known wishes."""
    assert thinking is None, "settings refuse a thinking switch on this wire"
    body: dict = {"model": model, "max_tokens": max_tokens, "system": system, "messages": _messages(entries)}
    if tools:
        shape = simple if quirks.PLAIN_SCHEMAS in wants else for_provider
        body["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": shape(tool["inputSchema"])}
            for tool in tools
        ]
    if streamed:
        body["stream"] = True
    return body


def _messages(entries: Sequence[Entry]) -> list[dict]:
    messages: list[dict] = []
    for entry in entries:
        role = "assistant" if isinstance(entry, ModelEntry) else "user"
        blocks = _blocks(entry)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(blocks)
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def _blocks(entry: Entry) -> list[dict]:
    if isinstance(entry, UserEntry):
        return [{"type": "text", "text": entry.text if entry.text.strip() else PLACEHOLDER}]
    if isinstance(entry, ResultsEntry):
        return [
            {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text or PLACEHOLDER,
             **({"is_error": True} if result.is_error else {})}
            for result in entry.results
        ]
    calls = [{"type": "tool_use", "id": call.id, "name": safe_name(call.name), "input": json.loads(call.replayed)} for call in entry.calls]
    order = entry.carry if isinstance(entry.carry, tuple) else ()
    if order and sum(block == _CALL for block in order) == len(calls):
        waiting = iter(calls)
        return [next(waiting) if block == _CALL else block for block in order]
    blocks = [{"type": "text", "text": entry.text}] if entry.text.strip() else []
    return blocks + calls or [{"type": "text", "text": PLACEHOLDER}]


def read_reply(body: bytes | str, ids: CallIds, *, max_tokens: int | None = None) -> Reply:
    """The reply in `body`. Raises Refused model_reply_unreadable, model_broke_off."""
    document, text = opened(body)
    return read_document(document, ids, text, max_tokens=max_tokens)


def read_document(document: object, ids: CallIds, body: str, *, max_tokens: int | None = None, is_whole: bool = True) -> Reply:
    """The reply in a parsed body. `body` is its text; `is_whole` False where no end was said."""
    if isinstance(document, dict) and document.get("error") and not document.get("content"):
        raise Refused("model_broke_off", said=error_words(document["error"]))
    try:
        blocks = [block for block in document["content"] if isinstance(block, dict)]
        stop = document.get("stop_reason")
    except (KeyError, TypeError, AttributeError):
        raise Refused("model_reply_unreadable", problem="no content blocks in it") from None
    usage = usage_of(document.get("usage"))
    blocks, text, has_thoughts = _cleaned(blocks)
    written = [_written(block, is_whole) for block in blocks if block.get("type") == "tool_use"]
    habits = {"reasoning_in_text"} if has_thoughts else set()
    why = stop if isinstance(stop, str) else ""
    if why in _CUT or is_cut(written, usage, max_tokens):
        return Reply(text, stop="truncated", usage=usage, habits=frozenset(habits | ({"calls_cut"} if why not in _CUT else set())))
    if why == "refusal":
        return Reply(text, stop="declined", usage=usage)
    if why not in _ENDED and written:
        raise Refused("model_broke_off", said=f"it ended with {why[:60]!r}")
    calls, odd = judge(written, ids, body)
    if not calls and not text.strip():
        return Reply("", stop="empty", usage=usage, habits=frozenset(habits))
    carry = _order(blocks)
    habits |= odd - {"arguments_as_object"} | ({"reasoning"} if carry else set())
    return Reply(text, _all_or_none(calls, written, body), carry, usage=usage, habits=frozenset(habits))


def _cleaned(blocks: list[dict]) -> tuple[list[dict], str, bool]:
    """The blocks with clean texts, without empty ones; all their text; whether it held reasoning."""
    kept, texts, has_thoughts = [], [], False
    for block in blocks:
        if block.get("type") == "text":
            text, thoughts = without_thoughts(clean_text(block["text"])) if isinstance(block.get("text"), str) else ("", False)
            has_thoughts = has_thoughts or thoughts
            texts.append(text)
            if not text.strip():
                continue
            block = {"type": "text", "text": text}
        kept.append(block)
    return kept, "".join(texts), has_thoughts


def _order(blocks: list[dict]) -> tuple | None:
    """The blocks as they are replayed, calls by their places, when there is thinking to return; None without any."""
    order: list[object] = []
    for block in blocks:
        if block.get("type") == "tool_use":
            order.append(_CALL)
        elif block.get("type") in (*_THINKING, "text"):
            order.append(block)
    while order and isinstance(order[-1], dict) and order[-1]["type"] in _THINKING:
        order.pop()                                    # a message may not end in thinking
    has_thinking = any(isinstance(block, dict) and block["type"] in _THINKING for block in order)
    return tuple(order) if has_thinking else None


def _written(block: dict, is_whole: bool) -> Written:
    id_, name = block.get("id"), block.get("name")
    return Written(id_ if isinstance(id_, str) else "", name if isinstance(name, str) else "", block.get("input", {}),
                   is_whole=is_whole and block.get("is_whole", True))


def _all_or_none(calls: Sequence[ProposedCall], written: Sequence[Written], body: str) -> tuple[ProposedCall, ...]:
    """One number outside the domain anywhere in the body refuses every call."""
    try:
        check_numbers(body, f"the reply that calls {', '.join(call.name for call in calls)}"[:200])
        found = None
    except Refused as refusal:
        found = refusal
    found = found or next((call.problem for call in calls if call.problem is not None and call.problem.code == "number_out_of_range"), None)
    if found is None or not written:
        return tuple(calls)
    return tuple(replace(call, arguments=None, problem=found, replayed="{}") for call in calls)


def usage_of(usage: object) -> Usage:
    """The token figures in a reply's `usage`."""
    if not isinstance(usage, dict):
        return Usage()
    fresh, written = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    hit, stored = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    if fresh is None or hit is None:
        return Usage(fresh, written)
    miss = fresh + (stored or 0)
    return Usage(hit + miss, written, hit, miss)
