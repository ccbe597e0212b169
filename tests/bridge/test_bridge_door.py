"""`rulith bridge` as a process beside a real council, and its settings. Duty: the council surface, "Bridge and channel"; stdout carries protocol alone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.commands.bridge import read_settings
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.procs.roles import RoleProcess
from tests.bridge.conftest import KEY, call
from tests.board_server.test_sdk_clients import DATES, MAKE_S, python_of
from tests.conftest import ROOT, clean_environment
from tests.gateway.conftest import http

WAIT_S, STORY_S = 60.0, 110.0
URL = "http://127.0.0.1:8787/mcp"
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
WORDS = [sys.executable, "-m", "rulith", "bridge"]


@pytest.mark.parametrize("url, key, named", [
    ("", KEY, "RIVENDELL_URL"), ("  ", KEY, "RIVENDELL_URL"), (URL, "", "RIVENDELL_KEY"), (URL, " \t", "RIVENDELL_KEY"), (URL, "a b", "RIVENDELL_KEY"), (URL, "ké", "RIVENDELL_KEY"),
    ("ftp://127.0.0.1/mcp", KEY, "RIVENDELL_URL"), ("127.0.0.1:8787", KEY, "RIVENDELL_URL"), ("http://me:secret@127.0.0.1/mcp", KEY, "RIVENDELL_URL"),
    ("http://council.example/mcp", KEY, "RIVENDELL_URL"), ("http://127.0.0.1:99999/mcp", KEY, "RIVENDELL_URL"), ("http://[::1/mcp", KEY, "RIVENDELL_URL")])
def test_a_setting_that_cannot_be_used_is_named_and_no_key_is_told(url, key, named):
    with pytest.raises(Refused) as refused:
        read_settings([], {"RIVENDELL_URL": url, "RIVENDELL_KEY": key})
    assert refused.value.code == "bridge_setting" and refused.value.facts["name"] == named
    assert "secret" not in refused.value.teaching and KEY not in refused.value.teaching


def test_the_settings_of_this_machine_and_of_https_are_taken_and_words_are_not():
    for url in (URL, "http://localhost:8787/mcp", "https://council.example/mcp", " http://[::1]:1/mcp "):
        assert read_settings([], {"RIVENDELL_URL": url, "RIVENDELL_KEY": f" {KEY}\n"}) == (url.strip(), KEY)
    with pytest.raises(Refused) as refused:
        read_settings(["--key"], {"RIVENDELL_URL": URL, "RIVENDELL_KEY": KEY})
    assert refused.value.code == "option_usage"


@pytest.mark.parametrize("env", [{}, {"RIVENDELL_URL": URL}, {"RIVENDELL_KEY": KEY}, {"RIVENDELL_URL": URL, "RIVENDELL_KEY": ""}])
def test_without_an_address_or_a_key_it_ends_2_and_stdout_stays_empty(env):
    ended = subprocess.run(WORDS, cwd=ROOT, env=clean_environment(**env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S)
    assert ended.returncode == 2 and ended.stdout == "" and "RIVENDELL_" in ended.stderr and KEY not in ended.stderr and "Traceback" not in ended.stderr


class Host:
    """A host that started a bridge: says lines, reads lines, sees stderr."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self._number = 0

    async def __aenter__(self) -> Host:
        self.process = await asyncio.create_subprocess_exec(
            *WORDS, cwd=ROOT, env=clean_environment(RIVENDELL_URL=self.url, RIVENDELL_KEY=self.key), stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=2**22)
        return self

    async def __aexit__(self, *problem: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    def says(self, *messages: object) -> None:
        self.process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    async def hears(self) -> dict:
        return json.loads(await asyncio.wait_for(self.process.stdout.readline(), WAIT_S))

    async def asks(self, method: str, **params) -> dict:
        self._number += 1
        self.says({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        told = await self.hears()
        assert told["id"] == self._number, told
        return told

    async def complains(self) -> str:
        return (await asyncio.wait_for(self.process.stderr.readline(), WAIT_S)).decode()

    async def ends(self, how=None) -> int:
        how() if how is not None else self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), WAIT_S)


class Place:
    """A real council in a process of its own, with one agent in one room."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.project.mkdir()
        self.port = 0

    async def start(self) -> None:
        self.role = await RoleProcess.spawn("council", args=["serve", "--home", str(self.home), "--port", str(self.port)], log_path=self.home.with_name("council.log"))
        await self.role.wait_for_event("listening", WAIT_S)
        self.run = read_live(Home(self.home).council_json)
        self.port, self.url = self.run["port"], f"{self.run['url']}/mcp"

    async def __aenter__(self) -> Place:
        await self.start()
        await self.does("create_project", name="Shop", folder=str(self.project))
        made = await self.does("create_agent", project_id=1, name="ann", rooms=[1])
        self.key, self.agent = made["api_key"], made["agent_id"]
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.role.stop()

    async def does(self, name: str, /, **arguments):
        answer = await http(self.port, "POST", f"/api/{name}", {"authorization": f"Bearer {self.run['key']}"}, json.dumps(arguments).encode())
        assert answer.status == 200, answer.body
        return answer.json()["result"]

    async def opens(self, body: str = "@ann what now?") -> int:
        return (await self.does("create_thread", room=1, title="A question", body=body, tag="ADVERSARIAL_REVIEW"))["thread_id"]

    async def polls(self, count: int) -> None:
        while sum(each["kind"] == "poll" for row in await self.does("list_connections") for each in row["connections"]) != count:
            await asyncio.sleep(0.02)

    def kill(self) -> None:
        os.kill(self.role.pid, signal.SIGKILL)


def play(story, folder: Path) -> None:
    async def run() -> None:
        async with Place(folder) as place:
            await story(place)
    asyncio.run(asyncio.wait_for(run(), STORY_S))


OPEN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a host", "version": "1"}}


@posix
def test_a_host_joins_is_pushed_what_needs_it_answers_and_leaves(tmp_path):
    async def story(place):
        early = await place.opens()
        async with Host(place.url, place.key) as host:
            assert (await host.complains()) == "rulith bridge: Speaks as ann of Shop in #general.\n"
            opened = (await host.asks("initialize", **OPEN))["result"]
            assert opened["serverInfo"]["name"] == "rivendell" and opened["capabilities"]["experimental"] == {"claude/channel": {}}
            host.says({"jsonrpc": "2.0", "method": "notifications/initialized"})
            first = await host.hears()
            assert first["method"] == "notifications/claude/channel" and first["params"]["meta"] == {"thread": str(early), "kind": "waiting"}
            assert len((await host.asks("tools/list"))["result"]["tools"]) == 16
            thread = await place.opens()
            pushed = await host.hears()
            assert pushed["params"]["meta"] == {"thread": str(thread), "kind": "thread_created"} and f"get_thread({thread})" in pushed["params"]["content"]
            replied = (await host.asks("tools/call", name="reply", arguments={"thread_id": thread, "body": "It holds.", "verdict": "CLEARED"}))["result"]
            assert not replied.get("isError"), replied
            assert (await place.does("get_thread", thread_id=thread))["messages"][0]["verdict"] == "CLEARED"
            if sys.platform == "linux":
                assert place.key.encode() not in Path(f"/proc/{host.process.pid}/environ").read_bytes()
            assert await host.ends() == 0
            assert await host.process.stdout.read() == b"" and await host.process.stderr.read() == b""
        await place.polls(0)
    play(story, tmp_path)


@posix
def test_waits_run_beside_everything_and_a_cancelled_one_is_released_at_the_council(tmp_path):
    async def story(place):
        async with Host(place.url, place.key) as host:
            host.says(*[call(number, "wait_for_updates", timeout_s=3_600) for number in range(5)])
            await place.polls(5)
            host.says({"jsonrpc": "2.0", "id": "p", "method": "ping"})
            assert await host.hears() == {"jsonrpc": "2.0", "id": "p", "result": {}}
            host.says(*[{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}} for number in (1, 3)])
            await place.polls(3)
            thread = await place.opens()
            told = [await host.hears() for _ in range(3)]
            assert sorted(each["id"] for each in told) == [0, 2, 4]
            assert all(json.loads(each["result"]["content"][0]["text"])["needs_you"] == [thread] for each in told)
            assert await host.ends(host.process.terminate) == 143
    play(story, tmp_path)


@posix
def test_a_revoked_key_ends_what_waits_and_the_channel_and_says_so_once(tmp_path):
    async def story(place):
        async with Host(place.url, place.key) as host:
            assert "Speaks as ann" in await host.complains()
            await host.asks("initialize", **OPEN)
            host.says(call("w", "wait_for_updates", timeout_s=3_600))
            await place.polls(2)
            await place.does("set_agent_revoked", id=place.agent, revoked=True)
            told = await host.hears()
            assert told["id"] == "w" and ("error" in told or told["result"]["isError"])
            refused = await host.asks("tools/list")
            assert refused["error"]["code"] == -32001
            said = await host.complains()
            while "key" not in said:                         # the wait that ended may be told first
                said = await host.complains()
            assert "revoked" in said and place.key not in said
            assert await host.ends() == 0 and b"key" not in await host.process.stderr.read()
    play(story, tmp_path)


@posix
def test_a_killed_council_leaves_every_request_answered_and_the_next_one_is_found_again(tmp_path):
    async def story(place):
        async with Host(place.url, place.key) as host:
            await host.complains()
            await host.asks("initialize", **OPEN)
            host.says(call("w", "wait_for_updates", timeout_s=3_600))
            await place.polls(2)
            place.kill()
            await place.role.wait()                # until then a new connection may still reach its queue
            told = await host.hears()
            assert (told["id"], told["error"]["code"]) == ("w", -32000) and "may have been received" in told["error"]["message"]
            assert "Trying again" in await host.complains()
            assert "nothing was sent" in (await host.asks("tools/list"))["error"]["message"]
            await place.start()
            thread = await place.opens()
            pushed = await host.hears()
            assert pushed["params"]["meta"]["thread"] == str(thread)
            assert len((await host.asks("tools/list"))["result"]["tools"]) == 16 and "answers again" in await host.complains()
            assert await host.ends() == 0
    play(story, tmp_path)


@posix
def test_what_is_asked_before_the_host_closes_its_side_is_still_answered(tmp_path):
    """By the council, or, where that takes longer than a host waits before it kills, by the bridge: `whoami` starts a program the first time."""
    async def story(place):
        async with Host(place.url, place.key) as host:
            host.says({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPEN}, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, call(3, "whoami"))
            host.process.stdin.write_eof()
            told = {}
            while len(told) < 3:
                line = await host.hears()
                told[line["id"]] = line
            whole = {1: lambda result: result["serverInfo"]["name"] == "rivendell", 2: lambda result: len(result["tools"]) == 16,
                     3: lambda result: json.loads(result["content"][0]["text"])["name"] == "ann"}
            for number, line in told.items():
                assert whole[number](line["result"]) if "result" in line else "may have been received" in line["error"]["message"], line
            assert await host.process.stdout.read() == b"" and await asyncio.wait_for(host.process.wait(), WAIT_S) == 0
    play(story, tmp_path)


@posix
def test_the_ready_configuration_of_an_agent_works_as_it_is_pasted(tmp_path):
    """From any folder, with nothing else in its environment."""
    async def story(place):
        pasted = (await place.does("rotate_agent_key", id=place.agent))["shim_json"]["mcpServers"]["rivendell"]
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, call(2, "whoami")]
        done = await asyncio.to_thread(subprocess.run, [pasted["command"], *pasted["args"]], input=b"".join(json.dumps(each).encode() + b"\n" for each in lines), capture_output=True,
                                       cwd=tmp_path, env=clean_environment(**pasted["env"]), timeout=WAIT_S)
        told = {line["id"]: line for line in map(json.loads, done.stdout.splitlines())}
        assert done.returncode == 0 and Path(pasted["command"]).is_absolute() and "ann" in told[2]["result"]["content"][0]["text"], done
    play(story, tmp_path)


SDK = '''
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
async def main():
    words = json.loads(sys.argv[1])
    async with stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=json.loads(sys.argv[2]), cwd=sys.argv[3])) as (reading, writing):
        async with ClientSession(reading, writing) as session:
            opened = await session.initialize()
            tools = (await session.list_tools()).tools
            told = await session.call_tool("whoami", {})
            prompts = (await session.list_prompts()).prompts
            print(json.dumps({"instructions": opened.instructions, "tools": len(tools), "prompts": len(prompts), "me": json.loads(told.content[0].text)["name"]}))
asyncio.run(main())
'''


@posix
@pytest.mark.timeout(MAKE_S + STORY_S)
@pytest.mark.parametrize("major", sorted(DATES))
def test_the_official_clients_speak_through_it(tmp_path, major):
    python = python_of(major)

    async def story(place):
        env = clean_environment(RIVENDELL_URL=place.url, RIVENDELL_KEY=place.key)
        done = await asyncio.to_thread(subprocess.run, [python, "-c", SDK, json.dumps(WORDS), json.dumps(env), str(ROOT)], capture_output=True, timeout=WAIT_S, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()[-2_000:]
        seen = json.loads(done.stdout.splitlines()[-1])
        assert (seen["tools"], seen["prompts"], seen["me"]) == (16, 8, "ann") and "by itself" in seen["instructions"]
    play(story, tmp_path)
