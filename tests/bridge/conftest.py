"""A scripted council over HTTP, a bridge in this process, and the host that speaks to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from rulith.forum.bridge import Bridge
from rulith.net.client import HttpClient
from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.net.server import serve

STORY_S, WAIT_S = 60.0, 30.0
KEY = "rvd_abcdefghijkm_" + "s" * 43
ME = {"agent_id": 7, "name": "ann", "project": "Shop", "rooms": [{"name": "general"}, {"name": "api"}]}
OPENED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "rivendell", "version": "1"}, "instructions": "Hello."}


def tool_answer(request_id: object, value: dict) -> dict:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": json.dumps(value)}]}}


class Scripted:
    """The council's address as a script: what it was asked, and a table of what it answers.

    answers   method, or the name of a tool -> a value, a Response, or an async function of (message, request)
    """

    def __init__(self) -> None:
        self.asked: list[tuple[dict, Request]] = []
        self.gone: list[object] = []                # ids whose connection was cut while they were held
        self.answers: dict[str, object] = {"initialize": OPENED, "ping": {}, "whoami": ME, "wait_for_updates": self.hold}
        self.server = None

    async def handle(self, request: Request) -> Response | StreamResponse:
        message = json.loads(request.body)
        self.asked.append((message, request))
        if isinstance(message, list):
            found = [await self.answer(each, request) for each in message]
            told = [json.loads(each.body) for each in found if isinstance(each, Response) and each.body]
            return json_response(200, told) if told else Response(202)
        return await self.answer(message, request)

    async def answer(self, message: dict, request: Request) -> Response | StreamResponse:
        if "id" not in message:
            return Response(202)
        name = message["params"]["name"] if message["method"] == "tools/call" else message["method"]
        script = self.answers.get(name, {})
        if isinstance(script, Callable):
            script = await script(message, request)
        if isinstance(script, (Response, StreamResponse)):
            return script
        if message["method"] == "tools/call":
            return json_response(200, tool_answer(message["id"], script))
        return json_response(200, {"jsonrpc": "2.0", "id": message["id"], "result": script})

    async def hold(self, message: dict, request: Request) -> Response:
        """Wait until the client cuts the connection."""
        await request.wait_client_gone()
        self.gone.append(message["id"])
        return Response(202)

    def count(self, name: str) -> int:
        return sum(1 for message, _ in self.asked if isinstance(message, dict) and (message.get("method") == name or (message.get("params") or {}).get("name") == name))


class Talk:
    """A host: says lines, reads lines."""

    def __init__(self, script: Scripted, url: str, key: str = KEY) -> None:
        self.script, self.url = script, url
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.said: list[str] = []
        self.is_host_gone = False
        self.client = HttpClient(environ={})
        self.bridge = Bridge(self.client, url, key, write=self._write, say=self.said.append, retry_s=0.05)

    def _write(self, line: bytes) -> None:
        if self.is_host_gone:
            raise BrokenPipeError
        assert line.endswith(b"\n") and line.count(b"\n") == 1 and b"\r" not in line
        self.lines.put_nowait(line)

    def says(self, *messages: object) -> None:
        self.bridge.receive(b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages))

    async def hears(self) -> dict:
        return json.loads(await asyncio.wait_for(self.lines.get(), WAIT_S))

    async def opens(self) -> dict:
        self.says({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
        return await self.hears()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        await self.bridge.close()
        await self.client.close()


def call(request_id: object, tool: str, **arguments) -> dict:
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.fixture
def talking():
    """Run a story of a host, a bridge and a scripted council."""
    def play(story, script: Scripted | None = None) -> None:
        async def run() -> None:
            council = script or Scripted()
            council.server = await serve(council.handle)
            talk = Talk(council, f"http://127.0.0.1:{council.server.port}/mcp")
            try:
                await story(talk)
            finally:
                await talk.close()
                await council.server.close(drain_s=0.0)
        asyncio.run(asyncio.wait_for(run(), STORY_S))
    return play
