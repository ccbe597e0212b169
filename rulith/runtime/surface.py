"""The handshake's questions, asked of what the gateway declared.

A gateway that speaks another contract is told apart from one that refuses a credential:
the first is a Mismatch that only another release cures. Text of the peer is flattened
before anything prints it.

Source  the MCP surface, "Handshake" and "Client view of each failure".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rulith import VERSION
from rulith.base.errors import Mismatch
from rulith.runtime.answers import SURFACE, TOOLS
from rulith.wire.contract import mcp_contract
from rulith.wire.mcp_client import PROTOCOL_DATE, CredentialRejected, RequiredClient, VersionRefused, declares_surface

DESCRIPTION_BYTES_MAX = mcp_contract().surface["bounds"]["descriptionBytes"]
PEER_TEXT_CHARS_MAX = 600
QUOTED_CHARS_MAX = 400

Warn = Callable[[str], None]

_NAMES = mcp_contract().surface
RETIRED_TOOLS = tuple(_NAMES["retiredTools"])
RETIRED_FIELDS = tuple(_NAMES["retiredArguments"])
HOST_FIELDS = tuple(_NAMES["hostOwnedArguments"])
_HOST_OWNED = frozenset(RETIRED_FIELDS + HOST_FIELDS)


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    input_schema: dict

    def row(self) -> dict:
        """As a dialect takes it."""
        return {"name": self.name, "description": self.description, "inputSchema": self.input_schema}


def flat(text: object, chars_max: int = PEER_TEXT_CHARS_MAX) -> str:
    """Text of the peer on one line: no control, format or line separators, bounded."""
    kept = "".join(letter if letter.isprintable() else " " for letter in str(text))
    kept = " ".join(kept.split())
    return kept if len(kept) <= chars_max else kept[: chars_max - 1] + "…"


def check_initialize(result: dict) -> None:
    """Raises Mismatch unless the gateway speaks our date and declares our surface."""
    spoken = result.get("protocolVersion")
    if spoken != PROTOCOL_DATE:
        raise Mismatch(f"The gateway speaks MCP {flat(spoken, 40)}, this Agent {PROTOCOL_DATE}. Nothing else was sent.")
    if not declares_surface(result):
        raise Mismatch(f"The gateway does not declare {SURFACE} with heldCalls 1. This is not about the credential: "
                       "install the gateway release that belongs to this Agent.")


def check_tools(rows: Sequence[object], warn: Warn) -> list[Tool]:
    """The six tools in the order of the surface. Raises Mismatch naming what differs."""
    names = [row["name"] if isinstance(row, dict) and isinstance(row.get("name"), str) else "(unnamed)" for row in rows]
    if sorted(names) != sorted(TOOLS):
        raise Mismatch(_membership(names))
    by_name = {row["name"]: row for row in rows}
    return [_tool(by_name[name], warn) for name in TOOLS]


def _membership(names: list[str]) -> str:
    parts = []
    missing = [name for name in TOOLS if name not in names]
    doubled = sorted({name for name in names if names.count(name) > 1})
    retired = sorted({name for name in names if name in RETIRED_TOOLS})
    unknown = sorted({name for name in names if name not in TOOLS and name not in RETIRED_TOOLS})
    for word, group in (("missing", missing), ("more than once", doubled), ("retired", retired), ("unknown", unknown)):
        if group:
            parts.append(f"{word}: {', '.join(flat(name, 60) for name in group)}")
    return (f"The gateway's tools are not the six of {SURFACE} ({'; '.join(parts)}). "
            f"It offers {', '.join(flat(name, 60) for name in names) or 'none'}; this Agent carries {', '.join(TOOLS)}. "
            "No model was asked.")


def _tool(row: dict, warn: Warn) -> Tool:
    name = row["name"]
    description = row.get("description", f"Rulith Board {name}")
    if not isinstance(description, str):
        raise Mismatch(f"The gateway describes {name} with something that is not text.")
    if len(description.encode("utf-8", "replace")) > DESCRIPTION_BYTES_MAX:
        raise Mismatch(f"The gateway's description of {name} is over {DESCRIPTION_BYTES_MAX} bytes.")
    schema = row.get("inputSchema")
    if not isinstance(schema, dict):
        raise Mismatch(f"The gateway gives no input schema for {name}.")
    return Tool(name, description, _without_host_fields(name, schema, warn))


def _without_host_fields(tool: str, schema: dict, warn: Warn) -> dict:
    """The schema as a model may see it. Raises Mismatch where a host-owned name could not be taken out."""
    for word in ("oneOf", "anyOf", "allOf"):
        for branch in schema.get(word, []) if isinstance(schema.get(word), list) else []:
            if isinstance(branch, dict):
                offered = _HOST_OWNED & (set(branch.get("properties", {})) | set(branch.get("required", [])))
                if offered:
                    raise Mismatch(f"A form of {tool} offers {', '.join(sorted(offered))}, which only the program may set.")
    required = _HOST_OWNED & set(schema.get("required", []))
    if required:
        raise Mismatch(f"{tool} requires {', '.join(sorted(required))}, which only the program may set.")
    properties = schema.get("properties")
    offered = sorted(_HOST_OWNED & set(properties)) if isinstance(properties, dict) else []
    if not offered:
        return schema
    warn(f"{tool} offers {', '.join(offered)}; the model does not get to see that")
    return {**schema, "properties": {name: rows for name, rows in properties.items() if name not in _HOST_OWNED}}


def version_words(refused: VersionRefused, *, console: str) -> str:
    """What to tell a person whose Agent the gateway does not serve. The install line is ours, from checked parts."""
    return (f"This Agent ({VERSION}) and the gateway speak different contracts ({refused.reason}). "
            f"The credential is not the problem. {_cure(refused.required, console)}")


def credential_words(rejected: CredentialRejected) -> str:
    """What goes behind "does not accept this Agent token": the peer's words as a quotation, and a newer release."""
    said = flat(rejected.teaching, QUOTED_CHARS_MAX)
    words = f' (it says: "{said}")' if said else ""
    wanted = rejected.required
    if wanted is not None and wanted.parts > _own_parts():
        words += f"; it asks for the newer release {wanted.version}:\n{_install_line(wanted)}\n"
    return words


def _cure(wanted: RequiredClient | None, console: str) -> str:
    if wanted is None:
        return f"Its Console at {console} says which release fits."
    if wanted.parts == _own_parts():
        return "It asks for this very release, so the gateway is the side to change."
    word = "It asks for an older release; going there is a downgrade:" if wanted.parts < _own_parts() else "Install:"
    return f"{word}\n{_install_line(wanted)}"


def _install_line(wanted: RequiredClient) -> str:
    return f"npm install --global rulith@{wanted.version}" if wanted.from_npm else f"rulith.pyz {wanted.version}"


def _own_parts() -> tuple[int, ...]:
    return tuple(int(part) for part in VERSION.split(".")[:3])
