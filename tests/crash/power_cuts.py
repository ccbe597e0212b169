"""Power cuts replayed: a kill never loses the page cache, so what reaches the disk is recorded and cut at random points.

`recorder.c`, preloaded, writes down every change under one folder with its place, each
fsync, and each acknowledgement. Replayed up to a random point, everything that was synced
is kept, and a random part of what was not is lost, reordered or torn at 512-byte sectors.
Unlinks become durable with a folder's fsync; a file's creation counts as durable at once.
"""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

SECTOR = 512


class Op(NamedTuple):
    kind: str      # W write, T truncate, F fsync, C create, U unlink, R rename, D fsync of a folder, A acknowledgement
    path: str
    at: int
    data: bytes


def build_recorder(folder: Path) -> Path:
    """The shared object. Raises FileNotFoundError without a C compiler."""
    out = folder / "recorder.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-w", "-o", str(out), str(Path(__file__).with_name("recorder.c")), "-ldl"],
                   check=True, timeout=120)
    return out


def read_log(path: Path) -> list[Op]:
    raw, ops, at = path.read_bytes(), [], 0
    while at + 17 <= len(raw):
        length = struct.unpack_from("<I", raw, at + 1)[0]
        name = raw[at + 5:at + 5 + length].decode()
        place, size = struct.unpack_from("<QI", raw, at + 5 + length)
        start = at + 17 + length
        if start + size > len(raw):
            break                               # the recorder was killed in its own write
        ops.append(Op(chr(raw[at]), name, place, raw[start:start + size]))
        at = start + size
    return ops


class Disk:
    """The recorded folder, file by file: what is durable, and what still waits in the cache."""

    def __init__(self, before: dict[str, bytes]) -> None:
        self.files: dict[str, tuple[bytearray, list[Op]]] = {name: (bytearray(data), []) for name, data in before.items()}
        self.gone: list[tuple[str, tuple[bytearray, list[Op]]]] = []
        self.acknowledged = 0

    def take(self, op: Op) -> None:
        if op.kind == "A":
            self.acknowledged = int(op.data)
        elif op.kind == "C":
            self.files[op.path] = (bytearray(), [])
        elif op.kind in "WT":
            self.files.setdefault(op.path, (bytearray(), []))[1].append(op)
        elif op.kind == "F":
            durable, waiting = self.files.setdefault(op.path, (bytearray(), []))
            for each in waiting:
                _apply(durable, each)
            waiting.clear()
        elif op.kind == "D":
            self.gone.clear()
        elif op.kind == "U" and op.path in self.files:
            self.gone.append((op.path, self.files.pop(op.path)))
        elif op.kind == "R" and op.path in self.files:
            self.files[op.data.decode()] = self.files.pop(op.path)

    def cut(self, dice: random.Random, out: Path, prefix: str) -> None:
        """Write to `out` what a cut at this moment may have left of the files whose names begin with `prefix`."""
        files = dict(self.files)
        if self.gone and self.gone[-1][0] not in files and dice.random() < 0.5:
            files[self.gone[-1][0]] = self.gone[-1][1]
        for path, (durable, waiting) in files.items():
            name = path.rpartition("/")[2]
            if name.startswith(prefix) and not name.endswith(("-shm", ".lock")):
                (out / name).write_bytes(_left_of(durable, waiting, dice))


def _left_of(durable: bytearray, waiting: list[Op], dice: random.Random) -> bytearray:
    left, fate = bytearray(durable), dice.choice(("none", "all", "prefix", "random", "torn"))
    kept = {"none": [], "prefix": waiting[:dice.randint(0, len(waiting))]}.get(fate, waiting)
    for op in kept:
        if fate in ("random", "torn") and dice.random() < 0.5:
            continue
        if fate == "torn" and op.kind == "W" and len(op.data) > SECTOR:
            for start in range(0, len(op.data), SECTOR):
                if dice.random() < 0.7:
                    _apply(left, Op("W", op.path, op.at + start, op.data[start:start + SECTOR]))
        else:
            _apply(left, op)
    return left


def _apply(content: bytearray, op: Op) -> None:
    if op.kind == "T":
        del content[op.at:]
        content.extend(bytes(op.at - len(content)))
        return
    if len(content) < op.at + len(op.data):
        content.extend(bytes(op.at + len(op.data) - len(content)))
    content[op.at:op.at + len(op.data)] = op.data
