"""Many agents that wait at once: what that costs while nothing happens, and how often a burst wakes whom. Short form of `.ci/run --long council`.

Duty: the council surface, "wait_for_updates", "Wake socket", "The wake rule"; the design's numbers for waiting agents.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient
from rulith.net.websocket import connect
from rulith.procs.roles import RoleProcess
from rulith.watching.settings import WatchSettings
from rulith.watching.watcher import Watcher
from tests.forum.conftest import Program, Stream
from tests.gateway.conftest import http

WAIT_S, LOOK_S, POLL_S, STORY_S = 60.0, 0.01, 900, 110.0
KINDS = ("socket", "stream", "poll")
PING, PONG = 0x9, 0xA


class Counting:
    """A forwarder before the council that counts: connections, and what clients send on them."""

    def __init__(self, port: int) -> None:
        self.target, self.port, self.opened = port, 0, 0
        self.sent: dict[int, bytearray] = {}              # connection -> what its client sent since `begin`
        self.heard_bytes = 0
        self._tasks: set[asyncio.Task] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def begin(self) -> None:
        """Count from now on."""
        self.opened, self.heard_bytes = 0, 0
        for sent in self.sent.values():
            sent.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())
        number, self.opened = len(self.sent), self.opened + 1
        sent = self.sent[number] = bytearray()
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers += [writer, back]

        async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, note) -> None:
            try:
                while data := await source.read(65_536):
                    note(data)
                    sink.write(data)
            except OSError:
                pass
            finally:
                sink.close()

        await asyncio.gather(pass_on(reader, back, sent.extend), pass_on(there, writer, self._hear))

    def _hear(self, data: bytes) -> None:
        self.heard_bytes += len(data)

    def requests(self) -> list[bytes]:
        """What was sent since `begin` and is no ping or pong."""
        return [bytes(sent[:80]) for sent in self.sent.values() if _signs(sent) is None]

    def signs(self) -> int:
        return sum(_signs(sent) or 0 for sent in self.sent.values())

    async def close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _signs(data: bytes) -> int | None:
    """How many whole masked pings and pongs of a WebSocket these are; None where they are anything else."""
    count = 0
    while data:
        if len(data) < 6 or data[0] & 0x0F not in (PING, PONG) or not data[0] & 0x80 or not data[1] & 0x80:
            return None
        data, count = data[6 + (data[1] & 0x7F):], count + 1
    return count


class Many:
    """A council in a process of its own, so many agents, and the person whose replies wake them."""

    def __init__(self, folder: Path, agents: int) -> None:
        self.folder, self.agents, self.clock = folder, agents, SystemClock()
        self.home = Home(folder / "home")
        self.client = HttpClient(environ={})
        self.heard: list[asyncio.Queue] = [asyncio.Queue() for _ in range(agents)]       # moments at which each was told of a message
        self.tasks: list[asyncio.Task] = []
        self.runs: Counter = Counter()                       # of each watcher
        self.states: dict[int, str] = {}
        self.role: RoleProcess = None  # type: ignore[assignment]
        self.proxy: Counting = None  # type: ignore[assignment]

    async def begin(self) -> None:
        (self.folder / "project").mkdir()
        self.role = await RoleProcess.spawn("council", args=["serve", "--home", str(self.home.path), "--port", "0"], log_path=self.folder / "council.log")
        await self.role.wait_for_event("listening", WAIT_S)
        self.run = read_live(self.home.council_json)
        await self.does("create_project", name="Shop", folder=str(self.folder / "project"))
        await self.does("update_room", id=1, max_thread_messages=100_000, max_replies_per_agent=100_000)
        self.names = [f"a{number}" for number in range(self.agents)]
        made = [await self.does("create_agent", project_id=1, name=name, rooms=[1]) for name in self.names]
        self.keys, self.ids = [each["api_key"] for each in made], [each["agent_id"] for each in made]
        self.proxy = Counting(self.run["port"])
        await self.proxy.start()

    async def end(self) -> None:
        await self.let_go()
        await self.client.close()
        if self.proxy is not None:
            await self.proxy.close()
        await self.role.stop()

    async def does(self, name: str, /, **arguments):
        answer = await http(self.run["port"], "POST", f"/api/{name}", {"authorization": f"Bearer {self.run['key']}"}, json.dumps(arguments).encode())
        assert answer.status == 200, answer.body
        return answer.json()["result"]

    async def asks(self, asked: list[int]) -> int:
        done = await self.does("create_thread", room=1, title="A question", body="What do you think?", tag="FYI", mentions=[self.ids[each] for each in asked])
        return done["thread_id"]

    # --- waiting by hand -----------------------------------------------------------------

    async def wait_all(self) -> None:
        """Every agent waits: a third each on a socket, a stream and a long poll."""
        cursor = (await self.does("events_since", cursor=2**40))["next_cursor"]
        for number in range(self.agents):
            wait = (self._socket, self._stream, self._poll)[number % 3]
            self.tasks.append(asyncio.ensure_future(wait(number, cursor)))
        await self.held(self.agents)

    async def held(self, count: int) -> None:
        """So many agents hold something open."""
        while len([each for each in await self.does("list_connections") if each["connections"]]) != count:
            self.check()
            await asyncio.sleep(LOOK_S)

    def check(self) -> None:
        for task in self.tasks:
            if task.done():
                task.result()
                raise AssertionError("a wait has ended")

    async def let_go(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks = []

    def _note(self, number: int) -> None:
        self.heard[number].put_nowait(self.clock.monotonic_s())

    async def _socket(self, number: int, cursor: int) -> None:
        socket = await connect(self.client, f"ws://127.0.0.1:{self.proxy.port}/ws", {"authorization": f"Bearer {self.keys[number]}"})
        try:
            while (text := await socket.receive()) is not None:
                for each in json.loads(text).get("events", ()):
                    if each["kind"] == "message.created":
                        self._note(number)
        finally:
            socket.close()

    async def _stream(self, number: int, cursor: int) -> None:
        stream = await Stream.open(Program(self.proxy.port, self.keys[number]), "GET")
        try:
            while (message := await stream.next()) is not None:
                if message["method"] == "notifications/message" and message["params"]["data"]["kind"] == "message.created":
                    self._note(number)
        finally:
            stream.leave()

    async def _poll(self, number: int, cursor: int) -> None:
        program = Program(self.proxy.port, self.keys[number])
        while True:
            told = json.loads(await program.says("wait_for_updates", cursor=cursor, timeout_s=POLL_S))
            cursor = told["next_cursor"]
            for each in told["events"]:
                if each["kind"] == "message.created":
                    self._note(number)

    async def wake_latencies(self, thread: int, replies: int) -> dict[str, list[float]]:
        """From a reply's sending to each agent's hearing of it, in ms, by kind of waiting."""
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for number in range(replies):
            sent_s = self.clock.monotonic_s()
            await self.does("reply", thread_id=thread, body=f"{number}")
            for each in range(self.agents):
                heard_s = await self.heard[each].get()
                found[KINDS[each % 3]].append((heard_s - sent_s) * 1_000)
        return found

    # --- watchers ------------------------------------------------------------------------

    async def watch_all(self) -> None:
        """Every agent has a watcher, half of them on sockets, whose command only comes and goes."""
        for number in range(self.agents):
            self.tasks.append(asyncio.ensure_future(self._watch(number)))
        await self.held(self.agents)

    async def _watch(self, number: int) -> None:
        settings = WatchSettings(f"http://127.0.0.1:{self.proxy.port}/mcp", self.keys[number], self.keys[number], (sys.executable, "-S", "-c", "1"), wait_s=POLL_S,
                                 ceiling=0, report=True, ws=number % 2 == 0)

        def report(state: str, **facts) -> None:
            self.states[number] = state
            if state == "running":
                self.runs[number] += 1
        watcher = Watcher(settings, dict(os.environ), self.clock, report=report, say=print, tell=print)
        await watcher.watch(asyncio.get_running_loop().create_future())

    async def burst(self, thread: int, writers: int, replies: int) -> None:
        """So many replies by so many agents, each writer's in one request."""
        async def write(number: int) -> None:
            calls = [{"jsonrpc": "2.0", "id": each, "method": "tools/call", "params": {"name": "reply", "arguments": {"thread_id": thread, "body": f"{number} {each}"}}}
                     for each in range(replies // writers)]
            answers = (await Program(self.run["port"], self.keys[number]).send(calls)).json()
            assert len(answers) == len(calls) and not any(each["result"]["isError"] for each in answers), answers[:1]
        await asyncio.gather(*(write(number) for number in range(writers)))

    async def calm(self, runs: int) -> None:
        """So many runs have begun, and every agent waits again with nothing left to do."""
        while sum(self.runs.values()) < runs or set(self.states.values()) != {"waiting"}:
            self.check()
            await asyncio.sleep(LOOK_S)
        await self.held(self.agents)

    # --- what it costs -------------------------------------------------------------------

    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.home.path.rglob("*") if file.is_file())

    def busy_s(self) -> float:
        """Processor time of the council so far."""
        fields = Path(f"/proc/{self.role.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


async def play(folder: Path, agents: int, story) -> None:
    many = Many(folder, agents)
    try:
        await many.begin()
        await story(many)
    finally:
        if many.role is not None:
            await many.end()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time as Linux tells it")
def test_agents_that_wait_send_nothing_and_cost_no_disk_and_each_hears_each_reply_once(tmp_path):
    async def story(many: Many):
        thread = await many.asks(list(range(many.agents)))
        await many.wait_all()
        many.proxy.begin()
        disk = many.disk_bytes()
        await asyncio.sleep(1.0)                               # nothing is awaited: that nothing comes is the point
        assert many.proxy.requests() == [] and many.proxy.opened == 0 and many.disk_bytes() == disk
        many.check()
        found = await many.wake_latencies(thread, 5)
        assert {kind: len(rows) for kind, rows in found.items()} == {kind: 5 * many.agents // 3 for kind in KINDS}
        assert all(queue.empty() for queue in many.heard)
    asyncio.run(asyncio.wait_for(play(tmp_path, 24, story), STORY_S))


def test_a_burst_wakes_each_agent_that_it_concerns_once_and_no_other(tmp_path):
    async def story(many: Many):
        concerned = list(range(many.agents - 2))
        thread = await many.asks(concerned)
        await many.watch_all()
        await many.calm(len(concerned))                        # the question itself was waiting
        many.runs.clear()
        await many.burst(thread, writers=1, replies=60)        # in one request, so that no pause of this machine cuts it in two
        await many.calm(len(concerned) - 1)
        assert many.runs == {number: 1 for number in concerned[1:]}              # what it writes itself does not wake the writer
    asyncio.run(asyncio.wait_for(play(tmp_path, 8, story), STORY_S))
