"""What the readers of files that people write have in common: find every wrong shape, and say where.

A reader never stops at the first error. Each problem carries its place as members and
indexes (`rules[2].when[0].args`), which json_places turns into a line.

Source  protocol/, the file formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.board.names import unseen_in
from rulith.rules.terms import Literal, read_literal

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
VERSION = re.compile(r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)", re.ASCII)
ROWS_MAX = 1_000          # per list of the file; a larger one is generated, not written
PROBLEMS_SHOWN = 40
PROBLEM_CHARS_MAX = 2_000  # of one problem or place: each row of a file may quote its longest name
WHOLE = "the file"           # the place of what concerns no one member
NULL = "it is null; leave the member out instead"
LITERAL_MEMBERS = ("predicate", "args", "negated", "naf")


@dataclass(frozen=True)
class Problem:
    place: str
    problem: str

    def text(self) -> str:
        return f"{self.place}: {self.problem}"


def listing(problems: Iterable[Problem]) -> str:
    """The first problems, one a line, and how many more there are."""
    found = [problem.text() for problem in problems]
    more = [f"and {len(found) - PROBLEMS_SHOWN} more"] if len(found) > PROBLEMS_SHOWN else []
    return "\n".join([*found[:PROBLEMS_SHOWN], *more])


def not_for_what_was_misread(found: list[Problem], known: list[Problem]) -> list[Problem]:
    """Those of `found` about an item in which nothing was wrong before: a dropped literal leaves its rule unsafe too."""
    return [each for each in found if not any(other.place == each.place or other.place.startswith(each.place + ".") for other in known)]


class ShapeReader:
    """Reads one parsed file; `problems` grows as it goes."""

    def __init__(self, document: object) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self._missing: set[str] = set()

    def bad(self, place: str, problem: str) -> None:
        """Note a problem; of a member that is missing nothing more is told."""
        around = place
        while around:
            if around in self._missing:
                return
            around = around.rpartition(".")[0]
        cut = f"{problem[:PROBLEM_CHARS_MAX]} …" if len(problem) > PROBLEM_CHARS_MAX else problem
        self.problems.append(Problem(place[:PROBLEM_CHARS_MAX] or WHOLE, cut))      # a member may be named ""

    def missing(self, place: str, problem: str = "it is missing") -> None:
        self.bad(place, problem)
        self._missing.add(place)

    def _object(self, value: object, place: str, known: str, required: str = "") -> Mapping:
        """`value` as an object; a wrong shape, an unknown and a missing member are noted."""
        if not isinstance(value, Mapping):
            self.bad(place, "it is not an object")
            return {}
        under = "" if place == WHOLE else f"{place}."
        for member in value:
            if member not in known.split():
                self.bad(f"{under}{member}", "this member is unknown")
            elif value[member] is None and member not in required.split():
                self.bad(f"{under}{member}", NULL)
        for member in required.split():
            if member not in value:
                self.missing(f"{under}{member}")
        return value

    def _list(self, owner: Mapping, member: str, place: str) -> list:
        value = owner.get(member, [])
        if not isinstance(value, list):
            self.bad(f"{place}{member}", "it is not a list")
            return []
        if len(value) > ROWS_MAX:
            self.bad(f"{place}{member}", f"it has {len(value)} rows, more than {ROWS_MAX}")
            return value[:ROWS_MAX]
        return value

    def _read_literal(self, row: object, place: str, *, out_of_range: bool = False) -> Literal | None:
        """One literal; with `out_of_range`, one naming a number no Board can hold is left out without a word."""
        if isinstance(row, Mapping):
            for member in row:
                if member not in LITERAL_MEMBERS:
                    self.bad(f"{place}.{member}", "this member is unknown")
                elif row[member] is None and member != "predicate":
                    self.bad(f"{place}.{member}", NULL)
            row = {member: row[member] for member in LITERAL_MEMBERS if member in row}
        try:
            return read_literal(row, place)
        except Refused as refusal:
            if not (out_of_range and refusal.code == "number_out_of_range"):
                self.bad(place, str(refusal.facts.get("problem") or refusal.happened))
            return None

    def _text(self, owner: Mapping, member: str, place: str, pattern: re.Pattern | None = None, *,
              optional: bool = False) -> str:
        value = owner.get(member)
        if value is None and (optional or member not in owner):
            if not optional:
                self.missing(f"{place}{member}")
            return ""
        if not isinstance(value, str) or not value:
            self.bad(f"{place}{member}", "it is not a non-empty text")
            return ""
        if pattern is not None and not pattern.fullmatch(value):
            self.bad(f"{place}{member}", f"{value!r} is not of the form {pattern.pattern}")
            return ""
        if pattern is None:
            self._seen(value, f"{place}{member}")
        return value

    def _seen(self, words: str, place: str) -> None:
        """Words that people read before they agree to something hold nothing that does not show."""
        if wrong := unseen_in(words):
            self.bad(place, wrong)

    def _choice(self, owner: Mapping, member: str, place: str, choices: tuple[str, ...], default: str | None = None) -> str:
        value = owner.get(member, default)
        if value not in choices:
            self.bad(f"{place}{member}", f"{value!r} is none of {', '.join(choices)}")
            return choices[0]
        return value

    def _unique(self, name: str, seen: set[str], place: str) -> bool:
        if name in seen:
            self.bad(place, f"{name!r} is used twice")
            return False
        seen.add(name)
        return True
