"""The context: data for programs, bounded text for models; critique, hints, vocabulary in it.

Duty: the reasoning board, "The context", "Critique", "Vocabulary", "Goals, hypotheses, hints".
"""

from __future__ import annotations

import json

import pytest

from rulith.board.space import context, critique, hints
from rulith.board.space.context import LINE_CHARS_MAX, SECTION_LINES_MAX
from tests.space.short import TRUSTED, board, tell

INVOICE = (
    "L1 = line(item=a, unit=1299, qty=7)", "R1: cost(item=?i, total=?t) <- line(item=?i, unit=?u, qty=?q), mul(left=?u, right=?q, result=?t)",
    "G1? cost(item=a, total=?t)", "G2? cost(item=b, total=?t)", "F: finding(item=?i) <- cost(item=?i, total=?t), gt(left=?t, right=9000)",
    "BUY! cost(item=?i, total=?t), budget(left=?l), gte(left=?l, right=?t) => bought(item=?i)", "G3? bought(item=a)",
    {"op": "declare_hypothesis", "id": "H1", "predicate": "cost", "args": {"item": "?x", "total": 9093}},
    {"op": "record_result", "id": "RS", "label": "a costs 9093", "evidenceRefs": ["L1", "R1"]},
    {"op": "record_conflict", "id": "K", "label": "two prices", "summary": "list says 1300"},
)


def test_the_data_form_has_every_part_and_counts_it():
    space = board(*INVOICE)
    data = context.data(space)
    assert list(data) == ["spaceId", "title", "goals", "facts", "findings", "hypotheses", "axioms", "actions", "results", "conflicts",
                          "predicateConflicts", "functionalConflicts", "vocabulary", "critique", "stats"]
    assert data["stats"] == {"goals": 3, "facts": 2, "findings": 1, "hypotheses": 1, "openHypotheses": 0, "axioms": 2, "actions": 1,
                             "results": 1, "conflicts": 1, "predicateConflicts": 0, "functionalConflicts": 0}
    assert data["facts"][1] == {
        "nodeId": 'derived:cost|item:"a"|total:9093', "atom": {"predicate": "cost", "args": {"item": "a", "total": 9093}},
        "label": "cost(item=a, total=9093)", "summary": "Rule-derived fact: cost(item=a, total=9093)", "status": "verified",
        "confidence": 0.9, "evidenceRefs": ["R1", "L1"], "createdBy": "system", "derived": True}
    assert data["findings"][0]["derived"] and data["goals"][0]["satisfied"] and not data["goals"][1]["satisfied"]
    assert json.loads(json.dumps(data)) == data


def test_the_text_reads_section_by_section():
    text = context.text(board(*INVOICE))
    assert text.splitlines()[0] == "logic_context b: test"
    heads = [line.rstrip(":") for line in text.splitlines() if line and not line.startswith(("-", " "))][1:]
    assert heads == ["goals", "facts", "hypotheses", "findings", "axioms", "actions", "results", "conflicts", "vocabulary", "critique", "next steps"]
    for line in (
        "- G1: cost(item=a, total=?t) [satisfied] (G1)", "- G2: cost(item=b, total=?t) [open] (G2)",
        "    needs via R1: line(item=b, qty=?q, unit=?u)",
        "    producible via action BUY: bought(item=?i) [blocked on budget(left=?l)]",
        "- L1: line(item=a, qty=7, unit=1299) [asserted]",
        '- derived:cost|item:"a"|total:9093: cost(item=a, total=9093) [derived] <- R1, L1',
        "- H1: cost(item=?x, total=9093) [supported]", "    instances: cost(item=a, total=9093)",
        "- BUY: buy; PRE cost(item=?i, total=?t), budget(left=?l), gte(left=?l, right=?t); EFFECT bought(item=?i)",
        "- RS: a costs 9093 <- L1, R1", "- K: two prices: list says 1300", "- line(item, qty, unit)",
        "- [goal G2] needs via R1: line(item=b, qty=?q, unit=?u)",
    ):
        assert line in text.splitlines(), line


def test_an_empty_board_says_none_everywhere():
    lines = context.text(board()).splitlines()
    assert lines[1:] == [f"{name}: none" for name in
                         ("goals", "facts", "hypotheses", "findings", "axioms", "actions", "results", "conflicts", "vocabulary")]


def test_long_sections_and_lines_are_cut_visibly():
    space = board(*[f"p(x={n})" for n in range(SECTION_LINES_MAX + 7)], {"op": "assert_fact", "predicate": "q", "args": {"t": "y" * 1000}})
    lines = context.text(space).splitlines()
    assert "- ... and 8 more, not shown" in lines
    assert max(map(len, lines)) <= LINE_CHARS_MAX
    shown = context.text(space, views=space.facts()[:3]).splitlines()
    assert f"- ... and {SECTION_LINES_MAX + 5} more, not shown" in shown


def test_conflicts_and_disputes_are_told_with_their_ids():
    space = board("F1 = up(s=a)", "F2 = not up(s=a)", "R: serve(s=?s) <- up(s=?s)", "functional_dependency(predicate=c, key=k)",
                  "C1 = c(k=1, v=1)", "C2 = c(k=1, v=2)")
    text = context.text(space)
    assert "- F1: up(s=a) [asserted] [disputed]" in text
    assert "- F1 against F2: up(s=a) and not up(s=a)" in text and "- c[k=1]: c(k=1, v=1); c(k=1, v=2)" in text
    assert "functional_dependency(predicate" not in text.split("vocabulary:")[0].split("facts:")[1]
    data = context.data(space)
    assert data["functionalConflicts"] == [{"predicate": "c", "key": {"k": 1}, "factIds": ["C1", "C2"], "values": [{"k": 1, "v": 1}, {"k": 1, "v": 2}]}]
    assert data["predicateConflicts"] == [{"atom": {"predicate": "up", "args": {"s": "a"}}, "factIds": ["F1", "F2"]}]


def test_an_aggregate_is_proposed_where_nothing_leads_to_a_goal():
    space = board("G? grand(v=?v)", "m(id=a, v=1)", "m(id=b, v=2)", "m(id=c, v=3)", "n(id=c, v=3)")
    line, = context.goal_guidance(space, space.nodes["G"].semantic)
    assert "derive_aggregate" in line and "predicate: m" in line and "valueArg: v" in line


def test_at_most_three_hints_of_a_kind_are_shown():
    space = board("G? q(x=1)", *[f"R{n}: q(x=?x) <- p{n}(x=?x)" for n in range(5)])
    lines = context.goal_guidance(space, space.nodes["G"].semantic)
    assert len(lines) == 4 and lines[-1] == "and 2 more rules"


# --- critique ----------------------------------------------------------------------------


def kinds(space):
    return sorted((remark.kind, remark.node_id) for remark in critique.remarks(space))


def test_a_ground_goal_that_rules_only_come_close_to_says_which_arguments_to_add():
    space = board("G? cost(item=a)", "R: cost(item=?i, total=?t) <- price(item=?i, total=?t)")
    remark, = critique.remarks(space)
    assert remark.kind == "unreachable_goal" and "add total=?total" in remark.text


def test_a_goal_held_by_an_effect_or_a_rule_is_not_self_sealed():
    space = board("G? q(x=?x)", "q(x=1)")
    assert kinds(space) == [("self_sealed_goal", "G")]
    tell(space, "p(x=2)", "R: q(x=?x) <- p(x=?x)")
    assert kinds(space) == []


@pytest.mark.parametrize(("rule", "vacuous"), [
    ("finding(kind=empty_catch, f=?f) <- empty_catch(f=?f)", True),
    ("finding(kind=emptyCatch, f=?f) <- catchEmptyBlock(f=?f)", True),
    ("finding(kind=swallowed, f=?f) <- empty_catch(f=?f)", False),
    ("finding(kind=ok, f=?f) <- ok_file(f=?f)", False),
    ("finding(kind=empty_catch, f=?f) <- empty_catch(f=?f), big(f=?f)", False),
    ("p(x=?x) <- p(x=?x)", True), ("p(x=?y) <- p(x=?y), lt(left=?y, right=3)", False), ("not p(x=?x) <- p(x=?x)", False),
])
def test_a_rule_that_only_restates_its_premise_is_vacuous(rule, vacuous):
    assert (("vacuous_rule", "R") in kinds(board(f"R: {rule}"))) == vacuous


@pytest.mark.parametrize(("rule", "unfirable"), [
    ("q() <- p(x=?x), eq(left=1, right=2)", True), ("q() <- p(x=?x), add(left=1, right=2, result=4)", True),
    ("q() <- p(x=?x), add(left=1, right=2, result=3)", False), ("q() <- p(x=?x), div(left=1, right=0, result=?r)", True),
    ("q() <- p(x=?x), concat(left=a, right=1.5, result=?r)", True), ("q() <- p(x=?x), concat(left=a, right=b, result=ab)", False),
    ("q(x=?x) <- p(x=?x), naf p(x=?x)", True), ("q(x=?x) <- not p(x=?x), naf p(x=?x)", False),
])
def test_a_rule_that_can_never_fire_is_told(rule, unfirable):
    assert (("unfirable_rule", "R") in kinds(board(f"R: {rule}"))) == unfirable


def test_an_action_that_waits_for_what_nothing_supplies_is_told():
    space = board("A! ghost(x=?x) => q(x=?x)", "B! q(x=?x), not r(x=?x) => s(x=?x)")
    assert kinds(space) == [("unsatisfiable_action", "A")]
    tell(space, "ghost(x=1)")
    assert kinds(space) == []


def test_an_approval_whose_grant_vanished_is_told_once_it_is_not_revoked():
    space = board("A = approval_result(action=deploy, granted=true)", options=TRUSTED)
    assert kinds(space) == [("unexplained_reopen", "A")]
    tell(space, "permission_granted(action=deploy)")                # an agent grants nothing
    assert kinds(space) == [("unexplained_reopen", "A")]
    tell(space, "revocation_result(action=deploy)", options=TRUSTED)
    assert kinds(space) == []


# --- vocabulary and hints ------------------------------------------------------------------


def test_the_first_ground_atom_firms_a_signature_that_patterns_extended():
    space = board("R: q(x=?x) <- p(x=?x)")
    assert space.vocabulary()["p"] == ("x",)
    tell(space, "R2: q(x=?x) <- p(x=?x, y=?y)")
    assert space.vocabulary()["p"] == ("x", "y")
    tell(space, "P = p(x=1, y=2, z=3)")
    assert space.vocabulary()["p"] == ("x", "y", "z")
    result = tell(space, "p(x=1, y=2)", "R3: q(x=?x) <- p(x=?x, w=?w)", "R4: q(x=?x) <- p(z=?x)")
    assert [w.index for w in result.warnings if w.code == "SIGNATURE_MISMATCH"] == [0, 1]
    tell(space, {"op": "retract_node", "nodeId": "P"})
    assert space.vocabulary()["p"] == ("x", "y")


def test_a_provisional_signature_wants_to_be_contained():
    result = tell(board("R: q(x=?x) <- p(x=?x, y=?y)"), "p(x=1)", "p(x=1, y=2, z=3)")
    assert [w.index for w in result.warnings] == [0]


def test_needs_sorts_by_what_is_missing_and_fills_in_what_is_known():
    space = board("G? ok(x=a)", "R1: ok(x=?x) <- p(x=?x), q(x=?x, y=?y), r(y=?y)", "R2: ok(x=?x) <- p(x=?x), s(x=?x)", "p(x=a)")
    first, second = hints.needs_via(space, space.nodes["G"].semantic)
    assert (first.rule_id, [m.text() for m in first.missing]) == ("R2", ["s(x=a)"])
    assert (second.rule_id, [m.text() for m in second.missing]) == ("R1", ["q(x=a, y=?y)", "r(y=?y)"])


@pytest.mark.parametrize(("rule", "fact", "text"), [
    ("ok() <- n(v=?v), gt(left=?v, right=10)", "n(v=3)", "gt(left=3, right=10) is false"),
    ("ok() <- n(v=?v), naf stop(v=?v)", "n(v=3)", "naf stop(v=3) fails"),
    ("ok() <- n(v=?v), mul(left=?v, right=9007199254740991, result=?r)", "n(v=3)", "leaves the exact range"),
    ("ok() <- n(v=?v), div(left=?v, right=0, result=?r)", "n(v=3)", "has no such result"),
])
def test_where_no_fact_is_missing_the_failing_guard_is_named(rule, fact, text):
    space = board("G? ok()", f"R: {rule}", fact, "stop(v=3)")
    need, = hints.needs_via(space, space.nodes["G"].semantic)
    assert need.missing == () and text in need.text


def test_an_action_produces_what_its_effect_could_become():
    space = board("G? iron(n=1)", "A! ore(n=?n) => iron(n=?n)", "B! ore(n=?n) => iron(n=2)", "C! ore(n=?n) => iron(m=?n)", "D! ore(n=?n) => not iron(n=?n)",
                  "ore(n=1)")
    producer, = hints.producible_via(space, space.nodes["G"].semantic)
    assert (producer.action_id, producer.applicable, producer.blocked_on) == ("A", True, None)
    assert hints.producible_via(space, [space.nodes["G"].semantic[0].__class__("iron", (("n", 1),), True)]) == []
