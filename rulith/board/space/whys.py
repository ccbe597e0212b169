"""Whys: why a fact holds, why another does not, and what would change that.

Nothing here is guessed: each change that is said to help or to hurt was tried on the board
and taken back. How much is tried is bounded by counts, and a cut says so.

    why         the proof
    why_not     the rules that could conclude it, what each lacks, and who could supply that
    what_if     changes after which it would hold, or hold no longer

Source  the reasoning board, "Explain"; design, "Proofs".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.base.limits import SEARCH_WORK_MAX, WHAT_IF_SET_MAX, WHAT_IF_TRIALS_MAX
from rulith.board.space import hints
from rulith.board.space.actions import first_binding, perform, spec_of, trial_mint
from rulith.board.space.change import Change
from rulith.board.space.nodes import FACT, HIDDEN, Proof
from rulith.board.space.plans import producers_of
from rulith.board.space.rehearsal import Budget, Spent
from rulith.rules.builtins import BUILTINS, same
from rulith.rules.explain import lack_text
from rulith.rules.proofs import Lack, Missing
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.space import Space

DEPTH = 3               # how many rules deep what is lacking is followed
LACKS_MAX = 20          # rules told about, per missing literal
WAYS_MAX = 8            # ways told about
OPTIONS_MAX = 4         # ways tried per missing literal
LEAVES_MAX = 64         # stated facts of a proof that are tried one by one

ONLY_STATED = "no rule concludes it and no action produces it; only a statement could make it hold"
ASSERT, RETRACT, APPLY = "assert", "retract", "apply"


@dataclass(frozen=True, slots=True)
class Supply:
    """A missing literal and who could supply it."""

    missing: Missing
    actions: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """A rule that could conclude the pattern, and what it lacks. `text` says it in one line."""

    rule_id: str
    label: str
    have: tuple[Literal, ...]
    lacking: tuple[Supply, ...]
    text: str
    below: tuple["Gap", ...] = ()


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a pattern does not hold.

    holds     it does hold, after all
    refuted   its strong negation holds
    gaps      rules that could conclude it, nearest first
    producers actions that could produce it, applicable ones first
    stale     aggregates into the predicate that conclude nothing any more
    note      where there is nothing to say but that
    """

    pattern: Literal
    holds: bool
    refuted: bool
    gaps: tuple[Gap, ...]
    producers: tuple[hints.Producer, ...]
    stale: tuple[str, ...]
    note: str | None


@dataclass(frozen=True, slots=True)
class Doing:
    """One change: assert an atom, retract an entry, apply an action."""

    act: str
    what: str           # the entry's id; the atom's text where it is to be asserted
    atom: Atom | None

    def text(self) -> str:
        return f"{self.act} {self.what}" if self.atom is None or self.act == ASSERT else f"{self.act} {self.what}: {self.atom.text()}"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Changes that turn the answer over. Each of `ways` suffices; its parts go together.

    holds     how it is now
    needs     facts that some rule lacks and that nobody can name yet: they still have variables
    complete  false where the budget ended the search
    """

    pattern: Literal
    holds: bool
    ways: tuple[tuple[Doing, ...], ...]
    needs: tuple[Literal, ...]
    complete: bool
    note: str | None


# --- why ---------------------------------------------------------------------------------


def why(space: Space, fact: Atom | str) -> Proof:
    """The proof of a fact, by atom or id. Refuses ATOM_ABSENT, NODE_NOT_FOUND, NODE_NOT_FACT."""
    return space.explain_node(fact) if isinstance(fact, str) else space.explain(fact)


def pattern_of(space: Space, node_id: str) -> Literal:
    """What a fact, hypothesis or goal of one atom speaks of, as a pattern. Refuses NODE_NOT_FOUND, NODE_NOT_FACT."""
    node = space.node(node_id)
    semantic = node.semantic
    if isinstance(semantic, tuple) and len(semantic) == 1:
        semantic = semantic[0]
    if isinstance(semantic, Literal):
        return semantic
    if not isinstance(semantic, Atom):
        raise Refused("NODE_NOT_FACT", id=node_id, type=node.type)
    return Literal(semantic.predicate, semantic.args, semantic.negated)


# --- why not -----------------------------------------------------------------------------


def why_not(space: Space, pattern: Literal, depth: int = DEPTH) -> WhyNot:
    """What keeps a pattern from holding. Refuses ATOM_INVALID for a builtin or a naf."""
    _check_pattern(pattern)
    holds = space.held(pattern)
    opposite = Literal(pattern.predicate, pattern.args, not pattern.negated)
    refuted = not holds and pattern.is_ground() and space.held(opposite)
    if holds:
        return WhyNot(pattern, True, False, (), (), (), "it holds; ask why")
    gaps = tuple(_gap(space, lack) for lack in islice(_lacks(space.program.why_not(pattern, depth)), LACKS_MAX))
    stale = tuple(need.text for need in hints.needs_via(space, (pattern,)) if need.text.startswith("aggregate "))
    producers = tuple(hints.producible_via(space, (pattern,)))
    note = None
    if not (gaps or stale or producers):
        note = ONLY_STATED
    return WhyNot(pattern, False, refuted, gaps, producers, stale, note)


def _check_pattern(pattern: Literal) -> None:
    if pattern.naf or pattern.predicate in BUILTINS:
        raise Refused("ATOM_INVALID", where="the question", problem=f"{pattern.text()} is no fact that could hold")


def _lacks(lacks: Iterable[Lack]) -> Iterator[Lack]:
    """Those of rules; what an aggregate lacks is told apart."""
    return (lack for lack in lacks if not any(literal.predicate == HIDDEN for literal in (*lack.satisfied, *(m.literal for m in lack.missing))))


def _gap(space: Space, lack: Lack) -> Gap:
    lacking = tuple(_supply(space, missing) for missing in lack.missing)
    below = tuple(_gap(space, lower) for lower in islice(_lacks(lack.below), LACKS_MAX))
    return Gap(lack.rule_id, lack.label, tuple(literal for literal in lack.satisfied if joins(literal)), lacking, lack_text(lack), below)


def _supply(space: Space, missing: Missing) -> Supply:
    if missing.reason != "absent":
        return Supply(missing, (), ())
    wanted = missing.literal
    rules = [node_id for node_id in space.suppliers.get(wanted.predicate, ()) if space.nodes[node_id].type == "axiom"]
    return Supply(missing, tuple(node.id for node in producers_of(space, wanted))[:LACKS_MAX], tuple(rules[:LACKS_MAX]))


# --- what would change it ----------------------------------------------------------------


def what_if(space: Space, pattern: Literal) -> WhatIf:
    """Changes after which the pattern holds, or no longer holds: each was tried."""
    _check_pattern(pattern)
    with space.trial("", trial_mint(space)) as change:
        search = _Trials(change, pattern)
        return search.losing() if space.held(pattern) else search.gaining()


class _Trials:
    """Changes tried out, one after another."""

    def __init__(self, change: Change, pattern: Literal) -> None:
        self.change = change
        self.space = change.space
        self.pattern = pattern
        self.budget = Budget(self.space.program, WHAT_IF_TRIALS_MAX, SEARCH_WORK_MAX)
        self.ways: dict[tuple[Doing, ...], None] = {}
        self.complete = True

    # --- making it hold ------------------------------------------------------------------

    def gaining(self) -> WhatIf:
        needs: dict[Literal, None] = {}
        lacks = list(_lacks(self.space.program.why_not(self.pattern, DEPTH)))[:LACKS_MAX]
        try:
            for node in producers_of(self.space, self.pattern):
                self._try((Doing(APPLY, node.id, None),), True)
            for lack in lacks:
                for way in islice(self._ways_of(lack, needs), OPTIONS_MAX):
                    self._try(way, True)
        except Spent:
            self.complete = False
        note = None
        if not self.ways:
            note = ONLY_STATED if not self.space.suppliers.get(self.pattern.predicate) else \
                "no change of stated facts or single action that was tried makes it hold; ask why_not for what is lacking"
        return WhatIf(self.pattern, False, tuple(self.ways)[:WAYS_MAX], tuple(needs)[:WAYS_MAX], self.complete, note)

    def _ways_of(self, lack: Lack, needs: dict[Literal, None]) -> Iterator[tuple[Doing, ...]]:
        """Sets of changes that give a rule all it lacks; what has no name yet goes to `needs`."""
        options: list[list[tuple[Doing, ...]]] = []
        for missing in lack.missing:
            found = self._options_of(missing, lack, needs)
            if not found:
                return
            options.append(found)
        for chosen in product(*options):
            yield tuple(dict.fromkeys(doing for part in chosen for doing in part))

    def _options_of(self, missing: Missing, lack: Lack, needs: dict[Literal, None]) -> list[tuple[Doing, ...]]:
        literal = missing.literal
        if missing.reason == "present":
            return self._removing(literal)
        if missing.reason != "absent":
            return []
        found: list[tuple[Doing, ...]] = []
        if literal.is_ground():
            found.append((Doing(ASSERT, literal.text(), literal.atom()),))
        else:
            needs[literal] = None
        for below in _lacks(lack.below):
            if (below.head.predicate, below.head.negated) == (literal.predicate, literal.negated) and len(found) < OPTIONS_MAX:
                found += islice(self._ways_of(below, needs), OPTIONS_MAX - len(found))
        return found

    def _removing(self, absent: Literal) -> list[tuple[Doing, ...]]:
        """What a naf literal wants gone: every fact that it matches, where all are only stated."""
        there = list(islice(self.space.program.matching(Literal(absent.predicate, absent.args, absent.negated)), WHAT_IF_SET_MAX + 1))
        if len(there) > WHAT_IF_SET_MAX or any(self.space.program.is_derived(atom) for atom in there):
            return []
        return [tuple(doing for atom in there for doing in self._retracting(atom))]

    # --- making it fail ------------------------------------------------------------------

    def losing(self) -> WhatIf:
        try:
            leaves = self._leaves()
            for atom in leaves:
                self._try(self._retracting(atom), False)
            for atom in self._blockers():
                self._try((Doing(ASSERT, atom.text(), atom),), False)
            if not any(doing.act == RETRACT for way in self.ways for doing in way):
                self._try_together()
        except Spent:
            self.complete = False
        note = None if self.ways else "nothing that was tried makes it fall: it follows from rules alone, or in too many ways"
        return WhatIf(self.pattern, True, tuple(self.ways)[:WAYS_MAX], (), self.complete, note)

    def _retracting(self, atom: Atom) -> tuple[Doing, ...]:
        return tuple(Doing(RETRACT, node.id, atom) for node in self.space.supporting(atom))

    def _steps(self) -> Iterator[Atom]:
        """The facts of the shown proofs of up to LEAVES_MAX holders, conclusions before premises, each once."""
        work = list(islice(self.space.holders(self.pattern), LEAVES_MAX))[::-1]
        seen = set(work)
        while work:
            atom = work.pop()
            yield atom
            support = self.space.support(atom)
            fresh = [] if support is None else [p for p in dict.fromkeys(support.premises) if p not in seen]
            seen.update(fresh)
            work.extend(reversed(fresh))

    def _leaves(self) -> list[Atom]:
        found = list(islice((atom for atom in self._steps() if self.space.supports.get(atom)), LEAVES_MAX + 1))
        if len(found) > LEAVES_MAX:
            self.complete = False
        return found[:LEAVES_MAX]

    def _blockers(self) -> list[Atom]:
        """Facts whose absence the proofs rely on."""
        found: dict[Atom, None] = {}
        for atom in islice(self._steps(), LEAVES_MAX):
            support = self.space.program.support(atom)
            rule = None if support is None else self.space.program.rule(support.rule_id)
            if rule is None or support is None or not any(literal.naf for literal in rule.when):
                continue
            bound = _binding(rule.when, support.premises)
            for literal in (literal.under(bound) for literal in rule.when if literal.naf):
                if literal.is_ground() and literal.predicate != HIDDEN:
                    found[literal.atom()] = None
        return list(found)[:LEAVES_MAX]

    def _try_together(self) -> None:
        """No single fact carries it: cut through one proof after the other, from the front and from the back of each."""
        found = [way for way in (self._cut_set(0), self._cut_set(-1)) if way is not None]
        for way in sorted(found, key=len):
            self.ways[way] = None

    def _cut_set(self, end: int) -> tuple[Doing, ...] | None:
        """Facts without which it falls, none of them idle: taken at one end of each remaining proof's leaves."""
        together: dict[Doing, None] = {}
        while (left := self._leaves_after(tuple(together))) is not None:
            fresh = [doing for atom in left for doing in self._retracting(atom) if doing not in together]
            if not fresh:
                return None
            if len(together) >= WHAT_IF_SET_MAX:
                self.complete = False
                return None
            together[fresh[end]] = None
        for doing in list(together):
            fewer = tuple(each for each in together if each != doing)
            if fewer and self._outcome(fewer) is False:
                del together[doing]
        return tuple(sorted(together, key=lambda doing: self.space.nodes[doing.what].seq))

    def _leaves_after(self, doings: Sequence[Doing]) -> list[Atom] | None:
        """The stated facts of the proofs that remain after some changes, or None where it holds no longer."""
        with self.change.trial():
            self._do(doings)
            return self._leaves() if self.space.held(self.pattern) else None

    # --- trying --------------------------------------------------------------------------

    def _try(self, doings: tuple[Doing, ...], wanted: bool) -> None:
        if doings and doings not in self.ways and self._outcome(doings) is wanted:
            self.ways[doings] = None

    def _outcome(self, doings: Sequence[Doing]) -> bool | None:
        """Does the pattern hold after these changes? None where they cannot be made. Raises Spent."""
        with self.change.trial():
            try:
                self._do(doings)
            except Refused:
                return None
            return self.space.held(self.pattern)

    def _do(self, doings: Sequence[Doing]) -> None:
        self.budget.check()
        program, change = self.space.program, self.change
        before = program.steps
        try:
            change.remove(change.dependants([doing.what for doing in doings if doing.act == RETRACT]))
            for doing in doings:
                if doing.act == ASSERT and doing.atom is not None and doing.atom not in self.space.supports:
                    change.add(FACT, doing.atom, label=doing.what)
                elif doing.act == APPLY:
                    node = self.space.nodes[doing.what]
                    bound = first_binding(self.space, spec_of(node).preconditions)
                    if bound is not None:
                        perform(change, node, bound)
            change.settle()
        finally:
            self.budget.spend(program.steps - before)


def _binding(body: Sequence[Literal], premises: Sequence[Atom]) -> dict[str, Scalar]:
    """The values that a stored support gave a rule's variables; computed ones are left out."""
    found: dict[str, Scalar] = {}
    for literal, premise in zip((literal for literal in body if joins(literal)), premises):
        values: Mapping[str, Scalar] = premise.arguments
        for name, value in literal.args:
            if is_variable(value) and name in values:
                known = found.setdefault(value, values[name])  # type: ignore[arg-type]
                assert same(known, values[name]), "a support agrees with itself"
    return found


# --- as data -----------------------------------------------------------------------------


def why_not_json(it: WhyNot) -> dict[str, Any]:
    found: dict[str, Any] = {"atom": it.pattern.json(), "holds": it.holds}
    if it.refuted:
        found["refuted"] = True
    if it.gaps:
        found["rules"] = [_gap_json(gap) for gap in it.gaps]
    if it.producers:
        found["actions"] = [{"action": p.action_id, "applicable": p.applicable,
                             **({"blockedOn": p.blocked_on.json()} if p.blocked_on is not None else {})} for p in it.producers]
    if it.stale:
        found["aggregates"] = list(it.stale)
    if it.note:
        found["note"] = it.note
    return found


def _gap_json(gap: Gap) -> dict[str, Any]:
    found: dict[str, Any] = {"rule": gap.rule_id, "have": [literal.json() for literal in gap.have], "text": gap.text, "lacks": []}
    for supply in gap.lacking:
        row: dict[str, Any] = {"atom": supply.missing.literal.json(), "reason": supply.missing.reason}
        if supply.missing.operands:
            row["operands"] = dict(supply.missing.operands)
        if supply.actions:
            row["actions"] = list(supply.actions)
        if supply.rules:
            row["rules"] = list(supply.rules)
        found["lacks"].append(row)
    if gap.below:
        found["below"] = [_gap_json(lower) for lower in gap.below]
    return found


def why_not_text(it: WhyNot) -> str:
    """Lines for a model, nearest rule first."""
    if it.holds:
        return f"{it.pattern.text()} holds; ask why instead"
    lines = [f"{it.pattern.text()} does not hold" + (": its opposite does" if it.refuted else "")]
    for gap in it.gaps:
        _gap_lines(gap, 1, lines)
    lines += [f"  {text}" for text in it.stale]
    for producer in it.producers:
        blocked = "ready to apply" if producer.applicable else f"blocked on {producer.blocked_on.text() if producer.blocked_on else 'a precondition'}"
        lines.append(f"  action {producer.action_id} produces {producer.produces.text()}: {blocked}")
    if it.note:
        lines.append(f"  {it.note}")
    return "\n".join(lines)


def _gap_lines(gap: Gap, depth: int, lines: list[str]) -> None:
    lines.append(f"{'  ' * depth}{gap.text}")
    for supply in gap.lacking:
        suppliers = [f"action {name}" for name in supply.actions] + [f"rule {name}" for name in supply.rules]
        if suppliers:
            lines.append(f"{'  ' * (depth + 1)}{supply.missing.literal.text()} could come from {', '.join(suppliers)}")
    for lower in gap.below:
        _gap_lines(lower, depth + 1, lines)


def what_if_json(it: WhatIf) -> dict[str, Any]:
    found: dict[str, Any] = {"atom": it.pattern.json(), "holds": it.holds, "ways": [[_doing_json(doing) for doing in way] for way in it.ways]}
    if it.needs:
        found["needs"] = [literal.json() for literal in it.needs]
    if not it.complete:
        found["complete"] = False
    if it.note:
        found["note"] = it.note
    return found


def _doing_json(doing: Doing) -> dict[str, Any]:
    found: dict[str, Any] = {"do": doing.act}
    if doing.act != ASSERT:
        found["id"] = doing.what
    if doing.atom is not None:
        found["atom"] = doing.atom.json()
    return found


def what_if_text(it: WhatIf) -> str:
    turned = "would no longer hold after" if it.holds else "would hold after"
    lines = [f"{it.pattern.text()} {'holds' if it.holds else 'does not hold'}"]
    lines += [f"  it {turned}: {' and '.join(doing.text() for doing in way)}" for way in it.ways]
    lines += [f"  some rule lacks {literal.text()}: find the values, then assert it" for literal in it.needs]
    if it.note:
        lines.append(f"  {it.note}")
    if not it.complete:
        lines.append("  ... there may be more: the search was cut")
    return "\n".join(lines)
