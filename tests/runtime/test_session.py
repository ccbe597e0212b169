"""The MCP session against a scripted gateway: handshake, correlation, and every way an answer is lost.

Source  the MCP surface, "Handshake", "Takeover" and "Client view of each failure".
"""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith import VERSION
from rulith.base.errors import Mismatch, Refused
from rulith.base.limits import BODY_BYTES_MAX
from rulith.runtime.answers import Kind
from tests.runtime.scripted_gateway import (
    AGENT, CUT, SILENT, Held, Raw, Say, ScriptedGateway, connection_replaced, strip_row, tool_rows,
)

OK = {"accepted": True, "result": {}, "view": {}, "operations": []}


def ok(call) -> Say:
    return Say(OK)


@pytest.fixture
def handshake(line_to, in_loop):
    """Open a line to a gateway changed by `before`; returns the gateway, or raises what the opening raised."""

    def run(before=None, **options):
        async def whole():
            async with line_to(ok, before=before, **options) as (gateway, line):
                return gateway, line.session
        return in_loop(whole())

    return run


def test_the_handshake_is_initialize_initialized_and_tools(handshake):
    gateway, session = handshake()
    assert gateway.methods == ["initialize", "notifications/initialized", "tools/list", "DELETE"]
    assert session.agent_id == AGENT
    assert [tool.name for tool in session.tools] == ["OpenCase", "ApplyBatch", "ApplyAction", "CloseCase", "QueryBoard", "ReadArtifact"]
    assert gateway.deleted == ["s1"]


def test_a_paged_tool_list_is_read_to_its_end(handshake):
    def before(gateway):
        gateway.page_size = 2

    gateway, session = handshake(before)
    assert gateway.methods.count("tools/list") == 3
    assert len(session.tools) == 6


@pytest.mark.parametrize("change, words", [
    ({"protocolVersion": "2025-06-18"}, "2025-06-18"),
    ({"capabilities": {"tools": {}}}, "does not declare rulith/v3"),
    ({"capabilities": {"experimental": {"rulith/v3": {"heldCalls": 2}}}}, "does not declare rulith/v3"),
    ({"capabilities": {"experimental": {"rulith/v3": {"heldCalls": True}}}}, "does not declare rulith/v3"),
    ({"capabilities": {"experimental": {"rulith/v3": {"heldCalls": 1, "more": 1}}}}, "does not declare rulith/v3"),
    ({"_meta": {}}, "agentId"),
])
def test_a_gateway_of_another_contract_is_a_mismatch(handshake, change, words):
    def before(gateway):
        gateway.initialize_result = change

    with pytest.raises(Mismatch, match=words):
        handshake(before)


def _without(name):
    return [row for row in tool_rows() if row["name"] != name]


@pytest.mark.parametrize("rows, words", [
    (_without("CloseCase"), "missing: CloseCase"),
    (tool_rows() + [{"name": "Delete", "inputSchema": {}}], "unknown: Delete"),
    (tool_rows() + [tool_rows()[0]], "more than once: OpenCase"),
    (tool_rows() + [{"name": "ReadOperation", "inputSchema": {}}], "retired: ReadOperation"),
    ([{**row, "description": None} for row in tool_rows()], "not text"),
    ([{**row, "description": "x" * 16_385} for row in tool_rows()], "16384 bytes"),
    ([{**row, "inputSchema": {"type": "object", "required": ["admission"]}} for row in tool_rows()], "requires admission"),
    ([{**row, "inputSchema": {"oneOf": [{"properties": {"viewToken": {}}}]}} for row in tool_rows()], "viewToken"),
])
def test_a_wrong_surface_is_a_mismatch_that_names_what_differs(handshake, rows, words):
    def before(gateway):
        gateway.tools = rows

    with pytest.raises(Mismatch, match=words):
        handshake(before)


def test_a_host_owned_property_is_taken_out_of_the_schema_with_a_warning(handshake, heard):
    def before(gateway):
        gateway.tools[0]["inputSchema"] = {"type": "object", "properties": {
            "caseType": {"type": "string"}, "requestId": {"type": "string"},
            "businessKey": {"type": "object", "properties": {"kind": {"type": "string"}}}}}

    _, session = handshake(before)
    properties = session.tools[0].input_schema["properties"]
    assert set(properties) == {"caseType", "businessKey"}
    assert "kind" in properties["businessKey"]["properties"]
    assert any("requestId" in line for line in heard.log)


def test_an_absent_description_gets_a_name_and_an_empty_one_stays(handshake):
    def before(gateway):
        del gateway.tools[0]["description"]
        gateway.tools[1]["description"] = ""

    _, session = handshake(before)
    assert session.tools[0].description == "Rulith Board OpenCase"
    assert session.tools[1].description == ""


def test_a_rejected_token_is_that_and_nothing_else(handshake):
    with pytest.raises(Refused) as refused:
        handshake(token="wrong")
    assert refused.value.code == "credential_rejected"
    assert "Take a new token." in str(refused.value)
    assert "wrong" not in str(refused.value)


@pytest.mark.parametrize("version, words, absent", [
    ("9.0.1", "\nnpm install --global rulith@9.0.1\n", "downgrade"), (VERSION, "Take a new", "install"), ("0.0.1", "Take a new", "install"),
    ("9.0.1; rm -rf /", "Take a new", "rm -rf")])
def test_a_rejected_token_names_a_release_only_when_it_is_a_newer_one(handshake, version, words, absent):
    teaching = "Take a new\x1b[31m token.\u2028\u202e" + "x" * 900

    def before(gateway):
        gateway.initialize = Raw(401, {"jsonrpc": "2.0", "id": None, "teaching": teaching, "error": {"code": -32000, "message": "no", "data": {
            "reason": "unauthenticated", "requiredClient": {"package": "rulith", "version": version, "install": "npm i evil"}}}})

    with pytest.raises(Refused) as refused:
        handshake(before)
    said = str(refused.value)
    assert words in said and absent not in said and "evil" not in said
    quoted = said[said.index('(it says: "') + 11:said.index('")')]
    assert len(quoted) <= 400 and quoted.isprintable()


def _version_refusal(required, reason="incompatible_client"):
    return Raw(400, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no", "data": {
        "reason": reason, "requiredClient": required}}})


@pytest.mark.parametrize("required, words, absent", [
    ({"package": "rulith", "version": "9.0.1", "install": "npm install --global rulith@9.0.1"}, "\nnpm install --global rulith@9.0.1", "downgrade"),
    ({"package": "rulith", "version": "0.0.1", "install": "npm i x"}, "downgrade", "evil"),
    ({"package": "rulith", "version": VERSION}, "this very release", "npm"),
    ({"package": "evil", "version": "9.0.1", "install": "npm install evil"}, "Console", "npm"),
    ({"package": "rulith", "version": "9.0.1; rm -rf", "install": "npm install evil"}, "Console", "rm -rf"),
    ({"package": "rulith", "version": "9.0.1"}, "\nrulith.pyz 9.0.1", "npm"),
    (None, "Console", "npm"),
])
def test_a_version_refusal_says_so_and_composes_its_own_install_line(handshake, required, words, absent):
    def before(gateway):
        gateway.initialize = _version_refusal(required)

    with pytest.raises(Mismatch) as mismatch:
        handshake(before)
    assert words in str(mismatch.value)
    assert absent not in str(mismatch.value)
    assert "credential is not the problem" in str(mismatch.value)


def test_nothing_listening_is_unreachable(in_loop, heard):
    from rulith.base.clock import SystemClock
    from rulith.net.client import HttpClient
    from rulith.runtime.session import BoardSession, Reach

    async def whole():
        async with ScriptedGateway(ok) as gateway:
            url = gateway.url
        http = HttpClient(SystemClock(), environ={})
        session = BoardSession(http, Reach(url, "t", 5.0, 5.0), clock=SystemClock(), log=heard.log.append)
        try:
            with pytest.raises(Refused) as refused:
                await session.open()
        finally:
            await http.close()
        return refused.value

    assert in_loop(whole()).code == "gateway_unreachable"


@pytest.fixture
def one_call(line_to, in_loop):
    """Make one call of a scripted answer; returns (answer, gateway, line facts)."""

    def run(answer, tool="ApplyAction", arguments=None, *, before=None, **options):
        async def whole():
            async with line_to(answer, before=before, **options) as (gateway, line):
                said = await line.session.call(tool, arguments or {"action": "x"})
                return said, gateway, line.session
        return in_loop(whole())

    return run


@pytest.mark.parametrize("before", [None, lambda gateway: setattr(gateway, "drips", True)], ids=["whole", "byte by byte"])
@pytest.mark.parametrize("as_stream", [False, True])
def test_an_answer_is_read_as_json_and_as_a_stream(one_call, as_stream, before):
    answer, gateway, _ = one_call(lambda call: Say({**OK, "result": {"x": 1}}, as_stream=as_stream, focused=(("c", "r"),)), before=before)
    assert answer.kind is Kind.ACCEPTED
    assert answer.result == {"x": 1}
    assert [(pair.case_id, pair.root) for pair in answer.focused] == [("c", "r")]
    assert gateway.calls[0].token == f"progress_{gateway.calls[0].id}"
    assert len(gateway.calls[0].id) == 36


def test_a_query_carries_no_progress_token(one_call):
    body = {"accepted": True, "view": {}, "observation": {"consistency": "committed"}, "operations": []}
    answer, gateway, _ = one_call(lambda call: Say(body), "QueryBoard", {})
    assert answer.kind is Kind.ACCEPTED
    assert gateway.calls[0].token is None


LOST = [
    ("a cut connection", CUT, "upstream_unavailable"),
    ("a server error", Raw(500, b"oops"), "upstream_unavailable"),
    ("an unreadable answer", Raw(200, b"{"), "upstream_unavailable"),
    ("a page of another content type", Raw(200, b"<html>", {"content-type": "text/html"}), "upstream_unavailable"),
    ("text that is not JSON", Say({}, raw_text="hello"), "upstream_unavailable"),
    ("text that is a list", Say({}, raw_text="[1]"), "upstream_unavailable"),
    ("an empty text", Say({}, raw_text=""), "upstream_unavailable"),
    ("a number that is none", Say({}, raw_text='{"accepted": true, "view": {"n": NaN}, "operations": []}'), "upstream_unavailable"),
    ("an integer that was rounded on its way", Say({}, raw_text='{"accepted": true, "result": 9007199254740993}'), "upstream_unavailable"),
    ("a name given twice", Say({}, raw_text='{"accepted": false, "accepted": true, "operations": []}'), "upstream_unavailable"),
    ("nesting without end", Say({}, raw_text='{"accepted": true, "view": ' + "[" * 5_000), "upstream_unavailable"),
    ("no form of an answer", Say({"operations": [], "view": {}}), "upstream_unavailable"),
    ("a stream that ends", Held((b": nothing\n\n",)), "response_lost"),
    ("a stream that ends after progress", Held((5,)), "response_lost"),
    ("another request's answer", Say(OK, id="someone-else"), "response_not_correlated"),
    ("another session's answer", Say(OK, session="s99"), "response_not_correlated"),
    ("an id of another type", Say(OK, id=1), "response_not_correlated"),
    ("a forgotten session", Raw(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "gone"}}), "session_expired"),
    ("accepted inside an error", Say(OK, is_error=True), "mcp_envelope_inconsistent"),
    ("a conflict that is no takeover", Raw(409, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "?", "data": {
        "reason": "something_else"}}}), "upstream_unavailable"),
    ("a forbidden page", Raw(403, b"no", {"content-type": "text/html"}), "upstream_unavailable"),
    ("a misdirected request", Raw(421, b""), "upstream_unavailable"),
    ("too many requests", Raw(429, {"error": "slow down"}, {"retry-after": "0"}), "upstream_unavailable"),
    ("a bad gateway", Raw(502, b"<html>"), "upstream_unavailable"),
    ("a gateway that is away", Raw(503, b""), "upstream_unavailable"),
    ("a redirect", Raw(307, b"", {"location": "http://127.0.0.1:1/mcp"}), "upstream_unavailable"),
    ("a torn stream", Held((b'id: 1.1\ndata: {"jsonrpc": "2.0", "id"',)), "response_lost"),
    ("a stream of garbage", Held((b"data: {\n\n",)), "response_not_correlated"),
    ("a JSON-RPC error", Held(error={"code": -32603, "message": "no"}), "upstream_unavailable"),
    ("an announced size over the limit", Raw(200, b"x" * (BODY_BYTES_MAX + 1)), "response_too_large"),
]


def _dripping(gateway) -> None:
    gateway.drips = True


@pytest.mark.parametrize("before", [None, _dripping], ids=["whole", "byte by byte"])
@pytest.mark.parametrize("answer, code", [row[1:] for row in LOST], ids=[row[0] for row in LOST])
def test_what_is_not_certainly_the_answer_is_lost_and_never_sent_again(one_call, answer, code, before):
    said, gateway, session = one_call(lambda call: answer, before=before)
    assert (said.kind, said.code) == (Kind.LOST, code)
    assert len(gateway.calls) == 1
    assert gateway.sessions == 2                     # a new session at once
    assert "unknown" not in said.teaching
    assert gateway.calls[0].id not in said.text and "s1" not in said.text


def test_the_first_of_two_answers_counts(one_call):
    def answer(call):
        again = {"jsonrpc": "2.0", "id": call.id, "result": {"content": [{"type": "text", "text": json.dumps({**OK, "result": {"n": 2}})}]}}
        return Held((b"data: " + json.dumps({**again, "result": {"content": [{"type": "text", "text": json.dumps(
            {**OK, "result": {"n": 1}})}]}}).encode() + b"\n\ndata: " + json.dumps(again).encode() + b"\n\n",))

    said, gateway, _ = one_call(answer)
    assert said.result == {"n": 1} and gateway.sessions == 1


def test_a_gateway_that_was_started_anew_gets_a_new_session_and_no_call_again(line_to, in_loop):
    """It knows neither the session nor the call; its ping and its reads go on."""
    async def whole():
        alive = {"session": "s1"}

        def answer(call):
            return Raw(404, b"") if call.session == alive["session"] else Say({"accepted": True, "view": {}, "operations": []})

        async with line_to(answer) as (gateway, line):
            first = await line.session.call("ApplyAction", {"action": "x"})
            second = await line.session.call("QueryBoard", {})
            return first, second, gateway

    first, second, gateway = in_loop(whole())
    assert first.code == "session_expired" and second.kind is Kind.ACCEPTED
    assert [call.tool for call in gateway.calls] == ["ApplyAction", "QueryBoard"] and gateway.sessions == 2


def test_a_lost_call_that_progress_named_is_said_to_be_admitted(one_call):
    said, _, _ = one_call(lambda call: Held((7,)))
    assert said.ordinal == 7
    assert "admitted" in said.teaching and "7" not in said.text


def test_silence_ends_a_wait(one_call):
    said, gateway, _ = one_call(lambda call: SILENT, timeout_s=0.1, wait_s=0.1)
    assert (said.kind, said.code) == (Kind.LOST, "response_timeout")


def test_silence_after_progress_ends_a_wait_too(one_call):
    said, _, _ = one_call(lambda call: Held((3, SILENT)), timeout_s=1.0, wait_s=20.0)
    assert (said.code, said.ordinal) == ("response_timeout", 3)


def test_progress_cannot_carry_a_wait_past_its_bound(line_to, in_loop):
    """The bound is reached while progress still comes."""
    from tests.runtime.scripted_gateway import _event

    def answer(call):
        progress = _event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": call.token, "progress": 1, "_meta": {"rulith/v3": {"ordinal": 4}}}})
        return Held((progress, SILENT))

    async def whole():
        async with line_to(answer, timeout_s=1.0, wait_s=1.0) as (_, line):
            return await line.session.call("ApplyAction", {"action": "x"})

    said = in_loop(whole())
    assert (said.code, said.ordinal) == ("response_wait_bound", 4)


def test_progress_for_another_token_changes_nothing(line_to, in_loop):
    from tests.runtime.scripted_gateway import _event

    def answer(call):
        foreign = _event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": "someone", "progress": 1, "_meta": {"rulith/v3": {"ordinal": 4}}}})
        return Held((foreign,), Say(OK))

    async def whole():
        async with line_to(answer) as (_, line):
            return await line.session.call("ApplyAction", {"action": "x"})

    said = in_loop(whole())
    assert said.kind is Kind.ACCEPTED and said.ordinal is None


def test_a_call_that_never_left_says_that_nothing_ran(in_loop, line_to):
    async def whole():
        async with line_to(ok) as (gateway, line):
            await gateway._server.close()
            first = await line.session.call("ApplyAction", {"action": "x"})
            return first

    said = in_loop(whole())
    assert (said.kind, said.code) == (Kind.UNSENT, "upstream_unavailable")
    assert said.body["requestExecuted"] is False
    assert "Nothing ran" in said.teaching


def test_without_a_session_nothing_is_sent_until_there_is_one_again(line_to, in_loop):
    """The session was lost and could not be opened at once: the next call says that nothing ran, the one after goes through."""
    async def whole():
        async with line_to(ok) as (gateway, line):
            gateway.answer = lambda call: CUT
            gateway.initialize = Raw(503, b"later")
            first = await line.session.call("ApplyAction", {"action": "x"})
            second = await line.session.call("ApplyAction", {"action": "x"})
            third = await line.session.call("QueryBoard", {})
            gateway.answer, gateway.initialize = ok, None
            fourth = await line.session.call("ApplyAction", {"action": "x"})
            return first, second, third, fourth, gateway

    first, second, third, fourth, gateway = in_loop(whole())
    assert (first.kind, second.kind, third.kind, fourth.kind) == (Kind.LOST, Kind.UNSENT, Kind.UNOBSERVED, Kind.ACCEPTED)
    assert second.body["requestExecuted"] is False and "Nothing ran" in second.teaching
    assert len(gateway.calls) == 2


def test_the_one_final_conflict_says_that_nothing_ran_and_keeps_the_session(one_call):
    said, gateway, _ = one_call(lambda call: Raw(409, {"jsonrpc": "2.0", "id": call.id, "error": {"code": -32000, "message": "", "data": {
        "reason": "material_proof_unavailable", "requestExecuted": False, "teaching": "Bind the file again."}}}, {"mcp-session-id": call.session}))
    assert (said.kind, said.code, said.body["requestExecuted"]) == (Kind.UNSENT, "material_proof_unavailable", False)
    assert said.teaching == "Bind the file again." and gateway.sessions == 1


def test_a_failed_read_is_an_observation_failure_and_no_transport_story(one_call):
    said, gateway, _ = one_call(lambda call: CUT, "QueryBoard", {})
    assert (said.kind, said.code) == (Kind.UNOBSERVED, "board_observation_unavailable")
    assert "Nothing else changed" in said.teaching
    assert gateway.sessions == 2


@pytest.mark.parametrize("say", [
    Say({"accepted": True, "view": {}, "operations": []}, agent="someone else"),
    Say({"accepted": True, "view": {}, "operations": []}, with_meta=False),
    Say({"accepted": True, "view": {}, "operations": [{"tool": "OpenCase"}]}),
    Say({"accepted": True, "operations": []}),
], ids=["foreign agent", "no metadata", "unreadable strip", "no view"])
def test_a_malformed_read_is_not_observed(one_call, say):
    said, _, _ = one_call(lambda call: say, "QueryBoard", {})
    assert said.kind is Kind.UNOBSERVED


def test_a_gate_refusal_passes_through_and_keeps_the_session(one_call):
    body = {"accepted": False, "requestExecuted": False, "tool": "ApplyAction", "errorCode": "response_lost",
            "teaching": "not executed", "view": {}, "operations": []}
    said, gateway, _ = one_call(lambda call: Say(body, is_error=True))
    assert (said.kind, said.body) == (Kind.NOT_EXECUTED, body)
    assert gateway.sessions == 1


@pytest.mark.parametrize("answer", [
    Raw(409, connection_replaced()),
    Held((4,), error={"code": -32000, "message": "replaced", "data": {"reason": "connection_replaced", "ordinal": 4}}),
], ids=["a new request", "a held call"])
def test_a_takeover_ends_the_process_for_good(one_call, answer):
    with pytest.raises(Refused) as refused:
        one_call(lambda call: answer)
    assert refused.value.code == "connection_replaced"


def test_a_token_revoked_mid_run_ends_the_process(one_call):
    with pytest.raises(Refused) as refused:
        one_call(lambda call: Raw(401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no"}}))
    assert refused.value.code == "credential_rejected"


def test_a_contract_changed_mid_run_is_a_mismatch_after_one_try(line_to, in_loop):
    refused = {"now": False}

    def before(gateway):
        gateway.initialize = lambda message: _version_refusal(None) if refused["now"] else None

    async def whole():
        async with line_to(lambda call: CUT, before=before) as (gateway, line):
            refused["now"] = True
            with pytest.raises(Mismatch):
                await line.session.call("ApplyAction", {"action": "x"})
            return gateway

    gateway = in_loop(whole())
    assert gateway.methods.count("initialize") == 2
    assert len(gateway.calls) == 1


def test_only_a_delivered_outcome_asks_for_an_acknowledgement(line_to, in_loop):
    withheld = strip_row("ApplyAction", "done", contentWithheld=True)
    answers = [Say({"accepted": False, "requestExecuted": False, "tool": "ApplyAction", "errorCode": "operation_running",
                    "teaching": "", "view": {}, "operations": []}, is_error=True),
               Say(OK),
               Say({"accepted": False, "requestExecuted": False, "tool": "ApplyAction", "errorCode": "previous_result_undelivered",
                    "teaching": "", "view": {}, "operations": [withheld]}, is_error=True)]

    async def whole():
        owed = []
        async with line_to(lambda call: answers.pop(0)) as (gateway, line):
            for _ in range(3):
                await line.session.call("ApplyAction", {"action": "x"})
                owed.append(line.session.owes_acknowledgement)
            await line.acknowledge()
            owed.append(line.session.owes_acknowledgement)
            await line.acknowledge()
            return owed, gateway.methods.count("ping")

    assert in_loop(whole()) == ([False, True, True, False], 1)


def test_host_metadata_and_ids_never_reach_the_model(one_call):
    said, gateway, _ = one_call(lambda call: Held((9,), Say(OK, focused=(("case_x", "root_x"),), affected=("case_x",))))
    assert json.loads(said.text) == OK
    assert said.affected == ("case_x",)
    for hidden in (AGENT, gateway.calls[0].id, "progress_", "case_x"):
        assert hidden not in said.text


def test_calls_are_serial_on_one_session(line_to, in_loop):
    async def whole():
        async with line_to(ok) as (gateway, line):
            for _ in range(3):
                await line.session.call("ApplyAction", {"action": "x"})
            return {call.session for call in gateway.calls}, len({call.id for call in gateway.calls})

    assert in_loop(whole()) == ({"s1"}, 3)


def test_a_stream_cut_inside_a_character_is_read(line_to, in_loop):
    """Bytes may be cut anywhere; the answer is the same."""

    def answer(call):
        message = {"jsonrpc": "2.0", "id": call.id, "result": {"content": [{"type": "text", "text": json.dumps(
            {**OK, "result": {"name": "Größe ✓"}}, ensure_ascii=False)}]}}
        data = b"data: " + json.dumps(message, ensure_ascii=False).encode() + b"\r\n\r\n"
        return Held(tuple(data[index:index + 1] for index in range(len(data))))

    async def whole():
        async with line_to(answer) as (_, line):
            return await line.session.call("ApplyAction", {"action": "x"})

    assert in_loop(whole()).result == {"name": "Größe ✓"}


def test_ending_the_wait_sends_no_cancellation(line_to, in_loop):
    async def whole():
        async with line_to(lambda call: SILENT, timeout_s=5.0) as (gateway, line):
            task = asyncio.ensure_future(line.session.call("ApplyAction", {"action": "x"}))
            while not gateway.calls:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return list(gateway.methods)

    assert "notifications/cancelled" not in in_loop(whole())


@pytest.mark.parametrize("turns", range(6))
def test_a_call_is_ended_though_its_answer_arrives_in_the_same_moment(in_loop, turns):
    """Past bug: on Python 3.10 and 3.11 `wait_for` forgot such a cancellation, and an orphaned Agent kept its lock."""
    from rulith.base.clock import SystemClock
    from rulith.runtime.session import _Patience, _verdict
    from rulith.wire.mcp_client import ReplyReader

    class Stream:
        status, headers, idle_s = 200, {"content-type": "text/event-stream"}, None

        def __init__(self) -> None:
            self.arrives = asyncio.get_running_loop().create_future()

        async def __aiter__(self):
            yield await self.arrives
            await asyncio.Event().wait()

    async def whole():
        stream = Stream()
        waiting = asyncio.ensure_future(_verdict(ReplyReader("u", None), stream, _Patience(SystemClock(), 5.0, 5.0, lambda: None)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stream.arrives.set_result(b": warm\n\n")
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, 15)

    in_loop(whole())


# --- a cut stream is gone on with


@pytest.fixture
def cut_call(line_to, in_loop):
    """One call whose stream is cut after `before`; then each GET gets the next of `resumes`."""

    def run(before, resumes, **options):
        async def whole():
            given = list(resumes)

            def prepare(gateway):
                gateway.resume = lambda cursor: given.pop(0) if given else Raw(405)

            async with line_to(lambda call: Held(before), before=prepare, **options) as (gateway, line):
                said = await line.session.call("ApplyAction", {"action": "x"})
                return said, gateway, line
        return in_loop(whole())

    return run


PRIMED = b"id: 7.1\ndata: \n\n"


def test_a_cut_stream_is_gone_on_with_after_its_last_event(cut_call, heard):
    said, gateway, _ = cut_call((PRIMED, 3), [Held((4,), Say(OK))])
    assert said.kind is Kind.ACCEPTED and said.ordinal == 4
    assert gateway.cursors == ["7.1"] and len(gateway.calls) == 1 and gateway.sessions == 1
    assert any("'7.1'" in line for line in heard.log)


def test_each_attempt_goes_on_from_the_newest_event_with_growing_pauses(cut_call, line_to):
    """No pause before the first GET, then attempt times the back-off."""
    said, gateway, line = cut_call((PRIMED,), [Held((b"id: 7.2\ndata: \n\n",)), Held((), Say(OK))])
    assert said.kind is Kind.ACCEPTED and gateway.cursors == ["7.1", "7.2"]
    assert line._sleep.__self__.slept[:2] == [0.0, 0.25]


@pytest.mark.parametrize("resumes, tried, code", [
    ([Raw(405)], 1, "response_lost"), ([Raw(200, {"jsonrpc": "2.0", "id": 1, "result": {}})], 1, "response_lost"),
    ([Raw(400)], 1, "response_lost"), ([Raw(404)], 1, "session_expired"),
    ([Held((b": quiet\n\n",)), Held(())], 2, "response_lost"), ([Raw(500)], 1, "response_lost"),
])
def test_what_cannot_be_gone_on_with_is_lost_after_at_most_two_attempts(cut_call, resumes, tried, code):
    said, gateway, _ = cut_call((PRIMED,), resumes)
    assert said.code == code and len(gateway.cursors) == tried and len(gateway.calls) == 1
    assert gateway.sessions == 2            # a lost call opens a new session, and is not sent again


def test_a_takeover_heard_while_going_on_ends_the_process(cut_call):
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "x", "data": {"reason": "connection_replaced"}}}
    with pytest.raises(Refused) as refused:
        cut_call((PRIMED,), [Raw(409, body)])
    assert refused.value.code == "connection_replaced"


def test_a_stream_without_an_event_id_is_not_asked_for(cut_call):
    said, gateway, _ = cut_call((3,), [Held((), Say(OK))])
    assert said.code == "response_lost" and said.ordinal == 3 and gateway.cursors == []


def test_the_cursor_of_an_earlier_call_serves_a_later_one_of_the_session(line_to, in_loop):
    async def whole():
        given = [Held((PRIMED,), Say(OK)), Held(())]
        async with line_to(lambda call: given.pop(0)) as (gateway, line):
            gateway.resume = lambda cursor: Held((), Say(OK))
            await line.session.call("ApplyAction", {"action": "x"})
            return await line.session.call("ApplyAction", {"action": "y"}), gateway

    said, gateway = in_loop(whole())
    assert said.kind is Kind.ACCEPTED and gateway.cursors == ["7.1"]


def test_going_on_ends_with_the_calls_own_time(cut_call):
    said, gateway, _ = cut_call((PRIMED,), [Held((SILENT,))], timeout_s=1.0)
    assert said.code == "response_timeout" and len(gateway.cursors) == 1
