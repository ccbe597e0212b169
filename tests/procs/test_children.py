"""Commands end whole: bounded, in time, with everything they started."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.procs.children import Finished, run_command
from rulith.procs.identity import is_running
from rulith.procs.trees import descendants

posix = pytest.mark.skipif(os.name != "posix", reason="uses a POSIX shell")


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 100))


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


async def wait_gone(pid: int) -> None:
    while is_running(pid):
        await asyncio.sleep(0.005)


def test_status_output_and_errors_come_back() -> None:
    async def scenario() -> None:
        done = await run_command(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
        assert (done.status, done.stdout.split(), done.stderr_tail.split()) == (3, [b"out"], [b"err"])
        assert not done.timed_out and not done.stdout_overflow
    run(scenario)


def test_input_is_fed_and_need_not_be_read() -> None:
    async def scenario() -> None:
        done = await run_command(python("import sys; print(len(sys.stdin.read()))"), stdin=b"x" * 1_000_000)
        assert done.stdout.strip() == b"1000000"
        assert (await run_command(python("print('done')"), stdin=b"x" * 1_000_000)).stdout.strip() == b"done"
        assert (await run_command(python("import sys; print(repr(sys.stdin.read()))"))).stdout.strip() == b"''"
    run(scenario)


def test_environment_and_folder_are_exactly_what_was_given(tmp_path: Path) -> None:
    async def scenario() -> None:
        os.environ["RULITH_LEAK_TEST"] = "x"
        code = "import os; print(os.getcwd()); print(sorted(k for k in os.environ if k != 'LC_CTYPE'))"
        done = await run_command(python(code), cwd=str(tmp_path), env={"A": "b"})
        assert done.stdout.decode().split("\n")[:2] == [str(tmp_path), "['A']"]
    try:
        run(scenario)
    finally:
        del os.environ["RULITH_LEAK_TEST"]


def test_output_at_the_bound_is_whole_and_over_it_ends_the_command() -> None:
    async def scenario() -> None:
        done = await run_command(python("print('x' * 999)"), stdout_bytes_max=1000)
        assert len(done.stdout) == 1000 and not done.stdout_overflow and done.status == 0
        done = await run_command(python("print('x' * 1000)"), stdout_bytes_max=1000)
        assert len(done.stdout) == 1000 and done.stdout_overflow
        done = await run_command(python("while True: print('x' * 1000)"), stdout_bytes_max=5000)
        assert len(done.stdout) == 5000 and done.stdout_overflow and done.status != 0 and not done.timed_out
    run(scenario)


def test_only_the_end_of_the_errors_is_kept() -> None:
    async def scenario() -> None:
        code = "import sys; sys.stderr.write('a' * 300000 + 'the end')"
        done = await run_command(python(code), stderr_bytes_max=100)
        assert len(done.stderr_tail) == 100 and done.stderr_tail.endswith(b"the end") and done.status == 0
    run(scenario)


async def ended_in_time(code: str, begun: Callable[[Finished], bool], **more) -> Finished:
    """Ended at a short deadline, or at a longer one where the machine is so busy that the program had not begun by then."""
    for timeout_s in (0.5, 5.0, 50.0):
        done = await run_command(python(code), timeout_s=timeout_s, **more)
        if begun(done):
            break
    assert done.timed_out and done.status != 0
    return done


def test_the_deadline_ends_the_whole_tree() -> None:
    async def scenario() -> None:
        code = ("import subprocess, sys, time\n"
                "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
                "print(child.pid, flush=True); time.sleep(600)")
        done = await ended_in_time(code, lambda done: done.stdout.endswith(b"\n"))
        await wait_gone(int(done.stdout))
    run(scenario)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds strays through /proc")
def test_a_grandchild_in_a_session_of_its_own_is_ended_too() -> None:
    async def scenario() -> None:
        code = ("import subprocess, sys, time\n"
                "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
                "print(child.pid, flush=True); time.sleep(600)")
        done = await ended_in_time(code, lambda done: done.stdout.endswith(b"\n"))
        await wait_gone(int(done.stdout))
    run(scenario)


@posix
def test_what_a_command_leaves_behind_neither_delays_nor_survives_it() -> None:
    async def scenario() -> None:
        done = await run_command(["sh", "-c", "sleep 600 & echo $!"])
        assert done.status == 0 and not done.timed_out
        await wait_gone(int(done.stdout))
    run(scenario)


def test_cancelling_ends_the_command() -> None:
    async def scenario() -> None:
        before = {pid for pid, _ in descendants(os.getpid())}
        task = asyncio.ensure_future(run_command(python("import time; time.sleep(600)")))
        while not (started := {pid for pid, _ in descendants(os.getpid())} - before):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not any(is_running(pid) for pid in started)
    if sys.platform.startswith("linux"):
        run(scenario)


def test_a_command_that_cannot_start_is_a_refusal(tmp_path: Path) -> None:
    async def scenario() -> None:
        plain = tmp_path / "plain"
        plain.write_text("no program")
        for argv in (["/no/such/program"], [str(plain)], [sys.executable, "a\0b"]):
            with pytest.raises(Refused) as refusal:
                await run_command(argv)
            assert refusal.value.code == "command_not_started" and argv[0] in str(refusal.value)
        with pytest.raises(Refused):
            await run_command(python(""), cwd=str(tmp_path / "absent"))
    run(scenario)


# --- what leaves the group

DAEMON = """
import os, sys, time
def twice(place):
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in range(3):
        os.close(fd)
    with open(place + '.new', 'w') as file:
        file.write(str(os.getpid()))
    os.rename(place + '.new', place)
    time.sleep(600)
"""
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="child subreapers are Linux's")


def daemon_of(place: Path) -> int:
    return int(place.read_text())


@linux
@pytest.mark.parametrize("ends", ["print('done')", "sys.exit(3)", "os.kill(os.getpid(), 9)", "print('x' * 100000)"])
def test_a_daemon_that_left_its_group_ends_with_the_command(tmp_path: Path, ends: str) -> None:
    async def scenario() -> None:
        places = [tmp_path / f"pid{number}" for number in range(3)]
        waits = f"\nwhile not all(map(os.path.exists, {[str(place) for place in places]})): time.sleep(0.005)\n"
        code = DAEMON + "".join(f"twice({str(place)!r})\n" for place in places) + waits + ends
        await run_command(python(code), stdout_bytes_max=1000, ends_orphans=True)
        for place in places:
            assert not Path(f"/proc/{daemon_of(place)}").exists(), "it is gone, and no zombie either"
    run(scenario)


@linux
@pytest.mark.parametrize("turns", range(2, 6))
def test_a_command_that_is_cancelled_while_it_is_started_leaves_nothing(tmp_path: Path, turns: int) -> None:
    """Past bug: the program runs before its start has been told here, and only the program itself was ended then."""
    async def scenario() -> None:
        place = tmp_path / "pid"
        before = descendants(os.getpid())
        code = DAEMON + f"import subprocess\nsubprocess.Popen(['sleep', '600'])\ntwice({str(place)!r})\ntime.sleep(600)"
        running = asyncio.ensure_future(run_command(python(code), ends_orphans=True))
        for _ in range(turns):
            await asyncio.sleep(0)
        deadline = time.monotonic() + 60
        while not place.exists() and time.monotonic() < deadline:
            time.sleep(0.005)                    # the loop stands still, as on a busy machine
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert running.cancelled() and not Path(f"/proc/{daemon_of(place)}").exists()
        assert set(descendants(os.getpid())) <= set(before)
    run(scenario)


@linux
def test_a_daemon_is_ended_after_a_timeout_and_after_a_cancel_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        place = tmp_path / "pid"
        code = DAEMON + f"twice({str(place)!r})\ntime.sleep(600)"
        await ended_in_time(code, lambda done: place.exists(), ends_orphans=True)
        assert not Path(f"/proc/{daemon_of(place)}").exists()
        place.unlink()
        running = asyncio.ensure_future(run_command(python(code), ends_orphans=True))
        while not place.exists():
            await asyncio.sleep(0.005)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not Path(f"/proc/{daemon_of(place)}").exists()
    run(scenario)


@linux
def test_what_this_process_started_otherwise_is_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        before = await asyncio.create_subprocess_exec(*python("import time; time.sleep(600)"))
        slow = asyncio.ensure_future(run_command(python(f"import time, os\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.005)\nprint('whole')"),
                                                 ends_orphans=True))
        try:
            await run_command(python("print('quick')"), ends_orphans=True)
            assert before.returncode is None and is_running(before.pid)
            (tmp_path / "go").touch()
            assert (await slow).stdout.strip() == b"whole", "another command under way is no orphan"
        finally:
            before.kill()
            await before.wait()
    run(scenario)


@linux
def test_commands_beside_each_other_each_end_their_own_processes_and_no_other(tmp_path: Path) -> None:
    """Past bug: what ended one command stopped or killed a process that another one had just started."""
    forks = "for i in 1 2 3 4 5 6; do /bin/true; done; sh -c 'sh -c \"/bin/true; echo done\"'"

    async def scenario() -> None:
        async def line() -> None:
            for _ in range(4):
                found = await run_command(["/bin/sh", "-c", forks], timeout_s=60, ends_orphans=True)
                assert (found.status, found.stdout, found.timed_out) == (0, b"done\n", False)
        await asyncio.gather(*(line() for _ in range(6)))
    run(scenario)
