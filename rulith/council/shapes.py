"""What the council's law reads: who acts, where, and how things stand there.

Units   times are RFC 3339 stamps; money is US dollars, self-reported
"""

from __future__ import annotations

from dataclasses import dataclass

OPEN, BLOCKED, RESOLVED, WONTFIX = "OPEN", "BLOCKED", "RESOLVED", "WONTFIX"
STATUSES = (OPEN, BLOCKED, RESOLVED, WONTFIX)
TERMINAL = (RESOLVED, WONTFIX)
FILTERS = {"open": (OPEN,), "blocked": (BLOCKED,), "resolved": TERMINAL, "all": STATUSES, **{status: (status,) for status in STATUSES}}
SEVERITIES = ("CRITICAL", "HIGH", "MEDIUM", "LOW", "INFO")
PERSON_ROLE, AGENT_ROLE = "HUMAN", "ASSISTANT"


@dataclass(frozen=True)
class Actor:
    """Who speaks. `created_at` pins the identity: an id may be given to another agent later."""

    agent_id: int
    name: str
    project_id: int
    created_at: str
    is_person: bool = False
    supervised: bool = False        # a run that the council started
    is_watcher: bool = False        # the waiting half of it, which says nothing


PERSON = Actor(0, "you", 0, "", is_person=True)      # as they come in; in each project they speak as its own participant


@dataclass(frozen=True)
class Room:
    id: int
    project_id: int
    name: str
    paused: bool
    max_replies_per_agent: int
    max_thread_messages: int
    cost_cap_usd: float
    response_timeout_secs: int


@dataclass(frozen=True)
class Thread:
    id: int
    room_id: int
    author_id: int
    title: str
    tag: str
    status: str
    blind: bool = False

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL


@dataclass(frozen=True)
class Standing:
    """How an actor stands towards a thread, counted now."""

    is_member: bool
    is_asked: bool                  # named in it, or its author
    own_messages: int = 0
    all_messages: int = 0
    spent_usd: float = 0.0          # in the whole room
    newest_author_id: int = 0       # of the newest message, or of the topic


@dataclass(frozen=True)
class Reply:
    """A reply's own words, read and judged: what is stored."""

    body: str
    verdict: str | None
    severity: str | None
