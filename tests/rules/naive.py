"""The referee: a slow evaluator that recomputes everything from rules and base facts.

Shares no code with the engine but the Rule and Literal records. Every predicate sign has
a layer; layer by layer, all rules are tried against all facts until nothing is new.
A fact is (predicate, negated, {name: value}) with booleans wrapped so that True is not 1.
"""

from __future__ import annotations

import itertools

EXACT = 2**53 - 1


def wrap(value):
    return ("bool", value) if isinstance(value, bool) else value


def fact(predicate, negated, args):
    return predicate, negated, frozenset((name, wrap(value)) for name, value in args)


def is_var(value):
    return isinstance(value, str) and value.startswith("?") and value[1:].strip() != ""


COMPARE = {
    "eq": lambda a, b: a == b, "neq": lambda a, b: a != b,
    "lt": lambda a, b: numbers(a, b) and a < b, "lte": lambda a, b: numbers(a, b) and a <= b,
    "gt": lambda a, b: numbers(a, b) and a > b, "gte": lambda a, b: numbers(a, b) and a >= b,
}
COMPUTE = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}


def numbers(*values):
    return all(isinstance(value, (int, float)) for value in values)


def joined(literal):
    return not literal.naf and literal.predicate not in COMPARE and literal.predicate not in COMPUTE


def ready(literal, env):
    wanted = literal.get("result")
    return all(value in env or (name == "result" and literal.predicate in COMPUTE and not literal.naf)
               for name, value in literal.args if is_var(value)) and not (literal.predicate in COMPUTE and wanted is None)


def value_of(term, env):
    return env.get(term, None) if is_var(term) else wrap(term)


def extend(literal, candidate, env):
    """`env` grown so that the literal matches the fact, or None."""
    predicate, negated, args = candidate
    if (predicate, negated) != (literal.predicate, literal.negated):
        return None
    have, grown = dict(args), dict(env)
    for name, term in literal.args:
        if name not in have:
            return None
        wanted = grown.setdefault(term, have[name]) if is_var(term) else wrap(term)
        if wanted != have[name]:
            return None
    return grown


def guard(literal, env, facts):
    """`env` if the guard holds (with its result, if it computes one), else None."""
    if literal.naf:
        return None if any(extend(literal, one, env) is not None for one in facts) else env
    left, right = (value_of(literal.get(slot), env) for slot in ("left", "right"))
    if literal.predicate in COMPARE:
        return env if COMPARE[literal.predicate](left, right) else None
    if not numbers(left, right):
        return None
    result = COMPUTE[literal.predicate](left, right)
    if abs(result) > EXACT:
        return None
    target = literal.get("result")
    if is_var(target) and target not in env:
        return {**env, target: result}
    return env if value_of(target, env) == result else None


def matches(body, facts):
    """Every binding under which the whole body holds."""
    envs = [{}]
    for literal in filter(joined, body):
        envs = [grown for env in envs for one in facts if (grown := extend(literal, one, env)) is not None]
    for env in envs:
        waiting = [literal for literal in body if not joined(literal)]
        current = env
        while waiting and current is not None:
            literal = next((one for one in waiting if ready(one, current)), None)
            if literal is None:
                current = None
            else:
                waiting.remove(literal)
                current = guard(literal, current, facts)
        if current is not None:
            yield current


def layers(rules):
    """sign -> layer, or None where an absence lies in a cycle."""
    signs = {(head.predicate, head.negated): 0 for rule in rules for head in rule.then}
    for _ in range(len(signs) + 2):
        stable = True
        for rule in rules:
            need = max((signs.get((b.predicate, b.negated), 0) + b.naf for b in rule.when), default=0)
            for head in rule.then:
                if signs[head.predicate, head.negated] < need:
                    signs[head.predicate, head.negated], stable = need, False
        if stable:
            return signs
    return None


def closure(rules, base):
    """All facts that hold; None where the rules cannot be layered."""
    signs = layers(rules)
    if signs is None:
        return None
    facts = dict.fromkeys(base)
    for layer in range(max(signs.values(), default=0) + 1):
        grown = True
        while grown:
            grown = False
            for rule, head in itertools.chain.from_iterable(((r, h) for h in r.then) for r in rules):
                if signs[head.predicate, head.negated] != layer:
                    continue
                for env in list(matches(rule.when, list(facts))):
                    new = head.predicate, head.negated, frozenset((n, value_of(t, env)) for n, t in head.args)
                    grown |= new not in facts
                    facts[new] = None
    return set(facts)
