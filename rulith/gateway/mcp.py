"""The Agent surface over Streamable HTTP: POST, DELETE and a plain no to GET at /mcp.

Promises: the bearer token is checked before a body is read; every request is answered, a
call that is held by progress and then its outcome; what is not served gets a clean
JSON-RPC error at once, whatever era of MCP asked. Decides nothing about a tool call:
gateway/calls.py does.

Source  protocol/mcp-contract.json; the MCP surface, §§1, 6.5, 8.1.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from rulith.base.errors import Refused, Unknown
from rulith.base.ids import mint
from rulith.base.limits import PROGRESS_EVERY_S
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.calls import ToolCalls
from rulith.net.loopback import is_foreign_host, is_foreign_page  # noqa: F401  the gateway's other rooms take both from here
from rulith.net.messages import Request, Response, StreamResponse
from rulith.wire import jsonrpc
from rulith.wire.mcp_server import (METHOD_NOT_FOUND, REFUSED_HERE, SERVED, SURFACE, Call, Rejected, Session, Sessions,
                                    error_body, initialize_result, progress_body, replaced_error, result_body)
from rulith.wire.sse import encode_event

PATH = "/mcp"


def bearer(request: Request) -> str | None:
    """The token of `Authorization: Bearer …`, or None; two of them are none."""
    found = request.headers.getall("authorization")
    if len(found) != 1:
        return None
    scheme, _, token = found[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


class McpSurface:
    """Serves /mcp.

    tools          rows of tools/list, exactly as the contract has them
    server_info    {name, version}
    """

    def __init__(self, authority: Authority, calls: ToolCalls, *, tools: list[dict], server_info: dict,
                 required_client: dict | None = None) -> None:
        self.authority = authority
        self.calls = calls
        self.sessions = Sessions()
        self._tools = tools
        self._server_info = server_info
        self._required_client = required_client
        authority.on_refold.append(self._forget_agents)

    # --- before the body ---------------------------------------------------------------

    def head_check(self, request: Request) -> Response | None:
        """401 without a known token, 403 for a foreign page, 405 for a method that is not served."""
        if is_foreign_page(request):
            return Response(403, [("content-type", "text/plain")], b"Pages of another origin are not served here.\n")
        token = bearer(request)
        request.found = hashed = token_hash(token) if token else None
        if hashed is None or self.authority.agent_of_token_hash(hashed) is None:
            refusal = Refused("unauthenticated")
            data: dict = {"reason": "unauthenticated", "teaching": refusal.teaching}
            if self._required_client is not None:
                data["requiredClient"] = self._required_client
            body = {**error_body(None, REFUSED_HERE, refusal.teaching, data), "teaching": refusal.teaching}
            return _json(401, body, [("www-authenticate", "Bearer")])
        if request.method not in ("POST", "DELETE"):
            message = "This gateway serves POST and DELETE here; streams are not resumed."
            return _json(405, error_body(None, REFUSED_HERE, message), [("allow", "POST, DELETE")])
        return None

    def _agent(self, request: Request) -> str | None:
        """Whose token the head check hashed, if it is one still: it may be revoked while the body comes in."""
        return self.authority.agent_of_token_hash(request.found) if isinstance(request.found, str) else None

    # --- one request -------------------------------------------------------------------

    async def handle(self, request: Request) -> Response | StreamResponse:
        agent_id = self._agent(request)
        if agent_id is None:            # the token was revoked while the body came in
            return self.head_check(request) or Response(401)
        try:
            if request.method == "DELETE":
                self.sessions.end(self.sessions.find(agent_id, request.headers.get("mcp-session-id"), None))
                return Response(204)
            return await self._post(agent_id, request)
        except Rejected as rejected:
            return _json(rejected.status, rejected.body)

    async def _post(self, agent_id: str, request: Request) -> Response | StreamResponse:
        try:
            messages, is_batch = jsonrpc.read_messages(request.body, "the body")
        except Refused as refusal:
            if refusal.code == "number_out_of_range":
                return await self._inexact(agent_id, request, refusal)
            return _json(400, jsonrpc.error_of(refusal))
        if is_batch:
            raise Rejected(400, jsonrpc.INVALID_REQUEST, "Send one JSON-RPC message a request; batches are not served.")
        message = messages[0]
        session_id = request.headers.get("mcp-session-id")
        if isinstance(message, jsonrpc.Request):
            if message.method == "initialize":
                return await self._initialize(agent_id, message)
            self._check_date(request, message)
            return await self._request(agent_id, session_id, message, request)
        session = self.sessions.find(agent_id, session_id, None)
        if isinstance(message, jsonrpc.Notification):
            if message.method == "notifications/cancelled":
                self.calls.cancelled(session, message.params.get("requestId"))
        return _answer(202, session)

    def _check_date(self, request: Request, message: jsonrpc.Request) -> None:
        """Answer another era at once; a client that never sends the header is served."""
        if message.method == "server/discover":
            raise Rejected(200, METHOD_NOT_FOUND, "server/discover is not served; use initialize.", request_id=message.id)
        date = request.headers.get("mcp-protocol-version")
        if date is not None and date not in SERVED:
            raise Rejected(400, REFUSED_HERE, f"This gateway speaks MCP {' and '.join(SERVED)}.", request_id=message.id,
                           data={"reason": "unsupported_protocol", "supported": list(SERVED)})

    async def _initialize(self, agent_id: str, message: jsonrpc.Request) -> Response:
        session, before = self.sessions.open(agent_id, message.params, message.id, mint=lambda: mint("mcps_"),
                                             required_client=self._required_client)
        if before is not None:
            self.authority.touched(agent_id)    # calls held for the old session hear of it
        try:
            await self.authority.settled()
        except Unknown as unknown:
            return _unavailable(message.id, unknown)
        meta = {**self._meta(session), "operations": self.calls.state_form(session)}
        return _answer(200, session, result_body(message.id, initialize_result(session, self._server_info, meta)))

    async def _request(self, agent_id: str, session_id: str | None, message: jsonrpc.Request,
                       request: Request) -> Response | StreamResponse:
        session = self.sessions.find(agent_id, session_id, message.id)
        self.sessions.check_current(session, message.id)
        if message.method == "tools/call":
            return await self._tools_call(session, message, request)
        if message.method == "ping":
            try:
                self.authority.check_writable()      # who waits for an outcome hears that none can be kept, and why
            except Refused:
                data = _store_data(self.authority.turns.trouble)
                body = error_body(message.id, jsonrpc.INTERNAL_ERROR, "The gateway cannot commit.", data)
                return _json(503, body, [("mcp-session-id", session.id)])
            self.calls.acknowledge(session)
            meta = {**self._meta(session), "operations": self.calls.state_form(session)}
            return _answer(200, session, result_body(message.id, {"_meta": {SURFACE: meta}}))
        if message.method == "tools/list":
            self.calls.acknowledge(session)
            return _answer(200, session, result_body(message.id, {"tools": self._tools, "_meta": {SURFACE: self._meta(session)}}))
        raise Rejected(200, METHOD_NOT_FOUND, f"The method {message.method[:80]!r} is not served.", request_id=message.id)

    def _meta(self, session: Session) -> dict:
        return {"agentId": session.agent_id, "focusedRoots": session.focused_roots()}

    # --- tools/call --------------------------------------------------------------------

    async def _tools_call(self, session: Session, message: jsonrpc.Request, request: Request) -> Response | StreamResponse:
        name, arguments = message.params.get("name"), message.params.get("arguments", {})
        if name not in self.calls.names:
            raise Rejected(200, jsonrpc.INVALID_PARAMS, f"{str(name)[:80]!r} is not one of {', '.join(self.calls.names)}.",
                           request_id=message.id)
        known = session.known(message.id)
        call = known or session.begin(message.id)
        run = lambda admitted: self.calls.again(session, call) if known else self.calls.run(  # noqa: E731
            session, call, name, arguments, admitted)
        token = _progress_token(message.params)
        if token is not None and "text/event-stream" in (request.headers.get("accept") or ""):
            stream = self._stream(session, call, token, run, request)
            return StreamResponse(200, _headers(session, "text/event-stream"), stream)
        try:
            answer = await run(lambda ordinal: None)
        except Unknown as unknown:
            return _unavailable(message.id, unknown, session)
        if request.is_client_gone():
            self.calls.not_delivered(session, call)
        if answer is None:
            return _answer(409, session, replaced_error(message.id, call.ordinal or 0))
        return _answer(200, session, result_body(message.id, answer))

    async def _stream(self, session: Session, call: Call, token: object, run: Callable, request: Request) -> AsyncIterator[bytes]:
        """Progress right after admission and while the call is held, then its answer; never a silent end."""
        admitted: asyncio.Future = asyncio.get_running_loop().create_future()

        def hear(ordinal: int) -> None:
            if not admitted.done():
                admitted.set_result(ordinal)

        task = asyncio.ensure_future(run(hear))
        step = 0
        try:
            await asyncio.wait({task, admitted}, return_when=asyncio.FIRST_COMPLETED)
            if admitted.done():
                while True:
                    step += 1
                    yield _event(progress_body(token, step, admitted.result()))
                    if task.done() or (await asyncio.wait({task}, timeout=PROGRESS_EVERY_S))[0]:
                        break
            try:
                answer = await task
            except Unknown as unknown:
                yield _event(error_body(call.request_id, jsonrpc.INTERNAL_ERROR, "The outcome could not be made durable.",
                                        _store_data(unknown.detail)))
                return
            if answer is None:
                yield _event(replaced_error(call.request_id, call.ordinal or 0))
            else:
                if request.is_client_gone():
                    self.calls.not_delivered(session, call)
                yield _event(result_body(call.request_id, answer))
        finally:
            if not task.done():
                # The client stopped waiting; that cancels nothing. The call ends by itself and stays undelivered.
                self.calls.not_delivered(session, call)

    async def _inexact(self, agent_id: str, request: Request, refusal: Refused) -> Response:
        """A number outside the exact domain: a tool call is refused as one, anything else is a bad request."""
        try:
            loose = json.loads(request.body)
            message = jsonrpc.read_message(loose)
        except (Refused, ValueError, RecursionError):
            return _json(400, jsonrpc.error_of(refusal))
        is_call = isinstance(message, jsonrpc.Request) and message.method == "tools/call"
        if not is_call or message.params.get("name") not in self.calls.names:
            return _json(400, jsonrpc.error_of(refusal))
        session = self.sessions.find(agent_id, request.headers.get("mcp-session-id"), message.id)
        self.sessions.check_current(session, message.id)
        call = session.known(message.id) or session.begin(message.id)
        bad = Refused("bad_command", problem=refusal.teaching)
        try:
            answer = call.answer or await self.calls.refuse_unexecuted(session, call, message.params["name"], bad)
        except Unknown as unknown:
            return _unavailable(message.id, unknown, session)
        return _answer(200, session, result_body(message.id, answer))

    def end_sessions(self, agent_id: str) -> None:
        """The Agent's token is no longer valid: its session ends, and what is held for it is answered so."""
        session = self.sessions.effective(agent_id)
        if session is not None:
            session.replaced = True
            self.sessions.end(session)
            self.authority.touched(agent_id)

    def _forget_agents(self, chains: set[str]) -> None:
        """After a refold a session may speak for an Agent that never came to be."""
        for agent_id in chains:
            session = self.sessions.effective(agent_id)
            if session is not None and agent_id not in self.authority.agents:
                self.sessions.end(session)


def _progress_token(params: dict) -> str | int | None:
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, (str, int)) and not isinstance(token, bool) else None


def _event(message: dict) -> bytes:
    return encode_event(jsonrpc.encode_text(message), event="message")


def _headers(session: Session | None, content_type: str) -> list[tuple[str, str]]:
    rows = [("content-type", content_type), ("cache-control", "no-store")]
    if session is not None:
        rows.append(("mcp-session-id", session.id))
    return rows


def _answer(status: int, session: Session, body: dict | None = None) -> Response:
    if body is None:
        return Response(status, [("mcp-session-id", session.id)])
    return Response(status, _headers(session, "application/json"), jsonrpc.encode(body))


def _json(status: int, body: dict, headers: list[tuple[str, str]] = []) -> Response:  # noqa: B006  never changed
    return Response(status, [*_headers(None, "application/json"), *headers], jsonrpc.encode(body))


def _store_data(words: str) -> dict:
    return {"reason": "store_unavailable", "teaching": words}


def _unavailable(request_id: object, unknown: Unknown, session: Session | None = None) -> Response:
    """The store failed: the caller learns that the outcome is not known, and what kept it from being so."""
    body = error_body(request_id, jsonrpc.INTERNAL_ERROR, "The outcome could not be made durable.", _store_data(unknown.detail))
    return Response(503, _headers(session, "application/json"), jsonrpc.encode(body))
