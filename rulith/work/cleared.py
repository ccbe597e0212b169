"""What may be worked on, whatever its kind: an action, an order, a review; and what is told of each when it ended."""

from __future__ import annotations

from collections.abc import Mapping

from rulith.adapters.outcomes import Outcome
from rulith.wire import worker_hop
from rulith.work.checks import Cleared
from rulith.work.orders import ClearedOrder, write_order
from rulith.work.receipts import Receipt, write_receipt
from rulith.work.reviews import ClearedReview, write_review
from rulith.work.signals import ToKeep

REMEMBERED_MAX = 100_000         # invocations and skips one process remembers

Work = Cleared | ClearedOrder | ClearedReview


def told_of(work: Work, outcome: Outcome) -> Receipt | ToKeep | None:
    """The one report of it; what is kept first, and told by reference; None where nothing is reported."""
    if isinstance(work, ClearedReview):
        return write_review(work, outcome)
    return write_order(work, outcome) if isinstance(work, ClearedOrder) else write_receipt(work, outcome)


def batch_place(row: Mapping[str, object]) -> int:
    """Its type's place in a batch; what nobody knows comes last and is left unclaimed."""
    kind = row.get("workType")
    return worker_hop.ROW_ORDER.index(kind) if kind in worker_hop.ROW_ORDER else len(worker_hop.ROW_ORDER)


def remember(seen: dict, what: object) -> None:
    seen[what] = None
    if len(seen) > REMEMBERED_MAX:
        del seen[next(iter(seen))]
