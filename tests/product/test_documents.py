"""A document goes all the way through the built file: added on the page, attached, read by reference, and a proof that names its Source.

Duty: the Worker hop, §15; the workbench surface, §14. Nothing of the product is imported here but the Capability of the gateway's own tests.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

from rulith.base.canonical import digest
from tests.gateway.documents import ACTION, CAPABILITY, TYPE

SOURCE = "added-files"
WAIT_S = 60.0
TEXT = "Protokoll: 7 Stück zu 12.99 ✓\n" * 4_000


class Web:
    """JSON over one address, with what each caller must send."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url, self.headers = url, headers

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[dict, dict]:
        raw = None if body is None else json.dumps(body).encode()
        fields = {"content-type": "application/json", "accept": "application/json, text/event-stream", **self.headers, **headers}
        request = urllib.request.Request(self.url + path, raw, {name.replace("_", "-"): value for name, value in fields.items()})
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                text = answer.read()
                return json.loads(text) if text else {}, dict(answer.headers.items())
        except urllib.error.HTTPError as problem:
            return json.loads(problem.read() or b"{}"), {}


def until(ask, what: str):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if found := ask():
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited {WAIT_S:g} s for {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Started:
    """`rulith start` of the built file over a fresh home."""

    def __init__(self, product, folder: Path) -> None:
        self.home = folder / "home"
        self.process = product.start("start", "--home", str(self.home), "--port", str(free_port()), "--no-browser", cwd=folder)
        told = ""
        while not (found := re.search(r"(http://127\.0\.0\.1:\d+)/\?k=(\S+)", told)):
            told += (line := self.process.stdout.readline())
            assert line, told
        page = Web(found[1], x_rulith_manager=found[2])
        self.page = Web(found[1], x_rulith_manager=page.ask("/api/token", {})[0]["token"], origin=found[1])
        self.state = until(lambda: (got := self.page.ask("/api/state")[0]).get("console", {}).get("setupCode") and got, "the gateway")
        self.instance = self.state["instances"][0]
        self.at = f"/i/{self.instance['id']}"
        self.gateway = json.loads((self.home / "run" / "gateway.json").read_text("utf-8"))["url"]

    def owner(self) -> Web:
        console = Web(self.gateway + "/console/api")
        answer, headers = console.ask("/setup", {"code": self.state["console"]["setupCode"], "passphrase": "correct horse battery"})
        cookie = next(value for name, value in headers.items() if name.lower() == "set-cookie").partition(";")[0]
        console.headers = {"cookie": cookie, "x_rulith_console": answer["token"]}
        return console

    def host(self) -> Web:
        secrets = json.loads((Path(self.instance["directory"]) / "agent.secrets.json").read_text("utf-8"))
        host = Web(self.gateway + "/mcp", authorization=f"Bearer {secrets['RULITH_TOKEN']}", mcp_protocol_version="2025-11-25")
        opening = {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"rulith/v3": {"heldCalls": 1}}}, "clientInfo": {"name": "scripted", "version": "1"}}
        _, headers = host.ask("", {"jsonrpc": "2.0", "id": "1", "method": "initialize", "params": opening})
        host.headers["mcp_session_id"] = next(value for name, value in headers.items() if name.lower() == "mcp-session-id")
        return host


def call(host: Web, tool: str, arguments: dict) -> dict:
    message = {"jsonrpc": "2.0", "id": f"{tool}-{time.monotonic_ns()}", "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return json.loads(host.ask("", message)[0]["result"]["content"][0]["text"])


def test_a_document_added_on_the_page_is_read_and_its_proof_names_the_source(product, tmp_path: Path) -> None:
    started = Started(product, tmp_path)
    try:
        given = {"name": "minutes.txt", "mediaType": "text/plain", "bytes": base64.b64encode(TEXT.encode()).decode()}
        added = started.page.ask(f"{started.at}/materials", given)[0]["material"]
        receipt = started.page.ask(f"{started.at}/materials/submit", {"requestId": "request-000000001", "sessionKey": "s", "attachments": [added["id"]]})[0]
        (attached,) = receipt["submissionReceipt"]["attachments"]
        until(lambda: started.page.ask(f"{started.at}/state")[0]["connection"]["files"] == {"read": False, "problem": ""}, "the Worker with its store")
        host = started.host()
        call(host, "OpenCase", {"caseType": "exploration"})
        direct = call(host, "ApplyAction", {"action": "rulith.materials.read", "args": {"material": attached["id"], "source": SOURCE}})
        assert direct["result"]["artifacts"][0]["digest"] == added["digest"]
        assert started.owner().ask("/capability-install", {"text": json.dumps(CAPABILITY), "digest": digest(CAPABILITY), "replaces": ""})[0]["ok"]
        again = call(host, "ApplyAction", {"action": "rulith.materials.read", "args": {"material": attached["id"], "source": SOURCE}})
        assert again["errorCode"] == "unknown_action"                                  # it is the Capability's now
        case = call(host, "OpenCase", {"caseType": TYPE, "businessKey": {"material": attached["id"]}})["result"]
        done = call(host, "ApplyAction", {"action": ACTION, "args": {"source": SOURCE}, "target": case["root"]})
        (artifact,) = done["result"]["artifacts"]
        told, offset = "", 0
        while offset is not None:
            window = call(host, "ReadArtifact", {"ref": artifact["ref"], "offset": offset})["result"]
            told, offset = told + window["data"], window["nextOffset"]
        assert told == TEXT and artifact["digest"] == added["digest"]
        assert call(host, "CloseCase", {"root": case["root"]})["accepted"]
        document = started.page.ask(f"{started.at}/receipt?case={case['caseId']}")[0]
        (tmp_path / "receipt.json").write_text(json.dumps(document), encoding="utf-8")
    finally:
        product.run("stop", "--home", str(started.home), cwd=tmp_path)
        started.process.stdin.close()
        started.process.wait(60)
    checked = product.run("verify", "receipt.json", cwd=tmp_path)
    assert checked.status == 0, checked
    told = product.run("explain", "receipt.json", cwd=tmp_path)
    assert told.status == 0 and f"effect of {ACTION}, resting on the Source {SOURCE}" in told.out, told
    assert "Protokoll" not in json.dumps(document, ensure_ascii=False)
