"""Roles as child processes: started with their settings on stdin, heard by their events.

A role is the same program with another word. Its command line and environment carry no
credential; its stdout carries events, its stderr goes to a log. It is stopped by asking,
then by signal, then as a whole group, and always waited for.

Units   *_s seconds
Source  the design's rules on roles (D8, D11)
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import EVENT_LINE_BYTES_MAX, LOG_BYTES_MAX
from rulith.procs.archive import checkout_root, role_command, running_archive
from rulith.procs.child import CONTROL, EVENT, MATERIAL, SETTINGS
from rulith.procs.spawned import Spawned
from rulith.procs.trees import kill_group, kill_tree

STOP_GRACE_S = 20.0        # a Worker finishes and reports what it runs
TERM_GRACE_S = 2.0
EVENT_TYPES_MAX = 256      # remembered for waiting; a role has a few dozen
PIPES_S = 1.0              # how long what it left behind may hold its stdout open
ERROR_TAIL_BYTES = 2048

# What no role inherits: our own settings, which only the parent hands over, and model keys.
_NOT_INHERITED = re.compile(
    r"RULITH_.*|RIVENDELL_.*|(ANTHROPIC|OPENAI|GEMINI|MISTRAL|GROQ|XAI|DEEPSEEK)_.*|(.*_)?API_?KEY", re.I | re.S)

Event = dict[str, object]


def inherited_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a role takes over from its parent's environment."""
    return {name: value for name, value in environ.items() if not _NOT_INHERITED.fullmatch(name)}


class RoleProcess:
    """A running role. Made by `RoleProcess.spawn`.

    latest   the latest event of each type
    """

    def __init__(self, role: str, on_event: Callable[[Event], None] | None, log_path: Path | None, log_start: int) -> None:
        self.role = role
        self.latest: dict[str, Event] = {}
        self._on_event = on_event
        self._log_path = log_path
        self._log_start = log_start
        self._waiters: list[tuple[str, asyncio.Future[Event]]] = []
        self._lines = _EventLines()
        self._child: Spawned = None  # type: ignore[assignment]  # set by spawn before anyone sees this
        self._ended: asyncio.Future[int] = None  # type: ignore[assignment]

    @classmethod
    async def spawn(cls, role: str, *, env: Mapping[str, str] | None = None, args: Sequence[str] = (),
                    archive: Path | None = None, log_path: Path | None = None, cwd: Path | None = None,
                    on_event: Callable[[Event], None] | None = None,
                    environ: Mapping[str, str] | None = None) -> RoleProcess:
        """Start `role` and hand it its settings.

        env       settings and credentials: only ever on its stdin
        args      what a person would write after the role's name
        archive   the copy to run from (see disk.archive); the running archive when None
        log_path  where its stderr is appended; ours when None
        on_event  called with each event as it comes
        Raises Refused role_not_started.
        """
        inherited = inherited_environment(os.environ if environ is None else environ)
        inherited["RULITH_LOCAL_EVENTS"] = "stdio"
        archive = archive or running_archive()
        if archive is None:
            inherited.update(PYTHONPATH=str(checkout_root()), PYTHONSAFEPATH="1")      # no `rulith` of the folder it works in
        log, log_start = _open_log(log_path)
        self = cls(role, on_event, log_path, log_start)
        try:
            self._child = await Spawned.start(
                role_command(role, archive), on_output=self._take_output, has_stdin=True, stderr=log,
                cwd=None if cwd is None else str(cwd), env=inherited)
        except (OSError, ValueError) as problem:
            raise Refused("role_not_started", role=role, problem=getattr(problem, "strerror", None) or problem) from None
        finally:
            if log is not None:
                os.close(log)
        self._ended = asyncio.ensure_future(self._wait_end())
        self._write({"protocol": SETTINGS, "env": dict(env or {}), "args": list(args)})
        return self

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def status(self) -> int | None:
        """Its exit status once it has ended; negative: the signal that ended it."""
        return self._child.status

    def is_running(self) -> bool:
        return self._child.status is None

    def control(self, operation: str, **fields: object) -> None:
        """Send a control message; silently nothing to a role that has ended."""
        self._write({"protocol": CONTROL, "operation": operation, **fields})

    def read_material(self, **fields: object) -> None:
        """Ask a Worker for a window of what it keeps; it answers with one `material-read` event of the same id."""
        self._write({"protocol": MATERIAL, "operation": "read", **fields})

    async def wait(self) -> int:
        """Wait for its end, its last events included; the exit status."""
        return await asyncio.shield(self._ended)

    async def wait_for_event(self, type: str, timeout_s: float) -> Event:
        """The latest event of `type`, waiting for the first one.

        Raises Refused: role_ended (with its last words), role_silent.
        """
        if type in self.latest:
            return self.latest[type]
        arrived: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        waiter = (type, arrived)
        self._waiters.append(waiter)
        try:
            await asyncio.wait([arrived, self._ended], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiters.remove(waiter)
        if arrived.done():
            return arrived.result()
        if self._ended.done():
            raise Refused("role_ended", role=self.role, status=self.status, words=self.last_words() or "no message.")
        raise Refused("role_silent", role=self.role, type=type, seconds=f"{timeout_s:g}")

    async def stop(self, grace_s: float = STOP_GRACE_S) -> int:
        """Ask it to stop, wait `grace_s`, then make it; the exit status. Leaves no process behind."""
        if self.is_running():
            self.control("stop")
            if not await self._ends_within(grace_s):
                self._child.close_stdin()              # as if we had died: let everything lie
                self._signal(signal.SIGTERM)
                if not await self._ends_within(TERM_GRACE_S):
                    kill_tree(self.pid)
        return await self.wait()

    async def kill(self) -> int:
        """End it and everything below it at once."""
        if self.is_running():
            kill_tree(self.pid)
        return await self.wait()

    def last_words(self) -> str:
        """The end of what it wrote to its log since this start."""
        if self._log_path is None:
            return ""
        try:
            with open(self._log_path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._log_start, size - ERROR_TAIL_BYTES))
                return file.read(ERROR_TAIL_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    # inside

    async def _ends_within(self, timeout_s: float) -> bool:
        done, _ = await asyncio.wait([self._ended], timeout=timeout_s)
        return bool(done)

    def _signal(self, number: int) -> None:
        if sys.platform != "win32" and self.is_running():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass                                   # it ended just now

    async def _wait_end(self) -> int:
        status = await self._child.exited
        if not self._child.closed.done():
            kill_group(self.pid)                       # what it left behind would hold its stdout open
            await asyncio.wait([self._child.closed], timeout=PIPES_S)
        self._child.close()
        return status

    def _write(self, message: dict[str, object]) -> None:
        self._child.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def _take_output(self, fd: int, data: bytes) -> None:
        for event in self._lines.receive(data):
            type_ = str(event["type"])
            if type_ in self.latest or len(self.latest) < EVENT_TYPES_MAX:
                self.latest[type_] = event
            for wanted, arrived in self._waiters:
                if wanted == type_ and not arrived.done():
                    arrived.set_result(event)
            if self._on_event is not None:
                try:
                    self._on_event(event)
                except Exception:          # top of a callback: the loop would close the pipe for a listener's bug
                    traceback.print_exc(file=sys.stderr)


class _EventLines:
    """Bytes in, events out. A line that is too long or is no event is skipped: a stray print is no event."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._skipping = False

    def receive(self, data: bytes) -> list[Event]:
        events = []
        *lines, last = data.split(b"\n")
        for line in lines:
            self._rest += line
            if not self._skipping and (event := _event_of(bytes(self._rest))) is not None:
                events.append(event)
            self._rest.clear()
            self._skipping = False
        self._rest += last
        if len(self._rest) > EVENT_LINE_BYTES_MAX:
            self._rest.clear()
            self._skipping = True
        return events


def _event_of(line: bytes) -> Event | None:
    if len(line) > EVENT_LINE_BYTES_MAX:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("protocol") != EVENT:
        return None
    event = value.get("event")
    return event if isinstance(event, dict) and isinstance(event.get("type"), str) else None


def _open_log(path: Path | None) -> tuple[int | None, int]:
    """The log's descriptor and its size now; a full log is moved aside first."""
    if path is None:
        return None, 0
    try:
        if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
            os.replace(path, path.with_name(path.name + ".1"))
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as problem:
        raise Refused("role_not_started", role="the role", problem=f"its log {path}: {problem.strerror}") from None
    return handle, os.fstat(handle).st_size
