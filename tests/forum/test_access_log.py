"""The log of looks is bounded, and what is let go is counted where the person sees it. Duty: a limit on everything; the council surface, "Files, git, search"."""

from __future__ import annotations

import sqlite3

import pytest

from rulith.base.errors import Refused
from rulith.forum import access
from rulith.store import council_schema


@pytest.fixture
def short(council, monkeypatch):
    """Keeps five looks of each agent, and three that were refused."""
    monkeypatch.setattr(access, "COUNCIL_LOOKS_KEPT", 5)
    monkeypatch.setattr(access, "COUNCIL_REFUSED_LOOKS_KEPT", 3)
    return council


def looks(council, agent, *paths: str, allowed: bool = True) -> None:
    for path in paths:
        council.clock.advance(1)
        council.forum.note_access(agent, None, "read", path, allowed, "" if allowed else "no")


def kept(council, agent) -> list[str]:
    return [row["path"] for row in council.act("file_access", agent_id=agent.agent_id)]


def test_of_each_agent_the_newest_looks_are_kept_and_no_harmless_one_hides_a_refused_one(short):
    ann, bob = short.agent("ann"), short.agent("bob")
    looks(short, ann, ".env", allowed=False)
    looks(short, bob, "b1")
    looks(short, ann, *(f"a{number}" for number in range(9)))
    assert kept(short, ann) == ["a8", "a7", "a6", "a5", "a4", ".env"] and kept(short, bob) == ["b1"]
    looks(short, ann, "k1", "k2", "k3", allowed=False)
    assert kept(short, ann)[:3] == ["k3", "k2", "k1"] and ".env" not in kept(short, ann)
    found = short.act("file_access_dropped")
    assert [(row["name"], row["allowed"], row["count"]) for row in found] == [("ann", False, 1), ("ann", True, 4)]
    assert found[0]["newest_at"] < found[1]["newest_at"] and short.act("file_access_dropped", agent_id=bob.agent_id) == []
    looks(short, ann, "one more")
    assert short.act("file_access_dropped", agent_id=ann.agent_id)[1]["count"] == 5


def test_the_count_goes_with_its_agent_and_is_the_persons(short):
    ann = short.agent("ann")
    looks(short, ann, *"abcdefg")
    with pytest.raises(Refused) as refused:
        short.does(ann, "file_access_dropped")
    assert refused.value.code == "council_not_found"
    short.act("delete_agent", id=ann.agent_id)
    assert short.act("file_access_dropped") == [] and short.act("file_access") == []


def test_a_file_of_before_is_taken_on_with_all_its_looks_and_spends(council):
    ann = council.agent("ann")
    looks(council, ann, "a", "b")
    for cost_usd in (0.25, 0.5):
        council.does(ann, "reply", thread_id=council.opens(), body="x", cost_usd=cost_usd)
    council.forum.db.close()
    with sqlite3.connect(council.file) as db:                # as the first step had left it
        db.execute("DROP TABLE file_access_dropped")
        db.execute("DROP INDEX access_agent")
        db.execute("ALTER TABLE thread DROP COLUMN supervised")
        db.execute("ALTER TABLE room DROP COLUMN spent_usd")
        db.execute("DELETE FROM migration WHERE number > 1")
    council.open()
    assert kept(council, ann) == ["b", "a"] and council.act("file_access_dropped") == []
    assert council.act("list_rooms")[0]["spent_usd"] == 0.75
    assert council.forum.db.value("SELECT max(number) FROM migration") == council_schema.NEWEST
