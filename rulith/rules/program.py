"""A Program: base facts, rules, and everything that follows from them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rulith.base.canonical import canonical_bytes
from rulith.base.errors import Refused
from rulith.base import limits as bounds
from rulith.rules import builtins, safety
from rulith.rules.proofs import Computation, FunctionalConflict, Lack, Missing, Node, Support
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable


@dataclass(frozen=True, slots=True)
class Limits:
    facts: int = bounds.FACTS_MAX
    derived: int = bounds.DERIVED_MAX
    rules: int = bounds.RULES_MAX
    body: int = bounds.RULE_BODY_MAX
    bindings: int = bounds.JOIN_BINDINGS_MAX
    rounds: int = bounds.CLOSURE_ROUNDS_MAX


@dataclass
class Delta:
    """Derived atoms that appeared and disappeared, in a deterministic order."""

    added: list[Atom] = field(default_factory=list)
    removed: list[Atom] = field(default_factory=list)


class Tx:
    def __init__(self, program: "Program") -> None:
        self._program = program

    def assert_fact(self, atom: Atom) -> None:
        if atom.predicate in builtins.BUILTINS:
            raise Refused("BUILTIN_RESERVED", predicate=atom.predicate, use="stated as a fact")
        if any(is_variable(value) for _, value in atom.args):
            raise Refused("ATOM_INVALID", where=atom.text(), problem="a fact names values, not variables")
        self._program._base[atom] = None

    def retract_fact(self, atom: Atom) -> None:
        self._program._base.pop(atom, None)

    def add_rule(self, rule: Rule) -> None:
        safety.check_rule(rule)
        if rule.id in self._program._rules:
            raise Refused("RULE_ID_TAKEN", rule=rule.id)
        self._program._rules[rule.id] = rule

    def remove_rule(self, rule_id: str) -> None:
        if rule_id not in self._program._rules:
            raise Refused("RULE_NOT_FOUND", rule=rule_id)
        del self._program._rules[rule_id]

    def close(self) -> Delta:
        return self._program._close()


class Program:
    """Facts and rules, closed. Changes happen inside `transaction()`."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self.steps = 0
        self._base: dict[Atom, None] = {}
        self._rules: dict[str, Rule] = {}
        self._derived: dict[Atom, tuple[Rule, dict]] = {}

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        saved = dict(self._base), dict(self._rules), dict(self._derived), self.steps
        try:
            yield Tx(self)
        except BaseException:
            self._base, self._rules, self._derived, self.steps = saved
            raise

    # reading
    def holds(self, atom: Atom) -> bool:
        return atom in self._base or atom in self._derived

    def is_base(self, atom: Atom) -> bool:
        return atom in self._base

    def is_derived(self, atom: Atom) -> bool:
        return atom in self._derived

    def rules(self) -> list[Rule]:
        return list(self._rules.values())

    def facts(self, predicate: str | None = None) -> Iterator[Atom]:
        for atom in [*self._base, *(a for a in self._derived if a not in self._base)]:
            if predicate is None or atom.predicate == predicate:
                yield atom

    def solve(self, body: Sequence[Literal], bindings: Mapping[str, Scalar] | None = None,
              limit: int | None = None) -> Iterator[dict[str, Scalar]]:
        order, stuck = safety.matching_order(body, tuple(bindings or ()))
        if stuck:
            return
        seen: set = set()
        for found in self._match([body[i] for i in order], dict(bindings or {})):
            key = tuple((n, isinstance(v, bool), v) for n, v in found.items())
            if key not in seen:
                seen.add(key)
                yield found
                if limit is not None and len(seen) >= limit:
                    return

    def support(self, atom: Atom) -> Support | None:
        if atom not in self._derived:
            return None
        rule, bindings = self._derived[atom]
        premises, computed = [], []
        for literal in rule.when:
            if safety.joins(literal):
                pattern = literal.under(bindings)
                premises.append(next(a for a in self.facts(literal.predicate) if self._fits(pattern, a, {}) is not None))
            elif literal.predicate in builtins.ARITHMETIC:
                ground = literal.under(bindings)
                names = builtins.ARITHMETIC[literal.predicate]
                values = tuple(ground.get(n) for n in names)
                result = builtins.compute(literal.predicate, values)
                exact = builtins.is_exact(literal.predicate, values, result)
                computed.append(Computation(literal.predicate, tuple(zip(names, values)), result, exact))
        rounded = next((c.text() for c in computed if not c.exact), None)
        return Support(rule.id, tuple(premises), tuple(computed), rounded)

    def explain(self, atom: Atom, depth_max: int = 64, nodes_max: int = 10_000) -> Node:
        support = self.support(atom)
        if support is None:
            return Node(atom, None)
        if depth_max <= 0:
            return Node(atom, support, (), True)
        return Node(atom, support, tuple(self.explain(p, depth_max - 1, nodes_max) for p in support.premises))

    def contradictions(self) -> list[Atom]:
        return [a for a in self.facts() if not a.negated and self.holds(a.opposite())]

    def functional_conflicts(self) -> list[FunctionalConflict]:
        return []

    def disputed(self, atom: Atom) -> bool:
        return self.holds(atom.opposite())

    def why_not(self, pattern: Literal, depth: int = 1) -> list[Lack]:
        found = []
        for rule in self._rules.values():
            for head in rule.then:
                if head.predicate != pattern.predicate or head.negated != pattern.negated:
                    continue
                bindings: dict = {}
                for name, value in head.args:
                    wanted = pattern.get(name)
                    if is_variable(value) and wanted is not None and not is_variable(wanted):
                        bindings[value] = wanted
                missing, satisfied = [], []
                order, _ = safety.matching_order(rule.when)
                for index in order:
                    literal = rule.when[index]
                    if not safety.joins(literal) and not set(safety.inputs(literal)) <= set(bindings):
                        continue
                    step = next(self._match([literal], dict(bindings)), None)
                    if step is not None:
                        bindings.update(step)
                        satisfied.append(literal.under(bindings))
                        continue
                    ground = literal.under(bindings)
                    if literal.naf:
                        missing.append(Missing(ground, "present"))
                    elif literal.predicate in builtins.ARITHMETIC:
                        names = builtins.ARITHMETIC[literal.predicate]
                        ops = tuple((n, ground.get(n)) for n in names)
                        values = tuple(v for _, v in ops)
                        reason = "arithmetic_exact" if builtins.left_exact_range(literal.predicate, values) else "no_result"
                        missing.append(Missing(ground, reason, ops))
                    elif literal.predicate in builtins.COMPARISONS:
                        missing.append(Missing(ground, "comparison_false", ground.args))
                    else:
                        missing.append(Missing(ground, "absent"))
                below = tuple(l for m in missing if m.reason == "absent" and depth > 1 for l in self.why_not(m.literal, depth - 1))
                found.append(Lack(rule.id, rule.label, head, tuple(bindings.items()), tuple(satisfied), tuple(missing), below))
        return sorted(found, key=lambda lack: len(lack.missing))

    def closure_digest(self) -> str:
        total = sum(int.from_bytes(hashlib.sha256(canonical_bytes(a.json())).digest(), "big") for a in self.facts())
        return f"{total % 2**256:064x}"

    # closing: every rule against every fact until nothing is new
    def _fits(self, literal: Literal, atom: Atom, bindings: dict) -> dict | None:
        if atom.predicate != literal.predicate or atom.negated != literal.negated:
            return None
        have, found = atom.arguments, dict(bindings)
        for name, term in literal.args:
            if name not in have:
                return None
            wanted = found.setdefault(term, have[name]) if is_variable(term) else term
            if not builtins.same(wanted, have[name]):
                return None
        return found

    def _match(self, body: list[Literal], bindings: dict) -> Iterator[dict]:
        if not body:
            yield bindings
            return
        first, rest = body[0], body[1:]
        if safety.joins(first):
            for atom in list(self.facts(first.predicate)):
                found = self._fits(first, atom, bindings)
                if found is not None:
                    yield from self._match(rest, found)
            return
        ground = first.under(bindings)
        if first.naf:
            if not any(self._fits(ground, atom, {}) is not None for atom in self.facts(first.predicate)):
                yield from self._match(rest, bindings)
            return
        slots = builtins.COMPARISONS.get(first.predicate) or builtins.ARITHMETIC[first.predicate]
        values = tuple(ground.get(name) for name in slots)
        if any(value is None for value in values):
            return
        if first.predicate in builtins.COMPARISONS:
            if builtins.compare(first.predicate, values):
                yield from self._match(rest, bindings)
            return
        wanted, result = ground.get("result"), builtins.compute(first.predicate, values)
        if result is None or wanted is None:
            return
        if is_variable(wanted) and first.get("result") not in bindings:
            yield from self._match(rest, {**bindings, first.get("result"): result})
        elif builtins.same(wanted, result):
            yield from self._match(rest, bindings)

    def _close(self) -> Delta:
        before = self._derived
        self._derived = {}
        layers = self._layers()
        for layer in range(max(layers.values(), default=0) + 1):
            grown = True
            while grown:
                grown = False
                for rule in self._rules.values():
                    heads = [h for h in rule.then if layers[h.predicate, h.negated] == layer]
                    order, stuck = safety.matching_order(rule.when)
                    if not heads or stuck:
                        continue
                    for found in list(self._match([rule.when[i] for i in order], {})):
                        for head in heads:
                            atom = head.under(found).atom()
                            if not self.holds(atom):
                                self._derived[atom] = (rule, found)
                                grown = True
        return Delta([a for a in self._derived if a not in before], [a for a in before if a not in self._derived])

    def _layers(self) -> dict:
        layers: dict = {}
        edges = []
        for rule in self._rules.values():
            for head in rule.then:
                layers[head.predicate, head.negated] = 0
                edges += [((head.predicate, head.negated), (b.predicate, b.negated), b.naf) for b in rule.when]
        for _ in range(len(layers) + 2):
            changed = False
            for head, body, naf in edges:
                need = layers.get(body, 0) + naf
                if need > layers[head]:
                    layers[head], changed = need, True
            if not changed:
                return layers
        raise Refused("NOT_STRATIFIABLE", predicate=next(iter(layers))[0], cycle="naf inside a cycle of rules")
