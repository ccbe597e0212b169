"""Leases: one Worker's exclusive hold on a Connection's line, and the fence behind it.

Two halves. The Worker's keeper decides what may be done with the lease it holds; it never
compares its own clock with the server's instants, it only measures how long ago it asked.
The gateway's half decides who gets a generation. Neither talks, waits or remembers.

Units   *_s are seconds on the caller's clocks, *_ms milliseconds as on the wire; a
        generation is a whole number that only grows.
Source  protocol/worker-contract.json, "lease"; vectors in protocol/worker/vectors.json.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from rulith.base.clock import seconds_of, stamp
from rulith.base.errors import Refused
from rulith.base.limits import ACTIVE_LEASE_MS, HEARTBEAT_MS, INTEGER_MAX

RESERVE_MS_MAX = 10_000          # renewals start this long before the end, so that some may fail
RENEWAL_TRY_MS_MAX = 10_000
RENEWAL_SPACING_MS_MIN = 1_000   # a heartbeat of 1 ms must not become a flood
BACK_OFF_FIRST_S, BACK_OFF_MAX_S = 1.0, 4.0
POLL_AGAIN_S = 5.0               # after a refusal, a lost answer or an unusable lease

WORKER_ID = re.compile(r"wkr_[A-Za-z0-9_-]{8,80}", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z", re.ASCII)


def is_generation(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= INTEGER_MAX


def _instant_s(value: object, name: str) -> float:
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        try:
            return seconds_of(value)
        except ValueError:
            pass  # the shape of an instant that no calendar holds, e.g. 31 February
    raise Refused("lease_malformed", problem=f"{name} is not a UTC instant")


@dataclass(frozen=True)
class Lease:
    """One lease record, checked: the window is positive and longer than the heartbeat."""

    worker_id: str
    generation: int
    server_time: str
    expires_at: str
    heartbeat_after_ms: int

    def __post_init__(self) -> None:
        if not WORKER_ID.fullmatch(self.worker_id):
            raise Refused("lease_malformed", problem="workerId is not an instance id")
        if not is_generation(self.generation):
            raise Refused("lease_malformed", problem="workerGeneration is not a generation")
        if not is_generation(self.heartbeat_after_ms):
            raise Refused("lease_malformed", problem="heartbeatAfterMs is not a whole number of at least 1")
        if self.window_ms <= 0:
            raise Refused("lease_malformed", problem="it ends before it begins")
        if self.heartbeat_after_ms >= self.window_ms:
            raise Refused("lease_malformed", problem="its heartbeat is not shorter than its window")

    @property
    def window_ms(self) -> float:
        span_s = _instant_s(self.expires_at, "expiresAt") - _instant_s(self.server_time, "serverTime")
        return round(span_s * 1000, 3)

    def wire(self) -> dict[str, object]:
        return {
            "workerId": self.worker_id, "workerGeneration": self.generation, "serverTime": self.server_time,
            "expiresAt": self.expires_at, "heartbeatAfterMs": self.heartbeat_after_ms,
        }


_LEASE_MEMBERS = {"workerId", "workerGeneration", "expiresAt", "serverTime", "heartbeatAfterMs"}


def read_lease(record: object, worker_id: str) -> Lease:
    """A lease record of an answer to `worker_id`. Raises Refused lease_malformed."""
    if not isinstance(record, dict) or set(record) != _LEASE_MEMBERS:
        raise Refused("lease_malformed", problem="it does not have exactly the five members of a lease")
    if record["workerId"] != worker_id:
        raise Refused("lease_malformed", problem="it names another instance")
    return Lease(
        record["workerId"], record["workerGeneration"], record["serverTime"], record["expiresAt"],
        record["heartbeatAfterMs"],
    )


# -- the Worker's keeper -------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """One reading of both clocks: a machine that slept shows it on the wall clock only."""

    monotonic_s: float
    wall_s: float

    def elapsed_ms(self, since: "Moment") -> float:
        return 1000 * max(self.monotonic_s - since.monotonic_s, self.wall_s - since.wall_s)


class Hold(Enum):
    NONE = "none"
    HELD = "held"
    GONE = "gone"                # the Worker is stopping; nothing is acquired any more


class Did(Enum):
    GRANTED = "granted"          # a Poll or renewal answered with a usable lease
    DENIED = "denied"            # a definite no
    UNUSABLE = "unusable"        # an answer whose lease cannot be used
    LAPSED = "lapsed"            # the window passed without an answer
    NO_ANSWER = "no_answer"      # transport error, 429, 5xx, unreadable
    STOPPED = "stopped"


#  state       what happened       next
TABLE = {
    (Hold.NONE, Did.GRANTED): Hold.HELD,
    (Hold.NONE, Did.DENIED): Hold.NONE,
    (Hold.NONE, Did.UNUSABLE): Hold.NONE,
    (Hold.NONE, Did.NO_ANSWER): Hold.NONE,
    (Hold.NONE, Did.LAPSED): Hold.NONE,
    (Hold.NONE, Did.STOPPED): Hold.GONE,
    (Hold.HELD, Did.GRANTED): Hold.HELD,
    (Hold.HELD, Did.DENIED): Hold.NONE,
    (Hold.HELD, Did.UNUSABLE): Hold.NONE,
    (Hold.HELD, Did.NO_ANSWER): Hold.HELD,       # the window still runs
    (Hold.HELD, Did.LAPSED): Hold.NONE,          # silence is not a lease
    (Hold.HELD, Did.STOPPED): Hold.GONE,
    (Hold.GONE, Did.GRANTED): Hold.GONE,         # a late answer changes nothing
    (Hold.GONE, Did.DENIED): Hold.GONE,
    (Hold.GONE, Did.UNUSABLE): Hold.GONE,
    (Hold.GONE, Did.NO_ANSWER): Hold.GONE,
    (Hold.GONE, Did.LAPSED): Hold.GONE,
    (Hold.GONE, Did.STOPPED): Hold.GONE,
}


class RenewalAnswer(Enum):
    RENEWED = "renewed"
    UNCERTAIN = "uncertain"      # try again while the window runs
    LOST = "lost"                # definite: the lease is dropped
    REJECTED = "rejected"        # 401: the credential, not the lease


def judge_renewal(status: int | None, body: object) -> RenewalAnswer:
    """What one answer to RenewLease means. `status` None is a transport error; `body` is None when unreadable."""
    if status == 401:
        return RenewalAnswer.REJECTED
    if status is None or status == 429 or status >= 500:
        return RenewalAnswer.UNCERTAIN
    if status >= 400:
        return RenewalAnswer.LOST
    if not isinstance(body, dict):
        return RenewalAnswer.UNCERTAIN
    if body.get("accepted") is True:
        return RenewalAnswer.RENEWED
    if body.get("accepted") is False and isinstance(body.get("errorCode"), str):
        return RenewalAnswer.LOST
    return RenewalAnswer.UNCERTAIN


@dataclass
class LeaseKeeper:
    """What one Worker instance may do with the line, judged at a Moment the caller reads.

    Every request's moment of *sending* goes back in with its answer: the window runs from there.
    """

    worker_id: str
    hold: Hold = Hold.NONE
    lease: Lease | None = None
    _sent: Moment | None = None
    _failures: int = field(default=0, repr=False)

    def _step(self, did: Did) -> None:
        self.hold = TABLE[self.hold, did]
        if self.hold is not Hold.HELD:
            self.lease, self._sent = None, None
        if did is not Did.NO_ANSWER:
            self._failures = 0

    # what the caller reports

    def granted(self, record: object, *, sent: Moment) -> Lease:
        """Take the lease of an accepted Poll or renewal.

        A lower generation, another instance or a malformed record drops the hold and raises
        Refused lease_malformed: no row of that answer may be used. An older snapshot of the
        same generation changes nothing.
        """
        if self.hold is Hold.GONE:
            raise Refused("worker_lease_lost")
        try:
            lease = read_lease(record, self.worker_id)
            if self.lease is not None and lease.generation < self.lease.generation:
                raise Refused("lease_malformed", problem="its generation is lower than the one held")
        except Refused:
            self._step(Did.UNUSABLE)
            raise
        if self.lease is None or not _is_stale(lease, self.lease):
            self._step(Did.GRANTED)
            self.lease, self._sent = lease, sent
        return lease

    def denied(self) -> None:
        self._step(Did.DENIED)

    def unanswered(self) -> float:
        """A renewal brought no certain answer: how long to wait before the next try, in seconds."""
        self._step(Did.NO_ANSWER)
        self._failures += 1
        return min(BACK_OFF_FIRST_S * 2 ** (self._failures - 1), BACK_OFF_MAX_S)

    def stopped(self) -> None:
        self._step(Did.STOPPED)

    # what the caller asks

    def remaining_ms(self, now: Moment) -> float:
        """What is left of the window; 0 when nothing is held. Notices a lapse."""
        if self.lease is None:
            return 0.0
        left = self.lease.window_ms - now.elapsed_ms(self._sent)
        if left <= 0:
            self._step(Did.LAPSED)
            return 0.0
        return left

    def is_live(self, now: Moment, generation: int | None = None) -> bool:
        """Whether the lease is held now, and (when given) still under `generation`."""
        if self.remaining_ms(now) <= 0:
            return False
        return generation is None or self.lease.generation == generation

    def generation(self, now: Moment) -> int | None:
        """What the next Poll states: the generation while it is live, else none."""
        return self.lease.generation if self.is_live(now) else None

    def renewal_due_s(self, now: Moment) -> float | None:
        """Seconds until the next renewal should be sent; None when nothing is held."""
        left = self.remaining_ms(now)
        if self.lease is None:
            return None
        reserve = min(RESERVE_MS_MAX, int(self.lease.window_ms / 4))
        elapsed = now.elapsed_ms(self._sent)
        due = min(left - reserve, max(RENEWAL_SPACING_MS_MIN, self.lease.heartbeat_after_ms - elapsed))
        return max(0.0, due) / 1000

    def renewal_timeout_s(self, now: Moment) -> float:
        return min(RENEWAL_TRY_MS_MAX, self.remaining_ms(now)) / 1000


def _is_stale(new: Lease, held: Lease) -> bool:
    if new.generation != held.generation:
        return False
    new_time, held_time = seconds_of(new.server_time), seconds_of(held.server_time)
    if new_time != held_time:
        return new_time < held_time
    return seconds_of(new.expires_at) <= seconds_of(held.expires_at)


# -- the gateway's half --------------------------------------------------------------------


@dataclass(frozen=True)
class Fence:
    """The last holder committed for a Connection; never fenced reads as (None, 0)."""

    worker_id: str | None = None
    generation: int = 0


@dataclass(frozen=True)
class LeasePolicy:
    lease_ms: int = ACTIVE_LEASE_MS
    heartbeat_ms: int = HEARTBEAT_MS

    def __post_init__(self) -> None:
        assert 1 <= self.heartbeat_ms < self.lease_ms, "the heartbeat must be shorter than the lease"

    def lease(self, fence: Fence, *, now_s: float) -> Lease:
        """The record that an answer carries, its window starting at the wall clock `now_s`."""
        return Lease(
            fence.worker_id, fence.generation, stamp(now_s), stamp(now_s + self.lease_ms / 1000), self.heartbeat_ms
        )


@dataclass(frozen=True)
class Admission:
    fence: Fence
    is_new: bool                 # True: the fence must be committed before the lease is answered


def admit_poll(fence: Fence, *, live: bool, worker_id: str, stated: int | None) -> Admission:
    """Which generation a Poll gets. `live`: the lease of `fence` has not lapsed or been released.

    Raises Refused: worker_lease_held (no detail of the holder leaks), worker_lease_superseded,
    worker_lease_expired. A refused Poll moves nothing.
    """
    if live and fence.worker_id not in (None, worker_id):
        raise Refused("worker_lease_held")
    if live and fence.worker_id == worker_id:
        if stated in (None, fence.generation):
            return Admission(fence, False)
        raise Refused("worker_lease_superseded")
    if stated is None:
        return Admission(Fence(worker_id, fence.generation + 1), True)
    if fence.worker_id == worker_id and stated == fence.generation:
        raise Refused("worker_lease_expired")
    raise Refused("worker_lease_superseded")


def admit_holder(fence: Fence, *, live: bool, worker_id: str, generation: int) -> None:
    """Whether a renewal, claim or release comes from the live holder; renewing never acquires.

    Raises Refused worker_lease_lost.
    """
    if not live or fence != Fence(worker_id, generation):
        raise Refused("worker_lease_lost")


def move_fence(current: Fence, *, worker_id: str | None, generation: int) -> tuple[Fence, bool]:
    """Move the fence forward: the fence in force, and whether this was a replay.

    Accepted when the generation is higher, or equal with the identical holder (None is a
    holder). Raises Refused fence_generation_stale.
    """
    if generation > current.generation:
        return Fence(worker_id, generation), False
    if current == Fence(worker_id, generation):
        return current, True
    raise Refused("fence_generation_stale", generation=generation, current=current.generation)


def release_fence(current: Fence) -> Fence:
    """The fence of an ended line: nobody holds it, one generation on."""
    return Fence(None, current.generation + 1)


def may_reconcile(fence: Fence, dispatched_generation: int) -> bool:
    """Whether the claimer of an unknown execution is fenced off, so that a person may settle it."""
    return fence.generation > dispatched_generation
