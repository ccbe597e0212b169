"""Where in a JSON text each value stands, so that a refusal can name its line.

Takes text that a strict reader has accepted, and places written as members and indexes
(`rules[2].when[0].args`), as checks of parsed files name them. A place that the text does
not hold (a missing member) leads to the nearest one around it.

Units   lines and columns count from 1
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
PLACE_CHARS_MAX = 1_000      # of a path that is remembered: names are as long as a file lets them be


class Places:
    """The positions of all values of one JSON text."""

    def __init__(self, text: str) -> None:
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._offsets: dict[str, int] = {}
        self._tokens = _TOKEN.finditer(text)
        self._read(next(self._tokens), "")

    def line_of(self, place: str) -> int:
        """The line of the value at `place`, or of the nearest value around it."""
        path = place[:2 * PLACE_CHARS_MAX].partition(" ")[0] if place != "the file" else ""
        while path and path not in self._offsets:           # a member's own name may hold dots and brackets
            path = path[:max(0, path.rfind("[" if path[-1] == "]" else "."))]
        return bisect_right(self._line_starts, self._offsets[path])

    def _read(self, token: re.Match, path: str) -> None:
        """Note the value that starts at `token` and everything in it; the reader before us bounded the depth."""
        self._offsets.setdefault(path, token.start())
        if token[0] == "{":
            for name in self._items("}"):
                next(self._tokens)                                     # the colon
                key = json.loads(name[0])
                known = len(path) + len(key) <= PLACE_CHARS_MAX        # beyond that, what it holds stands where it does
                self._read(next(self._tokens), path if not known else f"{path}.{key}" if path else key)
        elif token[0] == "[":
            for number, item in enumerate(self._items("]")):
                self._read(item, f"{path}[{number}]")

    def _items(self, end: str):
        """The first token of each member, up to the closing bracket."""
        while (token := next(self._tokens))[0] != end:
            if token[0] != ",":
                yield token
