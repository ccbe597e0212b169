"""Roles as children: settings over stdin only, events over stdout only, always an end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.procs import roles
from rulith.procs.archive import checkout_root, role_command, running_archive
from rulith.procs.child import read_settings
from rulith.procs.identity import is_running
from rulith.procs.roles import RoleProcess, inherited_environment

PRELUDE = """
import asyncio, json, os, sys
from rulith.procs.child import emit, read_settings, watch_controls, watch_parent
settings = read_settings()
"""
PATIENT = """
async def main():
    async for operation in watch_parent():
        emit("heard", operation=operation)
        if operation in ("stop", "eof"):
            return
emit("up", args=list(settings.args), has=settings.get("KEY"))
asyncio.run(main())
sys.exit(7)
"""


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 30))


@pytest.fixture
def role(monkeypatch):
    """Make every role run the given code instead of the program."""
    def prepare(code: str) -> None:
        monkeypatch.setattr(roles, "role_command", lambda name, archive: [sys.executable, "-X", "utf8", "-u", "-c", PRELUDE + code])
    return prepare


def test_settings_arrive_and_stand_in_neither_environment_nor_command_line(role) -> None:
    role("emit('up', key=settings['KEY'], args=list(settings.args), environ=dict(os.environ), argv=sys.orig_argv)")

    async def scenario() -> None:
        child = await RoleProcess.spawn("worker", env={"KEY": "s3cret"}, args=["--quiet", "é"],
                                        environ={**os.environ, "RULITH_TOKEN": "old", "rulith_x": "y", "ANTHROPIC_API_KEY": "k"})
        event = await child.wait_for_event("up", 10)
        assert event["key"] == "s3cret" and event["args"] == ["--quiet", "é"] and isinstance(event["t"], int)
        assert "s3cret" not in json.dumps([event["environ"], event["argv"]])
        names = {name.upper() for name in event["environ"]}
        assert "RULITH_TOKEN" not in names and "RULITH_X" not in names and "ANTHROPIC_API_KEY" not in names
        assert await child.wait() == 0
    run(scenario)


def test_no_role_inherits_our_settings_or_a_model_key() -> None:
    kept = {"PATH": "/bin", "HOME": "/h", "HTTPS_PROXY": "p", "SSL_CERT_FILE": "c", "LANG": "C", "MY_TOOL_SETTING": "x"}
    dropped = {"RULITH_TOKEN": "1", "Rulith_Home": "1", "RIVENDELL_KEY": "1", "ANTHROPIC_API_KEY": "1", "OPENAI_BASE_URL": "1",
               "GEMINI_API_KEY": "1", "SOME_API_KEY": "1", "apikey": "1"}
    assert inherited_environment({**kept, **dropped}) == kept


def test_a_stopped_role_says_goodbye_and_leaves_its_status(role) -> None:
    role(PATIENT)

    async def scenario() -> None:
        heard = []
        child = await RoleProcess.spawn("worker", on_event=heard.append)
        await child.wait_for_event("up", 10)
        assert child.is_running() and child.status is None
        child.control("observe", what="x")
        await child.wait_for_event("heard", 10)
        assert await child.stop(10) == 7
        assert [event.get("operation") for event in heard] == [None, "observe", "stop"]
        assert not child.is_running() and not is_running(child.pid)
        assert await child.stop() == 7 and await child.kill() == 7
        child.control("stop")
    run(scenario)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_role_that_will_not_stop_is_made_to(role, monkeypatch) -> None:
    monkeypatch.setattr(roles, "TERM_GRACE_S", 0.2)
    role("import signal, subprocess, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
         "emit('up', below=child.pid)\nwhile True: time.sleep(1)")

    async def scenario() -> None:
        child = await RoleProcess.spawn("worker")
        below = (await child.wait_for_event("up", 10))["below"]
        assert await child.stop(0.1) == -signal.SIGKILL
        while is_running(below):
            await asyncio.sleep(0.005)
    run(scenario)


def test_the_parents_death_ends_the_role(role, tmp_path: Path) -> None:
    code = ("import asyncio, sys\nfrom rulith.procs import roles\n"
            f"roles.role_command = lambda name, archive: [sys.executable, '-u', '-c', {PRELUDE + PATIENT!r}]\n"
            "async def main():\n"
            "    child = await roles.RoleProcess.spawn('worker')\n"
            "    await child.wait_for_event('up', 10)\n"
            "    print(child.pid, flush=True)\n"
            "    await asyncio.sleep(600)\n"
            "asyncio.run(main())")
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": str(checkout_root())})
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    parent.kill()
    parent.wait(timeout=10)
    parent.stdout.close()

    async def scenario() -> None:
        while is_running(pid):
            await asyncio.sleep(0.005)
    run(scenario)


def test_a_role_that_ends_early_is_reported_with_its_last_words(role, tmp_path: Path) -> None:
    role("print('to the log'); sys.exit('no such Connection')")

    async def scenario() -> None:
        log = tmp_path / "worker.log"
        log.write_text("of an earlier run\n")
        child = await RoleProcess.spawn("worker", log_path=log)
        with pytest.raises(Refused) as refusal:
            await child.wait_for_event("up", 10)
        assert refusal.value.code == "role_ended" and refusal.value.facts["status"] == 1
        assert "no such Connection" in str(refusal.value) and "earlier" not in str(refusal.value)
        assert log.read_text() == "of an earlier run\nto the log\nno such Connection\n"
    run(scenario)


def test_a_role_that_stays_silent_is_reported_and_can_be_ended(role) -> None:
    role("import time; time.sleep(600)")

    async def scenario() -> None:
        child = await RoleProcess.spawn("worker")
        with pytest.raises(Refused) as refusal:
            await child.wait_for_event("up", 0.05)
        assert refusal.value.code == "role_silent"
        await child.kill()
        assert not child.is_running()
    run(scenario)


def test_what_is_no_event_is_skipped_and_the_next_event_is_heard(role, monkeypatch) -> None:
    role("""
def raw(data):
    from rulith.procs import child
    os.write(child._parent.events_fd, data)
raw(b'stray\\n{"protocol":"other","event":{"type":"x"}}\\n{"protocol":"rulith-local-event","event":[]}\\n\\xff\\n\\n')
raw(b'{"protocol":"rulith-local-event","event":{"type":"x","long":"' + b"a" * 2_000_000 + b'"}}\\n')
emit("up", text="é" * 40_000)
raw(b'{"protocol":"rulith-local-event","ev')
""")

    async def scenario() -> None:
        heard = []
        child = await RoleProcess.spawn("worker", on_event=heard.append)
        assert await child.wait() == 0
        assert [(event["type"], len(event["text"])) for event in heard] == [("up", 40_000)]
    run(scenario)


def test_a_listeners_bug_does_not_deafen_the_parent(role, capfd) -> None:
    role("emit('a'); emit('b')\n" + PATIENT)

    async def scenario() -> None:
        def listen(event: dict) -> None:
            raise RuntimeError("a bug in the page")

        child = await RoleProcess.spawn("worker", on_event=listen)
        await child.wait_for_event("up", 10)
        assert await child.stop(10) == 7
    run(scenario)
    assert "a bug in the page" in capfd.readouterr().err


def test_two_may_wait_for_one_event_and_late_comers_get_the_latest(role) -> None:
    role("emit('up', n=1); emit('up', n=2)\n" + PATIENT.replace("emit(\"up\"", "emit(\"ready\""))

    async def scenario() -> None:
        child = await RoleProcess.spawn("worker")
        both = await asyncio.gather(child.wait_for_event("ready", 10), child.wait_for_event("ready", 10))
        assert both[0] == both[1]
        assert (await child.wait_for_event("up", 10))["n"] == 2
        await child.stop(10)
    run(scenario)


@pytest.mark.parametrize("line", [b"", b"{}\n", b"[]\n", b'{"protocol":"rulith-local-settings/1"}\n', b"s3cret\n",
                                  b'{"protocol":"rulith-local-settings/2","env":{"A":"s3cret"},"args":[]}\n',
                                  b'{"protocol":"rulith-local-settings/1","env":{"A":1},"args":[]}\n',
                                  b'{"protocol":"rulith-local-settings/1","env":{},"args":"s3cret"}\n' + b"", b"x" * 1_200_000])
def test_unusable_settings_are_refused_unquoted(line: bytes) -> None:
    if line.endswith(b'"args":"s3cret"}\n'):
        line = line.replace(b'"s3cret"', b"[7]")
    done = subprocess.run([sys.executable, "-c", PRELUDE], input=line, capture_output=True, timeout=20,
                          env={**os.environ, "PYTHONPATH": str(checkout_root()), "RULITH_LOCAL_EVENTS": "stdio"})
    assert done.returncode == 1 and b"settings_unreadable" not in done.stdout
    assert b"sent no usable settings" in done.stderr and b"s3cret" not in done.stderr


def test_without_a_parent_the_environment_is_the_settings_and_nothing_is_watched() -> None:
    settings = read_settings({"RULITH_TOKEN": "t", "A": "b"})
    assert dict(settings) == {"RULITH_TOKEN": "t", "A": "b"} and settings.args == () and not settings.attached
    assert "t" not in repr(settings).replace("Settings", "").replace("values", "")
    code = ("import asyncio\nfrom rulith.procs.child import *\nread_settings(); emit('up')\n"
            "async def main():\n"
            "    async def watch():\n        async for operation in watch_parent(): print(operation)\n"
            "    task = asyncio.ensure_future(watch()); await asyncio.sleep(0.05); print(task.done())\n"
            "asyncio.run(main())")
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                          env={**{k: v for k, v in os.environ.items() if k != "RULITH_LOCAL_EVENTS"}, "PYTHONPATH": str(checkout_root())})
    assert done.stdout.strip() == b"False", done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="dumpable is Linux's")
def test_a_role_cannot_be_read_by_its_neighbours(role) -> None:
    role("import ctypes\nemit('up', dumpable=ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n" + PATIENT)

    async def scenario() -> None:
        child = await RoleProcess.spawn("worker")
        assert (await child.wait_for_event("up", 10)).get("dumpable", 0) == 0
        owner = os.stat(f"/proc/{child.pid}/environ").st_uid
        assert owner == 0
        await child.stop(10)
    run(scenario)


def test_a_full_log_is_moved_aside(role, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(roles, "LOG_BYTES_MAX", 10)
    role("print('new')")

    async def scenario() -> None:
        log = tmp_path / "w.log"
        log.write_text("x" * 100)
        child = await RoleProcess.spawn("worker", log_path=log)
        await child.wait()
        assert log.read_text() == "new\n" and (tmp_path / "w.log.1").read_text() == "x" * 100
        with pytest.raises(Refused):
            await RoleProcess.spawn("worker", log_path=tmp_path / "absent" / "w.log")
    run(scenario)


def test_the_command_line_runs_the_archive_isolated_or_the_checkout_as_a_module() -> None:
    assert running_archive() is None and (checkout_root() / "rulith" / "base").is_dir()
    assert role_command("worker", Path("/a b/x.pyz")) == [sys.executable, "-I", "-S", "-X", "utf8", "-u", "/a b/x.pyz", "worker"]
    assert role_command("worker", None)[-3:] == ["-m", "rulith", "worker"]


def test_inside_an_archive_the_path_is_absolute(tmp_path: Path) -> None:
    import zipfile

    root = checkout_root()
    archive = tmp_path / "ä b" / "x.pyz"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as target:
        for path in [root / "rulith" / "__init__.py", *(root / "rulith" / "procs").glob("*.py"), *(root / "rulith" / "base").rglob("*.py")]:
            target.write(path, path.relative_to(root))
        target.writestr("__main__.py", "from rulith.procs.archive import running_archive; print(running_archive())")
    done = subprocess.run([sys.executable, "-I", "-S", "-X", "utf8", "x.pyz"], cwd=archive.parent, capture_output=True, timeout=20)
    assert done.stdout.decode().strip() == str(archive), done.stderr
