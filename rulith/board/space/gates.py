"""Gates: what a batch may not do, whoever proved it could.

Attested predicates are produced by machines only; a committed baseline stands until it is
amended; a result rests on derived findings and on evidence that is there. Each gate looks
at operations after they were read, and removals at everything they would take along.

Source  the reasoning board, "Trusted gates", "Findings and results".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rulith.base.errors import Refused
from rulith.board.space.nodes import (
    FINDING, LEDGER_LABEL, REJECTED, RESULT, BatchOptions, Contract, Node, Total, shown_refs,
)
from rulith.rules.builtins import same
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable, read_literal, read_literals

if TYPE_CHECKING:
    from rulith.board.space.space import Space

#  marker                     [(protected predicate, key arguments, kind of amendment)]
BASELINES: dict[str, tuple[tuple[str, tuple[str, ...], str], ...]] = {
    "committed_acceptance": (("acceptance", ("node",), "acceptance"),),
    "committed_constraint": (("constraint", ("node", "tag"), "constraint"), ("constraint_scope", ("tag",), "constraint")),
    "committed_goal": (("goal_node", ("node",), "structure"),),
    "committed_subgoal": (("subgoal_of", ("child", "parent"), "structure"),),
    "committed_phase": (("current_phase", ("slot",), "phase"),),
    "committed_coverage": (("required_coverage", ("root", "item"), "coverage"),),
    "committed_drive_budget": (("drive_budget", ("root",), "budget"),),
}
PROTECTED = {target: (marker, keys, kind) for marker, rows in BASELINES.items() for target, keys, kind in rows}
DEFINITION = "committed_derivation"
AMENDMENT = "amendment_result"
KIND_OPTIONAL = "acceptance"    # an amendment without `kind` is one of this kind
IDS_SHOWN = 10


# --- attested predicates -----------------------------------------------------------------


def check_attested(options: BatchOptions, predicate: str, where: str) -> None:
    """Refuse ATTESTED_PREDICATE where a model would produce what only machines attest."""
    if options.is_model and predicate in options.attested:
        raise Refused("ATTESTED_PREDICATE", where=where, predicate=predicate, owner="only a machine attests",
                      hint=", and let the tool that observes it report it")


def check_produced(options: BatchOptions, heads: Iterable[Literal], where: str) -> None:
    for head in heads:
        check_attested(options, head.predicate, where)


def check_contracts(options: BatchOptions, rule: Rule, where: str) -> None:
    """A guarded conclusion reads its machine evidence, about the thing it concludes."""
    if not options.is_model:
        return
    for contract in options.contracts:
        for head in rule.then:
            if _may_conclude(head, contract.head):
                _check_evidence(contract, head, rule, where)


def _may_conclude(head: Literal, guarded: Literal) -> bool:
    """Could the head come out as the guarded conclusion? A variable where a value is guarded could."""
    if (head.predicate, head.negated) != (guarded.predicate, guarded.negated):
        return False
    for name, wanted in guarded.args:
        value = head.get(name)
        if value is None or not (is_variable(value) or same(value, wanted)):
            return False
    return True


def _check_evidence(contract: Contract, head: Literal, rule: Rule, where: str) -> None:
    read: list[Literal] = []
    for wanted in contract.requires:
        found = [literal for literal in rule.when if not literal.naf and _reads(literal, wanted)]
        if not found:
            raise Refused("ATTESTED_PREDICATE", where=where, predicate=head.text(), owner=f"rests on {wanted.text()}, which the rule does not read",
                          hint=f"; add {wanted.text()} to `when`")
        read += found
    told = {name for literal in read for name in literal.variables()}
    loose = [name for name in head.variables() if name not in told]
    unlinked = [literal for literal in read if head.variables() and not set(literal.variables()) & set(head.variables())]
    if loose or unlinked:
        what = f"{', '.join(loose)} occurs in none of it" if loose else f"{unlinked[0].text()} is about something else"
        raise Refused("ATTESTED_PREDICATE", where=where, predicate=head.text(), owner=f"rests on machine evidence about the same thing, and {what}",
                      hint="; use the head's variables in those literals")


def _reads(literal: Literal, wanted: Literal) -> bool:
    if (literal.predicate, literal.negated) != (wanted.predicate, wanted.negated):
        return False
    return all((value := literal.get(name)) is not None and same(value, needed) for name, needed in wanted.args)


def read_contracts(rows: object) -> tuple[Contract, ...]:
    """`[{head, requires[]}]` as the host states them. Raises Refused ATOM_INVALID."""
    if not isinstance(rows, (list, tuple)):
        raise Refused("ATOM_INVALID", where="attestedDerivations", problem="it is not a list of {head, requires}")
    found = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise Refused("ATOM_INVALID", where="attestedDerivations", problem="a row is not an object")
        found.append(Contract(read_literal(row.get("head"), "a guarded conclusion"),
                              read_literals(row.get("requires"), "its evidence")))
    return tuple(found)


# --- labels ------------------------------------------------------------------------------


def check_label(options: BatchOptions, label: str, where: str) -> None:
    if label.startswith(LEDGER_LABEL) and not options.is_trusted:
        raise Refused("RESERVED_LABEL", where=where, label=label)


# --- committed baselines and definitions -------------------------------------------------


class Amendments:
    """The trusted amendments that a batch spends by retracting them: each clears its key for that batch."""

    def __init__(self, space: Space, retracted: Iterable[str]) -> None:
        self.stated: list[dict[str, Scalar]] = []
        for node_id in retracted:
            node = space.nodes.get(node_id)
            if (node is not None and node.is_trusted and isinstance(node.semantic, Atom) and space.usable(node_id)
                    and node.semantic.predicate == AMENDMENT and not node.semantic.negated):
                self.stated.append(node.semantic.arguments)

    def clears(self, keys: Mapping[str, Scalar], kind: str) -> bool:
        return any(amendment.get("kind", KIND_OPTIONAL) == kind
                   and all(_equal(amendment.get(name), value) for name, value in keys.items()) for amendment in self.stated)


def check_removal(space: Space, options: BatchOptions, ids: Iterable[str], amendments: Amendments, where: str) -> None:
    """Refuse a removal that would take a committed entry or a ledger event along, directly or by cascade."""
    if options.is_trusted:
        return
    for node_id in ids:
        node = space.nodes.get(node_id)
        if node is None:
            continue
        if node.type == RESULT and node.label.startswith(LEDGER_LABEL):
            raise Refused("RESERVED_LABEL", where=where, label=node.label)
        if isinstance(node.semantic, Atom) and space.usable(node_id):
            check_touch(space, node.semantic, where, amendments)
            if options.is_model and _is_marker(space, node.semantic, DEFINITION):
                raise _protected(where, node.semantic.text(), "the host", "derivation", {})
        elif options.is_model and node.is_trusted:
            _check_definition_stays(space, node, where, amendments)


def check_consumed(space: Space, atoms: Iterable[Atom], where: str) -> None:
    """Refuse BASELINE_PROTECTED where an action's consume effect hits a committed entry; no amendment helps an action."""
    for atom in atoms:
        check_touch(space, atom, where, None)
        if _is_marker(space, atom, DEFINITION):
            raise _protected(where, atom.text(), "the host", "derivation", {})


def check_touch(space: Space, atom: Atom, where: str, amendments: Amendments | None) -> None:
    """Refuse BASELINE_PROTECTED where `atom` is a trusted marker, or is protected by one and not amended."""
    if atom.negated:
        return
    if atom.predicate in BASELINES and _is_marker(space, atom, atom.predicate):
        raise _protected(where, atom.text(), "the host", BASELINES[atom.predicate][0][2], {})
    row = PROTECTED.get(atom.predicate)
    if row is None:
        return
    marker, names, kind = row
    keys = {name: atom.arguments.get(name) for name in names}
    if any(value is None for value in keys.values()):
        return
    if not any(all(_equal(node.semantic.arguments.get(name), value) for name, value in keys.items())  # type: ignore[union-attr]
               for node in trusted_facts(space, marker)):
        return
    if amendments is None or not amendments.clears(keys, kind):  # type: ignore[arg-type]
        raise _protected(where, atom.text(), marker, kind, keys)


def _protected(where: str, target: str, marker: str, kind: str, keys: Mapping) -> Refused:
    stated = ", ".join([f"{name}={value}" for name, value in keys.items()] + [f"kind={kind}"])
    return Refused("BASELINE_PROTECTED", where=where, target=target, marker=marker, amendment=f"{AMENDMENT}({stated})")


def _equal(left: Scalar | None, right: Scalar | None) -> bool:
    return left is not None and right is not None and same(left, right)


def _is_marker(space: Space, atom: Atom, predicate: str) -> bool:
    return (atom.predicate == predicate and not atom.negated
            and any(space.nodes[node_id].is_trusted for node_id in space.supports.get(atom, ())))


def trusted_facts(space: Space, predicate: str) -> list[Node]:
    """Usable positive facts of a predicate that a tool or the system stated."""
    return [node for node in space.stated_facts(predicate) if node.is_trusted and not node.semantic.negated]  # type: ignore[union-attr]


def committed_predicates(space: Space) -> set[str]:
    found = (node.semantic.arguments.get("predicate") for node in trusted_facts(space, DEFINITION))  # type: ignore[union-attr]
    return {predicate for predicate in found if isinstance(predicate, str)}


def check_definition(space: Space, options: BatchOptions, predicates: Iterable[str], amendments: Amendments, where: str) -> None:
    """Refuse BASELINE_PROTECTED where a model would add a rule to a committed definition."""
    if options.is_model and (committed := committed_predicates(space)):
        for predicate in predicates:
            if predicate in committed and not amendments.clears({"predicate": predicate}, "derivation"):
                raise _protected(where, f"the definition of {predicate}", DEFINITION, "derivation", {"predicate": predicate})


def _check_definition_stays(space: Space, node: Node, where: str, amendments: Amendments) -> None:
    heads = {head.predicate for head in node.semantic.then} if isinstance(node.semantic, Rule) else \
        {node.semantic.into} if isinstance(node.semantic, Total) else set()
    for predicate in sorted(heads & committed_predicates(space)):
        if not amendments.clears({"predicate": predicate}, "derivation"):
            raise _protected(where, f"the definition of {predicate}", DEFINITION, "derivation", {"predicate": predicate})


# --- findings and evidence ---------------------------------------------------------------


def check_findings(space: Space, claimed: Sequence[Atom], retracted: Iterable[str]) -> None:
    """Refuse FINDING_NOT_DERIVED where a batch that records a result leaves, or makes, a bare positive finding.

    claimed    positive findings that the batch asserts or revises to
    retracted  nodes that the batch retracts or revises
    """
    gone = set(retracted)
    bare = []
    for atom in space.program.facts(FINDING):
        if not atom.negated and not space.program.is_derived(atom):
            bare += [node.id for node in space.supporting(atom) if node.id not in gone]
    if bare or claimed:
        shown = [*bare[:IDS_SHOWN], *(atom.text() for atom in claimed[:IDS_SHOWN])]
        raise Refused("FINDING_NOT_DERIVED", findings=shown_refs(shown, 2 * IDS_SHOWN))


def check_evidence(space: Space, results: Iterable[Node]) -> None:
    """Refuse EVIDENCE_UNRESOLVED where a new result cites what is not a usable node, or cites a result."""
    for node in results:
        lost = [ref for ref in node.evidence if not _is_evidence(space, ref)]
        if lost:
            raise Refused("EVIDENCE_UNRESOLVED", label=node.label, refs=shown_refs(lost, IDS_SHOWN))


def _is_evidence(space: Space, ref: str) -> bool:
    if not space.usable(ref):
        return False
    node = space.nodes.get(ref)
    return node is None or (node.type != RESULT and node.status != REJECTED)
