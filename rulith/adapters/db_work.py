"""What every database has in common here: how a statement can end, and what a value becomes.

A value leaves as text, number or boolean. A number that has no exact place among JSON's is
told as its own text; it is never rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from rulith.base.limits import INTEGER_MAX

CONNECT_S, STATEMENT_S = 5.0, 20.0
VALUE_BYTES_MAX = 64 * 2**20     # of one value or row while it is read: an argument must not fill the memory
TAKEN_BACK = "The call was taken back before its commit."
ROWS_MAX = 10_000                # of one statement; more is a data set, not a result


class StatementFailed(Exception):
    """The database did not do it, and says so, or was never asked."""


class CommitUnknown(Exception):
    """The commit was asked for and its answer did not come."""


class RollbackUnconfirmed(Exception):
    """It should be undone, and nobody confirmed that."""


@dataclass(frozen=True)
class Done:
    verb: str
    rows: list[dict[str, object]]
    count: int


class Work(Protocol):
    def run(self) -> Done:
        """Once, in a thread. Raises StatementFailed, CommitUnknown, RollbackUnconfirmed."""

    def interrupt(self) -> None:
        """From another thread: end it soon."""


def scalar(value: object) -> object:
    """A database value as JSON has it; exact or as text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= INTEGER_MAX else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) and (abs(value) <= INTEGER_MAX or not value.is_integer()) else repr(value)
    if isinstance(value, Decimal):
        return _exact(value)
    if isinstance(value, (bytes, memoryview)):
        return "\\x" + bytes(value).hex()
    return value if isinstance(value, (dict, list)) else str(value)


def _exact(value: Decimal) -> object:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) <= INTEGER_MAX:
        return int(value)
    near = float(value)
    return near if abs(near) <= INTEGER_MAX and Decimal(repr(near)) == value else str(value)


class RowKeeper:
    """The rows of one answer, within the bounds of a result. Raises StatementFailed where they pass them."""

    def __init__(self, names: Sequence[str], bytes_max: int) -> None:
        doubled = next((name for number, name in enumerate(names) if name in names[:number]), None)
        if doubled is not None:
            raise StatementFailed(f"The answer names the column {doubled[:80]!r} twice.")
        self.rows: list[dict[str, object]] = []
        self._names, self._left = names, bytes_max

    def add(self, values: Sequence[object]) -> None:
        row = {name: scalar(value) for name, value in zip(self._names, values)}
        self._left -= sum(len(str(value)) + len(name) + 6 for name, value in row.items())
        if len(self.rows) >= ROWS_MAX:
            raise StatementFailed(f"The answer holds more than {ROWS_MAX} rows.")
        if self._left < 0:
            raise StatementFailed("The answer is larger than a result may be.")
        self.rows.append(row)
