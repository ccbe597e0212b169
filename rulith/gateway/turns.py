"""Group commit: everything that arrived in one turn of the loop shares one fsync.

A change is made in memory and staged in the ledger at once; the bytes that tell of it wait
here until the commit that holds it has returned. Promises: no answer leaves before its
change is durable; after a failed commit the machines it touched are folded again from what
the ledger really holds, everyone who waited hears *unknown*, and no further change is
accepted until a probe commit works. That commits fail, and that they work again, is said
once each. Decides nothing about what a row means.

Units   none; time enters only as the stamp of a row.
Source  the design's rule on ledgers (D5).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Protocol

from rulith.base.errors import Refused, Unknown

PROBE_CHAIN = "gateway"
PROBE_KIND = "probe"   # says only that the store took a commit again; folds skip it


class LedgerLike(Protocol):
    """What the turn needs of a store; the SQLite and the memory ledger both have it."""

    def append(self, chain: str, kind: str, body: dict, at: str): ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...


def log(text: str) -> None:
    """One line in the gateway's log, which is its stderr."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        pass            # the disk that takes no commit may be the log's too; what hangs on a commit does not hang on a line


class Turns:
    """Stages rows and releases what depends on them once they are durable.

    refold(chains)  called after a failed commit with the chains whose machines must be rebuilt
    committed(chains)  called after each commit with the chains it carried rows of
    tell(text)         called with one line when commits begin to fail, and when they work again
    trouble            why commits fail, in words for whoever asks; empty while they work
    """

    def __init__(self, ledger: LedgerLike, *, refold: Callable[[set[str]], None],
                 committed: Callable[[set[str]], None] = lambda chains: None, tell: Callable[[str], None] = log) -> None:
        self.trouble = ""
        self._ledger = ledger
        self._refold = refold
        self._committed = committed
        self._tell = tell
        self._touched: set[str] = set()
        self._is_due = False                          # a commit has been asked for
        self._waiting: list[asyncio.Future] = []      # who must hear of it
        self._sick = False
        self._broken = False

    @property
    def is_sick(self) -> bool:
        """True between a failed commit and the first one that works again."""
        return self._sick

    def stage(self, chain: str, kind: str, body: dict, at: str):
        """Stage one row that answers will depend on; its commit is due at the end of this turn."""
        row = self.stage_lazily(chain, kind, body, at)
        self._due()
        return row

    def stage_lazily(self, chain: str, kind: str, body: dict, at: str):
        """Stage one row that no answer depends on; it rides the next commit that comes."""
        row = self._ledger.append(chain, kind, body, at)
        self._touched.add(chain)
        return row

    def _due(self) -> None:
        if not self._is_due:
            self._is_due = True
            loop = asyncio.get_running_loop()
            # Three hops: the first lets this turn finish, the second lets the next look at the
            # sockets read what came, the third lets the handlers it woke join the same fsync.
            loop.call_soon(loop.call_soon, loop.call_soon, self._commit)

    def _commit(self) -> None:
        if not self._touched:
            return                  # a flush was quicker
        waiting = self._end_turn()
        try:
            self._ledger.commit()
        except Refused as error:
            self._fail(waiting, str(error))
            return
        except Exception as bug:
            self._fail(waiting, type(bug).__name__)   # loud, and everyone who waited still hears of it
            raise
        touched, self._touched = self._touched, set()
        self._committed(touched)
        for waiter in waiting:
            if not waiter.done():               # its caller may have gone
                waiter.set_result(None)

    def _fail(self, waiting: list[asyncio.Future], trouble: str) -> None:
        """A commit failed: nothing that was staged stays, whoever waited hears so, and so does the log."""
        self._sick = True             # first: what is folded again, or wakes, must not stage anything now
        try:
            self._drop(waiting, Unknown("commit_failed", trouble))
        finally:
            if not self._broken:
                self._fall_sick(trouble)

    def _fall_sick(self, trouble: str) -> None:
        self._sick = True
        if trouble != self.trouble:
            self.trouble = trouble
            self._tell(f"gateway: commits fail, and no change is accepted until one works: {trouble}")

    def _recover(self) -> None:
        self._sick, self.trouble = False, ""
        self._tell("gateway: commits work again")
        self._committed({PROBE_CHAIN})

    def _end_turn(self) -> list[asyncio.Future]:
        waiting, self._waiting, self._is_due = self._waiting, [], False
        return waiting

    def abandon(self, why: str, *, doubted: str | None = None) -> None:
        """A bug struck while changes were staged: none of this turn's may be kept half done.

        doubted  the chain whose machine it struck, which may hold more than was staged
        """
        if doubted is not None:
            self._touched.add(doubted)
        if self._touched:
            self._drop(self._end_turn(), Unknown("turn_abandoned", why))

    def _drop(self, waiting: list[asyncio.Future], unknown: Unknown) -> None:
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(Unknown(unknown.cause, unknown.detail))
                waiter.exception()   # its caller may stop listening; that is no second error
        self._ledger.discard()
        touched, self._touched = self._touched, set()
        try:
            self._refold(touched)
        except Exception:
            self._broken = True      # memory no longer says what the ledger holds; only a restart mends that
            self._fall_sick("the ledger could not be folded again; restart the gateway")
            raise

    async def settled(self) -> None:
        """Return once nothing staged before this call is uncommitted. Raises Unknown if that commit failed."""
        if self._is_due:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    def flush(self) -> None:
        """Commit now whatever is staged; for genesis and stop. Raises Unknown when the store fails."""
        if self._touched or self._is_due:
            self._commit()
            if self._sick:
                raise Unknown("commit_failed", "the last commit of this run did not reach the disk")

    def check_writable(self, at: str) -> None:
        """Raise Refused store_unavailable while commits fail; tries one probe commit first."""
        if not self._sick:
            return
        if self._broken:
            raise Refused("store_unavailable", cause=self.trouble)
        try:
            self._ledger.append(PROBE_CHAIN, PROBE_KIND, {"recovered": True}, at)
            self._ledger.commit()
        except Refused as error:
            if self._touched:       # what others had staged goes with it: their machines are folded again, and they hear of it
                self._fail(self._end_turn(), str(error))
            else:
                self._ledger.discard()
                self._fall_sick(str(error))
            raise Refused("store_unavailable", cause=error.happened.rstrip(".")) from error
        self._recover()
