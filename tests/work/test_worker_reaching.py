"""`rulith worker` as a process that reaches out: its servers end with it, and its database driver comes from the home."""

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from rulith.wire.manifest import read_manifest
from tests.adapters.postgres_cluster import PASSWORD, cluster, wheels

FAR = str(Path(__file__).resolve().parents[1] / "adapters" / "far_mcp.py")
BOUND_S = 100
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def lay_out(folder, tools, vault):
    (folder / "worker-tools.json").write_text(json.dumps({"format": "rulith-worker-tools/1", "tools": tools}))
    secrets = folder / "worker-secrets.json"
    secrets.write_text(json.dumps(vault))
    secrets.chmod(0o600)
    folder.chmod(0o700)
    return read_manifest((folder / "worker-tools.json").read_text())


def settle(story):
    return asyncio.run(asyncio.wait_for(story(), BOUND_S))


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_servers_of_a_worker_end_with_it(scripted, worker_process, row, tmp_path, end):
    """Told to stop, it ends them; killed, it leaves them a closed stdin, at which a server ends by itself."""
    pids = tmp_path / "pids"
    vault = {"far": {"type": "mcp", "transport": "stdio", "command": sys.executable, "args": [FAR, json.dumps({"pids": str(pids)})]}}
    tools = lay_out(tmp_path, {"acme.far@1": {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "rows", "params": {"n": "number"}}}, vault)

    async def story():
        async with scripted() as gateway:
            gateway.sources = [{"name": "far", "type": "mcp", "access": "vault"}]
            process = worker_process(tmp_path, gateway.url)
            await gateway.until(lambda: gateway.worker)
            await gateway.offer(row(tools["acme.far@1"], {"n": 7}, source="far"))
            await gateway.until(lambda: gateway.of("ReportWork"))
            server = int(pids.read_text())
            assert not is_gone(server)
            process.signal(end)
            status, _, err = await process.ends()
            for _ in range(500):
                if is_gone(server):
                    break
                await asyncio.sleep(0.02)
            return gateway.of("ReportWork")[0], status, is_gone(server), err

    report, status, gone, err = settle(story)
    assert report["ok"] is True and report["result"] == '{"rows":[{"n":7}]}'
    assert status == (0 if end == signal.SIGTERM else -signal.SIGKILL) and gone, err


def test_a_driver_in_the_home_serves_a_postgresql_tool_and_its_absence_is_told(scripted, worker_process, row, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with cluster() as shop:
        shop.sql("CREATE TABLE stock (sku text, units int)", "INSERT INTO stock VALUES ('bolt-8', 3)", "GRANT SELECT ON stock TO worker")
        vault = {"shelf": {"type": "db", "dsn": f"postgresql://worker:{quote(PASSWORD, safe='')}@127.0.0.1:{shop.port}/shop"}}
        returns = [{"predicate": "acme.on_shelf", "args": {"sku": "$sku", "units": "$units"}}]
        tools = lay_out(tmp_path, {"acme.shelf@1": {
            "adapter": "db-query", "sourceTypes": ["db"], "entry": "SELECT sku, units FROM stock WHERE sku = {sku}", "params": {"sku": "string"}, "returns": returns}}, vault)

        async def story():
            async with scripted() as gateway:
                gateway.sources = [{"name": "shelf", "type": "db", "access": "vault"}]
                process = worker_process(tmp_path, gateway.url, RULITH_HOME=str(home))
                await gateway.until(lambda: gateway.worker)
                await gateway.offer(row(tools["acme.shelf@1"], {"sku": "bolt-8"}, source="shelf"))
                seen = len(gateway.of("Poll"))
                await gateway.until(lambda: gateway.of("ReportWork") or len(gateway.of("Poll")) > seen)
                process.signal()
                status, _, err = await process.ends()
                return gateway.of("ReportWork"), status, err

        without = settle(story)
        shutil.copytree(wheels(), home / "drivers")
        os.chmod(home / "drivers", 0o700)
        with_driver = settle(story)
    reports, status, err = without
    assert reports == [] and status == 0 and "code=driver_missing" in err and "pg8000" in err and str(home / "drivers") in err
    reports, status, err = with_driver
    assert status == 0 and reports[0]["facts"] == [{"predicate": "acme.on_shelf", "args": {"sku": "bolt-8", "units": 3}}]
    assert quote(PASSWORD, safe="") not in err and PASSWORD not in err
