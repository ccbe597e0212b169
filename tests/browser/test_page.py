"""The page in a real browser over the real product: the button, the Case, the proof.

Every page must be silent on the console and ask nothing beyond its own origin.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.browser.real_bench import WAIT_MS, Bench, Watched, expect, run_calculation

pytestmark = pytest.mark.timeout(180)


def test_the_first_page_finds_one_agent_and_says_that_no_model_is_configured(browser, bench):
    with Watched(browser, bench) as page:
        expect(page.locator("[data-agent]")).to_have_count(1)
        expect(page.locator("[data-agent]")).to_contain_text("Assistant")
        expect(page.locator("[data-agent]")).to_contain_text("Worker online", timeout=WAIT_MS)
        expect(page.get_by_text("No model is configured.")).to_be_visible()
        expect(page.get_by_label("Message to the Agent")).to_be_disabled()
        expect(page.get_by_text("No model is configured, so nobody answers here.")).to_be_visible()
        assert "k=" not in page.url


def test_the_button_runs_the_job_and_the_proof_of_the_total_opens(browser, bench):
    with Watched(browser, bench) as page:
        expect(page.get_by_role("button", name="Run the verified calculation")).to_be_enabled(timeout=WAIT_MS)
        page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Cases").click()
        page.get_by_role("button", name="Run the verified calculation").click()
        article = page.get_by_role("article", name="Run of calc-001").first
        expect(article).to_contain_text("Completed: the Case is certified and closed.", timeout=WAIT_MS)
        expect(article.locator("[data-predicate=total]")).to_be_in_viewport(ratio=1)
        row = page.locator(".case-row").first
        expect(row).to_have_attribute("data-status", "closed")
        expect(row).to_contain_text("closed · completed")
        row.click()
        expect(page.locator("[data-disposition=completed]")).to_be_visible()
        expect(page.locator(".goal-tree [data-met=true]")).to_have_count(2)
        page.locator(".side [data-predicate=total]").click()
        proof = page.get_by_role("dialog")
        expect(proof).to_contain_text("Why total holds")
        expect(proof).to_contain_text("9,593 cents")
        expect(proof).to_contain_text("9093 + 500 = 9593")
        expect(proof).to_contain_text("1299 × 7 = 9093")
        expect(proof).to_contain_text("reported by rulith.verified_calculation.read_input@1 from the Source verified-calculation-local")
    workspace = next((bench.home / "workbench" / "instances").iterdir()) / "workspace"
    assert json.loads((workspace / "runtime" / "output.json").read_text()) == {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593}


def test_the_proof_tree_is_walked_by_arrows_and_esc_gives_the_focus_back(browser, bench):
    with Watched(browser, bench) as page:
        expect(run_calculation(page, "calc-keys")).to_contain_text("Completed", timeout=WAIT_MS)
        page.locator("article [data-predicate=total]").first.press("Enter")
        tree = page.get_by_role("tree")
        expect(tree.get_by_role("treeitem")).to_have_count(4)
        tree.get_by_role("treeitem").first.focus()
        page.keyboard.press("ArrowDown")
        expect(tree.locator("[data-path='0.0']")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect(tree.get_by_role("treeitem")).to_have_count(3)
        page.keyboard.press("ArrowRight")
        expect(tree.get_by_role("treeitem")).to_have_count(4)
        page.keyboard.press("End")
        expect(tree.locator("[data-path='0.1']")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator("article [data-predicate=total]").first).to_be_focused()


def test_the_proof_is_saved_and_copied(browser, bench):
    with Watched(browser, bench, permissions=["clipboard-read", "clipboard-write"]) as page:
        expect(run_calculation(page, "calc-saved")).to_contain_text("Completed", timeout=WAIT_MS)
        page.locator("article [data-predicate=total]").first.click()
        with page.expect_download() as saving:
            page.get_by_role("button", name="Save as file").click()
        saved = json.loads(Path(saving.value.path()).read_text())
        assert saved["proof"]["args"]["cents"] == 9593
        page.get_by_role("button", name="Copy as text").click()
        text = page.evaluate("navigator.clipboard.readText()")
        assert "1299 × 7 = 9093" in text and "verified-calculation-local" in text


def test_the_address_names_the_place_and_a_reload_comes_back_to_it(browser, bench):
    with Watched(browser, bench) as page:
        expect(run_calculation(page, "calc-place")).to_contain_text("Completed", timeout=WAIT_MS)
        page.locator("article").get_by_role("link", name="Open the Case").first.click()
        expect(page.locator(".case-head h3")).to_have_text("calc-place")
        page.locator(".side [data-predicate=total]").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.reload()
        expect(page.get_by_role("dialog")).to_contain_text("Why total holds")
        page.go_back()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator(".case-head h3")).to_have_text("calc-place")


def test_a_draft_survives_a_reload_and_a_wrong_number_is_named_at_its_field(browser, bench):
    with Watched(browser, bench, quiet=False) as page:      # a refused POST is a line on the browser's console
        page.get_by_label("Job id").fill("calc-draft")
        page.get_by_label("Quantity").fill("seven")
        page.reload()
        expect(page.get_by_label("Quantity")).to_have_value("seven")
        expect(page.get_by_text("Running replaces that with your numbers.")).to_be_visible()
        button = page.get_by_role("button", name="Write these numbers and run")
        expect(button).to_be_enabled(timeout=WAIT_MS)
        button.click()
        expect(page.locator("#field-quantity-note")).to_contain_text("whole number")
        expect(page.get_by_label("Quantity")).to_be_focused()
        page.get_by_role("button", name="Keep what the file holds").click()
        expect(page.get_by_role("button", name="Write these numbers and run")).to_have_count(0)


def test_numbers_beyond_the_exact_range_are_refused_and_nothing_is_written(browser, bench):
    with Watched(browser, bench) as page:
        article = run_calculation(page, "calc-big", price="9007199254740991")
        expect(article).to_contain_text("Stuck", timeout=WAIT_MS)
        expect(article).to_contain_text("9007199254740991")
        article.get_by_role("link", name="Open the Case").click()
        expect(page.locator(".side")).to_contain_text("subtotal = unit price × quantity")


def test_a_decision_waits_in_now_and_is_made_in_the_console_of_the_same_origin(browser, bench):
    with Watched(browser, bench) as page:
        article = run_calculation(page, "calc-asked", approve=True)
        expect(article).to_contain_text("Waiting for a person", timeout=WAIT_MS)
        page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Now").click()
        needs = page.locator(".box.needs")
        expect(needs).to_contain_text("Approve the totals before they are written")
        expect(needs).to_contain_text("9,593 cents")
        code = page.locator(".setup-code").text_content()
        assert re.fullmatch("[A-Z0-9]{8}", code)
        expect(page.get_by_text("until then this Agent starts nothing new")).to_be_visible()
        with page.expect_popup() as opening:
            needs.get_by_role("link", name="Decide in the Console").click()
        console = opening.value
        assert console.url.startswith(bench.origin + "/console/")
        console.get_by_label("Setup code").fill(code)
        console.get_by_label("New passphrase").fill("several words of a test")
        console.get_by_role("button", name="Choose this passphrase").click()
        console.get_by_role("button", name="Approve these values").click()
        expect(page.locator(".setup-code")).to_have_count(0)
        expect(page.locator(".box.needs")).to_have_count(0)
        article.get_by_role("button", name="Go on with this Case").click()
        runs = page.get_by_role("article", name="Run of calc-asked")
        expect(runs.first).to_contain_text("Completed", timeout=WAIT_MS)
        expect(runs.last).to_contain_text("A person was asked. The Case is over:", timeout=WAIT_MS)
        expect(runs.filter(has_text="stays open")).to_have_count(0)


def sign_in(page, console):
    """With the passphrase of these tests, chosen now if none of them has chosen it yet."""
    expect(console.locator("form.sign")).to_be_visible()
    if console.locator("#code").count():
        page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Now").click()
        console.get_by_label("Setup code").fill(page.locator(".setup-code").text_content())
        page.go_back()
    console.locator("#passphrase").fill("several words of a test")
    console.locator("form.sign button").click()


def test_a_stuck_case_is_held_and_ended_in_the_console_and_its_job_begins_anew(browser, bench):
    with Watched(browser, bench) as page:
        article = run_calculation(page, "calc-stuck", price="9007199254740991")
        expect(article).to_contain_text("Stuck", timeout=WAIT_MS)
        article.get_by_role("link", name="Open the Case").click()
        address = page.url
        with page.expect_popup() as opening:
            page.get_by_role("link", name="End or hold this Case in the Console").click()
        console, case_id = opening.value, page.locator(".case-head").get_attribute("data-case")
        assert console.url.endswith(f"/{case_id}") and console.url.startswith(bench.origin + "/console/#cases/")
        sign_in(page, console)
        expect(console.locator(f'h2[data-case="{case_id}"]')).to_have_text("calc-stuck")      # the address outlives the sign-in
        console.get_by_label("Why it is held").fill("the price cannot be right")
        console.get_by_role("button", name="Hold it").click()
        expect(page.locator(".case-head")).to_contain_text("On hold by owner: the price cannot be right")
        assert page.url == address
        console.get_by_label("Why it ends").fill("the price was mistyped")
        console.get_by_label("Type calc-stuck to end it").fill("calc-stuck")
        console.get_by_role("button", name="End this Case").click()
        expect(page.locator(".case-head")).to_contain_text("Closed by owner: the price was mistyped")
        expect(page.locator(".case-head")).to_contain_text("closed · cancelled")
        expect(page.get_by_role("link", name="End or hold this Case in the Console")).to_have_count(0)
        again = run_calculation(page, "calc-stuck")
        expect(again).to_contain_text("Completed", timeout=WAIT_MS)


def test_two_tabs_share_one_feed_and_agree(browser, bench):
    with Watched(browser, bench) as page:
        expect(page.get_by_role("button", name=re.compile("Run the verified|Write these"))).to_be_enabled(timeout=WAIT_MS)
        other = page.context.new_page()
        other.goto(bench.origin + "/")
        expect(other.locator("[data-agent]")).to_have_count(1)
        expect(run_calculation(page, "calc-tabs")).to_contain_text("Completed", timeout=WAIT_MS)
        expect(other.get_by_role("article", name="Run of calc-tabs")).to_contain_text("Completed", timeout=WAIT_MS)
        feeds = page.evaluate("performance.getEntriesByType('resource').filter((e) => e.name.includes('/events')).length")
        feeds += other.evaluate("performance.getEntriesByType('resource').filter((e) => e.name.includes('/events')).length")
        assert feeds <= 1
        page.close()
        expect(run_calculation(other, "calc-tabs-2")).to_contain_text("Completed", timeout=WAIT_MS)


def test_everything_is_reached_by_keyboard(browser, bench):
    with Watched(browser, bench) as page:
        expect(page.locator("[data-agent]")).to_have_count(1)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Keys")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        for key, words in (("c", "Cases"), ("b", "Board"), ("w", "Worker"), ("n", "Now")):
            page.keyboard.press("g")
            page.keyboard.press(key)
            expect(page.locator(".tabs [aria-current=page]")).to_contain_text(words)
        page.keyboard.press("g")
        page.keyboard.press("a")
        expect(page.locator("[data-agent]")).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_label("Job id")).to_be_focused()


def test_a_phone_loses_nothing_and_scrolls_nowhere_sideways(browser, bench):
    with Watched(browser, bench, width=360, height=740, has_touch=True) as page:
        expect(page.get_by_role("heading", name="Assistant")).to_be_visible()
        page.get_by_role("button", name="Agents").tap()
        expect(page.get_by_role("heading", name="Agents")).to_be_visible()
        page.get_by_role("button", name="Close the list of Agents").tap()
        page.get_by_role("button", name="Now, Cases, Board, Worker").tap()
        for words in ("Cases", "Board", "Worker", "Now"):
            page.get_by_role("navigation", name="Side panel").get_by_role("link", name=words).tap()
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
        small = page.evaluate("""() => [...document.querySelectorAll('button, a, input, select')].filter((e) => e.checkVisibility() && !e.closest('p'))
            .map((e) => [e.textContent || e.name, e.getBoundingClientRect()]).filter(([, r]) => r.width > 0 && r.height < 40 && r.height > 20).map(([t, r]) => `${t} ${r.height}`)""")
        assert small == []


def test_a_killed_gateway_is_shown_and_comes_back(browser, bench):
    with Watched(browser, bench, quiet=False) as page:
        expect(page.get_by_role("button", name=re.compile("Run the verified|Write these"))).to_be_enabled(timeout=WAIT_MS)
        for _ in range(2):                       # each pause is longer: the third is 4 s, and no page is too late to see it
            killed = bench.pid_of("gateway")
            os.kill(killed, signal.SIGKILL)
            bench.wait_for_another("gateway", killed)
        os.kill(bench.pid_of("gateway"), signal.SIGKILL)
        expect(page.get_by_text("The gateway stopped by itself")).to_be_visible()
        expect(page.get_by_text("The gateway stopped by itself")).to_have_count(0, timeout=WAIT_MS)
        # At the worst the Worker comes back when the lease it held before has lapsed.
        expect(page.get_by_role("button", name=re.compile("Run the verified|Write these"))).to_be_enabled(timeout=75_000)
        expect(run_calculation(page, "calc-after")).to_contain_text("Completed", timeout=WAIT_MS)


def test_a_page_without_the_key_shows_nothing(browser, bench):
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(bench.origin + "/")
    assert answer.status == 401
    expect(page.locator("body")).to_contain_text("rulith start")
    context.close()


def hang_up(port):
    """Hold the port of a server that ended, so that no other one of this machine answers in its place."""
    held = socket.create_server(("127.0.0.1", port))

    def answer():
        with suppress(OSError):
            while True:
                held.accept()[0].close()
    threading.Thread(target=answer, daemon=True).start()
    return closing(held)


def test_when_the_workbench_ends_the_open_page_says_so(browser, tmp_path):
    bench = Bench(tmp_path / "home")
    with Watched(browser, bench, quiet=False) as page:
        expect(page.locator("[data-agent]")).to_have_count(1, timeout=WAIT_MS)
        page.get_by_role("link", name="Worker", exact=True).click()
        press = page.get_by_role("button", name=re.compile("^(Stop|Start) the Worker"))
        expect(press).to_be_visible(timeout=WAIT_MS)
        assert bench.end() == 0
        with hang_up(int(bench.origin.rpartition(":")[2])):
            expect(page.get_by_text("The workbench does not answer: last heard")).to_be_visible(timeout=WAIT_MS)
            press.click()                        # what nobody heard is not shown as done
            expect(page.locator("#said")).to_have_text("The workbench does not answer.")
