"""The tools as a model sees them: short, checked as shown, each refusal with a correct shape.

Duty: the published surface and error contract; bounds of the list in bytes / 4.
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.base.limits import BOARD_TEXT_BYTES_MAX
from rulith.board.space.operations import OPERATIONS
from rulith.gateway import board_tools
from rulith.gateway.board_tools import EXAMPLES, TOOLS, check_arguments
from tests.board_server.conftest import COST, INVOICE, LINES, TOTAL, Desk

SEED = {"update_working_memory", "get_logic_context", "explain_fact", "request_action", "complete_task", "declare_task"}
KERNEL = {"create_space", "list_spaces", "distill_space", "board_critique", "simulate_action", "apply_action", "validate_plan",
          "apply_plan", "suggest_plan_repairs", "plan_to_goal", "solve"}


def tokens(value) -> float:
    return len((value if isinstance(value, str) else compact_json(value)).encode()) / 4


def test_the_list_of_tools_is_short():
    assert {tool.name for tool in TOOLS} == SEED | KERNEL
    assert tokens(board_tools.listing()) < 5_000
    assert sum(tokens(tool.description) for tool in TOOLS) + tokens(board_tools.INSTRUCTIONS) < 1_500


def test_every_operation_is_in_the_schema_and_has_an_example():
    assert board_tools.OPERATION["properties"]["op"]["enum"] == list(OPERATIONS)
    assert set(EXAMPLES) == set(OPERATIONS)
    assert all(set(example) <= set(board_tools.OPERATION["properties"]) for example in EXAMPLES.values())


def test_a_schema_is_a_portable_one():
    """One type a place, no references: what every host can hand to its model."""
    waiting = [tool.schema for tool in TOOLS]
    while waiting:
        schema = waiting.pop()
        assert isinstance(schema.get("type"), str) or "anyOf" in schema, schema
        assert "$ref" not in schema
        waiting += [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])]


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_the_correct_shape_of_a_tool_passes_its_own_check(tool):
    assert check_arguments(tool, dict(tool.example)) == dict(tool.example)


def test_the_correct_shapes_work_one_after_the_other(desk: Desk):
    desk.do(EXAMPLES["assert_fact"], {**EXAMPLES["assert_fact"], "id": "L2", "args": {"item": "b", "unit": 1, "qty": 1}})
    for op in ("declare_goal", "declare_hypothesis", "add_axiom", "derive_aggregate", "define_action", "record_conflict"):
        desk.do(EXAMPLES[op])
    desk.do({"op": "retract_node", "nodeId": "L2"}, EXAMPLES["derive_aggregate"])
    desk.do(EXAMPLES["record_result"])
    desk.do(EXAMPLES["revise_fact"])
    desk.do(EXAMPLES["retract_node"]) if "L1" in desk.boards.spaces["main"].nodes else None


CHECKED = [
    ("update_working_memory", {}, "ARGUMENTS_INVALID"), ("update_working_memory", {"operations": "[]"}, "ARGUMENTS_INVALID"),
    ("explain_fact", {"factNodeId": 7}, "ARGUMENTS_INVALID"), ("explain_fact", {"mode": "how", "factNodeId": "x"}, "ARGUMENTS_INVALID"),
    ("explain_fact", {}, "ARGUMENTS_INVALID"), ("explain_fact", {"factNodeId": "x", "fact": {"predicate": "p"}}, "ARGUMENTS_INVALID"),
    ("explain_fact", {"factNodeId": "x", "operations": [{}]}, "ARGUMENTS_INVALID"), ("explain_fact", {"fact": {"args": {}}}, "ARGUMENTS_INVALID"),
    ("get_logic_context", {"maxFacts": 0}, "ARGUMENTS_INVALID"), ("get_logic_context", {"maxFacts": True}, "ARGUMENTS_INVALID"),
    ("get_logic_context", {"pinPredicates": [1]}, "ARGUMENTS_INVALID"), ("get_logic_context", {"format": "xml"}, "ARGUMENTS_INVALID"),
    ("solve", {"variables": []}, "ARGUMENTS_INVALID"), ("solve", {"variables": [{"name": "x"}]}, "ARGUMENTS_INVALID"),
    ("solve", {"variables": [{"name": "x", "domain": [None]}]}, "ATOM_INVALID"),
    ("apply_plan", {"actionNodeIds": ["a"], "requireGoals": "yes"}, "ARGUMENTS_INVALID"),
    ("declare_task", {"root": "r", "leaves": [{"node": "n"}]}, "ARGUMENTS_INVALID"),
    ("create_space", {"title": 5}, "ARGUMENTS_INVALID"), ("list_spaces", {"locale": "de"}, "LOCALE_UNSUPPORTED"),
    ("list_spaces", {"locale": 7}, "LOCALE_UNSUPPORTED"),
]


@pytest.mark.parametrize(("name", "arguments", "code"), CHECKED)
def test_arguments_are_checked_as_they_are_shown(desk: Desk, name, arguments, code):
    assert desk.code(name, **arguments) == code
    assert desk.boards.spaces == {}


def test_only_english_is_spoken_and_the_legacy_value_still_taken(desk: Desk):
    assert desk.text("list_spaces", locale="zh") == desk.text("list_spaces", locale="en") == desk.text("list_spaces") == "no spaces"


def test_unknown_members_are_dropped(desk: Desk):
    assert "p(x=1)" in desk.text("update_working_memory", operations=[{"op": "assert_fact", "predicate": "p", "args": {"x": 1}, "colour": "red"}], mood="good")


def test_null_stands_for_leaving_out(desk: Desk):
    """Some hosts fill in every optional member."""
    desk.text("get_logic_context", spaceId=None, maxFacts=None, format=None, locale=None)


# --- refusals ------------------------------------------------------------------------------

A, B = {"predicate": "a", "args": {"x": "?x"}}, {"predicate": "b", "args": {"x": "?x"}}
NAF = {**A, "naf": True}
REFUSED = [
    ({"predicate": "p"}, "OP_MISSING", None), ({"op": "drop"}, "OP_UNKNOWN", None),
    ({"op": "assert_fact", "predicate": ""}, "ATOM_INVALID", "assert_fact"),
    ({"op": "assert_fact", "predicate": "p", "args": {"x": None}}, "ATOM_INVALID", "assert_fact"),
    ({"op": "assert_fact", "predicate": "p", "args": {"x": "?y"}}, "ATOM_INVALID", "assert_fact"),
    ({"op": "assert_fact", "predicate": "p", "args": {"x": 2**53}}, "number_out_of_range", "assert_fact"),
    ({"op": "assert_fact", "predicate": "mul"}, "BUILTIN_RESERVED", "assert_fact"),
    ({"op": "assert_fact", "id": "derived:p|", "predicate": "p"}, "PROVENANCE_FORGED", "assert_fact"),
    ({"op": "declare_goal", "desired": []}, "GOAL_EMPTY", "declare_goal"),
    ({"op": "declare_goal", "desired": [{"predicate": "p", "args": {"x": "number"}}]}, "PLACEHOLDER_VALUE", "declare_goal"),
    ({"op": "add_axiom", "when": [], "then": [A]}, "RULE_UNSAFE", "add_axiom"),
    ({"op": "add_axiom", "when": [B, NAF], "then": [A]}, "NOT_STRATIFIABLE", "add_axiom"),
    ({"op": "define_action", "action": "go", "preconditions": [], "effects": [A]}, "ACTION_UNSAFE", "define_action"),
    ({"op": "retract_node"}, "NODE_ID_REQUIRED", "retract_node"), ({"op": "retract_node", "nodeId": "no"}, "NODE_NOT_FOUND", "retract_node"),
    ({"op": "record_result", "label": "r", "evidenceRefs": ["no"]}, "EVIDENCE_UNRESOLVED", "record_result"),
    ({"op": "record_result", "label": "memory_event: mine"}, "RESERVED_LABEL", "record_result"),
    ({"op": "derive_aggregate", "kind": "median", "source": {"predicate": "p"}, "into": {"predicate": "q", "valueArg": "v"}}, "AGGREGATE_KIND", "derive_aggregate"),
    ({"op": "derive_aggregate", "source": {"predicate": "p", "valueArg": "v"}, "into": {"predicate": "q", "valueArg": "v"}}, "AGGREGATE_EMPTY", "derive_aggregate"),
]


@pytest.mark.parametrize(("operation", "code", "op"), REFUSED)
def test_a_refused_batch_says_its_code_and_a_correct_shape(desk: Desk, operation, code, op):
    answer = desk("update_working_memory", operations=[operation])
    data, text = answer["structuredContent"], answer["content"][0]["text"]
    assert answer["isError"] and data["errorCode"] == code
    assert text.startswith(f"error {code}: ") and data["teaching"] in text and compact_json(data["correct"]) in text
    assert data["correct"] == {"operations": [EXAMPLES[op or "assert_fact"]]}
    assert desk.boards.spaces == {}, "a refused first batch makes no Board"


def test_a_finding_gate_names_its_operation(desk: Desk):
    desk.do({"op": "assert_fact", "predicate": "finding", "args": {"x": 1}})
    answer = desk("update_working_memory", operations=[{"op": "record_result", "label": "r"}])
    assert answer["structuredContent"]["errorCode"] == "FINDING_NOT_DERIVED"
    assert answer["structuredContent"]["correct"]["operations"][0]["op"] == "record_result"


def test_a_refusal_of_another_tool_shows_that_tool(desk: Desk):
    desk.do(*INVOICE)
    answer = desk("apply_action", actionNodeId="L1")
    assert answer["structuredContent"] == {**answer["structuredContent"], "errorCode": "NODE_NOT_ACTION", "correct": {"actionNodeId": "A1"}}


# --- bounds --------------------------------------------------------------------------------


def test_no_answer_is_longer_than_its_bound_and_a_cut_is_visible(desk: Desk):
    rows = [{"op": "assert_fact", "predicate": "row", "args": {"n": n, "text": "x" * 300}} for n in range(500)]
    rules = [{"op": "add_axiom", "when": [{"predicate": f"p{n}", "args": {"x": "?x"}}], "then": [{"predicate": "q", "args": {"x": "?x", "n": n}}]}
             for n in range(300)]
    assert "not shown" in desk.text("update_working_memory", operations=rows)
    text = desk.text("update_working_memory", operations=rules)
    assert len(text.encode()) <= BOARD_TEXT_BYTES_MAX and "cut here" in text
    wide = desk.text("get_logic_context", maxFacts=500)
    assert len(wide.encode()) <= BOARD_TEXT_BYTES_MAX and "cut here" in wide
    data = desk.data("get_logic_context")
    assert len(data["facts"]) == 60 and data["truncated"] == {"facts": 440} and data["stats"]["facts"] == 500


def test_a_proof_of_many_premises_is_cut_where_one_sees_it(desk: Desk):
    rows = [{"op": "assert_fact", "predicate": "cost", "args": {"item": n, "total": 1}} for n in range(3_000)]
    desk.do(*rows, TOTAL)
    text = desk.text("explain_fact", factNodeId="derived:grand|value:3000")
    assert len(text.encode()) <= BOARD_TEXT_BYTES_MAX and "cut here" in text
    assert desk.data("explain_fact", factNodeId="derived:grand|value:3000")["cut"] is True


def test_pins_bring_up_what_a_slice_left_out(desk: Desk):
    rows = [{"op": "assert_fact", "predicate": "row", "args": {"n": n}} for n in range(200)]
    desk.do({"op": "assert_fact", "predicate": "rare", "args": {"x": 1}}, *rows)
    assert "rare(x=1)" not in desk.text("get_logic_context", maxFacts=10)
    assert "rare(x=1)" in desk.text("get_logic_context", maxFacts=10, pinPredicates=["rare"])


def test_a_refusal_with_no_such_row_would_be_a_bug():
    with pytest.raises(KeyError):
        Refused("NO_SUCH_CODE")


def test_the_texts_of_the_parts_are_in_the_kernel_s_form(desk: Desk):
    text = desk.do(*LINES, COST, TOTAL)
    assert "applied 4 operation(s); derived +3/-0 fact(s)" in text
    for line in ("logic_context main: main", "goals: none", "- L1: line(item=a, qty=7, unit=1299) [asserted]",
                 "- derived:grand|value:10093: grand(value=10093) [derived]"):
        assert line in text


def test_data_that_would_be_too_much_gives_way_to_text(desk: Desk):
    """The batch is applied, so the answer is none that says it was refused."""
    rows = [{"op": "declare_goal", "label": "g", "desired": [{"predicate": f"p{n}", "args": {"x": "y" * 900}}]} for n in range(400)]
    answer = desk("update_working_memory", operations=rows, format="json")
    assert not answer["isError"] and "structuredContent" not in answer and "ask for less" in answer["content"][0]["text"]


def test_names_of_boards_are_bounded(desk: Desk):
    assert desk.code("create_space", title="x" * 5_000) == "resource_limit"
    assert desk.code("create_space", title="x", id="y" * 5_000) == "resource_limit"
    assert desk.code("create_space", title="x", scopes=["s"] * 65) == "resource_limit"
    assert desk.text("list_spaces") == "no spaces"
