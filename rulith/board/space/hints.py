"""Hints: what would make an open goal hold: facts its rules lack, actions that produce it.

`needs via` looks one rule deep; where no fact is missing it names the guard that fails.
`producible via` looks at what actions bring about. Hints never refuse a batch: a
precondition that cannot be evaluated counts as blocked.

Source  the reasoning board, "Goals, hypotheses, hints".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from rulith.base.errors import Refused
from rulith.board.space.nodes import ACTION, HIDDEN, ActionSpec, Node, Total
from rulith.rules.builtins import same
from rulith.rules.explain import Effort, lack_text
from rulith.rules.proofs import Lack, Missing
from rulith.rules.safety import joins, matching_order
from rulith.rules.terms import Literal, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.space import Space

SHOWN_MAX = 3       # of each kind, in texts
ACTION_WORK = 50    # of asking whether one precondition of an action holds, in looks at a rule: it is compiled first
STEPS_WORK = 20     # join steps that cost as much as one look


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


def needs_via(space: Space, desired: Iterable[Literal], effort: Effort | None = None) -> list[Need]:
    """For each desired atom that does not hold: the rules that could conclude it, least missing first.

    effort  what may be looked at, where several questions share it; what is past it is left out
    """
    found = list(_needs(space, desired, effort or Effort()))
    found.sort(key=lambda need: (len(need.missing) or len(need.failing)))
    return found


def is_within_reach(space: Space, desired: Sequence[Literal], effort: Effort) -> bool:
    """Does any rule, aggregate or action lead to it? True as well where the effort ends before that is known."""
    return (next(_needs(space, desired, effort), None) is not None or effort.is_spent
            or bool(producible_via(space, desired, effort)) or effort.is_spent)


def _needs(space: Space, desired: Iterable[Literal], effort: Effort) -> Iterator[Need]:
    for wanted in desired:
        if space.held(wanted):
            continue
        for lack in sorted(space.program.lacks(wanted, effort), key=lambda lack: len(lack.missing)):
            if wanted.is_ground() and lack.head.names != wanted.names:
                continue        # a ground goal is met by its very atom only
            if any(literal.predicate == HIDDEN for literal in (*lack.satisfied, *(m.literal for m in lack.missing))):
                continue
            yield _need(lack)
        yield from _stale_totals(space, wanted)


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


def producible_via(space: Space, desired: Iterable[Literal], effort: Effort | None = None) -> list[Producer]:
    """Actions with a positive effect of an unmet desired atom, applicable ones first."""
    effort = effort or Effort()
    found: dict[tuple[str, Literal], Producer] = {}
    for wanted in desired:
        if wanted.negated or space.held(wanted):
            continue
        for node in suppliers_of(space, wanted.predicate):
            if node.type != ACTION:
                continue
            spec: ActionSpec = node.semantic  # type: ignore[assignment]
            for effect in spec.effects:
                if effort.is_spent:
                    break
                effort.left -= 1
                if not effect.negated and could_produce(effect, wanted) and (node.id, effect) not in found:
                    before = space.program.asked
                    found[node.id, effect] = _producer(space, node, spec, effect)
                    effort.left -= ACTION_WORK * (1 + len(spec.preconditions)) + (space.program.asked - before) // STEPS_WORK
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
