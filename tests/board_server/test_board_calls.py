"""Each tool on a Board, from nothing. Duty: the published surface; the reasoning board, "MCP tools"."""

from __future__ import annotations

import json

import pytest

from rulith.base.json_text import compact_json
from tests.board_server.conftest import COST, INVOICE, LINES, TOTAL, Desk

GRAND = {"predicate": "grand", "args": {"value": "?v"}}
GOAL = {"op": "declare_goal", "id": "G1", "label": "total known", "desired": [GRAND]}


def action(name, *, needs=(), makes=(), takes=()):
    atoms = lambda predicates, **more: [{"predicate": p, "args": {"x": 1}, **more} for p in predicates]  # noqa: E731
    return {"op": "define_action", "id": name, "action": name.lower(), "preconditions": atoms(needs), "effects": [*atoms(takes, negated=True), *atoms(makes)]}


# --- which Board ---------------------------------------------------------------------------


def test_reading_before_anything_was_written_shows_an_empty_board_and_makes_none(desk: Desk):
    assert "facts: none" in desk.text("get_logic_context")
    assert desk.text("list_spaces") == "no spaces"


def test_the_first_write_makes_the_board_that_later_calls_mean(desk: Desk):
    desk.do(*LINES)
    assert desk.text("list_spaces") == "main: main"
    assert "L1" in desk.text("get_logic_context", spaceId="main")


def test_among_several_boards_one_has_to_be_named(desk: Desk):
    for name in ("a", "b"):
        desk.text("create_space", id=name, title=name.upper())
    assert desk.text("list_spaces") == "a: A\nb: B"
    answer = desk("get_logic_context")
    assert answer["structuredContent"]["errorCode"] == "SPACE_AMBIGUOUS" and "a, b" in answer["content"][0]["text"]
    assert desk.code("update_working_memory", operations=[]) == "SPACE_AMBIGUOUS"
    assert desk.code("get_logic_context", spaceId="c") == "SPACE_NOT_FOUND"
    assert desk.code("create_space", id="a", title="again") == "SPACE_ID_TAKEN"
    desk.text("update_working_memory", spaceId="b", operations=LINES)
    assert "L1" not in desk.text("get_logic_context", spaceId="a")


def test_a_board_is_seeded_with_the_rules_of_another(desk: Desk):
    desk.do(*INVOICE)
    capsule = json.loads(desk.text("distill_space"))
    assert [row["id"] for row in capsule["axioms"]] == ["R1"] and capsule["sourceSpaceId"] == "main"
    text = desk.text("create_space", id="next", title="Next", seedFromSpaceId="main")
    assert "seeded 1 rule(s) from main: R1" in text and "cost(item, total)" in text
    desk.text("update_working_memory", spaceId="next", operations=[LINES[0]])
    assert "cost(item=a, total=9093)" in desk.text("get_logic_context", spaceId="next")
    assert desk.code("create_space", id="third", title="T", seedFromSpaceId="nowhere") == "SPACE_NOT_FOUND"
    assert list(desk.boards.spaces) == ["main", "next"]


# --- from nothing to a proved total --------------------------------------------------------


def test_an_invoice_is_proved_from_nothing(desk: Desk):
    assert "needs via" not in desk.do(GOAL) and "[open]" in desk.text("get_logic_context")
    assert "needs via R1" in desk.do({**GOAL, "id": "G2", "desired": [{"predicate": "cost", "args": {"item": "a", "total": "?t"}}]}, COST)
    text = desk.do(*LINES, TOTAL)
    assert "grand(value=10093) [derived]" in text and "G1: grand(value=?v) [satisfied]" in text
    proof = desk.text("explain_fact", fact=GRAND)
    assert proof.splitlines()[0] == 'grand(value=10093) (derived:grand|value:10093) [derived by T "sum of cost"]'
    assert "    line(item=a, qty=7, unit=1299) (L1) [asserted]" in proof and "grounding: asserted" in proof


def test_data_comes_when_asked_for(desk: Desk):
    data = desk.data("update_working_memory", operations=INVOICE)
    assert [row["nodeIds"] for row in data["operationResults"]] == [["L1"], ["L2"], ["R1"], ["T"]]
    assert data["semanticRuleApplication"]["addedCount"] == 3 and data["workingMemory"]["stats"]["facts"] == 5
    again = desk.data("update_working_memory", operations=[LINES[0] | {"id": "L9"}])
    assert [row["code"] for row in again["warnings"]] == ["DUPLICATE_FACT"]
    context = desk.data("get_logic_context")
    assert context["revision"].startswith("rev1:") and context["spaceId"] == "main"


def test_an_answer_as_data_is_the_same_as_its_text(desk: Desk):
    desk.do(*INVOICE)
    answer = desk("get_logic_context", format="json")
    assert answer["content"][0]["text"] == compact_json(answer["structuredContent"])
    assert "structuredContent" not in desk("get_logic_context")


# --- why, why not, what if -----------------------------------------------------------------


def test_why_takes_an_id_or_a_pattern(desk: Desk):
    desk.do(*INVOICE)
    assert desk.data("explain_fact", factNodeId="L1")["marker"] == "asserted"
    found = desk.data("explain_fact", fact={"predicate": "line"})
    assert len(found["proofs"]) == 2 and found["more"] is False
    assert desk.code("explain_fact", factNodeId="derived:grand|value:1") == "ATOM_ABSENT"
    assert desk.code("explain_fact", fact={"predicate": "grand", "args": {"value": 1}}) == "ATOM_ABSENT"
    assert desk.code("explain_fact", factNodeId="R1") == "NODE_NOT_FACT"
    assert desk.code("explain_fact", factNodeId="nothing") == "NODE_NOT_FOUND"


def test_why_not_names_the_missing_premise(desk: Desk):
    desk.do({"op": "add_axiom", "id": "OK", "label": "approval", "when": [{"predicate": "invoice", "args": {"id": "?i"}}, {"predicate": "signed", "args": {"id": "?i"}}],
             "then": [{"predicate": "approved", "args": {"id": "?i"}}]}, {"op": "assert_fact", "predicate": "invoice", "args": {"id": "A-1"}},
            {"op": "define_action", "id": "SIGN", "action": "sign", "preconditions": [{"predicate": "invoice", "args": {"id": "?i"}}],
             "effects": [{"predicate": "signed", "args": {"id": "?i"}}]})
    text = desk.text("explain_fact", fact={"predicate": "approved", "args": {"id": "A-1"}}, mode="why_not")
    assert "does not hold" in text and "signed(id=A-1)" in text and "SIGN" in text
    data = desk.data("explain_fact", fact={"predicate": "approved", "args": {"id": "A-1"}}, mode="why_not")
    assert data["holds"] is False and data["rules"][0]["rule"] == "OK"
    near = desk.text("explain_fact", fact={"predicate": "invoice", "args": {"id": "B"}}, mode="why_not")
    assert "what holds of invoice: invoice(id=A-1)" in near


def test_what_if_tries_operations_and_writes_nothing(desk: Desk):
    desk.do(*INVOICE)
    before = desk.data("get_logic_context")["revision"]
    data = desk.data("explain_fact", factNodeId="derived:grand|value:10093", mode="what_if", operations=[{"op": "retract_node", "nodeId": "L1"}])
    assert (data["holds"], data["wouldHold"]) == (True, False)
    gained = desk.data("explain_fact", fact={"predicate": "cost", "args": {"item": "c"}}, mode="what_if",
                       operations=[{"op": "assert_fact", "predicate": "line", "args": {"item": "c", "unit": 1, "qty": 1}}])
    assert (gained["holds"], gained["wouldHold"]) == (False, True)
    assert desk.data("get_logic_context")["revision"] == before
    assert desk.code("explain_fact", factNodeId="L1", mode="what_if", operations=[{"op": "drop"}]) == "OP_UNKNOWN"
    assert desk.data("get_logic_context")["revision"] == before


def test_what_if_alone_tells_what_would_change_it(desk: Desk):
    desk.do(*INVOICE)
    assert "retract L1" in desk.text("explain_fact", factNodeId='derived:cost|item:"a"|total:9093', mode="what_if")


# --- actions, plans, solutions -------------------------------------------------------------


def test_an_action_is_simulated_pinned_and_applied(desk: Desk):
    desk.do({"op": "assert_fact", "predicate": "raw", "args": {"x": 1}}, action("COOK", needs=["raw"], makes=["meal"], takes=["raw"]))
    seen = desk.data("simulate_action", actionNodeId="COOK")
    assert seen["applicable"] and seen["addedAtoms"] == [{"predicate": "meal", "args": {"x": 1}}]
    assert desk.code("apply_action", actionNodeId="COOK", expectedRevision="rev1:00000000") == "STALE_REVISION"
    text = desk.text("apply_action", actionNodeId="COOK", expectedRevision=seen["boardRevision"])
    assert "applied cook: produced meal(x=1); consumed raw(x=1)" in text and "[effect]" in text
    blocked = desk.data("apply_action", actionNodeId="COOK")
    assert blocked["applied"] is False and blocked["failedPrecondition"]["predicate"] == "raw"
    assert "failed precondition: raw(x=1)" in desk.text("simulate_action", actionNodeId="COOK")


def test_a_precondition_on_the_stated_opposite_hints_at_absence(desk: Desk):
    desk.do({"op": "define_action", "id": "A1", "action": "go", "preconditions": [{"predicate": "done", "negated": True}], "effects": [{"predicate": "went"}]})
    assert "naf:true" in desk.text("apply_action", actionNodeId="A1")


def test_request_action_applies_by_name_and_chosen_values(desk: Desk):
    ship = {"op": "define_action", "action": "ship", "preconditions": [{"predicate": "paid", "args": {"order": "?o"}}],
            "effects": [{"predicate": "shipped", "args": {"order": "?o"}}]}
    assert desk.code("request_action", action="ship") == "ACTION_UNKNOWN"
    desk.do(ship, *({"op": "assert_fact", "predicate": "paid", "args": {"order": order}} for order in ("A", "B")))
    answer = desk("request_action", action="ship")
    assert answer["structuredContent"]["errorCode"] == "ACTION_BINDINGS" and '{"o": "A"}' in answer["content"][0]["text"]
    assert desk.code("request_action", action="ship", args={"colour": "red"}) == "ACTION_BLOCKED"
    assert desk.code("request_action", action="ship", args={"order": "C"}) == "ACTION_BLOCKED"
    assert "produced shipped(order=B)" in desk.text("request_action", action="ship", args={"order": "B"})
    assert "produced shipped(order=A)" in desk.text("request_action", action="ship", args={"?o": "A"})


def test_plans_are_found_validated_mended_and_applied(desk: Desk):
    desk.do(action("A1", makes=["a"]), action("A2", needs=["a"], makes=["b"]),
            {"op": "declare_goal", "id": "G", "label": "b", "desired": [{"predicate": "b", "args": {"x": 1}}]})
    assert desk.data("plan_to_goal")["plan"] == ["A1", "A2"]
    assert desk.data("validate_plan", actionNodeIds=["A2"])["firstFailureIndex"] == 0
    assert desk.data("suggest_plan_repairs", actionNodeIds=["A2"])["repairs"][0]["plan"] == ["A1", "A2"]
    assert desk.data("apply_plan", actionNodeIds=["A1"], requireGoals=True)["applied"] is False
    assert "nothing was written" in desk.text("apply_plan", actionNodeIds=["A2"])
    assert desk.data("apply_plan", actionNodeIds=["A1", "A2"], requireGoals=True)["appliedActions"] == ["A1", "A2"]
    assert "every goal holds already" in desk.text("plan_to_goal")


def test_a_constraint_problem_is_solved_and_written(desk: Desk):
    desk.do({"op": "add_axiom", "when": [{"predicate": "assignment", "args": {"var": "x", "value": "?v"}}, {"predicate": "assignment", "args": {"var": "y", "value": "?v"}}],
             "then": [{"predicate": "conflict", "args": {"v": "?v"}}]})
    domain = [{"name": name, "domain": [1, 2]} for name in ("x", "y")]
    assert desk.data("solve", variables=domain)["assignment"] == {"x": 1, "y": 2}
    assert "assignment(value=2, var=y)" in desk.text("get_logic_context")
    assert desk.data("solve", variables=[{"name": name, "domain": [1]} for name in ("x", "y")])["reason"] == "unsat"


def test_critique_names_what_looks_wrong(desk: Desk):
    assert "healthy" in desk.text("board_critique")
    desk.do({"op": "assert_fact", "id": "F", "predicate": "finding", "args": {"x": 1}})
    assert "[asserted_finding] F" in desk.text("board_critique")


# --- tasks ---------------------------------------------------------------------------------

TASK = {"root": "invoice", "leaves": [{"node": "total", "acceptance": GRAND}]}


def shut(desk: Desk) -> set[str]:
    answer = desk("complete_task", root="invoice")
    assert answer["structuredContent"]["errorCode"] == "TASK_NOT_COMPLETE", answer
    return {row["gate"] for row in answer["structuredContent"]["gates"]}


def test_a_task_is_completed_only_through_its_gates(desk: Desk):
    desk.text("declare_task", **TASK)
    assert shut(desk) == {"acceptance_unmet", "result_missing"}
    desk.do({"op": "assert_fact", "id": "F", "predicate": "grand", "args": {"value": 1}})
    assert shut(desk) == {"acceptance_claimed", "self_sealed_goal", "result_missing"}
    desk.do({"op": "retract_node", "nodeId": "F"}, *INVOICE)
    assert shut(desk) == {"result_missing"}
    desk.do({"op": "record_result", "id": "RS", "label": "done"})
    assert shut(desk) == {"result_unfounded"}
    desk.do({"op": "retract_node", "nodeId": "RS"}, {"op": "record_result", "label": "done", "evidenceRefs": ["derived:grand|value:10093"]})
    assert desk.data("complete_task", root="invoice") == {
        "root": "invoice", "completed": True, "leaves": [{"node": "total", "test": "grand(value=?v)", "met": True, "tier": "asserted"}]}
    assert desk.code("complete_task", root="invoice") == "TASK_CLOSED"


def test_a_disputed_acceptance_keeps_a_task_open(desk: Desk):
    desk.text("declare_task", **TASK)
    desk.do(*INVOICE, {"op": "record_result", "label": "done", "evidenceRefs": ["derived:grand|value:10093"]},
            {"op": "assert_fact", "predicate": "line", "args": LINES[0]["args"], "negated": True})
    assert shut(desk) == {"acceptance_disputed", "result_disputed"}


def test_a_claimed_finding_or_a_rule_that_proves_nothing_keeps_a_task_open(desk: Desk):
    desk.text("declare_task", **TASK)
    desk.do(*INVOICE, {"op": "record_result", "label": "done", "evidenceRefs": ["derived:grand|value:10093"]})
    desk.do({"op": "assert_fact", "predicate": "finding", "args": {"x": 1}},
            {"op": "add_axiom", "when": [{"predicate": "invoice_paid"}], "then": [{"predicate": "finding", "args": {"about": "invoice"}}]})
    assert shut(desk) == {"asserted_finding", "vacuous_rule"}


def test_a_leaf_may_be_called_like_what_it_tests(desk: Desk):
    desk.text("declare_task", root="invoice", leaves=[{"node": "grand", "acceptance": GRAND}])
    desk.do(*INVOICE, {"op": "record_result", "label": "done", "evidenceRefs": ["derived:grand|value:10093"]})
    assert "vacuous_rule" not in desk.text("board_critique")
    assert desk.data("complete_task", root="invoice")["completed"]


ATTEMPTS = [
    {"op": "retract_node", "nodeId": "@acceptance"}, {"op": "revise_fact", "nodeId": "@acceptance", "predicate": "acceptance", "args": {"node": "total", "test": "x"}},
    {"op": "retract_node", "nodeId": "@committed_acceptance"}, {"op": "retract_node", "nodeId": "@rule"},
    {"op": "add_axiom", "when": [], "then": [{"predicate": "acceptance_met", "args": {"node": "total"}}]},
    {"op": "retract_node", "nodeId": "@subgoal_of"}, {"op": "retract_node", "nodeId": "@committed_derivation"},
]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=[str(row.get("nodeId", row["op"])) + row["op"] for row in ATTEMPTS])
def test_nobody_moves_the_goalposts(desk: Desk, attempt):
    desk.text("declare_task", **TASK)
    ids = {row["atom"]["predicate"]: row["nodeId"] for row in desk.data("get_logic_context")["facts"]}
    ids["rule"] = desk.data("get_logic_context")["axioms"][0]["nodeId"]
    if "nodeId" in attempt:
        attempt = {**attempt, "nodeId": ids[attempt["nodeId"][1:]]}
    assert desk.code("update_working_memory", operations=[attempt]) == "BASELINE_PROTECTED"


def test_claiming_the_acceptance_itself_opens_no_gate(desk: Desk):
    desk.text("declare_task", **TASK)
    desk.do({"op": "assert_fact", "id": "C", "predicate": "acceptance_met", "args": {"node": "total"}},
            {"op": "record_result", "label": "done", "evidenceRefs": ["C"]})
    assert "acceptance_unmet" in shut(desk)


def test_taking_the_goal_away_takes_no_gate_away(desk: Desk):
    desk.text("declare_task", **TASK)
    goal = desk.data("get_logic_context")["goals"][0]["nodeId"]
    desk.do({"op": "retract_node", "nodeId": goal})
    assert "acceptance_unmet" in shut(desk)


def test_a_rule_seeded_from_elsewhere_judges_no_acceptance(desk: Desk):
    """A trusted rule of another Board's task, with an easier test for a leaf of the same name."""
    desk.text("create_space", id="easy", title="Easy")
    desk.text("declare_task", spaceId="easy", root="invoice", leaves=[{"node": "total", "acceptance": "anything"}])
    desk.text("create_space", id="real", title="Real", seedFromSpaceId="easy")
    desk.text("declare_task", spaceId="real", **TASK)
    desk.text("update_working_memory", spaceId="real", operations=[{"op": "assert_fact", "predicate": "anything"}])
    answer = desk("complete_task", spaceId="real", root="invoice")
    assert "acceptance_unmet" in {row["gate"] for row in answer["structuredContent"]["gates"]}


SHAPES = [
    ({"root": "", "leaves": TASK["leaves"]}, "TASK_SHAPE"), ({"root": "r", "leaves": [7]}, "ARGUMENTS_INVALID"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": "the total is right"}]}, "TASK_SHAPE"),
    ({"root": "r", "leaves": [{"node": "r", "acceptance": "p"}]}, "TASK_SHAPE"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": "p"}, {"node": "n", "acceptance": "q"}]}, "TASK_SHAPE"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": []}]}, "TASK_SHAPE"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": [{"predicate": "p", "naf": True}]}]}, "TASK_SHAPE"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": {"predicate": "acceptance_met"}}]}, "TASK_SHAPE"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": {"predicate": "p", "args": {"x": "string"}}}]}, "PLACEHOLDER_VALUE"),
    ({"root": "r", "leaves": [{"node": "n", "acceptance": [{"predicate": "p", "args": {"x": "?x"}}, {"predicate": "q", "args": {"y": "?y"}, "naf": True}]}]}, "RULE_UNSAFE"),
]


@pytest.mark.parametrize(("arguments", "code"), SHAPES)
def test_a_task_of_the_wrong_shape_is_refused_with_the_right_one(desk: Desk, arguments, code):
    assert desk.code("declare_task", **arguments) == code
    assert desk.boards.spaces == {}


def test_a_task_is_declared_once_and_only_a_declared_one_is_completed(desk: Desk):
    assert desk.code("complete_task", root="invoice") == "TASK_UNKNOWN"
    desk.text("declare_task", **TASK)
    assert desk.code("declare_task", **TASK) == "TASK_TAKEN"
    assert desk.code("declare_task", root="other", leaves=TASK["leaves"]) == "TASK_TAKEN"
    assert desk.code("complete_task", root="other") == "TASK_UNKNOWN"


def test_a_node_whose_name_looks_like_a_number_is_as_good_as_any(desk: Desk):
    desk.text("declare_task", root="2026", leaves=[{"node": "7", "acceptance": "done"}])
    assert desk.code("declare_task", root="2026", leaves=[{"node": "8", "acceptance": "done"}]) == "TASK_TAKEN"
    assert desk("complete_task", root="2026")["structuredContent"]["gates"][0]["node"] == "7"


def test_guards_and_absence_may_be_part_of_a_test(desk: Desk):
    desk.text("declare_task", root="invoice", leaves=[{"node": "total", "acceptance": [
        GRAND, {"predicate": "gt", "args": {"left": "?v", "right": 10_000}}, {"predicate": "hold", "naf": True}]}])
    desk.do(*INVOICE, {"op": "record_result", "label": "done", "evidenceRefs": ["T"]}, {"op": "assert_fact", "id": "H", "predicate": "hold"})
    assert shut(desk) == {"acceptance_unmet"}
    desk.do({"op": "retract_node", "nodeId": "H"})
    assert "is completed" in desk.text("complete_task", root="invoice")


def test_a_write_to_a_large_board_tells_what_it_changed(desk: Desk):
    """Reading it whole after each write would cost what the Board holds."""
    desk.do(GOAL, COST, *({"op": "assert_fact", "predicate": "row", "args": {"n": n}} for n in range(600)))
    text = desk.do({"op": "assert_fact", "id": "LX", "predicate": "line", "args": {"item": "x", "unit": 2, "qty": 3}})
    assert "LX: line(item=x, qty=3, unit=2) [asserted]" in text and "cost(item=x, total=6) [derived]" in text
    assert "G1: grand(value=?v) [open]" in text and "not shown; get_logic_context reads it" in text and "row(n=5)" not in text
