"""Gates: attested predicates, committed baselines and definitions, findings, the ledger's labels.

Duty: the reasoning board, "Trusted gates", "Findings and results".
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.board.space.gates import BASELINES, check_consumed, read_contracts
from rulith.board.space.nodes import BatchOptions
from rulith.rules.terms import Atom
from tests.space.short import TRUSTED, board, everything, facts, tell

ATTESTED = BatchOptions(attested=frozenset({"test_result"}))


def refusal(space, *texts, options=BatchOptions()):
    before = everything(space)
    with pytest.raises(Refused) as refused:
        tell(space, *texts, options=options)
    assert everything(space) == before
    return refused.value.code


# --- attested ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "test_result(s=pass)", "not test_result(s=pass)", "R: test_result(s=pass) <- p(x=1)", "R: not test_result(s=pass) <- p(x=1)",
    "A! p(x=1) => test_result(s=pass)", {"op": "revise_fact", "nodeId": "F1", "predicate": "test_result"},
    {"op": "derive_aggregate", "kind": "count", "source": {"predicate": "p"}, "into": {"predicate": "test_result", "valueArg": "n"}},
    {"assert_fact": {"predicate": "test_result"}},
])
def test_a_model_produces_no_attested_predicate_in_any_way(text):
    assert refusal(board("F1 = p(x=1)"), text, options=ATTESTED) == "ATTESTED_PREDICATE"


def test_a_model_reads_what_is_attested_and_consumes_it():
    space = board("F1 = p(x=1)")
    tell(space, "test_result(s=pass)", options=BatchOptions("system", "tool", attested=frozenset({"test_result"})))
    tell(space, "R: green() <- test_result(s=pass)", "G? test_result(s=?s)", "A! test_result(s=?s) => not test_result(s=?s)", options=ATTESTED)
    assert "green()[d]" in facts(space)


CONTRACT = BatchOptions(contracts=read_contracts([{"head": {"predicate": "finding", "args": {"kind": "fixed"}},
                                                   "requires": [{"predicate": "edited"}, {"predicate": "test_result", "args": {"status": "pass"}}]}]))


@pytest.mark.parametrize("text", [
    "R: finding(kind=fixed, i=?i) <- issue(i=?i)",
    "R: finding(kind=fixed, i=?i) <- edited(i=?i), naf test_result(i=?i, status=pass)",
    "R: finding(kind=fixed, i=?i) <- edited(i=?i), test_result(i=?i, status=fail)",
    "R: finding(kind=fixed, i=?i) <- issue(i=?i), edited(i=?j), test_result(i=?j, status=pass)",
    "R: finding(kind=fixed, i=?i) <- edited(i=?i), test_result(i=?j, status=pass)",
    "R: finding(kind=?k, i=?i) <- claimed(kind=?k, i=?i)",
])
def test_a_guarded_conclusion_reads_its_evidence_about_the_same_thing(text):
    assert refusal(board(), text, options=CONTRACT) == "ATTESTED_PREDICATE"


def test_other_conclusions_and_other_hosts_are_not_guarded():
    tell(board(), "R: finding(kind=fixed, i=?i) <- edited(i=?i), test_result(i=?i, status=pass)",
         "R2: finding(kind=open, i=?i) <- issue(i=?i)", "R3: not finding(kind=fixed, i=?i) <- issue(i=?i)", options=CONTRACT)
    tell(board(), "R: finding(kind=fixed, i=?i) <- issue(i=?i)", options=BatchOptions("system", "system", contracts=CONTRACT.contracts))


@pytest.mark.parametrize("rows", ["finding", [5], [{"head": {}}], [{"head": {"predicate": "p"}, "requires": "q"}]])
def test_a_contract_of_the_wrong_shape_is_refused(rows):
    with pytest.raises(Refused) as refused:
        read_contracts(rows)
    assert refused.value.code == "ATOM_INVALID"


# --- committed ---------------------------------------------------------------------------

VALUES = {"node": "n1", "tag": "t", "child": "c", "parent": "p", "slot": "s", "root": "r", "item": 7}
PAIRS = [(marker, target, keys, kind) for marker, rows in BASELINES.items() for target, keys, kind in rows]


def fact(node_id, predicate, keys, **more):
    return {"op": "assert_fact", "id": node_id, "predicate": predicate, "args": {**{key: VALUES[key] for key in keys}, **more}}


@pytest.mark.parametrize(("marker", "target", "keys", "kind"), PAIRS)
def test_every_committed_pair_stands_until_it_is_amended(marker, target, keys, kind):
    space = board(fact("B", target, keys, note="old"), fact("M", marker, ("node", "tag") if "constraint" in marker else keys),
                  fact("X", target, keys[:-1], **{keys[-1]: "other"}), options=TRUSTED)
    revision = {"op": "revise_fact", "nodeId": "B", "id": "B2", "predicate": target, "args": {key: VALUES[key] for key in keys}}
    assert refusal(space, {"op": "retract_node", "nodeId": "B"}) == "BASELINE_PROTECTED"
    assert refusal(space, revision) == "BASELINE_PROTECTED"
    assert refusal(space, {"op": "retract_node", "nodeId": "M"}) == "BASELINE_PROTECTED"
    tell(space, {"op": "retract_node", "nodeId": "X"})
    tell(space, fact("AM", "amendment_result", keys, kind=kind), options=TRUSTED)
    assert refusal(space, revision) == "BASELINE_PROTECTED"                       # an amendment is spent by retracting it
    tell(space, {"op": "retract_node", "nodeId": "AM"}, revision)
    assert "B2" in space.nodes and "AM" not in space.nodes
    assert refusal(space, {"op": "retract_node", "nodeId": "B2"}) == "BASELINE_PROTECTED"


def test_an_amendment_counts_only_when_trusted_and_for_its_own_key_and_kind():
    space = board(fact("B", "goal_node", ["node"]), fact("M", "committed_goal", ["node"]), options=TRUSTED)
    tell(space, "A1 = amendment_result(node=n1, kind=structure)")
    tell(space, "A2 = amendment_result(node=n2, kind=structure)", "A3 = amendment_result(node=n1, kind=phase)", "A4 = amendment_result(node=n1)", options=TRUSTED)
    for amendment in ("A1", "A2", "A3", "A4"):
        assert refusal(space, {"op": "retract_node", "nodeId": amendment}, {"op": "retract_node", "nodeId": "B"}) == "BASELINE_PROTECTED"


def test_an_acceptance_amendment_may_leave_its_kind_out():
    space = board(fact("B", "acceptance", ["node"]), fact("M", "committed_acceptance", ["node"]), "AM = amendment_result(node=n1)", options=TRUSTED)
    tell(space, {"op": "retract_node", "nodeId": "AM"}, {"op": "retract_node", "nodeId": "B"})
    assert "B" not in space.nodes


def test_the_whole_cascade_is_judged():
    space = board("X = note(n=a)")
    tell(space, {**fact("B", "acceptance", ["node"]), "evidenceRefs": ["X"]}, fact("M", "committed_acceptance", ["node"]), options=TRUSTED)
    assert refusal(space, {"op": "retract_node", "nodeId": "X"}) == "BASELINE_PROTECTED"


def test_an_action_consumes_nothing_committed():
    space = board(fact("B", "drive_budget", ["root"], n=5), fact("M", "committed_drive_budget", ["root"]),
                  "D = committed_derivation(predicate=safe)", options=TRUSTED)
    check_consumed(space, [Atom.of("drive_budget", {"root": "other", "n": 5})], "an action")
    for atom in (Atom.of("drive_budget", {"root": "r", "n": 5}), Atom.of("committed_drive_budget", {"root": "r"}),
                 Atom.of("committed_derivation", {"predicate": "safe"})):
        with pytest.raises(Refused) as refused:
            check_consumed(space, [atom], "an action")
        assert refused.value.code == "BASELINE_PROTECTED"


def test_a_committed_definition_is_neither_extended_nor_taken_back_but_by_amendment():
    space = board("M = committed_derivation(predicate=safe)", "D: safe(x=?x) <- tested(x=?x)", options=TRUSTED)
    change = ({"op": "retract_node", "nodeId": "D"}, "D2: safe(x=?x) <- tested(x=?x), reviewed(x=?x)")
    assert refusal(space, change[0]) == refusal(space, change[1]) == refusal(space, {"op": "retract_node", "nodeId": "M"}) == "BASELINE_PROTECTED"
    assert refusal(space, {"op": "derive_aggregate", "kind": "count", "source": {"predicate": "p"},
                           "into": {"predicate": "safe", "valueArg": "n"}}) == "BASELINE_PROTECTED"
    tell(space, "AM = amendment_result(kind=derivation, predicate=safe)", options=TRUSTED)
    tell(space, {"op": "retract_node", "nodeId": "AM"}, *change)
    assert [node.id for node in space.axioms()] == ["D2"]


# --- findings, labels ----------------------------------------------------------------------


def test_a_result_waits_until_every_positive_finding_is_derived():
    space = board("F1 = finding(k=leak)")
    done = {"op": "record_result", "id": "RS", "label": "done"}
    assert refusal(space, done) == "FINDING_NOT_DERIVED"
    assert refusal(space, {"op": "retract_node", "nodeId": "F1"}, "finding(k=slow)", done) == "FINDING_NOT_DERIVED"
    tell(space, {"op": "retract_node", "nodeId": "F1"}, "not finding(k=leak)", done)
    assert "RS" in space.nodes


def test_ledger_events_belong_to_the_host():
    space = board({"op": "record_result", "id": "EV", "label": "memory_event: saved", "evidenceRefs": []}, options=TRUSTED)
    assert refusal(space, {"op": "record_conflict", "label": "memory_event: mine"}) == "RESERVED_LABEL"
    assert refusal(space, {"op": "retract_node", "nodeId": "EV"}) == "RESERVED_LABEL"
    assert refusal(space, {"op": "revise_fact", "nodeId": "EV", "predicate": "p"}) == "RESERVED_LABEL"
    tell(space, {"op": "retract_node", "nodeId": "EV"}, options=TRUSTED)
    assert not space.nodes
