"""Answer streams that outlive their connection: what a cursor brings, however often and wherever the reading was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.wire.mcp_streams import STREAMS_KEPT_MAX, AnswerStream, AnswerStreams


def read(streams: AnswerStreams, cursor: str) -> list[tuple[str, object]]:
    """Every event that a resumed reader gets now, with its id."""
    return [(f"{stream.number}.{number}", message) for stream, count in streams.after(cursor) for number, message in stream.after(count)]


def test_a_progress_event_gives_way_to_the_next_and_nothing_else_does():
    stream = AnswerStream(1)
    stream.open(250)
    stream.progress({"p": 1})
    stream.progress({"p": 2})
    stream.say({"log": 1})
    stream.progress({"p": 3})
    stream.end({"answer": 1})
    assert stream.after(0) == [(1, None), (3, {"p": 2}), (4, {"log": 1}), (5, {"p": 3}), (6, {"answer": 1})]
    assert stream.last == 6 and stream.after(5) == [(6, {"answer": 1})]


def test_the_opening_event_says_after_what_pause_to_come_back():
    stream = AnswerStream(7)
    stream.open(250)
    assert stream.encode(1, None) == b"id: 7.1\nretry: 250\ndata: \n\n"
    assert stream.encode(2, {"a": "é"}) == 'event: message\nid: 7.2\ndata: {"a":"é"}\n\n'.encode()


def test_a_waiting_reader_is_told_once_of_the_next_event():
    class Waiter:
        told = 0

        def done(self):
            return self.told > 0

        def set_result(self, value):
            self.told += 1

    stream, waiter = AnswerStream(1), Waiter()
    stream.waiters.append(waiter)
    stream.progress({})
    stream.progress({})
    assert waiter.told == 1 and stream.waiters == []


@pytest.mark.parametrize("cursor", ["", "1", "1.", ".1", "0.1", "1.0", "01.1", "1.01", "9.1", "1.9", "-1.1", "1.1 ", "1.1\n", "१.1", "1.1.1", "1" * 40 + ".1"])
def test_a_cursor_that_was_never_given_brings_nothing(cursor):
    streams = AnswerStreams()
    stream = streams.begin()
    stream.end({"answer": 1})
    assert streams.after(cursor) == []


def test_a_running_stream_is_never_forgotten():
    streams = AnswerStreams()
    running = streams.begin()
    running.progress({"p": 1})
    for _ in range(STREAMS_KEPT_MAX * 2):
        streams.begin().end({})
    assert streams.after("1.1") == [(running, 1)] and streams.after("2.1") == []


STEPS = st.lists(st.sampled_from(["progress", "say", "end", "cut"]), max_size=30)


@given(STEPS)
def test_wherever_reading_is_cut_every_answer_and_every_note_arrives_once(steps):
    """One reader with one cursor, as a client has it; overtaken progress is all that may be missing."""
    streams, cursor, heard, said = AnswerStreams(), "", [], []
    stream = streams.begin()
    stream.open(1)
    cursor = "1.1"
    for number, step in enumerate(steps):
        message = {"n": number, "step": step}
        if step == "cut":
            for cursor, event in read(streams, cursor):
                heard += [event] if event is not None else []
        elif step == "end":
            stream.end(message)
            said.append(message)
            stream = streams.begin()
            stream.open(1)
            if streams.after("1.1") == []:       # further behind than what is kept
                return
        else:
            (stream.progress if step == "progress" else stream.say)(message)
            said += [message] if step == "say" else []
    for _ in range(2):
        for cursor, event in read(streams, cursor):
            heard += [event] if event is not None else []
    assert [event for event in heard if event["step"] != "progress"] == said
    assert len({event["n"] for event in heard}) == len(heard)
