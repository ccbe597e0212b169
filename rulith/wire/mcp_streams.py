"""What an MCP session may be told a second time: its answer streams, numbered, kept within bounds.

Every event has the id `STREAM.EVENT`. After a cut, a cursor asks for what followed it: the
rest of its own stream, or, where that one was read to its end, the streams begun since. A
progress event gives way to the next one, so a held call's stream is at most an opening, one
progress and an answer. Knows no socket and no clock; a reader parks on `waiters`.

Units   every bound is a count.
Source  the MCP surface, §§1, 1.2; MCP 2025-11-25, "Resumability and redelivery".
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable

from rulith.wire import jsonrpc
from rulith.wire.sse import encode_event

STREAMS_KEPT_MAX = 16           # ended streams of one session that a cursor still reaches; calls come one by one
_CURSOR = re.compile(r"([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})", re.ASCII)


class AnswerStream:
    """The events of one answer, for whoever reads them and however often.

    readers   for each connection that reads it: whether it has gone
    waiters   futures that the next event resolves
    """

    def __init__(self, number: int, request_id: object = None) -> None:
        self.number = number
        self.request_id = request_id
        self.is_ended = False
        self.readers: list[Callable[[], bool]] = []
        self.waiters: list = []
        self._count = 0
        self._events: list[tuple[int, dict | None]] = []
        self._ends_in_progress = False
        self._retry_ms: int | None = None

    def open(self, retry_ms: int) -> None:
        """An event without a message: its id lets a client resume before anything was said, and it says after what pause."""
        self._retry_ms = retry_ms
        self._add(None)

    def progress(self, message: dict) -> None:
        if self._ends_in_progress:
            self._events.pop()
        self._add(message)
        self._ends_in_progress = True

    def say(self, message: dict) -> None:
        """Another message on the way to the answer, kept as it is."""
        self._add(message)

    def end(self, message: dict) -> None:
        """The last message: the answer, or the error in its place."""
        self.is_ended = True
        self._add(message)

    def _add(self, message: dict | None) -> None:
        self._count += 1
        self._ends_in_progress = False
        self._events.append((self._count, message))
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def after(self, count: int) -> list[tuple[int, dict | None]]:
        """What came after the event of this number, oldest first."""
        return [(number, message) for number, message in self._events if number > count]

    @property
    def last(self) -> int:
        return self._count

    def encode(self, number: int, message: dict | None) -> bytes:
        event_id = f"{self.number}.{number}"
        if message is None:
            return encode_event("", id=event_id, retry_ms=self._retry_ms)
        return encode_event(jsonrpc.encode_text(message), event="message", id=event_id)


class AnswerStreams:
    """The streams of one session, newest last."""

    def __init__(self) -> None:
        self._streams: OrderedDict[int, AnswerStream] = OrderedDict()
        self._count = 0

    def begin(self, request_id: object = None) -> AnswerStream:
        self._count += 1
        stream = self._streams[self._count] = AnswerStream(self._count, request_id)
        while len(self._streams) > STREAMS_KEPT_MAX:
            oldest = next((number for number, kept in self._streams.items() if kept.is_ended), None)
            if oldest is None:
                break
            del self._streams[oldest]
        return stream

    def after(self, cursor: str) -> list[tuple[AnswerStream, int]]:
        """The streams that a resumed reader gets, each with the event to go on after; none where nothing follows."""
        found = _CURSOR.fullmatch(cursor)
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        stream = self._streams.get(number)
        if stream is None or count > stream.last:
            return []
        if not stream.is_ended or count < stream.last:
            return [(stream, count)]
        return [(later, 0) for later in self._streams.values() if later.number > number]
