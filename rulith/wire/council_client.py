"""A client's half of one council tool call: the request out, the verdict on its answer in.

The council is stateless: no handshake, no session. A refused key is told apart from every
other failure, because trying again does not help it. Never opens anything, never waits.

Source  the council surface, "Errors", "HTTP and MCP transport"
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import WATCH_ANSWER_BYTES_MAX
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import RequestId, Response
from rulith.wire.mcp_http import EVENTS, JSON
from rulith.wire.mcp_outbound import error_text, said
from rulith.wire.sse import EventStream

DATE = "2025-11-25"
DEFAULT_URL = "http://127.0.0.1:8787/mcp"


def tool_call(request_id: RequestId, tool: str, arguments: Mapping[str, object]) -> bytes:
    return jsonrpc.encode(jsonrpc.request(request_id, "tools/call", {"name": tool, "arguments": dict(arguments)}))


def headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", "content-type": JSON, "accept": f"{JSON}, {EVENTS}", "mcp-protocol-version": DATE}


def socket_url(url: str) -> str:
    """Where the wake socket of the council at this /mcp address is."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/mcp") + "/ws"
    return urlunsplit(("wss" if parts.scheme == "https" else "ws", parts.netloc, path, "", ""))


def judge(status: int, content_type: str, body: bytes, request_id: RequestId) -> dict[str, object]:
    """What the tool answered, as the object it is. Raises Refused: watch_key_refused, watch_said, watch_answer."""
    if status == 401:
        raise Refused("watch_key_refused")
    kind = content_type.partition(";")[0].strip().lower()
    if status != 200 or kind not in (JSON, EVENTS):
        raise Refused("watch_answer", problem=f"status {status}, {said(kind) or 'no type'}")
    try:
        response = _response(kind, body, request_id)
    except Refused as refusal:
        raise Refused("watch_answer", problem=refusal.happened) from None
    if response is None:
        raise Refused("watch_answer", problem="nothing in it answers the request")
    if response.error is not None:
        raise Refused("watch_said", words=error_text(response.error))
    return _value(response.result or {})


def _response(kind: str, body: bytes, request_id: RequestId) -> Response | None:
    texts: list[str | bytes] = [body]
    if kind == EVENTS:
        texts = [event.data for event in EventStream(event_bytes_max=WATCH_ANSWER_BYTES_MAX).receive(body) if event.data]
    for text in texts:
        for message in jsonrpc.read_messages(text, "the answer")[0]:
            if isinstance(message, Response) and (jsonrpc.same_id(message.id, request_id) or message.error is not None and message.id is None):
                return message
    return None


def _value(result: Mapping[str, object]) -> dict[str, object]:
    content = result.get("content")
    texts = [row["text"] for row in content if isinstance(row, dict) and isinstance(row.get("text"), str)] if isinstance(content, list) else []
    if result.get("isError") is True:
        raise Refused("watch_said", words=said(" ".join(texts) or "no words"))
    value = result.get("structuredContent")
    if value is None and texts:
        try:
            value = read_json(texts[0].encode("utf-8", "replace"), "the tool's answer")
        except Refused as refusal:
            raise Refused("watch_answer", problem=refusal.happened) from None
    if not isinstance(value, dict):
        raise Refused("watch_answer", problem="the tool's answer is no object")
    return value
