"""A model service's answer, read from its bytes: a whole reply, a stream of pieces, or an error.

What comes decides, not what was asked for or what its header claims: a body that begins
with a bracket is whole, one that begins with an event field is a stream. A stream that
ends without saying that it is complete is no reply.

Units   *_s seconds
Source  the surface, "Model transports"; the design, "streamed model text"
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import ModuleType

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import MODEL_REPLY_BYTES_MAX
from rulith.dialects.replies import error_words, parse
from rulith.dialects.transcript import CallIds, Reply
from rulith.net.client import ClientStream, NetFailed
from rulith.net.link import within
from rulith.runtime.surface import flat
from rulith.wire.sse import EventStream

SAID_CHARS_MAX = 300
ERROR_BYTES_MAX = 65_536
TAIL_S = 0.25                    # for the rest of a stream that said it is over, so that its connection can be kept
_FIELDS = (b"data", b"event", b"id", b"retry", b":")


@dataclass(frozen=True)
class Failure:
    """No reply: the service refused, or failed inside an answer that had begun well (status 200).

    has_begun   a part of the reply had come: asking again is not harmless to whoever reads along
    """

    status: int
    said: str
    retry_after_s: float | None = None
    has_begun: bool = False


class AnswerReader:
    """Reads one answer. `shows` gets the text as it comes; what it was shown is no reply until the end."""

    def __init__(self, wire: ModuleType, ids: CallIds, *, max_tokens: int, clock: Clock, deadline_s: float, shows: Callable[[str], None]) -> None:
        self._wire = wire
        self._ids = ids
        self._max_tokens = max_tokens
        self._clock = clock
        self._deadline_s = deadline_s
        self._shows = shows
        self.wants_whole = False         # the stream's calls could not be put together

    async def read(self, answer: ClientStream) -> Reply | Failure:
        """Raises Refused model_broke_off, model_reply_unreadable; NetFailed."""
        if not 200 <= answer.status < 300:
            return Failure(answer.status, flat(await _error_text(answer), SAID_CHARS_MAX * 4), _retry_after_s(answer.headers.get("retry-after")))
        chunks = self._bounded(answer)
        head = b""
        async for chunk in chunks:
            head += chunk
            begun = head.lstrip(b"\xef\xbb\xbf \t\r\n")
            if len(begun) >= 8 or begun[:1] in (b"{", b"["):
                break
        begun = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if begun.startswith(_FIELDS):
            return await self._stream(head, chunks)
        parts = [head]
        async for chunk in chunks:
            parts.append(chunk)
        return self._whole(b"".join(parts))

    async def _bounded(self, answer: ClientStream) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in answer:
            size += len(chunk)
            if size > MODEL_REPLY_BYTES_MAX:
                raise Refused("model_broke_off", said=f"it is over {MODEL_REPLY_BYTES_MAX} bytes")
            if self._clock.monotonic_s() > self._deadline_s:
                raise Refused("model_broke_off", said="it took too long")
            yield chunk

    def _whole(self, body: bytes) -> Reply | Failure:
        try:
            return self._wire.read_reply(body, self._ids, max_tokens=self._max_tokens)
        except Refused as refusal:
            if refusal.code != "model_broke_off":
                raise
            return Failure(200, flat(refusal.facts["said"], SAID_CHARS_MAX))

    async def _stream(self, head: bytes, chunks: AsyncIterator[bytes]) -> Reply | Failure:
        events, reply = EventStream(event_bytes_max=MODEL_REPLY_BYTES_MAX), self._wire.stream()
        self._take(reply, events.receive(head))
        try:
            while not reply.is_over and not reply.failure:
                self._take(reply, events.receive(await chunks.__anext__()))
            if reply.is_over:
                await within(TAIL_S, chunks.__anext__())
        except StopAsyncIteration:
            self._take(reply, events.finish())
        except (NetFailed, asyncio.TimeoutError) as failed:
            if not reply.is_ended:
                detail = failed.detail if isinstance(failed, NetFailed) else "it stopped coming"
                raise Refused("model_broke_off", said=flat(detail, SAID_CHARS_MAX)) from None
        if reply.failure:
            return Failure(200, flat(reply.failure, SAID_CHARS_MAX), has_begun=reply.has_begun)
        if not reply.is_ended:
            raise Refused("model_broke_off", said="the stream ended before the reply was complete")
        return self._put_together(reply)

    def _put_together(self, reply) -> Reply | Failure:
        document, digits = reply.document()
        self.wants_whole = reply.wants_whole
        try:
            read = self._wire.read_document(document, self._ids, digits, max_tokens=self._max_tokens, is_whole=reply.is_whole)
        except Refused as refusal:
            if refusal.code != "model_broke_off":
                raise
            return Failure(200, flat(refusal.facts["said"], SAID_CHARS_MAX), has_begun=reply.has_begun)
        return _with_habits(read, reply.habits | (set() if reply.is_whole else {"no_end_mark"}))

    def _take(self, reply, events: list) -> None:
        for event in events:
            if added := reply.take(event.data, event.event):
                self._shows(added)


def _with_habits(reply: Reply, more: set[str]) -> Reply:
    return Reply(reply.text, reply.calls, reply.carry, reply.stop, reply.usage, reply.habits | more)


async def _error_text(answer: ClientStream) -> str:
    """The message in an error body, or its text; as much as came."""
    body = b""
    try:
        async for chunk in answer:
            body += chunk
            if len(body) > ERROR_BYTES_MAX:
                break
    except NetFailed:
        pass                             # its status says enough
    try:
        document = parse(body)
    except ValueError:
        return body[:4000].decode("utf-8", "replace")
    if isinstance(document, list) and document:          # some services wrap the object
        document = document[0]
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and not isinstance(error.get("message"), str):
        error = None
    words = error.get("message") if isinstance(error, dict) else error
    if isinstance(words, str) and words:
        more = error_words(error) if isinstance(error, dict) else words
        return words if words in more else f"{more}: {words}"
    return json.dumps(document, ensure_ascii=False)[:4000]


def _retry_after_s(text: str | None) -> float | None:
    """Whole or broken seconds; a date says nothing to a clock that may be wrong."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None


class ShownText:
    """Text of a reply on its way to whoever reads along: gathered a little, and none of what may turn out to be a call or a thought.

    The first words are shown at once, later ones within `every_s`, whether or not more come. Needs a running loop.
    """

    def __init__(self, show: Callable[[str], None], *, clock: Clock, holds: Callable[[str], bool], every_s: float = 0.1) -> None:
        self._show = show
        self._clock = clock
        self._holds = holds              # whether a text that begins like this is not to be shown yet
        self._every_s = every_s
        self._waiting: list[str] = []
        self._is_held = True
        self._shown_s = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, added: str) -> None:
        self._waiting.append(added)
        if self._is_held:
            begun = "".join(self._waiting)[:4000] if len(self._waiting) < 4000 else ""
            if len(self._waiting) >= 4000 or self._holds(begun):
                return
            self._is_held = False
        left_s = self._shown_s + self._every_s - self._clock.monotonic_s()
        if left_s <= 0:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left_s, self.flush)

    def flush(self) -> None:
        """Show what is gathered."""
        self.rest()
        if self._waiting and not self._is_held:
            self._shown_s = self._clock.monotonic_s()
            self._show("".join(self._waiting))
            self._waiting = []

    def rest(self) -> None:
        """Show nothing more by itself: the reply has ended, or broke off."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
