"""Boards in a few words: `board("p(x=1)", "R: q(x=?x) <- p(x=?x), naf r(x=?x)", "A! p(x=?x) => not p(x=?x), q(x=?x)", "G? q(x=1)")`."""

from __future__ import annotations

import itertools
import json
import re

from rulith.board.space.nodes import BatchOptions
from rulith.board.space.space import Space

AT = "2026-01-01T00:00:00.000Z"
_LITERAL = re.compile(r"\s*((?:naf |not )*)([^\s(]+)\(([^)]*)\)\s*,?")


def minting():
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}#{next(numbers)}"


def literal(text):
    """`naf not p(a=1, b=?x, c="1")` as JSON; a value is JSON where it can be, else text."""
    marks, predicate, inside = _LITERAL.fullmatch(text).groups()
    found = {"predicate": predicate, "args": {}}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        name, _, value = part.partition("=")
        try:
            found["args"][name] = json.loads(value)
        except ValueError:
            found["args"][name] = value
    if "not " in marks:
        found["negated"] = True
    if "naf " in marks:
        found["naf"] = True
    return found


def literals(text):
    return [literal(match.group().rstrip().rstrip(",")) for match in _LITERAL.finditer(text)]


def operation(text):
    """A fact, `ID = fact`, `ID: heads <- body`, `ID! preconditions => effects`, `ID? desired`."""
    if found := re.fullmatch(r"(\S+)! (.*)=>(.*)", text):
        name, before, after = found.groups()
        return {"op": "define_action", "id": name, "action": name.lower(), "preconditions": literals(before), "effects": literals(after)}
    if found := re.fullmatch(r"(\S+)\? (.*)", text):
        return {"op": "declare_goal", "id": found[1], "label": found[1], "desired": literals(found[2])}
    if found := re.fullmatch(r"(\S+): (.*)<-(.*)", text):
        return {"op": "add_axiom", "id": found[1], "label": found[1], "then": literals(found[2]), "when": literals(found[3])}
    if found := re.fullmatch(r"(\S+) = (.*)", text):
        return {"op": "assert_fact", "id": found[1], **literal(found[2])}
    return {"op": "assert_fact", **literal(text)}


def copied(space):
    """An independent board with the same nodes, its closure computed anew in one go."""
    found = Space(space.id, space.title, space.scopes, space.limits, summary=space.summary, at=space.created_at)
    with found.change(space.updated_at, minting()) as change:
        found.families = dict(space.families)
        found.watched = {predicate: dict(families) for predicate, families in space.watched.items()}
        for node in sorted(space.nodes.values(), key=lambda node: node.seq):
            change.restore(node)
    found.seq = space.seq
    return found


def tell(space, *texts, options=BatchOptions(), mint=None):
    operations = [operation(text) if isinstance(text, str) else text for text in texts]
    return space.apply(operations, options, at=AT, mint=mint or space.mint_for_tests)


def board(*texts, options=BatchOptions(), **limits):
    space = Space("b", "test", at=AT, **limits)
    space.mint_for_tests = minting()
    if texts:
        tell(space, *texts, options=options)
    return space


TRUSTED = BatchOptions("system", "system")


def facts(space):
    """Everything that holds, as sorted text with its mark's first letter."""
    return sorted(f"{view.atom.text()}[{view.marker[0]}]" for view in space.facts())


def texts(atoms):
    return [atom.text() for atom in atoms]


def everything(space):
    """All that can be told about a board from outside, to see that a question changed nothing."""
    nodes = sorted((node.id, node.seq, node.status, node.summary, node.evidence, str(node.semantic)) for node in space.nodes.values())
    return (nodes, sorted(space.unusable), facts(space), space.program.closure_digest(), [atom.text() for atom in space.program.facts()],
            sorted((str(atom), sorted(ids)) for atom, ids in space.supports.items()), space.seq, space.vocabulary(),
            sorted((ref, sorted(ids)) for ref, ids in space.cites.items()), sorted(space.families))
