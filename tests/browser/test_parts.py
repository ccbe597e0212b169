"""The page's parts in a real browser: the drawing, the feed reader, and states that are rare in life."""

from __future__ import annotations

import json

import pytest

from tests.browser.real_bench import WAIT_MS, Watched, expect

Error = pytest.importorskip("playwright.sync_api").Error

pytestmark = pytest.mark.timeout(120)

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def page(browser, bench):
    with Watched(browser, bench) as page:
        expect(page.locator("[data-agent]")).to_have_count(1, timeout=WAIT_MS)
        yield page


PATCH = """() => import('/ui/lib/dom.js').then(({ h, patch }) => {
    const root = document.body.appendChild(document.createElement('div'));
    const row = (key) => h('li', { key }, h('input', { id: `in-${key}`, value: key }));
    const out = {};
    patch(root, h('ul', {}, ['a', 'b', 'c'].map(row)));
    const b = root.querySelector('#in-b');
    b.focus(); b.value = 'typed';
    patch(root, h('ul', {}, ['c', 'a', 'b', 'd'].map(row)));
    out.kept = root.querySelector('#in-b') === b;
    out.order = [...root.querySelectorAll('input')].map((e) => e.id).join(' ');
    out.focused = document.activeElement === b || 'lost';
    out.typed = b.value;
    patch(root, h('ul', {}, [h('li', { key: 'b' }, h('input', { id: 'in-b', value: 'set' }))]));
    out.set = b.value;
    let clicks = 0;
    patch(root, h('button', { onclick: () => { clicks += 1; }, disabled: true, title: 'one', class: false }, 'text ', null, false, 5, ['x']));
    const button = root.firstChild;
    patch(root, h('button', { onclick: () => { clicks += 10; } }, '<b>'));
    button.click();
    out.button = [clicks, button.disabled, button.hasAttribute('title'), button.textContent, button.children.length];
    patch(root, [h('svg', { viewBox: '0 0 1 1' }, h('path', { d: 'M0 0' })), 'after']);
    out.svg = [root.firstChild.namespaceURI, root.firstChild.firstChild.namespaceURI, root.lastChild.data];
    patch(root, []);
    out.empty = root.childNodes.length;
    root.remove();
    return out;
})"""


MANY = """() => import('/ui/store.js').then(async ({ change, watch }) => {
    let draws = 0;
    watch(() => { draws += 1; });
    for (let n = 0; n < 100; n += 1) change(() => {});
    const before = draws;
    for (let n = 0; n < 2; n += 1) await new Promise(requestAnimationFrame);
    return [before, draws];
})"""


def test_many_changes_are_one_draw(page):
    before, draws = page.evaluate(MANY)
    assert before == 0 and draws in (1, 2)           # a row of the feed may come between


def test_drawing_keeps_elements_focus_and_half_typed_text(page):
    out = page.evaluate(PATCH)
    assert out["kept"] is True and out["order"] == "in-c in-a in-b in-d"
    assert (out["focused"], out["typed"], out["set"]) == (True, "typed", "set")
    assert out["button"] == [10, False, False, "<b>", 0]
    assert out["svg"] == ["http://www.w3.org/2000/svg", "http://www.w3.org/2000/svg", "after"]
    assert out["empty"] == 0


READ = """([text, size]) => import('/ui/lib/sse.js').then(async ({ events }) => {
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream({ start(c) { for (let at = 0; at < bytes.length; at += size) c.enqueue(bytes.slice(at, at + size)); c.close(); } });
    const found = [];
    for await (const row of events(body)) found.push(row);
    return found;
})"""
STREAMS = [
    ('id: 1\ndata: {"a":1}\n\n:\n\nid: 2\ndata: {"b":"ü€😀"}\n\n', [{"a": 1}, None, {"b": "ü€😀"}]),
    ('data: {"a":\r\ndata: 1}\r\n\r\ndata:{"b":2}\r\n\r\n', [{"a": 1}, {"b": 2}]),
    ('data: {"a":1}\n\ndata: {"cut', [{"a": 1}]),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096])
@pytest.mark.parametrize(("text", "rows"), STREAMS)
def test_the_feed_is_read_however_its_bytes_are_cut(page, text, rows, size):
    assert page.evaluate(READ, [text, size]) == rows


def change_board(page, change):
    """Let the page read a Board that life rarely has."""
    def answer(route):
        try:
            found = route.fetch()
            board = found.json()
        except Error:
            return              # the page that asked is gone: it was loaded again meanwhile
        change(board)
        route.fulfill(response=found, body=json.dumps(board))
    page.route("**/i/*/state", answer)
    page.reload()


def operation(**given):
    return {"agentId": "agent_x", "ordinal": 900, "tool": "ApplyAction", "label": "ApplyAction acme.ship root_0123456789abcdef01234567", "state": "done",
            "at": "2026-10-03T08:00:00.000Z", "since": "2026-10-03T08:00:01.000Z", "caseIds": [], "steps": [], **given}


def test_an_effect_that_may_have_happened_asks_for_a_person(page):
    change_board(page, lambda board: board["operations"].insert(0, operation(state="needs_person")))
    needs = page.locator(".box.needs")
    expect(needs).to_contain_text("Say whether this happened")
    expect(needs).to_contain_text("it is not repeated")
    assert needs.get_by_role("link", name="Look into it in the Console").get_attribute("href").startswith("/console/")
    expect(page.locator("[data-agent]")).to_contain_text("1 thing needs you")
    expect(page).to_have_title("(1) Assistant · Rulith")


def test_text_from_outside_stays_text(page):
    def change(board):
        board["operations"].insert(0, operation(state="refused", label=f"ApplyAction {HOSTILE}", reason=HOSTILE))
        board["cases"].insert(0, {"agentId": "agent_x", "caseId": "case_x", "root": "root_x", "caseType": HOSTILE, "businessKey": {"job_id": HOSTILE},
                                  "status": "running", "openedAt": "2030-10-03T08:00:00.000Z"})
    change_board(page, change)
    expect(page.locator("#panel")).to_contain_text(HOSTILE)
    page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Cases").click()
    expect(page.locator(".case-row").first).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_an_unknown_outcome_is_neither_done_nor_failed(page):
    change_board(page, lambda board: board["operations"].insert(0, operation(state="unknown")))
    mark = page.locator("#panel .op", has_text="ship").locator(".mark")
    expect(mark).to_have_text("outcome unknown")
    expect(mark).to_have_class("mark is-unknown small")


ROLE = """(state) => import('/ui/store.js').then(({ change }) => change((s) => {
    const [row] = s.bench.instances;
    row.model = { ...row.model, configured: true, ready: true };
    row.agent.talk = { ...row.agent.talk, state };
}))"""


def test_enter_while_the_agent_starts_sends_once_it_is_ready_and_not_after_another_word(page):
    sent = []
    page.route("**/task", lambda route: (sent.append(route.request.post_data_json["text"]), route.fulfill(status=202, json={"ok": True, "sessionKey": "ctx-made", "state": "queued"})))
    message = page.get_by_label("Message to the Agent")
    for text, more in (("first", "!"), ("second", "")):
        page.evaluate(ROLE, "starting")
        message.fill(text)
        message.press("Enter")
        expect(page.get_by_text("Your message is sent once it is ready.")).to_be_visible()
        if more:
            message.press_sequentially(more)
            expect(page.get_by_text("Your message is kept.")).to_be_visible()
            page.evaluate(ROLE, "online")
            expect(page.get_by_role("button", name="Send message")).to_be_enabled()
        else:
            with page.expect_request("**/task"):
                page.evaluate(ROLE, "online")
    expect(message).to_have_value("")
    assert sent == ["second"]


def test_a_long_list_shows_its_newest_part_and_says_so(page):
    def change(board):
        board["cases"] = [{"agentId": "agent_x", "caseId": f"case_{n}", "root": f"root_{n}", "caseType": "acme", "businessKey": {"n": n}, "status": "running",
                           "openedAt": f"2026-10-03T08:{n // 60 % 60:02}:{n % 60:02}.000Z"} for n in range(1402)]
    change_board(page, change)
    page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Cases").click()
    expect(page.get_by_text("Showing 50 of 1,402, newest first.")).to_be_visible()
    expect(page.locator(".case-row").first).to_contain_text("1401")
    page.get_by_role("button", name="Show older Cases").click()
    expect(page.locator(".case-row")).to_have_count(100)
    page.locator(".case-row").first.focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".case-row").nth(2)).to_be_focused()


def test_a_case_that_is_gone_is_refused_with_code_sentence_and_details(browser, bench):
    with Watched(browser, bench, quiet=False, permissions=["clipboard-read", "clipboard-write"]) as page:
        expect(page.locator("[data-agent]")).to_have_count(1, timeout=WAIT_MS)
        instance = page.locator("[data-agent]").get_attribute("href").split("/")[1]
        page.evaluate("(address) => { location.hash = address; }", f"#/{instance}/cases/case_000000000000000000000000")
        box = page.locator(".box.refused")
        expect(box).to_contain_text("The Case could not be read", timeout=WAIT_MS)
        expect(box).to_contain_text("gateway_refused")
        box.get_by_role("button", name="Copy details").click()
        assert json.loads(page.evaluate("navigator.clipboard.readText()"))["code"] == "gateway_refused"


def test_the_theme_is_chosen_and_kept(page):
    page.get_by_label("Theme").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_label("Theme").select_option("light")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.wait_for_function("before => getComputedStyle(document.body).backgroundColor !== before", arg=dark)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_the_side_column_is_closed_widened_and_kept(page):
    page.get_by_role("separator").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("separator")).to_have_attribute("aria-valuenow", "440")
    assert round(page.locator(".side").bounding_box()["width"]) == 440
    page.get_by_role("button", name="Now, Cases, Board, Worker").click()
    expect(page.locator(".side")).to_have_count(0)
    page.reload()
    expect(page.locator("[data-agent]")).to_have_count(1)
    expect(page.locator(".side")).to_have_count(0)


def test_a_model_is_configured_shown_without_its_key_and_refused_by_field(browser, bench):
    with Watched(browser, bench, quiet=False) as page:
        page.locator("#no-model").get_by_role("button", name="Configure a model").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Endpoint").fill("http://models.example/v1/messages")
        dialog.get_by_label("Model name").fill("some-model")
        dialog.get_by_label("API key").fill("sk-secret")
        dialog.get_by_role("button", name="Save the model settings").click()
        expect(dialog.locator("#model-url-note")).to_contain_text("http://")
        expect(dialog.get_by_label("Endpoint")).to_be_focused()
        dialog.get_by_label("Endpoint").fill("https://models.example/v1/messages")
        dialog.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator(".model-name")).to_have_text("some-model")
        page.get_by_role("button", name="Model settings").first.click()
        expect(page.get_by_role("textbox", name="API key")).to_have_value("")
        expect(page.get_by_role("dialog")).to_contain_text("One is saved")
        assert "sk-secret" not in page.content()
        page.get_by_label("Endpoint").fill("")
        page.get_by_label("Model name").fill("")
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.locator(".model-name")).to_have_text("no model")


def test_a_sheet_takes_the_focus_and_gives_it_back(browser, bench):
    with Watched(browser, bench, width=500, height=800) as page:
        opener = page.get_by_role("button", name="Now, Cases, Board, Worker")
        opener.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Close the side panel")).to_be_focused()
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.getElementById('side').contains(document.activeElement)")
        page.keyboard.press("Escape")
        expect(opener).to_be_focused()


def test_the_workers_stop_and_start_are_on_its_tab(page):
    page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Worker").click()
    expect(page.locator(".tool-list").first).to_contain_text("rulith.verified_calculation.read_input@1")
    page.get_by_role("button", name="Stop the Worker").click()
    expect(page.get_by_role("button", name="Start the Worker")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("The Worker is not online: start it in the Worker tab.")).to_be_visible()
    page.get_by_role("button", name="Start the Worker").click()
    expect(page.locator("[data-agent]")).to_contain_text("Worker online", timeout=WAIT_MS)


def test_every_control_of_the_page_has_a_name(page):
    nameless = page.evaluate("""() => [...document.querySelectorAll('button, a[href], input, select, textarea, [role=separator]')]
        .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML.slice(0, 120))""")
    assert nameless == []
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size === document.querySelectorAll('[id]').length")
