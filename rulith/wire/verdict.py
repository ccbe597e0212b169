"""What a check of a document found: problems by place, what is somebody's word alone, and on whom the premises rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused

PROBLEMS_MAX = 50
SHOWN_CHARS_MAX = 80


@dataclass(frozen=True)
class Problem:
    """`place` is what was altered, `text` how that shows."""

    place: str
    text: str


@dataclass
class Verdict:
    """`key` is the signer's; `rests` maps a Source, person, Agent or the gateway to the premises it said; `counts` says how much was recomputed."""

    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    rests: dict[str, dict[str, None]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    key: str = ""

    def bad(self, place: str, text: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(Problem(place, text))

    def must(self, good: object, place: str, text: str) -> bool:
        """Note a problem where it is not so; gives whether it is."""
        if not good:
            self.bad(place, text)
        return bool(good)

    def same(self, place: str, shown: Mapping, said: Mapping) -> None:
        """Note each member of `said` that is not shown just so."""
        for name, value in said.items():
            if name not in shown or canonical_text(shown[name]) != canonical_text(value):
                given = canonical_text(shown[name])[:SHOWN_CHARS_MAX] if name in shown else "missing"
                self.bad(f"{place}.{name}" if place else name, f"it is {given}, and should be {canonical_text(value)[:SHOWN_CHARS_MAX]}")

    @contextmanager
    def naming(self, place: str) -> Iterator[None]:
        """A problem of this place, where what is done meanwhile is refused or trips over a shape."""
        try:
            yield
        except Refused as refusal:
            self.bad(place, refusal.happened)
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError, StopIteration) as error:
            self.bad(place, f"a member that every receipt has is missing or of another shape ({type(error).__name__}: {error})"[:200])

    def counted(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def rest(self, who: str, premise: str) -> None:
        self.rests.setdefault(who, {})[premise] = None
