"""An MCP server of the names that the public conformance suite asks for, on this house's wire library.

Sessions, answer streams with event ids and replay, JSON-RPC and SSE are the product's; only
the tools, resources and prompts are made up here. Prints its address and serves until its
input ends.

    python -m tests.conformance.fixture_server
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
import sys
from collections.abc import AsyncIterator

from rulith.base.errors import Refused
from rulith.net.loopback import is_foreign_host, is_foreign_page
from rulith.net.messages import Request, Response, StreamResponse
from rulith.net.server import serve
from rulith.wire import jsonrpc
from rulith.wire.mcp_server import CURRENT, METHOD_NOT_FOUND, Rejected, Sessions, error_body, result_body
from rulith.wire.mcp_streams import AnswerStream
from rulith.wire.mcp_tools import progress_token

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00"
                       b"\x02\x00\x10\x00data\x00\x00\x00\x00").decode()
PAUSE_S = 0.05
RETRY_MS = 100
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
NO_ARGUMENTS = {"type": "object", "properties": {}}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def of_one(name: str, **more: object) -> dict:
    return {"type": "object", "properties": {name: {"type": "string", **more}}, "required": [name]}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
EMBEDDED = {"type": "resource", "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain",
                                             "text": "This is an embedded resource content."}}
MIXED = {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json",
                                          "text": '{"test":"data","value":123}'}}
FIXED = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [EMBEDDED],
    "test_multiple_content_types": [text("Multiple content types test:"), IMAGE, MIXED],
}
DEFAULTS = {"type": "object", "properties": {
    "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": True},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}}, "required": []}


def titled(*rows: tuple[str, str]) -> list[dict]:
    return [{"const": value, "title": title} for value, title in rows]


ENUMS = {"type": "object", "properties": {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"))},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": titled(("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice"))}},
}, "required": []}
ANSWER = {"type": "object", "properties": {"username": {"type": "string"}, "email": {"type": "string"}}, "required": ["username", "email"]}
ASKS = {"test_elicitation": (None, ANSWER), "test_elicitation_sep1034_defaults": ("Please review these values", DEFAULTS),
        "test_elicitation_sep1330_enums": ("Please choose", ENUMS)}
TYPED = {"name": "json_schema_2020_12_tool", "description": "Keeps every keyword of its schema.", "inputSchema": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}}, "additionalProperties": False}}

INPUTS = {**dict.fromkeys([*FIXED, *ASKS, "test_tool_with_logging", "test_tool_with_progress", "test_error_handling", "test_reconnection"],
                          NO_ARGUMENTS),
          "test_sampling": of_one("prompt"), "test_elicitation": of_one("message")}
TOOLS = [*({"name": name, "description": f"Does what its name says: {name}.", "inputSchema": schema} for name, schema in INPUTS.items()), TYPED]

RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}
TEMPLATE = re.compile(r"test://template/([^/]+)/data")
PROMPTS = {"test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"),
           "test_prompt_with_embedded_resource": ("resourceUri",), "test_prompt_with_image": ()}
CAPABILITIES = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}, "completions": {}}


def messages_of(name: str, given: dict) -> list[dict]:
    contents = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")],
        "test_prompt_with_embedded_resource": [
            {"type": "resource", "resource": {"uri": given.get("resourceUri", ""), "mimeType": "text/plain",
                                              "text": "Embedded resource content for testing."}},
            text("Please process the embedded resource above.")],
        "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
    }
    return [{"role": "user", "content": content} for content in contents[name]]


class Peer:
    """One session: what its client may be asked, and what is open with it."""

    def __init__(self, session, capabilities: dict) -> None:
        self.session = session
        self.capabilities = capabilities
        self.level = LEVELS.index("info")
        self.asked: dict[object, asyncio.Future] = {}
        self._ids = itertools.count(1)

    async def ask(self, stream: AnswerStream, method: str, params: dict) -> dict:
        request_id = f"ask_{next(self._ids)}"
        self.asked[request_id] = asyncio.get_running_loop().create_future()
        stream.say(jsonrpc.request(request_id, method, params))
        return await self.asked[request_id]


class Fixture:
    def __init__(self) -> None:
        self.sessions = Sessions()
        self._peers: dict[str, Peer] = {}
        self._count = itertools.count(1)
        self._calls: set[asyncio.Task] = set()

    async def handle(self, request: Request) -> Response | StreamResponse:
        if is_foreign_host(request) or is_foreign_page(request):
            return Response(403)
        try:
            session_id = request.headers.get("mcp-session-id")
            if request.method == "GET":
                peer = self._peer(session_id)
                parts = self.sessions.resumed(peer.session, request.headers.get("last-event-id"))
                return self._stream(peer, parts)
            if request.method == "DELETE":
                self.sessions.end(self._peer(session_id).session)
                return Response(204)
            return await self._post(request, session_id)
        except Rejected as rejected:
            return self._json(rejected.status, rejected.body)
        except Refused as refusal:
            return self._json(400, jsonrpc.error_of(refusal))

    def _peer(self, session_id: str | None) -> Peer:
        return self._peers[self.sessions.find(session_id or "", session_id, None).id]

    async def _post(self, request: Request, session_id: str | None) -> Response | StreamResponse:
        messages, is_batch = jsonrpc.read_messages(request.body)
        if is_batch:
            raise Rejected(400, jsonrpc.INVALID_REQUEST, "One message a request.")
        message = messages[0]
        if isinstance(message, jsonrpc.Request) and message.method == "initialize":
            return self._initialize(message)
        peer = self._peer(session_id)
        if isinstance(message, jsonrpc.Response):
            waiting = peer.asked.pop(message.id, None)
            if waiting is not None:
                waiting.set_result(message.result if message.result is not None else {"error": message.error})
            return Response(202)
        if isinstance(message, jsonrpc.Notification):
            return Response(202)
        if message.method == "tools/call":
            return self._call(peer, message)
        return self._json(200, result_body(message.id, self._answer(peer, message)), peer)

    def _initialize(self, message: jsonrpc.Request) -> Response:
        name = f"session-{next(self._count)}"
        session, _ = self.sessions.open(name, message.params, message.id, mint=lambda: name)
        peer = self._peers[session.id] = Peer(session, message.params.get("capabilities", {}))
        result = {"protocolVersion": session.protocol_version, "capabilities": CAPABILITIES,
                  "serverInfo": {"name": "rulith-conformance", "version": "1.0.0"}}
        return self._json(200, result_body(message.id, result), peer)

    def _answer(self, peer: Peer, message: jsonrpc.Request) -> dict:
        method, params = message.method, message.params
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "resources/list":
            return {"resources": [{"uri": uri, "name": uri.rpartition("/")[2], "description": "For the suite.", "mimeType": row["mimeType"]}
                                  for uri, row in RESOURCES.items()]}
        if method == "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}]}
        if method == "resources/read":
            return {"contents": [{"uri": params.get("uri"), **self._resource(message)}]}
        if method == "prompts/list":
            return {"prompts": [{"name": name, "description": "For the suite.", "arguments": [
                {"name": argument, "description": argument, "required": True} for argument in arguments]} for name, arguments in PROMPTS.items()]}
        if method == "prompts/get" and params.get("name") in PROMPTS:
            return {"messages": messages_of(params["name"], params.get("arguments", {}))}
        if method == "completion/complete":
            return {"completion": {"values": [], "total": 0, "hasMore": False}}
        if method == "logging/setLevel" and params.get("level") in LEVELS:
            peer.level = LEVELS.index(params["level"])
            return {}
        if method in ("ping", "resources/subscribe", "resources/unsubscribe"):
            return {}
        known = method in ("prompts/get", "logging/setLevel")
        raise Rejected(200, jsonrpc.INVALID_PARAMS if known else METHOD_NOT_FOUND, f"{method} cannot be answered.", request_id=message.id)

    def _resource(self, message: jsonrpc.Request) -> dict:
        uri = message.params.get("uri")
        found = TEMPLATE.fullmatch(uri) if isinstance(uri, str) else None
        if found is not None:
            return {"mimeType": "application/json", "text": json.dumps({"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"})}
        if uri not in RESOURCES:
            raise Rejected(200, -32002, "There is no such resource.", request_id=message.id, data={"uri": uri})
        return RESOURCES[uri]

    # --- tools ---

    def _call(self, peer: Peer, message: jsonrpc.Request) -> StreamResponse:
        if message.params.get("name") not in {tool["name"] for tool in TOOLS}:
            raise Rejected(200, jsonrpc.INVALID_PARAMS, "There is no such tool.", request_id=message.id)
        stream = peer.session.streams.begin(message.id)
        if peer.session.protocol_version == CURRENT:
            stream.open(RETRY_MS)
        running = asyncio.ensure_future(self._run(peer, stream, message))
        self._calls.add(running)
        running.add_done_callback(self._calls.discard)
        return self._stream(peer, [(stream, 0)], cut=message.params["name"] == "test_reconnection")

    async def _run(self, peer: Peer, stream: AnswerStream, message: jsonrpc.Request) -> None:
        try:
            result = await self._tool(peer, stream, message.params["name"], message.params.get("arguments", {}), progress_token(message.params))
            stream.end(result_body(message.id, result))
        except Exception as bug:      # the suite must see a failed call, not a silent one
            stream.end(error_body(message.id, jsonrpc.INTERNAL_ERROR, repr(bug)))
            raise

    async def _tool(self, peer: Peer, stream: AnswerStream, name: str, given: dict, token: object) -> dict:
        if name in FIXED:
            return {"content": FIXED[name]}
        if name == "test_error_handling":
            return {"content": [text("This tool intentionally returns an error for testing")], "isError": True}
        if name == "test_tool_with_logging":
            for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                if peer.level <= LEVELS.index("info"):
                    stream.say(jsonrpc.notification("notifications/message", {"level": "info", "data": words}))
                await asyncio.sleep(PAUSE_S)
        if name == "test_tool_with_progress":
            for step in (0, 50, 100):
                if token is not None:
                    stream.progress(jsonrpc.notification("notifications/progress", {"progressToken": token, "progress": step, "total": 100}))
                await asyncio.sleep(PAUSE_S)
        if name == "test_reconnection":
            await asyncio.sleep(2 * PAUSE_S)
        if name == "test_sampling":
            if "sampling" not in peer.capabilities:
                return {"content": [text("The client offers no sampling.")], "isError": True}
            asked = await peer.ask(stream, "sampling/createMessage", {
                "messages": [{"role": "user", "content": text(str(given.get("prompt")))}], "maxTokens": 100})
            return {"content": [text(f"LLM response: {asked.get('content', {}).get('text')}")]}
        if name in ASKS:
            if "elicitation" not in peer.capabilities:
                return {"content": [text("The client offers no elicitation.")], "isError": True}
            words, schema = ASKS[name]
            asked = await peer.ask(stream, "elicitation/create", {"message": words or str(given.get("message")), "requestedSchema": schema})
            return {"content": [text(f"Elicitation completed: action={asked.get('action')}, content={json.dumps(asked.get('content'))}")]}
        return {"content": [text(f"{name} has run.")]}

    def _stream(self, peer: Peer, parts: list[tuple[AnswerStream, int]], *, cut: bool = False) -> StreamResponse:
        rows = [("content-type", "text/event-stream"), ("cache-control", "no-store"), ("mcp-session-id", peer.session.id)]
        return StreamResponse(200, rows, self._read(parts, cut))

    async def _read(self, parts: list[tuple[AnswerStream, int]], cut: bool) -> AsyncIterator[bytes]:
        for stream, count in parts:
            while not stream.is_ended or count < stream.last:
                for number, message in stream.after(count):
                    count = number
                    yield stream.encode(number, message)
                if cut:
                    return              # the client is to come back for the rest
                if not stream.is_ended and count == stream.last:
                    moved = asyncio.get_running_loop().create_future()
                    stream.waiters.append(moved)
                    await moved

    @staticmethod
    def _json(status: int, body: dict, peer: Peer | None = None) -> Response:
        rows = [("content-type", "application/json")]
        if peer is not None:
            rows.append(("mcp-session-id", peer.session.id))
        return Response(status, rows, jsonrpc.encode(body))


async def main() -> None:
    server = await serve(Fixture().handle, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.port}/mcp", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    await server.close(drain_s=0.1)


if __name__ == "__main__":
    asyncio.run(main())
