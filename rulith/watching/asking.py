"""The council over HTTP, as the watcher asks it: who we are, and what moved.

Promises: a key that is not known ends the watching, every other failure is tried again; a
failing council is asked every five seconds, one that answers at once with nothing once a
second, and one that always has something to tell five times a second.

Units   *_s seconds
Source  the council surface, "Watcher", "wait_for_updates", "Wake socket"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import WATCH_ANSWER_BYTES_MAX
from rulith.net.client import HttpClient, NetFailed
from rulith.watching.core import Event, KeyRefused
from rulith.watching.worklist import is_number, moved
from rulith.wire import council_client

RETRY_S, FIRST_RETRY_S = 5.0, 0.2        # the first try after a failure comes soon: a cut may be a revocation or a restart
QUICK_S, PAUSE_S = 0.5, 1.0              # an answer that came within QUICK_S and told nothing is followed by a pause
BUSY_FREE, BUSY_PAUSE_S = 3, 0.2         # so many quick answers that told something are not; the pause then is shorter than a burst's silence
ANSWER_S, MARGIN_S = 30.0, 30.0          # for an answer at once; beyond what a poll was asked to wait


@dataclass(frozen=True)
class Identity:
    """agent_id   None where the council does not say"""

    agent_id: int | None
    name: str


class Asking:
    """One council, one key."""

    def __init__(self, client: HttpClient, url: str, key: str) -> None:
        self._client, self._url, self._key = client, url, key
        self._number = 0

    async def tool(self, name: str, arguments: Mapping[str, object], timeout_s: float = ANSWER_S) -> dict[str, object]:
        """Raises Refused: watch_unreachable, watch_key_refused, watch_said, watch_answer."""
        self._number += 1
        try:
            answer = await self._client.request("POST", self._url, council_client.headers(self._key), council_client.tool_call(self._number, name, arguments),
                                                timeout_s=timeout_s, body_bytes_max=WATCH_ANSWER_BYTES_MAX)
        except NetFailed as failed:
            raise Refused("watch_unreachable", url=self._url, problem=failed.detail) from None
        return council_client.judge(answer.status, answer.headers.get("content-type") or "", answer.body, self._number)

    async def whoami(self) -> Identity:
        told = await self.tool("whoami", {})
        agent_id, name = told.get("agent_id"), told.get("name")
        return Identity(agent_id if is_number(agent_id) else None, name if isinstance(name, str) else "")

    async def wait(self, cursor: int | None, timeout_s: int, *, catch_up: bool) -> dict[str, object]:
        arguments: dict[str, object] = {"timeout_s": timeout_s, "watcher": True}
        if cursor is not None:
            arguments["cursor"] = cursor
        if catch_up:
            arguments["catch_up"] = True
        return await self.tool("wait_for_updates", arguments, timeout_s + MARGIN_S)


class Outage:
    """A stretch of failures: told once at its beginning and once at its end."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._failures = 0

    async def failed(self, refusal: Refused) -> None:
        """Say so, the first time, and wait until the next try."""
        self._failures += 1
        if self._failures == 2:                        # the first one is tried again at once and may have been nothing
            self._complain(f"{refusal.happened}. Trying again every {RETRY_S:g} s.")
        await asyncio.sleep(RETRY_S if self._failures > 1 else FIRST_RETRY_S)

    def over(self) -> None:
        if self._failures > 1:
            self._complain("The council answers again.")
        self._failures = 0


async def poll(asking: Asking, own_id: int | None, deliver: Callable[[Event], None], complain: Callable[[str], None], *, wait_s: int, clock: Clock) -> None:
    """Tell what moves, for ever; ends where the key is refused. The first poll tells what was waiting already."""
    outage = Outage(complain)
    cursor: int | None = None
    timeout_s, catch_up, busy = 1, True, 0
    while True:
        began_s = clock.monotonic_s()
        try:
            answer = await asking.wait(cursor, timeout_s, catch_up=catch_up)
        except Refused as refusal:
            if refusal.code == "watch_key_refused":
                deliver(KeyRefused())
                return
            await outage.failed(refusal)
            continue
        outage.over()
        following = answer.get("next_cursor")
        has_moved = is_number(following) and following != cursor
        # A cursor that went back is a council brought back from a copy: what waits there is asked for anew.
        catch_up = cursor is not None and is_number(following) and following < cursor
        cursor = following if is_number(following) else cursor
        work = moved(answer, own_id)
        if work.threads:
            deliver(work)
        is_quick = clock.monotonic_s() - began_s < QUICK_S
        busy = busy + 1 if is_quick and (has_moved or work.threads) else 0
        if is_quick and (not busy or busy > BUSY_FREE):
            await asyncio.sleep(BUSY_PAUSE_S if busy else PAUSE_S)
        timeout_s = wait_s
