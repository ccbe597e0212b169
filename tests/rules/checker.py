"""An independent checker of proofs: believes what was stated and the rules, and redoes every step by itself.

Shares no code with the engine or with the naive evaluator. A step says what it claims, the rule it
names, the facts it cites for that rule's literals in written order, and the steps below it. Absences
are judged against the facts said to be present, since an absence has no proof of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal

WIDE = Context(prec=2_000)
ORDERS = {"lt": (-1,), "lte": (-1, 0), "gt": (1,), "gte": (0, 1)}    # what comparing left with right may give
SUMS = ("add", "sub", "mul", "div", "mod", "idiv", "imod", "min", "max")


@dataclass(frozen=True)
class Step:
    """`rule` is (when, then) as JSON literals, or None for a leaf; `cut` says that what lies below was left out."""

    claim: tuple
    text: str
    rule: tuple | None = None
    cited: tuple = ()
    below: tuple = ()
    cut: bool = False


def as_fact(atom):
    """(predicate, negated, {(name, value)}), where True is not 1."""
    return atom.predicate, atom.negated, frozenset((name, _plain(value)) for name, value in atom.args)


def step_of(node, rules):
    """A Program's proof tree as steps. `rules` by id."""
    if node.support is None:
        return Step(as_fact(node.atom), node.atom.text())
    rule = rules[node.support.rule_id]
    whole = tuple(literal.json() for literal in rule.when), tuple(literal.json() for literal in rule.then)
    return Step(as_fact(node.atom), node.atom.text(), whole, tuple(map(as_fact, node.support.premises)),
                tuple(step_of(child, rules) for child in node.children), node.cut)


def problems(node, rules, base, present):
    """Everything wrong with a Program's proof tree; empty when it proves its atom."""
    return wrong(step_of(node, rules), base, present)


def wrong(step, stated, present, above=()):
    if step.claim in above:
        return [f"{step.text} rests on itself"]
    if step.rule is None:
        return [] if step.claim in stated and not step.below else [f"{step.text} is a leaf that nobody stated"]
    found = step_problems(step.text, step.claim, step.rule, step.cited, present)
    if not step.cut and tuple(one.claim for one in step.below) != step.cited:
        found.append(f"what lies below {step.text} is not what it cites")
    for one in step.below:
        found += wrong(one, stated, present, (*above, step.claim))
    return found


def step_problems(text, claim, rule, cited, present):
    """Does this rule conclude the claim from the cited facts?"""
    when, then = rule
    guards = [one for one in when if one.get("naf") or one["predicate"] in ("eq", "neq", *ORDERS, *SUMS)]
    joined = [one for one in when if one not in guards]
    if len(joined) != len(cited):
        return [f"{text} cites {len(cited)} facts for {len(joined)} literals"]
    values = {}
    for literal, one in zip(joined, cited):
        if one not in present:
            return [f"{text} cites {one}, which does not hold"]
        if not meets(literal, one, values):
            return [f"{literal} does not match {one}, which {text} cites"]
    while guards:
        decided = [one for one in guards if _inputs(one) <= set(values)]
        if not decided:
            return [f"{text} leaves {guards} undecided"]
        if not _passes(decided[0], values, present):
            return [f"{decided[0]} fails in the proof of {text}"]
        guards.remove(decided[0])
    heads = [(head["predicate"], head.get("negated", False), frozenset((name, _of(term, values)) for name, term in head["args"].items())) for head in then]
    return [] if claim in heads else [f"the rule does not conclude {text} from what it cites"]


def _plain(value):
    return ("bool", value) if value is True or value is False else value


def _variable(term):
    return term.__class__ is str and len(term) > 1 and term[0] == "?" and not term[1:].isspace()


def _of(term, values):
    return values[term] if _variable(term) else _plain(term)


def meets(literal, one, values):
    predicate, negated, args = one
    if predicate != literal["predicate"] or negated != literal.get("negated", False):
        return False
    shown = dict(args)
    for name, term in literal["args"].items():
        if name not in shown:
            return False
        if _variable(term) and term not in values:
            values[term] = shown[name]
        elif _of(term, values) != shown[name]:
            return False
    return True


def _inputs(literal):
    computes = literal["predicate"] in SUMS and not literal.get("naf")
    return {term for name, term in literal["args"].items() if _variable(term) and not (computes and name == "result")}


def _passes(literal, values, present):
    if literal.get("naf"):
        return not any(meets(literal, one, dict(values)) for one in present)
    args, name = literal["args"], literal["predicate"]
    left, right = _of(args["left"], values), _of(args["right"], values)
    if name in ("eq", "neq"):
        return (left == right) is (name == "eq")
    if not {left.__class__, right.__class__} <= {int, float}:
        return False
    left, right = Decimal(left), Decimal(right)
    if name in ORDERS:
        return int(left.compare(right)) in ORDERS[name]
    result = _computed(name, left, right)
    if result is None:
        return False
    target = args["result"]
    if _variable(target) and target not in values:
        values[target] = result
    return _of(target, values) == result


def _computed(name, left, right):
    """In decimal: binary64 numbers, their sums and products are exact there, and quotients far closer than binary64."""
    if name in ("div", "mod", "idiv", "imod"):
        if right == 0:
            return None
        if name == "div":
            exact = WIDE.divide(left, right)
        else:
            whole = WIDE.divide_int(left, right)
            exact = WIDE.subtract(left, WIDE.multiply(whole, right))
            if name != "mod" and exact != 0 and (exact < 0) != (right < 0):
                whole, exact = whole - 1, WIDE.add(exact, right)
            exact = whole if name == "idiv" else exact
    else:
        exact = {"add": WIDE.add, "sub": WIDE.subtract, "mul": WIDE.multiply, "min": lambda a, b: min(a, b), "max": lambda a, b: max(a, b)}[name](left, right)
    near = float(exact)
    if abs(near) > 2**53 - 1 or (near == 0 and exact != 0):
        return None
    return int(near) if near == int(near) else near
