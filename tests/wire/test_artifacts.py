"""Windows of an object: whole letters, no gap, the same bytes whichever way they came. Duty: the MCP surface, §4.6."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings, strategies as st

from rulith.base.errors import Refused
from rulith.base.limits import CHUNK_BYTES
from rulith.wire.artifacts import base64_bytes, check_chunks, cut_window, encoding_of, held_of, reach
from rulith.wire.results import validate_result

REF = "art_" + "a" * 32


def windows(data: bytes, media_type: str, size: int) -> list[dict]:
    held = held_of("res_x", media_type, data)
    said = {"mediaType": held.media_type, "encoding": held.encoding, "totalBytes": held.total_bytes}
    found, offset = [], 0
    while offset is not None:
        first, count = reach(len(data), offset, size)
        chunks = [data[at * CHUNK_BYTES:(at + 1) * CHUNK_BYTES] for at in range(first, first + count)]
        check_chunks(chunks, held.chunk_digests[first:first + count], len(data), first, REF)
        found.append(cut_window(REF, said, offset, size, first, chunks))
        validate_result("artifactWindow", found[-1])
        assert found[-1]["offset"] == offset
        offset = found[-1]["nextOffset"]
    return found


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=300), st.integers(4, 40))
def test_the_windows_of_a_text_are_the_text(text, size):
    data = text.encode("utf-8", "replace")
    told = windows(data, "text/plain", size)
    whole = b"".join(base64.b64decode(each["data"]) if each["encoding"] == "base64" else each["data"].encode() for each in told)
    assert whole == data and all(len(each["data"].encode()) <= size or each["encoding"] == "base64" for each in told)


def test_windows_cross_chunks_and_reach_at_most_one_more():
    data = ("é" * 100_000).encode()
    assert "".join(each["data"] for each in windows(data, "text/plain", 65_536)).encode() == data
    assert reach(len(data), CHUNK_BYTES - 1, CHUNK_BYTES) == (0, 2) and reach(10, 0, 2**20) == (0, 1) and reach(2**21, 5, 2**20) == (0, 17)


@pytest.mark.parametrize("media_type, data, encoding", [
    ("text/plain", b"a", "utf8"), ("text/plain", b"a\0", "base64"), ("text/csv; charset=utf-8", "é".encode(), "utf8"), ("text/plain", b"\xff", "base64"),
    ("application/json", b"{}", "utf8"), ("application/pdf", b"%PDF", "base64"), ("image/svg+xml", b"<svg/>", "utf8"),
])
def test_only_a_text_type_with_utf8_and_no_nul_is_told_as_text(media_type, data, encoding):
    assert encoding_of(media_type, data) == encoding


@pytest.mark.parametrize("data, offset, size, code", [
    ("é".encode(), 1, 1, "material_offset_split_code_point"), ("é".encode(), 0, 1, "material_window_empty"),
    (b"a\xffb", 0, 3, "material_encoding_unverifiable"), (b"a\xc3", 0, 2, "material_encoding_unverifiable"), (b"ab\xe2\x82", 0, 4, "material_encoding_unverifiable"),
])
def test_a_window_that_is_no_text_is_refused(data, offset, size, code):
    with pytest.raises(Refused) as caught:
        cut_window(REF, {"mediaType": "text/plain", "encoding": "utf8", "totalBytes": len(data)}, offset, size, 0, [data])
    assert caught.value.code == code


def test_a_chunk_that_is_not_the_registered_one_is_refused():
    held = held_of("res_x", "text/plain", b"x" * 70_000)
    good = [b"x" * CHUNK_BYTES, b"x" * (70_000 - CHUNK_BYTES)]
    check_chunks(good, held.chunk_digests, 70_000, 0, REF)
    for bad in ([good[0]], [good[1], good[0]], [good[0], good[1] + b"x"], [good[0], b"y" + good[1][1:]]):
        with pytest.raises(Refused) as caught:
            check_chunks(bad, held.chunk_digests, 70_000, 0, REF)
        assert caught.value.code == "material_integrity_failed"


@pytest.mark.parametrize("text, data", [("YQ==", b"a"), ("", b""), ("YR==", None), ("YQ", None), ("YQ==\n", None), ("Y Q==", None), (7, None), ("YWJjZGU=", None)])
def test_only_the_usual_writing_of_base64_counts(text, data):
    assert base64_bytes(text, 4) == data
