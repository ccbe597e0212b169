"""Transports with a host whose answers a test releases: waiting, progress, bounds. No clock decides anything here."""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.base.clock import ManualClock
from rulith.gateway import board_calls, board_http, board_stdio
from rulith.gateway.board_http import BoardHttp
from rulith.gateway.board_server import BoardHost
from rulith.gateway.board_stdio import StdioPeer
from rulith.net.messages import Headers, Request, StreamResponse
from rulith.wire.mcp_tools import Call
from tests.board_server.conftest import ENVELOPE

RESULT = {"content": [{"type": "text", "text": "done"}], "isError": False}
WAIT_S = 40


class HeldHost:
    """Answers a call when the test says so."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.begun: list[str] = []

    async def call(self, call: Call) -> dict:
        self.begun.append(call.name)
        await self.release.wait()
        return RESULT


def call(number=1, **meta):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "list_spaces", "arguments": {}, "_meta": {**ENVELOPE, **meta}}}


def request(message, accept="application/json, text/event-stream"):
    rows = {"host": "127.0.0.1", "content-type": "application/json", "accept": accept, "mcp-protocol-version": "2026-07-28",
            "mcp-method": message["method"], "mcp-name": "list_spaces"}
    return Request("POST", "/mcp", Headers.of(rows), json.dumps(message).encode())


@pytest.fixture
def impatient(monkeypatch):
    """Patience is over at once, and signs of life come with every turn of the loop."""
    for module in (board_http, board_stdio):
        monkeypatch.setattr(module, "PROGRESS_EVERY_S", 0.001)
    monkeypatch.setattr(board_http, "BOARD_ANSWER_S", 0.001)


@pytest.mark.parametrize(("meta", "sign"), [({"progressToken": "t"}, b'"method":"notifications/progress","params":{"progressToken":"t","progress":1}'), ({}, b": computing")])
def test_a_call_that_takes_long_becomes_a_stream_with_signs_of_life(impatient, meta, sign):
    async def scene():
        host = HeldHost()
        answer = await BoardHttp(host).handle(request(call(**meta)))
        assert isinstance(answer, StreamResponse)
        chunks = aiter(answer.chunks)
        assert sign in await asyncio.wait_for(anext(chunks), WAIT_S)
        host.release.set()
        rest = [chunk async for chunk in chunks]
        assert b'"text":"done"' in rest[-1] and b'"id":1' in rest[-1]

    asyncio.run(scene())


def test_a_client_that_takes_no_stream_waits_for_its_json(impatient):
    async def scene():
        host = HeldHost()
        pending = asyncio.ensure_future(BoardHttp(host).handle(request(call(), accept="application/json")))
        assert not (await asyncio.wait({pending}, timeout=0.05))[0]
        host.release.set()
        answer = await asyncio.wait_for(pending, WAIT_S)
        assert json.loads(answer.body)["result"]["content"] == RESULT["content"]

    asyncio.run(scene())


def test_streams_and_sessions_are_bounded(monkeypatch):
    monkeypatch.setattr(board_http, "BOARD_LISTENS_MAX", 1)
    monkeypatch.setattr(board_http, "BOARD_SESSIONS_MAX", 2)
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": ENVELOPE}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}

    async def scene():
        board = BoardHttp(HeldHost())
        first = await board.handle(request(listen))
        chunks = aiter(first.chunks)
        assert b"acknowledged" in await anext(chunks)
        assert (await board.handle(request(listen))).status == 503
        assert (await board.handle(request(listen, accept="application/json"))).status == 406
        board.end_streams()
        assert b'"resultType":"complete"' in [chunk async for chunk in chunks][-1]

        def plain(message, session=None):
            rows = {"host": "127.0.0.1", "content-type": "application/json", **({"mcp-session-id": session} if session else {})}
            return Request("POST", "/mcp", Headers.of(rows), json.dumps(message).encode())

        ids = []
        for _ in range(3):
            answer = await board.handle(plain(opening))
            ids.append(dict(answer.headers)["mcp-session-id"])
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert [(await board.handle(plain(listing, each))).status for each in ids] == [404, 200, 200]

    asyncio.run(scene())


def lines(sent: list[bytes]) -> list[dict]:
    return [json.loads(line) for line in sent]


def test_over_stdio_progress_is_told_to_who_asked_and_many_calls_wait(impatient, monkeypatch):
    monkeypatch.setattr(board_stdio, "BOARD_CALLS_WAITING_MAX", 2)

    async def scene():
        host, sent, told = HeldHost(), [], asyncio.Event()

        def write(line: bytes) -> None:
            sent.append(line)
            told.set()

        peer = StdioPeer(host, write)
        for message in (call(1, progressToken=7), call(2), call(3)):
            peer.receive(json.dumps(message).encode() + b"\n")
        assert lines(sent)[0]["error"]["data"]["reason"] == "too_many_calls" and lines(sent)[0]["id"] == 3
        while not any(row.get("method") == "notifications/progress" for row in lines(sent)):
            told.clear()
            await asyncio.wait_for(told.wait(), WAIT_S)
        host.release.set()
        while {row.get("id") for row in lines(sent) if "result" in row} != {1, 2}:
            told.clear()
            await asyncio.wait_for(told.wait(), WAIT_S)
        assert {row["params"]["progressToken"] for row in lines(sent) if row.get("method") == "notifications/progress"} == {7}
        peer.receive(json.dumps(call(4)).encode() + b"\n")
        assert not any(row.get("id") == 4 and "error" in row for row in lines(sent))

    asyncio.run(scene())


def test_a_client_that_is_gone_is_written_to_no_more():
    async def scene():
        writes = []

        def write(line: bytes) -> None:
            writes.append(line)
            raise BrokenPipeError

        peer = StdioPeer(HeldHost(), write)
        for _ in range(3):
            peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert len(writes) == 1 and peer.is_gone

    asyncio.run(scene())


def test_a_bug_ends_one_call_and_is_told_without_its_text(monkeypatch, capsys):
    async def scene():
        host = BoardHost(ManualClock())
        await host.open()
        try:
            with monkeypatch.context() as patched:
                patched.setattr(board_calls, "run", lambda *arguments: 1 / 0)
                result = await host.call(Call(1, "list_spaces", {}, "2025-11-25"))
            assert result["isError"] and result["structuredContent"]["errorCode"] == "internal"
            assert "division" not in result["content"][0]["text"]
            assert (await host.call(Call(2, "list_spaces", {}, "2025-11-25")))["isError"] is False
        finally:
            assert await host.close()

    asyncio.run(scene())
    assert "ZeroDivisionError" in capsys.readouterr().err
