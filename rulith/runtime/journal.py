"""What a service has told: the latest events, for whoever listens now or comes later.

A listener who falls behind what is kept is told how many events it missed; it never holds
anybody up.

Units   `t` is a UTC stamp
Source  the MCP surface, "HTTP service"
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from rulith.base.clock import Clock, stamp
from rulith.base.limits import FEED_ROWS_KEPT, FEED_ROWS_MAX, FEED_SIGN_OF_LIFE_S
from rulith.net.link import within


class Journal:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: list[bytes] = []
        self._dropped = 0                # events that were told and are no longer here
        self._closed = False
        self._more = asyncio.Event()

    def put(self, type_: str, **fields: object) -> None:
        row = {"t": stamp(self._clock.wall_s()), "type": type_, **fields}
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str)
        self._rows.append(f"data: {text}\n\n".encode("utf-8", "backslashreplace"))
        if len(self._rows) > FEED_ROWS_MAX:
            self._dropped += len(self._rows) - FEED_ROWS_KEPT
            del self._rows[:-FEED_ROWS_KEPT]
        self._wake()

    def close(self) -> None:
        """End every listener after what there is."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    async def follow(self) -> AsyncIterator[bytes]:
        """Everything kept, then each new event, as server-sent events, until the service ends."""
        seen = self._dropped
        while True:
            more = self._more
            if seen < self._dropped:
                yield f'data: {{"type":"loss","omitted":{self._dropped - seen}}}\n\n'.encode()
                seen = self._dropped
            rows = self._rows[seen - self._dropped:]
            if rows:
                seen += len(rows)
                yield b"".join(rows)
                continue
            if self._closed:
                return
            try:
                await within(FEED_SIGN_OF_LIFE_S, more.wait())
            except asyncio.TimeoutError:
                yield b":\n\n"
