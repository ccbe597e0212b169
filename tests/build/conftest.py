"""One built file for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheels(built: Path) -> Path:
    """The folder of pinned wheels, fetched for the build when they were not there yet."""
    return ROOT / "wheels"


@pytest.fixture(scope="session")
def sources(built: Path) -> Path:
    """What the build read."""
    return built / "sources"


@pytest.fixture(scope="session")
def pyz(built: Path) -> Path:
    return built / "rulith.pyz"
