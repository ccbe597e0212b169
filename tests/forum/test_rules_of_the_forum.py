"""Who may open, argue and resolve, and what every act leaves behind. Duty: the council surface, §§2, 3, 5, 6 and 17."""

from __future__ import annotations

import json
import sqlite3

import pytest

from rulith.base.errors import Refused
from rulith.council import keys
from rulith.council.kinds import FORBIDDEN, INVALID, LIMIT, NOT_FOUND, number_of, words_of
from tests.forum.conftest import PERSON, Council


def refused(call, *args, **kwargs) -> Refused:
    with pytest.raises(Refused) as found:
        call(*args, **kwargs)
    return found.value


def test_a_thread_lives_from_its_question_to_its_record(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    thread = council.opens(ann, body="@bob is this safe?", context=[{"kind": "note", "content": "seen on Monday"}])
    reply = council.does(bob, "reply", thread_id=thread, body="Not with an empty list.", verdict="confirmed", severity="high",
                         refs=[{"path": "shop.py", "line": 7, "note": "here"}], tokens_in=10, tokens_out=5, cost_usd=0.25)
    assert reply["message_id"] == 1
    ended = council.does(ann, "resolve_thread", thread_id=thread, summary="It is not; fixed.", verdict="CONFIRMED")
    record = (council.folder / ended["export_path"]).read_text()
    assert ended["export_path"].endswith(".rivendell/threads/0001-a-question.md")
    for part in ('thread: 1', 'title: "A question"', "room: general", "tag: ADVERSARIAL_REVIEW", "status: RESOLVED", 'opened_by: "ann"', "cost_usd: 0.2500",
                 "# A question", "## Resolution", "It is not; fixed.", "## Topic — ann (ADVERSARIAL_REVIEW)", "## Context as posted", "seen on Monday",
                 "### bob — **CONFIRMED** · HIGH", "- `shop.py:7` here"):
        assert part in record, part
    refusal = refused(council.does, bob, "reply", thread_id=thread, body="One more thing")
    assert refusal.code == "council_closed" and "RESOLVED" in str(refusal)
    assert council.act("calibration") == [{"agent_id": bob.agent_id, "name": "bob", "tag": "ADVERSARIAL_REVIEW", "verdicts": 1, "overturned": 0}]
    assert [event["kind"] for event in council.events()] == [
        "project.created", "room.created", "agent.created", "agent.created", "agent.joined", "agent.created", "agent.joined", "thread.created", "message.created", "thread.resolved"]


def test_only_who_is_asked_answers_and_a_name_brings_in(council):
    ann, bob, eve = (council.agent(name) for name in ("ann", "bob", "eve"))
    thread = council.opens(ann, body="@bob, please")
    refusal = refused(council.does, eve, "reply", thread_id=thread, body="me too")
    assert refusal.code == "council_not_asked" and "did not ask you" in str(refusal) and number_of(refusal) == FORBIDDEN and words_of(refusal).startswith("forbidden: ")
    assert council.does(bob, "reply", thread_id=thread, body="Ask @Eve and a@b.c, not @nobody")["called"] == ["eve"]
    assert council.does(eve, "reply", thread_id=thread, body="here")["called"] == []
    kinds = [event["kind"] for event in council.events()][-4:]
    assert kinds == ["thread.created", "thread.mentioned", "message.created", "message.created"]
    everyone = council.opens(ann, body="@everyone look")
    assert council.does(ann, "get_thread", thread_id=everyone)["asked"] == ["you", "bob", "eve"]


def test_a_name_of_several_words_is_called_as_it_is_written(council):
    """Names need not be words; whoever could not be called could not be brought in."""
    ann, gpt, code, reviewer = (council.agent(name) for name in ("ann", "GPT-5.1", "code", "Code Reviewer"))
    for body, called in (("@gpt-5.1, and @code.", ["GPT-5.1", "code"]), ("ask @code reviewer!", ["Code Reviewer"]), ("@code reviewers", ["code"]), ("@gpt-5", []), ("x@gpt-5.1", []),
                         ("@CODE REVIEWER @code", ["code", "Code Reviewer"])):
        thread = council.opens(ann, body=body)
        assert council.does(ann, "get_thread", thread_id=thread)["asked"] == called, body


#  the act that is refused                                                     its code             its kind    a word of it
@pytest.mark.parametrize("change, code, kind, word", [
    (lambda c, t: c.act("update_room", id=c.room, paused=True), "council_paused", FORBIDDEN, "general"),
    (lambda c, t: c.act("update_room", id=c.room, max_replies_per_agent=0), "council_reply_cap", LIMIT, "cap"),
    (lambda c, t: c.act("update_room", id=c.room, max_thread_messages=0), "council_thread_cap", LIMIT, "cap"),
    (lambda c, t: (c.act("update_room", id=c.room, cost_cap_usd=0.5), c.does(PERSON, "reply", thread_id=t, body="x", cost_usd=0.5)), "council_cost_cap", LIMIT, "0.50"),
    (lambda c, t: c.act("resolve_thread", thread_id=t, summary="done"), "council_closed", FORBIDDEN, "RESOLVED"),
    (lambda c, t: c.act("leave_room", agent_id=c.forum.agent(2)["id"], room_id=c.room), "council_not_found", NOT_FOUND, "1"),
])
def test_each_rail_refuses_an_agent_by_its_reason_and_not_the_person(council, change, code, kind, word):
    ann = council.agent("ann")
    thread = council.opens()
    change(council, thread)
    before = council.events()
    refusal = refused(council.does, ann, "reply", thread_id=thread, body="an answer")
    assert (refusal.code, number_of(refusal)) == (code, kind) and word in str(refusal)
    assert council.events() == before
    if code != "council_not_found":
        assert council.act("reply", thread_id=thread, body="the person may")["message_id"]


@pytest.mark.parametrize("arguments, code", [
    ({"body": " "}, "council_invalid"), ({"body": "x", "verdict": "MAYBE"}, "council_verdict"), ({"body": "x", "severity": "AWFUL"}, "council_invalid"),
    ({"body": "x", "cost_usd": -1}, "council_invalid"), ({"body": "x", "tokens_in": 1.5}, "council_invalid"), ({"body": "x", "refs": [{"line": 1}]}, "council_invalid"),
    ({"body": "x", "surprise": 1}, "council_invalid"), ({"body": "x\0"}, "council_invalid"), ({"body": "\ud800"}, "council_invalid"), ({"body": 7}, "council_invalid"),
    ({"body": "x" * 70_000}, "council_invalid"), ({"body": "x", "cost_usd": True}, "council_invalid"), ({"body": "x", "cost_usd": float("nan")}, "council_invalid"),
])
def test_a_reply_of_the_wrong_shape_names_what_is_wrong_and_is_not_kept(council, arguments, code):
    ann, thread = council.agent("ann"), council.opens()
    refusal = refused(council.does, ann, "reply", thread_id=thread, **arguments)
    assert refusal.code == code and number_of(refusal) == INVALID
    assert council.does(ann, "get_thread", thread_id=thread)["messages"] == []


def test_an_old_word_is_stored_as_its_new_one_and_a_tag_without_words_takes_none(council):
    ann = council.agent("ann")
    thread = council.opens()
    council.does(ann, "reply", thread_id=thread, body="no", verdict="refuted")
    assert council.does(ann, "get_thread", thread_id=thread)["messages"][0]["verdict"] == "CLEARED"
    refusal = refused(council.does, ann, "reply", thread_id=council.opens(tag="FYI"), body="no", verdict="CLEARED")
    assert refusal.code == "council_verdict" and "none at all" in str(refusal)


def test_only_the_opener_and_the_person_end_a_thread_or_change_its_topic(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    thread = council.opens(ann, body="@bob ?")
    for name, arguments in (("resolve_thread", {"summary": "mine now"}), ("set_thread_status", {"status": "WONTFIX"}), ("update_thread", {"body": "other"})):
        refusal = refused(council.does, bob, name, thread_id=thread, **arguments)
        assert refusal.code == "council_not_opener" and "ann" in str(refusal)
    assert refused(council.does, ann, "set_thread_status", thread_id=thread, status="RESOLVED").code == "council_invalid"
    assert council.does(ann, "set_thread_status", thread_id=thread, status="blocked") == {"thread_id": thread, "status": "BLOCKED"}
    assert council.does(bob, "reply", thread_id=thread, body="still")["message_id"]
    assert council.act("set_thread_status", thread_id=thread, status="WONTFIX")["status"] == "WONTFIX"
    assert council.does(ann, "get_thread", thread_id=thread)["export_path"] is None
    assert council.act("set_thread_status", thread_id=thread, status="OPEN")["status"] == "OPEN"


def test_an_edit_is_marked_told_and_only_of_ones_own(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    thread = council.opens(ann, body="@bob ?")
    first = council.does(bob, "reply", thread_id=thread, body="broken", verdict="CONFIRMED", severity="LOW")["message_id"]
    assert refused(council.does, ann, "edit_message", message_id=first, body="no it is not").code == "council_not_yours"
    council.does(bob, "edit_message", message_id=first, body="fine", verdict="CLEARED")
    message = council.does(ann, "get_thread", thread_id=thread)["messages"][0]
    assert (message["body"], message["verdict"], message["severity"]) == ("fine", "CLEARED", None) and message["edited_at"]
    told = council.events()[-1]
    assert told["kind"] == "message.edited" and told["payload"] == {"message_id": first, "body_changed": True, "previous_verdict": "CONFIRMED",
                                                                    "previous_severity": "LOW", "verdict": "CLEARED", "severity": None}
    assert council.does(ann, "search", query="fine")[0]["ref_id"] == first and council.does(ann, "search", query="broken") == []


def test_editing_a_resolved_threads_message_rewrites_its_record(council):
    ann, thread = council.agent("ann"), council.opens()
    mine = council.act("reply", thread_id=thread, body="an early word")["message_id"]
    ended = council.act("resolve_thread", thread_id=thread, summary="so it is")
    edited = council.act("edit_message", message_id=mine, body="a later word")
    assert edited["record_digest"] != ended["record_digest"] and "a later word" in (council.folder / ended["export_path"]).read_text()
    topic = council.act("update_thread", thread_id=thread, body="@ann a clearer question")
    told = [(each["kind"], each["payload"].get("record_digest")) for each in council.events()[-3:]]
    assert told == [("thread.resolved", ended["record_digest"]), ("message.edited", edited["record_digest"]), ("thread.updated", topic["record_digest"])]
    assert refused(council.does, ann, "reply", thread_id=thread, body="late").code == "council_closed"


def test_a_record_that_cannot_be_written_is_said_in_the_answer(council):
    thread = council.opens()
    (council.folder / ".rivendell").write_text("in the way")
    council.forum.folder = lambda path, plain=council.forum.folder: _Broken(plain(path))
    ended = council.act("resolve_thread", thread_id=thread, summary="done")
    assert ended["status"] == "RESOLVED" and "export_path" not in ended and "disk is full" in ended["record_problem"]


class _Broken:
    def __init__(self, folder) -> None:
        self._folder = folder

    def __getattr__(self, name):
        return getattr(self._folder, name)

    def write_record(self, name: str, text: str) -> str:
        raise Refused("write_failed", path=name, problem="the disk is full")


def test_keys_open_once_told_and_end_at_once(council):
    ann = council.agent("ann")
    key = council.keys["ann"]
    assert council.forum.authenticate(f"Bearer {key}") == council.forum.authenticate(f"bearer  {key} ") == council.forum.authenticate(key) == ann
    for bad in (None, "", "nope", "rvd_onlyid", "rvd__x", key[:-1], key + "x", "rvdlive_" + "x" * 43):
        assert council.forum.authenticate(bad) is None, bad
    live = council.forum.mint_live(ann.agent_id)
    assert live.startswith("rvdlive_") and council.forum.authenticate(live).supervised
    turned = council.act("rotate_agent_key", id=ann.agent_id)["api_key"]
    assert council.forum.authenticate(key) is None and council.forum.authenticate(live) is None and council.forum.authenticate(turned)
    council.act("set_agent_revoked", id=ann.agent_id)
    assert council.forum.authenticate(turned) is None and refused(council.does, ann, "list_threads").code == "council_revoked"
    council.act("set_agent_revoked", id=ann.agent_id, revoked=False)
    assert council.forum.authenticate(turned)
    text = json.dumps(council.act("agents_of"), ensure_ascii=False) + council.file.read_bytes().decode("latin-1")
    assert turned not in text and key not in text and keys.preview(turned) in text


def test_a_live_credential_ends_when_nobody_uses_it(council):
    ann = council.agent("ann")
    live = council.forum.mint_live(ann.agent_id)
    for _ in range(3):
        council.clock.advance(5 * 3600)
        assert council.forum.authenticate(live)
    council.clock.advance(6 * 3600 + 1)
    assert council.forum.authenticate(live) is None


def test_an_agent_that_wrote_is_revoked_and_not_deleted_and_an_id_is_given_once(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    council.opens(ann)
    assert refused(council.act, "delete_agent", id=ann.agent_id).code == "council_wrote"
    live = council.forum.mint_live(bob.agent_id)
    council.act("delete_agent", id=bob.agent_id)
    assert council.forum.authenticate(live) is None
    assert council.agent("bob").agent_id > bob.agent_id


def test_an_agent_sees_its_own_rooms_and_no_others(council):
    ann = council.agent("ann")
    other = council.act("create_room", project_id=council.project["id"], name="#Other Room!")
    assert other["name"] == "other-room"
    hidden = council.opens(room=other["id"], body="secret word")
    assert refused(council.does, ann, "get_thread", thread_id=hidden).code == "council_not_found"
    assert refused(council.does, ann, "list_threads", room="other-room").code == "council_not_found"
    assert refused(council.does, ann, "list_threads", room="none").code == "council_not_found"
    assert council.does(ann, "search", query="secret") == [] and council.does(ann, "list_threads", mentions_me=False, status="all") == []
    council.act("join_room", agent_id=ann.agent_id, room_id=other["id"])
    assert [row["id"] for row in council.does(ann, "list_threads", mentions_me=False)] == [hidden]
    assert refused(council.does, ann, "create_thread", title="t", body="b", tag="FYI").code == "council_invalid"


def test_an_agent_learns_no_more_of_what_lies_in_anothers_room_than_of_what_is_not_there(council, tmp_path):
    """By id or by name, in its own project or another, and whatever else is wrong with the request."""
    (tmp_path / "far").mkdir()
    far = council.act("create_project", folder=str(tmp_path / "far"))["id"]
    beside = council.act("create_room", project_id=council.project["id"], name="beside")["id"]
    away = next(row["id"] for row in council.act("list_rooms") if row["project_id"] == far)
    council.act("create_room", project_id=far, name="merger")
    ann, eve = council.agent("ann"), council.agent("eve", beside)
    thread, closed = council.opens(eve, room=beside, body="@everyone", blind=True), council.opens(room=away, body="b")
    messages = [council.does(eve, "reply", thread_id=thread, body="secret")["message_id"], council.act("reply", thread_id=closed, body="x")["message_id"]]
    council.act("resolve_thread", thread_id=closed, summary="s")
    council.act("update_room", id=beside, paused=True)
    asked = [("get_thread", {}), ("thread_rows", {}), ("reply", {"body": "b", "verdict": "MAYBE"}), ("claim_thread", {}), ("update_thread", {"body": "b"}),
             ("set_thread_status", {"status": "GONE"}), ("set_thread_status", {"status": "OPEN"}), ("resolve_thread", {"status": "NONE", "summary": ""}), ("update_thread", {"body": " "})]
    for there, none in ((thread, 997), (closed, 998)):
        for act, more in asked:
            said = [str(refused(council.does, ann, act, thread_id=each, **more)).replace(str(each), "N") for each in (there, none)]
            assert said[0] == said[1], (act, more, said)
    for message in messages:
        said = [str(refused(council.does, ann, "edit_message", message_id=each, body="b")).replace(str(each), "N") for each in (message, 999)]
        assert said[0] == said[1]
    for room in (beside, away, "beside", "merger", "#MERGER"):
        for act, more in (("list_threads", {}), ("list_agents", {}), ("search", {"query": "secret"}), ("create_thread", {"title": "", "body": "b", "tag": "NONE"})):
            said = str(refused(council.does, ann, act, room=room, **more))
            assert said == str(refused(council.does, ann, act, room="nowhere", **more)).replace("nowhere", str(room).lower().lstrip("#")), said


@pytest.mark.parametrize("name, arguments", [(act, {}) for act in ("list_projects", "list_rooms", "agents_of", "events_since", "needs_you", "calibration", "file_access", "list_profiles")]
                         + [("create_project", {"folder": "/"}), ("create_agent", {"project_id": 1, "name": "x"}), ("update_room", {"id": 1, "paused": False}),
                            ("rotate_agent_key", {"id": 1}), ("set_agent_revoked", {"id": 1}), ("join_room", {"agent_id": 2, "room_id": 1}), ("set_awake", {"id": 2})])
def test_what_is_the_persons_is_no_act_of_an_agent(council, name, arguments):
    refusal = refused(council.does, council.agent("ann"), name, **arguments)
    assert number_of(refusal) == NOT_FOUND


@pytest.mark.parametrize("status", ["OPEN", "BLOCKED"])
def test_those_asked_answer_before_they_see_each_other_where_the_round_is_blind(council, status):
    """A blocked thread takes answers too, so its round goes on."""
    ann, bob = council.agent("ann"), council.agent("bob")
    thread = council.opens(body="@ann @bob ?", blind=True)
    council.act("set_thread_status", thread_id=thread, status=status)
    council.does(ann, "reply", thread_id=thread, body="ann's own view")
    before = council.does(bob, "get_thread", thread_id=thread)
    assert before["messages"] == [] and before["hidden_messages"] == 1
    assert len(council.act("get_thread", thread_id=thread)["messages"]) == 1
    council.does(bob, "reply", thread_id=thread, body="bob's own view")
    assert len(council.does(bob, "get_thread", thread_id=thread)["messages"]) == len(council.does(ann, "get_thread", thread_id=thread)["messages"]) == 2


def test_what_waits_for_the_person_is_listed_until_they_answer(council):
    ann = council.agent("ann")
    thread = council.opens(ann, body="@you may I?")
    assert [row["id"] for row in council.act("needs_you")] == [thread] and council.act("list_threads")[0]["waits_for_person"]
    council.act("reply", thread_id=thread, body="yes")
    assert council.act("needs_you") == []


def test_a_client_ref_finds_the_thread_of_a_lost_answer(council):
    ann = council.agent("ann")
    asked = {"title": "t", "body": "b", "tag": "FYI", "client_ref": "op-7"}
    first, again = council.does(ann, "create_thread", **asked), council.does(ann, "create_thread", **asked)
    assert first["thread_id"] == again["thread_id"] and first["opened"] and not again["opened"]
    assert len([event for event in council.events() if event["kind"] == "thread.created"]) == 1


def test_names_and_folders_are_taken_once_and_the_person_is_no_agent(council, tmp_path):
    council.agent("Ann")
    assert refused(council.agent, "aNN").code == "council_name_taken"
    assert refused(council.act, "create_room", project_id=council.project["id"], name="General").code == "council_name_taken"
    assert refused(council.act, "create_project", folder=str(council.folder)).code == "council_folder_taken"
    person = next(row for row in council.act("agents_of") if row["role"] == "HUMAN")
    for name in ("rotate_agent_key", "set_agent_revoked", "delete_agent", "set_awake"):
        assert refused(council.act, name, id=person["id"]).code == "council_person"
    for bad in ("everyone", " ", 7, "x" * 200):
        assert refused(council.act, "create_agent", project_id=council.project["id"], name=bad).code == "council_invalid"


def test_a_thread_needs_its_projects_folder(council):
    council.folder.rename(council.folder.with_name("elsewhere"))
    assert refused(council.opens).code == "council_folder_unreadable"


def test_a_file_of_a_later_release_is_left_alone(council):
    with council.forum.db.change():
        council.forum.db.insert("migration", number=99, name="later", at="2030-01-01T00:00:00.000Z")
    council.forum.db.close()
    assert refused(council.open).code == "council_newer"
    with sqlite3.connect(council.file) as db:                   # so that the fixture can close it
        db.execute("DELETE FROM migration WHERE number = 99")
    council.open()


def test_the_file_is_of_one_process_and_keeps_everything(council, tmp_path):
    ann, thread = council.agent("ann"), council.opens()
    assert refused(council.open).code == "council_in_use"
    before = council.act("get_thread", thread_id=thread)
    council.forum.db.close()
    council.open()
    assert council.act("get_thread", thread_id=thread) == before and council.forum.authenticate(council.keys["ann"]) == ann


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to look" * 100, b"SQLite format 3\0" + bytes(4_000)])
def test_a_damaged_file_is_refused_in_one_line(council, tmp_path, content):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "council.db").write_bytes(content)
    refusal = refused(Council, bad)
    assert refusal.code in ("council_damaged", "store_corrupt", "store_io")
