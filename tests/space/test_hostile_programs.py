"""A program that wants too much is refused by a count, with the board as it was, and refused alike each time.

Duty: design §4, "Budgets are deterministic". What each one takes until then: benchmarks/board.py.
"""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from tests.space.hostile import PROGRAMS
from tests.space.short import board, everything, tell

CODES = {"JOIN_EXPLOSION", "CLOSURE_DIVERGED", "resource_limit", "ATOM_INVALID"}


def refusal(space, operations):
    """The refusal, in full, and how many steps the board has counted afterwards."""
    with pytest.raises(Refused) as refused:
        tell(space, *operations)
    return refused.value.code, str(refused.value), space.program.steps


def begun():
    return board("p(x=1)", "q(x=2)", "R: r(x=?x) <- p(x=?x), naf s(x=?x)", "G? r(x=1)")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_is_refused_by_a_count_and_leaves_no_trace(name):
    operations, space = PROGRAMS[name](), begun()
    before = everything(space)
    first = refusal(space, operations)
    assert first[0] in CODES
    assert everything(space) == before
    again = begun()
    assert refusal(again, operations) == first
    assert everything(again) == before


def test_a_board_that_refused_a_hostile_program_goes_on_as_if_it_never_came():
    space = begun()
    refusal(space, PROGRAMS["cross product"]())
    other = begun()
    for each in (space, other):
        each.mint_for_tests = other.mint_for_tests
        tell(each, "S = s(x=1)")
    assert [view.atom for view in space.facts()] == [view.atom for view in other.facts()]
    assert space.program.closure_digest() == other.program.closure_digest() and space.program.steps == other.program.steps
