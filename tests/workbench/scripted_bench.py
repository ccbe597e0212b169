"""What the workbench's tests share: heads without sockets, children without processes, a scripted gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace

from rulith.base.clock import ManualClock, SystemClock
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, create_profile, device_secrets, worker_secrets, write_role_env
from rulith.net.client import HttpClient
from rulith.net.messages import Headers, Request, Response, json_response
from rulith.net.server import serve
from rulith.workbench.api import Api
from rulith.workbench.bench import Workbench
from rulith.workbench.gate import Gate
from rulith.workbench.pages import Pages

KEY = "k" * 32
GRANT = "rlt_dev_scripted"
AGENT, CONNECTION, CASE = "agent_one", "conn_one", "case_0123456789abcdef01234567"
INPUT = "rulith.verified_calculation.input"


def head(method: str, target: str, **fields: str) -> Request:
    """A request head as the server gives it; `_` in a name stands for `-`."""
    rows = {"host": "127.0.0.1:7780", **{name.replace("_", "-"): value for name, value in fields.items()}}
    return Request(method, target, Headers.of({name: value for name, value in rows.items() if value is not None}))


class ScriptedChild:
    """A role's process that does what the test says."""

    def __init__(self, pid: int, on_event: Callable[[Mapping[str, object]], None]) -> None:
        self.pid = pid
        self.tell = on_event
        self.asked_to_stop = False
        self.words = ""
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def exit(self, code: int, words: str = "") -> None:
        self.words = words
        if not self._code.done():
            self._code.set_result(code)

    async def stop(self, grace_s: float = 20.0) -> int:
        self.asked_to_stop = True
        self.exit(0)
        return await self.wait()

    async def wait(self) -> int:
        return await asyncio.shield(self._code)

    def last_words(self) -> str:
        return self.words


class ScriptedSpawn:
    """Hands out scripted children and remembers what each was given."""

    def __init__(self) -> None:
        self.calls: list[SimpleNamespace] = []
        self.made = asyncio.Condition()

    async def __call__(self, role, *, env, args, log_path, on_event):
        child = ScriptedChild(4_000_000 + len(self.calls), on_event)
        self.calls.append(SimpleNamespace(role=role, env=dict(env), args=list(args), child=child))
        async with self.made:
            self.made.notify_all()
        return child

    def of(self, role: str) -> list[SimpleNamespace]:
        return [call for call in self.calls if call.role == role]

    async def wait_for(self, role: str, count: int = 1) -> SimpleNamespace:
        async with self.made:
            await asyncio.wait_for(self.made.wait_for(lambda: len(self.of(role)) >= count), 30)
        return self.of(role)[count - 1]


def closed_board() -> dict:
    """The gateway's state after one completed calculation."""
    return {
        "version": 7, "agents": [{"id": AGENT, "name": "Assistant"}], "passphraseSet": False,
        "connections": [{"id": CONNECTION, "name": "Assistant's Worker", "agentId": AGENT, "line": {"state": "online"}, "tools": [], "sources": []}],
        "cases": [{"agentId": AGENT, "caseId": CASE, "root": "root_1", "caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"},
                   "status": "closed", "disposition": "completed", "openedAt": "2026-10-03T08:00:00.000Z", "closedAt": "2026-10-03T08:00:01.000Z"}],
        "operations": [], "decisions": [],
    }


class ScriptedGateway:
    """A gateway that answers from a dict, and remembers what it was asked."""

    def __init__(self) -> None:
        self.state = {"version": 1, "agents": [{"id": AGENT, "name": "Assistant"}], "passphraseSet": False, "connections": [],
                      "cases": [], "operations": [], "decisions": []}
        self.answers: dict[str, tuple[int, object]] = {}
        self.asked: list[Request] = []
        self.server = None

    async def handle(self, request: Request) -> Response:
        self.asked.append(request)
        if request.path.startswith("/console/"):
            return Response(200, [("content-type", "text/html"), ("set-cookie", "rulith_console=s; Path=/console/"),
                                  ("content-security-policy", "default-src 'none'")], b"console:" + request.body)
        if request.headers.get("authorization") != f"Bearer {GRANT}":
            return json_response(401, {"ok": False, "errorCode": "device_grant_required", "teaching": "The grant is missing."})
        name = request.path.removeprefix("/local/")
        if name in self.answers:
            answer = self.answers[name]
            return json_response(*(answer(request) if callable(answer) else answer))
        if name == "wait":
            loop = asyncio.get_running_loop()
            until_s = loop.time() + int(request.query["timeoutMs"]) / 1000           # as the real one: a wait for nothing ends
            while self.state["version"] <= int(request.query["after"]) and loop.time() < until_s:
                await asyncio.sleep(0.01)
        return json_response(200, self.state)

    def show(self, state: dict) -> None:
        self.state = state


class Page:
    """A browser's side of the workbench, without a browser."""

    def __init__(self, client: HttpClient, origin: str) -> None:
        self.origin = origin
        self._client = client
        self.cookie = ""
        self.token = ""

    async def ask(self, method: str, target: str, body: object = None, **fields: str | None):
        rows = {"cookie": self.cookie or None, "x-rulith-manager": self.token or None,
                "content-type": "application/json" if body is not None else None,
                "origin": self.origin if method == "POST" else None,
                **{name.replace("_", "-"): value for name, value in fields.items()}}
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return await self._client.request(method, self.origin + target, {n: v for n, v in rows.items() if v is not None}, raw, timeout_s=30)

    async def open(self) -> None:
        shell = await self.ask("GET", f"/?k={KEY}")
        assert shell.status == 200
        self.cookie = shell.headers.get("set-cookie").partition(";")[0]
        answer = await self.ask("POST", "/api/token", {})
        self.token = json.loads(answer.body)["token"]

    async def get(self, target: str) -> dict:
        return json.loads((await self.ask("GET", target)).body)

    async def post(self, target: str, body: object) -> tuple[int, dict]:
        answer = await self.ask("POST", target, body)
        return answer.status, json.loads(answer.body)


class Stage:
    """A home with one profile, a scripted gateway, scripted roles, and the workbench on a real port."""

    def __init__(self, folder) -> None:
        self.home = Home(folder / "home").prepare()
        self.environ: dict[str, str] = {}
        self.profile = create_profile(self.home, "Assistant", agent_id=AGENT, agent_name="Assistant", connection_id=CONNECTION)
        agent_secrets(self.profile).update({"RULITH_TOKEN": "rlt_agt_scripted"})
        worker_secrets(self.profile).update({"RULITH_CONNECTION": CONNECTION, "RULITH_CONNECTION_KEY": "rlt_key_scripted"})
        device_secrets(self.home).update({"token": GRANT})
        write_role_env(self.profile, "worker", {"RULITH_TOOLS_FILE": str(self.profile.workspace / "worker-tools.json")})

    async def __aenter__(self) -> Stage:
        self.gateway = ScriptedGateway()
        self.gateway_server = await serve(self.gateway.handle)
        self.gateway_url = f"http://127.0.0.1:{self.gateway_server.port}"
        self.spawn = ScriptedSpawn()
        self.bench = Workbench(self.home, SystemClock(), self.spawn, environ=self.environ)
        numbers = iter(range(10**6))
        self.gate = Gate(KEY, lambda prefix: f"{prefix}made-{next(numbers):06}", ManualClock())
        self.api = api = Api(self.bench, self.gate, Pages())
        self.server = await serve(api.handle, head_check=api.head_check)
        self.gate.listen_on(self.server.port)
        self.client = HttpClient(environ={})
        self.page = Page(self.client, f"http://127.0.0.1:{self.server.port}")
        self.bench.begin(self.page.origin)
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.bench.close()
        await self.client.close()
        await self.server.close(0)
        await self.gateway_server.close(0)

    async def up(self) -> Stage:
        """The gateway listens, the Worker is ready, the page holds a token and has seen the Board."""
        gateway = await self.spawn.wait_for("gateway")
        gateway.child.tell({"type": "listening", "url": self.gateway_url, "port": self.gateway_server.port})
        worker = await self.spawn.wait_for("worker")
        worker.child.tell({"type": "up"})
        await self.page.open()
        await self.until(lambda: self.instance.board is not None)
        return self

    @property
    def instance(self):
        return self.bench.instances[self.profile.id]

    def at(self, path: str) -> str:
        return f"/i/{self.profile.id}/{path}"

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the loop turn until it holds; bounded."""
        async def turn() -> None:
            while not condition():
                await asyncio.sleep(0.005)
        await asyncio.wait_for(turn(), 30)
