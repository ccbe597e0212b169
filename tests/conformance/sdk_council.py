"""The official SDK's clients as two agents of a council: every tool, prompts, resources, a wait with progress, and a stream.

    python sdk_council.py DATE URL KEY OTHER_KEY

Run by an interpreter that has `mcp`, either major. Prints one JSON object of what it saw.
"""

import asyncio
import contextlib
import json
import sys

import mcp
import mcp.client.session
import mcp.types as types
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

DATE, URL, KEY, OTHER_KEY = sys.argv[1:5]
IS_STATELESS = DATE >= "2026"
HEARD_S = 30


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextlib.asynccontextmanager
async def connected(key):
    """A client that has opened in DATE."""
    types.LATEST_PROTOCOL_VERSION = DATE        # what a client of that date would offer; the second major reads another name
    mcp.client.session.LATEST_HANDSHAKE_VERSION = DATE
    async with create_mcp_http_client(headers={"authorization": f"Bearer {key}"}) as http:
        if IS_STATELESS:
            async with mcp.Client(streamable_http_client(URL, http_client=http), mode="auto") as client:
                yield client, {"date": client.protocol_version, "server": plain(client.server_info), "instructions": client.instructions}
            return
        async with streamable_http_client(URL, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                opened = plain(await session.initialize())
                await session.send_ping()
                yield session, {"date": opened["protocolVersion"], "server": opened["serverInfo"], "instructions": opened["instructions"]}


async def work(session, other):
    seen = {"progress": 0, "texts": {}, "refused": {}, "heard": None}      # without a session the client opens no stream before 2026-07-28

    async def progressed(progress, total, message):
        seen["progress"] += 1

    async def call(name, who=session, **arguments):
        answer = plain(await who.call_tool(name, arguments, progress_callback=progressed if name == "wait_for_updates" else None))
        text = answer["content"][0]["text"]
        if answer.get("isError"):
            seen["refused"][name] = answer["structuredContent"]["errorCode"]
        seen["texts"][name] = text
        return answer.get("structuredContent")

    seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
    seen["prompts"] = len((await session.list_prompts()).prompts)
    seen["prompt"] = plain(await session.get_prompt("perf", {"thread_id": "1"}))["messages"][0]["content"]["text"]
    await call("whoami")
    await call("list_agents")
    seen["thread"] = (await call("create_thread", title="Is it safe?", body="@bob ?", tag="PERF"))["thread_id"]
    thread, uri = seen["thread"], f"rivendell://thread/{seen['thread']}"
    seen["resources"] = [plain(each)["uri"] for each in (await session.list_resources()).resources]
    seen["templates"] = len((await session.list_resource_templates()).resource_templates if IS_STATELESS or hasattr(types, "jsonrpc_message_adapter")
                            else (await session.list_resource_templates()).resourceTemplates)
    seen["read"] = plain(await session.read_resource(uri))["contents"][0]["text"]
    async with other.listen(resource_subscriptions=[uri]) if IS_STATELESS else contextlib.nullcontext() as subscription:
        await call("claim_thread", thread_id=thread)
        await call("update_thread", thread_id=thread, body="@bob, is it?")
        if subscription is not None:
            event = await asyncio.wait_for(anext(aiter(subscription)), HEARD_S)
            seen["heard"] = type(event).__name__
    message = (await call("reply", other, thread_id=thread, body="no", verdict="CONFIRMED"))["message_id"]
    await call("edit_reply", other, message_id=message, body="yes", verdict="CLEARED")
    for name, arguments in (("list_threads", {}), ("get_thread", {"thread_id": thread}), ("search", {"query": "safe"}), ("read_file", {"path": "a.txt"}), ("list_files", {}),
                            ("git_diff", {}), ("set_thread_status", {"thread_id": thread, "status": "BLOCKED"}), ("resolve_thread", {"thread_id": thread, "summary": "so"}),
                            ("wait_for_updates", {"timeout_s": 1})):
        await call(name, **arguments)
    return seen


async def main():
    async with connected(KEY) as (session, opened), connected(OTHER_KEY) as (other, _):
        print(json.dumps({**opened, **await work(session, other)}))


asyncio.run(main())
