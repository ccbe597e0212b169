"""One agent kept awake: its watcher, and the next one after that has ended, until it is let go.

Promises: what ends a watcher, however, leaves neither its process nor a run of it, and its
credentials open nothing afterwards; what is started was written down first.

Units   *_s seconds
Source  the council surface, "Supervisor"
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.council.awake import CEILING, LOOPS, POLL_S, RUN_LIMIT_S, End, after_end, config_text
from rulith.council.times import told
from rulith.disk.atomic import write_whole
from rulith.procs.marked import end_marked
from rulith.procs.roles import Event
from rulith.procs.trees import terminate_group

if TYPE_CHECKING:
    from rulith.forum.supervisor import Supervisor

MARK = "RIVENDELL_MARK"              # in the environment of all that one start leads to
MARK_CHARS = 32
GRACE_S = 1.0                        # from the word to the kill
MAY_PASS = ("role_not_started", "disk_full", "write_failed")      # worth another try: they count as a quick end
TOUCH_S = 3_600.0                    # between uses of credentials that a living watcher holds


class Watcher(Protocol):
    """One running watcher; `procs.roles.RoleProcess` is one."""

    @property
    def pid(self) -> int: ...
    def control(self, operation: str, **fields: object) -> None: ...
    def last_words(self) -> str: ...
    async def wait(self) -> int: ...
    async def kill(self) -> int: ...


class Keeping:
    """One agent kept awake: its watcher, and the next one after that has ended, until it is told to stop.

    state   starting, awake (it waits), running (its program runs)
    """

    def __init__(self, supervisor: Supervisor, agent_id: int, before: asyncio.Task[None] | None) -> None:
        self.supervisor, self.agent_id = supervisor, agent_id
        self.state, self.threads = "starting", ()
        self._keys: list[str] = []
        loop = asyncio.get_running_loop()
        self._stopping: asyncio.Future[None] = loop.create_future()
        self.task = loop.create_task(self._live(before), name=named(agent_id))

    def stop(self) -> None:
        self._drop_keys()
        if not self._stopping.done():
            self._stopping.set_result(None)

    async def _live(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        supervisor, quick = self.supervisor, 0
        while not self._stopping.done():
            began_s = supervisor.clock.monotonic_s()
            self._is("starting")
            try:
                code, words = await self._one()
            except Refused as refusal:
                if refusal.code not in MAY_PASS:
                    supervisor.give_up(self, refusal.teaching)
                    return
                code, words = 1, refusal.teaching
            if self._stopping.done():
                return
            end, quick = after_end(code, supervisor.clock.monotonic_s() - began_s, quick)
            if end is not End.AGAIN:
                supervisor.give_up(self, LOOPS if end is End.LOOPS else _last_line(words) or f"It ended with status {code} as soon as it was started.")
                return
            self._is("starting")
            await asyncio.wait([self._stopping], timeout=supervisor.again_s)

    async def _one(self) -> tuple[int, str]:
        """One watcher from its start to its end: (exit status, its last words). Raises Refused where it cannot be started."""
        supervisor, mark = self.supervisor, mint("", MARK_CHARS)
        watcher: Watcher | None = None
        try:
            watcher = await self._start(mark)
            if watcher is None:
                return 0, ""
            ended = asyncio.ensure_future(watcher.wait())
            while not self._stopping.done() and not ended.done():
                await asyncio.wait([ended, self._stopping], timeout=TOUCH_S, return_when=asyncio.FIRST_COMPLETED)
                for key in self._keys:
                    supervisor.forum.live.find(key)
            await _end(watcher, ended)
            return ended.result(), watcher.last_words()
        finally:
            self._drop_keys()
            supervisor.drop_config(self.agent_id)
            await asyncio.to_thread(end_marked, MARK, mark)
            supervisor.forget(mark)

    async def _start(self, mark: str) -> Watcher | None:
        """None where it was told to stop meanwhile."""
        supervisor, forum = self.supervisor, self.supervisor.forum
        row = forum.agent(self.agent_id)
        launch = supervisor.launch_of(row)
        place = await forum.beside.play(lambda: supervisor.place_of(row))
        await asyncio.wait([supervisor.programs.ask_shell()])
        program = supervisor.programs.find(launch.command, place)
        if self._stopping.done():
            return None
        waits, runs = (forum.mint_live(self.agent_id, is_watcher=only_waits) for only_waits in (True, False))
        self._keys = [waits, runs]
        config = supervisor.config_file(self.agent_id)
        if launch.needs_config:
            write_whole(config, config_text(supervisor.mcp_url, runs).encode())
        command = [program, *launch.filled({"mcp_config": str(config), "cwd": place, "mcp_url": supervisor.mcp_url, "agent_name": row["name"]})[1:]]
        supervisor.remember(mark, program)           # first: what dies with us now is found by its mark
        watcher = await supervisor.launch(
            "watch", args=["--url", supervisor.mcp_url, "--wait", str(POLL_S), "--limit", str(RUN_LIMIT_S), "--ceiling", str(CEILING),
                           "--starts", str(supervisor.starts_file(self.agent_id)), "--report", "--", *command],
            env={"RIVENDELL_KEY": waits, "RIVENDELL_RUN_KEY": runs, "RIVENDELL_URL": supervisor.mcp_url, "RIVENDELL_AGENT": str(self.agent_id), MARK: mark},
            environ={**supervisor.environ, "PATH": supervisor.programs.path()}, cwd=Path(place), log_path=supervisor.log_file(self.agent_id),
            on_event=self._heard)
        supervisor.remember(mark, program, watcher.pid)
        return watcher

    def _heard(self, event: Event) -> None:
        """What the watcher reports."""
        state, threads = event.get("state") if event.get("type") == "watch" else None, event.get("threads")
        if state == "running":
            self.supervisor.last_runs[self.agent_id] = told(self.supervisor.clock.wall_s())
            self._is("running", tuple(threads) if isinstance(threads, list) else ())
        elif state == "waiting":
            self._is("awake")
            self.supervisor.trim_log(self.agent_id)

    def _is(self, state: str, threads: tuple = ()) -> None:
        if (state, threads) != (self.state, self.threads):
            self.state, self.threads = state, threads
            self.supervisor.changed()

    def _drop_keys(self) -> None:
        for key in self._keys:
            self.supervisor.forum.live.drop(key)
        self._keys = []


async def _end(watcher: Watcher, ended: asyncio.Future[int]) -> None:
    """Ask the watcher to end, which ends what it runs; then make it."""
    if not ended.done():
        watcher.control("stop")
        terminate_group(watcher.pid)
        await asyncio.wait([ended], timeout=GRACE_S)
        if not ended.done():
            await watcher.kill()
            await ended


def named(agent_id: int) -> str:
    """Of the task that keeps this agent."""
    return f"awake {agent_id}"


def _last_line(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1] if lines else ""
