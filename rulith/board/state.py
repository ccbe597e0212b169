"""What one Board holds: facts with their origin, rules, goals, Cases, installed Releases.

Every lasting change goes through the journal and the Program's transaction, so a refused
command leaves no trace. Caches (tiers, node order, predicate versions) are moved only when
a command is accepted, by what really changed.

Refuses to know: who may change what (gates.py) and what is shown (views.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from rulith.board.constitution import Constitution
from rulith.board.machine import Journal
from rulith.board.release import ActionSpec, AggregateRow, CaseType, PredicateSpec, Release
from rulith.board.shapes import TIER_RANK, weaker
from rulith.board.totals import Failure, Totals, in_order, totals_of
from rulith.board.words import FUNCTIONAL_DEPENDENCY, is_board_word
from rulith.rules.program import Program
from rulith.rules.proofs import Support
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable

ASSERTED, ATTESTED, EFFECT, LAW, DERIVED = "asserted", "attested", "effect", "law", "derived"
DERIVED_PREFIX = "derived:"     # of the node id of an atom that only rules hold; its identity follows
ISSUED_MAX = 10_000             # ids remembered with their atom; others are searched for
RUNNING, PAUSED, CLOSED = "running", "paused", "closed"
EXPLORATION = "exploration"


@dataclass(frozen=True, slots=True)
class Fact:
    """One reason to hold an atom: who said it, through which channel, and how strong that is."""

    id: str
    atom: Atom
    origin: str                  # asserted | attested | effect | law
    tier: str
    case_id: str                 # the Case it was written under
    local: bool                  # an exploration's own; goes when its Case closes
    by: Mapping                  # proof node member `by`
    at: str
    seq: int = 0                 # set by add_fact; the order of writing, since the dictionary's own may move


@dataclass(frozen=True)
class RuleInfo:
    rule: Rule
    law: bool
    release: str = ""            # digest, for law
    capability: str = ""
    case_id: str = ""            # for an Agent's rule: it goes when this Case closes
    aggregate: str = ""          # id of the aggregate family it belongs to
    total: bool = False          # a live aggregate of a Release, written as a rule; totals.py runs it
    at: str = ""


@dataclass(frozen=True)
class Goal:
    id: str
    label: str
    desired: tuple[Literal, ...]
    case_id: str
    at: str


@dataclass(frozen=True)
class AgentAction:
    """A Board Action an Agent defined; it lives as long as its Case."""

    id: str
    spec: ActionSpec
    case_id: str


@dataclass(frozen=True)
class Aggregate:
    id: str
    definition: Mapping          # the operation as sent
    members: tuple[Atom, ...]    # the source facts it pinned
    case_id: str
    rule_ids: tuple[str, ...]


TOLD_MAX = 100_000     # values remembered one by one; of more, only which Sources told them


NO_ATTEMPTS: Mapping[str, Mapping] = {}
NO_HOLDS: Mapping[str, Mapping] = {}


@dataclass(frozen=True, slots=True)
class Case:
    """One acceptance root. `closing` is what was true when it closed: of the latest ones only, for the rest is in receipts."""

    case_id: str
    root: str
    type: str
    business_key: Mapping | None
    key_digest: str
    release: Mapping | None      # {"id", "version", "digest"}; None for an exploration
    contract: str
    generation: int              # program generation it opened under
    opened_at: str
    deadline: str = ""           # a stamp; from then on it takes no more work
    status: str = RUNNING
    holds: Mapping[str, Mapping] = field(default_factory=lambda: NO_HOLDS)             # operator, policy -> {by?, reason?, at}
    disposition: str = ""
    reason: str = ""
    closed_at: str = ""
    closed_by: str = ""          # the person who closed it; empty where its Agent did
    certified: bool = False
    attempts: Mapping[str, Mapping] = field(default_factory=lambda: NO_ATTEMPTS)      # see attempts.py
    closing: Mapping | None = None

    @property
    def is_exploration(self) -> bool:
        return self.type == EXPLORATION

    def row(self) -> dict:
        """The directory row."""
        found = {"caseId": self.case_id, "root": self.root, "status": self.status, "caseType": self.type}
        if self.business_key:
            found["businessKey"] = dict(self.business_key)
        if self.status == CLOSED:
            found["disposition"] = self.disposition
        elif self.deadline:
            found["deadline"] = self.deadline
        return found

    def is_expired(self, at: str) -> bool:
        """Whether it is past its deadline at that moment; never, where no moment is given."""
        return bool(self.deadline) and self.status != CLOSED and at != "" and at >= self.deadline


_PREDICATE, _NEGATED = attrgetter("predicate"), attrgetter("negated")


def _is_disputing(atom: Atom) -> bool:
    return atom.negated or atom.predicate == FUNCTIONAL_DEPENDENCY


@dataclass
class Changes:
    """What one accepted command moved, gathered while it runs."""

    added: dict[Atom, None] = field(default_factory=dict)
    removed: dict[Atom, None] = field(default_factory=dict)
    touched: dict[Atom, None] = field(default_factory=dict)     # same atom, another reason to hold it
    others: dict[str, None] = field(default_factory=dict)       # ids of goals, rules and Actions
    cases: bool = False                                         # a Case opened, closed or changed its holds

    def add(self, atom: Atom) -> None:
        if self.removed.pop(atom, self) is self:
            self.added[atom] = None
        else:
            self.touched[atom] = None

    def remove(self, atom: Atom) -> None:
        self.touched.pop(atom, None)
        if self.added.pop(atom, self) is self:
            self.removed[atom] = None


@dataclass(frozen=True)
class Ground:
    """How strong one atom is: tier, the premise that limits it, and whether law alone concluded it."""

    tier: str
    witness: Atom
    law_only: bool


class Shown:
    """One visible atom's place in views; its node, JSON texts and size are remembered while `stand` is the same.

    stand   all that a node tells and that may change while its atom holds; looked at anew when `epoch` passes
    """

    __slots__ = ("atom", "node", "text", "escaped", "size", "epoch", "stand")

    def __init__(self, atom: Atom) -> None:
        self.atom = atom
        self.forget()

    def forget(self) -> None:
        self.node: dict | None = None
        self.text = ""
        self.escaped = ""           # the same as the inside of a JSON string, which is how an answer carries it
        self.size = 0
        self.epoch = -1
        self.stand: tuple = ()


class BoardState:
    def __init__(self, agent_id: str, journal: Journal) -> None:
        self.agent_id = agent_id
        self.journal = journal
        self.program = Program()
        self.tx = None                                     # the open transaction while a command runs
        self.facts: dict[str, Fact] = {}                   # unordered: read in order through facts_of
        self.by_atom: dict[Atom, tuple[str, ...]] = {}     # unordered
        self.last_seq = 0
        self.rules: dict[str, RuleInfo] = {}
        self.goals: dict[str, Goal] = {}
        self.agent_actions: dict[str, AgentAction] = {}
        self.aggregates: dict[str, Aggregate] = {}
        self.cases: dict[str, Case] = {}
        self.kept_closings: tuple[str, ...] = ()           # Cases that still hold their `closing`, the latest last
        self.roots: dict[str, str] = {}
        self.keys: dict[tuple[str, str], str] = {}         # (Case Type, key digest) -> latest Case id
        self.releases: dict[str, Release] = {}
        self.next: dict[str, Release] = {}                 # installed, and in force once no Case of the one before is open
        self.constitution: Constitution | None = None
        # value of a fact that is gone -> Source -> (tier, place in the order of writing); None stands for all beyond TOLD_MAX
        self.told: dict[Scalar | None, dict[str, tuple[str, int]]] = {}
        self.sourced: dict[str, int] = {}                  # predicate -> stated facts that carry a Source
        self.generation = 0                                # grows when law rules change
        self.revision = 0                                  # grows with every accepted command
        self.totals: Totals = {}                           # what live aggregates conclude now -> why
        self.failing: dict[str, tuple[Failure, ...]] = {}  # aggregate -> its groups without a total
        # derived from releases, rebuilt when they change
        self.live: tuple[AggregateRow, ...] = ()           # each after those that its source depends on
        self.summed: dict[str, tuple[str, ...]] = {}       # source predicate -> aggregates over it
        self.protected: dict[str, tuple[str, str]] = {}    # predicate -> (how it comes to hold, Capability)
        self.actions: dict[str, ActionSpec] = {}
        self.case_types: dict[str, CaseType] = {}
        self.stale: set[str] = set()                       # aggregates whose source the running command moved
        # caches, moved by commit() only
        self.changes = Changes()
        self.shown: dict[Atom, Shown | None] = {}          # visible atoms, the last changed last; None: not drawn since it changed
        self.case_version = 0                              # grows when any Case changes
        self.rules_version = 0                             # grows when any rule, goal or Action changes
        self.epoch = 0                                     # grows whenever a remembered node may have become wrong
        self.disputable = 0                                # negated atoms and dependencies that hold: with any, nodes may be disputed
        self.issued: dict[str, Atom] = {}                  # node ids of derived atoms handed out lately
        self.versions: dict[str, int] = {}
        self.watched: set[str] = set()                     # predicates whose version anybody has asked for
        self.watched_version = 0                           # grows whenever one of those versions does
        self.grounds: dict = {}                            # what Program.fold remembers, until supports move
        self.reads: dict[object, tuple[object, object]] = {}   # read caches: key -> (dependencies, value)

    # --- facts -------------------------------------------------------------------------

    def add_fact(self, fact: Fact) -> None:
        held = self.by_atom.get(fact.atom, ())
        if "source" in fact.by or "restsOn" in fact.by:
            self.journal.put(self.sourced, fact.atom.predicate, self.sourced.get(fact.atom.predicate, 0) + 1)
        self.stale.update(self.summed.get(fact.atom.predicate, ()))
        self.journal.set(self, "last_seq", self.last_seq + 1)
        object.__setattr__(fact, "seq", self.last_seq)      # ours alone until now; a copy would cost as much as the rest
        self.journal.put(self.facts, fact.id, fact)
        self.journal.put(self.by_atom, fact.atom, (*held, fact.id))
        if held:
            self.grounds.clear()
            self.changes.touched[fact.atom] = None
            return
        if self.program.is_derived(fact.atom):
            self.grounds.clear()
            self.changes.touched[fact.atom] = None
        else:
            self.changes.add(fact.atom)
        self.tx.assert_fact(fact.atom)

    def remove_fact(self, fact_id: str) -> None:
        fact = self.facts[fact_id]
        self.grounds.clear()
        self.stale.update(self.summed.get(fact.atom.predicate, ()))
        left = tuple(each for each in self.by_atom[fact.atom] if each != fact_id)
        self.journal.forget(self.facts, fact_id)
        self._remember(fact)
        if left:
            self.journal.put(self.by_atom, fact.atom, left)
            self.changes.touched[fact.atom] = None
            return
        self.journal.forget(self.by_atom, fact.atom)
        self.tx.retract_fact(fact.atom)
        self.changes.remove(fact.atom)

    def _remember(self, fact: Fact) -> None:
        """What a Source told stays told: a model has read it, whether the fact stands or not."""
        if "source" not in fact.by and "restsOn" not in fact.by:
            return
        left = self.sourced[fact.atom.predicate] - 1
        self.journal.put(self.sourced, fact.atom.predicate, left) if left else self.journal.forget(self.sourced, fact.atom.predicate)
        sources = [*fact.by.get("restsOn", ()), *([(fact.by["source"], fact.tier)] if fact.by.get("source") else ())]
        for _, value in fact.atom.args if sources else ():
            if value.__class__ is not bool:
                key = value if value in self.told or len(self.told) < TOLD_MAX else None
                known = self.told.get(key, {})
                self.journal.put(self.told, key, {**{source: (tier, fact.seq) for source, tier in sources}, **known})

    def close_rules(self) -> None:
        """Bring the closure up to date, live totals included, and note what it moved."""
        if self.live and self.changes.others:
            in_order(self.live, [info.rule for info in self.rules.values()])      # an Agent's rule may have closed a circle
        self._close()
        while self.stale:
            row = next(row for row in self.live if row.id in self.stale)
            self.stale.discard(row.id)
            if self._renew(row):
                self._close()

    def _renew(self, row: AggregateRow) -> bool:
        """Let the row conclude what it concludes from the facts there are now; whether that is another thing than before."""
        before = {atom: support for atom, support in self.totals.items() if support.rule_id == row.id}
        after, failures = totals_of(self.program, row)
        self.journal.put(self.failing, row.id, failures)
        for atom, support in before.items():
            if atom not in after:
                self._drop_total(atom)
            elif after[atom] != support:
                self.journal.put(self.totals, atom, after[atom])
                self.changes.touched[atom] = None
                self.grounds.clear()
        fresh = [atom for atom in after if atom not in before]
        for atom in fresh:
            self.journal.put(self.totals, atom, after[atom])
            self.changes.add(atom)
            self.tx.assert_fact(atom)
        self.stale.update(*(self.summed.get(atom.predicate, ()) for atom in (*fresh, *before)))
        self.stale.discard(row.id)
        return bool(fresh) or len(before) + len(fresh) != len(after)

    def _drop_total(self, atom: Atom) -> None:
        self.grounds.clear()
        self.journal.forget(self.totals, atom)
        self.changes.remove(atom)
        self.tx.retract_fact(atom)

    def _close(self) -> None:
        delta, changes, by_atom = self.tx.close(), self.changes, self.by_atom
        if self.summed:
            for atom in delta.moved(self.summed):
                self.stale.update(self.summed[atom.predicate])
        if delta.resupported_count or delta.removed_count:
            self.grounds.clear()
        elif not delta.added_count:
            return                             # most facts that are stated move nothing
        for atom in delta.resupported:         # it never went, but its tier may be another now
            changes.touched[atom] = None
        for atom in delta.removed:
            if atom not in by_atom:
                changes.remove(atom)
            else:
                changes.touched[atom] = None
        if not changes.removed and not changes.touched and delta.added_bare:
            changes.added.update(dict.fromkeys(delta.added))      # the usual case, and it may be thousands
            return
        for atom in delta.added:
            if atom not in by_atom:
                changes.add(atom)
            else:
                changes.touched[atom] = None

    def facts_of(self, case_id: str) -> list[Fact]:
        """What was written under a Case, in order of writing."""
        return sorted((fact for fact in self.facts.values() if fact.case_id == case_id), key=lambda fact: fact.seq)

    def strongest(self, atom: Atom) -> Fact | None:
        """The strongest reason to hold a base atom; the earliest of equals."""
        held = self.by_atom.get(atom, ())
        if len(held) < 2:
            return self.facts[held[0]] if held else None
        return min([self.facts[fact_id] for fact_id in held], key=lambda fact: TIER_RANK[fact.tier])

    def node_id(self, atom: Atom) -> str:
        held = self.by_atom.get(atom)
        if held is not None:
            return held[0] if len(held) == 1 else self.strongest(atom).id
        node_id = DERIVED_PREFIX + atom.identity()
        if len(self.issued) > ISSUED_MAX:
            self.issued.clear()
        self.issued[node_id] = atom
        return node_id

    def atom_of(self, node_id: str) -> Atom | None:
        """The usable atom a node id names now, or None."""
        fact = self.facts.get(node_id)
        if fact is not None:
            return fact.atom
        if not node_id.startswith(DERIVED_PREFIX):
            return None
        atom = self.issued.get(node_id)
        if atom is None:
            atom = self._derived(node_id)      # issued before a restart, or long ago
        return atom if atom is not None and self.program.holds(atom) else None

    def _derived(self, node_id: str) -> Atom | None:
        """The derived atom with this id, found among those of its predicate."""
        identity = node_id[len(DERIVED_PREFIX):]
        for info in self.rules.values():
            for head in info.rule.then:
                if identity.startswith(Atom(head.predicate, (), head.negated).identity()):
                    for atom in self.program.facts(head.predicate):
                        if atom.negated == head.negated and atom.identity() == identity:
                            return atom
        return None

    def put_rule(self, info: RuleInfo) -> None:
        if not info.total:
            self.tx.add_rule(info.rule)
        self.journal.put(self.rules, info.rule.id, info)
        self.changes.others[info.rule.id] = None

    def drop_rule(self, rule_id: str) -> None:
        if not self.rules[rule_id].total:
            self.tx.remove_rule(rule_id)
        self.journal.drop(self.rules, rule_id)
        self.changes.others[rule_id] = None

    def put_case(self, case: Case) -> None:
        self.journal.put(self.cases, case.case_id, case)
        self.changes.cases = True

    # --- strength ----------------------------------------------------------------------

    def ground(self, atom: Atom) -> Ground:
        """Tier, witness and authorship of an atom: a conclusion is no stronger than its weakest premise."""
        if atom not in self.by_atom and not self.program.holds(atom):
            return self.stated(atom)
        return self.program.fold(atom, self.grounds, self.stated, self.concluded)

    def concluded_by(self, atom: Atom) -> str | None:
        """The rule behind a conclusion; None for what is only stated."""
        total = self.totals.get(atom)
        return self.program.concluded_by(atom) if total is None else total.rule_id

    def support(self, atom: Atom) -> Support | None:
        """Why a concluded atom holds; None where it is only stated."""
        return self.totals.get(atom) or self.program.support(atom)

    def disputed(self, atom: Atom) -> bool:
        """Whether the atom, or anything that its stored proof rests on, is contradicted."""
        if not self.totals or not self.disputable:
            return self.program.disputed(atom)
        waiting, seen = [atom], set()
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                if self.program.disputed(current):
                    return True
                support = self.support(current)
                waiting.extend(support.premises if support is not None else ())
        return False

    def stated(self, atom: Atom) -> Ground:
        total = self.totals.get(atom)
        if total is not None:
            return self.concluded(total.rule_id, [self.ground(each) for each in total.premises], total.approximate, lambda: atom)
        fact = self.strongest(atom)
        return Ground(fact.tier if fact is not None else ASSERTED, atom, True)

    def concluded(self, rule_id: str, below: list[Ground], rounded: str | None, atom: Callable[[], Atom]) -> Ground:
        info = self.rules.get(rule_id)
        law = info is not None and info.law
        weakest, law_only = None, law
        for ground in below:                   # the first of equals limits
            if weakest is None or TIER_RANK[ground.tier] > TIER_RANK[weakest.tier]:
                weakest = ground
            law_only = law_only and ground.law_only
        tier = weakest.tier if weakest is not None else "verified" if law else ASSERTED
        if rounded is not None and weaker(tier, "approximate") != tier:
            return Ground("approximate", atom(), law_only)
        if weakest is None or tier == "verified":
            return Ground(tier, atom(), law_only)
        return weakest if weakest.law_only == law_only else Ground(tier, weakest.witness, law_only)

    # --- after an accepted command -----------------------------------------------------

    def commit(self) -> tuple[list[Atom], list[Atom]]:
        """Move the caches by what changed; the atoms that are new or changed, and those that are gone, in order."""
        changes, self.changes = self.changes, Changes()
        self.revision += 1
        self.case_version += changes.cases
        self.rules_version += bool(changes.others)
        if changes.removed or changes.touched:
            self.grounds.clear()
        if changes.removed or changes.touched or changes.others or self.disputable:
            self.epoch += 1
        for atom in changes.removed:
            self.disputable -= _is_disputing(atom)
            self.shown.pop(atom, None)
            self.versions[atom.predicate] = self.versions.get(atom.predicate, 0) + 1
            self.watched_version += atom.predicate in self.watched
        again = [atom for atom in changes.touched if self.program.holds(atom)]
        moved = [*changes.added, *again]
        counts: dict[str, int] = {}                    # few predicates, and it may be thousands of atoms
        for predicate in map(_PREDICATE, moved):
            counts[predicate] = counts.get(predicate, 0) + 1
        for predicate, count in counts.items():
            self.versions[predicate] = self.versions.get(predicate, 0) + count
            self.watched_version += predicate in self.watched
        if FUNCTIONAL_DEPENDENCY in counts or any(map(_NEGATED, changes.added)):
            disputing = sum(map(_is_disputing, changes.added))
            self.disputable += disputing
            self.epoch += disputing
        self._show(changes.added, again, [predicate for predicate in counts if is_board_word(predicate)])
        return moved, list(changes.removed)

    def _show(self, added: dict[Atom, None], again: list[Atom], hidden: list[str]) -> None:
        """What changed last comes last, to be drawn anew when it is next seen. What is added was not there."""
        shown = self.shown
        if hidden:
            shown.update((atom, None) for atom in added if atom.predicate not in hidden)
        else:
            shown.update(added)
        for atom in again:
            shown.pop(atom, None)
            if atom.predicate not in hidden:
                shown[atom] = None

    def discard(self) -> None:
        self.changes = Changes()
        self.stale.clear()
        self.grounds.clear()               # some may be of what was taken back

    def rebuild_law(self) -> None:
        """The look-up tables of what the installed Releases declare."""
        self.protected, self.actions, self.case_types = {}, {}, {}
        for release in (*self.next.values(), *self.releases.values()):
            for predicate, how in release.protected.items():
                self.protected[predicate] = (how, release.id)
        for release in self.releases.values():
            self.actions.update(release.actions)
            self.case_types.update(release.case_types)
        rows = [row for release in self.releases.values() for row in release.aggregates]
        self.live = tuple(in_order(rows, [info.rule for info in self.rules.values()]))
        self.summed = {}
        for row in self.live:
            self.summed[row.source] = (*self.summed.get(row.source, ()), row.id)
        standing = {row.id for row in rows}
        for atom in [atom for atom, support in self.totals.items() if support.rule_id not in standing]:
            self._drop_total(atom)
        for name in [name for name in self.failing if name not in standing]:
            self.journal.drop(self.failing, name)
        self.stale.clear()                 # of what was there before, nothing is left to renew
        self.stale.update(standing)

    # --- cached reads ------------------------------------------------------------------

    def cached(self, key: object, needs: object, compute):
        """`compute()`, or its last value while `needs` is equal; fresh inside a command, whose changes `needs` does not show."""
        if self.tx is not None:
            return compute()
        found = self.reads.get(key)
        if found is not None and found[0] == needs:
            return found[1]
        value = compute()
        self.reads[key] = (needs, value)
        return value

    def versions_of(self, predicates) -> tuple[int, ...]:
        self.watched.update(predicates)
        return tuple(self.versions.get(predicate, 0) for predicate in predicates)

    def depends(self, predicates) -> tuple[str, ...]:
        """These predicates and all that rules read to conclude them, sorted."""
        return self.cached(("depends", tuple(predicates)), self.rules_version, lambda: self._depends(predicates))

    def _depends(self, predicates) -> tuple[str, ...]:
        bodies: dict[str, set[str]] = {}
        for info in self.rules.values():
            for head in info.rule.then:
                bodies.setdefault(head.predicate, set()).update(literal.predicate for literal in info.rule.when)
        seen, waiting = set(), list(predicates)
        while waiting:
            predicate = waiting.pop()
            if predicate not in seen:
                seen.add(predicate)
                waiting.extend(bodies.get(predicate, ()))
        return tuple(sorted(seen))

    def argument_types(self, predicate: str) -> Mapping[str, str]:
        """Name -> type, as the vocabulary of an installed Release declares; empty for other predicates."""
        spec = self.defined(predicate)
        return spec.args if spec is not None else {}

    def argument_units(self, action: str) -> dict[str, str]:
        """Parameter -> unit of an installed Action, as its file says: of the parameter, else of what it is bound to."""
        spec = self.actions.get(action)
        if spec is None:
            return {}
        rows = [row for release in self.releases.values() if release.digest == spec.release for row in release.document.get("actions", ())]
        params = next((row.get("params", {}) for row in rows if spec.id.endswith(f".{row['id']}")), {})
        units = {name: kind["unit"] for name, kind in params.items() if isinstance(kind, Mapping) and "unit" in kind}
        for literal in (*spec.preconditions, *spec.effects):
            defined = self.defined(literal.predicate)
            for name, value in literal.args if defined is not None else ():
                if name in defined.units and is_variable(value) and value[1:] in spec.params:
                    units.setdefault(value[1:], defined.units[name])
        return units

    def defined(self, predicate: str) -> PredicateSpec | None:
        """What the vocabulary of an installed Release says of a predicate."""
        return next((release.predicates[predicate] for release in self.releases.values() if predicate in release.predicates), None)

