"""An independent checker of proof trees: believes nothing but the base facts and the rules."""

from __future__ import annotations

from tests.rules.naive import extend, fact, guard, joined, matches, value_of


def as_fact(atom):
    return fact(atom.predicate, atom.negated, atom.args)


def problems(node, rules, base, present, above=()):
    """Everything wrong with the tree below `node`; empty when it proves its atom."""
    claim = as_fact(node.atom)
    if claim in above:
        return [f"{node.atom.text()} rests on itself"]
    if node.support is None:
        return [] if claim in base else [f"{node.atom.text()} is a leaf but no base fact"]
    rule = rules[node.support.rule_id]
    cited = [as_fact(atom) for atom in node.support.premises]
    body = [literal for literal in rule.when if joined(literal)]
    if len(cited) != len(body):
        return [f"{node.atom.text()} cites {len(cited)} facts for {len(body)} literals"]
    env = {}
    for literal, one in zip(body, cited):
        env = extend(literal, one, env)
        if env is None:
            return [f"{literal.text()} does not match what {node.atom.text()} cites"]
    envs = [found for found in matches([literal for literal in rule.when], list(present))
            if all(found[name] == value for name, value in env.items())]
    heads = [(h.predicate, h.negated, frozenset((n, value_of(t, found)) for n, t in h.args)) for found in envs for h in rule.then]
    found = [] if claim in heads else [f"rule {rule.id} does not conclude {node.atom.text()} from what it cites"]
    if not node.cut:
        if [child.atom for child in node.children] != list(node.support.premises):
            found.append(f"the children of {node.atom.text()} are not its premises")
        for child in node.children:
            found += problems(child, rules, base, present, (*above, claim))
    return found
