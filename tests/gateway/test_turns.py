"""Group commit: one fsync for a turn, nothing leaves early, a failed commit changes nothing."""

from __future__ import annotations

import asyncio

import pytest

from rulith.base.errors import Refused, Unknown
from rulith.gateway.turns import PROBE_KIND, Turns
from rulith.store.failures import StoreFailed
from rulith.store.memory import MemoryLedger

AT = "2026-10-03T08:00:00.000Z"


class CountingLedger(MemoryLedger):
    def __init__(self) -> None:
        super().__init__()
        self.commits = 0

    def commit(self) -> None:
        self.commits += 1
        super().commit()


def make(**hooks):
    ledger, refolded, committed = CountingLedger(), [], []
    turns = Turns(ledger, refold=refolded.append, committed=committed.append, **hooks)
    return ledger, turns, refolded, committed


def story(coroutine):
    asyncio.run(asyncio.wait_for(coroutine, 30))


def test_all_that_arrives_in_one_turn_shares_one_commit():
    """D5: fsyncs are the budget."""
    async def main():
        ledger, turns, _, committed = make()

        async def caller(number: int) -> None:
            turns.stage(f"agent_{number}", "board", {"n": number}, AT)
            await turns.settled()
            assert len(list(ledger.rows())) == 16

        await asyncio.gather(*(caller(number) for number in range(16)))
        assert ledger.commits == 1
        assert committed == [{f"agent_{number}" for number in range(16)}]

    story(main())


def test_nothing_is_released_before_its_commit():
    async def main():
        ledger, turns, *_ = make()
        turns.stage("a", "board", {}, AT)
        waiting = asyncio.ensure_future(turns.settled())
        assert not list(ledger.rows()) and not waiting.done()
        await waiting
        assert len(list(ledger.rows())) == 1

    story(main())


def test_a_lazy_row_costs_no_commit_and_rides_the_next_one():
    """Acknowledgements ride along, so that `ping` costs no fsync."""
    async def main():
        ledger, turns, *_ = make()
        turns.stage_lazily("a", "operation", {"ack": 1}, AT)
        await turns.settled()
        assert ledger.commits == 0
        turns.stage("a", "operation", {"next": 1}, AT)
        await turns.settled()
        assert [row.body for row in ledger.rows("a")] == [{"ack": 1}, {"next": 1}]

    story(main())


def test_a_failed_commit_tells_every_caller_unknown_and_refolds_what_it_touched():
    async def main():
        ledger, turns, refolded, _ = make()
        ledger.fail_next = [StoreFailed("store_full")]
        for chain in ("a", "b"):
            turns.stage(chain, "board", {}, AT)
        outcomes = await asyncio.gather(turns.settled(), turns.settled(), return_exceptions=True)
        assert all(isinstance(each, Unknown) for each in outcomes)
        assert refolded == [{"a", "b"}]
        assert not list(ledger.rows()) and turns.is_sick

    story(main())


def test_writes_are_refused_until_a_probe_commit_works():
    async def main():
        ledger, turns, *_ = make()
        ledger.fail_next = [StoreFailed("store_full"), StoreFailed("store_full")]
        turns.stage("a", "board", {}, AT)
        with pytest.raises(Unknown):
            await turns.settled()
        with pytest.raises(Refused) as refused:
            turns.check_writable(AT)
        assert refused.value.code == "store_unavailable"
        turns.check_writable(AT)
        assert not turns.is_sick
        assert [row.kind for row in ledger.rows()] == [PROBE_KIND]
        turns.stage("a", "board", {"again": True}, AT)
        await turns.settled()

    story(main())


def test_a_commit_that_flush_made_is_not_made_twice():
    async def main():
        ledger, turns, *_ = make()
        turns.stage("a", "board", {}, AT)
        turns.flush()
        await turns.settled()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert ledger.commits == 1

    story(main())


def test_what_was_staged_while_commits_fail_is_folded_away_with_a_failed_probe():
    """A probe takes with it what others had staged; their machines must not go on holding it, nor their answers leave."""

    async def main():
        ledger, folded = CountingLedger(), []
        turns = Turns(ledger, refold=folded.append, tell=lambda text: None)
        ledger.fail_next = [StoreFailed("store_full"), StoreFailed("store_full")]
        turns.stage("a", "board", {}, AT)
        with pytest.raises(Unknown):
            await turns.settled()
        turns.stage_lazily("b", "board", {}, AT)
        turns.stage("c", "board", {}, AT)
        waiting = asyncio.ensure_future(turns.settled())
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="disk is full"):
            turns.check_writable(AT)
        with pytest.raises(Unknown):
            await waiting
        assert folded == [{"a"}, {"b", "c"}] and list(ledger.rows()) == []
        turns.check_writable(AT)
        assert [row.kind for row in ledger.rows()] == ["probe"]

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_log_that_cannot_be_written_leaves_nobody_without_an_answer(monkeypatch):
    """The disk that takes no commit may be the one that holds the log."""

    class Full:
        def write(self, text):
            raise OSError(28, "No space left on device")

        flush = write

    async def main():
        ledger, folded = CountingLedger(), []
        turns = Turns(ledger, refold=folded.append)
        monkeypatch.setattr("sys.stderr", Full())
        ledger.fail_next = [StoreFailed("store_full")]
        turns.stage("a", "board", {}, AT)
        with pytest.raises(Unknown):
            await turns.settled()
        assert folded == [{"a"}] and turns.is_sick and "disk is full" in turns.trouble

    asyncio.run(asyncio.wait_for(main(), 30))
