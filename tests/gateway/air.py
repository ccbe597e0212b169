"""A gateway and a Worker with nothing between them but a folder; the Worker's adapters keep their own log."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rulith.adapters.hands import Hands
from rulith.adapters.sources import Sources
from rulith.adapters.territory import Territory
from rulith.base.clock import ManualClock, SystemClock
from rulith.base.ids import mint
from rulith.disk.profiles import worker_secrets
from rulith.wire.manifest import read_manifest
from rulith.work.box_journal import Journal
from rulith.work.dropbox import BoxWorker


class Killed(BaseException):
    """The process is gone at this very place."""


class Logged:
    """An adapter that writes down that it ran, before it does."""

    def __init__(self, runnable, call, log):
        self.runnable, self.call, self.log = runnable, call, log

    async def run(self):
        self.log.append(self.call.invocation)
        return await self.runnable.run()


class AirWorker:
    """`rulith worker --dropbox` without its process: `round` is one look into the box, as `--once` does it."""

    def __init__(self, world, box: Path, home: Path, *, clock=None) -> None:
        self.world, self.box, self.home = world, box, home
        self.clock = clock or SystemClock()
        self.ran: list[str] = []             # over all processes of this Worker
        self.told: list[tuple[str, dict]] = []
        secrets = worker_secrets(world.profile).load()
        self.connection, self.key = secrets["RULITH_CONNECTION"], secrets["RULITH_CONNECTION_KEY"]
        self.wrap = None                     # a test's own adapter around each call
        self.journal = None

    def open(self) -> BoxWorker:
        workspace = Path(self.world.profile.workspace)
        tools = read_manifest((workspace / "worker-tools.json").read_bytes())
        territory = Territory(str(workspace), str(self.world.home.path), own=(str(workspace),))
        hands = Hands(territory, dict(os.environ), 20.0)

        def compile(call):
            runnable = Logged(hands.compile(call), call, self.ran)
            return self.wrap(runnable, call) if self.wrap else runnable

        self.journal = Journal(self.home, self.connection, lambda: mint("wkr_"))
        return BoxWorker(journal=self.journal, box=self.box, key=self.key, tools=tools,
                         advertised=[tool.descriptor() for tool in tools.values()], sources=Sources({}),
                         compile=compile, inspect=hands.inspect, clock=self.clock,
                         tell=lambda kind, facts: self.told.append((kind, dict(facts))))

    async def round(self) -> None:
        """One process that looks once and ends; also when it is killed on the way."""
        try:
            await self.open().run(once=True)
        finally:
            self.close()

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    def codes(self) -> list[str]:
        return [facts["code"] for _, facts in self.told if facts.get("code")]

    def work_files(self) -> list[Path]:
        return sorted((self.box / self.connection / "to-worker").glob("*.work"))

    def receipts_files(self) -> list[Path]:
        return sorted((self.box / self.connection / "to-gateway").glob("*.receipts"))


def payload(path: Path) -> dict:
    return json.loads(path.read_bytes().split(b"\n", 1)[1])


__all__ = ["AirWorker", "Killed", "ManualClock", "payload"]
