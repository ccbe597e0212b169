"""A gateway under load, recorded down to its disk, and then cut off from power at random points of the record."""

from __future__ import annotations

import asyncio
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.gateway.authority import Authority
from rulith.store.ledger import Ledger
from tests.crash.killing import WORKERS, Gateway, make_home
from tests.crash.load import Agent, Book, Worker
from tests.crash.power_cuts import Disk, build_recorder, read_log


@dataclass
class Cuts:
    cuts: int = 0
    folded: int = 0
    operations: int = 0           # of the disk, in the record
    commits: int = 0              # acknowledged
    unacknowledged: int = 0       # cuts that left more rows than had been acknowledged
    failures: list[str] = field(default_factory=list)


async def record(folder: Path, load_s: float, seed: int) -> tuple[list, dict[str, bytes]]:
    """The disk operations of a gateway under load, and the files as they were before."""
    home, told = make_home(folder)
    before = {str(path): path.read_bytes() for path in (home / "gateway").iterdir() if path.is_file()}
    recorder, log = build_recorder(folder), folder / "record"
    gateway = Gateway(home, {"seed": seed, "acks": True, "checkpoints": 40},
                      {"LD_PRELOAD": str(recorder), "PLOG_DIR": str(home / "gateway"), "PLOG_OUT": str(log)})
    book, dice = Book(), random.Random(seed)
    port = await gateway.port()
    clients = [*(Agent(each, book, random.Random(dice.random()), acts=n < WORKERS) for n, each in enumerate(told)),
               *(Worker(each, book) for each in told[:WORKERS])]
    running = [asyncio.ensure_future(each.run(port)) for each in clients]
    await asyncio.sleep(load_s)
    gateway.kill()
    await asyncio.gather(*running, return_exceptions=True)
    return read_log(log), before


def cut(ops: list, before: dict[str, bytes], folder: Path, cuts: int, seed: int, *, fold_every: int = 10) -> Cuts:
    """`cuts` power cuts at random places of one record, each opened, checked and held against what had been acknowledged."""
    dice, told, disk, done = random.Random(seed), Cuts(operations=len(ops)), Disk(before), 0
    told.commits = sum(op.kind == "A" for op in ops)
    place = folder / "cut"
    for number, point in enumerate(sorted(dice.randint(1, len(ops)) for _ in range(cuts))):
        for op in ops[done:point]:
            disk.take(op)
        done = max(done, point)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        disk.cut(dice, place, "ledger.db")
        told.cuts += 1
        try:
            ledger = Ledger.open(place / "ledger.db", ManualClock())
        except Refused as refusal:
            told.failures.append(f"cut at {point}: {refusal}")
            continue
        try:
            rows = sum(ledger.head(name)[0] for name in ledger.chains())
            if rows < disk.acknowledged:
                told.failures.append(f"cut at {point}: {disk.acknowledged} rows were acknowledged and {rows} are left")
            told.unacknowledged += rows > disk.acknowledged > 0
            if number % fold_every == 0:
                Authority(ledger, ManualClock())
                told.folded += 1
        except Refused as refusal:
            told.failures.append(f"cut at {point}: {refusal}")
        finally:
            ledger.close()
    return told
