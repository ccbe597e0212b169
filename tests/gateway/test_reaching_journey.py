"""Tools that reach out, the whole way: what an HTTP service, a database and an MCP server said or left unsaid, as the Board hears of it.

Duty: the Worker hop, "Adapters" and "Failure paths": an unknown effect is never reported as failed and waits for a person.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from pathlib import Path

from rulith.adapters.hands import Hands
from rulith.adapters.outbound import Outbound
from rulith.adapters.sources import Sources
from rulith.adapters.territory import Territory
from rulith.base.clock import SystemClock
from rulith.disk.profiles import worker_secrets
from rulith.net.client import HttpClient
from rulith.wire.manifest import BUILTINS, read_tool
from rulith.work.core import Worker
from rulith.work.driver import Driver, Line
from tests.adapters.far_server import CUT, answer, far_server
from tests.gateway.test_direct_actions import Owner

FAR_MCP = str(Path(__file__).resolve().parents[1] / "adapters" / "far_mcp.py")
DISCOVER = BUILTINS["rulith.mcp.discover@1"]


def tool(name, adapter, kind, entry, params, args, **members):
    returns = [{"predicate": f"acme.far.{name}", "args": {each: "$" + each for each in args}}]
    source = {"http": "http", "mcp": "mcp"}.get(adapter, "db")
    return read_tool(f"acme.far.{name}@1", {"adapter": adapter, "kind": kind, "sourceTypes": [source], "entry": entry, "params": params, "returns": returns, **members})


TOOLS = {each.id: each for each in (
    tool("row", "db-query", "read", "SELECT sku, units FROM stock WHERE sku = {sku}", {"sku": "string"}, ("sku", "units")),
    tool("put", "db-exec-fenced", "write", "INSERT INTO stock VALUES ({sku}, {units}) RETURNING sku, units", {"sku": "string", "units": "number"}, ("sku", "units")),
    tool("send", "http", "write", "orders", {"sku": "string"}, ("sku", "id")),
    tool("rows", "mcp", "read", "rows", {"sku": "string", "cents": "number"}, ("sku", "cents")),
    tool("dies", "mcp", "read", "dies", {"sku": "string"}, ("sku",)),
    DISCOVER,
)}


class OwnWorker:
    """The product's Worker in this process, with these Tools and this vault."""

    def __init__(self, world, folder, vault, tools=TOOLS) -> None:
        secrets = worker_secrets(world.profile).load()
        connection, key = secrets["RULITH_CONNECTION"], secrets["RULITH_CONNECTION_KEY"]
        self.hands = Hands(Territory(str(folder), str(world.home.path)), {}, outbound=Outbound({}))
        core = Worker(worker_id="wkr_reaching_journey", connection_id=connection, key=key, tools=tools,
                      advertised=[each.descriptor() for each in tools.values()], sources=Sources(vault), compile=self.hands.compile, inspect=self.hands.inspect)
        self.told: list[tuple[str, dict]] = []
        self.client = HttpClient(SystemClock())
        line = Line(self.client, f"http://127.0.0.1:{world.port}/work", connection, key, "wkr_reaching_journey")
        self.driver = Driver(core, line, SystemClock(), lambda kind, facts: self.told.append((kind, dict(facts))))

    async def __aenter__(self) -> OwnWorker:
        self.task = asyncio.ensure_future(self.driver.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.wait([self.task], timeout=20)
        await self.client.close()
        await self.hands.close()


def test_what_far_places_say_is_attested_and_what_they_leave_unsaid_waits_for_a_person(play, kit, tmp_path):
    with sqlite3.connect(tmp_path / "shelf.db") as database:
        database.execute("CREATE TABLE stock (sku TEXT PRIMARY KEY, units INTEGER)")
        database.execute("INSERT INTO stock VALUES ('bolt-8', 3)")

    def depot(request):
        return CUT if request.json["sku"] == "nut-8" else answer(201, {"rows": [{"sku": request.json["sku"], "id": "o-1"}]})

    async def main(world):
        owner, host = await Owner(world, kit).set_up(), world.host()
        connection = world.profile.connection_id
        async with far_server(depot) as far:
            vault = {
                "shelf": {"type": "db", "dsn": "sqlite:shelf.db"}, "depot": {"type": "http", "url": far.url, "token": "depot-secret"},
                "prices": {"type": "mcp", "transport": "stdio", "command": sys.executable, "args": [FAR_MCP, json.dumps({"tools": ["rows", "dies"]})]}}
            async with OwnWorker(world, tmp_path, vault) as worker:
                await host.initialize()
                await host.call("OpenCase", {"caseType": "exploration"})
                while not any(kind == "lease" for kind, _ in worker.told):
                    await asyncio.sleep(0.01)
                for each in TOOLS.values():
                    await owner.act("tool-lock", connectionId=connection, toolId=each.id, digest=each.digest, replaces="")
                    if each.kind == "write":
                        await owner.act("tool-waive", connectionId=connection, toolId=each.id, digest=each.digest, waived=True)
                for name, kind in (("shelf", "db"), ("depot", "http"), ("prices", "mcp")):
                    attests = sorted({row["predicate"] for each in TOOLS.values() if kind in each.source_types for row in each.returns})
                    await owner.act("source-add", connectionId=connection, name=name, type=kind, access="vault", tier="attested", attests=attests)

                async def apply(name, source, **args):
                    return await host.call("ApplyAction", {"action": name, "args": {"source": source, **args}})

                async def facts(predicate):
                    view = (await host.call("QueryBoard", {"selector": {}, "include": ["nodes"]}))["view"]
                    found = [node for node in view["nodes"] if node.get("predicate") == predicate]
                    assert all(node["tier"] == "attested" for node in found)
                    return [(node["source"], node["args"]) for node in found]

                for name, source, args, told in (
                    ("row", "shelf", {"sku": "bolt-8"}, {"sku": "bolt-8", "units": 3}), ("put", "shelf", {"sku": "nut-8", "units": 5}, {"sku": "nut-8", "units": 5}),
                    ("send", "depot", {"sku": "bolt-8"}, {"sku": "bolt-8", "id": "o-1"}), ("rows", "prices", {"sku": "bolt-8", "cents": 12}, {"sku": "bolt-8", "cents": 12}),
                ):
                    body = await apply(f"acme.far.{name}", source, **args)
                    assert body["accepted"] and body["result"]["ok"] is True, body
                    assert await facts(f"acme.far.{name}") == [(source, told)]
                body = await apply("rulith.mcp.discover", "prices")
                assert body["result"]["ok"] is True
                assert {args["tool_name"] for _, args in await facts("rulith.worker.mcp_tool")} == {"rows", "dies"}

                refused = await apply("acme.far.put", "shelf", sku="nut-8", units=6)       # the row is there already
                assert refused["result"]["ok"] is False and await facts("acme.far.put") == [("shelf", {"sku": "nut-8", "units": 5})]
                held = asyncio.ensure_future(apply("acme.far.send", "depot", sku="nut-8"))
                while not any(kind == "reported" and facts["outcome"] == "undeliverable" for kind, facts in worker.told):
                    await asyncio.sleep(0.01)
                cut = await held
                assert "needs_person" in json.dumps(cut) and len(await facts("acme.far.send")) == 1, cut
                assert len(far.seen) == 2                      # never sent again
                left = world.gateway.authority.agents[world.profile.agent_id].operations.unresolved()
                page = await kit.http(world.port, "GET", f"/console/api/unknown?agent={world.profile.agent_id}&ordinal={left.ordinal}", owner.headers)
                assert "the service at “depot” (the Worker's own vault says where it is)" in page.json()["unknown"]["look"][0]
                assert all("depot-secret" not in json.dumps(facts) for _, facts in worker.told)

    play(main, holdMs=40_000)            # a real Worker answers, on a busy machine too
