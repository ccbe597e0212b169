"""A Terminal Receipt checked by anyone: chain, digests, bindings, and every conclusion derived a second time.

Each step of a proof is taken again from its own premises by its own rule, read from the
Capability itself; each absence and each total from all the facts that the document says bear
on it; each premise is looked for in the row that states it.

Needs no ledger and no network, and shares nothing with the engine or the law that wrote the
document: a mistake there shows here. Whose key signed it is for the caller to judge.
Source  format rulith-terminal-receipt/1 (docs/receipts.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rulith.base.canonical import canonical_bytes, digest, sha256_hex
from rulith.base.proof_text import fact_text, proof_nodes, said_by
from rulith.wire.digests import request_digest_of_row, result_digest
from rulith.wire.grant import expected_grant, verify_grant
from rulith.wire.receipt_rules import OPERANDS, World, computed, fact_of, fits, literal_of, read
from rulith.wire.signatures import signature_problem
from rulith.wire.verdict import Verdict

FORMAT, GAP_ROWS_MIN = "rulith-terminal-receipt/1", 2_000              # fewer rows are never skipped
CLOSING = ("leaves", "conclusions", "facts", "rules", "world")         # what the closing row vouches for
PLANNED = ("action", "argsText", "target", "sourceRecordId", "toolSpecText", "argumentDigest")
PARTS = ("rows", "release", "case", "operations", "rules", "facts", "conclusions", "digests", "signature")
TIERS = ("verified", "attested", "approximate", "inductive", "uncertain", "perceived", "asserted")
BOARD_WORDS = {"root", "case_context", "case_key", "goal_node", "subgoal_of", "acceptance", "rulith.exploration.completed"}


def check_document(document: object, connection_key: str | None = None) -> Verdict:
    """Everything in a receipt that does not fit; an empty list of problems where all of it does."""
    check = _Check(document, connection_key)
    for part in PARTS if check.must(isinstance(document, Mapping) and document.get("format") == FORMAT, "the document", f"it is no {FORMAT}") else ():
        with check.naming(part):
            getattr(check, part)()
    return check


def rules_of(capability: Mapping, full: Mapping[str, str]) -> Iterator[dict]:
    """The rules of a Capability, its acceptance rows among them; `full` gives the predicates of its aliases."""
    name, node = f"{capability['id']}@{capability['version']}", "?rulith_node"
    for row in capability.get("rules", ()):
        yield {"id": f"{name}/{row['id']}", "law": True, **{part: [literal_of(each, full) for each in row[part]] for part in ("when", "then")}}
    for row in capability.get("aggregates", ()):
        over = {**row, **{part: {**row[part], "predicate": full[row[part]["predicate"]]} for part in ("source", "into")}}
        yield {"id": f"{name}/aggregate/{row.get('id') or row['into']['predicate']}", "law": True, "when": [], "over": over,
               "then": [literal_of(over["into"])]}
    for row in capability.get("acceptance", ()):
        words = {"acceptance": {"node": node, "test": f"{capability['id']}.{row['id']}"}, "subgoal_of": {"child": node, "parent": "?root"},
                 "acceptance_met": {"node": node}}
        *tied, met = [literal_of({"predicate": word, "args": args}) for word, args in words.items()]
        yield {"id": f"{name}/acceptance/{row['id']}", "law": True, "when": [*tied, *(literal_of(each, full) for each in row["when"])], "then": [met]}


def stated_by(row: Mapping, command: Mapping) -> list[tuple[tuple, str, dict]]:
    """(fact, tier, how) of everything that one command of the Board's rows states or brings about."""
    plan, how = command.get("plan", {}), {name: value for name, value in {**row, **command}.items() if name in ("at", "ordinal", "resultDigest")}
    done = {**how, "kind": "action", "action": plan.get("action")}
    told = [(each, "asserted", {**how, "kind": "agent"}) for each in command.get("operations", ()) if each["op"] in ("assert_fact", "revise_fact")]
    if command["kind"] == "record_receipt" and command["ok"]:
        tier = TIERS[max(1, TIERS.index((command["source"] or {"tier": "attested"})["tier"]))]
        read_by = {"kind": "receipt", "operation": plan["action"], "tool": plan["tool"], "source": plan["sourceRecordId"], "connection": plan["connectionId"],
                   "requestDigest": command["requestDigest"], "worker": command["workerId"], "generation": command["workerGeneration"]}
        told += [*((each, tier, {**how, **read_by}) for each in command["facts"]), *((each, tier, done) for each in plan["effects"])]
    if command["kind"] == "record_report":
        tier = TIERS[max(1, *(TIERS.index(each["tier"]) for each in (command, command["source"] or command)))]
        told += [(each, tier, {**how, **command["told"], "kind": "receipt"}) for each in command["facts"]]
    if command["kind"] == "record_reconciliation" and command["outcome"] == "happened":
        told += [(each, "attested", {**done, "reconciledBy": command["by"], "reason": command["reason"]}) for each in plan["effects"]]
    return [(fact_of(each), tier, by) for each, tier, by in told]


class _Check(Verdict):
    """One document under check; each part relies on what the parts before it gathered."""

    def __init__(self, document, connection_key: str | None) -> None:
        super().__init__()
        self.doc, self.connection_key, self.own, self.kind, self.closing = document, connection_key, None, {}, {}
        self.commands: list[tuple[Mapping, Mapping]] = []       # (row, command) of the Board's rows, those of compound rows one by one
        self.known, self.base, self.effects, self.words = {}, {}, {}, set()     # rules, stated facts: by id; effects of Actions; the gateway's words

    def rows(self) -> None:
        gaps, agent = [(each["after"], each["before"]) for each in self.doc["skipped"]], self.doc["agentId"]
        linked = sorted([*self.doc["rows"], *self.doc["between"]], key=lambda row: row["seq"])
        for before, row in (*zip([None, *linked], linked), *((None, row) for row in self.doc["borrowed"])):
            place, body, prev = f"row {row['seq']}", row["body"], row.get("prev", before["hash"] if before else "")
            hashed = body if isinstance(body, str) else sha256_hex(canonical_bytes(body))
            found = sha256_hex(canonical_bytes([agent, row["seq"], row["at"], row["kind"], hashed, prev]))
            self.must(found == row["hash"] and row.get("chain", agent) == agent, place, "its contents do not have the hash that it states")
            if before and row["seq"] == before["seq"] + 1:
                self.must(prev == before["hash"], place, "it does not follow the row before it")
            elif before:
                good = (before["seq"], row["seq"]) in gaps and row["seq"] - before["seq"] >= GAP_ROWS_MIN
                self.must(good, f"row {before['seq'] + 1}", "it is left out, or another is given twice")
                self.notes[f"the links between row {before['seq']} and row {row['seq']} are not shown"] = None
            if row["kind"] == "board" and hashed is not body:
                self.commands += [(row, each) for each in body["command"].get("commands", (body["command"],))]
            self.counted("rows by digest" if hashed is body else "rows")

    def release(self) -> None:
        self.own = (self.doc["release"] or {}).get("capability")
        self.must(self.own or self.doc["case"].get("exploratory"), "release", "a Case that is no exploration names no Release")
        for each in (*([self.doc["release"]] if self.own else ()), *self.doc.get("releases", ())):
            capability = each["capability"]
            self.same("release", each, {"digest": digest(capability), "id": capability["id"], "version": capability["version"]})
            full = {row["as"]: row["id"] for part in ("defines", "imports") for row in capability["vocabulary"].get(part, ())}
            self.known.update((rule["id"], rule) for rule in rules_of(capability, full))
            if capability is self.own:
                self.effects = {f"{capability['id']}.{row['id']}": [literal_of(effect, full) for effect in row.get("effects", ())]
                                for row in capability.get("actions", ())}
        if "constitution" in self.doc:
            self.same("constitution", self.doc["constitution"], {"digest": digest(self.doc["constitution"]["document"])})

    def case(self) -> None:
        case, root = self.doc["case"], self.doc["case"]["root"]
        self.kind = self.own["case_types"][case["caseType"]] if self.own else {}
        told = {each["kind"]: (row, each) for row, each in self.commands if root in (each.get("root"), *row["body"].get("minted", ()))}
        if not all(self.must(kind in told, "case", f"no row of the kind {kind} tells of {root}") for kind in ("open_case", "close_case")):
            return
        (begun, opened), (ended, closed) = told["open_case"], told["close_case"]
        key = {name: read(value) for name, value in (opened.get("businessKey") or {}).items()}
        self.closing, nodes = ended["body"], [(f"{root}/{task['node']}", task) for task in self.kind.get("task", ())]
        self.same("case", case, {
            "openedAt": begun["at"], "closedAt": ended["at"], "closedBy": closed.get("by"), "disposition": closed.get("disposition") or "completed",
            "caseType": opened["caseType"], "certified": bool(self.doc["leaves"]) and all(leaf["met"] for leaf in self.doc["leaves"]),
            "reason": closed.get("reason"), "caseId": next(each for each in begun["body"]["minted"] if each.startswith("case_")),
            **({"businessKey": key, "keyDigest": digest(key), "contract": digest(self.kind)} if self.own else {})})
        goals = [(leaf["node"], leaf["goal"]) for leaf in self.doc["leaves"]]
        self.must(not self.own or goals == [(node, task["goal"]) for node, task in nodes], "leaves", "they are not the goals of the Case Type")
        self.must(case["disposition"] != "completed" or case["certified"] is True, "case.certified", "it is completed without being certified")
        said = [("root", {"node": root}), ("case_context", {"root": root, "case_type": case["caseType"], "case_id": case["caseId"]}),
                ("rulith.exploration.completed", {"case_id": case["caseId"]}), *(("case_key", {"root": root, "name": name, "value": key[name]}) for name in key),
                *((word, {"node": node, **more}) for node, task in nodes for word, more in (
                    ("goal_node", {}), ("acceptance", {"test": f"{self.own['id']}.{task['acceptance']}"}))),
                *(("subgoal_of", {"child": node, "parent": root}) for node, _ in nodes)]
        self.words = {fact_of({"predicate": word, "args": args}) for word, args in said}

    def operations(self) -> None:
        decisions = {each["id"]: each for each in self.doc["decisions"]}
        recorded = {command["ordinal"]: command for _, command in self.commands if "ordinal" in command}
        for operation in (each for each in self.doc["operations"] if "argsText" in each):
            place, command = f"operation {operation['ordinal']}", recorded.pop(operation["ordinal"], {"kind": ""})
            plan = command.get("plan") or {**operation, "tool": operation["toolContractId"], "toolDigest": None, "release": "", "caseIds": ()}
            self.same(place, operation, {**{name: plan[name] for name in PLANNED}, "toolContractId": plan["tool"]})
            self.must(command["kind"] or operation["outcome"] not in ("done", "failed", "unknown"), place, "it ended, and no row records its outcome")
            if command["kind"]:
                bound = {"action": plan["action"], "args": plan["argsText"], **{name: plan[name] for name in ("target", "toolDigest", "connectionId")}}
                self.same(place, plan, {"argumentDigest": digest(bound)})
            good = self.doc["case"]["caseId"] not in plan["caseIds"] or plan["release"] in ("", (self.doc["release"] or {}).get("digest"))
            self.must(good, "release", f"{place} ran under another Release")
            if "dispatch" in operation:
                self._dispatched(place, operation, plan, command)
            if "decisionId" in operation:
                self._decided(f"decision {operation['decisionId']}", operation, decisions.get(operation["decisionId"]))
        for ordinal in recorded:
            self.bad(f"operation {ordinal}", "a row records it, and it is not among the operations")

    def _dispatched(self, place: str, operation: Mapping, plan: Mapping, command: Mapping) -> None:
        """The grant and the receipt of a call are bound to just this request, Tool pin and Worker."""
        given, ok = operation["dispatch"], command.get("ok")
        served = {**{name: operation[name] for name in ("toolContractId", "sourceRecordId", "target")}, "tool": operation["action"],
                  "boardId": self.doc["agentId"], "work": operation["invocationId"], "args": plan["argsText"], "toolSpec": plan["toolSpecText"],
                  "toolDigest": plan["toolDigest"] or operation.get("toolDigest", "")}
        bound = {"requestDigest": request_digest_of_row(served), "workerId": given["workerId"], "workerGeneration": given["generation"]}
        grant = expected_grant(served, connection_id=given["connectionId"], worker_id=given["workerId"], worker_generation=given["generation"],
                               request_digest=bound["requestDigest"])
        with self.naming(f"{place}.dispatch.grant"):
            verify_grant(given["grant"], key=self.connection_key, expect=grant)
        for where, shown in ((place, operation), (f"{place}.dispatch", given)):
            self.same(where, shown, {"requestDigest": bound["requestDigest"]})
        if command["kind"] == "record_receipt":
            bound["resultDigest"] = result_digest(ok=ok, result=command.get("result"), reason=command.get("reason"), facts=command["facts"],
                                                  artifacts=command.get("artifacts", ()))
            self.same(f"the row of {place}", command, bound)
            self.same(f"{place}.identity", operation["identity"], {
                **bound, "outcome": "succeeded" if ok else "failed", "connectionId": plan["connectionId"], "adapterDigest": grant.adapterDigest})
            self.same(place, operation, {"resultDigest": bound["resultDigest"], "outcome": "done" if ok else "failed"})
        self.counted("requests")

    def _decided(self, place: str, operation: Mapping, decision: Mapping | None) -> None:
        if decision is None:
            others = operation["target"].partition("/")[0] != self.doc["case"]["root"]
            self.must(others, place, f"operation {operation['ordinal']} waited for it, and it is not in the document")
            self.notes[f"{place} is told by the receipt of another Case"] = None
            return
        self.same(place, decision, {**{name: operation["decision"][name] for name in ("kind", "people")},
                                          **{name: operation[name] for name in ("ordinal", "action", "argsText", "target", "argumentDigest")}})
        voices = {each["by"] for each in decision["by"] if each["verdict"] == "approve" and each["at"] < decision["expiresAt"]}
        good = "dispatch" not in operation or (decision["state"] == "approved" and len(decision["by"]) == len(voices) >= decision["people"])
        self.must(good, place, "its operation was given to a Worker without the approvals it needs")
        self.counted("decisions")

    def rules(self) -> None:
        """Each rule that the Agent added, as the row of that moment adds it."""
        for rule in self.doc["rules"]:
            literals, whole = {part: [literal_of(each) for each in rule[part]] for part in ("when", "then")}, {**rule.get("aggregate", {})}
            whole.pop("id", None)
            told = [each["op"] == "derive_aggregate" and all(each.get(name) == value for name, value in whole.items()) if whole else
                    each["op"] == "add_axiom" and all([literal_of(one) for one in each[part]] == literals[part] for part in literals)
                    for row, command in self.commands if row["at"] == rule["at"] for each in command.get("operations", ())]
            self.must(any(told) or rule["case"] != self.doc["case"]["caseId"], f"rule {rule['id']}", "no row of the receipt adds it")
            self.known[rule["id"]] = {"law": False, **literals, "whole": whole}

    def facts(self) -> None:
        """Who stated each base fact: the gateway of this Case, or a row; what only bears on an absence may be of other work."""
        told: dict[tuple, list] = {}
        for fact, tier, how in (each for row, command in self.commands for each in stated_by(row, command)):
            told.setdefault(fact, []).append((tier, how))
        acts = [(row["at"], each.get("action")) for row, command in self.commands for each in (command, *command.get("operations", ()))]
        for node, beside in [*((node, False) for node in self.doc["facts"]), *((node, True) for node in self.doc["world"]["facts"])]:
            fact, by, kind = fact_of(node), node["by"], node["by"]["kind"]
            good = beside or ((by["at"], by["action"]) in acts if kind == "action" and "ordinal" not in by else
                              any(node["tier"] == tier and {**by, **how} == by for tier, how in told.get(fact, ())))
            if kind == "law":
                good = fact in self.words or (fact[0] in BOARD_WORDS and self.doc["case"]["root"] not in dict(fact[2]).values())
            if kind != "rule":
                self.base[node["id"]] = fact
                self.same(f"fact {node['id']}", node, {"text": fact_text(node)})
                self.must(good, f"fact {node['text']}", "no row of the receipt says it so")
            effects = self.effects.get(by.get("action")) if kind == "action" and not beside else None
            good = effects is None or any(fits(each, fact, {}) is not None for each in effects)
            self.must(good, f"fact {node['text']}", f"it is no effect of {by.get('action')}")

    def conclusions(self) -> None:
        worlds = {law: World([rule for rule in self.known.values() if rule["law"] or not law], self.base.values()) for law in (True, False)}
        met, facts = {leaf["node"]: leaf.get("tier") for leaf in self.doc["leaves"] if leaf["met"]}, {node["id"]: node for node in self.doc["facts"]}
        for tree in self.doc["conclusions"]:
            certain = self.own is not None and tree["predicate"] == "acceptance_met" and tree["args"]["node"] in met
            good = not certain or met.pop(tree["args"]["node"]) == tree["tier"] in TIERS[:TIERS.index(self.kind["floor"]) + 1]
            self.must(good, f"proof of {tree['text']}", "it is below the contract's floor, or not of the tier that its goal states")
            for node in proof_nodes(tree):
                place, shown = f"proof of {node['text']}", facts.get(node["id"], node if self.doc.get("truncated") else {})
                self._step(place, node, worlds[certain], certain)
                self.same(place, node, {name: shown.get(name) for name in ("text", "predicate", "args", "tier", "by")})
        for goal in met:
            self.must(not self.own and self._explored(goal), f"goal {goal}", "it is met, and no proof is shown")

    def _explored(self, goal: str) -> bool:
        """Whether every literal of an exploration's goal is among the conclusions."""
        shown = [fact_of(tree) for tree in self.doc["conclusions"]]
        return any(all(any(fits(literal_of(literal), fact, {}) is not None for fact in shown) for literal in each["desired"])
                   for row, command in self.commands for each in command.get("operations", ())
                   if each["op"] == "declare_goal" and (each.get("id") == goal or goal in row["body"]["minted"]))

    def _step(self, place: str, node: Mapping, world: World, certain: bool) -> None:
        """One step: its premises and its rule give just this, no stronger than the weakest of them."""
        fact, by, cut, premises = fact_of(node), node["by"], node.get("cut"), [fact_of(each) for each in node["premises"]]
        rule = self.known.get(by["id"], {"law": True, "when": [], "then": []}) if by["kind"] == "rule" else None
        for row in node.get("computed", ()):
            good = cut or (row["members"] == len(premises) and read(row["result"]) in dict(fact[2]).values()) if "members" in row else (
                computed(row["op"], *(read(row[side]) for side in OPERANDS if side in row)) == (read(row["result"]), not row.get("rounded")))
            self.must(good, place, f"{row['op']} does not give what is shown")
        if certain:
            good = (rule is None or rule["law"]) and all(fact[2] != other[2] for other in world.about((fact[0], not fact[1])))
            self.must(good, place, "a rule of the Agent concludes it, or its opposite holds as well, so it certifies nothing")
        self.same(place, node, {"text": fact_text(node)})
        self.counted("conclusions" if rule else "premises")
        if rule is None:
            self.rest(said_by(node), f"{node['text']} [{node['tier']}]")
        if rule is None or cut:
            ways = [True] if (fact in world.about(fact[:2]) if rule else self.base.get(node["id"]) == fact) else []
        else:
            ways = [exact for given, exact, members in world.concluded(rule, [[each] for each in premises]) if given == fact and (
                "over" not in rule or set(members) == set(premises))]
            if rule.get("whole") and fact[0] == rule["whole"]["into"]["predicate"] and fact not in [total for total, _, _ in world.totals(rule["whole"])]:
                ways = []
            least = max([TIERS.index(each["tier"]) for each in node["premises"]], default=0 if rule["law"] else len(TIERS) - 1)
            self.same(place, node, {"tier": TIERS[least if any(ways) else max(least, TIERS.index("approximate"))]} if ways else {})
        self.must(ways, place, "it does not follow from its premises by its rule" if rule else "nobody stated it")
        if self.doc["world"]["omitted"] and rule and (cut or "over" in rule or any(each["naf"] for each in rule["when"])):
            self.notes["what bears on its absences and totals was too much to carry; they are the signer's word"] = None

    def digests(self) -> None:
        case = {name: self.doc["case"][name] for name in ("caseId", "root", "disposition", "certified")}
        self.same("", {"closure": self.doc["closure"], "proofs": digest({name: self.doc[name] for name in CLOSING}), "result": digest(case)},
                        {name: self.closing.get(name) for name in ("closure", "proofs", "result")})
        told = {name: digest(value) for name, value in self.doc.items() if name not in ("digests", "signature")}
        self.same("", {**dict.fromkeys(self.doc["digests"]), **told}, {**dict.fromkeys(told), **self.doc["digests"]})

    def signature(self) -> None:
        self.key = str((self.doc.get("signature") or {}).get("key", ""))
        problem = signature_problem(self.doc)
        self.must(problem is None, "signature", str(problem))
