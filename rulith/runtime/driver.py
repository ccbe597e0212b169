"""The board driver: a Case carried to its end by rule alone, no model asked.

Takes only Actions that the Case Type lists in `drive`, in that order, when the Board says
they are ready and binds every argument in exactly one way. Never the same Action with the
same arguments twice in a Case: the Board remembers what earlier runs tried. Stops at the
first step that is refused, failed, unknown, waiting or ambiguous, and says why in the
Board's words.

It decides nothing: what is ready, certified or lacking is the Board's answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from rulith.base.limits import DRIVER_STEPS_MAX
from rulith.runtime.actions import applied
from rulith.runtime.answers import Answer, Kind, compact
from rulith.runtime.events import Sink
from rulith.runtime.line import BoardLine
from rulith.runtime.opening import CaseWanted, OpenedCase, open_case, waiting_words
from rulith.runtime.outcome import COMPLETED, NOTHING_TO_DO, REFUSED, STUCK, UNREACHABLE, WAITING, RunResult
from rulith.runtime.strip import WAITING_FOR_PERSON
from rulith.runtime.surface import flat

GAPS_SHOWN_MAX = 5
TRY_AGAIN = ("To have it tried again, cancel the Case in the Console (section Cases), so that the next run opens a new one, "
             "or apply it deliberately with a model.")


class BoardDriver:
    """One run on one Case."""

    def __init__(self, line: BoardLine, *, emit: Sink, steps_max: int = DRIVER_STEPS_MAX) -> None:
        self._line = line
        self._emit = emit
        self._steps_max = steps_max
        self.steps: list[dict] = []
        self._done: set[str] = set()
        self._case: OpenedCase | None = None

    async def run(self, wanted: CaseWanted) -> RunResult:
        """Raises what ends the process: Mismatch, Refused credential_rejected, connection_replaced."""
        opened = await open_case(self._line, wanted)
        if isinstance(opened, RunResult):
            return opened
        self._case = opened
        if opened.status == "closed":
            return self._end("nothing_to_do", NOTHING_TO_DO, f"The Case {opened.case_id} is already closed.")
        if opened.status == "paused":
            return self._end("waiting", WAITING, f"The Case {opened.case_id} is on hold; a person lifts it in the Console (section Cases).")
        result = await self._drive()
        await self._line.acknowledge()
        return result

    async def _drive(self) -> RunResult:
        assert self._case is not None
        while True:
            position = await self._line.read({"include": ["gaps", "taskStatus"], "selector": {"roots": [self._case.root]}})
            if position.kind is not Kind.ACCEPTED:
                return self._unread(position)
            view = position.view
            ended = self._ended_meanwhile(view)
            if ended is not None:
                return ended
            if _is_certified(view, self._case.root):
                return await self._close()
            step = self._next_step(view)
            if isinstance(step, RunResult):
                return step
            if len(self.steps) >= self._steps_max:
                return self._end("stuck", STUCK, f"This run's budget of {self._steps_max} steps is used up; run again to go on.")
            stopped = await self._take(step)
            if stopped is not None:
                return stopped

    def _ended_meanwhile(self, view: dict) -> RunResult | None:
        """The result of a run whose Case a person closed or holds by now."""
        assert self._case is not None
        row = {row.get("root"): row for row in view.get("roots") or [] if isinstance(row, dict)}.get(self._case.root, {})
        if row.get("status") == "paused":
            return self._end("waiting", WAITING, f"The Case {self._case.case_id} is on hold; a person lifts it in the Console (section Cases).")
        if row.get("status") != "closed":
            return None
        disposition = self._line.book.disposition_of(self._case.root)
        return self._end("void", STUCK, f"The Case {self._case.case_id} was closed{f' as {disposition}' if disposition else ''} meanwhile, not by this run.")

    def _unread(self, position: Answer) -> RunResult:
        if position.kind is Kind.UNOBSERVED:
            return self._end("unreachable", UNREACHABLE, position.teaching, errorCode=position.code)
        return self._end("refused", REFUSED, f"The Board does not show the Case: {position.teaching}", errorCode=position.code)

    # choosing

    def _next_step(self, view: dict) -> dict | RunResult:
        """The arguments of the next ApplyAction, or why there is none."""
        assert self._case is not None
        rows = {row.get("action"): row for row in reversed(view.get("actions") or []) if isinstance(row, dict)}      # of one name the first counts
        tried: list[dict] = []
        for action in self._case.drive:
            row = rows.get(action)
            if row is None or row.get("status") != "ready":
                continue
            step = self._bound(row, tried)
            if step is not None:
                return step
        ended_badly = next((each for each in tried if each["state"] != "done"), None)
        return self._stuck(view, rows, tried) if ended_badly is None else self._not_again(ended_badly)

    def _bound(self, row: dict, tried: list[dict]) -> dict | RunResult | None:
        """The one way to apply a ready Action; None when just that was tried in this Case before, noted in `tried`."""
        assert self._case is not None
        action = row["action"]
        candidates = [candidate for candidate in row.get("candidates") or [] if isinstance(candidate, dict)
                      and candidate.get("target") == self._case.root and isinstance(candidate.get("args"), dict)]
        fresh = {compact(_sorted(candidate["args"])): candidate for candidate in candidates}
        if len(fresh) > 1 or (row.get("candidateCount") or 0) > len(candidates) > 0:
            return self._end("stuck", STUCK, f"{action} is ready in more than one way, so a rule cannot choose.", action=action)
        if not fresh:
            return None
        chosen = next(iter(fresh.values()))
        args, before = dict(chosen["args"]), chosen.get("tried")
        if isinstance(before, dict):
            tried.append({"action": action, "args": args, "state": "unknown", "reason": "", "at": "", **before})
            return None
        sources = [name for name in row.get("sources") or [] if isinstance(name, str)]
        if "source" not in args and "sources" in row:
            if len(sources) > 1:
                return self._end("stuck", STUCK, f"{action} could use the Sources {', '.join(sources)}, so a rule cannot choose.",
                                 action=action)
            if sources:
                args["source"] = sources[0]
        step = {"action": action, "args": args, "target": self._case.root}
        return None if self._key(step) in self._done else step

    @staticmethod
    def _key(step: dict) -> str:
        return compact([step["action"], _sorted(step["args"])])

    def _not_again(self, tried: dict) -> RunResult:
        """An Action is ready that was tried before and did not end well; a rule does not repeat it."""
        outcome, status = ("refused", REFUSED) if tried["state"] == "refused" else (flat(tried["state"], 40), STUCK)
        words = flat(tried["reason"], 300).rstrip(".") or "no reason was recorded"
        return self._end(outcome, status, f"{tried['action']} was tried in this Case at {flat(tried['at'], 40)} and ended "
                         f"{outcome}: {words}. It was not repeated. {TRY_AGAIN}", action=tried["action"], tried=tried)

    def _stuck(self, view: dict, rows: dict, tried: list[dict]) -> RunResult:
        """Nothing can be applied and the Case is not certified: say what is lacking."""
        assert self._case is not None
        root = self._case.root
        gaps = [gap for gap in view.get("gaps") or [] if isinstance(gap, dict) and gap.get("root", root) == root]
        inexact = next((gap for gap in gaps if gap.get("kind") == "arithmetic_exact"), None)
        if inexact is not None:
            return self._end("stuck", STUCK, _inexact_words(inexact), gap=inexact, errorCode="arithmetic_exact")
        blocked = [rows[action] for action in self._case.drive
                   if action in rows and rows[action].get("status") == "blocked" and rows[action].get("reason") not in (None, "")]
        paused = next((row for row in blocked if row["reason"] in ("case_paused", "case_closed")), None)
        if paused is not None:
            return self._end("waiting", WAITING, f"The Case is on hold ({paused['reason']}).")
        shown = gaps[:GAPS_SHOWN_MAX]
        locked = next((row for row in blocked if row["reason"] == "law_lock"), None)
        if locked is not None:
            return self._end("refused", REFUSED, f"{locked['action']} is locked by the Board's law.", gaps=shown)
        needs = _needs(row for row in blocked if row["reason"] == "needs_setup")
        if needs:
            return self._end("stuck", STUCK, f"Not set up, or not among what this Agent may see: {needs}. Its owner sets it up in the Console.", gaps=shown)
        if not self._case.drive:
            return self._end("stuck", STUCK, "This Case Type lists no Action that may be applied without a model.")
        lacking = "; ".join(flat(gap.get("text", gap.get("kind", "")), 300) for gap in shown) or "the Board names nothing"
        done = "".join(f" {row['action']} was done at {flat(row['at'], 40)} and is not repeated." for row in tried)
        whys = done + "".join(f" {row['action']} is not ready: {flat(row['why'], 200)}." for row in blocked if row.get("why"))
        return self._end("stuck", STUCK, f"No Action of this Case Type can be applied, and the Case is not certified. "
                         f"Lacking: {lacking}.{whys}", gaps=shown)

    # doing

    async def _take(self, step: dict) -> RunResult | None:
        """Apply one Action; None when it is done and the run goes on."""
        self._done.add(self._key(step))
        answer = await self._line.call("ApplyAction", step)
        own, row = applied(answer, step)
        state, words = row["state"], row.get("summary", "")
        self.steps.append(row)
        self._emit("action-outcome", **row)
        if state == "done":
            return None
        label = own.label if own else f"ApplyAction {step['action']}"
        if state in WAITING_FOR_PERSON:
            return self._end("waiting", WAITING, waiting_words(state, label, own), action=step["action"])
        if state == "refused":
            return self._end("refused", REFUSED, f"{step['action']} was refused: {words}", action=step["action"],
                             **({"errorCode": answer.code} if answer.code else {}))
        if state == "failed":
            return self._end("failed", STUCK, f"{step['action']} failed: {words.rstrip('.')}. It is not repeated in this Case. {TRY_AGAIN}",
                             action=step["action"])
        if answer.code == "case_paused":
            return self._end("waiting", WAITING, f"The Case is on hold: {answer.teaching}", errorCode=answer.code)
        if state == "unsent":
            return self._end("unreachable", UNREACHABLE, answer.teaching, action=step["action"])
        if state == "running":
            return self._end("stuck", STUCK, f"{step['action']} is still running; nothing was cancelled. Run again later.",
                             action=step["action"])
        return self._end("unknown", STUCK, f"What became of {step['action']} is not known, and it is not repeated: "
                         f"{words or answer.teaching}", action=step["action"])

    async def _close(self) -> RunResult:
        assert self._case is not None
        answer = await self._line.call("CloseCase", {"root": self._case.root, "disposition": "completed"})
        if answer.kind is Kind.ACCEPTED:
            return self._end("completed", COMPLETED, f"The Case {self._case.case_id} is certified and closed as completed.")
        if answer.kind is Kind.UNSENT:
            return self._end("unreachable", UNREACHABLE, answer.teaching)
        if answer.kind in (Kind.LOST, Kind.HELD):
            return self._end("unknown", STUCK, "Whether the Case was closed is not known. Run again to see.")
        if answer.code == "case_paused":
            return self._end("waiting", WAITING, f"The Case is on hold: {answer.teaching}", errorCode=answer.code)
        if answer.code in ("case_not_certified", "case_pending", "operation_running"):
            return self._end("stuck", STUCK, f"The Case is not ready to close: {answer.teaching}", errorCode=answer.code)
        return self._end("refused", REFUSED, f"The close was refused ({answer.code}): {answer.teaching}", errorCode=answer.code)

    def _end(self, outcome: str, status: int, message: str, **facts: object) -> RunResult:
        case = self._case
        return RunResult(outcome, status, message, case.case_id if case else "", case.root if case else "",
                         self.steps, list(self._line.book.closed), dict(facts))


def _is_certified(view: dict, root: str) -> bool:
    status = view.get("taskStatus")
    row = status.get(root) if isinstance(status, dict) else None
    return isinstance(row, dict) and row.get("certified") is True


def _needs(rows: Iterable[dict]) -> str:
    """What is lacking, in the Board's words, each once with the Actions that lack it."""
    lacking: dict[str, list[str]] = {}
    for row in rows:
        lacking.setdefault(flat(row.get("needs", ""), 200).rstrip("."), []).append(row["action"])
    return "; ".join(f"{words} (for {', '.join(actions)})" if words else ", ".join(actions) for words, actions in lacking.items())


def _inexact_words(gap: dict) -> str:
    """Which rule left the exact range with which operands, in one sentence."""
    operands = gap.get("operands") if isinstance(gap.get("operands"), dict) else {}
    values = f"{operands.get('op', 'arithmetic')} of {operands.get('left')} and {operands.get('right')}"
    label = f" ({gap['ruleLabel']})" if gap.get("ruleLabel") else ""
    return (f"The rule {gap.get('rule', '?')}{label} has no exact result: {values} lies outside ±9007199254740991. "
            "Nothing was rounded, derived or written.")


def _sorted(args: dict) -> list:
    return sorted([name, type(value).__name__, value] for name, value in args.items())
