"""Conversations read by pages, searched, listed; drafts that are kept.

Source  the workbench surface, "Conversations"; the design, §8 (drafts); ui, "Long lists are windowed"
"""

import json

import pytest

from rulith.base.errors import Refused
from rulith.base.limits import DRAFTS_MAX, TALK_FOUND_AROUND_CHARS, TALK_FOUND_MAX, TALK_LIST_SHOWN, TALK_SEARCH_CHARS_MAX, TALK_TURNS_SHOWN
from rulith.disk.drafts import Drafts
from rulith.disk.saved_talk import SavedTalk
from rulith.workbench import talk_reads
from rulith.workbench.talk_reads import TalkReads, Under, number_of
from tests.workbench.long_talk import write_talk

OWNER = {"origin": "home", "accountId": "", "agentId": "agent_1"}
AT = "2026-10-03T08:00:00.000Z"


def reads(folder, live=()):
    return TalkReads(SavedTalk(folder, OWNER), live)


def under(name, at="2026-12-01T08:00:00.000Z", text="under way", session="long"):
    return Under(name, session, at, text, {"id": name, "sessionKey": session, "text": text, "at": at, "state": "running", "parts": []})


def test_pages_add_up_to_the_conversation_and_numbers_stay_when_more_is_said(tmp_path):
    write_talk(tmp_path, OWNER, 150)
    page = reads(tmp_path).conversation("long", None)
    assert (page["first"], page["total"], len(page["turns"])) == (150 - TALK_TURNS_SHOWN, 150, TALK_TURNS_SHOWN)
    found, before = [], 150
    while before:
        page = reads(tmp_path).conversation("long", before)
        found, before = [row["text"] for row in page["turns"]] + found, page["first"]
    assert found == [f"Question {n}" for n in range(150)]
    later = reads(tmp_path, [under("turn_new"), under("turn_long_000149")])
    assert [row["text"] for row in later.conversation("long", None)["turns"][-2:]] == ["under way", "under way"]      # one is known by its file too
    assert later.conversation("long", 11)["turns"][-1]["text"] == "Question 10" and later.conversation("long", None)["total"] == 151
    assert reads(tmp_path).conversation("long", 10**6)["total"] == 150 and reads(tmp_path).conversation("long", 0)["turns"] == []
    assert reads(tmp_path).conversation("no such", None)["total"] == 0


def test_a_turn_whose_file_is_lost_keeps_its_number(tmp_path):
    place = write_talk(tmp_path, OWNER, 3)
    seen = reads(tmp_path)
    for path in place.glob("*.turn.json"):
        if json.loads(path.read_text())["text"] == "Question 1":
            path.write_text("{")
    rows = seen.conversation("long", None)["turns"]
    assert [row["text"] for row in rows] == ["Question 0", "Question 1", "Question 2"] and "cannot be read" in rows[1]["problem"]


def test_conversations_are_listed_by_pages_active_and_put_away_apart(tmp_path):
    for number in range(TALK_LIST_SHOWN + 2):
        place = write_talk(tmp_path, OWNER, 1, f"talk{number:03}", day=f"2026-{1 + number // 28:02}-{1 + number % 28:02}")
    name = __import__("hashlib").sha256(b"talk000").hexdigest() + ".session.json"
    (place / name).write_text(json.dumps({"sessionKey": "talk000", "archived": True}))
    every = reads(tmp_path)
    first = every.conversations(None, 0)
    assert (len(first["conversations"]), first["total"], first["hasMore"]) == (TALK_LIST_SHOWN, TALK_LIST_SHOWN + 2, True)
    rest = every.conversations(None, TALK_LIST_SHOWN)
    assert [row["sessionKey"] for row in rest["conversations"]] == ["talk001", "talk000"] and not rest["hasMore"]
    assert [row["sessionKey"] for row in every.conversations(True, 0)["conversations"]] == ["talk000"]
    assert every.conversations(False, 0)["total"] == TALK_LIST_SHOWN + 1
    assert every.conversation("talk000", None)["archived"] is True


def test_a_search_finds_words_on_both_sides_the_newest_first_and_sends_no_markup(tmp_path):
    write_talk(tmp_path, OWNER, 120, say=lambda n: f"{'x' * 200} Grün <b>STRASSE</b> {n} {'y' * 200}")
    found = reads(tmp_path).search(" strasse ")
    assert len(found["found"]) == TALK_FOUND_MAX and found["isPartial"] and found["looked"] == TALK_FOUND_MAX
    first = found["found"][0]
    assert (first["turn"], first["who"], first["match"]) == (119, "agent", "STRASSE")
    assert first["before"].endswith("Grün <b>") and len(first["before"]) == len(first["after"]) == TALK_FOUND_AROUND_CHARS
    assert [row["turn"] for row in reads(tmp_path).search("question 7")["found"]] == [*range(79, 69, -1), 7]
    assert reads(tmp_path).search("GRÜN")["found"][0]["match"] == "Grün"
    assert reads(tmp_path, [under("turn_new", text='He said "no" \\ .*')]).search('"NO" \\ .*')["found"][0]["who"] == "you"
    none = reads(tmp_path).search("nowhere")
    assert (none["found"], none["looked"], none["isPartial"]) == ([], 120, False)


@pytest.mark.parametrize("words", ["", "   ", "w" * (TALK_SEARCH_CHARS_MAX + 1)])
def test_a_search_for_nothing_or_too_much_is_refused(tmp_path, words):
    with pytest.raises(Refused) as refused:
        reads(tmp_path).search(words)
    assert refused.value.code == "talk_query"


def test_a_search_ends_at_its_bounds_and_says_that_it_did(tmp_path, monkeypatch):
    write_talk(tmp_path, OWNER, 30)
    monkeypatch.setattr(talk_reads, "TALK_SEARCH_TURNS_MAX", 20)
    assert (reads(tmp_path).search("nowhere")["looked"], reads(tmp_path).search("nowhere")["isPartial"]) == (20, True)
    monkeypatch.setattr(talk_reads, "TALK_SEARCH_BYTES_MAX", 1)
    assert reads(tmp_path).search("nowhere")["looked"] == 1


@pytest.mark.parametrize("text", ["-1", "x", "1" * 10, "1.5", "\u0663"])
def test_a_number_that_is_none_is_refused(text):
    with pytest.raises(Refused) as refused:
        number_of(text, "before")
    assert refused.value.code == "talk_query" and number_of("", "before") is None and number_of("12", "before") == 12


def test_a_draft_is_kept_replaced_and_dropped_and_a_damaged_one_is_none(tmp_path):
    drafts = Drafts(tmp_path / "drafts")
    assert drafts.all() == [] and drafts.one("a") is None
    drafts.drop("a")
    drafts.keep("a", {"text": "one\ud800"})
    drafts.keep("../b", {"text": "two"})
    drafts.keep("a", {"text": "three"})
    assert sorted(each["text"] for each in drafts.all()) == ["three", "two"] and drafts.one("../b")["text"] == "two"
    for path in (tmp_path / "drafts").iterdir():
        path.write_text(path.read_text().replace('"../b"', '"c"').replace('"three"', "3"))       # of another conversation; not a text
    assert drafts.all() == [] and drafts.one("a") is None
    drafts.keep("a", {"text": "again"})
    drafts.drop("a")
    assert drafts.one("a") is None


def test_one_draft_too_many_is_refused_and_those_there_can_be_changed(tmp_path):
    drafts = Drafts(tmp_path)
    for number in range(DRAFTS_MAX):
        drafts.keep(f"talk{number}", {"text": "x"})
    with pytest.raises(Refused) as refused:
        drafts.keep("one more", {"text": "x"})
    assert refused.value.code == "drafts_full"
    drafts.keep("talk0", {"text": "changed"})
    assert drafts.one("talk0")["text"] == "changed"
