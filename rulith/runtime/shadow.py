"""The shadow review: a second look at an unfinished Case, by a model that cannot act.

It sees the task and the last position and may only name defects. What it names is written
to the Board as assertions of this Agent, marked as such like any other; it decides nothing,
holds nothing up and changes no exit status. Where the turn left anything open or unread
there is nothing settled to look at, and no review.

Source  the MCP surface, "Turn loop", shadow review
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import SHADOW_FINDINGS_MAX, SHADOW_FINDING_CHARS_MAX, SHADOW_VIEW_CHARS_MAX
from rulith.dialects.transcript import CallIds, UserEntry
from rulith.runtime.answers import Kind, compact
from rulith.runtime.events import Sink
from rulith.runtime.line import BoardLine
from rulith.runtime.model import ModelClient
from rulith.runtime.surface import flat

PASSED, FOUND, UNAVAILABLE, SKIPPED = "pass", "findings", "unavailable", "skipped"
_NOT_AFTER = ("blocked", "model-error", "error", "user-stopped")
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"

SYSTEM = """\
You review the work of another program, which works on a Board: facts, goals and what its rules derive. You see the task and the \
Board's last position, and you cannot act. Name defects only: a goal that the task asks for and the position does not hold, a fact \
that contradicts the task, a step that was left out. Do not repeat what the position itself lists as lacking. \
Answer PASS if you see none; else at most three lines, each FINDING: and one sentence."""


class TurnWatch:
    """A sink that notes what would make a review of this turn premature."""

    def __init__(self) -> None:
        self.disturbed = ""
        self._unread = False

    def __call__(self, type_: str, **fields: object) -> None:
        if type_ == "user":
            self.disturbed, self._unread = "", False
        elif type_ == "tool-result":
            self._unread = True
            if fields.get("held") or fields.get("notExecuted") or fields.get("transportFailed"):
                self.disturbed = "a call of the turn was held, not executed or lost"
        elif type_ == "model-usage":
            self._unread = False             # the model was asked with every result before it

    @property
    def problem(self) -> str:
        return self.disturbed or ("the model has not read every result" if self._unread else "")


@dataclass(frozen=True)
class Review:
    state: str
    findings: tuple[str, ...] = ()
    message: str = ""

    def document(self) -> dict:
        return {"state": self.state, "findings": list(self.findings), **({"message": self.message} if self.message else {})}


@dataclass
class Shadow:
    """One run's reviewer."""

    line: BoardLine
    model: ModelClient
    watch: TurnWatch
    clock: Clock
    emit: Sink
    _ids: CallIds = field(default_factory=CallIds)

    async def review(self, task: str, outcome: str) -> Review:
        """Look at what the turn came to. Raises what ends the process."""
        why = self._skipped(outcome)
        review = Review(SKIPPED, message=why) if why else await self._ask(task)
        if review.findings:
            review = await self._write(review)
        self.emit("shadow", **review.document())
        return review

    def _skipped(self, outcome: str) -> str:
        if outcome in _NOT_AFTER:
            return f"the turn ended as {outcome}"
        if not self.line.book.focus:
            return "no Case is in focus"
        if any(not entry.is_settled for entry in self.line.session.last_strip):
            return "an operation is unresolved"
        return self.watch.problem

    async def _ask(self, task: str) -> Review:
        view = compact(self.line.last_view)
        cut = " (cut)" if len(view) > SHADOW_VIEW_CHARS_MAX else ""
        question = f"The task:\n{task}\n\nThe Board's last position{cut}:\n{view[:SHADOW_VIEW_CHARS_MAX]}"
        try:
            reply = await self.model.ask(SYSTEM, [UserEntry(question)], [], self._ids)
        except Refused as refusal:
            return Review(UNAVAILABLE, message=str(refusal))
        if reply.stop != "said" or reply.calls:
            return Review(UNAVAILABLE, message="its reply was empty, cut or no text")
        return read_review(reply.text)

    async def _write(self, review: Review) -> Review:
        number = int(self.clock.wall_s() * 1000)
        operations = [{"op": "assert_fact", "id": f"SF_{base36(number)}_{index}", "predicate": "shadow_finding", "args": {"text": text}}
                      for index, text in enumerate(review.findings, 1)]
        answer = await self.line.call("ApplyBatch", {"operations": operations})
        await self.line.acknowledge()        # no model reads this outcome, and the next run shall not meet it
        if answer.kind is Kind.ACCEPTED:
            return review
        return Review(FOUND, review.findings, f"the Board did not take them ({answer.code or answer.kind.value})")


def read_review(text: str) -> Review:
    """PASS, up to three findings, or an answer that is neither."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    findings = [flat(line.partition(":")[2], SHADOW_FINDING_CHARS_MAX).strip() for line in lines if line.upper().startswith("FINDING:")]
    findings = [each for each in findings if each]
    if findings:
        return Review(FOUND, tuple(findings[:SHADOW_FINDINGS_MAX]))
    return Review(PASSED) if _is_pass(lines) else Review(UNAVAILABLE, message="its reply is neither PASS nor a finding")


def _is_pass(lines: Sequence[str]) -> bool:
    return len(lines) == 1 and lines[0].rstrip(".").upper() == "PASS"


def base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _BASE36[rest] + digits
    return digits or "0"
