"""Every Board is rebuilt from its ledger byte for byte: the closure digest at each row, then all there is to see, under three hash seeds.

Duty: design D7; law never iterates an unordered set and never depends on hash().
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WRITE = """
import random, sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/board"]
from rulith.rules import values
values.VALUES_FRESH_MIN = int(sys.argv[3])
import conftest, test_replay
from rulith.base.clock import ManualClock
from rulith.store.ledger import Ledger
ledger = Ledger.open(sys.argv[2], ManualClock())
for seed in range(5):
    play = conftest.Play()
    cases = test_replay.steps(play, random.Random(seed), 70)
    for row in play.rows:
        ledger.append(f"agent_{seed}", "board", row, row["at"])
        print(seed, row["closure"])
    print(test_replay.whole_picture(play))
    ledger.commit()
ledger.close()
"""

REBUILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/board"]
from rulith.rules import values
values.VALUES_FRESH_MIN = int(sys.argv[3])
import conftest, test_replay
from rulith.base.clock import ManualClock
from rulith.board.board import Board
from rulith.store.ledger import Ledger
ledger = Ledger.open(sys.argv[2], ManualClock())
for seed in range(5):
    play = conftest.Play()
    play.board = Board("agt_1")
    for row in ledger.rows(f"agent_{seed}"):
        play.board.replay(row.body)
        print(seed, play.board.closure_digest())
    print(test_replay.whole_picture(play))
ledger.close()
"""


def run(script: str, path: Path, hash_seed: str, fresh_min: int) -> str:
    done = subprocess.run([sys.executable, "-c", script, str(ROOT), str(path), str(fresh_min)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONHASHSEED": hash_seed}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("fresh_min", [4_096, 3], ids=["values kept", "values forgotten often"])
def test_boards_written_under_one_hash_seed_are_rebuilt_the_same_under_three(tmp_path, fresh_min):
    path = tmp_path / "ledger.db"
    written = run(WRITE, path, "0", fresh_min)
    assert written.count("\n") > 100
    for hash_seed in ("1", "4242", "random"):
        assert run(REBUILD, path, hash_seed, fresh_min) == written, f"hash seed {hash_seed}"
