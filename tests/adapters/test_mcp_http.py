"""The mcp adapter with a server at an address: sessions, JSON and event streams, what is refused and what is unknown."""

import asyncio
import json

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.wire.manifest import BUILTINS, read_tool
from tests.adapters.far_server import CUT, HANG, answer, far_server

BOUND_S = 100
SCHEMA = {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer"},
    "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "Deep-On"}}}}}


class FarMcp:
    """A server of one date; `call` makes the answer to tools/call from (request, message)."""

    def __init__(self, date="2025-11-25", session="s-1", call=None, sse=False, tools=None, **special):
        self.date, self.session, self.sse = date, session, sse
        self.call = call or (lambda request, message: self.say(message, {"content": [{"type": "text", "text": "done"}]}))
        self.tools = tools or [{"name": "act", "description": "acts", "inputSchema": SCHEMA}]
        self.special, self.messages, self.gets = special, [], 0

    def say(self, message, result=None, error=None, status=200, **headers):
        body = {"jsonrpc": "2.0", "id": message.get("id"), **({"error": error} if error else {"result": result})}
        if self.sse and status == 200:
            return stream(event(body), **headers)
        return answer(status, body, **headers)

    def __call__(self, request):
        if request.method == "DELETE":
            self.messages.append("DELETE")
            return answer(200)
        if request.method == "GET":
            self.gets += 1
            return self.special["resume"](request, self)
        message = request.json
        method = message.get("method", "reply")
        self.messages.append(method)
        if method in self.special:
            return self.special[method](request, message)
        if method == "server/discover":
            if self.date == "2026-07-28":
                return self.say(message, {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"})
            return answer(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no session"}})
        if method == "initialize":
            extra = {"mcp_session_id": self.session} if self.session else {}
            return self.say(message, {"protocolVersion": self.date, "capabilities": {}, "serverInfo": {"name": "far", "version": "1"}}, **extra)
        assert request.headers["mcp-protocol-version"] == self.date
        assert request.headers.get("mcp-session-id") == (self.session if self.date != "2026-07-28" else None)
        assert self.date != "2026-07-28" or request.headers["mcp-method"] == method
        if method == "tools/list":
            return self.say(message, {"tools": self.tools})
        if method == "ping":
            return self.say(message, {})
        if method == "tools/call":
            return self.call(request, message)
        return answer(202, b"")


def event(body, **fields):
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"{head}data: {json.dumps(body) if not isinstance(body, str) else body}\n\n"


def stream(*events, **headers):
    return answer(200, "".join(events).encode(), "text/event-stream", **headers)


def cut_stream(*events):
    """A stream whose connection breaks."""
    raw = "".join(events).encode()
    return f"HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\ncontent-length: {len(raw) + 100}\r\nconnection: close\r\n\r\n".encode() + raw


class Desk:
    def __init__(self, address, **vault):
        self.outbound = Outbound({})
        self.hands = Hands(Territory("/nowhere", "/nowhere/home"), {}, outbound=self.outbound)
        self.source = Source("far", "mcp", address, {"type": "mcp", "transport": "streamable-http", "url": address, **vault})

    async def call(self, entry="act", arguments=None, **fence):
        arguments = arguments or {}
        made = BUILTINS["rulith.mcp.discover@1"] if entry == "discover" else read_tool("acme.far@1", {
            "adapter": "mcp", "sourceTypes": ["mcp"], "entry": entry, "params": {name: "json" for name in arguments}, "fence": fence})
        return await self.hands.compile(Call("inv_1", "key", made, arguments, self.source, inline_bytes=65_536)).run()


def play(far_mcp, *calls, fence=None, **vault):
    """The outcomes of these calls against one server, and what the HTTP side saw."""

    async def story():
        async with far_server(far_mcp) as far:
            desk = Desk(far.url + "/mcp", **vault)
            outcomes = []
            for call in calls or (("act", {}),):
                if callable(call):
                    call(far_mcp)
                else:
                    outcomes.append(await desk.call(*call, **(fence or {})))
            await desk.hands.close()
            return outcomes, far

    return asyncio.run(asyncio.wait_for(story(), BOUND_S))


OK = Executed("done", unreadable="mcp_execution_unknown", literal=True)


@pytest.mark.parametrize("sse", [False, True])
@pytest.mark.parametrize("date", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_call_in_every_date_as_json_and_as_a_stream(date, sse):
    server = FarMcp(date, sse=sse)
    outcomes, far = play(server, ("act", {}), ("act", {}))
    assert outcomes == [OK, OK]
    if date == "2026-07-28":
        assert server.messages == ["server/discover", "tools/list", "tools/call", "tools/call"]
    else:
        assert server.messages == ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call", "ping", "tools/call", "DELETE"]
    assert all(request.target == "/mcp" for request in far.seen)


def test_every_request_of_the_stateless_date_says_who_asks_and_repeats_its_arguments():
    outcomes, far = play(FarMcp("2026-07-28"), ("act", {"region": "Süd", "n": 7, "deep": {"on": True}}))
    assert outcomes == [OK]
    last = far.seen[-1]
    meta = last.json["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28" and meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert last.headers["mcp-name"] == "act" and last.headers["mcp-param-region"] == "=?base64?U8O8ZA==?=" and last.headers["mcp-param-deep-on"] == "true"
    assert "mcp-param-n" not in last.headers


def test_a_tool_whose_marks_are_not_lawful_is_not_offered():
    def marked(row, **more):
        return {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": row, **more}}}

    mark = {"type": "string", "x-mcp-header": "A"}
    for tool in (marked({"type": "number", "x-mcp-header": "A"}), marked({"type": "string", "x-mcp-header": "a b"}), marked(mark, b=mark),
                 marked({"type": "array", "items": mark}), {"name": "bad", "inputSchema": {"x-mcp-header": "A"}}):
        outcomes, _ = play(FarMcp("2026-07-28", tools=[tool, {"name": "act", "inputSchema": {}}]), ("bad", {}))
        assert isinstance(outcomes[0], Failed) and "offers no tool 'bad'" in outcomes[0].reason


def test_headers_and_token_of_the_vault_go_with_every_message():
    _, far = play(FarMcp(), ("act", {}), headers={"X-Tenant": "north"}, token="tok-1")
    assert all(request.headers["x-tenant"] == "north" and request.headers["authorization"] == "Bearer tok-1" for request in far.seen)


@pytest.mark.parametrize("date", ["2025-11-25", "2026-07-28"])
def test_each_call_has_a_connection_of_its_own(date):
    """A kept connection may close in the very moment in which a call is sent on it."""
    outcomes, far = play(FarMcp(date), ("act", {}), ("act", {}))
    assert outcomes == [OK, OK] and far.connections == 3


def test_a_session_that_the_server_forgot_is_opened_again_before_the_call():
    def forget(server):
        server.special["ping"] = lambda request, message: answer(404, b"")

    server = FarMcp()
    outcomes, _ = play(server, ("act", {}), forget, ("act", {}))
    assert outcomes == [OK, OK] and server.messages.count("initialize") == 2 and server.messages.count("tools/call") == 2


def test_a_server_without_sessions_is_served_without_one():
    server = FarMcp(session=None)
    assert play(server)[0] == [OK] and "DELETE" not in server.messages


# -- unknown and not -------------------------------------------------------------------


@pytest.mark.parametrize("said, words", [
    (CUT, "closed"), (HANG, "did not answer within"), (answer(500, b"oops"), "HTTP 500"), (answer(502, b"<html>"), "HTTP 502"), (answer(202, b""), "after the call"),
    (answer(200, b"<html>"), "not"), (answer(200, {"jsonrpc": "2.0", "id": 999, "result": {}}), "no answer"),
    (answer(200, b'{"jsonrpc":"2.0","id":4,"result":{"content":[],"structuredContent":{"n":1e999}}}'), "1e999"),
    (answer(200, b"x" * 1_100_000), "more than 1048576 bytes"), (stream(": nothing\n\n"), "ended before"), (cut_stream(event("{")), ""),
    (stream(event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})), "ended before"),
    (answer(200, {"jsonrpc": "2.0", "id": 4, "result": {"content": "text"}}), "no content"),
])
def test_after_the_call_was_sent_only_an_answer_tells(said, words):
    server = FarMcp(call=lambda request, message: said)
    outcomes, _ = play(server, fence={"timeoutMs": 3_000} if said is HANG else None)
    assert isinstance(outcomes[0], Withheld) and outcomes[0].code == "mcp_execution_unknown" and words in outcomes[0].why, outcomes
    assert server.messages.count("tools/call") == 1


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 405, 429])
def test_a_call_that_was_certainly_not_taken_has_failed_and_no_redirect_is_followed(status):
    server = FarMcp(call=lambda request, message: answer(status, b"", location="http://127.0.0.1:1/else"))
    outcomes, far = play(server)
    assert isinstance(outcomes[0], Failed) and server.messages.count("tools/call") == 1


def test_an_error_of_the_protocol_is_a_known_failure():
    server = FarMcp()
    server.call = lambda request, message: server.say(message, error={"code": -32602, "message": "n is wrong"}, status=400)
    assert play(server)[0] == [Failed("The server refused the call: n is wrong (error -32602)")]


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
@pytest.mark.parametrize("said", [CUT, answer(500, b""), answer(401, b""), answer(302, b"", location="/x"), answer(200, b"[]"), stream("data: {\n\n")])
def test_whatever_goes_wrong_before_the_call_is_a_plain_failure(method, said):
    server = FarMcp(**{method: lambda request, message: said})
    outcomes, _ = play(server, ("act", {}), ("discover", {}))
    assert all(isinstance(outcome, Failed) for outcome in outcomes) and "tools/call" not in server.messages


def test_one_budget_holds_for_the_whole_operation():
    big = [{"name": f"t{n}", "description": "x" * 900, "inputSchema": {}} for n in range(50)]
    outcomes, _ = play(FarMcp(tools=big), ("discover", {}), maxResponseBytes=20_000)
    assert isinstance(outcomes[0], Failed) and "more than 20000 bytes" in outcomes[0].reason


# -- streams ---------------------------------------------------------------------------


def test_a_broken_stream_is_taken_up_where_it_broke_and_the_call_is_not_sent_again():
    server = FarMcp()
    server.call = lambda request, message: cut_stream("id: e1\nretry: 10\ndata:\n\n")

    def resume(request, far):
        assert request.headers["last-event-id"] == f"e{far.gets}" and request.headers["mcp-session-id"] == "s-1"
        if far.gets < 3:
            return cut_stream(f"id: e{far.gets + 1}\ndata:\n\n")
        return stream(event({"jsonrpc": "2.0", "id": 4, "result": {"content": [{"type": "text", "text": "done"}]}}))

    server.special["resume"] = resume
    assert play(server)[0] == [OK] and server.gets == 3 and server.messages.count("tools/call") == 1


def test_a_stream_without_a_session_is_taken_up_too_and_never_in_the_date_without_streams_to_resume():
    for date, gets in (("2025-11-25", 1), ("2026-07-28", 0)):
        server = FarMcp(date, session=None, resume=lambda request, far: stream(
            event({"jsonrpc": "2.0", "id": 4, "result": {"content": [{"type": "text", "text": "done"}]}})))
        server.call = lambda request, message: cut_stream("id: e1\nretry: 1\ndata:\n\n")
        (outcome,), _ = play(server)
        assert server.gets == gets and (outcome == OK if gets else isinstance(outcome, Withheld))


@pytest.mark.parametrize("said", [answer(405, b""), answer(404, b""), CUT, answer(200, b"{}")])
def test_a_stream_that_cannot_be_taken_up_is_unknown(said):
    server = FarMcp(resume=lambda request, far: said)
    server.call = lambda request, message: cut_stream("id: e1\nretry: 1\ndata:\n\n")
    outcomes, _ = play(server)
    assert isinstance(outcomes[0], Withheld) and server.messages.count("tools/call") == 1
    assert 1 <= server.gets <= 6                  # five tries, one of them on a kept link that had gone stale


def test_a_server_that_asks_within_a_stream_is_answered_and_offered_nothing():
    server = FarMcp()
    asked = [{"jsonrpc": "2.0", "id": "q1", "method": "ping"}, {"jsonrpc": "2.0", "id": "q2", "method": "elicitation/create", "params": {}}]
    server.call = lambda request, message: stream(
        *map(event, asked), event({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "done"}]}}))
    outcomes, far = play(server)
    replies = [request.json for request in far.seen if request.body and "method" not in request.json]
    assert outcomes == [OK] and replies[0] == {"jsonrpc": "2.0", "id": "q1", "result": {}}
    assert replies[1]["id"] == "q2" and replies[1]["error"]["code"] == -32601


# -- before the claim ------------------------------------------------------------------


@pytest.mark.parametrize("vault, problem", [
    ({"url": "ftp://h", "access": ""}, "neither http"), ({"headers": {"Accept": "x"}}, "header accept"), ({"headers": {"Mcp-Session-Id": "x"}}, "header mcp-session-id"),
    ({"headers": {"last-event-id": "x"}}, "header last-event-id"), ({"headers": {"content-type": "x"}}, "header content-type"),
    ({"headers": {"MCP-Protocol-Version": "x"}}, "header mcp-protocol-version"), ({"command": "sh"}, "'command'"), ({"protocol": "1"}, "protocol"),
])
def test_an_address_that_cannot_be_used_is_refused_by_member(vault, problem):
    desk = Desk(vault.get("url", "https://far.example/mcp"), **vault)
    with pytest.raises(Refused) as caught:
        asyncio.run(desk.call())
    assert caught.value.code == "source_unusable" and problem in caught.value.facts["problem"]


def test_a_granted_address_alone_is_reached_over_http():
    """A Source row may say where; how a child is started, only the vault of this machine."""

    async def story():
        async with far_server(FarMcp()) as far:
            desk = Desk(far.url)
            desk.source = Source("far", "mcp", far.url + "/mcp", {})
            outcome = await desk.call()
            await desk.hands.close()
            return outcome

    assert asyncio.run(story()) == OK
    desk = Desk("vault")
    desk.source = Source("far", "mcp", "vault", {})
    with pytest.raises(Refused):
        asyncio.run(desk.call())
