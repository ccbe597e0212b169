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
# A stream that says nothing, and no half minute to wait for it; what is asked for in answers that end goes through.
MUTE = """const real = window.fetch, later = window.setTimeout;
    let mute = true;
    window.setTimeout = (job, ms, ...more) => later(job, ms === 30000 && mute ? 100 : ms, ...more);
    window.fetch = (url, how) => {
        if (!String(url).includes('/events')) return real(url, how);
        mute = /after=\\d+$/.test(url);
        return mute ? Promise.resolve(new Response(new ReadableStream({ start(c) { how.signal.addEventListener('abort', () => c.error(new Error('cut'))) } }))) : real(url, how);
    };"""
# A computer that sleeps: what the open stream would say does not come any more.
SLEEP = """const real = window.fetch;
    window.fetch = async (url, how) => {
        const answer = await real(url, how), reader = answer.body?.getReader();
        if (!/events\\?after=\\d+$/.test(url)) { reader?.releaseLock(); return answer; }
        return new Response(new ReadableStream({ async pull(c) {
            const { value, done } = await reader.read();
            if (window.asleep) await new Promise((_, no) => how.signal.addEventListener('abort', () => no(new Error('cut'))));
            if (done) c.close(); else c.enqueue(value);
        } }));
    };"""
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


def test_where_streams_say_nothing_the_rows_are_asked_for_in_answers_that_end(browser, bench):
    watched = Watched(browser, bench)
    with watched as page:
        page.add_init_script(MUTE)
        page.reload()
        expect(run_calculation(page, "calc-muted")).to_contain_text("Completed", timeout=WAIT_MS)
        page.wait_for_function("performance.getEntriesByType('resource').some((each) => each.name.includes('&wait=10'))")
        expect(run_calculation(page, "calc-polled")).to_contain_text("Completed", timeout=WAIT_MS)


def test_a_page_whose_computer_slept_shows_what_came_meanwhile_once(browser, bench):
    with Watched(browser, bench) as page, Watched(browser, bench) as elsewhere:
        page.add_init_script(SLEEP)
        page.clock.install()
        page.reload()
        expect(page.locator("[data-agent]")).to_contain_text("Worker online", timeout=WAIT_MS)
        page.evaluate("window.asleep = true")
        expect(run_calculation(elsewhere, "calc-at-night")).to_contain_text("Completed", timeout=WAIT_MS)
        expect(page.get_by_role("article", name="Run of calc-at-night")).to_have_count(0)
        page.evaluate("window.asleep = false")
        page.clock.fast_forward(8 * 3600 * 1000)
        article = page.get_by_role("article", name="Run of calc-at-night")
        expect(article).to_contain_text("Completed", timeout=WAIT_MS)
        expect(article).to_have_count(1)
        expect(run_calculation(page, "calc-in-the-morning")).to_contain_text("Completed", timeout=WAIT_MS)


def test_two_tabs_that_press_within_one_second_start_one_run(browser, bench):
    watched = Watched(browser, bench, quiet=False)
    with watched as page:
        other = page.context.new_page()
        other.goto(bench.origin + "/")
        for tab in (page, other):
            expect(tab.get_by_role("button", name="Run the verified calculation")).to_be_enabled(timeout=WAIT_MS)
            tab.get_by_label("Job id").fill("calc-both")
        buttons = [tab.get_by_role("button", name=re.compile("Write these numbers and run|Run the verified calculation")) for tab in (page, other)]
        for button in buttons:
            button.evaluate("(each) => { setTimeout(() => each.click(), 500) }")
        for tab in (page, other):
            article = tab.get_by_role("article", name="Run of calc-both")
            expect(article).to_contain_text("Completed", timeout=WAIT_MS)
            expect(article).to_have_count(1)
    assert all("409" in each for each in watched.complaints)         # one of the two was told that it came second
