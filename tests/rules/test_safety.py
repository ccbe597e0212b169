"""Which rules may run at all, and what the others are told.

Duty: the board kernel on safety and strata; refusals teach, with every violation named.
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.rules.program import Program
from rulith.rules.safety import check_action, violations
from rulith.rules.terms import Literal, read_literals, read_rule


def lit(text):
    """`naf not p(a=?x, b=1)` as a literal's JSON: enough of a language for a table."""
    found = {}
    for word in ("naf ", "not "):
        if text.startswith(word):
            found["negated" if word == "not " else "naf"] = True
            text = text[len(word):]
    predicate, _, rest = text.partition("(")
    args = dict(pair.strip().split("=") for pair in rest.rstrip(")").split(",") if pair.strip())
    return {"predicate": predicate, "args": args, **found}


def rule(when, then, rule_id="r"):
    return read_rule({"id": rule_id, "when": [lit(one) for one in when], "then": [lit(one) for one in then]})


ACCEPTED = [
    (["p(a=?x)"], ["q(a=?x)"]),
    (["not p(a=?x)"], ["not q(a=?x)"]),
    (["p(a=?x)", "add(left=?x,right=1,result=?y)"], ["q(a=?y)"]),
    (["add(left=1,right=2,result=?y)"], ["q(a=?y)"]),
    (["p(a=?x)", "naf q(a=?x)"], ["r(a=?x)"]),
    (["p(a=?x)", "naf not q(a=?x)"], ["r(a=?x)"]),
    (["naf q(a=1)"], ["r(a=1)"]),
    ([], ["r(a=1)"]),
    (["p(a=?x)"], []),
    (["p(a=?x)", "add(left=?r,right=?x,result=?r)"], ["q(a=?r)"]),
]

REJECTED = [
    (["p(a=?x)"], ["q(a=?y)"], ["?y in q(a=?y) is bound by no body literal"]),
    (["p(a=?x)", "naf q(a=?y)"], ["r(a=?x)"], ["?y in naf q(a=?y) is bound by no other literal"]),
    (["p(a=?x)", "lt(left=?x,right=?y)"], ["r(a=?x)"], ["?y in lt(left=?x, right=?y) is bound by no other literal"]),
    (["p(a=?x)", "add(left=?z,right=?x,result=?y)"], ["r(a=?y)"], ["?z in add(left=?z, result=?y, right=?x) is bound by no other literal"]),
    (["p(a=?x)", "naf lt(left=?x,right=1)"], ["r(a=?x)"], ["naf lt(left=?x, right=1) negates a builtin; use its opposite instead"]),
    (["p(a=?x)", "not eq(left=?x,right=1)"], ["r(a=?x)"], ["not eq(left=?x, right=1) negates a builtin; use its opposite instead"]),
    (["p(a=?x)"], ["naf q(a=?x)"], ["naf q(a=?x) concludes an absence; use `negated` to conclude the opposite"]),
    (["p(a=?x)"], ["add(left=?x,right=1,result=2)"], ["add(left=?x, result=2, right=1) concludes a builtin"]),
    (["naf p(a=?x)"], ["q(b=?y)"], ["?x in naf p(a=?x) is bound by no other literal", "?y in q(b=?y) is bound by no body literal"]),
]


@pytest.mark.parametrize(("when", "then"), ACCEPTED)
def test_a_safe_rule_is_accepted(when, then):
    program = Program()
    with program.transaction() as tx:
        tx.add_rule(rule(when, then))
    assert [one.id for one in program.rules()] == ["r"]


@pytest.mark.parametrize(("when", "then", "problems"), REJECTED)
def test_an_unsafe_rule_is_refused_with_every_violation(when, then, problems):
    program = Program()
    with pytest.raises(Refused) as refusal:
        with program.transaction() as tx:
            tx.add_rule(rule(when, then))
    assert refusal.value.code == "RULE_UNSAFE"
    assert refusal.value.facts["violations"] == problems
    assert refusal.value.happened == f"Rule r is not safe: {'; '.join(problems)}."
    assert program.rules() == []


def test_an_unsafe_action_is_refused_likewise():
    body = read_literals([lit("p(a=?x)")], "preconditions")
    check_action("ok", body, [Literal.of("q", {"a": "?x"}, negated=True)])
    with pytest.raises(Refused) as refusal:
        check_action("bad", body, [Literal.of("q", {"a": "?y"}), Literal.of("add", {})])
    assert refusal.value.code == "ACTION_UNSAFE"
    assert len(refusal.value.facts["violations"]) == 2


def test_violations_of_a_safe_body_are_none():
    assert violations(read_literals([lit("p(a=?x)")], "w"), []) == []


STRATIFIED = [
    [(["q(x=?x)", "naf p(x=?x)"], ["not p(x=?x)"])],      # p and its strong negative are two predicates
    [(["a(x=?x)"], ["b(x=?x)"]), (["b(x=?x)"], ["a(x=?x)"]), (["a(x=?x)", "naf c(x=?x)"], ["d(x=?x)"])],
]

CYCLES = [
    ([(["q(x=?x)", "naf p(x=?x)"], ["p(x=?x)"])], "p needs the absence of p"),
    ([(["q(x=?x)", "naf b(x=?x)"], ["a(x=?x)"]), (["q(x=?x)", "naf a(x=?x)"], ["b(x=?x)"])], "needs the absence of"),
    ([(["move(a=?x,b=?y)", "naf win(x=?y)"], ["win(x=?x)"])], "win needs the absence of win"),
    ([(["q(x=?x)", "naf c(x=?x)"], ["a(x=?x)"]), (["a(x=?x)"], ["b(x=?x)"]), (["b(x=?x)"], ["c(x=?x)"])],
     "a needs the absence of c, c rests on b, b rests on a"),
]


@pytest.mark.parametrize("rules", STRATIFIED)
def test_a_stratified_program_is_accepted(rules):
    program = Program()
    with program.transaction() as tx:
        for number, (when, then) in enumerate(rules):
            tx.add_rule(rule(when, then, f"r{number}"))
        tx.close()


@pytest.mark.parametrize(("rules", "words"), CYCLES)
def test_an_absence_in_a_cycle_is_refused_and_shown(rules, words):
    program = Program()
    with pytest.raises(Refused) as refusal:
        with program.transaction() as tx:
            for number, (when, then) in enumerate(rules):
                tx.add_rule(rule(when, then, f"r{number}"))
            tx.close()
    assert refusal.value.code == "NOT_STRATIFIABLE"
    assert words in refusal.value.happened
    assert program.rules() == []
