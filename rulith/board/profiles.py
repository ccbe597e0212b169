"""Agent Profiles: what one Agent may see of its own Board, judged where something is written for it.

A Profile lists Capabilities, Case Types, predicates, Sources and tiers; a list that is
absent shows everything. It changes no fact, no rule and no certification.

Hidden are a Case of another type; a fact whose predicate or tier is not listed; whatever
rests on a statement of a Source that is not listed; and what an Agent's own rule concludes
from anything hidden. What a Capability's rule concludes under a listed predicate is shown:
listing it says so. A value is shown only where a visible fact holds it.

Refuses to know: sessions, answers, who edits a Profile.
Source  the design's rules on Agent Profiles (§5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice

from rulith.base.errors import Refused
from rulith.board.operations import FAILED, REFUSED, Operation
from rulith.board.release import ActionSpec
from rulith.board.shapes import TIERS
from rulith.board.state import EXPLORATION, BoardState, Case
from rulith.board.words import BUILTINS, FUNCTIONAL_DEPENDENCY, is_board_word
from rulith.rules.terms import Atom, Literal

ROWS_MAX, NAME_CHARS_MAX = 1_000, 256     # names in one list
WITHHELD = "withheld"           # what stands where a name or a text is not shown
PREMISE = {"id": "", "text": "a premise that is withheld from this Agent", "predicate": "", "args": {}, "tier": "", "by": {"kind": WITHHELD},
           "premises": [], "withheld": True}
_NAMING = ("root", "node", "child", "parent", "case_id")      # arguments of Board words that name a Case


@dataclass(frozen=True)
class Profile:
    """Five lists of names; None shows everything."""

    capabilities: frozenset[str] | None = None
    case_types: frozenset[str] | None = None       # `exploration` is one of them
    predicates: frozenset[str] | None = None
    sources: frozenset[str] | None = None
    tiers: frozenset[str] | None = None

    @classmethod
    def of(cls, record: object) -> Profile | None:
        """The Profile of {member: names}; None where it lists nothing. Raises Refused bad_command."""
        if not isinstance(record, Mapping):
            raise Refused("bad_command", problem="A Profile is an object of lists")
        for name, names in record.items():
            if name not in MEMBERS:
                raise Refused("bad_command", problem=f"A Profile lists {', '.join(MEMBERS)}, not {str(name)[:80]!r}")
            if not isinstance(names, (list, tuple)) or len(names) > ROWS_MAX or not all(isinstance(each, str) and 0 < len(each) <= NAME_CHARS_MAX for each in names):
                raise Refused("bad_command", problem=f"{name} is no list of at most {ROWS_MAX} names")
        strange = [each for each in record.get("tiers", ()) if each not in TIERS]
        if strange:
            raise Refused("bad_command", problem=f"{strange[0]!r} is none of the tiers {', '.join(TIERS)}")
        return cls(**{name: frozenset(names) for name, names in record.items()}) if record else None

    def record(self) -> dict:
        return {name: sorted(names) for name in MEMBERS if (names := getattr(self, name)) is not None}

    def covers(self, other: Profile | None) -> bool:
        """Whether this one shows at least what the other does."""
        return all(mine is None or (other is not None and (theirs := getattr(other, name)) is not None and theirs <= mine)
                   for name in MEMBERS for mine in [getattr(self, name)])

    @property
    def hides_facts(self) -> bool:
        return any(each is not None for each in (self.capabilities, self.predicates, self.sources, self.tiers))


MEMBERS = tuple(each.name for each in fields(Profile))


def record_of(profile: Profile | None) -> dict:
    return profile.record() if profile is not None else {}


class Sight:
    """What one Profile shows of one Board as it stands."""

    def __init__(self, state: BoardState, profile: Profile) -> None:
        self.state, self.profile = state, profile
        self._epoch: tuple = ()
        self._memo: dict = {}                             # of Program.fold
        self._seen: dict[Atom, bool] = {}
        self._names: dict[str, bool] = {}
        self._counted = 0, 0                              # (atoms that were counted, how many of them are visible)
        self._foreign: frozenset[str] = frozenset()       # predicates that only hidden Capabilities define

    # --- names -------------------------------------------------------------------------

    def capability(self, name: str) -> bool:
        return self.profile.capabilities is None or name in self.profile.capabilities

    def case_type(self, name: str) -> bool:
        allowed = self.profile.case_types is None or name in self.profile.case_types
        known = self.state.case_types.get(name)
        return allowed and (name == EXPLORATION or known is None or self.capability(known.capability))

    def case(self, case: Case) -> bool:
        allowed = self.profile.case_types is None or case.type in self.profile.case_types
        return allowed and (case.release is None or self.capability(case.release["id"]))

    def case_id(self, case_id: object) -> bool:
        case = self.state.cases.get(case_id) if isinstance(case_id, str) else None
        return case is None or self.case(case)

    def source(self, name: str) -> bool:
        return self.profile.sources is None or name in self.profile.sources

    def predicate(self, name: str) -> bool:
        self._look()
        found = self._names.get(name)
        if found is None:
            listed = (self.profile.predicates is None or name in self.profile.predicates) and name not in self._foreign
            found = self._names[name] = listed or is_board_word(name) or name in BUILTINS
        return found

    def action(self, spec: ActionSpec) -> bool:
        """Whether an Action may be seen and applied; an Agent's own is judged by `literals`."""
        if spec.direct:
            return all(self.predicate(row["predicate"]) for row in spec.returns)
        return not spec.release or self.capability(spec.id.rpartition(".")[0])

    def literals(self, literals: Iterable[Literal]) -> bool:
        return all(self.predicate(each.predicate) for each in literals)

    # --- facts -------------------------------------------------------------------------

    def fact(self, atom: Atom) -> bool:
        """Whether the Agent may see that this atom holds."""
        if not self.predicate(atom.predicate):
            return False
        found = self._seen.get(atom)
        if found is None:
            found = self._seen[atom] = (self._stated(atom) if atom in self.state.by_atom else self._judge(atom))[1]
        return found

    def count(self, atoms: dict[Atom, object]) -> int:
        """How many of a Board's visible atoms this Profile shows. Within an epoch they only grow, at their end."""
        self._look()
        held, shown = self._counted
        shown += sum(map(self.fact, islice(reversed(atoms), len(atoms) - held)))
        self._counted = len(atoms), shown
        return shown

    def facts(self, literal: Literal) -> bool:
        """Whether every fact that fits a pattern is visible."""
        return self.predicate(literal.predicate) and all(map(self.fact, self.state.program.matching(literal)))

    def _look(self) -> None:
        state = self.state
        epoch = state.epoch, state.rules_version, state.generation
        if epoch == self._epoch:
            return
        self._epoch, self._memo, self._seen, self._names, self._counted = epoch, {}, {}, {}, (0, 0)
        if self.profile.capabilities is not None:
            shown = {name for each in state.releases.values() if self.capability(each.id) for name in each.predicates}
            self._foreign = frozenset(name for each in (*state.releases.values(), *state.next.values()) for name in each.predicates) - shown

    def _judge(self, atom: Atom) -> tuple[bool, bool]:
        """(no hidden Source below it, visible)."""
        if not self.state.program.holds(atom):
            return self._stated(atom)
        return self.state.program.fold(atom, self._memo, self._stated, self._concluded)

    def _named(self, atom: Atom) -> bool:
        if is_board_word(atom.predicate):
            return all(self._case_of(value) for name, value in atom.args if name in _NAMING)
        tiers = self.profile.tiers
        return self.predicate(atom.predicate) and (tiers is None or self.state.ground(atom).tier in tiers)

    def _case_of(self, name: object) -> bool:
        root = self.state.roots.get(name.partition("/")[0]) if isinstance(name, str) else None
        return self.case_id(name if root is None else root)

    def _stated(self, atom: Atom) -> tuple[bool, bool]:
        total = self.state.totals.get(atom)
        if total is not None:
            return self._concluded(total.rule_id, [self._judge(each) for each in total.premises], None, lambda: atom)
        fact = self.state.strongest(atom)
        told = fact is None or self._told(fact.by)
        return told, told and self._named(atom)

    def _told(self, by: Mapping) -> bool:
        """Whether a statement rests on visible Sources alone."""
        return (not by.get("source") or self.source(by["source"])) and all(self.source(source) for source, _ in by.get("restsOn", ()))

    def _concluded(self, rule_id: str, below: list[tuple[bool, bool]], rounded: str | None, atom) -> tuple[bool, bool]:
        told = all(each[0] for each in below)
        info = self.state.rules.get(rule_id)
        own = info is not None and info.law or (all(each[1] for each in below) and info is not None and self.literals(info.rule.when))
        return told, told and own and self._named(atom())

    # --- proofs and rows of closed Cases -----------------------------------------------

    def proof(self, tree: Mapping) -> dict | None:
        """The tree with what is hidden withheld; None where its conclusion is."""
        found, _, seen = self._masked(tree, {})
        return found if seen else None

    def _masked(self, node: Mapping, verdicts: dict[str, bool]) -> tuple[dict, bool, bool]:
        """(the node as shown, no hidden Source below it, visible); `verdicts` keeps for each id whether it is visible wherever it stands."""
        below = [self._masked(each, verdicts) for each in node["premises"]]
        by = node["by"]
        told = self._told(by) and all(each[1] for each in below)
        own = by.get("kind") != "rule" or by.get("law", True) or all(each[2] for each in below)
        if node.get("cut") and self.profile.hides_facts:      # what it rests on does not stand here, and is not guessed
            told = told and self.profile.sources is None
            own = own and by.get("law", True)
        seen = told and own and self._row(node)
        verdicts[node["id"]] = seen and verdicts.get(node["id"], True)
        if not seen:
            return dict(PREMISE), told, False
        shown = {**node, "premises": [each[0] for each in below]}
        if not all(each[2] for each in below):
            shown.pop("computed", None)
        return shown, told, True

    def _row(self, row: Mapping) -> bool:
        """By its own members alone."""
        if is_board_word(row["predicate"]):
            return all(self._case_of(value) for name, value in row["args"].items() if name in _NAMING)
        tiers = self.profile.tiers
        return self.predicate(row["predicate"]) and (tiers is None or row["tier"] in tiers) and self._told(row["by"])

    def closed_facts(self, closing: Mapping) -> list[dict]:
        """The facts of a closed Case that are visible."""
        verdicts: dict[str, bool] = {}
        for tree in closing["conclusions"]:
            self._masked(tree, verdicts)
        return [row for row in closing["facts"] if self._row(row) and verdicts.get(row["id"], row["by"].get("kind") != "rule")]

    # --- what was told before ----------------------------------------------------------

    def withholds(self, operation: Operation) -> bool:
        """Whether what came of an operation may not be shown under this Profile, although its state is."""
        if not all(map(self.case_id, operation.case_ids)):
            return True
        plan, result = operation.plan, operation.result or {}
        told = result.get("result") or {}
        worded = operation.state in (REFUSED, FAILED) or operation.reason or "warnings" in told
        if worded and not self.profile.covers(Profile.of(operation.profile or {})):
            return True          # free words that were written for wider eyes
        if plan is None:
            known = self.state.actions.get(told.get("action"))
            return known is not None and not self.action(known)
        shown = self.capability(plan["action"].rpartition(".")[0]) if plan["release"] else True
        return not (shown and not (worded and self._may_quote(plan)) and self.predicates(row["predicate"] for row in (*plan["returns"], *plan["effects"]))
                    and (not plan["sourceRecordId"] or self.source(plan["sourceRecordId"]))
                    and all(self.source(source) for source, _ in plan.get("restsOn", ())))

    def _may_quote(self, plan: Mapping) -> bool:
        """Whether what a person or a Worker says of a call could repeat an argument that is hidden."""
        spec = self.state.actions.get(plan["action"])
        bound = bool(plan["release"]) and (spec is None or not self.literals(spec.preconditions))
        return bound or self.profile.tiers is not None

    def predicates(self, names: Iterable[str]) -> bool:
        return all(map(self.predicate, names))


def named_predicates(operation: object) -> Iterator[str]:
    """Every predicate that one operation of a batch names, wherever it stands."""
    waiting = [operation]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            for name, value in each.items():
                if name == "predicate" and isinstance(value, str):
                    yield value
                elif isinstance(value, (Mapping, list)):
                    waiting.append(value)
            if each.get("predicate") == FUNCTIONAL_DEPENDENCY and isinstance(each.get("args"), Mapping) and isinstance(each["args"].get("predicate"), str):
                yield each["args"]["predicate"]
        elif isinstance(each, list):
            waiting.extend(each)


def withheld_ordinals(sight: Sight | None, operations: Sequence[Operation]) -> frozenset[int]:
    return frozenset() if sight is None else frozenset(each.ordinal for each in operations if sight.withholds(each))
