"""Relations and their indexes: where the facts of a Program lie.

A relation holds the facts of one predicate, sign and set of argument names; a fact's
key is the tuple of its interned values in ascending order of name. A literal may name
fewer arguments than a fact has, so it reads a *shape*: all relations with at least its
names. A shape's row is the fact's own key where the names agree exactly, else the
projected values followed by the wider relation and its key; either way row[i] is the
value of the shape's i-th name.

Rows, buckets and rebuilt indexes all keep one order, that of appearance: which match
comes first may not depend on whether an index existed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import itemgetter

Key = tuple  # of interned values
Row = tuple  # a key, or projected values + (relation number, key)
Sign = tuple[str, bool]  # predicate, negated
Bucket = "tuple[Row, ...] | dict[Row, None]"

# Most buckets stay small. A tuple is a quarter of a dict's size and, holding only tuples of
# integers, soon leaves the cycle collector's rounds; beyond this many rows a dict removes faster.
SMALL = 8

_NO_ROWS: dict = {}


class Relation:
    """rows: key -> support (rule head number and one row per joined literal), or None for a base fact."""

    __slots__ = ("sign", "names", "number", "rows", "base", "born", "fresh", "live", "citers", "cited",
                 "uses", "uses_version", "printed", "named")

    def __init__(self, sign: Sign, names: tuple[str, ...], number: int) -> None:
        self.sign = sign
        self.names = names
        self.named = frozenset(names)
        self.number = number
        self.rows: dict[Key, tuple | None] = {}
        self.base: dict[Key, None] = {}
        self.born: dict[Key, int] | None = None   # order among sibling relations, if there are any
        self.fresh: list[Key] = []                # rows the indexes do not hold yet; always the last of `rows`
        self.live: list[Feed] = []                # indexes fed by this relation
        self.citers: dict[tuple[int, int], dict[Row, Sequence[Key]]] = {}   # (head, slot) -> cited row -> keys
        self.cited = 0                            # entries in `citers`, stale ones included
        self.uses: dict[int, tuple[list, list]] = {}
        self.uses_version = -1
        self.printed: tuple[str, list[bytes]] | None = None   # for the digest


class Feed:
    """How one relation's keys enter one index."""

    __slots__ = ("index", "key_of", "row_of")

    def __init__(self, index: Index, relation: Relation) -> None:
        shape = index.shape
        places = [relation.names.index(name) for name in shape.names]
        self.index = index
        self.key_of = _picker([places[p] for p in index.positions])
        self.row_of = None if relation.names == shape.names else _projector(places, relation.number)

    def add(self, keys: Iterable[Key]) -> None:
        buckets, key_of, row_of = self.index.buckets, self.key_of, self.row_of
        for key in keys:
            at = key_of(key)
            row = key if row_of is None else row_of(key)
            bucket = buckets.get(at)
            if bucket is None:
                buckets[at] = (row,)
            elif bucket.__class__ is dict:
                bucket[row] = None  # type: ignore[index]
            elif len(bucket) < SMALL:
                buckets[at] = (*bucket, row)
            else:
                grown = buckets[at] = dict.fromkeys(bucket)
                grown[row] = None

    def remove(self, keys: Iterable[Key]) -> None:
        buckets, key_of, row_of = self.index.buckets, self.key_of, self.row_of
        for key in keys:
            at = key_of(key)
            bucket = buckets.get(at)
            if bucket is None:
                continue
            row = key if row_of is None else row_of(key)
            if bucket.__class__ is dict:
                bucket.pop(row, None)  # type: ignore[union-attr]
            else:
                bucket = buckets[at] = tuple([other for other in bucket if other != row])
            if not bucket:
                del buckets[at]


def _picker(places: list[int]) -> Callable[[Key], object]:
    """The index key: a bare value for one position, a tuple for more, () for none."""
    return itemgetter(*places) if places else (lambda key: ())


def _projector(places: list[int], number: int) -> Callable[[Key], Row]:
    if len(places) == 1:
        only = places[0]
        return lambda key: (key[only], number, key)
    pick = _picker(places)
    return lambda key: (*pick(key), number, key)  # type: ignore[misc]


class Index:
    """Rows of a shape by the values at some of its positions."""

    __slots__ = ("shape", "positions", "buckets")

    def __init__(self, shape: Shape, positions: tuple[int, ...]) -> None:
        self.shape = shape
        self.positions = positions
        self.buckets: dict[object, Bucket] = {}


class Shape:
    """What a literal sees: every fact of a sign that has at least these argument names."""

    __slots__ = ("sign", "names", "named", "relations", "exact", "wide", "indexes")

    def __init__(self, sign: Sign, names: tuple[str, ...]) -> None:
        self.sign = sign
        self.names = names
        self.named = frozenset(names)
        self.relations: list[Relation] = []
        self.exact: Relation | None = None
        self.wide = False       # some relation has more names than the literal
        self.indexes: dict[tuple[int, ...], Index] = {}

    def admit(self, relation: Relation) -> None:
        self.relations.append(relation)
        if relation.names == self.names:
            self.exact = relation
        else:
            self.wide = True
        for index in self.indexes.values():
            relation.live.append(Feed(index, relation))

    def rows(self) -> dict[Key, tuple | None]:
        """All rows, where no relation is wider than the shape."""
        return _NO_ROWS if self.exact is None else self.exact.rows

    def index(self, positions: tuple[int, ...]) -> Index:
        found = self.indexes.get(positions)
        if found is None:
            found = self.indexes[positions] = Index(self, positions)
            feeds = [(relation, Feed(found, relation)) for relation in self.relations]
            for relation, feed in feeds:
                relation.live.append(feed)
            _fill(feeds)
        return found

    def drop_indexes(self) -> None:
        for index in self.indexes.values():
            for relation in self.relations:
                relation.live = [feed for feed in relation.live if feed.index is not index]
        self.indexes.clear()

    def row(self, relation: Relation, key: Key) -> Row:
        """The row by which `relation`'s fact `key` shows in this shape."""
        if relation.names == self.names:
            return key
        return (*(key[relation.names.index(name)] for name in self.names), relation.number, key)

    def is_settled_empty(self, pending: dict[Relation, list[Key]]) -> bool:
        """Does it hold nothing but rows that are `pending` or fresh, whose turn as a delta is still to come?"""
        for relation in self.relations:
            if len(relation.rows) > len(relation.fresh) + len(pending.get(relation, ())):
                return False
        return True


def _fill(feeds: list[tuple[Relation, Feed]]) -> None:
    """Enter all settled rows, in order of appearance across the relations."""
    if len(feeds) == 1:
        relation, feed = feeds[0]
        feed.add(islice(relation.rows, len(relation.rows) - len(relation.fresh)))
        return
    order = []
    for relation, feed in feeds:
        born = relation.born
        settled = islice(relation.rows, len(relation.rows) - len(relation.fresh))
        order.extend((born[key], feed, key) for key in settled)  # type: ignore[index]
    order.sort(key=itemgetter(0))
    for _, feed, key in order:
        feed.add((key,))


class Relations:
    """All relations and shapes of a Program, by sign."""

    def __init__(self) -> None:
        self.by_sign: dict[Sign, dict[tuple[str, ...], Relation]] = {}
        self.shapes: dict[Sign, dict[tuple[str, ...], Shape]] = {}
        self.numbered: list[Relation] = []
        self.births = 0
        self.version = 0    # moves whenever a shape may have become wide or narrow

    def find(self, sign: Sign, names: tuple[str, ...]) -> Relation | None:
        family = self.by_sign.get(sign)
        return None if family is None else family.get(names)

    def create(self, sign: Sign, names: tuple[str, ...]) -> Relation:
        self.version += 1
        relation = Relation(sign, names, len(self.numbered))
        self.numbered.append(relation)
        family = self.by_sign.setdefault(sign, {})
        family[names] = relation
        if len(family) == 2:
            self._begin_order(next(iter(family.values())))
        if len(family) > 1:
            relation.born = {}
        for shape in self.shapes.get(sign, {}).values():
            if shape.named <= relation.named:
                shape.admit(relation)
        return relation

    def _begin_order(self, first: Relation) -> None:
        """A second relation makes order between relations matter; the first one's rows come first."""
        settled = islice(first.rows, len(first.rows) - len(first.fresh))
        first.born = {key: self.births + place for place, key in enumerate(settled)}
        self.births += len(first.born)

    def discard_last(self, relation: Relation) -> None:
        """Undo the latest `create`."""
        assert self.numbered[-1] is relation and not relation.rows
        self.version += 1
        self.numbered.pop()
        family = self.by_sign[relation.sign]
        del family[relation.names]
        if len(family) == 1:
            next(iter(family.values())).born = None
        elif not family:
            del self.by_sign[relation.sign]
        for shape in self.shapes.get(relation.sign, {}).values():
            if shape.relations and shape.relations[-1] is relation:     # a shape admits in order of creation
                shape.relations.pop()
                if shape.exact is relation:
                    shape.exact = None
                shape.wide = any(other.names != shape.names for other in shape.relations)

    def shape(self, sign: Sign, names: tuple[str, ...]) -> Shape:
        family = self.shapes.setdefault(sign, {})
        found = family.get(names)
        if found is None:
            found = family[names] = Shape(sign, names)
            for relation in self.by_sign.get(sign, {}).values():
                if found.named <= relation.named:
                    found.admit(relation)
        return found

    def prune(self, kept: set[Shape]) -> None:
        """Drop the shapes and indexes that only past queries used."""
        for family in self.shapes.values():
            for names in [names for names, shape in family.items() if shape not in kept]:
                family.pop(names).drop_indexes()

    def settle(self, relation: Relation, keys: list[Key]) -> None:
        """Show new rows to the indexes (and to the order among siblings)."""
        if relation.born is not None:
            births = self.births
            for key in keys:
                relation.born[key] = births
                births += 1
            self.births = births
        for feed in relation.live:
            feed.add(keys)

    def unsettle(self, relation: Relation, keys: Iterable[Key]) -> None:
        """Take rows out of the indexes and the order."""
        for feed in relation.live:
            feed.remove(keys)
        if relation.born is not None:
            for key in keys:
                relation.born.pop(key, None)

    def shapes_of(self, relation: Relation) -> list[Shape]:
        return [shape for shape in self.shapes.get(relation.sign, {}).values() if relation in shape.relations]

    def in_order(self, sign: Sign) -> list[tuple[Relation, Key]]:
        """Every fact of a sign in order of appearance."""
        family = self.by_sign.get(sign)
        if not family:
            return []
        if len(family) == 1:
            relation = next(iter(family.values()))
            return [(relation, key) for key in relation.rows]
        rows = [(relation.born[key], relation, key) for relation in family.values() for key in relation.rows]  # type: ignore[index]
        rows.sort(key=itemgetter(0))
        return [(relation, key) for _, relation, key in rows]
