"""How fast the page is at scale: 10 Agents, 2,000 Cases, 100,000 events, in a real browser over the real product.

    python benchmarks/workbench.py [--quick] [--json FILE]

Needs playwright in the environment and a chromium (RULITH_TEST_CHROMIUM names another than
/usr/bin/chromium). Each interaction is timed inside the page, from the input event until what
was asked for has been drawn (the frame after it is there). The five with a bar:

    switch Agent       a click on another Agent, until its Cases are listed
    open the Cases     a click on the tab, until the list is there
    filter the Cases   the last letter typed, until only the Cases that match are listed
    open a Case        a click on its row, until its goals are drawn
    open a proof       a click on a conclusion, until its proof tree is drawn

The page is open while the events are told; they have ended when the interactions are timed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Role, cpu_s, machine, options, percentile, report, resident_mb, role_env, row, settled_mb
from start import Page, children_of

HELPER = Path(__file__).with_name("workbench_home.py")
AGENTS, CASES, EVENTS = 10, 2_000, 100_000
BAR_MS, VIEW_BAR_MS = 100, 300
WAIT_MS = 120_000
# Act, then count frames until it is there; one more frame has painted it.
TIMED = """async ([selector, event, value, there]) => {
    const is = new Function('return ' + there), found = document.querySelector(selector), frame = () => new Promise(requestAnimationFrame);
    if (!found) throw new Error('nothing is ' + selector);
    const begun = performance.now();
    if (event === 'click') found.click();
    else { found.value = value; found.dispatchEvent(new Event('input', { bubbles: true })); }
    while (!is()) { await frame(); if (performance.now() - begun > 20000) throw new Error('it never came: ' + there); }
    await frame();
    return performance.now() - begun;
}"""
FIRST_VIEW = """(() => { const look = () => {
    if (document.querySelectorAll('[data-agent]').length >= AGENTS && document.querySelector('.tabs')) requestAnimationFrame(() => { window.seenAt = performance.now(); });
    else requestAnimationFrame(look); }; look(); })()"""


class Host:
    """`start` of one home."""

    def __init__(self, home: Path) -> None:
        self.role = Role([sys.executable, str(HELPER), "host", str(home)], role_env(PYTHONUNBUFFERED="1"), log=home.parent / "host.log")
        line = self.role.line()
        while "?k=" not in line:
            line = self.role.line()
        self.url = line.split()[-1]
        self.origin = self.url.partition("/?k=")[0]

    def tell(self, events: int) -> None:
        self.role.process.stdin.write(b"%d\n" % events)
        self.role.process.stdin.flush()

    def told(self) -> None:
        while not self.role.line().startswith("told"):
            pass


def make_home(home: Path, cases: int) -> None:
    """A first start with one job run to its end, so that there is a proof; then the rest is written beside it."""
    host = Host(home)
    try:
        page = Page(host.url)
        page.wait(page.worker_is_online, "the Worker")
        agent = page.first_agent()
        page.connection.request("POST", f"/i/{agent}/demo", json.dumps({"caseType": "verified_calculation", "jobId": None}),
                                {"x-rulith-manager": page.token, "content-type": "application/json"})
        page.connection.getresponse().read()
        page.wait(lambda: any(run["endedAt"] for run in page.ask("GET", f"/i/{agent}/demo")[1]["runs"]), "the end of the job")
        page.connection.close()
    finally:
        host.role.stop()
    subprocess.run([sys.executable, str(HELPER), "fill", str(home), str(AGENTS), str(cases)], check=True, env=role_env())


def first_views(browser, host: Host, times: int) -> list[float]:
    """From the document's last byte to ten Agents drawn, each in a fresh browser context."""
    found = []
    for _ in range(times):
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        context.add_init_script(FIRST_VIEW.replace("AGENTS", str(AGENTS)))
        page = context.new_page()
        page.goto(host.url)
        page.wait_for_function("window.seenAt", timeout=WAIT_MS)
        found.append(page.evaluate("window.seenAt - performance.getEntriesByType('navigation')[0].responseEnd"))
        context.close()
    return found


def use(page, times: int) -> dict[str, list[float]]:
    """The five interactions, one after the other, `times` times."""
    found: dict[str, list[float]] = {name: [] for name in ("switch Agent", "open the Cases", "filter the Cases", "open a Case", "open a proof")}

    def timed(name: str, selector: str, there: str, event: str = "click", value: str = "") -> None:
        found[name].append(page.evaluate(TIMED, [selector, event, value, there]))
    agents = page.evaluate("[...document.querySelectorAll('[data-agent]')].map((each) => each.getAttribute('href').split('/')[1])")
    tab = '.side .tabs a[href*="/cases"]'
    for number in range(times):
        other = agents[1 + number % (len(agents) - 1)]
        page.locator(tab).click()
        page.wait_for_selector(".case-row", timeout=WAIT_MS)
        timed("switch Agent", f'[data-agent][href*="{other}"]', f"location.hash.includes('{other}') && document.querySelector('.case-row[href*=\"{other}\"]')")
        page.evaluate(TIMED, [f'[data-agent][href*="{agents[0]}"]', "click", "", f"document.querySelector('.case-row[href*=\"{agents[0]}\"]')"])
        page.locator('.side .tabs a[href*="/now"]').click()
        page.wait_for_function("!document.querySelector('.case-row')")
        timed("open the Cases", tab, "document.querySelectorAll('.case-row').length > 1")
        timed("filter the Cases", ".side input[type=search]", "document.querySelectorAll('.case-row').length === 1", "input", "calc-001")
        timed("open a Case", ".case-row", "document.querySelector('.goal-tree') && document.querySelector('.side [data-predicate=total]')")
        timed("open a proof", ".side [data-predicate=total]", "document.querySelectorAll('[role=treeitem]').length > 2")
        page.keyboard.press("Escape")
        page.locator(tab).click()
        page.wait_for_selector(".side input[type=search]")
        page.evaluate(TIMED, [".side input[type=search]", "input", "", "document.querySelectorAll('.case-row').length > 1"])
    return found


def measure(home: Path, browser, quick: bool) -> list[dict]:
    host = Host(home)
    rows = []
    try:
        probe = Page(host.url)
        probe.wait(lambda: all(each["worker"]["state"] == "online" for each in probe.ask("GET", "/api/state")[1]["instances"]), "ten Workers")
        views = first_views(browser, host, 5 if quick else 20)
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.goto(host.url)
        page.wait_for_function(f"document.querySelectorAll('[data-agent]').length >= {AGENTS}", timeout=WAIT_MS)
        before_mb, before_s, begun = settled_mb(host.role.pid), cpu_s(host.role.pid), time.perf_counter()
        host.tell(EVENTS)
        host.told()
        told_s = time.perf_counter() - begun
        halfway_mb = resident_mb(host.role.pid)
        host.tell(EVENTS)
        host.told()
        spent_s = (cpu_s(host.role.pid) or 0) - (before_s or 0)
        after_mb = settled_mb(host.role.pid)
        found = use(page, 6 if quick else 30)
        if problems:
            raise RuntimeError(problems[0])
        rows.append(row("first view after the document, p95", percentile(views, 0.95), "ms", bar=f"<= {VIEW_BAR_MS} ms", ok=percentile(views, 0.95) <= VIEW_BAR_MS))
        for name, times in found.items():
            worst = percentile(times, 0.95)
            rows.append(row(f"{name}, p50", percentile(times, 0.5), "ms"))
            rows.append(row(f"{name}, p95", worst, "ms", bar=f"<= {BAR_MS} ms", ok=worst <= BAR_MS))
        rows += [row(f"{EVENTS:,} events told to an open page", told_s, "s"), row("CPU of the host, per 1,000 events", spent_s / (2 * EVENTS) * 1e6, "ms")]
        if after_mb and before_mb and halfway_mb:
            rows += [row("resident memory of the host before any event", before_mb, "MB"), row("after 100,000 events", halfway_mb, "MB"),
                     row("after 200,000 events, by that after 100,000", after_mb / halfway_mb, "times", bar="<= 1.1 times", ok=after_mb / halfway_mb <= 1.1)]
        for role, pid in sorted(children_of(host.role.pid).items()):
            if (weight := resident_mb(pid)) is not None:
                rows.append(row(f"resident memory of the {role}", weight, "MB"))
        rows.append(row("heap of the page after all", page.evaluate("performance.memory?.usedJSHeapSize ?? 0") / 1e6, "MB"))
        context.close()
        probe.connection.close()
    finally:
        host.role.stop()
    return rows


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help=f"how many Cases (default {CASES:,})")
    chosen = parser.parse_args()
    chromium = os.environ.get("RULITH_TEST_CHROMIUM") or "/usr/bin/chromium"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("no playwright in this environment; the one that  python3 build_pyz.py --test  makes has it", file=sys.stderr)
        return 2
    about, base = machine(), Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        make_home(base / "home", chosen.cases)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            rows = measure(base / "home", browser, chosen.quick)
            browser.close()
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return report(rows, [], chosen.json, about)


if __name__ == "__main__":
    sys.exit(main())
