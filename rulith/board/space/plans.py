"""Plans: sequences of actions, checked before anything is written, mended, and found.

Every question rehearses the actions on the board itself and takes them back, so the answer
is what applying them would do. An action binds as it would when applied: a plan chooses
the order of actions, never their bindings.

Source  the reasoning board, "Plans".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulith.base.errors import Refused
from rulith.base.limits import PLAN_BEAM_MAX, PLAN_DEPTH_MAX, PLAN_STEPS_MAX, REPAIR_DEPTH_MAX
from rulith.board.space import hints
from rulith.board.space.actions import Application, apply_within, find_action, spec_of, trial_mint
from rulith.board.space.nodes import ACTION, GOAL, Mint, Node
from rulith.board.space.rehearsal import Budget, Rehearsal, Spent, Step
from rulith.rules.builtins import BUILTINS
from rulith.rules.terms import Literal

if TYPE_CHECKING:
    from rulith.board.space.space import Space

DEPTH, BEAM, REPAIR_DEPTH = 8, 16, 5
REPAIRS_MAX = 20        # more suggestions than anyone reads
SPENT = "the search used up its budget; give a shorter plan, fewer actions, or a smaller depth"


@dataclass(frozen=True, slots=True)
class Validation:
    """What a plan would do.

    ok               every step ran, and every goal holds at the end (or there is none)
    first_failure    place of the step that cannot run
    shortest_prefix  fewest steps after which all goals hold; None without goals, or where they never do
    redundant        places of steps that ran after all goals held
    """

    ok: bool
    steps: tuple[Step, ...]
    first_failure: int | None
    satisfied_goals: tuple[str, ...]
    unmet_goals: tuple[str, ...]
    shortest_prefix: int | None
    redundant: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlanApplication:
    """Where `applied` is false nothing was written."""

    applied: bool
    failed_index: int | None
    validation: Validation
    applications: tuple[Application, ...] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """A longer plan that gets past the failing step. `validates`: it also meets every goal."""

    plan: tuple[str, ...]
    inserted: tuple[str, ...]
    validates: bool


@dataclass(frozen=True, slots=True)
class Repairs:
    """`note` says why there are none, or that there may be more."""

    failed_index: int | None
    failed: Literal | None
    repairs: tuple[Repair, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class PlanSearch:
    found: bool
    plan: tuple[str, ...] = ()
    note: str | None = None
    validation: Validation | None = None


# --- validating and applying -------------------------------------------------------------


def read_plan(action_ids: object) -> tuple[str, ...]:
    """Refuses PLAN_INVALID, resource_limit."""
    if not isinstance(action_ids, (list, tuple)):
        raise Refused("PLAN_INVALID", problem="The plan is not a list of action ids")
    if len(action_ids) > PLAN_STEPS_MAX:
        raise Refused("resource_limit", what="the number of steps of a plan", value=len(action_ids), limit=PLAN_STEPS_MAX)
    for place, action_id in enumerate(action_ids):
        if not isinstance(action_id, str) or not action_id:
            raise Refused("PLAN_INVALID", problem=f"Step {place} of the plan is not an action id")
    return tuple(action_ids)


def read_bound(value: object, name: str, default: int, limit: int) -> int:
    """A whole number from 0 to `limit`. Refuses PLAN_INVALID."""
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
        raise Refused("PLAN_INVALID", problem=f"`{name}` is not a whole number from 0 to {limit}")
    return value


def validate_plan(space: Space, action_ids: Sequence[str]) -> Validation:
    """Rehearse the steps and stop at the first that cannot run. Nothing is written. Refuses PLAN_INVALID, resource_limit."""
    plan = read_plan(action_ids)
    with space.trial("", trial_mint(space)) as change:
        try:
            return _validated(Rehearsal(change, Budget(space.program)), plan)
        except Spent:
            raise Refused("resource_limit", what="the work of rehearsing this plan", value="more", limit="the budget of one search") from None


def _validated(rehearsal: Rehearsal, plan: Sequence[str]) -> Validation:
    space = rehearsal.space
    steps: list[Step] = []
    prefix = 0 if _meets_all(space) else None
    with ExitStack() as stack:
        for action_id in plan:
            steps.append(rehearsal.take(stack, action_id))
            if not steps[-1].applicable:
                break
            if prefix is None and _meets_all(space):
                prefix = len(steps)
        met = set(space.satisfied_goals())
        goals = [goal.id for goal in space.of_type(GOAL)]
    failure = len(steps) - 1 if steps and not steps[-1].applicable else None
    unmet = tuple(goal for goal in goals if goal not in met)
    ran = len(steps) if failure is None else failure
    redundant = () if prefix is None else tuple(range(prefix, ran))
    return Validation(failure is None and not unmet, tuple(steps), failure, tuple(goal for goal in goals if goal in met), unmet, prefix, redundant)


def _meets_all(space: Space) -> bool:
    """Is there a goal, and does every one hold?"""
    goals = space.of_type(GOAL)
    return bool(goals) and all(space.satisfied(goal) for goal in goals)


def apply_plan(space: Space, action_ids: Sequence[str], require_goals: bool = False, *, at: str, mint: Mint) -> PlanApplication:
    """Apply every step, or none: a plan with a step that cannot run, or (asked for) an unmet goal, writes nothing."""
    validation = validate_plan(space, action_ids)
    if validation.first_failure is not None or (require_goals and not validation.ok):
        return PlanApplication(False, validation.first_failure, validation)
    with space.change(at, mint) as change:
        done = tuple([apply_within(change, find_action(space, action_id)) for action_id in read_plan(action_ids)])
    assert all(each.applied for each in done), "a rehearsed plan applies"
    return PlanApplication(True, None, validation, done)


# --- repairing ---------------------------------------------------------------------------


def suggest_repairs(space: Space, action_ids: Sequence[str], max_depth: object = None, max_actions: object = None) -> Repairs:
    """Actions to insert before the step whose precondition fails, so that the plan gets past it.

    max_depth    how many hops a missing fact is chased back through producers
    max_actions  how many actions are inserted at most (default: max_depth)
    """
    plan = read_plan(action_ids)
    depth = read_bound(max_depth, "maxDepth", REPAIR_DEPTH, REPAIR_DEPTH_MAX)
    room = read_bound(max_actions, "maxActions", depth, REPAIR_DEPTH_MAX)
    validation = validate_plan(space, plan)
    at = validation.first_failure
    if at is None:
        met = "every goal is met" if validation.ok else f"these goals stay unmet: {', '.join(validation.unmet_goals)}"
        return Repairs(None, None, (), f"every step can run and {met}; there is nothing to repair")
    failed = validation.steps[at].failed
    if failed is None:
        return Repairs(at, None, (), validation.steps[at].problem)
    found: list[Repair] = []
    note = None
    with space.trial("", trial_mint(space)) as change, ExitStack() as stack:
        rehearsal = Rehearsal(change, Budget(space.program))
        for action_id in plan[:at]:
            rehearsal.take(stack, action_id)
        try:
            for producer in producers_of(space, failed, plan):
                repair = _repair(rehearsal, plan, at, producer, depth, room)
                if repair is not None and len(found) < REPAIRS_MAX:
                    found.append(repair)
        except Spent:
            note = SPENT
    found.sort(key=lambda repair: (not repair.validates, len(repair.inserted)))
    if not found and note is None:
        note = f"no action brings about {failed.text()} within {depth} hops and {room} inserted actions"
    return Repairs(at, failed, tuple(found), note)


def producers_of(space: Space, wanted: Literal, beside: Sequence[str] = ()) -> list[Node]:
    """Actions, those in `beside` aside, with a positive effect that could be the wanted fact, in board order."""
    if wanted.negated or wanted.naf or wanted.predicate in BUILTINS:
        return []
    return [node for node in space.of_type(ACTION) if node.id not in beside
            and any(not effect.negated and hints.could_produce(effect, wanted) for effect in spec_of(node).effects)]


def _repair(rehearsal: Rehearsal, plan: Sequence[str], at: int, producer: Node, depth: int, room: int) -> Repair | None:
    with ExitStack() as stack:
        inserted = _reach(rehearsal, stack, producer, {*plan}, depth, room)
        if inserted is None or not rehearsal.take(stack, plan[at]).applicable:
            return None
        validates = all(rehearsal.take(stack, action_id).applicable for action_id in plan[at + 1:])
        goals = rehearsal.space.of_type(GOAL)
        validates = validates and all(rehearsal.space.satisfied(goal) for goal in goals)
    ids = tuple(node.id for node in inserted)
    return Repair((*plan[:at], *ids, *plan[at:]), ids, validates)


def _reach(rehearsal: Rehearsal, stack: ExitStack, node: Node, avoid: set[str], depth: int, room: int) -> list[Node] | None:
    """Take `node`, after the actions that produce what it lacks: the first producer that can be reached wins.

    Whatever was taken stays on `stack`; None where `depth` hops and `room` actions do not do.
    """
    before: list[Node] = []
    with ExitStack() as here:
        while len(before) < room:
            step = rehearsal.take(here, node)
            if step.applicable:
                stack.enter_context(here.pop_all())
                return [*before, node]
            if depth == 0 or step.failed is None:
                return None
            used = {*avoid, node.id, *(each.id for each in before)}
            for producer in producers_of(rehearsal.space, step.failed, tuple(used)):
                chain = _reach(rehearsal, here, producer, used, depth - 1, room - len(before) - 1)
                if chain is not None:
                    before += chain
                    break
            else:
                return None
    return None


# --- finding -----------------------------------------------------------------------------


def plan_to_goal(space: Space, max_depth: object = None, max_beam: object = None) -> PlanSearch:
    """A shortest plan after which every goal holds, searched breadth-first.

    max_beam  states kept per level: those that meet most goals, earlier found ones first
    """
    depth = read_bound(max_depth, "maxDepth", DEPTH, PLAN_DEPTH_MAX)
    beam = read_bound(max_beam, "maxBeam", BEAM, PLAN_BEAM_MAX)
    if not space.of_type(GOAL):
        return PlanSearch(False, note="there is no goal to plan for")
    if _meets_all(space):
        return PlanSearch(True, (), None, validate_plan(space, ()))
    actions = space.of_type(ACTION)
    if not actions:
        return PlanSearch(False, note="there is no action to plan with")
    with space.trial("", trial_mint(space)) as change:
        try:
            plan, dropped = _search(Rehearsal(change, Budget(space.program)), actions, depth, beam)
        except Spent:
            return PlanSearch(False, note=SPENT)
    if plan is None:
        narrow = f", keeping {beam} states per step" if dropped else ""
        return PlanSearch(False, note=f"no sequence of up to {depth} actions meets every goal{narrow}")
    validation = validate_plan(space, plan)
    assert validation.ok, "a plan that was found validates"
    return PlanSearch(True, plan, None, validation)


def _search(rehearsal: Rehearsal, actions: Sequence[Node], depth: int, beam: int) -> tuple[tuple[str, ...] | None, bool]:
    """The plan, and whether states were dropped on the way."""
    space = rehearsal.space
    seen = {_state(space)}
    level: list[tuple[Node, ...]] = [()]
    dropped = False
    for _ in range(depth):
        found: list[tuple[int, tuple[Node, ...]]] = []
        for plan in level:
            with ExitStack() as stack:
                for node in plan:
                    rehearsal.take(stack, node)
                for node in actions:
                    with ExitStack() as one:
                        if not rehearsal.take(one, node).applicable or (state := _state(space)) in seen:
                            continue
                        seen.add(state)
                        if _meets_all(space):
                            return tuple(each.id for each in (*plan, node)), dropped
                        found.append((len(space.satisfied_goals()), (*plan, node)))
        found.sort(key=lambda row: -row[0])
        dropped = dropped or len(found) > beam
        level = [plan for _, plan in found[:beam]]
        if not level:
            break
    return None, dropped


def _state(space: Space) -> tuple[str, int]:
    """What tells two states apart: every fact with its types, and how many are stated rather than only derived."""
    return space.program.closure_digest(), space.program.base_count
