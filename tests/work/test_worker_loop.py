"""The loop against a scripted gateway on a real socket."""

import asyncio
import json

import pytest

from rulith.adapters.run import Program
from rulith.work.signals import ParentGone, StopAsked


def test_a_row_is_claimed_run_and_reported(scripted, bench, row):
    async def play():
        async with scripted() as gateway, bench(gateway) as worker:
            await gateway.offer(row(worker.tools["test.echo@1"], {"say": "hello"}))
            await gateway.until(lambda: gateway.of("ReportWork") and gateway.calls[-1][0] == "Poll")
            worker.driver.put(StopAsked())
            assert await worker.ends() == 0
            return gateway, worker

    gateway, worker = asyncio.run(play())
    kinds = [kind for kind, *_ in gateway.calls if kind != "Poll"]
    assert kinds == ["sources", "ClaimWork", "ReportWork", "ReleaseLease"]
    report = gateway.of("ReportWork")[0]
    assert report["ok"] is True and report["facts"] == [{"predicate": "test.said", "args": {"text": "hello"}}]
    assert json.loads(report["result"]) == {"rows": [{"said": "hello"}]}
    assert report["executionGrant"] == gateway.of("ClaimWork")[0]["executionGrant"]
    assert report["workerGeneration"] == 1 and "reason" not in report
    assert [facts["landed"] for facts in worker.told("reported")] == [True]
    first, second = gateway.of("Poll")[:2]
    assert "workerGeneration" not in first and second["workerGeneration"] == 1


def test_every_request_states_its_identity_in_the_headers(scripted, bench, row):
    async def play():
        async with scripted() as gateway, bench(gateway) as worker:
            await gateway.offer(row(worker.tools["test.echo@1"], {"say": "hello"}))
            await gateway.until(lambda: gateway.of("ReportWork"))
            return gateway, worker

    gateway, worker = asyncio.run(play())
    for kind, operation, headers, _ in gateway.calls:
        assert headers["x-rulith-connection"] == "conn_test" and headers["x-rulith-connection-key"]
        if kind == "sources":
            assert "x-rulith-worker" not in headers
            continue
        assert headers["x-rulith-worker"] == operation["workerId"] == worker.worker_id
        stated = operation.get("workerGeneration")
        assert headers.get("x-rulith-worker-generation") == (None if stated is None else str(stated))
        assert headers["x-rulith-worker-version"] == "2026-09-01"


def test_the_parents_end_kills_what_runs_and_releases(scripted, bench, row, tmp_path):
    slow = {
        "test.slow@1": {"adapter": "run", "sourceTypes": [], "entry": "slow.py", "kind": "write", "params": {}, "returns": []},
    }

    async def play():
        async with scripted() as gateway:
            worker = bench(gateway, tools=slow)
            mark = worker.folder / "pid"
            (worker.folder / "slow.py").write_text(
                f"import os, time\nopen({str(mark)!r} + '.part', 'w').write(str(os.getpid()))\n"
                f"os.replace({str(mark)!r} + '.part', {str(mark)!r})\ntime.sleep(60)\n"
            )
            async with worker:
                await gateway.offer(row(worker.tools["test.slow@1"], {}))
                await gateway.until(lambda: gateway.of("ClaimWork"))
                while not mark.exists():
                    await asyncio.sleep(0.01)
                worker.driver.put(ParentGone())
                assert await worker.ends() == 0
            return gateway, int(mark.read_text())

    gateway, pid = asyncio.run(asyncio.wait_for(play(), 100))
    assert gateway.of("ReportWork") == [] and len(gateway.of("ReleaseLease")) == 1
    assert not _is_running(pid)


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


# -- failure paths on a real socket ------------------------------------------------------


async def cut(operation):
    return None


def polls_of(gateway):
    return [operation.get("workerGeneration") for operation in gateway.of("Poll")]


def test_a_cut_claim_runs_nothing_and_the_next_row_goes_on(scripted, bench, row):
    async def play():
        async with scripted() as gateway:
            gateway.script["ClaimWork"] = [cut]
            async with bench(gateway) as worker:
                tool = worker.tools["test.echo@1"]
                await gateway.offer(row(tool, {"say": "one"}, "inv_1"), row(tool, {"say": "two"}, "inv_2"))
                await gateway.until(lambda: gateway.of("ReportWork"))
                return gateway, worker

    gateway, worker = asyncio.run(play())
    assert [operation["id"] for operation in gateway.of("ClaimWork")] == ["inv_1", "inv_2"]
    assert [operation["id"] for operation in gateway.of("ReportWork")] == ["inv_2"]
    assert worker.told("skip")[0]["code"] == "claim_unanswered"


def test_a_cut_report_is_sent_again_byte_for_byte(scripted, bench, row):
    async def play():
        async with scripted() as gateway:
            gateway.script["ReportWork"] = [cut]
            async with bench(gateway) as worker:
                await gateway.offer(row(worker.tools["test.echo@1"], {"say": "once"}))
                await gateway.until(lambda: len(gateway.of("ReportWork")) == 2)
                await gateway.until(lambda: gateway.calls[-1][0] == "Poll")
                return gateway, worker

    gateway, worker = asyncio.run(play())
    bodies = [raw for kind, _, _, raw in gateway.calls if kind == "ReportWork"]
    assert bodies[0] == bodies[1] and len(gateway.of("ClaimWork")) == 1
    assert worker.told("reported") == [{"invocation": "inv_1", "tool": "test.echo@1", "outcome": "executed", "landed": True}]


def test_a_fenced_report_is_final(scripted, bench, row):
    async def play():
        async with scripted() as gateway:
            gateway.script["ReportWork"] = [(200, {"accepted": False, "errorCode": "worker_fenced", "teaching": "too late"})]
            async with bench(gateway) as worker:
                await gateway.offer(row(worker.tools["test.echo@1"], {"say": "late"}))
                await gateway.until(lambda: gateway.of("ReportWork") and gateway.calls[-1][0] == "Poll")
                return gateway, worker

    gateway, worker = asyncio.run(play())
    assert len(gateway.of("ReportWork")) == 1
    assert worker.told("reported")[0]["code"] == "worker_fenced" and worker.told("reported")[0]["reason"] == "too late"


def test_a_lease_lost_while_the_tool_runs_is_reported_as_dispatched(scripted, bench, row, tmp_path):
    """Renewal answered 409: the running item finishes under its own identity, the rest stays, the next Poll states none."""
    slow = {"test.slow@1": {"adapter": "run", "sourceTypes": [], "entry": "slow.py", "kind": "write", "params": {}, "returns": []}}
    gate = tmp_path / "go"

    async def lost(operation):
        return 409, {"accepted": False, "errorCode": "worker_lease_lost"}

    async def play():
        async with scripted(lease_ms=3_000, heartbeat_ms=1_000) as gateway:
            gateway.script["RenewLease"] = [lost]
            worker = bench(gateway, tools=slow)
            (worker.folder / "slow.py").write_text(f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.02)\n")
            async with worker:
                tool = worker.tools["test.slow@1"]
                await gateway.offer(row(tool, {}, "inv_1"), row(tool, {}, "inv_2"))
                await gateway.until(lambda: gateway.of("RenewLease"))
                gate.write_text("")
                await gateway.until(lambda: gateway.of("ReportWork") and gateway.calls[-1][0] == "Poll")
                return gateway

    gateway = asyncio.run(play())
    assert [operation["id"] for operation in gateway.of("ClaimWork")] == ["inv_1"]
    assert gateway.of("ReportWork")[0]["workerGeneration"] == 1
    assert polls_of(gateway)[-1] is None


def test_a_long_run_renews_its_lease(scripted, bench, row, tmp_path):
    slow = {"test.slow@1": {"adapter": "run", "sourceTypes": [], "entry": "slow.py", "kind": "write", "params": {}, "returns": []}}
    gate = tmp_path / "go"

    async def play():
        async with scripted(lease_ms=3_000, heartbeat_ms=1_000) as gateway:
            worker = bench(gateway, tools=slow)
            (worker.folder / "slow.py").write_text(f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.02)\n")
            async with worker:
                await gateway.offer(row(worker.tools["test.slow@1"], {}))
                await gateway.until(lambda: len(gateway.of("RenewLease")) == 2)
                gate.write_text("")
                await gateway.until(lambda: gateway.of("ReportWork") and gateway.calls[-1][0] == "Poll")
                return gateway

    gateway = asyncio.run(play())
    assert polls_of(gateway)[-1] == 1 and all(operation["workerGeneration"] == 1 for operation in gateway.of("RenewLease"))


def test_html_500_and_truncated_answers_to_a_poll_are_no_answer(scripted, bench, monkeypatch):
    """Each is followed by the same question from the same instance."""
    monkeypatch.setattr("rulith.work.core.POLL_AGAIN_S", 0.01)

    async def play():
        async with scripted() as gateway:
            gateway.script["Poll"] = [(500, b"oops"), (200, b"<html>"), (200, b'{"accepted":tr'), None]
            async with bench(gateway):
                await gateway.until(lambda: len(gateway.of("Poll")) >= 6)
                return gateway

    gateway = asyncio.run(play())
    assert polls_of(gateway)[:6] == [None, None, None, None, None, 1]
    assert len({operation["workerId"] for operation in gateway.of("Poll")}) == 1


def test_a_401_ends_the_driver_with_3(scripted, bench):
    async def play():
        async with scripted() as gateway:
            gateway.script["Poll"] = [(401, {"accepted": False, "reason": "agent_not_found", "teaching": "pair again"})]
            async with bench(gateway) as worker:
                return await worker.ends(), worker

    code, worker = asyncio.run(play())
    assert code == 3 and worker.told("error")[0]["code"] == "agent_not_found"


def test_an_adapters_own_bug_is_undeliverable_and_the_loop_goes_on(scripted, bench, row, monkeypatch):
    async def bug(self):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Program, "run", bug)

    async def play():
        async with scripted() as gateway, bench(gateway) as worker:
            await gateway.offer(row(worker.tools["test.echo@1"], {"say": "x"}))
            await gateway.until(lambda: gateway.of("ReportWork") and gateway.calls[-1][0] == "Poll")
            return gateway, worker

    gateway, worker = asyncio.run(play())
    assert gateway.of("ReportWork")[0]["undeliverable"] == "adapter_ended_unexpectedly"
    assert "secret detail" not in repr(worker.events)


def test_a_bug_in_the_waiting_half_is_loud_and_ends_the_process(scripted, bench, monkeypatch):
    def broken(status, raw):
        raise ZeroDivisionError

    monkeypatch.setattr("rulith.work.driver.judge_reply", broken)

    async def play():
        async with scripted() as gateway, bench(gateway) as worker:
            await worker.ends()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(play())
