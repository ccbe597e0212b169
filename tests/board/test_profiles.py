"""An Agent's Profile: whatever it hides, no answer holds a value that only hidden facts hold.

Duty: design §5, "Agent Profiles". What is hidden is judged here a second time, plainly.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from rulith.base.errors import Refused
from rulith.board.profiles import MEMBERS, Profile, Sight
from rulith.board.shapes import TIERS, Policy, Source, ToolLock
from rulith.rules.terms import Atom

P = "acme.pay."
NAMES = ("salary", "rate", "badge", "pay", "note")
SOURCES = {"payroll": "attested", "desk": "uncertain"}


def capability() -> dict:
    row = lambda name, args, **more: {"predicate": name, "args": args, **more}  # noqa: E731
    key = row("case_key", {"root": "?root", "name": "run", "value": "?run"})
    return {
        "format": "rulith-capability/1", "id": "acme.pay", "version": "1.0.0", "title": "Pay", "summary": "Pays.",
        "vocabulary": {"defines": [
            {"id": P + "salary", "as": "salary", "sources": ["file"], "args": {"run": "string", "person": "string", "cents": "number"}},
            {"id": P + "rate", "as": "rate", "sources": ["file"], "args": {"run": "string", "person": "string", "cents": "number"}},
            {"id": P + "badge", "as": "badge", "sources": ["file"], "args": {"run": "string", "person": "string", "cents": "number"}},
            {"id": P + "pay", "as": "pay", "args": {"run": "string", "person": "string", "cents": "number"}},
            {"id": P + "paid", "as": "paid", "args": {"run": "string", "person": "string", "cents": "number"}}],
            "imports": [{"id": "case_key", "as": "case_key"}, {"id": "root", "as": "root"}]},
        "pins": ["pay"],
        "rules": [{"id": "pay", "label": "pay = salary + rate", "when": [
            row("salary", {"run": "?run", "person": "?who", "cents": "?one"}), row("rate", {"run": "?run", "person": "?who", "cents": "?two"}),
            row("add", {"left": "?one", "right": "?two", "result": "?sum"})], "then": [row("pay", {"run": "?run", "person": "?who", "cents": "?sum"})]}],
        "acceptance": [{"id": "paid", "label": "somebody was paid above the badge", "when": [
            key, row("pay", {"run": "?run", "person": "?who", "cents": "?sum"}), row("badge", {"run": "?run", "person": "?who", "cents": "?b"}),
            row("paid", {"run": "?run", "person": "?who", "cents": "?sum"})]}],
        "actions": [
            {"id": f"read_{name}", "description": f"Read {name}.", "tool": f"acme.pay.{name}@1", "kind": "read", "source_types": ["file"],
             "params": {"run": "string"}, "preconditions": [key], "effects": [],
             "returns": [{"predicate": name, "args": {"run": "$run", "person": "$person", "cents": "$cents"}}]} for name in ("salary", "rate", "badge")] + [
            {"id": "settle", "description": "Settle.", "tool": "acme.pay.settle@1", "kind": "write", "source_types": ["file"],
             "params": {"run": "string", "person": "string", "cents": "number"}, "preconditions": [key, row("pay", {"run": "?run", "person": "?person", "cents": "?cents"}),
                                                                                                   row("badge", {"run": "?run", "person": "?person"})],
             "effects": [row("paid", {"run": "?run", "person": "?person", "cents": "?cents"})], "returns": []},
            {"id": "remark", "description": "Remark.", "params": {"person": "string", "cents": "number"}, "preconditions": [
                row("salary", {"person": "?person", "cents": "?cents"}), row("badge", {"person": "?person", "cents": "?cents"})],
             "effects": [row("paid", {"run": "x", "person": "?person", "cents": "?cents"})]}],
        "case_types": {"pay_run": {"title": "Pay run", "business_key": {"run": "string"}, "floor": "attested", "agent_rules": "rules_and_actions",
                                   "task": [{"node": "pay", "goal": "Pay everybody.", "acceptance": "paid"}], "drive": ["read_salary"]}},
        "examples": []}


@pytest.fixture
def pay(new_play):
    """A Board with facts of two Sources under one Case, and an exploration with rules and an Action of the Agent."""
    def make(values=None):
        play = new_play(capability())
        tools = ("salary", "rate", "badge", "settle")
        locks = {("conn_1", f"acme.pay.{name}@1"): ToolLock("conn_1", f"acme.pay.{name}@1", "a" * 64, {"id": f"acme.pay.{name}@1"}) for name in tools}
        record = {"type": "file", "access": "/x", "connectionId": "conn_1", "attests": ["*"]}
        play.known = {name: Source.of({**record, "name": name, "tier": tier}) for name, tier in SOURCES.items()}
        play.everything = Policy(tuple(play.known.values()), locks, {}, 1)
        play.case = play.run("open_case", caseType="pay_run", businessKey={"run": "r1"})
        play.wild = play.run("open_case", caseType="exploration")
        for predicate, source, person, cents in values or ():
            plan = play.board.plan_action(P + "read_" + predicate, {"source": source}, play.case["root"], play.everything, focus=[play.case["caseId"]])
            play.receipt(plan, [{"predicate": P + predicate, "args": {"run": "r1", "person": person, "cents": cents}}], source=play.known[source])
        return play
    return make


def policy_of(play, profile):
    shown = tuple(each for each in play.known.values() if profile is None or profile.sources is None or each.name in profile.sources)
    return Policy(shown, play.everything.locks, {}, (2, repr(profile)), profile)


def refusal(board, profile, call):
    try:
        call()
    except Refused as refused:
        return board.shielded(profile, refused).teaching
    return ""


def everything_told(play, profile) -> str:
    """Every text that law writes for the Agent, as one."""
    board, policy = play.board, policy_of(play, profile)
    focus = board.visible_cases(profile, [play.case["caseId"], play.wild["caseId"]])
    roots = [play.case["root"], play.wild["root"]]
    told = [board.view(profile, focus, policy), board.view(profile, [play.case["caseId"], play.wild["caseId"]], policy, bytes_max=None)]
    for include in (["nodes"], ["gaps"], ["taskStatus"], ["cases"], ["nodes", "gaps", "taskStatus", "cases"]):
        told.append(board.query(profile, focus, policy, {"include": include, "selector": {"roots": roots}}))
    told += [board.query(profile, focus, policy, {}), *(board.query(profile, focus, policy, {"include": ["caseHistory"], "selector": {"roots": [root]}}) for root in roots)]
    for atom in board.state.program.facts():
        try:
            told.append(board.proof(board.state.node_id(atom), None, profile))
        except Refused:
            pass                    # it is hidden; its id, which names it, was never told
    for case_id in focus:
        told.append(board.case_detail(case_id, policy, profile))
    for action in ("read_salary", "settle", "remark", "nothing"):
        for target in (play.case["root"], None):
            told.append(refusal(board, None, lambda: board.plan_action(P + action, {}, target, policy, focus=focus)))
    told.append(refusal(board, None, lambda: board.plan_action("copy", {}, None, policy, focus=focus)))
    told.append(refusal(board, profile, lambda: play.run("close_case", root=play.case["root"])))
    return json.dumps(told)


def hidden_by_hand(play, profile) -> tuple[set, set]:
    """(values of visible facts, values of all others), by a reading of the design that shares nothing with the law's."""
    board, visible, others = play.board.state, set(), set()
    listed = lambda names, name: names is None or name in names  # noqa: E731

    def sources(atom, seen=()):
        fact = board.strongest(atom)
        if fact is not None:
            return {fact.by.get("source"), *(source for source, _ in fact.by.get("restsOn", ()))} - {None, ""}
        support = board.support(atom)
        return set().union(*(sources(each) for each in support.premises)) if support else set()

    def plain(atom):
        return (listed(profile.predicates, atom.predicate) and all(listed(profile.sources, each) for each in sources(atom))
                and listed(profile.tiers, board.ground(atom).tier)
                and (profile.capabilities is None or "acme.pay" in profile.capabilities or not atom.predicate.startswith(P)))

    def shown(atom):
        support = board.support(atom) if board.strongest(atom) is None else None
        law = support is None or board.rules[support.rule_id].law
        return plain(atom) and (law or all(shown(each) for each in support.premises))

    for atom in board.program.facts():
        if atom.predicate.startswith(P) or atom.predicate in ("mine", "copied"):
            (visible if shown(atom) else others).update(value for _, value in atom.args)
    return visible, others


def some(names):
    return st.none() | st.lists(st.sampled_from(names), unique=True).map(frozenset)


PROFILES = st.builds(Profile, capabilities=some(["acme.pay", "other"]), case_types=some(["pay_run", "exploration"]),
                     predicates=some([*(P + name for name in (*NAMES, "paid")), "mine", "copied"]), sources=some(list(SOURCES)),
                     tiers=some([*TIERS]))
FACTS = st.lists(st.tuples(st.sampled_from(["salary", "rate", "badge"]), st.sampled_from(list(SOURCES)), st.integers(0, 1)), max_size=7)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profile=PROFILES, facts=FACTS, acts=st.booleans(), closed=st.booleans())
def test_no_answer_holds_a_value_that_only_hidden_facts_hold(pay, profile, facts, acts, closed):
    play = pay([(name, source, f"zq{who}p", 710_000 + place * 1_013) for place, (name, source, who) in enumerate(facts)])
    if acts:
        focus = [play.wild["caseId"]]
        rule = {"op": "add_axiom", "when": [{"predicate": P + "salary", "args": {"person": "?who", "cents": "?c"}}], "then": [{"predicate": "mine", "args": {"who": "?who", "c": "?c"}}]}
        copy = {"op": "define_action", "action": "copy", "preconditions": [{"predicate": P + "rate", "args": {"person": "?who", "cents": "?c"}}],
                "effects": [{"predicate": "copied", "args": {"who": "?who", "c": "?c"}}]}
        goal = {"op": "declare_goal", "desired": [{"predicate": P + "badge", "args": {"person": "zq9p"}}], "label": "a badge"}
        play.run("apply_batch", operations=[rule, copy, goal], focus=focus)
        try:
            play.run("apply_action", action="copy", args={}, focus=focus)
        except Refused:
            pass                    # no way, or more than one
    visible, others = hidden_by_hand(play, profile)      # its history tells of what the Case held
    if closed:
        play.run("close_case", root=play.case["root"], disposition="cancelled", reason="enough")
    told = everything_told(play, profile)
    for before, now in zip((visible, others), hidden_by_hand(play, profile)):
        before |= now
    for value in others - visible - {"r1", "x", "zq9p"}:
        assert str(value) not in told, (value, profile)


def test_without_a_profile_and_with_a_wide_one_the_same_is_told(pay):
    play = pay([("salary", "payroll", "zq1p", 710_000), ("rate", "desk", "zq1p", 5), ("badge", "payroll", "zq1p", 1)])
    wide = Profile(frozenset(["acme.pay"]), frozenset(["pay_run", "exploration"]), frozenset(P + name for name in (*NAMES, "paid")),
                   frozenset(SOURCES), frozenset(TIERS))
    focus = [play.case["caseId"], play.wild["caseId"]]
    view, seen = play.board.view(None, focus, play.everything), play.board.view(wide, focus, policy_of(play, wide))
    assert seen == view and "710005" in json.dumps(seen)


def test_a_proof_that_rests_on_a_hidden_fact_shows_a_withheld_premise(pay):
    play = pay([("salary", "payroll", "zq1p", 710_000), ("rate", "payroll", "zq1p", 5)])
    profile = Profile(predicates=frozenset([P + "pay", P + "rate"]))
    tree = play.board.proof({"predicate": P + "pay", "args": {"run": "r1", "person": "zq1p", "cents": 710_005}}, None, profile)
    assert [each.get("withheld", False) for each in tree["premises"]] == [True, False] and "computed" not in tree
    assert "710000" not in json.dumps(tree) and "710005" in tree["text"]
    with pytest.raises(Refused) as refused:
        play.board.proof({"predicate": P + "salary", "args": {"run": "r1", "person": "zq1p", "cents": 710_000}}, None, profile)
    assert refused.value.code == "not_found"


def test_a_hidden_source_hides_whatever_rests_on_it(pay):
    play = pay([("salary", "payroll", "zq1p", 710_000), ("rate", "desk", "zq1p", 5)])
    view = play.board.view(Profile(sources=frozenset(["desk"])), [play.case["caseId"]], policy_of(play, Profile(sources=frozenset(["desk"]))))
    assert [node["predicate"] for node in view["nodes"]] == [P + "rate"] and view["total"] == 1
    read = next(row for row in view["actions"] if row["action"] == P + "read_salary")
    assert read["sources"] == ["desk"]


def test_an_action_that_binds_hidden_values_is_applied_without_showing_them(pay):
    play = pay([("salary", "payroll", "zq1p", 710_000), ("rate", "payroll", "zq1p", 5), ("badge", "payroll", "zq1p", 1)])
    profile = Profile(predicates=frozenset([P + "badge"]))
    policy = policy_of(play, profile)
    row = next(row for row in play.board.view(profile, [play.case["caseId"]], policy)["actions"] if row["action"] == P + "settle")
    assert row["status"] == "ready" and row["candidates"] == [{"args": {"run": "r1", "person": "zq1p"}, "target": play.case["root"], "withheld": True}]
    plan = play.board.plan_action(P + "settle", {"source": "payroll"}, play.case["root"], policy, focus=[play.case["caseId"]])
    assert plan.args["cents"] == 710_005
    play.receipt(plan, [], ok=False, source=play.known["payroll"])
    row = next(row for row in play.board.view(profile, [play.case["caseId"]], policy)["actions"] if row["action"] == P + "settle")
    tried = row["candidates"][0]["tried"]
    assert tried["state"] == "failed" and tried["reason"] == "withheld from this Agent", "so that no rule repeats it"


@pytest.mark.parametrize("operation", [
    {"op": "add_axiom", "when": [{"predicate": P + "salary", "args": {"cents": "?c"}}], "then": [{"predicate": "mine", "args": {"c": "?c"}}]},
    {"op": "add_axiom", "when": [{"predicate": P + "badge", "args": {"cents": "?c"}}, {"predicate": P + "salary", "args": {"cents": "?c"}, "naf": True}],
     "then": [{"predicate": "mine", "args": {"c": "?c"}}]},
    {"op": "declare_goal", "desired": [{"predicate": P + "salary", "args": {"cents": "?c"}}]},
    {"op": "define_action", "action": "copy", "preconditions": [{"predicate": P + "salary", "args": {"cents": "?c"}}], "effects": [{"predicate": "mine", "args": {"c": "?c"}}]},
    {"op": "derive_aggregate", "source": {"predicate": P + "salary", "valueArg": "cents"}, "into": {"predicate": "mine", "valueArg": "c"}},
    {"op": "derive_aggregate", "source": {"predicate": P + "badge", "valueArg": "cents"}, "into": {"predicate": P + "salary", "valueArg": "c"}},
    {"op": "assert_fact", "predicate": P + "salary", "args": {"cents": 1}},
    {"op": "assert_fact", "predicate": "functional_dependency", "args": {"predicate": P + "salary", "from": "person", "to": "cents"}},
    {"op": "revise_fact", "nodeId": "f_1", "predicate": P + "salary"},
    {"op": "apply_action", "action": P + "remark"},
], ids=lambda each: each["op"])
def test_a_batch_that_reaches_for_what_is_hidden_is_refused_before_it_runs(pay, operation):
    play = pay()
    profile = Profile(predicates=frozenset([P + "badge", "mine", "functional_dependency"]))
    with pytest.raises(Refused) as refused:
        play.board.check_sight(profile, {"kind": "apply_batch", "operations": [{"op": "assert_fact", "predicate": "mine"}, operation], "focus": []})
    assert refused.value.code == "not_authorized"
    play.board.check_sight(None, {"kind": "apply_batch", "operations": [operation], "focus": []})


def test_what_is_hidden_is_refused_as_if_it_were_not_there(pay):
    play = pay()
    profile = Profile(case_types=frozenset(["exploration"]))
    for command, code in (({"kind": "focus_case", "caseId": play.case["caseId"]}, "unknown_case"), ({"kind": "close_case", "root": play.case["root"]}, "not_found"),
                          ({"kind": "open_case", "caseType": "pay_run", "businessKey": {"run": "r2"}}, "unknown_case_type")):
        with pytest.raises(Refused) as refused:
            play.board.check_sight(profile, command)
        assert refused.value.code == code and "pay_run" not in refused.value.next_step
    hidden = Profile(capabilities=frozenset())
    with pytest.raises(Refused) as refused:
        play.board.plan_action(P + "remark", {}, None, policy_of(play, hidden), focus=[play.wild["caseId"]])
    assert refused.value.code == "unknown_action" and P not in refused.value.next_step
    missing = {"include": ["nodes"], "selector": {"roots": [play.case["root"], "root_" + "0" * 24]}}
    assert play.board.query(profile, [], policy_of(play, profile), missing)["unavailableRoots"] == missing["selector"]["roots"]


def test_a_profile_changes_no_fact_and_no_certification(pay):
    play = pay([("salary", "payroll", "zq1p", 710_000), ("rate", "payroll", "zq1p", 5), ("badge", "payroll", "zq1p", 1)])
    before = play.board.closure_digest()
    everything_told(play, Profile(predicates=frozenset()))
    assert play.board.closure_digest() == before == play.refold().closure_digest()


@pytest.mark.parametrize("record", [[], "x", {"names": []}, {"tiers": ["gold"]}, {"sources": "payroll"}, {"sources": [7]}, {"sources": [""]},
                                    {"predicates": ["x" * 257]}, {"predicates": ["x"] * 1_001}, {"capabilities": None}])
def test_what_is_no_profile_is_refused(record):
    with pytest.raises(Refused) as refused:
        Profile.of(record)
    assert refused.value.code == "bad_command"


@given(PROFILES, PROFILES)
def test_a_profile_covers_what_shows_no_more(one, other):
    assert one.covers(one) and Profile().covers(one) and (one.covers(None) == (one == Profile()))
    both = Profile(**{name: left if right is None else right if left is None else left & right
                      for name in MEMBERS for left, right in [(getattr(one, name), getattr(other, name))]})
    assert one.covers(both) and other.covers(both) and Profile.of(one.record() or {}) in (one, None)


def test_a_sight_follows_the_board(pay):
    play = pay([("salary", "desk", "zq1p", 710_000)])
    sight = Sight(play.board.state, Profile(sources=frozenset(["payroll"])))
    atom = Atom.of(P + "salary", {"run": "r1", "person": "zq1p", "cents": 710_000})
    assert not sight.fact(atom)
    plan = play.board.plan_action(P + "read_salary", {"source": "payroll"}, play.case["root"], play.everything, focus=[play.case["caseId"]])
    play.receipt(plan, [{"predicate": P + "salary", "args": atom.arguments}], source=play.known["payroll"])
    assert sight.fact(atom), "the stronger statement is of a visible Source"


def test_the_count_of_what_is_visible_keeps_up_with_every_change(pay):
    play = pay()
    profile = Profile(sources=frozenset(["payroll"]))
    sight, state = play.board.viewer.sight(profile), play.board.state
    focus, made = [play.wild["caseId"]], []
    plan = play.board.plan_action(P + "read_salary", {"source": "desk"}, play.case["root"], play.everything, focus=[play.case["caseId"]])
    for turn in range(8):
        made += play.run("apply_batch", operations=[{"op": "assert_fact", "predicate": "mine", "args": {"n": turn}}], focus=focus)["nodeIds"]
        if turn % 3 == 1:
            play.receipt(plan, [{"predicate": P + "salary", "args": {"run": "r1", "person": "zq1p", "cents": turn}}], source=play.known["desk"])
        if turn % 3 == 2:
            play.run("apply_batch", operations=[{"op": "retract_node", "nodeId": made.pop(0)}], focus=focus)
        assert sight.count(state.shown) == sum(map(Sight(state, profile).fact, state.shown)) == len(made)
