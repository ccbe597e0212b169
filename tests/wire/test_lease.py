"""The lease on both sides. Duty: protocol/worker/vectors.json "polls" and "fences"; the Worker hop, §3."""

from __future__ import annotations

import json

import pytest

from rulith.base.errors import Refused
from rulith.wire.contract import WORKER_BUNDLE, load_bundle, validate
from rulith.wire.lease import (
    TABLE, Did, Fence, Hold, Lease, LeaseKeeper, LeasePolicy, Moment, RenewalAnswer, admit_holder, admit_poll,
    judge_renewal, may_reconcile, move_fence, read_lease, release_fence,
)

VECTORS = json.loads(load_bundle(WORKER_BUNDLE).files["protocol/worker/vectors.json"])
RECORD = VECTORS["lease"]
ME = RECORD["workerId"]


def at(seconds: float) -> Moment:
    return Moment(1_000 + seconds, 5_000 + seconds)


def holding(record: dict = RECORD) -> LeaseKeeper:
    keeper = LeaseKeeper(ME)
    keeper.granted(record, sent=at(0))
    return keeper


# -- the record ---------------------------------------------------------------------------


def test_the_fixture_lease_is_read():
    lease = read_lease(RECORD, ME)
    assert lease.window_ms == 60_000 and lease.wire() == RECORD


@pytest.mark.parametrize(
    "change",
    [
        {"workerId": "wkr_another_one"}, {"workerGeneration": 0}, {"workerGeneration": 2**53}, {"workerGeneration": True},
        {"workerGeneration": 7.0}, {"workerGeneration": "7"}, {"heartbeatAfterMs": 0}, {"heartbeatAfterMs": 60_000},
        {"heartbeatAfterMs": 1.5}, {"expiresAt": RECORD["serverTime"]}, {"expiresAt": "2026-09-06T23:59:59Z"},
        {"expiresAt": "2026-09-07T00:01:00+00:00"}, {"expiresAt": "2026-02-31T00:00:00Z"}, {"serverTime": None},
        {"serverTime": "2026-09-07 00:00:00Z"}, {"expiresAt": "2026-09-07T00:01:00Z\n"}, {"extra": 1},
    ],
)
def test_an_unusable_lease_leaves_the_worker_holding_nothing(change):
    keeper = holding()
    with pytest.raises(Refused) as refused:
        keeper.granted(RECORD | change, sent=at(1))
    assert refused.value.code == "lease_malformed"
    assert keeper.hold is Hold.NONE and keeper.generation(at(1)) is None


def test_a_lower_generation_drops_the_lease():
    keeper = holding()
    with pytest.raises(Refused):
        keeper.granted(RECORD | {"workerGeneration": 6}, sent=at(1))
    assert not keeper.is_live(at(1))


def test_an_older_snapshot_of_the_same_generation_changes_nothing():
    keeper = holding()
    older = RECORD | {"serverTime": "2026-09-06T23:59:59.000Z", "expiresAt": "2026-09-07T00:10:00.000Z"}
    keeper.granted(older, sent=at(5))
    keeper.granted(RECORD, sent=at(50))            # the same snapshot again
    assert keeper.remaining_ms(at(50)) == 10_000
    newer = RECORD | {"serverTime": "2026-09-07T00:00:10.000Z", "expiresAt": "2026-09-07T00:01:10.000Z"}
    keeper.granted(newer, sent=at(50))
    assert keeper.remaining_ms(at(50)) == 60_000


# -- measuring ----------------------------------------------------------------------------


def test_the_window_runs_from_the_moment_the_request_was_sent():
    keeper = holding()
    assert keeper.is_live(at(59.9)) and keeper.is_live(at(0), 7) and not keeper.is_live(at(0), 6)
    assert keeper.generation(at(59.9)) == 7
    assert not keeper.is_live(at(60)) and keeper.hold is Hold.NONE


def test_a_machine_that_slept_is_noticed_on_the_wall_clock():
    keeper = holding()
    assert not keeper.is_live(Moment(1_001, 5_061))


def test_the_server_s_instants_are_never_compared_with_ours():
    """A wall clock that is years off measures the same window."""
    keeper = LeaseKeeper(ME)
    keeper.granted(RECORD, sent=Moment(0, 0))
    assert keeper.remaining_ms(Moment(10, 10)) == 50_000


def test_renewal_follows_the_heartbeat_and_keeps_a_reserve():
    keeper = holding()
    assert keeper.renewal_due_s(at(0)) == 10
    assert keeper.renewal_due_s(at(9.5)) == 1          # never more often than each second
    assert keeper.renewal_due_s(at(49.5)) == 0.5       # the reserve begins
    assert keeper.renewal_due_s(at(55)) == 0
    assert keeper.renewal_due_s(at(61)) is None
    short = holding(RECORD | {"expiresAt": "2026-09-07T00:00:02.000Z", "heartbeatAfterMs": 1_900})
    assert short.renewal_due_s(at(0)) == 1.5            # 2 s less a quarter
    assert short.renewal_timeout_s(at(0.5)) == 1.5
    assert holding().renewal_timeout_s(at(0)) == 10


def test_back_off_doubles_to_four_seconds_and_starts_again_after_an_answer():
    keeper = holding()
    assert [keeper.unanswered() for _ in range(4)] == [1, 2, 4, 4]
    assert keeper.is_live(at(20))
    keeper.granted(
        RECORD | {"serverTime": "2026-09-07T00:00:20.000Z", "expiresAt": "2026-09-07T00:01:20.000Z"}, sent=at(20)
    )
    assert keeper.unanswered() == 1


@pytest.mark.parametrize(
    ("status", "body", "means"),
    [
        (200, {"accepted": True, "lease": {}}, RenewalAnswer.RENEWED),
        (200, {"accepted": False, "errorCode": "worker_lease_lost"}, RenewalAnswer.LOST),
        (200, {"accepted": False}, RenewalAnswer.UNCERTAIN), (200, {}, RenewalAnswer.UNCERTAIN),
        (200, None, RenewalAnswer.UNCERTAIN), (None, None, RenewalAnswer.UNCERTAIN),
        (429, {"accepted": False, "errorCode": "x"}, RenewalAnswer.UNCERTAIN), (503, None, RenewalAnswer.UNCERTAIN),
        (409, None, RenewalAnswer.LOST), (400, {}, RenewalAnswer.LOST), (401, None, RenewalAnswer.REJECTED),
    ],
)
def test_an_answer_to_a_renewal_is_certain_or_it_is_not(status, body, means):
    assert judge_renewal(status, body) is means


def test_the_table_says_every_pair():
    assert set(TABLE) == {(state, did) for state in Hold for did in Did}


def test_a_stopping_worker_acquires_nothing():
    keeper = holding()
    keeper.stopped()
    with pytest.raises(Refused):
        keeper.granted(RECORD, sent=at(1))
    assert keeper.hold is Hold.GONE and not keeper.is_live(at(1))


# -- admission and fence ------------------------------------------------------------------


def fence_of(row: list) -> Fence:
    return Fence(row[0], row[1])


@pytest.mark.parametrize("row", VECTORS["polls"], ids=range(len(VECTORS["polls"])))
def test_polls_are_admitted_as_the_contract_s(row):
    fence = fence_of(row["fence"])
    worker, stated = row["states"]
    if "refused" in row:
        with pytest.raises(Refused) as refused:
            admit_poll(fence, live=row["live"], worker_id=worker, stated=stated)
        assert refused.value.code == row["refused"]
        assert fence.worker_id not in refused.value.teaching
        return
    admission = admit_poll(fence, live=row["live"], worker_id=worker, stated=stated)
    assert admission.fence == Fence(worker, row["gets"])
    assert admission.is_new == (row["gets"] != fence.generation)


@pytest.mark.parametrize(
    ("fence", "worker", "stated"),
    [(Fence(), "w1", 3), (Fence(None, 8), "w1", 7), (Fence("w1", 7), "w2", 7), (Fence("w1", 7), "w1", 3)],
)
def test_a_generation_nobody_holds_is_never_acquired(fence, worker, stated):
    with pytest.raises(Refused) as refused:
        admit_poll(fence, live=False, worker_id=worker, stated=stated)
    assert refused.value.code == "worker_lease_superseded"


@pytest.mark.parametrize("row", VECTORS["fences"], ids=range(len(VECTORS["fences"])))
def test_fences_move_as_the_contract_s(row):
    current, (worker, generation) = fence_of(row["from"]), row["move"]
    if "refused" in row:
        with pytest.raises(Refused) as refused:
            move_fence(current, worker_id=worker, generation=generation)
        assert refused.value.code == row["refused"]
        return
    assert move_fence(current, worker_id=worker, generation=generation) == (Fence(worker, generation), row["replay"])


def test_release_and_holder():
    fence = Fence("w1", 7)
    admit_holder(fence, live=True, worker_id="w1", generation=7)
    for live, worker, generation in [(False, "w1", 7), (True, "w2", 7), (True, "w1", 6), (True, "w1", 8)]:
        with pytest.raises(Refused) as refused:
            admit_holder(fence, live=live, worker_id=worker, generation=generation)
        assert refused.value.code == "worker_lease_lost"
    assert release_fence(fence) == Fence(None, 8)
    assert may_reconcile(Fence(None, 8), 7) and not may_reconcile(fence, 7) and not may_reconcile(Fence(), 1)


def test_the_policy_writes_leases_that_a_worker_accepts():
    record = LeasePolicy().lease(Fence(ME, 3), now_s=1_790_000_000.25).wire()
    validate("lease", record)
    assert read_lease(record, ME).window_ms == 60_000
    with pytest.raises(AssertionError):
        LeasePolicy(1_000, 1_000)
    assert isinstance(read_lease(record, ME), Lease)
