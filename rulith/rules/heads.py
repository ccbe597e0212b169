"""Rule heads and queries: bodies tied to the relations they read, and the code that runs them.

A rule with several heads is one RuleHead per head, each evaluated in its own stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rulith.base.errors import Refused
from rulith.base.limits import TEXT_WORK_MAX
from rulith.rules.bodies import Body, Guard, Join
from rulith.rules.builtins import BUILTINS
from rulith.rules.generate import Access, Explosion, Task, TextExplosion, function_of
from rulith.rules.relations import Key, Relation, Relations, Row, Shape, Sign
from rulith.rules.terms import Literal, Rule
from rulith.rules.values import Values

_ONCE = (None,)


class _Reader:
    """A body, its shapes, and its functions by starting point, written when first needed."""

    def __init__(self, body: Body, relations: Relations) -> None:
        self.body = body
        self.relations = relations
        self.shapes: list[Shape | None] = [
            None if literal.predicate in BUILTINS else relations.shape((literal.predicate, literal.negated), literal.names)
            for literal in body.literals
        ]
        self._functions: dict[tuple, tuple[Callable, list[Access]]] = {}
        self._shapes: dict[tuple, tuple] = {}
        self._version = -1

    def wide(self) -> frozenset[int]:
        return frozenset(i for i, shape in enumerate(self.shapes) if shape is not None and shape.wide)

    def task(self, mode: str, start: Join | Guard | str | None) -> Task:
        raise AssertionError("each reader writes its own tasks")

    def function(self, mode: str, start: Join | Guard | str | None) -> tuple[Callable, tuple]:
        """The function for a starting point, and what it reads as of now."""
        self._refresh()
        place = start.index if isinstance(start, (Join, Guard)) else start
        found = self._functions.get((mode, place))
        if found is None:
            found = self._functions[mode, place] = function_of(self.task(mode, start))
        return found[0], tuple([self._reach(access) for access in found[1]])

    def _refresh(self) -> None:
        if self._version != self.relations.version:
            self._forget()          # a literal may have become wide
            self._version = self.relations.version

    def _forget(self) -> None:
        self._functions.clear()
        self._shapes.clear()

    def shape_of(self, mode: str, start: Join | Guard | str | None) -> tuple:
        """What the code for a starting point depends on: equal shapes are written once."""
        self._refresh()
        place = start.index if isinstance(start, (Join, Guard)) else start
        found = self._shapes.get((mode, place))
        if found is None:
            found = self._shapes[mode, place] = self.task(mode, start).shape()
        return found

    def _reach(self, access: Access) -> object:
        shape = self.shapes[access.index]
        assert shape is not None
        if access.kind == "rows":
            return shape.rows()
        buckets = shape.index(access.positions).buckets
        return buckets.get if access.kind == "get" else buckets


class RuleHead(_Reader):
    """One conclusion of one rule. `number` names it in supports."""

    def __init__(self, rule: Rule, head: Literal, terms: tuple[int, ...], body: Body, number: int,
                 relation: Relation, relations: Relations, values: Values) -> None:
        self.rule = rule
        self.head = head
        self.number = number
        self.relation = relation
        self.sign: Sign = relation.sign
        self.stratum = 0
        self.terms = terms
        super().__init__(body, relations)
        self.constants = tuple([values.intern(value) for value in body.constants])
        self.recursive: frozenset[int] = frozenset()

    def place(self, strata: dict[Sign, int]) -> None:
        """Take this head's stratum, and note which literals recurse within it."""
        self.stratum = strata[self.sign]
        recursive = frozenset(
            [i for i, shape in enumerate(self.shapes) if shape is not None and strata.get(shape.sign) == self.stratum])
        if recursive != self.recursive:
            self.recursive = recursive
            self._forget()

    def task(self, mode: str, start: Join | Guard | str | None) -> Task:
        return Task(mode, self.body, self.terms, start, self.wide(), self.recursive)

    def run(self, mode: str, start: Join | Guard | str | None, delta: Sequence[Row] | None,
            out: Callable[[Key], object], values: Values, limit: int) -> int:
        """Run from `delta` (None: from nothing); new keys go to `out`. Returns the steps it took.

        Raises Explosion where a literal matches more than `limit` times, and what builtins refuse.
        """
        function, accesses = self.function(mode, start)
        return function(_ONCE if delta is None else delta, self.relation.rows, out, self.number,
                        limit, values, self.constants, accesses)

    def rows_most(self) -> int:
        """The rows of the largest relation that is joined: no first literal has more."""
        return max((sum(len(relation.rows) for relation in self.shapes[join.index].relations)  # type: ignore[union-attr]
                    for join in self.body.joins), default=0)

    def lacks_rows(self, pending: dict[Relation, list[Key]], start: Join | Guard | None) -> bool:
        """Is there a joined literal, `start` aside, whose rows all still wait for their own turn?"""
        for join in self.body.joins:
            if join is not start and self.shapes[join.index].is_settled_empty(pending):  # type: ignore[union-attr]
                return True
        return False


class Query(_Reader):
    """A body to be solved in written order, some variables given."""

    def __init__(self, literals: tuple[Literal, ...], given: tuple[str, ...], relations: Relations) -> None:
        super().__init__(Body(literals, given), relations)
        self.given = given
        self.outputs = tuple(range(len(given), len(self.body.variables)))

    def task(self, mode: str, start: Join | Guard | str | None) -> Task:
        return Task("solve", self.body, self.outputs, None, self.wide(), given=len(self.given))

    def run(self, given: tuple[int, ...], values: Values, most: int, limit: int) -> tuple[list[tuple[int, ...]], int]:
        """Up to `most` distinct bindings of the outputs, and the steps taken."""
        if self.body.never:
            return [], 0
        constants = tuple([values.intern(value) for value in self.body.constants])
        function, accesses = self.function("solve", None)
        found: dict[tuple[int, ...], None] = {}
        try:
            steps = function((given,), found, most, 0, limit, values, constants, accesses)
        except TextExplosion as explosion:
            literal = self.body.literals[explosion.index].text()
            raise Refused("resource_limit", what=f"the text work of {literal} in a query",
                          value=f"more than {TEXT_WORK_MAX} steps", limit=TEXT_WORK_MAX) from None
        except Explosion as explosion:
            literal = self.body.literals[explosion.index].text()
            raise Refused("JOIN_EXPLOSION", rule="(a query)", literal=literal, limit=limit) from None
        return list(found), steps
