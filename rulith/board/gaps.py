"""Gaps: what keeps an unmet leaf from being met, down to the fact, Source or number that is missing.

{root, node, kind, text, rule?, ruleLabel?, operands?, missing?, via?}. A result beyond the
exact range is its own kind, `arithmetic_exact`, and names rule and operands: the Board
refuses rather than rounds, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rulith.base.limits import INTEGER_MAX
from rulith.board.actions import usable_sources
from rulith.board.capability_check import acceptance_rule_id
from rulith.board.profiles import Sight
from rulith.board.shapes import Policy
from rulith.board.state import BoardState, Case
from rulith.board.totals import lack
from rulith.board.words import ACCEPTANCE_MET, is_board_word
from rulith.rules.proofs import Lack, Missing
from rulith.rules.safety import joins
from rulith.rules.terms import Literal, is_variable

WHY_DEPTH = 8
MISSING_SHOWN = 5
TEXT_MAX = 600
MISSING_TEXT_MAX = 200
GAPS_MAX = 32
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "pow": "^"}


def case_gaps(state: BoardState, case: Case, leaves: list[dict], policy: Policy, sight: Sight | None = None) -> list[dict]:
    """One gap per unmet leaf, the nearest reason first. One that would tell of what `sight` hides says only that."""
    found = []
    for leaf in leaves:
        if leaf["met"]:
            continue
        gap = {"root": case.root, "node": leaf["node"]}
        if "lacks" in leaf:
            found.append({**gap, "kind": "leaf_gap", "text": f"{leaf['goal']}: {leaf['lacks']}"[:TEXT_MAX]})
            continue
        for wanted in _wanted(state, case, leaf):
            found.append({**gap, **_why(state, leaf["goal"], wanted, _own_rule(state, case, leaf), policy, sight)})
    return found[:GAPS_MAX]


def _own_rule(state: BoardState, case: Case, leaf: Mapping) -> str | None:
    """The acceptance rule of this very leaf; other leaves' tests conclude the same word."""
    if case.is_exploration:
        return None
    case_type = state.case_types[case.type]
    name = leaf["node"].partition("/")[2]
    test = next(task.acceptance for task in case_type.task if task.node == name)
    return acceptance_rule_id(state.releases[case_type.capability], test)


def rule_of_leaf(state: BoardState, wanted: Literal) -> str | None:
    """The one rule that may meet the task node that `wanted` is about; None where it is about anything else."""
    node = dict(wanted.args).get("node") if wanted.predicate == ACCEPTANCE_MET and not wanted.negated else None
    case = state.cases.get(state.roots.get(str(node).partition("/")[0], ""))
    case_type = state.case_types.get(case.type) if case is not None and not case.is_exploration else None
    if case_type is None or all(task.node != str(node).partition("/")[2] for task in case_type.task):
        return None
    return _own_rule(state, case, {"node": str(node)})


def _wanted(state: BoardState, case: Case, leaf: Mapping) -> list[Literal]:
    if not case.is_exploration:
        return [Literal.of(ACCEPTANCE_MET, {"node": leaf["node"]})]
    goal = state.goals[leaf["node"]]
    return [literal for literal in goal.desired if next(state.program.solve([literal], limit=1), None) is None] or list(goal.desired[:1])


def _why(state: BoardState, goal: str, wanted: Literal, rule_id: str | None, policy: Policy, sight: Sight | None) -> dict:
    lacks = state.program.why_not(wanted, WHY_DEPTH, rule_id)
    if sight is not None and not (sight.predicate(wanted.predicate) and all(_may_tell(sight, each) for each in _walk([*lacks, *total_lacks(state, wanted)]))):
        return {"kind": "leaf_gap", "text": f"{goal}: what it lacks is withheld from this Agent"[:TEXT_MAX]}
    inexact = next(((lack, missing) for lack in _walk(lacks) for missing in lack.missing
                    if missing.reason == "arithmetic_exact"), None)
    if inexact is not None:
        return arithmetic_gap(goal, *inexact)
    lacks, inexact = _through_totals(state, lacks or total_lacks(state, wanted))
    if inexact is not None:
        return arithmetic_gap(goal, *inexact)
    missing = nearest(lacks)
    if not missing:
        return {"kind": "leaf_gap", "text": f"{goal}: no rule concludes {wanted.text()}"[:TEXT_MAX], "missing": [wanted.text()]}
    via, needs_source = suppliers(state, missing, policy)
    via = via if sight is None else [name for name in via if name not in state.actions or sight.action(state.actions[name])]
    gap = {"kind": "bridge_needs_source" if needs_source else "leaf_gap",
           "text": f"{goal}: {'; '.join(_lack_text(each) for each in missing[:MISSING_SHOWN])}"[:TEXT_MAX],
           "missing": [each.literal.text()[:MISSING_TEXT_MAX] for each in missing[:MISSING_SHOWN]]}
    lack = lacks[0]
    gap["rule"], gap["ruleLabel"] = lack.rule_id, lack.label
    if via:
        gap["via"] = via
    return gap


def _may_tell(sight: Sight, lack: Lack) -> bool:
    """Whether nothing that a lack was bound by, or misses, is hidden."""
    return all(sight.facts(each) for each in lack.satisfied if joins(each)) and sight.literals(each.literal for each in lack.missing)


def total_lacks(state: BoardState, wanted: Literal) -> list[Lack]:
    """What keeps a live aggregate from concluding `wanted`: its failures, else the facts that it takes."""
    row = next((row for row in state.live if row.into == wanted.predicate and not wanted.negated), None)
    if row is None:
        return []
    known = {name: value for name, value in wanted.args if not is_variable(value)}
    failures = [each for each in state.failing.get(row.id, ()) if all(known.get(name, value) == value for name, value in each.group)]
    if failures:
        return [lack(row, each) for each in failures]
    group = {"?group": known[row.group_by]} if row.group_by in known else {}
    found = lack(row, None)
    absent = [replace(each, literal=each.literal.under(group)) for each in found.missing if next(state.program.matching(each.literal.under(group)), None) is None]
    below = state.program.why_not(absent[0].literal, WHY_DEPTH) if absent else []
    return [replace(found, missing=tuple(absent), below=tuple(below))] if absent else []


def _through_totals(state: BoardState, lacks: list[Lack]) -> tuple[list[Lack], tuple[Lack, Missing] | None]:
    """The same lacks, each absent total explained by its aggregate; and the first number without an exact place below one."""
    if not state.live:
        return lacks, None
    found = []
    for each in lacks:
        below = [*each.below]
        for missing in each.missing:
            if missing.reason == "absent":
                below += total_lacks(state, missing.literal)
        below, inexact = _through_totals(state, below)
        inexact = inexact or next(((each, missing) for missing in each.missing if missing.reason == "arithmetic_exact"), None)
        if inexact is not None:
            return lacks, inexact
        found.append(replace(each, below=tuple(below)))
    return found, None


def arithmetic_gap(goal: str, lack: Lack, missing: Missing) -> dict:
    operands = {**dict(missing.operands), "op": missing.literal.predicate}
    sign = SIGNS.get(operands["op"])
    shown = f"{operands.get('left')} {sign} {operands.get('right')}" if sign else missing.literal.text()
    return {"kind": "arithmetic_exact", "rule": lack.rule_id, "ruleLabel": lack.label, "operands": operands,
            "text": (f"{goal}: rule \"{lack.label}\" needs {operands['op']}: {shown}, which lies outside the exact range of "
                     f"±{INTEGER_MAX}; the Board refuses rather than rounds")[:TEXT_MAX],
            "missing": [lack.head.under(dict(lack.bindings)).text()]}


def _walk(lacks) -> Iterator[Lack]:
    waiting = list(reversed(lacks))
    while waiting:
        lack = waiting.pop()
        yield lack
        waiting.extend(reversed(lack.below))


def nearest(lacks) -> list[Missing]:
    """What is missing at the bottom of the nearest rule: facts that no rule concludes, or conditions that fail."""
    found: dict[str, Missing] = {}

    def visit(lack: Lack) -> None:
        below = {each.head.predicate for each in lack.below}
        for missing in lack.missing:
            if missing.reason == "absent" and missing.literal.predicate in below:
                nearest = next(each for each in lack.below if each.head.predicate == missing.literal.predicate)
                visit(nearest)
            else:
                found.setdefault(missing.literal.text(), missing)

    if lacks:
        visit(lacks[0])
    return list(found.values())


def _lack_text(missing: Missing) -> str:
    text = missing.literal.text()
    if missing.reason == "present":
        return f"{text.removeprefix('naf ')} holds, and must not"
    if missing.reason == "absent":
        return f"{text} is missing"
    return f"{text} fails"


def suppliers(state: BoardState, missing: list[Missing], policy: Policy) -> tuple[list[str], bool]:
    """Actions that could supply what is absent, and whether all that do lack a Source."""
    predicates = {each.literal.predicate for each in missing if each.reason == "absent" and not is_board_word(each.literal.predicate)}
    specs = [spec for spec in [*state.actions.values(), *(each.spec for each in state.agent_actions.values())]
             if predicates & ({row["predicate"] for row in spec.returns}
                              | {effect.predicate for effect in spec.effects if not effect.negated})]
    bound = [spec for spec in specs if not spec.source_types or usable_sources(spec, policy)]
    return [spec.id for spec in (bound or specs)], bool(specs) and not bound
