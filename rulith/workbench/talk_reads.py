"""What a page reads of conversations: their list, one of them page by page, and where in them some words stand.

Turns under way come from the Agent's events, all others from the disk, whoever wrote them. A
turn's place in its conversation is its number, the oldest is 0; it never changes, so a page
asks for any stretch of a long conversation by number.

Source  the workbench surface, "Conversations"; ui, "Long lists are windowed"
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.limits import (
    TALK_FOUND_AROUND_CHARS, TALK_FOUND_MAX, TALK_LIST_SHOWN, TALK_SEARCH_BYTES_MAX, TALK_SEARCH_CHARS_MAX, TALK_SEARCH_TURNS_MAX, TALK_TURNS_SHOWN,
)
from rulith.disk.saved_talk import SavedTalk
from rulith.workbench.runs import text_of
from rulith.workbench.turns import Row, saved_row

NUMBER_CHARS_MAX = 9
_PLAIN = re.compile(rb"[ !#-\[\]-~]*")       # bytes that a JSON text holds as they are


@dataclass(frozen=True)
class Under:
    """A turn that the events tell of, as it is now."""

    id: str
    session_key: str
    at: str
    title: str
    row: Row


@dataclass(frozen=True)
class Place:
    """A turn and where it is read from: the events, or the file `name`."""

    at: str
    id: str
    title: str
    name: str
    live: Under | None


class TalkReads:
    """Reads of one Agent's conversations. They touch the disk: call them off the loop's thread."""

    def __init__(self, saved: SavedTalk, live: Collection[Under]) -> None:
        self._saved = saved
        self._live = {each.id: each for each in live}
        self._heads = saved.heads()

    def conversations(self, archived: bool | None, offset: int) -> Row:
        """{conversations, total, offset, hasMore}: each one once, the one with the newest turn first; put away ones, others, or both."""
        away = self._archived()
        rows = []
        for key, places in self._by_session().items():
            rows.append({"sessionKey": key, "title": places[0].title, "turns": len(places), "at": places[-1].at, "archived": key in away})
        rows.sort(key=lambda row: (row["at"], row["sessionKey"]), reverse=True)
        rows = [row for row in rows if archived in (None, row["archived"])]
        return {"conversations": rows[offset:offset + TALK_LIST_SHOWN], "total": len(rows), "offset": offset, "hasMore": offset + TALK_LIST_SHOWN < len(rows)}

    def conversation(self, session_key: str, before: int | None) -> Row:
        """{turns, first, total, archived}: the turns that end before number `before`, the newest where there is none; oldest first."""
        places = self._by_session(session_key).get(session_key, [])
        end = len(places) if before is None else min(before, len(places))
        first = max(0, end - TALK_TURNS_SHOWN)
        return {"sessionKey": session_key, "turns": [self._row(place) for place in places[first:end]], "first": first, "total": len(places),
                "archived": session_key in self._archived()}

    def search(self, words: str) -> Row:
        """{found, looked, turns, isPartial}: where the words stand in what was said on both sides, the newest first.

        A place is {sessionKey, title, archived, turn (its number), at, who, before, match, after}. Raises Refused talk_query.
        """
        words = words.strip()
        if not 1 <= len(words) <= TALK_SEARCH_CHARS_MAX:
            raise Refused("talk_query", problem=f"a search has 1 to {TALK_SEARCH_CHARS_MAX} characters")
        pattern, raw = re.compile(re.escape(words), re.IGNORECASE), words.lower().encode("utf-8", "replace")
        by_session, away = self._by_session(), self._archived()
        everything = sorted(((place, key, number) for key, places in by_session.items() for number, place in enumerate(places)),
                            key=lambda row: (row[0].at, row[0].id), reverse=True)
        found: list[Row] = []
        looked = size = 0
        for place, key, number in everything:
            if len(found) >= TALK_FOUND_MAX or looked >= TALK_SEARCH_TURNS_MAX or size >= TALK_SEARCH_BYTES_MAX:
                break
            looked += 1
            content = b"" if place.live else self._saved.raw(place.name)
            size += len(content)
            if not place.live and words.isascii() and _PLAIN.fullmatch(raw) and raw not in content.lower():
                continue
            hit = self._hit(place, pattern)
            if hit is not None:
                found.append({"sessionKey": key, "title": by_session[key][0].title, "archived": key in away, "turn": number, "at": place.at, **hit})
        return {"found": found, "looked": looked, "turns": len(everything), "isPartial": looked < len(everything)}

    def _hit(self, place: Place, pattern: re.Pattern[str]) -> Row | None:
        row = self._row(place)
        parts = row["parts"] if isinstance(row["parts"], list) else []
        said = [("you", text_of(row["text"])), *(("agent", text_of(part.get("text"))) for part in parts if part.get("kind") == "said")]
        for who, text in said:
            if (match := pattern.search(text)) is not None:
                begin, end = match.span()
                return {"who": who, "before": text[max(0, begin - TALK_FOUND_AROUND_CHARS):begin], "match": match[0],
                        "after": text[end:end + TALK_FOUND_AROUND_CHARS]}
        return None

    def _row(self, place: Place) -> Row:
        if place.live is not None:
            return place.live.row
        turn = self._saved.turn(place.name)
        if turn is None:                             # gone or damaged since its head was read: its number stays its own
            turn = {"id": place.id, "text": place.title, "at": place.at, "state": "interrupted", "note": "The file of this turn cannot be read any more."}
        return saved_row(turn, False)

    def _archived(self) -> set[str]:
        return {head["sessionKey"] for head in self._heads if head.get("archived")}

    def _by_session(self, only: str | None = None) -> dict[str, list[Place]]:
        """Every conversation's turns, oldest first."""
        found: dict[str, list[Place]] = {}
        heads: dict[str, Mapping[str, str]] = {head["id"]: head for head in self._heads if "id" in head}
        for head in heads.values():                  # sorted already
            if only in (None, head["sessionKey"]):
                found.setdefault(head["sessionKey"], []).append(Place(head["at"], head["id"], head["title"], head["name"], self._live.get(head["id"])))
        for each in self._live.values():
            if each.id not in heads and only in (None, each.session_key):
                found.setdefault(each.session_key, []).append(Place(each.at, each.id, each.title, "", each))
        return found


def number_of(text: str, name: str) -> int | None:
    """A count in a query; None where it is empty. Raises Refused talk_query."""
    if text == "":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= NUMBER_CHARS_MAX):
        raise Refused("talk_query", problem=f"{name} is no number of at most {NUMBER_CHARS_MAX} digits")
    return int(text)
