"""A Capability Release as law uses it: every alias expanded, every rule compiled to terms.

Plain frozen data, made by capability.py from a checked file and by nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.rules.builtins import same
from rulith.rules.terms import Atom, Literal, Rule, Scalar


@dataclass(frozen=True)
class PredicateSpec:
    """One row of `vocabulary.defines`: full id, alias, argument types, Source types that may attest it."""

    id: str
    alias: str
    args: Mapping[str, str]          # name -> string | number | boolean
    units: Mapping[str, str]
    sources: tuple[str, ...]

    def signature(self) -> str:
        return f"{self.id}({', '.join(self.args)})"


@dataclass(frozen=True)
class ActionSpec:
    """One Action. `tool` is "" for a Board Action, which no Worker runs."""

    id: str                          # Capability id + "." + local id
    description: str
    params: Mapping[str, str]        # name -> type, with "?" where it may be left out
    preconditions: tuple[Literal, ...]
    effects: tuple[Literal, ...]
    tool: str = ""
    kind: str = ""                   # read | write | run
    source_types: tuple[str, ...] = ()
    returns: tuple[Mapping, ...] = ()        # {"predicate": full id, "args": {name: "$column"}}
    decision: Mapping | None = None          # {"kind", "people", "expiresS"}
    release: str = ""                # digest of the Release it belongs to
    label: str = ""
    direct: bool = False             # of a locked Tool itself, without a Capability; see direct.py

    @property
    def is_external(self) -> bool:
        return self.tool != ""

    @property
    def required_params(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.params.items() if not kind.endswith("?"))


@dataclass(frozen=True)
class AggregateRow:
    """One row of `aggregates`: a total over all facts of a predicate, live; see totals.py."""

    id: str                          # Capability@version/aggregate/local id
    label: str
    kind: str                        # sum | count | min | max | avg
    source: str                      # full predicate id
    value_arg: str                   # "" for count without one
    into: str                        # full predicate id; nothing else concludes it
    into_arg: str
    where: tuple[str, Scalar] | None = None
    group_by: str = ""

    def admits(self, atom: Atom) -> bool:
        """Does the filter keep this fact?"""
        if self.where is None:
            return True
        value = atom.arguments.get(self.where[0])
        return value is not None and same(value, self.where[1])


@dataclass(frozen=True)
class TaskNode:
    node: str
    goal: str
    acceptance: str                  # local id of the acceptance row


@dataclass(frozen=True)
class CaseType:
    id: str
    title: str
    business_key: Mapping[str, str]
    floor: str
    agent_rules: str                 # none | rules_only | rules_and_actions
    task: tuple[TaskNode, ...]
    drive: tuple[str, ...]           # full Action ids
    capability: str
    contract: str                    # digest of this Case Type's own text
    deadline_s: int | None = None    # from the opening on; then its Cases take no more work


@dataclass(frozen=True)
class Acceptance:
    id: str
    label: str
    when: tuple[Literal, ...]        # holds for the root bound to ?root


@dataclass(frozen=True)
class Release:
    """One immutable version of a Capability, named by the digest of its canonical JSON."""

    id: str
    version: str
    digest: str
    title: str
    summary: str
    predicates: Mapping[str, PredicateSpec]      # by full id
    pins: frozenset[str]
    rules: tuple[Rule, ...]
    acceptance: Mapping[str, Acceptance]
    actions: Mapping[str, ActionSpec]            # by full id
    case_types: Mapping[str, CaseType]
    terms_digest: str
    aggregates: tuple[AggregateRow, ...] = ()
    examples: tuple[Mapping, ...] = ()
    document: Mapping = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.id}@{self.version}"

    def test_name(self, acceptance_id: str) -> str:
        """What the Board word acceptance(node, test) says for one acceptance row."""
        return f"{self.id}.{acceptance_id}"

    @property
    def protected(self) -> dict[str, str]:
        """Predicates no Agent may write -> who does: pins, attested returns, and what external Actions bring about."""
        found = {predicate: "pin" for predicate in sorted({*self.pins, *(row.into for row in self.aggregates)})}
        for action in self.actions.values():
            for row in action.returns:
                found.setdefault(row["predicate"], "source")
            if action.is_external:
                for effect in action.effects:
                    found.setdefault(effect.predicate, "action")
        return found
