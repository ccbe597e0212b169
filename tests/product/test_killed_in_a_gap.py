"""`kill -9` between consecutive commits: five gaps per role here, every gap by the long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.product.every_gap import ROLES, histogram, measure, run_trials


@pytest.mark.timeout(900)
def test_a_role_killed_in_a_gap_leaves_one_write_or_a_question(product, tmp_path: Path) -> None:
    """Point 4 of the first whole path, in its short form: five gaps per role, spread over the whole job."""
    job = measure(product.pyz, tmp_path)
    assert job.commits >= 15 and job.worker_steps == 18, job
    plans = []
    for role in ROLES:
        lives = job.alive[role]
        assert len(job.gaps(role)) >= 5, f"the {role} lives in the gaps {job.gaps(role)} only"
        plans += [(role, *lives[number * (len(lives) - 1) // 4]) for number in range(5)]
    plans += [("worker-step", step, "") for step in (2, 8, 9, 10, 11)]
    trials = run_trials(product.pyz, tmp_path, plans)
    print(histogram(trials))
    missed = [str(trial) for trial in trials if not trial.hit]
    assert not missed, f"nothing was killed: {missed}\n{trials[0].said}"
    broken = [f"{trial}\n{trial.problems}\n{trial.said}" for trial in trials if trial.problems]
    assert not broken, "\n\n".join(broken)
