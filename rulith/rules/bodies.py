"""A rule body analysed once: variables and constants numbered, literals split into joins and guards.

A term is an int: n >= 0 is variable n, -1-k is constant k. Constants are parameters of
the generated code, so that rules of one shape share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulith.rules import safety
from rulith.rules.builtins import ARITHMETIC, BUILTINS, COMPARISONS
from rulith.rules.terms import Literal, Scalar, is_variable


@dataclass(frozen=True, slots=True)
class Join:
    """A positive or strongly negative literal. `slot` is its place in the support, from 1."""

    index: int
    slot: int
    terms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """A builtin or a naf literal: decided once its inputs are bound.

    terms   operands in the builtin's own order, or the naf literal's arguments by name
    result  the result term of arithmetic, else None
    """

    index: int
    name: str          # builtin name, or "naf"
    terms: tuple[int, ...]
    result: int | None
    needs: frozenset[int]

    @property
    def may_refuse(self) -> bool:
        """Evaluating it can refuse the batch, so it waits until everything else holds."""
        return self.name == "concat"


_SLOW = {"idiv": 100, "imod": 100, "exp": 60, "ln": 120, "pow": 180}     # some microseconds, where an operand is a fraction


class Body:
    """joins and guards of a list of literals; `given` variables are bound from outside.

    never   some literal can never be decided, so nothing ever matches
    code    how much there is to write of it: its literals and their terms
    weight  what a join step of this body counts for: the guards it may run cost about half a step each
    """

    __slots__ = ("literals", "variables", "constants", "joins", "guards", "never", "computes", "code", "weight", "_numbers", "_places")

    def __init__(self, literals: Sequence[Literal], given: Sequence[str] = ()) -> None:
        self.literals = tuple(literals)
        self.variables: list[str] = list(given)
        self.constants: list[Scalar] = []
        self._numbers: dict[str, int] = {name: number for number, name in enumerate(given)}
        self._places: dict[tuple, int] = {}
        order, stuck = safety.matching_order(self.literals, given)
        self.never = bool(stuck)
        self.joins: list[Join] = []
        self.guards: list[Guard] = []
        self.computes = False   # does any guard compute a value?
        self.code = 4       # a function without any
        self.weight = 1
        if self.never:
            return
        for index in order:
            literal = self.literals[index]
            if safety.joins(literal):
                self.joins.append(Join(index, len(self.joins) + 1, self.terms(literal)))
            else:
                self._guard(index, literal)
        self.code += sum([2 + len(part.terms) for part in (*self.joins, *self.guards)])
        self.weight += sum([_SLOW.get(guard.name, 1) for guard in self.guards]) // 2

    def _guard(self, index: int, literal: Literal) -> None:
        if literal.predicate not in BUILTINS:
            terms = self.terms(literal)
            self.guards.append(Guard(index, "naf", terms, None, frozenset(t for t in terms if t >= 0)))
            return
        arithmetic = literal.predicate in ARITHMETIC
        slots = ARITHMETIC[literal.predicate] if arithmetic else COMPARISONS[literal.predicate]
        operands = [literal.get(name) for name in slots]
        result = literal.get("result") if arithmetic else None
        if any(value is None for value in operands) or (arithmetic and result is None):
            self.never = True
            return
        terms = tuple(self.term(value) for value in operands)  # type: ignore[arg-type]
        self.computes = self.computes or arithmetic
        needs = frozenset(self.term(name) for name in safety.inputs(literal))
        self.guards.append(Guard(index, literal.predicate, terms, self.term(result) if arithmetic else None, needs))  # type: ignore[arg-type]

    def structure(self) -> tuple:
        """Joins and guards without names and values: what the code for a body depends on."""
        guards = tuple([(g.index, g.name, g.terms, g.result) for g in self.guards])
        return tuple([(j.index, j.terms) for j in self.joins]), guards, len(self.constants)

    def terms(self, literal: Literal) -> tuple[int, ...]:
        return tuple(self.term(value) for _, value in literal.args)

    def term(self, value: Scalar) -> int:
        if is_variable(value):
            number = self._numbers.get(value)  # type: ignore[arg-type]
            if number is None:
                number = self._numbers[value] = len(self.variables)  # type: ignore[index]
                self.variables.append(value)  # type: ignore[arg-type]
            return number
        typed = (value.__class__ is bool, value)
        place = self._places.get(typed)
        if place is None:
            place = self._places[typed] = len(self.constants)
            self.constants.append(value)
        return -1 - place
