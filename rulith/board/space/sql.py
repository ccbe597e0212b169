"""SQL for layers: observed predicates become tables, concluded ones views, each over those below it.

A row is a fact; a column is an argument name, NULL where a fact lacks it. Two dialects:

standard   columns without types, booleans as 1 and 0, INSTR
postgres   NUMERIC, TEXT and BOOLEAN columns as the facts on the board show them, STRPOS

Typed identity survives as far as columns have one type each: in `standard` true is 1, and
a column of mixed types holds text in `postgres`.

Source  the reasoning board, "Stages and compilation".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulith.base.canonical import number_text
from rulith.base.errors import Refused
from rulith.board.space.compile import Layered, Spec, layered, stated_facts
from rulith.rules.builtins import BUILTINS, COMPARISONS
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.space import Space

STANDARD, POSTGRES = "standard", "postgres"
DIALECTS = (STANDARD, POSTGRES)
NUMERIC, TEXT, BOOLEAN = "numeric", "text", "boolean"
MIXED = "mixed"         # shown as text; compared as text
LONE = "_"              # the column of a predicate without arguments
NAME_BYTES_MAX = 63     # postgres cuts longer names silently
_NUMBER = r"^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[+-][0-9]+)?$"      # every number in a text column prints so
_OPERATORS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


@dataclass(frozen=True, slots=True)
class Table:
    """A table to be filled with the facts of `predicate`."""

    predicate: str
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    predicate: str
    columns: tuple[str, ...]
    layer: int


@dataclass(frozen=True, slots=True)
class CompiledSql:
    """`statements` create the tables and, in order of layers, the views."""

    dialect: str
    layers: tuple[tuple[int, tuple[str, ...]], ...]
    tables: tuple[Table, ...]
    views: tuple[View, ...]
    statements: tuple[str, ...]
    column_types: Mapping[str, Mapping[str, str]]

    @property
    def text(self) -> str:
        return "".join(f"{statement};\n\n" for statement in self.statements)

    def inserts(self, facts: Iterable[Atom]) -> list[str]:
        """Statements that fill the tables with those facts that have one."""
        tables = {table.predicate: table for table in self.tables}
        found = []
        for atom in facts:
            table = tables.get(atom.predicate)
            if table is None or atom.negated:
                continue
            args, types = atom.arguments, self.column_types.get(atom.predicate, {})
            values = [_constant(args[name], self.dialect, types.get(name)) if name in args else "NULL" for name in table.columns]
            values = values if table.columns != (LONE,) or LONE in args else ["1"]
            columns = ", ".join(_quoted(name) for name in table.columns)
            found.append(f"INSERT INTO {_quoted(table.name)} ({columns}) VALUES ({', '.join(values)})")
        return found


@dataclass(frozen=True, slots=True)
class _Value:
    """A piece of SQL and the type of what it yields; None where nothing shows it."""

    text: str
    type: str | None


def compile_sql(space: Space, goal: str | None = None, aggregates: object = None, dialect: str = STANDARD) -> CompiledSql:
    """Tables and views for the board's rules. Refuses NOT_COMPILABLE."""
    if dialect not in DIALECTS:
        raise Refused("NOT_COMPILABLE", what="the SQL", problem=f"the dialect {dialect!r} is none of {', '.join(DIALECTS)}")
    return _Writer(layered(space, goal, aggregates), stated_facts(space), dialect).write()


class _Writer:
    """One compilation."""

    def __init__(self, it: Layered, facts: Sequence[Atom], dialect: str) -> None:
        self.it = it
        self.dialect = dialect
        self.columns: dict[str, dict[str, None]] = {}
        self.types: dict[str, dict[str, str | None]] = {}
        self.tables: dict[str, str] = {}        # predicate -> its table
        self._read_columns(facts)

    # --- what there is ------------------------------------------------------------------

    def _read_columns(self, facts: Sequence[Atom]) -> None:
        it, taken = self.it, {*self.it.base, *self.it.concluded}
        for predicate in it.base:
            self.tables[predicate] = predicate
        stated = [atom for atom in facts if atom.predicate in taken]
        for atom in stated:
            if atom.predicate not in self.tables:     # stated and concluded: the view adds what is stated
                name = atom.predicate + "__stated"
                while name in taken:
                    name += "_"
                taken.add(name)
                self.tables[atom.predicate] = name
        for _, rule, head in it.rules:
            for literal in (*rule.when, head):
                if literal.predicate not in BUILTINS:
                    self._see(literal.predicate, literal.names)
        for _, spec in it.specs:
            self._see(spec.source, [n for n in (spec.value_arg, spec.group_by, spec.where[0] if spec.where else "") if n])
            self._see(spec.target, [n for n in (spec.out_arg, spec.group_by) if n])
        for atom in stated:
            self._see(atom.predicate, [name for name, _ in atom.args])
            for name, value in atom.args:
                types = self.types.setdefault(atom.predicate, {})
                types[name] = _joined(types[name], _type_of(value)) if name in types else _type_of(value)
        for predicate in (*it.base, *it.concluded):
            self._check_names(predicate)

    def _see(self, predicate: str, names: Iterable[str]) -> None:
        self.columns.setdefault(predicate, {}).update(dict.fromkeys(names))

    def _check_names(self, predicate: str) -> None:
        names = [self.tables.get(predicate, predicate), predicate, *self.columns_of(predicate)]
        for name in names:
            if not name or "\0" in name or len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
                raise Refused("NOT_COMPILABLE", what=f"the predicate {predicate}", problem=f"{name[:80]!r} cannot name a table or column")
        folded = [name.lower() for name in self.columns_of(predicate)]
        if len(set(folded)) < len(folded):
            raise Refused("NOT_COMPILABLE", what=f"the predicate {predicate}", problem="two argument names differ by case alone")

    def columns_of(self, predicate: str) -> tuple[str, ...]:
        return tuple(sorted(self.columns.get(predicate, ()))) or (LONE,)

    # --- writing ------------------------------------------------------------------------

    def write(self) -> CompiledSql:
        folded: dict[str, str] = {}
        for name in (*self.tables.values(), *self.it.concluded):
            if folded.setdefault(name.lower(), name) != name:
                raise Refused("NOT_COMPILABLE", what=f"the predicate {name}", problem=f"{folded[name.lower()]} differs from it by case alone")
        tables = [Table(predicate, name, self.columns_of(predicate)) for predicate, name in sorted(self.tables.items())]
        types = {table.predicate: {name: self._shown_type(table.predicate, name) for name in table.columns} for table in tables}
        statements = [self._create_table(table) for table in tables]
        views = []
        for layer, predicates in self.it.layers:
            for predicate in predicates:
                statements.append(self._create_view(predicate))
                views.append(View(predicate, self.columns_of(predicate), layer))
        return CompiledSql(self.dialect, self.it.layers, tuple(tables), tuple(views), tuple(statements),
                           types if self.dialect == POSTGRES else {})

    def _shown_type(self, predicate: str, name: str) -> str:
        found = self.types.get(predicate, {}).get(name)
        return TEXT if found in (None, MIXED) else found  # type: ignore[return-value]

    def _create_table(self, table: Table) -> str:
        kinds = [f" {self._shown_type(table.predicate, name).upper()}" if self.dialect == POSTGRES else "" for name in table.columns]
        columns = ", ".join(_quoted(name) + kind for name, kind in zip(table.columns, kinds))
        return f"CREATE TABLE {_quoted(table.name)} ({columns})"

    def _create_view(self, predicate: str) -> str:
        columns = self.columns_of(predicate)
        rows = [self._select_rule(rule, head) for _, rule, head in self.it.rules if head.predicate == predicate]
        rows += [self._select_total(spec) for _, spec in self.it.specs if spec.target == predicate]
        if predicate in self.tables:
            known = self.types.get(predicate, {})
            outputs = {name: _Value(f"t0.{_quoted(name)}", known.get(name)) for name in columns if name != LONE or LONE in known}
            rows.append((outputs, f"FROM {_quoted(self.tables[predicate])} t0"))
        types: dict[str, str | None] = {}
        for outputs, _ in rows:
            for name, value in outputs.items():
                types[name] = _joined(types[name], value.type) if name in types else value.type
        self.types[predicate] = types
        body = "\nUNION\n".join(self._select(columns, outputs, tail, types) for outputs, tail in rows)
        return f"CREATE VIEW {_quoted(predicate)} ({', '.join(_quoted(name) for name in columns)}) AS\n{body}"

    def _select(self, columns: Sequence[str], outputs: Mapping[str, _Value], tail: str, types: Mapping[str, str | None]) -> str:
        parts = []
        for name in columns:
            value = outputs.get(name)
            if value is not None:
                text = self._cast(value, types[name])
            elif columns == (LONE,):
                text = "1"
            else:
                text = f"CAST(NULL AS {(types.get(name) or TEXT).replace(MIXED, TEXT).upper()})" if self.dialect == POSTGRES else "NULL"
            parts.append(f"{text} AS {_quoted(name)}")
        return f"SELECT DISTINCT {', '.join(parts)}" + (f"\n{tail}" if tail else "")

    def _select_rule(self, rule: Rule, head: Literal) -> tuple[dict[str, _Value], str]:
        bound: dict[str, _Value] = {}
        sources, conditions = [], []
        for literal in (literal for literal in rule.when if joins(literal)):
            alias = f"t{len(sources) + 1}"
            sources.append(f"{_quoted(literal.predicate)} {alias}")
            conditions += self._matches(literal, alias, bound)
        for literal in (literal for literal in rule.when if not joins(literal)):
            conditions.append(self._absent(literal, bound) if literal.naf else self._compares(literal, bound))
        tail = (f"FROM {', '.join(sources)}" if sources else "") + (f"\nWHERE {' AND '.join(conditions)}" if conditions else "")
        return {name: self._operand(value, bound) for name, value in head.args}, tail.strip()

    def _matches(self, literal: Literal, alias: str, bound: dict[str, _Value]) -> list[str]:
        """Conditions under which a row is a match; variables met for the first time enter `bound`."""
        found = []
        for name, value in literal.args:
            column = _Value(f"{alias}.{_quoted(name)}", self.types.get(literal.predicate, {}).get(name))
            if is_variable(value) and value not in bound:
                bound[value] = column  # type: ignore[index]
                found.append(f"{column.text} IS NOT NULL")
            else:
                found.append(self._equal(column, self._operand(value, bound)))
        return found

    def _absent(self, literal: Literal, bound: Mapping[str, _Value]) -> str:
        conditions = self._matches(literal, "n", dict(bound))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"NOT EXISTS (SELECT 1 FROM {_quoted(literal.predicate)} n{where})"

    def _compares(self, literal: Literal, bound: Mapping[str, _Value]) -> str:
        given = [literal.get(name) for name in COMPARISONS[literal.predicate]]
        if any(value is None for value in given):
            return self._never()
        operands = [self._operand(value, bound) for value in given]  # type: ignore[arg-type]
        if literal.predicate == "eq":
            return self._equal(*operands)
        if literal.predicate == "neq":
            return f"NOT ({self._equal(*operands)})"
        if literal.predicate == "contains":
            if not all(self._may_be(value, TEXT) for value in operands):
                return self._never()
            left, right = operands
            return f"{'STRPOS' if self.dialect == POSTGRES else 'INSTR'}({left.text}, {right.text}) > 0"
        if not all(self._may_be(value, NUMERIC) for value in operands):
            return self._never()
        numbers = [self._as_number(value) for value in operands]
        if literal.predicate == "between":
            return f"({numbers[0]} >= {numbers[1]} AND {numbers[0]} <= {numbers[2]})"
        return f"{numbers[0]} {_OPERATORS[literal.predicate]} {numbers[1]}"

    def _select_total(self, spec: Spec) -> tuple[dict[str, _Value], str]:
        types = self.types.get(spec.source, {})
        conditions = [f"s.{_quoted(name)} IS NOT NULL" for name in (spec.value_arg if spec.kind != "count" else "", spec.group_by) if name]
        if spec.where:
            name, value = spec.where
            conditions.append(self._equal(_Value(f"s.{_quoted(name)}", types.get(name)), self._operand(value, {})))
        number = "*" if spec.kind == "count" else self._cast(_Value(f"s.{_quoted(spec.value_arg)}", types.get(spec.value_arg)), NUMERIC)
        outputs = {spec.out_arg: _Value(f"{spec.kind.upper()}({number})", NUMERIC)}
        tail = f"FROM {_quoted(spec.source)} s" + (f"\nWHERE {' AND '.join(conditions)}" if conditions else "")
        if not spec.group_by:
            return outputs, f"{tail}\nHAVING COUNT(*) > 0"
        group = f"s.{_quoted(spec.group_by)}"
        outputs[spec.group_by] = _Value(group, types.get(spec.group_by))
        return outputs, f"{tail}\nGROUP BY {group}"

    # --- values -------------------------------------------------------------------------

    def _operand(self, value: Scalar, bound: Mapping[str, _Value]) -> _Value:
        return bound[value] if is_variable(value) else _Value(_constant(value, self.dialect), _type_of(value))  # type: ignore[index]

    def _never(self) -> str:
        return "FALSE" if self.dialect == POSTGRES else "1 = 0"

    def _may_be(self, value: _Value, kind: str) -> bool:
        return self.dialect == STANDARD or value.type in (None, MIXED, kind)

    def _as_number(self, value: _Value) -> str:
        """The value as a number; NULL, which no comparison meets, where a column of many types holds none."""
        if self.dialect == STANDARD or value.type == NUMERIC:
            return value.text
        return f"CASE WHEN {value.text} ~ '{_NUMBER}' THEN CAST({value.text} AS NUMERIC) END"

    def _cast(self, value: _Value, wanted: str | None) -> str:
        """The value as a column of that type: a column whose type nothing shows is text so far."""
        if self.dialect == STANDARD or value.type == wanted or wanted in (None, TEXT):
            return value.text
        return self._as_text(value) if wanted == MIXED else f"CAST({value.text} AS {wanted.upper()})"

    def _as_text(self, value: _Value) -> str:
        return value.text if value.type in (TEXT, None, MIXED) else f"CAST({value.text} AS TEXT)"

    def _equal(self, left: _Value, right: _Value) -> str:
        """Equality that a column of another type never meets."""
        if self.dialect == STANDARD or left.type == right.type:
            return f"{left.text} = {right.text}"
        if None in (left.type, right.type) or MIXED in (left.type, right.type):
            return f"{self._as_text(left)} = {self._as_text(right)}"
        return self._never()


def _joined(one: str | None, other: str | None) -> str | None:
    """The type of a column that holds both."""
    if one is None or other is None or one == other:
        return one if other is None else other
    return MIXED


def _type_of(value: Scalar) -> str:
    return BOOLEAN if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMERIC


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _constant(value: Scalar, dialect: str, column: str | None = None) -> str:
    """A literal. `column` is the type of the column it goes into: a text column takes texts."""
    if isinstance(value, bool):
        plain = ("TRUE" if value else "FALSE") if dialect == POSTGRES else "1" if value else "0"
        return f"'{plain.lower()}'" if dialect == POSTGRES and column == TEXT else plain
    if not isinstance(value, str):
        return f"'{number_text(value)}'" if dialect == POSTGRES and column == TEXT else number_text(value)
    if "\0" in value:
        raise Refused("NOT_COMPILABLE", what="a text with a zero character", problem="SQL cannot hold it")
    return "'" + value.replace("'", "''") + "'"
