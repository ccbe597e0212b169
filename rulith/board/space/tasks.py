"""Tasks: what a Board has to prove before it may be called finished, and Actions asked for by name.

A task is a tree of two levels: a root and its leaves, each with an acceptance test. The
Board itself writes it down as committed baselines, so that nobody moves the goalposts
afterwards, and concludes `acceptance_met(node)` from the test by a rule of its own.
Completing a task passes the gates or names every one that is shut.

Source  the reasoning board, "Trusted gates", "Tasks and finishing"; the published tools
        declare_task, complete_task, request_action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.base.limits import SPACE_LABEL_BYTES_MAX, TASK_LEAVES_MAX
from rulith.board.space import actions, critique, hints, tiers
from rulith.board.space.context import goal_guidance
from rulith.board.space.disputes import Disputes
from rulith.board.space.nodes import ACTION, AXIOM, LEDGER_LABEL, RESULT, ActionSpec, BatchOptions, Mint, Node, shown_refs
from rulith.board.space.operations import PLACEHOLDERS
from rulith.board.space.operations import run as run_batch
from rulith.board.space.reads import ASSERTED
from rulith.rules.safety import joins
from rulith.rules.terms import BLANKS, Atom, Literal, Rule, Scalar, is_variable, normalise, read_literals, scalar_text

if TYPE_CHECKING:
    from rulith.board.space.space import Space

MET = "acceptance_met"
COMPLETED = f"{LEDGER_LABEL} task completed: "      # the label of the Board's own record of it
BY_LAW = BatchOptions("system", "system")
BINDINGS_SHOWN = 3
WAYS_TRIED = 64         # bindings of an acceptance among which one has to be beyond reproach
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_.:\u0080-\U0010ffff-]*")


@dataclass(frozen=True, slots=True)
class Leaf:
    node: str
    acceptance: tuple[Literal, ...]

    @property
    def test(self) -> str:
        return _test(self.acceptance)


@dataclass(frozen=True, slots=True)
class Gate:
    """One reason why a task may not be completed."""

    kind: str
    node: str
    text: str

    def json(self) -> dict[str, str]:
        return {"gate": self.kind, "node": self.node, "text": self.text}


@dataclass(frozen=True, slots=True)
class LeafState:
    node: str
    test: str
    met: bool
    tier: str | None


class NotComplete(Refused):
    """TASK_NOT_COMPLETE with every shut gate as data."""

    def __init__(self, root: str, gates: Sequence[Gate]) -> None:
        self.gates = tuple(gates)
        shown = "; ".join(f"[{gate.kind}] {gate.node + ': ' if gate.node else ''}{gate.text}" for gate in gates[:5])
        more = f"; and {len(gates) - 5} more" if len(gates) > 5 else ""
        super().__init__("TASK_NOT_COMPLETE", root=root, problem=shown + more)


def _test(acceptance: Sequence[Literal]) -> str:
    """An acceptance in words, as committed."""
    return " AND ".join(literal.text() for literal in acceptance)[:SPACE_LABEL_BYTES_MAX]


# --- declaring ---------------------------------------------------------------------------


def declare_task(space: Space, root: object, leaves: object, *, at: str, mint: Mint) -> list[Leaf]:
    """Write a task down as committed baselines. Raises Refused TASK_SHAPE, TASK_TAKEN, and what a batch refuses."""
    name, read = _read_node(root, "root"), _read_leaves(leaves, root)
    known = set(_committed_nodes(space))
    for node in (name, *(leaf.node for leaf in read)):
        if normalise(node) in known:
            raise Refused("TASK_TAKEN", node=node)
    operations: list[dict[str, Any]] = [*_stated("goal_node", node=name), _fact("committed_derivation", predicate=MET)]
    for leaf in read:
        operations += _stated("goal_node", node=leaf.node)
        operations += _stated("subgoal_of", child=leaf.node, parent=name)
        operations += [_fact("acceptance", node=leaf.node, test=leaf.test),
                       _fact("committed_acceptance", node=leaf.node)]
        operations.append({"op": "add_axiom", "label": f"acceptance of {leaf.node}", "when": [each.json() for each in leaf.acceptance],
                           "then": [{"predicate": MET, "args": {"node": leaf.node}}]})
        operations.append({"op": "declare_goal", "label": leaf.node, "desired": [each.json() for each in _desired(leaf)]})
    space.apply(operations, BY_LAW, at=at, mint=mint)
    return read


def _fact(predicate: str, /, **args: Scalar) -> dict[str, Any]:
    return {"op": "assert_fact", "predicate": predicate, "args": args}


def _stated(predicate: str, /, **args: Scalar) -> list[dict[str, Any]]:
    """The fact, and the marker that commits it."""
    return [_fact(predicate, **args), _fact("committed_goal" if predicate == "goal_node" else "committed_subgoal", **args)]


def _read_node(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip(BLANKS) or is_variable(value) or len(value) > 200:
        raise Refused("TASK_SHAPE", where=where, problem="is not a name of 1 to 200 characters")
    return value


def _read_leaves(leaves: object, root: object) -> list[Leaf]:
    if not isinstance(leaves, (list, tuple)) or not leaves:
        raise Refused("TASK_SHAPE", where="leaves", problem="is not a list of at least one {node, acceptance}")
    if len(leaves) > TASK_LEAVES_MAX:
        raise Refused("resource_limit", what="the number of leaves", value=len(leaves), limit=TASK_LEAVES_MAX)
    found: list[Leaf] = []
    for index, leaf in enumerate(leaves):
        where = f"leaves[{index}]"
        if not isinstance(leaf, Mapping):
            raise Refused("TASK_SHAPE", where=where, problem="is not an object {node, acceptance}")
        node = _read_node(leaf.get("node"), f"{where}.node")
        if node == root or any(other.node == node for other in found):
            raise Refused("TASK_SHAPE", where=f"{where}.node", problem=f"repeats {node!r}; every node of a task has its own name")
        found.append(Leaf(node, _read_acceptance(leaf.get("acceptance"), f"{where}.acceptance")))
    return found


def _read_acceptance(value: object, where: str) -> tuple[Literal, ...]:
    """An atom, a list of literals, or the bare name of a predicate."""
    if isinstance(value, str):
        if not _NAME.fullmatch(value):
            raise Refused("TASK_SHAPE", where=where, problem="is prose, and a test is an atom, a list of atoms, or the name of a predicate")
        value = {"predicate": value}
    literals = read_literals(value if isinstance(value, (list, tuple)) else [value], where)
    if not any(joins(literal) for literal in literals):
        raise Refused("TASK_SHAPE", where=where, problem="has no atom that a fact could meet")
    for literal in literals:
        if literal.predicate == MET:
            raise Refused("TASK_SHAPE", where=where, problem=f"tests {MET}, which the Board itself concludes")
        for name, given in literal.args:
            if isinstance(given, str) and not is_variable(given) and given.lower() in PLACEHOLDERS:
                raise Refused("PLACEHOLDER_VALUE", where=f"{where} {literal.predicate}.{name}", value=given)
    return literals


def _desired(leaf: Leaf) -> list[Literal]:
    """What the leaf's goal asks for, in words that hints can follow: what a fact can meet."""
    return [literal for literal in leaf.acceptance if joins(literal)]


# --- reading what is declared --------------------------------------------------------------


def _committed(space: Space, predicate: str) -> Iterator[Node]:
    return (node for node in space.stated_facts(predicate) if node.is_trusted and not node.semantic.negated)  # type: ignore[union-attr]


def _committed_nodes(space: Space) -> Iterator[Scalar]:
    return (node.semantic.arguments.get("node", "") for node in _committed(space, "goal_node"))  # type: ignore[union-attr]


def roots(space: Space) -> list[str]:
    """Roots of declared tasks, in order of declaration."""
    found = [node.semantic.arguments.get("parent") for node in sorted(_committed(space, "subgoal_of"), key=lambda n: n.seq)]  # type: ignore[union-attr]
    return list(dict.fromkeys(scalar_text(root) for root in found if root is not None))


def _leaf_rules(space: Space, root: str) -> list[tuple[str, Rule]]:
    """Each leaf of a task and the rule by which its acceptance is judged: the one whose test was committed."""
    wanted = normalise(root)
    children = [node.semantic.arguments for node in sorted(_committed(space, "subgoal_of"), key=lambda n: n.seq)]  # type: ignore[union-attr]
    leaves = [row["child"] for row in children if row.get("parent") == wanted and "child" in row]
    tests = {node.semantic.arguments.get("node"): node.semantic.arguments.get("test") for node in _committed(space, "acceptance")}  # type: ignore[union-attr]
    rules: dict[Scalar, Rule] = {}
    for node in space.of_type(AXIOM):
        rule = node.semantic
        if node.is_trusted and isinstance(rule, Rule) and rule.then and rule.then[0].predicate == MET:
            leaf = rule.then[0].get("node")
            if leaf is not None and tests.get(leaf) == _test(rule.when):
                rules[leaf] = rule
    return [(scalar_text(leaf), rules[leaf]) for leaf in leaves if leaf in rules]


def completed_at(space: Space, root: str) -> str | None:
    """When a task was completed, or None."""
    label = COMPLETED + root
    return next((node.created_at for node in space.of_type(RESULT) if node.is_trusted and node.label == label), None)


def leaf_states(space: Space, root: str) -> list[LeafState]:
    return [_leaf_state(space, leaf, rule) for leaf, rule in _leaf_rules(space, root)]


def _leaf_state(space: Space, leaf: str, rule: Rule) -> LeafState:
    met = next(space.program.solve(rule.when, limit=1), None) is not None
    return LeafState(leaf, _test(rule.when), met, tiers.grounding(space, rule.then[0].atom()).weakest if met else None)


# --- completing ----------------------------------------------------------------------------


def complete_task(space: Space, root: object, *, at: str, mint: Mint) -> list[LeafState]:
    """Pass the gates and record it. Raises TASK_UNKNOWN, TASK_CLOSED, NotComplete (TASK_NOT_COMPLETE)."""
    name = _read_node(root, "root")
    known = roots(space)
    if scalar_text(normalise(name)) not in known:
        instead = f"Declared are: {shown_refs(known)}." if known else "Declare it with declare_task first."
        raise Refused("TASK_UNKNOWN", root=name, instead=instead)
    closed = completed_at(space, name)
    if closed is not None:
        raise Refused("TASK_CLOSED", root=name, at=closed)
    shut = list(gates(space, name))
    if shut:
        raise NotComplete(name, shut)
    states = leaf_states(space, name)
    proved = "; ".join(f"{state.node}: {state.test} [{state.tier}]" for state in states)
    record = {"op": "record_result", "label": COMPLETED + name, "summary": f"accepted: {proved}"[:SPACE_LABEL_BYTES_MAX]}
    with space.change(at, mint) as change:
        run_batch(change, [record], BY_LAW)
    return states


def gates(space: Space, root: str) -> Iterator[Gate]:
    """Everything that keeps a task open, the task's own leaves first."""
    disputes = Disputes(space)
    for leaf, rule in _leaf_rules(space, root):
        yield from _leaf_gates(space, leaf, rule, disputes)
    yield from _constraint_gates(space, root)
    for remark in critique.remarks(space):
        if remark.kind in critique.BLOCKING:
            yield Gate(remark.kind, remark.node_id, remark.text)
    for inversion in tiers.inversions(space):
        yield Gate("trust_inversion", inversion.witness, f"it stands on {inversion.actual}, and {inversion.scope} asks for {inversion.required}")
    yield from _result_gates(space, disputes)


def _leaf_gates(space: Space, leaf: str, rule: Rule, disputes: Disputes) -> list[Gate]:
    """None as soon as one way to meet the acceptance is beyond reproach; else what is wrong with the first."""
    wanted = [literal for literal in rule.when if joins(literal)]
    first: list[Gate] | None = None
    for bound in space.program.solve(rule.when, limit=WAYS_TRIED):
        met = [atom for literal in wanted for atom in islice(space.program.matching(literal.under(bound)), 1)]
        shut = _ways_shut(space, leaf, met, disputes)
        if not shut:
            return []
        first = first or shut
    if first is not None:
        return first
    failed, _ = hints.first_failing(space, rule.when)
    lacking = [literal for literal in wanted if not space.held(literal)]
    told = goal_guidance(space, lacking)[:hints.SHOWN_MAX] if lacking else []
    return [Gate("acceptance_unmet", leaf, "; ".join([f"{failed.text()} does not hold", *told]))]


def _ways_shut(space: Space, leaf: str, met: Sequence[Atom], disputes: Disputes) -> list[Gate]:
    found = []
    if all(space.marker(atom) == ASSERTED for atom in met):
        found.append(Gate("acceptance_claimed", leaf, f"{met[0].text()} is a bare claim; let a rule or an action bring it about"))
    found += [Gate("acceptance_disputed", leaf, f"{atom.text()} rests on a contradiction") for atom in met if disputes.covers(atom)]
    return found


def _constraint_gates(space: Space, root: str) -> Iterator[Gate]:
    """Obligations that a trusted channel laid on the task's nodes."""
    nodes = {normalise(root), *(normalise(leaf) for leaf, _ in _leaf_rules(space, root))}
    for node in _committed(space, "constraint"):
        args = node.semantic.arguments  # type: ignore[union-attr]
        if args.get("node") in nodes:
            wanted = Literal("constraint_met", tuple((name, args[name]) for name in ("node", "tag") if name in args))
            if next(space.program.matching(wanted), None) is None:
                yield Gate("constraint_pending", scalar_text(args["node"]), f"{wanted.text()} does not hold")


def _result_gates(space: Space, disputes: Disputes) -> Iterator[Gate]:
    """A finish names its evidence: one undisputed result of the agent, resting on what stands now."""
    own = [node for node in space.of_type(RESULT) if not node.is_trusted]
    if not own:
        yield Gate("result_missing", "", "no result is recorded; record_result citing what proves it")
        return
    refused = []
    for node in own:
        if not node.evidence:
            refused.append(Gate("result_unfounded", node.id, "it cites nothing; name its evidence in evidenceRefs"))
        elif not all(_is_evidence(space, ref) for ref in node.evidence):
            refused.append(Gate("result_unfounded", node.id, "something it cites does not stand any more"))
        elif disputes.covers_node(node):
            refused.append(Gate("result_disputed", node.id, "what it cites is disputed"))
        else:
            return
    yield from refused


def _is_evidence(space: Space, ref: str) -> bool:
    node = space.find(ref)
    return node is not None and node.type != RESULT and space.usable(ref)


# --- actions by name -------------------------------------------------------------------------


def request_action(space: Space, action: object, args: object, *, at: str, mint: Mint) -> actions.Application:
    """Apply an action by its name or id, its variables given by `args` where that is needed to leave one way.

    Raises ACTION_UNKNOWN, ACTION_BLOCKED, ACTION_BINDINGS, and what applying one refuses.
    """
    node = _find_action(space, action)
    spec = actions.spec_of(node)
    given = _read_args(spec, args)
    found = list(space.program.solve(spec.preconditions, given, limit=BINDINGS_SHOWN + 1)) if spec.preconditions else [{}]
    if not found:
        failed, _ = hints.first_failing(space, [literal.under(given) for literal in spec.preconditions])
        raise Refused("ACTION_BLOCKED", action=spec.name, problem=f"{failed.text()} does not hold", instead=_what_helps(space, failed))
    if len(found) > 1:
        shown = "; ".join(_binding_text(bound) for bound in found[:BINDINGS_SHOWN]) + ("; ..." if len(found) > BINDINGS_SHOWN else "")
        example = "{" + ", ".join(f'"{name[1:]}": {_json_text(value)}' for name, value in found[0].items()) + "}"
        raise Refused("ACTION_BINDINGS", action=spec.name, bindings=shown, example=example)
    with space.change(at, mint) as change:
        return actions.apply_match(change, node, actions.Match({name[1:]: value for name, value in found[0].items()}, 1))


def _find_action(space: Space, action: object) -> Node:
    names = list(dict.fromkeys(actions.spec_of(node).name for node in space.of_type(ACTION)))
    if not isinstance(action, str) or not (action in names or action in space.nodes):
        instead = f"Declared are: {shown_refs(names)}." if names else "Declare one with define_action first."
        raise Refused("ACTION_UNKNOWN", action=action if isinstance(action, str) else "", instead=instead)
    return actions.action_named(space, action)


def _read_args(spec: ActionSpec, args: object) -> dict[str, Scalar]:
    """Values by variable. A name is a variable's, or an argument's where the action knows one variable under it."""
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise Refused("ACTION_BLOCKED", action=spec.name, problem="`args` is not an object",
                      instead="Give variables their values, such as {\"item\": \"a\"}.")
    names: dict[str, set[str]] = {}
    for literal in (*spec.preconditions, *spec.effects):
        for name, value in literal.args:
            if is_variable(value):
                names.setdefault(name, set()).add(str(value))
    variables = {variable for found in names.values() for variable in found}
    found: dict[str, Scalar] = {}
    for name, value in args.items():
        meant = {f"?{name.removeprefix('?')}"} & variables or names.get(name, set())
        if len(meant) != 1:
            known = ", ".join(sorted(each[1:] for each in variables)) or "none"
            raise Refused("ACTION_BLOCKED", action=spec.name, problem=f"it has no variable {name!r}", instead=f"Its variables are: {known}.")
        found[meant.pop()] = normalise(value, f"args.{name}")
    return found


def _binding_text(bound: Mapping[str, Scalar]) -> str:
    return ", ".join(f"{name[1:]}={scalar_text(value)}" for name, value in bound.items())


def _json_text(value: Scalar) -> str:
    return f'"{value}"' if isinstance(value, str) else scalar_text(value)


def _what_helps(space: Space, failed: Literal) -> str:
    if failed.naf or not joins(failed):
        return "Change what its preconditions read."
    return "; ".join(goal_guidance(space, [failed])[:hints.SHOWN_MAX]) + "."
