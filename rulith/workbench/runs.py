"""Runs: one job given to an Agent, told as the steps it took and how it ended.

A fold of the Agent's own events, for the page; the ledger knows the truth and the page reads
Cases from there. An event of an unknown kind changes nothing.

Source  the Agent's event types (MCP surface, "HTTP service"); exit codes of the commands
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.base.limits import RUN_SAID_CHARS_MAX, RUN_SAID_STEP_CHARS, RUN_SERVICE_WORDS_MAX, RUN_STEPS_MAX, SHOWN_BYTES_MAX

STOPPED_EXITS = (130, 143)
WAITING = ("waiting_for_decision", "needs_person")
SHOWN_FIRST = "previous_result_undelivered"      # the answer delivers what an earlier call came to; the call is made again after it


@dataclass
class Step:
    """One call the Agent made."""

    n: int
    label: str
    started_at: str
    call_id: object = None
    input: str = ""
    output: str = ""
    state: str = "running"
    stage: str | None = None
    ended_at: str | None = None
    is_withheld: bool = False

    def row(self) -> dict[str, object]:
        made: dict[str, object] = {"n": self.n, "label": self.label, "state": self.state, "startedAt": self.started_at,
                                   "endedAt": self.ended_at, "input": self.input, "output": self.output}
        if self.stage:
            made["stage"] = self.stage
        if self.is_withheld:
            made["withheld"] = True
        return made


@dataclass
class Run:
    """A job from the moment it is asked for."""

    id: str
    job_id: str
    case_type: str
    values: dict[str, object]
    started_at: str
    ended_at: str | None = None
    exit: int | None = None
    outcome: str = ""
    problem: str = ""
    case_id: str = ""
    stopping: bool = False
    steps: list[Step] = field(default_factory=list)
    said: str = ""                       # the model's newest words, as far as they came
    service: list[str] = field(default_factory=list)     # what its model service wants and does, in words
    _said_shown: int = 0

    def row(self) -> dict[str, object]:
        """As the page reads it."""
        return {"id": self.id, "jobId": self.job_id, "caseType": self.case_type, "values": self.values,
                "startedAt": self.started_at, "endedAt": self.ended_at, "exit": self.exit, "outcome": self.outcome,
                "problem": self.problem, "caseId": self.case_id, "stopping": self.stopping,
                "steps": [step.row() for step in self.steps], **({"said": self.said} if self.said else {}),
                **({"service": self.service} if self.service else {})}

    def take(self, event: Mapping[str, object], at: str) -> bool:
        """Fold one event of the Agent in; True when the page would see a difference."""
        kind = event.get("type")
        if kind in ("round", "model-delta", "propose", "model-error", "model-card") and self._heard_model(kind, event):
            return True
        if kind == "tool-call":
            if len(self.steps) < RUN_STEPS_MAX:
                self.steps.append(Step(len(self.steps) + 1, call_label(event), at, event.get("callId"),
                                       shown(event.get("input"))))
            return True
        if kind in ("tool-result", "held-call"):
            self._answer(event, at, held=kind == "held-call")
            return True
        if kind == "action-outcome":
            self._outcome(event, at)
            return True
        if kind == "board-observation-unavailable" and self.steps and self.steps[-1].state == "unknown":
            self.steps[-1].state = "unobserved"      # it was a look, and nothing was asked for
            return True
        if kind in ("case-open", "case-state", "focus", "case-closed"):
            return self._case(event)
        if kind == "end":
            self._case(event)
            self.outcome = text_of(event.get("outcome"))
            self.problem = first_text(event, "message", "teaching", "summary", "reason", "note") or self.problem
            return True
        if kind in ("error", "blocked", "model-error"):
            self.problem = first_text(event, "teaching", "message", "reason") or self.problem
            return True
        return False

    def _heard_model(self, kind: object, event: Mapping[str, object]) -> bool:
        """Fold in what the model says and what its service is like; words that come are shown a few at a time."""
        if kind == "model-card":
            rows = event.get("quirks")
            words = [text_of(row.get("words")) for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
            self.service = [each for each in words if each][:RUN_SERVICE_WORDS_MAX]
            return True
        if kind == "model-delta":
            self.said = (self.said + text_of(event.get("text")))[:RUN_SAID_CHARS_MAX]
            if len(self.said) - self._said_shown < RUN_SAID_STEP_CHARS:
                return False
        elif kind == "propose":
            self.said = text_of(event.get("say"))[:RUN_SAID_CHARS_MAX]
        elif self.said and kind == "model-error":
            self.said = ""                       # what had come is no reply
        elif kind == "round":
            self.said, self._said_shown = "", 0
            return False
        else:
            return False
        self._said_shown = len(self.said)
        return kind != "model-error"

    def _case(self, event: Mapping[str, object]) -> bool:
        case_id = event.get("caseId")
        if not isinstance(case_id, str) or case_id == self.case_id:
            return False
        self.case_id = case_id
        return True

    def _answer(self, event: Mapping[str, object], at: str, *, held: bool) -> None:
        step = self._open_step(event)
        if step is None:
            return
        step.output = shown(event.get("output")) or step.output
        waits = step.state in WAITING and event.get("held") and not event.get("state")
        if not waits:                        # what was heard while it was held says more than that it was held
            step.state, step.stage = result_state(event, held=held)
        if step.state not in ("running", *WAITING):      # a person's time counts too
            step.ended_at = at
        step.is_withheld = step.is_withheld or _object(event.get("output")).get("contentWithheld") is True
        opened = event.get("output")
        if not self.case_id and isinstance(opened, str):
            self.case_id = _case_in(opened)

    def _outcome(self, event: Mapping[str, object], at: str) -> None:
        """What became of an Action, in the strip's own word."""
        state = text_of(event.get("state"))
        step = next((each for each in reversed(self.steps) if each.label.startswith("ApplyAction")), None)
        if step is not None and state and step.state != "shown_earlier":
            step.state, step.stage = state, None
            step.ended_at = None if state in WAITING else step.ended_at or at

    def _open_step(self, event: Mapping[str, object]) -> Step | None:
        """The step this answer is for: by call id, else the newest unanswered one."""
        for step in reversed(self.steps):
            if event.get("callId") is not None and step.call_id == event["callId"]:
                return step
            if event.get("callId") is None and step.ended_at is None:
                return step
        return None

    def end(self, code: int | None, at: str, log_tail: str = "") -> None:
        """The Agent's process is gone; what it left open has no known answer."""
        self.ended_at, self.exit = at, code
        for step in self.steps:
            if step.ended_at is None and step.state not in WAITING:
                step.state = "unknown"
            step.ended_at = step.ended_at or at
        if self.stopping and code not in (0, 10, 11, 12, 13):
            self.exit, self.problem = STOPPED_EXITS[1], ""
        elif not self.problem and code not in (0, 10):
            self.problem = log_tail


def result_state(event: Mapping[str, object], *, held: bool = False) -> tuple[str, str | None]:
    """The step's state in the words of the operations strip, and its stage."""
    said = event.get("state")
    if isinstance(said, str) and said:
        return said, event.get("stage") if isinstance(event.get("stage"), str) else None
    if event.get("notExecuted"):
        return ("not_sent" if event.get("transportFailed") else "shown_earlier" if event.get("code") == SHOWN_FIRST else "not_executed"), None
    if event.get("transportFailed"):
        return "unknown", None
    if held or event.get("held"):
        return "running", "at_worker"
    return ("done", None) if event.get("accepted") else ("refused", None)


def call_label(event: Mapping[str, object]) -> str:
    """The call and what it is about, from its own input only."""
    name = text_of(event.get("cmd")) or text_of(event.get("tool")) or "call"
    given = _object(event.get("input"))
    about = next((text_of(given[key]) for key in ("action", "caseType", "disposition", "artifact") if given.get(key)), "")
    return f"{name} {about.rpartition('.')[2]}".strip()


def _object(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return _object(value["text"]) if set(value) >= {"text", "truncated"} else value
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}
    return {}


def _case_in(output: str) -> str:
    found = _object(output).get("caseId")
    return found if isinstance(found, str) else ""


def shown(value: object) -> str:
    """A display copy: text as it is, anything else as readable JSON, cut at the page's bound."""
    if value is None or value == "":
        return ""
    if isinstance(value, Mapping) and isinstance(value.get("text"), str) and "truncated" in value:
        value = value["text"]
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= SHOWN_BYTES_MAX:
        return text
    return raw[:SHOWN_BYTES_MAX].decode("utf-8", "ignore") + f"\n… {len(raw) - SHOWN_BYTES_MAX} bytes more"


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def first_text(event: Mapping[str, object], *keys: str) -> str:
    return next((event[key] for key in keys if isinstance(event.get(key), str) and event[key]), "")
