"""Which Sources an operation rests on: every premise of every derivation, and every value that a Source ever told.

Three ways lead to a Source.
- Proofs: whatever the preconditions matched, followed down through all matches of all rules
  (not only the stored support), to the facts that were stated.
- Carried: a fact that an Action brought about, or a Worker reported, carries the Sources
  that the Action itself rested on (`restsOn` in its `by`).
- Values: what the model typed, asserted as a fact, or wrote into a rule or Action of its own,
  rests on a Source as soon as a fact that rests on it shares the value; see `shares`. Values of facts that are gone
  are remembered for good. A value of the Case's own business key counts only for what was
  told before the Case opened: later, a Source merely repeats it.

Absence is followed nowhere: what only a `naf` literal read has no Source. Bounded by the
matches tried and the facts compared; beyond, everything that any Source told is a premise.

Refuses to know: what may rest on what (constitution.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rulith.base.errors import Refused
from rulith.board.constitution import Rest
from rulith.board.law_proofs import head_bindings
from rulith.board.state import ASSERTED, BoardState, Case, Fact, RuleInfo
from rulith.board.words import CASE_KEY, is_board_word
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Scalar, scalar_text

MATCHES_MAX = 20_000      # rule matches followed for one operation
FACTS_MAX = 50_000        # facts whose values are compared for one operation
PREMISE_MAX = 200         # characters of one premise's text
WITHIN_MIN = 3            # a shorter value is not looked for inside a text


class _TooMany(Exception):
    """More matches than are followed."""


def rests_of(state: BoardState, case: Case, premises: Iterable[Atom], typed: Mapping[str, Scalar]) -> tuple[Rest, ...]:
    """What an operation of `case` rests on, each premise once.

    premises  the facts that its preconditions matched
    typed     arguments that no precondition bound: the model's own word
    """
    try:
        return tuple(dict.fromkeys(_followed(state, case, list(premises), typed)))
    except (_TooMany, Refused):
        return tuple(dict.fromkeys(_everything(state)))


def sources_of(rests: Iterable[Rest]) -> list[list[str]]:
    """[source, tier] of every Source among the premises, sorted: what a fact carries on."""
    return [list(pair) for pair in sorted({(rest.source, rest.tier) for rest in rests if rest.source})]


def may_be_read(state: BoardState, sources: Iterable[Sequence[str]]) -> None:
    """The Agent has a reference to content of these: whatever its model says from now on may be what it read there."""
    known = state.told.get(None, {})
    state.journal.put(state.told, None, {**{source: (tier, state.last_seq) for source, tier in sources}, **known})


def _followed(state: BoardState, case: Case, premises: list[Atom], typed: Mapping[str, Scalar]) -> Iterator[Rest]:
    reach = _Reach(state)
    words: list[Scalar] = list(typed.values())
    for name in typed:
        yield Rest(f"the argument {name}", "", ASSERTED)
    for fact in reach.leaves(premises):
        yield from _said(fact)
        if ASSERTED in (fact.origin, fact.tier):
            words += [value for _, value in fact.atom.args]
    words += reach.spoken
    if words:
        yield from _told(state, case, reach, words)


def _said(fact: Fact) -> Iterator[Rest]:
    text = fact.atom.text()[:PREMISE_MAX]
    yield Rest(text, fact.by.get("source") or "", fact.tier)
    for source, tier in fact.by.get("restsOn", ()):
        yield Rest(text, source, tier)


def _from_sources(facts: Iterable[Fact]) -> Iterator[Rest]:
    for fact in facts:
        for rest in _said(fact):
            if rest.source:
                yield rest


def _everything(state: BoardState) -> Iterator[Rest]:
    yield from _from_sources(sorted(state.facts.values(), key=lambda fact: fact.seq))
    for told in state.told.values():
        for source, (tier, _) in told.items():
            yield Rest("a fact that is gone", source, tier)


# --- values ----------------------------------------------------------------------------


def _told(state: BoardState, case: Case, reach: _Reach, words: Sequence[Scalar]) -> Iterator[Rest]:
    """The Sources behind every fact that shares one of these values."""
    known = list(dict.fromkeys((value.__class__ is bool, value) for value in words))
    wanted = [value for _, value in known]
    opened = _key_opened(state, case)
    for atom in _telling(state):
        reach.look()
        values = [value for _, value in atom.args if any(shares(value, each) for each in wanted)]
        if values:
            before = max(opened.get(value, state.last_seq + 1) for value in values)
            yield from _from_sources(fact for fact in reach.leaves([atom]) if fact.seq < before)
    for value, told in state.told.items():
        reach.look()
        if value is None or any(shares(value, each) for each in wanted):
            for source, (tier, seq) in told.items():
                if seq < opened.get(value, state.last_seq + 1):
                    yield Rest("a fact that is gone", source, tier)


def _telling(state: BoardState) -> Iterator[Atom]:
    """The facts of every predicate of which a Source told, and of those that rules conclude from them."""
    reached = dict.fromkeys(state.sourced)
    readers: dict[str, list[str]] = {}
    for info in state.rules.values():
        for literal in info.rule.when:
            readers.setdefault(literal.predicate, []).extend(head.predicate for head in info.rule.then)
    waiting = list(reached)
    while waiting:
        fresh = [name for name in readers.get(waiting.pop(), ()) if name not in reached]
        reached.update(dict.fromkeys(fresh))
        waiting += fresh
    for predicate in sorted(reached):
        if not is_board_word(predicate):
            yield from state.program.facts(predicate)


def _key_opened(state: BoardState, case: Case) -> dict[Scalar, int]:
    """When the Case stated each value of its business key, as the place in the order of writing."""
    found = {}
    for name, value in (case.business_key or {}).items():
        atom = Atom.of(CASE_KEY, {"root": case.root, "name": name, "value": value})
        found[value] = min((state.facts[fact_id].seq for fact_id in state.by_atom.get(atom, ())), default=0)
    return found


def shares(left: Scalar, right: Scalar) -> bool:
    """Equal values, or one stands as whole words in the other's text, letters compared without case.

    True and false are in everything and count for nothing.
    """
    if left.__class__ is bool or right.__class__ is bool:
        return False
    if left == right:
        return True
    if left.__class__ is not str and right.__class__ is not str:
        return False
    one, other = scalar_text(left).casefold(), scalar_text(right).casefold()
    short, long = (one, other) if len(one) < len(other) else (other, one)
    if len(short) < WITHIN_MIN or len(short) == len(long) or short not in long:
        return short == long
    at = long.find(short)
    while at >= 0:
        end = at + len(short)
        if not (long[at - 1:at].isalnum() and short[0].isalnum()) and not (long[end:end + 1].isalnum() and short[-1].isalnum()):
            return True
        at = long.find(short, at + 1)
    return False


# --- proofs ----------------------------------------------------------------------------


class _Reach:
    """Stated facts under atoms, through every match of every rule. One bound for all that is asked of it."""

    def __init__(self, state: BoardState) -> None:
        self.state = state
        self.left = MATCHES_MAX
        self.looked = 0                       # facts whose values were compared
        self.below: dict[Atom, tuple[Atom, ...]] = {}
        self.spoken: list[Scalar] = []        # values of conclusions of an Agent's own rules
        self.heads: dict[tuple[str, bool], list[tuple[RuleInfo, Literal]]] = {}
        for info in state.rules.values():
            for head in info.rule.then:
                self.heads.setdefault((head.predicate, head.negated), []).append((info, head))

    def leaves(self, atoms: Iterable[Atom]) -> Iterator[Fact]:
        waiting, seen = list(atoms), set()
        while waiting:
            atom = waiting.pop()
            if atom in seen:
                continue
            seen.add(atom)
            for fact_id in self.state.by_atom.get(atom, ()):
                yield self.state.facts[fact_id]
            if atom not in self.below:
                self.below[atom] = tuple(dict.fromkeys(self._matched(atom)))
            waiting.extend(reversed(self.below[atom]))

    def _matched(self, atom: Atom) -> Iterator[Atom]:
        """What any match of any rule that concludes this atom joins."""
        program = self.state.program
        for info, head in self.heads.get((atom.predicate, atom.negated), ()):
            given, body = head_bindings(head, atom), info.rule.when
            if given is None:
                continue
            for bindings in program.solve(body, given, limit=self.left + 1):
                if not info.law:
                    self.spoken += [value for _, value in atom.args]
                for literal in body:
                    if joins(literal):
                        for fact in program.matching(literal.under(bindings)):
                            self._spend()
                            yield fact
                self._spend()

    def look(self) -> None:
        self.looked += 1
        if self.looked > FACTS_MAX:
            raise _TooMany

    def _spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooMany
