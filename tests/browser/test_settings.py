"""The settings screen in a real browser: limits, the check, a log, a backup, the look; by keyboard, on a phone, enlarged."""

from __future__ import annotations

import re

from tests.browser.axe import violations
from tests.browser.real_bench import WAIT_MS, Watched, expect, run_calculation

NO_NOTICES = "Object.defineProperty(Notification, 'permission', {value: 'default'}); Notification.requestPermission = async () => { window.asked = (window.asked ?? 0) + 1; return 'denied'; }; 0"

AWAY = """window.told = []; document.hasFocus = () => false;
window.Notification = class { static permission = 'granted'; static requestPermission = async () => 'granted'; constructor(words, {body}) { told.push(`${words}: ${body}`); } };"""


def part(page, name):
    page.get_by_role("main").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_a_person_sets_limits_looks_at_the_home_and_copies_its_ledger(browser, bench):
    watched = Watched(browser, bench, quiet=False)
    with watched as page:
        expect(page.get_by_role("button", name="Run the verified calculation")).to_be_enabled(timeout=WAIT_MS)
        page.get_by_role("link", name="Settings", exact=True).click()
        expect(page.get_by_label("Gateway", exact=True).get_by_text("online")).to_be_visible()
        assert violations(page) == []

        part(page, "Budgets")
        every = page.get_by_label("Every Agent without limits of its own")
        every.get_by_label("Tokens").fill("many")
        every.get_by_role("button", name="Save the limits").click()
        expect(every.get_by_role("alert")).to_contain_text("must be a whole number")
        every.get_by_label("Tokens").fill("200000")
        every.get_by_role("button", name="Save the limits").click()
        expect(page.get_by_label("Assistant", exact=True).get_by_label("Tokens")).to_have_attribute("placeholder", "200000")
        expect(every.get_by_role("alert")).to_have_count(0)
        assert "tokens=200000" in (bench.home / "workbench" / "settings.json").read_text()
        other = page.context.new_page()                      # two tabs: what one saves, the other shows, and does not save over unseen
        other.goto(f"{bench.origin}/#/settings/budgets")
        there = other.get_by_label("Every Agent without limits of its own")
        expect(there.get_by_label("Tokens")).to_have_value("200000")
        there.get_by_label("Calls of the model").fill("40")
        every.get_by_label("Tokens").fill("300000")
        every.get_by_role("button", name="Save the limits").click()
        expect(there.get_by_label("Tokens")).to_have_value("300000")
        there.get_by_role("button", name="Save the limits").click()
        expect(there.get_by_role("alert")).to_contain_text("300000 tokens each day")
        expect(there.get_by_label("Calls of the model")).to_have_value("40")
        there.get_by_role("button", name="Save the limits").click()
        expect(every.get_by_label("Calls of the model")).to_have_value("40")
        assert "rounds=40,tokens=300000" in (bench.home / "workbench" / "settings.json").read_text()
        other.close()
        assert violations(page) == []

        part(page, "Check")
        page.get_by_role("button", name="Look now").click()
        expect(page.get_by_text("Nothing is wrong.")).to_be_visible(timeout=WAIT_MS)
        expect(page.get_by_text("every hash computed again")).to_be_visible()
        assert violations(page) == []

        part(page, "Logs")
        page.get_by_role("link", name=re.compile("^Gateway")).click()
        expect(page.get_by_role("heading", name="gateway.log")).to_be_visible()
        assert violations(page) == []

        part(page, "Backup and files")
        refusal = {"ok": False, "errorCode": "write_failed", "teaching": "It could not be written.", "happened": "It could not be written.", "next": "", "facts": {}}
        page.route("**/api/settings/steps", lambda route: route.fulfill(status=400, json=refusal))
        page.get_by_label("Show the first steps").click()
        expect(page.get_by_role("alert")).to_contain_text("could not be written")
        expect(page.get_by_label("Show the first steps")).to_be_checked()          # what was refused is not shown as done
        page.get_by_label("File name").fill("mine.db")
        page.get_by_role("button", name="Make a backup").click()
        expect(page.get_by_text(re.compile("sha256:[0-9a-f]{64}"))).to_be_visible()
        assert (bench.home / "backups" / "mine.db").stat().st_size > 0
        page.get_by_role("button", name="Make a backup").click()
        expect(page.get_by_role("alert").filter(has_text="something stands there already")).to_be_visible()
        assert violations(page) == []

        part(page, "Account and gateway")
        pid = bench.pid_of("gateway")
        page.get_by_role("button", name="Restart the gateway").click()
        page.get_by_role("button", name="Restart it").click()
        bench.wait_for_another("gateway", pid)
        expect(page.get_by_label("Gateway", exact=True).get_by_text("online")).to_be_visible(timeout=60_000)
    assert all("400" in each or "502" in each for each in watched.complaints) and len(watched.complaints) == 3      # the browser's own word on what was refused


def test_first_steps_tick_by_what_is_true_and_are_put_away_in_the_home(browser, bench):
    with Watched(browser, bench) as page:
        steps = page.get_by_label("First steps")
        expect(steps.get_by_text("to do")).to_have_count(3)
        article = run_calculation(page, "calc-001")
        expect(article).to_contain_text("Completed", timeout=WAIT_MS)
        expect(steps.get_by_role("listitem").first).to_contain_text("to do")          # a proof that nobody opened was not seen
        article.locator("[data-predicate=total]").click()
        expect(page.get_by_role("dialog")).to_contain_text("Why total holds")
        page.keyboard.press("Escape")
        expect(steps.get_by_role("listitem").first).to_contain_text("done")
        assert violations(page) == []
        steps.get_by_role("link", name="Set one up and test it").click()
        page.get_by_label("Model", exact=True).and_(page.get_by_role("combobox")).select_option("custom")
        page.get_by_label("Endpoint").fill("http://127.0.0.1:9/v1")
        page.get_by_label("Model name").fill("silent")
        page.get_by_role("button", name="Save the model").click()
        expect(page.get_by_role("link", name="silent").last).to_be_visible()
        page.go_back()
        expect(steps.get_by_text("to do")).to_have_count(1)
        steps.get_by_role("button", name="Put these away").focus()
        page.keyboard.press("Enter")
        expect(steps).to_have_count(0)
        page.reload()
        expect(page.get_by_role("heading", name="Verified calculation")).to_be_visible()
        expect(steps).to_have_count(0)
        page.evaluate("location.hash = '#/settings/backup'")
        page.get_by_label("Show the first steps").check()
        expect(page.get_by_label("Show the first steps")).to_be_checked()
        page.evaluate("location.hash = ''")
        expect(steps.get_by_text("to do")).to_have_count(1)
        page.get_by_label("Add files").set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"a note"})
        expect(page.get_by_text("note.txt: Ready")).to_be_visible()
        expect(steps.get_by_text("to do")).to_have_count(1)  # it is done when the Worker has read one


def test_a_decision_is_announced_where_the_person_asked_for_it_and_looks_elsewhere(browser, bench):
    with Watched(browser, bench) as page, Watched(browser, bench) as other:
        for each in (page, other):
            each.add_init_script(AWAY)
            each.reload()
        page.evaluate("location.hash = '#/settings/look'")
        notify = page.get_by_label("Tell me while I look elsewhere")
        expect(notify).not_to_be_checked()
        notify.check()
        expect(notify).to_be_checked()
        page.evaluate("location.hash = ''")
        run_calculation(page, "calc-asked", approve=True)
        for each in (page, other):
            expect(each.locator(".box.needs")).to_have_count(1, timeout=WAIT_MS)
        page.wait_for_function("told.length > 0", timeout=WAIT_MS)
        assert page.evaluate("told") == ["A decision waits for you: Assistant"]
        assert other.evaluate("told") == []                  # this browser was not asked to
        page.reload()
        expect(page.locator(".box.needs")).to_have_count(1, timeout=WAIT_MS)
        assert page.evaluate("told") == []                   # what waited before is no news


def test_settings_by_keyboard_on_a_dark_phone_and_enlarged(browser, bench):
    with Watched(browser, bench, width=360, height=740, color_scheme="dark") as page:
        page.evaluate(NO_NOTICES)
        page.keyboard.press("g")
        page.keyboard.press("s")
        link = page.get_by_role("link", name="Look and notifications")
        link.focus()
        page.keyboard.press("Enter")
        still = page.get_by_label("Move nothing")
        still.focus()
        page.keyboard.press("Space")
        expect(page.locator("html[data-still]")).to_have_count(1)
        notify = page.get_by_label("Tell me while I look elsewhere")
        assert page.evaluate("window.asked") is None
        notify.focus()
        page.keyboard.press("Space")
        expect(page.get_by_text("The browser does not allow notifications").last).to_be_attached()
        expect(notify).not_to_be_checked()
        assert page.evaluate("window.asked") == 1
        assert violations(page) == []
        for name in ("gateway", "models", "budgets", "look", "check", "logs", "backup"):
            page.evaluate(f"location.hash = '#/settings/{name}'")
            expect(page.get_by_role("link", name="Back to the list")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
        page.keyboard.press("Escape")
        expect(page.get_by_role("link", name="Budgets")).to_be_visible()
        page.set_viewport_size({"width": 720, "height": 450})        # a page of 1440 by 900 at 200 %
        page.evaluate("location.hash = '#/settings/budgets'")
        expect(page.get_by_label("Every Agent without limits of its own")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 720
        assert violations(page) == []
