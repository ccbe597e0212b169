"""Anthropic Messages: requests with native tools, whole replies.

Tool input arrives parsed inside the response, so the look at numbers covers the whole
body, and one literal outside the domain refuses every call of that reply. Thinking
blocks an endpoint sends unasked are returned with their message, unread.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rulith.base.errors import Refused
from rulith.base.json_text import check_numbers
from rulith.dialects.arguments import read_object
from rulith.dialects.schemas import for_provider
from rulith.dialects.transcript import (
    CallIds, Entry, ModelEntry, ProposedCall, Reply, ResultsEntry, Usage, UserEntry, clean_text, safe_name,
)

PLACEHOLDER = "(no text)"     # an empty text block is refused
_THINKING = ("thinking", "redacted_thinking")
_CUT = ("max_tokens", "model_context_window_exceeded")


def request_body(*, model: str, max_tokens: int, system: str, entries: Sequence[Entry],
                 tools: Sequence[dict], thinking: str | None = None) -> dict:
    """The request for `entries`. `tools` are rows {name, description, inputSchema}."""
    assert thinking is None, "settings refuse a thinking switch on this wire"
    body: dict = {"model": model, "max_tokens": max_tokens, "system": system, "messages": _messages(entries)}
    if tools:
        body["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": for_provider(tool["inputSchema"])}
            for tool in tools
        ]
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
    blocks = list(entry.carry) if isinstance(entry.carry, tuple) else []
    if entry.text.strip():
        blocks.append({"type": "text", "text": entry.text})
    blocks.extend({"type": "tool_use", "id": call.id, "name": safe_name(call.name), "input": json.loads(call.replayed)}
                  for call in entry.calls)
    if not entry.text.strip() and not entry.calls:
        blocks.append({"type": "text", "text": PLACEHOLDER})
    return blocks


def read_reply(body: bytes, ids: CallIds) -> Reply:
    """The reply in `body`. Raises Refused model_reply_unreadable."""
    try:
        document = json.loads(body)
        blocks = [block for block in document["content"] if isinstance(block, dict)]
        stop = document.get("stop_reason")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused("model_reply_unreadable", problem="no content blocks in it") from None
    usage = _usage(document.get("usage"))
    text = clean_text("".join(block["text"] for block in blocks
                              if block.get("type") == "text" and isinstance(block.get("text"), str)))
    if stop in _CUT:
        return Reply(text, stop="truncated", usage=usage)
    if stop == "refusal":
        return Reply(text, stop="declined", usage=usage)
    text_of_body = body.decode("utf-8", "replace")
    calls = tuple(_call(block, ids, text_of_body) for block in blocks if block.get("type") == "tool_use")
    if not calls and not text.strip():
        return Reply("", stop="empty", usage=usage)
    carry = tuple(block for block in blocks if block.get("type") in _THINKING) or None
    return Reply(text, calls, carry, usage=usage)


def _call(block: dict, ids: CallIds, body: str) -> ProposedCall:
    name = clean_text(block["name"]) if isinstance(block.get("name"), str) else ""
    try:
        check_numbers(body, f"the reply that calls {name}")
        given = block.get("input", {})
        if not isinstance(given, dict):
            raise Refused("bad_tool_arguments", tool=name, problem="their `input` is not an object")
        read_object(json.dumps(given), name)
    except Refused as refusal:
        return ProposedCall(ids.mint(), name, None, refusal)
    return ProposedCall(ids.mint(), name, given, replayed=json.dumps(given, ensure_ascii=False))


def read_usage(body: bytes) -> Usage:
    """The token figures in a response body. Raises Refused model_reply_unreadable."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("model_reply_unreadable", problem="it is not JSON") from None
    return _usage(document.get("usage") if isinstance(document, dict) else None)


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    fresh, written = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    hit, stored = _count(usage.get("cache_read_input_tokens")), _count(usage.get("cache_creation_input_tokens"))
    if fresh is None or hit is None:
        return Usage(fresh, written)
    miss = fresh + (stored or 0)
    return Usage(hit + miss, written, hit, miss)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
