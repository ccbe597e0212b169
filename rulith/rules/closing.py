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
from heapq import heappop, heappush

from rulith.base.errors import Refused
from rulith.base.limits import RULE_CODE_MAX, TEXT_WORK_MAX
from rulith.rules.bodies import Guard, Join
from rulith.rules.engine import Engine, Postponed
from rulith.rules.generate import Explosion, TextExplosion
from rulith.rules.heads import RuleHead
from rulith.rules.relations import Key, Relation, Row

_MANY = 2_000    # new facts after which the collector is spared their first walk
STRATIFY_STEPS = 16     # what working out the strata takes for each rule
_GROUND = -1    # the stratum of predicates that no rule concludes


class Change:
    """What one closing changed: derived keys that appeared, disappeared, or stand on another support."""

    __slots__ = ("added", "removed", "resupported")

    def __init__(self) -> None:
        self.added: list[tuple[Relation, list[Key]]] = []
        self.removed: list[tuple[Relation, list[Key]]] = []
        self.resupported: list[tuple[Relation, list[Key]]] = []


def close(engine: Engine) -> Change:
    """Bring everything that follows up to date. Raises Refused; the caller rolls back.

    The cycle collector rests meanwhile: a closure makes nothing but tuples of integers,
    which form no cycles, and walking them again and again cost a third of the time.
    """
    if _moves_nothing(engine):
        engine.settled()
        return Change()
    collecting = gc.isenabled()
    gc.disable()
    engine.sound = False
    before = engine.derived_count
    try:
        if engine.stale:
            engine.restratify()
        closing = _Closing(engine)
        if closing.journal.has_moved_rules:     # not where a rollback alone made it necessary: a replay knows nothing of that
            closing.journal.has_moved_rules = False
            closing.spend(STRATIFY_STEPS * len(engine.rules))
        change = closing.run()
        engine.settled()
    finally:
        if collecting:
            if engine.derived_count - before > _MANY and gc.get_freeze_count() == 0:
                gc.freeze()      # the pair makes everything old at once, unwalked: young tuples
                gc.unfreeze()    # by the hundred thousand would stall the next small allocation
            gc.enable()
    engine.sound = True
    return change


def _moves_nothing(engine: Engine) -> bool:
    """Only new facts came, and no rule reads them: the usual case of a fact that is merely noted."""
    return not (engine.stale or engine.new_heads or engine.gone_heads or any(engine.leaving.values())
                or any(keys and engine.uses_of(relation) for relation, keys in engine.arrived.items()))


class _Closing:
    """One run of the closure: strata from below, each once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.change = Change()
        assert engine.journal is not None
        self.journal = engine.journal
        self.budget = self.journal.began + engine.limits.steps
        self.allowed = min(self.budget, engine.pause_at)
        self.run_already: set[tuple] = set()       # (head, mode, start): functions this closing has run
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
                self.spend(len(remaining))
                self.search(head, "find", "head", remaining, out)
                if len(out) > before:
                    remaining = [key for key in remaining if key not in relation.rows]
        return engine.flush()

    def _derive(self, head: RuleHead, start: Join | Guard | None, delta: list[Row] | None,
                pending: dict[Relation, list[Key]]) -> None:
        engine = self.engine
        if head.lacks_rows(pending, start):
            return
        self._count_code(head, "derive", start)
        out = engine.out_of(head.relation)
        weight = head.body.weight
        # Before the run: one run with slow guards could overspend by far.
        self.spend(weight * len(delta) if delta is not None else 1 + (weight - 1) * head.rows_most())
        limit = min(engine.limits.bindings, (self.allowed - engine.steps) // weight)
        try:
            steps = head.run("derive", start, delta, out.append, engine.values, limit)
        except TextExplosion as explosion:
            literal = head.body.literals[explosion.index].text()
            raise Refused("resource_limit", what=f"the text work of {literal} in rule {head.rule.id}",
                          value=f"more than {TEXT_WORK_MAX} steps", limit=TEXT_WORK_MAX) from None
        except Explosion as explosion:
            if limit < engine.limits.bindings:
                self.spend(engine.limits.steps + 1)
            literal = head.body.literals[explosion.index].text()
            raise Refused("JOIN_EXPLOSION", rule=head.rule.id, literal=literal, limit=limit) from None
        self.spend(weight * steps)

    def search(self, head: RuleHead, mode: str, start: Guard | str, rows: list[Row], out: list[Key]) -> None:
        """Look for proofs or for their ends: bounded by what the closing may still spend."""
        self._count_code(head, mode, start)
        weight = head.body.weight
        self.spend((weight - 1) * len(rows))
        try:
            steps = head.run(mode, start, rows, out.append, self.engine.values, (self.allowed - self.engine.steps) // weight)
        except Explosion:
            self.spend(self.engine.limits.steps + 1)
        else:
            self.spend(weight * steps)

    def _count_code(self, head: RuleHead, mode: str, start: Join | Guard | str | None) -> None:
        """Count what a function takes to write, once for each shape, whether or not this process has written it before."""
        key = head.number, mode, start if start is None or start.__class__ is str else start.index  # type: ignore[union-attr]
        if key in self.run_already:
            return
        self.run_already.add(key)
        shape = head.shape_of(mode, start)
        if shape not in self.journal.shapes:
            self.journal.shapes[shape] = None
            self.journal.code += head.body.code + len(head.terms)
            if self.journal.code > RULE_CODE_MAX:
                raise Refused("resource_limit", what="the code of the differently shaped rules that one change moves",
                              value=f"more than {RULE_CODE_MAX} terms", limit=RULE_CODE_MAX)

    def spend(self, steps: int) -> None:
        self.engine.steps += steps
        if self.engine.steps > self.allowed:
            if self.allowed < self.budget:
                raise Postponed
            limit = self.engine.limits.steps
            raise Refused("resource_limit", what="the join steps of one change", value=f"more than {limit}", limit=limit)

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
            became = [key for key in back if lost[key] is None and relation.rows[key] is not None]
            moved = [key for key in back if lost[key] is not None]
            if became:
                change.added.append((relation, became))   # was asserted only, is derived now
            if moved:
                change.resupported.append((relation, moved))
            for key in back:
                del lost[key]
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
            fallen: list[Key] = []
            for row in _rows(head, part, relation, keys):
                for key in cited.get(row, ()):
                    support = rows.get(key)
                    if support is not None and support[0] == number and support[slot] == row:
                        fallen.append(key)
            fallen = list(dict.fromkeys(fallen))        # stale entries may name one twice, and a replay has fewer of them
            self.closing.spend(len(keys) + len(fallen))
            self._kill(head.relation, fallen)

    def _contradict(self, head: RuleHead, guard: Guard, rows: list[Row]) -> None:
        """Everything that rested on the absence of a fact that is now there falls."""
        fallen: list[Key] = []
        self.closing.spend(len(rows))
        self.closing.search(head, "kill", guard, rows, fallen)
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
