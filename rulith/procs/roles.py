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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import EVENT_LINE_BYTES_MAX, LOG_BYTES_MAX
from rulith.procs.archive import checkout_root, role_command, running_archive
from rulith.procs.child import CONTROL, EVENT, SETTINGS
from rulith.procs.trees import OWN_GROUP, kill_group, kill_tree

STOP_GRACE_S = 20.0        # a Worker finishes and reports what it runs
TERM_GRACE_S = 2.0
EVENT_TYPES_MAX = 256      # remembered for waiting; a role has a few dozen
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

    def __init__(self, role: str, process: asyncio.subprocess.Process, on_event: Callable[[Event], None] | None,
                 log_path: Path | None, log_start: int) -> None:
        self.role = role
        self.latest: dict[str, Event] = {}
        self._process = process
        self._on_event = on_event
        self._log_path = log_path
        self._log_start = log_start
        self._waiters: list[tuple[str, asyncio.Future[Event]]] = []
        self._reading = asyncio.ensure_future(self._read_events())
        self._ended = asyncio.ensure_future(self._wait_end())

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
            inherited["PYTHONPATH"] = str(checkout_root())
        log, log_start = _open_log(log_path)
        try:
            process = await asyncio.create_subprocess_exec(
                *role_command(role, archive), cwd=cwd, env=inherited, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=log, **OWN_GROUP)
        except OSError as problem:
            raise Refused("role_not_started", role=role, problem=problem.strerror or problem) from None
        finally:
            if log is not None:
                os.close(log)
        self = cls(role, process, on_event, log_path, log_start)
        await self._write({"protocol": SETTINGS, "env": dict(env or {}), "args": list(args)})
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status once it has ended; negative: the signal that ended it."""
        return self._process.returncode

    def is_running(self) -> bool:
        return self._process.returncode is None

    async def control(self, operation: str, **fields: object) -> None:
        """Send a control message; silently nothing to a role that has ended."""
        await self._write({"protocol": CONTROL, "operation": operation, **fields})

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
            raise Refused("role_ended", role=self.role, status=self.status, words=self.last_words() or "no message")
        raise Refused("role_silent", role=self.role, type=type, seconds=f"{timeout_s:g}")

    async def stop(self, grace_s: float = STOP_GRACE_S) -> int:
        """Ask it to stop, wait `grace_s`, then make it; the exit status. Leaves no process behind."""
        if self.is_running():
            await self.control("stop")
            if not await self._ends_within(grace_s):
                self._close_stdin()                    # as if we had died: let everything lie
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
        status = await self._process.wait()
        kill_group(self.pid)
        done, _ = await asyncio.wait([self._reading], timeout=1.0)
        if not done:
            self._reading.cancel()                     # somebody outside its group holds its stdout
        self._close_stdin()
        return status

    def _close_stdin(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def _write(self, message: dict[str, object]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError, RuntimeError):
            pass                                       # it has ended; waiting for it says how

    async def _read_events(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        rest = bytearray()
        skipping = False                               # inside a line that is too long
        while chunk := await stdout.read(65_536):
            rest += chunk
            *lines, last = rest.split(b"\n")
            rest = bytearray(last)
            for line in lines:
                if not skipping:
                    self._take_line(bytes(line))
                skipping = False
            if len(rest) > EVENT_LINE_BYTES_MAX:
                rest.clear()
                skipping = True

    def _take_line(self, line: bytes) -> None:
        event = _event_of(line)
        if event is None:
            return                                     # not ours to understand: a stray print is no event
        type_ = str(event["type"])
        if type_ in self.latest or len(self.latest) < EVENT_TYPES_MAX:
            self.latest[type_] = event
        for wanted, arrived in self._waiters:
            if wanted == type_ and not arrived.done():
                arrived.set_result(event)
        if self._on_event is not None:
            self._on_event(event)


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
