"""What one start led to is found by a mark in its environment and ended; nothing else is. Duty: the council surface, "Supervisor", the sweep of orphans."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rulith.base.ids import mint
from rulith.procs.identity import is_running, process_stamp
from rulith.procs.marked import end_marked, end_stamped, marked
from tests.conftest import clean_environment

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the environment of others is shown by Linux alone")
NAME = "A_MARK_OF_TESTS"
WAIT_S = 60.0
# Says its number once it runs, in a session of its own, and lets its parent end.
AWAY = "import os, sys, time\nos.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"
SITS = "print(1, flush=True); import time; time.sleep(1000)"


def begun(code: str, **env: str) -> subprocess.Popen:
    child = subprocess.Popen([sys.executable, "-c", code], env=clean_environment(**env), stdout=subprocess.PIPE, start_new_session=True)
    child.said = int(child.stdout.readline())
    return child


@linux
def test_what_carries_the_mark_ends_wherever_it_went_and_a_mark_that_is_longer_is_another():
    mark = mint("", 32)
    away, sits, other = begun(AWAY, **{NAME: mark}), begun(SITS, **{NAME: mark}), begun(SITS, **{NAME: mark + "0", "X" + NAME: mark})
    try:
        assert {pid for pid, _ in marked(NAME, mark)} == {away.said, sits.pid}
        assert end_marked(NAME, mark) == 2
        assert sits.wait(WAIT_S) == -9 and not is_running(away.said) and other.poll() is None
        assert marked(NAME, mark) == [] and end_marked(NAME, mark) == 0
    finally:
        other.kill()
        other.wait()
        for each in (away, sits, other):
            each.stdout.close()
        away.wait()


def test_a_process_is_ended_only_by_its_own_stamp():
    child = begun(SITS)
    try:
        stamp = process_stamp(child.pid)
        for odd in ({}, {**stamp, "startTicks": "1"}, {**stamp, "startTicks": ""}, {**stamp, "startTicks": None}, {**stamp, "bootId": "another"}):
            assert not end_stamped(child.pid, odd)
        for pid in (None, True, "7", 0, 1, -1, os.getpid()):
            assert not end_stamped(pid, {**stamp, **process_stamp()})
        assert child.poll() is None
        if stamp.get("startTicks"):                     # macOS tells none
            assert end_stamped(child.pid, stamp) and child.wait(WAIT_S) != 0
            assert not end_stamped(child.pid, stamp)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
