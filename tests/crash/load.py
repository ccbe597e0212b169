"""Agents and Workers that go on over every death of their gateway, and keep a book of what they were told.

They write their own bytes and share no code with the product. An answer that was lost tells
nothing and is not in the book; a Worker runs a call only after its claim was answered, as
the contract has it.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field

READ = "rulith.verified_calculation.read_input"
DATE = "2025-11-25"
REQUEST_S = 20.0
GONE = (OSError, EOFError, asyncio.TimeoutError, asyncio.IncompleteReadError)


@dataclass
class Book:
    """What was answered, and what ran."""

    cases: dict[str, str] = field(default_factory=dict)           # Case id -> Agent id, of answered OpenCase
    closed: dict[str, str] = field(default_factory=dict)          # Case id -> Agent id, of answered CloseCase
    nodes: dict[str, str] = field(default_factory=dict)           # node id -> Agent id, of answered ApplyBatch
    calls: Counter = field(default_factory=Counter)               # Agent id -> ApplyAction answered as done
    ran: Counter = field(default_factory=Counter)                 # invocation -> how often a Worker ran it
    receipts: dict[str, str] = field(default_factory=dict)        # invocation -> result text of an answered report
    asked: Counter = field(default_factory=Counter)               # what was tried, by kind; for the record
    wrong: list[str] = field(default_factory=list)                # answers that no healthy gateway gives


async def http(port: int, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), REQUEST_S)
    try:
        rows = {"host": f"127.0.0.1:{port}", "connection": "close", "content-length": str(len(body)), "content-type": "application/json", **headers}
        writer.write(f"{method} {path} HTTP/1.1\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in rows.items()) + b"\r\n" + body)
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_S)).decode("latin-1").split("\r\n")
        found = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head[1:] if line)}
        content = await asyncio.wait_for(reader.readexactly(int(found.get("content-length", 0))), REQUEST_S)
        return int(head[0].split(" ")[1]), found, content
    finally:
        writer.close()


LINK = {"predicate": "crash.link", "args": {"a": "?x", "b": "?y"}}
REACH = [{"op": "add_axiom", "when": [LINK], "then": [{"predicate": "crash.reach", "args": {"a": "?x", "b": "?y"}}]},
         {"op": "add_axiom", "when": [{"predicate": "crash.reach", "args": {"a": "?x", "b": "?y"}}, {"predicate": "crash.link", "args": {"a": "?y", "b": "?z"}}],
          "then": [{"predicate": "crash.reach", "args": {"a": "?x", "b": "?z"}}]}]
LINKS = 170       # one batch of so many concludes 14,000 facts in more steps than the loop takes at once


class Agent:
    """`acts`: it has a Worker and asks for Actions. `explores`: its Cases take rules, and now and then a batch that is long."""

    def __init__(self, told: dict, book: Book, dice: random.Random, *, acts: bool = False, explores: bool = False) -> None:
        self.told, self.book, self.dice, self.acts, self.explores = told, book, dice, acts, explores
        self.id = told["id"]
        self.number, self.jobs, self.newest = 0, 0, ""
        self.is_long = False
        self.case: tuple[str, str] | None = None       # (Case id, root)

    async def rpc(self, port: int, session: list[str], method: str, params: dict) -> tuple[int, dict]:
        headers = {"authorization": f"Bearer {self.told['token']}", "accept": "application/json, text/event-stream", "mcp-protocol-version": DATE}
        if session:
            headers["mcp-session-id"] = session[0]
        message = {"jsonrpc": "2.0", "id": uuid.uuid4().hex, "method": method, "params": params}
        status, found, body = await http(port, "POST", "/mcp", headers, json.dumps(message).encode())
        if method == "initialize" and status == 200:
            session[:] = [found["mcp-session-id"]]
        if status >= 500 and status != 503:
            self.book.wrong.append(f"{method} answered {status}: {body[:200]!r}")
        return status, json.loads(body) if body else {}

    async def call(self, port: int, session: list[str], tool: str, arguments: dict) -> dict | None:
        """The answer of a tool call, or None where the gateway could not tell."""
        self.book.asked[tool] += 1
        status, message = await self.rpc(port, session, "tools/call", {"name": tool, "arguments": arguments})
        if status != 200 or "result" not in message:
            return None
        return json.loads(message["result"]["content"][0]["text"])

    async def run(self, port: int) -> None:
        session: list[str] = []
        try:
            status, _ = await self.rpc(port, session, "initialize", {
                "protocolVersion": DATE, "capabilities": {"experimental": {"rulith/v3": {"heldCalls": 1}}}, "clientInfo": {"name": "crash", "version": "1"}})
            if status != 200:
                return
            await self.call(port, session, "QueryBoard", {})
            if self.case is not None:
                await self.call(port, session, "OpenCase", {"caseId": self.case[0]})
            while True:
                await self.step(port, session)
        except GONE:
            return                      # the gateway died; whatever was asked last has no answer

    async def step(self, port: int, session: list[str]) -> None:
        what = self.dice.random()
        if self.case is None:
            await self.open(port, session)
        elif what < 0.05:
            await self.rpc(port, session, "ping", {})
        elif what < 0.1:
            await self.call(port, session, "QueryBoard", {"selector": {"roots": [self.case[1]]}, "include": ["nodes", "gaps"]})
        elif what < 0.13:
            await self.close(port, session)
        elif what < 0.5 and self.acts:
            answer = await self.call(port, session, "ApplyAction", {"action": READ, "args": {"source": self.told["source"]}, "target": self.case[1]})
            if answer is not None and answer.get("accepted") and answer.get("result", {}).get("ok") is True:
                self.book.calls[self.id] += 1
            elif answer is not None and answer.get("errorCode"):
                await asyncio.sleep(0.02)           # another call is still under way, or no Worker is on the line
        else:
            await self.write(port, session)

    async def open(self, port: int, session: list[str]) -> None:
        self.jobs += 1
        self.is_long = False
        arguments = {"caseType": "exploration"} if self.explores else {
            "caseType": "verified_calculation", "businessKey": {"job_id": f"{self.told['job']}-{self.jobs}"}}
        answer = await self.call(port, session, "OpenCase", arguments)
        if answer is not None and answer.get("accepted"):
            self.case = (answer["result"]["caseId"], answer["result"]["root"])
            self.book.cases[self.case[0]] = self.id
        else:
            self.jobs -= 1
            await asyncio.sleep(0.02)

    async def close(self, port: int, session: list[str]) -> None:
        case_id, root = self.case
        answer = await self.call(port, session, "CloseCase", {"root": root, "disposition": "abandoned", "reason": "enough of it"})
        if answer is not None and answer.get("accepted"):
            self.book.closed[case_id] = self.id
            self.case = None
        elif answer is not None and answer.get("errorCode") in ("case_closed", "unknown_case", "not_found"):
            self.case = None            # an earlier try had closed it, and its answer was lost

    async def write(self, port: int, session: list[str]) -> None:
        self.number += 1
        operations = [{"op": "assert_fact", "predicate": "crash.reading", "args": {"agent": self.told["job"], "n": self.number}}]
        if self.explores and not self.is_long and self.dice.random() < 0.2:
            self.is_long = True             # once a Case; whether it was accepted the rows will tell
            operations += [*REACH, *({"op": "assert_fact", "predicate": "crash.link", "args": {"a": n, "b": n + 1}} for n in range(LINKS))]
            self.book.asked["long batches"] += 1
        elif self.newest and self.dice.random() < 0.5:
            operations.insert(0, {"op": "retract_node", "nodeId": self.newest})
        self.newest = ""
        answer = await self.call(port, session, "ApplyBatch", {"operations": operations})
        if answer is not None and answer.get("accepted"):
            self.newest = answer["result"]["nodeIds"][-1]
            self.book.nodes[self.newest] = self.id
        elif answer is not None:
            await asyncio.sleep(0.01)


class Worker:
    """One line's Worker. What it holds when it is replaced is lost with it."""

    def __init__(self, told: dict, book: Book) -> None:
        self.told, self.book = told, book
        self.begin_anew()

    def begin_anew(self) -> None:
        self.id, self.generation = "wkr_" + uuid.uuid4().hex, None
        self.held: dict[str, dict] = {}         # invocation -> row, claimed or perhaps claimed
        self.done: dict[str, str] = {}          # invocation -> result, run and perhaps not reported

    async def work(self, port: int, operation: dict) -> dict:
        operation = {**operation, "workerId": self.id}
        headers = {"x-rulith-connection": self.told["connection"], "x-rulith-connection-key": self.told["key"],
                   "x-rulith-worker": self.id, "x-rulith-worker-version": "2026-09-01"}
        if self.generation is not None:
            operation["workerGeneration"] = self.generation
            headers["x-rulith-worker-generation"] = str(self.generation)
        self.book.asked[operation["kind"]] += 1
        status, _, body = await http(port, "POST", "/work", headers, json.dumps({"operation": operation}).encode())
        if status >= 500 and status != 503:
            self.book.wrong.append(f"{operation['kind']} answered {status}: {body[:200]!r}")
        return json.loads(body)

    async def run(self, port: int) -> None:
        try:
            while True:
                await self.settle(port)
                answer = await self.work(port, {"kind": "Poll", "tools": self.told["tools"]})
                if not answer.get("accepted"):
                    if answer.get("errorCode") == "worker_lease_superseded" and self.generation is not None:
                        self.begin_anew()
                    await asyncio.sleep(0.05)
                    continue
                self.generation = answer["lease"]["workerGeneration"]
                for row in answer["payload"]["work"]:
                    self.held[row["work"]] = row
        except GONE:
            return

    async def settle(self, port: int) -> None:
        """Claim what is held, run what was claimed, report what ran; each again where its answer was lost."""
        for invocation, row in list(self.held.items()):
            work = {"workType": "action", "id": invocation, "executionGrant": row["executionGrant"]}
            if invocation not in self.done:
                answer = await self.work(port, {"kind": "ClaimWork", **work})
                if answer.get("errorCode") == "store_unavailable":
                    return
                if not answer.get("accepted"):
                    del self.held[invocation]
                    continue
                self.book.ran[invocation] += 1
                self.done[invocation] = f"done {invocation} by {self.id}"
            answer = await self.work(port, {"kind": "ReportWork", **work, "ok": True, "result": self.done[invocation]})
            if answer.get("errorCode") == "store_unavailable":
                return
            if answer.get("accepted"):
                self.book.receipts[invocation] = self.done[invocation]
            del self.held[invocation]
