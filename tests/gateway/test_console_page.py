"""The Console in a real browser: exact values shown, approved by keyboard, nothing from elsewhere."""

from __future__ import annotations

import os

import pytest

CHROMIUM = "/usr/bin/chromium"
playwright = pytest.importorskip("playwright.async_api")
pytestmark = pytest.mark.skipif(not os.path.exists(CHROMIUM), reason="no chromium on this machine")


def test_a_person_reads_the_exact_values_and_approves_them_by_keyboard(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host, "approved_calculation")
        await world.act(host, worker, "read_input", case["root"])
        await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
        errors, asked = [], []
        async with playwright.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            await page.goto(f"http://127.0.0.1:{world.port}/console/")
            await page.wait_for_selector("#code:focus")
            await page.keyboard.type(world.gateway.setup_code)
            await page.keyboard.press("Tab")
            await page.keyboard.type("correct horse battery")
            await page.keyboard.press("Enter")
            await page.wait_for_selector(".card")
            terms = await page.locator("dl.values dt").all_inner_texts()
            shown = await page.locator("dl.values dd").all_inner_texts()
            assert dict(zip(terms, shown)) == {"job_id": "calc-001", "source": "verified-calculation-local",
                                               "subtotal_cents": "9093 cents", "total_cents": "9593 cents"}
            grounds = await page.inner_text(".tree")
            assert grounds.count("unit_price_cents=1299") == grounds.count("subtotal(") == 1 and "input as above" in grounds      # each premise once
            assert "root_" not in grounds and "root_" in await page.locator(".tree [title]").first.get_attribute("title")
            assert (await page.inner_text("#session")).startswith("owner · may act for")
            await page.focus("button:text('Approve these values')")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("#said:text('Approved')")
            assert await page.locator(".card").count() == 0
            await page.reload()
            await page.wait_for_selector("text=approved")        # the cookie still speaks for this browser
            await browser.close()
        assert errors == []
        assert all(url.startswith(f"http://127.0.0.1:{world.port}/console/") for url in asked)
        assert (await host.ping())[0]["stage"] == "not_dispatched"

    play(story, pollHoldMs=100)


def test_a_decision_that_was_made_meanwhile_is_refused_and_the_page_read_again(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host, "approved_calculation")
        await world.act(host, worker, "read_input", case["root"])
        await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
        async with playwright.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            await page.add_init_script("const later = window.setTimeout; window.setTimeout = (act, ms) => (ms === 5000 ? 0 : later(act, ms));")    # it never looks by itself
            await page.goto(f"http://127.0.0.1:{world.port}/console/")
            await page.fill("#code", world.gateway.setup_code)
            await page.fill("#passphrase", "correct horse battery")
            await page.keyboard.press("Enter")
            await page.wait_for_selector(".card")
            authority = world.gateway.authority
            (decision,) = authority.registry.decisions.values()
            authority.command_registry({"kind": "decide", "id": decision["id"], "verdict": "reject", "reason": "not today", "argumentDigest": decision["argumentDigest"],
                                        "authority": {"kind": "person", "by": "owner", "signInAgeS": 1}})
            await page.click("button:text('Approve these values')")
            await page.wait_for_selector(".problem.said:has-text('decision_closed')")
            assert await page.locator("main .card").count() == 0 and await page.locator("text=not today").count() == 1
            await browser.close()

    play(story, pollHoldMs=100)
