"""The wake socket as the watcher hears it: held open, opened again, and told as it comes.

Promises: a key that is not known ends the watching; a socket that ends in whatever way is
opened again, soon the first time, every five seconds after that. Never polls.

Units   *_s seconds
Source  the council surface, "Wake socket", "Watcher"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.net.client import HttpClient, NetFailed, UpgradeRefused
from rulith.net.websocket import WebSocket, connect
from rulith.watching import asking
from rulith.watching.asking import Outage
from rulith.watching.core import Event, KeyRefused
from rulith.watching.worklist import moved
from rulith.wire import council_client


async def open_socket(client: HttpClient, url: str, key: str) -> WebSocket:
    """The wake socket of the council at this /mcp address. Raises Refused: watch_unreachable, watch_key_refused, watch_answer."""
    address = council_client.socket_url(url)
    try:
        return await connect(client, address, {"authorization": f"Bearer {key}"}, timeout_s=asking.ANSWER_S)
    except UpgradeRefused as refused:
        if refused.answer.status == 401:
            raise Refused("watch_key_refused") from None
        raise Refused("watch_answer", problem=f"{address} gave status {refused.answer.status} and no socket") from None
    except NetFailed as failed:
        raise Refused("watch_unreachable", url=address, problem=failed.detail) from None


async def listen(socket: WebSocket, reopen: Callable, own_id: int | None, deliver: Callable[[Event], None], complain: Callable[[str], None], *, clock: Clock) -> None:
    """Tell what the socket tells, for ever; ends where the key is refused. `reopen` opens the next one, as `open_socket`."""
    outage = Outage(complain)
    short = 0                                          # sockets in a row that ended at once and told nothing
    while True:
        opened_s, is_heard = clock.monotonic_s(), False
        try:
            while (text := await socket.receive()) is not None:
                is_heard = True
                _tell(text, own_id, deliver)
        finally:
            socket.close()
        short = 0 if is_heard or clock.monotonic_s() - opened_s >= asking.RETRY_S else short + 1
        await asyncio.sleep(asking.FIRST_RETRY_S if short <= 1 else asking.RETRY_S)
        while True:
            try:
                socket = await reopen()
                break
            except Refused as refusal:
                if refusal.code == "watch_key_refused":
                    deliver(KeyRefused())
                    return
                await outage.failed(refusal)
        outage.over()


def _tell(text: str, own_id: int | None, deliver: Callable[[Event], None]) -> None:
    try:
        frame = read_json(text, "the frame")
    except Refused:
        return                                         # not of this protocol; what waits is told at the next opening
    work = moved(frame, own_id) if isinstance(frame, dict) else None
    if work is not None and work.threads:
        deliver(work)
