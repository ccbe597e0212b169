"""What a gateway keeps in memory does not grow with the calls it has answered.

Duty: design, memory after 100,000 operations is bounded.
"""

from __future__ import annotations

import random

import pytest

from rulith.gateway.authority import CaseRows


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_of_open_cases_are_the_same_as_stretches(seed):
    dice, plain, rows = random.Random(seed), {}, CaseRows()
    for seq in range(1, 400):
        for case_id in dice.sample(["case_a", "case_b", "case_c"], dice.choice([0, 1, 1, 1, 2])):
            for _ in range(dice.choice([1, 1, 2])):
                plain.setdefault(case_id, set()).add(seq)
                rows.note(seq, case_id)
    for case_id, seqs in plain.items():
        assert rows[case_id] == seqs and rows.get(case_id) == seqs
    rows.drop("case_a")
    assert rows.get("case_a") == () and rows["case_a"] == set()


def test_one_case_at_work_costs_two_numbers():
    rows = CaseRows()
    for seq in range(1, 100_000):
        rows.note(seq, "case_a")
    assert len(rows._stretches["case_a"]) == 2
