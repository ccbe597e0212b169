"""Terminal Receipts, checked by anyone: with no gateway, no ledger, no network, and none of the engine's code.

Recomputes every digest and every link of the chain, and compares each part with the rows
that recorded it; receipt_proofs.py derives every conclusion again. Names every place that
does not fit, the rows first.

Refuses to know: whose key a signature should be of.
Source  format rulith-terminal-receipt/1 (docs/receipts.md); protocol/worker-contract.json, "digests".
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.canonical import canonical_bytes, digest, sha256_hex
from rulith.base.errors import Refused
from rulith.wire.digests import request_digest_of_row, result_digest
from rulith.wire.grant import expected_grant, verify_grant
from rulith.wire.receipt_proofs import Proofs, aliases_of
from rulith.wire.receipt_rules import fact_of, fits, literal_of, read
from rulith.wire.signatures import signature_problem
from rulith.wire.verdict import Verdict

FORMAT = "rulith-terminal-receipt/1"
GAP_ROWS_MIN = 2_000                                                   # fewer rows are never skipped
CLOSING = ("leaves", "conclusions", "facts", "rules", "world")         # what the closing row vouches for
PLANNED = ("action", "argsText", "target", "sourceRecordId", "toolSpecText", "argumentDigest")
PARTS = ("rows", "release", "case", "operations", "effects", "decisions", "conclusions", "digests", "signature")


def check_document(document: object, connection_key: str | None = None) -> Verdict:
    """Everything in a receipt that does not fit; an empty list of problems where all of it does."""
    verdict = Verdict()
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        verdict.bad("the document", f"it is no {FORMAT}")
        return verdict
    check = _Check(document, verdict, connection_key)
    for part in PARTS:
        try:
            getattr(check, part)()
        except Refused as refusal:
            verdict.bad(part, refusal.happened)
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError, StopIteration) as error:
            verdict.bad(part, f"a member that every receipt has is missing or of another shape ({type(error).__name__}: {error})"[:200])
    return verdict


class _Check:
    """One document under check; each part relies on what the parts before it gathered."""

    def __init__(self, document: Mapping, verdict: Verdict, connection_key: str | None) -> None:
        self.doc, self.found, self.connection_key = document, verdict, connection_key
        release = document.get("release")
        self.own = release.get("capability") if isinstance(release, Mapping) else None
        self.commands: list[tuple[Mapping, Mapping]] = []       # (row, command) of the Board's rows, those of compound rows one by one
        self.closing: Mapping = {}                              # the body of the row that closed the Case
        self.words: set[tuple] = set()                          # what the gateway itself says of this very Case

    def rows(self) -> None:
        gaps, agent = [(each["after"], each["before"]) for each in self.doc["skipped"]], self.doc["agentId"]
        linked = sorted([*self.doc["rows"], *self.doc["between"]], key=lambda row: row["seq"])
        for before, row in (*zip([None, *linked], linked), *((None, row) for row in self.doc["borrowed"])):
            place, body, prev = f"row {row['seq']}", row["body"], row.get("prev", before["hash"] if before else "")
            hashed = body if isinstance(body, str) else sha256_hex(canonical_bytes(body))
            if sha256_hex(canonical_bytes([agent, row["seq"], row["at"], row["kind"], hashed, prev])) != row["hash"] or row.get("chain", agent) != agent:
                self.found.bad(place, "its contents do not have the hash that it states")
            if before is not None and row["seq"] == before["seq"] + 1 and prev != before["hash"]:
                self.found.bad(place, "it does not follow the row before it")
            if before is not None and row["seq"] != before["seq"] + 1:
                if (before["seq"], row["seq"]) not in gaps or row["seq"] - before["seq"] < GAP_ROWS_MIN:
                    self.found.bad(f"row {before['seq'] + 1}", "it is left out, or another is given twice")
                self.found.notes[f"the links between row {before['seq']} and row {row['seq']} are not shown"] = None
            if row["kind"] == "board" and not isinstance(body, str):
                self.commands += [(row, each) for each in body["command"].get("commands", (body["command"],))]
            self.found.counted("rows by digest" if isinstance(body, str) else "rows")

    def release(self) -> None:
        if self.own is None and not self.doc["case"].get("exploratory"):
            self.found.bad("release", "a Case that is no exploration names no Release")
        for each in (*([self.doc["release"]] if self.own else ()), *self.doc.get("releases", ())):
            self.found.same("release", each, {"digest": digest(each["capability"]), "id": each["capability"]["id"], "version": each["capability"]["version"]})
        if "constitution" in self.doc:
            self.found.same("constitution", self.doc["constitution"], {"digest": digest(self.doc["constitution"]["document"])})

    def case(self) -> None:
        case, root = self.doc["case"], self.doc["case"]["root"]
        opened = next(((row, each) for row, each in self.commands if each["kind"] == "open_case" and root in row["body"]["minted"]), None)
        closed = next(((row, each) for row, each in reversed(self.commands) if each["kind"] == "close_case" and each["root"] == root), None)
        if opened is None or closed is None:
            self.found.bad("case", f"no row {'closes' if opened else 'opens'} {root}")
            return
        (row, command), key = closed, {name: read(value) for name, value in (opened[1].get("businessKey") or {}).items()}
        self.found.same("case", case, {
            "openedAt": opened[0]["at"], "closedAt": row["at"], "closedBy": command.get("by"), "disposition": command.get("disposition") or "completed",
            "caseType": opened[1]["caseType"], "certified": bool(self.doc["leaves"]) and all(leaf["met"] for leaf in self.doc["leaves"]),
            "reason": command.get("reason"), "caseId": next(each for each in opened[0]["body"]["minted"] if each.startswith("case_"))})
        self.closing = row["body"]
        said = [("root", {"node": root}), ("case_context", {"root": root, "case_type": case["caseType"], "case_id": case["caseId"]}),
                ("rulith.exploration.completed", {"case_id": case["caseId"]}),
                *(("case_key", {"root": root, "name": name, "value": value}) for name, value in key.items())]
        if self.own:
            kind = self.own["case_types"][case["caseType"]]
            self.found.same("case", case, {"businessKey": key, "keyDigest": digest(key), "contract": digest(kind)})
            if [(leaf["node"], leaf["goal"]) for leaf in self.doc["leaves"]] != [(f"{root}/{task['node']}", task["goal"]) for task in kind["task"]]:
                self.found.bad("leaves", "they are not the goals of the Case Type")
            said += [("acceptance", {"node": f"{root}/{task['node']}", "test": f"{self.own['id']}.{task['acceptance']}"}) for task in kind["task"]]
            said += [pair for task in kind["task"] for node in (f"{root}/{task['node']}",) for pair in (
                ("goal_node", {"node": node}), ("subgoal_of", {"child": node, "parent": root}))]
        if case["disposition"] == "completed" and case["certified"] is not True:
            self.found.bad("case.certified", "it is completed without being certified")
        self.words = {fact_of({"predicate": name, "args": args}) for name, args in said}

    def operations(self) -> None:
        recorded = {command["ordinal"]: command for _, command in self.commands if "ordinal" in command}
        for operation in (each for each in self.doc["operations"] if "argsText" in each):
            place, command = f"operation {operation['ordinal']}", recorded.pop(operation["ordinal"], {"kind": ""})
            plan = command.get("plan") or {**operation, "tool": operation["toolContractId"], "toolDigest": None, "release": ""}
            self.found.same(place, operation, {**{name: plan[name] for name in PLANNED}, "toolContractId": plan["tool"]})
            if command["kind"]:
                bound = {"action": plan["action"], "args": plan["argsText"], "target": plan["target"], "toolDigest": plan["toolDigest"]}
                self.found.same(place, plan, {"argumentDigest": digest({**bound, "connectionId": plan["connectionId"]})})
            elif operation["outcome"] in ("done", "failed", "unknown"):
                self.found.bad(place, f"it is {operation['outcome']}, and no row records its outcome")
            if self.doc["case"]["caseId"] in plan.get("caseIds", ()) and plan["release"] not in ("", (self.doc["release"] or {}).get("digest")):
                self.found.bad("release", f"{place} ran under another Release")
            if "dispatch" in operation:
                self._dispatched(place, operation, plan, command)
        for ordinal in recorded:
            self.found.bad(f"operation {ordinal}", "a row records it, and it is not among the operations")

    def _dispatched(self, place: str, operation: Mapping, plan: Mapping, command: Mapping) -> None:
        """The grant and the receipt of a call are bound to just this request, Tool pin and Worker."""
        given, pin = operation["dispatch"], plan["toolDigest"] or operation.get("toolDigest", "")
        served = {"boardId": self.doc["agentId"], "work": operation["invocationId"], "tool": operation["action"], "toolDigest": pin,
                  "toolSpec": plan["toolSpecText"], **{name: operation[name] for name in ("toolContractId", "sourceRecordId", "target")}, "args": plan["argsText"]}
        request = request_digest_of_row(served)
        grant = expected_grant(served, connection_id=given["connectionId"], worker_id=given["workerId"], worker_generation=given["generation"],
                               request_digest=request)
        try:
            verify_grant(given["grant"], key=self.connection_key, expect=grant)
        except Refused as refusal:
            self.found.bad(f"{place}.dispatch.grant", refusal.happened)
        bound = {"requestDigest": request, "workerId": given["workerId"], "workerGeneration": given["generation"]}
        self.found.same(place, operation, {"requestDigest": request})
        self.found.same(f"{place}.dispatch", given, {"requestDigest": request})
        if command["kind"] == "record_receipt":
            ended = {"outcome": "succeeded" if command["ok"] else "failed", "connectionId": plan["connectionId"], "adapterDigest": grant.adapterDigest}
            bound["resultDigest"] = result_digest(ok=command["ok"], result=command.get("result"), reason=command.get("reason"), facts=command["facts"])
            self.found.same(f"the row of {place}", command, bound)
            self.found.same(f"{place}.identity", operation["identity"], {**bound, **ended})
            self.found.same(place, operation, {"resultDigest": bound["resultDigest"], "outcome": "done" if command["ok"] else "failed"})
        self.found.counted("requests")

    def effects(self) -> None:
        """What an Action of the Capability brought about is one of its effects."""
        full = aliases_of(self.own) if self.own else {}
        known = {f"{self.own['id']}.{row['id']}": row.get("effects", ()) for row in self.own.get("actions", ())} if self.own else {}
        for node in self.doc["facts"]:
            effects = known.get(node["by"].get("action"), ()) if node["by"]["kind"] == "action" else ()
            if node["by"].get("action") in known and not any(fits(literal_of(each, full), fact_of(node), {}) is not None for each in effects):
                self.found.bad(f"fact {node['text']}", f"it is no effect of {node['by']['action']}")

    def decisions(self) -> None:
        shown = {decision["id"]: decision for decision in self.doc["decisions"]}
        for operation in (each for each in self.doc["operations"] if "decisionId" in each):
            decision, place = shown.get(operation["decisionId"]), f"decision {operation['decisionId']}"
            if decision is None and operation["target"].partition("/")[0] == self.doc["case"]["root"]:
                self.found.bad(place, f"operation {operation['ordinal']} waited for it, and it is not in the document")
            if decision is None:
                self.found.notes[f"{place} is told by the receipt of another Case"] = None
                continue
            needs = {name: operation["decision"][name] for name in ("kind", "people")}
            self.found.same(place, decision, {**needs, **{name: operation[name] for name in ("ordinal", "action", "argsText", "target", "argumentDigest")}})
            voices = {each["by"] for each in decision["by"] if each["verdict"] == "approve" and each["at"] < decision["expiresAt"]}
            if "dispatch" in operation and (decision["state"] != "approved" or not len(decision["by"]) == len(voices) >= decision["people"]):
                self.found.bad(place, "its operation was given to a Worker without the approvals it needs")
            self.found.counted("decisions")

    def conclusions(self) -> None:
        Proofs(self.doc, self.found, self.commands, self.words).check()

    def digests(self) -> None:
        case = {name: self.doc["case"][name] for name in ("caseId", "root", "disposition", "certified")}
        self.found.same("", {"closure": self.doc["closure"], "proofs": digest({name: self.doc[name] for name in CLOSING}), "result": digest(case)},
                        {name: self.closing.get(name) for name in ("closure", "proofs", "result")})
        told = {name: digest(value) for name, value in self.doc.items() if name not in ("digests", "signature")}
        self.found.same("", {**dict.fromkeys(self.doc["digests"]), **told}, {**dict.fromkeys(told), **self.doc["digests"]})

    def signature(self) -> None:
        self.found.key = str((self.doc.get("signature") or {}).get("key", ""))
        if (problem := signature_problem(self.doc)) is not None:
            self.found.bad("signature", problem)
