"""An authority without sockets: Cases driven to their signed receipts, with Capabilities made for one test."""

from __future__ import annotations

import json
from pathlib import Path

from rulith.base.canonical import digest
from rulith.base.clock import ManualClock
from rulith.board.operations import DONE, FAILED
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.receipts import TerminalReceipts
from rulith.gateway.signing import Signer
from rulith.gateway.worker_work import served_row
from rulith.store.memory import MemoryLedger
from rulith.wire.digests import request_digest_of_row, result_digest
from rulith.wire.grant import expected_grant, sign_grant

AGENT, CONNECTION, KEY, SEED, PIN = "agt_1", "conn_1", "rlt_key_of_the_connection", "11" * 32, "a" * 64
OWNER = {"kind": "person", "by": "ann", "signInAgeS": 1}


class Office:
    """One Agent, one Connection, one file Source that may attest anything, every Tool of the Capability locked."""

    def __init__(self, capability: dict | None = None, *, tier: str = "attested", constitution: dict | None = None, tools: tuple[dict, ...] = ()) -> None:
        self.authority = Authority(MemoryLedger(), ManualClock())
        self.authority.turns._due = lambda: None       # no loop here; `close` commits
        self.receipts = TerminalReceipts(self.authority, Signer(SEED))
        self.capability = capability
        commands = [{"kind": "add_agent", "id": AGENT, "name": "Agent", "tokenHash": token_hash("t")},
                    {"kind": "add_connection", "id": CONNECTION, "name": "Worker", "agentId": AGENT, "keyHash": token_hash(KEY)},
                    {"kind": "add_source", "name": "books", "type": "file", "access": "/books", "connectionId": CONNECTION, "tier": tier, "attests": ["*"]}]
        for action in (capability or {}).get("actions", ()):
            if "tool" in action and not any(each.get("toolId") == action["tool"] for each in commands):
                commands.append({"kind": "lock_tool", "connectionId": CONNECTION, "toolId": action["tool"], "digest": PIN, "descriptor": {
                    "id": action["tool"], "digest": PIN, "kind": action["kind"]}})
        commands += [{"kind": "lock_tool", "connectionId": CONNECTION, "toolId": tool["id"], "digest": PIN, "descriptor": {**tool, "digest": PIN}} for tool in tools]
        self.authority.command_registry({"kind": "genesis", "commands": commands})
        if constitution is not None:
            self.board("install_constitution", constitution=constitution, digest=digest(constitution))
        if capability is not None:
            self.board("install_capability", capability=capability, digest=digest(capability))

    @property
    def state(self):
        return self.authority.agents[AGENT]

    def board(self, kind: str, **members) -> dict:
        return self.authority.command_board(AGENT, {"kind": kind, **members}).result

    def operation(self, kind: str, **members) -> dict:
        return self.authority.command_operation(AGENT, {"kind": kind, **members}).result

    def open(self, case_type: str, **key) -> dict:
        return self.board("open_case", caseType=case_type, **({"businessKey": key} if key else {}))

    def batch(self, case: dict, *operations: dict) -> dict:
        return self.board("apply_batch", operations=list(operations), focus=[case["caseId"]])

    def say(self, case: dict, predicate: str, **args) -> dict:
        return self.batch(case, {"op": "assert_fact", "predicate": predicate, "args": args})

    def ask(self, case: dict, action: str, **args) -> int:
        """Plan and admit an Action; where a decision is needed it is requested, and waits."""
        plan = self.state.board.plan_action(action, {"source": "books", **args}, case["root"], self.authority.policy(AGENT), focus=[case["caseId"]])
        admit = {"tool": "ApplyAction", "label": f"ApplyAction {action}", "session": "s", "caseIds": list(plan.case_ids), "plan": plan.record()}
        ordinal = self.state.operations.last_ordinal + 1
        if plan.decision is not None:
            opened = self.authority.command_registry({
                "kind": "request_decision", "authority": {"kind": "gateway"}, "agentId": AGENT, "ordinal": ordinal, "decisionKind": plan.decision["kind"],
                "people": plan.decision["people"], "expiresS": plan.decision["expiresS"], "action": plan.action, "argsText": plan.args_text,
                "target": plan.target, "argumentDigest": plan.argument_digest, "premises": list(plan.premises), "caseIds": list(plan.case_ids)}).result
            admit["decision"] = {"id": opened["id"], "kind": plan.decision["kind"], "expiresAt": opened["expiresAt"]}
        return self.operation("admit", **admit)["ordinal"]

    def approve(self, ordinal: int, *names: str) -> None:
        decision = next(each for each in self.authority.registry.decisions.values() if each["ordinal"] == ordinal)
        for name in names:
            found = self.authority.command_registry({"kind": "decide", "id": decision["id"], "verdict": "approve", "argumentDigest": decision["argumentDigest"],
                                                     "authority": {**OWNER, "by": name}}).result
        if found["state"] == "approved":
            self.operation("decide", ordinal=ordinal, verdict="approve")

    def people(self, *names: str) -> None:
        self.authority.registry.people.update({name: {"name": name, "role": "owner", "record": {"alg": "none"}} for name in names})

    def run(self, ordinal: int, *facts: dict, ok: bool = True) -> None:
        """Dispatch, claim, report and settle as the gateway does."""
        operation = self.state.operations.operation(ordinal)
        row = served_row(AGENT, operation)
        request = request_digest_of_row(row)
        holder = {"connectionId": CONNECTION, "workerId": "wkr_1", "generation": 1}
        grant = sign_grant(expected_grant(row, connection_id=CONNECTION, worker_id="wkr_1", worker_generation=1, request_digest=request), KEY)
        self.operation("dispatch", ordinal=ordinal, requestDigest=request, grant=grant, **holder)
        self.operation("claim", ordinal=ordinal, **holder)
        result = {"result": "done"} if ok else {"reason": "no such file"}
        told = result_digest(ok=ok, facts=list(facts), **result)
        source = self.authority.registry.sources.get(operation.plan["sourceRecordId"])
        self.board("record_receipt", ordinal=ordinal, plan=operation.plan, ok=ok, facts=list(facts), resultDigest=told, requestDigest=request,
                   workerId="wkr_1", workerGeneration=1, source=source.record() if source else None, **result)
        self.operation("settle", ordinal=ordinal, state=DONE if ok else FAILED, result={"accepted": True, "result": {}}, summary="reported", identity={
            "requestDigest": request, "resultDigest": told, "workerId": "wkr_1", "workerGeneration": 1, "connectionId": CONNECTION,
            "adapterDigest": "sha256:" + PIN, "outcome": "succeeded" if ok else "failed", "at": self.authority.now()})
        self.operation("deliver", ordinal=ordinal, session="s")

    def act(self, case: dict, action: str, *facts: dict, **args) -> int:
        ordinal = self.ask(case, action, **args)
        self.run(ordinal, *facts)
        return ordinal

    def close(self, case: dict, disposition: str | None = None, **more) -> dict:
        """The signed receipt, as the ledger gives it back."""
        self.board("close_case", root=case["root"], **({"disposition": disposition, "reason": "enough"} if disposition else {}), **more)
        self.receipts.write(AGENT, case["caseId"])
        self.authority.turns.flush()
        return json.loads(json.dumps(self.authority.receipt_document(AGENT, case["caseId"])))


def example_capability() -> dict:
    return json.loads((Path(__file__).parents[2] / "examples" / "verified-calculation" / "capability.json").read_text("utf-8"))


def fact(predicate: str, **args) -> dict:
    return {"predicate": predicate, "args": args}


def literal(predicate: str, *, naf: bool = False, negated: bool = False, **args) -> dict:
    found = {"predicate": predicate, "args": {name: value for name, value in args.items()}}
    return {**found, **({"naf": True} if naf else {}), **({"negated": True} if negated else {})}


def orders_capability() -> dict:
    """Orders that may be paid: absences of what is stated and of what is concluded, opposites, a rounded share, a Board Action, two people."""
    key = literal("case_key", root="?root", name="order", value="?o")
    defines = {"line": {"order": "string", "item": "string", "cents": "integer"}, "approved": {"order": "string"}, "blocked": {"order": "string", "why": "string"},
               "held": {"order": "string"}, "large": {"order": "string"}, "clear": {"order": "string"}, "checked": {"order": "string"},
               "share": {"order": "string", "part": "number"}, "released": {"order": "string"}, "paid": {"order": "string"}}
    return {
        "format": "rulith-capability/1", "id": "acme.orders", "version": "1.0.0", "title": "Orders",
        "vocabulary": {"defines": [{"id": f"acme.orders.{name}", "as": name, "args": args, **({"sources": ["file"]} if name in ("line", "released") else {})}
                                   for name, args in defines.items()], "imports": [{"id": "case_key", "as": "case_key"}]},
        "pins": ["held", "large", "clear", "share"],
        "rules": [
            {"id": "large", "when": [literal("line", order="?o", cents="?c"), literal("gt", left="?c", right=1000)], "then": [literal("large", order="?o")]},
            {"id": "held", "when": [literal("large", order="?o"), literal("approved", order="?o", naf=True)], "then": [literal("held", order="?o")]},
            {"id": "blocked", "when": [literal("line", order="?o"), literal("blocked", order="?o")], "then": [literal("held", order="?o")]},
            {"id": "share", "when": [literal("line", order="?o", cents="?c"), literal("div", left="?c", right=3, result="?p")],
             "then": [literal("share", order="?o", part="?p")]},
            {"id": "clear", "label": "nothing holds it", "when": [literal("line", order="?o"), literal("checked", order="?o"), literal("held", order="?o", naf=True),
                                                                  literal("blocked", order="?o", why="fraud", negated=True)], "then": [literal("clear", order="?o")]}],
        "acceptance": [{"id": "clear", "when": [key, literal("clear", order="?o")]},
                       {"id": "paid", "when": [key, literal("clear", order="?o"), literal("paid", order="?o"), literal("share", order="?o")]}],
        "actions": [
            {"id": "read", "description": "Read it.", "tool": "acme.read@1", "kind": "read", "source_types": ["file"], "params": {"order": "string"},
             "preconditions": [key, literal("line", order="?o", naf=True), literal("eq", left="?o", right="?order")], "effects": [],
             "returns": [{"predicate": "line", "args": {"order": "$order", "item": "$item", "cents": "$cents"}}]},
            {"id": "check", "description": "Note that it was looked at.", "params": {}, "preconditions": [key, literal("line", order="?o")],
             "effects": [literal("checked", order="?o")]},
            {"id": "pay", "description": "Pay it.", "tool": "acme.pay@1", "kind": "write", "source_types": ["file"], "params": {"order": "string"},
             "decision": {"kind": "approve the payment", "people": 2},
             "preconditions": [key, literal("clear", order="?order"), literal("eq", left="?o", right="?order")], "effects": [literal("paid", order="?order")],
             "returns": []}],
        "case_types": {
            "order": {"title": "Order", "business_key": {"order": "string"}, "floor": "asserted", "agent_rules": "rules_only",
                      "task": [{"node": "clear", "goal": "it is clear", "acceptance": "clear"}, {"node": "paid", "goal": "it is paid", "acceptance": "paid"}]}},
        "examples": []}


def paid_order(office: Office | None = None, order: str = "A-1", cents: int = 1500) -> tuple[Office, dict]:
    """An order read, checked, cleared, approved by two people and paid: its receipt."""
    office = office or Office(orders_capability())
    office.people("ann", "bob")
    case = office.open("order", order=order)
    office.act(case, "acme.orders.read", fact("acme.orders.line", order=order, item="bolt", cents=cents), order=order)
    office.say(case, "acme.orders.approved", order=order)
    office.batch(case, {"op": "assert_fact", "predicate": "acme.orders.blocked", "args": {"order": order, "why": "fraud"}, "negated": True})
    office.board("apply_action", action="acme.orders.check", args={}, focus=[case["caseId"]])
    ordinal = office.ask(case, "acme.orders.pay", order=order)
    office.approve(ordinal, "ann", "bob")
    office.run(ordinal)
    return office, office.close(case)
