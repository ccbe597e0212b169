"""The journal of a drop-box Worker: its instance and its calls, one small file each, written whole before anything follows.

Lies in the home, never in the drop box: what travels can be copied, lost and brought back,
and a memory that does the same would run a call twice. So a journal that is not in the place
where it was written (a copied folder, a restored backup) is not believed: the Worker
becomes another instance, and a person settles what the old one had under way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.disk.atomic import make_folder, read_json, write_json, write_refusal
from rulith.disk.dropfolder import place_identity
from rulith.disk.locks import KernelLock
from rulith.work.box import Box, BoxCall

STATE, CALLS, LOCK = "instance.json", "calls", "lock"


class Journal:
    """The journal in `folder`, locked for this process. Raises Refused: dropbox_journal_held, dropbox_journal_unreadable, write_failed, disk_full."""

    def __init__(self, folder: Path, connection_id: str, mint_worker_id: Callable[[], str]) -> None:
        self.folder = make_folder(folder)
        self._calls = make_folder(folder / CALLS)
        self._lock = KernelLock(folder / LOCK)
        if not self._lock.take():
            raise Refused("dropbox_journal_held", folder=str(folder), pid=self._lock.holder_pid() or "another one")
        self.was_moved = False
        try:
            self.box = self._read(connection_id, mint_worker_id)
            for call in self.box.interrupted():
                self.keep(call)
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        self._lock.release()

    def _read(self, connection_id: str, mint_worker_id: Callable[[], str]) -> Box:
        place, path = place_identity(self._calls), self.folder / STATE
        if path.exists():
            known = read_json(path)
            try:
                box = Box(known["workerId"], connection_id, known["generation"], None, known["sequence"], known["seen"], known["latestS"])
                self.was_moved = known["place"] != place
            except (KeyError, TypeError):
                raise Refused("dropbox_journal_unreadable", file=str(path)) from None
            if not self.was_moved:
                for each in sorted(self._calls.glob("*.json")):
                    call = self._call(each)
                    box.calls[call.invocation] = call
                return box
        for each in self._calls.glob("*.json"):
            _remove(each)
        box = Box(mint_worker_id(), connection_id)
        self.keep_state(box)
        return box

    @staticmethod
    def _call(path: Path) -> BoxCall:
        try:
            return BoxCall(**read_json(path, 2**20))
        except TypeError:
            raise Refused("dropbox_journal_unreadable", file=str(path)) from None

    def keep(self, call: BoxCall) -> None:
        """Durable when this returns."""
        write_json(self._path(call.invocation), call.record())

    def keep_state(self, box: Box) -> None:
        write_json(self.folder / STATE, {"workerId": box.worker_id, "generation": box.generation, "sequence": box.sequence,
                                         "seen": box.seen, "latestS": box.latest_s, "place": place_identity(self._calls)})  # fmt: skip

    def forget(self) -> None:
        """Drop the calls that could not be started again by any file."""
        gone = self.box.forgettable()
        for invocation in gone:
            _remove(self._path(invocation))
        self.box.forget(gone)

    def _path(self, invocation: str) -> Path:
        return self._calls / f"{sha256_hex(invocation.encode('utf-8', 'surrogatepass'))[:40]}.json"


def _remove(path: Path) -> None:
    """Raises Refused write_failed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise write_refusal(path, problem) from None
