"""OpenAI Chat Completions: requests with native tools, whole replies.

Also the wire of DeepSeek and of most local servers. Their reasoning text comes back
under `reasoning_content` and is returned with its message on every later request; it is
never shown and never reaches the Board.
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

PLACEHOLDER = "(no text)"     # a message with neither text nor calls is refused by providers


def request_body(*, model: str, max_tokens: int, system: str, entries: Sequence[Entry],
                 tools: Sequence[dict], thinking: str | None = None) -> dict:
    """The request for `entries`. `tools` are rows {name, description, inputSchema}."""
    body: dict = {
        "model": model,
        "max_tokens": max_tokens,
        "messages": [{"role": "system", "content": system}, *_messages(entries)],
    }
    if tools:
        body["tools"] = [
            {"type": "function", "function": {
                "name": tool["name"], "description": tool["description"],
                "parameters": for_provider(tool["inputSchema"])}}
            for tool in tools
        ]
    if thinking is not None:
        body["thinking"] = {"type": thinking}
    return body


def _messages(entries: Sequence[Entry]) -> list[dict]:
    messages: list[dict] = []
    for entry in entries:
        if isinstance(entry, UserEntry):
            if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += "\n\n" + entry.text     # some servers insist on alternation
            else:
                messages.append({"role": "user", "content": entry.text or PLACEHOLDER})
        elif isinstance(entry, ModelEntry):
            messages.append(_assistant(entry))
        else:
            messages.extend(_tool_messages(entry))
    return messages


def _assistant(entry: ModelEntry) -> dict:
    message: dict = {"role": "assistant", "content": entry.text}
    if isinstance(entry.carry, str):
        message["reasoning_content"] = entry.carry
    if entry.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": safe_name(call.name), "arguments": call.replayed}}
            for call in entry.calls
        ]
    elif not entry.text:
        message["content"] = PLACEHOLDER
    return message


def _tool_messages(entry: ResultsEntry) -> list[dict]:
    return [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in entry.results]


def read_reply(body: bytes, ids: CallIds) -> Reply:
    """The reply in `body`. Raises Refused model_reply_unreadable."""
    try:
        document = json.loads(body)
        choice = document["choices"][0]
        message = choice["message"]
        finish = choice.get("finish_reason")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise Refused("model_reply_unreadable", problem="no choices[0].message in it") from None
    if not isinstance(message, dict):
        raise Refused("model_reply_unreadable", problem="choices[0].message is no object")
    usage = _usage(document.get("usage"))
    text = clean_text(_text(message.get("content")))
    reasoning = message.get("reasoning_content")
    carry = clean_text(reasoning) if isinstance(reasoning, str) and reasoning else None
    if finish == "length":
        return Reply(text, stop="truncated", usage=usage)
    if finish == "content_filter":
        return Reply(text, stop="declined", usage=usage)
    calls = tuple(_call(row, ids, body) for row in _rows(message.get("tool_calls")))
    if not calls and not text.strip():
        return Reply("", stop="empty", usage=usage)
    return Reply(text, calls, carry, usage=usage)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _rows(calls: object) -> list[dict]:
    return [row for row in calls if isinstance(row, dict)] if isinstance(calls, list) else []


def _call(row: dict, ids: CallIds, body: bytes) -> ProposedCall:
    function = row.get("function") if isinstance(row.get("function"), dict) else {}
    name = function.get("name") if isinstance(function.get("name"), str) else ""
    name = clean_text(name)
    written = function.get("arguments", "")
    if written is None:
        written = ""
    try:
        if not isinstance(written, str):      # some servers send the object itself: look at the body's own digits
            check_numbers(body.decode("utf-8", "replace"), f"the reply that calls {name}")
            written = json.dumps(written)
        arguments = read_object(written, name)
    except Refused as refusal:
        return ProposedCall(ids.mint(), name, None, refusal)
    return ProposedCall(ids.mint(), name, arguments, replayed=json.dumps(arguments, ensure_ascii=False))


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
    total, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    hit, miss = _count(usage.get("prompt_cache_hit_tokens")), _count(usage.get("prompt_cache_miss_tokens"))
    details = usage.get("prompt_tokens_details")
    if hit is None and isinstance(details, dict) and total is not None:
        hit = _count(details.get("cached_tokens"))
        miss = None if hit is None else total - hit
    if hit is None or miss is None or miss < 0 or hit + miss != total:
        hit = miss = None                      # figures that do not add up are not repeated
    return Usage(total, written, hit, miss)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
