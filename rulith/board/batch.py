"""ApplyBatch: what an Agent may write, operation by operation, all or nothing.

Every operation runs against what the ones before it left; any refusal undoes the whole
batch. Facts get the tier *asserted*, rules and Actions belong to the Case they were written
under, and an aggregate pins the facts it saw.

Source  the MCP surface, "ApplyBatch"; the rule language, "Operations" and "Aggregates".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.base.limits import BATCH_OPERATIONS_MAX
from rulith.board import actions
from rulith.board.cases import writable_cases
from rulith.board.gates import check_builtins, check_heads, check_placeholders, check_writable, read_agent_fact
from rulith.board.machine import expect_members, members
from rulith.board.names import check_literals, check_name, check_predicate, check_words
from rulith.board.release import ActionSpec
from rulith.board.shapes import Mint
from rulith.board.state import ASSERTED, AgentAction, Aggregate, BoardState, Case, Fact, Goal, RuleInfo
from rulith.board.words import AGGREGATE_PREFIX
from rulith.rules.safety import check_action
from rulith.rules.terms import Atom, Literal, Rule, Scalar, normalise, read_literals

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}", re.ASCII)
LABEL_MAX = 200
RESULT_ROWS_MAX = 500
AGGREGATES = ("sum", "count", "min", "max", "avg")
AGGREGATE_MEMBERS_MAX = 1_000   # facts one aggregate folds per group
FOLD_MEMBERS = 10               # facts per rule of the chain: each needs two body literals, and bodies are bounded

#  op                 required members          optional members
_MEMBERS = {
    "assert_fact": ("predicate", "id args negated"),
    "declare_goal": ("desired", "id label"),
    "add_axiom": ("when then", "id label"),
    "define_action": ("action effects", "id label preconditions"),
    "apply_action": ("action", "args"),
    "derive_aggregate": ("source into", "id kind where group_by"),
    "retract_node": ("nodeId", ""),
    "revise_fact": ("nodeId predicate", "id args negated"),
}
MEMBERS = {op: members(f"op {required}", optional) for op, (required, optional) in _MEMBERS.items()}


class Batch:
    """One running batch. `nodes` and `warnings` are what the answer tells."""

    def __init__(self, state: BoardState, focus: Sequence[str], at: str, draw: Mint) -> None:
        self.state = state
        self.focus = list(focus)
        self.cases = writable_cases(state, focus, at)
        self.case = self.cases[-1]           # the latest focused Case is the one written under
        self.at = at
        self.draw = draw
        self.nodes: list[str] = []
        self.warnings: list[str] = []

    def run(self, operations: object) -> dict:
        if not isinstance(operations, (list, tuple)) or not operations:
            raise Refused("bad_command", problem="operations is not a list of at least one operation")
        if len(operations) > BATCH_OPERATIONS_MAX:
            raise Refused("resource_limit", what="the number of operations", value=len(operations), limit=BATCH_OPERATIONS_MAX)
        for index, operation in enumerate(operations):
            self._one(operation, f"operations[{index}]")
        self.state.close_rules()
        refresh_aggregates(self.state, self.warnings)
        return self._answer()

    def _answer(self) -> dict:
        answer: dict = {"nodeIds": self.nodes[:RESULT_ROWS_MAX]}
        if len(self.nodes) > RESULT_ROWS_MAX:
            answer["nodeIdsTruncated"] = {"shown": RESULT_ROWS_MAX, "total": len(self.nodes)}
        if self.warnings:
            answer["warnings"] = self.warnings[:RESULT_ROWS_MAX]
            if len(self.warnings) > RESULT_ROWS_MAX:
                answer["warningsTruncated"] = {"shown": RESULT_ROWS_MAX, "total": len(self.warnings)}
        return answer

    def _one(self, operation: object, where: str) -> None:
        op = operation.get("op") if isinstance(operation, Mapping) else None
        if op in ("declare_hypothesis", "record_result"):
            raise Refused("bad_command", problem=f"{where}: {op} is not offered on this surface")
        if not isinstance(op, str) or op not in MEMBERS:
            raise Refused("bad_command", problem=f"{where}: {op!r} is no operation; use one of {', '.join(MEMBERS)}")
        where = f"{where} {op}"
        expect_members(operation, where, *MEMBERS[op])
        for name in ("id", "label", "nodeId", "action"):
            if name in operation and (not isinstance(operation[name], str) or not operation[name]):
                raise Refused("bad_command", problem=f"{where}: {name} is not a non-empty text")
        if "label" in operation:
            check_words(operation["label"], f"{where}: the label")
        getattr(self, f"_{op}")(operation, where)

    # --- ids and ownership -------------------------------------------------------------

    def _id(self, operation: Mapping, prefix: str) -> str:
        wanted = operation.get("id")
        if wanted is None:
            return self.draw(prefix)
        if not ID.fullmatch(wanted) or wanted.startswith(("derived:", "root_", "case_")):
            raise Refused("bad_command", problem=f"The id {wanted[:80]!r} is not free text of letters, digits and _.:-")
        state = self.state
        if any(wanted in book for book in (state.facts, state.rules, state.goals, state.agent_actions, state.aggregates)):
            raise Refused("name_taken", name=wanted)
        return wanted

    def _rule_case(self, what: str, *, actions_too: bool = False) -> Case:
        """The focused Case whose contract lets an Agent add rules, the latest first."""
        allowed = ("rules_and_actions",) if actions_too else ("rules_and_actions", "rules_only")
        for case in reversed(self.cases):
            if rule_permission(self.state, case) in allowed:
                return case
        raise Refused("not_permitted", what=what, why=f"the Case Type {self.case.type} leaves them to its Capability",
                      instead="State facts and goals, apply its Actions, or explore in a Case of type exploration.")

    # --- operations --------------------------------------------------------------------

    def _assert_fact(self, operation: Mapping, where: str, *, reuse: str = "") -> None:
        state = self.state
        atom = read_agent_fact(state, operation, where)
        holds = state.program.holds(atom)
        if holds and not reuse:
            state.close_rules()
            holds = state.program.holds(atom)
        if holds:
            known = state.node_id(atom)
            self.nodes.append(known)
            self.warnings.append(f"{where}: {atom.text()} holds already as {known}; nothing was added")
            return
        fact_id = reuse or self._id(operation, "f_")
        state.add_fact(Fact(fact_id, atom, ASSERTED, ASSERTED, self.case.case_id, self.case.is_exploration,
                            {"kind": "agent", "at": self.at, "case": self.case.case_id}, self.at))
        self.nodes.append(fact_id)

    def _declare_goal(self, operation: Mapping, where: str) -> None:
        desired = read_literals(operation["desired"], f"{where} desired")
        if not desired:
            raise Refused("bad_command", problem=f"{where}: desired is empty")
        if any(literal.naf for literal in desired):
            raise Refused("bad_command", problem=f"{where}: naf belongs to rule bodies; a goal states what should hold")
        check_literals(desired, where, self.state.protected)
        check_placeholders(desired, where)
        goal_id = self._id(operation, "goal_")
        label = operation.get("label") or " AND ".join(literal.text() for literal in desired)
        self.state.journal.put(self.state.goals, goal_id,
                               Goal(goal_id, label[:LABEL_MAX], desired, self.case.case_id, self.at))
        self.state.changes.others[goal_id] = None
        self.nodes.append(goal_id)

    def _add_axiom(self, operation: Mapping, where: str) -> None:
        case = self._rule_case("An Agent's rule")
        when, then = read_literals(operation["when"], f"{where} when"), read_literals(operation["then"], f"{where} then")
        if not then:
            raise Refused("bad_command", problem=f"{where}: then is empty")
        check_literals([*when, *then], where, self.state.protected)
        check_heads(self.state, then, where)
        rule_id = self._id(operation, "rule_")
        check_builtins(when, rule_id)
        rule = Rule(rule_id, (operation.get("label") or rule_id)[:LABEL_MAX], when, then)
        for info in self.state.rules.values():
            if info.rule.same_content(rule):
                self.nodes.append(info.rule.id)
                self.warnings.append(f"{where}: the rule is there already as {info.rule.id}; nothing was added")
                return
        self._add_rule(rule, case)
        self.nodes.append(rule_id)

    def _add_rule(self, rule: Rule, case: Case, aggregate: str = "") -> None:
        self.state.put_rule(RuleInfo(rule, False, case_id=case.case_id, aggregate=aggregate, at=self.at))

    def _define_action(self, operation: Mapping, where: str) -> None:
        case = self._rule_case("An Agent's Action", actions_too=True)
        state, name = self.state, operation["action"]
        if name in state.actions or any(each.spec.id == name for each in state.agent_actions.values()):
            raise Refused("name_taken", name=name)
        preconditions = read_literals(operation.get("preconditions", []), f"{where} preconditions")
        effects = read_literals(operation["effects"], f"{where} effects")
        check_words(name, f"{where}: the Action")
        check_literals([*preconditions, *effects], where, state.protected)
        check_heads(state, effects, where)
        check_builtins(preconditions, name, action=True)
        check_action(name, preconditions, effects)
        action_id = self._id(operation, "act_")
        spec = ActionSpec(name, (operation.get("label") or name)[:LABEL_MAX], {}, preconditions, effects)
        state.journal.put(state.agent_actions, action_id, AgentAction(action_id, spec, case.case_id))
        state.changes.others[action_id] = None
        self.nodes.append(action_id)

    def _apply_action(self, operation: Mapping, where: str) -> None:
        self.state.close_rules()
        result = actions.apply_board_action(
            self.state, {"action": operation["action"], "args": operation.get("args"), "focus": self.focus}, self.at, self.draw,
            op="ApplyBatch")
        self.nodes += result["nodeIds"]

    def _retract_node(self, operation: Mapping, where: str) -> None:
        state, node_id = self.state, operation["nodeId"]
        if node_id in state.facts:
            self._check_own(state.facts[node_id])
            state.remove_fact(node_id)
        elif node_id in state.aggregates:
            drop_aggregate(state, node_id)
        elif node_id in state.rules:
            info = state.rules[node_id]
            if info.law:
                raise Refused("goalpost_moved", node=node_id, owner=f"Capability {info.capability}")
            if info.aggregate:
                raise Refused("goalpost_moved", node=node_id, owner=f"aggregate {info.aggregate}")
            state.drop_rule(node_id)
        elif node_id in state.goals:
            state.journal.drop(state.goals, node_id)
        elif node_id in state.agent_actions:
            state.journal.drop(state.agent_actions, node_id)
        elif node_id.startswith("derived:") and state.atom_of(node_id) is not None:
            raise Refused("goalpost_moved", node=node_id, owner="the rules that conclude it")
        else:
            raise Refused("not_found", what="node", name=node_id)
        state.changes.others[node_id] = None
        state.close_rules()

    def _check_own(self, fact: Fact) -> None:
        if fact.origin != ASSERTED:
            owner = {"attested": "the Source that attests it", "effect": "the Action that brought it about",
                     "law": "the Board"}[fact.origin]
            raise Refused("goalpost_moved", node=fact.id, owner=owner)

    def _revise_fact(self, operation: Mapping, where: str) -> None:
        node_id = operation["nodeId"]
        fact = self.state.facts.get(node_id)
        if fact is None:
            raise Refused("not_found", what="fact", name=node_id)
        self._check_own(fact)
        self.state.remove_fact(node_id)
        self.state.close_rules()
        self._assert_fact(operation, where, reuse=node_id if operation.get("id") == node_id else "")

    def _derive_aggregate(self, operation: Mapping, where: str) -> None:
        case = self._rule_case("An aggregate")
        self.state.close_rules()
        into = operation["into"]
        if not isinstance(into, Mapping) or not into.get("predicate") or not into.get("valueArg"):
            raise Refused("aggregate_refused", problem="into names no predicate and valueArg")
        self._check_aggregate_names(operation, where)
        check_writable(self.state, into["predicate"], where)
        aggregate_id = operation.get("id") or f"agg_{into['predicate']}"
        if aggregate_id in self.state.aggregates:
            drop_aggregate(self.state, aggregate_id)
            self.state.close_rules()
        elif operation.get("id"):
            self._id(operation, "agg_")
        elif aggregate_id in self.state.rules or aggregate_id in self.state.facts:
            raise Refused("name_taken", name=aggregate_id)
        rules, members = expand(self.state, aggregate_id, operation)
        for rule in rules:
            if rule.id in self.state.rules:
                raise Refused("name_taken", name=rule.id)
            self._add_rule(rule, case, aggregate_id)
        self.state.journal.put(self.state.aggregates, aggregate_id, Aggregate(
            aggregate_id, dict(operation), tuple(members), case.case_id, tuple(rule.id for rule in rules)))
        self.nodes.append(aggregate_id)

    def _check_aggregate_names(self, operation: Mapping, where: str) -> None:
        source, into, group = operation["source"], operation["into"], operation.get("group_by")
        for part in (source, into):
            if isinstance(part, Mapping) and isinstance(part.get("predicate"), str):
                check_predicate(part["predicate"], where, self.state.protected)
        for name in (into.get("valueArg"), group):
            if isinstance(name, str):
                check_name(name, f"{where}: the argument")


def rule_permission(state: BoardState, case: Case) -> str:
    """rules_and_actions | rules_only | none: what an Agent may add under this Case."""
    if case.is_exploration:
        return "rules_and_actions"
    return state.case_types[case.type].agent_rules


# --- aggregates ------------------------------------------------------------------------


def members_of(state: BoardState, operation: Mapping) -> list[Atom]:
    """The positive source facts, filtered, in ascending order of their printed form."""
    source, where = operation["source"], operation.get("where")
    found = [atom for atom in state.program.facts(source["predicate"]) if not atom.negated]
    if where is not None:
        wanted = normalise(where["equals"], "where.equals")
        found = [atom for atom in found if _same(atom.arguments.get(where["arg"]), wanted)]
    return sorted(found, key=lambda atom: canonical_text(dict(atom.args)))


def _same(left: Scalar | None, right: Scalar) -> bool:
    return left is not None and isinstance(left, bool) == isinstance(right, bool) and left == right


def _check_aggregate(state: BoardState, operation: Mapping) -> tuple[str, str]:
    kind, source, where, group = (operation.get("kind", "sum"), operation["source"], operation.get("where"), operation.get("group_by"))
    if kind not in AGGREGATES:
        raise Refused("aggregate_refused", problem=f"kind {kind!r} is none of {', '.join(AGGREGATES)}")
    if not isinstance(source, Mapping) or not isinstance(source.get("predicate"), str) or not source["predicate"]:
        raise Refused("aggregate_refused", problem="source names no predicate")
    if kind != "count" and not source.get("valueArg"):
        raise Refused("aggregate_refused", problem=f"{kind} needs source.valueArg")
    if where is not None and (not isinstance(where, Mapping) or not where.get("arg") or "equals" not in where):
        raise Refused("aggregate_refused", problem="where names no arg and equals")
    if group is not None and (not isinstance(group, str) or not group):
        raise Refused("aggregate_refused", problem="group_by is not an argument name")
    if any(conflict.predicate == source["predicate"] for conflict in state.program.functional_conflicts()):
        raise Refused("aggregate_refused", problem=f"{source['predicate']} has facts that contradict its functional dependency")
    return kind, source.get("valueArg") or ""


def expand(state: BoardState, aggregate_id: str, operation: Mapping) -> tuple[list[Rule], list[Atom]]:
    """The ground rules that compute the aggregate over the facts there are now."""
    kind, value_arg = _check_aggregate(state, operation)
    members = members_of(state, operation)
    if not members:
        raise Refused("aggregate_refused", problem=f"no fact of {operation['source']['predicate']} is there to take")
    groups: dict[str, list[Atom]] = {}
    for atom in members:
        group = operation.get("group_by")
        if group is not None and group not in atom.arguments:
            raise Refused("aggregate_refused", problem=f"{atom.text()} has no argument {group}")
        groups.setdefault(canonical_text(atom.arguments[group]) if group is not None else "", []).append(atom)
    rules: list[Rule] = []
    for key, atoms in groups.items():
        suffix = "__g_" + re.sub(r"[^A-Za-z0-9_.-]", "_", key) if key else ""
        rules += _chain(aggregate_id + suffix, operation, kind, value_arg, atoms)
    if len({rule.id for rule in rules}) != len(rules):
        raise Refused("aggregate_refused", problem="two group values have the same short name; give them distinct text")
    return rules, members


def _chain(name: str, operation: Mapping, kind: str, value_arg: str, atoms: list[Atom]) -> list[Rule]:
    """Rules that fold the members a few at a time, each resting on the one before; the last concludes the total."""
    if len(atoms) > AGGREGATE_MEMBERS_MAX:
        raise Refused("resource_limit", what="the number of facts of one aggregate", value=len(atoms), limit=AGGREGATE_MEMBERS_MAX)
    values = [_value(atom, kind, value_arg) for atom in atoms]
    label = f"{kind} of {operation['source']['predicate']}"
    step = kind if kind in ("min", "max") else "add"
    rules, total = [], None
    for start in range(0, len(atoms), FOLD_MEMBERS):
        part, last = start // FOLD_MEMBERS, start + FOLD_MEMBERS >= len(atoms)
        when = [Literal(atom.predicate, atom.args) for atom in atoms[start:start + FOLD_MEMBERS]]
        if part:
            total = "?before"
            when.insert(0, Literal.of(AGGREGATE_PREFIX + name, {"part": part - 1, "total": total}))
        for index, value in enumerate(values[start:start + FOLD_MEMBERS]):
            if total is None:
                total = value
                continue
            when.append(Literal.of(step, {"left": total, "right": value, "result": f"?sum{index}"}))
            total = f"?sum{index}"
        if last and kind == "avg":
            when.append(Literal.of("div", {"left": total, "right": len(values), "result": "?avg"}))
            total = "?avg"
        head = _head(operation, operation["into"], total, atoms[0]) if last else \
            Literal.of(AGGREGATE_PREFIX + name, {"part": part, "total": total})
        rules.append(Rule(name if last else f"{name}__p_{part}", label, tuple(when), (head,)))
    return rules


def _head(operation: Mapping, into: Mapping, total: Scalar, sample: Atom) -> Literal:
    args = {into["valueArg"]: total}
    if operation.get("group_by") is not None:
        args[operation["group_by"]] = sample.arguments[operation["group_by"]]
    return Literal.of(into["predicate"], args)


def _value(atom: Atom, kind: str, value_arg: str) -> Scalar:
    if kind == "count":
        return 1
    value = atom.arguments.get(value_arg)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused("aggregate_refused", problem=f"{atom.text()} has no number in {value_arg}")
    return value


def drop_aggregate(state: BoardState, aggregate_id: str) -> None:
    for rule_id in state.aggregates[aggregate_id].rule_ids:
        state.drop_rule(rule_id)
    state.journal.drop(state.aggregates, aggregate_id)


def refresh_aggregates(state: BoardState, warnings: list[str]) -> None:
    """Withdraw every aggregate whose members are no longer exactly those it pinned."""
    stale = True
    while stale:
        stale = False
        for aggregate in list(state.aggregates.values()):
            if tuple(members_of(state, aggregate.definition)) != aggregate.members:
                drop_aggregate(state, aggregate.id)
                warnings.append(f"aggregate {aggregate.id} was withdrawn: its source facts changed; derive it again")
                stale = True
        if stale:
            state.close_rules()
