"""Strata: the order in which predicates are completed.

The nodes are predicates with their sign (`p` and `not p` are two relations), the arrows
lead from a rule's body to its head. Each strongly connected component is one stratum;
a naf arrow inside one means that something depends on its own absence.
"""

from __future__ import annotations

from collections.abc import Iterable

from rulith.base.errors import Refused
from rulith.rules.builtins import BUILTINS
from rulith.rules.relations import Sign
from rulith.rules.terms import Rule


def stratify(rules: Iterable[Rule]) -> dict[Sign, int]:
    """The stratum of every concluded predicate, lower ones first. Raises Refused NOT_STRATIFIABLE."""
    arrows: dict[Sign, dict[Sign, bool]] = {}   # head -> body predicate -> is it naf?
    for rule in rules:
        for head in rule.then:
            needs = arrows.setdefault((head.predicate, head.negated), {})
            for literal in rule.when:
                if literal.predicate not in BUILTINS:
                    sign = (literal.predicate, literal.negated)
                    needs[sign] = needs.get(sign, False) or literal.naf
    strata: dict[Sign, int] = {}
    for number, component in enumerate(_components(arrows)):
        members = set(component)
        for head in component:
            strata[head] = number
            for body, naf in arrows[head].items():
                if naf and body in members:
                    _refuse(arrows, members, head, body)
    return strata


def _components(arrows: dict[Sign, dict[Sign, bool]]) -> list[list[Sign]]:
    """Tarjan's strongly connected components, each after all that it needs."""
    order: dict[Sign, int] = {}
    lowest: dict[Sign, int] = {}
    stack: list[Sign] = []
    on_stack: set[Sign] = set()
    found: list[list[Sign]] = []
    for root in arrows:
        if root in order:
            continue
        work = [(root, iter(arrows[root]))]
        while work:
            node, needs = work[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                stack.append(node)
                on_stack.add(node)
            for need in needs:
                if need not in arrows:
                    continue
                if need not in order:
                    work.append((need, iter(arrows[need])))
                    break
                if need in on_stack:
                    lowest[node] = min(lowest[node], order[need])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == order[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    found.append(component)
    return found


def _refuse(arrows: dict[Sign, dict[Sign, bool]], members: set[Sign], head: Sign, absent: Sign) -> None:
    """Name the shortest way from the absent predicate's needs back to the head."""
    came: dict[Sign, Sign] = {absent: absent}
    queue = [absent]
    for node in queue:
        for need in arrows[node]:
            if need in members and need not in came:
                came[need] = node
                queue.append(need)
    path = [head]
    while path[-1] != absent:
        path.append(came[path[-1]])
    names = [_name(sign) for sign in path]
    steps = [f"{names[0]} needs the absence of {_name(absent)}"]
    steps += [f"{it} rests on {need}" for need, it in reversed(list(zip(names, names[1:])))]
    raise Refused("NOT_STRATIFIABLE", predicate=names[0], cycle=", ".join(steps))


def _name(sign: Sign) -> str:
    return f"not {sign[0]}" if sign[1] else sign[0]
