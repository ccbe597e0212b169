"""A result that knows its own text goes out as the encoder would have written it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rulith.base.json_text import escaped, text_encoder
from rulith.wire.jsonrpc import Written, encode, encode_text, result

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), below, max_size=4),
    max_leaves=12)


@given(VALUES)
def test_a_json_text_becomes_the_string_that_the_encoder_writes(value: object) -> None:
    text = encode_text(value)
    assert f'"{escaped(text)}"' == json.dumps(text, ensure_ascii=False)


@given(VALUES, st.booleans())
def test_a_kept_encoder_writes_what_a_fresh_one_writes(value: object, ordered: bool) -> None:
    assert text_encoder(sort_keys=ordered)(value) == json.dumps(value, ensure_ascii=False, sort_keys=ordered, separators=(",", ":"))


@given(VALUES, st.integers(0, 9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=9))
def test_a_written_result_reads_as_its_members(value: object, request_id: int | str) -> None:
    written = Written(content=value)
    written.text = json.dumps(dict(written))
    assert json.loads(encode(result(request_id, written))) == {"jsonrpc": "2.0", "id": request_id, "result": {"content": value}}
