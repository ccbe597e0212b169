"""The real council, its real watchers and a small agent program: from a question to its record, and what is left when an agent is revoked or the council is killed.

Duty: the council surface, "Supervisor" and test rows 15 and 16; that nothing is left is our decision.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.ids import mint
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient
from rulith.net.websocket import connect
from rulith.procs.identity import is_running
from rulith.procs.marked import end_marked, marked
from rulith.procs.roles import RoleProcess
from tests.forum.conftest import Program, Stream
from tests.gateway.conftest import http

AGENT = Path(__file__).with_name("awake_agent.py")
WAIT_S, STORY_S, LOOK_S = 60.0, 110.0, 0.02
TRACE = "COUNCIL_CHAIN"                # in the environment of all that the council of a test leads to
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found by their environment")


class Chain:
    """A home with a council in a process of its own; a project that is a git repository; ann, who is woken, and bob, who asks."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, Home(folder / "home")
        self.project, self.runs = folder / "project", folder / "runs"
        self.trace = mint("", 32)
        self.role: RoleProcess = None  # type: ignore[assignment]
        self.run: dict = {}
        self.seen: set[int] = set()

    async def starts(self) -> None:
        environ = {**os.environ, TRACE: self.trace, "ANTHROPIC_API_KEY": "sk-of-the-person", "SHELL": "/bin/sh"}
        self.role = await RoleProcess.spawn("council", args=["serve", "--home", str(self.home.path), "--port", "0"], log_path=self.folder / "council.log", environ=environ)
        await self.role.wait_for_event("listening", WAIT_S)
        self.run = read_live(self.home.council_json)
        assert self.run is not None

    async def made(self) -> Chain:
        self.project.mkdir()
        self.runs.mkdir()
        for words in (["init", "-q", "-b", "main"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *words], cwd=self.project, check=True)
        await self.starts()
        await self.does("create_project", name="Shop", folder=str(self.project))
        profile = await self.does("upsert_profile", key="small", label="Small", launch_cmd=sys.executable, launch_args=[str(AGENT), str(self.runs), "{threads}"])
        self.keys, self.ids = {}, {}
        for name, profile_id in (("ann", profile["id"]), ("bob", None)):
            made = await self.does("create_agent", project_id=1, name=name, rooms=[1], profile_id=profile_id)
            self.keys[name], self.ids[name] = made["api_key"], made["agent_id"]
        return self

    def program(self, name: str) -> Program:
        return Program(self.run["port"], self.keys[name])

    async def does(self, name: str, /, **arguments):
        answer = await http(self.run["port"], "POST", f"/api/{name}", {"authorization": f"Bearer {self.run['key']}"}, json.dumps(arguments).encode())
        assert answer.status == 200, answer.body
        return answer.json()["result"]

    async def status(self) -> dict:
        return (await self.does("awake_status", id=self.ids["ann"]))[0]

    async def state(self, wanted: str) -> dict:
        status = await self.status()
        while status["state"] != wanted:
            assert not status["trouble"], status
            await asyncio.sleep(LOOK_S)
            status = await self.status()
        return status

    async def event(self, kind: str, after: int = 0) -> dict:
        """The first event of this kind, waiting for it."""
        while True:
            found = await self.does("wait_for_changes", cursor=after, timeout_s=60)
            for each in found["events"]:
                if each["kind"] == kind:
                    return each
            after = found["next_cursor"]

    async def told(self, seen: int = 0) -> dict:
        """What the next run says that it was given, beyond the first so many."""
        while len(found := sorted(self.runs.glob("run-*.json"), key=lambda file: file.stat().st_mtime_ns)) <= seen:
            await asyncio.sleep(LOOK_S)
        return json.loads(found[-1].read_text())

    def left(self) -> set[int]:
        """All that the council led to and that still runs, itself included. Roles show their environment to nobody but root: see `watchers`."""
        return {pid for pid, _ in marked(TRACE, self.trace)} | {pid for pid in self.seen if is_running(pid)}

    def watchers(self) -> list[int]:
        """As the council has written them down."""
        file = self.home.council / "awake" / "running.json"
        pids = [row["pgid"] for row in json.loads(file.read_text())] if file.exists() else []
        self.seen.update(pids)
        return pids

    async def only_council_left(self) -> None:
        while self.left() - {self.role.pid}:
            await asyncio.sleep(LOOK_S)


def play(tmp_path, story) -> None:
    async def run() -> None:
        chain = Chain(tmp_path)
        try:
            await story(await chain.made())
        finally:
            if chain.role is not None and chain.role.is_running():
                await chain.role.stop()
            end_marked(TRACE, chain.trace)                     # there is something only after a failure
    asyncio.run(asyncio.wait_for(run(), STORY_S))


class Held:
    """What ann holds open with her own key: a poll, a stream and a socket."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.client = chain, HttpClient(environ={})

    async def __aenter__(self) -> Held:
        program = self.chain.program("ann")
        cursor = (await self.chain.does("events_since", cursor=2**40))["next_cursor"]
        self.poll = asyncio.ensure_future(program.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "wait_for_updates", "arguments": {"timeout_s": 900, "cursor": cursor}}}))
        self.stream = await Stream.open(program, "GET")
        assert self.stream.status == 200
        self.socket = await connect(self.client, f"ws://127.0.0.1:{program.port}/ws", {"authorization": f"Bearer {program.key}"})
        while {"poll", "stream", "socket"} - await self.kinds():
            await asyncio.sleep(LOOK_S)
        return self

    async def kinds(self) -> set[str]:
        """What the council says that ann holds open, her watcher's poll among it."""
        rows = await self.chain.does("list_connections")
        return {each["kind"] for row in rows if row["name"] == "ann" for each in row["connections"]}

    async def are_cut(self) -> None:
        """All three have ended."""
        await asyncio.gather(self.poll, self._end(self.stream.next), self._end(self.socket.receive), return_exceptions=True)

    @staticmethod
    async def _end(hear) -> None:
        while await hear() is not None:
            pass

    async def __aexit__(self, *problem: object) -> None:
        self.poll.cancel()
        self.stream.leave()
        self.socket.close()
        await self.client.close()


@linux
def test_a_question_wakes_an_agent_whose_answer_becomes_a_record(tmp_path):
    async def story(chain: Chain):
        await chain.does("set_agent_awake", id=chain.ids["ann"], awake=True)
        await chain.state("awake")
        bob = chain.program("bob")
        assert "Thread 1 " in await bob.says("create_thread", title="Does the cart hold?", body="@ann try to break it", tag="ADVERSARIAL_REVIEW", room="general")
        answer = await chain.event("message.created")
        assert answer["actor_agent_id"] == chain.ids["ann"] and answer["payload"]["supervised"] is True and answer["payload"]["verdict"] == "CLEARED"
        told = await chain.told()
        assert told["key"].startswith("rvdlive_") and told["threads"] == ["1"] == [told["named"]] and (told["me"], told["server"]) == ("ann", "rivendell")
        assert told["cwd"] == str(chain.project.resolve())
        assert told["ours"] == ["RIVENDELL_AGENT", "RIVENDELL_KEY", "RIVENDELL_MARK", "RIVENDELL_THREADS", "RIVENDELL_URL"]      # no model key, no setting, not the watcher's credential
        assert (await chain.event("thread.claimed"))["payload"] == {"note": "reading", "supervised": True}
        status = await chain.state("awake")
        assert status["starts_last_hour"] == 1 and status["last_run_at"] and status["threads"] == []
        await bob.says("resolve_thread", thread_id=1, summary="It holds.")
        record = (chain.project / ".rivendell" / "threads" / "0001-does-the-cart-hold.md").read_text()
        assert "It holds." in record and "**CLEARED**" in record and "ann" in record and "status: RESOLVED" in record
        assert len(list(chain.runs.iterdir())) == 1                            # neither its own answer nor the end woke it again
        assert await chain.role.stop() == 0
        assert not chain.left() and not chain.watchers()
    play(tmp_path, story)


@linux
@pytest.mark.parametrize("how", ["revoked", "council killed"])
def test_nothing_of_an_agent_is_left_once_it_is_revoked_or_the_council_was_killed(tmp_path, how):
    async def story(chain: Chain):
        await chain.does("set_agent_awake", id=chain.ids["ann"], awake=True)
        await chain.program("bob").says("create_thread", title="STAY with it", body="@ann", tag="FYI", room="general")
        told = await chain.told()
        (watcher,) = chain.watchers()
        there = {watcher, told["pid"], told["loner"]}
        assert there <= chain.left() and (await chain.state("running"))["threads"] == [1]
        async with Held(chain) as held:
            if how == "revoked":
                await chain.does("set_agent_revoked", id=chain.ids["ann"])
            else:
                os.kill(chain.role.pid, signal.SIGKILL)
                await chain.role.wait()
            await held.are_cut()
            if how == "revoked":
                assert "revoked" in held.poll.result().json()["result"]["content"][0]["text"] and held.socket.ended.code == 1008
        await chain.only_council_left()
        assert not any(is_running(pid) for pid in there)
        if how == "revoked":
            for key in (chain.keys["ann"], told["key"]):
                assert (await Program(chain.run["port"], key).send({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status == 401
            assert (await chain.does("awake_status")) == [each for each in await chain.does("awake_status") if each["agent_id"] != chain.ids["ann"]]
            return
        await chain.starts()                                                    # the switch is kept: it is woken for what still waits
        again = await chain.told(seen=1)
        assert again["threads"] == ["1"] and again["key"] != told["key"]
        assert (await Program(chain.run["port"], told["key"]).send({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status == 401
        assert (await chain.state("running"))["starts_last_hour"] == 2          # counted over the council's death
        await chain.does("set_agent_awake", id=chain.ids["ann"], awake=False)
        await chain.only_council_left()
    play(tmp_path, story)


@linux
def test_what_outlived_a_council_and_its_watcher_is_ended_by_the_next_council(tmp_path):
    async def story(chain: Chain):
        await chain.does("set_agent_awake", id=chain.ids["ann"], awake=True)
        await chain.program("bob").says("create_thread", title="STAY with it", body="@ann", tag="FYI", room="general")
        told = await chain.told()
        doomed = {chain.role.pid, *chain.watchers()}
        wardens = chain.left() - doomed - {told["pid"], told["loner"]}
        for pid in (*doomed, *wardens):
            os.kill(pid, signal.SIGSTOP)                                        # so that none of them sees another's end
        for pid in (*doomed, *wardens):
            os.kill(pid, signal.SIGKILL)
        await chain.role.wait()
        assert {told["pid"], told["loner"]} <= chain.left() and chain.watchers()
        stray = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(1000)")
        try:
            await chain.starts()
            while {told["pid"], told["loner"]} & chain.left():
                await asyncio.sleep(LOOK_S)
            assert stray.returncode is None and is_running(stray.pid)           # only what carries the mark
        finally:
            stray.kill()
            await stray.wait()
        assert (await chain.told(seen=1))["threads"] == ["1"]
        assert await chain.role.stop() == 0 and not chain.left()
    play(tmp_path, story)
