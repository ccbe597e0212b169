"""Work on the line: what is dispatched to a Worker, who claims it, and what it may report.

Promises: a row leaves only with a grant that is in the ledger; one claim per call; a
receipt is judged against the dispatch record, never against what the Worker says of
itself; one that is refused lands nothing on the Board, and where its Tool may have acted
the call needs a person: what could not be recorded is unknown, not failed. The Worker holds the Connection
key too, so a good signature alone proves nothing here.

Source  protocol/worker-contract.json; the Worker hop, §§5, 7, 8, 9 and 17.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.base.limits import (INLINE_BYTES_MAX, OBJECT_BYTES_MAX, OBJECT_RETENTION_MS, OBJECTS_BYTES_MAX)
from rulith.board.constitution import is_covered
from rulith.board.operations import CLAIMED, DISPATCHED, DONE, FAILED, NEEDS_PERSON, REFUSED, Operation
from rulith.gateway.authority import AgentState, Authority
from rulith.wire.digests import adapter_digest, request_digest_of_row, result_digest
from rulith.wire.grant import Grant, expected_grant, read_claims, sign_grant, verify_grant
from rulith.wire.lease import Fence

ARTIFACT_POLICY = {"inlineBytes": INLINE_BYTES_MAX, "readBytes": INLINE_BYTES_MAX, "objectBytes": OBJECT_BYTES_MAX,
                   "totalBytes": OBJECTS_BYTES_MAX, "temporaryRetentionMs": OBJECT_RETENTION_MS}

REASON_CHARS_MAX = 400           # of what the Board refused, inside a reason of at most 500


@dataclass(frozen=True)
class Holder:
    """Who speaks on the line. `key` authenticated the request and signs grants; it is never stored here."""

    connection_id: str
    key: str
    worker_id: str
    generation: int

    def __repr__(self) -> str:
        return f"Holder({self.connection_id}, {self.worker_id}, {self.generation})"


def served_row(agent_id: str, operation: Operation) -> dict:
    """The action row of an operation without its grant: exact strings, as planned."""
    plan = operation.plan
    record = plan["sourceRecordId"]
    return {"workType": "action", "work": operation.invocation, "tool": plan["action"], "boardId": agent_id,
            "toolContractId": plan["tool"], "sourceRecordId": record, "connectionId": plan["connectionId"],
            "toolDigest": plan["toolDigest"], "args": plan["argsText"], "target": plan["target"],
            "toolSpec": plan["toolSpecText"],
            "sourceUpload": {"sourceRecordId": record, "permission": "absent", "upload": False},
            "artifactPolicy": dict(ARTIFACT_POLICY)}


class WorkerWork:
    """Dispatches, claims and settles.

    settled   (agent_id, ordinal, cases): hears which Cases an outcome moved
    permits   (agent_id, source) -> {register: granted|denied|absent, …}: whether a result may be told by reference
    """

    def __init__(self, authority: Authority, *, settled, permits=lambda agent_id, source: {"register": "absent"}) -> None:
        self.authority = authority
        self._permits = permits
        self._settled = settled
        self._judged: dict[str, tuple[str, str]] = {}      # agent -> (invocation last offered, Constitution it was judged by)

    # --- dispatch ----------------------------------------------------------------------

    def dispatch(self, holder: Holder, tools: dict[str, str]) -> list[dict]:
        """The rows this holder may claim now; their dispatch records are staged, so wait for the commit before sending."""
        rows = []
        agent_id, state = self._agent(holder)
        for operation in state.operations.awaiting_worker(holder.connection_id) if state is not None else ():
            row = self._offer(holder, tools, agent_id, operation)
            if row is not None:
                rows.append(row)
        return rows

    def _agent(self, holder: Holder) -> tuple[str, AgentState | None]:
        """The one Agent whose Actions this Connection serves; its state is None once it was removed."""
        agent_id = self.authority.registry.connection(holder.connection_id)["agentId"]
        return agent_id, self.authority.agents.get(agent_id)

    def _offer(self, holder: Holder, tools: dict[str, str], agent_id: str, operation: Operation) -> dict | None:
        plan = operation.plan
        lock = self.authority.registry.locks.get((holder.connection_id, plan["tool"]))
        if lock is None or lock.digest != plan["toolDigest"] or tools.get(plan["tool"]) != plan["toolDigest"]:
            return None             # another definition than the owner approved; the call waits for the right one
        if not self._is_still_allowed(agent_id, operation):
            return None
        self._judged[agent_id] = (operation.invocation, self._law())
        row = served_row(agent_id, operation)
        said = self._permits(agent_id, plan["sourceRecordId"])["register"]
        row["sourceUpload"].update(permission=said, upload=said == "granted")
        request_digest = request_digest_of_row(row)
        grant = sign_grant(expected_grant(row, connection_id=holder.connection_id, worker_id=holder.worker_id,
                                          worker_generation=holder.generation, request_digest=request_digest), holder.key)
        before = operation.dispatch
        if operation.state != DISPATCHED or before["grant"] != grant:
            self.authority.command_operation(agent_id, {
                "kind": "dispatch", "ordinal": operation.ordinal, "connectionId": holder.connection_id,
                "workerId": holder.worker_id, "generation": holder.generation, "requestDigest": request_digest, "grant": grant})
        return {**row, "executionGrant": grant}

    def _law(self) -> str:
        known = self.authority.registry.constitution
        return known["digest"] if known is not None else ""

    def _is_still_allowed(self, agent_id: str, operation: Operation) -> bool:
        """Judge the Action once more with the very arguments that were bound; refuse it where law no longer agrees."""
        plan, state = operation.plan, self.authority.agents[agent_id]
        try:
            again = state.board.plan_action(plan["action"], plan["args"], plan["target"] or None,
                                            self.authority.policy(agent_id), focus=list(plan["caseIds"]), at=self.authority.at(agent_id))
            if again.argument_digest != plan["argumentDigest"]:
                reason = "What the Action would do has changed since it was asked for."
            elif not is_covered(again.decision, plan["decision"]):
                raise Refused("governance_rejected", action=plan["action"], rule="needs_decision",
                              reason=f"it now needs a decision that nobody made ({again.decision['kind']}, by {again.decision['people']})")
            else:
                return True
        except Refused as refusal:
            reason = refusal.teaching
        public = {"accepted": True, "result": {"action": plan["action"], "done": True, "status": "refused", "ok": False}}
        self.authority.command_operation(agent_id, {"kind": "settle", "ordinal": operation.ordinal, "state": REFUSED,
                                                    "result": public, "summary": reason[:500], "reason": reason[:500]})
        return False

    # --- claim -------------------------------------------------------------------------

    async def claim(self, holder: Holder, request: dict) -> dict:
        agent_id, operation = self._find(holder, request["id"])
        if operation.state not in (DISPATCHED, CLAIMED):
            raise Refused("not_dispatchable", work=request["id"][:80])
        if operation.state == CLAIMED and not _is_claimer(operation, holder):
            raise Refused("already_claimed")
        if operation.state == DISPATCHED and self._judged.get(agent_id) != (operation.invocation, self._law()):
            if not self._is_still_allowed(agent_id, operation):       # another Constitution came since it was offered
                await self.authority.settled()
                raise Refused("not_dispatchable", work=request["id"][:80])
        self._check_grant(holder, agent_id, operation, request["executionGrant"])
        self.authority.command_operation(agent_id, {
            "kind": "claim", "ordinal": operation.ordinal, "connectionId": holder.connection_id,
            "workerId": holder.worker_id, "generation": holder.generation})
        await self.authority.settled()
        return {"accepted": True}

    def _find(self, holder: Holder, invocation: str) -> tuple[str, Operation]:
        agent_id, state = self._agent(holder)
        operation = state.operations.by_invocation(invocation) if state is not None else None
        if operation is not None and operation.plan["connectionId"] == holder.connection_id:
            return agent_id, operation
        raise Refused("no_work", work=invocation[:80])

    def granted(self, holder: Holder, token: str) -> Operation:
        """The call that this grant was served for. Raises Refused: no_work, not_claimer, grant_…"""
        agent_id, operation = self._find(holder, read_claims(token).invocationId)
        if operation.dispatch is None or not _is_claimer(operation, holder):
            raise Refused("not_claimer")
        self._check_grant(holder, agent_id, operation, token)
        return operation

    def _check_grant(self, holder: Holder, agent_id: str, operation: Operation, token: str) -> Grant:
        """The grant must be well signed, say what the dispatch record says, and be the very one that was served."""
        record, row = operation.dispatch, served_row(agent_id, operation)
        expect = expected_grant(row, connection_id=record["connectionId"], worker_id=record["workerId"],
                                worker_generation=record["generation"], request_digest=record["requestDigest"])
        grant = verify_grant(token, key=holder.key, expect=expect)
        if (grant.workerId, grant.workerGeneration) != (holder.worker_id, holder.generation):
            raise Refused("grant_mismatch", problem="it was served to another instance or generation")
        if token != record["grant"]:
            raise Refused("grant_mismatch", problem="its text is not the one that was served")
        return grant

    # --- report ------------------------------------------------------------------------

    async def report(self, holder: Holder, request: dict, fence: Fence) -> dict:
        receipt = _receipt(request)
        agent_id, operation = self._find(holder, request["id"])
        receipt = self._with_artifacts(agent_id, operation, receipt)
        if operation.is_settled or operation.state not in (DISPATCHED, CLAIMED):
            if receipt.undeliverable and operation.state == NEEDS_PERSON and _is_claimer(operation, holder):
                return {"accepted": True}       # so it is recorded already
            return await self._report_settled(holder, agent_id, operation, receipt, fence)
        if operation.state != CLAIMED or not _is_claimer(operation, holder):
            raise Refused("not_claimer")
        if fence.generation > holder.generation:
            return await self._too_late(holder, agent_id, operation, receipt)
        self._check_grant(holder, agent_id, operation, request["executionGrant"])
        if receipt.undeliverable:
            reason = f"The Worker ran the Tool and could not deliver the outcome ({receipt.undeliverable})."
            self.authority.command_operation(agent_id, {"kind": "needs_person", "ordinal": operation.ordinal, "reason": reason})
        else:
            try:
                self._settle(holder, agent_id, operation, receipt)
            except Refused as refusal:
                if receipt.ok and operation.plan["kind"] != "read":
                    await self._unrecorded(agent_id, operation, refusal)
                raise
        await self.authority.settled()
        return {"accepted": True}

    def _with_artifacts(self, agent_id: str, operation: Operation, receipt: Receipt) -> Receipt:
        """The receipt with its references resolved: objects that this very call registered, else it is refused whole."""
        if not receipt.refs:
            return receipt
        known = self.authority.agents[agent_id].artifacts
        records = tuple(known.of_call(operation.ordinal, operation.plan["connectionId"], ref).record() for ref in receipt.refs)
        digest = result_digest(ok=receipt.ok, result=receipt.result, reason=receipt.reason, facts=receipt.facts, artifacts=records)
        return replace(receipt, artifacts=records, digest=digest)

    async def _unrecorded(self, agent_id: str, operation: Operation, refusal: Refused) -> None:
        """The Tool ran, and the Board refuses what is said of it: whether it took effect is for a person to tell."""
        problem = refusal.facts.get("problem", refusal.happened)
        reason = f"The Tool ran, and its receipt was refused ({_one_line(str(problem))[:REASON_CHARS_MAX]})."
        self.authority.command_operation(agent_id, {"kind": "needs_person", "ordinal": operation.ordinal, "reason": reason})
        await self.authority.settled()

    def _settle(self, holder: Holder, agent_id: str, operation: Operation, receipt: Receipt) -> None:
        """Board first: a receipt it refuses leaves the call claimed and settles nothing."""
        plan = operation.plan
        _check_size(receipt)
        source = self.authority.registry.sources.get(plan["sourceRecordId"])
        if plan["sourceRecordId"] and (source is None or source.connection_id != holder.connection_id):
            raise Refused("ingest_rejected", problem=f"Source {plan['sourceRecordId']!r} is no longer bound to this Connection")
        command = {"kind": "record_receipt", "ordinal": operation.ordinal, "plan": dict(plan), "ok": receipt.ok,
                   "facts": receipt.facts, "resultDigest": receipt.digest, "requestDigest": operation.dispatch["requestDigest"],
                   "workerId": holder.worker_id, "workerGeneration": holder.generation,
                   "source": source.record() if source is not None else None}
        if receipt.reason:
            command["reason"] = receipt.reason
        if receipt.result:
            command["result"] = receipt.result      # kept so that anyone can compute the digest again
        if receipt.artifacts:
            command["artifacts"] = list(receipt.artifacts)
        outcome = self.authority.command_board(agent_id, command)
        result = {name: outcome.result[name] for name in ("action", "done", "status", "ok") if name in outcome.result}
        if receipt.artifacts:
            self.authority.command_artifact(agent_id, {"kind": "tell", "ordinal": operation.ordinal, "refs": list(receipt.refs)})
            result["artifacts"] = list(receipt.artifacts)
        content = "".join(f", with {each['mediaType']} of {each['totalBytes']} bytes, {each['digest']}" for each in receipt.artifacts)
        summary = f"The Action took effect and was recorded{content}." if receipt.ok else f"The Action failed: {receipt.reason or 'no reason was given'}"
        self.authority.command_operation(agent_id, {
            "kind": "settle", "ordinal": operation.ordinal, "state": DONE if receipt.ok else FAILED,
            "result": {"accepted": True, "result": result}, "summary": _one_line(summary),
            "identity": self._identity(holder, operation, receipt)})
        self._settled(agent_id, operation.ordinal, outcome.affected_cases)

    def _identity(self, holder: Holder, operation: Operation, receipt: Receipt) -> dict:
        plan = operation.plan
        return {"invocationId": operation.invocation, "actionId": plan["action"], "toolContractId": plan["tool"],
                "sourceRecordId": plan["sourceRecordId"], "connectionId": holder.connection_id,
                "workerId": holder.worker_id, "workerGeneration": holder.generation,
                "adapterDigest": adapter_digest(plan["toolDigest"]), "requestDigest": operation.dispatch["requestDigest"],
                "resultDigest": receipt.digest, "outcome": "succeeded" if receipt.ok else "failed",
                "timestamp": self.authority.now()}

    async def _report_settled(self, holder: Holder, agent_id: str, operation: Operation, receipt: Receipt, fence: Fence) -> dict:
        """The same receipt again gets the same answer; anything else for a settled call is refused."""
        identity = operation.identity or {}
        same = (identity.get("resultDigest") == receipt.digest and identity.get("workerId") == holder.worker_id
                and identity.get("workerGeneration") == holder.generation)
        if same:
            await self.authority.settled()
            return {"accepted": True}
        if fence.generation > holder.generation and operation.claim is not None and _is_claimer(operation, holder):
            return await self._too_late(holder, agent_id, operation, receipt)
        raise Refused("already_reported")

    async def _too_late(self, holder: Holder, agent_id: str, operation: Operation, receipt: Receipt) -> dict:
        """Keep the late receipt for audit; it moves nothing."""
        self.authority.audit(agent_id, {"what": "late_receipt", "ordinal": operation.ordinal, "invocationId": operation.invocation,
                                        "connectionId": holder.connection_id, "workerId": holder.worker_id,
                                        "workerGeneration": holder.generation, "ok": receipt.ok,
                                        "resultDigest": receipt.digest, "undeliverable": receipt.undeliverable})
        await self.authority.settled()
        raise Refused("worker_fenced")


@dataclass(frozen=True)
class Receipt:
    """One checked report of action work; exactly one of `undeliverable` and a known outcome."""

    ok: bool
    result: str
    reason: str
    facts: list[dict]
    undeliverable: str
    digest: str
    refs: tuple[str, ...] = ()
    artifacts: tuple[dict, ...] = ()      # what these references stand for


def _receipt(request: dict) -> Receipt:
    """Read a report of action work whose shape the contract has checked. Raises Refused artifact_reference_repeated."""
    if "undeliverable" in request:
        return Receipt(False, "", "", [], request["undeliverable"], "")
    result, reason, facts = request.get("result", ""), request.get("reason", ""), request.get("facts", [])
    refs = [row["ref"] for row in request.get("artifacts", [])]
    for ref in refs:
        if refs.count(ref) > 1:
            raise Refused("artifact_reference_repeated", ref=ref)
    ok = request["ok"]
    return Receipt(ok, result, reason, facts, "", result_digest(ok=ok, result=result, reason=reason, facts=facts), tuple(refs))


def _check_size(receipt: Receipt) -> None:
    """Raises Refused ingest_rejected."""
    size = len(compact_json({"result": receipt.result, "reason": receipt.reason, "facts": receipt.facts}).encode("utf-8"))
    if size > INLINE_BYTES_MAX:
        raise Refused("ingest_rejected", problem=f"result, reason and facts take {size} bytes, over the inline budget of {INLINE_BYTES_MAX}")


def _is_claimer(operation: Operation, holder: Holder) -> bool:
    claim = operation.claim
    return claim is not None and (claim["connectionId"], claim["workerId"], claim["generation"]) == (
        holder.connection_id, holder.worker_id, holder.generation)


def _one_line(text: str) -> str:
    """Text a Worker wrote, fit for one line of a strip: control characters become blanks."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:500]
