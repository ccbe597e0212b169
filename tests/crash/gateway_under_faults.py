"""The gateway of this checkout with faults on purpose; run as a program by the crash tests.

    python gateway_under_faults.py HOME PLAN     PLAN: {"seed", "clock", "disk", "acks", "checkpoints"}

clock   the wall clock jumps back and forth, up to a day, several times a second
disk    no file may grow now and then: whatever is written then fails, in the middle of a row as well
acks    each commit that returned says so on descriptor 199, for a recorder of what reaches the disk
checkpoints   fold the log into the file after so many pages

Nothing of the product is changed without a plan that says so.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rulith.base.clock import SystemClock  # noqa: E402
from rulith.commands import gateway  # noqa: E402
from rulith.store.ledger import Ledger  # noqa: E402


def let_the_clock_jump(dice: random.Random) -> None:
    offset = [0.0]

    def jump() -> None:
        while True:
            time.sleep(dice.uniform(0.02, 0.3))
            offset[0] = dice.choice([0.0, 0.0, dice.uniform(-5, 5), dice.uniform(-3_600, 3_600), dice.uniform(-86_400, 86_400)])

    SystemClock.wall_s = lambda self: time.time() + offset[0]
    threading.Thread(target=jump, daemon=True).start()


def let_the_disk_fill(dice: random.Random, home: Path) -> None:
    """Once it serves: limits how far a file may be written, somewhere in the log's next rows, then lifts that again."""
    log, notice = home / "gateway" / "ledger.db-wal", home / "run" / "gateway.json"
    none = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        while not notice.exists():
            time.sleep(0.02)
        while True:
            time.sleep(dice.uniform(0.05, 0.3))
            size = log.stat().st_size if log.exists() else 0
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(1, dice.choice([0, size, size + dice.randrange(20_000)])), none[1]))
            time.sleep(dice.uniform(0.02, 0.15))
            resource.setrlimit(resource.RLIMIT_FSIZE, none)

    threading.Thread(target=fill, daemon=True).start()


def acknowledge_commits() -> None:
    real = Ledger.commit

    def commit(self: Ledger) -> None:
        rows = bool(self._staged)
        real(self)
        if rows:
            end = self._db.execute("SELECT max(position) FROM row").fetchone()[0]
            os.write(199, b"%d" % end)

    Ledger.commit = commit


def checkpoint_often(pages: int) -> None:
    """Fold the log into the file after so many pages, so that a short record holds many such moments."""
    real = Ledger.open.__func__

    def open_it(cls, *arguments, **options):
        ledger = real(cls, *arguments, **options)
        ledger._db.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        return ledger

    Ledger.open = classmethod(open_it)


def main() -> int:
    home, plan = Path(sys.argv[1]), json.loads(sys.argv[2])
    dice = random.Random(plan["seed"])
    if plan.get("clock"):
        let_the_clock_jump(dice)
    if plan.get("disk"):
        let_the_disk_fill(dice, home)
    if plan.get("acks"):
        acknowledge_commits()
    if plan.get("checkpoints"):
        checkpoint_often(plan["checkpoints"])
    return gateway.main(["--home", str(home), "--listen", "127.0.0.1:0"])


if __name__ == "__main__":
    sys.exit(main())
