"""Boards as a fold of their ledger: what comes back, what is refused, what a failed commit leaves.

Duty: design D5 and D7; `rulith board --db`.
"""

from __future__ import annotations

import random

import pytest

from rulith.board.space import outcome
from rulith.gateway.board_store import CHAIN, BoardBroken
from rulith.rules.program import Limits
from rulith.store.failures import StoreFailed
from rulith.store.memory import MemoryLedger
from tests.board_server.conftest import COST, INVOICE, LINES, TOTAL, Desk

GRAND = {"predicate": "grand", "args": {"value": "?v"}}


def states(desk: Desk) -> dict:
    """Everything that a Board shows, ids and moments included."""
    return {space_id: (outcome.state(space), sorted((node.id, node.seq, node.status, node.created_at, node.label) for node in space.nodes.values()),
                       space.title, space.scopes, space.updated_at) for space_id, space in desk.boards.spaces.items()}


def calls(desk: Desk) -> list[str]:
    return [row.body["call"] for row in desk.boards._ledger.rows(CHAIN) if row.kind == "call"]


def work_a_case(desk: Desk) -> None:
    desk.text("declare_task", root="invoice", leaves=[{"node": "total", "acceptance": GRAND}])
    desk.do(*INVOICE)
    desk.do({"op": "define_action", "action": "ship", "preconditions": [{"predicate": "line", "args": {"item": "?i"}}],
             "effects": [{"predicate": "shipped", "args": {"item": "?i"}}, {"predicate": "line", "args": {"item": "?i"}, "negated": True}]})
    desk.text("request_action", action="ship", args={"item": "a"})
    desk.do({"op": "record_result", "label": "total", "evidenceRefs": ["derived:grand|value:10093"]})
    desk.text("complete_task", root="invoice")
    desk.text("solve", variables=[{"name": "x", "domain": [1, 2]}])
    desk.text("create_space", title="Next", scopes=["s"], seedFromSpaceId="main")


def test_opening_again_gives_the_same_boards_to_the_last_id():
    ledger = MemoryLedger()
    first = Desk(ledger)
    work_a_case(first)
    again = Desk(ledger)
    assert states(again) == states(first)
    assert calls(again)[:2] == ["create_space", "declare_task"]
    again.text("update_working_memory", spaceId="main", operations=[{"op": "assert_fact", "predicate": "p"}])
    assert states(Desk(ledger)) == states(again)


def test_what_changes_nothing_leaves_no_row():
    ledger = MemoryLedger()
    desk = Desk(ledger)
    desk.text("get_logic_context")
    desk.code("update_working_memory", operations=[{"op": "drop"}])
    assert calls(desk) == []
    desk.do(*INVOICE, {"op": "define_action", "id": "A", "action": "a", "preconditions": [{"predicate": "no"}], "effects": []})
    before = calls(desk)
    for name, arguments in (("apply_action", {"actionNodeId": "A"}), ("apply_plan", {"actionNodeIds": ["A"]}), ("simulate_action", {"actionNodeId": "A"}),
                            ("solve", {"variables": [{"name": "x", "domain": [1]}], "commit": False}), ("update_working_memory", {"operations": []}),
                            ("explain_fact", {"factNodeId": "L1", "mode": "what_if"})):
        desk.text(name, **arguments)
    assert desk.code("complete_task", root="none") == "TASK_UNKNOWN"
    assert calls(desk) == before


def test_after_a_failed_commit_the_boards_are_what_the_file_holds():
    ledger = MemoryLedger()
    desk = Desk(ledger)
    desk.do(*LINES)
    kept = states(desk)
    ledger.fail_next = [StoreFailed("store_full")]
    answer = desk("update_working_memory", operations=[COST])
    assert answer["structuredContent"]["errorCode"] == "outcome_unknown" and "get_logic_context" in answer["content"][0]["text"]
    assert states(desk) == kept
    desk.do(COST, TOTAL)
    assert "grand(value=10093)" in desk.text("get_logic_context") and states(Desk(ledger)) == states(desk)


def test_a_first_write_that_could_not_be_kept_makes_no_board():
    ledger = MemoryLedger()
    desk = Desk(ledger)
    ledger.fail_next = [StoreFailed("store_full")]
    assert desk.code("update_working_memory", operations=LINES) == "outcome_unknown"
    assert desk.text("list_spaces") == "no spaces"


def tampered(ledger: MemoryLedger, change) -> MemoryLedger:
    """A ledger whose rows say something else, chained correctly all the same."""
    found = MemoryLedger()
    for row in ledger.rows(CHAIN):
        body = dict(row.body)
        change(row.seq, body)
        found.append(CHAIN, row.kind, body, row.at)
    found.commit()
    return found


@pytest.mark.parametrize(("what", "change"), [
    ("another digest", lambda seq, body: body.update(digest="0" * 64) if seq == 2 else None),
    ("fewer ids", lambda seq, body: body.update(minted=[]) if body["minted"] else None),
    ("more ids", lambda seq, body: body.update(minted=[*body["minted"], "f_x"]) if seq == 2 else None),
    ("an unknown call", lambda seq, body: body.update(call="forget") if seq == 2 else None),
    ("a Board that is not there", lambda seq, body: body.update(space="other") if seq == 2 else None),
    ("another format", lambda seq, body: body.update(format="rulith-board/9") if seq == 2 else None),
    ("a batch that is refused now", lambda seq, body: body.update(args={"operations": [{"op": "drop"}]}) if seq == 2 else None),
])
def test_a_row_that_leads_elsewhere_is_named_and_nothing_is_served(what, change):
    ledger = MemoryLedger()
    desk = Desk(ledger)
    desk.do({"op": "assert_fact", "predicate": "p", "args": {"x": 1}}, {"op": "assert_fact", "predicate": "p", "args": {"x": 2}})
    with pytest.raises(BoardBroken) as caught:
        Desk(tampered(ledger, change))
    assert caught.value.refusal.code == "board_fold_differs" and caught.value.refusal.facts["seq"] == 2


def test_limits_in_force_are_rows_and_old_rows_keep_the_ones_they_met():
    ledger = MemoryLedger()
    wide = Desk(ledger)
    wide.do(*({"op": "assert_fact", "predicate": "p", "args": {"n": n}} for n in range(20)))
    narrow = Desk(ledger, Limits(facts=20))
    assert states(narrow) == states(wide), "a Board that was wide stays what it is"
    assert narrow.code("update_working_memory", operations=[{"op": "assert_fact", "predicate": "p", "args": {"n": 99}}]) == "resource_limit"
    narrow.do({"op": "add_axiom", "id": "R", "when": [{"predicate": "p", "args": {"n": "?n"}}], "then": [{"predicate": "q", "args": {"n": "?n"}}]})
    assert [row.kind for row in ledger.rows(CHAIN)] == ["call", "call", "limits", "call"]
    same = Desk(ledger, Limits(facts=20))
    assert states(same) == states(narrow) and [row.kind for row in ledger.rows(CHAIN)].count("limits") == 1
    Desk(ledger).do({"op": "assert_fact", "predicate": "p", "args": {"n": 99}})
    assert [row.kind for row in ledger.rows(CHAIN)][-2:] == ["limits", "call"]


@pytest.mark.parametrize("seed", range(5))
def test_random_work_comes_back_as_it_was(seed):
    """A seeded run over every writing tool, folded again after each tenth call."""
    dice = random.Random(seed)
    ledger = MemoryLedger()
    desk = Desk(ledger)
    desk.do(COST, {"op": "define_action", "action": "sell", "preconditions": [{"predicate": "line", "args": {"item": "?i"}}],
                   "effects": [{"predicate": "sold", "args": {"item": "?i"}}]})
    for step in range(60):
        item = dice.randrange(8)
        line = {"op": "assert_fact", "predicate": "line", "args": {"item": item, "unit": dice.randrange(100), "qty": dice.randrange(5)}}
        ids = [node.id for node in desk.boards.spaces["main"].of_type("fact")] or ["none"]
        act = dice.choice([
            lambda: desk("update_working_memory", operations=[line]),
            lambda: desk("update_working_memory", operations=[line, TOTAL]),
            lambda: desk("update_working_memory", operations=[{"op": "retract_node", "nodeId": dice.choice(ids)}]),
            lambda: desk("update_working_memory", operations=[{**line, "op": "revise_fact", "nodeId": dice.choice(ids)}]),
            lambda: desk("request_action", action="sell", args={"i": item}),
            lambda: desk("solve", variables=[{"name": f"v{item}", "domain": [step]}]),
            lambda: desk("declare_task", root=f"r{item}", leaves=[{"node": f"l{item}", "acceptance": "grand"}]),
        ])
        act()
        if step % 10 == 9:
            assert states(Desk(ledger)) == states(desk), f"seed {seed}, step {step}"
