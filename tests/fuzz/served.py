"""Families that a whole gateway answers: tool calls, the Worker line, OAuth forms, and HTTP as raw bytes.

A refused tool call leaves the Board as it was; every answer has the contract's shape; at the end of
each chunk the ledger folds to the Boards that are there.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from urllib.parse import quote, urlencode

from rulith.base.errors import Refused
from rulith.disk.example import capability_text
from rulith.gateway.console_admin import BODIES as ADMIN_BODIES
from rulith.gateway.console_api import BODIES as CONSOLE_BODIES, ROUTES as CONSOLE_ROUTES
from rulith.net.connection import Connection, HttpLimits, Shared
from rulith.net.server import serve
from rulith.wire.contract import validate
from rulith.wire.results import validate_result
from tests.fuzz.mutations import cuts, mutated, odd, pick, spelt, thrown
from tests.fuzz.running import Family, source
from tests.fuzz.world import OWNER, PREFIX, STEP_S, WORKER, World

CAPABILITY = capability_text()
KEPT = 12                    # ids of earlier answers that later inputs may name


class Served(Family):
    chunk = 400

    def open(self) -> None:
        self.world = World()
        self.names: dict[str, list[str]] = {}
        self.world.run(self.begin())

    async def begin(self) -> None:
        """What a chunk starts with."""

    def close(self) -> None:
        try:
            self.world.check_replay()
        finally:
            self.world.close()

    def play(self, data: bytes) -> bool:
        self.world.clock.advance(STEP_S)
        accepted = self.world.run(self.answer(self.filled(data)))
        self.world.check_quiet()
        return accepted

    async def answer(self, data: bytes) -> bool:
        raise AssertionError("each family asks in its way")

    def note(self, kind: str, name: object) -> None:
        if isinstance(name, str) and name not in (known := self.names.setdefault(kind, [])):
            known.append(name)
            del known[:-KEPT]

    def filled(self, data: bytes) -> bytes:
        """`data` with each $kind0 ... $kind9 replaced by an id of that kind, where one is known."""
        def one(found: re.Match) -> bytes:
            known = self.names.get(found[1].decode(), ())
            return json.dumps(known[int(found[2]) % len(known)])[1:-1].encode() if known else found[0]
        return re.sub(rb"\$([a-z]+)([0-9])", one, data)


ATOM = {"predicate": "note", "args": {"n": 1, "who": "ann"}}
RULE = {"op": "add_axiom", "id": "r1", "label": "a rule", "when": [{"predicate": "note", "args": {"n": "?n"}}, {"predicate": "gte", "args": {"left": "?n", "right": 1}}],
        "then": [{"predicate": "seen", "args": {"n": "?n"}}]}
BATCHES = [
    [{"op": "assert_fact", **ATOM}], [{"op": "assert_fact", "predicate": "note", "args": {"n": 2.5, "who": "bob"}, "negated": True}, {"op": "assert_fact", "predicate": "edge", "args": {"from": "a", "to": "b"}}],
    [RULE], [{"op": "add_axiom", "when": [{"predicate": "edge", "args": {"from": "?x", "to": "?y"}}, {"predicate": "path", "args": {"from": "?y", "to": "?z"}}], "then": [{"predicate": "path", "args": {"from": "?x", "to": "?z"}}]}],
    [{"op": "declare_goal", "label": "g", "desired": [{"predicate": "seen", "args": {"n": 1}}]}], [{"op": "retract_node", "nodeId": "$node0"}],
    [{"op": "revise_fact", "nodeId": "$node1", "predicate": "note", "args": {"n": 3}}], [{"op": "define_action", "action": "mark", "preconditions": [ATOM], "effects": [{"predicate": "marked", "args": {"n": 1}}]}],
    [{"op": "apply_action", "action": "mark"}], [{"op": "derive_aggregate", "source": {"predicate": "note", "valueArg": "n"}, "kind": "sum", "into": {"predicate": "total", "valueArg": "n"}}],
    [{"op": "assert_fact", "predicate": "functional_dependency", "args": {"predicate": "note", "key": "who"}}],
]
CALLS = [
    ("OpenCase", {"caseType": "exploration"}), ("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}}), ("OpenCase", {"caseId": "$case0"}),
    *[("ApplyBatch", {"operations": batch}) for batch in BATCHES],
    ("ApplyAction", {"action": PREFIX + "read_input", "args": {"source": "verified-calculation-local"}, "target": "$root0"}),
    ("ApplyAction", {"action": PREFIX + "write_output", "args": {"source": "verified-calculation-local"}, "target": "$root0"}),
    ("ApplyAction", {"action": PREFIX + "verify_output", "args": {"source": "verified-calculation-local"}, "target": "$root1"}), ("ApplyAction", {"action": "mark", "target": "$root2"}),
    ("CloseCase", {"root": "$root0"}), ("CloseCase", {"root": "$root1", "disposition": "cancelled", "reason": "enough"}),
    ("QueryBoard", {"include": ["cases"]}), ("QueryBoard", {"include": ["nodes", "gaps", "taskStatus"], "selector": {"roots": ["$root0"]}, "limit": 50}),
    ("QueryBoard", {"include": ["caseHistory"], "selector": {"roots": ["$root1"]}, "limit": 5, "historyOffset": 0}), ("ReadArtifact", {"ref": "art_" + "a" * 32, "offset": 0, "maxBytes": 10}),
]


class Tools(Served):
    """Six tools: mutated arguments of valid calls, and some whole messages bent."""

    name = "tools"

    async def begin(self) -> None:
        await self.world.initialize()
        for tool, arguments in CALLS[:2]:
            self._remember(await self.world.call(tool, arguments))

    def make(self, rng: random.Random) -> bytes:
        tool, arguments = pick(rng, CALLS)
        if tool == "ApplyBatch" and rng.random() < 0.3:
            arguments = {"operations": [each for _ in range(rng.randint(1, 4)) for each in pick(rng, BATCHES)]}
        message = {"jsonrpc": "2.0", "id": rng.getrandbits(48), "method": "tools/call", "params": {"name": tool, "arguments": arguments if rng.random() < 0.15 else mutated(rng, arguments)}}
        if rng.random() < 0.05:
            message["id"] = odd(rng, message["id"], CALLS)
        if rng.random() < 0.1:
            message["params"]["_meta"] = {"progressToken": "p"}
        return spelt(rng, mutated(rng, message) if rng.random() < 0.1 else message)

    async def answer(self, data: bytes) -> bool:
        world, board = self.world, self.world.state.board
        before = board.revision, board.closure_digest()
        status, headers, told = await world.ask("POST", "/mcp", world.agent_headers("application/json, text/event-stream" if b"progressToken" in data else "application/json"), data)
        accepted = status in (200, 202) and self._check(headers, told, data)
        if not accepted:
            assert (board.revision, board.closure_digest()) == before, "a refused call moved the Board"
        if world.unresolved is not None:
            await world.settle(ok=len(data) % 2 == 0)
        if world.unresolved is not None:                    # a decision waits: let it run out
            world.clock.advance(8 * 86_400)
            await world.ask("POST", "/mcp", world.agent_headers(), b'{"jsonrpc":"2.0","id":"late","method":"ping"}')
        if not board.cases(1, live=True):
            self._remember(await world.call(*CALLS[len(data) % 2]))
        if world.gateway.surface.sessions.effective(world.agent_id) is None or world.session not in world.gateway.surface.sessions._by_id:
            await world.initialize()
        return accepted

    def _check(self, headers: dict, told: bytes, data: bytes) -> bool:
        """Whether a 200 says that the call was taken; its shape is the contract's."""
        if "event-stream" in headers.get("content-type", ""):
            found = [json.loads(line[6:]) for line in told.decode().split("\n") if line.startswith("data: {")]
            message = found[-1]
        else:
            message = json.loads(told) if told else {}
        if "result" not in message or "content" not in message["result"]:
            return "error" not in message
        body = json.loads(message["result"]["content"][0]["text"])
        validate_result("toolResult", message["result"])
        is_query = json.loads(data)["params"]["name"] == "QueryBoard"
        validate_result("queryBoardResult" if is_query else "heldCallResult" if "accepted" not in body else "preExecutionRefusal"
                        if body.get("requestExecuted") is False else "acceptedResult" if body["accepted"] else "refusedResult", body)
        assert bool(message["result"].get("isError")) == (body.get("accepted") is False)
        self._remember(body)
        return body.get("accepted") is not False

    def _remember(self, body: dict) -> None:
        result = body.get("result")
        if isinstance(result, dict):
            self.note("root", result.get("root"))
            self.note("case", result.get("caseId"))
            for node in result.get("nodeIds", ()):
                self.note("node", node)


class WorkerLine(Served):
    """Operations of a Worker, its grants and receipts among them, against a gateway that dispatched one call."""

    name = "worker"
    chunk = 200
    TEMPLATES = [
        {"kind": "Poll", "workerId": WORKER, "workerGeneration": "$GEN", "tools": "$TOOLS"}, {"kind": "Poll", "workerId": WORKER, "tools": "$TOOLS"}, {"kind": "Poll", "workerId": "wkr_" + "1" * 32, "tools": []},
        {"kind": "ClaimWork", "workType": "action", "id": "$work0", "executionGrant": "$grant0", "workerId": WORKER, "workerGeneration": "$GEN"},
        {"kind": "ReportWork", "workType": "action", "id": "$work0", "ok": True, "result": "done", "executionGrant": "$grant0", "workerId": WORKER, "workerGeneration": "$GEN",
         "facts": [{"predicate": PREFIX + "input", "args": {"job_id": "$job0", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}}]},
        {"kind": "ReportWork", "workType": "action", "id": "$work0", "ok": False, "result": "", "reason": "no", "executionGrant": "$grant0", "workerId": WORKER, "workerGeneration": "$GEN"},
        {"kind": "ReportWork", "workType": "action", "id": "$work0", "undeliverable": "effect_unknown", "executionGrant": "$grant0", "workerId": WORKER, "workerGeneration": "$GEN"},
        {"kind": "ReportWork", "workType": "action", "id": "$work0", "ok": True, "result": "x", "executionGrant": "$grant0", "workerId": WORKER, "workerGeneration": "$GEN"},
        {"kind": "RenewLease", "workerId": WORKER, "workerGeneration": "$GEN"}, {"kind": "ReleaseLease", "workerId": WORKER, "workerGeneration": "$GEN"},
    ]

    async def begin(self) -> None:
        await self.world.initialize()
        self.number = 0

    def make(self, rng: random.Random) -> bytes:
        operation = pick(rng, self.TEMPLATES)
        body = {"operation": operation if rng.random() < 0.25 else mutated(rng, operation)}
        head = {"claimed": rng.random() < 0.5, "generation": pick(rng, ("same",) * 24 + ("none", "none", "1", "x", "999", "007", "١")), "twice": rng.random() < 0.02}
        return json.dumps(head).encode() + b"\n" + spelt(rng, body if rng.random() < 0.95 else mutated(rng, body))

    async def answer(self, data: bytes) -> bool:
        line, _, body = data.partition(b"\n")
        head, world = json.loads(line), self.world
        await self._offered(head["claimed"])
        body = self.filled(body.replace(b'"$GEN"', str(world.generation).encode()).replace(b'"$TOOLS"', json.dumps(world.tools).encode()))
        generation = {"same": world.generation, "none": None}.get(head["generation"], head["generation"])
        rows = [row for row in world.worker_headers(None)] + ([] if generation is None else [("x-rulith-worker-generation", str(generation).encode().decode("latin-1"))]) * (1 + head["twice"])
        board = world.state.board
        before = board.revision, board.closure_digest()
        status, _, told = await world.ask("POST", "/work", rows, body)
        answer = json.loads(told)
        assert status in (200, 400, 422) and answer["accepted"] is (status == 200 and "errorCode" not in answer), (status, answer)
        if not answer["accepted"]:
            assert isinstance(answer["errorCode"], str) and answer["teaching"]
            assert (board.revision, board.closure_digest()) == before or b"ReportWork" in body, "a refused operation moved the Board"
        elif "payload" in answer:
            validate("pollAnswer", answer)
        return answer["accepted"]

    async def _offered(self, claimed: bool) -> None:
        """Bring one call of the Agent to the Worker, and let it be claimed if asked so."""
        world = self.world
        if world.unresolved is None or world.unresolved.public_state == "needs_person":
            await world.settle(ok=False)
            if self.number:
                await world.call("QueryBoard", {})       # it hears of the last outcome
                await world.call("CloseCase", {"root": self.names["root"][0], "disposition": "cancelled", "reason": "the next one"})
            self.number += 1
            self.names["job"] = [f"calc-{self.number}"]
            opened = await world.call("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": self.names["job"][0]}})
            self.names["root"] = [opened["result"]["root"]]
            held = await world.call("ApplyAction", {"action": PREFIX + "read_input", "args": {"source": "verified-calculation-local"}, "target": self.names["root"][0]})
            assert held.get("accepted") is not False, held
        for row in await world.poll():
            self.names["work"], self.names["grant"] = [row["work"]], [row["executionGrant"]]
        if claimed and world.unresolved is not None and world.unresolved.stage != "at_worker":
            await world.work({"kind": "ClaimWork", "workType": "action", "id": self.names["work"][0], "executionGrant": self.names["grant"][0], "workerId": WORKER, "workerGeneration": world.generation})


FORM = "application/x-www-form-urlencoded"


class Forms(Served):
    """Registration, authorization, device sign-in and tokens; a person approves some of it meanwhile."""

    name = "forms"
    DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
    VERIFIER = "v" * 43
    CHALLENGE = "VjZ1cYuYYqP8Yl1QXqCxZ1kO3o7uXKbS9o6m1b2c3d4"
    FIELDS = [
        ("POST", "/register", {"client_name": "Host", "redirect_uris": ["http://127.0.0.1:7777/cb"], "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"]}),
        ("GET", "/authorize", {"client_id": "$client0", "redirect_uri": "http://127.0.0.1:7777/cb", "response_type": "code", "code_challenge": CHALLENGE, "code_challenge_method": "S256", "state": "s", "scope": "mcp", "resource": "http://127.0.0.1:1/mcp"}),
        ("POST", "/device_authorization", {"client_id": "$client0", "scope": "mcp"}),
        ("POST", "/token", {"grant_type": DEVICE, "device_code": "$device0", "client_id": "$client0"}), ("POST", "/token", {"grant_type": DEVICE, "device_code": "$device1", "client_id": "$client1"}),
        ("POST", "/token", {"grant_type": "authorization_code", "code": "$code0", "client_id": "$client0", "redirect_uri": "http://127.0.0.1:7777/cb", "code_verifier": VERIFIER}),
        ("GET", "/.well-known/oauth-protected-resource/mcp", {}), ("GET", "/.well-known/oauth-authorization-server", {}), ("OPTIONS", "/token", {}),
    ]

    async def begin(self) -> None:
        for method, path, fields in (self.FIELDS[0], self.FIELDS[0], self.FIELDS[2]):
            await self.answer(self.filled(self._input(method, path, fields, json.dumps(fields).encode() if path == "/register" else urlencode(fields).replace("%24", "$").encode())))

    @staticmethod
    def _input(method: str, target: str, fields: dict, body: bytes, kind: str = "") -> bytes:
        kind = kind or ("application/json" if target == "/register" else FORM)
        return json.dumps([method, target, kind]).encode() + b"\n" + body

    def make(self, rng: random.Random) -> bytes:
        method, path, fields = pick(rng, self.FIELDS)
        found = mutated(rng, fields)
        if path == "/register":
            return self._input(method, path, {}, spelt(rng, found), pick(rng, ("application/json", "application/json", FORM, "x")))
        rows = list(found.items()) if isinstance(found, dict) else [(str(found)[:50], "")]
        if rng.random() < 0.1 and rows:
            rows.append(pick(rng, rows))
        text = "&".join(f"{quote(str(name), safe='$', errors='replace')}={quote(str(value), safe='$' if rng.random() < 0.9 else '%&=+', errors='replace')}" for name, value in rows)[:20_000]
        body = thrown(rng, text.encode("latin-1", "replace")) if rng.random() < 0.2 else text.encode("latin-1", "replace")
        if method == "GET" and rng.random() < 0.95:
            return self._input(method, f"{path}?{body.decode('latin-1')}", {}, b"")
        return self._input(method if rng.random() < 0.97 else "PUT", path, {}, body, pick(rng, (FORM, FORM, FORM, FORM, FORM + "; charset=utf-8", "text/plain")))

    async def answer(self, data: bytes) -> bool:
        line, _, body = data.partition(b"\n")
        (method, target, kind), world = json.loads(line), self.world
        status, headers, told = await world.ask(method, target, [("content-type", kind)], body)
        if status >= 400:
            assert isinstance(json.loads(told)["error"], str), told
            return False
        found = json.loads(told) if told and status < 300 else {}
        self.note("client", found.get("client_id"))
        self.note("device", found.get("device_code"))
        access = world.gateway.console._access._access
        for asked in list(access._asked.values()):
            if not asked.verdict and len(data) % 3 < 2:                # a person answers two of three
                agent = world.agent_id if len(data) % 5 < 4 else ""
                try:
                    where = access.answer(asked.id, agent if len(data) % 3 == 0 else None, OWNER, world.clock.wall_s())
                except Refused:
                    continue
                code = re.search(r"[?&]code=([^&]+)", where or "")
                self.note("code", code[1] if code else None)
        if "access_token" in found:
            world.token = found["access_token"]
        return True


class FakeTransport(asyncio.Transport):
    """What a connection writes, and whether it was closed; never blocks."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 9)})
        self.out, self.closed, self.ended, self.paused = bytearray(), False, False, False

    def write(self, data: bytes) -> None:
        assert not self.closed, "written after the close"
        self.out += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


LIMITS = HttpLimits(header_timeout_s=0.5, body_timeout_s=0.5, idle_s=0.5, linger_s=0.2)
JSONRPC = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "QueryBoard", "arguments": {}}},
           {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "OpenCase", "arguments": {"caseType": "exploration"}, "_meta": {"progressToken": 1}}}, {"jsonrpc": "2.0", "method": "notifications/initialized"},
           {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}, {"jsonrpc": "2.0", "id": 5, "method": "server/discover"}]
AGENT = [("authorization", "Bearer $token0"), ("content-type", "application/json"), ("accept", "application/json, text/event-stream"), ("mcp-session-id", "$session0"), ("mcp-protocol-version", "2025-11-25")]
LINE = [("x-rulith-connection", "$connection0"), ("x-rulith-connection-key", "$key0"), ("content-type", "application/json"), ("x-rulith-worker", WORKER)]
GRANTED = [("authorization", "Bearer $device0")]
PAGES = ["/", "/console/", "/console/index.html", "/console/api/setup", "/console/api/session", "/console/api/overview", "/console/api/access?code=ABCD-EFGH", "/console/../x", "/local/state", "/local/cases", "/local/status?since=0", "/local/wait?since=1",
         "/metrics", "/work/sources", "/mcp", "/authorize?client_id=x", "/.well-known/oauth-protected-resource", "/nothing", "/%00", "/console/%2e%2e/%2e%2e/etc/passwd", "*", "http://127.0.0.1:1/mcp"]


class Http(Served):
    """Bytes of one connection, whole requests among them, to the gateway's front through a transport that is none."""

    name = "http"

    async def begin(self) -> None:
        await self.world.initialize()
        for kind, name in (("token", self.world.token), ("session", self.world.session), ("connection", self.world.connection_id), ("key", self.world.key), ("device", self.world.device)):
            self.note(kind, name)
        self.bugs: list[BaseException] = []
        self.shared = Shared(self.world.address.handle, LIMITS, self.world.address.head_check, self.world.clock, self.bugs.append)

    def make(self, rng: random.Random) -> bytes:
        data = b"".join(self._request(rng) for _ in range(pick(rng, (1, 1, 1, 2, 3))))
        return thrown(rng, data) if rng.random() < 0.5 else data

    def _request(self, rng: random.Random) -> bytes:
        way, body, method, plain = rng.random(), b"", "GET", rng.random() < 0.5
        if way < 0.45:
            method, target, rows, body = pick(rng, ("POST",) * 8 + ("DELETE", "GET")), "/mcp", AGENT, json.dumps(pick(rng, JSONRPC)).encode() if plain else spelt(rng, mutated(rng, pick(rng, JSONRPC)))
            if method == "GET":
                rows = [*AGENT, ("last-event-id", pick(rng, ("1.1", "x", "0", "99999999999999999999.1", "é")))]
        elif way < 0.55:
            method, target, rows, body = "POST", "/work", LINE, spelt(rng, {"operation": mutated(rng, pick(rng, WorkerLine.TEMPLATES))})
        elif way < 0.65:
            method, target, fields = pick(rng, Forms.FIELDS)
            rows, body = [("content-type", FORM)], urlencode(fields).encode()
        else:
            method, target, rows = pick(rng, ("GET",) * 5 + ("POST", "HEAD", "OPTIONS", "PUT", "BREW")), pick(rng, PAGES), pick(rng, ([], GRANTED, AGENT, LINE, [("cookie", "rulith=x"), ("origin", "http://evil")]))
            body = spelt(rng, mutated(rng, {"name": "ann", "x": [1, "2"]})) if method in ("POST", "PUT") else b""
        rows = [("host", pick(rng, ("127.0.0.1:1",) * 30 + ("evil.example", "", "[::1]:1", "127.0.0.1:1\x00")))] + rows
        if not plain and rng.random() < 0.3:
            rows = [*rows, pick(rng, [("connection", "close"), ("expect", "100-continue"), ("origin", "null"), ("te", "trailers"), ("upgrade", "h2c"), ("x", "y" * 40_000), ("content-length", "9" * 5_000),
                                      ("transfer-encoding", "gzip, chunked"), ("authorization", "Bearer x"), ("host", "127.0.0.1:1"), ("content-length", "+3"), ("range", "bytes=0-"), ("if-none-match", '"x"')])]
        lines = [f"{method} {target} HTTP/{pick(rng, ('1.1',) * 20 + ('1.0', '2.0', '0.9', '1.11'))}", *(f"{name}: {value}" for name, value in rows)]
        if body and rng.random() < 0.2:
            lines.append("transfer-encoding: chunked")
            body = b"".join(b"%x\r\n" % len(piece) + piece + b"\r\n" for piece in cuts(rng, body)) + b"0\r\n\r\n"
        elif body or rng.random() < 0.2:
            lines.append(f"content-length: {len(body) + pick(rng, (0,) * 20 + (1, -1, 2**40))}")
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body

    async def answer(self, data: bytes) -> bool:
        rng, loop = source("cuts", data), asyncio.get_running_loop()
        transport, connection = FakeTransport(), Connection(self.shared, loop)
        connection.connection_made(transport)
        for piece in cuts(rng, data):
            if transport.closed:
                break
            connection.data_received(piece)
            await self._rest(connection)
        if rng.random() < 0.5 and not transport.closed:
            if not connection.eof_received():
                transport.close()
            await self._rest(connection)
        connection.connection_lost(None)
        await self._rest(connection)
        if connection.task is not None:                  # a long poll, whose client is gone now
            connection.task.cancel()
            await asyncio.sleep(0)
        assert not self.shared.connections and not self.bugs, self.bugs
        await self._again()
        return check_answers(bytes(transport.out))

    async def _rest(self, connection: Connection) -> None:
        for _ in range(60):
            await asyncio.sleep(0)
            if connection.task is None:
                return
        for _ in range(8):                                # it holds a call for the Worker, or a stream is open
            if connection.task is None:
                return
            await asyncio.sleep(0.001)

    async def _again(self) -> None:
        """The session goes on where the input ended or replaced it."""
        world = self.world
        for _ in range(40):                               # what a call admitted runs to its end, whoever hears of it
            if not world.gateway.surface._producers:
                break
            await asyncio.sleep(0.001)
        found = world.gateway.surface.sessions.effective(world.agent_id)
        if found is None or found.id != world.session:
            await world.initialize()
            self.names["session"] = [world.session]


def check_answers(out: bytes) -> bool:
    """Whether an answer of 2xx came first; none may be of the server's own fault."""
    assert out == b"" or re.match(rb"HTTP/1\.1 [1-5][0-9][0-9] [A-Za-z]", out), out[:80]
    assert b"Traceback" not in out
    for status in re.findall(rb"HTTP/1\.1 (5[0-9][0-9]) ", out):
        assert status in (b"501", b"505"), out[:400]
    return out.startswith(b"HTTP/1.1 2")


class Sockets(Http):
    """A sample of the same bytes over real connections."""

    name = "sockets"

    async def begin(self) -> None:
        await super().begin()
        self.server = await serve(self.world.address.handle, limits=LIMITS, head_check=self.world.address.head_check, clock=self.world.clock, on_bug=self.bugs.append)

    def close(self) -> None:
        self.world.run(self.server.close(0.1))
        super().close()

    async def answer(self, data: bytes) -> bool:
        rng, out = source("cuts", data), b""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            for piece in cuts(rng, data):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if rng.random() < 0.7:
                writer.write_eof()
                out = await asyncio.wait_for(reader.read(), 20)
        except (ConnectionError, BrokenPipeError):
            pass                                          # the server cut a hopeless connection: its right
        finally:
            writer.transport.abort()
        for _ in range(5_000):
            if not self.server.connections and not self.world.gateway._front._open:
                break
            await asyncio.sleep(0.001)
        assert not self.server.connections and not self.bugs, self.bugs
        await self._again()
        return check_answers(out)




class Console(Served):
    """The Console's own API under an owner's sign-in, and what the workbench reads: bodies and queries of every route."""

    name = "console"
    ROUTES = sorted(CONSOLE_ROUTES)
    COSTLY = ("setup", "sign-in", "accept", "passphrase")          # a scrypt hash each: one of fifty
    LOCAL = ("state", "case", "proof", "proof", "why-not", "why-not", "receipt", "capability", "constitution", "ledger", "cases", "facts", "facts", "moments", "between")
    VALUES = {"agentId": "$agent0", "caseId": "$case0", "case": "$case0", "agent": "$agent0", "id": "$agent0", "connectionId": "$connection0", "name": "verified-calculation-local", "reason": "because", "ordinal": 1,
              "verdict": "approve", "outcome": "did_not", "argumentDigest": "sha256:" + "a" * 64, "digest": "a" * 64, "replaces": "", "disposition": "cancelled", "hold": "hold_1", "role": "viewer", "toolId": PREFIX + "read_input@1",
              "waived": True, "type": "file", "access": "/x", "tier": "attested", "attests": [PREFIX + "input"], "profile": {"capabilities": ["rulith.verified_calculation"], "tiers": ["attested"]}, "text": "{}", "code": "ABCD-EFGH"}
    QUERIES = {"agent": "$agent0", "case": "$case0", "caseId": "$case0", "ordinal": "1", "show": "live", "text": "calc", "limit": "5", "before": "", "name": "verified-calculation-local", "chain": "gateway", "row": "1",
               "predicate": "note", "args": '{"n":1}', "atom": '{"predicate":"note","args":{"n":1}}', "as": "agent", "id": "$node0", "after": "0", "code": "ABCD-EFGH", "kind": "registry", "from": "1", "to": "5", "tier": "attested"}

    async def begin(self) -> None:
        await self.world.initialize()
        self.note("agent", self.world.agent_id)
        self.note("connection", self.world.connection_id)
        for tool, arguments in (*CALLS[:2], ("ApplyBatch", {"operations": BATCHES[0] + BATCHES[2]})):
            result = (await self.world.call(tool, arguments))["result"]
            self.note("case", result.get("caseId"))
            for node in result.get("nodeIds", ()):
                self.note("node", node)

    def make(self, rng: random.Random) -> bytes:
        if rng.random() < 0.15:
            method, target = "GET", "/local/" + pick(rng, self.LOCAL)
        else:
            method, route = pick(rng, self.ROUTES)
            if route in self.COSTLY and rng.random() > 0.02:
                method, route = "GET", "state"
            target = "/console/api/" + route
        if method == "GET":
            query = {name: value for name, value in self.QUERIES.items() if rng.random() < 0.5}
            bent = mutated(rng, query)
            rows = [(str(name), str(value)) for name, value in bent.items()] if isinstance(bent, dict) else []
            text = "&".join(f"{quote(name, safe='$', errors='replace')}={quote(value, safe='$', errors='replace')}" for name, value in rows)[:8_000]
            return json.dumps([method, f"{target}?{text}", rng.random() < 0.95]).encode() + b"\n"
        members = CONSOLE_BODIES.get(route, ADMIN_BODIES.get(route, ()))
        body = {name.rstrip("?"): self.VALUES.get(name.rstrip("?"), "x") for name in members}
        if "text" in body and rng.random() < 0.7:
            body["text"] = json.dumps(mutated(rng, json.loads(CAPABILITY)))
        if "digest" in body and "text" not in body and rng.random() < 0.5:
            body["digest"] = "$lock%d" % rng.randint(0, 2)
        return json.dumps([method, target, rng.random() < 0.95]).encode() + b"\n" + spelt(rng, body if rng.random() < 0.3 else mutated(rng, body))

    async def answer(self, data: bytes) -> bool:
        line, _, body = data.partition(b"\n")
        (method, target, signed), world = json.loads(line), self.world
        for lock in world.authority.registry.locks.values():
            self.note("lock", lock.digest)
        persons = world.gateway.console.persons
        assert world.authority.registry.people["ann"]["role"] == "owner", "the only owner is gone"
        mine = persons.sign_ins.open("ann")
        headers = [("cookie", f"rulith_console={mine.cookie}"), ("x-rulith-console", mine.token if signed else "x")] if target.startswith("/console") else [("authorization", f"Bearer {world.device}")]
        status, fields, told = await world.ask(method, target, [("content-type", "application/json"), *headers], body)
        assert len(persons.sign_ins._open) <= 64
        found = json.loads(told) if "json" in fields.get("content-type", "") and told else {}
        if status >= 400:
            assert isinstance(found.get("errorCode"), str) and found["teaching"], (status, told[:200])
        return status < 400
