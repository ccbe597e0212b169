"""The real workbench as a process, and a browser page that is watched."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

CHROMIUM = os.environ.get("RULITH_TEST_CHROMIUM") or "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]
ROOT = Path(__file__).resolve().parents[2]
WAIT_MS = 30_000
LEASE_MS = 90_000              # the lease of a Worker that was lost lapses within
expect.set_options(timeout=WAIT_MS)          # a busy machine draws late; what never comes is found by the longest wait alone


class Bench:
    """`rulith start` of a home, as a process; `env` are settings of ours that it finds in its environment."""

    def __init__(self, home: Path, *, gateway: str = "", **env: str) -> None:
        environ = {**{name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}, **env}
        self.home = home
        self.process = subprocess.Popen([sys.executable, "-m", "rulith", "start", "--home", str(home), "--no-browser", *(["--gateway", gateway] if gateway else [])], cwd=ROOT,
                                        env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if found := re.search(r"(http://127\.0\.0\.1:\d+)(/\?k=\S+)", line):
                self.origin, self.url = found[1], found[1] + found[2]
                return
        raise AssertionError(f"it ended with {self.process.wait(30)} and printed no address")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(30)
        self.process.stdout.close()
        return status

    def pid_of(self, role: str) -> int:
        return next(iter(self.pids_of(role)))

    def pids_of(self, role: str) -> list[int]:
        children = json.loads((self.home / "run" / "workbench.json").read_text())["children"]
        return [child["pid"] for child in children if child["role"] == role]

    def wait_for_another(self, role: str, pid: int) -> None:
        """Until the workbench has started this role again."""
        deadline = time.monotonic() + WAIT_MS / 1000
        while self.pids_of(role) in ([], [pid]):
            assert time.monotonic() < deadline, f"no other {role} was started"
            time.sleep(0.05)


class Watched:
    """A page with everything it asked for and complained about."""

    def __init__(self, browser, bench, *, width=1440, height=900, quiet=True, **context):
        self.context = browser.new_context(viewport={"width": width, "height": height}, **context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.bench = bench
        self.quiet = quiet
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.page.goto(bench.url)

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *problem):
        foreign = [url for url in self.asked if not url.startswith((self.bench.origin, "blob:", "data:"))]
        self.context.close()
        if kind is None:
            assert foreign == []
            assert not self.quiet or self.complaints == []


def run_calculation(page, job_id, approve=False, price="1299"):
    """Press the one button for a job of that id and price; the article of its run. A Worker that came back may wait for its earlier lease to lapse."""
    button = page.get_by_role("button", name=re.compile("Run the verified calculation|Write these numbers and run"))
    expect(button).to_be_enabled(timeout=WAIT_MS)
    page.get_by_label("Job id").fill(job_id)
    page.get_by_label("Unit price").fill(price)
    page.get_by_label("Ask me before the totals are written").set_checked(approve)
    button.click(timeout=LEASE_MS)
    return page.get_by_role("article", name=f"Run of {job_id}").first
