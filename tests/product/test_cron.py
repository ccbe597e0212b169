"""Cron and a second Worker: the built file with what the environment gives, and nothing else."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.product.every_gap import lay_out
from tests.product.kept_home import end, running_home, wait

KEY = '{"job_id":"calc-001"}'
JOB = ("agent", "--case-type", "verified_calculation", "--business-key", KEY, "calculate and verify this job")


def test_cron_completes_the_job_and_a_second_run_has_nothing_to_do(product, output, tmp_path: Path) -> None:
    """Point 5: no model, no token, no gateway running: 0 the first time, 10 the second, one write."""
    folder = tmp_path / "job"
    lay_out(folder)
    env = {"RULITH_HOME": str(folder / ".rulith"), "RULITH_SEED_WORKSPACE": str(folder)}
    seeded = product.run("demo", "verified-calculation", str(folder), cwd=tmp_path)     # makes the home; its job is calc-001
    assert seeded.status == 0, seeded
    order = json.loads((folder / "runtime" / "input.json").read_text("utf-8"))
    (folder / "runtime" / "input.json").write_text(json.dumps({**order, "job_id": "night-1"}), "utf-8")
    words = [word.replace("calc-001", "night-1") for word in JOB]
    first = product.run(*words, cwd=tmp_path, env=env)
    assert first.status == 0, first
    assert output(folder)["job_id"] == "night-1"
    second = product.run(*words, cwd=tmp_path, env=env)
    assert second.status == 10, second
    assert len((folder / "writes.log").read_text("utf-8")) == 2
    assert "case_" in second.out + second.err


def test_cron_on_an_empty_home_makes_one_and_does_the_example(product, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run = product.run(*JOB, cwd=tmp_path, env={"RULITH_HOME": str(home)})
    assert run.status == 0, run
    assert json.loads(next(home.glob("workbench/instances/*/workspace/runtime/output.json")).read_text("utf-8"))["total_cents"] == 9593


def test_cron_beside_a_live_gateway_uses_it_and_leaves_it(product, tmp_path: Path) -> None:
    with running_home(product, tmp_path) as home:
        run = product.run(*JOB, cwd=tmp_path, env={"RULITH_HOME": str(home.path)})
        assert run.status == 0, run
        assert home.gateway.poll() is None and home.workers[0].poll() is None
        assert home.writes() == 1


def test_an_ambient_model_key_discloses_nothing(product, tmp_path: Path) -> None:
    """A key in the environment alone configures no model: the run goes by rule."""
    with running_home(product, tmp_path) as home:
        run = product.run(*JOB, "--json", cwd=tmp_path, env={"RULITH_HOME": str(home.path), "ANTHROPIC_API_KEY": "sk-ant-ambient"})
        assert run.status == 0 and json.loads(run.out)["outcome"] == "completed", run


def test_a_second_worker_serves_the_line_once_the_first_is_stopped(product, output, tmp_path: Path) -> None:
    """Point 5: another directory, three variables, nothing else."""
    other = tmp_path / "other machine"
    made = subprocess.run([sys.executable, str(Path(__file__).parents[2] / "examples" / "verified-calculation" / "setup.py"), str(other)],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with running_home(product, tmp_path) as home:
        second = home.start_worker(other)
        log = other / "worker.log"
        wait(lambda: "worker_lease_held" in log.read_text("utf-8"), "the second Worker to be told that the line is held")
        assert second.poll() is None
        assert end(home.workers[0]) == 0
        home.wait_line("online")
        run = product.run(*JOB, cwd=tmp_path, env={"RULITH_HOME": str(home.path)})
        assert run.status == 0, run
        assert output(home.folder)["total_cents"] == 9593
        assert not list(other.glob("runtime/output.json")), "the Source decides where, not the Worker's folder"
        shutil.rmtree(other / "runtime")


def test_a_wrong_connection_key_ends_the_worker_with_3(product, tmp_path: Path) -> None:
    with running_home(product, tmp_path, worker=False) as home:
        worker = home.start_worker(RULITH_CONNECTION_KEY="rlt_key_wrong")
        assert worker.wait(20) == 3
        assert "rlt_key_wrong" not in (home.folder / "worker.log").read_text("utf-8")


def test_an_overlapping_run_of_one_profile_ends_15(product, tmp_path: Path) -> None:
    with running_home(product, tmp_path, worker=False) as home:
        env = {"RULITH_HOME": str(home.path)}
        holder = product.start("agent", "--case-type", "verified_calculation", "--business-key", '{"job_id":"held"}', "hold", cwd=tmp_path, env=env)
        wait((home.instance / "agent.lock").exists, "the first run to take the lock")
        holder.send_signal(signal.SIGSTOP)          # it must not end before the second one looks
        try:
            second = product.run(*JOB, cwd=tmp_path, env=env)
        finally:
            holder.send_signal(signal.SIGCONT)
        end(holder)
        assert second.status == 15, second
