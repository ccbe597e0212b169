"""The adapters of one Worker, and the one that takes a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rulith.adapters.db import compile_statement, database_of
from rulith.adapters.http import compile_request
from rulith.adapters.mcp import compile_tool, server_of
from rulith.adapters.outbound import Outbound
from rulith.adapters.material import Shelf, compile_material
from rulith.adapters.outcomes import Call, Outcome
from rulith.adapters.run import TIMEOUT_DEFAULT_S, compile_program
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.adapters.workspace import compile_look
from rulith.base.errors import Refused

_NEEDS_SOURCE = ("db-query", "db-exec-fenced", "http", "mcp", "workspace", "material")


def _not_made_for(source: Source) -> Refused:
    return Refused("source_unusable", source=source.name, problem=f"its entry in the environment vault does not fit what was granted ({source.mismatch})")


class Runnable(Protocol):
    """One compiled call. run() is awaited at most once; cancelling it ends what it started, as a tree."""

    async def run(self) -> Outcome: ...


@dataclass(frozen=True)
class Hands:
    """Compiles calls; holds what every adapter of this process shares.

    ambient   the process environment that children inherit from, before filtering
    outbound  what the adapters share that reach out
    shelf     where materials are kept, or None
    """

    territory: Territory
    ambient: Mapping[str, str]
    run_timeout_s: float = TIMEOUT_DEFAULT_S
    outbound: Outbound = field(default_factory=Outbound, repr=False)
    shelf: Shelf | None = None

    def inspect(self, source: Source) -> Refused | None:
        """Why no Tool could use this Source as it is, or None; what is no folder is judged by its adapter."""
        if source.mismatch:
            return _not_made_for(source)
        if self.shelf is not None and self.shelf.is_its(source, self.territory.root):
            return None
        try:
            if source.type == "file":
                self.territory.folder_of(source)
            elif source.type == "db":
                database_of(source, self.territory)
            elif source.type == "mcp" and "transport" in source.secrets:
                server_of(source, self.territory, self.ambient)
        except Refused as refused:
            return refused
        return None

    def compile(self, call: Call) -> Runnable:
        """Everything that can be judged before a claim, judged. Raises Refused; starts nothing."""
        tool = call.tool
        if call.source is None and tool.adapter in _NEEDS_SOURCE:
            raise Refused("source_free_refused", adapter=tool.adapter)
        if call.source is not None and call.source.mismatch:
            raise _not_made_for(call.source)
        return _COMPILERS[tool.adapter](call, self)

    async def close(self) -> None:
        """End what was kept open between calls: sessions, and the servers that this process started."""
        await self.outbound.close()


# How each adapter judges a call before its claim.
_COMPILERS: Mapping[str, Callable[[Call, Hands], Runnable]] = {
    "run": lambda call, hands: compile_program(call, hands.territory, hands.ambient, hands.run_timeout_s),
    "workspace": lambda call, hands: compile_look(call, hands.territory),
    "http": lambda call, hands: compile_request(call, hands.outbound),
    "db-query": lambda call, hands: compile_statement(call, hands.territory, hands.outbound),
    "db-exec-fenced": lambda call, hands: compile_statement(call, hands.territory, hands.outbound),
    "mcp": lambda call, hands: compile_tool(call, hands.territory, hands.ambient, hands.outbound),
    "material": lambda call, hands: compile_material(call, hands.shelf, hands.territory.root),
}
