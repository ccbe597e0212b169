"""The model service over HTTP: what is shown while it comes, what is learned and kept, how long anything is waited for.

Source  the MCP surface, "Model transports"; the design, "Agent Runtime"
"""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.base.clock import ManualClock, SystemClock
from rulith.base.errors import Refused
from rulith.dialects.endpoint import endpoint_of
from rulith.dialects.quirks import WORDS, learned_from, says_busy, says_too_long, with_quirk
from rulith.dialects.transcript import CallIds, CallResult, ModelEntry, ProposedCall, UserEntry
from rulith.net.client import HttpClient
from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.net.server import serve
from rulith.runtime.conversation import Conversation, ask
from rulith.runtime.model import ModelClient, Patience
from rulith.runtime.model_answers import ShownText
from rulith.runtime.quirk_memory import QuirkMemory
from rulith.runtime.settings import ModelSettings
from rulith.runtime.surface import Tool

TOOLS = [Tool("QueryBoard", "reads", {"type": "object", "properties": {}, "additionalProperties": False})]
HELLO = {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


class Service:
    """`answer(body, number)` gives a Response, a StreamResponse, or a document."""

    def __init__(self, answer) -> None:
        self.answer = answer
        self.bodies: list[dict] = []

    async def __aenter__(self) -> Service:
        self._server = await serve(self._handle, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.port}/v1"
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._server.close(drain_s=0.1)

    async def _handle(self, request: Request):
        self.bodies.append(json.loads(request.body))
        given = self.answer(self.bodies[-1], len(self.bodies))
        return given if isinstance(given, (Response, StreamResponse)) else json_response(200, given)


def refusal(status: int, words: str, **headers: str) -> Response:
    return json_response(status, {"error": {"message": words}}, list(headers.items()))


def stream_of(*events: object) -> StreamResponse:
    async def pieces():
        for event in events:
            yield f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
    return StreamResponse(200, [("content-type", "text/event-stream")], pieces())


def said(text: str, finish: str | None = None) -> dict:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


@pytest.fixture
def asked(in_loop, heard):
    """Ask once or several times; returns (replies or codes, the service, what was slept)."""

    def run(answer, *, times: int = 1, entries=None, memory=None, patience=Patience(), settings: dict | None = None, clock=None, url: str = ""):
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async def whole():
            async with Service(answer) as service:
                http = HttpClient(SystemClock(), environ={})
                made = ModelSettings(endpoint_of(url or service.url), "m", "k", 600, **(settings or {}))
                client = ModelClient(http, made, clock=clock or SystemClock(), emit=heard.emit, memory=memory, patience=patience, sleep=sleep)
                found = []
                try:
                    for _ in range(times):
                        try:
                            found.append(await client.ask("be good", entries or [UserEntry("hi")], TOOLS, CallIds()))
                        except Refused as refused:
                            found.append(refused)
                finally:
                    await http.close()
                return found, service, slept
        return in_loop(whole())

    return run


# what is shown while it comes

def test_text_is_told_while_it_comes_and_once_more_as_the_reply(asked, heard):
    (reply,), service, _ = asked(lambda body, number: stream_of(*[said(word) for word in ("Hel", "lo ", "there.")], said("", "stop"), "[DONE]"))
    assert reply.text == "Hello there." == "".join(row["text"] for row in heard.of("model-delta"))
    assert service.bodies[0]["stream"] is True and service.bodies[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("texts, settings", [
    (('{"tool": "Query', 'Board", "input": {}}'), {"emulated": True}), (("```json\n", '{"tool": "QueryBoard", "input": {}}\n```'), {"emulated": True}),
    (("<think>secret", " plan</think>"), {})])
def test_what_may_be_a_call_or_a_thought_is_not_shown(asked, heard, texts, settings):
    asked(lambda body, number: stream_of(*[said(text) for text in texts], said("", "stop"), "[DONE]"), settings=settings)
    assert heard.of("model-delta") == []


def test_words_in_text_mode_are_shown_once_they_can_be_no_call(asked, heard):
    (reply,), _, _ = asked(lambda body, number: stream_of(said("Good "), said("day."), said("", "stop")), settings={"emulated": True})
    assert "".join(row["text"] for row in heard.of("model-delta")) == reply.text == "Good day."


def test_words_are_shown_though_no_more_come(in_loop):
    """Past bug: the first words, and the last before a pause, waited for whatever the model would say next."""
    clock, seen = ManualClock(0.0, 0.0), []

    async def whole():
        came = asyncio.Event()

        def show(text: str) -> None:
            seen.append(text)
            came.set()

        shown = ShownText(show, clock=clock, holds=lambda text: text.startswith("<"), every_s=0.01)
        shown("Let me")
        assert seen == ["Let me"]
        came.clear()
        shown(" look")
        shown(" it up")
        assert seen == ["Let me"]
        await came.wait()
        assert seen == ["Let me", " look it up"]
        clock.advance(1.0)
        shown(".")
        assert seen[-1] == "."
        shown("broken off")
        shown.rest()
        await asyncio.sleep(0.05)
        assert seen[-1] == "."

    in_loop(whole())


def test_usage_names_what_was_sent_and_what_it_cost(asked, heard):
    asked(lambda body, number: HELLO)
    (row,) = heard.of("model-usage")
    assert (row["httpStatus"], row["inputTokens"], row["outputTokens"], row["messageCount"]) == (200, 3, 2, 1)
    assert row["requestBytes"] > 100 and row["durationMs"] >= 0


# busy services

def test_a_busy_service_is_asked_again_after_the_pause_it_names(asked, heard):
    (reply,), service, slept = asked(lambda body, number: HELLO if number > 2 else refusal(429, "slow down", **{"retry-after": "3"}))
    assert (reply.text, slept, len(service.bodies)) == ("Hello.", [3.0, 3.0], 3)
    assert "asking again in 3 s" in heard.of("model-wait")[0]["message"]


def test_without_a_pause_the_pauses_double_and_end(asked):
    (refused,), service, slept = asked(lambda body, number: refusal(529, "overloaded"))
    assert (refused.code, slept, len(service.bodies)) == ("model_refused", [1.0, 2.0, 4.0], 4)


@pytest.mark.parametrize("headers, words", [({"retry-after": "3600"}, "slow down"), ({}, "insufficient_quota: check your billing")])
def test_a_long_pause_or_an_empty_account_is_an_error_at_once(asked, headers, words):
    (refused,), service, slept = asked(lambda body, number: refusal(429, words, **headers))
    assert (refused.code, slept, len(service.bodies)) == ("model_refused", [], 1)


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "Tue, 01 Dec 2026 00:00:00 GMT", "1e99", "inf"])
def test_a_pause_that_is_no_number_of_seconds_says_nothing(asked, value):
    (reply,), _, slept = asked(lambda body, number: HELLO if number > 1 else refusal(503, "later", **{"retry-after": value}))
    assert reply.text == "Hello." and slept == [1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 500, 502, 504])
def test_no_other_error_is_retried(asked, status):
    (refused,), service, slept = asked(lambda body, number: refusal(status, "no"))
    assert (refused.code, slept, len(service.bodies)) == ("model_refused", [], 1)


# what is learned

def test_a_wish_is_followed_remembered_and_shown_on_a_card(asked, heard, tmp_path):
    path = tmp_path / "model-quirks.json"
    memory = QuirkMemory(path, clock=SystemClock())

    def answer(body, number):
        return refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.") if "max_tokens" in body else HELLO

    (one, two), service, _ = asked(answer, times=2, memory=memory)
    assert (one.text, two.text, len(service.bodies)) == ("Hello.", "Hello.", 3)
    card = heard.of("model-card")[-1]
    assert card["new"]["id"] == "max_completion_tokens" and card["model"] == "m" and card["quirks"][0]["words"] == WORDS["max_completion_tokens"]
    assert "k" not in json.loads(path.read_text("utf-8")) and "Bearer" not in path.read_text("utf-8")
    assert QuirkMemory(path, clock=SystemClock()).known(card["address"], "m") == {"max_completion_tokens"}


def test_a_wish_that_helps_nothing_is_followed_once(asked):
    """A service that keeps saying the same is not asked for ever."""
    (refused,), service, _ = asked(lambda body, number: refusal(400, "stream_options is not supported"))
    assert refused.code == "model_refused" and len(service.bodies) == 2


def test_a_service_that_names_everything_is_asked_a_bounded_number_of_times(asked):
    words = ("tools stream_options stream max_tokens max_completion_tokens reasoning_content must be passed back system role content empty schema "
             "is not supported")
    (refused,), service, _ = asked(lambda body, number: refusal(400, words))
    assert refused.code == "model_refused" and len(service.bodies) <= 12


def test_what_was_learned_is_tried_anew_after_some_days(tmp_path):
    clock = ManualClock(1_800_000_000.0, 0.0)
    memory = QuirkMemory(tmp_path / "q.json", clock=clock)
    memory.learn("http://a", "m", "whole_replies")
    assert memory.known("http://a", "m") == {"whole_replies"} and memory.known("http://a", "other") == frozenset()
    clock.advance(8 * 86_400)
    assert QuirkMemory(tmp_path / "q.json", clock=clock).known("http://a", "m") == frozenset()
    assert memory.known("http://a", "m") == frozenset()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": "other"}', b'{"format": "rulith-model-quirks/1", "services": [1, {"days": 2}, {"address": "a", "model": "m", "days": {"x": 1, "busy": "y"}}]}',
                                     b"\xff\xfe", b'{"format": "rulith-model-quirks/1", "services": 7}'])
def test_a_damaged_memory_is_begun_anew(tmp_path, content):
    (tmp_path / "q.json").write_bytes(content)
    memory = QuirkMemory(tmp_path / "q.json", clock=SystemClock())
    assert memory.known("a", "m") == frozenset()
    memory.learn("a", "m", "busy")
    assert QuirkMemory(tmp_path / "q.json", clock=SystemClock()).known("a", "m") == {"busy"}


def test_the_memory_of_many_services_stays_bounded(tmp_path):
    memory = QuirkMemory(tmp_path / "q.json", clock=SystemClock())
    for number in range(80):
        memory.learn(f"http://{number}", "m", "busy")
    assert len(json.loads((tmp_path / "q.json").read_text("utf-8"))["services"]) == 64
    assert memory.known("http://79", "m") and not memory.known("http://3", "m")


def test_a_home_that_is_not_there_is_not_made(tmp_path):
    memory = QuirkMemory(tmp_path / "none" / "q.json", clock=SystemClock())
    memory.learn("a", "m", "busy")
    assert memory.known("a", "m") == {"busy"} and not (tmp_path / "none").exists()


def test_opposite_wishes_replace_each_other():
    assert with_quirk({"reasoning_required", "busy"}, "reasoning_refused") == {"reasoning_refused", "busy"}


@pytest.mark.parametrize("status, said, quirk", [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools", "tools_as_text"),
    (400, "property 'stream_options' is unsupported, did you mean 'stream'?", "no_stream_options"),
    (422, "body.stream_options: Extra inputs are not permitted: include_usage", "no_stream_options"),
    (400, "Unsupported value: 'stream' does not support true with this model.", "whole_replies"),
    (400, "The `reasoning_content` in the thinking mode must be passed back to the API.", "reasoning_required"),
    (400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3", "reasoning_required"),
    (400, "property 'reasoning_content' is unsupported", "reasoning_refused"),
    (400, "System role not supported", "no_system_role"), (500, "Jinja error: System role not supported", "no_system_role"),
    (400, "messages: text content blocks must be non-empty", "no_empty_content"),
    (500, "'NoneType' object has no attribute 'strip' (content)", "no_empty_content"),
    (400, "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'", "plain_schemas"),
    (400, "Your credit balance is too low", None), (400, "model not found", None), (401, "does not support tools", None),
    (500, "property 'reasoning_content' is unsupported", None), (200, "does not support tools", None), (400, "", None)])
def test_a_refusal_teaches_what_it_names(status, said, quirk):
    assert learned_from(status, said, ()) == quirk
    assert quirk is None or learned_from(status, said, (quirk,)) != quirk


def test_refusals_are_read_quickly_however_long_they_are():
    for words in ("a" * 2_000_000, "stream " * 300_000, "content " * 300_000):
        learned_from(400, words, ())
        says_too_long(400, words)
        says_busy(429, words)


# how long anything is waited for

def test_a_reply_that_drips_for_ever_is_broken_off(asked):
    class Hurried(SystemClock):
        def monotonic_s(self) -> float:
            return super().monotonic_s() * 1000

    async def drip():
        while True:
            yield b": still thinking\n\n"

    (refused,), _, _ = asked(lambda body, number: StreamResponse(200, [("content-type", "text/event-stream")], drip()), clock=Hurried(),
                             patience=Patience(60.0, 5.0, 60.0))
    assert refused.code == "model_broke_off" and "too long" in str(refused)


def test_a_reply_without_end_is_broken_off(asked):
    async def pour():
        while True:
            yield b"x" * 65_536

    (refused,), _, _ = asked(lambda body, number: StreamResponse(200, [("content-type", "application/json")], pour()))
    assert refused.code == "model_broke_off"


def test_an_event_without_end_is_broken_off(asked):
    async def pour():
        yield b"data: {"
        while True:
            yield b"x" * 65_536

    (refused,), _, _ = asked(lambda body, number: StreamResponse(200, [("content-type", "text/event-stream")], pour()))
    assert refused.code == "model_broke_off"


def test_a_service_that_is_not_there_is_unreachable(asked):
    (refused,), _, _ = asked(lambda body, number: HELLO, url="http://127.0.0.1:9/v1")
    assert refused.code == "model_unreachable" and "nothing was sent" not in str(refused)


def test_an_error_body_without_end_is_told_by_its_beginning(asked):
    async def pour():
        while True:
            yield b"no \xff " * 1000

    (refused,), _, _ = asked(lambda body, number: StreamResponse(418, [("content-type", "text/plain")], pour()))
    assert refused.code == "model_refused" and len(str(refused)) < 700


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"error": null}', b'[{"error": {"message": "inner"}}]', b'{"error": {"code": 7}}', b'{"error": ["x"]}', b"{" * 100_000])
def test_whatever_an_error_body_holds_it_is_an_error(asked, body):
    (refused,), _, _ = asked(lambda sent, number: Response(403, [("content-type", "application/json")], body))
    assert refused.code == "model_refused" and len(str(refused)) < 700


# conversations that a service does not take

def talk(results: int, chars: int) -> Conversation:
    conversation = Conversation(1000)
    conversation.say("begin")
    for _ in range(results):
        call_id = conversation.ids.mint()
        call = json.dumps({"accepted": True, "result": {"n": 1}, "view": {"text": "x" * chars}})
        conversation.reply(ModelEntry("", (ProposedCall(call_id, "QueryBoard", {}),)))
        conversation.answer([CallResult(call_id, "QueryBoard", call)])
    return conversation


def test_a_conversation_that_is_too_long_is_shortened_until_it_fits(in_loop, heard):
    async def whole():
        async with Service(lambda body, number: HELLO if len(json.dumps(body)) < 9_000 else refusal(400, "maximum context length exceeded")) as service:
            http = HttpClient(SystemClock(), environ={})
            client = ModelClient(http, ModelSettings(endpoint_of(service.url), "m", "k"), clock=SystemClock(), emit=heard.emit)
            conversation = talk(20, 5_000)
            try:
                reply = await ask(client, conversation, "s", TOOLS, emit=heard.emit)
            finally:
                await http.close()
            return reply, conversation
    reply, conversation = in_loop(whole())
    assert reply.text == "Hello." and heard.of("compact")
    results = [result.text for entry in conversation.entries if hasattr(entry, "results") for result in entry.results]
    assert len(results) == 20 and all(json.loads(text)["accepted"] is True for text in results)      # what became of each call stays


def test_one_that_cannot_be_shorter_says_so(in_loop, heard):
    async def whole():
        async with Service(lambda body, number: refusal(413, "too large")) as service:
            http = HttpClient(SystemClock(), environ={})
            client = ModelClient(http, ModelSettings(endpoint_of(service.url), "m", "k"), clock=SystemClock(), emit=heard.emit)
            try:
                with pytest.raises(Refused) as refused:
                    await ask(client, talk(3, 5_000), "s", TOOLS, emit=heard.emit)
            finally:
                await http.close()
            return refused.value.code
    assert in_loop(whole()) == "model_too_long"


@pytest.mark.parametrize("takes_words", [True, False])
def test_a_conversation_refused_without_a_reason_goes_on_in_plain_words_or_stays_as_it_was(in_loop, heard, takes_words):
    async def whole():
        def answer(body, number):
            is_plain = not any(message["role"] == "tool" for message in body["messages"])
            return HELLO if is_plain and takes_words else refusal(400, "Bad request")
        async with Service(answer) as service:
            http = HttpClient(SystemClock(), environ={})
            client = ModelClient(http, ModelSettings(endpoint_of(service.url), "m", "k"), clock=SystemClock(), emit=heard.emit)
            conversation = talk(2, 10)
            before = conversation.entries
            try:
                reply = await ask(client, conversation, "s", TOOLS, emit=heard.emit)
            except Refused as refused:
                reply = refused
            finally:
                await http.close()
            return reply, before == conversation.entries, len(service.bodies)
    reply, same, requests = in_loop(whole())
    assert (reply.text == "Hello.", same, requests) == (True, False, 2) if takes_words else (reply.code, same, requests) == ("model_refused", True, 2)


def test_the_figures_of_a_long_request_say_what_was_left_out():
    conversation = talk(4, 20_000)
    conversation.for_request()
    figures = conversation.figures
    assert figures["compactedViews"] == 3 and figures["compactedTranscriptBytes"] < figures["transcriptBytes"] // 2
