"""A family of the council's MCP: any message in any date is answered, and what was refused left nothing behind."""

from __future__ import annotations

import asyncio
import json
import random

from rulith.council.tools import NAMES
from rulith.forum.mcp import CouncilMcp
from rulith.forum.mcp_methods import OPENED
from rulith.forum.mcp_tools import CouncilTools
from rulith.forum.staying import Staying
from rulith.net.messages import Headers, Request, StreamResponse
from rulith.wire import mcp_stateless
from tests.fuzz.council import Acts, words
from tests.fuzz.mutations import mutated, pick, spelt

PATIENCE_S = 0.02
TOOLS = {**{name: Acts.SAMPLES.get({"edit_reply": "edit_message"}.get(name, name), {}) for name in NAMES}, "wait_for_updates": {"cursor": 0, "timeout_s": 5, "catch_up": True, "watcher": True}}
METHODS = {"initialize": {"protocolVersion": OPENED[0], "capabilities": {}}, "ping": {}, "tools/list": {}, "prompts/list": {}, "prompts/get": {"name": "perf", "arguments": {"thread_id": "1"}},
           "resources/list": {}, "resources/read": {"uri": "rivendell://thread/1"}, "resources/templates/list": {}, "logging/setLevel": {"level": "info"}, "server/discover": {},
           "notifications/cancelled": {"requestId": 1}}
READING = {"whoami", "list_threads", "get_thread", "wait_for_updates", "list_agents", "search", "read_file", "list_files", "git_diff"}


class Mcp(Acts):
    name = "council_mcp"
    chunk = 400

    def open(self) -> None:
        super().open()
        self.loop = asyncio.new_event_loop()
        self.surface = CouncilMcp(self.forum, CouncilTools(self.forum, Staying(None)))
        self.key = self.forum.mint_live(2)

    def close(self) -> None:
        assert not self.surface._running and not self.forum.bus._waiting and not any(about["connections"] for about in self.forum.presence.listed().values())
        self.loop.close()
        super().close()

    def make(self, rng: random.Random) -> bytes:
        if rng.random() < 0.75:
            name = pick(rng, NAMES)
            arguments = mutated(rng, TOOLS[name]) if rng.random() < 0.8 else TOOLS[name]
            if isinstance(arguments, dict) and rng.random() < 0.3:
                arguments = {key: words(rng) if isinstance(value, str) and rng.random() < 0.4 else value for key, value in arguments.items()}
            method, params = "tools/call", {"name": name, "arguments": arguments}
        else:
            method = pick(rng, tuple(METHODS))
            params = mutated(rng, METHODS[method])
        headers = {"accept": pick(rng, ("application/json", "application/json, text/event-stream", "text/event-stream", "*/*"))}
        if isinstance(params, dict) and rng.random() < 0.3:
            params = {**params, "_meta": {mcp_stateless.VERSION_KEY: mcp_stateless.DATE, mcp_stateless.CAPABILITIES_KEY: {}, **({"progressToken": 1} if rng.random() < 0.5 else {})}}
            named = params.get(mcp_stateless.NAMED_BY.get(method, ""))
            headers.update({"mcp-protocol-version": mcp_stateless.DATE, "mcp-method": method, **({"mcp-name": named} if isinstance(named, str) and named.isascii() and named.isprintable() and named == named.strip() else {})})
        elif rng.random() < 0.3:
            params = {**params, "_meta": {"progressToken": pick(rng, (1, "t", None, [1], True))}} if isinstance(params, dict) else params
            headers["mcp-protocol-version"] = pick(rng, (*OPENED, "1999-01-01", mcp_stateless.DATE))
        message = {"jsonrpc": "2.0", "id": rng.randint(0, 9), "method": method, "params": params}
        sent = mutated(rng, message) if rng.random() < 0.15 else [message, mutated(rng, message)] if rng.random() < 0.1 else message
        return json.dumps(headers).encode() + b"\n" + spelt(rng, sent)

    def play(self, data: bytes) -> bool:
        headers, _, body = data.partition(b"\n")
        return self.loop.run_until_complete(self._answered({**json.loads(headers), "authorization": f"Bearer {self.key}"}, body))

    async def _answered(self, headers: dict, body: bytes) -> bool:
        before = self.forum.db.latest_seq()
        request = Request("POST", "/mcp", Headers.of(headers), body)
        assert self.surface.head_check(request) is None
        answering = asyncio.ensure_future(self._whole(request))
        await asyncio.wait({answering}, timeout=PATIENCE_S)
        for held in [each for those in self.surface._running.values() for each in those]:
            held.cancel()                                        # what a cancellation does
        status, told = await answering
        assert status in (200, 202, 400, 404), status
        assert (status == 202) == (not told)
        for message in told:
            assert message["jsonrpc"] == "2.0" and ("result" in message) != ("error" in message)
            text = json.dumps(message, ensure_ascii=False)
            assert "failed to answer" not in text and "Traceback" not in text and "key_hash" not in text and "HUMAN" not in text
        is_good = bool(told) and all("result" in message and not message["result"].get("isError") for message in told)
        if len(told) == 1 and not is_good:
            assert self.forum.db.latest_seq() == before, "what was refused left an event"
        return is_good

    async def _whole(self, request: Request) -> tuple[int, list[dict]]:
        answer = await self.surface.handle(request)
        if isinstance(answer, StreamResponse):
            raw = b"".join([piece async for piece in answer.chunks])
        else:
            raw = answer.body
        if b"event: message" in raw[:20]:
            found = [json.loads(line[6:]) for line in raw.decode().split("\n") if line.startswith("data: {")]
            return answer.status, [message for message in found if "method" not in message]
        told = json.loads(raw) if raw else []
        return answer.status, told if isinstance(told, list) else [told]
