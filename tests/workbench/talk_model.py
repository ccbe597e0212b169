"""A model service on loopback that streams what the last message asks for; it can be held in the middle.

`slow …` holds after its first words until `go` is set; `job NAME` opens a Case by a tool call and then
speaks; `read …` reads each attached file by what the view offers and says what it held, or what it was refused;
`refuse …` is answered 401; anything else is answered in Markdown, with hostile text in it.
"""

from __future__ import annotations

import json
import re
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
        asked = next((line for line in reversed(words.splitlines()) if line.startswith(("slow", "job", "refuse", "read"))), "")
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
            self._call(handler, "OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": asked.split()[1]}})
            return
        if asked.startswith("read"):
            said = reading(body["messages"])
            if isinstance(said, tuple):
                self._call(handler, *said)
            else:
                self._send(handler, {"content": said})
                self._end(handler, "stop")
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

    def _call(self, handler: BaseHTTPRequestHandler, tool: str, given: dict) -> None:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        self._send(handler, {"tool_calls": [call]})
        self._end(handler, "tool_calls")

    def _end(self, handler: BaseHTTPRequestHandler, finish: str) -> None:
        self._send(handler, {}, finish)
        handler.wfile.write(b"data: [DONE]\n\n")
        handler.close_connection = True


def reading(messages: list[dict]) -> tuple[str, dict] | str:
    """The next call of a model that reads what is attached to the last message, or its words at the end."""
    last = max(place for place, each in enumerate(messages) if each["role"] == "user")
    ids = re.findall(r"mat_[0-9a-f]{32}", messages[last]["content"])
    told = [json.loads(each["content"]) for each in messages[last:] if each["role"] == "tool"]
    if not told:
        return "OpenCase", {"caseType": "exploration"}
    if told[-1].get("accepted") is not True:
        return f"It was refused: {told[-1].get('errorCode')}. {told[-1].get('teaching')}"
    view = next(each["view"] for each in reversed(told) if each.get("view", {}).get("actions"))
    row = next((each for each in view["actions"] if each["action"] == "rulith.materials.read"), None)
    if row is None or not row["sources"]:
        return f"Nothing here reads a file: {row and row.get('needs')}"
    read = [each["result"] for each in told if "data" in each["result"]]
    if told[-1]["result"].get("artifacts"):
        return "ReadArtifact", {"ref": told[-1]["result"]["artifacts"][0]["ref"]}
    if len(read) < len(ids):
        return "ApplyAction", {"action": row["action"], "args": {"material": ids[len(read)], "source": row["sources"][0]}}
    return "It says: " + " and ".join(f"{each['data'][:80]} ({each['totalBytes']} bytes)" for each in read)
