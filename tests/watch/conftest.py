"""A council that says what a test tells it to, and a watcher beside it in one loop; commands are real."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.net.messages import Upgrade
from rulith.net.server import Request, Response, json_response, serve
from rulith.net.websocket import WebSocket, accept
from rulith.watching.settings import WatchSettings
from rulith.watching.watcher import Watcher

STORY_S, WAIT_S = 110.0, 60.0
ME, OTHER, KEY = 5, 9, "rvd_abcdefghijkm_of-the-watcher"

# What a test's command does: it leaves what it was given, one file for each run.
RECORD = """
import json, os, sys
folder = sys.argv[1]
name = os.path.join(folder, "run-%d.json" % os.getpid())
with open(name + ".new", "w") as file:
    json.dump({"args": sys.argv[2:], "env": {name: value for name, value in os.environ.items() if name.startswith(("RIVENDELL", "RULITH"))}, "pid": os.getpid()}, file)
os.replace(name + ".new", name)
"""


class Scripted:
    """Answers `whoami` by itself and each poll with the next thing that `says` was given; a poll without one is held."""

    def __init__(self) -> None:
        self.calls: list[dict] = []
        self.key = KEY
        self.url = ""
        self.held = 0
        self.sockets: list[WebSocket] = []
        self.opened = 0
        self.on_open: list[dict] = []
        self.socket_status = 0
        self._answers: asyncio.Queue = asyncio.Queue()
        self.cursor = 10
        self.whoami: object = {"agent_id": ME, "name": "ann", "rooms": []}

    def says(self, answer: object) -> None:
        """A tool's answer, a status, or None for a connection that is cut."""
        self._answers.put_nowait(answer)

    def moves(self, *threads: int, kind: str = "message.created", actor: int = OTHER, needs: object = ...) -> None:
        """Events in these threads, as the council tells them."""
        self.cursor += len(threads)
        rows = [{"seq": self.cursor, "thread_id": each, "kind": kind, "actor_agent_id": actor} for each in threads]
        answer = {"next_cursor": self.cursor, "events": rows}
        if needs is not None:
            answer["needs_you"] = sorted(set(threads)) if needs is ... else needs
        self.says(answer)

    def quiet(self) -> None:
        self.says({"next_cursor": self.cursor, "events": [], "needs_you": [], "note": "nothing"})

    @property
    def polls(self) -> list[dict]:
        return [call["arguments"] for call in self.calls if call["name"] == "wait_for_updates"]

    def frame(self, frame: object) -> None:
        """To every socket that is open."""
        for socket in self.sockets:
            socket.send(frame if isinstance(frame, str) else json.dumps(frame))

    def wakes(self, thread: int, kind: str = "message.created") -> None:
        self.frame({"needs_you": [thread], "events": [{"kind": kind, "thread_id": thread}]})

    def cut(self, code: int = 1011) -> None:
        for socket in self.sockets:
            socket.close(code)

    async def _hold(self, socket: WebSocket) -> None:
        self.opened += 1
        self.sockets.append(socket)
        for frame in self.on_open:
            socket.send(json.dumps(frame))
        await socket.receive()                          # nothing: it ends
        self.sockets.remove(socket)

    async def handle(self, request: Request) -> Response | Upgrade:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return json_response(401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no"}})
        if request.path == "/ws":
            return json_response(self.socket_status, {}) if self.socket_status else accept(request, self._hold, lambda: WebSocket(is_client=False, texts_max=0))
        message = json.loads(request.body)
        assert request.path == "/mcp" and message["method"] == "tools/call"
        self.calls.append(message["params"])
        answer = self.whoami if message["params"]["name"] == "whoami" else await self._next(request)
        if answer is None:
            raise ConnectionError
        if isinstance(answer, int):
            return json_response(answer, {"error": "scripted"})
        if isinstance(answer, str):
            result = {"isError": True, "content": [{"type": "text", "text": answer}]}
        else:
            result = {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer}
        return json_response(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _next(self, request: Request) -> object:
        self.held += 1
        coming, gone = asyncio.ensure_future(self._answers.get()), asyncio.ensure_future(request.wait_client_gone())
        try:
            await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() else 500
        finally:
            coming.cancel()
            gone.cancel()
            self.held -= 1


class Story:
    """A watcher that runs beside the scripted council."""

    def __init__(self, council: Scripted, folder: Path) -> None:
        self.council, self.folder = council, folder
        self.reports: list[dict] = []
        self.said: list[str] = []
        self.told: list[str] = []
        self._moved = asyncio.Event()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.watching: asyncio.Task[int] | None = None

    def begin(self, *command: str, env: dict[str, str] | None = None, **flags) -> None:
        given = {"settle_s": 0.1, "wait_s": 900, **flags}
        settings = WatchSettings(url=self.council.url, key=KEY, run_key=given.pop("run_key", KEY), command=command, **given)
        watcher = Watcher(settings, {**os.environ, **(env or {})}, SystemClock(), report=self._report, say=self.said.append, tell=self.told.append)
        self.watching = asyncio.ensure_future(watcher.watch(self.ended))

    def records(self, *arguments: str, **flags) -> None:
        """Begin with a command that leaves what it was given."""
        self.begin(sys.executable, "-c", RECORD, str(self.folder), *arguments, **flags)

    def _report(self, state: str, **facts) -> None:
        self.reports.append({"state": state, **facts})

    @property
    def runs(self) -> list[list[int]]:
        return [report["threads"] for report in self.reports if report["state"] == "running"]

    def left(self) -> list[dict]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("run-*.json"), key=lambda path: path.stat().st_mtime_ns)]

    async def until(self, condition) -> None:
        """Wait for it, as long as the watcher goes on; a watcher that failed says why."""
        while not condition():
            if self.watching is not None and self.watching.done() and not condition():
                raise AssertionError(f"it ended with {self.watching.result()}: {self.said} {self.reports}")
            await asyncio.sleep(0.01)

    async def end(self) -> int:
        """The exit status, by itself or within the bound."""
        done, _ = await asyncio.wait({self.watching}, timeout=WAIT_S)
        assert done, (self.reports, self.said)
        return self.watching.result()

    async def close(self) -> None:
        if self.watching is not None and not self.watching.done():
            self.watching.cancel()
            await asyncio.wait({self.watching})


def to_its_end(story) -> None:
    """Run the coroutine `story` in a loop of its own, for STORY_S at most."""
    async def bounded() -> None:
        telling = asyncio.ensure_future(story)
        done, _ = await asyncio.wait({telling}, timeout=STORY_S)
        if not done:
            telling.cancel()
            await asyncio.wait({telling})
            raise AssertionError("the story did not come to its end")
        telling.result()
    asyncio.run(bounded())


@pytest.fixture
def watched(tmp_path):
    """Play a story with a scripted council and a watcher."""
    folder = tmp_path / "runs"
    folder.mkdir()

    def play(tell) -> None:
        async def run() -> None:
            council = Scripted()
            server = await serve(council.handle, "127.0.0.1", 0)
            council.url = f"http://127.0.0.1:{server.port}/mcp"
            story = Story(council, folder)
            try:
                await tell(story)
            finally:
                await story.close()
                await server.close(drain_s=0.1)

        to_its_end(run())
    return play
