"""Who stands as deep as whom: a join over a recursive literal stays within the limits, in whatever order it is told."""

from __future__ import annotations

import itertools

import pytest

from rulith.base.errors import Refused
from rulith.rules.program import Limits, Program
from rulith.rules.terms import Atom, Literal, Rule

NODES = 255


def lit(predicate: str, **args: object) -> Literal:
    return Literal.of(predicate, args)


RULES = [
    Rule("siblings", "", (lit("parent", c="?x", p="?p"), lit("parent", c="?y", p="?p")), (lit("same", x="?x", y="?y"),)),
    Rule("cousins", "", (lit("parent", c="?x", p="?p"), lit("same", x="?p", y="?q"), lit("parent", c="?y", p="?q")), (lit("same", x="?x", y="?y"),)),
]
FACTS = [Atom.of("parent", {"c": n, "p": n // 2}) for n in range(2, NODES + 1)]
PAIRS = {(x, y) for x in range(2, NODES + 1) for y in range(2, NODES + 1) if x.bit_length() == y.bit_length()}


def told(*parts: list, limits: Limits = Limits()) -> Program:
    program = Program(limits)
    for part in parts:
        with program.transaction() as tx:
            for each in part:
                (tx.add_rule if isinstance(each, Rule) else tx.assert_fact)(each)
    return program


@pytest.mark.parametrize("parts", [(RULES + FACTS,), (FACTS, RULES), (RULES, FACTS), (FACTS[100:], RULES, FACTS[:100]), (FACTS, RULES[1:], RULES[:1])],
                         ids=["at once", "rules last", "rules first", "leaves first", "base rule last"])
def test_a_tree_gives_every_pair_of_each_level_in_any_order(parts):
    program = told(*parts)
    assert {tuple(value for _, value in atom.args) for atom in program.facts("same")} == PAIRS


def test_a_large_scan_does_not_count_as_an_explosion():
    """Design: the bindings of each literal after the first count; plain scans fall under the fact limits."""
    told([Rule("copy", "", (lit("parent", c="?x", p="?p"),), (lit("child", p="?p", c="?x"),)), *FACTS], limits=Limits(bindings=10))


def test_a_join_that_explodes_names_its_rule_and_literal():
    with pytest.raises(Refused) as refused:
        told(RULES + FACTS, limits=Limits(bindings=1_000))
    assert refused.value.code == "JOIN_EXPLOSION" and "cousins" in str(refused.value) and "parent" in str(refused.value)


def test_rounds_and_rules_are_counted_apart():
    """Twelve rules that bind a hundred rows each stay under a limit of a hundred."""
    rules = [Rule(f"r{n}", "", (lit("a", x="?x"), lit("b", y="?y")), (lit(f"ab{n}", x="?x", y="?y"),)) for n in range(12)]
    facts = [Atom.of(name, {key: n}) for (name, key), n in itertools.product((("a", "x"), ("b", "y")), range(10))]
    assert told(rules + facts, limits=Limits(bindings=100)).derived_count == 1_200
