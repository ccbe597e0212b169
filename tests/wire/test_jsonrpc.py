"""JSON-RPC messages. Duty: JSON-RPC 2.0; ids by type and value."""

from __future__ import annotations

import json

import pytest

from rulith.base.errors import Refused
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import Notification, Request, Response


def one(message: object):
    messages, is_batch = jsonrpc.read_messages(json.dumps(message))
    assert not is_batch
    return messages[0]


def test_a_request_a_notification_and_both_answers_are_told_apart():
    assert one({"jsonrpc": "2.0", "id": 1, "method": "ping"}) == Request(1, "ping", {})
    assert one({"jsonrpc": "2.0", "method": "x", "params": {"a": 1}}) == Notification("x", {"a": 1})
    assert one({"jsonrpc": "2.0", "id": "u", "result": {}}) == Response("u", result={})
    error = {"code": -32000, "message": "no"}
    assert one({"jsonrpc": "2.0", "id": None, "error": error}) == Response(None, error=error)


@pytest.mark.parametrize(
    "message",
    [
        1, "x", None, [], {"id": 1, "method": "x"}, {"jsonrpc": 2.0, "id": 1, "method": "x"},
        {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "id": True, "method": "x"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "x"}, {"jsonrpc": "2.0", "id": None, "method": "x"},
        {"jsonrpc": "2.0", "id": [1], "method": "x"}, {"jsonrpc": "2.0", "id": "x" * 300, "method": "x"},
        {"jsonrpc": "2.0", "id": 1, "method": ""}, {"jsonrpc": "2.0", "id": 1, "method": 4},
        {"jsonrpc": "2.0", "id": 1, "method": "x", "params": [1]}, {"jsonrpc": "2.0", "id": 1, "method": "x", "params": None},
        {"jsonrpc": "2.0", "id": 1, "method": "x", "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}},
        {"jsonrpc": "2.0", "id": None, "result": {}}, {"jsonrpc": "2.0", "id": 1, "result": 3},
        {"jsonrpc": "2.0", "id": 1, "error": {"message": "x"}}, {"jsonrpc": "2.0", "id": 1, "error": {"code": True}},
        {"jsonrpc": "2.0", "error": {"code": 1}},
    ],
)
def test_anything_else_is_no_message(message):
    with pytest.raises(Refused) as refused:
        jsonrpc.read_messages(json.dumps(message))
    assert refused.value.code == "not_json_rpc"
    assert jsonrpc.error_of(refused.value)["error"]["code"] == jsonrpc.INVALID_REQUEST


def test_a_batch_is_read_in_order_and_an_empty_one_is_refused():
    body = [{"jsonrpc": "2.0", "id": 1, "method": "a"}, {"jsonrpc": "2.0", "method": "b"}]
    messages, is_batch = jsonrpc.read_messages(json.dumps(body))
    assert is_batch and [message.method for message in messages] == ["a", "b"]
    with pytest.raises(Refused):
        jsonrpc.read_messages("[]")


def test_ids_are_compared_by_type_and_value():
    assert jsonrpc.same_id(1, 1) and jsonrpc.same_id("1", "1")
    assert not jsonrpc.same_id(1, "1")
    assert not jsonrpc.same_id(1, True)
    assert not jsonrpc.same_id(1, 1.0)


def test_an_unreadable_body_is_a_parse_error():
    with pytest.raises(Refused) as refused:
        jsonrpc.read_messages(b"{")
    answer = jsonrpc.error_of(refused.value)
    assert answer["error"]["code"] == jsonrpc.PARSE_ERROR and answer["id"] is None


def test_messages_are_written_on_one_line_and_read_back():
    text = jsonrpc.encode_text(jsonrpc.request("u", "m", {"a": "line\nbreak", "é": 1}))
    assert "\n" not in text and " " not in text.replace("line\\nbreak", "")
    assert one(json.loads(text)) == Request("u", "m", {"a": "line\nbreak", "é": 1})
    assert jsonrpc.encode(jsonrpc.result(1, {})) == b'{"jsonrpc":"2.0","id":1,"result":{}}'
    with pytest.raises(ValueError):
        jsonrpc.encode({"a": float("nan")})
