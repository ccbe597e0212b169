"""The page's HTTP: which request reaches what, and how a refusal looks.

Every answer of a data route is one JSON object; a refusal is
`{ok: false, errorCode, teaching, happened, next, facts}`. The head is judged before a body
is read.

Source  the workbench surface; the design's rules on the page (§8, D11)
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import COUNCIL_BODY_BYTES_MAX, DOCUMENT_BODY_BYTES_MAX, FEED_SIGN_OF_LIFE_S, LOCAL_API_BODY_BYTES_MAX, MATERIAL_BODY_BYTES_MAX, REQUEST_BODY_BYTES_MAX
from rulith.disk.profiles import check_folder
from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.workbench import calculation, jobs, materials, talk_api
from rulith.workbench.authoring import BODY as AUTHORING_BODY
from rulith.workbench.authoring import STATUS as AUTHORING_STATUS
from rulith.workbench.authoring import Authoring
from rulith.workbench.account_api import PREFIX as ACCOUNT, STATUS as ACCOUNT_STATUS, AccountRoutes
from rulith.workbench.bench import Workbench
from rulith.workbench.console import PREFIX as CONSOLE
from rulith.workbench.console import pass_through
from rulith.workbench.council import API as COUNCIL
from rulith.workbench.council import OPERATION as COUNCIL_ROLE
from rulith.workbench.gate import Gate
from rulith.workbench.instances import Instance
from rulith.workbench.pages import PROTECT, Pages, locked_page
from rulith.workbench.profiles import PREFIX as PROFILES
from rulith.workbench.profiles import STATUS as PROFILES_STATUS
from rulith.workbench.profiles import Profiles
from rulith.workbench.settings import PREFIX as SETTINGS
from rulith.workbench.settings import STATUS as SETTINGS_STATUS
from rulith.workbench.settings import Settings
from rulith.workbench.supervision import Is
from rulith.workbench.tools_api import STATUS as TOOLS_STATUS
from rulith.workbench.tools_api import ToolRoutes

STATUS = {**ACCOUNT_STATUS, **TOOLS_STATUS, **PROFILES_STATUS, **SETTINGS_STATUS, **AUTHORING_STATUS, "token_unknown": 401, "request_too_large": 413, "page_locked": 401, "origin_foreign": 403, "host_not_loopback": 403, "route_unknown": 404,
          "instance_unknown": 404, "gateway_not_ready": 503, "gateway_answer": 502, "input_changed": 409, "run_under_way": 409,
          "run_not_running": 409, "job_closed_otherwise": 409, "job_not_in_input": 409, "worker_not_online": 409,
          "agent_not_ready": 409, "agent_started": 409, "material_custodian_offline": 503, "material_submission_mismatch": 409, "material_owner_changed": 409,
          "council_not_ready": 503, "council_unanswered": 502, "council_not_ours": 409}
NO_STORE = [("cache-control", "no-store"), ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin")]
INSTANCE_PATH = re.compile(r"/i/([A-Za-z0-9_-]{1,64})/([a-z/-]{1,32})", re.ASCII)
ICON = "/favicon.ico"
ACTIVITY_ROWS = 300
TASK_OPTIONS = ("sessionKey", "caseId", "caseType", "businessKey", "historyModelDestination", "attachments")
# What of the gateway's reads the page may ask, and with which query members.
READS = {"case": ("case",), "proof": ("id", "atom"), "why-not": ("atom",), "receipt": ("case",),
         "cases": ("text", "from", "limit"), "facts": ("case", "text", "tier", "from", "limit"), "moments": ("case",), "between": ("case", "from", "to")}
WITHOUT_FOLDER = ("worker", "agent", "turn/stop", "demo/stop", "authoring/stop", "profile/forget")      # a start is judged by itself
LOOK_BACK_S = 60.0               # a moment is folded from the ledger's first row on

Route = Callable[[Request, Instance], Awaitable[object]]


class Api:
    """The handler and the head check of the workbench's server."""

    def __init__(self, bench: Workbench, gate: Gate, pages: Pages) -> None:
        self.bench = bench
        self.gate = gate
        self.pages = pages
        self.deliveries = materials.Deliveries(bench.materials_key)
        bench.takes_read = self.deliveries.heard
        self._gets: dict[str, Route] = {"state": self._board, "demo": self._demo, "activity": self._activity,
                                        **talk_api.gets(bench.feed),
                                        "materials": lambda request, instance: materials.listed(bench, instance)}
        self.tools = tools = ToolRoutes(bench)
        self.profiles = Profiles(bench)
        self.account = AccountRoutes(bench)
        self.authoring = Authoring(bench)
        self.settings = Settings(bench)
        self._gets |= {**tools.gets, **self.profiles.gets, **self.authoring.gets}
        self._posts: dict[str, Route] = {**tools.posts, **self.profiles.posts, **self.authoring.posts, "demo": self._run, "demo/input": self._input, "demo/stop": self._stop_run,
                                         "worker": self._worker_operation, "agent": self._agent_operation,
                                         "task": self._task,
                                         "turn/stop": self._passed("/turn/stop", ("sessionKey",), ("id",)),
                                         **talk_api.posts(bench.feed),
                                         "materials": self._add_material,
                                         "materials/submit": self._attach, "materials/deliver": self._deliver}

    # the head

    def head_check(self, request: Request) -> Response | None:
        """Who asks, before a body is read."""
        # the gateway judges what its own Console may be sent; a Capability file is larger than any form
        request.body_bytes_max = REQUEST_BODY_BYTES_MAX if request.path.startswith(CONSOLE) else LOCAL_API_BODY_BYTES_MAX
        try:
            self._check_head(request)
        except Refused as refusal:
            return refused(refusal)
        return None

    def _check_head(self, request: Request) -> None:
        self.gate.check_place(request)
        path, method = request.path, request.method
        if path.startswith(CONSOLE) or path == CONSOLE.rstrip("/"):
            if not self.gate.has_cookie(request):
                raise Refused("page_locked")
            if method != "GET":
                self.gate.check_asker(request)
        elif path in ("/", ICON) or path.startswith("/ui/"):
            if path.startswith("/ui/") and not self.gate.has_cookie(request):
                raise Refused("page_locked")
            if method != "GET":
                raise _no_route(request)
        elif path == "/api/token":
            if method != "POST":
                raise _no_route(request)
            self.gate.check_asker(request)
            self.gate.check_taker(request)
        else:
            self.gate.check_asker(request)
            if path.startswith("/i/") and path.endswith("/materials/deliver"):
                self.deliveries.check_key(request)       # of an Agent of this home; no page has it
            else:
                self.gate.check_token(request)
            if not self._has_route(method, path):
                raise _no_route(request)
            _check_sending(request)
            if path.startswith("/i/") and path.endswith("/materials"):
                request.body_bytes_max = MATERIAL_BODY_BYTES_MAX
            elif path.startswith("/i/") and path.endswith(AUTHORING_BODY):
                request.body_bytes_max = DOCUMENT_BODY_BYTES_MAX
            elif path.startswith(COUNCIL):
                request.body_bytes_max = COUNCIL_BODY_BYTES_MAX
            if int(request.headers.get("content-length") or 0) > request.body_bytes_max:
                raise Refused("request_too_large", path=path[:100], limit=request.body_bytes_max)

    def _has_route(self, method: str, path: str) -> bool:
        if (found := INSTANCE_PATH.fullmatch(path)) is not None:
            return found[2] in {"GET": {**self._gets, **READS}, "POST": self._posts}.get(method, {})
        if method == "GET":
            return path in ("/api/state", "/events", SETTINGS, f"{SETTINGS}/log")
        return method == "POST" and (path == COUNCIL_ROLE or path.startswith(COUNCIL) or path.removeprefix(PROFILES) in self.profiles.home_posts
                                     or path.removeprefix(SETTINGS) in self.settings.posts or path.removeprefix(ACCOUNT) in self.account.posts)

    # the body

    async def handle(self, request: Request) -> Response | StreamResponse:
        """Every request whose head was let in."""
        try:
            return await self._answer(request)
        except Refused as refusal:
            return refused(refusal)

    async def _answer(self, request: Request) -> Response | StreamResponse:
        path, method = request.path, request.method
        if path == "/":
            return self._shell(request)
        if path == ICON:
            return Response(204, NO_STORE)               # our own page names its icon; browsers ask all the same
        if path == "/api/token":
            return _ok({"token": self.gate.token()})
        if path.startswith("/ui/"):
            if (found := self.pages.file(request)) is not None:
                return found
        elif path == CONSOLE.rstrip("/") and method == "GET":
            return Response(308, [("location", CONSOLE), *NO_STORE])
        elif path.startswith(CONSOLE) and self.bench.account.origin:
            if path != CONSOLE or method != "GET":
                raise Refused("console_elsewhere", origin=self.bench.account.origin)
            return Response(302, [("location", self.bench.account.origin + CONSOLE), *NO_STORE])
        elif path.startswith(CONSOLE) and method in ("GET", "HEAD", "POST"):
            return await pass_through(request, self.bench.client, self.bench.link.url, self.gate.cookie_name)
        elif path.startswith(COUNCIL):
            return await self.bench.council.pass_through(request)
        elif path == COUNCIL_ROLE:
            return _ok(self._council_operation(request))
        elif path.startswith(ACCOUNT):
            return _ok(await self.account.answer(request))
        elif path.startswith(PROFILES):
            return _ok(await self.profiles.answer(request))
        elif path == SETTINGS or path.startswith(f"{SETTINGS}/"):
            return _ok(await self.settings.answer(request))
        elif path == "/api/state":
            return _ok(self.bench.snapshot())
        elif path == "/events":
            return self._events(request)
        elif (found := INSTANCE_PATH.fullmatch(path)) is not None:
            if method == "GET" and found[2] in READS:
                return await self._read(request, self.bench.instance(found[1]))
            instance = self.bench.instance(found[1])
            if method == "POST" and found[2] not in WITHOUT_FOLDER:
                check_folder(instance.profile)
            answer = await {"GET": self._gets, "POST": self._posts}[method][found[2]](request, instance)
            return answer if isinstance(answer, Response) else _ok(answer)
        raise _no_route(request)

    def _shell(self, request: Request) -> Response:
        cookie = self.gate.seat(request)
        if cookie is None and not self.gate.has_cookie(request):
            refusal = Refused("page_locked")
            return locked_page(refusal.happened, refusal.next_step)
        shell = self.pages.shell()
        if cookie is not None:
            shell.headers = [*shell.headers, ("set-cookie", cookie)]
        return shell

    def _events(self, request: Request) -> StreamResponse:
        after, wait = request.query.get("after", "0"), request.query.get("wait")
        seen = int(after) if after.isascii() and after.isdigit() and len(after) < 16 else 0
        wait_s = None if wait is None else min(int(wait), FEED_SIGN_OF_LIFE_S) if wait.isascii() and wait.isdigit() and len(wait) < 4 else 0
        headers = [("content-type", "text/event-stream"), ("x-accel-buffering", "no"), *NO_STORE]
        return StreamResponse(200, headers, self.bench.feed.stream(seen, wait_s))

    # reading

    async def _board(self, request: Request, instance: Instance) -> object:
        """The Agent's Cases, operations, decisions and Connection, as the gateway last told them."""
        if instance.board is None:
            raise Refused("gateway_not_ready", problem=self.bench.gateway_row()["detail"] or "it is starting")
        return instance.board

    async def _read(self, request: Request, instance: Instance) -> Response:
        """What the gateway says, with nothing added: a receipt is signed as it stands."""
        name = request.path.rpartition("/")[2]
        query = {key: request.query[key] for key in READS[name] if key in request.query}
        patience = {"timeout_s": LOOK_BACK_S} if name == "between" else {}
        return json_response(200, await self.bench.link.get(name, {"agent": instance.profile.agent_id, **query}, **patience), NO_STORE)

    async def _demo(self, request: Request, instance: Instance) -> object:
        return {"input": calculation.look(instance.profile.workspace), "runs": [run.row() for run in instance.runs]}

    async def _activity(self, request: Request, instance: Instance) -> object:
        rows = self.bench.feed.rows(instance=instance.id)
        return {"rows": [row for row in rows if row["src"] == "worker"][-ACTIVITY_ROWS:]}

    # acting

    async def _run(self, request: Request, instance: Instance) -> object:
        body = _body(request, ("caseType", "jobId"))
        run = await jobs.start(self.bench, instance, body["caseType"], body["jobId"])
        return {"run": run.row()}

    async def _stop_run(self, request: Request, instance: Instance) -> object:
        _body(request, ())
        await jobs.stop(self.bench, instance)
        return {}

    async def _input(self, request: Request, instance: Instance) -> object:
        body = _body(request, ("values", "replaces"))
        calculation.write(instance.profile.workspace, body["values"], body["replaces"])
        self.bench.feed.put("changed", instance=instance.id, what="input")
        return {"input": calculation.look(instance.profile.workspace)}

    async def _add_material(self, request: Request, instance: Instance) -> object:
        return await materials.add(self.bench, instance, materials.members(request, ("name", "mediaType", "bytes"), ("modelDestination",)))

    async def _attach(self, request: Request, instance: Instance) -> object:
        return await materials.attach(instance, _body(request, ("requestId", "sessionKey", "attachments")))

    async def _deliver(self, request: Request, instance: Instance) -> object:
        return await self.deliveries.deliver(instance, _body(request, ("ticket", "ref", "modelDestination")))

    async def _agent_operation(self, request: Request, instance: Instance) -> object:
        operation = _body(request, ("operation",))["operation"]
        if operation == "start":
            jobs.start_talk(self.bench, instance)
        elif operation == "stop":
            instance.talker.role.stop()
        else:
            raise Refused("agent_operation", operation=str(operation)[:40])
        return {"state": instance.talker.role.state.value}

    async def _task(self, request: Request, instance: Instance) -> object:
        body = materials.members(request, ("requestId", "text"), TASK_OPTIONS)
        return await talk_api.task(self.bench.feed, instance, body)

    def _passed(self, path: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Route:
        """A route that the Agent answers: the page's members go to it as they are."""
        async def ask(request: Request, instance: Instance) -> object:
            return await instance.talker.ask(path, materials.members(request, required, optional))
        return ask

    async def _worker_operation(self, request: Request, instance: Instance) -> object:
        operation = _body(request, ("operation",))["operation"]
        if operation == "start":
            if not self.bench.link.url:
                raise Refused("gateway_not_ready", problem="it has not started yet")
            self.bench.check_may_start(instance, "worker")
            instance.worker_wanted = True
            instance.worker.start()
        elif operation == "stop":
            instance.worker_wanted = False
            instance.worker.stop()
        else:
            raise Refused("worker_operation", operation=str(operation)[:40])
        return {"state": "ready" if instance.worker.state is Is.ONLINE else instance.worker.state.value}

    def _council_operation(self, request: Request) -> dict:
        operation, council = _body(request, ("operation",))["operation"], self.bench.council
        if operation not in ("start", "stop"):
            raise Refused("council_operation", operation=str(operation)[:40])
        (council.start if operation == "start" else council.stop)()
        return {"council": council.row()}


def _ok(result: object) -> Response:
    assert isinstance(result, dict)
    return json_response(200, {"ok": True, **result}, NO_STORE)


def refused(refusal: Refused) -> Response:
    """A refusal as the page reads it. Facts that JSON cannot hold are told as text."""
    facts = json.loads(json.dumps(refusal.facts, default=str))
    body = {"ok": False, "errorCode": refusal.code, "teaching": refusal.teaching, "happened": refusal.happened,
            "next": refusal.next_step, "facts": facts}
    status = 500 if refusal.code.startswith("materials_store_") else STATUS.get(refusal.code, 400)
    return json_response(status, body, [*NO_STORE, *PROTECT[:1]])


def _no_route(request: Request) -> Refused:
    return Refused("route_unknown", method=request.method[:12], path=request.path[:100])


def _check_sending(request: Request) -> None:
    """A data route is read or told JSON, nothing else; judged before the body is read. Raises Refused body_not_object."""
    sends = request.headers.get("transfer-encoding") is not None or request.headers.get("content-length") not in (None, "0")
    kinds = request.headers.getall("content-type")
    if sends and (len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != "application/json"):
        raise Refused("body_not_object", path=request.path, problem="its content-type is not application/json")


def _body(request: Request, fields: tuple[str, ...]) -> dict[str, object]:
    """The body's members, exactly `fields`. Raises Refused body_not_object, body_field."""
    path = request.path
    body = read_json(request.body or b"{}", "the body")
    if not isinstance(body, dict):
        raise Refused("body_not_object", path=path, problem=f"it is {type(body).__name__}")
    wanted = ", ".join(fields) or "none"
    if unknown := sorted(set(body) - set(fields)):
        raise Refused("body_field", path=path, problem=f"an unexpected field {unknown[0][:60]!r}", fields=wanted)
    if missing := [name for name in fields if name not in body]:
        raise Refused("body_field", path=path, problem=f"no field {missing[0]!r}", fields=wanted)
    return body
