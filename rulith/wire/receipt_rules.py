"""The rules of a Terminal Receipt, evaluated a second time: plainly, slowly, and sharing nothing with the engine.

A fact is (predicate, negated, ((name, value), …)), a predicate with its sign (predicate,
negated); `true` is ("true",), so that it is never 1. Results are exact fractions first, and
only then the nearest binary64; what has no exact place has no result.

Source  the rule language: docs/board.md, "Rules", "Builtins"; aggregates: docs/capability.md.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, islice

from rulith.base.canonical import canonical_text, number_text, utf16_order

LIMIT, TEXT_MAX, MATCHES_MAX, STEPS_MAX = 2**53 - 1, 65_536, 200_000, 3_000_000      # exact numbers; a text; ways of one body; facts looked at
NUMBER = re.compile(r"-?[0-9]{1,17}(\.[0-9]{1,20})?(e[+-][0-9]{1,3})?", re.ASCII)
OPERANDS = ("left", "right", "value", "low", "high")
ORDER: dict[str, Callable] = {
    "lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge, "between": lambda value, low, high: low <= value <= high}
COMPARE: dict[str, Callable] = {
    **ORDER, "eq": operator.eq, "neq": operator.ne, "contains": lambda text, part: isinstance(text, str) and isinstance(part, str) and part in text}
EXACT: dict[str, Callable] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "idiv": operator.floordiv, "imod": operator.mod,
    "mod": lambda x, y: x - y * int(x / y), "min": min, "max": max, "neg": operator.neg, "abs": abs, "sign": lambda x: (x > 0) - (x < 0),
    "pow": lambda x, y: x ** int(y)}
WIDE = Context(prec=40, Emin=-999_999, Emax=999_999, traps=[])         # in decimal: the libraries of machines differ in their last digit
ROUNDED: dict[str, Callable] = {
    "pow": lambda x, y: (-1 if x < 0 and y % 2 else 1) * float(WIDE.exp(WIDE.multiply(Decimal(y), WIDE.ln(Decimal(abs(x) if y == int(y) else x))))),
    "ln": lambda x: float(WIDE.ln(Decimal(x))), "exp": lambda x: float(WIDE.exp(Decimal(x)))}
BUILTINS = {*COMPARE, *EXACT, *ROUNDED, "sqrt", "concat"}


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= LIMIT


def read(value: object) -> object:
    """A JSON scalar in its one form: "5" and 5.0 are 5, "007" is text."""
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, str) and NUMBER.fullmatch(value) and is_number(float(value)) and number_text(float(value)) == value:
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() and is_number(value) else value


def fact_of(row: Mapping) -> tuple:
    return row["predicate"], bool(row.get("negated")), tuple(sorted((name, read(value)) for name, value in row.get("args", {}).items()))


def literal_of(row: Mapping, full: Mapping[str, str] | None = None) -> dict:
    """A literal of a rule; `full` gives the predicates that a Capability's aliases stand for."""
    name, naf, builtin = row["predicate"], bool(row.get("naf")), row["predicate"] in BUILTINS
    return {"sign": (name if full is None or builtin else full[name], bool(row.get("negated"))), "naf": naf, "joins": not builtin and not naf,
            "args": {name: read(value) for name, value in row.get("args", {}).items()}}


def computed(op: str, *operands) -> tuple[object, bool] | None:
    """(the result, whether it is exact), or None where there is none."""
    if op == "concat":
        good = all(isinstance(each, (str, int)) for each in operands) and sum(len(str(each)) for each in operands) <= TEXT_MAX
        return (read("".join(map(str, operands))), True) if good else None
    if op == "sqrt" or not all(map(is_number, operands)):
        return computed("pow", *operands, 0.5) if all(map(is_number, operands)) else None
    x, y = (*map(Fraction, operands), Fraction(1))[:2]
    try:
        if op in EXACT and (op != "pow" or (x.denominator == y.denominator == 1 and 0 <= y <= 1100)):
            found = EXACT[op](*map(Fraction, operands))
            value = read(float(found))
        else:
            value = read(ROUNDED[op](*operands))
            root = x in (0, 1) or (max(abs(y.numerator), y.denominator) <= 1100 and Fraction(value) ** y.denominator == x ** y.numerator)
            found = Fraction(value) if {"pow": root, "ln": x == 1, "exp": x == 0}[op] else None
        return (value, found == value) if is_number(value) and (value or found == 0) else None
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def free(term: object) -> bool:
    return isinstance(term, str) and term[:1] == "?" and term[1:].strip() != ""


def under(args: Mapping, bound: Mapping) -> tuple:
    """Arguments with their variables replaced, in order of name."""
    return tuple(sorted((name, bound.get(term, term)) for name, term in args.items()))


def fits(literal: Mapping, fact: tuple, bound: Mapping) -> dict | None:
    """`bound` with what the fact adds, or None where an argument that the literal names is lacking or differs."""
    there, found = dict(fact[2]), dict(bound)
    for name, term in literal["args"].items():
        if name not in there or (found.setdefault(term, there[name]) if free(term) else term) != there[name]:
            return None
    return found if fact[:2] == literal["sign"] else None


class World:
    """Rules, and the facts they are judged over; what it takes to look is bounded. A rule is {when, then}, an aggregate's {when: [], then, over}."""

    def __init__(self, rules: Iterable[Mapping], facts: Iterable[tuple]) -> None:
        self._rules, self._stated, self._known, self._left = list(rules), frozenset(facts), {}, STEPS_MAX

    def about(self, sign: tuple) -> Collection[tuple]:
        """All facts of one predicate, stated and concluded. Raises RecursionError where one depends on its own absence."""
        if sign not in self._known:
            need, active, held, new = {sign}, [], {}, self._stated
            while fresh := [rule for rule in self._rules if rule not in active and any(head["sign"] in need for head in rule["then"])]:
                active, need = active + fresh, need | {each["sign"] for rule in fresh for each in rule["when"] if each["joins"]}
            while new is not None:
                for fact in new:
                    held.setdefault(fact[:2], {})[fact] = None
                found = (each for rule in active for each, _, _ in self.concluded(rule, [held.get(one["sign"], {}) for one in rule["when"] if one["joins"]]))
                new = {fact for fact in found if fact not in held.get(fact[:2], ())} or None
            self._known[sign] = held.get(sign, {})
        return self._known[sign]

    def concluded(self, rule: Mapping, facts: Sequence[Collection[tuple]]) -> Iterator[tuple[tuple, bool, Collection[tuple]]]:
        """(fact, whether every sum was exact, members) of what the rule gives over the facts for each joined literal; of an aggregate, over all."""
        return self.totals(rule["over"]) if "over" in rule else (
            ((*head["sign"], under(head["args"], bound)), exact, ()) for bound, exact in self._matches(rule["when"], facts) for head in rule["then"])

    def _matches(self, body: Sequence[Mapping], facts: Sequence[Collection[tuple]]) -> Iterator[tuple[dict, bool]]:
        """(bindings, whether every sum was exact) of each way the body holds."""
        found, joined = [{}], [each for each in body if each["joins"]]
        for literal, rows in zip(joined, facts):
            tried, found = len(found) * len(rows), list(islice(
                (more for bound in found for fact in rows if (more := fits(literal, fact, bound)) is not None), MATCHES_MAX))
            self._left -= tried + 20 * len(found)        # a match costs more than a look
            if self._left < 0 or len(found) == MATCHES_MAX:
                raise ValueError("more follows than can be looked at")
        guards = [each for each in body if not each["joins"]]
        return ((bound, exact) for bound in found if len(joined) == len(facts) for exact in self._guarded([*guards], bound))

    def _guarded(self, waiting: list[Mapping], bound: dict) -> Iterator[bool]:
        """Decide builtins and absences as their values become known; where all hold, once, whether every sum was exact."""
        every = True
        while waiting:
            ready = next(each for each in waiting if not any(
                free(term) and term not in bound for name, term in each["args"].items() if name != "result" or each["naf"]))
            waiting.remove(ready)
            op, args, into = ready["sign"][0], dict(under(ready["args"], bound)), ready["args"].get("result")
            values = [args[name] for name in OPERANDS if name in args]
            if ready["naf"]:
                holds = all(fits({**ready, "args": args}, fact, {}) is None for fact in self.about(ready["sign"]))
            elif op in COMPARE:
                holds = (op not in ORDER or all(isinstance(each, (int, float)) for each in values)) and COMPARE[op](*values)
            else:
                value, exact = computed(op, *values) or (None, True)
                holds, every = value is not None and (bound.setdefault(into, value) if free(into) else into) == value, every and exact
            if not holds:
                return
        yield every

    def totals(self, over: Mapping) -> Iterator[tuple[tuple, bool, Collection[tuple]]]:
        """(fact, whether it is exact, members) of each group of an aggregate {kind?, source, into, where?, group_by?}, in full predicates."""
        kind, where, group, into, groups = over.get("kind") or "sum", over.get("where"), over.get("group_by"), over["into"], {}
        for fact in sorted(self.about((over["source"]["predicate"], False)), key=lambda fact: utf16_order(canonical_text(dict(fact[2])))):
            args = dict(fact[2])
            if (not where or args.get(where["arg"]) == read(where["equals"])) and (not group or group in args):
                groups.setdefault(args.get(group), {})[fact] = 1 if kind == "count" else args.get(over["source"].get("valueArg"))
        for key, members in groups.items():
            values, share = [value for value in members.values() if is_number(value)], len(members) if kind == "avg" else 1
            exact, steps = {"min": min, "max": max}.get(kind, sum)(map(Fraction, values or [0])) / Fraction(share), list(accumulate(values))
            folded = not (kind in ("min", "max") or all(isinstance(value, int) for value in values))       # with fractions: binary64, in this order
            value = read(float(exact if not folded else steps[-1] / share if all(map(is_number, steps)) else 2 * LIMIT))
            if len(values) == len(members) and is_number(value) and (value or not exact):
                yield (into["predicate"], False, under({into["valueArg"]: value, **({group: key} if group else {})}, {})), Fraction(value) == exact, members
