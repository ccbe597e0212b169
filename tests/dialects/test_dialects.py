"""Model dialects: requests every provider accepts, replies read whole or refused.

Source  the MCP surface, "Model transports" and "Numbers".
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.dialects import anthropic, emulated, openai
from rulith.dialects.arguments import read_object
from rulith.dialects.endpoint import ANTHROPIC, OPENAI, endpoint_of
from rulith.dialects.schemas import for_provider
from rulith.dialects.transcript import (
    CallIds, CallResult, ModelEntry, ResultsEntry, UserEntry, assert_replayable, clean_text,
)
from rulith.wire.contract import mcp_contract
from tests.dialects.strict_providers import accepted_by_anthropic, accepted_by_openai

TOOLS = [{"name": "OpenCase", "description": "opens", "inputSchema": {
    "$schema": "http://json-schema.org/draft-07/schema#", "oneOf": [
        {"type": "object", "properties": {"caseType": {"type": "string"}}, "required": ["caseType"], "additionalProperties": False},
        {"type": "object", "properties": {"caseId": {"type": "string"}}, "required": ["caseId"], "additionalProperties": False}]}}]
WIRES = {OPENAI: (openai, accepted_by_openai), ANTHROPIC: (anthropic, accepted_by_anthropic)}


def openai_reply(message: dict, finish: str = "stop", **more) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}], **more}).encode()


def openai_call(arguments: object, name: str = "QueryBoard", id_: object = "call_1") -> bytes:
    return openai_reply({"content": None, "tool_calls": [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}]}, "tool_calls")


def anthropic_reply(content: list, stop: str = "end_turn", **more) -> bytes:
    return json.dumps({"type": "message", "role": "assistant", "content": content, "stop_reason": stop, **more}).encode()


def anthropic_call(given: object, name: str = "QueryBoard") -> bytes:
    return anthropic_reply([{"type": "tool_use", "id": "toolu_1", "name": name, "input": given}], "tool_use")


# numbers: the look on the text

@pytest.mark.parametrize("literal", [
    "9007199254740992", "-9007199254740992", "18014398509481982", "1" * 400, "1e400", "-1e400", "1e16", "9007199254740993.0",
    "1e-400", "4e-5000", "12345678901234567890e0", "NaN", "Infinity"])
def test_a_number_outside_the_exact_domain_is_refused_before_parsing(literal):
    with pytest.raises(Refused) as refused:
        read_object(f'{{"a": [{literal}]}}', "ApplyBatch")
    assert refused.value.code == "number_out_of_range"
    assert literal[:20] in str(refused.value)


@pytest.mark.parametrize("text, value", [
    ('{"a": 9007199254740991}', 9007199254740991), ('{"a": -9007199254740991}', -9007199254740991),
    ('{"a": 0.1}', 0.1), ('{"a": 1e3}', 1000.0), ('{"a": 0e-999}', 0.0), ('{"a": "9007199254740993"}', "9007199254740993"),
    ('{"a": "say \\"9007199254740993\\""}', 'say "9007199254740993"')])
def test_exact_numbers_and_digits_in_texts_pass(text, value):
    assert read_object(text, "x") == {"a": value}


@pytest.mark.parametrize("text, words", [
    ('{"a": 1', "line 1"), ("[1]", "an array"), ("null", "null"), ('"x"', "a text"), ("true", "a boolean"), ("1", "a number"),
    ('{"a": 1, "a": 2}', "twice"), ('{"a": "\\ud800"}', "surrogate"),
    ("{'a': 1}", "line 1"), ('{"a": 1} {"b": 2}', "line 1"), ('{"a":' + "[" * 100_000, "nested"), ("[" * 70 + "]" * 70, "nested")])
def test_arguments_that_are_no_strict_object_are_refused(text, words):
    with pytest.raises(Refused) as refused:
        read_object(text, "ApplyBatch")
    assert refused.value.code == "bad_tool_arguments"
    assert words in str(refused.value)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_arguments_count_as_an_empty_object(text):
    assert read_object(text, "QueryBoard") == {}


# replies

@pytest.mark.parametrize("wire, body", [
    (OPENAI, openai_reply({"content": "Hello."})), (OPENAI, openai_reply({"content": [{"type": "text", "text": "Hello."}]})),
    (ANTHROPIC, anthropic_reply([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]))])
def test_text_is_read(wire, body):
    reply = WIRES[wire][0].read_reply(body, CallIds())
    assert (reply.text, reply.calls, reply.stop) == ("Hello.", (), "said")


@pytest.mark.parametrize("wire, body", [
    (OPENAI, openai_call('{"limit": 3}')), (OPENAI, openai_call({"limit": 3})), (ANTHROPIC, anthropic_call({"limit": 3}))])
def test_a_call_is_read(wire, body):
    (call,) = WIRES[wire][0].read_reply(body, CallIds()).calls
    assert (call.name, call.arguments, call.problem) == ("QueryBoard", {"limit": 3}, None)


@pytest.mark.parametrize("wire, body", [
    (OPENAI, openai_reply({"content": "half", "tool_calls": [{"id": "1", "function": {"name": "CloseCase", "arguments": "{}"}}]}, "length")),
    (ANTHROPIC, anthropic_reply([{"type": "tool_use", "id": "1", "name": "CloseCase", "input": {}}], "max_tokens"))])
def test_a_truncated_reply_executes_nothing(wire, body):
    reply = WIRES[wire][0].read_reply(body, CallIds())
    assert (reply.stop, reply.calls) == ("truncated", ())


@pytest.mark.parametrize("wire, body", [
    (OPENAI, openai_reply({"content": ""})), (OPENAI, openai_reply({"content": None})), (OPENAI, openai_reply({"content": " \n"})),
    (ANTHROPIC, anthropic_reply([])), (ANTHROPIC, anthropic_reply([{"type": "text", "text": ""}]))])
def test_an_empty_reply_is_empty(wire, body):
    assert WIRES[wire][0].read_reply(body, CallIds()).stop == "empty"


@pytest.mark.parametrize("wire, body", [
    (OPENAI, openai_reply({"content": "no"}, "content_filter")), (ANTHROPIC, anthropic_reply([{"type": "text", "text": "no"}], "refusal"))])
def test_a_declined_reply_executes_nothing(wire, body):
    assert WIRES[wire][0].read_reply(body, CallIds()).stop == "declined"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": 1}]}', b"\xff\xfe", b"null"])
@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC])
def test_a_reply_that_is_none_is_refused(wire, body):
    with pytest.raises(Refused) as refused:
        WIRES[wire][0].read_reply(body, CallIds())
    assert refused.value.code == "model_reply_unreadable"


def test_a_reply_is_the_same_however_its_bytes_arrive():
    """Read whole, byte by byte, and with trailing blanks: only the joined body is judged."""
    body = openai_call('{"limit": 3, "text": "Größe"}')
    whole = openai.read_reply(body, CallIds())
    assert openai.read_reply(b"".join(bytes([byte]) for byte in body), CallIds()) == whole
    assert openai.read_reply(body + b"\r\n \n", CallIds()) == whole


def test_one_inexact_number_refuses_every_call_of_an_anthropic_reply():
    body = (b'{"content": [{"type": "tool_use", "id": "a", "name": "QueryBoard", "input": {}},'
            b'{"type": "tool_use", "id": "b", "name": "ApplyBatch", "input": {"operations": [9007199254740993]}}],'
            b'"stop_reason": "tool_use"}')
    calls = anthropic.read_reply(body, CallIds()).calls
    assert [call.problem.code for call in calls] == ["number_out_of_range"] * 2


def test_an_inexact_number_refuses_only_its_own_openai_call():
    body = openai_reply({"content": None, "tool_calls": [
        {"id": "1", "function": {"name": "QueryBoard", "arguments": "{}"}},
        {"id": "2", "function": {"name": "ApplyBatch", "arguments": '{"a": 9007199254740993}'}}]}, "tool_calls")
    first, second = openai.read_reply(body, CallIds()).calls
    assert first.problem is None and second.problem.code == "number_out_of_range"


def test_an_object_sent_as_openai_arguments_is_looked_at_in_the_body():
    body = b'{"choices": [{"message": {"tool_calls": [{"function": {"name": "X", "arguments": {"a": 1e400}}}]}}]}'
    assert openai.read_reply(body, CallIds()).calls[0].problem.code == "number_out_of_range"


def test_anthropic_input_that_is_no_object_is_refused():
    assert anthropic.read_reply(anthropic_call([1]), CallIds()).calls[0].problem.code == "bad_tool_arguments"


@pytest.mark.parametrize("usage, expected", [
    ({"prompt_tokens": 10, "completion_tokens": 2}, (10, 2, None, None)),
    ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}, (10, 2, 4, 6)),
    ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 9}, (10, 2, None, None)),
    ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}, (10, 2, 3, 7)),
    ({"prompt_tokens": True, "completion_tokens": "2"}, (None, None, None, None)),
    (None, (None, None, None, None))])
def test_openai_usage_counts_only_what_adds_up(usage, expected):
    found = openai.usage_of(usage)
    assert (found.input_tokens, found.output_tokens, found.cached_input_tokens, found.uncached_input_tokens) == expected


def test_anthropic_usage_counts_cached_tokens_as_input():
    found = anthropic.usage_of({"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1})
    assert (found.input_tokens, found.cached_input_tokens, found.uncached_input_tokens) == (9, 3, 6)


# requests

def request(wire, entries, **more):
    module, accepted = WIRES[wire]
    body = module.request_body(model="m", max_tokens=100, system="be good", entries=entries, tools=TOOLS, **more)
    accepted(body)
    return body


@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC])
def test_a_turn_with_calls_is_replayed_with_its_results(wire):
    ids = CallIds()
    module = WIRES[wire][0]
    body = openai_call('{"limit": 3}') if wire == OPENAI else anthropic_call({"limit": 3})
    entry = module.read_reply(body, ids).entry()
    result = ResultsEntry((CallResult(entry.calls[0].id, "QueryBoard", '{"accepted":true}'),))
    sent = request(wire, [UserEntry("hi"), entry, result])
    assert json.dumps(sent).count(entry.calls[0].id) == 2


def test_reasoning_is_returned_on_every_later_request_and_is_no_text():
    reply = openai.read_reply(openai_reply({"content": "Yes.", "reasoning_content": "secret thoughts"}), CallIds())
    assert reply.text == "Yes."
    for entries in ([UserEntry("a"), reply.entry(), UserEntry("b")],
                    [UserEntry("a"), reply.entry(), UserEntry("b"), ModelEntry("c"), UserEntry("d")]):
        assert request(OPENAI, entries)["messages"][2]["reasoning_content"] == "secret thoughts"


def test_thinking_blocks_are_returned_before_their_calls():
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use", "id": "t", "name": "QueryBoard", "input": {}}]
    reply = anthropic.read_reply(anthropic_reply(blocks, "tool_use"), CallIds())
    assert reply.text == ""
    entries = [UserEntry("a"), reply.entry(), ResultsEntry((CallResult(reply.calls[0].id, "QueryBoard", "{}"),))]
    assert [block["type"] for block in request(ANTHROPIC, entries)["messages"][1]["content"]] == ["thinking", "tool_use"]


@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC])
def test_a_message_with_neither_text_nor_calls_gets_a_placeholder(wire):
    request(wire, [UserEntry("a"), ModelEntry(""), UserEntry("b")])


def test_a_thinking_switch_travels_only_when_set():
    assert "thinking" not in request(OPENAI, [UserEntry("a")])
    assert request(OPENAI, [UserEntry("a")], thinking="disabled")["thinking"] == {"type": "disabled"}


def test_alternatives_at_the_top_become_one_object_of_all_names():
    schema = for_provider(TOOLS[0]["inputSchema"])
    assert set(schema["properties"]) == {"caseType", "caseId"}
    assert "required" not in schema and schema["additionalProperties"] is False
    assert "exactly one" in schema["description"]


def _no_reference(node) -> bool:
    if isinstance(node, dict):
        return "$ref" not in node and all(_no_reference(inner) for inner in node.values())
    return all(_no_reference(inner) for inner in node) if isinstance(node, list) else True


@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC])
def test_the_six_tools_of_the_contract_are_offered_in_a_form_providers_take(wire):
    module, accepted = WIRES[wire]
    tools = [{"name": tool.name, "description": tool.description, "inputSchema": tool.listing()["inputSchema"]}
             for tool in mcp_contract().tools]
    body = module.request_body(model="m", max_tokens=9, system="s", entries=[UserEntry("x")], tools=tools)
    accepted(body)
    assert len(body["tools"]) == 6 and _no_reference(body["tools"])


def test_local_references_and_agreeing_parts_are_expanded():
    schema = for_provider({"type": "object", "definitions": {"atom": {"type": "object", "properties": {"p": {"type": "string"}}}},
                           "properties": {"when": {"type": "array", "items": {"$ref": "#/definitions/atom"}},
                                          "then": {"allOf": [{"$ref": "#/definitions/atom"}, {"required": ["p"]}]}}})
    assert schema["properties"]["when"]["items"] == {"type": "object", "properties": {"p": {"type": "string"}}}
    assert schema["properties"]["then"] == {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}
    assert "definitions" not in schema


@pytest.mark.parametrize("parts", [
    [{"type": "string"}, {"type": "number"}],
    [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}],
    [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "number"}}}]])
def test_parts_that_could_disagree_are_left_to_the_validator(parts):
    assert for_provider({"properties": {"x": {"allOf": parts}}})["properties"]["x"] == {"allOf": parts}


def test_a_schema_that_refers_to_itself_ends():
    for_provider({"definitions": {"a": {"properties": {"a": {"$ref": "#/definitions/a"}}}}, "properties": {"a": {"$ref": "#/definitions/a"}}})


# endpoints

@pytest.mark.parametrize("address, url, wire", [
    ("http://localhost:11434", "http://localhost:11434/v1/chat/completions", OPENAI),
    ("https://api.example.com/v1", "https://api.example.com/v1/chat/completions", OPENAI),
    ("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions", OPENAI),
    ("https://x.example/openai/chat/completions?v=1", "https://x.example/openai/chat/completions?v=1", OPENAI),
    ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/messages", ANTHROPIC)])
def test_the_path_names_the_dialect(address, url, wire):
    endpoint = endpoint_of(address)
    assert (endpoint.url, endpoint.wire) == (url, wire)


@pytest.mark.parametrize("address", ["ftp://x/v1", "x", "http://", "https://x/api/generate", "http://[::1", "https://x:port/v1"])
def test_another_address_is_refused(address):
    with pytest.raises(Refused) as refused:
        endpoint_of(address)
    assert refused.value.code == "model_address"


def test_a_secret_in_an_address_is_in_no_message():
    with pytest.raises(Refused) as refused:
        endpoint_of("https://user:hunter2@x/api?key=hunter2")
    assert "hunter2" not in str(refused.value)
    assert "hunter2" not in endpoint_of("https://user:hunter2@x/v1?key=hunter2").shown


def test_each_wire_has_its_own_key_header():
    assert endpoint_of("https://x/v1").headers("k")["authorization"] == "Bearer k"
    dressed = endpoint_of("https://x/v1/messages").headers("k")
    assert dressed["x-api-key"] == "k" and dressed["anthropic-version"] == "2023-06-01" and "authorization" not in dressed
    assert "authorization" not in endpoint_of("http://localhost:1/v1").headers(None)


# emulated tools

@pytest.mark.parametrize("text", [
    '{"tool": "QueryBoard", "input": {"limit": 3}}', '```json\n{"tool": "QueryBoard", "input": {"limit": 3}}\n```',
    '```\n{"tool": "QueryBoard", "input": {"limit": 3}}\n```', '  {"input": {"limit": 3}, "tool": "QueryBoard"}\n'])
def test_exactly_one_object_is_a_call(text):
    reply = emulated.read_call(openai.read_reply(openai_reply({"content": text}), CallIds()), CallIds())
    assert [(call.name, call.arguments) for call in reply.calls] == [("QueryBoard", {"limit": 3})]


@pytest.mark.parametrize("text", [
    'I call {"tool": "QueryBoard", "input": {}}', '{"tool": "QueryBoard", "input": {}} now', '{"tool": "QueryBoard"}',
    '{"tool": 1, "input": {}}', '{"tool": "a", "input": {}, "more": 1}', '{"tool": "a", "input": {}}{"tool": "b", "input": {}}', "{", "[]"])
def test_everything_else_is_text(text):
    reply = emulated.read_call(openai.read_reply(openai_reply({"content": text}), CallIds()), CallIds())
    assert reply.calls == () and reply.text == text


@pytest.mark.parametrize("text, code", [
    ('{"tool": "ApplyBatch", "input": {"a": 9007199254740993}}', "number_out_of_range"),
    ('{"tool": "ApplyBatch", "input": [1]}', "bad_tool_arguments"),
    ('{"tool": "ApplyBatch", "input": {"a": 1, "a": 2}}', "bad_tool_arguments")])
def test_a_call_that_cannot_be_made_is_a_refused_call(text, code):
    reply = emulated.read_call(openai.read_reply(openai_reply({"content": text}), CallIds()), CallIds())
    assert reply.calls[0].problem.code == code


@pytest.mark.parametrize("text, expected", [
    ("registry.ollama.ai/library/gemma:2b does not support tools", True),
    ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', True),
    ("Unrecognized request argument supplied: tools", True), ("'tools' is not supported with this model.", True),
    ("Function calling is not enabled for this model", True), ("tool use is unsupported", True),
    ("messages with role 'tool' must be a response to a preceding message with 'tool_calls'", False),
    ("Invalid schema for function 'ApplyBatch': not supported keyword", False), ("maximum context length exceeded", False),
    ("tool_call_id c1 not found: unsupported", False), ("", False)])
def test_only_a_denial_of_tools_switches_to_text(text, expected):
    assert emulated.says_tools_unsupported(400, text) is expected
    assert not emulated.says_tools_unsupported(500, text)


def test_a_conversation_can_change_to_text_half_way():
    entry = openai.read_reply(openai_call('{"limit": 3}'), CallIds()).entry()
    results = ResultsEntry((CallResult(entry.calls[0].id, "QueryBoard", '{"accepted":true}'),))
    plain = emulated.as_plain([UserEntry("hi"), entry, results, UserEntry("go on")])
    assert not any(isinstance(each, ResultsEntry) or getattr(each, "calls", ()) for each in plain)
    body = openai.request_body(model="m", max_tokens=9, system=emulated.system_with_tools("s", TOOLS), entries=plain, tools=[])
    accepted_by_openai(body)
    assert '"tool": "OpenCase"' in body["messages"][0]["content"]


# whatever a model writes, its provider accepts the conversation that follows

NAMES = st.one_of(st.sampled_from(["OpenCase", "QueryBoard", ""]), st.text(max_size=90))
ARGUMENTS = st.one_of(st.sampled_from(["", "{}", '{"a": 1e999}', '{"a": "\\ud800"}', "{", "null", '{"a":1,"a":1}', "9" * 30]),
                      st.text(max_size=30), st.dictionaries(st.text(max_size=3), st.integers() | st.none(), max_size=2),
                      st.none(), st.integers())
TEXTS = st.one_of(st.none(), st.text(max_size=20), st.sampled_from(["\ud800", "\x00", " "]))
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS, st.one_of(st.none(), st.just("same"), st.integers())), max_size=4)


def _converse(wire, replies):
    module, _ = WIRES[wire]
    ids = CallIds()
    entries = [UserEntry("start")]
    for text, calls in replies:
        if wire == OPENAI:
            body = openai_reply({"content": text, "tool_calls": [
                {"id": id_, "function": {"name": name, "arguments": arguments}} for name, arguments, id_ in calls]})
        else:
            blocks = [] if text is None else [{"type": "text", "text": text}]
            blocks += [{"type": "tool_use", "id": id_, "name": name, "input": arguments} for name, arguments, id_ in calls]
            body = anthropic_reply(blocks)
        reply = module.read_reply(body, ids)
        if reply.stop != "said":
            entries.append(UserEntry("again"))
            continue
        entries.append(reply.entry())
        if reply.calls:
            entries.append(ResultsEntry(tuple(CallResult(call.id, call.name, "{}") for call in reply.calls)))
        else:
            entries.append(UserEntry("more"))
    assert_replayable(entries)
    return entries


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([OPENAI, ANTHROPIC]), st.lists(st.tuples(TEXTS, CALLS), max_size=4))
def test_no_reply_leaves_a_conversation_its_provider_refuses(wire, replies):
    entries = _converse(wire, replies)
    module, accepted = WIRES[wire]
    accepted(module.request_body(model="m", max_tokens=9, system="s", entries=entries, tools=TOOLS))


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_cleaned_text_has_bytes_and_good_text_is_unchanged(text):
    clean_text(text).encode("utf-8")
    assert clean_text(text) == text.replace("\x00", "\ufffd")


def test_a_lone_surrogate_becomes_a_replacement_character():
    assert clean_text("a\ud800b") == "a\ufffdb"
    assert clean_text("ok \U0001f600") == "ok \U0001f600"
