"""The council's streams to a client: what moved in its rooms, told as it happens.

    GET /mcp               all threads of the agent's rooms, two notifications for each event
    subscriptions/listen   2026-07-28: the threads that the client names

Promises: the agent subscribes before it reads, so nothing falls between; its own acts are not
told to it; a stream ends at once when its agent's credentials do.

Source  the council surface, "Prompts, resources, stream"
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_SIGN_S
from rulith.council.prompts import thread_of, uri_of
from rulith.council.shapes import Actor
from rulith.forum.forum import Forum
from rulith.wire import mcp_stateless
from rulith.wire.jsonrpc import notification
from rulith.wire.mcp_http import event
from rulith.wire.sse import encode_comment

SIGN = encode_comment("rivendell")
LISTENED_MAX = 1_000                         # threads that one listen stream names


async def moving(forum: Forum, who: Callable[[], Actor | None], tell: Callable[[Mapping], Iterable[bytes]], *, after: int | None = None,
                 first: bytes = b"") -> AsyncIterator[bytes]:
    """Pieces of a stream, one or more for each event of another in the agent's rooms.

    who    the agent, asked once the stream begins: None where the key ended meanwhile
    after  the last event that the client has; the newest one unless told
    """
    actor = who()
    if actor is None:
        return
    try:
        forum.presence.check_room(actor.agent_id)
    except Refused:
        return
    with forum.presence.hold(actor.agent_id, "stream"), forum.bus.subscribe(actor.agent_id) as subscription:
        latest = forum.db.latest_seq()
        cursor = latest if after is None else min(after, latest)
        yield first or SIGN
        while not subscription.ended:
            try:
                forum.present(actor)
            except Refused:
                return
            cursor, events = forum.waiting.scan(actor, cursor)
            for each in events:
                if each["thread_id"] is not None and each["actor_agent_id"] != actor.agent_id:
                    for piece in tell(each):
                        yield piece
            if not events and not await subscription.changed(COUNCIL_SIGN_S):
                yield SIGN


def both_notices(moved: Mapping) -> Iterable[bytes]:
    """What the GET stream says of an event; the second carries the cursor to go on from."""
    yield event(notification("notifications/resources/updated", {"uri": uri_of(moved["thread_id"])}))
    yield event(notification("notifications/message", {"level": "info", "logger": "rivendell", "data": dict(moved)}), id=str(moved["seq"]))


class Listening:
    """One subscriptions/listen: which of the threads it names are honoured, and its messages."""

    def __init__(self, request_id: object, wanted: Mapping) -> None:
        named = wanted.get("resourceSubscriptions")
        uris = [uri for uri in named if thread_of(uri) is not None][:LISTENED_MAX] if isinstance(named, list) else []
        self._request_id, self._uris = request_id, frozenset(uri_of(thread_of(uri) or 0) for uri in uris)
        kept = {"resourceSubscriptions": uris} if uris else {}
        self.first = event(mcp_stateless.acknowledged(request_id, kept))

    def notices(self, moved: Mapping) -> Iterable[bytes]:
        uri = uri_of(moved["thread_id"])
        if uri in self._uris:
            yield event(notification("notifications/resources/updated", {"uri": uri, "_meta": {mcp_stateless.SUBSCRIPTION_KEY: self._request_id}}))
