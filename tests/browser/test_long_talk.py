"""A conversation of ten thousand messages, and everything that may happen to a message: drafts, files, cuts, other tabs.

Source  the workbench surface, §17 (Conversation, Files, Drafts, Tool cards); ui, "Behaviour"; the design, §8
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal

import pytest

from rulith.base.clock import SystemClock, stamp
from rulith.disk.model_settings import write_default
from rulith.disk.profiles import DEFAULTS
from tests.browser.axe import violations
from tests.browser.real_bench import Watched, expect
from tests.workbench.long_talk import HOSTILE_WORDS, write_talk
from tests.workbench.talk_model import TalkModel

pytestmark = pytest.mark.timeout(240)
MANY = 10_000
NODES_MAX = 60
SEEN = """() => { const box = document.querySelector('.talk-scroll'), top = box.getBoundingClientRect().top;
    const row = [...document.querySelectorAll('.turn')].find((each) => each.getBoundingClientRect().bottom > top);
    return {label: row.ariaLabel, at: row.getBoundingClientRect().top - top, rows: document.querySelectorAll('.turn').length,
            atEnd: box.scrollHeight - box.scrollTop - box.clientHeight < 2, focus: document.activeElement.id} }"""
FILLED = """() => { const box = document.querySelector('.talk-scroll').getBoundingClientRect();
    const seen = [...document.querySelectorAll('.turn')].filter((each) => each.getBoundingClientRect().bottom > box.top && each.getBoundingClientRect().top < box.bottom);
    return seen.length > 0 && seen.every((each) => !('blank' in each.dataset)) }"""
STEP = """async (px) => { const box = document.querySelector('.talk-scroll'), top = box.getBoundingClientRect().top;
    const row = [...document.querySelectorAll('.turn')].find((each) => each.getBoundingClientRect().bottom > top && !('blank' in each.dataset));
    const was = row.getBoundingClientRect().top;
    box.scrollTop += px;
    for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
    return row.getBoundingClientRect().top - was }"""
GIVE = """([kind, name, text]) => { const data = new DataTransfer(); data.items.add(new File([text], name, {type: 'text/plain'}));
    const event = kind === 'drop' ? new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})
                                  : new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
    document.getElementById('message').dispatchEvent(event); return event.defaultPrevented }"""
STATES = [("running", {}, "Waiting for result"), ("running", {"stage": "at_worker"}, "Still running · at the Worker"), ("done", {}, "Accepted"), ("refused", {}, "Rejected"),
          ("not_sent", {}, "Not sent"), ("not_executed", {}, "Not executed"), ("waiting_for_decision", {}, "Waiting for a decision"), ("needs_person", {}, "Needs a person"),
          ("unknown", {"output": '{"errorCode": "connection_lost"}'}, "No answer (connection failed)"), ("unobserved", {}, "Observation unavailable"),
          ("refused", {"withheld": True}, "Rejected · content withheld"), ("unknown", {}, "Outcome unknown"), ("shown_earlier", {}, "Shown an earlier outcome first")]


@pytest.fixture(scope="module")
def model():
    with TalkModel() as made:
        yield made


@pytest.fixture(scope="module")
def instance(browser, bench):
    with Watched(browser, bench) as page:
        expect(page.locator("[data-agent]").first).to_be_visible(timeout=60_000)
    return json.loads((bench.home / "workbench" / "registry.json").read_text())["instances"][0]


def at(page, bench, fragment):
    page.goto(f"{bench.origin}/#/{fragment}")


def send(page, text):
    field = page.get_by_label("Message to the Agent")
    field.fill(text)
    expect(page.get_by_text("Enter sends")).to_be_visible(timeout=60_000)
    field.press("Enter")
    expect(field).to_have_value("")
    return page.get_by_role("article", name=f"Message: {text}").last


def test_a_message_is_kept_given_files_cut_short_and_seen_in_two_tabs(browser, bench, model, instance):
    watched = Watched(browser, bench, quiet=False, height=520, permissions=["clipboard-read", "clipboard-write"])
    with watched as page:
        page.get_by_role("button", name="Configure a model").first.click()
        page.get_by_label("Endpoint").fill(model.url)
        page.get_by_label("Model name").fill("scripted")
        page.get_by_role("button", name="Save the model settings").click()
        page.get_by_role("button", name="Start Agent").first.click()
        first = send(page, "hello one")
        expect(first).to_contain_text("ends it.", timeout=60_000)
        assert first.locator("img, script, a[href^=javascript]").count() == 0
        first.get_by_role("button", name="Copy the answer").click()
        expect(page.locator("#said")).to_have_text("Answer copied")
        assert "**bold**" in page.evaluate("navigator.clipboard.readText()")
        first.get_by_role("button", name="Copy this code").click()
        page.wait_for_function("navigator.clipboard.readText().then((text) => text === 'x < y')")

        other = page.context.new_page()                          # the same conversation, in another tab
        other.goto(page.url)
        field, there = page.get_by_label("Message to the Agent"), other.get_by_label("Message to the Agent")
        expect(other.get_by_role("article", name="Message: hello one")).to_contain_text("ends it.")
        there.fill("half a thought")
        expect(field).to_have_value("half a thought")
        there.press("End")
        there.press_sequentially(" more")
        other.reload()                                           # at once: leaving the page gives the draft away
        expect(there).to_have_value("half a thought more")
        expect(field).to_have_value("half a thought more")

        held = []                                                # written before the page knows what was here: nothing is lost, and nothing stands in its place
        third = page.context.new_page()
        for late in ("conversations", "drafts"):
            third.route(re.compile(rf"/{late}$"), lambda route: held.append(route))
        third.goto(bench.origin + "/")
        early = third.get_by_label("Message to the Agent")
        early.fill("first words")
        early.press("Enter")
        expect(third.get_by_text("Still reading what was here")).to_be_visible()
        expect(early).to_have_value("first words")
        for route in held:
            route.continue_()
        expect(early).to_have_value("half a thought more\nfirst words")
        expect(field).to_have_value("half a thought more\nfirst words")
        third.close()

        expect(send(other, "hello two")).to_contain_text("ends it.", timeout=60_000)
        expect(field).to_have_value("")
        page.locator(".talk-scroll").evaluate("(box) => { box.scrollTop = 0 }")
        field.focus()
        expect(page.get_by_role("article", name="Message: hello two")).to_contain_text("ends it.")
        before = page.evaluate(SEEN)
        expect(send(other, "hello three")).to_contain_text("ends it.", timeout=60_000)
        below = page.get_by_role("button", name=re.compile("^[1-9] new below$"))
        expect(below).to_be_visible()
        assert page.evaluate(SEEN) == {**before, "rows": page.evaluate(SEEN)["rows"]} and before["focus"] == "message"
        below.press("Enter")
        expect(below).to_have_count(0)
        assert page.evaluate(SEEN)["atEnd"]
        other.close()

        assert page.evaluate(GIVE, ["drop", "con.txt", "x"]) and page.evaluate(GIVE, ["paste", "note.txt", "one"])
        expect(page.get_by_text("note.txt: Ready")).to_be_visible()
        expect(page.get_by_role("button", name="Add again")).to_be_visible()         # a device's name is no file's
        page.get_by_role("button", name="Add again").click()
        expect(page.get_by_text("Add the file again or leave it out")).to_be_visible()
        expect(page.get_by_role("button", name="Send message")).to_be_disabled()
        page.get_by_role("button", name="Leave out con.txt").click()
        page.reload()
        expect(page.get_by_text("note.txt: Ready")).to_be_visible()                  # a file that was added stays with its draft
        expect(page.get_by_role("button", name="Send message")).to_be_enabled(timeout=60_000)
        page.get_by_role("button", name="Send message").click()                      # without a word
        asked = page.get_by_role("article", name="Message: I added a file and wrote nothing")
        expect(asked.get_by_role("list", name="Files")).to_have_text("note.txt · 3 bytes")
        expect(asked).to_contain_text("ends it.", timeout=60_000)

        slow = send(page, "slow cut")
        expect(slow).to_contain_text("And still.")
        os.kill(bench.pid_of("agent"), signal.SIGKILL)
        expect(slow).to_contain_text("interrupted")
        field.fill("kept meanwhile")
        model.go.set()
        slow.get_by_role("button", name="Send as a new message").click(timeout=60_000)
        expect(page.get_by_role("article", name="Message: slow cut")).to_have_count(2)
        expect(page.get_by_role("article", name="Message: slow cut").last).to_contain_text("ends it.", timeout=60_000)
        expect(field).to_have_value("kept meanwhile")

        page.get_by_text("Advanced · Case").click()
        page.get_by_label("Case of this message").select_option("A new Case")
        page.get_by_label("Case type").fill("verified_calculation")
        page.get_by_label("Business key").fill("job_id=calc-aim\nround=2")
        with page.expect_request("**/task") as asked_for:
            page.get_by_role("button", name="Send message").click()
        body = json.loads(asked_for.value.post_data)
        assert (body["caseType"], body["businessKey"], "caseId" in body) == ("verified_calculation", {"job_id": "calc-aim", "round": 2}, False)
        expect(page.get_by_label("Business key")).to_have_count(0)

        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as file").click()
        view = json.loads(saved.value.path().read_text())
        assert view["partial"] is True and view["loaded"] == len(view["turns"]) and view["turns"][0]["text"] == "hello one"
        page.get_by_role("button", name="Archive").click()
        expect(page.get_by_text("What you write below begins a conversation")).to_be_visible()
        expect(page.get_by_text("kept meanwhile")).to_have_count(0)
        page.get_by_role("button", name="Stop Agent").click()
        expect(page.get_by_role("button", name="Start Agent").first).to_be_enabled()
    assert all("400" in each for each in watched.complaints), watched.complaints      # the browser's own line on a refused file


def test_every_word_of_a_call_has_its_card_and_a_closed_case_its_line(browser, bench, instance):
    now = stamp(SystemClock().wall_s())
    write_default(bench.home / "workbench" / DEFAULTS, {"url": "http://127.0.0.1:9/v1", "name": "nobody"})        # so that there is a composer
    parts = [{"n": n, "kind": "step", "step": n, "label": "ApplyAction pay" if n == 7 else "QueryBoard", "state": state, "startedAt": now, "endedAt": None,
              "input": "{}", "output": "", **more} for n, (state, more, _) in enumerate(STATES, 1)]
    turn = {"id": "t", "sessionKey": "cards", "text": "all of them", "at": "2026-10-03T08:00:00.000Z", "state": "running", "startedAt": now, "endedAt": None,
            "outcome": "", "problem": "", "caseId": "case_1", "parts": parts, "closedCases": [{"caseId": "case_1", "disposition": "completed"}, {"caseId": "case_2", "disposition": "withdrawn"}]}
    with Watched(browser, bench) as page:
        page.route("**/conversation?session=cards*", lambda route: route.fulfill(json={"ok": True, "turns": [turn], "first": 0, "total": 1, "archived": False, "sequence": 0}))
        page.clock.install()
        at(page, bench, f"{instance['id']}/now?talk=cards")
        shown = page.get_by_role("article", name="Message: all of them")
        expect(shown.locator(".step .mark")).to_have_text([words for _, _, words in STATES])
        clock = shown.locator(".step .took").nth(6)
        was = clock.text_content()
        page.clock.fast_forward(70_000)
        expect(clock).not_to_have_text(was)                                          # a held call's clock goes on
        expect(shown.locator(".closed li .mark")).to_have_text(["closed · completed", "closed · withdrawn"])
        page.get_by_label("Add files").set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"one"})
        about = page.get_by_label("Case of this message")                            # its Case is no live one: files say which they are for
        expect(about).to_have_attribute("aria-invalid", "true")
        expect(about.locator("option")).to_have_text(["Choose a Case", "A new Case"])
        about.select_option("A new Case")
        expect(about).to_have_attribute("aria-invalid", "false")
        page.get_by_role("button", name="Leave out note.txt").click()
        shown.get_by_role("button", name="Decide").click()
        expect(page.get_by_role("link", name="Now", exact=False).first).to_have_attribute("aria-current", "page")
        assert violations(page) == []


ROW = """async (row) => { const { listeners } = await import('/ui/sync.js'); listeners.turn({ session: 'raced', id: 't', ...row }) }"""


def test_what_a_feed_tells_while_a_conversation_is_read_is_not_lost(browser, bench, instance):
    """Once a read that began earlier had swept away what came before it and was told while it was under way."""
    call = {"n": 1, "kind": "step", "step": 1, "label": "QueryBoard", "startedAt": "2026-10-03T08:00:00.000Z", "endedAt": None, "input": "{}", "output": ""}
    turn = {"id": "t", "sessionKey": "raced", "text": "how far", "at": "2026-10-03T08:00:00.000Z", "state": "running", "startedAt": "2026-10-03T08:00:00.000Z", "endedAt": None,
            "outcome": "", "problem": "", "caseId": "", "parts": []}
    asked, first = [], 10**6               # sequences beyond those of this run
    with Watched(browser, bench) as page:
        page.route("**/conversation?session=raced*", lambda route: asked.append(route))

        def answer(sequence, **changes):
            asked.pop(0).fulfill(json={"ok": True, "turns": [{**turn, **changes}], "first": 0, "total": 1, "archived": False, "sequence": first + sequence})

        def told(sequence, **row):
            page.evaluate(ROW, {"instanceId": instance["id"], "sequence": first + sequence, **row})

        with page.expect_request("**/conversation?session=raced*"):
            at(page, bench, f"{instance['id']}/now?talk=raced")
        told(2, part={**call, "state": "running"})
        told(3, part={**call, "state": "done", "output": "it is so"})
        answer(1)
        shown = page.get_by_role("article", name="Message: how far")
        expect(shown).to_be_visible()
        told(4, words="It ends.", n=2, **{"from": 0})
        while asked:                       # what was read anew was true before the last words
            answer(3, parts=[{**call, "state": "done", "output": "it is so"}])
        expect(shown).to_contain_text("It ends.")
        expect(shown.locator(".step .mark")).to_have_text("Accepted")


def test_ten_thousand_messages_scroll_are_found_and_cost_few_elements(browser, bench, instance):
    place = write_talk(bench.home / "workbench" / "instances" / instance["id"] / "conversations", {"origin": "home", "accountId": "", "agentId": instance["agentId"]}, MANY,
                       say=lambda n: f"Answer {n}: {HOSTILE_WORDS}" if n == 4_000 else f"Answer {n}: " + "some words. " * (n % 40))
    (place / (hashlib.sha256(b"long").hexdigest() + ".session.json")).write_text(json.dumps({"sessionKey": "long", "archived": True}))
    with Watched(browser, bench) as page:
        at(page, bench, f"{instance['id']}/now?talk=long")
        expect(page.get_by_role("article", name=f"Message: Question {MANY - 1}")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("takes no message")).to_be_visible()
        assert page.evaluate(SEEN)["atEnd"]
        for _ in range(14):                                      # through rows whose height nobody knew: what is read moves as far as it was scrolled
            assert abs(page.evaluate(STEP, -500) - 500) <= 1
            page.wait_for_function(FILLED)
            assert page.evaluate(SEEN)["rows"] <= NODES_MAX
        kept = page.evaluate(SEEN)
        assert int(kept["label"].split()[-1]) < MANY - 40 and page.evaluate(STEP, 0) == 0 and page.evaluate(SEEN) == kept
        for part in (0.5, 0, 0.97):
            page.locator(".talk-scroll").evaluate("(box, part) => { box.scrollTop = box.scrollHeight * part }", part)
            page.wait_for_function(FILLED)
            assert page.evaluate(SEEN)["rows"] <= NODES_MAX
        page.locator(".talk-scroll").evaluate("(box) => { box.scrollTop = 0 }")
        expect(page.get_by_role("article", name="Message: Question 0", exact=True)).to_be_visible()

        page.get_by_role("link", name=re.compile("^All conversations")).press("Enter")
        page.get_by_role("link", name="Archived").press("Enter")
        expect(page.get_by_role("link", name="Question 0")).to_be_visible()
        words = page.get_by_label("Words in any conversation")
        words.fill("alert(1)")
        words.press("Enter")
        hit = page.get_by_role("link", name=re.compile("message 4,001"))
        expect(hit.locator("mark")).to_have_text("alert(1)")
        expect(hit).to_contain_text("<script>alert(1)</script>")
        assert violations(page) == []
        hit.press("Enter")
        found = page.get_by_role("article", name="Message: Question 4000")
        expect(found).to_be_visible()
        expect(found).to_have_attribute("aria-current", "true")
        expect(found).to_contain_text(HOSTILE_WORDS)
        assert found.locator("script, img, a").count() == 0 and violations(page) == []
        page.reload()                                            # the address names the message
        expect(found).to_be_visible()
        page.get_by_role("button", name="Restore").press("Enter")
        expect(page.get_by_role("button", name="Archive")).to_be_visible()
        page.get_by_role("button", name="Archive").press("Enter")
        page.set_viewport_size({"width": 360, "height": 740})
        at(page, bench, f"talks/{instance['id']}?away=1")
        expect(page.get_by_role("link", name="Question 0")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.keyboard.press("Escape")
        expect(page).to_have_url(re.compile(rf"#/{instance['id']}/now"))
