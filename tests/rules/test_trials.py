"""A trial inside a transaction leaves no trace, however deep it is nested."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.rules.program import Program
from rulith.rules.terms import Atom, Literal, Rule


def rule(name, when, then):
    return Rule(name, name, tuple(when), tuple(then))


RULES = [
    rule("reach", [Literal.of("edge", {"a": "?x", "b": "?y"})], [Literal.of("path", {"a": "?x", "b": "?y"})]),
    rule("further", [Literal.of("path", {"a": "?x", "b": "?y"}), Literal.of("edge", {"a": "?y", "b": "?z"})],
         [Literal.of("path", {"a": "?x", "b": "?z"})]),
    rule("lost", [Literal.of("node", {"n": "?n"}), Literal.of("path", {"a": 0, "b": "?n"}, naf=True)], [Literal.of("lost", {"n": "?n"})]),
    rule("tag", [Literal.of("odd", {"v": "?v"}), Literal.of("concat", {"left": "m", "right": "?v", "result": "?t"})],
         [Literal.of("tag", {"t": "?t"})]),
]


def seen(program):
    """Everything that can be told from outside, order included."""
    return [atom.text() for atom in program.facts()], program.closure_digest(), program.base_count, program.derived_count


def prepared():
    program = Program()
    with program.transaction() as tx:
        for each in RULES:
            tx.add_rule(each)
        for n in range(5):
            tx.assert_fact(Atom.of("node", {"n": n}))
        for a, b in ((0, 1), (1, 2), (3, 4)):
            tx.assert_fact(Atom.of("edge", {"a": a, "b": b}))
    return program


edges = st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans())
steps = st.recursive(st.lists(edges, max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=8)


def run(program, tx, step):
    """Lists of edges are changes, lists of lists are trials with a look around before and after."""
    for part in step:
        if isinstance(part, tuple):
            a, b, adds = part
            (tx.assert_fact if adds else tx.retract_fact)(Atom.of("edge", {"a": a, "b": b}))
        else:
            tx.close()
            before = seen(program)
            with tx.trial():
                run(program, tx, part)
            assert seen(program) == before
    tx.close()


@settings(max_examples=60, deadline=None)
@given(steps)
def test_nested_trials_leave_everything_as_it_was(step):
    program = prepared()
    before = seen(program)
    with program.transaction() as tx:
        with tx.trial():
            run(program, tx, step)
        assert seen(program) == before
    assert seen(program) == before
    with program.transaction() as tx:      # and it still works
        tx.assert_fact(Atom.of("edge", {"a": 2, "b": 3}))
    assert program.holds(Atom.of("path", {"a": 0, "b": 4}))


def test_a_refusal_inside_a_trial_ends_with_the_trial():
    program = prepared()
    before = seen(program)
    with program.transaction() as tx:
        with pytest.raises(Refused) as refused, tx.trial():
            tx.assert_fact(Atom.of("odd", {"v": 1.5}))
            tx.close()
        assert refused.value.code == "CONCAT_OPERAND"
        assert seen(program) == before
        tx.assert_fact(Atom.of("odd", {"v": 2}))
        tx.close()
        assert program.holds(Atom.of("tag", {"t": "m2"}))


def test_what_is_pending_belongs_to_no_trial():
    program = prepared()
    with pytest.raises(AssertionError, match="close before"), program.transaction() as tx:
        tx.assert_fact(Atom.of("edge", {"a": 4, "b": 0}))
        with tx.trial():
            pass


def test_a_trial_follows_a_transaction_that_was_rolled_back():
    """A rollback that took a rule away leaves the strata to be worked out anew."""
    program = prepared()
    with pytest.raises(KeyError), program.transaction() as tx:
        tx.remove_rule("lost")
        tx.close()
        raise KeyError
    before = seen(program)
    with program.transaction() as tx:
        with tx.trial():
            tx.assert_fact(Atom.of("edge", {"a": 2, "b": 3}))
            tx.close()
            assert not program.holds(Atom.of("lost", {"n": 4}))
        assert seen(program) == before
        assert program.holds(Atom.of("lost", {"n": 4}))
