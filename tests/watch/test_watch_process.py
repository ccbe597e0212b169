"""`rulith watch` as a process: report lines, exit codes, signals, and that nothing of a command outlives it. Duty: the council surface, "Watcher"."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from rulith.net.server import serve
from rulith.procs.identity import is_running
from rulith.procs.roles import RoleProcess
from tests.conftest import ROOT, clean_environment
from tests.watch.conftest import KEY, RECORD, WAIT_S, Scripted, to_its_end

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and sessions of POSIX")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="who left its group is found on Linux only")

# A command with a family: a child, and a grandchild in a session of its own whose parent has gone. All ignore SIGTERM.
FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = sys.argv[1]
def note(name):
    with open(os.path.join(folder, name + ".new"), "w") as file:
        file.write(str(os.getpid()))
    os.replace(os.path.join(folder, name + ".new"), os.path.join(folder, name))
if os.fork() == 0:
    note("child")
    time.sleep(1000)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note("stray")
        time.sleep(1000)
    os._exit(0)
note("command")
time.sleep(1000)
"""
MEMBERS = ("command", "child", "stray")


def play(tell) -> None:
    async def run() -> None:
        council = Scripted()
        server = await serve(council.handle, "127.0.0.1", 0)
        council.url = f"http://127.0.0.1:{server.port}/mcp"
        try:
            await tell(council)
        finally:
            await server.close(drain_s=0.1)

    to_its_end(run())


async def start(council: Scripted | None, *words: str, key: str | None = KEY, **env: str) -> asyncio.subprocess.Process:
    more = {"RIVENDELL_URL": council.url} if council is not None else {}
    if key is not None:
        more["RIVENDELL_KEY"] = key
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "rulith", "watch", "--settle", "0.1", *words, cwd=ROOT, env=clean_environment(**more, **env), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)


async def end_of(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    telling = asyncio.ensure_future(process.communicate())
    done, _ = await asyncio.wait({telling}, timeout=WAIT_S)
    if not done:
        process.kill()
    out, err = await telling
    assert done and "Traceback" not in err.decode() and KEY not in (out + err).decode(), err
    return process.returncode, out.decode(), err.decode()


async def family_of(folder: Path) -> dict[str, int]:
    """The pids of the command's family, once all are there."""
    while not all((folder / name).exists() for name in MEMBERS):
        await asyncio.sleep(0.01)
    return {name: int((folder / name).read_text()) for name in MEMBERS}


async def are_gone(pids) -> None:
    while any(map(is_running, pids)):
        await asyncio.sleep(0.01)


# --- exit codes and lines -----------------------------------------------------------------


def test_each_end_has_its_exit_status_and_its_words(tmp_path):
    async def story(council):
        record = ["--", sys.executable, "-c", RECORD, str(tmp_path)]
        for words, key, status, said in (
            ([], None, 2, "RIVENDELL_KEY"), (["--once", "cmd"], KEY, 2, "after `--`"), (["--nosuch"], KEY, 2, "--nosuch"), (["--", "no-such-program"], KEY, 1, "no-such-program"),
            (["--url", "http://127.0.0.1:9/mcp"], KEY, 1, "cannot be reached"), ([], "rvd_another", 4, "rotated or revoked"),
        ):
            code, out, err = await end_of(await start(council, *words, key=key))
            assert (code, out) == (status, "") and said in err, (words, code, err)
        council.says({"needs_you": [4]})
        assert (await end_of(await start(council, "--starts", str(tmp_path / "starts"), "--once", *record)))[0] == 0
        council.says({"needs_you": [4]})
        code, out, err = await end_of(await start(council, "--starts", str(tmp_path / "starts"), "--ceiling", "1", *record))
        assert code == 3 and "1 starts in an hour" in err and len(list(tmp_path.glob("run-*.json"))) == 1
        (tmp_path / "starts").write_text("?")
        code, out, err = await end_of(await start(council, "--starts", str(tmp_path / "starts"), *record))
        assert code == 1 and "cannot be read" in err
    play(story)


def test_the_capabilities_are_told_without_a_key():
    async def story(council):
        code, out, err = await end_of(await start(None, "--capabilities", key=None))
        assert (code, err) == (0, "") and json.loads(out) == dict.fromkeys(("ws", "once", "report", "ceiling", "limit", "catch_up"), True)
    play(story)


def test_without_a_command_the_exit_is_the_wake_up(tmp_path):
    async def story(council):
        council.quiet()
        council.moves(3, 5)
        code, out, err = await end_of(await start(council, "--once"))
        assert code == 0 and "Threads needing you: #3, #5" in out and err == ""
    play(story)


def test_report_lines_are_alone_on_stdout(tmp_path):
    """What the command prints goes to stderr then; without --report it keeps its own place."""
    async def story(council):
        council.says({"needs_you": [4, 6]})
        prints = ["--once", "--", sys.executable, "-c", "print('a word of the command')"]
        code, out, err = await end_of(await start(council, "--report", *prints))
        lines = [json.loads(line) for line in out.splitlines()]
        assert code == 0 and [{**line, "t": type(line["t"])} for line in lines] == [{"state": "waiting", "t": int, "agent": "ann"}, {"state": "running", "t": int, "threads": [4, 6]}]
        assert "a word of the command" in err
        council.says({"needs_you": [4]})
        code, out, err = await end_of(await start(council, *prints))
        assert (code, out.strip(), err) == (0, "a word of the command", "")
        council.says({"needs_you": [4]})
        (tmp_path / "starts").write_text(json.dumps({"starts": [lines[0]["t"]] * 40}))
        code, out, err = await end_of(await start(council, "--report", "--starts", str(tmp_path / "starts"), *prints))
        last = json.loads(out.splitlines()[-1])
        assert code == 3 and last["state"] == "ceiling" and "40 starts" in last["detail"]
    play(story)


# --- nothing outlives it -------------------------------------------------------------------


@linux
def test_a_run_over_its_limit_is_ended_with_all_that_it_started(tmp_path):
    async def story(council):
        for limit_s in ("1", "5", "25"):                    # until one is long enough for the whole family to come
            council.says({"needs_you": [1]})
            watcher = await start(council, "--limit", limit_s, "--once", "--", sys.executable, "-c", FAMILY, str(tmp_path))
            code, out, err = await end_of(watcher)
            assert code == 0 and f"longer than {limit_s} s" in err
            if all((tmp_path / name).exists() for name in MEMBERS):
                break
        await are_gone((await family_of(tmp_path)).values())
    play(story)


@linux
def test_what_a_command_leaves_behind_ends_with_its_run(tmp_path):
    """It holds the agent's key, and would escape every limit."""
    leaves = f"import os\nif os.fork() == 0:\n    os.setsid()\n    exec({FAMILY!r})\nwhile not {set(MEMBERS)!r} <= set(os.listdir({str(tmp_path)!r})): pass"

    async def story(council):
        council.says({"needs_you": [1]})
        watcher = await start(council, "--once", "--", sys.executable, "-c", leaves, str(tmp_path))
        family = await family_of(tmp_path)
        assert (await end_of(watcher))[0] == 0
        await are_gone(family.values())
    play(story)


@linux
@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_signal_to_the_watcher_ends_the_command_too(tmp_path, number, status):
    """SIGKILL as well: the command's warden notices that its pipe has ended."""
    async def story(council):
        council.says({"needs_you": [1]})
        watcher = await start(council, "--", sys.executable, "-c", FAMILY, str(tmp_path))
        family = await family_of(tmp_path)
        watcher.send_signal(number)
        await watcher.wait()
        assert watcher.returncode == status
        await are_gone(family.values())
        await end_of(watcher)
    play(story)


@linux
def test_a_killed_warden_ends_the_run_and_not_the_watching(tmp_path):
    async def story(council):
        council.says({"needs_you": [1]})
        watcher = await start(council, "--report", "--", sys.executable, "-c", FAMILY, str(tmp_path))
        family = await family_of(tmp_path)
        os.kill(int(Path(f"/proc/{family['command']}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
        await are_gone(family.values())
        for name in MEMBERS:
            (tmp_path / name).unlink()
        council.moves(2)
        family = await family_of(tmp_path)
        watcher.terminate()
        assert (await end_of(watcher))[0] == 143
        await are_gone(family.values())
    play(story)


@linux
def test_a_key_that_is_revoked_during_a_run_ends_it_all(tmp_path):
    async def story(council):
        council.says({"needs_you": [1]})
        watcher = await start(council, "--", sys.executable, "-c", FAMILY, str(tmp_path))
        family = await family_of(tmp_path)
        council.key = "another"
        council.says(None)
        assert (await end_of(watcher))[0] == 4
        await are_gone(family.values())
    play(story)


@posix
def test_nobody_who_reads_its_words_and_a_folder_that_is_gone_do_not_end_the_watching(tmp_path):
    """Past bug: a complaint that could not be written left a run under way for ever."""
    (tmp_path / "gone").mkdir()

    async def story(council):
        reading, writing = os.pipe()
        os.close(reading)
        council.says({"needs_you": [1]})
        code = f"import os, sys\nsys.exit(9) if os.environ['RIVENDELL_THREADS'] == '1' else open({str(tmp_path / 'done')!r}, 'w').close()"
        env = clean_environment(RIVENDELL_KEY=KEY, RIVENDELL_URL=council.url, PYTHONPATH=str(ROOT))
        watcher = await asyncio.create_subprocess_exec(sys.executable, "-m", "rulith", "watch", "--settle", "0.1", "--", sys.executable, "-c", code, cwd=tmp_path / "gone", env=env,
                                                       stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=writing)
        os.close(writing)
        while not council.held:
            await asyncio.sleep(0.01)
        council.moves(2)
        while not (tmp_path / "done").exists():
            await asyncio.sleep(0.01)
        (tmp_path / "gone").rmdir()
        before = len(council.polls)
        council.moves(3)
        while len(council.polls) == before:
            await asyncio.sleep(0.01)
        council.key = "another"
        council.says(None)
        assert await watcher.wait() == 4
    play(story)


# --- below a parent of ours ----------------------------------------------------------------


@posix
def test_below_a_parent_its_key_stands_nowhere_and_its_states_are_events(tmp_path):
    async def story(council):
        heard: list[dict] = []
        council.says({"needs_you": [7]})
        role = await RoleProcess.spawn("watch", env={"RIVENDELL_KEY": KEY, "RIVENDELL_RUN_KEY": "rvdlive_run", "RIVENDELL_URL": council.url, "RIVENDELL_AGENT": "5"},
                                       args=["--report", "--starts", str(tmp_path / "starts"), "--", sys.executable, "-c", RECORD, str(tmp_path)],
                                       log_path=tmp_path / "log", on_event=heard.append)
        while not list(tmp_path.glob("run-*.json")) or [event["state"] for event in heard] != ["waiting", "running", "waiting"]:
            await asyncio.sleep(0.01)
        run = json.loads(next(tmp_path.glob("run-*.json")).read_text())
        assert run["env"] == {"RIVENDELL_KEY": "rvdlive_run", "RIVENDELL_URL": council.url, "RIVENDELL_AGENT": "5", "RIVENDELL_THREADS": "7"}
        assert [event["type"] for event in heard] == ["watch"] * 3 and heard[1]["threads"] == [7] and heard[0]["agent"] == "ann"
        if sys.platform.startswith("linux"):
            assert KEY.encode() not in Path(f"/proc/{role.pid}/cmdline").read_bytes()
        assert await role.stop() == 0
    play(story)


@linux
def test_the_death_of_its_parent_ends_it_and_the_command(tmp_path):
    parent = ("import asyncio, json, sys\nfrom rulith.procs.roles import RoleProcess\n"
              "async def main():\n    role = await RoleProcess.spawn('watch', env=json.loads(sys.argv[1]), args=sys.argv[2:])\n"
              "    print(role.pid, flush=True)\n    await asyncio.sleep(1000)\nasyncio.run(main())")

    async def story(council):
        council.says({"needs_you": [1]})
        env = json.dumps({"RIVENDELL_KEY": KEY, "RIVENDELL_URL": council.url})
        ours = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, env, "--", sys.executable, "-c", FAMILY, str(tmp_path), cwd=ROOT,
                                                    env=clean_environment(PYTHONPATH=str(ROOT)), stdout=asyncio.subprocess.PIPE)
        pid = int(await ours.stdout.readline())
        family = await family_of(tmp_path)
        ours.kill()
        await ours.wait()
        await are_gone([pid, *family.values()])
    play(story)
