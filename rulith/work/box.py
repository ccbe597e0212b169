"""A drop-box Worker's memory and decisions: what it has started, what came of it, what it still has to say.

The memory outlives the process, so this Worker's instance is the life of its journal, and a
call is started at most once whatever files come, come back or come late. The order is fixed:
a call is written down as started before it starts, and what came of it before it is told.
Pure; work/box_journal.py keeps it on disk, work/dropbox.py does the waiting.

Units   *_s are seconds since the epoch on `now_s`, which never goes back: files state when they were written
Source  docs/worker.md, "A Worker that no network reaches"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rulith.base.canonical import digest
from rulith.base.clock import seconds_of, stamp
from rulith.wire.dropbox import ReceiptsFile, WorkFile
from rulith.wire.worker_hop import report_action, report_undeliverable

INTERRUPTED = "execution_interrupted"
NOT_RECORDED = "result_not_recorded"


@dataclass(frozen=True)
class BoxCall:
    """One call this instance took. `report` is None from its start until it is known what came of it.

    first      it is the first report of this call, and a success: the one that may be followed by another
    answered   the gateway has answered it; kept until nothing could start the call any more
    """

    invocation: str
    generation: int
    start_before: str
    grant: str = field(repr=False)
    is_read: bool
    report: Mapping[str, object] | None = field(default=None, repr=False)
    first: bool = False
    answered: bool = False

    def record(self) -> dict[str, object]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class Answered:
    """One report was answered: what is told of it."""

    invocation: str
    accepted: bool
    code: str
    reason: str


@dataclass
class Box:
    """The state of one instance. `sequence` counts the receipts files it has written, `seen` is the newest work file it took."""

    worker_id: str
    connection_id: str
    generation: int | None = None
    held_by: str | None = None
    sequence: int = 0
    seen: int = 0
    latest_s: float = 0.0
    calls: dict[str, BoxCall] = field(default_factory=dict, repr=False)
    rows: list[Mapping[str, object]] = field(default_factory=list, repr=False)
    _has_rows: bool = False              # of the newest file; a new process reads it once more

    def now_s(self, wall_s: float) -> float:
        """The clock that only goes forward: a machine whose clock is set back does not start old calls."""
        self.latest_s = max(self.latest_s, wall_s)
        return self.latest_s

    # -- a file came -------------------------------------------------------------------

    def take(self, file: WorkFile) -> tuple[list[BoxCall], list[Answered]]:
        """Take a newer file: the calls whose records changed, and what was answered. An older one, or the same again, changes nothing."""
        if file.sequence < self.seen or (file.sequence == self.seen and self._has_rows):
            return [], []
        self._has_rows = True
        self.seen, self.held_by = file.sequence, file.worker_id
        self.now_s(seconds_of(file.at))
        self.generation = file.generation if file.worker_id == self.worker_id else None
        self.rows = list(file.rows) if self.generation is not None else []
        changed, told = [], []
        for invocation, answer in file.answers.items():
            call = self.calls.get(invocation)
            if call is None or call.report is None or call.answered or answer.get("of") != digest(call.report):
                continue
            accepted, code = answer.get("accepted") is True, str(answer.get("errorCode") or "")
            told.append(Answered(invocation, accepted, code, str(answer.get("teaching") or "")))
            changed.append(self._put(self._after(call, accepted, code)))
        return changed, told

    def _after(self, call: BoxCall, accepted: bool, code: str) -> BoxCall:
        """A success that the Board certainly would not take is told once more, as what it is; every other answer is the last one."""
        if accepted or code != "ingest_rejected" or not call.first:
            return replace(call, answered=True)
        if call.is_read:
            report = report_action(call.invocation, ok=False, reason=f"{NOT_RECORDED}: {code}; the Board took none of its facts.",
                                   **self._identity(call))  # fmt: skip
        else:
            report = report_undeliverable(call.invocation, code=NOT_RECORDED, **self._identity(call))
        return replace(call, report=report, first=False)

    def _identity(self, call: BoxCall) -> dict:
        return {"worker_id": self.worker_id, "generation": call.generation, "grant": call.grant}

    # -- a call ------------------------------------------------------------------------

    def waiting(self) -> list[Mapping[str, object]]:
        """The rows of the newest file that were not taken yet, oldest first."""
        names = [each["row"].get("work") for each in self.rows]
        return [each for each, name in zip(self.rows, names) if not isinstance(name, str) or name not in self.calls]

    def start(self, invocation: str, grant: str, start_before: str, *, is_read: bool) -> BoxCall:
        """The record to keep before the call starts."""
        assert self.generation is not None and invocation not in self.calls, "a call starts once"
        return self._put(BoxCall(invocation, self.generation, start_before, grant, is_read))

    def end(self, invocation: str, report: Mapping[str, object]) -> BoxCall:
        """The record of what came of it."""
        call = self.calls[invocation]
        assert call.report is None, "a call ends once"
        return self._put(replace(call, report=report, first=report.get("ok") is True))

    def not_run(self, invocation: str, grant: str, start_before: str, why: str) -> BoxCall:
        """The record of a call that was judged and left alone: the gateway counts it as ours, and nothing ran."""
        call = self.start(invocation, grant, start_before, is_read=True)
        return self.end(invocation, report_action(invocation, ok=False, reason=f"not_run: {why}", **self._identity(call)))

    def interrupted(self) -> list[BoxCall]:
        """At the start of a process: what the last one had started and not ended is unknown."""
        return [self.end(call.invocation, report_undeliverable(call.invocation, code=INTERRUPTED, **self._identity(call)))
                for call in list(self.calls.values()) if call.report is None]

    def forgettable(self) -> list[str]:
        """Answered calls that no file could start any more, since the time to start them has passed."""
        return [call.invocation for call in self.calls.values() if call.answered and seconds_of(call.start_before) < self.latest_s]

    def forget(self, invocations: Iterable[str]) -> None:
        for invocation in invocations:
            del self.calls[invocation]

    def _put(self, call: BoxCall) -> BoxCall:
        self.calls[call.invocation] = call
        return call

    # -- what there is to say ----------------------------------------------------------

    def said(self, tools: list[object]) -> dict[str, object]:
        """All that counts in the next receipts file: a new one is written when this changes."""
        reports = [call.report for call in self.calls.values() if call.report is not None and not call.answered]
        return {"workerGeneration": self.generation, "tools": tools, "reports": reports}

    def file(self, said: Mapping[str, object]) -> ReceiptsFile:
        """The next receipts file, under the next number."""
        self.sequence += 1
        return ReceiptsFile(self.connection_id, self.sequence, stamp(self.latest_s), self.worker_id, said["workerGeneration"],
                            said["tools"], said["reports"], self.seen)  # fmt: skip
