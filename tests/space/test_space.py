"""A Space as a thing: atomic, deterministic, copied, tried and taken back.

Duty: design §4 "Incremental", D7 (the same told again is the same); the reasoning board, "Batches".
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.board.space import outcome
from rulith.board.space.nodes import derived_id, read_derived_id
from rulith.rules.terms import Atom
from tests.space.short import AT, board, copied, everything, facts, tell

WORLD = ("F1 = a(x=1)", "F2 = a(x=2)", "R: b(x=?x) <- a(x=?x), naf c(x=?x)", "G? b(x=?x)", "A! a(x=?x) => c(x=?x)",
         {"op": "derive_aggregate", "id": "T", "kind": "count", "source": {"predicate": "b"}, "into": {"predicate": "n", "valueArg": "v"}},
         {"op": "declare_hypothesis", "id": "H", "predicate": "n", "args": {"v": 2}})


def test_a_trial_leaves_no_trace():
    space = board(*WORLD)
    before = everything(space)
    with space.trial(AT, space.mint_for_tests) as change:
        change.remove(change.dependants(["F1"]))
        change.settle()
        assert facts(space) == ["a(x=2)[a]", "b(x=2)[d]"] and space.nodes["H"].status == "open"
    assert everything(space) == before and outcome.state(space) == outcome.state(board(*WORLD))


def test_a_trial_that_is_refused_leaves_no_trace_either():
    space = board(*WORLD)
    before = everything(space)
    with pytest.raises(Refused), space.trial(AT, space.mint_for_tests) as change:
        change.archive("F1")
        change.add("fact", Atom.of("a", {"x": 2}), id="F2", label="again")
    assert everything(space) == before


def test_a_change_within_a_change_is_refused():
    space = board(*WORLD)
    with space.trial(AT, space.mint_for_tests):
        with pytest.raises(Refused) as refused:
            tell(space, "F9 = z(x=1)")
    assert refused.value.code == "board_busy"
    tell(space, "F9 = z(x=1)")
    assert "z(x=1)[a]" in facts(space)


def test_an_exception_of_another_kind_takes_all_back():
    space = board(*WORLD)
    before = everything(space)
    with pytest.raises(KeyError), space.change(AT, space.mint_for_tests) as change:
        change.remove(change.dependants(["R"]))
        raise KeyError("planned")
    assert everything(space) == before


def test_what_a_change_left_open_is_settled_at_its_end():
    space = board(*WORLD)
    with space.change(AT, space.mint_for_tests) as change:
        change.remove(change.dependants(["F2"]))
    assert facts(space) == ["a(x=1)[a]", "b(x=1)[d]"]
    assert space.nodes["T"].semantic.withdrawn and space.nodes["H"].status == "open"


def test_a_copy_is_equal_and_independent():
    space = board(*WORLD)
    with space.change(AT, space.mint_for_tests) as change:
        change.archive("F2")
    other = copied(space)
    assert outcome.state(other) == outcome.state(space) and other.seq == space.seq
    assert set(other.unusable) == {"F2"}
    other.mint_for_tests = space.mint_for_tests
    tell(other, {"op": "retract_node", "nodeId": "F1"})
    assert facts(space) == ["a(x=1)[a]", "b(x=1)[d]"] and facts(other) == []


def test_told_the_same_two_boards_are_equal():
    assert everything(board(*WORLD)) == everything(board(*WORLD))
    assert outcome.state(board(*WORLD)) == outcome.state(board(*WORLD))


def test_the_moment_lands_on_what_changed():
    space = board("F1 = a(x=1)", "H0 = z(x=1)")
    space.apply([{"op": "declare_hypothesis", "id": "H", "predicate": "b"}], at="2026-02-02T00:00:00.000Z", mint=space.mint_for_tests)
    assert space.nodes["F1"].created_at == AT and space.nodes["H"].created_at == space.updated_at == "2026-02-02T00:00:00.000Z"


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=8), st.dictionaries(st.text(max_size=5), st.one_of(
    st.text(max_size=6), st.booleans(), st.integers(-10, 10), st.floats(allow_nan=False, allow_infinity=False)), max_size=3), st.booleans())
def test_a_derived_id_names_one_atom_and_reads_back(predicate, args, negated):
    """board-suspects `sus-key-encoding`: identity is structured, no two atoms share an id."""
    atom = Atom.of(predicate, args, negated)
    assert read_derived_id(derived_id(atom)) == atom


@pytest.mark.parametrize("text", [
    "derived:", "derived:p", "derived:|", "derived:p|x", "derived:p|x:", "derived:p|x:1|", "derived:p|x:01", "derived:p|x:[1]",
    "derived:p|x:1,y:2", "derived:p|y:1|x:2", "derived:p|x:1.0", 'derived:p|x:"5"', "p|x:1", "derived:p|x:1e999", "derived:p|x:" + "[" * 2000,
])
def test_what_is_no_derived_id_reads_as_none(text):
    assert read_derived_id(text) is None
    assert board("F1 = p(x=1)").find(text) is None


def test_a_derived_fact_has_a_node_when_asked_for():
    space = board(*WORLD)
    node = space.node("derived:b|x:1")
    assert (node.evidence, node.created_by, node.summary) == (("R", "F1"), "system", "Rule-derived fact: b(x=1)")
    assert space.usable("derived:b|x:1") and not space.usable("derived:b|x:9")
    with pytest.raises(Refused) as refused:
        space.node("derived:b|x:9")
    assert refused.value.code == "NODE_NOT_FOUND"


def test_an_explanation_is_cut_visibly_in_depth_and_in_size():
    space = board(*[f"E{n} = e(a={n}, b={n + 1})" for n in range(30)], "T: p(a=?a, b=?b) <- e(a=?a, b=?b)",
                  "T2: p(a=?a, b=?c) <- p(a=?a, b=?b), e(a=?b, b=?c)")
    atom = Atom.of("p", {"a": 0, "b": 30})

    def count(proof):
        return 1 + sum(map(count, proof.children))

    def cuts(proof):
        return int(proof.cut) + sum(map(cuts, proof.children))

    whole = space.explain(atom)
    assert count(whole) == 60 and cuts(whole) == 0
    assert cuts(space.explain(atom, depth_max=5)) == 1
    small = space.explain(atom, nodes_max=10)
    assert count(small) <= 10 and cuts(small) >= 1


def test_only_facts_that_hold_are_explained():
    space = board(*WORLD)
    for asked, code in (("R", "NODE_NOT_FACT"), ("nobody", "NODE_NOT_FOUND")):
        with pytest.raises(Refused) as refused:
            space.explain_node(asked)
        assert refused.value.code == code
    with pytest.raises(Refused) as refused:
        space.explain(Atom.of("b", {"x": 9}))
    assert refused.value.code == "ATOM_ABSENT"


def test_disputes_are_the_same_after_a_refused_batch():
    """A past bug: who cites whom was read from rules sorted for the batch that was refused."""
    space = board("F1 = up(s=a)", "F2 = not up(s=a)", "R: serve(s=?s) <- up(s=?s)", "R2: open(s=?s) <- serve(s=?s)")
    before = outcome.state(space)
    assert ["open", {"s": "a"}, "+", "derived", "disputed"] in before["facts"]
    with pytest.raises(Refused):
        tell(space, "R3: p(x=?x) <- q(x=?x), naf p(x=?x)")
    assert outcome.state(space) == before
