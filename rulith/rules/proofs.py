"""What a Program answers about its conclusions: supports, proof trees, what is lacking.

Shapes only; program.py and explain.py fill them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rulith.rules.terms import Atom, Literal, Scalar


@dataclass(frozen=True, slots=True)
class Computation:
    """One arithmetic literal as it was evaluated. `exact` is false where binary64 rounded."""

    op: str
    operands: tuple[tuple[str, Scalar], ...]
    result: Scalar
    exact: bool

    def text(self) -> str:
        parts = ", ".join(f"{name}={value}" for name, value in self.operands)
        return f"{self.op}({parts}) = {self.result}"


@dataclass(frozen=True, slots=True)
class Support:
    """Why a derived fact holds: one rule, the facts it matched in body order, what it computed.

    approximate   the text of the first computation that rounded, else None
    """

    rule_id: str
    premises: tuple[Atom, ...]
    computed: tuple[Computation, ...]
    approximate: str | None


@dataclass(frozen=True, slots=True)
class Node:
    """A proof tree. A leaf without support is a base fact; `cut` marks a limit, not a leaf."""

    atom: Atom
    support: Support | None
    children: tuple["Node", ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """A body literal that does not hold under the bindings found so far.

    reason    "absent" (no such fact), "present" (for naf: there is one), "comparison_false",
              "arithmetic_exact" (the result has no exact place), "no_result", "result_differs"
    operands  of a builtin, by argument name
    """

    literal: Literal
    reason: str
    operands: tuple[tuple[str, Scalar], ...] = ()


@dataclass(frozen=True, slots=True)
class Lack:
    """A rule that could conclude the pattern, and what keeps it from doing so.

    satisfied   body literals that hold, with the values they found
    below       for missing literals that rules could conclude: their own lacks
    """

    rule_id: str
    label: str
    head: Literal
    bindings: tuple[tuple[str, Scalar], ...]
    satisfied: tuple[Literal, ...]
    missing: tuple[Missing, ...]
    below: tuple["Lack", ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionalConflict:
    """Facts of `predicate` that agree on `key` and differ elsewhere."""

    predicate: str
    key: tuple[str, ...]
    values: tuple[tuple[str, Scalar], ...]
    atoms: tuple[Atom, ...]
