"""Odd bytes in place of a model's reply, whole and streamed: read or refused, in bounded time, and always one a conversation goes on from.

Inputs are known by seed and index, as those of tests/fuzz. However the bytes are cut, the same is read;
and whatever was read is sent back in a request that the strictest provider takes.
"""

from __future__ import annotations

import random

import pytest

from rulith.base.errors import Refused
from rulith.dialects import anthropic, emulated, openai
from rulith.dialects.transcript import CallIds, CallResult, ResultsEntry, UserEntry, assert_replayable
from rulith.wire.sse import EventStream
from tests.dialects.strict_providers import accepted_by_anthropic, accepted_by_openai
from tests.dialects.test_streams import CALLS, NOT_RUN
from tests.fuzz.mutations import cuts, mutated, pick, spelt, thrown
from tests.fuzz.running import Family, run, source

SEED, INPUTS = 20261201, 700
WHOLE = {
    "openai": [{"choices": [{"message": {"content": "Hi \u00e9", "reasoning_content": "hm", "reasoning_details": [{"text": "a"}], "tool_calls": [
        {"id": "x", "function": {"name": "ApplyBatch", "arguments": '{"a":1}'}, "extra_content": {"s": "t"}},
        {"id": "y", "function": {"name": "CloseCase", "arguments": {"root": "r"}}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}}, {"error": {"message": "no"}}],
    "anthropic": [{"content": [{"type": "thinking", "thinking": "h", "signature": "s"}, {"type": "text", "text": "Hi"},
                               {"type": "tool_use", "id": "x", "name": "ApplyBatch", "input": {"a": 1}}, {"type": "redacted_thinking", "data": "d"},
                               {"type": "tool_use", "id": "y", "name": "CloseCase", "input": {"root": "r"}}], "stop_reason": "tool_use",
                   "usage": {"input_tokens": 3, "output_tokens": 2}}, {"type": "error", "error": {"type": "overloaded_error"}}]}
MODULES = {"openai": (openai, accepted_by_openai), "anthropic": (anthropic, accepted_by_anthropic)}


class Replies(Family):
    def __init__(self, wire: str) -> None:
        self.name = f"replies of {wire}"
        self.wire, self.accepted = MODULES[wire]
        self.whole = WHOLE[wire]
        self.streams = [events for its, events, _ in [*CALLS.values(), *NOT_RUN.values()] if its == wire]

    def make(self, rng: random.Random) -> bytes:
        if rng.random() < 0.4:
            return b"w" + spelt(rng, mutated(rng, pick(rng, self.whole)))
        lines = [event if isinstance(event, str) else mutated(rng, event) if rng.random() < 0.2 else event for event in pick(rng, self.streams)]
        body = b"".join(b"data: " + (line.encode("utf-8", "surrogatepass") if isinstance(line, str) else spelt(rng, line) if rng.random() < 0.5 else
                                     spelt(random.Random(1), line)) + b"\n\n" for line in lines)
        return b"s" + (thrown(rng, body) if rng.random() < 0.3 else body)

    def play(self, data: bytes) -> bool:
        if data[:1] == b"w":
            return self._goes_on(lambda ids: self.wire.read_reply(data[1:], ids, max_tokens=100))
        found = [self._streamed(pieces) for pieces in ([data[1:]], cuts(source("cuts", data), data[1:]))]
        assert found[0][:2] == found[1][:2] and repr(found[0][2]) == repr(found[1][2])
        document, is_whole = found[0][2], found[0][1]
        return self._goes_on(lambda ids: self.wire.read_document(document[0], ids, document[1], max_tokens=100, is_whole=is_whole))

    def _streamed(self, pieces: list[bytes]) -> tuple:
        events, reply = EventStream(), self.wire.stream()
        texts = [reply.take(event.data, event.event) for piece in pieces for event in events.receive(piece)]
        texts += [reply.take(event.data, event.event) for event in events.finish()]
        return ("".join(texts), reply.failure), reply.is_whole, reply.document()

    def _goes_on(self, read) -> bool:
        ids = CallIds()
        try:
            reply = read(ids)
        except Refused as refused:
            assert refused.code in ("model_reply_unreadable", "model_broke_off")
            return False
        if reply.stop != "said":
            assert not reply.calls
            return False
        entries = [UserEntry("a"), reply.entry()]
        entries += [ResultsEntry(tuple(CallResult(call.id, call.name, "{}") for call in reply.calls))] if reply.calls else []
        entries.append(UserEntry("b"))
        assert_replayable(entries)
        for shown in (entries, emulated.as_plain(entries), emulated.as_words(entries)):
            self.accepted(self.wire.request_body(model="m", max_tokens=9, system="s", entries=shown, tools=[]))
        return True


@pytest.mark.parametrize("wire", MODULES)
def test_odd_replies_are_read_or_refused_and_the_conversation_goes_on(wire):
    told = run(Replies(wire), SEED, INPUTS, say=print)
    assert not told["failures"], told["failures"][:2]
    assert told["accepted"] > INPUTS // 5 and told["refused"] > INPUTS // 20
