"""An independent checker of a board's proofs: believes only the model's nodes and facts."""

from __future__ import annotations

from tests.rules.naive import extend, fact, guard, joined, ready, value_of


def claim_of(proof):
    return fact(proof.atom.predicate, proof.atom.negated, proof.atom.args)


def problems(proof, model, above=()):
    """Everything wrong with the tree below `proof`; empty when it proves its atom."""
    claim, name = claim_of(proof), proof.atom.text()
    if claim in above:
        return [f"{name} rests on itself"]
    if proof.marker == "asserted":
        stated = any(node["kind"] == "fact" and node["fact"] == claim for node in model.nodes.values())
        return [] if stated and not proof.children else [f"{name} is a leaf that nobody stated"]
    if proof.marker == "effect":
        return [] if _produced(claim, proof, model) and not proof.children else [f"{name} is no product of {proof.via}"]
    cited = [claim_of(child) for child in proof.children]
    node = model.nodes.get(proof.via) or next((n for n in model.nodes.values() if n["kind"] == "total" and n["head"] == claim and n["live"]), None)
    if node is None:
        return [f"{name} cites the rule {proof.via}, which is not there"]
    found = [] if proof.cut else _total(name, claim, cited, node) if node["kind"] == "total" else _rule(name, claim, cited, node, model)
    for child in proof.children:
        found += problems(child, model, (*above, claim))
    return found


def _produced(claim, proof, model):
    """Does the action it names have such an effect, and is there a statement that rests on that action?"""
    node = model.nodes.get(proof.via)
    return (node is not None and node["kind"] == "action"
            and any(extend(effect, claim, {}) is not None and not effect.negated for effect in node["effects"])
            and any(one["kind"] == "fact" and one["fact"] == claim and one["refs"] == [proof.via] for one in model.nodes.values()))


def _total(name, claim, cited, node):
    if not node["live"] or node["head"] != claim:
        return [f"{name} is not what its aggregate concludes"]
    return [] if frozenset(cited) == node["members"] and len(cited) == len(node["members"]) else [f"{name} does not cite its members"]


def _rule(name, claim, cited, node, model):
    body = [literal for literal in node["clause"].when if joined(literal)]
    if len(cited) != len(body):
        return [f"{name} cites {len(cited)} facts for {len(body)} literals"]
    env = {}
    for literal, one in zip(body, cited):
        if one not in model.held:
            return [f"{name} cites what does not hold"]
        env = extend(literal, one, env)
        if env is None:
            return [f"{literal} does not match what {name} cites"]
    waiting = [literal for literal in node["clause"].when if not joined(literal)]
    while waiting:
        literal = next((one for one in waiting if ready(one, env)), None)
        env = None if literal is None else guard(literal, env, list(model.held))
        if env is None:
            return [f"a guard of {name} fails"]
        waiting.remove(literal)
    heads = [(h.predicate, h.negated, frozenset((n, value_of(t, env)) for n, t in h.args)) for h in node["clause"].then]
    return [] if claim in heads else [f"the rule does not conclude {name}"]
