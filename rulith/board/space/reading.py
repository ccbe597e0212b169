"""Operations as hosts send them, read: shape, names, values, safety, before anything runs.

Every operation of a batch is read, in order, before any gate is asked or anything moves;
the first that is not as it should be refuses the batch. Nothing here looks at a board.

Source  the reasoning board, "Batches", "Operations".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rulith.base.errors import Refused
from rulith.base.limits import RULE_BODY_MAX, SPACE_EVIDENCE_MAX, SPACE_LABEL_BYTES_MAX, SPACE_OPERATIONS_MAX, SPACE_TEXT_BYTES_MAX
from rulith.board.names import check_words, normal_form
from rulith.board.space import aggregates, gates
from rulith.board.space.nodes import (
    DERIVED_PREFIX, DERIVED_SUMMARIES, EFFECT_SUMMARY, ActionSpec, BatchOptions, is_text, text_member,
)
from rulith.rules.builtins import BUILTINS
from rulith.rules.safety import check_action, check_rule
from rulith.rules.terms import Atom, Literal, Rule, is_variable, read_atom, read_literal, read_literals

OPERATIONS = (
    "declare_goal", "assert_fact", "declare_hypothesis", "add_axiom", "derive_aggregate", "define_action",
    "record_result", "record_conflict", "retract_node", "revise_fact",
)
PLACEHOLDERS = frozenset("string number boolean integer int float double object array".split())
SOFT_PLACEHOLDERS = frozenset("value values any anything placeholder unknown tbd todo n/a na xxx".split())
RESERVED_SUMMARIES = (*DERIVED_SUMMARIES, EFFECT_SUMMARY)
#  members that give a forgotten `op` away, in this order
GUESSES = (
    (("desired",), "declare_goal"), (("when", "then"), "add_axiom"), (("effects",), "define_action"),
    (("source", "into"), "derive_aggregate"), (("nodeId", "predicate"), "revise_fact"), (("nodeId",), "retract_node"),
    (("evidenceRefs",), "record_result"), (("predicate",), "assert_fact"),
)


@dataclass(slots=True)
class Read:
    """An operation after reading: everything in it is of the right shape."""

    index: int
    op: str
    where: str
    raw: Mapping
    id: str | None = None
    label: str | None = None
    summary: str | None = None
    evidence: tuple[str, ...] = ()
    node_id: str = ""
    atom: Atom | None = None
    pattern: Literal | None = None
    desired: tuple[Literal, ...] = ()
    rule: Rule | None = None
    action: ActionSpec | None = None
    aggregate: aggregates.Definition | None = None
    shown: dict[str, float] = field(default_factory=dict)


def read_batch(operations: object, options: BatchOptions) -> list[Read]:
    """Every operation, read in order. Raises Refused for the first that is not as it should be."""
    if not isinstance(operations, (list, tuple)):
        raise Refused("OP_INVALID", where="operations", problem="it is not a list")
    if len(operations) > SPACE_OPERATIONS_MAX:
        raise Refused("resource_limit", what="the number of operations", value=len(operations), limit=SPACE_OPERATIONS_MAX)
    return [_read(operation, index, options) for index, operation in enumerate(operations)]


def unwrap(operation: object) -> object:
    """`{"assert_fact": {...}}` (a `note` beside it tolerated) as `{"op": "assert_fact", ...}`."""
    if isinstance(operation, Mapping) and "op" not in operation:
        names = [name for name in operation if name != "note"]
        if len(names) == 1 and names[0] in OPERATIONS and isinstance(operation[names[0]], Mapping):
            return {**operation[names[0]], "op": names[0]}
    return operation


def _read(operation: object, index: int, options: BatchOptions) -> Read:
    operation = unwrap(operation)
    where = f"operations[{index}]"
    if not isinstance(operation, Mapping):
        raise Refused("OP_INVALID", where=where, problem="it is not an object")
    op = operation.get("op")
    if op is None:
        guess = next((name for members, name in GUESSES if all(member in operation for member in members)), None)
        raise Refused("OP_MISSING", where=where, guess=f"; it looks like {guess}" if guess else "", known=", ".join(OPERATIONS))
    if not isinstance(op, str) or op not in OPERATIONS:
        raise Refused("OP_UNKNOWN", where=where, op=repr(op)[:80], known=", ".join(OPERATIONS))
    found = Read(index, op, f"{where} {op}", operation)
    _READERS[op](found)
    _read_common(found)
    if op in ("record_result", "record_conflict"):
        gates.check_label(options, found.label or "", found.where)
    return found


def _read_common(found: Read) -> None:
    raw, where = found.raw, found.where
    found.id = text_member(raw, "id", where)
    found.label = text_member(raw, "label", where)
    found.summary = text_member(raw, "summary", where)
    for name, value, limit in (("id", found.id, SPACE_LABEL_BYTES_MAX), ("label", found.label, SPACE_LABEL_BYTES_MAX),
                               ("summary", found.summary, SPACE_TEXT_BYTES_MAX)):
        if value is not None and len(value) > limit:
            raise Refused("resource_limit", what=f"the {name} of {where}", value=f"{len(value)} characters", limit=limit)
    if found.id is not None and found.id.startswith(DERIVED_PREFIX):
        raise Refused("PROVENANCE_FORGED", where=where, what=f"the id {found.id[:80]!r}", reserved=", ".join(RESERVED_SUMMARIES))
    if found.summary is not None and found.summary.startswith(RESERVED_SUMMARIES):
        raise Refused("PROVENANCE_FORGED", where=where, what=f"the summary {found.summary[:80]!r}", reserved=", ".join(RESERVED_SUMMARIES))
    for name in ("confidence", "activation"):
        value = raw.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
            found.shown[name] = float(value)
    refs = raw.get("evidenceRefs")
    if refs is not None:
        if not isinstance(refs, (list, tuple)) or not all(isinstance(ref, str) and ref and is_text(ref) for ref in refs):
            raise Refused("OP_INVALID", where=where, problem="`evidenceRefs` is not a list of ids")
        if len(refs) > SPACE_EVIDENCE_MAX:
            raise Refused("resource_limit", what=f"the evidence of {where}", value=len(refs), limit=SPACE_EVIDENCE_MAX)
        too_long = next((ref for ref in refs if len(ref) > SPACE_TEXT_BYTES_MAX), None)
        if too_long is not None:
            raise Refused("resource_limit", what=f"a reference of {where}", value=f"{len(too_long)} characters", limit=SPACE_TEXT_BYTES_MAX)
        found.evidence = tuple(dict.fromkeys(refs))


def _atom_members(raw: Mapping) -> dict[str, Any]:
    return {name: raw[name] for name in ("predicate", "args", "negated", "naf") if name in raw}


def _check_names(said: Iterable[Atom | Literal], where: str) -> None:
    """Predicates and argument names are what they look like. Values may hold any text."""
    for each in said:
        for name in (each.predicate, *(name for name, _ in each.args)):
            if not name.isascii() or not name.isidentifier():
                try:
                    check_words(name, f"{where}: the name")
                except Refused as refused:
                    raise Refused("ATOM_INVALID", where=where, problem=f"the name {ascii(name[:60])}: {refused.facts['why']}") from None
                if normal_form("NFC", name) != name:
                    problem = f"the name {ascii(name[:60])} is not composed (NFC): it looks like another"
                    raise Refused("ATOM_INVALID", where=where, problem=problem)


def _read_fact(found: Read) -> None:
    _check_not_builtin(found, "stated as a fact")
    found.atom = read_atom(_atom_members(found.raw), found.where)
    _check_names([found.atom], found.where)


def _check_not_builtin(found: Read, use: str) -> None:
    if found.raw.get("predicate") in BUILTINS:
        raise Refused("BUILTIN_RESERVED", predicate=found.raw["predicate"], use=use)


def _read_hypothesis(found: Read) -> None:
    _check_not_builtin(found, "hypothesised")
    found.pattern = read_literal(_atom_members(found.raw), found.where)
    _check_names([found.pattern], found.where)
    _check_desired([found.pattern], found.where)


def _read_goal(found: Read) -> None:
    desired = found.raw.get("desired")
    if desired is None or (isinstance(desired, (list, tuple)) and not desired):
        raise Refused("GOAL_EMPTY", where=found.where)
    if isinstance(desired, (list, tuple)) and len(desired) > RULE_BODY_MAX:
        raise Refused("resource_limit", what=f"the number of atoms that {found.where} desires", value=len(desired), limit=RULE_BODY_MAX)
    found.desired = read_literals(desired, f"{found.where} desired")
    _check_names(found.desired, found.where)
    _check_desired(found.desired, found.where)


def _check_desired(literals: Sequence[Literal], where: str) -> None:
    for literal in literals:
        if literal.naf:
            raise Refused("ATOM_INVALID", where=where, problem="`naf` belongs to rule bodies; what is desired is stated, or `negated`")
        for name, value in literal.args:
            if isinstance(value, str) and not is_variable(value) and (value.lower() in PLACEHOLDERS or "|" in value):
                raise Refused("PLACEHOLDER_VALUE", where=f"{where} {literal.predicate}.{name}", value=value)


def _read_axiom(found: Read) -> None:
    when = read_literals(found.raw.get("when"), f"{found.where} when")
    then = read_literals(found.raw.get("then"), f"{found.where} then")
    _check_names([*when, *then], found.where)
    shown = text_member(found.raw, "id", found.where) or text_member(found.raw, "label", found.where) or "(new)"
    found.rule = Rule(shown, shown, when, then)
    check_rule(found.rule)


def _read_action(found: Read) -> None:
    name = found.raw.get("action")
    if not isinstance(name, str) or not name:
        raise Refused("OP_INVALID", where=found.where, problem="`action` is not the action's name")
    preconditions = read_literals(found.raw.get("preconditions") or [], f"{found.where} preconditions")
    effects = read_literals(found.raw.get("effects") or [], f"{found.where} effects")
    _check_names([*preconditions, *effects], found.where)
    check_action(name, preconditions, effects)
    found.action = ActionSpec(name, preconditions, effects)


def _read_aggregate(found: Read) -> None:
    found.aggregate = aggregates.read_definition(found.raw, found.where)


def _read_target(found: Read) -> None:
    node_id = found.raw.get("nodeId")
    if not isinstance(node_id, str) or not node_id:
        raise Refused("NODE_ID_REQUIRED", where=found.where)
    found.node_id = node_id


def _read_revision(found: Read) -> None:
    _read_fact(found)
    _read_target(found)


def _read_note(found: Read) -> None:
    """A result or conflict has nothing but common members."""


_READERS = {
    "declare_goal": _read_goal, "assert_fact": _read_fact, "declare_hypothesis": _read_hypothesis, "add_axiom": _read_axiom,
    "derive_aggregate": _read_aggregate, "define_action": _read_action, "record_result": _read_note,
    "record_conflict": _read_note, "retract_node": _read_target, "revise_fact": _read_revision,
}
