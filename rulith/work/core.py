"""The Worker's loop: poll, claim, run, report, release. Signals in, deeds out; it never waits.

One line of work at a time, and beside it one keeper that renews the lease. Decides what is
asked next and what an answer changes; the checks of a row are work/checks.py, the receipt
is work/receipts.py, the lease's arithmetic is wire/lease.py, and the waiting is
work/driver.py. A call is claimed once and run at most once; its receipt is sent again only
byte for byte.

Units   *_s are seconds on the monotonic clock
Source  protocol/worker-contract.json, "loop" and "lease"; the table below is the whole machine
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Call, Failed
from rulith.adapters.sources import Source, Sources
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.wire import worker_hop
from rulith.wire.lease import POLL_AGAIN_S, LeaseKeeper, Moment
from rulith.wire.manifest import Tool
from rulith.work.checks import Bench, judge_row
from rulith.work.cleared import Work, batch_place, remember, told_of
from rulith.work.orders import EVIDENCE, VERIFICATION, judge_order
from rulith.work.receipts import Receipt, write_kept, write_not_recorded
from rulith.work.renewals import Renewals
from rulith.work.replies import Accepted, Denied, Rejected, Reply, Silent, flat
from rulith.work.reviewer import Reviewer
from rulith.work.reviews import REVIEW, ClearedReview, Reviews
from rulith.work.signals import (  # fmt: skip
    Abandon, ClaimCame, Deed, Exit, FetchSources, Keep, KeptCame, Kill, Phase, PollCame,
    ReleaseCame, RenewCame, ReportCame, Run, RunEnded, Send, Signal, SourcesCame, Tell, TimeCame, ToKeep,
)
from rulith.work.table import TABLE

POLL_TIMEOUT_S = 45.0            # above the longest hold of a gateway (25 s), with room for a slow answer
CALL_TIMEOUT_S = 30.0            # a claim or a receipt: the gateway commits and answers
RELEASE_TIMEOUT_S = 5.0          # a courtesy; the lease lapses by itself
RESEND_WAITS_S = (1.0, 4.0, 12.0)
STOP_PATIENCE_S = 2.0            # for the answer of a first Poll, whose lease could then be released
EMPTY_SPACING_S = 0.25           # between empty Polls of a gateway that does not hold them
UNTAKEN_REST_S, UNTAKEN_REST_MAX_S = 0.5, 4.0    # after a batch of which nothing was claimed: it will be offered again
REASON_CHARS_MAX = 600           # of a refusal that may quote the row
EXIT_STOPPED, EXIT_REJECTED = 0, 3


class IllegalSignal(AssertionError):
    """A signal that cannot happen in this phase: a bug of whoever sent it."""


class Worker:
    """One Worker process's decisions, from Began to Exit.

    tools       every Tool installed here; `advertised` are their descriptors, as every Poll states them
    compile     the adapters' judgement of a call
    inspect     the adapters' judgement of a Source by itself, told when the list comes
    keeps       whether this machine keeps objects that are told by reference
    check_material  whether a selected material is still what was selected; None where none are kept
    reviewer    the model that reviews, or None
    """

    def __init__(
        self, *, worker_id: str, connection_id: str, key: str, tools: Mapping[str, Tool],
        advertised: Sequence[Mapping[str, object]], sources: Sources, compile: Callable[[Call], Runnable],
        inspect: Callable[[Source], Refused | None] = lambda source: None, keeps: bool = False,
        check_material: Callable[[Mapping[str, object]], None] | None = None, reviewer: Reviewer | None = None,
    ) -> None:
        self.phase = Phase.NEW
        self.worker_id = worker_id
        self.keeper = LeaseKeeper(worker_id)
        self._renewals = Renewals(self.keeper)
        self._connection_id, self._key = connection_id, key
        self._tools, self._advertised, self._sources = tools, list(advertised), sources
        self._compile, self._inspect, self._keeps = compile, inspect, keeps
        self._check_material = check_material
        self._batch: deque[Mapping[str, object]] = deque()
        self._took = False               # something of this batch was claimed
        self._untaken = 0                # batches in a row of which nothing was
        self._draining = False
        self._asked_at: Moment | None = None
        self._asked_generation: int | None = None
        self._timer_s: float | None = None
        self._cleared: Work | None = None
        self._receipt: Receipt | None = None
        self._reviews = Reviews(reviewer)
        self._kept: ToKeep | None = None         # a result on its way to be told by reference
        self._body = b""
        self._sends = 0
        self._waiting: Deed | None = None        # a claim or receipt that waits for the renewal in flight
        self._fetched_for: Mapping[str, object] | None = None
        self._started: dict[str, None] = {}
        self._skipped: dict[tuple[str, str], None] = {}
        self._online: bool | None = None
        self._offline_code = ""
        self._told_generation: int | None = None # of the lease the host last heard of
        self._lost_why = ""
        self._doubts = False                     # a claim or receipt got no answer: what became of it is for a person
        self._orphaned = False                   # the parent is gone: nothing is waited for twice
        self._deeds: list[Deed] = []

    # -- the machine -------------------------------------------------------------------

    def receive(self, signal: Signal, now: Moment) -> list[Deed]:
        """Take one signal; return what to do about it, in order."""
        assert not self._deeds
        handler = TABLE.get((self.phase, type(signal)))
        if handler is None:
            legal = sorted(kind.__name__ for phase, kind in TABLE if phase is self.phase)
            raise IllegalSignal(f"{type(signal).__name__} while {self.phase.value}; legal: {', '.join(legal)}")
        getattr(self, handler)(signal, now)
        return self._taken()

    def due_s(self, now: Moment) -> float | None:
        """Seconds until tick() has something to do; None when only a signal can move it."""
        times = [] if self._timer_s is None else [self._timer_s - now.monotonic_s]
        renewal = self._renewals.due_s(now)
        if renewal is not None:
            times.append(renewal)
        return max(0.0, min(times)) if times else None

    def tick(self, now: Moment) -> list[Deed]:
        """Let what is due happen: a renewal, the end of a rest, the notice of a lapse."""
        assert not self._deeds
        if self._renewals.is_due(now):
            self._renew(now)
        if self._timer_s is not None and self._timer_s <= now.monotonic_s:
            self._timer_s = None
            getattr(self, TABLE[self.phase, TimeCame])(TimeCame(), now)
        return self._taken()

    def _taken(self) -> list[Deed]:
        if self._told_generation is not None and self.keeper.lease is None and self.phase not in (Phase.LEAVING, Phase.GONE):
            # However the loss was noticed, the host hears of it once.
            self._told_generation = None
            self._tell("lease", workerId=self.worker_id, lost=True, why=self._lost_why or "its window passed")
        self._lost_why = ""
        deeds, self._deeds = self._deeds, []
        return deeds

    def _do(self, deed: Deed) -> None:
        self._deeds.append(deed)

    def _tell(self, kind: str, **facts: object) -> None:
        self._do(Tell(kind, facts))

    # -- starting and Sources ----------------------------------------------------------

    def _begin(self, _: Signal, now: Moment) -> None:
        self.phase = Phase.SOURCING
        self._do(FetchSources())

    def _sources_came(self, signal: SourcesCame, now: Moment) -> None:
        if signal.rejected is not None:
            self._reject(signal.rejected)
            return
        if signal.rows is None:
            self._tell("error", what="sources", detail=signal.why)
        else:
            self._sources.grant(signal.rows)
            self._tell("sources", names=self._sources.names())
            self._tell_unusable_sources()
        self._next(now)

    def _tell_unusable_sources(self) -> None:
        """Say it at the start; the same judgement is made again before each claim."""
        for name in self._sources.names():
            source = self._sources.find(name)
            refused = self._inspect(source) if source is not None else None
            if refused is not None and (name, refused.code) not in self._skipped:
                remember(self._skipped, (name, refused.code))
                self._tell("error", what="source", source=name, code=refused.code, detail=refused.teaching)

    # -- polling -----------------------------------------------------------------------

    def _ask(self, now: Moment) -> None:
        if self._draining:
            self._leave(now)
            return
        generation = self.keeper.generation(now)
        if self._doubts and generation is not None:
            self._yield(generation)
            return
        self._doubts = False
        self.phase = Phase.ASKING
        self._asked_at, self._asked_generation = now, generation
        self._post(PollCame, worker_hop.poll(self.worker_id, self._advertised, generation), generation, POLL_TIMEOUT_S)

    def _rest(self, now: Moment, seconds: float) -> None:
        if self._draining:
            self._leave(now)
            return
        self.phase = Phase.RESTING
        self._timer_s = now.monotonic_s + seconds

    def _rest_over(self, _: Signal, now: Moment) -> None:
        self._ask(now)

    def _poll_came(self, signal: PollCame, now: Moment) -> None:
        reply, stated, asked_at = signal.reply, self._asked_generation, self._asked_at
        assert asked_at is not None
        self._timer_s = None
        if isinstance(reply, Rejected):
            self._reject(reply)
        elif isinstance(reply, Silent):
            self._offline("unreachable", reply.why)
            self._rest(now, POLL_AGAIN_S)
        elif isinstance(reply, Denied):
            self._drop(reply.code or f"http_{reply.status}")
            self._offline(reply.code or f"http_{reply.status}", reply.teaching)
            self._rest(now, POLL_AGAIN_S)
        elif stated is not None and not self.keeper.is_live(now, stated):
            self._tell("error", what="poll", detail="the lease was lost while the gateway held this Poll; its answer is not used")
            self._ask(now)
        else:
            self._polled(reply, asked_at, now)

    def _polled(self, reply: Accepted, asked_at: Moment, now: Moment) -> None:
        payload = reply.body.get("payload")
        rows = payload.get("work") if isinstance(payload, dict) else None
        try:
            if not isinstance(rows, list) or (isinstance(payload, dict) and "lease" in payload):
                raise Refused("lease_malformed", problem="the answer's payload does not hold work alone")
            lease = self.keeper.granted(reply.body.get("lease"), sent=asked_at)
            if self.keeper.lease is lease:       # else an older snapshot, which moves nothing
                self._renewals.arm(now)
        except Refused as refused:
            self._drop("lease_malformed")
            self._offline("lease_malformed", refused.teaching)
            self._rest(now, POLL_AGAIN_S)
            return
        if self._told_generation != lease.generation:
            self._told_generation = lease.generation
            self._tell("lease", workerId=self.worker_id, generation=lease.generation, windowMs=round(lease.window_ms))
        if self._online is not True:
            self._online, self._offline_code = True, ""
            self._tell("availability", state="online")
        self._batch = deque(sorted((row for row in rows if isinstance(row, dict)), key=batch_place))
        self._took = False
        if self._batch:
            self._next(now)
            return
        self._untaken = 0
        quick = now.monotonic_s - asked_at.monotonic_s < EMPTY_SPACING_S
        self._rest(now, EMPTY_SPACING_S) if quick else self._ask(now)

    # -- one row after the other -------------------------------------------------------

    def _next(self, now: Moment) -> None:
        """Judge rows until one is claimed or the batch is done."""
        while self._batch:
            if self._draining or not self.keeper.is_live(now):
                self._tell("skipped", count=len(self._batch), why="draining" if self._draining else "worker_lease_lost")
                self._batch.clear()
                self._took = True        # not the rows' fault: poll at once
                break
            row = self._batch[0]
            if self._must_fetch(row):
                self._fetched_for = row
                self.phase = Phase.SOURCING
                self._do(FetchSources())
                return
            self._batch.popleft()
            try:
                self._claim(self._judge(row, now), now)
                return
            except Refused as refused:
                if refused.code == "worker_lease_lost":
                    self._batch.appendleft(row)     # the loop's own test ends the batch
                    continue
                self._skip(row, refused)
        if self._took or self.keeper.lease is None or self._draining:
            self._untaken = 0
            self._ask(now)
            return
        self._untaken += 1
        self._rest(now, min(UNTAKEN_REST_S * 2 ** (self._untaken - 1), UNTAKEN_REST_MAX_S))

    def _must_fetch(self, row: Mapping[str, object]) -> bool:
        record = row.get("sourceRecordId") if row.get("workType") == "action" else row.get("source")
        is_new = isinstance(record, str) and record != "" and not self._sources.is_known(record)
        return is_new and row.get("workType") in ("action", VERIFICATION, EVIDENCE) and row is not self._fetched_for

    def _judge(self, row: Mapping[str, object], now: Moment) -> Work:
        kind = row.get("workType")
        lease = self.keeper.lease
        assert lease is not None
        if kind == REVIEW:
            return self._reviews.judge(row, self.worker_id, lease.generation, now)
        if kind not in ("action", VERIFICATION, EVIDENCE):
            raise Refused("work_not_built", kind=repr(str(kind)[:40]))
        if row.get("work") in self._started:
            raise Refused("already_run_here", invocation=str(row["work"])[:120])
        return (judge_row if kind == "action" else judge_order)(row, Bench(
            self._connection_id, self._key, self.worker_id, self._tools, self._sources.find, self._compile,
            lambda: self.keeper.is_live(now, lease.generation), lease.generation, self._keeps, self._check_material,
        ))  # fmt: skip

    def _skip(self, row: Mapping[str, object], refused: Refused) -> None:
        """Say it once for each invocation and reason; the gateway may offer the row many times."""
        invocation = flat(str(row.get("work")), 120)
        if (invocation, refused.code) in self._skipped:
            return
        remember(self._skipped, (invocation, refused.code))
        self._tell("skip", invocation=invocation, workType=flat(str(row.get("workType")), 40), code=refused.code,
                   reason=flat(refused.teaching, REASON_CHARS_MAX))  # fmt: skip

    # -- claim, run, report ------------------------------------------------------------

    def _claim(self, cleared: Work, now: Moment) -> None:
        self._cleared = cleared
        if cleared.work_type in (EVIDENCE, REVIEW):      # it is asked of whoever can tell, and claimed by nobody
            self._run(cleared)
            return
        self.phase = Phase.CLAIMING
        operation = worker_hop.claim(cleared.work_type, cleared.invocation, worker_id=self.worker_id,
                                     generation=cleared.generation, grant=cleared.grant)  # fmt: skip
        self._post_after_renewal(ClaimCame, operation, cleared.generation)

    def _claim_came(self, signal: ClaimCame, now: Moment) -> None:
        reply, cleared = signal.reply, self._cleared
        assert cleared is not None
        if isinstance(reply, Rejected):
            self._reject(reply)
            return
        if isinstance(reply, Accepted):
            if not self.keeper.is_live(now, cleared.generation):
                # The machine slept, or the answer was very late: whoever holds the line now may have settled the call.
                late = Refused("claim_too_late")
                self._started_on(cleared)
                self._tell("skip", invocation=cleared.invocation, workType=cleared.work_type, code=late.code, reason=late.happened)
                self._report(told_of(cleared, Failed(f"not_run: {late.code}: {late.happened}")))
                return
            self._run(cleared)
            return
        if isinstance(reply, Silent):
            # The lost answer may have been a yes; then the call is ours to leave to a person.
            code, reason = "claim_unanswered", f"{reply.why}; nothing was run"
            self._doubts = True
        else:
            code, reason = reply.code or f"http_{reply.status}", reply.teaching
        self._tell("skip", invocation=cleared.invocation, workType=cleared.work_type, code=code, reason=reason)
        self._cleared = None
        if isinstance(reply, Denied) and (reply.code or "").startswith(("worker_lease_", "worker_fenced")):
            self._drop(reply.code or "")
        self._next(now)

    def _started_on(self, cleared: Work) -> None:
        self._took = True
        if cleared.work_type != REVIEW:          # those have a memory of their own
            remember(self._started, cleared.invocation)

    def _run(self, cleared: Work) -> None:
        self._started_on(cleared)
        self.phase = Phase.RUNNING
        self._tell("claimed", invocation=cleared.invocation, tool=cleared.tool.id, action=cleared.action)
        self._do(Run(cleared.runnable))

    def _run_ended(self, signal: RunEnded, now: Moment) -> None:
        cleared = self._cleared
        assert cleared is not None
        told = told_of(cleared, signal.outcome)
        if told is None:
            self._tell("skip", invocation=cleared.invocation, workType=cleared.work_type, code="no_facts", reason="the Tool told no fact; nothing is reported")
            self._cleared = None
            self._next(now)
        elif isinstance(told, ToKeep):
            self.phase, self._kept = Phase.KEEPING, told
            self._do(Keep(told, cleared.grant, cleared.generation))
        else:
            self._report(told)

    def _kept_came(self, signal: KeptCame, now: Moment) -> None:
        kept, self._kept = self._kept, None
        assert self._cleared is not None and kept is not None
        if signal.rejected is not None:
            self._reject(signal.rejected)
        else:
            if signal.why:
                self._tell("material", invocation=self._cleared.invocation, code=signal.code, reason=signal.why)
            self._report(write_kept(self._cleared, kept, signal))

    def _report(self, receipt: Receipt) -> None:
        self.phase = Phase.REPORTING
        self._receipt, self._sends = receipt, 1
        self._body = compact_json({"operation": receipt.operation}).encode("utf-8")
        self._send_after_renewal(Send(ReportCame, self._body, receipt.generation, CALL_TIMEOUT_S))

    def _report_came(self, signal: ReportCame, now: Moment) -> None:
        reply, receipt, cleared = signal.reply, self._receipt, self._cleared
        assert receipt is not None and cleared is not None
        self._timer_s = None
        if isinstance(reply, Rejected):
            self._reject(reply)
            return
        if isinstance(reply, Accepted):
            if isinstance(cleared, ClearedReview):
                self._reviews.remember(cleared, reply.body)
            self._reported(receipt, landed=True, **({"reason": receipt.why} if receipt.why else {}))
        elif isinstance(reply, Denied) and self._is_final(reply, receipt):
            code = reply.code or f"http_{reply.status}"
            self._reported(receipt, landed=False, code=code, reason=reply.teaching)
            if code == "ingest_rejected" and self._sends == 1 and receipt.landed_as == "executed":
                self._report(write_not_recorded(cleared, reply.teaching))
                return
        elif self._sends <= len(RESEND_WAITS_S) and not self._orphaned:
            self.phase = Phase.RESENDING
            self._timer_s = now.monotonic_s + RESEND_WAITS_S[self._sends - 1]
            return
        else:
            why = reply.why if isinstance(reply, Silent) else f"the gateway answered {reply.status}"
            self._doubts = True
            self._reported(receipt, landed=False, code="report_unanswered", reason=f"{why}; a person reconciles the call")
        self._cleared = self._receipt = None
        self._next(now)

    def _is_final(self, reply: Denied, receipt: Receipt) -> bool:
        return reply.code is not None or (receipt.landed_as == "undeliverable" and reply.status in (400, 422))

    def _reported(self, receipt: Receipt, *, landed: bool, **facts: object) -> None:
        assert self._cleared is not None
        self._tell("reported", invocation=self._cleared.invocation, tool=self._cleared.tool.id,
                   outcome=receipt.landed_as, landed=landed, **facts)  # fmt: skip

    def _resend(self, _: Signal, now: Moment) -> None:
        assert self._receipt is not None
        self.phase = Phase.REPORTING
        self._sends += 1
        self._send_after_renewal(Send(ReportCame, self._body, self._receipt.generation, CALL_TIMEOUT_S))

    # -- the lease ---------------------------------------------------------------------

    def _renew(self, now: Moment) -> None:
        generation, timeout_s = self._renewals.begin(now)
        self._post(RenewCame, worker_hop.renew(self.worker_id, generation), generation, timeout_s)

    def _renew_came(self, signal: RenewCame, now: Moment) -> None:
        self._lost_why = self._renewals.ended(signal.reply, now)
        if isinstance(signal.reply, Rejected):
            self._renew_rejected(signal.reply, now)
        else:
            self._let_go(now)

    def _renew_rejected(self, reply: Rejected, now: Moment) -> None:
        """Renewals stop; the loop's own next request meets the same 401 and ends with it."""
        self._drop("credential_rejected")
        if self.phase in (Phase.RESTING, Phase.ASKING, Phase.CLAIMING, Phase.SOURCING):
            self._reject(reply)
            return
        self._let_go(now)

    def _drop(self, why: str) -> None:
        self.keeper.denied()
        self._lost_why = why

    def _let_go(self, now: Moment) -> None:
        """Send what waited for the renewal: a receipt always, a claim only under the lease it was judged by."""
        waiting, self._waiting = self._waiting, None
        if not isinstance(waiting, Send):
            return
        if waiting.answer is ClaimCame and not self.keeper.is_live(now, waiting.generation):
            self._cleared = None
            self._next(now)
            return
        self._do(waiting)

    # -- leaving -----------------------------------------------------------------------

    def _stop(self, _: Signal, now: Moment) -> None:
        self._draining = True

    def _stop_idle(self, _: Signal, now: Moment) -> None:
        self._draining = True
        self._timer_s = None
        self._leave(now)

    def _stop_asking(self, _: Signal, now: Moment) -> None:
        self._draining = True
        if self.keeper.is_live(now):
            self._do(Abandon(PollCame))
            self._leave(now)
        else:
            self._timer_s = now.monotonic_s + STOP_PATIENCE_S

    def _patience_over(self, _: Signal, now: Moment) -> None:
        self._do(Abandon(PollCame))
        self._leave(now)

    def _vanish(self, _: Signal, now: Moment) -> None:
        """Nobody is left to report to: what runs is ended, so that it cannot act after a person settled it."""
        self._draining = True
        if self.phase is Phase.RUNNING:
            self._do(Kill())
        for answer in (SourcesCame, PollCame, ClaimCame, KeptCame, ReportCame, ReleaseCame):
            self._do(Abandon(answer))
        self._leave(now)

    def _vanish_reporting(self, _: Signal, now: Moment) -> None:
        """The call has ended and its receipt is out: worth a moment, not a resend."""
        self._draining = self._orphaned = True
        self._timer_s = now.monotonic_s + STOP_PATIENCE_S

    def _receipt_over(self, _: Signal, now: Moment) -> None:
        self._do(Abandon(ReportCame))
        self._leave(now)

    def _leave(self, now: Moment) -> None:
        self._timer_s, self._waiting = None, None
        self._forget_renewal()
        generation = self.keeper.generation(now)
        self.keeper.stopped()
        if generation is None:
            self._gone(EXIT_STOPPED)
            return
        self.phase = Phase.LEAVING
        self._post(ReleaseCame, worker_hop.release(self.worker_id, generation), generation, RELEASE_TIMEOUT_S)

    def _yield(self, generation: int) -> None:
        """Leave the line and come back under a higher generation: only then may a person settle the call in doubt."""
        self._forget_renewal()
        self.phase = Phase.YIELDING
        self._post(ReleaseCame, worker_hop.release(self.worker_id, generation), generation, RELEASE_TIMEOUT_S)

    def _yielded(self, signal: ReleaseCame, now: Moment) -> None:
        if isinstance(signal.reply, Rejected):
            self._reject(signal.reply)
            return
        self._doubts = isinstance(signal.reply, Silent)     # then once more, while that lease is live
        self._drop("left the line for a call without an answer")
        self._ask(now)

    def _forget_renewal(self) -> None:
        if self._renewals.is_in_flight():
            self._do(Abandon(RenewCame))
        self._renewals.forget()

    def _released(self, signal: ReleaseCame, now: Moment) -> None:
        self._tell("lease", workerId=self.worker_id, released=isinstance(signal.reply, Accepted))
        self._gone(EXIT_STOPPED)

    def _reject(self, reply: Reply) -> None:
        assert isinstance(reply, Rejected)
        self.keeper.stopped()
        for answer in (SourcesCame, PollCame, RenewCame):
            self._do(Abandon(answer))
        self._tell("error", what="credential", code=reply.reason or "credential_rejected", detail=reply.teaching, wanted=reply.wanted)
        self._tell("availability", state="needs setup")
        self._online = None
        self._gone(EXIT_REJECTED)

    def _gone(self, code: int) -> None:
        self.phase = Phase.GONE
        self._timer_s = None
        self._renewals.forget()
        if self._online:
            self._online = False
            self._tell("availability", state="offline")
        self._do(Exit(code))

    def _ignore(self, _: Signal, now: Moment) -> None:
        """Already so."""

    # -- sending -----------------------------------------------------------------------

    def _offline(self, code: str, teaching: str = "") -> None:
        """Said again only when the reason changes: a held line answers the same every five seconds."""
        if self._online is False and self._offline_code == code:
            return
        self._online, self._offline_code = False, code
        self._tell("availability", state="offline", code=code, reason=teaching)

    def _post(self, answer: type, operation: Mapping[str, object], generation: int | None, timeout_s: float) -> None:
        self._do(Send(answer, compact_json({"operation": operation}).encode("utf-8"), generation, timeout_s))

    def _post_after_renewal(self, answer: type, operation: Mapping[str, object], generation: int) -> None:
        body = compact_json({"operation": operation}).encode("utf-8")
        self._send_after_renewal(Send(answer, body, generation, CALL_TIMEOUT_S))

    def _send_after_renewal(self, send: Send) -> None:
        if self._renewals.is_in_flight():
            self._waiting = send
        else:
            self._do(send)
