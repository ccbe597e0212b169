"""Hints: what would make an open goal hold: facts its rules lack, actions that produce it.

`needs via` looks one rule deep; where no fact is missing it names the guard that fails.
`producible via` looks at what actions bring about. Hints never refuse a batch: a
precondition that cannot be evaluated counts as blocked.

Source  the reasoning board, "Goals, hypotheses, hints".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from rulith.base.errors import Refused
from rulith.board.space.nodes import ACTION, HIDDEN, ActionSpec, Node, Total
from rulith.rules.builtins import same
from rulith.rules.explain import lack_text
from rulith.rules.proofs import Lack, Missing
from rulith.rules.safety import joins, matching_order
from rulith.rules.terms import Literal, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.space import Space

SHOWN_MAX = 3       # of each kind, in texts


@dataclass(frozen=True, slots=True)
class Need:
    """A rule that would conclude the atom, and what it lacks.

    missing   positive literals that no fact matches, known values filled in
    failing   guards and absences that stand in the way where no fact is missing
    have      positive literals that hold
    text      of the failing guard, naming operands where a result leaves the exact range
    """

    rule_id: str
    label: str
    missing: tuple[Literal, ...]
    have: tuple[Literal, ...]
    failing: tuple[Missing, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Producer:
    """An action that produces the atom. `blocked_on` is its first precondition that does not hold."""

    action_id: str
    name: str
    produces: Literal
    applicable: bool
    blocked_on: Literal | None = None


def needs_via(space: Space, desired: Iterable[Literal]) -> list[Need]:
    """For each desired atom that does not hold: the rules that could conclude it, least missing first."""
    found: list[Need] = []
    for wanted in desired:
        if not space.held(wanted):
            found += _needs(space, wanted)
    found.sort(key=lambda need: (len(need.missing) or len(need.failing)))
    return found


def _needs(space: Space, wanted: Literal) -> list[Need]:
    found = []
    for lack in space.program.why_not(wanted):
        if wanted.is_ground() and lack.head.names != wanted.names:
            continue        # a ground goal is met by its very atom only
        if any(literal.predicate == HIDDEN for literal in (*lack.satisfied, *(m.literal for m in lack.missing))):
            continue
        found.append(_need(lack))
    return found + _stale_totals(space, wanted)


def _need(lack: Lack) -> Need:
    missing = tuple(m.literal for m in lack.missing if m.reason == "absent" and not m.literal.negated)
    have = tuple(literal for literal in lack.satisfied if joins(literal) and not literal.negated)
    failing = tuple(m for m in lack.missing if m.reason != "absent" or m.literal.negated)
    return Need(lack.rule_id, lack.label, missing, have, () if missing else failing, "" if missing else lack_text(lack))


def suppliers_of(space: Space, predicate: str) -> list[Node]:
    """Rules, aggregates and actions that bring about a predicate, in board order."""
    return sorted((space.nodes[node_id] for node_id in space.suppliers.get(predicate, ())), key=attrgetter("seq"))


def _stale_totals(space: Space, wanted: Literal) -> list[Need]:
    """Aggregates into the predicate that conclude nothing: withdrawn, or without an exact value."""
    found = []
    for node in suppliers_of(space, wanted.predicate):
        total = node.semantic
        if not isinstance(total, Total) or wanted.negated or not (total.withdrawn or total.head is None):
            continue
        why = "its source facts changed; derive it again" if total.withdrawn else \
            f"the {total.kind} of {len(total.members)} members of {total.source}.{total.value_arg} leaves the exact range"
        found.append(Need(node.id, node.label, (), (), (), f"aggregate {node.id}: {why}"))
    return found


def producible_via(space: Space, desired: Iterable[Literal]) -> list[Producer]:
    """Actions with a positive effect of an unmet desired atom, applicable ones first."""
    found: dict[tuple[str, Literal], Producer] = {}
    for wanted in desired:
        if wanted.negated or space.held(wanted):
            continue
        for node in suppliers_of(space, wanted.predicate):
            if node.type != ACTION:
                continue
            spec: ActionSpec = node.semantic  # type: ignore[assignment]
            for effect in spec.effects:
                if not effect.negated and could_produce(effect, wanted) and (node.id, effect) not in found:
                    found[node.id, effect] = _producer(space, node, spec, effect)
    return sorted(found.values(), key=lambda producer: not producer.applicable)


def could_produce(effect: Literal, wanted: Literal) -> bool:
    """Is every constant of the wanted atom in the effect, as the same constant or a variable?"""
    if effect.predicate != wanted.predicate:
        return False
    for name, value in wanted.args:
        if is_variable(value):
            continue
        term = effect.get(name)
        if term is None or not (is_variable(term) or same(term, value)):
            return False
    return True


def _producer(space: Space, node: Node, spec: ActionSpec, effect: Literal) -> Producer:
    binds, blocked = binding_of(space, spec.preconditions)
    return Producer(node.id, spec.name, effect, binds, blocked)


def binding_of(space: Space, body: Sequence[Literal]) -> tuple[bool, Literal | None]:
    """Do preconditions bind now? If not, the first literal in matching order that leaves no match, values filled in."""
    try:
        if not body or next(space.program.solve(body, limit=1), None) is not None:
            return True, None
        return False, first_failing(space, body)[0]
    except Refused:     # it cannot be evaluated: a concat of the wrong operand, or a join too wide to search
        return False, next((literal for literal in body if literal.predicate == "concat"), body[-1])


def first_failing(space: Space, body: Sequence[Literal]) -> tuple[Literal, dict[str, Scalar]]:
    """The first literal in matching order after which nothing matches, under the first binding of those before it."""
    order, stuck = matching_order(body)
    bound: dict[str, Scalar] = {}
    for count in range(1, len(order) + 1):
        part = [body[index] for index in order[:count]]
        found = next(space.program.solve(part, limit=1), None)
        if found is None:
            return body[order[count - 1]].under(bound), bound
        bound = found
    return body[stuck[0]].under(bound), bound
