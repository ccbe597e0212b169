"""One compiled workspace call: the place it looks at, and how its rows are told.

A row repeats `path` as the call gave it where it speaks of that very file or folder; rows of
what lies below it carry the plain path from the Source's folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rulith.adapters.outcomes import Call, Executed
from rulith.base.json_text import compact_json


@dataclass(frozen=True)
class Place:
    """`names` below the resolved `root` of the Source's folder."""

    call: Call
    root: str
    names: tuple[str, ...]

    @property
    def source(self) -> str:
        assert self.call.source is not None
        return self.call.source.name

    def row(self, **columns: object) -> dict[str, object]:
        """A row of the very file or folder that was asked for."""
        return {"source": self.source, "path": self.call.arguments.get("path", ""), **columns}

    def told(self, row: Mapping[str, object]) -> Executed:
        return Executed(compact_json(row), (row,))


class Rows:
    """Rows as they are found, until their JSON would pass a quarter of the inline budget: they travel as facts too."""

    def __init__(self, inline_bytes: int) -> None:
        self.rows: list[Mapping[str, object]] = []
        self._left = inline_bytes // 4 - 1       # two brackets, and a comma fewer than rows

    def add(self, row: Mapping[str, object]) -> bool:
        """Whether there was room for it."""
        self._left -= len(compact_json(row).encode("utf-8")) + 1
        if self._left < 0:
            return False
        self.rows.append(row)
        return True


def path_of(names: Iterable[str]) -> str:
    """The plain path of a row. One that begins with `?` would be a variable on the Board."""
    path = "/".join(names)
    return "./" + path if path.startswith("?") else path


def is_text(names: Sequence[str]) -> bool:
    """Whether each of these names is Unicode text; one that is not can be seen but not asked for."""
    try:
        "/".join(names).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
