"""How a run ended: one result object, and the one place that gives it an exit status.

Source  the design, exit codes of the Agent
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rulith.base.errors import Mismatch, Refused

COMPLETED, ERROR, USAGE, REJECTED, REPLACED, HISTORY = 0, 1, 2, 3, 4, 5
NOTHING_TO_DO, WAITING, STUCK, REFUSED, UNREACHABLE, OVERLAPPING = 10, 11, 12, 13, 14, 15
INTERRUPTED, TERMINATED = 130, 143

_BY_CODE = {
    "usage": USAGE, "setting_refused": USAGE, "model_address": USAGE, "profile_ambiguous": USAGE, "profile_unknown": USAGE,
    "not_built": USAGE, "model_not_configured": USAGE, "credential_rejected": REJECTED, "connection_replaced": REPLACED,
    "gateway_unreachable": UNREACHABLE, "gateway_cannot_commit": UNREACHABLE, "model_unreachable": UNREACHABLE,
    "gateway_not_started": UNREACHABLE, "gateway_not_ready": UNREACHABLE, "agent_overlaps": OVERLAPPING,
    "history_unusable": HISTORY, "price_unknown": USAGE, "prices_refused": USAGE, "budget_spent": STUCK,
}


def exit_of(problem: Refused | Mismatch) -> int:
    """The exit status of a run that a refusal or a mismatch ended."""
    return ERROR if isinstance(problem, Mismatch) else _BY_CODE.get(problem.code, ERROR)


@dataclass
class RunResult:
    """One run's result; `document()` is what `--json` prints.

    outcome   completed, nothing_to_do, waiting, stuck, refused, … in one word
    message   one sentence for a person, complete by itself
    """

    outcome: str
    exit: int
    message: str
    case_id: str = ""
    root: str = ""
    steps: list[dict] = field(default_factory=list)
    closed_cases: list[dict] = field(default_factory=list)
    facts: dict = field(default_factory=dict)      # more members of the document, e.g. the gap that stopped it

    def document(self) -> dict:
        return {"outcome": self.outcome, "exit": self.exit, "message": self.message, "caseId": self.case_id or None,
                "root": self.root or None, "steps": self.steps, "closedCases": self.closed_cases, **self.facts}


def failed(problem: Refused | Mismatch, **members: object) -> RunResult:
    """The result of a run that ended in `problem`."""
    code = problem.code if isinstance(problem, Refused) else "version_mismatch"
    return RunResult("error", exit_of(problem), str(problem), facts={"errorCode": code, **members})
