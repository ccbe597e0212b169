"""Vocabulary: which argument names each predicate goes with.

The first ground atom makes a signature firm; patterns before it make it provisional and
may extend it. A mismatch is worth a warning, never a refusal.

Source  the reasoning board, "Vocabulary".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rulith.board.space.nodes import ActionSpec, Node, Total
from rulith.rules.builtins import BUILTINS
from rulith.rules.terms import Atom, Literal, Rule, is_variable


@dataclass(frozen=True, slots=True)
class Signature:
    """`names` ascending; `by` are the nodes that made it what it is, None for facts that no node stands for."""

    names: tuple[str, ...]
    firm: bool
    by: tuple[str, ...] = ()


def patterns_of(node: Node) -> list[Literal | Atom]:
    """The atoms a node speaks of, facts aside, builtins aside, in reading order."""
    semantic = node.semantic
    if isinstance(semantic, Literal):
        found: Iterable[Literal | Atom] = (semantic,)
    elif isinstance(semantic, Rule):
        found = (*semantic.when, *semantic.then)
    elif isinstance(semantic, Total):
        found = (semantic.concludes(),)
    elif isinstance(semantic, ActionSpec):
        found = (*semantic.preconditions, *semantic.effects)
    elif isinstance(semantic, tuple):
        found = semantic
    else:
        found = ()
    return [literal for literal in found if literal.predicate not in BUILTINS]


def spoken_by(node: Node) -> list[Literal | Atom]:
    """The same with the atom that a fact states."""
    return [node.semantic] if isinstance(node.semantic, Atom) else patterns_of(node)


def is_ground(pattern: Literal | Atom) -> bool:
    return not any(is_variable(value) for _, value in pattern.args)


def names_of(pattern: Literal | Atom) -> tuple[str, ...]:
    return tuple([name for name, _ in pattern.args])


def grown(known: Signature | None, names: tuple[str, ...], ground: bool, node_id: str) -> Signature:
    """The signature after one more atom was seen."""
    if known is None:
        return Signature(names, ground, (node_id,))
    if known.firm:
        return known
    contains = set(known.names) <= set(names)
    if ground and contains:
        return Signature(names, True, (*known.by, node_id))
    if not ground and contains and len(names) > len(known.names):
        return Signature(names, False, (*known.by, node_id))
    return known


def mismatch(known: Signature | None, pattern: Literal | Atom) -> str | None:
    """What is odd about an atom's argument names, as text, or None."""
    if known is None:
        return None
    names, ground = set(names_of(pattern)), is_ground(pattern)
    have = set(known.names)
    if ground:
        fits = names == have if known.firm else have <= names
    else:
        fits = names <= have or (not known.firm and have <= names)
    if fits:
        return None
    return (f"{pattern.predicate}({', '.join(sorted(names))}) differs from {signature_text(pattern.predicate, known.names)}, "
            f"which the board knows; a body literal matches only facts that have all the arguments it names")


def signature_text(predicate: str, names: Iterable[str]) -> str:
    return f"{predicate}({', '.join(names)})"
