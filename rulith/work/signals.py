"""What happens to a Worker, and what it then does: the two vocabularies of work/core.py.

Signals come in, deeds go out; both are plain values, so a test or a simulator can play
the gateway, the clock and the adapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from rulith.adapters.hands import Runnable
from rulith.adapters.outcomes import Outcome
from rulith.wire.artifacts import Held
from rulith.work.replies import Reply


class Phase(Enum):
    """What the one line of work is waiting for. Renewals run beside it."""

    NEW = "new"
    SOURCING = "sourcing"        # the Source list, before the first Poll or between rows
    ASKING = "asking"            # a Poll
    RESTING = "resting"          # the time until the next Poll
    CLAIMING = "claiming"        # a claim, or a renewal that the claim waits for
    RUNNING = "running"          # the adapter
    KEEPING = "keeping"          # a result that is told by reference: its place here, its reference there
    REPORTING = "reporting"      # a receipt's answer, or a renewal that the receipt waits for
    RESENDING = "resending"      # the time until the same receipt goes out again
    YIELDING = "yielding"        # the release of a line that is asked for again at once
    LEAVING = "leaving"          # the release
    GONE = "gone"


@dataclass(frozen=True)
class ToKeep:
    """A result too large to be told, or kept already: the text, or what is held; and the facts that go with the reference."""

    text: str = field(repr=False)
    held: Held | None
    facts: tuple[Mapping[str, object], ...] = field(repr=False)
    confirmed: bool = False


# -- signals ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Began:
    pass


@dataclass(frozen=True)
class SourcesCame:
    """`rows` is None when no usable list came; `rejected` when the credential was refused."""

    rows: list[object] | None = field(default=None, repr=False)
    rejected: Reply | None = None
    why: str = ""


@dataclass(frozen=True)
class PollCame:
    reply: Reply


@dataclass(frozen=True)
class ClaimCame:
    reply: Reply


@dataclass(frozen=True)
class RunEnded:
    outcome: Outcome = field(repr=False)


@dataclass(frozen=True)
class KeptCame:
    """`ref` of the object, or `code` why it has none; `rejected` when the credential was refused."""

    ref: str = ""
    code: str = ""
    why: str = ""
    rejected: Reply | None = None


@dataclass(frozen=True)
class ReportCame:
    reply: Reply


@dataclass(frozen=True)
class RenewCame:
    reply: Reply


@dataclass(frozen=True)
class ReleaseCame:
    reply: Reply


@dataclass(frozen=True)
class TimeCame:
    """The moment of the phase's own timer (the rest before a Poll or a resend, the patience of a stop)."""


@dataclass(frozen=True)
class StopAsked:
    """Finish and report what is claimed, release, end with 0."""


@dataclass(frozen=True)
class ParentGone:
    """Nobody waits for us: end what runs, release, end with 0."""


Signal = (
    Began | SourcesCame | PollCame | ClaimCame | RunEnded | KeptCame | ReportCame | RenewCame | ReleaseCame | TimeCame | StopAsked | ParentGone
)

# -- deeds -----------------------------------------------------------------------------


@dataclass(frozen=True)
class FetchSources:
    pass


@dataclass(frozen=True)
class Send:
    """POST one operation; its answer returns as `answer`(reply). `body` is sent as it is, byte for byte."""

    answer: type
    body: bytes = field(repr=False)
    generation: int | None
    timeout_s: float


@dataclass(frozen=True)
class Abandon:
    """Stop waiting for the answer of this kind; it will not be delivered."""

    answer: type


@dataclass(frozen=True)
class Run:
    runnable: Runnable = field(repr=False)


@dataclass(frozen=True)
class Keep:
    """Keep the object on this machine, if it is not kept yet, and register it under this call's grant."""

    kept: ToKeep = field(repr=False)
    grant: str = field(repr=False)
    generation: int


@dataclass(frozen=True)
class Kill:
    """End the running adapter as a tree; no RunEnded follows."""


@dataclass(frozen=True)
class Tell:
    """An event for the host and the log; never a key, grant, DSN or argument."""

    type: str
    facts: Mapping[str, object]


@dataclass(frozen=True)
class Exit:
    code: int


Deed = FetchSources | Send | Abandon | Run | Keep | Kill | Tell | Exit
