"""One event stream for all tabs of a browser: twelve of them, a leader that closes or freezes, cuts at every byte.

Duty: the workbench surface, "one event stream per browser".
"""

from __future__ import annotations

import json
import re

import pytest

from tests.browser.real_bench import WAIT_MS, Watched, expect, run_calculation

pytestmark = pytest.mark.timeout(240)
TABS = 12
STREAM = re.compile(r"/events\?after=\d+$")
DEAF = """const hears = BroadcastChannel.prototype.addEventListener;
    BroadcastChannel.prototype.addEventListener = function (kind, hear) { hears.call(this, kind, (event) => { if (!window.deaf) hear(event); }); };
    const every = window.setInterval;
    window.setInterval = (job, ms) => ms === 5000 ? every(() => { if (window.hurried) job(); }, 50) : every(job, ms);"""
# The page's own parser over bytes cut at each place, going on after the last row it gave.
CUTS = """async (text) => {
    const { events } = await import('/ui/lib/sse.js');
    const bytes = new TextEncoder().encode(text);
    const from = (start, end) => new Response(new ReadableStream({ start(c) {
        for (let at = start; at < end; at += 7) c.enqueue(bytes.subarray(at, Math.min(end, at + 7)));
        c.close();
    } })).body;
    const starts = {};        // row → where the bytes after it begin, as the server finds them again
    let at = 0;
    for (const event of text.split(/(?<=\\n\\n)/)) {
        at += new TextEncoder().encode(event).length;
        const found = /^id: (\\d+)/.exec(event);
        if (found) starts[found[1]] = at;
    }
    const wrong = [];
    for (let cut = 0; cut <= bytes.length; cut += 1) {
        const rows = [];
        for await (const row of events(from(0, cut))) if (row) rows.push(row);
        for await (const row of events(from(rows.length ? starts[rows.at(-1).sequence] : 0, bytes.length))) if (row) rows.push(row);
        if (JSON.stringify(rows.map((row) => row.sequence)) !== JSON.stringify(Object.keys(starts).map(Number)) || rows.some((row) => row.line !== 'ä\\r\\n🦉')) wrong.push(cut);
    }
    return wrong;
}"""


def test_a_stream_cut_at_any_byte_goes_on_without_loss_or_twice(browser, bench):
    rows = [f"id: {n}\ndata: {json.dumps({'sequence': n, 'line': 'ä' + chr(13) + chr(10) + '🦉'}, ensure_ascii=False)}\n\n" for n in range(1, 9)]
    rows.insert(4, ":\n\n")
    with Watched(browser, bench) as page:
        expect(page.locator("[data-agent]")).to_have_count(1, timeout=WAIT_MS)
        assert page.evaluate(CUTS, "".join(rows)) == []


def test_twelve_tabs_share_one_stream_and_go_on_when_their_leader_closes(browser, bench):
    """A browser keeps six connections to an origin: with a stream in each tab, the seventh would read nothing."""
    watched = Watched(browser, bench)
    with watched as page:
        asked: list[str] = []
        tabs = [page]
        for _ in range(TABS - 1):
            tabs.append(page.context.new_page())
            tabs[-1].on("request", lambda request: asked.append(request.url))
            tabs[-1].goto(bench.origin + "/")
        for tab in tabs:
            expect(tab.locator("[data-agent]")).to_contain_text("Worker online", timeout=WAIT_MS)
        run_calculation(page, "calc-dozen")
        for tab in tabs:
            expect(tab.get_by_role("article", name="Run of calc-dozen")).to_contain_text("Completed", timeout=WAIT_MS)
        assert sum(1 for url in watched.asked if STREAM.search(url)) == 1 and not any(STREAM.search(url) for url in asked)
        page.close()
        run_calculation(tabs[-1], "calc-after-the-leader")
        for tab in tabs[1:]:
            expect(tab.get_by_role("article", name="Run of calc-after-the-leader")).to_contain_text("Completed", timeout=WAIT_MS)
        assert sum(1 for url in asked if STREAM.search(url)) == 1


def test_a_tab_fetches_the_rows_it_did_not_hear_and_takes_over_from_a_silent_leader(browser, bench):
    """As one that was frozen for a whole run; and then as one whose leader is frozen."""
    with Watched(browser, bench) as page:
        expect(page.locator("[data-agent]")).to_contain_text("Worker online", timeout=WAIT_MS)
        other = page.context.new_page()
        asked: list[str] = []
        other.on("request", lambda request: asked.append(request.url))
        other.add_init_script(DEAF)
        other.goto(bench.origin + "/")
        expect(other.locator("[data-agent]")).to_contain_text("Worker online", timeout=WAIT_MS)
        other.evaluate("window.deaf = true")
        expect(run_calculation(page, "calc-unheard")).to_contain_text("Completed", timeout=WAIT_MS)
        expect(other.get_by_role("article", name="Run of calc-unheard")).to_have_count(0)
        other.evaluate("window.deaf = false")
        expect(run_calculation(page, "calc-heard")).to_contain_text("Completed", timeout=WAIT_MS)
        for job in ("calc-unheard", "calc-heard"):
            expect(other.get_by_role("article", name=f"Run of {job}")).to_contain_text("Completed", timeout=WAIT_MS)
        assert not any(STREAM.search(url) for url in asked)
        other.evaluate("window.deaf = true")
        expect(run_calculation(page, "calc-silent")).to_contain_text("Completed", timeout=WAIT_MS)
        other.evaluate("window.hurried = true")
        expect(other.get_by_role("article", name="Run of calc-silent")).to_contain_text("Completed", timeout=WAIT_MS)
        assert any(STREAM.search(url) for url in asked)
        expect(run_calculation(page, "calc-from-the-other")).to_contain_text("Completed", timeout=WAIT_MS)


@pytest.mark.parametrize("missing", ["delete Navigator.prototype.locks", "delete window.BroadcastChannel"])
def test_a_browser_without_a_part_of_it_asks_in_answers_that_end(browser, bench, missing):
    watched = Watched(browser, bench)
    with watched as page:
        page.context.add_init_script(missing)
        other = page.context.new_page()
        asked: list[str] = []
        other.on("request", lambda request: asked.append(request.url))
        other.goto(bench.origin + "/")
        job = "calc-alone-" + str(len(missing))
        expect(run_calculation(other, job)).to_contain_text("Completed", timeout=WAIT_MS)
        feeds = [url for url in asked if "/events" in url]
        assert len(feeds) > 1 and all("wait=" in url for url in feeds)
