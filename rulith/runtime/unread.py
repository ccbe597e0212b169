"""Outcomes the model has not read yet, for one conversation on one session.

Kept by (tool, label, at): `open` while a call has no settled outcome, `presented` while
an outcome stands in the transcript and the model has not replied since. What is left at
the end is told to the person.

Source  the MCP surface, "Several conversations on one session"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulith.runtime.answers import Answer, Kind
from rulith.runtime.strip import WRITES, Entry, Key, newly_listed, own_entry

OPEN = "open"
PRESENTED = "presented"
ROWS_MAX = 32


@dataclass
class Row:
    label: str
    state: str
    phase: str = OPEN


class UnreadOutcomes:
    def __init__(self) -> None:
        self._rows: dict[Key, Row] = {}
        self._nameless: list[tuple[str, str, tuple[Entry, ...]]] = []      # lost, never named: tool, label, strip before

    def take(self, answer: Answer, arguments: dict, before: Sequence[Entry]) -> bool:
        """Learn from an answer that goes to the model; True when it shows the outcome of an earlier call."""
        own = own_entry(answer.tool, answer.operations, before) if answer.tool in WRITES else None
        known = {entry.key: entry for entry in before}
        showed_earlier = False
        self._name_lost(answer)
        for entry in answer.operations:
            row = self._rows.get(entry.key)
            is_own = own is not None and entry.key == own.key
            if not is_own and (entry.has_result or (entry.is_withheld and entry.key not in known)):
                showed_earlier = True
            if row is not None and entry.is_settled:
                row.phase, row.state = PRESENTED, entry.state
                showed_earlier = showed_earlier or not is_own
        if own is not None and not own.is_settled:
            self._add(own.key, Row(own.label, own.state))
        if answer.kind is Kind.LOST and answer.tool in WRITES:
            self._nameless.append((answer.tool, call_label(answer.tool, arguments), tuple(before)))
        return showed_earlier

    def interrupted(self, tool: str, arguments: dict, before: Sequence[Entry]) -> None:
        """A call whose answer nobody waits for any more."""
        if tool in WRITES:
            self._nameless.append((tool, call_label(tool, arguments), tuple(before)))

    def replied(self) -> None:
        """The model answered a request that carried everything presented so far."""
        self._rows = {key: row for key, row in self._rows.items() if row.phase != PRESENTED}

    def labels(self) -> list[str]:
        """The calls whose outcome is still waited for, named as the strip names them."""
        named = [f"{row.label} ({row.state})" for row in self._rows.values() if row.phase == OPEN]
        return named + [f"{label} (its answer was lost)" for _, label, _ in self._nameless]

    def _name_lost(self, answer: Answer) -> None:
        """A lost call that no progress named is the one new entry of its tool in a later strip."""
        for lost in list(self._nameless) if answer.operations else ():
            tool, _, before = lost
            entry = newly_listed(tool, answer.operations, before)
            if entry is not None:
                self._nameless.remove(lost)
                self._add(entry.key, Row(entry.label, entry.state))
            elif answer.kind in (Kind.ACCEPTED, Kind.REFUSED) and answer.tool in WRITES:
                self._nameless.remove(lost)        # another write was admitted: no longer decidable

    def _add(self, key: Key, row: Row) -> None:
        self._rows[key] = row
        while len(self._rows) > ROWS_MAX:
            del self._rows[next(iter(self._rows))]


def call_label(tool: str, arguments: dict) -> str:
    """The call as a strip would name it: from its own input only."""
    name = {"ApplyAction": "action", "CloseCase": "root", "ReadArtifact": "ref"}.get(tool)
    word = arguments.get(name) if name else arguments.get("caseType") or arguments.get("caseId")
    return f"{tool} {word}"[:200] if isinstance(word, str) and word and tool != "ApplyBatch" else tool
