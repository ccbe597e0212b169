"""How MCP looks over HTTP: which media type a client takes, and a message as one event of a stream.

Source  MCP "Streamable HTTP", all dates; RFC 9110 "Accept"
"""

from __future__ import annotations

from rulith.wire import jsonrpc
from rulith.wire.sse import encode_event

JSON, EVENTS = "application/json", "text/event-stream"


def takes(accept: str | None, kind: str) -> bool:
    """Does the client accept this media type? One that says nothing takes JSON, and no stream."""
    if accept is None:
        return kind == JSON
    family = kind.partition("/")[0] + "/*"
    for part in accept.lower().split(","):
        name, *parameters = [each.strip() for each in part.split(";")]
        if name in (kind, family) or (name == "*/*" and kind == JSON):
            return not any(each.replace(" ", "") in ("q=0", "q=0.0") for each in parameters)
    return False


def stream_headers() -> list[tuple[str, str]]:
    return [("content-type", EVENTS), ("cache-control", "no-store"), ("x-accel-buffering", "no")]


def event(message: dict, id: str | None = None) -> bytes:
    return encode_event(jsonrpc.encode_text(message), event="message", id=id)
