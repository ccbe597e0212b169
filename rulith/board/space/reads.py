"""What a Space answers without changing: which facts hold and by what mark, goals, verdicts, proofs.

Source  the reasoning board, "Matching", "Goals, hypotheses, hints", "Explain".
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from operator import attrgetter

from rulith.base.errors import Refused
from rulith.base.limits import EXPLAIN_DEPTH_MAX, EXPLAIN_NODES_MAX
from rulith.board.space.aggregates import Family
from rulith.board.space.nodes import (
    ARCHIVED, AXIOM, DERIVED_PREFIX, FACT, FINDING, HIDDEN, HYPOTHESIS, OPEN, REJECTED, SUPPORTED, VERIFIED, FactView, Node,
    Proof, Total, derived_id, read_derived_id,
)
from rulith.board.space.vocabulary import Signature, grown, is_ground, names_of, spoken_by
from rulith.rules.program import Limits, Program
from rulith.rules.terms import Atom, Literal

DERIVED, EFFECT, ASSERTED = "derived", "effect", "asserted"


@dataclass(frozen=True, slots=True)
class DerivedSupport:
    """Why a derived fact holds: the rule or aggregate node and the facts it used, in body order."""

    via: str
    label: str
    premises: tuple[Atom, ...]
    rounded: str | None


class Reads:
    """The state of a Space and everything read from it.

    nodes          id -> Node, archived ones included
    by_type        type -> ids
    unusable       ids that take no part: archived, or resting on something archived
    cites          reference -> ids of the nodes whose evidence names it
    derived_cites  a cited `derived:` id -> its atom
    supports       atom -> ids of usable fact nodes that state it
    mentions       predicate -> usable nodes, facts aside, that speak of it
    suppliers      predicate -> usable rules, aggregates, actions that bring it about
    rule_keys      content of a rule -> usable axioms
    families       aggregate id -> Family; family_nodes: aggregate id -> its axioms
    watched        source predicate -> aggregate ids
    version        moves with every change; answers may be cached by it
    prints         node id -> (the node, its digest): what makes a revision cheap to ask for
    """

    def __init__(self, limits: Limits) -> None:
        self.program = Program(limits)
        self.nodes: dict[str, Node] = {}
        self.by_type: dict[str, dict[str, None]] = {}
        self.unusable: dict[str, None] = {}
        self.cites: dict[str, dict[str, None]] = {}
        self.derived_cites: dict[str, Atom] = {}
        self.supports: dict[Atom, dict[str, None]] = {}
        self.mentions: dict[str, dict[str, None]] = {}
        self.suppliers: dict[str, dict[str, None]] = {}
        self.rule_keys: dict[tuple, dict[str, None]] = {}
        self.families: dict[str, Family] = {}
        self.family_nodes: dict[str, dict[str, None]] = {}
        self.watched: dict[str, dict[str, None]] = {}
        self.signatures: dict[str, Signature] = {}
        self.scanned: list[str] = []    # signatures that a read filled in since the last change began
        self.seq = 0
        self.version = 0
        self.prints: dict[str, tuple[Node, int]] = {}
        self.circular: tuple[object, list[str]] = (None, [])     # aggregates that may feed their own source, as the rules stand
        self._views: tuple[int, list[FactView]] = (-1, [])
        self._held: tuple[tuple[int, int], dict[Literal, bool]] = ((-1, -1), {})     # patterns, as of a version

    # --- nodes -------------------------------------------------------------------------

    def usable(self, node_id: str) -> bool:
        """Is the node on the board and does it take part? A `derived:` id is usable while its fact is derived."""
        if node_id in self.nodes:
            return node_id not in self.unusable
        atom = read_derived_id(node_id)
        return atom is not None and self.program.is_derived(atom)

    def of_type(self, type: str) -> list[Node]:
        """The usable nodes of a type in board order."""
        ids = self.by_type.get(type, ())
        return sorted((self.nodes[i] for i in ids if i not in self.unusable), key=attrgetter("seq"))

    def find(self, node_id: str) -> Node | None:
        """A node by id; for the `derived:` id of a fact that is derived, a node made for it."""
        node = self.nodes.get(node_id)
        if node is not None or not node_id.startswith(DERIVED_PREFIX):
            return node
        atom = read_derived_id(node_id)
        return self.derived_node(atom) if atom is not None and self.program.is_derived(atom) else None

    def node(self, node_id: str) -> Node:
        """Refuses NODE_NOT_FOUND."""
        found = self.find(node_id)
        if found is None:
            raise Refused("NODE_NOT_FOUND", id=node_id)
        return found

    def derived_node(self, atom: Atom) -> Node:
        """The node that stands for a derived fact in listings; it is not stored."""
        support = self.support(atom)
        assert support is not None
        rule = self.nodes[support.via]
        evidence = (support.via, *(self.fact_id(premise) or derived_id(premise) for premise in support.premises))
        return Node(derived_id(atom), self.seq + 1, FACT, atom.text(), f"Rule-derived fact: {atom.text()}", VERIFIED, atom,
                    evidence, "system", None, rule.confidence, max(0.7, rule.activation), rule.created_at, rule.updated_at)

    # --- facts -------------------------------------------------------------------------

    def supporting(self, atom: Atom) -> list[Node]:
        """The usable nodes that state an atom, oldest first."""
        ids = self.supports.get(atom)
        if ids is None:
            return []
        if len(ids) == 1:
            return [self.nodes[i] for i in ids]
        return sorted((self.nodes[i] for i in ids), key=attrgetter("seq"))

    def marker(self, atom: Atom) -> str:
        """derived, effect or asserted: the mark of the first support of an atom that holds."""
        if self.program.is_derived(atom):
            return DERIVED
        return EFFECT if self.supporting(atom)[0].effect else ASSERTED

    def fact_id(self, atom: Atom) -> str | None:
        """The id under which an atom is shown, or None where it does not hold."""
        if self.program.is_derived(atom):
            return derived_id(atom)
        stated = self.supporting(atom)
        return stated[0].id if stated else None

    def facts(self) -> list[FactView]:
        """Every atom that holds, once, stated ones in board order, then derived ones."""
        if self._views[0] != self.version:
            stated = []
            for atom in self.supports:
                if not self.program.is_derived(atom):
                    node = self.supporting(atom)[0]
                    stated.append(FactView(atom, EFFECT if node.effect else ASSERTED, node))
            stated.sort(key=lambda view: view.node.seq)  # type: ignore[union-attr]
            stated += [FactView(atom, DERIVED) for atom in self.program.derived()]
            self._views = self.version, stated
        return self._views[1]

    def findings(self) -> list[FactView]:
        return [view for view in self.facts() if view.atom.predicate == FINDING]

    def stated_facts(self, predicate: str) -> Iterator[Node]:
        """The usable fact nodes of a predicate."""
        for atom in self.program.facts(predicate):
            for node_id in self.supports.get(atom, ()):
                yield self.nodes[node_id]

    def held(self, literal: Literal) -> bool:
        """Goals and hypotheses: a ground atom holds exactly, one with variables in some instance."""
        if literal.is_ground():
            return self.program.holds(literal.atom())
        now = self.version, self.program.revision
        if self._held[0] != now:
            self._held = now, {}
        known = self._held[1].get(literal)
        if known is None:
            known = self._held[1][literal] = next(self.program.matching(literal), None) is not None
        return known

    def holders(self, literal: Literal) -> Iterator[Atom]:
        """The facts by which a goal's or hypothesis's atom holds."""
        if not literal.is_ground():
            yield from self.program.matching(literal)
        elif self.program.holds(literal.atom()):
            yield literal.atom()

    # --- goals and hypotheses ------------------------------------------------------------

    def satisfied(self, goal: Node) -> bool:
        return all(self.held(literal) for literal in goal.semantic)  # type: ignore[union-attr]

    def self_sealed(self, goal: Node) -> bool:
        """Of a satisfied goal: is it held by bare claims alone?"""
        return not any(self.marker(atom) != ASSERTED
                       for literal in goal.semantic for atom in self.holders(literal))  # type: ignore[union-attr]

    def satisfied_goals(self) -> list[str]:
        return [goal.id for goal in self.of_type("goal") if self.satisfied(goal)]

    def verdict(self, hypothesis: Node) -> str:
        """The stored status of a hypothesis as things stand: supported, rejected or open."""
        literal: Literal = hypothesis.semantic  # type: ignore[assignment]
        if self.held(literal):
            return SUPPORTED
        if literal.is_ground() and self.program.holds(literal.atom().opposite()):
            return REJECTED
        return OPEN

    def hypotheses(self) -> list[Node]:
        """Hypotheses that take part, refuted ones included, in board order."""
        found = (self.nodes[i] for i in self.by_type.get(HYPOTHESIS, ()))
        return sorted((node for node in found if node.status != ARCHIVED and node.id not in self.unusable), key=attrgetter("seq"))

    # --- why -----------------------------------------------------------------------------

    def support(self, atom: Atom) -> DerivedSupport | None:
        """The rule or aggregate behind a derived atom; None for one that is only stated, or does not hold."""
        found = self.program.support(atom)
        if found is None:
            return None
        if len(found.premises) == 1 and found.premises[0].predicate == HIDDEN:
            node_id = str(found.premises[0].arguments["node"])
            node = self.nodes.get(node_id)
            total = node.semantic if node is not None else None
            if isinstance(total, Total):
                return DerivedSupport(node_id, node.label, total.members, total.rounded)  # type: ignore[union-attr]
            return DerivedSupport(found.rule_id, found.rule_id, (), None)
        rule = self.program.rule(found.rule_id)
        return DerivedSupport(found.rule_id, rule.label if rule else found.rule_id, found.premises, found.approximate)

    def rests_on(self, atom: Atom, gone: Container[str]) -> bool:
        """Does the stored derivation of a derived atom use a node or fact among `gone`?"""
        known: dict[Atom, bool] = {}

        def falls(premise: Atom) -> bool | None:
            stated = self.supports.get(premise, ())
            if any(node_id not in gone for node_id in stated):
                return False
            if not self.program.is_derived(premise):
                return bool(stated)
            return True if derived_id(premise) in gone else known.get(premise)

        work = [atom]
        while work:
            current = work[-1]
            support = self.support(current)
            if current in known or support is None:
                work.pop()
                continue
            verdicts = [falls(premise) for premise in support.premises]
            if support.via in gone or True in verdicts:
                known[current] = True
            elif None not in verdicts:
                known[current] = False
            else:
                work.extend(p for p, verdict in zip(support.premises, verdicts) if verdict is None)
                continue
            work.pop()
        return known.get(atom, False)

    def explain(self, atom: Atom, depth_max: int = EXPLAIN_DEPTH_MAX, nodes_max: int = EXPLAIN_NODES_MAX) -> Proof:
        """The proof tree of an atom that holds, cut at `depth_max` and after `nodes_max` nodes. Refuses ATOM_ABSENT."""
        if not self.program.holds(atom):
            raise Refused("ATOM_ABSENT", atom=atom.text())
        return self._prove(atom, depth_max, [nodes_max])

    def explain_node(self, node_id: str, depth_max: int = EXPLAIN_DEPTH_MAX, nodes_max: int = EXPLAIN_NODES_MAX) -> Proof:
        """The same by fact id. Refuses NODE_NOT_FOUND, NODE_NOT_FACT."""
        node = self.node(node_id)
        if not isinstance(node.semantic, Atom):
            raise Refused("NODE_NOT_FACT", id=node_id, type=node.type)
        if node_id in self.unusable:
            return Proof(node.semantic, node.id, EFFECT if node.effect else ASSERTED, node.evidence[0] if node.effect else None)
        return self.explain(node.semantic, depth_max, nodes_max)

    def _prove(self, atom: Atom, depth: int, left: list[int]) -> Proof:
        """`left` holds how many nodes may still be made."""
        left[0] -= 1
        support = self.support(atom)
        if support is None:
            node = self.supporting(atom)[0]
            if node.effect:
                action = self.nodes.get(node.evidence[0]) if node.evidence else None
                return Proof(atom, node.id, EFFECT, action.id if action else None, action.label if action else None)
            return Proof(atom, node.id, ASSERTED)
        shown = support.premises[:max(left[0], 0)] if depth > 0 else ()
        left[0] -= len(shown)
        children = []
        for premise in shown:
            left[0] += 1        # reserved above, so that an early premise cannot starve its siblings
            children.append(self._prove(premise, depth - 1, left))
        return Proof(atom, derived_id(atom), DERIVED, support.via, support.label, tuple(children), support.rounded,
                     cut=len(shown) < len(support.premises))

    # --- vocabulary ------------------------------------------------------------------------

    def signature(self, predicate: str) -> Signature | None:
        """The argument names a predicate goes with, as of now."""
        found = self.signatures.get(predicate)
        if found is None:
            found = self._scan_signature(predicate)
            if found is not None:
                self.signatures[predicate] = found
                self.scanned.append(predicate)
        if found is None or not found.firm:
            for names in self.program.argument_names(predicate):
                found = grown(found, names, True, "")
        return found

    def _scan_signature(self, predicate: str) -> Signature | None:
        """Read the nodes in board order until one makes the signature firm."""
        speaking = [*(self.nodes[i] for i in self.mentions.get(predicate, ())), *self.stated_facts(predicate)]
        found = None
        for node in sorted(speaking, key=attrgetter("seq")):
            for literal in spoken_by(node):
                if literal.predicate == predicate:
                    found = grown(found, names_of(literal), is_ground(literal), node.id)
            if found is not None and found.firm:
                break
        return found

    def vocabulary(self) -> dict[str, tuple[str, ...]]:
        """Predicate -> argument names, predicates ascending."""
        found = {}
        for predicate in sorted({*self.program.predicates(), *self.mentions} - {HIDDEN}):
            signature = self.signature(predicate)
            if signature is not None:
                found[predicate] = signature.names
        return found

    def axioms(self) -> list[Node]:
        return self.of_type(AXIOM)
