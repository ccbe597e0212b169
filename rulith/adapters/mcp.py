"""The mcp adapter: one call of a Tool on a server that somebody else wrote.

Until the call is sent everything that goes wrong is a plain failure. Once it is sent only an
answer tells what happened: without one the outcome is unknown, whatever the Tool's kind, the
session is dropped, and nothing is sent again.

Source  protocol/worker-contract.json, "mcp"
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rulith.adapters.environment import child_environment
from rulith.adapters.mcp_http import HttpLink
from rulith.adapters.mcp_link import Budget, Cut, McpLink, Turned
from rulith.adapters.mcp_session import NotReady, Session
from rulith.adapters.mcp_stdio import Launch, StdioLink, command_of
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed, Failed, Outcome, Withheld
from rulith.adapters.places import VAULT, Place, check_members, place_of, unusable
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.json_text import compact_json
from rulith.base.paths import PATH_BYTES_MAX
from rulith.wire.mcp_outbound import DATES, OWN_HEADERS, BadPeer, Offered, Told, judge_call

TIMEOUT_MS, RESPONSE_BYTES = 30_000, 1_048_576   # at most, and where nobody says less
UNKNOWN = "mcp_execution_unknown"
ANSWER = "$answer"                # the column that stands for all that a server said
SCHEMA_CHARS_MAX = 16_000
_ANY = ("type", "transport", "protocol", "timeoutMs", "maxResponseBytes")
MEMBERS = {"stdio": (*_ANY, "command", "args", "cwd", "env"), "streamable-http": (*_ANY, "access", "url", "headers", "token")}


@dataclass(frozen=True)
class Server:
    """Where a Source's server is, and how long it may take. Two equal ones share a session."""

    source: str
    where: Launch | Place
    date: str | None
    timeout_ms: int
    bytes_max: int

    def link(self, outbound: Outbound) -> McpLink:
        return StdioLink(self.where) if isinstance(self.where, Launch) else HttpLink(self.where, outbound)


@dataclass(frozen=True)
class McpCall:
    """One compiled call, or one discovery."""

    call: Call
    server: Server = field(repr=False)
    outbound: Outbound = field(repr=False)

    async def run(self) -> Outcome:
        fence, server, sessions = self.call.tool.fence, self.server, self.outbound.sessions
        budget = Budget(self.outbound.clock, _least(server.timeout_ms, fence.get("timeoutMs")),
                        _least(server.bytes_max, fence.get("maxResponseBytes")))
        try:
            async with sessions.turn:
                try:
                    session = await sessions.take(server.source, server, server.date, lambda: server.link(self.outbound), budget)
                except NotReady as problem:
                    return await self._not_sent(str(problem))
                if self.call.tool.entry == "discover":
                    return await self._discover(session, budget)
                return await self._apply(session, budget)
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(sessions.drop(server.source)))
            raise

    async def _not_sent(self, problem: str) -> Failed:
        """Nothing ran; the session is not worth keeping."""
        return Failed(f"The MCP server of Source {self.server.source!r} cannot be used: {problem}{await self._drop()}.")

    async def _drop(self) -> str:
        """End the session; what the server said aside."""
        words = self.outbound.sessions.last_words(self.server.source)
        await self.outbound.sessions.drop(self.server.source)
        return f" ({words})" if words else ""

    async def _discover(self, session: Session, budget: Budget) -> Outcome:
        try:
            offered, is_whole = await session.tools(budget)
        except NotReady as problem:
            return await self._not_sent(str(problem))
        rows: list[Mapping[str, object]] = []
        used = 0
        for tool in offered:
            row = _row(self.server.source, tool)
            used += 2 * len(compact_json(row).encode("utf-8", "replace")) + 200      # told as a row and as a fact
            if used > self.call.inline_bytes:
                is_whole = False
                break
            rows.append(row)
        brief = compact_json({"tools": len(rows), "truncated": not is_whole})
        return Executed(compact_json({"tools": rows, "truncated": not is_whole}), tuple(rows), brief)

    async def _apply(self, session: Session, budget: Budget) -> Outcome:
        name = self.call.tool.entry
        arguments = dict(self.call.arguments)
        try:
            offered = await session.find(name, budget)
        except NotReady as problem:
            if session.is_sound():
                return Failed(f"The MCP server of Source {self.server.source!r} cannot take the call: {problem}.")
            return await self._not_sent(str(problem))
        mirrored = offered.headers(arguments) if offered is not None else {}
        try:
            answer = judge_call(await session.ask("tools/call", budget, {"name": name, "arguments": arguments}, mirrored))
        except Turned as turned:
            return await self._not_sent(str(turned))
        except Cut as cut:
            if not cut.sent:
                return await self._not_sent(cut.detail)
            return Withheld(UNKNOWN, f"after the call was sent, {cut.detail}{await self._drop()}")
        except BadPeer as bad:
            return Withheld(UNKNOWN, f"after the call was sent, {bad}{await self._drop()}")
        if isinstance(answer, Told):
            rows = _whole_answer(self.call, answer.text)
            return Executed(answer.text, rows, "The whole answer stands in its fact." if rows else None, unreadable=UNKNOWN, literal=True)
        return Failed(answer.reason)


def _whole_answer(call: Call, text: str) -> tuple[Mapping[str, object], ...] | None:
    """For a Tool that returns the column `$answer`: the call's own arguments, its Source and all that the server said, as one row."""
    if not any(ANSWER in row["args"].values() for row in call.tool.returns):  # type: ignore[attr-defined]
        return None
    return ({**call.arguments, "source": call.source.name if call.source else "", ANSWER[1:]: text},)


def _least(limit: int, stated: object) -> int:
    return min(limit, stated) if isinstance(stated, int) else limit


def _row(source: str, tool: Offered) -> dict[str, object]:
    schema = compact_json(tool.schema)
    return {"source": source, "tool_name": tool.name, "description": tool.description,
            "input_schema_json": schema if len(schema) <= SCHEMA_CHARS_MAX else "{}"}


# -- before the claim ------------------------------------------------------------------


def server_of(source: Source, territory: Territory, ambient: Mapping[str, str]) -> Server:
    """Where the Source's server is. Raises Refused source_unusable, source_root_refused."""
    if source.type != "mcp":
        raise unusable(source, f"it is of type {source.type}, and the mcp adapter needs mcp")
    transport = source.secrets.get("transport") or ("streamable-http" if source.access not in ("", VAULT) else "")
    if transport not in MEMBERS:
        raise unusable(source, f"its transport must be one of {', '.join(MEMBERS)}, in this machine's Source vault")
    check_members(source, MEMBERS[str(transport)])
    date = source.secrets.get("protocol")
    if date is not None and date not in DATES:
        raise unusable(source, f"protocol must be one of {', '.join(DATES)}")
    timeout_ms, bytes_max = _bound(source, "timeoutMs", TIMEOUT_MS), _bound(source, "maxResponseBytes", RESPONSE_BYTES)
    where = _launch(source, territory, ambient) if transport == "stdio" else place_of(source, OWN_HEADERS)
    return Server(source.name, where, date if isinstance(date, str) else None, timeout_ms, bytes_max)


def _bound(source: Source, member: str, most: int) -> int:
    value = source.secrets.get(member, most)
    if type(value) is not int or not 1 <= value <= most:
        raise unusable(source, f"{member} must be a whole number from 1 to {most}")
    return value


def _launch(source: Source, territory: Territory, ambient: Mapping[str, str]) -> Launch:
    command, args, env = source.secrets.get("command"), source.secrets.get("args", []), source.secrets.get("env", {})
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise unusable(source, "command must name a program")
    if not isinstance(args, list) or not all(isinstance(each, str) and "\0" not in each for each in args):
        raise unusable(source, "args must be a list of texts")
    if not isinstance(env, Mapping):
        raise unusable(source, "env must be an object of name to text")
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or not isinstance(value, str) or "\0" in value:
            raise unusable(source, f"env holds {name[:60]!r}, which is no variable with a text")
        if name.upper().startswith("RULITH_"):
            raise unusable(source, f"env holds {name[:60]!r}; names of our own are not passed on")
    stated = source.secrets.get("cwd")
    cwd = os.path.realpath(os.path.join(territory.root, str(stated))) if stated else territory.root
    program = [path for path in (os.path.join(cwd, command),) if os.path.dirname(command) and os.path.exists(path)]
    for path in program + [cwd] * bool(stated) + [path for each in (*args, *env.values()) if (path := _path_in(each, cwd))]:
        replace(territory, writes=False).folder_of(replace(source, access=path))
    if not os.path.isdir(cwd):
        raise unusable(source, "its cwd is no folder")
    try:
        argv = command_of(command, args, lambda name: shutil.which(name, path=env.get("PATH") or ambient.get("PATH")),
                          is_windows=sys.platform == "win32")
    except ValueError as problem:
        raise unusable(source, str(problem)) from None
    return Launch(argv, cwd, child_environment(ambient, passed=(), added=env))


def _path_in(word: str, cwd: str) -> str | None:
    """The file or folder that an argument or a variable names from `cwd`, also behind `--option=`."""
    name = word.rpartition("=")[2] if word.startswith("-") else word
    path = os.path.join(cwd, name)
    return path if name and len(name) <= PATH_BYTES_MAX and os.path.exists(path) else None


def compile_tool(call: Call, territory: Territory, ambient: Mapping[str, str], outbound: Outbound) -> McpCall:
    """Judge the Source's server before anything is claimed; starts and asks nothing.

    Raises Refused: source_unusable, source_root_refused, ca_file_unreadable.
    """
    assert call.source is not None, "adapters/hands.py judges this first"
    server = server_of(call.source, territory, ambient)
    if isinstance(server.where, Place):
        outbound.trusted(server.where.url)
    return McpCall(call, server, outbound)
