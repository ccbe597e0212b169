"""The client's half of one MCP session: requests out, the verdict on each answer in.

Decides what an HTTP answer or stream means for the one call that waits for it. Never
opens a connection, never waits, never retries; the caller feeds bytes and acts on events.
Everything that is not certainly the answer is Lost: the call may have run.

Units   *_bytes are octets; statuses are HTTP's.
Source  protocol/mcp-contract.json; the MCP surface, "Transport and identity" and
        "Client view of each failure".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import BODY_BYTES_MAX, INTEGER_MAX
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import Request, RequestId, Response
from rulith.wire.sse import EventStream, StreamEvent

PROTOCOL_DATE = "2025-11-25"
NAMESPACE = "rulith/v3"
DECLARATION = {NAMESPACE: {"heldCalls": 1}}
PAGES_MAX = 32                   # of tools/list; more is not a tool list
LENGTH_DIGITS_MAX = 20           # of an announced length, beyond any that can be meant

_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", re.ASCII)


# -- what is sent --------------------------------------------------------------------------


def initialize(request_id: RequestId, *, version: str) -> dict[str, object]:
    return jsonrpc.request(request_id, "initialize", {
        "protocolVersion": PROTOCOL_DATE,
        "capabilities": {"experimental": DECLARATION},
        "clientInfo": {"name": "rulith-agent", "version": version},
    })


def initialized() -> dict[str, object]:
    return jsonrpc.notification("notifications/initialized")


def list_tools(request_id: RequestId, cursor: str | None = None) -> dict[str, object]:
    return jsonrpc.request(request_id, "tools/list", {} if cursor is None else {"cursor": cursor})


def ping(request_id: RequestId) -> dict[str, object]:
    return jsonrpc.request(request_id, "ping")


def progress_token_of(request_id: str) -> str:
    return "progress_" + request_id


def call_tool(
    request_id: str, name: str, arguments: dict[str, object], *, progress_token: str | None
) -> dict[str, object]:
    """A tools/call; QueryBoard goes without a progress token."""
    params: dict[str, object] = {"name": name, "arguments": arguments}
    if progress_token is not None:
        params["_meta"] = {"progressToken": progress_token}
    return jsonrpc.request(request_id, "tools/call", params)


def post_headers(token: str | None, session_id: str | None) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **_common_headers(token, session_id),
    }


def resume_headers(token: str | None, session_id: str, cursor: str) -> dict[str, str]:
    return {"accept": "text/event-stream", "last-event-id": cursor, **_common_headers(token, session_id)}


def delete_headers(token: str | None, session_id: str) -> dict[str, str]:
    return _common_headers(token, session_id)


def _common_headers(token: str | None, session_id: str | None) -> dict[str, str]:
    headers = {"mcp-protocol-version": PROTOCOL_DATE}
    if token is not None:
        headers["authorization"] = "Bearer " + token
    if session_id is not None:
        headers["mcp-session-id"] = session_id
    return headers


# -- what comes back -----------------------------------------------------------------------


@dataclass(frozen=True)
class RequiredClient:
    """The release a gateway asks for; only a well-formed one is kept."""

    package: str
    version: str
    from_npm: bool = False           # its `install` starts with npm; the line itself is never taken over

    @property
    def parts(self) -> tuple[int, int, int]:
        return tuple(int(part) for part in self.version.split("."))


def required_client(value: object) -> RequiredClient | None:
    """`requiredClient` of an answer, when it is exactly package `rulith` and a plain x.y.z version."""
    if not isinstance(value, dict) or value.get("package") != "rulith":
        return None
    version = value.get("version")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        return None
    return RequiredClient("rulith", version, str(value.get("install", "")).startswith("npm "))


@dataclass(frozen=True)
class Answer:
    """The result of the awaited call."""

    result: dict[str, object]
    session_id: str | None


@dataclass(frozen=True)
class Failed:
    """A JSON-RPC error about the awaited call that no other event names."""

    code: int
    message: str
    data: dict[str, object]


@dataclass(frozen=True)
class Progress:
    """Progress of the awaited call; the ordinal, once named, says that it was admitted."""

    progress: float
    ordinal: int | None


@dataclass(frozen=True)
class Lost:
    """No certain answer: the call may or may not have run. `code` is what the model is told.

    store  the gateway's own words, where it says that its ledger takes no commits
    """

    code: str
    detail: str
    store: str = ""


@dataclass(frozen=True)
class NotExecuted:
    """A final refusal that says nothing ran."""

    reason: str
    teaching: str


@dataclass(frozen=True)
class Replaced:
    """Another session of this Agent took over. `ordinal` is set when the call was admitted and runs on."""

    ordinal: int | None
    not_executed: bool


@dataclass(frozen=True)
class CredentialRejected:
    teaching: str
    reason: str
    required: RequiredClient | None


@dataclass(frozen=True)
class VersionRefused:
    reason: str
    teaching: str
    required: RequiredClient | None


Verdict = Answer | Failed | Lost | NotExecuted | Replaced | CredentialRejected | VersionRefused
Event = Verdict | Progress


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ordinal(value: object) -> int | None:
    is_ordinal = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= INTEGER_MAX
    return value if is_ordinal else None


class ReplyReader:
    """Reads the answer to one POST (or the stream that resumes it), however it is cut.

    request_id      of the call that waits; None for a notification, whose 202 is an Answer
    session_id      the session presented with the request, None on `initialize`
    progress_token  the call's own; progress for any other token is skipped
    cursor          where the session's streams stood before
    resumes         this reads a GET: only a stream can hold the answer

    Feed start(), receive()*, finish() in that order and stop at the first Verdict. `cursor`
    is the session's newest resume cursor; `session_id` the one to present from now on.
    """

    def __init__(
        self, request_id: RequestId | None, session_id: str | None, *, progress_token: str | None = None,
        is_initialize: bool = False, body_bytes_max: int = BODY_BYTES_MAX, cursor: str | None = None, resumes: bool = False,
    ) -> None:
        self.request_id = request_id
        self.session_id = session_id
        self.cursor = cursor
        self._resumes = resumes
        self._token = progress_token
        self._is_initialize = is_initialize
        self._limit = body_bytes_max
        self._status = 0
        self._echoed: str | None = None
        self._stream: EventStream | None = None
        self._body = bytearray()
        self._done = False

    @property
    def is_stream(self) -> bool:
        return self._stream is not None

    @property
    def can_resume(self) -> bool:
        """Whether asking for the rest of a stream may still bring the answer: one was cut, or a GET broke on its way."""
        return self.cursor is not None and self.session_id is not None and (self.is_stream or (self._resumes and not self._status))

    def resumed(self) -> ReplyReader:
        """A reader for the GET that goes on after `cursor`."""
        return ReplyReader(self.request_id, self.session_id, progress_token=self._token, body_bytes_max=self._limit,
                           cursor=self.cursor, resumes=True)

    def start(self, status: int, headers: Mapping[str, str]) -> list[Event]:
        """The head of the answer; `headers` have lower-case names."""
        self._status = status
        self._echoed = headers.get("mcp-session-id")
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > LENGTH_DIGITS_MAX or int(length) > self._limit):
            return self._end(Lost("response_too_large", f"{length[:LENGTH_DIGITS_MAX]} bytes were announced"))
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if 200 <= status < 300:
            if status == 202 and self.request_id is None:
                return self._end(Answer({}, self.session_id))
            if self._is_foreign_session():
                return self._end(Lost("response_not_correlated", "the answer names another session"))
            if kind == "text/event-stream":
                self._stream = EventStream(event_bytes_max=self._limit)
            elif self._resumes:
                return self._end(Lost("response_lost", "the stream cannot be resumed"))
        return []

    def receive(self, data: bytes) -> list[Event]:
        if self._done:
            return []
        if self._stream is None:
            self._body += data
            if len(self._body) > self._limit:
                return self._end(Lost("response_too_large", f"more than {self._limit} bytes came"))
            return []
        try:
            return self._events(self._stream.receive(data))
        except Refused as problem:
            return self._end(Lost("response_too_large", problem.happened))

    def finish(self) -> list[Event]:
        """The body ended. Without a Verdict before, the last event returned is one."""
        if self._done:
            return []
        if self._stream is None:
            return self._end(self._judge_body())
        try:
            last = self._stream.finish()
        except Refused as problem:
            return self._end(Lost("response_too_large", problem.happened))
        events = self._events(last, is_last=True)
        if self._done:
            return events
        return events + self._end(Lost("response_lost", "the stream ended without the answer"))

    def cut(self, detail: str) -> list[Event]:
        """The connection broke before the end of the body."""
        if self._done:
            return []
        code = "response_lost" if self._stream is not None or self._resumes else "upstream_unavailable"
        return self._end(Lost(code, detail))

    # -- inside

    def _end(self, verdict: Verdict) -> list[Event]:
        self._done = True
        if isinstance(verdict, Answer) and self._echoed:
            self.session_id = self._echoed
        return [verdict]

    def _is_foreign_session(self) -> bool:
        return self.session_id is not None and self._echoed not in (None, self.session_id)

    def _events(self, events: list[StreamEvent], *, is_last: bool = False) -> list[Event]:
        """`is_last`: the stream ended behind them; one that cannot be read then was cut, and its id is no place to go on from."""
        out: list[Event] = []
        for event in events:
            before, self.cursor = self.cursor, event.id or self.cursor
            if not event.data or self._done:
                continue
            try:
                messages, _ = jsonrpc.read_messages(event.data, "an event of the stream")
            except Refused as problem:
                if is_last:
                    self.cursor = before
                    return out + self._end(Lost("response_lost", "the stream ended inside an event"))
                return out + self._end(Lost("response_not_correlated", problem.happened))
            for message in messages:
                if not self._done:
                    out += self._message(message)
        return out

    def _message(self, message: jsonrpc.Message) -> list[Event]:
        if isinstance(message, Response):
            if self.request_id is not None and jsonrpc.same_id(message.id, self.request_id):
                return self._end(self._judge_response(message))
            return []  # another call's answer on a shared stream
        if isinstance(message, Request) or message.method != "notifications/progress":
            return []
        params = message.params
        if self._token is None or params.get("progressToken") != self._token:
            return []
        meta = params.get("_meta")
        own = meta.get(NAMESPACE) if isinstance(meta, dict) else None
        progress = params.get("progress")
        is_number = isinstance(progress, (int, float)) and not isinstance(progress, bool)
        return [Progress(progress if is_number else 0, _ordinal(own.get("ordinal")) if isinstance(own, dict) else None)]

    def _judge_response(self, response: Response) -> Verdict:
        if response.result is not None:
            return Answer(response.result, self._echoed or self.session_id)
        data = response.error.get("data")
        data = data if isinstance(data, dict) else {}
        if response.error["code"] == jsonrpc.SERVER_ERROR and data.get("reason") == "connection_replaced":
            return Replaced(_ordinal(data.get("ordinal")), data.get("requestExecuted") is False)
        if response.error["code"] == jsonrpc.INTERNAL_ERROR and data.get("reason") == "store_unavailable":
            message = _text(response.error.get("message"))
            return Lost("upstream_unavailable", message, _text(data.get("teaching")) or message)
        return Failed(response.error["code"], _text(response.error.get("message")), data)

    def _judge_body(self) -> Verdict:
        try:
            value = read_json(bytes(self._body), "the answer")
        except Refused as problem:
            value, trouble = None, problem.happened
        else:
            trouble = "it is no answer to this call"
        if 200 <= self._status < 300:
            return self._judge_success(value, trouble)
        error = value.get("error") if isinstance(value, dict) else None
        error = error if isinstance(error, dict) else {}
        data = error.get("data") if isinstance(error.get("data"), dict) else {}
        own_id = isinstance(value, dict) and jsonrpc.same_id(value.get("id"), self.request_id)
        code = error.get("code")
        if self._status == 401:
            teaching = _text(value.get("teaching")) if isinstance(value, dict) else ""
            return CredentialRejected(
                teaching or _text(data.get("teaching")), _text(data.get("reason")), required_client(data.get("requiredClient"))
            )
        if code == jsonrpc.SERVER_ERROR and data.get("reason") == "connection_replaced":
            return Replaced(_ordinal(data.get("ordinal")), data.get("requestExecuted") is False)
        if (
            self._is_initialize and self._status == 400 and code == jsonrpc.SERVER_ERROR
            and data.get("reason") in ("incompatible_client", "unsupported_protocol")
        ):
            teaching = _text(data.get("teaching")) or _text(error.get("message"))
            return VersionRefused(data["reason"], teaching, required_client(data.get("requiredClient")))
        if (
            self._status == 409 and data.get("reason") == "material_proof_unavailable"
            and data.get("requestExecuted") is False and own_id
            and self.session_id is not None and self._echoed == self.session_id
        ):
            return NotExecuted(data["reason"], _text(data.get("teaching")) or _text(error.get("message")))
        if self._status == 503 and data.get("reason") == "store_unavailable":
            message = _text(error.get("message"))
            return Lost("upstream_unavailable", f"HTTP 503: {message}", _text(data.get("teaching")) or message)
        if self._status == 404 and self.session_id is not None:
            return Lost("session_expired", "the gateway no longer knows this session")
        if self._resumes:
            return Lost("response_lost", f"the stream cannot be resumed: HTTP {self._status}")
        return Lost("upstream_unavailable", f"HTTP {self._status}")

    def _judge_success(self, value: object, trouble: str) -> Verdict:
        if self.request_id is None:
            return Answer({}, self.session_id)
        if value is None:
            return Lost("upstream_unavailable", trouble)
        for item in value if isinstance(value, list) else [value]:
            try:
                message = jsonrpc.read_message(item)
            except Refused as problem:
                trouble = problem.happened
                continue
            if isinstance(message, Response) and jsonrpc.same_id(message.id, self.request_id):
                return self._judge_response(message)
        return Lost("response_not_correlated", trouble)


# -- the handshake's checks ----------------------------------------------------------------


def declares_surface(result: Mapping[str, object]) -> bool:
    """Whether an `initialize` result offers exactly this surface."""
    capabilities = result.get("capabilities")
    experimental = capabilities.get("experimental") if isinstance(capabilities, dict) else None
    offered = experimental.get(NAMESPACE) if isinstance(experimental, dict) else None
    return isinstance(offered, dict) and set(offered) == {"heldCalls"} and offered["heldCalls"] is not True and (
        offered["heldCalls"] == 1
    )


def host_metadata(result: Mapping[str, object]) -> dict[str, object] | None:
    """`_meta` of a result under this surface's name; None when it carries none."""
    meta = result.get("_meta")
    own = meta.get(NAMESPACE) if isinstance(meta, dict) else None
    return own if isinstance(own, dict) else None


def next_page(cursor: object, seen: set[str]) -> str | None:
    """The cursor of the next tools/list page; None at an empty or repeated one."""
    if not isinstance(cursor, str) or not cursor or cursor in seen:
        return None
    seen.add(cursor)
    return cursor
