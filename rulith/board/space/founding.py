"""Totals that hold only by what they themselves bring about.

A total pins its members. Where its predicate leads back to its source by rules, a member
may come to rest on the total after its own ground went; both would then hold for no
reason. Where stored proofs run in such a circle, every total that could be in one is taken
away and put back, round by round, once its members hold without it.

Costs nothing where no total feeds its own source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rulith.board.space.nodes import Node, Total, members_atom
from rulith.rules.terms import Atom

if TYPE_CHECKING:
    from rulith.board.space.change import Change
    from rulith.board.space.space import Space


def unfounded(change: Change) -> list[str]:
    """Ids of the live totals that stand on nothing else, in board order, their conclusions taken away.

    Everything is closed before and after; what stands has proofs without circles.
    """
    space, tx = change.space, change.tx
    waiting = list(_circular(space))
    if not _in_circle(space, (member for _, total in waiting for member in total.members)):
        return []
    for node, total in waiting:
        tx.retract_fact(members_atom(node.id, total))
    change.close()
    while ready := [each for each in waiting if all(map(space.program.holds, each[1].members))]:
        for each in ready:
            tx.assert_fact(members_atom(each[0].id, each[1]))
            waiting.remove(each)
        change.close()
    return [node.id for node, _ in waiting]


def _in_circle(space: Space, atoms: Iterable[Atom]) -> bool:
    """Does the stored proof of one of these facts run in a circle?"""
    done: dict[Atom, bool] = {}     # False while its premises are being looked at
    for atom in atoms:
        work = [(atom, False)]
        while work:
            current, seen = work.pop()
            if seen:
                done[current] = True
            elif done.get(current) is False:
                return True
            elif current not in done:
                done[current] = False
                support = space.support(current)
                work.append((current, True))
                if support is not None:
                    work.extend((premise, False) for premise in support.premises)
    return False


def _circular(space: Space) -> Iterator[tuple[Node, Total]]:
    """Live totals whose predicate may lead back to their source, oldest first."""
    families = _circular_families(space)
    if families:
        found = [space.nodes[node_id] for family in families for node_id in space.family_nodes.get(family, ())]
        for node in sorted(found, key=lambda node: node.seq):
            total = node.semantic
            if isinstance(total, Total) and total.head is not None and not total.withdrawn and space.usable(node.id):
                yield node, total


def _circular_families(space: Space) -> list[str]:
    if not space.families:
        return []
    key = space.program.rules_version, tuple(space.families)
    if space.circular[0] != key:
        leads: dict[str, set[str]] = {}
        for rule in space.program.rules():
            for literal in rule.when:
                leads.setdefault(literal.predicate, set()).update(head.predicate for head in rule.then)
        for family in space.families.values():
            leads.setdefault(family.definition.source, set()).add(family.definition.into)
        space.circular = key, [name for name, family in space.families.items()
                               if family.definition.source in _reached(family.definition.into, leads)]
    return space.circular[1]


def _reached(start: str, leads: dict[str, set[str]]) -> set[str]:
    """`start` and every predicate that may follow from it."""
    found, work = {start}, [start]
    while work:
        for head in leads.get(work.pop(), ()):
            if head not in found:
                found.add(head)
                work.append(head)
    return found
