"""Outcomes that a conversation's model has not read yet; several conversations share one session.

The Board counts an outcome as delivered once any answer of the session carried it, whichever
conversation that answer belonged to. So each conversation keeps its own writes here until
its own model has replied to a request that showed what became of them:

  phase       what it means                               leaves when
  open        no settled outcome was seen                 an answer of the session shows one
  pending     settled, and not before its model           shown with its next call
  presented   in the transcript                           the model replies; back to pending if that transcript is lost

Kept by (tool, label, at). A call whose answer was lost before anything named it is looked
for as the one new entry of its tool, until another operation is admitted.

Source  the MCP surface, "Several conversations on one session"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from rulith.base.limits import UNREAD_ALL_MAX, UNREAD_ROWS_MAX
from rulith.runtime.answers import Answer, Kind
from rulith.runtime.strip import RUNNING, SETTLED, WAITING_FOR_PERSON, WRITES, Entry, Key, names
from rulith.runtime.unread_rows import (
    ADMITTED, LOST, OPEN, PENDING, PRESENTED, STATES, UNLISTED, Nameless, Row, better, call_label, merged, own_of, spliced, with_answer,
)

GATE = "previous_result_undelivered"
_READ_FIRST = ("This call was not sent. An earlier call of this conversation has an outcome that you have not read: "
               "it stands in `operations`. Read it, then decide whether this call is still right.")
_GONE = "{labels}: no longer listed; last seen as {state}. What became of it is in the Console."


class UnreadOutcomes:
    """One conversation's. Made by `OutcomeBook.conversation`, or alone for a program with one conversation."""

    def __init__(self, book: OutcomeBook | None = None) -> None:
        self.book = book or OutcomeBook()
        self.book.join(self)
        self.awaits_reply = False    # an answer of the Board went to this model, and it has not replied since
        self._rows: dict[Key, Row] = {}
        self._nameless: list[Nameless] = []

    # an answer that goes to this conversation's model

    def take(self, answer: Answer, arguments: dict, before: Collection[Key]) -> tuple[Answer, bool]:
        """Learn from an answer; return it as the model gets it, and whether it shows the outcome of an earlier call."""
        own = own_of(answer, before)
        self._name_lost(answer, own)
        showed_earlier = self._mark_shown(answer, own, before)
        self._drop_missing(answer)
        self.book.overhear(answer, own, self)
        self._note_own(answer, arguments, own, before)
        waiting = self._shown_rows(lambda row: row.entry is not None)
        if waiting and isinstance(answer.body.get("operations"), list):
            answer, showed_earlier = spliced(answer, waiting), True
            self._present(waiting)
        self._is_told(answer)
        return answer, showed_earlier

    def take_of_person(self, answer: Answer) -> None:
        """Learn from the answer to a call that the person made: the next message tells this model of it."""
        self.book.overhear(answer)
        self._is_told(answer)

    def _is_told(self, answer: Answer) -> None:
        self.awaits_reply = True
        if answer.delivers:
            self.book.delivered_to = self

    def gate(self, read: Answer | None = None) -> dict | None:
        """The refusal that a write gets instead of being sent, or None when it may be sent.

        read   the position read just now, where `needs_read` asked for one
        """
        waiting = self._shown_rows(lambda row: True)
        if not waiting:
            return None
        gone = [row for row in waiting if row.entry is None]
        words = [_GONE.format(labels=row.label, state=row.state) for row in gone]
        shown = [row.entry for row in waiting if row.entry is not None]
        operations = shown if read is None or not isinstance(read.body.get("operations"), list) else merged(read.body["operations"], shown)
        self._present(waiting)
        for row in gone:
            del self._rows[row.key]
        return {"accepted": False, "requestExecuted": False, "errorCode": GATE, "teaching": " ".join([_READ_FIRST, *words]),
                "operations": operations, "view": {} if read is None else read.view}

    @property
    def needs_read(self) -> bool:
        """Whether the Board has to be read before a write: outcomes of an earlier process have no content here."""
        return any(each.restored for each in (*self._rows.values(), *self._nameless))

    def take_read(self, read: Answer) -> None:
        """Learn from the read that `needs_read` asked for; what it does not list any more has no content to be had."""
        self.book.overhear(read, None, None)
        if not read.has_strip:
            return
        for row in self._rows.values():
            if row.restored:
                row.restored, row.phase = False, PENDING         # not listed: named with its last state, once
        for lost in [each for each in self._nameless if each.restored]:
            self._nameless.remove(lost)
            self._add(Row((lost.tool, lost.label, ""), LOST, PENDING))

    def interrupted(self, tool: str, arguments: dict, before: Collection[Key]) -> None:
        """A call whose answer nobody waits for any more."""
        if tool in WRITES:
            newest = max((at for _, _, at in before), default="")
            self._nameless.append(Nameless(tool, call_label(tool, arguments), frozenset(before), newest))

    def replied(self) -> None:
        """The model answered a request that carried everything presented so far."""
        self.awaits_reply = False
        self.book.was_relayed(self)
        self._rows = {key: row for key, row in self._rows.items() if row.phase != PRESENTED}
        for row in self._rows.values():
            row.told = row.shown

    def transcript_lost(self) -> None:
        """What was presented stands nowhere any more."""
        for row in self._rows.values():
            row.shown = row.told
            if row.phase == PRESENTED:
                row.phase = PENDING

    # what is told of it

    def labels(self) -> list[str]:
        """What the next message of the person names: labels, and no outcome."""
        named = [f"{row.label} ({row.state})" if row.phase == OPEN else f"{row.label} (it has settled; your next call shows how)"
                 for row in self._rows.values() if row.phase != PRESENTED]
        return named + [f"{lost.label} (its answer was lost)" for lost in self._nameless]

    def left(self) -> list[str]:
        """What the person is told at the end: everything this model has not replied to; that a call waits for a person is said once."""
        named = [f"{row.label} ({row.state})" for row in self._rows.values()
                 if not (row.phase == OPEN and row.told == row.state and row.state in WAITING_FOR_PERSON)]
        return named + [f"{lost.label} (its answer was lost)" for lost in self._nameless]

    def rows(self) -> list[dict]:
        """As it is kept for a later process: no content."""
        kept = [{"tool": row.key[0], "label": row.label, "at": row.key[2], "state": row.state, "unread": row.phase != OPEN,
                 **({"withheld": True} if row.withheld else {})} for row in self._rows.values()]
        return kept + [{"tool": lost.tool, "label": lost.label, "at": lost.after, "state": LOST, "unread": False} for lost in self._nameless]

    def restore(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Take over what an earlier process kept; a row that is none is left out."""
        for row in rows:
            tool, label, at, state = (row.get(name) for name in ("tool", "label", "at", "state"))
            if tool not in WRITES or not isinstance(label, str) or not isinstance(at, str) or state not in STATES:
                continue
            if state == LOST:
                self._nameless.append(Nameless(tool, label, frozenset(), at, restored=True))
                continue
            phase = PENDING if state in SETTLED else OPEN
            self._add(Row((tool, label, at), state, phase, restored=True, withheld=row.get("withheld") is True))

    def __len__(self) -> int:
        return len(self._rows) + len(self._nameless)

    # inside

    def _mark_shown(self, answer: Answer, own: Key | None, before: Collection[Key]) -> bool:
        """Rows that this answer shows settled are in the transcript now."""
        showed_earlier = False
        for entry in answer.operations:
            if entry.key != own and (entry.has_result or (entry.is_withheld and entry.key not in before)):
                showed_earlier = True
            row = self._row_of(entry)
            if row is None or row.phase == PRESENTED:
                continue
            if not entry.is_settled:
                row.state, row.shown, row.restored = entry.state, entry.state, False
                continue
            best = better(row.entry, entry.row)
            if best is entry.row:                # else the richer entry is spliced in, and presented by that
                row.phase = PRESENTED
                showed_earlier = showed_earlier or entry.key != own
            else:
                row.phase = PENDING
            row.entry, row.state, row.withheld, row.restored = best, entry.state, entry.is_withheld, False
        return showed_earlier

    def overhear(self, answer: Answer, own: Key | None) -> None:
        """Learn from an answer that goes to somebody else's model."""
        self._name_lost(answer, own)
        self._drop_missing(answer)
        for entry in answer.operations:
            row = self._row_of(entry)
            if row is None:
                continue
            row.restored = False
            if entry.is_settled:
                row.entry, row.state, row.withheld = better(row.entry, entry.row), entry.state, entry.is_withheld
                row.phase = PENDING if row.phase == OPEN else row.phase
            elif row.phase == OPEN:
                row.state = entry.state

    def _name_lost(self, answer: Answer, own: Key | None) -> None:
        """Find lost calls that nothing named in a strip; give up on them once another operation was admitted."""
        others = [entry for entry in answer.operations if entry.key != own and entry.key not in self.book.told_apart]
        for lost in list(self._nameless) if answer.has_strip else ():
            entry = lost.found_in(others)
            if entry is not None:
                self._nameless.remove(lost)
                self.book.tell_apart(entry.key)
                self._add(Row(entry.key, entry.state))
            elif answer.kind in ADMITTED and answer.tool != "QueryBoard" and not lost.restored:
                self._nameless.remove(lost)
                self.book.warn(f"what became of {lost.label} cannot be told from the strip any more; the Console shows it")

    def _drop_missing(self, answer: Answer) -> None:
        """An open call that a whole strip does not list is not waited for any more."""
        if not answer.has_strip:
            return
        for row in list(self._rows.values()):
            if row.phase == OPEN and not row.restored and not any(names(entry, row.key) for entry in answer.operations):
                del self._rows[row.key]
                self.book.warn(f"{row.label} is no longer listed (last seen as {row.state}); the Console shows what became of it")

    def _row_of(self, entry: Entry) -> Row | None:
        return self._rows.get(entry.key) or next((row for row in self._rows.values() if names(entry, row.key)), None)

    def _note_own(self, answer: Answer, arguments: dict, own: Key | None, before: Collection[Key]) -> None:
        if answer.tool not in WRITES:
            return
        if own is None:
            if answer.kind is Kind.LOST:
                self.interrupted(answer.tool, arguments, before)
            return
        self.book.tell_apart(own)
        entry = next((entry for entry in answer.operations if entry.key == own), None)
        if entry is None:                        # named by progress or ping, and not in this answer's strip
            self._add(Row(own, answer.state if answer.state in STATES else RUNNING if answer.kind is Kind.LOST else UNLISTED))
        elif entry.is_settled:
            self._add(Row(own, entry.state, PRESENTED, with_answer(entry, answer), withheld=entry.is_withheld))
        else:
            self._add(Row(own, entry.state, shown=entry.state))

    def _shown_rows(self, which: Callable[[Row], bool]) -> list[Row]:
        return [row for row in self._rows.values() if row.phase == PENDING and not row.restored and which(row)]

    def _present(self, rows: Iterable[Row]) -> None:
        self.awaits_reply = True
        for row in rows:
            row.phase = PRESENTED

    def _add(self, row: Row) -> None:
        self._rows[row.key] = row
        while len(self._rows) > UNREAD_ROWS_MAX:
            self.drop_oldest()
        self.book.trim()

    def drop_oldest(self) -> None:
        row = self._rows.pop(next(iter(self._rows)))
        self.book.warn(f"too many outcomes wait to be read; {row.label} ({row.state}) is no longer among them")


class OutcomeBook:
    """All conversations of one session.

    relayed   a strip that the person's own call met, to stand in the next messages until the
              conversation it was met for has replied
    """

    def __init__(self, warn: Callable[[str], None] = lambda text: None) -> None:
        self.warn = warn
        self.relayed = ""
        self._relayed_for: UnreadOutcomes | None = None
        self.delivered_to: UnreadOutcomes | None = None      # whose model the last delivering answer went to
        self.told_apart: dict[Key, None] = {}                # entries of which it is known whose call they are
        self._joined: list[UnreadOutcomes] = []
        self._by_key: dict[str, UnreadOutcomes] = {}

    def join(self, conversation: UnreadOutcomes) -> None:
        self._joined.append(conversation)

    def conversation(self, key: str) -> UnreadOutcomes:
        """The one of that key, made when it is asked for first."""
        if key not in self._by_key:
            self._by_key[key] = UnreadOutcomes(self)
        return self._by_key[key]

    def restore(self, by_key: Mapping[str, Iterable[Mapping[str, object]]]) -> None:
        """Take over what an earlier process kept of every conversation, before any of them calls: what one is shown, all learn."""
        for key, rows in by_key.items():
            self.conversation(key).restore(rows)

    def forget(self, key: str) -> None:
        """A conversation that will not be gone on with."""
        conversation = self._by_key.pop(key, None)
        if conversation is not None:
            self.was_relayed(conversation)
            self._joined.remove(conversation)

    def overhear(self, answer: Answer, own: Key | None = None, speaker: UnreadOutcomes | None = None) -> None:
        """Every conversation learns from an answer of the session; `speaker` has learned already."""
        for conversation in self._joined:
            if conversation is not speaker:
                conversation.overhear(answer, own)

    def tell_apart(self, key: Key) -> None:
        self.told_apart[key] = None
        if len(self.told_apart) > UNREAD_ALL_MAX:
            del self.told_apart[next(iter(self.told_apart))]

    def relay(self, strip: str, conversation: UnreadOutcomes) -> None:
        self.relayed, self._relayed_for = strip, conversation

    def was_relayed(self, conversation: UnreadOutcomes) -> None:
        """That conversation's model has replied to a message that carried the strip."""
        if conversation is self._relayed_for:
            self.relayed, self._relayed_for = "", None

    @property
    def may_acknowledge(self) -> bool:
        """Whether no model has still to read what the session was last given."""
        return not self.relayed and (self.delivered_to is None or not self.delivered_to.awaits_reply)

    def kept(self) -> dict[str, list[dict]]:
        """The rows of every conversation that has any, by its key."""
        return {key: rows for key, each in self._by_key.items() if (rows := each.rows())}

    def trim(self) -> None:
        while sum(map(len, self._joined)) > UNREAD_ALL_MAX:
            max(self._joined, key=len).drop_oldest()
