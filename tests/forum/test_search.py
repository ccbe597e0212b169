"""Search finds what is there now, in the rooms of whom asks, with and without an index of words. Duty: the council surface, "Files, git, search"."""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.store.council_db import CouncilDb


@pytest.fixture(params=["index", "no index"])
def searched(request, council):
    council.forum.db.has_words = request.param == "index" and council.forum.db.has_words
    return council


def found(council, actor, query: str, **arguments) -> set[tuple[str, int]]:
    return {(row["kind"], row["ref_id"]) for row in council.does(actor, "search", query=query, **arguments)}


def test_titles_topics_and_messages_are_found_with_the_thread_they_belong_to(searched):
    ann = searched.agent("ann")
    thread = searched.opens(title="Walrus plan", body="@ann the heron question")
    message = searched.does(ann, "reply", thread_id=thread, body="An osprey answers")["message_id"]
    for query, hit in (("walrus", ("thread", thread)), ("HERON", ("thread", thread)), ("walrus heron", ("thread", thread)), ("osprey", ("message", message))):
        rows = searched.does(ann, "search", query=query)
        assert [(row["kind"], row["ref_id"]) for row in rows] == [hit] and rows[0]["thread_id"] == thread and rows[0]["title"] == "Walrus plan"
        assert rows[0]["room_id"] == searched.room and rows[0].keys() == {"kind", "ref_id", "thread_id", "room_id", "title", "excerpt"} and len(rows[0]["excerpt"]) <= 400
    assert not found(searched, ann, "walrus osprey") and not found(searched, ann, "thread") and not found(searched, ann, "message")


def test_only_the_callers_own_rooms_are_searched(searched):
    other = searched.act("create_room", project_id=searched.project["id"], name="other")["id"]
    ann, bob = searched.agent("ann"), searched.agent("bob", searched.room, other)
    here, there = searched.opens(body="@bob heron"), searched.opens(bob, body="heron", room=other)
    searched.does(bob, "reply", thread_id=there, body="heron again")
    assert found(searched, ann, "heron") == {("thread", here)} and len(found(searched, bob, "heron")) == 3
    assert found(searched, bob, "heron", room="general") == found(searched, bob, "heron", room=str(searched.room)) == {("thread", here)}
    with pytest.raises(Refused) as caught:
        found(searched, ann, "heron", room="other")
    assert caught.value.code == "council_not_found"


def test_an_agent_without_a_room_finds_nothing(searched):
    ann = searched.agent("ann")
    searched.opens(body="@ann heron")
    searched.act("leave_room", agent_id=ann.agent_id, room_id=searched.room)
    assert not found(searched, ann, "heron")


@pytest.mark.parametrize("query", ["", "   ", "\t\n", '"', '" "" "', "\u00a0\u2003"])
def test_a_query_without_a_word_is_refused(searched, query):
    with pytest.raises(Refused) as caught:
        found(searched, searched.agent("ann"), query)
    assert caught.value.code == "council_invalid"


@pytest.mark.parametrize("query", ["*", "heron*", "NOT heron", "heron OR x", "NEAR(heron x)", "text:heron", "kind:thread", "^heron", "-heron", "{text}: heron", "(", "a'b", "heron' OR 1=1 --", "%", "_", "h_ron",
                                   "\\", "\u2019", "\U0001f600", "AND", "+", "x" * 500])
def test_a_query_is_words_and_never_a_language(searched, query):
    ann = searched.agent("ann")
    searched.opens(body="@ann the heron rests")
    is_the_word = searched.forum.db.has_words and query in ("heron*", "^heron", "-heron")     # an index knows no marks
    assert bool(found(searched, ann, query)) == is_the_word
    assert found(searched, ann, 'her"on"') == found(searched, ann, '"heron" "rests"')


@pytest.mark.parametrize("query", [7, None, [], "a\ud800", "a\0b", "x" * 501])
def test_a_query_that_is_no_text_is_refused(searched, query):
    with pytest.raises(Refused) as caught:
        found(searched, searched.agent("ann"), query)
    assert caught.value.code == "council_invalid"


def test_edits_and_deletions_leave_nothing_stale(searched):
    ann = searched.agent("ann")
    thread = searched.opens(ann, title="Steady", body="heron")
    message = searched.does(ann, "reply", thread_id=thread, body="osprey")["message_id"]
    searched.does(ann, "update_thread", thread_id=thread, body="egret")
    searched.does(ann, "edit_message", message_id=message, body="kestrel")
    assert not found(searched, ann, "heron") and not found(searched, ann, "osprey")
    assert found(searched, ann, "egret") == found(searched, ann, "steady") == {("thread", thread)} and found(searched, ann, "kestrel") == {("message", message)}
    doomed = searched.act("create_room", project_id=searched.project["id"], name="doomed")["id"]
    bob = searched.agent("bob", doomed)
    lost = searched.opens(bob, body="egret", room=doomed)
    searched.does(bob, "reply", thread_id=lost, body="kestrel")
    searched.act("delete_room", id=doomed)
    searched.act("delete_project", id=searched.act("create_project", name="Other", folder=str(searched.folder.parent))["id"])
    assert searched.forum.db.search("egret", [doomed], 9) == searched.forum.db.search("kestrel", [doomed], 9) == []
    if searched.forum.db.has_words:
        assert searched.forum.db.value("SELECT count(*) FROM words") == 2


def test_an_act_that_is_refused_halfway_leaves_no_words(searched, monkeypatch):
    ann = searched.agent("ann")

    def broken(*arguments, **more):
        raise Refused("council_invalid", problem="played")

    monkeypatch.setattr(searched.forum.db, "event", broken)
    with pytest.raises(Refused):
        searched.opens(ann, body="heron")
    monkeypatch.undo()
    assert not found(searched, ann, "heron")


def test_answers_are_bounded_and_the_limit_is_checked(searched):
    ann = searched.agent("ann")
    for _ in range(4):
        searched.opens(ann, body="heron " * 900)
    assert len(found(searched, ann, "heron", limit=3)) == 3
    assert all(len(row["excerpt"]) <= 400 for row in searched.does(ann, "search", query="heron"))
    for limit in (0, 101, "x", True):
        with pytest.raises(Refused):
            found(searched, ann, "heron", limit=limit)


def test_the_index_is_made_anew_after_a_time_without_it(council, monkeypatch):
    """A Python whose SQLite has no FTS5 writes to the same file."""
    ann = council.agent("ann")
    thread = council.opens(ann, body="heron")
    council.forum.db.close()
    monkeypatch.setattr(CouncilDb, "_index_words", lambda self: self._without_words())
    council.open()
    assert not council.forum.db.has_words and found(council, ann, "heron") == {("thread", thread)}
    council.does(ann, "update_thread", thread_id=thread, body="egret")
    council.forum.db.close()
    monkeypatch.undo()
    council.open()
    assert council.forum.db.has_words and not found(council, ann, "heron") and found(council, ann, "egret") == {("thread", thread)}
