"""A Space: a reasoning board for third-party hosts. Nodes in order over one rule Program.

`apply` runs a batch of operations, all or nothing; every read is in `Reads`. A change
costs what it touches. Two Spaces that were told the same, with the same moments and ids,
are equal.

    space = Space("s1", "Invoices")
    result = space.apply(operations, BatchOptions(), at=stamp, mint=mint)

Whatever moves a Space besides batches (applying actions, committing a solution) does so
in `change`, whose hands are change.py's; `trial` is the same and always taken back. Both
refuse to be nested: within a trial, go on with the Change you have.

Knows no clock, no ids, no files; persists nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rulith.base.errors import Refused
from rulith.board.space import operations as batches
from rulith.board.space.change import Change
from rulith.board.space.nodes import BatchOptions, Mint
from rulith.board.space.operations import BatchResult
from rulith.board.space.reads import Reads
from rulith.rules.program import Limits


class _TakenBack(Exception):
    """Ends a trial."""


class Space(Reads):
    """Nodes, what follows from them, and the ways to change them."""

    def __init__(self, id: str, title: str = "", scopes: Sequence[str] = (), limits: Limits = Limits(), *,
                 summary: str = "", at: str = "") -> None:
        super().__init__(limits)
        self.id = id
        self.title = title
        self.summary = summary
        self.scopes = tuple(scopes)
        self.created_at = at
        self.updated_at = at
        self.limits = limits
        self._open = False

    def apply(self, operations: object, options: BatchOptions = BatchOptions(), *, at: str, mint: Mint) -> BatchResult:
        """Run a batch. Raises Refused with the board as it was.

        operations  a list of operation objects, as hosts send them
        at          the moment, an RFC 3339 stamp; it lands in createdAt and updatedAt
        mint        a prefix in, a fresh id out
        """
        with self.change(at, mint) as change:
            return batches.run(change, operations, options)

    @contextmanager
    def change(self, at: str, mint: Mint) -> Iterator[Change]:
        """Hands for one change; what was not settled is settled at the end, an exception takes all back."""
        with self._hands(at, mint) as change:
            yield change
            change.settle()
        self.updated_at = at

    @contextmanager
    def trial(self, at: str, mint: Mint) -> Iterator[Change]:
        """Hands whose work is taken back at the end, whatever happens."""
        try:
            with self._hands(at, mint) as change:
                yield change
                raise _TakenBack
        except _TakenBack:
            pass

    @contextmanager
    def _hands(self, at: str, mint: Mint) -> Iterator[Change]:
        if self._open:
            raise Refused("board_busy", board=self.id)
        self._open = True
        change = None
        try:
            with self.program.transaction() as tx:
                change = Change(self, tx, at, mint)
                yield change
        except BaseException:
            if change is not None:
                change.undo()
            raise
        finally:
            self._open = False
