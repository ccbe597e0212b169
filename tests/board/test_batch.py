"""ApplyBatch operation by operation: what it writes, what it refuses, and that a refusal writes nothing."""

import pytest

from rulith.base.errors import Refused

NOTE = {"op": "assert_fact", "predicate": "note", "args": {"n": 1}}
RULE = {"op": "add_axiom", "id": "double", "label": "twice", "when": [
    {"predicate": "note", "args": {"n": "?n"}}, {"predicate": "mul", "args": {"left": "?n", "right": 2, "result": "?m"}}],
    "then": [{"predicate": "twice", "args": {"n": "?m"}}]}


def refusal(play, case, *operations):
    with pytest.raises(Refused) as refused:
        play.batch(case, *operations)
    return refused.value


def test_a_batch_asserts_derives_and_names_its_nodes(play):
    case = play.explore()
    made = play.batch(case, NOTE, RULE)
    assert len(made["nodeIds"]) == 2 and made["nodeIds"][1] == "double"
    assert play.holds("twice", n=2)
    node = next(node for node in play.view(case)["nodes"] if node["predicate"] == "twice")
    assert node["origin"] == "derived" and node["tier"] == "asserted" and node["by"] == "double"


@pytest.mark.parametrize("bad", [
    {"op": "assert_fact"}, {"op": "assert_fact", "predicate": ""}, {"op": "assert_fact", "predicate": "p", "args": {"a": None}},
    {"op": "assert_fact", "predicate": "p", "args": {"a": "?x"}}, {"op": "assert_fact", "predicate": "p", "args": {"a": 2**53}},
    {"op": "assert_fact", "predicate": "p", "args": []}, {"op": "assert_fact", "predicate": "p", "negated": "yes"},
    {"op": "assert_fact", "predicate": "p", "tier": "verified"}, {"op": "assert_fact", "predicate": "p", "trustTier": "verified"},
    {"op": "assert_fact", "predicate": "p", "id": "derived:p|"}, {"op": "assert_fact", "predicate": "p", "id": ""},
    {"op": "assert_fact", "predicate": "p", "id": 5}, {"op": "assert_fact", "predicate": "add", "args": {"left": 1}},
    {"op": "declare_goal", "desired": []}, {"op": "declare_goal", "desired": [{"predicate": "p", "naf": True}]},
    {"op": "declare_goal", "desired": [{"predicate": "p", "args": {"a": "string"}}]},
    {"op": "add_axiom", "when": [], "then": []}, {"op": "add_axiom", "when": [], "then": [{"predicate": "p", "args": {"a": "?x"}}]},
    {"op": "add_axiom", "when": [{"predicate": "q", "args": {"a": "?x"}}, {"predicate": "p", "args": {"a": "?x"}, "naf": True}],
     "then": [{"predicate": "p", "args": {"a": "?x"}}]},
    {"op": "define_action", "action": "a", "effects": [{"predicate": "p", "args": {"a": "?x"}}]},
    {"op": "apply_action", "action": "nothing"}, {"op": "retract_node", "nodeId": "nothing"},
    {"op": "revise_fact", "nodeId": "nothing", "predicate": "p"}, {"op": "record_result", "label": "done"},
    {"op": "declare_hypothesis", "predicate": "p"}, {"op": "drop_everything"}, {"predicate": "p"}, "assert", None,
    {"op": "derive_aggregate", "source": {"predicate": "none"}, "into": {"predicate": "t", "valueArg": "v"}, "kind": "count"},
    {"op": "derive_aggregate", "source": {"predicate": "note"}, "into": {"predicate": "t", "valueArg": "v"}},
    {"op": "derive_aggregate", "source": {"predicate": "note", "valueArg": "n"}, "into": {"predicate": "t", "valueArg": "v"}, "kind": "median"},
])
def test_one_bad_operation_undoes_the_whole_batch(play, bad):
    case = play.explore()
    before = play.board.closure_digest()
    refusal(play, case, NOTE, RULE, bad)
    assert play.board.closure_digest() == before
    assert play.view(case)["nodes"] == []
    assert play.refold().closure_digest() == before
    assert play.batch(case, NOTE, RULE)["nodeIds"][1] == "double", "ids of the refused batch are free again"


@pytest.mark.parametrize("operations", [None, [], {}, "x"])
def test_a_batch_is_a_list_of_at_least_one_operation(play, operations):
    case = play.explore()
    with pytest.raises(Refused) as refused:
        play.run("apply_batch", operations=operations, focus=[case["caseId"]])
    assert refused.value.code == "bad_command"


def test_a_write_needs_a_running_case_in_focus(play):
    with pytest.raises(Refused) as refused:
        play.run("apply_batch", operations=[NOTE], focus=[])
    assert refused.value.code == "no_acceptance_root"
    with pytest.raises(Refused) as refused:
        play.run("apply_batch", operations=[NOTE], focus=["case_unknown"])
    assert refused.value.code == "unknown_case"


def test_a_fact_that_holds_already_is_reported_not_repeated(play):
    case = play.explore()
    first = play.batch(case, NOTE)["nodeIds"][0]
    again = play.batch(case, {**NOTE, "id": "mine"})
    assert again["nodeIds"] == [first] and "holds already" in again["warnings"][0]
    play.batch(case, RULE)
    derived = play.batch(case, {"op": "assert_fact", "predicate": "twice", "args": {"n": 2}})
    assert derived["nodeIds"] == ["derived:twice|n:2"]


def test_a_rule_that_is_there_already_is_reported_not_repeated(play):
    case = play.explore()
    play.batch(case, RULE)
    again = play.batch(case, {**RULE, "id": "other", "when": list(reversed(RULE["when"]))})
    assert again["nodeIds"] == ["double"] and "already" in again["warnings"][0]


def test_retraction_takes_conclusions_with_it(play):
    case = play.explore()
    node = play.batch(case, NOTE, RULE)["nodeIds"][0]
    play.batch(case, {"op": "retract_node", "nodeId": node})
    assert not play.holds("note", n=1) and not play.holds("twice", n=2)
    play.batch(case, NOTE)
    play.batch(case, {"op": "retract_node", "nodeId": "double"})
    assert play.holds("note", n=1) and not play.holds("twice", n=2)


def test_a_fact_is_revised_in_place(play):
    case = play.explore()
    node = play.batch(case, NOTE, RULE)["nodeIds"][0]
    revised = play.batch(case, {"op": "revise_fact", "nodeId": node, "id": node, "predicate": "note", "args": {"n": 5}})
    assert revised["nodeIds"] == [node]
    assert play.holds("twice", n=10) and not play.holds("twice", n=2)


def test_numbers_in_text_are_numbers_where_canonical(play):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "v", "args": {"a": "5", "b": "007", "c": True}})
    node = play.view(case)["nodes"][0]
    assert node["args"] == {"a": 5, "b": "007", "c": True}


def test_a_goal_is_met_by_derivation_and_sealed_by_mere_assertion(play):
    case = play.explore()
    play.batch(case, {"op": "declare_goal", "desired": [{"predicate": "twice", "args": {"n": "?n"}}], "label": "know the double"})
    gap = play.view(case)["gaps"][0]
    assert gap["kind"] == "leaf_gap" and "no rule concludes" in gap["text"]
    play.batch(case, {"op": "assert_fact", "id": "bare", "predicate": "twice", "args": {"n": 9}})
    assert "bare assertions" in play.view(case)["gaps"][0]["text"]
    play.batch(case, {"op": "retract_node", "nodeId": "bare"}, NOTE, RULE)
    status = play.view(case)["taskStatus"][case["root"]]
    assert status["certified"]
    assert play.run("close_case", root=case["root"])["certified"]


def test_an_exploration_without_a_goal_is_not_completed(play):
    case = play.explore()
    play.batch(case, NOTE)
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"])
    assert refused.value.code == "case_not_certified" and "declare_goal" in refused.value.teaching


def test_what_an_exploration_held_vanishes_at_its_close(play):
    case, other = play.explore(), play.open()
    play.batch(case, NOTE, RULE, {"op": "define_action", "id": "act", "action": "demo", "effects": [{"predicate": "done"}]},
               {"op": "declare_goal", "id": "g", "desired": [{"predicate": "twice", "args": {"n": 2}}]})
    play.batch(other, {"op": "assert_fact", "predicate": "kept"})
    play.run("close_case", root=case["root"])
    assert not play.holds("note", n=1) and not play.holds("twice", n=2) and play.holds("kept")
    state = play.board.state
    assert not state.goals and not state.agent_actions and all(info.law for info in state.rules.values())
    assert not play.holds("rulith.exploration.completed", case_id=case["caseId"]), "the word goes with its Case"
    assert play.board.case_history(case["root"])["certified"] is True


# --- Board Actions ---------------------------------------------------------------------

USE = {"op": "define_action", "id": "use", "action": "use two", "preconditions": [
    {"predicate": "amount", "args": {"s": "?s", "n": "?n"}}, {"predicate": "gte", "args": {"left": "?n", "right": 2}},
    {"predicate": "sub", "args": {"left": "?n", "right": 2, "result": "?r"}}],
    "effects": [{"predicate": "amount", "args": {"s": "?s", "n": "?n"}, "negated": True},
                {"predicate": "amount", "args": {"s": "?s", "n": "?r"}}]}


def test_an_action_consumes_and_produces(play):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "amount", "args": {"s": "h2", "n": 5}}, USE)
    result = play.run("apply_action", action="use two", focus=[case["caseId"]])
    assert result["status"] == "confirmed" and result["ok"] is True and len(result["nodeIds"]) == 1
    assert play.holds("amount", s="h2", n=3) and not play.holds("amount", s="h2", n=5)
    play.batch(case, {"op": "apply_action", "action": "use two"})
    assert play.holds("amount", s="h2", n=1)
    with pytest.raises(Refused) as refused:
        play.run("apply_action", action="use two", focus=[case["caseId"]])
    assert refused.value.code == "precondition_not_met" and "gte" in refused.value.teaching


def test_the_products_of_an_agents_own_action_are_assertions(play):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "amount", "args": {"s": "h2", "n": 5}}, USE,
               {"op": "apply_action", "action": "use two"})
    node = play.view(case)["nodes"][0]
    assert node["origin"] == "effect" and node["tier"] == "asserted"


def test_an_action_that_binds_in_two_ways_asks_which(play):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "amount", "args": {"s": "h2", "n": 5}},
               {"op": "assert_fact", "predicate": "amount", "args": {"s": "o2", "n": 5}}, USE)
    with pytest.raises(Refused) as refused:
        play.run("apply_action", action="use two", focus=[case["caseId"]])
    assert refused.value.code == "ambiguous_action"
    play.run("apply_action", action="use two", args={"s": "o2"}, focus=[case["caseId"]])
    assert play.holds("amount", s="o2", n=3) and play.holds("amount", s="h2", n=5)


# --- aggregates ------------------------------------------------------------------------


def lines(*rows):
    return [{"op": "assert_fact", "id": f"L{index}", "predicate": "line", "args": {"item": item, "cents": cents}}
            for index, (item, cents) in enumerate(rows)]


@pytest.mark.parametrize("kind, value", [("sum", 30), ("count", 3), ("min", 5), ("max", 15), ("avg", 10)])
def test_an_aggregate_is_derived_from_the_facts_there_are(play, kind, value):
    case = play.explore()
    play.batch(case, *lines(("a", 5), ("b", 10), ("a", 15)),
               {"op": "derive_aggregate", "id": "T", "kind": kind, "source": {"predicate": "line", "valueArg": "cents"},
                "into": {"predicate": "total", "valueArg": "value"}})
    assert play.holds("total", value=value)


def test_an_aggregate_filters_and_groups(play):
    case = play.explore()
    play.batch(case, *lines(("a", 5), ("b", 10), ("a", 15)),
               {"op": "derive_aggregate", "source": {"predicate": "line", "valueArg": "cents"}, "group_by": "item",
                "into": {"predicate": "per", "valueArg": "value"}},
               {"op": "derive_aggregate", "source": {"predicate": "line", "valueArg": "cents"}, "where": {"arg": "item", "equals": "b"},
                "into": {"predicate": "only", "valueArg": "value"}})
    assert play.holds("per", item="a", value=20) and play.holds("per", item="b", value=10) and play.holds("only", value=10)


def test_an_aggregate_is_withdrawn_when_a_member_goes_or_a_new_one_appears(play):
    case = play.explore()
    total = {"op": "derive_aggregate", "id": "T", "source": {"predicate": "line", "valueArg": "cents"},
             "into": {"predicate": "total", "valueArg": "value"}}
    play.batch(case, *lines(("a", 5), ("b", 10)), total)
    warned = play.batch(case, {"op": "assert_fact", "predicate": "line", "args": {"item": "c", "cents": 1}})
    assert "withdrawn" in warned["warnings"][0] and not play.holds("total", value=15)
    play.batch(case, total)
    assert play.holds("total", value=16)
    play.batch(case, {"op": "retract_node", "nodeId": "L0"})
    assert not play.holds("total", value="?v")


def test_running_an_aggregate_again_replaces_its_family(play):
    case = play.explore()
    total = {"op": "derive_aggregate", "id": "T", "source": {"predicate": "line", "valueArg": "cents"},
             "into": {"predicate": "total", "valueArg": "value"}}
    play.batch(case, *lines(("a", 5)), total, {"op": "assert_fact", "predicate": "line", "args": {"item": "b", "cents": 1}}, total)
    assert play.holds("total", value=6) and not play.holds("total", value=5)


def test_a_total_beyond_the_exact_range_is_a_gap_not_silence(play):
    case = play.explore()
    play.batch(case, *lines(("a", 2**53 - 1), ("b", 1)), {"op": "declare_goal", "desired": [{"predicate": "total", "args": {"value": "?v"}}]},
               {"op": "derive_aggregate", "source": {"predicate": "line", "valueArg": "cents"}, "into": {"predicate": "total", "valueArg": "value"}})
    gap = play.view(case)["gaps"][0]
    assert gap["kind"] == "arithmetic_exact" and gap["operands"]["op"] == "add"
