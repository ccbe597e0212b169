"""Every workspace Tool against the swapper: what was read, what was written, and whether anything outside was.

An escape is any of: bytes, names or digests of what lies outside in an outcome; a change outside. A reader without fences
(check the resolved path, then open it) runs beside them: where it is caught, the race was really on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call, Executed, Outcome
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.clock import SystemClock
from rulith.wire.manifest import BUILTINS
from tests.adapters.swapping import INSIDE, ONLY_OUTSIDE, SECRET, lay_out
from tests.conftest import ROOT

WRITTEN = "written by a Tool, inside\n"
WRITTEN_JSON = '{\n  "written": "inside"\n}\n'
CALLS = (
    ("read_text", {"path": "sub/a.txt"}),
    ("read_text", {"path": "file.txt"}),
    ("read_json", {"path": "sub/deep/b.json"}),
    ("hash", {"path": "sub/a.txt"}),
    ("hash", {"path": "sub/deep/b.json"}),
    ("list", {"path": "sub"}),
    ("list", {"path": "sub/deep"}),
    ("count", {"path": "sub", "recursive": True}),
    ("search", {"query": SECRET}),
    ("search", {"query": "inside", "path": "sub"}),
    ("write_text", {"path": "sub/new.txt", "text": WRITTEN}),
    ("write_text", {"path": "sub/a.txt", "text": WRITTEN}),
    ("write_json", {"path": "sub/deep/made/w.json", "value": {"written": "inside"}}),
)
LAWFUL = {*INSIDE, WRITTEN, WRITTEN_JSON}
LAWFUL_HASHES = {hashlib.sha256(text.encode()).hexdigest() for text in LAWFUL}
UNFENCED_TRIES = 20          # of the reader without fences, each round
STEP_S_MAX = 30.0            # one call; it takes milliseconds where nothing holds it up


def snapshot(folder: Path) -> dict[str, tuple]:
    return {str(path): (os.lstat(path).st_mode, path.read_bytes() if path.is_file() else b"") for path in [folder, *sorted(folder.rglob("*"))]}


def escape_of(operation: str, outcome: Outcome) -> str | None:
    """What an outcome tells that it may not."""
    shown = repr(outcome)
    if SECRET in shown and operation != "search" or ONLY_OUTSIDE in shown:
        return f"{operation}: {shown[:300]}"
    if not isinstance(outcome, Executed):
        return None
    for row in outcome.rows or ():
        if row.get("text", row.get("json")) not in LAWFUL and operation in ("read_text", "read_json"):
            return f"{operation}: {shown[:300]}"
        if operation == "hash" and row["sha256"] not in LAWFUL_HASHES:
            return f"{operation}: {shown[:300]}"
        if operation == "search" and SECRET in str(row["text"]):
            return f"{operation}: {shown[:300]}"
    return None


def unfenced(base: Path, path: str) -> bool:
    """Check, then open: whether that read what lies outside."""
    place = base / "docs" / path
    try:
        if not os.path.realpath(place).startswith(str(base / "docs") + os.sep):
            return False
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return SECRET.encode() in os.read(handle, 1000)
        finally:
            os.close(handle)
    except OSError:
        return False


class Race:
    def __init__(self, base: Path, seed: int, swaps: int) -> None:
        base = Path(os.path.realpath(base))
        self.base, self.seed, self.swaps = base, seed, swaps
        lay_out(base)
        (base / "worker").mkdir()
        hands = Hands(Territory(str(base / "worker"), str(base / "home"), writes=True), {})
        source = Source("docs", "file", str(base / "docs"))
        self.looks = [
            (operation, hands.compile(Call("inv", "key", BUILTINS[f"rulith.workspace.{operation}@1"], arguments, source, 65_536)))
            for operation, arguments in CALLS
        ]
        self.outcomes: dict[str, Counter[str]] = {operation: Counter() for operation, _ in CALLS}
        self.escapes: list[str] = []
        self.unfenced_escapes = 0
        self.slowest_s = 0.0

    async def _rounds(self, swapping: subprocess.Popen) -> None:
        clock = SystemClock()
        while swapping.poll() is None:
            for operation, look in self.looks:
                began_s = clock.monotonic_s()
                outcome = await asyncio.wait_for(look.run(), STEP_S_MAX)
                self.slowest_s = max(self.slowest_s, clock.monotonic_s() - began_s)
                self.outcomes[operation][type(outcome).__name__.lower()] += 1
                if (escape := escape_of(operation, outcome)) is not None:
                    self.escapes.append(escape)
            self.unfenced_escapes += sum(unfenced(self.base, "sub/a.txt") for _ in range(UNFENCED_TRIES))

    def run(self) -> dict:
        outside, secret = snapshot(self.base / "outside"), (self.base / "secret.txt").read_bytes()
        handles = _open_handles()
        order = [sys.executable, "-m", "tests.adapters.swapping", str(self.base), str(self.seed), str(self.swaps)]
        swapping = subprocess.Popen(order, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            asyncio.run(self._rounds(swapping))
            did, said = swapping.communicate(timeout=STEP_S_MAX)
        finally:
            if swapping.poll() is None:
                swapping.kill()
                swapping.communicate()
        assert swapping.returncode == 0, said.decode()
        if snapshot(self.base / "outside") != outside or (self.base / "secret.txt").read_bytes() != secret:
            self.escapes.append("what lies outside was changed")
        left = [str(path) for path in self.base.rglob(".rulith-*")]
        return {"seed": self.seed, "swaps": self.swaps, "bySwap": json.loads(did), "outcomes": {name: dict(told) for name, told in self.outcomes.items()},
                "calls": sum(sum(told.values()) for told in self.outcomes.values()), "escapes": self.escapes, "unfencedEscapes": self.unfenced_escapes,
                "leftBehind": left, "handlesLeft": _open_handles() - handles, "slowestMs": round(self.slowest_s * 1000)}


def _open_handles() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
