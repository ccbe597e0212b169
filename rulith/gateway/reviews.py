"""Reviews on the line: a model's word on a call that waits for a person, for that person to read.

Promises: a verdict decides nothing, allows nothing and stops nothing; it stands beside the
decision with the words of whoever gave it, bound to the exact request and to the law in
force when it was asked. What is shown to a reviewer is what its Worker would be given to
run, and the norm: no fact of the Board and no premise.

Source  the Worker hop, §§4, 5.3, 16
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.canonical import canonical_text, digest
from rulith.base.clock import seconds_of
from rulith.base.errors import Refused
from rulith.board.operations import WAITING, Operation
from rulith.gateway.authority import AgentState, Authority
from rulith.gateway.worker_work import Holder, served_row
from rulith.wire.digests import request_digest_of_row

REVIEW = "review"
GATEWAY = {"kind": "gateway"}
AGAIN_S = 120.0                  # until a row that its holder left is offered to it once more
LAW_CHARS_MAX = 32_768
TEXT_CHARS_MAX = 2_000


class WorkReviews:
    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self._offered: dict[tuple[str, str, int], float] = {}

    def rows(self, holder: Holder) -> list[dict]:
        """The review row of the call that waits for a person, once in a while, until somebody's review of it is in."""
        agent_id, state, waiting = self._waiting(holder.connection_id)
        if state is None or waiting is None or self._reviews(waiting):
            return []
        key, now_s = (waiting.decision["id"], holder.worker_id, holder.generation), self.authority.clock.monotonic_s()
        if now_s - self._offered.get(key, -AGAIN_S) < AGAIN_S:
            return []
        self._offered = {each: when for each, when in self._offered.items() if now_s - when < AGAIN_S} | {key: now_s}
        row = self._row(agent_id, waiting)
        return [row]

    def _waiting(self, connection_id: str) -> tuple[str, AgentState | None, Operation | None]:
        agent_id = self.authority.registry.connection(connection_id)["agentId"]
        state = self.authority.agents.get(agent_id)
        found = state.operations.unresolved() if state is not None else None
        mine = found is not None and found.state == WAITING and found.plan["connectionId"] == connection_id
        return agent_id, state, found if mine else None

    def _reviews(self, operation: Operation) -> list[dict]:
        return self.authority.registry.decision(operation.decision["id"]).get("reviews", [])

    def _row(self, agent_id: str, operation: Operation) -> dict:
        plan = operation.plan
        return {"workType": REVIEW, "work": f"rev_{operation.decision['id']}", "tool": plan["tool"], "norm": str(operation.decision["kind"]),
                "invocation": operation.invocation, "requestDigest": request_digest_of_row(served_row(agent_id, operation)),
                "expectedPolicyFingerprint": self._policy(operation), "caseFile": {"rendered": self._rendered(operation)}}

    def _policy(self, operation: Operation) -> str:
        """What the norm rests on; another Constitution or Release is another policy."""
        law = self.authority.registry.constitution
        return digest({"constitution": law["digest"] if law is not None else "", "release": operation.plan["release"], "decision": operation.plan["decision"]})

    def _rendered(self, operation: Operation) -> str:
        plan, law = operation.plan, self.authority.registry.constitution
        lines = [f"Norm: a person decides first: {operation.decision['kind']}", f"Action: {plan['action']} ({plan['kind']} by the Tool {plan['tool']})",
                 f"Source: {plan['sourceRecordId'] or 'none'}", f"Target: {plan['target'] or 'none'}", f"Arguments: {plan['argsText']}",
                 f"Tool contract: {plan['toolSpecText']}"]
        if law is not None:
            lines.append(f"Constitution in force: {canonical_text(law['document'])[:LAW_CHARS_MAX]}")
        return "\n".join(lines)

    async def report(self, holder: Holder, request: Mapping) -> dict:
        """Put a verdict beside its decision. Raises Refused: no_work, review_not_asked, already_reported."""
        agent_id, _, waiting = self._waiting(holder.connection_id)
        if waiting is None or waiting.invocation != request["invocation"]:
            raise Refused("no_work", work=request["invocation"][:80])
        row = self._row(agent_id, waiting)
        for name in ("tool", "norm", "requestDigest", "expectedPolicyFingerprint"):
            if request[name] != row[name]:
                raise Refused("review_not_asked", member=name)
        review = {"connectionId": holder.connection_id, **{name: request[name] for name in ("verdict", "requestDigest", "expectedPolicyFingerprint")},
                  **{name: _one_line(request[name]) for name in ("reason", "citedClause", "feature")}}
        decision = self.authority.registry.decision(waiting.decision["id"])
        known = next((each for each in self._reviews(waiting) if each["connectionId"] == holder.connection_id), None)
        if known is None:
            self.authority.command_registry({"kind": "record_review", "id": decision["id"], "review": review, "authority": GATEWAY})
            self.authority.touched(agent_id)
        elif {name: known[name] for name in review} != review:
            raise Refused("already_reported")
        await self.authority.settled()
        return {"accepted": True, "payload": {"expiresAt": int(seconds_of(decision["expiresAt"]) * 1000)}}


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:TEXT_CHARS_MAX]
