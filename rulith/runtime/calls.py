"""One model turn's tool calls: judged here, sent in order, each answered exactly once.

What cannot be a call of this surface is answered locally and never sent. After an answer
that the model must read first (held, lost, gated, or showing an earlier outcome) the rest
of the turn is not sent either.

Source  the MCP surface, "Rest of a model turn"
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rulith.base.errors import Mismatch, Refused
from rulith.dialects.transcript import CallResult, ProposedCall
from rulith.runtime.actions import applied
from rulith.runtime.answers import TOOLS, Answer, Kind, compact
from rulith.runtime.events import Sink
from rulith.runtime.line import BoardLine
from rulith.runtime.settings import EXPLORATION
from rulith.runtime.strip import WRITES
from rulith.runtime.surface import HOST_FIELDS, RETIRED_FIELDS
from rulith.runtime.teaching import Lessons
from rulith.runtime.unread import UnreadOutcomes

GATES = ("operation_running", "previous_result_undelivered")


@dataclass(frozen=True)
class Pins:
    """What the person fixed: a model's OpenCase cannot change it."""

    case_type: str = ""
    business_key: dict | None = None


@dataclass
class Served:
    """A turn's results, one per call. `ended` names what ended the turn with them, if anything."""

    results: list[CallResult]
    ended: str = ""              # "", stopped, blocked, looping
    message: str = ""
    codes: tuple[str, ...] = ()  # error codes the Board answered with


class CallServer:
    """`pins` may be replaced between turns; `is_stopping` is asked before each call."""

    def __init__(self, line: BoardLine, pins: Pins, unread: UnreadOutcomes, *, emit: Sink) -> None:
        self._line = line
        self.pins = pins
        self.is_stopping: Callable[[], bool] = lambda: False
        self._unread = unread
        self._emit = emit
        self._lessons = Lessons()
        self._is_sending = False         # whether the call under way may have left
        self.steps: list[dict] = []      # every ApplyAction that was sent, with what became of it

    def begin_turn(self) -> None:
        self._lessons.begin_turn()

    async def serve(self, calls: Sequence[ProposedCall]) -> Served:
        """Raises Refused credential_rejected, connection_replaced: nothing follows those."""
        results: list[CallResult] = []
        codes: list[str] = []
        for index, call in enumerate(calls):
            if self.is_stopping():
                rest = [_local(later, Refused("turn_stopped")) for later in calls[index:]]
                return Served(results + rest, "stopped", "The turn was stopped.", tuple(codes))
            try:
                result, suspends, code = await self._one(call)
            except asyncio.CancelledError:
                results.append(self._interrupted(call) if self._is_sending else _local(call, Refused("turn_stopped")))
                rest = [_local(later, Refused("turn_stopped")) for later in calls[index + 1:]]
                return Served(results + rest, "stopped", "The turn was stopped.", tuple(codes))
            except Refused as refusal:
                if self._is_sending and refusal.code != "credential_rejected" and not refusal.facts.get("nothing_ran"):
                    self._unread.interrupted(call.name, call.arguments or {}, self._line.session.before)
                raise
            except Mismatch as mismatch:
                rest = [_local_code(later, "version_mismatch", "The gateway changed its contract; nothing was sent.")
                        for later in calls[index:]]
                return Served(results + rest, "blocked", str(mismatch), tuple(codes))
            results.append(result)
            if code:
                codes.append(code)
            if code == "call_repeated":
                rest = [_local(later, Refused("call_queue_suspended")) for later in calls[index + 1:]]
                return Served(results + rest, "looping", f"The model went in circles. {json.loads(result.text)['teaching']}", tuple(codes))
            if suspends:
                rest = calls[index + 1:]
                if rest:
                    self._emit("queue-suspended", calls=[later.name for later in rest])
                results.extend(_local(later, Refused("call_queue_suspended")) for later in rest)
                break
        return Served(results, codes=tuple(codes))

    async def _one(self, call: ProposedCall) -> tuple[CallResult, bool, str]:
        """The call's result, whether it suspends the rest, and the Board's error code."""
        self._is_sending = False
        arguments = self._pinned(call)
        # What cannot be read is told apart by what is wrong with it: one mistake after another is no circle.
        asked = arguments if call.problem is None else {"": str(call.problem)}
        loop = self._lessons.is_loop(call.name, asked)
        if loop is not None:
            return self._answered_here(call, _local_body(call, Refused("call_repeated", why=loop[0], times=loop[1]))), True, "call_repeated"
        refusal = _not_a_call(call)
        if refusal is not None:
            return self._answered_here(call, _local_body(call, refusal), asked), False, ""
        held_back = await self._held_back(call)
        if held_back is not None:
            return self._answered_here(call, held_back, asked), True, ""
        self._is_sending = True
        answer = await self._line.call(call.name, arguments, call_id=call.id)
        answer, showed_earlier = self._unread.take(answer, arguments, answer.before)
        if call.name == "ApplyAction":
            _, row = applied(answer, arguments)
            self.steps.append(row)
            self._emit("action-outcome", **row)
        return CallResult(call.id, call.name, compact(self._taught(answer, arguments)), answer.is_error), \
            showed_earlier or _suspends(answer), answer.code

    def _answered_here(self, call: ProposedCall, body: dict, asked: dict | None = None) -> CallResult:
        """The result of a call that is not sent, told like any other; `asked` counts it as refused."""
        self._emit("tool-call", callId=call.id, cmd=call.name, input=call.arguments or {})
        again = "" if asked is None else self._lessons.refused(call.name, asked, body["errorCode"])
        body = {**body, "repeated": again} if again else body
        self._emit("tool-result", callId=call.id, cmd=call.name, code=body["errorCode"], accepted=False, held=False,
                   notExecuted=True, transportFailed=False, output=body)
        return CallResult(call.id, call.name, compact(body), True)

    def _taught(self, answer: Answer, arguments: dict) -> dict:
        """The answer's object, with what changed since the model last looked and whether it repeats itself."""
        more: dict = {}
        changes = self._lessons.changes(answer, arguments)
        if changes:
            more["changes"] = changes
        if answer.kind in (Kind.REFUSED, Kind.NOT_EXECUTED) and answer.code:
            again = self._lessons.refused(answer.tool, arguments, answer.code)
            if again:
                more["repeated"] = again
        elif answer.kind is Kind.ACCEPTED and answer.tool in WRITES:
            self._lessons.moved()
        return {**answer.body, **more}

    async def _held_back(self, call: ProposedCall) -> dict | None:
        """What a write is answered with, instead of being sent, while its model has outcomes to read; None when it is sent."""
        if call.name not in WRITES:
            return None
        read = None
        if self._unread.needs_read:
            read = await self._line.call("QueryBoard", {})
            if read.kind is not Kind.ACCEPTED:
                return _refusal_body(call.name, read.code, "This call was not sent: outcomes of an earlier run have to be read "
                                     f"first, and the Board could not be read. {read.teaching}")
            self._unread.take_read(read)
        refusal = self._unread.gate(read)
        return None if refusal is None else {**refusal, "tool": call.name}

    def _pinned(self, call: ProposedCall) -> dict:
        """The call's arguments, with what the person fixed put into an OpenCase that creates."""
        arguments = call.arguments or {}
        if call.name != "OpenCase" or "caseId" in arguments:
            return arguments
        opened = {**arguments, "caseType": self.pins.case_type or arguments.get("caseType") or EXPLORATION}
        if self.pins.business_key is not None:
            opened["businessKey"] = self.pins.business_key
        return opened

    def _interrupted(self, call: ProposedCall) -> CallResult:
        self._unread.interrupted(call.name, call.arguments or {}, self._line.session.before)
        return CallResult(call.id, call.name, compact({
            "errorCode": "turn_stopped",
            "teaching": "The person stopped the turn while this call was under way. It may or may not have run. Look for "
                        "it in `operations` of the next answer before deciding anything."}), True)


def _not_a_call(call: ProposedCall) -> Refused | None:
    """Why a proposed call is answered here, or None when it may be sent."""
    if call.name not in TOOLS:
        return Refused("tool_not_carried", tool=call.name[:80])
    if call.problem is not None:
        return call.problem
    for field in call.arguments or {}:
        if field in RETIRED_FIELDS:
            return Refused("retired_wire_field", field=field, tool=call.name)
        if field in HOST_FIELDS:
            return Refused("host_owned_field", field=field, tool=call.name)
    return None


def _suspends(answer: Answer) -> bool:
    if answer.kind in (Kind.HELD, Kind.LOST, Kind.UNSENT, Kind.UNOBSERVED):
        return True
    if answer.tool == "QueryBoard":
        return answer.kind is not Kind.ACCEPTED
    return answer.kind is Kind.NOT_EXECUTED and answer.code in GATES


def _model_code(refusal: Refused) -> str:
    return "bad_command" if refusal.code == "number_out_of_range" else refusal.code


def _refusal_body(tool: str, code: str, teaching: str) -> dict:
    return {"accepted": False, "requestExecuted": False, "tool": tool, "errorCode": code, "teaching": teaching}


def _local_body(call: ProposedCall, refusal: Refused) -> dict:
    return _refusal_body(call.name, _model_code(refusal), str(refusal))


def _local(call: ProposedCall, refusal: Refused) -> CallResult:
    return CallResult(call.id, call.name, compact(_local_body(call, refusal)), True)


def _local_code(call: ProposedCall, code: str, teaching: str) -> CallResult:
    return CallResult(call.id, call.name, compact(_refusal_body(call.name, code, teaching)), True)
