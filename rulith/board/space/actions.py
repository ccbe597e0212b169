"""Actions: how one binds, what it would bring about, and applying it, all or nothing.

An action has no parameters: its preconditions bind it, the first match in matching order
is taken, and the number of matches says whether there was a choice. Effects run in order
on what is stated; what follows is judged once, after all of them, so that a simulation and
an application never disagree.

Refuses to know who asks; a batch that defines an action was judged when it came.

Source  the reasoning board, "Actions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from rulith.base.canonical import canonical_bytes
from rulith.base.errors import Refused
from rulith.base.limits import ACTION_CANDIDATES_MAX, SPACE_EVIDENCE_MAX, SPACE_TEXT_BYTES_MAX
from rulith.board.space import gates, hints, tiers
from rulith.board.space.change import Change
from rulith.board.space.nodes import (
    ACTION, EFFECT_SUMMARY, FACT, REJECTED, RESULT, ActionSpec, Mint, Node, Total, shown_refs,
)
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Rule, Scalar, scalar_text

if TYPE_CHECKING:
    from rulith.board.space.space import Space

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_SUM = 1 << 256


@dataclass(frozen=True, slots=True)
class Match:
    """How an action binds as things stand.

    binding      variable (without `?`) -> value: of the first match, else of what matched before it failed
    candidates   distinct matches, 0 where it fails; ACTION_CANDIDATES_MAX stands for that many or more
    failed       the first precondition in matching order that leaves no match, known values filled in
    unsatisfied  preconditions that no fact meets by itself
    """

    binding: dict[str, Scalar]
    candidates: int
    failed: Literal | None = None
    unsatisfied: tuple[Literal, ...] = ()

    @property
    def holds(self) -> bool:
        return self.failed is None


@dataclass(frozen=True, slots=True)
class Performed:
    """What the effects did to what is stated, in order."""

    produced: tuple[tuple[Atom, str], ...]     # atom, node id
    consumed: tuple[Atom, ...]
    archived: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Application:
    """The answer to applying an action. Where `applied` is false nothing was written."""

    action_id: str
    name: str
    applied: bool
    match: Match
    produced: tuple[Atom, ...] = ()
    consumed: tuple[Atom, ...] = ()
    added_ids: tuple[str, ...] = ()
    archived_ids: tuple[str, ...] = ()
    event_id: str | None = None
    satisfied_goals: tuple[str, ...] = ()
    derived_added: int = 0
    derived_removed: int = 0


@dataclass(frozen=True, slots=True)
class Simulation:
    """What applying an action would do.

    would_satisfy    ids of goals that would hold
    hypotheses       hypotheses whose verdict would move: id -> stored status
    contradictions   the positive atom of each pair that would stand
    protected        why a committed entry forbids it, else None
    revision         of the board as it is, to be pinned when applying
    """

    action_id: str
    applicable: bool
    match: Match
    revision: str
    would_assert: tuple[Atom, ...] = ()
    would_delete: tuple[Atom, ...] = ()
    new_derived: tuple[Atom, ...] = ()
    lost_derived: tuple[Atom, ...] = ()
    would_satisfy: tuple[str, ...] = ()
    hypotheses: tuple[tuple[str, str], ...] = ()
    contradictions: tuple[Atom, ...] = ()
    protected: str | None = None


# --- finding and binding -----------------------------------------------------------------


def find_action(space: Space, node_id: object) -> Node:
    """The action with this id, ready to be applied. Refuses NODE_NOT_FOUND, NODE_NOT_ACTION."""
    if not isinstance(node_id, str) or not node_id:
        raise Refused("NODE_ID_REQUIRED", where="actionNodeId")
    node = space.node(node_id)
    if node.type != ACTION:
        raise Refused("NODE_NOT_ACTION", id=node_id, problem=f"it is a node of type {node.type}")
    if not space.usable(node_id):
        raise Refused("NODE_NOT_ACTION", id=node_id, problem="it, or something it rests on, is archived")
    return node


def action_named(space: Space, name: str) -> Node:
    """An action by its id, or by its name where that is clear. Refuses NODE_NOT_FOUND, NODE_NOT_ACTION, ACTION_AMBIGUOUS."""
    if name in space.nodes:
        return find_action(space, name)
    named = [node for node in space.of_type(ACTION) if spec_of(node).name == name]
    if len(named) > 1:
        raise Refused("ACTION_AMBIGUOUS", count=len(named), name=name, ids=shown_refs([node.id for node in named]))
    return named[0] if named else find_action(space, name)


def spec_of(node: Node) -> ActionSpec:
    assert isinstance(node.semantic, ActionSpec)
    return node.semantic


def match_of(space: Space, preconditions: Sequence[Literal]) -> Match:
    """How the preconditions bind now. Refuses CONCAT_OPERAND, JOIN_EXPLOSION."""
    if not preconditions:
        return Match({}, 1)
    found = space.program.solve(preconditions, limit=ACTION_CANDIDATES_MAX)
    first = next(found, None)
    if first is not None:
        return Match(_plain(first), 1 + sum(1 for _ in found))
    failed, bound = hints.first_failing(space, preconditions)
    unsatisfied = tuple(literal for literal in preconditions if joins(literal) and not space.held(literal))
    return Match(_plain(bound), 0, failed, unsatisfied)


def first_binding(space: Space, preconditions: Sequence[Literal]) -> dict[str, Scalar] | None:
    """Only the binding that would be taken, variables with their `?`: what a search asks for."""
    return next(space.program.solve(preconditions, limit=1), None) if preconditions else {}


def _plain(bound: dict[str, Scalar]) -> dict[str, Scalar]:
    return {name[1:]: value for name, value in bound.items()}


def _bound(match: Match) -> dict[str, Scalar]:
    return {f"?{name}": value for name, value in match.binding.items()}


# --- performing --------------------------------------------------------------------------


def perform(change: Change, node: Node, bound: dict[str, Scalar]) -> Performed:
    """Run the effects under a binding, in order, and settle what follows.

    Refuses BASELINE_PROTECTED and what a closing refuses; then only leaving the change is meaningful.
    """
    space, spec = change.space, spec_of(node)
    effects = [(effect.negated, Atom(effect.predicate, effect.under(bound).args)) for effect in spec.effects]
    gates.check_consumed(space, [atom for consumes, atom in effects if consumes], f"action {node.id}")
    grounds = _grounds(space, node, spec, bound) if any(not consumes for consumes, _ in effects) else ()
    produced, consumed, archived = [], [], []
    for consumes, atom in effects:
        if consumes:
            ids = sorted(space.supports.get(atom, ()), key=lambda i: space.nodes[i].seq)
            for node_id in ids:
                change.archive(node_id, f" [consumed by action {node.id}]")
            if ids:
                consumed.append(atom)
                archived += ids
        elif atom not in space.supports:
            # An agent's action speaks for the agent: its products are no trusted statements.
            made = change.add(FACT, atom, label=atom.text(), summary=f"{EFFECT_SUMMARY} {atom.text()}", evidence=(node.id,),
                              created_by=node.created_by, activation=0.8, effect=True, grounds=grounds)
            produced.append((atom, made.id))
    change.settle()
    return Performed(tuple(produced), tuple(consumed), tuple(archived))


def _grounds(space: Space, node: Node, spec: ActionSpec, bound: dict[str, Scalar]) -> tuple[tuple[str, str], ...]:
    """What the facts that met the preconditions rest on; an action that needs no fact rests on its author."""
    met = [next(space.program.matching(literal.under(bound))) for literal in spec.preconditions if joins(literal)]
    found = tiers.grounds_of(space, met)
    if not found and not met:
        return ((node.id, tiers.ATTESTED if node.is_trusted else tiers.ASSERTED),)
    return found[:SPACE_EVIDENCE_MAX]


def record_event(change: Change, node: Node, bound: dict[str, Scalar], done: Performed) -> Node:
    """The entry that an application leaves, whatever becomes of its products."""
    parts = [f"consumed: {_listed(done.consumed)}", f"produced: {_listed([atom for atom, _ in done.produced])}"]
    if bound:
        parts.append("binding: " + ", ".join(f"{name}={scalar_text(value)}" for name, value in bound.items()))
    if done.archived:
        parts.append(f"archived: {', '.join(done.archived)}")
    return change.add(RESULT, None, label=f"applied action: {spec_of(node).name}",
                      summary="; ".join(parts)[:SPACE_TEXT_BYTES_MAX], evidence=(node.id,), created_by="system")


def _listed(atoms: Sequence[Atom]) -> str:
    return ", ".join(atom.text() for atom in atoms) or "nothing"


def apply_action(space: Space, node_id: object, expected_revision: str | None = None, *, at: str, mint: Mint) -> Application:
    """Apply one action. Failing preconditions are an answer, not a refusal.

    Refuses NODE_NOT_FOUND, NODE_NOT_ACTION, STALE_REVISION, BASELINE_PROTECTED, and what a
    closing refuses, with the board as it was.
    """
    node = find_action(space, node_id)
    check_revision(space, expected_revision)
    with space.change(at, mint) as change:
        return apply_within(change, node)


def apply_within(change: Change, node: Node) -> Application:
    """The same in an open change."""
    space, spec = change.space, spec_of(node)
    match = match_of(space, spec.preconditions)
    return apply_match(change, node, match) if match.holds else Application(node.id, spec.name, False, match)


def apply_match(change: Change, node: Node, match: Match) -> Application:
    """The same under a match that was chosen."""
    space, spec = change.space, spec_of(node)
    bound, before = _bound(match), len(change.deltas)
    done = perform(change, node, bound)
    event = record_event(change, node, bound, done)
    change.settle()
    deltas = change.deltas[before:]
    return Application(
        node.id, spec.name, True, match, tuple(atom for atom, _ in done.produced), done.consumed,
        tuple(made for _, made in done.produced), done.archived, event.id, tuple(space.satisfied_goals()),
        sum(delta.added_count for delta in deltas), sum(delta.removed_count for delta in deltas))


def simulate_action(space: Space, node_id: object) -> Simulation:
    """What `apply_action` would do now; nothing is written. Refuses as it would, a protected baseline aside."""
    node, now = find_action(space, node_id), revision(space)
    with space.trial("", trial_mint(space)) as change:
        match = match_of(space, spec_of(node).preconditions)
        if not match.holds:
            return Simulation(node.id, False, match, now)
        try:
            done = perform(change, node, _bound(match))
        except Refused as refused:
            if refused.code != "BASELINE_PROTECTED":
                raise
            return Simulation(node.id, False, match, now, protected=str(refused))
        added, lost = change.derived_changes()
        return Simulation(
            node.id, True, match, now, tuple(atom for atom, _ in done.produced), done.consumed, tuple(added), tuple(lost),
            tuple(space.satisfied_goals()), tuple(change.verdicts.items()), tuple(space.program.contradictions()))


def trial_mint(space: Space) -> Mint:
    """Ids for what is taken back again; none of them is in use."""
    numbers = count(1)

    def mint(prefix: str) -> str:
        return next(made for made in (f"{prefix}trial{number}" for number in numbers) if made not in space.nodes)

    return mint


def verdict_text(status: str) -> str:
    """A hypothesis's stored status as the board names it."""
    return "refuted" if status == REJECTED else status


# --- revisions ---------------------------------------------------------------------------


def revision(space: Space) -> str:
    """`rev1:` and 8 hex digits over id, type, status and payload of every usable stored node.

    Equal content has an equal revision, in whatever order it came about.
    """
    total = 0
    prints = space.prints
    if len(prints) > 2 * len(space.nodes) + 1_024:
        prints.clear()      # mostly of nodes that are gone
    for node_id, node in space.nodes.items():
        if node_id in space.unusable:
            continue
        known = prints.get(node_id)
        if known is None or known[0] is not node:
            known = prints[node_id] = node, int.from_bytes(sha256(canonical_bytes(_content(node))).digest(), "big")
        total += known[1]
    digest = _FNV_OFFSET
    for byte in (total % _SUM).to_bytes(32, "big"):
        digest = (digest ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return f"rev1:{digest:08x}"


def _content(node: Node) -> list[Any]:
    semantic = node.semantic
    payload: Any = None
    if isinstance(semantic, (Atom, Literal)):
        payload = semantic.json()
    elif isinstance(semantic, Rule):
        payload = [[literal.json() for literal in semantic.when], [literal.json() for literal in semantic.then]]
    elif isinstance(semantic, ActionSpec):
        payload = [semantic.name, [each.json() for each in semantic.preconditions], [each.json() for each in semantic.effects]]
    elif isinstance(semantic, Total):
        payload = [semantic.text(), semantic.family, semantic.value, semantic.withdrawn, [atom.identity() for atom in semantic.members]]
    elif isinstance(semantic, tuple):
        payload = [literal.json() for literal in semantic]
    return [node.id, node.type, node.status, payload]


def check_revision(space: Space, expected: str | None) -> None:
    """Refuse STALE_REVISION where the board is not the one that was seen."""
    if expected is not None and expected != (now := revision(space)):
        raise Refused("STALE_REVISION", now=now, expected=expected)


def candidates_of(space: Space, node_id: object, most: int) -> list[dict[str, Scalar]]:
    """Up to `most` bindings of an action, the one that would be taken first."""
    preconditions = spec_of(find_action(space, node_id)).preconditions
    return [_plain(bound) for bound in islice(space.program.solve(preconditions, limit=most), most)] if preconditions else [{}]
