"""Programs that want too much: name -> (what the board holds before, the batch that must be refused, the code).

Each is refused by a counted budget, never by a clock; benchmarks/board.py says how much
processor time each one takes until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Operation = dict


def fact(predicate: str, **args: object) -> Operation:
    return {"op": "assert_fact", "predicate": predicate, "args": args}


def rule(then: Operation, *when: Operation) -> Operation:
    return {"op": "add_axiom", "when": list(when), "then": [then]}


def lit(predicate: str, **args: object) -> Operation:
    return {"predicate": predicate, "args": args}


def naf(predicate: str, **args: object) -> Operation:
    return {"predicate": predicate, "args": args, "naf": True}


def rows(predicate: str, count: int) -> list[Operation]:
    return [fact(predicate, x=n) for n in range(count)]


def cross_product() -> list[Operation]:
    return [*rows("p", 2_000), rule(lit("all", a="?a", b="?b", c="?c"), lit("p", x="?a"), lit("p", x="?b"), lit("p", x="?c"))]


def cross_products_below_the_limit_of_each() -> list[Operation]:
    """300 x 300 stays under the bindings of one literal; hundreds of such rules conclude one fact each."""
    return [*rows("p", 300), *[rule(lit("some", n=n), lit("p", x="?a"), lit("p", x="?b"), lit("neq", left="?b", right=-n)) for n in range(400)]]


def cross_products_that_fit_nowhere() -> list[Operation]:
    return [*rows("p", 300), *[rule(lit(f"all{n}", a="?a", b="?b"), lit("p", x="?a"), lit("p", x="?b")) for n in range(50)]]


def deep_recursion() -> list[Operation]:
    return [fact("nat", n=0), rule(lit("nat", n="?m"), lit("nat", n="?n"), lit("add", left="?n", right=1, result="?m"))]


def recursion_in_pairs() -> list[Operation]:
    step = lambda **head: rule(lit("at", **head), lit("at", x="?x", y="?y"), lit("add", left="?x", right=1, result="?u"),  # noqa: E731
                               lit("add", left="?y", right=1, result="?v"))
    return [fact("at", x=0, y=0), step(x="?u", y="?y"), step(x="?x", y="?v")]


def recursion_of_squares() -> list[Operation]:
    """Every pair of known numbers makes a new one."""
    return [fact("n", v=1), rule(lit("n", v="?s"), lit("n", v="?a"), lit("n", v="?b"), lit("add", left="?a", right="?b", result="?s"))]


def million_row_join() -> list[Operation]:
    left = [fact("left", k=0, x=n) for n in range(1_000)]
    return [*left, *[fact("right", k=0, y=n) for n in range(1_000)],
            rule(lit("both", x="?x", y="?y"), lit("left", k="?k", x="?x"), lit("right", k="?k", y="?y"))]


def a_dense_closure() -> list[Operation]:
    """Every edge is there: each step finds what is known already."""
    edges = [fact("edge", a=a, b=b) for a in range(95) for b in range(95)]
    walk = [rule(lit(f"path{n}", a="?a", b="?b"), lit("edge", a="?a", b="?b")) for n in range(60)]
    return [*edges, *walk, *[rule(lit(f"path{n}", a="?a", b="?c"), lit(f"path{n}", a="?a", b="?b"), lit(f"path{n}", a="?b", b="?c")) for n in range(60)]]


def ten_thousand_rules() -> list[Operation]:
    return [rule(lit(f"c{n}", x="?x"), lit(f"b{n}", x="?x")) for n in range(10_000)]


def ten_thousand_rules_of_as_many_shapes() -> list[Operation]:
    """No two rules look alike to a compiler."""
    return [fact("p", x=1), *[rule(lit("c", x="?a"), *_shape(n)) for n in range(9_999)]]


def rules_of_as_many_shapes_as_a_board_holds() -> list[Operation]:
    """Few enough to be taken; compiling them is what takes long."""
    return [fact("p", x=1), *[rule(lit("c", x="?a"), *_shape(n)) for n in range(4_900)]]


def long_rules_of_many_shapes() -> list[Operation]:
    """Each has 31 literals, and its variables meet in another pattern: the number of the rule in base 3."""
    def body(number: int) -> Iterator[Operation]:
        yield lit("p", x="?v0", y="?v1", z="?v2")
        for place in range(30):
            number, digit = divmod(number * 7 + 1, 3)
            yield lit("p", x=f"?v{digit}", y=f"?v{(place + digit) % 3}", z=f"?v{(place * digit) % 3}")
    return [fact("p", x=1, y=1, z=1), *[rule(lit("c", x="?v0"), *body(n * 3_571)) for n in range(400)]]


def facts_and_rules_that_name_arguments_in_thousands_of_ways() -> list[Operation]:
    """Every literal is held against every set of names."""
    return [*[fact("p", **{f"a{n}": 1, "x": n}) for n in range(4_900)], *[rule(lit("q", x="?x"), lit("p", **{f"a{n}": "?x"})) for n in range(4_900)]]


def _shape(number: int) -> Iterator[Operation]:
    """Guards spell the number in base 6."""
    names, place = ("lt", "lte", "gt", "gte", "eq", "neq"), 0
    yield lit("p", x="?a")
    while number:
        number, digit = divmod(number, 6)
        place += 1
        yield lit(names[digit], left="?a", right=place)


def a_tower_of_absences() -> list[Operation]:
    """Each rule waits for the one before it: thousands of strata, top first."""
    return [rule(lit(f"s{n}", x="?x"), lit("p", x="?x"), naf(f"s{n - 1}", x="?x")) for n in range(6_000, 0, -1)]


def fractions_in_all_pairs() -> list[Operation]:
    """Exact arithmetic with fractions is slow at each single step."""
    halves = [fact("h", x=n + 0.5) for n in range(300)]
    return [*halves, *[rule(lit("some", n=n), lit("h", x="?a"), lit("h", x="?b"), lit("idiv", left="?a", right="?b", result="?q"),
                            lit("imod", left="?q", right="?b", result="?r"), lit("eq", left="?r", right=f"no{n}")) for n in range(60)]]


def arithmetic_in_all_pairs() -> list[Operation]:
    """Thirty guards at each step."""
    guards = [lit("add", left="?a", right="?b", result="?s0"), *[lit("add", left="?s0", right=n, result=f"?s{n}") for n in range(1, 28)]]
    return [*rows("p", 300), *[rule(lit("some", n=n), lit("p", x="?a"), lit("p", x="?b"), *guards, lit("eq", left="?s27", right=-n - 1)) for n in range(60)]]


def megabyte_strings() -> list[Operation]:
    return [fact("text", x="a" * 1_000_000)]


def strings_that_double() -> list[Operation]:
    return [fact("text", x="ab"), rule(lit("text", x="?y"), lit("text", x="?x"), lit("concat", left="?x", right="?x", result="?y"))]


def long_strings_in_all_pairs() -> list[Operation]:
    """Each is allowed; what they make together is gigabytes."""
    texts = [fact("text", x=f"{n:04d}" + "a" * 30_000) for n in range(200)]
    return [*texts, rule(lit("text2", x="?z"), lit("text", x="?x"), lit("text", x="?y"), lit("concat", left="?x", right="?y", result="?z"))]


def long_strings_searched_in_all_pairs() -> list[Operation]:
    texts = [fact("text", x=f"{n:04d}" + "a" * 60_000) for n in range(100)]
    searched = [fact("part", x="a" * 30_000 + f"b{n}") for n in range(100)]
    return [*texts, *searched, *[rule(lit("found", n=n), lit("text", x="?x"), lit("part", x="?y"), lit("contains", left="?x", right="?y"))
                                 for n in range(20)]]


def wide_bodies() -> list[Operation]:
    """Two choices at each of 31 places."""
    return [fact("p", x=0), fact("p", x=1), rule(lit("all", a="?v0"), *[lit("p", x=f"?v{n}") for n in range(31)])]


def as_many_shapes_of_facts_as_facts() -> list[Operation]:
    return [*[fact("p", **{f"a{n}": 1, "x": n}) for n in range(9_998)], rule(lit("q", x="?x", y="?y"), lit("p", x="?x"), lit("p", x="?y"))]


def half_a_letter() -> list[Operation]:
    return [fact("text", x="\ud800")]


def a_predicate_of_nothing_visible() -> list[Operation]:
    return [fact("\u200b\u202e", x=1)]


def a_predicate_that_looks_like_another() -> list[Operation]:
    return [fact("total\u200d", x=1)]


def a_predicate_in_another_composition() -> list[Operation]:
    return [fact("cafe\u0301", x=1)]


def a_name_that_turns_the_line_around() -> list[Operation]:
    return [fact("p", **{"x\u202e": 1})]


PROGRAMS: dict[str, Callable[[], list[Operation]]] = {
    made.__name__.replace("_", " "): made for made in (
        cross_product, cross_products_below_the_limit_of_each, cross_products_that_fit_nowhere, deep_recursion, recursion_in_pairs,
        recursion_of_squares, million_row_join, a_dense_closure, ten_thousand_rules,
        ten_thousand_rules_of_as_many_shapes, rules_of_as_many_shapes_as_a_board_holds, long_rules_of_many_shapes,
        facts_and_rules_that_name_arguments_in_thousands_of_ways, a_tower_of_absences, fractions_in_all_pairs, arithmetic_in_all_pairs, megabyte_strings, strings_that_double, long_strings_in_all_pairs,
        long_strings_searched_in_all_pairs, wide_bodies, as_many_shapes_of_facts_as_facts, half_a_letter,
        a_predicate_of_nothing_visible, a_predicate_that_looks_like_another,
        a_predicate_in_another_composition, a_name_that_turns_the_line_around)
}
