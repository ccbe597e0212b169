"""An instant model service and an instant gateway in one process, for benchmarks of the Agent.

Answers are bytes made beforehand; nothing is parsed beyond a head, a length and the few
words that tell one request from another. Prints its port, then one line per model request:
the moment on the monotonic clock. Run as a program of its own.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rulith.wire.contract import mcp_contract  # noqa: E402  # the checkout is put on the path first

AGENT, CASE, ROOT_ID = "agent_instant", "case_" + "1" * 24, "root_" + "2" * 24
NAMES = mcp_contract().tool_names
TOOLS = [{"name": name, "description": f"{name} does its part.", "inputSchema": {"type": "object", "properties": {}}} for name in NAMES]
DECLARED = {"tools": {}, "experimental": {"rulith/v3": {"heldCalls": 1}}}
META = {"rulith/v3": {"agentId": AGENT, "focusedRoots": [], "operations": []}}
VIEW = {"position": {"writes": "open", "newCases": "open", "rules": "rules_and_actions"}, "roots": [], "gaps": [], "actions": [], "taskStatus": {},
        "cases": {"directory": [{"caseId": CASE, "root": ROOT_ID, "status": "running", "caseType": "exploration"}], "total": 1},
        "nodes": [{"id": f"fact_{number:032x}", "kind": "fact", "predicate": "line", "args": {"order": "calc-001", "number": number, "cents": 1299}}
                  for number in range(40)], "total": 40}
SAID = json.dumps({"accepted": True, "view": VIEW, "operations": [], "observation": {"consistency": "committed"}})
_LENGTH, _ID = re.compile(rb"content-length: *(\d+)", re.I), re.compile(rb'"id": ?("[^"]*"|\d+)')


def _sse(*events: dict) -> bytes:
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def _chunk(delta: dict, reason: str | None = None) -> dict:
    return {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


_USAGE = {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}}
CALL = _sse(_chunk({"role": "assistant", "content": "I look."}),
            _chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "QueryBoard", "arguments": "{}"}}]}),
            _chunk({}, "tool_calls"), _USAGE)
TEXT = _sse(_chunk({"role": "assistant", "content": "There is "}), _chunk({"content": "nothing to do."}), _chunk({}, "stop"), _USAGE)


def _result(request: bytes, result: dict) -> bytes:
    found = _ID.search(request)
    body = b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (found[1] if found else b"null", json.dumps(result).encode())
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: %d\r\n\r\n" % len(body) + body


class Instant(asyncio.Protocol):
    """One connection. A model is asked for a call until the last entry of the request is a result of the `calls`-th round."""

    calls_of_a_turn = 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._buffer, self._calls = transport, b"", 0

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            found = _LENGTH.search(head)
            size = int(found[1]) if found else 0
            if len(rest) < size:
                return
            self._buffer = rest[size:]
            self._transport.write(self._answer(head, rest[:size]))

    def _answer(self, head: bytes, body: bytes) -> bytes:
        if b"/chat/completions" in head[:200]:
            print(time.monotonic(), flush=True)
            self._calls = (self._calls + 1) % (self.calls_of_a_turn + 1)
            return CALL if self._calls else TEXT
        if head.startswith(b"DELETE"):
            return b"HTTP/1.1 204 No Content\r\n\r\n"
        if b'"initialize"' in body:
            return _result(body, {"protocolVersion": "2025-11-25", "capabilities": DECLARED, "serverInfo": {"name": "instant", "version": "1"}, "_meta": META})
        if b'"tools/list"' in body:
            return _result(body, {"tools": TOOLS, "_meta": META})
        if b'"tools/call"' in body:
            return _result(body, {"content": [{"type": "text", "text": SAID}], "_meta": {"rulith/v3": {"agentId": AGENT, "focusedRoots": []}}})
        if b'"ping"' in body:
            return _result(body, {"_meta": META})
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"


async def main() -> None:
    Instant.calls_of_a_turn = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)      # until the benchmark ends
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
