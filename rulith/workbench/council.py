"""The council of this home: a role started when it is first wanted, and the person's API passed through to the page.

A council that this home has used starts with the workbench, since agents wait at its port;
another starts with the first act a page asks for. One that was started by hand is used as it
is. The key of its API is read from its run file, kept here, and never sent to a page.

Units   *_s seconds
Source  the council surface, "Parts and surfaces", "The person's side"; the design's rules on roles (D8, D11)
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.net.client import ClientResponse, HttpClient, NetFailed
from rulith.net.link import within
from rulith.net.messages import Request, Response, json_response
from rulith.workbench.feed import Feed
from rulith.workbench.roles import Child, Event, Role
from rulith.workbench.supervision import Is

API, OPERATION = "/council/api/", "/council/role"
HOST = "127.0.0.1"
ACT = re.compile(r"[a-z_]{1,40}", re.ASCII)
READ = re.compile(r"(list|get|read|search|needs|wait|events|server|project_stats|calibration|file|git|awake_status|thread_rows)(_[a-z_]+)?", re.ASCII)
TRIES = 3                    # where nothing was sent, where the key was of an earlier run, and of what changes nothing
REFUSED_EXITS = (2, 4)       # wrong options, a damaged or newer file: a new try meets the same
START_S = 45.0               # its file is checked before it listens
ACT_S, WATCH_S = 90.0, 60    # an act may read a large folder; a wait is the council's longest
RETRY_S = 0.5
TOLD = ("seq", "kind", "room_id", "thread_id", "actor_agent_id")
NO_STORE = [("cache-control", "no-store")]
Spawn = Callable[..., Awaitable[Child]]


class CouncilRole:
    """Its process, its address and the line to it. `tell` is given each event of its life."""

    def __init__(self, home: Home, client: HttpClient, clock: Clock, spawn: Spawn, feed: Feed, *, on_change: Callable[[], None],
                 tell: Callable[[Event], None]) -> None:
        self.home, self.url = home, ""
        self._client, self._clock, self._spawn, self._feed, self._on_change, self._tell = client, clock, spawn, feed, on_change, tell
        self._key, self._port, self._found_since = "", 0, ""
        self._stopped, self._closing = False, False
        self._moved = asyncio.Event()
        self.role = Role("council", self._launch, clock, ready_on=("listening",), on_event=self._event, on_change=self._changed, refused=REFUSED_EXITS)

    # --- its life

    def begin(self) -> None:
        """Find the home's council, or start it where it has been used before."""
        if not self._take(read_live(self.home.council_json)) and (self.home.council / "council.db").exists():
            self.role.start()

    def start(self) -> None:
        self._stopped = False
        if not self.url and not self._take(read_live(self.home.council_json)):
            self.role.start()

    def stop(self) -> None:
        """End our own; one that was started by hand is not ours to end."""
        if self._found_since:
            raise Refused("council_not_ours")
        self._stopped = True
        self.role.stop()

    async def close(self, grace_s: float) -> None:
        self._closing = True
        await self.role.close(grace_s)

    async def _launch(self, on_event: Callable[[Event], None]) -> Child:
        args = ["serve", "--home", str(self.home.path)]
        if self._port and self.role.failures == 1:
            args += ["--port", str(self._port)]          # where its agents look
        return await self._spawn("council", env={"RULITH_HOME": str(self.home.path)}, args=args, log_path=self.home.logs / "council.log", on_event=on_event)

    def _event(self, event: Event) -> None:
        if event.get("type") == "listening":
            self._take(read_live(self.home.council_json), is_ours=True)
        elif event.get("type") == "exit":
            self._lose()
            if not self._closing and not self._stopped and self._take(read_live(self.home.council_json)):
                self.role.stop()                         # another of this home was there first
        self._tell(event)

    def _take(self, live: dict | None, *, is_ours: bool = False) -> bool:
        """Use the council that the run file names; whether it names one."""
        port, key = (live or {}).get("port"), (live or {}).get("key")
        if not isinstance(port, int) or not isinstance(key, str):
            return False
        self.url, self._key, self._port = f"http://{HOST}:{port}", key, port       # the key goes nowhere but to this machine
        self._found_since = "" if is_ours else stamp(self._clock.wall_s())
        self._changed()
        return True

    def _lose(self) -> None:
        self.url = self._key = self._found_since = ""
        self._changed()

    def _changed(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
        self._on_change()

    def row(self) -> dict[str, object]:
        """As the page reads it."""
        row = self.role.row()
        if self._found_since:
            row.update(state=Is.ONLINE.value, since=self._found_since, detail="")
        return {**row, "owned": not self._found_since, "url": self.url}

    # --- asking it

    async def pass_through(self, request: Request) -> Response:
        """The council's answer to one act of the person. Raises Refused: route_unknown, council_not_ready, council_unanswered."""
        name = request.path[len(API):]
        if not ACT.fullmatch(name):
            raise Refused("route_unknown", method=request.method, path=request.path[:100])
        answer = await self._ask(name, request.body)
        return Response(answer.status, [("content-type", "application/json"), *NO_STORE], answer.body)

    async def _ask(self, name: str, body: bytes) -> ClientResponse:
        for _ in range(TRIES):
            await self._reached()
            url, key = self.url, self._key
            try:
                answer = await self._client.request("POST", f"{url}/api/{name}", {"authorization": f"Bearer {key}", "content-type": "application/json"},
                                                    body, timeout_s=ACT_S)
            except NetFailed as problem:
                self._missed(url)
                if problem.sent and not READ.fullmatch(name):
                    raise Refused("council_unanswered", act=name) from None
                continue                                 # nothing was sent, or nothing is changed by asking again
            if answer.status != 401:
                return answer
            self._missed(url)                            # it is another run by now, and did nothing
        raise Refused("council_not_ready", problem="it does not answer")

    def _missed(self, url: str) -> None:
        """Nobody of ours answers at `url`: look who this home's council is now."""
        if url != self.url:
            return                                       # it was found out meanwhile
        was_found = bool(self._found_since)
        if not self._take(read_live(self.home.council_json), is_ours=not was_found):
            self._lose()                                 # our own is started again once its end is seen
            if was_found and not self._closing:
                self.role.start()                        # the one that we had found is gone: run our own

    async def _reached(self) -> None:
        """Wait until it answers, starting it where nobody has. Raises Refused council_not_ready."""
        if not self.url and self.role.state is Is.STOPPED and not self._stopped and not self._closing:
            self.start()
        deadline = self._clock.monotonic_s() + START_S
        while not self.url:
            if self.role.state in (Is.FAILED, Is.NEEDS_SETUP, Is.STOPPED):
                raise Refused("council_not_ready", problem=self.role.detail.rstrip(".") or "it is stopped")
            await self._next(deadline)

    async def _next(self, deadline: float) -> None:
        try:
            await within(deadline - self._clock.monotonic_s(), self._moved.wait())
        except asyncio.TimeoutError:
            raise Refused("council_not_ready", problem="it has not started yet") from None

    async def watch(self) -> None:
        """Tell the feed what happens in the council, until cancelled: one row for all that one look finds."""
        while True:
            while not self.url:
                await self._moved.wait()
            url, asked = self.url, {}
            try:
                while url == self.url:
                    found = await self._changes({**asked, "timeout_s": WATCH_S})
                    if found["events"] or asked.get("connections", found["connections"]) != found["connections"]:
                        self._feed.put("council", src="council", cursor=found["next_cursor"], connections=found["connections"],
                                       events=[{name: each[name] for name in TOLD} for each in found["events"]])
                    asked = {"cursor": found["next_cursor"], "connections": found["connections"]}
            except (Refused, LookupError, TypeError, ValueError):
                await asyncio.sleep(RETRY_S)

    async def _changes(self, arguments: dict) -> dict:
        answer = await self._ask("wait_for_changes", json.dumps(arguments).encode())
        if answer.status != 200:
            raise Refused("council_not_ready", problem=f"it answers {answer.status}")
        return json.loads(answer.body)["result"]
