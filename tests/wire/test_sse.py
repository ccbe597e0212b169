"""The event stream codec. Duty: WHATWG event streams; the MCP surface, SSE reading rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.wire.sse import EventStream, StreamEvent, encode_comment, encode_event

CASES = [
    ("one event", b"data: a\n\n", [StreamEvent("a")]),
    ("no space after the colon", b"data:x\n\n", [StreamEvent("x")]),
    ("only one space is taken", b"data:  x\n\n", [StreamEvent(" x")]),
    ("CR ends a line", b"data: a\r\rdata: b\r\r", [StreamEvent("a"), StreamEvent("b")]),
    ("CRLF is one end", b"data: a\r\ndata: b\r\n\r\n", [StreamEvent("a\nb")]),
    ("mixed ends", b"data: a\r\ndata: b\rdata: c\n\r\n", [StreamEvent("a\nb\nc")]),
    ("a mark at the start", b"\xef\xbb\xbfdata: a\n\n", [StreamEvent("a")]),
    ("a mark later is data", b"data: \xef\xbb\xbf\n\n", [StreamEvent("\ufeff")]),
    ("data lines join", b"data: a\ndata\ndata: b\n\n", [StreamEvent("a\n\nb")]),
    ("comments say nothing", b": hi\n\ndata: a\n:x\n\n", [StreamEvent("a")]),
    ("a named event with an id", b"event: tick\nid: 7\ndata: a\n\n", [StreamEvent("a", "tick", "7")]),
    ("the name ends with its event", b"event: t\ndata: a\n\ndata: b\n\n", [StreamEvent("a", "t"), StreamEvent("b")]),
    ("an id alone moves the cursor", b"id: 9\n\n", [StreamEvent("", id="9")]),
    ("an id with NUL is ignored", b"id: 9\0\ndata: a\n\n", [StreamEvent("a")]),
    ("retry in milliseconds", b"retry: 250\ndata: a\n\n", [StreamEvent("a", retry_ms=250)]),
    ("retry that is no number", b"retry: 1s\ndata: a\n\n", [StreamEvent("a")]),
    ("other scripts' digits are no number", "retry: ٣\ndata: a\n\n".encode(), [StreamEvent("a")]),
    ("unknown fields", b"data: a\nfoo: b\nbar\n\n", [StreamEvent("a")]),
    ("an event without data is none", b"event: t\n\ndata: a\n\n", [StreamEvent("a")]),
    ("no blank line at the end", b"data: a\n\ndata: b", [StreamEvent("a"), StreamEvent("b")]),
    ("a broken character", b"data: \xc3\n\n", [StreamEvent("\ufffd")]),
    ("letters of several bytes", "data: é😀\n\n".encode(), [StreamEvent("é😀")]),
]
IDS = [name for name, _, _ in CASES]


def read(*chunks: bytes) -> list[StreamEvent]:
    stream = EventStream()
    events = []
    for chunk in chunks:
        events += stream.receive(chunk)
    return events + stream.finish()


@pytest.mark.parametrize(("_name", "data", "events"), CASES, ids=IDS)
def test_a_stream_read_whole(_name, data, events):
    assert read(data) == events


@pytest.mark.parametrize(("_name", "data", "events"), CASES, ids=IDS)
def test_a_stream_read_byte_by_byte(_name, data, events):
    assert read(*(bytes([byte]) for byte in data)) == events


@pytest.mark.parametrize(("_name", "data", "events"), CASES, ids=IDS)
def test_a_stream_cut_once_anywhere(_name, data, events):
    for cut in range(len(data) + 1):
        assert read(data[:cut], data[cut:]) == events


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1, max_size=8).filter(
    lambda name: not name.startswith(" ")
)
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
written = st.builds(
    StreamEvent, st.lists(lines, min_size=1, max_size=4).map("\n".join), names, st.none() | names,
    st.none() | st.integers(0, 10**9 - 1),
)


@given(st.lists(written, max_size=5), st.data())
def test_what_is_encoded_is_decoded_however_it_is_cut(events, data):
    stream = b"".join(
        encode_event(event.data, event=event.event, id=event.id, retry_ms=event.retry_ms) + encode_comment("still here")
        for event in events
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    edges = [0, *cuts, len(stream)]
    assert read(*(stream[start:end] for start, end in zip(edges, edges[1:]))) == events


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_any_bytes_give_the_same_events_however_they_are_cut(stream, cuts):
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert read(*(stream[start:end] for start, end in zip(edges, edges[1:]))) == read(stream)


def test_an_event_is_handed_out_with_its_last_byte():
    """A reader that waits for one byte more would hold a progress message back."""
    stream = EventStream()
    assert stream.receive(b"data: a\r\n\r") == [StreamEvent("a")]
    assert stream.receive(b"\n") == []
    assert stream.receive(b"data: b\n\n") == [StreamEvent("b")]


def test_the_cursor_keeps_the_last_id_that_is_not_empty():
    stream = EventStream()
    stream.receive(b"id: 3\ndata: a\n\nid:\ndata: b\n\n")
    assert stream.cursor == "3"


def test_an_event_without_end_is_refused():
    stream = EventStream(event_bytes_max=1_000)
    with pytest.raises(Refused) as refused:
        for _ in range(100):
            stream.receive(b"data: " + b"x" * 50 + b"\n")
    assert refused.value.code == "stream_event_too_large"
    with pytest.raises(Refused):
        EventStream(event_bytes_max=1_000).receive(b"x" * 2_000)


def test_many_small_events_never_reach_the_limit():
    stream = EventStream(event_bytes_max=1_000)
    for _ in range(500):
        assert stream.receive(b": warm\n\ndata: abc\n\n") == [StreamEvent("abc")]
