"""Locks between processes: tickets that name their holder, and kernel locks on a file.

A ticket says who holds it and is removed only when its process is proven gone; it never
expires, because a slow holder is still a holder. A kernel lock ends with its process and
suits a file that is held for a whole run. Knows nothing of what is being protected.

Units   *_s seconds
Source  the workbench surface, "locks"
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rulith.base.clock import Clock, SystemClock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint_uuid
from rulith.disk.atomic import write_refusal
from rulith.procs.identity import is_proven_gone, process_stamp

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

POLL_S = 0.025
REGISTRY_WAIT_S = 15.0
TICKET_BYTES_MAX = 4096
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LOCKED_BYTE = 1 << 30       # Windows locks bytes, not files: one far beyond the text that others may read


class KernelLock:
    """An exclusive lock on `path` that the kernel takes back when this process ends."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._handle: int | None = None

    def take(self) -> bool:
        """Take it if it is free; the file then holds our pid. Raises Refused write_failed."""
        assert self._handle is None, "already held"
        try:
            handle = os.open(self.path, _OPEN_FLAGS, 0o600)
        except OSError as problem:
            raise write_refusal(self.path, problem) from None
        if not _lock(handle, wait=False):
            os.close(handle)
            return False
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0) if hasattr(os, "pwrite") else os.write(handle, b"%d\n" % os.getpid())
        except OSError as problem:
            os.close(handle)
            raise write_refusal(self.path, problem) from None
        self._handle = handle
        return True

    def holder_pid(self) -> int | None:
        """The pid its file names; None when it names none."""
        try:
            text = self.path.read_bytes()[:32].decode("ascii").strip()
        except (OSError, ValueError):
            return None
        return int(text) if text.isdigit() else None

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)           # closing releases; the file stays, so nobody locks a removed name
            self._handle = None


def _lock(handle: int, *, wait: bool) -> bool:
    if sys.platform == "win32":
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return wait                          # a file system without locks: tickets alone must do
    return True


@contextmanager
def _guarded(path: Path) -> Iterator[None]:
    """Only one process of this machine looks at and changes the ticket `path` at a time."""
    guard = path.with_name(path.name + ".guard")
    try:
        handle = os.open(guard, _OPEN_FLAGS, 0o600)
    except OSError as problem:
        raise write_refusal(path, problem) from None
    try:
        _lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


class HeldLock:
    """A ticket in our name. Release it, or let `with` do so."""

    def __init__(self, path: Path, ticket_id: str) -> None:
        self.path = path
        self._id = ticket_id

    def release(self) -> None:
        """Remove our ticket; whatever else stands in its place stays."""
        with _guarded(self.path):
            try:
                if _read(self.path).get("id") == self._id:
                    self.path.unlink()
            except (FileNotFoundError, ValueError):
                pass                         # removed by hand: released all the same

    def __enter__(self) -> HeldLock:
        return self

    def __exit__(self, *problem: object) -> None:
        self.release()


def _read(path: Path) -> dict[str, object]:
    """The ticket. Raises FileNotFoundError, or ValueError when it cannot be read as one."""
    try:
        content = path.read_bytes()[:TICKET_BYTES_MAX]
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise ValueError(problem.strerror or "unreadable") from None
    ticket = json.loads(content)             # ValueError on an empty or torn one
    if not isinstance(ticket, dict) or not isinstance(ticket.get("pid"), int):
        raise ValueError("it names no process")
    return ticket


def _refusal(path: Path) -> Refused | None:
    """Why the ticket at `path` keeps others out; None when it does not, being gone or proven stale."""
    try:
        ticket = _read(path)
    except FileNotFoundError:
        return None
    except ValueError as problem:
        return Refused("lock_unreadable", path=str(path), problem=problem)
    host = ticket.get("host")
    if host != socket.gethostname():
        return Refused("lock_elsewhere", path=str(path), pid=ticket["pid"], host=host)
    if is_proven_gone(ticket["pid"], ticket):
        return None
    return Refused("lock_held", path=str(path), pid=ticket["pid"], purpose=ticket.get("purpose") or "unnamed",
                   since=ticket.get("at"))


def holder_of(path: Path | str) -> Refused | None:
    """Why `path` cannot be taken now, or None; for a page that says why a button is disabled."""
    return _refusal(Path(path))


def take_lock(path: Path | str, purpose: str, *, wait_s: float = 0.0, clock: Clock | None = None) -> HeldLock:
    """Take the ticket `path`, removing one whose process is proven gone; waits up to `wait_s` (blocking).

    Raises Refused: lock_held, lock_elsewhere, lock_unreadable, write_failed, disk_full.
    """
    path = Path(path)
    clock = clock or SystemClock()
    deadline = clock.monotonic_s() + wait_s
    pause = threading.Event()
    while True:
        with _guarded(path):
            refusal = _refusal(path)
            if refusal is None:
                return _write_ticket(path, purpose, clock)
        if clock.monotonic_s() >= deadline:
            raise refusal
        pause.wait(POLL_S)


def _write_ticket(path: Path, purpose: str, clock: Clock) -> HeldLock:
    ticket_id = mint_uuid()
    ticket = {"pid": os.getpid(), "host": socket.gethostname(), "id": ticket_id,
              "at": stamp(clock.wall_s()), "purpose": purpose, **process_stamp()}
    fresh = path.with_name(f"{path.name}.{ticket_id}.tmp")
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(ticket).encode())
        os.replace(fresh, path)              # never an empty ticket, whatever happens in between
    except OSError as problem:
        raise write_refusal(path, problem) from None
    return HeldLock(path, ticket_id)
