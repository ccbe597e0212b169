"""A Program: base facts, rules, and everything that follows from them.

Changes happen inside `transaction()`; any exception there leaves the Program exactly as
it was, the order of its facts included. Between closings, `holds` and `facts` already
see asserted and retracted facts; what follows from them is seen after `close()`.

Knows no clock, no ids, no tiers and no reserved predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TypeVar

from rulith.base.errors import Refused
from rulith.base.limits import STRING_BYTES_MAX
from rulith.rules import explain, safety
from rulith.rules.bodies import Body
from rulith.rules.builtins import BUILTINS
from rulith.rules.closing import Change, close
from rulith.rules.engine import NEVER, Engine, Limits
from rulith.rules.explain import Effort
from rulith.rules.heads import Query
from rulith.rules.journal import Journal
from rulith.rules.proofs import FunctionalConflict, Lack, Node, Support
from rulith.rules.relations import Key, Relation
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable

__all__ = ["Delta", "Limits", "Program", "Tx"]

T = TypeVar("T")

_QUERIES_MAX = 512      # compiled queries kept per Program
_RESULTS_MAX = 1 << 30  # "all" bindings of a query; the join limit bounds them long before


class Delta:
    """Derived atoms that appeared, disappeared, or hold by another support, in a deterministic order.

    Counting is cheap; atoms are made when asked for. What is remembered about a support
    (a tier, a proof) is stale for `resupported` atoms and for all that rests on them.
    """

    def __init__(self, engine: Engine, change: Change) -> None:
        self._engine = engine
        self._change = change

    @property
    def added_count(self) -> int:
        return _count(self._change.added)

    @property
    def removed_count(self) -> int:
        return _count(self._change.removed)

    @property
    def resupported_count(self) -> int:
        return _count(self._change.resupported)

    @property
    def added_bare(self) -> bool:
        """Is none of the added atoms asserted as well, as of now?"""
        return all(relation.base.keys().isdisjoint(keys) for relation, keys in self._change.added if relation.base)

    @cached_property
    def added(self) -> list[Atom]:
        return self._atoms(self._change.added)

    @cached_property
    def removed(self) -> list[Atom]:
        return self._atoms(self._change.removed)

    @cached_property
    def resupported(self) -> list[Atom]:
        return self._atoms(self._change.resupported)

    def moved(self, predicates: Container[str]) -> Iterator[Atom]:
        """Positive atoms of these predicates that appeared or disappeared; other atoms are not made."""
        for relation, keys in (*self._change.added, *self._change.removed):
            if not relation.sign[1] and relation.sign[0] in predicates:
                yield from explain.atoms_of(self._engine, relation, keys)

    def _atoms(self, changes: list[tuple[Relation, list[Key]]]) -> list[Atom]:
        return [atom for relation, keys in changes for atom in explain.atoms_of(self._engine, relation, keys)]

    def __repr__(self) -> str:
        return f"Delta(added={self.added!r}, removed={self.removed!r})"


def _count(changes: list[tuple[Relation, list[Key]]]) -> int:
    return sum(len(keys) for _, keys in changes)


class Tx:
    """The hands of one transaction. Useless once its block has ended."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def assert_fact(self, atom: Atom) -> None:
        """Make `atom` a base fact; again is nothing. Refuses BUILTIN_RESERVED, ATOM_INVALID, resource_limit."""
        engine = self._engine
        if atom.predicate in BUILTINS:
            raise Refused("BUILTIN_RESERVED", predicate=atom.predicate, use="stated as a fact")
        for name, value in atom.args:
            if value.__class__ is str:
                if value[:1] == "?" and is_variable(value):  # type: ignore[index]
                    problem = f"{name}={value} is a variable; a fact names values"
                    raise Refused("ATOM_INVALID", where=atom.predicate, problem=problem)
                if len(value) > STRING_BYTES_MAX:  # type: ignore[arg-type]
                    raise Refused("resource_limit", what=f"the text of {atom.predicate}.{name}",
                                  value=len(value), limit=STRING_BYTES_MAX)  # type: ignore[arg-type]
        sign, names = (atom.predicate, atom.negated), tuple([name for name, _ in atom.args])
        relation = engine.relations.find(sign, names) or engine.create(sign, names)
        intern = engine.values.intern
        engine.assert_key(relation, tuple([intern(value) for _, value in atom.args]))

    def retract_fact(self, atom: Atom) -> None:
        """Take the base fact away; it may stay as derived. An unknown fact is nothing."""
        fact = explain.fact_of(self._engine, atom)
        if fact is not None:
            self._engine.retract_key(*fact)

    def add_rule(self, rule: Rule) -> None:
        """Refuses RULE_ID_TAKEN, RULE_UNSAFE, resource_limit; strata are checked when closing."""
        engine = self._engine
        if rule.id in engine.rules:
            raise Refused("RULE_ID_TAKEN", rule=rule.id)
        if len(engine.rules) >= engine.limits.rules:
            raise Refused("resource_limit", what="the number of rules", value=len(engine.rules) + 1, limit=engine.limits.rules)
        for what, part in (("body literals", rule.when), ("conclusions", rule.then)):
            if len(part) > engine.limits.body:
                raise Refused("resource_limit", what=f"the number of {what} of rule {rule.id}",
                              value=len(part), limit=engine.limits.body)
        safety.check_rule(rule)
        engine.add_rule(rule, Body(rule.when))

    def remove_rule(self, rule_id: str) -> None:
        """Refuses RULE_NOT_FOUND. What rested on the rule goes when closing."""
        if rule_id not in self._engine.rules:
            raise Refused("RULE_NOT_FOUND", rule=rule_id)
        self._engine.remove_rule(rule_id)

    def close(self) -> Delta:
        """Bring everything that follows up to date.

        Refuses NOT_STRATIFIABLE, JOIN_EXPLOSION, CLOSURE_DIVERGED, CONCAT_OPERAND,
        resource_limit; after a refusal only leaving the transaction by it is meaningful.
        """
        found = Delta(self._engine, close(self._engine))
        explain.check_dependencies(self._engine)
        return found

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Changes inside are taken back when the block ends, whatever happened there. Trials nest.

        Everything before must be closed: what is pending belongs to no trial. Facts only;
        rules stay as they are.
        """
        engine = self._engine
        assert not engine.has_changes(), "close before a trial"
        if engine.stale:
            close(engine)       # after a rollback: work the strata out here, once, and not in every trial
        outer, engine.journal = engine.journal, None
        journal = Journal(engine)
        try:
            yield
        finally:
            journal.undo()
            engine.journal = outer


class Transaction:
    """The block in which a Program may be changed."""

    __slots__ = ("_engine", "_journal", "_pause_after")

    def __init__(self, engine: Engine, pause_after: int | None) -> None:
        self._engine = engine
        self._pause_after = pause_after

    def __enter__(self) -> Tx:
        engine = self._engine
        if engine.values.is_crowded:
            engine.compact_values()     # not at the end: what a closing moved may still be asked for
        self._journal = Journal(engine)
        engine.pause_at = NEVER if self._pause_after is None else engine.steps + self._pause_after
        return Tx(engine)

    def __exit__(self, kind: type[BaseException] | None, problem: object, trace: object) -> None:
        engine = self._engine
        try:
            if kind is None:
                assert engine.sound, "a refused closing must leave the transaction"
                if engine.has_pending():
                    close(engine)
                    explain.check_dependencies(engine)
        except BaseException:
            kind = BaseException
            raise
        finally:
            if kind is not None:
                self._journal.undo()
            engine.journal = None
            engine.pause_at = NEVER


class Program:
    """Facts and rules, closed."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self._engine = Engine(limits)
        self.pause_after: int | None = None     # steps after which a transaction raises Postponed instead of going on
        self.asked = 0      # join steps taken by `solve`, for those who bound a search
        self._queries: dict[tuple, Query] = {}
        self._disputes: explain.Disputes | None = None
        self._conflicts: tuple[int, list[FunctionalConflict]] | None = None     # as of a revision

    @property
    def limits(self) -> Limits:
        """In force from the next change on; what is there already stays."""
        return self._engine.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._engine.limits = limits

    @property
    def steps(self) -> int:
        """Join steps taken so far by committed transactions: a deterministic measure of work."""
        return self._engine.steps

    @property
    def revision(self) -> int:
        """Moves with every fact that comes or goes."""
        return self._engine.revision

    @property
    def rules_version(self) -> int:
        """Moves whenever a closing meets other rules than the one before; answers about rules may be cached by it."""
        return self._engine.uses_version

    @property
    def restored(self) -> int:
        """Rows put back by rollbacks so far; indexes over them are built anew when next read."""
        return self._engine.restored

    @property
    def derived_count(self) -> int:
        return self._engine.derived_count

    @property
    def base_count(self) -> int:
        return self._engine.base_count

    def transaction(self) -> Transaction:
        """Open the Program for changes; it closes over them at the end, or rolls back on any exception."""
        return Transaction(self._engine, self.pause_after)

    # what holds
    def holds(self, atom: Atom) -> bool:
        return explain.fact_of(self._engine, atom) is not None

    def is_base(self, atom: Atom) -> bool:
        fact = explain.fact_of(self._engine, atom)
        return fact is not None and fact[1] in fact[0].base

    def is_derived(self, atom: Atom) -> bool:
        """Does a rule stand behind it? (It may be asserted as well.)"""
        fact = explain.fact_of(self._engine, atom)
        return fact is not None and fact[0].rows[fact[1]] is not None

    def rules(self) -> list[Rule]:
        return list(self._engine.rules.values())

    def rule(self, rule_id: str) -> Rule | None:
        return self._engine.rules.get(rule_id)

    def predicates(self) -> list[str]:
        """Every predicate that has facts, ascending."""
        relations = self._engine.relations.numbered
        return sorted({relation.sign[0] for relation in relations if relation.rows})

    def facts(self, predicate: str | None = None) -> Iterator[Atom]:
        """All facts, predicates ascending, positive before negative, each in order of appearance."""
        engine = self._engine
        signs = sorted(engine.relations.by_sign) if predicate is None else [(predicate, False), (predicate, True)]
        for sign in signs:
            for relation, key in engine.relations.in_order(sign):
                if engine.present(relation, key):
                    yield explain.atom_of(engine, relation, key)

    def derived(self) -> Iterator[Atom]:
        """Every fact that a rule stands behind, in the order of `facts`."""
        engine = self._engine
        for sign in sorted(engine.relations.by_sign):
            for relation, key in engine.relations.in_order(sign):
                if relation.rows[key] is not None and engine.present(relation, key):
                    yield explain.atom_of(engine, relation, key)

    def matching(self, literal: Literal) -> Iterator[Atom]:
        """The facts that a positive or `negated` literal matches (it may name fewer arguments), in order of appearance."""
        return explain.matching(self._engine, literal)

    def argument_names(self, predicate: str) -> list[tuple[str, ...]]:
        """The sets of argument names under which facts of `predicate` stand, positive ones first."""
        relations = self._engine.relations
        found: dict[tuple[str, ...], None] = {}
        for negated in (False, True):
            for names, relation in relations.by_sign.get((predicate, negated), {}).items():
                if relation.rows:
                    found[names] = None
        return list(found)

    def solve(self, body: Sequence[Literal], bindings: Mapping[str, Scalar] | None = None,
              limit: int | None = None) -> Iterator[dict[str, Scalar]]:
        """Distinct bindings under which `body` holds, in matching order (facts as of the last closing).

        Variables keep their `?`; `bindings` are part of every answer. Refuses CONCAT_OPERAND
        and JOIN_EXPLOSION.
        """
        given = dict(bindings or {})
        engine = self._engine
        query = self._query(tuple(body), tuple(sorted(given)))
        mark = engine.values.mark()
        try:
            numbers = tuple([engine.values.intern(given[name]) for name in query.given])
            most = _RESULTS_MAX if limit is None else max(limit, 1)
            found, steps = query.run(numbers, engine.values, most, engine.limits.bindings)
            self.asked += steps
            names, of = query.body.variables[len(query.given):], engine.values.of
            answers = [{**given, **{name: of[value] for name, value in zip(names, row)}} for row in found]
        except Refused:
            self.asked += engine.limits.bindings
            raise
        finally:
            engine.values.forget(mark)
        return iter(answers)

    def _query(self, body: tuple[Literal, ...], given: tuple[str, ...]) -> Query:
        query = self._queries.get((body, given))
        if query is None:
            if len(self._queries) >= _QUERIES_MAX:
                self._queries.clear()
                self._engine.relations.prune({s for head in self._engine.heads.values() for s in head.shapes if s is not None})
            query = self._queries[body, given] = Query(body, given, self._engine.relations)
        return query

    # why
    def support(self, atom: Atom) -> Support | None:
        """The rule and premises behind a derived atom; None for a bare base fact or an unknown atom."""
        fact = explain.fact_of(self._engine, atom)
        return None if fact is None else explain.support_of(self._engine, *fact)

    def concluded_by(self, atom: Atom) -> str | None:
        """The id of the rule behind a derived atom, without the premises; None as with `support`."""
        fact = explain.fact_of(self._engine, atom)
        return None if fact is None else explain.rule_of(self._engine, *fact)

    def citing(self, atom: Atom) -> Iterator[Atom]:
        """The derived atoms whose stored support cites this one, some perhaps twice (as of the last closing)."""
        fact = explain.fact_of(self._engine, atom)
        if fact is not None:
            for found in list(explain.citing(self._engine, *fact)):
                yield explain.atom_of(self._engine, *found)

    def fold(self, atom: Atom, memo: dict, leaf: Callable[[Atom], T],
             conclude: Callable[[str, list[T], str | None, Callable[[], Atom]], T]) -> T:
        """A value over the atom's proof: see explain.fold. Refuses ATOM_ABSENT where it does not hold.

        `memo` is the caller's: one dictionary per kind of value, emptied whenever a closing
        removed or resupported anything.
        """
        fact = explain.fact_of(self._engine, atom)
        if fact is None:
            raise Refused("ATOM_ABSENT", atom=atom.text())
        return explain.fold(self._engine, fact, memo, leaf, conclude)

    def explain(self, atom: Atom, depth_max: int = 64, nodes_max: int = 10_000) -> Node:
        """The proof tree of an atom that holds. Refuses ATOM_ABSENT where it does not."""
        fact = explain.fact_of(self._engine, atom)
        if fact is None:
            raise Refused("ATOM_ABSENT", atom=atom.text())
        return explain.tree(self._engine, fact, depth_max, nodes_max)

    def why_not(self, pattern: Literal, depth: int = 1, rule_id: str | None = None, effort: Effort | None = None) -> list[Lack]:
        """What each rule that could conclude `pattern` (or that one rule) lacks, nearest first; `depth` follows missing literals."""
        return explain.why_not(self._engine, pattern, depth, rule_id, effort)

    def lacks(self, pattern: Literal, effort: Effort) -> Iterator[Lack]:
        """The same one rule deep, one by one, in order of the rules: for those who stop early."""
        return explain.lacks(self._engine, pattern, 1, None, effort)

    # what disagrees
    def contradictions(self) -> list[Atom]:
        """The positive atom of each contradicting pair."""
        return [explain.atom_of(self._engine, *positive) for positive, _ in explain.contradictions(self._engine)]

    def functional_conflicts(self) -> list[FunctionalConflict]:
        if self._conflicts is None or self._conflicts[0] != self._engine.revision:
            self._conflicts = self._engine.revision, explain.functional_conflicts(self._engine)
        return list(self._conflicts[1])

    def disputed(self, atom: Atom) -> bool:
        """Does the atom, or what its stored proof rests on, stand in a contradiction or functional conflict?"""
        fact = explain.fact_of(self._engine, atom)
        if fact is None:
            return False
        if self._disputes is None or self._disputes.revision != self._engine.revision:
            self._disputes = explain.Disputes(self._engine)
        return self._disputes.covers(fact)

    def closure_digest(self) -> str:
        """64 hex digits: the sum, modulo 2^256, of the SHA-256 of every atom's canonical JSON.

        An atom's JSON is {"args":{...},"predicate":...}, with "negated":true for a strong negative.
        """
        return self._engine.closure_digest()
