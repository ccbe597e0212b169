"""A conversation's transcript: appended to, condensed, and handed to the model's dialect.

Stays replayable at every moment: calls are answered in the entry after them, whatever
happened to the turn. Condensing cuts at a user entry and leaves a line per removed part.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from rulith.dialects.transcript import (
    CallIds, CallResult, Entry, ModelEntry, ResultsEntry, UserEntry, assert_replayable, clean_text,
)

NOTES_MAX = 40
NOTE_CHARS_MAX = 160
LONG_REQUEST_BYTES = 32_768      # from here identical views are sent once
_MARKER = "[Earlier parts of this conversation were condensed. What they were about:]"


class Conversation:
    def __init__(self, keep_entries: int) -> None:
        self.ids = CallIds()
        self._keep = keep_entries
        self._entries: list[Entry] = []
        self._notes: list[str] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def has_results(self) -> bool:
        return any(isinstance(entry, ResultsEntry) for entry in self._entries)

    def say(self, text: str) -> None:
        self._entries.append(UserEntry(clean_text(text)))

    def reply(self, entry: ModelEntry) -> None:
        self._entries.append(entry)

    def answer(self, results: Sequence[CallResult]) -> None:
        self._entries.append(ResultsEntry(tuple(results)))
        assert_replayable(self._entries)

    def condense(self) -> int:
        """Drop the oldest entries down to the bound, at a user entry; return how many went."""
        if len(self._entries) <= self._keep:
            return 0
        cuts = [index for index, entry in enumerate(self._entries) if index and isinstance(entry, UserEntry)]
        wanted = len(self._entries) - self._keep
        cut = next((index for index in cuts if index >= wanted), cuts[-1] if cuts else 0)
        if not cut:
            return 0
        self._notes.extend(_note(entry) for entry in self._entries[:cut] if isinstance(entry, UserEntry))
        self._notes = self._notes[-NOTES_MAX:]
        first = self._entries[cut]
        assert isinstance(first, UserEntry)
        notes = "\n".join(f"- {note}" for note in self._notes)
        self._entries[:cut + 1] = [UserEntry(f"{_MARKER}\n{notes}\n\n{first.text}")]
        return cut

    def for_request(self) -> list[Entry]:
        """The entries as they are sent: in a long request every repeated view appears once, at its latest place."""
        assert_replayable(self._entries)
        results = [result for entry in self._entries if isinstance(entry, ResultsEntry) for result in entry.results]
        if sum(len(result.text.encode()) for result in results) < LONG_REQUEST_BYTES:
            return list(self._entries)
        latest: dict[str, str] = {}
        for result in results:
            view = _whole_view(result)
            if view is not None:
                latest[view] = result.call_id
        return [entry if not isinstance(entry, ResultsEntry) else ResultsEntry(tuple(
            _pointed(result, latest) for result in entry.results)) for entry in self._entries]


def _note(entry: UserEntry) -> str:
    text = entry.text
    if text.startswith(_MARKER):
        text = text.rpartition("\n\n")[2]
    line = " ".join(text.split())
    return line if len(line) <= NOTE_CHARS_MAX else line[:NOTE_CHARS_MAX - 1] + "…"


def _whole_view(result: CallResult) -> str | None:
    """The text of an accepted, untruncated QueryBoard view; None for everything else."""
    if result.tool != "QueryBoard" or result.is_error:
        return None
    try:
        body = json.loads(result.text)
    except ValueError:
        return None
    view = body.get("view") if isinstance(body, dict) and body.get("accepted") is True else None
    cases = view.get("cases") if isinstance(view, dict) else None
    cut = isinstance(cases, dict) and cases.get("truncated")
    if not isinstance(view, dict) or view.get("truncated") or cut:
        return None
    return json.dumps(view, sort_keys=True)


def _pointed(result: CallResult, latest: dict[str, str]) -> CallResult:
    view = _whole_view(result)
    if view is None or latest[view] == result.call_id:
        return result
    body = json.loads(result.text)
    body["view"] = {"sameAs": "the identical view in the latest QueryBoard result below"}
    return replace(result, text=json.dumps(body, ensure_ascii=False, separators=(",", ":")))
