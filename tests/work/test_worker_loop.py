"""The loop against a scripted gateway on a real socket."""

import asyncio
import json

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

    gateway, pid = asyncio.run(asyncio.wait_for(play(), 30))
    assert gateway.of("ReportWork") == [] and len(gateway.of("ReleaseLease")) == 1
    assert not _is_running(pid)


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
