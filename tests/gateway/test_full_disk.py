"""A ledger that takes no commits: said once in the log, told to whoever asks, and over as soon as one works."""

from __future__ import annotations

import asyncio

import pytest

from rulith.gateway.turns import Turns
from rulith.store.failures import StoreFailed
from rulith.store.memory import MemoryLedger

AT = "2026-10-03T08:00:00.000Z"


class Disk:
    """Makes a ledger's commits fail while `is_full`."""

    def __init__(self, ledger) -> None:
        self.is_full, self._commit = False, ledger.commit
        ledger.commit = self.commit

    def commit(self) -> None:
        if self.is_full:
            raise StoreFailed("store_full")
        self._commit()


def test_a_failing_store_is_told_once_and_its_recovery_once():
    async def story():
        ledger, told = MemoryLedger(), []
        turns = Turns(ledger, refold=lambda chains: None, tell=told.append)
        disk = Disk(ledger)
        disk.is_full = True
        for _ in range(3):
            turns.stage("a", "board", {}, AT)
            with pytest.raises(Exception, match="commit_failed"):
                await turns.settled()
            with pytest.raises(Exception, match="the disk is full"):
                turns.check_writable(AT)
        assert len(told) == 1 and "the disk is full" in told[0], told
        disk.is_full = False
        turns.check_writable(AT)
        turns.check_writable(AT)
        assert len(told) == 2 and "again" in told[1], told
        assert turns.trouble == ""

    asyncio.run(asyncio.wait_for(story(), 30))


def test_a_full_disk_is_named_to_every_caller_and_in_the_log(play, capfd):
    async def story(world):
        host = world.host()
        await host.initialize()
        disk = Disk(world.gateway.authority.ledger)
        disk.is_full = True
        lost = await host.call_raw("OpenCase", {"caseType": "exploration"}, id="lost")
        assert lost.status == 503 and "the disk is full" in lost.json()["error"]["data"]["teaching"]
        streamed = (await host.call_raw("OpenCase", {"caseType": "exploration"}, progress="p")).events()
        assert [each["result"]["isError"] for each in streamed] == [True]
        refused = await host.call("OpenCase", {"caseType": "exploration"})
        assert refused["errorCode"] == "store_unavailable" and "the disk is full" in refused["teaching"]
        ping = await host.rpc("ping")
        assert ping.status == 503 and ping.json()["error"]["data"]["reason"] == "store_unavailable"
        assert "the disk is full" in ping.json()["error"]["data"]["teaching"]
        worker = world.worker()
        poll = await worker.raw({"kind": "Poll", "workerId": worker.id, "tools": worker.tools})
        assert poll.status == 503 and "the disk is full" in poll.json()["teaching"]
        state = (await world.local("state")).json()
        assert state["store"]["ok"] is False and "the disk is full" in state["store"]["problem"]
        disk.is_full = False
        assert (await host.rpc("ping")).status == 200
        assert (await world.local("state")).json()["store"] == {"ok": True}
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"]

    play(story)
    said = [line for line in capfd.readouterr().err.splitlines() if "commits" in line]
    assert len(said) == 2 and "the disk is full" in said[0] and "again" in said[1]


def test_a_held_call_is_answered_at_once_when_commits_begin_to_fail(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        root = (await world.open_case(host))["root"]
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", root)))
        row = (await worker.rows_until())[0]
        assert (await worker.claim(row))["accepted"]
        disk = Disk(world.gateway.authority.ledger)
        disk.is_full = True
        report = await worker.raw({"kind": "ReportWork", "workType": "action", "id": row["work"], "executionGrant": row["executionGrant"],
                                   **worker.identity(), "ok": True, "result": "done", "facts": kit.facts_for(row["tool"])})
        assert report.status == 503 and "the disk is full" in report.json()["teaching"]
        answer = await asyncio.wait_for(asked, 25)              # far below the hold bound of this play
        assert answer["state"] == "running" and "the disk is full" in answer["teaching"]
        assert (await host.rpc("ping")).status == 503
        disk.is_full = False
        rows = await host.ping()
        assert rows[0]["state"] == "running"
        assert (await worker.report(row, ok=True, result="done", facts=kit.facts_for(row["tool"])))["accepted"]
        assert (await host.ping())[0]["state"] == "done"

    play(story, holdMs=45_000)
