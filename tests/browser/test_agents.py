"""Agents on the page: one made and attached by a sign-in in the Console, a model tested and shared, a program given one, one carried and removed.

Source  the workbench surface, "Attaching a profile", "Model settings", "Screens" (Agents, First use, settings)
"""

from __future__ import annotations

import json
import re
import urllib.request

import pytest

from tests.browser.axe import violations
from tests.browser.real_bench import WAIT_MS, Watched, expect
from tests.workbench.talk_model import TalkModel

pytestmark = pytest.mark.timeout(300)
PASSPHRASE = "correct horse battery"
# What the Console's page does in another tab: the first owner signs in, and every page hears of it.
SIGN_IN = """async (passphrase) => {
  const ask = async (path, body, more = {}) => (await fetch(path, body === undefined ? { headers: more } : { method: 'POST', headers: { 'content-type': 'application/json', ...more }, body: JSON.stringify(body) })).json();
  const { token } = await ask('/api/token', {});
  const { console } = await ask('/api/state', undefined, { 'x-rulith-manager': token });
  const done = await ask('/console/api/setup', { code: console.setupCode, passphrase });
  const channel = new BroadcastChannel('rulith.console');
  channel.postMessage('signed in');
  return done.ok;
}"""


@pytest.fixture(scope="module")
def model():
    with TalkModel() as made:
        yield made


def make(page, name, who="", lost=False):
    page.get_by_role("link", name="Make an Agent").click()
    page.get_by_label("Name", exact=True).fill(name)
    if who:
        page.get_by_label("Who works").select_option(label=who)
    if lost:                     # the first answer: it is made, and the page does not hear of it
        page.route("**/api/profiles/create", lambda route: (route.fetch(), route.abort()), times=1)
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_an_agent_is_made_attached_and_given_a_model(browser, bench, model):
    watched = Watched(browser, bench, quiet=False)
    with watched as page:
        expect(page.get_by_role("button", name="Run the verified calculation")).to_be_enabled(timeout=WAIT_MS)
        first = json.loads(next(bench.home.rglob("agent.secrets.json")).read_text())["RULITH_TOKEN"]
        page.get_by_role("navigation", name="Agents").get_by_role("link", name="Agents", exact=True).click()
        make(page, "Night audit", lost=True)
        page.get_by_role("navigation", name="Agents").get_by_role("link", name=re.compile("^Night audit")).click()
        page.get_by_role("link", name="Attach it").click()
        expect(page.get_by_role("link", name="Sign in in the Console")).to_be_visible()
        assert violations(page) == []
        assert page.evaluate(SIGN_IN, PASSPHRASE)
        page.get_by_role("button", name="Attach it").click()
        expect(page.get_by_role("button", name="Stop Worker")).to_be_visible()
        expect(page.get_by_label("Running").get_by_text("online")).to_be_visible()
        expect(page.get_by_label("Running")).to_contain_text("It needs a model.")
        expect(page.get_by_role("button", name="Start Agent")).to_have_attribute("aria-disabled", "true")

        page.get_by_role("link", name="Default model").first.click()
        expect(page.get_by_role("region", name="Default model")).to_be_visible()      # the form of the Agent before it has the same fields
        page.get_by_label("Endpoint").fill("http://127.0.0.1:9/v1")
        page.get_by_label("Model name").fill("scripted")
        page.get_by_role("button", name="Test it").click()
        expect(page.get_by_text("No answer")).to_be_visible()
        page.get_by_label("Endpoint").fill(model.url)
        page.get_by_role("button", name="Test it").click()
        expect(page.get_by_text(re.compile("Answered 200 in"))).to_be_visible()
        assert violations(page) == []
        page.get_by_role("textbox", name="API key").fill("sk-typed-once")
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_text("One is saved.")).to_be_visible()
        expect(page.get_by_role("textbox", name="API key")).to_have_value("")

        page.get_by_role("link", name="Night audit").last.click()
        expect(page.get_by_text(f"scripted at {model.url}")).to_be_visible()
        assert page.get_by_role("link", name="Open its conversation").get_attribute("href") == page.evaluate("location.hash").replace("agents/", "")
        page.get_by_role("button", name="Start Agent").click()
        expect(page.get_by_role("button", name="Stop Agent")).to_be_visible()
        expect(page.get_by_label("Running").get_by_text("ready")).to_be_visible(timeout=60_000)
        page.get_by_role("button", name="Stop Agent").click()
        page.get_by_label("Model", exact=True).and_(page.get_by_role("combobox")).select_option("custom")
        page.get_by_label("Endpoint").fill("https://models.example/v1")
        page.get_by_label("Model name").fill("own")
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_text("the endpoint is not on this computer")).to_be_visible()         # the default's key does not follow
        expect(page.get_by_role("textbox", name="API key")).to_be_focused()

        page.get_by_role("button", name="Replace the Connection key").click()
        page.get_by_role("button", name="Replace it").click()
        expect(page.get_by_role("button", name="Replace the Connection key")).to_be_visible()
        expect(page.get_by_label("Running").get_by_text("online")).to_be_visible(timeout=60_000)
        vault = next(path for path in bench.home.rglob("agent.secrets.json") if json.loads(path.read_text())["RULITH_TOKEN"] != first)
        before = vault.read_text()
        page.get_by_role("button", name="Replace the Agent's token").click()
        page.get_by_role("button", name="Replace it").click()
        expect(page.get_by_role("button", name="Replace the Agent's token")).to_be_visible()
        assert vault.read_text() != before
        assert violations(page) == []
    lost, refused = watched.complaints                       # the browser's own words on what was cut and what was refused
    assert "ERR_FAILED" in lost and "400" in refused


def test_a_program_that_you_have_gets_its_configuration_once(browser, bench):
    with Watched(browser, bench) as page:
        assert page.evaluate(SIGN_IN.replace("/setup', { code: console.setupCode, passphrase }", "/sign-in', { passphrase }"), PASSPHRASE)
        page.goto(f"{bench.origin}/#/agents")
        make(page, "My editor", "a program that you have (an MCP client)")
        expect(page.get_by_text("A program that connects takes the Agent over")).to_be_visible()
        page.get_by_role("button", name="Attach it").click()
        dialog = page.get_by_role("dialog", name="Give My editor to a program")
        text = dialog.locator("pre").first.text_content()
        url, token = re.search(r"(http://\S+/mcp)", text)[1], re.search(r"Bearer (rlt_agt_[\w-]+)", text)[1]
        page.keyboard.press("Escape")
        expect(dialog).to_be_visible()                       # only its button closes what is shown once
        assert violations(page) == []
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        asked = urllib.request.Request(url, json.dumps(body).encode(), {"authorization": f"Bearer {token}", "content-type": "application/json", "accept": "application/json, text/event-stream"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert answer.status == 200
        dialog.get_by_role("button", name="I have kept it: close").click()
        expect(page.get_by_text("Worker only: the program connects by itself.")).to_be_visible()
        expect(page.get_by_label("Endpoint")).to_have_count(0)
        page.get_by_role("navigation", name="Agents").get_by_role("link", name=re.compile("^My editor")).click()
        expect(page.get_by_text("A program elsewhere works as this Agent")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Start Agent|Run the verified|Send message"))).to_have_count(0)
        assert not any(token in path.read_text("utf-8", "replace") for path in bench.home.rglob("*.json"))


def test_a_profile_is_carried_renamed_and_removed_by_keyboard_on_a_phone(browser, bench):
    with Watched(browser, bench, width=360, height=740, color_scheme="dark", accept_downloads=True) as page:
        page.goto(f"{bench.origin}/#/agents")
        page.get_by_role("link", name=re.compile("^Assistant")).last.focus()
        page.keyboard.press("Enter")
        with page.expect_download() as saved:
            button = page.get_by_role("button", name="Save without secrets")
            button.focus()
            page.keyboard.press("Enter")
        document = json.loads(saved.value.path().read_text())
        assert document["format"] == "rulith-profile/1" and document["tools"]["tools"]
        page.get_by_role("link", name="Back to the list").focus()
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Make an Agent").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Take in a profile").set_input_files({"name": "p.json", "mimeType": "application/json", "buffer": json.dumps(document).encode()})
        expect(page.get_by_role("dialog", name="Taken in")).to_contain_text("locked before it is used")
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name="Assistant 2")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert violations(page) == []
        name = page.get_by_label("Name", exact=True)
        name.fill("Carried")
        name.press("Enter")
        expect(page.get_by_role("heading", name="Carried")).to_be_visible()
        page.locator("summary", has_text="Remove it from this computer").focus()
        page.keyboard.press("Enter")
        field = page.get_by_label("Type Carried to go on")
        field.evaluate("(box) => { box.value = 'Carried'; box.dispatchEvent(new Event('input')); box.form.requestSubmit() }")       # sent before a draw
        expect(page.get_by_role("link", name="Make an Agent")).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("^Carried"))).to_have_count(0)
        workbench = bench.home / "workbench"
        assert "Carried" not in (workbench / "registry.json").read_text() and len(list((workbench / "instances").iterdir())) == 4     # its folder stays


# What an owner does elsewhere: an Agent and a line for it, told once.
GIVE = """async (passphrase) => {
  const ask = async (path, body, token = '') => (await fetch(`/console/api/${path}`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-rulith-console': token }, body: JSON.stringify(body) })).json();
  const { token } = await ask('sign-in', { passphrase });
  const { result: agent } = await ask('agent-create', { name: 'By hand' }, token);
  const { result: line } = await ask('connection-create', { name: 'By hand, its line', agentId: agent.id }, token);
  await ask('sign-out', {}, token);
  return { token: agent.token, key: line.key };
}"""


def test_an_agent_is_attached_with_what_an_owner_gave_and_takes_anothers_model(browser, bench, model):
    watched = Watched(browser, bench, quiet=False)
    with watched as page:
        given = page.evaluate(GIVE, PASSPHRASE)
        page.goto(f"{bench.origin}/#/agents")
        page.get_by_role("link", name=re.compile("^Assistant")).last.click()
        page.get_by_label("Model", exact=True).and_(page.get_by_role("combobox")).select_option("custom")
        page.get_by_label("Endpoint").fill(model.url)
        page.get_by_label("Model name").fill("copied")
        page.get_by_role("textbox", name="API key").fill("sk-of-the-first")
        page.get_by_role("button", name="Save the model settings").click()
        expect(page.get_by_text("One is saved.")).to_be_visible()
        make(page, "By hand here")
        page.get_by_text("With what an owner gave you").click()
        token, key, send = page.get_by_label("Agent token"), page.get_by_label("Connection key"), page.get_by_role("button", name="Attach it with these")
        token.fill(given["key"])
        key.fill(given["token"])
        send.click()
        expect(page.get_by_role("alert")).to_contain_text("is no")
        token.fill(given["token"])
        key.fill(given["key"])
        send.click()
        expect(page.get_by_label("Running").get_by_text("online")).to_be_visible()
        assert violations(page) == []
        page.get_by_text("Copy from another Agent").click()
        page.get_by_label("Agent", exact=True).select_option("Assistant")
        page.get_by_role("button", name="Copy its model and key").click()
        expect(page.get_by_label("Model name")).to_have_value("copied")
        expect(page.get_by_text("One is saved.")).to_be_visible()
        page.get_by_role("button", name="Start Agent").click()
        expect(page.get_by_label("Running").get_by_text("ready")).to_be_visible(timeout=60_000)
        page.get_by_role("button", name="Stop Agent").click()
        expect(page.get_by_role("button", name="Start Agent")).to_be_visible()
        page.route("**/agent", lambda route: route.fulfill(status=409, json={"errorCode": "profile_busy", "happened": "It is at work."}))
        page.get_by_role("link", name="Open its conversation").click()
        page.get_by_role("button", name="Start Agent").first.click()
        expect(page.get_by_role("alert")).to_contain_text("The Agent was not started")
    assert [each for each in watched.complaints if "400" not in each and "409" not in each] == []


def test_the_list_says_in_a_word_what_each_agent_waits_for(browser, bench):
    away, left = "The folder of Away, /gone, cannot be used: No such file or directory.", {"role": "worker", "pid": 4242}
    kinds = {"New": {"attached": False, "blocked": "New is not attached."}, "Left": {"orphaned": [left], "blocked": "It still runs."}, "Away": {"blocked": away, "model": {"configured": True, "ready": True}},
             "Empty": {"model": {"ready": False}}, "Idle": {"model": {"ready": True}, "talk": {"state": "stopped"}}, "Busy": {"model": {"ready": True}, "talk": {"state": "online", "turns": 1}},
             "Stops": {"model": {"ready": True}, "talk": {"state": "failed"}}, "Program": {"mode": "existing_client", "worker": {"state": "needs_setup"}}}

    def told(route):
        state = route.fetch().json()
        one = next(row for row in state["instances"] if row["mode"] == "local_agent")
        state["instances"] = [{**one, "id": f"inst-{n:012}", "name": name, "mode": "local_agent", "attached": True, "orphaned": [], "blocked": "",
                               **{key: {**one[key], **value} if isinstance(value, dict) else value for key, value in kind.items() if key != "talk"},
                               "agent": {**one["agent"], "talk": {**one["agent"]["talk"], **kind.get("talk", {})}}} for n, (name, kind) in enumerate(kinds.items())]
        route.fulfill(json=state)
    watched = Watched(browser, bench, quiet=False)
    with watched as page:
        page.route(f"{bench.origin}/api/state", told)
        page.goto(f"{bench.origin}/#/agents")
        page.reload()
        rows = page.locator(".pane-list [data-row] > :last-child")
        expect(rows).to_have_text(["not attached", "needs attention", "needs attention", "model needed", "stopped", "answering", "keeps stopping", "needs setup"])
        page.locator(".pane-list [data-row]").filter(has_text="Away").click()
        expect(page.get_by_text(away)).to_be_visible()
        page.locator(".pane-list [data-row]").filter(has_text="Left").click()
        expect(page.get_by_text("Its worker of an earlier workbench still runs as process 4242.")).to_be_visible()
        assert violations(page) == []
        page.goto(f"{bench.origin}/#/inst-000000000002")
        expect(page.locator(".composer").get_by_text(away)).to_be_visible()
        expect(page.locator("#panel").get_by_text(away)).to_be_visible()
        expect(page.get_by_role("button", name="Start Agent")).to_be_disabled()
    assert all("404" in each for each in watched.complaints), watched.complaints      # the host knows none of them


def test_what_another_tab_saved_is_not_saved_over_unseen(browser, bench):
    def name_of(page, text):
        page.get_by_label("Model name").fill(text)
        page.get_by_label("Endpoint").fill("http://127.0.0.1:9/v1")
        return page.get_by_role("button", name="Save the model settings")
    watched = Watched(browser, bench, quiet=False)
    with watched as page:
        page.goto(f"{bench.origin}/#/agents")
        make(page, "Follower")
        page.goto(f"{bench.origin}/#/agents/default")
        late = name_of(page, "late")
        page.get_by_role("textbox", name="API key").fill("sk-typed")
        other = page.context.new_page()
        other.goto(f"{bench.origin}/#/agents/default")
        name_of(other, "first").click()
        expect(other.locator("#said")).to_have_text("Model settings saved")
        expect(page.locator(".pane-list [data-row]").filter(has_text="Follower")).to_contain_text("first")
        expect(page.get_by_label("Model name")).to_have_value("late")
        late.click()
        expect(page.get_by_role("alert")).to_contain_text("was changed since this page read it")
        expect(page.get_by_role("textbox", name="API key")).to_have_value("")            # a typed secret goes with it
        late.click()
        expect(page.locator("#said")).to_have_text("Model settings saved")
    assert all("409" in each for each in watched.complaints) and watched.complaints
