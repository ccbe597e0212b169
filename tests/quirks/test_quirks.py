"""Services of every oddity: the conversation lives, nothing runs twice, nothing that was cut runs, and what is told is what was.

Duty: issue "The Agent Runtime, complete", done when 2. 300 fuzzed turns here; `.ci/run --long
quirks` holds 10,000. Conversation n of a seed is always the same, so a failure names how to play it again.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.quirks.drafts import ANTHROPIC, OPENAI
from tests.quirks.faults import AS_TEXT_FAULTS, FAULTS
from tests.quirks.mutants import MUTANTS, dropped
from tests.quirks.running import play

SEED = 20261201
TURNS = 300
BOUND_S = 100.0


def held(turns: int, **more: object):
    return asyncio.run(asyncio.wait_for(play(SEED, turns, **more), BOUND_S))


@pytest.mark.timeout(120)
def test_three_hundred_fuzzed_turns_leave_every_conversation_alive():
    told = held(TURNS)
    assert told.failures == []
    assert told.turns == TURNS and told.effects > TURNS // 2
    assert len(told.faults) > 60 and told.learned["busy"] and told.learned["whole_replies"]


@pytest.mark.parametrize("name", ["the connection breaks", "arguments cut, and said to be whole", "a call sent twice"])
def test_the_worst_of_them_come_up_alone(name):
    told = held(40, only=(name,))
    assert told.failures == [] and told.faults[name]


def test_a_service_that_falls_silent_ends_the_turn_and_not_the_conversation():
    told = held(1, only=("silence",), first=2)
    assert told.failures == [] and told.faults["silence"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_without_this_repair_the_fuzz_fails(mutant):
    """A mutant that drops one repair must fail the run, or the run proves nothing about it."""
    with dropped(mutant):
        told = held(120, only=mutant.faults, wishes=mutant.wishes, in_text=mutant.in_text, stop=True)
    assert told.failures


def test_every_fault_belongs_to_a_wire_and_says_how_it_ends():
    for fault in [*FAULTS.values(), *AS_TEXT_FAULTS.values()]:
        assert fault.wires and set(fault.wires) <= {OPENAI, ANTHROPIC} and fault.runs and fault.ends
    named = {name for mutant in MUTANTS for name in mutant.faults}
    assert named <= set(FAULTS) | set(AS_TEXT_FAULTS)
