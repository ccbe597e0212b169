"""Views: bounded, what changed first, and equal to a view computed from nothing."""

import dataclasses
import json

import pytest

from rulith.board.board import Board
from rulith.board.profiles import Profile
from rulith.board.views import Viewer

P = "rulith.verified_calculation."


def notes(first, last):
    return [{"op": "assert_fact", "predicate": "note", "args": {"n": n}} for n in range(first, last)]


def test_the_view_of_a_new_case_has_all_its_members(play):
    case = play.open()
    view = play.view(case)
    assert set(view) == {"position", "roots", "cases", "gaps", "nodes", "actions", "taskStatus", "total"}
    assert view["position"] == {"writes": "open", "newCases": "open", "rules": {"none": "not_permitted"}}
    assert view["roots"] == [{"caseId": case["caseId"], "root": case["root"], "status": "running", "caseType": "verified_calculation"}]
    assert view["cases"] == {"directory": [{"caseId": case["caseId"], "root": case["root"], "status": "running",
                                            "caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}}], "total": 1}
    assert view["nodes"] == [] and "truncated" not in view


def test_the_driven_actions_come_first_and_in_order(play):
    case = play.open()
    assert [row["action"] for row in play.view(case)["actions"]] == [
        P + "read_input", P + "write_output", P + "verify_output", P + "write_approved_output"]
    ready = play.view(case)["actions"][0]
    assert ready["candidates"] == [{"args": {"job_id": "calc-001"}, "target": case["root"]}] and ready["candidateCount"] == 1
    assert ready["sources"] == ["verified-calculation-local"]


def test_a_blocked_row_says_why_and_a_ready_one_does_not(play):
    case = play.open()
    for row in play.view(case)["actions"]:
        if row["status"] == "ready":
            assert "reason" not in row and "why" not in row
        else:
            assert row["reason"] == "rule" and 1 <= len(row["why"]) <= 200 and "waits" not in row


def test_a_view_keeps_to_its_bounds_and_says_when_it_is_cut(play):
    case = play.explore()
    play.batch(case, *notes(0, 200))
    view = play.view(case)
    assert len(view["nodes"]) <= 60 and view["total"] == 200 and view["truncated"] is True
    assert len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode()) <= 8192
    assert len(play.view(case, nodes_max=500, bytes_max=None)["nodes"]) == 200


def test_what_changed_comes_first(play):
    case = play.explore()
    play.batch(case, *notes(0, 100))
    outcome = play.outcome("apply_batch", focus=[case["caseId"]], operations=[
        {"op": "assert_fact", "id": "fresh", "predicate": "other"}, {"op": "add_axiom", "id": "r", "when": [{"predicate": "other"}],
                                                                     "then": [{"predicate": "follows"}]}])
    view = play.view(case, first=outcome.changed, nodes_max=5)
    assert [node["predicate"] for node in view["nodes"][:2]] == ["other", "follows"]


def test_goals_are_kept_longest(play):
    case = play.explore()
    play.batch(case, {"op": "declare_goal", "id": "g", "desired": [{"predicate": "never"}]}, *notes(0, 100))
    assert play.view(case, nodes_max=3)["nodes"][0]["id"] == "g"


def test_board_words_are_no_nodes(play):
    case = play.whole()
    view = play.view(case, nodes_max=500, bytes_max=None)
    assert {node["predicate"] for node in view["nodes"]} == {P + name for name in ("input", "subtotal", "total", "written", "write_settled", "output")}
    origins = {node["predicate"].rpartition(".")[2]: (node["origin"], node["tier"]) for node in view["nodes"]}
    assert origins["input"] == ("attested", "attested") and origins["total"] == ("derived", "attested")
    assert origins["write_settled"] == ("effect", "attested")


def test_a_contradiction_marks_what_rests_on_it(play):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "up"}, {"op": "assert_fact", "id": "no", "predicate": "up", "negated": True})
    assert {node["text"]: node.get("disputed") for node in play.view(case)["nodes"]} == {"up()": True, "not up()": True}
    play.batch(case, {"op": "retract_node", "nodeId": "no"})
    assert "disputed" not in play.view(case)["nodes"][0]


def test_a_directory_is_cut_to_the_newest(play):
    for index in range(5):
        play.open(f"job-{index}")
    found = play.view(directory_max=2)["cases"]
    assert [row["businessKey"]["job_id"] for row in found["directory"]] == ["job-4", "job-3"]
    assert found["total"] == 5 and found["truncated"] is True


def test_a_cached_view_equals_one_computed_from_nothing(play):
    """Every step of a whole Case, twice: with all caches warm, and by a Viewer without any."""
    case, side = play.open(), play.explore()
    steps = [lambda: play.read(case), lambda: play.batch(side, *notes(0, 3)),
             lambda: play.batch(side, {"op": "add_axiom", "id": "r", "when": [{"predicate": "note", "args": {"n": "?n"}}],
                                       "then": [{"predicate": "seen", "args": {"n": "?n"}}]}),
             lambda: play.write(case), lambda: play.batch(side, {"op": "retract_node", "nodeId": "r"}),
             lambda: play.verify(case), lambda: play.run("pause_case", caseId=case["caseId"], hold="operator"),
             lambda: play.run("lift_hold", caseId=case["caseId"], hold="operator"),
             lambda: play.run("close_case", root=case["root"]), lambda: play.open("calc-002")]
    for take in steps:
        take()
        focus = [case["caseId"], side["caseId"]]
        warm = play.board.view(None, focus, play.policy)
        play.board.state.reads.clear()
        play.board.state.grounds.clear()
        play.board.state.epoch += 1
        cold = Viewer(play.board.state).view(None, focus, play.policy, nodes_max=60, bytes_max=8192)
        assert warm == cold
        assert warm.text == cold.text and json.loads(warm.text) == warm
        assert json.loads(f'"{warm.escaped}"') == warm.text and warm.escaped == cold.escaped
        away = dataclasses.replace(play.policy, live={}, version="away")
        assert play.board.view(None, focus, away)["actions"] != [] or case["root"] not in warm["taskStatus"]


# --- QueryBoard ------------------------------------------------------------------------


def query(play, focus=(), **arguments):
    return play.board.query(None, [each["caseId"] for each in focus], play.policy, arguments)


def test_a_query_without_include_is_the_directory(play):
    case = play.open()
    view = query(play, [case])
    assert "nodes" not in view and view["cases"]["total"] == 1 and view["roots"][0]["root"] == case["root"]


def test_a_query_returns_the_parts_it_names_for_the_roots_it_names(play):
    one, two = play.open("calc-001"), play.open("calc-002")
    view = query(play, [one], include=["gaps", "taskStatus"], selector={"roots": [two["root"], "root_missing"]})
    assert set(view["taskStatus"]) == {two["root"]} and {gap["root"] for gap in view["gaps"]} == {two["root"]}
    assert view["unavailableRoots"] == ["root_missing"] and "nodes" not in view and "cases" not in view


def test_a_query_of_nodes_takes_its_limit(play):
    case = play.explore()
    play.batch(case, *notes(0, 20))
    view = play.board.query(None, [], play.policy, {"include": ["nodes"], "selector": {"roots": [case["root"]]}, "limit": 4}, nodes_max=4)
    assert len(view["nodes"]) == 4 and view["total"] == 20 and view["truncated"] is True


def test_a_history_is_had_only_of_a_closed_case(play):
    case = play.whole()
    ask = {"include": ["caseHistory"], "selector": {"roots": [case["root"]]}}
    assert query(play, **ask)["caseHistory"] == {"root": case["root"], "status": "unavailable"}
    play.run("close_case", root=case["root"])
    assert query(play, **ask)["caseHistory"]["asOf"] == "case_close"


@pytest.mark.parametrize("profile, hidden", [({"predicates": [P + "input"]}, P + "total"), ({"capabilities": []}, None)])
def test_a_profile_hides_what_it_does_not_name(play, profile, hidden):
    case = play.whole()
    view = play.board.view(Profile.of(profile), [case["caseId"]], play.policy)
    if hidden:
        assert {node["predicate"] for node in view["nodes"]} == {P + "input"}
    else:
        assert view["actions"] == view["nodes"] == view["roots"] == [] and view["cases"] == {"directory": [], "total": 0}


def test_a_board_folded_from_rows_shows_the_same_view(play):
    case = play.open()
    play.read(case)
    again: Board = play.refold()
    assert again.view(None, [case["caseId"]], play.policy) == play.view(case)


def size_of(view):
    return len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode())


def test_a_view_keeps_its_bound_whatever_an_agent_writes(play):
    """Long texts, many goals, many Cases: the bound of a write's answer holds."""
    for index in range(30):
        play.open(f"job-{index}-" + "x" * 200)
    case = play.explore()
    play.batch(case, *({"op": "declare_goal", "desired": [{"predicate": "g" * 300, "args": {"n": n, "t": "y" * 300}}]} for n in range(20)))
    play.batch(case, {"op": "assert_fact", "predicate": "big", "args": {"t": "z" * 60_000}}, *notes(0, 50))
    for name in range(30):
        play.batch(case, {"op": "define_action", "action": f"act{name}" + "n" * 100, "label": "l" * 200, "effects": [{"predicate": "e"}]})
    view = play.view(case, play.open("job-0-" + "x" * 200))
    assert size_of(view) <= 8192 and view["truncated"] is True
    assert any(node["kind"] == "fact" for node in view["nodes"]), "small facts are found past the large one"
    assert any("description" in row for row in view["actions"]) and any("description" not in row for row in view["actions"])


def test_a_business_key_is_a_name_not_a_document(play):
    from rulith.base.errors import Refused
    with pytest.raises(Refused) as refused:
        play.open("x" * 257)
    assert refused.value.code == "bad_business_key"
