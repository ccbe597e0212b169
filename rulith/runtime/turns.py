"""The turn loop: what the person said goes to the model, its calls to the Board, until one side is done.

A turn ends in text, in closed Cases, at the round limit, or in bad news; it never leaves
a conversation that a provider would refuse, and it changes no Case by ending.

Source  the MCP surface, "Turn loop"
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from rulith.dialects.transcript import Entry, Reply, ResultsEntry
from rulith.runtime.answers import Kind, compact
from rulith.runtime.calls import CallServer
from rulith.runtime.cases import KnownCase
from rulith.runtime.conversation import Conversation, ask
from rulith.runtime.events import Sink
from rulith.runtime.line import BoardLine
from rulith.runtime.model import ModelClient
from rulith.runtime.prompt import SYSTEM
from rulith.runtime.strip import WAITING_FOR_PERSON
from rulith.runtime.unread import UnreadOutcomes

_STOPS = {
    "truncated": "The model's reply was cut at its output limit; no call of it was made.",
    "empty": "The model's reply was empty.",
    "declined": "The model service declined to answer; no call of its reply was made.",
}


BUSY = "operation_running"           # refused, since an earlier call of this Agent is not over
_ENDED = ("conversation", "stopped", "completed", "void", "waiting", "no-case")      # not by an error


class Policy(Enum):
    RETURN = "return"            # chat: text ends the turn
    CONTINUE = "continue"        # one-shot: text is nudged once


@dataclass(frozen=True)
class TurnResult:
    """outcome: conversation, completed, void, waiting, no-case, stopped, model-error, blocked, user-stopped."""

    outcome: str
    text: str = ""
    message: str = ""
    closed: list[dict] = field(default_factory=list)
    codes: tuple[str, ...] = ()


class Turns:
    """One conversation with one model over one line."""

    def __init__(self, line: BoardLine, model: ModelClient, server: CallServer, unread: UnreadOutcomes,
                 conversation: Conversation, *, emit: Sink, max_rounds: int) -> None:
        self._line = line
        self._model = model
        self._server = server
        self._unread = unread
        self._conversation = conversation
        self._emit = emit
        self._max_rounds = max_rounds
        self._notice = ""                # what became of the focus the person asked for

    async def focus(self, case_id: str) -> bool:
        """Put an existing Case into focus for the person; the next message tells the model how that went."""
        for _ in range(2):
            answer = await self._line.call("OpenCase", {"caseId": case_id})
            self._unread.take_of_person(answer)
            if answer.code != "previous_result_undelivered":
                break
            self._unread.book.relay(compact([entry.row for entry in answer.operations]), self._unread)
        if answer.kind is Kind.ACCEPTED:
            self._notice = f"The person put the Case {case_id} into focus."
            return True
        self._notice = (f"The person asked for the Case {case_id}, and it could not be put into focus: {answer.teaching} "
                        "Do not claim that it is active.")
        self._emit("error", message=f"The Case {case_id} could not be focused: {answer.teaching}")
        return False

    async def run(self, words: str, policy: Policy) -> TurnResult:
        """One turn. Raises Refused: the model service's failures, credential_rejected, connection_replaced."""
        self._line.book.begin_turn()
        self._server.begin_turn()
        dropped = self._conversation.condense()
        if dropped:
            self._emit("compact", entries=dropped)
        self._conversation.say(self._user_entry(words))
        self._emit("user", text=words)
        result = await self._rounds(policy)
        if policy is Policy.CONTINUE and result.outcome in ("completed", "void"):
            self._unread.replied()           # the run itself read how its Cases ended, and no request follows
        if result.outcome in _ENDED and self._unread.book.may_acknowledge:
            await self._line.acknowledge()
        self._emit("segment-end", outcome=result.outcome, closedCases=result.closed)
        return result

    async def _rounds(self, policy: Policy) -> TurnResult:
        said, nudged = "", False
        codes: list[str] = []
        for number in range(1, self._max_rounds + 1):
            self._emit("round", round=number)
            before = self._conversation.entries
            try:
                reply = await ask(self._model, self._conversation, SYSTEM, self._line.session.tools, emit=self._emit)
            except asyncio.CancelledError:
                return self._end("user-stopped", said, "The turn was stopped.", codes)
            finally:
                if _lacks_newest_results(before, self._conversation.entries):
                    self._unread.transcript_lost()   # what the service took did not hold them any more
            if reply.stop != "said":
                self._emit("model-error", message=_STOPS[reply.stop])
                return self._end("model-error", said, _STOPS[reply.stop], codes)
            self._take(reply)
            said = reply.text or said
            if not reply.calls:
                ended = self._after_text(policy, said, nudged, codes)
                if ended is not None:
                    return ended
                nudged = True
                self._conversation.say(self._nudge())
                continue
            served = await self._server.serve(reply.calls)
            self._conversation.answer(served.results)
            codes.extend(served.codes)
            if served.ended:
                outcome = {"stopped": "user-stopped", "blocked": "blocked"}.get(served.ended) or self._open_outcome()
                return self._end(outcome, said, served.message, codes)
            is_last = number == self._max_rounds
            if (policy is Policy.CONTINUE or is_last) and self._line.book.closed and not self._line.book.running:
                return self._end(self._closed_outcome(), said, "", codes)
        return self._end(self._open_outcome(), said, f"The limit of {self._max_rounds} rounds was reached.", codes)

    def _take(self, reply: Reply) -> None:
        self._unread.replied()
        self._conversation.reply(reply.entry())
        if reply.text:
            self._emit("propose", say=reply.text, calls=len(reply.calls))

    def _after_text(self, policy: Policy, said: str, nudged: bool, codes: Sequence[str]) -> TurnResult | None:
        """How a reply without calls ends the turn; None when the model is to be nudged."""
        if policy is Policy.RETURN:
            return self._end("conversation", said, "", codes)
        book = self._line.book
        if not book.focus:
            if BUSY in codes and self._open_outcome() == "waiting":
                return self._end("waiting", said, "An earlier call of this Agent waits for a person, and nothing else is taken before.", codes)
            return self._end(self._closed_outcome() if book.closed else "no-case", said, "", codes)
        if not book.running:
            if any(case.status == "paused" for case in book.focused):
                return self._end("waiting", said, "", codes)
            by_others = [case for case in book.focused if case.status == "closed" and case.disposition != "completed"]
            return self._end("void" if by_others or self._closed_outcome() == "void" else "completed", said, "", codes)
        if self._open_outcome() == "waiting":
            return self._end("waiting", said, "A person has to act first.", codes)
        return self._end("stopped", said, "The model stopped with its Case open.", codes) if nudged else None

    def _open_outcome(self) -> str:
        waits = any(entry.state in WAITING_FOR_PERSON for entry in self._line.session.last_strip)
        return "waiting" if waits else "stopped"

    def _closed_outcome(self) -> str:
        return "completed" if all(row["disposition"] == "completed" for row in self._line.book.closed) else "void"

    def _end(self, outcome: str, said: str, message: str, codes: Sequence[str]) -> TurnResult:
        return TurnResult(outcome, said, message, list(self._line.book.closed), tuple(codes))

    def _nudge(self) -> str:
        named = ", ".join(f"{case.case_id} ({case.status})" for case in self._line.book.running)
        return (f"[The program: {named} is still open. Go on with it by calling a tool; if nothing more can be done, say "
                "what is lacking and stop.]")

    def _user_entry(self, words: str) -> str:
        parts = [words.strip() or "(nothing was said)"]
        if self._notice:
            parts.append(f"[{self._notice}]")
            self._notice = ""
        if self._unread.book.relayed:
            parts.append(f"[The Board's record of recent calls, as it stands: {self._unread.book.relayed}]")
        waiting = self._unread.labels()
        if waiting:
            parts.append(f"[Still without an outcome you have read: {'; '.join(waiting)}]")
        if self._line.book.focus:
            parts.append(f"[In focus: {'; '.join(map(_focus_words, self._line.book.focused))}]")
        if self._conversation.has_results:
            parts.append("[The Board may have changed since the results above; QueryBoard reads it.]")
        return "\n\n".join(parts)


def _lacks_newest_results(before: Sequence[Entry], after: Sequence[Entry]) -> bool:
    """Whether a conversation that had to be made shorter lost its newest results, or parts of them."""
    newest = next((entry for entry in reversed(before) if isinstance(entry, ResultsEntry)), None)
    if newest is None or len(before) == len(after) and not any(isinstance(entry, ResultsEntry) for entry in after):
        return False                                 # there were none, or they are told in plain words
    return newest not in after


def _focus_words(case: KnownCase) -> str:
    return f"{case.case_id}, root {case.root}, {case.status}{' (not refreshed)' if case.is_old else ''}"
