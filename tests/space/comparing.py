"""The corpus checker: does an outcome agree with the recorded one?

Knows nothing but JSON, and shares no code with what it judges. Levels, as the corpus states
them: *required* and *expected* must agree; *advisory* differences are collected and listed
with reasons (test_corpus_advisory.py).
"""

from __future__ import annotations

import json
import math


def same(one, other):
    """Equal data: numbers by value with a little tolerance, text and booleans strictly, lists in order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) in (int, float) and type(other) in (int, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=0)
    return type(one) is type(other) and one == other


def unmatched(wanted, got):
    """(missing, surplus) rows when two lists are compared as sets; empty tuple when they agree."""
    left = {}
    for row in got:
        left.setdefault(coarse(row), []).append(row)
    missing = []
    for row in wanted:
        candidates = left.get(coarse(row), [])
        place = next((n for n, other in enumerate(candidates) if same(row, other)), None)
        if place is None:
            missing.append(row)
        else:
            candidates.pop(place)
    surplus = [row for rows in left.values() for row in rows]
    return (missing, surplus) if missing or surplus else ()


def coarse(value):
    """A hashable stand-in: whole numbers exactly, fractions to six digits."""
    if isinstance(value, dict):
        return tuple(sorted((name, coarse(item)) for name, item in value.items()))
    if isinstance(value, list):
        return tuple(map(coarse, value))
    if isinstance(value, bool) or isinstance(value, str) or value is None:
        return type(value).__name__, str(value)
    return "number", f"{float(value):.6e}"


def required(state, wanted):
    """Differences at the level *required*."""
    found = []
    for what, one, other in (
        ("facts", [row[:4] for row in wanted["facts"]], [row[:4] for row in state["facts"]]),
        ("contradictions", wanted.get("contradictions", []), state.get("contradictions", [])),
    ):
        if difference := unmatched(one, other):
            found.append((what, *difference))
    for what, member in (("goals", "satisfied"), ("hypotheses", "status")):
        one = [[row["id"], row[member]] for row in wanted.get(what, [])]
        other = [[row["id"], row[member]] for row in state.get(what, [])]
        if not same_nodes(one, other):
            found.append((what, one, other))
    one, other = (sorted(map(conflict, s.get("functionalConflicts", [])), key=str) for s in (wanted, state))
    if not same(one, other):
        found.append(("functionalConflicts", one, other))
    return found


def same_nodes(one, other):
    """In board order, where a recorded null stands for a generated id."""
    return len(one) == len(other) and all(
        same(a[1:], b[1:]) and (a[0] == b[0] if a[0] is not None else "#" in b[0]) for a, b in zip(one, other))


def conflict(row):
    return [row["predicate"], sorted(map(list, row["key"].items())), sorted(row["values"], key=lambda v: json.dumps(v, sort_keys=True))]


def expected(state, wanted):
    """Differences at the level *expected*: disputes, results, and the ids of rules and actions."""
    found = []
    one, other = ([row for row in s["facts"] if row[4:] == ["disputed"]] for s in (wanted, state))
    if difference := unmatched(one, other):
        found.append(("disputed", *difference))
    one, other = ([[r["id"], r.get("label"), r["by"], r.get("disputed", False)] for r in s.get("results", [])] for s in (wanted, state))
    if not same_nodes(one, other):
        found.append(("results", one, other))
    one, other = ([[r["id"], r.get("label")] for r in s.get("recordedConflicts", [])] for s in (wanted, state))
    if not same_nodes(one, other):
        found.append(("recordedConflicts", one, other))
    for what in ("axioms", "actions"):
        one, other = ([None if i is None or "#" in i else i for i in s.get(what, [])] for s in (wanted, state))
        if difference := unmatched(one, other):
            found.append((what, *difference))
    return found


def retracted(step, wanted):
    """Removed nodes that carry an explicit id, per operation."""
    one, other = ([[r["index"], sorted(i for i in r["removed"] if i and "#" not in i and not i.startswith("derived:"))]
                   for r in s.get("retracted", [])] for s in (wanted, step))
    one, other = ([row for row in rows if row[1]] for rows in (one, other))
    return [] if one == other else [("retracted", one, other)]


def advisory(step, state, wanted_step, wanted):
    """Differences at the level *advisory*: (what, recorded, ours)."""
    found = []
    if wanted_step is not None:
        one, other = (sorted((w for w in s.get("warnings", [])), key=str) for s in (wanted_step, step))
        if one != other:
            found.append(("warnings", one, other))
        one, other = ([[r["index"], sorted(i or "#" for i in r["removed"])] for r in s.get("retracted", [])] for s in (wanted_step, step))
        other = [[index, ["#" if "#" in i else i for i in ids]] for index, ids in other]
        if [[i, sorted(ids)] for i, ids in one] != [[i, sorted(ids)] for i, ids in other]:
            found.append(("retracted", one, other))
    if wanted is None:
        return found
    for what in ("critique", "vocabulary"):
        one, other = ([[None if part is None or "#" in part else part for part in row] if isinstance(row, list) else row
                       for row in s.get(what, [])] for s in (wanted, state))
        if difference := unmatched(one, other):
            found.append((what, *difference))
    for what, members in (("goals", ("needsVia", "producibleVia", "selfSealed")), ("hypotheses", ("needsVia", "instances"))):
        for one, other in zip(wanted.get(what, []), state.get(what, [])):
            for member in members:
                if not same(one.get(member), other.get(member)):
                    found.append((f"{what}.{member}", one.get(member), other.get(member)))
    return found
