"""The event feed: one numbered row after another, kept for a while, read from any point on.

Promises that a reader who names the last row it saw gets every later row or is told of the
gap. Knows nothing of what rows mean.

Units   a sequence is an int that only grows, per run of the workbench
Source  the workbench surface, "events"
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from rulith.base.clock import Clock, stamp
from rulith.base.ids import mint_uuid
from rulith.base.limits import FEED_ROWS_KEPT, FEED_ROWS_MAX, FEED_SIGN_OF_LIFE_S
from rulith.net.link import within


class Feed:
    """Rows `{sequence, t, src, type, instanceId, …}` and whoever waits for the next."""

    def __init__(self, clock: Clock) -> None:
        self.server_id = mint_uuid()
        self.sequence = 0
        self.closed = False
        self._clock = clock
        self._rows: list[dict[str, object]] = []
        self._more = asyncio.Event()

    def put(self, kind: str, *, src: str = "local", instance: str | None = None, **fields: object) -> dict[str, object]:
        """Add one row and wake the readers. `fields` never holds a secret: every open page gets it."""
        self.sequence += 1
        row = {**fields, "sequence": self.sequence, "t": stamp(self._clock.wall_s()),
               "src": src, "type": kind, "instanceId": instance}
        self._rows.append(row)
        if len(self._rows) > FEED_ROWS_MAX:
            del self._rows[:-FEED_ROWS_KEPT]
        self._wake()
        return row

    def close(self) -> None:
        """End every reader after the rows there are."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    def rows(self, after: int = 0, *, instance: str | None = None, limit: int | None = None) -> list[dict[str, object]]:
        """Rows later than `after`, oldest first; of one instance, and only the newest `limit`, where asked."""
        oldest = self._rows[0]["sequence"] if self._rows else 0
        found = self._rows[max(0, after + 1 - oldest):]      # numbered without a hole
        if instance is not None:
            found = [row for row in found if row["instanceId"] == instance]
        return found if limit is None else found[-limit:]

    def has_gap(self, after: int) -> bool:
        """Whether rows later than `after` are no longer here, or `after` is of another run."""
        oldest = self._rows[0]["sequence"] if self._rows else self.sequence + 1
        return after > self.sequence or after + 1 < oldest

    async def stream(self, after: int, wait_s: float | None = None) -> AsyncIterator[bytes]:
        """Rows later than `after` as server-sent events, then each new one as it comes, without end.

        The first event is `hello`: which run answers, from which row on, and whether any were missed; another
        one comes where rows were let go before this reader took them.
        With `wait_s` it ends after the next rows, or when none came for so long.
        """
        greets, seen = True, after
        while True:
            more = self._more
            if (gap := self.has_gap(seen)) or greets:
                greets, seen = False, self.sequence if gap else seen
                yield _event({"type": "hello", "serverId": self.server_id, "from": seen, "gap": gap}, seen)
                continue
            rows = self.rows(seen)
            if rows:
                seen = rows[-1]["sequence"]
                yield b"".join(_event(row, row["sequence"]) for row in rows)
                if wait_s is not None:
                    return
                continue
            if self.closed or wait_s == 0:
                return
            try:
                await within(FEED_SIGN_OF_LIFE_S if wait_s is None else wait_s, more.wait())
            except asyncio.TimeoutError:
                if wait_s is not None:
                    return
                yield b":\n\n"


def _event(row: dict[str, object], sequence: int) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return f"id: {sequence}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")
