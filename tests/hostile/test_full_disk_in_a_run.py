"""The disk fills up while a Tool runs: whoever waits is told at once, and the run goes on when there is room again."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.every_gap import lay_out
from tests.product.kept_home import running_home

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists() or os.geteuid() != 0, reason="needs root for a small tmpfs")
JOB = ("--driver", "board", "--case-type", "verified_calculation", "--business-key", '{"job_id":"calc-001"}')
FILLS = """
with open({place!r}, "wb", buffering=0) as filler:
    try:
        while filler.write(b"x" * 4096):
            pass
    except OSError:
        pass
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True).returncode != 0:
        pytest.skip("this machine mounts no tmpfs")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_up_in_a_run_is_named_and_the_run_goes_on_with_room(product, small_disk: Path) -> None:
    folder, filler = small_disk / "job", small_disk / "filler"
    lay_out(folder)
    (folder / ".rulith" / "gateway" / "settings.json").write_text(json.dumps({"leaseMs": 60_000}), "utf-8")
    reader = folder / "adapters" / "read_input.py"
    text = reader.read_text("utf-8")
    begin = text.index("import ")
    reader.write_text(text[:begin] + FILLS.format(place=str(filler)) + text[begin:], "utf-8")
    with running_home(product, small_disk) as home:
        began_s = time.monotonic()
        agent = product.start("agent", "--home", str(home.path), *JOB, cwd=small_disk)
        try:
            lines = []
            for line in agent.stdout:
                lines.append(line)
                if "cannot commit" in line:
                    break
            assert "the disk is full" in lines[-1] and "Waiting for it" in lines[-1], "".join(lines)
            assert time.monotonic() - began_s < 20, "".join(lines)
            doctor = product.run("doctor", "--home", str(home.path), cwd=small_disk)
            assert doctor.status == 1 and "commits" in doctor.out and "the disk is full" in doctor.out, doctor
            filler.unlink()
            rest, _ = agent.communicate(timeout=60)
            assert agent.returncode == 0, "".join(lines) + rest
        finally:
            if agent.poll() is None:
                agent.kill()
                agent.communicate()
    log = [line for line in (folder / "gateway.log").read_text("utf-8").splitlines() if "commits" in line]
    assert len(log) == 2 and "the disk is full" in log[0] and "again" in log[1]
