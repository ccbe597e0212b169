"""MCP servers that we did not write, where .ci/run has put them, and a Worker's hands to call them with."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Outcome
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.wire.manifest import BUILTINS, read_tool

ROOT = Path(__file__).resolve().parents[2]
NPM = ROOT / ".conformance" / "node_modules"
SDK_SERVER = str(Path(__file__).with_name("sdk_server.py"))
READY_S, CALL_S = 60, 90


def npm(server: str, *arguments: str) -> dict:
    """The Source of a server from npm."""
    entry = NPM / "@modelcontextprotocol" / server / "dist" / "index.js"
    node = NPM / ".bin" / "node"
    command = str(node) if node.exists() else shutil.which("node")
    if not entry.exists() or command is None:
        pytest.skip(f"npm's {server} is not in .conformance: run .ci/run, which installs it")
    return {"type": "mcp", "transport": "stdio", "command": command, "args": [str(entry), *arguments]}


def pypi(name: str, *arguments: str) -> dict:
    """The Source of a server from PyPI."""
    program = ROOT / f".venv-mcp-{name}" / ("Scripts" if os.name == "nt" else "bin") / f"mcp-server-{name}"
    if not program.exists():
        pytest.skip(f"PyPI's mcp-server-{name} is not in .venv-mcp-{name}: run .ci/run, which installs it")
    return {"type": "mcp", "transport": "stdio", "command": str(program), "args": list(arguments)}


def sdk_python(major: int) -> str:
    """An interpreter that has this major of the official SDK."""
    if major == 2 and find_spec("mcp.server.mcpserver" if find_spec("mcp") else "mcp"):
        return sys.executable
    python = ROOT / (".venv-mcp1" if major == 1 else ".venv-mcp") / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        pytest.skip(f"no interpreter has version {major} of the official SDK")
    return str(python)


def sdk_stdio(major: int) -> dict:
    return {"type": "mcp", "transport": "stdio", "command": sdk_python(major), "args": [SDK_SERVER, "stdio"]}


@contextmanager
def listening(command: list[str], path: str = "/mcp", **env: str) -> Iterator[str]:
    """A server at an address of its own; its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [word.format(port=port) for word in command]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **{name: value.format(port=port) for name, value in env.items()}})
    try:
        for _ in range(READY_S * 20):
            assert process.poll() is None, f"{words[0]} ended with status {process.returncode}"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@contextmanager
def sdk_http(major: int, kind: str) -> Iterator[dict]:
    with listening([sdk_python(major), SDK_SERVER, "http", "{port}", kind]) as url:
        yield {"type": "mcp", "transport": "streamable-http", "url": url}


class Visit:
    """What a row of calls came to, and the date they were made in."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.date = ""


def visit(vault: dict, *calls: tuple[str, dict], **more: object) -> Visit:
    """These calls, one after another, as a Worker makes them; the server is ended afterwards."""
    seen = Visit()

    async def story() -> None:
        hands = Hands(Territory(str(ROOT), str(ROOT / "no-home-here")), os.environ, outbound=Outbound())
        source = Source("far", "mcp", str(vault.get("url", "vault")), {**vault, **more})
        try:
            for name, arguments in calls:
                tool = BUILTINS["rulith.mcp.discover@1"] if name == "discover" else read_tool("acme.far@1", {
                    "adapter": "mcp", "sourceTypes": ["mcp"], "entry": name, "params": {each: "json" for each in arguments}})
                seen.outcomes.append(await hands.compile(Call("inv_1", "key", tool, arguments, source, inline_bytes=65_536)).run())
            session = hands.outbound.sessions._open.get("far")
            seen.date = session.link.date if session is not None else ""
        finally:
            await hands.close()

    asyncio.run(asyncio.wait_for(story(), CALL_S))
    return seen
