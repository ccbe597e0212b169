"""One server of tools in three MCP dates, as a table of messages. Duty: design D4; the dates' own texts."""

from __future__ import annotations

import json

import pytest

from rulith.base.errors import Refused
from rulith.gateway.board_server import tools_server
from rulith.wire import jsonrpc, mcp_stateless
from rulith.wire.mcp_server import Rejected
from rulith.wire.mcp_tools import Call, Cancelled, Lines, Listen, Opened, Send
from tests.board_server.conftest import ENVELOPE

SERVER = tools_server()
HEADERS = {"mcp-protocol-version": ["2026-07-28"], "mcp-method": ["tools/list"]}


def request(method, params=None, id=1):
    return jsonrpc.Request(id, method, params or {})


def enveloped(method, **params):
    return request(method, {**params, "_meta": ENVELOPE})


def headers(**values):
    found = {**HEADERS, **{name.replace("_", "-"): value for name, value in values.items()}}
    return lambda name: found.get(name, [])


def rejected(message, date=None, sent=None):
    with pytest.raises(Rejected) as caught:
        SERVER.take(message, date, sent)
    return caught.value


# --- opening -------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "agreed"), [
    ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"),
    ("2024-11-05", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("2031-01-01", "2025-11-25"),
])
def test_initialize_agrees_on_a_date_or_counters_with_the_newest_that_is_opened_so(asked, agreed):
    opened = SERVER.take(request("initialize", {"protocolVersion": asked, "capabilities": {}}), None)
    assert isinstance(opened, Opened) and opened.date == opened.body["result"]["protocolVersion"] == agreed
    assert opened.body["result"]["capabilities"]["tools"] == {}
    assert opened.body["result"]["capabilities"]["experimental"]["rulith/board"]["locales"] == ["en"]


def test_initialize_without_a_date_is_refused():
    assert rejected(request("initialize")).body["error"]["code"] == -32602


def test_discover_names_every_date_and_may_be_kept():
    result = SERVER.take(enveloped("server/discover"), None).body["result"]
    assert result["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18"]
    assert result["resultType"] == "complete" and result["ttlMs"] > 0 and result["cacheScope"] == "private"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "rulith"


def test_tools_are_listed_before_nothing_was_agreed_only_to_who_says_who_he_is():
    assert rejected(request("tools/list")).body["error"]["code"] == -32600
    assert len(SERVER.take(request("tools/list"), "2025-06-18").body["result"]["tools"]) == 17
    assert SERVER.take(enveloped("tools/list"), None).body["result"]["cacheScope"] == "private"
    assert "ttlMs" not in SERVER.take(request("tools/list"), "2025-11-25").body["result"]


# --- probes --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "logging/setLevel", "completion/complete", "tasks/list", "nonsense"])
@pytest.mark.parametrize("make", [request, enveloped])
def test_what_is_not_served_is_answered_at_once(method, make):
    found = rejected(make(method), "2025-11-25")
    assert found.body["error"]["code"] == -32601 and found.body["id"] == 1
    assert found.status == (404 if make is enveloped else 200)


def test_ping_is_answered_by_handshake_and_unknown_to_the_stateless_date():
    assert SERVER.take(request("ping"), None).body["result"] == {}
    assert rejected(enveloped("ping")).body["error"]["code"] == -32601


def test_initialize_does_not_exist_over_http_in_the_stateless_date():
    found = rejected(enveloped("initialize"), None, headers(mcp_method=["initialize"]))
    assert (found.status, found.body["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize("message", [jsonrpc.Notification("notifications/initialized"), jsonrpc.Notification("notifications/roots/list_changed"),
                                     jsonrpc.Response(1, result={})])
def test_notifications_and_answers_ask_for_nothing(message):
    assert SERVER.take(message, None) is None


def test_a_cancellation_names_its_request():
    assert SERVER.take(jsonrpc.Notification("notifications/cancelled", {"requestId": 7}), None) == Cancelled(7)


# --- calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "date"), [(request, "2025-06-18"), (enveloped, "2026-07-28")])
def test_a_call_carries_what_it_was_given_and_its_answer_fits_the_date(make, date):
    message = make("tools/call", **{"name": "list_spaces", "arguments": {"a": 1}}) if make is enveloped else \
        request("tools/call", {"name": "list_spaces", "arguments": {"a": 1}, "_meta": {"progressToken": "t"}})
    call = SERVER.take(message, "2025-06-18")
    assert isinstance(call, Call) and (call.name, call.arguments, call.date) == ("list_spaces", {"a": 1}, date)
    assert call.progress_token == ("t" if make is request else None)
    result = SERVER.answer(call, {"content": [], "isError": False})["result"]
    assert ("resultType" in result) == (date == "2026-07-28")


def test_an_unknown_tool_is_told_the_known_ones():
    error = rejected(request("tools/call", {"name": "drop_board"}), "2025-11-25").body["error"]
    assert error["code"] == -32602 and error["data"]["errorCode"] == "TOOL_UNKNOWN" and "solve" in error["data"]["tools"]


def test_a_cursor_is_refused_since_there_is_one_page():
    assert rejected(request("tools/list", {"cursor": "x"}), "2025-11-25").body["error"]["code"] == -32602


# --- the envelope of 2026-07-28 ------------------------------------------------------------

LADDER = [
    ("no _meta", request("server/discover"), None, -32602),
    ("no version", request("tools/list", {"_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}), headers(), -32602),
    ("no capabilities", request("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}), headers(), -32602),
    ("version no text", request("tools/list", {"_meta": {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": 7}}), None, -32602),
    ("another version", request("tools/list", {"_meta": {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}}), None, -32022),
    ("header of another version", enveloped("tools/list"), headers(mcp_protocol_version=["2025-11-25"]), -32020),
    ("no version header", enveloped("tools/list"), headers(mcp_protocol_version=[]), -32020),
    ("no method header", enveloped("tools/list"), headers(mcp_method=[]), -32020),
    ("another method", enveloped("tools/list"), headers(mcp_method=["tools/call"]), -32020),
    ("method twice", enveloped("tools/list"), headers(mcp_method=["tools/list", "tools/list"]), -32020),
    ("no name header", enveloped("tools/call", name="solve"), headers(mcp_method=["tools/call"]), -32020),
    ("another name", enveloped("tools/call", name="solve"), headers(mcp_method=["tools/call"], mcp_name=["list_spaces"]), -32020),
    ("broken base64", enveloped("tools/call", name="solve"), headers(mcp_method=["tools/call"], mcp_name=["=?base64?%%?="]), -32020),
]


@pytest.mark.parametrize(("why", "message", "sent", "code"), LADDER, ids=[row[0] for row in LADDER])
def test_an_envelope_that_is_not_whole_or_disagrees_with_its_headers_is_refused(why, message, sent, code):
    found = rejected(message, None, sent)
    assert (found.status, found.body["error"]["code"], found.body["id"]) == (400, code, 1)


def test_an_unserved_date_hears_the_served_ones():
    data = rejected(LADDER[4][1]).body["error"]["data"]
    assert data == {"supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "2027-01-01"}


def test_a_name_that_no_header_can_carry_comes_wrapped():
    assert mcp_stateless.decoded("=?base64?c29sdmU=?=") == "solve"
    assert mcp_stateless.decoded("=?base64?c29sdmV=?=") is None        # trailing bits that no encoder writes
    assert mcp_stateless.decoded("=?base64?/w==?=") is None
    assert mcp_stateless.decoded("plain") == "plain" and mcp_stateless.decoded(None) is None


def test_client_info_may_be_left_out_and_extra_meta_is_no_matter():
    assert isinstance(SERVER.take(enveloped("tools/list"), None, headers()), Send)


# --- listening -----------------------------------------------------------------------------


def test_a_listen_stream_acknowledges_what_it_keeps_and_ends_with_a_result():
    listen = SERVER.take(enveloped("subscriptions/listen", notifications={"toolsListChanged": True, "resourceSubscriptions": ["a:b"]}), None)
    assert isinstance(listen, Listen)
    params = listen.first["params"]
    assert listen.first["method"] == "notifications/subscriptions/acknowledged"
    assert params["notifications"] == {}        # nothing here ever changes while the process runs
    assert params["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1
    assert listen.last["result"]["resultType"] == "complete" and listen.last["id"] == 1
    assert rejected(enveloped("subscriptions/listen")).body["error"]["code"] == -32602


# --- lines ---------------------------------------------------------------------------------

STREAM = b"".join([
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n  \n',
    b'{"jsonrpc":"2.0","id":"p","method":"ping"}\r\n',
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_spaces","arguments":{}}}\n',
    b'[{"jsonrpc":"2.0","id":3,"method":"ping"}]\n',
    b'not json\n',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"solve","arguments":{"variables":[9007199254740993]}}}\n',
    b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"n":1e999}}\n',
])


def told(steps):
    rows = []
    for step in steps:
        if isinstance(step, Call):
            rows.append(("call", step.id, step.date, step.refused.code if step.refused else None))
        else:
            rows.append(("send", step.body["id"], step.body.get("error", {}).get("code")))
    return rows


EXPECTED = [
    ("send", 1, None), ("send", "p", None), ("call", 2, "2025-06-18", None), ("send", None, -32600), ("send", None, -32700),
    ("send", None, -32600), ("call", 4, "2025-06-18", "number_out_of_range"), ("send", None, -32700),
]


@pytest.mark.parametrize("size", [1, 7, len(STREAM)])
def test_lines_are_read_whole_whatever_the_slices(size):
    """A number without an exact place refuses the call it came in, so that the model reads why."""
    lines = Lines(SERVER, line_bytes_max=10_000)
    steps = [step for at in range(0, len(STREAM), size) for step in lines.receive(STREAM[at:at + size])]
    assert told(steps) == EXPECTED


@pytest.mark.parametrize("size", [1, 50])
def test_a_line_that_is_too_long_costs_only_itself(size):
    stream = b'{"x":"' + b"a" * 500 + b'"}\n' + b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    lines = Lines(SERVER, line_bytes_max=100)
    steps = [step for at in range(0, len(stream), size) for step in lines.receive(stream[at:at + size])]
    assert told(steps) == [("send", None, -32700), ("send", 1, None)]


def test_what_is_sent_is_one_line_of_json():
    sent = SERVER.take(request("tools/list"), "2025-11-25").body
    assert "\n" not in jsonrpc.encode_text(sent) and json.loads(jsonrpc.encode_text(sent)) == sent


def test_a_bad_number_in_anything_but_a_call_is_a_bad_request():
    step = SERVER.inexact(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":9007199254740993}}', Refused("number_out_of_range", where="x", literal="9"), None)
    assert isinstance(step, Send) and step.status == 400
