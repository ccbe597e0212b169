"""Certification stands on law alone: denied where law concludes nothing, not where an Agent's rule was merely quicker."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.board.board import Board
from rulith.board.law_proofs import FirstFound, Law, derivation
from rulith.board.shapes import TIER_RANK, TIERS
from rulith.board.state import Fact, RuleInfo
from rulith.rules.proofs import Node
from rulith.rules.safety import joins
from rulith.wire.terminal_receipt import check_document
from tests.rules.checker import as_fact, problems
from tests.rules.naive import closure, extend, matches, under
from tests.rules.test_closure_equals_the_naive_evaluator import atoms, plain, rules


def capability(**changes) -> dict:
    """`up` follows by law from what a Source attests (`seen`) and, for an asserting Agent, from `hinted`."""
    def define(name):
        return {"id": f"demo.up.{name}", "as": name, "args": {"id": "string"}, **({"sources": ["file"]} if name == "seen" else {})}

    return {
        "format": "rulith-capability/1", "id": "demo.up", "version": "1.0.0", "title": "Up",
        "vocabulary": {"defines": [define(name) for name in ("seen", "hinted", "mid", "up", "veto")],
                       "imports": [{"id": "case_key", "as": "case_key"}]},
        "rules": [
            {"id": "hint", "when": [{"predicate": "hinted", "args": {"id": "?id"}}], "then": [{"predicate": "mid", "args": {"id": "?id"}}]},
            {"id": "seen", "when": [{"predicate": "seen", "args": {"id": "?id"}}], "then": [{"predicate": "mid", "args": {"id": "?id"}}]},
            {"id": "up", "when": [{"predicate": "mid", "args": {"id": "?id"}}], "then": [{"predicate": "up", "args": {"id": "?id"}}]}],
        "acceptance": [{"id": "up", "when": [{"predicate": "case_key", "args": {"root": "?root", "name": "id", "value": "?id"}},
                                             {"predicate": "up", "args": {"id": "?id"}},
                                             {"predicate": "veto", "args": {"id": "?id"}, "naf": True}]}],
        "actions": [{"id": "look", "description": "Look.", "tool": "demo.look@1", "kind": "read", "source_types": ["file"], "params": {"id": "string"},
                     "preconditions": [{"predicate": "case_key", "args": {"root": "?root", "name": "id", "value": "?id"}}], "effects": [],
                     "returns": [{"predicate": "seen", "args": {"id": "$id"}}]}],
        "case_types": {"up": {"title": "Up", "business_key": {"id": "string"}, "floor": "attested", "agent_rules": "rules_and_actions",
                              "task": [{"node": "up", "goal": "it is up", "acceptance": "up"}]}}, **changes}


@pytest.fixture
def up(new_play):
    play = new_play(capability())
    play.case = play.run("open_case", caseType="up", businessKey={"id": "a"})
    play.leaf = lambda: play.view(play.case)["taskStatus"][play.case["root"]]["leaves"][0]
    return play


def axiom(rule_id, head, *body):
    return {"op": "add_axiom", "id": rule_id, "when": [{"predicate": f"demo.up.{name}", "args": {"id": "?id"}} for name in body],
            "then": [{"predicate": f"demo.up.{head}", "args": {"id": "?id"}}]}


def look(play):
    plan = {"action": "demo.up.look", "tool": "demo.look@1", "kind": "read", "args": {"id": "a", "source": "verified-calculation-local"},
            "sourceRecordId": "verified-calculation-local", "connectionId": "conn_1", "release": "r1", "caseIds": [play.case["caseId"]],
            "returns": [{"predicate": "demo.up.seen", "args": {"id": "$id"}}], "effects": []}
    play.run("record_receipt", ordinal=1, plan=plan, ok=True, facts=[{"predicate": "demo.up.seen", "args": {"id": "a"}}], resultDigest="r",
             requestDigest="q", workerId="w", workerGeneration=1,
             source={"name": "verified-calculation-local", "type": "file", "access": "/", "connectionId": "conn_1", "tier": "attested", "attests": ["*"]})


def close(play):
    return play.run("close_case", root=play.case["root"])


def test_an_agents_rule_that_was_quicker_denies_nothing(up):
    """The stored support of `up` is the Agent's; law concludes it too, from what was attested."""
    up.batch(up.case, axiom("mine", "up", "hinted"), {"op": "assert_fact", "predicate": "demo.up.hinted", "args": {"id": "a"}})
    assert not up.leaf()["met"]
    look(up)
    assert up.leaf() == {"node": up.case["root"] + "/up", "goal": "it is up", "met": True, "tier": "attested"}
    proof = up.board.proof({"predicate": "acceptance_met", "args": {"node": up.case["root"] + "/up"}})
    while proof["premises"]:
        assert proof["by"]["law"] is True and proof["tier"] == "attested"
        proof = proof["premises"][-1]
    assert proof["by"]["kind"] == "receipt"
    assert close(up)["certified"]
    kept = up.board.case_detail(up.case["caseId"])["conclusions"]
    assert len(kept) == 1 and "mine" not in str(kept)
    assert up.refold().closure_digest() == up.board.closure_digest()


def test_only_an_agents_rule_certifies_nothing(up):
    up.batch(up.case, axiom("mine", "up", "seen"))
    look(up)
    assert up.leaf()["met"]
    up.batch(up.case, axiom("other", "up", "hinted"))
    assert up.leaf()["met"]


def test_an_agents_rule_alone_says_what_is_wrong_with_it(new_play):
    document = capability()
    document["rules"] = document["rules"][2:]
    play = new_play(document)
    play.case = play.run("open_case", caseType="up", businessKey={"id": "a"})
    play.batch(play.case, axiom("mine", "mid", "seen"))
    look(play)
    with pytest.raises(Refused) as refused:
        close(play)
    assert refused.value.code == "case_not_certified" and "rule of the Agent" in refused.value.teaching


def test_an_assertion_that_was_quicker_denies_nothing(up):
    """Both the fact itself and a premise of it stand on the Agent's word first."""
    up.batch(up.case, {"op": "assert_fact", "predicate": "demo.up.hinted", "args": {"id": "a"}},
             {"op": "assert_fact", "predicate": "demo.up.up", "args": {"id": "a"}})
    assert "asserted" in up.view(up.case)["gaps"][0]["text"]
    look(up)
    assert up.leaf()["tier"] == "attested" and close(up)["certified"]


def test_an_absence_that_an_agents_rule_made_does_not_certify(new_play):
    """Law concludes a veto unless it is lifted, and only the Agent's rule lifts it."""
    document = capability()
    document["vocabulary"]["defines"].append({"id": "demo.up.lifted", "as": "lifted", "args": {"id": "string"}})
    document["rules"].append({"id": "veto", "when": [{"predicate": "seen", "args": {"id": "?id"}}, {"predicate": "lifted", "args": {"id": "?id"}, "naf": True}],
                              "then": [{"predicate": "veto", "args": {"id": "?id"}}]})
    play = new_play(document)
    play.case = play.run("open_case", caseType="up", businessKey={"id": "a"})
    look(play)
    play.batch(play.case, axiom("lift", "lifted", "mid"))
    assert play.board.why_not({"predicate": "acceptance_met", "args": {"node": play.case["root"] + "/up"}})["holds"]
    assert not play.board.is_certified(play.case["caseId"])


def test_a_receipt_of_such_a_case_checks_out(up):
    up.batch(up.case, axiom("mine", "up", "hinted"), {"op": "assert_fact", "predicate": "demo.up.hinted", "args": {"id": "a"}})
    look(up)
    close(up)
    facts = up.board.receipt_facts(up.case["caseId"])
    document = {"format": "rulith-terminal-receipt/1", "agentId": "agt_1", **facts, "operations": [], "decisions": [],
                **dict.fromkeys(("rows", "between", "skipped", "borrowed"), ())}
    assert not [problem for problem in check_document(json.loads(json.dumps(document))).problems if problem.place.startswith(("proof of", "goal", "conclusions"))]


def test_too_many_matches_fall_back_to_the_first_by_law(up, monkeypatch):
    monkeypatch.setattr("rulith.board.law_proofs.MATCHES_MAX", 1)
    up.batch(up.case, axiom("mine", "up", "hinted"))
    look(up)
    assert up.leaf()["met"]


def test_what_a_refused_command_computed_is_forgotten(up):
    up.batch(up.case, {"op": "assert_fact", "id": "h", "predicate": "demo.up.hinted", "args": {"id": "a"}})
    with pytest.raises(Refused):
        up.batch(up.case, {"op": "retract_node", "nodeId": "h"}, {"op": "retract_node", "nodeId": "nothing"})
    state = up.board.state
    assert all(state.ground(atom) == FirstFound(state, Law(state.program, state.totals)).ground(atom) for atom in list(state.program.facts()))


# --- against a slow evaluator that knows law rules only --------------------------------


def board_of(law, agents, facts):
    """A Board whose rules and facts are these; None where they cannot be layered."""
    board = Board("agt_1")
    state = board.state
    try:
        with board._whole():
            for rule in [*agents, *law]:
                state.put_rule(RuleInfo(rule, rule in law))
            for number, (atom, tier) in enumerate(facts):
                state.add_fact(Fact(f"f_{number}", atom, "asserted", tier, "c", False, {"kind": "agent"}, ""))
            state.close_rules()
    except Refused:
        return None
    return state


def best_tiers(law, model, base):
    """Rank of the strongest proof of each fact of the law-only model, by trying everything until nothing improves."""
    ranks, moved = dict(base), True
    while moved:
        moved = False
        for rule in law:
            when, then = plain(rule)
            for env in matches(when, model):
                options = [[ranks[one] for one in model if one in ranks and extend(literal.json(), one, env) == env]
                           for literal in rule.when if joins(literal)]
                if not all(options):
                    continue
                rank = max(map(min, options), default=0)
                for head in then:
                    fact = under(head, env)
                    if fact in model and rank < ranks.get(fact, len(TIERS)):
                        ranks[fact], moved = rank, True
    return ranks


def tree(proof, atom, depth=40):
    support = proof.support(atom)
    assert depth, "a proof rests on itself"
    return Node(atom, support, tuple(tree(proof, one, depth - 1) for one in support.premises) if support is not None else ())


@st.composite
def worlds(draw):
    law = [draw(rules(f"law{n}")) for n in range(draw(st.integers(1, 4)))]
    agents = [draw(rules(f"agent{n}")) for n in range(draw(st.integers(0, 3)))]
    facts = draw(st.lists(st.tuples(atoms(), st.sampled_from(["attested", "asserted", "perceived"])), max_size=12, unique_by=lambda pair: pair[0]))
    return law, agents, facts


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds())
def test_a_derivation_is_found_exactly_where_law_alone_concludes(world):
    """Never granted wrongly; denied only where none exists; as strong as the strongest; and a proof by law rules alone."""
    law, agents, facts = world
    state = board_of(law, agents, facts)
    if state is None or closure(list(map(plain, [*law, *agents])), ()) is None:
        return
    base = {}
    for atom, tier in facts:
        base[as_fact(atom)] = min(TIER_RANK[tier], base.get(as_fact(atom), 9))
    model = closure(list(map(plain, law)), base)
    contradicted = {(p, not n, a) for p, n, a in map(as_fact, state.program.facts())}
    calm = not contradicted & set(map(as_fact, state.program.facts()))
    ranks = best_tiers(law, model, base)
    for atom in list(state.program.facts()):
        found = derivation(state, atom)
        if found is None:
            assert not calm or as_fact(atom) not in model, atom.text()
            continue
        assert as_fact(atom) in model, atom.text()
        assert problems(tree(found, atom), {rule.id: rule for rule in law}, set(base), model) == []
        rank = TIER_RANK[found.ground(atom).tier]
        assert rank == ranks[as_fact(atom)] if calm else rank >= ranks[as_fact(atom)]
        assert found.ground(atom).law_only
