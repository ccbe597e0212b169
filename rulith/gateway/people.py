"""What a person does about calls: decide, reconcile, isolate. Each is judged by law and bound to what was shown.

Promises: a verdict counts only for the exact bytes the decision is bound to; a
reconciliation records effects and never a Worker's facts; isolation waits until the lease
has lapsed. `authority` is the statement of a sign-in; the Registry judges it. What a
person does to a whole Case stands in case_acts.py.

Source  the design's rules on the person's authority and unknown effects (§5).
"""

from __future__ import annotations

from rulith.base.errors import Refused
from rulith.board.operations import NEEDS_PERSON, WAITING
from rulith.board.registry import judge_authority
from rulith.gateway.authority import Authority
from rulith.gateway.calls import ToolCalls
from rulith.gateway.worker_line import WorkerLine

OUTCOMES = {"happened": ("confirmed", True), "did_not": ("failed", False), "cannot_tell": ("unknown", None)}
REASON_CHARS_MAX = 500


class People:
    def __init__(self, authority: Authority, calls: ToolCalls, line: WorkerLine) -> None:
        self.authority = authority
        self._calls = calls
        self._line = line

    def decide(self, decision_id: str, verdict: str, argument_digest: str, reason: str, by: dict) -> dict:
        """Record one verdict; the last one needed moves the operation in the same commit."""
        decision = self.authority.registry.decision(decision_id)
        agent_id, ordinal = decision["agentId"], decision["ordinal"]
        command = {"kind": "decide", "id": decision_id, "verdict": verdict, "argumentDigest": argument_digest, "authority": by}
        if reason:
            command["reason"] = reason[:REASON_CHARS_MAX]
        self._calls.expire_decision(agent_id)
        result = self.authority.command_registry(command).result
        operation = self.authority.agents[agent_id].operations.operation(ordinal)
        if operation.state == WAITING and result["state"] == "approved":
            self.authority.command_operation(agent_id, {"kind": "decide", "ordinal": ordinal, "verdict": "approve"})
        elif operation.state == WAITING and result["state"] == "rejected":
            said = f"A person rejected it: {reason}"[:REASON_CHARS_MAX]
            self.authority.command_operation(agent_id, {"kind": "decide", "ordinal": ordinal, "verdict": "reject", "reason": said})
            self._calls.record_refusal(agent_id, ordinal)
        return result

    def reconcile(self, agent_id: str, ordinal: int, outcome: str, reason: str, argument_digest: str, by: dict) -> dict:
        """Settle a call whose effect is not known, on the word of a person who looked at the call with this very digest."""
        name = judge_authority("reconcile", by, self.authority.registry.people)
        if outcome not in OUTCOMES:
            raise Refused("bad_command", problem=f"An outcome is one of {', '.join(OUTCOMES)}")
        if not reason:
            raise Refused("reason_required")
        self.authority.registry.agent(agent_id)
        operation = self.authority.agents[agent_id].operations.operation(ordinal)
        if operation.state != NEEDS_PERSON:
            raise Refused("not_needs_person", ordinal=ordinal, state=operation.public_state)
        if operation.plan["argumentDigest"] != argument_digest:
            raise Refused("call_digest_mismatch", label=operation.label)
        said = reason[:REASON_CHARS_MAX]
        moved = self.authority.command_board(agent_id, {"kind": "record_reconciliation", "ordinal": ordinal,
                                                        "plan": dict(operation.plan), "outcome": outcome, "by": name, "reason": said})
        status, ok = OUTCOMES[outcome]
        public: dict = {"action": operation.plan["action"], "done": True, "status": status}
        if ok is not None:
            public["ok"] = ok
        self.authority.command_operation(agent_id, {
            "kind": "reconcile", "ordinal": ordinal, "outcome": outcome, "result": {"accepted": True, "result": public},
            "summary": f"A person looked and says it {_SAID[outcome]}: {said}"[:500], "by": name, "reason": said})
        self._calls.note_affected(agent_id, ordinal, moved.affected_cases)
        return {"agentId": agent_id, "ordinal": ordinal, "outcome": outcome}

    def lease_left_s(self, connection_id: str) -> int:
        """Whole seconds until `isolate` is possible; 0 when it is now."""
        left_s = self._line.lease_left_s(connection_id)
        return int(left_s) + 1 if left_s > 0 else 0

    def isolate(self, connection_id: str, by: dict) -> dict:
        """Fence a Connection whose Worker is gone, so that its claimed calls can be reconciled."""
        self.authority.registry.connection(connection_id)
        left_s = self._line.lease_left_s(connection_id)
        if left_s > 0:
            raise Refused("worker_not_isolated", connection=connection_id, seconds=int(left_s) + 1)
        result = self.authority.command_registry({"kind": "isolate", "connectionId": connection_id, "authority": by}).result
        self._line.supersede(connection_id, "a person isolated its Connection")
        self._line.drop(connection_id)
        return result


_SAID = {"happened": "happened", "did_not": "did not happen", "cannot_tell": "cannot be told"}
