"""The solver: values for variables such that the rules derive no conflict.

Depth first, in the order given: each value is asserted as a fact and the rules judge it.
An attempt that derives a conflict is taken back. A solution may be committed; it then
replaces the one that was committed for the same variables.

A committed value is a choice, not an observation: it is stated by whoever asked.

Source  the reasoning board, "Constraint solver".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulith.base.errors import Refused
from rulith.base.limits import SEARCH_WORK_MAX, SOLVE_NODES_MAX, SOLVE_VARIABLES_MAX
from rulith.board.space import gates, plans
from rulith.board.space.actions import trial_mint
from rulith.board.space.change import Change
from rulith.board.space.nodes import FACT, BatchOptions, Mint, Node
from rulith.board.space.rehearsal import Budget, Spent
from rulith.rules.builtins import BUILTINS, same
from rulith.rules.terms import Atom, Scalar, is_variable, normalise, read_atom

if TYPE_CHECKING:
    from rulith.board.space.space import Space

CONFLICT, ASSIGN = "conflict", "assignment"
ID_PREFIX = "__solve_"
UNSAT, BUDGET = "unsat", "budget"


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    domain: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """`reason` is unsat (no assignment does) or budget (not known), None where one was found.

    nodes     attempts made
    replaced  ids of earlier committed values that gave way, and of what rested on them
    """

    sat: bool
    assignment: Mapping[str, Scalar]
    nodes: int
    committed: bool = False
    reason: str | None = None
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    verified: bool
    why: str


def read_variables(rows: object) -> tuple[Variable, ...]:
    """`[{name, domain}]`, values normalised. Refuses SOLVE_EMPTY_NAME, SOLVE_DUPLICATE_VARIABLE, SOLVE_SHAPE, resource_limit."""
    if not isinstance(rows, (list, tuple)):
        raise Refused("SOLVE_SHAPE", where="variables", problem="it is not a list")
    if len(rows) > SOLVE_VARIABLES_MAX:
        raise Refused("resource_limit", what="the number of variables", value=len(rows), limit=SOLVE_VARIABLES_MAX)
    found: dict[str, Variable] = {}
    for place, row in enumerate(rows):
        where = f"variables[{place}]"
        if not isinstance(row, Mapping) or not isinstance(row.get("domain"), (list, tuple)):
            raise Refused("SOLVE_SHAPE", where=where, problem="it has no `domain` that is a list of values")
        name = row.get("name")
        if name is None or name == "":
            raise Refused("SOLVE_EMPTY_NAME")
        if not isinstance(name, str):
            raise Refused("SOLVE_SHAPE", where=where, problem="its `name` is not a text")
        if name in found:
            raise Refused("SOLVE_DUPLICATE_VARIABLE", name=name)
        domain = tuple(normalise(value, f"{where}.domain") for value in row["domain"])
        if any(is_variable(value) for value in (name, *domain)):
            raise Refused("SOLVE_SHAPE", where=where, problem="a name or value starting with ? is a variable of rules, and no value")
        found[name] = Variable(name, domain)
    return tuple(found.values())


def solve(space: Space, variables: object, conflict: str = CONFLICT, assign: str = ASSIGN, nodes_max: int = SOLVE_NODES_MAX,
          commit: bool = True, options: BatchOptions = BatchOptions(), *, at: str, mint: Mint) -> Solution:
    """Search an assignment under which no conflict is derived; commit it where asked.

    Refuses what `read_variables` does, BUILTIN_RESERVED, ATTESTED_PREDICATE, NODE_ID_TAKEN (an
    entry that is no committed value carries the id), BASELINE_PROTECTED.
    """
    wanted = read_variables(variables)
    _check_predicate(assign, "assignPredicate")
    _check_predicate(conflict, "conflictPredicate")
    if not isinstance(nodes_max, int) or isinstance(nodes_max, bool) or not 0 < nodes_max <= SOLVE_NODES_MAX:
        raise Refused("SOLVE_SHAPE", where="maxNodes", problem=f"it is not a whole number from 1 to {SOLVE_NODES_MAX}")
    if commit:
        gates.check_attested(options, assign, "solve")
    with space.trial("", trial_mint(space)) as change:
        _clear(change, wanted, assign, options)
        found = _Search(change, wanted, conflict, assign, nodes_max).run()
    if not found.sat or not commit:
        return found
    with space.change(at, mint) as change:
        replaced = _clear(change, wanted, assign, options)
        for name, value in found.assignment.items():
            _assert(change, assign, name, value, options)
        change.settle()
        assert not derives(space, conflict), "a solution that was found derives no conflict"
    return Solution(True, found.assignment, found.nodes, True, None, tuple(replaced))


def _check_predicate(name: object, where: str) -> None:
    if not isinstance(name, str) or not name:
        raise Refused("SOLVE_SHAPE", where=where, problem="it is not the name of a predicate")
    if name in BUILTINS:
        raise Refused("BUILTIN_RESERVED", predicate=name, use=f"given as {where}")


def derives(space: Space, predicate: str) -> bool:
    """Is a positive fact of the predicate derived?"""
    return any(not atom.negated and space.program.is_derived(atom) for atom in space.program.facts(predicate))


def value_atom(assign: str, name: str, value: Scalar) -> Atom:
    return Atom.of(assign, {"var": name, "value": value})


def _assert(change: Change, assign: str, name: str, value: Scalar, options: BatchOptions) -> None:
    atom = value_atom(assign, name, value)
    change.add(FACT, atom, id=ID_PREFIX + name, label=atom.text(), summary=f"Solved: {atom.text()}", created_by=options.created_by)


def _clear(change: Change, variables: Iterable[Variable], assign: str, options: BatchOptions) -> list[str]:
    """Take away the values committed earlier for these variables, with what rests on them."""
    space = change.space
    going = [ID_PREFIX + variable.name for variable in variables if ID_PREFIX + variable.name in space.nodes]
    for node_id, name in ((node_id, node_id[len(ID_PREFIX):]) for node_id in going):
        if not _is_value(space.nodes[node_id], assign, name):
            raise Refused("NODE_ID_TAKEN", id=node_id)
    falling = change.dependants(going)
    gates.check_removal(space, options, falling, gates.Amendments(space, ()), "solve")
    removed = change.remove(falling)
    change.settle()
    return removed


def _is_value(node: Node, assign: str, name: str) -> bool:
    atom = node.semantic
    return isinstance(atom, Atom) and atom.predicate == assign and not atom.negated and same(atom.arguments.get("var", ""), normalise(name))


class _Search:
    """One search. Attempts lie inside one another; each is taken back on the way out."""

    def __init__(self, change: Change, variables: Sequence[Variable], conflict: str, assign: str, nodes_max: int) -> None:
        self.change = change
        self.variables = variables
        self.conflict = conflict
        self.assign = assign
        self.nodes_max = nodes_max
        self.nodes = 0
        self.budget = Budget(change.space.program, nodes_max + 1, SEARCH_WORK_MAX)
        self.chosen: dict[str, Scalar] = {}

    def run(self) -> Solution:
        if not self.variables:
            sat = not derives(self.change.space, self.conflict)
            return Solution(sat, {}, 0, reason=None if sat else UNSAT)
        try:
            sat = self._extend(0)
        except Spent:
            return Solution(False, {}, self.nodes, reason=BUDGET)
        return Solution(sat, dict(self.chosen) if sat else {}, self.nodes, reason=None if sat else UNSAT)

    def _extend(self, depth: int) -> bool:
        """Choose values from the variable at `depth` on. Recursion is as deep as there are variables."""
        if depth == len(self.variables):
            return True
        variable = self.variables[depth]
        for value in variable.domain:
            if self.nodes >= self.nodes_max:
                raise Spent
            self.nodes += 1
            self.budget.check()
            with self._attempt(variable.name, value):
                if not derives(self.change.space, self.conflict):
                    self.chosen[variable.name] = value
                    if self._extend(depth + 1):
                        return True
                    del self.chosen[variable.name]
        return False

    @contextmanager
    def _attempt(self, name: str, value: Scalar) -> Iterator[None]:
        """The board with one value more, closed; taken back at the end.

        Only aggregates ask who states a fact; where there are none, the bare fact does.
        """
        change = self.change
        program = change.space.program
        before = program.steps
        if change.space.watched:
            with change.trial():
                _assert(change, self.assign, name, value, BatchOptions())
                change.settle()
                self.budget.spend(program.steps - before)
                yield
        else:
            with change.tx.trial():
                change.tx.assert_fact(value_atom(self.assign, name, value))
                change.tx.close()
                self.budget.spend(program.steps - before)
                yield


# --- certificates ------------------------------------------------------------------------


def verify_certificate(space: Space, certificate: object) -> Verification:
    """Does a claimed plan meet every goal, or a claimed assignment derive no conflict? Nothing is written.

    Refuses CERTIFICATE_INVALID.
    """
    if not isinstance(certificate, Mapping):
        raise Refused("CERTIFICATE_INVALID", problem="it is not an object")
    kind = certificate.get("kind")
    if kind == "plan":
        validation = plans.validate_plan(space, certificate.get("actionNodeIds", certificate.get("plan")))  # type: ignore[arg-type]
        if validation.ok:
            return Verification(True, "every step runs and every goal holds")
        step = validation.first_failure
        return Verification(False, f"these goals stay unmet: {', '.join(validation.unmet_goals)}" if step is None else f"step {step} cannot run")
    if kind == "assignment":
        return _verify_assignment(space, certificate)
    raise Refused("CERTIFICATE_INVALID", problem=f"`kind` is {kind!r}, neither plan nor assignment")


def _verify_assignment(space: Space, certificate: Mapping) -> Verification:
    rows, conflict = certificate.get("facts"), certificate.get("conflictPredicate", CONFLICT)
    if not isinstance(rows, (list, tuple)) or len(rows) > SOLVE_VARIABLES_MAX:
        raise Refused("CERTIFICATE_INVALID", problem=f"`facts` is not a list of up to {SOLVE_VARIABLES_MAX} atoms")
    _check_predicate(conflict, "conflictPredicate")
    atoms = [read_atom(row, f"facts[{place}]") for place, row in enumerate(rows)]
    with space.trial("", trial_mint(space)) as change:
        for atom in atoms:
            if atom.predicate in BUILTINS:
                raise Refused("BUILTIN_RESERVED", predicate=atom.predicate, use="stated as a fact")
            committed = ID_PREFIX + str(atom.arguments.get("var", ""))
            if committed in space.nodes and _is_value(space.nodes[committed], atom.predicate, str(atom.arguments.get("var", ""))):
                change.remove([committed])      # the claim stands in its place
            change.add(FACT, atom, label=atom.text())
        change.settle()
        if derives(space, conflict):
            found = next(atom for atom in space.program.facts(conflict) if space.program.is_derived(atom))
            return Verification(False, f"{found.text()} is derived")
    return Verification(True, f"no {conflict} is derived")
