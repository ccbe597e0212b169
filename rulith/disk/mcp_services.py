"""The MCP services of one profile: which servers its Worker may start or ask, and which of their tools it serves.

One file, private to its owner since it may hold tokens. The Worker reads it at its start,
beside the Tool Manifest and the Source vault, which stay as their owner wrote them: each
service is a Source of its own name, each chosen tool a Tool of its own id. A file that says
anything else is refused whole.

Source  the workbench surface, "Worker tools and MCP services"
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import TOOLS_MAX
from rulith.disk.profiles import Profile
from rulith.disk.vault import Vault
from rulith.wire.manifest import Tool, builtin_tools, read_manifest, read_tool

FORMAT = "rulith-local-mcp/1"
SETTING = "RULITH_MCP_SERVICES_FILE"
MODES = ("filesystem", "stdio", "streamable-http", "registry")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
OWNED = "local.mcp."             # Tools of this beginning come from services alone
SERVICES_MAX = 32
_MEMBERS = {"name", "mode", "source", "tools", "discovered", "definition"}
_OPTIONAL = {"directory", "registry", "package"}

Service = Mapping[str, object]


def folder_of(profile: Profile) -> Path:
    """Where services and the packages that they start lie."""
    return profile.directory / "mcp"


def file_of(profile: Profile) -> Path:
    return folder_of(profile) / "services.json"


def worker_services(profile: Profile) -> dict[str, str]:
    """The Worker's setting; nothing before there is a file."""
    return {SETTING: str(file_of(profile))} if file_of(profile).exists() else {}


def read_services(file: Path | None) -> dict[str, Service]:
    """The services by name; none where no file is named or there is none yet. Raises Refused: mcp_services_unreadable, and what the vault refuses."""

    def refuse(problem: str) -> Refused:
        return Refused("mcp_services_unreadable", file=str(file), problem=problem)

    content = None if file is None else Vault(file).read()
    if file is None or content is None:
        return {}
    try:
        value = read_json(content, file.name)
    except Refused:
        raise refuse("it is no JSON of ours") from None      # the parser's words could quote a token
    rows = value.get("services") if isinstance(value, dict) and value.get("format") == FORMAT else None
    if not isinstance(rows, dict) or set(value) != {"format", "services"} or len(rows) > SERVICES_MAX:
        raise refuse(f"it is no list of up to {SERVICES_MAX} services of the format {FORMAT}")
    for name, row in rows.items():
        if not NAME.fullmatch(name) or not isinstance(row, dict) or row.get("name") != name or row.get("mode") not in MODES:
            raise refuse(f"the service {name[:40]!r} has no usable name or mode")
        if not _MEMBERS <= set(row) <= _MEMBERS | _OPTIONAL:
            raise refuse(f"the service {name!r} lacks a member, or has one that means nothing")
        source, tools, package = row["source"], row["tools"], row.get("package")
        if not isinstance(source, dict) or source.get("type") != "mcp" or not isinstance(tools, dict):
            raise refuse(f"the service {name!r} does not say where it is")
        if package is not None and not (isinstance(package, dict) and isinstance(package.get("entry"), str) and is_plain(package["entry"])):
            raise refuse(f"the service {name!r} names a package outside of its folder")
        for tool, members in tools.items():
            if not tool.startswith(f"{OWNED}{name.replace('_', '-')}.") or not isinstance(members, dict) or members.get("adapter") != "mcp":
                raise refuse(f"the service {name!r} has a Tool that is not its own")
    return rows


def is_plain(path: str) -> bool:
    """Whether `path` leads down from where it begins and nowhere else."""
    return bool(path) and not os.path.isabs(path) and ".." not in Path(path).parts and "\\" not in path and "\0" not in path


def tools_of(services: Mapping[str, Service]) -> dict[str, Tool]:
    """The Tools of all services, by the Worker's own rules. Raises Refused tool_manifest_invalid."""
    return {tool: read_tool(tool, members) for service in services.values() for tool, members in service["tools"].items()}  # type: ignore[union-attr, attr-defined]


def entries_of(services: Mapping[str, Service]) -> dict[str, dict[str, object]]:
    """What the Source vault would say of each service."""
    return {name: dict(service["source"]) for name, service in services.items()}  # type: ignore[call-overload]


def lent_of(services: Mapping[str, Service], file: Path | None) -> dict[str, tuple[str, ...]]:
    """What of the home a service in `file`, and no other Source, may name: its own workspace, and the program file that it starts."""
    lent = {}
    for name, service in services.items():
        package = service.get("package")
        assert file is not None, "without a file there are no services"
        started = (str(file.parent / "packages" / package["entry"]),) if isinstance(package, Mapping) else ()
        lent[name] = (str(file.parent / "workspaces" / name), *started)
    return lent


def joined(what: str, ours: Mapping[str, object], added: Mapping[str, object]) -> dict:
    """Both together. Raises Refused mcp_service_clash: neither replaces the other."""
    if twice := sorted(set(ours) & set(added)):
        raise Refused("mcp_service_clash", what=what, name=twice[0])
    return {**ours, **added}


def whole_set(mode: str, manifest: bytes | None, file: str, services: Mapping[str, Service], *, materials: bool = False) -> dict[str, Tool]:
    """Every Tool that a Worker serves: built-in, of its Manifest, of its services.

    Raises Refused: tool_manifest_…, mcp_service_clash, too_many_tools.
    """
    tools: dict[str, Tool] = {tool.id: tool for tool in builtin_tools(mode, materials=materials)}
    if manifest is not None:
        tools.update(read_manifest(manifest, file))
    tools = joined("Tool", tools, tools_of(services))
    if len(tools) > TOOLS_MAX:
        raise Refused("too_many_tools", count=len(tools), limit=TOOLS_MAX)
    return tools
