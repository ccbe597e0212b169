"""A cron job that is stuck for good until a person ends its Case: the built file, and nobody's MCP host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.product.every_gap import lay_out
from tests.product.kept_home import Console, running_home

KEY = '{"job_id":"calc-001"}'
CRON = ("agent", "--case-type", "verified_calculation", "--business-key", KEY, "nightly check")
DEMO = ("demo", "verified-calculation", "job")


def the_case(console: Console, show: str = "live") -> dict:
    """The one Case that the Console lists as live, or as closed; as its acts want it named."""
    row, = console.ask(f"cases?show={show}")["caseList"]["rows"]
    return {"agentId": row["agentId"], "caseId": row["caseId"]}


@pytest.mark.parametrize("finish", [CRON, DEMO], ids=["by cron", "by the demo"])
def test_a_failed_read_is_tried_again_once_a_person_cancelled_its_case(product, output, tmp_path: Path, finish) -> None:
    """Missing file -> 12, still 12 -> a person cancels -> the file is there -> the same command completes."""
    folder = tmp_path / "job"
    lay_out(folder)
    env = {"RULITH_HOME": str(folder / ".rulith"), "RULITH_SEED_WORKSPACE": str(folder)}
    with running_home(product, tmp_path, worker=False):
        pass                                             # makes the home and lays the input out
    given = (folder / "runtime" / "input.json").read_text("utf-8")
    (folder / "runtime" / "input.json").unlink()
    first = product.run(*CRON, cwd=tmp_path, env=env)
    assert first.status == 12 and "Console (section Cases)" in first.out, first
    (folder / "runtime" / "input.json").write_text(given, "utf-8")
    stuck = product.run(*CRON, cwd=tmp_path, env=env)    # the file is back, and by rule nothing is repeated
    assert stuck.status == 12 and "Console (section Cases)" in stuck.out and "input.json" in stuck.out, stuck

    with running_home(product, tmp_path, worker=False) as home:
        console = home.console(tmp_path)
        case = the_case(console)
        assert console.ask("hold-case", {**case, "reason": "wait for the file"})["ok"]
    held = product.run(*CRON, cwd=tmp_path, env=env)
    assert held.status == 11 and "wait for the file" in held.out, held

    with running_home(product, tmp_path, worker=False) as home:
        console = home.console(tmp_path)
        assert console.ask("lift-hold", {**case, "hold": "operator", "reason": "it came"})["ok"]
        assert console.ask("close-case", {**case, "disposition": "cancelled", "reason": "the file was missing"})["ok"]
        assert the_case(console, "closed") == case
        receipt = tmp_path / "receipt.json"
        receipt.write_bytes(console.raw(f"receipt?agent={case['agentId']}&case={case['caseId']}"))
    checked = product.run("verify", str(receipt), cwd=tmp_path)
    assert checked.status == 0 and "closed as cancelled by owner" in checked.out, checked

    done = product.run(*finish, cwd=tmp_path, env=env if finish is CRON else None)
    assert done.status == 0 and output(folder)["total_cents"] == 9593, done
    assert len((folder / "writes.log").read_text("utf-8")) == 1
    again = product.run(*CRON, cwd=tmp_path, env=env)
    assert again.status == 10 and case["caseId"] not in again.out + again.err, again
