"""One call whose outcome a model has not read: what is kept of it, and how rows of a strip compare.

The pieces of rulith/runtime/unread.py, which says when a row moves.

Source  the MCP surface, "Operations" and "Several conversations on one session"
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from rulith.runtime.answers import Answer, Kind, compact
from rulith.runtime.strip import SETTLED, UNRESOLVED, WRITES, Entry, Key, newly_listed, own_entry

OPEN, PENDING, PRESENTED = "open", "pending", "presented"
LOST, UNLISTED = "lost", "unlisted"              # states of this record, beside those of the strip
STATES = (*UNRESOLVED, *SETTLED, LOST, UNLISTED)
LABEL_CHARS_MAX = 200
GATE = "previous_result_undelivered"
ADMITTED = (Kind.ACCEPTED, Kind.REFUSED, Kind.HELD)
_READ_FIRST = ("This call was not sent. An earlier call of this conversation has an outcome that you have not read: "
               "it stands in `operations`. Read it, then decide whether this call is still right.")
_GONE = "{labels}: no longer listed; last seen as {state}. What became of it is in the Console."


@dataclass
class Row:
    """One write of this conversation. `entry` is the strip row that told its outcome, as it came.

    shown, told   the state without an outcome that its model was shown last, and the one that it has replied to
    """

    key: Key
    state: str
    phase: str = OPEN
    entry: dict | None = None
    restored: bool = False           # from an earlier process: its content is not here
    withheld: bool = False
    shown: str = ""
    told: str = ""

    @property
    def label(self) -> str:
        return self.key[1]


@dataclass(frozen=True)
class Nameless:
    """A call whose answer was lost before progress or a strip named it.

    before    what was listed when it was sent
    after     the newest admission known then: the call's own is later
    """

    tool: str
    label: str
    before: frozenset[Key]
    after: str
    restored: bool = False

    def found_in(self, entries: list[Entry]) -> Entry | None:
        """The one new entry of its tool; over a restart, when others may have called, its label must be that of the call too."""
        if self.restored:
            entries = [entry for entry in entries if entry.label == self.label and entry.at > self.after]
        return newly_listed(self.tool, entries, self.before)


def call_label(tool: str, arguments: dict) -> str:
    """The call as a strip would name it: from its own input only."""
    names = {"OpenCase": ("caseType", "caseId"), "ApplyAction": ("action", "target"), "CloseCase": ("root",), "ReadArtifact": ("ref",)}
    words = [arguments.get(name) for name in names.get(tool, ())]
    return " ".join([tool, *(word for word in words if isinstance(word, str) and word)])[:LABEL_CHARS_MAX]


def own_of(answer: Answer, before: Collection[Key]) -> Key | None:
    """The key of the call that this answer is about, where the call was admitted and can be told."""
    if answer.tool not in WRITES or answer.own is not None:
        return answer.own
    if answer.kind not in ADMITTED:
        return None
    entry = own_entry(answer.tool, answer.operations, before)
    return None if entry is None else entry.key


def better(one: dict | None, other: dict) -> dict:
    """Which of two rows of a call tells more: a withheld one wins, since it says what may be seen now."""
    is_poorer = other.get("contentWithheld") is not True and not isinstance(other.get("result"), dict)
    return one if one is not None and is_poorer and isinstance(one.get("result"), dict) else other


def with_answer(entry: Entry, answer: Answer) -> dict:
    """The call's own row with its answer as the recorded result, should this transcript get lost."""
    if entry.is_withheld or entry.has_result or answer.kind is Kind.HELD:
        return entry.row
    public = {name: value for name, value in answer.body.items() if name not in ("operations", "currentView")}
    kept = {name: value for name, value in entry.row.items() if name not in ("summary", "reason")}
    return {**kept, "result": {"content": [{"type": "text", "text": compact(public)}], "isError": answer.kind is Kind.REFUSED}}


def merged(rows: Iterable[object], shown: Iterable[dict]) -> list[object]:
    """The strip with the kept rows in place of poorer ones of the same calls, newest first."""
    kept = {(row["tool"], row["label"], row["at"]): row for row in shown}
    others = [row for row in rows if not isinstance(row, dict) or (row.get("tool"), row.get("label"), row.get("at")) not in kept]
    return sorted([*others, *kept.values()], key=lambda row: str(row.get("at", "")) if isinstance(row, dict) else "", reverse=True)


def spliced(answer: Answer, waiting: Iterable[Row]) -> Answer:
    return replace(answer, body={**answer.body, "operations": merged(answer.body["operations"], [row.entry for row in waiting if row.entry])})
