"""The gateway's end of a drop box: one Connection's line as signed, numbered files in a folder.

What a Poll, a claim and a report are on the line, a receipts file is here, and in the same
order: its reports are judged, the instance is admitted, the fence is committed, its Tools
are read, and only then is work dispatched. A call is claimed for the holder in the ledger
before the file that carries it is written, so a copy of a file can add nothing. The line
has no lease to lapse: a call states until when it may be started, and the line may be
isolated once that moment has passed for every call that is out.

Units   *_s seconds; `startBefore` an instant
Source  docs/worker.md, "A Worker that no network reaches"
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rulith.base.canonical import digest
from rulith.base.clock import seconds_of, stamp
from rulith.base.errors import Refused, Unknown
from rulith.base.json_text import compact_json
from rulith.base.limits import DROPBOX_LOOK_S, DROPBOX_PAUSE_S, DROPBOX_SKEW_S
from rulith.base.log import Log
from rulith.board.operations import CLAIMED, Operation
from rulith.disk.atomic import make_folder, read_json, write_json
from rulith.disk.dropfolder import DropFolder
from rulith.gateway.authority import Authority
from rulith.gateway.worker_line import WorkerLine
from rulith.gateway.worker_work import Holder, WorkerWork, served_row
from rulith.wire.dropbox import RECEIPTS_NAME, WORK_NAME, ReceiptsFile, WorkFile, read_receipts, seal, work_name
from rulith.wire.lease import Fence
from rulith.wire.manifest import read_descriptors
from rulith.wire.worker_hop import read_operation

TO_WORKER, TO_GATEWAY = "to-worker", "to-gateway"
TOLD_MAX = 1_000


def boxes_of(folders: Mapping[str, str], connections: Mapping[str, Mapping]) -> dict[str, Path]:
    """Folders by Connection id, of the rows of `connections`; the name `""` stands for the only one there is.

    Raises Refused dropbox_connection.
    """
    found = {}
    for name, folder in folders.items():
        if name == "" and len(connections) == 1:
            name = next(iter(connections))
        if name not in connections:
            known = ", ".join(f"{each} ({row['name']})" for each, row in sorted(connections.items()))
            raise Refused("dropbox_connection", name=name or "A folder without a name before it", known=known or "none")
        found[name] = Path(os.path.abspath(os.path.expanduser(folder)))
    return found


class DropBox:
    """One Connection over one folder. `key` reads the Connection's key now; `memory` is this end's own small file, in the home."""

    def __init__(self, authority: Authority, line: WorkerLine, work: WorkerWork, *, connection_id: str, key: Callable[[], str | None],
                 folder: Path, memory: Path, window_s: float, log: Log) -> None:
        self._authority, self._line, self._work = authority, line, work
        self.connection_id, self._key, self._window_s, self._log = connection_id, key, window_s, log
        self._memory = memory
        self._in, self._out = DropFolder(folder, connection_id, TO_GATEWAY), DropFolder(folder, connection_id, TO_WORKER)
        self._received: dict[str, int] = {}             # instance -> number of its newest file that was taken
        self._answers: dict[str, dict] = {}             # to the reports of the newest files
        self._judged: dict[str, tuple[int, dict]] = {}  # instance -> number of the file whose reports were judged last, and the answers
        self._sequence = self._seen = 0
        self._tools: list = []
        self._said: tuple | None = None
        self._last: tuple[str, bytes] | None = None
        self._told: set[str] = set()
        self._recall()
        line.carry(connection_id, self.is_holder, self.isolable_in_s)

    # --- this end's memory -------------------------------------------------------------

    def _recall(self) -> None:
        try:
            known = read_json(self._memory)
            self._sequence, self._received, self._tools = known["sequence"], dict(known["received"]), list(known["tools"])
        except (Refused, KeyError, TypeError):
            pass            # a fresh one; the files say which numbers were used

    def _keep(self) -> None:
        make_folder(self._memory.parent)
        write_json(self._memory, {"sequence": self._sequence, "received": self._received, "tools": self._tools})

    def is_holder(self, worker_id: str | None) -> bool:
        """Whether an instance that the fence names came through this box."""
        return worker_id in self._received

    def isolable_in_s(self) -> float:
        """Seconds until no call that is out may be started any more; 0 when none is."""
        latest = max((seconds_of(self._start_before(each)) for each in self._out_now()), default=0.0)
        return max(0.0, latest + DROPBOX_SKEW_S - self._authority.clock.wall_s()) if latest else 0.0

    def _start_before(self, operation: Operation) -> str:
        return stamp(seconds_of(operation.claim["at"]) + self._window_s)

    def _out_now(self) -> list[Operation]:
        """The calls that the fence's holder has claimed and that are not settled, oldest first."""
        connection = self._authority.registry.connections.get(self.connection_id)
        state = self._authority.agents.get(connection["agentId"]) if connection is not None else None
        if state is None:
            return []
        fence = connection["fence"]
        found = state.operations.unresolved()
        wanted = (found is not None and found.state == CLAIMED and found.claim["connectionId"] == self.connection_id
                  and (found.claim["workerId"], found.claim["generation"]) == (fence["workerId"], fence["generation"]))
        return [found] if wanted else []

    # --- the loop ----------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled. A box that is gone, full or full of nonsense is said once and looked at again."""
        while True:
            try:
                await self.turn()
            except Refused as refused:
                self._say_once(refused)
            except Unknown:
                pass            # the ledger could not keep it: nothing was told, and the next look does it again
            except Exception as bug:  # the top of this task: a bug drops its turn, and the other boxes and the line go on
                self._authority.turns.abandon("a drop box failed inside")
                self._log.bug(bug)
            agent_id = self._authority.registry.connections.get(self.connection_id, {}).get("agentId", "")
            await self._authority.wait_change((agent_id, self.connection_id), DROPBOX_LOOK_S)
            if self._authority.closing:
                return
            await asyncio.sleep(DROPBOX_PAUSE_S)

    def _say_once(self, refused: Refused) -> None:
        said = f"{refused.code} {refused.happened}"
        if said not in self._told:
            if len(self._told) >= TOLD_MAX:
                self._told.clear()
            self._told.add(said)
            self._log.warn("drop-box", refused.teaching, connection=self.connection_id, code=refused.code)

    async def turn(self) -> None:
        """Take what came, dispatch what is ready, say what is out. Raises Refused, Unknown."""
        registry = self._authority.registry
        connection = registry.connection(self.connection_id)
        await self._authority.free(connection["agentId"])
        self._authority.check_writable()
        key = await asyncio.to_thread(self._key)
        if key is None:
            raise Refused("dropbox_key_missing", connection=self.connection_id)
        problem = None
        try:
            for file in await asyncio.to_thread(self._newest_of_each, key, connection["fence"]["workerId"]):
                await self._take(file, key)
        except Refused as refused:
            problem = refused           # what is out is said all the same, once the folder is there
        holder = self._holder(key)
        if holder is not None:
            self._line.hold_carried(self.connection_id, Fence(holder.worker_id, holder.generation), self._tools)
            await self._dispatch(holder)
        await self._publish(key)
        if problem is not None:
            raise problem

    def _holder(self, key: str) -> Holder | None:
        """The instance that holds the line through this box, or None: nobody does, or a Worker on the network."""
        fence = self._authority.registry.connection(self.connection_id)["fence"]
        worker_id = fence["workerId"]
        return Holder(self.connection_id, key, worker_id, fence["generation"]) if self.is_holder(worker_id) else None

    # --- what came ---------------------------------------------------------------------

    def _newest_of_each(self, key: str, holder_id: str | None) -> list[ReceiptsFile]:
        """The newest file of every instance, where it is newer than what was taken of it; the fence's holder first."""
        streams: dict[str, list] = {}
        for match in self._in.names(RECEIPTS_NAME):
            streams.setdefault(match[1], []).append(match)
        found = []
        for worker_id in sorted(streams, key=lambda each: (each != holder_id, each)):
            file, wrong = self._in.newest(streams[worker_id], partial(read_receipts, key=key, connection_id=self.connection_id))
            if wrong is not None:
                self._say_once(wrong)
            if file is None:
                continue
            taken = self._received.get(worker_id, 0)
            if file.sequence > taken or (file.sequence == taken and worker_id == holder_id and worker_id not in self._judged):
                found.append(file)
        return found

    async def _take(self, file: ReceiptsFile, key: str) -> None:
        answers, descriptors = await self._judge(file, key), []
        try:
            descriptors = read_descriptors(file.tools)
        except Refused as refused:
            self._say_once(refused)             # its receipts count all the same; nothing is dispatched to it
        fence = self._line.admit_carried(self.connection_id, file.worker_id, file.generation)
        await self._authority.settled()
        self._sequence = max(self._sequence, file.seen)
        self._received[file.worker_id] = file.sequence
        if fence is not None:
            self._answers, self._seen, self._tools = answers, file.sequence, descriptors
        elif answers:
            self._answers = {**self._answers, **answers}       # of an instance that holds nothing any more
        await asyncio.to_thread(self._keep)

    async def _judge(self, file: ReceiptsFile, key: str) -> dict[str, dict]:
        """The answers to the reports of a file; judged once, however long the file lies there."""
        sequence, answers = self._judged.get(file.worker_id, (0, {}))
        if sequence == file.sequence:
            return answers
        answers = {}
        for report in file.reports:
            answer = await self._report(file.worker_id, report, key)
            if isinstance(report, Mapping) and isinstance(report.get("id"), str):
                answers[report["id"]] = {**answer, "of": digest(report)}
        self._judged[file.worker_id] = (file.sequence, answers)
        return answers

    async def _report(self, worker_id: str, report: object, key: str) -> dict:
        """The hop's own answer to one report. Raises Unknown."""
        try:
            operation = read_operation({"operation": report})
            if operation["kind"] != "ReportWork" or operation["workType"] != "action" or operation["workerId"] != worker_id:
                raise Refused("bad_command", problem="A receipts file holds reports of action work of its own instance.", place="/reports")
            holder = Holder(self.connection_id, key, worker_id, operation["workerGeneration"])
            return await self._work.report(holder, operation, self._line.fence(self.connection_id))
        except Refused as refused:
            if refused.code == "store_unavailable":
                raise Unknown(refused.happened) from None
            return {"accepted": False, "errorCode": refused.code, "teaching": refused.teaching}

    # --- what goes out -----------------------------------------------------------------

    async def _dispatch(self, holder: Holder) -> None:
        """Claim for the holder what is ready; the claim is durable before its file is written."""
        rows = self._work.dispatch(holder, {each["id"]: each["digest"] for each in self._tools})
        await self._authority.settled()
        for row in rows:
            if row["workType"] == "action":
                await self._work.claim(holder, {"id": row["work"], "executionGrant": row["executionGrant"]})

    def _rows(self) -> list[dict]:
        agent_id = self._authority.registry.connection(self.connection_id)["agentId"]
        return [{"row": {**served_row(agent_id, each), "executionGrant": each.dispatch["grant"]}, "startBefore": self._start_before(each)}
                for each in self._out_now()]

    async def _publish(self, key: str) -> None:
        """Write a file when there is something new to say, or when the last one is not there any more. Raises Refused."""
        registry = self._authority.registry
        fence = registry.connection(self.connection_id)["fence"]
        rows = self._rows()
        sources = [{"name": each.name, "type": each.type, "access": each.access} for each in registry.sources_of(self.connection_id)]
        said = (fence["workerId"], fence["generation"], compact_json([rows, sources, self._answers]), key)
        if said == self._said and self._last is not None:
            await asyncio.to_thread(self._write_again)
            return
        file = WorkFile(self.connection_id, await asyncio.to_thread(self._next), stamp(self._authority.clock.wall_s()), fence["workerId"],
                        fence["generation"], sources, rows, self._answers, self._seen)
        self._said, self._last = said, (work_name(file.sequence), seal(file, key))
        await asyncio.to_thread(self._write)

    def _next(self) -> int:
        """The next number, durable before it is used, above every number that is in the folder."""
        there = self._out.names(WORK_NAME)
        self._sequence = max(self._sequence, int(there[-1][1]) if there else 0) + 1
        self._keep()
        return self._sequence

    def _write(self) -> None:
        self._out.write(*self._last)
        self._out.prune(WORK_NAME, self._last[0])

    def _write_again(self) -> None:
        if not self._out.holds(self._last[0]):
            self._out.write(*self._last)
