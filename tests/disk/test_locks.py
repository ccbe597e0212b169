"""Tickets name their holder and go only when it is proven gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.disk.locks import KernelLock, holder_of, take_lock
from rulith.procs import identity
from rulith.procs.identity import is_proven_gone, is_running, process_stamp


def refusal_of(path: Path, **options) -> Refused:
    with pytest.raises(Refused) as refusal:
        take_lock(path, "test", **options)
    return refusal.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.lock"


@pytest.fixture
def ended_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def rewrite(path: Path, **changes: object) -> None:
    ticket = json.loads(path.read_bytes())
    ticket.update(changes)
    path.write_text(json.dumps({key: value for key, value in ticket.items() if value is not None}))


def test_a_held_lock_names_pid_and_purpose(path: Path) -> None:
    with take_lock(path, "one-shot agent"):
        refusal = refusal_of(path)
        assert refusal.code == "lock_held"
        assert refusal.facts["pid"] == os.getpid() and refusal.facts["purpose"] == "one-shot agent"
        assert holder_of(path).code == "lock_held"
    assert holder_of(path) is None and not path.exists()
    take_lock(path, "again").release()


def test_releasing_removes_only_our_own_ticket(path: Path) -> None:
    lock = take_lock(path, "first")
    rewrite(path, id="another")
    lock.release()
    assert path.exists()


def test_a_ticket_of_an_ended_process_is_taken_over(path: Path, ended_pid: int) -> None:
    take_lock(path, "old")
    rewrite(path, pid=ended_pid)
    assert holder_of(path) is None
    take_lock(path, "new").release()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="boot ids and start ticks are Linux's")
@pytest.mark.parametrize("change", [{"startTicks": "1"}, {"bootId": "another-boot"}])
def test_a_used_again_pid_does_not_keep_the_lock(path: Path, change: dict) -> None:
    take_lock(path, "old")
    rewrite(path, pid=1, session="other", **{"startTicks": identity.start_ticks(1), **change})
    take_lock(path, "new").release()


def test_where_boots_have_no_id_a_counter_that_went_back_is_another_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall clock that was set is no proof either way."""
    monkeypatch.setattr(identity, "boot_id", lambda: "")
    take_lock(path, "old")
    now_s = SystemClock().monotonic_s()
    for uptime in (now_s - 5, now_s + 30):
        for started_at in ("1999-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z"):
            rewrite(path, pid=1, session="other", startTicks=None, bootId=None, uptime=uptime, startedAt=started_at)
            assert refusal_of(path).code == "lock_held"
    rewrite(path, uptime=now_s + 3600)
    take_lock(path, "new").release()


def test_our_own_pid_with_another_session_is_an_earlier_process(path: Path) -> None:
    take_lock(path, "old")
    rewrite(path, session="of-an-earlier-process", startTicks=None, bootId=None)
    take_lock(path, "new").release()


def test_doubt_counts_as_running(path: Path) -> None:
    take_lock(path, "old")
    rewrite(path, pid=1, session=None, startTicks=None, bootId=None, uptime=None)
    assert refusal_of(path).code == "lock_held"


def test_another_machines_ticket_stays(path: Path, ended_pid: int) -> None:
    take_lock(path, "old")
    rewrite(path, pid=ended_pid, host="elsewhere")
    assert refusal_of(path).code == "lock_elsewhere"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "12"}', b"\xff\xff"])
def test_an_unreadable_ticket_stays(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert refusal_of(path).code == "lock_unreadable"
    assert path.read_bytes() == content


def test_waiting_ends_when_the_holder_releases(path: Path) -> None:
    code = ("import sys; from rulith.disk.locks import take_lock\n"
            "lock = take_lock(sys.argv[1], 'child'); print('held', flush=True); sys.stdin.readline(); lock.release()")
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "PYTHONPATH": str(root)})
    assert child.stdout.readline() == b"held\n"
    assert refusal_of(path, wait_s=0.03).facts["pid"] == child.pid
    child.stdin.write(b"\n")
    child.stdin.flush()
    take_lock(path, "parent", wait_s=10).release()
    child.stdin.close()
    child.wait(timeout=60)
    child.stdout.close()


def test_a_killed_holder_frees_the_lock(path: Path) -> None:
    code = ("import sys; from rulith.disk.locks import take_lock, KernelLock\n"
            "take_lock(sys.argv[1], 'child'); k = KernelLock(sys.argv[1] + '.k'); k.take(); print('held', flush=True); sys.stdin.read()")
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "PYTHONPATH": str(root)})
    assert child.stdout.readline() == b"held\n"
    kernel = KernelLock(str(path) + ".k")
    assert not kernel.take() and kernel.holder_pid() == child.pid
    child.kill()
    child.stdout.read()          # its end, but nobody has waited for it: an exited process holds nothing
    child.stdout.close()
    child.stdin.close()
    take_lock(path, "parent", wait_s=10).release()
    child.wait(timeout=60)
    assert kernel.take()
    kernel.release()


def test_two_kernel_locks_exclude_each_other_in_one_process_too(path: Path) -> None:
    first, second = KernelLock(path), KernelLock(path)
    assert first.take() and not second.take() and second.holder_pid() == os.getpid()
    first.release()
    assert second.take()
    second.release()


def test_many_processes_never_hold_the_lock_together(path: Path) -> None:
    code = ("import sys, os; from rulith.disk.locks import take_lock\n"
            "for _ in range(15):\n"
            "    with take_lock(sys.argv[1], 'x', wait_s=60):\n"
            "        fd = os.open(sys.argv[1] + '.inside', os.O_CREAT | os.O_EXCL); os.close(fd); os.unlink(sys.argv[1] + '.inside')\n")
    root = Path(__file__).resolve().parents[2]
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": str(root)})
                for _ in range(4)]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0, 0]


def test_a_stamp_proves_nothing_about_its_living_process() -> None:
    assert is_running(os.getpid())
    assert not is_proven_gone(os.getpid(), process_stamp())
    for pid in (None, "1", True, 1.0):
        assert not is_proven_gone(pid, process_stamp())
    assert is_proven_gone(0, {}) and is_proven_gone(2**40, {})
