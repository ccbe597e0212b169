"""One browser and one workbench for all tests of the page."""

from __future__ import annotations

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

from tests.browser.real_bench import ARGS, CHROMIUM, Bench  # noqa: E402  (playwright may be absent)


@pytest.fixture(scope="session")
def browser():
    if not shutil.which(CHROMIUM):
        pytest.skip(f"no browser at {CHROMIUM}; RULITH_TEST_CHROMIUM names another")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("browser") / "home")
    yield made
    assert made.end() == 0
