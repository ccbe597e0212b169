"""Critique: what looks wrong on a board, and what looks wrong about a rule being added.

Nothing here refuses anything. Each remark names a kind, a node and a reason; it is worked
out anew whenever the context is read.

Source  the reasoning board, "Critique".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulith.board.space import hints, tiers
from rulith.board.space.nodes import ACTION, FINDING, GOAL, ActionSpec, Node, derived_id
from rulith.board.space.vocabulary import names_of, patterns_of
from rulith.rules import builtins
from rulith.rules.builtins import ARITHMETIC, BUILTINS, COMPARISONS
from rulith.rules.explain import Effort
from rulith.rules.safety import joins
from rulith.rules.terms import Literal, Rule, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.space import Space

BLOCKING = frozenset({"self_sealed_goal", "asserted_finding", "vacuous_rule"})   # these keep a task from finishing
_TOKEN = re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
TOKEN_LETTERS_MIN = 4
CONFLICTING_GOALS_MAX = 1_000    # pairs that are named


@dataclass(frozen=True, slots=True)
class Remark:
    kind: str
    node_id: str
    text: str


def remarks(space: Space) -> list[Remark]:
    """Everything worth remarking, goals and findings first."""
    return [*_goals(space), *_findings(space), *_rules(space), *_conflicts(space), *_actions(space), *_reopened(space)]


# --- goals and findings ------------------------------------------------------------------


def _goals(space: Space) -> Iterator[Remark]:
    goals, effort = space.of_type(GOAL), Effort()
    for goal in goals:
        if space.satisfied(goal):
            if space.self_sealed(goal):
                yield Remark("self_sealed_goal", goal.id, "it is met by a bare claim; let a rule or an action bring it about")
        elif not hints.is_within_reach(space, goal.semantic, effort):  # type: ignore[arg-type]
            yield Remark("unreachable_goal", goal.id, _no_way(space, goal.semantic))  # type: ignore[arg-type]
    yield from _opposed(goals)


def _opposed(goals: Sequence[Node]) -> Iterator[Remark]:
    """Goals that desire an atom and its strong negation, each with those after it that do."""
    desired = [(goal, literal) for goal in goals for literal in goal.semantic]  # type: ignore[union-attr]
    places: dict[Literal, list[int]] = {}
    for place, (_, literal) in enumerate(desired):
        places.setdefault(literal, []).append(place)
    count = 0
    for place, (goal, literal) in enumerate(desired):
        for later in places.get(Literal(literal.predicate, literal.args, not literal.negated), ()):
            if later > place and desired[later][0] is not goal:
                count += 1
                if count > CONFLICTING_GOALS_MAX:
                    return
                yield Remark("conflicting_goals", goal.id, f"{desired[later][0].id} desires the opposite of {literal.text()}")


def _no_way(space: Space, desired: Iterable[Literal]) -> str:
    """Why nothing leads to a goal; where a rule comes close, how."""
    for literal in desired:
        if not space.held(literal) and literal.is_ground():
            for names in _concluded(space, literal):
                if set(literal.names) < set(names):
                    more = ", ".join(f"{name}=?{name}" for name in names if name not in literal.names)
                    return (f"{literal.predicate} is concluded with ({', '.join(names)}), and an atom without variables holds exactly; "
                            f"add {more} to what it desires")
    return "no rule concludes what it desires and no action produces it"


def _concluded(space: Space, literal: Literal) -> Iterator[tuple[str, ...]]:
    """The argument names with which rules, aggregates and actions bring about the predicate."""
    for node in hints.suppliers_of(space, literal.predicate):
        for pattern in patterns_of(node):
            if pattern.predicate == literal.predicate and pattern.negated == literal.negated:
                yield names_of(pattern)


def _findings(space: Space) -> Iterator[Remark]:
    for atom in space.program.facts(FINDING):
        if atom.negated:
            continue
        if space.program.is_derived(atom):
            if not tiers.grounding(space, atom).by_tier:
                yield Remark("ungrounded_finding", derived_id(atom), f"{atom.text()} is concluded from no fact at all")
        else:
            for node in space.supporting(atom)[:1]:
                if not node.effect:
                    yield Remark("asserted_finding", node.id, f"{atom.text()} is claimed; let a rule conclude it")


def _conflicts(space: Space) -> Iterator[Remark]:
    for atom in space.program.contradictions():
        yield Remark("contradiction", space.fact_id(atom) or derived_id(atom), f"{atom.text()} and {atom.opposite().text()} both stand")
    for conflict in space.program.functional_conflicts():
        ids = sorted(space.fact_id(atom) or derived_id(atom) for atom in conflict.atoms)
        keys = ", ".join(f"{name}={value}" for name, value in conflict.values)
        yield Remark("functional_conflict", ids[0], f"{len(ids)} facts of {conflict.predicate} share {keys} and differ")


# --- rules -------------------------------------------------------------------------------


def _rules(space: Space) -> Iterator[Remark]:
    for node in space.axioms():
        if isinstance(node.semantic, Rule):
            #  a rule of the host's own is no claim: that of an acceptance names its node, which may be called like what it tests
            if not node.is_trusted and (why := _vacuous(node.semantic)) is not None:
                yield Remark("vacuous_rule", node.id, why)
            if (why := _unfirable(node.semantic)) is not None:
                yield Remark("unfirable_rule", node.id, why)


def rule_warnings(rule: Rule) -> list[tuple[str, str]]:
    """(code, text) of what a rule's own text gives away."""
    checks = (("VACUOUS_RULE", _vacuous), ("UNFIRABLE_RULE", _unfirable), ("SELF_RECURSIVE_ARITHMETIC", _self_recursive))
    return [(code, why) for code, check in checks if (why := check(rule)) is not None]


def rule_warnings_after(space: Space, rule: Rule) -> list[tuple[str, str]]:
    """The same for what depends on the board as the batch left it."""
    missing = [literal for literal in rule.when if _looks_computed(rule, literal) and not supplied(space, literal.predicate)]
    if not missing:
        return []
    return [("UNSUPPLIED_PREDICATE", f"nothing supplies {missing[0].predicate}; builtins are {', '.join(sorted(BUILTINS))}")]


def _looks_computed(rule: Rule, literal: Literal) -> bool:
    """Is it a literal whose predicate could be a mistaken builtin?"""
    if literal.naf or literal.negated or literal.predicate in BUILTINS:
        return False
    names = set(literal.names)
    return any(other.predicate in BUILTINS for other in rule.when) or {"left", "right"} <= names or "result" in names


def supplied(space: Space, predicate: str) -> bool:
    """Does any fact, rule head, aggregate or positive effect supply this predicate?"""
    return predicate in space.suppliers or any(True for _ in space.program.facts(predicate))


def _vacuous(rule: Rule) -> str | None:
    positive = [literal for literal in rule.when if joins(literal) and not literal.negated]
    if len(positive) != 1:
        return None
    body = positive[0]
    for head in rule.then:
        if len(rule.when) == 1 and head == body:
            return f"it concludes {head.text()} from itself"
        for _, value in head.args:
            if isinstance(value, str) and not is_variable(value) and _restates(value, body.predicate):
                return f"{value!r} only repeats the name {body.predicate}"
    return None


def _restates(value: str, predicate: str) -> bool:
    told = [token for token in _tokens(value) if len(token) >= TOKEN_LETTERS_MIN]
    return bool(told) and set(told) <= set(_tokens(predicate))


def _tokens(text: str) -> list[str]:
    return [token.lower() for part in _TOKEN.findall(text) for token in _HUMP.split(part)]


def _unfirable(rule: Rule) -> str | None:
    for literal in rule.when:
        if literal.predicate in BUILTINS and (why := _false_constant(literal)) is not None:
            return why
    required = {literal for literal in rule.when if joins(literal)}
    for literal in rule.when:
        if literal.naf and Literal(literal.predicate, literal.args, literal.negated) in required:
            return f"it requires {literal.text().removeprefix('naf ')} and its absence"
    return None


def _false_constant(literal: Literal) -> str | None:
    slots = ARITHMETIC.get(literal.predicate) or COMPARISONS[literal.predicate]
    operands = [literal.get(name) for name in slots]
    if any(value is None or is_variable(value) for value in operands):
        return None
    constants: tuple[Scalar, ...] = tuple(operands)  # type: ignore[assignment]
    if literal.predicate in COMPARISONS:
        return None if builtins.compare(literal.predicate, constants) else f"{literal.text()} is never true"
    if literal.predicate == "concat":
        result = builtins.quiet_concat(*constants)
    else:
        result = builtins.compute(literal.predicate, constants)
    wanted = literal.get("result")
    if wanted is None or (is_variable(wanted) and result is not None):
        return None
    if result is None or not builtins.same(result, wanted):
        return f"{literal.text()} never holds; the result is {'none' if result is None else result}"
    return None


def _self_recursive(rule: Rule) -> str | None:
    names = [literal.predicate for literal in rule.when]
    if not any(name in ARITHMETIC for name in names) or any(name in COMPARISONS for name in names):
        return None
    for head in rule.then:
        for literal in rule.when:
            if joins(literal) and literal.predicate == head.predicate and literal.negated == head.negated \
                    and not _kept_apart(head, literal):
                return f"it computes new {head.predicate} from {head.predicate} without end; bound it with a comparison such as lt"
    return None


def _kept_apart(head: Literal, literal: Literal) -> bool:
    """Do the two have different constants under one argument name?"""
    for name, value in head.args:
        other = literal.get(name)
        if other is not None and not is_variable(value) and not is_variable(other) and not builtins.same(value, other):
            return True
    return False


# --- actions and approvals ----------------------------------------------------------------


def _actions(space: Space) -> Iterator[Remark]:
    for node in space.of_type(ACTION):
        spec: ActionSpec = node.semantic  # type: ignore[assignment]
        lacking = next((literal for literal in _wanted(spec.preconditions) if not supplied(space, literal.predicate)), None)
        if lacking is not None:
            yield Remark("unsatisfiable_action", node.id, f"nothing supplies {lacking.predicate}, which it needs")


def _wanted(literals: Iterable[Literal]) -> Iterator[Literal]:
    return (literal for literal in literals if joins(literal) and not literal.negated)


def _reopened(space: Space) -> Iterator[Remark]:
    """A trusted approval whose grant vanished without a trusted revocation."""
    def told(predicate: str, action: Scalar | None) -> bool:
        return any(_trusted(node) and builtins.same(node.semantic.arguments.get("action"), action)  # type: ignore[union-attr, arg-type]
                   for node in space.stated_facts(predicate))

    for node in space.stated_facts("approval_result"):
        arguments = node.semantic.arguments  # type: ignore[union-attr]
        if _trusted(node) and arguments.get("granted") is True and not node.semantic.negated:  # type: ignore[union-attr]
            action = arguments.get("action")
            if not told("permission_granted", action) and not told("revocation_result", action):
                yield Remark("unexplained_reopen", node.id, f"the approval of {action} stands, its grant is gone, and nothing revoked it")


def _trusted(node: Node) -> bool:
    return node.is_trusted and not node.semantic.negated  # type: ignore[union-attr]
