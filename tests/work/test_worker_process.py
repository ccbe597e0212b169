"""`rulith worker` as a process: its settings, its exit status, its signals, and what others can read of it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.procs.roles import RoleProcess
from rulith.wire.manifest import read_manifest
from rulith.worker import main

CHECKOUT = Path(__file__).resolve().parents[2]
KEY = "rlt_key_public-test-only"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

SNOOP = '''import glob, json, os
found = []
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/task/*/environ"):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        continue
    if b"rlt_" + b"key_public" in content:
        found.append(path)
print(json.dumps({"rows": [{"found": len(found), "mine": json.dumps(dict(os.environ))}]}))
'''
SNOOPER = {
    "test.snoop@1": {"adapter": "run", "sourceTypes": [], "entry": "snoop.py", "kind": "read", "params": {},
                     "returns": [{"predicate": "test.found", "args": {"n": "$found"}}]},
}


def write_tools(folder, tools, **programs):
    (folder / "worker-tools.json").write_text(json.dumps({"format": "rulith-worker-tools/1", "tools": tools}))
    for name, body in programs.items():
        (folder / f"{name}.py").write_text(body)
    return read_manifest((folder / "worker-tools.json").read_text())


def settle(play, bound_s=60):
    return asyncio.run(asyncio.wait_for(play(), bound_s))


@POSIX
def test_three_settings_and_any_directory_are_enough(scripted, worker_process, tmp_path):
    async def play():
        async with scripted() as gateway:
            process = worker_process(tmp_path, gateway.url)
            await gateway.until(lambda: len(gateway.of("Poll")) >= 2)
            process.signal(signal.SIGTERM)
            return gateway, *await process.ends()

    gateway, status, out, err = settle(play)
    assert status == 0 and out == ""
    looks = [tool["id"] for tool in gateway.of("Poll")[0]["tools"] if tool["id"].startswith("rulith.workspace.")]
    assert looks == [f"rulith.workspace.{name}@1" for name in ("list", "count", "search", "read_text", "read_json", "hash")]
    assert gateway.of("ReleaseLease") and "read  rulith.workspace.list@1" in err
    assert list(tmp_path.iterdir()) == []           # it writes nothing where it stands


@POSIX
def test_a_manifest_in_that_directory_is_served_with_its_programs(scripted, worker_process, row, tmp_path):
    tools = write_tools(tmp_path, {"test.where@1": {"adapter": "run", "sourceTypes": [], "entry": "where.py", "kind": "read", "params": {}}},
                        where="import os; print(os.getcwd())")

    async def play():
        async with scripted() as gateway:
            process = worker_process(tmp_path, gateway.url)
            await gateway.until(lambda: gateway.worker)
            await gateway.offer(row(tools["test.where@1"], {}))
            await gateway.until(lambda: gateway.of("ReportWork"))
            process.signal(signal.SIGINT)
            return gateway, *await process.ends()

    gateway, status, _, err = settle(play)
    assert status == 0 and gateway.of("ReportWork")[0]["result"] == str(tmp_path.resolve())
    assert "run   test.where@1" in err or "read  test.where@1" in err


@POSIX
def test_a_stop_signal_during_execution_finishes_reports_and_releases(scripted, worker_process, row, tmp_path):
    tools = write_tools(tmp_path, {"test.slow@1": {"adapter": "run", "sourceTypes": [], "entry": "slow.py", "kind": "write", "params": {}}},
                        slow="import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'):\n    time.sleep(0.02)\nprint('finished')")

    async def play():
        async with scripted() as gateway:
            process = worker_process(tmp_path, gateway.url)
            await gateway.until(lambda: gateway.worker)
            await gateway.offer(row(tools["test.slow@1"], {}, "inv_1"), row(tools["test.slow@1"], {}, "inv_2"))
            await gateway.until(lambda: gateway.of("ClaimWork"))
            while not (tmp_path / "begun").exists():
                await asyncio.sleep(0.01)
            process.signal(signal.SIGTERM)
            (tmp_path / "go").write_text("")
            return gateway, *await process.ends()

    gateway, status, _, _ = settle(play)
    assert status == 0 and [operation["id"] for operation in gateway.of("ClaimWork")] == ["inv_1"]
    assert gateway.of("ReportWork")[0]["result"] == "finished"
    assert [kind for kind, *_ in gateway.calls[-2:]] == ["ReportWork", "ReleaseLease"]


@pytest.mark.parametrize("extra, said", [
    ({"RULITH_CONNECTION": ""}, "RULITH_CONNECTION is not set"),
    ({"RULITH_CONNECTION_KEY": ""}, "RULITH_CONNECTION_KEY is not set"),
    ({"RULITH_CONNECTION_KEY": "two words"}, "RULITH_CONNECTION_KEY is '(not shown)'"),
    ({"RULITH_WORKSPACE_TOOLS": "everything"}, "RULITH_WORKSPACE_TOOLS"),
    ({"RULITH_WORKER_RUN_TIMEOUT_SECONDS": "0"}, "RULITH_WORKER_RUN_TIMEOUT_SECONDS"),
    ({"RULITH_WORKER_RUN_TIMEOUT_SECONDS": "1.5"}, "RULITH_WORKER_RUN_TIMEOUT_SECONDS"),
    ({"RULITH_WORKER_RUN_TIMEOUT_SECONDS": "604801"}, "RULITH_WORKER_RUN_TIMEOUT_SECONDS"),
    ({"RULITH_WORKER_ROOT": "nowhere"}, "nowhere is not a folder"),
    ({"RULITH_WORK_URL": "ftp://127.0.0.1/work"}, "RULITH_WORK_URL"),
    ({"RULITH_WORK_URL": "http://work.example/work"}, "loopback or TLS only"),
    ({"RULITH_TOOLS_FILE": "bad.json"}, "bad.json cannot be used"),
    ({"RULITH_TOOLS_FILE": "mistyped.json"}, "mistyped.json, and there is no such file"),
    ({"RULITH_TOOLS_FILE": "taken.json"}, "belongs to a built-in Tool"),
    ({"RULITH_SECRETS_FILE": "open.json"}, "can be read by others"),
    ({"RULITH_SECRETS_FILE": "odd.json"}, "entry 'docs'"),
])
def test_what_cannot_be_used_ends_with_2_and_names_it(worker_process, tmp_path, extra, said):
    if sys.platform == "win32" and "open.json" in extra.values():
        pytest.skip("modes of POSIX")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "taken.json").write_text(json.dumps({"format": "rulith-worker-tools/1", "tools": {"rulith.workspace.list@1": {}}}))
    (tmp_path / "open.json").write_text("{}")
    (tmp_path / "open.json").chmod(0o644)
    (tmp_path / "odd.json").write_text('{"docs": "s3cret"}')
    (tmp_path / "odd.json").chmod(0o600)
    process = worker_process(tmp_path, "http://127.0.0.1:9/work", **extra)
    status, out, err = settle(process.ends)
    assert status == 2 and out == "" and said in err and "Traceback" not in err
    assert KEY not in err and "s3cret" not in err


def test_a_rejected_credential_ends_with_3_and_says_what_the_gateway_said(scripted, worker_process, tmp_path):
    async def play():
        async with scripted() as gateway:
            gateway.script["sources"] = [(401, {"accepted": False, "teaching": "revoked\nyesterday",
                                                "requiredClient": {"package": "rulith", "version": "999.0.0"}})]
            return await worker_process(tmp_path, gateway.url).ends()

    status, _, err = settle(play)
    assert f"no Tool Manifest at {tmp_path / 'worker-tools.json'}: built-in Tools only" in err
    assert status == 3 and "revoked yesterday" in err and "rulith.pyz 999.0.0" in err and KEY not in err


@POSIX
def test_events_as_json_lines_on_request(scripted, worker_process, tmp_path):
    async def play():
        async with scripted() as gateway:
            process = worker_process(tmp_path, gateway.url, RULITH_WORKER_EVENTS="jsonl")
            await gateway.until(lambda: len(gateway.of("Poll")) >= 2)
            process.signal(signal.SIGTERM)
            return await process.ends()

    status, out, err = settle(play)
    types = [json.loads(line)["type"] for line in out.splitlines()]
    assert status == 0 and types[:4] == ["up", "sources", "lease", "availability"] and KEY not in out + err


def stdio_environment():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
    return {**clean, "PYTHONPATH": str(CHECKOUT), "RULITH_LOCAL_EVENTS": "stdio"}


def role_settings(folder, url):
    return {"RULITH_CONNECTION": "conn_test", "RULITH_CONNECTION_KEY": KEY, "RULITH_WORK_URL": url, "RULITH_HOME": str(folder / "home"),
            "RULITH_TOOLS_FILE": str(folder / "worker-tools.json")}


def test_as_a_role_it_reads_stdin_speaks_events_and_stops_when_asked(scripted, row, tmp_path):
    tools = write_tools(tmp_path, {"test.hi@1": {"adapter": "run", "sourceTypes": [], "entry": "hi.py", "params": {}}}, hi="print('hi')")

    async def play():
        async with scripted() as gateway:
            events = []
            role = await RoleProcess.spawn("worker", env=role_settings(tmp_path, gateway.url), log_path=tmp_path / "log", on_event=events.append)
            try:
                await role.wait_for_event("availability", 60)
                await gateway.offer(row(tools["test.hi@1"], {}))
                await gateway.until(lambda: gateway.of("ReportWork"))
                await role.wait_for_event("reported", 60)
                status = await role.stop()
            finally:
                await role.kill()
            return gateway, events, status

    gateway, events, status = settle(play)
    assert status == 0 and gateway.of("ReleaseLease")
    types = [event["type"] for event in events]
    assert {"up", "lease", "availability", "claimed", "tool-timing", "reported"} <= set(types)
    assert next(event for event in events if event["type"] == "reported")["landed"] is True
    everything = json.dumps(events) + (tmp_path / "log").read_text()
    assert KEY not in everything and gateway.of("ClaimWork")[0]["executionGrant"] not in everything


def test_the_parents_death_releases_without_waiting(scripted, row, tmp_path):
    tools = write_tools(tmp_path, {"test.slow@1": {"adapter": "run", "sourceTypes": [], "entry": "slow.py", "params": {}}},
                        slow="import time\nopen('begun', 'w').close()\ntime.sleep(60)")

    async def play():
        async with scripted() as gateway:
            process = subprocess.Popen([sys.executable, "-m", "rulith", "worker"], env=stdio_environment(), cwd=tmp_path,
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                settings = {"protocol": "rulith-local-settings/1", "env": role_settings(tmp_path, gateway.url), "args": []}
                process.stdin.write(json.dumps(settings).encode() + b"\n")
                process.stdin.flush()
                await gateway.until(lambda: gateway.worker)
                await gateway.offer(row(tools["test.slow@1"], {}))
                await gateway.until(lambda: gateway.of("ClaimWork"))
                while not (tmp_path / "begun").exists():
                    await asyncio.sleep(0.01)
                process.stdin.close()
                return gateway, await asyncio.wait_for(asyncio.to_thread(process.wait), 60)
            finally:
                process.kill()
                process.wait()

    gateway, status = settle(play)
    assert status == 0 and gateway.of("ReleaseLease") and not gateway.of("ReportWork")


@LINUX
@pytest.mark.parametrize("attached", [True, False])
def test_a_program_that_reads_every_process_finds_no_secret_of_ours(scripted, worker_process, row, tmp_path, attached):
    """Started by hand, its key stood in its environment; as a role, never."""
    tools = write_tools(tmp_path, SNOOPER, snoop=SNOOP)

    async def play():
        async with scripted() as gateway:
            if attached:
                role = await RoleProcess.spawn("worker", env=role_settings(tmp_path, gateway.url), log_path=tmp_path / "log")
                stop = role.kill
            else:
                process = worker_process(tmp_path, gateway.url)

                async def stop():
                    process.kill()
            try:
                await gateway.until(lambda: gateway.worker)
                await gateway.offer(row(tools["test.snoop@1"], {}))
                await gateway.until(lambda: gateway.of("ReportWork"))
                return gateway.of("ReportWork")[0]
            finally:
                await stop()

    report = settle(play)
    assert report["ok"] is True, report
    seen = json.loads(report["result"])["rows"][0]
    assert seen["found"] == 0
    assert sorted(name for name in json.loads(seen["mine"]) if name.startswith("RULITH_")) == ["RULITH_EXECUTION_KEY", "RULITH_INVOCATION_ID"]


@pytest.mark.parametrize("words, said", [(["--dropbox"], "--dropbox"), (["serve"], "serve"), (["--once"], "--dropbox DIR"), (["--dropbox=d", "x"], "'x'"), (["--dropbox="], "--dropbox=")])
def test_a_word_it_does_not_know_ends_with_2(words, said, capsys):
    assert main(words) == 2 and said in capsys.readouterr().err


@POSIX
def test_the_environment_vault_is_read_beside_the_own_one_and_names_what_it_does_not_use(scripted, worker_process, tmp_path):
    shared = tmp_path / "shared.json"
    shared.write_text(json.dumps({"shop": {"type": "http", "url": "https://shop.example", "token": "s3cret", "timeoutMs": 5}}))
    shared.chmod(0o600)

    async def play():
        async with scripted() as gateway:
            gateway.sources = [{"name": "shop", "type": "http", "access": "https://evil.example"}]
            process = worker_process(tmp_path, gateway.url, RULITH_ENVIRONMENT_SECRETS_FILE="shared.json")
            await gateway.until(lambda: len(gateway.of("Poll")) >= 2)
            process.signal(signal.SIGTERM)
            return await process.ends()

    status, _, err = settle(play)
    assert status == 0 and "'shop' holds timeoutMs, which is not used" in err and "source_unusable" in err and "s3cret" not in err
    shared.write_text('{"shop": {"token": ["s3cret"]}}')

    async def wrong():
        return await worker_process(tmp_path, "http://127.0.0.1:1/work", RULITH_ENVIRONMENT_SECRETS_FILE="shared.json").ends()

    status, _, err = settle(wrong)
    assert status == 2 and "environment vault, entry 'shop': token must be text" in err and "s3cret" not in err


def services_of(tool, name="shelf"):
    entry = {"adapter": "mcp", "entry": "x", "kind": "read", "sourceTypes": ["mcp"], "params": {}}
    return {"format": "rulith-local-mcp/1", "services": {name: {"name": name, "mode": "stdio", "source": {"type": "mcp", "transport": "stdio", "command": "x"},
                                                               "tools": {tool: entry}, "discovered": [], "definition": {}}}}


@pytest.mark.parametrize(("vault", "said"), [({}, "both"), ({"shelf": {"type": "file", "root": "/srv"}}, "neither replaces the other")])
def test_a_worker_whose_services_and_files_name_the_same_thing_does_not_start(tmp_path, monkeypatch, capsys, vault, said):
    """MCP services, worker start: a clash of a name or an id refuses, and the files stay as they are (our decision: in memory, no copies)."""
    tool = "local.mcp.shelf.0123456789ab@1"
    write_tools(tmp_path, {tool: {"adapter": "mcp", "entry": "y", "kind": "read", "sourceTypes": ["mcp"], "params": {}}} if not vault else {})
    for name, content in (("services.json", services_of(tool)), ("worker-secrets.json", vault)):
        (tmp_path / name).write_text(json.dumps(content))
        (tmp_path / name).chmod(0o600)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, value in {"RULITH_CONNECTION": "conn_a", "RULITH_CONNECTION_KEY": KEY, "RULITH_HOME": str(tmp_path / "home"),
                        "RULITH_MCP_SERVICES_FILE": str(tmp_path / "services.json")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    told = capsys.readouterr().err
    assert said in told.lower() and ("shelf" if vault else tool) in told
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
