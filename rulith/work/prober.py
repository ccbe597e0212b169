"""A look at an MCP server before anybody relies on it: start or reach it, list its tools, end it.

A process of its own, for one look, started by the workbench with the candidate's own words. It
judges the server's place exactly as a Worker does, calls no tool, and tells of a failure in our
words alone: what a server writes may hold anything.

Units   *_ms milliseconds
Source  the workbench surface, "Worker tools and MCP services", probe
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

from rulith.adapters.mcp import Server, server_of
from rulith.adapters.mcp_link import Budget, Cut, Turned
from rulith.adapters.mcp_session import NotReady, Session
from rulith.adapters.outbound import Outbound
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.procs.child import emit, watch_parent
from rulith.work.settings import read_settings

ARGUMENT = "probe"               # and a second one, {"name", "source", "lent"} as JSON: both come on stdin, so no process list shows them
TOLD_BYTES_MAX = 65_536          # of one tool; a larger schema is not told, and the tool is then of no use
ANSWERS_BYTES_MAX = 4_194_304
_OURS = re.compile(r"it (ended with status -?\d+|ended by signal \d+|closed its output|did not answer( within [\d.]+ s)?|answered HTTP \d{3}"
                   r"|answered with a redirect \(HTTP \d{3}\), which is not followed)|no time is left of [\d.]+ s")


def main(env: Mapping[str, str], question: str) -> int:
    """Look once and tell the parent what was found; always 0, since the parent was told."""
    try:
        asked = read_json(question, "the question")
        assert isinstance(asked, dict)
        name = str(asked["name"])
        settings = read_settings({**env, "RULITH_CONNECTION": "probe", "RULITH_CONNECTION_KEY": "probe"}, Path.cwd())
        territory = settings.territory((), {name: tuple(asked["lent"])})
        server = server_of(Source(name, "mcp", str(asked["source"].get("url", "")), asked["source"]), territory, os.environ)
    except Refused as refused:
        emit("probe-failed", problem=refused.happened.rstrip("."))
        return 0
    asyncio.run(_look(server))
    return 0


async def _look(server: Server) -> None:
    async def parent_gone() -> None:
        async for operation in watch_parent():
            if operation in ("stop", "eof"):
                return

    looking, watching = asyncio.ensure_future(_tell(server)), asyncio.ensure_future(parent_gone())
    await asyncio.wait((looking, watching), return_when=asyncio.FIRST_COMPLETED)
    for task in (looking, watching):
        task.cancel()
    await asyncio.gather(looking, watching, return_exceptions=True)


async def _tell(server: Server) -> None:
    outbound = Outbound()
    try:
        link = server.link(outbound)
        session = Session(link, server, server.date)
        budget = Budget(outbound.clock, server.timeout_ms, ANSWERS_BYTES_MAX)
        try:
            await session.open(budget)
            offered, is_whole = await session.tools(budget)
        finally:
            await link.close()
    except (NotReady, Refused) as problem:
        emit("probe-failed", problem=_in_our_words(problem))
        return
    finally:
        await outbound.close()
    for tool in offered:
        row = {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.schema)}
        if len(compact_json(row).encode("utf-8", "replace")) > TOLD_BYTES_MAX:
            row["inputSchema"] = None
        emit("probe-tool", tool=row)
    emit("probed", truncated=not is_whole)


def _in_our_words(problem: Exception) -> str:
    """Why, as far as it can be said without a word of the server's."""
    if isinstance(problem, Refused):
        return problem.happened.rstrip(".")
    cause = problem.__context__
    if isinstance(cause, Cut) and not cause.sent:
        return cause.detail.rstrip(".")          # nothing of it came
    if isinstance(cause, (Cut, Turned)) and _OURS.fullmatch(str(cause)):
        return str(cause)
    return "it was reached, and does not speak MCP as a Worker does"
