"""A process that swaps links, folders, files and pipes below a Source's folder while somebody else reads and writes there.

`python -m tests.adapters.swapping BASE SEED SWAPS` plays a seed and prints what it did as JSON. `lay_out` makes the world
it plays in:

    BASE/docs      the Source's folder: sub/a.txt, sub/deep/b.json, file.txt, all of it inside
    BASE/outside   the same names with other bytes: none of them may ever be read, changed or added to
    BASE/moved     where folders of the Source are moved to and back

Two names change places in one step where the system has such a call (Linux), else by three renames. Every name is reached
from handles taken at the start: the swapper itself passes no link.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

INSIDE = ("inside one\n", '{"inside": 2}\n', "inside three\n")
SECRET = "outside-secret"
ONLY_OUTSIDE = "only-outside.txt"
_EXCHANGE = 2


def lay_out(base: Path) -> None:
    sub = base / "docs" / "sub"
    (sub / "deep").mkdir(parents=True)
    (sub / "a.txt").write_text(INSIDE[0])
    (sub / "deep" / "b.json").write_text(INSIDE[1])
    (base / "docs" / "file.txt").write_text(INSIDE[2])
    (base / "moved").mkdir()
    out = base / "outside"
    (out / "deep").mkdir(parents=True)
    for place in (out / "a.txt", out / "deep" / "b.json", out / "file.txt", out / ONLY_OUTSIDE, base / "secret.txt"):
        place.write_text(f'"{SECRET}"\n')
    spare = base / "docs" / "spare"
    spare.mkdir()
    (spare / "absolute").symlink_to(out)
    (spare / "climbing").symlink_to("../outside")
    (spare / "within").symlink_to("spare/other")
    (spare / "other").mkdir()
    (spare / "other" / "a.txt").write_text(INSIDE[0])
    (spare / "plain").write_text(INSIDE[2])
    os.mkfifo(spare / "pipe")
    (spare / "to-file").symlink_to(out / "a.txt")
    (spare / "to-file-climbing").symlink_to("../../outside/a.txt")
    (spare / "to-json").symlink_to("../../../outside/deep/b.json")
    (base / "root-link").symlink_to(out)


class Swapper:
    def __init__(self, base: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.did: Counter[str] = Counter()
        flags = os.O_RDONLY | os.O_DIRECTORY
        self.base = os.open(base, flags)
        self.docs = os.open(base / "docs", flags)
        self.sub = os.open(base / "docs" / "sub", flags)
        self.deep = os.open(base / "docs" / "sub" / "deep", flags)
        self.spare = os.open(base / "docs" / "spare", flags)
        self.moved = os.open(base / "moved", flags)
        self._deeds = self.deeds()
        self._library = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None

    def exchange(self, one: int, name: str, other: int, second: str) -> bool:
        if self._library is not None:
            return self._library.renameat2(one, name.encode(), other, second.encode(), _EXCHANGE) == 0
        try:
            os.rename(name, ".between", src_dir_fd=one, dst_dir_fd=other)
            os.rename(second, name, src_dir_fd=other, dst_dir_fd=one)
            os.rename(".between", second, src_dir_fd=other, dst_dir_fd=other)
        except OSError:
            return False
        return True

    def move(self, one: int, name: str, other: int, second: str) -> bool:
        """There, or back again; where a Tool made the folder anew meanwhile, the two change places."""
        if self.exchange(one, name, other, second):
            return True
        for source, old, target, new in ((one, name, other, second), (other, second, one, name)):
            with suppress(OSError):
                os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
                return True
        return False

    def swap(self) -> int:
        """One deed and, a moment later, its undoing: most of the time everything is at home, and calls succeed."""
        kind, deed = self.random.choice(self._deeds)
        done = 0
        for moments in (100, 1000, 10_000, 30_000), (0, 100, 1000, 30_000):
            if deed():
                done += 1
                self.did[kind] += 1
            for _ in range(self.random.choice(moments)):
                pass
        return done

    def deeds(self) -> list:
        swap, go = self.exchange, self.move
        return [
            ("folder and absolute link", lambda: swap(self.docs, "sub", self.spare, "absolute")),
            ("folder and climbing link", lambda: swap(self.docs, "sub", self.spare, "climbing")),
            ("folder and link inside", lambda: swap(self.docs, "sub", self.spare, "within")),
            ("folder and folder", lambda: swap(self.docs, "sub", self.spare, "other")),
            ("folder and file", lambda: swap(self.docs, "sub", self.spare, "plain")),
            ("deeper folder and link", lambda: swap(self.sub, "deep", self.spare, "climbing")),
            ("file and link", lambda: swap(self.sub, "a.txt", self.spare, "to-file")),
            ("file and climbing link", lambda: swap(self.sub, "a.txt", self.spare, "to-file-climbing")),
            ("file and file", lambda: swap(self.sub, "a.txt", self.docs, "file.txt")),
            ("file and pipe", lambda: swap(self.docs, "file.txt", self.spare, "pipe")),
            ("json and link", lambda: swap(self.deep, "b.json", self.spare, "to-json")),
            ("written file and link", lambda: swap(self.sub, "new.txt", self.spare, "to-file")),
            ("folder renamed", lambda: go(self.docs, "sub", self.docs, "sub2")),
            ("folder moved up", lambda: go(self.sub, "deep", self.docs, "deep")),
            ("folder moved out", lambda: go(self.docs, "sub", self.moved, "sub")),
            ("root and link", lambda: swap(self.base, "docs", self.base, "root-link")),
        ]


def main(base: str, seed: str, swaps: str) -> None:
    swapper = Swapper(Path(base), int(seed))
    left = int(swaps)
    while left > 0:
        left -= swapper.swap()
    print(json.dumps(swapper.did))


if __name__ == "__main__":
    main(*sys.argv[1:])
