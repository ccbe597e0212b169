"""A proof that is shared looks exactly like one that was built node by node."""

from __future__ import annotations

import pytest

from rulith.rules.program import Program
from rulith.rules.proofs import Node
from rulith.rules.terms import Atom, Literal, Rule


def lit(predicate: str, **args: object) -> Literal:
    return Literal.of(predicate, args)


def braided() -> Program:
    """Each level rests on two facts of the level below, which rest on the same two; the third rule is wide."""
    program = Program()
    with program.transaction() as tx:
        for level in range(1, 5):
            tx.add_rule(Rule(f"r{level}", "", (lit(f"p{level - 1}", s=0), lit(f"p{level - 1}", s=1)), (lit(f"p{level}", s=0), lit(f"p{level}", s=1))))
        tx.add_rule(Rule("wide", "", tuple(lit(f"p{level}", s=side) for level in (0, 4, 2) for side in (0, 1)), (lit("top"),)))
        for side in (0, 1):
            tx.assert_fact(Atom.of("p0", {"s": side}))
    return program


def built(program: Program, atom: Atom, depth_max: int, nodes_max: int) -> Node:
    """Depth first, every node counted when its parent is opened, nothing shared."""
    count = 1

    def grow(at: Atom, depth: int) -> Node:
        nonlocal count
        support = program.support(at)
        below = support.premises if support else ()
        cut = bool(below) and (depth >= depth_max or count + len(below) > nodes_max)
        if cut:
            return Node(at, support, (), True)
        count += len(below)
        return Node(at, support, tuple([grow(each, depth + 1) for each in below]))

    return grow(atom, 0)


@pytest.mark.parametrize("depth_max", [0, 1, 3, 10])
def test_shared_parts_of_a_proof_are_cut_where_unshared_ones_would_be(depth_max):
    program, top = braided(), Atom.of("top")
    for nodes_max in range(1, 100):
        assert program.explain(top, depth_max, nodes_max) == built(program, top, depth_max, nodes_max)


def test_a_proof_of_sixty_braided_levels_is_built_at_once():
    """Unshared it would have 2^60 nodes; the bound on nodes cuts it, what fits is shared."""
    program = Program()
    with program.transaction() as tx:
        for level in range(1, 61):
            tx.add_rule(Rule(f"r{level}", "", (lit(f"p{level - 1}", s=0), lit(f"p{level - 1}", s=1)), (lit(f"p{level}", s=0), lit(f"p{level}", s=1))))
        for side in (0, 1):
            tx.assert_fact(Atom.of("p0", {"s": side}))
    assert program.explain(Atom.of("p60", {"s": 0}), depth_max=64, nodes_max=1 << 62).support.rule_id == "r60"


def test_the_rule_behind_a_conclusion_is_told_without_its_premises():
    program = braided()
    assert program.concluded_by(Atom.of("top")) == "wide"
    assert program.concluded_by(Atom.of("p0", {"s": 0})) is None and program.concluded_by(Atom.of("nothing")) is None
