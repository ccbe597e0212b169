"""Calls in the corpus format: a name and arguments in, plain data out.

`rulith board run` and the tests play files through these; what a call does is decided in
the module that owns it. A Calls keeps what one file refers back to: the revision that was
saved, the look that was marked, the capsule that was distilled.

Source  the board corpus, "Batches".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.base.limits import SLICE_FACTS, SLICE_FINDINGS
from rulith.board.space import actions, compile, outcome, plans, slices, solver, sql, tiers, whys
from rulith.board.space.nodes import BatchOptions, Mint
from rulith.board.space.rehearsal import Step
from rulith.board.space.space import Space
from rulith.rules.terms import Atom, read_atom, read_literal

if TYPE_CHECKING:
    from rulith.board.space.nodes import FactView

Args = Mapping[str, Any]


class Calls:
    """The calls on one Space."""

    def __init__(self, space: Space, options: BatchOptions = BatchOptions(), *, at: str, mint: Mint) -> None:
        self.space = space
        self.options = options
        self.at = at
        self.mint = mint
        self.saved: str | None = None
        self.marked: slices.Mark = {}
        self.capsule: Mapping[str, Any] | None = None

    def run(self, name: object, args: object = None) -> Any:
        """The `result` of a call, None where it has none. Refuses CALL_UNKNOWN, CALL_INVALID, and what the call refuses."""
        call = CALLS.get(name) if isinstance(name, str) else None
        if call is None:
            raise Refused("CALL_UNKNOWN", call=str(name)[:80], known=", ".join(CALLS))
        if args is not None and not isinstance(args, Mapping):
            raise Refused("CALL_INVALID", call=name, problem="its `args` are not an object")
        return call(self, {} if args is None else args)

    def outcome(self, name: object, args: object = None) -> dict[str, Any]:
        """The step outcome of a call, without its state."""
        try:
            result = self.run(name, args)
        except Refused as refused:
            return outcome.rejected(refused)
        return {"status": "ok"} if result is None else {"status": "ok", "result": result}

    # --- actions -------------------------------------------------------------------------

    def apply_action(self, args: Args) -> dict[str, Any]:
        found = actions.apply_action(self.space, args.get("actionNodeId"), self._revision(args), at=self.at, mint=self.mint)
        row = {"applied": found.applied, **_match(found.match), "produced": _atoms(found.produced),
               "consumed": _atoms(found.consumed), "satisfiedGoals": list(found.satisfied_goals)}
        return row if found.applied else {**row, **_failure(found.match)}

    def _revision(self, args: Args) -> str | None:
        expected = args.get("expectedRevision")
        if expected == "@saved":
            return self.saved
        if expected == "@current":
            return actions.revision(self.space)
        if expected is not None and not isinstance(expected, str):
            raise Refused("CALL_INVALID", call="apply_action", problem="`expectedRevision` is not a text")
        return expected

    def simulate_action(self, args: Args) -> dict[str, Any]:
        found = actions.simulate_action(self.space, args.get("actionNodeId"))
        self.saved = found.revision
        row: dict[str, Any] = {
            "applicable": found.applicable, **_match(found.match),
            "wouldAssert": _atoms(found.would_assert), "wouldDelete": _atoms(found.would_delete),
            "newDerived": _atoms(found.new_derived), "lostDerived": _atoms(found.lost_derived),
            "wouldSatisfyGoals": list(found.would_satisfy),
            "hypotheses": [{"id": node_id, "status": actions.verdict_text(status)} for node_id, status in found.hypotheses],
            "contradictions": _atoms(found.contradictions),
        }
        if not found.match.holds:
            row.update(_failure(found.match))
        return {**row, "unsatisfied": [], "baselineProtected": True} if found.protected else row

    def revision_save(self, args: Args) -> None:
        self.saved = actions.revision(self.space)

    def revision_same(self, args: Args) -> dict[str, Any]:
        return {"same": self.saved == actions.revision(self.space)}

    # --- plans and solutions -------------------------------------------------------------

    def validate_plan(self, args: Args) -> dict[str, Any]:
        return _validation(plans.validate_plan(self.space, args.get("actionNodeIds")))  # type: ignore[arg-type]

    def apply_plan(self, args: Args) -> dict[str, Any]:
        found = plans.apply_plan(self.space, args.get("actionNodeIds"), args.get("requireGoals") is True, at=self.at, mint=self.mint)  # type: ignore[arg-type]
        return {"applied": found.applied, "appliedActions": [each.action_id for each in found.applications],
                "failedIndex": found.failed_index, "validation": _validation(found.validation)}

    def suggest_plan_repairs(self, args: Args) -> dict[str, Any]:
        found = plans.suggest_repairs(self.space, args.get("actionNodeIds"), args.get("maxDepth"), args.get("maxActions"))  # type: ignore[arg-type]
        repairs = [{"plan": list(r.plan), "inserted": list(r.inserted), "validates": r.validates} for r in found.repairs]
        failed = None if found.failed is None else outcome.atom_json(found.failed)
        return {"failedIndex": found.failed_index, "failedPrecondition": failed, "repairs": repairs, "hasNote": found.note is not None}

    def plan_to_goal(self, args: Args) -> dict[str, Any]:
        found = plans.plan_to_goal(self.space, args.get("maxDepth"), args.get("maxBeam"))
        return {"found": found.found, "plan": list(found.plan), "hasNote": found.note is not None}

    def solve(self, args: Args) -> dict[str, Any]:
        found = solver.solve(
            self.space, args.get("variables"), args.get("conflictPredicate", solver.CONFLICT), args.get("assignPredicate", solver.ASSIGN),
            args.get("maxNodes", solver.SOLVE_NODES_MAX), args.get("commit", True) is True, self.options, at=self.at, mint=self.mint)
        if not found.sat:
            return {"sat": False, "reason": found.reason, "nodes": found.nodes}
        return {"sat": True, "assignment": dict(found.assignment), "nodes": found.nodes, "committed": found.committed}

    def verify_certificate(self, args: Args) -> dict[str, Any]:
        return {"verified": solver.verify_certificate(self.space, args.get("certificate")).verified}

    # --- why -----------------------------------------------------------------------------

    def explain_fact(self, args: Args) -> dict[str, Any]:
        mode = args.get("mode", "why")
        if mode == "why":
            return _plain(outcome.proof_tree(whys.why(self.space, args["factNodeId"] if "factNodeId" in args else _fact(args, "explain_fact"))))
        pattern = whys.pattern_of(self.space, args["factNodeId"]) if "factNodeId" in args else read_literal(args.get("fact"), "explain_fact fact")
        if mode == "why_not":
            return whys.why_not_json(whys.why_not(self.space, pattern))
        if mode == "what_if":
            return whys.what_if_json(whys.what_if(self.space, pattern))
        raise Refused("CALL_INVALID", call="explain_fact", problem="`mode` is none of why, why_not, what_if")

    def grounding(self, args: Args) -> dict[str, Any]:
        attested = self.options.attested | frozenset(_names(args, "attestedPredicates", "grounding"))
        return tiers.grounding(self.space, _fact(args, "grounding"), attested).json()

    def trust_inversions(self, args: Args) -> list[dict[str, Any]]:
        attested = self.options.attested | frozenset(_names(args, "attestedPredicates", "trust_inversions"))
        return [inversion.json() for inversion in tiers.inversions(self.space, attested)]

    # --- parts of the board --------------------------------------------------------------

    def slice(self, args: Args) -> dict[str, Any]:
        facts, findings = _count(args, "maxFacts", SLICE_FACTS), _count(args, "maxFindings", SLICE_FINDINGS)
        found = slices.slice_facts(self.space, facts, findings, _names(args, "pinPredicates", "slice"))
        return {"facts": _views(found.facts), "findings": _views(found.findings),
                "stats": {"facts": len(found.facts), "findings": len(found.findings)}}

    def mark(self, args: Args) -> None:
        self.marked = slices.mark(self.space)

    def diff_since_mark(self, args: Args) -> dict[str, Any]:
        found = slices.diff(self.marked, self.space)
        return {"added": [[outcome.atom_json(view.atom), view.marker] for view in found.added],
                "changed": [[outcome.atom_json(view.atom), view.marker] for view in found.changed],
                "removed": _views(found.removed)}

    def graph(self, args: Args) -> list[list[str]]:
        return [list(edge) for edge in slices.graph(self.space).edges]

    def distill_space(self, args: Args) -> dict[str, Any]:
        self.capsule = slices.distil(self.space)
        return {"axioms": [row["id"] for row in self.capsule["axioms"]], "results": [row["label"] for row in self.capsule["results"]],
                "vocabulary": self.capsule["vocabulary"]}

    def seed_new_board(self, args: Args) -> dict[str, Any]:
        board = Space("seeded", "seeded", limits=self.space.limits, at=self.at)
        capsule = args.get("capsule", self.capsule)
        found = slices.seed(board, capsule, self.options.attested, at=self.at, mint=self.mint)
        board.apply(args.get("operations", []), self.options, at=self.at, mint=self.mint)
        return {"seeded": list(found.planted), "skipped": len(found.skipped), "vocabulary": list(found.vocabulary),
                "state": outcome.state(board)}

    # --- stages and compilation ----------------------------------------------------------

    def stages(self, args: Args) -> dict[str, Any]:
        goal = _goal(args, "stages")
        if goal is None:
            raise Refused("CALL_INVALID", call="stages", problem="`goalPredicate` is missing")
        found = compile.stages(self.space, goal)
        return {"baseInputs": list(found.base_inputs), "groups": _layers(found.groups)}

    def compile(self, args: Args) -> dict[str, Any]:
        found = compile.compile_pipeline(self.space, _goal(args, "compile"), args.get("aggregates"))
        derived = found.run(compile.stated_facts(self.space))
        return {"layers": _layers(found.layers), "derived": [[atom.predicate, dict(atom.args)] for atom in derived]}

    def compile_action(self, args: Args) -> dict[str, Any]:
        compiled = compile.compile_action(self.space, args.get("actionNodeId"))
        found = compiled.run(compile.stated_facts(self.space), compile.concluded_facts(self.space))
        return {"applied": found.applied, "added": _atoms(found.added), "removed": _atoms(found.removed),
                "binding": dict(found.binding), "candidates": found.candidates}

    def compile_sql(self, args: Args) -> dict[str, Any]:
        found = sql.compile_sql(self.space, _goal(args, "compile_sql"), args.get("aggregates"), args.get("dialect", sql.STANDARD))
        row: dict[str, Any] = {
            "layers": _layers(found.layers),
            "baseTables": [{"predicate": t.predicate, "columns": list(t.columns), **({} if t.name == t.predicate else {"table": t.name})}
                           for t in found.tables],
            "views": [{"predicate": v.predicate, "columns": list(v.columns), "layer": v.layer} for v in found.views],
        }
        if found.column_types:
            row["columnTypes"] = {predicate: dict(types) for predicate, types in found.column_types.items()}
        return row


CALLS: dict[str, Callable[[Calls, Args], Any]] = {
    name: getattr(Calls, name) for name in (
        "apply_action", "simulate_action", "revision_save", "revision_same", "validate_plan", "apply_plan", "suggest_plan_repairs",
        "plan_to_goal", "solve", "verify_certificate", "explain_fact", "grounding", "trust_inversions", "slice", "mark",
        "diff_since_mark", "graph", "distill_space", "seed_new_board", "stages", "compile", "compile_action", "compile_sql",
    )
}


# --- reading and writing -----------------------------------------------------------------


def _fact(args: Args, call: str) -> Atom:
    if "fact" not in args:
        raise Refused("CALL_INVALID", call=call, problem="it names no `fact`")
    return read_atom(args["fact"], f"{call} fact")


def _names(args: Args, name: str, call: str) -> list[str]:
    found = args.get(name, [])
    if not isinstance(found, (list, tuple)) or not all(isinstance(each, str) for each in found):
        raise Refused("CALL_INVALID", call=call, problem=f"`{name}` is not a list of names")
    return list(found)


def _count(args: Args, name: str, default: int) -> int:
    value = args.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused("CALL_INVALID", call="slice", problem=f"`{name}` is not a whole number from 0 on")
    return value


def _goal(args: Args, call: str) -> str | None:
    goal = args.get("goalPredicate")
    if goal is not None and (not isinstance(goal, str) or not goal):
        raise Refused("CALL_INVALID", call=call, problem="`goalPredicate` is not the name of a predicate")
    return goal


def _atoms(atoms: Iterable[Any]) -> list[dict[str, Any]]:
    return [outcome.atom_json(atom) for atom in atoms]


def _views(views: Iterable[FactView]) -> list[dict[str, Any]]:
    return [outcome.atom_json(view.atom) for view in views]


def _layers(groups: Iterable[tuple[int, tuple[str, ...]]]) -> list[list[Any]]:
    return [[at, list(predicates)] for at, predicates in groups]


def _match(match: actions.Match) -> dict[str, Any]:
    return {"binding": dict(match.binding), "candidates": match.candidates}


def _failure(match: actions.Match) -> dict[str, Any]:
    assert match.failed is not None
    return {"unsatisfied": _atoms(match.unsatisfied), "failedPrecondition": outcome.atom_json(match.failed)}


def _plain(tree: dict[str, Any]) -> dict[str, Any]:
    """A proof without what the format has no name for."""
    found = {name: value for name, value in tree.items() if name != "rounded"}
    return {**found, "from": [_plain(lower) for lower in tree["from"]]} if "from" in tree else found


def _step(step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {"action": step.action_id, "applicable": step.applicable}
    if step.failed is not None:
        row.update(failedPrecondition=outcome.atom_json(step.failed), unsatisfied=_atoms(step.unsatisfied))
    if step.problem is not None:
        row["problem"] = step.problem
    return row


def _validation(it: plans.Validation) -> dict[str, Any]:
    return {"ok": it.ok, "steps": [_step(step) for step in it.steps], "firstFailureIndex": it.first_failure,
            "satisfiedGoals": list(it.satisfied_goals), "unmetGoals": list(it.unmet_goals),
            "shortestPrefix": it.shortest_prefix, "redundant": list(it.redundant)}
