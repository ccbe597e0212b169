"""A Worker that no network reaches: the loop between a drop box, its journal and the adapters.

Looks for a newer work file, judges each row by the checks of the hop, writes down that a
call starts, runs it, writes down what came of it, and puts a receipts file into the box.
A box that is gone or full is waited for; a disk that cannot keep the journal starts nothing.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Call
from rulith.adapters.sources import Source, Sources
from rulith.base.clock import Clock, seconds_of, stamp
from rulith.base.errors import Refused
from rulith.base.limits import DROPBOX_LOOK_S
from rulith.disk.dropfolder import DropFolder
from rulith.net.link import within
from rulith.wire.dropbox import WORK_NAME, WorkFile, read_work, receipts_name, seal, work_name
from rulith.wire.manifest import Tool
from rulith.work.box import BoxCall
from rulith.work.box_journal import Journal
from rulith.work.checks import Bench, Cleared, judge_row
from rulith.work.driver import TellHost, run_call
from rulith.work.receipts import Receipt, write_receipt
from rulith.work.replies import flat
from rulith.work.signals import ParentGone, Signal

TO_WORKER, TO_GATEWAY = "to-worker", "to-gateway"
REASON_CHARS_MAX = 600
TOLD_MAX = 10_000                # things said once; after that many they may be said again
NOT_OURS = frozenset({"row_malformed", "row_retired_member", "row_shadow_member", "row_other_connection", "grant_unreadable",
                      "grant_signature", "grant_not_ours"})      # nothing the gateway would take a report of


class BoxWorker:
    """One Worker over one drop box; `run` ends when it was told to stop, or after one round.

    compile, inspect   the adapters' judgement of a call, and of a Source by itself
    """

    def __init__(
        self, *, journal: Journal, box: Path, key: str, tools: Mapping[str, Tool], advertised: list[object], sources: Sources,
        compile: Callable[[Call], Runnable], inspect: Callable[[Source], Refused | None], clock: Clock, tell: TellHost,
    ) -> None:
        self._journal, self._box = journal, journal.box
        self._key, self._tools, self._advertised = key, tools, advertised
        self._sources, self._compile, self._inspect = sources, compile, inspect
        self._clock, self._tell = clock, tell
        self._in = DropFolder(box, journal.box.connection_id, TO_WORKER)
        self._out = DropFolder(box, journal.box.connection_id, TO_GATEWAY)
        self._told: set[tuple[str, str]] = set()
        self._said: Mapping[str, object] | None = None
        self._last: tuple[str, bytes] | None = None
        self._unkept = False
        self._stopping = asyncio.Event()
        self._running: asyncio.Task | None = None

    def put(self, happened: Signal) -> None:
        """A stop finishes and tells what runs; a parent that is gone, or a second Ctrl-C, ends it at once."""
        self._stopping.set()
        if isinstance(happened, ParentGone) and self._running is not None:
            self._running.cancel()

    async def run(self, *, once: bool = False) -> int:
        """Until told to stop, or for one round; 0."""
        if self._journal.was_moved:
            self._say_once("error", "dropbox_journal_moved", Refused("dropbox_journal_moved", folder=str(self._journal.folder)))
        while True:
            await self._round()
            if once or self._stopping.is_set():
                return 0
            try:
                await within(DROPBOX_LOOK_S, self._stopping.wait())
            except asyncio.TimeoutError:
                pass

    async def _round(self) -> None:
        try:
            file = await asyncio.to_thread(self._newest)
            if file is not None:
                self._take(file)
        except Refused as refused:
            self._say_once("error", refused.code, refused)
        for each in self._box.waiting():
            if self._stopping.is_set() or not await self._call(each["row"], each["startBefore"]):
                break
        if self._unkept:
            return
        try:
            await asyncio.to_thread(self._publish)
        except Refused as refused:
            self._say_once("error", refused.code, refused)

    # -- a file came -------------------------------------------------------------------

    def _newest(self) -> WorkFile | None:
        names = self._in.names(WORK_NAME)
        file, wrong = self._in.newest(names, partial(read_work, key=self._key, connection_id=self._box.connection_id))
        if wrong is not None:
            self._say_once("error", str(wrong.facts.get("name")), wrong)
        if file is not None and len(names) > 1:
            self._in.prune(WORK_NAME, work_name(file.sequence))
        return file

    def _take(self, file: WorkFile) -> None:
        before = self._box.generation
        if file.sequence < self._box.seen:
            self._say_once("error", f"old {file.sequence}", Refused("dropbox_file_old", sequence=file.sequence, seen=self._box.seen))
        changed, answered = self._box.take(file)
        for call in changed:
            self._journal.keep(call)
        self._journal.keep_state(self._box)
        self._journal.forget()
        self._sources.grant(file.sources)
        for each in answered:
            self._tell("reported", {"invocation": each.invocation, "landed": each.accepted, "code": each.code, "reason": flat(each.reason)})
        if self._box.generation != before:
            self._tell("lease", {"workerId": self._box.worker_id, "generation": self._box.generation or "none"})
        if file.worker_id not in (None, self._box.worker_id):
            held = Refused("worker_lease_held")
            self._say_once("availability", f"held {file.worker_id}", held)
        for name in self._sources.names():
            source = self._sources.find(name)
            refused = self._inspect(source) if source is not None else None
            if refused is not None:
                self._say_once("error", f"{name} {refused.code}", refused)

    # -- a call ------------------------------------------------------------------------

    async def _call(self, row: Mapping[str, object], start_before: str) -> bool:
        """Judge and run one row; False when nothing more can be started now."""
        now_s = self._box.now_s(self._clock.wall_s())
        generation = self._box.generation
        assert generation is not None
        try:
            if row.get("workType") != "action":
                raise Refused("work_not_built", kind=repr(str(row.get("workType"))[:40]))
            cleared = judge_row(row, Bench(
                self._box.connection_id, self._key, self._box.worker_id, self._tools, self._sources.find, self._compile,
                lambda: now_s < seconds_of(start_before), generation,
            ))  # fmt: skip
        except Refused as refused:
            return self._leave(row, start_before, refused)
        return await self._execute(cleared, start_before)

    def _leave(self, row: Mapping[str, object], start_before: str, refused: Refused) -> bool:
        """The gateway counts the call as ours: say that nothing ran, where it would believe us."""
        if refused.code == "worker_lease_lost":
            refused = Refused("dropbox_too_late", moment=start_before, now=stamp(self._box.latest_s))
        invocation = flat(str(row.get("work")), 120)
        self._say_once("skip", f"{invocation} {refused.code}", refused, invocation=invocation)
        if refused.code in NOT_OURS or row.get("workType") != "action":
            return True
        why = flat(f"{refused.code}: {refused.happened}", REASON_CHARS_MAX)
        return self._keep_or_forget(self._box.not_run(str(row["work"]), str(row["executionGrant"]), start_before, why))

    def _keep_or_forget(self, call: BoxCall) -> bool:
        """A call whose record cannot be kept was not taken: nothing of it may start."""
        try:
            self._journal.keep(call)
            return True
        except Refused as refused:
            self._box.forget([call.invocation])
            self._say_once("error", f"journal {refused.code}", refused)
            return False

    async def _execute(self, cleared: Cleared, start_before: str) -> bool:
        started = self._box.start(cleared.invocation, cleared.grant, start_before, is_read=cleared.is_read)
        if not self._keep_or_forget(started):
            return False
        self._tell("claimed", {"invocation": cleared.invocation, "tool": cleared.tool.id, "action": cleared.action})
        self._running = asyncio.ensure_future(run_call(cleared.runnable, self._clock, self._tell))
        try:
            outcome = await self._running
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            return False         # it stays started and not ended: unknown, and told as that by the next process
        finally:
            self._running = None
        receipt = write_receipt(cleared, outcome)
        assert isinstance(receipt, Receipt), "nothing is told by reference here: no content leaves by a drop box"
        ended = self._box.end(cleared.invocation, receipt.operation)
        while True:
            try:
                self._journal.keep(ended)
                return True
            except Refused as refused:
                self._say_once("error", f"journal {refused.code}", refused)
            if self._stopping.is_set():
                self._unkept = True      # it is not told either: what the next process finds is a call that was interrupted
                return False
            await asyncio.sleep(DROPBOX_LOOK_S)

    # -- saying it ---------------------------------------------------------------------

    def _publish(self) -> None:
        """Put a receipts file into the box when there is something new to say, or when the last one is not there any more."""
        said = self._box.said(self._advertised)
        if said == self._said and self._last is not None:
            if not self._out.holds(self._last[0]):
                self._out.write(*self._last)
            return
        self._box.now_s(self._clock.wall_s())
        file = self._box.file(said)
        self._journal.keep_state(self._box)          # its number is never used twice
        self._said, self._last = said, (receipts_name(file.worker_id, file.sequence), seal(file, self._key))
        self._out.write(*self._last)
        self._out.prune(re.compile(rf"{re.escape(file.worker_id)}\.([0-9]{{16}})\.receipts", re.ASCII), self._last[0])

    def _say_once(self, kind: str, about: str, refused: Refused, **facts: object) -> None:
        if (kind, about) not in self._told:
            if len(self._told) >= TOLD_MAX:
                self._told.clear()
            self._told.add((kind, about))
            self._tell(kind, {**facts, "code": refused.code, "reason": flat(refused.teaching, REASON_CHARS_MAX)})
