"""The official SDK's client as an Agent: all six tools, the demo's job from opening to a certified close.

    python sdk_agent.py URL TOKEN

Run by an interpreter that has `mcp`, either major. Prints one JSON object of what it saw.
"""

import asyncio
import json
import sys
from importlib.metadata import version

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

URL, TOKEN = sys.argv[1:3]
PREFIX = "rulith.verified_calculation."
FACT = {"op": "assert_fact", "id": "note", "predicate": "note", "args": {"text": "seen by the SDK"}}


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def work(session):
    opened = plain(await session.initialize())
    seen = {"sdk": version("mcp"), "date": opened["protocolVersion"], "server": opened["serverInfo"]["name"],
            "tools": [tool.name for tool in (await session.list_tools()).tools], "progress": 0, "refused": {}}
    await session.send_ping()

    async def heard(progress, total, message):
        seen["progress"] += 1

    async def call(name, arguments):
        answer = plain(await session.call_tool(name, arguments, progress_callback=heard if name == "ApplyAction" else None))
        body = json.loads(answer["content"][0]["text"])
        if answer.get("isError"):
            seen["refused"][name] = body["errorCode"]
        return body

    case = (await call("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}}))["result"]
    seen["batch"] = (await call("ApplyBatch", {"operations": [FACT]}))["accepted"]
    await call("ReadArtifact", {"ref": "art_" + "0" * 32})
    seen["actions"] = []
    for _ in range(8):
        view = (await call("QueryBoard", {"include": ["taskStatus", "nodes"], "selector": {"roots": [case["root"]]}}))["view"]
        ready = [row for row in view["actions"] if row["status"] == "ready" and row.get("candidates")
                 and not any("tried" in each for each in row["candidates"])]
        if view["taskStatus"][case["root"]]["certified"] or not ready:
            break
        bound = ready[0]["candidates"][0]
        done = await call("ApplyAction", {"action": ready[0]["action"], "args": {**bound["args"], "source": "verified-calculation-local"},
                                          "target": bound["target"]})
        seen["actions"].append([ready[0]["action"].removeprefix(PREFIX), done["result"]["status"]])
    seen["closed"] = (await call("CloseCase", {"root": case["root"]}))["result"]
    return seen


async def main():
    async with create_mcp_http_client(headers={"authorization": f"Bearer {TOKEN}"}) as http:
        async with streamable_http_client(URL, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                print(json.dumps(await work(session)))


asyncio.run(main())
