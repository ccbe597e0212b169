"""Cases on the page: why not, two moments, long lists, and what waits answered where it stands. Duty: the workbench's Inspector, its Pictures, and who may decide."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from rulith.disk.home import Home
from tests.browser.axe import violations
from tests.browser.real_bench import Bench, Watched, expect, run_calculation
from tests.browser.test_parts import change_board, operation

pytestmark = pytest.mark.timeout(240)
PASSPHRASE = "several words of a test"


def side(page, tab):
    page.get_by_role("navigation", name="Side panel").get_by_role("link", name=tab).click()


def test_a_case_is_understood_compared_and_decided_without_leaving_the_page(browser, bench):
    with Watched(browser, bench) as page:
        article = run_calculation(page, "calc-asked", approve=True)
        expect(article).to_contain_text("Waiting for a person")
        side(page, "Now")
        code = page.locator(".setup-code").text_content()
        with page.expect_popup() as opening:
            page.locator(".box.needs").get_by_role("link", name="Decide in the Console").click()
        console = opening.value
        assert page.locator("input[type=password]").count() == 0
        console.get_by_label("Setup code").fill(code)
        console.get_by_label("New passphrase").fill(PASSPHRASE)
        console.get_by_role("button", name="Choose this passphrase").click()
        console.get_by_role("button", name="Approve these values").wait_for()
        box = page.locator("[data-answer]")
        expect(box).to_contain_text("with exactly these values")          # the sign-in of the other tab is known here
        expect(box).to_contain_text("9593")
        expect(box).to_contain_text("total = subtotal + shipping")
        assert violations(page) == []
        # why a goal is open, by keyboard
        article.get_by_role("link", name="Open the Case").click()
        leaf = page.locator('.goal-tree [data-met="false"]')
        expect(leaf).to_contain_text("write_approved_output")
        expect(leaf).to_contain_text("ready")
        leaf.get_by_role("button", name=re.compile("^Why not")).focus()
        page.keyboard.press("Enter")
        answer = page.locator("#why-answer")
        expect(answer).to_contain_text("approved_write(job_id=calc-asked")
        expect(answer).to_be_focused()
        expect(answer).to_contain_text("Could come from write_approved_output")
        field = page.get_by_label("A fact that you miss")
        for typed, told in (("total(job_id=calc-asked, cents=1)", "it does not hold"), ("total(cents=?c, job_id=calc-asked)", "it holds"), ("(((", "Write it as a name"),
                            ("nobody(says=this)", "No rule concludes it"), ("total(job_id=calc-asked, cents=9593)", "Show its proof")):
            field.fill(typed)
            field.press("Enter")
            expect(answer).to_contain_text(told)
        answer.get_by_role("link", name="Show its proof").press("Enter")
        expect(page.get_by_role("tree")).to_contain_text("9093 + 500 = 9593")
        page.keyboard.press("Escape")
        expect(page.get_by_role("tree")).to_have_count(0)
        # the time line tells exact times to whoever goes there
        row = page.locator(".line-row").last
        row.focus()
        expect(row.locator(".sr")).to_contain_text(re.compile(r"waiting for a person at .*\d{4}-\d\d-\d\dT"))
        assert row.locator(".sr").bounding_box()["height"] > 10 and page.locator(".now-line").count() > 0
        assert violations(page) == []
        # facts, by text and by tier
        side(page, "Board")
        expect(page.locator(".fact")).to_have_count(3)
        page.get_by_label("Find").fill("SHIPPING")
        expect(page.locator(".fact")).to_have_count(1)
        expect(page.locator(".fact")).to_contain_text("from the Source verified-calculation-local")
        page.get_by_label("Tier").select_option("verified")
        expect(page.get_by_text("No fact is like that.")).to_be_visible()
        page.get_by_label("Tier").select_option("")
        page.get_by_label("Find").fill("")
        # two moments
        side(page, "Cases")
        page.locator(".case-row").first.click()
        page.get_by_role("link", name="Compare two moments").click()
        sides = page.locator("table.sides")
        expect(sides).to_contain_text("3 facts added, 0 removed, 0 changed")
        expect(sides.locator('[data-change="goal"]')).to_contain_text("met · attested")
        assert violations(page) == []
        page.get_by_label("Then").select_option(page.get_by_label("Later").input_value())
        expect(page.get_by_text("Nothing of this Case differs between these two moments.")).to_be_visible()
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.set_viewport_size({"width": 1440, "height": 900})
        page.keyboard.press("Escape")
        expect(page.locator(".case-head")).to_contain_text("calc-asked")
        # and it is decided here; the key leads to the question and not onto its answer
        page.keyboard.press("g")
        page.keyboard.press("n")
        expect(box).to_be_focused()
        box.get_by_role("button", name="Approve these values").press("Enter")
        expect(page.locator(".box.needs")).to_have_count(0)
        article.get_by_role("button", name="Go on with this Case").click()
        expect(page.get_by_role("article", name="Run of calc-asked").first).to_contain_text("Completed")
        console.get_by_role("button", name="Sign out").click()
        side(page, "Cases")
        expect(page.locator(".case-row").first).to_contain_text("Verified calculation with a person's approval")


def test_cases_beyond_the_newest_are_paged_and_found_by_the_gateway(browser, bench):
    asked = []

    def answer(route):
        query = {name: values[0] for name, values in parse_qs(urlsplit(route.request.url).query).items()}
        asked.append(query)
        every = [row(n) for n in range(2_000) if query.get("text", "") in f"job-{n}"][::-1]
        start = int(query["from"])
        route.fulfill(json={"ok": True, "rows": every[start:start + int(query["limit"])], "total": 2_000, "found": len(every), "next": None})

    def row(n):
        return {"agentId": "agent_x", "caseId": f"case_{n}", "root": f"root_{n}", "caseType": "acme", "title": "An acme job", "businessKey": {"job": f"job-{n}"}, "status": "running",
                "openedAt": f"2026-10-03T08:{n // 60 % 60:02}:{n % 60:02}.000Z"}

    with Watched(browser, bench) as page:
        page.route("**/i/*/cases?*", answer)
        change_board(page, lambda board: board.update(cases=[row(n) for n in range(1_999, 1_799, -1)], casesTotal=2_000))
        side(page, "Cases")
        expect(page.get_by_text("Showing 50 of 2,000, newest first.")).to_be_visible()
        expect(page.locator(".case-row").first).to_contain_text("job-1999")
        expect(page.locator(".case-row").first).to_contain_text("An acme job")
        for shown in (100, 150, 200, 250):
            page.get_by_role("button", name="Show older Cases").click()
            expect(page.locator(".case-row")).to_have_count(shown)
        page.get_by_label("Find a Case").fill("job-17")
        expect(page.get_by_text("Showing 50 of 111, newest first.")).to_be_visible()      # 17, 170-179, 1700-1799
        expect(page.locator(".case-row").first).to_contain_text("job-1799")
        page.get_by_label("Find a Case").fill("nothing")
        expect(page.get_by_text("No Case has that in its key, type, state or id.")).to_be_visible()
        assert max(int(query["limit"]) for query in asked) <= 200
        assert violations(page) == []


UNKNOWN = {"agentId": "agent_x", "ordinal": 900, "tool": "acme.ship@1", "kind": "write", "label": "ApplyAction acme.ship", "state": "needs_person", "action": "acme.ship", "argsText": '{"parcel":"P-7"}',
           "argumentDigest": "sha256:" + "a" * 64, "requestDigest": "b" * 64, "toolDigest": "c" * 64, "description": "Ships one parcel.", "effects": ["shipped(parcel=P-7)"], "target": "root_x", "caseIds": [],
           "source": {"name": "depot", "type": "http", "access": "https://depot.example"}, "connection": {"id": "conn_x", "name": "Depot Worker"}, "look": ["Ask the depot."], "steps": [],
           "at": "2026-10-03T08:00:00.000Z", "since": "2026-10-03T08:00:01.000Z", "claim": {"workerId": "w1", "generation": 3, "at": "2026-10-03T08:00:00.500Z"}}


def test_an_unknown_effect_is_settled_in_place_by_the_consoles_own_rules(browser, bench):
    """The Console's answers are scripted here; its own tests tell what they are."""
    sent, state = [], {"ok": True, "passphraseSet": True, "signedIn": True, "token": "t0", "freshForS": 60, "person": {"name": "owner", "role": "operator"}, "now": "2026-10-03T08:05:00.000Z",
                       "decisions": [], "needsPerson": [UNKNOWN], "agents": [{"id": "agent_x", "name": "Assistant"}], "connections": [], "ableToDecide": 1}

    def answer(route):
        name = urlsplit(route.request.url).path.rpartition("/")[2]
        if route.request.method == "POST":
            sent.append((name, json.loads(route.request.post_data), route.request.headers["x-rulith-console"]))
            refused = {"ok": False, "errorCode": "sign_in_required", "teaching": "This needs the person's sign-in, at most 15 minutes old."}
            route.fulfill(json=refused if len(sent) == 1 else {"ok": True, "result": {}})
        else:
            route.fulfill(json={"ok": True, "unknown": UNKNOWN} if name == "unknown" else state)

    with Watched(browser, bench) as page:
        page.route("**/console/api/**", answer)
        change_board(page, lambda board: board["operations"].insert(0, operation(state="needs_person", agentId="agent_x")))
        box = page.locator("[data-answer]")
        expect(box).to_contain_text("Ask the depot.")
        expect(box).to_contain_text("P-7")
        assert violations(page) == []
        box.get_by_label("It happened", exact=True).check()
        expect(box).to_contain_text("shipped(parcel=P-7)")                       # what the answer brings about, before it is given
        box.get_by_label("What you looked at, and what you saw").fill("the depot's list")
        box.get_by_role("button", name="Record that it happened").click()
        expect(box.locator(".problem")).to_contain_text("sign_in_required")
        assert box.get_by_role("link", name="Sign in again in the Console").get_attribute("href") == "/console/"
        expect(box.get_by_label("What you looked at, and what you saw")).to_have_value("the depot's list")
        box.get_by_role("button", name="Record that it happened").click()
        expect(box.get_by_text("Recorded", exact=False).first).to_be_visible()
        assert [each[0] for each in sent] == ["reconcile", "reconcile"] and sent[1][1]["argumentDigest"] == UNKNOWN["argumentDigest"] and sent[1][2] == "t0"
        page.set_viewport_size({"width": 360, "height": 740})
        page.keyboard.press("g")
        page.keyboard.press("n")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_gateway_without_that_view_is_answered_in_its_console(browser, bench):
    with Watched(browser, bench, quiet=False) as page:
        page.route("**/console/embed.js", lambda route: route.fulfill(status=404, json={"ok": False}))
        with page.expect_response("**/console/embed.js"):
            change_board(page, lambda board: board["operations"].insert(0, operation(state="needs_person", agentId="agent_x")))
        expect(page.locator(".box.needs").get_by_role("link", name="Look into it in the Console")).to_be_visible()
        assert page.locator("[data-answer]").count() == 0


HANGS = "import os, pathlib, time\npathlib.Path('write.started').touch()\nparent = os.getppid()\nwhile os.getppid() == parent:\n    time.sleep(0.05)\n"


def test_a_worker_that_dies_in_the_middle_of_a_write_leaves_a_question_that_is_answered_here(browser, tmp_path):
    """Law 2: what may have happened is never sent again, and only a person settles it."""
    home = Home(tmp_path / "home")
    home.prepare()
    home.gateway_settings.write_text(json.dumps({"leaseMs": 6_000, "heartbeatMs": 1_000}))
    bench = Bench(home.path)
    try:
        with Watched(browser, bench) as page:
            expect(page.get_by_role("button", name="Run the verified calculation")).to_be_enabled()
            (workspace,) = (home.path / "workbench" / "instances").glob("*/workspace")
            (workspace / "adapters" / "write_output.py").write_text(HANGS)
            article = run_calculation(page, "calc-lost")
            deadline = time.monotonic() + 60
            while not list(workspace.rglob("write.started")):
                assert time.monotonic() < deadline, article.inner_text()
                time.sleep(0.05)
            os.kill(bench.pid_of("worker"), signal.SIGKILL)
            side(page, "Now")
            box = page.locator(".box.needs")
            expect(box).to_contain_text("Say whether this happened", timeout=90_000)
            code = page.locator(".setup-code").text_content()
            with page.expect_popup() as opening:
                box.get_by_role("link", name="Look into it in the Console").click()
            console = opening.value
            console.get_by_label("Setup code").fill(code)
            console.get_by_label("New passphrase").fill(PASSPHRASE)
            console.get_by_role("button", name="Choose this passphrase").click()
            here = page.locator("[data-answer]")
            expect(here).to_contain_text("What was sent")
            expect(here).to_contain_text("calc-lost")
            assert violations(page) == []
            here.get_by_label("It did not happen").check()
            expect(here).to_contain_text("no fact is recorded")
            here.get_by_label("What you looked at, and what you saw").fill("there is no output file")
            here.get_by_role("button", name="Record that it did not happen").click()
            expect(page.locator(".box.needs")).to_have_count(0)
            side(page, "Cases")
            page.locator(".case-row").first.click()
            expect(page.locator(".timeline")).to_contain_text("failed")
            assert page.locator(".line-row", has_text="write_output").count() == 1          # and it was not sent again
    finally:
        bench.end()
