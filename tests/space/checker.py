"""A board's proofs in the words of the independent checker: believes the book's nodes, and what it says holds."""

from __future__ import annotations

from tests.rules.checker import Step, as_fact, meets, wrong


def claim_of(proof):
    return as_fact(proof.atom)


def problems(proof, told):
    """Everything wrong with the tree below `proof`; empty when it proves its atom."""
    stated = {node["fact"] for node in told.usable("fact")}
    found = []
    step = _step(proof, told, found)
    return found + wrong(step, stated, told.held)


def _step(proof, told, found):
    """The proof as steps; what only a board knows of (effects, totals) is judged on the way."""
    claim, text = claim_of(proof), proof.atom.text()
    if proof.marker == "asserted":
        return Step(claim, text, below=tuple(proof.children))
    if proof.marker == "effect":
        if proof.children or not _produced(claim, proof, told):
            found.append(f"{text} is no product of {proof.via}")
        return Step(claim, text)
    below = tuple(_step(child, told, found) for child in proof.children)
    cited = tuple(claim_of(child) for child in proof.children)
    node = told.nodes.get(proof.via)
    if node is not None and node["kind"] == "rule":
        if proof.cut:
            found.append(f"{text} is cut, and none of these is so large")
        return Step(claim, text, node["rule"], cited, below)
    total = next((one for one in told.live() if one["head"] == claim), None)
    if total is None:
        found.append(f"{text} cites the rule {proof.via}, which is not there")
    elif frozenset(cited) != total["members"] or len(cited) != len(total["members"]):
        found.append(f"{text} does not cite its members")
    exactly = tuple({"predicate": one[0], "args": {name: value[1] if isinstance(value, tuple) else value for name, value in one[2]}} for one in cited)
    head = {"predicate": claim[0], "args": {name: value[1] if isinstance(value, tuple) else value for name, value in claim[2]}}
    return Step(claim, text, (exactly, (head,)), cited, below)


def _produced(claim, proof, told):
    """Does the action it names have such an effect, and is there a statement that rests on that action?"""
    node = told.nodes.get(proof.via)
    return (node is not None and node["kind"] == "action"
            and any(not effect.get("negated") and meets(effect, claim, {}) and len(effect["args"]) == len(claim[2]) for effect in node["effects"])
            and any(one["fact"] == claim and one["refs"] == [proof.via] for one in told.usable("fact")))
