"""The callers of benchmarks/gateway.py, in a process of their own: raw sockets, kept alive, one call at a time each.

    python benchmarks/load.py < ORDER.json > FOUND.json

Every caller waits for its answer, reads all of it and checks it before it calls again, so
the rate is what that many honest clients get. An answer that is not what was asked for
ends the run with an error; nothing is counted that was not checked.

Modes   gateway  ApplyBatch asserting one new fact; view and strip read and checked
        churn    ApplyBatch taking one fact back and asserting another, so that the Board stays as large
        query    QueryBoard of the open root's nodes, on a Board that does not change
        sdk      tools/call of a tool that stores nothing; its text checked
        worker   an Agent's Action held, and its Worker's Poll, ClaimWork and ReportWork
        long     one Agent's batch of 125,000 conclusions, while all the others only ping
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

ACTION = "rulith.verified_calculation.read_input"
PREDICATE = "bench.reading"
SETUP_BATCH = 100
DATE = "2025-11-25"


class Wrong(Exception):
    """An answer that is not what was asked for."""


class Wire(asyncio.Protocol):
    """One connection: `ask` sends a request and gives (headers, body) of its answer."""

    def __init__(self) -> None:
        self.transport = None
        self._data = b""
        self._need = -1            # bytes of the whole answer once its head was read
        self._head = b""
        self._answer = None

    def connection_made(self, transport) -> None:
        self.transport = transport

    def connection_lost(self, problem) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Wrong(f"the connection was lost: {problem}"))

    def data_received(self, data: bytes) -> None:
        self._data = self._data + data if self._data else data
        if self._need < 0:
            end = self._data.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head = self._data[:end].lower()
            start = self._head.find(b"\r\ncontent-length: ")
            length = int(self._head[start + 18:].split(b"\r\n", 1)[0]) if start >= 0 else 0
            self._need = end + 4 + length
        if len(self._data) >= self._need:
            whole, self._data = self._data, b""
            at, self._need = self._need, -1
            if len(whole) != at:
                self._answer.set_exception(Wrong("bytes after the answer"))
            else:
                self._answer.set_result((self._head, whole[len(self._head) + 4:]))

    def ask(self, request: bytes) -> asyncio.Future:
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answer


async def connect(host: str, port: int) -> Wire:
    _, wire = await asyncio.get_running_loop().create_connection(Wire, host, port)
    return wire


def check_status(head: bytes, body: bytes, *wanted: bytes) -> None:
    if head.split(b" ", 2)[1] not in wanted:
        raise Wrong(f"{head[:60]!r} {body[:300]!r}")


class McpCaller:
    """One MCP client: initialize, then calls."""

    def __init__(self, order: dict, agent: dict) -> None:
        self.order, self.agent, self.number, self.chars = order, agent, 0, 0
        self.wire: Wire | None = None
        self._fields = [f"POST /mcp HTTP/1.1\r\nhost: {order['host']}:{order['port']}\r\ncontent-type: application/json\r\n"
                        f"accept: application/json, text/event-stream\r\nmcp-protocol-version: {DATE}\r\n"]
        if agent.get("token"):
            self._fields.append(f"authorization: Bearer {agent['token']}\r\n")

    async def open(self, declared: dict) -> None:
        self.wire = await connect(self.order["host"], self.order["port"])
        head, body = await self._send("initialize", {"protocolVersion": DATE, "capabilities": {"experimental": declared},
                                                     "clientInfo": {"name": "bench", "version": "1"}})
        check_status(head, body, b"200")
        session = head.partition(b"\r\nmcp-session-id: ")[2].partition(b"\r\n")[0].decode()
        if not session:
            raise Wrong("no session id")
        self._fields.append(f"mcp-session-id: {session}\r\n")
        head, body = await self.wire.ask(self._bytes(b'{"jsonrpc":"2.0","method":"notifications/initialized"}'))
        check_status(head, body, b"202")

    def _bytes(self, body: bytes) -> bytes:
        return f"{''.join(self._fields)}content-length: {len(body)}\r\n\r\n".encode() + body

    def _send(self, method: str, params: dict) -> asyncio.Future:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return self.wire.ask(self._bytes(json.dumps(message, separators=(",", ":")).encode()))

    async def call(self, name: str, arguments: dict) -> dict:
        """The result member of one tools/call."""
        head, body = await self._send("tools/call", {"name": name, "arguments": arguments})
        check_status(head, body, b"200")
        message = json.loads(body)
        if message.get("id") != self.number or "result" not in message:
            raise Wrong(repr(message)[:500])
        return message["result"]

    async def text(self, name: str, arguments: dict) -> dict:
        """The JSON text of an answer of ours; refusals are wrong here."""
        result = await self.call(name, arguments)
        text = result["content"][0]["text"]
        body = json.loads(text)
        self.chars = len(text)
        if result.get("isError") or body.get("accepted") is not True:
            raise Wrong(repr(body)[:500])
        return body


class BatchCaller(McpCaller):
    """ApplyBatch on one Agent's Board, which starts with `facts` facts."""

    facts = 0
    total = 0

    async def start(self) -> None:
        await self.open({"rulith/v3": {"heldCalls": 1}})
        await self.text("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": self.agent["job"]}})
        while self.facts < self.order["facts"]:
            count = min(SETUP_BATCH, self.order["facts"] - self.facts)
            body = await self.text("ApplyBatch", {"operations": [self._operation() for _ in range(count)]})
            self.total, self.view = body["view"]["total"], body["view"]
        self.setup_calls = self.number

    def _operation(self) -> dict:
        self.facts += 1
        return {"op": "assert_fact", "predicate": PREDICATE, "args": {"sensor": f"s{self.facts % 17}", "value": self.facts}}

    async def once(self) -> None:
        operation = self._operation()
        body = await self.text("ApplyBatch", {"operations": [operation]})
        self.check(operation, body)

    def check(self, operation: dict, body: dict) -> None:
        """The new fact is the view's first node, the whole view is there, and the strip tells of this call."""
        view, strip, written = body["view"], body["operations"], body["result"]["nodeIds"]
        node = view["nodes"][0]
        self.total += 1
        if not (len(written) == 1 and node["id"] == written[0] and node["predicate"] == PREDICATE
                and node["args"] == operation["args"] and node["tier"] == "asserted"):
            raise Wrong(f"the view does not begin with the new fact: {node!r}")
        # As many nodes as fit into the bound of 8 KiB or 60; the strip's few rows come beside the view.
        if view["total"] != self.total or not view["truncated"] or not 16 <= len(view["nodes"]) <= 60 or self.chars < 7_500:
            raise Wrong(f"the view has {len(view['nodes'])} nodes of {view['total']}, and {self.total} were expected")
        if len(view["actions"]) < 3 or len(view["roots"]) != 1 or not view["gaps"] \
                or len(view["taskStatus"][view["roots"][0]["root"]]["leaves"]) != 2:
            raise Wrong("the view lacks a part")
        own, before = strip[0], strip[1]
        if own["tool"] != "ApplyBatch" or own["state"] != "done" or "summary" not in own or before["state"] != "done":
            raise Wrong(f"the strip does not tell of this call: {own!r}")


class ChurnCaller(BatchCaller):
    """One fact for another; `calls` counts, not a span."""

    async def once(self) -> None:
        operations = [self._operation()]
        if self.newest:
            operations.insert(0, {"op": "retract_node", "nodeId": self.newest})
        body = await self.text("ApplyBatch", {"operations": operations})
        self.total = body["view"]["total"]
        if self.newest and self.total > self.order["facts"] + 20:
            raise Wrong(f"the Board grew to {self.total} nodes")
        self.newest = body["result"]["nodeIds"][-1]

    newest = ""


class QueryCaller(BatchCaller):
    """Reads what a whole view may hold, 500 nodes; the Board has `facts` facts."""

    async def once(self) -> None:
        root = self.view["roots"][0]["root"]
        body = await self.text("QueryBoard", {"selector": {"roots": [root]}, "include": ["nodes", "gaps", "taskStatus"]})
        if body["view"]["total"] != self.total or len(body["view"]["nodes"]) != min(self.total, 500):
            raise Wrong(f"{len(body['view']['nodes'])} nodes of {body['view']['total']}; {self.total} were expected")


class SdkCaller(McpCaller):
    """A tool that stores nothing."""

    async def start(self) -> None:
        await self.open({})
        self.setup_calls = self.number

    async def once(self) -> None:
        number = self.number
        result = await self.call("note", {"sensor": "s1", "reading": number, "value": 3.5})
        if result.get("isError") or result["content"][0]["text"] != f"noted {number}":
            raise Wrong(repr(result)[:500])


class WorkerCaller(McpCaller):
    """An Agent and its Worker: the Action is asked, polled, claimed, run by doing nothing, and reported."""

    generation: int | None = None

    async def start(self) -> None:
        await self.open({"rulith/v3": {"heldCalls": 1}})
        opened = await self.text("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": self.agent["job"]}})
        self.root = opened["result"]["root"]
        self.line = await connect(self.order["host"], self.order["port"])
        self.worker_id = "wkr_" + self.agent["job"].rjust(32, "0").replace("-", "0")
        await self.poll()
        self.setup_calls = self.number

    async def work(self, operation: dict) -> dict:
        operation = {**operation, "workerId": self.worker_id}
        fields = [f"POST /work HTTP/1.1\r\nhost: {self.order['host']}:{self.order['port']}\r\ncontent-type: application/json\r\n"
                  f"x-rulith-connection: {self.agent['connection']}\r\nx-rulith-connection-key: {self.agent['key']}\r\n"
                  f"x-rulith-worker: {self.worker_id}\r\nx-rulith-worker-version: 2026-09-01\r\n"]
        if self.generation is not None:
            operation["workerGeneration"] = self.generation
            fields.append(f"x-rulith-worker-generation: {self.generation}\r\n")
        body = json.dumps({"operation": operation}, separators=(",", ":")).encode()
        head, answer = await self.line.ask(f"{''.join(fields)}content-length: {len(body)}\r\n\r\n".encode() + body)
        check_status(head, answer, b"200")
        found = json.loads(answer)
        if found.get("accepted") is not True:
            raise Wrong(repr(found)[:500])
        return found

    async def poll(self) -> list[dict]:
        found = await self.work({"kind": "Poll", "tools": self.agent["tools"]})
        self.generation = found["lease"]["workerGeneration"]
        return found["payload"]["work"]

    async def once(self) -> None:
        asked = asyncio.ensure_future(self.text("ApplyAction", {
            "action": ACTION, "args": {"source": self.agent["source"]}, "target": self.root}))
        rows: list[dict] = []
        while not rows:
            rows = await self.poll()
        work = {"workType": "action", "id": rows[0]["work"], "executionGrant": rows[0]["executionGrant"]}
        await self.work({"kind": "ClaimWork", **work})
        await self.work({"kind": "ReportWork", **work, "ok": True, "result": "done"})
        body = await asked
        if body["result"]["ok"] is not True or body["operations"][0]["state"] != "done":
            raise Wrong(repr(body)[:500])


async def run_long(order: dict) -> dict:
    """What the others waited for a ping before the long batch, and while it ran."""
    slow, *others = callers = [McpCaller(order, agent) for agent in order["agents"]]
    for caller in callers:
        await caller.open({"rulith/v3": {"heldCalls": 1}})
        await caller.text("OpenCase", {"caseType": "exploration"})

    def literal(predicate: str, a: object, b: object) -> dict:
        return {"predicate": predicate, "args": {"a": a, "b": b}}

    operations = [{"op": "add_axiom", "id": "one", "when": [literal("edge", "?x", "?y")], "then": [literal("path", "?x", "?y")]},
                  {"op": "add_axiom", "id": "more", "when": [literal("path", "?x", "?y"), literal("edge", "?y", "?z")], "then": [literal("path", "?x", "?z")]},
                  *({"op": "assert_fact", "predicate": "edge", "args": {"a": n, "b": n + 1}} for n in range(498))]
    times: list[float] = []
    is_over = False

    async def ping(caller: McpCaller) -> None:
        while not is_over:
            started = time.perf_counter()
            head, body = await caller._send("ping", {})
            check_status(head, body, b"200")
            times.append((time.perf_counter() - started) * 1000)
            await asyncio.sleep(0.004)

    pinging = [asyncio.ensure_future(ping(caller)) for caller in others]
    await asyncio.sleep(1.0)
    quiet, times[:] = list(times), []
    started = time.perf_counter()
    await slow.text("ApplyBatch", {"operations": operations})
    took_s, busy, is_over = time.perf_counter() - started, list(times), True
    await asyncio.gather(*pinging)
    return {"quiet_ms": sorted(quiet), "busy_ms": sorted(busy), "took_s": took_s}


CALLERS = {"gateway": BatchCaller, "churn": ChurnCaller, "query": QueryCaller, "sdk": SdkCaller, "worker": WorkerCaller}


async def run(order: dict) -> dict:
    if order["mode"] == "long":
        return await run_long(order)
    callers = [CALLERS[order["mode"]](order, agent) for agent in order["agents"]]
    for caller in callers:
        await caller.start()
    tell("ready")
    begin = time.perf_counter()
    first, last = begin + order["warm_s"], begin + order["warm_s"] + order["measure_s"]
    times: list[float] = []
    calls, most = 0, order.get("calls", 1 << 60)

    async def drive(caller) -> None:
        nonlocal calls
        now = time.perf_counter()
        while now < last and calls < most:
            started = now
            await caller.once()
            calls += 1
            if calls == order.get("tell_at"):
                tell("told")
            now = time.perf_counter()
            if first <= started and now <= last:
                times.append(now - started)

    if "calls" in order:            # a count is asked for: no moment is worth telling
        await asyncio.gather(*map(drive, callers))
        tell("measured")
        return {"calls": calls}
    watch = asyncio.ensure_future(tell_later(order["warm_s"], "measuring"))
    over = asyncio.ensure_future(tell_later(order["warm_s"] + order["measure_s"], "measured"))
    spent = time.process_time()
    await asyncio.gather(*map(drive, callers))
    spent = time.process_time() - spent
    await asyncio.gather(watch, over)
    return {"calls": calls, "setup_calls": [caller.setup_calls for caller in callers],
            "by_agent": {caller.agent.get("id", str(n)): caller.number for n, caller in enumerate(callers)},
            "times_ms": sorted(round(each * 1000, 3) for each in times), "measure_s": order["measure_s"],
            "client_cpu_s_per_call": spent / max(calls, 1)}


async def tell_later(delay_s: float, what: str) -> None:
    await asyncio.sleep(delay_s)
    tell(what)


def tell(what: str) -> None:
    print(what, flush=True)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(json.loads(sys.stdin.readline())))), flush=True)
