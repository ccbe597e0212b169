"""The official SDK's clients work a Board from nothing to a proved total, over stdio and HTTP, in every date.

SDK 2 comes with the test extra. SDK 1 needs an environment of its own, since one Python holds
one `mcp`: it is made once in .venv-mcp1, and where it cannot be made its tests say so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from rulith.disk.locks import KernelLock
from tests.board_server.conftest import ROOT

CLIENT = Path(__file__).with_name("sdk_client.py")
SDK_1 = ROOT / ".venv-mcp1"
MAKE_S, WORK_S = 200, 60
DATES = {1: ("2025-06-18", "2025-11-25"), 2: ("2025-06-18", "2025-11-25", "2026-07-28")}


def python_of(major: int) -> str:
    """An interpreter that has this major of the SDK; skips where there is none."""
    try:
        if version("mcp").startswith(f"{major}."):
            return sys.executable
    except PackageNotFoundError:
        pass
    if major != 1:
        pytest.skip("the test extra's `mcp` is not installed: pip install -e '.[test]'")
    python = SDK_1 / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = SDK_1 / "ready"
    lock = KernelLock(Path(tempfile.gettempdir()) / f"rulith{SDK_1.name}.lock")       # another process of this run may be making it
    while not ready.exists() and not lock.take():
        time.sleep(0.2)
    try:
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(SDK_1)], check=True, capture_output=True, timeout=MAKE_S)
            subprocess.run([str(python), "-m", "pip", "install", "-q", "mcp>=1.20,<2"], check=True, capture_output=True, timeout=MAKE_S)
            ready.write_text("mcp<2\n", encoding="utf-8")
    except (OSError, subprocess.SubprocessError) as problem:
        pytest.skip(f"SDK 1 is not installed and {SDK_1.name} could not be made: {problem}")
    finally:
        lock.release()
    return str(python)


def work(python: str, date: str, *target: str) -> dict:
    done = subprocess.run([python, str(CLIENT), date, *target], capture_output=True, timeout=WORK_S, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    return json.loads(done.stdout.splitlines()[-1])


def check(seen: dict, date: str) -> None:
    assert seen["date"] == date and len(seen["tools"]) == 17
    assert seen["server"]["name"] == "rulith" and seen["capabilities"]["experimental"]["rulith/board"]["locales"] == ["en"]
    assert "facts: none" in seen["empty"]["text"]
    assert seen["early"]["isError"] and seen["early"]["data"]["errorCode"] == "TASK_NOT_COMPLETE"
    assert "grand(value=10093) [derived]" in seen["update"]["text"] and "G1: grand(value=?v) [satisfied]" in seen["update"]["text"]
    proof = seen["why"]["data"]
    assert proof["atom"]["args"]["value"] == 10093 and len(proof["parents"]) == 2 and proof["ruleId"] == "T"
    assert "is completed" in seen["done"]["text"]
    assert seen["refused"]["isError"] and seen["refused"]["data"]["errorCode"] == "BUILTIN_RESERVED" and seen["refused"]["data"]["correct"]
    assert seen["locale"]["data"]["errorCode"] == "LOCALE_UNSUPPORTED" and seen["spaces"]["text"] == "main: main"


CASES = [pytest.param(major, date, id=f"sdk{major}-{date}") for major, dates in DATES.items() for date in dates]


@pytest.mark.timeout(MAKE_S + WORK_S)
@pytest.mark.parametrize(("major", "date"), CASES)
def test_a_total_is_proved_over_stdio(major, date, tmp_path):
    python = python_of(major)
    launcher = [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); from rulith.__main__ import main; sys.exit(main())", str(ROOT)]
    check(work(python, date, "stdio", *launcher, "board", "--db", str(tmp_path / "board.db")), date)


@pytest.mark.timeout(MAKE_S + WORK_S)
@pytest.mark.parametrize(("major", "date"), CASES)
def test_a_total_is_proved_over_http(major, date, http):
    check(work(python_of(major), date, "http", http), date)
