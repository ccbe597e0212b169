"""Safety: every variable has a finite source before it is used.

Decides whether a rule (or an action: preconditions as body, effects as heads) may be
evaluated at all, and in which order its guards become ready. Lists every violation,
not only the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulith.base.errors import Refused
from rulith.rules.builtins import ARITHMETIC, BUILTINS, COMPARISONS
from rulith.rules.terms import Literal, Rule, is_variable


def joins(literal: Literal) -> bool:
    """Is it matched against facts and does it bind? Positive and strongly negative literals do."""
    return not literal.naf and literal.predicate not in BUILTINS


def inputs(literal: Literal) -> list[str]:
    """The variables that must be bound before a guard can be decided."""
    if literal.predicate in ARITHMETIC and not literal.naf:
        result = literal.get("result")
        slots = ARITHMETIC[literal.predicate]
        return list(dict.fromkeys(
            value for name, value in literal.args
            if is_variable(value) and name != "result" and (value != result or name in slots)
        ))
    return literal.variables()


def output(literal: Literal) -> str | None:
    """The variable an arithmetic literal computes, if its result is one."""
    if literal.predicate not in ARITHMETIC or literal.naf:
        return None
    result = literal.get("result")
    return result if is_variable(result) else None  # type: ignore[return-value]


def bound_variables(body: Sequence[Literal]) -> set[str]:
    found: set[str] = set()
    for literal in body:
        if joins(literal):
            found.update(literal.variables())
        elif (result := output(literal)) is not None:
            found.add(result)
    return found


def violations(body: Sequence[Literal], heads: Sequence[Literal]) -> list[str]:
    """Every reason why the rule is unsafe, in reading order; empty when it is safe."""
    bound = bound_variables(body)
    found: list[str] = []
    for literal in body:
        builtin = literal.predicate in BUILTINS
        if builtin and (literal.naf or literal.negated):
            found.append(f"{literal.text()} negates a builtin; use its opposite instead")
            continue
        if joins(literal):
            continue
        result = output(literal)
        free = [name for name in literal.variables() if name not in bound and name != result]
        found.extend(f"{name} in {literal.text()} is bound by no other literal" for name in free)
    for head in heads:
        if head.naf:
            found.append(f"{head.text()} concludes an absence; use `negated` to conclude the opposite")
        if head.predicate in BUILTINS:
            found.append(f"{head.text()} concludes a builtin")
        free = [name for name in head.variables() if name not in bound]
        found.extend(f"{name} in {head.text()} is bound by no body literal" for name in free)
    return found


def misnamed(literal: Literal) -> str:
    """Why a builtin literal could never hold under its argument names; empty when they are its own.

    Not part of safety: such a rule is evaluated as it stands, and is silent for ever. Who
    takes rules from people and models asks, and says so.
    """
    name, given = literal.predicate, set(literal.names)
    own = COMPARISONS.get(name) or (*ARITHMETIC[name], "result")
    if given == set(own):
        return ""
    lacks, has = [slot for slot in own if slot not in given], sorted(given - set(own))
    parts = ([f"lacks {', '.join(lacks)}"] if lacks else []) + ([f"has {', '.join(has)}"] if has else [])
    return f"{literal.text()} {' and '.join(parts)}; {name} takes {', '.join(own)}"


def check_rule(rule: Rule) -> None:
    """Raises Refused RULE_UNSAFE listing every violation."""
    if found := violations(rule.when, rule.then):
        raise Refused("RULE_UNSAFE", rule=rule.id, problems="; ".join(found), violations=found)


def check_action(name: str, preconditions: Sequence[Literal], effects: Sequence[Literal]) -> None:
    """The same for an action. Raises Refused ACTION_UNSAFE."""
    if found := violations(preconditions, effects):
        raise Refused("ACTION_UNSAFE", rule=name, problems="; ".join(found), violations=found)


def matching_order(body: Sequence[Literal], given: Sequence[str] = ()) -> tuple[list[int], list[int]]:
    """The canonical order of a body as indexes, and those literals that never become ready.

    Joining literals first as written; then each guard as soon as its inputs are bound.
    """
    bound = set(given)
    order = [index for index, literal in enumerate(body) if joins(literal)]
    for index in order:
        bound.update(body[index].variables())
    waiting = [index for index, literal in enumerate(body) if not joins(literal)]
    while True:
        ready = next((i for i in waiting if bound.issuperset(inputs(body[i]))), None)
        if ready is None:
            return order, waiting
        waiting.remove(ready)
        order.append(ready)
        if (result := output(body[ready])) is not None:
            bound.add(result)
