"""What a new Release would change, item by item, in lines that a person reads before saying yes.

Compares two Capability documents (or two Tool descriptors) that their readers have already
accepted. Nothing is summarised away: every member of an item becomes a line. What would
move a terminal's cursor or reorder a page's letters is shown as its escape, so that no text
of a file can pass for another line.

Refuses to know: whether a change is wanted, who may make it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rulith.base.canonical import canonical_text
from rulith.base.plain_text import plain

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
HEAD = ("version", "title", "summary", "terms")
# list of the document -> the member that names its rows
NAMED_ROWS = (("rules", "id"), ("acceptance", "id"), ("actions", "id"))


@dataclass(frozen=True)
class Change:
    """One item that differs. `lines` are (sign, text): "-" before, "+" after, " " in both."""

    part: str
    name: str
    change: str
    lines: tuple[tuple[str, str], ...]

    def json(self) -> dict:
        return {"part": self.part, "name": self.name, "change": self.change, "lines": [list(line) for line in self.lines]}


def capability_changes(before: Mapping | None, after: Mapping) -> list[Change]:
    """Every item in which `after` differs from `before`; all items are new where there was none."""
    before = before or {}
    found = list(_head_changes(before, after))
    for part, old, new in _parts(before, after):
        found += _item_changes(part, old, new)
    return found


def constitution_changes(before: Mapping | None, after: Mapping) -> list[Change]:
    """Every rule, example and head line in which a Constitution differs from the one before."""
    before = before or {}
    found = list(_head_changes(before, after))
    for part, name in (("rules", "id"), ("examples", "title")):
        found += _item_changes(_singular(part), *({row[name]: _members(row, name) for row in each.get(part, ())} for each in (before, after)))
    return found


def descriptor_changes(before: Mapping | None, after: Mapping) -> list[tuple[str, str]]:
    """The lines of a Tool descriptor, compared; its digest is left to the caller."""
    lines = _compared(_descriptor_lines(before) if before is not None else [], _descriptor_lines(after))
    return [(sign, plain(text)) for sign, text in lines]


def changes_text(changes: Iterable[Change]) -> Iterator[str]:
    """The changes as lines of a terminal."""
    for change in changes:
        yield f"{change.part} {change.name}: {change.change}" if change.name else f"{change.part}: {change.change}"
        for sign, text in change.lines:
            yield f"  {sign} {text}"


def _head_changes(before: Mapping, after: Mapping) -> Iterator[Change]:
    for member in HEAD:
        old, new = _value(before.get(member)), _value(after.get(member))
        if old != new:
            kind = ADDED if member not in before else REMOVED if member not in after else CHANGED
            lines = [("-", old)] * (member in before) + [("+", new)] * (member in after)
            yield _change(member, "", kind, lines)


def _parts(before: Mapping, after: Mapping) -> Iterator[tuple[str, dict, dict]]:
    """(part, items before, items after), each item as its lines, in file order."""
    both = (before, after)
    yield "predicate", *({row["id"]: _members(row, "id") for row in _vocabulary(each, "defines")} for each in both)
    yield "import", *({row["id"]: [f"as {row['as']}"] for row in _vocabulary(each, "imports")} for each in both)
    yield "pin", *({alias: [] for alias in each.get("pins", ())} for each in both)
    for part, name in NAMED_ROWS:
        yield _singular(part), *({row[name]: _members(row, name) for row in each.get(part, ())} for each in both)
    yield "aggregate", *({row.get("id") or row["into"]["predicate"]: _members(row, "id") for row in each.get("aggregates", ())} for each in both)
    yield "Case Type", *({name: _members(row, "") for name, row in each.get("case_types", {}).items()} for each in both)
    yield "example", *({str(row.get("title", f"example {number}")): _members(row, "title")
                        for number, row in enumerate(each.get("examples", ()), 1)} for each in both)


def _singular(part: str) -> str:
    return part.removesuffix("s") if part != "acceptance" else part


def _vocabulary(document: Mapping, member: str) -> Sequence[Mapping]:
    return document.get("vocabulary", {}).get(member, ())


def _item_changes(part: str, old: dict[str, list[str]], new: dict[str, list[str]]) -> Iterator[Change]:
    for name, lines in old.items():
        if name not in new:
            yield _change(part, name, REMOVED, [("-", line) for line in lines])
    for name, lines in new.items():
        if name not in old:
            yield _change(part, name, ADDED, [("+", line) for line in lines])
        elif old[name] != lines:
            yield _change(part, name, CHANGED, _compared(old[name], lines))


def _change(part: str, name: str, kind: str, lines: Iterable[tuple[str, str]]) -> Change:
    return Change(part, plain(name), kind, tuple((sign, plain(text)) for sign, text in lines))


def _compared(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for tag, from_old, to_old, from_new, to_new in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in old[from_old:to_old])
        else:
            yield from (("-", line) for line in old[from_old:to_old])
            yield from (("+", line) for line in new[from_new:to_new])


# --- one item as lines -----------------------------------------------------------------

LITERAL_LISTS = ("when", "then", "preconditions", "effects", "given", "follows", "never")
# An installed document comes back with its members in canonical order, so the order of a file counts for nothing here.
MEMBER_ORDER = ("as label title description tool kind source_types sources decision params args business_key floor agent_rules "
                "given when preconditions then effects returns follows never task drive").split()


def literal_text(row: object) -> str:
    """`not p(a=1, b=?x)`: a literal in one line, its arguments by name."""
    if not isinstance(row, Mapping) or not isinstance(row.get("args", {}), Mapping):
        return _value(row)
    args = ", ".join(f"{name}={_argument(value)}" for name, value in sorted(row.get("args", {}).items()))
    return ("absent " if row.get("naf") else "") + ("not " if row.get("negated") else "") + f"{row.get('predicate')}({args})"


def _argument(value: object) -> str:
    """Variables and columns bare, all else as JSON: the text "true" is another value than true."""
    return value if isinstance(value, str) and value[:1] in ("?", "$") else canonical_text(value)


def _member_order(name: str) -> tuple[int, str]:
    return (MEMBER_ORDER.index(name) if name in MEMBER_ORDER else len(MEMBER_ORDER)), name


def _members(row: Mapping, name: str) -> list[str]:
    """One line for each member but `name`, one for each row of a list of literals, task nodes or returns."""
    lines: list[str] = []
    for member in sorted(row, key=_member_order):
        value = row[member]
        if member == name:
            continue
        if member in LITERAL_LISTS or member == "returns":
            lines += [f"{member} {literal_text(each)}" for each in value]
        elif member == "task":
            lines += [f"task {node['node']}: {node['goal']} (acceptance {node['acceptance']})" for node in value]
        else:
            lines.append(f"{member} {_value(value)}")
    return lines


def _value(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value) or "none"
    if isinstance(value, Mapping):
        if set(value) <= {"type", "unit"} and all(isinstance(each, str) for each in value.values()):
            return " in ".join(value[name] for name in ("type", "unit") if name in value)
        return ", ".join(f"{name}={_value(each)}" for name, each in sorted(value.items())) or "none"
    return canonical_text(value)


def _descriptor_lines(descriptor: Mapping) -> list[str]:
    return [f"kind {descriptor.get('kind')}", f"Source types {_value(sorted(descriptor.get('sourceTypes', ())))}",
            *(f"takes {name}: {kind}" for name, kind in sorted(dict(descriptor.get("params", {})).items())),
            *(f"returns {literal_text(row)}" for row in descriptor.get("returns", ()))]
