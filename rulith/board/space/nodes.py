"""Nodes: everything that lies on a reasoning board, one record type for all.

A node is immutable; a change puts another in its place. Facts that rules conclude are not
stored as nodes: the Program holds them, and `derived:` ids name them.

Source  the reasoning board, "Data model".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX
from rulith.board.shapes import TIERS
from rulith.rules.terms import Atom, Literal, Rule, Scalar, normalise

Mint = Callable[[str], str]     # a prefix in, a fresh id out

SOURCES = (None, "model", "system")
CREATORS = ("user", "agent", "tool", "system")

GOAL, AXIOM, FACT, HYPOTHESIS = "goal", "axiom", "fact", "hypothesis"
ACTION, RESULT, CONFLICT = "action", "result", "conflict"

OPEN, VERIFIED, SUPPORTED, REJECTED, ARCHIVED = "open", "verified", "supported", "rejected", "archived"
SETTLED_TYPES = (FACT, RESULT, AXIOM)
#  type           confidence, activation: shown, never used
SHOWN = {
    GOAL: (0.5, 1.0), AXIOM: (0.9, 0.9), FACT: (0.9, 0.5), HYPOTHESIS: (0.35, 0.5),
    ACTION: (0.5, 0.7), RESULT: (0.9, 0.5), CONFLICT: (0.5, 0.5),
}

DERIVED_PREFIX = "derived:"
DERIVED_SUMMARIES = ("Rule-derived fact:", "Derived fact:")
EFFECT_SUMMARY = "Action-effect fact:"
LEDGER_LABEL = "memory_event:"
FINDING = "finding"
HIDDEN = ""     # the predicate of premises that stand for an aggregate's members; no user can name it


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What an action needs and brings about. A `negated` effect consumes."""

    name: str
    preconditions: tuple[Literal, ...]
    effects: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """What one aggregate rule concluded, and the members it pinned.

    family      the aggregate's own id; all its groups share it
    group       the group's value, None where nothing is grouped
    value       None where no exact value exists
    head        the total as an atom, None with `value`
    rounded     the text of the computation that binary64 rounded, else None
    withdrawn   true once its source facts changed: it concludes nothing any more
    """

    family: str
    kind: str
    source: str
    value_arg: str
    into: str
    into_arg: str
    group_by: str
    group: Scalar | None
    members: tuple[Atom, ...]
    value: Scalar | None
    head: Atom | None
    rounded: str | None = None
    withdrawn: bool = False

    def concludes(self) -> Atom | Literal:
        """The total, or the pattern of one that has no value."""
        if self.head is not None:
            return self.head
        args: dict[str, Scalar] = {self.into_arg: "?value"}
        if self.group_by:
            args[self.group_by] = "?group"
        return Literal(self.into, tuple((name, args[name]) for name in sorted(args)))

    def text(self) -> str:
        over = f"{self.source}.{self.value_arg}" if self.value_arg and self.kind != "count" else self.source
        by = f" for {self.group_by}={self.group}" if self.group_by else ""
        state = " (withdrawn: its source facts changed; derive it again)" if self.withdrawn else ""
        return f"IF {self.kind} of {over}{by} over {len(self.members)} facts THEN {self.into}.{self.into_arg}{state}"


Semantic = Union[Atom, Literal, Rule, ActionSpec, Total, tuple[Literal, ...], None]


@dataclass(frozen=True, slots=True)
class Node:
    """One entry. `seq` grows with every node made: ascending `seq` is the board order.

    semantic  Atom (fact), Literal (hypothesis), Rule or Total (axiom), ActionSpec (action),
              tuple of Literal (goal), None (result, conflict)
    effect    a fact that an action produced
    grounds   of an effect: (premise id, tier) of what its preconditions rested on when it was applied
    """

    id: str
    seq: int
    type: str
    label: str
    summary: str
    status: str
    semantic: Semantic = None
    evidence: tuple[str, ...] = ()
    created_by: str = "agent"
    trust_tier: str | None = None
    confidence: float = 0.5
    activation: float = 0.5
    created_at: str = ""
    updated_at: str = ""
    effect: bool = False
    grounds: tuple[tuple[str, str], ...] = ()

    @property
    def is_active(self) -> bool:
        return self.status not in (ARCHIVED, REJECTED)

    @property
    def is_trusted(self) -> bool:
        return self.created_by in ("tool", "system")


@dataclass(frozen=True, slots=True)
class Contract:
    """A conclusion that must read its machine evidence: {head, requires[]}."""

    head: Literal
    requires: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Who sends a batch and what the host forbids it.

    source       "model" (an agent), "system" (a trusted host), or None for neither
    created_by   user, agent, tool or system
    trust_tier   kept on the facts of a batch created by a tool or the system
    attested     predicates that only machines attest (judged for source "model")
    contracts    guarded conclusions (judged for source "model")
    """

    source: str | None = "model"
    created_by: str = "agent"
    trust_tier: str | None = None
    attested: frozenset[str] = frozenset()
    contracts: tuple[Contract, ...] = ()

    def __post_init__(self) -> None:
        for name, value, known in (("source", self.source, SOURCES), ("createdBy", self.created_by, CREATORS),
                                   ("trustTier", self.trust_tier, (None, *TIERS))):
            if value not in known:
                raise Refused("OP_INVALID", where="options", problem=f"{name} {value!r} is none of {', '.join(map(str, known))}")

    @property
    def is_trusted(self) -> bool:
        return self.source == "system" or self.created_by in ("tool", "system")

    @property
    def is_model(self) -> bool:
        return self.source == "model"

    @property
    def kept_tier(self) -> str | None:
        return self.trust_tier if self.created_by in ("tool", "system") else None


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning of one operation (`index` None: of the batch as a whole)."""

    index: int | None
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class OperationResult:
    index: int
    op: str
    node_ids: tuple[str, ...]
    retracted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a fact holds, as a tree. `cut` marks a limit, never a leaf.

    marker   derived, effect or asserted
    via      the rule or action behind it, with its label
    rounded  the text of a computation that binary64 rounded, else None
    """

    atom: Atom
    node_id: str
    marker: str
    via: str | None = None
    via_label: str | None = None
    children: tuple["Proof", ...] = ()
    rounded: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class FactView:
    """One atom that holds, as the board shows it; `node` states it, None where a rule concludes it."""

    atom: Atom
    marker: str
    node: Node | None = field(default=None, compare=False)

    @property
    def node_id(self) -> str:
        """The id under which it is shown. Made when asked for: many derived facts appear at once."""
        return derived_id(self.atom) if self.node is None else self.node.id


def members_atom(node_id: str, total: Total) -> Atom:
    """The hidden premise that stands for an aggregate's members."""
    args: dict[str, Scalar] = {"family": total.family, "node": node_id, "value": total.value}
    if total.group_by:
        args = {**args, "group": total.group}
    return Atom(HIDDEN, tuple((name, args[name]) for name in sorted(args)))


def derived_id(atom: Atom) -> str:
    return DERIVED_PREFIX + atom.identity()


def _whole(text: str) -> int | float:
    """A whole number as it was before it was printed: beyond the exact range it was a float."""
    return int(text) if len(text) < 18 and abs(int(text)) <= INTEGER_MAX else float(text)


_decode = json.JSONDecoder(parse_int=_whole).raw_decode


def read_derived_id(node_id: str) -> Atom | None:
    """The atom that a `derived:` id names, or None where the text is no such id."""
    if not node_id.startswith(DERIVED_PREFIX):
        return None
    text = node_id[len(DERIVED_PREFIX):]
    negated = text.startswith("not:")
    predicate, at = _unescaped(text, 4 if negated else 0, "|")
    if at is None or predicate == "":
        return None
    args: dict[str, Any] = {}
    while at < len(text):
        name, after = _unescaped(text, at, ":")
        if after is None:
            return None
        try:
            args[name], at = _decode(text, after)
        except (ValueError, RecursionError):
            return None
        if at < len(text):
            if text[at] != "|":
                return None
            at += 1
    try:
        found = Atom(predicate, tuple((name, normalise(args[name])) for name in sorted(args)), negated)
    except Refused:
        return None
    return found if derived_id(found) == node_id else None


def _unescaped(text: str, start: int, stop: str) -> tuple[str, int | None]:
    """The name that begins at `start` and ends before `stop`, and the place after it."""
    found: list[str] = []
    at = start
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            found.append(text[at + 1])
            at += 2
        elif text[at] == stop:
            return "".join(found), at + 1
        else:
            found.append(text[at])
            at += 1
    return "", None


def shown_refs(refs: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(refs[:most])
    return f"{shown} and {len(refs) - most} more" if len(refs) > most else shown


def text_member(operation: Mapping, name: str, where: str) -> str | None:
    """A member that is text, or absent. An empty text counts as absent. Raises Refused OP_INVALID."""
    value = operation.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not is_text(value):
        raise Refused("OP_INVALID", where=where, problem=f"`{name}` is not a text")
    return value


def is_text(value: str) -> bool:
    """Can it be written as UTF-8? A lone surrogate cannot."""
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
