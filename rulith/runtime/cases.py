"""What the Agent knows of its Cases: focus, status, and which it saw closed.

Learns only from answers. A root that a cut view did not mention keeps its status; nothing
here is an opinion of its own about a Case.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rulith.runtime.answers import Answer, Kind
from rulith.wire.contract import mcp_contract

STATUSES = tuple(mcp_contract().surface["caseStatuses"])


@dataclass
class KnownCase:
    case_id: str
    root: str
    status: str = "unavailable"
    case_type: str = ""
    disposition: str = ""        # of a closed one, where an answer told it
    is_old: bool = False         # the newest view was cut and did not mention it: `status` is from before


@dataclass(frozen=True)
class Change:
    """One thing an answer told: `kind` is the event's name."""

    kind: str                    # case-open, case-state, case-closed, case-unfocused
    case: KnownCase
    disposition: str = ""


@dataclass
class CaseBook:
    """`focus` holds the roots in focus, in the order they came into it."""

    known: dict[str, KnownCase] = field(default_factory=dict)      # by root
    focus: list[str] = field(default_factory=list)
    closed: list[dict] = field(default_factory=list)               # accepted closes of this turn

    def begin_turn(self) -> None:
        self.closed = []

    @property
    def focused(self) -> list[KnownCase]:
        return [self.known[root] for root in self.focus]

    def disposition_of(self, root: str) -> str:
        return self.known[root].disposition if root in self.known else ""

    @property
    def running(self) -> list[KnownCase]:
        return [case for case in self.focused if case.status == "running"]

    def take(self, answer: Answer, arguments: dict) -> list[Change]:
        """Learn from one answer; return what it changed, in order."""
        changes = self._take_view(answer.view)
        if answer.focused is not None:
            changes += self._take_focus(answer)
        if answer.tool == "CloseCase" and answer.kind is Kind.ACCEPTED:
            changes += self._take_close(answer, arguments)
        return changes

    def _take_view(self, view: dict) -> list[Change]:
        cases = view.get("cases")
        rows = _rows(view.get("roots")) + (_rows(cases.get("directory")) if isinstance(cases, dict) else [])
        changes = []
        mentioned: set[str] = set()
        for row in rows:
            root, case_id, status = row.get("root"), row.get("caseId"), row.get("status")
            if not isinstance(root, str) or not isinstance(case_id, str):
                continue
            case = self.known.setdefault(root, KnownCase(case_id, root))
            mentioned.add(root)
            case.is_old = False
            if isinstance(row.get("caseType"), str):
                case.case_type = row["caseType"]
            if isinstance(row.get("disposition"), str):
                case.disposition = row["disposition"]
            new = status if status in STATUSES else "unavailable"
            if new != case.status:
                case.status = new
                if root in self.focus:
                    changes.append(Change("case-state", case))
        unavailable = view.get("unavailableRoots")
        for root in unavailable if isinstance(unavailable, list) else ():
            if isinstance(root, str) and root in self.known:
                self.known[root].status = "unavailable"
        if view.get("truncated") or isinstance(cases, dict) and cases.get("truncated"):
            for case in self.focused:
                case.is_old = case.is_old or case.root not in mentioned
        return changes

    def _take_focus(self, answer: Answer) -> list[Change]:
        assert answer.focused is not None
        roots = [pair.root for pair in answer.focused]
        changes = []
        for pair in answer.focused:
            case = self.known.setdefault(pair.root, KnownCase(pair.case_id, pair.root, "running"))
            if pair.root not in self.focus:
                self.focus.append(pair.root)
                changes.append(Change("case-open", case))
        for root in [root for root in self.focus if root not in roots]:
            self.focus.remove(root)
            changes.append(Change("case-unfocused", self.known[root]))
        return changes

    def _take_close(self, answer: Answer, arguments: dict) -> list[Change]:
        root = str(answer.result.get("root") or arguments.get("root") or "")
        case = self.known.setdefault(root, KnownCase(str(answer.result.get("caseId") or ""), root))
        case.status = "closed"
        disposition = str(answer.result.get("disposition") or arguments.get("disposition") or "completed")
        self.closed.append({"caseId": case.case_id, "root": root, "disposition": disposition})
        if root in self.focus:
            self.focus.remove(root)
        return [Change("case-closed", case, disposition)]


def _rows(value: object) -> list[dict]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
