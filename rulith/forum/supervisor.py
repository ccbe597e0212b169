"""Keep awake: one watcher for each agent that is to be woken, started, counted and ended by the council.

Promises: a watcher and its runs speak with credentials of their own, which end with it; what
ends them leaves no process; what a dead council left behind is ended by the next one, before
anything is started. The switch is in the store, so a start of the council starts them again.

    kept       the state of the switch, a quick end, an hour's starts: rulith/council/awake.py
    on disk    awake/running.json (0600): stamps and marks of what runs, written before it starts
               awake/starts-<agent>.json: its starts of the last hour, kept by its watcher; it goes with the agent
               awake/mcp-<agent>.json (0600): address and credential, while a watcher runs that needs it

Units   *_s seconds
Source  the council surface, "Supervisor"
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_AWAKE_MAX, LOG_BYTES_MAX
from rulith.council.awake import AGAIN_S, CEILING, RUN_LIMIT_S, Launch, in_last_hour, read_launch
from rulith.council.shapes import PERSON, PERSON_ROLE, Actor
from rulith.disk.atomic import make_folder, read_json, write_json
from rulith.forum.arguments import flag, given, only, whole
from rulith.forum.forum import Forum
from rulith.forum.keeping import MARK, MARK_CHARS, Keeping, Watcher, named
from rulith.forum.programs import Programs
from rulith.procs.identity import process_stamp
from rulith.procs.marked import end_marked, end_stamped
from rulith.procs.roles import RoleProcess

TROUBLE_CHARS_MAX = 500

LaunchRole = Callable[..., Awaitable[Watcher]]


class Supervisor:
    """Open it with `begin` once the council's address is known, end it with `close`.

    launch   makes a watcher's process, as RoleProcess.spawn
    """

    ACTS = ("set_agent_awake", "awake_status")

    def __init__(self, forum: Forum, folder: Path, logs: Path, clock: Clock, *, launch: LaunchRole = RoleProcess.spawn,
                 environ: Mapping[str, str] | None = None, again_s: float = AGAIN_S) -> None:
        self.forum, self.folder, self.logs, self.clock, self.launch, self.again_s = forum, folder, logs, clock, launch, again_s
        self.environ = dict(os.environ if environ is None else environ)
        self.programs = Programs(self.environ)
        self.mcp_url, self._is_open = "", False
        self.troubles: dict[int, str] = {}
        self.last_runs: dict[int, str] = {}
        self._kept: dict[int, Keeping] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._running: dict[str, dict] = {}          # mark -> what the file says of it
        forum.take_acts(self)

    # --- its life ------------------------------------------------------------------------

    async def begin(self, mcp_url: str) -> None:
        """End what an earlier council left, then start every agent that is kept awake. Raises Refused: disk_full, write_failed."""
        self.mcp_url, self._is_open = mcp_url, True
        make_folder(self.folder)
        await asyncio.to_thread(self._sweep)
        for file in self.folder.glob("starts-*.json"):
            agent_id = file.stem.partition("-")[2]
            if agent_id.isascii() and agent_id.isdigit() and len(agent_id) < 19:
                self._forget_starts(int(agent_id))
        self.forum.agent_changed = self.follow
        for row in self.forum.db.all("SELECT id FROM agent WHERE awake = 1 AND revoked_at IS NULL ORDER BY id"):
            self.follow(row["id"])

    async def close(self) -> None:
        """End every watcher and what it runs. The switches stay."""
        self._is_open = False
        for agent_id in list(self._kept):
            self._let_go(agent_id)
        if self._leaving:
            await asyncio.wait(self._leaving)
        await self.programs.close()

    def follow(self, agent_id: int) -> None:
        """Do as the store says now: keep the agent awake, from a new start on, or let it go."""
        before = self._let_go(agent_id)
        row = self.forum.db.one("SELECT * FROM agent WHERE id = ? AND awake = 1 AND revoked_at IS NULL", agent_id)
        if row is not None and self._is_open and not self.forum.is_revoked(row):
            self._kept[agent_id] = keeping = Keeping(self, agent_id, before)
            keeping.task.add_done_callback(_loud)
        elif before is not None:
            before.add_done_callback(lambda _: self._forget_starts(agent_id))
        else:
            self._forget_starts(agent_id)
        self.changed()

    def _let_go(self, agent_id: int) -> asyncio.Task[None] | None:
        """End the agent's watcher; the task that is over once nothing of it is left."""
        keeping = self._kept.pop(agent_id, None)
        if keeping is None:
            return next((each for each in self._leaving if each.get_name() == named(agent_id)), None)
        self._leaving.add(keeping.task)
        keeping.task.add_done_callback(self._leaving.discard)
        keeping.stop()
        return keeping.task

    def give_up(self, keeping: Keeping, trouble: str) -> None:
        """It ended by itself for good: the switch is off and says why."""
        agent_id = keeping.agent_id
        if self._kept.get(agent_id) is not keeping:
            return
        self.troubles[agent_id] = trouble[:TROUBLE_CHARS_MAX]
        del self._kept[agent_id]
        try:
            self.forum.run(PERSON, "set_awake", {"id": agent_id, "awake": False})
        except Refused as refusal:                   # a full disk: it is off in this life, and tried again in the next
            self.troubles[agent_id] += f" ({refusal.teaching})"
        self.changed()

    def changed(self) -> None:
        self.forum.presence.signal()

    # --- the person's acts ---------------------------------------------------------------

    def set_agent_awake(self, actor: Actor, arguments: Mapping) -> dict:
        """Switch it; the agent's row of `awake_status`. Raises Refused: council_person, council_revoked, council_no_profile, council_launch, council_grants,
        council_no_program, council_folder_unreadable, council_awake_cap."""
        _only_person(actor)
        only(arguments, "id", "awake")
        row, awake = self.forum.agent(given(arguments, "id")), flag(arguments, "awake", True)
        if row["role"] == PERSON_ROLE:
            raise Refused("council_person")
        if awake:
            if self.forum.is_revoked(row):
                raise Refused("council_revoked")
            self.programs.find(self.launch_of(row).command, self.place_of(row))
            if row["id"] not in self._kept:
                if len(self._kept) >= COUNCIL_AWAKE_MAX:
                    raise Refused("council_awake_cap", count=len(self._kept))
                # A new permission begins a new count.
                _remove(self.starts_file(row["id"]))
        self.troubles.pop(row["id"], None)
        self.forum.run(actor, "set_awake", {"id": row["id"], "awake": awake})
        if awake != (row["id"] in self._kept):
            self.follow(row["id"])
        return self._status(self.forum.agent(row["id"]))

    def awake_status(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """Every agent, or one: whether it is kept awake, what it does now, and what it may cost at most."""
        _only_person(actor)
        only(arguments, "id")
        self.programs.ask_shell()                    # whoever looks may switch one on next
        agent_id = whole(arguments["id"], "agent id") if arguments.get("id") is not None else None
        rows = self.forum.db.all("SELECT * FROM agent WHERE role != ? AND revoked_at IS NULL ORDER BY id", PERSON_ROLE)
        return [self._status(row) for row in rows if agent_id in (None, row["id"])]

    def _status(self, row: Mapping) -> dict:
        keeping = self._kept.get(row["id"])
        program, why_not = "", ""
        try:
            program = self.launch_of(row).command
        except Refused as refusal:
            why_not = refusal.teaching
        state = keeping.state if keeping is not None else "stopped"
        return {"agent_id": row["id"], "name": row["name"], "awake": bool(row["awake"]), "state": state, "watching": state in ("awake", "running"),
                "running": state == "running", "threads": list(keeping.threads) if keeping is not None else [],
                "last_run_at": self.last_runs.get(row["id"]), "trouble": self.troubles.get(row["id"], ""), "program": program,
                "why_not": why_not, "starts_last_hour": len(self._starts(row["id"])), "starts_per_hour_max": CEILING, "run_limit_s": RUN_LIMIT_S}

    # --- what is started -----------------------------------------------------------------

    def launch_of(self, row: Mapping) -> Launch:
        return read_launch(self.forum.db.one("SELECT * FROM profile WHERE id = ?", row["profile_id"]))

    def place_of(self, row: Mapping) -> str:
        """The project's folder, where the agent works. Raises Refused council_folder_unreadable."""
        folder = self.forum.folder(self.forum.project(row["project_id"])["folder_path"])
        if not folder.is_readable():
            raise Refused("council_folder_unreadable")
        return folder.path

    # --- what is on the disk -------------------------------------------------------------

    def starts_file(self, agent_id: int) -> Path:
        return self.folder / f"starts-{agent_id}.json"

    def config_file(self, agent_id: int) -> Path:
        return self.folder / f"mcp-{agent_id}.json"

    def _forget_starts(self, agent_id: int) -> None:
        """Take away the count of an agent that is gone; that of one who sleeps stays."""
        if self.forum.db.value("SELECT 1 FROM agent WHERE id = ?", agent_id) is None:
            _remove(self.starts_file(agent_id))

    def _starts(self, agent_id: int) -> list[float]:
        try:
            rows = read_json(self.starts_file(agent_id))["starts"]
            return in_last_hour(map(float, rows), self.clock.wall_s())
        except (Refused, TypeError, KeyError, ValueError):
            return []                                # none yet; a damaged one stops its watcher, which says so

    def log_file(self, agent_id: int) -> Path:
        return self.logs / f"watch-{agent_id}.log"

    def trim_log(self, agent_id: int) -> None:
        """Begin a log anew that has grown long while its watcher lives; whoever appends goes on at its new end."""
        try:
            if self.log_file(agent_id).stat().st_size > LOG_BYTES_MAX:
                os.truncate(self.log_file(agent_id), 0)
        except OSError:
            pass                                     # none, or Windows keeps it: a start of the watcher moves it aside

    def drop_config(self, agent_id: int) -> None:
        _remove(self.config_file(agent_id))

    @property
    def _ledger(self) -> Path:
        return self.folder / "running.json"

    def remember(self, mark: str, command: str, pid: int | None = None) -> None:
        """Write down what is about to run, then as which process. Raises Refused: disk_full, write_failed, as long as nothing runs."""
        self._running[mark] = {"pgid": pid, "command": command, **(process_stamp(pid) if pid else {})}
        self._write(needed=pid is None)

    def forget(self, mark: str) -> None:
        if self._running.pop(mark, None) is not None:
            self._write(needed=False)

    def _write(self, *, needed: bool) -> None:
        if not self._running:
            _remove(self._ledger)
            return
        try:
            write_json(self._ledger, [{"mark": mark, **about} for mark, about in self._running.items()])
        except Refused:
            if needed:
                raise                                # else the file as it is finds it by its mark

    def _sweep(self) -> None:
        """End what the file says that an earlier council has left running."""
        try:
            rows = read_json(self._ledger)
        except Refused:
            rows = []                                # none, or torn by a failing disk: nothing can be told from it
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("mark"), str) and len(row["mark"]) >= MARK_CHARS:
                end_stamped(row.get("pgid"), row)
                end_marked(MARK, row["mark"])
        for file in (self._ledger, *self.folder.glob("mcp-*.json")):
            _remove(file)


def _only_person(actor: Actor) -> None:
    if not actor.is_person:
        raise Refused("council_not_found", what="operation", name="for agents")


def _loud(task: asyncio.Task[None]) -> None:
    """A bug in keeping one agent is told at once, and keeps no other from being kept."""
    if not task.cancelled() and task.exception() is not None:
        task.get_loop().call_exception_handler({"message": f"{task.get_name()} failed", "exception": task.exception(), "task": task})


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        pass                                         # it stays and means nothing: what it names has ended
