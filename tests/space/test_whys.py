"""Whys: what is said to be lacking is lacking, and what is said to change the answer changes it.

Duty: the reasoning board, "Explain"; design, "Proofs": why_not, and what would change it.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.board.space import actions, whys
from rulith.rules.terms import read_literal
from tests.space.short import AT, board, copied, everything, literal, minting, tell, texts, TRUSTED


def ask(text):
    return read_literal(literal(text))


# --- why not -----------------------------------------------------------------------------


def test_the_nearest_rule_says_what_it_lacks_and_who_could_supply_it():
    space = board("part(x=1)", "FAR: ok(x=?x) <- u(x=?x), v(x=?x)", "NEAR: ok(x=?x) <- part(x=?x), check(x=?x)", "A! part(x=?x) => check(x=?x)", "S: check(x=?x) <- seen(x=?x)")
    found = whys.why_not(space, ask("ok(x=1)"))
    gap = found.gaps[0]
    assert gap.rule_id == "NEAR" and texts(gap.have) == ["part(x=1)"]
    supply = gap.lacking[0]
    assert supply.missing.literal.text() == "check(x=1)" and supply.actions == ("A",) and supply.rules == ("S",)
    assert gap.below[0].rule_id == "S" and gap.below[0].lacking[0].missing.literal.text() == "seen(x=1)"
    told = whys.why_not_text(found)
    assert "no fact check(x=1)" in told and "could come from action A, rule S" in told


def test_a_guard_an_absence_and_an_overflow_are_named():
    space = board("n(v=3, x=1)", "out(x=1)", "m(v=9007199254740991)", "R: big(x=?x) <- n(v=?v, x=?x), gt(left=?v, right=10)",
                  "S: free(x=?x) <- n(x=?x), naf out(x=?x)", "T: next(v=?w) <- m(v=?v), add(left=?v, right=1, result=?w)")
    assert "gt(left=3, right=10) is false" in whys.why_not_text(whys.why_not(space, ask("big(x=1)")))
    assert "there is such a fact" in whys.why_not_text(whys.why_not(space, ask("free(x=1)")))
    assert "leaves the exact range" in whys.why_not_text(whys.why_not(space, ask("next(v=?v)")))


def test_an_action_that_could_produce_it_is_told_with_what_blocks_it():
    space = board("A! key(k=1), door(d=?d) => open(d=?d)", "door(d=1)")
    found = whys.why_not(space, ask("open(d=1)"))
    assert found.producers[0].blocked_on.text() == "key(k=1)" and "blocked on key(k=1)" in whys.why_not_text(found)


def test_a_withdrawn_total_is_told():
    space = board("m(v=1)", {"op": "derive_aggregate", "id": "T", "source": {"predicate": "m", "valueArg": "v"}, "into": {"predicate": "t", "valueArg": "v"}})
    tell(space, "m(v=2)")
    assert "derive it again" in whys.why_not_text(whys.why_not(space, ask("t(v=?v)")))


def test_what_nothing_concludes_is_said():
    found = whys.why_not(board("p(x=1)"), ask("q(x=1)"))
    assert found.note and not found.gaps
    assert whys.why_not(board("p(x=1)"), ask("p(x=1)")).holds
    assert whys.why_not(board("not q(x=1)"), ask("q(x=1)")).refuted


@pytest.mark.parametrize("question", ["gt(left=1, right=2)", "naf p(x=1)"])
def test_what_could_never_be_a_fact_is_refused(question):
    for mode in (whys.why_not, whys.what_if):
        with pytest.raises(Refused) as refused:
            mode(board("p(x=1)"), ask(question))
        assert refused.value.code == "ATOM_INVALID"


def test_a_question_may_name_an_entry():
    space = board("F = p(x=1)", "G? q(x=?x)", {"op": "declare_hypothesis", "id": "H", "predicate": "r", "args": {"x": 1}}, "R: q(x=?x) <- p(x=?x)", "K? p(x=1), q(x=1)")
    assert [whys.pattern_of(space, name).text() for name in ("F", "G", "H", "derived:q|x:1")] == ["p(x=1)", "q(x=?x)", "r(x=1)", "q(x=1)"]
    for name, code in (("R", "NODE_NOT_FACT"), ("K", "NODE_NOT_FACT"), ("X", "NODE_NOT_FOUND")):
        with pytest.raises(Refused) as refused:
            whys.pattern_of(space, name)
        assert refused.value.code == code


# --- what would change it ----------------------------------------------------------------


def ways(found):
    return [sorted(doing.text() for doing in way) for way in found.ways]


def test_a_missing_fact_or_an_action_makes_it_hold():
    space = board("part(x=1)", "R: ok(x=?x) <- part(x=?x), check(x=?x)", "A! part(x=?x) => check(x=?x)", "B! part(x=?x) => ok(x=?x)", "C! nothing() => ok(x=1)")
    found = whys.what_if(space, ask("ok(x=1)"))
    assert ways(found) == [["apply B"], ["assert check(x=1)"]] and found.complete


def test_what_stands_in_the_way_is_retracted_along_with_what_is_asserted():
    space = board("F = hold(x=1)", "R: ok(x=?x) <- part(x=?x), naf hold(x=?x)")
    assert ways(whys.what_if(space, ask("ok(x=1)"))) == [["assert part(x=1)", "retract F: hold(x=1)"]]


def test_what_nobody_concludes_or_produces_can_only_be_stated():
    space = board("p(a=1)", "R: q(a=?x) <- r(a=?x)")
    assert whys.what_if(space, ask("order(a=1)")).note == whys.ONLY_STATED
    assert whys.what_if(space, ask("q(a=1)")).note is None


def test_deeper_rules_offer_their_own_way():
    space = board("R: ok(x=?x) <- check(x=?x)", "S: check(x=?x) <- seen(x=?x)")
    assert ways(whys.what_if(space, ask("ok(x=1)"))) == [["assert check(x=1)"], ["assert seen(x=1)"]]


def test_a_fact_that_nobody_can_name_yet_is_a_need():
    space = board("R: ok() <- part(x=?x)")
    found = whys.what_if(space, ask("ok()"))
    assert found.ways == () and texts(found.needs) == ["part(x=?x)"]
    assert "find the values" in whys.what_if_text(found)


def test_each_fact_that_carries_it_alone_is_told():
    space = board("F = a(x=1)", "G = b(x=1)", "H = b2(x=1)", "R: ok(x=?x) <- a(x=?x), b(x=?x), naf stop(x=?x)", "S: b(x=?x) <- b2(x=?x)")
    found = whys.what_if(space, ask("ok(x=1)"))
    assert ways(found) == [["retract F: a(x=1)"], ["assert stop(x=1)"]]


def test_where_none_carries_it_alone_a_set_does_and_no_part_of_it_is_idle():
    space = board("F = a(x=1)", "G = b(x=1)", "H = c(x=1)", "R: ok(x=?x) <- a(x=?x), c(x=?x)", "S: ok(x=?x) <- b(x=?x), c(x=?x)", "K = d(x=1)", "T: ok(x=?x) <- d(x=?x)")
    assert ways(whys.what_if(space, ask("ok(x=1)"))) == [["retract H: c(x=1)", "retract K: d(x=1)"],
                                                         ["retract F: a(x=1)", "retract G: b(x=1)", "retract K: d(x=1)"]]


def test_what_follows_from_rules_alone_does_not_fall():
    found = whys.what_if(board("R: ok(x=1) <- naf never()"), ask("ok(x=1)"))
    assert ways(found) == [["assert never()"]]
    assert whys.what_if(board({"op": "add_axiom", "id": "R", "label": "r", "when": [], "then": [{"predicate": "ok"}]}), ask("ok()")).note


def test_every_statement_of_a_fact_goes_together():
    space = board("F = a(x=1)", "R: ok(x=?x) <- a(x=?x)")
    tell(space, "G = a(x=1)", options=TRUSTED)
    assert ways(whys.what_if(space, ask("ok(x=1)"))) == [["retract F: a(x=1)", "retract G: a(x=1)"]]


def test_a_cut_search_says_so(monkeypatch):
    monkeypatch.setattr(whys, "WHAT_IF_TRIALS_MAX", 2)
    space = board(*(f"a(x={n})" for n in range(6)), "R: ok() <- " + ", ".join(f"a(x={n})" for n in range(6)))
    found = whys.what_if(space, ask("ok()"))
    assert not found.complete and len(found.ways) == 2 and "cut" in whys.what_if_text(found)


def test_a_change_that_would_be_refused_is_no_way():
    space = board("R: t(s=?s) <- m(v=?v), concat(left=a, right=?v, result=?s)", "S: ok() <- m(v=1.5)")
    before = everything(space)
    assert whys.what_if(space, ask("ok()")).ways == ()
    assert everything(space) == before


_values = st.sampled_from(["1", "2"])
_stated = st.lists(st.builds("{}(a={})".format, st.sampled_from("pqrs"), _values), max_size=6, unique=True)
_rules = st.lists(st.builds("{}(a=?x) <- {}{}".format, st.sampled_from(["u", "v", "w"]), st.sampled_from(["p(a=?x)", "q(a=?x), r(a=?x)", "u(a=?x)", "v(a=?x), p(a=?x)"]),
                            st.sampled_from(["", ", naf s(a=?x)", ", naf q(a=1)", ", gt(left=?x, right=1)"])), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(_stated, _rules, st.builds("{}(a={})".format, st.sampled_from(["u", "v", "w", "p"]), st.sampled_from(["1", "2", "?y"])))
def test_every_way_turns_the_answer_over_on_an_independent_board(stated, rules, question):
    space = board(*stated, *(f"R{n}: {rule}" for n, rule in enumerate(rules)), "A! p(a=?x) => q(a=?x), not r(a=?x)")
    pattern = ask(question)
    before = everything(space)
    found = whys.what_if(space, pattern)
    assert everything(space) == before and found.holds == space.held(pattern)
    for way in found.ways:
        other = copied(space)
        draw = minting()
        for doing in way:
            if doing.act == whys.APPLY:
                actions.apply_action(other, doing.what, at=AT, mint=lambda prefix: draw("copy_"))
            elif doing.act == whys.RETRACT:
                tell(other, {"op": "retract_node", "nodeId": doing.what}, mint=lambda prefix: draw("copy_"))
            else:
                tell(other, {"op": "assert_fact", **doing.atom.json()}, mint=lambda prefix: draw("copy_"))
        assert other.held(pattern) != found.holds, (way, question)
