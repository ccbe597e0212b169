"""A Worker with a valid grant that lies: of a forged report nothing at all lands."""

import dataclasses

import pytest

from rulith.base.errors import Refused

P = "rulith.verified_calculation."
GOOD = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}


def fact(predicate=P + "input", args=None, **more):
    return {"predicate": predicate, "args": GOOD if args is None else args, **more}


FORGERIES = {
    "another predicate": [fact(P + "total", {"job_id": "calc-001", "cents": 1})],
    "a row of another Tool": [fact(P + "written", {"job_id": "calc-001", "subtotal_cents": 1, "total_cents": 1, "sha256": "0"})],
    "an alias instead of the id": [fact("input")],
    "a Board word": [fact("acceptance_met", {"node": "x"})],
    "a Board word of explorations": [fact("rulith.exploration.completed", {"case_id": "x"})],
    "a builtin": [fact("add", {"left": 1, "right": 1, "result": 3})],
    "an argument too few": [fact(args={name: GOOD[name] for name in list(GOOD)[:3]})],
    "an argument too many": [fact(args={**GOOD, "note": "x"})],
    "an argument renamed": [fact(args={**{name: GOOD[name] for name in list(GOOD)[:3]}, "shipping": 1})],
    "another Source": [fact(source="elsewhere")],
    "an empty Source": [fact(source="")],
    "a tier": [fact(tier="verified")],
    "a sign": [fact(negated=True)],
    "an id": [fact(id="f_1")],
    "an origin": [fact(origin="law")],
    "another job": [fact(args={**GOOD, "job_id": "calc-002"})],
    "a job of another type": [fact(args={**GOOD, "job_id": True})],
    "a null": [fact(args={**GOOD, "quantity": None})],
    "a list": [fact(args={**GOOD, "quantity": [7]})],
    "a number out of range": [fact(args={**GOOD, "quantity": 2**53})],
    "an infinite number": [fact(args={**GOOD, "quantity": float("inf")})],
    "text for a number": [fact(args={**GOOD, "quantity": "seven"})],
    "a truth for a number": [fact(args={**GOOD, "quantity": True})],
    "a variable": [fact(args={**GOOD, "unit_price_cents": "?price"})],
    "no arguments": [{"predicate": P + "input"}],
    "arguments that are a list": [fact(args=["calc-001"])],
    "no predicate": [{"args": GOOD}],
    "not an object": ["input"],
    "a good row and a forged one": [fact(), fact(P + "total", {"job_id": "calc-001", "cents": 1})],
    "not a list": {"predicate": P + "input", "args": GOOD},
}


@pytest.mark.parametrize("forged", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_report_lands_nothing(play, forged):
    case = play.open()
    plan = play.plan(case, "read_input")
    before = play.board.closure_digest(), len(play.board.state.facts)
    with pytest.raises(Refused) as refused:
        play.receipt(plan, forged)
    assert refused.value.code == "ingest_rejected"
    assert (play.board.closure_digest(), len(play.board.state.facts)) == before
    assert not play.holds(P + "total", job_id="calc-001", cents="?c")


def test_a_forged_write_report_leaves_no_effect_either(play):
    case = play.open()
    play.read(case)
    plan = play.plan(case, "write_output")
    with pytest.raises(Refused):
        play.receipt(plan, [fact(P + "written", {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9594, "sha256": "0"})])
    assert not play.holds(P + "write_settled", job_id="calc-001")


def test_a_source_attests_only_what_its_owner_lets_it(play, new_play):
    from rulith.board.shapes import Source
    case = play.open()
    plan = play.plan(case, "read_input")
    narrow = Source.of({"name": plan.source_record_id, "type": "file", "access": "/x", "connectionId": "conn_1",
                        "tier": "attested", "attests": [P + "output"]})
    with pytest.raises(Refused) as refused:
        play.receipt(plan, [fact()], source=narrow)
    assert refused.value.code == "ingest_rejected" and "may not attest" in refused.value.teaching


def test_a_receipt_is_judged_against_the_source_it_was_dispatched_to(play):
    from rulith.board.shapes import Source
    case = play.open()
    plan = play.plan(case, "read_input")
    other = Source.of({"name": "other", "type": "file", "access": "/x", "connectionId": "conn_1", "tier": "verified", "attests": ["*"]})
    with pytest.raises(Refused) as refused:
        play.receipt(plan, [fact()], source=other)
    assert refused.value.code == "ingest_rejected"


@pytest.mark.parametrize("tier, certified", [("verified", True), ("attested", True), ("approximate", False),
                                             ("perceived", False), ("asserted", False)])
def test_facts_are_no_stronger_than_their_source(play, tier, certified):
    """The owner's tier caps what a Worker says; `verified` gives it no more than *attested*."""
    from rulith.board.shapes import Source
    case = play.open()
    plan = play.plan(case, "read_input")
    source = Source.of({"name": plan.source_record_id, "type": "file", "access": "/x", "connectionId": "conn_1",
                        "tier": tier, "attests": ["*"]})
    play.receipt(plan, [fact()], source=source)
    leaf = play.view(case)["taskStatus"][case["root"]]["leaves"][0]
    assert leaf["met"] is certified
    assert leaf["tier"] == (tier if tier != "verified" else "attested")


def test_a_failed_call_reports_no_facts_and_has_no_effect(play):
    case = play.open()
    play.read(case)
    plan = play.plan(case, "write_output")
    with pytest.raises(Refused):
        play.receipt(plan, [fact()], ok=False)
    assert play.receipt(plan, [], ok=False) == {"action": plan.action, "done": True, "status": "failed", "ok": False, "nodeIds": []}
    assert not play.holds(P + "write_settled", job_id="calc-001")


@pytest.mark.parametrize("outcome, status, effect", [("happened", "confirmed", True), ("did_not", "failed", False), ("cannot_tell", "unknown", False)])
def test_a_person_settles_what_the_worker_never_reported(play, outcome, status, effect):
    """Happened brings the Action's effects and no Worker facts; the two others bring nothing."""
    case = play.open()
    play.read(case)
    plan = play.plan(case, "write_output")
    result = play.run("record_reconciliation", ordinal=2, plan=plan.record(), outcome=outcome, by="owner", reason="looked at the file")
    assert result["status"] == status and ("ok" in result) == (outcome != "cannot_tell")
    assert play.holds(P + "write_settled", job_id="calc-001") is effect
    assert not play.holds(P + "written", job_id="calc-001")


# --- readiness -------------------------------------------------------------------------


def test_a_worker_that_is_away_makes_an_action_wait_not_blocked(play):
    from rulith.board.shapes import Policy
    case = play.open()
    away = dataclasses.replace(play.policy, live={}, version=2)
    row = play.board.view(None, [case["caseId"]], away)["actions"][0]
    assert row["status"] == "ready" and row["waits"] == ["worker_offline"]
    bare = play.board.view(None, [case["caseId"]], Policy(version=3))["actions"][0]
    assert bare["status"] == "blocked" and bare["reason"] == "needs_setup" and "why" not in bare


def test_a_tool_that_changed_on_the_worker_needs_a_new_lock(play):
    case = play.open()
    plan = play.plan(case, "read_input")
    play.policy = dataclasses.replace(play.policy, live={"conn_1": {plan.tool: "b" * 64}}, version=2)
    with pytest.raises(Refused) as refused:
        play.plan(case, "read_input")
    assert refused.value.code == "needs_setup" and "another" in refused.value.teaching


def test_a_lock_whose_declaration_differs_from_the_action_is_no_setup(play):
    case = play.open()
    tool = P + "read_input@1"
    lock = play.policy.locks["conn_1", tool]
    for change in ({"kind": "write"}, {"params": {"job": "string"}}, {"returns": []}, {"sourceTypes": ["db"]}):
        locks = {**play.policy.locks, ("conn_1", tool): dataclasses.replace(lock, descriptor={**lock.descriptor, **change})}
        policy = dataclasses.replace(play.policy, locks=locks, version=str(change))
        with pytest.raises(Refused) as refused:
            play.board.plan_action(P + "read_input", {"source": "verified-calculation-local"}, case["root"], policy, focus=[])
        assert refused.value.code == "needs_setup"


def test_a_source_must_be_named_and_of_an_accepted_type(play):
    from rulith.board.shapes import Policy, Source
    case = play.open()
    with pytest.raises(Refused) as refused:
        play.board.plan_action(P + "read_input", {}, case["root"], play.policy, focus=[])
    assert refused.value.code == "source_needed" and "verified-calculation-local" in refused.value.teaching
    with pytest.raises(Refused) as refused:
        play.board.plan_action(P + "read_input", {"source": "nowhere"}, case["root"], play.policy, focus=[])
    assert refused.value.code == "source_wrong_type"
    http = Source("web", "http", "https://x", "conn_1", "attested", ("*",))
    with pytest.raises(Refused) as refused:
        play.board.plan_action(P + "read_input", {"source": "web"}, case["root"],
                               Policy((http,), play.policy.locks, play.policy.live, 9), focus=[])
    assert refused.value.code == "needs_setup"
