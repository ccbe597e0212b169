"""A Board played by hand: counted ids, a counted clock, every row kept and folded again at the end."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from rulith.base.canonical import canonical_text, digest
from rulith.board.board import Board
from rulith.board.shapes import Policy, Source, ToolLock

EXAMPLE = Path(__file__).parents[2] / "examples" / "verified-calculation"
PREFIX = "rulith.verified_calculation."
SOURCE_NAME = "verified-calculation-local"
PIN = "a" * 64


def example_capability() -> dict:
    return json.loads((EXAMPLE / "capability.json").read_text(encoding="utf-8"))


def example_tools() -> dict:
    return json.loads((EXAMPLE / "worker-tools.json").read_text(encoding="utf-8"))["tools"]


def example_source(**changes) -> Source:
    record = {"name": SOURCE_NAME, "type": "file", "access": "/work/runtime", "connectionId": "conn_1", "tier": "attested",
              "attests": [PREFIX + name for name in ("input", "written", "output")]}
    return Source.of({**record, **changes})


def example_policy(*sources: Source, online: bool = True) -> Policy:
    tools = example_tools()
    locks = {("conn_1", name): ToolLock("conn_1", name, PIN, {
        "id": name, "digest": PIN, **{member: tool[member] for member in ("kind", "sourceTypes", "params", "returns")}})
        for name, tool in tools.items()}
    live = {"conn_1": {name: PIN for name in tools}} if online else {}
    return Policy(sources or (example_source(),), locks, live, (1, online, len(sources)))


class Play:
    """Drives one Board; `rows` are its ledger."""

    def __init__(self, capability: dict | None = None) -> None:
        self.board = Board("agt_1")
        self.rows: list[dict] = []
        self.policy = example_policy()
        self._ids = itertools.count(1)
        self._moments = itertools.count(1)
        self.ordinal = 0
        capability = capability if capability is not None else example_capability()
        self.run("install_capability", capability=capability, digest=digest(capability))

    def at(self) -> str:
        second = next(self._moments)
        return f"2026-10-03T{8 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.000Z"

    def mint(self, prefix: str) -> str:
        return f"{prefix}{next(self._ids):024x}"

    def outcome(self, kind: str, **members):
        outcome = self.board.execute({"kind": kind, **members}, at=self.at(), mint=self.mint)
        self.rows.append(json.loads(canonical_text(outcome.row)))    # as a ledger gives it back
        return outcome

    def run(self, kind: str, **members) -> dict:
        return self.outcome(kind, **members).result

    def open(self, job: str = "calc-001", case_type: str = "verified_calculation") -> dict:
        return self.run("open_case", caseType=case_type, businessKey={"job_id": job})

    def explore(self) -> dict:
        return self.run("open_case", caseType="exploration")

    def batch(self, case: dict | list, *operations: dict) -> dict:
        focus = [case["caseId"]] if isinstance(case, dict) else [each["caseId"] for each in case]
        return self.run("apply_batch", operations=list(operations), focus=focus)

    def plan(self, case: dict, action: str, **args):
        return self.board.plan_action(PREFIX + action, {"source": SOURCE_NAME, **args}, case["root"], self.policy,
                                      focus=[case["caseId"]])

    def receipt(self, plan, facts: list, *, ok: bool = True, source: Source | None = None) -> dict:
        self.ordinal += 1
        return self.run("record_receipt", ordinal=self.ordinal, plan=plan.record(), ok=ok, facts=facts,
                        resultDigest="sha256:" + "b" * 64, requestDigest="sha256:" + "c" * 64, workerId="wkr_1",
                        workerGeneration=1, source=(source or example_source()).record())

    def read(self, case: dict, price: int = 1299, quantity: int = 7, shipping: int = 500) -> dict:
        plan = self.plan(case, "read_input")
        return self.receipt(plan, [{"predicate": PREFIX + "input", "args": {
            "job_id": plan.args["job_id"], "unit_price_cents": price, "quantity": quantity, "shipping_cents": shipping}}])

    def write(self, case: dict, action: str = "write_output") -> dict:
        plan = self.plan(case, action)
        values = {name: plan.args[name] for name in ("job_id", "subtotal_cents", "total_cents")}
        return self.receipt(plan, [{"predicate": PREFIX + "written", "args": {**values, "sha256": "00"}}])

    def verify(self, case: dict, subtotal: int = 9093, total: int = 9593) -> dict:
        plan = self.plan(case, "verify_output")
        return self.receipt(plan, [{"predicate": PREFIX + "output", "args": {
            "job_id": plan.args["job_id"], "subtotal_cents": subtotal, "total_cents": total, "sha256": "00"}}])

    def whole(self, job: str = "calc-001") -> dict:
        case = self.open(job)
        self.read(case)
        self.write(case)
        self.verify(case)
        return case

    def view(self, *case: dict, **options) -> dict:
        return self.board.view(None, [each["caseId"] for each in case], self.policy, **options)

    def holds(self, predicate: str, **args) -> bool:
        return self.board.why_not({"predicate": predicate, "args": args})["holds"]

    def refold(self) -> Board:
        """The Board that the ledger rows rebuild."""
        board = Board("agt_1")
        for row in self.rows:
            board.replay(row)
        return board


@pytest.fixture
def play() -> Play:
    return Play()


@pytest.fixture
def new_play():
    """Makes further Boards, also with another Capability."""
    return Play
