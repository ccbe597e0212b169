"""Aggregates: a total over the facts there are now, withdrawn when they change.

`derive_aggregate` pins the facts it saw. Each total rests on all members of its group; as
soon as a member goes or a new one appears, the total goes too, until the aggregate is
derived again. Whole numbers are summed exactly and the sum's range is judged once; a sum
with fractions is folded in canonical order of the members, and says where it rounded.

Source  the reasoning board, "Aggregates".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.base.limits import AGGREGATE_GROUPS_MAX, INTEGER_MAX
from rulith.board.space.nodes import FINDING, Total
from rulith.rules import builtins
from rulith.rules.builtins import BUILTINS, same
from rulith.rules.terms import Atom, Scalar, normalise, scalar_text

KINDS = ("sum", "count", "min", "max", "avg")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Definition:
    """A `derive_aggregate` operation, read. `where` is (argument, value)."""

    kind: str
    source: str
    value_arg: str
    into: str
    into_arg: str
    where: tuple[str, Scalar] | None
    group_by: str

    def default_id(self, families: Mapping[str, Family]) -> str:
        """`agg_<into>`; where that is another aggregate's, its kind and argument are added."""
        plain, full = f"agg_{self.into}", f"agg_{self.into}__{self.kind}_{self.into_arg}"
        known = families.get(plain)
        if known is None:
            return full if full in families else plain
        return plain if (known.definition.kind, known.definition.into_arg) == (self.kind, self.into_arg) else full

    def admits(self, atom: Atom) -> bool:
        """Does the filter keep this fact?"""
        if self.where is None:
            return True
        value = atom.arguments.get(self.where[0])
        return value is not None and same(value, self.where[1])

    def group_key(self, atom: Atom) -> tuple | None:
        """What tells the fact's group from others, types included; None where it has no such argument."""
        if not self.group_by:
            return ()
        value = atom.arguments.get(self.group_by)
        return None if value is None else (value.__class__ is bool, value)


@dataclass(frozen=True, slots=True)
class Family:
    """One aggregate as it was last derived: its definition, its groups' nodes, the members of each."""

    definition: Definition
    groups: Mapping[tuple, str]     # group key -> node id
    pins: Mapping[Atom, str]        # member -> node id

    @property
    def source(self) -> str:
        return self.definition.source

    def group_of(self, atom: Atom) -> str | None:
        """The node whose total counts this fact, or would, were it derived again."""
        if atom.negated or not self.definition.admits(atom):
            return None
        key = self.definition.group_key(atom)
        return None if key is None else self.groups.get(key)


def read_definition(operation: Mapping, where: str) -> Definition:
    """Raises Refused AGGREGATE_KIND, _SHAPE, _VALUE_ARG, _INTO_FINDING, _WHERE_ARG, _GROUP_ARG, BUILTIN_RESERVED."""
    kind = operation.get("kind")
    kind = "sum" if kind is None else kind
    if kind not in KINDS:
        raise Refused("AGGREGATE_KIND", where=where, kind=kind)
    source, into = operation.get("source"), operation.get("into")
    predicate = _name(source, "source", "predicate", where)
    target = _name(into, "into", "predicate", where)
    into_arg = _name(into, "into", "valueArg", where)
    if target == FINDING:
        raise Refused("AGGREGATE_INTO_FINDING", where=where)
    if target in BUILTINS:
        raise Refused("BUILTIN_RESERVED", predicate=target, use="concluded by an aggregate")
    value_arg = source.get("valueArg")  # type: ignore[union-attr]
    if kind != "count" and (not isinstance(value_arg, str) or not value_arg):
        raise Refused("AGGREGATE_VALUE_ARG", where=where, kind=kind)
    group_by = operation.get("group_by")
    if group_by is not None and (not isinstance(group_by, str) or not group_by):
        raise Refused("AGGREGATE_GROUP_ARG", where=where, problem="`group_by` is not an argument name")
    if group_by is not None and group_by == into_arg:
        raise Refused("AGGREGATE_SHAPE", where=where, problem=f"`into.valueArg` and `group_by` are both {into_arg}, and one would hide the other")
    return Definition(kind, predicate, value_arg if isinstance(value_arg, str) else "", target, into_arg,
                      _read_where(operation.get("where"), where), group_by or "")


def _name(part: object, member: str, name: str, where: str) -> str:
    value = part.get(name) if isinstance(part, Mapping) else None
    if not isinstance(value, str) or not value:
        raise Refused("AGGREGATE_SHAPE", where=where, problem=f"`{member}.{name}` is missing")
    return value


def _read_where(part: object, where: str) -> tuple[str, Scalar] | None:
    if part is None:
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("arg"), str) or not part["arg"] or "equals" not in part:
        raise Refused("AGGREGATE_WHERE_ARG", where=where, problem="it names no `arg` and `equals`")
    return part["arg"], normalise(part["equals"], f"{where} where.equals")


def members_of(definition: Definition, facts: Sequence[Atom], where: str) -> dict[tuple, list[Atom]]:
    """The members by group, groups in order of their first member. `facts` are positive and in canonical order.

    Raises Refused AGGREGATE_EMPTY, _WHERE_ARG, _GROUP_ARG, _GROUP_PARTIAL, resource_limit.
    """
    found = facts
    if not found:
        raise Refused("AGGREGATE_EMPTY", where=where, problem=f"there is no fact of {definition.source}")
    if definition.where is not None:
        arg, value = definition.where
        if not any(name == arg for atom in found for name, _ in atom.args):
            raise Refused("AGGREGATE_WHERE_ARG", where=where, problem=f"no fact of {definition.source} has an argument {arg}")
        found = [atom for atom in found if definition.admits(atom)]
        if not found:
            raise Refused("AGGREGATE_EMPTY", where=where, problem=f"no fact of {definition.source} has {arg}={scalar_text(value)}")
    groups: dict[tuple, list[Atom]] = {}
    lacking = None
    for atom in found:
        key = definition.group_key(atom)
        if key is None:
            lacking = lacking or atom
        else:
            groups.setdefault(key, []).append(atom)
    if lacking is not None:
        if not groups:
            raise Refused("AGGREGATE_GROUP_ARG", where=where, problem=f"no fact of {definition.source} has an argument {definition.group_by}")
        raise Refused("AGGREGATE_GROUP_PARTIAL", where=where, atom=lacking.text(), arg=definition.group_by)
    if len(groups) > AGGREGATE_GROUPS_MAX:
        raise Refused("resource_limit", what="the number of groups", value=len(groups), limit=AGGREGATE_GROUPS_MAX)
    return groups


def canonical_order(atom: Atom) -> bytes:
    """Ascending `predicate(k=JSON,...)`, by UTF-16 code unit."""
    parts = ",".join(f"{name}={canonical_text(value)}" for name, value in atom.args)
    return f"{atom.predicate}({parts})".encode("utf-16-be", "surrogatepass")


def group_ids(family: str, definition: Definition, groups: Iterable[tuple]) -> dict[tuple, str]:
    """A node id per group: `<family>__g_<value>`, told apart by a digest where two would read alike."""
    if not definition.group_by:
        return {key: family for key in groups}
    short: dict[str, list[tuple]] = {}
    for key in groups:
        short.setdefault(_UNSAFE.sub("_", canonical_text(key[1])), []).append(key)
    found = {}
    for suffix, keys in short.items():
        for place, key in enumerate(keys):
            mark = "" if place == 0 else "_" + sha256(canonical_text(key[1]).encode()).hexdigest()[:8]
            found[key] = f"{family}__g_{suffix}{mark}"
    return found


def total_of(family: str, definition: Definition, key: tuple, members: Sequence[Atom], where: str) -> Total:
    """The total of one group. Its value is None where no exact value exists. Raises Refused AGGREGATE_NON_NUMERIC."""
    group = key[1] if key else None
    value, rounded = _fold(definition, members, where)
    head = None
    if value is not None:
        args: dict[str, Scalar] = {definition.into_arg: value}
        if definition.group_by:
            args[definition.group_by] = group  # type: ignore[assignment]
        head = Atom(definition.into, tuple((name, args[name]) for name in sorted(args)))
    return Total(family, definition.kind, definition.source, definition.value_arg, definition.into, definition.into_arg,
                 definition.group_by, group, tuple(members), value, head, rounded)


def _fold(definition: Definition, members: Sequence[Atom], where: str) -> tuple[Scalar | None, str | None]:
    """The value and, where binary64 rounded, what was computed."""
    kind = definition.kind
    if kind == "count":
        return len(members), None
    values = [_number(atom, definition.value_arg, where) for atom in members]
    if any(not -INTEGER_MAX <= value <= INTEGER_MAX for value in values):
        return None, None       # rounded before it came here; nothing is computed from it
    if kind in ("min", "max"):
        return (min if kind == "min" else max)(values), None
    whole = all(value.__class__ is int for value in values)
    exact = Fraction(sum(values)) if whole else sum(map(Fraction, values), Fraction(0))
    if kind == "avg":
        exact /= len(values)
    if whole:
        found = _nearest(exact)
    else:
        folded: int | float = values[0]
        for value in values[1:]:
            folded += value
        found = folded / len(values) if kind == "avg" else folded
        found = int(found) if found.__class__ is float and found.is_integer() else found  # type: ignore[union-attr]
    if found is None or not -INTEGER_MAX <= found <= INTEGER_MAX or (found == 0 and exact != 0):
        return None, None
    rounded = f"{kind} of {len(values)} values = {scalar_text(found)}" if Fraction(found) != exact else None
    return found, rounded


def _nearest(exact: Fraction) -> int | float | None:
    if exact.denominator == 1:
        return int(exact)
    try:
        return float(exact)
    except OverflowError:
        return None


def _number(atom: Atom, arg: str, where: str) -> int | float:
    value = atom.arguments.get(arg)
    if not builtins.is_number(value):
        raise Refused("AGGREGATE_NON_NUMERIC", where=where, atom=atom.text(), arg=arg)
    return value  # type: ignore[return-value]
