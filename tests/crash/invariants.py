"""What must hold of a ledger after every death of its gateway, held against the book of those who were answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from rulith.base.clock import SystemClock
from rulith.board.operations import NEEDS_PERSON, TABLE
from rulith.board.shapes import Policy
from rulith.gateway.authority import BOARD, OPERATION, RECEIPT, Authority
from rulith.store.ledger import Ledger
from tests.crash.load import Book


def flat(command: dict) -> list[dict]:
    return [each for inner in command["commands"] for each in flat(inner)] if command.get("kind") == "several" else [command]


class Walk:
    """One Agent's chain read row by row, by a reader that is no machine of the product."""

    def __init__(self) -> None:
        self.states: dict[int, str] = {}
        self.invocations: dict[int, str] = {}
        self.claimers: dict[int, set] = defaultdict(set)
        self.received: Counter = Counter()           # ordinal -> record_receipt rows
        self.results: dict[int, str] = {}            # ordinal -> result text recorded
        self.settled: dict[int, str] = {}
        self.minted: set[str] = set()
        self.closed: set[str] = set()
        self.receipts: set[str] = set()
        self.last_at = ""
        self.problems: list[str] = []

    def row(self, row) -> None:
        if row.at <= self.last_at:
            self.problems.append(f"row {row.seq}: the stamp {row.at} does not follow {self.last_at}")
        self.last_at = row.at
        if row.kind == RECEIPT:
            self.receipts.add(row.body["case"]["caseId"])
        elif row.kind in (BOARD, OPERATION):
            self.minted.update(row.body["minted"])
            minted = iter(row.body["minted"])
            for command in flat(row.body["command"]):
                (self.board if row.kind == BOARD else self.operation)(command, minted)

    def board(self, command: dict, minted) -> None:
        if command["kind"] == "record_receipt":
            self.received[command["ordinal"]] += 1
            self.results[command["ordinal"]] = command.get("result", "")
        elif command["kind"] == "close_case":
            self.closed.add(command["root"])

    def operation(self, command: dict, minted) -> None:
        kind, ordinal = command["kind"], command.get("ordinal")
        if kind == "admit":
            ordinal = len(self.states) + 1
            plan = command.get("plan")
            if plan is not None:
                self.invocations[ordinal] = next(minted)
            self.states[ordinal] = command["settled"]["state"] if "settled" in command else "admitted" if plan is None else "ready"
            if "settled" in command:
                self.settled[ordinal] = self.states[ordinal]
            return
        event = {"dispatch": "dispatch", "claim": "claim", "needs_person": "needs_person", "settle": f"settle_{command.get('state')}",
                 "reconcile": f"reconcile_{command.get('outcome')}"}.get(kind)
        if event is None:
            return                       # deliveries and acknowledgements move no state
        before = self.states.get(ordinal, "")
        after = TABLE.get((before, event))
        if after is None:
            self.problems.append(f"operation {ordinal} took {event} in the state {before!r}")
            return
        if event == "claim":
            self.claimers[ordinal].add((command["workerId"], command["generation"]))
        if event == "dispatch" and self.claimers[ordinal]:
            self.problems.append(f"operation {ordinal} was dispatched after its claim")
        self.states[ordinal] = after
        if event.startswith(("settle", "reconcile")):
            self.settled[ordinal] = after


def check(path: Path, book: Book) -> tuple[list[str], dict]:
    """Everything wrong with the ledger at `path`, and what a gateway that opens it must show. Needs a running loop.

    Calls whose effect is not known are settled as a person would, so that their Agents go on.
    """
    ledger = Ledger.open(path, SystemClock())          # whole, or it is refused
    try:
        problems: list[str] = []
        walks: dict[str, Walk] = {}
        authority = Authority(ledger, SystemClock())   # every row folded, every closure digest compared
        for agent_id in authority.agents:
            walk = walks[agent_id] = Walk()
            for row in ledger.rows(agent_id):
                walk.row(row)
            problems += [f"{agent_id}: {each}" for each in walk.problems]
            _hold_to_the_machine(authority.agents[agent_id], walk, problems)
        _hold_to_the_book(authority, walks, book, problems)
        _reconcile(authority)
        authority.turns.flush()
        return problems, expected(authority)
    finally:
        ledger.close()


def _hold_to_the_machine(state, walk: Walk, problems: list[str]) -> None:
    for ordinal, operation in state.operations.operations.items():
        if walk.states.get(ordinal) != operation.state:
            problems.append(f"operation {ordinal} is {operation.state} in memory and {walk.states.get(ordinal)} in its rows")
    for ordinal, claimers in walk.claimers.items():
        if len(claimers) > 1:
            problems.append(f"operation {ordinal} was claimed by {claimers}")
    for ordinal, count in walk.received.items():
        if count > 1 or walk.settled.get(ordinal) not in ("done", "failed"):
            problems.append(f"operation {ordinal} has {count} receipts and is {walk.states.get(ordinal)}")


def _hold_to_the_book(authority: Authority, walks: dict[str, Walk], book: Book, problems: list[str]) -> None:
    problems += book.wrong
    problems += [f"{invocation} ran {count} times" for invocation, count in book.ran.items() if count > 1]
    recorded = {walk.invocations[ordinal]: text for walk in walks.values() for ordinal, text in walk.results.items()}
    for invocation, text in book.receipts.items():
        if recorded.get(invocation) != text:
            problems.append(f"the receipt of {invocation} was answered and is recorded as {recorded.get(invocation)!r}")
    for node_id, agent_id in book.nodes.items():
        if node_id not in walks[agent_id].minted:
            problems.append(f"the batch that wrote {node_id} was answered and is in no row")
    for case_id, agent_id in book.cases.items():
        if not authority.agents[agent_id].board.has_case(case_id):
            problems.append(f"the Case {case_id} was answered as opened and is not there")
    for case_id, agent_id in book.closed.items():
        if case_id not in walks[agent_id].receipts or authority.receipt_document(agent_id, case_id) is None:
            problems.append(f"the Case {case_id} was answered as closed and has no receipt")
    for agent_id, count in book.calls.items():
        done = sum(state == "done" and ordinal in walks[agent_id].invocations for ordinal, state in walks[agent_id].settled.items())
        if done < count:
            problems.append(f"{count} Actions of {agent_id} were answered as done and {done} are")


def _reconcile(authority: Authority) -> None:
    """What a person would do about calls whose Worker is gone; the effect is not known to anybody."""
    for agent_id, state in authority.agents.items():
        operation = state.operations.unresolved()
        if operation is None or operation.state != NEEDS_PERSON:
            continue
        said = {"ordinal": operation.ordinal, "outcome": "cannot_tell", "by": "tester", "reason": "its Worker is gone"}
        authority.command_board(agent_id, {"kind": "record_reconciliation", "plan": dict(operation.plan), **said})
        authority.command_operation(agent_id, {"kind": "reconcile", "summary": "cannot be told", **said, "result": {
            "accepted": True, "result": {"action": operation.plan["action"], "done": True, "status": "unknown"}}})


def expected(authority: Authority) -> dict:
    """Agent id -> {strip, nodes, cases} as a replay has them."""
    found = {}
    for agent_id, state in authority.agents.items():
        form = [{name: row[name] for name in ("ordinal", "tool", "label", "state")} for row in state.operations.state_form(at="")]
        roots = [case.root for case in state.board.state.cases.values() if case.status != "closed"]
        view = state.board.query(None, [], Policy(), {"selector": {"roots": roots}, "include": ["nodes"]}) if roots else {"nodes": []}
        found[agent_id] = {"strip": form, "roots": roots, "nodes": view["nodes"], "closure": state.board.closure_digest()}
    return found


