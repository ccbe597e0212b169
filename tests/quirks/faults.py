"""What services do to a reply, one row each: how it is twisted, which of its calls may run, how the turn takes it.

Collected from the product's own list and from public issue threads of clients and servers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.quirks.drafts import ANTHROPIC, CUT, OPENAI, SILENT, Call, Draft

ALL, NONE, BUT_LAST = "all", "none", "all but the last"
ON, TEXT, ERROR = "goes on", "ends as text", "model-error"
BROKE_OFF, REFUSED, UNREADABLE = "model_broke_off", "model_refused", "model_reply_unreadable"
SKIP = "not in text"
LIMIT = 600                        # the output tokens that the lab's client asks for


@dataclass(frozen=True)
class Fault:
    """`runs`: which calls must run; the others must not. `ends`: what the turn does. `as_text` overrides both for calls in text."""

    name: str
    apply: Callable[[Draft, Random], None]
    runs: str = ALL
    ends: str = ON
    wires: tuple[str, ...] = (OPENAI, ANTHROPIC)
    form: str = ""                 # "stream" or "whole" where it exists only there
    calls: str = ""                # "some" or "none" where it needs them or their absence
    as_text: object = None


def flag(*names: str) -> Callable[[Draft, Random], None]:
    return lambda draft, rng: draft.flags.update(names)


def _set(**fields: object) -> Callable[[Draft, Random], None]:
    def apply(draft: Draft, rng: Random) -> None:
        for name, value in fields.items():
            setattr(draft, name, value)
    return apply


def _last(change: Callable[[Call], None]) -> Callable[[Draft, Random], None]:
    return lambda draft, rng: change(draft.calls[-1])


def _text(change: Callable[[str], str]) -> Callable[[Draft, Random], None]:
    def apply(call: Call) -> None:
        call.text = change(call.text)
    return _last(apply)


def _member(text: str) -> Callable[[str], str]:
    """The arguments with one more member, as text."""
    return lambda before: before[:-1] + ", " + text + "}"


def _cut_text(draft: Draft, rng: Random) -> None:
    call = draft.calls[-1]
    call.text = call.text[:rng.randrange(1, max(2, len(call.text) - 1))]
    call.cut = True


def _cut_length(draft: Draft, rng: Random) -> None:
    if draft.calls:
        _cut_text(draft, rng)
    draft.finish = rng.choice(["length", "max_tokens"])
    draft.output_tokens = LIMIT


def _cut_before_arguments(draft: Draft, rng: Random) -> None:
    draft.calls[-1].text = ""
    draft.calls[-1].cut = True
    draft.flags.add("no_finish")


def _cut_stream(draft: Draft, rng: Random) -> None:
    draft.how = CUT
    draft.flags.update({"no_finish", "no_done"})
    draft.flags.add("lost_tail")


def _clean_end(draft: Draft, rng: Random) -> None:
    draft.flags.update({"no_finish", "no_done", "lost_tail"})


def _same_ids(draft: Draft, rng: Random) -> None:
    for call in draft.calls:
        call.id = draft.calls[0].id
    draft.flags.add("by_index")


def _double(draft: Draft, rng: Random) -> None:
    first = draft.calls[0]
    draft.calls.append(Call(first.id, first.name, first.text))
    if rng.random() < 0.5:
        draft.flags.add("no_ids")


def _objects(draft: Draft, rng: Random) -> None:
    for call in draft.calls:
        call.value = json.loads(call.text)


def _reasoning(draft: Draft, rng: Random) -> None:
    draft.flags.add("thinks")


def _details(draft: Draft, rng: Random) -> None:
    draft.flags.update({"thinks", "details"})


def _thought_extra(draft: Draft, rng: Random) -> None:
    for call in draft.calls:
        call.extra = {"google": {"thought_signature": f"sig-{rng.randrange(10 ** 9)}"}}


def _think_tags(draft: Draft, rng: Random) -> None:
    draft.flags.add("tags")


def _error(*messages: object) -> Callable[[Draft, Random], None]:
    def apply(draft: Draft, rng: Random) -> None:
        draft.error = rng.choice(messages)
    return apply


def _many(*steps: Callable[[Draft, Random], None]) -> Callable[[Draft, Random], None]:
    def apply(draft: Draft, rng: Random) -> None:
        for step in steps:
            step(draft, rng)
    return apply


def _http(status: int, said: object, retry_after: str = "") -> Callable[[Draft, Random], None]:
    return _set(status=status, error=said, retry_after=retry_after)


OAI, ANT = (OPENAI,), (ANTHROPIC,)
_OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
_AS_TEXT = (NONE, TEXT)            # what is no single JSON object stands there as words

HARMLESS = [
    Fault("plain", flag()),
    Fault("all calls on one index", flag("one_index"), form="stream", calls="some"),
    Fault("no index", flag("no_index"), wires=OAI, form="stream", calls="some"),
    Fault("null index", flag("null_index"), wires=OAI, form="stream", calls="some"),
    Fault("no ids", flag("no_ids"), calls="some"),
    Fault("one id for all", _same_ids, calls="some", form="whole"),
    Fault("ids come late", flag("late_ids"), wires=OAI, form="stream", calls="some"),
    Fault("a new id with every piece", flag("ids_every_piece"), wires=OAI, form="stream", calls="some"),
    Fault("id and name with every piece", flag("name_every_piece", "id_every_piece"), wires=OAI, form="stream", calls="some"),
    Fault("arguments in one piece", flag("one_piece"), wires=OAI, form="stream", calls="some"),
    Fault("one piece each on one index without ids", flag("one_piece", "one_index", "no_ids"), wires=OAI, form="stream", calls="some"),
    Fault("pieces of several calls interleaved", flag("interleaved"), wires=OAI, form="stream", calls="some"),
    Fault("byte by byte", flag("bytewise"), form="stream"),
    Fault("everything in one chunk", flag("one_chunk"), form="stream"),
    Fault("lines end in CRLF", flag("crlf", "bytewise"), form="stream"),
    Fault("no blank after the colon", flag("no_space"), form="stream"),
    Fault("comments between events", flag("comments"), form="stream"),
    Fault("the last event lacks its blank line", flag("no_blank_end"), form="stream"),
    Fault("a usage chunk without choices", flag("usage_chunk"), wires=OAI, form="stream"),
    Fault("null in every other field", flag("null_fields"), form="stream"),
    Fault("the whole message once more at the end", flag("message_at_end"), wires=OAI, form="stream"),
    Fault("no end mark", flag("no_done"), form="stream"),
    Fault("no reason for the end", flag("no_finish"), form="stream"),
    Fault("two reasons for the end", flag("finish_twice"), wires=OAI, form="stream"),
    Fault("content in parts", flag("content_parts"), wires=OAI, form="whole"),
    Fault("content null", flag("null_content"), wires=OAI, form="whole", calls="some"),
    Fault("an empty text block", flag("empty_block"), wires=ANT),
    Fault("arguments as an object", _objects, wires=OAI, calls="some"),
    Fault("the older function_call", flag("function_call", "only_one"), wires=OAI, calls="some"),
    Fault("a whole reply to a streamed request", flag("whole"), form="stream"),
    Fault("a stream that calls itself JSON", flag("as_json"), form="stream"),
    Fault("blank lines before the reply", flag("blank_before", "whole")),
    Fault("a lone surrogate in the text", flag("surrogate")),
    Fault("thoughts in the text", _think_tags),
    Fault("reasoning", _reasoning),
    Fault("reasoning with details", _details, wires=OAI),
    Fault("a signature with each call", _thought_extra, wires=OAI, calls="some"),
    Fault("thinking between calls", flag("thinks", "between"), wires=ANT, calls="some"),
    Fault("thinking whose text is withheld", flag("thinks", "withheld"), wires=ANT),
    Fault("input in the block's start", flag("input_in_start"), wires=ANT, form="stream", calls="some"),
    Fault("input in the start and in deltas", flag("input_in_start", "input_twice"), wires=ANT, form="stream", calls="some"),
    Fault("pings", flag("pings"), wires=ANT, form="stream"),
    Fault("blocks never stop", flag("no_block_stop"), wires=ANT, form="stream"),
    Fault("a mark of the other dialect at the end", flag("done_mark"), wires=ANT, form="stream"),
    Fault("calls with the reason of a text", _set(finish="stop"), wires=OAI, calls="some"),
    Fault("calls with the reason of a turn's end", _set(finish="end_turn"), wires=ANT, calls="some"),
    Fault("JSON call in a fence", flag("fenced"), calls="some", as_text=(ALL, ON)),
    Fault("busy, at once again", _http(429, "Too many requests", "0")),
    Fault("busy, without a word when", _http(429, "Rate limit reached")),
    Fault("overloaded", _http(529, _OVERLOADED)),
    Fault("unavailable for a moment", _http(503, "Service temporarily unavailable", "1")),
    Fault("overloaded inside a success", _many(flag("error_only"), _error(_OVERLOADED)), form="stream"),
]

REFUSED_CALLS = [
    Fault("arguments cut, and said to be whole", _cut_text, runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=OAI),
    Fault("arguments cut, and said to be whole ", _cut_text, runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=ANT, form="stream"),
    Fault("arguments doubled", _text(lambda text: text + text), runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=OAI),
    Fault("arguments doubled ", _text(lambda text: text + text), runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=ANT, form="stream"),
    Fault("arguments in a fence", _text(lambda text: f"```json\n{text}\n```"), runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=OAI),
    Fault("arguments sent so far with each piece", flag("resent"), runs=NONE, form="stream", calls="some", as_text=SKIP),
    Fault("arguments sent once more at the end", flag("sent_again"), runs=NONE, form="stream", calls="some", as_text=SKIP),
    Fault("a call sent twice", _double, runs=ALL, calls="some", as_text=SKIP),
    Fault("a number too large", _text(_member('"n": 9007199254740993')), runs=BUT_LAST, calls="some"),
    Fault("a number without end", _text(_member('"n": 1e999')), runs=BUT_LAST, calls="some"),
    Fault("a key twice", _text(_member('"action": "fuzz.other"')), runs=BUT_LAST, calls="some"),
    Fault("a lone surrogate in the arguments", _text(_member('"s": "\\ud800"')), runs=BUT_LAST, calls="some"),
    Fault("arguments that are no object", _text(lambda text: "[1]"), runs=BUT_LAST, calls="some"),
    Fault("trailing comma", _text(lambda text: text[:-1] + ",}"), runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=OAI),
    Fault("single quotes", _text(lambda text: text.replace('"', "'")), runs=BUT_LAST, calls="some", as_text=_AS_TEXT, wires=OAI),
    Fault("deep nesting", _text(_member('"d": ' + "[" * 90 + "]" * 90)), runs=BUT_LAST, calls="some"),
    Fault("a tool that is not there", _last(lambda call: setattr(call, "name", "TransferMoney")), runs=BUT_LAST, calls="some"),
    Fault("a name that cannot be said", _last(lambda call: setattr(call, "name", "rm -rf / ; \u2603" * 9)), runs=BUT_LAST, calls="some"),
    Fault("a call written into the text", flag("as_words"), runs=NONE, ends=TEXT, calls="some", as_text=SKIP),
    Fault("no name", _last(lambda call: setattr(call, "name", "")), runs=BUT_LAST, calls="some", form="whole"),
]

ENDING = [
    Fault("cut at the limit", _cut_length, runs=NONE, ends=ERROR, wires=OAI),
    Fault("cut at the limit ", _set(finish="max_tokens", output_tokens=LIMIT), runs=NONE, ends=ERROR, wires=ANT),
    Fault("cut at the limit, closed and said to be whole", _set(output_tokens=LIMIT), runs=NONE, ends=ERROR, calls="some"),
    Fault("ended before the arguments began", _cut_before_arguments, runs=NONE, ends=ERROR, form="stream", calls="some", as_text=SKIP),
    Fault("declined", _many(_set(finish="content_filter")), runs=NONE, ends=ERROR, wires=OAI),
    Fault("declined ", _set(finish="refusal"), runs=NONE, ends=ERROR, wires=ANT),
    Fault("empty", _many(_set(text=""), flag("nothing")), runs=NONE, ends=ERROR),
    Fault("null everywhere", _many(_set(text=""), flag("nothing", "null_content", "null_fields")), runs=NONE, ends=ERROR, wires=OAI),
    Fault("the connection breaks", _cut_stream, runs=NONE, ends=BROKE_OFF, form="stream"),
    Fault("the stream just ends", _clean_end, runs=NONE, ends=BROKE_OFF, form="stream"),
    Fault("an error in the middle", _many(flag("error_event"), _error(_OVERLOADED, "upstream failed", {"code": 502, "message": "bad"})),
          runs=NONE, ends=BROKE_OFF, form="stream"),
    Fault("an error, and the end as if there were none", _many(flag("error_event", "done_after"), _error("upstream failed")),
          runs=NONE, ends=BROKE_OFF, form="stream"),
    Fault("an error instead of a reply, with status 200", _many(flag("error_only"), _error({"message": "model crashed"}, "out of memory")),
          runs=NONE, ends=BROKE_OFF),
    Fault("a reason nobody knows", _set(finish="martian"), runs=NONE, ends=BROKE_OFF, calls="some", as_text=SKIP),
    Fault("ended in error", _set(finish="error"), runs=NONE, ends=BROKE_OFF, wires=OAI),
    Fault("half an event", flag("bad_event"), runs=NONE, ends=BROKE_OFF, form="stream"),
    Fault("silence", _many(_clean_end, _set(how=SILENT)), runs=NONE, ends=BROKE_OFF, form="stream"),
    Fault("a page of HTML", _set(raw=b"<html>502</html>"), runs=NONE, ends=UNREADABLE),
    Fault("half a JSON text", _set(raw=b'{"choices": [{"mess'), runs=NONE, ends=UNREADABLE),
    Fault("no choices", flag("no_choices", "whole"), runs=NONE, ends=UNREADABLE, wires=OAI),
    Fault("an error", _http(500, "boom"), runs=NONE, ends=REFUSED),
    Fault("no such key", _http(401, "Incorrect key"), runs=NONE, ends=REFUSED),
    Fault("no money", _http(429, "You exceeded your current quota, check your billing"), runs=NONE, ends=REFUSED),
    Fault("busy for an hour", _http(429, "Slow down", "3600"), runs=NONE, ends=REFUSED),
    Fault("gone before the first piece", _many(_clean_end, _set(how=CUT), flag("lost_all")), runs=NONE, ends=BROKE_OFF, form="stream"),
]

TEXT_ONLY = [
    Fault("words around a JSON call", flag("prose"), runs=NONE, ends=TEXT, calls="some", as_text=_AS_TEXT),
    Fault("a JSON call twice", flag("twice"), runs=NONE, ends=TEXT, calls="some", as_text=_AS_TEXT),
    Fault("thoughts before a JSON call", _think_tags, calls="some", as_text=(ALL, ON)),
]

FAULTS = {fault.name: fault for fault in HARMLESS + REFUSED_CALLS + ENDING}
AS_TEXT_FAULTS = {fault.name: fault for fault in TEXT_ONLY}


def fits(fault: Fault, wire: str, *, is_stream: bool, has_calls: bool, in_text: bool) -> bool:
    """Whether this fault can come up there."""
    if wire not in fault.wires or (fault.form and (fault.form == "stream") != is_stream):
        return False
    if in_text and fault.as_text == SKIP:
        return False
    return not fault.calls or (fault.calls == "some") == has_calls


def meant(fault: Fault, wire: str, in_text: bool) -> tuple[str, str]:
    """(which calls run, how the turn takes it)."""
    if in_text and isinstance(fault.as_text, tuple):
        return fault.as_text
    runs = fault.runs
    if wire == ANTHROPIC and not in_text and fault.name.startswith("a number"):
        runs = NONE                # one such number refuses every call of the reply
    return runs, fault.ends
