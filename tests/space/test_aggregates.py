"""Aggregates: what a total is of, when it is withdrawn, what it says about rounding.

Duty: the reasoning board, "Aggregates"; design §4 "Aggregates", "Honest fractions".
"""

from __future__ import annotations

import pytest

from rulith.base import limits
from rulith.base.errors import Refused
from rulith.board.space import aggregates, hints, outcome, tiers
from rulith.rules.terms import Atom, Literal
from tests.space.short import AT, board, copied, everything, facts, tell, TRUSTED

SALES = ("S0 = sale(id=0, shop=e, amt=10)", "S1 = sale(id=1, shop=e, amt=5)", "S2 = sale(id=2, shop=w, amt=7)")


def aggregate(node_id="T", kind="sum", source="sale", arg="amt", into="total", into_arg="v", **more):
    found = {"op": "derive_aggregate", "kind": kind, "source": {"predicate": source, "valueArg": arg}, "into": {"predicate": into, "valueArg": into_arg}}
    return {**found, **({"id": node_id} if node_id else {}), **more}


REFUSED = {
    "AGGREGATE_KIND": aggregate(kind="median"),
    "AGGREGATE_SHAPE": aggregate(into=""),
    "AGGREGATE_VALUE_ARG": aggregate(arg=None),
    "AGGREGATE_INTO_FINDING": aggregate(into="finding"),
    "AGGREGATE_EMPTY": aggregate(source="nothing"),
    "AGGREGATE_NON_NUMERIC": aggregate(arg="shop"),
    "AGGREGATE_WHERE_ARG": aggregate(where={"arg": "region", "equals": "e"}),
    "AGGREGATE_GROUP_ARG": aggregate(group_by="region"),
    "AGGREGATE_GROUP_PARTIAL": aggregate(source="odd", arg="v", group_by="g"),
    "AGGREGATE_SOURCE_CONFLICT": aggregate(source="price", arg="v"),
    "BUILTIN_RESERVED": aggregate(into="add"),
    "NODE_ID_TAKEN": aggregate("S0"),
}


@pytest.mark.parametrize("code", sorted(REFUSED))
def test_each_refusal_of_an_aggregate(code):
    space = board(*SALES, "odd(g=1, v=1)", "odd(v=2)", "functional_dependency(predicate=price, key=item)", "price(item=a, v=1)", "price(item=a, v=2)")
    before = everything(space)
    with pytest.raises(Refused) as refused:
        tell(space, "new(x=1)", REFUSED[code])
    assert refused.value.code == code
    assert everything(space) == before


@pytest.mark.parametrize("shape", [
    {"source": None}, {"source": 5}, {"into": None}, {"into": {"predicate": "t"}}, {"group_by": "v"}, {"group_by": ""}, {"group_by": 5},
    {"where": "x"}, {"where": {"arg": "", "equals": 1}}, {"where": {"arg": "shop"}}, {"kind": 5},
])
def test_a_malformed_aggregate_is_refused_by_name(shape):
    with pytest.raises(Refused) as refused:
        board(*SALES, aggregate(**shape) if "source" not in shape and "into" not in shape else {**aggregate(), **shape})
    assert refused.value.code.startswith("AGGREGATE_")


def test_only_the_group_whose_members_changed_loses_its_total():
    space = board(*SALES, aggregate(group_by="shop"))
    result = tell(space, "S3 = sale(id=3, shop=w, amt=1)")
    assert facts(space)[-1:] == ["total(shop=e, v=15)[d]"] and result.withdrawn == ("T__g__w_",)
    assert [(w.index, w.code) for w in result.warnings] == [(None, "AGGREGATE_WITHDRAWN")]
    tell(space, "S4 = sale(id=4, shop=n, amt=1)")       # a new group is nobody's member
    assert facts(space)[-1:] == ["total(shop=e, v=15)[d]"]
    tell(space, aggregate(group_by="shop"))
    assert facts(space)[-3:] == ["total(shop=e, v=15)[d]", "total(shop=n, v=1)[d]", "total(shop=w, v=8)[d]"]


def test_a_filter_decides_whose_change_matters():
    space = board(*SALES, aggregate(where={"arg": "shop", "equals": "e"}))
    tell(space, {"op": "retract_node", "nodeId": "S2"})
    assert "total(v=15)[d]" in facts(space)
    tell(space, {"op": "retract_node", "nodeId": "S1"})
    assert "total(v=15)[d]" not in facts(space)


def test_a_member_that_leaves_and_returns_within_a_batch_changes_nothing():
    space = board(*SALES, aggregate())
    result = tell(space, {"op": "retract_node", "nodeId": "S1"}, "S9 = sale(id=1, shop=e, amt=5)")
    assert "total(v=22)[d]" in facts(space) and result.withdrawn == ()


def test_a_withdrawn_total_stays_withdrawn_until_it_is_derived_again():
    space = board(*SALES, aggregate())
    tell(space, {"op": "retract_node", "nodeId": "S1"})
    tell(space, "S1 = sale(id=1, shop=e, amt=5)")
    assert not any(text.startswith("total") for text in facts(space))
    assert "derive it again" in space.nodes["T"].semantic.text()
    need, = hints.needs_via(space, [Literal.of("total", {"v": "?v"})])
    assert need.rule_id == "T" and "derive it again" in need.text
    tell(space, aggregate())
    assert "total(v=22)[d]" in facts(space)


def test_withdrawal_runs_through_aggregates_of_aggregates():
    space = board(*SALES, aggregate("BEST", "max", "total", "v", "best"), aggregate(group_by="shop"))
    assert "best(v=15)[d]" in facts(space)
    result = tell(space, {"op": "retract_node", "nodeId": "S1"})
    assert set(result.withdrawn) == {"T__g__e_", "BEST"}
    tell(space, aggregate("BEST", "max", "total", "v", "best"), aggregate(group_by="shop"))
    assert "best(v=10)[d]" in facts(space)


def test_an_aggregate_that_feeds_its_own_source_is_withdrawn_and_the_board_settles():
    space = board("m(id=a, v=1)", "R: m(id=tot, v=?v) <- total(v=?v)", aggregate(source="m", arg="v"))
    assert facts(space) == ["m(id=a, v=1)[a]"]


def test_retracting_a_member_through_its_derivation_withdraws_too():
    space = board("F1 = line(i=a, n=2)", "F2 = line(i=b, n=3)", "R: cost(i=?i, c=?c) <- line(i=?i, n=?n), mul(left=?n, right=10, result=?c)",
                  aggregate(source="cost", arg="c"))
    assert "total(v=50)[d]" in facts(space)
    result = tell(space, {"op": "retract_node", "nodeId": "F1"})
    assert "derived:total|v:50" in result.operations[0].retracted
    assert facts(space) == ["cost(c=30, i=b)[d]", "line(i=b, n=3)[a]"]


def test_a_group_rule_and_a_whole_family_can_be_retracted():
    space = board(*SALES, aggregate(group_by="shop"))
    tell(space, {"op": "retract_node", "nodeId": "T__g__e_"})
    assert facts(space)[-1:] == ["total(shop=w, v=7)[d]"]
    tell(space, {"op": "retract_node", "nodeId": "T"})
    assert "T" not in space.families and space.axioms() == [] and space.program.rules() == []


def test_a_familys_id_is_not_free_while_it_stands():
    space = board(*SALES, aggregate(group_by="shop"))
    for text in ("T = p(x=1)", "T: q(x=1) <- p(x=1)"):
        with pytest.raises(Refused) as refused:
            tell(space, text)
        assert refused.value.code == "NODE_ID_TAKEN"


def test_a_total_and_an_equal_statement_stand_beside_each_other():
    space = board(*SALES, aggregate())
    tell(space, "C = total(v=22)")
    tell(space, {"op": "retract_node", "nodeId": "T"})
    assert "total(v=22)[a]" in facts(space)


def test_without_ids_kind_and_argument_tell_aggregates_apart_and_reruns_find_theirs():
    operations = [aggregate(None, kind, into="st", into_arg=arg) for kind, arg in (("sum", "sum"), ("count", "n"))]
    space = board(*SALES, *operations)
    tell(space, *operations)
    assert [node.id for node in space.axioms()] == ["agg_st", "agg_st__count_n"]
    assert facts(space)[-2:] == ["st(n=3)[d]", "st(sum=22)[d]"]


def test_many_members_cost_no_rule_body():
    lines = [{"op": "assert_fact", "predicate": "m", "args": {"id": n, "v": n}} for n in range(1500)]
    space = board(*lines, aggregate(source="m", arg="v"))
    assert f"total(v={1500 * 1499 // 2})[d]" in facts(space)
    proof = space.explain(Atom.of("total", {"v": 1500 * 1499 // 2}), nodes_max=100)
    assert len(proof.children) == 99 and proof.cut


def test_groups_are_bounded(monkeypatch):
    monkeypatch.setattr(aggregates, "AGGREGATE_GROUPS_MAX", 5)
    rows = [{"op": "assert_fact", "predicate": "m", "args": {"id": n, "v": n}} for n in range(6)]
    with pytest.raises(Refused) as refused:
        board(*rows, aggregate(source="m", arg="v", group_by="id"))
    assert refused.value.code == "resource_limit" and limits.AGGREGATE_GROUPS_MAX >= 10_000


# --- exactness -----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "values", "total"), [
    ("sum", [9007199254740991, 1, -1], 9007199254740991),
    ("sum", [9007199254740991, 1], None),
    ("sum", [0.1, 0.2], 0.30000000000000004),
    ("sum", [0.5, 0.25], 0.75),
    ("avg", [1, 2], 1.5),
    ("avg", [9007199254740991, 9007199254740989], 9007199254740990),
    ("avg", [2, 4], 3),
    ("min", [2, -1.5, 3], -1.5),
    ("max", [2, 2.5], 2.5),
    ("sum", [1e300, 1], None),
    ("max", [1e300, 1], None),
    ("count", ["x", True, 1e300], 3),
])
def test_the_value_of_a_total(kind, values, total):
    rows = [{"op": "assert_fact", "predicate": "m", "args": {"id": n, "v": value}} for n, value in enumerate(values)]
    space = board(*rows, aggregate(kind=kind, source="m", arg="v"))
    assert space.nodes["T"].semantic.value == total
    assert any(text.startswith("total") for text in facts(space)) == (total is not None)


def test_a_total_without_an_exact_place_is_not_silent():
    space = board("m(id=a, v=9007199254740991)", "m(id=b, v=1)", "G? total(v=?v)")
    result = tell(space, aggregate(source="m", arg="v"))
    assert [(w.index, w.code) for w in result.warnings] == [(0, "ARITHMETIC_EXACT")]
    need, = hints.needs_via(space, space.nodes["G"].semantic)
    assert "exact range" in need.text


def test_a_rounded_total_names_its_rounding_and_is_approximate_at_best():
    space = board("m(id=a, v=0.1)", "m(id=b, v=0.2)", "m(id=c, v=0.5)", options=TRUSTED)
    tell(space, aggregate(source="m", arg="v"), aggregate("B", "max", "m", "v", "top"))
    rounded, exact = Atom.of("total", {"v": 0.8}), Atom.of("top", {"v": 0.5})
    assert "sum of 3 values" in space.explain(rounded).rounded
    assert tiers.grounding(space, rounded).weakest == "approximate"
    assert tiers.grounding(space, rounded).witnesses == ("derived:total|v:0.8",)
    assert tiers.grounding(space, exact).weakest == "attested"


def test_totals_rest_on_disputed_members_openly():
    space = board("m(id=a, v=1)", "m(id=b, v=2)", aggregate(source="m", arg="v"), "R: big() <- total(v=?v)")
    tell(space, "not m(id=a, v=1)")
    rows = {row[0]: row[4:] for row in outcome.state(space)["facts"]}
    assert rows["total"] == rows["big"] == ["disputed"]


def test_a_copy_keeps_what_was_pinned():
    space = board(*SALES, aggregate(group_by="shop"))
    other = copied(space)
    other.mint_for_tests = space.mint_for_tests
    tell(other, {"op": "retract_node", "nodeId": "S0"})
    assert facts(other)[-1:] == ["total(shop=w, v=7)[d]"]
    assert facts(space)[-2:] == ["total(shop=e, v=15)[d]", "total(shop=w, v=7)[d]"]
    assert space.updated_at == AT


def test_a_total_that_only_itself_keeps_alive_goes():
    space = board("F = p(x=1)", "R: p(x=1) <- t(v=?v)", aggregate("T", "count", "p", None, "t"))
    assert facts(space) == ["p(x=1)[a]", "t(v=1)[d]"]
    result = tell(space, {"op": "retract_node", "nodeId": "F"})
    assert facts(space) == [] and result.withdrawn == ("T",)


def test_a_total_whose_member_has_other_ground_stays_and_no_proof_runs_in_a_circle():
    space = board("F: p(x=1) <- on(x=?x)", "G: p(x=1) <- off(x=?x)", "ON = on(x=1)", "OFF = off(x=1)",
                  "R: p(x=1) <- t(v=?v)", aggregate("T", "count", "p", None, "t"))
    tell(space, {"op": "retract_node", "nodeId": "ON"})
    proof = space.explain(Atom.of("t", {"v": 1}))
    assert [child.via for child in proof.children] == ["G"]
    tell(space, {"op": "retract_node", "nodeId": "OFF"})
    assert facts(space) == []
