"""Each tool of `rulith board`, from arguments that were checked to an answer.

What changes a Board goes through board_acts.py and is committed; here are the reads and
the words.

Source  the published tool surface; the reasoning board, "MCP tools".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.base.limits import SLICE_FACTS, SLICE_FINDINGS
from rulith.board.space import actions, context, critique, outcome, plans, slices, solver, tiers
from rulith.board.space.nodes import shown_refs
from rulith.board.space.operations import BatchResult
from rulith.board.space.space import Space
from rulith.gateway import board_explain
from rulith.gateway.board_answers import told
from rulith.gateway.board_store import Boards
from rulith.gateway.board_tools import Tool, check_arguments
from rulith.rules.terms import Atom, scalar_text

DEFAULT_SPACE = "main"      # the Board that comes about when a host writes without having made one
WHOLE_FACTS_MAX = 500       # a larger Board is not told whole after each write: a write costs what it changes
DERIVED_LISTED_MAX = 2_000  # conclusions of one batch that are made into atoms to list the first of them
LISTED = 20                 # atoms or ids in one line of an answer
MORE = "read the rest with get_logic_context and pinPredicates, or explain_fact"

Args = Mapping[str, Any]


def run(boards: Boards, tool: Tool, arguments: object) -> dict[str, Any]:
    """The result of a tool call. Raises Refused."""
    args = check_arguments(tool, arguments)
    text, data = _CALLS[tool.name](boards, args)
    return told(text, data, args, MORE)


# --- which Board -------------------------------------------------------------------------


def _target(boards: Boards, args: Args) -> tuple[str, bool]:
    """The id of the Board meant, and whether it is yet to be made. Raises SPACE_NOT_FOUND, SPACE_AMBIGUOUS."""
    wanted, known = args.get("spaceId"), list(boards.spaces)
    if wanted is not None:
        if wanted not in boards.spaces and (known or wanted != DEFAULT_SPACE):
            instead = f"There are: {shown_refs(known)}." if known else "Make it with create_space, or leave spaceId out."
            raise Refused("SPACE_NOT_FOUND", space=str(wanted)[:80], instead=instead)
        return wanted, wanted not in boards.spaces
    if len(known) > 1:
        raise Refused("SPACE_AMBIGUOUS", count=len(known), known=shown_refs(known))
    return (known[0], False) if known else (DEFAULT_SPACE, True)


def _space(boards: Boards, args: Args) -> Space:
    """The Board to read; where none was made yet, an empty one that is not kept."""
    space_id, is_new = _target(boards, args)
    return Space(space_id, space_id, (), boards.limits) if is_new else boards.spaces[space_id]


def _act(boards: Boards, call: str, args: Args, keep: Sequence[str]) -> tuple[Space, Any]:
    """Run an act with the arguments that matter to it, and commit."""
    space_id, is_new = _target(boards, args)
    result = boards.change(space_id, call, {name: args[name] for name in keep if name in args}, make=is_new)
    return boards.spaces[space_id], result


# --- Boards ------------------------------------------------------------------------------


def _create_space(boards: Boards, args: Args) -> tuple[str, dict]:
    space, seeded = boards.make({name: args[name] for name in ("id", "title", "scopes", "seedFromSpaceId") if name in args})
    text, data = f"{space.id}: {space.title}", {"spaceId": space.id, "title": space.title, "scopes": list(space.scopes)}
    if seeded is not None:
        text += f"\nseeded {len(seeded.planted)} rule(s) from {seeded.source}: {shown_refs(seeded.planted, LISTED) or 'none'}"
        text += "".join(f"\nskipped {rule_id}: {why}" for rule_id, why in seeded.skipped[:LISTED])
        text += f"\nvocabulary: {', '.join(seeded.vocabulary) or 'none'}"
        data.update(seeded=list(seeded.planted), skipped=[list(row) for row in seeded.skipped], vocabulary=list(seeded.vocabulary))
    return text, data


def _list_spaces(boards: Boards, args: Args) -> tuple[str, dict]:
    rows = [{"spaceId": space.id, "title": space.title, "scopes": list(space.scopes)} for space in boards.spaces.values()]
    return "\n".join(f"{row['spaceId']}: {row['title']}" for row in rows) or "no spaces", {"spaces": rows}


def _distill(boards: Boards, args: Args) -> tuple[str, dict]:
    capsule = slices.distil(_space(boards, args))
    return compact_json(capsule), capsule


# --- writing and reading -----------------------------------------------------------------


def _update(boards: Boards, args: Args) -> tuple[str, dict]:
    space, result = _act(boards, "update_working_memory", args, ("operations",))
    lines = [f"warning{'' if w.index is None else f' operations[{w.index}]'} [{w.code}]: {w.text}" for w in result.warnings]
    lines.append(f"applied {len(result.operations)} operation(s); derived +{result.added_count}/-{result.removed_count} fact(s)")
    made = [f"{row.index} {row.op}: {', '.join(row.node_ids)}" for row in result.operations if row.node_ids][:LISTED]
    if made and len(result.operations) <= LISTED:
        lines.append(f"nodes: {'; '.join(made)}")
    gone = [node_id for row in result.operations for node_id in row.retracted]
    if gone:
        lines.append(f"removed: {shown_refs(gone, LISTED)}")
    data = {**_batch_data(result), "workingMemory": _context_data(space, {})} if args.get("format") == "json" else {}
    return "\n".join([*lines, "", _after_text(space, _touched(space, result))]), data


def _touched(space: Space, result: BatchResult) -> Iterator[Atom]:
    """The facts that a batch stated, then those that follow from it, where they are few enough to be listed."""
    ids = [node_id for row in result.operations for node_id in row.node_ids][:LISTED]
    yield from (node.semantic for node_id in ids if (node := space.nodes.get(node_id)) is not None and isinstance(node.semantic, Atom))
    if result.added_count <= DERIVED_LISTED_MAX:
        yield from result.derived_changes()[0][:LISTED]


def _after_text(space: Space, touched: Iterable[Atom]) -> str:
    """The Board after a change: all of it while it is small, else what the change touched."""
    try:
        if space.program.base_count + space.program.derived_count <= WHOLE_FACTS_MAX:
            return _context_text(space, {})
        return context.brief(space, touched)
    except Refused as refusal:      # only showing it failed: the change is made, and no answer may say otherwise
        return f"the Board cannot be shown: {refusal.happened}"


def _batch_data(result: BatchResult) -> dict[str, Any]:
    added, removed = result.derived_changes()
    return {
        "operationResults": [{"index": row.index, "op": row.op, "nodeIds": list(row.node_ids), "retractedNodeIds": list(row.retracted)}
                             for row in result.operations],
        "semanticRuleApplication": {
            "addedFacts": [atom.text() for atom in added[:LISTED]], "addedCount": len(added),
            "removedFacts": [atom.text() for atom in removed[:LISTED]], "removedCount": len(removed),
            "appliedRuleNodeIds": result.applied_rules(), "satisfiedGoalNodeIds": list(result.satisfied_goals),
            "hypothesisUpdates": {node_id: actions.verdict_text(status) for node_id, status in result.hypothesis_updates.items()}},
        "warnings": [{"index": w.index, "code": w.code, "text": w.text} for w in result.warnings],
    }


def _get_context(boards: Boards, args: Args) -> tuple[str, dict]:
    space = _space(boards, args)
    return _context_text(space, args), _context_data(space, args) if args.get("format") == "json" else {}


def _views(space: Space, args: Args) -> slices.Slice:
    return slices.slice_facts(space, args.get("maxFacts", SLICE_FACTS), SLICE_FINDINGS, args.get("pinPredicates", ()))


def _context_text(space: Space, args: Args) -> str:
    views = _views(space, args).views
    return context.text(space, views, max(context.SECTION_LINES_MAX, len(views)))


def _context_data(space: Space, args: Args) -> dict[str, Any]:
    found = context.data(space)
    shown = {view.node_id for view in _views(space, args).views}
    for name in ("facts", "findings"):
        kept = [row for row in found[name] if row["nodeId"] in shown]
        if len(kept) < len(found[name]):
            found.setdefault("truncated", {})[name] = len(found[name]) - len(kept)
        found[name] = kept
    return {**found, "revision": actions.revision(space)}


def _explain(boards: Boards, args: Args) -> tuple[str, dict]:
    return board_explain.explain(_space(boards, args), args)


def _critique(boards: Boards, args: Args) -> tuple[str, dict]:
    space = _space(boards, args)
    remarks, inversions = critique.remarks(space), tiers.inversions(space)
    lines = [f"[{remark.kind}] {remark.node_id}: {remark.text}" for remark in remarks]
    lines += [f"[trust_inversion] {row.witness}: it stands on {row.actual}, and {row.scope} asks for {row.required}" for row in inversions]
    data = {"critique": [{"kind": r.kind, "nodeId": r.node_id, "message": r.text} for r in remarks],
            "trustInversions": [row.json() for row in inversions]}
    return "\n".join(lines) or "nothing to remark: the Board looks healthy", data


# --- actions -----------------------------------------------------------------------------


def _atoms(found: Iterable[Atom]) -> str:
    atoms = [atom.text() for atom in found]
    return shown_refs(atoms, LISTED) if atoms else "none"


def _binding(match: actions.Match) -> str:
    shown = ", ".join(f"?{name}={scalar_text(value)}" for name, value in match.binding.items()) or "none needed"
    return f"binding: {shown}" + (f"  (first of {match.candidates}; request_action takes args to choose)" if match.candidates > 1 else "")


def _blocked(match: actions.Match) -> list[str]:
    assert match.failed is not None
    lines = [f"failed precondition: {match.failed.text()}"]
    if match.unsatisfied:
        lines.append(f"no fact meets: {', '.join(literal.text() for literal in match.unsatisfied)}")
    if match.failed.negated:
        lines.append("it asks for the stated opposite; where absence is meant, write naf:true instead of negated:true")
    return lines


def _match_data(match: actions.Match) -> dict[str, Any]:
    found: dict[str, Any] = {"binding": dict(match.binding), "candidates": match.candidates}
    if match.failed is not None:
        found["failedPrecondition"] = outcome.atom_json(match.failed)
        found["unsatisfied"] = [outcome.atom_json(literal) for literal in match.unsatisfied]
    return found


def _simulate(boards: Boards, args: Args) -> tuple[str, dict]:
    found = actions.simulate_action(_space(boards, args), args["actionNodeId"])
    data = {
        "actionNodeId": found.action_id, "applicable": found.applicable, **_match_data(found.match), "boardRevision": found.revision,
        "addedAtoms": [outcome.atom_json(a) for a in found.would_assert], "removedAtoms": [outcome.atom_json(a) for a in found.would_delete],
        "newDerivedAtoms": [outcome.atom_json(a) for a in found.new_derived], "lostDerivedAtoms": [outcome.atom_json(a) for a in found.lost_derived],
        "wouldSatisfyGoals": list(found.would_satisfy), "contradictions": [outcome.atom_json(a) for a in found.contradictions],
        "hypotheses": {node_id: actions.verdict_text(status) for node_id, status in found.hypotheses},
    }
    lines = [f"{found.action_id}: {'applicable' if found.applicable else 'not applicable'}", f"revision: {found.revision}"]
    if found.protected is not None:
        data["baselineProtected"] = found.protected
        lines.append(f"protected: {found.protected}")
    elif not found.applicable:
        lines += _blocked(found.match)
    else:
        lines += [_binding(found.match), f"would produce: {_atoms(found.would_assert)}", f"would consume: {_atoms(found.would_delete)}",
                  f"would derive: {_atoms(found.new_derived)}", f"would lose: {_atoms(found.lost_derived)}",
                  f"goals that would hold: {shown_refs(found.would_satisfy, LISTED) or 'none'}"]
        if found.contradictions:
            lines.append(f"contradictions: {_atoms(found.contradictions)}")
    return "\n".join(lines), data


def _application(space: Space, found: actions.Application) -> tuple[str, dict]:
    data = {"actionNodeId": found.action_id, "action": found.name, "applied": found.applied, **_match_data(found.match)}
    if not found.applied:
        return "\n".join([f"{found.name} was not applied; nothing was written", *_blocked(found.match)]), data
    data.update(produced=[outcome.atom_json(a) for a in found.produced], consumed=[outcome.atom_json(a) for a in found.consumed],
                addedNodeIds=list(found.added_ids), archivedNodeIds=list(found.archived_ids), eventNodeId=found.event_id,
                satisfiedGoalNodeIds=list(found.satisfied_goals), boardRevision=actions.revision(space))
    lines = [f"applied {found.name}: produced {_atoms(found.produced)}; consumed {_atoms(found.consumed)}; "
             f"derived +{found.derived_added}/-{found.derived_removed} fact(s)", _binding(found.match),
             f"goals that hold: {shown_refs(found.satisfied_goals, LISTED) or 'none'}"]
    return "\n".join([*lines, "", _after_text(space, found.produced)]), data


def _apply_action(boards: Boards, args: Args) -> tuple[str, dict]:
    return _application(*_act(boards, "apply_action", args, ("actionNodeId", "expectedRevision")))


def _request_action(boards: Boards, args: Args) -> tuple[str, dict]:
    return _application(*_act(boards, "request_action", args, ("action", "args")))


# --- plans and solutions -----------------------------------------------------------------


def _validation(found: plans.Validation) -> tuple[list[str], dict[str, Any]]:
    lines = [f"plan {'ok' if found.ok else 'not ok'}: {len(found.steps)} step(s) tried"]
    for index, step in enumerate(found.steps):
        why = "" if step.applicable else f": {step.failed.text() if step.failed is not None else step.problem}"
        lines.append(f"  {index} {step.action_id} [{'applies' if step.applicable else 'does not apply'}]{why}")
    lines.append(f"goals met: {shown_refs(found.satisfied_goals, LISTED) or 'none'}; unmet: {shown_refs(found.unmet_goals, LISTED) or 'none'}")
    if found.redundant:
        lines.append(f"all goals hold after {found.shortest_prefix} step(s); steps {', '.join(map(str, found.redundant))} are not needed")
    data = {"ok": found.ok, "steps": [{"actionNodeId": step.action_id, "applicable": step.applicable} for step in found.steps],
            "firstFailureIndex": found.first_failure, "satisfiedGoals": list(found.satisfied_goals), "unmetGoals": list(found.unmet_goals),
            "shortestPrefixLength": found.shortest_prefix, "redundantStepIndices": list(found.redundant)}
    return lines, data


def _validate_plan(boards: Boards, args: Args) -> tuple[str, dict]:
    lines, data = _validation(plans.validate_plan(_space(boards, args), args["actionNodeIds"]))
    return "\n".join(lines), data


def _apply_plan(boards: Boards, args: Args) -> tuple[str, dict]:
    space, found = _act(boards, "apply_plan", args, ("actionNodeIds", "requireGoals"))
    lines, validation = _validation(found.validation)
    data = {"applied": found.applied, "appliedActions": [each.action_id for each in found.applications],
            "failedIndex": found.failed_index, "validation": validation}
    if not found.applied:
        return "\n".join(["the plan was not applied; nothing was written", *lines]), data
    produced = [atom for each in found.applications for atom in each.produced]
    return "\n".join([f"applied {len(found.applications)} action(s)", *lines, "", _after_text(space, produced)]), data


def _repairs(boards: Boards, args: Args) -> tuple[str, dict]:
    found = plans.suggest_repairs(_space(boards, args), args["actionNodeIds"], args.get("maxDepth"), args.get("maxActions"))
    lines = [f"step {found.failed_index} fails{f' on {found.failed.text()}' if found.failed is not None else ''}"] if found.failed_index is not None else []
    lines += [f"repair: {', '.join(row.plan)}  (inserted {', '.join(row.inserted)}{'; meets every goal' if row.validates else ''})" for row in found.repairs]
    if found.note:
        lines.append(f"note: {found.note}")
    data = {"failedIndex": found.failed_index, "failedPrecondition": outcome.atom_json(found.failed) if found.failed is not None else None,
            "repairs": [{"plan": list(row.plan), "inserted": list(row.inserted), "validates": row.validates} for row in found.repairs],
            "note": found.note}
    return "\n".join(lines) or "there is nothing to repair", data


def _plan_to_goal(boards: Boards, args: Args) -> tuple[str, dict]:
    found = plans.plan_to_goal(_space(boards, args), args.get("maxDepth"), args.get("maxBeam"))
    if found.found:
        text = f"plan: {', '.join(found.plan)}" if found.plan else "every goal holds already; the plan is empty"
    else:
        text = f"no plan: {found.note}"
    return text, {"found": found.found, "plan": list(found.plan), "note": found.note}


def _solve(boards: Boards, args: Args) -> tuple[str, dict]:
    _, found = _act(boards, "solve", args, ("variables", "conflictPredicate", "assignPredicate", "maxNodes", "commit"))
    data = {"sat": found.sat, "assignment": dict(found.assignment), "nodes": found.nodes, "committed": found.committed, "reason": found.reason}
    if found.sat:
        values = ", ".join(f"{name}={scalar_text(value)}" for name, value in found.assignment.items()) or "nothing to choose"
        return f"solved: {values}  ({found.nodes} attempt(s){', written to the Board' if found.committed else ''})", data
    words = {solver.UNSAT: "no choice of values avoids a conflict", solver.BUDGET: "not known: the attempts are used up; raise maxNodes or narrow a domain"}
    return f"{found.reason}: {words.get(found.reason or '', '')}  ({found.nodes} attempt(s))", data


# --- tasks -------------------------------------------------------------------------------


def _declare_task(boards: Boards, args: Args) -> tuple[str, dict]:
    space, leaves = _act(boards, "declare_task", args, ("root", "leaves"))
    lines = [f"task {args['root']} declared with {len(leaves)} leaf/leaves, committed"]
    lines += [f"  {leaf.node}: {leaf.test}" for leaf in leaves]
    lines.append("prove each acceptance, record_result citing the proof, then complete_task")
    return "\n".join(lines), {"root": args["root"], "leaves": [{"node": leaf.node, "test": leaf.test} for leaf in leaves], "spaceId": space.id}


def _complete_task(boards: Boards, args: Args) -> tuple[str, dict]:
    _, states = _act(boards, "complete_task", args, ("root",))
    lines = [f"task {args['root']} is completed", *(f"  {state.node}: {state.test} [{state.tier}]" for state in states)]
    rows = [{"node": state.node, "test": state.test, "met": state.met, "tier": state.tier} for state in states]
    return "\n".join(lines), {"root": args["root"], "completed": True, "leaves": rows}


_CALLS: Mapping[str, Callable[[Boards, Args], tuple[str, dict]]] = {
    "update_working_memory": _update, "get_logic_context": _get_context, "explain_fact": _explain, "request_action": _request_action,
    "declare_task": _declare_task, "complete_task": _complete_task, "create_space": _create_space, "list_spaces": _list_spaces,
    "distill_space": _distill, "board_critique": _critique, "simulate_action": _simulate, "apply_action": _apply_action,
    "validate_plan": _validate_plan, "apply_plan": _apply_plan, "suggest_plan_repairs": _repairs, "plan_to_goal": _plan_to_goal,
    "solve": _solve,
}
