"""Derivations by law alone: what would still follow, and how strongly, had no Agent added a rule.

The Program keeps one support per fact, the first that came. Where that one goes through an
Agent's rule, rests on a weak premise or on a contradicted one, a better one may exist. Here
it is looked for: in what the Releases' rules alone conclude from the facts (absences are
judged there too), among all their matches, the strongest proof without a disputed premise.

Deterministic, and bounded by the number of matches tried; beyond the bound the first
derivation by law counts. Never finds what law alone does not conclude.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.board.shapes import TIER_RANK, TIERS
from rulith.board.state import BoardState, Ground
from rulith.board.totals import Totals, settle
from rulith.rules import builtins
from rulith.rules.program import Program
from rulith.rules.proofs import Computation, Support
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable

MATCHES_MAX = 20_000     # rule matches looked at for one conclusion


class Derivation:
    """A proof as chosen here: `support` of every atom it rests on (None for a stated fact) and its strength."""

    def __init__(self, supports: dict[Atom, Support | None], grounds: dict[Atom, Ground]) -> None:
        self._supports = supports
        self._grounds = grounds

    def support(self, atom: Atom) -> Support | None:
        return self._supports[atom]

    def ground(self, atom: Atom) -> Ground:
        return self._grounds[atom]


class FirstFound:
    """A Program's own supports, as they came; those of the Board itself where none is given."""

    def __init__(self, state: BoardState, law: Law | None = None) -> None:
        self._state, self._law = state, law or Law(state.program, state.totals)
        self._grounds = {} if law is not None else state.grounds

    def support(self, atom: Atom) -> Support | None:
        return None if atom in self._state.by_atom else self._law.totals.get(atom) or self._law.program.support(atom)

    def ground(self, atom: Atom) -> Ground:
        return self._law.program.fold(atom, self._grounds, self._stated, self._state.concluded)

    def _stated(self, atom: Atom) -> Ground:
        total = self._law.totals.get(atom)
        if total is None:
            return self._state.stated(atom)
        return self._state.concluded(total.rule_id, [self.ground(each) for each in total.premises], total.approximate, lambda: atom)


@dataclass(frozen=True)
class Law:
    """A closed Program and the totals among its facts."""

    program: Program
    totals: Totals


def agents_reach(state: BoardState, predicate: str) -> bool:
    """Whether any Agent's rule can bear, by presence or by absence, on what holds of `predicate`."""
    return state.cached(("agents reach", predicate), state.rules_version, lambda: _agents_reach(state, predicate))


def _agents_reach(state: BoardState, predicate: str) -> bool:
    own = {head.predicate for info in state.rules.values() if not info.law for head in info.rule.then}
    return bool(own) and not own.isdisjoint(state.depends((predicate,)))


def derivation(state: BoardState, atom: Atom) -> Derivation | FirstFound | None:
    """The strongest undisputed derivation of `atom` by law alone, or None where there is none."""
    reached = agents_reach(state, atom.predicate)
    try:
        law = law_program(state, atom.predicate) if reached else Law(state.program, state.totals)
        if not law.program.holds(atom):
            return None
        disputed = _disputed(state)
        try:
            return _Search(state, law, disputed).run(atom)
        except _TooMany:
            first = FirstFound(state, law)
            return first if reached and not _rests_on(first, atom, disputed) else None
    except Refused:
        return None      # law alone runs into a limit that the whole Board does not


def law_program(state: BoardState, predicate: str) -> Law:
    """What the Releases' rules alone conclude from the stated facts, as far as `predicate` depends on them."""
    cone = state.depends((predicate,))
    needs = (state.versions_of(cone), state.rules_version)
    return state.cached(("law", predicate), needs, lambda: _law_program(state, frozenset(cone)))


def _law_program(state: BoardState, cone: frozenset[str]) -> Law:
    program = Program(state.program.limits)
    with program.transaction() as tx:
        for info in state.rules.values():
            if info.law and not info.total and not cone.isdisjoint(head.predicate for head in info.rule.then):
                tx.add_rule(info.rule)
        for fact in sorted((fact for fact in state.facts.values() if fact.atom.predicate in cone), key=lambda fact: fact.seq):
            tx.assert_fact(fact.atom)
        totals = settle(program, tx, [row for row in state.live if row.into in cone])
    return Law(program, totals)


def _disputed(state: BoardState) -> frozenset[Atom]:
    """Atoms that stand against another one: contradicted, or in conflict over a functional dependency."""
    found = {each for atom in state.program.contradictions() for each in (atom, atom.opposite())}
    for conflict in state.program.functional_conflicts():
        found.update(conflict.atoms)
    return frozenset(found)


def _rests_on(proof: FirstFound, atom: Atom, disputed: frozenset[Atom]) -> bool:
    waiting, seen = [atom], set()
    while waiting:
        current = waiting.pop()
        if current in disputed:
            return True
        if current not in seen:
            seen.add(current)
            support = proof.support(current)
            waiting.extend(support.premises if support is not None else ())
    return False


# --- the search ------------------------------------------------------------------------


class _TooMany(Exception):
    """More matches than MATCHES_MAX."""


@dataclass
class _Match:
    """One way a rule concludes `atom`: per joined literal the facts that fit it, and the one chosen so far."""

    atom: Atom
    rule: Rule
    chosen: list[Atom | None]
    computed: tuple[Computation, ...]
    open: int = field(init=False)

    def __post_init__(self) -> None:
        self.open = len(self.chosen)


class _Search:
    """Every match below one atom, then the strongest proof settled first (Knuth's order over tiers)."""

    def __init__(self, state: BoardState, law: Law, disputed: frozenset[Atom]) -> None:
        self.state, self.program, self.totals, self.disputed = state, law.program, law.totals, disputed
        self.heads: dict[tuple[str, bool], list[tuple[Rule, Literal]]] = {}
        for info in state.rules.values():
            for head in info.rule.then if info.law and not info.total else ():
                self.heads.setdefault((head.predicate, head.negated), []).append((info.rule, head))
        self.left = MATCHES_MAX
        self.waiting: dict[Atom, list[tuple[_Match, int]]] = {}     # fact -> the places of matches it fits
        self.offers: list[deque[tuple[Atom, Ground, Support | None]]] = [deque() for _ in TIERS]
        self.supports: dict[Atom, Support | None] = {}
        self.grounds: dict[Atom, Ground] = {}

    def run(self, goal: Atom) -> Derivation | None:
        self._explore(goal)
        for offers in self.offers:
            while offers:
                atom, ground, support = offers.popleft()
                if atom in self.grounds:
                    continue
                self.grounds[atom], self.supports[atom] = ground, support
                if atom == goal:
                    return Derivation(self.supports, self.grounds)
                for match, place in self.waiting.get(atom, ()):
                    self._fill(match, place, atom)
        return None

    def _explore(self, goal: Atom) -> None:
        todo, seen = deque([goal]), {goal}
        while todo:
            atom = todo.popleft()
            if atom in self.disputed:
                continue
            if atom in self.state.by_atom:
                self._offer(atom, self.state.stated(atom), None)
            for match, fitting in self._matches(atom):
                if not fitting:
                    self._conclude(match)
                for place, facts in enumerate(fitting):
                    for fact in facts:
                        self.waiting.setdefault(fact, []).append((match, place))
                        if fact not in seen:
                            seen.add(fact)
                            todo.append(fact)

    def _matches(self, atom: Atom) -> Iterator[tuple[_Match, list[Sequence[Atom]]]]:
        total = self.totals.get(atom)
        if total is not None:            # it rests on every member of its group
            yield _Match(atom, self.state.rules[total.rule_id].rule, [None] * len(total.premises), total.computed), [(each,) for each in total.premises]
        for rule, head in self.heads.get((atom.predicate, atom.negated), ()):
            given = head_bindings(head, atom)
            if given is None:
                continue
            for bindings in self.program.solve(rule.when, given, limit=self.left + 1):
                # a bound literal may name fewer arguments than the facts that fit it
                fitting = [tuple(self.program.matching(literal.under(bindings))) for literal in rule.when if joins(literal)]
                self.left -= 1 + sum(map(len, fitting))
                if self.left < 0:
                    raise _TooMany
                yield _Match(atom, rule, [None] * len(fitting), _computed(rule, bindings)), fitting

    def _offer(self, atom: Atom, ground: Ground, support: Support | None) -> None:
        self.offers[TIER_RANK[ground.tier]].append((atom, ground, support))

    def _fill(self, match: _Match, place: int, fact: Atom) -> None:
        if match.chosen[place] is None:          # the first that comes is the strongest
            match.chosen[place] = fact
            match.open -= 1
            if match.open == 0:
                self._conclude(match)

    def _conclude(self, match: _Match) -> None:
        rounded = next((each.text() for each in match.computed if not each.exact), None)
        below = [self.grounds[fact] for fact in match.chosen]
        ground = self.state.concluded(match.rule.id, below, rounded, lambda: match.atom)
        self._offer(match.atom, ground, Support(match.rule.id, tuple(match.chosen), match.computed, rounded))


def head_bindings(head: Literal, atom: Atom) -> dict[str, Scalar] | None:
    """The variables of a conclusion under which it is this atom, or None."""
    if head.names != tuple(name for name, _ in atom.args):
        return None
    bound: dict[str, Scalar] = {}
    for (_, term), (_, value) in zip(head.args, atom.args):
        if not builtins.same(bound.setdefault(term, value) if is_variable(term) else term, value):
            return None
    return bound


def _computed(rule: Rule, bindings: dict[str, Scalar]) -> tuple[Computation, ...]:
    found = []
    for literal in rule.when:
        if literal.predicate in builtins.ARITHMETIC and not literal.naf:
            ground = literal.under(bindings)
            names = builtins.ARITHMETIC[literal.predicate]
            operands = tuple(ground.get(name) for name in names)
            result = ground.get("result")
            found.append(Computation(literal.predicate, tuple(zip(names, operands)), result,
                                     builtins.is_exact(literal.predicate, operands, result)))
    return tuple(found)
