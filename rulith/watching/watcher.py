"""The watcher in one loop: what the council tells goes to the rails, and what they say is done.

The council is heard all the time, also while a command runs, so that a revoked key ends the
run at once. Holds no model, and the command's key only to hand it over.

Units   *_s seconds
Source  the council surface, "Watcher"
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import WATCH_OUTPUT_BYTES_MAX
from rulith.net.client import HttpClient
from rulith.net.websocket import WebSocket
from rulith.procs.warden import run_warded
from rulith.watching import core, worklist
from rulith.watching.asking import Asking, Identity, poll
from rulith.watching.listening import listen, open_socket
from rulith.watching.settings import VERB, WatchSettings
from rulith.watching.starts import keep_starts, read_starts

EXIT_REFUSED = 1
STDERR = 2


class Watcher:
    """`report` is called with each state; `env` is what a command is given, besides what only we add."""

    def __init__(self, settings: WatchSettings, env: Mapping[str, str], clock: Clock, *, report: Callable[..., None], say: Callable[[str], None],
                 tell: Callable[[str], None]) -> None:
        self._settings, self._env, self._clock = settings, env, clock
        self._report, self._say, self._tell = report, say, tell
        rails = core.Rails(bool(settings.command), settings.once, settings.settle_s, settings.ceiling)
        self._program = _program(settings.command, env)
        self._core = core.Watch(rails, read_starts(settings.starts) if settings.starts else ())
        self._inbox: asyncio.Queue[core.Event] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
        self._awaited: core.Event | None = None        # what the timer brings; one that it brought before it was set anew is none
        self._run: asyncio.Task | None = None
        self._me = Identity(None, "")

    async def watch(self, ended: asyncio.Future[int]) -> int:
        """Watch until the rails say that this is the end, or `ended` does; the exit status.

        Raises Refused: watch_unreachable, watch_key_refused, watch_said, watch_answer where the council cannot be had at the start; disk_full and
        the like where a start cannot be kept.
        """
        client = HttpClient(self._clock, environ=self._env)
        ended.add_done_callback(lambda done: done.cancelled() or self._inbox.put_nowait(core.Stopped(done.result())))
        hearing: asyncio.Task | None = None
        try:
            beginning = asyncio.ensure_future(self._begin(client))
            await asyncio.wait({beginning, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                beginning.cancel()
                await asyncio.wait({beginning})
                return ended.result()
            hearing = asyncio.ensure_future(beginning.result()())
            return await self._follow(hearing)
        finally:
            for task in (hearing, self._run):
                if task is not None:
                    task.cancel()
                    await asyncio.wait({task})
            if self._timer is not None:
                self._timer.cancel()
            await client.close()

    async def _begin(self, client: HttpClient) -> Callable[[], Awaitable[None]]:
        """Who we are; what is to be run to hear the council."""
        settings, deliver = self._settings, self._inbox.put_nowait
        asking = Asking(client, settings.url, settings.key)
        if not settings.ws:
            self._me = await asking.whoami()
            return lambda: poll(asking, self._me.agent_id, deliver, self._say, wait_s=settings.wait_s, clock=self._clock)

        def reopen() -> Awaitable[WebSocket]:
            return open_socket(client, settings.url, settings.key)
        socket = await reopen()
        try:
            self._me = await asking.whoami()
        except BaseException:
            socket.close()
            raise
        return lambda: listen(socket, reopen, self._me.agent_id, deliver, self._say, clock=self._clock)

    async def _follow(self, hearing: asyncio.Task) -> int:
        done = self._core.begin()
        while True:
            for act in done:
                if isinstance(act, core.Exit):
                    return act.status
                await self._do(act)
            event = await self._next(hearing)
            if isinstance(event, (core.Quiet, core.Settled)) and event is not self._awaited:
                done = []
                continue
            if isinstance(event, core.RunOver) and self._run is not None:
                await self._run                        # a bug in it is loud
            done = self._core.step(event, now_s=self._clock.monotonic_s(), wall_s=self._clock.wall_s())

    async def _next(self, hearing: asyncio.Task) -> core.Event:
        coming = asyncio.ensure_future(self._inbox.get())
        try:
            await asyncio.wait({coming} if hearing.done() else {coming, hearing}, return_when=asyncio.FIRST_COMPLETED)
            if hearing.done():
                hearing.result()                       # it ends by a refused key, which it has told; anything else is a bug, loud
            return await coming
        finally:
            coming.cancel()

    async def _do(self, act: core.Do) -> None:
        if isinstance(act, core.Wait):
            self._report("waiting", **({"agent": self._me.name} if self._me.name else {}))
        elif isinstance(act, core.Gather):
            self._after(act.delay_s, core.Quiet())
        elif isinstance(act, core.Settle):
            self._after(act.delay_s, core.Settled())
        elif isinstance(act, core.Start):
            if self._settings.starts:
                keep_starts(self._settings.starts, act.starts)
            self._report("running", threads=list(act.threads))
            self._run = asyncio.ensure_future(self._command(act.threads))
        elif isinstance(act, core.Tell):
            self._tell(worklist.happened(act.threads, act.kinds))
        elif isinstance(act, core.Ceiling):
            detail = f"{act.starts} starts in an hour, something loops"
            self._report("ceiling", detail=detail)
            self._say(f"{detail}; nothing more is started.")
        elif isinstance(act, core.EndRun) and self._run is not None:
            self._run.cancel()
            await asyncio.wait({self._run})

    def _after(self, delay_s: float, event: core.Event) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = event
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._inbox.put_nowait, event)

    async def _command(self, threads: tuple[int, ...]) -> None:
        """One run, whatever comes of it."""
        settings = self._settings
        argv = [self._program, *worklist.filled(settings.command[1:], threads)]
        env = worklist.environment(self._env, url=settings.url, key=settings.run_key, threads=threads)
        try:
            over = await run_warded(VERB, argv, env=env, timeout_s=settings.limit_s, output_bytes_max=WATCH_OUTPUT_BYTES_MAX if settings.report else None)
            if over.timed_out:
                self._say(f"The run for {worklist.listed(threads)} took longer than {settings.limit_s:g} s; it was ended with all that it had started.")
            elif over.status:
                self._say(f"The run for {worklist.listed(threads)} ended with status {over.status}.")
        except Refused as refusal:
            self._say(refusal.teaching)
        finally:
            self._inbox.put_nowait(core.RunOver())


def _program(command: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Where the command's program is, as its own PATH finds it. Raises Refused watch_command."""
    if not command:
        return ""
    found = shutil.which(command[0], path=env.get("PATH"))
    if found is None:
        raise Refused("watch_command", command=command[0][:200])
    return found


def state_line(state: str, wall_s: float, **facts: object) -> str:
    """One line of --report."""
    return json.dumps({"state": state, "t": int(wall_s), **facts}, separators=(",", ":"))


def print_line(text: str) -> None:
    print(text, flush=True)


def complain(text: str) -> None:
    try:
        os.write(STDERR, text.encode("utf-8", "backslashreplace") + b"\n")       # nothing stays in a buffer that cannot be written
    except OSError:
        pass                                           # nobody reads it, or a full disk: the watching goes on
