"""Compiling: rules as layers that need no fixpoint, and the layers as plain Python.

What can be compiled is what one pass per layer computes: positive literals, naf,
comparisons, and sum, count, min, max. Layered that way the result equals the closure. The
Python that comes out stands alone: no part of this program is needed to run it. An
aggregate on the board is compiled as its definition, recomputed from the facts given.

Source  the reasoning board, "Stages and compilation".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.base.limits import SEARCH_WORK_MAX
from rulith.board.space.actions import find_action, spec_of
from rulith.board.space.nodes import HIDDEN
from rulith.board.space.pipeline import NotANumber, WorkExceeded, action_source, namespace_of, pipeline_source
from rulith.rules.builtins import BUILTINS, COMPARISONS
from rulith.rules.relations import Sign
from rulith.rules.safety import joins
from rulith.rules.strata import stratify
from rulith.rules.terms import Atom, Literal, Rule, Scalar, normalise

if TYPE_CHECKING:
    from rulith.board.space.space import Space

KINDS = ("sum", "count", "min", "max")
NOTE = "Each layer reads only the layers below it and the facts given; run top to bottom it equals the board's closure."


@dataclass(frozen=True, slots=True)
class Spec:
    """An aggregate to be recomputed: `target(out_arg=..., group_by=...)` over `source`."""

    target: str
    out_arg: str
    source: str
    kind: str = "sum"
    value_arg: str = ""
    where: tuple[str, Scalar] | None = None
    group_by: str = ""

    def as_rule(self) -> Rule:
        """What its conclusion depends on, in the shape of a rule."""
        return Rule(f"aggregate into {self.target}", self.target, (Literal(self.source, ()),), (Literal(self.target, ()),))

    def text(self) -> str:
        over = f"{self.source}.{self.value_arg}" if self.value_arg else self.source
        kept = f" where {self.where[0]} is {self.where[1]!r}" if self.where else ""
        return f"{self.kind} of {over}{kept}{f' per {self.group_by}' if self.group_by else ''} as {self.target}.{self.out_arg}"


@dataclass(frozen=True, slots=True)
class Layered:
    """What is to be compiled: one row per conclusion, lower layers first.

    rules    (layer, rule, its head)
    specs    (layer, aggregate)
    base     predicates that are read and not concluded, ascending
    """

    layers: tuple[tuple[int, tuple[str, ...]], ...]
    rules: tuple[tuple[int, Rule, Literal], ...]
    specs: tuple[tuple[int, Spec], ...]
    base: tuple[str, ...]

    @property
    def concluded(self) -> tuple[str, ...]:
        return tuple(predicate for _, predicates in self.layers for predicate in predicates)


@dataclass(frozen=True, slots=True)
class Stages:
    """base_inputs: what must be observed; groups: (depth, predicates) concluded from it, lowest first."""

    base_inputs: tuple[str, ...]
    groups: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pipeline. `source` is Python that stands alone; `run` executes it."""

    layered: Layered
    source: str
    note: str = NOTE
    _namespace: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def layers(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        return self.layered.layers

    def run(self, facts: Iterable[Atom]) -> list[Atom]:
        """What follows from these facts, in order of layers. Refuses AGGREGATE_NON_NUMERIC, resource_limit."""
        given = [(atom.predicate, dict(atom.args)) for atom in facts if not atom.negated]
        return [Atom.of(predicate, args) for predicate, args in _guarded(self._namespace["derive"], given)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compiled action did to the facts it was given."""

    applied: bool
    facts: tuple[Atom, ...]
    added: tuple[Atom, ...]
    removed: tuple[Atom, ...]
    binding: Mapping[str, Scalar]
    candidates: int


@dataclass(frozen=True, slots=True)
class CompiledAction:
    source: str
    _namespace: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def run(self, facts: Iterable[Atom], concluded: Iterable[Atom] = ()) -> Outcome:
        """Apply the first binding. `concluded` facts may be read and are never consumed. Refuses resource_limit."""
        given, fixed = ([(atom.predicate, dict(atom.args)) for atom in part if not atom.negated] for part in (facts, concluded))
        found = _guarded(self._namespace["apply"], given, fixed)
        kept, added, removed = (tuple([Atom.of(p, args) for p, args in found[name]]) for name in ("facts", "added", "removed"))
        return Outcome(found["applied"], kept, added, removed, found["binding"], found["candidates"])


def _guarded(function: Any, *given: Any) -> Any:
    try:
        return function(*given, work_max=SEARCH_WORK_MAX)
    except WorkExceeded:
        raise Refused("resource_limit", what="the join steps of a compiled run", value=f"more than {SEARCH_WORK_MAX}", limit=SEARCH_WORK_MAX) from None
    except NotANumber as wrong:
        predicate, args, name = wrong.args
        raise Refused("AGGREGATE_NON_NUMERIC", where="compile", atom=Atom.of(predicate, args).text(), arg=name) from None


# --- layers ------------------------------------------------------------------------------


def board_rules(space: Space) -> list[Rule]:
    return [node.semantic for node in space.axioms() if isinstance(node.semantic, Rule)]


def board_specs(space: Space) -> list[Spec]:
    """The board's own aggregates as definitions, in board order."""
    families = sorted(space.families, key=lambda family: min(space.nodes[i].seq for i in space.family_nodes[family]))
    found = []
    for family in families:
        it = space.families[family].definition
        found.append(Spec(it.into, it.into_arg, it.source, it.kind, it.value_arg, it.where, it.group_by))
    return found


def read_specs(rows: object) -> list[Spec]:
    """`{target, outArg, source, valueArg?, kind?, where?, groupBy?}` each. Refuses NOT_COMPILABLE."""
    if rows is None:
        return []
    if not isinstance(rows, (list, tuple)):
        raise _outside("`aggregates`", "it is not a list")
    return [_read_spec(row, f"aggregates[{place}]") for place, row in enumerate(rows)]


def _read_spec(row: object, where: str) -> Spec:
    if not isinstance(row, Mapping):
        raise _outside(where, "it is not an object")
    texts = {name: row.get(name) for name in ("target", "outArg", "source", "valueArg", "groupBy")}
    for name, value in texts.items():
        needed = name in ("target", "outArg", "source")
        if value is None and not needed:
            texts[name] = ""
        elif not isinstance(value, str) or not value:
            raise _outside(where, f"`{name}` is not a name")
    chosen = row.get("where")
    if chosen is not None and not (isinstance(chosen, Mapping) and isinstance(chosen.get("arg"), str) and "equals" in chosen):
        raise _outside(where, "`where` has no `arg` and `equals`")
    kept = None if chosen is None else (chosen["arg"], normalise(chosen["equals"], f"{where} where.equals"))
    return Spec(texts["target"], texts["outArg"], texts["source"], row.get("kind") or "sum", texts["valueArg"], kept, texts["groupBy"])  # type: ignore[arg-type]


def _outside(what: str, problem: str) -> Refused:
    return Refused("NOT_COMPILABLE", what=what, problem=problem)


class _Graph:
    """What each predicate is concluded from, by sign."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = list(rules)
        self.component = stratify(self.rules)       # equal numbers: one depends on the other and back
        self.needs: dict[Sign, dict[Sign, None]] = {}
        for rule in self.rules:
            for head in rule.then:
                needs = self.needs.setdefault((head.predicate, head.negated), {})
                needs.update({(lit.predicate, lit.negated): None for lit in rule.when if lit.predicate not in BUILTINS})
        self.depth: dict[Sign, int] = {}
        members: dict[int, list[Sign]] = {}
        for sign, number in self.component.items():
            members.setdefault(number, []).append(sign)
        for number in sorted(members):      # a component's needs come before it
            below = [self.depth.get(need, 0) for sign in members[number] for need in self.needs[sign] if self.component.get(need) != number]
            self.depth.update(dict.fromkeys(members[number], 1 + max(below, default=0)))

    def ancestors(self, predicate: str) -> dict[Sign, None]:
        """The predicate and all it rests on, through both signs of its own."""
        found = dict.fromkeys([(predicate, False), *([(predicate, True)] if (predicate, True) in self.needs else [])])
        work = list(found)
        while work:
            for need in self.needs.get(work.pop(), ()):
                if need not in found:
                    found[need] = None
                    work.append(need)
        return found

    def recursive(self, sign: Sign) -> bool:
        return any(self.component.get(need) == self.component[sign] for need in self.needs[sign])


def stages(space: Space, goal: str) -> Stages:
    """What must be observed for a predicate, and in which order the rest is concluded."""
    graph = _Graph([*board_rules(space), *(spec.as_rule() for spec in board_specs(space))])
    depth: dict[str, int] = {}
    for sign in graph.ancestors(goal):
        depth[sign[0]] = max(depth.get(sign[0], 0), graph.depth.get(sign, 0))
    return Stages(tuple(sorted(name for name, at in depth.items() if at == 0)), _grouped(depth))


def _grouped(depth: Mapping[str, int]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    return tuple((at, tuple(sorted(name for name, its in depth.items() if its == at))) for at in sorted(set(depth.values()) - {0}))


def layered(space: Space, goal: str | None = None, aggregates: object = None) -> Layered:
    """What the goal needs (or everything), in layers. Refuses NOT_COMPILABLE naming the first rule that does not fit."""
    specs = [*board_specs(space), *read_specs(aggregates)]
    try:
        graph = _Graph([*board_rules(space), *(spec.as_rule() for spec in specs)])
    except Refused as refused:
        raise _outside("the aggregates", refused.happened) from None
    needed = graph.ancestors(goal) if goal is not None else None
    kept = [(rule, head) for rule in board_rules(space) for head in rule.then
            if needed is None or (head.predicate, head.negated) in needed]
    for rule, head in kept:
        _check_rule(rule, head, graph)
    specs = [spec for spec in specs if needed is None or (spec.target, False) in needed]
    _check_specs(specs, {head.predicate for _, head in kept}, graph)
    concluded = {head.predicate: graph.depth[head.predicate, False] for _, head in kept}
    concluded.update({spec.target: graph.depth[spec.target, False] for spec in specs})
    read = {literal.predicate for rule, _ in kept for literal in rule.when if literal.predicate not in BUILTINS}
    read.update(spec.source for spec in specs)
    rows = sorted(((concluded[head.predicate], rule, head) for rule, head in kept), key=lambda row: row[0])
    totals = sorted(((concluded[spec.target], spec) for spec in specs), key=lambda row: row[0])
    return Layered(_grouped(concluded), tuple(rows), tuple(totals), tuple(sorted(read - set(concluded))))


def _check_rule(rule: Rule, head: Literal, graph: _Graph) -> None:
    what = f"rule {rule.id}"
    _check_body(rule.when, what)
    if head.negated:
        raise _outside(what, f"it concludes {head.text()}, a strong negation")
    if graph.recursive((head.predicate, False)):
        raise _outside(what, f"{head.predicate} depends on itself, and recursion takes a fixpoint")


def _check_body(body: Sequence[Literal], what: str) -> None:
    for literal in body:
        if literal.predicate in BUILTINS:
            if literal.predicate not in COMPARISONS:
                raise _outside(what, f"{literal.text()} computes a value")
            if literal.naf or literal.negated:
                raise _outside(what, f"{literal.text()} negates a builtin")
        elif literal.negated:
            raise _outside(what, f"{literal.text()} is a strong negation")


def _check_specs(specs: Iterable[Spec], heads: set[str], graph: _Graph) -> None:
    seen: set[str] = set()
    for spec in specs:
        what = f"the aggregate into {spec.target}"
        if spec.kind not in KINDS:
            raise _outside(what, f"`kind` is {spec.kind!r}, none of {', '.join(KINDS)}")
        if spec.kind != "count" and not spec.value_arg:
            raise _outside(what, f"{spec.kind} needs `valueArg`")
        if spec.group_by == spec.out_arg:
            raise _outside(what, f"the total and the group are both {spec.out_arg}")
        if spec.target in heads:
            raise _outside(what, f"rules conclude {spec.target} as well")
        if spec.target in seen:
            raise _outside(what, f"another aggregate concludes {spec.target} as well")
        if spec.target in BUILTINS or spec.source in BUILTINS or HIDDEN in (spec.target, spec.source):
            raise _outside(what, "it names a builtin")
        if graph.recursive((spec.target, False)):
            raise _outside(what, f"{spec.target} depends on itself")
        seen.add(spec.target)


# --- pipelines ---------------------------------------------------------------------------


def compile_pipeline(space: Space, goal: str | None = None, aggregates: object = None) -> Compiled:
    """The board's rules as a layered program. Refuses NOT_COMPILABLE."""
    it = layered(space, goal, aggregates)
    source = pipeline_source(it)
    return Compiled(it, source, NOTE, namespace_of(source))


def stated_facts(space: Space) -> list[Atom]:
    """The positive facts that are stated on the board, in board order: what a pipeline starts from."""
    stated = [atom for atom in space.supports if not atom.negated]
    return sorted(stated, key=lambda atom: min(space.nodes[i].seq for i in space.supports[atom]))


def concluded_facts(space: Space) -> list[Atom]:
    """The positive facts that hold and are not stated."""
    return [atom for atom in space.program.derived() if not atom.negated and atom not in space.supports and atom.predicate != HIDDEN]


def compile_action(space: Space, node_id: object) -> CompiledAction:
    """An action as a function from facts to facts. Refuses NODE_NOT_FOUND, NODE_NOT_ACTION, NOT_COMPILABLE."""
    node = find_action(space, node_id)
    spec = spec_of(node)
    _check_body(spec.preconditions, f"action {node.id}")
    assert all(joins(literal) or literal.naf or literal.predicate in COMPARISONS for literal in spec.preconditions)
    source = action_source(spec)
    return CompiledAction(source, namespace_of(source))
