"""A short command ends in its time and within its bound, and what it started ends with it."""

from __future__ import annotations

import sys
import time

import pytest

from rulith.base.errors import Refused
from rulith.procs.identity import is_running
from rulith.procs.short import Answer, answer_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="uses a POSIX shell")


def asked(code: str, *, timeout_s: float = 30.0, stdout_bytes_max: int = 10_000, **env: str) -> Answer:
    return answer_of([sys.executable, "-I", "-S", "-c", code], cwd=".", env=env, timeout_s=timeout_s, stdout_bytes_max=stdout_bytes_max)


def test_the_status_and_the_output_come_back():
    assert asked("import os, sys; sys.stdout.write(os.environ['A'] + sys.stdin.read()); sys.exit(3)", A="told") == Answer(3, b"told")
    assert asked("") == Answer(0, b"")


def test_output_at_the_bound_is_whole_and_over_it_is_cut():
    assert asked("print('x' * 99)", stdout_bytes_max=100).stdout.strip() == b"x" * 99
    told = asked("while True: print('x' * 1000)", stdout_bytes_max=100)
    assert told.is_cut and told.status is None and told.stdout == b"x" * 100 and not told.timed_out


@pytest.mark.parametrize("code", ["import time; time.sleep(600)", "import os, time; os.close(1); time.sleep(600)"])
def test_one_that_does_not_end_is_ended(code):
    told = asked(code, timeout_s=0.3)
    assert told.timed_out and told.status is None


@posix
def test_what_it_left_behind_holding_its_output_ends_too():
    code = "import os, subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    told = asked(code, timeout_s=5.0)
    pid = int(told.stdout)
    for _ in range(2_000):
        if not is_running(pid):
            return
        time.sleep(0.005)
    pytest.fail("it lives on")


def test_what_cannot_be_started_is_refused():
    for argv in (["/nowhere/at/all"], ["a\0b"]):
        with pytest.raises(Refused) as caught:
            answer_of(argv, cwd=".", env={}, timeout_s=1, stdout_bytes_max=1)
        assert caught.value.code == "command_not_started"
