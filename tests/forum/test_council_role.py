"""`rulith council serve` as a role and by hand: one address, one key for each run, a clean end. Duty: the design's rules on roles; the council surface, "Parts and surfaces"."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.forum.service import HOST, PORTS, open_council
from rulith.net.server import serve
from rulith.procs.identity import is_running
from rulith.procs.roles import RoleProcess
from tests.conftest import ROOT, clean_environment
from tests.gateway.conftest import http

WAIT_S, STORY_S = 60.0, 110.0
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def play(story) -> None:
    asyncio.run(asyncio.wait_for(story(), STORY_S))


async def started(home: Path, *args: str) -> tuple[RoleProcess, dict]:
    role = await RoleProcess.spawn("council", args=["serve", "--home", str(home), "--port", "0", *args], log_path=home.with_name("council.log"))
    await role.wait_for_event("listening", WAIT_S)
    found = read_live(Home(home).council_json)
    assert found is not None
    return role, found


async def post(run: dict, name: str, /, **arguments) -> dict:
    answer = await http(run["port"], "POST", f"/api/{name}", {"authorization": f"Bearer {run['key']}"}, json.dumps(arguments).encode())
    assert answer.status == 200, answer.body
    return answer.json()["result"]


def test_a_role_tells_its_address_and_ends_at_its_parents_word(tmp_path):
    async def story():
        role, run = await started(tmp_path / "home")
        heard = role.latest["listening"]
        assert (heard["port"], heard["url"]) == (run["port"], run["url"]) and run["pid"] == role.pid
        assert run["key"] not in json.dumps(heard)
        if os.name == "posix":
            assert stat.S_IMODE((tmp_path / "home" / "run" / "council.json").stat().st_mode) == 0o600
            assert stat.S_IMODE((tmp_path / "home" / "council" / "council.db").stat().st_mode) == 0o600
        assert await post(run, "list_projects") == []
        assert await role.stop() == 0 and not (tmp_path / "home" / "run" / "council.json").exists()
        again, second = await started(tmp_path / "home")
        assert second["key"] != run["key"]
        assert await again.stop() == 0
    play(story)


@posix
def test_a_role_ends_with_its_parent(tmp_path):
    parent = "import asyncio, sys\nfrom rulith.procs.roles import RoleProcess\nasync def main():\n    role = await RoleProcess.spawn('council', " \
             "args=['serve', '--home', sys.argv[1], '--port', '0'])\n    await role.wait_for_event('listening', 60)\n    print(role.pid, flush=True)\n    await asyncio.sleep(1000)\n" \
             "asyncio.run(main())"
    with subprocess.Popen([sys.executable, "-c", parent, str(tmp_path / "home")], cwd=ROOT, env=clean_environment(PYTHONPATH=str(ROOT)),
                          stdout=subprocess.PIPE, text=True) as ours:
        pid = int(ours.stdout.readline())
        ours.kill()

    async def story():
        while is_running(pid):
            await asyncio.sleep(0.05)
    play(story)
    assert read_live(Home(tmp_path / "home").council_json) is None


def test_a_second_council_of_one_home_and_a_strange_word_are_refused(tmp_path):
    async def story():
        role, run = await started(tmp_path / "home")
        for words, status, said in ((["serve"], 1, str(role.pid)), (["dance"], 2, "council"), ([], 2, "council"), (["serve", "--port", "70000"], 2, "70000")):
            ended = await asyncio.to_thread(subprocess.run, [sys.executable, "-m", "rulith", "council", *words, "--home", str(tmp_path / "home")], cwd=ROOT,
                                            env=clean_environment(), capture_output=True, text=True, timeout=WAIT_S)
            assert ended.returncode == status and said in ended.stderr and "Traceback" not in ended.stderr, ended
        assert await post(run, "list_projects") == [] and await role.stop() == 0
    play(story)


@posix
@pytest.mark.parametrize("how, status", [("term", 143), ("int", 130), ("stop", 143)])
def test_one_started_by_hand_says_where_it_is_and_ends_by_a_signal_or_by_rulith_stop(tmp_path, how, status):
    words = [sys.executable, "-m", "rulith"]
    with subprocess.Popen([*words, "council", "serve", "--home", str(tmp_path / "home"), "--port", "0"], cwd=ROOT, env=clean_environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as ours:
        first, second = ours.stdout.readline(), ours.stdout.readline()
        run = read_live(Home(tmp_path / "home").council_json)
        assert run["url"] in first and "council.json" in second and run["key"] not in first + second
        if how == "stop":
            told = subprocess.run([*words, "stop", "--home", str(tmp_path / "home")], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=WAIT_S)
            assert told.returncode == 0, told
        else:
            ours.send_signal(signal.SIGTERM if how == "term" else signal.SIGINT)
        assert ours.wait(WAIT_S) == status
    assert list((tmp_path / "home" / "run").iterdir()) == []


@pytest.mark.parametrize("content", [b"no database at all, only words " * 300])
def test_a_damaged_file_ends_4_and_is_left_as_it_is(tmp_path, content):
    home = Home(tmp_path / "home").prepare()
    home.council.mkdir()
    (home.council / "council.db").write_bytes(content)
    ended = subprocess.run([sys.executable, "-m", "rulith", "council", "serve", "--home", str(home.path)], cwd=ROOT, env=clean_environment(), capture_output=True,
                           text=True, timeout=WAIT_S)
    assert ended.returncode == 4 and "council.db" in ended.stderr and (home.council / "council.db").read_bytes() == content


def test_the_first_free_port_is_taken_and_a_named_one_only_where_it_is_free(tmp_path):
    async def story():
        async def nobody(request):
            raise AssertionError("asked")
        other = await serve(nobody, HOST, 0)
        council = open_council(Home(tmp_path / "home"), SystemClock(), "key")
        try:
            with pytest.raises(Refused) as refused:
                await council.listen((other.port,))
            assert refused.value.code == "port_in_use"
            await council.listen((other.port, 0))
            assert council.port not in (0, other.port)
        finally:
            await council.close()
            await other.close()
        assert PORTS == (8787, 8788, 8789, 8790, 8791, 0)
    play(story)


@posix
def test_a_kill_under_load_loses_nothing_that_was_answered(tmp_path):
    """Short form: two deaths while the person writes through six programs, and two agents over MCP."""
    (tmp_path / "project").mkdir()
    answered: dict[int, str] = {}

    async def write(run: dict, thread: int, name: int) -> None:
        number = 0
        while True:
            body = f"{name}-{number}"
            try:
                told = await post(run, "reply", thread_id=thread, body=body)
            except (OSError, IndexError, ValueError):
                return                                # it died; what it did not answer may be there or not
            answered[told["message_id"]] = body
            number += 1

    async def write_as_agent(run: dict, key: str, thread: int, name: str) -> None:
        number = 0
        while True:
            body = f"{name}-{number}"
            asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "reply", "arguments": {"thread_id": thread, "body": body}}}
            try:
                told = (await http(run["port"], "POST", "/mcp", {"authorization": f"Bearer {key}", "accept": "application/json"}, json.dumps(asked).encode())).json()
                answered[told["result"]["structuredContent"]["message_id"]] = body
            except (OSError, IndexError, ValueError):
                return
            number += 1

    async def story():
        thread, keys = 0, []
        for life in range(2):
            role, run = await started(tmp_path / "home")
            if not life:
                await post(run, "create_project", folder=str(tmp_path / "project"))
                thread = (await post(run, "create_thread", title="t", body="@ann @bob", tag="FYI"))["thread_id"]
                keys = [(await post(run, "create_agent", project_id=1, name=name, rooms=[1]))["api_key"] for name in ("ann", "bob")]
                await post(run, "update_room", id=1, max_replies_per_agent=10_000, max_thread_messages=10_000)
                await post(run, "update_thread", thread_id=thread, body="@ann @bob again")
            before = len(answered)
            writers = [asyncio.ensure_future(write(run, thread, life * 100 + name)) for name in range(6)]
            writers += [asyncio.ensure_future(write_as_agent(run, key, thread, f"agent-{life}-{number}")) for number, key in enumerate(keys)]
            while len(answered) < before + 40 or not any(body.startswith(f"agent-{life}") for body in answered.values()):
                await asyncio.sleep(0.01)
            os.kill(role.pid, signal.SIGKILL)
            await asyncio.gather(*writers)
            await role.wait()
        role, run = await started(tmp_path / "home")
        kept = {each["id"]: each["body"] for each in (await post(run, "get_thread", thread_id=thread))["messages"]}
        assert answered.items() <= kept.items() and len(answered) >= 80
        events = [each["payload"]["message_id"] for each in await _events(run) if each["kind"] == "message.created"]
        assert sorted(events) == sorted(kept)          # each message with its event, each once
        assert await role.stop() == 0
        with sqlite3.connect(tmp_path / "home" / "council" / "council.db") as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    play(story)


async def _events(run: dict) -> list[dict]:
    found, cursor = [], 0
    while True:
        told = await post(run, "events_since", cursor=cursor)
        if not told["events"]:
            return found
        found, cursor = found + told["events"], told["next_cursor"]
