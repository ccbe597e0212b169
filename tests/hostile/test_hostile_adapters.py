"""Programs that misbehave as Tools: nothing they leave open is called a failure, and nothing waits without a word."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from rulith.adapters.outcomes import Failed, Withheld
from rulith.adapters.run import CUT_SHORT, judge_end
from rulith.procs.children import Finished
from tests.product.every_gap import COUNTING, lay_out

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and links")
DEMO = ("demo", "verified-calculation", "job")
PRINTED = 'print(json.dumps({"rows": [{**totals, "sha256": hashlib.sha256(data).hexdigest()}]}))'
MISSING_ENTRY = "adapters/read_input.py"


@pytest.mark.parametrize("ended", [Finished(-9, b"", False, b"", False), Finished(-15, b"", False, b"", True)])
def test_a_write_that_was_cut_short_is_unknown_and_a_read_failed(ended: Finished) -> None:
    assert judge_end(ended, 60, acts=True) == Withheld(CUT_SHORT)
    assert isinstance(judge_end(ended, 60), Failed)


def test_a_writer_that_dies_after_its_write_is_never_called_failed_nor_run_again(product, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    lay_out(folder)
    writer = folder / "adapters" / "write_output.py"
    writer.write_text(writer.read_text("utf-8") .replace(
        "    if os.name == \"posix\":\n", "    os.kill(os.getpid(), 9)\n    if os.name == \"posix\":\n"), "utf-8")
    assert COUNTING in writer.read_text("utf-8") and "os.kill" in writer.read_text("utf-8")
    for _ in range(2):
        run = product.run(*DEMO, cwd=tmp_path)
        assert run.status == 11, run
        assert "FAILED" not in run.out and "a person has to settle it" in run.out, run
    assert (folder / "writes.log").read_text("utf-8") == "w"


@pytest.mark.parametrize(("instead", "named"), [
    ('print(json.dumps({"rows": [{**totals, "total_cents": "lots", "sha256": "0"}]}))', "written.total_cents is 'lots'"),
    ('print(json.dumps({"rows": [{**totals, "subtotal_cents": 1, "sha256": "0"}]}))', "written.subtotal_cents is 1"),
    ('print("written")', "result_unreadable")])
def test_a_writer_whose_report_cannot_be_recorded_is_never_called_failed_nor_run_again(product, tmp_path: Path, instead: str, named: str) -> None:
    """It wrote; that its words are no good says nothing of the file."""
    folder = tmp_path / "job"
    lay_out(folder)
    writer = folder / "adapters" / "write_output.py"
    text = writer.read_text("utf-8")
    assert PRINTED in text
    writer.write_text(text.replace(PRINTED, instead), "utf-8")
    for _ in range(2):
        run = product.run(*DEMO, cwd=tmp_path)
        assert run.status == 11, run
        assert "FAILED" not in run.out and "a person has to settle it" in run.out and named in run.out, run
    assert (folder / "writes.log").read_text("utf-8") == "w"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="child subreapers are Linux's")
def test_a_daemon_that_a_program_leaves_behind_ends_with_it(product, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    lay_out(folder)
    reader = folder / "adapters" / "read_input.py"
    text, place = reader.read_text("utf-8"), tmp_path / "daemon.pid"
    begin = text.index("import ")
    reader.write_text(text[:begin] + f"""import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        with open({str(place) + '.new'!r}, "w") as file:
            file.write(str(os.getpid()))
        os.rename({str(place) + '.new'!r}, {str(place)!r})
        time.sleep(600)
    os._exit(0)
while not os.path.exists({str(place)!r}):
    time.sleep(0.01)
""" + text[begin:], "utf-8")
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 0, run
    assert not Path(f"/proc/{place.read_text('utf-8')}").exists()


def test_a_tool_the_worker_will_not_run_is_told_and_not_waited_for_in_silence(product, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    lay_out(folder)
    (folder / MISSING_ENTRY).unlink()
    os.symlink("/etc/hostname", folder / MISSING_ENTRY)
    demo = product.start(*DEMO, cwd=tmp_path)
    try:
        lines = []
        for line in demo.stdout:
            lines.append(line)
            if "does not run it" in line:
                break
        assert "leads outside" in lines[-1] and MISSING_ENTRY in lines[-1], "".join(lines)
    finally:
        demo.send_signal(signal.SIGINT)
        try:
            rest, _ = demo.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            demo.kill()
            raise
    assert "Traceback" not in rest, rest
    assert demo.returncode in (130, 1), (demo.returncode, rest)
