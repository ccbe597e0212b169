"""The Agent as a service: tasks in, one turn at a time, each conversation in its own order.

A task is accepted when it is on the disk (where conversations are kept), runs when its turn
comes, and leaves one record however it ends. Conversations live in slots; the one idle the
longest gives way, and what it had in focus is written down. Ending a turn, a conversation or
the service changes no Case. After a rejected credential or a takeover nothing more is
asked, and what waited is recorded as never started.

Knows nothing of HTTP.

Source  the MCP surface, "HTTP service"; the workbench surface, "Agent task endpoint"
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Mismatch, Refused
from rulith.base.ids import mint
from rulith.base.limits import SHOWN_TASK_CHARS_MAX, TASKS_QUEUED_MAX
from rulith.disk.conversations import FINISHED, INTERRUPTED, RUNNING, QUEUED, UNFINISHED, Conversations
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.cases import CaseBook
from rulith.runtime.events import Sink
from rulith.runtime.journal import Journal
from rulith.runtime.line import BoardLine
from rulith.runtime.model import MODEL_FAILURES
from rulith.runtime.restored import restored_words
from rulith.runtime.tasks import Task
from rulith.runtime.turns import Policy, TurnResult, Turns
from rulith.runtime.unread import OutcomeBook, UnreadOutcomes
from rulith.runtime.unsaved import Unsaved

TURN_FAILURES = (*MODEL_FAILURES, "budget_spent", "price_unknown", "budget_unusable")     # the conversation goes on afterwards
_MODEL, _BOARD = "model", "board"          # what a running turn waits for


@dataclass
class Talk:
    """One conversation's machinery, as the run makes it."""

    turns: Turns
    server: CallServer
    unread: UnreadOutcomes


@dataclass
class Slot:
    session_key: str
    talk: Talk
    book: CaseBook = field(default_factory=CaseBook)
    earlier: str = ""                      # what the first message of a restored conversation begins with


@dataclass
class Job:
    """A task on its way. `record` is what `/runs` shows of it."""

    task: Task
    session_key: str
    record: dict
    replies: list[dict] = field(default_factory=list)
    usage: dict = field(default_factory=lambda: {"calls": 0, "durationMs": 0, "inputTokens": 0, "outputTokens": 0, "unknownUsageCalls": 0})

    @property
    def id(self) -> str:
        return self.record["id"]


@dataclass(frozen=True)
class ServiceLimits:
    runs_max: int = 200
    slots_max: int = 64


class Service:
    """`run()` works until `stop()` or until nothing more can be asked; the rest is called from the same loop."""

    def __init__(self, line: BoardLine, make_talk: Callable[[UnreadOutcomes], Talk], outcomes: OutcomeBook, pins: Pins, *, clock: Clock,
                 emit: Sink, model_service: str, console: str = "", first_case: str = "", limits: ServiceLimits = ServiceLimits()) -> None:
        self.journal = Journal(clock)
        self.problem: Refused | None = None        # why nothing more can be asked
        self._line = line
        self._make_talk = make_talk
        self._outcomes = outcomes
        self._pins = pins
        self._clock = clock
        self._told = emit
        self._model_service = model_service
        self._console = console
        self._first_case = first_case              # put into focus before the first turn
        self._store: Conversations | Unsaved = Unsaved(limits.runs_max)
        self._limits = limits
        self._slots: OrderedDict[str, Slot] = OrderedDict()      # least recently used first
        self._queue: deque[Job] = deque()
        self._runs: deque[dict] = deque(maxlen=limits.runs_max)
        self._archiving: set[str] = set()          # conversations that wait to be idle for it
        self._job: Job | None = None
        self._turn: asyncio.Task | None = None
        self._phase = ""
        self._stopping_turn = False
        self._draining = "the Agent is starting"
        self._wake = asyncio.Event()
        self._ended = False

    def keep_in(self, store: Conversations | None) -> None:
        """Take tasks from now on, and keep conversations in `store` where there is one."""
        self._store = store or self._store
        self._outcomes.restore(self._store.unread)
        self._draining = ""

    @property
    def is_taking(self) -> bool:
        return not self._draining

    def unread_labels(self) -> list[str]:
        return [f"{row['label']} ({row['state']})" for rows in self._outcomes.kept().values() for row in rows]

    def close(self) -> None:
        self._store.close()

    # what people and programs ask for

    def submit(self, task: Task) -> dict:
        """Accept a task; its receipt.

        Raises Refused: request_conflict, request_interrupted, serve_draining, conversation_archived, model_confirmation,
        queue_full, slots_busy, history_full, disk_full, write_failed.
        """
        key = task.session_key or _minted_key(task.request_id)
        fingerprint = task.fingerprint(key, self._pins.case_type)
        known = self._known_request(task.request_id, fingerprint)
        if known is not None:
            return known
        if self._draining:
            raise Refused("serve_draining", why=self._draining)
        if key in self._archiving or self._store.is_archived(key):
            raise Refused("conversation_archived", key=key)
        self._check_destination(task, key)
        if len(self._queue) >= TASKS_QUEUED_MAX:
            raise Refused("queue_full", tasks=TASKS_QUEUED_MAX)
        if not self._has_room(key):
            raise Refused("slots_busy", slots=self._limits.slots_max)
        at = stamp(self._clock.wall_s())
        record = {"id": mint("turn_", 32), "text": task.text[:SHOWN_TASK_CHARS_MAX], "at": at, "startedAt": None, "endedAt": None, "note": "",
                  "outcome": "", "board": self._line.session.agent_id, "sessionKey": key, "console": self._console}
        receipt = {"id": record["id"], "sessionKey": key, "at": at}
        self._store.accept({
            "id": record["id"], "sessionKey": key, "text": task.text, "attachments": list(task.attachments), "at": at, "state": QUEUED,
            "replies": [], "requestId": task.request_id, "fingerprint": fingerprint, "receipt": receipt,
            "modelService": self._model_service, "note": "", "outcome": "", "endedAt": None, "caseIds": [], "usage": {}})
        self._queue.append(Job(task, key, record))
        files = {"attachments": list(task.attachments)} if task.attachments else {}
        self.emit("task-queued", session=key, task=record["id"], text=record["text"], **files)
        self._wake.set()
        return {**receipt, "queued": len(self._queue)}

    def stop_turn(self, session_key: str, task_id: str = "") -> str:
        """Stop a conversation's turn: `stopping`, `stopped` (it had not begun), or `idle` (there is none)."""
        job = self._job
        if job is not None and job.session_key == session_key and task_id in ("", job.id):
            self._stopping_turn = True
            self.emit("turn-stopping", session=session_key, task=job.id)
            if self._phase == _MODEL and self._turn is not None:
                self._turn.cancel()
            return "stopping"
        waiting = next((each for each in self._queue if task_id and each.id == task_id and each.session_key == session_key), None)
        if waiting is None:
            return "idle"
        self._queue.remove(waiting)
        self._finish(waiting, "not-started", "It was taken back before it began.")
        return "stopped"

    def archive(self, session_key: str, archived: bool) -> str:
        """Put a conversation away or take it back; `pending` while a turn of it is under way."""
        busy = any(job.session_key == session_key for job in self._unfinished())
        if archived and busy:
            self._archiving.add(session_key)
            return "pending"
        self._archiving.discard(session_key)
        self._archive_now(session_key, archived)
        return "archived" if archived else "active"

    def document(self) -> dict:
        """What `/runs` shows."""
        running = None if self._job is None else dict(self._job.record)
        return {"agentId": self._line.session.agent_id, "concurrency": 1, "slotsMax": self._limits.slots_max, "sessions": len(self._slots),
                "running": running, "runningAll": [] if running is None else [running], "queued": [dict(job.record) for job in self._queue],
                "runs": [dict(record) for record in reversed(self._runs)]}

    # the work

    async def run(self) -> None:
        """Take tasks until the end. Raises Refused where nothing more can be kept on the disk."""
        try:
            while not self._ended:
                if not self._queue:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                await self._take(self._queue.popleft())
        finally:
            self._draining = self._draining or "the Agent is ending"
            for job in [*self._queue]:
                self._finish(job, "not-started", "The Agent ended before this task was started. It was never started.", keep_going=True)
            self._queue.clear()
            self.journal.close()

    def end(self, why: str = "the Agent is ending") -> None:
        """Take no more tasks, stop the turn under way, and let `run` return."""
        self._draining = why
        self._ended = True
        self._stopping_turn = True
        if self._turn is not None:
            self._turn.cancel()
        self._wake.set()

    def emit(self, type_: str, **fields: object) -> None:
        """The sink of everything that runs here: told on with the conversation and task it belongs to."""
        job = self._job
        if job is not None and "session" not in fields:
            fields = {"session": job.session_key, "task": job.id, **fields}
            self._watch(job, type_, fields)
        fields = {**fields, "board": self._line.session.agent_id} if self._line.session.agent_id else fields
        self.journal.put(type_, **fields)
        self._told(type_, **fields)

    def _watch(self, job: Job, type_: str, fields: dict) -> None:
        if type_ == "round":
            self._phase = _MODEL
            if self._stopping_turn and self._turn is not None:
                self._turn.cancel()
        elif type_ in ("tool-call", "tool-result", "model-usage", "propose"):
            self._phase = _BOARD
        if type_ == "propose":
            job.replies.append({"text": str(fields.get("say", "")), "at": stamp(self._clock.wall_s())})
        elif type_ == "user":
            fields["text"] = job.task.text
        elif type_ == "model-usage":
            usage = job.usage
            usage["calls"] += 1
            usage["durationMs"] += fields.get("durationMs") or 0
            usage["inputTokens"] += fields.get("inputTokens") or 0
            usage["outputTokens"] += fields.get("outputTokens") or 0
            usage["unknownUsageCalls"] += "inputTokens" not in fields or "outputTokens" not in fields

    async def _take(self, job: Job) -> None:
        """One task from its start to its record."""
        self._job, self._stopping_turn, self._phase = job, False, _BOARD
        try:
            await self._work(job)
        finally:
            self._job = None
        self._archive_waiting(job.session_key)

    async def _work(self, job: Job) -> None:
        job.record["startedAt"] = stamp(self._clock.wall_s())
        self._keep(job, state=RUNNING, startedAt=job.record["startedAt"])
        slot = self._slot_for(job.session_key)
        self.emit("task-start", text=job.record["text"])
        self._turn = turn = asyncio.ensure_future(self._serve(slot, job))
        stopped: asyncio.CancelledError | None = None
        try:
            await asyncio.wait([turn])
        except asyncio.CancelledError as stop:       # not the turn is to end, but this service
            stopped = stop
            self.end()
            await asyncio.wait([turn])
        self._turn = None
        outcome, note = ("user-stopped", "The turn was stopped.") if turn.cancelled() else turn.result()
        if self._ended and outcome == "user-stopped":
            outcome, note = "interrupted", "The Agent ended before this turn did. It is not run again."
        self._describe_cases(slot, job)
        self._finish(job, outcome, note)
        self._keep_unread()
        if stopped is not None:
            raise stopped

    async def _serve(self, slot: Slot, job: Job) -> tuple[str, str]:
        """The turn itself: its outcome and what to note of it."""
        task, talk = job.task, slot.talk
        self._line.book = slot.book
        self._line.foreign = frozenset(root for other in self._slots.values() if other is not slot for root in other.book.focus)
        talk.server.pins = Pins(task.case_type or self._pins.case_type, task.business_key or self._pins.business_key)
        talk.server.is_stopping = lambda: self._stopping_turn
        talk.server.steps = []
        words, slot.earlier = "\n\n".join(part for part in (slot.earlier, task.words()) if part), ""
        try:
            case_id, self._first_case = task.case_id or self._first_case, ""
            if case_id:
                await talk.turns.focus(case_id)
            result = await talk.turns.run(words, Policy.RETURN)
            if result.outcome == "blocked":
                self.emit("blocked", message=result.message)
            return _ended(result)
        except Mismatch as mismatch:
            self.emit("blocked", message=str(mismatch))
            return "blocked", str(mismatch)
        except Refused as refusal:
            if refusal.code in TURN_FAILURES:
                self.emit("model-error", message=str(refusal))
                return "model-error", str(refusal)
            self.emit("error", message=str(refusal))
            self.problem = refusal
            self._draining = refusal.happened.rstrip(".")
            self._ended = True
            return "error", str(refusal)
        except Exception as bug:      # a task that fails on a bug is recorded, and the service goes on with the next
            traceback.print_exception(type(bug), bug, bug.__traceback__, file=sys.stderr)
            self.emit("error", message="a fault of this program; its log has the details")
            return "error", "This turn ended by a fault of the program; its log has the details."

    def _describe_cases(self, slot: Slot, job: Job) -> None:
        focused, closed = slot.book.focused, slot.book.closed
        ids = [case.case_id for case in focused]
        if focused or closed:
            job.record["caseId"] = ids[0] if ids else closed[-1]["caseId"]
        if ids:
            job.record["activeCaseId"], job.record["activeCaseIds"] = ids[0], ids
        if closed:
            job.record["closedCases"] = list(closed)

    def _finish(self, job: Job, outcome: str, note: str, *, keep_going: bool = False) -> None:
        """Write down how a task ended. Raises what the disk refuses, unless nothing can be done about it any more."""
        record = job.record
        record["endedAt"], record["outcome"], record["note"] = stamp(self._clock.wall_s()), outcome, note[:SHOWN_TASK_CHARS_MAX]
        self._runs.append(record)
        self.emit("task-done", session=job.session_key, task=job.id, outcome=outcome, note=record["note"], closedCases=record.get("closedCases", []))
        cases = list(dict.fromkeys([*record.get("activeCaseIds", []), *(row["caseId"] for row in record.get("closedCases", []))]))
        try:
            self._keep(job, state=INTERRUPTED if outcome == "interrupted" else FINISHED, replies=job.replies, note=note, outcome=outcome,
                       endedAt=record["endedAt"], caseIds=cases, usage=job.usage, **({"closedCases": closed} if (closed := record.get("closedCases")) else {}))
        except Refused:
            if not keep_going:
                raise

    def _keep(self, job: Job, **members: object) -> None:
        """Put what became of a task on the disk. Raises Refused history_unusable: without that no further turn is begun."""
        try:
            self._store.change(job.id, **members)
        except Refused as refusal:
            raise Refused("history_unusable", path=str(refusal.facts.get("path", "")), problem=refusal.happened.rstrip(".")) from None

    # conversations

    def _slot_for(self, key: str) -> Slot:
        slot = self._slots.pop(key, None)
        if slot is None:
            if len(self._slots) >= self._limits.slots_max:
                self._detach(next(each for each in self._slots.values() if self._is_idle(each.session_key)), "slot-evicted")
            slot = Slot(key, self._make_talk(self._outcomes.conversation(key)), earlier=self._earlier_words(key))
            self.emit("slot-open")
        self._slots[key] = slot
        return slot

    def _earlier_words(self, key: str) -> str:
        ended = [row.id for row in self._store.rows_of(key) if row.state not in UNFINISHED]
        return restored_words([self._store.turn(each) for each in ended[-30:]])

    def _unfinished(self) -> list[Job]:
        return [*([self._job] if self._job else []), *self._queue]

    def _is_idle(self, key: str) -> bool:
        return all(job.session_key != key for job in self._unfinished())

    def _has_room(self, key: str) -> bool:
        """Whether all conversations with work, this one among them, have a slot each; idle ones give way."""
        return len({key, *(job.session_key for job in self._unfinished())}) <= self._limits.slots_max

    def _detach(self, slot: Slot, event: str) -> None:
        """Let a conversation go; what it had in focus is written down and otherwise left alone."""
        del self._slots[slot.session_key]
        slot.talk.unread.transcript_lost()
        if not len(slot.talk.unread):
            self._outcomes.forget(slot.session_key)      # what it has not read stays, should it go on
        self.emit(event, session=slot.session_key)
        for case in slot.book.focused:
            at = stamp(self._clock.wall_s())
            self._runs.append({"id": mint("detached-", 32), "text": "", "at": at, "startedAt": at, "endedAt": at, "outcome": "conversation",
                               "note": f"This conversation left its slot; the Case {case.case_id} is as it was.",
                               "board": self._line.session.agent_id, "sessionKey": slot.session_key, "pendingCaseId": case.case_id})
            self.emit("session-detached", session=slot.session_key, pendingCaseId=case.case_id)
            self.emit("case-pending", session=slot.session_key, caseId=case.case_id, root=case.root)

    def _archive_waiting(self, key: str) -> None:
        if key in self._archiving and self._is_idle(key):
            self._archiving.discard(key)
            self._archive_now(key, True)

    def _archive_now(self, key: str, archived: bool) -> None:
        self._store.archive(key, archived)
        self.emit("conversation-archived", session=key, archived=archived)
        if archived and key in self._slots:
            self._keep_unread()
            self._detach(self._slots[key], "slot-evicted")
        self.emit("conversation-archived", session=key, archived=archived)

    def _keep_unread(self) -> None:
        self._store.keep_unread(self._outcomes.kept())

    # requests asked twice, and by whom a conversation was answered before

    def _known_request(self, request_id: str, fingerprint: str) -> dict | None:
        """The receipt of the same request made before; None for a new one."""
        known = self._store.of_request(request_id) if request_id else None
        if known is None:
            return None
        if known.get("fingerprint") != fingerprint:
            raise Refused("request_conflict", id=request_id)
        if known["state"] == INTERRUPTED:
            raise Refused("request_interrupted", id=request_id)
        return {"id": known["id"], **(known.get("receipt") or {}), "queued": 0, "duplicate": True, "state": known["state"]}

    def _check_destination(self, task: Task, key: str) -> None:
        """What was said to one model service goes to another only when the person said so."""
        before = {row.model_service for row in self._store.rows_of(key)} - {"", self._model_service}
        if before and task.model_destination != self._model_service:
            raise Refused("model_confirmation", service=self._model_service)


def _minted_key(request_id: str) -> str:
    """The conversation of a task that names none: the same one for the same request."""
    return f"ctx-{hashlib.sha256(request_id.encode()).hexdigest()[:32]}" if request_id else mint("ctx-", 32)


def _ended(result: TurnResult) -> tuple[str, str]:
    return result.outcome, "\n".join(part for part in (result.text, result.message) if part)
