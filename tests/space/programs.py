"""Whole programs by number: facts, rules, batches and Actions, drawn from one seed.

Small worlds on purpose: few predicates and values, so that rules meet, recursion closes,
keys conflict and totals lose their members. `program(seed, number)` is the same for ever.
"""

from __future__ import annotations

import random

VALUES = (0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0.5, 2.5, "a", "a", True)
NAMES = {"p": (("x",), ("x", "y")), "q": (("x",), ("x", "y")), "r": (("x", "y"),), "s": (("x",),), "e": (("x", "y"), ("x", "y", "z"))}
VARIABLES = ("?u", "?v", "?w")
IDS = tuple(f"n{number}" for number in range(12))
KINDS = ("assert",) * 5 + ("retract", "retract", "revise", "rule", "dependency", "goal", "hypothesis", "cited", "action")


def program(seed: int, number: int) -> list[list[dict] | dict]:
    """Steps: a list is a batch, a dict applies an action."""
    return _Writer(random.Random(f"{seed}/{number}")).program()


class _Writer:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def chance(self, one_in: int) -> bool:
        return self.draw.randrange(one_in) == 0

    def some(self, make, least: int, most: int) -> list:
        return [make() for _ in range(self.draw.randint(least, most))]

    def program(self) -> list[list[dict] | dict]:
        """Facts, then rules and actions one by one (a refused one spoils no other), then whatever comes."""
        steps: list[list[dict] | dict] = [self.some(self.stated, 5, 18)]
        steps += [[one] for one in self.some(self.rule, 2, 7) + self.some(self.action, 0, 3)]
        for _ in range(self.draw.randint(1, 10)):
            steps.append({"act": self.draw.randrange(12)} if self.chance(2) else self.batch())
        return steps

    def batch(self) -> list[dict]:
        found = self.some(self.operation, 0, 6)
        return found + [self.aggregate()] if self.chance(3) else found

    def atom(self) -> dict:
        predicate = self.draw.choice(tuple(NAMES))
        found = {"predicate": predicate, "args": {name: self.draw.choice(VALUES) for name in self.draw.choice(NAMES[predicate])}}
        return {**found, "negated": True} if self.chance(10) else found

    def stated(self) -> dict:
        return {"op": "assert_fact", **self.atom()}

    def literal(self, terms, signed: bool = True) -> dict:
        predicate = self.draw.choice((*NAMES, "t"))
        names = self.draw.choice((*NAMES.get(predicate, (("v",), ("v", "x"))), ("x",)))
        found = {"predicate": predicate, "args": {name: self.draw.choice(terms) for name in names}}
        return {**found, "negated": True} if signed and self.chance(10) else found

    def body(self) -> tuple[list[dict], list[str]]:
        """Literals in random order, and the variables they bind."""
        draw = self.draw
        found = self.some(lambda: self.literal((*VARIABLES * 4, 1, "a")), self.draw.randrange(3) and 1, 3)
        bound = sorted({value for one in found for value in one["args"].values() if isinstance(value, str) and value[0] == "?"})
        if bound and self.chance(3):
            result, left = draw.choice(("?n", *bound)), draw.choice(bound)
            found += [{"predicate": draw.choice(("add", "sub", "mul", "mod", "idiv", "imod", "min", "max")), "args": {"left": left, "right": draw.randint(0, 2), "result": result}},
                      {"predicate": "lt", "args": {"left": result, "right": 4}}, {"predicate": "gt", "args": {"left": left, "right": -2}}]
        if bound and self.chance(4):
            found.append({"predicate": "neq", "args": {"left": draw.choice(bound), "right": draw.choice((*bound, 2))}})
        if self.chance(3):
            found.append({**self.literal((*bound, 1, "a")), "naf": True})
        draw.shuffle(found)
        return found, bound

    def walk(self) -> dict:
        """One step further along two relations; where a name comes twice, for ever."""
        names = [self.draw.choice("pqre") for _ in range(3)]
        pairs = (("?u", "?v"), ("?v", "?w"), ("?u", "?w"))
        first, second, head = ({"predicate": name, "args": dict(zip("xy", pair))} for name, pair in zip(names, pairs))
        return {"op": "add_axiom", "when": [first, second], "then": [head]}

    def rule(self) -> dict:
        if self.chance(4):
            return self.walk()
        when, bound = self.body()
        return {"op": "add_axiom", "when": when, "then": self.some(lambda: self.literal((*bound, *bound, 1)), 1, 2)}

    def action(self) -> dict:
        """Consumes what it may have met, produces something else."""
        before, bound = self.body()
        met = [one for one in before if one["predicate"] in NAMES and not one.get("negated") and not one.get("naf")]
        effects = [{**self.draw.choice(met), "negated": True}] if met and self.chance(2) else []
        effects += self.some(lambda: self.literal((*bound, *bound, 1, 2)), 0 if effects else 1, 2)
        return {"op": "define_action", "action": f"a{self.draw.randrange(100)}", "preconditions": before, "effects": effects}

    def aggregate(self) -> dict:
        draw = self.draw
        found = {"op": "derive_aggregate", "id": draw.choice("AB"), "kind": draw.choice(("sum", "count", "min", "max", "avg")),
                 "source": {"predicate": draw.choice(tuple(NAMES)), "valueArg": draw.choice("xy")},
                 "into": {"predicate": draw.choice("tts"), "valueArg": "v"}}
        return {**found, "group_by": "x"} if self.chance(2) else found

    def operation(self) -> dict:
        draw = self.draw
        kind = draw.choice(KINDS)
        if kind == "retract":
            return {"op": "retract_node", "pick": draw.randrange(41)}
        found: dict = {"id": draw.choice(IDS)}
        if kind == "rule":
            return {**self.rule(), **found}
        if kind == "action":
            return {**self.action(), **found}
        if kind == "dependency":
            return {"op": "assert_fact", "predicate": "functional_dependency", "args": {"predicate": draw.choice(tuple(NAMES)), "key": "x"}, **found}
        if kind == "goal":
            return {"op": "declare_goal", "desired": self.some(lambda: self.literal((*VARIABLES, 1, "a", 2)), 1, 2), **found}
        if kind == "hypothesis":
            return {"op": "declare_hypothesis", **self.literal((*VARIABLES, 1, 2, 2, "a")), **found}
        found = {**self.stated(), **found}
        if kind == "cited":
            found["evidenceRefs"] = draw.sample((*IDS, "elsewhere"), draw.randint(0, 2))
        if kind == "revise":
            found.update(op="revise_fact", pick=draw.randrange(41))
        return found
