"""The stage of the workbench's tests."""

import pytest

from tests.workbench.scripted_bench import Stage


@pytest.fixture
def stage(tmp_path) -> Stage:
    return Stage(tmp_path)
