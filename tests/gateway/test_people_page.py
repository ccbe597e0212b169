"""People, unknown effects, holds, proofs, the ledger and receipts in a real browser."""

from __future__ import annotations

import asyncio
import json
import os
import re

import pytest

from rulith.base.canonical import digest

CHROMIUM = "/usr/bin/chromium"
playwright = pytest.importorskip("playwright.async_api")
pytestmark = pytest.mark.skipif(not os.path.exists(CHROMIUM), reason="no chromium on this machine")
OWNER, ANN = "correct horse battery", "ann has other words"
PLACES = ("decisions", "unknown", "orders", "holds", "cases", "cases/closed", "receipts", "ledger", "capabilities", "constitution", "sources", "tools", "agents",
          "connections", "people")


def browse(play, story) -> None:
    """Run story(world, window); window(**context) opens a page that must report no error but the refusals it provokes."""
    async def run(world):
        errors: list[str] = []
        async with playwright.async_playwright() as driver:
            opened = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

            async def window(**context):
                page = await (await opened.new_context(**context)).new_page()
                page.on("console", lambda message: errors.append(message.text) if message.type == "error" and not re.search("status of 40[0134]", message.text) else None)
                page.on("pageerror", lambda error: errors.append(str(error)))
                page.on("request", lambda request: errors.append(request.url) if not request.url.startswith((f"http://127.0.0.1:{world.port}/console/", "blob:")) else None)
                page.at = lambda fragment: page.goto(f"http://127.0.0.1:{world.port}/console/#{fragment}")
                page.said = lambda words: page.wait_for_selector(f'#said:has-text("{words}")')
                await page.at("")
                return page

            try:
                await story(world, window)
                assert errors == []
            finally:
                await opened.close()

    play(run, pollHoldMs=100, holdMs=20_000)


async def first_owner(world, page) -> None:
    await page.fill("#code", world.gateway.setup_code)
    await page.fill("#passphrase", OWNER)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("nav:not([hidden])")


async def accept(page, name: str, code: str, words: str) -> None:
    await page.at("invitation")
    await page.fill("#your-name", name)
    await page.fill("#code", code)
    await page.fill("#passphrase", words)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("nav:not([hidden])")


LAW = {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Two eyes more", "rules": [
    {"id": "two", "label": "two people approve every write", "when": [{"predicate": "proposed", "args": {"action": "?action", "kind": "write"}}],
     "then": [{"predicate": "needs_decision", "args": {"action": "?action", "kind": "two_people"}}]}]}


async def waits_for_two(world, kit):
    authority = world.gateway.authority
    authority.command_registry({"kind": "install_constitution", "constitution": LAW, "digest": digest(LAW), "authority": {"kind": "person", "by": "owner", "signInAgeS": 1}})
    authority.command_board(world.profile.agent_id, {"kind": "install_constitution", "constitution": LAW, "digest": digest(LAW)})
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    case = await world.open_case(host, "approved_calculation")
    await world.act(host, worker, "read_input", case["root"])
    await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
    return host, worker


def test_two_people_come_in_decide_and_one_goes(play, kit):
    async def story(world, window):
        owner = await window()
        await first_owner(world, owner)
        host, worker = await waits_for_two(world, kit)
        await owner.wait_for_selector("text=Only 1 person here can decide")
        assert await owner.inner_text(".card h3") == "Approve the totals before they are written, two people"
        await owner.click('nav a[href="#people"]')
        await owner.fill("#person-name", "ann &amp; co")
        await owner.click("button:text('Invite this person')")
        await owner.said("Invited")
        shown = await owner.inner_text(".card pre")
        code = re.search(r"Code\s+(\S+)", shown)[1]
        assert f"http://127.0.0.1:{world.port}/console/#invitation" in shown and "ann &amp; co" in shown
        await owner.click('nav a[href="#agents"]')
        await owner.wait_for_selector("#agent-new")
        assert code not in await owner.content()                              # it stands where it was made
        await owner.click('nav a[href="#people"]')
        await owner.wait_for_selector(f".card pre:has-text('{code}')")

        ann = await window()
        await ann.click("text=I have an invitation")
        await accept(ann, "ann &amp; co", code, ANN)
        assert "ann &amp; co · operator" in await ann.inner_text("#session")
        await owner.wait_for_selector("#once", state="detached", timeout=20_000)     # it was used
        assert code not in await owner.content()
        await ann.wait_for_selector("text=2 different people must approve. 2 more are needed.")
        await ann.click("button:text('Approve these values')")
        await ann.said("Approved. Another person has to as well.")
        await ann.wait_for_selector("text=You approved it; the next approval is another person's.")
        assert await ann.locator("button:text('Approve these values')").count() == 0
        for place in ("people", "sources", "agents", "tools"):                # an operator reads what only an owner changes
            await ann.at(place)
            await ann.wait_for_selector("fieldset.locked:has-text('For owners; you are operator here.')")
            assert await ann.locator("fieldset.locked button:enabled").count() == 0
        assert await ann.locator("#own-new").count() == 0 or await ann.locator("#own-new").is_enabled()

        await owner.click('nav a[href="#decisions"]')
        await owner.wait_for_selector("text=ann &amp; co has; 1 more is needed.")
        reason = owner.locator(".card textarea")
        await reason.fill("half a thought")
        for sign_in in world.gateway.console.persons.sign_ins._open.values():     # a quarter of an hour passes
            sign_in.at_s -= 901
        await owner.click("button:text('Approve these values')")
        await owner.wait_for_selector("dialog[open]")
        assert (await host.ping())[0]["state"] == "waiting_for_decision"
        await owner.fill("#again-passphrase", "wrong words")
        await owner.keyboard.press("Enter")
        await owner.wait_for_selector("dialog .problem:has-text('passphrase_wrong')")
        await owner.fill("#again-passphrase", OWNER)
        await owner.keyboard.press("Enter")
        await owner.said("Signed in again.")
        assert await reason.input_value() == "half a thought"                      # what was typed is kept
        await owner.click("button:text('Approve these values')")
        await owner.said("Approved. The Action goes to its Worker.")
        assert (await worker.rows_until())[0]["args"]

        await owner.at("people")
        await owner.click('summary[aria-label="Change ann &amp; co"]')
        owner.on("dialog", lambda dialog: dialog.accept("ann &amp; co"))
        await owner.click('[aria-label="Remove ann &amp; co"]')
        await owner.said("Removed")
        await ann.at("decisions")
        await ann.wait_for_selector("form.sign")
        await owner.fill("#own-current", OWNER)
        await owner.fill("#own-new", "quite another one")
        await owner.click("button:text('Change it')")
        await owner.said("Changed.")
        assert await owner.input_value("#own-new") == ""

    browse(play, story)


async def one_of_everything(world, kit) -> dict:
    """A closed Case, a held one, and a call whose effect nobody knows; somebody has chosen a passphrase."""
    host, worker = world.host(), world.worker()
    await host.initialize()
    await worker.poll()
    done = await world.open_case(host)
    for action in ("read_input", "write_output", "verify_output"):
        await world.act(host, worker, action, done["root"])
    await host.call("CloseCase", {"root": done["root"]})
    held = await world.open_case(host, job="held")
    world.gateway.authority.command_board(world.profile.agent_id, {"kind": "pause_case", "caseId": held["caseId"], "hold": "operator", "by": "owner", "reason": "the <i>invoice</i>"})
    lost = await world.open_case(host, job="lost")
    asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", lost["root"])))
    row = (await worker.rows_until())[0]
    await worker.claim(row)
    order = {**kit.ORDER, "job_id": "lost"}
    await worker.report(row, ok=True, result="done", facts=kit.facts_for(row["tool"], order, kit.TOTALS))
    await asked
    asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("write_output", lost["root"])))
    await worker.claim((await worker.rows_until())[0])
    world.gateway.line._held[worker.connection].until_s = 0.0
    world.gateway.console._people.isolate(worker.connection, {"kind": "person", "by": "owner", "signInAgeS": 1})
    assert (await asked)["state"] == "needs_person"
    return {"host": host, "done": done, "held": held, "lost": lost}


def test_an_unknown_effect_is_settled_step_by_step(play, kit):
    async def story(world, window):
        page = await window()
        await first_owner(world, page)
        found = await one_of_everything(world, kit)
        await page.wait_for_selector('nav a[href="#unknown"]:has-text("Unknown effects 1")')
        await page.click("text=Look into it and settle it")
        await page.wait_for_selector("#found")
        text = await page.inner_text("main")
        plan = world.gateway.authority.agents[world.profile.agent_id].operations.unresolved().plan
        for told in ("verified-calculation-local", str(world.profile.workspace / "runtime"), "Assistant's Worker", world.profile.connection_id, "generation 1",
                     kit.PREFIX + "write_output@1", "Write the derived totals"):
            assert told in text, told
        await page.click("text=The exact text, and its digests")
        assert plan["argsText"] in await page.inner_text("pre") and plan["argumentDigest"] in await page.inner_text("main")
        await page.click("button:text('Record it')")                                # nothing chosen, nothing said
        await page.check("#outcome-did_not")
        assert "no fact is recorded" in await page.inner_text("#found ~ form [role=status]")
        await page.check("#outcome-happened")
        assert "write_settled(job_id=lost)" in await page.inner_text("#found ~ form [role=status]")
        await page.click("button:text('Record that it happened')")
        assert (await found["host"].ping())[0]["state"] == "needs_person"          # the note is required
        await page.fill("#found ~ form textarea", "output.json is there, 14:02")
        await page.click("button:text('Record that it happened')")
        await page.said("Recorded: it happened.")
        await page.wait_for_selector("text=None. A call whose Worker vanished")
        rows = [row.body["command"] for row in world.gateway.authority.ledger.rows(world.profile.agent_id) if row.kind == "operation"]
        told = next(each for each in rows if each["kind"] == "reconcile")
        assert (told["by"], told["reason"], told["outcome"]) == ("owner", "output.json is there, 14:02", "happened")

    browse(play, story)


def test_what_happened_can_be_read_proved_and_verified(play, kit):
    async def story(world, window):
        page = await window(accept_downloads=True)
        await first_owner(world, page)
        found = await one_of_everything(world, kit)

        await page.click('nav a[href="#holds"]')
        await page.wait_for_selector(".card:has-text('the <i>invoice</i>')")
        await page.click("text=Lift this hold")
        await page.wait_for_selector(".problem:has-text('reason_required')")
        await page.fill(".card textarea", "it came")
        await page.click("text=Lift this hold")
        await page.wait_for_selector("text=No Case is on hold.")

        await page.at(f"cases/{world.profile.agent_id}/{found['done']['caseId']}")
        await page.click("[aria-label='Show the proof of the exact total of the order is derived']")
        await page.focus("[role=tree] > [role=treeitem]")
        rows = await page.locator("[role=treeitem]").count()
        for key in ("ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft"):
            await page.keyboard.press(key)
        await page.keyboard.press("ArrowLeft")
        assert await page.locator("[role=treeitem]:visible").count() == 1 < rows
        await page.keyboard.press("Enter")
        assert await page.locator("[role=treeitem]:visible").count() == rows
        assert "reported by rulith.verified_calculation.read_input@1 from the Source verified-calculation-local" in await page.inner_text(".proof")
        assert "1299 × 7 = 9093, exactly" in await page.inner_text(".proof")
        async with page.expect_download() as saved:
            await page.click("text=Save as a file")
        assert json.loads(open(await (await saved.value).path(), encoding="utf-8").read())["tier"] == "attested"

        await page.at("receipts")
        await page.click("[aria-label^='Verify the receipt of']")
        await page.wait_for_selector("text=It holds together")
        async with page.expect_download() as saved:
            await page.click("[aria-label^='Save the receipt of']")
        assert json.loads(open(await (await saved.value).path(), encoding="utf-8").read())["signature"]

        await page.at("ledger")
        await page.click("text=Verify every hash now")
        await page.wait_for_selector("text=is as it must be")
        await page.click(f'.filter a[href="#ledger/{world.profile.agent_id}"]')
        await page.select_option("#kind", "board")
        await page.fill("#find", "close_case")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".ledger li:only-child:has-text('close_case')")
        await page.click(".ledger summary")
        row = next(row for row in world.gateway.authority.ledger.rows(world.profile.agent_id) if row.kind == "board" and row.body["command"]["kind"] == "close_case")
        assert row.hash in await page.inner_text(".ledger") and row.prev in await page.inner_text(".ledger")

        await page.at("sources")
        await page.click("[aria-label='Where its material may go: verified-calculation-local']")
        await page.wait_for_selector("text=No Constitution is in force")
        assert "after a decision" in await page.inner_text("li.item [role=status]") and "may go" in await page.inner_text("li.item [role=status]")

    browse(play, story)


def test_every_page_fits_a_phone_in_both_themes(play, kit):
    async def story(world, window):
        setup = await window()
        await first_owner(world, setup)
        found = await one_of_everything(world, kit)
        ordinal = world.gateway.authority.agents[world.profile.agent_id].operations.unresolved().ordinal
        agent = world.profile.agent_id
        places = [*PLACES, f"unknown/{agent}/{ordinal}", f"cases/{agent}/{found['done']['caseId']}", f"cases/{agent}/{found['lost']['caseId']}", f"ledger/{agent}"]
        for scheme in ("light", "dark"):
            page = await window(viewport={"width": 390, "height": 800}, has_touch=True, color_scheme=scheme)
            await page.fill("#passphrase", OWNER)
            await page.keyboard.press("Enter")
            await page.wait_for_selector("nav:not([hidden])")
            for place in places:
                await page.at(place)
                await page.wait_for_selector("main:not(:has-text('Loading'))")
                assert await page.evaluate("document.documentElement.scrollWidth") <= 390, place
                small = await page.evaluate("[...document.querySelectorAll('button, nav a, select, a.button, .filter a')].map((el) => el.getBoundingClientRect()).filter((box) => box.height && box.height < 40).length")
                assert small == 0, place
                bare = await page.evaluate("[...document.querySelectorAll('input, select, textarea')].filter((el) => !el.labels.length && !el.ariaLabel).map((el) => el.id)")
                assert bare == [], place
                twice = await page.evaluate("(() => { const ids = [...document.querySelectorAll('[id]')].map((el) => el.id); return ids.filter((id, at) => ids.indexOf(id) !== at); })()")
                assert twice == [], place

    browse(play, story)


def test_a_viewer_sees_every_page_and_can_press_nothing_that_changes_anything(play, kit):
    async def story(world, window):
        owner = await window()
        await first_owner(world, owner)
        await one_of_everything(world, kit)
        await owner.at("people")
        await owner.fill("#person-name", "eve")
        await owner.select_option("#person-role", "viewer")
        await owner.click("button:text('Invite this person')")
        eve = await window()
        await accept(eve, "eve", re.search(r"Code\s+(\S+)", await owner.inner_text(".card pre"))[1], "eve only looks on")
        harmless = {"Sign out", "Find", "Verify", "Verify every hash now", "Change it", "Show the proof"}
        agent = world.profile.agent_id
        ordinal = world.gateway.authority.agents[agent].operations.unresolved().ordinal
        for place in (*PLACES, f"unknown/{agent}/{ordinal}"):
            await eve.at(place)
            await eve.wait_for_selector("main:not(:has-text('Loading'))")
            assert set(await eve.locator("button:enabled:visible").all_inner_texts()) <= harmless, place

    browse(play, story)
