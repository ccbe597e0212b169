"""A gateway on loopback whose every answer a script decides; it knows the envelope and no law.

`answer(call)` returns what one tools/call gets: a `Say`, a `Held` stream, a `Raw` HTTP
answer, or `CUT` to close the connection. Everything that arrived is kept in order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.net.server import serve
from rulith.wire.contract import mcp_contract

AGENT = "agent_1"
TOKEN = "rlt_agt_test"
TOOLS = mcp_contract().tool_names
DECLARED = {"tools": {}, "experimental": {"rulith/v3": {"heldCalls": 1}}}


def tool_rows() -> list[dict]:
    return [{"name": name, "description": f"{name} does its part.",
             "inputSchema": {"type": "object", "properties": {}, "additionalProperties": True}} for name in TOOLS]


@dataclass(frozen=True)
class Arrived:
    """One tools/call as it came."""

    tool: str
    arguments: dict
    session: str
    id: str
    token: str | None


@dataclass(frozen=True)
class Say:
    """One ordinary answer. `meta` None leaves the host metadata out; `raw_text` replaces the JSON text."""

    body: dict
    is_error: bool = False
    focused: tuple[tuple[str, str], ...] = ()
    affected: tuple[str, ...] | None = None
    agent: str = AGENT
    as_stream: bool = False
    session: str | None = None
    id: object = None
    raw_text: str | None = None
    with_meta: bool = True


@dataclass(frozen=True)
class Held:
    """A stream: `before` raw bytes or progress ordinals, then the answer, or nothing at all."""

    before: tuple[object, ...] = ()
    then: Say | None = None
    error: dict | None = None


@dataclass(frozen=True)
class Raw:
    status: int
    body: object = b""
    headers: dict = field(default_factory=dict)


CUT = "cut"
SILENT = "silent"


class ScriptedGateway:
    def __init__(self, answer: Callable[[Arrived], object]) -> None:
        self.answer = answer
        self.calls: list[Arrived] = []
        self.methods: list[str] = []
        self.tools = tool_rows()
        self.initialize: object = None           # replaces the ordinary answer
        self.initialize_result: dict = {}        # merged over the ordinary result
        self.state_form: Callable[[], object] = list
        self.ping: object = None
        self.resume: Callable[[str], object] = lambda cursor: Raw(405)     # what a GET after `cursor` gets
        self.cursors: list[str] = []
        self.sessions = 0
        self.deleted: list[str] = []
        self.initialized_status = 202
        self.page_size = 0
        self.drips = False                       # every answer byte by byte, as far as that ends today
        self._server = None
        self._quiet = asyncio.Event()

    async def __aenter__(self) -> ScriptedGateway:
        self._server = await serve(self._handle, "127.0.0.1", 0, on_bug=self._bug)
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._quiet.set()
        await self._server.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def sent(self, tool: str) -> list[dict]:
        return [call.arguments for call in self.calls if call.tool == tool]

    @staticmethod
    def _bug(problem: BaseException) -> None:
        if not isinstance(problem, _Cut):
            raise problem

    async def _handle(self, request: Request) -> Response | StreamResponse:
        answer = await self._answered(request)
        if not self.drips:
            return answer
        if isinstance(answer, StreamResponse):
            return StreamResponse(answer.status, answer.headers, _dripped(answer.chunks))
        return StreamResponse(answer.status, answer.headers, _dripped(_once(answer.body))) if answer.body else answer

    async def _answered(self, request: Request) -> Response | StreamResponse:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return json_response(401, {"jsonrpc": "2.0", "id": None, "teaching": "Take a new token.", "error": {
                "code": -32000, "message": "no", "data": {"reason": "unauthenticated"}}})
        if request.method == "DELETE":
            self.methods.append("DELETE")
            self.deleted.append(request.headers.get("mcp-session-id", ""))
            return Response(204)
        if request.method == "GET":
            self.cursors.append(request.headers.get("last-event-id", ""))
            return await self._given(self.resume(self.cursors[-1]), self.calls[-1])
        message = json.loads(request.body)
        self.methods.append(message["method"])
        handler = {"initialize": self._initialize, "tools/list": self._list, "ping": self._ping,
                   "tools/call": self._call}.get(message["method"])
        if handler is None:
            return Response(self.initialized_status)
        return await handler(request, message)

    async def _initialize(self, request: Request, message: dict):
        if self.initialize is not None:
            given = self.initialize(message) if callable(self.initialize) else self.initialize
            if given is not None:
                return self._raw(given)
        self.sessions += 1
        result = {"protocolVersion": "2025-11-25", "capabilities": DECLARED, "serverInfo": {"name": "scripted", "version": "1"},
                  "_meta": {"rulith/v3": {"agentId": AGENT, "focusedRoots": [], "operations": self.state_form()}},
                  **self.initialize_result}
        return json_response(200, {"jsonrpc": "2.0", "id": message["id"], "result": result},
                             {"mcp-session-id": f"s{self.sessions}"})

    async def _list(self, request: Request, message: dict):
        start = int(message["params"].get("cursor", "0"))
        size = self.page_size or len(self.tools)
        result: dict = {"tools": self.tools[start:start + size]}
        if start + size < len(self.tools):
            result["nextCursor"] = str(start + size)
        return self._json(request, message["id"], result)

    async def _ping(self, request: Request, message: dict):
        if self.ping is not None:
            given = self.ping()
            if given is not None:
                return self._raw(given)
        meta = {"agentId": AGENT, "focusedRoots": [], "operations": self.state_form()}
        return self._json(request, message["id"], {"_meta": {"rulith/v3": meta}})

    async def _call(self, request: Request, message: dict):
        params = message["params"]
        call = Arrived(params["name"], params["arguments"], request.headers.get("mcp-session-id", ""), message["id"],
                       (params.get("_meta") or {}).get("progressToken"))
        self.calls.append(call)
        return await self._given(self.answer(call), call)

    async def _given(self, given: object, call: Arrived):
        if given is CUT:
            raise _Cut
        if given is SILENT:
            await self._quiet.wait()
            raise _Cut
        if isinstance(given, Raw):
            return self._raw(given)
        if isinstance(given, Held):
            return StreamResponse(200, {"content-type": "text/event-stream", "mcp-session-id": call.session},
                                  self._stream(given, call))
        return self._said(given, call)

    def _said(self, say: Say, call: Arrived):
        message = {"jsonrpc": "2.0", "id": say.id if say.id is not None else call.id, "result": result_of(say)}
        session = say.session or call.session
        if say.as_stream:
            return StreamResponse(200, {"content-type": "text/event-stream", "mcp-session-id": session}, _once(_event(message)))
        return json_response(200, message, {"mcp-session-id": session})

    async def _stream(self, held: Held, call: Arrived) -> AsyncIterator[bytes]:
        for number, step in enumerate(held.before, 1):
            if isinstance(step, bytes):
                yield step
            elif step is SILENT:
                await self._quiet.wait()
            else:
                yield _event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": call.token, "progress": number, "_meta": {"rulith/v3": {"ordinal": step}}}})
        if held.then is not None:
            yield _event({"jsonrpc": "2.0", "id": call.id, "result": result_of(held.then)})
        if held.error is not None:
            yield _event({"jsonrpc": "2.0", "id": call.id, "error": held.error})

    @staticmethod
    def _raw(raw: Raw) -> Response:
        body = raw.body if isinstance(raw.body, bytes) else json.dumps(raw.body).encode()
        return Response(raw.status, {"content-type": "application/json", **raw.headers}, body)

    @staticmethod
    def _json(request: Request, id_: object, result: dict) -> Response:
        return json_response(200, {"jsonrpc": "2.0", "id": id_, "result": result},
                             {"mcp-session-id": request.headers.get("mcp-session-id", "")})


class _Cut(Exception):
    """Ends the connection without an answer."""


def result_of(say: Say) -> dict:
    text = json.dumps(say.body) if say.raw_text is None else say.raw_text
    result: dict = {"content": [{"type": "text", "text": text}]}
    if say.is_error:
        result["isError"] = True
    if say.with_meta:
        meta: dict = {"agentId": say.agent, "focusedRoots": [{"caseId": case, "root": root} for case, root in say.focused]}
        if say.affected is not None:
            meta["affectedCases"] = list(say.affected)
        result["_meta"] = {"rulith/v3": meta}
    return result


def _event(message: dict) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _dripped(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        step = max(1, len(piece) // 2_000)
        for at in range(0, len(piece), step):
            yield piece[at:at + step]


def connection_replaced(request_id: object = None) -> dict:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32000, "message": "replaced", "data": {
        "reason": "connection_replaced", "requestExecuted": False}}}


def strip_row(tool: str, state: str, *, label: str = "", at: str = "2026-10-03T08:00:00.001Z", **more: object) -> dict:
    return {"tool": tool, "label": label or tool, "state": state, "at": at, "since": at, **more}


def state_row(ordinal: int, tool: str, state: str, *, label: str = "", at: str = "2026-10-03T08:00:00.001Z") -> dict:
    return {"ordinal": ordinal, "tool": tool, "label": label or tool, "state": state, "at": at, "since": at}
