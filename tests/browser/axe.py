"""What axe-core (npm, tests only, put into .conformance by .ci/run) finds on a page as it stands."""

from __future__ import annotations

from functools import cache

import pytest

from tests.browser.real_bench import ROOT

SOURCE = ROOT / ".conformance" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
OF_COLOURS = ("color-contrast", "link-in-text-block")        # all that another theme can change
RUN = """async (rules) => (await axe.run(document, {resultTypes: ['violations'], runOnly: rules}))
    .violations.map((found) => `${found.id}: ${found.help}: ${found.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`)"""


@cache
def _source() -> str:
    if not SOURCE.is_file():
        pytest.skip("no axe-core in .conformance; .ci/run installs it")
    return SOURCE.read_text("utf-8")


def violations(page, rules: tuple[str, ...] = RULES) -> list[str]:
    """One line for each rule that this page breaks: the WCAG 2.2 AA rules and the best practices; none where it is clean."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_source())
    return page.evaluate(RUN, rules)
