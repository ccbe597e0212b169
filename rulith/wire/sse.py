"""Server-sent events: bytes in, events out, and the way back. No sockets, no clock.

A line ends with LF, CR or CRLF and may be split anywhere, inside a character too. An
event ends at a blank line, or at the end of the stream. An event that only carries an
id moves the resume cursor, so it is handed out with empty data.

Source  WHATWG HTML "Server-sent events"; the MCP surface, "SSE reading rules".
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.limits import BODY_BYTES_MAX

_LINE_END = re.compile("\r\n|\r|\n")
RETRY_DIGITS_MAX = 9             # a longer wait than eleven days is a typing error


@dataclass(frozen=True)
class StreamEvent:
    data: str
    event: str = "message"
    id: str | None = None        # None: the event named no id; "" clears nothing for us
    retry_ms: int | None = None


class EventStream:
    """One stream, read from its first byte.

    `cursor` is the last non-empty id seen, also from events for other readers.
    """

    def __init__(self, *, event_bytes_max: int = BODY_BYTES_MAX) -> None:
        self.cursor: str | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._limit = event_bytes_max
        self._at_start = True
        self._after_cr = False
        self._partial: list[str] = []
        self._partial_chars = 0
        self._is_over = False                # an event passed the limit: nothing behind it is read
        self._clear()

    def _clear(self) -> None:
        self._data: list[str] = []
        self._event = ""
        self._id: str | None = None
        self._retry_ms: int | None = None
        self._has_field = False
        self._held = 0                       # of the event's data lines

    def receive(self, data: bytes) -> list[StreamEvent]:
        """Take any slice of the stream; return the events it completed, oldest first.

        Raises Refused stream_event_too_large when one event, or one line, passes the limit; events that were
        complete before it are returned first, and the next call raises.
        """
        return self._take(self._decode(data))

    def finish(self) -> list[StreamEvent]:
        """The stream ended: return the event that lacked its blank line, if there is one. Raises like receive()."""
        events = self._take(self._decode(b"", True))
        if self._is_over:
            return events                    # complete before what passed the limit
        if self._partial:
            self._line("".join(self._partial))
            self._partial = []
        last = self._dispatch()
        return events + ([last] if last else [])

    def _take(self, text: str) -> list[StreamEvent]:
        if text and self._at_start:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        if text and self._after_cr:
            self._after_cr = False
            text = text.removeprefix("\n")
        self._after_cr = self._after_cr or text.endswith("\r")
        events = []
        lines = _LINE_END.split(text)
        for line in lines[:-1] if not self._is_over else ():
            if self._partial:
                line = "".join(self._partial) + line
                self._partial, self._partial_chars = [], 0
            if line:
                self._line(line)
            elif event := self._dispatch():
                events.append(event)
            if self._is_over:
                break
        if lines[-1] and not self._is_over:
            self._partial.append(lines[-1])
            self._partial_chars += len(lines[-1])
            self._is_over = self._held + self._partial_chars > self._limit
        if self._is_over and not events:
            raise Refused("stream_event_too_large", limit=self._limit)
        return events

    def _line(self, line: str) -> None:
        if self._held + len(line) > self._limit:
            self._is_over = True             # as it would have been, had the line come in pieces
            return
        name, colon, value = line.partition(":")
        if colon and not name:
            return  # a comment keeps the connection warm and says nothing
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._held += len(line)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
            self.cursor = value or self.cursor
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= RETRY_DIGITS_MAX:
            self._retry_ms = int(value)
        else:
            return
        self._has_field = True

    def _dispatch(self) -> StreamEvent | None:
        event = None
        if self._data or self._id:
            event = StreamEvent("\n".join(self._data), self._event or "message", self._id, self._retry_ms)
        self._clear()
        return event


def encode_event(
    data: str, *, event: str | None = None, id: str | None = None, retry_ms: int | None = None
) -> bytes:
    """One event as bytes. `event` and `id` are names without line ends; `data` may hold any lines."""
    assert not any(_LINE_END.search(name) for name in (event, id) if name), "a name holds a line end"
    lines = []
    if event is not None:
        lines.append(f"event: {event}")
    if id is not None:
        lines.append(f"id: {id}")
    if retry_ms is not None:
        lines.append(f"retry: {retry_ms}")
    lines.extend(f"data: {line}" for line in _LINE_END.split(data))
    return ("\n".join(lines) + "\n\n").encode("utf-8")


def encode_comment(text: str = "") -> bytes:
    """A comment line; it keeps proxies from closing a quiet stream."""
    return f": {_LINE_END.sub(' ', text)}\n\n".encode("utf-8")
