"""Held calls: wait for the outcome of a call the Board still holds, without asking twice.

While a call runs, `ping` tells its state; when it no longer runs, one QueryBoard reads
what came of it. Ending a wait cancels nothing. What cannot be read is never guessed: the
answer then carries a state and no outcome. A gateway that cannot commit is waited for as
well, said aloud and within a bound of its own: what it did not execute is then asked for
again, what may have run is not.

Units   *_s seconds
Source  the MCP surface, "Waiting for a held call"
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.runtime.answers import Answer, Kind, kind_of, recorded_answer
from rulith.runtime.session import BoardSession, store_words
from rulith.runtime.strip import RUNNING, SETTLED, UNRESOLVED, Entry, Key, StateRow, matching, own_entry

UNLISTED = "unlisted"            # no longer in the strip: not running, and nothing is claimed
# A read-only call may be asked again as a new call after these losses; a write never.
READ_AGAIN_AFTER = ("upstream_unavailable", "response_lost", "response_timeout", "response_wait_bound",
                    "response_not_correlated", "session_expired")
_POINTER = "Its full result is the answer above."


@dataclass(frozen=True)
class Pace:
    wait_s: float = 600.0        # 0: never wait
    poll_s: float = 2.0


class StoreWatch:
    """How long the gateway has not been able to commit. Said once when it begins, and once when it is over."""

    def __init__(self, url: str, wait_s: float, *, clock: Clock, tell: Callable[[str], None], log: Callable[[str], None]) -> None:
        self._url = url
        self._wait_s = wait_s
        self._clock = clock
        self._tell = tell
        self._log = log
        self._since_s: float | None = None

    def fails(self, words: str) -> None:
        """Raises Refused gateway_cannot_commit once the bound is over."""
        now = self._clock.monotonic_s()
        if self._since_s is None:
            self._since_s = now
            self._tell(f"The gateway cannot commit: {words} Waiting for it, at most {self._wait_s:g} s.")
        if now - self._since_s >= self._wait_s:
            raise Refused("gateway_cannot_commit", url=self._url, said=store_words(words))

    def works(self) -> None:
        if self._since_s is not None:
            self._since_s = None
            self._log("the gateway commits again")


class HeldCalls:
    """Turns an answer that still waits into the best answer to be had."""

    def __init__(self, session: BoardSession, pace: Pace, *, clock: Clock, sleep: Callable[[float], Awaitable[None]],
                 on_wait: Callable[[str, str, Answer | None], None], store: StoreWatch) -> None:
        self._store = store
        self._session = session
        self._pace = pace
        self._clock = clock
        self._sleep = sleep
        self._on_wait = on_wait

    async def call(self, tool: str, arguments: dict) -> Answer:
        """Call one tool and wait as long as waiting can help. Raises like BoardSession.call, and Refused gateway_cannot_commit."""
        while True:
            answer = await self._call(tool, arguments)
            trouble = self._session.store_trouble
            if answer.kind is Kind.NOT_EXECUTED and answer.code == "store_unavailable":
                trouble = answer.teaching
            if not trouble:
                return answer
            await self._wait_for_store(trouble)
            if answer.kind not in (Kind.NOT_EXECUTED, Kind.UNOBSERVED):
                return answer                      # it may have run

    async def _wait_for_store(self, words: str) -> None:
        """Return once the gateway can commit. Raises Refused gateway_cannot_commit after the bound."""
        while True:
            self._store.fails(words)
            await self._sleep(self._pace.poll_s)
            try:
                if await self._session.ping() is None:
                    words = self._session.store_trouble or words
                    continue
            except LookupError:
                pass                               # an answer, whatever it shows
            return self._store.works()

    async def _ping(self) -> list[StateRow] | None:
        """Ping, and notice a gateway that cannot commit. Raises like BoardSession.ping, and Refused gateway_cannot_commit."""
        rows = await self._session.ping()
        if self._session.store_trouble:
            self._store.fails(self._session.store_trouble)
        elif rows is not None:
            self._store.works()
        return rows

    async def _call(self, tool: str, arguments: dict, *, again: bool = True) -> Answer:
        """The best answer to one call. `again`: an artifact whose reading was held or lost may be read anew, once."""
        began_s = self._clock.monotonic_s()
        answer = await self._session.call(tool, arguments, slow=lambda: self._on_wait(tool, _label(tool, arguments), None))
        before = self._session.before
        own = None if answer.kind is not Kind.HELD else own_entry(tool, answer.operations, before)
        if own is not None:
            answer = replace(answer, own=own.key)
        if answer.kind is Kind.HELD and answer.state == RUNNING:
            if own is not None and own.is_settled:
                found = _from_entry(answer, own, answer.body, None)
            elif any(entry.has_result for entry in answer.operations) or answer.ordinal is None or not self._pace.wait_s:
                found = answer
            else:
                self._on_wait(tool, _label(tool, arguments), answer)
                found = _with_withheld(await self._watch(answer, began_s), answer, before)
        elif answer.kind is Kind.LOST and answer.ordinal is not None and self._pace.wait_s:
            self._on_wait(tool, _label(tool, arguments), answer)
            found = await self._watch(answer, began_s)
        else:
            found = answer
        if again and _is_read_anew(answer, found):
            return await self._call(tool, arguments, again=False)
        return replace(found, before=before)

    async def wait_until_free(self) -> StateRow | None:
        """Wait while any operation of this Agent runs; the row that still does not settle, or None."""
        deadline, is_told = self._clock.monotonic_s() + self._pace.wait_s, False
        while True:
            try:
                rows = await self._ping()
            except LookupError:
                return None
            waiting = [row for row in rows or () if row.state in UNRESOLVED]
            if rows is not None and (not waiting or waiting[0].state != RUNNING):
                return waiting[0] if waiting else None
            if waiting and not is_told:
                is_told = True
                self._on_wait(waiting[0].tool, f"{waiting[0].label}, admitted {waiting[0].at} by an earlier run", None)
            if self._clock.monotonic_s() + self._pace.poll_s > deadline:
                return waiting[0] if waiting else None
            await self._sleep(self._pace.poll_s)

    async def _watch(self, answer: Answer, began_s: float) -> Answer:
        """Look after the call by its ordinal until it does not run any more, or time is up; then read."""
        deadline = began_s + self._pace.wait_s
        row: StateRow | None = None
        while self._clock.monotonic_s() + self._pace.poll_s <= deadline:
            await self._sleep(self._pace.poll_s)
            try:
                rows = await self._ping()
            except LookupError:
                break
            if rows is None:
                continue
            row = next((row for row in rows if row.ordinal == answer.ordinal), None)
            if row is not None:
                answer = replace(answer, own=row.key)
            if row is None or row.state != RUNNING:
                break
        return await self._position(answer, row)

    async def _position(self, answer: Answer, row: StateRow | None) -> Answer:
        """One read of the Board, and in it the entry of the call; `row` is what the last ping said of it."""
        read = await self._session.call("QueryBoard", {})
        if read.kind is not Kind.ACCEPTED:
            return answer if answer.kind is not Kind.HELD or row is None or not row.is_settled else replace(answer, body={
                **answer.body, "teaching": f"It does not run any more ({row.state}), and the Board could not be read just now. "
                                           "Its outcome will show in `operations`."})
        entry = matching(read.operations, answer.own) if answer.own is not None else None
        if entry is None:
            entry_body = {"state": UNLISTED, "teaching": "This call is no longer listed: it does not run, and its "
                                                         "outcome is in the Console.",
                          "operations": read.body["operations"], "view": read.view}
            return Answer(answer.tool, Kind.HELD, entry_body, answer.ordinal, read.focused, None, read.operations, answer.own, True)
        if row is not None and row.is_settled and not entry.is_settled:          # what has settled stays so
            entry = replace(entry, state=row.state, row={**entry.row, "state": row.state})
        return _from_entry(answer, entry, read.body, read)


def _is_read_anew(answer: Answer, found: Answer) -> bool:
    """Whether an artifact is asked for again: what it held is not in any strip, and reading changes nothing."""
    if answer.tool != "ReadArtifact":
        return False
    if found.kind is Kind.LOST:
        return found.ordinal is None and found.code in READ_AGAIN_AFTER
    return answer.kind in (Kind.HELD, Kind.LOST) and found.kind is Kind.HELD and found.state in SETTLED


def _with_withheld(found: Answer, held: Answer, before: Collection[Key]) -> Answer:
    """The final answer with the withheld entries that the held one was the first to show."""
    listed = {entry.key for entry in found.operations}
    kept = [entry for entry in held.operations if entry.is_withheld and entry.key not in {*before, *listed, held.own}]
    if not kept or not isinstance(found.body.get("operations"), list):
        return found
    rows = sorted([*found.body["operations"], *(entry.row for entry in kept)], key=lambda row: str(row.get("at")), reverse=True)
    return replace(found, body={**found.body, "operations": rows}, operations=(*found.operations, *kept))


def _label(tool: str, arguments: dict) -> str:
    """A call as it is told of before the Board has named it."""
    return f"{tool} {arguments.get('action', '')}".strip()


def _from_entry(answer: Answer, own: Entry, position: dict, read: Answer | None) -> Answer:
    """The answer that a strip entry gives: the recorded object intact, or only what the entry says."""
    focused = answer.focused if read is None else read.focused
    recorded = recorded_answer(own.tool, own.row.get("result")) if own.is_settled and not own.is_withheld else None
    if recorded is not None:
        body = {**recorded, "operations": [_pointed(row, own) for row in position["operations"]]}
        if read is not None:
            body["currentView"] = read.view
        return Answer(answer.tool, kind_of(own.tool, recorded), body, answer.ordinal, focused, None,
                      answer.operations if read is None else read.operations, own.key, True)
    body = {"state": own.state}
    for name in ("summary", "reason", "contentWithheld"):
        if name in own.row:
            body[name] = own.row[name]
    if own.state == RUNNING:
        body["teaching"] = "It still runs; nothing was cancelled. Its outcome will show in `operations`."
    body["operations"] = position["operations"]
    body["view"] = position.get("view") or {}
    return Answer(answer.tool, Kind.HELD, body, answer.ordinal, focused, None,
                  answer.operations if read is None else read.operations, own.key, True)


def _pointed(row: object, own: Entry) -> object:
    """The strip row of the call itself without its result, which the answer already is."""
    if not isinstance(row, dict) or (row.get("tool"), row.get("label"), row.get("at")) != own.key:
        return row
    kept = {name: value for name, value in row.items() if name != "result"}
    return {**kept, "summary": kept.get("summary", _POINTER)}
