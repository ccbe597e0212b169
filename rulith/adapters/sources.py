"""Sources as this machine knows them: the local vault merged with what was granted.

Vaults alone hold credentials. A Source that the Connection was not granted cannot be used
even if the vault describes it; where the vault says nothing, the granted row's address
stands, and an entry of the environment vault that was made for it. Opens nothing: the door
reads the files, the loop fetches the rows.

Source  protocol/worker-contract.json, "sources".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rulith.adapters.shared_vault import TAKEN, mismatch_of
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.wire.manifest import SOURCE_TYPES

_TEXTS = ("type", "access", "root", "url", "dsn", "token", "transport", "command", "cwd")
_ADDRESS = {"file": ("access", "root"), "db": ("dsn",), "http": ("url",), "mcp": ("url",)}


@dataclass(frozen=True)
class Source:
    """One usable Source. `access` is a folder, url or DSN by type; `secrets` never leave this process.

    mismatch  why its entry in the environment vault may not serve it: type, address or launch; "" where nothing is in the way
    """

    name: str
    type: str
    access: str = field(repr=False)
    secrets: Mapping[str, object] = field(default_factory=dict, repr=False)
    mismatch: str = ""


def read_vault(text: str | bytes, what: str = "Source vault") -> dict[str, dict[str, object]]:
    """A vault document: Source name to entry. Raises Refused vault_entry_invalid, never quoting a value."""

    def refuse(source: str, problem: str) -> Refused:
        return Refused("vault_entry_invalid", vault=what, source=source, problem=problem)

    document = read_json(text, f"the {what}")
    if not isinstance(document, dict):
        raise refuse("(document)", "the file must hold one JSON object")
    for name, entry in document.items():
        if not isinstance(entry, dict):
            raise refuse(name, "it must be an object")
        for member in _TEXTS:
            if member in entry and not isinstance(entry[member], str):
                raise refuse(name, f"{member} must be text")
        if "type" in entry and entry["type"] not in SOURCE_TYPES:
            raise refuse(name, f"type must be one of {', '.join(SOURCE_TYPES)}")
    return document


class Sources:
    """The Sources this Connection may use now; `granted` is None until the gateway has said.

    shared  the environment vault, for granted names that `vault` has no entry for
    """

    def __init__(self, vault: Mapping[str, Mapping[str, object]], shared: Mapping[str, Mapping[str, object]] | None = None) -> None:
        self._vault = vault
        self._shared = shared or {}
        self._granted: dict[str, Mapping[str, object]] | None = None

    def grant(self, rows: Iterable[object]) -> None:
        """Replace what was granted; a row that is no `{name, type, access?}` is passed over."""
        self._granted = {
            row["name"]: row
            for row in rows
            if isinstance(row, dict)
            and isinstance(row.get("name"), str)
            and row.get("type") in SOURCE_TYPES
            and isinstance(row.get("access") or "", str)
        }

    def is_known(self, name: str) -> bool:
        return self.find(name) is not None

    def names(self) -> list[str]:
        return list(self._vault if self._granted is None else self._granted)

    def find(self, name: str) -> Source | None:
        """The Source of this name, or None when it is not granted or nothing says of what type it is."""
        row: Mapping[str, object] = {}
        if self._granted is not None:
            if name not in self._granted:
                return None
            row = self._granted[name]
        elif name not in self._vault:
            return None
        if name in self._shared and name not in self._vault and row:
            return self._shared_source(name, row)
        entry = self._vault.get(name, {})
        kind = entry.get("type") or row.get("type") or ("file" if entry.get("root") else None)
        if not isinstance(kind, str):
            return None
        local = next((entry[m] for m in _ADDRESS.get(kind, ("access",)) if entry.get(m)), None)
        return Source(name, kind, str(local or row.get("access") or ""), entry)

    def _shared_source(self, name: str, row: Mapping[str, object]) -> Source:
        entry, kind, address = self._shared[name], str(row["type"]), str(row.get("access") or "")
        mismatch = mismatch_of(entry, kind, address)
        if mismatch is not None:
            return Source(name, kind, address, {}, mismatch)
        taken = {member: entry[member] for member in TAKEN if member in entry}
        return Source(name, kind, str(taken.get("dsn", address)), taken)
