"""Compiled rules: layers, plain Python and SQL give what the closure gives.

Duty: the reasoning board, "Stages and compilation"; board-suspects `sus-compile-goal`, `sus-stages-builtins`.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.board.space import actions, compile, sql
from tests.space.short import AT, board, facts, tell, texts


def derived(space):
    return {atom for atom in space.program.derived() if atom not in space.supports}


def run(space, goal=None, aggregates=None):
    return compile.compile_pipeline(space, goal, aggregates).run(compile.stated_facts(space))


def in_sqlite(space, goal=None, aggregates=None):
    """What the views hold, as {predicate: set of rows}; booleans are 1 and 0 there."""
    compiled = sql.compile_sql(space, goal, aggregates)
    database = sqlite3.connect(":memory:")
    for statement in (*compiled.statements, *compiled.inserts(compile.stated_facts(space))):
        database.execute(statement)
    found = {}
    for view in compiled.views:
        rows = database.execute(f'SELECT {", ".join(map(sql._quoted, view.columns))} FROM {sql._quoted(view.predicate)}').fetchall()
        assert len(rows) == len(set(rows)), "a fact is one row"
        found[view.predicate] = {tuple((name, value) for name, value in zip(view.columns, row) if value is not None and name != "_") for row in rows}
    return found


def rows_of(space, predicates):
    """The same from the closure."""
    return {predicate: {tuple((name, int(value) if isinstance(value, bool) else value) for name, value in atom.args)
                        for atom in space.program.facts(predicate) if not atom.negated} for predicate in predicates}


# --- layers ------------------------------------------------------------------------------


def test_a_predicate_lies_above_everything_it_reads():
    space = board("R1: b(x=?x) <- a(x=?x)", "R2: c(x=?x) <- b(x=?x), naf d(x=?x)", "R3: d(x=?x) <- a(x=?x)", "R4: e(x=?x) <- c(x=?x), a(x=?x)")
    found = compile.stages(space, "e")
    assert found.base_inputs == ("a",) and found.groups == ((1, ("b", "d")), (2, ("c",)), (3, ("e",)))
    assert compile.layered(space, "b").layers == ((1, ("b",)),)


def test_stages_of_recursive_rules_end():
    space = board("R1: path(a=?x, b=?y) <- edge(a=?x, b=?y)", "R2: path(a=?x, b=?z) <- path(a=?x, b=?y), edge(a=?y, b=?z)", "R3: far(a=?x) <- path(a=?x, b=?y)")
    found = compile.stages(space, "far")
    assert found.base_inputs == ("edge",) and found.groups == ((1, ("path",)), (2, ("far",)))


def test_both_signs_of_a_predicate_enter_its_stage():
    space = board("R1: not p(x=?x) <- q(x=?x), naf p(x=?x)", "R2: r(x=?x) <- not p(x=?x)")
    assert compile.stages(space, "r").groups == ((1, ("p",)), (2, ("r",)))


def test_a_stage_reads_through_aggregates():
    space = board("m(v=1)", "R: big(v=?v) <- t(v=?v), gt(left=?v, right=10)",
                  {"op": "derive_aggregate", "id": "T", "source": {"predicate": "m", "valueArg": "v"}, "into": {"predicate": "t", "valueArg": "v"}})
    assert compile.stages(space, "big").groups == ((1, ("t",)), (2, ("big",)))


@pytest.mark.parametrize("rule, problem", [
    ("R: q(x=?y) <- p(x=?x), add(left=?x, right=1, result=?y)", "computes"),
    ("R: q(x=?y) <- p(x=?x), concat(left=?x, right=a, result=?y)", "computes"),
    ("R: q(x=?x) <- not p(x=?x)", "strong negation"),
    ("R: not q(x=?x) <- p(x=?x)", "strong negation"),
    ("R: q(x=?x) <- p(x=?x), naf not r(x=?x)", "strong negation"),
    ("R: p(x=?x, y=?z) <- p(x=?x, y=?y), e(y=?y, z=?z)", "itself"),
])
def test_what_does_not_fit_is_refused_by_name(rule, problem):
    space = board(rule, "S: fine(x=?x) <- base(x=?x)")
    for call in (compile.compile_pipeline, sql.compile_sql):
        with pytest.raises(Refused) as refused:
            call(space)
        assert refused.value.code == "NOT_COMPILABLE" and "rule R" in str(refused.value) and problem in str(refused.value)
    assert compile.compile_pipeline(space, "fine").layers == ((1, ("fine",)),)


@pytest.mark.parametrize("aggregates, problem", [
    ([{"target": "t", "outArg": "v", "source": "m", "kind": "avg", "valueArg": "v"}], "avg"),
    ([{"target": "t", "outArg": "v", "source": "m", "kind": "sum"}], "valueArg"),
    ([{"target": "q", "outArg": "v", "source": "m", "kind": "count"}], "rules conclude q"),
    ([{"target": "t", "outArg": "n", "source": "m", "kind": "count"}] * 2, "another aggregate"),
    ([{"target": "p", "outArg": "n", "source": "q", "kind": "count"}], "itself"),
    ([{"target": "t", "outArg": "g", "source": "m", "kind": "count", "groupBy": "g"}], "both g"),
    ([{"target": "t", "outArg": "n"}], "source"), ("x", "list"), ([1], "object"), ([{"target": "t", "outArg": "n", "source": "m", "where": 1}], "where"),
])
def test_an_aggregate_that_does_not_fit_is_refused(aggregates, problem):
    with pytest.raises(Refused) as refused:
        compile.layered(board("R: q(x=?x) <- p(x=?x)"), None, aggregates)
    assert refused.value.code == "NOT_COMPILABLE" and problem in str(refused.value)


# --- the same as the closure -------------------------------------------------------------

_numbers = st.sampled_from(["1", "2", "3.5"])
_texts = st.sampled_from(["a", "ab", "O'Hara"])
_stated = st.one_of(
    st.builds("p(n={}, t={})".format, _numbers, _texts), st.builds("p(n={})".format, _numbers), st.builds("q(n={}, t={})".format, _numbers, _texts),
    st.builds("r(t={})".format, _texts), st.builds("flag(b={})".format, st.sampled_from(["true", "false"])), st.just("done()"),
)
_body = {
    0: ["p(n=?n, t=?t)", "p(n=?n, t=?t), q(n=?n)", "q(n=?n, t=?t), r(t=?t)", "p(n=?n, t=?t), q(n=?m, t=?t)", "p(t=?t, n=?n), done()", "q(n=?n, t=?t), flag(b=true)"],
    1: ["a(n=?n, t=?t)", "a(n=?n, t=?t), p(n=?n)", "q(n=?n, t=?t), naf a(n=?n)", "a(n=?n, t=?t), naf r(t=?t)"],
    2: ["b(n=?n), p(n=?n, t=?t)", "a(n=?n, t=?t), naf b(n=?n)", "b(n=?n, t=?t)"],
}
_guards = ["", ", gt(left=?n, right=1)", ", lte(left=?n, right=2)", ", between(value=?n, low=1, high=2)", ", contains(left=?t, right=a)", ", neq(left=?t, right=a)", ", eq(left=?n, right=2)", ", lt(left=?t, right=3)"]
_heads = {0: ["a(n=?n, t=?t)", "a(n=?n)"], 1: ["b(n=?n)", "b(n=?n, t=?t)", "b(n=?n, k=x)"], 2: ["c(t=?t)", "c()"]}


@st.composite
def programs(draw):
    rules = []
    for layer in (0, 1, 2):
        for _ in range(draw(st.integers(0, 2))):
            guard = draw(st.sampled_from([g for g in _guards if "lt(left=?t" not in g]))
            rules.append(f"{draw(st.sampled_from(_heads[layer]))} <- {draw(st.sampled_from(_body[layer]))}{guard}")
    stated = draw(st.lists(_stated, max_size=10))
    extra = draw(st.lists(st.builds("a(n={}, t={})".format, _numbers, _texts), max_size=2))
    return [*stated, *extra, *(f"R{number}: {rule}" for number, rule in enumerate(rules))]


@settings(max_examples=60, deadline=None)
@given(programs(), st.sampled_from([None, "a", "b", "c", "nothing"]))
def test_python_and_sql_conclude_what_the_closure_concludes(program, goal):
    space = board(*program)
    layers = compile.layered(space, goal)
    wanted = derived(space) if goal is None else {atom for atom in derived(space) if atom.predicate in layers.concluded}
    assert set(run(space, goal)) == wanted
    assert in_sqlite(space, goal) == rows_of(space, layers.concluded)


AGGREGATES = [
    {"target": "total", "outArg": "v", "source": "sale", "valueArg": "v", "kind": "sum", "groupBy": "r"},
    {"target": "some", "outArg": "n", "source": "sale", "kind": "count", "where": {"arg": "r", "equals": "north"}},
    {"target": "low", "outArg": "v", "source": "sale", "valueArg": "v", "kind": "min"},
    {"target": "high", "outArg": "v", "source": "sale", "valueArg": "v", "kind": "max", "where": {"arg": "r", "equals": "nowhere"}},
]


def test_aggregates_are_recomputed_by_group_and_filter_and_say_nothing_about_nothing():
    space = board("sale(r=north, v=1)", "sale(r=north, v=2)", "sale(r=south, v=4)", "R: rich(r=?r) <- total(r=?r, v=?v), gt(left=?v, right=3)")
    found = texts(run(space, None, AGGREGATES))
    assert sorted(found) == ["low(v=1)", "rich(r=south)", "some(n=2)", "total(r=north, v=3)", "total(r=south, v=4)"]
    rows = in_sqlite(space, None, AGGREGATES)
    assert rows["total"] == {(("r", "north"), ("v", 3)), (("r", "south"), ("v", 4))} and rows["high"] == set()
    assert rows["some"] == {(("n", 2),)} and rows["low"] == {(("v", 1),)} and rows["rich"] == {(("r", "south"),)}


def test_the_boards_own_aggregates_are_compiled_as_definitions():
    space = board("m(id=a, v=1)", "m(id=b, v=2)", "R: double(v=?v) <- t(v=?v)",
                  {"op": "derive_aggregate", "id": "T", "source": {"predicate": "m", "valueArg": "v"}, "into": {"predicate": "t", "valueArg": "v"}})
    compiled = compile.compile_pipeline(space)
    assert set(compiled.run(compile.stated_facts(space))) == derived(space)
    tell(space, "m(id=c, v=4)")     # the board withdraws its total, the pipeline computes a new one
    assert "t(v=7)" in texts(compiled.run(compile.stated_facts(space)))


@pytest.mark.parametrize("values, total", [
    (["9007199254740991", "1", "-1"], ["t(v=9007199254740991)"]), (["9007199254740991", "1"], []), (["0.5", "0.25"], ["t(v=0.75)"]),
])
def test_compiled_totals_are_exact_or_absent(values, total):
    space = board(*(f"m(id=i{n}, v={value})" for n, value in enumerate(values)))
    assert texts(run(space, None, [{"target": "t", "outArg": "v", "source": "m", "valueArg": "v"}])) == total


def test_a_compiled_total_over_text_is_refused():
    with pytest.raises(Refused) as refused:
        run(board("m(id=a, v=x)"), None, [{"target": "t", "outArg": "v", "source": "m", "valueArg": "v"}])
    assert refused.value.code == "AGGREGATE_NON_NUMERIC" and "m(id=a, v=x)" in str(refused.value)


def test_typed_identity_survives_in_python():
    space = board("p(x=1)", "p(x=true)", "p(x=01)", "R: one(x=?x) <- p(x=?x), eq(left=?x, right=1)", "S: other(x=?x) <- p(x=?x), naf one(x=?x)")
    assert set(run(space)) == derived(space)


def test_a_repeated_variable_in_one_literal_is_compared():
    space = board("e(a=1, b=1)", "e(a=1, b=true)", "e(a=2, b=1)", "R: loop(a=?x) <- e(a=?x, b=?x)")
    assert set(run(space)) == derived(space)
    assert texts(run(space)) == ["loop(a=1)"]


def test_long_bodies_compile():
    """Python nests no more than twenty loops; a chain of steps needs none."""
    chain = ", ".join(f"e(a=?v{n}, b=?v{n + 1})" for n in range(30))
    space = board(*(f"e(a={n}, b={n + 1})" for n in range(31)), f"R: far(a=?v0, b=?v30) <- {chain}")
    assert set(run(space)) == derived(space) and len(derived(space)) == 2


def test_the_compiled_text_says_nothing_but_what_the_rules_say():
    """Names and values from rules are literals in it, whatever they hold."""
    evil, worse = 'x"\'__import__("os")\\', 'x"\'\n__import__("os")\\'     # a name shows what it is; a value may hold any text
    space = board({"op": "assert_fact", "predicate": evil, "args": {evil: worse}},
                  {"op": "add_axiom", "id": evil, "label": evil, "when": [{"predicate": evil, "args": {evil: "?" + evil}}],
                   "then": [{"predicate": evil + "2", "args": {evil: "?" + evil, "c": worse}}]},
                  {"op": "define_action", "id": "A", "action": evil, "preconditions": [{"predicate": evil, "args": {evil: "?" + evil}}],
                   "effects": [{"predicate": evil + "3", "args": {evil: "?" + evil}}]})
    assert set(run(space)) == derived(space) and len(derived(space)) == 1
    assert compile.compile_action(space, "A").run(compile.stated_facts(space)).applied
    assert in_sqlite(space)[evil + "2"] == {(("c", worse), (evil, worse))}


def test_the_compiled_text_runs_alone(tmp_path):
    space = board("sale(r=a, v=1)", "sale(r=a, v=2)", "R: rich(r=?r) <- total(r=?r, v=?v), gt(left=?v, right=2)")
    source = compile.compile_pipeline(space, None, AGGREGATES[:1]).source
    (tmp_path / "alone.py").write_text(source + '\nprint(derive([("sale", {"r": "a", "v": 1}), ("sale", {"r": "a", "v": 2})]))\n', "utf-8")
    done = subprocess.run([sys.executable, "-I", "alone.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[('total', {'v': 3, 'r': 'a'}), ('rich', {'r': 'a'})]", done.stderr


def test_a_compiled_run_is_bounded(monkeypatch):
    monkeypatch.setattr(compile, "SEARCH_WORK_MAX", 1_000)
    space = board(*(f"a(x={n})" for n in range(50)), "R: hit(x=?x) <- a(x=?x), a(x=?y), gt(left=?y, right=100)")
    with pytest.raises(Refused) as refused:
        run(space)
    assert refused.value.code == "resource_limit"


# --- actions -----------------------------------------------------------------------------

_plain = st.builds("{}(a={})".format, st.sampled_from("pqr"), st.sampled_from(["1", "2", "x"]))
_effects = st.lists(st.builds("{}{}(a={})".format, st.sampled_from(["", "not "]), st.sampled_from("pqr"), st.sampled_from(["?x", "1"])), max_size=3)


@settings(max_examples=40, deadline=None)
@given(st.lists(_plain, max_size=6), st.sampled_from(["p(a=?x)", "p(a=?x), q(a=?y)", "q(a=?x), naf r(a=?x)", "p(a=?x), neq(left=?x, right=1)"]), _effects)
def test_a_compiled_action_changes_the_facts_that_applying_changes(stated, preconditions, effects):
    space = board(*stated, f"A! {preconditions} => {', '.join(effects)}")
    outcome = compile.compile_action(space, "A").run(compile.stated_facts(space))
    done = actions.apply_action(space, "A", at=AT, mint=space.mint_for_tests)
    assert (outcome.applied, outcome.candidates) == (done.applied, done.match.candidates)
    assert outcome.added == done.produced and outcome.removed == done.consumed
    assert {atom.text() for atom in outcome.facts} == {view.atom.text() for view in space.facts()}
    if done.applied:
        assert outcome.binding == done.match.binding


def test_a_compiled_action_reads_conclusions_and_consumes_none():
    space = board("p(x=1)", "R: q(x=?x) <- p(x=?x)", "A! q(x=?x) => not q(x=?x), spent(x=?x)")
    found = compile.compile_action(space, "A").run(compile.stated_facts(space), compile.concluded_facts(space))
    assert texts(found.added) == ["spent(x=1)"] and found.removed == ()


@pytest.mark.parametrize("precondition", ["add(left=1, right=1, result=2)", "not p(x=1)"])
def test_an_action_that_computes_or_negates_is_refused(precondition):
    with pytest.raises(Refused) as refused:
        compile.compile_action(board(f"A! {precondition} => q(x=1)"), "A")
    assert refused.value.code == "NOT_COMPILABLE"


# --- SQL ---------------------------------------------------------------------------------


def test_what_is_stated_and_concluded_is_a_view_over_a_table_of_its_own():
    space = board("a(x=1)", "b(x=2)", "R: b(x=?x) <- a(x=?x)", "S: c(x=?x) <- b(x=?x)", "b__stated(x=9)", "T: d(x=?x) <- b__stated(x=?x)")
    compiled = sql.compile_sql(space)
    assert [(table.predicate, table.name) for table in compiled.tables] == [("a", "a"), ("b", "b__stated_"), ("b__stated", "b__stated")]
    assert in_sqlite(space) == rows_of(space, ["b", "c", "d"])
    assert "b(x=2)[a]" in facts(space)


def test_postgres_has_typed_columns_and_never_compares_across_types():
    space = board("t(n=1, s=a, b=true, m=1)", "t(n=2, m=x)", "R: same(n=?x) <- t(n=?x, s=?x)", "S: big(s=?s) <- t(s=?s, b=?b), gt(left=?s, right=1)",
                  "U: u(v=?n) <- t(n=?n)", "V: u(v=?b) <- t(b=?b)", "W: w(n=?n, k=1) <- t(n=?n), naf v(z=?n)", "X: w(n=?n) <- t(n=?n)")
    found = sql.compile_sql(space, dialect="postgres")
    assert found.column_types["t"] == {"b": "boolean", "m": "text", "n": "numeric", "s": "text"} and found.column_types["v"] == {"z": "text"}
    views = {statement.split('"')[1]: statement for statement in found.statements}
    assert views["t"] == 'CREATE TABLE "t" ("b" BOOLEAN, "m" TEXT, "n" NUMERIC, "s" TEXT)'
    assert "FALSE" in views["same"] and "FALSE" in views["big"]
    assert "CAST" in views["u"] and views["u"].count("AS TEXT") == 2
    assert "CAST(NULL AS NUMERIC)" in views["w"] and 'n."z" = CAST(t1."n" AS TEXT)' in views["w"]
    assert found.inserts(compile.stated_facts(space))[1] == 'INSERT INTO "t" ("b", "m", "n", "s") VALUES (NULL, \'x\', 2, NULL)'


def test_postgres_and_standard_search_texts_their_own_way():
    space = board("t(s=abc)", "R: hit(s=?s) <- t(s=?s), contains(left=?s, right=b)")
    assert "INSTR(" in sql.compile_sql(space).text and "STRPOS(" in sql.compile_sql(space, dialect="postgres").text


@pytest.mark.parametrize("texts_, dialect, problem", [
    (["R: q(x=?x) <- p(x=?x)"], "mysql", "dialect"), (["R: q(A=?x) <- p(x=?x)", "S: q(a=?x) <- p(x=?x)"], "standard", "case"),
    (["R: Q(x=?x) <- q(x=?x)"], "standard", "case"), ([f"R: {'q' * 64}(x=?x) <- p(x=?x)"], "postgres", "name"),
    (['R: q(x="a\\u0000b") <- p(x=?x)'], "standard", "zero"),
])
def test_what_sql_cannot_say_is_refused(texts_, dialect, problem):
    with pytest.raises(Refused) as refused:
        sql.compile_sql(board(*texts_), dialect=dialect)
    assert refused.value.code == "NOT_COMPILABLE" and problem in str(refused.value)
