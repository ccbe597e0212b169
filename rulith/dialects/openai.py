"""OpenAI Chat Completions: requests with native tools, whole and streamed replies.

Also the wire of DeepSeek and of most local servers. Their reasoning comes back under
`reasoning_content` or a name like it and is returned with its message on every later
request; it is never shown and never reaches the Board.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rulith.base.errors import Refused
from rulith.dialects import quirks
from rulith.dialects.openai_stream import OpenAiStream
from rulith.dialects.replies import Written, content_text, count, error_words, is_cut, judge, opened, without_thoughts
from rulith.dialects.schemas import for_provider, simple
from rulith.dialects.transcript import (
    CallIds, Entry, ModelEntry, ProposedCall, Reply, ResultsEntry, Usage, UserEntry, clean_text, safe_name,
)

PLACEHOLDER = "(no text)"     # a message with neither text nor calls is refused by providers
UNANSWERED = "(no answer)"    # between results and the next words of the person: some providers insist on a turn of the model
REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_CUT = ("length", "max_tokens", "model_length")
_DECLINED = ("content_filter", "refusal", "sensitive", "safety")
_ENDED = ("stop", "tool_calls", "function_call", "tool_call", "tool_use", "end_turn", "eos", "stop_sequence", "")

stream = OpenAiStream


def request_body(*, model: str, max_tokens: int, system: str, entries: Sequence[Entry], tools: Sequence[dict],
                 thinking: str | None = None, wants: Collection[str] = (), streamed: bool = False) -> dict:
    """The request for `entries`. `tools` are rows {name, description, inputSchema}; `wants` the service's known wishes."""
    messages = [{"role": "system", "content": system}, *_messages(entries, wants)]
    if quirks.NO_SYSTEM_ROLE in wants:
        messages = _without_system(messages)
    limit = "max_completion_tokens" if quirks.COMPLETION_TOKENS in wants else "max_tokens"
    body: dict = {"model": model, limit: max_tokens, "messages": messages}
    if tools:
        shape = simple if quirks.PLAIN_SCHEMAS in wants else for_provider
        body["tools"] = [
            {"type": "function", "function": {
                "name": tool["name"], "description": tool["description"], "parameters": shape(tool["inputSchema"])}}
            for tool in tools
        ]
    if thinking is not None:
        body["thinking"] = {"type": thinking}
    if streamed:
        body["stream"] = True
        if quirks.NO_STREAM_OPTIONS not in wants:
            body["stream_options"] = {"include_usage": True}
    return body


def _without_system(messages: list[dict]) -> list[dict]:
    system, *rest = messages
    if not rest or rest[0]["role"] != "user":
        return [{**system, "role": "user"}, *rest]
    return [{**rest[0], "content": f"{system['content']}\n\n{rest[0]['content']}"}, *rest[1:]]


def _messages(entries: Sequence[Entry], wants: Collection[str]) -> list[dict]:
    messages: list[dict] = []
    for entry in entries:
        last = messages[-1]["role"] if messages else ""
        if isinstance(entry, UserEntry):
            if last == "user":
                messages[-1]["content"] += "\n\n" + entry.text     # some servers insist on alternation
                continue
            if last == "tool":
                messages.append(_assistant(ModelEntry(UNANSWERED), wants))
            messages.append({"role": "user", "content": entry.text if entry.text.strip() else PLACEHOLDER})
        elif isinstance(entry, ModelEntry):
            messages.append(_assistant(entry, wants))
        else:
            messages.extend(_tool_messages(entry))
    return messages


def _assistant(entry: ModelEntry, wants: Collection[str]) -> dict:
    message: dict = {"role": "assistant", "content": entry.text}
    if quirks.REASONING_REFUSED not in wants:
        carried = entry.carry if isinstance(entry.carry, dict) else {}
        message.update(carried)
        if quirks.REASONING_REQUIRED in wants and not carried:
            message["reasoning_content"] = ""
    if entry.calls:
        message["tool_calls"] = [_replayed(call, wants) for call in entry.calls]
    if not entry.text.strip() and (not entry.calls or quirks.NO_EMPTY_CONTENT in wants):
        message["content"] = PLACEHOLDER
    return message


def _replayed(call: ProposedCall, wants: Collection[str]) -> dict:
    row = {"id": call.id, "type": "function", "function": {"name": safe_name(call.name), "arguments": call.replayed}}
    if call.extra is not None and quirks.REASONING_REFUSED not in wants:
        row["extra_content"] = call.extra
    return row


def _tool_messages(entry: ResultsEntry) -> list[dict]:
    return [{"role": "tool", "tool_call_id": result.call_id, "content": result.text or PLACEHOLDER} for result in entry.results]


def read_reply(body: bytes | str, ids: CallIds, *, max_tokens: int | None = None) -> Reply:
    """The reply in `body`. Raises Refused model_reply_unreadable, model_broke_off."""
    document, text = opened(body)
    return read_document(document, ids, text, max_tokens=max_tokens)


def read_document(document: object, ids: CallIds, body: str, *, max_tokens: int | None = None, is_whole: bool = True) -> Reply:
    """The reply in a parsed body. `body` is its text; `is_whole` False where no end was said."""
    if isinstance(document, dict) and document.get("error") and not document.get("choices"):
        raise Refused("model_broke_off", said=error_words(document["error"]))
    try:
        choice = document["choices"][0]
        message = choice["message"]
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Refused("model_reply_unreadable", problem="no choices[0].message in it") from None
    if not isinstance(message, dict):
        raise Refused("model_reply_unreadable", problem="choices[0].message is no object")
    usage = usage_of(document.get("usage"))
    text, has_thoughts = without_thoughts(clean_text(content_text(message.get("content"))))
    written = _written(message, is_whole)
    habits = {"reasoning_in_text"} if has_thoughts else set()
    if message.get("content") is None and not written:
        habits.add("null_content")
    why = finish.lower() if isinstance(finish, str) else ""
    if why in _CUT or is_cut(written, usage, max_tokens):
        return Reply(text, stop="truncated", usage=usage, habits=frozenset(habits | ({"calls_cut"} if why not in _CUT else set())))
    if why in _DECLINED:
        return Reply(text, stop="declined", usage=usage)
    if why not in _ENDED and (written or why == "error"):
        raise Refused("model_broke_off", said=f"it ended with {why[:60]!r}")
    calls, odd = judge(written, ids, body)
    if not calls and not text.strip():
        return Reply("", stop="empty", usage=usage, habits=frozenset(habits))
    carry = {name: _clean(message[name]) for name in REASONING if message.get(name)} or None
    habits |= odd | ({"reasoning"} if carry else set())
    return Reply(text, calls, carry, usage=usage, habits=frozenset(habits))


def _clean(value: object) -> object:
    """`value` as it was, or without the lone surrogates that no request can carry."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(name): _clean(inner) for name, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value


def _written(message: dict, is_whole: bool) -> list[Written]:
    rows = message.get("tool_calls")
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if not rows and isinstance(message.get("function_call"), dict):      # the wire's older form
        rows = [{"function": message["function_call"]}]
    written = []
    for row in rows:
        function = row.get("function") if isinstance(row.get("function"), dict) else {}
        name, id_ = function.get("name"), row.get("id")
        extra = row.get("extra_content")
        written.append(Written(id_ if isinstance(id_, str) else "" if id_ is None else str(id_), name if isinstance(name, str) else "",
                               function.get("arguments", ""), None if extra is None else _clean(extra), is_whole))
    return written


def usage_of(usage: object) -> Usage:
    """The token figures in a reply's `usage`."""
    if not isinstance(usage, dict):
        return Usage()
    total, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    hit, miss = count(usage.get("prompt_cache_hit_tokens")), count(usage.get("prompt_cache_miss_tokens"))
    details = usage.get("prompt_tokens_details")
    if hit is None and isinstance(details, dict) and total is not None:
        hit = count(details.get("cached_tokens"))
        miss = None if hit is None else total - hit
    if hit is None or miss is None or miss < 0 or hit + miss != total:
        hit = miss = None                      # figures that do not add up are not repeated
    return Usage(total, written, hit, miss)
