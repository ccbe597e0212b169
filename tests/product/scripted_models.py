"""Model endpoints on loopback whose replies a script decides: OpenAI Chat Completions and Anthropic Messages.

A brain is `brain(seen) -> str | list[(tool, arguments)]`: it gets what the model would
have read, in one shape for both wires, and returns prose or tool calls.
"""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Seen:
    """What one request showed the model."""

    system: str
    words: list[str]                                   # user texts, oldest first
    results: list[tuple[str, object]]                  # (call id, parsed tool result), oldest first
    tools: list[str]
    raw: dict = field(repr=False, default_factory=dict)

    def last(self) -> dict:
        return self.results[-1][1] if self.results and isinstance(self.results[-1][1], dict) else {}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _openai_seen(body: dict) -> Seen:
    system, words, results = "", [], []
    for message in body["messages"]:
        if message["role"] == "system":
            system = message["content"]
        elif message["role"] == "user":
            words.append(message["content"])
        elif message["role"] == "tool":
            results.append((message["tool_call_id"], _parsed(message["content"])))
    return Seen(system, words, results, [t["function"]["name"] for t in body.get("tools", [])], body)


def _anthropic_seen(body: dict) -> Seen:
    words, results = [], []
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        for part in parts:
            if message["role"] == "user" and part["type"] == "text":
                words.append(part["text"])
            elif part["type"] == "tool_result":
                inner = part["content"]
                text = inner if isinstance(inner, str) else "".join(row.get("text", "") for row in inner)
                results.append((part["tool_use_id"], _parsed(text)))
    system = body.get("system", "")
    return Seen(system if isinstance(system, str) else json.dumps(system), words, results, [t["name"] for t in body.get("tools", [])], body)


def _openai_reply(body: dict, said: str | list) -> dict:
    message: dict = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        message["tool_calls"] = [
            {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function",
             "function": {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}}
            for name, arguments in said
        ]
    finish = "stop" if isinstance(said, str) else "tool_calls"
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}


def _anthropic_reply(body: dict, said: str | list) -> dict:
    if isinstance(said, str):
        content, stop = [{"type": "text", "text": said}], "end_turn"
    else:
        content = [{"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name,
                    "input": json.loads(arguments) if isinstance(arguments, str) else arguments} for name, arguments in said]
        stop = "tool_use"
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 7}}


class ScriptedEndpoint:
    """`with ScriptedEndpoint(brain) as model:` serves both wires; model.requests holds what came."""

    def __init__(self, brain) -> None:
        self.brain = brain
        self.requests: list[tuple[str, dict, dict]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args) -> None:
                return

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                openai = self.path.endswith("/chat/completions")
                said = endpoint.brain((_openai_seen if openai else _anthropic_seen)(body))
                reply = json.dumps((_openai_reply if openai else _anthropic_reply)(body, said)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self) -> "ScriptedEndpoint":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_args) -> None:
        self.server.shutdown()
        self.server.server_close()

    def url(self, wire: str) -> str:
        tail = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[wire]
        return f"http://127.0.0.1:{self.port}{tail}"


PREFIX = "rulith.verified_calculation."


def view_of(answer: dict) -> dict:
    return answer.get("currentView") or answer.get("view") or {}


def ready_candidates(view: dict) -> dict[str, dict]:
    """Ready Actions with exactly one candidate, as the arguments an honest model would copy from the view."""
    calls = {}
    for row in view.get("actions", []):
        if row.get("status") == "ready" and len(row.get("candidates", [])) == 1:
            candidate = row["candidates"][0]
            args = dict(candidate["args"])
            if row.get("sources"):
                args["source"] = row["sources"][0]
            calls[row["action"]] = {"action": row["action"], "args": args, "target": candidate["target"]}
    return calls


class HonestModel:
    """Opens the Case, applies what the Board says is ready, closes when certified, then says so."""

    def __init__(self, job_id: str, case_type: str = "verified_calculation") -> None:
        self.job_id = job_id
        self.case_type = case_type
        self.applied: list[str] = []
        self.closed = False

    def __call__(self, seen: Seen) -> str | list:
        if not seen.results:
            return [("OpenCase", {"caseType": self.case_type, "businessKey": {"job_id": self.job_id}})]
        if self.closed:
            return "The Case is closed." if seen.last().get("accepted") else "The Case could not be closed."
        view = view_of(seen.last())
        for root, status in view.get("taskStatus", {}).items():
            if status.get("certified"):
                self.closed = True
                return [("CloseCase", {"root": root})]
        for action, call in ready_candidates(view).items():
            if action not in self.applied:
                self.applied.append(action)
                return [("ApplyAction", call)]
        return "Nothing is ready and the Case is not certified; I stop here."
