"""`rulith bridge`: a host's stdio on one side, the council's /mcp on the other.

Promises: every request is answered, by an error where the council gave none; many run at
once, each over a connection of its own, and one that is cancelled is cut, which ends its wait
there; nothing is sent twice; answers go out whole, one at a time. Once the host has shaken
hands, what moves in the council is pushed to it as a channel.

Units   *_s seconds
Source  the council surface, "Bridge and channel"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from rulith.base.errors import Refused
from rulith.base.limits import BODY_BYTES_MAX, BRIDGE_READ_S, BRIDGE_REQUESTS_MAX
from rulith.net.client import ClientStream, HttpClient, NetFailed
from rulith.wire import bridging, council_client, jsonrpc
from rulith.wire.bridging import Line
from rulith.wire.mcp_http import EVENTS
from rulith.wire.sse import EventStream

WAIT_S, MARGIN_S, GREETING_S = 45, 30.0, 10.0
RETRY_S, QUICK_S, PAUSE_S = 5.0, 0.5, 1.0
UNKNOWN = "The answer ended before it was whole; the call may have been received."
KEY_REFUSED = "The council does not know this key; it was rotated or revoked. Nothing more will come."


class Bridge:
    """write   takes whole lines for the host; raises OSError once it is gone
    say     a sentence for whoever looks at stderr
    """

    def __init__(self, client: HttpClient, url: str, key: str, *, write: Callable[[bytes], None], say: Callable[[str], None], retry_s: float = RETRY_S) -> None:
        self._client, self._url, self._key = client, url, key
        self._write, self._say, self._retry_s = write, say, retry_s
        self._cutter = bridging.Cutter()
        self._agreed: str | None = None
        self._own_id: int | None = None
        self._number = 0
        self._running: dict[asyncio.Task, Line] = {}
        self._answered: set[asyncio.Task | None] = set()      # those of them whose host awaits nothing more
        self._others: set[asyncio.Task] = set()
        self._has_channel = self._is_refused = False
        self.host_left = asyncio.Event()

    # --- from the host -------------------------------------------------------------------

    def start(self) -> None:
        """Say on stderr whom this speaks as, when the council answers."""
        self._beside(self._greet())

    def receive(self, data: bytes) -> None:
        """Take bytes of the host; answers follow by themselves."""
        for line in self._cutter.receive(data):
            self._take(line)

    def finish(self) -> None:
        """The host has closed its side; what it awaits is still answered, see `wait_answered`."""
        for line in self._cutter.finish():
            self._take(line)
        for task in self._others:
            task.cancel()

    async def wait_answered(self, timeout_s: float) -> None:
        """Return once nothing is awaited any more; what is after `timeout_s` is answered as unknown."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=timeout_s)
        for task, line in list(self._running.items()):
            if task.cancel() and task not in self._answered:
                self._answered.add(task)
                self._send(bridging.failed(line, UNKNOWN))

    async def close(self) -> None:
        tasks = {*self._running, *self._others}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _take(self, sent: bytes | None) -> None:
        line = bridging.read_line(sent, self._agreed)
        if isinstance(line, bytes):
            self._send(line)
        elif line.cancelled is not None and not self._is_in_batch(line.cancelled):
            self._cut(line.cancelled)       # passed on as is, it could end the wait of another client of this key that counts like this one
        elif len(self._running) >= BRIDGE_REQUESTS_MAX:
            self._send(bridging.failed(line, f"{BRIDGE_REQUESTS_MAX} requests wait already; nothing was sent."))
        else:
            task = asyncio.ensure_future(self._carry(line))
            self._running[task] = line
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task) -> None:
        self._running.pop(task, None)
        self._answered.discard(task)

    def _cut(self, request_id: object) -> None:
        """End the request of this id, if it runs, with its connection; the host awaits no answer."""
        for task, line in self._running.items():
            if any(jsonrpc.same_id(request_id, each) for each in line.awaited):
                task.cancel()

    def _is_in_batch(self, request_id: object) -> bool:
        return any(line.is_batch and any(jsonrpc.same_id(request_id, each) for each in line.awaited) for line in self._running.values())

    # --- one request ---------------------------------------------------------------------

    async def _carry(self, line: Line) -> None:
        """POST the line; give back what comes of it."""
        # A kept connection that closes as it is used would leave open whether the call arrived.
        headers = {**(line.headers or {}), "authorization": f"Bearer {self._key}", "connection": "close"}
        try:
            async with self._client.stream("POST", self._url, headers, line.body, timeout_s=BRIDGE_READ_S, idle_s=BRIDGE_READ_S) as answer:
                kind = answer.headers.get("content-type") or ""
                if answer.status == 401:
                    self._key_refused()
                if answer.status == 200 and kind.partition(";")[0].strip().lower() == EVENTS:
                    await self._events(line, answer)
                else:
                    body = await answer.read(BODY_BYTES_MAX)
                    self._give(bridging.whole(line, answer.status, kind, body))
            self._fail(line, UNKNOWN)
        except NetFailed as failed:
            self._fail(line, str(failed))
        except Refused as refusal:
            self._fail(line, refusal.happened)

    def _fail(self, line: Line, words: str) -> None:
        """Answer the line that runs here with an error, unless its answer came."""
        if asyncio.current_task() not in self._answered:
            self._send(bridging.failed(line, words))

    async def _events(self, line: Line, answer: ClientStream) -> None:
        """Pass a stream's messages on as they come."""
        stream = EventStream(event_bytes_max=BODY_BYTES_MAX)
        async for chunk in answer:
            for event in stream.receive(chunk):
                self._event(line, event.data)
        for event in stream.finish():
            self._event(line, event.data)

    def _event(self, line: Line, data: str) -> None:
        if data.strip():
            self._give(bridging.streamed(line, data))

    def _give(self, back: bridging.Back) -> None:
        if back.is_answer:
            self._answered.add(asyncio.current_task())
        self._send(back.line)
        if back.agreed is not None:
            self._agreed = back.agreed
            if not self._has_channel:
                self._has_channel = True
                self._beside(self._channel())

    # --- the channel ---------------------------------------------------------------------

    async def _greet(self) -> None:
        try:
            told = await self._tool("whoami", {}, GREETING_S)
        except Refused as refusal:
            if not self._is_refused:
                self._say(refusal.happened)
            return
        self._own_id = told["agent_id"] if isinstance(told.get("agent_id"), int) else None
        rooms = told.get("rooms")
        names = [f"#{room.get('name')}" for room in rooms if isinstance(room, dict)] if isinstance(rooms, list) else []
        self._say(f"Speaks as {told.get('name')} of {told.get('project')} in {', '.join(names) or 'no room yet'}.")

    async def _channel(self) -> None:
        """Push what needs the agent, for ever; a push consumes nothing, for a host may lose it."""
        cursor: int | None = None
        arguments: dict[str, object] = {"timeout_s": 1, "watcher": True, "catch_up": True}
        loop, is_failing = asyncio.get_running_loop(), False
        while not self._is_refused:
            began_s = loop.time()
            try:
                told = await self._tool("wait_for_updates", arguments, WAIT_S + MARGIN_S)
            except Refused as refusal:
                if not is_failing and not self._is_refused:
                    self._say(f"{refusal.happened} Trying again every {self._retry_s:g} s.")
                is_failing = True
                await asyncio.sleep(self._retry_s)
                continue
            if is_failing:
                self._say("The council answers again.")
                is_failing = False
            lines = bridging.pushes(told, self._own_id)
            for line in lines:
                self._send(line)
            following = told.get("next_cursor")
            following = following if isinstance(following, int) and not isinstance(following, bool) else cursor
            # A cursor that went back is a council brought back from a copy: what waits there is asked for anew.
            catch_up = {"catch_up": True} if following is None or cursor is not None and following < cursor else {}
            cursor = following
            arguments = {**({} if cursor is None else {"cursor": cursor}), "timeout_s": WAIT_S, "watcher": True, **catch_up}
            if not lines and loop.time() - began_s < QUICK_S:
                await asyncio.sleep(PAUSE_S)

    async def _tool(self, name: str, arguments: Mapping[str, object], timeout_s: float) -> dict[str, object]:
        """Raises Refused watch_…"""
        self._number += 1
        number = self._number
        headers = {**council_client.headers(self._key), "connection": "close"}
        try:
            answer = await self._client.request("POST", self._url, headers, council_client.tool_call(number, name, arguments), timeout_s=timeout_s)
        except NetFailed as failed:
            raise Refused("watch_unreachable", url=self._url, problem=failed.detail) from None
        if answer.status == 401:
            self._key_refused()
        return council_client.judge(answer.status, answer.headers.get("content-type") or "", answer.body, number)

    # --- small things --------------------------------------------------------------------

    def _key_refused(self) -> None:
        if not self._is_refused:
            self._is_refused = True
            self._say(KEY_REFUSED)

    def _beside(self, work) -> None:
        task = asyncio.ensure_future(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    def _send(self, line: bytes) -> None:
        if not line or self.host_left.is_set():
            return
        try:
            self._write(line)
        except OSError:
            self.host_left.set()

