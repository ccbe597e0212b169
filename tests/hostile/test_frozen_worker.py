"""A Worker that is frozen past its lease and wakes again: its word comes too late, and nothing is done twice."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.product.every_gap import COUNTING, lay_out
from tests.product.kept_home import running_home, wait

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="POSIX signals")
HELD = '        open(os.path.join(folder, "..", "started"), "w").close()\n' \
       '        import time\n' \
       '        for _ in range(600):\n' \
       '            if os.path.exists(os.path.join(folder, "..", "go")):\n' \
       '                break\n' \
       '            time.sleep(0.05)\n'


def lay_out_held(folder: Path) -> None:
    """The example, with a writer that waits for a file before it writes."""
    lay_out(folder)
    writer = folder / "adapters" / "write_output.py"
    text = writer.read_text("utf-8")
    writer.write_text(text.replace(COUNTING, HELD + COUNTING), "utf-8")


def calls(home) -> list[dict]:
    return home.state()["operations"]


def test_a_worker_frozen_past_its_lease_is_fenced_and_the_write_stays_one(product, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    lay_out_held(folder)
    with running_home(product, tmp_path, worker=False) as home:
        first = home.start_worker()
        home.wait_line("online")
        log = open(tmp_path / "agent.log", "ab")
        agent = subprocess.Popen(
            product.command("agent", "--home", str(home.path), "--case-type", "verified_calculation",
                            "--business-key", '{"job_id":"calc-001"}', "go"), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=tmp_path, env={"PATH": os.environ["PATH"]})
        try:
            wait((folder / "started").exists, "the writer to start")
            os.kill(first.pid, signal.SIGSTOP)
            (folder / "go").touch()
            wait(lambda: home.writes() == 1, "the write")
            home.wait_line("offline")
            home.start_worker(folder)
            wait(lambda: [row for row in calls(home) if row["state"] == "needs_person"], "the call to need a person")
            os.kill(first.pid, signal.SIGCONT)
            said = folder / "worker.log"
            wait(lambda: "landed=False code=worker_fenced" in said.read_text("utf-8"), "the first Worker to hear that it is fenced")
            assert agent.wait(30) == 11, (tmp_path / "agent.log").read_text("utf-8")
            assert home.writes() == 1
            assert [row["state"] for row in calls(home)].count("needs_person") == 1
        finally:
            if first.poll() is None:
                os.kill(first.pid, signal.SIGCONT)
            if agent.poll() is None:
                agent.kill()
            agent.wait()
            log.close()
