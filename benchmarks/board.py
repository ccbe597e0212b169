"""The rule engine measured beside SQLite, clingo and pyDatalog, in one run, as ratios.

    python3 -m venv .venv-peers && .venv-peers/bin/pip install clingo pyDatalog
    python benchmarks/board.py [--quick] [--json FILE] [--peers .venv-peers/bin/python]

Chains run in fresh processes, compile time included, identifiers renamed and literals
shuffled at random; every result is compared with SQLite's recursive query, and the peers
count the same rows. Peers run in a Python of their own and end after CPU_S_MAX seconds of
CPU; what was not there or not done by then is said. Rows are name, value, unit, peer,
peer_value, ratio, bar, ok. Times are milliseconds of CPU in the measuring process: medians
over several processes or Boards, percentiles over single changes. Growth rows name what
was derived and the factors to the size before. Hostile rows end in a refusal.
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
from typing import Any

from common import ROOT, machine, median, options, percentile, report, row

from rulith.base.canonical import canonical_bytes  # noqa: E402
from rulith.base.limits import BATCH_OPERATIONS_MAX  # noqa: E402
from rulith.board.board import Board  # noqa: E402
from rulith.board.shapes import Policy  # noqa: E402
from rulith.board.space.space import Space  # noqa: E402
from rulith.rules.program import Program  # noqa: E402
from rulith.rules.terms import Atom, Literal, Rule  # noqa: E402
from rulith.base.errors import Refused  # noqa: E402
from tests.space.hostile import PROGRAMS  # noqa: E402


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


def pairs_of(shape: str, size: int, draw: random.Random) -> list[tuple[int, int]]:
    """chain: `size` edges in a row; random: 2 * size edges among `size` nodes."""
    if shape == "random":
        fixed = random.Random(size)     # the same graph in every process
        pairs = {(fixed.randrange(size), fixed.randrange(size)) for _ in range(2 * size)}
        while len(pairs) < 2 * size:
            pairs.add((fixed.randrange(size), fixed.randrange(size)))
        found = sorted(pairs)
    else:
        found = [(n, n + 1) for n in range(size)]
    draw.shuffle(found)
    return found


def run_walk(shape: str, size: int, mutual: bool, seed: int) -> dict:
    """One closure in this process: our time, SQLite's time, whether the results agree."""
    draw = random.Random(seed)
    rules, names = chain_rules(draw, mutual)
    pairs = pairs_of(shape, size, draw)
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
    wanted, peer = sqlite_chain(pairs, mutual)
    first = names["a"] > names["b"]          # arguments lie in order of name
    found = {(key, atom.args[first][1], atom.args[not first][1])
             for key in ("odd", "even", "far") for atom in program.facts(names[key])}
    return {"ours": ours, "peer": peer, "derived": program.derived_count, "equal": found == wanted}


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


def child(*arguments: str) -> Any:
    """What this script answers in a fresh process. Raises RuntimeError with its last words."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2] or f"it ended with status {done.returncode}")
    return json.loads(done.stdout)


def measured_walk(shape: str, size: int, mutual: bool, times: int) -> dict:
    runs = []
    for _ in range(times):
        seed = random.randrange(1 << 30)
        runs.append(child("--one", f"{shape},{size},{int(mutual)},{seed}"))
        if not runs[-1]["equal"]:
            raise RuntimeError(f"the result differs from SQLite's, seed {seed}")
    return {"ours": median([run["ours"] for run in runs]), "peer": median([run["peer"] for run in runs]), "derived": runs[0]["derived"]}


# peers that run in a Python of their own

PEERS = {
    "clingo": """
import clingo
control = clingo.Control(["--warn=none"])
control.add("base", [], program)
control.ground([("base", [])])
count = 0
with control.solve(yield_=True) as models:
    for model in models:
        count = sum(1 for symbol in model.symbols(atoms=True) if symbol.name != "edge")
""",
    "pyDatalog": """
from pyDatalog import pyDatalog
pyDatalog.create_terms("edge, odd, even, far, X, Y, Z")
for a, b in pairs:
    +edge(a, b)
odd(X, Y) <= edge(X, Y)
if mutual:
    even(X, Z) <= odd(X, Y) & edge(Y, Z)
    odd(X, Z) <= even(X, Y) & edge(Y, Z)
    far(X, Y) <= odd(X, Y) & ~even(X, Y)
    count = sum(len(list(each(X, Y).data)) for each in (odd, even, far))
else:
    odd(X, Z) <= odd(X, Y) & edge(Y, Z)
    count = len(list(odd(X, Y).data))
""",
}


CPU_S_MAX = 30       # of a peer at one size


def peer_walk(python: str, peer: str, shape: str, size: int, mutual: bool, times: int, cpu_s: int = CPU_S_MAX) -> tuple[float, int] | None:
    """The peer's CPU milliseconds, its import aside, and the rows it found; None where `cpu_s` did not suffice."""
    pairs = pairs_of(shape, size, random.Random(1))
    rules = ("odd(X,Y) :- edge(X,Y). even(X,Z) :- odd(X,Y), edge(Y,Z). odd(X,Z) :- even(X,Y), edge(Y,Z). far(X,Y) :- odd(X,Y), not even(X,Y)."
             if mutual else "odd(X,Y) :- edge(X,Y). odd(X,Z) :- odd(X,Y), edge(Y,Z).")
    head = {"pairs": pairs, "mutual": mutual, "program": " ".join(f"edge({a},{b})." for a, b in pairs) + rules}
    source = (f"import json, resource, sys, time\nimport {peer}\nsys.setrecursionlimit(100_000)\nglobals().update(json.load(sys.stdin))\n"
              f"resource.setrlimit(resource.RLIMIT_CPU, ({cpu_s}, {cpu_s}))\n"
              f"started = time.process_time()\n{PEERS[peer]}\nprint(json.dumps([(time.process_time() - started) * 1000, count]))\n")
    found = []
    for _ in range(times):
        done = subprocess.run([python, "-c", source], input=json.dumps(head), capture_output=True, text=True, timeout=cpu_s * 20)
        if done.returncode < 0:
            return None                # by the limit on its CPU time
        if done.returncode:
            raise RuntimeError(f"{peer}: {done.stderr.strip().rpartition(chr(10))[2]}")
        found.append(tuple(json.loads(done.stdout.splitlines()[-1])))
    return median([taken for taken, _ in found]), found[0][1]


def has_peer(python: str | None, peer: str) -> bool:
    return python is not None and subprocess.run([python, "-c", f"import {peer}"], capture_output=True).returncode == 0


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


def explain_chain(samples: int) -> float:
    """p99 of a proof cut after 10 steps of a chain."""
    rules, names = chain_rules(random.Random(3), False)
    facts = [Atom.of(names["edge"], {names["a"]: n, names["b"]: n + 1}) for n in range(120)]
    return explained(rules, facts, [Atom.of(names["odd"], {names["a"]: n, names["b"]: 100 + n}) for n in range(20)], samples)


def explain_tree(samples: int) -> float:
    """p99 of a proof with 3,070 nodes, all of them different: a binary tree of 10 levels, seen from its root."""
    rules = [Rule("leaf", "leaf", (Literal.of("leaf", {"n": "?n"}),), (Literal.of("sound", {"n": "?n"}),)),
             Rule("both", "both", (Literal.of("fork", {"n": "?n", "l": "?l", "r": "?r"}), Literal.of("sound", {"n": "?l"}),
                                   Literal.of("sound", {"n": "?r"})), (Literal.of("sound", {"n": "?n"}),))]
    facts = [Atom.of("leaf", {"n": n}) for n in range(1 << 10, 1 << 11)]
    facts += [Atom.of("fork", {"n": n, "l": 2 * n, "r": 2 * n + 1}) for n in range(1, 1 << 10)]
    return explained(rules, facts, [Atom.of("sound", {"n": 1})], samples)


def explained(rules: list[Rule], facts: list[Atom], asked: list[Atom], samples: int) -> float:
    program = Program()
    with program.transaction() as tx:
        for rule in rules:
            tx.add_rule(rule)
        for fact in facts:
            tx.assert_fact(fact)
    times = []
    for n in range(samples):
        started = clock_ms()
        program.explain(asked[n % len(asked)], depth_max=10)
        times.append(clock_ms() - started)
    return percentile(times, 0.99)


# the Board's own path

POLICY = Policy((), {}, {}, (0, False, 0))


def fresh_board():
    """A Board under law with its Case open, and what runs a batch on it up to the bytes of its row and its view."""
    ids = itertools.count(1)
    board = Board("agt_bench")
    run = lambda **command: board.execute(command, at="2026-10-03T08:00:00.000Z", mint=lambda prefix: f"{prefix}{next(ids):024x}")  # noqa: E731
    case = run(kind="open_case", caseType="exploration").result["caseId"]

    def batch(operations: list[dict]) -> dict:
        outcome = run(kind="apply_batch", operations=operations, focus=[case])
        view = board.view(None, [case], POLICY, nodes_max=60, bytes_max=8_192)
        canonical_bytes(outcome.row)
        return {"result": outcome.result, "total": view["total"]}
    return batch


def rule_operation(rule: Rule) -> dict:
    return {"op": "add_axiom", "id": rule.id, "label": rule.label, "when": [literal.json() for literal in rule.when],
            "then": [literal.json() for literal in rule.then]}


def board_chain(edges: int) -> tuple[float, int]:
    """One batch with rules and facts on a fresh Board, then the view that the answer carries: CPU ms, rows derived."""
    batch = fresh_board()
    rules, names = chain_rules(random.Random(11), False)
    operations: list[dict] = [rule_operation(rule) for rule in rules]
    operations += [{"op": "assert_fact", "predicate": names["edge"], "args": {names["a"]: n, names["b"]: n + 1}} for n in range(edges)]
    started = clock_ms()
    total = batch(operations)["total"]
    taken = clock_ms() - started
    assert total >= edges * (edges + 1) // 2
    return taken, edges * (edges + 1) // 2


def board_changes(samples: int) -> dict[str, list[float]]:
    """The same 10,000 facts and 200 rules on a Board under law; each change is a batch, its row and its view."""
    draw, batch = random.Random(7), fresh_board()
    stated = {}
    while len(stated) < 10_000:
        stated[draw.randrange(PREDICATES), draw.randrange(KEYS), draw.randrange(KEYS)] = ""
    operations = [rule_operation(mixed_rule(number, draw)) for number in range(200)]
    said = lambda fact: {"op": "assert_fact", "predicate": f"b{fact[0]}", "args": {"k": fact[1], "v": fact[2]}}  # noqa: E731
    operations += [said(fact) for fact in stated]
    for start in range(0, len(operations), BATCH_OPERATIONS_MAX):
        part = operations[start:start + BATCH_OPERATIONS_MAX]
        for operation, node_id in zip(part, batch(part)["result"]["nodeIds"]):
            if operation["op"] == "assert_fact":
                stated[int(operation["predicate"][1:]), operation["args"]["k"], operation["args"]["v"]] = node_id
    found: dict[str, list[float]] = {"assert": [], "retract": []}
    facts = list(stated)
    for _ in range(samples):
        fact = draw.choice(facts)
        for kind, operation in (("retract", {"op": "retract_node", "nodeId": stated[fact]}), ("assert", said(fact))):
            started = clock_ms()
            answer = batch([operation])
            found[kind].append(clock_ms() - started)
        stated[fact] = answer["result"]["nodeIds"][0]
    return found


# the reasoning board

def told(*batches: list[dict]) -> tuple[float, Space]:
    """Batches on a fresh board of a third-party host: CPU ms."""
    ids = itertools.count(1)
    space = Space("bench")
    started = clock_ms()
    for operations in batches:
        space.apply(operations, at="2026-10-03T08:00:00.000Z", mint=lambda prefix: f"{prefix}{next(ids)}")
    return clock_ms() - started, space


def literal(predicate: str, **args: object) -> dict:
    return {"predicate": predicate, "args": args}


def same_generation(size: int) -> tuple[float, int]:
    """A binary tree of `size` nodes: who stands as deep as whom."""
    operations = [{"op": "assert_fact", **literal("parent", c=n, p=n // 2)} for n in range(2, size + 1)]
    operations += [
        {"op": "add_axiom", "when": [literal("parent", c="?x", p="?p"), literal("parent", c="?y", p="?p")], "then": [literal("same", x="?x", y="?y")]},
        {"op": "add_axiom", "when": [literal("parent", c="?x", p="?p"), literal("same", x="?p", y="?q"), literal("parent", c="?y", p="?q")],
         "then": [literal("same", x="?x", y="?y")]}]
    taken, space = told(operations)
    levels, left, width = 0, size - 1, 2
    while left > 0:
        levels, left, width = levels + min(width, left) ** 2, left - width, width * 2
    assert sum(1 for _ in space.program.facts("same")) == levels
    return taken, levels


def line_items(count: int) -> tuple[float, int]:
    """`cost = unit * qty` for every line, then a sum by customer."""
    draw = random.Random(5)
    lines = [(n, draw.randrange(1, 100), draw.randrange(1, 20), f"c{n % 100}") for n in range(count)]
    operations = [{"op": "assert_fact", **literal("line", id=n, unit=unit, qty=qty, customer=who)} for n, unit, qty, who in lines]
    rules = [{"op": "add_axiom", "when": [literal("line", id="?i", unit="?u", qty="?q", customer="?c"), literal("mul", left="?u", right="?q", result="?s")],
              "then": [literal("cost", id="?i", customer="?c", amount="?s")]},
             {"op": "derive_aggregate", "kind": "sum", "source": {"predicate": "cost", "valueArg": "amount"},
              "into": {"predicate": "owed", "valueArg": "total"}, "group_by": "customer"}]
    half = len(operations) - len(rules)      # one batch takes 10,000 operations
    taken, space = told(operations[:half], operations[half:] + rules)
    assert sum(atom.arguments["total"] for atom in space.program.facts("owed")) == sum(unit * qty for _, unit, qty, _ in lines)
    return taken, space.program.derived_count


def hostile(name: str) -> tuple[float, str]:
    operations = PROGRAMS[name]()
    started = clock_ms()
    try:
        told(operations)
    except Refused as refused:
        return clock_ms() - started, refused.code
    return clock_ms() - started, "accepted"


def all_hostile() -> list:
    return [(name, *hostile(name)) for name in PROGRAMS]


def called(function: str, *args: object, times: int = 1) -> tuple[float, int]:
    """A measurement in a process of its own, so that nothing is compiled or allocated yet: median ms, rows derived."""
    runs = [child("--call", json.dumps([function, *args])) for _ in range(times)]
    return median([taken for taken, _ in runs]), runs[0][1]


def growth(name: str, sizes: list[int], measured) -> list[dict]:
    """The same at 1x, 2x, 4x, 8x; the factors to the size before are in the name."""
    rows, before = [], None
    for size in sizes:
        value, derived = measured(size)
        factors = "" if before is None else f": x{value / before[0]:.1f} for x{derived / before[1]:.1f} derived"
        rows.append(ms(f"growth: {name} {size:,}, {derived:,} derived{factors}", value, "-", True))
        before = value, derived
    return rows


def ms(name: str, value: float, bar: str, ok: bool, peer_value: float | None = None) -> dict:
    return row(name, value, "ms", bar=bar, ok=ok, peer="SQLite" if peer_value else "", peer_value=peer_value)


WALKS = (("chain 500", "chain", 500, False), ("chain 500, mutual recursion and naf above", "chain", 500, True),
         ("random 400x800", "random", 400, False), ("random 400x800, mutual recursion and naf above", "random", 400, True))
NOT_MEASURED: list[str] = []


def measured_walks(times: int, peers: list[str], python: str | None) -> list[dict]:
    small = measured_walk("chain", 120, False, times)
    rows = [ms("chain 120, rules alone, fresh process", small["ours"], "-", True, small["peer"])]
    for name, shape, size, mutual in WALKS:
        run = measured_walk(shape, size, mutual, times)
        ours = run["ours"]
        rows.append(ms(name, ours, "<= 1/3 of SQLite", ours * 3 <= run["peer"], run["peer"]))
        for peer in peers:
            bar = "<= 1/2 of clingo" if peer == "clingo" else "-"
            found = peer_walk(python, peer, shape, size, mutual, min(times, 3) if peer == "clingo" else 1)
            if found is None:
                # The ratio is an upper bound: the peer was not done.
                rows.append(row(name, ours, "ms", bar=bar, peer=f"{peer}, stopped", peer_value=CPU_S_MAX * 1000))
                NOT_MEASURED.append(f"{name} beside {peer}: it was not done after {CPU_S_MAX} s of CPU")
                continue
            if found[1] != run["derived"]:
                raise RuntimeError(f"{peer} counts {found[1]} rows of {name}, {run['derived']} are right")
            rows.append(row(name, ours, "ms", bar=bar, ok=peer != "clingo" or ours * 2 <= found[0], peer=peer, peer_value=found[0]))
    return rows


def measured_chain(quick: bool) -> list[dict]:
    for _ in range(3):
        board_chain(120)        # the code of its rules is compiled once per process
    whole = median([board_chain(120)[0] for _ in range(11 if quick else 41)])
    return [ms("chain 120, one batch through the Board: closure, digest, row, view with tiers", whole, "<= 45 ms", whole <= 45)]


def measured_board(quick: bool) -> list[dict]:
    times = 1 if quick else 5
    taken, pairs = called("same_generation", 511, times=times)
    rows = [ms(f"same generation, a tree of 511, {pairs:,} derived", taken, "-", True)]
    rows.append(ms("10,000 line items: cost = unit*qty, sum by customer", called("line_items", 10_000, times=times)[0], "-", True))
    return rows


def measured_changes(quick: bool) -> list[dict]:
    rows = []
    for where, changes in (("", "single_changes"), (" through the Board", "board_changes")):
        changes = child("--call", json.dumps([changes, 400 if quick else 2_000]))
        for kind, bar in (("assert", 5), ("retract", 10)):
            p50, p99 = (percentile(changes[kind], share) for share in (0.5, 0.99))
            rows.append(ms(f"10,000 facts, 200 rules: {kind}{where}, p50", p50, "-", True))
            rows.append(ms(f"10,000 facts, 200 rules: {kind}{where}, p99", p99, f"<= {bar} ms", p99 <= bar))
    return rows


def measured_proofs(quick: bool) -> list[dict]:
    deep, wide = child("--call", '["explain_chain", 200]'), child("--call", f'["explain_tree", {100 if quick else 500}]')
    return [ms("explain, depth 10, p99", deep, "<= 50 ms", deep <= 50),
            ms("explain, depth 10, a tree: 3,070 nodes, all different, p99", wide, "<= 50 ms", wide <= 50)]


def measured_growth(quick: bool) -> list[dict]:
    part, times = (2, 1) if quick else (1, 3)
    rows = growth("chain through the Board, edges", [n // part for n in (60, 120, 240, 480)],
                  lambda size: called("board_chain", size, times=times))
    rows += growth("line items", [n // part for n in (1_250, 2_500, 5_000, 10_000)], lambda size: called("line_items", size, times=times))
    return rows + growth("same generation, nodes", [n // part for n in (63, 127, 255, 511)],
                         lambda size: called("same_generation", size, times=times))


def measured_hostile(quick: bool) -> list[dict]:
    if quick:
        NOT_MEASURED.append(f"{len(PROGRAMS)} hostile programs: too long for --quick")
        return []
    return [ms(f"hostile: {name}, {code}", taken, "< 2,000 ms", taken < 2_000 and code != "accepted")
            for name, taken, code in child("--call", '["all_hostile"]')]


def measure(quick: bool, python: str | None) -> list[dict]:
    peers = [peer for peer in PEERS if has_peer(python, peer)]
    NOT_MEASURED.extend(f"{peer} beside the walks: not installed (--peers names a Python that has it)" for peer in PEERS if peer not in peers)
    if quick and "pyDatalog" in peers:
        peers.remove("pyDatalog")
        NOT_MEASURED.append("pyDatalog beside the walks: too slow for --quick")
    rows: list[dict] = []
    for part in (measured_chain, lambda quick: measured_walks(1 if quick else 5, peers, python), measured_board, measured_changes,
                 measured_proofs, measured_growth, measured_hostile):
        try:
            rows += part(quick)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            NOT_MEASURED.append(str(problem))
            rows.append(row(f"stopped: {str(problem)[:100]}", 0, "", bar="no failure", ok=False))
    return rows


CALLS = (board_chain, same_generation, line_items, all_hostile, single_changes, board_changes, explain_chain, explain_tree)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="a Python that has clingo and pyDatalog (.venv-peers here, if it is there)")
    parser.add_argument("--one", metavar="SHAPE,SIZE,MUTUAL,SEED", help=argparse.SUPPRESS)
    parser.add_argument("--call", metavar="JSON", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        shape, *numbers = chosen.one.split(",")
        size, mutual, seed = map(int, numbers)
        print(json.dumps(run_walk(shape, size, bool(mutual), seed)))
        return 0
    if chosen.call:
        function, *args = json.loads(chosen.call)
        print(json.dumps({each.__name__: each for each in CALLS}[function](*args)))
        return 0
    ours = ROOT / ".venv-peers" / "bin" / "python"
    python = chosen.peers or (str(ours) if ours.exists() else None)
    return report(measure(chosen.quick, python), NOT_MEASURED, chosen.json, machine())


if __name__ == "__main__":
    sys.exit(main())
