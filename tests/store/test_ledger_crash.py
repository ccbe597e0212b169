"""kill -9 in the middle of commits: no acknowledged row is lost, the chain holds.

Duty: our decision on durability. A killed process leaves the page cache, so this tests the
process, not the disk.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.clock import ManualClock
from rulith.store.ledger import Ledger

WRITER = """
import os, sys
from rulith.base.clock import SystemClock
from rulith.store.ledger import Ledger
ledger = Ledger.open(sys.argv[1], SystemClock())
n = ledger.head("a")[0]
while True:
    size = n % 5 + 1
    for _ in range(size):
        n += 1
        ledger.append("a", "board", {"n": n, "text": "x" * (37 * n % 900)}, "2026-10-03T08:00:00.001Z")
    ledger.append("gateway", "registry", {"upTo": n}, "2026-10-03T08:00:00.001Z")
    ledger.commit()
    os.write(1, b"%d\\n" % n)
"""


def run_and_kill(path: Path, acknowledged_before_kill: int) -> int:
    """The last number acknowledged by a writer that is killed after that many acknowledgements, at any instruction."""
    root = Path(__file__).resolve().parents[2]
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": str(root)})
    assert writer.stdout is not None
    last = 0
    for _ in range(acknowledged_before_kill):
        last = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split(b"\n")
    writer.wait(timeout=60)
    writer.stdout.close()
    whole = [int(line) for line in rest[:-1] if line]
    return max([last, *whole])


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_no_acknowledged_row_is_lost_to_kill_nine(tmp_path: Path) -> None:
    seed = int(os.environ.get("RULITH_TEST_SEED", "7"))
    rounds = int(os.environ.get("RULITH_TEST_KILLS", "8"))
    chance = random.Random(seed)
    path = tmp_path / "ledger.db"
    for number in range(rounds):
        acknowledged = run_and_kill(path, chance.randint(1, 60))
        ledger = Ledger.open(path, ManualClock())
        rows = list(ledger.rows("a"))
        told = [row.body["upTo"] for row in ledger.rows("gateway")]
        assert ledger.verify() == [], f"seed {seed}, kill {number}"
        assert [row.body["n"] for row in rows] == list(range(1, len(rows) + 1))
        assert len(rows) >= acknowledged, f"seed {seed}, kill {number}: {len(rows)} < {acknowledged}"
        assert told[-1] == len(rows), "a commit came in two pieces"
        ledger.close()
