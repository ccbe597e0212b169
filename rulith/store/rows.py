"""Ledger rows and their chains: what a row is, and how its hash binds it to the one before.

Pure. A chain is a name; its rows count from 1; the first row's `prev` is empty.

Source  the design's rules on chains (D7)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rulith.base.canonical import canonical_bytes, sha256_hex

NO_ROW = (0, "")                      # the head of a chain that has no row yet


class Row(NamedTuple):
    """One row. `body` belongs to the ledger: read it, never change it.

    position   its place among all rows of the ledger; 0 before it is committed
    """

    chain: str
    seq: int
    at: str
    kind: str
    body: dict
    prev: str
    hash: str
    position: int = 0


def row_hash(chain: str, seq: int, at: str, kind: str, body_bytes: bytes, prev: str) -> str:
    """The hash of a row with the canonical body `body_bytes` after a row with the hash `prev`."""
    body_hash = sha256_hex(body_bytes)
    names = chain + at + kind
    if names.isascii() and names.isprintable() and '"' not in names and "\\" not in names:
        # The canonical bytes of the list below, written out: this runs for every row.
        return sha256_hex(f'["{chain}",{seq},"{at}","{kind}","{body_hash}","{prev}"]'.encode())
    return sha256_hex(canonical_bytes([chain, seq, at, kind, body_hash, prev]))


def check_chain(rows: Iterable[tuple[Row, bytes]], after: tuple[int, str] = NO_ROW) -> Iterator[str]:
    """What is wrong with these rows of one chain, each with its stored body bytes; `after` is the row before them."""
    seq, prev = after
    for row, body_bytes in rows:
        where = f"row {row.seq} of chain {row.chain!r}"
        if row.seq != seq + 1:
            yield f"{where} follows row {seq}"
        if row.prev != prev:
            yield f"{where} does not name the hash of the row before it"
        if row.hash != row_hash(row.chain, row.seq, row.at, row.kind, body_bytes, row.prev):
            yield f"{where} does not match its hash"
        seq, prev = row.seq, row.hash
