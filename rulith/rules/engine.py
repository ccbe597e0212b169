"""The closure: what follows from the base facts, kept up to date change by change.

Strata are completed from below. Within one, what lost its support goes first
(over-deletion along stored supports), then what has another proof returns (one search
backwards from each lost fact), then insertions propagate as deltas, round by round.
Every derived fact keeps exactly one support; supports never form a cycle, because a
support is stored when the fact appears and cites only facts that were already there.

Nothing here depends on a clock, on hash seeds, or on which indexes happen to exist: a
replay of the same transactions, refused ones left out, gives the same rows in the same
order with the same supports.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from rulith.base import limits as bounds
from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.rules.bodies import Body, Guard, Join
from rulith.rules.generate import compiled
from rulith.rules.heads import RuleHead
from rulith.rules.journal import Journal
from rulith.rules.relations import SMALL, Key, Relation, Relations, Row, Sign
from rulith.rules.strata import stratify
from rulith.rules.terms import Rule
from rulith.rules.values import Values

_GROUND = -1    # the stratum of predicates that no rule concludes
_SUM = 1 << 256
_DIGEST_BACKLOG_MAX = 50_000   # change lists kept before the digest absorbs them

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


class Change:
    """What one closing changed: derived keys that appeared and disappeared."""

    __slots__ = ("added", "removed")

    def __init__(self) -> None:
        self.added: list[tuple[Relation, list[Key]]] = []
        self.removed: list[tuple[Relation, list[Key]]] = []


class Engine:
    """Facts, rules and their closure, on interned keys."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.values = Values()
        self.relations = Relations()
        self.rules: dict[str, Rule] = {}
        self.heads: dict[int, RuleHead] = {}
        self.next_number = 1
        self.steps = 0
        self.base_count = 0
        self.derived_count = 0
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
        self.rules[rule.id] = rule
        self.stale = True
        numbered = [body.terms(head) for head in rule.then]   # all first: heads share the body's constants
        for head, terms in zip(rule.then, numbered):
            sign, names = (head.predicate, head.negated), head.names
            relation = self.relations.find(sign, names) or self.create(sign, names)
            made = RuleHead(rule, head, terms, body, self.next_number, relation, self.relations, self.values)
            self.next_number += 1
            self.heads[made.number] = made
            self.new_heads.append(made)

    def remove_rule(self, rule_id: str) -> None:
        del self.rules[rule_id]
        self.stale = True
        going = [head for head in self.heads.values() if head.rule.id == rule_id and head not in self.gone_heads]
        for head in going:
            if head in self.new_heads:
                self.new_heads.remove(head)
                del self.heads[head.number]
            else:
                self.gone_heads.append(head)

    def create(self, sign: Sign, names: tuple[str, ...]) -> Relation:
        relation = self.relations.create(sign, names)
        assert self.journal is not None
        self.journal.created.append(relation)
        return relation

    def _restratify(self) -> None:
        self.strata = stratify(self.rules.values())
        self.stale = False
        self.uses_version += 1
        self.uses = {}
        self.concluding = {}
        gone = {head.number for head in self.gone_heads}
        for head in self.heads.values():
            if head.number in gone:
                continue
            head.stratum = self.strata[head.sign]
            if head.body.never:
                continue
            self.concluding.setdefault(head.relation, []).append(head)
            for part in (*head.body.joins, *head.body.guards):
                shape = head.shapes[part.index]
                if shape is not None:
                    self.uses.setdefault(shape.sign, []).append((head, part, frozenset(shape.names)))

    def uses_of(self, relation: Relation) -> dict[int, tuple[list[Use], list[Use]]]:
        """By stratum: the rule heads that join this relation's facts, and those that ask for their absence."""
        if relation.uses_version != self.uses_version:
            found: dict[int, tuple[list[Use], list[Use]]] = {}
            names = set(relation.names)
            for head, part, wanted in self.uses.get(relation.sign, ()):
                if wanted <= names:
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
        return bool(self.stale or self.new_heads or self.gone_heads
                    or any(self.arrived.values()) or any(self.leaving.values()))

    # closing
    def close(self) -> Change:
        """Bring everything that follows up to date. Raises Refused; the caller rolls back.

        The cycle collector rests meanwhile: a closure makes nothing but tuples of integers,
        which form no cycles, and walking them again and again cost a third of the time.
        """
        collecting = gc.isenabled()
        gc.disable()
        self.sound = False
        try:
            change = self._close()
        finally:
            if collecting:
                gc.enable()
        self.sound = True
        return change

    def _close(self) -> Change:
        if self.stale:
            self._restratify()
        change = _Closing(self).run()
        for head in self.gone_heads:
            del self.heads[head.number]
            for place in [place for place in head.relation.citers if place[0] == head.number]:
                del head.relation.citers[place]
        self.arrived, self.leaving, self.new_heads, self.gone_heads = {}, {}, [], []
        return change

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

    # rollback
    def begin(self) -> Journal:
        assert self.journal is None, "one transaction at a time"
        self.journal = Journal(self)
        return self.journal


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


class _Closing:
    """One run of the closure: strata from below, each once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.change = Change()
        self.heap: list[int] = []
        self.scheduled: set[int] = set()
        self.plus: dict[Relation, list[list[Key]]] = {}
        self.minus: dict[Relation, list[Key]] = {}
        self.below: dict[int, dict[Relation, None]] = {}   # stratum -> changed relations it reads
        self.arrived = self._grouped(engine.arrived)
        self.leaving = self._grouped(engine.leaving)
        self.new: dict[int, list[RuleHead]] = {}
        self.gone: dict[int, list[RuleHead]] = {}
        for head in engine.new_heads:
            if not head.body.never:
                self.new.setdefault(head.stratum, []).append(head)
                self._schedule(head.stratum)
        for head in engine.gone_heads:
            stratum = engine.strata.get(head.sign, _GROUND)
            self.gone.setdefault(stratum, []).append(head)
            self._schedule(stratum)

    def _grouped(self, changes: dict[Relation, dict[Key, None]]) -> dict[int, dict[Relation, list[Key]]]:
        found: dict[int, dict[Relation, list[Key]]] = {}
        for relation, keys in changes.items():
            if keys:
                stratum = self.engine.strata.get(relation.sign, _GROUND)
                found.setdefault(stratum, {})[relation] = list(keys)
                self._schedule(stratum)
        return found

    def _schedule(self, stratum: int) -> None:
        if stratum not in self.scheduled:
            self.scheduled.add(stratum)
            heappush(self.heap, stratum)

    def run(self) -> Change:
        while self.heap:
            self._complete(heappop(self.heap))
        return self.change

    def _complete(self, stratum: int) -> None:
        engine = self.engine
        dead = _Deletion(self, stratum).run()
        grown: dict[Relation, list[list[Key]]] = {}
        pending: dict[Relation, list[Key]] = dict(self.arrived.get(stratum, {}))
        for relation, keys in pending.items():
            grown[relation] = [keys]
        for relation, keys in self._rederive(dead).items():
            grown.setdefault(relation, []).append(keys)
            pending[relation] = pending.get(relation, []) + keys
        self._start(stratum, pending)
        fresh = engine.flush()
        for relation, keys in fresh.items():
            grown.setdefault(relation, []).append(keys)
            pending[relation] = pending[relation] + keys if relation in pending else keys
        self._rounds(stratum, pending, grown)
        self._conclude(stratum, dead, grown)

    def _rederive(self, dead: dict[Relation, dict[Key, tuple | None]]) -> dict[Relation, list[Key]]:
        """Search each lost fact another proof from what is left."""
        engine = self.engine
        for relation, lost in dead.items():
            heads = engine.concluding.get(relation, ())
            remaining = list(lost)
            for head in heads:
                if not remaining:
                    break
                before = len(relation.fresh)
                out = engine.out_of(relation)
                engine.steps += len(remaining) + head.run(
                    "find", "head", remaining, out.append, engine.values, engine.limits.bindings)
                if len(out) > before:
                    remaining = [key for key in remaining if key not in relation.rows]
        return engine.flush()

    def _derive(self, head: RuleHead, start: Join | Guard | None, delta: list[Row] | None,
                pending: dict[Relation, list[Key]]) -> None:
        engine = self.engine
        if head.lacks_rows(pending, start):
            return
        out = engine.out_of(head.relation)
        engine.steps += (len(delta) if delta else 1) + head.run(
            "derive", start, delta, out.append, engine.values, engine.limits.bindings)

    def _start(self, stratum: int, pending: dict[Relation, list[Key]]) -> None:
        """First round: what changed below, and rules that are new."""
        new = self.new.get(stratum, ())
        for head in new:
            self._derive(head, None, None, pending)
        numbers = {head.number for head in new}
        for relation in self.below.get(stratum, ()):
            joined, absent = self.engine.uses_of(relation)[stratum]
            plus = self.gained(relation) if joined else []
            if plus:
                for head, part in joined:
                    if head.number not in numbers:
                        self._derive(head, part, _rows(head, part, relation, plus), pending)
            if minus := self.minus.get(relation):
                for head, part in absent:
                    if head.number not in numbers:
                        self._derive(head, part, _rows(head, part, relation, minus), pending)

    def gained(self, relation: Relation) -> list[Key]:
        """All keys that a completed relation gained."""
        lists = self.plus.get(relation, [])
        if len(lists) > 1:
            lists = self.plus[relation] = [[key for keys in lists for key in keys]]
        return lists[0] if lists else []

    def _rounds(self, stratum: int, delta: dict[Relation, list[Key]], grown: dict[Relation, list[list[Key]]]) -> None:
        engine = self.engine
        rounds = 0
        none: dict[Relation, list[Key]] = {}
        while delta:
            rounds += 1
            if rounds > engine.limits.rounds:
                names = ", ".join(sorted({relation.sign[0] for relation in delta}))
                raise Refused("CLOSURE_DIVERGED", predicates=names, limit=engine.limits.rounds)
            for relation, keys in delta.items():
                uses = engine.uses_of(relation).get(stratum)
                if uses is not None:
                    for head, part in uses[0]:
                        self._derive(head, part, _rows(head, part, relation, keys), none)
            delta = engine.flush()
            for relation, keys in delta.items():
                grown.setdefault(relation, []).append(keys)

    def _conclude(self, stratum: int, dead: dict[Relation, dict[Key, tuple | None]],
                  grown: dict[Relation, list[list[Key]]]) -> None:
        """Settle what this stratum gained and lost, and tell the strata above."""
        for relation, lists in grown.items():
            lost = dead.get(relation)
            plus = _returned(relation, lists, lost, self.change) if lost else lists
            for keys in plus:
                if keys and relation.rows[keys[0]] is not None:   # a list is all derived or all asserted
                    self.change.added.append((relation, keys))
            self.plus[relation] = plus
        for relation, lost in dead.items():
            removed = [key for key, support in lost.items() if support is not None]
            if removed:
                self.change.removed.append((relation, removed))
            if lost:
                self.minus[relation] = list(lost)
        for relation in {**dict.fromkeys(grown), **dict.fromkeys(dead)}:
            if any(self.plus.get(relation, ())) or relation in self.minus:
                for above in self.engine.uses_of(relation):
                    if above != stratum:
                        self.below.setdefault(above, {})[relation] = None
                        self._schedule(above)


def _returned(relation: Relation, lists: list[list[Key]], lost: dict[Key, tuple | None], change: Change) -> list[list[Key]]:
    """The keys that are new, not merely back with another support; those that are back leave `lost`."""
    plus: list[list[Key]] = []
    for keys in lists:
        back = [key for key in keys if key in lost]
        if back:
            keys = [key for key in keys if key not in lost]
            became = [key for key in back if lost.pop(key) is None and relation.rows[key] is not None]
            if became:
                change.added.append((relation, became))   # was asserted only, is derived now
        plus.append(keys)
    return plus


def _rows(head: RuleHead, part: Join | Guard, relation: Relation, keys: list[Key]) -> list[Row]:
    """`keys` as the literal sees them."""
    shape = head.shapes[part.index]
    assert shape is not None
    if shape.names == relation.names:
        return keys
    return [shape.row(relation, key) for key in keys]


class _Deletion:
    """Over-deletion in one stratum: every fact whose stored support no longer stands."""

    def __init__(self, closing: _Closing, stratum: int) -> None:
        self.closing = closing
        self.engine = closing.engine
        self.stratum = stratum
        self.dead: dict[Relation, dict[Key, tuple | None]] = {}
        self.queue: list[tuple[Relation, list[Key]]] = []
        self.unsupported: dict[Relation, list[Key]] = {}

    def run(self) -> dict[Relation, dict[Key, tuple | None]]:
        """The dead facts with the supports they had, taken out of their relations, in canonical order."""
        closing, engine = self.closing, self.engine
        for relation, keys in closing.leaving.get(self.stratum, {}).items():
            self._kill(relation, keys)
        for head in closing.gone.get(self.stratum, ()):
            number, rows = head.number, head.relation.rows
            self._kill(head.relation, [k for k, support in rows.items() if support is not None and support[0] == number])
        for relation in closing.below.get(self.stratum, ()):
            if minus := closing.minus.get(relation):
                self._propagate(relation, minus)
            absent = engine.uses_of(relation)[self.stratum][1]
            plus = closing.gained(relation) if absent else []
            if plus:
                for head, part in absent:
                    self._contradict(head, part, _rows(head, part, relation, plus))  # type: ignore[arg-type]
        while self.queue:
            self._propagate(*self.queue.pop())
        return self._take_out()

    def _kill(self, relation: Relation, keys: list[Key]) -> None:
        if not keys:
            return
        dead = self.dead.setdefault(relation, {})
        killed = []
        for key in keys:
            if key in dead:
                continue
            support = relation.rows[key]
            if key in relation.base:
                if support is not None:
                    self.engine.drop_support(relation, key)
                    self.unsupported.setdefault(relation, []).append(key)
                continue
            dead[key] = support
            killed.append(key)
        if killed:
            self.queue.append((relation, killed))

    def _propagate(self, relation: Relation, keys: list[Key]) -> None:
        """Everything in this stratum whose support cites one of `keys` falls."""
        engine = self.engine
        uses = engine.uses_of(relation).get(self.stratum)
        if uses is None:
            return
        for head, part in uses[0]:
            assert isinstance(part, Join)
            number, slot, rows = head.number, part.slot, head.relation.rows
            cited = engine.citers(head, slot)
            if not cited:
                continue
            fallen: list[Key] = []
            for row in _rows(head, part, relation, keys):
                for key in cited.get(row, ()):
                    engine.steps += 1
                    support = rows.get(key)
                    if support is not None and support[0] == number and support[slot] == row:
                        fallen.append(key)
            self._kill(head.relation, fallen)

    def _contradict(self, head: RuleHead, guard: Guard, rows: list[Row]) -> None:
        """Everything that rested on the absence of a fact that is now there falls."""
        fallen: list[Key] = []
        self.engine.steps += len(rows) + head.run(
            "kill", guard, rows, fallen.append, self.engine.values, self.engine.limits.bindings)
        self._kill(head.relation, fallen)

    def _take_out(self) -> dict[Relation, dict[Key, tuple | None]]:
        engine = self.engine
        found: dict[Relation, dict[Key, tuple | None]] = {}
        for relation in sorted(self.dead, key=lambda r: r.number):
            dead = self.dead[relation]
            if dead:
                found[relation] = {key: dead[key] for key in sorted(dead)}
                engine.remove_rows(relation, list(found[relation]), dead)
        for relation, keys in sorted(self.unsupported.items(), key=lambda item: item[0].number):
            self.closing.change.removed.append((relation, sorted(keys)))
        return found
