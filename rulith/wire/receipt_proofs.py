"""Every conclusion of a Terminal Receipt, derived a second time.

Each step of a proof from its own premises by its own rule; each absence and each total from
all the facts that the document says bear on it; each premise from the row that states it.
The rules are read from the Capability itself.

Shares nothing with the engine or the law. Refuses to know: digests, links, signatures.
Source  format rulith-terminal-receipt/1 (docs/receipts.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rulith.base.proof_text import proof_nodes, said_by
from rulith.wire.receipt_rules import World, computed, fact_of, fits, heads, literal_of, read, text_of
from rulith.wire.verdict import Verdict

TIERS = ("verified", "attested", "approximate", "inductive", "uncertain", "perceived", "asserted")
BOARD_WORDS = {"root", "case_context", "case_key", "goal_node", "subgoal_of", "acceptance", "rulith.exploration.completed"}


def aliases_of(capability: Mapping) -> dict[str, str]:
    """The full predicate of each alias."""
    return {row["as"]: row["id"] for part in ("defines", "imports") for row in capability["vocabulary"].get(part, ())}


def rules_of(capability: Mapping) -> Iterator[dict]:
    """The rules of a Capability, its acceptance rows among them, in full predicates."""
    full, name, node = aliases_of(capability), f"{capability['id']}@{capability['version']}", "?rulith_node"
    for row in capability.get("rules", ()):
        yield {"id": f"{name}/{row['id']}", "law": True, **{part: [literal_of(each, full) for each in row[part]] for part in ("when", "then")}}
    for row in capability.get("aggregates", ()):
        over = {**row, **{part: {**row[part], "predicate": full[row[part]["predicate"]]} for part in ("source", "into")}}
        yield {"id": f"{name}/aggregate/{row.get('id') or row['into']['predicate']}", "law": True, "when": [], "then": [literal_of(row["into"], full)], "over": over}
    for row in capability.get("acceptance", ()):
        tied = {"acceptance": {"node": node, "test": f"{capability['id']}.{row['id']}"}, "subgoal_of": {"child": node, "parent": "?root"}}
        when = [*(literal_of({"predicate": word, "args": args}) for word, args in tied.items()), *(literal_of(each, full) for each in row["when"])]
        yield {"id": f"{name}/acceptance/{row['id']}", "law": True, "when": when, "then": [literal_of({"predicate": "acceptance_met", "args": {"node": node}})]}


def stated_by(row: Mapping, command: Mapping) -> Iterator[tuple[tuple, str, dict]]:
    """(fact, tier, how) of everything that one command of the Board's rows states or brings about."""
    plan, how = command.get("plan", {}), {name: value for name, value in {**row, **command}.items() if name in ("at", "ordinal", "resultDigest")}
    done = {**how, "kind": "action", "action": plan.get("action")}
    for each in command.get("operations", ()):
        if each["op"] in ("assert_fact", "revise_fact"):
            yield fact_of(each), "asserted", {**how, "kind": "agent"}
    if command["kind"] == "record_receipt" and command["ok"]:
        tier = TIERS[max(1, TIERS.index((command["source"] or {"tier": "attested"})["tier"]))]
        read_by = {"operation": plan["action"], "tool": plan["tool"], "source": plan["sourceRecordId"], "connection": plan["connectionId"],
                   "requestDigest": command["requestDigest"], "worker": command["workerId"], "generation": command["workerGeneration"]}
        yield from ((fact_of(each), tier, {**how, **read_by, "kind": "receipt"}) for each in command["facts"])
        yield from ((fact_of(each), tier, done) for each in plan["effects"])
    if command["kind"] == "record_reconciliation" and command["outcome"] == "happened":
        yield from ((fact_of(each), "attested", {**done, "reconciledBy": command["by"], "reason": command["reason"]}) for each in plan["effects"])


class Proofs:
    """The proofs of one document, over the commands of its rows.

    words   what the gateway itself says of this very Case
    """

    def __init__(self, document: Mapping, found: Verdict, commands: Sequence[tuple[Mapping, Mapping]], words: set[tuple]) -> None:
        self.doc, self.found, self.commands, self.words = document, found, commands, words
        self.own = (document["release"] or {}).get("capability")
        releases = [each["capability"] for each in (document["release"], *document.get("releases", ())) if each]
        self.rules = {rule["id"]: rule for each in releases for rule in rules_of(each)}
        self.base: dict[str, tuple] = {}      # id -> fact, of everything that was stated

    def check(self) -> None:
        for rule in self.doc["rules"]:
            self._agents_rule(rule)
        self._premises()
        worlds = {law: World([rule for rule in self.rules.values() if rule["law"] or not law], self.base.values()) for law in (True, False)}
        met = {leaf["node"]: leaf["tier"] for leaf in self.doc["leaves"] if leaf["met"] and self.own}
        floor = self.own["case_types"][self.doc["case"]["caseType"]]["floor"] if self.own else "asserted"
        facts = {node["id"]: node for node in self.doc["facts"]}
        for tree in self.doc["conclusions"]:
            certain = tree["predicate"] == "acceptance_met" and tree["args"]["node"] in met
            if certain and (met.pop(tree["args"]["node"]) != tree["tier"] or TIERS.index(tree["tier"]) > TIERS.index(floor)):
                self.found.bad(f"proof of {tree['text']}", "it is below the contract's floor, or not of the tier that its goal states")
            for node in proof_nodes(tree):
                self._step(f"proof of {node['text']}", node, worlds[certain], certain)
                if not self.doc.get("truncated") or node["id"] in facts:
                    self.found.same(f"proof of {node['text']}", node, {name: facts[node["id"]].get(name) for name in ("text", "predicate", "args", "tier", "by")})
        for goal in met if self.own else [leaf["node"] for leaf in self.doc["leaves"] if leaf["met"] and not self._explored(leaf["node"])]:
            self.found.bad(f"goal {goal}", "it is met, and no proof is shown")

    def _explored(self, goal: str) -> bool:
        """Whether every literal of an exploration's goal is among the conclusions."""
        asked = [each["desired"] for row, command in self.commands for each in command.get("operations", ())
                 if each["op"] == "declare_goal" and (each.get("id") == goal or goal in row["body"]["minted"])]
        shown = [fact_of(tree) for tree in self.doc["conclusions"]]
        return any(all(any(fits(literal_of(each), fact, {}) is not None for fact in shown) for each in desired) for desired in asked)

    def _agents_rule(self, rule: Mapping) -> None:
        """A rule that the Agent added, as the row of that moment adds it."""
        read = {part: [literal_of(each) for each in rule[part]] for part in ("when", "then")}
        said = [each for row, command in self.commands if row["at"] == rule["at"] for each in command.get("operations", ())]
        whole = {name: value for name, value in rule.get("aggregate", {}).items() if name != "id"}
        told = any(each["op"] == "derive_aggregate" and all(each.get(name) == value for name, value in whole.items()) if whole else
                   each["op"] == "add_axiom" and all([literal_of(one) for one in each[part]] == read[part] for part in read) for each in said)
        if not told and rule["case"] == self.doc["case"]["caseId"]:
            self.found.bad(f"rule {rule['id']}", "no row of the receipt adds it")
        self.rules[rule["id"]] = {"law": False, **read, "whole": whole}

    def _premises(self) -> None:
        """Who stated each base fact: the gateway of this Case, or a row; what only bears on an absence may be of other work."""
        told = [each for row, command in self.commands for each in stated_by(row, command)]
        acts = [(row["at"], each.get("action")) for row, command in self.commands for each in (command, *command.get("operations", ()))]
        for node, beside in ((node, part is not self.doc["facts"]) for part in (self.doc["facts"], self.doc["world"]["facts"])
                             for node in part if node["by"]["kind"] != "rule"):
            fact, by = fact_of(node), node["by"]
            if by["kind"] == "law":
                good = fact in self.words or (fact[0] in BOARD_WORDS and self.doc["case"]["root"] not in dict(fact[2]).values())
            elif by["kind"] == "action" and "ordinal" not in by:
                good = beside or (by["at"], by["action"]) in acts
            else:
                good = beside or any((fact, node["tier"]) == (which, tier) and {**by, **how} == by for which, tier, how in told)
            self.base[node["id"]] = fact
            self.found.same(f"fact {node['id']}", node, {"text": text_of(fact)})
            if not good:
                self.found.bad(f"fact {node['text']}", "no row of the receipt says it so")

    def _step(self, place: str, node: Mapping, world: World, certain: bool) -> None:
        """One step: its premises and its rule give just this, no stronger than the weakest of them."""
        fact, rule = fact_of(node), self.rules.get(node["by"]["id"], {"law": True, "when": [], "then": []}) if node["by"]["kind"] == "rule" else None
        for row in node.get("computed", ()):
            got = computed(row["op"], *(read(row[side]) for side in ("left", "right") if side in row)) if "members" not in row else (read(row["result"]), True)
            if got is None or got[0] != read(row["result"]) or got[1] is bool("members" not in row and row.get("rounded")):
                self.found.bad(place, f"{row['op']} does not give what is shown")
        if certain and (any(fact[2] == other[2] for other in world.about((fact[0], not fact[1]))) or (rule and not rule["law"])):
            self.found.bad(place, "a rule of the Agent concludes it, or its opposite holds as well, so it certifies nothing")
        self.found.same(place, node, {"text": text_of(fact)})
        self.found.counted("conclusions" if rule else "premises")
        if rule is None:
            self.found.rest(said_by(node), f"{node['text']} [{node['tier']}]")
            ways = [self.base.get(node["id"]) == fact]
        elif node.get("cut"):
            ways = [fact in world.about(fact[:2])]
        else:
            ways = self._ways(rule, fact, [fact_of(each) for each in node["premises"]], world)
            least = max([TIERS.index(each["tier"]) for each in node["premises"]], default=0 if rule["law"] else len(TIERS) - 1)
            self.found.same(place, node, {"tier": TIERS[least if "exact" in ways else max(least, TIERS.index("approximate"))]} if ways else {})
        if not any(ways):
            self.found.bad(place, "it does not follow from its premises by its rule" if rule else "nobody stated it")
        if self.doc["world"]["omitted"] and rule and (node.get("cut") or "over" in rule or any(each["naf"] for each in rule["when"])):
            self.found.notes["what bears on its absences and totals was too much to carry; they are the signer's word"] = None

    def _ways(self, rule: Mapping, fact: tuple, premises: list[tuple], world: World) -> list[str]:
        """How the step holds, once for each way: "exact", or "rounded"."""
        if "over" in rule:
            return ["exact" if exact else "rounded" for total, exact, members in world.totals(rule["over"]) if total == fact and set(members) == set(premises)]
        if rule.get("whole") and fact[0] == rule["whole"]["into"]["predicate"] and fact not in [total for total, _, _ in world.totals(rule["whole"])]:
            return []
        return ["exact" if exact else "rounded" for bound, exact in world.matches(rule["when"], [[each] for each in premises]) if fact in heads(rule, bound)]
