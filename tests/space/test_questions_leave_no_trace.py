"""Two boards told the same are equal, whatever one of them was asked in between.

A replay of a board's ledger sees no questions; so none may change what a later act does,
down to ids, the order of facts and the stored proofs.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.board.space import actions, outcome, plans, solver, whys
from rulith.rules.terms import read_literal
from tests.space.short import AT, board, everything, literal, tell

_value = st.sampled_from(["1", "2", "x"])
_atom = st.builds("{}(a={})".format, st.sampled_from("pqrs"), _value)
TOLD = [
    "R1: u(a=?x) <- p(a=?x), q(a=?x)", "R2: u(a=?x) <- r(a=?x)", "R3: v(a=?x) <- u(a=?x), naf s(a=?x)", "R4: w(a=?x, b=?y) <- v(a=?x), v(a=?y)",
    "R5: conflict(a=?v) <- assignment(var=?n, value=?v), naf u(a=?v)", "A0! p(a=?x) => not p(a=?x), r(a=?x)", "A1! r(a=?x), naf s(a=?x) => s(a=?x), q(a=?x)",
    "A2! u(a=?x) => not q(a=?x), not r(a=?x)", "G? v(a=1)", {"op": "declare_hypothesis", "id": "H", "predicate": "w", "args": {"a": 1, "b": 2}},
]
TOTAL = {"op": "derive_aggregate", "id": "T", "kind": "count", "source": {"predicate": "p"}, "into": {"predicate": "n", "valueArg": "n"}}
_act = st.one_of(
    st.builds(lambda atom: ("tell", atom), _atom), st.builds(lambda atom: ("tell", f"F = {atom}"), _atom), st.builds(lambda n: ("apply", f"A{n}"), st.integers(0, 2)),
    st.builds(lambda n: ("retract", n), st.integers(0, 8)), st.just(("total", None)), st.just(("solve", None)), st.builds(lambda n: ("drop", f"R{n}"), st.integers(1, 5)),
)


def act(space, what, subject):
    """What came of it, as text."""
    try:
        if what == "tell":
            return str(tell(space, subject).operations)
        if what == "apply":
            done = actions.apply_action(space, subject, at=AT, mint=space.mint_for_tests)
            return str((done.applied, done.match, done.produced, done.consumed, done.event_id))
        if what == "retract":
            stated = sorted((node for node in space.of_type("fact")), key=lambda node: node.seq)
            return str(tell(space, {"op": "retract_node", "nodeId": stated[subject % len(stated)].id}).operations) if stated else ""
        if what == "drop":
            return str(tell(space, {"op": "retract_node", "nodeId": subject}).operations)
        if what == "total":
            return str(tell(space, TOTAL).operations)
        found = solver.solve(space, [{"name": "n", "domain": ["x", 1, 2]}], at=AT, mint=space.mint_for_tests)
        return str((found.sat, found.assignment, found.nodes, found.replaced))
    except Refused as refused:
        return str(refused)


def ask(space, number):
    """Some question; answers do not matter here."""
    try:
        if number == 0:
            plans.plan_to_goal(space, 3)
        elif number == 1:
            for name in ("A0", "A1", "A2"):
                actions.simulate_action(space, name)
        elif number == 2:
            for text in ("u(a=1)", "v(a=1)", "w(a=?x, b=2)", "p(a=1)"):
                whys.what_if(space, read_literal(literal(text)))
        elif number == 3:
            solver.solve(space, [{"name": "n", "domain": [2, 1]}], commit=False, at=AT, mint=space.mint_for_tests)
        elif number == 4:
            plans.suggest_repairs(space, ["A1", "A2"])
        else:
            tell(space, "q(a=2)", {"op": "retract_node", "nodeId": "nothing"}, mint=lambda prefix: prefix + "lost")   # refused as a whole
    except Refused:
        pass


def seen(space):
    return everything(space), outcome.state(space), [outcome.proof_tree(space.explain(view.atom)) for view in space.facts()]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(_act, st.lists(st.integers(0, 5), max_size=2)), max_size=10))
def test_what_is_asked_in_between_changes_nothing_that_follows(story):
    asked, plain = board(*TOLD), board(*TOLD)
    for (what, subject), questions in story:
        for number in questions:
            ask(asked, number)
        assert act(asked, what, subject) == act(plain, what, subject)
    assert seen(asked) == seen(plain)
