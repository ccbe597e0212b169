"""The undo journal of one transaction: every Program is exactly as before when it is rolled back.

"Exactly" includes the order of rows and the numbers of values, since a later answer may
depend on either, and a ledger that never saw the refused batch must replay to the same.
"""

from __future__ import annotations

from rulith.rules.engine import Engine
from rulith.rules.relations import Key, Relation


class Journal:
    """Written as things change; `undo` restores, newest first."""

    def __init__(self, engine: Engine) -> None:
        assert engine.journal is None, "one transaction at a time"
        engine.journal = self
        self.engine = engine
        self.bases: list[tuple[Relation, Key, bool]] = []              # was it base before?
        self.supports: list[tuple[Relation, Key, tuple | None]] = []   # the support it had
        self.created: list[Relation] = []
        self._inserted: dict[Relation, list[list[Key]]] = {}
        self._kept: dict[Relation, tuple[dict, dict | None, list[list[Key]]]] = {}
        self.began = engine.steps       # what all closings of one transaction, or trial, may spend counts from here
        self.shapes: dict[tuple, None] = {}     # of the functions they ran
        self.code = 0
        self.has_moved_rules = False            # since its last closing
        self._mark = engine.values.mark()
        self._counts = engine.steps, engine.base_count, engine.derived_count, engine.next_number, engine.relations.births
        self._rules = dict(engine.rules), dict(engine.heads), engine.stale
        self._digest = engine.digest_sum, engine.digest_backlog, len(engine.digest_backlog)

    def note(self, relation: Relation, keys: list[Key]) -> None:
        """`keys` were added to the relation's rows."""
        if relation not in self._kept:
            self._inserted.setdefault(relation, []).append(keys)

    def keep_rows(self, relation: Relation) -> None:
        """Rows are about to go: their order can only be restored from a copy."""
        if relation not in self._kept:
            born = None if relation.born is None else dict(relation.born)
            self._kept[relation] = dict(relation.rows), born, self._inserted.pop(relation, [])

    def undo(self) -> None:
        engine, relations = self.engine, self.engine.relations
        self._undo_fresh()
        for relation, (rows, born, before) in self._kept.items():
            relation.rows, relation.born = rows, born
            engine.restored += len(rows)
            relation.citers, relation.cited = {}, 0
            for shape in relations.shapes_of(relation):
                shape.drop_indexes()
            self._remove(relation, before)
        for relation, lists in self._inserted.items():
            self._remove(relation, lists)
        for relation, key, support in reversed(self.supports):
            relation.citers, relation.cited = {}, 0
            if key in relation.rows:
                relation.rows[key] = support
        for relation, key, was_base in reversed(self.bases):
            if was_base:
                relation.base[key] = None
            else:
                del relation.base[key]
        for relation in reversed(self.created):
            relations.discard_last(relation)
        self._undo_rules()
        engine.values.forget(self._mark)
        engine.steps, engine.base_count, engine.derived_count, engine.next_number, relations.births = self._counts
        engine.digest_sum, engine.digest_backlog, kept = self._digest
        del engine.digest_backlog[kept:]
        engine.arrived, engine.leaving, engine.new_heads, engine.gone_heads = {}, {}, [], []
        engine.revision += 1
        engine.sound = True

    def _undo_fresh(self) -> None:
        """A refusal in the middle of a round leaves rows that no index holds yet."""
        for relation in self.engine.growing:
            for key in relation.fresh:
                relation.rows.pop(key, None)
            relation.fresh = []
        self.engine.growing = {}

    def _remove(self, relation: Relation, lists: list[list[Key]]) -> None:
        for keys in reversed(lists):
            self.engine.relations.unsettle(relation, keys)
            for key in reversed(keys):
                relation.rows.pop(key, None)

    def _undo_rules(self) -> None:
        engine = self.engine
        rules, heads, stale = self._rules
        if stale or rules != engine.rules or list(heads) != list(engine.heads):
            engine.rules, engine.heads, engine.stale = rules, heads, True
