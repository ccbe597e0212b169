"""A Worker that will not run a call, in a run from cron: said on stderr with its code, waited for within a bound."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.every_gap import lay_out
from tests.product.kept_home import running_home

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX links")
JOB = ("agent", "--case-type", "verified_calculation", "--business-key", '{"job_id":"calc-001"}')


HOLD_S = 9                       # a Worker of the run's own starts and skips within


@pytest.fixture
def env(product, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a home with a live gateway whose reader leads out of the workspace, and a short wait."""
    folder = tmp_path / "job"
    lay_out(folder)
    reader = folder / "adapters" / "read_input.py"
    reader.unlink()
    os.symlink("/etc/hostname", reader)
    settings = folder / ".rulith" / "gateway" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text("utf-8")), "holdMs": HOLD_S * 1000}), "utf-8")
    with running_home(product, tmp_path, worker=False) as home:
        yield {"RULITH_HOME": str(home.path), "RULITH_HOST_WAIT_MS": str(HOLD_S * 1000 + 1000), "RULITH_HOST_POLL_MS": "500"}


def test_a_skipped_call_is_named_and_its_wait_is_bounded_in_this_run_and_the_next(product, tmp_path: Path, env: dict[str, str]) -> None:
    run = product.run(*JOB, "work", cwd=tmp_path, env=env, timeout_s=60)
    assert run.status == 12 and "Traceback" not in run.err, run
    skips = [line for line in run.err.splitlines() if "Worker does not run it" in line]
    assert "leads outside" in skips[0] and "(adapter_refused)" in skips[0], run
    assert "waiting for the Worker" in run.err and f"at most {HOLD_S + 1} s" in run.err, run
    assert "still running" in run.out and "leads outside" in run.out, run
    run = product.run(*JOB, "work", cwd=tmp_path, env={**env, "RULITH_HOST_WAIT_MS": "1000"}, timeout_s=60)
    assert run.status == 12, run
    assert "waiting for the Worker" in run.err and "by an earlier run" in run.err and "at most 1 s" in run.err, run


def test_a_quiet_run_still_says_at_its_end_why_nothing_ran(product, tmp_path: Path, env: dict[str, str]) -> None:
    run = product.run(*JOB, "--json", "--quiet", "work", cwd=tmp_path, env=env, timeout_s=60)
    assert run.status == 12 and run.err.count("does not run it") == len(run.err.splitlines()) == 1, run
    document = json.loads(run.out)
    assert "leads outside" in document["message"] and document["workerSkips"][0]["code"] == "adapter_refused", run
