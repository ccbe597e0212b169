"""bzip2 in plain Python, for a Python that was built without its own: half a second for a group of the archive.

Decides nothing; the archive's own build wrote what it reads. Sums of blocks are not checked, the
zip's entry has one. It is run as text by the importer, so it imports nothing of ours.

Source  the bzip2 format, as its 1.0.8 library writes it
"""

from __future__ import annotations

import re

_BLOCK, _END = 0x314159265359, 0x177245385090
_RUN = re.compile(rb"(.)\1\1\1(.)", re.DOTALL)       # four equal bytes, then how many more of them follow


class _Bits:
    """The bits of `data`, the highest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._held, self._count = data, 0, 0, 0

    def peek(self, count: int) -> int:
        """The next bits, zeros past the end; they stay."""
        while self._count < count:
            self._held = (self._held << 64) | int.from_bytes(self._data[self._at:self._at + 8].ljust(8, b"\0"), "big")
            self._at += 8
            self._count += 64
        return self._held >> (self._count - count)

    def drop(self, count: int) -> None:
        self._count -= count
        self._held &= (1 << self._count) - 1

    def take(self, count: int) -> int:
        """Raises ValueError past the end."""
        found = self.peek(count)
        self.drop(count)
        if self._at * 8 - self._count > len(self._data) * 8:
            raise ValueError("the bzip2 stream is cut")
        return found


def decompress(data: bytes) -> bytes:
    """The content of one bzip2 stream. Raises ValueError where it is none."""
    if data[:3] != b"BZh":
        raise ValueError("no bzip2 stream begins here")
    bits, parts = _Bits(data[4:]), []
    while True:
        magic = bits.take(48)
        if magic == _END:
            return b"".join(parts)
        if magic != _BLOCK:
            raise ValueError("no block of bzip2 begins here")
        parts.append(_RUN.sub(lambda run: run[1] * (4 + run[2][0]), _block(bits)))      # no run goes on into the next block


def _block(bits: _Bits) -> bytes:
    bits.take(32 + 1)                                # its sum; whether it was randomised, which nothing does any more
    origin = bits.take(24)
    used = bits.take(16)
    alphabet = [16 * row + column for row in range(16) if used >> (15 - row) & 1
                for word in (bits.take(16),) for column in range(16) if word >> (15 - column) & 1]
    groups, choices = bits.take(3), bits.take(15)
    order, tables = list(range(groups)), []
    chosen = []
    for _ in range(choices):
        place = 0
        while bits.take(1):
            place += 1
        order.insert(0, order.pop(place))
        chosen.append(order[0])
    for _ in range(groups):
        tables.append(_table(_lengths(bits, len(alphabet) + 2)))
    return _unturned(_symbols(bits, alphabet, chosen, tables), origin)


def _lengths(bits: _Bits, count: int) -> list[int]:
    found, length = [], bits.take(5)
    for _ in range(count):
        while bits.take(1):
            length += -1 if bits.take(1) else 1
        found.append(length)
    return found


def _table(lengths: list[int]) -> tuple[int, list[tuple[int, int]]]:
    """(width, for every pattern of that many bits the length and the symbol of the code it begins with)."""
    width, found = max(lengths), []
    for length in range(min(lengths), width + 1):
        for symbol, own in enumerate(lengths):
            if own == length:
                found += [(length, symbol)] * (1 << (width - length))
    return width, found + [(width + 1, 0)] * ((1 << width) - len(found))


def _symbols(bits: _Bits, alphabet: list[int], chosen: list[int], tables: list) -> bytearray:
    """The block before it is turned back: codes to runs and places in a list whose last used comes first."""
    front, out, last = bytearray(alphabet), bytearray(), len(alphabet) + 1
    run, weight = 0, 1
    for number in chosen:
        width, table = tables[number]
        for _ in range(50):
            length, symbol = table[bits.peek(width)]
            if length > width:
                raise ValueError("no code of this block begins here")
            bits.drop(length)
            if symbol < 2:
                run += weight << symbol
                weight <<= 1
                continue
            if run:
                out += front[:1] * run
                run, weight = 0, 1
            if symbol == last:
                return out
            byte = front.pop(symbol - 1)
            front.insert(0, byte)
            out.append(byte)
    raise ValueError("a block of bzip2 does not end")


def _unturned(column: bytearray, origin: int) -> bytes:
    """Back from the last column of all rotations in order, and the place of the first."""
    starts, total = [0] * 256, 0
    for byte in range(256):
        starts[byte], total = total, total + column.count(byte)
    follows = [0] * len(column)
    for place, byte in enumerate(column):
        follows[starts[byte]] = place
        starts[byte] += 1
    out, place = bytearray(len(column)), origin
    for index in range(len(column)):
        place = follows[place]
        out[index] = column[place]
    return bytes(out)
