"""Renewals: one keeper per held lease, one request in flight, retried while the window runs.

Pure: decides when a renewal is due and what its answer changes. A renewal never acquires:
an answer that comes after the window has passed is no lease.

Units   *_s are seconds on the monotonic clock
Source  protocol/worker-contract.json, "lease"
"""

from __future__ import annotations

from rulith.base.errors import Refused
from rulith.wire.lease import LeaseKeeper, Moment
from rulith.work.replies import Accepted, Denied, Reply


class Renewals:
    """The renewal beside the loop's own requests."""

    def __init__(self, keeper: LeaseKeeper) -> None:
        self._keeper = keeper
        self._sent: Moment | None = None     # in flight since then
        self._generation = 0                 # that it stated
        self._next_at_s: float | None = None # the next try; set once for each lease or answer, not moved by looking

    def is_in_flight(self) -> bool:
        return self._sent is not None

    def arm(self, now: Moment) -> None:
        """A lease was granted or renewed just now: set the next try."""
        due_s = self._keeper.renewal_due_s(now)
        self._next_at_s = None if due_s is None else now.monotonic_s + due_s

    def due_s(self, now: Moment) -> float | None:
        """Seconds to the next try, or to the moment a lapse would show; None when nothing is held."""
        left_s = self._keeper.remaining_ms(now) / 1000
        if left_s <= 0:
            return None
        if self._sent is not None or self._next_at_s is None:
            return left_s
        return min(left_s, self._next_at_s - now.monotonic_s)

    def is_due(self, now: Moment) -> bool:
        due = self.due_s(now)
        return self._sent is None and due is not None and due <= 0

    def begin(self, now: Moment) -> tuple[int, float]:
        """One try starts: the generation it states and how long it may take."""
        lease = self._keeper.lease
        assert lease is not None and self._sent is None
        self._sent, self._next_at_s, self._generation = now, None, lease.generation
        return lease.generation, self._keeper.renewal_timeout_s(now)

    def ended(self, reply: Reply, now: Moment) -> str:
        """Take the answer; why the lease was dropped, or nothing when it was not."""
        sent, self._sent = self._sent, None
        assert sent is not None
        if not self._keeper.is_live(now, self._generation):
            return ""            # the lease it was for is gone; a newer one is not its business
        if isinstance(reply, Accepted):
            try:
                self._keeper.granted(reply.body.get("lease"), sent=sent)
            except Refused as refused:
                return refused.teaching
            self.arm(now)
        elif isinstance(reply, Denied):
            self._keeper.denied()
            return reply.code or f"http_{reply.status}"
        else:
            self._next_at_s = now.monotonic_s + self._keeper.unanswered()
        return ""

    def forget(self) -> None:
        """Nobody waits for the answer in flight any more."""
        self._sent = self._next_at_s = None
