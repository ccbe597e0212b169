"""The Console's administration in a real browser: from a stranger's file to an Action that is set up."""

from __future__ import annotations

import json
import os
from importlib import resources

import pytest

from rulith.base.resources import shipped_text
from rulith.board.shapes import TIERS

CHROMIUM = "/usr/bin/chromium"
playwright = pytest.importorskip("playwright.async_api")
pytestmark = pytest.mark.skipif(not os.path.exists(CHROMIUM), reason="no chromium on this machine")
PASSPHRASE = "correct horse battery"


def their_own(version: str = "1.0.0", label: str = "subtotal = unit price × quantity") -> dict:
    text = shipped_text("examples", "verified-calculation", "capability.json").replace("rulith.verified_calculation", "acme.taxed")
    document = json.loads(text.replace('"verified_calculation"', '"taxed"').replace('"approved_calculation"', '"approved_taxed"'))
    document["rules"][0]["label"] = label
    return {**document, "version": version}


class Browser:
    """One page of the Console, watched for errors and for requests beyond its origin."""

    def __init__(self, world, page) -> None:
        self.world, self.page = world, page
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.refusals = 0                # answers of 400 that the story provokes; the browser itself reports them
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    async def sign_in(self) -> None:
        await self.page.goto(f"http://127.0.0.1:{self.world.port}/console/")
        await self.page.fill("#code", self.world.gateway.setup_code)
        await self.page.fill("#passphrase", PASSPHRASE)
        await self.page.keyboard.press("Enter")
        await self.page.wait_for_selector("#decisions")

    async def go(self, section: str, heading: str) -> None:
        await self.page.click(f'nav a[href="#{section}"]')
        await self.page.wait_for_selector(heading)

    async def said(self, words: str) -> None:
        await self.page.wait_for_selector(f'#said:text("{words}")')

    def judge(self) -> None:
        assert self.errors == self.refusals * ["Failed to load resource: the server responded with a status of 400 (Bad Request)"]
        assert all(url.startswith(f"http://127.0.0.1:{self.world.port}/console/") for url in self.asked)


def browse(play, story, **options) -> None:
    async def run(world):
        async with playwright.async_playwright() as driver:
            opened = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            context = await opened.new_context(**options)
            browser = Browser(world, await context.new_page())
            try:
                await story(world, browser)
                browser.judge()
            finally:
                await opened.close()

    play(run, pollHoldMs=100)


def test_a_stranger_installs_binds_and_locks_by_the_page_alone(play, kit, tmp_path):
    async def story(world, browser):
        page = browser.page
        await browser.sign_in()
        await browser.go("capabilities", "#installed")
        broken = their_own()
        broken["rules"][0]["when"][0]["predicate"] = "nowhere"
        (tmp_path / "mine.json").write_text(json.dumps(broken, indent=1))
        await page.set_input_files("#capability-file", str(tmp_path / "mine.json"))
        await page.click("text=Check this file")
        await page.wait_for_selector(".problem:has-text(\"rules[0].when[0].predicate\")")
        (tmp_path / "mine.json").write_text(json.dumps(their_own(), indent=1))
        await page.set_input_files("#capability-file", str(tmp_path / "mine.json"))
        await page.click("text=Check this file")
        await page.click("text=Install 1.0.0")
        await browser.said("Installed acme.taxed 1.0.0")
        await page.wait_for_selector("text=of its 4 Actions are not set up yet")

        await browser.go("connections", "#connection-new")
        await page.fill("#connection-name", "my folder")
        await page.click("text=Add this Connection")
        lines = dict(line.removeprefix("export ").split("=", 1) for line in (await page.inner_text(".card pre")).splitlines() if "=" in line)
        assert lines["RULITH_WORK_URL"] == f"http://127.0.0.1:{world.port}/work"
        await browser.go("tools", "h2#tools:text('Tools')")
        assert lines["RULITH_CONNECTION_KEY"] not in await page.content()          # it stands where it was made
        await browser.go("connections", "#once")
        worker = world.worker()
        worker.connection, worker.key = lines["RULITH_CONNECTION"], lines["RULITH_CONNECTION_KEY"]
        worker.tools = json.loads(json.dumps(worker.tools).replace("rulith.verified_calculation", "acme.taxed"))
        assert (await worker.poll())["accepted"]
        await page.wait_for_selector("#once", state="detached")                    # it was used
        assert lines["RULITH_CONNECTION_KEY"] not in await page.content()

        await browser.go("sources", "#source-name")
        (tmp_path / "runtime").mkdir()
        await page.select_option("#source-connection", label="my folder")
        await page.click("text=From a saved Source definition")
        definition = {"name": "my-orders", "type": "mcp", "words": ["acme.taxed.input"], "accessModes": []}
        for wrong in ("not JSON", json.dumps({**definition, "type": "fax"}), json.dumps({**definition, "words": "acme.taxed.input"})):
            await page.fill("#definition", wrong)
            await page.click("text=Fill the form in")
            await page.wait_for_selector("text=Nothing was filled in")
            assert await page.input_value("#definition") == wrong and await page.input_value("#source-name") == ""
        await page.fill("#definition", json.dumps(definition))
        await page.click("text=Fill the form in")
        await page.wait_for_selector("text=Filled in below for my-orders")
        assert (await page.input_value("#source-type"), await page.input_value("#access")) == ("mcp", "vault")
        (tmp_path / "my-orders.json").write_text(json.dumps({**definition, "type": "file", "words": [f"acme.taxed.{name}" for name in ("input", "output", "other")]}))
        await page.set_input_files("#definition-file", str(tmp_path / "my-orders.json"))
        await page.wait_for_selector("text=No installed Action returns acme.taxed.other")
        assert (await page.input_value("#source-type"), await page.input_value("#source-name"), await page.input_value("#access")) == ("file", "my-orders", "")
        assert await page.locator("[name=attests]:checked").evaluate_all("boxes => boxes.map((each) => each.value)") == ["acme.taxed.input", "acme.taxed.output"]
        await page.fill("#access", str(world.home.path))
        await page.check('[value="acme.taxed.written"]')
        browser.refusals = 1
        await page.click("text=Bind this Source")
        await page.wait_for_selector(".problem:has-text(\"source_root_refused\")")
        assert await page.input_value("#source-name") == "my-orders"             # what was typed is kept
        await page.fill("#access", str(tmp_path / "runtime"))
        await page.click("text=Bind this Source")
        await browser.said("Bound my-orders")
        assert await page.input_value("#source-name") == ""

        await browser.go("tools", "text=acme.taxed.read_input@1")
        for tool in ("read_input", "verify_output", "write_output"):
            await page.click(f'[aria-label="Lock this definition of acme.taxed.{tool}@1"]')
            await browser.said(f"Locked acme.taxed.{tool}@1")
        await browser.go("capabilities", "#installed")
        await page.wait_for_selector("text=All of its Actions are set up >> nth=1")
        host = world.host()
        await host.initialize()
        case = await world.open_case(host, "taxed", "t-1")
        view = (await host.call("QueryBoard"))["view"]
        row = next(each for each in view["actions"] if each["action"] == "acme.taxed.read_input")
        assert row["status"] == "ready" and row["sources"] == ["my-orders"] and case["drive"][0] == row["action"]

    browse(play, story)


def test_an_upgrade_shows_what_changes_before_it_is_installed(play, kit, tmp_path):
    async def story(world, browser):
        page = browser.page
        await browser.sign_in()
        await browser.go("capabilities", "#installed")
        for version, label in (("1.0.0", "one"), ("1.1.0", "<b>two</b>")):
            (tmp_path / "mine.json").write_text(json.dumps(their_own(version, label)))
            await page.set_input_files("#capability-file", str(tmp_path / "mine.json"))
            await page.click("text=Check this file")
            await page.wait_for_selector("#changes")
            if version == "1.1.0":
                assert "1.0.0 → 1.1.0" in await page.inner_text("#changes")
                assert await page.locator(".diff li[data-sign='-']").all_inner_texts() == ["−1.0.0", "−label one"]
                assert await page.locator(".diff li[data-sign='+']").all_inner_texts() == ["+1.1.0", "+label <b>two</b>"]
            await page.click(f"text=Install {version}")
            await browser.said(f"Installed acme.taxed {version}")

    browse(play, story)


def test_a_loss_is_named_and_its_name_asked_for(play, kit):
    async def story(world, browser):
        page, answers = browser.page, ["", "Assistant"]
        page.on("dialog", lambda dialog: dialog.accept(answers.pop(0)))
        await browser.sign_in()
        await browser.go("agents", "#agent-new")
        old = world.token
        await page.click('[aria-label="New token for Assistant"]')
        assert world.gateway.authority.agent_of_token(old)
        await page.click('[aria-label="New token for Assistant"]')
        await page.wait_for_selector("#once")
        assert world.gateway.authority.agent_of_token(old) is None and world.token in await page.inner_text(".card pre")
        await page.click("text=I have kept it")
        await page.fill("#agent-name", "Night audit")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=Token of Night audit")

    browse(play, story)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(play, kit, scheme):
    async def story(world, browser):
        await world.worker().poll()
        await browser.sign_in()
        for section, heading in (("capabilities", "#installed"), ("sources", "#bound"), ("tools", "h2#tools:text('Tools')"), ("agents", "#agent-new"),
                                 ("connections", "#connection-new"), ("decisions", "#decisions")):
            await browser.go(section, heading)
            assert await browser.page.evaluate("document.documentElement.scrollWidth") <= 390, section
            targets = await browser.page.evaluate("[...document.querySelectorAll('button, nav a, select')].map((el) => el.getBoundingClientRect()).filter((box) => box.height && box.height < 40).length")
            assert targets == 0, section

    browse(play, story, viewport={"width": 390, "height": 800}, has_touch=True, color_scheme=scheme)


def test_the_sections_are_reached_by_address_and_every_control_has_a_label(play, kit):
    async def story(world, browser):
        await browser.sign_in()
        for section in ("sources", "connections", "agents"):
            await browser.page.goto(f"http://127.0.0.1:{world.port}/console/#{section}")
            await browser.page.wait_for_selector(f'nav a[href="#{section}"][aria-current="page"]')
            await browser.page.wait_for_selector("main form:visible")
            bare = await browser.page.evaluate("[...document.querySelectorAll('input, select, textarea')].filter((el) => !el.labels.length && !el.ariaLabel).map((el) => el.id)")
            assert bare == [], section
        await browser.page.goto(f"http://127.0.0.1:{world.port}/console/#nowhere")
        await browser.page.wait_for_selector('nav a[href="#decisions"][aria-current="page"]')

    browse(play, story)


def test_an_owner_narrows_what_an_agent_may_see_and_widens_it_again(play, kit):
    async def story(world, browser):
        page, agent = browser.page, world.profile.agent_id
        await browser.sign_in()
        await browser.go("agents", "#agent-new")
        await page.click("summary:text('It sees its whole Board')")
        await page.uncheck(f"#all-predicates-{agent}")
        for name in ("approved_write", "input", "output", "subtotal", "write_settled", "written"):
            await page.uncheck(f"id=predicates-{agent}-rulith.verified_calculation.{name}")
        await page.uncheck(f"#all-tiers-{agent}")
        await page.uncheck(f"id=tiers-{agent}-asserted")
        await page.click("button:text('may see')")
        await browser.said("Changed what")
        await page.wait_for_selector("summary:text('It sees only some Predicates, Tiers')")
        profile = world.gateway.authority.registry.profile(agent).record()
        assert profile == {"predicates": ["rulith.verified_calculation.total"], "tiers": sorted(TIERS[:-1])}
        assert await page.is_checked(f"id=predicates-{agent}-rulith.verified_calculation.total")
        for name in ("predicates", "tiers"):
            await page.check(f"#all-{name}-{agent}")
        await page.click("button:text('may see')")
        await page.wait_for_selector("summary:text('It sees its whole Board')")
        assert world.gateway.authority.registry.profile(agent) is None

    browse(play, story)


def test_a_locked_tool_tells_what_it_does_directly_and_its_decision_is_waived(play, kit):
    async def story(world, browser):
        page, worker = browser.page, world.worker()
        worker.tools.append({"id": "acme.files.put@1", "digest": "d" * 64, "sourceTypes": [], "kind": "write", "params": {"path": "string"},
                             "returns": [{"predicate": "acme.files.written", "args": {"path": "$path"}}]})
        await worker.poll()
        await browser.sign_in()
        await browser.go("tools", "h2#tools:text('Tools')")
        await page.click("summary:text('no installed Action uses')")
        await page.click("button[aria-label='Lock this definition of acme.files.put@1']")
        await page.wait_for_selector("text=a person decides first")
        await page.click("button[aria-label='Waive the decision for acme.files.put@1']")
        await page.wait_for_selector("text=the decision is waived")
        assert world.gateway.authority.registry.locks[worker.connection, "acme.files.put@1"].waived
        await page.click("button[aria-label='Ask a person before acme.files.put@1']")
        await page.wait_for_selector("text=a person decides first")
        assert "No direct Action" not in await page.inner_text("main")

    browse(play, story)


def test_no_script_makes_markup_from_text():
    folder = resources.files("rulith").joinpath("ui_static", "console")
    for script in (each for each in folder.iterdir() if each.name.endswith(".js")):
        text = script.read_text(encoding="utf-8")
        assert text.startswith("//") and len(text.splitlines()) <= 200
        for banned in ("outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage", "sessionStorage", "style:"):
            assert banned not in text, (script.name, banned)
        assert ("fetch(" in text) == (script.name in ("console.js", "embed.js"))      # the Console, and its view in another page


def test_a_constitution_is_read_checked_and_put_in_force_on_the_page(play, kit, tmp_path):
    async def story(world, browser):
        page = browser.page
        law = {
            "format": "rulith-constitution/1", "version": "1.0.0", "title": "Writes wait", "rules": [
                {"id": "write_waits", "label": "a <b>write</b> waits for a person", "when": [{"predicate": "proposed", "args": {"action": "?a", "kind": "write"}}],
                 "then": [{"predicate": "needs_decision", "args": {"action": "?a", "kind": "approve this write"}}]}]}
        await browser.sign_in()
        await browser.go("constitution", "text=No Constitution is in force")
        for broken in (True, False):
            text = json.dumps(law, indent=1)
            (tmp_path / "law.json").write_text(text.replace('"proposed"', '"propsed"') if broken else text)
            await page.set_input_files("#constitution-file", str(tmp_path / "law.json"))
            await page.click("text=Check this file")
            await page.wait_for_selector('.problem:has-text("rules[0].when[0].predicate")' if broken else "#law-changes")
        await page.click("text=Put 1.0.0 in force")
        await browser.said("Constitution 1.0.0 is in force")
        await page.click("text=a <b>write</b> waits for a person")
        await page.wait_for_selector('text=then needs_decision(action=?a, kind="approve this write")')
        law["rules"][0]["then"][0]["args"]["kind"] = "two_people"
        (tmp_path / "law.json").write_text(json.dumps({**law, "version": "1.1.0"}))
        await page.set_input_files("#constitution-file", str(tmp_path / "law.json"))
        await page.click("text=Check this file")
        await page.wait_for_selector("text=2 items change.")
        if os.environ.get("RULITH_SHOTS"):
            await page.screenshot(path=f"{os.environ['RULITH_SHOTS']}/constitution.png", full_page=True)
        await page.click("text=Put 1.1.0 in force")
        await browser.said("Constitution 1.1.0 is in force")
        assert world.gateway.authority.registry.constitution["version"] == "1.1.0"

    browse(play, story)
