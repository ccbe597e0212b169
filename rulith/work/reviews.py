"""Review rows at a Worker: who is asked, how often, and what is told of the answer.

A review is not claimed; it needs a live lease and a reviewer. The same operation under the
same norm is asked about once until the gateway's word on it runs out; only an accepted
report is remembered. Models are not asked more often than the owner allows.

Units   *_s seconds of the monotonic clock, *_ms of the wall clock since the epoch
Source  the Worker hop, §§4, 5.3, 16
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Executed, Outcome
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.wire.contract import validate
from rulith.wire.lease import Moment
from rulith.work.receipts import Receipt
from rulith.work.reviewer import Reviewer, read_verdict, uncertain

REVIEW = "review"
REMEMBERED_MAX = 10_000


@dataclass(frozen=True)
class Named:
    id: str


@dataclass(frozen=True)
class ClearedReview:
    """A review that may be made. Attributes that an action row has too have its names."""

    invocation: str
    action: str
    tool: Named
    worker_id: str
    generation: int
    row: Mapping[str, object] = field(repr=False)
    runnable: Runnable = field(repr=False)
    work_type: str = REVIEW
    grant: None = None


class Reviews:
    """What this process asked and when. `reviewer` is None where none is set up."""

    def __init__(self, reviewer: Reviewer | None) -> None:
        self._reviewer = reviewer
        self._asked_s: float | None = None
        self._until_ms: dict[tuple[str, ...], float] = {}

    def judge(self, row: Mapping[str, object], worker_id: str, generation: int, now: Moment) -> ClearedReview:
        """Raises Refused: reviewer_absent, row_malformed, reviewed_already, review_too_soon."""
        if self._reviewer is None:
            raise Refused("reviewer_absent")
        try:
            validate("reviewRow", row)
        except Refused as refused:
            raise Refused("row_malformed", problem=refused.happened, place=refused.facts.get("place", "")) from None
        if self._until_ms.get(_key(row), 0) > now.wall_s * 1000:
            raise Refused("reviewed_already", norm=str(row["norm"])[:120])
        if self._asked_s is not None and now.monotonic_s - self._asked_s < self._reviewer.min_interval_s:
            raise Refused("review_too_soon", seconds=f"{self._reviewer.min_interval_s:g}")
        self._asked_s = now.monotonic_s
        case_file = row["caseFile"]
        assert isinstance(case_file, Mapping)
        return ClearedReview(str(row["work"]), str(row["norm"]), Named(str(row["tool"])), worker_id, generation, row,
                             self._reviewer.ask(str(case_file["rendered"]), os.environ))

    def remember(self, cleared: ClearedReview, body: Mapping[str, object]) -> None:
        """The report was accepted; its word holds until the payload's `expiresAt`."""
        payload = body.get("payload")
        until = payload.get("expiresAt") if isinstance(payload, Mapping) else None
        if type(until) in (int, float):
            self._until_ms[_key(cleared.row)] = float(until)
            if len(self._until_ms) > REMEMBERED_MAX:
                del self._until_ms[next(iter(self._until_ms))]


def _key(row: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("work", "tool", "norm", "requestDigest"))


def write_review(cleared: ClearedReview, outcome: Outcome) -> Receipt:
    """The one report of a review; whatever is no literal verdict is uncertain."""
    verdict = uncertain("the reviewer gave no answer")
    if isinstance(outcome, Executed):
        try:
            verdict = read_verdict(read_json(outcome.text, "the verdict"))
        except Refused:
            pass
    row = cleared.row
    report = {"kind": "ReportWork", "workType": REVIEW, "workerId": cleared.worker_id, "workerGeneration": cleared.generation,
              **{name: row[name] for name in ("tool", "norm", "invocation", "requestDigest", "expectedPolicyFingerprint")}, **verdict}
    return Receipt(report, verdict["verdict"], cleared.generation)
