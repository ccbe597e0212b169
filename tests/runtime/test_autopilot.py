"""The autopilot example: every command line in it is one the Agent takes, and the wrapper speaks only when somebody should hear.

Source  the design, "Cron"; examples/autopilot/README.md
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rulith.runtime.options import parse
from rulith.runtime.outcome import RunResult
from rulith.runtime.prices import read_prices
from rulith.runtime.summary import STEPS_SHOWN_MAX, summary
from tests.conftest import ROOT

HERE = ROOT / "examples" / "autopilot"
KEY = {"job_id": "calc-001"}


def words_after_agent(command: str) -> list[str]:
    words = shlex.split(command)
    return words[words.index("agent") + 1:]


def unit(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None, strict=False)
    found.optionxform = str
    found.read(HERE / name, encoding="utf-8")
    return found


def shown_commands() -> dict[str, str]:
    task = ElementTree.parse(HERE / "rulith-nightly.xml").getroot()
    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    # Windows takes \" inside quotes as a quote and any other backslash as itself.
    windows = re.sub(r'\\(?!")', r"\\\\", task.findtext(".//t:Arguments", namespaces=space))
    readme = (HERE / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    cron = next(line for line in (HERE / "crontab.txt").read_text(encoding="utf-8").splitlines() if line.startswith("# 15 3"))
    return {"systemd": unit("rulith-nightly.service")["Service"]["ExecStart"], "windows": windows,
            "readme": next(line for line in readme.splitlines() if "--budget" in line), "cron": cron.partition("* * *")[2]}


@pytest.mark.parametrize("where", ["systemd", "windows", "readme", "cron"])
def test_a_shown_command_is_one_that_the_agent_takes(where):
    options = parse(words_after_agent(shown_commands()[where]))
    assert (options.case_type, options.business_key) == ("verified_calculation", KEY) and options.task


def test_the_windows_task_starts_no_second_run_beside_the_first():
    text = (HERE / "rulith-nightly.xml").read_text(encoding="utf-8")
    assert "<MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>" in text and text.startswith('<?xml version="1.0"?>')
    assert parse(words_after_agent(shown_commands()["windows"])).home == r"C:\rulith\home"


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    for name in ("rulith-nightly.service", "rulith-nightly.timer"):
        text = (HERE / name).read_text(encoding="utf-8").replace("/usr/bin/python3 /srv/rulith/rulith.pyz", f"{sys.executable} {tmp_path}/rulith.pyz")
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(tmp_path / "rulith-nightly.service"), str(tmp_path / "rulith-nightly.timer")],
                          capture_output=True, text=True, timeout=60)
    assert "nightly" not in done.stderr, done.stderr


def test_done_before_and_overlap_are_no_failures_to_systemd():
    service = unit("rulith-nightly.service")["Service"]
    assert service["SuccessExitStatus"].split() == ["10", "15"] and service["Type"] == "oneshot"
    assert unit("rulith-nightly.timer")["Timer"]["Persistent"] == "yes" or unit("rulith-nightly.timer")["Timer"]["Persistent"] == "true"


def test_the_shown_price_table_can_be_read():
    assert read_prices(HERE / "prices.json").price_of("your-local-model", "http://127.0.0.1:1234/v1/chat/completions").most(10, 10) == 0


posix = pytest.mark.skipif(os.name != "posix", reason="the wrapper is a shell script")


def nightly(tmp_path: Path, program: str, **environ: str) -> subprocess.CompletedProcess:
    pyz = tmp_path / "rulith.pyz"
    pyz.write_text(program, encoding="utf-8")
    return subprocess.run(["sh", str(HERE / "nightly.sh"), "calc-001"], cwd=tmp_path, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHON": sys.executable, "RULITH_PYZ": str(pyz), **environ})


@posix
@pytest.mark.parametrize("status, speaks", [(0, False), (10, False), (15, False), (1, True), (2, True), (3, True), (4, True), (5, True), (11, True),
                                            (12, True), (13, True), (14, True), (143, True)])
def test_the_wrapper_speaks_only_when_somebody_should_hear(tmp_path, status, speaks):
    done = nightly(tmp_path, f"import sys; print('out', sys.argv[1:]); print('err', file=sys.stderr); sys.exit({status})")
    assert (done.returncode, bool(done.stdout)) == (status if speaks else 0, speaks)
    if speaks:
        assert "out" in done.stdout and "err" in done.stdout and '{"job_id":"calc-001"}' in done.stdout


@posix
def test_the_wrapper_does_a_real_job_and_then_finds_it_done(tmp_path):
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom rulith.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    home = {"RULITH_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    first = nightly(tmp_path, program, **home)
    assert (first.returncode, first.stdout) == (0, ""), first.stdout
    outputs = list((tmp_path / "home").rglob("output.json"))
    assert [json.loads(path.read_text())["job_id"] for path in outputs] == ["calc-001"]
    written = outputs[0].stat().st_mtime_ns
    second = nightly(tmp_path, program, **home)
    assert (second.returncode, second.stdout) == (0, "") and outputs[0].stat().st_mtime_ns == written


# the summary that a run ends with

def test_a_summary_begins_with_what_a_mail_s_subject_needs():
    steps = [{"action": "rulith.verified_calculation.read_input", "args": {}, "state": "done", "summary": "read"},
             {"action": "rulith.verified_calculation.write_output", "args": {}, "state": "waiting_for_decision", "summary": "approve\nthe totals"}]
    lines = summary(RunResult("waiting", 11, "It waits for a decision.", "case_1", "root_1", steps, [],
                              {"caseType": "verified_calculation", "businessKey": KEY})).splitlines()
    assert lines == ["waiting: It waits for a decision.", '  job    verified_calculation {"job_id": "calc-001"}', "  case   case_1",
                     "  steps  read_input done", "         write_output waiting_for_decision: approve the totals"]


def test_a_summary_stays_short_and_puts_the_model_s_words_first():
    many = [{"action": "a", "state": "done"}] * (STEPS_SHOWN_MAX + 5)
    text = summary(RunResult("completed", 0, "Closed.", steps=many, facts={"text": "I did it.", "shadow": {"findings": ["look here"]}}))
    assert text.startswith("I did it.\n\ncompleted: Closed.") and "and 5 more" in text and text.endswith("  review look here")
    assert text.count("\n") < STEPS_SHOWN_MAX + 8
