"""Recorded programs: facts, rules, retractions and goals whose outcome is known.

Duty: every scenario of the corpus that a Program alone can express. The Board's own
operations (actions, aggregates, results, evidence) are told by the Board's tests.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.rules.builtins import BUILTINS
from rulith.rules.program import Limits, Program
from rulith.rules.terms import is_variable, read_atom, read_literal, read_rule

OPERATIONS = {"assert_fact", "add_axiom", "retract_node", "revise_fact", "declare_goal"}
LABELS = {"RULE_UNSAFE", "NOT_STRATIFIABLE", "CLOSURE_DIVERGED", "JOIN_EXPLOSION", "CONCAT_OPERAND", "ATOM_INVALID", "BUILTIN_RESERVED"}


def scenarios():
    for path in sorted((Path(__file__).parent.parent / "corpus" / "board").glob("*.json")):
        for scenario in json.loads(path.read_text(encoding="utf-8")):
            if expressible(scenario):
                yield pytest.param(scenario, id=scenario["id"])


def expressible(scenario):
    for batch, step in zip(scenario["batches"], scenario["expect"]["steps"]):
        if batch.get("call") == "explain_fact" and "fact" in batch.get("args", {}):
            continue
        if "operations" not in batch or batch.get("options") or "wire" in step:
            return False
        for operation in batch["operations"]:
            if operation.get("op") not in OPERATIONS or operation.get("evidenceRefs"):
                return False
        if "error" in step and step["error"]["label"] not in LABELS:
            return False
    return True


class Nodes:
    """What the Board would keep beside a Program: ids of facts, rules and goals."""

    def __init__(self, program):
        self.program = program
        self.facts, self.rules, self.goals = {}, {}, {}
        self.minted = 0

    def run(self, operations):
        saved = dict(self.facts), dict(self.rules), dict(self.goals)
        try:
            with self.program.transaction() as tx:
                for operation in operations:
                    self.perform(tx, operation)
                tx.close()
        except Refused:
            self.facts, self.rules, self.goals = saved
            raise

    def perform(self, tx, operation):
        self.minted += 1
        node = operation.get("id", f"#{self.minted}")
        kind = operation["op"]
        if kind in ("retract_node", "revise_fact"):
            gone = operation["nodeId"]
            if gone in self.rules:
                tx.remove_rule(gone)
                del self.rules[gone]
            elif gone in self.facts:
                tx.retract_fact(self.facts.pop(gone))
            self.goals.pop(gone, None)
        if kind in ("assert_fact", "revise_fact"):
            self.facts[node] = read_atom({k: operation[k] for k in ("predicate", "args", "negated") if k in operation})
            tx.assert_fact(self.facts[node])
        elif kind == "add_axiom":
            rule = read_rule({"id": node, "when": operation["when"], "then": operation["then"]})
            if not any(rule.same_content(other) for other in self.rules.values()):
                self.rules[node] = rule
                tx.add_rule(rule)
        elif kind == "declare_goal":
            self.goals[node] = [read_literal(atom) for atom in operation["desired"]]

    def satisfied(self, node):
        for wanted in self.goals[node]:
            if any(is_variable(value) for _, value in wanted.args):
                if next(self.program.solve([wanted], limit=1), None) is None:
                    return False
            elif not self.program.holds(wanted.atom()):
                return False
        return True


def row(program, atom):
    derived = program.is_derived(atom)
    return [atom.predicate, dict(atom.args), "-" if atom.negated else "+", "derived" if derived else "asserted"]


def same_scalar(one, other):
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=0)


def same_row(one, other):
    return one[0] == other[0] and one[2:4] == other[2:4] and one[1].keys() == other[1].keys() and all(
        same_scalar(one[1][name], other[1][name]) for name in one[1])


def assert_state(nodes, state):
    program = nodes.program
    got = [row(program, atom) for atom in program.facts()]
    missing = [wanted for wanted in state["facts"] if not any(same_row(wanted, have) for have in got)]
    surplus = [have for have in got if not any(same_row(wanted, have) for wanted in state["facts"])]
    assert (missing, surplus) == ([], [])
    for goal in state.get("goals", []):
        assert nodes.satisfied(goal["id"]) == goal["satisfied"], goal
    contradictions = [[atom.predicate, dict(atom.args)] for atom in program.contradictions()]
    assert len(contradictions) == len(state.get("contradictions", []))
    assert len(program.functional_conflicts()) == len(state.get("functionalConflicts", []))
    disputed = {atom.text() for atom in program.facts() if program.disputed(atom)}
    wanted = {read_atom({"predicate": one[0], "args": one[1], "negated": one[2] == "-"}).text() for one in state["facts"] if one[4:] == ["disputed"]}
    assert disputed == wanted


def assert_tree(program, node, expected):
    assert node.atom == read_atom(expected["atom"] if isinstance(expected["atom"], dict) else as_atom(expected["atom"]))
    assert ("derived" if node.support else "asserted") == expected["marker"]
    if node.support:
        assert node.support.rule_id == expected["via"]
    for child, wanted in zip(node.children, expected.get("from", []), strict=True):
        assert_tree(program, child, wanted)


def as_atom(recorded):
    return {"predicate": recorded[0], "args": recorded[1], "negated": recorded[2:3] == ["-"]}


@pytest.mark.parametrize("scenario", list(scenarios()))
def test_a_recorded_program_gives_the_recorded_facts(scenario):
    rounds = scenario.get("limits", {}).get("max_closure_iterations")
    nodes = Nodes(Program(Limits(rounds=rounds) if rounds else Limits()))
    for batch, step in zip(scenario["batches"], scenario["expect"]["steps"]):
        if "call" in batch:
            asked = read_atom(batch["args"]["fact"])
            assert_tree(nodes.program, nodes.program.explain(asked), step["result"])
            continue
        if step["status"] == "rejected":
            with pytest.raises(Refused) as refusal:
                nodes.run(batch["operations"])
            assert refusal.value.code == step["error"]["label"]
        else:
            nodes.run(batch["operations"])
        if "state" in step:
            assert_state(nodes, step["state"])
    assert_state(nodes, scenario["expect"]["final"])


def test_the_corpus_exercises_every_builtin():
    used = {literal["predicate"] for param in scenarios() for batch in param.values[0]["batches"]
            for operation in batch.get("operations", []) for literal in operation.get("when", [])}
    assert BUILTINS <= used
