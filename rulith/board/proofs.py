"""Proofs as plain data: who said each premise, through which channel, and by which rule it follows.

One node per fact: {id, text, predicate, args, negated?, tier, witness?, by, computed?, premises, cut?}.
A tree is bounded in depth and size; `cut` marks where a limit, not a leaf, ended it.
"""

from __future__ import annotations

from rulith.board.law_proofs import Derivation, FirstFound
from rulith.board.state import DERIVED_PREFIX, BoardState, Fact
from rulith.rules.proofs import Support
from rulith.rules.terms import Atom

DEPTH_MAX = 64
NODES_MAX = 2_000


def fact_node(state: BoardState, fact: Fact) -> dict:
    """A premise: its own statement and who made it."""
    return {**statement(fact.atom), "id": fact.id, "tier": fact.tier, "by": dict(fact.by)}


def statement(atom: Atom) -> dict:
    found = {"text": atom.text(), "predicate": atom.predicate, "args": dict(atom.args)}
    return {**found, "negated": True} if atom.negated else found


def rule_by(state: BoardState, rule_id: str) -> dict:
    info = state.rules[rule_id]
    by = {"kind": "rule", "id": rule_id, "label": info.rule.label, "law": info.law}
    if info.release:
        by["release"] = info.release
    if not info.law:
        by["case"] = info.case_id
    return by


def proof_tree(state: BoardState, atom: Atom, proof: Derivation | FirstFound | None = None, *,
               depth_max: int = DEPTH_MAX, nodes_max: int = NODES_MAX) -> dict:
    """A derivation of a usable atom as a tree, the stored one if none is given; the premise that limits its tier says `witness`."""
    left = [nodes_max]
    proof = proof or FirstFound(state)
    return _node(state, atom, proof, proof.ground(atom).witness, depth_max, left)


def _node(state: BoardState, atom: Atom, proof: Derivation | FirstFound, witness: Atom, depth: int, left: list[int]) -> dict:
    left[0] -= 1
    support, fact = proof.support(atom), state.strongest(atom)
    node = {"id": state.node_id(atom), **statement(atom), "tier": proof.ground(atom).tier}
    if atom == witness:
        node["witness"] = True
    if support is None:
        return {**node, "by": dict(fact.by), "premises": []}
    if fact is not None:
        node["id"] = DERIVED_PREFIX + atom.identity()     # stated as well, and not shown by that
    node["by"] = rule_by(state, support.rule_id)
    computed = computations(support)
    if computed:
        node["computed"] = computed
    if depth <= 0 or left[0] < len(support.premises):
        return {**node, "premises": [], "cut": True}
    node["premises"] = [_node(state, premise, proof, witness, depth - 1, left) for premise in support.premises]
    return node


def computations(support: Support) -> list[dict]:
    rows = []
    for each in support.computed:
        row = {"op": each.op, **dict(each.operands), "result": each.result}
        if not each.exact:
            row["rounded"] = True
        rows.append(row)
    return rows
