"""Names made to look like others: an Agent's predicate is what it shows, and never a twin of one that law answers for."""

from __future__ import annotations

import json

import pytest

from rulith.base.errors import Refused
from rulith.base.resources import shipped_text
from rulith.board.capability_check import check_capability
from rulith.board.words import BOARD_WORDS, BUILTINS

P = "rulith.verified_calculation."
HIDDEN = {"a zero-width space": "to\u200btal", "a right-to-left override": "\u202etotal", "an isolate": "total\u2066", "a byte order mark": "\ufefftotal",
          "a soft hyphen": "to\u00adtal", "a control": "total\x07", "a line break": "total\nend", "a blank": "my total", "a no-break space": "my\u00a0total",
          "a wide blank": "my\u3000total", "a braille blank": "\u2800", "a Hangul filler": "\u3164", "a tag letter": "total\U000e0061",
          "a variation selector": "total\ufe0f", "a joiner": "to\u034ftal", "private use": "total\ue000"}
TWINS = ["Acceptance_Met", "ACCEPTANCE_MET", "ａcceptance_met", "𝒂cceptance_met", "Root", "Case_Key", "Rulith.Exploration.completed",
         "rulith.exploration.ｃompleted", "Add", "ＡＤＤ", P + "Total", P.upper() + "TOTAL"]


def ways(name: str) -> list[dict]:
    """Every place of a batch where an Agent names a predicate."""
    literal = {"predicate": name, "args": {"n": 1}}
    fine = {"predicate": "fine", "args": {"n": 1}}
    return [
        {"op": "assert_fact", **literal},
        {"op": "declare_goal", "desired": [literal]},
        {"op": "add_axiom", "when": [fine], "then": [literal]},
        {"op": "add_axiom", "when": [literal], "then": [fine]},
        {"op": "add_axiom", "when": [fine, {**literal, "naf": True}], "then": [{"predicate": "other"}]},
        {"op": "define_action", "action": "act", "effects": [literal]},
        {"op": "define_action", "action": "act", "preconditions": [literal], "effects": [fine]},
        {"op": "derive_aggregate", "kind": "count", "source": {"predicate": name}, "into": {"predicate": "n", "valueArg": "v"}},
        {"op": "derive_aggregate", "kind": "count", "source": {"predicate": "seed"}, "into": {"predicate": name, "valueArg": "v"}},
    ]


def refusal(play, case, operation) -> str:
    before = play.board.closure_digest()
    with pytest.raises(Refused) as refused:
        play.batch(case, operation)
    assert refused.value.code in ("not_permitted", "ATOM_INVALID"), (operation, refused.value)
    assert play.board.closure_digest() == before
    return str(refused.value)


@pytest.fixture
def case(play):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "seed", "args": {"n": 1}})
    return case


@pytest.mark.parametrize("name", HIDDEN.values(), ids=HIDDEN)
def test_a_predicate_is_made_of_letters_that_show(play, case, name):
    for operation in ways(name):
        said = refusal(play, case, operation)
        assert said.isprintable() and "U+" in said, said


@pytest.mark.parametrize("name", TWINS)
def test_a_predicate_never_looks_like_one_that_law_answers_for(play, case, name):
    for operation in ways(name):
        assert "reads like" in refusal(play, case, operation)


@pytest.mark.parametrize("name", HIDDEN.values(), ids=HIDDEN)
def test_an_argument_and_an_action_are_named_in_letters_that_show(play, case, name):
    refusal(play, case, {"op": "assert_fact", "predicate": "fine", "args": {name: 1}})
    if name.strip() and " " not in name:       # an Action's name is words
        refusal(play, case, {"op": "define_action", "action": name, "effects": [{"predicate": "fine"}]})


def test_a_label_shows_what_it_says(play, case):
    for label in ("\u202eapproved", "a\u200bb", "line\nbreak", " ", "\u3164", "\u2800 x", "x\x1b[2J"):
        for operation in ({"op": "declare_goal", "desired": [{"predicate": "fine"}], "label": label},
                          {"op": "add_axiom", "when": [], "then": [{"predicate": "fine"}], "label": label},
                          {"op": "define_action", "action": "act", "effects": [{"predicate": "fine"}], "label": label}):
            assert "label" in refusal(play, case, operation)
    play.batch(case, {"op": "declare_goal", "desired": [{"predicate": "fine"}], "label": "Größe über 5 µm, 合計 — ok"})


def test_ordinary_names_in_any_script_stay_free(play, case):
    for name in ("Größe", "合計", "итог", "total", "acme.total", "root_cause", "added", "is-ready", "π", "नमस्ते"):
        play.batch(case, {"op": "assert_fact", "predicate": name, "args": {"größe": 1}})


def test_the_real_words_still_say_who_answers_for_them(play, case):
    for name in sorted(BOARD_WORDS):
        with pytest.raises(Refused) as refused:
            play.batch(case, {"op": "assert_fact", "predicate": name})
        assert refused.value.code == "attested_predicate"


WRONG = [("add", {"left": 1, "rigth": 2, "result": "?x"}), ("add", {"a": 1, "b": 2, "result": "?x"}), ("add", {"left": 1, "right": 2}),
         ("add", {"left": 1, "right": 2, "result": "?x", "unit": "cents"}), ("lt", {"left": 1}), ("between", {"value": 1, "left": 0, "right": 2}),
         ("abs", {"left": 1, "right": 2, "result": "?x"}), ("eq", {})]


@pytest.mark.parametrize(("name", "args"), WRONG)
def test_a_builtin_with_other_argument_names_is_refused_and_told_its_own(play, case, name, args):
    head = {"predicate": "fine", "args": {"x": "?x"} if "?x" in args.values() else {}}
    for operation in ({"op": "add_axiom", "when": [{"predicate": "seed", "args": {"n": "?n"}}, {"predicate": name, "args": args}], "then": [head]},
                      {"op": "define_action", "action": "act", "preconditions": [{"predicate": name, "args": args}], "effects": [head]}):
        with pytest.raises(Refused) as refused:
            play.batch(case, operation)
        assert refused.value.code in ("RULE_UNSAFE", "ACTION_UNSAFE") and f"{name} takes " in str(refused.value)


def test_a_capability_with_a_misnamed_builtin_is_told_where(play):
    document = json.loads(shipped_text("examples", "verified-calculation", "capability.json"))
    document["rules"][0]["when"][1]["args"] = {"left": "?price", "by": "?quantity", "result": "?cents"}
    (problem,) = [each.text() for each in check_capability(document)[1]]
    assert problem.startswith("rules[0].when[1]: mul(") and "lacks right and has by; mul takes left, right, result" in problem


def test_every_builtin_is_accepted_under_its_own_names(play, case):
    from rulith.rules.builtins import ARITHMETIC, COMPARISONS
    for name, slots in {**COMPARISONS, **ARITHMETIC}.items():
        args = {slot: 4 for slot in slots} | ({"result": "?x"} if name in ARITHMETIC else {})
        then = [{"predicate": f"got_{name}", "args": {"x": "?x"} if name in ARITHMETIC else {}}]
        play.batch(case, {"op": "add_axiom", "when": [{"predicate": "seed", "args": {"n": "?n"}}, {"predicate": name, "args": args}], "then": then})
    assert set(COMPARISONS) | set(ARITHMETIC) == BUILTINS


def test_the_check_reads_no_table_that_a_newer_python_changes():
    """A row that was accepted is folded again under every Python: letters unknown to Unicode 3.2 are taken as they are."""
    from rulith.board.names import resembles
    assert resembles("\U000107a5") == "\U000107a5"            # NFKC of a newer table would call it q
