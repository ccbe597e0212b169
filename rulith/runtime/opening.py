"""Opening the Case of a run, past what an earlier run left behind.

An earlier run may have died with a call open or with its last outcome unread. The first
is waited for, the second is delivered by the very refusal that names it; then the Case is
asked for again, as a new call. A Case of the same key is focused, never opened twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rulith.runtime.answers import Answer, Kind
from rulith.runtime.line import BoardLine
from rulith.runtime.outcome import NOTHING_TO_DO, REFUSED, STUCK, UNREACHABLE, WAITING, RunResult
from rulith.runtime.strip import WAITING_FOR_PERSON, Entry, StateRow

_CASE_ID = re.compile(r"\bcase_[0-9a-f]{24}\b", re.ASCII)
ASKS_MAX = 4                     # one for each thing that can be in the way, and one more


@dataclass(frozen=True)
class CaseWanted:
    case_type: str = ""
    business_key: dict | None = None
    case_id: str = ""

    def arguments(self) -> dict:
        if self.case_id:
            return {"caseId": self.case_id}
        key = {"businessKey": self.business_key} if self.business_key is not None else {}
        return {"caseType": self.case_type, **key}


@dataclass(frozen=True)
class OpenedCase:
    case_id: str
    root: str
    status: str
    drive: tuple[str, ...]
    answer: Answer


async def open_case(line: BoardLine, wanted: CaseWanted) -> OpenedCase | RunResult:
    """The Case in focus, or the result of a run that does not get one."""
    for _ in range(ASKS_MAX):
        answer = await line.call("OpenCase", wanted.arguments())
        if answer.kind is Kind.ACCEPTED:
            return _opened(answer)
        if answer.kind is not Kind.NOT_EXECUTED:
            return _not_opened(answer, wanted)
        if answer.code == "previous_result_undelivered":
            continue                                   # this very answer showed it
        if answer.code != "operation_running":
            return _not_opened(answer, wanted)
        row = await line.wait_until_free()
        if row is not None:
            return in_the_way(row, answer)
    return RunResult("stuck", STUCK, f"The Board does not let this run open its Case: {answer.teaching}",
                     facts={"errorCode": answer.code})


def _opened(answer: Answer) -> OpenedCase:
    drive = answer.result.get("drive")
    return OpenedCase(str(answer.result.get("caseId", "")), str(answer.result.get("root", "")),
                      str(answer.result.get("status", "running")),
                      tuple(step for step in drive if isinstance(step, str)) if isinstance(drive, list) else (), answer)


def in_the_way(row: StateRow, answer: Answer) -> RunResult:
    """The result of a run that meets an open call of an earlier one."""
    entry = next((entry for entry in answer.operations if entry.key == (row.tool, row.label, row.at)), None)
    facts = {"waitingFor": {"tool": row.tool, "label": row.label, "state": row.state, "at": row.at}}
    if row.state in WAITING_FOR_PERSON:
        return RunResult("waiting", WAITING, waiting_words(row.state, row.label, entry), facts=facts)
    return RunResult("stuck", STUCK, f"{row.label}, admitted {row.at} by an earlier run, is still running.", facts=facts)


def waiting_words(state: str, label: str, entry: Entry | None) -> str:
    if state == "needs_person":
        why = f" {entry.words}" if entry is not None and entry.words else ""
        return (f"{label}: whether it happened is unknown, and a person has to settle it in the Console. "
                f"Nothing is repeated meanwhile.{why}")
    kind = f" ({entry.words})" if entry is not None and entry.words else ""
    return f"{label} waits for a person's decision{kind}. Run again afterwards; the same Case goes on."


def _not_opened(answer: Answer, wanted: CaseWanted) -> RunResult:
    facts: dict = {"errorCode": answer.code}
    if answer.kind is Kind.UNSENT:
        return RunResult("unreachable", UNREACHABLE, answer.teaching, facts=facts)
    if answer.kind in (Kind.LOST, Kind.HELD):
        return RunResult("unknown", STUCK, "Whether the Case was opened is not known. Run again: a Case of the same key "
                         "is continued, never opened twice.", facts=facts)
    if answer.code == "case_closed":
        closed = closed_case(answer, wanted)
        facts["caseId"] = closed or None
        return RunResult("nothing_to_do", NOTHING_TO_DO,
                         f"There is nothing to do. {answer.teaching}",
                         case_id=closed, facts={"errorCode": answer.code})
    if answer.code == "case_paused":
        return RunResult("waiting", WAITING, f"The Case is on hold: {answer.teaching}", facts=facts)
    return RunResult("refused", REFUSED, f"The Case was not opened ({answer.code}): {answer.teaching}", facts=facts)


def closed_case(answer: Answer, wanted: CaseWanted) -> str:
    """The closed Case that a refused opening is about, from the directory it came with."""
    if wanted.case_id:
        return wanted.case_id
    cases = answer.view.get("cases")
    rows = cases.get("directory") if isinstance(cases, dict) else None
    found = [row["caseId"] for row in rows or [] if isinstance(row, dict) and isinstance(row.get("caseId"), str)
             and row.get("caseType") == wanted.case_type and row.get("status") == "closed"
             and row.get("businessKey", wanted.business_key) == wanted.business_key
             and row.get("disposition", "completed") == "completed"]
    if not found:                         # the directory lists the newest Cases only; the refusal names this one
        found = list(dict.fromkeys(_CASE_ID.findall(answer.teaching)))
    return found[0] if len(found) == 1 else ""
