"""Parts of a board: what bears on its goals, what changed, what cites what, what outlives it.

    slice_facts     the facts worth showing when there are too many
    mark, diff      what came, went and changed between two looks
    graph           who rests on whom
    distil, seed    the rules and conclusions of one board, planted in another

Source  the reasoning board, "Slice, diff, graph", "Distill and seed".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rulith.base.errors import Refused
from rulith.base.limits import GRAPH_EDGES_MAX, RULES_MAX, SLICE_FACTS, SLICE_FINDINGS, SPACE_LABEL_BYTES_MAX, SPACE_TEXT_BYTES_MAX
from rulith.board.space import gates, hints
from rulith.board.space.change import rule_key
from rulith.board.space.disputes import Disputes
from rulith.board.space.nodes import (
    AXIOM, DERIVED_PREFIX, DERIVED_SUMMARIES, EFFECT_SUMMARY, FINDING, GOAL, OPEN, RESULT, FactView, Mint, derived_id,
)
from rulith.board.space.reads import DERIVED
from rulith.board.space.vocabulary import signature_text
from rulith.rules.safety import violations
from rulith.rules.explain import Effort
from rulith.rules.terms import Literal, Rule, is_variable, read_rule

if TYPE_CHECKING:
    from rulith.board.space.space import Space

SEED_PREFIX = "seed:"
#  what a fact scores in a slice
PINNED, DISPUTED, NAMED, SHARED_VALUE, CONCLUDED = 1000, 100, 10, 3, 1


# --- slices ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slice:
    """The facts and findings to show, in board order, and how many there are in all."""

    facts: tuple[FactView, ...]
    findings: tuple[FactView, ...]
    facts_total: int
    findings_total: int

    @property
    def views(self) -> tuple[FactView, ...]:
        return self.facts + self.findings


def slice_facts(space: Space, max_facts: int = SLICE_FACTS, max_findings: int = SLICE_FINDINGS, pin_predicates: Iterable[str] = ()) -> Slice:
    """Each list whole where it fits; else its entries that bear most on goals, disputes and pins, recent ones first."""
    views = space.facts()
    facts = [view for view in views if view.atom.predicate != FINDING]
    findings = [view for view in views if view.atom.predicate == FINDING]
    if len(facts) <= max_facts and len(findings) <= max_findings:
        return Slice(tuple(facts), tuple(findings), len(facts), len(findings))
    scores = _Scores(space, pin_predicates)
    return Slice(tuple(_best(facts, max_facts, scores)), tuple(_best(findings, max_findings, scores)), len(facts), len(findings))


def _best(views: Sequence[FactView], most: int, scores: _Scores) -> list[FactView]:
    if len(views) <= most:
        return list(views)
    order = sorted(range(len(views)), key=lambda place: (-scores.of(views[place]), -place))
    return [views[place] for place in sorted(order[:max(most, 0)])]


class _Scores:
    """What bears on this board's open questions."""

    def __init__(self, space: Space, pins: Iterable[str]) -> None:
        self.pins = frozenset(pins)
        self.disputes = Disputes(space)
        named = list(_questions(space))
        self.predicates = {literal.predicate for literal in named}
        self.values = {value.casefold() for literal in named for _, value in literal.args
                       if isinstance(value, str) and not is_variable(value)}

    def of(self, view: FactView) -> int:
        atom = view.atom
        score = PINNED * (atom.predicate in self.pins) + DISPUTED * self.disputes.covers(atom)
        score += NAMED * (atom.predicate in self.predicates) + CONCLUDED * (view.marker == DERIVED)
        return score + SHARED_VALUE * sum(isinstance(value, str) and value.casefold() in self.values for _, value in atom.args)


def _questions(space: Space) -> Iterable[Literal]:
    """What goals and hypotheses ask for, and what is missing for those that are open."""
    effort = Effort()
    for goal in space.of_type(GOAL):
        desired: Sequence[Literal] = goal.semantic  # type: ignore[assignment]
        yield from desired
        for need in hints.needs_via(space, desired, effort):
            yield from need.missing
    for hypothesis in space.hypotheses():
        pattern: Literal = hypothesis.semantic  # type: ignore[assignment]
        yield pattern
        if hypothesis.status == OPEN:
            for need in hints.needs_via(space, (pattern,), effort):
                yield from need.missing


# --- what changed ------------------------------------------------------------------------

Mark = Mapping[str, FactView]       # id under which a fact is shown -> the fact


@dataclass(frozen=True, slots=True)
class Diff:
    """What is new, what stands under its id with another content or mark, and what is gone."""

    added: tuple[FactView, ...]
    changed: tuple[FactView, ...]
    removed: tuple[FactView, ...]

    @property
    def highlight(self) -> tuple[str, ...]:
        """The ids to look at."""
        return tuple(view.node_id for view in (*self.added, *self.changed))

    def text(self) -> str:
        if not (self.added or self.changed or self.removed):
            return "NO CHANGE: not one fact was added, changed or removed since then."
        lines = [f"{len(self.added)} added, {len(self.changed)} changed, {len(self.removed)} removed"]
        for sign, views in (("+", self.added), ("~", self.changed), ("-", self.removed)):
            lines += [f"{sign} {view.node_id}: {view.atom.text()} [{view.marker}]" for view in views]
        return "\n".join(lines)


def mark(space: Space) -> Mark:
    """A look at the facts, to compare with later."""
    return {view.node_id: view for view in space.facts()}


def diff(before: Mark, space: Space) -> Diff:
    """What happened to the facts since that look."""
    now = mark(space)
    changed = [view for node_id, view in now.items()
               if node_id in before and (before[node_id].atom, before[node_id].marker) != (view.atom, view.marker)]
    return Diff(tuple(view for node_id, view in now.items() if node_id not in before), tuple(changed),
                tuple(view for node_id, view in before.items() if node_id not in now))


# --- who cites whom ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Graph:
    """(from, kind, to), ascending. `cut` where there are more than GRAPH_EDGES_MAX."""

    edges: tuple[tuple[str, str, str], ...]
    cut: bool


def graph(space: Space) -> Graph:
    """An edge per reference from an entry that takes part: derive, supports, or seed."""
    found: dict[tuple[str, str, str], None] = {}
    for node in space.nodes.values():
        if node.id not in space.unusable:
            _edges(space, node.id, node.evidence, False, found)
    for atom in space.program.derived():
        if len(found) > GRAPH_EDGES_MAX:
            break
        support = space.support(atom)
        assert support is not None
        refs = (support.via, *(space.fact_id(premise) or derived_id(premise) for premise in support.premises))
        _edges(space, derived_id(atom), refs, True, found)
    edges = sorted(found)
    return Graph(tuple(edges[:GRAPH_EDGES_MAX]), len(edges) > GRAPH_EDGES_MAX)


def _edges(space: Space, node_id: str, refs: Sequence[str], concluded: bool, found: dict[tuple[str, str, str], None]) -> None:
    for place, ref in enumerate(refs):
        if ref.startswith(SEED_PREFIX) and ref not in space.nodes:
            found[ref, "seed", node_id] = None
        elif space.usable(ref):
            found[ref, "derive" if concluded and place == 0 else "supports", node_id] = None


# --- what outlives a board ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seeded:
    """planted: ids of the rules that were put on the board; skipped: (id in the capsule, why)."""

    source: str
    planted: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    vocabulary: tuple[str, ...]


def distil(space: Space) -> dict[str, Any]:
    """A capsule: the rules and what was concluded. Facts, goals, hypotheses, actions and totals stay behind."""
    rules = [node for node in space.axioms() if isinstance(node.semantic, Rule)]
    return {
        "sourceSpaceId": space.id,
        "title": space.title,
        "axioms": [{"id": node.id, "label": node.label, "summary": node.summary,
                    "when": [literal.json() for literal in node.semantic.when],  # type: ignore[union-attr]
                    "then": [literal.json() for literal in node.semantic.then]}  # type: ignore[union-attr]
                   for node in rules],
        "results": [{"label": node.label, "summary": node.summary} for node in space.of_type(RESULT)],
        "vocabulary": vocabulary_texts(space),
    }


def vocabulary_texts(space: Space) -> list[str]:
    return [signature_text(predicate, names) for predicate, names in space.vocabulary().items()]


def seed(space: Space, capsule: object, attested: frozenset[str] = frozenset(), *, at: str, mint: Mint) -> Seeded:
    """Plant a capsule's rules; all of those that can be, or none where together they cannot stand.

    attested   predicates that only machines attest: rules that conclude one are skipped
    Refuses CAPSULE_INVALID, and what closing over the rules refuses (NOT_STRATIFIABLE and the like).
    """
    source, rows = _read_capsule(capsule)
    planted: list[str] = []
    skipped: list[tuple[str, str]] = []
    with space.change(at, mint) as change:
        committed = gates.committed_predicates(space)
        for row in rows:
            given = str(row.get("id", ""))
            try:
                rule = read_rule({name: row[name] for name in ("id", "label", "when", "then") if name in row}, "a capsule's rule")
            except Refused as refused:
                skipped.append((given[:SPACE_LABEL_BYTES_MAX], refused.happened))
                continue
            why = _why_skip(space, rule, attested, committed)
            rule_id = _free_id(space, rule.id, source)
            if why or rule_id is None:
                skipped.append((rule.id, why or "its id, and its id with the source's name, are taken"))
                continue
            planted.append(rule_id)
            change.add(AXIOM, Rule(rule_id, rule.label, rule.when, rule.then), id=rule_id, label=rule.label,
                       summary=_plain_summary(row.get("summary"), rule.label), evidence=(SEED_PREFIX + source,), created_by="system")
    return Seeded(source, tuple(planted), tuple(skipped), tuple(vocabulary_texts(space)))


def _read_capsule(capsule: object) -> tuple[str, Sequence[Mapping[str, Any]]]:
    if not isinstance(capsule, Mapping):
        raise Refused("CAPSULE_INVALID", problem="it is not an object")
    source, rows = capsule.get("sourceSpaceId"), capsule.get("axioms")
    if not isinstance(source, str) or not source or len(source) > SPACE_LABEL_BYTES_MAX:
        raise Refused("CAPSULE_INVALID", problem="`sourceSpaceId` is not a board's id")
    if not isinstance(rows, (list, tuple)) or len(rows) > RULES_MAX or not all(isinstance(row, Mapping) for row in rows):
        raise Refused("CAPSULE_INVALID", problem=f"`axioms` is not a list of up to {RULES_MAX} rules")
    return source, rows


def _why_skip(space: Space, rule: Rule, attested: frozenset[str], committed: set[str]) -> str | None:
    if rule.id.startswith(DERIVED_PREFIX) or len(rule.id) > SPACE_LABEL_BYTES_MAX or len(rule.label) > SPACE_LABEL_BYTES_MAX:
        return "its id or label is none that an entry may carry"
    if unsafe := violations(rule.when, rule.then):
        return f"it is unsafe: {'; '.join(unsafe)}"
    for head in rule.then:
        if head.predicate in attested:
            return f"it concludes {head.predicate}, which only a machine attests"
        if head.predicate in committed:
            return f"the definition of {head.predicate} is committed"
    return "the board has it already" if rule_key(rule) in space.rule_keys else None


def _free_id(space: Space, rule_id: str, source: str) -> str | None:
    for candidate in (rule_id, f"{rule_id}@{source}"):
        if candidate not in space.nodes and candidate not in space.families:
            return candidate
    return None


def _plain_summary(summary: object, label: str) -> str:
    if not isinstance(summary, str) or not summary or summary.startswith((*DERIVED_SUMMARIES, EFFECT_SUMMARY)):
        return label
    return summary[:SPACE_TEXT_BYTES_MAX]
