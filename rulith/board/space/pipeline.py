"""Plain Python for layers and actions: the text of a program that needs nothing of this one.

A fact is (predicate, {name: value}). Each rule becomes a chain of lazy steps over tuples of
values, one step per literal, in the written order of its facts with each test as early as
its values are there. Names and values from rules enter the text only as literals, so the
text can say nothing but what the rules say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rulith.board.space.nodes import ActionSpec
from rulith.rules.builtins import COMPARISONS
from rulith.rules.safety import joins, matching_order
from rulith.rules.terms import Literal, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.compile import Layered, Spec


class WorkExceeded(Exception):
    """A compiled run took more join steps than it was allowed."""


class NotANumber(Exception):
    """A total met a member without a number: predicate, arguments, argument name."""


PREAMBLE = '''\
import json
from fractions import Fraction


def typed(value):
    """True is not 1."""
    return value.__class__ is bool, value


def number(value):
    return value.__class__ is int or value.__class__ is float


def eq(left, right): return typed(left) == typed(right)
def neq(left, right): return typed(left) != typed(right)
def lt(left, right): return number(left) and number(right) and left < right
def lte(left, right): return number(left) and number(right) and left <= right
def gt(left, right): return number(left) and number(right) and left > right
def gte(left, right): return number(left) and number(right) and left >= right
def between(value, low, high): return number(value) and number(low) and number(high) and low <= value <= high
def contains(left, right): return isinstance(left, str) and isinstance(right, str) and right in left


def identity(predicate, args):
    return predicate, tuple(sorted((name, typed(value)) for name, value in args.items()))


class Facts:
    """Facts by predicate, each once, in order of arrival."""

    def __init__(self, facts, work_max):
        self.rows, self.seen, self.indexes, self.left = {}, set(), {}, work_max
        for predicate, args in facts:
            self.add(predicate, args)

    def add(self, predicate, args):
        """Was it new?"""
        known = identity(predicate, args)
        if known in self.seen:
            return False
        self.seen.add(known)
        self.rows.setdefault(predicate, []).append(args)
        self.indexes.pop(predicate, None)
        return True

    def find(self, predicate, names, given):
        """The facts that have all `names` and the values `given`."""
        at = names, tuple(given)
        indexes = self.indexes.setdefault(predicate, {})
        if at not in indexes:
            index = indexes[at] = {}
            for args in self.rows.get(predicate, ()):
                if all(name in args for name in names):
                    index.setdefault(tuple(typed(args[name]) for name in given), []).append(args)
        found = indexes[at].get(tuple(typed(value) for value in given.values()), ())
        self.left -= 1 + len(found)
        if self.left < 0:
            raise WorkExceeded
        return found
'''

STANDALONE = '''\


class WorkExceeded(Exception):
    """More join steps than allowed."""


class NotANumber(Exception):
    """A total met a member without a number."""
'''

TOTAL = '''\


def total(kind, predicate, rows, name):
    """The exact total of one group, or None where it has no exact place."""
    if kind == "count":
        return len(rows)
    for args in rows:
        if not number(args[name]):
            raise NotANumber(predicate, args, name)
    rows = sorted(rows, key=lambda args: [(key, json.dumps(args[key])) for key in sorted(args)])
    values = [args[name] for args in rows]
    limit = 2**53 - 1
    if any(abs(value) > limit for value in values):
        return None
    if kind != "sum":
        return min(values) if kind == "min" else max(values)
    exact = sum(map(Fraction, values))
    found = sum(values)
    if abs(found) > limit or (found == 0 and exact != 0):
        return None
    return int(found) if found == int(found) else found
'''


def namespace_of(source: str) -> dict[str, Any]:
    """Run the text of a module and return its names."""
    namespace: dict[str, Any] = {"__name__": "compiled"}
    exec(compile(source, "<compiled board>", "exec"), namespace)     # the text is ours; values enter it as literals
    namespace.update(WorkExceeded=WorkExceeded, NotANumber=NotANumber)
    return namespace


def _comment(text: str) -> str:
    """The text on one line, whatever it holds."""
    return "    # " + ascii(text)[1:-1]


def pipeline_source(it: Layered) -> str:
    """A module with `derive(facts)`."""
    parts = ['"""What follows from facts, layer by layer."""\n\n', PREAMBLE, STANDALONE]
    if it.specs:
        parts.append(TOTAL)
    calls: list[str] = []
    for layer, predicates in it.layers:
        calls.append(f"    # layer {layer}: {ascii(', '.join(predicates))[1:-1]}")
        for place, (at, rule, head) in enumerate(it.rules):
            if at == layer:
                name = f"rule_{place + 1}"
                parts.append(f"\n\ndef {name}(facts):\n{_comment(f'{rule.id}: {rule.text()}')}\n{_rule(rule.when, head)}")
                calls.append(f"    concluded += [fact for fact in {name}(board) if board.add(*fact)]")
        for place, (at, spec) in enumerate(it.specs):
            if at == layer:
                name = f"total_{place + 1}"
                parts.append(f"\n\ndef {name}(facts):\n{_comment(spec.text())}\n{_total(spec)}")
                calls.append(f"    concluded += [fact for fact in {name}(board) if board.add(*fact)]")
    parts.append(
        "\n\ndef derive(facts, work_max=20_000_000):\n"
        '    """The facts that follow from `facts`, each (predicate, {name: value}), lower layers first."""\n'
        "    board, concluded = Facts(facts, work_max), []\n" + "".join(line + "\n" for line in calls) + "    return concluded\n")
    return "".join(parts)


def action_source(spec: ActionSpec) -> str:
    """A module with `apply(facts)`: the first binding's effects, in order."""
    steps, places = _steps(spec.preconditions)
    named = "{" + ", ".join(f"{variable[1:]!r}: e[{place}]" for variable, place in places.items()) + "}"
    effects = ""
    for effect in spec.effects:
        effects += f"    {'consume' if effect.negated else 'produce'}({effect.predicate!r}, {_object(effect, places)})\n"
    return (
        f'"""An action as a function from facts to facts."""\n\n{PREAMBLE}{STANDALONE}\n\n'
        f"def apply(given, concluded=(), work_max=20_000_000):\n{_comment(spec.name)}\n"
        "    kept, added, removed = list(given), [], []\n"
        "    facts = Facts([*given, *concluded], work_max)\n\n"
        "    def consume(predicate, args):\n"
        "        gone = identity(predicate, args)\n"
        "        if any(identity(*fact) == gone for fact in kept):\n"
        "            kept[:] = [fact for fact in kept if identity(*fact) != gone]\n"
        "            removed.append((predicate, args))\n\n"
        "    def produce(predicate, args):\n"
        "        if not any(identity(*fact) == identity(predicate, args) for fact in kept):\n"
        "            kept.append((predicate, args))\n"
        "            added.append((predicate, args))\n\n"
        f"{steps}"
        "    bindings = {}\n"
        "    for e in found:\n"
        "        bindings.setdefault(tuple(map(typed, e)), e)\n"
        "    if not bindings:\n"
        '        return {"applied": False, "facts": kept, "added": [], "removed": [], "binding": {}, "candidates": 0}\n'
        f"    e = next(iter(bindings.values()))\n{effects}"
        f'    return {{"applied": True, "facts": kept, "added": added, "removed": removed, "binding": {named}, "candidates": len(bindings)}}\n')


def _rule(body: Sequence[Literal], head: Literal) -> str:
    steps, places = _steps(body)
    return f"{steps}    return [({head.predicate!r}, {_object(head, places)}) for e in found]\n"


def _steps(body: Sequence[Literal]) -> tuple[str, dict[str, int]]:
    """Lines that leave the matches of a body in `found`, as tuples; and each variable's place in them."""
    order, stuck = matching_order(body)
    if stuck:
        return "    found = []\n", {}
    places: dict[str, int] = {}
    lines = ["    found = [()]\n"]
    waiting = [body[index] for index in order if not joins(body[index])]
    waiting = _tests(waiting, places, lines)
    for literal in (body[index] for index in order if joins(body[index])):
        lines.append(_join(literal, places))
        waiting = _tests(waiting, places, lines)
    return "".join(lines), places


def _tests(waiting: list[Literal], places: dict[str, int], lines: list[str]) -> list[Literal]:
    """Write the tests whose variables are all bound; return the others."""
    for literal in waiting:
        if all(name in places for name in literal.variables()):
            lines.append(f"    found = (e for e in found if {_test(literal, places)})\n")
    return [literal for literal in waiting if not all(name in places for name in literal.variables())]


def _test(literal: Literal, places: dict[str, int]) -> str:
    if literal.naf:
        return f"not facts.find({literal.predicate!r}, {literal.names!r}, {_object(literal, places)})"
    operands = [literal.get(name) for name in COMPARISONS[literal.predicate]]
    if any(operand is None for operand in operands):
        return "False"
    return f"{literal.predicate}({', '.join(_value(operand, places) for operand in operands)})"  # type: ignore[arg-type]


def _join(literal: Literal, places: dict[str, int]) -> str:
    """One more fact per match; variables met for the first time are appended."""
    given = {name: value for name, value in literal.args if not is_variable(value) or value in places}
    known = "{" + ", ".join(f"{name!r}: {_value(value, places)}" for name, value in given.items()) + "}"
    fresh: dict[str, str] = {}
    again: list[str] = []
    for name, value in literal.args:
        if name in given:
            continue
        if value in fresh:
            again.append(f"eq(f[{fresh[value]!r}], f[{name!r}])")  # type: ignore[index]
        else:
            fresh[value] = name  # type: ignore[index]
    for value in fresh:
        places[value] = len(places)
    taken = "".join(f", f[{name!r}]" for name in fresh.values())
    made = f"(*e{taken})" if taken else "e"
    only = f" if {' and '.join(again)}" if again else ""
    return f"    found = ({made} for e in found for f in facts.find({literal.predicate!r}, {literal.names!r}, {known}){only})\n"


def _object(literal: Literal, places: dict[str, int]) -> str:
    return "{" + ", ".join(f"{name!r}: {_value(value, places)}" for name, value in literal.args) + "}"


def _value(value: Scalar, places: dict[str, int]) -> str:
    return f"e[{places[value]}]" if is_variable(value) else repr(value)  # type: ignore[index]


def _total(spec: Spec) -> str:
    names = tuple(sorted({name for name in (spec.value_arg if spec.kind != "count" else "", spec.group_by) if name}))
    where = "{" + (f"{spec.where[0]!r}: {spec.where[1]!r}" if spec.where else "") + "}"
    names += (spec.where[0],) if spec.where and spec.where[0] not in names else ()
    key = f"typed(args[{spec.group_by!r}])" if spec.group_by else "None"
    head = f"{spec.out_arg!r}: value" + (f", {spec.group_by!r}: rows[0][{spec.group_by!r}]" if spec.group_by else "")
    return (
        "    groups = {}\n"
        f"    for args in facts.find({spec.source!r}, {names!r}, {where}):\n"
        f"        groups.setdefault({key}, []).append(args)\n"
        "    found = []\n"
        "    for rows in groups.values():\n"
        f"        value = total({spec.kind!r}, {spec.source!r}, rows, {spec.value_arg!r})\n"
        "        if value is not None:\n"
        f"            found.append(({spec.target!r}, {{{head}}}))\n"
        "    return found\n")
