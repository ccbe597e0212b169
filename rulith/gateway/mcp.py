"""The Agent surface over Streamable HTTP: POST, DELETE, and GET to go on with a cut stream, at /mcp.

Promises: the bearer token is checked before a body is read; every request is answered, a
call that is held by progress and then its outcome; an answer stream outlives its
connection, so that a cursor finds the rest; what is not served gets a clean JSON-RPC error
at once, whatever era of MCP asked. Decides nothing about a tool call: gateway/calls.py does.

Source  protocol/mcp-contract.json; the MCP surface, §§1, 6.5, 8.1.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from rulith.base.errors import Refused, Unknown
from rulith.base.ids import mint
from rulith.base.json_text import read_json
from rulith.base.limits import PROGRESS_EVERY_S, RETRY_MS
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.calls import ToolCalls
from rulith.net.loopback import is_foreign_host, is_foreign_page  # noqa: F401  the gateway's other rooms take both from here
from rulith.net.messages import Request, Response, StreamResponse
from rulith.wire import jsonrpc
from rulith.wire.artifacts import CUSTODIAN_HEADER, LOCAL_HEADER, LOCAL_PROTOCOL
from rulith.wire.mcp_server import (CALLS_KEPT_MAX, CURRENT, METHOD_NOT_FOUND, REFUSED_HERE, SERVED, SURFACE, Call, Rejected, Session, Sessions,
                                    error_body, initialize_result, progress_body, replaced_error, result_body)
from rulith.wire.mcp_streams import AnswerStream

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")


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
        self._producers: set[asyncio.Task] = set()      # a task that nobody holds may be collected
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
            return _json(401, body, [("www-authenticate", f'Bearer resource_metadata="{request.origin}/.well-known/oauth-protected-resource{PATH}"')])
        if request.method not in METHODS or (request.method == "GET" and "last-event-id" not in request.headers):
            message = "POST calls and DELETE ends a session here; GET goes on with a cut stream and needs its last-event-id."
            return _json(405, error_body(None, REFUSED_HERE, message), [("allow", ", ".join(METHODS))])
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
            if request.method == "GET":
                return self._resume(agent_id, request)
            return await self._post(agent_id, request)
        except Rejected as rejected:
            session_id = request.headers.get("mcp-session-id", "")
            return _json(rejected.status, rejected.body, [("mcp-session-id", session_id)] if self.sessions.is_of(agent_id, session_id) else [])

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
            self._check_date(request, message.method, message.id)
            return await self._request(agent_id, session_id, message, request)
        session = self.sessions.find(agent_id, session_id, None)
        if isinstance(message, jsonrpc.Notification):
            if message.method == "notifications/cancelled":
                self.calls.cancelled(session, message.params.get("requestId"))
        return _answer(202, session)

    def _check_date(self, request: Request, method: str, request_id: object = None) -> None:
        """Answer another era at once; a client that never sends the header is served."""
        if method == "server/discover":
            raise Rejected(200, METHOD_NOT_FOUND, "server/discover is not served; use initialize.", request_id=request_id)
        date = request.headers.get("mcp-protocol-version")
        if date is not None and date not in SERVED:
            raise Rejected(400, REFUSED_HERE, f"This gateway speaks MCP {' and '.join(SERVED)}.", request_id=request_id,
                           data={"reason": "unsupported_protocol", "supported": list(SERVED)})

    def _resume(self, agent_id: str, request: Request) -> StreamResponse:
        self._check_date(request, "")
        session = self.sessions.find(agent_id, request.headers.get("mcp-session-id"), None)
        parts = self.sessions.resumed(session, request.headers.get("last-event-id", ""))
        for stream, _ in parts:
            stream.readers.append(request.is_client_gone)
        return StreamResponse(200, _headers(session, "text/event-stream"), self._read(session, parts, request))

    async def _initialize(self, agent_id: str, message: jsonrpc.Request) -> Response:
        try:
            session, before = self.sessions.open(agent_id, message.params, message.id, mint=lambda: mint("mcps_"),
                                                 required_client=self._required_client)
        except Rejected as rejected:          # whatever session the request names, this is no answer of it
            return _json(rejected.status, rejected.body)
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
        return {"agentId": session.agent_id, "focusedRoots": self.calls.focused_roots(session)}

    # --- tools/call --------------------------------------------------------------------

    async def _tools_call(self, session: Session, message: jsonrpc.Request, request: Request) -> Response | StreamResponse:
        name, arguments = message.params.get("name"), message.params.get("arguments", {})
        if name not in self.calls.names:
            raise Rejected(200, jsonrpc.INVALID_PARAMS, f"{str(name)[:80]!r} is not one of {', '.join(self.calls.names)}.",
                           request_id=message.id)
        known = self._same_call(session, message.id, asked := hash((name, str(arguments))))
        if known is None and session.is_forgotten(message.id):
            gone = Refused("result_unavailable", why=f"the last {CALLS_KEPT_MAX} of a session are kept")
            return _answer(200, session, result_body(message.id, await self.calls.refuse_unexecuted(session, Call(message.id), name, gone)))
        call = known or session.begin(message.id, asked)
        if known is None and request.headers.get(LOCAL_HEADER) == LOCAL_PROTOCOL:
            call.custodian = request.headers.get(CUSTODIAN_HEADER) or ""
        run = lambda admitted: self.calls.again(session, call) if known else self.calls.run(  # noqa: E731
            session, call, name, arguments, admitted)
        token = _progress_token(message.params)
        if token is not None and "text/event-stream" in (request.headers.get("accept") or ""):
            stream = session.streams.begin(message.id)
            stream.readers.append(request.is_client_gone)
            if session.protocol_version == CURRENT:      # older clients read every event as a message
                stream.open(RETRY_MS)
            producer = asyncio.ensure_future(self._produce(session, call, stream, token, run, is_first=known is None))
            self._producers.add(producer)
            producer.add_done_callback(self._producers.discard)
            return StreamResponse(200, _headers(session, "text/event-stream"), self._read(session, [(stream, 0)], request))
        try:
            answer = await run(lambda ordinal: None)
        except Unknown as unknown:
            return _unavailable(message.id, unknown, session)
        if request.is_client_gone():
            self.calls.lost(session, call)
        elif known is not None:
            self.calls.written_again(session, call)
        if answer is None:
            return _answer(409, session, replaced_error(message.id, call.ordinal or 0))
        return _answer(200, session, result_body(message.id, self.calls.disclosed(session, call, answer)))

    def _same_call(self, session: Session, request_id: object, asked: int) -> Call | None:
        """The call that came before under this id, if any. Raises Rejected where it asked for something else."""
        known = session.known(request_id)
        if known is not None and known.asked != asked:
            raise Rejected(200, jsonrpc.INVALID_REQUEST, "Another call of this session has this id, so nothing was executed. Give every call an id of its own.",
                           request_id=request_id, data={"requestExecuted": False})
        return known

    async def _produce(self, session: Session, call: Call, stream: AnswerStream, token: object, run: Callable, *,
                       is_first: bool) -> None:
        """Progress right after admission and while the call is held, then its answer, whoever reads it."""
        admitted: asyncio.Future = asyncio.get_running_loop().create_future()

        def hear(ordinal: int) -> None:
            if not admitted.done():
                admitted.set_result(ordinal)

        work = asyncio.ensure_future(run(hear))
        await asyncio.wait({work, admitted}, return_when=asyncio.FIRST_COMPLETED)
        step = 0
        while admitted.done():
            step += 1
            stream.progress(progress_body(token, step, admitted.result()))
            if work.done() or (await asyncio.wait({work}, timeout=PROGRESS_EVERY_S))[0]:
                break
        try:
            answer = await work
        except Unknown as unknown:
            stream.end(error_body(call.request_id, jsonrpc.INTERNAL_ERROR, "The outcome could not be made durable.",
                                  _store_data(unknown.detail)))
        except BaseException:
            stream.end(error_body(call.request_id, jsonrpc.INTERNAL_ERROR, "The call failed inside; its outcome is not known."))
            raise
        else:
            if answer is not None and is_first and all(is_gone() for is_gone in stream.readers):
                self.calls.lost(session, call)
            stream.end(replaced_error(call.request_id, call.ordinal or 0) if answer is None else result_body(call.request_id, answer))

    async def _read(self, session: Session, parts: list[tuple[AnswerStream, int]], request: Request) -> AsyncIterator[bytes]:
        """The events of these streams as they come, to one connection. Its end ends nothing but the reading."""
        try:
            for stream, count in parts:
                while not stream.is_ended or count < stream.last:
                    for number, message in stream.after(count):
                        count = number
                        call = session.known(stream.request_id)
                        if stream.is_ended and number == stream.last and call is not None and not request.is_client_gone():
                            self.calls.written_again(session, call)
                        if "result" in (message or ()):          # the answer, as the Agent may see it now
                            message = self._answer_now(session, call, stream.request_id)
                        yield stream.encode(number, message)
                    if not stream.is_ended and count == stream.last:
                        moved = asyncio.get_running_loop().create_future()
                        stream.waiters.append(moved)
                        await moved
        finally:
            for stream, _ in parts:
                stream.readers.remove(request.is_client_gone)

    def _answer_now(self, session: Session, call: Call | None, request_id: object) -> dict:
        answer = self.calls.disclosed(session, call, call.answer) if call is not None and not session.replaced else None
        return replaced_error(request_id, call.ordinal or 0 if call is not None else 0) if answer is None else result_body(request_id, answer)

    async def _inexact(self, agent_id: str, request: Request, refusal: Refused) -> Response:
        """A number outside the exact domain: a tool call is refused as one, anything else is a bad request."""
        try:
            loose = json.loads(request.body)
            message = jsonrpc.read_message(loose)
            read_json(json.dumps(getattr(message, "id", None)), "the id")       # it is echoed: a lone surrogate has no bytes
        except (Refused, ValueError, RecursionError):
            return _json(400, jsonrpc.error_of(refusal))
        is_call = isinstance(message, jsonrpc.Request) and message.method == "tools/call"
        if not is_call or message.params.get("name") not in self.calls.names:
            return _json(400, jsonrpc.error_of(refusal))
        session = self.sessions.find(agent_id, request.headers.get("mcp-session-id"), message.id)
        self.sessions.check_current(session, message.id)
        asked = hash(request.body)
        call = self._same_call(session, message.id, asked) or session.begin(message.id, asked)
        bad = Refused("bad_command", problem=refusal.teaching)
        try:
            answer = call.answer or await self.calls.refuse_unexecuted(session, call, message.params["name"], bad)
        except Unknown as unknown:
            return _unavailable(message.id, unknown, session)
        return _answer(200, session, result_body(message.id, self.calls.disclosed(session, call, answer)))

    def end_sessions(self, agent_id: str) -> None:
        """The Agent's token is no longer valid: its session ends, and what is held for it is answered so."""
        session = self.sessions.effective(agent_id)
        if session is not None:
            session.replace()
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
