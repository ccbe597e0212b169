"""Generated programs against the slow model: same facts, same refusals, every proof checked. 300 of them in the
normal run; `.ci/run --long board` runs 20,000.

Duty: design, "the result equals a full recomputation always". Each program is known by the
seed and its number: `trouble(seed, number)` plays one again. Where `--programs` is given,
writes docs/evidence/board.json: seed, counts, seconds, failures, commit.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock, stamp
from rulith.base.errors import Refused
from rulith.board.space import actions, outcome
from rulith.board.space.space import Space
from rulith.rules.program import Limits
from tests.rules.naive import typed
from tests.space.programs import program
from tests.space.test_board_equals_the_model import check, resolved
from tests.space.told import Rejected, Told

ROOT = Path(__file__).resolve().parents[2]
NORMAL = 300
CHUNK = 50
FAILURES_KEPT = 20


@pytest.mark.timeout(4 * 3600)
def test_generated_programs_equal_the_slow_model(request: pytest.FixtureRequest) -> None:
    asked, seed = (request.config.getoption(name) for name in ("--programs", "--program-seed"))
    count = asked or NORMAL
    clock = SystemClock()
    began_s, commit = clock.wall_s(), _commit()
    chunks = [(seed, range(first, min(first + CHUNK, count))) for first in range(0, count, CHUNK)]
    totals: Counter[str] = Counter()
    failures: list[dict] = []
    for counts, failed in _played(chunks, in_processes=bool(asked)):
        totals += counts
        failures += failed
    if asked:
        record = {"name": "board", "seed": seed, "commit": commit, "at": stamp(began_s),
                  "seconds": round(clock.wall_s() - began_s), **dict(sorted(totals.items())), "failures": failures[:FAILURES_KEPT]}
        place = ROOT / "docs" / "evidence" / "board.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    assert not failures, failures[:3]
    assert totals["programs"] == count
    assert all(totals[kind] for kind in KINDS), totals      # each kind of event came up


def _played(chunks: list, in_processes: bool) -> Iterator[tuple[Counter[str], list[dict]]]:
    if not in_processes:
        yield from map(run_chunk, chunks)
        return
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_chunk, chunks)


KINDS = ("batches", "refused", "applied", "notApplicable", "facts", "derived", "disputed", "withdrawn")


def run_chunk(chunk: tuple[int, range]) -> tuple[Counter[str], list[dict]]:
    seed, numbers = chunk
    counts: Counter[str] = Counter()
    failed = []
    for number in numbers:
        counts["programs"] += 1
        if (problem := trouble(seed, number, counts)) is not None:
            failed.append({"program": number, "problem": problem})
    return counts, failed


def trouble(seed: int, number: int, counts: Counter[str] | None = None) -> str | None:
    """Play one program; what went wrong, or None."""
    try:
        play(program(seed, number), Counter() if counts is None else counts)
    except Exception:
        return traceback.format_exc(limit=-3)
    return None


def play(steps: list, counts: Counter[str]) -> None:
    numbers = itertools.count()
    mint = lambda prefix: f"{prefix}{next(numbers)}"  # noqa: E731
    space, model = Space("s", limits=Limits(rounds=200)), Told()
    for step in steps:
        if isinstance(step, dict):
            act(space, model, step["act"], mint, counts)
        else:
            tell(space, model, resolved(step, model, numbers), mint, counts)
        check(space, model)
    counts["facts"] += len(model.held)
    counts["derived"] += len(model.held - set(model.base()))
    counts["disputed"] += any(row[4:] for row in outcome.state(space)["facts"])


def tell(space: Space, model: Told, batch: list[dict], mint, counts: Counter[str]) -> None:
    before = outcome.state(space), space.program.closure_digest()
    try:
        model.apply(batch)
        wanted = "accepted"
    except Rejected as rejected:
        wanted = str(rejected)
    try:
        told = space.apply(batch, at="now", mint=mint)
        got = "accepted"
        counts["withdrawn"] += len(told.withdrawn)
    except Refused as refused:
        got = refused.code
        assert (outcome.state(space), space.program.closure_digest()) == before
    counts["batches" if got == "accepted" else "refused"] += 1
    assert (got == "accepted") == (wanted == "accepted"), (got, wanted, batch)


def act(space: Space, model: Told, pick: int, mint, counts: Counter[str]) -> None:
    named = [key for key, node in model.nodes.items() if node["kind"] == "action"]
    if not named:
        return
    name = named[pick % len(named)]
    possible = model.bindings(name)
    done = actions.apply_action(space, name, at="now", mint=mint)
    assert done.applied == bool(possible)
    assert done.match.candidates == len(possible)
    if not done.applied:
        counts["notApplicable"] += 1
        return
    counts["applied"] += 1
    binding = frozenset((f"?{key}", typed(value)) for key, value in done.match.binding.items())
    assert binding in possible
    produced, consumed = model.act(name, binding, done.added_ids, done.event_id)
    facts = lambda atoms: [(a.predicate, a.negated, frozenset((n, typed(v)) for n, v in a.args)) for a in atoms]  # noqa: E731
    assert facts(done.produced) == produced
    assert facts(done.consumed) == consumed


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
