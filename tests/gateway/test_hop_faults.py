"""Every message of the Worker hop meets every fault: at most one execution of each call, and an end that is known or a person's.

The hop's §§3.6, 9 and 19; the long form is `.ci/run --long worker`.
"""

from __future__ import annotations

import random

import pytest

from tests.gateway.hop_world import FAULTS, play_plan, seed_home


@pytest.fixture(scope="session")
def hop_home(tmp_path_factory):
    return seed_home(tmp_path_factory.mktemp("hop") / "home")


def test_an_undisturbed_job_is_done_and_each_call_ran_once(hop_home, tmp_path):
    world = play_plan({}, hop_home, tmp_path / "home")
    assert [each.state for each in world.operations()] == ["done"] * 3
    assert len(world.log) == len(set(world.log)) == 3 and not world.problems()
    assert {"sources", "Poll", "ClaimWork", "ReportWork", "RenewLease"} <= set(world.kinds), world.kinds


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_a_message_leaves_one_execution_and_an_end(fault, hop_home, tmp_path):
    """A few of the messages for each fault, another choice for each; the whole table is the long form."""
    dice = random.Random(fault)
    for number in dice.sample(range(1, 22), 2):
        world = play_plan({number: fault}, hop_home, tmp_path / "home")
        assert world.met, f"message {number} was never sent"
        assert not world.problems(), (number, world.problems())


@pytest.mark.parametrize("fault, end", [("lost", "needs_person"), ("cut", "done"), ("mute", "done")])
def test_a_receipt_that_is_lost_four_times(fault, end, hop_home, tmp_path):
    """Heard and never answered, it is done; never heard, it is a person's, and the same Worker goes on."""
    world = play_plan({"ReportWork": fault}, hop_home, tmp_path / "home")
    assert world.operations()[0].state == end and not world.problems()
    assert world.kinds.count("ReportWork") >= 4 and world.log.count(world.operations()[0].invocation) == 1
    assert len(world.processes) == 1


def test_a_machine_that_slept_over_its_claim_starts_nothing_once_another_worker_has_the_line(hop_home, tmp_path):
    world = play_plan({2: "second worker", "ClaimWork": "sleeps after"}, hop_home, tmp_path / "home")
    assert "sleeps after at ClaimWork" in world.met and len(world.processes) > 1
    assert not world.problems()
    assert any(facts.get("code") == "claim_too_late" for process in world.processes for _, facts in process.told)


def test_a_claim_that_is_never_answered_leaves_the_call_to_a_person(hop_home, tmp_path):
    world = play_plan({"ClaimWork": "cut"}, hop_home, tmp_path / "home")
    assert [each.state for each in world.operations()] == ["needs_person"] and world.log == [] and not world.problems()
