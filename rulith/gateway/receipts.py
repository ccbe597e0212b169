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
GATEWAY = {"kind": "gateway"}


class TerminalReceipts:
    def __init__(self, authority: Authority, signer: Signer) -> None:
        self.authority = authority
        self._signer = signer

    def write(self, agent_id: str, case_id: str) -> None:
        """Stage the receipt of a Case that has just been closed in this turn."""
        state = self.authority.agents[agent_id]
        facts = state.board.receipt_facts(case_id)
        cited = {each["by"]["ordinal"] for each in facts["facts"] if "ordinal" in each["by"]}
        known = state.operations.operations.values()
        own = [each for each in known if case_id in each.case_ids]
        borrowed = cited - {each.ordinal for each in own}
        told = {each.ordinal: _operation(each) for each in known if case_id in each.case_ids or each.ordinal in borrowed}
        told.update(self._told_before(agent_id, facts["facts"], borrowed - set(told)))
        rows, between = self._rows(agent_id, state.case_rows[case_id] | self._recorded(agent_id, borrowed))
        document = {
            "format": FORMAT, "agentId": agent_id, **facts,
            "operations": [told[ordinal] for ordinal in sorted(told)],
            "decisions": [each for each in self.authority.registry.decisions.values()
                          if each["agentId"] == agent_id and case_id in each["caseIds"]],
            "rows": rows, "between": between,
        }
        self.authority.record_receipt_document(agent_id, self._signer.sign_document(document))
        self._let_go(agent_id, case_id, document)

    def _let_go(self, agent_id: str, case_id: str, document: dict) -> None:
        """What the receipt tells for good need not stay in memory."""
        if any("invocationId" in each for each in document["operations"]):
            self.authority.command_operation(agent_id, {"kind": "case_closed", "caseId": case_id})
        if document["decisions"]:
            self.authority.command_registry({"kind": "case_closed", "agentId": agent_id, "caseId": case_id, "authority": GATEWAY})

    def _told_before(self, agent_id: str, facts: list[dict], ordinals: set[int]) -> dict[int, dict]:
        """Calls of earlier Cases that are no longer in memory, as those Cases' own receipts tell of them."""
        state, found = self.authority.agents[agent_id], {}
        for case_id in dict.fromkeys(state.board.case_of_fact(each["id"]) for each in facts if each["by"].get("ordinal") in ordinals):
            document = self.authority.receipt_document(agent_id, case_id) if case_id is not None else None
            for row in document["operations"] if document is not None else ():
                if row["ordinal"] in ordinals:
                    found[row["ordinal"]] = row
        return found

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
