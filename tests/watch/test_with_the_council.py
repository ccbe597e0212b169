"""`rulith watch` as a process beside the council as it is served, polling and on the socket. Duty: the council surface, "Watcher" and its test rows 10 to 16."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.disk.home import Home
from rulith.forum.service import Council, open_council
from rulith.forum.staying import watcher_argv
from tests.conftest import ROOT, clean_environment
from tests.forum.conftest import KEY, Program, Served
from tests.watch.conftest import RECORD, WAIT_S, to_its_end

FORMS = pytest.mark.parametrize("form", [[], ["--ws"]], ids=["poll", "socket"])

# An agent's program: answers each thread it was started for, by the key and address it was given.
AGENT = """
import json, os, sys, urllib.request
def call(name, **arguments):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}).encode()
    request = urllib.request.Request(os.environ["RIVENDELL_URL"], body, {"content-type": "application/json", "accept": "application/json, text/event-stream",
                                                                          "authorization": "Bearer " + os.environ["RIVENDELL_KEY"]})
    return json.load(urllib.request.urlopen(request, timeout=60))["result"]["content"][0]["text"]
for thread in sys.argv[1].split(","):
    assert "Thread " + thread in call("get_thread", thread_id=int(thread))
    call("claim_thread", thread_id=int(thread), note="on it")
    print(call("reply", thread_id=int(thread), body="It holds. " + thread, verdict="CLEARED"))
"""


class Place(Served):
    """A served council with ann, who watches, and bob, who asks; and the watchers that a test starts."""

    def __init__(self, council: Council, folder: Path) -> None:
        super().__init__(council)
        self.folder = folder
        self.keys: dict[str, str] = {}
        self.watchers: list[asyncio.subprocess.Process] = []

    async def people(self) -> None:
        await self.does("create_project", name="Shop", folder=str(self.folder))
        self.room = (await self.does("list_rooms"))[0]["id"]
        for name in ("ann", "bob"):
            made = await self.does("create_agent", project_id=1, name=name, rooms=[self.room])
            self.keys[name] = made["api_key"]

    def program(self, name: str) -> Program:
        return Program(self.council.port, self.keys[name])

    async def asks(self, body: str = "@ann does it hold?", who: str = "bob", **more) -> int:
        told = await self.program(who).says("create_thread", title="A question", body=body, tag="ADVERSARIAL_REVIEW", **more)
        return next(int(word) for word in told.replace("#", "").split() if word.strip(".,").isdigit())

    async def watches(self, *words: str, argv: list[str] | None = None) -> asyncio.subprocess.Process:
        env = clean_environment(RIVENDELL_KEY=self.keys["ann"], RIVENDELL_URL=f"http://127.0.0.1:{self.council.port}/mcp")
        process = await asyncio.create_subprocess_exec(*(argv or [sys.executable, "-m", "rulith", "watch", "--settle", "0.2", "--report"]), *words, cwd=ROOT, env=env,
                                                       stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        self.watchers.append(process)
        return process

    async def is_held(self, kind: str) -> None:
        """Until ann holds a connection of this kind."""
        while not any(held["kind"] == kind for row in await self.does("list_connections") if row["name"] == "ann" for held in row["connections"]):
            await asyncio.sleep(0.02)

    async def messages(self, thread: int) -> list[dict]:
        return (await self.does("get_thread", thread_id=thread))["messages"]

    async def answered(self, thread: int, count: int = 1) -> list[dict]:
        while len(found := await self.messages(thread)) < count:
            await asyncio.sleep(0.02)
        return found


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    telling = asyncio.ensure_future(process.communicate())
    done, _ = await asyncio.wait({telling}, timeout=WAIT_S)
    if not done:
        process.kill()
    out, err = await telling
    assert done, (out, err)
    return process.returncode, out.decode(), err.decode()


def runs_of(out: str) -> list[list[int]]:
    return [line["threads"] for line in map(json.loads, out.splitlines()) if line["state"] == "running"]


def play(tmp_path: Path, tell) -> None:
    folder = tmp_path / "project"
    folder.mkdir()

    async def run() -> None:
        council = open_council(Home(tmp_path / "home"), SystemClock(), KEY, watcher=watcher_argv())
        place = Place(council, folder)
        try:
            await council.listen((0,))
            await place.people()
            await tell(place)
        finally:
            for process in place.watchers:
                if process.returncode is None:
                    process.terminate()
                    await ended(process)
            await place.council.close()

    to_its_end(run())


@FORMS
def test_a_question_wakes_the_agent_which_answers_and_its_own_answer_wakes_nobody(tmp_path, form):
    async def story(at):
        watcher = await at.watches(*form, "--", sys.executable, "-c", AGENT, "{threads}")
        await at.is_held("socket" if form else "poll")
        first = await at.asks()
        [answer] = await at.answered(first)
        assert (answer["body"], answer["verdict"]) == (f"It holds. {first}", "CLEARED")
        second = await at.asks()
        await at.answered(second)
        # Had ann's claim or reply woken her, there would be a run between the two, and another message.
        assert len(await at.messages(first)) == 1
        watcher.terminate()
        code, out, err = await ended(watcher)
        assert code == 143 and runs_of(out) == [[first], [second]] and err.count("posted") <= 2 and "Traceback" not in err, (out, err)
    play(tmp_path, story)


@FORMS
def test_what_was_waiting_wakes_it_when_it_starts(tmp_path, form):
    async def story(at):
        threads = [await at.asks(), await at.asks()]
        await at.asks("@bob alone", who="ann")
        code, out, err = await ended(await at.watches(*form, "--once", "--", sys.executable, "-c", AGENT, "{threads}"))
        assert code == 0 and runs_of(out) == [threads]
        for thread in threads:
            assert len(await at.messages(thread)) == 1
        code, out, err = await ended_by_a_question(at, form)
        assert code == 0 and len(runs_of(out)) == 1
    play(tmp_path, story)


async def ended_by_a_question(at: Place, form: list[str]) -> tuple[int, str, str]:
    """Once again: what was answered waits no more, so only a new question ends it."""
    watcher = await at.watches(*form, "--once", "--", sys.executable, "-c", "pass")
    await at.is_held("socket" if form else "poll")
    thread = await at.asks()
    code, out, err = await ended(watcher)
    assert runs_of(out) == [[thread]]
    return code, out, err


@FORMS
def test_a_burst_of_replies_is_one_run(tmp_path, form):
    """All of it is there before the watcher looks: whatever the machine does, it is one wake-up."""
    async def story(at):
        await at.does("update_room", id=at.room, max_replies_per_agent=200, max_thread_messages=500)
        thread = await at.asks()
        for number in range(30):
            await at.program("bob").says("reply", thread_id=thread, body=f"and {number}")
        watcher = await at.watches(*form, "--", sys.executable, "-c", AGENT, "{threads}")
        await at.answered(thread, 31)
        marker = await at.asks()
        await at.answered(marker)
        watcher.terminate()
        code, out, err = await ended(watcher)
        assert runs_of(out) == [[thread], [marker]]
    play(tmp_path, story)


@FORMS
@pytest.mark.parametrize("act", ["set_agent_revoked", "rotate_agent_key"])
def test_a_key_that_ends_is_an_exit_4_at_once(tmp_path, form, act):
    async def story(at):
        thread = await at.asks()
        watcher = await at.watches(*form, "--", sys.executable, "-c", RECORD + "\nimport time\ntime.sleep(1000)", str(tmp_path))
        while not list(tmp_path.glob("run-*.json")):
            await asyncio.sleep(0.02)
        agent = next(row["id"] for row in await at.does("list_agents") if row["name"] == "ann")
        await at.does(act, id=agent, **({"revoked": True} if act == "set_agent_revoked" else {}))
        code, out, err = await ended(watcher)
        assert code == 4 and runs_of(out) == [[thread]]
    play(tmp_path, story)


@FORMS
def test_a_council_that_goes_and_comes_back_is_found_again(tmp_path, form):
    """Also when a question came while nobody could hear it."""
    async def story(at):
        watcher = await at.watches(*form, "--once", "--", sys.executable, "-c", AGENT, "{threads}")
        await at.is_held("socket" if form else "poll")
        assert json.loads(await watcher.stdout.readline())["state"] == "waiting"          # it knows who it is
        port = at.council.port
        await at.council.close()
        at.council = open_council(Home(tmp_path / "home"), SystemClock(), KEY, watcher=watcher_argv())
        await at.council.listen((0,))                   # at another place, where nobody watches
        thread = await at.asks()
        await at.council.close()
        at.council = open_council(Home(tmp_path / "home"), SystemClock(), KEY, watcher=watcher_argv())
        await at.council.listen((port,))
        code, out, err = await ended(watcher)
        assert code == 0 and runs_of(out) == [[thread]] and len(await at.messages(thread)) == 1
    play(tmp_path, story)


def test_the_command_that_whoami_tells_waits_and_says_what_needs_the_agent(tmp_path):
    """What an agent runs in the background: its exit is the wake-up."""
    async def story(at):
        told = json.loads(await at.program("ann").says("whoami"))["staying_in_touch"]
        assert told["available"] is True and told["command"].endswith("--ws --once")
        watcher = await at.watches(argv=["/bin/sh", "-c", told["command"]])
        await at.is_held("socket")
        thread = await at.asks()
        code, out, err = await ended(watcher)
        assert code == 0 and f"Threads needing you: #{thread}" in out and "thread.created" in out and err == ""
    if os.name != "posix":
        pytest.skip("a shell line of POSIX")
    play(tmp_path, story)


def test_a_watcher_of_the_one_file_runs_a_command_and_leaves_nothing(tmp_path, product):
    """Its warden is started from the archive too."""
    async def story(at):
        thread = await at.asks()
        watcher = await at.watches("--once", "--report", "--", sys.executable, "-c", AGENT, "{threads}", argv=product.command("watch"))
        code, out, err = await ended(watcher)
        assert code == 0 and runs_of(out) == [[thread]] and len(await at.messages(thread)) == 1, err
    play(tmp_path, story)
    assert subprocess.run(product.command("watch", "--capabilities"), capture_output=True, text=True).stdout.startswith('{"ws":true')
