"""`rulith gateway backup` and `restore`: a consistent copy, and a lost time that can do nothing any more.

Duty: design D5 (one process opens a ledger; backup asks it) and D9 (secrets).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sqlite3
import stat

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.commands import gateway as door
from rulith.disk.profiles import agent_secrets, device_secrets, worker_secrets
from rulith.disk.runfile import write_runfile
from rulith.gateway.copies import GENERATION_LEAP
from rulith.gateway.first_start import gateway_secrets
from rulith.store.ledger import Ledger


async def call(world, *words: str) -> int:
    """The door of the command line, beside the loop that serves."""
    return await asyncio.to_thread(door.main, [*words, "--home", str(world.home.path)])


def announce(world) -> None:
    write_runfile(world.home.gateway_json, url=f"http://127.0.0.1:{world.port}", port=world.port)


def withdraw_notice(world) -> None:
    world.home.gateway_json.unlink(missing_ok=True)


def rows_of(path) -> list:
    ledger = Ledger.open(path, SystemClock())
    try:
        assert ledger.verify() == []
        return list(ledger.rows())
    finally:
        ledger.close()


def test_a_running_gateway_makes_the_backup_and_serves_meanwhile(play, tmp_path, capfd):
    async def story(world):
        announce(world)
        host = world.host()
        await host.initialize()
        await world.open_case(host)
        target = tmp_path / "copy.db"
        made = asyncio.ensure_future(call(world, "backup", str(target)))
        while not made.done():
            assert (await host.rpc("ping")).status == 200
        assert made.result() == 0
        held = list(world.gateway.authority.ledger.rows())
        assert rows_of(target) == held[:len(rows_of(target))] and len(rows_of(target)) >= 4
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        said = capfd.readouterr().out
        copied = sqlite3.connect(target)
        copied.close()
        assert "Digest   sha256:" in said and not list(world.home.gateway.glob("backup-*"))

    play(story)


def test_the_digest_that_is_printed_is_that_of_the_file(play, tmp_path, capfd):
    async def story(world):
        announce(world)
        assert await call(world, "backup", str(tmp_path / "running.db")) == 0
        await world.stop()
        withdraw_notice(world)
        assert await call(world, "backup", str(tmp_path / "closed.db")) == 0
        said = capfd.readouterr().out
        for name in ("running.db", "closed.db"):
            assert f"sha256:{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}" in said
            assert "rlt_" not in (tmp_path / name).read_bytes().decode("latin-1"), "a secret stands in the backup"
        assert rows_of(tmp_path / "running.db") == rows_of(tmp_path / "closed.db")
        await world.start()

    play(story)


def test_what_stands_there_is_never_written_over(play, tmp_path, capfd):
    async def story(world):
        announce(world)
        (tmp_path / "copy.db").write_text("mine")
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 1
        assert "something stands there already" in capfd.readouterr().err and (tmp_path / "copy.db").read_text() == "mine"

    play(story)


def test_the_route_wants_the_device_grant_and_post(play, kit):
    async def story(world):
        for token, method, status in ((world.token, "POST", 401), ("x", "POST", 401), (world.device, "GET", 405), (world.device, "POST", 200)):
            answer = await kit.http(world.port, method, "/local/backup", {"authorization": f"Bearer {token}"})
            assert answer.status == status, answer.body

    play(story)


def test_a_gateway_that_makes_no_backup_is_named_by_its_process(play, tmp_path, capfd):
    async def story(world):
        announce(world)
        device_secrets(world.home).update({"token": "rlt_dev_another"})
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 1
        assert f"process {os.getpid()}" in capfd.readouterr().err

    play(story)


def test_a_ledger_that_another_process_has_open_is_not_read_behind_its_back(play, tmp_path, capfd):
    async def story(world):
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 1
        assert f"open in process {os.getpid()}" in capfd.readouterr().err
        assert await call(world, "restore", str(world.home.ledger)) == 1
        assert f"open in process {os.getpid()}" in capfd.readouterr().err

    play(story)


def test_a_restore_names_the_gateway_that_runs(play, tmp_path, capfd):
    async def story(world):
        announce(world)
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 0
        before = world.home.ledger.read_bytes()
        assert await call(world, "restore", str(tmp_path / "copy.db")) == 1
        assert f"process {os.getpid()}" in capfd.readouterr().err and world.home.ledger.read_bytes() == before

    play(story)


@pytest.mark.parametrize("what", ["absent", "empty", "notes", "damaged", "no rows"])
def test_what_is_no_backup_changes_nothing(play, tmp_path, capfd, what):
    async def story(world):
        await world.stop()
        path = tmp_path / "copy.db"
        if what in ("empty", "notes"):
            path.write_bytes(b"" if what == "empty" else b"these are notes " * 300)
        elif what == "damaged":
            shutil.copy(world.home.ledger, path)
            db = sqlite3.connect(path)
            db.executescript("DROP TRIGGER row_stays; UPDATE row SET body = '{}' WHERE position = 2;")
            db.close()
        elif what == "no rows":
            Ledger.open(path, SystemClock()).close()
        before = world.home.ledger.read_bytes()
        assert await call(world, "restore", str(path)) in (1, 4)
        assert "nothing was changed" in (said := capfd.readouterr().err) or what in ("absent", "empty"), said
        assert world.home.ledger.read_bytes() == before and not list(world.home.gateway.glob("restore-*"))
        await world.start()

    play(story)


def test_a_restored_home_goes_on_from_the_backup_with_new_keys(play, kit, tmp_path, capfd):
    """Nothing of the lost time can act: neither its Worker, nor a grant signed for it."""

    async def story(world):
        host, old = world.host(), world.worker()
        await host.initialize()
        await old.poll()
        case = await world.open_case(host)
        await world.act(host, old, "read_input", case["root"])
        announce(world)
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 0
        await world.act(host, old, "write_output", case["root"])           # the lost time
        replaced = world.worker()
        assert (await old.release())["accepted"]
        await replaced.poll()
        assert replaced.generation > old.generation
        await world.stop()
        withdraw_notice(world)
        lost = rows_of(world.home.ledger)
        keys = dict(worker_secrets(world.profile).load())
        assert await call(world, "restore", str(tmp_path / "copy.db")) == 0
        said = capfd.readouterr().out
        (kept,) = world.home.gateway.glob("ledger.db.replaced-*[Z0-9]")
        assert kept.name in said and rows_of(kept) == lost
        await world.start()
        for each in (old, replaced):
            each.port = world.port
            body = (await each.raw({"kind": "Poll", "workerId": each.id, "tools": each.tools, "workerGeneration": each.generation})).json()
            assert body["reason"] == "worker_credential_rejected", body
        fresh_keys = worker_secrets(world.profile).load()
        assert fresh_keys["RULITH_CONNECTION_KEY"] != keys["RULITH_CONNECTION_KEY"]
        assert gateway_secrets(world.home).load()[fresh_keys["RULITH_CONNECTION"]] == fresh_keys["RULITH_CONNECTION_KEY"]
        replaced.key = fresh_keys["RULITH_CONNECTION_KEY"]                  # even with the new key, its generation is over
        body = (await replaced.raw({"kind": "Poll", "workerId": replaced.id, "tools": replaced.tools,
                                    "workerGeneration": replaced.generation})).json()
        assert body["accepted"] is False and body["errorCode"] == "worker_lease_superseded", body
        host, worker = world.host(), world.worker()
        await host.initialize()
        await host.call("QueryBoard")
        assert (await worker.poll())["lease"]["workerGeneration"] > replaced.generation + GENERATION_LEAP - 5
        assert (await host.call("OpenCase", {"caseId": case["caseId"]}))["accepted"]
        assert (await world.act(host, worker, "write_output", case["root"]))["result"]["status"] == "confirmed"
        assert (await world.local("state")).status == 200
        assert world.gateway.authority.ledger.verify() == []

    play(story, pollHoldMs=200)


@pytest.mark.parametrize("state", ["ready", "dispatched", "claimed"])
def test_a_call_under_way_at_the_backup_is_never_dispatched_again_by_itself(play, kit, tmp_path, capfd, state):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host)
        if state == "ready":
            asked = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        else:
            held = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
            row = (await worker.rows_until())[0]
            if state == "claimed":
                assert (await worker.claim(row))["accepted"]
            asked = await held
        assert asked["state"] == "running", asked
        announce(world)
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 0
        await world.stop()
        withdraw_notice(world)
        assert await call(world, "restore", str(tmp_path / "copy.db")) == 0
        assert "may have run since the backup" in capfd.readouterr().out
        await world.start()
        host, worker = world.host(), world.worker()
        await host.initialize()
        assert (await worker.poll())["payload"]["work"] == []
        operation = world.gateway.authority.agents[world.profile.agent_id].operations.unresolved()
        assert operation.state == "needs_person" and "restored from a backup" in operation.reason
        refused = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert refused["errorCode"] == "operation_running"

    play(story, holdMs=300, pollHoldMs=100)


def test_a_decision_that_waited_at_the_backup_is_withdrawn(play, kit, tmp_path):
    async def story(world):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host, "approved_calculation")
        worker = world.worker()
        await worker.poll()
        await world.act(host, worker, "read_input", case["root"])
        waiting = await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
        assert waiting["state"] == "waiting_for_decision", waiting
        announce(world)
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 0
        await world.stop()
        withdraw_notice(world)
        assert await call(world, "restore", str(tmp_path / "copy.db")) == 0
        await world.start()
        (decision,) = world.gateway.authority.registry.decisions.values()
        assert decision["state"] == "withdrawn"
        assert world.gateway.authority.agents[world.profile.agent_id].operations.unresolved().state == "needs_person"

    play(story, holdMs=2_000)


def test_tokens_of_this_homes_own_roles_are_made_to_fit(play, tmp_path):
    """A token rotated after the backup is what the profile holds; the restored ledger learns it."""

    async def story(world):
        announce(world)
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 0
        await world.stop()
        withdraw_notice(world)
        agent_secrets(world.profile).update({"RULITH_TOKEN": "rlt_agt_" + "n" * 40})
        device_secrets(world.home).update({"token": "rlt_dev_" + "n" * 40})
        assert await call(world, "restore", str(tmp_path / "copy.db")) == 0
        await world.start()
        host = world.host()
        await host.initialize()
        assert (await host.rpc("ping")).status == 200 and (await world.local("state")).status == 200

    play(story)


def test_a_home_whose_ledger_is_gone_is_brought_back(play, tmp_path):
    async def story(world):
        announce(world)
        assert await call(world, "backup", str(tmp_path / "copy.db")) == 0
        await world.stop()
        withdraw_notice(world)
        for each in world.home.gateway.glob("ledger.db*"):
            each.unlink()
        with pytest.raises(Refused) as refusal:
            await world.start()
        assert refusal.value.code == "ledger_missing"
        assert await call(world, "restore", str(tmp_path / "copy.db")) == 0
        await world.start()
        host = world.host()
        await host.initialize()
        await world.open_case(host)

    play(story)


@pytest.mark.parametrize("words", [["backup"], ["restore"], ["keep", "x"], ["backup", "a", "b"]])
def test_wrong_words_touch_no_file(tmp_path, capsys, words):
    assert door.main([*words, "--home", str(tmp_path / "home")]) == 2
    assert "backup FILE" in capsys.readouterr().err and not (tmp_path / "home").exists()


def test_a_damaged_ledger_ends_the_gateway_with_its_own_status(play, capfd):
    async def story(world):
        await world.stop()
        db = sqlite3.connect(world.home.ledger)
        db.executescript("DROP TRIGGER row_stays; UPDATE row SET body = '{}' WHERE position = 2;")
        db.close()
        assert await call(world) == 4
        said = capfd.readouterr().err.splitlines()
        assert len(said) == 1 and "row 1 of chain" in said[0] and "rulith gateway restore FILE" in said[0]

    play(story)


def test_a_row_that_folds_to_something_else_is_named(play):
    async def story(world):
        host = world.host()
        await host.initialize()
        await world.open_case(host)
        await world.stop()
        ledger = Ledger.open(world.home.ledger, SystemClock())
        body = next(row.body for row in ledger.rows() if row.kind == "board" and row.body["command"]["kind"] == "open_case")
        agent = world.profile.agent_id
        ledger.append(agent, "board", {**body, "closure": "0" * 64}, "2999-01-01T00:00:00.000Z")
        ledger.commit()
        number = ledger.head(agent)[0]
        ledger.close()
        with pytest.raises(Refused) as refusal:
            await world.start()
        assert refusal.value.code == "ledger_unfoldable" and f"Row {number} of chain {agent}" in str(refusal.value)

    play(story)
