"""Strict JSON reading. Duty: protocol/mcp/vectors.json "numbers"; RFC 7493 for duplicate keys."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.base.json_text import check_numbers, compact_json, read_json
from rulith.base.limits import INTEGER_MAX, JSON_DEPTH_MAX
from rulith.wire.contract import MCP_BUNDLE, load_bundle

NUMBERS = json.loads(load_bundle(MCP_BUNDLE).files["protocol/mcp/vectors.json"])["numbers"]
EXACT = NUMBERS["exact"]
INEXACT = [*NUMBERS["refused"], "9" * 5000, "1" + "0" * 400 + ".5"]


@pytest.mark.parametrize("literal", EXACT)
def test_an_exact_number_is_read(literal):
    assert read_json(literal, "it") == json.loads(literal)
    check_numbers(literal, "it")


@pytest.mark.parametrize("literal", INEXACT)
@pytest.mark.parametrize("around", ["{}", "[1,{}]", '{{"a":{{"b":{}}}}}'])
def test_a_number_outside_the_domain_is_refused_before_it_is_rounded(literal, around):
    with pytest.raises(Refused) as refused:
        read_json(around.format(literal), "the body")
    assert refused.value.code == "number_out_of_range"
    assert literal[:20] in refused.value.teaching and "the body" in refused.value.teaching


def test_digits_inside_text_are_business_data():
    text = '{"id":"9007199254740993","note":"1e999 \\" 9007199254740993"}'
    assert read_json(text, "it")["id"] == "9007199254740993"
    check_numbers(text, "it")


def test_numbers_are_judged_in_text_that_is_no_json():
    with pytest.raises(Refused):
        check_numbers('Here you go: {"tool":"x","input":{"n":9007199254740993', "the reply")
    check_numbers('it said "9007199254740993" and 12', "the reply")


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', '{"x":{"a":1,"b":2,"a":1}}', "", " ", "{", "[1,]", "{'a':1}", "01", "+1", ".5", "1.", "nul",
     '"\\ud800"', '{"\\udc00":1}', '["\\ud83d"]', '"tab\there"', "1 2", "\ufeff{}", '{"a":1}x'],
)
def test_text_with_more_than_one_reading_is_refused(text):
    with pytest.raises(Refused) as refused:
        read_json(text, "it")
    assert refused.value.code == "bad_json"


def test_a_surrogate_pair_is_one_character():
    assert read_json('"\\ud83d\\ude00"', "it") == "😀"


@pytest.mark.parametrize("data", [b"\xff", b'"\xc3"', b'"\xed\xa0\x80"', b'"\xc0\xaf"'])
def test_bytes_that_are_not_utf8_are_refused(data):
    with pytest.raises(Refused) as refused:
        read_json(data, "it")
    assert refused.value.code == "bad_json"


@pytest.mark.parametrize("deep", ["[", '{"a":'])
def test_nesting_stops_at_the_limit(deep):
    close = {"[": "]", '{"a":': "}"}[deep]
    read_json(deep * JSON_DEPTH_MAX + "1" + close * JSON_DEPTH_MAX, "it")
    with pytest.raises(Refused):
        read_json(deep * (JSON_DEPTH_MAX + 1) + "1" + close * (JSON_DEPTH_MAX + 1), "it")
    with pytest.raises(Refused):
        read_json(deep * 200_000, "it")


def test_brackets_inside_text_are_not_nesting():
    assert read_json(json.dumps("[" * 500 + '"' + "{" * 500), "it").startswith("[")


exact_numbers = st.integers(-INTEGER_MAX, INTEGER_MAX) | st.floats(
    allow_nan=False, allow_infinity=False
).filter(lambda value: not value.is_integer() or abs(value) <= INTEGER_MAX)
values = st.recursive(
    st.none() | st.booleans() | exact_numbers | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4
    ),
    max_leaves=20,
)


@given(values)
def test_what_we_write_reads_back_the_same(value):
    read = read_json(compact_json(value), "it")
    assert json.dumps(read) == json.dumps(value)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_exactly_or_refused(value):
    text = json.dumps(value)
    try:
        read = read_json(text, "it")
    except Refused:
        assert abs(value) > INTEGER_MAX and math.isfinite(value) and float(value).is_integer()
    else:
        assert read == value and type(read) is type(value)


@pytest.mark.parametrize("inside", ['\\"', '\\\\\\"', '\\"[', '"', '\\\\"', "\\"])
@pytest.mark.parametrize("end", ["", '"', "\\", '"]'])
def test_a_long_string_of_quotes_costs_what_its_length_costs(inside, end):
    """Counted by how often the text is looked at, not by a clock: 400 kB would take minutes if each quote began a string."""
    text = "[" * 65 + '1.5,"' + inside * 100_000 + end
    with pytest.raises(Refused):
        read_json(text, "it")
    check_numbers(text, "it")


def test_depth_is_counted_outside_strings_with_escapes():
    deep = "[" * 63 + '"\\\\","[[[\\"[[[","\\\\\\"[[","{"' + "]" * 63
    assert read_json(deep, "it")
    with pytest.raises(Refused):
        read_json("[" * 65 + '"\\\\"' + "]" * 65, "it")
    with pytest.raises(Refused, match="outside the exact"):
        check_numbers('{"a":"\\\\","b":9007199254740993}', "it")
    check_numbers('{"a":"\\"9007199254740993"', "it")
