"""What survives: Cases, operations and their states, decisions, fences; killed at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.disk.runfile import read_live
from rulith.gateway.first_start import BEGUN
from rulith.store.failures import StoreFailed

ROOT = Path(__file__).resolve().parents[2]


async def again(world, how="stop"):
    await getattr(world, how)()
    await world.start()


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_a_job_goes_on_after_a_restart_between_any_two_steps(play, kit, how):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        for action in ("read_input", "write_output", "verify_output"):
            await again(world, how)
            host, old = world.host(), worker
            worker = world.worker()
            worker.id, worker.generation = old.id, old.generation        # the Worker itself lived on
            assert (await worker.poll())["lease"]["workerGeneration"] == old.generation
            await host.initialize()
            seen = await host.call("QueryBoard")        # reads what was not acknowledged before the end
            assert seen["view"]["cases"]["directory"][0]["caseId"] == case["caseId"]
            assert (await host.call("OpenCase", {"caseId": case["caseId"]}))["accepted"]
            answer = await world.act(host, worker, action, case["root"])
            assert answer["result"]["status"] == "confirmed", answer
        await again(world, how)
        host = world.host()
        await host.initialize()
        await host.call("QueryBoard")
        closed = await host.call("CloseCase", {"root": case["root"]})
        assert closed["result"]["certified"] is True
        assert world.gateway.authority.ledger.verify() == []

    play(story, pollHoldMs=200)


def test_a_claimed_call_stays_with_its_claimer_over_a_restart_and_its_receipt_lands(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call_raw("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await again(world)
        await asyncio.gather(asked, return_exceptions=True)
        worker.port = world.port
        host = world.host()
        form = (await host.initialize())["_meta"]["rulith/v3"]["operations"]
        assert form[0]["state"] == "running" and form[0]["stage"] == "at_worker"
        other = world.worker()
        assert (await other.poll())["errorCode"] == "worker_lease_held"       # its lease may still run
        assert (await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"])))["accepted"]
        assert (await host.ping())[0]["state"] == "done"

    play(story)


def test_a_call_whose_claimer_died_with_the_gateway_needs_a_person_once_the_line_moves(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call_raw("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await again(world, "crash")
        await asyncio.gather(asked, return_exceptions=True)
        other = world.worker()
        assert (await other.poll())["errorCode"] == "worker_lease_held"
        world.gateway.line._held[other.connection].until_s = 0.0      # a whole window went by without the old holder
        body = await other.poll()
        assert body["lease"]["workerGeneration"] == 2 and body["payload"]["work"] == []
        host = world.host()
        assert (await host.initialize())["_meta"]["rulith/v3"]["operations"][0]["state"] == "needs_person"
        worker.port = world.port
        assert (await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"])))["errorCode"] == "worker_fenced"

    play(story, pollHoldMs=50)


def test_a_failed_commit_is_unknown_to_its_caller_and_leaves_no_trace(play, kit):
    """D5: the Boards it touched are refolded, and writes are refused until a probe commit works."""
    async def story(world):
        host = world.host()
        await host.initialize()
        await host.call("OpenCase", {"caseType": "exploration"})
        ledger = world.gateway.authority.ledger
        commit, failures = ledger.commit, [StoreFailed("store_full"), StoreFailed("store_full")]

        def failing():
            if failures:
                raise failures.pop(0)
            commit()

        ledger.commit = failing
        lost = await host.call_raw("OpenCase", {"caseType": "exploration"}, id="lost")
        assert lost.status == 503 and "result" not in lost.json()
        resent = await host.call_raw("OpenCase", {"caseType": "exploration"}, id="lost")
        assert resent.status == 503                                   # never executed a second time
        refused = await host.call("OpenCase", {"caseType": "exploration"})
        assert refused["errorCode"] == "store_unavailable" and refused["requestExecuted"] is False
        assert refused["view"]["cases"]["total"] == 1
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["view"]["cases"]["total"] == 2
        assert ledger.verify() == []

    play(story)


def test_two_gateways_never_share_a_home(play):
    async def story(world):
        from rulith.base.clock import SystemClock
        from rulith.gateway.service import open_gateway
        with pytest.raises(Refused) as refused:
            open_gateway(world.home, SystemClock(), {})
        assert refused.value.code == "ledger_in_use" and str(os.getpid()) in refused.value.teaching

    play(story)


def test_an_existing_ledger_is_never_seeded_and_its_files_are_kept(play):
    async def story(world):
        token, rows = world.token, len(list(world.gateway.authority.ledger.rows()))
        assert world.gateway.genesis
        order = world.profile.workspace / "runtime" / "input.json"
        order.write_text("mine")
        await again(world)
        assert not world.gateway.genesis and world.token == token and order.read_text() == "mine"
        assert len(list(world.gateway.authority.ledger.rows())) == rows

    play(story)


def test_a_genesis_that_died_before_its_rows_is_taken_up_with_the_same_credentials(play):
    """Files come first, the rows that make them valid are one commit."""
    async def story(world):
        token, connection = world.token, world.profile.connection_id
        await world.stop()
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            world.home.gateway.joinpath(name).unlink(missing_ok=True)
        world.home.genesis_mark.write_bytes(BEGUN)            # it never came to its commit
        await world.start()
        assert world.gateway.genesis and world.token == token and world.profile.connection_id == connection
        await world.host().initialize()
        assert (await world.worker().poll())["accepted"]

    play(story, pollHoldMs=50)


# --- the door, as a process


def start_door(home: Path) -> subprocess.Popen:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "RULITH_HOME": str(home)}
    return subprocess.Popen([sys.executable, "-X", "utf8", "-u", "-m", "rulith", "gateway", "--listen", "127.0.0.1:0"],
                            env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_until_code(door: subprocess.Popen) -> list[str]:
    return [door.stdout.readline() for _ in range(3)]


def test_the_door_prints_its_address_and_setup_code_and_leaves_no_run_file(tmp_path):
    door = start_door(tmp_path / "home")
    try:
        lines = read_until_code(door)
        assert lines[0].startswith("Gateway: http://127.0.0.1:") and lines[2].startswith("Setup code")
        live = read_live(tmp_path / "home" / "run" / "gateway.json")
        assert live["pid"] == door.pid and lines[0].strip().endswith(str(live["port"]))
        second = subprocess.run(door.args, env={**os.environ, "PYTHONPATH": str(ROOT), "RULITH_HOME": str(tmp_path / "home")},
                                capture_output=True, text=True, timeout=30)
        assert second.returncode == 1 and str(door.pid) in second.stderr
        door.send_signal(signal.SIGTERM)
        assert door.wait(timeout=20) == 143
        assert not (tmp_path / "home" / "run" / "gateway.json").exists()
        assert door.stderr.read() == ""
    finally:
        door.kill()
        door.communicate()


def test_a_killed_door_is_followed_by_a_sound_ledger(tmp_path):
    home = tmp_path / "home"
    for _ in range(2):
        door = start_door(home)
        try:
            read_until_code(door)
        finally:
            door.kill()
            door.communicate()
    door = start_door(home)
    try:
        assert read_until_code(door)[0].startswith("Gateway:")
    finally:
        door.terminate()
        door.communicate(timeout=20)


@pytest.mark.parametrize("listen, status, says", [
    ("0.0.0.0:7781", 2, "not a loopback address"), ("example.org:7781", 2, "not a loopback address"),
    ("7781", 2, "HOST:PORT"), ("127.0.0.1:99999", 2, "HOST:PORT"),
])
def test_a_listen_address_that_would_leak_credentials_is_refused_by_name(tmp_path, listen, status, says):
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "RULITH_HOME": str(tmp_path / "home")}
    ended = subprocess.run([sys.executable, "-m", "rulith", "gateway", "--listen", listen], env=environ,
                           capture_output=True, text=True, timeout=30)
    assert ended.returncode == status and says in ended.stderr
    assert not (tmp_path / "home").exists()
