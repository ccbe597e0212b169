"""Repairs, each taken out in turn: the fuzz must notice. A row names what it drops and where that shows soonest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rulith.dialects import anthropic, emulated, openai, quirks, replies, transcript
from rulith.dialects.anthropic_stream import AnthropicStream
from rulith.dialects.openai_stream import OpenAiStream
from rulith.runtime import model, model_answers
from rulith.runtime.conversation import Conversation


@dataclass(frozen=True)
class Mutant:
    """`patches`: (owner, name, what stands there instead). `faults` and `wishes` are what the short run draws from."""

    name: str
    patches: tuple[tuple[object, str, object], ...]
    faults: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    in_text: bool = False


@contextmanager
def dropped(mutant: Mutant) -> Iterator[None]:
    kept = [(owner, name, vars(owner)[name]) for owner, name, _ in mutant.patches]
    try:
        for owner, name, value in mutant.patches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)


def _loose(text: str, tool: str) -> dict:
    """Arguments as a lenient client takes them: brackets closed, the first of two objects, whatever parses."""
    for candidate in (text, text + "}", text + "}}", text + '"}}', text + '"}', text.strip("`json\n"), text.replace("'", '"'), text.replace(",}", "}")):
        try:
            value = json.JSONDecoder().raw_decode(candidate.strip())[0]
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return {}


def _by_index(self: OpenAiStream, index: object, id_: str, name: str) -> dict:
    """Pieces put together by index alone, as many clients do."""
    for call in self._calls:
        if call["index"] == index:
            return call
    self._calls.append({"index": index, "id": "", "name": "", "parts": [], "objects": [], "extra": None})
    return self._calls[-1]


def _no_wish(quirk: str) -> Callable:
    learned = quirks.learned_from
    return lambda status, said, known: learned(status, said, [*known, quirk])


def _calls_first(blocks: list[dict]) -> tuple | None:
    order = anthropic_order(blocks)
    return None if order is None else tuple(sorted(order, key=lambda block: block != "call"))


anthropic_order = anthropic._order
openai_messages, openai_read, anthropic_read, read_call = openai._messages, openai.read_document, anthropic.read_document, emulated.read_call


def _never_truncated(read: Callable) -> Callable:
    def reading(document: dict, ids: object, body: str, **more: object):
        for choice in document.get("choices", ()) if isinstance(document, dict) else ():
            if choice.get("finish_reason") in ("length", "max_tokens"):
                choice["finish_reason"] = "stop"
        if isinstance(document, dict) and document.get("stop_reason") == "max_tokens":
            document["stop_reason"] = "end_turn"
        return read(document, ids, body, **{**more, "max_tokens": None})
    return reading


def _flat_reply(reply, ids, *, max_tokens=None):
    """Calls found anywhere in a text, as lenient clients look for them."""
    text = reply.text
    start = text.find('{"tool"')
    if start < 0:
        return reply
    end = text.find("\n", start)
    return read_call(replace(reply, text=text[start:end if end > 0 else len(text)].strip("`\n ")), ids, max_tokens=max_tokens)


def _without_answers(self: Conversation, results) -> None:
    """Only the calls that ran get a result."""
    self._entries.append(transcript.ResultsEntry(tuple(row for row in results if '"call_queue_suspended"' not in row.text and not row.is_error)))


def _always(stream: type, name: str, value: object) -> type:
    """The stream whose `name` is `value` whatever comes."""
    return type("Mutant", (stream,), {name: property(lambda self: value, lambda self, given: None)})


def _without_a_turn_between(entries, wants) -> list[dict]:
    return [message for message in openai_messages(entries, wants) if message["content"] != openai.UNANSWERED]


_NUMBERS = ("a number too large", "a number without end")
MUTANTS = [
    Mutant("calls are told apart by index alone", ((OpenAiStream, "_call_of", _by_index),), ("all calls on one index",)),
    Mutant("a cut stream is taken as it is", ((openai, "stream", _always(OpenAiStream, "is_ended", True)),
                                             (anthropic, "stream", _always(AnthropicStream, "is_ended", True))), ("the stream just ends",)),
    Mutant("errors inside a stream are passed over", ((openai, "stream", _always(OpenAiStream, "failure", "")),
                                                     (anthropic, "stream", _always(AnthropicStream, "failure", ""))),
           ("an error, and the end as if there were none",)),
    Mutant("the reason for the end is not looked at", ((openai, "read_document", _never_truncated(openai_read)),
                                                      (anthropic, "read_document", _never_truncated(anthropic_read))),
           ("cut at the limit", "cut at the limit ", "cut at the limit, closed and said to be whole")),
    Mutant("the output limit is not counted", ((openai, "is_cut", lambda *given: False), (anthropic, "is_cut", lambda *given: False)),
           ("cut at the limit, closed and said to be whole", "ended before the arguments began")),
    Mutant("arguments are repaired", ((replies, "read_object", _loose),),
           ("arguments cut, and said to be whole", "arguments doubled", "arguments in a fence", "trailing comma", "single quotes")),
    Mutant("numbers are rounded", ((replies, "read_object", _loose), (replies, "check_numbers", lambda *given: None),
                                   (anthropic, "check_numbers", lambda *given: None)), _NUMBERS),
    Mutant("the last of two keys wins", ((replies, "read_object", _loose), (replies, "_gives_twice", lambda value: False)), ("a key twice",)),
    Mutant("a call sent twice runs twice", ((replies, "_is_again", lambda *given: False),), ("a call sent twice",)),
    Mutant("calls are looked for in any text", ((emulated, "read_call", _flat_reply),), ("words around a JSON call", "a JSON call twice"), in_text=True),
    Mutant("ids are the service's", ((transcript.CallIds, "mint", lambda self: "call_1"),), ("one id for all", "plain")),
    Mutant("names are replayed as they were", ((openai, "safe_name", lambda name: name), (anthropic, "safe_name", lambda name: name)),
           ("a name that cannot be said",)),
    Mutant("texts keep their surrogates", ((openai, "clean_text", lambda text: text), (anthropic, "clean_text", lambda text: text),
                                              (model, "encoded", lambda body: json.dumps(body).encode())),
           ("a lone surrogate in the text",)),
    Mutant("suspended calls get no result", ((Conversation, "answer", _without_answers),), ("a number too large", "a tool that is not there")),
    Mutant("an empty message stays empty", ((openai, "PLACEHOLDER", ""), (anthropic, "PLACEHOLDER", "")), (), ("empty_content",)),
    Mutant("reasoning is not kept", ((openai, "REASONING", ()), (anthropic, "_order", lambda blocks: None)), ("reasoning",)),
    Mutant("thinking is moved to the end", ((anthropic, "_order", _calls_first),), ("thinking between calls",)),
    Mutant("a call's signature is not kept", ((openai, "_replayed", lambda call, wants: {
        "id": call.id, "type": "function", "function": {"name": transcript.safe_name(call.name), "arguments": call.replayed}}),),
           ("a signature with each call",)),
    Mutant("two messages of the person in a row", ((openai, "_messages", lambda entries, wants: [
        message for entry in entries for message in openai_messages([entry], wants)]),), ("an error", "empty")),
    Mutant("the person speaks right after a result", ((openai, "_messages", _without_a_turn_between),), ("an error", "plain")),
    Mutant("a busy service is an error", ((model, "MODEL_BUSY_TRIES", 0),), ("busy, at once again", "overloaded")),
    Mutant("a busy service inside a success is an error", ((quirks, "is_busy_error", lambda said: False),), ("overloaded inside a success",)),
    Mutant("an empty account is busy", ((quirks, "says_busy", lambda status, said: status == 429),), ("no money",)),
    Mutant("thoughts are text", ((openai, "without_thoughts", lambda text: (text, False)), (anthropic, "without_thoughts", lambda text: (text, False))),
           ("thoughts before a JSON call",), in_text=True),
    Mutant("a stream must say that it is one", ((model_answers, "_FIELDS", (b"never",)),), ("plain",)),
    Mutant("a conversation that is too long stays so", ((Conversation, "shorten", lambda self: 0),), (), ("bytes_max",)),
    Mutant("a refused conversation stays as it is", ((Conversation, "in_words", lambda self: None),), (), ("history",)),
    *(Mutant(f"not learned: {quirk}", ((quirks, "learned_from", _no_wish(quirk)),), (), (wish,)) for wish, quirk in (
        ("tools", quirks.TOOLS_AS_TEXT), ("stream", quirks.WHOLE_REPLIES), ("stream_options", quirks.NO_STREAM_OPTIONS),
        ("limit_name", quirks.COMPLETION_TOKENS), ("empty_content", quirks.NO_EMPTY_CONTENT), ("system", quirks.NO_SYSTEM_ROLE),
        ("schemas", quirks.PLAIN_SCHEMAS))),
    Mutant("not learned: reasoning is refused", ((quirks, "learned_from", _no_wish(quirks.REASONING_REFUSED)), (Conversation, "in_words", lambda self: None)),
           ("reasoning",), ("reasoning_refused",)),
    Mutant("not learned: reasoning is wanted", ((quirks, "learned_from", _no_wish(quirks.REASONING_REQUIRED)), (Conversation, "in_words", lambda self: None)),
           ("reasoning",), ("reasoning_required",)),
]
