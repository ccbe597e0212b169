"""Disputes: what stands in a contradiction or a functional conflict, and what rests on one.

The taint follows what the board would show as the reason: the stored derivation of a
derived fact, the evidence of a stated one (any clean statement of it clears it), the
members of a total. So `explain` and `disputed` always agree. A node is disputed when its
evidence is.

Source  the reasoning board, "Contradictions and functional dependencies".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rulith.board.space.nodes import Node, Total, derived_id, read_derived_id
from rulith.rules.terms import Atom

if TYPE_CHECKING:
    from rulith.board.space.space import Space


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

    def covers(self, atom: Atom) -> bool:
        """Is this fact disputed?"""
        return atom in self._all()

    def covers_node(self, node: Node) -> bool:
        """Is a fact, result or any other node disputed, by what it states or by what it cites?"""
        if isinstance(node.semantic, Atom):
            return self.covers(node.semantic)
        return bool(self._direct) and self._cites_tainted(node, self._all())

    def _all(self) -> dict[Atom, None]:
        """What rests on conflicts; cycles of evidence taint nothing by themselves."""
        if self._tainted is None:
            self._tainted = dict(self._direct)
            work = list(self._direct)
            while work:
                for atom in self._dependants(work.pop()):
                    if atom not in self._tainted and self._falls(atom, self._tainted):
                        self._tainted[atom] = None
                        work.append(atom)
        return self._tainted

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
