"""Shared by the tests of `rulith board`: a Board in this process, one in another, and the official clients."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.gateway import board_answers, board_calls, board_tools
from rulith.gateway.board_acts import ACTS
from rulith.gateway.board_store import Boards

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}

LINES = [
    {"op": "assert_fact", "id": "L1", "predicate": "line", "args": {"item": "a", "unit": 1299, "qty": 7}},
    {"op": "assert_fact", "id": "L2", "predicate": "line", "args": {"item": "b", "unit": 500, "qty": 2}},
]
COST = {"op": "add_axiom", "id": "R1", "label": "cost", "when": [
    {"predicate": "line", "args": {"item": "?i", "unit": "?u", "qty": "?q"}},
    {"predicate": "mul", "args": {"left": "?u", "right": "?q", "result": "?t"}}],
    "then": [{"predicate": "cost", "args": {"item": "?i", "total": "?t"}}]}
TOTAL = {"op": "derive_aggregate", "id": "T", "source": {"predicate": "cost", "valueArg": "total"},
         "into": {"predicate": "grand", "valueArg": "value"}}
INVOICE = [*LINES, COST, TOTAL]


class Desk:
    """The tools over Boards in this process, as a host would call them."""

    def __init__(self, ledger=None, limits=None) -> None:
        self.boards = Boards(ledger, ManualClock(), ACTS, **({} if limits is None else {"limits": limits}))
        self.boards.fold()

    def __call__(self, name: str, /, **arguments) -> dict:
        tool = board_tools.BY_NAME[name]
        try:
            return board_calls.run(self.boards, tool, arguments)
        except Refused as refusal:
            return board_answers.refused(tool, refusal, arguments)

    def text(self, name: str, /, **arguments) -> str:
        answer = self(name, **arguments)
        assert not answer["isError"], answer
        return answer["content"][0]["text"]

    def data(self, name: str, /, **arguments) -> dict:
        answer = self(name, **arguments, format="json")
        assert not answer["isError"], answer
        return answer["structuredContent"]

    def code(self, name: str, /, **arguments) -> str:
        answer = self(name, **arguments)
        assert answer["isError"], answer
        return answer["structuredContent"]["errorCode"]

    def do(self, *operations) -> str:
        return self.text("update_working_memory", operations=list(operations))


@pytest.fixture
def desk() -> Desk:
    return Desk()


class Process:
    """A real `rulith board` over stdio, spoken to in 2026-07-28."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "rulith", "board", *arguments], cwd=ROOT, env=os.environ | (env or {}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._ids = itertools.count(1)

    def send(self, method: str, params: dict | None = None, **more) -> int:
        number = self.write(method, params, **more)
        self.popen.stdin.flush()
        return number

    def write(self, method: str, params: dict | None = None, **more) -> int:
        """A request that leaves with the next `send`, in the same bytes."""
        number = next(self._ids)
        self.popen.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}, **more}).encode() + b"\n")
        return number

    def send_together(self, *requests: tuple[str, dict]) -> list[int]:
        """Several requests in one write, which a pipe takes whole up to 64 KiB: nothing comes between them."""
        numbers = [next(self._ids) for _ in requests]
        lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, separators=(",", ":")).encode() + b"\n"
                 for number, (method, params) in zip(numbers, requests)]
        assert sum(map(len, lines)) < 65_536
        self.popen.stdin.write(b"".join(lines))
        self.popen.stdin.flush()
        return numbers

    def read(self) -> dict:
        return json.loads(self.popen.stdout.readline())

    def ask(self, name: str, **arguments) -> int:
        return self.send("tools/call", {"name": name, "arguments": arguments, "_meta": ENVELOPE})

    def call(self, name: str, **arguments) -> dict:
        number = self.ask(name, **arguments)
        answer = self.read()
        assert answer["id"] == number, answer
        return answer["result"]

    def end(self) -> int:
        """Close its stdin; its exit status."""
        self.popen.stdin.close()
        return self.popen.wait(WAIT_S)

    def stop(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait(WAIT_S)
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            try:
                stream.close()
            except OSError:
                pass


@pytest.fixture
def start() -> Iterator:
    started: list[Process] = []

    def begin(*arguments: str, env: dict[str, str] | None = None) -> Process:
        started.append(Process(*arguments, env=env))
        return started[-1]

    yield begin
    for process in started:
        process.stop()


@pytest.fixture
def http() -> Iterator[str]:
    """The address of a real `rulith board --http`."""
    popen = subprocess.Popen([sys.executable, "-m", "rulith", "board", "--http", "0"], cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        line = popen.stdout.readline().decode()
        assert line.startswith("Board: http://127.0.0.1:"), line
        yield line.removeprefix("Board: ").strip()
    finally:
        popen.terminate()
        popen.wait(WAIT_S)
        popen.stdout.close()
