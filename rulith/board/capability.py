"""Capability files (`rulith-capability/1`): read, check, and compile to a Release.

Finds every error at once, each with its place (`actions[1].returns[0].args`), so that an
author corrects a file in one pass. Unknown members are errors. Rules are checked for
safety and strata by the engine itself, and the file's own examples are run.

Refuses to know: Boards, Cases that are open, who may install a file.
Source  protocol/, the Capability format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.board.file_shapes import NAME, VERSION, WHOLE, ShapeReader
from rulith.board.release import Acceptance, ActionSpec, AggregateRow, CaseType, PredicateSpec, Release, TaskNode
from rulith.board.shapes import TIERS
from rulith.board.words import BUILTINS, IMPORTABLE
from rulith.rules.safety import misnamed
from rulith.rules.terms import Literal, Rule, Scalar, is_variable, normalise

FORMAT = "rulith-capability/1"
ID = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+", re.ASCII)
ALIAS = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
CASE_TYPE = re.compile(r"[a-z][a-z0-9_-]{1,63}", re.ASCII)
TOOL = re.compile(r"[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*", re.ASCII)
COLUMN = re.compile(r"\$[A-Za-z0-9_]+", re.ASCII)

PARAM_TYPES = ("string", "number", "boolean")
SCALAR_TYPES = ("string", "number", "integer", "boolean")
SOURCE_TYPES = ("db", "file", "http", "mcp", "sensor", "compute", "human")
KINDS = ("read", "write", "run")
DEADLINE_S_MAX = 10 * 366 * 86_400
AGGREGATE_KINDS = ("sum", "count", "min", "max", "avg")
AGENT_RULES = ("none", "rules_only", "rules_and_actions")
TASK_NODES_MAX = 16       # what OpenCase may list
RETURNS_MAX = 32          # as many as a Tool of a Manifest may declare
DECISION_PEOPLE_MAX = 8
DECISION_EXPIRES_S = 7 * 86_400

NO_PREDICATE = PredicateSpec("", "", {}, {}, ())      # stands where a row names none

MEMBERS = ("format id version title summary vocabulary pins rules acceptance actions case_types "
           "aggregates terms examples").split()


def type_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else type(value).__name__


class CapabilityReader(ShapeReader):
    """Reads one parsed file; `problems` grows as it goes, `release()` is meaningful only while it stays empty."""

    def __init__(self, document: object) -> None:
        super().__init__(document)
        self.aliases: dict[str, str] = {}                 # alias -> full id
        self.predicates: dict[str, PredicateSpec] = {}    # full id -> what this file defines
        self.imports: set[str] = set()
        self.id = ""
        self.digest = ""

    def _types(self, value: object, place: str, *, optional: bool = False) -> dict[str, str]:
        """A map name -> type; argument types may be written {type, unit}."""
        found: dict[str, str] = {}
        if not isinstance(value, Mapping):
            self.bad(place, "it is not an object of names and types")
            return found
        for name, kind in value.items():
            if not NAME.fullmatch(name):
                self.bad(f"{place}.{name}", "the name is not lower case letters, digits and _")
            if isinstance(kind, Mapping):
                unit = kind.get("unit", "-")
                if not isinstance(unit, str) or not unit:
                    self.bad(f"{place}.{name}.unit", "it is not a non-empty text")
                else:
                    self._seen(unit, f"{place}.{name}.unit")
                kind = self._object(kind, f"{place}.{name}", "type unit", "type").get("type")
            plain = kind[:-1] if optional and isinstance(kind, str) and kind.endswith("?") else kind
            types = PARAM_TYPES if optional else SCALAR_TYPES
            if plain not in types:
                self.bad(f"{place}.{name}", f"{kind!r} is none of the types {', '.join(types)}")
                continue
            found[name] = kind
        return found

    def _source_types(self, owner: Mapping, member: str, place: str) -> tuple[str, ...]:
        found = self._list(owner, member, place)
        for index, kind in enumerate(found):
            if kind not in SOURCE_TYPES:
                self.bad(f"{place}{member}[{index}]", f"{kind!r} is none of {', '.join(SOURCE_TYPES)}")
            elif kind in found[:index]:
                self.bad(f"{place}{member}[{index}]", f"{kind!r} is named twice")
        return tuple(kind for kind in found if kind in SOURCE_TYPES)

    # --- vocabulary --------------------------------------------------------------------

    def vocabulary(self, owner: Mapping) -> None:
        vocabulary = self._object(owner.get("vocabulary", {}), "vocabulary", "defines imports", "defines")
        for index, row in enumerate(self._list(vocabulary, "defines", "vocabulary.")):
            self._define(row, f"vocabulary.defines[{index}]")
        for index, row in enumerate(self._list(vocabulary, "imports", "vocabulary.")):
            place = f"vocabulary.imports[{index}]"
            row = self._object(row, place, "id as", "id as")
            name, alias = self._text(row, "id", f"{place}."), self._text(row, "as", f"{place}.", ALIAS)
            if name and name not in IMPORTABLE:
                self.bad(f"{place}.id", f"{name!r} is no Board word that can be imported ({', '.join(IMPORTABLE)})")
            self._alias(alias, name, place)
            self.imports.add(name)

    def _define(self, row: object, place: str) -> None:
        row = self._object(row, place, "id as args sources", "id as args")
        full, alias = self._text(row, "id", f"{place}.", ID), self._text(row, "as", f"{place}.", ALIAS)
        if full and not full.startswith(self.id + "."):
            self.bad(f"{place}.id", f"{full!r} does not start with the Capability's own id {self.id!r}")
        if full in self.predicates:
            self.bad(f"{place}.id", f"{full!r} is defined twice")
        args = self._types(row.get("args", {}), f"{place}.args")
        units = {name: kind["unit"] for name, kind in (row.get("args") or {}).items()
                 if isinstance(kind, Mapping) and isinstance(kind.get("unit"), str)} if isinstance(row.get("args"), Mapping) else {}
        sources = self._source_types(row, "sources", f"{place}.")
        if self._alias(alias, full, place):
            self.predicates[full] = PredicateSpec(full, alias, args, units, sources)

    def _alias(self, alias: str, full: str, place: str) -> bool:
        if not alias or not full:
            return False
        if alias in BUILTINS:
            self.bad(f"{place}.as", f"{alias!r} is the name of a builtin")
            return False
        if alias in self.aliases:
            self.bad(f"{place}.as", f"{alias!r} is used twice")
            return False
        self.aliases[alias] = full
        return True

    # --- literals ----------------------------------------------------------------------

    def _literals(self, owner: Mapping, member: str, place: str, *, heads: bool = False,
                  out_of_range: bool = False) -> tuple[Literal, ...]:
        """The literals of one list; with `out_of_range`, one naming a number no Board can hold is left out."""
        found = []
        for index, row in enumerate(self._list(owner, member, place)):
            literal = self._literal(row, f"{place}{member}[{index}]", head=heads, out_of_range=out_of_range)
            if literal is not None:
                found.append(literal)
        return tuple(found)

    def _literal(self, row: object, place: str, *, head: bool = False, out_of_range: bool = False) -> Literal | None:
        literal = self._read_literal(row, place, out_of_range=out_of_range)
        if literal is None:
            return None
        if literal.predicate in BUILTINS:
            if head:
                self.bad(place, f"{literal.predicate} is a builtin and is never concluded")
                return None
            if wrong := misnamed(literal):
                self.bad(place, wrong)
            return literal
        full = self.aliases.get(literal.predicate)
        if full is None:
            self.bad(f"{place}.predicate", f"{literal.predicate!r} is no alias of this file's vocabulary")
            return None
        if head and literal.naf:
            self.bad(place, "`naf` belongs to bodies")
        if head and full not in self.predicates:
            self.bad(f"{place}.predicate", f"{literal.predicate!r} is imported; only the Board writes it")
        self._check_arguments(literal, full, place)
        return Literal(full, literal.args, literal.negated, literal.naf)

    def _check_arguments(self, literal: Literal, full: str, place: str) -> None:
        spec = self.predicates.get(full)
        names = spec.args if spec is not None else {name: "" for name in IMPORTABLE.get(full, ())}
        for name, value in literal.args:
            if name not in names:
                self.bad(f"{place}.args.{name}", f"{literal.predicate} has no argument of that name ({', '.join(names) or 'none'})")
            elif names[name] and not is_variable(value) and not type_fits(value, names[name]):
                self.bad(f"{place}.args.{name}", f"{value!r} is not {a_type(names[name])}")

    # --- rules and acceptance ----------------------------------------------------------

    def rules(self, owner: Mapping, version: str) -> tuple[Rule, ...]:
        found, seen = [], set()
        for index, row in enumerate(self._list(owner, "rules", "")):
            place = f"rules[{index}]"
            row = self._object(row, place, "id label when then", "id when then")
            rule_id = self._text(row, "id", f"{place}.", NAME)
            if rule_id and not self._unique(rule_id, seen, f"{place}.id"):
                continue
            label = self._text(row, "label", f"{place}.", optional=True) or rule_id
            when, then = self._literals(row, "when", f"{place}."), self._literals(row, "then", f"{place}.", heads=True)
            for number, head in enumerate(then):
                missing = [name for name in self.predicates[head.predicate].args if name not in dict(head.args)] \
                    if head.predicate in self.predicates else []
                if missing:
                    self.bad(f"{place}.then[{number}].args", f"{', '.join(missing)} is missing")
            if not then and not row.get("then"):       # a wrong conclusion has been named already
                self.bad(f"{place}.then", "a rule concludes something")
            found.append(Rule(f"{self.id}@{version}/{rule_id}", label, when, then))
        return tuple(found)

    def acceptance(self, owner: Mapping) -> dict[str, Acceptance]:
        found: dict[str, Acceptance] = {}
        for index, row in enumerate(self._list(owner, "acceptance", "")):
            place = f"acceptance[{index}]"
            row = self._object(row, place, "id label when", "id when")
            name = self._text(row, "id", f"{place}.", NAME)
            when = self._literals(row, "when", f"{place}.")
            if name in found:
                self.bad(f"{place}.id", f"{name!r} is used twice")
            if not any("?root" in literal.variables() and not literal.naf and literal.predicate in IMPORTABLE
                       for literal in when):
                self.bad(f"{place}.when", "it does not tie ?root to the Case (import case_key, case_context or root)")
            if any(variable.startswith("?rulith_") for literal in when for variable in literal.variables()):
                self.bad(f"{place}.when", "variables starting with ?rulith_ are kept for the Board")
            found[name] = Acceptance(name, self._text(row, "label", f"{place}.", optional=True) or name, when)
        return found

    # --- Actions -----------------------------------------------------------------------

    def actions(self, owner: Mapping) -> dict[str, ActionSpec]:
        found: dict[str, ActionSpec] = {}
        for index, row in enumerate(self._list(owner, "actions", "")):
            place = f"actions[{index}]"
            row = self._object(row, place, "id description tool kind source_types decision params preconditions effects returns",
                               "id description")
            name = self._text(row, "id", f"{place}.", NAME)
            full = f"{self.id}.{name}"
            if full in found:
                self.bad(f"{place}.id", f"{name!r} is used twice")
            found[full] = self._action(row, full, place)
        return found

    def _action(self, row: Mapping, full: str, place: str) -> ActionSpec:
        params = self._types(row.get("params", {}), f"{place}.params", optional=True)
        if "source" in params:
            self.bad(f"{place}.params.source", "`source` names the Source of the call and is no parameter")
        preconditions = self._literals(row, "preconditions", f"{place}.")
        effects = self._literals(row, "effects", f"{place}.", heads=True)
        bound = {variable for literal in preconditions if not literal.naf for variable in literal.variables()}
        bound |= {f"?{name}" for name in params}
        for index, effect in enumerate(effects):
            for variable in effect.variables():
                if variable not in bound:
                    self.bad(f"{place}.effects[{index}]", f"{variable} is bound by no precondition and no parameter")
        description = self._text(row, "description", f"{place}.")
        if "tool" not in row:
            if "effects" not in row:
                self.missing(f"{place}.effects", "it is missing; an Action without a Tool has nothing else to bring about")
            for member in ("kind", "source_types", "returns", "decision"):
                if row.get(member):
                    self.bad(f"{place}.{member}", "an Action without a Tool has none")
            return ActionSpec(full, description, params, preconditions, effects, release=self.digest)
        for member in ("kind", "source_types", "returns"):
            if member not in row:
                self.missing(f"{place}.{member}", "it is missing; an Action with a Tool has one")
        source_types = self._source_types(row, "source_types", f"{place}.")
        return ActionSpec(
            full, description, params, preconditions, effects, self._text(row, "tool", f"{place}.", TOOL),
            self._choice(row, "kind", f"{place}.", KINDS), source_types,
            self._returns(row, source_types, place), self._decision(row, place), self.digest)

    def _returns(self, row: Mapping, source_types: tuple[str, ...], place: str) -> tuple[Mapping, ...]:
        found, rows = [], self._list(row, "returns", f"{place}.")
        if len(rows) > RETURNS_MAX:
            self.bad(f"{place}.returns", f"it has {len(rows)} rows, more than {RETURNS_MAX}")
        for index, given in enumerate(rows[:RETURNS_MAX]):
            here = f"{place}.returns[{index}]"
            given = self._object(given, here, "predicate args", "predicate args")
            alias, args = given.get("predicate"), given.get("args")
            spec = self.predicates.get(self.aliases.get(alias, "")) if isinstance(alias, str) else None
            if spec is None:
                self.bad(f"{here}.predicate", f"{alias!r} is no alias this file defines")
                continue
            if not isinstance(args, Mapping) or set(args) != set(spec.args):
                self.bad(f"{here}.args", f"it does not name exactly {', '.join(spec.args)}")
                continue
            for name, column in args.items():
                if not isinstance(column, str) or not COLUMN.fullmatch(column):
                    self.bad(f"{here}.args.{name}", f"{column!r} is no column such as $value")
            if not set(spec.sources) & set(source_types) and source_types:
                self.bad(f"{here}.predicate", f"no Source type of this Action may attest {alias!r} ({', '.join(spec.sources) or 'none may'})")
            found.append({"predicate": spec.id, "args": dict(args)})
        return tuple(found)

    def _decision(self, row: Mapping, place: str) -> Mapping | None:
        if row.get("decision") is None:
            return None
        given = self._object(row["decision"], f"{place}.decision", "kind people expires_s", "kind")
        kind = self._text(given, "kind", f"{place}.decision.")
        if len(kind) > 200:
            self.bad(f"{place}.decision.kind", "it is longer than 200 characters")
        people, expires_s = given.get("people", 1), given.get("expires_s", DECISION_EXPIRES_S)
        if type_of(people) != "number" or people not in range(1, DECISION_PEOPLE_MAX + 1):
            self.bad(f"{place}.decision.people", f"it is not a whole number from 1 to {DECISION_PEOPLE_MAX}")
        if type_of(expires_s) != "number" or expires_s != int(expires_s) or not 1 <= expires_s <= 31_536_000:
            self.bad(f"{place}.decision.expires_s", "it is not a whole number of seconds up to a year")
        return {"kind": kind, "people": people, "expiresS": expires_s}

    # --- Case Types --------------------------------------------------------------------

    def case_types(self, owner: Mapping, acceptance: Mapping, actions: Mapping) -> dict[str, CaseType]:
        found: dict[str, CaseType] = {}
        given = owner.get("case_types", {})
        if not isinstance(given, Mapping):
            self.bad("case_types", "it is not an object of Case Types")
            return found
        for name, row in given.items():
            place = f"case_types.{name}"
            if not CASE_TYPE.fullmatch(name):
                self.bad(place, "a Case Type is named by 2 to 64 of a-z 0-9 _ -, beginning with a letter")
            elif name == "exploration":
                self.bad(place, "the name is the Board's own; give the Case Type another")
            row = self._object(row, place, "title business_key floor agent_rules task drive deadline_s",
                               "title business_key floor task")
            key = self._types(row.get("business_key", {}), f"{place}.business_key")
            if not key:
                self.bad(f"{place}.business_key", "a Case Type names at least one key argument")
            drive = []
            for index, action in enumerate(self._list(row, "drive", f"{place}.")):
                full = f"{self.id}.{action}"
                if full not in actions:
                    self.bad(f"{place}.drive[{index}]", f"{action!r} is no Action of this file")
                elif full in drive:
                    self.bad(f"{place}.drive[{index}]", f"{action!r} is named twice")
                drive.append(full)
            deadline_s = row.get("deadline_s")
            if deadline_s is not None and (type_of(deadline_s) != "number" or deadline_s != int(deadline_s) or not 1 <= deadline_s <= DEADLINE_S_MAX):
                self.bad(f"{place}.deadline_s", f"it is not a whole number of seconds from 1 to {DEADLINE_S_MAX}")
            found[name] = CaseType(
                name, self._text(row, "title", f"{place}."), key, self._choice(row, "floor", f"{place}.", TIERS),
                self._choice(row, "agent_rules", f"{place}.", AGENT_RULES, "none"),
                self._task(row, acceptance, place), tuple(drive), self.id, digest(dict(row)) if row else "", deadline_s)
        return found

    def _task(self, row: Mapping, acceptance: Mapping, place: str) -> tuple[TaskNode, ...]:
        found, seen = [], set()
        rows = self._list(row, "task", f"{place}.")
        if not 1 <= len(rows) <= TASK_NODES_MAX:
            self.bad(f"{place}.task", f"a task has 1 to {TASK_NODES_MAX} nodes")
        for index, node in enumerate(rows):
            here = f"{place}.task[{index}]"
            node = self._object(node, here, "node goal acceptance", "node goal acceptance")
            name = self._text(node, "node", f"{here}.", NAME)
            self._unique(name, seen, f"{here}.node")
            test = node.get("acceptance")
            if not isinstance(test, str) or test not in acceptance:
                self.bad(f"{here}.acceptance", f"{test!r} is no acceptance row of this file")
            found.append(TaskNode(name, self._text(node, "goal", f"{here}."), str(test)))
        return tuple(found)

    # --- the whole file ----------------------------------------------------------------

    def read(self) -> Release | None:
        document = self._object(self.document, WHOLE, " ".join(MEMBERS), "id version title vocabulary")
        if not document:
            return None
        if document.get("format", FORMAT) != FORMAT:
            self.bad("format", f"{document['format']!r} is not {FORMAT}")
        try:
            self.digest = digest(dict(document))
        except Refused as refusal:
            self.bad(WHOLE, refusal.happened)
            return None
        self.id = self._text(document, "id", "", ID)
        version = self._text(document, "version", "", VERSION)
        self.vocabulary(document)
        pins = self._pins(document)
        rules = self.rules(document, version)
        acceptance = self.acceptance(document)
        actions = self.actions(document)
        case_types = self.case_types(document, acceptance, actions)
        if not isinstance(document.get("terms", ""), str):
            self.bad("terms", "it is not a text")
        aggregates = tuple(self._aggregates(document, version, rules, actions))
        self._pins_are_kept(pins, actions)
        examples = tuple(self._example(row, index) for index, row in enumerate(self._list(document, "examples", "")))
        return Release(self.id, version, self.digest, self._text(document, "title", ""),
                       self._text(document, "summary", "", optional=True), self.predicates, pins, rules, acceptance,
                       actions, case_types, digest(document.get("terms", "")), aggregates, examples, dict(document))

    # --- aggregates --------------------------------------------------------------------

    def _aggregates(self, document: Mapping, version: str, rules: tuple[Rule, ...], actions: Mapping[str, ActionSpec]) -> Iterator[AggregateRow]:
        names: set[str] = set()
        taken = {head.predicate: f"rule {rule.label!r} concludes it too" for rule in rules for head in rule.then}
        for action in actions.values():
            taken.update({effect.predicate: f"it is an effect of {action.id}" for effect in action.effects})
            taken.update({row["predicate"]: f"{action.id} returns it" for row in action.returns})
        for index, row in enumerate(self._list(document, "aggregates", "")):
            place = f"aggregates[{index}]"
            before = len(self.problems)
            row = self._object(row, place, "id label kind source into where group_by", "kind source into")
            kind = self._choice(row, "kind", f"{place}.", AGGREGATE_KINDS, "sum")
            source, value_arg = self._over(row, "source", place, valued=kind != "count")
            into, into_arg = self._over(row, "into", place, valued=True)
            group, where = self._group(row, place, source), self._where(row, place, source)
            if len(self.problems) > before:
                continue
            self._check_into(row, place, source, into, into_arg, group)
            if into.id in taken:
                self.bad(f"{place}.into.predicate", f"{into.alias!r} is concluded by this row alone, and {taken[into.id]}")
            taken[into.id] = f"{place} concludes it too"
            name = self._text(row, "id", f"{place}.", NAME, optional=True) or into.alias
            if self._unique(name, names, f"{place}.id"):
                label = self._text(row, "label", f"{place}.", optional=True) or name
                yield AggregateRow(f"{self.id}@{version}/aggregate/{name}", label, kind, source.id, value_arg, into.id, into_arg, where, group)

    def _over(self, row: Mapping, member: str, place: str, *, valued: bool) -> tuple[PredicateSpec, str]:
        """The predicate one side of an aggregate names, and its argument of numbers."""
        here = f"{place}.{member}"
        given = self._object(row.get(member, {}), here, "predicate valueArg", "predicate valueArg" if valued else "predicate")
        alias, arg = given.get("predicate"), given.get("valueArg", "")
        spec = self.predicates.get(self.aliases.get(alias, "")) if isinstance(alias, str) else None
        if spec is None:
            if "predicate" in given:
                self.bad(f"{here}.predicate", f"{alias!r} is no alias this file defines")
            return NO_PREDICATE, ""
        if "valueArg" in given and spec.args.get(arg if isinstance(arg, str) else "") not in ("number", "integer"):
            self.bad(f"{here}.valueArg", f"{arg!r} is no number of {alias} ({', '.join(spec.args)})")
        return spec, arg if isinstance(arg, str) else ""

    def _group(self, row: Mapping, place: str, source: PredicateSpec) -> str:
        group = row.get("group_by")
        if group is not None and (not isinstance(group, str) or (source.args and group not in source.args)):
            self.bad(f"{place}.group_by", f"{group!r} is no argument of {source.alias} ({', '.join(source.args)})")
            return ""
        return group or ""

    def _where(self, row: Mapping, place: str, source: PredicateSpec) -> tuple[str, Scalar] | None:
        if row.get("where") is None:
            return None
        given = self._object(row["where"], f"{place}.where", "arg equals", "arg equals")
        arg, value = given.get("arg"), given.get("equals")
        if not isinstance(arg, str) or (source.args and arg not in source.args):
            self.bad(f"{place}.where.arg", f"{arg!r} is no argument of {source.alias} ({', '.join(source.args)})")
            return None
        try:
            value = normalise(value, f"{place}.where.equals")
        except Refused as refusal:
            self.bad(f"{place}.where.equals", refusal.happened)
            return None
        if is_variable(value) or (arg in source.args and not type_fits(value, source.args[arg])):
            self.bad(f"{place}.where.equals", f"{value!r} is not {a_type(source.args.get(arg, 'value'))}")
        return arg, value

    def _check_into(self, row: Mapping, place: str, source: PredicateSpec, into: PredicateSpec, into_arg: str, group: str) -> None:
        wanted = {into_arg, group} - {""}
        if group == into_arg:
            self.bad(f"{place}.group_by", f"{group!r} is into.valueArg as well, and one would hide the other")
        elif set(into.args) != wanted:
            self.bad(f"{place}.into.predicate", f"{into.alias} has the arguments {', '.join(into.args)}, and this row gives {', '.join(sorted(wanted))}")
        elif group and group not in source.args:
            self.bad(f"{place}.group_by", f"{source.alias} has no arguments")
        elif group and into.args[group] != source.args[group]:
            self.bad(f"{place}.group_by", f"{group} is a {source.args[group]} of {source.alias} and a {into.args[group]} of {into.alias}")
        if row["kind"] == "avg" and into.args.get(into_arg) == "integer":
            self.bad(f"{place}.into.valueArg", f"an average is no integer; declare {into_arg} as a number")

    def _pins(self, document: Mapping) -> frozenset[str]:
        found = set()
        for index, alias in enumerate(self._list(document, "pins", "")):
            full = self.aliases.get(alias) if isinstance(alias, str) else None
            if full not in self.predicates:
                self.bad(f"pins[{index}]", f"{alias!r} is no alias this file defines")
            elif full in found:
                self.bad(f"pins[{index}]", f"{alias!r} is pinned twice")
            else:
                found.add(full)
        return frozenset(found)

    def _pins_are_kept(self, pins: frozenset[str], actions: Mapping[str, ActionSpec]) -> None:
        for action in actions.values():
            for row in action.returns:
                if row["predicate"] in pins:
                    self.bad("pins", f"{row['predicate']} is pinned to rules and also returned by {action.id}")
            for effect in action.effects:
                if effect.predicate in pins:
                    self.bad("pins", f"{effect.predicate} is pinned to rules and also an effect of {action.id}")

    def _example(self, row: object, index: int) -> Mapping:
        place = f"examples[{index}]"
        row = self._object(row, place, "title given follows never", "given")
        return {"title": self._text(row, "title", f"{place}.", optional=True) or f"example {index + 1}", "place": place,
                "given": self._literals(row, "given", f"{place}."),
                "follows": self._literals(row, "follows", f"{place}."),
                "never": self._literals(row, "never", f"{place}.", out_of_range=True)}


def type_fits(value: object, kind: str) -> bool:
    """Whether a normalised scalar may stand where `kind` is asked; text that prints as a number has become one."""
    plain = kind.rstrip("?")
    if plain == "integer":
        return type_of(value) == "number" and (isinstance(value, int) or value.is_integer())
    return type_of(value) == plain or (plain == "string" and type_of(value) == "number")


def a_type(kind: str) -> str:
    """A type's name with its article."""
    return f"{'an' if kind.startswith('i') else 'a'} {kind.rstrip('?')}"
