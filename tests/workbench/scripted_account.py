"""A gateway elsewhere that says what a test wants, and a workbench of one home that signs in there, which may be killed and begun again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from urllib.parse import parse_qsl

from rulith.base.clock import ManualClock, SystemClock
from rulith.disk.home import Home
from rulith.net.client import HttpClient
from rulith.net.messages import Request, Response, json_response
from rulith.net.server import serve
from rulith.workbench.api import Api
from rulith.workbench.bench import Workbench
from rulith.workbench.gate import Gate
from rulith.workbench.pages import Pages
from tests.workbench.scripted_bench import KEY, Page, ScriptedSpawn

AGENT = {"id": "agent_far", "name": "Far Agent"}
WAIT_S = 30


class Elsewhere:
    """It gives the same answer to the same question, as the real one does.

    said   path -> (status, body) instead of its own answer; a callable is given the request; None: it hangs up
    """

    def __init__(self) -> None:
        self.account, self.device_id, self.agents = {"id": "acc_1", "name": "ada"}, "device_1", [AGENT]
        self.approved: set[str] = set()
        self.revoked: set[str] = set()
        self.given: dict[str, str] = {}             # pairing id -> Connection key, the newest last
        self.codes = 0
        self.said: dict[str, object] = {}
        self.asked: list[tuple[str, dict]] = []
        self.state = {"version": 1, "agents": self.agents, "passphraseSet": True, "connections": [], "cases": [], "operations": [], "decisions": []}

    async def open(self) -> Elsewhere:
        self.server = await serve(self.handle)
        self.url = f"http://127.0.0.1:{self.server.port}"
        return self

    def count(self, path: str) -> int:
        return sum(each == path for each, _ in self.asked)

    def last(self, path: str) -> dict:
        return [body for each, body in self.asked if each == path][-1]

    async def handle(self, request: Request) -> Response:
        text = request.body.decode()
        body = json.loads(text) if text.startswith("{") else dict(parse_qsl(text))
        self.asked.append((request.path, body))
        assert request.headers.get("origin") is None and not request.target.partition("?")[2] or request.path.startswith("/local/")
        said = self.said.get(request.path)
        if said is not None:
            return json_response(*(said(request) if callable(said) else said))
        return await self.answer(request.path, body, (request.headers.get("authorization") or "").removeprefix("Bearer "))

    async def answer(self, path: str, body: dict, token: str) -> Response:
        if path == "/register":
            return json_response(201, {"client_id": f"rlc_{body['client_name']}"})
        if path == "/device_authorization":
            self.codes += 1
            code = f"CODE-{self.codes:04}"
            return json_response(200, {"device_code": f"rld_{code}", "user_code": code, "expires_in": 600, "interval": 0,
                                       "verification_uri_complete": f"{self.url}/console/#access/{code}"})
        if path == "/token":
            code = body["device_code"].removeprefix("rld_")
            if code not in self.approved:
                return json_response(400, {"error": "authorization_pending", "error_description": "wait"})
            return json_response(200, {"access_token": f"rlt_dev_{code}", "token_type": "Bearer", "scope": "device"})
        code = token.removeprefix("rlt_dev_")
        if path == "/local-devices/revoke":
            was, _ = code in self.revoked, self.revoked.add(code)
            return json_response(200, {"state": "revoked", "alreadyRevoked": was, "requestId": body["requestId"]})
        if code not in self.approved or code in self.revoked:
            return json_response(401, {"ok": False, "errorCode": "device_revoked" if code in self.revoked else "device_unknown", "teaching": "It was signed out."})
        if path == "/local-devices/context":
            return json_response(200, {"deviceId": self.device_id, "account": self.account, "agents": self.agents, "expiresAt": "2027-01-01T00:00:00.000Z"})
        if path == "/local-devices/pair":
            key = self.given.setdefault(body["pairingId"], f"rlt_key_{len(self.given)}")
            told = {"token": key.replace("key", "agt")} if body["clientMode"] == "local_agent" else {}
            return json_response(200, {"pairingId": body["pairingId"], "agentId": body["agentId"], "agentName": AGENT["name"], "connectionId": "conn_far",
                                       "state": "approved", "alreadyApproved": False, "key": key, **told})
        if path == "/local/wait":
            await asyncio.sleep(0.2)
        return json_response(200, self.state)


class Life:
    """One run of the workbench of `home`, from `begin` to its end."""

    def __init__(self, home: Home, gateway: str, environ: dict[str, str] | None = None) -> None:
        self.home, self.gateway, self.environ = home, gateway, environ or {}

    async def __aenter__(self) -> Life:
        self.spawn = ScriptedSpawn()
        self.bench = Workbench(self.home, SystemClock(), self.spawn, environ=self.environ, gateway=self.gateway)
        numbers = iter(range(10**6))
        self.gate = Gate(KEY, lambda prefix: f"{prefix}made-{next(numbers):06}", ManualClock())
        self.api = api = Api(self.bench, self.gate, Pages())
        self.server = await serve(api.handle, head_check=api.head_check, on_bug=lambda problem: None)
        self.gate.listen_on(self.server.port)
        self.client = HttpClient(environ={})
        self.page = Page(self.client, f"http://127.0.0.1:{self.server.port}")
        self.bench.begin(self.page.origin)
        await self.page.open()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.bench.close()
        await self.client.close()
        await self.server.close(0)

    @property
    def account(self):
        return self.bench.account

    @property
    def instance(self):
        (found,) = self.bench.instances.values()
        return found

    async def post(self, route: str, **body: object) -> tuple[int, dict]:
        return await self.page.post(f"/api/account/{route}", body)

    async def until(self, condition: Callable[[], bool]) -> None:
        async def turn() -> None:
            while not condition():
                await asyncio.sleep(0.005)
        await asyncio.wait_for(turn(), WAIT_S)

    async def sign_in(self, gateway: Elsewhere) -> None:
        status, told = await self.post("start", name="Laptop")
        assert status == 200, told
        gateway.approved.add(told["account"]["code"])
        self.account.look()
        await self.until(lambda: self.account.is_linked)

    async def attach(self, mode: str = "local_agent", **more: object) -> tuple[int, dict]:
        return await self.post("attach", **{"agentId": AGENT["id"], "mode": mode, "replaceAgentToken": True, **more})
