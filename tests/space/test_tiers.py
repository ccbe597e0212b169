"""Tiers: what a fact stands on, which witness is weakest, where a policy asks for more.

Duty: the reasoning board, "Trust tiers"; design §4 "Grounding", "Honest fractions".
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.board.space import tiers
from rulith.board.space.nodes import BatchOptions
from rulith.rules.terms import Atom
from tests.space.short import AT, TRUSTED, board, tell

TOOL = BatchOptions("system", "tool")


def grounding(space, predicate, attested=frozenset(), **args):
    return tiers.grounding(space, Atom.of(predicate, args), attested)


def tiered(tier):
    return BatchOptions("system", "tool", tier)


def test_a_stated_facts_tier_is_what_its_batch_gave_it_else_who_stated_it_else_its_predicate():
    space = board("a(x=1)", "F1 = b(x=1)")
    tell(space, "c(x=1)", options=TOOL)
    tell(space, "d(x=1)", options=tiered("inductive"))
    tell(space, "e(x=1)", options=BatchOptions("model", "agent", "verified"))       # an agent gives no tier
    found = {name: grounding(space, name, frozenset({"b"}), x=1).weakest for name in "abcde"}
    assert found == {"a": "asserted", "b": "attested", "c": "attested", "d": "inductive", "e": "asserted"}


def test_a_revision_keeps_its_tier():
    space = board("F1 = a(x=1)")
    tell(space, {"op": "revise_fact", "nodeId": "F1", "predicate": "a", "args": {"x": 2}}, options=tiered("perceived"))
    assert grounding(space, "a", x=2).weakest == "perceived"


@pytest.mark.parametrize("order", [tiers.TIERS, tiers.TIERS[::-1]])
def test_a_conclusion_is_no_stronger_than_its_weakest_premise_and_names_it(order):
    space = board("R: all() <- " + ", ".join(f"{tier}_fact(x=1)" for tier in order))
    for tier in order:
        tell(space, f"{tier[:2].upper()} = {tier}_fact(x=1)", options=BatchOptions() if tier == "asserted" else tiered(tier))
    found = grounding(space, "all")
    assert (found.weakest, found.witnesses) == ("asserted", ("AS",))
    assert list(found.by_tier) == list(tiers.TIERS) and not found.is_ungrounded


def test_a_premise_is_named_once_however_often_it_is_used():
    space = board("F1 = a(x=1)", "R: b(x=?x) <- a(x=?x)", "R2: c(x=?x) <- b(x=?x), a(x=?x)")
    assert grounding(space, "c", x=1).by_tier == {"asserted": ("F1",)}


def test_rounding_caps_a_conclusion_and_everything_above_it():
    space = board("n(v=1)", "m(v=0.25)", "R: third(v=?t) <- n(v=?v), div(left=?v, right=3, result=?t)", "R2: above(v=?t) <- third(v=?t)",
                  "R3: half(v=?t) <- m(v=?v), mul(left=?v, right=2, result=?t)", options=TRUSTED)
    third = 1 / 3
    assert grounding(space, "third", v=third).weakest == grounding(space, "above", v=third).weakest == "approximate"
    assert grounding(space, "above", v=third).witnesses == (f"derived:third|v:{third}",)
    assert grounding(space, "half", v=0.5).weakest == "attested"
    assert "div" in space.explain(Atom.of("third", {"v": third})).rounded


def test_the_strongest_statement_counts_where_it_beats_the_derivation():
    space = board("said(x=1)", "R: known(x=?x) <- said(x=?x)", "R2: used(x=?x) <- known(x=?x)")
    assert grounding(space, "used", x=1).weakest == "asserted"
    tell(space, "T1 = known(x=1)", options=TOOL)
    assert grounding(space, "used", x=1).json()["premisesByTier"] == {"attested": ["T1"]}


def test_a_weaker_statement_does_not_pull_a_derivation_down():
    space = board("T0 = db(x=1)", "R: known(x=?x) <- db(x=?x)", options=TRUSTED)
    tell(space, "F1 = known(x=1)")
    assert grounding(space, "known", x=1).by_tier == {"attested": ("T0",)}


def test_what_rests_on_nothing_is_attested_as_recorded():
    space = board({"op": "add_axiom", "id": "R", "when": [], "then": [{"predicate": "k"}]})
    found = grounding(space, "k")
    assert (found.weakest, found.witnesses, found.is_ungrounded) == ("attested", (), False)


def test_a_total_stands_on_its_members():
    space = board("A = m(v=1)", options=tiered("perceived"))
    tell(space, "B = m(v=2)", options=TOOL)
    tell(space, {"op": "derive_aggregate", "id": "T", "source": {"predicate": "m", "valueArg": "v"}, "into": {"predicate": "t", "valueArg": "v"}})
    assert grounding(space, "t", v=3).by_tier == {"attested": ("B",), "perceived": ("A",)}


def test_only_what_holds_has_a_ground():
    with pytest.raises(Refused) as refused:
        grounding(board(), "p")
    assert refused.value.code == "ATOM_ABSENT"


def test_a_long_chain_is_walked_without_recursion():
    space = board(*[f"e(a={n}, b={n + 1})" for n in range(1200)], "T: p(b=?b) <- e(a=0, b=?b)", "T2: p(b=?c) <- p(b=?b), e(a=?b, b=?c)")
    found = grounding(space, "p", b=1200)
    assert len(found.by_tier["asserted"]) == 1200 and found.is_ungrounded


def test_grounds_of_an_effect_outlive_what_they_name():
    space = board("F1 = said(x=1)", "A! said(x=?x) => sure(x=?x)")
    with space.change(AT, space.mint_for_tests) as change:
        grounds = tiers.grounds_of(space, [Atom.of("said", {"x": 1})])
        change.add("fact", Atom.of("sure", {"x": 1}), label="sure", evidence=["A"], created_by="system", effect=True, grounds=grounds)
        change.archive("F1")
    assert grounding(space, "sure", x=1).by_tier == {"asserted": ("F1",)}


def test_read_tier_knows_the_seven():
    assert [tiers.read_tier(tier) for tier in tiers.TIERS] == list(tiers.TIERS)
    with pytest.raises(Refused) as refused:
        tiers.read_tier("sure")
    assert refused.value.code == "OP_INVALID"


# --- inversions ----------------------------------------------------------------------------


def inverted(space):
    return [(i.witness, i.scope, i.required, i.actual, i.source) for i in tiers.inversions(space)]


def test_the_strictest_floor_of_a_scope_and_of_all_scopes_counts():
    space = board("required_floor(scope=n1, tier=approximate)", "required_floor(scope=n1, tier=verified)",
                  "required_floor(scope=star, tier=nonsense)", options=TRUSTED)
    tell(space, "M1 = acceptance_met(node=n1)", "M2 = slot_met(slot=n2)", options=TOOL)
    assert inverted(space) == [("M1", "n1", "verified", "attested", "required_floor")]
    tell(space, {"op": "assert_fact", "predicate": "required_floor", "args": {"scope": "*", "tier": "verified"}}, options=TRUSTED)
    assert [row[0] for row in inverted(space)] == ["M1", "M2"]


def test_policies_of_an_agent_do_not_count():
    space = board("required_floor(scope=n1, tier=verified)", "constraint_tier(tag=legal, tier=human)", "acceptance_met(node=n1)",
                  "constraint_met(node=n1, tag=legal)")
    assert inverted(space) == []


def test_a_human_constraint_asks_for_attestation_and_a_derived_one_is_walked():
    space = board("constraint_tier(tag=legal, tier=human)", options=TRUSTED)
    tell(space, "signed(node=n1)", "R: constraint_met(node=?n, tag=legal) <- signed(node=?n)")
    assert inverted(space) == [('derived:constraint_met|node:"n1"|tag:"legal"', "n1/legal", "attested", "asserted", "human_constraint")]
    tell(space, "T = signed(node=n1)", options=TOOL)
    assert inverted(space) == []
