"""Every screen of the page in both themes, over a home whose job has a hostile name: axe, markup, links, and what one visit weighs.

Duty: the workbench surface, "security of the page" and its "done when": axe finds nothing, no foreign request, the page's weight.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rulith
from tests.browser.axe import OF_COLOURS, RULES, violations
from tests.browser.real_bench import WAIT_MS, Watched, expect, run_calculation

pytestmark = pytest.mark.timeout(300)
HOSTILE = "<img src=x onerror=document.title='run'>"
VISIT_BYTES_MAX = 250_000
# Where each screen of screens.js is seen; `{id}` is the Agent, `{case}` its Case, `{fact}` a conclusion of it.
PLACES = {
    "": ["#/{id}/now", "#/{id}/cases", "#/{id}/cases/{case}", "#/{id}/cases/{case}?fact={fact}", "#/{id}/board", "#/{id}/worker", "#/{other}/now"],
    "council": ["#/council"],
    "agents": ["#/agents", "#/agents/{id}", "#/agents/{other}"],
    "settings": ["#/settings", "#/settings/gateway", "#/settings/nowhere"],
    "account": ["#/account"],
    "tools": ["#/tools/{id}", "#/tools/{other}"],
    "authoring": ["#/authoring/{id}"],
    "moments": ["#/moments/{id}/{case}"],
    "talks": ["#/talks/{id}?q=onerror"],
}
MAKE = """async (name) => {
    const ask = async (path, body, more = {}) => (await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json', ...more }, body: JSON.stringify(body) })).json();
    const { token } = await ask('/api/token', {});
    return ask('/api/profiles/create', { name, mode: 'local_agent' }, { 'x-rulith-manager': token });
}"""
LINKS = """() => [...document.querySelectorAll('[href], [src], [action]')].map((each) => each.href?.baseVal ?? each.href ?? each.src ?? each.action)
    .filter((address) => !/^(https?:|mailto:|blob:)/.test(address) || (/^http:/.test(address) && new URL(address).origin !== location.origin))"""
MARKUP = "img, iframe, object, embed, base, script:not([src]), style, [onerror], [onclick], [onload], [style*='url']"
SPENT = "performance.getEntriesByType('resource').filter((each) => each.name.includes('/ui/')).reduce((sum, each) => sum + each.decodedBodySize, 0)"


def test_the_table_names_every_screen():
    text = (Path(rulith.__path__[0]) / "ui_static" / "screens.js").read_text()
    table = text[text.index("const LOAD"):text.index("};", text.index("const LOAD"))]
    assert set(PLACES) - {""} == set(re.findall(r"^  (\w+): \(\) => import", table, re.MULTILINE))


@pytest.fixture(scope="module")
def named(browser, bench):
    """The names that the addresses hold, after a job of a hostile name ran and a second Agent was made."""
    with Watched(browser, bench) as page:
        expect(run_calculation(page, HOSTILE)).to_contain_text("Completed", timeout=WAIT_MS)
        page.locator("article").get_by_role("link", name="Open the Case").first.click()
        page.locator(".side [data-predicate=total]").click()
        expect(page.get_by_role("dialog")).to_contain_text("Why total holds")
        found = re.search(r"#/([^/]+)/cases/([^?]+)\?fact=(.+)", page.url)
        made = page.evaluate(MAKE, "Night audit")               # the name of an Agent cannot hold markup
        return {"id": found[1], "case": found[2], "fact": found[3], "other": made["instance"]["id"]}


@pytest.mark.parametrize("screen", PLACES, ids=lambda name: name or "first view")
def test_a_screen_is_clean_in_both_themes_and_in_its_weight(browser, bench, named, screen):
    with Watched(browser, bench) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        for place in PLACES[screen]:
            page.goto("about:blank")                             # then a visit of its own, from its address
            page.goto(f"{bench.origin}/{place.format(**named)}")
            expect(page.locator("[data-agent]").first).to_be_visible()
            expect(page.locator(".skeleton")).to_have_count(0)
            for scheme, rules in (("light", RULES), ("dark", OF_COLOURS)):
                page.emulate_media(color_scheme=scheme)
                found = violations(page, rules)
                assert found == [], f"{place} {scheme}: {chr(10).join(found)}"
            assert page.locator(MARKUP).count() == 0 and page.evaluate(LINKS) == [], place
            assert page.evaluate(SPENT) <= VISIT_BYTES_MAX, place
            assert page.title() != "run"
