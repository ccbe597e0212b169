"""Orders in the Console, in a real browser: asked by a form, answered by a Worker, withdrawn with a reason. Duty: the Worker hop, §16; the Console's pages."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.gateway.test_cases_page import browse, open_console

pytestmark = pytest.mark.skipif(not os.path.exists("/usr/bin/chromium"), reason="no chromium on this machine")
ORDER = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}


async def set_up(world):
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    return host, worker


def test_a_person_asks_a_source_by_the_page_alone_and_reads_its_answer(play, kit):
    async def story(world, page):
        host, worker = await set_up(world)
        await open_console(world, page, "#orders")
        await page.wait_for_selector("text=Orders are about running Cases, and none runs.")
        case = await world.open_case(host)
        await page.reload()
        await page.wait_for_selector("#order-case")
        assert "calc-001" in await page.inner_text("#order-case")
        for name, value in ORDER.items():
            await page.fill(f"#order-arg-{name}", str(value))
        await page.keyboard.press("Enter")
        row = (await worker.rows_until())[0]
        assert row["claim"]["args"] == ORDER                              # whole numbers went as numbers
        await page.wait_for_selector("text=not taken yet")
        identity = {"workType": "verification", "id": row["work"], **worker.identity()}
        await worker.raw({"kind": "ClaimWork", **identity})
        said = (await worker.raw({"kind": "ReportWork", **identity, "outcome": "not_satisfied", "reason": "the file says 8"})).json()
        assert said["accepted"], said
        await page.wait_for_selector("text=it is not so")
        await page.wait_for_selector("text=the file says 8")
        assert await page.locator("#order-arg-quantity").input_value() == ""      # what was asked is gone from the form
        await page.select_option("#order-kind", "evidence")
        await page.fill("#order-material", "orders")
        await page.keyboard.press("Enter")
        assert (await worker.rows_until())[0]["material"] == "orders"
        await page.click("summary:text('Withdraw it')")
        await page.click("button:text('Withdraw this order')")
        await page.wait_for_selector(".problem:has-text('reason_required')")
        await page.fill("[id^=withdraw-]", "asked by mistake")
        await page.click("button:text('Withdraw this order')")
        await page.wait_for_selector("text=– withdrawn")
        assert await page.locator("text=asked by mistake").count() == 1
        assert case["caseId"] in await page.locator("main li a").first.get_attribute("href")

    browse(play, story)


def test_a_phone_shows_the_form_whole_and_a_dead_agent_is_said(play, kit):
    async def story(world, page):
        host, _ = await set_up(world)
        await world.open_case(host, job="calc-" + "0" * 40)
        await open_console(world, page, "#orders")
        await page.wait_for_selector("#order-case")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        await page.evaluate("window.location.hash = '#orders?agent=agent_none'")
        await page.wait_for_selector(".problem:has-text('unknown_agent')")

    browse(play, story, viewport={"width": 360, "height": 740})
