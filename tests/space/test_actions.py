"""Actions: binding, simulating and applying.

Duty: the reasoning board, "Actions"; board-suspects `sus-effect-over-derived`, `sus-apply-not-atomic`.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.base.limits import ACTION_CANDIDATES_MAX
from rulith.board.space import actions, tiers
from rulith.board.space.nodes import BatchOptions
from rulith.rules.program import Limits
from rulith.rules.terms import Atom
from tests.space.short import AT, board, copied, everything, facts, minting, tell, texts, TRUSTED


def apply(space, node_id, expected=None):
    return actions.apply_action(space, node_id, expected, at=AT, mint=space.mint_for_tests)


# --- binding -----------------------------------------------------------------------------


def test_the_first_match_in_matching_order_binds():
    space = board("seat(n=3)", "seat(n=1)", "vip(n=1)", "vip(n=3)", "A! seat(n=?n), vip(n=?n) => sold(n=?n)")
    match = actions.match_of(space, actions.spec_of(space.nodes["A"]).preconditions)
    assert match.binding == {"n": 3} and match.candidates == 2
    assert actions.candidates_of(space, "A", 5) == [{"n": 3}, {"n": 1}]


def test_the_first_literal_that_leaves_no_match_is_named_with_its_values():
    space = board("p(x=1)", "q(x=2)", "A! p(x=?x), gt(left=?x, right=0), q(x=?x) => r(x=?x)")
    match = actions.match_of(space, actions.spec_of(space.nodes["A"]).preconditions)
    assert not match.holds and match.failed.text() == "q(x=1)"
    assert match.binding == {"x": 1} and match.unsatisfied == ()


def test_what_no_fact_meets_by_itself_is_unsatisfied():
    space = board("p(x=1)", "A! p(x=?x), q(x=?x), not r(x=?x), naf s(x=?x) => t(x=?x)")
    match = actions.match_of(space, actions.spec_of(space.nodes["A"]).preconditions)
    assert texts(match.unsatisfied) == ["q(x=?x)", "not r(x=?x)"]


def test_counting_candidates_is_bounded():
    many = [f"a(x={n})" for n in range(150)] + [f"b(y={n})" for n in range(150)]
    space = board(*many, "A! a(x=?x), b(y=?y) => c(x=?x, y=?y)")
    assert actions.simulate_action(space, "A").match.candidates == ACTION_CANDIDATES_MAX


def test_an_action_is_found_by_id_or_by_a_clear_name():
    space = board("A! p(x=1) => q(x=1)", {"op": "define_action", "id": "B", "action": "go"}, {"op": "define_action", "id": "C", "action": "go"})
    assert actions.action_named(space, "a").id == "A" == actions.action_named(space, "A").id
    with pytest.raises(Refused) as refused:
        actions.action_named(space, "go")
    assert refused.value.code == "ACTION_AMBIGUOUS"
    with pytest.raises(Refused) as refused:
        actions.action_named(space, "nothing")
    assert refused.value.code == "NODE_NOT_FOUND"


def test_an_action_that_rests_on_something_archived_is_refused():
    space = board("F = p(x=1)", {"op": "define_action", "id": "A", "action": "a", "evidenceRefs": ["F"]}, "E! p(x=?x) => not p(x=?x)")
    apply(space, "E")
    with pytest.raises(Refused) as refused:
        apply(space, "A")
    assert refused.value.code == "NODE_NOT_ACTION"


@pytest.mark.parametrize("node_id, code", [(None, "NODE_ID_REQUIRED"), ("", "NODE_ID_REQUIRED"), (7, "NODE_ID_REQUIRED"), ("X", "NODE_NOT_FOUND"), ("F", "NODE_NOT_ACTION")])
def test_what_is_no_action_is_refused(node_id, code):
    space = board("F = p(x=1)")
    for call in (actions.simulate_action, apply):
        with pytest.raises(Refused) as refused:
            call(space, node_id)
        assert refused.value.code == code


# --- applying ----------------------------------------------------------------------------


def test_an_application_leaves_an_event_that_tells_what_happened():
    space = board("F = p(x=1)", "A! p(x=?x) => not p(x=?x), q(x=?x)")
    done = apply(space, "A")
    event = space.nodes[done.event_id]
    assert event.label == "applied action: a" and event.created_by == "system" and event.evidence == ("A",)
    assert event.summary == "consumed: p(x=1); produced: q(x=1); binding: ?x=1; archived: F"
    assert space.nodes["F"].summary.endswith("[consumed by action A]")
    assert texts(done.produced) == ["q(x=1)"] and texts(done.consumed) == ["p(x=1)"] and done.archived_ids == ("F",)


def test_consuming_hides_what_cites_the_fact():
    space = board("F = p(x=1)", {"op": "assert_fact", "id": "N", "predicate": "note", "args": {"n": 1}, "evidenceRefs": ["F"]}, "A! p(x=?x) => not p(x=?x)")
    apply(space, "A")
    assert facts(space) == [] and "N" in space.nodes


def test_every_statement_of_a_consumed_fact_goes():
    space = board("F1 = p(x=1)", "A! p(x=?x) => not p(x=?x)")
    tell(space, "F2 = p(x=1)", options=TRUSTED)
    assert set(apply(space, "A").archived_ids) == {"F1", "F2"}
    assert facts(space) == []


def test_an_effect_over_a_conclusion_stands_beside_it():
    """As a statement does: when the derivation goes, the product stays."""
    space = board("F = p(x=1)", "R: q(x=?x) <- p(x=?x)", "G = go(x=1)", "A! go(x=?x) => q(x=?x)")
    assert texts(apply(space, "A").produced) == ["q(x=1)"]
    tell(space, {"op": "retract_node", "nodeId": "F"})
    assert "q(x=1)[e]" in facts(space)


def test_the_products_of_an_agents_action_are_no_trusted_statements():
    """Else an agent could amend a committed baseline by acting instead of asserting."""
    space = board()
    tell(space, "B = acceptance(node=n1, test=t1)", "M = committed_acceptance(node=n1)", options=TRUSTED)
    tell(space, "A! naf nothing() => amendment_result(node=n1, kind=acceptance)")
    made = apply(space, "A").added_ids[0]
    with pytest.raises(Refused) as refused:
        tell(space, {"op": "retract_node", "nodeId": made}, {"op": "retract_node", "nodeId": "B"})
    assert refused.value.code == "BASELINE_PROTECTED"


def test_a_committed_baseline_is_not_consumed():
    space = board()
    tell(space, "B = acceptance(node=n1, test=t1)", "M = committed_acceptance(node=n1)", options=TRUSTED)
    tell(space, "A! acceptance(node=?n, test=?t) => not acceptance(node=?n, test=?t)", "C! naf no() => not committed_acceptance(node=n1)")
    before = everything(space)
    for name in ("A", "C"):
        simulated = actions.simulate_action(space, name)
        assert not simulated.applicable and "committed" in simulated.protected
        with pytest.raises(Refused) as refused:
            apply(space, name)
        assert refused.value.code == "BASELINE_PROTECTED"
    assert everything(space) == before


@pytest.mark.parametrize("code, rule, effect", [
    ("CONCAT_OPERAND", "R: t(s=?s) <- m(v=?v), concat(left=m, right=?v, result=?s)", "m(v=1.5)"),
    ("CLOSURE_DIVERGED", "R: n(v=?m) <- n(v=?v), add(left=?v, right=1, result=?m)", "n(v=0)"),
])
def test_a_refused_closing_takes_the_application_back(code, rule, effect):
    space = board(rule, "go(x=1)", f"A! go(x=?x) => not go(x=?x), {effect}", limits=Limits(rounds=200))
    before = everything(space)
    for call in (apply, actions.simulate_action):
        with pytest.raises(Refused) as refused:
            call(space, "A")
        assert refused.value.code == code
        assert everything(space) == before
    tell(space, "other(x=1)")


def test_an_aggregate_is_withdrawn_when_an_action_consumes_a_member():
    space = board("m(id=a, v=1)", "m(id=b, v=2)", "A! m(id=?i, v=?v) => not m(id=?i, v=?v)",
                  {"op": "derive_aggregate", "id": "T", "source": {"predicate": "m", "valueArg": "v"}, "into": {"predicate": "t", "valueArg": "v"}})
    simulated = actions.simulate_action(space, "A")
    assert texts(simulated.lost_derived) == ["t(v=3)"]
    apply(space, "A")
    assert facts(space) == ["m(id=b, v=2)[a]"]


def test_an_application_judges_hypotheses():
    space = board("go(x=1)", {"op": "declare_hypothesis", "id": "H", "predicate": "lit", "args": {"x": 1}}, "A! go(x=?x) => lit(x=?x)")
    assert actions.simulate_action(space, "A").hypotheses == (("H", "supported"),)
    assert space.nodes["H"].status == "open"
    apply(space, "A")
    assert space.nodes["H"].status == "supported"


# --- revisions ---------------------------------------------------------------------------


def test_a_revision_is_pinned_before_anything_is_written():
    space = board("F = p(x=1)", "A! p(x=?x) => q(x=?x)")
    seen = actions.simulate_action(space, "A").revision
    tell(space, "z(x=1)")
    before = everything(space)
    with pytest.raises(Refused) as refused:
        apply(space, "A", seen)
    assert refused.value.code == "STALE_REVISION" and everything(space) == before
    assert apply(space, "A", actions.revision(space)).applied


def test_equal_content_has_an_equal_revision_whatever_its_order():
    texts_ = ["F1 = p(x=1)", "F2 = p(x=2)", "R: q(x=?x) <- p(x=?x)", "A! p(x=?x) => q(x=?x)", "G? q(x=1)"]
    one, other = board(*texts_), board(*reversed(texts_))
    assert actions.revision(one) == actions.revision(other)
    assert len(actions.revision(one)) == len("rev1:") + 8


@pytest.mark.parametrize("changed", ["F1 = p(x=true)", 'F1 = p(x="1x")', "F1 = not p(x=1)", "F9 = p(x=1)", "F1 = r(x=1)"])
def test_another_content_has_another_revision(changed):
    assert actions.revision(board("F1 = p(x=1)")) != actions.revision(board(changed))


def test_labels_evidence_and_conclusions_do_not_enter_a_revision():
    plain = board("F1 = p(x=1)")
    shown = board({"op": "assert_fact", "id": "F1", "predicate": "p", "args": {"x": 1}, "label": "other", "evidenceRefs": ["web:x"]})
    assert actions.revision(plain) == actions.revision(shown)
    assert actions.revision(plain) == actions.revision(copied(plain))


# --- simulation and application agree ----------------------------------------------------

_values = st.sampled_from(["1", "2", "true", "x"])
_fact = st.builds("{}(a={})".format, st.sampled_from("pqrs"), _values)
_pattern = st.sampled_from(["p(a=?x)", "q(a=?x)", "r(a=?x)", "s(a=?x)"])
_guard = st.sampled_from(["", ", naf s(a=?x)", ", naf q(a=1)", ", neq(left=?x, right=2)", ", not p(a=?x)"])
_effect = st.builds("{}{}(a={})".format, st.sampled_from(["", "not "]), st.sampled_from("pqrs"), st.sampled_from(["?x", "1", "2"]))
_rules = st.lists(st.builds("{}(a=?x) <- {}{}".format, st.sampled_from(["u", "v", "q"]), st.sampled_from(["p(a=?x)", "r(a=?x)", "u(a=?x)"]),
                            st.sampled_from(["", ", naf s(a=?x)"])), max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(_fact, max_size=6), _rules, st.lists(st.tuples(_pattern, _guard, st.lists(_effect, max_size=3)), min_size=1, max_size=3), st.lists(st.integers(0, 2), max_size=4))
def test_a_simulation_says_what_applying_does_and_changes_nothing(stated, rules, specs, order):
    space = board(*stated, *(f"R{n}: {rule}" for n, rule in enumerate(rules)),
                  *(f"A{n}! {pattern}{guard} => {', '.join(effects)}" for n, (pattern, guard, effects) in enumerate(specs)),
                  "G? q(a=1)", {"op": "declare_hypothesis", "id": "H", "predicate": "v", "args": {"a": 2}})
    for place in order:
        name = f"A{place % len(specs)}"
        before = everything(space)
        simulated = actions.simulate_action(space, name)
        assert everything(space) == before
        derived = set(space.program.derived())
        done = apply(space, name, simulated.revision)
        assert done.applied == simulated.applicable and done.match == simulated.match
        if not done.applied:
            assert everything(space) == before
            continue
        assert done.produced == simulated.would_assert and done.consumed == simulated.would_delete
        assert done.satisfied_goals == simulated.would_satisfy
        now = set(space.program.derived())
        assert now - derived == set(simulated.new_derived) and derived - now == set(simulated.lost_derived)
        assert set(space.program.contradictions()) == set(simulated.contradictions)


def test_grounds_follow_a_chain_of_actions():
    space = board("said(x=1)", "A! said(x=?x) => heard(x=?x)", "B! heard(x=?x) => known(x=?x)")
    tell(space, "seen(x=1)", "C! seen(x=?x), known(x=?x) => sure(x=?x)", options=BatchOptions("system", "tool"))
    for name in ("A", "B", "C"):
        apply(space, name)
    found = tiers.grounding(space, Atom.of("sure", {"x": 1}))
    assert found.weakest == "asserted" and set(found.by_tier) == {"attested", "asserted"}


def test_ids_drawn_for_a_trial_avoid_those_in_use():
    space = board("F = p(x=1)", {"op": "assert_fact", "id": "f_trial1", "predicate": "z", "args": {}}, "A! p(x=?x) => q(x=?x), r(x=?x)")
    assert len(actions.simulate_action(space, "A").would_assert) == 2
    assert minting()("f_") == "f_#1"
