"""The role's side of being a child: settings from the first line of stdin, events to stdout.

With RULITH_LOCAL_EVENTS=stdio the parent hands everything over stdin, so that no
credential stands in an environment or a command line; stdout carries events and nothing
else, and the end of stdin is the parent's death. Without it a role is on its own: its
settings are its environment, and the end of stdin means nothing (cron's is empty).

Units   `t` is milliseconds since the epoch
Source  the design's rules on roles (D11)
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Mapping

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.limits import CONTROL_LINE_BYTES_MAX

SETTINGS = "rulith-local-settings/1"
EVENT = "rulith-local-event"
CONTROL = "rulith-local-control"
MATERIAL = "rulith-local-material"                     # a read of kept material; its answer is an event with the same id
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


class Settings(dict[str, str]):
    """The role's environment as it should see it: the process's own, with what the parent handed over.

    args      what the parent would have written on the command line
    attached  whether a parent listens
    """

    def __init__(self, env: Mapping[str, str], args: tuple[str, ...] = (), attached: bool = False) -> None:
        super().__init__(env)
        self.args = args
        self.attached = attached

    def __repr__(self) -> str:
        return f"Settings({len(self)} values)"        # some are credentials


class _Parent:
    """What this process keeps of its parent: unread bytes of stdin, and where events go."""

    def __init__(self) -> None:
        self.attached = False
        self.unread = b""
        self.events_fd = 1
        self.lock = threading.Lock()

    def read_line(self) -> bytes:
        """One line of stdin without its end; empty at the end of stdin. Raises Refused settings_unreadable."""
        while b"\n" not in self.unread:
            if len(self.unread) > CONTROL_LINE_BYTES_MAX:
                raise Refused("settings_unreadable", problem="a line is too long")
            chunk = os.read(0, 65_536)
            if not chunk:
                return b""
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        return line


_parent = _Parent()


def seal_process() -> None:
    """Keep processes of the same user from reading this one's memory and environment. Linux only, best effort."""
    if sys.platform.startswith("linux"):
        try:
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        except (OSError, AttributeError):
            pass                                       # an exotic libc: the other measures remain


def end_with_parent() -> None:
    """Have the system send SIGTERM once the thread that started this process is gone. Linux only; the end of stdin says it everywhere."""
    if sys.platform.startswith("linux"):
        try:
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        except (OSError, AttributeError):
            pass


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The role's settings; reads stdin's first line when a parent is attached. Call once, first thing.

    Raises Refused settings_unreadable.
    """
    environ = os.environ if environ is None else environ
    seal_process()
    if environ.get("RULITH_LOCAL_EVENTS") != "stdio":
        return Settings(environ)
    _parent.attached = True
    _keep_stdout_for_events()
    line = _parent.read_line()
    try:
        value = json.loads(line)
        env, args = value["env"], value.get("args", [])
        known = value["protocol"] == SETTINGS
        shaped = all(isinstance(each, str) for each in (*env.values(), *args))
    except (ValueError, KeyError, TypeError, AttributeError):
        # Never the parser's words: they could quote a credential.
        raise Refused("settings_unreadable", problem="the first line of stdin is not settings") from None
    if not known or not shaped:
        raise Refused("settings_unreadable", problem=f"they are not {SETTINGS}")
    return Settings({**environ, **env}, tuple(args), True)


def _keep_stdout_for_events() -> None:
    """Events get a descriptor of their own; whatever else prints goes to stderr."""
    try:
        _parent.events_fd = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        _parent.events_fd = 1                          # stderr is closed: a stray print is the lesser harm


def emit(type: str, /, **fields: object) -> None:
    """Tell the parent that `type` happened; nothing without one. Safe from any thread."""
    if not _parent.attached:
        return
    event = {"type": type, "t": int(SystemClock().wall_s() * 1000), **fields}
    line = json.dumps({"protocol": EVENT, "event": event}, separators=(",", ":")).encode() + b"\n"
    try:
        with _parent.lock:
            while line:
                line = line[os.write(_parent.events_fd, line):]
    except OSError:
        pass                                           # the parent is gone; stdin says so too


def _control_of(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if isinstance(value, dict) and value.get("protocol") in (CONTROL, MATERIAL) and isinstance(value.get("operation"), str):
        return value
    return None


async def watch_controls() -> AsyncIterator[dict[str, object]]:
    """Each control message of the parent; `{"operation": "eof"}` last, once the parent is gone.

    Without a parent it yields nothing and never ends.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[dict[str, object]] = asyncio.Queue()

    def listen() -> None:
        # A thread, because stdin may be a pipe that asyncio cannot wait for on Windows.
        control: dict[str, object] | None = {}
        while control is None or control.get("operation") != "eof":
            try:
                line = _parent.read_line()
            except (OSError, Refused):
                line = b""
            control = _control_of(line) if line else {"operation": "eof"}
            if control is not None:
                try:
                    loop.call_soon_threadsafe(arrived.put_nowait, control)
                except RuntimeError:
                    return                             # the loop is over; nobody listens any more

    if not _parent.attached:
        await loop.create_future()
    threading.Thread(target=listen, name="parent", daemon=True).start()
    while True:
        control = await arrived.get()
        yield control
        if control["operation"] == "eof":
            return


async def watch_parent() -> AsyncIterator[str]:
    """Each control operation of the parent, "stop" among them; "eof" last. See `watch_controls`."""
    async for control in watch_controls():
        yield str(control["operation"])


def expect_end() -> asyncio.Future[int]:
    """The exit status of a serving role, once a signal, its parent's word or its parent's death says that this is the end.

    From this call on a signal no longer kills it; whoever waits for the future later finds what came meanwhile.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(status: int) -> None:
        if not ended.done():
            ended.set_result(status)

    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        try:
            loop.add_signal_handler(number, end, status)
        except NotImplementedError:         # Windows: the parent's word and Ctrl+C as KeyboardInterrupt remain
            pass

    async def heed_parent() -> None:
        async for operation in watch_parent():
            if operation in ("stop", "eof"):
                end(0)

    watching = asyncio.ensure_future(heed_parent())
    ended.add_done_callback(lambda _: watching.cancel())
    return ended
