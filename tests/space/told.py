"""The book beside a board: which nodes were told, cite one another, went and were archived.

Keeps no rule and computes nothing: what follows from the nodes that stand is tests/rules/naive.py's
to say. Batches hold at most one aggregate, the last operation. Which of several matches an Action
takes is the engine's to say; the book checks that it is a match and performs the effects by itself.
"""

from __future__ import annotations

from tests.rules import naive


class Rejected(Exception):
    """The batch is refused with this label."""


class Told:
    def __init__(self):
        self.nodes = {}      # id -> {"kind": fact|rule|goal|hypothesis|total|action|event, "refs": [...], ...}
        self.held = set()

    def apply(self, batch):
        """Run a batch, or raise Rejected and stay as before."""
        saved = {key: dict(node) for key, node in self.nodes.items()}, self.held
        try:
            for operation in batch:
                getattr(self, operation["op"])(operation)
            self.settle()
        except Rejected:
            self.nodes, self.held = saved
            raise

    # --- operations
    def put(self, operation, kind, **node):
        if operation["id"] in self.nodes:
            raise Rejected("NODE_ID_TAKEN")
        self.nodes[operation["id"]] = {"kind": kind, "refs": list(operation.get("evidenceRefs", ())), **node}

    def assert_fact(self, operation):
        said = naive.under(operation, {})
        if said not in self.base():
            self.put(operation, "fact", fact=said)

    def add_axiom(self, operation):
        key = [sorted(map(repr, map(sorted_members, operation[part]))) for part in ("when", "then")]
        if all(node["key"] != key for node in self.usable("rule")):
            self.put(operation, "rule", key=key, rule=(operation["when"], operation["then"]))

    def define_action(self, operation):
        self.put(operation, "action", when=operation["preconditions"], effects=operation["effects"])

    def declare_goal(self, operation):
        self.put(operation, "goal", desired=operation["desired"])

    def declare_hypothesis(self, operation):
        self.put(operation, "hypothesis", pattern=operation)

    def retract_node(self, operation):
        if operation["nodeId"] not in self.nodes:
            raise Rejected("NODE_NOT_FOUND")
        for key in self.citing({operation["nodeId"]}):
            del self.nodes[key]
        self.held = self.close()

    def revise_fact(self, operation):
        self.retract_node(operation)
        self.assert_fact(operation)

    def derive_aggregate(self, operation):
        self.close()
        self.nodes = {key: node for key, node in self.nodes.items() if node.get("family") != operation["id"]}
        held = self.close()
        kind, source, into, by = operation["kind"], operation["source"]["predicate"], operation["into"], operation.get("group_by")
        rows = naive.members({"source": source, "by": None}, held)
        if not rows:
            raise Rejected("AGGREGATE_EMPTY")
        if any(predicate == source for predicate, _ in naive.conflicts(held)):
            raise Rejected("AGGREGATE_SOURCE_CONFLICT")
        groups = {dict(one[2]).get(by) for one in rows} if by else {None}
        if by and None in groups:
            raise Rejected("AGGREGATE_GROUP_ARG" if len(groups) == 1 else "AGGREGATE_GROUP_PARTIAL")
        for group in groups:
            node = {"kind": "total", "family": operation["id"], "refs": [], "source": source, "into": into["predicate"], "by": by, "group": group, "live": True}
            counted = naive.members(node, held)
            try:
                value = naive.total_of(kind, operation["source"].get("valueArg"), counted)
            except (LookupError, TypeError, ValueError):
                raise Rejected("AGGREGATE_NON_NUMERIC") from None
            args = frozenset({into["valueArg"]: value, **({by: group} if by else {})}.items())
            self.nodes[operation["id"], group] = {**node, "members": counted, "head": None if value is None else (into["predicate"], False, args)}

    # --- what stands
    def citing(self, ids):
        """`ids` and all that cites one of them, directly or not."""
        while more := {key for key, node in self.nodes.items() if key not in ids and not ids.isdisjoint(node["refs"])}:
            ids = ids | more
        return ids

    def usable(self, kind):
        """The nodes of a kind that are not archived and rest on none that is."""
        hidden = self.citing({key for key, node in self.nodes.items() if node.get("archived")})
        return [node for key, node in self.nodes.items() if node["kind"] == kind and key not in hidden]

    def base(self):
        return {node["fact"] for node in self.usable("fact")}

    def live(self):
        return [node for node in self.nodes.values() if node["kind"] == "total" and node["live"]]

    def rules(self):
        return [node["rule"] for node in self.usable("rule")]

    def close(self):
        held = naive.closure(self.rules(), self.base() | {total["head"] for total in self.live() if total["head"]})
        if held is None:
            raise Rejected("NOT_STRATIFIABLE")
        return held

    def settle(self):
        self.held, standing = naive.standing(self.rules(), self.base(), self.live())
        if self.held is None:
            raise Rejected("NOT_STRATIFIABLE")
        for node in self.live():
            node["live"] = any(node is total for total in standing)

    # --- what it means
    def verdict(self, node):
        pattern = node["pattern"]
        if naive.holds(pattern, self.held):
            return "supported"
        ground = not any(map(naive.is_free, pattern["args"].values()))
        return "refuted" if ground and naive.holds({**pattern, "negated": not pattern.get("negated", False)}, self.held) else "open"

    def contradictions(self):
        return {(p, a) for p, n, a in self.held if not n and (p, True, a) in self.held}

    # --- applying actions
    def bindings(self, name):
        """Every distinct way the action binds now."""
        return {frozenset(env.items()) for env in naive.matches(self.nodes[name]["when"], self.held)}

    def act(self, name, binding, made, event):
        """Perform the effects. `made`: the ids of what it should produce, one for each; gives what it did."""
        produced, consumed, left = naive.performed(self.nodes[name]["effects"], dict(binding), self.base())
        for node in self.usable("fact"):
            if node["fact"] in consumed:
                node["archived"] = True
        assert len(produced) == len(made)
        for place, (atom, node_id) in enumerate(zip(produced, made)):
            self.nodes[node_id] = {"kind": "fact", "fact": atom, "refs": [name], "archived": atom not in left or atom in produced[place + 1:]}
        self.nodes[event] = {"kind": "event", "refs": [name]}
        self.settle()
        return produced, consumed


def sorted_members(literal):
    return naive.sign(literal), literal.get("naf", False), sorted((name, repr(value)) for name, value in literal["args"].items())


def wrapped(args):
    return frozenset((name, naive.typed(value)) for name, value in args.items())
