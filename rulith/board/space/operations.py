"""Batches: operations judged and executed in order, all or nothing.

After every operation was read (reading.py) come the gates that look at the batch as a
whole; then each operation runs against what the ones before it left. Aggregates wait for
the end, since their sources may be derived in the same batch.

Source  the reasoning board, "Batches", "Operations".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rulith.base.errors import Refused
from rulith.base.limits import AGGREGATE_MEMBERS_MAX, AGGREGATES_BATCH_MAX, SPACE_LABEL_BYTES_MAX
from rulith.board.space import aggregates, critique, gates
from rulith.board.space.change import Change, fallen_ids, rule_key
from rulith.board.space.nodes import (
    ACTION, AXIOM, CONFLICT, DERIVED_PREFIX, FACT, FINDING, GOAL, HYPOTHESIS, RESULT, BatchOptions, Node, OperationResult,
    Warned, derived_id,
)
from rulith.board.space.reading import OPERATIONS, PLACEHOLDERS, SOFT_PLACEHOLDERS, Read, read_batch
from rulith.board.space.vocabulary import Signature, grown, is_ground, mismatch, names_of
from rulith.rules.builtins import BUILTINS
from rulith.rules.program import Delta
from rulith.rules.terms import Atom, Literal, Rule

__all__ = ["OPERATIONS", "PLACEHOLDERS", "Batch", "BatchResult", "run"]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did. What follows from it is listed when asked for, before the next change.

    operations           one row per operation
    satisfied_goals      ids of goals that hold now
    hypothesis_updates   hypothesis id -> new status
    withdrawn            aggregate nodes that lost their total
    """

    operations: tuple[OperationResult, ...]
    warnings: tuple[Warned, ...]
    satisfied_goals: tuple[str, ...]
    hypothesis_updates: Mapping[str, str]
    withdrawn: tuple[str, ...]
    change: Change = field(repr=False, compare=False)

    @property
    def added_count(self) -> int:
        return self._count("added_count", 0)

    @property
    def removed_count(self) -> int:
        return self._count("removed_count", 1)

    def _count(self, name: str, side: int) -> int:
        deltas = self.change.deltas
        return getattr(deltas[0], name) if len(deltas) == 1 else len(self.change.derived_changes()[side])

    def derived_changes(self) -> tuple[list[Atom], list[Atom]]:
        """Derived atoms that are new and those that are gone, net over the batch."""
        added, removed = self.change.derived_changes()
        return list(added), list(removed)

    def applied_rules(self) -> list[str]:
        """The rules behind what is new, each once."""
        space = self.change.space
        found = (space.support(atom) for atom in self.change.derived_changes()[0] if space.program.is_derived(atom))
        return list(dict.fromkeys(support.via for support in found if support is not None))


class Batch:
    """One running batch."""

    def __init__(self, change: Change, reads: Sequence[Read], options: BatchOptions) -> None:
        self.change = change
        self.space = change.space
        self.reads = reads
        self.options = options
        self.warnings: list[Warned] = []
        self.node_ids: dict[int, list[str]] = {}
        self.retracted: dict[int, tuple[list[str], list[Delta]]] = {}
        self.results: list[str] = []
        self.counted = 0                                # members of all aggregates so far
        self.sorted: dict[str, list[Atom]] = {}         # predicate -> its facts as aggregates count them, until the next closing
        self.retracting = [read.node_id for read in reads if read.op in ("retract_node", "revise_fact")]
        self.amendments = gates.Amendments(self.space, self.retracting)

    def run(self) -> BatchResult:
        self._check_rules()
        self._check_ids()
        self._check_gates()
        waiting = []
        for read in self.reads:
            if read.op == "derive_aggregate":
                waiting.append(read)
            else:
                getattr(self, f"_{read.op}")(read)
        self.change.close()
        while waiting:
            waiting = self._expand_ready(waiting)
        self.change.settle()
        gates.check_evidence(self.space, [self.space.nodes[i] for i in self.results if i in self.space.nodes])
        for read in self.reads:
            if read.rule is not None:
                self._warn_all(read, critique.rule_warnings_after(self.space, read.rule))
        for node_id in self.change.withdrawn:
            self.warnings.append(Warned(None, "AGGREGATE_WITHDRAWN", f"{node_id} lost its total: its source facts changed; derive it again"))
        return self._result()

    def _result(self) -> BatchResult:
        rows = tuple([
            OperationResult(read.index, read.op, tuple(self.node_ids.get(read.index, ())), tuple(self._gone(read.index)))
            for read in self.reads
        ])
        warnings = sorted(self.warnings, key=lambda w: len(self.reads) if w.index is None else w.index)
        return BatchResult(rows, tuple(warnings), tuple(self.space.satisfied_goals()), dict(self.change.verdicts),
                           tuple(self.change.withdrawn), self.change)

    def _gone(self, index: int) -> list[str]:
        ids, deltas = self.retracted.get(index, ((), ()))
        return sorted(dict.fromkeys([*ids, *fallen_ids(deltas)]))

    def _warn(self, read: Read, code: str, text: str) -> None:
        self.warnings.append(Warned(read.index, code, text))

    def _warn_all(self, read: Read, found: Sequence[tuple[str, str]]) -> None:
        for code, text in found:
            self._warn(read, code, text)

    def _note(self, read: Read, node_id: str) -> None:
        self.node_ids.setdefault(read.index, []).append(node_id)

    # --- before anything runs -------------------------------------------------------------

    def _check_rules(self) -> None:
        """More rules than a board holds are refused before the first is read into it."""
        count, limit = sum(1 for read in self.reads if read.rule is not None), self.space.limits.rules
        if count > limit:
            raise Refused("resource_limit", what="the number of rules of one batch", value=count, limit=limit)
        count = sum(1 for read in self.reads if read.aggregate is not None)
        if count > AGGREGATES_BATCH_MAX:
            raise Refused("resource_limit", what="the number of aggregates of one batch", value=count, limit=AGGREGATES_BATCH_MAX)

    def _check_ids(self) -> None:
        """An id is fresh, or belongs to a node that this batch retracts or revises."""
        space, seen, freed = self.space, set(), set(self.retracting)
        for read in self.reads:
            if read.id is None:
                continue
            if read.op == "derive_aggregate":
                self._check_aggregate_id(read)
                continue
            if read.id in seen or ((read.id in space.nodes or read.id in space.families) and read.id not in freed):
                raise Refused("NODE_ID_TAKEN", id=read.id)
            seen.add(read.id)

    def _check_aggregate_id(self, read: Read) -> None:
        """Running an aggregate again reuses its id; no other entry gives way to it."""
        assert read.id is not None
        space = self.space
        if read.id in space.families or read.id not in space.nodes or read.id in self.retracting:
            return
        node = space.nodes[read.id]
        gates.check_removal(space, self.options, [node.id], self.amendments, read.where)     # the sharper refusal where one fits
        raise Refused("NODE_ID_TAKEN", id=read.id)

    def _check_gates(self) -> None:
        space, options = self.space, self.options
        for read in self.reads:
            if read.atom is not None:
                gates.check_attested(options, read.atom.predicate, read.where)
            if read.rule is not None:
                gates.check_produced(options, read.rule.then, read.where)
                gates.check_contracts(options, read.rule, read.where)
            if read.action is not None:
                gates.check_produced(options, [e for e in read.action.effects if not e.negated], read.where)
            if read.aggregate is not None:
                gates.check_attested(options, read.aggregate.into, read.where)
        for read in self.reads:
            if read.rule is not None:
                gates.check_definition(space, options, [head.predicate for head in read.rule.then], self.amendments, read.where)
            if read.aggregate is not None:
                gates.check_definition(space, options, [read.aggregate.into], self.amendments, read.where)
        if any(read.op == "record_result" for read in self.reads):
            claimed = [read.atom for read in self.reads
                       if read.atom is not None and read.atom.predicate == FINDING and not read.atom.negated]
            gates.check_findings(space, claimed, self.retracting)

    # --- operations -----------------------------------------------------------------------

    def _add(self, read: Read, type: str, semantic: Any, label: str, summary: str | None = None, **fields: Any) -> Node:
        node = self.change.add(type, semantic, id=read.id, label=read.label or label, summary=read.summary or summary,
                               evidence=read.evidence, created_by=self.options.created_by, **{**read.shown, **fields})
        self._note(read, node.id)
        return node

    def _assert_fact(self, read: Read, code: str = "DUPLICATE_FACT") -> None:
        space, atom = self.space, read.atom
        assert atom is not None
        stated = space.supporting(atom)
        if stated and not self._upgrades(stated):
            self._note(read, stated[0].id)
            self._warn(read, code, f"{atom.text()} is there already as {stated[0].id}; nothing was added")
            return
        if stated or space.program.holds(atom):
            known = space.fact_id(atom)
            self._warn(read, code, f"{atom.text()} holds already as {known}; the statement stands beside it")
        odd = mismatch(space.signature(atom.predicate), atom)
        if odd is not None:
            self._warn(read, "SIGNATURE_MISMATCH", odd)
        text = atom.text()
        self._add(read, FACT, atom, text, f"Fact: {text}", trust_tier=self.options.kept_tier)

    def _upgrades(self, stated: Sequence[Node]) -> bool:
        """Does a trusted channel now vouch for what only an agent claimed?"""
        return self.options.created_by in ("tool", "system") and not any(node.is_trusted for node in stated)

    def _declare_hypothesis(self, read: Read) -> None:
        assert read.pattern is not None
        self._warn_patterns(read, [read.pattern])
        self._warn_soft(read, [read.pattern])
        self._add(read, HYPOTHESIS, read.pattern, read.pattern.text())

    def _declare_goal(self, read: Read) -> None:
        self._warn_patterns(read, read.desired)
        self._warn_soft(read, read.desired)
        self._add(read, GOAL, read.desired, " AND ".join(literal.text() for literal in read.desired)[:SPACE_LABEL_BYTES_MAX])

    def _warn_patterns(self, read: Read, literals: Sequence[Literal]) -> None:
        """Warn once where a literal's argument names fit neither the board nor the literals before it."""
        met: dict[str, Signature | None] = {}
        for literal in literals:
            if literal.predicate in BUILTINS:
                continue
            known = met[literal.predicate] if literal.predicate in met else self.space.signature(literal.predicate)
            odd = mismatch(known, literal)
            if odd is not None:
                self._warn(read, "SIGNATURE_MISMATCH", odd)
                return
            met[literal.predicate] = grown(known, names_of(literal), is_ground(literal), "")

    def _warn_soft(self, read: Read, literals: Sequence[Literal]) -> None:
        for literal in literals:
            for name, value in literal.args:
                if isinstance(value, str) and value.lower() in SOFT_PLACEHOLDERS:
                    self._warn(read, "SOFT_PLACEHOLDER", f"{literal.predicate}.{name} is {value!r}, which reads like a placeholder")

    def _add_axiom(self, read: Read) -> None:
        assert read.rule is not None
        known = self.space.rule_keys.get(rule_key(read.rule))
        if known:
            first = min(known, key=lambda node_id: self.space.nodes[node_id].seq)
            self._note(read, first)
            self._warn(read, "DUPLICATE_RULE", f"the rule is there already as {first}; nothing was added")
            read.rule = None
            return
        self._warn_patterns(read, [*read.rule.when, *read.rule.then])
        self._warn_all(read, critique.rule_warnings(read.rule))
        rule_id = read.id or self.change.mint("rule_")
        if rule_id in self.space.families:
            raise Refused("NODE_ID_TAKEN", id=rule_id)
        read.id = rule_id
        read.rule = Rule(rule_id, read.label or rule_id, read.rule.when, read.rule.then)
        self._add(read, AXIOM, read.rule, rule_id)

    def _define_action(self, read: Read) -> None:
        assert read.action is not None
        self._warn_patterns(read, [*read.action.preconditions, *read.action.effects])
        self._add(read, ACTION, read.action, read.action.name)

    def _record_result(self, read: Read) -> None:
        self.results.append(self._add(read, RESULT, None, "").id)

    def _record_conflict(self, read: Read) -> None:
        self._add(read, CONFLICT, None, "")

    def _retract_node(self, read: Read) -> None:
        space, target = self.space, read.node_id
        targets = [target] if target in space.nodes or target not in space.families else list(space.family_nodes[target])
        self._take(read, targets)

    def _revise_fact(self, read: Read) -> None:
        self._take(read, [read.node_id])
        self._assert_fact(read, "REVISE_DUPLICATE")

    def _take(self, read: Read, targets: list[str]) -> None:
        """Remove nodes with all that cites them, and close at once: what follows must see it."""
        space, change = self.space, self.change
        if not all(target in space.nodes for target in targets):
            if read.node_id.startswith(DERIVED_PREFIX):
                change.close()      # the fact may follow from operations before this one
            space.node(read.node_id)
        going = change.dependants(targets)
        gates.check_removal(space, self.options, going, self.amendments, read.where)
        removed = change.remove(going)
        before = len(change.deltas)
        change.close()
        derived = [ref for ref in going if ref.startswith(DERIVED_PREFIX)]
        totals = (space.nodes[node_id].semantic.head for node_id in change.stale_totals())  # type: ignore[union-attr]
        derived += [derived_id(head) for head in totals if head is not None]
        self.retracted[read.index] = ([*removed, *derived], change.deltas[before:])

    # --- aggregates -----------------------------------------------------------------------

    def _expand_ready(self, waiting: list[Read]) -> list[Read]:
        """Expand every aggregate whose source is there and complete; where none is, all of them, which says why not."""
        ready = [read for read in waiting if self._has_source(read)]
        fed = self._fed(waiting) if ready else {}
        ready = [read for read in ready if not fed.get(read.aggregate.source, frozenset()) - {id(read)}] or ready  # type: ignore[union-attr]
        self.sorted.clear()
        for read in ready or waiting:
            self._derive_aggregate(read)
        self.change.close()
        return [read for read in waiting if read not in ready] if ready else []

    def _fed(self, waiting: Sequence[Read]) -> dict[str, frozenset[int]]:
        """Predicate -> two of the waiting aggregates, if there are as many, that could still change it, through rules too."""
        if len(waiting) == 1:
            return {waiting[0].aggregate.into: frozenset([id(waiting[0])])}  # type: ignore[union-attr]
        leads: dict[str, set[str]] = {}
        for rule in self.space.program.rules():
            for literal in rule.when:
                leads.setdefault(literal.predicate, set()).update([head.predicate for head in rule.then])
        found: dict[str, frozenset[int]] = {}
        work = [(read.aggregate.into, id(read)) for read in waiting]  # type: ignore[union-attr]
        while work:
            predicate, origin = work.pop()
            known = found.get(predicate, frozenset())
            if origin not in known and len(known) < 2:      # two tell that one of them is another
                found[predicate] = known | {origin}
                work.extend((head, origin) for head in leads.get(predicate, ()))
        return found

    def _has_source(self, read: Read) -> bool:
        assert read.aggregate is not None
        return next((atom for atom in self.space.program.facts(read.aggregate.source) if not atom.negated), None) is not None

    def _derive_aggregate(self, read: Read) -> None:
        space, change, definition = self.space, self.change, read.aggregate
        assert definition is not None
        family = read.id or definition.default_id(space.families)
        if family in space.families:
            self._take_family(read, family)
        elif family in space.nodes:
            raise Refused("NODE_ID_TAKEN", id=family)
        self._check_conflicts(read)
        groups = aggregates.members_of(definition, self._in_canonical_order(definition.source), read.where)
        self.counted += sum(map(len, groups.values()))
        if self.counted > AGGREGATE_MEMBERS_MAX:
            raise Refused("resource_limit", what="the number of facts that the aggregates of one batch count", value=self.counted, limit=AGGREGATE_MEMBERS_MAX)
        ids = aggregates.group_ids(family, definition, groups)
        pins = {atom: ids[key] for key, members in groups.items() for atom in members}
        change.set(space.families, family, aggregates.Family(definition, ids, pins))
        change.enlist(space.watched, definition.source, family)
        for key, members in groups.items():
            total = aggregates.total_of(family, definition, key, members, read.where)
            node = change.add(AXIOM, total, id=ids[key], label=read.label or f"{definition.kind} of {definition.source}",
                              summary=read.summary, created_by=self.options.created_by, **read.shown)
            self._note(read, node.id)
            if total.value is None:
                self._warn(read, "ARITHMETIC_EXACT", f"{node.id}: the {definition.kind} has no exact place; nothing was concluded")

    def _in_canonical_order(self, source: str) -> list[Atom]:
        """The positive facts of a predicate as aggregates count them, sorted once for all that count the same."""
        if source not in self.sorted:
            atoms = [atom for atom in self.space.program.facts(source) if not atom.negated]
            self.sorted[source] = sorted(atoms, key=aggregates.canonical_order)
        return self.sorted[source]

    def _take_family(self, read: Read, family: str) -> None:
        space, change = self.space, self.change
        going = change.dependants(list(space.family_nodes[family]))
        gates.check_removal(space, self.options, going, self.amendments, read.where)
        removed = change.remove(going)
        before = len(change.deltas)
        change.close()
        self.sorted.clear()
        self.retracted[read.index] = (removed, change.deltas[before:])

    def _check_conflicts(self, read: Read) -> None:
        assert read.aggregate is not None
        for conflict in self.space.program.functional_conflicts():
            if conflict.predicate == read.aggregate.source:
                example = " against ".join(atom.text() for atom in conflict.atoms[:2])
                raise Refused("AGGREGATE_SOURCE_CONFLICT", where=read.where, predicate=conflict.predicate, example=example)


def run(change: Change, operations: object, options: BatchOptions) -> BatchResult:
    """Execute a batch in an open change. After a Refused only leaving the change is meaningful."""
    return Batch(change, read_batch(operations, options), options).run()
