"""The driver of supervised roles: one process at a time, as the table of `supervision.py` says.

Starts, asks to end, waits; ends nothing that it did not start itself. What a role tells goes
to whoever listens, with nothing added.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.workbench.supervision import STABLE_S, Do, Is, On, pause_s, step, what_ended

STOP_GRACE_S = 20.0          # a Worker finishes and reports what it runs
Event = Mapping[str, object]


class Child(Protocol):
    """One running process of a role; `procs.roles.RoleProcess` is one."""

    @property
    def pid(self) -> int: ...
    async def stop(self, grace_s: float = STOP_GRACE_S) -> int: ...
    async def wait(self) -> int: ...
    def last_words(self) -> str: ...


Launch = Callable[[Callable[[Event], None]], Awaitable[Child]]


class Role:
    """A lasting role of this home, kept running while it is wanted.

    launch     makes its process and is given the listener of its events; may raise Refused (then the
               role has failed, with those words)
    ready_on   the event types by which the role says that it is ready
    refused    exit codes that a new try cannot mend
    patient    try for ever, at the longest pause
    on_event   each event the process tells, and the driver's own spawn, exit, restart-wait, restart-failed
    on_change  after every change of state
    """

    def __init__(self, name: str, launch: Launch, clock: Clock, *, ready_on: tuple[str, ...],
                 on_event: Callable[[Event], None], on_change: Callable[[], None],
                 refused: tuple[int, ...] = (), patient: bool = False) -> None:
        self.name = name
        self.state = Is.STOPPED
        self.since = stamp(clock.wall_s())
        self.failures = 0
        self.detail = ""
        self.retry_at: str | None = None
        self.child: Child | None = None
        self._clock = clock
        self._launch = launch
        self._ready_on = ready_on
        self._refused = refused
        self._patient = patient
        self._on_event = on_event
        self._on_change = on_change
        self._timer: asyncio.TimerHandle | None = None
        self._life: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[int] | None = None
        self._grace_s = STOP_GRACE_S
        self._again = False
        self._ready_since_s: float | None = None

    def start(self) -> None:
        self._happen(On.START)

    def stop(self) -> None:
        self._again = False
        self._happen(On.STOP)

    def restart(self) -> None:
        """End its process and start a new one, e.g. at another address."""
        self._again = True
        self._happen(On.STOP)

    @property
    def is_coming(self) -> bool:
        """Whether a process of it is on its way that nobody has to ask for."""
        return self.state is Is.STARTING or (self.state is Is.STOPPING and self._again)

    def row(self) -> dict[str, object]:
        """As the page reads it."""
        return {"state": self.state.value, "since": self.since, "pid": self.child.pid if self.child else None,
                "failures": self.failures, "retryAt": self.retry_at, "detail": self.detail}

    async def close(self, grace_s: float) -> None:
        """Ask it to end, wait `grace_s`, then make it; returns once its process is gone."""
        self._grace_s, self._again = grace_s, False
        self._happen(On.STOP)
        if self._life is not None:
            await asyncio.wait([self._life])

    def _happen(self, event: On) -> None:
        before = self.state
        self.state, todo = step(self.state, event)
        if self.state is not before:
            self.since = stamp(self._clock.wall_s())
        for each in todo:
            self._do(each)
        self._on_change()

    def _do(self, what: Do) -> None:
        loop = asyncio.get_running_loop()
        if what is Do.SPAWN:
            self.retry_at = None
            self._life = loop.create_task(self._live(), name=f"role {self.name}")
        elif what is Do.END:
            if self.child is not None:
                self._ending = loop.create_task(self.child.stop(self._grace_s), name=f"end {self.name}")
        elif what is Do.PAUSE:
            wait_s = pause_s(self.failures)
            self.retry_at = stamp(self._clock.wall_s() + wait_s)
            self._timer = loop.call_later(wait_s, self._happen, On.DUE)
            self._on_event({"type": "restart-wait", "delayMs": int(wait_s * 1000), "failures": self.failures})
        elif what is Do.CALM:
            self.retry_at = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        elif what is Do.FORGET:
            self.failures = 0
            self.detail = ""

    async def _live(self) -> None:
        """One process from its start to its end."""
        self._ready_since_s = None
        try:
            child = await self._launch(self._heard)
        except Refused as problem:
            self.detail = str(problem)
            self._happen(On.NOT_STARTED if self.state is Is.STARTING else On.ENDED)
            return
        self.child = child
        self._on_event({"type": "spawn", "pid": child.pid})
        if self.state is Is.STOPPING:
            self._do(Do.END)                       # asked while it was being made
        else:
            self._on_change()
        self._ended(await child.wait(), child.last_words())

    def _heard(self, event: Event) -> None:
        if event.get("type") in self._ready_on and self.state in (Is.STARTING, Is.ONLINE, Is.STOPPING):
            self._ready_since_s = self._clock.monotonic_s()
            if self.state is not Is.ONLINE:
                self.detail = ""
            self._happen(On.READY)
        self._on_event(event)

    def _ended(self, code: int, words: str) -> None:
        wanted = self.state is Is.STOPPING
        self.child = None
        steady = self._ready_since_s is not None and self._clock.monotonic_s() - self._ready_since_s >= STABLE_S
        self.failures = 0 if wanted else (1 if steady else self.failures + 1)
        self.detail = "" if wanted else last_line(words) if code > 0 else f"It was ended by signal {-code}." if code < 0 else ""
        told: dict[str, object] = {"type": "exit", "code": code, "wanted": wanted}
        if code < 0:
            told["signal"] = -code
        self._on_event(told)
        event = what_ended(code, self.failures, refused=self._refused, patient=self._patient)
        if event is On.GAVE_UP and not wanted:
            self._on_event({"type": "restart-failed", "failures": self.failures})
        self._happen(event)
        if self._again and self.state is Is.STOPPED:
            self._again = False
            self._happen(On.START)


def last_line(words: str) -> str:
    """The last line a role wrote before it ended, which is where a refusal stands."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""
