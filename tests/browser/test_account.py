"""A workbench signs in at another gateway on the page, runs the calculation there by an Agent of that account, and signs out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.browser.axe import violations
from tests.browser.real_bench import ROOT, WAIT_MS, Bench, Watched, expect

pytestmark = pytest.mark.timeout(300)
PASSPHRASE = "correct horse battery"


class Far:
    """`rulith gateway` of another home, with an owner at its Console."""

    def __init__(self, home) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "rulith", "gateway", "--home", str(home), "--listen", "127.0.0.1:0"], cwd=ROOT, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = ""
        while not (code := re.search(r"Setup code[^:]*: (\S+)", said)):
            line = self.process.stdout.readline()
            assert line, said
            said += line
        self.url, self.rows = re.search(r"Gateway: (\S+)", said)[1], {}
        self.rows["x-rulith-console"] = self.post("setup", code=code[1], passphrase=PASSPHRASE)["token"]

    def post(self, route: str, **body: object) -> dict:
        return self.ask(route, json.dumps(body).encode())

    def ask(self, route: str, body: bytes | None = None) -> dict:
        request = urllib.request.Request(f"{self.url}/console/api/{route}", body, {"content-type": "application/json", **self.rows})
        with urllib.request.urlopen(request, timeout=30) as answer:
            if cookie := answer.headers.get("set-cookie"):
                self.rows["cookie"] = cookie.partition(";")[0]
            return json.load(answer)

    def furnish(self, connection: str, folder) -> None:
        """What an owner does for a Worker elsewhere: its Source, and a lock for each Tool that it offers."""
        ending, tools = time.monotonic() + WAIT_MS / 1000, []
        while not tools:                        # its Worker may be online before it has said there what it offers
            assert time.monotonic() < ending, "the Worker never offered the calculation's Tools"
            time.sleep(0.05)
            offered = next(each for each in self.ask("admin")["admin"]["connections"] if each["id"] == connection)["tools"]
            tools = [each for each in offered if each["id"].startswith("rulith.verified_calculation.")]
        self.post("source-add", connectionId=connection, name="laptop", type="file", access=str(folder), tier="attested", attests=["*"])
        for tool in tools:
            self.post("tool-lock", connectionId=connection, toolId=tool["id"], digest=tool["digest"], replaces="")

    def end(self) -> None:
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


def shot(page, name: str) -> None:
    """A picture to look at, where RULITH_TEST_SHOTS names a folder."""
    if folder := os.environ.get("RULITH_TEST_SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    found = Far(tmp_path_factory.mktemp("far") / "home")
    yield found
    found.end()


def test_a_person_signs_in_works_there_and_signs_out(browser, far, tmp_path) -> None:
    agent = far.post("agent-create", name="Far Agent")["result"]["id"]
    bench = Bench(tmp_path / "home", gateway=far.url)
    try:
        with Watched(browser, bench, width=1200) as page:
            page.get_by_role("status").get_by_role("link", name="Sign in").click()
            expect(page.get_by_role("heading", name="Account")).to_be_visible()
            page.get_by_label("This computer's name there").fill("Laptop")
            page.get_by_role("button", name="Get a code").click()
            link = page.get_by_role("link", name="Open the sign-in page")
            code = re.search(r"[A-Z0-9]{4}-[A-Z0-9]{4}", page.get_by_text("The code is").inner_text())[0]
            expect(link).to_have_attribute("href", f"{far.url}/console/#access/{code}")
            assert violations(page) == []
            with page.expect_popup() as opened:
                link.click()
            console = opened.value
            console.get_by_label("Approval passphrase").fill(PASSPHRASE)
            console.keyboard.press("Enter")
            expect(console.get_by_role("textbox", name="Code")).to_have_value(code)
            console.get_by_role("button", name="Find the request").click()
            expect(console.get_by_role("heading", name="Laptop")).to_be_visible()
            expect(console.get_by_label("Agent it speaks for")).to_have_count(0)
            shot(console, "account-asked")
            console.get_by_role("button", name="Let it in").click()
            expect(page.get_by_text("not set up on this computer")).to_have_count(2)         # the page goes on by itself
            page.goto(f"{bench.origin}/#/agents/new")
            page.get_by_label("Name").fill("Mine")
            page.get_by_role("button", name="Make it").click()
            page.get_by_role("link", name="Agents of the account").click()
            page.get_by_text("Far Agent").click()
            expect(page.get_by_text("For Mine.").last).to_be_visible()
            page.goto(f"{bench.origin}/#/account")                                           # or a profile of its own
            page.get_by_label("Its present token stops working").last.check()
            assert violations(page) == []
            expect(console.get_by_role("heading", name="Computers that signed in")).to_be_visible()
            assert violations(console) == []
            shot(console, "account-computers")
            console.close()
            page.get_by_role("button", name="Set it up on this computer").last.click()
            expect(page.get_by_text("here as Far Agent")).to_be_visible()
            row = json.loads((bench.home / "workbench" / "registry.json").read_text())["instances"][1]
            assert (row["agentId"], row["origin"]) == (agent, far.url)
            page.locator(".rail").get_by_role("link", name="Far Agent").click()
            expect(page.locator(".rail").get_by_text("Worker online")).to_be_visible(timeout=WAIT_MS)
            far.furnish(row["connectionId"], f"{row['workspace']}/runtime")
            button = page.get_by_role("button", name="Run the verified calculation")
            expect(button).to_be_enabled(timeout=WAIT_MS)
            button.click()
            expect(page.get_by_role("article", name="Run of calc-001")).to_contain_text("Completed", timeout=WAIT_MS)
            page.get_by_role("link", name="This computer · signed in").click()
            page.get_by_role("button", name="Sign out and stop this computer").click()
            page.get_by_role("button", name="Sign out and stop them").click()
            expect(page.get_by_role("button", name="Get a code")).to_be_visible(timeout=WAIT_MS)
            assert bench.pids_of("worker") == [] and not (bench.home / "workbench" / "device.json").exists()
            assert [each["endedBy"] for each in far.ask("access")["devices"]] == ["itself"]
            page.set_viewport_size({"width": 390, "height": 800})                      # a phone: in again, and an owner ends it
            page.emulate_media(color_scheme="dark")
            page.get_by_role("button", name="Get a code").click()
            code = re.search(r"[A-Z0-9]{4}-[A-Z0-9]{4}", page.get_by_text("The code is").inner_text())[0]
            shot(page, "account-code")
            far.post("access-answer", id=far.ask(f"access-code?code={code}")["asked"]["id"], verdict="approve")
            expect(page.get_by_text("not set up on this computer")).to_have_count(2)
            assert violations(page) == []
            shot(page, "account-agents")
            far.post("device-end", id=next(each["id"] for each in far.ask("access")["devices"] if "endedAt" not in each))
            expect(page.get_by_text("signed out by the gateway")).to_be_visible()
            assert violations(page) == []
            shot(page, "account-ended")
            page.get_by_role("button", name="Forget this sign-in").click()
            page.get_by_role("button", name="Forget this sign-in").click()
            expect(page.get_by_role("button", name="Get a code")).to_be_visible()
    finally:
        assert bench.end() == 0
