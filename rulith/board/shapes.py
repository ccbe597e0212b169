"""The values that cross the edge of the law: outcomes, plans, and what policy the Board may read.

Everything here is plain data. `record()` gives the JSON form that commands and rows carry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rulith.base.canonical import canonical_text, digest

Mint = Callable[[str], str]     # a prefix such as "case_" in, a fresh id out

TIERS = ("verified", "attested", "approximate", "inductive", "uncertain", "perceived", "asserted")
TIER_RANK = {tier: rank for rank, tier in enumerate(TIERS)}   # 0 is the strongest


def weaker(left: str, right: str) -> str:
    return left if TIER_RANK[left] >= TIER_RANK[right] else right


def stronger(left: str, right: str) -> str:
    return left if TIER_RANK[left] <= TIER_RANK[right] else right


class Outcome(NamedTuple):
    """An accepted command.

    row             {"command", "at", "minted", "result": digest, "closure"?}; goes to the ledger as is
    result          what the caller is told; the keys are listed in the package docstring
    affected_cases  Case ids whose certification, gaps or status may have moved, in Case order
    changed         node ids added or changed by this command, at most 500, for `view(first=...)`
    """

    row: dict
    result: dict
    affected_cases: list[str]
    changed: list[str]


@dataclass(frozen=True)
class Source:
    """A place a Tool may read or write, bound to one Connection. `name` is also its record id on the Worker hop."""

    name: str
    type: str
    access: str
    connection_id: str
    tier: str                       # the strongest tier its facts may have
    attests: tuple[str, ...]        # predicate ids, or ("*",)

    def may_attest(self, predicate: str) -> bool:
        return "*" in self.attests or predicate in self.attests

    def record(self) -> dict:
        return {"name": self.name, "type": self.type, "access": self.access, "connectionId": self.connection_id,
                "tier": self.tier, "attests": list(self.attests)}

    @classmethod
    def of(cls, record: Mapping) -> Source:
        return cls(record["name"], record["type"], record["access"], record["connectionId"],
                   record["tier"], tuple(record["attests"]))


@dataclass(frozen=True)
class ToolLock:
    """A Tool definition the owner approved on one Connection, named by its digest."""

    connection_id: str
    tool_id: str
    digest: str                     # bare 64 hex
    descriptor: Mapping             # {id, digest, kind, sourceTypes, params, returns}
    waived: bool = False            # the owner lets it act as a direct Action without a decision


@dataclass(frozen=True)
class Policy:
    """What the Board may know of the world around it for one read: made by `Registry.policy`.

    live      connection id -> {tool id: digest advertised now}; a Connection without a live lease is absent
    version   equal versions mean equal content; views are cached by it
    profile   what the Agent may see (profiles.py), or None; its hidden Sources are not among `sources`
    """

    sources: tuple[Source, ...] = ()
    locks: Mapping[tuple[str, str], ToolLock] = field(default_factory=dict)
    live: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    version: object = ""
    profile: Any = None

    def source(self, name: str) -> Source | None:
        return next((source for source in self.sources if source.name == name), None)


@dataclass(frozen=True)
class BoardPlan:
    """A Board Action: settled by `apply_action` at once, no Worker involved."""

    action: str
    args: Mapping
    target: str
    case_ids: tuple[str, ...]


@dataclass(frozen=True)
class ExternalPlan:
    """An Action for a Worker, with every argument bound and every check of the law passed.

    args_text       exactly the bytes to serve, approve and digest; includes "source" when a Source is used
    tool_spec_text  exactly the bytes to serve: {name, kind, impl, params, exec, sourceTypes, returns}
    tool_digest     bare 64 hex pin of the locked Tool
    decision        {"kind", "people", "expiresS"} or None
    premises        proof nodes of the facts the arguments rest on; for the person who decides
    returns         rows {"predicate", "args"} in full predicate ids
    effects         ground effects: {"predicate", "args", "negated"?}; recorded when the act is known to have happened
    worker_online   whether the Connection's line was live with this very Tool when planned
    rests_on        [Source, tier] of everything the arguments and preconditions rest on; facts that come of it carry them
    """

    action: str
    tool: str
    kind: str
    args: Mapping
    args_text: str
    target: str
    tool_spec_text: str
    source_record_id: str
    connection_id: str
    tool_digest: str
    decision: Mapping | None
    premises: tuple[dict, ...]
    case_ids: tuple[str, ...]
    returns: tuple[dict, ...] = ()
    effects: tuple[dict, ...] = ()
    release: str = ""
    worker_online: bool = False
    rests_on: tuple[list[str], ...] = ()

    @property
    def argument_digest(self) -> str:
        """What a decision is bound to: Action, argument bytes, target, Tool pin and Connection."""
        return digest({"action": self.action, "args": self.args_text, "target": self.target,
                       "toolDigest": self.tool_digest, "connectionId": self.connection_id})

    def record(self) -> dict:
        """The JSON form rows carry (premises stay with the decision)."""
        return {"action": self.action, "tool": self.tool, "kind": self.kind, "args": dict(self.args),
                "argsText": self.args_text, "target": self.target, "toolSpecText": self.tool_spec_text,
                "sourceRecordId": self.source_record_id, "connectionId": self.connection_id,
                "toolDigest": self.tool_digest, "decision": dict(self.decision) if self.decision else None,
                "caseIds": list(self.case_ids), "returns": list(self.returns), "effects": list(self.effects),
                "restsOn": list(self.rests_on), "release": self.release, "argumentDigest": self.argument_digest}


def args_text(args: Mapping) -> str:
    """The one text of an argument object that is served, shown, approved and digested."""
    return canonical_text(dict(args))
