"""JSON-RPC 2.0 messages: bytes in, typed messages out, and the way back.

Ids are text or whole numbers and are compared by type and value: 1 is not "1". A batch
is read (an SSE payload may be one); whether to serve it is the caller's choice.

Source  JSON-RPC 2.0; the MCP surface, "Transport and identity" and "Numbers".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.base.json_text import read_json, text_encoder

RequestId = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ERROR = -32000            # refused by the surface; data.reason says why
SESSION_UNKNOWN = -32001

ID_CHARS_MAX = 256               # an id is echoed in every answer and kept for replays


@dataclass(frozen=True)
class Request:
    id: RequestId
    method: str
    params: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Notification:
    method: str
    params: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """Exactly one of `result` and `error` is set. `id` is None only on an error about an unreadable request."""

    id: RequestId | None
    result: dict[str, object] | None = None
    error: dict[str, object] | None = None


Message = Request | Notification | Response


def is_id(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= ID_CHARS_MAX
    return isinstance(value, int) and not isinstance(value, bool)


def same_id(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _no(problem: str) -> Refused:
    return Refused("not_json_rpc", problem=problem)


def _params(message: dict[str, object]) -> dict[str, object]:
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise _no("`params` is not an object")
    return params


def read_message(message: object) -> Message:
    """One parsed JSON value as a message. Raises Refused not_json_rpc."""
    if not isinstance(message, dict):
        raise _no("it is not an object")
    if message.get("jsonrpc") != "2.0":
        raise _no('`jsonrpc` is not "2.0"')
    if "method" in message:
        if not isinstance(message["method"], str) or not message["method"]:
            raise _no("`method` is not a name")
        if "result" in message or "error" in message:
            raise _no("it is a call and an answer at once")
        if "id" not in message:
            return Notification(message["method"], _params(message))
        if not is_id(message["id"]):
            raise _no(f"`id` is neither text of at most {ID_CHARS_MAX} characters nor a whole number")
        return Request(message["id"], message["method"], _params(message))
    return _read_response(message)


def read_loosely(body: bytes) -> Request | None:
    """The request that a less strict reader sees in what `read_json` refuses (a number out of range, half a letter, a key twice), so that its refusal bears its id."""
    try:
        message = read_message(json.loads(body))
        if isinstance(message, Request):
            str(message.id).encode("utf-8")
            return message
    except (Refused, ValueError, RecursionError):
        pass
    return None


def _read_response(message: dict[str, object]) -> Response:
    if ("result" in message) == ("error" in message):
        raise _no("it has no `method`, and not exactly one of `result` and `error`")
    if "id" not in message or not (is_id(message["id"]) or (message["id"] is None and "error" in message)):
        raise _no("an answer without a usable `id`")
    if "result" in message:
        if not isinstance(message["result"], dict):
            raise _no("`result` is not an object")
        return Response(message["id"], result=message["result"])
    error = message["error"]
    if not isinstance(error, dict) or isinstance(error.get("code"), bool) or not isinstance(error.get("code"), int):
        raise _no("`error` has no whole-number `code`")
    return Response(message["id"], error=error)


def read_messages(body: str | bytes, where: str = "the message") -> tuple[list[Message], bool]:
    """All messages in one body, and whether it was a batch.

    Raises Refused: bad_json, number_out_of_range, not_json_rpc (also for an empty batch).
    """
    value = read_json(body, where)
    if not isinstance(value, list):
        return [read_message(value)], False
    if not value:
        raise _no("the batch is empty")
    return [read_message(item) for item in value], True


def request(id: RequestId, method: str, params: dict[str, object] | None = None) -> dict[str, object]:
    message: dict[str, object] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification(method: str, params: dict[str, object] | None = None) -> dict[str, object]:
    message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def result(id: RequestId, value: dict[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(
    id: RequestId | None, code: int, message: str, data: dict[str, object] | None = None
) -> dict[str, object]:
    problem: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        problem["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": problem}


def error_of(refusal: Refused, id: RequestId | None = None) -> dict[str, object]:
    """The error answer to a body that could not be read as messages."""
    code = INVALID_REQUEST if refusal.code == "not_json_rpc" else PARSE_ERROR
    return error(id, code, refusal.teaching, {"reason": refusal.code})


_encode_text = text_encoder(allow_nan=False)


class Written(dict):
    """A result that knows its own JSON text; whoever changes a member copies it into a plain dict first."""

    __slots__ = ("text",)


def encode_text(message: object) -> str:
    """A message as compact JSON text on one line."""
    written = message.get("result") if type(message) is dict else None
    if type(written) is Written and len(message) == 3:
        return f'{{"jsonrpc":"2.0","id":{_encode_text(message["id"])},"result":{written.text}}}'
    return _encode_text(message)


def encode(message: object) -> bytes:
    return encode_text(message).encode("utf-8")
