"""One built file for all tests of this folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The folder of pinned wheels, fetched once when it is not there yet."""
    folder = ROOT / "wheels"
    code = "import sys; sys.path.insert(0, '.'); import build_pyz; build_pyz.wheels(None)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a build reads, copied once: an edit made during the run must not look like a difference."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("rulith", "protocol", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("build_pyz.py", "requirements-bundle.txt", "pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="session")
def pyz(wheels: Path, sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "rulith.pyz"
    done = subprocess.run(
        [sys.executable, "build_pyz.py", "--wheels", str(wheels), "--out", str(out)], cwd=sources, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out
