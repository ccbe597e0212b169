"""An earlier edition's record of a call without an outcome: named once, removed, and never acted on.

Source  the MCP surface, "History files" and "Environment"
"""

from __future__ import annotations

import hashlib
import json

import pytest

from rulith.base.clock import SystemClock
from rulith.runtime.legacy import name_once
from rulith.runtime.run import AgentRun, Told, run_to_end
from tests.runtime.calculation_board import CalculationBoard
from tests.runtime.scripted_gateway import TOKEN, ScriptedGateway
from tests.runtime.test_run import JOB

URL = "http://127.0.0.1:7781"


def key(url=URL, token=TOKEN) -> str:
    return f"{url}#{hashlib.sha256(token.encode()).hexdigest()[:16]}"


def record(**rows) -> dict:
    return {"format": "rulith-agent-sessions/1", "sessions": rows}


@pytest.mark.parametrize("nested", [True, False])
def test_a_record_is_named_once_and_only_for_its_gateway_and_token(tmp_path, nested):
    path, said = tmp_path / "agent-sessions.json", []
    rows = {key(): {"unresolved": {"requestId": "u1", "tool": "ApplyAction"}}, key(token="other"): {"unresolved": {"requestId": "u2", "tool": "CloseCase"}}}
    path.write_text(json.dumps(record(**rows) if nested else {"format": "rulith-agent-sessions/1", **rows}))
    for _ in range(2):
        name_once(path, URL, TOKEN, said.append)
    assert len(said) == 1 and "ApplyAction" in said[0] and "u1" not in said[0]
    left = json.loads(path.read_text())
    assert list((left["sessions"] if nested else {name: row for name, row in left.items() if name != "format"})) == [key(token="other")]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": "other", "sessions": {}}', '{"format": "rulith-agent-sessions/1", "sessions": []}',
                                     json.dumps(record(**{key(): 3})), json.dumps(record())])
def test_what_is_no_record_is_left_alone(tmp_path, content):
    path = tmp_path / "agent-sessions.json"
    path.write_text(content)
    name_once(path, URL, TOKEN, lambda text: None)
    assert path.read_text() == content
    name_once(tmp_path / "absent", URL, TOKEN, lambda text: None)


def run(in_loop, heard, session_file, path):
    async def whole():
        async with ScriptedGateway(CalculationBoard()) as gateway:
            path.write_text(json.dumps(record(**{key(gateway.url): {"unresolved": {"requestId": "u", "tool": "ApplyAction"}}})))
            environ = {"RULITH_URL": gateway.url, "RULITH_TOKEN": TOKEN, "RULITH_HOST_WAIT_MS": "0", "RULITH_SESSION_FILE": session_file}
            return await run_to_end(AgentRun(JOB, environ, Told(heard.emit, heard.log.append), clock=SystemClock()))
    return in_loop(whole())


def test_a_run_names_the_record_and_does_its_own_job(in_loop, heard, tmp_path):
    path = tmp_path / "agent-sessions.json"
    assert run(in_loop, heard, str(path), path).exit == 0
    assert any("ApplyAction" in line and "not sent again" in line for line in heard.log) and json.loads(path.read_text())["sessions"] == {}


def test_off_leaves_the_record_alone(in_loop, heard, tmp_path):
    path = tmp_path / "agent-sessions.json"
    assert run(in_loop, heard, "off", path).exit == 0
    assert heard.log == [] and json.loads(path.read_text())["sessions"] != {}
