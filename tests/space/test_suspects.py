"""Scenarios where an earlier kernel looked wrong: what this board does instead.

Duty: tests/corpus/board-suspects.json, `suspect.proposed`; judgement calls are the ones
docs/board.md records. Scenarios about tools (actions, plans, solver, compilation) are in
test_suspects_calls.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rulith.board.space import hints, tiers
from rulith.board.space.disputes import Disputes
from rulith.board.space.nodes import FACT
from rulith.rules.terms import Atom, Literal
from tests.space.corpus import AT, FILES, Player

SCENARIOS = {scenario["id"]: scenario for scenario in json.loads((FILES.parent / "board-suspects.json").read_text("utf-8"))}

ACCEPTED = "accepted"
#  scenario: (outcome of each batch: accepted or a label), the facts at the end with their mark
PROPOSED = {
    "sus-multihead-strata": (["accepted"], "a(x=1)[d] b(x=1)[d] base(x=1)[a] e(x=1)[d]"),
    "sus-retract-then-assert": (["accepted"] * 2, "p(x=1)[a]"),
    "sus-revise-then-assert": (["accepted"] * 2, "v(x=1)[a] v(x=2)[a]"),
    "sus-assert-over-derived": (["accepted"] * 3, "q(x=1)[a]"),
    "sus-revise-into-duplicate": (["accepted"] * 3, "n(n=2)[d] total(n=5)[d] v(x=2)[a] v(x=3)[a]"),
    "sus-variable-in-fact": (["ATOM_INVALID"], ""),
    "sus-goal-naf": (["ATOM_INVALID", "accepted"], "p(x=1)[a]"),
    "sus-inherited-names": (["accepted"], "p(x=1)[a] w(v=1)[d]"),
    "sus-concat-digits": (["accepted"], "hit()[d] p(a=5,b=6)[a] q(v=56)[d]"),
    "sus-closing-rule": (["accepted"] * 2, "-p(x=1)[d] q(x=1)[a]"),
    "sus-key-encoding": (["accepted"] * 2, "!r(x=1)[a] -r(x=1)[a] p(a:1|b=2)[a]"),
    "sus-null-value": (["ATOM_INVALID"], ""),
    "sus-missing-when": (["ATOM_INVALID"], ""),
    "sus-unsafe-operand": (["number_out_of_range"], ""),
    "sus-literal-rounding": (["number_out_of_range", "number_out_of_range", "number_out_of_range"], ""),
    "sus-imod-wrong": (["accepted"], 'c(id="a",l=9007199254740990,r=9007199254740991)[a] c(id="b",l=6004799503160661,r=6004799503160662)[a] '
                                     'c(id="c",l=9007199254740989,r=9007199254740990)[a] o(id="a",v=9007199254740990)[d] '
                                     'o(id="b",v=6004799503160661)[d] o(id="c",v=9007199254740989)[d]'),
    "sus-mixed-range": (["accepted"], "e(v=40)[a] e(v=40.5)[a] n(v=9007199254740991)[a]"),
    "sus-idiv-fraction": (["accepted"], "c(l=1,r=0.1)[a] m(v=0.09999999999999995)[d] q(v=9)[d]"),
    "sus-underflow": (["accepted"], "n(v=-1000)[a] t(v=1e-200)[a]"),
    "sus-unsafe-numeric-string": (["accepted"], 'v(n="1e+21")[a] v(n="9007199254740992")[a] v(n="9007199254740993")[a]'),
    "sus-agg-stale-count": (["accepted"] * 2, 'm(id="a",w=2)[a] m(id="a",w=3)[a]'),
    "sus-agg-id-removes-entry": (["accepted", "NODE_ID_TAKEN"], 'sale(id="a",v=1)[a] sale(id="b",v=2)[a]'),
    "sus-agg-group-collision": (["accepted"] * 2, 'by(r="a b",v=1)[d] by(r="a/b",v=2)[d] sale(r="a b",v=1)[a] sale(r="a/b",v=2)[a]'),
    "sus-agg-stale-add": (["accepted"] * 2, 'm(id="a",v=1)[a] m(id="b",v=2)[a]'),
    "sus-agg-prefix-removes-rule": (["accepted"] * 2, 'k(id="a")[d] m(id="a",v=1)[a] t(v=1)[d]'),
    "sus-agg-default-id": (["accepted"], 'm(id="a",v=1)[a] m(id="b",v=2)[a] st(n=2)[d] st(sum=3)[d]'),
    "sus-agg-findings": (["accepted"] * 2, "finding(x=1)[d] n(n=1)[d] obs(x=1)[a]"),
    "sus-agg-missing-source": (["accepted", "AGGREGATE_SHAPE"], 'm(id="a",v=1)[a]'),
    "sus-agg-intermediate": (["accepted"], 'm(id="a",v=9007199254740991)[a] m(id="b",v=1)[a] m(id="c",v=-1)[a] s(v=9007199254740991)[d]'),
    "sus-agg-arg-clash": (["AGGREGATE_SHAPE"], ""),
    "sus-hint-failure": (["accepted"] * 2, "p(v=1.5)[a]"),
    "sus-baseline-cascade": (["accepted", "accepted", "BASELINE_PROTECTED"], None),
    "sus-baseline-aggregate-id": (["accepted", "BASELINE_PROTECTED"], 'acceptance(node="n1",test="t1")[a] committed_acceptance(node="n1")[a]'),
    "sus-ledger-aggregate-id": (["accepted", "RESERVED_LABEL"], ""),
    "sus-baseline-numeric-key": (["accepted", "BASELINE_PROTECTED"], 'acceptance(node=1,test="t1")[a] committed_acceptance(node=1)[a]'),
    "sus-attested-wrapped": (["ATTESTED_PREDICATE", "ATTESTED_PREDICATE"], ""),
    "sus-fd-negated": (["accepted"], '-functional_dependency(key="k",predicate="t")[a] t(k=1,v=1)[a] t(k=1,v=2)[a]'),
}


def played(name):
    """The scenario's batches on a fresh board: the player and the outcome of each."""
    player = Player(SCENARIOS[name])
    return player, [player.batch(batch) for batch in SCENARIOS[name]["batches"] if "operations" in batch]


def labels(steps):
    return [step["error"]["label"] if step["status"] == "rejected" else ACCEPTED for step in steps]


def shown(player):
    rows = []
    for predicate, args, sign, mark, *disputed in player.state()["facts"]:
        text = ",".join(f"{name}={json.dumps(value)}" for name, value in sorted(args.items()))
        rows.append(f"{'-' if sign == '-' else ''}{predicate}({text})[{mark[0]}{'*' if disputed else ''}]")
    return rows


@pytest.mark.parametrize("name", sorted(PROPOSED))
def test_the_proposal_is_followed(name):
    outcomes, facts = PROPOSED[name]
    player, steps = played(name)
    assert labels(steps) == outcomes
    if facts is not None:
        assert sorted(shown(player)) == sorted(facts.replace(")[", ") [").replace("] ", "]\n").replace(") [", ")[").split("\n") if facts else [])


def test_a_trusted_statement_stands_beside_the_agents_and_lifts_its_tier():
    """sus-trusted-assert-over-agent"""
    player, steps = played("sus-trusted-assert-over-agent")
    assert labels(steps) == [ACCEPTED, ACCEPTED]
    assert shown(player) == ["weight(kg=5)[a]"]
    assert tiers.grounding(player.space, Atom.of("weight", {"kg": 5})).json() == {
        "weakestTier": "attested", "weakestPremises": ["T1"], "premisesByTier": {"attested": ["T1"]}, "ungrounded": False}


def test_an_empty_id_counts_as_absent():
    """sus-empty-id"""
    player, steps = played("sus-empty-id")
    assert labels(steps) == [ACCEPTED, ACCEPTED]
    assert shown(player) == ["p(x=1)[a]", "p(x=2)[a]"]
    assert "" not in player.space.nodes


def test_a_root_that_is_rounded_to_a_whole_number_is_approximate():
    """sus-sqrt-rounded: the value stands, its tier says that it is not exact."""
    player, steps = played("sus-sqrt-rounded")
    assert labels(steps) == [ACCEPTED]
    exact, rounded = (player.space.support(Atom.of("o", {"id": name, "v": 94906265})) for name in "ba")
    assert exact.rounded is None
    assert rounded is not None and "sqrt" in rounded.rounded


def test_goals_are_not_met_by_atoms_that_only_print_alike():
    """sus-key-encoding"""
    player, _ = played("sus-key-encoding")
    assert player.state()["goals"] == [{"id": "G1", "satisfied": False}]


def test_what_looked_derived_and_was_asserted_keeps_its_first_mark_until_the_rule_falls():
    """sus-assert-over-derived"""
    player = Player(SCENARIOS["sus-assert-over-derived"])
    first, second, third = SCENARIOS["sus-assert-over-derived"]["batches"]
    player.batch(first)
    player.batch(second)
    assert "q(x=1)[d]" in shown(player)
    player.batch(third)
    assert shown(player) == ["q(x=1)[a]"]


def test_a_finding_needs_a_premise_of_some_kind_to_be_called_grounded():
    """sus-finding-without-premises (judgement call): the result is accepted, and `ungrounded_finding` says what it rests on."""
    player, steps = played("sus-finding-without-premises")
    assert labels(steps) == [ACCEPTED, ACCEPTED]
    kinds = [kind for kind, _ in player.state()["critique"]]
    assert kinds.count("ungrounded_finding") == 1


def test_a_result_on_a_disputed_finding_is_accepted_and_marked():
    """sus-disputed-result (judgement call): the recorded answer is kept; the mark follows the conflict."""
    player, steps = played("sus-disputed-result")
    assert labels(steps) == [ACCEPTED, ACCEPTED]
    assert "finding(x=1)[d*]" in shown(player)


def test_an_effect_grounds_to_what_its_action_read():
    """sus-grounding-effect: routing a claim through an action lifts nothing."""
    player, _ = played("sus-grounding-effect")
    space = player.space
    with space.change(AT, player.mint) as change:
        grounds = tiers.grounds_of(space, [Atom.of("said", {"x": 1})])
        change.add(FACT, Atom.of("sure", {"x": 1}), label="sure(x=1)", evidence=["A1"], created_by="system", effect=True, grounds=grounds)
    found = tiers.grounding(space, Atom.of("sure", {"x": 1}))
    assert (found.weakest, found.witnesses, found.is_ungrounded) == ("asserted", ("F1",), True)


def test_an_effect_of_an_action_that_reads_nothing_is_no_stronger_than_its_author():
    player, _ = played("sus-grounding-effect")
    with player.space.change(AT, player.mint) as change:
        change.add(FACT, Atom.of("sure", {"x": 1}), id="E1", label="sure(x=1)", evidence=["A1"], created_by="system", effect=True)
    assert tiers.grounding(player.space, Atom.of("sure", {"x": 1})).weakest == "asserted"


# --- diagnostics -------------------------------------------------------------------------


def needs(player, goal):
    return hints.needs_via(player.space, player.space.nodes[goal].semantic)


def test_hints_leave_the_goals_variables_free():
    """sus-hints-pattern-goal"""
    player, steps = played("sus-hints-pattern-goal")
    need, = needs(player, "G1")
    assert [literal.text() for literal in need.missing] == ["carried(d=soup, t=5)"]
    assert [literal.text() for literal in need.have] == ["order(d=soup, t=5)", "cooked(d=soup)"]


def test_a_head_constant_meets_a_goal_variable():
    """sus-hints-constant-head"""
    player, _ = played("sus-hints-constant-head")
    need, = needs(player, "G1")
    assert [literal.text() for literal in need.missing] == ["k(x=1)"]
    assert ["unreachable_goal", "G1"] not in player.state().get("critique", [])


def test_a_refuted_finding_is_no_bare_claim():
    """sus-negated-finding-critique"""
    player, _ = played("sus-negated-finding-critique")
    assert "critique" not in player.state()


def test_symmetry_and_guarded_counters_are_not_vacuous():
    """sus-vacuous-symmetric"""
    player, steps = played("sus-vacuous-symmetric")
    assert "critique" not in player.state()
    assert "warnings" not in steps[0]


def test_a_rule_that_requires_the_opposite_and_the_absence_can_fire():
    """sus-unfirable-sign"""
    player, steps = played("sus-unfirable-sign")
    assert 'down(s="a")[d]' in shown(player)
    assert "critique" not in player.state() and "warnings" not in steps[0]


def test_the_taint_follows_the_derivation_that_explain_shows():
    """sus-taint-rule-order (judgement call): recorded programs pin the stored derivation."""
    player, _ = played("sus-taint-rule-order")
    space, disputes = player.space, Disputes(player.space)
    for atom in (Atom.of("q", {"x": 1}), Atom.of("w", {"y": 2})):
        premises = [child.atom for child in space.explain(atom).children]
        assert disputes.covers(atom) == any(map(disputes.covers, premises))


def test_a_failing_guard_is_named_and_the_goal_is_not_called_unreachable():
    """sus-unreachable-guarded"""
    player, _ = played("sus-unreachable-guarded")
    need, = needs(player, "G1")
    assert need.missing == () and "gt(left=3, right=10)" in need.text
    assert "critique" not in player.state()


def test_a_hint_reports_what_cannot_be_evaluated_as_blocked():
    """sus-hint-failure"""
    player, _ = played("sus-hint-failure")
    producer, = hints.producible_via(player.space, [Literal.of("q", {"s": "?s"})])
    assert not producer.applicable and producer.blocked_on.predicate == "concat"


def test_every_scenario_has_a_test():
    told = Path(__file__).read_text("utf-8") + Path(__file__).with_name("test_suspects_calls.py").read_text("utf-8")
    assert len(SCENARIOS) == 59 and [name for name in SCENARIOS if name not in told] == []
