"""Model services that always want the same calls: four wires, as four coding agents speak them.

Each service answers a request that offers our tools with the next of its calls, counted
by the tool results it has been shown, and after the last one with their text.
"""

from __future__ import annotations

import json
import re

from rulith.net.messages import Request, Response, json_response
from rulith.net.server import serve

ROOT = "{root}"                  # stands for the root that the first result named
CALLS = [("OpenCase", {"caseType": "exploration"}),
         ("ApplyBatch", {"operations": [
             {"op": "assert_fact", "predicate": "seen_by", "args": {"agent": "a coding agent"}},
             {"op": "define_action", "action": "note_it", "effects": [{"predicate": "noted", "args": {"by": "a coding agent"}}]}]}),
         ("ApplyAction", {"action": "note_it", "args": {}}),
         ("QueryBoard", {"include": ["cases"]}),
         ("ReadArtifact", {"ref": "art_" + "0" * 32}),
         ("CloseCase", {"root": ROOT, "disposition": "abandoned", "reason": "seen enough"})]
REFUSED = ("ReadArtifact",)      # no result gave such a reference
COUNCIL_CALLS = [("whoami", {}), ("create_thread", {"title": "Is it safe?", "body": "@everyone, is it?", "tag": "PERF"}), ("list_threads", {}), ("get_thread", {"thread_id": 1}),
                 ("reply", {"thread_id": 1, "body": "It is.", "verdict": "CLEARED"}), ("edit_reply", {"message_id": 1, "body": "It was.", "verdict": "CLEARED"}),
                 ("wait_for_updates", {"cursor": 0}), ("git_diff", {}), ("resolve_thread", {"thread_id": 1, "summary": "It was."})]
COUNCIL_REFUSED = ("git_diff",)  # the project is no repository
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
         "output_tokens_details": {"reasoning_tokens": 0}}


def answered(results: list[str]) -> list[str]:
    """The results of calls that were made; a host that cancels a call behind its answer is shown it again first."""
    return [text for text in results if "previous_result_undelivered" not in text]


def is_ours(offered: str, name: str) -> bool:
    return offered == name or offered.endswith(f"_{name}")


def stream(events: list[tuple[str, dict]], *, named: bool = True, end: bytes = b"") -> Response:
    rows = [(f"event: {name}\n" if named else "") + f"data: {json.dumps(data)}\n\n" for name, data in events]
    return Response(200, [("content-type", "text/event-stream")], "".join(rows).encode() + end)


class ModelServices:
    """Serves all four on one port; `results` are the texts that came back from our tools, `offered` which of them a request named."""

    def __init__(self, calls: list[tuple[str, dict]]) -> None:
        self.calls = calls
        self.results: list[str] = []
        self.offered: set[str] = set()

    def _wanted(self, names: list[str], results: list[str]) -> tuple[str, dict] | None:
        """The full name and the arguments of the call to make now."""
        self.offered |= {name for name, _ in self.calls for offered in names if is_ours(offered, name)}
        done = len(answered(results))
        if done >= len(self.calls) or len(results) >= 2 * len(self.calls):
            return None
        name, arguments = self.calls[done]
        root = re.search(r"root_[0-9a-f]{24}", results[0]) if results else None
        given = {key: root[0] if value == ROOT and root else value for key, value in arguments.items()}
        found = min((offered for offered in names if is_ours(offered, name)), key=len, default=None)     # edit_reply ends like reply
        return None if found is None else (found, given)

    async def __aenter__(self) -> ModelServices:
        self._server = await serve(self._handle, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.port}"
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._server.close(drain_s=0.1)

    async def _handle(self, request: Request) -> Response:
        if request.method != "POST":
            return json_response(404, {})
        asked = json.loads(request.body or b"{}")
        if request.path.endswith("/messages"):
            return self._anthropic(asked)
        if request.path.endswith("/responses"):
            return self._responses(asked)
        if request.path.endswith("/chat/completions"):
            return self._chat(asked)
        if "enerateContent" in request.path:
            return self._gemini(asked, "stream" in request.path)
        return json_response(404, {})

    def _anthropic(self, asked: dict) -> Response:
        parts = [part for message in asked["messages"] if isinstance(message["content"], list) for part in message["content"]]
        self.results = [json.dumps(part["content"]) for part in parts if part.get("type") == "tool_result"]
        call = self._wanted([tool["name"] for tool in asked.get("tools", [])], self.results)
        if call is None:
            block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
        else:
            block = {"type": "tool_use", "id": f"toolu_{len(self.results)}", "name": call[0], "input": {}}
            delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}, "tool_use"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "x", "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        events = [{"type": "message_start", "message": message}, {"type": "content_block_start", "index": 0, "content_block": block},
                  {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
                  {"type": "message_stop"}]
        return stream([(event["type"], event) for event in events])

    def _responses(self, asked: dict) -> Response:
        outputs = [item for item in asked.get("input", []) if isinstance(item, dict) and item.get("type") == "function_call_output"]
        self.results = [json.dumps(item["output"]) for item in outputs]
        spaces = {tool["name"]: None for tool in asked.get("tools", []) if tool.get("parameters")}
        for space in asked.get("tools", []):
            spaces.update({tool["name"]: space["name"] for tool in space.get("tools") or []})
        call = self._wanted(list(spaces), self.results)
        number = len(self.results)
        if call is None:
            item: dict = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                          "content": [{"type": "output_text", "text": "done", "annotations": []}]}
        else:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call[0], "arguments": json.dumps(call[1]),
                    "status": "completed", **({"namespace": spaces[call[0]]} if spaces[call[0]] else {})}
        whole = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "fake", "output": [item], "usage": USAGE}
        events = [("response.created", {"response": {**whole, "status": "in_progress", "output": []}}),
                  ("response.output_item.added", {"output_index": 0, "item": item}),
                  ("response.output_item.done", {"output_index": 0, "item": item}), ("response.completed", {"response": whole})]
        return stream([(name, {"type": name, "sequence_number": place, **data}) for place, (name, data) in enumerate(events)])

    def _chat(self, asked: dict) -> Response:
        results = [json.dumps(message["content"]) for message in asked["messages"] if message["role"] == "tool"]
        call = self._wanted([tool["function"]["name"] for tool in asked.get("tools", [])], results)
        self.results = results or self.results       # titles are asked for without tools
        if call is None:
            delta, reason = {"role": "assistant", "content": "done"}, "stop"
        else:
            delta = {"role": "assistant", "content": None, "tool_calls": [{
                "index": 0, "id": f"call_{len(results)}", "type": "function", "function": {"name": call[0], "arguments": json.dumps(call[1])}}]}
            reason = "tool_calls"
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
        return stream([("", {**chunk, "choices": [{"index": 0, "delta": part, "finish_reason": end}]}) for part, end in ((delta, None), ({}, reason))],
                      named=False, end=b"data: [DONE]\n\n")

    def _gemini(self, asked: dict, streamed: bool) -> Response:
        names = [each["name"] for tool in asked.get("tools", []) for each in tool.get("functionDeclarations", [])]
        found = [part["functionResponse"] for content in asked.get("contents", []) for part in content.get("parts", []) if "functionResponse" in part]
        if asked.get("generationConfig", {}).get("responseMimeType") == "application/json":
            part: dict = {"text": json.dumps({"reasoning": "x", "next_speaker": "user", "model_choice": "flash", "complexity_reasoning": "x",
                                              "complexity_score": 1})}
        else:
            self.results = [json.dumps(each["response"]) for each in found] or self.results
            call = self._wanted(names, [json.dumps(each["response"]) for each in found])
            part = {"text": "done"} if call is None else {"functionCall": {"name": call[0], "args": call[1]}}
        body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "fake"}
        return stream([("", body)], named=False) if streamed else json_response(200, body)
