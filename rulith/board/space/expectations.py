"""Expectations: does the outcome of a program agree with what its file expects?

Two levels are judged. *Required*: status, facts with sign and mark, goals, verdicts,
contradictions, functional conflicts, results of calls. *Expected*: error labels, disputed
marks, results, ids of rules and actions, removed nodes. Warnings, critique, hints and
vocabulary are advice and judge nothing.

Source  the board corpus, "Comparing".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-12       # of a number that common math libraries compute
#  parts of a call's result that are sets; all others are in order
_SETS = {
    "simulate_action": ("wouldAssert", "wouldDelete", "newDerived", "lostDerived", "contradictions", "unsatisfied"),
    "apply_action": ("produced", "consumed", "unsatisfied"),
    "compile": ("derived",), "compile_action": ("added", "removed"), "compile_sql": ("baseTables",),
    "diff_since_mark": ("added", "changed", "removed"),
}
_ADVICE = ("hasNote", "nodes", "note")              # of a call's result
_WHOLE_SETS = ("graph", "trust_inversions")
_STATE_SETS = ("contradictions", "axioms", "actions")
_IN_ORDER = (
    ("goals", ("id", "satisfied")), ("hypotheses", ("id", "status")), ("results", ("id", "label", "by", "disputed")),
    ("recordedConflicts", ("id", "label")),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """`where` is a path into the outcome, such as steps[2].state.facts."""

    where: str
    wanted: Any
    got: Any

    def json(self) -> dict[str, Any]:
        return {"where": self.where, "wanted": self.wanted, "got": self.got}


def compare(batches: Sequence[Mapping], expect: Mapping, found: Mapping) -> list[Difference]:
    """Every difference between an `expect` and an outcome of the same shape."""
    differences: list[Difference] = []
    state: Mapping = {}                 # as of the step at hand: one that changed nothing does not repeat it
    for number, (batch, wanted, got) in enumerate(zip(batches, expect.get("steps", ()), found["steps"])):
        where = f"steps[{number}]"
        if wanted.get("wire") == "schema" and got["status"] == "rejected":
            return differences          # a Board may refuse what the wire's schema refuses; the rest means nothing then
        differences += _step(batch, wanted, got, where)
        state = got.get("state", state)
        if "state" in wanted:
            differences += state_differences(wanted["state"], state, f"{where}.state")
        if any(each.where == f"{where}.status" for each in differences):
            return differences          # what comes after a step that went otherwise says nothing new
    if "final" in expect:
        differences += state_differences(expect["final"], found["final"], "final")
    return differences


def _step(batch: Mapping, wanted: Mapping, got: Mapping, where: str) -> list[Difference]:
    if "status" in wanted and wanted["status"] != got["status"]:
        return [Difference(f"{where}.status", wanted["status"], got.get("error", got["status"]))]
    found = []
    label = wanted.get("error", {}).get("label")
    if label is not None and label != got.get("error", {}).get("label"):
        found.append(Difference(f"{where}.error.label", label, got.get("error", {}).get("label")))
    if "call" in batch and "result" in wanted:
        found += _result(batch["call"], wanted["result"], got.get("result"), f"{where}.result")
    one, other = ([row for row in map(_named, each.get("retracted", ())) if row[1]] for each in (wanted, got))
    if one != other:
        found.append(Difference(f"{where}.retracted", one, other))
    return found


def _named(row: Mapping) -> tuple[int, list[str]]:
    """The removed nodes that carry an id of the file's own."""
    return row["index"], sorted(each for each in row["removed"] if each is not None and not each.startswith("derived:"))


def _result(call: str, wanted: Any, got: Any, where: str) -> list[Difference]:
    if isinstance(wanted, list) or call in _WHOLE_SETS:
        return _sets(where, wanted, got if isinstance(got, list) else [])
    if not isinstance(wanted, Mapping) or not isinstance(got, Mapping):
        return [] if same(wanted, got) else [Difference(where, wanted, got)]
    found = []
    for name in {**wanted, **got}:
        one, other = wanted.get(name), got.get(name)
        if name in _ADVICE:
            continue
        if name == "state" and one is not None:
            found += state_differences(one, other or {}, f"{where}.state")
        elif name in _SETS.get(call, ()) and one is not None and other is not None:
            found += _sets(f"{where}.{name}", one, other)
        elif name == "steps":
            plain = [{key: value for key, value in step.items() if key != "problem"} for step in other or ()]
            found += [] if same(one, plain) else [Difference(f"{where}.steps", one, plain)]
        elif not same(one, other):
            found.append(Difference(f"{where}.{name}", one, other))
    return found


def state_differences(wanted: Mapping, got: Mapping, where: str) -> list[Difference]:
    """What differs between two states; a key that is absent stands for an empty list, facts aside."""
    found: list[Difference] = []
    if "facts" in wanted:
        found += _sets(f"{where}.facts", [list(row[:5]) for row in wanted["facts"]], [list(row[:5]) for row in got.get("facts", ())])
    for name in _STATE_SETS:
        found += _sets(f"{where}.{name}", wanted.get(name, ()), got.get(name, ()))
    for name, members in _IN_ORDER:
        one, other = ([[row.get(member, False) for member in members] for row in state.get(name, ())] for state in (wanted, got))
        if not same(one, other):
            found.append(Difference(f"{where}.{name}", one, other))
    one, other = ([_conflict(row) for row in state.get("functionalConflicts", ())] for state in (wanted, got))
    found += _sets(f"{where}.functionalConflicts", one, other)
    return found


def _conflict(row: Mapping) -> list[Any]:
    return [row["predicate"], row["key"], sorted(row["values"], key=lambda value: str(_coarse(value)))]


def _sets(where: str, wanted: Iterable[Any], got: Iterable[Any]) -> list[Difference]:
    """Two lists compared as sets: what is missing and what is too much."""
    left: dict[Any, list[Any]] = {}
    for row in got:
        left.setdefault(_coarse(row), []).append(row)
    missing = []
    for row in wanted:
        alike = left.get(_coarse(row), [])
        place = next((number for number, other in enumerate(alike) if same(row, other)), None)
        if place is None:
            missing.append(row)
        else:
            alike.pop(place)
    surplus = [row for rows in left.values() for row in rows]
    return [Difference(where, missing, surplus)] if missing or surplus else []


def same(one: Any, other: Any) -> bool:
    """Equal data: numbers by value with a little tolerance, texts and booleans strictly, lists in order."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) in (int, float) and type(other) in (int, float):
        return one == other or (not _is_whole(one) and not _is_whole(other) and math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=0.0))
    return type(one) is type(other) and one == other


def _is_whole(value: int | float) -> bool:
    """Whole numbers are exact here, so they are compared exactly."""
    return isinstance(value, int) or value.is_integer()


def _coarse(value: Any) -> Any:
    """A stand-in to look rows up by: equal values have equal ones."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, _coarse(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_coarse, value))
    if type(value) in (int, float):
        return "number", f"{float(value):.6e}" if abs(value) < 1e300 else "large"
    return type(value).__name__, str(value)
