"""Rehearsals: actions tried out in an open change, step upon step, and all taken back.

What a search may try is bounded by trials and by join steps, never by a clock, so the same
question gets the same answer on every machine.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.limits import PLAN_TRIALS_MAX, SEARCH_WORK_MAX
from rulith.board.space import hints
from rulith.board.space.actions import find_action, first_binding, perform, spec_of
from rulith.board.space.change import Change
from rulith.board.space.nodes import Node
from rulith.rules.program import Program
from rulith.rules.safety import joins
from rulith.rules.terms import Literal

RESTORED_STEPS = 10


class Spent(Exception):
    """The budget of a search is used up."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a plan, tried.

    failed, unsatisfied   as of a Match, where preconditions fail
    problem               why it cannot run, where that is something else
    """

    action_id: str
    applicable: bool
    failed: Literal | None = None
    unsatisfied: tuple[Literal, ...] = ()
    problem: str | None = None


class Budget:
    """How much a search may do: trials, and work over all of them, what is taken back included.

    Work is counted in join steps of closings and queries; a row that a rollback puts back,
    and its indexes with it, costs about as much as RESTORED_STEPS of them.
    """

    def __init__(self, program: Program, trials_max: int = PLAN_TRIALS_MAX, work_max: int = SEARCH_WORK_MAX) -> None:
        self.program = program
        self.trials_left = trials_max
        self.work_left = work_max + self._outside()

    def _outside(self) -> int:
        return self.program.asked + RESTORED_STEPS * self.program.restored

    def spend(self, steps: int) -> None:
        """One trial, whose closings took `steps`."""
        self.trials_left -= 1
        self.work_left -= steps

    def check(self) -> None:
        """Raises Spent once the trials or the work are used up."""
        if self.trials_left <= 0 or self.work_left <= self._outside():
            raise Spent


class Rehearsal:
    """Steps taken one upon another. Each stays until the stack it was taken on is left."""

    def __init__(self, change: Change, budget: Budget) -> None:
        self.change = change
        self.space = change.space
        self.budget = budget

    def take(self, stack: ExitStack, action: Node | str) -> Step:
        """Apply an action to the rehearsed board; where it cannot run, nothing is left of the attempt. Raises Spent."""
        self.budget.check()
        program = self.space.program
        before = program.steps
        with ExitStack() as attempt:
            attempt.enter_context(self.change.trial())
            try:
                step = self._take(action)
            except Refused as refused:
                step = Step(action if isinstance(action, str) else action.id, False, problem=str(refused))
            self.budget.spend(program.steps - before)
            if step.applicable:
                stack.enter_context(attempt.pop_all())
        return step

    def _take(self, action: Node | str) -> Step:
        node = find_action(self.space, action) if isinstance(action, str) else action
        preconditions = spec_of(node).preconditions
        bound = first_binding(self.space, preconditions)
        if bound is None:
            failed, _ = hints.first_failing(self.space, preconditions)
            unmet = tuple(literal for literal in preconditions if joins(literal) and not self.space.held(literal))
            return Step(node.id, False, failed, unmet)
        perform(self.change, node, bound)
        return Step(node.id, True)
