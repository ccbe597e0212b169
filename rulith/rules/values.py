"""Interned values: every scalar of a Program is a small integer, and typed identity is integer equality.

A rolled-back transaction forgets the values it brought, and `compact` those that no fact
and no rule holds any more; their numbers are given out again. Both are exact, so that a
replay numbers values as the first run did, and a Board that forgets what it was told
stays as small as what it holds.
"""

from __future__ import annotations

from rulith.base.canonical import canonical_bytes
from rulith.base.limits import VALUES_FRESH_MIN
from rulith.rules.terms import Scalar


class Values:
    """Number <-> value. `numbers[i]` is the value when it can be computed with, else None."""

    __slots__ = ("of", "numbers", "ids", "_encoded", "_free", "_given", "_given_max")

    def __init__(self) -> None:
        self.of: list[Scalar] = [False, True]        # None where the number is free
        self.numbers: list[int | float | None] = [None, None]
        self.ids: dict[str | int | float, int] = {}  # no booleans: True would meet 1
        self._encoded: list[bytes] = []
        self._free: list[int] = []                   # the next one to be given out stands last
        self._given: list[int] = []                  # numbers given out since the last `compact`, oldest first
        self._given_max = VALUES_FRESH_MIN

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
        computable = None if value.__class__ is str else value
        if self._free:
            number = self._free.pop()
            self.of[number], self.numbers[number] = value, computable  # type: ignore[call-overload]
            if number < len(self._encoded):
                self._encoded[number] = canonical_bytes(value)
        else:
            number = len(self.of)
            self.of.append(value)
            self.numbers.append(computable)  # type: ignore[arg-type]
        self.ids[value] = number
        self._given.append(number)
        return number

    def encoded(self) -> list[bytes]:
        """The canonical JSON bytes of every value, by number."""
        done = self._encoded
        if len(done) < len(self.of):
            done.extend([canonical_bytes(value) for value in self.of[len(done):]])
        return done

    def mark(self) -> int:
        return len(self._given)

    def forget(self, mark: int) -> None:
        """Take back every number given out since `mark`, newest first, so that all stands as it did then."""
        given = self._given
        while len(given) > mark:
            number = given.pop()
            del self.ids[self.of[number]]  # type: ignore[arg-type]
            if number == len(self.of) - 1:      # it was appended: a number that was free never stands last
                del self.of[number:], self.numbers[number:], self._encoded[number:]
            else:
                self._free_one(number)
                self._free.append(number)

    def _free_one(self, number: int) -> None:
        self.of[number] = self.numbers[number] = None  # type: ignore[call-overload]
        if number < len(self._encoded):
            self._encoded[number] = b""

    @property
    def is_crowded(self) -> bool:
        """Were as many numbers given out since the last `compact` as could then be kept, and more?"""
        return len(self._given) > self._given_max

    def compact(self, used: set[int]) -> None:
        """Free every number that is not in `used`, the lowest to be given out first. No mark may be open."""
        of = self.of
        for number in range(2, len(of)):
            if number not in used and of[number] is not None:
                del self.ids[of[number]]  # type: ignore[arg-type]
                self._free_one(number)
        last = len(of)
        while last > 2 and of[last - 1] is None:
            last -= 1
        del of[last:], self.numbers[last:], self._encoded[last:]
        self._free = [number for number in range(last - 1, 1, -1) if of[number] is None]
        self._given.clear()
        self._given_max = max(VALUES_FRESH_MIN, len(self.ids))
