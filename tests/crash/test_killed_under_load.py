"""kill -9 of the gateway under load from 8 Agents and 4 Workers; the short form, one death of each kind.

Duty: design §1, an effect happens at most once and no answered receipt is lost. The long
form: `.ci/run --long crash`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys

import pytest

from tests.crash.cutting import cut, record
from tests.crash.killing import kill_again_and_again

SEED = 20261130


@pytest.mark.skipif(os.name != "posix", reason="kills and file limits are of POSIX systems")
def test_no_death_of_the_gateway_repeats_an_effect_or_loses_an_answer(tmp_path):
    told = asyncio.run(kill_again_and_again(tmp_path, 4, SEED))
    assert told.failures == [], f"seed {SEED}: " + "\n".join(told.failures)
    assert len(told.kills) == 4 and sum(told.asked.values()) > 20, told


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="the recorder is preloaded, and built here")
def test_no_power_cut_takes_an_acknowledged_row_or_leaves_a_broken_ledger(tmp_path):
    ops, before = asyncio.run(record(tmp_path, 1.5, SEED))
    told = cut(ops, before, tmp_path, 40, SEED, fold_every=20)
    assert told.failures == [], f"seed {SEED}: " + "\n".join(told.failures)
    assert told.cuts == 40 and told.commits > 5, told
    blind = cut([op for op in ops if op.kind != "F"], before, tmp_path, 20, SEED, fold_every=100)
    assert blind.failures, "a disk that never syncs must be caught, or the harness proves nothing"
