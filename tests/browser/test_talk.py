"""A person talks to a model on the page: settings, Start Agent, a streamed answer, a call, a stop, a reload.

Source  the page's rules (ui, "Behaviour"); the workbench surface, "Conversation"
"""

from __future__ import annotations

import hashlib
import re

import pytest

from tests.browser.real_bench import WAIT_MS, Watched, expect
from tests.workbench.talk_model import HOSTILE, TalkModel

pytestmark = pytest.mark.timeout(240)
PASSPHRASE = "correct horse battery"
# What an owner does in the Console's own page: the lock of the reader is taken away.
UNLOCK = """async (passphrase) => {
  const ask = async (path, body, more = {}) => (await fetch(path, body === undefined ? { headers: more } : { method: 'POST', headers: { 'content-type': 'application/json', ...more }, body: JSON.stringify(body) })).json();
  const { token } = await ask('/api/token', {});
  const { console } = await ask('/api/state', undefined, { 'x-rulith-manager': token });
  const owner = { 'x-rulith-console': (await ask('/console/api/setup', { code: console.setupCode, passphrase })).token };
  const [{ id, tools }] = (await ask('/console/api/admin', undefined, owner)).admin.connections;
  const { digest } = tools.find((tool) => tool.id === 'rulith.materials.read@1');
  return (await ask('/console/api/tool-unlock', { connectionId: id, toolId: 'rulith.materials.read@1', digest }, owner)).ok;
}"""


@pytest.fixture(scope="module")
def model():
    with TalkModel() as made:
        yield made


def write(page, text):
    field = page.get_by_label("Message to the Agent")
    field.fill(text)
    expect(page.get_by_text("Enter sends")).to_be_visible(timeout=60_000)
    field.press("Enter")
    expect(field).to_have_value("")
    return page.get_by_role("article", name=f"Message: {text}").last


def add(page, name, data):
    page.get_by_label("Add files").set_input_files({"name": name, "mimeType": "text/plain" if name.endswith(".txt") else "application/octet-stream", "buffer": data})
    expect(page.get_by_text(f"{name}: Ready")).to_be_visible()


def test_from_the_model_settings_to_an_answer_a_call_a_stop_and_a_reload(browser, bench, model):
    with Watched(browser, bench) as page:
        page.get_by_role("button", name="Configure a model").first.click()
        page.get_by_label("Endpoint").fill(model.url)
        page.get_by_label("Model name").fill("scripted")
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_text("The Agent is stopped.")).to_be_visible(timeout=WAIT_MS)
        page.get_by_role("button", name="Start Agent").first.click()
        opened = write(page, "job calc-talk")
        expect(opened).to_contain_text("The Case is open.", timeout=WAIT_MS)
        opened.locator(".step summary").click()
        expect(opened.locator(".step")).to_contain_text("calc-talk")                 # what was sent
        expect(opened.locator(".step")).to_contain_text("caseId")                    # what was answered
        expect(page.get_by_role("button", name="Run the verified calculation")).to_be_hidden()

        answered = write(page, "hello")
        expect(answered).to_contain_text("ends it.", timeout=WAIT_MS)
        expect(answered).to_contain_text(HOSTILE)
        expect(answered.locator("strong")).to_have_text("bold")
        assert answered.locator("img, a[href^=javascript]").count() == 0

        slow = write(page, "slow question")
        expect(slow).to_contain_text("And still.", timeout=WAIT_MS)                  # while the service is still at it
        expect(slow).to_contain_text("answering")
        page.get_by_role("button", name="Stop this turn").click()
        expect(slow).to_contain_text("stopped by you", timeout=WAIT_MS)

        refused = write(page, "refuse this")
        expect(refused).to_contain_text("this key opens nothing", timeout=WAIT_MS)
        page.get_by_label("Message to the Agent").fill("a draft")
        page.reload()
        expect(page.get_by_role("article", name="Message: hello")).to_contain_text(HOSTILE, timeout=WAIT_MS)
        expect(page.get_by_role("article", name="Message: job calc-talk").locator(".step")).to_have_count(1)
        expect(page.get_by_label("Message to the Agent")).to_have_value("a draft")

        step = page.get_by_label("First steps").get_by_role("listitem").filter(has_text="Give it a file")
        expect(step).to_contain_text("to do")
        add(page, "order.txt", b"one")
        expect(page.get_by_label("Message", exact=True)).to_contain_text(f"What the model asks to read goes to {model.url}")
        read = write(page, "read what it says")
        expect(read).to_contain_text("It says: one (3 bytes)", timeout=60_000)
        assert any("order.txt (text/plain, 3 bytes" in str(each["content"]) for each in model.requests[-1]["messages"])
        read.locator(".step summary").nth(1).click()
        expect(read.locator(".step").nth(1)).to_contain_text(f"sha256:{hashlib.sha256(b'one').hexdigest()}")
        expect(page.get_by_role("button", name="Leave out order.txt")).to_have_count(0)
        expect(step).to_contain_text("done")

        read.get_by_role("link", name="Open the Case").click()
        expect(page.locator(".timeline")).to_contain_text(f"with text/plain of 3 bytes, sha256:{hashlib.sha256(b'one').hexdigest()}")
        page.get_by_role("navigation", name="Side panel").get_by_role("link", name="Cases").click()
        expect(page.locator(".case-row").first).not_to_contain_text("no key")
        expect(page.locator(".case-row").first.locator(".case-key")).to_have_text(re.compile("xploration"))

        page.get_by_role("button", name="New conversation").click()
        page.get_by_role("link", name="Worker", exact=True).click()
        page.get_by_role("button", name="Stop the Worker").click()
        add(page, "more.txt", "zwölf".encode())
        add(page, "scan.bin", bytes(range(256)) * 32_768)                             # the largest there may be, and no text
        page.get_by_label("Add files").set_input_files({"name": "huge.bin", "mimeType": "application/octet-stream", "buffer": bytes(8_388_609)})
        expect(page.get_by_text("huge.bin: it is over 8 MiB")).to_be_visible()
        expect(page.get_by_text("Add the file again or leave it out; the message waits.")).to_be_visible()
        page.get_by_role("button", name="Leave out huge.bin").click()
        composer = page.get_by_label("Message", exact=True)
        expect(composer).to_contain_text("The Worker is stopped. A file is read when it runs.")
        both = write(page, "read both")
        expect(both).to_contain_text("The Worker is stopped. The call waits for it.")
        both.get_by_role("button", name="Start the Worker").click()
        expect(both).to_contain_text("It says: zwölf (6 bytes) and AAECAwQFBgcICQ", timeout=60_000)
        expect(both).to_contain_text("(8388608 bytes)")

        assert page.evaluate(UNLOCK, PASSPHRASE)
        add(page, "late.txt", b"late")
        expect(composer).to_contain_text("cannot read them now. The Tool rulith.materials.read@1 is not locked. An owner sees to it in the Console")
        expect(composer.get_by_role("link", name="Open the Tools in the Console")).to_have_attribute("href", "/console/#tools")
        expect(write(page, "read it all the same")).to_contain_text("Nothing here reads a file", timeout=60_000)

        page.get_by_role("button", name="New conversation").click()
        expect(page.get_by_role("article", name="Message: hello")).to_have_count(0)
        expect(write(page, "hello again")).to_contain_text("ends it.", timeout=WAIT_MS)
        page.get_by_role("combobox", name="Conversation").select_option("job calc-talk")
        expect(page.get_by_role("article", name="Message: slow question")).to_contain_text("stopped by you", timeout=WAIT_MS)
        page.get_by_role("button", name="Stop Agent").click()
        expect(page.get_by_role("button", name="Start Agent").first).to_be_enabled(timeout=WAIT_MS)


def test_a_conversation_fits_a_phone(browser, bench, model):
    with Watched(browser, bench, width=360, height=740, has_touch=True) as page:
        expect(page.get_by_role("article", name="Message: hello again")).to_contain_text("ends it.", timeout=WAIT_MS)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_tools_go_as_text_to_a_service_that_takes_none(browser, bench, model):
    with Watched(browser, bench) as page:
        def settings():
            page.get_by_role("button", name="Model settings").click()
            return page.get_by_label("Tools as text")

        assert model.requests[-1]["tools"] and "ApplyAction" not in model.requests[-1]["messages"][0]["content"]
        expect(settings()).not_to_be_checked()
        page.get_by_label("Tools as text").check()
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Start Agent").first.click()
        expect(write(page, "hello in words")).to_contain_text("ends it.", timeout=WAIT_MS)
        asked = model.requests[-1]
        assert "tools" not in asked and "ApplyAction" in asked["messages"][0]["content"] and "hello in words" in asked["messages"][-1]["content"]
        page.get_by_role("button", name="Stop Agent").click()
        expect(page.get_by_role("button", name="Start Agent").first).to_be_enabled(timeout=WAIT_MS)
        page.reload()
        expect(settings()).to_be_checked()
        page.get_by_label("Tools as text").uncheck()
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(settings()).not_to_be_checked()
        page.get_by_role("button", name="Leave without saving").click()
