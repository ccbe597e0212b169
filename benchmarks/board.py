"""The rule engine measured beside SQLite, in one run, as ratios.

    python benchmarks/board.py [--quick] [--json FILE]

Chains run in fresh processes, compile time included, identifiers renamed and literals
shuffled at random; every result is compared with SQLite's recursive query. Rows are
name, value, unit, peer, peer_value, ratio, bar, ok. Times in milliseconds of CPU,
best of several processes for the chains, percentiles over single transactions elsewhere.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sqlite3
import subprocess
import sys
import time

from common import machine, options, percentile, report, row

from rulith.base.canonical import canonical_bytes  # noqa: E402
from rulith.board.board import Board  # noqa: E402
from rulith.board.shapes import Policy  # noqa: E402
from rulith.rules.program import Program  # noqa: E402
from rulith.rules.terms import Atom, Literal, Rule  # noqa: E402


def clock_ms() -> float:
    """CPU time of this process: the work is all computing, and a busy machine must not judge it."""
    return time.process_time() * 1000


# chains

def shuffled_rule(draw: random.Random, rule_id: str, head: Literal, body: list[Literal]) -> Rule:
    draw.shuffle(body)
    return Rule(rule_id, rule_id, tuple(body), (head,))


def chain_rules(draw: random.Random, mutual: bool) -> tuple[list[Rule], dict[str, str]]:
    """Transitive closure under random names; with `mutual`, two predicates in turn and an absence above."""
    word = lambda: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8))  # noqa: E731
    names = {key: word() + key for key in ("edge", "odd", "even", "far", "a", "b")}
    x, y, z = ("?" + word() for _ in range(3))
    step = lambda name, left, right: Literal.of(names[name], {names["a"]: left, names["b"]: right})  # noqa: E731
    if not mutual:
        rules = [shuffled_rule(draw, "base", step("odd", x, y), [step("edge", x, y)]),
                 shuffled_rule(draw, "step", step("odd", x, z), [step("odd", x, y), step("edge", y, z)])]
    else:
        absent = Literal.of(names["even"], {names["a"]: x, names["b"]: y}, naf=True)
        rules = [shuffled_rule(draw, "base", step("odd", x, y), [step("edge", x, y)]),
                 shuffled_rule(draw, "even", step("even", x, z), [step("odd", x, y), step("edge", y, z)]),
                 shuffled_rule(draw, "odd", step("odd", x, z), [step("even", x, y), step("edge", y, z)]),
                 shuffled_rule(draw, "far", step("far", x, y), [step("odd", x, y), absent])]
    draw.shuffle(rules)
    return rules, names


def run_chain(edges: int, mutual: bool, seed: int) -> dict:
    """One chain in this process: our time, SQLite's time, whether the results agree."""
    draw = random.Random(seed)
    rules, names = chain_rules(draw, mutual)
    pairs = [(n, n + 1) for n in range(edges)]
    draw.shuffle(pairs)
    facts = [Atom.of(names["edge"], {names["a"]: a, names["b"]: b}) for a, b in pairs]
    program = Program()
    started = clock_ms()
    with program.transaction() as tx:
        for rule in rules:
            tx.add_rule(rule)
        for fact in facts:
            tx.assert_fact(fact)
        tx.close()
    ours = clock_ms() - started
    started = clock_ms()
    program.closure_digest()
    digest = clock_ms() - started
    wanted, peer = sqlite_chain(pairs, mutual)
    found = {(atom.predicate, atom.arguments[names["a"]], atom.arguments[names["b"]])
             for key in ("odd", "even", "far") for atom in program.facts(names[key])}
    named = {(names[key], a, b) for key, a, b in wanted}
    return {"ours": ours, "peer": peer, "digest": digest, "derived": program.derived_count, "equal": found == named}


def sqlite_chain(pairs: list[tuple[int, int]], mutual: bool) -> tuple[set, float]:
    base = sqlite3.connect(":memory:")
    started = clock_ms()
    base.execute("create table edge (a integer, b integer)")
    base.execute("create index edge_a on edge (a)")
    base.executemany("insert into edge values (?, ?)", pairs)
    if mutual:
        # One recursive table with a kind column: SQLite has no mutual recursion.
        walk = ("with recursive walk(k, a, b) as (select 0, a, b from edge union "
                "select 1 - k, walk.a, edge.b from walk join edge on edge.a = walk.b) ")
        rows = base.execute(walk + "select k, a, b from walk").fetchall()
        far = base.execute(walk + "select 2, o.a, o.b from walk o where o.k = 0 except select 2, a, b from walk where k = 1").fetchall()
        taken = clock_ms() - started
        return {(("odd", "even", "far")[k], a, b) for k, a, b in rows + far}, taken
    rows = base.execute("with recursive walk(a, b) as (select a, b from edge union "
                        "select walk.a, edge.b from walk join edge on edge.a = walk.b) select a, b from walk").fetchall()
    return {("odd", a, b) for a, b in rows}, clock_ms() - started


def measured_chain(edges: int, mutual: bool, times: int) -> dict:
    runs = []
    for _ in range(times):
        seed = random.randrange(1 << 30)
        order = [sys.executable, __file__, "--one", f"{edges},{int(mutual)},{seed}"]
        runs.append(json.loads(subprocess.run(order, capture_output=True, check=True, timeout=120).stdout))
        assert runs[-1]["equal"], f"results differ, seed {seed}"
    return {"ours": min(run["ours"] for run in runs), "peer": min(run["peer"] for run in runs),
            "digest": min(run["digest"] for run in runs), "derived": runs[0]["derived"]}


# one fact among many

PREDICATES = 20
KEYS = 500


def load(facts: int, rules: int, draw: random.Random) -> tuple[Program, list[Atom]]:
    """10,000 facts over 20 predicates under 200 rules: joins, guards, absences, layers, recursion."""
    program = Program()
    stated = {Atom.of(f"b{draw.randrange(PREDICATES)}", {"k": draw.randrange(KEYS), "v": draw.randrange(KEYS)})
              for _ in range(facts * 2)}
    stated = sorted(stated, key=lambda atom: (atom.predicate, atom.args))
    draw.shuffle(stated)
    with program.transaction() as tx:
        for number in range(rules):
            tx.add_rule(mixed_rule(number, draw))
        for atom in stated[:facts]:
            tx.assert_fact(atom)
        tx.close()
    return program, stated[:facts]


def mixed_rule(number: int, draw: random.Random) -> Rule:
    one, two, three = (f"b{draw.randrange(PREDICATES)}" for _ in range(3))
    lit = lambda name, k, v, naf=False: Literal.of(name, {"k": k, "v": v}, naf=naf)  # noqa: E731
    kind = number % 5
    if kind == 0:
        body = [lit(one, "?a", "?b"), lit(two, "?b", "?c")]
        head = lit(f"j{number}", "?a", "?c")
    elif kind == 1:
        body = [lit(one, "?a", "?b"), Literal.of("gt", {"left": "?b", "right": KEYS - 50}),
                Literal.of("add", {"left": "?b", "right": number, "result": "?s"})]
        head = lit(f"g{number}", "?a", "?s")
    elif kind == 2:
        body = [lit(one, "?a", "?b"), lit(two, "?b", "?a", naf=True), Literal.of("lt", {"left": "?b", "right": 100})]
        head = lit(f"n{number}", "?a", "?b")
    elif kind == 3 and number > 5:
        body = [lit(f"j{number - 3}", "?a", "?b"), lit(three, "?b", "?c"), Literal.of(f"n{number - 1}", {"k": "?c"}, naf=True)]
        head = lit(f"l{number}", "?a", "?c")
    else:
        body = [lit(f"g{number - 3 if number % 5 == 4 else 1}", "?a", "?b"), lit(one, "?a", "?c")]
        head = lit(f"c{number}", "?b", "?c")
    return Rule(f"r{number}", f"r{number}", tuple(body), (head,))


def single_changes(samples: int) -> dict[str, list[float]]:
    draw = random.Random(7)
    program, stated = load(10_000, 200, draw)
    program.closure_digest()
    found: dict[str, list[float]] = {"assert": [], "retract": []}
    for _ in range(samples):
        atom = draw.choice(stated)
        for kind, change in (("retract", "retract_fact"), ("assert", "assert_fact")):
            started = clock_ms()
            with program.transaction() as tx:
                getattr(tx, change)(atom)
                tx.close()
            program.closure_digest()
            found[kind].append(clock_ms() - started)
    return found


def explain_depth(samples: int) -> float:
    rules, names = chain_rules(random.Random(3), False)
    program = Program()
    with program.transaction() as tx:
        for rule in rules:
            tx.add_rule(rule)
        for n in range(120):
            tx.assert_fact(Atom.of(names["edge"], {names["a"]: n, names["b"]: n + 1}))
    times = []
    for n in range(samples):
        started = clock_ms()
        program.explain(Atom.of(names["odd"], {names["a"]: n % 20, names["b"]: 100 + n % 20}), depth_max=10)
        times.append(clock_ms() - started)
    return percentile(times, 0.99)


# the Board's own path

def board_chain(edges: int) -> float:
    """One batch with rules and facts on a fresh Board, then the view that the answer carries: CPU ms."""
    ids = itertools.count(1)
    board = Board("agt_bench")
    policy = Policy((), {}, {}, (0, False, 0))
    run = lambda **command: board.execute(command, at="2026-10-03T08:00:00.000Z", mint=lambda prefix: f"{prefix}{next(ids):024x}")  # noqa: E731
    case = run(kind="open_case", caseType="exploration").result["caseId"]
    rules, names = chain_rules(random.Random(11), False)
    operations: list[dict] = [
        {"op": "add_axiom", "id": rule.id, "label": rule.label, "when": [literal.json() for literal in rule.when],
         "then": [literal.json() for literal in rule.then]} for rule in rules]
    operations += [{"op": "assert_fact", "predicate": names["edge"], "args": {names["a"]: n, names["b"]: n + 1}} for n in range(edges)]
    started = clock_ms()
    outcome = run(kind="apply_batch", operations=operations, focus=[case])
    view = board.view(None, [case], policy, nodes_max=60, bytes_max=8_192)
    canonical_bytes(outcome.row)
    taken = clock_ms() - started
    assert view["total"] >= edges * (edges + 1) // 2
    return taken


def ms(name: str, value: float, bar: str, ok: bool, peer_value: float | None = None) -> dict:
    return row(name, value, "ms", bar=bar, ok=ok, peer="SQLite" if peer_value else "", peer_value=peer_value)


def measure(quick: bool) -> list[dict]:
    times = 3 if quick else 9
    whole = min(board_chain(120) for _ in range(4 * times))
    rows = [ms("chain 120, one batch through the Board: closure, digest, view with tiers", whole, "<= 45 ms", whole <= 45)]
    small = measured_chain(120, False, times)
    rows.append(ms("chain 120, rules alone, fresh process", small["ours"], "-", True, small["peer"]))
    for mutual in (False, True):
        name = "chain 500, mutual recursion and naf above" if mutual else "chain 500"
        run = measured_chain(500, mutual, times)
        rows.append(ms(name, run["ours"], "<= 1/3 of SQLite", run["ours"] * 3 <= run["peer"], run["peer"]))
    changes = single_changes(300 if quick else 2_000)
    for kind, bar in (("assert", 5), ("retract", 10)):
        p50, p99 = (percentile(changes[kind], share) for share in (0.5, 0.99))
        rows.append(ms(f"10,000 facts, 200 rules: {kind} p50", p50, "-", True))
        rows.append(ms(f"10,000 facts, 200 rules: {kind} p99", p99, f"<= {bar} ms", p99 <= bar))
    deep = explain_depth(200)
    rows.append(ms("explain, depth 10, p99", deep, "<= 50 ms", deep <= 50))
    return rows


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--one", metavar="EDGES,MUTUAL,SEED", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        edges, mutual, seed = map(int, chosen.one.split(","))
        print(json.dumps(run_chain(edges, bool(mutual), seed)))
        return 0
    return report(measure(chosen.quick), ["clingo beside the chains: not installed here"], chosen.json, machine())


if __name__ == "__main__":
    sys.exit(main())
