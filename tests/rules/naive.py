"""The referee: all that follows from what stands, recomputed from nothing by trying everything on everything.

Rules, absences, arithmetic, functional conflicts, aggregates and Actions. Literals are JSON objects, a rule is
(when, then), a fact (predicate, negated, {(name, value)}) with booleans wrapped so that True is not 1.
Shares no code with the engine or the proof checker. What was told, and when, tests/space/told.py knows.
"""

import math
from fractions import Fraction

COMPARE = {"lt": lambda a, b: a < b, "lte": lambda a, b: a <= b, "gt": lambda a, b: a > b, "gte": lambda a, b: a >= b}
COMPUTE = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "min": min, "max": max,
           "mod": lambda a, b: a - b * math.trunc(a / b), "idiv": lambda a, b: Fraction(a // b), "imod": lambda a, b: a - b * (a // b)}
TOTALS = {"sum": sum, "min": min, "max": max, "avg": lambda values: sum(values) / len(values)}


def typed(value):
    return ("bool", value) if isinstance(value, bool) else value


def is_free(term):
    return isinstance(term, str) and term.startswith("?") and term[1:].strip() != ""


def sign(literal):
    return literal["predicate"], literal.get("negated", False)


def under(literal, env):
    """The literal as a fact, its variables replaced."""
    return *sign(literal), frozenset((name, env[term] if is_free(term) else typed(term)) for name, term in literal["args"].items())


def extend(literal, one, env):
    """`env` grown so that the literal matches the fact, or None."""
    have, grown = dict(one[2]), dict(env)
    fits = one[:2] == sign(literal) and all(
        name in have and have[name] == (grown.setdefault(term, have[name]) if is_free(term) else typed(term)) for name, term in literal["args"].items())
    return grown if fits else None


def holds(literal, held):
    """A goal's literal: that very fact, or some instance of a pattern."""
    return any(extend(literal, one, {}) is not None for one in held) if any(map(is_free, literal["args"].values())) else under(literal, {}) in held


def settled(exact):
    """A number in its one form: whole and exact, or the nearest binary64; None where neither has a place."""
    near = exact if exact.denominator == 1 else Fraction(float(exact))
    return None if abs(near) > 2**53 - 1 or (exact and not near) else int(near) if near.denominator == 1 else float(near)


def guard(literal, env, facts):
    """`env` if an absence or builtin holds, with what it computes; None if it fails; False while it lacks a variable."""
    name, args = literal["predicate"], literal["args"]
    if any(is_free(t) and t not in env for slot, t in args.items() if slot != "result" or name not in COMPUTE or literal.get("naf")):
        return False
    if literal.get("naf"):
        return None if any(extend(literal, one, env) is not None for one in facts) else env
    left, right = (env[args[slot]] if is_free(args[slot]) else typed(args[slot]) for slot in ("left", "right"))
    if name in ("eq", "neq"):
        return env if (left == right) == (name == "eq") else None
    if isinstance(left, (str, tuple)) or isinstance(right, (str, tuple)) or (right == 0 and name in ("div", "mod", "idiv", "imod")):
        return None
    if name in COMPARE:
        return env if COMPARE[name](left, right) else None
    found, result = settled(COMPUTE[name](Fraction(left), Fraction(right))), args["result"]
    known = env.get(result, found) if is_free(result) else typed(result)
    return {**env, result: found} if found is not None and found == known else None


def matches(body, facts):
    """Every binding under which the whole body holds."""
    joined = [one for one in body if not one.get("naf") and one["predicate"] not in {"eq", "neq", *COMPARE, *COMPUTE}]
    envs = [{}]
    for literal in joined:
        envs = [grown for env in envs for one in facts if (grown := extend(literal, one, env)) is not None]
    for env in envs:
        waiting = [one for one in body if one not in joined]
        while env is not None and waiting:
            place = next((n for n, one in enumerate(waiting) if guard(one, env, facts) is not False), None)
            env = None if place is None else guard(waiting.pop(place), env, facts)
        if env is not None:
            yield env


def closure(rules, base):
    """All that holds, layer by layer; None where an absence lies in a cycle."""
    order, before, facts = {sign(head): 0 for _, then in rules for head in then}, None, set(base)
    while order != before:
        before = dict(order)
        for when, then in rules:
            need = max((order.get(sign(one), 0) + one.get("naf", False) for one in when), default=0)
            order.update({sign(head): max(need, order[sign(head)]) for head in then})
        if max(order.values(), default=0) > len(order):
            return None
    for layer in sorted({*order.values()}):
        steps = [(when, head) for when, then in rules for head in then if order[sign(head)] == layer]
        while not facts >= (new := {under(head, env) for when, head in steps for env in matches(when, facts)}):
            facts |= new
    return facts


def conflicts(held):
    """(predicate, facts) of every functional conflict: equal in the key, different elsewhere."""
    keys = [dict(args) for predicate, negated, args in held if (predicate, negated) == ("functional_dependency", False)]
    groups = [[one for one in held if one[:2] == (key["predicate"], False) and (key["key"], value) in one[2]]
              for key in keys for value in {dict(one[2]).get(key["key"]) for one in held}]
    return {(group[0][0], frozenset(group)) for group in groups if len(group) > 1}


def members(total, held):
    """The facts that an aggregate {source, by, group} counts."""
    return frozenset(one for one in held if one[:2] == (total["source"], False) and (not total["by"] or (total["by"], total["group"]) in one[2]))


def total_of(kind, arg, facts):
    """An aggregate's value, None where it has no exact place. Raises LookupError, TypeError, ValueError where a fact has no number."""
    return len(facts) if kind == "count" else settled(Fraction(TOTALS[kind]([Fraction(dict(one[2])[arg] + 0) for one in facts])))


def leads(arrows, start, end):
    found = {start}
    while more := {head for body, head in arrows if body in found} - found:
        found |= more
    return end in found


def standing(rules, base, totals):
    """All that holds, and the totals that stand: none whose members changed, none that holds by its own conclusion alone."""
    arrows = [(one["predicate"], head["predicate"]) for when, then in rules for one in when for head in then] + [(t["source"], t["into"]) for t in totals]
    while (held := closure(rules, {*base, *(total["head"] for total in totals if total["head"])})) is not None:
        fallen = [total for total in totals if members(total, held) != total["members"]]
        circle = [t for t in totals if t["head"] and leads(arrows, t["into"], t["source"])] if not fallen else []
        while ready := [t for t in circle if t["members"] <= closure(rules, {*base, *(o["head"] for o in totals if o["head"] and o not in circle)})]:
            circle = [total for total in circle if total not in ready]
        if not fallen and not circle:
            return held, totals
        totals = [total for total in totals if total not in fallen and total not in circle]
    return None, totals


def performed(effects, binding, base):
    """What an Action produces and consumes, each effect seeing those before it, and the facts stated afterwards."""
    done = {False: [], True: []}
    for effect in effects:
        atom, consumes = under({**effect, "negated": False}, binding), effect.get("negated", False)
        if (atom in base) == consumes:
            base, _ = {*base} ^ {atom}, done[consumes].append(atom)
    return done[False], done[True], base
