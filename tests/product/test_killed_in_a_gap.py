"""`kill -9` between consecutive commits: five gaps per role here, every gap by the long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.product.every_gap import EDGES, FIRST_GAP, ROLES, histogram, measure, run_trials


@pytest.mark.timeout(900)
def test_a_role_killed_in_a_gap_leaves_one_write_or_a_question(product, tmp_path: Path) -> None:
    """Point 4 of the first whole path, in its short form: five gaps per role, spread over the whole job."""
    commits, steps = measure(product.pyz, tmp_path)
    assert commits >= 15 and steps == 18, (commits, steps)
    plans = [(role, FIRST_GAP[role] + number * (commits - 1 - FIRST_GAP[role]) // 4, EDGES[number % 2])
             for role in ROLES for number in range(5)]
    plans += [("worker-step", step, "") for step in (2, 8, 9, 10, 11)]
    trials = run_trials(product.pyz, tmp_path, plans)
    print(histogram(trials))
    missed = [str(trial) for trial in trials if not trial.hit]
    assert not missed, f"nothing was killed: {missed}\n{trials[0].said}"
    broken = [f"{trial}\n{trial.problems}\n{trial.said}" for trial in trials if trial.problems]
    assert not broken, "\n\n".join(broken)
