"""`rulith board --http`: Streamable HTTP on loopback, one address for every date.

Promises: only programs of this machine that mean this server are answered (Host and Origin
are checked before a body is read); a client that opened by `initialize` has a session, one
of 2026-07-28 needs none; an answer is JSON, or an event stream where it takes long or where
the client takes nothing else. Nothing here can be resumed: there is nothing to miss.

Units   *_s seconds
Source  MCP 2025-06-18, 2025-11-25, 2026-07-28, "Streamable HTTP".
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator

from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import (BOARD_ANSWER_S, BOARD_LISTENS_MAX, BOARD_MESSAGE_BYTES_MAX, BOARD_SESSIONS_MAX, PROGRESS_EVERY_S)
from rulith.gateway.board_server import BoardHost, tools_server
from rulith.net.loopback import is_foreign_host, is_foreign_page
from rulith.net.messages import Request, Response, StreamResponse
from rulith.net.server import Server, serve
from rulith.wire import jsonrpc, mcp_stateless
from rulith.wire.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST
from rulith.wire.mcp_http import EVENTS, JSON, event, stream_headers, takes
from rulith.wire.mcp_server import REFUSED_HERE, SESSION_UNKNOWN, Rejected, error_body
from rulith.wire.mcp_tools import BY_HANDSHAKE, SERVED, Call, Listen, Opened, Send, progress
from rulith.wire.sse import encode_comment

HOST = "127.0.0.1"
PATH = "/mcp"


class BoardHttp:
    """Serves PATH."""

    def __init__(self, host: BoardHost) -> None:
        self._host = host
        self._server = tools_server()
        self._sessions: OrderedDict[str, str] = OrderedDict()      # id -> date, the longest unused first
        self._listening: set[asyncio.Future] = set()

    # --- before the body ---------------------------------------------------------------

    def head_check(self, request: Request) -> Response | None:
        if is_foreign_page(request):
            return _text(403, "Pages of another origin are not served here.")
        if is_foreign_host(request):
            return _text(421, "This server answers to its own loopback address only.")
        if request.path != PATH:
            return _json(404, error_body(None, REFUSED_HERE, f"There is nothing here; the Board is at {PATH}."))
        if request.method not in ("POST", "DELETE"):
            # Streams to a client are opened by subscriptions/listen; a GET has nothing to wait for.
            return _json(405, error_body(None, REFUSED_HERE, "POST messages here; DELETE ends a session."), [("allow", "POST, DELETE")])
        if request.method == "POST":
            kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
            if kind != JSON:
                return _json(415, error_body(None, INVALID_REQUEST, f"Send a body of {JSON}."))
            if not (takes(request.headers.get("accept"), JSON) or takes(request.headers.get("accept"), EVENTS)):
                return _json(406, error_body(None, INVALID_REQUEST, f"Accept {JSON} and {EVENTS}."))
        request.body_bytes_max = BOARD_MESSAGE_BYTES_MAX
        return None

    # --- one request -------------------------------------------------------------------

    async def handle(self, request: Request) -> Response | StreamResponse:
        try:
            if request.method == "DELETE":
                self._sessions.pop(self._session_of(request, None), None)
                return Response(204)
            return await self._post(request)
        except Rejected as rejected:
            return _json(rejected.status, rejected.body)

    async def _post(self, request: Request) -> Response | StreamResponse:
        headers = request.headers.getall
        try:
            messages, is_batch = jsonrpc.read_messages(request.body, "the body")
        except Refused as refusal:
            if refusal.code != "number_out_of_range":
                return _json(400, jsonrpc.error_of(refusal))
            date = self._sessions.get(request.headers.get("mcp-session-id") or "")
            return await self._act(self._server.inexact(request.body, refusal, date, headers), request)
        if is_batch:
            raise Rejected(400, INVALID_REQUEST, "Send one JSON-RPC message a request; batches are not served.")
        message = messages[0]
        if not isinstance(message, jsonrpc.Request):
            return Response(202)                # a call that was begun is finished; a client that hung up asked for no more
        return await self._act(self._server.take(message, self._date_of(request, message), headers), request)

    def _date_of(self, request: Request, message: jsonrpc.Request) -> str | None:
        """The date of the session a request belongs to; None for one that needs none. Raises Rejected."""
        if message.method in ("initialize", "server/discover") or mcp_stateless.has_envelope(message.params):
            return None
        stated = request.headers.get(mcp_stateless.VERSION_HEADER)
        if stated == mcp_stateless.DATE:
            return None
        if stated is not None and stated not in BY_HANDSHAKE:
            raise mcp_stateless.unsupported(message.id, stated, SERVED)
        return self._sessions[self._session_of(request, message.id)]

    def _session_of(self, request: Request, request_id: object) -> str:
        session_id = request.headers.get("mcp-session-id")
        if session_id is None:
            raise Rejected(400, REFUSED_HERE, "Send the mcp-session-id that initialize answered with.", request_id=request_id,
                           data={"reason": "session_required"})
        if session_id not in self._sessions:
            raise Rejected(404, SESSION_UNKNOWN, "This session is unknown or ended; initialize again.", request_id=request_id)
        self._sessions.move_to_end(session_id)
        return session_id

    async def _act(self, step: Send | Call | Listen | object, request: Request) -> Response | StreamResponse:
        if isinstance(step, Opened):
            session_id = mint("board_")
            self._sessions[session_id] = step.date
            while len(self._sessions) > BOARD_SESSIONS_MAX:
                self._sessions.popitem(last=False)
            return self._whole(step, request, [("mcp-session-id", session_id)])
        if isinstance(step, Send):
            return self._whole(step, request)
        if isinstance(step, Listen):
            return self._listen(step, request)
        assert isinstance(step, Call)
        return await self._call(step, request)

    def _whole(self, step: Send, request: Request, rows: list[tuple[str, str]] = []) -> Response:  # noqa: B006  never changed
        if takes(request.headers.get("accept"), JSON):
            return _json(step.status, step.body, rows)
        return Response(step.status, [*stream_headers(), *rows], event(step.body))

    async def _call(self, call: Call, request: Request) -> Response | StreamResponse:
        running = asyncio.ensure_future(self._host.call(call))
        if takes(request.headers.get("accept"), JSON):
            patience_s = BOARD_ANSWER_S if takes(request.headers.get("accept"), EVENTS) else None
            if (await asyncio.wait({running}, timeout=patience_s))[0]:
                return _json(200, self._server.answer(call, running.result()))
        return StreamResponse(200, stream_headers(), self._stream(call, running))

    async def _stream(self, call: Call, running: asyncio.Future) -> AsyncIterator[bytes]:
        """Signs of life while the call runs, then its answer. A client that hangs up stops nothing."""
        step = 0
        while not (await asyncio.wait({running}, timeout=PROGRESS_EVERY_S))[0]:
            step += 1
            yield event(progress(call.progress_token, step)) if call.progress_token is not None else encode_comment("computing")
        yield event(self._server.answer(call, running.result()))

    def _listen(self, listen: Listen, request: Request) -> Response | StreamResponse:
        if not takes(request.headers.get("accept"), EVENTS):
            return _json(406, error_body(listen.id, INVALID_REQUEST, f"The answer is a stream; accept {EVENTS}."))
        if len(self._listening) >= BOARD_LISTENS_MAX:
            return _json(503, error_body(listen.id, INTERNAL_ERROR, f"At most {BOARD_LISTENS_MAX} streams are kept open."))
        return StreamResponse(200, stream_headers(), self._keep(listen))

    async def _keep(self, listen: Listen) -> AsyncIterator[bytes]:
        ended: asyncio.Future = asyncio.get_running_loop().create_future()
        self._listening.add(ended)
        try:
            yield event(listen.first)
            while not (await asyncio.wait({ended}, timeout=PROGRESS_EVERY_S * 3))[0]:
                yield encode_comment("nothing changed")
            yield event(listen.last)
        finally:
            self._listening.discard(ended)

    # --- the server ----------------------------------------------------------------------

    async def listen(self, port: int) -> Server:
        """Raises Refused port_in_use, address_unusable."""
        return await serve(self.handle, HOST, port, head_check=self.head_check)

    def end_streams(self) -> None:
        for ended in self._listening:
            if not ended.done():
                ended.set_result(None)


def _json(status: int, body: dict, rows: list[tuple[str, str]] = []) -> Response:  # noqa: B006  never changed
    return Response(status, [("content-type", JSON), ("cache-control", "no-store"), *rows], jsonrpc.encode(body))


def _text(status: int, text: str) -> Response:
    return Response(status, [("content-type", "text/plain")], text.encode() + b"\n")
