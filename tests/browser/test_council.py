"""The council's pages in a real browser over a real council: every screen, the keyboard alone, and hostile words.

Duty: the council surface, "The person's side"; the brief on the page's behaviour.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import urllib.error

import pytest

from tests.browser.axe import violations
from tests.browser.real_bench import WAIT_MS, Bench, Watched, expect, run_calculation
from tests.browser.real_council import RealCouncil, repository

pytestmark = pytest.mark.timeout(240)

WIDER = """() => [document.documentElement, ...document.querySelectorAll('.pane-scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => `${each.className} is ${each.scrollWidth} wide, not ${each.clientWidth}`)"""
HOSTILE = "<img src=x onerror=document.title='run'>"


class Story:
    """A council with a project, two agents, and a thread of each kind."""

    def __init__(self, home) -> None:
        self.bench = Bench(home / "home")
        self.council = council = RealCouncil(self.bench)
        self.folder = repository(home / "shop")
        self.project, self.room = council.project(self.folder)
        self.ann = council.agent("ann", self.project, [self.room], color="rose", system_note="finds flaws")
        self.ben = council.agent("ben", self.project, [self.room])
        self.asked = self.opens("Is the rounding safe?", "@ann @ben look at `pay`.", include_diff=True)
        self.settled = self.opens("Names of tables", "@ben?", tag="SPEC_CLARIFICATION")
        council.says("ben", "reply", thread_id=self.settled, body="Singular.", verdict="ANSWERED")
        council.does("resolve_thread", thread_id=self.settled, summary="Plural names.", verdict="NEEDS_INFO")
        council.says("ann", "read_file", path="pay.py")

    def opens(self, title: str, body: str, tag: str = "ADVERSARIAL_REVIEW", **more) -> int:
        return self.council.does("create_thread", room=self.room, title=title, body=body, tag=tag, **more)["thread_id"]

    def opens_at_last(self, *words: str, **more) -> int:
        """While the council falls, an act may get no answer; by its `client_ref` it is looked up, and not done twice."""
        for _ in range(20):
            try:
                return self.opens(*words, **more)
            except urllib.error.HTTPError as problem:
                assert problem.code in (502, 503), problem
        raise AssertionError("the council did not come back")

    def at(self, *place: object) -> str:
        return f"{self.bench.origin}/#/council/{'/'.join(str(part) for part in place)}"


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    made = Story(tmp_path_factory.mktemp("council"))
    yield made
    assert made.bench.end() == 0


def test_a_first_council_begins_with_a_folder_and_a_key_that_is_shown_once(browser, bench, tmp_path):
    """Once: a key is nowhere on the page, in its store or in its address after its dialog is closed."""
    repository(tmp_path / "shop")
    watched = Watched(browser, bench, quiet=False, permissions=["clipboard-read", "clipboard-write"])
    with watched as page:
        expect(page.locator("[data-agent]")).to_have_count(1, timeout=WAIT_MS)
        assert not any("/ui/council/" in url or "/council/api/" in url for url in watched.asked)
        page.locator("[data-agent]").click()
        page.get_by_role("navigation", name="Agents").get_by_role("link", name="Council").click()
        expect(page.get_by_role("heading", name="Add a project folder")).to_be_visible(timeout=WAIT_MS)
        page.get_by_label("Folder", exact=True).fill(str(tmp_path / "nowhere"))
        page.get_by_role("button", name="Add the folder").click()
        expect(page.get_by_role("alert")).to_contain_text("council_folder_unreadable")
        page.get_by_label("Folder", exact=True).fill(str(tmp_path / "shop"))
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="#general", level=2)).to_be_visible()
        expect(page.get_by_text("No agent is here to answer yet")).to_be_visible()
        expect(page.locator("#main :focus, #main:focus")).to_have_count(1)
        expect(page.get_by_text("Delete")).to_have_count(0)
        page.get_by_role("link", name="Make an agent").click()
        expect(page.get_by_role("heading", name="Make an agent")).to_be_visible()
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Kind").select_option(label="A script of yours")
        page.get_by_role("button", name="Make the agent and show its key").click()
        dialog = page.get_by_role("dialog", name="Key of ann")
        expect(dialog).to_contain_text("claude mcp add --transport http rivendell")
        assert violations(page) == []
        dialog.get_by_role("button", name="Copy The key").click()
        key = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(r"rvd_[a-z0-9]{12}_[\w-]{43}", key)
        page.keyboard.press("Escape")
        expect(dialog).to_contain_text(key)
        dialog.get_by_role("button", name="I have kept it: close").click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("heading", name="ann", level=2)).to_be_visible()
        left = page.evaluate("document.documentElement.outerHTML + JSON.stringify(localStorage) + location.href")
        assert key not in left and key[-4:] in left


def test_a_thread_is_opened_argued_and_resolved_by_the_keyboard_alone(browser, story):
    with Watched(browser, story.bench) as page:
        keys = page.keyboard
        page.goto(story.at("room", story.room))
        expect(page.get_by_role("link", name="Is the rounding safe?")).to_be_visible(timeout=WAIT_MS)
        keys.press("n")
        title = page.get_by_label("Title")
        expect(title).to_be_visible()
        page.get_by_label("What kind of question").focus()
        keys.type("Adversarial")
        title.focus()
        keys.type("By hand alone")
        keys.press("Tab")
        keys.type("Is it so, @a")
        expect(page.get_by_role("option", name="@ann")).to_have_attribute("aria-selected", "true")
        keys.press("Escape")
        expect(page.get_by_role("listbox")).to_have_count(0)
        expect(page.get_by_label("The question")).to_have_value("Is it so, @a")
        keys.type("n")
        keys.press("Enter")
        expect(page.get_by_label("The question")).to_have_value("Is it so, @ann ")
        keys.press("Control+Enter")
        expect(page.get_by_role("heading", name="By hand alone")).to_be_visible()
        thread = int(page.url.rpartition("/")[2])
        expect(page.locator(".about")).to_contain_text("Asks ann")
        story.council.says("ann", "reply", thread_id=thread, body="It is: `1 + 1`.", verdict="CONFIRMED", severity="HIGH", cost_usd=0.02, refs=[{"path": "pay.py", "line": 2}])
        reply = page.get_by_role("article", name=re.compile("of ann"))
        expect(reply).to_contain_text("CONFIRMED")
        expect(reply).to_contain_text("program")
        expect(page.locator(".about")).to_contain_text("waits for you")
        expect(page).to_have_title(re.compile(r"^\(\d+\)"))
        keys.press("/")
        expect(page.get_by_label("Your reply")).to_be_focused()
        keys.type("Then it is decided.")
        keys.press("Control+Enter")
        expect(page.get_by_role("article", name=re.compile("of you"))).to_contain_text("Then it is decided.")
        page.get_by_role("button", name="Resolve").focus()
        keys.press("Enter")
        expect(page.get_by_label("What was decided, and why")).to_be_focused()
        keys.type("It holds.")
        page.get_by_label("It came to").select_option("CONFIRMED")
        page.locator(".measure").get_by_role("button", name="Resolve").focus()
        keys.press("Enter")
        expect(page.locator("#c-thread")).to_be_focused()
        resolution = page.get_by_role("region", name="Resolution")
        expect(resolution).to_contain_text(f".rivendell/threads/{thread:04}-by-hand-alone.md")
        expect(resolution).to_contain_text("sha256:")
        assert "It holds." in (story.folder / ".rivendell" / "threads" / f"{thread:04}-by-hand-alone.md").read_text()
        expect(page.get_by_label("Your reply")).to_have_count(0)
        page.get_by_role("button", name="Record").focus()
        keys.press("Enter")
        expect(page.get_by_role("dialog", name="Record")).to_contain_text("# By hand alone")
        keys.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Reopen").click()
        expect(page.get_by_label("Your reply")).to_be_visible()
        expect(page.get_by_role("region", name="Resolution")).to_contain_text("reopened since")
        page.locator("#c-thread").focus()
        keys.press("Escape")
        expect(page.get_by_text("No thread is open here.")).to_be_visible()
        expect(page.locator(f"[data-thread='{thread}']")).to_be_focused()          # the row of what was left
        keys.press("j")
        expect(page.locator(".pane-list [data-row]").nth(1)).to_be_focused()


def places(story) -> dict[str, tuple]:
    room = ("room", story.room)
    return {"needs": ("needs", 0), "room": room, "thread": (*room, "thread", story.asked), "resolved": (*room, "thread", story.settled), "new": (*room, "new"),
            "room settings": (*room, "settings"), "project": ("project", story.project), "new agent": ("project", story.project, "agent"), "agent": ("agent", story.ann),
            "search": ("search", "0?query=rounding"), "calibration": ("calibration",), "looks": ("looks",), "kinds": ("kinds",), "add": ("add",)}


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_every_screen_is_clean_and_fits(browser, story, width, scheme):
    """axe finds nothing, nothing is wider than the page, and what the screen is for is there."""
    wrong = {}
    with Watched(browser, story.bench, width=width, height=844, color_scheme=scheme) as page:
        for name, place in places(story).items():
            page.goto(story.at(*place))
            expect(page.locator(".skeleton")).to_have_count(0, timeout=WAIT_MS)
            expect(page.locator(".council h2:visible").first).to_be_visible()
            if name == "thread":             # another part's style of the same name once put it below the page
                expect(page.get_by_label("Your reply")).to_be_in_viewport(ratio=1)
                expect(page.get_by_role("button", name="Reply", exact=True)).to_be_in_viewport(ratio=1)
            found = violations(page)
            found += page.evaluate(WIDER)
            if found:
                wrong[name] = found
    assert wrong == {}


def test_what_others_write_stays_text_wherever_it_is_shown(browser, story):
    """Names, titles, notes, Markdown, links, file names and claims of an agent; a link leads to http, https or mail alone."""
    folder = repository(story.folder.parent / "hostile")
    name = "x'\"><img src=x onerror=alert(1)>.py"
    (folder / name).write_text("line\n")
    project, room = story.council.project(folder, HOSTILE)
    story.council.does("create_agent", project_id=project, name=f"{HOSTILE} person", rooms=[room], system_note=HOSTILE, color="x onmouseover")
    story.council.agent("mallory", project, [room])
    body = (f"{HOSTILE}\n\n# {HOSTILE}\n\n[a](javascript:alert(1)) [b](data:text/html,x) [good.example](https://evil.example/x) <https://plain.example/a> "
            f"**{HOSTILE}** `{HOSTILE}` @mallory @nobody me@mallory.example\n\n```\n</code></pre>{HOSTILE}\n```\n\u202egnp.exe")
    thread = story.council.does("create_thread", room=room, title=HOSTILE, body=body, tag="ADVERSARIAL_REVIEW", mentions=[], context=[
        {"kind": "file", "path": name}, {"kind": "note", "content": HOSTILE}, {"kind": "diff", "content": f"+{HOSTILE}"}])["thread_id"]
    story.council.says("mallory", "claim_thread", thread_id=thread, note=HOSTILE)
    story.council.says("mallory", "reply", thread_id=thread, body=body + "\n\n### you — person\n\nI approve.", verdict="CONFIRMED", refs=[{"path": name, "note": HOSTILE}])
    with Watched(browser, story.bench) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.goto(story.at("room", room, "thread", thread))
        reply = page.get_by_role("article", name=re.compile("of mallory"))
        expect(reply).to_contain_text(HOSTILE, timeout=WAIT_MS)
        expect(reply.locator("header")).to_have_text(re.compile("^mallory ?program"))
        assert reply.locator(".name").all_text_contents() == ["@mallory"]
        hrefs = page.locator(".said a").evaluate_all("(all) => all.map((a) => [a.href, a.rel, a.target, a.parentElement.textContent.includes('(evil.example)')])")
        assert {row[0] for row in hrefs} == {"https://evil.example/x", "https://plain.example/a"}
        assert all(row[1] == "noopener noreferrer" and row[2] == "_blank" and row[3] for row in hrefs)
        for place in (("room", room), ("room", room, "settings"), ("room", room, "new"), ("project", project), ("looks",), ("search", "0?query=onerror"), ("needs", 0)):
            page.goto(story.at(*place))
            expect(page.locator(".skeleton")).to_have_count(0)
            expect(page.locator("#page")).to_contain_text(HOSTILE)
            assert page.locator("img, script:not([src]), [onerror], iframe").count() == 0
        assert page.title() != "run"
    story.council.does("delete_project", id=project)


def test_the_longest_words_fit_a_phone(browser, story):
    """Names, titles, notes and texts without a place to break."""
    long = "W" * 79
    project, room = story.council.project(repository(story.folder.parent / "long"), long)
    agent = story.council.agent(f"{long[1:]}a", project, [room], system_note="N" * 2000)
    thread = story.council.does("create_thread", room=room, title="T" * 300, body=f"{'b' * 3000}\n\n`{'c' * 500}`\n\nhttps://example.org/{'d' * 400}", tag="FYI",
                                context=[{"kind": "note", "content": "n" * 5000}])["thread_id"]
    story.council.says(f"{long[1:]}a", "claim_thread", thread_id=thread, note="k" * 500)
    with Watched(browser, story.bench, width=390, height=844) as page:
        for place in (("room", room, "thread", thread), ("room", room), ("room", room, "settings"), ("project", project), ("agent", agent), ("room", room, "new")):
            page.goto(story.at(*place))
            expect(page.locator(".screen")).to_be_visible(timeout=WAIT_MS)
            expect(page.locator(".skeleton")).to_have_count(0, timeout=WAIT_MS)
            assert page.evaluate(WIDER) == [], place
    story.council.does("delete_project", id=project)


def test_settings_change_what_they_say_and_ask_for_a_name_before_they_lose_it(browser, story):
    folder = repository(story.folder.parent / "garden")
    project, room = story.council.project(folder, "Garden")
    story.council.agent("fern", project, [])
    with Watched(browser, story.bench, quiet=False) as page:
        page.goto(story.at("kinds"))
        page.get_by_text("Another kind").click(timeout=WAIT_MS)
        page.get_by_label("Short name").fill("python")
        new = page.locator("details", has_text="Another kind")
        new.get_by_label("Program").fill(sys.executable)
        new.get_by_label("Arguments, one a line").fill("-m\nthis")
        new.get_by_role("button", name="Save the kind").click()
        expect(page.locator("summary", has_text="python")).to_be_visible()
        kind = next(row for row in story.council.does("list_profiles") if row["key"] == "python")
        assert json.loads(kind["launch_args"]) == ["-m", "this"] and kind["mcp_install_mode"] == "env"
        page.goto(story.at("room", room, "settings"))
        page.get_by_role("button", name="Pause the room").click(timeout=WAIT_MS)
        expect(page.get_by_role("button", name="Let agents go on")).to_be_visible()
        page.get_by_label("Purpose").fill("What grows")
        page.get_by_label("Replies per agent in a thread").fill("-1")
        page.get_by_role("button", name="Save the room").click()
        expect(page.get_by_role("alert")).to_contain_text("max_replies_per_agent")
        page.get_by_label("Replies per agent in a thread").fill("3")
        page.get_by_role("button", name="Save the room").click()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.locator(".pane-list")).to_contain_text("What grows")
        assert next(row for row in story.council.does("list_rooms") if row["id"] == room)["max_replies_per_agent"] == 3
        page.get_by_label("An agent of this project").select_option(label="fern")
        page.get_by_role("button", name="Add to the room").click()
        expect(page.get_by_role("button", name="Remove fern from the room")).to_be_visible()
        page.locator("#main").get_by_role("link", name="Settings", exact=True).click()
        expect(page.get_by_role("heading", name="fern", level=2)).to_be_visible()
        page.get_by_label("Kind").select_option(label="Codex")
        page.get_by_role("button", name="Save the agent").click()
        page.get_by_role("button", name="Keep awake").click()
        expect(page.locator(".box.needs")).to_contain_text("up to 40 times an hour, each up to 20 minutes")
        page.get_by_role("button", name="Leave it as it is").click()
        page.get_by_label("Kind").select_option(label="python")
        page.get_by_role("button", name="Save the agent").click()
        page.get_by_role("button", name="Keep awake").click()
        expect(page.locator(".box.needs")).to_contain_text(f"The council will start {sys.executable} by itself")
        page.get_by_role("button", name="Keep it awake").click()
        expect(page.get_by_role("region", name="Keep awake")).to_contain_text("awake, waiting", timeout=WAIT_MS)
        page.get_by_role("button", name="Let it sleep").click()
        expect(page.get_by_role("region", name="Keep awake")).to_contain_text("asleep")
        page.get_by_role("button", name="New key").click()
        page.get_by_role("button", name="Make a new key").click()
        page.get_by_role("button", name="I have kept it: close").click()
        old = story.council.keys["fern"]
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("button", name="Let it in again")).to_be_visible()
        page.get_by_role("link", name="settings of its project").click()
        page.locator("summary", has_text="Delete the project").click()
        lose = page.get_by_role("button", name="Delete the project")
        expect(lose).to_be_disabled()
        expect(page.locator("#page")).to_contain_text("1 room, 0 threads, 0 replies, 1 agent")
        page.get_by_label("Type Garden to go on").fill("Garden")
        lose.click()
        expect(page.get_by_role("link", name="Settings of Garden")).to_have_count(0)
        assert old not in page.content()


def test_a_blind_round_a_long_list_and_a_reply_below_are_shown_as_they_are(browser, story):
    """The person who is asked may answer before looking; what comes while they read above only counts."""
    room = story.council.does("create_room", project_id=story.project, name="long")["id"]
    story.council.does("join_room", agent_id=story.ann, room_id=room)
    for number in range(70):
        story.council.does("create_thread", room=room, title=f"Question {number}", body="?", tag="FYI")
    blind = story.council.says("ann", "create_thread", room="long", title="Blind", body="@you\n" + "line\n\n" * 60, tag="DESIGN_REVIEW", context=[])
    thread = int(re.search(r"\d+", blind["content"][0]["text"])[0])
    with Watched(browser, story.bench) as page:
        page.goto(story.at("room", room))
        rows = page.locator(".pane-list [data-thread]")
        expect(rows).to_have_count(60, timeout=WAIT_MS)
        page.get_by_role("button", name="Show 11 more").click()
        expect(rows).to_have_count(71)
        page.get_by_label("Tag").select_option("DESIGN_REVIEW")
        expect(rows).to_have_count(1)
        rows.first.click()
        expect(page.get_by_role("heading", name="Blind")).to_be_visible()
        page.locator("#c-thread").evaluate("(scroll) => scroll.scrollTo(0, 0)")
        story.council.says("ann", "reply", thread_id=thread, body="More.")
        fresh = page.get_by_role("button", name="1 new reply below")
        expect(fresh).to_be_visible()
        assert page.locator("#c-thread").evaluate("(scroll) => scroll.scrollTop") == 0
        fresh.click()
        expect(fresh).to_have_count(0)
        expect(page.get_by_text("More.")).to_be_in_viewport()
    asked = story.opens("Which one?", "@ann @ben", tag="DESIGN_REVIEW", blind=True)
    story.council.says("ann", "reply", thread_id=asked, body="The first.", verdict="APPROVED")
    with Watched(browser, story.bench) as page:
        page.goto(story.at("room", story.room, "thread", asked))
        expect(page.locator(".about")).to_contain_text("blind round", timeout=WAIT_MS)


def test_a_case_is_discussed_with_no_more_of_it_than_its_type_and_state(browser, story):
    with Watched(browser, story.bench) as page:
        expect(run_calculation(page, "calc-talk")).to_contain_text("Completed", timeout=WAIT_MS)
        page.locator("article").get_by_role("link", name="Open the Case").first.click()
        page.get_by_role("link", name="Discuss it in the council").click()
        page.get_by_label("Title").fill("Is calc-talk right?")
        page.get_by_label("The question").fill("@ann look")
        page.get_by_role("button", name="Open the thread").click()
        pinned = page.get_by_role("region", name="Pinned context")
        expect(pinned).to_contain_text("Type: verified_calculation")
        assert re.fullmatch(r"Case: case_\w+\nType: verified_calculation\nStatus: closed", pinned.get_by_label("Note").inner_text().strip())
        page.locator(".about").get_by_role("link", name=re.compile("case_")).click()
        expect(page.locator(".case-head h3")).to_have_text("calc-talk")


def test_a_council_that_dies_comes_back_to_the_page_with_the_draft_still_there(browser, story):
    """Whatever address follows, the page stays a page."""
    with Watched(browser, story.bench, quiet=False) as page:
        page.goto(story.at("room", story.room, "thread", story.asked))
        page.get_by_label("Your reply").fill("Still here", timeout=WAIT_MS)
        os.kill(story.bench.pid_of("council"), signal.SIGKILL)
        story.opens_at_last("After the fall", "?", tag="FYI", client_ref="fall")
        expect(page.get_by_label("Your reply")).to_have_value("Still here", timeout=WAIT_MS)
        expect(page.locator(".pane-list")).to_contain_text("After the fall", timeout=WAIT_MS)
        page.get_by_label("Your reply").fill("")
        problems = []
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        for odd in ("room/9999/thread/9999", "room/x/settings", "agent/constructor", "__proto__/1/__proto__", "project/1/nothing", "%E0%A4%A", "needs/0/thread/", "search/0?query=%00", "new?case_id=" + "x" * 300):
            page.goto(story.at(odd))
            expect(page.locator("#main")).to_have_text(re.compile(r"\w"))
            expect(page.locator(".skeleton")).to_have_count(0, timeout=WAIT_MS)
        assert problems == []


@pytest.mark.parametrize("width", [1440, 390])
def test_what_could_not_be_read_anew_is_said_above_and_moves_nothing(browser, story, width):
    """The words once took the thread's place, and the thread went below the list."""
    thread = story.opens("Is it read?", "@ben?")
    with Watched(browser, story.bench, width=width, quiet=False) as page:
        page.goto(story.at("room", story.room, "thread", thread))
        head = page.get_by_role("heading", name="Is it read?")
        expect(head).to_be_visible()
        before = head.bounding_box()
        page.route("**/council/api/get_thread", lambda route: route.abort())
        story.council.says("ben", "reply", thread_id=thread, body="No.")
        expect(page.locator(".screen > .stale")).to_be_in_viewport(ratio=1)
        expect(page.get_by_label("Your reply")).to_be_in_viewport(ratio=1)
        after = head.bounding_box()
        assert after["x"] == before["x"] and after["y"] < 200, (before, after)
        page.unroute("**/council/api/get_thread")
        expect(page.get_by_role("article", name=re.compile("of ben"))).to_contain_text("No.")
        expect(page.locator(".screen > .stale")).to_have_count(0)


def test_two_tabs_agree_and_a_draft_outlives_the_page(browser, story):
    with Watched(browser, story.bench) as page:
        page.goto(story.at("room", story.room, "thread", story.asked))
        page.get_by_label("Your reply").fill("Half a thought", timeout=WAIT_MS)
        other = page.context.new_page()
        other.goto(story.at("room", story.room, "thread", story.asked))
        expect(other.get_by_label("Your reply")).to_have_value("Half a thought", timeout=WAIT_MS)
        page.bring_to_front()
        page.reload()
        expect(page.get_by_label("Your reply")).to_have_value("Half a thought", timeout=WAIT_MS)
        held = []
        page.route("**/council/api/reply", lambda route: held.append(route))
        with page.expect_request("**/council/api/reply"):
            page.get_by_label("Your reply").press("Control+Enter")
        page.get_by_label("Your reply").press_sequentially(", and more")
        held[0].continue_()
        for each in (page, other):
            expect(each.get_by_role("article", name=re.compile("of you"))).to_have_text(re.compile("Half a thoughtEdit"))
        expect(page.get_by_label("Your reply")).to_have_value("Half a thought, and more")
        page.get_by_role("button", name=re.compile("Edit your reply")).click()
        page.get_by_role("article").get_by_label("Edit your reply").fill("A whole thought")
        page.get_by_role("button", name="Save the change").click()
        for each in (page, other):
            expect(each.get_by_role("article", name=re.compile("of you"))).to_contain_text("A whole thought")
            expect(each.get_by_role("article", name=re.compile("of you"))).to_contain_text("edited")


def test_a_thread_that_begins_to_wait_is_told_once_while_the_person_looks_elsewhere(browser, story):
    """Only on a press, and only what came since; the one that is told opens by a click."""
    with Watched(browser, story.bench, permissions=["notifications"]) as page:
        page.add_init_script("""window.shown = []; document.hasFocus = () => false;
            window.Notification = class { static permission = 'granted'; static requestPermission = async () => 'granted';
              constructor(title, about) { this.title = title; Object.assign(this, about); window.shown.push(this); } close() {} };""")
        page.goto(story.at("needs", 0))
        page.reload()
        page.evaluate("window.real = Notification.requestPermission.bind(Notification); Notification.requestPermission = async () => 'denied'")
        notify = page.get_by_label("Notify me while I look elsewhere")
        notify.click(timeout=WAIT_MS)
        expect(page.get_by_text("The browser does not allow notifications").last).to_be_attached()
        expect(notify).not_to_be_checked()                   # a wish that was refused is no tick
        page.evaluate("Notification.requestPermission = window.real")
        notify.check()
        before = story.council.does("needs_you")
        thread = story.opens("Told?", "@ann tell me")
        story.council.says("ann", "reply", thread_id=thread, body="Told.")
        page.wait_for_function("() => window.shown.length === 1")
        expect(page.locator(f".pane-list [data-thread='{thread}']")).to_contain_text("waits for you")
        expect(page.get_by_role("link", name=re.compile("Needs you"))).to_contain_text(str(len(before) + 1))
        assert page.evaluate("[window.shown[0].title, window.shown[0].body]") == [f"#{thread} needs you", "Told?\n#general"]
        page.evaluate("window.shown[0].onclick()")
        expect(page.get_by_role("heading", name="Told?")).to_be_visible()
