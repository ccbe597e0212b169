"""What the law answers has the shapes of the contract: every view, row and strip validates."""

import json

import pytest

from rulith.board.operations import Operations
from rulith.wire.results import validate_result

P = "rulith.verified_calculation."


def walk(play):
    """A whole Case, step by step, and things that happen beside it."""
    case = play.open()
    yield case
    play.read(case)
    yield case
    side = play.explore()
    play.batch(side, {"op": "assert_fact", "predicate": "n", "args": {"v": 1}}, {"op": "assert_fact", "predicate": "n", "args": {"v": 1}, "negated": True},
               {"op": "declare_goal", "desired": [{"predicate": "m"}]},
               {"op": "define_action", "action": "act", "effects": [{"predicate": "m"}]})
    yield side
    play.write(case)
    yield case
    play.run("pause_case", caseId=case["caseId"], hold="operator")
    yield case
    play.run("lift_hold", caseId=case["caseId"], hold="operator")
    play.verify(case)
    yield case
    play.run("close_case", root=case["root"])
    yield case
    big = play.open("big")
    play.read(big, price=2**53 - 1)
    yield big
    approved = play.open("calc-9", "approved_calculation")
    play.read(approved)
    yield approved


def test_every_view_of_a_whole_case_validates(play):
    for case in walk(play):
        for view in (play.view(case), play.view(nodes_max=500, bytes_max=None), play.view(case, bytes_max=3000)):
            validate_result("view", json.loads(json.dumps(view)))
            for row in view["actions"]:
                validate_result("actionRow", row)


@pytest.mark.parametrize("include", [None, ["cases"], ["nodes"], ["gaps", "taskStatus"], ["nodes", "gaps", "taskStatus", "cases"], ["caseHistory"]])
def test_every_query_validates(play, include):
    for case in walk(play):
        arguments = {} if include is None else {"include": include, "selector": {"roots": [case["root"]]}}
        view = play.board.query(None, [case["caseId"]], play.policy, arguments)
        validate_result("queryBoardResult", json.loads(json.dumps(
            {"accepted": True, "view": view, "observation": {"consistency": "committed"}, "operations": []})))


def test_strips_and_state_forms_validate():
    law, plan = Operations("agt_1"), {"action": "demo.ship", "connectionId": "conn_1"}
    counter = iter(range(1, 99))

    def run(kind, **members):
        law.execute({"kind": kind, **members}, at=f"2026-10-03T08:00:{next(counter):02d}.000Z", mint=lambda prefix: prefix + "0" * 24)
        validate_result("strip", json.loads(json.dumps(law.strip(at="2026-10-03T09:00:00.000Z", encode=json.dumps, view={}))))
        validate_result("stateForm", law.state_form(at="2026-10-03T09:00:00.000Z"))

    admit = {"tool": "ApplyAction", "label": "ApplyAction demo.ship", "session": "s", "caseIds": [], "plan": plan}
    run("admit", **admit, decision={"id": "dec_1", "kind": "approve"})
    run("decide", ordinal=1, verdict="approve")
    run("dispatch", ordinal=1, connectionId="conn_1", workerId="w", generation=1, requestDigest="r")
    run("claim", ordinal=1, connectionId="conn_1", workerId="w", generation=1)
    run("needs_person", ordinal=1, reason="gone")
    run("reconcile", ordinal=1, outcome="cannot_tell", result={"accepted": True, "result": {}}, summary="s", by="o", reason="r")
    run("deliver", ordinal=1, session="s")
    run("admit", **{name: value for name, value in admit.items() if name != "plan"},
        settled={"state": "refused", "result": {"accepted": False, "errorCode": "x"}, "summary": "no", "reason": "no"})
