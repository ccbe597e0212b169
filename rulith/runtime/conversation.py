"""A conversation's transcript: appended to, condensed, and handed to the model's dialect.

Stays replayable at every moment: calls are answered in the entry after them, whatever
happened to the turn. Condensing cuts at a user entry and leaves a line per removed part.
What a service still refuses is made shorter, or told in plain words, and asked once more:
a conversation never stays in a state that ends it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rulith.base.errors import Refused
from rulith.dialects import emulated
from rulith.dialects.transcript import (
    CallIds, CallResult, Entry, ModelEntry, Reply, ResultsEntry, UserEntry, assert_replayable, clean_text,
)
from rulith.runtime.events import Sink
from rulith.runtime.model import ModelClient
from rulith.runtime.surface import Tool

NOTES_MAX = 40
NOTE_CHARS_MAX = 160
LONG_REQUEST_BYTES = 32_768      # from here identical views are sent once
RESULT_CHARS = (2_000, 400)      # what may stay of each result, and of what was called, where the whole conversation is too long
_LEFT_OUT = "The rest was left out: the conversation became too long. QueryBoard reads the Board as it is."
_MARKER = "[Earlier parts of this conversation were condensed. What they were about:]"


class Conversation:
    def __init__(self, keep_entries: int) -> None:
        self.ids = CallIds()
        self._keep = keep_entries
        self._entries: list[Entry] = []
        self._notes: list[str] = []
        self._had_results = False
        self.figures: dict[str, int] = {}        # about the newest request

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    @property
    def has_results(self) -> bool:
        return self._had_results

    def say(self, text: str) -> None:
        self._entries.append(UserEntry(clean_text(text)))

    def reply(self, entry: ModelEntry) -> None:
        self._entries.append(entry)

    def answer(self, results: Sequence[CallResult]) -> None:
        self._entries.append(ResultsEntry(tuple(replace(result, text=clean_text(result.text)) for result in results)))
        self._had_results = self._had_results or bool(results)
        assert_replayable(self._entries)

    def condense(self, keep: int | None = None) -> int:
        """Drop the oldest entries down to the bound, at a user entry; return how many went."""
        keep = self._keep if keep is None else keep
        if len(self._entries) <= keep:
            return 0
        cuts = [index for index, entry in enumerate(self._entries) if index and isinstance(entry, UserEntry)]
        wanted = len(self._entries) - keep
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

    def shorten(self) -> int:
        """Make the conversation shorter than it is, the oldest first; return how many entries changed, 0 when nothing can go."""
        gone = self.condense(len(self._entries) // 2)
        if gone:
            return gone
        last = max((index for index, entry in enumerate(self._entries) if isinstance(entry, ResultsEntry)), default=0)
        for chars in RESULT_CHARS:
            for end in (last - 1, len(self._entries)):       # the newest calls and results last
                shorter = [_shorter(entry, chars) if index < end else entry for index, entry in enumerate(self._entries)]
                changed = sum(old != new for old, new in zip(self._entries, shorter))
                if changed:
                    self._entries = shorter
                    return changed
        return 0

    def in_words(self) -> list[Entry] | None:
        """The entries with calls, results and reasoning told in plain words; None when they hold none."""
        plain = emulated.as_words(self._entries)
        return None if plain == self._entries else plain

    def become(self, entries: Sequence[Entry]) -> None:
        """Go on with these entries in place of the others."""
        assert_replayable(entries)
        self._entries = list(entries)

    def for_request(self) -> list[Entry]:
        """The entries as they are sent: in a long request every repeated view appears once, at its latest place."""
        assert_replayable(self._entries)
        sent = self._with_pointers()
        before, after = _bytes_of(self._entries), _bytes_of(sent)
        pointed = sum(old != new for old, new in zip(_results(self._entries), _results(sent)))
        self.figures = {"transcriptBytes": before, "compactedViews": pointed, "compactedTranscriptBytes": after}
        return sent

    def _with_pointers(self) -> list[Entry]:
        results = _results(self._entries)
        if sum(len(result.text.encode()) for result in results) < LONG_REQUEST_BYTES:
            return list(self._entries)
        latest: dict[bytes, str] = {}
        for result in results:
            view = _whole_view(result)
            if view is not None:
                latest[view[0]] = result.call_id
        return [entry if not isinstance(entry, ResultsEntry) else ResultsEntry(tuple(
            _pointed(result, latest) for result in entry.results)) for entry in self._entries]


async def ask(model: ModelClient, conversation: Conversation, system: str, tools: Sequence[Tool], *, emit: Sink) -> Reply:
    """The model's reply to the conversation, which is made shorter or plainer where its service takes it in no other way.

    Raises like ModelClient.ask.
    """
    first: Refused | None = None         # what led to plain words
    before: Sequence[Entry] = ()
    while True:
        try:
            return await model.ask(system, conversation.for_request(), tools, conversation.ids, conversation.figures)
        except Refused as refusal:
            if refusal.code == "model_too_long" and (gone := conversation.shorten()):
                emit("compact", entries=gone)
                continue
            is_refused = refusal.code == "model_refused" and refusal.facts["status"] in (400, 422)
            if first is not None and is_refused:
                conversation.become(before)      # plain words do not help
                raise first from None
            plain = conversation.in_words() if is_refused else None
            if plain is None:
                raise
            first, before = refusal, conversation.entries
            conversation.become(plain)
            emit("compact", entries=len(plain))


def _results(entries: Sequence[Entry]) -> list[CallResult]:
    return [result for entry in entries if isinstance(entry, ResultsEntry) for result in entry.results]


def _bytes_of(entries: Sequence[Entry]) -> int:
    texts = [result.text for result in _results(entries)]
    for entry in entries:
        if not isinstance(entry, ResultsEntry):
            texts.append(entry.text)
        if isinstance(entry, ModelEntry):
            texts += [call.replayed for call in entry.calls]
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _shorter(entry: Entry, chars: int) -> Entry:
    if isinstance(entry, ResultsEntry):
        return ResultsEntry(tuple(_short(result, chars) for result in entry.results))
    if isinstance(entry, ModelEntry) and any(len(call.replayed) > chars for call in entry.calls):
        return replace(entry, calls=tuple(
            call if len(call.replayed) <= chars else replace(call, replayed=json.dumps({"leftOut": _LEFT_OUT})) for call in entry.calls))
    return entry


def _short(result: CallResult, chars: int) -> CallResult:
    """A long result without its views; what became of the call stays, whatever else has to go."""
    if len(result.text) <= chars:
        return result
    try:
        body = json.loads(result.text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return replace(result, text=_LEFT_OUT)
    kept = {name: value for name, value in body.items() if name not in ("view", "currentView")}
    if len(json.dumps(kept)) > chars - len(_LEFT_OUT):
        kept = {name: value for name, value in kept.items() if not isinstance(value, (dict, list)) and len(str(value)) <= chars // 8}
    shorter = json.dumps({**kept, "leftOut": _LEFT_OUT}, ensure_ascii=False, separators=(",", ":"))
    return replace(result, text=shorter) if len(shorter) < len(result.text) else result


def _note(entry: UserEntry) -> str:
    text = entry.text
    if text.startswith(_MARKER):
        text = text.rpartition("\n\n")[2]
    line = " ".join(text.split())
    return line if len(line) <= NOTE_CHARS_MAX else line[:NOTE_CHARS_MAX - 1] + "…"


@lru_cache(maxsize=128)
def _read_view(text: str) -> tuple[bytes, str] | None:
    """Of an accepted, untruncated QueryBoard view: its digest, and the result with a pointer in its place; None for all else.

    Kept, because a transcript is sent again with every request and its results do not change.
    """
    try:
        body = json.loads(text)
    except ValueError:
        return None
    view = body.get("view") if isinstance(body, dict) and body.get("accepted") is True else None
    cases = view.get("cases") if isinstance(view, dict) else None
    cut = isinstance(cases, dict) and cases.get("truncated")
    if not isinstance(view, dict) or view.get("truncated") or cut:
        return None
    digest = hashlib.sha256(json.dumps(view, sort_keys=True).encode()).digest()
    body["view"] = {"sameAs": "the identical view in the latest QueryBoard result below"}
    return digest, json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _whole_view(result: CallResult) -> tuple[bytes, str] | None:
    return None if result.tool != "QueryBoard" or result.is_error else _read_view(result.text)


def _pointed(result: CallResult, latest: dict[bytes, str]) -> CallResult:
    view = _whole_view(result)
    if view is None or latest[view[0]] == result.call_id:
        return result
    return replace(result, text=view[1])
