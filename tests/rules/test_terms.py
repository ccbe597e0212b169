"""Scalars, atoms and what the reader refuses.

Duty: the board kernel on scalars and identity; integers beyond 2^53-1 are refused, never rounded.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.rules.terms import Atom, Literal, is_variable, normalise, read_atom, read_literal, read_rule


@pytest.mark.parametrize(("given_value", "kept"), [
    ("5", 5), ("-3", -3), ("2.5", 2.5), ("0.1", 0.1), ("1e-7", 1e-7), ("0", 0), (5.0, 5), (-0.0, 0), (True, True),
    ("007", "007"), ("5.0", "5.0"), ("1e3", "1e3"), ("+5", "+5"), (" 5", " 5"), (".5", ".5"), ("-0", "-0"), ("0x10", "0x10"),
    ("NaN", "NaN"), ("Infinity", "Infinity"), ("9007199254740993", "9007199254740993"), ("9007199254740991", 9007199254740991),
    ("9007199254740992", "9007199254740992"), ("1e+21", "1e+21"), ("", ""), ("true", "true"), ("?x", "?x"), (1e308, 1e308),
    ("5\u0661", "5\u0661"), ("1_0", "1_0"), ("5\n", "5\n"),
])
def test_a_scalar_has_one_form(given_value, kept):
    found = normalise(given_value)
    assert (found, type(found)) == (kept, type(kept))


@pytest.mark.parametrize(("value", "code"), [
    (None, "ATOM_INVALID"), ([1], "ATOM_INVALID"), ({}, "ATOM_INVALID"), (b"x", "ATOM_INVALID"), ("\ud800", "ATOM_INVALID"),
    (2**53, "number_out_of_range"), (-(2**53), "number_out_of_range"), (10**400, "number_out_of_range"),
    (float("nan"), "number_out_of_range"), (float("inf"), "number_out_of_range"), ("x" * 65_537, "resource_limit"),
])
def test_what_is_no_scalar_is_refused_by_code(value, code):
    with pytest.raises(Refused) as refusal:
        normalise(value)
    assert refusal.value.code == code


@pytest.mark.parametrize(("text", "variable"), [("?x", True), ("?", False), ("? ", False), ("x?", False), ("??", True), ("?X y", True)])
def test_a_variable_is_a_question_mark_and_a_name(text, variable):
    assert is_variable(text) is variable


def test_identity_is_typed_and_ignores_argument_order():
    assert Atom.of("p", {"a": 1, "b": "x"}) == Atom.of("p", {"b": "x", "a": 1.0})
    assert Atom.of("p", {"a": 1}) != Atom.of("p", {"a": True})
    assert Atom.of("p", {"a": 0}) != Atom.of("p", {"a": False})
    assert Atom.of("p", {"a": "true"}) != Atom.of("p", {"a": True})
    assert Atom.of("p", {"a": 1}) != Atom.of("p", {"a": 1}, negated=True)
    assert len({Atom.of("p", {"a": value}) for value in (1, True, "1x", 1.0, 0, False)}) == 5


def test_identity_text_is_one_per_atom():
    assert Atom.of("cost", {"item": "a", "total": 12}).identity() == 'cost|item:"a"|total:12'
    assert Atom.of("ill", {"p": "x"}, negated=True).identity() == 'not:ill|p:"x"'
    assert Atom.of("bare").identity() == "bare|"
    assert Atom.of("p", {"a": '1|b:"2'}).identity() != Atom.of("p", {"a": "1", "b": "2"}).identity()
    assert Atom.of("p", {"a:1|b": 2}).identity() != Atom.of("p", {"a": 1, "b": 2}).identity()
    assert Atom.of("not:p").identity() != Atom.of("p", negated=True).identity()


names = st.text(alphabet="ab|:\\", min_size=1, max_size=3)
atoms = st.builds(lambda p, a, n: Atom.of(p, a, n), names, st.dictionaries(names, st.one_of(names, st.booleans(), st.integers(0, 3)), max_size=2), st.booleans())


@given(atoms, atoms)
def test_different_atoms_have_different_identity_texts(one, other):
    assert (one == other) == (one.identity() == other.identity())


def test_an_atom_prints_as_people_write_it():
    assert Atom.of("p", {"b": "x", "a": 1, "c": True, "d": 0.5}, negated=True).text() == "not p(a=1, b=x, c=true, d=0.5)"
    assert Literal.of("p", {"a": "?x"}, naf=True).text() == "naf p(a=?x)"


@pytest.mark.parametrize(("obj", "part"), [
    (None, "not an object"), ([], "not an object"), ({}, "predicate"), ({"predicate": ""}, "predicate"), ({"predicate": 5}, "predicate"),
    ({"predicate": "p", "args": []}, "args"), ({"predicate": "p", "args": {"a": None}}, "null"), ({"predicate": "p", "args": {"a": {}}}, "dict"),
    ({"predicate": "p", "negated": 1}, "negated"), ({"predicate": "p", "naf": "yes"}, "naf"), ({"predicate": "p", "arguments": {}}, "arguments"),
])
def test_a_malformed_literal_is_refused_by_member(obj, part):
    with pytest.raises(Refused, match=part) as refusal:
        read_literal(obj)
    assert refusal.value.code == "ATOM_INVALID"


@pytest.mark.parametrize(("obj", "part"), [
    (5, "object"), ({"when": [], "then": []}, "`id`"), ({"id": "r", "then": []}, "`when`"), ({"id": "r", "when": []}, "`then`"),
    ({"id": "r", "when": [{}], "then": []}, r"`when`\[0\]"), ({"id": "r", "label": 3, "when": [], "then": []}, "label"),
])
def test_a_malformed_rule_is_refused_by_member(obj, part):
    with pytest.raises(Refused, match=part) as refusal:
        read_rule(obj)
    assert refusal.value.code == "ATOM_INVALID"


@pytest.mark.parametrize("obj", [{"predicate": "p", "args": {"a": "?x"}}, {"predicate": "p", "naf": True}])
def test_a_fact_holds_no_variable_and_no_naf(obj):
    with pytest.raises(Refused) as refusal:
        read_atom(obj)
    assert refusal.value.code == "ATOM_INVALID"
