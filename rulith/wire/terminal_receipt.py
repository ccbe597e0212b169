"""Terminal Receipts, checked by anyone: with no gateway, no ledger, no network and no rule engine.

Recomputes what the document carries the means to recompute: the hash chain of its ledger
rows, the digests of Capability, requests, results and decisions, the agreement of its parts
with those rows, and the signature. Names every place that does not fit, the chain first.

Does not derive the conclusions again from their premises by the rules; that they follow is
the signer's word until then. Refuses to know: whose key a signature should be of.

Source  format rulith-terminal-receipt/1; protocol/worker-contract.json, "digests".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rulith.base.canonical import canonical_bytes, canonical_text, digest, number_text, sha256_hex
from rulith.base.errors import Refused
from rulith.wire.digests import request_digest, result_digest
from rulith.wire.grant import read_claims
from rulith.wire.signatures import signature_problem

FORMAT = "rulith-terminal-receipt/1"
TIERS = ("verified", "attested", "approximate", "inductive", "uncertain", "perceived", "asserted")
PROBLEMS_MAX = 50
RECORDED = ("record_receipt", "record_reconciliation")


@dataclass(frozen=True)
class Problem:
    """`place` is what was altered, `text` how that shows."""

    place: str
    text: str


@dataclass
class Verdict:
    """What was found. `key` is the signer's; `counts` says how much was recomputed."""

    problems: list[Problem] = field(default_factory=list)
    key: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    def bad(self, place: str, text: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(Problem(place, text))

    def counted(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def check_document(document: object) -> Verdict:
    """Everything in a receipt that does not fit; an empty list of problems where all of it does."""
    verdict = Verdict()
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        verdict.bad("the document", f"it is no {FORMAT}")
        return verdict
    checks: tuple[tuple[str, Callable[[Mapping, Verdict], None]], ...] = (
        ("rows", _check_rows), ("release", _check_release), ("case", _check_case), ("operations", _check_operations),
        ("decisions", _check_decisions), ("conclusions", _check_conclusions))
    for place, check in checks:
        try:
            check(document, verdict)
        except Refused as refusal:
            verdict.bad(place, refusal.happened)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            verdict.bad(place, f"a member that every receipt has is missing or of another shape ({type(error).__name__}: {error})"[:200])
    _check_signature(document, verdict)
    return verdict


def _check_signature(document: Mapping, verdict: Verdict) -> None:
    signature = document.get("signature")
    if isinstance(signature, Mapping) and isinstance(signature.get("key"), str):
        verdict.key = signature["key"]
    try:
        problem = signature_problem(document)
    except Refused as refusal:
        problem = refusal.happened
    if problem is not None:
        verdict.bad("signature", problem)


# --- the chain -------------------------------------------------------------------------


def row_hash(row: Mapping) -> str:
    """The chain hash of one ledger row."""
    body = sha256_hex(canonical_bytes(row["body"]))
    return sha256_hex(canonical_bytes([row["chain"], row["seq"], row["at"], row["kind"], body, row["prev"]]))


def _check_rows(document: Mapping, verdict: Verdict) -> None:
    hashes: dict[int, str] = {}
    for row in (*document["rows"], *document["between"]):
        if row["seq"] in hashes:
            verdict.bad(f"row {row['seq']}", "it is given twice")
        hashes[row["seq"]] = row["hash"]
    for row in sorted(document["rows"], key=lambda each: each["seq"]):
        place = f"row {row['seq']}"
        if row["chain"] != document["agentId"]:
            verdict.bad(place, f"it belongs to the chain {row['chain']}, not to the Agent's")
        if row_hash(row) != row["hash"]:
            verdict.bad(place, "its contents do not have the hash that it states")
        before = hashes.get(row["seq"] - 1, "" if row["seq"] == 1 else None)
        if before is not None and before != row["prev"]:
            verdict.bad(place, "it does not follow the row before it")
        verdict.counted("rows")
    verdict.counts["rows by hash"] = len(document["between"])
    absent = [seq for seq in range(min(hashes), max(hashes) + 1) if seq not in hashes]
    if absent:
        verdict.bad(f"row {absent[0]}", f"{len(absent)} of the rows between the first and the last are left out")
    last = max(document["rows"], key=lambda each: each["seq"])
    if last["body"].get("closure") != document["closure"]:
        verdict.bad("closure", "it is not the one of the last row")


def _commands(document: Mapping) -> Iterator[tuple[Mapping, Mapping]]:
    """(row, command) of every Board command, those of compound rows one by one."""
    for row in document["rows"]:
        if row["kind"] == "board":
            command = row["body"]["command"]
            for each in command["commands"] if command["kind"] == "several" else (command,):
                yield row, each


# --- Release and Case ------------------------------------------------------------------


def _check_release(document: Mapping, verdict: Verdict) -> None:
    release, case = document["release"], document["case"]
    if release is None:
        if not case.get("exploratory"):
            verdict.bad("release", "a Case that is no exploration names no Release")
        return
    capability = release["capability"]
    if digest(capability) != release["digest"]:
        verdict.bad("release.capability", "its rules and Actions do not have the digest that it is named by")
    if (capability["id"], capability["version"]) != (release["id"], release["version"]):
        verdict.bad("release", "it is named otherwise than its Capability")
    verdict.counted("Capability")
    for _, command in _commands(document):
        if command["kind"] in RECORDED and case["caseId"] in command["plan"]["caseIds"] and command["plan"]["release"] != release["digest"]:
            verdict.bad("release", f"operation {command['ordinal']} ran under another Release")


def _check_case(document: Mapping, verdict: Verdict) -> None:
    case = document["case"]
    opened = [(row, each) for row, each in _commands(document) if each["kind"] == "open_case" and case["root"] in row["body"]["minted"]]
    closed = [(row, each) for row, each in _commands(document) if each["kind"] == "close_case" and each.get("root") == case["root"]]
    if not opened or not closed:
        verdict.bad("case", f"no row {'opens' if not opened else 'closes'} {case['root']}")
        return
    row, command = opened[0]
    stated = {"caseType": command["caseType"], "businessKey": command.get("businessKey"), "openedAt": row["body"]["at"]}
    row, command = closed[-1]
    stated |= {"disposition": command.get("disposition") or "completed", "reason": command.get("reason"), "closedAt": row["body"]["at"],
               "closedBy": command.get("by")}
    for name, value in stated.items():
        if not _same_value(case.get(name), value):
            verdict.bad(f"case.{name}", f"it is {_shown(case.get(name))}, and its row says {_shown(value)}")
    if case["caseId"] not in opened[0][0]["body"]["minted"]:
        verdict.bad("case.caseId", "it is not the one that the opening row made")
    if case["disposition"] == "completed" and case["certified"] is not True:
        verdict.bad("case.certified", "it is completed without being certified")


# --- operations and decisions ----------------------------------------------------------


def _check_operations(document: Mapping, verdict: Verdict) -> None:
    recorded = {command["ordinal"]: command for _, command in _commands(document) if command["kind"] in RECORDED}
    shown = {operation["ordinal"]: operation for operation in document["operations"]}
    for ordinal, command in recorded.items():
        if ordinal not in shown:
            verdict.bad(f"operation {ordinal}", "a row records it, and it is not among the operations")
        if command["kind"] == "record_receipt":
            _check_result(f"operation {ordinal}", command, verdict)
    for ordinal, operation in shown.items():
        if "argsText" in operation:
            _check_operation(document, operation, recorded.get(ordinal), verdict)


def _check_result(place: str, command: Mapping, verdict: Verdict) -> None:
    computed = result_digest(ok=command["ok"], result=command.get("result"), reason=command.get("reason"), facts=command["facts"])
    if computed != command["resultDigest"]:
        verdict.bad(place, "the Worker's result in its row does not have the digest that the row states")
    verdict.counted("results")


def _check_operation(document: Mapping, operation: Mapping, command: Mapping | None, verdict: Verdict) -> None:
    place = f"operation {operation['ordinal']}"
    plan = command["plan"] if command is not None else None
    if plan is not None:
        pairs = {"action": "action", "toolContractId": "tool", "argsText": "argsText", "target": "target", "toolSpecText": "toolSpecText",
                 "sourceRecordId": "sourceRecordId", "argumentDigest": "argumentDigest"}
        for name, other in pairs.items():
            if operation[name] != plan[other]:
                verdict.bad(f"{place}.{name}", "it is not what its row says")
        _check_argument_digest(place, plan, verdict)
    elif operation["outcome"] in ("done", "failed") and "dispatch" in operation:
        verdict.bad(place, f"it is {operation['outcome']}, and no row records its outcome")
    if "dispatch" in operation:
        _check_dispatch(place, document["agentId"], operation, command, verdict)


def _check_argument_digest(place: str, plan: Mapping, verdict: Verdict) -> None:
    bound = digest({"action": plan["action"], "args": plan["argsText"], "target": plan["target"], "toolDigest": plan["toolDigest"],
                    "connectionId": plan["connectionId"]})
    if bound != plan["argumentDigest"]:
        verdict.bad(place, "its arguments do not have the digest that its row states")


def _check_dispatch(place: str, agent_id: str, operation: Mapping, command: Mapping | None, verdict: Verdict) -> None:
    dispatch = operation["dispatch"]
    computed = request_digest(
        board_id=agent_id, invocation_id=operation["invocationId"], action_id=operation["action"],
        tool_contract_id=operation["toolContractId"], source_record_id=operation["sourceRecordId"], args=operation["argsText"],
        target=operation["target"], tool_spec=operation["toolSpecText"])
    stated = {"requestDigest": operation.get("requestDigest"), "dispatch.requestDigest": dispatch["requestDigest"]}
    identity = operation.get("identity")
    if identity is not None:
        stated["identity.requestDigest"] = identity["requestDigest"]
    if command is not None and command["kind"] == "record_receipt":
        stated["row.requestDigest"] = command["requestDigest"]
        _check_identity(place, operation, command, verdict)
    for name, value in stated.items():
        if value != computed:
            verdict.bad(f"{place}.{name}", "the request as it is shown has another digest")
    verdict.counted("requests")
    if "grant" in dispatch:
        claims = read_claims(dispatch["grant"])
        said = (claims.boardId, claims.invocationId, claims.connectionId, claims.workerId, claims.workerGeneration, claims.requestDigest)
        if said != (agent_id, operation["invocationId"], dispatch["connectionId"], dispatch["workerId"], dispatch["generation"], computed):
            verdict.bad(f"{place}.dispatch.grant", "the grant says otherwise than the dispatch that it belongs to")


def _check_identity(place: str, operation: Mapping, command: Mapping, verdict: Verdict) -> None:
    """Who ran it and what came of it, as the operation says it and as its row does."""
    identity = operation["identity"]
    pairs = {"resultDigest": command["resultDigest"], "workerId": command["workerId"], "workerGeneration": command["workerGeneration"],
             "connectionId": command["plan"]["connectionId"], "adapterDigest": "sha256:" + command["plan"]["toolDigest"],
             "outcome": "succeeded" if command["ok"] else "failed"}
    for name, value in pairs.items():
        if identity[name] != value:
            verdict.bad(f"{place}.identity.{name}", "it is not what its row says")
    if operation["resultDigest"] != command["resultDigest"]:
        verdict.bad(f"{place}.resultDigest", "it is not what its row says")
    if operation["outcome"] != ("done" if command["ok"] else "failed"):
        verdict.bad(f"{place}.outcome", "it is not what its row says")


def _check_decisions(document: Mapping, verdict: Verdict) -> None:
    by_decision = {operation["decisionId"]: operation for operation in document["operations"] if "decisionId" in operation}
    shown = {decision["id"]: decision for decision in document["decisions"]}
    for decision_id, operation in by_decision.items():
        place = f"decision {decision_id}"
        decision = shown.get(decision_id)
        if decision is None:
            verdict.bad(place, f"operation {operation['ordinal']} waited for it, and it is not in the document")
            continue
        if (decision["argumentDigest"], decision["argsText"]) != (operation["argumentDigest"], operation["argsText"]):
            verdict.bad(place, "it is bound to other values than the operation ran with")
        approvals = {each["by"] for each in decision["by"] if each["verdict"] == "approve"}
        if "dispatch" in operation and (decision["state"] != "approved" or len(approvals) < decision["people"]):
            verdict.bad(place, "its operation was given to a Worker without the approvals it needs")
        verdict.counted("decisions")


# --- proofs ----------------------------------------------------------------------------


def _check_conclusions(document: Mapping, verdict: Verdict) -> None:
    said = {command["ordinal"]: command for _, command in _commands(document) if command["kind"] in RECORDED}
    facts = {fact["id"]: fact for fact in document["facts"]}
    waiting, seen = list(reversed(document["conclusions"])), set()
    while waiting:
        node = waiting.pop()
        place = f"proof of {node['text']}"
        by, premises = node["by"], node["premises"]
        if node["id"] not in seen:
            seen.add(node["id"])
            verdict.counted("conclusions" if premises else "premises")
        fact = facts.get(node["id"])
        if fact is None or any(fact.get(name) != node.get(name) for name in ("text", "predicate", "args", "tier", "negated", "by")):
            verdict.bad(place, "it is not among the facts as it stands there")
        if by["kind"] == "receipt":
            _check_reported(place, node, said.get(by["ordinal"]), verdict)
        elif by["kind"] == "action" and "ordinal" in by:
            _check_effect(place, node, said.get(by["ordinal"]), verdict)
        elif by["kind"] == "rule" and premises:
            weakest = max(TIERS.index(each["tier"]) for each in premises)
            if TIERS.index(node["tier"]) < weakest:
                verdict.bad(place, "it claims a stronger tier than its weakest premise has")
        waiting.extend(reversed(premises))


def _check_reported(place: str, node: Mapping, command: Mapping | None, verdict: Verdict) -> None:
    if command is None or command["kind"] != "record_receipt" or not command["ok"]:
        verdict.bad(place, "no row of the receipt records that a Worker reported it")
        return
    by = node["by"]
    if (by["requestDigest"], by["resultDigest"], by["source"]) != (command["requestDigest"], command["resultDigest"], command["plan"]["sourceRecordId"]):
        verdict.bad(place, "it names another request, result or Source than its row")
    if not any(_states(each, node) for each in command["facts"]):
        verdict.bad(place, f"the row of operation {command['ordinal']} reports no such fact")


def _check_effect(place: str, node: Mapping, command: Mapping | None, verdict: Verdict) -> None:
    happened = command is not None and (command.get("ok") is True or command.get("outcome") == "happened")
    if not happened or not any(_states(each, node) for each in command["plan"]["effects"]):
        verdict.bad(place, "no row of the receipt brings it about")


def _states(stated: Mapping, node: Mapping) -> bool:
    return (stated["predicate"] == node["predicate"] and bool(stated.get("negated")) == bool(node.get("negated"))
            and _same_value(stated.get("args", {}), node["args"]))


def _same_value(left: object, right: object) -> bool:
    """Whether two values mean the same on a Board, where text that prints as a number is that number."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return set(left) == set(right) and all(_same_value(left[name], right[name]) for name in left)
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    return _plain_number(left) == _plain_number(right)


def _plain_number(value: object) -> object:
    return number_text(value) if isinstance(value, (int, float)) else value


def _shown(value: object) -> str:
    return canonical_text(value)[:80]
