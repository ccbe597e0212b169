"""The official SDK's client, working a Board from nothing to a proved total; run by an interpreter that has `mcp`.

    python sdk_client.py DATE http URL
    python sdk_client.py DATE stdio COMMAND...

Prints one JSON object of what it saw.
"""

import asyncio
import contextlib
import json
import sys

import mcp
import mcp.client.session
import mcp.types as types
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

DATE, KIND, TARGET = sys.argv[1], sys.argv[2], sys.argv[3:]

OPERATIONS = [
    {"op": "declare_goal", "id": "G1", "label": "the total is known", "desired": [{"predicate": "grand", "args": {"value": "?v"}}]},
    {"op": "assert_fact", "id": "L1", "predicate": "line", "args": {"item": "a", "unit": 1299, "qty": 7}},
    {"op": "assert_fact", "id": "L2", "predicate": "line", "args": {"item": "b", "unit": 500, "qty": 2}},
    {"op": "add_axiom", "id": "R1", "label": "cost", "when": [
        {"predicate": "line", "args": {"item": "?i", "unit": "?u", "qty": "?q"}},
        {"predicate": "mul", "args": {"left": "?u", "right": "?q", "result": "?t"}}],
     "then": [{"predicate": "cost", "args": {"item": "?i", "total": "?t"}}]},
    {"op": "derive_aggregate", "id": "T", "source": {"predicate": "cost", "valueArg": "total"},
     "into": {"predicate": "grand", "valueArg": "value"}},
]
TASK = {"root": "invoice", "leaves": [{"node": "total", "acceptance": {"predicate": "grand", "args": {"value": "?v"}}}]}
RESULT = [{"op": "record_result", "label": "the total is proved", "evidenceRefs": ["derived:grand|value:10093"]}]


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def work(session, date):
    """The whole job; what came back, as plain data."""
    seen = {"sdk": mcp.__name__, "date": date}
    tools = await session.list_tools()
    seen["tools"] = [tool.name for tool in tools.tools]

    async def call(name, arguments):
        answer = plain(await session.call_tool(name, arguments))
        return {"text": answer["content"][0]["text"], "isError": answer.get("isError", False), "data": answer.get("structuredContent")}

    seen["empty"] = await call("get_logic_context", {})
    seen["task"] = await call("declare_task", TASK)
    seen["early"] = await call("complete_task", {"root": "invoice"})
    seen["update"] = await call("update_working_memory", {"operations": OPERATIONS})
    seen["why"] = await call("explain_fact", {"fact": {"predicate": "grand", "args": {"value": "?v"}}, "format": "json"})
    seen["result"] = await call("update_working_memory", {"operations": RESULT})
    seen["done"] = await call("complete_task", {"root": "invoice"})
    seen["refused"] = await call("update_working_memory", {"operations": [{"op": "assert_fact", "predicate": "mul", "args": {}}]})
    seen["locale"] = await call("list_spaces", {"locale": "de"})
    seen["spaces"] = await call("list_spaces", {"locale": "zh"})
    return seen


async def by_handshake():
    """Either major of the SDK, opening with initialize in DATE."""
    types.LATEST_PROTOCOL_VERSION = DATE        # what a client of that date would offer; the second major reads another name
    mcp.client.session.LATEST_HANDSHAKE_VERSION = DATE
    if KIND == "stdio":
        transport = stdio_client(StdioServerParameters(command=TARGET[0], args=TARGET[1:]))
    else:
        try:
            from mcp.client.streamable_http import streamable_http_client as connect
        except ImportError:
            from mcp.client.streamable_http import streamablehttp_client as connect
        transport = connect(TARGET[0])
    async with contextlib.AsyncExitStack() as stack:
        streams = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        opened = plain(await session.initialize())
        await session.send_ping()
        return {**await work(session, opened["protocolVersion"]), "server": opened["serverInfo"], "capabilities": opened["capabilities"]}


async def stateless():
    """SDK 2 in 2026-07-28, found by server/discover."""
    target = StdioServerParameters(command=TARGET[0], args=TARGET[1:]) if KIND == "stdio" else TARGET[0]
    async with mcp.Client(target, mode="auto") as client:
        session = client.session
        async with client.listen(tools_list_changed=True) if hasattr(client, "listen") else contextlib.nullcontext():
            seen = await work(client, session.protocol_version)
        return {**seen, "server": plain(client.server_info), "capabilities": plain(client.server_capabilities)}


print(json.dumps(asyncio.run(stateless() if DATE >= "2026" else by_handshake())))
