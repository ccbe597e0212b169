"""A model service on loopback whose replies a script decides, and which refuses what a strict provider refuses.

Each reply is text, a list of (tool, arguments) calls, or a `Whole` HTTP answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from rulith.net.messages import Request, Response, json_response
from rulith.net.server import serve
from tests.dialects.strict_providers import accepted_by_anthropic, accepted_by_openai


@dataclass(frozen=True)
class Whole:
    status: int
    body: object


class ScriptedModel:
    """`replies`: a list used up in order, or a callable on the request body."""

    def __init__(self, replies, wire: str = "openai") -> None:
        self.replies = replies
        self.wire = wire
        self.requests: list[dict] = []
        self.refused: list[str] = []
        self._server = None

    async def __aenter__(self) -> ScriptedModel:
        self._server = await serve(self._handle, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        tail = "chat/completions" if self.wire == "openai" else "messages"
        return f"http://127.0.0.1:{self._server.port}/v1/{tail}"

    async def _handle(self, request: Request) -> Response:
        body = json.loads(request.body)
        self.requests.append(body)
        try:
            (accepted_by_openai if self.wire == "openai" else accepted_by_anthropic)(body)
        except AssertionError as problem:
            self.refused.append(str(problem))
            return json_response(400, {"error": {"message": f"malformed conversation: {problem}"}})
        said = self.replies(body) if isinstance(self.replies, Callable) else self.replies.pop(0)
        if isinstance(said, Whole):
            return json_response(said.status, said.body) if not isinstance(said.body, bytes) else Response(said.status, (), said.body)
        return json_response(200, (_openai if self.wire == "openai" else _anthropic)(said))

    def results(self, number: int = -1) -> list[dict]:
        """The tool results in one request, parsed, oldest first."""
        found = []
        for message in self.requests[number]["messages"]:
            if message["role"] == "tool":
                found.append(json.loads(message["content"]))
            elif isinstance(message["content"], list):
                found += [json.loads(block["content"]) for block in message["content"] if block["type"] == "tool_result"]
        return found

    def words(self, number: int = -1) -> str:
        """Everything the user role said in one request."""
        said = []
        for message in self.requests[number]["messages"]:
            if message["role"] != "user":
                continue
            blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
            said += [block["text"] for block in blocks if block["type"] == "text"]
        return "\n".join(said)


def _openai(said) -> dict:
    message: dict = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": {
            "name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}} for number, (name, given) in enumerate(said)]
    return {"choices": [{"message": message, "finish_reason": "stop" if isinstance(said, str) else "tool_calls"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


def _anthropic(said) -> dict:
    if isinstance(said, str):
        return {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}}
    blocks = [{"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": json.loads(given) if isinstance(given, str) else given}
              for number, (name, given) in enumerate(said)]
    return {"content": blocks, "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}}
