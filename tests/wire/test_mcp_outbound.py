"""The Worker's half of MCP: what it sends in each date and what it makes of answers that nobody promised (MCP, three dates)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.wire import mcp_outbound as mcp
from rulith.wire.jsonrpc import Notification, Request, Response
from rulith.wire.mcp_stateless import decoded


def test_a_request_of_the_stateless_date_carries_its_envelope_and_no_other_does():
    modern = mcp.request("2026-07-28", 7, "tools/call", "1.2.3", {"name": "act", "arguments": {}})
    assert modern["params"]["_meta"] == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "rulith-worker", "version": "1.2.3"}}
    assert "_meta" not in mcp.request("2025-11-25", 7, "tools/call", "1.2.3", {"name": "act"})["params"]
    assert mcp.initialize(1, "2025-06-18", "1.2.3")["params"]["capabilities"] == {}


def test_headers_follow_the_date():
    message = mcp.request("2026-07-28", 7, "tools/call", "1", {"name": "naïve"})
    assert mcp.headers_of(message, "2026-07-28", None, {"mcp-param-a": "1"}) == {
        "content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call", "mcp-name": "=?base64?bmHDr3Zl?=", "mcp-param-a": "1"}
    assert mcp.headers_of(message, "2025-11-25", "s-1", {"mcp-param-a": "1"}) == {
        "content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25", "mcp-session-id": "s-1"}
    assert "mcp-protocol-version" not in mcp.headers_of(message, None, None, {})


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=40))
def test_any_text_goes_through_a_header_and_back(text):
    """The same codec that our own servers read with; a lone surrogate has no bytes."""
    value = mcp.header_text(text)
    assert value.isascii() and value.isprintable() and decoded(value) == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("result, wanted", [
    ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, mcp.Told("a\nb")),
    ({"content": [{"type": "text", "text": "a"}], "structuredContent": {"rows": []}}, mcp.Told('{"rows":[]}')),
    ({"content": []}, mcp.Told("(no output)")), ({}, mcp.Told("(no output)")), ({"content": [7, {"type": 7}]}, mcp.Told("[7: not text]")),
    ({"content": [{"type": "text", "text": 7}]}, mcp.Told("(no output)")),
    ({"content": [{"type": "resource_link", "uri": "a:b"}]}, mcp.Told("[resource_link: a:b]")),
    ({"content": [{"type": "text", "text": "no"}], "isError": True}, mcp.Denied("no")),
    ({"content": [], "isError": True, "structuredContent": {"why": 1}}, mcp.Denied('{"why":1}')),
    ({"content": [], "isError": True}, mcp.Denied("The Tool reports an error and says nothing about it.")),
    ({"resultType": "input_required"}, mcp.Denied("The Tool asks for input in the middle of its work, which no Worker gives.")),
    ({"resultType": "complete", "content": [{"type": "text", "text": "a"}]}, mcp.Told("a")),
])
def test_what_a_result_says(result, wanted):
    assert mcp.judge_call(Response(1, result=result)) == wanted


@pytest.mark.parametrize("result", [{"resultType": "task"}, {"resultType": 7}, {"content": "text"}, {"structuredContent": [1]}])
def test_a_result_that_says_nothing_certain_is_no_failure(result):
    with pytest.raises(mcp.BadPeer):
        mcp.judge_call(Response(1, result=result))


def test_the_awaited_answer_is_found_among_whatever_else_comes():
    ours = Response(7, result={})
    found, replies = mcp.sort_out([Notification("x"), Response("7", result={}), Request("a", "ping"), Request("b", "roots/list"), ours, Response(7, result={"b": 1})], 7)
    assert found is ours and [reply["id"] for reply in replies] == ["a", "b"]
    assert replies[0]["result"] == {} and replies[1]["error"]["code"] == -32601


@pytest.mark.parametrize("response, dates", [
    (Response(1, result={"supportedVersions": ["2026-07-28", 7]}), ["2026-07-28"]), (Response(1, result={}), []), (Response(1, result={"supportedVersions": "2026-07-28"}), []),
    (Response(1, error={"code": -32022, "data": {"supported": ["2026-07-28"]}}), ["2026-07-28"]),
    (Response(1, error={"code": -32601, "data": {"supported": ["2026-07-28"]}}), []), (Response(1, error={"code": -32022}), []),
])
def test_dates_are_read_where_they_are_stated(response, dates):
    assert mcp.stated_dates(response) == dates


@pytest.mark.parametrize("date", ["2024-11-05", "2026-07-28", None, 7, "2025-11-25 "])
def test_a_handshake_that_settles_on_another_date_is_refused(date):
    with pytest.raises(mcp.BadPeer):
        mcp.agreed_date({"protocolVersion": date})


def test_a_words_of_a_peer_are_one_bounded_line():
    assert mcp.said("a\n b\t c") == "a b c" and len(mcp.said("x" * 9_000)) == 600


JSON = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.sampled_from(["string", "integer", "a-b"]),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["properties", "items", "type", "x-mcp-header", "$defs", "anyOf", "name", "tools", "inputSchema", "nextCursor", "content",
                                         "structuredContent", "text", "resource", "isError", "resultType", "enum"]), inner, max_size=4), max_leaves=20)


@settings(deadline=None, max_examples=300)
@given(JSON)
def test_no_answer_of_a_server_raises_anything_but_its_refusal(value):
    if not isinstance(value, dict):
        value = {"tools": [value], "content": value}
    for read in (mcp.read_page, lambda result: mcp.judge_call(Response(1, result=result)), mcp.agreed_date):
        try:
            read(value)
        except mcp.BadPeer:
            pass
    mcp.stated_dates(Response(1, result=value))
    mcp.stated_dates(Response(1, error={"code": -32022, "data": value}))
    mcp.error_text({"code": 1, "message": value})
    try:
        page, _ = mcp.read_page({"tools": [{"name": "a", "inputSchema": value}]})
    except mcp.BadPeer:
        return
    for tool in page:
        assert all(isinstance(header, str) for header in tool.headers(value).values())
        json.dumps(tool.schema)
