"""Tiers: how strong the ground is that a fact stands on, and where a policy asks for more.

A conclusion is no stronger than its weakest premise; the answer names the witness. An
effect stands on what its action's preconditions stood on. A computation that binary64
rounded caps its conclusion at *approximate*, and is its own witness.

Source  the reasoning board, "Trust tiers"; design, "Honest fractions".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.board.shapes import TIER_RANK, TIERS
from rulith.board.space.nodes import Node, derived_id
from rulith.rules.terms import Atom, Scalar

if TYPE_CHECKING:
    from rulith.board.space.space import Space

ASSERTED, ATTESTED, APPROXIMATE = "asserted", "attested", "approximate"
#  what is checked against a floor: predicate -> the argument that names its scope
CHECKED = {"acceptance_met": "node", "slot_met": "slot", "constraint_met": "node"}
GLOBAL_SCOPES = ("*", "task")


@dataclass(frozen=True, slots=True)
class Grounding:
    """The premises a fact rests on, by tier, strongest first; each premise once.

    A fact without premises is *attested*: nothing weaker stands behind it.
    """

    by_tier: Mapping[str, tuple[str, ...]]

    @property
    def weakest(self) -> str:
        return max(self.by_tier, key=lambda tier: TIER_RANK[tier], default=ATTESTED)

    @property
    def witnesses(self) -> tuple[str, ...]:
        return self.by_tier.get(self.weakest, ())

    @property
    def is_ungrounded(self) -> bool:
        """Is every premise a bare claim?"""
        return set(self.by_tier) == {ASSERTED}

    def json(self) -> dict[str, Any]:
        return {"weakestTier": self.weakest, "weakestPremises": list(self.witnesses),
                "premisesByTier": {tier: list(ids) for tier, ids in self.by_tier.items()}, "ungrounded": self.is_ungrounded}


def tier_of(node: Node, attested: frozenset[str] = frozenset()) -> str:
    """The tier of a stated fact: what its batch gave it, else who stated it, else whether its predicate is attested."""
    if node.trust_tier is not None:
        return node.trust_tier
    if node.is_trusted:
        return ATTESTED
    return ATTESTED if node.semantic.predicate in attested else ASSERTED  # type: ignore[union-attr]


def read_tier(tier: object) -> str:
    """Raises Refused OP_INVALID for what is no tier."""
    if tier not in TIER_RANK:
        raise Refused("OP_INVALID", where="trustTier", problem=f"{tier!r} is none of {', '.join(TIERS)}")
    return tier  # type: ignore[return-value]


def grounding(space: Space, atom: Atom, attested: frozenset[str] = frozenset()) -> Grounding:
    """What a fact that holds rests on. Refuses ATOM_ABSENT.

    Where a fact is stated and derived as well, its strongest statement counts if that is
    no weaker than the weakest premise of the derivation.
    """
    if not space.program.holds(atom):
        raise Refused("ATOM_ABSENT", atom=atom.text())
    walk = _Walk(space, attested)
    found: dict[str, dict[str, None]] = {}
    for premise_id, tier in walk.premises(atom):
        found.setdefault(tier, {})[premise_id] = None
    return Grounding({tier: tuple(found[tier]) for tier in TIERS if tier in found})


class _Walk:
    """One walk down from a fact. The weakest tier of every fact met is worked out first, each once."""

    def __init__(self, space: Space, attested: frozenset[str]) -> None:
        self.space = space
        self.attested = attested
        self.floors: dict[Atom, int] = {}   # rank of the weakest premise

    def premises(self, atom: Atom) -> Iterator[tuple[str, str]]:
        """(premise id, tier) in the order met, repetitions included."""
        self._floor(atom)
        seen, work = {atom}, [atom]
        while work:
            current = work.pop()
            stated = self._chosen(current)
            if stated is not None:
                yield from self._of_node(stated)
                continue
            support = self.space.support(current)
            assert support is not None
            if support.rounded is not None:
                yield derived_id(current), APPROXIMATE
            fresh = [premise for premise in dict.fromkeys(support.premises) if premise not in seen]
            seen.update(fresh)
            work.extend(reversed(fresh))

    def _of_node(self, node: Node) -> Iterator[tuple[str, str]]:
        if node.effect and node.grounds:
            yield from node.grounds
        elif node.effect:       # an action that needs nothing vouches by whoever wrote it
            action = self.space.nodes.get(node.evidence[0]) if node.evidence else None
            yield node.id, ATTESTED if action is not None and action.is_trusted else ASSERTED
        else:
            yield node.id, tier_of(node, self.attested)

    def _rank(self, node: Node) -> int:
        return max((TIER_RANK[tier] for _, tier in self._of_node(node)), default=TIER_RANK[ATTESTED])

    def _chosen(self, atom: Atom) -> Node | None:
        """The statement that counts for an atom, or None where its derivation does."""
        stated = self.space.supporting(atom)
        if not stated:
            return None
        best = min(stated, key=lambda node: (self._rank(node), node.seq))
        if not self.space.program.is_derived(atom):
            return best
        derived = self.floors.get(atom)
        return best if derived is not None and self._rank(best) <= derived else None

    def _floor(self, top: Atom) -> None:
        """Fill `floors` for every derived fact below `top`."""
        work = [top]
        while work:
            atom = work[-1]
            support = self.space.support(atom)
            if atom in self.floors or support is None:
                work.pop()
                continue
            unknown = [premise for premise in support.premises
                       if premise not in self.floors and self.space.program.is_derived(premise)]
            if unknown:
                work.extend(unknown)
                continue
            ranks = [self._standing(premise) for premise in support.premises]
            if support.rounded is not None:
                ranks.append(TIER_RANK[APPROXIMATE])
            self.floors[atom] = max(ranks, default=TIER_RANK[ATTESTED])
            work.pop()

    def _standing(self, premise: Atom) -> int:
        """The rank of a premise: its best statement, or its derivation where that is stronger."""
        ranks = [self._rank(node) for node in self.space.supporting(premise)]
        if premise in self.floors:
            ranks.append(self.floors[premise])
        return min(ranks)


def grounds_of(space: Space, atoms: Iterator[Atom] | list[Atom], attested: frozenset[str] = frozenset()) -> tuple[tuple[str, str], ...]:
    """(premise id, tier) of what some facts rest on now: what an action's effects stand on from then on."""
    found: dict[tuple[str, str], None] = {}
    for atom in atoms:
        for tier, ids in grounding(space, atom, attested).by_tier.items():
            found.update(dict.fromkeys((premise_id, tier) for premise_id in ids))
    return tuple(found)


# --- inversions --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inversion:
    """A satisfied obligation that stands on weaker ground than its policy asks for."""

    witness: str
    scope: str
    required: str
    actual: str
    source: str

    def json(self) -> dict[str, str]:
        return {"witness": self.witness, "scope": self.scope, "required": self.required, "actual": self.actual, "source": self.source}


def inversions(space: Space, attested: frozenset[str] = frozenset()) -> list[Inversion]:
    """Every satisfied obligation below its floor, in board order of what satisfies it."""
    floors = _floors(space)
    human = {tag for tag, tier in _policies(space, "constraint_tier", "tag") if tier == "human"}
    found: list[Inversion] = []
    if not floors and not human:
        return found
    for view in space.facts():
        scope_arg = CHECKED.get(view.atom.predicate)
        if scope_arg is None or view.atom.negated:
            continue
        args = view.atom.arguments
        if scope_arg not in args:
            continue
        scope, tag = _text(args[scope_arg]), args.get("tag")
        shown = f"{scope}/{_text(tag)}" if view.atom.predicate == "constraint_met" and tag is not None else scope
        actual = grounding(space, view.atom, attested).weakest
        if view.atom.predicate == "constraint_met" and tag in human and TIER_RANK[actual] > TIER_RANK[ATTESTED]:
            found.append(Inversion(view.node_id, shown, ATTESTED, actual, "human_constraint"))
        required = _required(floors, shown)
        if required is not None and TIER_RANK[actual] > TIER_RANK[required]:
            found.append(Inversion(view.node_id, shown, required, actual, "required_floor"))
    return found


def _floors(space: Space) -> dict[str, str]:
    """The strictest tier demanded per scope."""
    found: dict[str, str] = {}
    for scope, tier in _policies(space, "required_floor", "scope"):
        if tier in TIER_RANK:
            known = found.get(_text(scope))
            found[_text(scope)] = tier if known is None or TIER_RANK[tier] < TIER_RANK[known] else known
    return found


def _required(floors: Mapping[str, str], scope: str) -> str | None:
    """The tier a scope's own policy demands; without one, the strictest global policy."""
    if scope in floors:
        return floors[scope]
    return min((floors[name] for name in GLOBAL_SCOPES if name in floors), key=lambda tier: TIER_RANK[tier], default=None)


def _policies(space: Space, predicate: str, key: str) -> Iterator[tuple[Scalar, str]]:
    """(key value, tier) of policy facts that count: trusted ones, or of tier verified or attested."""
    for node in space.stated_facts(predicate):
        arguments = node.semantic.arguments  # type: ignore[union-attr]
        counts = node.is_trusted or (node.trust_tier is not None and TIER_RANK[node.trust_tier] <= TIER_RANK[ATTESTED])
        if counts and not node.semantic.negated and key in arguments and isinstance(arguments.get("tier"), str):  # type: ignore[union-attr]
            yield arguments[key], arguments["tier"]  # type: ignore[misc]


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else str(value)
