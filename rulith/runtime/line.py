"""One Agent's line to its Board: every call goes through here, is told about, and is learned from.

Joins the session, the wait for held calls and the book of Cases, so that the model loop
and the board driver see one call and one answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from rulith.base.clock import Clock
from rulith.base.limits import STORE_WAIT_S
from rulith.net.client import HttpClient
from rulith.runtime.answers import Answer, Kind
from rulith.runtime.cases import CaseBook
from rulith.runtime.events import Sink, shown
from rulith.runtime.session import BoardSession, Reach
from rulith.runtime.strip import StateRow
from rulith.runtime.waiting import HeldCalls, Pace, StoreWatch

READ_TRIES = 3


class BoardLine:
    """Open it once, call, close it. Calls are served in the order they come, each with its whole wait.

    book      the Cases of the conversation that is served now
    foreign   roots of other conversations: one session has one focus, and theirs is not this one's
    """

    def __init__(self, http: HttpClient, reach: Reach, *, clock: Clock, emit: Sink, log: Callable[[str], None],
                 poll_s: float = 2.0, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.session = BoardSession(http, reach, clock=clock, log=log, sleep=sleep)
        self.book = CaseBook()
        self.foreign: frozenset[str] = frozenset()
        self.last_view: dict = {}             # the newest position that an answer carried
        self._emit = emit
        self._sleep = sleep
        self._poll_s = poll_s
        self._wait_s = reach.wait_s
        self._turn = asyncio.Lock()           # whoever waits for a held call keeps the line
        store = StoreWatch(reach.url, STORE_WAIT_S, clock=clock, log=log, tell=lambda text: emit("error", message=text))
        self._held = HeldCalls(self.session, Pace(reach.wait_s, poll_s), clock=clock, sleep=sleep, on_wait=self._tell_wait,
                               store=store)

    async def open(self) -> None:
        """Raises like BoardSession.open."""
        await self.session.open()
        self._emit("start", agentId=self.session.agent_id)

    async def close(self) -> None:
        await self.session.close()

    async def call(self, tool: str, arguments: dict, *, call_id: str = "") -> Answer:
        """One call, its answer waited for as long as waiting helps. Raises like BoardSession.call."""
        self._emit("tool-call", callId=call_id, cmd=tool, input=shown(arguments))
        async with self._turn:
            answer = await self._held.call(tool, arguments)
        coded = {"code": answer.code} if answer.code else {}
        self._emit("tool-result", callId=call_id, cmd=tool, **coded, accepted=answer.kind is Kind.ACCEPTED,
                   held=answer.kind is Kind.HELD, notExecuted=answer.kind in (Kind.NOT_EXECUTED, Kind.UNSENT),
                   transportFailed=answer.kind in (Kind.LOST, Kind.UNSENT, Kind.UNOBSERVED), output=shown(answer.body))
        if answer.kind in (Kind.LOST, Kind.UNSENT):
            self._emit("loss", cmd=tool, code=answer.code, message=answer.teaching)
        if answer.kind is Kind.UNOBSERVED:
            self._emit("board-observation-unavailable", cmd=tool, message=answer.teaching)
        if tool == "ReadArtifact" and answer.kind is Kind.ACCEPTED:
            told = {name: answer.result.get(name) for name in ("ref", "mediaType", "offset", "nextOffset", "totalBytes", "complete")}
            self._emit("artifact-read", **told)
        if answer.operations:
            self._emit("operations", operations=[entry.row for entry in answer.operations])
        if answer.affected:
            self._emit("affected", cases=list(answer.affected))
        self.last_view = answer.view or self.last_view
        before = list(self.book.focus)
        for change in self.book.take(self._own(answer), arguments):
            extra = {"disposition": change.disposition} if change.disposition else {}
            self._emit(change.kind, caseId=change.case.case_id, root=change.case.root, status=change.case.status,
                       caseType=change.case.case_type, **extra)
        if self.book.focus != before:
            self._emit("focus", cases=[{"caseId": case.case_id, "root": case.root, "status": case.status} for case in self.book.focused])
        return answer

    def _own(self, answer: Answer) -> Answer:
        """The answer without the focus of other conversations, unless it is what this call asked for."""
        if answer.focused is None or not self.foreign:
            return answer
        asked = answer.result.get("root")
        return replace(answer, focused=tuple(pair for pair in answer.focused if pair.root == asked or pair.root not in self.foreign))

    async def read(self, arguments: dict) -> Answer:
        """QueryBoard, asked again after a failure: a read changes nothing, and a gateway may be coming back."""
        for _ in range(READ_TRIES - 1):
            answer = await self.call("QueryBoard", arguments)
            if answer.kind is not Kind.UNOBSERVED:
                return answer
            await self._sleep(self._poll_s)
        return await self.call("QueryBoard", arguments)

    async def wait_until_free(self) -> StateRow | None:
        """Wait while an operation of an earlier run is still running; what still stands in the way, or None."""
        async with self._turn:
            return await self._held.wait_until_free()

    async def acknowledge(self) -> None:
        """One ping, when the last thing on this session delivered an outcome."""
        async with self._turn:
            if self.session.owes_acknowledgement:
                try:
                    await self.session.ping()
                except LookupError:
                    return               # it was a request, and that is what acknowledges

    def _tell_wait(self, tool: str, label: str, answer: Answer | None) -> None:
        """Say that a call is held: by its answer, or before there is one."""
        operations = () if answer is None else answer.operations
        own = next((entry for entry in operations if entry.tool == tool), None)
        state = own.state if own else (answer.state if answer else "") or "running"
        self._emit("held-call", cmd=tool, label=own.label if own else label, state=state, stage=own.row.get("stage") if own else None,
                   atMostS=self._wait_s)
