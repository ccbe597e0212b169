"""Takes a picture of every screen in both themes: `python -m tests.browser.pictures FOLDER`. No test.

Those in docs/images are of these, reduced to 128 colours.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.real_bench import ARGS, CHROMIUM, Bench, Watched, expect, run_calculation
from tests.browser.real_council import RealCouncil, repository
from tests.browser.test_first_hour import PASSPHRASE, HourModel
from tests.workbench.draft_model import DOCUMENT

SIZE = {"width": 1280, "height": 860}
SIGN_IN = """async (passphrase) => {
  const ask = async (path, body, more = {}) => (await fetch(path, body ? { method: 'POST', headers: { 'content-type': 'application/json', ...more }, body: JSON.stringify(body) } : { headers: more })).json();
  const { token } = await ask('/api/token', {});
  const { console } = await ask('/api/state', null, { 'x-rulith-manager': token });
  await ask('/console/api/setup', { code: console.setupCode, passphrase });
  new BroadcastChannel('rulith.console').postMessage('signed in');
}"""


class Pictures:
    def __init__(self, page, bench, folder: Path) -> None:
        self.page, self.bench, self.folder = page, bench, folder
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, name: str, page=None) -> None:
        page = page or self.page
        expect(page.locator(".skeleton")).to_have_count(0)
        expect(page.locator(".toast")).to_have_count(0)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.screenshot(path=self.folder / f"{name}-{scheme}.png")

    def at(self, place: str, name: str) -> None:
        self.page.goto(f"{self.bench.origin}/#/{place}")
        self.take(name)

    def side(self, tab: str) -> None:
        self.page.get_by_role("navigation", name="Side panel").get_by_role("link", name=tab).click()


def works(pictures: Pictures) -> str:
    """The first page, a proof, a Case, a decision; the Agent's name in an address."""
    page = pictures.page
    expect(page.get_by_role("button", name="Run the verified calculation")).to_be_enabled()
    pictures.take("first")
    expect(run_calculation(page, "calc-001")).to_contain_text("Completed")
    agent = page.locator("[data-agent]").get_attribute("href").split("/")[1]
    page.get_by_role("link", name="Open the Case").last.click()
    pictures.take("case")
    page.locator(".side [data-predicate=total]").click()
    expect(page.get_by_role("tree")).to_be_visible()
    pictures.take("proof")
    page.keyboard.press("Escape")
    expect(run_calculation(page, "calc-002", approve=True)).to_contain_text("Waiting for a person")
    page.evaluate(SIGN_IN, PASSPHRASE)
    pictures.side("Now")
    expect(page.locator("[data-answer]")).to_be_visible()
    pictures.take("decision")
    console = page.context.new_page()
    for section in ("decisions", "cases", "ledger", "capabilities", "sources", "tools", "agents", "connections", "access", "setup", "people"):
        console.goto(f"{pictures.bench.origin}/console/#{section}")
        console.reload()
        expect(console.locator(f"nav [href='#{section}'][aria-current]")).to_be_visible()
        pictures.take(f"console-{section}", console)
    console.close()
    page.get_by_role("button", name="Approve these values").click()
    page.get_by_role("button", name="Go on with this Case").first.click()
    expect(page.get_by_role("article", name="Run of calc-002").first).to_contain_text("Completed")
    for tab in ("Cases", "Board", "Worker"):
        pictures.side(tab)
        pictures.take(f"side-{tab.lower()}")
    return agent


def talks(pictures: Pictures, agent: str, model: HourModel) -> None:
    page = pictures.page
    pictures.side("Cases")
    page.get_by_role("button", name="Configure a model").first.click()
    page.get_by_label("Endpoint").fill(model.url)
    page.get_by_label("Model name").fill("scripted")
    pictures.take("model")
    page.get_by_role("button", name="Save the model settings").click()
    page.get_by_role("button", name="Start Agent").first.click()
    field = page.get_by_label("Message to the Agent")
    expect(page.get_by_text("Enter sends")).to_be_visible()
    page.get_by_label("Add files").set_input_files({"name": "minutes.txt", "mimeType": "text/plain", "buffer": b"Seven are ordered, to be paid by Friday."})
    expect(page.get_by_text("minutes.txt: Ready")).to_be_visible()
    field.fill("read the minutes")
    field.press("Enter")
    turn = page.get_by_role("article", name="Message: read the minutes")
    expect(turn).to_contain_text("Seven are ordered")
    pictures.take("conversation")
    page.get_by_role("button", name="Stop Agent").click()
    pictures.at(f"talks/{agent}", "talks")


def council(pictures: Pictures, folder: Path) -> None:
    rooms = RealCouncil(pictures.bench)
    project, room = rooms.project(repository(folder / "shop"))
    for name, color, note in (("ann", "rose", "finds flaws"), ("ben", "teal", "knows the payments")):
        rooms.agent(name, project, [room], color=color, system_note=note)
    thread = rooms.does("create_thread", room=room, title="Is the rounding safe?", body="@ann @ben look at `pay`: may a cent be lost?", tag="ADVERSARIAL_REVIEW", include_diff=False)["thread_id"]
    rooms.says("ann", "reply", thread_id=thread, body="`pay` adds one cent to every amount. **That is a defect**, not rounding.", severity="HIGH")
    rooms.says("ben", "reply", thread_id=thread, body="Agreed. Cents are whole here; nothing is rounded.")
    rooms.does("resolve_thread", thread_id=rooms.does("create_thread", room=room, title="Names of tables", body="Singular or plural?", tag="HELP_REQUEST")["thread_id"], summary="Plural.")
    pictures.at("council/needs/0", "council-needs")
    pictures.at(f"council/room/{room}/thread/{thread}", "council-thread")
    pictures.at(f"council/room/{room}/new", "council-new")
    pictures.at(f"council/project/{project}", "council-project")


def documents(pictures: Pictures, agent: str, folder: Path) -> None:
    page = pictures.page
    (folder / "travel.md").write_text(DOCUMENT)
    page.goto(f"{pictures.bench.origin}/#/authoring/{agent}")
    page.get_by_label("Document (.txt").set_input_files(folder / "travel.md")
    page.get_by_role("button", name="Draft a Capability").click()
    page.get_by_label("Your answers").fill("Yes, it is free.")
    page.get_by_role("button", name="Draft again").click()
    expect(page.get_by_role("button", name="Save as a private draft")).to_be_visible()
    page.get_by_role("button", name="line 3").click()
    pictures.take("draft")


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright, HourModel() as model:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGS)
        bench = Bench(Path(made) / "home")
        try:
            with Watched(browser, bench, **SIZE, quiet=False) as page:
                pictures = Pictures(page, bench, folder)
                agent = works(pictures)
                talks(pictures, agent, model)
                council(pictures, Path(made))
                documents(pictures, agent, Path(made))
                for place in ("agents", f"agents/{agent}", "agents/new", f"tools/{agent}", "settings/gateway", "settings/models", "settings/budgets", "settings/look", "settings/check", "settings/logs", "settings/backup"):
                    pictures.at(place, place.replace(agent, "one").replace("/", "-"))
        finally:
            bench.end()
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
