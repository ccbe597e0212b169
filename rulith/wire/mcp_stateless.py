"""MCP 2026-07-28, the date without sessions: each request says for itself who asks and in which date.

Decides whether a request's envelope is whole and agrees with its HTTP headers, and dresses
results the way this date wants them. Knows no socket, no session and no tool.

Source  MCP 2026-07-28, "Per-request protocol fields", "Streamable HTTP", "Subscriptions".
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence

from rulith.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RequestId
from rulith.wire.mcp_server import Rejected

DATE = "2026-07-28"

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}   # the member that mcp-name repeats

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

#  JSON-RPC error code -> HTTP status; any other code goes out with 200
STATUS = {
    PARSE_ERROR: 400, INVALID_REQUEST: 400, INVALID_PARAMS: 400, HEADER_MISMATCH: 400, UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")

HeaderValues = Callable[[str], Sequence[str]]   # a lower-case name in, every value of that header out


def has_envelope(params: Mapping[str, object]) -> bool:
    """Does a request speak this date? Only its `_meta` carries the version key; no older client sends it."""
    meta = params.get("_meta")
    return isinstance(meta, Mapping) and VERSION_KEY in meta


def rejection(request_id: RequestId | None, code: int, message: str, data: dict | None = None) -> Rejected:
    return Rejected(STATUS.get(code, 200), code, message, request_id=request_id, data=data)


def unsupported(request_id: RequestId | None, requested: str, served: Sequence[str]) -> Rejected:
    """The answer to a date that is not served; it names those that are, so that a client can choose again."""
    return rejection(request_id, UNSUPPORTED_VERSION, f"This server speaks MCP {', '.join(served)}.",
                     {"supported": list(served), "requested": requested[:40]})


def check_envelope(request_id: RequestId, method: str, params: Mapping[str, object], headers: HeaderValues | None,
                   served: Sequence[str]) -> None:
    """Raise Rejected for the first thing that is wrong with a request of this date.

    headers  None where the transport has none (stdio)
    served   the dates to name in an answer about an unserved one
    """
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        raise rejection(request_id, INVALID_PARAMS, f"params._meta needs {VERSION_KEY} and {CAPABILITIES_KEY}.")
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise rejection(request_id, INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}.")
    version = meta[VERSION_KEY]
    if headers is not None:
        _check_headers(request_id, method, params, version, headers)
    if not isinstance(version, str):
        raise rejection(request_id, INVALID_PARAMS, f"params._meta[{VERSION_KEY!r}] is not a date.")
    if version != DATE:
        raise unsupported(request_id, version, served)


def _check_headers(request_id: RequestId, method: str, params: Mapping[str, object], version: object,
                   headers: HeaderValues) -> None:
    """What an intermediary may route by must be what the body says."""

    def one(name: str) -> str | None:
        values = headers(name)
        if len(values) > 1:
            raise rejection(request_id, HEADER_MISMATCH, f"The header {name} is given {len(values)} times.")
        return values[0] if values else None

    if one(VERSION_HEADER) != version:
        raise rejection(request_id, HEADER_MISMATCH, f"The header {VERSION_HEADER} differs from params._meta.")
    if one(METHOD_HEADER) != method:
        raise rejection(request_id, HEADER_MISMATCH, f"The header {METHOD_HEADER} differs from the method {method[:80]!r}.")
    member = NAMED_BY.get(method)
    name = one(NAME_HEADER)
    if member is not None and params.get(member) is not None and decoded(name) != params[member]:
        raise rejection(request_id, HEADER_MISMATCH, f"The header {NAME_HEADER} differs from params.{member}.")


def decoded(value: str | None) -> str | None:
    """A header value as the client meant it: `=?base64?…?=` carries text that no header can. None where it is broken."""
    wrapped = _WRAPPED.fullmatch(value or "")
    if wrapped is None:
        return value
    try:
        raw = base64.b64decode(wrapped[1], validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if base64.b64encode(raw).decode() == wrapped[1] else None


def complete(result: dict, server_info: dict, *, ttl_ms: int | None = None) -> dict:
    """A result as this date wants it. `ttl_ms` marks one that a client may keep, for itself only."""
    meta = result.get("_meta", {})
    found = {**result, "resultType": "complete", "_meta": {**meta, SERVER_KEY: server_info}}
    if ttl_ms is not None:
        found.update(ttlMs=ttl_ms, cacheScope="private")
    return found


# --- subscriptions/listen ----------------------------------------------------------------


def honoured(wanted: object, supported: Sequence[str]) -> dict:
    """The part of a listen filter that this server will keep: a kind it never sends is left out."""
    return {name: True for name in supported if isinstance(wanted, Mapping) and wanted.get(name) is True}


def acknowledged(request_id: RequestId, kept: dict) -> dict:
    """The first message of a listen stream."""
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": kept, "_meta": {SUBSCRIPTION_KEY: request_id}}}


def listen_ended(request_id: RequestId, server_info: dict) -> dict:
    """The last message of a listen stream that the server ends on purpose."""
    return {"jsonrpc": "2.0", "id": request_id,
            "result": complete({"_meta": {SUBSCRIPTION_KEY: request_id}}, server_info)}
