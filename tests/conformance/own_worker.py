"""The Worker's MCP adapter as the public suite's client: lists the tools and calls what the scenario speaks of.

    python -m tests.conformance.own_worker URL        MCP_CONFORMANCE_SCENARIO and _CONTEXT in the environment
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from rulith.adapters.hands import Hands
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.wire.manifest import BUILTINS, read_tool

# What a scenario wants called; a scenario's context may list calls of its own.
CALLS = {
    "tools_call": [("add_numbers", {"a": 5, "b": 3})], "sse-retry": [("test_reconnection", {})],
    "http-standard-headers": [("test_headers", {})],
}

ECHO = "json_schema_echo"        # wants to see another tool's schema as the client keeps it


async def main(url: str) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    hands = Hands(Territory(os.getcwd(), "/no-home-here"), {}, outbound=Outbound({}))
    source = Source("far", "mcp", url, {"type": "mcp", "transport": "streamable-http", "url": url})

    async def call(tool, arguments):
        outcome = await hands.compile(Call("inv_1", "key", tool, arguments, source, inline_bytes=2**20)).run()
        print(scenario, tool.entry, outcome, file=sys.stderr)
        return outcome

    try:
        listed = await call(BUILTINS["rulith.mcp.discover@1"], {})
        calls = [(each["name"], each.get("arguments", {})) for each in context.get("toolCalls", [])] or CALLS.get(scenario)
        if calls is None:
            rows = listed.rows or () if isinstance(listed, Executed) else ()
            schemas = {row["tool_name"]: json.loads(row["input_schema_json"]) for row in rows}
            looked_at = next((schema for name, schema in schemas.items() if name != ECHO), {})
            calls = [(name, {"schema": looked_at} if name == ECHO else {}) for name in schemas]
        for name, arguments in calls:
            await call(read_tool("suite.tool@1", {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": name,
                                                  "params": {each.lower(): "json" for each in arguments}}), arguments)
        return 0 if isinstance(listed, Executed) else 1
    finally:
        await hands.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
