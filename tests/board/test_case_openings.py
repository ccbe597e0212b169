"""Opening Cases: what is pinned, one live Case per key, deadlines, and upgrades that leave open Cases where they are.

Source: design §5, "Case life"; the MCP surface, §§4.1 and 15 (board_draining).
"""

import copy

import pytest

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.board.capability_check import check_capability
from rulith.board.board import Board

TYPE = "verified_calculation"


@pytest.fixture
def document(play):
    return copy.deepcopy(dict(play.board.state.releases["rulith.verified_calculation"].document))


def install(play, document, **changes):
    document = {**copy.deepcopy(document), **changes}
    return play.run("install_capability", capability=document, digest=digest(document))


# --- what is pinned --------------------------------------------------------------------


def test_an_opening_pins_release_contract_key_and_generation(play, document):
    state = play.board.state
    case = state.cases[play.open("calc-001")["caseId"]]
    assert case.release == {"id": "rulith.verified_calculation", "version": "1.0.0", "digest": digest(document)}
    assert case.contract == digest(document["case_types"][TYPE]) and case.key_digest == digest({"job_id": "calc-001"})
    assert case.generation == state.generation == 1
    document["version"] = "1.1.0"
    play.run("close_case", root=case.root, disposition="abandoned", reason="upgrade")
    install(play, document)
    later = state.cases[play.open("calc-002")["caseId"]]
    assert later.generation == 2 and later.release["version"] == "1.1.0" and later.contract == case.contract


def test_the_same_key_focuses_the_live_case_however_it_is_written(play):
    first = play.run("open_case", caseType=TYPE, businessKey={"job_id": "17"})
    again = play.run("open_case", caseType=TYPE, businessKey={"job_id": "17"})
    assert first["opened"] and not again["opened"] and again["caseId"] == first["caseId"]
    assert len(play.board.state.cases) == 1


# --- deadlines -------------------------------------------------------------------------


def with_deadline(document, seconds):
    document = copy.deepcopy(document)
    document["case_types"][TYPE]["deadline_s"] = seconds
    return {**document, "version": "2.0.0"}


@pytest.fixture
def timed(new_play, document):
    """Every command of a Play takes a second; the Case may work for five."""
    return new_play(with_deadline(document, 5))


def pass_by(play, seconds):
    for _ in range(seconds):
        play.at()


def late(call):
    with pytest.raises(Refused) as refused:
        call()
    assert refused.value.code == "board_draining" and "past its deadline of 2026-10-03T08:00:07.000Z" in refused.value.teaching
    return refused.value


def test_a_case_past_its_deadline_takes_no_more_work(timed):
    case = timed.open()
    assert case["deadline"] == "2026-10-03T08:00:07.000Z"
    timed.read(case)
    pass_by(timed, 5)
    before = timed.board.closure_digest()
    late(lambda: timed.batch(case, {"op": "assert_fact", "predicate": "note", "args": {"text": "late"}}))
    late(lambda: timed.board.plan_action("rulith.verified_calculation.write_output", {"source": "verified-calculation-local"}, case["root"], timed.policy,
                                         focus=[case["caseId"]], at=timed.at()))
    late(lambda: timed.board.plan_action("rulith.verified_calculation.write_output", {"source": "verified-calculation-local"}, None, timed.policy,
                                         focus=[case["caseId"]], at=timed.at()))
    assert timed.board.closure_digest() == before


def test_the_last_moment_before_is_in_time(timed):
    case = timed.open()
    at = "2026-10-03T08:00:06.999Z"
    assert timed.board.plan_action("rulith.verified_calculation.read_input", {"source": "verified-calculation-local"}, case["root"], timed.policy,
                                   focus=[case["caseId"]], at=at)
    late(lambda: timed.board.plan_action("rulith.verified_calculation.read_input", {"source": "verified-calculation-local"}, case["root"], timed.policy,
                                         focus=[case["caseId"]], at="2026-10-03T08:00:07.000Z"))


def test_a_late_case_is_still_read_focused_held_and_closed(timed):
    case = timed.open()
    plan = timed.plan(case, "read_input")
    pass_by(timed, 9)
    assert not timed.open()["opened"]                                   # the key focuses it
    assert timed.run("focus_case", caseId=case["caseId"])["deadline"]
    timed.run("pause_case", caseId=case["caseId"], hold="operator")
    timed.run("lift_hold", caseId=case["caseId"], hold="operator")
    timed.receipt(plan, [{"predicate": "rulith.verified_calculation.input", "args": {
        "job_id": "calc-001", "unit_price_cents": 1, "quantity": 1, "shipping_cents": 1}}])      # what a Worker had taken is recorded
    assert timed.run("close_case", root=case["root"], disposition="failed", reason="too late", obligations=[])["disposition"] == "failed"
    assert timed.open()["opened"]


def test_a_certified_case_completes_after_its_deadline(timed, new_play, document):
    play = new_play(with_deadline(document, 5))
    case = play.open()
    play.read(case)
    play.write(case)
    play.verify(case)
    pass_by(play, 60)
    assert play.run("close_case", root=case["root"], obligations=[])["certified"]


def test_one_case_in_time_takes_the_write_of_a_focus_with_a_late_one(timed):
    old = timed.open("calc-001")
    pass_by(timed, 6)
    fresh = timed.open("calc-002")
    made = timed.batch([fresh, old], {"op": "assert_fact", "predicate": "note", "args": {"text": "x"}})["nodeIds"][0]
    assert timed.board.case_of_fact(made) == fresh["caseId"]


def test_the_view_shows_the_deadline_and_that_it_passed(timed):
    case = timed.open()
    root = {"caseId": case["caseId"], "root": case["root"], "status": "running", "caseType": TYPE, "deadline": case["deadline"]}
    view = timed.view(case, at="2026-10-03T08:00:06.000Z")
    assert view["roots"] == [root] and view["position"]["writes"] == "open" and view["cases"]["directory"][0]["deadline"] == case["deadline"]
    assert view["actions"][0]["status"] == "ready"
    view = timed.view(case, at="2026-10-03T08:00:07.000Z")
    assert view["roots"] == [{**root, "expired": True}] and view["position"]["writes"] == {"paused": "cases_expired"}
    assert view["actions"][0]["status"] == "blocked" and view["actions"][0]["reason"] == "rule" and "deadline" in view["actions"][0]["why"]
    other = timed.open("calc-002")
    assert timed.view(case, other, at="2026-10-03T08:00:07.000Z")["position"]["writes"] == "open"


def test_rows_about_deadlines_fold_to_the_same_board(timed):
    timed.open()
    pass_by(timed, 9)
    timed.open("calc-002")
    folded: Board = timed.refold()
    assert [case.deadline for case in folded.state.cases.values()] == [case.deadline for case in timed.board.state.cases.values()]


@pytest.mark.parametrize("value", [0, -1, 1.5, "5", True, 10**12])
def test_a_deadline_that_is_no_span_is_refused(document, value):
    document["case_types"][TYPE]["deadline_s"] = value
    assert [each.place for each in check_capability(document)[1]] == [f"case_types.{TYPE}.deadline_s"]


def test_without_a_deadline_nothing_is_ever_late(play):
    case = play.open()
    assert "deadline" not in case and play.view(case, at="2999-01-01T00:00:00.000Z")["position"]["writes"] == "open"


# --- upgrades --------------------------------------------------------------------------


def doubled(document):
    """Another arithmetic under the next version: shipping is counted twice."""
    document = copy.deepcopy(document)
    total = next(rule for rule in document["rules"] if rule["id"] == "total")
    total["when"][2] = {"predicate": "mul", "args": {**total["when"][2]["args"]}}
    return {**document, "version": "2.0.0", "examples": []}


def test_an_open_case_is_not_moved_by_an_upgrade(play, document):
    case = play.open("calc-001")
    play.read(case)
    before = (play.board.closure_digest(), play.board.state.generation, play.view(case)["actions"])
    answer = install(play, doubled(document))
    assert answer["waits"] == [case["caseId"]] and answer["opens"] == []
    assert (play.board.closure_digest(), play.board.state.generation, play.view(case)["actions"]) == before
    play.write(case)
    play.verify(case)
    assert play.run("close_case", root=case["root"], obligations=[])["certified"]
    facts = play.board.receipt_facts(case["caseId"])
    assert facts["release"]["version"] == "1.0.0" and facts["release"]["capability"]["version"] == "1.0.0"
    later = play.open("calc-002")
    assert play.board.state.cases[later["caseId"]].release["version"] == "2.0.0" and play.board.state.next == {}
    assert {info.capability: info.release for info in play.board.state.rules.values()} == {"rulith.verified_calculation": digest(doubled(document))}
    assert play.refold().closure_digest() == play.board.closure_digest()


def test_no_new_case_opens_while_an_upgrade_waits(play, document):
    case = play.open("calc-001")
    install(play, doubled(document))
    with pytest.raises(Refused) as refused:
        play.open("calc-002")
    assert refused.value.code == "board_draining" and case["caseId"] in refused.value.teaching and "2.0.0" in refused.value.teaching
    assert not play.open("calc-001")["opened"] and play.explore()["opened"]
    assert play.view(case)["position"]["newCases"] == {"closed": "not_accepting"}


def test_a_later_upgrade_replaces_the_one_that_waits_and_the_old_one_calls_it_off(play, document):
    case = play.open("calc-001")
    install(play, doubled(document))
    install(play, doubled(document), version="3.0.0")
    assert [release.version for release in play.board.state.next.values()] == ["3.0.0"]
    install(play, document)
    assert play.board.state.next == {} and play.open("calc-002")["opened"]
    assert play.refold().state.next == {} and case["opened"]


def test_what_the_waiting_release_protects_is_protected_already(play, document):
    play.open("calc-001")
    newer = doubled(document)
    newer["vocabulary"]["defines"].append({"id": "rulith.verified_calculation.fresh", "as": "fresh", "args": {"x": "number"}})
    newer["pins"].append("fresh")
    install(play, newer)
    with pytest.raises(Refused) as refused:
        play.batch(play.open("calc-001"), {"op": "assert_fact", "predicate": "rulith.verified_calculation.fresh", "args": {"x": 1}})
    assert refused.value.code == "attested_predicate"


def test_an_upgrade_over_what_an_agent_stated_is_refused_at_once(play, document):
    case = play.open("calc-001")
    newer = doubled(document)
    newer["vocabulary"]["defines"].append({"id": "rulith.verified_calculation.fresh", "as": "fresh", "args": {"x": "number"}})
    newer["pins"].append("fresh")
    play.batch(case, {"op": "assert_fact", "predicate": "rulith.verified_calculation.fresh", "args": {"x": 1}})
    with pytest.raises(Refused) as refused:
        install(play, newer)
    assert refused.value.code == "release_conflict" and play.board.state.next == {}
