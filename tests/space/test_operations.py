"""Batches and their operations: shape, ids, duplicates, retraction, warnings.

Duty: the reasoning board, "Batches", "Operations", "Truth maintenance"; the error contract
(a stable code, a message that says the corrected shape, nothing applied).
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.base.limits import (
    SPACE_EVIDENCE_MAX, SPACE_LABEL_BYTES_MAX, SPACE_NODES_MAX, SPACE_OPERATIONS_MAX, SPACE_TEXT_BYTES_MAX,
)
from rulith.board.space.nodes import BatchOptions
from rulith.board.space.operations import OPERATIONS
from tests.space.short import AT, board, everything, facts, tell

FACT = {"op": "assert_fact", "predicate": "p", "args": {"x": 1}}

#  code: an operation that provokes it on the board below
REFUSED = {
    "OP_MISSING": {"predicate": "p"},
    "OP_UNKNOWN": {"op": "assert", "predicate": "p"},
    "OP_INVALID": {**FACT, "evidenceRefs": "F1"},
    "ATOM_INVALID": {"op": "assert_fact", "predicate": ""},
    "BUILTIN_RESERVED": {"op": "declare_hypothesis", "predicate": "lt"},
    "GOAL_EMPTY": {"op": "declare_goal", "label": "g", "desired": []},
    "PLACEHOLDER_VALUE": {"op": "declare_hypothesis", "predicate": "p", "args": {"x": "Number"}},
    "PROVENANCE_FORGED": {**FACT, "summary": "Derived fact: p"},
    "NODE_ID_REQUIRED": {"op": "retract_node", "reason": "wrong"},
    "NODE_ID_TAKEN": {**FACT, "id": "F1", "predicate": "other"},
    "NODE_NOT_FOUND": {"op": "retract_node", "nodeId": "F9"},
    "RULE_UNSAFE": {"op": "add_axiom", "label": "r", "when": [], "then": [{"predicate": "q", "args": {"x": "?x"}}]},
    "ACTION_UNSAFE": {"op": "define_action", "action": "a", "effects": [{"predicate": "q", "args": {"x": "?x"}}]},
    "NOT_STRATIFIABLE": {"op": "add_axiom", "when": [{"predicate": "p", "args": {"x": "?x"}}, {"predicate": "q", "args": {"x": "?x"}, "naf": True}],
                         "then": [{"predicate": "q", "args": {"x": "?x"}}]},
    "RESERVED_LABEL": {"op": "record_result", "label": "memory_event: saved"},
    "EVIDENCE_UNRESOLVED": {"op": "record_result", "label": "done", "evidenceRefs": ["F9"]},
    "number_out_of_range": {"op": "assert_fact", "predicate": "p", "args": {"x": 2**53}},
    "resource_limit": {**FACT, "id": "i" * (SPACE_LABEL_BYTES_MAX + 1)},
}


@pytest.mark.parametrize("code", sorted(REFUSED))
def test_a_refusal_has_its_code_teaches_and_changes_nothing(code):
    space = board("F1 = p(x=0)", "R: q(x=?x) <- p(x=?x)")
    before = everything(space)
    with pytest.raises(Refused) as refused:
        tell(space, {**FACT, "id": "new", "predicate": "fresh"}, REFUSED[code])
    assert refused.value.code == code
    assert refused.value.next_step
    assert everything(space) == before


@pytest.mark.parametrize(("member", "size"), [("summary", SPACE_TEXT_BYTES_MAX), ("label", SPACE_LABEL_BYTES_MAX)])
def test_texts_are_bounded(member, size):
    space = board({**FACT, member: "x" * size})
    with pytest.raises(Refused) as refused:
        tell(space, {**FACT, "predicate": "q", member: "x" * (size + 1)})
    assert refused.value.code == "resource_limit"


def test_evidence_is_bounded():
    space = board()
    for refs in (["r"] * (SPACE_EVIDENCE_MAX + 1), ["r" * (SPACE_TEXT_BYTES_MAX + 1)]):
        with pytest.raises(Refused) as refused:
            tell(space, {**FACT, "evidenceRefs": refs})
        assert refused.value.code == "resource_limit"


def test_nodes_are_bounded(monkeypatch):
    space = board("F1 = p(x=1)")
    monkeypatch.setattr("rulith.board.space.change.SPACE_NODES_MAX", 2)
    before = everything(space)
    with pytest.raises(Refused) as refused:
        tell(space, "F2 = p(x=2)", "F3 = p(x=3)")
    assert refused.value.code == "resource_limit" and everything(space) == before
    assert SPACE_NODES_MAX == 200_000


def test_a_batch_is_bounded():
    space = board()
    with pytest.raises(Refused) as refused:
        space.apply([FACT] * (SPACE_OPERATIONS_MAX + 1), at=AT, mint=space.mint_for_tests)
    assert refused.value.code == "resource_limit" and not space.nodes


@pytest.mark.parametrize("text", ["\ud800", 5, ["a"], True])
@pytest.mark.parametrize("member", ["id", "label", "summary"])
def test_ids_and_labels_are_text_that_can_be_written(member, text):
    with pytest.raises(Refused) as refused:
        board({**FACT, member: text})
    assert refused.value.code == "OP_INVALID"


@pytest.mark.parametrize("operations", [None, {}, "assert_fact", 5])
def test_a_batch_is_a_list(operations):
    space = board()
    with pytest.raises(Refused) as refused:
        space.apply(operations, at=AT, mint=space.mint_for_tests)
    assert refused.value.code == "OP_INVALID"


@pytest.mark.parametrize(("members", "guess"), [
    ({"desired": []}, "declare_goal"), ({"when": [], "then": []}, "add_axiom"), ({"effects": []}, "define_action"),
    ({"source": {}, "into": {}}, "derive_aggregate"), ({"nodeId": "F1", "predicate": "p"}, "revise_fact"),
    ({"nodeId": "F1"}, "retract_node"), ({"evidenceRefs": []}, "record_result"), ({"predicate": "p"}, "assert_fact"),
])
def test_a_forgotten_op_is_guessed_in_the_message(members, guess):
    with pytest.raises(Refused, match=f"it looks like {guess}"):
        board(members)


@pytest.mark.parametrize("op", OPERATIONS)
def test_the_single_key_shape_is_unwrapped_for_every_operation(op):
    members = {"id": "derived:x", "predicate": "p", "desired": [{"predicate": "p"}], "when": [], "then": [], "action": "a",
               "source": {"predicate": "p"}, "into": {"predicate": "q", "valueArg": "v"}, "kind": "count", "nodeId": "F1"}
    for shape in ({"op": op, **members}, {op: members}, {op: members, "note": "because"}):
        with pytest.raises(Refused) as refused:
            board(shape)
        assert refused.value.code == "PROVENANCE_FORGED"


def test_options_that_no_host_has_are_refused():
    for wrong in ({"source": "agent"}, {"created_by": "root"}, {"trust_tier": "certain"}):
        with pytest.raises(Refused) as refused:
            BatchOptions(**wrong)
        assert refused.value.code == "OP_INVALID"


# --- ids and repetition --------------------------------------------------------------------


def test_an_id_may_not_occur_twice_in_a_batch():
    with pytest.raises(Refused) as refused:
        board("F1 = p(x=1)", "F1 = p(x=2)")
    assert refused.value.code == "NODE_ID_TAKEN"


def test_an_id_is_free_once_its_node_is_retracted_in_the_same_batch_and_not_before():
    space = board("F1 = p(x=1)")
    tell(space, {"op": "retract_node", "nodeId": "F1"}, "F1 = p(x=2)")
    assert facts(space) == ["p(x=2)[a]"]
    with pytest.raises(Refused) as refused:
        tell(space, "F1 = p(x=3)", {"op": "retract_node", "nodeId": "F1"})
    assert refused.value.code == "NODE_ID_TAKEN"


def test_an_equal_fact_is_reused_and_its_id_reported():
    space = board("F1 = p(x=1)")
    result = tell(space, "F2 = p(x=1)")
    assert result.operations[0].node_ids == ("F1",)
    assert [w.code for w in result.warnings] == ["DUPLICATE_FACT"] and "F2" not in space.nodes


def test_an_equal_rule_in_another_order_is_not_added_and_a_renamed_variable_makes_it_new():
    space = board("R1: q(x=?x) <- p(x=?x), r(x=?x)")
    result = tell(space, "R2: q(x=?x) <- r(x=?x), p(x=?x)")
    assert result.operations[0].node_ids == ("R1",) and [w.code for w in result.warnings] == ["DUPLICATE_RULE"]
    tell(space, "R3: q(x=?y) <- p(x=?y), r(x=?y)")
    assert [node.id for node in space.axioms()] == ["R1", "R3"]


def test_rules_that_differ_in_the_type_of_a_value_are_different():
    space = board({"op": "add_axiom", "id": "R1", "when": [], "then": [{"predicate": "p", "args": {"x": True}}]},
                  {"op": "add_axiom", "id": "R2", "when": [], "then": [{"predicate": "p", "args": {"x": "true"}}]},
                  {"op": "add_axiom", "id": "R3", "when": [], "then": [{"predicate": "p", "args": {"x": 1}}]})
    assert len(space.axioms()) == 3 and len(facts(space)) == 3


# --- retraction and evidence ---------------------------------------------------------------


def test_a_retraction_takes_what_cites_a_derived_fact_that_falls():
    space = board("F1 = a(x=1)", "R: b(x=?x) <- a(x=?x)", "R2: c(x=?x) <- b(x=?x)",
                  {"op": "record_result", "id": "RS", "label": "c holds", "evidenceRefs": ["derived:c|x:1"]},
                  {**FACT, "id": "F2", "evidenceRefs": ["RS"]})
    result = tell(space, {"op": "retract_node", "nodeId": "F1"})
    assert set(result.operations[0].retracted) == {"F1", "RS", "F2", "derived:b|x:1", "derived:c|x:1"}
    assert facts(space) == [] and "RS" not in space.nodes


def test_what_cites_a_derived_fact_stays_where_another_statement_of_its_premise_stays():
    space = board("F1 = a(x=1)", "R: b(x=?x) <- a(x=?x)", {**FACT, "id": "F2", "evidenceRefs": ["derived:b|x:1"]})
    tell(space, "T1 = a(x=1)", options=BatchOptions("system", "tool"))
    tell(space, {"op": "retract_node", "nodeId": "F1"})
    assert facts(space) == ["a(x=1)[a]", "b(x=1)[d]", "p(x=1)[a]"]


def test_a_derived_fact_comes_back_and_what_cited_it_does_not():
    space = board("F1 = a(x=1)", "R: b(x=?x) <- a(x=?x)", {"op": "record_result", "id": "RS", "label": "b", "evidenceRefs": ["derived:b|x:1"]})
    result = tell(space, {"op": "retract_node", "nodeId": "derived:b|x:1"})
    assert set(result.operations[0].retracted) == {"RS", "derived:b|x:1"}
    assert facts(space) == ["a(x=1)[a]", "b(x=1)[d]"] and "RS" not in space.nodes


def test_a_derived_fact_of_the_same_batch_may_be_retracted_by_id():
    space = board("F1 = a(x=1)", "R: b(x=?x) <- a(x=?x)", {"op": "retract_node", "nodeId": "derived:b|x:1"})
    assert facts(space) == ["a(x=1)[a]", "b(x=1)[d]"]


def test_archiving_hides_what_cites_it_and_retracting_removes_it():
    space = board("F1 = p(x=1)", {**FACT, "id": "F2", "predicate": "q", "evidenceRefs": ["F1"]}, "R: r(x=?x) <- q(x=?x)")
    with space.change(AT, space.mint_for_tests) as change:
        change.archive("F1", " [consumed]")
    assert facts(space) == [] and not space.usable("F2") and space.nodes["F1"].summary.endswith("[consumed]")
    tell(space, {**FACT, "id": "F3", "predicate": "late", "evidenceRefs": ["F2"]})
    assert facts(space) == []
    tell(space, {"op": "retract_node", "nodeId": "F1"})
    assert set(space.nodes) == {"R"}


def test_evidence_in_a_circle_counts_as_usable():
    space = board({**FACT, "id": "F1", "evidenceRefs": ["F2"]}, {**FACT, "id": "F2", "predicate": "q", "evidenceRefs": ["F1"]})
    assert facts(space) == ["p(x=1)[a]", "q(x=1)[a]"]
    tell(space, {"op": "retract_node", "nodeId": "F2"})
    assert facts(space) == []


def test_a_node_stated_before_its_unusable_evidence_falls_when_that_arrives():
    space = board("F0 = z(x=1)")
    with space.change(AT, space.mint_for_tests) as change:
        change.archive("F0")
    tell(space, {**FACT, "id": "F1", "evidenceRefs": ["F2"]})
    assert facts(space) == ["p(x=1)[a]"]
    tell(space, {**FACT, "id": "F2", "predicate": "q", "evidenceRefs": ["F0"]})
    assert facts(space) == [] and not space.usable("F1")


def test_a_revision_merges_with_what_is_there():
    space = board("F1 = v(x=1)", "F2 = v(x=2)")
    result = tell(space, {"op": "revise_fact", "nodeId": "F1", "id": "F3", "predicate": "v", "args": {"x": 2}})
    assert facts(space) == ["v(x=2)[a]"] and [w.code for w in result.warnings] == ["REVISE_DUPLICATE"]


def test_a_refuted_hypothesis_is_no_evidence_and_hides_what_cites_it():
    space = board({"op": "declare_hypothesis", "id": "H", "predicate": "p", "args": {"x": 1}},
                  {"op": "record_result", "id": "RS", "label": "maybe", "evidenceRefs": ["H"]})
    result = tell(space, "F1 = not p(x=1)")
    assert result.hypothesis_updates == {"H": "rejected"}
    with pytest.raises(Refused) as refused:
        tell(space, {"op": "record_result", "label": "no", "evidenceRefs": ["H"]})
    assert refused.value.code == "EVIDENCE_UNRESOLVED"


# --- what a batch tells ----------------------------------------------------------------------


def test_the_result_lists_net_changes_rules_and_goals():
    space = board("F1 = a(x=1)", "R: b(x=?x) <- a(x=?x)", "G? b(x=2)")
    result = tell(space, {"op": "retract_node", "nodeId": "F1"}, "F2 = a(x=2)", "F3 = a(x=1)")
    added, removed = result.derived_changes()
    assert [atom.text() for atom in added] == ["b(x=2)"] and removed == []
    assert (result.added_count, result.removed_count) == (1, 0)
    assert result.applied_rules() == ["R"] and result.satisfied_goals == ("G",)


def test_warnings_name_the_operation_and_teach():
    result = tell(board("p(x=1)"), "p(x=1, y=2)", "G? p(x=tbd)", "R: n(v=?m) <- n(v=?v), add(left=?v, right=1, result=?m)",
                  "R2: q(x=?x) <- p(x=?x), lt(left=5, right=3)", "R3: q(x=?x) <- lessthan(left=?x, right=3)", "R4: p(x=?x) <- p(x=?x)")
    assert [(w.index, w.code) for w in result.warnings] == [
        (0, "SIGNATURE_MISMATCH"), (1, "SOFT_PLACEHOLDER"), (2, "SELF_RECURSIVE_ARITHMETIC"), (3, "UNFIRABLE_RULE"),
        (4, "UNSUPPLIED_PREDICATE"), (5, "VACUOUS_RULE")]
    assert all(w.text for w in result.warnings)
