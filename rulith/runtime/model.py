"""The model service: one question, one whole reply, in whichever dialect it speaks.

A service that says it takes no tools is asked the same again with the tools as text, and
from then on always so. Nothing else is retried: an HTTP error is an error.

Units   *_s seconds
Source  the MCP surface, "Model transports"
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.dialects import anthropic, emulated, openai
from rulith.dialects.endpoint import ANTHROPIC
from rulith.dialects.transcript import CallIds, Entry, Reply
from rulith.net.client import ClientResponse, HttpClient, NetFailed
from rulith.runtime.budget import Hold, Meter, Unlimited
from rulith.runtime.events import Sink
from rulith.runtime.settings import ModelSettings
from rulith.runtime.surface import Tool, flat

MODEL_TIMEOUT_S = 600.0          # a long answer of a slow local model
SAID_CHARS_MAX = 300


class ModelClient:
    """`meter` is asked before each request and told what it used."""

    def __init__(self, http: HttpClient, settings: ModelSettings, *, clock: Clock, emit: Sink, meter: Meter = Unlimited()) -> None:
        self._http = http
        self._meter = meter
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._emulated = settings.emulated
        self._wire = anthropic if settings.endpoint.wire == ANTHROPIC else openai

    async def ask(self, system: str, entries: Sequence[Entry], tools: Sequence[Tool], ids: CallIds) -> Reply:
        """The model's reply to `entries`.

        Raises Refused: model_unreachable, model_refused, model_reply_unreadable, and what the meter refuses.
        """
        rows = [tool.row() for tool in tools]
        answer = await self._send(system, entries, rows)
        if not self._emulated and emulated.says_tools_unsupported(answer.status, answer.text()):
            self._emulated = True
            self._emit("model-tools", mode="emulated")
            answer = await self._send(system, entries, rows)
        if not 200 <= answer.status < 300:
            raise Refused("model_refused", address=self._settings.endpoint.shown, status=answer.status,
                          said=_error_words(answer) or "without a word")
        reply = self._wire.read_reply(answer.body, ids)
        return emulated.read_call(reply, ids) if self._emulated else reply

    async def _send(self, system: str, entries: Sequence[Entry], rows: list[dict]) -> ClientResponse:
        settings = self._settings
        if self._emulated:
            system, entries, rows = emulated.system_with_tools(system, rows), emulated.as_plain(entries), []
        body = json.dumps(self._wire.request_body(
            model=settings.model, max_tokens=settings.max_tokens, system=system, entries=entries, tools=rows,
            thinking=settings.thinking), ensure_ascii=False).encode("utf-8", "replace")
        began_s = self._clock.monotonic_s()
        held = self._meter.reserve(settings.model, settings.endpoint.shown, len(body), settings.max_tokens)
        try:
            answer = await self._http.request("POST", settings.endpoint.url, settings.endpoint.headers(settings.key), body,
                                              timeout_s=MODEL_TIMEOUT_S)
        except NetFailed as failed:
            if not failed.sent:
                self._meter.release(held)
            raise Refused("model_unreachable", address=settings.endpoint.shown, problem=failed.detail) from None
        if 400 <= answer.status < 500:
            self._meter.release(held)            # refused whole: nobody charges for that
        self._tell_usage(answer, len(body), len(entries), began_s, held)
        return answer

    def _tell_usage(self, answer: ClientResponse, request_bytes: int, messages: int, began_s: float, held: Hold) -> None:
        try:
            usage = self._wire.read_usage(answer.body)
        except Refused:
            return
        if answer.status < 400:
            self._meter.settle(held, usage)
        fields = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens,
                  "cachedInputTokens": usage.cached_input_tokens, "uncachedInputTokens": usage.uncached_input_tokens}
        self._emit("model-usage", durationMs=round((self._clock.monotonic_s() - began_s) * 1000), httpStatus=answer.status,
                   requestBytes=request_bytes, messageCount=messages,
                   **{name: value for name, value in fields.items() if value is not None})


def _error_words(answer: ClientResponse) -> str:
    """The message in an error body, or its text, on one bounded line."""
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return flat(answer.text()[:2000], SAID_CHARS_MAX)
    error = document.get("error") if isinstance(document, dict) else None
    words = error.get("message") if isinstance(error, dict) else error
    return flat(words if isinstance(words, str) else json.dumps(document, ensure_ascii=False)[:2000], SAID_CHARS_MAX)
