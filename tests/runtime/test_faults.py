"""Faults on purpose: answers vanish after the Board acted, and nothing is done twice.

A seeded gateway acts on every call and then, now and then, loses the answer in one of the
ways a network has. Runs are repeated as cron would, until one ends well.
"""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from rulith.runtime.driver import BoardDriver
from rulith.runtime.opening import CaseWanted
from tests.runtime.calculation_board import DRIVE, KEY, CalculationBoard
from tests.runtime.scripted_gateway import CUT, Held, Raw, Say, state_row

WANTED = CaseWanted("verified_calculation", KEY)
FAULTS = ("cut", "error", "garbage", "stream ends", "progress then ends", "foreign id", "expired")
RUNS_MAX = 40


class FaultyBoard:
    """Acts first, loses the answer then. `acted` counts what really happened."""

    def __init__(self, seed: int) -> None:
        self.board = CalculationBoard()
        self.random = random.Random(seed)
        self.acted: Counter = Counter()
        self.rows: list[dict] = []

    def __call__(self, call):
        said = self.board(call)
        if call.tool == "ApplyAction" and said.body.get("accepted"):
            self.acted[call.arguments["action"]] += 1
        if call.tool in ("ApplyAction", "OpenCase", "CloseCase"):
            self._record(call, said)
        if self.random.random() > 0.35:
            return said
        return self._lose(said, self.random.choice(FAULTS))

    def _record(self, call, said: Say) -> None:
        """As the surface keeps it: the newest write carries its result until it is acknowledged."""
        row = self.board.strip[0]
        self.rows.insert(0, state_row(len(self.rows) + 1, row["tool"], row["state"], label=row["label"], at=row["at"]))
        for older in self.board.strip[1:]:
            older.pop("result", None)
        recorded = {name: value for name, value in said.body.items() if name != "operations"}
        row["result"] = {"content": [{"type": "text", "text": json.dumps(recorded)}], "isError": said.is_error}

    def _lose(self, said: Say, fault: str):
        if fault == "cut":
            return CUT
        if fault == "error":
            return Raw(503, b"later")
        if fault == "garbage":
            return Raw(200, b"{")
        if fault == "stream ends":
            return Held((b": warm\n\n",))
        if fault == "progress then ends":
            return Held((len(self.rows) or 1,))
        if fault == "foreign id":
            return Say(said.body, id="another")
        return Raw(404, b"")


@pytest.mark.parametrize("seed", range(25))
def test_whatever_is_lost_each_action_happens_once_and_the_case_completes(line_to, heard, in_loop, seed):
    faulty = FaultyBoard(seed)

    def before(gateway):
        gateway.state_form = lambda: faulty.rows[:7]

    async def whole():
        ends = []
        for _ in range(RUNS_MAX):
            async with line_to(faulty, before=before) as (_, line):
                result = await BoardDriver(line, emit=heard.emit).run(WANTED)
            ends.append((result.outcome, result.exit))
            if result.exit in (0, 10) or faulty.board.is_closed:
                return ends
        return ends

    ends = in_loop(whole())
    assert faulty.board.is_closed, f"seed {seed}: {ends}"
    assert faulty.acted == Counter(DRIVE), f"seed {seed}: {faulty.acted}"
    assert {status for _, status in ends} <= {0, 10, 12, 14}, f"seed {seed}: {ends}"
