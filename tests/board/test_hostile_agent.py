"""An Agent that lies: nothing it claims becomes more than its own assertion."""

import pytest

from rulith.base.errors import Refused

P = "rulith.verified_calculation."
PROTECTED = [P + "input", P + "subtotal", P + "total", P + "written", P + "output", P + "write_settled", P + "approved_write"]
WORDS = ["acceptance_met", "acceptance", "root", "case_context", "case_key", "goal_node", "subgoal_of", "test_result",
         "certified", "rulith.exploration.completed", "rulith.exploration.anything", "committed_goal"]


def attempts(predicate):
    """Every way an Agent could bring a predicate to hold, or to stop holding."""
    head = {"predicate": predicate, "args": {"job_id": "calc-001", "node": "x"}}
    return [
        {"op": "assert_fact", **head},
        {"op": "assert_fact", **head, "negated": True},
        {"op": "add_axiom", "when": [], "then": [head]},
        {"op": "add_axiom", "when": [], "then": [{**head, "negated": True}]},
        {"op": "add_axiom", "when": [], "then": [{"predicate": "harmless"}, head]},
        {"op": "define_action", "action": "cheat", "effects": [head]},
        {"op": "define_action", "action": "cheat", "effects": [{**head, "negated": True}]},
        {"op": "derive_aggregate", "source": {"predicate": "seed"}, "kind": "count", "into": {"predicate": predicate, "valueArg": "cents"}},
        {"op": "assert_fact", "predicate": "functional_dependency", "args": {"predicate": predicate, "key": "job_id"}},
        {"op": "add_axiom", "when": [{"predicate": "seed", "args": {"p": "?p"}}],
         "then": [{"predicate": "functional_dependency", "args": {"predicate": "?p", "key": "job_id"}}]},
    ]


@pytest.mark.parametrize("predicate", PROTECTED + WORDS)
def test_no_operation_writes_what_others_answer_for(play, predicate):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "seed", "args": {"p": 1}})
    before = play.board.closure_digest()
    for operation in attempts(predicate):
        with pytest.raises(Refused) as refused:
            play.batch(case, operation)
        assert refused.value.code == "attested_predicate", operation
        with pytest.raises(Refused):
            play.batch(case, {"op": "assert_fact", "predicate": "fine"}, operation)
        assert play.board.closure_digest() == before


def test_revising_an_own_fact_into_a_total_is_refused_and_undone(play):
    case = play.explore()
    node = play.batch(case, {"op": "assert_fact", "predicate": "note", "args": {"n": 1}})["nodeIds"][0]
    with pytest.raises(Refused) as refused:
        play.batch(case, {"op": "revise_fact", "nodeId": node, "predicate": P + "total", "args": {"job_id": "calc-001", "cents": 1}})
    assert refused.value.code == "attested_predicate"
    assert play.holds("note", n=1)


def test_the_contracted_case_takes_no_rules_of_the_agent(play):
    case = play.open()
    for operation in ({"op": "add_axiom", "when": [], "then": [{"predicate": "mine"}]},
                      {"op": "define_action", "action": "mine", "effects": [{"predicate": "mine"}]}):
        with pytest.raises(Refused) as refused:
            play.batch(case, operation)
        assert refused.value.code == "not_permitted"


def test_what_a_source_or_an_action_brought_is_not_the_agents_to_retract(play):
    case = play.open()
    made = play.read(case)["nodeIds"] + play.write(case)["nodeIds"]
    for node in [*made, f'derived:{P}total|cents:9593|job_id:"calc-001"', "rulith.verified_calculation@1.0.0/total"]:
        for operation in ({"op": "retract_node", "nodeId": node},):
            with pytest.raises(Refused) as refused:
                play.batch(case, operation)
            assert refused.value.code == "goalpost_moved"
    for node in made:
        with pytest.raises(Refused) as refused:
            play.batch(case, {"op": "revise_fact", "nodeId": node, "predicate": "note"})
        assert refused.value.code == "goalpost_moved"
    assert play.holds(P + "write_settled", job_id="calc-001")


def test_the_words_of_a_case_are_not_the_agents_to_retract(play):
    case = play.open()
    words = [fact.id for fact in play.board.state.facts.values()]
    assert words
    for node in words:
        with pytest.raises(Refused) as refused:
            play.batch(case, {"op": "retract_node", "nodeId": node})
        assert refused.value.code == "goalpost_moved"


def test_an_invented_action_is_refused_with_the_real_ones(play):
    case = play.open()
    for name in ("ship_it", P + "pay", "read_input", ""):
        with pytest.raises(Refused) as refused:
            play.board.plan_action(name, {}, case["root"], play.policy, focus=[case["caseId"]])
        assert refused.value.code == "unknown_action" and P + "read_input" in refused.value.teaching


def test_a_capabilitys_action_runs_under_its_own_case_types_only(play):
    side = play.explore()
    for target in (None, side["root"]):
        with pytest.raises(Refused) as refused:
            play.board.plan_action(P + "read_input", {"source": "verified-calculation-local", "job_id": "x"}, target, play.policy,
                                   focus=[side["caseId"]])
        assert refused.value.code == "not_permitted"


def test_an_external_action_is_no_part_of_a_batch(play):
    case = play.open()
    with pytest.raises(Refused) as refused:
        play.batch(case, {"op": "assert_fact", "predicate": "note"},
                   {"op": "apply_action", "action": P + "read_input", "args": {"job_id": "calc-001"}})
    assert refused.value.code == "board_action"
    assert not play.holds("note")


@pytest.mark.parametrize("args", [{"subtotal_cents": 1}, {"total_cents": 9594}, {"job_id": "calc-002"}])
def test_an_action_takes_no_values_the_board_did_not_derive(play, args):
    case = play.open()
    play.read(case)
    with pytest.raises(Refused) as refused:
        play.plan(case, "write_output", **args)
    assert refused.value.code == "precondition_not_met"


@pytest.mark.parametrize("args", [{"amount": 3}, {"total_cents": "much"}, {"total_cents": True}, {"job_id": 7},
                                  {"job_id": None}, {"job_id": ["calc-001"]}, {"total_cents": 2**53}, {"source": 5}])
def test_arguments_of_the_wrong_shape_are_refused_by_name(play, args):
    case = play.open()
    play.read(case)
    with pytest.raises(Refused) as refused:
        play.plan(case, "write_output", **args)
    assert refused.value.code in ("invalid_params", "ATOM_INVALID", "number_out_of_range")


def test_an_exploration_cannot_lend_its_rules_to_a_contract(play, new_play):
    """A derivation that passes through an Agent's rule certifies nothing, whatever its premises."""
    from rulith.board.capability_check import check_capability
    capability = soft_capability()
    assert check_capability(capability)[1] == []
    play = new_play(capability)
    case, side = play.run("open_case", caseType="checked", businessKey={"id": "a"}), play.explore()
    play.batch(side, {"op": "add_axiom", "when": [{"predicate": "case_key", "args": {"value": "?v"}}],
                      "then": [{"predicate": "demo.soft.ready", "args": {"id": "?v"}}]})
    leaf = play.view(case)["taskStatus"][case["root"]]["leaves"][0]
    assert leaf["met"] is False and leaf["tier"] == "verified"
    assert "rule of the Agent" in play.view(case)["gaps"][0]["text"]
    with pytest.raises(Refused) as refused:
        play.run("close_case", root=case["root"])
    assert refused.value.code == "case_not_certified"


def test_an_assertion_certifies_nothing_below_the_floor(play, new_play):
    play = new_play(soft_capability())
    case = play.run("open_case", caseType="checked", businessKey={"id": "a"})
    play.batch(case, {"op": "assert_fact", "predicate": "demo.soft.ready", "args": {"id": "a"}})
    status = play.view(case)["taskStatus"][case["root"]]
    assert status["leaves"][0]["tier"] == "asserted" and not status["certified"]
    assert "floor is attested" in play.view(case)["gaps"][0]["text"]


def test_where_the_contract_trusts_the_agent_an_assertion_is_enough(new_play):
    play = new_play(soft_capability(floor="asserted"))
    case = play.run("open_case", caseType="checked", businessKey={"id": "a"})
    play.batch(case, {"op": "assert_fact", "predicate": "demo.soft.ready", "args": {"id": "a"}})
    assert play.run("close_case", root=case["root"])["certified"]


def test_a_rule_without_a_fact_premise_makes_an_assertion(play):
    case = play.explore()
    play.batch(case, {"op": "add_axiom", "when": [], "then": [{"predicate": "free"}]},
               {"op": "add_axiom", "when": [{"predicate": "nothing", "naf": True}], "then": [{"predicate": "absent"}]})
    assert {node["tier"] for node in play.view(case)["nodes"]} == {"asserted"}


def soft_capability(floor: str = "attested") -> dict:
    """A Capability whose acceptance reads a predicate nobody protects."""
    return {
        "format": "rulith-capability/1", "id": "demo.soft", "version": "1.0.0", "title": "Soft",
        "vocabulary": {"defines": [{"id": "demo.soft.ready", "as": "ready", "args": {"id": "string"}}],
                       "imports": [{"id": "case_key", "as": "case_key"}]},
        "acceptance": [{"id": "ready", "when": [
            {"predicate": "case_key", "args": {"root": "?root", "name": "id", "value": "?id"}},
            {"predicate": "ready", "args": {"id": "?id"}}]}],
        "case_types": {"checked": {"title": "Checked", "business_key": {"id": "string"}, "floor": floor,
                                   "task": [{"node": "ready", "goal": "it is ready", "acceptance": "ready"}]}},
    }
