"""A run is what the Agent told: its steps, the Case, the end."""

from rulith.workbench.runs import Run, call_label, result_state, shown

AT = "2026-10-03T08:00:00.000Z"


def run(*events):
    made = Run("run_1", "calc-001", "verified_calculation", {}, AT)
    for event in events:
        made.take(event, AT)
    return made


def call(n, cmd="ApplyAction", **given):
    return {"type": "tool-call", "callId": f"c{n}", "cmd": cmd, "input": given}


def answer(n, **given):
    return {"type": "tool-result", "callId": f"c{n}", "cmd": "ApplyAction", "accepted": True, "output": {"result": {}}, **given}


def test_a_call_and_its_answer_are_one_step():
    made = run(call(1, action="rulith.verified_calculation.read_input"), answer(1))
    assert [(step.label, step.state) for step in made.steps] == [("ApplyAction read_input", "done")]


def test_an_answer_finds_its_call_by_id_whatever_the_order():
    made = run(call(1), call(2), answer(1, accepted=False), answer(2))
    assert [step.state for step in made.steps] == ["refused", "done"]


def test_a_call_without_ids_takes_the_newest_open_step():
    made = run({"type": "tool-call", "cmd": "OpenCase", "input": {"caseType": "verified_calculation"}},
               {"type": "tool-result", "cmd": "OpenCase", "accepted": True})
    assert (made.steps[0].label, made.steps[0].state) == ("OpenCase verified_calculation", "done")


def test_a_held_call_keeps_running_until_its_answer():
    made = run(call(1), {"type": "held-call", "callId": "c1", "state": "running", "stage": "at_worker"})
    assert (made.steps[0].state, made.steps[0].stage, made.steps[0].ended_at) == ("running", "at_worker", None)


def test_a_lost_answer_is_unknown_and_an_unsent_call_is_not_sent():
    assert result_state({"transportFailed": True}) == ("unknown", None)
    assert result_state({"notExecuted": True}) == ("not_executed", None)
    assert result_state({"notExecuted": True, "transportFailed": True}) == ("not_sent", None)


def test_the_case_is_remembered_from_whatever_names_it():
    assert run({"type": "case-open", "caseId": "case_1"}).case_id == "case_1"
    assert run({"type": "end", "caseId": "case_2", "outcome": "completed"}).case_id == "case_2"


def test_the_end_says_how_and_why():
    made = run({"type": "end", "outcome": "stuck", "exit": 12, "message": "mul 9007199254740991 2 is not exact"})
    made.end(12, AT)
    assert (made.exit, made.problem) == (12, "mul 9007199254740991 2 is not exact")


def test_an_agent_that_dies_leaves_its_open_step_unknown_and_its_last_words():
    made = run(call(1))
    made.end(-9, AT, "Killed")
    assert (made.steps[0].state, made.problem) == ("unknown", "Killed")


def test_a_stop_that_was_asked_for_is_told_as_that():
    made = run(call(1))
    made.stopping = True
    made.end(143, AT, "The run was stopped.")
    assert (made.exit, made.problem) == (143, "")


def test_a_call_answered_by_an_earlier_outcome_is_no_refusal():
    made = run(call(1), answer(1, accepted=False, notExecuted=True, code="previous_result_undelivered"),
               {"type": "action-outcome", "action": "x.read", "state": "refused"})
    assert made.steps[0].state == "shown_earlier" and made.steps[0].ended_at == AT
    made = run(call(1), answer(1, accepted=False, notExecuted=True, code="operation_running"))
    assert made.steps[0].state == "not_executed"


def test_a_call_that_waits_for_a_person_has_no_end_until_the_run_has_one():
    """The clock of a held call runs on (the workbench surface, §17)."""
    held = {"type": "held-call", "callId": "c1", "cmd": "ApplyAction", "state": "waiting_for_decision"}
    made = run(call(1), {**held, "callId": call(1)["callId"]})
    assert (made.steps[0].state, made.steps[0].ended_at) == ("waiting_for_decision", None)
    made.end(11, AT)
    assert (made.steps[0].state, made.steps[0].ended_at) == ("waiting_for_decision", AT)


def test_a_look_that_could_not_be_had_and_content_that_is_withheld_are_told_as_that():
    made = run(call(1), answer(1, accepted=False, transportFailed=True), {"type": "board-observation-unavailable", "cmd": "QueryBoard"})
    assert made.steps[0].state == "unobserved"
    made = run(call(1), answer(1, accepted=False, held=True, state="done", output={"state": "done", "contentWithheld": True}))
    assert made.steps[0].row()["withheld"] is True and made.steps[0].state == "done"


def test_events_of_unknown_kinds_change_nothing():
    made = run()
    assert made.take({"type": "weather", "rain": True}, AT) is False
    assert made.row()["steps"] == []


def test_long_content_is_cut_on_a_character_and_says_so():
    text = shown("ä" * 40_000)
    assert text.endswith("bytes more") and "\ufffd" not in text


def test_a_display_copy_that_was_cut_before_keeps_its_text():
    assert shown({"text": "{}", "truncated": True, "totalBytes": 99}) == "{}"


def test_a_label_comes_from_the_calls_own_input_only():
    assert call_label({"cmd": "CloseCase", "input": '{"disposition": "completed"}'}) == "CloseCase completed"
    assert call_label({"cmd": "QueryBoard", "input": "not json"}) == "QueryBoard"


def test_a_call_that_waits_for_a_person_says_so_to_the_end():
    made = run(call(1, action="x.write"), {"type": "held-call", "cmd": "ApplyAction", "state": "waiting_for_decision"},
               answer(1, accepted=False, held=True), {"type": "action-outcome", "action": "x.write", "state": "waiting_for_decision"})
    made.end(11, AT)
    assert made.steps[0].state == "waiting_for_decision"


def test_a_models_words_are_shown_as_they_come_and_then_as_they_are():
    made = Run("run_1", "calc-001", "verified_calculation", {}, AT)
    assert not made.take({"type": "round", "round": 1}, AT) and not made.take({"type": "model-delta", "text": "I will "}, AT)
    assert made.take({"type": "model-delta", "text": "read the order and derive its totals now"}, AT)
    assert made.row()["said"].startswith("I will read")
    assert made.take({"type": "propose", "say": "Done."}, AT) and made.said == "Done."
    assert not made.take({"type": "round", "round": 2}, AT) and "said" not in made.row()


def test_words_of_a_reply_that_was_none_are_taken_back():
    made = run({"type": "model-delta", "text": "half a"}, {"type": "model-error", "message": "cut"})
    assert (made.said, made.problem) == ("", "cut")


def test_words_without_end_and_of_any_type_stay_bounded():
    made = run(*[{"type": "model-delta", "text": "x" * 5_000}] * 3, {"type": "model-delta", "text": None}, {"type": "model-card", "quirks": 7})
    assert len(made.said) == 8_000 and made.service == []


def test_what_a_model_service_is_like_is_a_card_of_the_run():
    made = run({"type": "model-card", "quirks": [{"id": "busy", "words": "was too busy and was asked again"}, 7, {"id": "x"}]})
    assert made.row()["service"] == ["was too busy and was asked again"]
