"""A council in a folder of its own: one project, a room, agents and the person."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rulith.base.clock import ManualClock, SystemClock
from rulith.council.shapes import PERSON, Actor
from rulith.disk.home import Home
from rulith.forum.forum import Forum
from rulith.forum.service import Council as Service, open_council
from rulith.store.council_db import CouncilDb
from rulith.wire.sse import EventStream, StreamEvent
from tests.gateway.conftest import Answer, http

STORY_S, KEY = 60.0, "rvp_the-key-of-this-run"


class PlainFolder:
    """A project's folder without its jail: what the forum asks of one, and no more."""

    def __init__(self, path: str) -> None:
        self.path, self.written = str(Path(path).resolve()), {}

    def is_readable(self) -> bool:
        return Path(self.path).is_dir()

    def remote(self) -> str | None:
        return None

    def excerpt(self, path: str, start: int | None, end: int | None) -> tuple[str, str]:
        return path, "\n".join(Path(self.path, path).read_text().splitlines()[(start or 1) - 1:end])

    def diff(self, base: str | None, path: str | None) -> str:
        return ""

    def state(self) -> tuple[str | None, bool]:
        return None, False

    def write_record(self, name: str, text: str) -> str:
        place = Path(self.path, ".rivendell", "threads", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        return str(place.relative_to(self.path))


class Council:
    def __init__(self, folder: Path) -> None:
        self.clock, self.folder = ManualClock(), folder / "project"
        self.folder.mkdir(exist_ok=True)
        self.file = folder / "council.db"
        self.open()
        self.project = self.act("create_project", name="Shop", folder=str(self.folder))
        self.room = self.act("list_rooms")[0]["id"]
        self.keys: dict[str, str] = {}

    def open(self) -> None:
        self.forum = Forum(CouncilDb.open(self.file, self.clock), self.clock, folder=PlainFolder)

    def act(self, act: str, /, **arguments):
        return self.forum.run(PERSON, act, arguments)

    def agent(self, name: str, *rooms: int) -> Actor:
        made = self.act("create_agent", project_id=self.project["id"], name=name, rooms=list(rooms or (self.room,)))
        self.keys[name] = made["api_key"]
        return self.forum.authenticate(made["api_key"])

    def does(self, actor: Actor, act: str, /, **arguments):
        return self.forum.run(actor, act, arguments)

    def opens(self, actor: Actor | None = None, body: str = "@ann what now?", **arguments) -> int:
        asked = {"title": "A question", "body": body, "tag": "ADVERSARIAL_REVIEW", "room": self.room, **arguments}
        return self.forum.run(actor or PERSON, "create_thread", asked)["thread_id"]

    def events(self, after: int = 0) -> list[dict]:
        return self.forum.db.events_after(after, 1_000)


@pytest.fixture
def council(tmp_path):
    made = Council(tmp_path)
    yield made
    made.forum.db.close()


class Served:
    """A council on a port of its own, with one project, and the person's program that talks to it."""

    def __init__(self, council: Service) -> None:
        self.council, self.key = council, KEY

    async def post(self, name: str, arguments: object = None, /, **headers: str) -> Answer:
        body = arguments if isinstance(arguments, bytes) else json.dumps({} if arguments is None else arguments).encode()
        rows = {"authorization": f"Bearer {self.key}", "content-type": "application/json", **headers}
        return await http(self.council.port, "POST", f"/api/{name}", rows, body)

    async def does(self, name: str, /, **arguments):
        answer = await self.post(name, arguments)
        assert answer.status == 200, answer.body
        return answer.json()["result"]

    async def is_refused(self, name: str, /, **arguments) -> tuple[int, str, str]:
        """(status, code, words) of the refusal."""
        answer = await self.post(name, arguments)
        told = answer.json()
        assert told["ok"] is False and set(told) == {"ok", "errorCode", "teaching", "text"}
        return answer.status, told["errorCode"], told["text"]


class Program:
    """An agent's program, which talks MCP with its key: each request on a connection of its own."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def headers(self, **more: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}", "content-type": "application/json", "accept": "application/json, text/event-stream",
                **{name.replace("_", "-"): value for name, value in more.items()}}

    async def send(self, body: object, **headers: str) -> Answer:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await http(self.port, "POST", "/mcp", self.headers(**headers), raw)

    async def ask(self, method: str, params: dict | None = None, request_id: object = 1, **headers: str) -> dict:
        """The answer's body."""
        answer = await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}, **headers)
        return answer.json()

    async def call(self, name: str, /, **arguments) -> dict:
        """The result of a tool."""
        return (await self.ask("tools/call", {"name": name, "arguments": arguments}))["result"]

    async def says(self, name: str, /, **arguments) -> str:
        """The text of a tool that was not refused."""
        result = await self.call(name, **arguments)
        assert result["isError"] is False, result
        (item,) = result["content"]
        assert item["type"] == "text"
        return item["text"]


class Stream:
    """An answer that comes in pieces: its head, then its messages, each as it arrives."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._events, self._found = EventStream(), []
        self.status, self.headers, self.raw = 0, {}, b""

    @classmethod
    async def open(cls, program: Program, method: str, body: object = None, **headers: str) -> Stream:
        reader, writer = await asyncio.open_connection("127.0.0.1", program.port)
        self = cls(reader, writer)
        raw = b"" if body is None else json.dumps(body).encode()
        rows = {"host": f"127.0.0.1:{program.port}", "content-length": str(len(raw)), **program.headers(**headers)}
        writer.write(f"{method} /mcp HTTP/1.1\r\n".encode() + "".join(f"{name}: {value}\r\n" for name, value in rows.items()).encode() + b"\r\n" + raw)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.status = int(head[0].split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
        return self

    async def next(self) -> dict | None:
        """The next message; None at the stream's end."""
        event = await self.event()
        return None if event is None else json.loads(event.data)

    async def event(self) -> StreamEvent | None:
        while not self._found:
            size = await self._reader.readline()
            if not size.strip() or int(size, 16) == 0:
                return None
            piece = (await self._reader.readexactly(int(size, 16) + 2))[:-2]
            self.raw += piece
            self._found += self._events.receive(piece)
        return self._found.pop(0)

    def leave(self) -> None:
        self._writer.close()


@pytest.fixture
def served(tmp_path):
    """Run a story against a served council."""
    folder = tmp_path / "project"
    folder.mkdir()

    def play(story) -> None:
        async def run() -> None:
            council = open_council(Home(tmp_path / "home"), SystemClock(), KEY)
            try:
                await council.listen((0,))
                talk = Served(council)
                await talk.does("create_project", name="Shop", folder=str(folder))
                await story(talk)
            finally:
                await council.close()
        asyncio.run(asyncio.wait_for(run(), STORY_S))
    return play
