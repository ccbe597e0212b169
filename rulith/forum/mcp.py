"""The agents' side over HTTP: MCP at /mcp, in every date, with no session between requests.

Promises: the key is checked before a method is looked at or a body read, and once more when
what it may begin begins; a call that waits shows signs of life to a client that asked for
them, ends when it is cancelled, its client goes or its key ends, and then holds nothing;
every request is answered.

Units   *_s seconds
Source  the council surface, "HTTP and MCP transport", "wait_for_updates"
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import COUNCIL_BATCH_MAX, COUNCIL_BODY_BYTES_MAX, COUNCIL_SIGN_S
from rulith.council import keys
from rulith.council.kinds import number_of, words_of
from rulith.council.shapes import Actor
from rulith.forum.forum import Forum
from rulith.forum.mcp_methods import Methods
from rulith.forum.mcp_streams import SIGN, Listening, both_notices, moving
from rulith.forum.mcp_tools import WAIT, CouncilTools, refused
from rulith.forum.waiting import Subscription
from rulith.net.messages import Request, Response, StreamResponse
from rulith.wire import jsonrpc, mcp_stateless
from rulith.wire.mcp_http import EVENTS, JSON, event, stream_headers, takes
from rulith.wire.mcp_server import REFUSED_HERE, SESSION_UNKNOWN, Rejected, call_key, error_body, result_body
from rulith.wire.mcp_tools import progress, progress_token

PATH = "/mcp"
METHODS = ("POST", "GET", "DELETE")
CHALLENGE = 'Bearer realm="rivendell"'
NO_STORE = ("cache-control", "no-store")


class CouncilMcp:
    def __init__(self, forum: Forum, tools: CouncilTools) -> None:
        self.forum, self.tools = forum, tools
        self.methods = Methods(forum)
        self._running: dict[tuple, list[_Running]] = {}           # (key's digest, request id) -> what a cancellation stops

    # --- before the body -----------------------------------------------------------------

    def head_check(self, request: Request) -> Response | None:
        """401 without a key that is one, then 405."""
        if self._actor(request) is None:
            return unknown_key()
        if request.method not in METHODS:
            return _json(405, error_body(None, REFUSED_HERE, f"{', '.join(METHODS)} are served here."), [("allow", ", ".join(METHODS))])
        request.body_bytes_max = COUNCIL_BODY_BYTES_MAX
        return None

    def _actor(self, request: Request) -> Actor | None:
        return self.forum.authenticate(request.headers.get("authorization"))

    # --- one request ---------------------------------------------------------------------

    async def handle(self, request: Request) -> Response | StreamResponse:
        actor = self._actor(request)
        if actor is None:                   # the key ended while the body came in
            return unknown_key()
        if request.method == "DELETE":
            return Response(204)            # no session is kept, so there is none to end
        if request.method == "GET":
            return self._stream(actor, request)
        self.forum.presence.contact(actor.agent_id)
        try:
            return await self._post(actor, request)
        except Rejected as rejected:
            return _json(rejected.status, rejected.body)

    def _stream(self, actor: Actor, request: Request) -> Response | StreamResponse:
        accept = request.headers.get("accept")
        if not (accept is None or "*/*" in accept or takes(accept, EVENTS)):
            return _json(406, error_body(None, REFUSED_HERE, f"The answer is a stream; accept {EVENTS}."))
        try:
            self.forum.presence.check_room(actor.agent_id)
        except Refused as refusal:
            return _json(409, error_body(None, number_of(refusal), words_of(refusal)))
        last = request.headers.get("last-event-id") or ""
        after = int(last) if last.isascii() and last.isdigit() and len(last) < 19 else None
        return StreamResponse(200, stream_headers(), moving(self.forum, lambda: self._actor(request), both_notices, after=after))

    async def _post(self, actor: Actor, request: Request) -> Response | StreamResponse:
        unread = 400 if request.headers.get(mcp_stateless.VERSION_HEADER) == mcp_stateless.DATE else 200
        try:
            sent = read_json(request.body, "the body")
        except Refused as refusal:
            called = jsonrpc.read_loosely(request.body)
            if called is None or called.method != "tools/call":
                return _json(unread, jsonrpc.error_of(refusal))
            return _json(200, result_body(called.id, refused(Refused("council_invalid", problem=refusal.happened.rstrip(".")))))
        if isinstance(sent, list):
            return await self._batch(actor, request, sent)
        message = _read(sent)
        if isinstance(message, dict):
            return _json(unread, message)
        if not isinstance(message, jsonrpc.Request):
            self._heard(request, message)
            return Response(202)
        stateless = self.methods.is_stateless(message, request.headers.getall)
        if stateless and message.method == "subscriptions/listen":
            return self._listen(actor, request, message)
        if message.method != "tools/call":
            return self._whole(request, result_body(message.id, self.methods.result(actor, message, stateless)))
        token = progress_token(message.params) if takes(request.headers.get("accept"), EVENTS) else None
        task = self._call(actor, request, message, stateless)
        if token is None and takes(request.headers.get("accept"), JSON):
            answer = await _outcome(task)
            return self._whole(request, answer) if answer is not None else Response(202)
        return StreamResponse(200, stream_headers(), _signs(task, token))

    async def _batch(self, actor: Actor, request: Request, sent: list) -> Response:
        """An array is answered by an array of what has answers, in its order; nobody hears of it in pieces."""
        if not sent or len(sent) > COUNCIL_BATCH_MAX:
            return _json(200, jsonrpc.error(None, jsonrpc.INVALID_REQUEST, f"An array holds 1 to {COUNCIL_BATCH_MAX} messages."))
        answers: list = []
        for each in sent:
            message = _read(each)
            if isinstance(message, (jsonrpc.Notification, jsonrpc.Response)):
                self._heard(request, message)
            elif isinstance(message, dict):
                answers.append(message)
            else:
                try:
                    is_call = message.method == "tools/call"
                    answers.append(self._call(actor, request, message, False) if is_call else result_body(message.id, self.methods.result(actor, message, False)))
                except Rejected as rejected:
                    answers.append(rejected.body)
        told = [await _outcome(each) if isinstance(each, asyncio.Task) else each for each in answers]
        return _json(200, told) if told else Response(202)

    def _listen(self, actor: Actor, request: Request, message: jsonrpc.Request) -> StreamResponse:
        wanted = message.params.get("notifications")
        if not isinstance(wanted, dict):
            raise mcp_stateless.rejection(message.id, jsonrpc.INVALID_PARAMS, "params.notifications says which notifications are wanted; {} wants none.")
        try:
            self.forum.presence.check_room(actor.agent_id)
        except Refused as refusal:
            raise mcp_stateless.rejection(message.id, number_of(refusal), words_of(refusal)) from None
        listening = Listening(message.id, wanted)
        return StreamResponse(200, stream_headers(), moving(self.forum, lambda: self._actor(request), listening.notices, first=listening.first))

    @staticmethod
    def _whole(request: Request, body: dict) -> Response:
        accept = request.headers.get("accept")
        return _json(200, body) if takes(accept, JSON) or not takes(accept, EVENTS) else Response(200, stream_headers(), event(body))

    # --- calls ---------------------------------------------------------------------------

    def _call(self, actor: Actor, request: Request, message: jsonrpc.Request, stateless: bool) -> asyncio.Task:
        """A tool as a task that gives its answer; what it waits for ends with its client. Raises Rejected."""
        name = self.methods.tool_of(message, stateless)
        running = _Running(self.forum.bus.subscribe(actor.agent_id), name == WAIT)
        key = (_key_digest(request), call_key(message.id))

        async def run() -> dict:
            still = self._actor(request)        # the key may have ended between the check and here
            call = self.tools.call
            found = refused(Refused("council_revoked")) if still is None else await running.run(lambda: call(still, name, message.params.get("arguments"), running.subscription))
            return result_body(message.id, self.methods.dressed(message.method, found, stateless))

        def done(ended: asyncio.Task) -> None:
            leaving.cancel()
            self._running[key].remove(running)
            if not self._running[key]:
                del self._running[key]

        task = asyncio.ensure_future(run())
        leaving = asyncio.ensure_future(request.wait_client_gone())
        leaving.add_done_callback(lambda gone: task.cancel())
        self._running.setdefault(key, []).append(running)
        task.add_done_callback(done)
        return task

    def _heard(self, request: Request, message: jsonrpc.Message) -> None:
        """A cancellation ends what waits under its id, as if the time were up, and what looks into a folder, with nothing done."""
        if isinstance(message, jsonrpc.Notification) and message.method == "notifications/cancelled":
            request_id = message.params.get("requestId")
            if jsonrpc.is_id(request_id):
                for running in self._running.get((_key_digest(request), call_key(request_id)), ()):
                    running.cancel()


class _Running:
    """One call that a cancellation may end: a wait has its answer then, another is left where it stands, which is before it wrote."""

    def __init__(self, subscription: Subscription, is_wait: bool) -> None:
        self.subscription, self._is_wait = subscription, is_wait
        self._task: asyncio.Task | None = None

    async def run(self, call: Callable[[], Awaitable[dict]]) -> dict:
        """The result of the tool. Another client of the same key whose id is the same hears that it was cancelled, and asks again."""
        if self._is_wait:
            return await call()
        if not self.subscription.stopped:
            self._task = asyncio.current_task()
            try:
                return await call()
            except asyncio.CancelledError:
                if not self.subscription.stopped:
                    raise                       # its client went
            finally:
                self._task = None
        return refused(Refused("council_cancelled"))

    def cancel(self) -> None:
        self.subscription.stop()
        if self._task is not None:
            self._task.cancel()


async def _outcome(task: asyncio.Task) -> dict | None:
    """The answer, or None where the client went; a caller that is cancelled ends the wait too."""
    try:
        await asyncio.wait({task})
        return None if task.cancelled() else task.result()
    finally:
        task.cancel()


async def _signs(task: asyncio.Task, token: str | int | None) -> AsyncIterator[bytes]:
    """Signs of life while the call waits, then its answer."""
    step = 0
    try:
        while not (await asyncio.wait({task}, timeout=COUNCIL_SIGN_S))[0]:
            step += 1
            yield event(progress(token, step)) if token is not None else SIGN
        if not task.cancelled():
            yield event(task.result())
    finally:
        task.cancel()


def _read(sent: object) -> jsonrpc.Message | dict:
    """One message, or the error that answers what is none."""
    try:
        return jsonrpc.read_message(sent)
    except Refused as refusal:
        return jsonrpc.error_of(refusal, sent["id"] if isinstance(sent, dict) and jsonrpc.is_id(sent.get("id")) else None)


def _key_digest(request: Request) -> str:
    return keys.key_hash(keys.bearer(request.headers.get("authorization")))


def unknown_key() -> Response:
    """What answers a request that brings no key of an agent."""
    message = "This key is missing, unknown or revoked. Stop; your person can give you another."
    return _json(401, error_body(None, SESSION_UNKNOWN, message), [("www-authenticate", CHALLENGE)])


def _json(status: int, body: object, rows: list[tuple[str, str]] = []) -> Response:  # noqa: B006  never changed
    return Response(status, [("content-type", JSON), NO_STORE, *rows], jsonrpc.encode(body))
