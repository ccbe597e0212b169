"""Builtins: exact or no result, typed, never coercing.

Duty: the board kernel's tables of comparison and arithmetic, and the decisions on its
suspected defects (operands and results beyond 2^53-1, imod, mixed operands, underflow).
"""

from __future__ import annotations

import math
import random
from decimal import Context, Decimal

import pytest

from rulith.base.errors import Refused
from rulith.rules import builtins
from rulith.rules.builtins import compare, compute, is_exact, left_exact_range
from rulith.rules.program import Program
from rulith.rules.terms import Atom, Literal, Rule

TOP = 2**53 - 1

#  name, operands, result (None: the literal fails)
RESULTS = [
    ("add", (2, 3), 5), ("add", (0.1, 0.2), 0.30000000000000004), ("add", (TOP, 1), None), ("add", (-TOP, -1), None),
    ("add", (0.5, 0.5), 1), ("add", (TOP, 0.5), None), ("add", ("2", 3), None), ("add", (True, 1), None),
    ("add", (9007199254740992.0, -5), None), ("add", (TOP - 1, 1), TOP),
    ("sub", (2, 5), -3), ("sub", (-TOP, 1), None), ("sub", (1e308, 1e308), None),
    ("mul", (94906265, 94906265), 9007199136250225), ("mul", (TOP, 2), None), ("mul", (1299, 7), 9093),
    ("mul", (0.5, 4), 2), ("mul", (1e-200, 1e-200), None), ("mul", (0, 0.5), 0), ("mul", (9007199254740992.0, 0.5), None),
    ("div", (7, 2), 3.5), ("div", (6, 2), 3), ("div", (1, 0), None), ("div", (0, 5), 0), ("div", (1, 3), 1 / 3),
    ("div", (1, 1e-300), None), ("div", (5e-324, 2), None),
    ("mod", (-7, 3), -1), ("mod", (7, -3), 1), ("mod", (7, 0), None), ("mod", (7.5, 2), 1.5), ("mod", (-7.5, 2), -1.5),
    ("mod", (TOP, 10), 1),
    ("idiv", (-7, 2), -4), ("idiv", (7, 2), 3), ("idiv", (7, -2), -4), ("idiv", (1, 0), None), ("idiv", (1, 0.1), 9),
    ("imod", (-7, 3), 2), ("imod", (7, -3), -2), ("imod", (5, 0), None),
    ("imod", (TOP - 1, TOP), TOP - 1), ("imod", (6004799503160661, 6004799503160662), 6004799503160661),
    ("imod", (1, 0.1), 0.09999999999999995),
    ("pow", (0, 0), 1), ("pow", (2, -1), 0.5), ("pow", (2, 52), 2**52), ("pow", (2, 53), None), ("pow", (0, -1), None),
    ("pow", (-8, 0.5), None), ("pow", (-8, 3), -512), ("pow", (10, -400), None), ("pow", (2, 10**15), None),
    ("pow", (-1, 10**15), 1), ("pow", (-1, 10**15 + 1), -1), ("pow", (1, TOP), 1), ("pow", (0, TOP), 0), ("pow", (4, 0.5), 2),
    ("min", (2, -1), -1), ("max", (2, 2.5), 2.5), ("max", ("a", "b"), None), ("min", (1e308, 1), None),
    ("neg", (5,), -5), ("neg", (0,), 0), ("abs", (-2.5,), 2.5), ("sign", (-3,), -1), ("sign", (0,), 0), ("sign", (0.1,), 1),
    ("sqrt", (9,), 3), ("sqrt", (-1,), None), ("sqrt", (2,), math.sqrt(2)), ("sqrt", (9007199136250225,), 94906265),
    ("ln", (1,), 0), ("ln", (0,), None), ("ln", (-1,), None), ("exp", (0,), 1), ("exp", (710,), None), ("exp", (-1000,), None),
    ("exp", (40.5,), None), ("concat", ("a", "b"), "ab"), ("concat", ("n", 5), "n5"), ("concat", (5, 6), 56),
    ("concat", ("0", 5), "05"), ("concat", ("", ""), ""), ("concat", (-1, "x"), "-1x"),
]

COMPARISONS = [
    ("eq", (1, 1), True), ("eq", (1, True), False), ("eq", (0, False), False), ("eq", ("1", 1), False), ("eq", (True, True), True),
    ("neq", (1, "1"), True), ("neq", (1, True), True), ("neq", ("a", "a"), False),
    ("lt", (1, 2), True), ("lt", (2, 2), False), ("lt", ("a", "b"), False), ("lt", (False, True), False), ("lt", (1, 1e308), True),
    ("lte", (2, 2), True), ("gt", (2.5, 2), True), ("gte", (2, 3), False), ("gt", ("b", 1), False),
    ("between", (2, 1, 3), True), ("between", (1, 1, 1), True), ("between", (2, 3, 1), False), ("between", ("b", "a", "c"), False),
    ("contains", ("hello", "ell"), True), ("contains", ("hello", ""), True), ("contains", ("Hello", "h"), False),
    ("contains", (12, 1), False), ("contains", ("12", 1), False),
]


def atom_in_one_rule(name, operands, slots, head_names):
    """The head that one rule with this builtin derives from one fact holding the operands."""
    program = Program()
    args = dict(zip(slots, operands))
    variables = {slot: f"?{slot}" for slot in slots}
    head = {"out": "?out"} if head_names else {"ok": 1}
    call = {**variables, "result": "?out"} if head_names else variables
    rule = Rule("r", "r", (Literal.of("given", variables), Literal.of(name, call)), (Literal.of("found", head),))
    with program.transaction() as tx:
        tx.add_rule(rule)
        tx.assert_fact(Atom("given", tuple(sorted(args.items()))))
    return [atom.arguments for atom in program.facts("found")]


@pytest.mark.parametrize(("name", "operands", "result"), RESULTS)
def test_arithmetic_gives_the_exact_result_or_none_alone_and_in_a_rule(name, operands, result):
    found = compute(name, operands)
    assert (found, type(found)) == (result, type(result))
    derived = atom_in_one_rule(name, operands, builtins.ARITHMETIC[name], True)
    assert derived == ([] if result is None else [{"out": result}])


@pytest.mark.parametrize(("name", "operands", "holds"), COMPARISONS)
def test_comparisons_are_strict_alone_and_in_a_rule(name, operands, holds):
    assert compare(name, operands) is holds
    assert bool(atom_in_one_rule(name, operands, builtins.COMPARISONS[name], False)) is holds


@pytest.mark.parametrize("operand", [1.5, True, 1e308])
def test_concat_refuses_what_has_no_one_text(operand):
    with pytest.raises(Refused) as refusal:
        atom_in_one_rule("concat", ("a", operand), ("left", "right"), True)
    assert refusal.value.code == "CONCAT_OPERAND"


def test_concat_refuses_a_text_beyond_the_limit():
    with pytest.raises(Refused) as refusal:
        atom_in_one_rule("concat", ("a" * 40_000, "b" * 40_000), ("left", "right"), True)
    assert refusal.value.code == "resource_limit"


@pytest.mark.parametrize(("name", "operands", "exact"), [
    ("add", (0.1, 0.2), False), ("add", (0.5, 0.25), True), ("div", (1, 3), False), ("div", (1, 4), True),
    ("mul", (0.1, 3), False), ("sqrt", (9007199136250224,), False), ("sqrt", (9007199136250225,), True), ("sqrt", (2,), False),
    ("pow", (2, -1), True), ("pow", (2, 0.5), False), ("pow", (4, 0.5), True), ("pow", (0.1, 2), False), ("pow", (3, -1), False),
    ("exp", (1,), False), ("exp", (0,), True), ("ln", (2,), False), ("ln", (1,), True), ("imod", (1, 0.1), True),
    ("mod", (7.5, 2), True), ("sub", (1, 0.9), True), ("sub", (1e-20, 1), False), ("mod", (-7, 3), True), ("imod", (-7, 3), True),
])
def test_a_rounded_result_is_known_to_be_rounded(name, operands, exact):
    assert is_exact(name, operands, compute(name, operands)) is exact


@pytest.mark.parametrize(("name", "operands", "left"), [
    ("mul", (TOP, 2), True), ("add", (TOP, 1), True), ("div", (1, 0), False), ("sqrt", (-1,), False), ("add", ("a", 1), False),
    ("exp", (710,), True), ("pow", (0, -1), False), ("pow", (2, 53), True), ("add", (1, 2), False), ("concat", ("a", 1.5), False),
])
def test_leaving_the_exact_range_is_told_from_having_no_meaning(name, operands, left):
    assert left_exact_range(name, operands) is left


def test_powers_and_logarithms_are_the_nearest_binary64_on_every_machine():
    """Duty: a replay on another machine computes the same digits; libraries of machines differ in the last one."""
    wide, draw = Context(prec=80), random.Random(5)
    for _ in range(300):
        base, power = 10 ** draw.uniform(-3, 6), draw.uniform(-6, 6)
        for name, operands, exact in (("exp", (power * 6,), wide.exp(Decimal(power * 6))), ("ln", (base,), wide.ln(Decimal(base))),
                                      ("pow", (base, power), wide.power(Decimal(base), Decimal(power)))):
            wanted = float(exact)
            if abs(wanted) <= 2**53 - 1 and not wanted.is_integer():
                assert builtins.compute(name, operands) == wanted, (name, operands)


@pytest.mark.parametrize("operands, wanted", [
    ((4, 0.5), 2), ((2, -1), 0.5), ((-2.5, 3), -15.625), ((-2, -3), -0.125), ((1.5, 2), 2.25), ((0.5, 1074), 5e-324),
    ((0, 0.5), 0), ((0.3, 0), 1), ((10, -400), None), ((1.0000001, 2**53 - 1), None), ((0.5, 1e15), None), ((-8, 0.5), None)])
def test_powers_at_their_edges(operands, wanted):
    found = builtins.compute("pow", tuple(int(o) if o == int(o) else o for o in operands))
    assert found == wanted and found.__class__ is wanted.__class__


def test_a_power_beside_a_midpoint_is_still_the_nearest():
    """1 ÷ (2^53 - 1) lies a part in 10^32 above the middle of two doubles; thirty digits did not see it."""
    assert builtins.compute("pow", (2**53 - 1, -1)) == 1 / (2**53 - 1)
