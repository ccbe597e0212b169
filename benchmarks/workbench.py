"""How fast the page is at scale: 10 Agents, 2,000 Cases, 100,000 events, in a real browser over the real product.

    python benchmarks/workbench.py [--quick] [--json FILE]

Needs playwright in the environment and a chromium (RULITH_TEST_CHROMIUM names another than
/usr/bin/chromium). Each interaction is timed inside the page, from the input event until what
was asked for is there and the next frame after that is painted. The five with a bar:

    switch Agent       a click on another Agent, until its Cases are listed
    open the Cases     a click on the tab, until the list is there
    filter the Cases   the last letter typed, until only the Cases that match are listed
    open a Case        a click on its row, until its goals are drawn
    open a proof       a click on a conclusion, until its proof tree is drawn

The page is open while the events are told; they have ended when the interactions are timed.

A busy machine stretches every one of these times. Beside each interaction a loop that never
waits is timed by the clock and by its own CPU, and what an interaction takes of CPU is told:
of the page's main thread as the browser counts it, of the host and the gateway as the system
does. These say on a busy machine what the clock cannot.
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

from common import Role, cpu_s, machine, options, median, percentile, report, resident_mb, role_env, row, settled_mb
from start import Page, children_of

HELPER = Path(__file__).with_name("workbench_home.py")
AGENTS, CASES, EVENTS = 10, 2_000, 100_000
BAR_MS, VIEW_BAR_MS = 100, 300
WAIT_MS = 120_000
REST_MS = 500                    # a new tab's own process starts
LOOP_STEPS = 1_000_000           # longer than the system lets one of several run at a time
# What changes in the page is watched, without a frame of our own; a task that a frame's callback posts runs once that frame is painted.
PAINTED = """const come = (is) => new Promise((done, fail) => {
    setTimeout(() => fail(new Error(`it never came: ${is}`)), 20000);
    const look = () => { if (is()) { watcher.disconnect(); done(); } }, watcher = new MutationObserver(look);
    watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    look();
});
const painted = () => new Promise((done) => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); }));
"""
TIMED = """async ([selector, event, value, there]) => {
    const is = new Function('return ' + there), found = document.querySelector(selector);
    if (!found) throw new Error('nothing is ' + selector);
    PAINTED
    const begun = performance.now();
    if (event === 'click') found.click();
    else { found.value = value; found.dispatchEvent(new Event('input', { bubbles: true })); }
    await come(is);
    await painted();
    return performance.now() - begun;
}""".replace("PAINTED", PAINTED)
FIRST_VIEW = """(async () => {
    PAINTED
    await come(() => document.querySelectorAll('[data-agent]').length >= AGENTS && document.querySelector('.tabs'));
    await painted();
    window.seenAt = performance.now();
    await come(() => document.querySelector('#message') && !document.querySelector('.skeleton'));
    await painted();
    window.wholeAt = performance.now();
})()""".replace("PAINTED", PAINTED).replace("AGENTS", str(AGENTS))


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


def first_views(browser, host: Host, times: int) -> list[list[float]]:
    """From the document's last byte to ten Agents drawn, and to the whole page: each in a fresh browser context, once its empty tab is at rest.

    The browser's very first page, which finds the computer's fonts, is not counted.
    """
    found = []
    for _ in range(times + 1):
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        context.add_init_script(FIRST_VIEW)
        page = context.new_page()
        page.wait_for_timeout(REST_MS)
        page.goto(host.url)
        page.wait_for_function("window.wholeAt", timeout=WAIT_MS)
        found.append(page.evaluate("[window.seenAt, window.wholeAt].map((at) => at - performance.getEntriesByType('navigation')[0].responseEnd)"))
        context.close()
    return found[1:]


class Cpu:
    """What the page's main thread, the host and the gateway have taken so far; and a loop's two times."""

    def __init__(self, page, host: Host) -> None:
        self._browser = page.context.new_cdp_session(page)
        self._browser.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._roles = {"host": host.role.pid, "gateway": children_of(host.role.pid)["gateway"]}
        self.loops: list[float] = []         # by the clock, by its CPU

    def so_far_ms(self) -> dict[str, float]:
        told = {each["name"]: each["value"] for each in self._browser.send("Performance.getMetrics")["metrics"]}
        return {"page": told["TaskDuration"] * 1000, **{name: scheduled_ms(pid) for name, pid in self._roles.items()}}

    def loop(self) -> None:
        clock, own = time.perf_counter(), time.thread_time()
        for _ in range(LOOP_STEPS):
            pass
        self.loops.append((time.perf_counter() - clock) / (time.thread_time() - own))


def scheduled_ms(pid: int) -> float:
    """CPU of a process and all its threads, finer than clock ticks; 0 where the system does not say."""
    try:
        return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6
    except OSError:
        return 0.0


def use(page, cpu: Cpu, times: int) -> dict[str, list[dict[str, float]]]:
    """The five interactions, one after the other, `times` times: each with what it took by the clock and of CPU, in ms."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ("switch Agent", "open the Cases", "filter the Cases", "open a Case", "open a proof")}

    def timed(name: str, selector: str, there: str, event: str = "click", value: str = "") -> None:
        cpu.loop()
        before = cpu.so_far_ms()
        took = page.evaluate(TIMED, [selector, event, value, there])
        found[name].append({"took": took, **{what: ms - before[what] for what, ms in cpu.so_far_ms().items()}})
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


def has_heard(page, probe: Page) -> None:
    """Wait until the page is at the last event there is."""
    probe.connection.close()             # it may have been idle for longer than the host waits
    last, ends = probe.ask("GET", "/api/state")[1]["sequence"], time.monotonic() + WAIT_MS / 1000
    while page.evaluate("import('/ui/store.js').then(({ state }) => state.feed.sequence)") < last:
        if time.monotonic() > ends:
            raise RuntimeError("the page did not hear of the last event")
        time.sleep(0.05)


def measure(home: Path, browser, quick: bool) -> list[dict]:
    host = Host(home)
    rows = []
    try:
        probe = Page(host.url)
        probe.wait(lambda: all(each["worker"]["state"] == "online" for each in probe.ask("GET", "/api/state")[1]["instances"]), "ten Workers")
        views = first_views(browser, host, 5 if quick else 30)
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
        has_heard(page, probe)
        heard_s = time.perf_counter() - begun
        halfway_mb = resident_mb(host.role.pid)
        host.tell(EVENTS)
        host.told()
        has_heard(page, probe)
        spent_s = (cpu_s(host.role.pid) or 0) - (before_s or 0)
        after_mb = settled_mb(host.role.pid)
        cpu = Cpu(page, host)
        found = use(page, cpu, 6 if quick else 30)
        if problems:
            raise RuntimeError(problems[0])
        seen, whole = zip(*views)
        rows.append(row("first view after the document, p95", percentile(seen, 0.95), "ms", bar=f"<= {VIEW_BAR_MS} ms", ok=percentile(seen, 0.95) <= VIEW_BAR_MS))
        rows += [row("the same, p50", median(seen), "ms"), row("with the Board and the message field, p50", median(whole), "ms"), row("the same, p95", percentile(whole, 0.95), "ms")]
        for name, each in found.items():
            of = {what: [one[what] for one in each] for what in each[0]}
            worst = percentile(of["took"], 0.95)
            rows.append(row(f"{name}, p95", worst, "ms", bar=f"<= {BAR_MS} ms", ok=worst <= BAR_MS))
            rows.append(row(f"{name}, p50", median(of["took"]), "ms"))
            rows += [row(f"{name}, CPU of the {what}, p50", median(of[what]), "ms") for what in ("page", "host", "gateway")]
        rows += [row(f"a loop beside them, clock by CPU, {words}", percentile(cpu.loops, share), "times") for words, share in (("p50", 0.5), ("p95", 0.95))]
        rows += [row(f"{EVENTS:,} events told", told_s, "s"), row("until an open page was at the last of them", heard_s, "s"), row("CPU of the host, per 1,000 events", spent_s / (2 * EVENTS) * 1e6, "ms")]
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
    return report(rows, [], chosen.json, f"{about}, {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    sys.exit(main())
