"""What may change a Board: each act runs the same when it is first asked for and when its row is folded.

An act draws moments and ids from its Moment only, and says whether anything changed: what
changed nothing leaves no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulith.base.errors import Refused
from rulith.board.space import actions, plans, slices, solver, tasks
from rulith.board.space.nodes import BatchOptions
from rulith.board.space.operations import BatchResult
from rulith.board.space.space import Space
from rulith.gateway.board_store import Act, Boards, Moment

BY_MODEL = BatchOptions("model", "agent")       # whoever calls tools is an agent to the gates

Args = Mapping[str, Any]


def _create_space(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[Any, bool]:
    """The Space exists already, empty; plant what it is seeded with."""
    source_id = args.get("seedFromSpaceId")
    if source_id is None:
        return None, True
    source = boards.spaces.get(source_id)
    if source is None or source is space:
        raise Refused("SPACE_NOT_FOUND", space=source_id, instead="Seed from a Board that list_spaces shows.")
    return slices.seed(space, slices.distil(source), at=moment.at, mint=moment.mint), True


def _batch(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[BatchResult, bool]:
    return space.apply(args["operations"], BY_MODEL, at=moment.at, mint=moment.mint), bool(args["operations"])


def _apply_action(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[actions.Application, bool]:
    found = actions.apply_action(space, args["actionNodeId"], args.get("expectedRevision"), at=moment.at, mint=moment.mint)
    return found, found.applied


def _request_action(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[actions.Application, bool]:
    found = tasks.request_action(space, args["action"], args.get("args"), at=moment.at, mint=moment.mint)
    return found, found.applied


def _apply_plan(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[plans.PlanApplication, bool]:
    found = plans.apply_plan(space, args["actionNodeIds"], args.get("requireGoals", False), at=moment.at, mint=moment.mint)
    return found, found.applied and bool(found.applications)


def _solve(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[solver.Solution, bool]:
    found = solver.solve(
        space, args["variables"], args.get("conflictPredicate", solver.CONFLICT), args.get("assignPredicate", solver.ASSIGN),
        args.get("maxNodes", solver.SOLVE_NODES_MAX), args.get("commit", True), BY_MODEL, at=moment.at, mint=moment.mint)
    return found, found.committed


def _declare_task(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[list[tasks.Leaf], bool]:
    return tasks.declare_task(space, args["root"], args["leaves"], at=moment.at, mint=moment.mint), True


def _complete_task(boards: Boards, space: Space, args: Args, moment: Moment) -> tuple[list[tasks.LeafState], bool]:
    return tasks.complete_task(space, args["root"], at=moment.at, mint=moment.mint), True


ACTS: Mapping[str, Act] = {
    "create_space": _create_space, "update_working_memory": _batch, "apply_action": _apply_action,
    "request_action": _request_action, "apply_plan": _apply_plan, "solve": _solve, "declare_task": _declare_task,
    "complete_task": _complete_task,
}
