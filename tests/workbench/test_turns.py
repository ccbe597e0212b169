"""A turn of a conversation is what the Agent told, in small rows; the disk tells the rest.

Source  the Agent's event types (MCP surface, "HTTP service")
"""

import json

import pytest

from rulith.base.limits import RUN_STEPS_MAX, TALK_SAID_CHARS_MAX
from rulith.disk.saved_talk import SavedTalk
from rulith.disk.conversations import Conversations
from rulith.base.clock import ManualClock
from rulith.workbench.turns import CUT_SHORT, Turn, beyond_words, files_of, saved_row

AT, LATER = "2026-10-03T08:00:00.000Z", "2026-10-03T08:00:09.000Z"
OWNER = {"origin": "home", "accountId": "", "agentId": "agent_1"}


def turn(*events):
    made = Turn("turn_1", "orders", "do it", AT)
    rows = [row for event in ({"type": "task-start"}, *events) for row in made.take(event, AT)]
    return made, rows


def delta(text):
    return {"type": "model-delta", "text": text}


def page_of(rows):
    """What a page that heard `rows` holds: the head, and its parts."""
    head, parts = {}, {}
    for row in rows:
        head |= row.get("turn", {})
        if "part" in row:
            parts[row["part"]["n"]] = row["part"]
        elif "words" in row:
            before = parts.get(row["n"], {"n": row["n"], "kind": "said", "text": ""})
            assert len(before["text"]) == row["from"]
            parts[row["n"]] = {**before, "text": before["text"] + row["words"]}
    return {**head, "parts": [parts[n] for n in sorted(parts)]}


CALL = {"type": "tool-call", "callId": "c1", "cmd": "ApplyAction", "input": {"action": "acme.pay"}}
ANSWERS = [delta("I pay "), delta("now."), {"type": "propose", "say": "I pay now.", "calls": 1}, CALL,
           {"type": "held-call", "callId": "c1", "cmd": "ApplyAction", "state": "waiting_for_decision"},
           {"type": "tool-result", "callId": "c1", "cmd": "ApplyAction", "accepted": True, "output": {"result": {"status": "done"}}},
           {"type": "round", "round": 2}, delta("It is"), {"type": "propose", "say": "It is paid.", "calls": 0},
           {"type": "task-done", "outcome": "conversation", "note": "It is paid."}]


@pytest.mark.parametrize("many", range(len(ANSWERS) + 1))
def test_the_rows_add_up_to_the_turn_wherever_they_are_cut(many):
    made, rows = turn(*ANSWERS[:many])
    assert page_of(rows) == made.row()           # words too: before a pause there is nobody who would bring them later


def test_words_and_calls_keep_their_order_and_a_held_call_waits_with_its_state():
    made, _ = turn(*ANSWERS[:5])
    assert [(part["kind"], part.get("state")) for part in made.parts] == [("said", None), ("step", "waiting_for_decision")]
    made, _ = turn(*ANSWERS)
    assert [part.get("text") or part["state"] for part in made.parts] == ["I pay now.", "done", "It is paid."]
    assert (made.state, made.outcome, made.problem) == ("ended", "conversation", "")


def test_an_end_in_the_middle_leaves_the_open_call_unknown():
    made, _ = turn(CALL)
    rows = made.end("interrupted", CUT_SHORT, LATER)
    assert [row["part"]["state"] for row in rows if "part" in row] == ["unknown"]
    assert rows[-1]["turn"]["problem"] == CUT_SHORT


def test_what_never_ends_is_bounded():
    made, _ = turn(*[delta("x" * 9_999)] * 20)
    assert sum(len(part["text"]) for part in made.parts) == TALK_SAID_CHARS_MAX
    made, _ = turn(*({**CALL, "callId": f"c{n}"} for n in range(RUN_STEPS_MAX + 50)))
    assert len(made.parts) == RUN_STEPS_MAX


@pytest.mark.parametrize("event", [{"type": "model-delta"}, {"type": "model-delta", "text": 7}, {"type": "propose", "say": None}, {"type": "tool-result"},
                                   {"type": "held-call", "callId": []}, {"type": "nothing-known"}, {"type": 5}, {}])
def test_an_odd_event_changes_nothing(event):
    made, rows = turn(event)
    assert made.parts == [] and len(rows) == 1


def test_a_note_is_shown_only_where_it_says_more_than_the_words():
    said = [{"kind": "said", "text": "Done."}]
    assert beyond_words("Done.", said) == "" and beyond_words("Done.\nThe limit of 12 rounds is met.", said) == "The limit of 12 rounds is met."
    assert beyond_words("", said) == "" and beyond_words("It broke.", []) == "It broke."


def test_a_turn_that_nobody_runs_any_more_is_interrupted():
    row = saved_row({"id": "t", "sessionKey": "s", "text": "x", "at": AT, "state": "running", "replies": [{"text": "as far"}]}, False)
    assert (row["state"], row["outcome"], row["problem"], row["parts"][0]["text"]) == ("ended", "interrupted", CUT_SHORT, "as far")


def test_files_and_closed_cases_stand_with_their_turn_live_and_saved():
    """The workbench surface, §13: one closed Case each, with its disposition."""
    files = [{"name": "a.txt", "mediaType": "text/plain", "totalBytes": 3, "digest": "d"}]
    closed = [{"caseId": "case_1", "root": "root_1", "disposition": "void"}, {"caseId": "case_2"}, "odd"]
    made = Turn("turn_1", "orders", "do it", AT, attachments=files_of([{**files[0], "id": "mat_1"}, 5]))
    made.take({"type": "task-done", "outcome": "completed", "note": "", "closedCases": closed}, AT)
    wanted = [{"caseId": "case_1", "disposition": "void"}, {"caseId": "case_2", "disposition": "completed"}]
    saved = saved_row({"id": "t", "sessionKey": "s", "text": "x", "at": AT, "state": "finished", "attachments": files, "closedCases": closed}, False)
    for row in (made.row(), saved):
        assert (row["attachments"], row["closedCases"]) == (files, wanted)
    assert "attachments" not in turn()[0].row() and "closedCases" not in turn()[0].row()


def test_the_saved_store_is_read_while_its_writer_holds_it_and_damage_is_left_out(tmp_path):
    store = Conversations.open(tmp_path, OWNER, clock=ManualClock())
    saved = SavedTalk(tmp_path, OWNER)
    assert saved.heads() == []
    for number in range(3):
        store.accept({"id": f"turn_{number}", "sessionKey": "s", "text": f"words {number}", "at": f"2026-10-03T08:00:0{number}.000Z", "state": "queued"})
    store.archive("s", True)
    heads = saved.heads()
    assert [head.get("title") for head in heads if "id" in head] == ["words 0", "words 1", "words 2"]
    assert [head for head in heads if head.get("archived")] == [{"sessionKey": "s", "archived": True}]
    store.change("turn_1", text="other words")
    folder = next(tmp_path.glob("*.d"))
    (folder / ("0" * 64 + ".turn.json")).write_text("{")
    (folder / ("1" * 64 + ".turn.json")).write_text(json.dumps({"id": 5}))
    now = [head for head in saved.heads() if "id" in head]
    assert [head["title"] for head in now] == ["words 0", "other words", "words 2"]
    assert saved.turn(now[0]["name"])["text"] == "words 0" and saved.turn("0" * 64 + ".turn.json") is None
    store.close()
