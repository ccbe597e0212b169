"""The Console's Cases in a real browser: found, held, ended; and the address that names one."""

from __future__ import annotations

import asyncio
import json
import os
import re

import pytest

CHROMIUM = "/usr/bin/chromium"
playwright = pytest.importorskip("playwright.async_api")
pytestmark = pytest.mark.skipif(not os.path.exists(CHROMIUM), reason="no chromium on this machine")
PASSPHRASE = "correct horse battery"


def browse(play, story, **options) -> None:
    """Run story(world, page) with a page that must report no error but the refusals it provokes."""
    async def run(world):
        async with playwright.async_playwright() as driver:
            opened = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await (await opened.new_context(**options)).new_page()
            errors: list[str] = []
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" and not re.search("status of 40[04]", message.text) else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            try:
                await story(world, page)
                assert errors == []
            finally:
                await opened.close()

    play(run, pollHoldMs=100, holdMs=60_000)      # a browser takes its time to start


async def open_console(world, page, fragment: str = "") -> None:
    await page.goto(f"http://127.0.0.1:{world.port}/console/{fragment}")
    await page.fill("#code", world.gateway.setup_code)
    await page.fill("#passphrase", PASSPHRASE)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("nav:not([hidden])")


async def failed_read(world, kit, job: str = "calc-001"):
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    case = await world.open_case(host, job=job)
    asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
    row = (await worker.rows_until())[0]
    await worker.claim(row)
    await worker.report(row, ok=False, reason="runtime/input.json does not exist")
    await asked
    return host, worker, case


def about(world, case):
    return world.gateway.authority.agents[world.profile.agent_id].board.case(case["caseId"])


def test_a_person_finds_a_stuck_case_and_ends_it_by_name(play, kit):
    async def story(world, page):
        host, _, case = await failed_read(world, kit)
        await open_console(world, page)
        await page.click('nav a[href="#cases"]')
        await page.click(f"#case-{case['caseId']}")
        await page.wait_for_selector("#tried")
        assert "runtime/input.json does not exist" in await page.inner_text("section[aria-labelledby=tried]")
        assert case["caseId"] in page.url
        await page.reload()                                              # the address names the Case
        await page.wait_for_selector("#end")
        await page.fill(f"#end-why-{case['caseId']}", "the file is there now")
        await page.fill(f"#end-name-{case['caseId']}", "calc-002")
        await page.click("button:text('End this Case')")
        assert about(world, case).status == "running"                    # another name ends nothing
        await page.fill(f"#end-name-{case['caseId']}", "calc-001")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#said:text('Closed as cancelled')")
        assert "Closed as cancelled by owner: the file is there now" in await page.inner_text("section[aria-labelledby=case]")
        assert await page.locator("#end").count() == 0
        assert (about(world, case).disposition, about(world, case).closed_by) == ("cancelled", "owner")
        async with page.expect_download() as saved:
            await page.click("text=Save the Terminal Receipt")
        receipt = json.loads(open(await (await saved.value).path(), encoding="utf-8").read())
        assert receipt["case"]["closedBy"] == "owner" and receipt["signature"]
        await page.click("text=All Cases")
        await page.wait_for_selector("text=No Case is live")
        await page.click('.filter a[href="#cases/closed"]')
        await page.wait_for_selector("text=– cancelled")
        assert (await world.open_case(host))["opened"]

    browse(play, story, accept_downloads=True)


def test_a_hold_is_set_and_lifted_with_its_reason(play, kit):
    async def story(world, page):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host)
        await open_console(world, page, f"#cases/{world.profile.agent_id}/{case['caseId']}")
        await page.wait_for_selector("#hold")                            # the address is kept through the sign-in
        await page.click("button:text('Hold it')")
        await page.wait_for_selector(".problem:has-text(\"reason_required\")")
        await page.fill(f"#hold-{case['caseId']}", "<b>wait</b> for the invoice")
        await page.click("button:text('Hold it')")
        await page.wait_for_selector("#said:text('on hold')")
        assert "On hold by owner since" in await page.inner_text(".card") and "<b>wait</b> for the invoice" in await page.inner_text(".card")
        assert await page.locator(f"#hold-{case['caseId']}").count() == 0
        assert about(world, case).status == "paused"
        await page.fill(f"#lift-operator-{case['caseId']}", "it came")
        await page.click("button:text('Lift this hold')")
        await page.wait_for_selector("#said:text('lifted')")
        assert about(world, case).status == "running"

    browse(play, story)


def test_an_open_call_stands_before_the_end_and_is_withdrawn(play, kit):
    async def story(world, page):
        host = world.host()
        await host.initialize()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        await open_console(world, page, f"#cases/{world.profile.agent_id}/{case['caseId']}")
        await page.wait_for_selector("#open-call")
        assert await page.locator("button:text('End this Case')").count() == 0
        await page.fill("section[aria-labelledby=open-call] textarea", "no Worker will come")
        await page.click("button:text('Withdraw this call')")
        await page.wait_for_selector("button:text('End this Case')")
        assert (await asked)["result"]["status"] == "refused"

    browse(play, story)


def test_a_long_list_is_drawn_in_parts_and_an_unknown_case_is_said(play, kit):
    async def story(world, page):
        host = world.host()
        await host.initialize()
        for number in range(53):
            case = await world.open_case(host, job=f"job-{number:02}")
        await open_console(world, page, "#cases")
        await page.wait_for_selector("text=Showing 50 of 53, newest first.")
        assert (await page.locator("a.row strong").first.inner_text()) == "job-52"
        await page.click("#older")
        await page.wait_for_selector("a.row strong:text('job-00')")
        assert await page.locator("a.row").count() == 3 and await page.locator("#older").count() == 0
        await page.reload()                                              # the address names the page
        await page.wait_for_selector("a.row strong:text('job-02')")
        await page.click("#newest")
        await page.wait_for_selector("a.row strong:text('job-52')")
        await page.fill("#find", "JOB-1")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("a.row:nth-of-type(1) strong:text('job-19')")
        assert await page.locator("a.row").count() == 10
        await page.fill("#find", "no such job")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=No such Case has “no such job”")
        await page.goto(f"http://127.0.0.1:{world.port}/console/#cases/{world.profile.agent_id}/case_none")
        await page.wait_for_selector(".problem:has-text(\"unknown_case\")")

        async def many(route):
            found = await (await route.fetch()).json()
            found["caseDetail"]["facts"] = [{"id": f"fact-{number}", "text": f"acme.counted(n={number})", "tier": "attested"} for number in range(120)]
            await route.fulfill(json=found)

        await page.route("**/api/case?*", many)
        await page.goto(f"http://127.0.0.1:{world.port}/console/#cases/{world.profile.agent_id}/{case['caseId']}")
        await page.click("text=Facts of this Case (120)")
        for shown in (50, 100):
            await page.wait_for_selector(f"text=Showing {shown} of 120")
            assert await page.locator("code:text('counted')").count() == shown
            await page.click("details button:text('more')")
        await page.wait_for_selector("code:text('counted(n=119)')")
        assert await page.locator("button:text('more')").count() == 0

    browse(play, story)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(play, kit, scheme):
    async def story(world, page):
        host, _, case = await failed_read(world, kit, "job-with-a-rather-long-name-that-does-not-break-by-itself-0001")
        await open_console(world, page, "#cases")
        for fragment, what in (("#cases", "a.row"), (f"#cases/{world.profile.agent_id}/{case['caseId']}", "#end"), ("#cases/closed", "text=No Case has closed yet")):
            await page.goto(f"http://127.0.0.1:{world.port}/console/{fragment}")
            await page.wait_for_selector(what)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390, fragment
            small = await page.evaluate("[...document.querySelectorAll('button, nav a, select, .filter a, a.row, .back a')].map((el) => el.getBoundingClientRect()).filter((box) => box.height && box.height < 40).length")
            assert small == 0, fragment
            bare = await page.evaluate("[...document.querySelectorAll('input, select, textarea')].filter((el) => !el.labels.length && !el.ariaLabel).map((el) => el.id)")
            assert bare == [], fragment

    browse(play, story, viewport={"width": 390, "height": 800}, has_touch=True, color_scheme=scheme)
