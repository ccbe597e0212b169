"""The worked example from opening to certified close, and what must never close it."""

import json

import pytest

from rulith.base.canonical import digest
from rulith.base.errors import Refused

P = "rulith.verified_calculation."


def test_a_case_closes_completed_once_read_written_and_read_back(play):
    case = play.whole()
    status = play.view(case)["taskStatus"][case["root"]]
    assert status["certified"] and [leaf["tier"] for leaf in status["leaves"]] == ["attested", "attested"]
    closed = play.run("close_case", root=case["root"])
    assert closed == {"caseId": case["caseId"], "root": case["root"], "disposition": "completed", "certified": True}


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_no_case_closes_completed_before_its_read_back(play, steps):
    case = play.open()
    for step in (play.read, play.write)[:steps]:
        step(case)
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"])
    assert refused.value.code == "case_not_certified"


def test_a_read_back_that_differs_from_the_derived_totals_certifies_nothing(play):
    case = play.open()
    play.read(case)
    play.write(case)
    play.verify(case, total=9594)
    assert not play.board.is_certified(case["caseId"])


def test_opening_names_task_vocabulary_and_drive(play):
    case = play.open()
    assert [row["node"] for row in case["taskNodes"]] == [f"{case['root']}/calculated", f"{case['root']}/read_back"]
    assert case["drive"] == [P + "read_input", P + "write_output", P + "verify_output"]
    assert case["vocabulary"][2] == P + "total(cents, job_id)"


def test_the_arguments_of_a_plan_are_the_exact_bytes_to_serve(play):
    case = play.open()
    play.read(case)
    plan = play.plan(case, "write_output")
    assert plan.args_text == ('{"job_id":"calc-001","source":"verified-calculation-local",'
                              '"subtotal_cents":9093,"total_cents":9593}')
    spec = json.loads(plan.tool_spec_text)
    assert set(spec) == {"name", "kind", "impl", "params", "exec", "sourceTypes", "returns"}
    assert spec["exec"] == plan.tool and spec["impl"] == "worker-tool"
    assert [node["predicate"] for node in plan.premises][-1] == P + "total"


def test_a_numeric_looking_job_is_served_as_text_again(play):
    """The key "5" is the number 5 inside the Board, and the Tool's parameter is a text."""
    case = play.run("open_case", caseType="verified_calculation", businessKey={"job_id": "5"})
    plan = play.plan(case, "read_input")
    assert plan.args["job_id"] == "5"
    assert play.read(case)["status"] == "confirmed"


def test_prices_beyond_the_exact_range_leave_a_gap_naming_rule_and_operands(play):
    case = play.open("calc-big")
    play.read(case, price=9007199254740991, quantity=2, shipping=0)
    gaps = play.view(case)["gaps"]
    assert {gap["kind"] for gap in gaps} == {"arithmetic_exact"}
    assert gaps[0]["ruleLabel"] == "subtotal = unit price × quantity"
    assert gaps[0]["operands"] == {"left": 9007199254740991, "right": 2, "op": "mul"}
    with pytest.raises(Refused) as refused:
        play.plan(case, "write_output")
    assert refused.value.code == "precondition_not_met"


def test_the_sum_may_leave_the_exact_range_too(play):
    case = play.open("calc-edge")
    play.read(case, price=9007199254740991, quantity=1, shipping=1)
    gap = play.view(case)["gaps"][0]
    assert gap["ruleLabel"] == "total = subtotal + shipping" and gap["operands"]["op"] == "add"


def test_an_unmet_leaf_says_what_is_missing_and_which_action_supplies_it(play):
    case = play.open()
    first, second = play.view(case)["gaps"]
    assert first["kind"] == "leaf_gap" and first["via"] == [P + "read_input"]
    assert any("input(job_id=calc-001" in text for text in first["missing"])
    assert second["rule"].endswith("/acceptance/read_back")


def test_the_proof_of_the_total_reaches_the_receipt_that_attests_it(play):
    case = play.open()
    play.read(case)
    proof = play.board.proof({"predicate": P + "total", "args": {"job_id": "calc-001", "cents": 9593}})
    assert proof["by"]["label"] == "total = subtotal + shipping" and proof["by"]["law"] is True
    assert proof["computed"] == [{"op": "add", "left": 9093, "right": 500, "result": 9593}]
    subtotal, source = proof["premises"]
    assert subtotal["computed"][0]["op"] == "mul"
    assert source["by"]["kind"] == "receipt" and source["by"]["source"] == "verified-calculation-local"
    assert source["witness"] is True and source["tier"] == "attested"


def test_a_closed_case_keeps_its_proofs_and_its_history(play):
    case = play.whole()
    play.run("close_case", root=case["root"])
    detail = play.board.case_detail(case["caseId"])
    assert all(leaf["met"] for leaf in detail["tree"]) and detail["case"]["certified"]
    proof = play.board.proof(f'derived:acceptance_met|node:"{case["root"]}/read_back"')
    assert proof["by"]["law"] is True
    history = play.board.case_history(case["root"], limit=3)
    assert history["status"] == "available" and history["truncated"] and history["nextOffset"] == 3
    rest = play.board.case_history(case["root"], offset=3, version=history["historyVersion"])
    assert len(history["facts"]) + len(rest["facts"]) == len(detail["facts"])
    with pytest.raises(Refused) as refused:
        play.board.case_history(case["root"], version="history:" + "0" * 64)
    assert refused.value.code == "stale_revision"


def test_rows_rebuild_the_same_board(play):
    case = play.whole()
    play.run("close_case", root=case["root"])
    again = play.refold()
    assert again.closure_digest() == play.board.closure_digest()
    assert digest(again.case_detail(case["caseId"])) == digest(play.board.case_detail(case["caseId"]))


# --- business keys ---------------------------------------------------------------------


def test_the_same_key_focuses_the_live_case(play):
    first, second = play.open(), play.open()
    assert second["caseId"] == first["caseId"] and second["opened"] is False


def test_a_completed_key_is_closed_for_good(play):
    case = play.whole()
    play.run("close_case", root=case["root"])
    with pytest.raises(Refused) as refused:
        play.open()
    assert refused.value.code == "case_closed" and refused.value.facts["case"] == case["caseId"]


def test_after_any_other_disposition_the_key_opens_again(play):
    case = play.open()
    play.run("close_case", root=case["root"], disposition="abandoned", reason="the order was withdrawn")
    again = play.open()
    assert again["opened"] and again["caseId"] != case["caseId"]


def test_a_case_that_did_not_complete_leaves_no_reading_behind_but_what_it_did(play):
    """A wrong input read once must not bind the key for ever; a write that happened stays happened."""
    case = play.open()
    play.read(case, price=1)
    play.write(case)
    play.run("close_case", root=case["root"], disposition="failed", reason="the price was wrong")
    again = play.open()
    assert not play.holds(P + "input", job_id="calc-001") and play.holds(P + "write_settled", job_id="calc-001")
    play.read(again)
    assert play.holds(P + "total", job_id="calc-001", cents=9593)
    with pytest.raises(Refused):
        play.plan(again, "write_output")


@pytest.mark.parametrize("key", [None, {}, {"job": "x"}, {"job_id": "x", "more": 1}, {"job_id": 7}, {"job_id": True},
                                 {"job_id": ""}, {"job_id": "?x"}, {"job_id": None}, ["calc-001"]])
def test_a_key_that_is_not_as_the_contract_says_opens_nothing(play, key):
    with pytest.raises(Refused) as refused:
        play.run("open_case", caseType="verified_calculation", businessKey=key)
    assert refused.value.code == "bad_business_key"


def test_unknown_case_types_are_refused_with_the_known_ones(play):
    with pytest.raises(Refused) as refused:
        play.run("open_case", caseType="nothing_such")
    assert refused.value.code == "unknown_case_type" and "verified_calculation" in refused.value.teaching


# --- closing and holds -----------------------------------------------------------------


@pytest.mark.parametrize("disposition", ["cancelled", "failed", "abandoned", "superseded"])
def test_every_other_disposition_needs_a_reason(play, disposition):
    case = play.open()
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"], disposition=disposition)
    assert refused.value.code == "bad_command"
    assert play.run("close_case", root=case["root"], disposition=disposition, reason="because")["certified"] is False


def test_an_open_obligation_keeps_a_case_open(play):
    case = play.whole()
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"], obligations=["ApplyAction demo.ship"])
    assert refused.value.code == "case_busy"


def test_a_held_case_takes_no_write_until_every_hold_is_lifted(play):
    case = play.open()
    play.run("pause_case", caseId=case["caseId"], hold="operator")
    play.run("pause_case", caseId=case["caseId"], hold="policy")
    for attempt in (lambda: play.open(), lambda: play.plan(case, "read_input"),
                    lambda: play.batch(case, {"op": "assert_fact", "predicate": "note"}),
                    lambda: play.run("close_case", root=case["root"])):
        with pytest.raises(Refused) as refused:
            attempt()
        assert refused.value.code == "case_paused"
    assert {row["reason"] for row in play.view(case)["actions"]} == {"case_paused"}
    assert play.run("lift_hold", caseId=case["caseId"], hold="policy")["status"] == "paused"
    assert play.run("lift_hold", caseId=case["caseId"], hold="operator")["status"] == "running"
    assert play.open()["status"] == "running"


def test_a_hold_says_who_set_it_when_and_why(play):
    case = play.open()
    play.run("pause_case", caseId=case["caseId"], hold="operator", by="owner", reason="the customer called")
    about, = play.board.cases(live=True)
    hold, = about["holds"]
    assert (about["status"], hold["hold"], hold["by"], hold["reason"]) == ("paused", "operator", "owner", "the customer called") and hold["at"]
    with pytest.raises(Refused) as refused:
        play.open()
    assert "operator (the customer called)" in refused.value.teaching
    with pytest.raises(Refused) as refused:
        play.run("pause_case", caseId=case["caseId"], hold="operator", by="owner", reason="another reason")
    assert refused.value.code == "case_hold_stands"
    assert play.run("lift_hold", caseId=case["caseId"], hold="operator", by="owner", reason="paid")["status"] == "running"
    with pytest.raises(Refused) as refused:
        play.run("lift_hold", caseId=case["caseId"], hold="operator", by="owner", reason="paid")
    assert refused.value.code == "case_not_held"
    assert play.refold().cases() == play.board.cases()


def test_a_person_ends_a_held_case_and_only_with_a_reason(play):
    case = play.open()
    play.run("pause_case", caseId=case["caseId"], hold="operator", by="owner", reason="wait")
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"], disposition="cancelled", by="owner", reason=" ")
    assert refused.value.code == "bad_command"
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"], disposition="completed", by="owner", reason="done enough")
    assert refused.value.code == "case_not_certified"
    play.run("close_case", root=case["root"], disposition="superseded", by="owner", reason="ordered anew")
    about, = play.board.cases(live=False)
    assert (about["disposition"], about["reason"], about["closedBy"], about["holds"]) == ("superseded", "ordered anew", "owner", [])
    assert play.board.count_cases() == (0, 1) and play.board.cases(live=True) == []
    assert play.open()["caseId"] != case["caseId"]
    assert play.refold().cases() == play.board.cases()


def test_a_closed_case_takes_no_action_and_binds_none(play):
    case = play.whole()
    play.run("close_case", root=case["root"])
    with pytest.raises(Refused) as refused:
        play.plan(case, "read_input")
    assert refused.value.code == "case_closed"
    assert not play.holds("case_key", root=case["root"], name="job_id", value="calc-001")


# --- two Cases on one Board ------------------------------------------------------------


def test_an_action_binds_only_for_the_case_it_is_aimed_at(play):
    one, two = play.open("calc-001"), play.open("calc-002")
    focus = [one["caseId"], two["caseId"]]
    with pytest.raises(Refused) as refused:
        play.board.plan_action(P + "read_input", {"source": "verified-calculation-local"}, None, play.policy, focus=focus)
    assert refused.value.code == "ambiguous_action"
    plan = play.board.plan_action(P + "read_input", {"source": "verified-calculation-local"}, two["root"], play.policy, focus=focus)
    assert plan.args["job_id"] == "calc-002"
    named = play.board.plan_action(P + "read_input", {"source": "verified-calculation-local", "job_id": "calc-001"}, None,
                                   play.policy, focus=focus)
    assert named.target == one["root"]


def test_jobs_do_not_share_totals(play):
    one = play.whole("calc-001")
    two = play.open("calc-002")
    play.read(two, price=100, quantity=1, shipping=0)
    assert play.plan(two, "write_output").args["total_cents"] == 100
    assert play.board.is_certified(one["caseId"]) and not play.board.is_certified(two["caseId"])


# --- decisions -------------------------------------------------------------------------


def test_the_approved_case_type_offers_the_write_that_asks_a_person(play):
    case = play.open("calc-007", "approved_calculation")
    play.read(case)
    with pytest.raises(Refused):
        play.plan(case, "write_output")
    plan = play.plan(case, "write_approved_output")
    assert plan.decision == {"kind": "approve the totals before they are written", "people": 1, "expiresS": 604800}
    row = next(row for row in play.view(case)["actions"] if row["action"] == P + "write_approved_output")
    assert row["status"] == "ready" and row["waits"] == ["decision"]
    play.write(case, "write_approved_output")
    play.verify(case)
    assert play.board.is_certified(case["caseId"])


def test_a_write_that_nobody_approved_certifies_no_approved_case(play):
    """The same job, done first without a person: its file is there and reads back, and yet no one approved it."""
    first = play.whole()
    play.run("close_case", root=first["root"])
    case = play.open(case_type="approved_calculation")
    leaves = play.view(case)["taskStatus"][case["root"]]["leaves"]
    assert [leaf["met"] for leaf in leaves] == [True, False]
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"])
    assert refused.value.code == "case_not_certified"
    gap, = play.view(case)["gaps"]
    assert gap["missing"] == [P + "approved_write(job_id=calc-001, subtotal_cents=9093, total_cents=9593)"]
    assert gap["via"] == [P + "write_approved_output"]
    row = next(row for row in play.view(case)["actions"] if row["action"] == P + "write_approved_output")
    assert (row["status"], row["why"]) == ("blocked", P + "write_settled(job_id=calc-001) holds already")


def test_an_approval_of_other_totals_certifies_nothing(play):
    case = play.open(case_type="approved_calculation")
    play.read(case)
    play.write(case, "write_approved_output")
    play.run("close_case", root=case["root"], disposition="failed", reason="the price was wrong")
    again = play.open(case_type="approved_calculation")
    play.read(again, price=1300)
    play.verify(again, subtotal=9100, total=9600)      # somebody else changed the file
    assert not play.board.is_certified(again["caseId"])


@pytest.mark.parametrize("outcome, met", [("happened", True), ("did_not", False), ("cannot_tell", False)])
def test_an_approved_write_of_unknown_effect_counts_as_the_person_says(play, outcome, met):
    case = play.open(case_type="approved_calculation")
    play.read(case)
    plan = play.plan(case, "write_approved_output")
    play.run("record_reconciliation", ordinal=9, plan=plan.record(), outcome=outcome, by="owner", reason="I looked")
    if met:
        play.verify(case)
    assert play.board.is_certified(case["caseId"]) is met


def test_the_argument_digest_moves_with_every_value(play):
    one, two = play.open("calc-001", "approved_calculation"), play.open("calc-002", "approved_calculation")
    play.read(one)
    play.read(two)
    digests = {play.plan(case, "write_approved_output").argument_digest for case in (one, two)}
    assert len(digests) == 2


# --- strength --------------------------------------------------------------------------


@pytest.mark.parametrize("right, tier, met", [(4, "verified", True), (3, "approximate", False)])
def test_a_rounded_quotient_caps_its_conclusion_and_a_floor_forbids_it(new_play, right, tier, met):
    """1/4 is exact in binary64 and 1/3 is not; the gap names what limits the tier."""
    play = new_play({
        "format": "rulith-capability/1", "id": "demo.share", "version": "1.0.0", "title": "Share",
        "vocabulary": {"defines": [{"id": "demo.share.share", "as": "share", "args": {"id": "string", "value": "number"}}],
                       "imports": [{"id": "case_key", "as": "case_key"}]},
        "pins": ["share"],
        "rules": [{"id": "share", "when": [{"predicate": "case_key", "args": {"name": "id", "value": "?id"}},
                                           {"predicate": "div", "args": {"left": 1, "right": right, "result": "?v"}}],
                   "then": [{"predicate": "share", "args": {"id": "?id", "value": "?v"}}]}],
        "acceptance": [{"id": "shared", "when": [{"predicate": "case_key", "args": {"root": "?root", "name": "id", "value": "?id"}},
                                                 {"predicate": "share", "args": {"id": "?id"}}]}],
        "case_types": {"share": {"title": "Share", "business_key": {"id": "string"}, "floor": "attested",
                                 "task": [{"node": "shared", "goal": "the share is known", "acceptance": "shared"}]}}})
    case = play.run("open_case", caseType="share", businessKey={"id": "a"})
    leaf = play.view(case)["taskStatus"][case["root"]]["leaves"][0]
    assert (leaf["tier"], leaf["met"]) == (tier, met)
    if not met:
        assert "approximate" in play.view(case)["gaps"][0]["text"]
        share = play.board.proof({"predicate": "demo.share.share", "args": {"id": "a", "value": 1 / 3}})
        assert share["computed"][0]["rounded"] is True and share["witness"] is True


def test_a_contradicted_premise_certifies_nothing(new_play):
    play = new_play({
        "format": "rulith-capability/1", "id": "demo.up", "version": "1.0.0", "title": "Up",
        "vocabulary": {"defines": [{"id": "demo.up.up", "as": "up", "args": {"id": "string"}}], "imports": [{"id": "case_key", "as": "case_key"}]},
        "acceptance": [{"id": "up", "when": [{"predicate": "case_key", "args": {"root": "?root", "name": "id", "value": "?id"}},
                                             {"predicate": "up", "args": {"id": "?id"}}]}],
        "case_types": {"up": {"title": "Up", "business_key": {"id": "string"}, "floor": "asserted",
                              "task": [{"node": "up", "goal": "it is up", "acceptance": "up"}]}}})
    case = play.run("open_case", caseType="up", businessKey={"id": "a"})
    play.batch(case, {"op": "assert_fact", "predicate": "demo.up.up", "args": {"id": "a"}},
               {"op": "assert_fact", "id": "no", "predicate": "demo.up.up", "args": {"id": "a"}, "negated": True})
    assert not play.board.is_certified(case["caseId"]) and "contradicted" in play.view(case)["gaps"][0]["text"]
    play.batch(case, {"op": "retract_node", "nodeId": "no"})
    assert play.board.is_certified(case["caseId"])
