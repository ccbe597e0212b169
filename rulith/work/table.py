"""The Worker's machine as one table: what each phase does with each signal. What is absent is illegal.

Values name the methods of work/core.py that decide; nothing else reads this table.
"""

from __future__ import annotations

from rulith.work.signals import (
    Began,
    ClaimCame,
    KeptCame,
    ParentGone,
    Phase,
    PollCame,
    ReleaseCame,
    RenewCame,
    ReportCame,
    RunEnded,
    SourcesCame,
    StopAsked,
    TimeCame,
)

# fmt: off
TABLE: dict[tuple[Phase, type], str] = {
    (Phase.NEW,       Began):       "_begin",
    (Phase.SOURCING,  SourcesCame): "_sources_came",
    (Phase.ASKING,    PollCame):    "_poll_came",
    (Phase.ASKING,    TimeCame):    "_patience_over",
    (Phase.RESTING,   TimeCame):    "_rest_over",
    (Phase.CLAIMING,  ClaimCame):   "_claim_came",
    (Phase.RUNNING,   RunEnded):    "_run_ended",
    (Phase.KEEPING,   KeptCame):    "_kept_came",
    (Phase.REPORTING, ReportCame):  "_report_came",
    (Phase.REPORTING, TimeCame):    "_receipt_over",
    (Phase.RESENDING, TimeCame):    "_resend",
    (Phase.YIELDING,  ReleaseCame): "_yielded",
    (Phase.LEAVING,   ReleaseCame): "_released",

    (Phase.NEW,       StopAsked):   "_stop_idle",
    (Phase.SOURCING,  StopAsked):   "_stop",
    (Phase.ASKING,    StopAsked):   "_stop_asking",
    (Phase.RESTING,   StopAsked):   "_stop_idle",
    (Phase.CLAIMING,  StopAsked):   "_stop",
    (Phase.RUNNING,   StopAsked):   "_stop",
    (Phase.KEEPING,   StopAsked):   "_stop",
    (Phase.REPORTING, StopAsked):   "_stop",
    (Phase.RESENDING, StopAsked):   "_stop",
    (Phase.YIELDING,  StopAsked):   "_stop",
    (Phase.LEAVING,   StopAsked):   "_ignore",
    (Phase.GONE,      StopAsked):   "_ignore",
    (Phase.LEAVING,   ParentGone):  "_ignore",
    (Phase.GONE,      ParentGone):  "_ignore",
}
# fmt: on
_WORKING = (Phase.SOURCING, Phase.ASKING, Phase.RESTING, Phase.CLAIMING, Phase.RUNNING, Phase.KEEPING, Phase.REPORTING, Phase.RESENDING)
TABLE |= {(phase, ParentGone): "_vanish" for phase in (Phase.NEW, *_WORKING, Phase.YIELDING)}
TABLE[Phase.REPORTING, ParentGone] = "_vanish_reporting"
TABLE |= {(phase, RenewCame): "_renew_came" for phase in _WORKING}
