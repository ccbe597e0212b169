"""The state of a Program: rules tied to relations, base facts, pending changes, the digest.

Keeps what closing.py brings up to date. Facts are interned keys here; atoms begin in
program.py and explain.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rulith.base import limits as bounds
from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.rules.bodies import Body, Guard, Join
from rulith.rules.generate import compiled
from rulith.rules.heads import RuleHead
from rulith.rules.relations import SMALL, Key, Relation, Relations, Row, Sign
from rulith.rules.strata import stratify
from rulith.rules.terms import Rule
from rulith.rules.values import Values

NEVER = 1 << 62
_SUM = 1 << 256
_DIGEST_BACKLOG_MAX = 50_000   # change lists kept before the digest absorbs them

if TYPE_CHECKING:
    from rulith.rules.journal import Journal

Use = tuple[RuleHead, "Join | Guard"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Deterministic bounds; crossing one refuses the transaction."""

    facts: int = bounds.FACTS_MAX
    derived: int = bounds.DERIVED_MAX
    rules: int = bounds.RULES_MAX
    body: int = bounds.RULE_BODY_MAX
    bindings: int = bounds.JOIN_BINDINGS_MAX
    rounds: int = bounds.CLOSURE_ROUNDS_MAX
    steps: int = bounds.CLOSURE_STEPS_MAX


class Postponed(Exception):
    """A transaction would take more steps than its caller had patience for; it was taken back whole, and says nothing of its outcome."""


class Engine:
    """Facts, rules and their closure, on interned keys."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.values = Values()
        self.relations = Relations()
        self.rules: dict[str, Rule] = {}
        self.heads: dict[int, RuleHead] = {}
        self._heads_of: tuple[dict[int, RuleHead], int, dict[Sign, list[RuleHead]]] | None = None
        self.heads_version = 0  # moves with every head that comes or goes; a rollback brings another dictionary
        self.next_number = 1
        self.steps = 0
        self.restored = 0       # rows put back after deletions, by all rollbacks so far: what undoing costs
        self.base_count = 0
        self.derived_count = 0
        self.pause_at = NEVER   # the number of steps at which the open transaction is postponed
        self.sound = True       # false once a closing was refused: only a rollback helps then
        self.revision = 0       # moves with every change; answers may be cached by it
        self.journal: Journal | None = None
        # changes since the last closing
        self.arrived: dict[Relation, dict[Key, None]] = {}
        self.leaving: dict[Relation, dict[Key, None]] = {}
        self.new_heads: list[RuleHead] = []
        self.gone_heads: list[RuleHead] = []
        # strata and who reads what
        self.stale = False
        self.strata: dict[Sign, int] = {}
        self.uses: dict[Sign, list[tuple[RuleHead, Join | Guard, frozenset[str]]]] = {}
        self.concluding: dict[Relation, list[RuleHead]] = {}
        self.uses_version = 0
        # digest
        self.digest_sum = 0
        self.digest_backlog: list[tuple[Relation, list[Key], int]] = []
        # relations with fresh rows, in order of first appearance
        self.growing: dict[Relation, None] = {}

    # rules
    def add_rule(self, rule: Rule, body: Body) -> None:
        assert self.journal is not None
        self.rules[rule.id] = rule
        self.stale = self.journal.has_moved_rules = True
        numbered = [body.terms(head) for head in rule.then]   # all first: heads share the body's constants
        for head, terms in zip(rule.then, numbered):
            sign, names = (head.predicate, head.negated), head.names
            relation = self.relations.find(sign, names) or self.create(sign, names)
            made = RuleHead(rule, head, terms, body, self.next_number, relation, self.relations, self.values)
            self.next_number += 1
            self.heads[made.number] = made
            self.heads_version += 1
            self.new_heads.append(made)

    def remove_rule(self, rule_id: str) -> None:
        assert self.journal is not None
        del self.rules[rule_id]
        self.stale = self.journal.has_moved_rules = True
        going = [head for head in self.heads.values() if head.rule.id == rule_id and head not in self.gone_heads]
        for head in going:
            if head in self.new_heads:
                self.new_heads.remove(head)
                del self.heads[head.number]
                self.heads_version += 1
            else:
                self.gone_heads.append(head)

    def heads_of(self, sign: Sign) -> Sequence[RuleHead]:
        """Every head that concludes this sign, in order of the rules; those of rules removed since the last closing included."""
        known = self._heads_of
        if known is None or known[0] is not self.heads or known[1] != self.heads_version:
            found: dict[Sign, list[RuleHead]] = {}
            for head in self.heads.values():
                found.setdefault(head.sign, []).append(head)
            known = self._heads_of = self.heads, self.heads_version, found
        return known[2].get(sign, ())

    def create(self, sign: Sign, names: tuple[str, ...]) -> Relation:
        if len(self.relations.by_sign.get(sign, ())) >= bounds.ARGUMENT_SETS_MAX:
            raise Refused("resource_limit", what=f"the number of ways in which {sign[0]} names its arguments",
                          value=bounds.ARGUMENT_SETS_MAX + 1, limit=bounds.ARGUMENT_SETS_MAX)
        relation = self.relations.create(sign, names)
        assert self.journal is not None
        self.journal.created.append(relation)
        return relation

    def restratify(self) -> None:
        self.strata = stratify(self.rules.values())
        self.stale = False
        self.uses_version += 1
        self.uses = {}
        self.concluding = {}
        gone = {head.number for head in self.gone_heads}
        for head in self.heads.values():
            if head.number in gone:
                continue
            head.place(self.strata)
            if head.body.never:
                continue
            self.concluding.setdefault(head.relation, []).append(head)
            for part in (*head.body.joins, *head.body.guards):
                shape = head.shapes[part.index]
                if shape is not None:
                    self.uses.setdefault(shape.sign, []).append((head, part, shape.named))

    def uses_of(self, relation: Relation) -> dict[int, tuple[list[Use], list[Use]]]:
        """By stratum: the rule heads that join this relation's facts, and those that ask for their absence."""
        if relation.uses_version != self.uses_version:
            found: dict[int, tuple[list[Use], list[Use]]] = {}
            for head, part, wanted in self.uses.get(relation.sign, ()):
                if wanted <= relation.named:
                    kinds = found.setdefault(head.stratum, ([], []))
                    kinds[isinstance(part, Guard)].append((head, part))
            relation.uses, relation.uses_version = found, self.uses_version
        return relation.uses

    # base facts
    def assert_key(self, relation: Relation, key: Key) -> None:
        journal = self.journal
        assert journal is not None
        if key in relation.base:
            return
        self.base_count += 1
        if self.base_count > self.limits.facts:
            raise Refused("resource_limit", what="the number of asserted facts", value=self.base_count, limit=self.limits.facts)
        relation.base[key] = None
        journal.bases.append((relation, key, False))
        if key in relation.rows:
            self.leaving.get(relation, {}).pop(key, None)
            return
        relation.rows[key] = None
        keys = [key]
        journal.note(relation, keys)
        self.relations.settle(relation, keys)
        self.arrived.setdefault(relation, {})[key] = None
        self._changed(relation, keys, 1)

    def retract_key(self, relation: Relation, key: Key) -> None:
        journal = self.journal
        assert journal is not None
        if key not in relation.base:
            return
        self.base_count -= 1
        del relation.base[key]
        journal.bases.append((relation, key, True))
        if key in self.arrived.get(relation, ()):
            del self.arrived[relation][key]
            self.relations.unsettle(relation, (key,))
            del relation.rows[key]
            self._changed(relation, [key], -1)
        elif relation.rows[key] is None:
            self.leaving.setdefault(relation, {})[key] = None

    def present(self, relation: Relation, key: Key) -> bool:
        return key in relation.rows and key not in self.leaving.get(relation, ())

    def has_pending(self) -> bool:
        return self.stale or self.has_changes()

    def has_changes(self) -> bool:
        """Is anything asserted, retracted, added or removed that no closing has seen?"""
        return bool(self.new_heads or self.gone_heads or any(self.arrived.values()) or any(self.leaving.values()))

    def settled(self) -> None:
        """A closing is complete: nothing is pending any more, and removed rules leave no trace."""
        for head in self.gone_heads:
            del self.heads[head.number]
            self.heads_version += 1
            for place in [place for place in head.relation.citers if place[0] == head.number]:
                del head.relation.citers[place]
        self.arrived, self.leaving, self.new_heads, self.gone_heads = {}, {}, [], []

    # fresh rows and what becomes of them
    def out_of(self, relation: Relation) -> list[Key]:
        """The list that takes a relation's new rows until `flush`."""
        self.growing[relation] = None
        return relation.fresh

    def flush(self) -> dict[Relation, list[Key]]:
        """Settle all fresh rows: they are the next delta. Checks the limit on derived facts."""
        journal = self.journal
        assert journal is not None
        delta: dict[Relation, list[Key]] = {}
        for relation in self.growing:
            keys = relation.fresh
            if not keys:
                continue
            relation.fresh = []
            journal.note(relation, keys)
            self.relations.settle(relation, keys)
            for (number, slot), cited in relation.citers.items():
                self._cite(relation, keys, number, slot, cited)
            self._changed(relation, keys, 1)
            self.derived_count += len(keys)
            delta[relation] = keys
        self.growing = {}
        if self.derived_count > self.limits.derived:
            raise Refused("resource_limit", what="the number of derived facts", value=self.derived_count, limit=self.limits.derived)
        return delta

    def remove_rows(self, relation: Relation, keys: list[Key], supports: dict[Key, tuple | None]) -> None:
        journal = self.journal
        assert journal is not None
        journal.keep_rows(relation)
        self.relations.unsettle(relation, keys)
        rows = relation.rows
        for key in keys:
            del rows[key]
        self.derived_count -= sum(1 for key in keys if supports[key] is not None)
        self._changed(relation, keys, -1)

    def drop_support(self, relation: Relation, key: Key) -> None:
        """A base fact loses its derivation and stands as asserted alone."""
        assert self.journal is not None
        self.journal.supports.append((relation, key, relation.rows[key]))
        relation.rows[key] = None
        self.derived_count -= 1

    # who cites whom, kept per rule head and literal once something was deleted under it
    def citers(self, head: RuleHead, slot: int) -> dict[Row, Sequence[Key]]:
        """The head's conclusions by the row they cite in `slot`; entries may be stale, none is missing."""
        relation = head.relation
        if relation.cited > 4 * len(relation.rows) + 1_024:
            relation.citers, relation.cited = {}, 0
        found = relation.citers.get((head.number, slot))
        if found is None:
            found = relation.citers[head.number, slot] = {}
            self._cite(relation, relation.rows, head.number, slot, found)
        return found

    def _cite(self, relation: Relation, keys: Iterable[Key], number: int, slot: int, cited: dict[Row, Sequence[Key]]) -> None:
        rows, count = relation.rows, 0
        for key in keys:
            support = rows[key]
            if support is not None and support[0] == number:
                count += 1
                row = support[slot]
                listed = cited.get(row)
                if listed is None:
                    cited[row] = (key,)
                elif listed.__class__ is list:
                    listed.append(key)  # type: ignore[union-attr]
                else:
                    cited[row] = (*listed, key) if len(listed) < SMALL else [*listed, key]
        relation.cited += count

    def compact_values(self) -> None:
        """Forget the values that no fact and no rule holds. Between transactions only: nothing may be pending."""
        self._absorb()                          # the backlog still names rows that are gone
        used: set[int] = set()
        for relation in self.relations.numbered:
            used.update(chain.from_iterable(relation.rows))
            relation.citers, relation.cited = {}, 0     # may name rows that are gone, whose numbers now mean something else
        for head in self.heads.values():
            used.update(head.constants)
        self.values.compact(used)

    # the digest of everything that holds
    def _changed(self, relation: Relation, keys: list[Key], sign: int) -> None:
        self.revision += 1
        self.digest_backlog.append((relation, keys, sign))
        if len(self.digest_backlog) > _DIGEST_BACKLOG_MAX:
            self._absorb()

    def _absorb(self) -> None:
        total = self.digest_sum
        for relation, keys, sign in self.digest_backlog:
            total += sign * self._sum_of(relation, keys)
        self.digest_sum = total % _SUM
        self.digest_backlog = []    # a new list: a rollback may need the old one

    def _sum_of(self, relation: Relation, keys: list[Key]) -> int:
        if relation.printed is None:
            relation.printed = _printed(relation)
        source, parts = relation.printed
        return compiled(source)(keys, self.values.encoded(), hashlib.sha256, int.from_bytes, *parts)

    def closure_digest(self) -> str:
        self._absorb()
        return f"{self.digest_sum:064x}"



def _printed(relation: Relation) -> tuple[str, list[bytes]]:
    """The source of a loop summing the hashes of a relation's atoms, and the text around their values."""
    order = sorted(range(len(relation.names)), key=lambda place: relation.names[place].encode("utf-16-be"))
    parts = [b"," * (n > 0) + canonical_text(relation.names[place]).encode() + b":" for n, place in enumerate(order)]
    parts = [b'{"args":{' + part if n == 0 else part for n, part in enumerate(parts)]
    negated = b',"negated":true' if relation.sign[1] else b""
    tail = b"}" + negated + b',"predicate":' + canonical_text(relation.sign[0]).encode() + b"}"
    names = [f"p{n}" for n in range(len(parts))]
    text = " + ".join([f"{name} + E[k[{place}]]" for name, place in zip(names, order)] or ['b\'{"args":{\''])
    source = (
        f"def run(keys, E, sha256, number, {''.join(name + ', ' for name in names)}tail):\n"
        f" return sum([number(sha256({text} + tail).digest(), 'big') for k in keys])\n"
    )
    return source, [*parts, tail]
