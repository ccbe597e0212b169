"""Operations: the state table, the write gate, delivery and acknowledgement, the strip."""

import itertools
import json

import pytest

from rulith.base.errors import Refused
from rulith.board import operations as law
from rulith.board.operations import EVENTS, SETTLED, STATES, TABLE, Operations, call_label, step

PLAN = {"action": "demo.ship", "connectionId": "conn_1", "caseIds": ["case_1"], "effects": [], "returns": []}
GOOD = {"accepted": True, "result": {"action": "demo.ship", "done": True, "status": "confirmed", "ok": True}}


class Ops:
    def __init__(self):
        self.law, self.rows = Operations("agt_1"), []
        self._moment, self._ids = itertools.count(1), itertools.count(1)
        self.frozen = None

    def at(self):
        return self.frozen or f"2026-10-03T08:00:{next(self._moment):02d}.000Z"

    def run(self, kind, **members):
        outcome = self.law.execute({"kind": kind, **members}, at=self.at(), mint=lambda prefix: f"{prefix}{next(self._ids):024x}")
        self.rows.append(json.loads(json.dumps(outcome.row)))
        return outcome.result

    def admit(self, tool="ApplyAction", session="s1", **members):
        return self.run("admit", tool=tool, label=f"{tool} demo", session=session, caseIds=["case_1"], **members)["ordinal"]

    def done(self, tool="ApplyBatch", session="s1", accepted=True):
        state = "done" if accepted else "refused"
        settled = {"state": state, "result": {"accepted": accepted}, "summary": "ok", **({} if accepted else {"reason": "no"})}
        return self.admit(tool, session, settled=settled)

    def strip(self, **options):
        return self.law.strip(at="2026-10-03T09:00:00.000Z", encode=json.dumps, **options)

    def claimed(self):
        ordinal = self.admit(plan=PLAN)
        self.run("dispatch", ordinal=ordinal, connectionId="conn_1", workerId="wkr_1", generation=1, requestDigest="sha256:r")
        self.run("claim", ordinal=ordinal, connectionId="conn_1", workerId="wkr_1", generation=1)
        return ordinal


@pytest.fixture
def ops():
    return Ops()


# --- the table -------------------------------------------------------------------------

MEANT_TO_BE_ILLEGAL = {
    ("admitted", "decide_approve"), ("admitted", "decide_reject"), ("admitted", "decide_expire"), ("admitted", "dispatch"),
    ("admitted", "claim"), ("admitted", "needs_person"), ("admitted", "reconcile_happened"), ("admitted", "reconcile_did_not"),
    ("admitted", "reconcile_cannot_tell"),
    ("waiting_for_decision", "settle_done"), ("waiting_for_decision", "settle_failed"), ("waiting_for_decision", "settle_refused"),
    ("waiting_for_decision", "dispatch"), ("waiting_for_decision", "claim"), ("waiting_for_decision", "needs_person"),
    ("waiting_for_decision", "reconcile_happened"), ("waiting_for_decision", "reconcile_did_not"),
    ("waiting_for_decision", "reconcile_cannot_tell"),
    ("ready", "settle_done"), ("ready", "settle_failed"), ("ready", "decide_approve"), ("ready", "decide_reject"),
    ("ready", "decide_expire"), ("ready", "claim"), ("ready", "needs_person"), ("ready", "reconcile_happened"),
    ("ready", "reconcile_did_not"), ("ready", "reconcile_cannot_tell"),
    ("dispatched", "settle_done"), ("dispatched", "settle_failed"), ("dispatched", "decide_approve"), ("dispatched", "decide_reject"),
    ("dispatched", "decide_expire"), ("dispatched", "needs_person"), ("dispatched", "reconcile_happened"),
    ("dispatched", "reconcile_did_not"), ("dispatched", "reconcile_cannot_tell"),
    # a claimed call is never offered again and never called refused: it may have run
    ("claimed", "dispatch"), ("claimed", "settle_refused"), ("claimed", "decide_approve"), ("claimed", "decide_reject"),
    ("claimed", "decide_expire"), ("claimed", "reconcile_happened"), ("claimed", "reconcile_did_not"), ("claimed", "reconcile_cannot_tell"),
    # a restored ledger doubts what may have run; a call of the Board alone is whole or not there
    ("admitted", "restored"), ("needs_person", "restored"),
    # only a person ends needs_person; a late receipt does not
    ("needs_person", "settle_done"), ("needs_person", "settle_failed"), ("needs_person", "settle_refused"),
    ("needs_person", "dispatch"), ("needs_person", "claim"), ("needs_person", "needs_person"), ("needs_person", "decide_approve"),
    ("needs_person", "decide_reject"), ("needs_person", "decide_expire"),
} | {(state, event) for state in SETTLED for event in EVENTS}


def test_every_pair_is_either_in_the_table_or_meant_to_be_illegal():
    assert set(TABLE) | MEANT_TO_BE_ILLEGAL == set(itertools.product(STATES, EVENTS))
    assert not set(TABLE) & MEANT_TO_BE_ILLEGAL


@pytest.mark.parametrize("state, event", sorted(MEANT_TO_BE_ILLEGAL))
def test_an_illegal_step_is_refused_naming_what_is_legal(state, event):
    with pytest.raises(Refused) as refused:
        step(state, event, 1)
    late = state in SETTLED and event.startswith("settle")
    assert refused.value.code == ("already_reported" if late else "operation_state")


# --- the path of an external call ------------------------------------------------------


def test_an_external_call_goes_from_ready_to_done(ops):
    ordinal = ops.claimed()
    entry = ops.strip()[0]
    assert entry["state"] == "running" and entry["stage"] == "at_worker" and "result" not in entry and "summary" not in entry
    ops.run("settle", ordinal=ordinal, state="done", result=GOOD, summary="confirmed")
    assert ops.law.unresolved() is None
    assert [state for state, _ in ops.law.operation(ordinal).steps] == ["ready", "dispatched", "claimed", "done"]


def test_an_unclaimed_call_is_offered_again_to_the_next_instance(ops):
    ordinal = ops.admit(plan=PLAN)
    for generation in (1, 2):
        assert [each.ordinal for each in ops.law.awaiting_worker("conn_1")] == [ordinal]
        ops.run("dispatch", ordinal=ordinal, connectionId="conn_1", workerId=f"wkr_{generation}", generation=generation, requestDigest="sha256:r")
    with pytest.raises(Refused) as refused:
        ops.run("claim", ordinal=ordinal, connectionId="conn_1", workerId="wkr_1", generation=1)
    assert refused.value.code == "not_claimer"
    assert ops.run("claim", ordinal=ordinal, connectionId="conn_1", workerId="wkr_2", generation=2)["replay"] is False
    assert ops.run("claim", ordinal=ordinal, connectionId="conn_1", workerId="wkr_2", generation=2)["replay"] is True
    assert ops.law.awaiting_worker("conn_1") == [] and ops.law.awaiting_worker("conn_2") == []


def test_a_superseded_claim_needs_a_person_and_only_a_person_ends_it(ops):
    ordinal = ops.claimed()
    assert ops.law.superseded("conn_1", 1) == [] and [each.ordinal for each in ops.law.superseded("conn_1", 2)] == [ordinal]
    ops.run("needs_person", ordinal=ordinal, reason="its Worker is gone")
    with pytest.raises(Refused):
        ops.run("settle", ordinal=ordinal, state="done", result=GOOD, summary="late")
    ops.run("reconcile", ordinal=ordinal, outcome="cannot_tell", result=GOOD, summary="nobody knows", by="owner", reason="no trace")
    assert ops.law.operation(ordinal).state == "unknown"
    assert ops.law.operation(ordinal).identity["reconciledBy"] == "owner"


@pytest.mark.parametrize("outcome, state", [("happened", "done"), ("did_not", "failed"), ("cannot_tell", "unknown")])
def test_reconciliation_settles_as_the_person_says(ops, outcome, state):
    ordinal = ops.claimed()
    ops.run("needs_person", ordinal=ordinal, reason="gone")
    assert ops.run("reconcile", ordinal=ordinal, outcome=outcome, result=GOOD, summary="s", by="owner", reason="r")["state"] == state


def test_a_decision_moves_a_waiting_call_on_or_ends_it(ops):
    decision = {"id": "dec_1", "kind": "approve it", "expiresAt": "2026-10-04T00:00:00.000Z"}
    ordinal = ops.admit(plan=PLAN, decision=decision)
    assert ops.strip()[0]["state"] == "waiting_for_decision" and ops.strip()[0]["decision"] == "approve it"
    assert ops.law.awaiting_worker("conn_1") == []
    ops.run("decide", ordinal=ordinal, verdict="approve")
    assert [each.ordinal for each in ops.law.awaiting_worker("conn_1")] == [ordinal]
    other = Ops()
    ordinal = other.admit(plan=PLAN, decision=decision)
    other.run("decide", ordinal=ordinal, verdict="reject", reason="too much")
    entry = other.strip()[0]
    assert entry["state"] == "refused" and entry["reason"] == "too much"
    third = Ops()
    ordinal = third.admit(plan=PLAN, decision=decision)
    third.run("decide", ordinal=ordinal, verdict="expire")
    assert third.strip()[0]["reason"] == "The decision expired."


# --- ordinals and times ----------------------------------------------------------------


def test_ordinals_grow_and_admission_times_strictly_increase(ops):
    ops.frozen = "2026-10-03T08:00:00.999Z"
    times = []
    for _ in range(3):
        ordinal = ops.done()
        ops.run("deliver", ordinal=ordinal, session="s1")
        times.append(ops.law.operation(ordinal).at)
    assert times == ["2026-10-03T08:00:00.999Z", "2026-10-03T08:00:01.000Z", "2026-10-03T08:00:01.001Z"]
    ops.frozen = "2020-01-01T00:00:00.000Z"
    assert ops.law.operation(ops.done()).at == "2026-10-03T08:00:01.002Z"
    assert ops.law.last_ordinal == 4


def test_a_refused_admission_consumes_no_ordinal(ops):
    ops.admit(plan=PLAN)
    with pytest.raises(Refused):
        ops.admit(plan=PLAN)
    assert ops.law.last_ordinal == 1


# --- gate, delivery, acknowledgement ---------------------------------------------------


def test_an_unresolved_operation_stands_in_the_way_of_every_tool(ops):
    ops.admit(plan=PLAN)
    for tool in law.TOOLS:
        assert ops.law.gate("s1", tool).code == "operation_running"


def test_an_undelivered_write_stands_in_the_way_of_the_next_write_only(ops):
    ordinal = ops.done()
    for tool in law.WRITES:
        assert ops.law.gate("s1", tool).code == "previous_result_undelivered"
    assert ops.law.gate("s1", "ReadArtifact") is None
    ops.run("deliver", ordinal=ordinal, session="s1")
    assert ops.law.gate("s1", "ApplyBatch") is None
    assert ops.law.gate("s2", "ApplyBatch").code == "previous_result_undelivered", "another session has not read it"


def test_the_next_request_of_the_session_acknowledges(ops):
    ordinal = ops.done()
    assert not ops.law.needs_acknowledgement("s1")
    ops.run("deliver", ordinal=ordinal, session="s1")
    assert ops.law.needs_acknowledgement("s1") and not ops.law.needs_acknowledgement("s2")
    assert ops.run("acknowledge", session="s1")["ordinals"] == [ordinal]
    assert not ops.law.needs_acknowledgement("s1")
    assert ops.law.gate("s2", "ApplyBatch") is None


def test_two_sessions_that_both_received_it_acknowledge(ops):
    ordinal = ops.done()
    ops.run("deliver", ordinal=ordinal, session="s1")
    ops.run("deliver", ordinal=ordinal, session="s2")
    assert ops.law.operation(ordinal).acknowledged_at


def test_a_cancelled_call_was_not_delivered(ops):
    ordinal = ops.done()
    ops.run("deliver", ordinal=ordinal, session="s1")
    ops.run("void_delivery", ordinal=ordinal, session="s1")
    assert ops.law.gate("s1", "ApplyBatch").code == "previous_result_undelivered"
    ops.run("deliver", ordinal=ordinal, session="s1")
    ops.run("acknowledge", session="s1")
    ops.run("void_delivery", ordinal=ordinal, session="s1")
    assert ops.law.operation(ordinal).acknowledged_at, "what was acknowledged stays so"


def test_an_unsettled_operation_cannot_be_delivered(ops):
    ordinal = ops.admit(plan=PLAN)
    with pytest.raises(Refused):
        ops.run("deliver", ordinal=ordinal, session="s1")


# --- strip -----------------------------------------------------------------------------


def test_only_the_latest_settled_write_is_shown_in_full_and_only_unacknowledged(ops):
    first = ops.done()
    ops.run("deliver", ordinal=first, session="s1")
    second = ops.done()
    rows = ops.strip(view={"total": 0})
    assert json.loads(rows[0]["result"]["content"][0]["text"]) == {"accepted": True, "view": {"total": 0}}
    assert rows[0]["result"]["isError"] is False and "summary" not in rows[0]
    assert rows[1]["summary"] == "ok" and "result" not in rows[1]
    assert "result" not in ops.strip(own=second)[0]
    ops.run("deliver", ordinal=second, session="s1")
    ops.run("acknowledge", session="s1")
    assert "result" not in ops.strip()[0]


def test_a_withheld_outcome_shows_its_class_alone(ops):
    ordinal = ops.done(accepted=False)
    row = ops.strip(withheld=frozenset({ordinal}))[0]
    assert row["state"] == "refused" and row["contentWithheld"] is True
    assert not {"result", "summary", "reason"} & set(row)


def test_the_strip_is_five_rows_newest_first_plus_what_must_not_be_lost(ops):
    write = ops.done()
    ops.run("deliver", ordinal=write, session="s1")
    for _ in range(6):
        ordinal = ops.admit("ReadArtifact", settled={"state": "done", "result": {"accepted": True}, "summary": "read"})
    rows = ops.strip()
    assert [row["tool"] for row in rows] == ["ReadArtifact"] * 5 + ["ApplyBatch"]
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert [row["ordinal"] for row in ops.law.state_form(at="2026-10-03T09:00:00.000Z")] == [ordinal, *range(ordinal - 1, ordinal - 5, -1), write]
    ops.run("acknowledge", session="s1")
    assert len(ops.strip()) == 6, "within a day of its acknowledgement it stays"
    assert len(ops.law.strip(at="2026-10-05T09:00:00.000Z", encode=json.dumps)) == 5


def test_the_state_form_carries_states_and_no_content(ops):
    ops.claimed()
    (row,) = ops.law.state_form(at="2026-10-03T09:00:00.000Z")
    assert set(row) == {"ordinal", "tool", "label", "state", "stage", "at", "since"}


def test_strips_show_no_minted_id_and_no_ordinal(ops):
    ops.claimed()
    text = json.dumps(ops.strip())
    assert "inv_" not in text and "ordinal" not in text and "wkr_" not in text


@pytest.mark.parametrize("tool, arguments, label", [
    ("OpenCase", {"caseType": "exploration"}, "OpenCase exploration"), ("OpenCase", {"caseId": "case_1"}, "OpenCase case_1"),
    ("ApplyBatch", {"operations": []}, "ApplyBatch"), ("ApplyAction", {"action": "demo.ship", "args": {}}, "ApplyAction demo.ship"),
    ("ApplyAction", {"action": "demo.ship", "target": "root_1"}, "ApplyAction demo.ship root_1"),
    ("CloseCase", {"root": "root_1"}, "CloseCase root_1"), ("ReadArtifact", {"ref": "art_1"}, "ReadArtifact art_1"),
    ("ApplyAction", {"action": "x" * 500}, ("ApplyAction " + "x" * 500)[:200]), ("ApplyAction", {"action": 5}, "ApplyAction")])
def test_labels_come_from_the_calls_own_input(tool, arguments, label):
    assert call_label(tool, arguments) == label


# --- several, memory, replay -----------------------------------------------------------


def test_several_commands_are_one_row_or_nothing(ops):
    settled = {"state": "done", "result": {"accepted": True}, "summary": "ok"}
    admit = {"kind": "admit", "tool": "ApplyBatch", "label": "ApplyBatch", "session": "s1", "caseIds": [], "settled": settled}
    ops.run("several", commands=[admit, {"kind": "deliver", "ordinal": 1, "session": "s1"}])
    with pytest.raises(Refused):
        ops.run("several", commands=[{**admit}, {"kind": "deliver", "ordinal": 99, "session": "s1"}])
    assert ops.law.last_ordinal == 1 and len(ops.rows) == 1 and len(ops.law.operations) == 1


@pytest.mark.parametrize("tool, accepted", list(itertools.product(("OpenCase", "ApplyBatch", "ReadArtifact"), (True, False))))
def test_one_admission_says_what_three_commands_said(tool, accepted):
    """What was read, the call and its delivery, in one row: the same operations and strip as one by one."""
    def play(at_once):
        found = Ops()
        found.frozen = "2026-10-03T08:00:00.000Z"
        for number in range(9):
            settled = {"state": "done" if accepted or number % 2 else "refused", "result": {"accepted": accepted, "n": number}, "summary": f"n {number}", "reason": "no"}
            admit = {"kind": "admit", "tool": tool, "label": tool, "session": "s1", "caseIds": ["case_1"], "settled": settled}
            if at_once:
                found.run(**admit, acknowledges=True, delivers=True)
            else:
                found.run("several", commands=[{"kind": "acknowledge", "session": "s1"}, admit, {"kind": "deliver", "ordinal": number + 1, "session": "s1"}])
        return found.law
    once, by_one = play(True), play(False)
    assert once.operations == by_one.operations and once.last_at == by_one.last_at and once.settled_write == by_one.settled_write
    assert once.strip(at=once.last_at, encode=json.dumps) == by_one.strip(at=by_one.last_at, encode=json.dumps)
    assert once.unresolved() is None


def test_a_call_that_is_not_settled_cannot_be_delivered_by_its_admission(ops):
    with pytest.raises(Refused) as refused:
        ops.admit(plan=PLAN, delivers=True)
    assert refused.value.code == "bad_command" and ops.law.last_ordinal == 0


def test_the_strips_text_is_the_strip_whatever_was_written_before(ops):
    """Rows are remembered as text; who read an outcome moves an operation and no row."""
    for number in range(8):
        ordinal = ops.done()
        for _ in range(2):
            assert json.loads(ops.law.strip_text(at="2026-10-03T09:00:00.000Z", encode=json.dumps)) == ops.strip()
        ops.run("deliver", ordinal=ordinal, session="s1")
        if number % 2:
            ops.run("acknowledge", session="s1")
        assert json.loads(ops.law.strip_text(at="2026-10-03T09:00:00.000Z", encode=json.dumps)) == ops.strip()


def test_old_plain_operations_are_forgotten_external_ones_are_not(ops):
    external = ops.claimed()
    ops.run("settle", ordinal=external, state="done", result=GOOD, summary="confirmed")
    ops.run("deliver", ordinal=external, session="s1")
    for _ in range(400):
        ops.frozen = "2026-10-03T08:00:00.000Z"
        ops.run("deliver", ordinal=ops.done(), session="s1")
    assert len(ops.law.operations) < 250 and external in ops.law.operations
    again = Operations("agt_1")
    for row in ops.rows:
        again.replay(row)
    assert again.operations == ops.law.operations
