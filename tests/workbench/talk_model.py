"""A model service on loopback that streams what the last message asks for; it can be held in the middle.

`slow …` holds after its first words until `go` is set; `job NAME` opens a Case by a tool call and then
speaks; `refuse …` is answered 401; anything else is answered in Markdown, with hostile text in it.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOSTILE = "<img src=x onerror=alert(1)>"
ANSWER = ["# The plan\n\nIt is **bold** and `code` and ", HOSTILE, "\n\n- one\n- two\n\n```\nx < y\n```\n", "[a link](javascript:alert(1)) ends it."]


class TalkModel:
    def __init__(self) -> None:
        self.go = threading.Event()
        self.requests: list[dict] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(body)
                try:
                    model.answer(self, body)
                except OSError:
                    pass                     # whoever asked does not wait any more

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self) -> TalkModel:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_problem) -> None:
        self.go.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, handler: BaseHTTPRequestHandler, body: dict) -> None:
        words = [each["content"] for each in body["messages"] if each["role"] == "user"][-1]
        asked = next((line for line in reversed(words.splitlines()) if line.startswith(("slow", "job", "refuse"))), "")
        is_result = body["messages"][-1]["role"] == "tool"
        if asked.startswith("refuse"):
            text = json.dumps({"error": {"message": "this key opens nothing"}}).encode()
            handler.send_response(401)
            handler.send_header("content-length", str(len(text)))
            handler.end_headers()
            handler.wfile.write(text)
            return
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        if asked.startswith("job") and not is_result:
            given = json.dumps({"caseType": "verified_calculation", "businessKey": {"job_id": asked.split()[1]}})
            self._send(handler, {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "OpenCase", "arguments": given}}]})
            self._end(handler, "tool_calls")
            return
        for number, part in enumerate(["The Case is open."] if is_result else ["Thinking about it now, one moment. ", *ANSWER]):
            self._send(handler, {"content": part})
            if number == 0 and asked.startswith("slow"):
                self._send(handler, {"content": "And still. "})
                self.go.wait(60)
        self._end(handler, "stop")

    def _send(self, handler: BaseHTTPRequestHandler, delta: dict, finish: str | None = None) -> None:
        row = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        handler.wfile.write(b"data: " + json.dumps(row).encode() + b"\n\n")
        handler.wfile.flush()

    def _end(self, handler: BaseHTTPRequestHandler, finish: str) -> None:
        self._send(handler, {}, finish)
        handler.wfile.write(b"data: [DONE]\n\n")
        handler.close_connection = True
