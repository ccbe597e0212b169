"""The context: the whole board as data, and as text that a model can work from.

The text is bounded: long sections are cut with a line that says how many entries are not
shown. `slices` may be handed in to choose which facts are worth showing.

Source  the reasoning board, "The context".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rulith.board.space import critique, hints
from rulith.board.space.disputes import Disputes
from rulith.board.space.nodes import (
    ACTION, CONFLICT, FINDING, GOAL, OPEN, REJECTED, RESULT, ActionSpec, FactView, Node, Total, derived_id,
)
from rulith.board.space.outcome import atom_json
from rulith.board.space.reads import ASSERTED, DERIVED, EFFECT
from rulith.board.space.vocabulary import signature_text
from rulith.rules.explain import Effort
from rulith.rules.terms import Atom, Literal, Rule

if TYPE_CHECKING:
    from rulith.board.space.space import Space

DECLARATION = "functional_dependency"   # told in the data, not worth a line in the text
LINE_CHARS_MAX = 400
SECTION_LINES_MAX = 200
BRIEF_LINES_MAX = 20
INSTANCES_SHOWN = 5
REFS_SHOWN = 8


# --- data --------------------------------------------------------------------------------


def data(space: Space) -> dict[str, Any]:
    """Everything the board has to say, in board order."""
    disputes = Disputes(space)
    views = space.facts()
    facts = [fact_row(space, view, disputes) for view in views if view.atom.predicate != FINDING]
    findings = [fact_row(space, view, disputes) for view in views if view.atom.predicate == FINDING]
    effort = Effort()
    goals = [_goal_row(space, node, effort) for node in space.of_type(GOAL)]
    hypotheses = [_hypothesis_row(space, node, effort) for node in space.hypotheses()]
    results = [_note_row(node, disputes) for node in space.of_type(RESULT)]
    conflicts = [_note_row(node, disputes) for node in space.of_type(CONFLICT)]
    axioms = [_axiom_row(node) for node in space.axioms()]
    actions = [_action_row(node) for node in space.of_type(ACTION)]
    contradictions = [{"atom": atom_json(atom), "factIds": [space.fact_id(atom), space.fact_id(atom.opposite())]}
                      for atom in space.program.contradictions()]
    functional = [functional_row(space, c) for c in space.program.functional_conflicts()]
    found = {
        "spaceId": space.id, "title": space.title, "goals": goals, "facts": facts, "findings": findings,
        "hypotheses": hypotheses, "axioms": axioms, "actions": actions, "results": results, "conflicts": conflicts,
        "predicateConflicts": contradictions, "functionalConflicts": functional,
        "vocabulary": [signature_text(predicate, names) for predicate, names in space.vocabulary().items()],
        "critique": [{"kind": r.kind, "nodeId": r.node_id, "message": r.text} for r in critique.remarks(space)],
    }
    found["stats"] = {
        "goals": len(goals), "facts": len(facts), "findings": len(findings), "hypotheses": len(hypotheses),
        "openHypotheses": sum(row["status"] == "open" for row in hypotheses), "axioms": len(axioms), "actions": len(actions),
        "results": len(results), "conflicts": len(conflicts), "predicateConflicts": len(contradictions),
        "functionalConflicts": len(functional),
    }
    return found


def fact_row(space: Space, view: FactView, disputes: Disputes) -> dict[str, Any]:
    node = view.node or space.derived_node(view.atom)
    row: dict[str, Any] = {
        "nodeId": view.node_id, "atom": atom_json(view.atom), "label": node.label, "summary": node.summary,
        "status": node.status, "confidence": node.confidence, "evidenceRefs": list(node.evidence), "createdBy": node.created_by,
    }
    if node.trust_tier:
        row["trustTier"] = node.trust_tier
    row["derived"] = view.marker == DERIVED
    if view.marker == EFFECT:
        row["effect"] = True
    if disputes.covers(view.atom):
        row["disputed"] = True
    return row


def functional_row(space: Space, conflict: Any) -> dict[str, Any]:
    return {"predicate": conflict.predicate, "key": dict(conflict.values),
            "factIds": sorted(space.fact_id(atom) or derived_id(atom) for atom in conflict.atoms),
            "values": [dict(atom.args) for atom in conflict.atoms]}


def _goal_row(space: Space, node: Node, effort: Effort) -> dict[str, Any]:
    desired: Sequence[Literal] = node.semantic  # type: ignore[assignment]
    satisfied = space.satisfied(node)
    row: dict[str, Any] = {"nodeId": node.id, "label": node.label, "desired": [atom_json(a) for a in desired], "satisfied": satisfied}
    if satisfied and space.self_sealed(node):
        row["selfSealed"] = True
    row["hints"] = [] if satisfied else [need_row(need) for need in hints.needs_via(space, desired, effort)]
    row["actionHints"] = [] if satisfied else [producer_row(p) for p in hints.producible_via(space, desired, effort)]
    return {**row, "status": node.status, "confidence": node.confidence}


def need_row(need: hints.Need) -> dict[str, Any]:
    row: dict[str, Any] = {"rule": need.rule_id, "label": need.label, "missing": [atom_json(a) for a in need.missing],
                           "satisfied": [atom_json(a) for a in need.have]}
    if need.text:
        row["failing"] = need.text
    return row


def producer_row(producer: hints.Producer) -> dict[str, Any]:
    row: dict[str, Any] = {"action": producer.action_id, "name": producer.name, "produces": atom_json(producer.produces),
                           "applicable": producer.applicable}
    if producer.blocked_on is not None:
        row["blockedOn"] = atom_json(producer.blocked_on)
    return row


def verdict_of(node: Node) -> str:
    return "refuted" if node.status == REJECTED else node.status


def _hypothesis_row(space: Space, node: Node, effort: Effort) -> dict[str, Any]:
    pattern: Literal = node.semantic  # type: ignore[assignment]
    row: dict[str, Any] = {"nodeId": node.id, "atom": atom_json(pattern), "status": verdict_of(node)}
    row["hints"] = [need_row(need) for need in hints.needs_via(space, (pattern,), effort)] if node.status == OPEN else []
    if not pattern.is_ground():
        row["instances"] = [atom_json(atom) for atom in space.holders(pattern)]
    return {**row, "label": node.label, "confidence": node.confidence}


def _note_row(node: Node, disputes: Disputes) -> dict[str, Any]:
    row: dict[str, Any] = {"nodeId": node.id, "label": node.label, "summary": node.summary, "status": node.status,
                           "confidence": node.confidence, "evidenceRefs": list(node.evidence), "createdBy": node.created_by}
    if disputes.covers_node(node):
        row["disputed"] = True
    return row


def _axiom_row(node: Node) -> dict[str, Any]:
    row: dict[str, Any] = {"nodeId": node.id, "label": node.label, "summary": node.summary}
    semantic = node.semantic
    if isinstance(semantic, Rule):
        row["when"] = [atom_json(a) for a in semantic.when]
        row["then"] = [atom_json(a) for a in semantic.then]
    elif isinstance(semantic, Total):
        row["aggregate"] = {"kind": semantic.kind, "source": semantic.source, "members": len(semantic.members),
                            "value": semantic.value, "withdrawn": semantic.withdrawn}
        row["then"] = [atom_json(semantic.concludes())]
    return {**row, "status": node.status, "confidence": node.confidence}


def _action_row(node: Node) -> dict[str, Any]:
    spec: ActionSpec = node.semantic  # type: ignore[assignment]
    return {"nodeId": node.id, "label": node.label, "action": spec.name, "preconditions": [atom_json(a) for a in spec.preconditions],
            "effects": [atom_json(a) for a in spec.effects], "status": node.status, "confidence": node.confidence}


# --- text --------------------------------------------------------------------------------


def text(space: Space, views: Sequence[FactView] | None = None, lines_max: int = SECTION_LINES_MAX) -> str:
    """The board for a model to read. `views` are the facts and findings to show (default: all)."""
    disputes = Disputes(space)
    every = space.facts()
    shown = every if views is None else views
    facts = [v for v in shown if v.atom.predicate not in (FINDING, DECLARATION)][:lines_max]
    findings = [v for v in shown if v.atom.predicate == FINDING][:lines_max]
    hidden = (sum(v.atom.predicate not in (FINDING, DECLARATION) for v in every) - len(facts),
              sum(v.atom.predicate == FINDING for v in every) - len(findings))
    remarks = critique.remarks(space)
    open_goals: list[str] = []
    effort = Effort()
    lines = [f"logic_context {space.id}: {space.title}"]
    lines += _section("goals", _goal_lines(space, open_goals, effort), lines_max)
    lines += _section("facts", (_fact_line(space, v, disputes) for v in facts), lines_max, hidden[0])
    lines += _section("hypotheses", _hypothesis_lines(space, effort), lines_max)
    lines += _section("findings", (_finding_line(space, v, disputes) for v in findings), lines_max, hidden[1])
    lines += _section("axioms", (f"- {n.id}: {_rule_text(n)} ({n.label})" for n in space.axioms()), lines_max)
    lines += _section("actions", (_action_line(n) for n in space.of_type(ACTION)), lines_max)
    lines += _section("results", (_note_line(n, disputes) for n in space.of_type(RESULT)), lines_max)
    lines += _section("conflicts", _conflict_lines(space, disputes), lines_max)
    lines += _section("vocabulary", (f"- {signature_text(p, names)}" for p, names in space.vocabulary().items()), lines_max)
    if remarks:
        lines += _section("critique", (f"- [{r.kind}] {r.node_id}: {r.text}" for r in remarks), lines_max)
    steps = [*open_goals, *(f"- [critique {r.kind}] {r.node_id}: {r.text}" for r in remarks)]
    if steps:
        lines += _section("next steps", steps, lines_max)
    return "\n".join(lines)


def brief(space: Space, atoms: Iterable[Atom]) -> str:
    """What to know after a change of a board too large to be read through each time: costs what it shows.

    atoms  the facts to show, those that hold: what the change stated and what followed
    """
    disputes, remarks, open_goals, effort = Disputes(space), critique.remarks(space), [], Effort()  # type: ignore[var-annotated]
    lines = [f"logic_context {space.id}: {space.title}"]
    lines += _section("goals", _goal_lines(space, open_goals, effort), BRIEF_LINES_MAX)
    views = [FactView(atom, space.marker(atom), next(iter(space.supporting(atom)), None)) for atom in atoms if space.program.holds(atom)]
    lines += _section("facts of this change", (_fact_line(space, view, disputes) for view in views), BRIEF_LINES_MAX)
    lines += _section("hypotheses", _hypothesis_lines(space, effort), BRIEF_LINES_MAX)
    lines += _section("conflicts", _conflict_lines(space, disputes), BRIEF_LINES_MAX)
    steps = [*open_goals, *(f"- [critique {r.kind}] {r.node_id}: {r.text}" for r in remarks)]
    lines += _section("next steps", steps, BRIEF_LINES_MAX) if steps else []
    return "\n".join([*lines, "the rest of this large board is not shown; get_logic_context reads it"])


def _section(name: str, lines: Iterable[str], most: int, hidden: int = 0) -> list[str]:
    found = list(lines)
    if not found and not hidden:
        return [f"{name}: none"]
    cut = found[:most]
    hidden += sum(line.startswith("- ") for line in found[most:])
    rest = [f"- ... and {hidden} more, not shown"] if hidden else []
    return [f"{name}:", *(_short(line) for line in cut), *rest]


def _short(line: str) -> str:
    return line if len(line) <= LINE_CHARS_MAX else line[:LINE_CHARS_MAX - 4] + " ..."


def _goal_lines(space: Space, steps: list[str], effort: Effort) -> Iterable[str]:
    has_result = any(not node.is_trusted for node in space.of_type(RESULT))
    for node in space.of_type(GOAL):
        desired: Sequence[Literal] = node.semantic  # type: ignore[assignment]
        satisfied = space.satisfied(node)
        wanted = " AND ".join(literal.text() for literal in desired)
        yield f"- {node.id}: {wanted} [{'satisfied' if satisfied else 'open'}] ({node.label})"
        if satisfied:
            yield "    it holds; finish the task" if has_result else "    it holds; record_result citing what proves it"
            continue
        for line in goal_guidance(space, desired, effort):
            yield f"    {line}"
            steps.append(f"- [goal {node.id}] {line}")


def goal_guidance(space: Space, desired: Sequence[Literal], effort: Effort | None = None) -> list[str]:
    """What would make an open goal hold, as lines; empty only where the effort was spent before."""
    effort = effort or Effort()
    if effort.is_spent:
        return []
    needs, producers = hints.needs_via(space, desired, effort), hints.producible_via(space, desired, effort)
    lines = [need_text(need) for need in needs[:hints.SHOWN_MAX]]
    lines += [producer_text(producer) for producer in producers[:hints.SHOWN_MAX]]
    for kind, found in (("rules", needs), ("actions", producers)):
        if len(found) > hints.SHOWN_MAX:
            lines.append(f"and {len(found) - hints.SHOWN_MAX} more {kind}")
    if effort.is_spent:
        lines.append("there is too much to look into: what is told here and of the next goals is not all; explain_fact with mode why_not looks into one")
    if lines:
        return lines
    proposal = _aggregate_proposal(space, desired)
    effort.left -= (space.program.base_count + space.program.derived_count) // 2      # every fact was looked at
    return ["nothing leads to it yet: add a rule that concludes it or assert what it asks for" + (f"; {proposal}" if proposal else "")]


def need_text(need: hints.Need) -> str:
    if need.missing:
        return f"needs via {need.rule_id}: {', '.join(literal.text() for literal in need.missing)}"
    return f"needs via {need.rule_id}: {need.text}"


def producer_text(producer: hints.Producer) -> str:
    if producer.applicable:
        state = "[preconditions hold - apply_action]"
    else:
        state = f"[blocked on {producer.blocked_on.text() if producer.blocked_on else 'its preconditions'}]"
    return f"producible via action {producer.action_id}: {producer.produces.text()} {state}"


def _aggregate_proposal(space: Space, desired: Sequence[Literal]) -> str:
    """Where many numeric facts lie about, a total may be what is wanted."""
    best: tuple[int, str, str] | None = None
    wanted = {literal.predicate for literal in desired}
    counts: dict[str, tuple[int, str]] = {}
    for view in space.facts():
        if view.atom.negated or view.atom.predicate in wanted or view.atom.predicate in (FINDING, DECLARATION):
            continue
        number = next((name for name, value in view.atom.args if isinstance(value, (int, float)) and not isinstance(value, bool)), None)
        if number is not None:
            count, arg = counts.get(view.atom.predicate, (0, number))
            counts[view.atom.predicate] = (count + 1, arg)
    for predicate, (count, arg) in counts.items():
        if count >= 3 and (best is None or count > best[0]):
            best = (count, predicate, arg)
    if best is None:
        return ""
    return f"if a total is meant: derive_aggregate with source {{predicate: {best[1]}, valueArg: {best[2]}}}"


def _refs(ids: Sequence[str]) -> str:
    if not ids:
        return ""
    more = f", +{len(ids) - REFS_SHOWN}" if len(ids) > REFS_SHOWN else ""
    return f" <- {', '.join(ids[:REFS_SHOWN])}{more}"


def _fact_line(space: Space, view: FactView, disputes: Disputes) -> str:
    mark = " [disputed]" if disputes.covers(view.atom) else ""
    return f"- {view.node_id}: {view.atom.text()} [{view.marker}]{mark}{_refs(_evidence(space, view))}"


def _evidence(space: Space, view: FactView) -> Sequence[str]:
    return view.node.evidence if view.node is not None else space.derived_node(view.atom).evidence


def _finding_line(space: Space, view: FactView, disputes: Disputes) -> str:
    mark = " [disputed]" if disputes.covers(view.atom) else ""
    state = "asserted, not derived" if view.marker == ASSERTED else view.marker
    return f"- {view.node_id}: {view.atom.text()} [{state}]{mark}{_refs(_evidence(space, view))}"


def _hypothesis_lines(space: Space, effort: Effort) -> Iterable[str]:
    for node in space.hypotheses():
        pattern: Literal = node.semantic  # type: ignore[assignment]
        yield f"- {node.id}: {pattern.text()} [{verdict_of(node)}]"
        if not pattern.is_ground():
            found = list(space.holders(pattern))
            if found:
                more = f" and {len(found) - INSTANCES_SHOWN} more" if len(found) > INSTANCES_SHOWN else ""
                yield f"    instances: {'; '.join(atom.text() for atom in found[:INSTANCES_SHOWN])}{more}"
        if node.status == OPEN:
            for need in hints.needs_via(space, (pattern,), effort)[:hints.SHOWN_MAX]:
                yield f"    {need_text(need)}"


def _rule_text(node: Node) -> str:
    return node.semantic.text()  # type: ignore[union-attr]


def _action_line(node: Node) -> str:
    spec: ActionSpec = node.semantic  # type: ignore[assignment]
    pre = ", ".join(literal.text() for literal in spec.preconditions) or "nothing"
    effects = ", ".join(literal.text() for literal in spec.effects) or "nothing"
    label = f" ({node.label})" if node.label != spec.name else ""
    return f"- {node.id}: {spec.name}; PRE {pre}; EFFECT {effects}{label}"


def _note_line(node: Node, disputes: Disputes) -> str:
    mark = " [disputed]" if disputes.covers_node(node) else ""
    summary = f": {node.summary}" if node.summary and node.summary != node.label else ""
    return f"- {node.id}: {node.label}{summary}{mark}{_refs(node.evidence)}"


def _conflict_lines(space: Space, disputes: Disputes) -> Iterable[str]:
    for node in space.of_type(CONFLICT):
        yield _note_line(node, disputes)
    for atom in space.program.contradictions():
        yield f"- {_id(space, atom)} against {_id(space, atom.opposite())}: {atom.text()} and {atom.opposite().text()}"
    for conflict in space.program.functional_conflicts():
        keys = ", ".join(f"{name}={value}" for name, value in conflict.values)
        yield f"- {conflict.predicate}[{keys}]: {'; '.join(atom.text() for atom in conflict.atoms[:INSTANCES_SHOWN])}"


def _id(space: Space, atom: Atom) -> str:
    return space.fact_id(atom) or derived_id(atom)
