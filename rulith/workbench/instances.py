"""One Agent of this home on the page: its profile, its Worker, the job it is at.

Holds what the page shows of it; starts nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.limits import RUNS_KEPT
from rulith.disk.locks import holder_of
from rulith.disk.profiles import Profile
from rulith.workbench.models import model_row, unreadable_row
from rulith.workbench.roles import Child, Role
from rulith.workbench.runs import Run
from rulith.workbench.talker import Talker


class Reload:
    """A restart of the Worker that waits until no call runs. A call ends with its report, with the line, or with the process."""

    def __init__(self) -> None:
        self._running = False
        self._again: Callable[[], None] | None = None

    @property
    def is_due(self) -> bool:
        return self._again is not None

    def ask(self, again: Callable[[], None]) -> None:
        self._again = again
        self._look()

    def heard(self, kind: str) -> None:
        """Of the Worker's events; its end needs no restart any more: the next start reads everything."""
        if kind == "claimed":
            self._running = True
        elif kind == "exit":
            self._running, self._again = False, None
        elif kind in ("reported", "lease", "spawn"):
            self._running = False
            self._look()

    def _look(self) -> None:
        if not self._running and self._again is not None:
            again, self._again = self._again, None
            again()


@dataclass
class Instance:
    """A profile that is open in this workbench.

    worker_wanted   the person has not stopped it; it starts whenever there is a gateway
    board           its part of the gateway's state, as last heard
    """

    profile: Profile
    worker: Role
    talker: Talker
    worker_wanted: bool = True
    board: dict[str, object] | None = None
    destination: str = ""        # where its model was when its Worker started: files go nowhere else
    line_held: bool = False      # its Worker runs and another one still holds the Connection's line
    runs: list[Run] = field(default_factory=list)
    agent: Child | None = None
    reload: Reload = field(default_factory=Reload)
    busy: bool = False           # from the moment a job is asked for until its process is gone

    @property
    def id(self) -> str:
        return self.profile.id

    @property
    def name(self) -> str:
        return self.profile.name

    def current(self) -> Run | None:
        """The run under way."""
        return self.runs[-1] if self.runs and self.runs[-1].ended_at is None else None

    def add(self, run: Run) -> None:
        self.runs.append(run)
        del self.runs[:-RUNS_KEPT]

    def row(self) -> dict[str, object]:
        """As the page reads it. A profile whose files cannot be read says so instead of its model."""
        profile = self.profile
        run = self.current()
        agent: dict[str, object] = {"state": "running" if self.busy else "idle", "since": run.started_at if run else None, "talk": self.talker.row()}
        if not self.busy and not self.talker.is_wanted and (held := holder_of(profile.agent_lock)) is not None:
            agent["held"] = held.happened
        try:
            model = model_row(profile)
        except Refused as problem:
            model = unreadable_row(problem)
        return {"id": profile.id, "name": profile.name, "mode": profile.mode, "directory": str(profile.directory),
                "attached": profile.is_attached, "revision": revision(profile, model),
                "workspace": str(profile.workspace), "agentId": profile.agent_id, "agentName": profile.agent_name,
                "connectionId": profile.connection_id, "createdAt": profile.created_at, "origin": profile.origin,
                "pairing": {name: profile.pairing.get(name) for name in ("agentId", "agentName", "lastError")} if profile.pairing else None,
                "worker": {**self.worker.row(), "lineHeld": self.line_held, "reloading": self.reload.is_due}, "agent": agent, "model": model}


def revision(profile: Profile, model: Mapping[str, object]) -> str:
    """Of what a person may change of a profile: whoever saves says which one was shown."""
    return digest({"row": [profile.name, profile.mode, profile.agent_id, profile.connection_id, bool(profile.pairing)], "model": dict(model)})[-16:]


def board_of(state: dict, profile: Profile) -> dict[str, object]:
    """The part of the gateway's state that is about this profile's Agent."""
    mine = {kind: [row for row in state.get(kind, []) if row.get("agentId") == profile.agent_id]
            for kind in ("cases", "operations", "decisions")}
    connection = next((row for row in state.get("connections", []) if row.get("id") == profile.connection_id), None)
    total = state.get("casesTotal", {}).get(profile.agent_id, len(mine["cases"]))
    return {**mine, "casesTotal": total, "connection": connection, "passphraseSet": bool(state.get("passphraseSet"))}
