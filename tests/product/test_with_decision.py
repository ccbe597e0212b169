"""The demo that asks a person: it waits, the person decides in the Console, and the next run goes by the verdict."""

from __future__ import annotations

import json
from pathlib import Path

from tests.product.kept_home import running_home

DEMO = ("demo", "verified-calculation", "job", "--with-decision")


def decide(product, scratch: Path, verdict: str) -> None:
    """A person opens the home's Console, chooses a passphrase with the code of that run, and decides on what it shows."""
    with running_home(product, scratch, worker=False) as home:
        console = home.console(scratch)
        row, = [row for row in console.ask("state")["decisions"] if row["state"] == "pending"]
        assert json.loads(row["argsText"])["total_cents"] == 9593
        body = {"id": row["id"], "verdict": verdict, "argumentDigest": row["argumentDigest"]}
        assert console.ask("decide", {**body, "reason": "wrong customer"} if verdict == "reject" else body)["ok"]


def test_an_approved_run_completes(product, output, tmp_path: Path) -> None:
    waiting = product.run(*DEMO, cwd=tmp_path)
    assert waiting.status == 11 and output(tmp_path / "job") is None, waiting
    again = product.run(*DEMO, cwd=tmp_path)
    assert again.status == 11, again                    # nothing was decided meanwhile
    decide(product, tmp_path, "approve")
    done = product.run(*DEMO, cwd=tmp_path)
    assert done.status == 0 and output(tmp_path / "job")["total_cents"] == 9593, done
    receipt = json.loads((tmp_path / "job" / "proof" / "calc-001.json").read_text("utf-8"))
    assert "approved_write" in json.dumps(receipt["conclusions"])


def test_a_rejected_run_says_so_and_no_later_run_asks_again(product, output, tmp_path: Path) -> None:
    assert product.run(*DEMO, cwd=tmp_path).status == 11
    decide(product, tmp_path, "reject")
    for _ in range(2):
        run = product.run(*DEMO, cwd=tmp_path)
        assert run.status == 13 and "wrong customer" in run.out + run.err and "not repeated" in run.out + run.err, run
    with running_home(product, tmp_path, worker=False) as home:
        assert [row["state"] for row in home.state()["decisions"]] == ["rejected"]
    assert output(tmp_path / "job") is None


def test_a_job_written_without_a_person_is_not_approved_afterwards(product, tmp_path: Path) -> None:
    assert product.run(*DEMO[:3], cwd=tmp_path).status == 0
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 12 and "approved_write" in run.out + run.err, run
