"""Every workspace Tool the whole way: a host asks, the product's own Worker does it, the facts stand on the Board.

Duty: issue "The Worker, complete", built-ins; the Worker hop, "Built-in Tools".
"""

from __future__ import annotations

import asyncio
import hashlib

from rulith.adapters.hands import Hands
from rulith.adapters.sources import Sources
from rulith.adapters.territory import Territory
from rulith.base.clock import SystemClock
from rulith.disk.profiles import worker_secrets
from rulith.net.client import HttpClient
from rulith.wire.manifest import builtin_tools
from rulith.work.core import Worker
from rulith.work.driver import Driver, Line
from tests.gateway.test_direct_actions import Owner

WORKSPACE = {tool.id: tool for tool in builtin_tools("read-write") if tool.adapter == "workspace"}
PREDICATES = sorted({row["predicate"] for tool in WORKSPACE.values() for row in tool.returns})
WORKER = "wkr_workspace_journey"


class OwnWorker:
    """The product's Worker in this process, with workspace Tools that may write."""

    def __init__(self, world, folder) -> None:
        secrets = worker_secrets(world.profile).load()
        connection, key = secrets["RULITH_CONNECTION"], secrets["RULITH_CONNECTION_KEY"]
        (folder / "worker").mkdir()
        hands = Hands(Territory(str(folder / "worker"), str(world.home.path), writes=True), {})
        core = Worker(worker_id=WORKER, connection_id=connection, key=key, tools=WORKSPACE, advertised=[tool.descriptor() for tool in WORKSPACE.values()],
                      sources=Sources({}), compile=hands.compile, inspect=hands.inspect)
        self.told: list[tuple[str, dict]] = []
        self.client = HttpClient(SystemClock())
        line = Line(self.client, f"http://127.0.0.1:{world.port}/work", connection, key, WORKER)
        self.driver = Driver(core, line, SystemClock(), lambda kind, facts: self.told.append((kind, dict(facts))))

    async def __aenter__(self) -> OwnWorker:
        self.task = asyncio.ensure_future(self.driver.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.wait([self.task], timeout=20)
        await self.client.close()


def test_each_tool_is_asked_done_and_attested(play, kit, tmp_path):
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("one\ntwo needles\n")
    (folder / "sub" / "b.json").write_text('{"a": 1}')
    (folder / "?odd").write_text("?needle")

    async def main(world):
        owner, host = await Owner(world, kit).set_up(), world.host()
        connection = world.profile.connection_id
        async with OwnWorker(world, tmp_path) as worker:
            await host.initialize()
            await host.call("OpenCase", {"caseType": "exploration"})
            while not any(kind == "lease" for kind, _ in worker.told):
                await asyncio.sleep(0.01)
            for tool in WORKSPACE.values():
                await owner.act("tool-lock", connectionId=connection, toolId=tool.id, digest=tool.digest, replaces="")
                if tool.kind == "write":
                    await owner.act("tool-waive", connectionId=connection, toolId=tool.id, digest=tool.digest, waived=True)
            await owner.act("source-add", connectionId=connection, name="docs", type="file", access=str(folder), tier="attested", attests=PREDICATES)

            async def does(name, **args):
                body = await host.call("ApplyAction", {"action": f"rulith.workspace.{name}", "args": {"source": "docs", **args}})
                assert body["accepted"] and body["result"]["ok"] is True, (name, body)
                view = (await host.call("QueryBoard", {"selector": {}, "include": ["nodes"]}))["view"]
                (returned,) = WORKSPACE[f"rulith.workspace.{name}@1"].returns
                found = [node for node in view["nodes"] if node.get("predicate") == returned["predicate"]]
                assert found and all(node["tier"] == "attested" and node["source"] == "docs" for node in found), name
                return [node["args"] for node in found]

            text = (folder / "sub" / "a.txt").read_bytes()
            digest = hashlib.sha256(text).hexdigest()
            assert {row["path"] for row in await does("list", path="sub")} == {"sub/a.txt", "sub/b.json"}
            assert {row["path"] for row in await does("list")} >= {"./?odd", "sub"}
            (counted,) = await does("count", path="./sub", recursive=True)
            assert (counted["path"], counted["file_count"], counted["directory_count"]) == ("./sub", 2, 0)
            rows = await does("search", query="needle")
            assert {(row["path"], row["line"], row["text"]) for row in rows} == {("sub/a.txt", 2, "two needles"), ("./?odd", 1, " ?needle")}
            assert await does("read_text", path="sub/a.txt") == [{"source": "docs", "path": "sub/a.txt", "text": text.decode(), "digest": digest}]
            assert (await does("read_json", path="sub/b.json"))[0]["json"] == '{"a": 1}'
            assert await does("hash", path="sub//a.txt") == [{"source": "docs", "path": "sub//a.txt", "sha256": digest, "size": len(text)}]
            assert [row["path"] for row in await does("write_text", path="new/c.txt", text="written")] == ["new/c.txt"]
            assert (folder / "new" / "c.txt").read_text() == "written"
            assert (await owner.tool({"id": "rulith.workspace.write_json@1"}))["direct"]["problem"], "a json argument is a Capability's to fill"

    play(main, holdMs=40_000)            # a real Worker answers, on a busy machine too
