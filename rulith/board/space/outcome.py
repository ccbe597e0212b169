"""Outcomes in the corpus format: what a board looks like after a step, as plain data.

Tests compare it with recorded outcomes, and `rulith board run` prints it.

Source  the board corpus, "State" and "Step outcome".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.board.space import critique, hints
from rulith.board.space.disputes import Disputes
from rulith.board.space.nodes import CONFLICT, GOAL, REJECTED, RESULT, Proof
from rulith.board.space.operations import BatchResult
from rulith.board.space.vocabulary import signature_text
from rulith.rules.explain import Effort
from rulith.rules.terms import Atom, Literal

if TYPE_CHECKING:
    from rulith.board.space.space import Space

_VERDICTS = {REJECTED: "refuted"}


def state(space: Space) -> dict[str, Any]:
    """The board as rows: facts always, every other key only when it has something to say."""
    disputes = Disputes(space)
    found: dict[str, Any] = {"facts": _facts(space, disputes)}
    parts = {
        "goals": _goals(space), "hypotheses": _hypotheses(space),
        "axioms": sorted(node.id for node in space.axioms()), "actions": sorted(node.id for node in space.of_type("action")),
        "results": _results(space, disputes),
        "recordedConflicts": [{"id": node.id, "label": node.label} for node in space.of_type(CONFLICT)],
        "contradictions": [atom_json(atom) for atom in space.program.contradictions()],
        "functionalConflicts": [
            {"predicate": c.predicate, "key": dict(c.values), "values": [dict(atom.args) for atom in c.atoms]}
            for c in space.program.functional_conflicts()
        ],
        "critique": sorted([remark.kind, remark.node_id] for remark in critique.remarks(space)),
    }
    found.update({name: part for name, part in parts.items() if part})
    found["vocabulary"] = [signature_text(predicate, names) for predicate, names in space.vocabulary().items()]
    return found


def _facts(space: Space, disputes: Disputes) -> list[list[Any]]:
    rows = []
    for view in space.facts():
        row: list[Any] = [view.atom.predicate, dict(view.atom.args), "-" if view.atom.negated else "+", view.marker]
        if disputes.covers(view.atom):
            row.append("disputed")
        rows.append(row)
    rows.sort(key=lambda row: (row[0], canonical_text(row[1]), row[2]))
    return rows


def _goals(space: Space) -> list[dict[str, Any]]:
    rows, effort = [], Effort()
    for goal in space.of_type(GOAL):
        satisfied = space.satisfied(goal)
        row: dict[str, Any] = {"id": goal.id, "satisfied": satisfied}
        if satisfied and space.self_sealed(goal):
            row["selfSealed"] = True
        if not satisfied:
            row.update(_hints(space, goal.semantic, with_producers=True, effort=effort))  # type: ignore[arg-type]
        rows.append(row)
    return rows


def _hypotheses(space: Space) -> list[dict[str, Any]]:
    rows, effort = [], Effort()
    for node in space.hypotheses():
        pattern: Literal = node.semantic  # type: ignore[assignment]
        row: dict[str, Any] = {"id": node.id, "status": _VERDICTS.get(node.status, node.status)}
        if not pattern.is_ground() and row["status"] == "supported":
            row["instances"] = [atom_json(atom) for atom in space.holders(pattern)]
        if row["status"] == "open":
            row.update(_hints(space, (pattern,), with_producers=False, effort=effort))
        rows.append(row)
    return rows


def _hints(space: Space, desired: Iterable[Literal], with_producers: bool, effort: Effort) -> dict[str, Any]:
    desired = tuple(desired)
    found: dict[str, Any] = {}
    needs = [_need_row(need, with_producers) for need in hints.needs_via(space, desired, effort)]
    if needs:
        found["needsVia"] = needs
    producers = [_producer_row(producer) for producer in hints.producible_via(space, desired, effort)] if with_producers else []
    if producers:
        found["producibleVia"] = producers
    return found


def _need_row(need: hints.Need, with_have: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"rule": need.rule_id, "missing": [atom_json(literal) for literal in need.missing]}
    if need.have and with_have:
        row["have"] = [atom_json(literal) for literal in need.have]
    if need.text:
        row["failing"] = need.text
    return row


def _producer_row(producer: hints.Producer) -> dict[str, Any]:
    row: dict[str, Any] = {"action": producer.action_id, "produces": atom_json(producer.produces), "applicable": producer.applicable}
    if producer.blocked_on is not None:
        row["blockedOn"] = atom_json(producer.blocked_on)
    return row


def _results(space: Space, disputes: Disputes) -> list[dict[str, Any]]:
    rows = []
    for node in space.of_type(RESULT):
        if any(ref in space.nodes and space.nodes[ref].status == REJECTED for ref in node.evidence):
            continue        # it cites a hypothesis that is refuted now
        row: dict[str, Any] = {"id": node.id, "by": node.created_by}
        if node.label:
            row["label"] = node.label
        if disputes.covers_node(node):
            row["disputed"] = True
        rows.append(row)
    return rows


def atom_json(atom: Atom | Literal) -> dict[str, Any]:
    found: dict[str, Any] = {"predicate": atom.predicate, "args": dict(atom.args)}
    if atom.negated:
        found["negated"] = True
    if isinstance(atom, Literal) and atom.naf:
        found["naf"] = True
    return found


def proof_tree(proof: Proof) -> dict[str, Any]:
    """`explain_fact` as data: atom, marker, via, from; `cut` and `rounded` where they say something."""
    found: dict[str, Any] = {"atom": atom_json(proof.atom), "marker": proof.marker}
    if proof.via is not None:
        found["via"] = proof.via
    if proof.children:
        found["from"] = [proof_tree(child) for child in proof.children]
    if proof.rounded:
        found["rounded"] = proof.rounded
    if proof.cut:
        found["cut"] = True
    return found


def accepted(result: BatchResult) -> dict[str, Any]:
    """The step outcome of a batch, without its state."""
    found: dict[str, Any] = {"status": "accepted"}
    if result.warnings:
        found["warnings"] = [[w.index, w.code] for w in result.warnings]
    retracted = [{"index": row.index, "removed": list(row.retracted)} for row in result.operations if row.retracted]
    if retracted:
        found["retracted"] = retracted
    return found


def rejected(refused: Refused) -> dict[str, Any]:
    """The step outcome of a refusal: its code is the label."""
    return {"status": "rejected", "error": {"label": refused.code, "message": str(refused)}}
