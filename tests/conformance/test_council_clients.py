"""Clients that we did not write use the council's MCP: the official SDK in every date, the Inspector's command line, the public conformance suites.

`.ci/run` installs them. Where one is missing its tests say so and are skipped; under CI the
suites' absence is a failure. Duty: the council surface, "HTTP and MCP transport", "Tools",
"Prompts, resources, stream".
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from rulith.council.tools import NAMES
from rulith.forum import mcp
from tests.board_server.test_sdk_clients import MAKE_S, python_of
from tests.conformance.test_public_suite import SUITE, verdicts
from tests.conformance.with_token import WithToken
from tests.forum.conftest import Program, Served, served  # noqa: F401  a fixture
from tests.forum.test_mcp import program
from tests.forum.test_mcp_waiting import until

CLIENT = Path(__file__).with_name("sdk_council.py")
CLIENT_S = 100

# What a server with tools of its own can pass; the others call tools, prompts and resources of the suite's own fixture.
APPLIES = {"server-initialize", "logging-set-level", "ping", "tools-list", "tools-call-simple-text", "tools-call-error", "resources-list", "resources-subscribe",
           "resources-unsubscribe", "prompts-list", "dns-rebinding-protection", "server-sse-polling", "server-sse-multiple-streams"}
APPLIES_STATELESS = {"tools-list", "tools-call-simple-text", "tools-call-error", "server-sse-multiple-streams", "resources-list", "sep-2164-resource-not-found",
                     "prompts-list", "dns-rebinding-protection", "caching", "http-header-validation", "input-required-result-unsupported-methods",
                     "input-required-result-ignore-extra-params"}
# Of the scenario that asks for the most, what needs the suite's own tool.
FIXTURE_CHECKS = {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"}


async def said_by(*words: str) -> tuple[int, str, str]:
    child = await asyncio.create_subprocess_exec(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await child.communicate()
    return child.returncode, out.decode(), err.decode()


def node_with(*place: str) -> list[str]:
    script = SUITE.joinpath(*place)
    if not script.exists():
        told = f"{script} is missing; .ci/run installs it"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    return [str(SUITE / ".bin" / "node"), str(script)]


async def two(talk: Served) -> tuple[Program, Program]:
    return await program(talk), await program(talk, "bob")


@pytest.mark.timeout(MAKE_S + CLIENT_S)
@pytest.mark.parametrize(("major", "date"), [(1, "2025-06-18"), (2, "2025-11-25"), (2, "2026-07-28")])
def test_the_official_client_calls_every_tool(served, tmp_path, monkeypatch, major, date):  # noqa: F811
    monkeypatch.setattr(mcp, "COUNCIL_SIGN_S", 0.1)
    (tmp_path / "project" / "a.txt").write_text("a line\n")
    python = python_of(major)

    async def story(talk):
        ann, bob = await two(talk)
        status, out, err = await said_by(python, str(CLIENT), date, f"http://127.0.0.1:{ann.port}/mcp", ann.key, bob.key)
        assert status == 0, err[-3_000:]
        seen = json.loads(out)
        assert seen["date"] == date and seen["server"]["name"] == "rivendell" and "ann" in seen["instructions"]
        assert tuple(seen["tools"]) == NAMES and set(seen["texts"]) == set(NAMES) and seen["refused"] == {"git_diff": "council_no_git"}
        assert (seen["prompts"], seen["templates"], seen["resources"]) == (8, 1, ["rivendell://thread/1"]) and "get_thread(1)" in seen["prompt"]
        assert seen["read"].startswith("# Thread 1 — Is it safe?") and "CLEARED" in seen["texts"]["get_thread"] and seen["texts"]["read_file"].endswith("a line")
        assert "0001-is-it-safe.md" in seen["texts"]["resolve_thread"] and seen["progress"] >= 1 and seen["heard"] == ("ResourceUpdated" if date >= "2026" else None)
        await until(talk, [])
    served(story)


@pytest.mark.timeout(CLIENT_S + 60)
def test_the_inspector_lists_and_calls(served):  # noqa: F811
    launcher = node_with("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")

    async def story(talk):
        ann, _ = await two(talk)

        async def inspector(*words: str) -> dict:
            status, out, err = await said_by(*launcher, "--cli", f"http://127.0.0.1:{ann.port}/mcp", "--transport", "http", "--header",
                                             f"Authorization: Bearer {ann.key}", *words)
            assert status == 0, (out, err)
            return json.loads(out)

        assert tuple(tool["name"] for tool in (await inspector("--method", "tools/list"))["tools"]) == NAMES
        made = await inspector("--method", "tools/call", "--tool-name", "create_thread", "--tool-arg", "title=From the inspector", "body=@bob ?", "tag=FYI")
        assert made["structuredContent"]["thread_id"] == 1 and made["isError"] is False
        assert (await inspector("--method", "resources/list"))["resources"][0]["uri"] == "rivendell://thread/1"
    served(story)


@pytest.mark.timeout(CLIENT_S + 60)
@pytest.mark.parametrize(("place", "applies", "more"), [
    (("@modelcontextprotocol", "conformance"), APPLIES, ()), (("mcp-conformance-next",), APPLIES_STATELESS, ("--spec-version", "2026-07-28"))])
def test_the_public_suite_finds_nothing_wrong_that_applies(served, tmp_path, place, applies, more):  # noqa: F811
    words = node_with(*place, "dist", "index.js")

    async def story(talk):
        ann, _ = await two(talk)
        await talk.does("create_thread", room=1, title="t", body="@ann", tag="FYI")
        async with WithToken(ann.port, ann.key) as way:
            _, out, err = await said_by(*words, "server", "--url", way.url, "--suite", "all", *more, "-o", str(tmp_path / "out"))
        passed = {name for name, is_good in verdicts(out).items() if is_good}
        assert applies <= passed, f"{applies - passed}\n{out[-4_000:]}\n{err[-1_000:]}"
        for path in (tmp_path / "out").rglob("checks.json"):
            if "server-stateless" in str(path):
                failed = {check["id"] for check in json.loads(path.read_text()) if check["status"] == "FAILURE"}
                assert failed == FIXTURE_CHECKS and more
    served(story)
