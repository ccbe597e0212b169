"""Saved conversations: whole, bounded, one writer, nothing run twice, nothing repaired.

Source  the MCP surface, "History files"; the workbench surface, "Conversations"
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.disk import atomic, conversations
from rulith.disk.conversations import Conversations, owner_digest
from tests.conftest import ROOT

OWNER = {"origin": "http://127.0.0.1:7781", "accountId": "", "agentId": "agent_1"}


def turn(number=1, session="s1", state="queued", **more):
    return {"id": f"turn_{number}", "sessionKey": session, "text": f"words {number}", "at": f"2026-10-03T08:00:{number:02d}.000Z",
            "state": state, "replies": [], "requestId": f"request-number-{number:04d}", **more}


@pytest.fixture
def store(tmp_path):
    """Open the store anew; the one before is closed."""
    held = []

    def open_it(owner=OWNER):
        while held:
            held.pop().close()
        held.append(Conversations.open(tmp_path / "c", owner, clock=ManualClock()))
        return held[-1]
    yield open_it
    while held:
        held.pop().close()


def folder(tmp_path):
    return tmp_path / "c" / f"{owner_digest(OWNER)}.json.d"


def test_the_files_have_the_names_and_formats_of_the_surface(store, tmp_path):
    kept = store()
    kept.accept(turn())
    kept.archive("s1", True)
    kept.keep_unread({"s1": [{"tool": "ApplyAction", "label": "ApplyAction x", "at": "t", "state": "running", "unread": True}]})
    digest = hashlib.sha256(b'["http://127.0.0.1:7781","","agent_1"]').hexdigest()
    place = tmp_path / "c" / f"{digest}.json.d"
    assert json.loads((place / "_complete.json").read_text()) == {
        "format": "rulith-conversations/2", "owner": OWNER, "sourceSha256": "", "migratedTurns": 0}
    assert json.loads((place / f"{hashlib.sha256(b'turn_1').hexdigest()}.turn.json").read_text())["text"] == "words 1"
    assert json.loads((place / f"{hashlib.sha256(b's1').hexdigest()}.session.json").read_text()) == {"sessionKey": "s1", "archived": True}
    unread = json.loads((place / "_unread-outcomes.json").read_text())
    assert (unread["format"], unread["owner"], list(unread["conversations"])) == ("rulith-unread-outcomes/1", OWNER, ["s1"])


def test_what_was_accepted_and_finished_is_there_after_a_restart(store):
    kept = store()
    kept.accept(turn())
    kept.change("turn_1", state="finished", replies=[{"text": "done", "at": "later"}])
    again = store()
    assert again.turns_of("s1")[0]["replies"][0]["text"] == "done"
    assert again.of_request("request-number-0001")["id"] == "turn_1" and again.of_request("other") is None


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_turn_that_was_under_way_is_interrupted_and_stays_so(store, state):
    store().accept(turn(state=state))
    for _ in range(2):
        found = store().turn("turn_1")
        assert (found["state"], found["outcome"]) == ("interrupted", "interrupted")


def test_conversations_are_listed_by_their_newest_turn(store):
    kept = store()
    for number, session in enumerate(("a", "b", "a", "c"), 1):
        kept.accept(turn(number, session))
    assert kept.session_keys() == ["c", "a", "b"]
    assert [row.id for row in kept.rows_of("a")] == ["turn_1", "turn_3"]


def test_one_writer_at_a_time(store, tmp_path):
    store()
    with pytest.raises(Refused) as refused:
        Conversations.open(tmp_path / "c", OWNER, clock=ManualClock())
    assert refused.value.code == "history_unusable" and str(os.getpid()) in str(refused.value)


def test_two_agents_have_two_stores(store, tmp_path):
    store().accept(turn())
    other = Conversations.open(tmp_path / "c", {**OWNER, "agentId": "agent_2"}, clock=ManualClock())
    assert other.session_keys() == []
    other.close()


def test_an_older_single_file_is_taken_over_once_and_kept(store, tmp_path):
    (tmp_path / "c").mkdir()
    old = tmp_path / "c" / f"{owner_digest(OWNER)}.json"
    old.write_text(json.dumps({"format": "rulith-conversations/1", "owner": OWNER, "turns": [turn(1, state="finished"), turn(2, state="running")]}))
    before = old.read_bytes()
    kept = store()
    assert [each["state"] for each in kept.turns_of("s1")] == ["finished", "interrupted"]
    complete = json.loads((folder(tmp_path) / "_complete.json").read_text())
    assert complete["sourceSha256"] == hashlib.sha256(before).hexdigest() and complete["migratedTurns"] == 2
    kept.change("turn_1", note="since")
    assert store().turn("turn_1")["note"] == "since" and old.read_bytes() == before


def _damage(place, name, content):
    (place / name).write_text(content)


DAMAGES = {
    "torn": lambda place: _damage(place, hashlib.sha256(b"turn_1").hexdigest() + ".turn.json", '{"id": "tu'),
    "no object": lambda place: _damage(place, hashlib.sha256(b"turn_1").hexdigest() + ".turn.json", "[]"),
    "no id": lambda place: _damage(place, "0.turn.json", json.dumps({**turn(3), "id": ""})),
    "misplaced": lambda place: _damage(place, "0.turn.json", json.dumps(turn(3))),
    "unknown state": lambda place: _damage(place, hashlib.sha256(b"turn_3").hexdigest() + ".turn.json", json.dumps(turn(3, state="lost"))),
    "replies": lambda place: _damage(place, hashlib.sha256(b"turn_3").hexdigest() + ".turn.json", json.dumps(turn(3, replies=["x"]))),
    "request id": lambda place: _damage(place, hashlib.sha256(b"turn_3").hexdigest() + ".turn.json", json.dumps({**turn(3), "requestId": 3})),
    "doubled": lambda place: _damage(place, hashlib.sha256(b"turn_3").hexdigest() + ".turn.json",
                                     json.dumps({**turn(3, state="finished"), "requestId": "request-number-0001"})),
    "foreign": lambda place: _damage(place, "_complete.json", json.dumps({"format": "rulith-conversations/2", "owner": {**OWNER, "agentId": "x"}})),
    "later format": lambda place: _damage(place, "_complete.json", json.dumps({"format": "rulith-conversations/3", "owner": OWNER})),
    "switch gone": lambda place: (place / "_complete.json").unlink(),
    "session": lambda place: _damage(place, "0.session.json", '{"sessionKey": "s1", "archived": true}'),
    "unread": lambda place: _damage(place, "_unread-outcomes.json", json.dumps(
        {"format": "rulith-unread-outcomes/1", "owner": OWNER, "conversations": {"s1": [1]}})),
    "deep": lambda place: _damage(place, hashlib.sha256(b"turn_1").hexdigest() + ".turn.json", "[" * 200_000),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_refuses_and_nothing_in_it_changes(store, tmp_path, damage):
    kept = store()
    kept.accept(turn(1))
    kept.change("turn_1", state="finished")
    kept.close()
    DAMAGES[damage](folder(tmp_path))
    before = {path.name: path.read_bytes() for path in folder(tmp_path).iterdir()}
    with pytest.raises(Refused) as refused:
        Conversations.open(tmp_path / "c", OWNER, clock=ManualClock())
    assert refused.value.code == "history_unusable" and str(folder(tmp_path)) in str(refused.value)
    assert {path.name: path.read_bytes() for path in folder(tmp_path).iterdir()} == before


def test_a_write_that_never_took_its_name_is_cleared_away(store, tmp_path):
    store().accept(turn(state="finished"))
    (folder(tmp_path) / "x.turn.json.0123456789abcdef.tmp").write_text("half")
    assert store().session_keys() == ["s1"]
    assert not list(folder(tmp_path).glob("*.tmp"))


def test_the_active_turns_are_bounded_and_archiving_makes_room(store, monkeypatch):
    monkeypatch.setattr(conversations, "HISTORY_ACTIVE_TURNS_MAX", 2)
    kept = store()
    kept.accept(turn(1, "a", "finished"))
    kept.accept(turn(2, "b", "finished"))
    with pytest.raises(Refused) as refused:
        kept.accept(turn(3, "b"))
    assert refused.value.code == "history_full" and kept.of_request("request-number-0003") is None
    kept.archive("a", True)
    kept.accept(turn(3, "b"))


def test_room_is_reserved_for_the_end_of_every_turn_under_way(store, monkeypatch):
    monkeypatch.setattr(conversations, "HISTORY_ACTIVE_BYTES_MAX", 2 * conversations.HISTORY_RESERVED_BYTES + 10_000)
    kept = store()
    kept.accept(turn(1))
    kept.accept(turn(2))
    with pytest.raises(Refused):
        kept.accept(turn(3))
    kept.change("turn_1", state="finished")
    kept.accept(turn(3))


def test_one_turn_is_bounded(store, monkeypatch):
    kept = store()
    kept.accept(turn())
    monkeypatch.setattr(conversations, "HISTORY_FILE_BYTES_MAX", 5_000)
    with pytest.raises(Refused) as refused:
        kept.change("turn_1", replies=[{"text": "x" * 6_000, "at": ""}])
    assert refused.value.code == "history_full" and kept.turn("turn_1")["replies"] == []


def test_a_full_disk_leaves_what_was_there(store, monkeypatch):
    kept = store()
    kept.accept(turn())

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(atomic.os, "replace", full)
    with pytest.raises(Refused) as refused:
        kept.change("turn_1", state="finished")
    assert refused.value.code == "disk_full"
    with pytest.raises(Refused):
        kept.accept(turn(2))
    monkeypatch.undo()
    assert kept.turn("turn_1")["state"] == "queued" and kept.of_request("request-number-0002") is None


def test_any_text_survives(store):
    text = "\x00 ‮ 😀 " + chr(0xD800) + ' "\\'
    store().accept(turn(text=text, state="finished"))
    assert store().turn("turn_1")["text"] == text


def test_unread_outcomes_are_bounded_and_empty_ones_go(store):
    kept = store()
    kept.keep_unread({"a": [{"label": str(number)} for number in range(100)], "b": []})
    again = store()
    assert list(again.unread) == ["a"] and len(again.unread["a"]) == 64 and again.unread["a"][-1] == {"label": "99"}


def test_a_killed_writer_leaves_only_whole_turns(tmp_path):
    """A program that writes without pause is killed; what it left opens, and its open turn is interrupted."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from rulith.base.clock import SystemClock
from rulith.disk.conversations import Conversations
kept = Conversations.open({str(tmp_path / "c")!r}, {OWNER!r}, clock=SystemClock())
kept.accept({turn()!r})
print("go", flush=True)
for number in range(10 ** 9):
    kept.change("turn_1", state="running", replies=[{{"text": "x" * (number % 5000), "at": ""}}])
"""
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"go\n"
        child.kill()
        child.wait(20)
        child.stdout.close()
        kept = Conversations.open(tmp_path / "c", OWNER, clock=ManualClock())
        assert kept.turn("turn_1")["state"] == "interrupted"
        kept.close()
        (next(folder(tmp_path).glob("*.turn.json"))).unlink()
