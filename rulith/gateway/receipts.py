"""Terminal Receipts: the self-contained, signed proof bundle of a closed Case.

Written in the very commit that closes the Case, from that Case's own ledger rows in full
and the digests of the rows between, so that anyone can check the chain, the proofs and the
signature with no ledger and no network. What earlier Cases brought and this one rests on
comes with the very rows that recorded it. Decides nothing about the Case.

Source  the design's rules on closing and chains (§5); format rulith-terminal-receipt/1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rulith.base.canonical import canonical_bytes, digest, sha256_hex
from rulith.board.operations import Operation, recalled
from rulith.gateway.authority import BOARD, OPERATION, Authority
from rulith.gateway.signing import Signer

FORMAT = "rulith-terminal-receipt/1"
GATEWAY = {"kind": "gateway"}
GAP_ROWS_MAX = 2_000     # rows of other work that stand by digest between two of the Case; more are skipped, and said to be


class TerminalReceipts:
    def __init__(self, authority: Authority, signer: Signer) -> None:
        self.authority = authority
        self._signer = signer

    def write(self, agent_id: str, case_id: str) -> None:
        """Stage the receipt of a Case that has just been closed in this turn."""
        state = self.authority.agents[agent_id]
        facts = state.board.receipt_facts(case_id)
        cited = {each["by"]["ordinal"] for each in facts["facts"] if "ordinal" in each["by"]}
        rows = self._rows(agent_id, state.case_rows[case_id], facts["facts"])
        held = state.operations.operations
        known = [*self._let_go_before(agent_id, rows["rows"]), *held.values()]
        own = [each for each in known if case_id in each.case_ids]
        borrowed = cited - {each.ordinal for each in own}
        told = {each.ordinal: _operation(each) for each in known if case_id in each.case_ids or each.ordinal in borrowed}
        told.update(self._told_before(agent_id, facts["facts"], borrowed - set(told)))
        document = {
            "format": FORMAT, "agentId": agent_id, **facts,
            "operations": [told[ordinal] for ordinal in sorted(told)],
            "decisions": [each for each in self.authority.registry.decisions.values()
                          if each["agentId"] == agent_id and case_id in each["caseIds"]],
            **rows,
        }
        document["digests"] = {name: digest(value) for name, value in document.items()}
        self.authority.record_receipt_document(agent_id, self._signer.sign_document(document))
        self._let_go(agent_id, case_id, document)

    def _let_go(self, agent_id: str, case_id: str, document: dict) -> None:
        """What the receipt tells for good need not stay in memory."""
        if any("invocationId" in each for each in document["operations"]):
            self.authority.command_operation(agent_id, {"kind": "case_closed", "caseId": case_id})
        if document["decisions"]:
            self.authority.command_registry({"kind": "case_closed", "agentId": agent_id, "caseId": case_id, "authority": GATEWAY})

    def _let_go_before(self, agent_id: str, rows: list[dict]) -> list[Operation]:
        """Calls of a long Case that memory no longer holds, read back from the chain; nothing is read where none is missing."""
        held = self.authority.agents[agent_id].operations.operations
        if all(row["body"]["command"].get("ordinal", 0) in held for row in rows if "ordinal" in row["body"]["command"]):
            return []
        told = (_full(row) for row in self.authority.rows(agent_id, rows[0]["seq"] - 1) if row.kind == OPERATION)
        return [each for ordinal, each in recalled(agent_id, told).items() if ordinal not in held]

    def _told_before(self, agent_id: str, facts: list[dict], ordinals: set[int]) -> dict[int, dict]:
        """Calls of earlier Cases that are no longer in memory, as those Cases' own receipts tell of them."""
        state, found = self.authority.agents[agent_id], {}
        for case_id in dict.fromkeys(state.board.case_of_fact(each["id"]) for each in facts if each["by"].get("ordinal") in ordinals):
            document = self.authority.receipt_document(agent_id, case_id) if case_id is not None else None
            for row in document["operations"] if document is not None else ():
                if row["ordinal"] in ordinals:
                    found[row["ordinal"]] = row
        return found

    def _rows(self, agent_id: str, own: set[int], facts: list[dict]) -> dict:
        """{rows, between, skipped, borrowed}: the Case's rows in full, what stands between them, and rows its facts rest on from elsewhere."""
        wanted = {fact["by"]["at"]: fact["id"] for fact in facts if "at" in fact["by"]}
        rows, between, skipped = [], [], []
        seqs = sorted(own)
        for first, last in _stretches(seqs):
            if rows:
                skipped.append({"after": rows[-1]["seq"], "before": first})
            for row in self.authority.rows(agent_id, first - 1):
                if row.seq > last:
                    break
                if row.seq in own or (row.kind == BOARD and row.at in wanted):
                    rows.append(_full(row))
                else:
                    between.append({"seq": row.seq, "at": row.at, "kind": row.kind, "body": sha256_hex(canonical_bytes(row.body)), "hash": row.hash})
        for row in rows:
            wanted.pop(row["at"], None)
        return {"rows": rows, "between": between, "skipped": skipped, "borrowed": self._borrowed(agent_id, wanted)}

    def _borrowed(self, agent_id: str, wanted: Mapping[str, str]) -> list[dict]:
        """The rows of these moments, from the receipts of closed Cases and the rows of open ones; `wanted` names a fact of each."""
        state, found = self.authority.agents[agent_id], {}
        cases = dict.fromkeys(state.board.case_of_fact(fact_id) for fact_id in wanted.values())
        for case_id in cases:
            document = self.authority.receipt_document(agent_id, case_id) if case_id is not None else None
            if document is not None:
                known: Iterable[dict] = (*document["rows"], *document.get("borrowed", ()))
            else:
                seqs = state.case_rows.get(case_id, ())
                known = (_full(row) for row in self.authority.rows(agent_id, min(seqs) - 1)) if seqs else ()
            for row in known:
                if row["kind"] == BOARD and row["at"] in wanted:
                    found[row["seq"]] = row
                if len(found) == len(wanted):
                    break
        return [found[seq] for seq in sorted(found)]


def _stretches(seqs: list[int]) -> list[tuple[int, int]]:
    """First and last of each run of rows with no gap above GAP_ROWS_MAX inside."""
    found = [(seqs[0], seqs[0])]
    for seq in seqs[1:]:
        first, last = found[-1]
        if seq - last > GAP_ROWS_MAX:
            found.append((seq, seq))
        else:
            found[-1] = (first, seq)
    return found


def _full(row) -> dict:
    return {"chain": row.chain, "seq": row.seq, "at": row.at, "kind": row.kind, "body": row.body, "prev": row.prev, "hash": row.hash}


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
        row.update(decisionId=operation.decision["id"], decision=plan["decision"])
    if operation.dispatch:
        row["dispatch"] = dict(operation.dispatch)
        row["requestDigest"] = operation.dispatch["requestDigest"]
    if operation.identity:
        row["identity"] = dict(operation.identity)
        if "resultDigest" in operation.identity:
            row["resultDigest"] = operation.identity["resultDigest"]
    return row
