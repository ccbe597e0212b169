"""Interned values: every scalar of a Program is a small integer, and typed identity is integer equality.

Only values of kept facts and rules stay: a rolled-back transaction forgets what it
brought, so that a replay numbers values exactly as the first run did.
"""

from __future__ import annotations

from rulith.base.canonical import canonical_bytes
from rulith.rules.terms import Scalar


class Values:
    """Number <-> value. `numbers[i]` is the value when it can be computed with, else None."""

    __slots__ = ("of", "numbers", "ids", "_encoded")

    def __init__(self) -> None:
        self.of: list[Scalar] = [False, True]
        self.numbers: list[int | float | None] = [None, None]
        self.ids: dict[str | int | float, int] = {}  # no booleans: True would meet 1
        self._encoded: list[bytes] = []

    def intern(self, value: Scalar) -> int:
        if value.__class__ is bool:
            return 1 if value else 0
        found = self.ids.get(value)
        return self.add(value) if found is None else found

    def find(self, value: Scalar) -> int | None:
        """The number of `value` if it has one; a value without one equals no fact's."""
        if value.__class__ is bool:
            return 1 if value else 0
        return self.ids.get(value)

    def add(self, value: str | int | float) -> int:
        """Number a value that has none yet (never a boolean)."""
        number = self.ids[value] = len(self.of)
        self.of.append(value)
        self.numbers.append(None if value.__class__ is str else value)  # type: ignore[arg-type]
        return number

    def encoded(self) -> list[bytes]:
        """The canonical JSON bytes of every value, by number."""
        done = self._encoded
        if len(done) < len(self.of):
            done.extend([canonical_bytes(value) for value in self.of[len(done):]])
        return done

    def mark(self) -> int:
        return len(self.of)

    def forget(self, mark: int) -> None:
        """Drop every value numbered since `mark`."""
        for number in range(mark, len(self.of)):
            del self.ids[self.of[number]]  # type: ignore[arg-type]
        del self.of[mark:], self.numbers[mark:], self._encoded[mark:]
