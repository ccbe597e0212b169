"""Streamed replies of both dialects, put together: whole calls or none, whatever pieces they come in.

Each stream is read whole, one byte at a time, and with blanks behind it.

Source  the design, "streamed model text"; the wires' own documents; public issue threads
"""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.dialects import anthropic, openai
from rulith.dialects.transcript import CallIds, CallResult, ResultsEntry, UserEntry
from rulith.wire.sse import EventStream

WIRES = {"openai": openai, "anthropic": anthropic}


def delta(finish: str | None = None, **fields: object) -> dict:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(index: object = 0, id_: str | None = None, name: str | None = None, arguments: object = None, **more: object) -> dict:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return delta(tool_calls=[{"index": index, **({"id": id_} if id_ else {}), "function": function, **more}])


def block(index: int, kind: str, *deltas: dict, stop: bool = True, **start: object) -> list[dict]:
    rows = [{"type": "content_block_start", "index": index, "content_block": {"type": kind, **start}}]
    rows += [{"type": "content_block_delta", "index": index, "delta": row} for row in deltas]
    return rows + [{"type": "content_block_stop", "index": index}] * stop


def json_delta(text: str) -> dict:
    return {"type": "input_json_delta", "partial_json": text}


def ended(stop: str | None = "tool_use", tokens: int = 5) -> list[dict]:
    return [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": tokens}}, {"type": "message_stop"}]


def fed(wire: str, events: list, cut: str = "whole"):
    data = b"".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events)
    slices = [data[place:place + 1] for place in range(len(data))] if cut == "bytes" else [data, b"\n\r\n "] if cut == "trailing" else [data]
    reader, reply, text = EventStream(), WIRES[wire].stream(), ""
    for part in slices:
        for event in reader.receive(part):
            text += reply.take(event.data, event.event)
    return reply, text


def read(wire: str, events: list, cut: str = "whole", max_tokens: int = 100):
    reply, _ = fed(wire, events, cut)
    document, digits = reply.document()
    return WIRES[wire].read_document(document, CallIds(), digits, max_tokens=max_tokens, is_whole=reply.is_whole)


A, B = ("ApplyBatch", '{"a":1}'), ("CloseCase", '{"root":"r"}')
TWO = [("ApplyBatch", {"a": 1}), ("CloseCase", {"root": "r"})]
STOP = delta("tool_calls")
CALLS = {
    "by index": ("openai", [piece(0, "x", "ApplyBatch", '{"a"'), piece(0, None, None, ":1}"), piece(1, "y", "CloseCase", ""),
                            piece(1, None, None, '{"root":"r"}'), STOP, "[DONE]"], TWO),
    "interleaved": ("openai", [piece(0, "x", "ApplyBatch", '{"a"'), piece(1, "y", "CloseCase", '{"ro'), piece(0, None, None, ":1}"),
                               piece(1, None, None, 'ot":"r"}'), STOP], TWO),
    "all on one index": ("openai", [piece(0, "x", *A), piece(0, "y", *B), STOP], TWO),
    "on one index without ids": ("openai", [piece(0, None, *A), piece(0, None, *B), STOP], TWO),
    "in pieces on one index": ("openai", [piece(0, "x", "ApplyBatch", ""), piece(0, None, None, '{"a":1}'), piece(0, "y", "CloseCase", ""),
                                          piece(0, None, None, '{"root":"r"}'), STOP], TWO),
    "without index": ("openai", [piece(None, "x", "ApplyBatch", '{"a"'), piece(None, None, None, ":1}"), piece(None, "y", *B), STOP], TWO),
    "id and name each time": ("openai", [piece(0, "x", "ApplyBatch", '{"a"'), piece(0, "x", "ApplyBatch", ":1}"), piece(1, "y", *B), STOP], TWO),
    "another id each time": ("openai", [piece(0, "x1", "ApplyBatch", '{"a"'), piece(0, "x2", None, ":1}"), piece(1, "y", *B), STOP], TWO),
    "the id comes late": ("openai", [piece(0, None, "ApplyBatch", '{"a"'), piece(0, "x", None, ":1}"), piece(1, "y", *B), STOP], TWO),
    "a name in pieces": ("openai", [piece(0, "x", "Apply", None), piece(0, None, "Batch", '{"a":1}'), piece(1, "y", *B), STOP], TWO),
    "arguments as objects": ("openai", [piece(0, "x", "ApplyBatch", {"a": 1}), piece(0, "y", "CloseCase", {"root": "r"}), STOP], TWO),
    "a whole message": ("openai", [{"choices": [{"message": {"tool_calls": [
        {"id": "x", "function": {"name": "ApplyBatch", "arguments": '{"a":1}'}}, {"id": "y", "function": {"name": "CloseCase", "arguments": '{"root":"r"}'}}]},
        "finish_reason": "tool_calls"}]}], TWO),
    "usage without choices": ("openai", [piece(0, "x", *A), piece(1, "y", *B), STOP, {"choices": [], "usage": {"completion_tokens": 4}}, "[DONE]"], TWO),
    "null everywhere": ("openai", [delta(content=None, tool_calls=None, role=None), piece(0, "x", *A), piece(1, "y", *B), {"choices": None}, STOP], TWO),
    "the older form": ("openai", [delta(function_call={"name": "ApplyBatch", "arguments": ""}), delta(function_call={"arguments": '{"a":1}'}),
                                  delta("function_call")], TWO[:1]),
    "no reason, but an end": ("openai", [piece(0, "x", *A), piece(1, "y", *B), "[DONE]"], TWO),
    "blocks": ("anthropic", [*block(0, "tool_use", json_delta('{"a"'), json_delta(":1}"), name="ApplyBatch", input={}, id="x"),
                             *block(1, "tool_use", json_delta('{"root":"r"}'), name="CloseCase", input={}, id="y"), *ended()], TWO),
    "blocks on one index": ("anthropic", [*block(0, "tool_use", json_delta('{"a":1}'), name="ApplyBatch", input={}, id="x"),
                                          *block(0, "tool_use", json_delta('{"root":"r"}'), name="CloseCase", input={}, id="y"), *ended()], TWO),
    "input in the start": ("anthropic", [*block(0, "tool_use", name="ApplyBatch", input={"a": 1}, id="x"),
                                         *block(1, "tool_use", name="CloseCase", input={"root": "r"}, id="y"), *ended()], TWO),
    "input in start and deltas": ("anthropic", [*block(0, "tool_use", json_delta('{"a":1}'), name="ApplyBatch", input={"a": 1}, id="x"), *ended()], TWO[:1]),
    "blocks that never stop": ("anthropic", [*block(0, "tool_use", json_delta('{"a":1}'), name="ApplyBatch", input={}, id="x", stop=False), *ended()], TWO[:1]),
    "no input at all": ("anthropic", [*block(0, "tool_use", name="QueryBoard", input={}, id="x"), *ended()], [("QueryBoard", {})]),
}


@pytest.mark.parametrize("cut", ["whole", "bytes", "trailing"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_are_put_together(name, cut):
    wire, events, expected = CALLS[name]
    reply = read(wire, events, cut)
    assert (reply.stop, [(call.name, call.arguments) for call in reply.calls]) == ("said", expected)


NOT_RUN = {
    "cumulative": ("openai", [piece(0, "x", "ApplyBatch", '{"a"'), piece(0, None, None, '{"a":1'), piece(0, None, None, '{"a":1}'), STOP], "bad_tool_arguments"),
    "once more at the end": ("openai", [piece(0, "x", *A), piece(0, None, None, '{"a":1}'), STOP], "bad_tool_arguments"),
    "cut, and said to be whole": ("openai", [piece(0, "x", "ApplyBatch", '{"a":1'), STOP, "[DONE]"], "bad_tool_arguments"),
    "text and an object": ("openai", [piece(0, "x", "ApplyBatch", '{"a":1}'), piece(0, None, None, {"a": 1}), STOP], "bad_tool_arguments"),
    "two objects": ("openai", [piece(0, "x", "ApplyBatch", {"a": 1}), piece(0, None, None, {"b": 1}), STOP], "bad_tool_arguments"),
    "an inexact number in an object": ("openai", [piece(0, "x", "ApplyBatch", {"a": 9007199254740993}), STOP], "number_out_of_range"),
    "an inexact number": ("anthropic", [*block(0, "tool_use", json_delta('{"a":1e400}'), name="ApplyBatch", input={}), *ended()], "number_out_of_range"),
    "an inexact number in the start": ("anthropic", [
        '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"ApplyBatch","input":{"a":1e-400}}}',
        {"type": "content_block_stop", "index": 0}, *ended()], "number_out_of_range"),
    "a key twice": ("anthropic", [*block(0, "tool_use", json_delta('{"a":1,"a":2}'), name="ApplyBatch", input={}), *ended()], "bad_tool_arguments"),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_what_is_no_whole_call_is_a_refused_one(name):
    wire, events, code = NOT_RUN[name]
    (call,) = read(wire, events).calls
    assert (call.arguments, call.problem.code) == (None, code)


@pytest.mark.parametrize("wire, events", [
    ("openai", [piece(0, "x", "OpenCase", ""), "[DONE]"]),                               # it ended before the arguments began
    ("openai", [piece(0, "x", *A), delta("length")]), ("openai", [piece(0, "x", *A), delta("tool_calls"), delta("length")]),
    ("openai", [piece(0, "x", *A), STOP, {"choices": [], "usage": {"completion_tokens": 100}}]),     # at its limit, whatever it says
    ("anthropic", [*block(0, "tool_use", name="OpenCase", input={}, stop=False), *ended(None)]),
    ("anthropic", [*block(0, "tool_use", json_delta('{"a":1}'), name="ApplyBatch", input={}), *ended("max_tokens")]),
    ("anthropic", [*block(0, "tool_use", json_delta('{"a":1}'), name="ApplyBatch", input={}), *ended("tool_use", 100)])])
def test_a_reply_that_may_have_been_cut_runs_nothing(wire, events):
    reply = read(wire, events)
    assert (reply.stop, reply.calls) == ("truncated", ())


@pytest.mark.parametrize("wire, events, words", [
    ("openai", [delta(content="Hel"), {"error": {"message": "overloaded"}}, "[DONE]"], "overloaded"),
    ("openai", [delta(content="Hel"), "{half"], "not JSON"),
    ("anthropic", [*block(0, "text", {"type": "text_delta", "text": "Hel"}, text=""), {"type": "error", "error": {"type": "overloaded_error"}}, *ended()],
     "overloaded_error")])
def test_an_error_inside_a_stream_is_told(wire, events, words):
    reply, text = fed(wire, events)
    assert words in reply.failure and text == "Hel"


def test_the_same_call_twice_without_telling_ids_is_run_once():
    for ids in (("x", "x"), (None, None), ("x", None)):
        first, second = read("openai", [piece(0, ids[0], *A), piece(1, ids[1], *A), STOP]).calls
        assert first.problem is None and second.problem.code == "call_doubled"
    first, second = read("openai", [piece(0, "x", *A), piece(1, "y", *A), STOP]).calls
    assert first.problem is None and second.problem is None                           # two ids: two were meant


def test_thinking_comes_back_where_it_stood():
    events = [*block(0, "thinking", {"type": "thinking_delta", "thinking": "h"}, {"type": "thinking_delta", "thinking": "m"},
                     {"type": "signature_delta", "signature": "s1"}, thinking=""),
              *block(1, "tool_use", json_delta('{"a":1}'), name="ApplyBatch", input={}, id="x"),
              *block(2, "redacted_thinking", data="opaque"),
              *block(3, "tool_use", json_delta("{}"), name="QueryBoard", input={}, id="y"),
              *block(4, "thinking", {"type": "signature_delta", "signature": "s2"}, thinking=""), *ended()]
    blocks = anthropic._blocks(read("anthropic", events).entry())
    assert [row["type"] for row in blocks] == ["thinking", "tool_use", "redacted_thinking", "tool_use"]      # and none at the end
    assert blocks[0] == {"type": "thinking", "thinking": "hm", "signature": "s1"} and blocks[2] == {"type": "redacted_thinking", "data": "opaque"}


def test_reasoning_in_pieces_is_returned_as_one():
    events = [delta(reasoning_content="I th"), delta(reasoning_content="ink"), delta(reasoning_details=[{"type": "t", "index": 0, "text": "a"}]),
              delta(reasoning_details=[{"type": "t", "index": 0, "text": "b", "signature": "s"}]), delta(content="Yes."), delta("stop")]
    reply = read("openai", events)
    assert reply.text == "Yes."
    assert reply.carry == {"reasoning_content": "I think", "reasoning_details": [{"type": "t", "index": 0, "text": "ab", "signature": "s"}]}


def test_thoughts_in_the_text_are_neither_shown_nor_sent_back():
    reply = read("openai", [delta(content="<think>hm"), delta(content="</think>\n\nYes."), delta("stop")])
    assert (reply.text, reply.habits) == ("Yes.", {"reasoning_in_text"})
    assert read("openai", [delta(content="<think>only"), delta(content="</think>"), delta("stop")]).stop == "empty"


def test_an_end_that_nobody_knows_runs_nothing():
    with pytest.raises(Refused) as refused:
        read("openai", [piece(0, "x", *A), delta("martian")])
    assert refused.value.code == "model_broke_off"
    assert read("openai", [delta(content="Hi"), delta("martian")]).text == "Hi"


PIECES = st.lists(st.tuples(st.sampled_from([0, 1, None, "0"]), st.sampled_from([None, "x", "y"]), st.sampled_from([None, "ApplyBatch", "CloseCase"]),
                            st.sampled_from([None, "", '{"a":1}', '{"a"', ":1}", "{}", "}"])), max_size=8)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.sampled_from([None, "tool_calls", "stop"]))
def test_whatever_pieces_come_no_call_has_arguments_that_never_stood_there_whole(pieces, finish):
    """Each call that may run has arguments that some of its pieces spell, joined in order, and nothing else."""
    events = [piece(index, id_, name, arguments) for index, id_, name, arguments in pieces] + ([delta(finish)] if finish else []) + ["[DONE]"]
    reply = read("openai", events)
    texts = [text for *_, text in pieces if text]
    for call in reply.calls:
        if call.arguments is not None:
            assert call.arguments in ({}, {"a": 1})
            assert call.arguments == {} or '{"a":1}' in texts or ('{"a"' in texts and ":1}" in texts)


def test_a_huge_number_of_pieces_is_read_in_time_that_grows_with_them():
    """No text is joined again at each piece."""
    rng = Random(1)
    text = json.dumps({"a": "".join(rng.choice("abc") for _ in range(60_000))})
    events = [piece(0, "x", "ApplyBatch", "")] + [piece(0, None, None, text[place:place + 3]) for place in range(0, len(text), 3)] + [STOP]
    reply = openai.stream()
    for event in events:
        reply.take(json.dumps(event))
    document, digits = reply.document()
    (call,) = openai.read_document(document, CallIds(), digits).calls
    assert call.arguments == json.loads(text)


@pytest.mark.parametrize("depth", [60, 150, 190, 250, 900, 5_000, 60_000])
@pytest.mark.parametrize("wire, body", [
    ("openai", '{"choices":[{"message":{"content":"x","tool_calls":[{"function":{"name":"Q","arguments":{"a":%s}}}]}}]}'),
    ("openai", '{"choices":[{"message":{"content":"x","reasoning_details":%s}}]}'),
    ("openai", '{"choices":[{"message":{"content":"x","tool_calls":[{"function":{"name":"Q","arguments":"{}"},"extra_content":%s}]}}]}'),
    ("anthropic", '{"content":[{"type":"tool_use","name":"Q","input":{"a":%s}}]}'),
    ("anthropic", '{"content":[{"type":"thinking","thinking":%s},{"type":"text","text":"x"}]}')])
def test_nesting_of_any_depth_is_read_and_sent_back_or_refused(wire, body, depth):
    """Whatever was read can be written again: no depth ends a conversation with a bug."""
    data = (body % ("[" * depth + "]" * depth)).encode()
    try:
        reply = WIRES[wire].read_reply(data, CallIds())
    except Refused as refused:
        assert refused.code == "model_reply_unreadable" and depth > 150
        return
    assert depth < 250 and all(call.problem is not None or depth <= 60 or wire == "openai" for call in reply.calls)
    results = ResultsEntry(tuple(CallResult(call.id, call.name, "{}") for call in reply.calls)) if reply.calls else UserEntry("b")
    json.dumps(WIRES[wire].request_body(model="m", max_tokens=5, system="s", entries=[UserEntry("a"), reply.entry(), results], tools=[]))
