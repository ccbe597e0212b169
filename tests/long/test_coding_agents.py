"""Four coding agents that people use work on a Board and in a council over /mcp, each driven by a model that always wants the same calls.

`.ci/run --long agents` installs them (1.3 GB) and writes docs/evidence/agents.json: versions,
the methods each one sent with the date it spoke, failures, commit. Skipped otherwise.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from rulith.council.kinds import PREFIXES
from rulith.council.shapes import PERSON
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, find_profile
from rulith.forum.service import open_council
from rulith.gateway.service import open_gateway
from tests.conftest import ROOT
from tests.long.model_services import CALLS, COUNCIL_CALLS, COUNCIL_REFUSED, REFUSED, ModelServices, answered

PLACE = ROOT / ".conformance" / "node_modules"
AGENT_S = 180
PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "opencode": "opencode-ai", "gemini": "@google/gemini-cli"}


def claude(folder: Path, url: str, token: str, model: str) -> tuple[list[str], dict]:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"rulith": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}}}))
    tools = ",".join(f"mcp__rulith__{name}" for name, _ in (*CALLS, *COUNCIL_CALLS))
    return (["-p", "go", "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", tools, "--output-format", "json", "--max-turns", "16"],
            {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "dummy", "ENABLE_TOOL_SEARCH": "false", "DISABLE_TELEMETRY": "1",
             "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})


def codex(folder: Path, url: str, token: str, model: str) -> tuple[list[str], dict]:
    (folder / ".codex").mkdir()
    (folder / ".codex" / "config.toml").write_text(
        'model="fake"\nmodel_provider="fake"\napproval_policy="never"\nsandbox_mode="danger-full-access"\ncheck_for_update_on_startup=false\n'
        f'[analytics]\nenabled=false\n[model_providers.fake]\nname="fake"\nbase_url="{model}/v1"\nwire_api="responses"\nenv_key="FAKE_KEY"\n'
        f'[mcp_servers.rulith]\nurl="{url}"\nbearer_token_env_var="RULITH_TOKEN"\ndefault_tools_approval_mode="approve"\n')
    return ["exec", "--skip-git-repo-check", "go"], {"FAKE_KEY": "dummy", "RULITH_TOKEN": token}


def opencode(folder: Path, url: str, token: str, model: str) -> tuple[list[str], dict]:
    models = {"fake": {"name": "fake", "tool_call": True, "limit": {"context": 64000, "output": 1000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": {"baseURL": f"{model}/v1", "apiKey": "dummy"}, "models": models}
    (folder / "opencode.json").write_text(json.dumps({
        "autoupdate": False, "share": "disabled", "model": "fake/fake", "small_model": "fake/fake", "permission": {"*": "allow"}, "provider": {"fake": provider},
        "mcp": {"rulith": {"type": "remote", "url": url, "enabled": True, "oauth": False, "headers": {"Authorization": f"Bearer {token}"}}}}))
    return ["run", "go"], {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def gemini(folder: Path, url: str, token: str, model: str) -> tuple[list[str], dict]:
    (folder / ".gemini").mkdir()
    (folder / ".gemini" / "settings.json").write_text(json.dumps({
        "security": {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False}, "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "mcpServers": {"rulith": {"httpUrl": url, "trust": True, "headers": {"Authorization": f"Bearer {token}"}}}}))
    return ["-y", "-m", "gemini-2.5-flash", "-p", "go"], {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": model}


AGENTS = {"claude": claude, "codex": codex, "opencode": opencode, "gemini": gemini}


class BoardPlace:
    """A gateway with one Board."""

    name, calls, refused = "board", CALLS, REFUSED

    async def open(self, folder: Path) -> tuple[object, int, str]:
        """(what answers /mcp, its port, the token)."""
        home = Home(folder / "home")
        home.prepare()
        self.opened = open_gateway(home, SystemClock(), {})
        port = (await self.opened.listen("127.0.0.1", 0)).port
        return self.opened.surface, port, agent_secrets(find_profile(home)).load()["RULITH_TOKEN"]

    def is_accepted(self, text: str) -> bool:
        return (re.search(r'accepted\W*":\W*(true|false)', text) or ("", ""))[1] == "true"


class CouncilPlace:
    """A council with one room, its person and the agent."""

    name, calls, refused = "council", COUNCIL_CALLS, COUNCIL_REFUSED

    async def open(self, folder: Path) -> tuple[object, int, str]:
        (folder / "project").mkdir()
        self.opened = open_council(Home(folder / "home"), SystemClock(), "rvp_a-key-of-no-use")
        await self.opened.listen((0,))
        self.opened.forum.run(PERSON, "create_project", {"name": "Shop", "folder": str(folder / "project")})
        made = self.opened.forum.run(PERSON, "create_agent", {"project_id": 1, "name": "ann", "rooms": [1]})
        return self.opened.mcp, self.opened.port, made["api_key"]

    def is_accepted(self, text: str) -> bool:
        return "errorCode" not in text and not any(words and words in text for words in PREFIXES.values())     # a host shows its model one form or the other


PLACES = (BoardPlace, CouncilPlace)


async def drive(name: str, folder: Path, place: BoardPlace | CouncilPlace) -> dict:
    """One agent, one server, one model service: what was seen on the wire, and what went wrong."""
    surface, port, token = await place.open(folder)
    seen: list[str] = []
    handle = surface.handle

    async def watch(request):
        answer = await handle(request)
        method = json.loads(request.body).get("method", "response") if request.body else request.method
        seen.append(f"{method} {request.headers.get('mcp-protocol-version') or '-'} {answer.status}")
        return answer

    surface.handle = watch
    own = folder / "own"
    own.mkdir()
    try:
        async with ModelServices(place.calls) as models:
            words, environ = AGENTS[name](own, f"http://127.0.0.1:{port}/mcp", token, models.url)
            kept = {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ}
            path = f"{PLACE / '.bin'}{os.pathsep}{os.environ['PATH']}"
            child = await asyncio.create_subprocess_exec(str(PLACE / ".bin" / name), *words, cwd=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                         stderr=subprocess.STDOUT, env={**kept, "PATH": path, "HOME": str(own), **environ})
            try:
                said = (await asyncio.wait_for(child.communicate(), AGENT_S))[0].decode("utf-8", "replace")
            except asyncio.TimeoutError:
                child.kill()
                said = "it did not end"
            results = answered(models.results)
            accepted = [place.is_accepted(text) for text in results]
            listed = sorted(models.offered)
    finally:
        await place.opened.close()
    called = [name for name, _ in place.calls[:len(accepted)]]
    is_whole = accepted == [name not in place.refused for name, _ in place.calls] and listed == sorted(name for name, _ in place.calls)
    problem = "" if is_whole else f"listed {listed}, accepted {accepted}: {said[-600:]}"
    return {"agent": name, "place": place.name, "package": version(name), "wire": list(dict.fromkeys(seen)), "listed": listed, "called": called,
            "askedAgain": len(models.results) - len(results), "problem": problem}


def version(name: str) -> str:
    package = PLACE / PACKAGES[name] / "package.json"
    return f"{PACKAGES[name]} {json.loads(package.read_text())['version']}"


@pytest.mark.timeout(1_800)
def test_coding_agents_work_on_a_board_and_in_a_council(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if not request.config.getoption("--agents"):
        pytest.skip("runs with `.ci/run --long agents`")
    clock = SystemClock()
    began_s = clock.wall_s()
    rows = []
    for place in PLACES:
        for name in AGENTS:
            folder = tmp_path / place.name / name
            folder.mkdir(parents=True)
            rows.append(asyncio.run(drive(name, folder, place())))
    failures = [row for row in rows if row["problem"]]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    record = {"name": "agents", "commit": commit, "at": stamp(began_s), "seconds": round(clock.wall_s() - began_s),
              "agents": [{key: row[key] for key in row if key != "problem"} for row in rows], "failures": failures}
    (ROOT / "docs" / "evidence" / "agents.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    assert not failures, failures
