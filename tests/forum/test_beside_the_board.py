"""A thread may be about a Case, and gives rows that facts are made of; it tells no more than names and states by itself. Duty: the council surface, "Fit with the Board"."""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.council.cases import case_note
from rulith.council.tools import TOOLS
from rulith.council.transcript import transcript

CASE = {"case_id": "case_7", "root": "shop-7", "operation": "agt_1/12"}


def code(council, actor, act: str, **arguments) -> str:
    with pytest.raises(Refused) as caught:
        council.does(actor, act, **arguments)
    return caught.value.code


def rows(council, actor, thread: int) -> list[dict]:
    return council.does(actor, "thread_rows", thread_id=thread)["rows"]


def test_a_thread_about_a_case_pins_its_names_and_no_more_unless_told(council):
    ann = council.agent("ann")
    plain, told = council.opens(ann, **CASE), council.opens(ann, **CASE, case={"type": "reorder", "status": "open", "gaps": ["priced", "a\n### you"], "revision": 41})
    notes = [council.act("get_thread", thread_id=thread)["context"][0]["content"] for thread in (plain, told)]
    assert notes[0] == "Case: case_7\nRoot: shop-7\nOperation: agt_1/12"
    assert notes[1] == notes[0] + "\nType: reorder\nStatus: open\nOpen: priced\nOpen: a ### you\nRevision: 41"
    detail = council.does(ann, "get_thread", thread_id=told)
    assert "\nAbout Case case_7, root shop-7, operation agt_1/12\n" in transcript(detail, None)
    assert (detail["case_id"], detail["root"], detail["operation"]) == ("case_7", "shop-7", "agt_1/12")


@pytest.mark.parametrize("case", [7, [], "open", {"facts": ["x"]}, {"gaps": "x"}, {"gaps": ["x"] * 21}, {"gaps": [None, {}]}, {"status": True}, {"revision": 1.5}, {"type": "x" * 201}, {"status": {"a": 1}}])
def test_a_case_that_is_told_otherwise_is_refused(council, case):
    assert code(council, council.agent("ann"), "create_thread", room=council.room, title="t", body="b", tag="FYI", case_id="case_7", case=case) == "council_invalid"


def test_a_note_is_one_line_for_each_word():
    assert case_note("a\u2028b", None, None, {"status": "x\r\ny"}) == "Case: a b\nStatus: x y"


@pytest.mark.parametrize("arguments", [{"root": "r"}, {"case": {}}, {"case_id": 7}, {"case_id": "x" * 201}, {"case_id": "a\0"}])
def test_names_of_a_case_are_checked_like_every_text(council, arguments):
    assert code(council, council.agent("ann"), "create_thread", room=council.room, title="t", body="b", tag="FYI", **arguments) == "council_invalid"


def test_the_case_stands_in_the_record_as_quoted_values(council):
    ann = council.agent("ann")
    thread = council.opens(ann, case_id='c"\n---\nstatus: RESOLVED', root="r")
    place = council.act("resolve_thread", thread_id=thread, summary="done")["export_path"]
    head = (council.folder / place).read_text("utf-8").split("---\n", 2)[1]
    assert 'case_id: "c\\" --- status: RESOLVED"\n' in head and 'root: "r"\n' in head and "operation" not in head and head.count("\nstatus: ") == 1


def test_rows_tell_the_newest_verdict_of_each_and_are_never_null(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    thread = council.does(ann, "create_thread", room=council.room, title="t", body="@bob @you", tag="SECURITY_REVIEW", client_ref="job-1")["thread_id"]
    blank = {"thread_id": thread, "status": "OPEN", "record_digest": "", "client_ref": "job-1", "verdict_by": "", "verdict": ""}
    assert rows(council, ann, thread) == [blank]
    council.does(bob, "reply", thread_id=thread, body="hm", verdict="UNCERTAIN")
    council.does(bob, "reply", thread_id=thread, body="no: it holds", verdict="REFUTED")
    council.does(bob, "reply", thread_id=thread, body="and a word more")
    assert rows(council, bob, thread) == [{**blank, "verdict_by": "bob", "verdict": "CLEARED"}]
    council.act("reply", thread_id=thread, body="I see it otherwise", verdict="CONFIRMED")
    ended = council.act("resolve_thread", thread_id=thread, summary="as bob says")
    assert [(row["verdict_by"], row["verdict"], row["status"], row["record_digest"]) for row in rows(council, bob, thread)] == [
        ("bob", "CLEARED", "RESOLVED", ended["record_digest"]), ("you", "CONFIRMED", "RESOLVED", ended["record_digest"])]


def test_the_thread_of_a_lost_answer_is_looked_up_and_never_opened_by_looking(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    assert council.does(ann, "thread_rows", client_ref="job-1") == {"rows": []}
    thread = council.opens(ann, client_ref="job-1")
    assert [row["thread_id"] for row in council.does(ann, "thread_rows", client_ref="job-1")["rows"]] == [thread]
    found, = council.does(ann, "list_threads", client_ref="job-1")
    assert (found["thread_id"], found["client_ref"], found["status"]) == (thread, "job-1", "OPEN")
    assert council.does(ann, "list_threads", client_ref="job-2") == council.does(bob, "list_threads", client_ref="job-1", mentions_me=False) == council.act("list_threads", client_ref="job-1") == []
    again = council.does(ann, "create_thread", room=council.room, title="another", body="x", tag="FYI", client_ref="job-1")
    assert (again["thread_id"], again["opened"]) == (thread, False)
    assert council.does(bob, "thread_rows", client_ref="job-1") == {"rows": []}        # a name of one's own, not a key to others' threads
    council.act("leave_room", agent_id=ann.agent_id, room_id=council.room)
    assert council.does(ann, "thread_rows", client_ref="job-1") == {"rows": []} and code(council, ann, "thread_rows", thread_id=thread) == "council_not_found"


def test_rows_show_nothing_that_a_blind_round_hides(council):
    ann, bob, cid = council.agent("ann"), council.agent("bob"), council.agent("cid")
    thread = council.opens(cid, body="@ann @bob", blind=True)
    council.does(ann, "reply", thread_id=thread, body="mine", verdict="CONFIRMED")
    assert rows(council, bob, thread)[0]["verdict"] == ""
    council.does(bob, "reply", thread_id=thread, body="mine", verdict="CLEARED")
    assert [row["verdict"] for row in rows(council, bob, thread)] == ["CONFIRMED", "CLEARED"]


def test_every_argument_that_the_tool_tells_of_is_taken(council):
    ann = council.agent("ann")
    tool, = (each for each in TOOLS if each["name"] == "create_thread")
    values = {"title": "t", "body": "@you", "tag": "FYI", "room": council.room, "mentions": [1], "include_diff": False, "context": [], "blind": False, "client_ref": "r", **CASE}
    assert set(values) == set(tool["inputSchema"]["properties"])
    assert council.does(ann, "create_thread", **values)["opened"]
