"""The quirk lab: a model service on loopback that is as odd as real ones and stricter than all of them.

Each request is first judged as the strictest provider would: roles, one result for each
call, ids, texts that encode, reasoning that comes back as it went out. What fails there is
kept in `violations` and answered 400 without a helpful word. Then come the wishes of this
lab's service, refused in the words of real ones. Only then is the next round of `plan`
served, twisted by its fault.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from random import Random

from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.net.server import serve
from tests.dialects.strict_providers import accepted_by_anthropic, accepted_by_openai
from tests.quirks.drafts import ANTHROPIC, CUT, OPENAI, SILENT, Call, Draft, dump, streamed, whole
from tests.quirks.faults import FAULTS, Fault, fits

MARKERS = re.compile(r"\b[me]\d{3,}\b")


@dataclass(frozen=True)
class Wishes:
    """What this service wants, apart from its dialect."""

    tools: str = ""                # the words in which it refuses tools
    stream: str = ""
    stream_options: str = ""
    limit_name: str = ""
    empty_content: str = ""
    system: str = ""
    reasoning_refused: str = ""
    reasoning_required: str = ""
    schemas: str = ""
    history: str = ""              # it refuses calls in the history, in words that say nothing
    bytes_max: int = 0             # and more than that: its context is short


WORDINGS: dict[str, tuple[tuple[int, str], ...]] = {
    "tools": ((400, "registry/tiny:1b does not support tools"), (400, "'tools' is not supported with this model."),
              (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')),
    "stream": ((400, "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported."),
               (400, "Streaming is not supported for this deployment")),
    "stream_options": ((400, "property 'stream_options' is unsupported, did you mean 'stream'?"), (422, "stream_options: Extra inputs are not permitted")),
    "limit_name": ((400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),),
    "empty_content": ((400, "messages: text content blocks must be non-empty"), (400, "Invalid value for 'content': expected a string, got null."),
                      (422, "messages.2.content: Input should be a valid string"), (500, "'NoneType' object is not iterable in content")),
    "system": ((400, "System role not supported"), (400, "Only user and assistant roles are supported: role system is invalid")),
    "reasoning_refused": ((400, "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]"),
                          (400, "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported")),
    "reasoning_required": ((400, "The `reasoning_content` in the thinking mode must be passed back to the API."),
                           (400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3")),
    "schemas": ((400, "Invalid JSON payload: Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'"),
                (400, "tools.0.custom.input_schema: JSON schema is invalid: oneOf is not supported")),
    "history": ((400, "Bad request"), (422, "Unprocessable"), (400, "messages.3.content.0: `thinking` blocks in the latest assistant message cannot be modified")),
}
_TOO_LONG = ((400, "This model's maximum context length is 4096 tokens. Please reduce the length of the messages."),
             (400, "prompt is too long: 210000 tokens > 200000 maximum"), (413, "Request too large"))


@dataclass
class Round:
    """What the model says next. `served` is what was really sent of it, for whoever checks."""

    text: str
    calls: list[tuple[str, dict]]
    fault: Fault
    served: int = 0                # calls that went out
    in_text: bool = False
    is_stream: bool = False
    is_done: bool = False
    met: list[str] = field(default_factory=list)      # the faults it was served with


class Lab:
    def __init__(self, wire: str, wishes: Wishes, rng: Random) -> None:
        self.wire = wire
        self.wishes = wishes
        self.plan: list[Round] = []
        self.violations: list[str] = []
        self.untrue: list[str] = []          # results told to the model that are not what happened
        self.requests = 0
        self.refusals = 0
        self.effects: dict[str, int] = {}    # how often each ran, counted by the Board
        self.on_request: Callable[[], None] | None = None      # e.g. the person stops the turn just then
        self._rng = rng
        self._issued: dict[str, dict] = {}   # by the marks in its text and calls
        self._reasonings: list[dict] = []
        self._doubled: set[str] = set()      # effects of calls that went out twice: one is told as not executed, and was not
        self._busy: Round | None = None
        self._server = None
        self._gone = asyncio.Event()

    async def __aenter__(self) -> Lab:
        self._server = await serve(self._handle, "127.0.0.1", 0, on_bug=self._bug)
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._gone.set()
        await self._server.close(drain_s=0.1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}/v1/{'chat/completions' if self.wire == OPENAI else 'messages'}"

    def _bug(self, problem: BaseException) -> None:
        if not isinstance(problem, _HungUp):
            self.violations.append(f"the lab itself: {problem!r}")

    async def _handle(self, request: Request) -> Response | StreamResponse:
        self.requests += 1
        if self.on_request is not None:
            self.on_request()
        body = json.loads(request.body.decode("utf-8"))
        problem = self._violation(body)
        if problem:
            self.violations.append(problem)
            return json_response(400, {"error": {"message": "invalid_request_error"}})
        refused = self._unwished(body, len(request.body))
        if refused is not None:
            self.refusals += 1
            status, words = refused
            if status == 400 and "tool" not in words and refused not in WORDINGS["history"] and self._rng.random() < 0.15:      # a proxy that passes errors on with its own 200
                return json_response(200, {"error": {"message": words, "code": 400}})
            return json_response(status, {"error": {"message": words, "type": "invalid_request_error"}} if self._rng.random() < 0.8 else {"detail": words})
        if not self.plan:
            self.violations.append("asked again after the plan was over")
            return json_response(400, {"error": {"message": "nothing to say"}})
        return self._serve(self.plan[0], body)

    # what a strict provider checks

    def _violation(self, body: dict) -> str:
        try:
            rest = body
            if self.wire == OPENAI and body["messages"][0]["role"] != "system":      # its wish: a system text before the first message
                rest = {**body, "messages": [{"role": "system", "content": "s"}, *body["messages"]]}
            (accepted_by_openai if self.wire == OPENAI else accepted_by_anthropic)(rest)
            _encodes(body)
            self._check_reasoning(body)
            self._check_truth(body)
        except AssertionError as problem:
            return str(problem) or f"a rule at line {_line(problem)} of the strict provider"
        except (KeyError, TypeError, IndexError) as problem:
            return f"malformed: {problem!r}"
        return ""

    def _check_reasoning(self, body: dict) -> None:
        for message in body["messages"]:
            if message["role"] != "assistant":
                continue
            issued = next((self._issued[mark] for mark in MARKERS.findall(dump(message)) if mark in self._issued), None)
            if self.wire == OPENAI:
                self._check_fields(message, issued)
            elif issued is not None:
                sent = _order(message["content"])
                has_thinking = any(row.startswith("{") for row in sent)
                if has_thinking or not self.wishes.history:
                    assert sent == issued["order"], f"thinking was changed or moved: {sent} for {issued['order']}"

    def _check_fields(self, message: dict, issued: dict | None) -> None:
        fields = {name: message[name] for name in ("reasoning_content", "reasoning", "reasoning_details") if name in message}
        if self.wishes.reasoning_refused or self.wishes.history:
            return
        if issued is None or not issued["fields"]:
            known = fields in ({}, {"reasoning_content": ""}, *self._reasonings)
            assert known, f"reasoning that was never sent: {fields}"
        else:
            assert fields == issued["fields"], f"reasoning was changed: {fields} for {issued['fields']}"
        if issued is not None and message.get("tool_calls"):
            extras = [call.get("extra_content") for call in message["tool_calls"]]
            assert extras == issued["extras"], "a call's signature was lost"

    def _check_truth(self, body: dict) -> None:
        """What the model is told of a call is what became of it."""
        rows = _told(body["messages"], self.wire)
        for effect, told in rows:
            ran = self.effects.get(effect, 0)
            if told.get("requestExecuted") is False and ran and effect not in self._doubled:
                self.untrue.append(f"{effect} ran and was told as not executed")
            if told.get("accepted") is True and not ran:
                self.untrue.append(f"{effect} did not run and was told as accepted")

    # what this service wants

    def _unwished(self, body: dict, size: int) -> tuple[int, str] | None:
        wishes, messages = self.wishes, body["messages"]
        limit = "max_tokens" if self.wire == ANTHROPIC or not wishes.limit_name else "max_completion_tokens"
        text = dump(messages)
        own = [message for message in messages if message["role"] == "assistant"]
        has_calls = any(message.get("tool_calls") for message in own) or '"tool_use"' in text
        checks = (
            ("tools", bool(body.get("tools"))), ("stream", body.get("stream") is True), ("stream_options", "stream_options" in body),
            ("limit_name", limit not in body), ("empty_content", any(not str(message.get("content") or "").strip() for message in own)),
            ("system", messages[0]["role"] == "system"), ("reasoning_refused", '"reasoning' in text or "extra_content" in text),
            ("reasoning_required", any("reasoning_content" not in message for message in own)),
            ("schemas", _has_conditions(body.get("tools", []))), ("history", has_calls),
        )
        for name, is_wrong in checks:
            if getattr(wishes, name) and is_wrong:
                return self._rng.choice(WORDINGS[name])
        if wishes.bytes_max and size > wishes.bytes_max and len(messages) > 2:
            return self._rng.choice(_TOO_LONG)
        return None

    # replies

    def _serve(self, planned: Round, body: dict) -> Response | StreamResponse:
        in_text, is_stream = not body.get("tools"), body.get("stream") is True
        if self._busy is planned:
            self._busy, planned.fault = None, FAULTS["plain"]
        if not fits(planned.fault, self.wire, is_stream=is_stream, has_calls=bool(planned.calls), in_text=in_text):
            planned.fault = FAULTS["plain"]
        planned.met.append(planned.fault.name.strip())
        draft = self._draft(planned, in_text)
        planned.fault.apply(draft, self._rng)
        self._finish_draft(planned, draft, in_text)
        if draft.status != 200 or ("error_only" in draft.flags and draft.error == {"type": "overloaded_error", "message": "Overloaded"}):
            if planned.fault.ends == "goes on":
                self._busy = planned
        planned.in_text, planned.is_stream = in_text, is_stream
        if self._busy is not planned:
            planned.is_done = True
            self.plan.pop(0)
            self._issue(draft)
        return self._answer(draft, is_stream)

    def _draft(self, planned: Round, in_text: bool) -> Draft:
        if in_text:                # one call at a time, and one that a fault can be seen in
            planned.calls.sort(key=lambda call: call[0] != "ApplyAction")
        calls = planned.calls[:1] if in_text else planned.calls
        return Draft(planned.text, [Call(f"call_{self._rng.randrange(10 ** 9)}", name, dump(given)) for name, given in calls])

    def _finish_draft(self, planned: Round, draft: Draft, in_text: bool) -> None:
        flags = draft.flags
        if "only_one" in flags:
            draft.calls = draft.calls[:1]
        if "nothing" in flags:
            draft.calls = []
        planned.served = len(draft.calls)
        texts = [call.text for call in draft.calls]
        self._doubled.update(_effect(json.loads(text)) for text in texts if texts.count(text) > 1)
        if "thinks" in flags:
            draft.thinking = self._thinking(flags, len(draft.calls))
        if "surrogate" in flags and draft.text:
            draft.text += " \ud83d!"
        if "as_words" in flags:
            draft.text += f"<tool_call>{draft.calls[0].text}</tool_call>"
            draft.calls = []
        if in_text and draft.calls:
            draft.text = _spelled(draft.calls[0], flags)
            draft.calls = []
        if "tags" in flags:
            draft.text = f"<think>\nlet me {self._rng.randrange(99)} see</think>\n\n{draft.text}"

    def _thinking(self, flags: set[str], calls: int) -> list[dict]:
        number = self._rng.randrange(10 ** 9)
        if self.wire == OPENAI:
            rows: list[dict] = [{"reasoning_content": f"thoughts \u00e9 {number}"}]
            if "details" in flags:
                rows.append({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": f"detail {number}", "signature": "s"}]})
            return rows
        count = calls + 1 if "between" in flags else 1
        rows = [{"type": "thinking", "thinking": "" if "withheld" in flags else f"thought {number}.{place}", "signature": f"sig{number}{place}=="}
                for place in range(count)]
        if number % 5 == 0:
            rows[0] = {"type": "redacted_thinking", "data": f"data{number}"}
        return rows[:calls] if "between" in flags and calls else rows

    def _issue(self, draft: Draft) -> None:
        fields: dict = {}
        for row in draft.thinking if self.wire == OPENAI else ():
            fields.update(row)
        self._reasonings.append(fields)
        kept = {"fields": fields, "extras": [call.extra for call in draft.calls], "order": []}
        if self.wire == ANTHROPIC:
            text = draft.text.partition("</think>")[2].strip() if "tags" in draft.flags else draft.text
            blocks = json.loads(whole(Draft(text, [Call(call.id, "x", "{}") for call in draft.calls], draft.thinking), ANTHROPIC))["content"]
            kept["order"] = _order(blocks)
        for mark in MARKERS.findall(dump([draft.text, [call.text for call in draft.calls]])):
            self._issued[mark] = kept

    def _answer(self, draft: Draft, is_stream: bool) -> Response | StreamResponse:
        headers = [("retry-after", draft.retry_after)] if draft.retry_after else []
        if draft.status != 200:
            return json_response(draft.status, {"error": draft.error}, headers)
        if draft.raw is not None:
            return Response(200, [("content-type", "text/html")], draft.raw)
        if not is_stream or "whole" in draft.flags:
            body = dump({"error": draft.error}).encode() if "error_only" in draft.flags else whole(draft, self.wire)
            return Response(200, [("content-type", "application/json")], body)
        kind = "application/json" if "as_json" in draft.flags else "text/event-stream; charset=utf-8"
        if "error_only" in draft.flags:
            pieces = [b"data: " + dump({"type": "error", "error": draft.error}).encode() + b"\n\n"]
        else:
            pieces = streamed(draft, self.wire)
        if "lost_tail" in draft.flags:
            pieces = [] if "lost_all" in draft.flags else pieces[:self._rng.randrange(1, max(2, len(pieces)))]
        return StreamResponse(200, [("content-type", kind)], self._pour(pieces, draft.how))

    async def _pour(self, pieces: list[bytes], how: str) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
        if how == SILENT:
            await self._gone.wait()
        if how in (CUT, SILENT):
            raise _HungUp


class _HungUp(Exception):
    """Ends the connection in the middle."""


def _spelled(call: Call, flags: set[str]) -> str:
    """A call as a model without tools writes it."""
    text = f'{{"tool": {dump(call.name)}, "input": {call.text}}}'
    if "fenced" in flags:
        return f"```json\n{text}\n```"
    if "prose" in flags:
        return f"I will do this now:\n{text}"
    return text + "\n" + text if "twice" in flags else text


def _order(blocks: list[dict]) -> list[str]:
    """The kinds of the blocks in order, thinking in full."""
    kinds = {"text": "text", "tool_use": "call"}
    return [kinds.get(block["type"]) or dump(block) for block in blocks]


def _has_conditions(tools: list[dict]) -> bool:
    return "additionalProperties" in dump(tools)


def _encodes(value: object) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            assert not any("\ud800" <= letter <= "\udfff" for letter in item), "a lone surrogate"
        elif isinstance(item, (dict, list)):
            waiting.extend([*item, *item.values()] if isinstance(item, dict) else item)


def _told(messages: list[dict], wire: str) -> list[tuple[str, dict]]:
    """(effect, what the model was told) of each call that the request shows."""
    asked: dict[str, str] = {}
    told = []
    for message in messages:
        if wire == OPENAI:
            for call in message.get("tool_calls", []):
                asked[call["id"]] = _effect(json.loads(call["function"]["arguments"]))
            if message["role"] == "tool":
                told.append((asked[message["tool_call_id"]], _json(message["content"])))
            continue
        for block in message["content"]:
            if block["type"] == "tool_use":
                asked[block["id"]] = _effect(block["input"])
            elif block["type"] == "tool_result":
                told.append((asked[block["tool_use_id"]], _json(block["content"])))
    return [(effect, row) for effect, row in told if effect and isinstance(row, dict)]


def _line(problem: AssertionError) -> int:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return 0 if trace is None else trace.tb_lineno


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None                # a result that was left out


def _effect(given: dict) -> str:
    args = given.get("args")
    return str(args.get("effect", "")) if isinstance(args, dict) else ""
