"""The core alone: signals in, deeds out, a clock moved by hand. The tables of the hop, row by row."""

import json

import pytest

from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.adapters.sources import Sources
from rulith.base.clock import ManualClock, stamp
from rulith.base.json_text import compact_json
from rulith.wire.digests import request_digest_of_row
from rulith.wire.grant import expected_grant, sign_grant
from rulith.wire.lease import Moment
from rulith.wire.manifest import read_manifest
from rulith.work.core import TABLE, IllegalSignal, Worker
from rulith.work.replies import Accepted, Denied, Rejected, Silent
from rulith.work.signals import (
    Abandon,
    Began,
    ClaimCame,
    Exit,
    FetchSources,
    KeptCame,
    Kill,
    ParentGone,
    Phase,
    PollCame,
    ReleaseCame,
    RenewCame,
    ReportCame,
    Run,
    RunEnded,
    Send,
    SourcesCame,
    StopAsked,
    Tell,
    TimeCame,
)

ME, CONNECTION, KEY = "wkr_core_test_1", "conn_1", "rlt_key_core"
TOOL = read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": {
    "test.do@1": {"adapter": "run", "sourceTypes": [], "entry": "do.py", "kind": "write", "params": {"n": "number"}, "returns": []},
    "test.look@1": {"adapter": "run", "sourceTypes": [], "entry": "do.py", "kind": "read", "params": {"n": "number"}, "returns": []},
}}))
POLICY = {"inlineBytes": 8192, "readBytes": 65536, "objectBytes": 65536, "totalBytes": 65536, "temporaryRetentionMs": 1000}


class Play:
    """One core and the hand that moves its clock; `sends` are the requests in flight, newest last."""

    def __init__(self, lease_ms=60_000, heartbeat_ms=10_000):
        self.clock = ManualClock()
        self.lease_ms, self.heartbeat_ms = lease_ms, heartbeat_ms
        self.deeds = []
        self.core = Worker(
            worker_id=ME, connection_id=CONNECTION, key=KEY, tools=TOOL,
            advertised=[tool.descriptor() for tool in TOOL.values()], sources=Sources({}), compile=lambda call: call,
        )

    def now(self):
        return Moment(self.clock.monotonic_s(), self.clock.wall_s())

    def give(self, signal):
        fresh = self.core.receive(signal, self.now())
        self.deeds += fresh
        return fresh

    def advance(self, seconds):
        """Move the clock, stopping at each moment the core asked for."""
        fresh, left = [], seconds
        while True:
            due = self.core.due_s(self.now())
            step = left if due is None or due > left else due
            self.clock.advance(step)
            left -= step
            now = self.core.tick(self.now())
            fresh += now
            if left <= 0 and not now:
                break
            if any(isinstance(deed, Send) for deed in now):
                self.clock.advance(left)
                break
        self.deeds += fresh
        return fresh

    def lease(self, generation=1, worker=ME, age_s=0.0, window_ms=None):
        at = self.clock.wall_s() - age_s
        return {"workerId": worker, "workerGeneration": generation, "serverTime": stamp(at),
                "expiresAt": stamp(at + (window_ms or self.lease_ms) / 1000), "heartbeatAfterMs": self.heartbeat_ms}

    def polled(self, *rows, **lease):
        return self.give(PollCame(Accepted({"accepted": True, "lease": self.lease(**lease), "payload": {"work": list(rows)}})))

    def started(self):
        self.give(Began())
        self.give(SourcesCame([]))
        return self

    def held(self, *rows):
        self.started()
        self.clock.advance(1)
        return self.polled(*rows)

    def row(self, invocation="inv_1", tool="test.do@1", generation=1, **changes):
        it = TOOL[tool]
        spec = {"name": "do", "kind": it.kind, "impl": "worker-tool", "params": dict(it.params), "exec": tool, "sourceTypes": [], "returns": []}
        row = {"workType": "action", "work": invocation, "tool": "do", "boardId": "agent", "toolContractId": tool, "sourceRecordId": "",
               "connectionId": CONNECTION, "toolDigest": it.digest, "args": '{"n":1}', "target": "", "toolSpec": compact_json(spec),
               "sourceUpload": {"sourceRecordId": "", "permission": "absent", "upload": False}, "artifactPolicy": dict(POLICY), **changes}
        expect = expected_grant(row, connection_id=CONNECTION, worker_id=ME, worker_generation=generation,
                                request_digest=request_digest_of_row(row))
        return {**row, "executionGrant": sign_grant(expect, KEY)}


def sent(deeds):
    return [json.loads(deed.body)["operation"] for deed in deeds if isinstance(deed, Send)]


def kinds(deeds):
    return [operation["kind"] for operation in sent(deeds)]


def told(deeds, kind):
    return [deed.facts for deed in deeds if isinstance(deed, Tell) and deed.type == kind]


OK = Accepted({"accepted": True})

# -- the machine -----------------------------------------------------------------------

WORKING = {Phase.SOURCING, Phase.ASKING, Phase.RESTING, Phase.CLAIMING, Phase.RUNNING, Phase.KEEPING, Phase.REPORTING, Phase.RESENDING}
MEANT = {
    Phase.NEW: {Began, StopAsked, ParentGone},
    Phase.SOURCING: {SourcesCame, RenewCame, StopAsked, ParentGone},
    Phase.ASKING: {PollCame, TimeCame, RenewCame, StopAsked, ParentGone},
    Phase.RESTING: {TimeCame, RenewCame, StopAsked, ParentGone},
    Phase.CLAIMING: {ClaimCame, RenewCame, StopAsked, ParentGone},
    Phase.RUNNING: {RunEnded, RenewCame, StopAsked, ParentGone},
    Phase.KEEPING: {KeptCame, RenewCame, StopAsked, ParentGone},
    Phase.REPORTING: {ReportCame, TimeCame, RenewCame, StopAsked, ParentGone},
    Phase.RESENDING: {TimeCame, RenewCame, StopAsked, ParentGone},
    Phase.YIELDING: {ReleaseCame, StopAsked, ParentGone},
    Phase.LEAVING: {ReleaseCame, StopAsked, ParentGone},
    Phase.GONE: {StopAsked, ParentGone},
}


def test_the_table_holds_exactly_the_pairs_that_are_meant():
    assert {(phase, kind) for phase, kinds in MEANT.items() for kind in kinds} == set(TABLE)


def test_a_signal_that_cannot_happen_is_loud_and_names_what_can():
    with pytest.raises(IllegalSignal, match="RunEnded while asking; legal: .*PollCame"):
        Play().started().give(RunEnded(Executed("done")))


def test_sources_are_awaited_before_the_first_poll():
    play = Play()
    assert play.give(Began()) == [FetchSources()]
    poll = play.give(SourcesCame(None, why="the gateway answered 500"))
    assert told(poll, "error")[0]["what"] == "sources" and kinds(poll) == ["Poll"]


def test_the_first_poll_states_every_tool_and_no_generation():
    play = Play()
    play.give(Began())
    (poll,) = sent(play.give(SourcesCame([])))
    assert poll == {"kind": "Poll", "workerId": ME, "tools": [tool.descriptor() for tool in TOOL.values()]}


# -- polling -----------------------------------------------------------------------------


@pytest.mark.parametrize("reply", [Denied("worker_lease_held", 200), Denied("anything_at_all", 409), Denied(None, 404)])
def test_a_refused_poll_drops_the_lease_and_asks_again_after_five_seconds(reply):
    play = Play()
    play.held()
    play.advance(1)
    play.give(PollCame(reply))
    assert play.core.keeper.lease is None
    assert kinds(play.advance(4.9)) == []
    (again,) = sent(play.advance(0.2))
    assert again["kind"] == "Poll" and again["workerId"] == ME and "workerGeneration" not in again


def test_a_lost_first_answer_is_asked_again_with_the_same_instance():
    play = Play().started()
    play.give(PollCame(Silent("cut")))
    (again,) = sent(play.advance(5))
    assert again["kind"] == "Poll" and "workerGeneration" not in again
    play.polled()
    assert play.core.keeper.lease.generation == 1


def test_the_window_of_a_lease_is_told_in_whole_milliseconds():
    play = Play().started()
    play.polled()
    (facts,) = told(play.deeds, "lease")
    assert repr(facts["windowMs"]) == "60000"


def test_a_lost_answer_keeps_the_generation_while_its_lease_is_live():
    play = Play()
    play.held()
    play.advance(1)
    play.give(PollCame(Silent("cut")))
    (again,) = sent(play.advance(5))
    assert again["workerGeneration"] == 1


def test_a_lost_answer_states_no_generation_once_the_lease_has_lapsed():
    play = Play(lease_ms=4_000, heartbeat_ms=1_000)
    play.held()
    play.advance(0.3)
    play.give(PollCame(Silent("cut")))
    play.clock.advance(6)
    deeds = play.core.tick(play.now())
    polls = [operation for operation in sent(deeds) if operation["kind"] == "Poll"]
    assert polls and "workerGeneration" not in polls[0]


@pytest.mark.parametrize("spoil", [
    lambda lease: lease.update(workerId="wkr_somebody_else"),
    lambda lease: lease.update(workerGeneration=0),
    lambda lease: lease.update(workerGeneration=True),
    lambda lease: lease.update(expiresAt="2026-02-31T00:00:00.000Z"),
    lambda lease: lease.update(expiresAt=lease["serverTime"]),
    lambda lease: lease.update(heartbeatAfterMs=60_000),
    lambda lease: lease.pop("serverTime"),
])
def test_an_unusable_lease_holds_nothing_and_runs_no_row_of_its_answer(spoil):
    play = Play().started()
    lease = play.lease()
    spoil(lease)
    deeds = play.give(PollCame(Accepted({"accepted": True, "lease": lease, "payload": {"work": [play.row()]}})))
    assert kinds(deeds) == [] and play.core.keeper.lease is None
    assert kinds(play.advance(5)) == ["Poll"]


def test_a_lower_generation_than_the_one_held_is_no_lease():
    play = Play().started()
    play.polled(generation=7)
    play.advance(0.3)
    play.polled(play.row(generation=6), generation=6)
    assert play.core.keeper.lease is None and "ClaimWork" not in kinds(play.deeds)


def test_an_older_snapshot_of_the_same_generation_changes_nothing_and_its_rows_are_worked():
    play = Play()
    play.held()
    play.advance(0.3)
    before = play.core.keeper.lease
    deeds = play.polled(play.row(), age_s=30)
    assert play.core.keeper.lease is before and kinds(deeds) == ["ClaimWork"]


def test_a_lease_inside_the_payload_is_refused():
    play = Play().started()
    deeds = play.give(PollCame(Accepted({"accepted": True, "lease": play.lease(), "payload": {"work": [], "lease": play.lease()}})))
    assert play.core.keeper.lease is None and kinds(deeds) == []


def test_a_held_line_is_told_once_and_not_every_five_seconds():
    play = Play().started()
    for _ in range(3):
        play.give(PollCame(Denied("worker_lease_held", 200)))
        play.advance(5)
    assert [facts["code"] for facts in told(play.deeds, "availability")] == ["worker_lease_held"]


def test_a_gateway_that_does_not_hold_polls_is_not_flooded():
    play = Play()
    play.held()
    play.clock.advance(0.01)
    assert kinds(play.polled()) == []
    assert kinds(play.advance(0.3)) == ["Poll"]


# -- renewals ------------------------------------------------------------------------------


@pytest.mark.parametrize("lease_ms, heartbeat_ms, elapsed_s, due_s", [
    (60_000, 10_000, 0, 10.0),
    (60_000, 10_000, 4, 6.0),
    (60_000, 10_000, 9.5, 1.0),        # never closer than a second
    (60_000, 55_000, 0, 50.0),         # the reserve of ten seconds comes first
    (8_000, 7_000, 0, 6.0),            # a quarter of a short window
    (60_000, 55_000, 52, 0.0),
    (60_000, 1, 0, 1.0),
])
def test_the_next_renewal_is_due_as_the_table_says(lease_ms, heartbeat_ms, elapsed_s, due_s):
    play = Play(lease_ms, heartbeat_ms).started()
    play.polled()
    play.clock.advance(elapsed_s)
    assert play.core.keeper.renewal_due_s(play.now()) == pytest.approx(due_s)


def test_the_window_runs_from_the_moment_the_request_was_sent():
    play = Play().started()
    play.clock.advance(30)
    play.polled()
    assert play.core.keeper.remaining_ms(play.now()) == pytest.approx(30_000)


def test_a_machine_that_slept_sees_its_lease_gone_on_the_wall_clock():
    play = Play()
    play.held()
    asleep = Moment(play.clock.monotonic_s() + 1, play.clock.wall_s() + 90)
    assert not play.core.keeper.is_live(asleep)


def test_the_lease_is_renewed_while_a_poll_waits():
    play = Play()
    play.held()
    play.advance(0.3)
    deeds = play.advance(10)
    assert kinds(deeds) == ["RenewLease"]
    play.give(RenewCame(Accepted({"accepted": True, "lease": play.lease()})))
    assert play.core.phase is Phase.ASKING and play.core.keeper.is_live(play.now())


@pytest.mark.parametrize("lost", [Denied("worker_lease_lost", 200), Denied(None, 409)])
def test_a_late_poll_answer_after_the_loss_is_thrown_away(lost):
    play = Play()
    play.held()
    play.advance(0.3)
    play.advance(10)
    play.give(RenewCame(lost))
    deeds = play.polled(play.row())
    assert "ClaimWork" not in kinds(deeds)
    assert kinds(deeds) == ["Poll"] and "workerGeneration" not in sent(deeds)[0]


def test_an_uncertain_renewal_is_tried_again_while_the_lease_is_live():
    play = Play()
    play.held()
    play.advance(0.3)
    waits = []
    play.advance(10)
    for _ in range(4):
        play.give(RenewCame(Silent("the gateway answered 503")))
        before = play.clock.monotonic_s()
        while not kinds(play.advance(play.core.due_s(play.now()))):
            pass
        waits.append(round(play.clock.monotonic_s() - before, 3))
    assert waits == [1, 2, 4, 4]
    assert play.core.keeper.is_live(play.now())


def test_a_renewal_that_comes_after_the_lapse_acquires_nothing():
    play = Play(lease_ms=4_000, heartbeat_ms=1_000)
    play.held()
    play.advance(0.3)
    play.advance(1)
    play.clock.advance(10)
    play.give(RenewCame(Accepted({"accepted": True, "lease": play.lease()})))
    assert play.core.keeper.lease is None


def test_the_answer_to_an_old_generations_renewal_leaves_the_new_lease_alone():
    play = Play(lease_ms=4_000, heartbeat_ms=1_000)
    play.held()
    play.advance(0.3)
    play.advance(1)
    play.clock.advance(10)
    play.give(PollCame(Silent("cut")))
    play.advance(5)
    play.polled(generation=2)
    play.give(RenewCame(Accepted({"accepted": True, "lease": play.lease(generation=1)})))
    assert play.core.keeper.lease.generation == 2


def test_a_claim_waits_for_the_renewal_in_flight():
    play = Play()
    play.held()
    play.advance(0.3)
    play.advance(10)
    assert kinds(play.polled(play.row())) == []
    assert kinds(play.give(RenewCame(Accepted({"accepted": True, "lease": play.lease()})))) == ["ClaimWork"]


def test_a_claim_that_waited_for_a_lost_lease_is_never_sent():
    play = Play()
    play.held()
    play.advance(0.3)
    play.advance(10)
    play.polled(play.row())
    deeds = play.give(RenewCame(Denied("worker_lease_lost", 200)))
    assert kinds(deeds) == ["Poll"] and "workerGeneration" not in sent(deeds)[0]


def test_a_receipt_waits_for_the_renewal_in_flight_and_goes_whatever_it_says():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.advance(10)
    assert kinds(play.give(RunEnded(Executed("done")))) == []
    (report,) = sent(play.give(RenewCame(Denied("worker_lease_lost", 200))))
    assert report["kind"] == "ReportWork" and report["workerGeneration"] == 1


def test_a_lost_lease_is_told_once():
    play = Play(lease_ms=4_000, heartbeat_ms=1_000)
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.advance(20)
    play.advance(20)
    assert len([facts for facts in told(play.deeds, "lease") if facts.get("lost")]) == 1


# -- batches -------------------------------------------------------------------------------


def test_a_lost_lease_leaves_the_rest_of_the_batch_unclaimed():
    play = Play(lease_ms=4_000, heartbeat_ms=1_000)
    play.held(play.row("inv_1"), play.row("inv_2"))
    play.give(ClaimCame(OK))
    play.clock.advance(10)
    play.give(RunEnded(Executed("done")))
    deeds = play.give(ReportCame(OK))
    assert kinds(deeds) == ["Poll"] and "workerGeneration" not in sent(deeds)[0]
    assert [operation["id"] for operation in sent(play.deeds) if operation["kind"] == "ClaimWork"] == ["inv_1"]
    assert sum(operation["kind"] == "ReportWork" and operation["workerGeneration"] == 1 for operation in sent(play.deeds)) == 1


def test_the_batch_is_worked_by_kind_and_stable_inside_each():
    play = Play()
    others = [{"workType": kind, "work": kind} for kind in ("evidence", "unheard_of", "verification", "review")]
    deeds = play.held(*others, play.row("inv_1"), play.row("inv_2"))
    while play.core.phase is not Phase.ASKING:
        claim = play.give(ClaimCame(OK)) if play.core.phase is Phase.CLAIMING else []
        deeds += claim
        if play.core.phase is Phase.RUNNING:
            deeds += play.give(RunEnded(Executed("done")))
            deeds += play.give(ReportCame(OK))
    order = [operation["id"] for operation in sent(deeds) if operation["kind"] == "ClaimWork"]
    assert order == ["inv_1", "inv_2"]
    assert [facts["invocation"] for facts in told(deeds, "skip")] == ["review", "verification", "evidence", "unheard_of"]
    assert {facts["code"] for facts in told(deeds, "skip")} == {"work_not_built", "row_malformed", "reviewer_absent"}


def test_one_bad_row_never_stops_the_batch():
    play = Play()
    bad = play.row("inv_bad")
    bad["caseId"] = "case_1"
    deeds = play.held(bad, {"workType": "action"}, play.row("inv_good"))
    assert [operation["id"] for operation in sent(deeds)] == ["inv_good"]
    assert [facts["code"] for facts in told(deeds, "skip")] == ["row_retired_member", "row_malformed"]


def test_a_row_nobody_can_take_is_said_once_and_not_polled_in_a_loop():
    play = Play()
    bad = {**play.row("inv_bad"), "toolDigest": "f" * 64}
    play.held(bad)
    assert play.core.phase is Phase.RESTING
    for _ in range(5):
        play.advance(5)
        play.polled(bad)
    assert [facts["code"] for facts in told(play.deeds, "skip")] == ["tool_pin_mismatch"]


def test_an_unknown_source_is_asked_for_once_before_the_row_is_judged():
    play = Play()
    row = play.row(sourceRecordId="orders", args='{"n":1,"source":"orders"}')
    assert play.held(row)[-1] == FetchSources()
    deeds = play.give(SourcesCame([]))
    assert [facts["code"] for facts in told(deeds, "skip")] == ["source_free_has_source"]


# -- claim, run, report ----------------------------------------------------------------------


@pytest.mark.parametrize("reply", [Denied("already_claimed", 200), Denied("anything", 409), Silent("cut")])
def test_a_claim_refused_or_unanswered_runs_nothing(reply):
    play = Play()
    play.held(play.row())
    deeds = play.give(ClaimCame(reply))
    assert not any(isinstance(deed, Run) for deed in play.deeds) and "ReportWork" not in kinds(deeds)


def test_after_a_claim_without_an_answer_the_line_is_left_and_asked_for_again():
    """The call may be ours and is run by nobody: it stays pending until the fence moves, and a live Worker would hold it for ever."""
    play = Play()
    play.held(play.row(), play.row("inv_2"))
    assert kinds(play.give(ClaimCame(Silent("cut")))) == ["ClaimWork"]         # the rest of the batch goes on
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    left = play.give(ReportCame(OK))
    assert kinds(left) == ["ReleaseLease"] and sent(left)[0]["workerGeneration"] == 1
    asked = play.give(ReleaseCame(OK))
    assert kinds(asked) == ["Poll"] and "workerGeneration" not in sent(asked)[0]
    assert kinds(play.polled(generation=3)) == [] and kinds(play.advance(0.3)) == ["Poll"]


def test_a_receipt_never_answered_leaves_the_line_too():
    play = Play(lease_ms=600_000, heartbeat_ms=500_000)
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    for _ in range(3):
        play.give(ReportCame(Silent("cut")))
        assert kinds(play.advance(12.001)) == ["ReportWork"]
    assert kinds(play.give(ReportCame(Silent("cut")))) == ["ReleaseLease"]


@pytest.mark.parametrize("reply, then", [
    (Denied("worker_lease_lost", 200), "Poll"), (Silent("cut"), "Poll"), (Rejected(), None),
])
def test_a_line_left_in_doubt_is_asked_for_again_whatever_the_release_says(reply, then):
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(Silent("cut")))
    play.advance(5)
    assert play.core.phase is Phase.YIELDING
    assert kinds(play.give(ReleaseCame(reply))) == ([then] if then else [])
    assert play.core.phase is (Phase.ASKING if then else Phase.GONE)


@pytest.mark.parametrize("end", [StopAsked(), ParentGone()])
def test_a_line_left_in_doubt_ends_when_it_is_told_to(end):
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(Silent("cut")))
    play.advance(5)
    deeds = play.give(end)
    if isinstance(end, ParentGone):
        assert Abandon(ReleaseCame) in deeds and kinds(deeds) == ["ReleaseLease"]
    assert Exit(0) in play.give(ReleaseCame(OK))


def test_a_claim_answered_after_the_lease_passed_starts_nothing_and_says_so():
    """The machine slept: whoever holds the line now may have settled the call, so an act now would be one too many."""
    play = Play()
    play.held(play.row())
    play.clock.advance(61)
    deeds = play.give(ClaimCame(OK))
    assert not any(isinstance(deed, Run) for deed in deeds)
    report = sent(deeds)[0]
    assert (report["kind"], report["ok"], report["workerGeneration"]) == ("ReportWork", False, 1)
    assert report["reason"].startswith("not_run: claim_too_late")
    assert told(deeds, "skip")[0]["code"] == "claim_too_late"


def test_a_call_claimed_here_is_never_claimed_again():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    play.give(ReportCame(Denied("worker_fenced", 200)))
    play.polled(play.row())
    assert sum(isinstance(deed, Run) for deed in play.deeds) == 1
    assert told(play.deeds, "skip")[0]["code"] == "already_run_here"


def test_a_receipt_is_sent_at_most_four_times_and_always_the_same_bytes():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    bodies = [deed.body for deed in play.give(RunEnded(Executed("done"))) if isinstance(deed, Send)]
    waits = []
    for _ in range(3):
        play.give(ReportCame(Silent("the gateway answered 500")))
        before = play.clock.monotonic_s()
        while True:
            fresh = play.advance(play.core.due_s(play.now()))
            if any(operation["kind"] == "RenewLease" for operation in sent(fresh)):
                play.give(RenewCame(Accepted({"accepted": True, "lease": play.lease()})))
            reports = [deed for deed in fresh if isinstance(deed, Send) and deed.answer is ReportCame]
            if reports:
                break
        waits.append(round(play.clock.monotonic_s() - before))
        bodies += [deed.body for deed in reports]
    deeds = play.give(ReportCame(Silent("cut")))
    assert waits == [1, 4, 12] and len(bodies) == 4 and len(set(bodies)) == 1
    assert told(deeds, "reported")[0]["code"] == "report_unanswered"
    assert kinds(deeds) == ["ReleaseLease"]      # and then asked for again, so that a person may settle the call


@pytest.mark.parametrize("code", ["worker_fenced", "already_reported", "not_claimer", "ingest_rejected"])
def test_a_refused_failure_receipt_is_final(code):
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Failed("no")))
    deeds = play.give(ReportCame(Denied(code, 200)))
    assert kinds(deeds) == ["Poll"] and told(deeds, "reported")[0]["landed"] is False


def test_a_write_the_gateway_will_not_ingest_is_reported_once_more_as_undeliverable():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    (report,) = sent(play.give(ReportCame(Denied("ingest_rejected", 200, "fact 1: acme.row.n is 'x'"))))
    assert report["undeliverable"] == "result_not_recorded" and "ok" not in report
    deeds = play.give(ReportCame(OK))
    assert "acme.row.n is 'x'" in told(deeds, "reported")[-1]["reason"] and kinds(deeds) == ["Poll"]


def test_a_read_the_gateway_will_not_ingest_becomes_one_failure_receipt():
    play = Play()
    play.held(play.row(tool="test.look@1"))
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    (report,) = sent(play.give(ReportCame(Denied("ingest_rejected", 200, "fact 1: acme.row.n is 'x'"))))
    assert report["ok"] is False and report["reason"].startswith("result_not_recorded: ingest_rejected")
    assert "acme.row.n is 'x'" in report["reason"]
    assert kinds(play.give(ReportCame(Denied("ingest_rejected", 200)))) == ["Poll"]


def test_after_an_uncertain_send_no_other_receipt_takes_its_place():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    play.give(ReportCame(Silent("cut")))
    play.advance(1)
    assert kinds(play.give(ReportCame(Denied("ingest_rejected", 200)))) == ["Poll"]


@pytest.mark.parametrize("status", [400, 422])
def test_an_undeliverable_report_answered_400_or_422_is_final(status):
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    (report,) = sent(play.give(RunEnded(Withheld("adapter_output_exceeds_object_budget"))))
    assert report["undeliverable"] == "adapter_output_exceeds_object_budget"
    assert not {"ok", "result", "reason", "facts", "artifacts"} & set(report)
    assert kinds(play.give(ReportCame(Denied(None, status)))) == ["Poll"]


def test_a_4xx_without_a_code_is_no_certain_answer_to_a_receipt():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    play.give(ReportCame(Denied(None, 404)))
    assert play.core.phase is Phase.RESENDING


# -- stopping --------------------------------------------------------------------------------


def test_a_stop_while_idle_releases_and_ends_with_0():
    play = Play()
    play.held()
    play.advance(0.3)
    deeds = play.give(StopAsked())
    assert Abandon(PollCame) in deeds and sent(deeds) == [{"kind": "ReleaseLease", "workerId": ME, "workerGeneration": 1}]
    assert play.give(ReleaseCame(OK))[-1] == Exit(0)


def test_a_stop_while_running_finishes_reports_and_takes_nothing_new():
    play = Play()
    play.held(play.row("inv_1"), play.row("inv_2"))
    play.give(ClaimCame(OK))
    assert play.give(StopAsked()) == []
    assert kinds(play.give(RunEnded(Executed("done")))) == ["ReportWork"]
    deeds = play.give(ReportCame(OK))
    assert kinds(deeds) == ["ReleaseLease"]
    assert play.give(ReleaseCame(Silent("cut")))[-1] == Exit(0)


def test_a_stop_during_the_first_poll_waits_a_moment_for_a_lease_to_release():
    play = Play().started()
    assert play.give(StopAsked()) == []
    assert kinds(play.polled(play.row())) == ["ReleaseLease"]


def test_a_stop_during_a_first_poll_that_is_never_answered_ends_anyway():
    play = Play().started()
    play.give(StopAsked())
    assert play.advance(2)[-1] == Exit(0)


def test_the_parents_end_kills_the_tool_and_releases_without_a_report():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    deeds = play.give(ParentGone())
    assert Kill() in deeds and kinds(deeds) == ["ReleaseLease"]
    assert play.give(ReleaseCame(OK))[-1] == Exit(0)


def test_a_receipt_already_out_gets_its_answer_when_the_parent_ends():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    assert play.give(ParentGone()) == []
    assert kinds(play.give(ReportCame(OK))) == ["ReleaseLease"]


def test_a_receipt_is_not_sent_twice_for_a_parent_that_is_gone():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.give(RunEnded(Executed("done")))
    play.give(ParentGone())
    assert kinds(play.give(ReportCame(Silent("cut")))) == ["ReleaseLease"]


# -- 401 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reach, came", [
    (lambda play: play.give(Began()), lambda reply: SourcesCame(rejected=reply)),
    (lambda play: play.started(), PollCame),
    (lambda play: play.held(play.row()), ClaimCame),
    (lambda play: (play.held(play.row()), play.give(ClaimCame(OK)), play.give(RunEnded(Executed("done")))), ReportCame),
    (lambda play: (play.held(), play.advance(0.3), play.advance(10)), RenewCame),
])
def test_a_401_on_any_request_ends_with_3_and_reports_nothing_as_failed(reach, came):
    play = Play()
    reach(play)
    deeds = play.give(came(Rejected("key_revoked")))
    assert deeds[-1] == Exit(3) and kinds(deeds) == []
    assert {"state": "needs setup"} in told(deeds, "availability")


def test_a_401_on_a_renewal_lets_the_running_tool_end_and_its_report_meet_the_same_answer():
    play = Play()
    play.held(play.row())
    play.give(ClaimCame(OK))
    play.advance(10)
    deeds = play.give(RenewCame(Rejected()))
    assert not any(isinstance(deed, Exit) for deed in deeds)
    assert kinds(play.give(RunEnded(Executed("done")))) == ["ReportWork"]
    assert play.give(ReportCame(Rejected()))[-1] == Exit(3)


def test_nothing_told_ever_holds_the_key_or_a_grant():
    play = Play()
    row = play.row()
    play.held(row, {**play.row("inv_2"), "grant": "x"})
    play.give(ClaimCame(OK))
    play.give(RunEnded(Failed("no")))
    play.give(ReportCame(Denied("worker_fenced", 200)))
    everything = repr([deed for deed in play.deeds if isinstance(deed, Tell)]) + repr(play.core) + repr(play.deeds)
    assert KEY not in everything and row["executionGrant"] not in everything
