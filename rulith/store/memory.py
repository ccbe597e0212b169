"""A ledger without a file, for tests and throw-away boards: same calls, same answers.

Canonical bytes are made as for the file, so what one refuses the other refuses too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rulith.base.canonical import canonical_bytes
from rulith.store.failures import StoreFailed
from rulith.store.rows import NO_ROW, Row, check_chain, row_hash


class MemoryLedger:
    """See `store.ledger.Ledger`. `fail_next` makes the next commits fail, one code each."""

    def __init__(self) -> None:
        self.fail_next: list[StoreFailed] = []
        self._rows: list[tuple[Row, bytes]] = []
        self._staged: list[tuple[Row, bytes]] = []
        self._heads: dict[str, tuple[int, str]] = {}
        self._closed = False

    def append(self, chain: str, kind: str, body: dict, at: str) -> Row:
        self._check_open()
        body_bytes = canonical_bytes(body)
        seq, prev = self._heads.get(chain, NO_ROW)
        row = Row(chain, seq + 1, at, kind, body, prev, row_hash(chain, seq + 1, at, kind, body_bytes, prev))
        self._heads[chain] = (row.seq, row.hash)
        self._staged.append((row, body_bytes))
        return row

    def commit(self) -> None:
        self._check_open()
        if not self._staged:
            return
        if self.fail_next:
            raise self.fail_next.pop(0)
        for row, body_bytes in self._staged:
            kept = row._replace(body=json.loads(body_bytes), position=len(self._rows) + 1)
            self._rows.append((kept, body_bytes))
        self._staged.clear()

    def discard(self) -> None:
        self._staged.clear()
        self._heads = {row.chain: (row.seq, row.hash) for row, _ in self._rows}

    def rows(self, chain: str | None = None, after: int = 0) -> Iterator[Row]:
        self._check_open()
        for row, _ in list(self._rows):
            if (row.position if chain is None else row.seq) > after and chain in (None, row.chain):
                yield row

    def head(self, chain: str) -> tuple[int, str]:
        return self._heads.get(chain, NO_ROW)

    def chains(self) -> list[str]:
        return sorted(self._heads)

    def verify(self) -> list[str]:
        return [problem for problem in self.verify_in_steps() if problem is not None]

    def verify_in_steps(self) -> Iterator[str | None]:
        self._check_open()
        names = sorted({row.chain for row, _ in self._rows})
        for name in names:
            yield from check_chain([(row, body) for row, body in self._rows if row.chain == name])
            yield None

    def close(self) -> None:
        self._staged.clear()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailed("store_closed")
