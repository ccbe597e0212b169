"""Runs a family of inputs and says what went wrong: a traceback, an answer that took too long, memory that grew.

An input is known by family, seed and index. `python -m tests.fuzz.running FAMILY SEED INDEX` plays one
again; a family whose inputs share a gateway plays those before it in the same chunk first.

Units   *_s seconds of CPU of this process; *_bytes resident memory
"""

from __future__ import annotations

import gc
import hashlib
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter

BUDGET_S = 0.5               # of one input
HANG_S = 10.0                # then it is interrupted
GROWTH_BYTES_MAX = 48 * 2**20   # between a fifth of the way and its end
FAILURES_MAX = 20


class Hang(BaseException):
    """An input that does not end; no handler of the product takes it for its own."""


class Family:
    """One kind of input. `chunk` inputs share what `open` made.

    make(rng) -> bytes      one input
    play(data) -> bool      whether it was accepted; raises where a promise is broken
    """

    name = ""
    chunk = 2_000

    def open(self) -> None:
        """Make what a chunk of inputs shares."""

    def close(self) -> None:
        """Let go of it."""

    def make(self, rng: random.Random) -> bytes:
        raise AssertionError("a family makes its inputs")

    def play(self, data: bytes) -> bool:
        raise AssertionError("a family plays its inputs")

    def of(self, seed: int, index: int) -> bytes:
        return self.make(source(seed, self.name, index))


def source(*names: object) -> random.Random:
    return random.Random(int.from_bytes(hashlib.sha256(":".join(map(str, names)).encode()).digest()[:8], "big"))


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as told:
            return int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _interrupt(number: int, frame: object) -> None:
    raise Hang(f"more than {HANG_S} s of CPU")


def run(family: Family, seed: int, count: int, *, say=lambda line: None) -> dict:
    """Play `count` inputs; counts and failures."""
    counts: Counter[str] = Counter()
    failures: list[dict] = []
    slowest_s, warm, began_s, hangs = 0.0, 0, time.monotonic(), hasattr(signal, "setitimer")
    before = signal.signal(signal.SIGVTALRM, _interrupt) if hangs else None
    gc.collect()
    gc.freeze()                  # what was there before is no part of what an input costs
    try:
        for first in range(0, count, family.chunk):
            family.open()
            broken = False
            for index in range(first, min(first + family.chunk, count)):
                data = family.of(seed, index)
                spent_s = time.process_time()
                try:
                    if hangs:
                        signal.setitimer(signal.ITIMER_VIRTUAL, HANG_S)
                    counts["accepted" if family.play(data) else "refused"] += 1
                    problem = None
                except (Exception, Hang):
                    counts["failed"] += 1
                    problem, broken = traceback.format_exc(limit=-8), True
                finally:
                    if hangs:
                        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                spent_s = time.process_time() - spent_s
                slowest_s = max(slowest_s, spent_s)
                if problem is None and spent_s > BUDGET_S:
                    problem = f"it took {spent_s:.2f} s of CPU, and may take {BUDGET_S} s"
                if problem is not None:
                    if len(failures) < FAILURES_MAX:
                        failures.append({"family": family.name, "seed": seed, "index": index, "input": repr(data[:4_000]), "problem": problem})
                        say(f"{family.name} seed {seed} index {index}: {problem}\n  input {data[:600]!r}")
                    if broken:                        # what it shares may be half done
                        _closed(family)
                        family.open()
                        broken = False
            try:
                family.close()
            except Exception:
                failures.append({"family": family.name, "seed": seed, "chunk": first, "problem": traceback.format_exc(limit=-8)})
                say(f"{family.name} seed {seed}, at the end of the chunk from {first}: {failures[-1]['problem']}")
            if not warm and first >= count // 5:
                warm = _settled_bytes()
        grown = _settled_bytes() - warm if warm else 0
    finally:
        gc.unfreeze()
        if hangs:
            signal.signal(signal.SIGVTALRM, before)
    if grown > GROWTH_BYTES_MAX:
        failures.append({"family": family.name, "seed": seed, "problem": f"resident memory grew by {grown} bytes"})
    return {"inputs": count, "accepted": counts["accepted"], "refused": counts["refused"], "failed": len(failures),
            "seconds": round(time.monotonic() - began_s, 1), "slowestMs": round(slowest_s * 1000), "grownBytes": grown, "failures": failures}


def _closed(family: Family) -> None:
    """Close what an input broke: what that says of it was said."""
    try:
        family.close()
    except Exception:
        pass


def _settled_bytes() -> int:
    gc.collect()
    return resident_bytes()


def replay(family: Family, seed: int, index: int) -> bytes:
    """Play one input again, after those that shared its chunk; what it was. Raises what it raised."""
    family.open()
    for earlier in range(index - index % family.chunk, index):
        try:
            family.play(family.of(seed, earlier))
        except Exception:
            _closed(family)
            family.open()
    data = family.of(seed, index)
    print(repr(data))
    print("accepted" if family.play(data) else "refused")
    return data


def main(argv: list[str]) -> None:
    from tests.fuzz.families import FAMILIES        # here, so that a spawned child finds Family under one name
    name, seed, rest = argv[0], int(argv[1]), argv[2:]
    replay(FAMILIES[name](), seed, int(rest[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
