"""A staged change of a Space: all of it or none.

Everything that moves goes through these hands, so that taking it back is one walk over a
journal. Nodes enter and leave; what a usable node stands for (a base fact, a rule, the
members of an aggregate) is kept in step with it in the Program, and `close` brings what
follows up to date. A change costs what it touches, never the size of the board.

Knows nothing of operations, gates or who asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.base.limits import SPACE_NODES_MAX, SPACE_QUESTIONS_MAX
from rulith.board.space.founding import unfounded
from rulith.board.space.nodes import (
    ACTION, ARCHIVED, AXIOM, DERIVED_PREFIX, FACT, GOAL, HIDDEN, HYPOTHESIS, OPEN, SETTLED_TYPES, SHOWN,
    VERIFIED, ActionSpec, Mint, Node, Total, derived_id, members_atom, read_derived_id,
)
from rulith.board.space.vocabulary import grown, is_ground, names_of, patterns_of, spoken_by
from rulith.rules.builtins import BUILTINS
from rulith.rules.program import Delta, Tx
from rulith.rules.terms import Atom, Literal, Rule

if TYPE_CHECKING:
    from rulith.board.space.space import Space

_ABSENT = object()
QUESTIONS = (GOAL, HYPOTHESIS)      # judged after every change
_PREFIX = {FACT: "f_", GOAL: "goal_", AXIOM: "rule_", ACTION: "act_", HYPOTHESIS: "hyp_", "result": "res_", "conflict": "con_"}


class Change:
    """The hands of one change. Useless once its block has ended.

    at, mint   the moment and the fresh ids; a Space reads no clock and draws nothing
    deltas     what each closing changed, oldest first
    verdicts   hypotheses whose verdict moved: id -> status
    withdrawn  aggregate nodes that lost their total because their source facts changed
    """

    def __init__(self, space: Space, tx: Tx, at: str, mint: Mint) -> None:
        self.space = space
        self.tx = tx
        self.at = at
        self.mint = mint
        self.deltas: list[Delta] = []
        self.verdicts: dict[str, str] = {}
        self.withdrawn: dict[str, None] = {}
        self.moved: dict[Atom, None] = {}           # base facts of watched predicates that came or went
        self._journal: list[tuple[dict, object, object]] = []
        self._seq = space.seq
        space.scanned.clear()
        self.is_settled = True

    # --- the journal -------------------------------------------------------------------

    def set(self, book: dict, key: object, value: object) -> None:
        self._journal.append((book, key, book.get(key, _ABSENT)))
        book[key] = value
        self.is_settled = False

    def drop(self, book: dict, key: object) -> None:
        self._journal.append((book, key, book.pop(key)))
        self.is_settled = False

    def enlist(self, book: dict, key: object, member: object) -> None:
        """Put `member` into the dictionary at `key`, made if need be."""
        inner = book.get(key)
        if inner is None:
            self.set(book, key, {member: None})
        elif member not in inner:
            self.set(inner, member, None)

    def delist(self, book: dict, key: object, member: object) -> None:
        inner = book.get(key)
        if inner is None or member not in inner:
            return
        if len(inner) == 1:
            self.drop(book, key)
        else:
            self.drop(inner, member)

    def undo(self) -> None:
        """Take everything back, newest first. Dictionary order is not restored: `seq` orders nodes."""
        self._back_to(0, self._seq)

    def _back_to(self, place: int, seq: int) -> None:
        for book, key, old in reversed(self._journal[place:]):
            if old is _ABSENT:
                book.pop(key, None)
            else:
                book[key] = old
        del self._journal[place:]
        self.space.seq = seq
        self.space.version += 1
        for predicate in self.space.scanned:
            self.space.signatures.pop(predicate, None)

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Whatever happens inside is taken back when the block ends. Trials nest; what came before is settled first."""
        self.settle()
        place, seq, deltas = len(self._journal), self.space.seq, len(self.deltas)
        told = dict(self.verdicts), dict(self.withdrawn), dict(self.moved)
        try:
            with self.tx.trial():
                yield
        finally:
            self._back_to(place, seq)
            del self.deltas[deltas:]
            self.verdicts, self.withdrawn, self.moved = told
            self.is_settled = True

    # --- nodes -------------------------------------------------------------------------

    def add(self, type: str, semantic: Any, *, id: str | None = None, label: str, summary: str | None = None,
            evidence: Iterable[str] = (), **fields: Any) -> Node:
        """Put a new node on the board. Raises Refused NODE_ID_TAKEN, resource_limit."""
        space = self.space
        if id is None:
            id = self.mint(_PREFIX[type])
        if id in space.nodes:
            raise Refused("NODE_ID_TAKEN", id=id)
        if len(space.nodes) >= SPACE_NODES_MAX:
            raise Refused("resource_limit", what="the number of nodes", value=len(space.nodes) + 1, limit=SPACE_NODES_MAX)
        if type in QUESTIONS and sum(len(space.by_type.get(each, ())) for each in QUESTIONS) >= SPACE_QUESTIONS_MAX:
            raise Refused("resource_limit", what="the number of goals and hypotheses", value=SPACE_QUESTIONS_MAX + 1, limit=SPACE_QUESTIONS_MAX)
        space.seq += 1
        confidence, activation = SHOWN[type]
        fields.setdefault("status", VERIFIED if type in SETTLED_TYPES else OPEN)
        fields.setdefault("confidence", confidence)
        fields.setdefault("activation", activation)
        node = Node(id=id, seq=space.seq, type=type, label=label, summary=label if summary is None else summary,
                    semantic=semantic, evidence=tuple(evidence), created_at=self.at, updated_at=self.at, **fields)
        self.restore(node)
        return node

    def restore(self, node: Node) -> None:
        """Put a node on the board as it is, its place in the order included."""
        space, id = self.space, node.id
        self.set(space.nodes, id, node)
        self.enlist(space.by_type, node.type, id)
        for ref in node.evidence:
            self._cite(ref, id)
        if node.status != ARCHIVED and all(space.usable(ref) for ref in node.evidence if ref in space.nodes and ref != id):
            self._enter(node)
        else:
            self.set(space.unusable, id, None)
            if id in space.cites:
                self._reweigh([id])     # what cited it before it was there falls with it

    def _cite(self, ref: str, node_id: str) -> None:
        space = self.space
        if ref.startswith(DERIVED_PREFIX) and ref not in space.cites:
            atom = read_derived_id(ref)
            if atom is not None:
                self.set(space.derived_cites, ref, atom)
        self.enlist(space.cites, ref, node_id)

    def replace(self, node: Node, **fields: Any) -> Node:
        """The same node with other shown fields; its meaning stays."""
        found = replace(node, updated_at=self.at, **fields)
        self.set(self.space.nodes, node.id, found)
        return found

    def dependants(self, ids: Iterable[str]) -> list[str]:
        """`ids` and every node that cites one of them, directly or through others or through derived facts."""
        space = self.space
        gone: dict[str, None] = dict.fromkeys(ids)
        waiting = list(gone)
        while waiting:
            ref = waiting.pop()
            for citer in space.cites.get(ref, ()):
                if citer not in gone:
                    gone[citer] = None
                    waiting.append(citer)
            if not waiting and space.derived_cites:
                fallen = [ref for ref, atom in space.derived_cites.items()
                          if ref not in gone and space.program.is_derived(atom) and space.rests_on(atom, gone)]
                for ref in fallen:
                    gone[ref] = None
                    waiting.append(ref)
        return list(gone)

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Take these stored nodes off the board (callers pass all `dependants`); derived ids among them are skipped."""
        space, removed = self.space, []
        for node_id in ids:
            node = space.nodes.get(node_id)
            if node is None:
                continue
            removed.append(node_id)
            if node_id in space.unusable:
                self.drop(space.unusable, node_id)
            else:
                self._leave(node)
            self.drop(space.nodes, node_id)
            self.delist(space.by_type, node.type, node_id)
            for ref in node.evidence:
                self.delist(space.cites, ref, node_id)
                if ref in space.derived_cites and ref not in space.cites:
                    self.drop(space.derived_cites, ref)
        return removed

    def archive(self, node_id: str, note: str = "") -> Node:
        """Set a node aside: it and all that rests on it take no part any more; its id stays in use."""
        node = self.space.nodes[node_id]
        was_usable = self.space.usable(node_id)
        found = self.replace(node, status=ARCHIVED, summary=node.summary + note)
        if was_usable:
            self._leave(node)
            self.set(self.space.unusable, node_id, None)
            self._reweigh([node_id])
        return found

    def _reweigh(self, ids: Iterable[str]) -> None:
        """Judge anew whether what cites `ids` is usable; cycles count as usable."""
        space = self.space
        region = [node_id for node_id in self._citing(ids) if space.nodes[node_id].is_active]
        within = set(region)
        fallen: dict[str, None] = {}
        waiting = [node_id for node_id in region
                   if any(ref in space.nodes and ref not in within and not space.usable(ref)
                          for ref in space.nodes[node_id].evidence)]
        while waiting:
            node_id = waiting.pop()
            if node_id not in fallen:
                fallen[node_id] = None
                waiting.extend(citer for citer in space.cites.get(node_id, ()) if citer in within)
        for node_id in region:
            was_usable, node = space.usable(node_id), space.nodes[node_id]
            if was_usable and node_id in fallen:
                self._leave(node)
                self.set(space.unusable, node_id, None)
            elif not was_usable and node_id not in fallen:
                self.drop(space.unusable, node_id)
                self._enter(node)

    def _citing(self, ids: Iterable[str]) -> list[str]:
        """The stored nodes that cite `ids`, directly or not, in the order met."""
        found: dict[str, None] = {}
        waiting = list(ids)
        while waiting:
            for citer in self.space.cites.get(waiting.pop(), ()):
                if citer not in found:
                    found[citer] = None
                    waiting.append(citer)
        return list(found)

    # --- what a usable node stands for ---------------------------------------------------

    def _enter(self, node: Node) -> None:
        space, semantic = self.space, node.semantic
        space.version += 1
        if isinstance(semantic, Atom):
            if semantic not in space.supports:
                if semantic.predicate in space.watched and not space.program.holds(semantic):
                    self.moved[semantic] = None
                self.tx.assert_fact(semantic)
            self.enlist(space.supports, semantic, node.id)
        elif isinstance(semantic, Rule):
            self.tx.add_rule(semantic)
            self.enlist(space.rule_keys, rule_key(semantic), node.id)
        elif isinstance(semantic, Total):
            self._enter_total(node.id, semantic)
        for literal in patterns_of(node):
            self.enlist(space.mentions, literal.predicate, node.id)
        for predicate in supplied_by(node):
            self.enlist(space.suppliers, predicate, node.id)
        for literal in spoken_by(node):
            known = space.signatures.get(literal.predicate)
            if known is not None and not known.firm:
                after = grown(known, names_of(literal), is_ground(literal), node.id)
                if after is not known:
                    self.set(space.signatures, literal.predicate, after)

    def _leave(self, node: Node) -> None:
        space, semantic = self.space, node.semantic
        space.version += 1
        if isinstance(semantic, Atom):
            self.delist(space.supports, semantic, node.id)
            if semantic not in space.supports:
                self.tx.retract_fact(semantic)
                if semantic.predicate in space.watched:
                    self.moved[semantic] = None
        elif isinstance(semantic, Rule):
            self.tx.remove_rule(node.id)
            self.delist(space.rule_keys, rule_key(semantic), node.id)
        elif isinstance(semantic, Total):
            self._leave_total(node.id, semantic)
        for literal in patterns_of(node):
            self.delist(space.mentions, literal.predicate, node.id)
        for predicate in supplied_by(node):
            self.delist(space.suppliers, predicate, node.id)
        for literal in spoken_by(node):
            known = space.signatures.get(literal.predicate)
            if known is not None and node.id in known.by:
                self.drop(space.signatures, literal.predicate)

    def _enter_total(self, node_id: str, total: Total) -> None:
        space = self.space
        if total.family not in space.family_nodes:
            self.tx.add_rule(family_rule(total))
        self.enlist(space.family_nodes, total.family, node_id)
        if total.head is not None and not total.withdrawn:
            self.tx.assert_fact(members_atom(node_id, total))

    def _leave_total(self, node_id: str, total: Total) -> None:
        space = self.space
        if total.head is not None and not total.withdrawn:
            self.tx.retract_fact(members_atom(node_id, total))
        self.delist(space.family_nodes, total.family, node_id)
        if total.family not in space.family_nodes:
            self.tx.remove_rule(total.family)
            family = space.families[total.family]
            self.drop(space.families, total.family)
            self.delist(space.watched, family.source, total.family)

    def withdraw(self, node_id: str) -> None:
        """An aggregate whose source facts changed concludes nothing any more."""
        node = self.space.nodes[node_id]
        total: Total = node.semantic  # type: ignore[assignment]
        if total.head is not None and self.space.usable(node_id):
            self.tx.retract_fact(members_atom(node_id, total))
        self.replace(node, semantic=replace(total, withdrawn=True))
        self.withdrawn[node_id] = None

    # --- what follows --------------------------------------------------------------------

    def close(self) -> Delta:
        """Bring the closure up to date. Raises Refused NOT_STRATIFIABLE, JOIN_EXPLOSION and the like."""
        delta = self.tx.close()
        self.space.version += 1
        self.deltas.append(delta)
        if self.space.watched:
            self.moved.update(dict.fromkeys(delta.moved(self.space.watched)))
        return delta

    def settle(self) -> None:
        """Close; withdraw aggregates that no longer stand on what they pinned, or only on themselves; judge the hypotheses."""
        if self.is_settled:
            return
        self.close()
        while stale := self.stale_totals() or unfounded(self):
            self.moved = {}
            for node_id in stale:
                self.withdraw(node_id)
            self.close()
        for node in self._in_order(self.space.by_type.get(HYPOTHESIS, ())):
            if node.status == ARCHIVED:
                continue
            status = self.space.verdict(node)
            if status != node.status:
                self.replace(node, status=status)
                self.verdicts[node.id] = status
        self.is_settled = True

    def stale_totals(self) -> list[str]:
        """Aggregate nodes whose source facts are no longer those they pinned."""
        space, found = self.space, {}
        for atom in self.moved:
            for family_id in space.watched.get(atom.predicate, ()):
                family = space.families[family_id]
                node = space.nodes.get(family.group_of(atom) or "")
                if node is None or node.semantic.withdrawn:  # type: ignore[union-attr]
                    continue
                if space.program.holds(atom) != (atom in family.pins):
                    found[node.id] = None
        return [node.id for node in self._in_order(found)]

    def _in_order(self, ids: Iterable[str]) -> list[Node]:
        """The nodes in board order, whatever order a rollback left the books in."""
        return sorted((self.space.nodes[node_id] for node_id in ids), key=attrgetter("seq"))

    def derived_changes(self) -> tuple[dict[Atom, None], dict[Atom, None]]:
        """Derived atoms that are new and those that are gone, net over all closings."""
        if len(self.deltas) == 1:
            return dict.fromkeys(self.deltas[0].added), dict.fromkeys(self.deltas[0].removed)
        net: dict[Atom, int] = {}
        for delta in self.deltas:
            for atom in delta.added:
                net[atom] = net.get(atom, 0) + 1
            for atom in delta.removed:
                net[atom] = net.get(atom, 0) - 1
        return {a: None for a, n in net.items() if n > 0}, {a: None for a, n in net.items() if n < 0}


def fallen_ids(deltas: Iterable[Delta]) -> Iterator[str]:
    """Ids of derived facts that lost the support they stood on (some may have found another)."""
    for delta in deltas:
        for atom in (*delta.removed, *delta.resupported):
            yield derived_id(atom)


def rule_key(rule: Rule) -> tuple:
    """Equal for rules that say the same up to the order of literals."""
    return (tuple(sorted(_literal_key(literal) for literal in rule.when)),
            tuple(sorted(_literal_key(literal) for literal in rule.then)))


def _literal_key(literal: Literal) -> tuple:
    return (literal.predicate, literal.negated, literal.naf,
            tuple((name, type(value) is bool, type(value) is str, str(value)) for name, value in literal.args))


def supplied_by(node: Node) -> list[str]:
    """Predicates of which this rule, aggregate or action may bring about positive facts."""
    semantic = node.semantic
    if isinstance(semantic, Rule):
        return list(dict.fromkeys(head.predicate for head in semantic.then))
    if isinstance(semantic, Total):
        return [semantic.into]
    if isinstance(semantic, ActionSpec):
        return list(dict.fromkeys(e.predicate for e in semantic.effects if not e.negated and e.predicate not in BUILTINS))
    return []


def family_rule(total: Total) -> Rule:
    """The one rule by which all groups of an aggregate conclude."""
    body: dict[str, Any] = {"family": total.family, "node": "?node", "value": "?value"}
    head: dict[str, Any] = {total.into_arg: "?value"}
    if total.group_by:
        body["group"] = head[total.group_by] = "?group"
    when = Literal(HIDDEN, tuple((name, body[name]) for name in sorted(body)))
    then = Literal(total.into, tuple((name, head[name]) for name in sorted(head)))
    return Rule(total.family, f"{total.kind} of {total.source}", (when,), (then,))
