"""MCP server sessions as a function of messages: initialize, takeover, replays."""

from __future__ import annotations

import itertools

import pytest

from rulith.wire.mcp_server import (CALLS_KEPT_MAX, REPLACED_KEPT_MAX, Rejected, Sessions, call_key, check_initialize)

REQUIRED = {"package": "rulith", "version": "9.9.9", "install": "npm install --global rulith@9.9.9"}


def params(date="2025-11-25", experimental=None):
    found = {"protocolVersion": date, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    if experimental is not None:
        found["capabilities"]["experimental"] = experimental
    return found


V3 = {"rulith/v3": {"heldCalls": 1}}


@pytest.mark.parametrize("date, experimental", [
    ("2025-11-25", V3), ("2025-11-25", None), ("2025-06-18", None), ("2025-06-18", {"other/thing": {}}),
])
def test_an_acceptable_initialize_is_served_in_its_own_date(date, experimental):
    """The surface's own clients speak one date; tools-only hosts may speak the older one too."""
    found, declares, client = check_initialize(params(date, experimental), 1, REQUIRED)
    assert found == date and declares == (experimental is V3) and client == "x"


@pytest.mark.parametrize("date, experimental, reason", [
    ("2025-06-18", V3, "unsupported_protocol"), ("2024-11-05", None, "unsupported_protocol"), ("2026-07-28", None, "unsupported_protocol"),
    ("2025-11-25", {"rulith/v1": {}}, "incompatible_client"), ("2025-11-25", {"rulith/v2": {"heldCalls": 1}}, "incompatible_client"),
    ("2025-11-25", {"rulith/v3": {"heldCalls": 2}}, "incompatible_client"), ("2025-11-25", {"rulith/v3": {}}, "incompatible_client"),
    ("2025-11-25", {"rulith/v3": {"heldCalls": True}}, "incompatible_client"),
    ("2025-11-25", {"rulith/v3": {"heldCalls": 1, "more": 1}}, "incompatible_client"),
    ("2025-11-25", {**V3, "rulith/v2": {}}, "incompatible_client"),
])
def test_another_edition_or_date_is_refused_with_the_client_it_needs(date, experimental, reason):
    with pytest.raises(Rejected) as rejected:
        check_initialize(params(date, experimental), "id-1", REQUIRED)
    body = rejected.value.body
    assert rejected.value.status == 400 and body["id"] == "id-1"
    assert body["error"]["code"] == -32000 and body["error"]["data"] == {"reason": reason, "requiredClient": REQUIRED}


@pytest.mark.parametrize("bad", [None, [], {}, {"protocolVersion": 1}])
def test_an_initialize_without_a_date_is_malformed(bad):
    with pytest.raises(Rejected) as rejected:
        check_initialize(bad, 1, None)
    assert rejected.value.body["error"]["code"] == -32602


def table():
    counter = itertools.count()
    sessions = Sessions()
    return sessions, lambda agent="a": sessions.open(agent, params(), 0, mint=lambda: f"s{next(counter)}")


def test_a_second_initialize_takes_over_and_the_first_hears_why():
    sessions, connect = table()
    first, none = connect()
    second, before = connect()
    assert none is None and before is first and first.replaced and not second.replaced
    assert sessions.effective("a") is second
    with pytest.raises(Rejected) as rejected:
        sessions.check_current(sessions.find("a", first.id, 7), 7)
    assert rejected.value.status == 409
    assert rejected.value.body["error"]["data"] == {"reason": "connection_replaced", "requestExecuted": False}


def test_a_resent_call_on_a_replaced_session_never_hears_that_nothing_ran():
    sessions, connect = table()
    first, _ = connect()
    first.begin("u1").ordinal = 4
    connect()
    with pytest.raises(Rejected) as rejected:
        sessions.check_current(first, "u1")
    assert rejected.value.body["error"]["data"] == {"reason": "connection_replaced", "ordinal": 4}


def test_a_refused_initialize_replaces_nobody():
    sessions, connect = table()
    first, _ = connect()
    with pytest.raises(Rejected):
        sessions.open("a", params("1999-01-01"), 0, mint=lambda: "never")
    assert sessions.effective("a") is first and not first.replaced


def test_sessions_of_another_agent_are_unknown():
    sessions, connect = table()
    first, _ = connect("a")
    connect("b")
    assert not first.replaced
    with pytest.raises(Rejected) as rejected:
        sessions.find("b", first.id, 1)
    assert rejected.value.status == 404
    with pytest.raises(Rejected) as rejected:
        sessions.find("a", None, 1)
    assert rejected.value.status == 400


def test_an_ended_session_is_unknown_afterwards():
    sessions, connect = table()
    first, _ = connect()
    sessions.end(first)
    assert sessions.effective("a") is None
    with pytest.raises(Rejected):
        sessions.find("a", first.id, 1)


def test_ids_are_compared_by_type_and_value():
    assert call_key(1) != call_key("1")
    sessions, connect = table()
    session, _ = connect()
    session.begin(1)
    assert session.known("1") is None and session.known(1) is not None


def test_answered_calls_are_forgotten_past_the_bound_and_running_ones_kept():
    _, connect = table()
    session, _ = connect()
    running = session.begin("running")
    for number in range(CALLS_KEPT_MAX * 2):
        session.begin(number).answer = {}
    assert len(session.calls) <= CALLS_KEPT_MAX + 1
    assert session.known("running") is running and session.known(0) is None


@pytest.mark.parametrize("ids", [
    [f"call-{n}" for n in range(30_000)], list(range(30_000)), list(range(0, 60_000, 2)), list(range(30_000, 0, -1)), [n if n % 3 else f"{n}" for n in range(30_000)],
    [n + 0.5 for n in range(30_000)], [*range(-2**53, -2**53 + 50), *range(2**53 - 50, 2**53 + 50), 2**70, -2**70, *range(20_000)]],
    ids=["texts", "counted", "every second", "downwards", "mixed", "fractions", "at the ends"])
def test_the_ids_of_the_last_ten_thousand_calls_are_remembered_whatever_they_look_like(ids):
    """None of them runs a second time, none that was never sent is taken for one, and memory is bounded."""
    _, connect = table()
    session, _ = connect()
    for each in ids:
        session.begin(each).answer = {}
    gone = ids[:-CALLS_KEPT_MAX]
    assert all(session.is_forgotten(each) for each in gone[-10_000:]) and len(session.forgotten) <= 20_000
    assert not any(map(session.is_forgotten, [ids[-1], "never", -7, 60_001, 59_999.25, None, True, 2**80, *([1, 3] if ids[1] == 2 else [])]))


def test_a_client_that_counts_costs_two_numbers_and_a_late_answer_leaves_no_hole():
    _, connect = table()
    session, _ = connect()
    late = session.begin(5)
    for number in range(6, 200_000):
        session.begin(number).answer = {}
    late.answer = {}
    session.begin(200_000).answer = {}
    assert len(session.forgotten) == 2 and session.is_forgotten(5) and session.is_forgotten(6) and not session.is_forgotten(4)


def test_replaced_sessions_are_remembered_up_to_a_bound():
    sessions, connect = table()
    every = [connect()[0] for _ in range(REPLACED_KEPT_MAX + 3)]
    with pytest.raises(Rejected) as rejected:
        sessions.find("a", every[0].id, 1)
    assert rejected.value.status == 404
    assert sessions.find("a", every[-2].id, 1) is every[-2]
