"""Lists of threads: one query however long they are, and the state `waiting for a person`. Duty: the council surface, "Data model"; people first."""

from __future__ import annotations


def counted(council, act: str) -> tuple[int, int]:
    """(queries, rows) of one list of the person."""
    asked, db = [], council.forum.db
    plain = (db.one, db.all)
    db.one, db.all = (lambda query, *values, ask=ask: asked.append(query) or ask(query, *values) for ask in plain)
    try:
        rows = council.act(act)
        return len(asked), len(rows)
    finally:
        db.one, db.all = plain


def test_a_list_costs_the_same_number_of_queries_however_long_it_is(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    found = {}
    for length in (1, 40):
        while len(council.act("list_threads", limit=200)) < length:
            thread = council.opens(ann, body="@you and @bob")
            council.does(bob, "claim_thread", thread_id=thread)
        found[length] = [counted(council, act) for act in ("list_threads", "needs_you")]
    assert [queries for queries, _ in found[1]] == [queries for queries, _ in found[40]]
    assert [[rows for _, rows in found[length]] for length in (1, 40)] == [[1, 1], [40, 40]]
    assert len(council.does(bob, "list_threads", limit=200)) == 40


def test_a_list_holds_no_text_of_a_topic(council):
    council.opens(body="a long topic @ann")
    (row,) = council.act("list_threads")
    assert "body" not in row and not any("long topic" in str(value) for value in row.values())


def test_what_waits_for_the_person_waits_until_they_speak_or_it_ends(council):
    ann, bob = council.agent("ann"), council.agent("bob")

    def waiting() -> list[int]:
        rows = {row["id"]: row["waits_for_person"] for row in council.act("list_threads", status="all")}
        needs = [row["id"] for row in council.act("needs_you")]
        assert sorted(each for each, waits in rows.items() if waits) == sorted(needs)
        return needs

    own = council.opens(body="@ann what now?")
    assert waiting() == []                                   # the person waits, not the others for the person
    council.clock.advance(1)
    council.does(ann, "reply", thread_id=own, body="so")
    council.clock.advance(1)
    asked = council.opens(bob, body="@you decide")
    assert waiting() == [own, asked]                         # the longest waiting first
    council.clock.advance(1)
    council.does(bob, "reply", thread_id=asked, body="still there, @ann?")
    assert waiting() == [own, asked]
    council.does(bob, "set_thread_status", thread_id=asked, status="BLOCKED")
    assert waiting() == [own, asked]
    council.act("reply", thread_id=asked, body="do it")
    assert waiting() == [own]
    council.does(ann, "reply", thread_id=asked, body="done")
    assert waiting() == [own, asked]
    council.act("resolve_thread", thread_id=own, summary="so", status="RESOLVED")
    council.act("set_thread_status", thread_id=asked, status="WONTFIX")
    assert waiting() == []
    assert council.opens(bob, body="@ann alone") and waiting() == []


def test_who_is_at_it_counts_only_fresh_claims_of_agents_that_have_said_nothing(council):
    ann, bob, eve = (council.agent(name) for name in ("ann", "bob", "eve"))
    thread = council.opens(body="@everyone")
    for each in (ann, bob, eve):
        council.does(each, "claim_thread", thread_id=thread, note="at it")
        council.clock.advance(100)
    assert council.act("list_threads")[0]["in_progress"] == 3
    council.does(bob, "reply", thread_id=thread, body="done")
    council.does(bob, "claim_thread", thread_id=thread)
    assert council.act("list_threads")[0]["in_progress"] == 2
    council.clock.advance(1)
    assert council.act("list_threads")[0]["in_progress"] == 1       # ann went quiet
    council.act("set_agent_revoked", id=eve.agent_id)
    assert council.act("list_threads")[0]["in_progress"] == 0
    assert council.act("get_thread", thread_id=thread)["in_progress"] == 0


def test_what_waits_for_an_agent_is_found_by_the_same_number_of_queries_however_much_it_is(council):
    ann, bob = council.agent("ann"), council.agent("bob")
    found = {}
    for length in (1, 30):
        while len(council.forum.waiting_set(bob.agent_id)) < length:
            council.does(ann, "create_thread", title="t", body="@bob", tag="FYI", room=council.room)
        asked, db = [], council.forum.db
        plain = db.all
        db.all = lambda query, *values: asked.append(query) or plain(query, *values)
        assert len(council.forum.waiting_set(bob.agent_id)) == length
        db.all = plain
        found[length] = len(asked)
    assert found[1] == found[30]


def test_ten_times_a_tenth_is_the_cap(council):
    """Past doubt: sums of fractions fall short by a hair, and let one more pass."""
    ann = council.agent("ann")
    council.act("update_room", id=council.room, cost_cap_usd=1.0, max_replies_per_agent=20)
    thread = council.opens()
    for _ in range(10):
        council.does(ann, "reply", thread_id=thread, body="x", cost_usd=0.1)
    assert council.act("list_rooms")[0]["spent_usd"] == 1.0 and not council.forum.is_wakeable(ann.agent_id, thread)
    council.act("reply", thread_id=thread, body="and?")
    assert council.forum.waiting_set(ann.agent_id) == []
    council.act("update_room", id=council.room, cost_cap_usd=1.1)
    assert council.forum.waiting_set(ann.agent_id) == [thread]
