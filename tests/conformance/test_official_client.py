"""The official SDK's client, both majors, drives all six tools of a gateway, over cut streams too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.board_server.test_sdk_clients import python_of
from tests.conformance.with_token import CutOnce
from tests.gateway.conftest import facts_for, play  # noqa: F401  a fixture

AGENT = Path(__file__).with_name("sdk_agent.py")
TOOLS = ["OpenCase", "ApplyBatch", "ApplyAction", "CloseCase", "QueryBoard", "ReadArtifact"]
STEPS = [["read_input", "confirmed"], ["write_output", "confirmed"], ["verify_output", "confirmed"]]


async def serve_work(worker) -> None:
    """An honest Worker, for as long as the story lasts."""
    while True:
        for row in await worker.rows():
            if (await worker.claim(row))["accepted"]:
                await worker.report(row, ok=True, result="done", facts=facts_for(row["tool"]))


async def drive(world, major: int, url: str, token: str) -> dict:
    worker = asyncio.ensure_future(serve_work(world.worker()))
    try:
        sdk = await asyncio.create_subprocess_exec(python_of(major), str(AGENT), url, token, stdout=asyncio.subprocess.PIPE,
                                                   stderr=asyncio.subprocess.PIPE)
        out, err = await sdk.communicate()
        assert sdk.returncode == 0, err.decode()[-3_000:]
        return json.loads(out)
    finally:
        worker.cancel()


def check(seen: dict) -> None:
    assert seen["tools"] == TOOLS and seen["server"] == "rulith-gateway"
    assert seen["batch"] is True and seen["refused"] == {"ReadArtifact": "artifact_unavailable"}
    assert seen["actions"] == STEPS and seen["progress"] >= len(STEPS)
    assert seen["closed"]["disposition"] == "completed" and seen["closed"]["certified"] is True


@pytest.mark.timeout(260)
@pytest.mark.parametrize("major", [1, 2])
def test_the_official_client_drives_all_six_tools(play, major):  # noqa: F811
    async def story(world):
        seen = await drive(world, major, f"http://127.0.0.1:{world.port}/mcp", world.token)
        check(seen)
        assert seen["sdk"].startswith(f"{major}.") and seen["date"] == "2025-11-25"

    play(story)


@pytest.mark.timeout(260)
@pytest.mark.parametrize("major", [1, 2])
def test_the_official_client_goes_on_with_streams_that_are_cut(play, major):  # noqa: F811
    """The first connection of each held call breaks after its first event; the client comes back by Last-Event-ID."""
    async def story(world):
        async with CutOnce(world.port) as way:
            check(await drive(world, major, way.url, world.token))
            assert way.cut >= len(STEPS) and way.resumed >= way.cut

    play(story)
