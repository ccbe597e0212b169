"""Canonical text has a fast way and a careful way; both write the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.canonical import _slow_text, canonical_text, spelled
from rulith.base.errors import Refused

TEXTS = st.one_of(st.text(max_size=12), st.sampled_from([
    "1.5", "x,1.5", '":1.5', "08:00:00.001", "a[1e5", "\U0001f600", "\ue000", "NaN", ',"true":', '{"5":', "true", "null", "12", "-3x",
]))
NUMBERS = st.one_of(st.integers(), st.integers(-10**25, 10**25), st.floats(allow_nan=False, allow_infinity=False),
                    st.sampled_from([0.0, -0.0, 1.0, 1e21, 1e-7, 10**21, -(10**21), 2**53]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


@given(VALUES)
def test_the_fast_way_writes_what_the_careful_way_writes(value: object) -> None:
    assert canonical_text(value) == _slow_text(value)


@given(st.dictionaries(st.from_regex(r"[a-zA-Z]{1,12}", fullmatch=True), VALUES, max_size=5), VALUES)
def test_a_spelled_object_knows_the_text_that_the_careful_way_writes(row: dict, below: object) -> None:
    found = spelled({**row, "command": spelled({"below": below})})
    assert found == {**row, "command": {"below": below}} and canonical_text(found) == _slow_text({**row, "command": {"below": below}})


@pytest.mark.parametrize("value", [
    math.nan, math.inf, {"a": -math.inf}, [1, math.nan], {1: "a"}, {None: 1}, {True: 1}, {1.5: 1}, {"a": {2: 3}},
    "\ud800", {"\udfff": 1}, {"a": {1, 2}}, b"bytes", {"a": object()},
])
def test_what_has_no_canonical_form_is_refused_by_both_ways(value: object) -> None:
    for write in (canonical_text, _slow_text):
        with pytest.raises(Refused) as refusal:
            write(value)
        assert refusal.value.code == "not_canonical"


@pytest.mark.parametrize(("value", "text"), [
    ({"b": 1, "a": 1.0, "\U0001f600": 2, "\ue000": 3}, '{"a":1,"b":1,"\U0001f600":2,"\ue000":3}'),
    ([1e21, 1e-7, 0.000001, -0.0, 123456789012345680000], "[1e+21,1e-7,0.000001,0,123456789012345680000]"),
    (5.0, "5"), ("é\n\u0001\u2028", '"é\\n\\u0001\u2028"'), ((), "[]"), ({}, "{}"),
])
def test_the_known_texts_come_out(value: object, text: str) -> None:
    assert canonical_text(value) == text
