"""How many sessions a Worker keeps, and what a scripted server can do to their opening."""

import asyncio

import pytest

from rulith.adapters.mcp_link import Budget, Cut, Turned
from rulith.adapters.mcp_session import SESSIONS_MAX, NotReady, Session, Sessions
from rulith.base.clock import ManualClock
from rulith.wire.jsonrpc import Response


class FakeLink:
    """A link that answers by a script: method -> result, error or exception."""

    survives_silence = True

    def __init__(self, **script):
        self.date, self.is_open, self.closed, self.asked, self.said = None, False, False, [], []
        self.script = {"server/discover": {"error": {"code": -32601, "message": "no"}}, "initialize": {"protocolVersion": "2025-11-25"}, **script}

    async def open(self):
        self.is_open = True

    async def exchange(self, message, budget, mirrored={}, late=None):
        self.asked.append((message["method"], message["params"].get("protocolVersion")))
        answer = self.script[message["method"]]
        answer = answer(message) if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        if "error" in answer:
            return Response(message["id"], error=answer["error"])
        return Response(message["id"], result=answer)

    async def notify(self, message, budget):
        self.said.append(message["method"])

    async def close(self):
        self.is_open, self.closed = False, True

    def last_words(self):
        return ""


def budget():
    return Budget(ManualClock(), 30_000, 2**20)


def opened(link, date=None):
    async def story():
        session = Session(link, "here", date)
        await session.open(budget())
        return session

    return asyncio.run(story())


def test_at_most_128_sessions_are_open_and_the_oldest_ends():
    async def story():
        sessions, links = Sessions(), []
        for number in range(SESSIONS_MAX + 2):
            links.append(FakeLink())
            await sessions.take(f"s{number}", number, None, lambda: links[-1], budget())
        open_before = [link.closed for link in links]
        await sessions.close()
        return open_before, [link.closed for link in links]

    before, after = asyncio.run(story())
    assert SESSIONS_MAX == 128 and before == [True, True] + [False] * SESSIONS_MAX and all(after)


def refusing(message):
    """A server of 2025-06-18 alone that answers a newer date with an error instead of its own."""
    return {"protocolVersion": "2025-06-18"} if message["params"]["protocolVersion"] == "2025-06-18" else {"error": {"code": -32602, "message": "Unsupported"}}


@pytest.mark.parametrize("script, agreed, asked", [
    ({"server/discover": {"supportedVersions": ["2025-11-25", "2026-07-28"]}}, "2026-07-28", ["server/discover"]),
    ({"server/discover": {"supportedVersions": ["2025-11-25"]}}, "2025-11-25", ["server/discover", "initialize"]),
    ({"server/discover": Turned("HTTP 404")}, "2025-11-25", ["server/discover", "initialize"]),
    ({"server/discover": Cut("HTTP 500")}, "2025-11-25", ["server/discover", "initialize"]),
    ({"initialize": refusing}, "2025-06-18", ["server/discover", "initialize", "initialize"]),
    ({"server/discover": {"error": {"code": -32022, "data": {"supported": ["2026-07-28"]}}}}, "2025-11-25", ["server/discover", "server/discover", "initialize"]),
])
def test_a_date_is_agreed_on_in_as_few_words_as_it_takes(script, agreed, asked):
    link = FakeLink(**script)
    opened(link)
    assert link.date == agreed and [method for method, _ in link.asked] == asked
    assert link.said == ([] if agreed == "2026-07-28" else ["notifications/initialized"])


@pytest.mark.parametrize("script, date", [
    ({"server/discover": Cut("nobody there", sent=False)}, None), ({"initialize": Turned("HTTP 401")}, None), ({"initialize": Cut("it ended")}, None),
    ({"initialize": {"protocolVersion": "2024-11-05"}}, None), ({"initialize": {}}, None), ({"initialize": {"error": {"code": 1, "message": "no"}}}, None),
    ({}, "2026-07-28"), ({"initialize": {"protocolVersion": "2025-11-25"}}, "2025-06-18"),
])
def test_whatever_keeps_a_session_from_opening_is_not_ready(script, date):
    with pytest.raises(NotReady):
        opened(FakeLink(**script), date)
