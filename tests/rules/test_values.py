"""Values that nothing holds any more are forgotten, and nobody can tell from outside.

Duty: design, memory over 100,000 calls is bounded; a replay equals the first run.
"""

from __future__ import annotations

import random

import pytest

from rulith.base.limits import VALUES_FRESH_MIN
from rulith.rules import values
from rulith.rules.program import Program
from rulith.rules.terms import Atom, Literal, Rule


def rule(name, when, then):
    return Rule(name, name, tuple(when), tuple(then))


RULES = [
    rule("reach", [Literal.of("edge", {"a": "?x", "b": "?y"})], [Literal.of("path", {"a": "?x", "b": "?y"})]),
    rule("further", [Literal.of("path", {"a": "?x", "b": "?y"}), Literal.of("edge", {"a": "?y", "b": "?z"})],
         [Literal.of("path", {"a": "?x", "b": "?z"})]),
    rule("sum", [Literal.of("edge", {"a": "?x", "b": "?y"}), Literal.of("add", {"left": "?x", "right": "?y", "result": "?s"})],
         [Literal.of("sum", {"of": "?x", "is": "?s"})]),
    rule("lonely", [Literal.of("edge", {"a": "?x", "b": "?y"}), Literal.of("path", {"a": "?y", "b": "?x"}, naf=True)],
         [Literal.of("lonely", {"a": "?x", "why": "no way back"})]),
]


class Stop(Exception):
    """Takes a transaction back."""


def seen(program: Program) -> tuple:
    """Everything that can be told from outside, order and proofs included."""
    facts = list(program.facts())
    proofs = [str(program.support(atom)) for atom in facts]
    ways = list(program.solve([Literal.of("path", {"a": "?p", "b": "?q"}), Literal.of("add", {"left": "?p", "right": 1, "result": "?r"})]))
    return [atom.text() for atom in facts], proofs, ways, program.closure_digest(), program.steps


def numbering(program: Program) -> tuple:
    table = program._engine.values
    return list(table.of), dict(table.ids), list(table._free), table.encoded()


def play(program: Program, dice: random.Random, turn: int) -> bool:
    """One transaction of new and old values, perhaps with a trial inside; False where it was taken back."""
    known = list(program.facts("edge"))
    try:
        with program.transaction() as tx:
            for atom in dice.sample(known, min(len(known), dice.randrange(7))):
                tx.retract_fact(atom)
            for _ in range(dice.randrange(1, 4)):
                a, b = dice.choice([turn * 100, turn * 100 + 1, 7, 2.5]), dice.choice([turn * 100 + 2, 8, turn])
                tx.assert_fact(Atom.of("edge", {"a": a, "b": b}))
            tx.close()
            if dice.random() < 0.3:
                with tx.trial():
                    tx.assert_fact(Atom.of("edge", {"a": turn * 100 + 50, "b": 7}))
                    tx.close()
            if dice.random() < 0.2:
                raise Stop
    except Stop:
        return False
    return True


def fresh() -> Program:
    program = Program()
    with program.transaction() as tx:
        for each in RULES:
            tx.add_rule(each)
    return program


@pytest.mark.parametrize("seed", range(12))
def test_a_program_that_forgets_at_every_turn_holds_what_one_does_that_never_forgets(monkeypatch, seed):
    ordinary = fresh()
    monkeypatch.setattr(values, "VALUES_FRESH_MIN", 1)
    forgetful = fresh()
    one, other = random.Random(seed), random.Random(seed)
    for turn in range(60):
        play(ordinary, one, turn)
        play(forgetful, other, turn)
        held = [{atom.text() for atom in program.facts()} for program in (ordinary, forgetful)]
        assert held[0] == held[1] and ordinary.closure_digest() == forgetful.closure_digest(), f"seed {seed}, turn {turn}"
    assert len(ordinary._engine.values.of) > 2 * len(forgetful._engine.values.of)


@pytest.mark.parametrize("seed", range(12))
def test_a_replay_without_what_was_taken_back_is_the_same_to_the_order_and_the_steps(monkeypatch, seed):
    monkeypatch.setattr(values, "VALUES_FRESH_MIN", 1)
    first, replay, dice = fresh(), fresh(), random.Random(seed)
    for turn in range(60):
        again = random.Random()
        again.setstate(dice.getstate())
        if play(first, dice, turn):
            play(replay, again, turn)
            assert seen(first) == seen(replay), f"seed {seed}, turn {turn}"
    for program in (first, replay):
        with program.transaction():
            pass
    assert numbering(first) == numbering(replay)


@pytest.mark.parametrize("seed", range(4))
def test_a_transaction_that_is_taken_back_leaves_every_number_as_it_was(monkeypatch, seed):
    monkeypatch.setattr(values, "VALUES_FRESH_MIN", 3)
    program, dice = fresh(), random.Random(seed)
    for turn in range(60):
        play(program, dice, turn)
        with program.transaction():
            pass                            # forgets what is to be forgotten
        before = numbering(program)
        with pytest.raises(Stop), program.transaction() as tx:
            for n in range(5):
                tx.assert_fact(Atom.of("edge", {"a": f"new {n}", "b": turn * 100 + n}))
            raise Stop
        assert numbering(program) == before


def test_one_fact_for_another_again_and_again_keeps_no_more_values_than_hold():
    program, last = Program(), None
    for n in range(3 * VALUES_FRESH_MIN):
        with program.transaction() as tx:
            if last is not None:
                tx.retract_fact(last)
            last = Atom.of("reading", {"sensor": f"s{n % 17}", "value": n})
            tx.assert_fact(last)
    table = program._engine.values
    assert len(table.of) <= VALUES_FRESH_MIN + 64 and len(table._given) <= VALUES_FRESH_MIN + 64
    assert [atom.text() for atom in program.facts()] == [last.text()]
