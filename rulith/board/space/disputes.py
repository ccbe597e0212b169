"""Disputes: what stands in a contradiction or a functional conflict, and what rests on nothing else.

A fact is disputed when it is part of a conflict itself, or when nothing clean stands
behind it: no statement without disputed evidence, no derivation from clean facts. So it
does not depend on which derivation happened to be found first. A node is disputed when
its evidence is.

Source  the reasoning board, "Contradictions and functional dependencies".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rulith.base.errors import Refused
from rulith.board.space.nodes import HIDDEN, Node, Total, derived_id, read_derived_id
from rulith.rules.builtins import same
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable

if TYPE_CHECKING:
    from rulith.board.space.space import Space

# Other derivations tried before a fact stays disputed: a bound on reading a board full of conflicts.
RESCUES_MAX = 20_000


class Disputes:
    """The disputed facts of a Space as it is now; worked out when first asked, over what conflicts touch."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._direct: dict[Atom, None] = {}
        for atom in space.program.contradictions():
            self._direct[atom] = self._direct[atom.opposite()] = None
        for conflict in space.program.functional_conflicts():
            self._direct.update(dict.fromkeys(conflict.atoms))
        self._tainted: dict[Atom, None] | None = None if self._direct else {}
        self._left = RESCUES_MAX

    def covers(self, atom: Atom) -> bool:
        """Is this fact disputed?"""
        return atom in self._all()

    def covers_node(self, node: Node) -> bool:
        """Is a fact, result or any other node disputed, by what it states or by what it cites?"""
        if isinstance(node.semantic, Atom):
            return self.covers(node.semantic)
        return bool(self._direct) and self._cites_tainted(node, self._all())

    def _all(self) -> dict[Atom, None]:
        """The tainted facts, once those with a clean derivation beside the stored one were taken out."""
        if self._tainted is None:
            rescued: dict[Atom, None] = {}
            while True:
                tainted = self._spread(rescued)
                found = [atom for atom in tainted if atom not in self._direct and self._rescued(atom, tainted)]
                if not found:
                    break
                rescued.update(dict.fromkeys(found))
            self._tainted = tainted
        return self._tainted

    def _spread(self, rescued: dict[Atom, None]) -> dict[Atom, None]:
        """What rests on conflicts, by stored derivations and evidence; cycles of evidence taint nothing by themselves."""
        tainted = dict(self._direct)
        work = list(tainted)
        while work:
            for atom in self._dependants(work.pop()):
                if atom not in tainted and atom not in rescued and self._falls(atom, tainted):
                    tainted[atom] = None
                    work.append(atom)
        return tainted

    def _dependants(self, atom: Atom) -> list[Atom]:
        """Facts that may rest on this one: concluded from it, counted with it, or citing it."""
        space = self.space
        found = list(space.program.citing(atom))
        for family_id in space.watched.get(atom.predicate, ()):
            node_id = space.families[family_id].pins.get(atom)
            node = space.nodes.get(node_id) if node_id is not None else None
            if node is not None and isinstance(node.semantic, Total) and node.semantic.head is not None:
                found.append(node.semantic.head)
        work = [derived_id(atom), *space.supports.get(atom, ())] if space.cites else []
        seen = dict.fromkeys(work)
        while work:
            for citer in space.cites.get(work.pop(), ()):
                semantic = space.nodes[citer].semantic
                if isinstance(semantic, Atom):
                    found.append(semantic)
                elif citer not in seen:
                    seen[citer] = None
                    work.append(citer)
        return found

    def _falls(self, atom: Atom, tainted: dict[Atom, None]) -> bool:
        """Is everything that stands behind the fact tainted?"""
        space = self.space
        if not space.program.holds(atom):
            return False
        if any(not self._cites_tainted(space.nodes[node_id], tainted) for node_id in space.supports.get(atom, ())):
            return False
        support = space.support(atom)
        return support is None or any(premise in tainted for premise in support.premises)

    def _cites_tainted(self, node: Node, tainted: dict[Atom, None]) -> bool:
        """Does the evidence lead to a tainted fact, directly or through entries that state none?"""
        work, seen = list(node.evidence), {node.id: None}
        while work:
            ref = work.pop()
            cited = self.space.nodes.get(ref)
            atom = cited.semantic if cited is not None else read_derived_id(ref)
            if isinstance(atom, Atom):
                if atom in tainted:
                    return True
            elif cited is not None and ref not in seen:
                seen[ref] = None
                work.extend(cited.evidence)
        return False

    def _rescued(self, atom: Atom, tainted: dict[Atom, None]) -> bool:
        """Is there another derivation, from clean facts alone?"""
        for node_id in self.space.suppliers.get(atom.predicate, ()):
            rule = self.space.nodes[node_id].semantic
            if isinstance(rule, Rule):
                for head in rule.then:
                    bound = _bound(head, atom)
                    if bound is not None and self._derives_clean(rule, bound, tainted):
                        return True
        return False

    def _derives_clean(self, rule: Rule, bound: dict[str, Scalar], tainted: dict[Atom, None]) -> bool:
        body = [literal for literal in rule.when if joins(literal) and literal.predicate != HIDDEN]
        needed = {name for literal in rule.when for name in literal.variables()}
        given = {name: value for name, value in bound.items() if name in needed}
        try:
            for match in self.space.program.solve(rule.when, given):
                self._left -= 1
                if self._left < 0:
                    return False
                if all(any(fact not in tainted for fact in self.space.program.matching(literal.under(match))) for literal in body):
                    return True
        except Refused:
            return False        # too wide to search: what is stored decides
        return False


def _bound(head: Literal, atom: Atom) -> dict[str, Scalar] | None:
    """The values an atom gives a head's variables, or None where the two differ."""
    if (head.predicate, head.negated, head.names) != (atom.predicate, atom.negated, tuple([n for n, _ in atom.args])):
        return None
    found: dict[str, Scalar] = {}
    for (_, term), (_, value) in zip(head.args, atom.args):
        if is_variable(term):
            if not same(found.setdefault(term, value), value):  # type: ignore[arg-type]
                return None
        elif not same(term, value):
            return None
    return found
