"""Live aggregates of a Capability: totals that always equal their recomputation.

Each `aggregates` row takes all positive facts of one predicate, filtered and grouped, and
concludes one fact for each group that has a member. Whoever closes a Program calls
`totals_of` for the rows whose source moved, lowest first, and puts the difference into the
Program as facts. A total rests on every member of its group, so its proof lists them all;
a value without an exact place is no total, and a Failure says which operands left the range.

Knows no Board: programs and rows in, totals out.
Source  protocol/capability.schema.json, "aggregate".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX
from rulith.board.release import AggregateRow
from rulith.rules import builtins
from rulith.rules.program import Program, Tx
from rulith.rules.proofs import Computation, Lack, Missing, Support
from rulith.rules.terms import Atom, Literal, Rule, Scalar

MEMBERS_MAX = 1_000      # facts of one group: all of them stand in its proof
GROUPS_MAX = 10_000


@dataclass(frozen=True)
class Failure:
    """Why a group has no total: a computation without an exact place, or a member without a number."""

    group: tuple[tuple[str, Scalar], ...]
    op: str
    operands: tuple[tuple[str, Scalar], ...]
    problem: str = ""                # where it is not the exact range


Totals = dict[Atom, Support]


def rule_of(row: AggregateRow) -> Rule:
    """The row as a rule that people and proofs name; no engine runs it."""
    group = {row.group_by: "?group"} if row.group_by else {}
    wanted = {row.where[0]: row.where[1]} if row.where else {}
    value = {row.value_arg: "?value"} if row.value_arg else {}
    return Rule(row.id, row.label, (Literal.of(row.source, {**value, **group, **wanted}),), (Literal.of(row.into, {**group, row.into_arg: "?total"}),))


def in_order(rows: Iterable[AggregateRow], rules: Iterable[Rule]) -> list[AggregateRow]:
    """The rows, each after those that its source depends on. Raises Refused NOT_STRATIFIABLE."""
    rows = list(rows)
    bodies: dict[str, set[str]] = {}
    for rule in rules:
        for head in rule.then:
            bodies.setdefault(head.predicate, set()).update(literal.predicate for literal in rule.when)
    into = {row.into: row for row in rows}
    needs = {row.id: [into[name] for name in _below(row.source, bodies) if name in into] for row in rows}
    found: dict[str, AggregateRow] = {}

    def place(row: AggregateRow, path: tuple[AggregateRow, ...]) -> None:
        if row in path:
            cycle = [*path[path.index(row):], row]
            raise Refused("NOT_STRATIFIABLE", predicate=row.into,
                          cycle=", ".join(f"{above.into} is the {above.kind} of what rests on {below.into}" for above, below in zip(cycle, cycle[1:])))
        if row.id not in found:
            for each in needs[row.id]:
                place(each, (*path, row))
            found[row.id] = row

    for row in rows:
        place(row, ())
    return list(found.values())


def _below(predicate: str, bodies: Mapping[str, set[str]]) -> list[str]:
    """The predicate and everything that rules read to conclude it."""
    seen: dict[str, None] = {}
    waiting = [predicate]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = None
            waiting.extend(sorted(bodies.get(name, ())))
    return list(seen)


def totals_of(program: Program, row: AggregateRow) -> tuple[Totals, tuple[Failure, ...]]:
    """What the row concludes from the facts there are now. Raises Refused resource_limit."""
    groups: dict[tuple, list[Atom]] = {}
    for atom in program.facts(row.source):
        if not atom.negated and row.admits(atom):
            value = atom.arguments.get(row.group_by) if row.group_by else None
            if not row.group_by or value is not None:
                groups.setdefault((value.__class__ is bool, value), []).append(atom)
    if len(groups) > GROUPS_MAX:
        raise Refused("resource_limit", what=f"the number of groups of {row.id}", value=len(groups), limit=GROUPS_MAX)
    totals: Totals = {}
    failures = []
    for _, value in sorted(groups, key=lambda key: canonical_text(key[1])):
        members = sorted(groups[value.__class__ is bool, value], key=canonical_order)
        if len(members) > MEMBERS_MAX:
            raise Refused("resource_limit", what=f"the number of facts of one group of {row.id}", value=len(members), limit=MEMBERS_MAX)
        group = {row.group_by: value} if row.group_by else {}
        found = _total(row, members)
        if isinstance(found, Failure):
            failures.append(Failure(tuple(group.items()), found.op, found.operands, found.problem))
            continue
        atom = Atom.of(row.into, {**group, row.into_arg: found.result})
        totals[atom] = Support(row.id, tuple(members), (found,), None if found.exact else found.text())
    return totals, tuple(failures)


def settle(program: Program, tx: Tx, rows: Sequence[AggregateRow]) -> Totals:
    """Close a Program that holds no total yet, with those of `rows` (in their order)."""
    tx.close()
    found: Totals = {}
    for row in rows:
        totals, _ = totals_of(program, row)
        for atom in totals:
            tx.assert_fact(atom)
        found.update(totals)
        if totals:
            tx.close()
    return found


def lack(row: AggregateRow, failure: Failure | None) -> Lack:
    """What keeps a row from concluding: the computation that failed, or the facts it takes."""
    rule = rule_of(row)
    if failure is None:
        missing = Missing(rule.when[0], "absent")
        return Lack(row.id, row.label, rule.then[0], (), (), (missing,))
    bindings = tuple((f"?{'group'}", value) for _, value in failure.group)
    literal = Literal.of(failure.op, dict(failure.operands))
    return Lack(row.id, row.label, rule.then[0], bindings, (), (Missing(literal, "no_result" if failure.problem else "arithmetic_exact", failure.operands),))


# --- one group -------------------------------------------------------------------------


def canonical_order(atom: Atom) -> bytes:
    """Ascending by arguments in canonical JSON, by UTF-16 code unit: the order in which fractions are summed."""
    return canonical_text(dict(atom.args)).encode("utf-16-be", "surrogatepass")


def _total(row: AggregateRow, members: Sequence[Atom]) -> Computation | Failure:
    counted = (("members", len(members)),)
    if row.kind == "count":
        return Computation("count", counted, len(members), True)
    values = []
    for atom in members:
        value = atom.arguments.get(row.value_arg)
        if not builtins.is_number(value):
            return Failure((), row.kind, ((row.value_arg, "" if value is None else value),), f"{atom.text()} has no number in {row.value_arg}")
        values.append(value)
    value, exact = folded(row.kind, values)
    if value is None:
        return Failure((), "add", _leaving(values))
    return Computation(row.kind, counted, value, exact)


def folded(kind: str, values: Sequence[int | float]) -> tuple[int | float | None, bool]:
    """The value and whether it is exact; None where it has no place.

    Whole numbers are summed exactly and the range is judged once; with fractions the sum is
    folded in binary64 in the order given, and every step stays in the range.
    """
    if any(not -INTEGER_MAX <= value <= INTEGER_MAX for value in values):
        return None, False       # rounded before it came here; nothing is computed from it
    if kind in ("min", "max"):
        return (min if kind == "min" else max)(values), True
    exact = sum(map(Fraction, values), Fraction(0))
    if kind == "avg":
        exact /= len(values)
    if all(value.__class__ is int for value in values):
        if abs(exact) > INTEGER_MAX:
            return None, False
        found: int | float = int(exact) if exact.denominator == 1 else float(exact)
    else:
        found = values[0]
        for value in values[1:]:
            found += value
            if abs(found) > INTEGER_MAX:
                return None, False
        found = found / len(values) if kind == "avg" else found
        found = int(found) if found.__class__ is float and found.is_integer() else found  # type: ignore[union-attr]
    if not -INTEGER_MAX <= found <= INTEGER_MAX or (found == 0 and exact != 0):
        return None, False
    return found, Fraction(found) == exact


def _leaving(values: Sequence[int | float]) -> tuple[tuple[str, Scalar], ...]:
    """The first addition, or the first value, that leaves the exact range."""
    total: Fraction = Fraction(0)
    for value in values:
        fresh = total + Fraction(value)
        if abs(fresh) > INTEGER_MAX or abs(value) > INTEGER_MAX:
            return (("left", _plain(total)), ("right", value))
        total = fresh
    return (("left", _plain(total)), ("right", 0))


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def moved(before: Totals, after: Totals) -> Iterator[tuple[Atom, bool]]:
    """(total, whether it is new) for every one that differs."""
    for atom in before:
        if atom not in after:
            yield atom, False
    for atom in after:
        if atom not in before:
            yield atom, True
