"""Providers at their strictest: what a request must look like to be accepted, as an assertion."""

from __future__ import annotations

import json
import re

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def accepted_by_openai(body: dict) -> None:
    """Roles, ids, arguments and encodings as the strictest server checks them."""
    _encodes(body)
    messages = body["messages"]
    assert messages[0]["role"] == "system" and messages[1]["role"] == "user"
    open_ids: list[str] = []
    seen: set[str] = set()
    before = "system"
    for message in messages[1:]:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] == open_ids.pop(0), "an answer to no open call, or out of order"
            assert isinstance(message["content"], str) and message["content"]
            before = role
            continue
        assert not open_ids, f"calls {open_ids} are not answered"
        assert not (role == before == "user"), "two user messages in a row"
        assert not (role == "user" and before == "tool"), "a user message right after a tool message"
        assert not (role == before == "assistant"), "two assistant messages in a row"
        if role == "assistant":
            calls = message.get("tool_calls", [])
            assert message["content"] or calls, "neither text nor calls"
            for call in calls:
                assert re.fullmatch("[a-zA-Z0-9]{9}", call["id"]) and call["id"] not in seen
                seen.add(call["id"])
                assert NAME.fullmatch(call["function"]["name"])
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
            open_ids = [call["id"] for call in calls]
        else:
            assert role == "user" and message["content"].strip()
        before = role
    assert not open_ids
    assert before in ("user", "tool"), "nothing to reply to"


def accepted_by_anthropic(body: dict) -> None:
    _encodes(body)
    messages = body["messages"]
    assert messages[0]["role"] == "user" and messages[-1]["role"] == "user"
    open_ids: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        assert message["role"] == ("user", "assistant")[index % 2], "roles do not alternate"
        kinds = [block["type"] for block in message["content"]]
        assert kinds, "no block"
        if message["role"] == "assistant":
            open_ids = []
            for block in message["content"]:
                if block["type"] == "tool_use":
                    assert re.fullmatch("[a-zA-Z0-9_-]+", block["id"]) and block["id"] not in seen
                    seen.add(block["id"])
                    open_ids.append(block["id"])
                    assert NAME.fullmatch(block["name"]) and isinstance(block["input"], dict)
                elif block["type"] == "text":
                    assert block["text"].strip()
            continue
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert answered == open_ids, "calls and results differ"
        assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result"), "results come first"
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")
        assert all(block["content"] for block in message["content"] if block["type"] == "tool_result")
        open_ids = []


def _encodes(body: dict) -> None:
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    for row in body.get("tools", []):
        schema = row.get("input_schema") or row["function"]["parameters"]
        assert schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf", "$schema"} & set(schema), "alternatives at the top"
