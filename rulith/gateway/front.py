"""The front: what every request passes before its room sees it, on each address the gateway listens at.

Three questions, answered from the head alone: is the address served here, was it meant for
this machine, and does its caller ask too often. Rooms check credentials; the front counts.

    /metrics               on loopback only
    everything else        everywhere; which credential opens a room where, the room says

Units   requests a second
Source  the design's rules for addresses off loopback (§5, §10)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.gateway.metrics import Metrics
from rulith.gateway.rates import Buckets
from rulith.net.loopback import is_foreign_host
from rulith.net.messages import Request, Response, StreamResponse, json_response

STRANGERS_PER_S, STRANGERS_BURST = 1.0, 60.0      # refused credentials of one address
OPEN_MAX = 256                                    # requests of one caller that wait at the same time


class Room(Protocol):
    def head_check(self, request: Request) -> Response | None: ...
    async def handle(self, request: Request) -> Response | StreamResponse: ...


class Front:
    """rooms       path prefix -> (name, room, whether it is served off loopback); a prefix without a final / stands for itself
    hosts          further names in Host that are this gateway's own, for a proxy in front
    home_page      where / leads
    failed         told of an exception that a room let out, before it goes on
    """

    def __init__(self, rooms: Mapping[str, tuple[str, Room, bool]], metrics: Metrics, clock: Clock, *, hosts: frozenset[str],
                 per_s: float, home_page: str, failed: Callable[[], None]) -> None:
        self._exact = {prefix: row for prefix, row in rooms.items() if not prefix.endswith("/")}
        self._below = {prefix: row for prefix, row in rooms.items() if prefix.endswith("/")}
        self._metrics = metrics
        self._clock = clock
        self._hosts = hosts
        self._home_page = home_page
        self._failed = failed
        self._callers = Buckets(per_s, 2 * per_s)
        self._strangers = Buckets(STRANGERS_PER_S, STRANGERS_BURST)
        self._open: dict[str, int] = {}

    def at(self, *, loopback: bool) -> Address:
        """The two hands that a server on such an address needs."""
        return Address(self, loopback)

    def room(self, path: str, loopback: bool) -> tuple[str, Room] | None:
        found = self._exact.get(path)
        if found is None:
            found = next((row for prefix, row in self._below.items() if path.startswith(prefix)), None)
        return found[:2] if found is not None and (loopback or found[2]) else None

    def head_check(self, request: Request, loopback: bool) -> Response | None:
        found = self.room(request.path, loopback)
        if found is None:
            if request.path in ("/", self._home_page.rstrip("/")):
                return Response(302, [("location", self._home_page)])
            return _told(404, "not_found", "There is no such address on this gateway.")
        name, room = found
        if loopback and is_foreign_host(request) and (request.headers.get("host") or "").lower() not in self._hosts:
            refusal = Refused("host_foreign", host=(request.headers.get("host") or "")[:80])
            return self._count(name, _told(403, refusal.code, refusal.teaching))
        now_s = self._clock.monotonic_s()
        refused = room.head_check(request)
        if refused is not None:
            if refused.status == 401:
                wait_s = self._strangers.take(request.peer, now_s)
                if wait_s:
                    return self._slow(name, "credential", wait_s)
            return self._count(name, refused)
        wait_s = self._callers.take(_caller(request), now_s)
        return self._slow(name, "rate", wait_s) if wait_s else None

    async def handle(self, request: Request, loopback: bool) -> Response | StreamResponse:
        found = self.room(request.path, loopback)
        assert found is not None, "the head check let an unknown address pass"
        (name, room), caller = found, _caller(request)
        waiting = self._open.get(caller, 0)
        if waiting >= OPEN_MAX:
            return self._slow(name, "open", 1.0)
        self._open[caller] = waiting + 1
        try:
            answer = await room.handle(request)
        except Exception:
            # The server answers 500 and prints the bug; what this turn staged must not stay half done.
            self._metrics.failed_inside()
            self._failed()
            raise
        finally:
            left = self._open[caller] - 1
            if left:
                self._open[caller] = left
            else:
                del self._open[caller]
        self._metrics.answered(name, answer.status)
        return answer

    def _count(self, name: str, answer: Response) -> Response:
        self._metrics.answered(name, answer.status)
        return answer

    def _slow(self, name: str, because: str, wait_s: float) -> Response:
        self._metrics.slowed(because)
        refusal = Refused("too_many_requests", seconds=max(1, math.ceil(wait_s)))
        answer = _told(429, refusal.code, refusal.teaching)
        answer.headers.append(("retry-after", str(refusal.facts["seconds"])))
        return self._count(name, answer)


class Address:
    """The front as one listening address sees it."""

    def __init__(self, front: Front, loopback: bool) -> None:
        self._front = front
        self._loopback = loopback

    def head_check(self, request: Request) -> Response | None:
        return self._front.head_check(request, self._loopback)

    async def handle(self, request: Request) -> Response | StreamResponse:
        return await self._front.handle(request, self._loopback)


def _caller(request: Request) -> str:
    """Whom this request is counted to: its credential as the room found it, else its address."""
    return request.found if isinstance(request.found, str) else request.peer


def _told(status: int, code: str, teaching: str) -> Response:
    return json_response(status, {"ok": False, "errorCode": code, "teaching": teaching})
