"""Supervision of one lasting role: one table of what happens when it starts, ends, or is asked to.

Decides; does not act: the driver (`roles.py`) starts processes and sets timers. Readiness is the
role's own word, never a timer. A role that ends by itself is started again after a growing pause;
one whose credential was rejected is not, since trying again cannot help.

Units   *_s seconds
Source  the workbench surface, "supervision"
"""

from __future__ import annotations

from enum import Enum

PAUSES_S = (0.25, 1.0, 4.0, 10.0)
STABLE_S = 60.0              # after this long the next end counts as the first again


class Is(Enum):
    """What a role is, in the words of the state answer."""

    STOPPED = "stopped"          # nobody wants it to run
    STARTING = "starting"        # a process, not ready yet
    ONLINE = "online"
    STOPPING = "stopping"        # asked to end, still finishing
    RESTARTING = "restarting"    # ended by itself; a timer runs
    NEEDS_SETUP = "needs_setup"  # its credential or configuration was refused
    FAILED = "failed"            # ended by itself too often


class On(Enum):
    """What can happen to it."""

    START = "asked to start"
    STOP = "asked to stop"
    READY = "it said it is ready"
    ENDED = "it ended by itself"
    REFUSED = "it ended because it was refused"
    GAVE_UP = "it ended by itself, once too often"
    DUE = "the pause is over"
    NOT_STARTED = "its process could not be made"


class Do(Enum):
    """What the driver does about it."""

    SPAWN = "start its process"
    END = "ask its process to end"
    PAUSE = "set the timer for the next start"
    CALM = "drop the timer"
    FORGET = "count its ends from zero again"


TABLE: dict[tuple[Is, On], tuple[Is, tuple[Do, ...]]] = {
    # state            what happened        next             what to do, in order
    (Is.STOPPED,     On.START):       (Is.STARTING,    (Do.FORGET, Do.SPAWN)),
    (Is.NEEDS_SETUP, On.START):       (Is.STARTING,    (Do.FORGET, Do.SPAWN)),
    (Is.FAILED,      On.START):       (Is.STARTING,    (Do.FORGET, Do.SPAWN)),
    (Is.RESTARTING,  On.START):       (Is.STARTING,    (Do.CALM, Do.FORGET, Do.SPAWN)),
    (Is.RESTARTING,  On.DUE):         (Is.STARTING,    (Do.SPAWN,)),
    (Is.STARTING,    On.START):       (Is.STARTING,    ()),     # twice the same wish is one wish
    (Is.ONLINE,      On.START):       (Is.ONLINE,      ()),
    (Is.STARTING,    On.READY):       (Is.ONLINE,      ()),
    (Is.ONLINE,      On.READY):       (Is.ONLINE,      ()),     # a role may say it again
    (Is.STOPPING,    On.READY):       (Is.STOPPING,    ()),     # too late to count
    (Is.STARTING,    On.ENDED):       (Is.RESTARTING,  (Do.PAUSE,)),
    (Is.ONLINE,      On.ENDED):       (Is.RESTARTING,  (Do.PAUSE,)),
    (Is.STARTING,    On.REFUSED):     (Is.NEEDS_SETUP, ()),
    (Is.ONLINE,      On.REFUSED):     (Is.NEEDS_SETUP, ()),
    (Is.STARTING,    On.GAVE_UP):     (Is.FAILED,      ()),
    (Is.ONLINE,      On.GAVE_UP):     (Is.FAILED,      ()),
    (Is.STARTING,    On.NOT_STARTED): (Is.FAILED,      ()),
    (Is.STARTING,    On.STOP):        (Is.STOPPING,    (Do.END,)),
    (Is.ONLINE,      On.STOP):        (Is.STOPPING,    (Do.END,)),
    (Is.STOPPING,    On.STOP):        (Is.STOPPING,    ()),
    (Is.RESTARTING,  On.STOP):        (Is.STOPPED,     (Do.CALM,)),
    (Is.NEEDS_SETUP, On.STOP):        (Is.STOPPED,     ()),
    (Is.FAILED,      On.STOP):        (Is.STOPPED,     ()),
    (Is.STOPPED,     On.STOP):        (Is.STOPPED,     ()),
    (Is.STOPPING,    On.ENDED):       (Is.STOPPED,     ()),
    (Is.STOPPING,    On.REFUSED):     (Is.STOPPED,     ()),
    (Is.STOPPING,    On.GAVE_UP):     (Is.STOPPED,     ()),
    (Is.STOPPING,    On.START):       (Is.STOPPING,    ()),     # the page offers it again once it has stopped
}


class IllegalStep(Exception):
    """The driver told of something that cannot happen in this state: a bug of the driver."""


def step(state: Is, event: On) -> tuple[Is, tuple[Do, ...]]:
    """The state after `event`, and what to do. Raises IllegalStep for a pair that cannot be."""
    try:
        return TABLE[state, event]
    except KeyError:
        legal = sorted(each.name for held, each in TABLE if held is state)
        raise IllegalStep(f"{event.name} while {state.value}; legal: {', '.join(legal)}") from None


def what_ended(code: int | None, failures: int, *, refused: tuple[int, ...], patient: bool) -> On:
    """Which event an exit is: `refused` are the codes that a new try cannot mend.

    failures   ends by itself in a row, this one included
    patient    never gives up (the gateway: without it nothing works)
    """
    if code in refused:
        return On.REFUSED
    if failures > len(PAUSES_S) and not patient:
        return On.GAVE_UP
    return On.ENDED


def pause_s(failures: int) -> float:
    """How long to wait after that many ends by itself in a row."""
    return PAUSES_S[min(failures, len(PAUSES_S)) - 1]
