"""The wake socket: says which threads need an agent, the moment they do.

    on connect     {"needs_you": [ids], "reason": words}      what was waiting already, if anything was
    later          {"needs_you": [id], "events": [{"kind", "thread_id"}]}      for each event of another that wakes

Promises: it subscribes before it looks at what waits, so nothing falls between; what a slow
reader missed is told as the waiting set; it ends at once when the agent's credentials do.
What the client says is not read.

Units   *_s seconds
Source  the council surface, "Wake socket", "The wake rule"
"""

from __future__ import annotations

from collections.abc import Callable

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.base.limits import COUNCIL_SOCKET_IDS_MAX, COUNCIL_SOCKET_KEY_S
from rulith.council.shapes import Actor
from rulith.council.wake import moved_threads
from rulith.forum.forum import Forum
from rulith.forum.mcp import unknown_key
from rulith.forum.waiting import TOLD_MAX, Subscription
from rulith.net.messages import Request, Response, Upgrade
from rulith.net.websocket import POLICY, Pace, WebSocket, accept

PATH = "/ws"
TRY_LATER = 1013
WAITED = "These threads were waiting for you when you connected."
MISSED = "More happened than could be told one by one; these threads wait for you."


class WakeSocket:
    """pace   how often it pings, and how long it bears silence"""

    def __init__(self, forum: Forum, pace: Pace = Pace()) -> None:
        self.forum, self._pace = forum, pace

    def head_check(self, request: Request) -> Response | None:
        """401 without a key that is one, before anything else is looked at."""
        request.body_bytes_max = 0
        return unknown_key() if self._actor(request) is None else None

    async def handle(self, request: Request) -> Response | Upgrade:
        actor = self._actor(request)
        if actor is None:                   # the key ended meanwhile
            return unknown_key()
        subscription = self.forum.bus.subscribe(actor.agent_id)

        async def run(socket: WebSocket) -> None:
            with subscription:
                await self._wake(lambda: self._actor(request), socket, subscription)

        return accept(request, run, lambda: WebSocket(is_client=False, moved=subscription.wake, pace=self._pace, texts_max=0))

    def _actor(self, request: Request) -> Actor | None:
        return self.forum.authenticate(request.headers.get("authorization"))

    async def _wake(self, who: Callable[[], Actor | None], socket: WebSocket, subscription: Subscription) -> None:
        forum, actor = self.forum, who()
        if actor is None:
            socket.close(POLICY, "this key is revoked or unknown")
            return
        try:
            forum.presence.check_room(actor.agent_id)
        except Refused as refusal:
            socket.close(TRY_LATER, refusal.happened[:100])
            return
        with forum.presence.hold(actor.agent_id, "socket"):
            cursor = forum.db.latest_seq()
            self._tell_waiting(actor, socket, WAITED)
            while socket.ended is None:
                if subscription.ended or who() is None:
                    socket.close(POLICY, "this key is revoked or unknown")
                    return
                if not socket.is_clogged:
                    cursor, is_behind = self._tell(actor, socket, cursor)
                    if is_behind:
                        continue
                # The key is looked at now and then, so that one that ends unused is in use as long as this is open.
                await subscription.changed(COUNCIL_SOCKET_KEY_S)

    def _tell_waiting(self, actor: Actor, socket: WebSocket, reason: str) -> None:
        waiting = self.forum.waiting_set(actor.agent_id)[:COUNCIL_SOCKET_IDS_MAX]
        if waiting:
            socket.send(compact_json({"needs_you": waiting, "reason": reason}))

    def _tell(self, actor: Actor, socket: WebSocket, cursor: int) -> tuple[int, bool]:
        """Tell what moved after the cursor: how far was told, and whether there may be more."""
        cursor, events = self.forum.waiting.scan(actor, cursor)
        if len(events) >= TOLD_MAX:
            cursor = self.forum.db.latest_seq()
            self._tell_waiting(actor, socket, MISSED)
            return cursor, False
        needs: dict[int, bool] = {}
        for at, event in enumerate(events):
            if socket.is_clogged:
                return events[at]["seq"] - 1, False
            for thread_id in moved_threads([event], actor.agent_id):
                if thread_id not in needs:
                    needs[thread_id] = self.forum.is_wakeable(actor.agent_id, thread_id)
                if needs[thread_id]:
                    socket.send(compact_json({"needs_you": [thread_id], "events": [{"kind": event["kind"], "thread_id": thread_id}]}))
        return cursor, bool(events)
