"""What helps a weak model drive: what changed since it last looked, and when it goes in circles.

Only what the model was shown itself is compared, member by member, so that nothing is called
new, gone or unchanged that a bounded view merely left out. A call that was refused is not
refused for ever: the second try is sent and told so, the next one ends the turn.

Source  the design, "Agent Runtime"; the MCP surface, "Board View"
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from rulith.base.limits import CHANGE_CHARS_MAX, CHANGE_LINES_MAX, REFUSED_ALIKE_MAX, SHOWN_FACTS_MAX
from rulith.runtime.answers import Answer, Kind, compact
from rulith.runtime.surface import flat
from rulith.runtime.unread import GATE

NOTHING = "Nothing changed: this view shows what you were shown before."
_BOOL_WORDS = {True: "is certified now: it may be closed as completed", False: "is no longer certified"}


class Lessons:
    """One conversation's."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], str] = {}         # (what, name) -> how it stood when the model last saw it
        self._listed: dict[str, tuple[frozenset[str], bool]] = {}    # by what was asked: the facts it listed, and whether it was cut
        self._refused: dict[str, tuple[str, int]] = {}       # a call of this turn -> why, and how often in a row

    def begin_turn(self) -> None:
        self._refused.clear()

    def forget(self) -> None:
        """The transcript is gone, and with it what was shown."""
        self._shown.clear()
        self._listed.clear()

    # what changed

    def changes(self, answer: Answer, arguments: dict) -> list[str]:
        """What this answer shows otherwise than before, in lines for the model; empty where there is nothing to compare."""
        view = answer.view
        if not view:
            return []
        standing = list(_standing(view))
        shows_more = any((what, name) not in self._shown for what, name, _ in standing)
        new, gone = self._moved_facts(view, answer, arguments)
        lines = [line for what, name, now in standing if (line := self._line(what, name, now, name in new))]
        lines += [f"gone: {self._shown.pop(('fact', name), name)}" for name in sorted(gone)]
        if not lines:
            return [] if shows_more else [NOTHING]
        kept = [flat(line, CHANGE_CHARS_MAX) for line in lines[:CHANGE_LINES_MAX]]
        return kept + ([f"… and {len(lines) - len(kept)} more."] if len(lines) > len(kept) else [])

    def _line(self, what: str, name: str, now: str, is_new: bool) -> str:
        """What is told of one thing; nothing of one that is shown for the first time, unless it is known to be new."""
        if len(now) > CHANGE_CHARS_MAX:                      # a long text is told apart by its length and a checksum
            now = f"{now[:CHANGE_CHARS_MAX]} … {len(now)} {crc32(now.encode('utf-8', 'replace'))}"
        before = self._shown.pop((what, name), None)
        self._shown[what, name] = now                        # the newest last: the oldest goes first
        if len(self._shown) > SHOWN_FACTS_MAX:
            del self._shown[next(iter(self._shown))]
        if before == now or (before is None and not is_new):
            return ""
        if what == "fact":
            return f"new: {now}" if before is None else f"now: {now}"
        return f"{what} {now}" if what == "goal" else f"{name} {now}" if what == "certified" else f"{what} {name}: {now}"

    def _moved_facts(self, view: dict, answer: Answer, arguments: dict) -> tuple[frozenset[str], frozenset[str]]:
        """Facts that came and that went since the same was asked before; only an uncut list tells what it does not hold."""
        if "nodes" not in view:
            return frozenset(), frozenset()
        roots = sorted(str(row.get("root")) for row in _rows(view.get("roots")))
        asked = compact(["QueryBoard", arguments] if answer.tool == "QueryBoard" else ["a write", roots])
        is_cut = bool(view.get("truncated"))
        now = frozenset(name for what, name, _ in _standing(view) if what == "fact")
        before, was_cut = self._listed.pop(asked, (now, True))
        self._listed[asked] = now, is_cut
        if len(self._listed) > CHANGE_LINES_MAX:
            del self._listed[next(iter(self._listed))]
        return (frozenset() if was_cut else now - before), (frozenset() if is_cut else before - now)

    # going in circles

    def refused(self, tool: str, arguments: dict, code: str) -> str:
        """Note a refusal; a sentence for the model when it is the same one again, else empty."""
        if code == GATE:
            return ""                                        # it delivered something: trying again is right
        call = compact([tool, arguments])
        before, count = self._refused.get(call, ("", 0))
        count = count + 1 if before == code else 1
        self._refused[call] = (code, count)
        if count < 2:
            return ""
        return (f"You made this very call before, and it was refused for the same reason ({code}). Repeating it does not "
                "help: change it, do first what it lacks, or say what is missing.")

    def moved(self) -> None:
        """A write was accepted: what was refused before may be right now."""
        self._refused.clear()

    def is_loop(self, tool: str, arguments: dict) -> tuple[str, int] | None:
        """Why and how often this call has been refused in a row, once it is not worth sending again."""
        code, count = self._refused.get(compact([tool, arguments]), ("", 0))
        return (code, count) if count >= REFUSED_ALIKE_MAX else None


def _standing(view: dict) -> Iterator[tuple[str, str, str]]:
    """How each thing stands that a view shows: what it is, its name, its state in words."""
    cases = view.get("cases")
    directory = cases.get("directory") if isinstance(cases, dict) else None
    seen = set()
    for row in [*_rows(view.get("roots")), *_rows(directory)]:
        case_id, status = row.get("caseId"), row.get("status")
        if isinstance(case_id, str) and isinstance(status, str) and case_id not in seen:
            seen.add(case_id)
            yield "Case", case_id, status
    status = view.get("taskStatus")
    for root, row in status.items() if isinstance(status, dict) else ():
        if isinstance(row, dict) and isinstance(row.get("certified"), bool):
            for leaf in _rows(row.get("leaves")):
                if isinstance(leaf.get("node"), str) and isinstance(leaf.get("met"), bool):
                    yield "goal", leaf["node"], f"{'met' if leaf['met'] else 'unmet'}: {leaf.get('goal', leaf['node'])}"
            yield "certified", str(root), _BOOL_WORDS[row["certified"]]
    for row in _rows(view.get("actions")):
        if isinstance(row.get("action"), str) and isinstance(row.get("status"), str):
            why = row.get("why") or row.get("reason") or ", ".join(_texts(row.get("waits")))
            yield "action", row["action"], row["status"] + (f" ({why})" if why else "")
    for row in _rows(view.get("nodes")):
        if isinstance(row.get("id"), str) and isinstance(row.get("text"), str):
            yield "fact", row["id"], row["text"] + (f" [{row['tier']}]" if isinstance(row.get("tier"), str) else "")


def _rows(value: object) -> list[dict]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
