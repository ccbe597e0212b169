"""The verified calculation as a script: just enough Board to drive an Agent through its whole job.

Options make it misbehave in one named way. It keeps the strip as the surface describes it
and refuses what a model has no business doing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.runtime.scripted_gateway import Arrived, Say, strip_row

PREFIX = "rulith.verified_calculation."
DRIVE = [PREFIX + "read_input", PREFIX + "write_output", PREFIX + "verify_output"]
CASE, ROOT = "case_" + "1" * 24, "root_" + "2" * 24
KEY = {"job_id": "calc-001"}
SOURCE = "verified-calculation-local"


def touched_by_a_person(board: CalculationBoard, status: str, after: str = "read_input") -> CalculationBoard:
    """The Board whose Case a person closes as cancelled, or holds, once `after` is done."""
    view = board.view

    def shown() -> dict:
        found = view()
        if after not in board.done:
            return found
        more = {"disposition": "cancelled"} if status == "closed" else {}
        row = {"caseId": CASE, "root": ROOT, "status": status, "caseType": "verified_calculation"}
        return {**found, "roots": [row], "cases": {"directory": [{**row, "businessKey": KEY, **more}], "total": 1}, "actions": [], "taskStatus": {}}

    board.view = shown
    return board


@dataclass
class CalculationBoard:
    """`outcomes` overrides how an Action ends: (state, words), by its short name."""

    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict)
    candidates: int = 1
    sources: tuple[str, ...] = (SOURCE,)
    overflow: bool = False
    closed_before: bool = False
    paused: bool = False
    open_refusals: list[Say] = field(default_factory=list)
    close_refusal: dict | None = None
    blocked: dict[str, dict] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    tried: dict[str, dict] = field(default_factory=dict)
    strip: list[dict] = field(default_factory=list)
    is_open: bool = False
    is_closed: bool = False
    _count: int = 0

    def __call__(self, call: Arrived) -> object:
        return getattr(self, "_" + call.tool)(call.arguments)

    def at(self) -> str:
        self._count += 1
        return f"2026-10-03T08:00:{self._count:02d}.000Z"

    @property
    def focused(self) -> tuple[tuple[str, str], ...]:
        return ((CASE, ROOT),) if self.is_open and not self.is_closed else ()

    def say(self, body: dict, *, is_error: bool = False) -> Say:
        return Say({**body, "operations": self.strip[:7]}, is_error=is_error, focused=self.focused)

    def refuse(self, tool: str, code: str, teaching: str, *, executed: bool = True) -> Say:
        body = {"accepted": False, "errorCode": code, "teaching": teaching, "view": self.view()}
        if executed:
            self.strip.insert(0, strip_row(tool, "refused", at=self.at(), reason=teaching))
        else:
            body = {"accepted": False, "requestExecuted": False, "tool": tool, **body}
        return self.say(body, is_error=True)

    def _OpenCase(self, arguments: dict) -> Say:
        if self.open_refusals:
            return self.open_refusals.pop(0)
        if self.closed_before:
            return self.refuse("OpenCase", "case_closed", f"The Case {CASE} of this key is closed.")
        if arguments.get("caseType") not in (None, "verified_calculation"):
            return self.refuse("OpenCase", "bad_command", "There is no such Case Type.")
        opened = not self.is_open
        self.is_open = True
        self.strip.insert(0, strip_row("OpenCase", "done", label="OpenCase verified_calculation", at=self.at(), summary="open"))
        return self.say({"accepted": True, "view": self.view(), "result": {
            "caseId": CASE, "root": ROOT, "status": "paused" if self.paused else "running", "drive": DRIVE, "opened": opened}})

    def _QueryBoard(self, arguments: dict) -> Say:
        return self.say({"accepted": True, "view": self.view(), "observation": {"consistency": "committed"}})

    def _ApplyBatch(self, arguments: dict) -> Say:
        return self.refuse("ApplyBatch", "attested_predicate", "Only a Source may attest that.")

    def _ApplyAction(self, arguments: dict) -> Say:
        short = arguments["action"].removeprefix(PREFIX)
        if arguments["action"] not in self.ready():
            return self.refuse("ApplyAction", "precondition_not_met", f"{short} is not ready.")
        state, words = self.outcomes.get(short, ("done", "confirmed"))
        label = f"ApplyAction {arguments['action']}"
        row = strip_row("ApplyAction", state, label=label, at=self.at())
        row.update({"reason": words} if state == "refused" else {"decision": words} if state == "waiting_for_decision"
                   else {} if state in ("running", "needs_person") else {"summary": words})
        self.strip.insert(0, row)
        if state in ("running", "waiting_for_decision", "needs_person"):
            return self.say({"state": state, "view": self.view()})
        if state == "done":
            self.done.append(short)
        status = {"done": ("confirmed", True), "failed": ("failed", False), "refused": ("refused", False), "unknown": ("unknown", None)}
        word, ok = status[state]
        result = {"action": arguments["action"], "done": True, "status": word, **({} if ok is None else {"ok": ok})}
        return self.say({"accepted": True, "result": result, "view": self.view()})

    def _CloseCase(self, arguments: dict) -> Say:
        if self.close_refusal is not None:
            return self.refuse("CloseCase", self.close_refusal["code"], self.close_refusal["teaching"])
        if arguments.get("disposition", "completed") == "completed" and "verify_output" not in self.done:
            return self.refuse("CloseCase", "case_not_certified", "Goals are unmet: read_back.")
        self.is_closed = True
        self.strip.insert(0, strip_row("CloseCase", "done", label=f"CloseCase {ROOT}", at=self.at(), summary="closed"))
        return self.say({"accepted": True, "view": self.view(), "result": {
            "caseId": CASE, "root": ROOT, "disposition": arguments.get("disposition", "completed"), "certified": True}})

    def _ReadArtifact(self, arguments: dict) -> Say:
        return self.refuse("ReadArtifact", "artifact_unavailable", "There is none.", executed=False)

    def ready(self) -> list[str]:
        order = ["read_input", "write_output", "verify_output"]
        if self.overflow and "read_input" in self.done:
            return []
        following = [name for name in order if name not in self.done and name not in self.blocked]
        return [PREFIX + following[0]] if following and self.is_open and not self.is_closed else []

    def view(self) -> dict:
        status = "closed" if self.is_closed or self.closed_before else "paused" if self.paused else "running"
        directory = [{"caseId": CASE, "root": ROOT, "status": status, "caseType": "verified_calculation", "businessKey": KEY,
                      **({"disposition": "completed"} if status == "closed" else {})}] if self.is_open or self.closed_before else []
        gaps = []
        if self.overflow and "read_input" in self.done:
            gaps.append({"root": ROOT, "node": f"{ROOT}/calculated", "kind": "arithmetic_exact", "rule": "subtotal",
                         "ruleLabel": "subtotal = unit price × quantity", "text": "no exact result",
                         "operands": {"op": "mul", "left": 9007199254740991, "right": 2}})
        elif "verify_output" not in self.done:
            gaps.append({"root": ROOT, "node": f"{ROOT}/read_back", "kind": "leaf_gap", "text": "read_back is unmet"})
        return {
            "position": {"writes": "open", "newCases": "open", "rules": "rules_and_actions"},
            "roots": [{"caseId": case, "root": root, "status": status} for case, root in self.focused],
            "cases": {"directory": directory, "total": len(directory)}, "gaps": gaps, "nodes": [],
            "actions": [self.row(action) for action in DRIVE], "total": 0,
            "taskStatus": {ROOT: {"certified": "verify_output" in self.done, "leaves": []}}}

    def row(self, action: str) -> dict:
        short = action.removeprefix(PREFIX)
        if action not in self.ready():
            return {"action": action, "status": "blocked", "description": short, **self.blocked.get(short, {"reason": "needs_setup"}
                    if short in self.blocked else {})}
        args = {"job_id": KEY["job_id"]} if short != "write_output" else {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593}
        rows = [{"args": {**args, **({"variant": number} if number else {})}, "target": ROOT,
                 **({"tried": self.tried[short]} if short in self.tried else {})} for number in range(self.candidates)]
        return {"action": action, "status": "ready", "description": short, "params": {}, "sources": list(self.sources),
                "candidates": rows, "candidateCount": len(rows)}
