"""A slow model of a reasoning board: plain dictionaries, everything recomputed after each batch.

Shares no code with the engine; rules are matched by tests/rules/naive.py, which is the
closure's referee too. Batches hold at most one aggregate, the last operation.
"""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction
from typing import NamedTuple

from tests.rules.naive import EXACT, closure, extend, fact, is_var, wrap


class Lit(NamedTuple):
    predicate: str
    args: tuple
    negated: bool = False
    naf: bool = False

    def get(self, name):
        return dict(self.args).get(name)


class Clause(NamedTuple):
    when: tuple
    then: tuple


class Rejected(Exception):
    """The batch is refused with this label."""


def lit(obj):
    return Lit(obj["predicate"], tuple(sorted((obj.get("args") or {}).items())), obj.get("negated", False), obj.get("naf", False))


def as_fact(obj):
    return fact(obj["predicate"], obj.get("negated", False), (obj.get("args") or {}).items())


def bag(literals):
    return sorted(repr((one.predicate, one.negated, one.naf, one.args)) for one in literals)


class Model:
    def __init__(self):
        self.nodes = {}      # id -> {"kind": fact|rule|goal|hypothesis|total, "refs": [...], ...}
        self.held = set()

    def apply(self, operations):
        """Run a batch, or raise Rejected and stay as before."""
        saved = copy.deepcopy(self.nodes), self.held
        try:
            for operation in operations:
                getattr(self, operation["op"])(operation)
            self.settle()
        except Rejected:
            self.nodes, self.held = saved
            raise

    # --- operations
    def put(self, operation, node):
        if operation["id"] in self.nodes:
            raise Rejected("NODE_ID_TAKEN")
        self.nodes[operation["id"]] = {**node, "refs": list(operation.get("evidenceRefs", ()))}

    def assert_fact(self, operation):
        said = as_fact(operation)
        if not any(node["kind"] == "fact" and node["fact"] == said for node in self.nodes.values()):
            self.put(operation, {"kind": "fact", "fact": said})

    def add_axiom(self, operation):
        clause = Clause(tuple(map(lit, operation["when"])), tuple(map(lit, operation["then"])))
        key = bag(clause.when), bag(clause.then)
        if all(node.get("key") != key for node in self.nodes.values()):
            self.put(operation, {"kind": "rule", "clause": clause, "key": key})

    def declare_goal(self, operation):
        self.put(operation, {"kind": "goal", "desired": list(map(lit, operation["desired"]))})

    def declare_hypothesis(self, operation):
        self.put(operation, {"kind": "hypothesis", "pattern": lit(operation)})

    def retract_node(self, operation):
        if operation["nodeId"] not in self.nodes:
            raise Rejected("NODE_NOT_FOUND")
        gone = {operation["nodeId"]}
        while more := {key for key, node in self.nodes.items() if key not in gone and gone & set(node["refs"])}:
            gone |= more
        for key in gone:
            del self.nodes[key]
        self.held = self.close()

    def revise_fact(self, operation):
        self.retract_node(operation)
        self.assert_fact(operation)

    def derive_aggregate(self, operation):
        held = self.close()
        name = operation["id"]
        self.nodes = {key: node for key, node in self.nodes.items() if node.get("family") != name}
        held = self.close()
        sources = [one for one in held if one[0] == operation["source"]["predicate"] and not one[1]]
        if not sources:
            raise Rejected("AGGREGATE_EMPTY")
        if any(predicate == operation["source"]["predicate"] for predicate, *_ in self.conflicts(held)):
            raise Rejected("AGGREGATE_SOURCE_CONFLICT")
        by = operation.get("group_by")
        keys = [dict(one[2]).get(by) for one in sources] if by else []
        if by and None in keys:
            raise Rejected("AGGREGATE_GROUP_ARG" if set(keys) == {None} else "AGGREGATE_GROUP_PARTIAL")
        totals = {key: self.total(operation, [one for one in sources if not by or dict(one[2])[by] == key]) for key in (set(keys) or {None})}
        for key, (members, value) in totals.items():
            args = {operation["into"]["valueArg"]: value, **({by: key} if by else {})}
            head = None if value is None else (operation["into"]["predicate"], False, frozenset(args.items()))
            self.nodes[name, key] = {"kind": "total", "family": name, "refs": [], "source": operation["source"]["predicate"], "by": by,
                                     "into": operation["into"]["predicate"],
                                     "group": key, "members": members, "head": head, "live": True}

    def total(self, operation, members):
        kind, arg = operation.get("kind", "sum"), operation["source"].get("valueArg")
        if kind == "count":
            return frozenset(members), len(members)
        values = [dict(one[2]).get(arg) for one in members]
        if any(isinstance(value, (tuple, str)) or value is None for value in values):
            raise Rejected("AGGREGATE_NON_NUMERIC")
        found = {"sum": sum, "min": min, "max": max, "avg": lambda v: Fraction(sum(v), len(v))}[kind](values)
        found = int(found) if found == int(found) else float(found)
        return frozenset(members), found if abs(found) <= EXACT else None

    # --- what follows
    def base(self):
        return [node["fact"] for node in self.nodes.values() if node["kind"] == "fact"]

    def clauses(self):
        found = [node["clause"] for node in self.nodes.values() if node["kind"] == "rule"]
        for node in self.nodes.values():
            if node["kind"] == "total" and node["live"] and node["head"] is not None:
                predicate, negated, args = node["head"]
                unwrapped = ((name, value[1] if isinstance(value, tuple) else value) for name, value in args)
                found.append(Clause((), (Lit(predicate, tuple(sorted(unwrapped)), negated),)))
        return found

    def close(self):
        held = closure(self.clauses(), self.base())
        if held is None:
            raise Rejected("NOT_STRATIFIABLE")
        return held

    def members_now(self, node):
        return frozenset(one for one in self.held if one[0] == node["source"] and not one[1]
                         and (not node["by"] or dict(one[2]).get(node["by"]) == node["group"]))

    def settle(self):
        self.held = self.close()
        while stale := [node for node in self.live() if self.members_now(node) != node["members"]] or self.unfounded():
            for node in stale:
                node["live"] = False
            self.held = self.close()

    def live(self):
        return [node for node in self.nodes.values() if node["kind"] == "total" and node["live"]]

    def unfounded(self):
        """Totals that hold only by what they bring about: put back one after another, they find no ground."""
        reach = self.reach()
        waiting = [node for node in self.live() if node["head"] is not None and node["source"] in reach[node["into"]]]
        for node in waiting:
            node["live"] = False
        while ready := [node for held in [self.close()] for node in waiting if not node["live"] and node["members"] <= held]:
            for node in ready:
                node["live"] = True
        missing = [node for node in waiting if not node["live"]]
        for node in missing:
            node["live"] = True
        return missing

    def reach(self):
        """predicate -> itself and all that may follow from it."""
        pairs = {(body.predicate, head.predicate) for node in self.nodes.values() if node["kind"] == "rule"
                 for body in node["clause"].when for head in node["clause"].then}
        pairs |= {(node["source"], node["into"]) for node in self.nodes.values() if node["kind"] == "total"}
        found = {name: {name} for pair in pairs for name in pair}
        for _ in list(found):
            for (body, head), seen in itertools.product(pairs, found.values()):
                seen |= {head} if body in seen else set()
        return found

    def holds(self, literal):
        if any(is_var(value) for _, value in literal.args):
            return any(extend(literal, one, {}) is not None for one in self.held)
        return fact(literal.predicate, literal.negated, literal.args) in self.held

    def verdict(self, node):
        pattern = node["pattern"]
        if self.holds(pattern):
            return "supported"
        ground = not any(is_var(value) for _, value in pattern.args)
        return "refuted" if ground and self.holds(pattern._replace(negated=not pattern.negated)) else "open"

    def conflicts(self, held):
        """(predicate, key, facts) of every functional conflict."""
        declared = {(dict(a).get("predicate"), dict(a).get("key")) for p, n, a in held if p == "functional_dependency" and not n}
        for predicate, key in declared:
            groups = {}
            for one in held:
                args = dict(one[2])
                if one[0] == predicate and not one[1] and key in args:
                    groups.setdefault(args[key], []).append(one)
            yield from ((predicate, key, facts) for facts in groups.values() if len(facts) > 1)

    def contradictions(self):
        return {(p, a) for p, n, a in self.held if not n and (p, True, a) in self.held}


def wrapped(args):
    return frozenset((name, wrap(value)) for name, value in args.items())
