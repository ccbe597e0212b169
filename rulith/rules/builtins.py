"""Builtin predicates: comparison, exact-or-fail arithmetic, strings.

Each function takes values and returns the result, or None where the literal fails.
Whole numbers are exact or the literal fails; a fraction that binary64 cannot hold
stands rounded, and `is_exact` says so. Powers, logarithms and e^x are worked out in
decimal: the libraries of machines differ in their last digit, and a replay may not.
Knows nothing of rules or bindings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX
from rulith.rules.terms import Scalar, normalise

COMPARISONS: dict[str, tuple[str, ...]] = {
    "eq": ("left", "right"), "neq": ("left", "right"),
    "lt": ("left", "right"), "lte": ("left", "right"),
    "gt": ("left", "right"), "gte": ("left", "right"),
    "between": ("value", "low", "high"), "contains": ("left", "right"),
}
BINARY = ("add", "sub", "mul", "div", "mod", "idiv", "imod", "pow", "min", "max", "concat")
UNARY = ("neg", "abs", "sign", "sqrt", "ln", "exp")
ARITHMETIC: dict[str, tuple[str, ...]] = {
    **{name: ("left", "right") for name in BINARY}, **{name: ("left",) for name in UNARY},
}
BUILTINS: frozenset[str] = frozenset(COMPARISONS) | frozenset(ARITHMETIC)

# |base| >= 2 to a power beyond this is out of range; computing it exactly would only burn time.
_POWER_MAX = 1100
_WIDE = Context(prec=40, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, capitals=1, clamp=0, flags=[], traps=[])
_EXPONENT_MAX, _EXPONENT_MIN = 37, -746     # of e, beyond which the result is out of range, or too small to be told from 0


def is_number(value: object) -> bool:
    return value.__class__ is int or value.__class__ is float


def _settled(value: int | float) -> int | float | None:
    """`value` in its one form, or None outside the exact range (and for nan)."""
    if not -INTEGER_MAX <= value <= INTEGER_MAX:
        return None
    if value.__class__ is float and value.is_integer():
        return int(value)
    return value


def _nonzero(value: float, is_truly_zero: bool) -> int | float | None:
    """A result that only rounding made zero is no result."""
    return None if value == 0 and not is_truly_zero else _settled(value)


def add(left, right):
    return _settled(left + right)


def sub(left, right):
    return _settled(left - right)


def mul(left, right):
    return _nonzero(left * right, left == 0 or right == 0)


def div(left, right):
    if right == 0:
        return None
    try:
        quotient = left / right
    except OverflowError:
        return None
    return _nonzero(quotient, left == 0)


def mod(left, right):
    if right == 0:
        return None
    if left.__class__ is int and right.__class__ is int:
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return _settled(math.fmod(left, right))


def idiv(left, right):
    if right == 0:
        return None
    if left.__class__ is int and right.__class__ is int:
        return left // right
    return _settled(math.floor(Fraction(left) / Fraction(right)))


def imod(left, right):
    if right == 0:
        return None
    if left.__class__ is int and right.__class__ is int:
        return left % right
    exact = _exact_imod(left, right)
    return _nonzero(float(exact), exact == 0)


def _exact_imod(left, right) -> Fraction:
    return Fraction(left) - Fraction(right) * math.floor(Fraction(left) / Fraction(right))


def pow_(left, right):
    if left == 0 and right < 0:
        return None
    if left.__class__ is int and right.__class__ is int and right >= 0:
        if abs(left) > 1 and right > _POWER_MAX:
            return None
        if left in (-1, 0, 1):
            return 1 if right == 0 or left == 1 else (0 if left == 0 else (-1 if right % 2 else 1))
        return _settled(left**right)
    if left < 0 and right.__class__ is float:
        return None
    if left == 0 or right == 0:
        return 0 if right else 1
    found = _e_to(_WIDE.multiply(Decimal(right), _WIDE.ln(Decimal(abs(left)))))
    return -found if found is not None and left < 0 and right % 2 else found


def min_(left, right):
    return left if left <= right else right


def max_(left, right):
    return left if left >= right else right


def neg(left):
    return _settled(-left)


def abs_(left):
    return abs(left)


def sign(left):
    return (left > 0) - (left < 0)


def sqrt(left):
    if left < 0:
        return None
    if left.__class__ is int:
        root = math.isqrt(left)
        if root * root == left:
            return root
    return _settled(math.sqrt(left))


def ln(left):
    return _settled(float(_WIDE.ln(Decimal(left)))) if left > 0 else None


def exp(left):
    return _e_to(Decimal(left))


def _e_to(power: Decimal) -> int | float | None:
    if not _EXPONENT_MIN <= power <= _EXPONENT_MAX:
        return None
    return _nonzero(float(_WIDE.exp(power)), False)


def concat(left: Scalar, right: Scalar) -> Scalar:
    """Two parts joined, and normalised like every other scalar. Refuses CONCAT_OPERAND."""
    return normalise(concat_part(left) + concat_part(right), "a text made by concat")


def quiet_concat(left: Scalar, right: Scalar) -> Scalar | None:
    """`concat`, or None where it would refuse."""
    try:
        return concat(left, right)
    except Refused:
        return None


def concat_part(value: Scalar) -> str:
    if value.__class__ is str:
        return value
    if value.__class__ is int:
        return str(value)
    shown = ("true" if value else "false") if isinstance(value, bool) else value
    raise Refused("CONCAT_OPERAND", operand=shown)


def _on_exact(function: Callable) -> Callable:
    """No result from operands beyond the exact range: they may be rounded already."""

    def checked(left, right):
        if -INTEGER_MAX <= left <= INTEGER_MAX and -INTEGER_MAX <= right <= INTEGER_MAX:
            return function(left, right)
        return None

    def checked_one(left):
        return function(left) if -INTEGER_MAX <= left <= INTEGER_MAX else None

    return checked_one if function in (neg, abs_, sign, sqrt, ln, exp) else checked


BINARY_FUNCTIONS: dict[str, Callable] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "mod": mod, "idiv": idiv, "imod": imod,
    "pow": pow_, "min": min_, "max": max_,
}
UNARY_FUNCTIONS: dict[str, Callable] = {
    "neg": neg, "abs": abs_, "sign": sign, "sqrt": sqrt, "ln": ln, "exp": exp,
}


BINARY_FUNCTIONS = {name: _on_exact(function) for name, function in BINARY_FUNCTIONS.items()}
UNARY_FUNCTIONS = {name: _on_exact(function) for name, function in UNARY_FUNCTIONS.items()}


def compute(name: str, operands: tuple[Scalar, ...]) -> Scalar | None:
    """The result of an arithmetic builtin over `operands` in the order of ARITHMETIC, or None."""
    if name == "concat":
        return concat(*operands)
    if not all(map(is_number, operands)):
        return None
    return (BINARY_FUNCTIONS.get(name) or UNARY_FUNCTIONS[name])(*operands)


def same(left: Scalar, right: Scalar) -> bool:
    """Typed equality: booleans never equal numbers."""
    return (left.__class__ is bool) == (right.__class__ is bool) and left == right


def compare(name: str, operands: tuple[Scalar, ...]) -> bool:
    """Does a comparison builtin hold over `operands` in the order of COMPARISONS?"""
    if name == "eq":
        return same(*operands)
    if name == "neq":
        return not same(*operands)
    if name == "contains":
        return all(value.__class__ is str for value in operands) and operands[1] in operands[0]
    if not all(map(is_number, operands)):
        return False
    if name == "between":
        return operands[1] <= operands[0] <= operands[2]
    left, right = operands
    return {"lt": left < right, "lte": left <= right, "gt": left > right, "gte": left >= right}[name]


def left_exact_range(name: str, operands: tuple[Scalar, ...]) -> bool:
    """Did the literal fail because its result has no exact place, rather than no meaning?"""
    if name == "concat" or not all(map(is_number, operands)):
        return False
    meaningless = {
        "div": lambda a, b: b == 0, "mod": lambda a, b: b == 0, "idiv": lambda a, b: b == 0,
        "imod": lambda a, b: b == 0, "pow": lambda a, b: (a == 0 and b < 0) or (a < 0 and b.__class__ is float),
        "sqrt": lambda a: a < 0, "ln": lambda a: a <= 0,
    }.get(name)
    return compute(name, operands) is None and not (meaningless and meaningless(*operands))


def is_exact(name: str, operands: tuple[Scalar, ...], result: Scalar) -> bool:
    """Is `result` the exact value, not the nearest binary64?"""
    if name in ("concat", "min", "max", "neg", "abs", "sign", "idiv"):
        return True
    exact = [Fraction(value) for value in operands]
    found = Fraction(result)
    if name == "add":
        return found == exact[0] + exact[1]
    if name == "sub":
        return found == exact[0] - exact[1]
    if name == "mul":
        return found == exact[0] * exact[1]
    if name == "div":
        return found == exact[0] / exact[1]
    if name == "mod":
        rest = abs(exact[0]) % abs(exact[1])
        return found == (-rest if exact[0] < 0 else rest)
    if name == "imod":
        return found == _exact_imod(*operands)
    if name == "sqrt":
        return found * found == exact[0]
    if name == "ln":
        return exact[0] == 1
    if name == "exp":
        return exact[0] == 0
    return _is_exact_power(exact[0], exact[1], found)


def _is_exact_power(base: Fraction, power: Fraction, found: Fraction) -> bool:
    if base in (0, 1) or power == 0:
        return True
    if abs(power.numerator) > _POWER_MAX or abs(power.denominator) > _POWER_MAX:
        return False
    return found**power.denominator == base**power.numerator
