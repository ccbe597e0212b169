"""The operations strip as the Agent reads it: which calls are open, settled, new.

An entry is told apart by (tool, label, at); `at` strictly grows per Agent. Ordinals live
in the state form only and never reach a model.

Source  the MCP surface, "Operations" and "Waiting for a held call".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rulith.wire.contract import mcp_contract

_SURFACE = mcp_contract().surface
UNRESOLVED = tuple(_SURFACE["unresolvedStates"])
SETTLED = tuple(_SURFACE["settledStates"])
WRITES = tuple(_SURFACE["writeTools"])
RUNNING = "running"
WAITING_FOR_PERSON = tuple(state for state in UNRESOLVED if state != RUNNING)

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Entry:
    """One readable row. `row` is the row as it came, to be shown as it came."""

    tool: str
    label: str
    state: str
    at: str
    row: dict = field(repr=False, compare=False)

    @property
    def key(self) -> Key:
        return self.tool, self.label, self.at

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    @property
    def has_result(self) -> bool:
        return isinstance(self.row.get("result"), dict)

    @property
    def is_withheld(self) -> bool:
        return self.row.get("contentWithheld") is True

    @property
    def words(self) -> str:
        """Why it is as it is, in the Board's words; empty where it says nothing."""
        return str(self.row.get("reason") or self.row.get("summary") or self.row.get("decision") or "")


@dataclass(frozen=True)
class StateRow:
    """One row of the host-only state form."""

    ordinal: int
    tool: str
    label: str
    state: str
    at: str

    @property
    def key(self) -> Key:
        return self.tool, self.label, self.at

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED


def _names_a_call(row: object) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(name), str) for name in ("tool", "label", "state", "at"))


def read_strip(rows: object) -> list[Entry] | None:
    """The entries, newest first as they came, or None when one of them cannot be read."""
    if not isinstance(rows, list):
        return None
    entries = []
    for row in rows:
        if not _names_a_call(row):
            return None
        if row["state"] not in UNRESOLVED + SETTLED:
            return None
        entries.append(Entry(row["tool"], row["label"], row["state"], row["at"], row))
    return entries


def read_state_form(rows: object) -> list[StateRow] | None:
    """The state rows, or None when one of them cannot be read."""
    if not isinstance(rows, list):
        return None
    found = []
    for row in rows:
        if not _names_a_call(row):
            return None
        ordinal = row.get("ordinal")
        if not isinstance(ordinal, int) or isinstance(ordinal, bool):
            return None
        found.append(StateRow(ordinal, row["tool"], row["label"], row["state"], row["at"]))
    return found


def newly_listed(tool: str, now: Sequence[Entry], before: Collection[Key]) -> Entry | None:
    """The one entry of `tool` in `now` that is not among `before`; None when there is not exactly one."""
    fresh = [entry for entry in now if entry.tool == tool and entry.key not in before]
    return fresh[0] if len(fresh) == 1 else None


def own_entry(tool: str, now: Sequence[Entry], before: Collection[Key]) -> Entry | None:
    """The entry of the call just sent: the one new entry of its tool, else the one unresolved one."""
    fresh = newly_listed(tool, now, before)
    if fresh is not None:
        return fresh
    unresolved = [entry for entry in now if entry.tool == tool and not entry.is_settled]
    return unresolved[0] if len(unresolved) == 1 else None


def names(entry: Entry, key: Key) -> bool:
    """Whether an entry is of that tool, label and time; what is withheld may have its tool for a label."""
    return entry.key == key or (entry.is_withheld and entry.label == entry.tool and (entry.tool, entry.at) == (key[0], key[2]))


def matching(entries: Sequence[Entry], key: Key) -> Entry | None:
    """The one entry of that tool, label and time."""
    found = [entry for entry in entries if names(entry, key)]
    return found[0] if len(found) == 1 else None
