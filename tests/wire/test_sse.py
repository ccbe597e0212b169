"""The event stream codec. Duty: protocol/mcp/vectors.json "streams"; WHATWG event streams; the MCP surface, SSE reading rules."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.wire.contract import MCP_BUNDLE, load_bundle
from rulith.wire.sse import EventStream, StreamEvent, encode_comment, encode_event

VECTORS = json.loads(load_bundle(MCP_BUNDLE).files["protocol/mcp/vectors.json"])["streams"]
CASES = [
    (row["name"], bytes.fromhex(row["hex"]),
     [StreamEvent(event["data"], event["event"], event.get("id"), event.get("retryMs")) for event in row["events"]])
    for row in VECTORS
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


def ends(stream: bytes, *edges: int) -> tuple[list, bool]:
    """The events, and whether the limit was passed, of a stream cut at `edges`."""
    reader, events = EventStream(event_bytes_max=100), []
    try:
        for start, end in zip((0, *edges), (*edges, len(stream))):
            events += reader.receive(stream[start:end])
        return events + reader.finish(), False
    except Refused:
        return events, True


@pytest.mark.parametrize("stream, events, is_over", [
    (b"data: " + b"x" * 94 + b"\n\n", 1, False), (b"data: " + b"x" * 95 + b"\n\n", 0, True),
    (b"data: " + b"x" * 94, 1, False), (b"data: " + b"x" * 95, 0, True),
    (b"data: " + b"x" * 44 + b"\ndata: " + b"x" * 44 + b"\n\n", 1, False), (b"data: " + b"x" * 44 + b"\ndata: " + b"x" * 45 + b"\n\n", 0, True),
    (b": " + b"x" * 99 + b"\n\n", 0, True), (b": warm\n" * 100 + b"data: a\n\n", 1, False),
    (b"data: a\n\ndata: " + b"x" * 200 + b"\n\ndata: b\n\n", 1, True)])
def test_the_limit_holds_wherever_the_bytes_are_cut(stream, events, is_over):
    """Past bug: the end of a line that began in an earlier piece was not counted, and a whole event in one piece was not looked at."""
    for found, over in (ends(stream), ends(stream, *range(1, len(stream))), *(ends(stream, at) for at in range(1, len(stream)))):
        assert (len(found), over) == (events, is_over)
