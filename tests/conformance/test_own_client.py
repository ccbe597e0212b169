"""The Agent's own session against a real gateway, over connections that break after their first event."""

from __future__ import annotations

import asyncio

from rulith.base.clock import SystemClock
from rulith.net.client import HttpClient
from rulith.runtime.answers import Kind
from rulith.runtime.line import BoardLine
from rulith.runtime.session import Reach
from tests.conformance.test_official_client import serve_work
from tests.conformance.with_token import CutOnce
from tests.gateway.conftest import action_call, play  # noqa: F401  a fixture


def test_the_agents_session_goes_on_with_streams_that_are_cut(play):  # noqa: F811
    async def story(world):
        told, log = [], []
        async with CutOnce(world.port) as way:
            http = HttpClient(SystemClock(), environ={})
            line = BoardLine(http, Reach(way.url.removesuffix("/mcp"), world.token), clock=SystemClock(), emit=lambda *a, **k: told.append(a),
                             log=log.append)
            worker = asyncio.ensure_future(serve_work(world.worker()))
            try:
                await line.open()
                opened = await line.call("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}})
                done = await line.call("ApplyAction", action_call("read_input", opened.body["result"]["root"]))
            finally:
                worker.cancel()
                await line.close()
                await http.close()
            assert opened.kind is Kind.ACCEPTED and done.kind is Kind.ACCEPTED and done.body["result"]["status"] == "confirmed"
            assert way.cut == way.resumed == 2 and len([words for words in log if "going on after event" in words]) == 2

    play(story)
