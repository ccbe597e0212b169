"""An MCP server that offers tools and nothing else, in every date it is asked in.

Messages in, what to do out: an answer to send, a tool to call, a stream to keep open. Two
dates open with `initialize`, the third needs no opening: what a request says of itself
decides. Anything else is answered at once with a clean error. Knows no socket, no clock and
no tool by name.

Source  MCP 2025-06-18 and 2025-11-25, "Lifecycle", "Tools", "Utilities"; mcp_stateless.py for 2026-07-28.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.wire import jsonrpc, mcp_stateless
from rulith.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RequestId
from rulith.wire.mcp_server import Rejected, error_body, result_body
from rulith.wire.mcp_stateless import HeaderValues, rejection

BY_HANDSHAKE = ("2025-11-25", "2025-06-18")         # newest first: the counter-offer to any other date
SERVED = (mcp_stateless.DATE, *BY_HANDSHAKE)
LIST_TTL_MS = 3_600_000                             # the tools of a process never change while it runs


@dataclass(frozen=True)
class Send:
    """One message for the client; `status` is what HTTP says beside it."""

    body: dict
    status: int = 200


@dataclass(frozen=True)
class Opened(Send):
    """The answer to an accepted `initialize`; the connection or session speaks `date` from here on."""

    date: str = ""


@dataclass(frozen=True)
class Call:
    """A tool to run. `refused` is set where the message itself already shows that it must not run."""

    id: RequestId
    name: str
    arguments: object
    date: str
    progress_token: str | int | None = None
    refused: Refused | None = None


@dataclass(frozen=True)
class Listen:
    """A stream to keep open: `first` goes out at once, `last` when the server ends it."""

    id: RequestId
    first: dict
    last: dict


@dataclass(frozen=True)
class Cancelled:
    id: object


@dataclass(frozen=True)
class ToolsServer:
    """Who answers, and with what.

    info          {name, version, title}
    tools         rows of tools/list
    instructions  for the model, in a few sentences
    experimental  what the server declares beside tools
    """

    info: dict
    tools: Sequence[dict]
    instructions: str
    experimental: dict = field(default_factory=dict)

    @property
    def _capabilities(self) -> dict:
        return {"tools": {}, "experimental": self.experimental}

    # --- one message -----------------------------------------------------------------------

    def take(self, message: jsonrpc.Message, date: str | None, headers: HeaderValues | None = None) -> (
            Send | Call | Listen | Cancelled | None):
        """What one message asks for; None where it asks for nothing. Raises Rejected.

        date     what the connection or session agreed on by `initialize`, None before that
        headers  of the HTTP request that carried it
        """
        if isinstance(message, jsonrpc.Notification):
            cancels = message.method == "notifications/cancelled"
            return Cancelled(message.params.get("requestId")) if cancels else None
        if isinstance(message, jsonrpc.Response):
            return None                 # this server asks clients nothing
        is_stateless = headers is not None and list(headers(mcp_stateless.VERSION_HEADER)) == [mcp_stateless.DATE]
        if message.method == "initialize" and not is_stateless:
            return self._open(message)
        if is_stateless or mcp_stateless.has_envelope(message.params) or message.method == "server/discover":
            mcp_stateless.check_envelope(message.id, message.method, message.params, headers, SERVED)
            return self._stateless(message)
        return self._in_session(message, date)

    def _open(self, request: jsonrpc.Request) -> Opened:
        asked = request.params.get("protocolVersion")
        if not isinstance(asked, str):
            raise Rejected(400, INVALID_PARAMS, "initialize needs params with a protocolVersion text.", request_id=request.id)
        date = asked if asked in BY_HANDSHAKE else BY_HANDSHAKE[0]
        result = {"protocolVersion": date, "capabilities": self._capabilities, "serverInfo": self.info,
                  "instructions": self.instructions}
        return Opened(result_body(request.id, result), date=date)

    def _in_session(self, request: jsonrpc.Request, date: str | None) -> Send | Call:
        if request.method == "ping":
            return Send(result_body(request.id, {}))
        if request.method not in ("tools/list", "tools/call"):
            raise Rejected(200, METHOD_NOT_FOUND, f"The method {request.method[:80]!r} is not served; this server has tools only.",
                           request_id=request.id)
        if date is None:
            raise Rejected(400, INVALID_REQUEST, f"Open with initialize, or send the envelope of {mcp_stateless.DATE} in params._meta.",
                           request_id=request.id)
        if request.method == "tools/call":
            return self._call(request, date)
        return Send(result_body(request.id, self._list(request)))

    def _stateless(self, request: jsonrpc.Request) -> Send | Call | Listen:
        method = request.method
        if method == "tools/call":
            return self._call(request, mcp_stateless.DATE)
        if method == "tools/list":
            result = mcp_stateless.complete(self._list(request), self.info, ttl_ms=LIST_TTL_MS)
        elif method == "server/discover":
            result = mcp_stateless.complete({"supportedVersions": list(SERVED), "capabilities": self._capabilities,
                                             "instructions": self.instructions}, self.info, ttl_ms=LIST_TTL_MS)
        elif method == "subscriptions/listen":
            wanted = request.params.get("notifications")
            if not isinstance(wanted, Mapping):
                raise rejection(request.id, INVALID_PARAMS, "params.notifications says which notifications are wanted; {} wants none.")
            kept = mcp_stateless.honoured(wanted, ())
            return Listen(request.id, mcp_stateless.acknowledged(request.id, kept),
                          mcp_stateless.listen_ended(request.id, self.info))
        else:
            raise rejection(request.id, METHOD_NOT_FOUND, f"The method {method[:80]!r} is not served; this server has tools only.")
        return Send(result_body(request.id, result))

    def _list(self, request: jsonrpc.Request) -> dict:
        if request.params.get("cursor") is not None:
            raise rejection(request.id, INVALID_PARAMS, "There is one page of tools; send no cursor.")
        return {"tools": list(self.tools)}

    def _call(self, request: jsonrpc.Request, date: str) -> Call:
        name = request.params.get("name")
        known = [tool["name"] for tool in self.tools]
        if name not in known:
            raise rejection(request.id, INVALID_PARAMS, f"There is no tool {str(name)[:80]!r}. The tools are {', '.join(known)}.",
                            {"errorCode": "TOOL_UNKNOWN", "tools": known})
        return Call(request.id, name, request.params.get("arguments", {}), date, progress_token(request.params))

    # --- answers ---------------------------------------------------------------------------

    def answer(self, call: Call, result: dict) -> dict:
        """The message that carries a tool's result."""
        if call.date == mcp_stateless.DATE:
            result = mcp_stateless.complete(result, self.info)
        return result_body(call.id, result)

    def inexact(self, body: str | bytes, refusal: Refused, date: str | None, headers: HeaderValues | None = None) -> (
            Send | Call):
        """What to do about a message with a number outside the exact range.

        A tool call is refused as one, so that the model reads why; anything else is a bad request.
        """
        try:
            message = jsonrpc.read_message(json.loads(body))
            found = self.take(message, date, headers)
        except (Refused, Rejected, ValueError, RecursionError):
            found = None
        if isinstance(found, Call):
            return Call(found.id, found.name, {}, found.date, None, refusal)
        return Send(jsonrpc.error_of(refusal), 400)


def progress_token(params: Mapping[str, object]) -> str | int | None:
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if isinstance(token, (str, int)) and not isinstance(token, bool) else None


def progress(token: str | int, step: int) -> dict:
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}}


class Lines:
    """A connection over newline-delimited JSON, such as stdio: bytes in, what to do out."""

    def __init__(self, server: ToolsServer, *, line_bytes_max: int) -> None:
        self.server = server
        self.date: str | None = None
        self._limit = line_bytes_max
        self._held = bytearray()
        self._skipping = False          # inside a line that was too long

    def receive(self, data: bytes) -> list[Send | Call | Listen | Cancelled]:
        """Take any slice of the stream; what its complete lines ask for, in order."""
        found: list[Send | Call | Listen | Cancelled] = []
        while data:
            head, newline, data = data.partition(b"\n")
            if not self._skipping:
                self._held += head
            if len(self._held) > self._limit:
                self._held.clear()
                self._skipping = True
                found.append(Send(error_body(None, jsonrpc.PARSE_ERROR, f"One message has at most {self._limit} bytes.",
                                             {"reason": "message_too_large"})))
            if newline:
                line, self._held, self._skipping = bytes(self._held), bytearray(), False
                step = self._line(line) if line.strip() else None
                if step is not None:
                    found.append(step)
        return found

    def _line(self, line: bytes) -> Send | Call | Listen | Cancelled | None:
        try:
            messages, is_batch = jsonrpc.read_messages(line, "the line")
            if is_batch:
                return Send(error_body(None, INVALID_REQUEST, "Send one JSON-RPC message a line; batches are not served."))
            step = self.server.take(messages[0], self.date)
        except Refused as refusal:
            if refusal.code == "number_out_of_range":
                return self.server.inexact(line, refusal, self.date)
            return Send(jsonrpc.error_of(refusal))
        except Rejected as rejected:
            return Send(rejected.body, rejected.status)
        if isinstance(step, Opened):
            self.date = step.date
        return step
