"""What a model wants to say in one round, and the wire forms that a service gives it.

A `Draft` is neutral; faults twist it (`faults.py`), and `whole` or `streamed` spell it in a
dialect. A stream is a list of HTTP pieces, after which the connection ends well, is cut or
falls silent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

END, CUT, SILENT = "end", "cut", "silent"
OPENAI, ANTHROPIC = "openai", "anthropic"


@dataclass
class Call:
    id: str
    name: str
    text: str                      # the arguments as they are written
    value: object = None           # instead of the text, where a fault sends something else
    extra: object = None
    cut: bool = False              # the stream never says that it is complete


@dataclass
class Draft:
    text: str
    calls: list[Call] = field(default_factory=list)
    thinking: list[dict] = field(default_factory=list)     # Anthropic: blocks; OpenAI: fields of the message
    finish: str | None = None      # None: as it should be
    output_tokens: int = 5
    flags: set[str] = field(default_factory=set)
    how: str = END
    status: int = 200
    error: object = None
    retry_after: str = ""
    raw: bytes | None = None


def dump(value: object) -> str:
    return json.dumps(value)       # escapes: a lone surrogate goes out as \ud800


def _finish(draft: Draft, wire: str) -> str | None:
    if "no_finish" in draft.flags:
        return None
    if draft.finish is not None:
        return draft.finish
    if wire == OPENAI:
        return "tool_calls" if draft.calls else "stop"
    return "tool_use" if draft.calls else "end_turn"


# whole replies

def whole(draft: Draft, wire: str) -> bytes:
    body = _whole_openai(draft) if wire == OPENAI else _whole_anthropic(draft)
    text = dump(body)
    for place, call in enumerate(draft.calls):       # arguments that no parsed value can hold are put in as text
        text = text.replace(f'"@{place}@"', call.text)
    lead = b"\n \r\n" * 5 if "blank_before" in draft.flags else b""
    return lead + text.encode()


def _whole_openai(draft: Draft) -> dict:
    content: object = draft.text or (None if "null_content" in draft.flags else "")
    if "content_parts" in draft.flags and draft.text:
        content = [{"type": "text", "text": draft.text[:3]}, {"type": "text", "text": draft.text[3:]}]
    message: dict = {"role": "assistant", "content": content}
    for row in draft.thinking:
        message.update(row)
    rows = [_openai_call(call, draft) for call in draft.calls]
    if "function_call" in draft.flags and rows:
        message["function_call"] = rows[0]["function"]
    elif rows:
        message["tool_calls"] = rows
    choice: dict = {"index": 0, "message": message, "finish_reason": _finish(draft, OPENAI)}
    return {"id": "x", "object": "chat.completion", "choices": [] if "no_choices" in draft.flags else [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": draft.output_tokens}}


def _openai_call(call: Call, draft: Draft) -> dict:
    row: dict = {"type": "function", "function": {"name": call.name, "arguments": call.text if call.value is None else call.value}}
    if "no_ids" not in draft.flags:
        row["id"] = call.id
    if call.extra is not None:
        row["extra_content"] = call.extra
    return row


def _whole_anthropic(draft: Draft) -> dict:
    blocks: list[dict] = []
    waiting = list(draft.thinking)
    if waiting:
        blocks.append(waiting.pop(0))
    if draft.text:
        blocks.append({"type": "text", "text": draft.text})
    for place, call in enumerate(draft.calls):
        if waiting:
            blocks.append(waiting.pop(0))
        blocks.append({"type": "tool_use", **({} if "no_ids" in draft.flags else {"id": call.id}), "name": call.name, "input": f"@{place}@"})
    if "empty_block" in draft.flags:
        blocks.insert(0, {"type": "text", "text": ""})
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": _finish(draft, ANTHROPIC),
            "usage": {"input_tokens": 9, "output_tokens": draft.output_tokens}}


# streams

def streamed(draft: Draft, wire: str) -> list[bytes]:
    events = _stream_openai(draft) if wire == OPENAI else _stream_anthropic(draft)
    line = "\r\n" if "crlf" in draft.flags else "\n"
    space = "" if "no_space" in draft.flags else " "
    pieces = []
    for number, event in enumerate(events):
        if "comments" in draft.flags:
            pieces.append(f": still here{line}{line}".encode())
        data = event if isinstance(event, str) else dump(event)
        name = f"event:{space}{event['type']}{line}" if wire == ANTHROPIC and isinstance(event, dict) and "type" in event else ""
        last = number == len(events) - 1 and "no_blank_end" in draft.flags
        pieces.append(f"{name}data:{space}{data}{line if last else line * 2}".encode())
    if "bytewise" in draft.flags:
        joined = b"".join(pieces)
        step = 1 if len(joined) < 1500 else 7
        return [joined[place:place + step] for place in range(0, len(joined), step)]
    if "one_chunk" in draft.flags:
        return [b"".join(pieces)]
    return pieces


def _pieces(text: str, size: int = 4) -> list[str]:
    return [text[place:place + size] for place in range(0, len(text), size)] or [""]


def _stream_openai(draft: Draft) -> list[object]:
    def chunk(delta: dict, finish: str | None = None) -> dict:
        return {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    nulls = {"content": None, "tool_calls": None, "refusal": None, "function_call": None} if "null_fields" in draft.flags else {}
    events: list[object] = [chunk({"role": "assistant", **nulls})]
    for row in draft.thinking:
        for name, value in row.items():
            if isinstance(value, str):
                events += [chunk({**nulls, name: piece}) for piece in _pieces(value, 9)]
            else:
                events += _details(name, value, chunk)
    events += [chunk({**nulls, "content": piece}) for piece in _pieces(draft.text, 6) if piece]
    lists = [_openai_pieces(call, place, draft) for place, call in enumerate(draft.calls)]
    if "interleaved" in draft.flags:
        rounds = max(map(len, lists), default=0)
        order = [rows[place] for place in range(rounds) for rows in lists if place < len(rows)]
    else:
        order = [row for rows in lists for row in rows]
    for row in order:
        events.append(chunk({**{name: None for name in nulls if name != "tool_calls"}, **row}))
    if "error_event" in draft.flags:
        return events + [{"error": draft.error}] + [chunk({}, _finish(draft, OPENAI)), "[DONE]"] * ("done_after" in draft.flags)
    if "bad_event" in draft.flags:
        return events[:-1] + ['{"choices": [{"delta": {"con']
    finish = _finish(draft, OPENAI)
    if finish is not None:
        events.append(chunk({}, finish))
        if "finish_twice" in draft.flags:
            events.append(chunk({}, "stop"))
    if "message_at_end" in draft.flags and events:
        events[-1] = {**chunk({}, finish), "choices": [{"index": 0, "delta": {}, "message": {"content": draft.text + " again"}, "finish_reason": finish}]}
    usage = {"prompt_tokens": 9, "completion_tokens": draft.output_tokens}
    events.append({"id": "x", "choices": [], "usage": usage} if "usage_chunk" in draft.flags else {**chunk({}, finish), "usage": usage})
    return events if "no_done" in draft.flags else [*events, "[DONE]"]


def _details(name: str, value: list, chunk) -> list[dict]:
    events = []
    for row in value:
        events += [chunk({name: [{**row, "text": piece}]}) for piece in _pieces(row["text"], 5)]
    return events


def _openai_pieces(call: Call, place: int, draft: Draft) -> list[dict]:
    if "function_call" in draft.flags:
        return [{"function_call": {"name": call.name, "arguments": ""}}] + [{"function_call": {"arguments": piece}} for piece in _pieces(call.text)]
    texts: list[object] = list(_pieces(call.text, 10_000 if "one_piece" in draft.flags else 4))
    if "resent" in draft.flags:
        texts = [call.text[:end] for end in range(5, len(call.text) + 5, 5)]
    if "sent_again" in draft.flags:
        texts.append(call.text)
    if call.value is not None:
        texts = [call.value]
    rows = []
    for number, text in enumerate(texts):
        function: dict = {"arguments": text}
        if number == 0 or "name_every_piece" in draft.flags:
            function["name"] = call.name
        row: dict = {"index": place, "function": function}
        if "one_index" in draft.flags:
            row["index"] = 0
        if "no_index" in draft.flags:
            del row["index"]
        if "null_index" in draft.flags:
            row["index"] = None
        if "no_ids" not in draft.flags:
            if "ids_every_piece" in draft.flags:
                row["id"] = f"{call.id}-{number}"
            elif number == ("late_ids" in draft.flags) or "id_every_piece" in draft.flags:
                row["id"] = call.id
        if number == 0 and call.extra is not None:
            row["extra_content"] = call.extra
        rows.append({"tool_calls": [row]})
    return rows


def _stream_anthropic(draft: Draft) -> list[object]:
    usage = {"input_tokens": 9, "output_tokens": 1}
    events: list[object] = [{"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "stop_reason": None,
                                                                  "usage": None if "null_fields" in draft.flags else usage}}]
    if "pings" in draft.flags:
        events.append({"type": "ping"})
    for place, block in enumerate(_whole_anthropic(draft)["content"]):
        call = next((each for number, each in enumerate(draft.calls) if block.get("input") == f"@{number}@"), None)
        events += _anthropic_block(0 if "one_index" in draft.flags else place, block, call, draft)
    if "error_event" in draft.flags:
        return events + [{"type": "error", "error": draft.error}] + [{"type": "message_stop"}] * ("done_after" in draft.flags)
    if "bad_event" in draft.flags:
        return events[:-1] + ['{"type": "content_block_delta", "delta": {"type": "te']
    finish = _finish(draft, ANTHROPIC)
    events.append({"type": "message_delta", "delta": {"stop_reason": finish, "stop_sequence": None}, "usage": {"output_tokens": draft.output_tokens}})
    if "no_done" not in draft.flags:
        events.append({"type": "message_stop"})
    return [*events, "[DONE]"] if "done_mark" in draft.flags else events


def _anthropic_block(place: int, block: dict, call: Call | None, draft: Draft) -> list[dict]:
    deltas: list[dict] = []
    start = dict(block)
    if call is not None:
        start["input"] = {}
        if "input_in_start" in draft.flags:
            start["input"] = json.loads(call.text)
        if "input_in_start" not in draft.flags or "input_twice" in draft.flags:
            texts = _pieces(call.text)
            if "resent" in draft.flags:
                texts = [call.text[:end] for end in range(5, len(call.text) + 5, 5)]
            if "sent_again" in draft.flags:
                texts.append(call.text)
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in texts]
    elif block["type"] == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], 6)]
    elif block["type"] == "thinking":
        start = {"type": "thinking", "thinking": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"], 9) if piece]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    events: list[dict] = [{"type": "content_block_start", "index": place, "content_block": start}]
    events += [{"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas]
    if not (call is not None and call.cut) and "no_block_stop" not in draft.flags:
        events.append({"type": "content_block_stop", "index": place})
    return events
