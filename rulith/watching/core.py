"""The rails of a watcher: when a command starts, and when it does not.

Decides from what moved and what time passed. Promises: one run at a time; what moves during
a run is one wake-up afterwards; a burst is one wake-up; never more starts in an hour than
the ceiling. Waits for nothing, starts nothing, prints nothing: it says what is to be done.

    waiting --Moved--> gathering --Quiet--> running --RunOver--> settling --Settled--> waiting
                                                                         (or running, where more has moved)

Units   now_s seconds of the monotonic clock, wall_s of the wall clock
Source  the council surface, "Watcher"
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rulith.base.limits import WATCH_KINDS_MAX, WATCH_PENDING_MAX, WATCH_THREADS_MAX

GATHER_S = 0.3                   # so long without news ends a burst
HOUR_S = 3_600.0
EXIT_DONE, EXIT_CEILING, EXIT_KEY = 0, 3, 4


class State(enum.Enum):
    WAITING = "waiting"
    GATHERING = "gathering"
    RUNNING = "running"
    SETTLING = "settling"
    ENDED = "ended"


# --- what happens --------------------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """Threads need the agent; `kinds` says what happened in which, as far as that was told."""

    threads: tuple[int, ...]
    kinds: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Quiet:
    """The burst is over: `Gather`'s time has passed."""


@dataclass(frozen=True)
class RunOver:
    """The command has ended, and all that it had started."""


@dataclass(frozen=True)
class Settled:
    """The pause after a run is over."""


@dataclass(frozen=True)
class KeyRefused:
    """The council does not know the key any more."""


@dataclass(frozen=True)
class Stopped:
    """A signal, or the parent."""

    status: int


Event = Moved | Quiet | RunOver | Settled | KeyRefused | Stopped


# --- what is to be done --------------------------------------------------------------------


@dataclass(frozen=True)
class Wait:
    """Say that it waits."""


@dataclass(frozen=True)
class Gather:
    """Send Quiet after so many seconds; a later Gather takes this one's place."""

    delay_s: float


@dataclass(frozen=True)
class Start:
    """Keep `starts` first, then start the command for these threads."""

    threads: tuple[int, ...]
    starts: tuple[float, ...]


@dataclass(frozen=True)
class Settle:
    """Send Settled after so many seconds."""

    delay_s: float


@dataclass(frozen=True)
class Tell:
    """There is no command: print what happened."""

    threads: tuple[int, ...]
    kinds: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Ceiling:
    """Say that there were too many starts."""

    starts: int


@dataclass(frozen=True)
class EndRun:
    """End the command and all that it has started."""


@dataclass(frozen=True)
class Exit:
    status: int


Do = Wait | Gather | Start | Settle | Tell | Ceiling | EndRun | Exit


@dataclass(frozen=True)
class Rails:
    """ceiling   starts in a rolling hour; 0 is no limit
    settle_s   the pause after a run, and the longest that a burst is gathered"""

    has_command: bool
    once: bool = False
    settle_s: float = 2.0
    ceiling: int = 40


class IllegalStep(AssertionError):
    """An event that cannot come in this state: a bug of whoever drives this."""


def recent(starts: Iterable[float], wall_s: float) -> tuple[float, ...]:
    """The starts of the last hour. A clock that was set back leaves some in the future: one more hour of them counts."""
    return tuple(each for each in starts if abs(wall_s - each) < HOUR_S)


class Watch:
    """state   where it is; `step` moves it"""

    def __init__(self, rails: Rails, starts: Iterable[float] = ()) -> None:
        self.state = State.WAITING
        self._rails = rails
        self._starts = tuple(starts)
        self._pending: dict[int, None] = {}            # in the order in which they moved
        self._kinds: dict[tuple[int, str], None] = {}
        self._gathering_since_s = 0.0

    def begin(self) -> list[Do]:
        return [Wait()]

    def step(self, event: Event, *, now_s: float, wall_s: float) -> list[Do]:
        """What follows. Raises IllegalStep."""
        act = TABLE.get((self.state, type(event)))
        if act is None:
            legal = sorted(kind.__name__ for state, kind in TABLE if state is self.state)
            raise IllegalStep(f"{type(event).__name__} while {self.state.value}; legal: {', '.join(legal)}")
        self.state, done = act(self, event, now_s, wall_s)
        return done

    # one method for each way out of a state

    def _gather(self, event: Moved, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        if not self._took(event):
            return self.state, []
        self._gathering_since_s = now_s
        return State.GATHERING, [Gather(min(GATHER_S, self._rails.settle_s))]

    def _gather_on(self, event: Moved, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        self._took(event)
        left_s = self._gathering_since_s + self._rails.settle_s - now_s
        return State.GATHERING, [Gather(max(0.0, min(GATHER_S, left_s)))]

    def _keep(self, event: Moved, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        self._took(event)
        return self.state, []

    def _wake(self, event: Quiet | Settled, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        if not self._pending:
            return State.WAITING, [Wait()]
        threads = tuple(self._pending)[:WATCH_THREADS_MAX]
        kinds = tuple(row for row in self._kinds if row[0] in threads)
        if not self._rails.has_command:
            return State.ENDED, [Tell(threads, kinds), Exit(EXIT_DONE)]
        self._starts = recent(self._starts, wall_s)
        if self._rails.ceiling and len(self._starts) >= self._rails.ceiling:
            return State.ENDED, [Ceiling(len(self._starts)), Exit(EXIT_CEILING)]
        self._starts += (wall_s,)
        for thread in threads:
            del self._pending[thread]
        self._kinds = {row: None for row in self._kinds if row[0] in self._pending}
        return State.RUNNING, [Start(threads, self._starts)]

    def _ran(self, event: RunOver, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        if self._rails.once:
            return State.ENDED, [Exit(EXIT_DONE)]
        return State.SETTLING, [Settle(self._rails.settle_s)]

    def _end(self, event: KeyRefused | Stopped, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        status = event.status if isinstance(event, Stopped) else EXIT_KEY
        return State.ENDED, [*([EndRun()] if self.state is State.RUNNING else []), Exit(status)]

    def _late(self, event: Event, now_s: float, wall_s: float) -> tuple[State, list[Do]]:
        return State.ENDED, []                         # it was on its way when this ended

    def _took(self, event: Moved) -> bool:
        """Remember what moved, as far as there is room: what is left out still waits in the council."""
        for thread in event.threads:
            if len(self._pending) < WATCH_PENDING_MAX:
                self._pending.setdefault(thread)
        for row in event.kinds:
            if len(self._kinds) < WATCH_KINDS_MAX:
                self._kinds.setdefault(row)
        return bool(self._pending)


_Act = Callable[..., tuple[State, "list[Do]"]]
TABLE: dict[tuple[State, type], _Act] = {
    (State.WAITING, Moved): Watch._gather,
    (State.GATHERING, Moved): Watch._gather_on,
    (State.GATHERING, Quiet): Watch._wake,
    (State.RUNNING, Moved): Watch._keep,
    (State.RUNNING, RunOver): Watch._ran,
    (State.SETTLING, Moved): Watch._keep,
    (State.SETTLING, Settled): Watch._wake,
    **{(state, kind): Watch._end for state in State if state is not State.ENDED for kind in (KeyRefused, Stopped)},
    **{(State.ENDED, kind): Watch._late for kind in (Moved, Quiet, RunOver, Settled, KeyRefused, Stopped)},
}
