"""The model service: one question, one whole reply, in whichever dialect it speaks.

A request executes nothing, so a refusal that says what the service wants is answered by
asking again in that form, and remembered (`dialects/quirks.py`); so is one that says it
is too busy, a few times and after the pause it asks for. Every other error is an error,
and a reply that did not come to its end is none.

Units   *_s seconds
Source  the MCP surface, "Model transports"; the design, "Agent Runtime"
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import MODEL_BUSY_TRIES, MODEL_BUSY_WAIT_S, MODEL_HEAD_S, MODEL_REPLY_S, MODEL_SILENCE_S
from rulith.dialects import anthropic, emulated, openai, quirks
from rulith.dialects.endpoint import ANTHROPIC
from rulith.dialects.replies import THOUGHTS_BEGIN
from rulith.dialects.transcript import CallIds, Entry, Reply, Usage
from rulith.net.client import HttpClient, NetFailed
from rulith.runtime.budget import Meter, Unlimited
from rulith.runtime.events import Sink
from rulith.runtime.model_answers import SAID_CHARS_MAX, AnswerReader, Failure, ShownText
from rulith.runtime.quirk_memory import QuirkMemory
from rulith.runtime.settings import ModelSettings
from rulith.runtime.surface import Tool, flat

# What a model service can do to a turn: the conversation goes on afterwards.
MODEL_FAILURES = ("model_refused", "model_reply_unreadable", "model_unreachable", "model_broke_off", "model_too_long")


@dataclass(frozen=True)
class Patience:
    """How long a reply may take: to begin, between two pieces, in all."""

    head_s: float = MODEL_HEAD_S
    silence_s: float = MODEL_SILENCE_S
    reply_s: float = MODEL_REPLY_S


class ModelClient:
    """`meter` is asked before each request and told what it used; `memory` knows the service from earlier runs."""

    def __init__(self, http: HttpClient, settings: ModelSettings, *, clock: Clock, emit: Sink, meter: Meter = Unlimited(),
                 memory: QuirkMemory | None = None, patience: Patience = Patience(),
                 sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._http = http
        self._meter = meter
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._memory = memory or QuirkMemory(None, clock=clock)
        self._patience = patience
        self._sleep = sleep
        self._wire = anthropic if settings.endpoint.wire == ANTHROPIC else openai
        self._has_told = False

    @property
    def known(self) -> frozenset[str]:
        """What this service wants and does, as far as is known."""
        chosen = {quirks.TOOLS_AS_TEXT} if self._settings.emulated else set()
        return self._memory.known(self._settings.endpoint.shown, self._settings.model) | chosen

    async def ask(self, system: str, entries: Sequence[Entry], tools: Sequence[Tool], ids: CallIds,
                  figures: Mapping[str, int] | None = None) -> Reply:
        """The model's reply to `entries`. `figures` are told with its usage.

        Raises Refused: MODEL_FAILURES, and what the meter refuses.
        """
        if not self._has_told:
            self._has_told = True
            self._tell_card()
        rows = [tool.row() for tool in tools]
        tried: list[str] = []                # wishes of this question; remembered once they helped
        busy = 0
        while True:
            known = self.known
            for quirk in tried:
                known = quirks.with_quirk(known, quirk)
            heard = await self._send(system, entries, rows, ids, known, figures or {})
            if isinstance(heard, Reply) or heard.has_begun:
                for quirk in tried:
                    self._learn(quirk)
                tried = []
            if isinstance(heard, Reply):
                in_words = not heard.calls and quirks.TOOLS_AS_TEXT not in known and quirks.says_call_in_words(heard.text)
                for habit in sorted((heard.habits | ({"calls_as_words"} if in_words else set())) - known):
                    self._learn(habit)
                return heard
            quirk = _wish_of(heard, known | set(tried))
            if quirk is not None:
                tried.append(quirk)
            elif busy < MODEL_BUSY_TRIES and _is_busy(heard):
                await self._wait(heard, busy)
                busy += 1
            else:
                raise self._refusal(heard)

    def _refusal(self, heard: Failure) -> Refused:
        said = flat(heard.said, SAID_CHARS_MAX) or "without a word"
        if quirks.says_too_long(_status_of(heard), heard.said):
            return Refused("model_too_long", said=said)
        if heard.status == 200:
            self._learn("error_in_success")
            return Refused("model_broke_off", said=said)
        return Refused("model_refused", address=self._settings.endpoint.shown, status=heard.status, said=said)

    async def _wait(self, heard: Failure, tries: int) -> None:
        """Wait as long as the service asks for. Raises Refused model_refused when that is too long."""
        pause_s = heard.retry_after_s if heard.retry_after_s is not None else float(2 ** tries)
        if pause_s > MODEL_BUSY_WAIT_S:
            raise self._refusal(heard)
        self._learn("busy")
        self._emit("model-wait", message=f"The model service is busy; asking again in {pause_s:g} s.", seconds=pause_s)
        await self._sleep(pause_s)

    # what is known of the service

    def _learn(self, quirk: str) -> None:
        if quirk in self.known:
            return
        self._memory.learn(self._settings.endpoint.shown, self._settings.model, quirk)
        if quirk == quirks.TOOLS_AS_TEXT:
            self._emit("model-tools", mode="emulated")
        self._tell_card(quirk)

    def _tell_card(self, new: str = "") -> None:
        known = sorted(self.known)
        if known:
            self._emit("model-card", address=self._settings.endpoint.shown, model=self._settings.model,
                       **({"new": {"id": new, "words": quirks.WORDS[new]}} if new else {}),
                       quirks=[{"id": quirk, "words": quirks.WORDS[quirk]} for quirk in known])

    # one request

    async def _send(self, system: str, entries: Sequence[Entry], rows: list[dict], ids: CallIds, known: frozenset[str],
                    figures: Mapping[str, int]) -> Reply | Failure:
        settings = self._settings
        is_text = quirks.TOOLS_AS_TEXT in known
        body = self._body(system, entries, rows, known)
        began_s = self._clock.monotonic_s()
        held = self._meter.reserve(settings.model, settings.endpoint.shown, len(body), settings.max_tokens)
        shown = ShownText(lambda text: self._emit("model-delta", text=text), clock=self._clock,
                          holds=lambda text: text.lstrip().startswith(THOUGHTS_BEGIN[:len(text.lstrip())]) or (is_text and emulated.may_be_call(text)))
        reader = AnswerReader(self._wire, ids, max_tokens=settings.max_tokens, clock=self._clock, deadline_s=began_s + self._patience.reply_s,
                              shows=shown)
        begun = False
        try:
            async with self._http.stream("POST", settings.endpoint.url, settings.endpoint.headers(settings.key), body,
                                         timeout_s=self._patience.head_s, idle_s=self._patience.silence_s) as answer:
                begun = True
                heard = await reader.read(answer)
        except NetFailed as failed:
            if not failed.sent:
                self._meter.release(held)
            if begun:
                raise Refused("model_broke_off", said=failed.detail) from None
            raise Refused("model_unreachable", address=settings.endpoint.shown, problem=failed.detail) from None
        finally:
            shown.rest()
        shown.flush()
        if isinstance(heard, Failure):
            if 400 <= heard.status < 500 or _is_busy(heard):
                self._meter.release(held)        # refused whole: nobody charges for that
            self._tell_usage(Usage(), heard.status, len(body), entries, began_s, figures)
            return heard
        self._meter.settle(held, heard.usage)
        self._tell_usage(heard.usage, answer.status, len(body), entries, began_s, figures)
        if reader.wants_whole:
            self._learn(quirks.WHOLE_REPLIES)
        return emulated.read_call(heard, ids, max_tokens=settings.max_tokens) if is_text else heard

    def _body(self, system: str, entries: Sequence[Entry], rows: list[dict], known: frozenset[str]) -> bytes:
        settings = self._settings
        if quirks.TOOLS_AS_TEXT in known:
            system, entries, rows = emulated.system_with_tools(system, rows), emulated.as_plain(entries), []
        body = self._wire.request_body(
            model=settings.model, max_tokens=settings.max_tokens, system=system, entries=entries, tools=rows, thinking=settings.thinking,
            wants=known, streamed=quirks.WHOLE_REPLIES not in known)
        return encoded(body)

    def _tell_usage(self, usage: Usage, status: int, request_bytes: int, entries: Sequence[Entry], began_s: float,
                    figures: Mapping[str, int]) -> None:
        fields = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens,
                  "cachedInputTokens": usage.cached_input_tokens, "uncachedInputTokens": usage.uncached_input_tokens}
        self._emit("model-usage", durationMs=round((self._clock.monotonic_s() - began_s) * 1000), httpStatus=status,
                   requestBytes=request_bytes, messageCount=len(entries), **figures,
                   **{name: value for name, value in fields.items() if value is not None})


def _status_of(heard: Failure) -> int:
    """What the refusal amounts to: one inside an answer with status 200, before anything of a reply came, is one of the request."""
    return 400 if heard.status == 200 and not heard.has_begun else heard.status


def _wish_of(heard: Failure, known: frozenset[str]) -> str | None:
    if heard.status == 200:
        known |= {quirks.TOOLS_AS_TEXT}      # only a refusal of its own says that for certain
    return quirks.learned_from(_status_of(heard), heard.said, known)


def encoded(body: dict) -> bytes:
    """A request as bytes; letters as themselves, and no lone surrogate whatever a tool description holds."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _is_busy(heard: Failure) -> bool:
    if heard.status == 200:
        return not heard.has_begun and quirks.is_busy_error(heard.said)
    return quirks.says_busy(heard.status, heard.said)
