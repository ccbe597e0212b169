"""kill -9 of the gateway under load from 8 Agents and 4 Workers; the short form, one death of each kind.

Duty: design §1, an effect happens at most once and no answered receipt is lost. The long
form: `.ci/run --long crash`.
"""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from tests.crash.killing import kill_again_and_again

SEED = 20261130
SPENT_S = 14.0


@pytest.mark.skipif(os.name != "posix", reason="kills and file limits are of POSIX systems")
def test_no_death_of_the_gateway_repeats_an_effect_or_loses_an_answer(tmp_path):
    told = asyncio.run(kill_again_and_again(tmp_path, 4, SEED, until_s=time.monotonic() + SPENT_S))
    assert told.failures == [], f"seed {SEED}: " + "\n".join(told.failures)
    assert sum(told.kills.values()) >= 1 and sum(told.asked.values()) > 20, told
