"""The bridge between a host and a scripted council. Duty: the council surface, "Bridge and channel"; that every request is answered and a cut one ends its wait is our decision."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings, strategies as st

from rulith.base.limits import BRIDGE_REQUESTS_MAX, COUNCIL_BODY_BYTES_MAX
from rulith.forum.bridge import KEY_REFUSED
from rulith.net.messages import Response, StreamResponse, json_response, text_response
from rulith.wire import bridging
from rulith.wire.mcp_stateless import VERSION_KEY
from tests.bridge.conftest import KEY, ME, OPENED, call

STREAM = [("content-type", "text/event-stream")]


def test_what_the_host_says_goes_out_as_it_is_and_the_answer_comes_back_as_one_line(talking):
    async def story(talk):
        talk.script.answers["tools/list"] = lambda message, request: pretty({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": ["ä", "a\nb"]}})
        line = b'{"jsonrpc": "2.0",  "id": "x", "method": "tools/list"}'
        talk.says(line + b"\r\n")
        assert await talk.hears() == {"jsonrpc": "2.0", "id": "x", "result": {"tools": ["ä", "a\nb"]}}
        message, request = talk.script.asked[0]
        assert request.body == line and request.method == "POST" and request.headers.get("authorization") == f"Bearer {KEY}"
        assert request.headers.get("accept") == "application/json, text/event-stream" and request.headers.get("connection") == "close"

    async def pretty(value):
        return Response(200, [("content-type", "application/json; charset=utf-8")], json.dumps(value, indent=2).replace("\n", "\r\n").encode())
    talking(story)


@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
def test_lines_are_found_however_the_pipe_cuts_them(talking, size):
    async def story(talk):
        sent = b"".join(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping", "params": {"ö": "ü"}}, ensure_ascii=False).encode() + b"\n" for number in range(5)) + b"\n \r\n"
        for at in range(0, len(sent), size):
            talk.bridge.receive(sent[at:at + size])
        assert sorted([(await talk.hears())["id"] for _ in range(5)]) == [0, 1, 2, 3, 4]
        assert talk.script.count("ping") == 5
    talking(story)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.binary(max_size=30).filter(lambda data: b"\n" not in data), max_size=8), st.lists(st.integers(1, 20), max_size=20))
def test_a_cutter_gives_the_same_lines_for_every_cut(lines, cuts):
    data, cutter, got = b"\n".join(lines), bridging.Cutter(), []
    for size in [*cuts, len(data)]:
        got, data = got + cutter.receive(data[:size]), data[size:]
    assert got + cutter.finish() == [line.strip() for line in lines if line.strip()]


def test_a_line_without_an_end_is_a_line_when_the_host_closes_its_side(talking):
    async def story(talk):
        talk.says(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert not talk.script.asked
        talk.bridge.finish()
        await talk.bridge.wait_answered(30.0)
        assert (await talk.hears())["id"] == 1
    talking(story)


def test_what_is_still_awaited_when_the_bridge_leaves_is_told_as_unknown_and_once(talking):
    """Past bug: it was cut without a word. An answer that came is not followed by another, whether its stream ends or is torn."""
    async def story(talk):
        async def streamed(message, request):
            async def pieces():
                yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': {}})}\n\n".encode()
                if message["id"] == "torn":
                    raise ConnectionError
                await request.wait_client_gone()
            return StreamResponse(200, STREAM, pieces())
        talk.script.answers["tools/list"] = streamed
        talk.says(*[{"jsonrpc": "2.0", "id": name, "method": "tools/list"} for name in ("open", "torn")], call("w", "wait_for_updates"), [call(1, "wait_for_updates"), call(2, "wait_for_updates")])
        assert {(await talk.hears())["id"] for _ in range(2)} == {"open", "torn"}
        await talk.until(lambda: len(talk.script.asked) == 4)
        talk.bridge.finish()
        await talk.bridge.wait_answered(0.0)
        told = [await talk.hears() for _ in range(2)]
        assert [each["id"] for each in told[1]] == [1, 2] and told[0]["id"] == "w"
        assert all(each["error"]["code"] == -32000 and "may have been received" in each["error"]["message"] for each in (told[0], *told[1]))
        await talk.bridge.close()
        assert talk.lines.empty()
    talking(story)


def test_what_has_no_answer_brings_no_line(talking):
    async def story(talk):
        talk.says({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 5, "result": {}}, [{"jsonrpc": "2.0", "method": "a/b"}])
        await talk.until(lambda: len(talk.script.asked) == 3)
        talk.says({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert (await talk.hears())["id"] == 1 and talk.lines.empty()
    talking(story)


def test_an_array_goes_out_as_one_and_comes_back_as_one(talking):
    async def story(talk):
        talk.says([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "a/b"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
        assert [each["id"] for each in await talk.hears()] == [1, 2] and len(talk.script.asked) == 1
        await talk.script.server.close(drain_s=0.0)
        talk.says([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
        assert [(each["id"], each["error"]["code"]) for each in await talk.hears()] == [(1, -32000), (2, -32000)]
    talking(story)


def test_many_requests_run_at_once_and_a_wait_holds_up_nothing(talking):
    async def story(talk):
        talk.says(*[call(f"wait {number}", "wait_for_updates") for number in range(30)])
        await talk.until(lambda: talk.script.count("wait_for_updates") == 30)
        talk.says({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        assert await talk.hears() == {"jsonrpc": "2.0", "id": "p", "result": {}}
    talking(story)


def test_a_cancelled_request_ends_at_the_council_and_gets_no_answer(talking):
    async def story(talk):
        talk.says(call(1, "wait_for_updates"), call("1", "wait_for_updates"), call(2, "wait_for_updates"))
        await talk.until(lambda: talk.script.count("wait_for_updates") == 3)
        talk.says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await talk.until(lambda: talk.script.gone == [1])
        talk.says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}, {"jsonrpc": "2.0", "id": "p", "method": "ping"})
        assert (await talk.hears())["id"] == "p" and talk.script.gone == [1] and len(talk.bridge._running) == 2
        assert not talk.script.count("notifications/cancelled")          # it could end another client's wait of the same number
    talking(story)


def test_a_cancellation_of_one_in_an_array_is_passed_on(talking):
    async def story(talk):
        talk.says([call(1, "wait_for_updates"), call(2, "wait_for_updates")])
        await talk.until(lambda: len(talk.script.asked) == 1)
        talk.says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        await talk.until(lambda: talk.script.count("notifications/cancelled") == 1)
        assert not talk.script.gone
    talking(story)


def test_a_call_and_its_cancellation_in_one_write_leave_nothing_running(talking):
    async def story(talk):
        talk.says(call(1, "wait_for_updates"), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert (await talk.hears())["id"] == 2
        await talk.until(lambda: not talk.bridge._running)
    talking(story)


def test_progress_comes_through_while_the_call_runs(talking):
    async def story(talk):
        step = asyncio.Event()

        async def slow(message, request):
            async def pieces():
                yield b": rivendell\n\n"
                yield b'data: {"jsonrpc":"2.0","method":"notifications/progress",\ndata: "params":{"progressToken":"t","progress":1}}\n\n'
                await step.wait()
                yield b'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n'
            return StreamResponse(200, STREAM, pieces())
        talk.script.answers["wait_for_updates"] = slow
        talk.says({**call(1, "wait_for_updates"), "params": {"name": "wait_for_updates", "_meta": {"progressToken": "t"}}})
        assert (await talk.hears())["params"]["progress"] == 1
        step.set()
        assert (await talk.hears())["result"] == {"content": []}
    talking(story)


#  what the council answers instead of an answer -> the code that the host gets, with its own id
TROUBLE = {
    "text": (lambda: text_response(502, "bad gateway"), -32000), "a page": (lambda: Response(200, [("content-type", "text/html")], b"<p>hello"), -32000),
    "half of it": (lambda: Response(200, [("content-type", "application/json")], b'{"jsonrpc":"2.0","id":1,'), -32000),
    "nothing": (lambda: Response(202), -32000), "another id": (lambda: json_response(200, {"jsonrpc": "2.0", "id": 2, "result": {}}), -32000),
    "a number": (lambda: json_response(200, 7), -32000), "an error without an id": (lambda: json_response(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}}), -32700),
    "no address": (lambda: text_response(404, "?"), -32000), "a redirect": (lambda: Response(302, [("location", "http://127.0.0.1:1/")], b""), -32000),
    "an unknown key": (lambda: json_response(401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "unknown key"}}), -32001),
    "a stream that ends": (lambda: StreamResponse(200, STREAM, pieces_of(b": hello\n\n")), -32000),
    "a stream of nonsense": (lambda: StreamResponse(200, STREAM, pieces_of(b"data: {nonsense\n\n")), -32000),
    "a stream that breaks": (lambda: StreamResponse(200, STREAM, broken()), -32000),
}


async def pieces_of(*pieces):
    for piece in pieces:
        yield piece


async def broken():
    yield b'data: {"jsonrpc":"2.0","id":1,'
    raise ConnectionError("the script breaks off here")


@pytest.mark.parametrize("name", TROUBLE)
def test_every_request_is_answered_whatever_the_council_does(talking, name):
    async def story(talk):
        answer, code = TROUBLE[name]

        async def script(message, request):
            return answer()
        talk.script.answers["whoami"] = script
        talk.says(call(1, "whoami"))
        told = await talk.hears()
        assert (told["id"], told["error"]["code"]) == (1, code) and told["error"]["message"] and KEY not in json.dumps(told)
        talk.says({"jsonrpc": "2.0", "id": 3, "method": "ping"})
        assert await talk.hears() == {"jsonrpc": "2.0", "id": 3, "result": {}} and talk.lines.empty()
    talking(story)


def test_an_unreachable_council_is_an_error_with_the_requests_id_and_says_that_nothing_was_sent(talking):
    async def story(talk):
        await talk.script.server.close(drain_s=0.0)
        talk.says(call("a", "reply", thread_id=1, body="x"), {"jsonrpc": "2.0", "method": "notifications/initialized"})
        told = await talk.hears()
        assert (told["id"], told["error"]["code"]) == ("a", -32000) and "nothing was sent" in told["error"]["message"] and KEY not in json.dumps(told)
        assert talk.lines.empty()
    talking(story)


def test_a_connection_cut_midway_is_unknown_and_is_not_sent_again(talking):
    async def story(talk):
        async def cut(message, request):
            request._gone.transport.abort()
            await request.wait_client_gone()
            return Response(202)
        talk.script.answers["reply"] = cut
        talk.says(call(1, "reply", thread_id=1, body="once"))
        told = await talk.hears()
        assert (told["id"], told["error"]["code"]) == (1, -32000) and "may have been received" in told["error"]["message"]
        assert talk.script.count("reply") == 1
    talking(story)


@pytest.mark.parametrize("line, code", [(b"{", -32700), (b"\xff\xff", -32700), (b'{"a":1,"a":2}', -32700), (b"[" * 5_000, -32700), (b"x" * (COUNCIL_BODY_BYTES_MAX + 1), -32700)])
def test_a_line_that_is_no_json_is_answered_here(talking, line, code):
    async def story(talk):
        talk.says(line + b"\n", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        told = await talk.hears()
        assert (told["id"], told["error"]["code"]) == (None, code) and (await talk.hears())["id"] == 1
        assert len(talk.script.asked) == 1
    talking(story)


@pytest.mark.parametrize("arguments", [b'{"body":"\\ud83d"}', b'{"body":"a","body":"b"}', b'{"thread_id":1e999}'])
def test_a_request_that_only_a_less_strict_reader_understands_is_refused_under_its_own_id(talking, arguments):
    async def story(talk):
        talk.says(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"reply","arguments":' + arguments + b"}}\n")
        told = await talk.hears()
        assert (told["id"], told["error"]["code"]) == (7, -32700) and not talk.script.asked
    talking(story)


def test_a_host_that_asks_without_end_is_told_so(talking):
    async def story(talk):
        talk.says(*[call(number, "wait_for_updates") for number in range(BRIDGE_REQUESTS_MAX + 1)])
        told = await talk.hears()
        assert (told["id"], told["error"]["code"]) == (BRIDGE_REQUESTS_MAX, -32000)
    talking(story)


def test_the_date_of_the_handshake_is_named_from_then_on_and_the_newest_one_names_itself(talking):
    async def story(talk):
        await talk.opens()
        talk.says({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        await talk.hears()
        talk.says({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}, "_meta": {VERSION_KEY: "2026-07-28"}}})
        await talk.hears()
        by_id = {message["id"]: request for message, request in talk.script.asked if request.headers.get("mcp-name") or message["method"] in ("initialize", "tools/list")}
        assert by_id[0].headers.get("mcp-protocol-version") is None and by_id[1].headers.get("mcp-protocol-version") == "2025-11-25"
        assert [by_id[2].headers.get(name) for name in ("mcp-protocol-version", "mcp-method", "mcp-name")] == ["2026-07-28", "tools/call", "whoami"]
    talking(story)


def test_a_greeting_says_whom_it_speaks_as_and_a_refused_key_says_so_once(talking):
    async def story(talk):
        talk.bridge.start()
        await talk.until(lambda: bool(talk.said))
        assert talk.said == ["Speaks as ann of Shop in #general, #api."]
    talking(story)

    async def refused(talk):
        script = json_response(401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no"}})
        talk.script.answers.update(whoami=script, wait_for_updates=script)
        talk.bridge.start()
        await talk.until(lambda: bool(talk.said))
        talk.says(call(1, "whoami"))
        assert (await talk.hears())["error"]["code"] == -32001
        assert talk.said == [KEY_REFUSED] and not any(KEY in each for each in talk.said)
    talking(refused)


def test_the_greeting_may_come_late_and_is_still_understood(talking):
    """A past bug: the channel had asked meanwhile, and the greeting's answer was taken for another's."""
    async def story(talk):
        asked = asyncio.Event()

        async def late(message, request):
            await asked.wait()
            return ME
        talk.script.answers["whoami"] = late
        talk.bridge.start()
        await talk.opens()
        await talk.until(lambda: talk.script.count("wait_for_updates") == 1)
        asked.set()
        await talk.until(lambda: bool(talk.said))
        assert talk.said == ["Speaks as ann of Shop in #general, #api."]
    talking(story)


# --- the channel --------------------------------------------------------------------------


def test_the_result_of_a_handshake_says_that_there_is_a_channel(talking):
    async def story(talk):
        result = (await talk.opens())["result"]
        assert result["capabilities"] == {"tools": {}, "experimental": {"claude/channel": {}}}
        assert result["instructions"].startswith("Hello.\n\n") and "by itself" in result["instructions"] and result["serverInfo"] == OPENED["serverInfo"]
    talking(story)


@pytest.mark.parametrize("result", [{"protocolVersion": "2025-11-25"}, {"text": "protocolVersion serverInfo"}, {"content": [{"text": '{"protocolVersion":"x","serverInfo":{}}'}]}])
def test_only_the_result_of_a_handshake_is_changed(talking, result):
    async def story(talk):
        talk.script.answers["ping"] = result
        talk.says({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert (await talk.hears())["result"] == result and not talk.bridge._has_channel
    talking(story)


@pytest.mark.parametrize("given", [{}, {"capabilities": {"experimental": {"x": {"y": 1}}}, "instructions": ""}, {"capabilities": 7, "instructions": 7}])
def test_what_a_handshake_lacks_is_added_and_what_it_has_is_kept(given):
    told = bridging.with_channel({"protocolVersion": "d", "serverInfo": {}, **given})
    kept = given.get("capabilities", {}).get("experimental", {}) if isinstance(given.get("capabilities", {}), dict) else {}
    assert told["capabilities"]["experimental"] == {**kept, "claude/channel": {}} and told["instructions"] == bridging.INSTRUCTIONS


def waits(*answers: dict) -> object:
    """A script of waits: these answers in order, then holding."""
    left = list(answers)

    async def script(message, request):
        if left:
            return left.pop(0)
        await request.wait_client_gone()
        return Response(202)
    return script


def arguments_of(talk, number: int) -> dict:
    return [message["params"]["arguments"] for message, _ in talk.script.asked if (message.get("params") or {}).get("name") == "wait_for_updates"][number]


def test_the_channel_catches_up_first_and_then_waits_from_its_cursor(talking):
    async def story(talk):
        talk.script.answers["wait_for_updates"] = waits(
            {"next_cursor": 5, "events": [], "needs_you": [3, 4]},
            {"next_cursor": 9, "needs_you": [4], "events": [
                {"kind": "message.created", "thread_id": 4, "actor_agent_id": 7}, {"kind": "thread.mentioned", "thread_id": 4, "actor_agent_id": 2},
                {"kind": "message.created", "thread_id": 4, "actor_agent_id": 2}, {"kind": "thread.status", "thread_id": 9, "actor_agent_id": 2}]})
        talk.bridge.start()
        await talk.until(lambda: bool(talk.said))
        await talk.opens()
        pushed = [await talk.hears() for _ in range(3)]
        assert [each["method"] for each in pushed] == ["notifications/claude/channel"] * 3 and not any("id" in each for each in pushed)
        assert [each["params"]["meta"] for each in pushed] == [{"thread": "3", "kind": "waiting"}, {"thread": "4", "kind": "waiting"}, {"thread": "4", "kind": "thread_mentioned"}]
        words = pushed[2]["params"]["content"]
        assert "get_thread(4)" in words and "thread mentioned" in words and "message created" in words
        await talk.until(lambda: talk.script.count("wait_for_updates") == 3)
        assert [arguments_of(talk, number) for number in range(3)] == [
            {"timeout_s": 1, "watcher": True, "catch_up": True}, {"cursor": 5, "timeout_s": 45, "watcher": True}, {"cursor": 9, "timeout_s": 45, "watcher": True}]
    talking(story)


def test_there_is_one_channel_however_often_a_host_shakes_hands(talking):
    async def story(talk):
        for _ in range(3):
            await talk.opens()
        await talk.until(lambda: talk.script.count("wait_for_updates") >= 1)
        talk.says({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await talk.hears()
        assert talk.script.count("wait_for_updates") == 1
    talking(story)


def test_a_failing_council_is_complained_of_once_and_the_cursor_is_kept(talking):
    async def story(talk):
        bad = json_response(200, {"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": [{"type": "text", "text": "database busy"}]}})
        down = text_response(503, "?")
        talk.script.answers["wait_for_updates"] = waits({"next_cursor": 5, "events": [], "needs_you": [1]}, down, bad, down, {"next_cursor": 6, "events": [], "needs_you": [2]})
        await talk.opens()
        assert [(await talk.hears())["params"]["meta"]["thread"] for _ in range(2)] == ["1", "2"]
        assert [arguments_of(talk, number)["cursor"] for number in range(1, 5)] == [5, 5, 5, 5]
        assert len(talk.said) == 2 and "Trying again" in talk.said[0] and talk.said[1] == "The council answers again."
    talking(story)


def test_a_council_that_was_brought_back_is_asked_what_waits(talking):
    async def story(talk):
        talk.script.answers["wait_for_updates"] = waits({"next_cursor": 50, "events": [], "needs_you": [1]}, {"next_cursor": 8, "events": [], "needs_you": [2]}, {"next_cursor": 8, "events": [], "needs_you": [3]})
        await talk.opens()
        assert [(await talk.hears())["params"]["meta"]["thread"] for _ in range(3)] == ["1", "2", "3"]
        assert arguments_of(talk, 2) == {"cursor": 8, "timeout_s": 45, "watcher": True, "catch_up": True}
    talking(story)


def test_a_revoked_key_ends_the_channel_and_says_so(talking):
    async def story(talk):
        revoked = json_response(401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no"}})

        async def refuse(message, request):
            return revoked
        talk.script.answers["wait_for_updates"] = refuse
        await talk.opens()
        await talk.until(lambda: talk.said == [KEY_REFUSED] and not talk.bridge._others)
        assert talk.script.count("wait_for_updates") == 1
        talk.says({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert (await talk.hears())["id"] == 1                       # what the host asks is still carried
    talking(story)


@pytest.mark.parametrize("answer, threads", [
    ({"needs_you": ["1", 1.0, None, True, 3, 3]}, ["3"]), ({"needs_you": "13"}, []), ({}, []), ({"needs_you": [1], "events": "x"}, ["1"]),
    ({"needs_you": [1], "events": [None, {"kind": "a.b\n\"x é", "thread_id": 1}, {"kind": 7, "thread_id": 1}]}, ["1"])])
def test_no_answer_of_a_wait_makes_a_push_that_a_host_would_drop(answer, threads):
    pushed = [json.loads(line) for line in bridging.pushes(answer, 7)]
    assert [each["params"]["meta"]["thread"] for each in pushed] == threads
    for each in pushed:
        assert set(each["params"]["meta"]) == {"thread", "kind"} and each["params"]["meta"]["kind"].replace("_", "a").isascii() and each["params"]["meta"]["kind"].replace("_", "a").isalnum()


def test_a_host_that_is_gone_ends_the_writing(talking):
    async def story(talk):
        await talk.opens()
        talk.is_host_gone = True
        talk.says({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await asyncio.wait_for(talk.bridge.host_left.wait(), 30.0)
        talk.is_host_gone = False
        talk.says({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        await talk.bridge.wait_answered(30.0)
        assert talk.lines.empty()
    talking(story)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200), st.integers(100, 599), st.sampled_from(["application/json", "text/plain", "", "application/json; x"]))
def test_no_answer_breaks_the_bridge_and_each_is_told_with_the_requests_id(body, status, kind):
    line = bridging.read_line(b'{"jsonrpc":"2.0","id":"me","method":"ping"}', None)
    back = bridging.whole(line, status, kind, body)
    assert back.is_answer and json.loads(back.line)["id"] == "me" and back.line.count(b"\n") == 1




WORDS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "message", "requestId", "_meta", "name", "protocolVersion", "serverInfo", "capabilities", "needs_you", "events", "kind",
                         "thread_id", VERSION_KEY, "2.0", "initialize", "notifications/cancelled", "tools/call", "me"])
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False, width=16) | WORDS | st.text(max_size=5),
                      lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6), max_leaves=14)


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES, st.sampled_from([200, 202, 400, 401, 500]))
def test_whatever_json_is_said_on_either_side_each_request_is_answered_in_one_line(sent, answer, status):
    line = bridging.read_line(json.dumps(sent).encode(), "2025-11-25")
    assert not isinstance(line, bytes) and all(isinstance(value, str) and value.isprintable() for value in line.headers.values())
    back = bridging.whole(line, status, "application/json", json.dumps(answer).encode())
    streamed = bridging.streamed(line, json.dumps(answer))
    for each in (back.line, streamed.line, bridging.failed(line, "x")):
        assert each == b"" or each.endswith(b"\n") and each.count(b"\n") == 1 and json.loads(each) is not Ellipsis
    if line.awaited and not line.is_batch:
        assert back.is_answer and back.line
    assert isinstance(bridging.pushes(answer if isinstance(answer, dict) else {}, None), list)
