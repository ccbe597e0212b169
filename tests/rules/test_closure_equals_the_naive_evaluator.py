"""Whatever is asserted, retracted, added or removed: the closure equals a full recomputation.

Duty: design, "the result equals a full recomputation always".
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.rules.program import Program
from rulith.rules.terms import Atom, Literal, Rule
from tests.rules.checker import as_fact, problems
from tests.rules.naive import closure

VALUES = [0, 1, 2, 3, "a", True]
NAMES = {"p": [("x",), ("x", "y")], "q": [("x",), ("x", "y")], "r": [("x", "y")], "s": [("x",)], "e": [("x", "y"), ("x", "y", "z")]}
VARIABLES = ["?u", "?v", "?w"]


@st.composite
def atoms(draw):
    predicate = draw(st.sampled_from(sorted(NAMES)))
    names = draw(st.sampled_from(NAMES[predicate]))
    return Atom.of(predicate, {name: draw(st.sampled_from(VALUES)) for name in names}, draw(st.integers(0, 9)) == 0)


@st.composite
def literals(draw, terms, naf=False):
    predicate = draw(st.sampled_from(sorted(NAMES)))
    names = draw(st.sampled_from([*NAMES[predicate], ("x",)]))
    args = {name: draw(st.sampled_from(terms)) for name in names}
    return Literal.of(predicate, args, draw(st.integers(0, 9)) == 0, naf)


@st.composite
def rules(draw, rule_id):
    body = [draw(literals([*VARIABLES, *VARIABLES, 1, "a"])) for _ in range(draw(st.integers(0, 3)))]
    bound = sorted({name for literal in body for name in literal.variables()})
    if bound and draw(st.integers(0, 2)) == 0:
        name = draw(st.sampled_from(["add", "sub", "mul"]))
        body.append(Literal.of(name, {"left": draw(st.sampled_from(bound)), "right": draw(st.integers(0, 2)), "result": draw(st.sampled_from(["?n", *bound]))}))
        body.append(Literal.of("lt", {"left": body[-1].get("result"), "right": 4}))
        body.append(Literal.of("gt", {"left": body[-1].get("left"), "right": -2}))
        bound = sorted({*bound, body[-1].get("left")})
    if bound and draw(st.integers(0, 3)) == 0:
        body.append(Literal.of("neq", {"left": draw(st.sampled_from(bound)), "right": draw(st.sampled_from([*bound, 2]))}))
    if draw(st.integers(0, 2)) == 0:
        body.append(draw(literals([*bound, 1, "a"], naf=True)))
    heads = [draw(literals([*bound, *bound, 1])) for _ in range(draw(st.integers(1, 2)))]
    order = draw(st.permutations(body))
    return Rule(rule_id, rule_id, tuple(order), tuple(heads))


@st.composite
def scripts(draw):
    """Rules to begin with, then transactions of single changes."""
    count = draw(st.integers(1, 5))
    program = [draw(rules(f"r{n}")) for n in range(count)]
    changes = st.one_of(
        st.tuples(st.just("assert"), atoms()), st.tuples(st.just("assert"), atoms()), st.tuples(st.just("retract"), atoms()),
        st.tuples(st.just("drop"), st.integers(0, 3)), st.tuples(st.just("remove"), st.integers(0, count - 1)),
        st.tuples(st.just("add"), st.integers(0, count - 1)), st.tuples(st.just("close"), st.just(0)),
    )
    transactions = draw(st.lists(st.tuples(st.booleans(), st.lists(changes, max_size=8)), min_size=1, max_size=6))
    facts = draw(st.lists(atoms(), max_size=14))
    return program, facts, transactions


def plain(rule):
    """The rule as the naive evaluator reads it."""
    return [literal.json() for literal in rule.when], [literal.json() for literal in rule.then]


class Model:
    """Plain sets beside the Program."""

    def __init__(self, program):
        self.available = program
        self.rules = {}
        self.base = {}

    def change(self, tx, change):
        kind, what = change
        if kind == "drop":
            kind, what = ("retract", list(self.base.values())[what]) if what < len(self.base) else ("close", 0)
        if kind == "assert":
            self.base[as_fact(what)] = what
            tx.assert_fact(what)
        elif kind == "retract":
            self.base.pop(as_fact(what), None)
            tx.retract_fact(what)
        elif kind == "add" and self.available[what].id not in self.rules:
            self.rules[self.available[what].id] = self.available[what]
            tx.add_rule(self.available[what])
        elif kind == "remove" and self.available[what].id in self.rules:
            del self.rules[self.available[what].id]
            tx.remove_rule(self.available[what].id)
        elif kind == "close":
            tx.close()


def check(program, model):
    held = {as_fact(atom) for atom in program.facts()}
    assert held == closure(list(map(plain, model.rules.values())), model.base)
    for atom in program.facts():
        tree = program.explain(atom, 50, 500)
        assert problems(tree, model.rules, set(model.base), held) == []
        assert program.is_base(atom) == (as_fact(atom) in model.base)
    assert set(map(as_fact, program.contradictions())) == {(p, n, a) for p, n, a in held if not n and (p, True, a) in held}


def snapshot(program):
    return [(atom.text(), program.is_base(atom), program.support(atom)) for atom in program.facts()], program.closure_digest(), program.steps


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_closure_equals_a_full_recomputation_after_every_transaction(script):
    available, facts, transactions = script
    program, model = Program(), Model(available)
    transactions = [(False, [("add", n) for n in range(len(available))] + [("assert", atom) for atom in facts]), *transactions]
    for fails, changes in transactions:
        before = snapshot(program), dict(model.rules), dict(model.base)
        try:
            with program.transaction() as tx:
                for change in changes:
                    model.change(tx, change)
                if fails:
                    tx.close()
                    raise KeyError("planned")
        except Refused as refused:
            assert refused.code == "NOT_STRATIFIABLE", refused
            model.rules, model.base = before[1], before[2]
            assert snapshot(program) == before[0]
        except KeyError:
            model.rules, model.base = before[1], before[2]
            assert snapshot(program) == before[0]
        assert closure(list(map(plain, model.rules.values())), ()) is not None
        check(program, model)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_a_replay_without_refused_transactions_and_reads_gives_the_same_rows_in_the_same_order(script):
    """Duty: design D7, the Board is a fold of its ledger; a refused batch and a query are not in the ledger."""
    available, facts, transactions = script
    first = (False, [("add", n) for n in range(len(available))] + [("assert", atom) for atom in facts])
    live, model, accepted = Program(), Model(available), []
    for fails, changes in [first, *transactions]:
        saved = dict(model.rules), dict(model.base)
        done = []
        try:
            with live.transaction() as tx:
                for change in changes:
                    kind, what = change
                    if kind == "drop" and what < len(model.base):
                        change = "retract", list(model.base.values())[what]
                    done.append(change)
                    model.change(tx, change)
                if fails:
                    tx.close()
                    raise KeyError("planned")
            accepted.append(done)
        except (Refused, KeyError):
            model.rules, model.base = saved
        for rule in available:
            list(live.solve(rule.when))
            live.why_not(rule.then[0], 2)
    replay, model = Program(), Model(available)
    for changes in accepted:
        with replay.transaction() as tx:
            for change in changes:
                model.change(tx, change)
    assert snapshot(live) == snapshot(replay)
