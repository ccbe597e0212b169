"""Turns of a conversation: what a person said, and the Agent's answer as it comes, call by call.

A fold of the Agent's events for the page. It tells what changed in small rows, so that a long
answer is not sent again with every word. An event of an unknown kind changes nothing.

Source  the Agent's event types (MCP surface, "HTTP service")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.base.limits import ATTACHMENTS_MAX, RUN_STEPS_MAX, TALK_SAID_CHARS_MAX
from rulith.workbench.runs import Run, text_of

Row = dict[str, object]
_CALLS = ("tool-call", "tool-result", "held-call", "action-outcome", "board-observation-unavailable")
CUT_SHORT = "The program ended before this turn did. It is not run again."


@dataclass
class Turn:
    """One message and what came of it.

    state   queued, running, stopping or ended
    parts   what was said and done, in its order: {n, kind: said|step, …}
    """

    id: str
    session_key: str
    text: str
    at: str
    state: str = "queued"
    started_at: str | None = None
    ended_at: str | None = None
    outcome: str = ""
    problem: str = ""
    attachments: list[Row] = field(default_factory=list)
    closed: list[Row] = field(default_factory=list)
    parts: list[Row] = field(default_factory=list)
    _run: Run = field(init=False)
    _said: Row | None = None             # the part that words are still added to
    _told: int = 0                       # how much of it the page has
    _marks: dict[int, tuple] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._run = Run(self.id, "", "", {}, self.at)

    def head(self) -> Row:
        """Everything but its parts."""
        return {"id": self.id, "sessionKey": self.session_key, "text": self.text, "at": self.at, "state": self.state, "startedAt": self.started_at,
                "endedAt": self.ended_at, "outcome": self.outcome, "problem": self.problem, "caseId": self._run.case_id,
                **({"attachments": self.attachments} if self.attachments else {}), **({"closedCases": self.closed} if self.closed else {})}

    def row(self) -> Row:
        return {**self.head(), "parts": [dict(part) for part in self.parts]}

    def take(self, event: Mapping[str, object], at: str) -> list[Row]:
        """Fold one event in; what the page is to hear: {turn: head}, {part}, or {words, n, from}, each of this turn."""
        kind = event.get("type")
        if kind == "model-delta":
            return self._words(text_of(event.get("text")))
        rows = self._rest_of_words()
        if kind == "propose":
            rows += self._proposed(text_of(event.get("say")))
        elif kind == "round":
            self._said, self._told = None, 0
        elif kind in _CALLS:
            rows += self._call(event, at)
        elif kind == "task-start":
            self.state, self.started_at = "running", at
            rows.append({"turn": self.head()})
        elif kind == "turn-stopping" and self.state != "ended":
            self.state = "stopping"
            rows.append({"turn": self.head()})
        elif kind in ("model-wait", "loss"):
            self.problem = text_of(event.get("message"))
            rows.append({"turn": self.head()})
        elif kind == "task-done":
            self.closed = closed_of(event.get("closedCases"))
            rows += self.end(text_of(event.get("outcome")), text_of(event.get("note")), at)
        elif self._run.take({**event, "type": kind}, at) and kind in ("case-open", "case-state", "focus", "case-closed"):
            rows.append({"turn": self.head()})
        return rows

    def end(self, outcome: str, note: str, at: str) -> list[Row]:
        """It is over; a call without an answer has an unknown one."""
        self._run.end(0, at)
        self.state, self.ended_at, self.outcome = "ended", at, outcome
        self.problem = beyond_words(note, self.parts)
        return [*self._changed(), {"turn": self.head()}]

    def _new_said(self) -> Row | None:
        if self._said is None and len(self.parts) < 2 * RUN_STEPS_MAX:
            self._said, self._told = {"n": len(self.parts) + 1, "kind": "said", "text": ""}, 0
            self.parts.append(self._said)
        return self._said

    def _words(self, text: str) -> list[Row]:
        said = self._new_said() if text else None
        if said is None:
            return []
        room = TALK_SAID_CHARS_MAX - sum(len(str(each["text"])) for each in self.parts if each["kind"] == "said")
        said["text"] = str(said["text"]) + text[:max(0, room)]
        return self._rest_of_words()         # the Agent has gathered them a little

    def _rest_of_words(self) -> list[Row]:
        """What was said and not told yet."""
        if self._said is None or len(str(self._said["text"])) == self._told:
            return []
        begin, self._told = self._told, len(str(self._said["text"]))
        return [{"words": str(self._said["text"])[begin:], "n": self._said["n"], "from": begin}]

    def _proposed(self, say: str) -> list[Row]:
        """The reply is whole: what it says now stands."""
        said = self._new_said() if say else self._said
        self._said, self._told = None, 0
        if said is None or not say or said["text"] == say:
            return []
        said["text"] = say[:TALK_SAID_CHARS_MAX]
        return [{"part": dict(said)}]

    def _call(self, event: Mapping[str, object], at: str) -> list[Row]:
        self._said, self._told = None, 0
        self._run.take(event, at)
        return self._changed()

    def _changed(self) -> list[Row]:
        """The steps that are new or look otherwise than they were told."""
        rows: list[Row] = []
        places = {each["step"]: number for number, each in enumerate(self.parts) if each["kind"] == "step"}
        for step in self._run.steps:
            mark = (step.state, step.stage, step.ended_at, len(step.output))
            if self._marks.get(step.n) == mark:
                continue
            self._marks[step.n] = mark
            place = places.get(step.n, len(self.parts))
            part = {**step.row(), "kind": "step", "step": step.n, "n": place + 1}
            self.parts[place:place + 1] = [part]
            rows.append({"part": part})
        return rows


def beyond_words(note: str, parts: list[Row]) -> str:
    """What a turn's note says beyond the words that stand there already."""
    last = next((str(part["text"]) for part in reversed(parts) if part["kind"] == "said"), "").strip()
    rest = note.strip()
    return rest[len(last):].strip() if last and rest.startswith(last) else "" if last and last.startswith(rest) else rest


def saved_row(turn: Mapping[str, object], is_live: bool) -> Row:
    """A turn as it lies on the disk: the words and the end, not the calls."""
    replies = turn.get("replies")
    texts = [text_of(each.get("text")) for each in replies if isinstance(each, Mapping)] if isinstance(replies, list) else []
    parts: list[Row] = [{"n": number, "kind": "said", "text": text[:TALK_SAID_CHARS_MAX]} for number, text in enumerate(filter(None, texts), 1)]
    ended = turn.get("state") not in ("queued", "running")
    over = ended or not is_live
    note = text_of(turn.get("note")) if ended else CUT_SHORT if over else ""
    cases = turn.get("caseIds")
    files, closed = files_of(turn.get("attachments")), closed_of(turn.get("closedCases"))
    return {"id": turn.get("id"), "sessionKey": turn.get("sessionKey"), "text": text_of(turn.get("text")), "at": turn.get("at"),
            "state": "ended" if over else turn.get("state"), "startedAt": turn.get("startedAt"), "endedAt": turn.get("endedAt"),
            "outcome": text_of(turn.get("outcome")) or ("interrupted" if over else ""), "problem": beyond_words(note, parts),
            "caseId": cases[0] if isinstance(cases, list) and cases and isinstance(cases[0], str) else "", "parts": parts,
            **({"attachments": files} if files else {}), **({"closedCases": closed} if closed else {})}


def files_of(value: object) -> list[Row]:
    """The files that went with a message: {name, mediaType, totalBytes, digest}."""
    rows = [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
    return [{name: each.get(name) for name in ("name", "mediaType", "totalBytes", "digest")} for each in rows][:ATTACHMENTS_MAX]


def closed_of(value: object) -> list[Row]:
    """The Cases that a turn closed: {caseId, disposition}."""
    rows = [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
    return [{"caseId": text_of(each.get("caseId")), "disposition": text_of(each.get("disposition")) or "completed"} for each in rows][:RUN_STEPS_MAX]
