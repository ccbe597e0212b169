"""What a person does to a Case: end it, hold it, lift a hold, withdraw a call that no Worker has taken.

Promises: each act is judged by law, carries its reason and names the person in its row; a
Case closes as completed for nobody before it is certified, and for nobody while a call of
it is open; its Terminal Receipt is written in the same commit. A hold stops what has not
begun: what a Worker has claimed goes on and is recorded. Only a call that nobody claimed
can be withdrawn, for only of that one it is known that nothing ran.

Source  the design's rules on the life of a Case and the person's authority (§5).
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.board.operations import CLAIMED, DISPATCHED, NEEDS_PERSON, READY, REFUSED, WAITING, Operation
from rulith.board.registry import judge_authority
from rulith.gateway.authority import AgentState, Authority
from rulith.gateway.calls import ToolCalls
from rulith.gateway.receipts import TerminalReceipts

OPERATOR = "operator"            # the hold that people set
REASON_CHARS_MAX = 500
# what is open -> what a person can do about it
NEXT = {WAITING: "decide", NEEDS_PERSON: "reconcile", CLAIMED: "wait", READY: "withdraw", DISPATCHED: "withdraw"}


class CaseActs:
    """Runs the acts; `by` is the statement of a sign-in."""

    def __init__(self, authority: Authority, calls: ToolCalls, receipts: TerminalReceipts) -> None:
        self.authority = authority
        self._calls = calls
        self._receipts = receipts

    def close(self, agent_id: str, case_id: str, disposition: str, reason: str, by: Mapping) -> dict:
        """Close a Case, e.g. so that the next run of its key opens another. A hold does not stand in the way."""
        name, state, said = self._judged("close_case", agent_id, reason, by)
        self._calls.expire_decision(agent_id)
        waits = self.open_call(agent_id, case_id)
        result = self.authority.command_board(agent_id, {
            "kind": "close_case", "root": state.board.case(case_id).root, "disposition": disposition, "reason": said,
            "obligations": [waits.label] if waits is not None else [], "by": name}).result
        self._receipts.write(agent_id, case_id)
        return result

    def hold(self, agent_id: str, case_id: str, reason: str, by: Mapping) -> dict:
        """Let nothing new begin in a Case until its hold is lifted."""
        return self._hold("pause_case", agent_id, case_id, OPERATOR, reason, by)

    def lift(self, agent_id: str, case_id: str, hold: str, reason: str, by: Mapping) -> dict:
        return self._hold("lift_hold", agent_id, case_id, hold, reason, by)

    def withdraw(self, agent_id: str, ordinal: int, reason: str, by: Mapping) -> dict:
        """Take back a call that waits for a Worker; the Board remembers that a person said no to it."""
        name, state, said = self._judged("withdraw_call", agent_id, reason, by)
        operation = state.operations.operation(ordinal)
        if NEXT.get(operation.state) != "withdraw":
            raise Refused("not_withdrawable", ordinal=ordinal, state=operation.public_state)
        told = f"A person ({name}) withdrew it before a Worker took it: {said}"[:REASON_CHARS_MAX]
        public = {"accepted": True, "result": {"action": operation.plan["action"], "done": True, "status": "refused", "ok": False}}
        self.authority.command_operation(agent_id, {"kind": "settle", "ordinal": ordinal, "state": REFUSED, "result": public,
                                                    "summary": told, "reason": told})
        self._calls.record_refusal(agent_id, ordinal)
        return {"agentId": agent_id, "ordinal": ordinal, "state": REFUSED}

    def open_call(self, agent_id: str, case_id: str) -> Operation | None:
        """The call that a close of this Case waits for."""
        waits = self.authority.agents[agent_id].operations.unresolved()
        return waits if waits is not None and case_id in waits.case_ids else None

    def _hold(self, kind: str, agent_id: str, case_id: str, hold: str, reason: str, by: Mapping) -> dict:
        name, _, said = self._judged(kind, agent_id, reason, by)
        return self.authority.command_board(agent_id, {"kind": kind, "caseId": case_id, "hold": hold, "by": name, "reason": said}).result

    def _judged(self, act: str, agent_id: str, reason: str, by: Mapping) -> tuple[str, AgentState, str]:
        """Who acts, on which Agent's Board, for which reason. Raises Refused sign_in_required, unknown_agent, reason_required."""
        name = judge_authority(act, by, self.authority.registry.people)
        self.authority.registry.agent(agent_id)
        if not reason.strip():
            raise Refused("reason_required")
        return name, self.authority.agents[agent_id], reason.strip()[:REASON_CHARS_MAX]
