"""Whatever batches come: the board's state is the one a full recomputation gives, and every proof checks.

Duty: design, "the result equals a full recomputation always"; "`explain` trees that an
independent checker re-verifies".
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.board.space import context, outcome
from rulith.board.space.nodes import AXIOM, Total
from rulith.board.space.space import Space
from rulith.rules.program import Limits
from tests.rules import naive
from tests.space.checker import claim_of, problems
from tests.space.short import copied
from tests.space.told import Rejected, Told, wrapped

VALUES = [0, 1, 2, 3, 0, 1, 2, 3, "a", True]
NAMES = {"p": [("x",), ("x", "y")], "q": [("x",), ("x", "y")], "r": [("x", "y")], "s": [("x",)], "e": [("x", "y"), ("x", "y", "z")]}
PREDICATES = [*NAMES, "t"]
VARIABLES = ["?u", "?v", "?w"]


@st.composite
def atoms(draw, values=st.sampled_from(VALUES)):
    predicate = draw(st.sampled_from(sorted(NAMES)))
    found = {"predicate": predicate, "args": {name: draw(values) for name in draw(st.sampled_from(NAMES[predicate]))}}
    return {**found, "negated": True} if draw(st.integers(0, 9)) == 0 else found


@st.composite
def literals(draw, terms):
    predicate = draw(st.sampled_from(PREDICATES))
    names = draw(st.sampled_from([*NAMES.get(predicate, [("v",), ("v", "x")]), ("x",)]))
    found = {"predicate": predicate, "args": {name: draw(st.sampled_from(terms)) for name in names}}
    return {**found, "negated": True} if draw(st.integers(0, 9)) == 0 else found


def variables(body):
    return sorted({value for literal in body for value in literal["args"].values() if isinstance(value, str) and value[0] == "?"})


@st.composite
def rules(draw):
    body = [draw(literals([*VARIABLES, *VARIABLES, 1, "a"])) for _ in range(draw(st.integers(0, 3)))]
    bound = variables(body)
    if bound and draw(st.integers(0, 2)) == 0:
        result = draw(st.sampled_from(["?n", *bound]))
        left = draw(st.sampled_from(bound))
        body += [{"predicate": draw(st.sampled_from(["add", "sub", "mul"])), "args": {"left": left, "right": draw(st.integers(0, 2)), "result": result}},
                 {"predicate": "lt", "args": {"left": result, "right": 4}}, {"predicate": "gt", "args": {"left": left, "right": -2}}]
    if bound and draw(st.integers(0, 3)) == 0:
        body.append({"predicate": "neq", "args": {"left": draw(st.sampled_from(bound)), "right": draw(st.sampled_from([*bound, 2]))}})
    if draw(st.integers(0, 2)) == 0:
        body.append({**draw(literals([*bound, 1, "a"])), "naf": True})
    heads = [draw(literals([*bound, *bound, 1])) for _ in range(draw(st.integers(1, 2)))]
    return {"op": "add_axiom", "when": draw(st.permutations(body)), "then": heads}


@st.composite
def aggregates(draw):
    source = draw(st.sampled_from(sorted(NAMES)))
    found = {"op": "derive_aggregate", "id": draw(st.sampled_from(["A", "B"])), "kind": draw(st.sampled_from(["sum", "count", "min", "max", "avg"])),
             "source": {"predicate": source, "valueArg": draw(st.sampled_from(["x", "y"]))},
             "into": {"predicate": draw(st.sampled_from(["t", "t", "s"])), "valueArg": "v"}}
    return {**found, "group_by": "x"} if draw(st.booleans()) else found


IDS = [f"n{number}" for number in range(12)]
DEPENDENCY = {"op": "assert_fact", "predicate": "functional_dependency"}


@st.composite
def operations(draw):
    kind = draw(st.sampled_from(["assert"] * 5 + ["retract", "revise", "rule", "rule", "dependency", "goal", "hypothesis", "cited"]))
    if kind == "retract":
        return {"op": "retract_node", "pick": draw(st.integers(0, 40))}
    if kind == "dependency":
        return {**DEPENDENCY, "args": {"predicate": draw(st.sampled_from(sorted(NAMES))), "key": "x"}, "id": draw(st.sampled_from(IDS))}
    if kind == "rule":
        return {**draw(rules()), "id": draw(st.sampled_from(IDS))}
    if kind == "goal":
        wanted = draw(st.lists(literals([*VARIABLES, 1, "a", 2]), min_size=1, max_size=2))
        return {"op": "declare_goal", "desired": wanted, "id": draw(st.sampled_from(IDS))}
    if kind == "hypothesis":
        return {"op": "declare_hypothesis", **draw(literals([*VARIABLES, 1, 2, 2, "a"])), "id": draw(st.sampled_from(IDS))}
    found = {"op": "assert_fact", **draw(atoms()), "id": draw(st.sampled_from(IDS))}
    if kind == "cited":
        found["evidenceRefs"] = draw(st.lists(st.sampled_from([*IDS, "elsewhere"]), max_size=2, unique=True))
    if kind == "revise":
        found.update(op="revise_fact", pick=draw(st.integers(0, 40)))
    return found


@st.composite
def batches(draw):
    found = draw(st.lists(operations(), max_size=6))
    return found + ([draw(aggregates())] if draw(st.integers(0, 2)) == 0 else [])


@st.composite
def scripts(draw):
    facts = [{"op": "assert_fact", **atom} for atom in draw(st.lists(atoms(), min_size=3, max_size=14))]
    first = [draw(rules()) for _ in range(draw(st.integers(1, 5)))]
    return [facts, first, *draw(st.lists(batches(), min_size=1, max_size=6))]


def resolved(batch, model, numbers):
    """Picks become ids of nodes that are there (now and then of none), taken ids become fresh ones."""
    here = [key for key in model.nodes if isinstance(key, str)]
    found, seen = [], set()
    for operation in batch:
        operation = dict(operation)
        if "pick" in operation:
            pick = operation.pop("pick")
            operation["nodeId"] = here[pick % len(here)] if here and pick < 40 else "nobody"
        if operation["op"] not in ("retract_node", "derive_aggregate"):
            node_id = operation.get("id")
            if node_id is None or node_id in seen or node_id in model.nodes:
                operation["id"] = f"m{next(numbers)}"
            seen.add(operation["id"])
        found.append(operation)
    return found


def check(space, model):
    state = outcome.state(space)
    rows = {(row[0], row[2] == "-", wrapped(row[1])): row for row in state["facts"]}
    assert set(rows) == model.held and len(rows) == len(state["facts"])
    stated = set(model.base())
    for said, row in rows.items():
        assert row[3] == "derived" or said in stated
    assert {(row["predicate"], wrapped(row["args"])) for row in state.get("contradictions", [])} == model.contradictions()
    conflicts = {(row["predicate"], frozenset(map(wrapped, row["values"]))) for row in state.get("functionalConflicts", [])}
    assert conflicts == {(predicate, frozenset(one[2] for one in facts)) for predicate, facts in naive.conflicts(model.held)}
    goals = [all(naive.holds(literal, model.held) for literal in node["desired"]) for node in model.nodes.values() if node["kind"] == "goal"]
    assert sorted(row["satisfied"] for row in state.get("goals", [])) == sorted(goals)
    verdicts = [model.verdict(node) for node in model.nodes.values() if node["kind"] == "hypothesis"]
    assert sorted(row["status"] for row in state.get("hypotheses", [])) == sorted(verdicts)
    totals = [node.semantic for node in space.of_type(AXIOM) if isinstance(node.semantic, Total)]
    assert sorted(t.withdrawn for t in totals) == sorted(not node["live"] for node in model.nodes.values() if node["kind"] == "total")
    check_proofs(space, model, state, rows)


def check_proofs(space, model, state, rows):
    direct = {(p, n, a) for p, a in model.contradictions() for n in (False, True)}
    direct |= {one for _, facts in naive.conflicts(model.held) for one in facts}
    for view in space.facts():
        proof = space.explain(view.atom)
        assert problems(proof, model) == []
        disputed = rows[claim_of(proof)][4:] == ["disputed"]
        assert disputed >= (claim_of(proof) in direct)
        if proof.children and claim_of(proof) not in set(model.base()):
            assert disputed == (claim_of(proof) in direct or any(rows[claim_of(child)][4:] for child in proof.children))


def play(script):
    numbers = itertools.count()
    space, model, accepted = Space("s", limits=Limits(rounds=200)), Told(), []
    for batch in script:
        batch = resolved(batch, model, numbers)
        before = outcome.state(space), space.program.closure_digest()
        try:
            model.apply(batch)
            wanted = "accepted"
        except Rejected as rejected:
            wanted = str(rejected)
        try:
            space.apply(batch, at="now", mint=lambda prefix: f"{prefix}{next(numbers)}")
            got = "accepted"
            accepted.append(batch)
        except Refused as refused:
            got = refused.code
            after = outcome.state(space)
            assert [(name, after.get(name), before[0].get(name)) for name in {**after, **before[0]} if after.get(name) != before[0].get(name)] == []
            assert space.program.closure_digest() == before[1]
        assert (got == "accepted") == (wanted == "accepted"), (got, wanted, batch)
        check(space, model)
    return space, model, accepted


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_a_board_equals_a_full_recomputation_after_every_batch(script):
    play(script)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_a_copy_and_a_replay_without_refused_batches_hold_the_same(script):
    """Duty: design D7, a board is a fold of what it accepted; what was refused, and what was read, left no trace."""
    space, model, accepted = play(script)
    check(copied(space), model)
    replay = Space("s", limits=Limits(rounds=200))
    for batch in accepted:
        replay.apply(batch, at="now", mint=str)
    assert context.data(replay) == context.data(space)
    assert context.text(replay) == context.text(space)


@pytest.mark.parametrize("value", [True, 1, "1", "a"])
def test_the_model_tells_booleans_from_numbers(value):
    other = not value if isinstance(value, bool) else True
    assert naive.under({"predicate": "p", "args": {"x": value}}, {}) != naive.under({"predicate": "p", "args": {"x": other}}, {})
