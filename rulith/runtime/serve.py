"""The service's door on loopback: who may ask, which route leads where, and in which words.

Every request shows the service's key and comes from this machine: no page of another
origin, no rebound name. A refusal says what is wrong; the codes are turned into HTTP here
and nowhere else.

Source  the MCP surface, "HTTP service"
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import STOP_BODY_BYTES_MAX, TASK_BODY_BYTES_MAX
from rulith.net.connection import HttpLimits
from rulith.net.loopback import is_foreign_host, is_foreign_page
from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.net.server import Server, serve
from rulith.runtime.service import Service
from rulith.runtime.tasks import SESSION_KEY_CHARS_MAX, PROOF_HEADER, SELECTION_HEADER, read_task

KEY_HEADER = "x-rulith-serve"
HOST = "127.0.0.1"
_STATUS = {
    "task_refused": 400, "serve_gate": 403, "serve_body": 403, "serve_route": 404, "request_conflict": 409, "request_interrupted": 409,
    "conversation_archived": 409, "model_confirmation": 409, "slots_busy": 429, "queue_full": 429, "serve_draining": 503, "history_full": 507,
    "history_unusable": 507, "disk_full": 507, "write_failed": 507,
}
_STATES = {"request_interrupted": "interrupted", "model_confirmation": "model-confirmation"}
_QUEUED = "It is queued; GET /runs tells how it goes, and ?stream=1 as it goes."


class Door:
    """`listen` once, `close` at the end."""

    def __init__(self, service: Service, key: str) -> None:
        self._service = service
        self._key = key.encode()
        self._server: Server | None = None
        self._routes: dict[tuple[str, str], Callable[[Request], Response | StreamResponse]] = {
            ("POST", "/task"): self._task, ("GET", "/runs"): self._runs, ("POST", "/conversation/archive"): self._archive,
            ("POST", "/turn/stop"): self._stop}

    async def listen(self, port: int) -> None:
        """Raises Refused port_in_use, address_unusable."""
        limits = HttpLimits(connections_max=256, body_bytes_max=TASK_BODY_BYTES_MAX)
        self._server = await serve(self._handle, HOST, port, limits=limits, head_check=self._check_head)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://{HOST}:{self._server.port}"

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close(drain_s=1.0)

    def _check_head(self, request: Request) -> Response | None:
        """The gate, before a body is read."""
        try:
            self._gate(request)
            size = request.headers.get("content-length") or "0"
            if size.isascii() and size.isdigit() and int(size) > TASK_BODY_BYTES_MAX:
                raise Refused("serve_body", problem=f"it is longer than {TASK_BODY_BYTES_MAX} bytes")
        except Refused as refusal:
            return _refusal(refusal)
        return None

    def _gate(self, request: Request) -> None:
        in_header = request.headers.get(KEY_HEADER)
        header_only = request.path in ("/conversation/archive", "/turn/stop")
        given = in_header if in_header is not None or header_only else request.query.get("k")
        if not hmac.compare_digest((given or "").encode("utf-8", "replace"), self._key):
            raise Refused("serve_gate", problem=f"it does not show the service's key in {KEY_HEADER}" + ("" if header_only else " or ?k="))
        if is_foreign_page(request):
            raise Refused("serve_gate", problem="a page of another origin sent it")
        if is_foreign_host(request):
            raise Refused("serve_gate", problem="it names another host than this machine")

    async def _handle(self, request: Request) -> Response | StreamResponse:
        try:
            route = self._routes.get((request.method, request.path))
            if route is None:
                raise Refused("serve_route", route=f"{request.method[:16]} {request.path[:100]}")
            return route(request)
        except Refused as refusal:
            return _refusal(refusal)

    def _task(self, request: Request) -> Response:
        headers = {name: request.headers.get(name) for name in (PROOF_HEADER, SELECTION_HEADER)}
        receipt = self._service.submit(read_task(_body(request, TASK_BODY_BYTES_MAX), headers))
        return json_response(202, {"ok": True, **receipt, "teaching": _QUEUED})

    def _runs(self, request: Request) -> Response | StreamResponse:
        wants_stream = "text/event-stream" in (request.headers.get("accept") or "") or request.query.get("stream") == "1"
        if wants_stream:
            return StreamResponse(200, {"content-type": "text/event-stream", "cache-control": "no-store"}, self._service.journal.follow())
        return json_response(200, {"ok": True, "url": self.url, **self._service.document()}, {"cache-control": "no-store"})

    def _archive(self, request: Request) -> Response:
        body = _object(request, TASK_BODY_BYTES_MAX, {"sessionKey", "archived"})
        if not isinstance(body.get("archived"), bool):
            raise Refused("task_refused", problem="archived is neither true nor false")
        key = _session_key(body)
        state = self._service.archive(key, body["archived"])
        return json_response(200, {"ok": True, "sessionKey": key, "archived": body["archived"], "state": state})

    def _stop(self, request: Request) -> Response:
        body = _object(request, STOP_BODY_BYTES_MAX, {"sessionKey", "id"})
        task_id = body.get("id", "")
        if not isinstance(task_id, str) or len(task_id) > SESSION_KEY_CHARS_MAX:
            raise Refused("task_refused", problem="id is not a task's id")
        key = _session_key(body)
        return json_response(200, {"ok": True, "sessionKey": key, "state": self._service.stop_turn(key, task_id)})


def _body(request: Request, bytes_max: int) -> object:
    kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused("serve_body", problem="its content type is not application/json")
    if len(request.body) > bytes_max:
        raise Refused("serve_body", problem=f"it is longer than {bytes_max} bytes")
    try:
        return read_json(request.body, "the body")
    except Refused as refusal:
        raise Refused("serve_body", problem=refusal.happened.rstrip(".")) from None


def _object(request: Request, bytes_max: int, members: set[str]) -> dict:
    body = _body(request, bytes_max)
    if not isinstance(body, dict) or not set(body) <= members:
        raise Refused("task_refused", problem=f"the body is not one JSON object of {', '.join(sorted(members))}")
    return body


def _session_key(body: dict) -> str:
    key = body.get("sessionKey")
    if not isinstance(key, str) or not 0 < len(key) <= SESSION_KEY_CHARS_MAX:
        raise Refused("task_refused", problem=f"sessionKey is not a text of 1 to {SESSION_KEY_CHARS_MAX} characters")
    return key


def _refusal(refusal: Refused) -> Response:
    body = {"ok": False, "teaching": str(refusal), "errorCode": refusal.code}
    if refusal.code in _STATES:
        body["state"] = _STATES[refusal.code]
    if refusal.code == "model_confirmation":
        body["modelService"] = refusal.facts["service"]
    return json_response(_STATUS[refusal.code], body)
