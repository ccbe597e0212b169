"""Receipts of generated explorations always hold together: what the law carries is enough to derive every conclusion again.

Duty: a false alarm would teach people to ignore the true one.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.rules.terms import is_variable
from rulith.wire.terminal_receipt import check_document
from tests.receipts.office import Office
from tests.rules.test_closure_equals_the_naive_evaluator import atoms, rules

GOALS_MAX = 6


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 5).flatmap(lambda count: st.tuples(*(rules(f"r{number}") for number in range(count)))), st.lists(atoms(), max_size=12), st.data())
def test_what_is_carried_is_enough(program_rules, base, data):
    office = Office()
    case = office.open("exploration")
    try:
        office.batch(case, {"op": "assert_fact", "predicate": "p", "args": {"x": 9}}, *({"op": "assert_fact", **atom.json()} for atom in dict.fromkeys(base)),
                     *({"op": "add_axiom", "id": rule.id, "when": [each.json() for each in rule.when], "then": [each.json() for each in rule.then]}
                       for rule in program_rules))
    except Refused:
        return
    held = list(office.state.board.state.program.derived())
    wanted = data.draw(st.lists(st.sampled_from(held), max_size=GOALS_MAX, unique=True)) if held else []
    office.batch(case, {"op": "declare_goal", "desired": [{"predicate": "p", "args": {"x": 9}}]},
                 *({"op": "declare_goal", "desired": [atom.json()]} for atom in wanted if not any(is_variable(value) for _, value in atom.args)))
    document = office.close(case, "abandoned")
    assert document["world"]["omitted"] is False
    verdict = check_document(document)
    assert verdict.problems == [], verdict.problems
    assert verdict.counts.get("conclusions", 0) >= len(wanted)
