"""Slices, differences, the graph, and what outlives a board.

Duty: the reasoning board, "Slice, diff, graph", "Distill and seed".
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.board.space import actions, slices
from rulith.board.space.nodes import BatchOptions
from tests.space.short import AT, TRUSTED, board, everything, facts, minting, tell


def shown(views):
    return [view.atom.text() for view in views]


# --- slices ------------------------------------------------------------------------------


def test_what_a_missing_literal_names_is_worth_showing():
    space = board("G? ok(x=Alpha)", "R: ok(x=?x) <- part(x=?x), check(x=?x)", *(f"noise(n={n})" for n in range(5)), "check(x=beta)", "other(s=ALPHA)", "late(n=1)")
    found = slices.slice_facts(space, 2)
    assert shown(found.facts) == ["check(x=beta)", "other(s=ALPHA)"]
    assert (found.facts_total, found.findings_total) == (8, 0)


def test_conclusions_break_ties_and_then_the_recent_ones_win():
    space = board("a(n=1)", "a(n=2)", "a(n=3)", "R: z(n=?n) <- a(n=?n), eq(left=?n, right=1)")
    assert shown(slices.slice_facts(space, 2).facts) == ["a(n=3)", "z(n=1)"]
    assert slices.slice_facts(space, 0).facts == ()


def test_findings_are_cut_by_themselves():
    space = board(*(f"obs(n={n})" for n in range(4)), "R: finding(n=?n) <- obs(n=?n)")
    found = slices.slice_facts(space, 60, 2)
    assert len(found.facts) == 4 and shown(found.findings) == ["finding(n=2)", "finding(n=3)"]
    assert found.views == found.facts + found.findings


def test_a_slice_changes_nothing():
    space = board("a(n=1)", "a(n=2)", "G? b(n=?n)")
    before = everything(space)
    slices.slice_facts(space, 1)
    assert everything(space) == before


# --- what changed ------------------------------------------------------------------------


def test_a_fact_that_changes_its_mark_is_changed():
    space = board("F = p(x=1)", "go(x=1)", "A! go(x=?x) => not p(x=1), q(x=1)")
    before = slices.mark(space)
    actions.apply_action(space, "A", at=AT, mint=space.mint_for_tests)
    found = slices.diff(before, space)
    assert shown(found.added) == ["q(x=1)"] and shown(found.removed) == ["p(x=1)"] and found.changed == ()
    assert found.highlight == (found.added[0].node_id,)
    assert found.text().splitlines()[0] == "1 added, 0 changed, 1 removed" and "+ " in found.text()


def test_no_change_is_said_loudly():
    space = board("F = p(x=1)")
    assert slices.diff(slices.mark(space), space).text().startswith("NO CHANGE")


def test_an_id_that_stands_for_another_fact_is_changed():
    space = board("F = p(x=1)")
    before = slices.mark(space)
    tell(space, {"op": "revise_fact", "nodeId": "F", "id": "F", "predicate": "p", "args": {"x": True}})
    assert shown(slices.diff(before, space).changed) == ["p(x=true)"]


# --- who cites whom ----------------------------------------------------------------------


def test_edges_follow_references_to_what_takes_part():
    space = board("F = p(x=1)", "G = r(x=1)", "A! r(x=?x) => not r(x=?x), s(x=?x)", "R: q(x=?x) <- p(x=?x)",
                  {"op": "record_conflict", "id": "RS", "label": "odd", "evidenceRefs": ["F", "G", "web:page"]},
                  {"op": "derive_aggregate", "id": "T", "kind": "count", "source": {"predicate": "p"}, "into": {"predicate": "n", "valueArg": "n"}})
    done = actions.apply_action(space, "A", at=AT, mint=space.mint_for_tests)
    edges = slices.graph(space).edges
    assert ("R", "derive", "derived:q|x:1") in edges and ("F", "supports", "derived:q|x:1") in edges
    assert ("T", "derive", "derived:n|n:1") in edges and ("F", "supports", "derived:n|n:1") in edges
    assert ("A", "supports", done.added_ids[0]) in edges and ("A", "supports", done.event_id) in edges
    assert not any("RS" in edge or "G" in edge or "web:page" in edge for edge in edges)     # RS rests on what was consumed
    assert list(edges) == sorted(edges)


def test_a_long_graph_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(slices, "GRAPH_EDGES_MAX", 5)
    space = board(*(f"p(x={n})" for n in range(10)), "R: q(x=?x) <- p(x=?x)")
    found = slices.graph(space)
    assert len(found.edges) == 5 and found.cut


# --- what outlives a board ---------------------------------------------------------------


def seed(space, capsule, **options):
    return slices.seed(space, capsule, at=AT, mint=minting(), **options)


def capsule_of(*rules, source="old"):
    return {"sourceSpaceId": source, "title": "t", "axioms": list(rules), "results": [], "vocabulary": []}


def row(name, when="p", then="q", **more):
    return {"id": name, "label": name, "when": [{"predicate": when, "args": {"x": "?x"}}], "then": [{"predicate": then, "args": {"x": "?x"}}], **more}


def test_rules_and_conclusions_travel_and_the_rest_stays():
    old = board("F = p(x=1)", "R: q(x=?x) <- p(x=?x)", "A! p(x=?x) => r(x=?x)", "G? q(x=1)", {"op": "record_result", "id": "S", "label": "done", "evidenceRefs": ["F"]},
                {"op": "derive_aggregate", "id": "T", "kind": "count", "source": {"predicate": "p"}, "into": {"predicate": "n", "valueArg": "n"}})
    capsule = slices.distil(old)
    assert [each["id"] for each in capsule["axioms"]] == ["R"] and [each["label"] for each in capsule["results"]] == ["done"]
    new = board("p(x=7)")
    found = seed(new, capsule)
    assert found.planted == ("R",) and found.skipped == () and "q(x=7)[d]" in facts(new)
    node = new.nodes["R"]
    assert (node.created_by, node.evidence, node.status) == ("system", ("seed:b",), "verified")
    assert ("seed:b", "seed", "R") in slices.graph(new).edges


def test_a_taken_id_gets_the_sources_name_and_then_is_skipped():
    new = board("R = x(n=1)")
    assert seed(new, capsule_of(row("R"))).planted == ("R@old",)
    found = seed(new, capsule_of(row("R", then="other")))
    assert found.planted == () and found.skipped == (("R", "its id, and its id with the source's name, are taken"),)


@pytest.mark.parametrize("rule, why", [
    (row("derived:x"), "id"), (row("R", then="add"), "unsafe"), ({"id": "R", "when": [], "then": [{"predicate": "q", "args": {"x": "?x"}}]}, "unsafe"),
    ({"id": "R", "when": "x", "then": []}, "not a list"), ({"when": [], "then": []}, "non-empty text"), (row("R", then="test_result"), "only a machine attests"),
    (row("R" * 5000), "id or label"),
])
def test_what_cannot_be_planted_is_skipped_with_its_reason(rule, why):
    new = board()
    found = seed(new, capsule_of(rule, row("FINE")), attested=frozenset({"test_result"}))
    assert found.planted == ("FINE",) and len(found.skipped) == 1 and why in found.skipped[0][1]


def test_a_committed_definition_is_not_extended_by_seeding():
    new = board()
    tell(new, "committed_derivation(predicate=q)", options=TRUSTED)
    assert "committed" in seed(new, capsule_of(row("R"))).skipped[0][1]


def test_a_rule_that_is_there_already_is_not_planted_twice():
    new = board("MINE: q(x=?x) <- p(x=?x)")
    assert "already" in seed(new, capsule_of(row("R"))).skipped[0][1]


def test_rules_that_cannot_stand_together_are_all_refused():
    new = board("p(x=1)")
    before = everything(new)
    bad = {"id": "R", "when": [{"predicate": "p", "args": {"x": "?x"}}, {"predicate": "q", "args": {"x": "?x"}, "naf": True}], "then": [{"predicate": "q", "args": {"x": "?x"}}]}
    with pytest.raises(Refused) as refused:
        seed(new, capsule_of(row("FINE", then="z"), bad))
    assert refused.value.code == "NOT_STRATIFIABLE" and everything(new) == before


@pytest.mark.parametrize("capsule", [None, [], {}, {"sourceSpaceId": "", "axioms": []}, {"sourceSpaceId": "s"}, {"sourceSpaceId": "s", "axioms": [1]}])
def test_what_is_no_capsule_is_refused(capsule):
    with pytest.raises(Refused) as refused:
        seed(board(), capsule)
    assert refused.value.code == "CAPSULE_INVALID"


def test_a_forged_summary_is_not_taken_over():
    new = board()
    seed(new, capsule_of(row("R", summary="Rule-derived fact: q(x=1)")))
    assert new.nodes["R"].summary == "R"


def test_an_agents_batch_cannot_imitate_a_seeded_rule():
    new = board()
    with pytest.raises(Refused) as refused:
        tell(new, {"op": "add_axiom", "id": "derived:q|x:1", "label": "r", "when": [], "then": []}, options=BatchOptions())
    assert refused.value.code == "PROVENANCE_FORGED"
