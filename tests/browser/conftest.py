"""One browser and one workbench for the tests of one file.

No longer: as long as the synchronous driver lives, its event loop counts as running in
this thread, and every later `asyncio.run` of the suite would be refused.
"""

from __future__ import annotations

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

from tests.browser.real_bench import ARGS, CHROMIUM, Bench  # noqa: E402  (playwright may be absent)


@pytest.fixture(scope="module")
def browser():
    if not shutil.which(CHROMIUM):
        pytest.skip(f"no browser at {CHROMIUM}; RULITH_TEST_CHROMIUM names another")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("browser") / "home")
    yield made
    assert made.end() == 0
