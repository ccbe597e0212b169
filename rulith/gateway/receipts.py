"""Terminal Receipts: the self-contained, signed proof bundle of a closed Case.

Written in the very commit that closes the Case, from that Case's own ledger rows in full
and the bare hashes of the rows between, so that anyone can check the chain, the proofs
and the signature with no ledger and no network. Decides nothing about the Case.

Source  the design's rules on closing and chains (§5); format rulith-terminal-receipt/1.
"""

from __future__ import annotations

from rulith.board.operations import Operation
from rulith.gateway.authority import BOARD, Authority
from rulith.gateway.signing import Signer

FORMAT = "rulith-terminal-receipt/1"


class TerminalReceipts:
    def __init__(self, authority: Authority, signer: Signer) -> None:
        self.authority = authority
        self._signer = signer

    def write(self, agent_id: str, case_id: str) -> None:
        """Stage the receipt of a Case that has just been closed in this turn."""
        state = self.authority.agents[agent_id]
        facts = state.board.receipt_facts(case_id)
        cited = {each["by"]["ordinal"] for each in facts["facts"] if "ordinal" in each["by"]}
        own = [each for each in state.operations.operations.values() if case_id in each.case_ids or each.ordinal in cited]
        borrowed = cited - {each.ordinal for each in own if case_id in each.case_ids}
        rows, between = self._rows(agent_id, state.case_rows[case_id] | self._recorded(agent_id, borrowed))
        document = {
            "format": FORMAT, "agentId": agent_id, **facts,
            "operations": [_operation(each) for each in own],
            "decisions": [each for each in self.authority.registry.decisions.values()
                          if each["agentId"] == agent_id and case_id in each["caseIds"]],
            "rows": rows, "between": between,
        }
        self.authority.record_receipt_document(agent_id, self._signer.sign_document(document))

    def _recorded(self, agent_id: str, ordinals: set[int]) -> set[int]:
        """The rows that recorded these operations: a Case may rest on what an earlier Case on the same Board brought."""
        if not ordinals:
            return set()
        return {row.seq for row in self.authority.rows(agent_id, 0)
                if row.kind == BOARD and row.body["command"].get("ordinal") in ordinals}

    def _rows(self, agent_id: str, own: set[int]) -> tuple[list[dict], list[dict]]:
        """These rows in full, and sequence number and hash of every other row between the first and the last."""
        first, last = min(own), max(own)
        rows, between = [], []
        for row in self.authority.rows(agent_id, first - 1):
            if row.seq > last:
                break
            if row.seq in own:
                rows.append({"chain": row.chain, "seq": row.seq, "at": row.at, "kind": row.kind, "body": row.body,
                             "prev": row.prev, "hash": row.hash})
            else:
                between.append({"seq": row.seq, "hash": row.hash})
        return rows, between


def _operation(operation: Operation) -> dict:
    """One call of the Case: what was asked, under which grant it ran, and what came of it."""
    row: dict = {"ordinal": operation.ordinal, "tool": operation.tool, "label": operation.label, "at": operation.at,
                 "outcome": operation.state, "summary": operation.summary}
    if operation.reason:
        row["reason"] = operation.reason
    plan = operation.plan
    if plan is None:
        return row
    row.update(action=plan["action"], toolContractId=plan["tool"], argsText=plan["argsText"], target=plan["target"],
               toolSpecText=plan["toolSpecText"], sourceRecordId=plan["sourceRecordId"], argumentDigest=plan["argumentDigest"],
               invocationId=operation.invocation)
    if operation.decision:
        row["decisionId"] = operation.decision["id"]
    if operation.dispatch:
        row["dispatch"] = dict(operation.dispatch)
        row["requestDigest"] = operation.dispatch["requestDigest"]
    if operation.identity:
        row["identity"] = dict(operation.identity)
        if "resultDigest" in operation.identity:
            row["resultDigest"] = operation.identity["resultDigest"]
    return row
